"""Chunks that a Zarr array lacks: they are read as the fill value, without a word."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from tenfold.linalg.arrays import Array


def absent_chunk(store: Any, block: Array, first: int) -> str | None:
    """What is said of the first chunk that a Zarr array lacks among the rows of a block, or None.

    A chunk that is not there is read as the fill value, without a word. So only chunks that hold
    nothing else are looked up, and a whole store costs one comparison per number. Chunks inside a
    shard that is there are not looked up. Stores that are not Zarr arrays are left alone.

    Parameters
    ----------
    store : array-like
        Where the block was read; a Zarr array is known by its ``metadata`` and ``store_path``.
    block : ndarray of shape (m, ...)
        Rows `first` to ``first + m - 1`` of the store.
    first : int
        The first row.
    """
    key_of = getattr(getattr(store, "metadata", None), "encode_chunk_key", None)
    if key_of is None or not hasattr(store, "store_path") or not block.size:
        return None
    sizes = getattr(store, "shards", None) or store.chunks
    last = first + len(block)
    cells = [range(-(-size // step)) for size, step in zip(block.shape, sizes, strict=True)]
    cells[0] = range(first // sizes[0], -(-last // sizes[0]))
    for cell in product(*cells):
        low = max(first, cell[0] * sizes[0])
        high = min(last, (cell[0] + 1) * sizes[0])
        inner = (slice(i * n, (i + 1) * n) for i, n in zip(cell[1:], sizes[1:], strict=True))
        part = block[(slice(low - first, high - first), *inner)]
        if _is_filled(part, store.fill_value) and not _is_there(store, key_of(cell)):
            return (
                f"chunk {key_of(cell)} with samples {low} to {high - 1} is not in the store, and "
                "would be read as its fill value; restore it, or if absent chunks are meant to "
                "be the fill value, open the store with tenfold.datasets.load(path, "
                'missing_chunks="fill")'
            )
    return None


def _is_filled(part: Array, fill: Any) -> bool:
    """Whether an array holds the fill value and nothing else."""
    value = np.asarray(0 if fill is None else fill)
    if value.dtype.kind == "f" and np.isnan(value):
        return bool(np.isnan(part).all())
    return bool(part.flat[0] == value) and bool((part == value).all())


def _is_there(store: Any, key: str) -> bool:
    """Whether a Zarr array has a chunk: its file, or else all chunks, by their count."""
    place = store.store_path
    root = getattr(place.store, "root", None)
    if isinstance(root, Path):
        return root.joinpath(place.path, key).exists()
    return bool(store.nchunks_initialized >= store.nchunks)
