"""Scatters as packed tables: what of them mode scatters depend on.

A mode scatter depends on the other modes only through the symmetric ``P_q = W_q W_q^T``, and is
symmetric itself. So of a scatter, seen as I_1 x ... x I_K x I_1 x ... x I_K, only the part that is
symmetric in every pair of modes matters: a table of L_k = I_k (I_k + 1) / 2 numbers per mode,
1 / 2^K of the scatter.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from math import prod

import numpy as np

from tenfold.mathematics.accumulate import add_gram
from tenfold.mathematics.algebra import Array
from tenfold.mathematics.tuning import WHOLE_TABLE


@lru_cache(maxsize=64)
def _pairs(size: int) -> tuple[Array, Array, Array]:
    """Flat positions of the upper triangle, their contraction weights, and the way back."""
    rows, columns = np.triu_indices(size)
    position = np.empty((size, size), dtype=np.intp)
    position[rows, columns] = position[columns, rows] = np.arange(len(rows))
    return rows * size + columns, np.where(rows == columns, 1.0, 2.0), position.ravel()


def pack_table(matrix: Array, shape: tuple[int, ...]) -> Array:
    """The part of an (I, I) scatter that mode scatters depend on, of shape (L_1, ..., L_K).

    Entry ((i, i'), (j, j'), ...) is the mean over exchanging the two indices of each mode. The
    first mode needs none, since the scatter is symmetric. Only its upper triangle is read.
    """
    first, rest = shape[0], shape[1:]
    rows, columns = np.triu_indices(first)
    blocks = matrix.reshape(first, prod(rest), first, prod(rest))
    table = blocks[rows, :, columns, :]  # (L_1, I / I_1, I / I_1)
    on_diagonal = np.flatnonzero(rows == columns)
    corner = table[on_diagonal]
    table[on_diagonal] = np.triu(corner) + np.triu(corner, 1).mT
    table = table.reshape(-1, *rest, *rest)
    for k in range(len(rest) - 1, -1, -1):  # axes: L_1, modes up to k, the same again, packed modes
        last = np.moveaxis(table, (k + 1, 2 * k + 2), (-2, -1))
        mean = (last + last.mT).reshape(*last.shape[:-2], -1)
        packed = np.take(mean, _pairs(rest[k])[0], axis=-1)
        packed /= 2
        table = np.moveaxis(packed, -1, 2 * k + 1)
    return np.ascontiguousarray(table)


def packed_gram(blocks: Iterable[Array], shape: tuple[int, ...]) -> Array:
    """The packed table of ``sum_j z_j z_j^T``, from blocks of deviations (n, I_1, ..., I_K).

    An I x I matrix is made first where that is small. Otherwise the slices Z_l (n, I / I_k) along
    the smallest mode k are multiplied in pairs, in half of the flops: what a packed table holds
    of two of them is ``Z_l^T Z_m + Z_m^T Z_l``, the symmetric product of their sum less those of
    each. Slices are brought to one length first, so that this costs no digits.

    Parameters
    ----------
    blocks : iterable of ndarrays of shape (n, I_1, ..., I_K)
        Deviations from a centre.
    shape : tuple of K ints
        The shape of a sample.

    Returns
    -------
    ndarray of shape (L_1, ..., L_K)
        The packed table.
    """
    size = prod(shape)
    if len(shape) == 1 or size <= WHOLE_TABLE:
        matrix = np.zeros((size, size))
        for Z in blocks:
            add_gram(matrix, Z.reshape(len(Z), -1))
        return pack_table(matrix, shape)
    mode = int(np.argmin(shape))
    others = shape[:mode] + shape[mode + 1 :]
    pairs = list(zip(*np.triu_indices(shape[mode]), strict=True))
    table = np.zeros((len(pairs), *(n * (n + 1) // 2 for n in others)))
    for Z in blocks:
        slices = np.ascontiguousarray(np.moveaxis(Z, mode + 1, 0)).reshape(shape[mode], len(Z), -1)
        lengths = np.sqrt(np.vecdot(*2 * (slices.reshape(len(slices), -1),)))
        lengths = np.where(lengths > 0, lengths, 1.0)
        slices /= lengths[:, None, None]
        own = [_packed_square(Z_l, others) for Z_l in slices]
        for entry, (first, second) in zip(table, pairs, strict=True):
            both = own[first]
            if first != second:
                both = _packed_square(slices[first] + slices[second], others)
                both = (both - own[first] - own[second]) / 2
            entry += lengths[first] * lengths[second] * both
    return np.ascontiguousarray(np.moveaxis(table, 0, mode))


def _packed_square(rows: Array, shape: tuple[int, ...]) -> Array:
    matrix = np.zeros((rows.shape[1], rows.shape[1]))
    add_gram(matrix, rows)
    return pack_table(matrix, shape)


def pack_projectors(W: Array) -> Array:
    """``P = W W^T`` of a stack (M, I_q, r_q), packed for contraction: (M, L_q)."""
    flat, weights, _ = _pairs(W.shape[1])
    P = (W @ W.swapaxes(1, 2)).reshape(len(W), -1)
    return np.take(P, flat, axis=1) * weights


def first_contracted(table: Array, projectors: Array, mode: int) -> Array:
    """A table (L_1, ..., L_K) contracted along one mode with projectors (M, L_k): (M, L...)."""
    before, after = table.shape[:mode], table.shape[mode + 1 :]
    if not after:
        return (projectors @ table.reshape(-1, table.shape[mode]).T).reshape(-1, *before)
    left = projectors @ table.reshape(prod(before), table.shape[mode], -1)
    return left.swapaxes(0, 1).reshape(-1, *before, *after)


def contracted(left: Array, packed: dict[int, Array], first: int) -> Array:
    """A table (M, L...) whose mode `first` is contracted already, with the others: (M, L_k)."""
    axes = [q for q in range(left.ndim) if q != first]
    for q, P in packed.items():
        if q != first:
            columns = P.reshape(len(P), *[1] * (left.ndim - 3), -1, 1)
            left = (np.moveaxis(left, axes.index(q) + 1, -1) @ columns)[..., 0]
            axes.remove(q)
    return left


def unpack(packed: Array, size: int) -> Array:
    """Symmetric matrices (M, I_k, I_k) from their packed form (M, L_k)."""
    return np.take(packed, _pairs(size)[2], axis=1).reshape(len(packed), size, size)
