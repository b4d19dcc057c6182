"""NumPy's own files: .npz and .npy. Pickles are never opened."""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np

from tenfold.datasets.locations import existing_path, reading
from tenfold.datasets.named_arrays import (
    ArrayOptions,
    Order,
    as_labels,
    assemble,
    check_numbers,
    fold_rows,
)
from tenfold.datasets.tensor_dataset import TensorDataset

_MAGIC = b"\x93NUMPY"
_PICKLE = b"\x80"  # the first byte of every protocol since 2
_AS_NUMBERS = "numbers, X.astype(float)"
_AS_TEXT = "text, y.astype(str), or of numbers"

_DAMAGE = (
    ValueError,
    EOFError,
    OSError,
    RuntimeError,  # zipfile, about methods it does not know
    TokenError,  # NumPy, about a header that ends too soon
    zipfile.BadZipFile,
    zlib.error,
)


def load_npz(
    path: str | os.PathLike[str],
    *,
    key: str | None = None,
    label_key: str | None = None,
    sample_shape: Sequence[int] | None = None,
    order: Order = "C",
    sample_axis: int = 0,
    labelled: bool = True,
) -> TensorDataset:
    """Read samples and labels from a .npz file.

    Parameters
    ----------
    path : path
        The file.
    key : str or None, default=None
        Name of the samples; None when only one array can be meant.
    label_key : str or None, default=None
        Name of the labels; None takes the only vector called y, gnd, label(s), target(s) or
        class(es), or else the only one with a value per sample.
    sample_shape : sequence of int or None, default=None
        Shape to fold flat rows into.
    order : {"C", "F"}, default="C"
        Whether flat rows hold their sample row by row or column by column.
    sample_axis : int, default=0
        The axis that counts samples.
    labelled : bool, default=True
        False reads samples without labels.

    Returns
    -------
    TensorDataset
        Samples and labels; other vectors with one value per sample go to ``sample_info``.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from tenfold.datasets import load_npz
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "toy.npz"
    >>> np.savez(path, X=np.zeros((4, 3, 2)), y=["a", "a", "b", "b"])
    >>> load_npz(path)
    TensorDataset 'toy': 4 samples of 3x2 (float64), 2 classes
    """
    source = existing_path(path, "a .npz file")
    options = ArrayOptions(key, label_key, sample_shape, order, labelled, sample_axis)
    return assemble(source, _npz_shapes(source), partial(_npz_arrays, source), options)


def load_npy(
    path: str | os.PathLike[str],
    labels: Any = None,
    *,
    sample_shape: Sequence[int] | None = None,
    order: Order = "C",
    labelled: bool = True,
) -> TensorDataset:
    """Map samples from a .npy file into memory, with labels from elsewhere.

    Parameters
    ----------
    path : path
        The file. It is mapped, not read: only the blocks used come into memory.
    labels : array-like of shape (n,), path or None, default=None
        The labels, or a .npy or text file (one per line) that holds them.
    sample_shape : sequence of int or None, default=None
        Shape to fold flat rows into.
    order : {"C", "F"}, default="C"
        Whether flat rows hold their sample row by row or column by column.
    labelled : bool, default=True
        False reads samples without labels.

    Returns
    -------
    TensorDataset
        Samples as a read-only memory map, and labels.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from tenfold.datasets import load_npy
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "toy.npy"
    >>> np.save(path, np.zeros((4, 6)))
    >>> load_npy(path, ["a", "a", "b", "b"], sample_shape=(3, 2))
    TensorDataset 'toy': 4 samples of 3x2 (float64), 2 classes
    """
    source = existing_path(path, "a .npy file")
    if labels is None and labelled:
        raise ValueError(
            f"{source} holds samples only; pass labels=FILE (a .npy or text file with "
            "one label per line), or labelled=False"
        )
    X = check_numbers(_map_npy(source), source.name, source)
    if X.ndim < 2:
        raise ValueError(f"{source} has shape {X.shape}; expected (n, I_1, ..., I_K)")
    return TensorDataset(
        fold_rows(X, sample_shape, order, source),
        read_labels(labels) if labelled else None,
        name=source.stem,
        description=f"Array {source.name}.",
    )


def read_labels(labels: Any) -> np.ndarray:
    """Labels from an array, a .npy file, or a text file with one per line."""
    if not isinstance(labels, (str, os.PathLike)):
        return as_labels(labels)
    source = existing_path(labels, "a file of labels")
    if source.suffix.lower() == ".npy":
        return as_labels(_map_npy(source, _AS_TEXT))
    try:
        return as_labels(source.read_text(encoding="utf-8").rstrip().splitlines())
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{source} is not UTF-8 text; save it as UTF-8, one label per line"
        ) from error


def _map_npy(source: Path, remedy: str = _AS_NUMBERS) -> np.ndarray:
    with source.open("rb") as file:
        start = file.read(len(_MAGIC))
    if start != _MAGIC and not start.startswith(_PICKLE):  # NumPy takes anything else for a pickle
        raise ValueError(f"{source} does not begin as a .npy file; write it with np.save")
    with _numpy_file(source, str(source), remedy):
        array: np.ndarray = np.load(source, mmap_mode="r", allow_pickle=False)
        return array


def _npz_shapes(source: Path) -> dict[str, tuple[int, ...]]:
    with _numpy_file(source), zipfile.ZipFile(source) as archive:
        names = [name for name in archive.namelist() if name.endswith(".npy")]
        return {name.removesuffix(".npy"): _stored_shape(archive, name) for name in names}


def _npz_arrays(source: Path, names: list[str]) -> dict[str, np.ndarray]:
    with _numpy_file(source):
        stored = np.load(source, allow_pickle=False)
    arrays = {}
    with stored:
        for name in names:
            remedy = _AS_NUMBERS if name == names[0] else _AS_TEXT  # the samples come first
            with _numpy_file(source, f"{source}: array {name!r}", remedy):
                arrays[name] = stored[name]
    return arrays


def _stored_shape(archive: zipfile.ZipFile, name: str) -> tuple[int, ...]:
    """Shape of one array of a .npz file, from its header alone."""
    with archive.open(name) as file:
        version = np.lib.format.read_magic(file)
        read = (
            np.lib.format.read_array_header_1_0
            if version == (1, 0)
            else np.lib.format.read_array_header_2_0
        )
        return tuple(read(file)[0])


@contextmanager
def _numpy_file(source: Path, what: str = "", remedy: str = _AS_NUMBERS) -> Iterator[None]:
    """Name the file in what NumPy and zipfile complain of, and pickles in particular.

    `what` holds the objects then, and `remedy` is the way to save it without them.
    """
    try:
        with reading(source, ".npy or .npz file", *_DAMAGE):
            yield
    except ValueError as error:
        if "allow_pickle" not in str(error) and "Python objects" not in str(error):
            raise
        raise ValueError(
            f"{what or source} holds pickled Python objects, which can run code when opened, so "
            f"tenfold does not; save it again with np.save or np.savez, as an array of {remedy}"
        ) from error
