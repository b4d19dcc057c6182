"""Class moments: exact statistics of labelled tensor samples that can be added.

Everything the methods of this library learn from data follows from one small table per class:
its count n_c, its mean M_c and its scatter ``S_c = sum_{j in c} (x_j - M_c)(x_j - M_c)^T``.

    within      sum_c S_c                                              eq. 11
    between     sum_c n_c (M_c - M)(M_c - M)^T                         eq. 10
    total       within + between                                       MPCA
    in-class    S_p                                                    eq. 18
    out-class   total + N (M - M_p)(M - M_p)^T - S_p                   eq. 17
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from tenfold.mathematics.accumulate import ClassSums, check_same_kind, merged
from tenfold.mathematics.algebra import Array
from tenfold.mathematics.parts import SamplePart, TablePart
from tenfold.mathematics.scatter import Scatter

Batch = tuple[Array, Array | None, Array | None]  # samples, labels, weights


@dataclass(frozen=True, eq=False)
class ClassStatistics:
    """Counts and means of the classes, and the scatters that follow from them alone.

    Parameters
    ----------
    classes : ndarray of shape (C,)
        The labels, sorted.
    counts : ndarray of shape (C,)
        The sum of the sample weights of each class.
    means : ndarray of shape (C, I_1, ..., I_K)
        The mean sample of each class; zero for a class without samples.
    """

    classes: Array
    counts: Array
    means: Array

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape (I_1, ..., I_K) of a sample."""
        return self.means.shape[1:]

    @property
    def full_shape(self) -> tuple[int, ...]:
        """The shape of a sample before any change of basis."""
        return self.shape

    @property
    def full_means(self) -> Array:
        """The mean sample of each class before any change of basis."""
        return self.means

    def lift(self, projections: list[Array]) -> list[Array]:
        """Projections of samples before any change of basis."""
        return projections

    @property
    def count(self) -> float:
        """The sum of all sample weights, N."""
        return float(self.counts.sum())

    @property
    def mean(self) -> Array:
        """The mean of all samples, of shape (I_1, ..., I_K)."""
        return weighted_mean(self.means, self.counts)

    def between(self) -> Scatter:
        """``sum_c n_c (M_c - M)(M_c - M)^T`` (eq. 10)."""
        return Scatter.of(self._means_about_mean())

    def displacement(self, classes: Array) -> Scatter:
        """``N (M - M_p)(M - M_p)^T`` for each of the named classes, as groups."""
        n = len(classes)
        return Scatter.of(
            SamplePart(
                X=np.broadcast_to(self.mean, (n, *self.shape)),
                centres=self.means[classes],
                centre_of=np.arange(n),
                members=[np.array([g]) for g in range(n)],
                weights=np.full(n, self.count),
            )
        )

    def _means_about_mean(self) -> SamplePart:
        seen = np.flatnonzero(self.counts)
        return SamplePart(
            X=self.means,
            centres=self.mean[None],
            centre_of=np.zeros(len(self.counts), dtype=np.intp),
            members=[seen],
            weights=self.counts,
        )


@dataclass(frozen=True, eq=False)
class ClassMoments(ClassStatistics):
    """Count, mean and scatter of every class: exact, weighted, and mergeable with ``+``.

    Parameters
    ----------
    classes : ndarray of shape (C,)
        The labels, sorted.
    counts : ndarray of shape (C,)
        The sum of the sample weights of each class.
    means : ndarray of shape (C, I_1, ..., I_K)
        The mean sample of each class.
    scatters : ndarray of shape (C, I, I)
        The scatter of each class about its mean, over vectorised samples.

    Examples
    --------
    Any cut of a stream, in any order, gives the same moments:

    >>> import numpy as np
    >>> from tenfold import ClassMoments
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(9, 4, 3)), np.array(list("abcabcabc"))
    >>> parts = ClassMoments.from_batch(X[:2], y[:2]) + ClassMoments.from_batch(X[2:], y[2:])
    >>> whole = ClassMoments.from_batch(X, y)
    >>> bool(np.allclose(parts.scatters, whole.scatters))
    True
    """

    scatters: Array

    @classmethod
    def from_batch(
        cls,
        X: Array,
        y: Array | None = None,
        sample_weight: Array | None = None,
        *,
        classes: Array | None = None,
    ) -> ClassMoments:
        """Moments of one batch.

        Parameters
        ----------
        X : ndarray of shape (n, I_1, ..., I_K)
            The samples. They are read in blocks and never copied or cast whole.
        y : ndarray of shape (n,) or None
            The labels; with None all samples form one class.
        sample_weight : ndarray of shape (n,) or None
            Non-negative weights, 1 if None.
        classes : ndarray of shape (C,) or None
            All labels, sorted, when the batch may lack some.

        Returns
        -------
        ClassMoments
            In float64. float32 samples may be multiplied in float32, when that loses nothing
            (`tenfold.mathematics.accumulate.float32_suffices`), and are summed in float64.
        """
        return cls.from_blocks([(X, y, sample_weight)], classes=classes)

    @classmethod
    def from_blocks(cls, blocks: Iterable[Batch], *, classes: Array | None = None) -> ClassMoments:
        """Moments of a stream of blocks, read once.

        Equals the sum of the moments of the blocks, without a table per block.

        Parameters
        ----------
        blocks : iterable of (X, y, sample_weight)
            As `from_batch` takes them; y and sample_weight may be None.
        classes : ndarray of shape (C,) or None
            All labels, sorted; None takes them as they come.

        Returns
        -------
        ClassMoments
            Of all blocks.
        """
        sums: ClassSums | None = None
        for X, y, weight in blocks:
            X = X if hasattr(X, "dtype") else np.asarray(X, dtype=float)
            labels = np.zeros(len(X), dtype=np.intp) if y is None else np.asarray(y)
            weight = None if weight is None else np.asarray(weight)
            present = np.unique(labels) if classes is None else np.asarray(classes)
            if sums is None:
                sums = ClassSums(present, X.shape[1:])
            else:
                sums.cover(present)
            sums.add(X, labels, weight)
        if sums is None:
            raise ValueError("there are no blocks to take moments of; pass at least one")
        counts, means, scatters = sums.finish()
        return cls(sums.classes, counts, means, scatters)

    def __add__(self, other: ClassMoments) -> ClassMoments:
        if self.shape != other.shape:
            raise ValueError(
                f"moments of samples of shape {self.shape} and {other.shape} cannot be added; "
                "both must come from samples of the same shape"
            )
        check_same_kind(other.classes, self.classes)
        classes = np.union1d(self.classes, other.classes)
        a, b = self._spread_over(classes), other._spread_over(classes)
        counts, means, both, steps = merged(a.counts, a.means, b.counts, b.means)
        scatters = a.scatters + b.scatters
        for c in np.flatnonzero(both):
            scatters[c] += np.outer(both[c] * steps[c], steps[c])
        return ClassMoments(classes, counts, means, scatters)

    def _spread_over(self, classes: Array) -> ClassMoments:
        """The same moments with rows for all the given classes."""
        if len(classes) == len(self.classes):
            return self
        at = np.searchsorted(classes, self.classes)
        wide = [np.zeros((len(classes), *a.shape[1:])) for a in (self.means, self.scatters)]
        counts = np.zeros(len(classes))
        counts[at], wide[0][at], wide[1][at] = self.counts, self.means, self.scatters
        return ClassMoments(classes, counts, *wide)

    def present(self) -> ClassMoments:
        """The moments of the classes that have samples."""
        here = self.counts > 0
        if here.all():
            return self
        arrays = (self.classes, self.counts, self.means, self.scatters)
        return ClassMoments(*(array[here] for array in arrays))

    def pooled(self) -> ClassMoments:
        """The moments of all samples as one class, 0."""
        if len(self.classes) == 1:
            return replace(self, classes=np.zeros(1, dtype=np.intp))
        everything = self.scatters.sum(axis=0)
        for deviations in self._means_about_mean().deviations(0):
            flat = deviations.reshape(len(deviations), -1)
            everything += flat.T @ flat
        counts = np.array([self.count])
        return ClassMoments(np.zeros(1, dtype=np.intp), counts, self.mean[None], everything[None])

    def within(self) -> Scatter:
        """``sum_c S_c`` (eq. 11)."""
        return self._table(self.scatters.sum(axis=0)[None])

    def total(self) -> Scatter:
        """All samples about their mean: within + between."""
        return self._table(self.pooled().scatters)

    def in_class(self, classes: Array) -> Scatter:
        """S_p (eq. 18) for each of the named classes, as groups."""
        return self._table(self.scatters[classes])

    def covariance_products(self, classes: Array) -> tuple[Array, Array, float]:
        """Frobenius products <S_p, S_p>, <S_p, S_w> and <S_w, S_w>, S_w the within scatter."""
        within = self.scatters.sum(axis=0)
        own = np.array([np.vdot(self.scatters[p], self.scatters[p]) for p in classes])
        cross = np.array([np.vdot(self.scatters[p], within) for p in classes])
        return own, cross, float(np.vdot(within, within))

    def traces(self, classes: Array) -> Array:
        """tr(S_p) of each of the named classes."""
        return np.asarray(np.trace(self.scatters[classes], axis1=1, axis2=2))

    def _table(self, matrices: Array) -> Scatter:
        return Scatter.of(TablePart.from_matrices(matrices, self.shape))


def weighted_mean(means: Array, counts: Array) -> Array:
    """Mean of class means, about the first so that a common offset costs no digits."""
    first = means[np.argmax(counts > 0)]
    share = np.where(counts > 0, counts, 0) / max(counts.sum(), np.finfo(float).tiny)
    offsets = np.where((counts > 0).reshape(-1, *[1] * first.ndim), means - first, 0)
    return np.asarray(first + np.tensordot(share, offsets, axes=1))
