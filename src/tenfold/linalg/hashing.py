"""Hashes of what is in a sample: the same on every machine, in any order of the samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.linalg.algebra import Array

BLOCK = 2**15  # words that are hashed at once, so that they stay in the cache


def content_hashes(X: Array, dtype: Any = np.float64) -> Array:
    """A 64-bit hash (n,) of what is in each row, as numbers of a dtype.

    Parameters
    ----------
    X : ndarray of shape (n, p)
        The rows.
    dtype : numpy.float64 or numpy.float32, default=numpy.float64
        What numbers are rounded to first. Rows that are equal then have the same hash.

    Returns
    -------
    ndarray of shape (n,) of uint64
        The hashes.
    """
    word = np.uint32 if np.dtype(dtype) == np.float32 else np.uint64
    n, p = X.shape
    factors = np.random.Philox(7).random_raw(p) | np.uint64(1)
    found = np.empty(n, dtype=np.uint64)
    step = max(1, BLOCK // max(p, 1))
    for first in range(0, n, step):
        rows = slice(first, first + step)
        with np.errstate(over="ignore"):  # numbers beyond the range of float32 become infinite
            block = np.ascontiguousarray(X[rows]).astype(dtype)
        block += 0  # -0 becomes 0
        words = block.view(word).astype(np.uint64)
        words += factors
        _stir(words)
        words *= factors
        words.sum(axis=1, dtype=np.uint64, out=found[rows])
    _stir(found)
    return found


def _stir(words: Array) -> None:
    """Spread the bits of each word over all places, in place."""
    words ^= words >> np.uint64(33)
    words *= np.uint64(0xFF51AFD7ED558CCD)
    words ^= words >> np.uint64(33)
    words *= np.uint64(0xC4CEB9FE1A85EC53)
    words ^= words >> np.uint64(33)
