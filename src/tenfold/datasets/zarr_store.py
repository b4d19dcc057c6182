"""Zarr stores, which stay on disk: the only module here that imports zarr."""

from __future__ import annotations

import os
from collections.abc import Sequence
from math import prod
from pathlib import Path
from typing import Any, Literal

import numpy as np

from tenfold.datasets.label_files import read_labels
from tenfold.datasets.locations import existing_path, reading
from tenfold.datasets.named_arrays import (
    ArrayOptions,
    Order,
    assemble,
    check_count,
    check_numbers,
    fold_rows,
)
from tenfold.datasets.sizes import check_memory, n_bytes
from tenfold.datasets.tensor_dataset import TensorDataset

_METADATA = ("zarr.json", ".zarray", ".zattrs", ".zgroup", ".zmetadata")
_DAMAGE = (
    ValueError,
    TypeError,
    LookupError,
    OSError,
    RuntimeError,
    EOFError,
    OverflowError,
    AttributeError,  # metadata that are JSON, but not what Zarr expects
    ArithmeticError,
    NotImplementedError,
    AssertionError,
    SystemError,  # of a compressor that was told a negative size
)


def load_zarr(
    path: str | os.PathLike[str],
    labels: Any = None,
    *,
    key: str | None = None,
    label_key: str | None = None,
    sample_shape: Sequence[int] | None = None,
    order: Order = "C",
    labelled: bool = True,
    missing_chunks: Literal["error", "fill"] = "error",
) -> TensorDataset:
    """Open a Zarr store; the samples stay on disk and come into memory block by block.

    Parameters
    ----------
    path : path
        The store: a group with an array of samples and one of labels, or a single array.
    labels : array-like of shape (n,), path or None, default=None
        Labels that are not in the store: one per sample, or a file that holds them (text with one
        per line, .npy, .npz, .mat, .csv, .h5).
    key : str or None, default=None
        Name of the samples in a group; None when only one array can be meant.
    label_key : str or None, default=None
        Name of the labels in a group; None as in `load_npz`.
    sample_shape : sequence of int or None, default=None
        Shape to fold flat rows into. This reads the samples into memory.
    order : {"C", "F"}, default="C"
        Whether flat rows hold their sample row by row or column by column.
    labelled : bool, default=True
        False opens samples without labels.
    missing_chunks : {"error", "fill"}, default="error"
        What a chunk that is not in the store means. "error" refuses the store and names the chunk.
        "fill" reads the fill value, usually 0; Zarr leaves out such chunks when it writes, unless
        it is told ``config={"write_empty_chunks": True}``.

    Returns
    -------
    TensorDataset
        X a ``zarr.Array`` of shape (n, I_1, ..., I_K), or a `FilledStore` with one inside; y in
        memory.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import zarr
    >>> import numpy as np
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "toy.zarr"
    >>> zarr.save_group(path, X=np.ones((4, 3, 2)), y=np.array([0, 0, 1, 1]))
    >>> load_zarr(path)
    TensorDataset 'toy': 4 samples of 3x2 (float64), 2 classes
    """
    source = existing_path(path, "a Zarr store")
    given = read_labels(labels, label_key) if labelled and labels is not None else None
    options = ArrayOptions(key, label_key, sample_shape, order, labelled, None, given)
    if missing_chunks not in ("error", "fill"):
        raise ValueError(f'missing_chunks is {missing_chunks!r}; expected "error" or "fill"')
    store = _open(source)
    with reading(source, "Zarr store", *_DAMAGE):
        read = _from_group if hasattr(store, "arrays") else _from_array
        return read(source, store, options, missing_chunks)


def _open(source: Path) -> Any:
    try:
        import zarr
    except ImportError as error:
        raise ImportError('Zarr stores need zarr: pip install "tenfold[data]"') from error
    with reading(source, "Zarr store", *_DAMAGE):
        return zarr.open(source, mode="r")


def _from_group(
    source: Path, group: Any, options: ArrayOptions, missing_chunks: str
) -> TensorDataset:
    arrays = dict(group.arrays())

    def read(names: list[str]) -> dict[str, Any]:
        found = {name: _whole(source, arrays[name], missing_chunks) for name in names}
        return {n: array if n == names[0] else np.asarray(array[:]) for n, array in found.items()}

    return assemble(source, {name: array.shape for name, array in arrays.items()}, read, options)


def _from_array(
    source: Path, array: Any, options: ArrayOptions, missing_chunks: str
) -> TensorDataset:
    if options.labelled and options.labels is None:
        raise ValueError(f"{source} is a single array; pass labels=FILE, or labelled=False")
    X = _whole(source, check_numbers(array, source.name, source), missing_chunks)
    if X.ndim < 2:
        raise ValueError(f"{source} has shape {X.shape}; expected (n, I_1, ..., I_K)")
    labels = options.labels if options.labelled else None
    if labels is not None:
        check_count(source, X.shape[0], labels)
    return TensorDataset(
        fold_rows(X, options.sample_shape, options.order, source),
        labels,
        name=source.stem,
        description=f"Zarr array {source.name}.",
    )


class FilledStore:
    """A Zarr array whose absent chunks are meant to be the fill value; read like any store."""

    def __init__(self, array: Any) -> None:
        self.array = array
        self.shape, self.dtype, self.ndim = array.shape, array.dtype, array.ndim
        self.chunks = array.shards or array.chunks

    def __getitem__(self, rows: Any) -> Any:
        return self.array[rows]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self.array[...], dtype=dtype)


def _whole(source: Path, array: Any, missing_chunks: str) -> Any:
    """A Zarr array that has all its chunks, or may lack some; else a ValueError that names one."""
    codecs = [*(array.filters or ()), *(array.compressors or ())]
    if any("pickle" in type(codec).__name__.lower() for codec in codecs):
        raise ValueError(f"{source} holds pickled Python objects, which can run code when opened")
    sizes = array.shards or array.chunks
    check_memory(source, "a chunk", n_bytes(sizes, array.dtype.itemsize))
    if missing_chunks == "fill":
        return FilledStore(array)
    if array.size == 0:
        return array
    grid = [-(-n // step) for n, step in zip(array.shape, sizes, strict=True)]
    place, key_of = source / array.path, array.metadata.encode_chunk_key
    cells = (tuple(map(int, np.unravel_index(i, grid))) for i in range(prod(grid)))
    absent = next((cell for cell in cells if not (place / key_of(cell)).exists()), None)
    if absent is None:
        return array
    there = sum(file.is_file() and file.name not in _METADATA for file in place.rglob("*"))
    row = absent[0] * sizes[0] if sizes else 0
    rows = f"rows {row} to {min(row + sizes[0], array.shape[0]) - 1}" if sizes else "its value"
    raise ValueError(
        f"{source}: array {array.path or source.name} has {there} of {prod(grid)} "
        f"chunks; the first that is not in the store is {key_of(absent)} ({rows}); restore it, or "
        'if absent chunks are meant to be the fill value, pass missing_chunks="fill"'
    )
