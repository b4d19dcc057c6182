"""Labels that lie in a file of their own."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from tenfold.datasets.array_names import is_label_name
from tenfold.datasets.hdf5 import is_hdf5, open_hdf5
from tenfold.datasets.label_values import LABEL_NAMES, as_labels
from tenfold.datasets.locations import existing_path, inner_path
from tenfold.datasets.mat import open_mat
from tenfold.datasets.named_arrays import Arrays, listing
from tenfold.datasets.numpy_files import open_npy, open_npz
from tenfold.datasets.tables import column_labels, label_position, table_in

LARGEST_TEXT = 2**30
OPENERS = {".npy": open_npy, ".npz": open_npz, ".mat": open_mat}
OPENERS |= dict.fromkeys((".h5", ".hdf5", ".hdf", ".nc"), open_hdf5)
HERE = (".npy", ".npz", ".txt", "")  # read in this process: NumPy's own files, and plain lines
TABLES = (".csv", ".gz", ".tsv", ".parquet", ".xlsx", ".arff")


def read_labels(labels: Any, label_key: str | None = None) -> np.ndarray:
    """Labels from an array, or from a file.

    Parameters
    ----------
    labels : array-like of shape (n,) or path
        The labels; or a text file with one per line and maybe a header, a table with a column of
        labels, .npy, .npz, .mat, or HDF5 (``file.h5::/path``).
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
    if suffix in TABLES:
        return _from_table(source, key)
    opener = OPENERS.get(suffix) or (open_hdf5 if is_hdf5(source) else None)
    if opener is None:
        values: Any = _from_text(source)
    else:
        with opener(source) as arrays:
            name = _chosen(source, arrays, key and key.strip("/"))
            values = arrays.read([name])[name]
    try:
        return as_labels(values)
    except ValueError as error:
        raise ValueError(f"{source}: {error}") from error


def _from_table(source: Path, key: str | None) -> np.ndarray:
    """The column of this name, the only one, or one named as labels."""
    frame, named, _ = table_in(source, label_column=key)
    if frame.shape[1] == 1 and key is None:
        return column_labels(source, frame, 0)
    return column_labels(source, frame, label_position(source, key, list(frame.columns), named))


def _chosen(source: Path, arrays: Arrays, key: str | None) -> str:
    """The array that holds the labels of a file in which nothing else is wanted."""
    shapes = arrays.shapes
    if key is not None and key in shapes:
        return key
    for name in [key] if key else arrays.unreadable:
        if name in arrays.unreadable:
            raise ValueError(f"{source}: array {name!r} {arrays.unreadable[name]}")
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


def _from_text(source: Path) -> list[str]:
    """One label per line below a header, if there is one."""
    if source.stat().st_size > LARGEST_TEXT:
        raise ValueError(f"{source} is too large for a text file of labels")
    try:
        text = source.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        text = source.read_text(encoding="latin-1")
    if "\0" in text:
        raise ValueError(f"{source} is not text; expected one label per line")
    labels = text.rstrip().split("\n")
    first = labels[0].strip().lower()
    below = {label.strip().lower() for label in labels[1:]}
    return labels[1:] if first in LABEL_NAMES and first not in below else labels
