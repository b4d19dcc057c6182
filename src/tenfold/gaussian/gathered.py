"""What a Gaussian model keeps of its samples: class means, the scatter of the noise, a sketch.

Up to `SKETCH` distinct samples the sketch holds all of them, and nothing else is kept. Of more
samples, moments are kept of all, and the sketch holds the samples of each class with the smallest
hashes. Samples of the sketch are those that are left out in turn, and those that nonlinear views
learn from. Moments and sketches can be added: however a stream is batched, in any order, the result
equals that of one batch.

Equal samples of a class are merged to one sample with the sum of their weights.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import NamedTuple

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
class SharedMoments:
    """Counts (C,), class means (C, p), and the scatter (p, p) of all samples about these."""

    counts: Array
    means: Array
    scatter: Array

    @classmethod
    def of_batch(cls, X: Array, codes: Array, weights: Array, n_classes: int) -> SharedMoments:
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

    def __add__(self, other: SharedMoments) -> SharedMoments:
        counts = self.counts + other.counts
        safe = np.where(counts > 0, counts, 1.0)
        share = (other.counts / safe)[:, None]
        step = other.means - self.means
        means = np.where((self.counts > 0)[:, None], self.means + share * step, other.means)
        between = np.sqrt(self.counts * other.counts / safe)[:, None] * step
        scatter = self.scatter + other.scatter + between.T @ between
        return SharedMoments(counts, means, scatter)

    def times(self, factor: float) -> SharedMoments:
        """The same with all weights multiplied."""
        return SharedMoments(self.counts * factor, self.means, self.scatter * factor)

    def placed(self, at: Array, n_classes: int) -> SharedMoments:
        """The same among more classes: each of ours at its place."""
        counts = np.zeros(n_classes)
        counts[at] = self.counts
        means = np.zeros((n_classes, self.means.shape[1]))
        means[at] = self.means
        return SharedMoments(counts, means, self.scatter)


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
        """Of samples (n, p), all with some weight."""
        with np.errstate(over="ignore"):  # numbers above 3e38 are ordered by their keys
            order = content_hashes(X, np.float32)
        if len(X) > SKETCH:
            rows = _may_be_kept(codes, weights, order)
            X = X[rows]
            codes = codes[rows]
            weights = weights[rows]
            order = order[rows]
        return cls(X, codes, weights, content_hashes(X), order, True).merged()

    def __add__(self, other: Sketch) -> Sketch:
        columns = {}
        for name in _COLUMNS:
            columns[name] = np.concatenate([getattr(self, name), getattr(other, name)])
        joined = replace(self, is_complete=self.is_complete and other.is_complete, **columns)
        return joined.merged()

    def rows(self, rows: Array) -> Sketch:
        """Some of the samples."""
        columns = {name: getattr(self, name)[rows] for name in _COLUMNS}
        return replace(self, **columns)

    def merged(self) -> Sketch:
        """At most `SKETCH` samples; equal samples of a class become one.

        They are sorted by class and hash, so their order does not depend on how they came.
        """
        by = np.lexsort((self.keys, self.order, self.codes))
        codes = self.codes[by]
        keys = self.keys[by]
        starts = np.ones(len(by), dtype=bool)
        starts[1:] = (codes[1:] != codes[:-1]) | (keys[1:] != keys[:-1])
        first = np.flatnonzero(starts)
        weights = np.add.reduceat(self.weights[by], first) if len(first) else self.weights
        distinct = by[first]
        if len(distinct) <= SKETCH:
            return replace(self.rows(distinct), weights=weights)
        kept = first_of_each(self.order[distinct], weights, self.codes[distinct], SKETCH)
        return replace(self.rows(distinct[kept]), weights=weights[kept], is_complete=False)

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


def first_of_each(order: Array, weights: Array, codes: Array, most: int) -> Array:
    """The rows of the first samples of each class, at most `most` in all.

    The order follows from hashes and weights. Each class gets the same number, or all it has.
    """
    # A sample with twice the weight is as likely to be kept as two samples.
    priority = _waiting(order) / weights
    by, place, n_each = _ranked(priority, codes, most)
    kept = by[place < n_each]
    if len(kept) > most:  # more classes than samples that are kept
        kept = kept[np.argsort(priority[kept], kind="stable")[:most]]
    return np.sort(kept)


def _ranked(priority: Array, codes: Array, most: int) -> tuple[Array, Array, int]:
    """Samples sorted by class and priority, the place of each in its class, and a limit.

    The limit is how many samples of each class may be kept, so that there are at most `most` in
    all. It is 1 at the least.
    """
    by = np.lexsort((priority, codes))
    ordered = codes[by]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    sizes = np.diff(np.r_[starts, len(ordered)])
    place = np.arange(len(ordered)) - np.repeat(starts, sizes)
    totals = np.zeros(most)
    for size, n_classes in zip(*np.unique(sizes, return_counts=True), strict=True):
        totals += n_classes * np.minimum(size, np.arange(1, most + 1))
    return by, place, max(int((totals <= most).sum()), 1)


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
    weights = weights[by]
    codes = codes[by]
    waiting = _waiting(ordered[first])
    soonest = waiting / np.add.reduceat(weights, first)
    latest = waiting / weights[first]
    of_class = codes[first].astype(np.min_scalar_type(int(codes.max())))  # small ones sort faster
    ranked, place, n_each = _ranked(latest, of_class, SKETCH)
    n_sure = n_each + 1  # one more, so that a cut is noticed
    bound = np.full(int(codes.max()) + 1, np.inf)
    last = ranked[place == n_sure - 1]
    bound[of_class[last]] = latest[last] * (1 + ROUNDING)
    if len(first) < len(by):
        soonest = np.repeat(soonest, np.diff(np.r_[first, len(by)]))
    return np.sort(by[soonest <= bound[codes]])


# ── Both ─────────────────────────────────────────────────────────────────────────────────────────


class Summary(NamedTuple):
    """What views are made of: the samples of the sketch, and class means and noise of all."""

    sketch: Sketch
    shape: tuple[int, ...]  # of a sample
    mean: Array  # (p,), of all samples
    means: Array  # (C, p), of the classes
    noise: Noise  # about these
    sizes: ClassSizes  # the samples of the sketch among those of the means and the noise
    sketch_sizes: ClassSizes  # the samples of the sketch by themselves
    counts: Array  # (C,), the sums of the weights of all samples


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
    counts : ndarray of shape (C,)
        The sum of the weights of all samples of each class, also of those that are not kept.
    moments : SharedMoments or None
        Of all samples; None where the sketch has all of them, or samples are too large.
    """

    classes: Array
    shape: tuple[int, ...]
    sketch: Sketch
    counts: Array
    moments: SharedMoments | None = None

    @classmethod
    def of_batch(cls, X: Array, labels: Array, weights: Array | None, classes: Array) -> Gathered:
        """Of samples (n, I_1, ..., I_K)."""
        shape = X.shape[1:]
        rows = np.asarray(X, dtype=np.float64).reshape(len(X), prod(shape))
        codes = np.searchsorted(classes, labels)
        w = np.ones(len(rows)) if weights is None else np.asarray(weights, dtype=float)
        if not (w > 0).all():  # samples without weight may be of other classes
            used = np.flatnonzero(w > 0)
            rows = rows[used]
            codes = codes[used]
            w = w[used]
        sketch = Sketch.of_batch(rows, codes, w)
        moments = None
        if not sketch.is_complete and prod(shape) <= LARGEST_TABLE:
            moments = SharedMoments.of_batch(rows, codes, w, len(classes))
        counts = np.bincount(codes, w, minlength=len(classes))
        return cls(classes, shape, sketch, counts, moments)

    def __add__(self, other: Gathered) -> Gathered:
        one = self._among(other.classes)
        two = other._among(self.classes)
        sketch = one.sketch + two.sketch
        moments = None
        if not sketch.is_complete and prod(self.shape) <= LARGEST_TABLE:
            moments = one.all_moments() + two.all_moments()
        counts = one.counts + two.counts
        return Gathered(one.classes, self.shape, sketch, counts, moments)

    def decayed(self, factor: float) -> Gathered:
        """The same with all weights multiplied."""
        if factor == 1:
            return self
        moments = None if self.moments is None else self.moments.times(factor)
        sketch = self.sketch.times(factor)
        return replace(self, sketch=sketch, counts=self.counts * factor, moments=moments)

    def _among(self, classes: Array) -> Gathered:
        """The same among more classes."""
        union = np.union1d(self.classes, classes)
        if len(union) == len(self.classes):
            return self
        at = np.searchsorted(union, self.classes)
        moments = None if self.moments is None else self.moments.placed(at, len(union))
        counts = np.zeros(len(union))
        counts[at] = self.counts
        return Gathered(union, self.shape, self.sketch.placed(at), counts, moments)

    def all_moments(self) -> SharedMoments:
        """Moments of all samples; of the sketch, where it has all of them."""
        if self.moments is not None:
            return self.moments
        s = self.sketch
        return SharedMoments.of_batch(s.X, s.codes, s.weights, len(self.classes))

    def summary(self) -> Summary:
        """Class means and noise of all samples, and the sizes of the classes."""
        sketch = self.sketch
        n_classes = len(self.classes)
        sketch_counts = np.bincount(sketch.codes, sketch.weights, minlength=n_classes)
        sketch_sizes = ClassSizes.of(sketch.codes, sketch.weights, sketch_counts)
        if self.moments is not None:
            counts = self.moments.counts
            means = self.moments.means
            mean = means[0] + counts @ (means - means[0]) / counts.sum()
            scatter = self.moments.scatter
            noise = Noise(None, scatter, np.diagonal(scatter))
            sizes = ClassSizes.of(sketch.codes, sketch.weights, counts)
            return Summary(sketch, self.shape, mean, means, noise, sizes, sketch_sizes, self.counts)
        mean = np.asarray(sketch.weights @ sketch.X / sketch.weights.sum())
        means = class_means(sketch.X, sketch.codes, sketch.weights, n_classes)
        deviations = sketch.X - means[sketch.codes]
        if (sketch.weights != 1).any():
            deviations *= np.sqrt(sketch.weights)[:, None]
        noise = Noise.of_rows(deviations)
        sizes = sketch_sizes
        return Summary(sketch, self.shape, mean, means, noise, sizes, sketch_sizes, self.counts)
