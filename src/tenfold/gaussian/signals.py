"""Feature maps for curves and images: what a shift in time, or in light, leaves as it is.

`FilterMap` is for samples with a long mode, such as time. Short filters with gaps of several sizes
run along it; each feature is the share of the time that the answer of a filter is above a level. It
does not matter when something happens, only how often. The filters are those of MiniRocket: nine
numbers, six of them -1 and three of them 2, in all 84 ways.

`GradientMap` is for samples with two modes that are long enough for an image. Its features are how
much brightness rises in each of eight directions, on average over cells of an image, beside what
cells around have. It is the idea of histograms of oriented gradients.

References
----------
A. Dempster, D. Schmidt, G. Webb, "MiniRocket: a very fast (almost) deterministic transform for time
series classification", KDD 2021.

N. Dalal, B. Triggs, "Histograms of oriented gradients for human detection", CVPR 2005.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from math import ceil, prod
from typing import NamedTuple, Self

import numpy as np
from scipy.special import ndtri

from tenfold.gaussian.maps import CentredMap
from tenfold.linalg.algebra import Array
from tenfold.statistics.accumulate import row_blocks

TAPS = 9  # numbers in a filter
RAISED = 3  # of them are 2, the others -1: the sum is 0, so that an offset plays no part
SHORTEST_SERIES = 16  # numbers along the long mode
MOST_PLACES = 512  # along the long mode, at which the answers of filters are asked
MOST_GAPS = 8  # of different sizes
MOST_CHANNELS = 9  # that one filter sees together
FILTER_FEATURES = 2000
SOFTNESS = 0.1  # of the spread of the answers of a filter: the ramp from below a level to above
EXTREMES = 0.02  # of a normal distribution: what levels leave out at both ends

DIRECTIONS = 8
SMALLEST_SIDE = 8  # numbers along both modes of an image
CELL = 4  # numbers along a side of a cell
FEWEST_CELLS, MOST_CELLS = 4, 16  # along a side
FLAT = 0.1  # of the typical gradient: cells with less are not scaled up
ROOT_FROM = 0.01  # is added before the square root, whose slope is infinite at 0
MOST_GRADIENT_FEATURES = 16_384
IN_CACHE = 2**20  # bytes


@dataclass(frozen=True, eq=False)
class SignalMap(CentredMap):
    """Features of a curve or an image.

    Parameters
    ----------
    mean : ndarray of shape (q,)
        The mean of the features.
    shape : tuple of K ints
        The shape of a sample.
    shift : ndarray of shape (p,)
        What another session adds to every sample; 0 for that of the training samples.
    """

    shape: tuple[int, ...]
    shift: Array

    def moved(self, X: Array, step: Array) -> Self:
        """The same for a session whose samples lie a step (p,) away."""
        return replace(self, shift=self.shift + step)


# ── Filters along a long mode ────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, eq=False)
class FilterMap(SignalMap):
    """How often the answers of filters along the longest mode are above levels.

    Parameters
    ----------
    mean, shape, shift
        See `SignalMap`.
    channels : ndarray of shape (g * 84, c)
        For each of g sizes of gaps and each filter the factors of what lies beside time, such as
        sensors, divided by the width of the ramp.
    offsets : ndarray of shape (g * 84, l)
        Minus the levels, in widths of the ramp.
    """

    channels: Array
    offsets: Array

    @classmethod
    def of_samples(cls, X: Array, weights: Array, shape: tuple[int, ...]) -> FilterMap:
        """Of samples (n, p) with weights (n,), whose answers give the levels; about 0."""
        series = as_series(X, shape)
        n_channels, length = series.shape[1:]
        shares = weights / weights.sum()
        mean = (shares @ series.mean(axis=2))[None, :, None]
        largest = float(np.abs(series - mean).max(initial=0.0)) or 1.0
        squares = (((series - mean) / largest) ** 2).mean(axis=2)
        spread = np.sqrt(shares @ squares)
        varies = spread > 1e-12 * spread.max()
        scale = np.where(varies, 1 / np.where(varies, spread, 1.0), 0.0) / largest
        gaps = gap_sizes(length)
        channels = _channels_seen(len(gaps) * len(KERNELS), n_channels) * scale
        centres = np.zeros(len(channels))
        spreads = np.zeros(len(channels))
        for rows in _blocks(len(series), length):
            for gap, own in enumerate(_of_gaps(len(gaps))):
                answers = _answers(series[rows], channels[own], gaps[gap])
                centres[own] += shares[rows] @ answers.mean(axis=2)
                spreads[own] += shares[rows] @ (answers**2).mean(axis=2)
        spreads = np.sqrt(np.maximum(spreads - centres**2, 0.0))
        n_levels = max(FILTER_FEATURES // len(channels), 1)
        # Places between 0 and 1 that are spread evenly over filters and over the levels of each.
        places = (np.arange(len(channels) * n_levels) * (np.sqrt(5) - 1) / 2) % 1
        normal = ndtri(EXTREMES + (1 - 2 * EXTREMES) * places).reshape(len(channels), n_levels)
        width = SOFTNESS * spreads
        answers_vary = width > 1e-12 * width.max(initial=0.0)
        width = np.where(answers_vary, width, 1.0)[:, None]
        offsets = 0.5 - (centres[:, None] + spreads[:, None] * normal) / width
        no_shift = np.zeros(X.shape[1])
        return cls(np.zeros(offsets.size), shape, no_shift, channels / width, offsets)

    def raw(self, X: Array) -> Array:
        """The share of the time (n, q) that each filter is above each level."""
        series = as_series(X - self.shift, self.shape)
        gaps = gap_sizes(series.shape[2])
        found = np.empty((len(X), len(gaps), self.offsets.shape[1], len(KERNELS)))
        for rows in _blocks(len(X), series.shape[2]):
            for gap, own in enumerate(_of_gaps(len(gaps))):
                answers = _answers(series[rows], self.channels[own], gaps[gap])
                above = np.empty_like(answers)
                for level, offset in enumerate(self.offsets[own].T):
                    np.add(answers, offset[:, None], out=above)
                    np.clip(above, 0.0, 1.0, out=above)
                    found[rows, gap, level] = above.mean(axis=2)
        return found.reshape(len(X), -1)

    def fits(self, size: int) -> bool:
        """Whether its arrays fit samples of `size` numbers."""
        if prod(self.shape) != size or self.shift.shape != (size,):
            return False
        if not has_series(self.shape):
            return False
        length = self.shape[long_mode(self.shape)]
        n_filters = len(gap_sizes(length)) * len(KERNELS)
        arrays_fit = self.channels.shape == (n_filters, size // length) and (
            self.offsets.ndim == 2 and len(self.offsets) == n_filters
        )
        return arrays_fit and self.mean.shape == (self.offsets.size,)


def _kernels() -> Array:
    found = np.full((prod(range(7, 10)) // 6, TAPS), -1.0)
    for row, raised in zip(found, combinations(range(TAPS), RAISED), strict=True):
        row[list(raised)] = 2.0
    return found


KERNELS = _kernels()  # (84, 9)


def has_series(shape: tuple[int, ...]) -> bool:
    """Whether samples of this shape have a long mode."""
    return max(shape) >= SHORTEST_SERIES


def long_mode(shape: tuple[int, ...]) -> int:
    """The longest mode; of equals the last."""
    return len(shape) - 1 - int(np.argmax(shape[::-1]))


def as_series(X: Array, shape: tuple[int, ...]) -> Array:
    """Samples (n, p) as (n, channels, time)."""
    mode = long_mode(shape)
    series = np.moveaxis(X.reshape(-1, *shape), mode + 1, -1)
    return series.reshape(len(X), -1, shape[mode])


def gap_sizes(length: int) -> Array:
    """How far apart the numbers lie that a filter sees: from 1 to what fits in, by about 2."""
    most = max((length - 1) / (TAPS - 1), 1.0)
    n_sizes = min(int(np.log2(most)) + 1, MOST_GAPS)
    return np.unique((most ** np.linspace(0, 1, n_sizes) + 1e-9).astype(int))


def seen_places(length: int, gap: int) -> Array:
    """What filters see (9, t) when they stand at each of t places; ends are repeated."""
    step = ceil(length / MOST_PLACES)
    around = (np.arange(TAPS) - TAPS // 2) * gap
    return np.asarray(np.clip(np.arange(0, length, step) + around[:, None], 0, length - 1))


def filters_of(channels: Array) -> Array:
    """All filters of one size of gaps as a matrix (84, c * 9), from factors (84, c)."""
    return np.asarray(channels[:, :, None] * KERNELS[:, None]).reshape(len(KERNELS), -1)


def _answers(series: Array, channels: Array, gap: int) -> Array:
    """The answers (n, 84, t) of all filters with one size of gaps."""
    n, n_channels, length = series.shape
    seen = series[:, :, seen_places(length, gap)].reshape(n, n_channels * TAPS, -1)
    return np.asarray(filters_of(channels) @ seen)


def _channels_seen(n_filters: int, n_channels: int) -> Array:
    """Which channels each filter sees together, (n_filters, c) of 0 and 1: mostly few."""
    if n_channels == 1:
        return np.ones((n_filters, 1))
    raw = np.random.Philox(7).random_raw(n_filters * (n_channels + 1))
    uniform = (raw.astype(float) / 2.0**64).reshape(n_filters, -1)
    n_seen = (min(n_channels, MOST_CHANNELS) + 1.0) ** uniform[:, :1]
    places = uniform[:, 1:].argsort(axis=1).argsort(axis=1)
    return np.asarray(places < np.floor(n_seen), dtype=float)


def _of_gaps(n_gaps: int) -> list[slice]:
    """Where the filters of each size of gaps stand among all."""
    n = len(KERNELS)
    return [slice(n * gap, n * (gap + 1)) for gap in range(n_gaps)]


def _blocks(n: int, length: int) -> Iterator[slice]:
    """Samples whose answers to filters stay in the cache."""
    n_places = ceil(length / ceil(length / MOST_PLACES))
    return row_blocks(n, 8 * len(KERNELS) * n_places, IN_CACHE)


# ── Gradients of an image ────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, eq=False)
class GradientMap(SignalMap):
    """How much brightness rises in eight directions, over cells of two sizes.

    Parameters
    ----------
    mean, shape, shift
        See `SignalMap`.
    level : float
        A gradient that is small for these samples.
    """

    level: float

    @classmethod
    def of_samples(cls, X: Array, weights: Array, shape: tuple[int, ...]) -> GradientMap:
        """Of samples (n, p) with weights (n,); about 0."""
        images = as_images(X, shape)
        down = Side.of(images.shape[2]).rise
        right = Side.of(images.shape[3]).rise
        largest = float(np.abs(images).max(initial=0.0)) or 1.0
        energy = np.zeros(len(X))
        for rows in row_blocks(len(X), 8 * X.shape[1], IN_CACHE):
            some = images[rows] / largest  # squares do not overflow
            energy[rows] += ((down @ some) ** 2).mean(axis=(1, 2, 3))
            energy[rows] += ((some @ right.T) ** 2).mean(axis=(1, 2, 3))
        level = FLAT * float(np.sqrt(weights @ energy / weights.sum())) * largest
        no_shift = np.zeros(X.shape[1])
        return cls(np.zeros(n_gradient_features(shape)), shape, no_shift, level or 1.0)

    def raw(self, X: Array) -> Array:
        """Square roots (n, q) of the rise in each direction and cell, relative to cells around."""
        images = as_images(X - self.shift, self.shape)
        vertical = Side.of(images.shape[2])
        horizontal = Side.of(images.shape[3])
        found = np.empty((len(X), len(self.mean)))
        for rows in row_blocks(len(X), 8 * DIRECTIONS * X.shape[1], IN_CACHE):
            down = vertical.rise @ images[rows]
            right = images[rows] @ horizontal.rise.T
            cells = []
            for sine, cosine in COMPASS:
                rise = np.maximum(sine * down + cosine * right, 0.0)
                cells.append(vertical.fine @ rise @ horizontal.fine.T)
            fine = np.stack(cells, axis=2)  # (n, channels, directions, a, b)
            coarse = vertical.coarse @ fine @ horizontal.coarse.T
            parts = [
                self._beside_others(fine, vertical.around_fine, horizontal.around_fine),
                self._beside_others(coarse, vertical.around_coarse, horizontal.around_coarse),
            ]
            found[rows] = np.concatenate(parts, axis=1)
        return found

    def _beside_others(self, cells: Array, of_rows: Array, of_columns: Array) -> Array:
        """Square roots of the rises of cells over those of cells around, as rows."""
        unit = np.maximum(cells.max(axis=(1, 2, 3, 4), keepdims=True), self.level)
        cells = cells / unit  # squares do not overflow
        squares = (cells**2).sum(axis=2, keepdims=True)
        around = of_rows @ squares @ of_columns.T
        cells = cells / np.sqrt(around + (self.level / unit) ** 2)
        return np.sqrt(cells + ROOT_FROM).reshape(len(cells), -1)

    def fits(self, size: int) -> bool:
        """Whether its arrays fit samples of `size` numbers."""
        if prod(self.shape) != size or self.shift.shape != (size,):
            return False
        if not has_image(self.shape) or not self.level > 0:
            return False
        return self.mean.shape == (n_gradient_features(self.shape),)


ANGLES = 2 * np.pi * np.arange(DIRECTIONS) / DIRECTIONS
COMPASS = np.stack([np.sin(ANGLES), np.cos(ANGLES)], axis=1)  # (8, 2), down and right


def image_modes(shape: tuple[int, ...]) -> list[int]:
    """The two longest modes, in their order."""
    longest = np.argsort(shape, kind="stable")[-2:]
    return sorted(int(mode) for mode in longest)


def has_image(shape: tuple[int, ...]) -> bool:
    """Whether two modes are long enough for an image, and the others do not multiply too much."""
    if len(shape) < 2 or min(shape[mode] for mode in image_modes(shape)) < SMALLEST_SIDE:
        return False
    return n_gradient_features(shape) <= MOST_GRADIENT_FEATURES


def n_gradient_features(shape: tuple[int, ...]) -> int:
    """How many features an image of this shape has."""
    n_channels = prod(shape)
    n_fine = 1
    n_coarse = 1
    for mode in image_modes(shape):
        n_channels //= shape[mode]
        n_fine *= n_cells(shape[mode])
        n_coarse *= ceil(n_cells(shape[mode]) / 2)
    return n_channels * DIRECTIONS * (n_fine + n_coarse)


def as_images(X: Array, shape: tuple[int, ...]) -> Array:
    """Samples (n, p) as (n, channels, height, width)."""
    modes = image_modes(shape)
    images = np.moveaxis(X.reshape(-1, *shape), [mode + 1 for mode in modes], [-2, -1])
    return images.reshape(len(X), -1, *(shape[mode] for mode in modes))


def n_cells(size: int) -> int:
    """How many cells there are along a side."""
    return min(max(ceil(size / CELL), FEWEST_CELLS), MOST_CELLS)


class Side(NamedTuple):
    """Matrices that act along one side of an image of this size, in small and large cells."""

    rise: Array  # (size, size), the next number minus the previous one; ends are repeated
    fine: Array  # (a, size), what each number counts in each cell: most in the middle
    coarse: Array  # (b, a), what small cells count in large ones
    around_fine: Array  # (a, a), the mean over a cell and its two neighbors; ends are repeated
    around_coarse: Array  # (b, b)

    @classmethod
    def of(cls, size: int) -> Side:
        """Of a side with so many numbers."""
        places = np.arange(size)
        rise = np.zeros((size, size))
        rise[places, np.minimum(places + 1, size - 1)] += 1.0
        rise[places, np.maximum(places - 1, 0)] -= 1.0
        n_fine = n_cells(size)
        shares = []
        around = []
        for n, n_below in ((n_fine, size), (ceil(n_fine / 2), n_fine)):
            middle = (np.arange(n) + 0.5) * n_below / n - 0.5
            distances = np.abs(np.arange(n_below) - middle[:, None])
            triangles = np.maximum(1 - distances * n / n_below, 0.0)
            shares.append(triangles / triangles.sum(axis=1, keepdims=True))
            places = np.arange(n)
            mean = np.zeros((n, n))
            for step in (-1, 0, 1):
                mean[places, np.clip(places + step, 0, n - 1)] += 1 / 3
            around.append(mean)
        return cls(rise, *shares, *around)
