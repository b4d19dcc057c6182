"""Means and spreads along modes: of every sample by itself, and over many samples.

A *fibre* is what a sample holds along the chosen modes, such as the ten values of one feature in a
window of time. Its statistics have the shape of a sample with size 1 along these modes, so that
they can be subtracted from samples and divided by. All sums are in float64.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from tenfold.linalg.arrays import Array, to_numpy
from tenfold.statistics.accumulate import check_not_too_large, row_blocks
from tenfold.statistics.moments import ClassMoments

EPSILON = float(np.finfo(float).eps)
ROUNDING = 64 * EPSILON  # of a difference of sums that are equal but for rounding, by their size


def fibres(X: Array, axes: tuple[int, ...]) -> tuple[Array, Array, Array]:
    """Means, deviations and variances of the fibres of samples (n, I_1, ..., I_K), in float64.

    A fibre of equal numbers has deviations and variance of exactly 0, whatever rounding says.
    """
    X = X.astype(np.float64, copy=False)
    size = prod(X.shape[axis] for axis in axes)
    if size == 1:
        return X, np.zeros_like(X), np.zeros_like(X)
    mean = X.mean(axis=axes, keepdims=True)
    deviations = X - mean
    with np.errstate(over="ignore", under="ignore"):
        variance = np.square(deviations).mean(axis=axes, keepdims=True)
        varies = variance > (size * EPSILON * mean) ** 2
    check_not_too_large(variance)
    if not varies.all():
        deviations *= varies
        variance *= varies
    return mean, deviations, variance


@dataclass(frozen=True, eq=False)
class FibreMoments:
    """What is known of the fibres of many samples; the moments of two sets add up with ``+``.

    Parameters
    ----------
    weight : float
        The number of samples, or the sum of their weights.
    mean : ndarray
        The mean of the fibres' means.
    between : ndarray
        The scatter of the fibres' means about it.
    within : ndarray
        The sum of the fibres' variances.
    """

    weight: float
    mean: Array
    between: Array
    within: Array

    @classmethod
    def of_block(
        cls, X: Array, y: None, weights: Array | None, axes: tuple[int, ...]
    ) -> FibreMoments:
        """Those of samples (n, I_1, ..., I_K) in memory; labels do not count."""
        nothing = np.zeros(())  # of any shape
        total = cls(0.0, nothing, nothing, nothing)
        for rows in row_blocks(len(X), 3 * 8 * prod(X.shape[1:])):
            means, _, variances = fibres(X[rows], axes)
            w = np.ones(len(means)) if weights is None else weights[rows].astype(float)
            weight = float(w.sum())
            if weight == 0:
                continue
            mean = np.tensordot(w, means, axes=1) / weight
            with np.errstate(over="ignore", under="ignore"):
                between = np.tensordot(w, np.square(means - mean), axes=1)
            total = total + cls(weight, mean, between, np.tensordot(w, variances, axes=1))
        return total

    @classmethod
    def of_moments(cls, moments: ClassMoments, axes: tuple[int, ...]) -> FibreMoments:
        """Those of the samples, all of one class, that these moments are of."""
        mean = moments.mean
        along = tuple(axis - 1 for axis in axes)  # of a sample
        level = mean.mean(axis=along, keepdims=True)
        steps = mean - level
        fibre_size = mean.size // level.size
        apart = np.square(steps).mean(axis=along, keepdims=True)
        steps *= apart > (fibre_size * EPSILON * level) ** 2
        # The scatter of the fibres' means is that of the numbers, averaged over both its indices.
        pairs = moments.scatters[0].reshape(mean.shape + mean.shape)
        also_along = tuple(axis + mean.ndim for axis in along)
        of_means = pairs.mean(axis=along + also_along).reshape(level.size, level.size)
        between = np.diagonal(of_means).reshape(level.shape)
        squares = np.diagonal(moments.scatters[0]).reshape(mean.shape)
        together = (squares + moments.count * np.square(steps)).mean(axis=along, keepdims=True)
        within = together - between
        within *= within > ROUNDING * together
        return cls(moments.count, level, between, within)

    def __add__(self, other: FibreMoments) -> FibreMoments:
        if self.weight == 0 or other.weight == 0:
            return other if self.weight == 0 else self
        weight = self.weight + other.weight
        share = other.weight / weight
        step = other.mean - self.mean
        with np.errstate(over="ignore", under="ignore"):
            apart = self.weight * share * np.square(step)
        return FibreMoments(
            weight,
            self.mean + share * step,
            self.between + other.between + apart,
            self.within + other.within,
        )

    def spreads(self) -> tuple[Array, Array]:
        """The typical spread inside of a fibre, and the spread of the fibres' means.

        Both are the root of a mean square. Means that differ by rounding alone do not differ.
        """
        check_not_too_large(self.between)
        between = self.between / self.weight
        varies = between > (max(self.weight, 2.0) * EPSILON * self.mean) ** 2
        return np.sqrt(self.within / self.weight), np.sqrt(np.where(varies, between, 0.0))


@dataclass(frozen=True, eq=False)
class Scaling:
    """What is done to samples: a function of arrays, and the way back.

    Parameters
    ----------
    axes : tuple of ints
        Axes of the batch along which a fibre lies; mode k is axis k + 1.
    mean, spread, mean_spread : ndarrays
        Of the training samples, as `FibreMoments` gives them.
    per_sample : bool
        Whether a sample is centred and scaled by its own fibres, or by the training samples.
    pseudocount : float
        How many numbers of a fibre the typical spread stands for.
    keep : {None, "mean", "spread", "both"}
        What is added behind the numbers of a fibre, of that which was taken away.
    """

    axes: tuple[int, ...]
    mean: Array
    spread: Array
    mean_spread: Array
    per_sample: bool
    pseudocount: float
    keep: str | None

    @cached_property
    def total_spread(self) -> Array:
        """The standard deviation over all training samples and their fibres; 1 for none."""
        return _or_one(np.hypot(self.spread, self.mean_spread))

    def __call__(self, X: Array, flat: bool = False) -> Array:
        """Scaled samples, in float32 for float32 samples and in float64 for all others."""
        X = to_numpy(X)
        dtype = np.float32 if X.dtype == np.float32 else np.float64
        shape = self.shape_after(X.shape[1:])
        Y = np.empty((len(X), *shape), dtype=dtype)
        for rows in row_blocks(len(X), 4 * 8 * prod(X.shape[1:])):
            Y[rows] = self._by_itself(X[rows]) if self.per_sample else self._fitted(X[rows])
        return Y.reshape(len(Y), prod(shape)) if flat else Y

    def undo(self, Y: Array) -> Array:
        """The samples that were scaled to Y; of fibres, only where both were kept."""
        Y = to_numpy(Y)
        dtype = np.float32 if Y.dtype == np.float32 else np.float64
        Y = Y.astype(np.float64, copy=False)
        if not self.per_sample:
            return np.asarray(Y * self.total_spread + self.mean, dtype=dtype)
        (axis,) = self.axes
        size = Y.shape[axis] - 2
        values, mean, spread = np.split(Y, [size, size + 1], axis=axis)
        mean = mean * _or_one(self.mean_spread) + self.mean
        samples = values * np.exp(spread) * _or_one(self.spread) + mean
        return np.asarray(samples, dtype=dtype)

    def shape_after(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of a scaled sample, from that of a sample."""
        more = {None: 0, "both": 2}.get(self.keep, 1)
        return tuple(n + more * (k + 1 in self.axes) for k, n in enumerate(shape))

    def _fitted(self, X: Array) -> Array:
        return np.asarray((X - self.mean) / self.total_spread)

    def _by_itself(self, X: Array) -> Array:
        mean, deviations, variance = fibres(X, self.axes)
        size = prod(X.shape[axis] for axis in self.axes)
        # The mean square of the numbers of the fibre and of so many more with the typical spread.
        own = size * variance
        typical = self.pseudocount * np.square(self.spread)
        scale = _or_one(np.sqrt((own + typical) / (size + self.pseudocount)))
        parts = [deviations / scale]
        if self.keep in ("mean", "both"):
            parts.append((mean - self.mean) / _or_one(self.mean_spread))
        if self.keep in ("spread", "both"):
            parts.append(np.log(scale / _or_one(self.spread)))
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=self.axes[0])


def _or_one(spread: Array) -> Array:
    """Spreads to divide by: 1 where there is none, since nothing differs there."""
    return np.where(spread > 0, spread, 1.0)
