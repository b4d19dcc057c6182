"""One function that reads whatever the path is."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np

from tenfold.datasets.hdf5 import open_hdf5
from tenfold.datasets.images import (
    IMAGE_SUFFIXES,
    look_at_folder,
    open_folder,
    open_pages,
    sample_files,
)
from tenfold.datasets.labels import LABEL_NAMES, as_labels
from tenfold.datasets.locations import FileError, existing_path, inner_path, naming
from tenfold.datasets.mat import open_mat
from tenfold.datasets.named_arrays import Arrays, Look, assemble, choose_label_file
from tenfold.datasets.netcdf import open_netcdf
from tenfold.datasets.numpy_files import check_unpacked_size, open_npy, open_npz
from tenfold.datasets.sandbox import in_sandbox
from tenfold.datasets.spelling import spelled
from tenfold.datasets.tables import (
    decoded_text,
    look_at_table,
    open_table,
    read_column,
    rows_of_files,
)
from tenfold.datasets.tensor_dataset import Samples, TensorDataset
from tenfold.datasets.time_series import open_fif, open_ts
from tenfold.datasets.zarr_store import is_zarr, open_zarr

# Options of every format.
COMMON = ("labels", "labelled", "key", "sample_shape", "order", "sample_axis")
# What a sample is: a model can only be used on samples that were read in the same way.
SAMPLE_OPTIONS = (
    *("sample_shape", "order", "resize", "grey", "background", "scale"),
    *("columns", "categories", "dims", "classes_from"),
)
# Where the samples and labels lie in a file: another file may need other values.
PLACE_OPTIONS = ("key", "labels", "sample_axis", "header", "delimiter", "decimal")


@dataclass(frozen=True)
class Reader:
    """How one format is read.

    Parameters
    ----------
    name : str
        The format.
    library : str
        What reads it.
    give : callable
        Takes a path, and its keyword arguments are the options of the format; gives `Arrays`.
    here : bool, default=False
        Whether it is read in this process: NumPy's own formats are.
    order : {"C", "F"}, default="C"
        How flat rows are usually stored.
    look : callable or None, default=None
        Takes a path and options and says what `contents` shows; None shows the arrays.
    check : callable or None, default=None
        Takes a path and refuses what would take too much memory here; not asked of trusted files.
    """

    name: str
    library: str
    give: Callable[..., Arrays]
    here: bool = False
    order: str = "C"
    look: Callable[[Path, Mapping[str, object]], Look] | None = None
    check: Callable[[Path], None] | None = None

    def reads_here(self, source: Path, trusted: bool) -> bool:
        """Whether a file is read in this process; a file that is too large for it is refused."""
        if not trusted and self.check is not None:
            self.check(source)
        return trusted or self.here

    @property
    def own(self) -> list[str]:
        """Names of the options that `open` takes."""
        found = inspect.signature(self.give).parameters.values()
        return [one.name for one in found if one.kind is one.KEYWORD_ONLY]

    @property
    def options(self) -> list[str]:
        """Names of all options."""
        return list(dict.fromkeys([*COMMON, *self.own]))


NPZ = Reader("npz", "NumPy", open_npz, here=True, check=check_unpacked_size)
NPY = Reader("npy", "NumPy", open_npy, here=True)
MAT = Reader("mat", "SciPy, h5py", open_mat, order="F")
HDF5 = Reader("hdf5", "h5py", open_hdf5)
ZARR = Reader("zarr", "zarr", open_zarr)
NETCDF = Reader("netcdf", "xarray", open_netcdf)
TABLE = Reader("table", "Python, pandas, SciPy", open_table, look=look_at_table)
SERIES = Reader("ts", "Python", open_ts)
EPOCHS = Reader("fif", "MNE", open_fif)
IMAGES = Reader("image folder", "Pillow", open_folder, look=look_at_folder)
NPY_FOLDER = Reader("npy folder", "NumPy", open_folder)
PAGES = Reader("image", "Pillow", open_pages)

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
LARGEST_TEXT = 2**30  # bytes of labels
UNDERSTOOD = f"a folder of images (or .npy files) by class, or a file of {', '.join(READERS)}"


def load(
    path: str | os.PathLike[str],
    *,
    labels: object = None,
    groups: object = None,
    scale: object = None,
    trusted: bool = False,
    **options: object,
) -> TensorDataset:
    r"""Read a data set, by what the path is.

    Folders of images by class, and these files: .npz, .npy, .mat (every version), HDF5, netCDF,
    Zarr, tables (.csv, .csv.gz, .tsv, .data, .txt, .xlsx, .parquet, .arff), series of the UEA
    archive (.ts), epochs of MNE (.fif), images (PNG, JPEG, TIFF, BMP, PGM, PPM, GIF, WebP), zip and
    tar files of images.

    A file is read by the library of its format, in a process of its own with limits of time and
    (on Linux) memory, so that a damaged or hostile file can end that process only. NumPy's own
    files are read in this process, unless they unpack to more than 200 times their size or half of
    the memory; a pickle is never opened. Zarr stores, and .npy and HDF5 files
    with more than 1 GiB of samples, stay on disk and are read block by block.

    Parameters
    ----------
    path : path
        File or folder. ``file::name`` names an array inside, as ``key="name"`` does.
    labels : array-like of shape (n,), path, str, int or None, default=None
        The labels, the file that holds them (text with one per line, a table, .npy, .npz, .mat,
        .h5), or the name of the array or column in the data; None finds them: the array or column
        called y, gnd, label(s), target(s) or class(es), or the only vector with a value per sample.
        A table beside a folder of images is matched by a column of file names, if it has one.
        Rows with a single 1 (one-hot) give the number of its column.
    groups : array-like of shape (n,), path, str or None, default=None
        Group labels, such as persons or days, that are kept together in training or test: an
        array, a file as for labels, the name of a column or array in the data, or "folder" for the
        folders of images that are not classes.
    scale : float or None, default=None
        Divide all numbers by this, such as 255; what stays on disk is then read into memory.
    trusted : bool, default=False
        True reads the file in this process, without limits.
    **options
        What the format knows. One that is None counts as not given.

        labelled : bool, default=True
            False reads samples without labels.
        key : str
            Name of the samples among arrays.
        sample_shape : sequence of int
            Shape to fold flat rows into.
        order : {"C", "F"}
            Whether flat rows hold their sample row by row or, as in .mat files, column by column.
        sample_axis : int
            The axis that counts samples; by default 0, or the last one if no other is as long as
            the labels.
        columns, leave_out : sequence of str
            Columns of a table that are the numbers, or that are neither numbers nor labels.
        categories : sequence of (name, value, ...)
            Values of columns of text, each of which becomes a column of zeros and ones; found by
            default where there are at most 20 of them.
        delimiter : str
            What separates the cells of a text; found by default.
        decimal : {",", "."}
            Which mark is decimal where numbers hold commas; the other one separates thousands.
        header : bool
            Whether the first row holds names; found by default, unless it may be a sample, too.
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
    source, reader, given = checked_options(path, {"labels": labels, **options})
    is_name = isinstance(groups, str) and not inner_path(groups)[0].expanduser().is_file()
    if is_name and "groups" in reader.own:
        given["groups"] = groups  # a column, which is no feature
    if reader.reads_here(source, trusted):
        data = read_here(reader, source, given, trusted)
    else:
        data = _read_there(reader, source, given)
    return replace(
        data,
        X=data.X if scale is None else _scaled(data.X, scale),
        groups=None if groups is None else _groups(source, data, groups),
        name=_name(source),
        reading=_how_it_was_read(reader, {**given, **data.reading, "scale": scale}),
    )


def reader_of(path: str | os.PathLike[str]) -> Reader:
    """The reader of a path: what `load` uses."""
    source = existing_path(inner_path(path)[0], UNDERSTOOD)
    if source.is_dir():
        if is_zarr(source) or source.suffix.lower() == ".zarr":
            return ZARR
        return NPY_FOLDER if {file.suffix for file in sample_files(source)} == {".npy"} else IMAGES
    found = READERS.get(_ending(source))
    if found is None:
        raise FileError(f"{source} is of a type that tenfold does not read; expected {UNDERSTOOD}")
    return found


def _ending(source: Path) -> str:
    """The longest suffix of a file that says what it is; "" if none does."""
    endings = ("".join(source.suffixes[-n:]).lower() for n in (2, 1))
    return next((ending for ending in endings if ending in READERS), "")


def _name(source: Path) -> str:
    """The name of a file without its suffix, or of a folder."""
    name = source.resolve().name if source.is_dir() else source.name
    return name[: len(name) - len(_ending(source))]


# ── Here, and in a child ────────────────────────────────────────────────────────────────────────


def read_here(
    reader: Reader, source: Path, given: Mapping[str, Any], trusted: bool
) -> TensorDataset:
    """What the reader gives, with labels of another file read before."""
    options = {"order": reader.order, "labelled": True, "labels": None, **given}
    outside = None
    if is_outside(options["labels"]):
        outside = read_labels(options["labels"], trusted) if options["labelled"] else None
        options["labels"] = None
    own = {name: options[name] for name in reader.own if name in options}
    if outside is not None and "labelled" in own:
        own["labelled"] = False
    chosen = {name: options[name] for name in COMMON if name in options}
    chosen["labels"] = outside
    if outside is None and "labels" not in own:
        chosen["labels"] = options["labels"]
    with naming(source):
        data = assemble(source, reader.give(source, **own), **chosen)
    if outside is None or "file" not in data.sample_info:
        return data
    return _in_the_order_of_files(data, given["labels"], trusted)


def _in_the_order_of_files(data: TensorDataset, labels: object, trusted: bool) -> TensorDataset:
    """The data with the labels that a table has for each file, where it names the files."""
    if not isinstance(labels, str | os.PathLike) or data.y is None:
        return data
    outside, column = inner_path(labels)
    place = existing_path(outside, "a file of labels")
    reader = READERS.get(_ending(place))
    if reader is not TABLE or not reader.reads_here(place, trusted):
        return data
    with naming(place):
        rows = rows_of_files(place, column, data.sample_info["file"].tolist())
    if rows is None:
        note = f"labels of {place.name} are taken in the order of the files' names"
        return replace(data, notes=(*data.notes, note))
    return replace(data, y=np.asarray(data.y)[rows])


def first_that_works(
    ways: Iterable[dict[str, object]], read: Callable[[dict[str, object]], TensorDataset]
) -> tuple[TensorDataset | None, dict[str, object], ValueError | None]:
    """What `read` gives for the first of some options, these, and why those before do not do."""
    complaint = None
    for way in ways:
        try:
            return read(way), way, complaint
        except ValueError as error:
            complaint = complaint or error
    return None, {}, complaint


def is_outside(labels: object) -> bool:
    """Whether labels are an array or a file, and no name or position in the data."""
    if isinstance(labels, str):
        place = inner_path(labels)[0].expanduser()
        return place.is_file() or place.suffix.lower() in READERS
    return labels is not None and not isinstance(labels, int)


def read_labels(labels: object, trusted: bool = False) -> np.ndarray:
    """Labels from an array, or from a file; a foreign one is read in a child.

    Parameters
    ----------
    labels : array-like of shape (n,) or path
        The labels; or a text file with one per line and maybe a header, a table with a column of
        labels, or a file of arrays; ``file::name`` names the array or column.
    trusted : bool, default=False
        True reads any file in this process.

    Returns
    -------
    ndarray of shape (n,)
        See `as_labels`.
    """
    if not isinstance(labels, str | os.PathLike):
        return as_labels(labels)
    place, name = inner_path(labels)
    source = existing_path(place, "a file of labels")
    with naming(source):
        if _ending(source) in ("", ".txt", ".data") and name is None:
            return _lines_of_labels(source)
        reader = reader_of(source)
        if not reader.reads_here(source, trusted):
            found: np.ndarray = in_sandbox("labels", source, {"labels": os.fspath(labels)})["y"]
            return found
        if reader is TABLE:
            return read_column(source, name)
        return choose_label_file(source, reader.give(source), name and name.strip("/"))


def _lines_of_labels(source: Path) -> np.ndarray:
    """One label per line below a header, if there is one."""
    if source.stat().st_size > LARGEST_TEXT:
        raise FileError(f"{source} is too large for a text file of labels")
    labels = re.split(r"\r\n?|\n", decoded_text(source)[0].rstrip())
    first = labels[0].strip().lower()
    below = {label.strip().lower() for label in labels[1:]}
    return as_labels(labels[1:] if first in LABEL_NAMES and first not in below else labels)


def _read_there(reader: Reader, source: Path, given: Mapping[str, object]) -> TensorDataset:
    """What the reader gives in a process of its own; what stays on disk is opened here."""
    answer = in_sandbox("data", source, {"options": given})
    info = {name[1:]: answer.pop(name) for name in list(answer) if name.startswith("@")}
    stays = answer.pop("stays")
    if stays is not None:
        own = {name: given[name] for name in reader.own if name in given}
        answer["X"] = reader.give(source, **own).read([stays])[stays]
    return TensorDataset(
        answer["X"],
        answer.get("y"),
        description=answer["description"],
        mode_names=tuple(answer["mode_names"]),
        sample_info=info,
        notes=tuple(answer["notes"]),
        reading=answer["reading"],
    )


def _data_task(source: Path, options: dict[str, Any]) -> dict[str, Any]:
    """In the child: the fields of a data set; samples that stay on disk by name alone."""
    listed = {name: tuple(value) for name, value in options.items() if isinstance(value, list)}
    data = read_here(reader_of(source), source, options | listed, trusted=True)
    answer: dict[str, object] = {f"@{name}": values for name, values in data.sample_info.items()}
    for name in ("description", "mode_names", "notes", "reading"):
        answer[name] = getattr(data, name)
    if data.y is not None:
        answer["y"] = data.y
    if isinstance(data.X, np.ndarray):
        return {**answer, "stays": None, "X": data.X}
    path = data.X.path if hasattr(data.X, "path") else data.X.name  # of Zarr, of h5py
    return {**answer, "stays": path.strip("/") or source.stem}


def _labels_task(source: Path, labels: str) -> dict[str, object]:
    return {"y": read_labels(labels, trusted=True)}


TASKS: dict[str, Callable[..., dict[str, Any]]] = {"data": _data_task, "labels": _labels_task}


# ── Options ─────────────────────────────────────────────────────────────────────────────────────


def checked_options(
    path: str | os.PathLike[str], options: Mapping[str, Any]
) -> tuple[Path, Reader, dict[str, Any]]:
    """The file, its reader, and the options that have a value, all of which the reader has."""
    place, inner = inner_path(path)
    source = existing_path(place, UNDERSTOOD)
    reader = reader_of(source)
    given = {name: value for name, value in options.items() if value is not None}
    if inner is not None and given.setdefault("key", inner).strip("/") != inner.strip("/"):
        raise FileError(
            f"{source}: the path names {inner} and key names {given['key']}; give one of them"
        )
    if isinstance(given.get("dims"), str):  # as --read has them
        given["dims"] = tuple(name.strip() for name in given["dims"].split(","))
    if not isinstance(given.get("header", True), bool):
        raise FileError(f"header is {given['header']!r}; expected True or False")
    if given.get("decimal", ".") not in (".", ","):
        raise FileError(f"decimal is {given['decimal']!r}; expected '.' or ','")
    if not isinstance(given.get("labels", 0), int | str | os.PathLike):
        given["labels"] = as_labels(given["labels"])
    unknown = [name for name in given if name not in reader.options]
    if unknown:
        found = get_close_matches(unknown[0], reader.options, n=1)
        near = f"; did you mean {found[0]}?" if found else ""
        raise FileError(
            f"{', '.join(unknown)} does not apply to {source}, which is read as {reader.name}; its "
            f"options are {', '.join(reader.options)}{near}"
        )
    return source, reader, given


def _how_it_was_read(reader: Reader, used: Mapping[str, object]) -> dict[str, object]:
    """The options, as plain values, that a later reading needs to give the same kind of samples."""
    options = {name: value for name, value in used.items() if value is not None}
    if "sample_shape" in options:
        options.setdefault("order", reader.order)
    else:
        options.pop("order", None)
    if is_outside(options.get("labels")):
        del options["labels"]
    kept = (name for name in (*SAMPLE_OPTIONS, *PLACE_OPTIONS) if name in options)
    return {name: _plain(options[name]) for name in kept} | {"loader": reader.name}


def _plain(value: object) -> object:
    """A value that a model file can hold."""
    if isinstance(value, tuple | list):
        return tuple(_plain(part) for part in value)
    return value.item() if isinstance(value, np.generic) else value


def _groups(source: Path, data: TensorDataset, groups: object) -> np.ndarray:
    """The group of every sample: from an array, another file, the data, or the folders."""
    if not isinstance(groups, str | os.PathLike):
        return as_labels(groups)
    name = os.fspath(groups)
    if name in data.sample_info:
        return np.asarray(data.sample_info[name])
    if inner_path(groups)[0].expanduser().is_file():
        return read_labels(groups)
    if name == "folder" and "file" in data.sample_info:
        classes = [None] * len(data) if data.y is None else map(str, data.y.tolist())
        folders = []
        for file, of_class in zip(data.sample_info["file"].tolist(), classes, strict=True):
            others = [part for part in file.split("/")[:-1] if part != of_class]
            folders.append("/".join(others))
        if all(folders):
            return np.array(folders)
        raise FileError(
            f"{source} has no folders other than the classes; {spelled('groups', 'folder')} needs "
            "folders of groups"
        )
    known = ", ".join(one for one in data.sample_info if one != "file") or "none"
    raise FileError(
        f"groups is {name!r}, which is no file, and no column or array of {source} with a value "
        f"per sample (there is {known})"
    )


def _scaled(X: Samples, scale: object) -> np.ndarray:
    number = float(scale) if isinstance(scale, int | float) else 0.0
    if isinstance(scale, bool) or not 0 < number < np.inf:
        raise ValueError(
            f"scale is {scale!r}; expected a positive number to divide by, such as 255"
        )
    scaled: np.ndarray = np.asarray(X) / number
    return scaled
