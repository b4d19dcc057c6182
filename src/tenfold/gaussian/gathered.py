"""What a Gaussian model keeps of its samples: class means, the scatter of the noise, a sketch.

Up to `SKETCH` distinct samples the sketch holds all of them, and nothing else is kept. Beyond,
moments are of all samples, and the sketch holds of each class those with the smallest hashes: what
is left out in turn, and what views learn from that are not linear. Both are values that can be
added, so however a stream is batched, in any order, the result equals that of one batch.

Equal samples of a class are one sample with the sum of their weights.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

import numpy as np

from tenfold.gaussian.formula import ClassSizes, Noise, class_means
from tenfold.linalg.algebra import Array
from tenfold.linalg.hashing import content_hashes
from tenfold.statistics.accumulate import row_blocks

SKETCH = 2000  # distinct samples
LARGEST_TABLE = 2500  # numbers in a sample up to which moments are kept
IN_CACHE = 2**20  # bytes
ROUNDING = 1e-9  # of sums of weights
FORGOTTEN = 1e-30  # of the largest weight: what decay leaves of a sample that is forgotten


# ── Moments of all classes ───────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, eq=False)
class PooledMoments:
    """Counts (C,), class means (C, p), and the scatter (p, p) of all samples about these."""

    counts: Array
    means: Array
    scatter: Array

    @classmethod
    def of_batch(cls, X: Array, codes: Array, weights: Array, n_classes: int) -> PooledMoments:
        """Of samples (n, p), in blocks."""
        counts = np.bincount(codes, weights, minlength=n_classes)
        means = class_means(X, codes, weights, n_classes)
        scatter = np.zeros((X.shape[1], X.shape[1]))
        roots = np.sqrt(weights)
        for rows in row_blocks(len(X), 8 * X.shape[1], IN_CACHE):
            deviations = np.subtract(X[rows], means[codes[rows]])
            deviations *= roots[rows][:, None]
            scatter += deviations.T @ deviations  # symmetric, to the bit
        return cls(counts, means, scatter)

    def __add__(self, other: PooledMoments) -> PooledMoments:
        counts = self.counts + other.counts
        safe = np.where(counts > 0, counts, 1.0)
        share = (other.counts / safe)[:, None]
        step = other.means - self.means
        means = np.where((self.counts > 0)[:, None], self.means + share * step, other.means)
        between = np.sqrt(self.counts * other.counts / safe)[:, None] * step
        scatter = self.scatter + other.scatter + between.T @ between
        return PooledMoments(counts, means, scatter)

    def times(self, factor: float) -> PooledMoments:
        """The same with all weights multiplied."""
        return PooledMoments(self.counts * factor, self.means, self.scatter * factor)

    def placed(self, at: Array, n_classes: int) -> PooledMoments:
        """The same among more classes: each of ours at its place."""
        counts, means = np.zeros(n_classes), np.zeros((n_classes, self.means.shape[1]))
        counts[at], means[at] = self.counts, self.means
        return PooledMoments(counts, means, self.scatter)


# ── The sketch ───────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, eq=False)
class Sketch:
    """Distinct samples: of each class those with the smallest hashes, or all of them.

    Parameters
    ----------
    X : ndarray of shape (n, p)
        The samples.
    codes, weights : ndarrays of shape (n,)
        Their classes and weights.
    keys, order : ndarrays of shape (n,) of uint64
        What tells samples apart, and what decides which are kept.
    is_complete : bool
        Whether no sample was left out.
    """

    X: Array
    codes: Array
    weights: Array
    keys: Array
    order: Array
    is_complete: bool

    @classmethod
    def of_batch(cls, X: Array, codes: Array, weights: Array) -> Sketch:
        """Of samples (n, p)."""
        if not (weights > 0).all():
            used = np.flatnonzero(weights > 0)
            X, codes, weights = X[used], codes[used], weights[used]
        with np.errstate(over="ignore"):  # numbers above 3e38 are ordered by their keys
            order = content_hashes(X, np.float32)
        if len(X) > SKETCH:
            rows = _may_be_kept(codes, weights, order)
            X, codes, weights, order = X[rows], codes[rows], weights[rows], order[rows]
        return cls(X, codes, weights, content_hashes(X), order, True).merged().limited()

    def __add__(self, other: Sketch) -> Sketch:
        columns = {}
        for name in _COLUMNS:
            columns[name] = np.concatenate([getattr(self, name), getattr(other, name)])
        joined = replace(self, is_complete=self.is_complete and other.is_complete, **columns)
        return joined.merged().limited()

    def rows(self, rows: Array) -> Sketch:
        """Some of the samples."""
        columns = {name: getattr(self, name)[rows] for name in _COLUMNS}
        return replace(self, **columns)

    def merged(self) -> Sketch:
        """Equal samples of a class as one, and all in an order that is their own."""
        by = np.lexsort((self.keys, self.order, self.codes))
        codes, keys = self.codes[by], self.keys[by]
        starts = np.ones(len(by), dtype=bool)
        starts[1:] = (codes[1:] != codes[:-1]) | (keys[1:] != keys[:-1])
        first = np.flatnonzero(starts)
        weights = np.add.reduceat(self.weights[by], first) if len(first) else self.weights
        return replace(self.rows(by[first]), weights=weights)

    def limited(self) -> Sketch:
        """No more than `SKETCH` samples."""
        if len(self.codes) <= SKETCH:
            return self
        return replace(self.rows(self.first(SKETCH)), is_complete=False)

    def first(self, most: int) -> Array:
        """The places of at most so many samples, of each class the same number at most."""
        # A sample with twice the weight is as likely to be kept as two samples.
        priority = _waiting(self.order) / self.weights
        by, place, sizes = _places(priority, self.codes)
        kept = by[place < _most_of_each(sizes, most)]
        if len(kept) > most:  # more classes than samples that are kept
            kept = kept[np.argsort(priority[kept], kind="stable")[:most]]
        return np.sort(kept)

    def times(self, factor: float) -> Sketch:
        """The same with all weights multiplied."""
        weights = self.weights * factor
        kept = np.flatnonzero(weights > FORGOTTEN * weights.max(initial=0.0))
        return replace(self, weights=weights).rows(kept)

    def placed(self, at: Array) -> Sketch:
        """The same with other numbers of classes."""
        return replace(self, codes=at[self.codes])


_COLUMNS = ("X", "codes", "weights", "keys", "order")


def _waiting(order: Array) -> Array:
    """Hashes as times that are exponentially distributed: the smaller, the sooner kept."""
    uniform = (order.astype(np.float64) + 0.5) / 2.0**64
    return np.asarray(-np.log1p(-uniform))


def _places(priority: Array, codes: Array) -> tuple[Array, Array, Array]:
    """Samples sorted by class and priority, the place of each in its class, and class sizes."""
    by = np.lexsort((priority, codes))
    ordered = codes[by]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    sizes = np.diff(np.r_[starts, len(ordered)])
    return by, np.arange(len(ordered)) - np.repeat(starts, sizes), sizes


def _most_of_each(sizes: Array, most: int) -> int:
    """How many samples of each class are kept, at most `most` in all; one at the least."""
    totals = np.zeros(most)
    for size, n_classes in zip(*np.unique(sizes, return_counts=True), strict=True):
        totals += n_classes * np.minimum(size, np.arange(1, most + 1))
    return max(int((totals <= most).sum()), 1)


def _may_be_kept(codes: Array, weights: Array, order: Array) -> Array:
    """The rows that can be among those of a sketch once equal samples are merged.

    Equal samples have the same hash, so they stay or go together. Samples with the same hash are
    nearly always equal: together they weigh the sum of their weights at most, and one of them at
    least what the first of them weighs. Both give bounds of what is compared in the end.
    """
    by = np.argsort(order)
    starts = np.ones(len(by), dtype=bool)
    ordered = order[by]
    np.not_equal(ordered[1:], ordered[:-1], out=starts[1:])
    first = np.flatnonzero(starts)
    weights, codes = weights[by], codes[by]
    waiting = _waiting(ordered[first])
    soonest = waiting / np.add.reduceat(weights, first)
    latest = waiting / weights[first]
    of_class = codes[first].astype(np.min_scalar_type(int(codes.max())))  # small ones sort faster
    ranked, place, sizes = _places(latest, of_class)
    n_sure = _most_of_each(sizes, SKETCH) + 1  # one more, so that a cut is noticed
    bound = np.full(int(codes.max()) + 1, np.inf)
    last = ranked[place == n_sure - 1]
    bound[of_class[last]] = latest[last] * (1 + ROUNDING)
    if len(first) < len(by):
        soonest = np.repeat(soonest, np.diff(np.r_[first, len(by)]))
    return np.sort(by[soonest <= bound[codes]])


# ── Both ─────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, eq=False)
class Gathered:
    """What is kept of samples of known classes.

    Parameters
    ----------
    classes : ndarray of shape (C,)
        The labels, sorted.
    shape : tuple of K ints
        The shape of a sample.
    sketch : Sketch
        Distinct samples.
    moments : PooledMoments or None
        Of all samples; None where the sketch has all of them, or samples are too large.
    """

    classes: Array
    shape: tuple[int, ...]
    sketch: Sketch
    moments: PooledMoments | None = None

    @classmethod
    def of_batch(cls, X: Array, labels: Array, weights: Array | None, classes: Array) -> Gathered:
        """Of samples (n, I_1, ..., I_K)."""
        shape = X.shape[1:]
        rows = np.asarray(X, dtype=np.float64).reshape(len(X), prod(shape))
        codes = np.searchsorted(classes, labels)
        w = np.ones(len(rows)) if weights is None else np.asarray(weights, dtype=float)
        sketch = Sketch.of_batch(rows, codes, w)
        moments = None
        if not sketch.is_complete and prod(shape) <= LARGEST_TABLE:
            moments = PooledMoments.of_batch(rows, codes, w, len(classes))
        return cls(classes, shape, sketch, moments)

    def __add__(self, other: Gathered) -> Gathered:
        one, two = self._among(other.classes), other._among(self.classes)
        sketch = one.sketch + two.sketch
        moments = None
        if not sketch.is_complete and prod(self.shape) <= LARGEST_TABLE:
            moments = one._all_moments() + two._all_moments()
        return Gathered(one.classes, self.shape, sketch, moments)

    def decayed(self, factor: float) -> Gathered:
        """The same with all weights multiplied."""
        if factor == 1:
            return self
        moments = None if self.moments is None else self.moments.times(factor)
        return replace(self, sketch=self.sketch.times(factor), moments=moments)

    def _among(self, classes: Array) -> Gathered:
        """The same among more classes."""
        union = np.union1d(self.classes, classes)
        if len(union) == len(self.classes):
            return self
        at = np.searchsorted(union, self.classes)
        moments = None if self.moments is None else self.moments.placed(at, len(union))
        return Gathered(union, self.shape, self.sketch.placed(at), moments)

    def _all_moments(self) -> PooledMoments:
        if self.moments is not None:
            return self.moments
        s = self.sketch
        return PooledMoments.of_batch(s.X, s.codes, s.weights, len(self.classes))

    @property
    def counts(self) -> Array:
        """The sum of the weights of each class, (C,)."""
        if self.moments is not None:
            return self.moments.counts
        return np.bincount(self.sketch.codes, self.sketch.weights, minlength=len(self.classes))

    @property
    def sketch_sizes(self) -> ClassSizes:
        """The classes of the sketch by itself."""
        s = self.sketch
        counts = np.bincount(s.codes, s.weights, minlength=len(self.classes))
        return ClassSizes.of(s.codes, s.weights, counts)

    @property
    def sizes(self) -> ClassSizes:
        """The samples of the sketch among all samples."""
        return ClassSizes.of(self.sketch.codes, self.sketch.weights, self.counts)

    @property
    def mean(self) -> Array:
        """The mean sample, (p,)."""
        if self.moments is None:
            return np.asarray(self.sketch.weights @ self.sketch.X / self.sketch.weights.sum())
        first = self.moments.means[0]
        return np.asarray(first + self.counts @ (self.moments.means - first) / self.counts.sum())

    @property
    def means(self) -> Array:
        """The class means, (C, p)."""
        if self.moments is not None:
            return self.moments.means
        s = self.sketch
        return class_means(s.X, s.codes, s.weights, len(self.classes))

    def noise(self) -> Noise:
        """The scatter of all samples about the means of their classes."""
        if self.moments is not None:
            scatter = self.moments.scatter
            return Noise(None, scatter, np.diagonal(scatter))
        s = self.sketch
        deviations = s.X - self.means[s.codes]
        if (s.weights != 1).any():
            deviations *= np.sqrt(s.weights)[:, None]
        return Noise.of_rows(deviations)
