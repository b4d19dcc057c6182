"""One function that reads whatever the path is."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tenfold.datasets import hdf5, zarr_store
from tenfold.datasets.child import in_child
from tenfold.datasets.images import IMAGE_SUFFIXES, image_files, read_image_folder, read_pages
from tenfold.datasets.label_files import HERE, read_labels
from tenfold.datasets.label_values import as_labels
from tenfold.datasets.locations import existing_path, inner_path
from tenfold.datasets.mat import open_mat
from tenfold.datasets.named_arrays import ArrayOptions, Order, assemble, check_count
from tenfold.datasets.netcdf import open_netcdf
from tenfold.datasets.numpy_files import npy_files, open_npy, open_npz, read_npy_folder
from tenfold.datasets.reading import how_it_was_read
from tenfold.datasets.tables import read_table
from tenfold.datasets.tensor_dataset import TensorDataset
from tenfold.datasets.time_series import read_fif, read_ts


@dataclass(frozen=True)
class Reader:
    """How one format is read.

    Parameters
    ----------
    name : str
        The format.
    library : str
        What reads it.
    read : callable
        Takes a path and options; its keyword arguments are the options of the format.
    here : bool, default=False
        Whether it is read in this process: NumPy's own formats are.
    reopened : callable or None, default=None
        Opens samples that stay on disk, by name, after a child looked through the file.
    more : mapping of str to values, default={}
        Further options of the format and their defaults.
    """

    name: str
    library: str
    read: Callable[..., TensorDataset]
    here: bool = False
    reopened: Callable[..., Any] | None = None
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def options(self) -> dict[str, Any]:
        """Names of the options and their defaults."""
        found = inspect.signature(self.read).parameters.values()
        named = (one for one in found if one.kind is one.KEYWORD_ONLY and one.name != "opened")
        return {one.name: one.default for one in named} | dict(self.more)


def read_arrays(
    source: Path,
    *,
    opened: Callable[..., Any],
    key: str | None = None,
    label_key: str | None = None,
    labels: np.ndarray | None = None,
    sample_shape: Sequence[int] | None = None,
    order: Order = "C",
    sample_axis: int | None = None,
    labelled: bool = True,
    **more: Any,
) -> TensorDataset:
    """Samples and labels among the named arrays of a file, which is opened with further options."""
    names = (None if name is None else name.strip("/") for name in (key, label_key))
    options = ArrayOptions(*names, sample_shape, order, labelled, sample_axis, labels)
    with opened(source, **more) as arrays:
        return assemble(source, arrays, options)


NPZ = Reader("npz", "NumPy", partial(read_arrays, opened=open_npz), here=True)
NPY = Reader("npy", "NumPy", partial(read_arrays, opened=open_npy), here=True)
NPY_FOLDER = Reader("npy folder", "NumPy", read_npy_folder, here=True)
MAT = Reader("mat", "SciPy, h5py", partial(read_arrays, opened=open_mat, order="F"))
HDF5 = Reader("hdf5", "h5py", partial(read_arrays, opened=hdf5.open_hdf5), reopened=hdf5.reopened)
ZARR = Reader(
    "zarr",
    "zarr",
    partial(read_arrays, opened=zarr_store.open_zarr),
    reopened=zarr_store.reopened,
    more={"missing_chunks": "error"},
)
NETCDF = Reader("netcdf", "xarray", partial(read_arrays, opened=open_netcdf), more={"dims": None})
TABLE = Reader("table", "pandas", read_table)
SERIES = Reader("ts", "none", read_ts)
EPOCHS = Reader("fif", "MNE", read_fif)
IMAGES = Reader("image folder", "Pillow", read_image_folder)
PAGES = Reader("image", "Pillow", read_pages)

READERS: dict[str, Reader] = {
    ".npz": NPZ,
    ".npy": NPY,
    ".mat": MAT,
    ".zarr": ZARR,
    **dict.fromkeys((".h5", ".hdf5", ".hdf"), HDF5),
    **dict.fromkeys((".nc", ".nc4"), NETCDF),
    **dict.fromkeys((".csv", ".csv.gz", ".tsv", ".data", ".txt", ".xlsx"), TABLE),
    **dict.fromkeys((".parquet", ".arff"), TABLE),
    ".ts": SERIES,
    ".fif": EPOCHS,
    **dict.fromkeys((".zip", ".tar", ".tar.gz", ".tgz"), IMAGES),
    **dict.fromkeys(sorted(IMAGE_SUFFIXES), PAGES),
}
UNDERSTOOD = f"a folder of images (or .npy files) by class, or a file of {', '.join(READERS)}"


def load(
    path: str | os.PathLike[str],
    *,
    labels: Any = None,
    groups: Any = None,
    scale: Any = None,
    trusted: bool = False,
    **options: Any,
) -> TensorDataset:
    r"""Read a data set, by what the path is.

    Folders of images by class, and these files: .npz, .npy, .mat (every version), HDF5, netCDF,
    Zarr, tables (.csv, .csv.gz, .tsv, .data, .txt, .xlsx, .parquet, .arff), series of the UEA
    archive (.ts), epochs of MNE (.fif), images (PNG, JPEG, TIFF, BMP, PGM, PPM, GIF, WebP), zip and
    tar files of images.

    A file is read by the library of its format, in a process of its own with limits of time and
    (on Linux) memory, so that a damaged or hostile file can end that process only. NumPy's own
    files are read in this process; a pickle is never opened. Zarr stores, and .npy and HDF5 files
    with more than 1 GiB of samples, stay on disk and are read block by block.

    Parameters
    ----------
    path : path
        File or folder. ``file::name`` names an array inside, as ``key="name"`` does.
    labels : array-like of shape (n,), path, str, int or None, default=None
        The labels, the file that holds them (text with one per line, a table, .npy, .npz, .mat,
        .h5), or the name of the array or column in the data; None finds them: the array or column
        called y, gnd, label(s), target(s) or class(es), or the only vector with a value per sample.
        Rows with a single 1 (one-hot) give the number of its column.
    groups : array-like of shape (n,), path, str or None, default=None
        What belongs together and must not be split between training and test, such as the person
        or the day: an array, a file as for labels, the name of a column or array in the data, or
        "folder" for the folders of images that are no classes.
    scale : float or None, default=None
        Divide all numbers by this, such as 255; what stays on disk is then read into memory.
    trusted : bool, default=False
        True reads the file in this process, without limits.
    **options
        What the format knows. One that is None counts as not given.

        labelled : bool, default=True
            False reads samples without labels.
        key, label_key : str
            Names of the samples and labels among arrays.
        sample_shape : sequence of int
            Shape to fold flat rows into.
        order : {"C", "F"}
            Whether flat rows hold their sample row by row or, as in .mat files, column by column.
        sample_axis : int
            The axis that counts samples; by default 0, or the last one if no other is as long as
            the labels.
        label_column : str or int
            Name or position (-1: last) of the labels of a table.
        columns, leave_out : sequence of str
            Columns of a table that are the numbers, or that are neither numbers nor labels.
        delimiter, decimal : str
            What separates the cells of a text, and "," for numbers such as 0,5; found by default.
        header : bool
            Whether the first row holds names.
        dims : sequence of str
            The modes of a netCDF variable, in the order wanted.
        resize : (height, width)
            Bring every image to this size, with anti-aliasing.
        grey : bool, default=True
            False keeps colours: samples (H, W, 3).
        background : float
            Grey level, 0 to 1, behind transparent pixels; such images are refused without it.
        classes_from : {"first", "last"}
            Which folders are the classes, where folders lie in folders.
        missing_chunks : {"error", "fill"}
            What a chunk means that is not in a Zarr store: an error, or the fill value.

    Returns
    -------
    TensorDataset
        The data. Its ``notes`` say what was chosen without being asked for, its ``reading`` how it
        was read. Pixels are in [0, 1]; gaps in tables (blank, NA, ?) are NaN.

    Examples
    --------
    >>> import pathlib, tempfile, numpy as np
    >>> from tenfold.datasets import load
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> np.savez(folder / "toy.npz", X=np.zeros((4, 3, 2)), y=[0, 0, 1, 1])
    >>> load(folder / "toy.npz", key="X")
    TensorDataset 'toy': 4 samples of 3x2 (float64), 2 classes
    >>> _ = (folder / "toy.csv").write_text("label,a,b,c,d\nup,1,2,3,4\ndown,5,6,7,8\n")
    >>> load(folder / "toy.csv", sample_shape=(2, 2)).X[0].tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    place, inner = inner_path(path)
    source = existing_path(place, UNDERSTOOD)
    reader = reader_of(source)
    if isinstance(groups, str) and "groups" in reader.options and not Path(groups).is_file():
        options["groups"] = groups  # a column, which is no feature
    given = checked_options(source, inner, reader, {"labels": labels, **options})
    if trusted or reader.here:
        data = read_here(reader, source, given, trusted)
    else:
        data = _read_there(reader, source, given)
    return replace(
        data,
        X=data.X if scale is None else _scaled(data.X, scale),
        groups=None if groups is None else _groups(source, data, groups),
        reading=how_it_was_read(reader, given | {"scale": scale}, data.reading),
    )


def reader_of(path: str | os.PathLike[str]) -> Reader:
    """The reader of a path: what `load` uses."""
    source = existing_path(inner_path(path)[0], UNDERSTOOD)
    if source.is_dir():
        if zarr_store.is_zarr(source) or source.suffix.lower() == ".zarr":
            return ZARR
        return NPY_FOLDER if npy_files(source) and not image_files(source) else IMAGES
    endings = ("".join(source.suffixes[-n:]).lower() for n in (2, 1))
    found = next((READERS[ending] for ending in endings if ending in READERS), None)
    if found is None:
        raise ValueError(f"{source} has a form tenfold does not read; expected {UNDERSTOOD}")
    return found


# ── Here, and in a child ────────────────────────────────────────────────────────────────────────


def read_here(
    reader: Reader, source: Path, given: Mapping[str, Any], trusted: bool
) -> TensorDataset:
    """What the reader gives, with labels of another file read before."""
    options = dict(given)
    labels = options.pop("labels", None)
    if labels is not None and options.get("labelled", True):
        key = options.pop("label_key", None)
        options["labels"] = read_labels(labels, key) if trusted else _labels(labels, key)
    return reader.read(source, **options)


def _labels(labels: Any, key: str | None) -> np.ndarray:
    """Labels from an array or file; a foreign file is read in a child."""
    if not isinstance(labels, str | os.PathLike):
        return as_labels(labels)
    place, _ = inner_path(labels)
    source = existing_path(place, "a file of labels")
    if source.suffix.lower() in HERE:
        return read_labels(labels, key)
    found: np.ndarray = in_child("labels", source, {"labels": str(labels), "key": key})["y"]
    return found


def _read_there(reader: Reader, source: Path, given: Mapping[str, Any]) -> TensorDataset:
    """What the reader gives in a process of its own; what stays on disk is opened here."""
    answer = in_child("data", source, {"options": sendable(given)})
    info = {name[1:]: answer.pop(name) for name in list(answer) if name.startswith("@")}
    stays = answer.pop("stays")
    if stays is not None:
        assert reader.reopened is not None
        more = {name: given[name] for name in reader.more if name in given}
        answer["X"] = reader.reopened(source, stays, **more)
    told = {name: tuple(answer.pop(name)) for name in ("mode_names", "notes")}
    return TensorDataset(y=answer.pop("y", None), sample_info=info, **told, **answer)


def sendable(given: Mapping[str, Any]) -> dict[str, Any]:
    """Options for a child: labels as a path, or as a plain array."""
    options = dict(given)
    labels = options.get("labels")
    if isinstance(labels, os.PathLike):
        options["labels"] = os.fspath(labels)
    elif labels is not None and not isinstance(labels, str):
        options["labels"] = as_labels(labels)
    return options


def _data_task(source: Path, options: dict[str, Any]) -> dict[str, Any]:
    """In the child: the fields of a data set; samples that stay on disk by name alone."""
    listed = {n: tuple(v) for n, v in options.items() if isinstance(v, list) and n != "labels"}
    data = read_here(reader_of(source), source, options | listed, trusted=True)
    answer: dict[str, Any] = {f"@{name}": values for name, values in data.sample_info.items()}
    for name in ("name", "description", "mode_names", "notes", "reading"):
        answer[name] = getattr(data, name)
    if data.y is not None:
        answer["y"] = data.y
    if isinstance(data.X, np.ndarray):
        return {**answer, "stays": None, "X": data.X}
    path = data.X.path if hasattr(data.X, "path") else data.X.name  # of Zarr, of h5py
    return {**answer, "stays": path}


def _labels_task(source: Path, labels: str, key: str | None) -> dict[str, Any]:
    return {"y": read_labels(labels, key)}


TASKS = {"data": _data_task, "labels": _labels_task}


# ── Options ─────────────────────────────────────────────────────────────────────────────────────


def checked_options(
    source: Path, inner: str | None, reader: Reader, options: Mapping[str, Any]
) -> dict[str, Any]:
    """The options that have a value and that the reader has, with labels and key in their place."""
    given = {name: value for name, value in options.items() if value is not None}
    if inner is not None and given.setdefault("key", inner).strip("/") != inner.strip("/"):
        raise ValueError(
            f"{source}: the path names {inner} and key names {given['key']}; give one of them"
        )
    _place_labels(given.pop("labels", None), given, reader.options)
    unknown = [name for name in given if name not in reader.options]
    if unknown:
        raise ValueError(
            f"{', '.join(unknown)} does not apply to {source}, which is read as {reader.name}; its "
            f"options are {', '.join(reader.options)}"
        )
    return given


def _groups(source: Path, data: TensorDataset, groups: Any) -> np.ndarray:
    """The group of every sample: from an array, another file, the data, or the folders."""
    if not isinstance(groups, str | os.PathLike):
        return as_labels(groups)
    name = os.fspath(groups)
    if name in data.sample_info:
        return np.asarray(data.sample_info[name])
    if inner_path(groups)[0].expanduser().is_file():
        found = _labels(groups, None)
        check_count(source, len(data), found)
        return found
    if name == "folder" and "file" in data.sample_info and data.y is not None:
        parents = [file.split("/")[:-1] for file in data.sample_info["file"].tolist()]
        classes = map(str, data.y.tolist())
        others = [
            "/".join(p for p in parts if p != c) for parts, c in zip(parents, classes, strict=True)
        ]
        if all(others):
            return np.array(others)
        raise ValueError(f"{source} has no folders but those of the classes; groups need others")
    known = ", ".join(one for one in data.sample_info if one != "file") or "none"
    raise ValueError(
        f"groups is {name!r}, which is no file, and no column or array of {source} with a value "
        f"per sample (there is {known})"
    )


def _scaled(X: Any, scale: Any) -> np.ndarray:
    good = isinstance(scale, int | float) and not isinstance(scale, bool)
    if not good or not np.isfinite(scale) or scale <= 0:
        raise ValueError(
            f"scale is {scale!r}; expected a positive number to divide by, such as 255"
        )
    scaled: np.ndarray = np.asarray(X) / scale
    return scaled


def _place_labels(labels: Any, given: dict[str, Any], known: Mapping[str, Any]) -> None:
    """Add labels to the options that are given: a name in the data, an array or a file."""
    if labels is None:
        return
    outside = not isinstance(labels, int)
    if isinstance(labels, str):
        place = inner_path(labels)[0].expanduser()
        outside = place.is_file() or place.suffix.lower() in READERS
    name = next((n for n in ("label_key", "label_column") if n in known), "labels")
    if outside:
        if given.get("labelled", True):
            given["labels"] = labels
    elif name == "label_column" and str(labels).lstrip("-").isdecimal():
        given[name] = int(labels)
    else:
        given[name] = labels
