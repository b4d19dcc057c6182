"""The questions of `moments` answered by passes over a source: one per mode and round.

This is for samples that are too many for memory and too large for a table of I x I numbers. One
first pass finds the mean and the trace of each class; every later question is answered by a pass
that adds up mode scatters block by block, for all scatters that are asked for together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from tenfold.mathematics.accumulate import merged_means
from tenfold.mathematics.algebra import Array
from tenfold.mathematics.arrays import square_lengths
from tenfold.mathematics.moments import ClassStatistics
from tenfold.mathematics.scatter import Factors, SampleTerm, is_identity
from tenfold.mathematics.stores import Source


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
        """The sketch of one block; the mean is taken about a sample, so offsets cost no digits."""
        codes, w = codes_of(X, y, classes), _weights(X, weight)
        counts = np.bincount(codes, weights=w, minlength=len(classes))
        means, traces = np.zeros((len(classes), *X.shape[1:])), np.zeros(len(classes))
        for c in np.flatnonzero(counts):
            rows = np.flatnonzero((codes == c) & (w > 0))
            Z = X[rows].astype(np.float64).reshape(len(rows), -1)
            first = Z[0].copy()
            Z -= first
            step = w[rows] @ Z / counts[c]
            means[c] = (first + step).reshape(X.shape[1:])
            Z -= step
            traces[c] = w[rows] @ np.einsum("ij,ij->i", Z, Z)
        return cls(counts, means, traces)

    def __add__(self, other: ClassSketch) -> ClassSketch:
        both, n = (self, other), len(self.counts)
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
class PassTerm:
    """Scatters of groups of classes, answered by a pass over the samples.

    Parameters
    ----------
    samples : PassStatistics
        Whose samples; terms of the same statistics are answered by the same pass.
    centres : ndarray of shape (m, I_1, ..., I_K)
        The points that deviations are taken from.
    centre_of : ndarray of shape (C,)
        Which of the centres each class is measured from.
    members : list of G index arrays
        The classes of each group.
    unprojected : dict of int to ndarray of shape (1, I_k, I_k)
        Answers about samples that no mode projects yet: the same for every model, and asked for
        by the choice of ranks, by the first mode and by methods that do not alternate.
    """

    samples: PassStatistics
    centres: Array
    centre_of: Array
    members: list[Array]
    unprojected: dict[int, Array] = field(default_factory=dict)
    by_group: ClassVar[bool] = False  # a pass answers all groups

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.members)

    def joined(self, others: Sequence[PassTerm]) -> PassTerm:
        """One term with the groups of this one and of others over the same samples, in order."""
        more = (classes for other in others for classes in other.members)
        return replace(self, members=[*self.members, *more]) if others else self

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
        own = self.samples
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
        term = SampleTerm(X, centres, centre_of[codes], rows, weight)
        answers.append(term.along(mode, factors, groups))
    return np.stack(answers)


def codes_of(X: Array | Source, y: Array | None, classes: Array) -> Array:
    """The position of each sample's label among the classes.

    A label that is not among them belongs to a sample of weight 0, whose position is not used.
    """
    if y is None:
        return np.zeros(len(X), dtype=np.intp)
    return np.minimum(np.searchsorted(classes, y), len(classes) - 1)


def _weights(X: Array, weight: Array | None) -> Array:
    return np.ones(len(X)) if weight is None else np.asarray(weight, dtype=np.float64)
