"""What answers for a scatter of tensor samples along one mode.

A scatter is ``A = sum_j w_j (x_j - c_j)(x_j - c_j)^T`` over vectorised samples. The alternating
methods never need A itself, only its mode-k scatters under the projections of the other modes,

    S^k = sum_j w_j [(X_j - C_j) x_{q != k} W_q^T]_(k) [...]_(k)^T            (eqs 10, 11, 17, 18)

Two parts answer that question. `TablePart` holds A, `SamplePart` holds the samples. Both take a
*stack* of M models at once: ``factors[q]`` has shape (M, I_q, r_q), and columns of zeros pad
models of lower rank. ``owners`` says which of the part's G groups each model belongs to.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, Protocol, TypeGuard

import numpy as np

from tenfold.mathematics.accumulate import add_gram, follow_each_other, slice_of, symmetrised
from tenfold.mathematics.algebra import BLOCK_BYTES, Array, mode_scatters, row_blocks, turned
from tenfold.mathematics.packing import pack_projectors, pack_table, unpack

Factors = Sequence[Array]  # one (M, I_q, r_q) stack per mode


class Part(Protocol):
    """One scatter per group, asked for along a mode."""

    @property
    def by_group(self) -> bool:
        """Whether many models of one group cost less than as many of several groups."""
        ...

    def along(self, mode: int, factors: Factors, owners: Array) -> Array:
        """Mode-k scatters of M models, of shape (M, I_k, I_k)."""
        ...


class SharedPart(Part, Protocol):
    """A part that can be asked together with others over the same samples."""

    samples: Any

    def along_together(
        self, parts: Sequence[Any], mode: int, factors: Factors, owners: Array
    ) -> list[Array]:
        """What each of the parts answers to `along`."""
        ...


def is_shared(part: Part) -> TypeGuard[SharedPart]:
    """Whether a part is a `SharedPart`, without isinstance, which takes longer than the answer."""
    return hasattr(part, "along_together")


@dataclass(frozen=True, eq=False)
class TablePart:
    """Scatters held as packed tables: a question costs O(I^2), whatever the number of samples.

    Parameters
    ----------
    tables : ndarray of shape (G, L_1, ..., L_K)
        One packed table per group; with G = 1 every model shares it.
    shape : tuple of K ints
        The shape (I_1, ..., I_K) of a sample.
    """

    tables: Array
    shape: tuple[int, ...]

    @property
    def by_group(self) -> bool:
        """Whether there are several tables: each is read once for all models of its group."""
        return len(self.tables) > 1

    @classmethod
    def from_matrices(cls, matrices: Array, shape: tuple[int, ...]) -> TablePart:
        """Pack symmetric matrices of shape (G, I, I)."""
        return cls(np.stack([pack_table(matrix, shape) for matrix in matrices]), shape)

    def along(self, mode: int, factors: Factors, owners: Array) -> Array:
        """Mode-k scatters of M models, of shape (M, I_k, I_k)."""
        packed = {q: pack_projectors(W) for q, W in enumerate(factors) if q != mode}
        size = self.shape[mode]
        result = np.empty((len(owners), size * (size + 1) // 2))
        for group, models in models_of_groups(owners, len(self.tables)):
            table = self.tables[group]
            largest = max(packed, key=lambda q: table.shape[q], default=mode)
            kept = table.size // (table.shape[largest] if packed else 1)
            for block in row_blocks(len(models), 8 * kept):
                chosen = models[block]
                chunk = {q: p[chosen] for q, p in packed.items()}
                result[chosen] = _contract(table, chunk, largest)
        return unpack(result, size)


def _contract(table: Array, packed: dict[int, Array], first: int) -> Array:
    """Contract a table with every packed projector; (M, L_k) is left."""
    if not packed:
        return table[None]
    if table.ndim == 2:
        return packed[first] @ (table.T if first else table)
    rest = np.moveaxis(table, first, -1) @ packed[first].T  # (the other modes..., M)
    axes = [q for q in range(table.ndim) if q != first]
    for q, projectors in packed.items():
        if q != first:
            position = axes.index(q)
            rest = np.einsum("...lm,ml->...m", np.moveaxis(rest, position, -2), projectors)
            axes.pop(position)
    return rest.T


@dataclass(frozen=True, eq=False)
class SamplePart:
    """Scatters answered by going through the samples in blocks: no I x I matrix is ever made.

    Parameters
    ----------
    X : array of shape (n, I_1, ..., I_K)
        The samples; anything that gives ndarrays for ``X[rows]``.
    centres : ndarray of shape (m, I_1, ..., I_K)
        The points that deviations are taken from.
    centre_of : ndarray of shape (n,)
        Which of the centres each sample is measured from.
    members : list of G index arrays
        The samples of each group.
    weights : ndarray of shape (n,) or None
        Sample weights, 1 if None.
    """

    X: Array
    centres: Array
    centre_of: Array
    members: list[Array]
    weights: Array | None = None

    @property
    def by_group(self) -> bool:
        """Whether deviations of several groups are made anew whenever they are asked."""
        return len(self.members) > 1 and not self._can_be_kept

    def along(self, mode: int, factors: Factors, owners: Array) -> Array:
        """Mode-k scatters of M models, of shape (M, I_k, I_k)."""
        kept = self._kept(mode)
        few_models_each = len(owners) < 8 or len(owners) < 8 * len(np.unique(owners))
        if kept is not None and len(kept) > 1 and few_models_each:
            everybody = len(owners) == len(kept) and bool((np.diff(owners) == 1).all())
            return mode_scatters(kept if everybody else kept[owners], mode, factors)
        size = self.centres.shape[mode + 1]
        result = np.zeros((len(owners), size, size))
        for group, models in models_of_groups(owners, len(self.members)):
            blocks = self._turned(group, mode) if kept is None else [kept[group : group + 1]]
            for Y in blocks:
                widths = [W.shape[2] / W.shape[1] for q, W in enumerate(factors) if q != mode]
                for block in row_blocks(len(models), int(Y.nbytes * max([1, *widths])), 2**27):
                    own = [W[models[block]] for W in factors]
                    result[models[block]] += mode_scatters(Y, mode, own)
        return result

    def _kept(self, mode: int) -> Array | None:
        """Deviations of all groups, `turned`, padded with zeros to one size; None if too many.

        Every round asks for them again, and for few models making them anew takes longer than
        the products; so does a loop over groups.
        """
        if not self._can_be_kept:
            return None
        if mode not in self._cache:
            self._cache[mode] = turned(self._side_by_side, mode)
        return self._cache[mode]

    @cached_property
    def _side_by_side(self) -> Array:
        if len(self.members) == 1:
            return self._about_centres(self.members[0])[None]
        padded = np.zeros((len(self.members), self._largest, *self.centres.shape[1:]))
        for group, rows in zip(padded, self.members, strict=True):
            group[: len(rows)] = self._about_centres(rows)
        return padded

    @cached_property
    def _cache(self) -> dict[int, Array]:
        return {}

    @cached_property
    def _largest(self) -> int:
        return max(len(rows) for rows in self.members)

    @cached_property
    def _can_be_kept(self) -> bool:
        size = prod(self.centres.shape[1:])
        return 0 < 8 * len(self.members) * self._largest * size <= BLOCK_BYTES

    def _turned(self, group: int, mode: int) -> Iterator[Array]:
        """Blocks of the deviations of one group, `turned`."""
        for Z in self.deviations(group):
            yield turned(Z[None], mode)

    def deviations(self, group: int) -> Iterator[Array]:
        """Blocks of sqrt(w_j) (x_j - c_j) of one group, in float64."""
        rows = self.members[group]
        for block in row_blocks(len(rows), 8 * prod(self.centres.shape[1:])):
            yield self._about_centres(rows[block])

    def _about_centres(self, rows: Any) -> Array:
        rows = slice_of(rows) if follow_each_other(rows) else rows  # a view: no copy but Z
        one = len(self.centres) == 1
        Z = self.X[rows] - (self.centres if one else self.centres[self.centre_of[rows]])
        if self.weights is not None:
            Z *= np.sqrt(self.weights[rows]).reshape(-1, *[1] * (Z.ndim - 1))
        return np.asarray(Z)

    def tabulated(self) -> TablePart:
        """The same scatters as packed tables."""
        shape = self.centres.shape[1:]
        tables = []
        for group in range(len(self.members)):
            matrix = np.zeros((prod(shape), prod(shape)))
            for Z in self.deviations(group):
                add_gram(matrix, Z.reshape(len(Z), -1))
            tables.append(pack_table(symmetrised(matrix), shape))
        return TablePart(np.stack(tables), shape)


def models_of_groups(owners: Array, n_groups: int) -> Iterator[tuple[int, Array]]:
    """(group, positions of its models); with a single group every model belongs to it."""
    if n_groups == 1:
        yield 0, np.arange(len(owners))
        return
    for group in np.unique(owners):
        yield int(group), np.flatnonzero(owners == group)
