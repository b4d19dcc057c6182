"""The questions of `moments` answered from the samples, in memory or by passes over a source.

For few samples of large size, going through the samples is cheaper than an I x I table per class.
`SampleStatistics` answers each question from the samples or, when many models ask it many times,
from a table made of them first; the cost model decides. `HeldOutStatistics` are those of a part.

`PassStatistics` is for samples that are too many for memory and too large for a table of I x I
numbers. One first pass finds the mean and the trace of each class; every later question is answered
by a pass that adds up mode scatters block by block, for all scatters that are asked for together:
one pass per mode and round.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from math import prod, sqrt
from typing import Any, Self

import numpy as np

from tenfold.linalg.algebra import is_identity
from tenfold.linalg.arrays import Array, square_lengths
from tenfold.linalg.bases import Span
from tenfold.statistics.accumulate import gather, merged_means, row_blocks
from tenfold.statistics.moments import ClassStatistics, Factors, Scatter, Term
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
        members = [self._used(c) for c in range(len(self.classes))]
        term = Term(self.X, self.means, self.codes, members, self.weights)
        flat = {
            c: np.concatenate([Z.reshape(len(Z), -1) for Z in term.deviations(c)])
            for c, rows in enumerate(members)
            if len(rows)
        }
        unit = sqrt(float(self.traces.sum())) or 1.0
        flat = {c: deviations / unit for c, deviations in flat.items()}
        Z = np.concatenate(list(flat.values()))
        size = prod(self.shape)
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
        term = Term(self.X, self.means, self.codes, members, self.weights)
        return np.array(
            [sum(float(np.vdot(Z, Z)) for Z in term.deviations(c)) for c in range(len(members))]
        )

    def _within(self) -> Term:
        term = Term(self.X, self.means, self.codes, [self._used()], self.weights)
        return term.tabulated() if self.total_is_table else term

    def _total(self) -> Term:
        if self.total_is_table:  # class means are fewer than samples
            within = self.within().terms[0][1]
            between = super()._means_about_mean().tabulated()
            return replace(between, tables=(within.tables[0] + between.tables[0],))
        everybody = np.zeros_like(self.codes)
        return Term(self.X, self.mean[None], everybody, [self._used()], self.weights)

    def _means_about_mean(self) -> Term:
        term = super()._means_about_mean()
        return term.tabulated() if self.means_are_table else term

    def _in_class(self, p: int) -> Term:
        term = Term(self.X, self.means, self.codes, [self._used(p)], self.weights)
        return term.tabulated() if self.classes_are_tables else term

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
        # The total is asked once, and its table is no larger than the samples.
        rest = (coordinates, plain.codes, weight, True, False, False, span, plain.means)
        return cls(plain.classes, plain.counts, means, *rest)

    @property
    def basis(self) -> Span | None:
        """The basis in which the samples are given."""
        return self.span

    @property
    def full_means(self) -> Array:
        """The mean sample of each class before the change of basis."""
        return self.given_means


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
        rest = (whole.X, part.codes, part.weights, whole.total_is_table, whole.classes_are_tables)
        return cls(part.classes, part.counts, part.means, *rest, whole=whole, held=held)

    @property
    def basis(self) -> Span | None:
        """The basis in which the samples are given, if it was changed."""
        return self.whole.basis

    @cached_property
    def full_means(self) -> Array:
        """The mean sample of each class before any change of basis."""
        if self.basis is None:
            return self.means
        middle = self.whole.counts @ self.whole.full_means / self.whole.count
        return np.asarray(middle + self.basis.from_span(self.means.T).T)

    def total(self) -> Scatter:
        """All samples of the part about their mean."""
        points = [self.held.means - self.whole.mean, (self.mean - self.whole.mean)[None]]
        weights = [self.held.counts, np.array([self.count])]
        return self.whole.total() - self.held.within() - self._points("total", points, weights)

    def within(self) -> Scatter:
        """Each class of the part about its mean."""
        cut = np.intersect1d(self.classes, self.held.classes)  # classes that lost some samples
        before = self.whole.means[np.searchsorted(self.whole.classes, cut)]
        parts = [(part, np.searchsorted(part.classes, cut)) for part in (self.held, self)]
        points = [part.means[rows] - before for part, rows in parts]
        weights = [part.counts[rows] for part, rows in parts]
        return self.whole.within() - self.held.within() - self._points("within", points, weights)

    def _points(self, name: str, points: list[Array], weights: list[Array]) -> Scatter:
        """The scatter about 0 of some points with weights."""
        columns = np.concatenate(points)
        w = np.concatenate(weights)
        zero = np.zeros((1, *self.shape))
        nowhere = np.zeros(len(columns), dtype=np.intp)
        return self._kept(name, lambda: Term(columns, zero, nowhere, [np.arange(len(w))], w))

    def _in_class(self, p: int) -> Term:
        if self.classes[p] in self.held.classes:
            return super()._in_class(p)
        number = int(np.searchsorted(self.whole.classes, self.classes[p]))
        return self.whole.in_class(number).terms[0][1]


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
    source : Source
        The samples.
    y, weights : labels and weights as the source takes them
        One per sample, or None.
    """

    class_traces: Array
    source: Source
    y: Any
    weights: Any

    @classmethod
    def from_source(cls, X: Source, y: Any, weight: Any, classes: Array) -> PassStatistics:
        """One pass for the means; the samples stay where they are."""
        sketch = X.total(partial(ClassSketch.of_block, classes=classes), y, weight)
        return cls(classes, sketch.counts, sketch.means, sketch.traces, X, y, weight)

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

    def _within(self) -> PassTerm:
        every = np.arange(len(self.classes))
        return PassTerm(self, self.means, every, [every])

    def _total(self) -> PassTerm:
        every = np.arange(len(self.classes))
        return PassTerm(self, self.mean[None], np.zeros_like(every), [every])

    def _in_class(self, p: int) -> PassTerm:
        every = np.arange(len(self.classes))
        return PassTerm(self, self.means, every, [np.array([p])])


@dataclass(frozen=True, eq=False)
class PassTerm(Term):
    """Scatters of groups of classes, answered by a pass over the samples.

    X are the statistics whose samples are read: terms of the same ones are answered by the same
    pass. Classes stand for samples: `centre_of` has shape (C,), and `members` are classes.

    Parameters
    ----------
    unprojected : dict of int to ndarray of shape (1, I_k, I_k)
        Answers about samples that no mode projects yet: the same for every model, and asked for
        by the choice of ranks, by the first mode and by methods that do not alternate.
    """

    unprojected: dict[int, Array] = field(default_factory=dict, init=False)

    @property
    def faster_by_group(self) -> bool:
        """A pass answers all groups."""
        return False

    def along(self, mode: int, factors: Factors, groups: Array) -> Array:
        """Mode-k scatters of M models, of shape (M, I_k, I_k)."""
        return self.along_together([(self, groups)], mode, factors)[0]

    def along_together(
        self, terms: Sequence[tuple[PassTerm, Array]], mode: int, factors: Factors
    ) -> list[Array]:
        """The answers of several terms of the same statistics, with their groups, in one pass."""
        whole = all(is_identity(W) for q, W in enumerate(factors) if q != mode)
        if whole and len(terms) == 1 and mode in self.unprojected:
            return [np.repeat(self.unprojected[mode], len(factors[0]), axis=0)]
        own = self.X
        work = partial(
            mode_scatters_of_block,
            classes=own.classes,
            questions=[(t.centres, t.centre_of, t.members, groups) for t, groups in terms],
            mode=mode,
            factors=[np.asarray(W) for W in factors],
        )
        answers = list(own.source.total(work, own.y, own.weights))
        if whole and len(terms) == len(self.members) == 1:
            self.unprojected[mode] = answers[0][:1]
        return answers


def mode_scatters_of_block(
    X: Array,
    y: Array | None,
    weight: Array | None,
    *,
    classes: Array,
    questions: list[tuple[Array, Array, list[Array], Array]],
    mode: int,
    factors: Factors,
) -> Array:
    """What one block adds to the mode scatters of several terms, of shape (terms, M, I_k, I_k)."""
    codes = codes_of(X, y, classes)
    used = np.ones(len(X), dtype=bool) if weight is None else weight > 0
    answers = []
    for centres, centre_of, members, groups in questions:
        rows = [np.flatnonzero(used & np.isin(codes, chosen)) for chosen in members]
        term = Term(X, centres, centre_of[codes], rows, weight)
        answers.append(term.along(mode, factors, groups))
    return np.stack(answers)


def codes_of(X: Array | Source, y: Array | None, classes: Array) -> Array:
    """The position of each sample's label among the classes.

    A label that is not among them belongs to a sample of weight 0, whose position is not used.
    """
    if y is None:
        return np.zeros(len(X), dtype=np.intp)
    return np.minimum(np.searchsorted(classes, y), len(classes) - 1)
