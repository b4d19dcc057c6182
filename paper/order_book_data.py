"""FI-2010 for Table 3: folds, hold-outs and moments, each day read once.

Moments of days are added up, and those of z-scored windows follow from those of the windows as they
are, so every fold and every hold-out comes from one pass over each day.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache, reduce
from operator import add

import numpy as np

from paper.fi2010 import load_fi2010_days
from paper.fi2010_days import FI2010Days, mean_and_scale, windowed
from tenfold.datasets import SegmentedWindows, TensorDataset
from tenfold.statistics.moments import ClassMoments

LABELS = np.array([1, 2, 3])
WINDOW, HORIZON = 10, 10
HEAD = 0.8  # of a single training day; the rest of it is held out


@dataclass(frozen=True)
class Part:
    """A training set and a set to be judged on, z-scored by the training days of the fold.

    Parameters
    ----------
    train, test : TensorDataset
        Windows of 144x10, as views.
    moments : ClassMoments
        Those of `train`.
    """

    train: TensorDataset
    test: TensorDataset
    moments: ClassMoments


def outer_part(data: str, fold: int) -> Part:
    """Days 1 to k for training, day k+1 for the test."""
    train, test = _days(data).fold(fold, horizon=HORIZON, window=WINDOW)
    return Part(train, test, _training_moments(data, fold, range(1, fold + 1)))


def inner_part(data: str, fold: int, stride: int) -> Part:
    """The same training days cut in two: the last day is held out, or its last fifth.

    Of what is held out every `stride`-th window counts: neighbours share nine of ten blocks.
    """
    train, _ = _days(data).fold(fold, horizon=HORIZON, window=WINDOW)
    assert train.groups is not None
    if fold == 1:
        head, tail = head_and_tail(train)
        moments = _standardised(_head_moments(data), *_unit(data, fold))
        return Part(train.select(head), train.select(tail[::stride]), moments)
    held_out = np.flatnonzero(train.groups == fold)[::stride]
    moments = _training_moments(data, fold, range(1, fold))
    return Part(train.select(train.groups < fold), train.select(held_out), moments)


def head_and_tail(day: TensorDataset) -> tuple[np.ndarray, np.ndarray]:
    """Positions of the first part of every stock's day, and of the windows that start after it."""
    head, tail = [], []
    for stock in np.unique(day.sample_info["stock"]):
        windows = np.flatnonzero(day.sample_info["stock"] == stock)
        cut = round(HEAD * len(windows))
        head.append(windows[:cut])
        tail.append(windows[cut + WINDOW - 1 :])
    return np.concatenate(head), np.concatenate(tail)


def last_block(moments: ClassMoments) -> ClassMoments:
    """Moments of the last block's features from those of whole windows."""
    n_features, window = moments.shape
    last = np.arange(n_features) * window + window - 1
    scatters = moments.scatters[:, last[:, None], last]
    return ClassMoments(moments.classes, moments.counts, moments.means[..., -1], scatters)


def flattened(moments: ClassMoments) -> ClassMoments:
    """The same moments for windows read as vectors of 1440 numbers."""
    means = moments.means.reshape(len(moments.means), -1)
    return ClassMoments(moments.classes, moments.counts, means, moments.scatters)


def number_of_folds(data: str) -> int:
    """How many anchored folds the days at hand allow."""
    return len(_days(data)) - 1


def order_book_fingerprint(data: str) -> str:
    """Short hash of all days, so that a run is not continued on other data."""
    digest = hashlib.sha256()
    days = _days(data)
    for arrays in zip(days.features, days.labels, days.stock_offsets, strict=True):
        for array in arrays:
            digest.update(np.ascontiguousarray(array))
    return digest.hexdigest()[:16]


@lru_cache(maxsize=1)
def _days(data: str) -> FI2010Days:
    return load_fi2010_days(data)


def _unit(data: str, fold: int) -> tuple[np.ndarray, np.ndarray]:
    return mean_and_scale(_days(data).features[:fold])


def _training_moments(data: str, fold: int, days: range) -> ClassMoments:
    moments = reduce(add, (_day_moments(data, day) for day in days))
    return _standardised(moments, *_unit(data, fold))


@lru_cache(maxsize=16)
def _day_moments(data: str, day: int) -> ClassMoments:
    return _moments_of(_day_windows(data, day))


@lru_cache(maxsize=1)
def _head_moments(data: str) -> ClassMoments:
    day = _day_windows(data, 1)
    return _moments_of(day.select(head_and_tail(day)[0]))


def _day_windows(data: str, day: int) -> TensorDataset:
    days = _days(data)
    segments = days._segments(range(day, day + 1))
    # Features are nearly collinear: products in float32 would leave scatters that are not positive.
    rows = days.features[day - 1].astype(np.float64)
    return windowed(rows, days.labels[day - 1], segments, HORIZON, WINDOW)


def _moments_of(windows: TensorDataset) -> ClassMoments:
    return ClassMoments.from_blocks(_blocks(windows), classes=LABELS)


def _blocks(windows: TensorDataset) -> Iterator[tuple[np.ndarray, np.ndarray, None]]:
    """(windows, labels, weights) of each unbroken run, nothing copied."""
    assert isinstance(windows.X, SegmentedWindows)
    assert windows.y is not None
    start = 0
    for view in windows.X.views():
        yield view, windows.y[start : start + len(view)], None
        start += len(view)


def _standardised(moments: ClassMoments, mean: np.ndarray, scale: np.ndarray) -> ClassMoments:
    """Moments of ``(x - mean) / scale``, feature by feature."""
    flat = np.repeat(scale, moments.shape[1])
    means = (moments.means - mean[:, None]) / scale[:, None]
    scatters = moments.scatters / flat[:, None] / flat
    return ClassMoments(moments.classes, moments.counts, means, scatters)
