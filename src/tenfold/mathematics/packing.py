"""The packed table: what mode scatters depend on, and no more.

The mode scatter S^k of a scatter A depends on the other modes only through the symmetric
``P_q = W_q W_q^T``, and S^k itself is symmetric. So of A, seen as I_1 x ... x I_K x I_1 x ... x
I_K, only the part that is symmetric in every pair of modes matters: L_k = I_k (I_k + 1) / 2
numbers per mode, 1 / 2^K of A.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from tenfold.mathematics.algebra import Array


@lru_cache(maxsize=64)
def _pairs(size: int) -> tuple[Array, Array, Array]:
    """Flat positions of the upper triangle, their contraction weights, and the way back."""
    rows, columns = np.triu_indices(size)
    position = np.empty((size, size), dtype=np.intp)
    position[rows, columns] = position[columns, rows] = np.arange(len(rows))
    return rows * size + columns, np.where(rows == columns, 1.0, 2.0), position.ravel()


def pack_table(matrix: Array, shape: tuple[int, ...]) -> Array:
    """The part of an (I, I) scatter that mode scatters depend on, of shape (L_1, ..., L_K).

    Entry ((i, i'), (j, j'), ...) is the mean over exchanging the two indices of each mode.
    """
    table = matrix.reshape(shape + shape)
    for k in range(len(shape) - 1, -1, -1):  # axes: modes 0..k, modes 0..k again, packed modes
        size = shape[k]
        last = np.moveaxis(table, (k, 2 * k + 1), (-2, -1))
        mean = (last + last.swapaxes(-1, -2)) / 2 if k else last
        mean = mean.reshape(*mean.shape[:-2], size * size)
        table = np.moveaxis(np.take(mean, _pairs(size)[0], axis=-1), -1, 2 * k)
    return np.ascontiguousarray(table)


def pack_projectors(W: Array) -> Array:
    """``P = W W^T`` of a stack (M, I_q, r_q), packed for contraction: (M, L_q)."""
    flat, weights, _ = _pairs(W.shape[1])
    P = (W @ W.swapaxes(1, 2)).reshape(len(W), -1)
    return np.take(P, flat, axis=1) * weights


def unpack(packed: Array, size: int) -> Array:
    """Symmetric matrices (M, I_k, I_k) from their packed form (M, L_k)."""
    return np.take(packed, _pairs(size)[2], axis=1).reshape(len(packed), size, size)
