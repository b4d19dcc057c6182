"""Zarr stores, which stay on disk: the only module here that imports zarr."""

from __future__ import annotations

from math import prod
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from tenfold.datasets.locations import FileError, reading, regular
from tenfold.datasets.named_arrays import Arrays
from tenfold.datasets.sandbox import machine_memory
from tenfold.datasets.spelling import spelled
from tenfold.datasets.tensor_dataset import Samples
from tenfold.extras import require_extra

if TYPE_CHECKING:
    from zarr import Array

MissingChunks = Literal["error", "fill"]
METADATA = ("zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata")


def is_zarr(source: Path) -> bool:
    """Whether a folder is a Zarr store."""
    return any((source / name).exists() for name in ("zarr.json", ".zgroup", ".zarray"))


def open_zarr(source: Path, *, missing_chunks: MissingChunks = "error") -> Arrays:
    """The arrays of a group, or a single array by the name of the store.

    The one that is asked for first stays on disk. Every chunk must be there: Zarr would read the
    fill value, usually 0, and leaves out such chunks when it writes.
    """
    if missing_chunks not in ("error", "fill"):
        raise ValueError(f'missing_chunks is {missing_chunks!r}; expected "error" or "fill"')
    for file in source.rglob("*"):
        regular(file)
    with reading(source, "Zarr store"):
        store = _zarr().open(source, mode="r")
        arrays = dict(store.arrays()) if hasattr(store, "arrays") else {source.stem: store}
        shapes = {name: array.shape for name, array in arrays.items()}

    def read(names: list[str]) -> dict[str, Samples]:
        with reading(source, "Zarr store"):
            found = {name: _whole(source, arrays[name], missing_chunks) for name in names}
            others = {name: np.asarray(found[name][:]) for name in names[1:]}
            return {names[0]: found[names[0]], **others}

    return Arrays(shapes, read)


class FilledStore:
    """A Zarr array whose absent chunks are meant to be the fill value; read like any store."""

    def __init__(self, array: Array) -> None:
        self.array, self.path = array, array.path
        self.shape, self.dtype, self.ndim = array.shape, array.dtype, array.ndim
        self.chunks = array.shards or array.chunks

    def __getitem__(self, rows: slice) -> np.ndarray:
        return np.asarray(self.array[rows])

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self.array[...], dtype=dtype)


def _whole(source: Path, array: Array, missing_chunks: str) -> Array | FilledStore:
    """A Zarr array that has all its chunks, or may lack some; else a ValueError that names one."""
    codecs = [*(array.filters or ()), *(array.compressors or ())]
    if any("pickle" in type(codec).__name__.lower() for codec in codecs):
        raise FileError(f"{source} holds pickled Python objects, which can run code when opened")
    sizes = array.shards or array.chunks
    if prod(sizes) * array.dtype.itemsize > machine_memory():
        raise FileError(f"{source}: a chunk of {array.path or source.name} is larger than memory")
    if missing_chunks == "fill":
        return FilledStore(array)
    if array.size == 0:
        return array
    grid = [-(-n // step) for n, step in zip(array.shape, sizes, strict=True)]
    place = source / array.path
    key_of = array.metadata.encode_chunk_key
    cells = (tuple(map(int, np.unravel_index(i, grid))) for i in range(prod(grid)))
    absent = next((cell for cell in cells if not (place / key_of(cell)).exists()), None)
    if absent is None:
        return array
    there = sum(file.is_file() and file.name not in METADATA for file in place.rglob("*"))
    row = absent[0] * sizes[0]
    raise FileError(
        f"{source}: array {array.path or source.name} has {there} of {prod(grid)} chunks; the "
        f"first that is not in the store is {key_of(absent)} (rows {row} to "
        f"{min(row + sizes[0], array.shape[0]) - 1}); restore it, or if absent chunks are meant to "
        f"be the fill value, pass {spelled('missing_chunks', 'fill')}"
    )


def _zarr() -> ModuleType:
    with require_extra("Zarr stores need zarr", "data"):
        import zarr
    return zarr
