"""Scatters of tensor samples, as values that can be added and asked for along one mode.

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

from tenfold.algebra import BLOCK_BYTES, Array, mode_scatters, row_blocks
from tenfold.packing import pack_projectors, pack_table, unpack
from tenfold.sums import add_gram, symmetrised

Factors = Sequence[Array]  # one (M, I_q, r_q) stack per mode


class Part(Protocol):
    """One scatter per group, asked for along a mode."""

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

    def along(self, mode: int, factors: Factors, owners: Array) -> Array:
        """Mode-k scatters of M models, of shape (M, I_k, I_k)."""
        few_models_each = len(self.members) > 1 and len(owners) < 8 * len(np.unique(owners))
        if few_models_each and self._side_by_side is not None:
            return mode_scatters(self._side_by_side[owners], mode, factors)
        size = self.centres.shape[mode + 1]
        result = np.zeros((len(owners), size, size))
        for group, models in models_of_groups(owners, len(self.members)):
            for Z in self.deviations(group):
                widths = [W.shape[2] / W.shape[1] for q, W in enumerate(factors) if q != mode]
                for block in row_blocks(len(models), int(Z.nbytes * max([1, *widths])), 2**27):
                    own = [W[models[block]] for W in factors]
                    result[models[block]] += mode_scatters(Z[None], mode, own)
        return result

    @cached_property
    def _side_by_side(self) -> Array | None:
        """Deviations of all groups, (G, n, I_1, ..., I_K), padded with zeros; None if too many.

        For few models per group this saves a loop over groups, which takes longer than products.
        """
        n, size = max(len(rows) for rows in self.members), prod(self.centres.shape[1:])
        if 8 * len(self.members) * n * size > BLOCK_BYTES:
            return None
        padded = np.zeros((len(self.members), n, *self.centres.shape[1:]))
        for group, rows in zip(padded, self.members, strict=True):
            group[: len(rows)] = self._about_centres(rows)
        return padded

    def deviations(self, group: int) -> Iterator[Array]:
        """Blocks of sqrt(w_j) (x_j - c_j) of one group, in float64."""
        rows = self.members[group]
        for block in row_blocks(len(rows), 8 * prod(self.centres.shape[1:])):
            yield self._about_centres(rows[block])

    def _about_centres(self, rows: Array) -> Array:
        Z = self.X[rows] - self.centres[self.centre_of[rows]]
        if self.weights is not None:
            Z *= np.sqrt(self.weights[rows]).reshape(-1, *[1] * (Z.ndim - 1))
        return Z

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


@dataclass(frozen=True, eq=False)
class Scatter:
    """A linear combination of parts; coefficients are numbers or one per model, of shape (M,).

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.scatter import Scatter, TablePart
    >>> part = TablePart.from_matrices(np.eye(4)[None], (2, 2))
    >>> twice = Scatter.of(part) + Scatter.of(part)
    >>> factors = [np.eye(2)[None], np.eye(2)[None]]
    >>> twice.along(0, factors, owners=np.zeros(1, int))[0]
    array([[4., 0.],
           [0., 4.]])
    """

    terms: tuple[tuple[Array | float, Part], ...]

    @classmethod
    def of(cls, part: Part) -> Scatter:
        """The scatter that is this part alone."""
        return cls(((1.0, part),))

    def __add__(self, other: Scatter) -> Scatter:
        return Scatter(self.terms + other.terms)

    def __sub__(self, other: Scatter) -> Scatter:
        return self + other * -1.0

    def __mul__(self, factor: Array | float) -> Scatter:
        return Scatter(tuple((coefficient * factor, part) for coefficient, part in self.terms))

    def of_models(self, part: Array) -> Scatter:
        """The scatter of a part of the models."""
        return Scatter(tuple((of_models(coefficient, part), p) for coefficient, p in self.terms))

    def along(self, mode: int, factors: Factors, owners: Array) -> Array:
        """Mode-k scatters of M models, of shape (M, I_k, I_k)."""
        return along_mode([self], mode, factors, owners, np.arange(len(owners)))[0]


def along_mode(
    scatters: Sequence[Scatter], mode: int, factors: Factors, owners: Array, models: Array
) -> list[Array]:
    """Several scatters along one mode, each part asked once.

    Parameters
    ----------
    scatters : sequence of Scatter
        What is asked for.
    mode : int
        The mode k.
    factors : sequence of K ndarrays of shape (M, I_q, r_q)
        Projections of the models; those of mode k are not used.
    owners : ndarray of shape (M,)
        The group of each model.
    models : ndarray of shape (M,)
        Positions of these models in the coefficients of the scatters.

    Returns
    -------
    list of ndarrays of shape (M, I_k, I_k)
        One per scatter.
    """
    answers = _answers([part for s in scatters for _, part in s.terms], mode, factors, owners)
    results = []
    for scatter in scatters:
        total = np.zeros_like(answers[id(scatter.terms[0][1])])
        for coefficient, part in scatter.terms:
            answer = answers[id(part)]
            if np.ndim(coefficient):
                answer = np.asarray(coefficient)[models, None, None] * answer
            elif coefficient != 1:
                answer = coefficient * answer
            total += answer
        results.append(total)
    return results


def _answers(parts: list[Part], mode: int, factors: Factors, owners: Array) -> dict[int, Array]:
    """What each part answers, by its id; parts that share their samples are asked in one pass."""
    answers: dict[int, Array] = {}
    for part in parts:
        if id(part) in answers:
            continue
        if is_shared(part):
            together = [p for p in parts if is_shared(p) and p.samples is part.samples]
            found = part.along_together(together, mode, factors, owners)
            answers |= {id(p): answer for p, answer in zip(together, found, strict=True)}
        else:
            answers[id(part)] = part.along(mode, factors, owners)
    return answers


def of_models(values: Any, part: Array) -> Any:
    """The values of a part of the models, where there is one per model."""
    return values[part] if np.ndim(values) else values


def models_of_groups(owners: Array, n_groups: int) -> Iterator[tuple[int, Array]]:
    """(group, positions of its models); with a single group every model belongs to it."""
    if n_groups == 1:
        yield 0, np.arange(len(owners))
        return
    for group in np.unique(owners):
        yield int(group), np.flatnonzero(owners == group)
