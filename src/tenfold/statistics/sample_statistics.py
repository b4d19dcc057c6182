"""The questions of `class_statistics` answered from samples, in memory or by passes over a source.

For few samples of large size, going through the samples is cheaper than an I x I table per class.
`SampleStatistics` answers each question from the samples or, when many models ask it many times,
from a table made of them first; the cost model decides. `HeldOutStatistics` are those of a part.

`PassStatistics` is for samples that are too many for memory and too large for a table of I x I
numbers. One first pass finds the mean and the trace of each class; every later question is answered
by a pass that adds up mode scatters block by block, for all scatters that are asked for together:
one pass per mode and round.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from math import prod, sqrt
from typing import Self

import numpy as np

from tenfold.linalg.arrays import Array, square_lengths
from tenfold.linalg.bases import Span
from tenfold.statistics.accumulate import gather, merged_means, row_blocks
from tenfold.statistics.class_statistics import ClassStatistics, made_once
from tenfold.statistics.moments import ClassMeans
from tenfold.statistics.scatters import (
    LabelledSource,
    PassTerm,
    SampleTerm,
    Scatter,
    TableTerm,
    codes_of,
)
from tenfold.statistics.stores import Source


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
    total_is_table, classes_are_tables, means_are_table : bool, default=False
        Whether the scatters of all samples, of the classes and of the class means are made tables
        first; see
        `tenfold.statistics.cost.with_tables`.
    """

    X: Array
    codes: Array
    weights: Array | None = None
    total_is_table: bool = False
    classes_are_tables: bool = False
    means_are_table: bool = False

    @classmethod
    def from_batch(
        cls,
        X: Array,
        y: Array | None = None,
        sample_weight: Array | None = None,
        *,
        classes: Array | None = None,
    ) -> SampleStatistics:
        """Statistics of one batch; the arguments are those of `ClassMoments.from_batch`."""
        labels = np.zeros(len(X), dtype=np.intp) if y is None else np.asarray(y)
        classes = np.unique(labels) if classes is None else classes
        codes = codes_of(X, labels, classes)
        counts, means = _class_means(X, codes, sample_weight, len(classes))
        return cls(classes, counts, means, X, codes, sample_weight)

    @cached_property
    def covariance_products(self) -> tuple[Array, Array, float]:
        """Frobenius products <S_c, S_c> and <S_c, S_w> of every class, and <S_w, S_w>.

        They sum the squared products of deviations: for S_w all pairs of them, or those with a
        table of S_w where that is the smaller one.
        """
        unit = sqrt(float(self.traces.sum())) or 1.0
        size = prod(self.shape)
        own = np.zeros(len(self.classes))
        codes = []
        blocks = [np.empty((0, size))]
        for c in np.flatnonzero(self.counts).tolist():
            deviations = np.concatenate([Z.reshape(len(Z), size) for Z in self.deviations(c)])
            deviations /= unit
            for rows in row_blocks(len(deviations), 8 * len(deviations)):
                own[c] += float(((deviations[rows] @ deviations.T) ** 2).sum())
            codes += [c] * len(deviations)
            blocks.append(deviations)
        Z = np.concatenate(blocks)
        within = Z.T @ Z if len(Z) > size else None
        of_samples = np.zeros(len(Z))  # what each adds to <S_c, S_w>
        for rows in row_blocks(len(Z), 2 * 8 * max(len(Z), size)):
            if within is None:
                of_samples[rows] = square_lengths(Z[rows] @ Z.T)
            else:
                of_samples[rows] = np.vecdot(Z[rows] @ within, Z[rows])
        cross = np.bincount(codes, of_samples, minlength=len(own))
        return own, cross, float(cross.sum())

    @cached_property
    def traces(self) -> Array:
        """tr(S_c) of every class, of shape (C,)."""
        traces = np.zeros(len(self.classes))
        for c in range(len(traces)):
            traces[c] = sum(float(np.vdot(Z, Z)) for Z in self.deviations(c))
        return traces

    def deviations(self, c: int) -> Iterator[Array]:
        """Blocks of the samples of class number c about their mean, times the roots of weights."""
        term = SampleTerm(self.X, self.means, self.codes, [self._used(c)], self.weights)
        return term.deviations(0)

    @made_once
    def within(self) -> Scatter:
        """``sum_c S_c`` (eq. 11)."""
        term = SampleTerm(self.X, self.means, self.codes, [self._used()], self.weights)
        return Scatter.of(term.tabulated() if self.total_is_table else term)

    @made_once
    def total(self) -> Scatter:
        """All samples about their mean: within + between."""
        if not self.total_is_table:
            everybody = np.zeros_like(self.codes)
            members = [self._used()]
            return Scatter.of(SampleTerm(self.X, self.mean[None], everybody, members, self.weights))
        # Class means are fewer than samples.
        within = self.within().summands[0].term.tabulated()
        between = self.between().summands[0].term.tabulated()
        return Scatter.of(TableTerm(self.shape, (within.tables[0] + between.tables[0],)))

    @made_once
    def between(self) -> Scatter:
        """``sum_c n_c (M_c - M)(M_c - M)^T`` (eq. 10)."""
        scatter = super().between()
        return Scatter.of(scatter.summands[0].term.tabulated()) if self.means_are_table else scatter

    @made_once
    def in_class(self, p: int) -> Scatter:
        """S_p, the samples of class number p about their mean (eq. 18)."""
        term = SampleTerm(self.X, self.means, self.codes, [self._used(p)], self.weights)
        return Scatter.of(term.tabulated() if self.classes_are_tables else term)

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
    basis : Span
        The basis; `X` and `means` are coordinates in it, about the mean of all samples.
    plain : ClassMeans
        Counts and means of the samples as they came.
    """

    plain: ClassMeans = field(kw_only=True)

    @classmethod
    def from_vectors(cls, X: Array, y: Array | None, weight: Array | None, classes: Array) -> Self:
        """Statistics of vectors (n, I), n < I."""
        plain = SampleStatistics.from_batch(X, y, weight, classes=classes)
        span, coordinates = Span.of(X - plain.mean)
        # Of the coordinates, not of the given samples: a class of one has no scatter, not even by
        # rounding.
        means = _class_means(coordinates, plain.codes, weight, len(plain.classes))[1]
        # The total is asked once, and its table is no larger than the samples.
        return cls(
            plain.classes,
            plain.counts,
            means,
            coordinates,
            plain.codes,
            weight,
            total_is_table=True,
            plain=ClassMeans(plain.classes, plain.counts, plain.means),
            basis=span,
        )

    @property
    def given(self) -> ClassMeans:
        """Counts and means of the samples as they came."""
        return self.plain


@dataclass(frozen=True, eq=False)
class HeldOutStatistics(SampleStatistics):
    """Statistics of all samples but a few: what all samples say, less a few columns.

    The models of folds differ in what is held out alone. With the scatter T of all samples, about
    the mean M, and n_c samples of class c held out, with mean m_c and scatter S_c, of N_f samples
    with the mean M_f are left ::

        total    T - sum_c [S_c + n_c (m_c - M)(m_c - M)^T] - N_f (M_f - M)(M_f - M)^T
        within   the same in every class, about its mean

    So the models of all folds are one stack: they ask one table, and each a few samples of its own.

    Parameters
    ----------
    whole : SampleStatistics
        Of all samples.
    held : SampleStatistics
        Of those that are held out.
    """

    whole: SampleStatistics = field(kw_only=True)
    held: SampleStatistics = field(kw_only=True)

    @classmethod
    def of_part(cls, whole: SampleStatistics, kept: Array) -> Self:
        """The statistics of a part, given by whether it keeps each sample, (n,)."""
        w = np.ones(len(kept)) if whole.weights is None else whole.weights
        labels = whole.classes[whole.codes]
        parts = []
        for chosen in (kept, ~kept):
            weights = np.where(chosen, w, 0.0)
            present = np.unique(labels[weights > 0])
            parts.append(SampleStatistics.from_batch(whole.X, labels, weights, classes=present))
        part, held = parts
        return cls(
            part.classes,
            part.counts,
            part.means,
            whole.X,
            part.codes,
            part.weights,
            total_is_table=whole.total_is_table,
            classes_are_tables=whole.classes_are_tables,
            basis=whole.basis,
            whole=whole,
            held=held,
        )

    @cached_property
    def given(self) -> ClassMeans:
        """Counts and means of the samples of the part as they came."""
        if self.basis is None:
            return self
        middle = self.whole.counts @ self.whole.given.means / self.whole.count
        means = np.asarray(middle + self.basis.from_span(self.means.T).T)
        return ClassMeans(self.classes, self.counts, means)

    @made_once
    def total(self) -> Scatter:
        """All samples of the part about their mean."""
        middle = self.whole.mean
        points = np.concatenate([self.held.means - middle, (self.mean - middle)[None]])
        weights = np.append(self.held.counts, self.count)
        moved = self._points(points, weights)
        return self.whole.total() - self.held.within() - moved

    @made_once
    def within(self) -> Scatter:
        """Each class of the part about its mean."""
        cut = np.intersect1d(self.classes, self.held.classes)  # classes that lost some samples
        before = self.whole.means[np.searchsorted(self.whole.classes, cut)]
        lost = np.searchsorted(self.held.classes, cut)
        left = np.searchsorted(self.classes, cut)
        points = np.concatenate([self.held.means[lost] - before, self.means[left] - before])
        weights = np.append(self.held.counts[lost], self.counts[left])
        moved = self._points(points, weights)
        return self.whole.within() - self.held.within() - moved

    @made_once
    def in_class(self, p: int) -> Scatter:
        """S_p, the samples of class number p about their mean (eq. 18)."""
        if self.classes[p] not in self.held.classes:
            return self.whole.in_class(int(np.searchsorted(self.whole.classes, self.classes[p])))
        return super().in_class(p)

    def _points(self, points: Array, weights: Array) -> Scatter:
        """The scatter about 0 of some points with weights."""
        zero = np.zeros((1, *self.shape))
        nowhere = np.zeros(len(points), dtype=np.intp)
        return Scatter.of(SampleTerm(points, zero, nowhere, [np.arange(len(points))], weights))


def _class_means(
    X: Array, codes: Array, weights: Array | None, n_classes: int
) -> tuple[Array, Array]:
    """Weighted counts (C,) and means (C, I_1, ..., I_K), about a sample of each class."""
    w = np.ones(len(codes)) if weights is None else weights
    counts = np.bincount(codes, weights=w, minlength=n_classes)
    means = np.zeros((n_classes, *X.shape[1:]))
    for c in np.flatnonzero(counts):
        rows = np.flatnonzero((codes == c) & (w > 0))
        total = 0.0
        first = gather(X, rows[:1], np.float64)
        for block in row_blocks(len(rows), 2 * 8 * prod(X.shape[1:])):
            total = total + w[rows[block]] @ (gather(X, rows[block], np.float64) - first)
        means[c] = (first[0] + total / w[rows].sum()).reshape(X.shape[1:])
    return counts, means


@dataclass(frozen=True, eq=False)
class ClassSketch:
    """Count, mean and trace of the scatter of each class: values that can be added.

    Parameters
    ----------
    counts : ndarray of shape (C,)
        The sum of the sample weights.
    means : ndarray of shape (C, I_1, ..., I_K)
        The mean samples.
    traces : ndarray of shape (C,)
        tr(S_c).
    """

    counts: Array
    means: Array
    traces: Array

    @classmethod
    def of_block(
        cls, X: Array, y: Array | None, weight: Array | None, classes: Array
    ) -> ClassSketch:
        """The sketch of one block."""
        own = SampleStatistics.from_batch(X, y, weight, classes=classes)
        return cls(own.counts, own.means, own.traces)

    def __add__(self, other: ClassSketch) -> ClassSketch:
        both = (self, other)
        n = len(self.counts)
        codes = np.tile(np.arange(n), 2)
        all_counts = np.concatenate([one.counts for one in both])
        all_means = np.concatenate([one.means for one in both])
        counts, means, steps = merged_means(all_counts, all_means, codes, n)
        apart = np.bincount(codes, weights=square_lengths(steps))
        return ClassSketch(counts, means, self.traces + other.traces + apart)


@dataclass(frozen=True, eq=False)
class PassStatistics(ClassStatistics):
    """Statistics that go through a source again for each question.

    Parameters
    ----------
    classes : ndarray of shape (C,)
        The labels, sorted.
    counts : ndarray of shape (C,)
        The sum of the sample weights of each class.
    means : ndarray of shape (C, I_1, ..., I_K)
        The mean sample of each class.
    class_traces : ndarray of shape (C,)
        tr(S_c).
    samples : LabelledSource
        The samples, with their labels and weights.
    """

    class_traces: Array
    samples: LabelledSource

    @classmethod
    def from_source(
        cls, X: Source, y: Array | None, weight: Array | None, classes: Array
    ) -> PassStatistics:
        """One pass for the means; the samples stay where they are."""
        sketch = X.total(partial(ClassSketch.of_block, classes=classes), y, weight)
        samples = LabelledSource(X, y, weight, classes)
        return cls(classes, sketch.counts, sketch.means, sketch.traces, samples)

    @property
    def covariance_products(self) -> tuple[Array, Array, float]:
        """Not to be had from single passes."""
        raise ValueError(
            "shrinkage='auto' needs products of whole scatters, and their tables of "
            f"{self.means[0].size} x {self.means[0].size} numbers do not fit; pass shrinkage as a "
            "number, or make the samples smaller first with MPCA(ranks=0.999)"
        )

    @property
    def traces(self) -> Array:
        """tr(S_c) of every class, of shape (C,)."""
        return self.class_traces

    @made_once
    def within(self) -> Scatter:
        """``sum_c S_c`` (eq. 11)."""
        every = np.arange(len(self.classes))
        return Scatter.of(PassTerm(self.samples, self.means, every, [every]))

    @made_once
    def total(self) -> Scatter:
        """All samples about their mean: within + between."""
        every = np.arange(len(self.classes))
        middle = self.mean[None]
        return Scatter.of(PassTerm(self.samples, middle, np.zeros_like(every), [every]))

    @made_once
    def in_class(self, p: int) -> Scatter:
        """S_p, the samples of class number p about their mean (eq. 18)."""
        every = np.arange(len(self.classes))
        return Scatter.of(PassTerm(self.samples, self.means, every, [np.array([p])]))
