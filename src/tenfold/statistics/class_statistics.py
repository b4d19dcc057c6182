"""What a method may ask about labelled samples, and how moments answer it.

    within      sum_c S_c                                              eq. 11
    between     sum_c n_c (M_c - M)(M_c - M)^T                         eq. 10
    total       within + between                                       MPCA
    in-class    S_p                                                    eq. 18
    out-class   total + N (M - M_p)(M - M_p)^T - S_p                   eq. 17

`ClassStatistics` says what can be asked, and `MomentStatistics` answers from class moments. The
samples answer the same questions, in memory or by passes over a store (`sample_statistics`).
Statistics are made for one fit and discarded after it. They keep the scatters that were asked for,
so that the models of a stack share them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, wraps
from typing import Any, TypeVar, cast

import numpy as np

from tenfold.linalg.algebra import add_gram, pack_table
from tenfold.linalg.arrays import Array
from tenfold.linalg.bases import Span
from tenfold.statistics.accumulate import check_squares
from tenfold.statistics.moments import ClassMeans, ClassMoments
from tenfold.statistics.scatters import SampleTerm, Scatter, TableTerm

Make = TypeVar("Make", bound=Callable[..., "Scatter"])


def made_once(make: Make) -> Make:
    """A decorator: the scatter is made when it is first asked for, and kept.

    Before the first one, samples whose squares are too large or too small are refused.
    """

    @wraps(make)
    def scatter(self: ClassStatistics, *args: int) -> Scatter:
        if not self.made:
            check_squares(self.counts, self.means, self.traces)
        name = (make.__name__, *args)
        if name not in self.made:
            self.made[name] = make(self, *args)
        return self.made[name]

    return cast(Make, scatter)


@dataclass(frozen=True, eq=False)
class ClassStatistics(ClassMeans, ABC):
    """What a method may ask about labelled samples.

    Parameters
    ----------
    classes : ndarray of shape (C,)
        The labels, sorted.
    counts : ndarray of shape (C,)
        The sum of the sample weights of each class.
    means : ndarray of shape (C, I_1, ..., I_K)
        The mean sample of each class; zero for a class without samples.
    basis : Span or None
        The basis in which the samples are given, if it was changed.
    """

    basis: Span | None = field(default=None, kw_only=True)
    made: dict[tuple[object, ...], Scatter] = field(default_factory=dict, init=False, repr=False)

    # -- counts and means ------------------------------------------------------------------------

    @property
    def given(self) -> ClassMeans:
        """Counts and means of the samples as they came, before any change of basis."""
        return self

    def other_mean(self, p: int) -> Array:
        """The mean of all samples as they came but those of class number p."""
        own = self.counts[p]
        step = self.given.mean - self.given.means[p]
        return np.asarray(self.given.mean + own / (self.count - own) * step)

    @cached_property
    def scaled_class_means(self) -> tuple[Array, Array | None]:
        """Class means about the mean of all, times the roots of the counts; as samples came.

        Returns rows (k, I) and a matrix `turn`. With at most I classes, each row is that of a
        class, and `turn` is None. With more classes there are I rows, and ``turn @ rows`` are those
        of the classes; `turn` (C, k) has orthonormal columns.
        """
        steps = (self.given.means - self.given.mean).reshape(len(self.counts), -1)
        steps *= np.sqrt(self.counts)[:, None]
        if len(steps) <= steps.shape[1]:
            return steps, None
        turn, rows = np.linalg.qr(steps)
        return rows, turn

    @cached_property
    def between_squares(self) -> float:
        """The sum of squares of the class means about the mean of all samples."""
        steps = (self.means - self.mean).reshape(len(self.means), -1)
        return float(self.counts @ np.vecdot(steps, steps))

    @cached_property
    def choices(self) -> dict[str, Any]:
        """What was chosen by these statistics; the models of a stack share it."""
        return {}

    # -- scatters --------------------------------------------------------------------------------

    @abstractmethod
    def within(self) -> Scatter:
        """``sum_c S_c`` (eq. 11)."""

    @abstractmethod
    def total(self) -> Scatter:
        """All samples about their mean: within + between."""

    @abstractmethod
    def in_class(self, p: int) -> Scatter:
        """S_p, the samples of class number p about their mean (eq. 18)."""

    @made_once
    def between(self) -> Scatter:
        """``sum_c n_c (M_c - M)(M_c - M)^T`` (eq. 10)."""
        centre_of = np.zeros(len(self.counts), dtype=np.intp)  # all about the same mean
        present = np.flatnonzero(self.counts)
        return Scatter.of(
            SampleTerm(self.means, self.mean[None], centre_of, [present], self.counts)
        )

    @made_once
    def mean_offset_scatter(self, p: int) -> Scatter:
        """``N (M_p - M)(M_p - M)^T``: by how much the total about M_p exceeds that about M."""
        one = np.zeros(1, dtype=np.intp)
        weight = np.array([self.count])
        return Scatter.of(SampleTerm(self.means[[p]], self.mean[None], one, [one], weight))

    @property
    @abstractmethod
    def covariance_products(self) -> tuple[Array, Array, float]:
        """Frobenius products <S_c, S_c> and <S_c, S_w> of every class, and <S_w, S_w>.

        S_w is the within scatter, and all of them are over its squared trace, so that no units
        are too large or too small.
        """

    @property
    @abstractmethod
    def traces(self) -> Array:
        """tr(S_c) of every class, of shape (C,)."""


@dataclass(frozen=True, eq=False)
class MomentStatistics(ClassStatistics):
    """Statistics that answer from the tables of class moments.

    Parameters
    ----------
    classes, counts, means : ndarrays
        Those of the moments.
    moments : ClassMoments
        Of all samples.
    """

    moments: ClassMoments

    @classmethod
    def of(cls, moments: ClassMoments) -> MomentStatistics:
        """The statistics of these moments."""
        return cls(moments.classes, moments.counts, moments.means, moments)

    @cached_property
    def covariance_products(self) -> tuple[Array, Array, float]:
        """Frobenius products <S_c, S_c> and <S_c, S_w> of every class, and <S_w, S_w>."""
        unit = float(self.traces.sum()) or 1.0
        scatters = self.moments.scatters
        within = scatters.sum(axis=0) / unit
        own = np.array([np.vdot(scatter / unit, scatter / unit) for scatter in scatters])
        cross = np.array([np.vdot(scatter / unit, within) for scatter in scatters])
        return own, cross, float(np.vdot(within, within))

    @property
    def traces(self) -> Array:
        """tr(S_c) of every class, of shape (C,)."""
        return self.moments.traces

    @made_once
    def within(self) -> Scatter:
        """``sum_c S_c`` (eq. 11)."""
        matrix = self.moments.scatters.sum(axis=0)
        return Scatter.of(TableTerm(self.shape, (pack_table(matrix, self.shape),)))

    @made_once
    def total(self) -> Scatter:
        """All samples about their mean: within + between."""
        matrix = self.moments.scatters.sum(axis=0)
        steps = (self.means - self.mean).reshape(len(self.counts), -1)
        add_gram(matrix, steps * np.sqrt(self.counts)[:, None])  # the upper triangle
        return Scatter.of(TableTerm(self.shape, (pack_table(matrix, self.shape),)))

    @made_once
    def in_class(self, p: int) -> Scatter:
        """S_p, the samples of class number p about their mean (eq. 18)."""
        matrix = self.moments.scatters[p]
        table = matrix if len(self.shape) == 1 else pack_table(matrix, self.shape)  # no copy
        return Scatter.of(TableTerm(self.shape, (table,)))
