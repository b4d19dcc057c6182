"""Labels that lie in a file of their own."""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import Any

import numpy as np

from tenfold.datasets.array_names import is_label_name
from tenfold.datasets.hdf5_file import HDF5_DAMAGE, datasets, is_hdf5, opened, read_dataset
from tenfold.datasets.label_values import LABEL_NAMES, as_labels
from tenfold.datasets.locations import existing_path, inner_path, reading, short
from tenfold.datasets.mat_file import mat_arrays, mat_values
from tenfold.datasets.mat_values import array_shape
from tenfold.datasets.named_arrays import Shapes, listing
from tenfold.datasets.numpy_arrays import AS_TEXT, map_npy, npz_arrays, npz_shapes

LARGEST_TEXT = 2**30


def read_labels(labels: Any, label_key: str | None = None) -> np.ndarray:
    """Labels from an array, or from a file.

    Parameters
    ----------
    labels : array-like of shape (n,) or path
        The labels; or a text file with one per line and maybe a header, .csv or .tsv with a column
        of labels, .parquet, .npy, .npz, .mat, or HDF5 (``file.h5::/path``).
    label_key : str or None, default=None
        Name of the array or column in the file; None when only one can be meant.

    Returns
    -------
    ndarray of shape (n,)
        See `as_labels`.
    """
    if not isinstance(labels, (str, os.PathLike)):
        return as_labels(labels)
    place, inner = inner_path(labels)
    source = existing_path(place, "a file of labels")
    key = inner or label_key
    suffix = source.suffix.lower()
    if suffix == ".npy":
        values: Any = map_npy(source, AS_TEXT)
    elif suffix == ".npz":
        values = npz_arrays(source, [_chosen(source, npz_shapes(source), key)])
    elif suffix == ".mat":
        values = _from_mat(source, key)
    elif suffix == ".parquet":
        from tenfold.datasets.parquet import parquet_column  # which reads labels itself

        values = parquet_column(source, key)
    elif suffix in (".h5", ".hdf5", ".hdf", ".nc") or is_hdf5(source):
        values = _from_hdf5(source, key)
    else:
        values = _from_text(source, key)
    if isinstance(values, dict):
        (values,) = values.values()
    try:
        return as_labels(values)
    except ValueError as error:
        raise ValueError(f"{source}: {error}") from error


def _from_mat(source: Path, key: str | None) -> dict[str, np.ndarray]:
    with mat_values(source) as values:
        shapes = {name: array_shape(value) for name, value in values.items()}
        return mat_arrays(source, values, [_chosen(source, shapes, key)])


def _from_hdf5(source: Path, key: str | None) -> np.ndarray:
    with reading(source, "HDF5 file", *HDF5_DAMAGE), opened(source) as file:
        found = datasets(file)
        shapes = {name: item.shape or () for name, item in found.items()}
        return read_dataset(source, found[_chosen(source, shapes, key and key.strip("/"))])


def _chosen(source: Path, shapes: Shapes, key: str | None) -> str:
    """The array that holds the labels of a file in which nothing else is wanted."""
    if key is not None and key in shapes:
        return key
    real = [name for name, shape in shapes.items() if max(shape, default=1) > 1]
    named = [name for name in real if is_label_name(name)]
    vectors = [name for name in real if sum(size > 1 for size in shapes[name]) == 1]
    for guesses in (named, vectors, real):
        if key is None and len(guesses) == 1:
            return guesses[0]
    raise ValueError(
        f"cannot tell which array of {source} holds the labels: "
        f"{listing({name: shapes[name] for name in real})}; pass label_key=NAME"
    )


def _from_text(source: Path, key: str | None) -> list[str]:
    """One label per line below a header, if there is one; or a column of a table."""
    if source.stat().st_size > LARGEST_TEXT:
        raise ValueError(f"{source} is too large for a text file of labels")
    try:
        lines = source.read_text(encoding="utf-8-sig").rstrip().split("\n")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{source} is not UTF-8 text; save it as UTF-8, one label per line"
        ) from error
    if source.suffix.lower() in (".csv", ".tsv"):
        mark = "\t" if source.suffix.lower() == ".tsv" else ","
        with reading(source, "table of labels", csv.Error):
            rows = [row for row in csv.reader(lines, delimiter=mark) if row]
        return _column(source, rows, key)
    labels = [line.strip() for line in lines]
    return labels[1:] if _is_header(labels) else labels


def _column(source: Path, rows: list[list[str]], key: str | None) -> list[str]:
    names = [name.strip() for name in rows[0]] if rows else []
    if any(len(row) != len(names) for row in rows):
        raise ValueError(f"{source}: its rows have different numbers of cells")
    if len(names) == 1 and key is None:
        labels = [row[0].strip() for row in rows]
        return labels[1:] if _is_header(labels) else labels
    found = [i for i, n in enumerate(names) if (n == key if key else n.lower() in LABEL_NAMES)]
    if len(found) != 1:
        shown = ", ".join(map(short, names[:8]))
        raise ValueError(
            f"cannot tell which column of {source} holds the labels: it has {shown}; "
            "pass label_key=NAME"
        )
    return [row[found[0]] for row in rows[1:]]


def _is_header(labels: list[str]) -> bool:
    """Whether the first line names what follows: it is a name of labels, and no label is."""
    first = labels[0].lower() if labels else ""
    return first in LABEL_NAMES and first not in (label.lower() for label in labels[1:])
