"""Scatters as packed tables: a question costs O(I^2), whatever the number of samples.

The mode scatter depends on the other modes only through the symmetric ``P_q = W_q W_q^T``, and is
symmetric itself. So of A, seen as I_1 x ... x I_K x I_1 x ... x I_K, only the part that is
symmetric in every pair of modes matters: a *packed table* of L_k = I_k (I_k + 1) / 2 numbers per
mode, 1 / 2^K of A.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from tenfold.mathematics.accumulate import add_gram, row_blocks, symmetrise
from tenfold.mathematics.algebra import Array
from tenfold.mathematics.tuning import KEPT_PRODUCTS, WHOLE_TABLE

Factors = Sequence[Array]  # one (M, I_q, r_q) stack per mode


@dataclass(frozen=True, eq=False)
class TableTerm:
    """Scatters held as packed tables: a question costs O(I^2), whatever the number of samples.

    Parameters
    ----------
    tables : tuple of G ndarrays of shape (L_1, ..., L_K)
        One packed table per group.
    shape : tuple of K ints
        The shape (I_1, ..., I_K) of a sample.
    """

    tables: tuple[Array, ...]
    shape: tuple[int, ...]
    _halfway: dict[Any, Array] = field(default_factory=dict, init=False)  # see `_first_product`

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.tables)

    @property
    def by_group(self) -> bool:
        """Whether there are several tables: each is read once for all models of its group."""
        return len(self.tables) > 1

    @classmethod
    def from_matrices(cls, matrices: Array, shape: tuple[int, ...]) -> TableTerm:
        """Pack symmetric matrices of shape (G, I, I)."""
        return cls(tuple(pack_table(matrix, shape) for matrix in matrices), shape)

    def joined(self, others: Sequence[TableTerm]) -> TableTerm:
        """One term with the groups of this one and of others, in order."""
        more = (table for other in others for table in other.tables)
        return replace(self, tables=(*self.tables, *more)) if others else self

    def plus(self, other: TableTerm) -> TableTerm:
        """The sums of the scatters of each group."""
        tables = (own + more for own, more in zip(self.tables, other.tables, strict=True))
        return TableTerm(tuple(tables), self.shape)

    def along(self, mode: int, factors: Factors, groups: Array) -> Array:
        """Mode-k scatters of M models, of shape (M, I_k, I_k)."""
        packed = {q: pack_projectors(W) for q, W in enumerate(factors) if q != mode}
        size = self.shape[mode]
        result = np.empty((len(groups), size * (size + 1) // 2))
        for group, models in models_of_groups(groups, len(self.tables)):
            table = self.tables[group]
            largest = max(packed, key=lambda q: table.shape[q], default=mode)
            kept = table.size // (table.shape[largest] if packed else 1)
            for block in row_blocks(len(models), 8 * kept):
                chosen = models[block]
                chunk = {q: p[chosen] for q, p in packed.items()}
                result[chosen] = self._contracted(group, chunk, largest)
        return unpack(result, size)

    def _contracted(self, group: int, packed: dict[int, Array], first: int) -> Array:
        """Contract a table with every packed projector, `first` first; (M, L_k) is left."""
        table = self.tables[group]
        if not packed:
            return table[None]
        if table.ndim == 2:
            return packed[first] @ (table.T if first else table)
        left = self._first_product(group, packed[first], first)
        axes = [q for q in range(table.ndim) if q != first]
        for q, projectors in packed.items():
            if q != first:
                left = np.einsum("...lm,ml->...m", np.moveaxis(left, axes.index(q), -2), projectors)
                axes.remove(q)
        return left.T

    def _first_product(self, group: int, projectors: Array, first: int) -> Array:
        """A table with one mode contracted, (the other modes..., M), which takes all the time.

        The next mode that is asked for needs the same one if `first` did not change meanwhile,
        which is so for one question of two or three. So the last ones are kept.
        """
        key = (group, first, projectors.tobytes())
        left = self._halfway.get(key)
        if left is None:
            while len(self._halfway) >= KEPT_PRODUCTS:
                self._halfway.pop(next(iter(self._halfway)), None)
            table = self.tables[group]
            self._halfway[key] = left = np.moveaxis(table, first, -1) @ projectors.T
        return left


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
        return pack_table(symmetrise(matrix), shape)
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
    return pack_table(symmetrise(matrix), shape)


def pack_projectors(W: Array) -> Array:
    """``P = W W^T`` of a stack (M, I_q, r_q), packed for contraction: (M, L_q)."""
    flat, weights, _ = _pairs(W.shape[1])
    P = (W @ W.swapaxes(1, 2)).reshape(len(W), -1)
    return np.take(P, flat, axis=1) * weights


def unpack(packed: Array, size: int) -> Array:
    """Symmetric matrices (M, I_k, I_k) from their packed form (M, L_k)."""
    return np.take(packed, _pairs(size)[2], axis=1).reshape(len(packed), size, size)


def models_of_groups(groups: Array, n_groups: int) -> Iterator[tuple[int, Array]]:
    """(group, positions of its models); with a single group every model belongs to it."""
    if n_groups == 1:
        yield 0, np.arange(len(groups))
        return
    for group in np.unique(groups):
        yield int(group), np.flatnonzero(groups == group)
