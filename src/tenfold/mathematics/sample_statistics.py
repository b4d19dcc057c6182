"""The questions of `moments` answered from the samples.

For few samples of large size, going through the samples is cheaper than an I x I table per class.
`SampleStatistics` answers each question from the samples or, when many models ask it many times,
from a table made of them first; the cost model decides.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from math import prod, sqrt
from typing import TYPE_CHECKING, Self

import numpy as np

from tenfold.mathematics.accumulate import gather, row_blocks
from tenfold.mathematics.algebra import Array
from tenfold.mathematics.moments import ClassStatistics
from tenfold.mathematics.pass_statistics import codes_of
from tenfold.mathematics.scatter import SampleTerm, TableTerm, Term, packed_gram
from tenfold.mathematics.span import Span

if TYPE_CHECKING:
    from tenfold.mathematics.cost import Workload


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
    work : Workload or None
        What will be asked; None means that tables are never made.
    """

    X: Array
    codes: Array
    weights: Array | None = None
    work: Workload | None = None

    @classmethod
    def from_batch(
        cls,
        X: Array,
        y: Array | None = None,
        sample_weight: Array | None = None,
        *,
        classes: Array | None = None,
        work: Workload | None = None,
    ) -> SampleStatistics:
        """Statistics of one batch; the arguments are those of `ClassMoments.from_batch`."""
        labels = np.zeros(len(X), dtype=np.intp) if y is None else np.asarray(y)
        classes = np.unique(labels) if classes is None else classes
        codes = codes_of(X, labels, classes)
        counts, means = _class_means(X, codes, sample_weight, len(classes))
        return cls(classes, counts, means, X, codes, sample_weight, work)

    @cached_property
    def covariance_products(self) -> tuple[Array, Array, float]:
        """Frobenius products <S_c, S_c> and <S_c, S_w> of every class, and <S_w, S_w>.

        They sum the squared products of deviations: for S_w all pairs of them, or those with a
        table of S_w where that is the smaller one.
        """
        members = [self._used(c) for c in range(len(self.classes))]
        term = SampleTerm(self.X, self.means, self.codes, members, self.weights)
        flat = {
            c: np.concatenate([Z.reshape(len(Z), -1) for Z in term.deviations(c)])
            for c, rows in enumerate(members)
            if len(rows)
        }
        unit = sqrt(float(self.traces.sum())) or 1.0
        flat = {c: deviations / unit for c, deviations in flat.items()}
        Z, size = np.concatenate(list(flat.values())), prod(self.shape)
        own, cross = np.zeros((2, len(members)))
        within = Z.T @ Z if len(Z) > size else None
        for c, deviations in flat.items():
            for rows in row_blocks(len(deviations), 2 * 8 * max(len(Z), size)):
                some = deviations[rows]
                own[c] += float(((some @ deviations.T) ** 2).sum())
                if within is None:
                    cross[c] += float(((some @ Z.T) ** 2).sum())
                else:
                    cross[c] += float(np.einsum("ij,ij->", some @ within, some))
        return own, cross, float(cross.sum())

    @cached_property
    def traces(self) -> Array:
        """tr(S_c) of every class, of shape (C,)."""
        members = [self._used(c) for c in range(len(self.classes))]
        term = SampleTerm(self.X, self.means, self.codes, members, self.weights)
        return np.array(
            [sum(float(np.vdot(Z, Z)) for Z in term.deviations(c)) for c in range(len(members))]
        )

    def _within(self) -> Term:
        term = SampleTerm(self.X, self.means, self.codes, [self._used()], self.weights)
        return tabulated(term) if self._total_is_a_table else term

    def _total(self) -> Term:
        if self._total_is_a_table:  # class means are fewer than samples
            within, between = self.within().terms[0][1], tabulated(self._means_about_mean())
            assert isinstance(within, TableTerm)
            return TableTerm((within.tables[0] + between.tables[0],), self.shape)
        everybody = np.zeros_like(self.codes)
        return SampleTerm(self.X, self.mean[None], everybody, [self._used()], self.weights)

    def _in_class(self, p: int) -> Term:
        term = SampleTerm(self.X, self.means, self.codes, [self._used(p)], self.weights)
        return tabulated(term) if self._classes_are_tables else term

    @cached_property
    def _total_is_a_table(self) -> bool:
        return self.work is not None and self.work.tables_pay(len(self._used()), self.shape)

    @cached_property
    def _classes_are_tables(self) -> bool:
        """Whether to make tables of the classes: of all or of none, so that they can be stacked."""
        if self.work is None:
            return False
        mean_size = len(self._used()) / len(self.classes)
        return self.work.tables_pay(mean_size, self.shape, self.work.positives)

    def _used(self, code: int | None = None) -> Array:
        """Positions of the samples of one class, or of all, that have weight."""
        used = np.ones(len(self.codes), bool) if self.weights is None else self.weights > 0
        return np.flatnonzero(used if code is None else used & (self.codes == code))


@dataclass(frozen=True, eq=False)
class SpanStatistics(SampleStatistics):
    """Statistics of vectors in an orthonormal basis of the span of the centred samples.

    Outside of that span nothing varies, and no solver takes a direction there. So for fewer
    samples than numbers in a sample the problem is solved exactly in about N dimensions.

    Parameters
    ----------
    span : Span
        The basis; `X` and `means` are coordinates in it, about the mean of all samples.
    given_means : ndarray of shape (C, I)
        The mean sample of each class before the change of basis.
    """

    span: Span | None = None
    given_means: Array = field(default_factory=lambda: np.empty((0, 0)))

    @classmethod
    def from_vectors(cls, X: Array, y: Array | None, weight: Array | None, classes: Array) -> Self:
        """Statistics of vectors (n, I), n < I."""
        plain = SampleStatistics.from_batch(X, y, weight, classes=classes)
        span, coordinates = Span.of(X - plain.mean)
        # Of the coordinates, not of the given samples: a class of one has no scatter, not even by
        # rounding.
        means = _class_means(coordinates, plain.codes, weight, len(plain.classes))[1]
        rest = (coordinates, plain.codes, weight, None, span, plain.means)
        return cls(plain.classes, plain.counts, means, *rest)

    @property
    def basis(self) -> Span | None:
        """The basis in which the samples are given."""
        return self.span

    @property
    def full_means(self) -> Array:
        """The mean sample of each class before the change of basis."""
        return self.given_means

    @cached_property
    def _total_is_a_table(self) -> bool:
        return True  # asked once, and no larger than the samples


def tabulated(term: SampleTerm) -> TableTerm:
    """The scatters of a term as packed tables."""
    shape = term.centres.shape[1:]
    groups = range(term.n_groups)
    return TableTerm(tuple(packed_gram(term.deviations(g), shape) for g in groups), shape)


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
