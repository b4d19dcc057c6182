"""One function that reads whatever the path is."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tenfold.datasets.csv_file import load_csv
from tenfold.datasets.hdf5 import load_hdf5
from tenfold.datasets.images import image_files, load_image_folder
from tenfold.datasets.label_files import read_labels
from tenfold.datasets.locations import existing_path, inner_path
from tenfold.datasets.matlab import load_mat
from tenfold.datasets.named_arrays import check_count
from tenfold.datasets.netcdf import load_netcdf
from tenfold.datasets.numpy_files import load_npy, load_npy_folder, load_npz, npy_files
from tenfold.datasets.parquet import load_parquet
from tenfold.datasets.reading import how_it_was_read
from tenfold.datasets.tensor_dataset import TensorDataset
from tenfold.datasets.tiff import load_tiff
from tenfold.datasets.zarr_store import load_zarr

_BY_SUFFIX: dict[str, Callable[..., TensorDataset]] = {
    ".npz": load_npz,
    ".npy": load_npy,
    ".mat": load_mat,
    ".zarr": load_zarr,
    ".csv": load_csv,
    ".tsv": load_csv,
    ".h5": load_hdf5,
    ".hdf5": load_hdf5,
    ".hdf": load_hdf5,
    ".nc": load_netcdf,
    ".nc4": load_netcdf,
    ".parquet": load_parquet,
    ".tif": load_tiff,
    ".tiff": load_tiff,
}
_UNDERSTOOD = (
    "a .npz, .npy, .mat, .csv, .tsv, .h5, .nc, .parquet or .tif file, a Zarr store, or a folder of "
    "images (or .npy files) by class"
)


def load(
    path: str | os.PathLike[str], *, labels: Any = None, scale: Any = None, **options: Any
) -> TensorDataset:
    """Read a data set, by what the path is.

    ============================= ====================
    path                          read by
    ============================= ====================
    ``.npz``, ``.npy``            `load_npz`, `load_npy`
    ``.mat``                      `load_mat`
    ``.csv``, ``.tsv``            `load_csv`
    ``.h5``, ``.nc``              `load_hdf5`, `load_netcdf`
    ``.parquet``, ``.tif``        `load_parquet`, `load_tiff`
    Zarr store                    `load_zarr`
    folder of .npy files          `load_npy_folder`
    other folder                  `load_image_folder`
    ============================= ====================

    Parameters
    ----------
    path : path
        File or folder. ``file::name`` names an array inside, as ``key="name"`` does.
    labels : array-like of shape (n,), path, str, int or None, default=None
        The labels, the file that holds them (text with one per line, .npy, .npz, .mat, .csv, .h5),
        or the name of the array or column in the data; None leaves it to the loader to find them.
    scale : float or None, default=None
        Divide all numbers by this, such as 255; what stays on disk is then read into memory.
    **options
        Keyword arguments of the loader in the table. One that is None counts as not given.

    Returns
    -------
    TensorDataset
        The data. Its ``reading`` says how it was read.

    Examples
    --------
    >>> import pathlib, tempfile, numpy as np
    >>> from tenfold.datasets import load
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "toy.npz"
    >>> np.savez(path, X=np.zeros((4, 3, 2)), y=[0, 0, 1, 1])
    >>> load(path, key="X")
    TensorDataset 'toy': 4 samples of 3x2 (float64), 2 classes
    """
    place, inner = inner_path(path)
    source = existing_path(place, _UNDERSTOOD)
    loader = _loader_for(source)
    known = list(inspect.signature(loader).parameters)[1:]
    given = _given(source, inner, options)
    beside = _place_labels(labels, given, known)
    _check_known(source, loader.__name__, given, known)
    data = loader(source, **given)
    if beside is not None:
        check_count(source, len(data), beside)
    return replace(
        data,
        X=data.X if scale is None else _scaled(data.X, scale),
        y=data.y if beside is None else beside,
        reading=how_it_was_read(loader, given | {"scale": scale}, data.reading),
    )


def _given(source: Path, inner: str | None, options: dict[str, Any]) -> dict[str, Any]:
    """The options that have a value, with the array that the path names as the key."""
    given = {name: value for name, value in options.items() if value is not None}
    if inner is not None and given.setdefault("key", inner) != inner:
        raise ValueError(
            f"{source}: the path names {inner} and key names {given['key']}; give one of them"
        )
    return given


def _scaled(X: Any, scale: Any) -> np.ndarray:
    good = isinstance(scale, int | float) and not isinstance(scale, bool)
    if not good or not np.isfinite(scale) or scale <= 0:
        raise ValueError(
            f"scale is {scale!r}; expected a positive number to divide by, such as 255"
        )
    scaled: np.ndarray = np.asarray(X) / scale
    return scaled


def loader_of(path: str | os.PathLike[str]) -> Callable[..., TensorDataset]:
    """The loader that `load` calls for a path."""
    return _loader_for(existing_path(inner_path(path)[0], _UNDERSTOOD))


def _check_known(source: Path, loader: str, given: dict[str, Any], known: list[str]) -> None:
    unknown = [name for name in given if name not in known]
    if unknown:
        raise ValueError(
            f"{', '.join(unknown)} does not apply to {source}, which is read by {loader}; its "
            f"options are {', '.join(known)}"
        )


def _place_labels(labels: Any, given: dict[str, Any], known: list[str]) -> np.ndarray | None:
    """Add labels to the options that are given; those of a folder are read, and come back."""
    if labels is None:
        return None
    if not _is_outside(labels):
        name = _label_option(known)
        given[name] = int(labels) if _is_position(name, labels) else labels
    elif given.get("labelled", True):
        if "labels" not in known:  # a folder, which names its classes itself
            given["labelled"] = False
            return read_labels(labels)
        given["labels"] = labels
    return None


def _is_outside(labels: Any) -> bool:
    """Whether labels are not a name in the data, but an array or a file."""
    if isinstance(labels, str):
        return inner_path(labels)[0].expanduser().is_file()
    return not isinstance(labels, int)


def _label_option(known: list[str]) -> str:
    """The option of a loader that names labels in the data."""
    return next((name for name in ("label_key", "label_column") if name in known), "labels")


def _is_position(name: str, labels: Any) -> bool:
    return name == "label_column" and str(labels).lstrip("-").isdecimal()


def _loader_for(source: Path) -> Callable[..., TensorDataset]:
    is_store = any((source / name).exists() for name in ("zarr.json", ".zgroup", ".zarray"))
    if source.is_dir() and not is_store:
        return (
            load_npy_folder if npy_files(source) and not image_files(source) else load_image_folder
        )
    loader = load_zarr if is_store else _BY_SUFFIX.get(source.suffix.lower())
    if loader is None:
        raise ValueError(f"{source} has a form tenfold does not read; expected {_UNDERSTOOD}")
    return loader
