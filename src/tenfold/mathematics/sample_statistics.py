"""The questions of `moments` answered from the samples.

For few samples of large size, going through the samples is cheaper than an I x I table per class.
`SampleStatistics` answers each question from the samples or, when many models ask it many times,
from a table made of them first; the stated cost model decides.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import Self

import numpy as np
from scipy.linalg import qr

from tenfold.mathematics.accumulate import gather
from tenfold.mathematics.algebra import BLOCK_BYTES, Array, row_blocks
from tenfold.mathematics.moments import ClassStatistics
from tenfold.mathematics.parts import SamplePart
from tenfold.mathematics.pass_statistics import codes_of
from tenfold.mathematics.scatter import Scatter
from tenfold.mathematics.solvers import with_fixed_signs
from tenfold.mathematics.stores import Source

THIN = 16  # columns of a product that take as long as fewer
READ = 16  # models that one reading of a table could answer
TURN = 100  # flops that could be done while one number of a sample is centred and turned
PACK = 300  # flops that could be done while one number of a table is made symmetric and packed
MEMORY_BUDGET = 4 * 2**30  # bytes that tables may take before samples are preferred


@dataclass(frozen=True)
class Workload:
    """What will be asked of the statistics.

    Parameters
    ----------
    models : int
        Number of models solved together.
    rounds : int
        Rounds of the alternation.
    ranks : tuple of K ints
        The largest rank of each mode.
    outside : int
        How many directions a solver may take from outside the span of the samples.
    """

    models: int
    rounds: int
    ranks: tuple[int, ...]
    outside: int = 0

    def table_flops(self, shape: tuple[int, ...], tables: int = 1) -> float:
        """Flops to ask packed tables for every mode, in every round, for every model.

        A table is larger than the cache: reading it takes as long as answering `READ` models.
        """
        packed = prod(size * (size + 1) / 2 for size in shape)
        return 2.0 * len(shape) * self.rounds * (self.models + READ * tables) * packed

    def sample_flops(self, n: float, shape: tuple[int, ...], groups: int = 1) -> float:
        """Flops to ask groups of n samples the same; every model asks one group.

        Products are a little slower than square ones. Samples are centred and turned for every
        group, once if they can be kept and else in every round.
        """
        size, flops = prod(shape), 0.0
        for mode, size_k in enumerate(shape):
            others = [q for q in range(len(shape)) if q != mode]
            width = float(size)
            for q in sorted(others, key=lambda q: self.ranks[q] / shape[q]):
                flops += 2 * width * max(self.ranks[q], THIN)
                width *= self.ranks[q] / shape[q]
            flops += 2 * width * size_k
        turns = 1 if 8 * n * size * groups <= BLOCK_BYTES else self.rounds
        turning = TURN * len(shape) * size * min(groups, self.models) * turns
        return n * (1.3 * flops * self.models * self.rounds + turning)


@dataclass(frozen=True, eq=False)
class SampleStatistics(ClassStatistics):
    """Statistics that keep the samples.

    Parameters
    ----------
    classes : ndarray of shape (C,)
        The labels, sorted.
    counts : ndarray of shape (C,)
        The sum of the sample weights of each class.
    means : ndarray of shape (C, I_1, ..., I_K)
        The mean sample of each class.
    X : ndarray of shape (n, I_1, ..., I_K)
        The samples.
    codes : ndarray of shape (n,)
        The position of each sample's label in `classes`.
    weights : ndarray of shape (n,) or None
        Sample weights.
    workload : Workload or None
        What will be asked; None means that tables are never made.
    """

    X: Array
    codes: Array
    weights: Array | None = None
    workload: Workload | None = None

    @classmethod
    def from_batch(
        cls,
        X: Array,
        y: Array | None = None,
        sample_weight: Array | None = None,
        *,
        classes: Array | None = None,
        workload: Workload | None = None,
    ) -> SampleStatistics:
        """Statistics of one batch; the arguments are those of `ClassMoments.from_batch`."""
        labels = np.zeros(len(X), dtype=np.intp) if y is None else np.asarray(y)
        classes = np.unique(labels) if classes is None else classes
        codes = codes_of(X, labels, classes)
        counts, means = _class_means(X, codes, sample_weight, len(classes))
        return cls(classes, counts, means, X, codes, sample_weight, workload)

    def within(self) -> Scatter:
        """``sum_c S_c`` (eq. 11)."""
        return self._scatter(self.means, self.codes, [self._used()])

    def total(self) -> Scatter:
        """All samples about their mean."""
        return self._scatter(self.mean[None], np.zeros_like(self.codes), [self._used()])

    def in_class(self, classes: Array) -> Scatter:
        """S_p (eq. 18) for each of the named classes, as groups."""
        return self._scatter(self.means, self.codes, [self._used(p) for p in classes])

    def covariance_products(self, classes: Array) -> tuple[Array, Array, float]:
        """Frobenius products <S_p, S_p>, <S_p, S_w> and <S_w, S_w>, S_w the within scatter."""
        used = self._used()
        part = SamplePart(self.X, self.means, self.codes, [used], self.weights)
        Z = np.concatenate([block.reshape(len(block), -1) for block in part.deviations(0)])
        member = self.codes[used] == np.arange(len(self.classes))[:, None]  # (C, n)
        products = np.zeros((len(member), len(member)))
        for rows in row_blocks(len(Z), 2 * 8 * len(Z)):
            squared = (Z[rows] @ Z.T) ** 2  # <S_a, S_b> sums the squared products across a and b
            products += member[:, rows] @ squared @ member.T
        return products[classes, classes], products[classes].sum(axis=1), float(products.sum())

    def traces(self, classes: Array) -> Array:
        """tr(S_p) of each of the named classes."""
        part = SamplePart(
            self.X, self.means, self.codes, [self._used(p) for p in classes], self.weights
        )
        return np.array(
            [sum(float(np.vdot(Z, Z)) for Z in part.deviations(g)) for g in range(len(classes))]
        )

    def _used(self, code: int | None = None) -> Array:
        """Positions of the samples of one class, or of all, that have weight."""
        used = np.ones(len(self.codes), bool) if self.weights is None else self.weights > 0
        return np.flatnonzero(used if code is None else used & (self.codes == code))

    def _part(self, centres: Array, centre_of: Array, members: list[Array]) -> SamplePart:
        """The samples about some centres, in groups."""
        return SamplePart(self.X, centres, centre_of, members, self.weights)

    def _scatter(self, centres: Array, centre_of: Array, members: list[Array]) -> Scatter:
        part = self._part(centres, centre_of, members)
        if self.workload is None:
            return Scatter.of(part)
        size, groups, n = prod(self.shape), len(members), sum(len(rows) for rows in part.members)
        making = n * size**2 + PACK * size**2 * groups
        as_table = making + self.workload.table_flops(self.shape, groups)
        as_samples = self.workload.sample_flops(n / groups, self.shape, groups)
        fits = 8 * size**2 * (groups + 2) <= MEMORY_BUDGET
        return Scatter.of(part.tabulated() if fits and as_table < as_samples else part)


@dataclass(frozen=True, eq=False)
class SpanStatistics(SampleStatistics):
    """Statistics of vectors in an orthonormal basis of the span of the centred samples.

    Outside of that span no scatter has anything, so all directions there are alike. The ratio
    trace and leading eigenvectors never prefer them to those inside; the trace ratio and the
    trace difference may prefer some to bad directions inside, and as many as that are added to
    the basis. So for fewer samples than numbers in a sample the problem is solved exactly in
    about N dimensions.

    Parameters
    ----------
    basis : ndarray of shape (I, d)
        Orthonormal columns; `X` and `means` are coordinates in it, about `origin`.
    origin : ndarray of shape (I,)
        The mean of all samples.
    """

    basis: Array = field(default_factory=lambda: np.empty((0, 0)))
    origin: Array = field(default_factory=lambda: np.empty(0))

    @classmethod
    def from_vectors(
        cls, X: Array, y: Array | None, weight: Array | None, classes: Array, outside: int = 0
    ) -> Self:
        """Statistics of vectors (n, I), n < I, with some directions outside of their span."""
        plain = SampleStatistics.from_batch(X, y, weight, classes=classes)
        centred = X - plain.mean
        anything = np.eye(X.shape[1], max(0, min(outside, X.shape[1] - len(X))))
        spanning = np.concatenate([centred.T, anything], axis=1)
        basis = qr(spanning, mode="economic", overwrite_a=True, check_finite=False)[0]
        coordinates = centred @ basis
        means = (plain.means - plain.mean) @ basis
        everything = Workload(1, 1, (basis.shape[1],))
        rest = (coordinates, plain.codes, weight, everything, basis, plain.mean)
        return cls(plain.classes, plain.counts, means, *rest)

    @property
    def full_shape(self) -> tuple[int, ...]:
        """The shape of a sample before the change of basis."""
        return (len(self.basis),)

    @property
    def full_means(self) -> Array:
        """The mean sample of each class before the change of basis."""
        return np.asarray(self.origin + self.means @ self.basis.T)

    def lift(self, projections: list[Array]) -> list[Array]:
        """Projections of samples before the change of basis."""
        return [with_fixed_signs(self.basis @ projections[0])]


def a_few(X: Array | Source) -> Array:
    """A copy of some samples of an array, by which to notice that it was written to."""
    if isinstance(X, Source):
        return np.empty(0)
    return np.array(X[:: max(1, -(-len(X) // 16))])


def _class_means(
    X: Array, codes: Array, weights: Array | None, n_classes: int
) -> tuple[Array, Array]:
    """Weighted counts (C,) and means (C, I_1, ..., I_K), about a sample of each class."""
    counts = np.bincount(codes, weights=weights, minlength=n_classes).astype(float)
    means = np.zeros((n_classes, *X.shape[1:]))
    for c in np.flatnonzero(counts):
        rows = np.flatnonzero(codes == c)
        if weights is not None:
            rows = rows[weights[rows] > 0]
        means[c] = _mean_of(X, rows, weights)
    return counts, means


def _mean_of(X: Array, rows: Array, weights: Array | None) -> Array:
    shape, total, weight_sum = X.shape[1:], 0.0, 0.0
    first = gather(X, rows[:1], np.float64)
    for part in row_blocks(len(rows), 2 * 8 * prod(shape)):
        block = rows[part]
        w = np.ones(len(block)) if weights is None else weights[block]
        total = total + w @ (gather(X, block, np.float64) - first)
        weight_sum += w.sum()
    return np.asarray((first[0] + total / weight_sum).reshape(shape))
