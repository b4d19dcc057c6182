"""FI-2010 day by day, and the anchored folds made of its days."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from paper.fi2010_text import HORIZONS, Segment
from tenfold.datasets.tensor_dataset import TensorDataset
from tenfold.datasets.windows import SegmentedWindows

FI2010_LABELS = {1: "up", 2: "stationary", 3: "down"}
"""What the labels of FI-2010 mean."""


class Fold(NamedTuple):
    """Training and test set of one fold.

    Parameters
    ----------
    train : TensorDataset
        Days 1 to k.
    test : TensorDataset
        Day k + 1.
    """

    train: TensorDataset
    test: TensorDataset


@dataclass(frozen=True, eq=False, repr=False)
class FI2010Days:
    """FI-2010 day by day, all days in one common unit.

    Parameters
    ----------
    features : tuple of ndarray of shape (n_d, 144)
        One array per day, one row per block of ten events.
    labels : tuple of ndarray of shape (n_d, 5)
        1 up, 2 stationary, 3 down; one column per horizon 10, 20, 30, 50, 100.
    stock_offsets : tuple of ndarray of shape (6,)
        Where each of the five stocks starts on the day, and the end.
    """

    features: tuple[np.ndarray, ...]
    labels: tuple[np.ndarray, ...]
    stock_offsets: tuple[np.ndarray, ...]

    def __len__(self) -> int:
        return len(self.features)

    def __repr__(self) -> str:
        return f"FI2010Days: days 1 to {len(self)}, {sum(map(len, self.features))} blocks"

    def fold(self, k: int, *, horizon: int = 10, window: int = 10) -> Fold:
        """Train on days 1 to k, test on day k+1, both z-scored by the training days (ddof 1).

        Parameters
        ----------
        k : int
            The fold, from 1 to the number of days less one.
        horizon : {10, 20, 30, 50, 100}, default=10
            How many events ahead the label looks.
        window : int, default=10
            Consecutive blocks in a sample.

        Returns
        -------
        Fold
            As `fi2010_fold` gives.
        """
        if not 1 <= k < len(self):
            raise ValueError(
                f"fold {k} needs days 1 to {k + 1}, but days 1 to {len(self)} are here; choose a "
                f"fold from 1 to {len(self) - 1}"
            )
        mean, scale = mean_and_scale(self.features[:k])
        halves = []
        for days in (range(1, k + 1), range(k + 1, k + 2)):
            rows = np.concatenate([self.features[day - 1] for day in days])
            rows -= mean.astype(rows.dtype)
            rows /= scale.astype(rows.dtype)
            labels = np.concatenate([self.labels[day - 1] for day in days])
            halves.append(windowed(rows, labels, self._segments(days), horizon, window))
        return Fold(*halves)

    def _segments(self, days: range) -> list[Segment]:
        """Segments of several days put one after another."""
        segments, start = [], 0
        for day in days:
            offsets = start + self.stock_offsets[day - 1]
            pairs = enumerate(pairwise(offsets.tolist()), start=1)
            segments += [Segment(a, b, day, stock) for stock, (a, b) in pairs]
            start = offsets[-1]
        return segments


def windowed(
    rows: np.ndarray, labels: np.ndarray, segments: list[Segment], horizon: int, window: int
) -> TensorDataset:
    """Windows over rows (n, 144), with the label, day and stock of each; by day, then stock."""
    if horizon not in HORIZONS:
        raise ValueError(f"horizon is {horizon}; FI-2010 has labels for {HORIZONS}")
    segments = sorted(segments, key=lambda segment: (segment.day, segment.stock))
    windows = SegmentedWindows(rows, [(s.start, s.stop) for s in segments], window)
    counts = [max(0, s.stop - s.start - window + 1) for s in segments]
    days = sorted({segment.day for segment in segments})
    return TensorDataset(
        windows,
        labels[windows.last_rows, HORIZONS.index(horizon)].astype(np.int64),
        groups=np.repeat([segment.day for segment in segments], counts),
        name="fi2010",
        description=f"FI-2010 without auctions, days {days[0]} to {days[-1]}, z-scored by the "
        f"training days; labels {horizon} events ahead: 1 up, 2 stationary, 3 down.",
        mode_names=("feature", "block"),
        sample_info={"stock": np.repeat([segment.stock for segment in segments], counts)},
    )


def mean_and_scale(days: tuple[np.ndarray, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation (ddof 1) over several days; 1 for constant features."""
    n = sum(map(len, days))
    mean = sum(day.sum(axis=0, dtype=np.float64) for day in days) / n
    squares = sum(((day - mean) ** 2).sum(axis=0) for day in days)
    scale = np.sqrt(squares / (n - 1))
    return mean, np.where(scale > 0, scale, 1.0)
