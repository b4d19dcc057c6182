"""Loading FI-2010: mid-price movements in the limit order book."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from paper.fi2010_days import FI2010Days, Fold, mean_and_scale, windowed
from paper.fi2010_text import (
    HORIZONS,
    N_FEATURES,
    N_FOLDS,
    N_STOCKS,
    Split,
    published_name,
    read_published,
    stock_segments,
)
from paper.locations import data_directory, not_found
from tenfold.datasets.locations import reading

_ORIGIN = (
    "FI-2010 (Ntakaris et al. 2018, Benchmark Dataset for Mid-Price Forecasting of Limit Order "
    "Book Data) is free at Fairdata (etsin.fairdata.fi), in "
    "BenchmarkDatasets/NoAuction/1.NoAuction_Zscore. Put the files, compressed or not, "
    "into a folder fi2010."
)
_DAY_ARRAYS = ("X", "y", "stock_offsets")


def load_fi2010_days(data: str | os.PathLike[str] | None = None) -> FI2010Days:
    """FI-2010 day by day, from a per-day file or from the published text files.

    The per-day file is ``fi2010_days*.npz`` with arrays ``X1`` (n, 144), ``y1`` (n, 5),
    ``stock_offsets1`` (6,), and so on for each day. From the published files, ``Train_..._CF_1``
    gives day 1 and ``Test_..._CF_k`` day k+1, brought back to the unit of day 1 by undoing the
    z-score of days 1 to k; reading stops before the first fold that is not there. Where a stock
    starts is then found from the jumps of the best ask.

    Parameters
    ----------
    data : path or None, default=None
        Directory (searched with its folder ``fi2010``) or .npz file; None takes the environment
        variable ``TENFOLD_DATA``.

    Returns
    -------
    FI2010Days
        As many days as there are.

    Examples
    --------
    >>> from paper.fi2010 import load_fi2010_days
    >>> load_fi2010_days("order_book")                               # doctest: +SKIP
    FI2010Days: days 1 to 7, 254750 blocks
    """
    place = data_directory(data, "FI-2010")
    stored = _days_file(place)
    if stored is not None:
        return _read_days_file(stored)
    days = _days_from_text(place)
    if days is None:
        names = ["fi2010/fi2010_days*.npz", published_name("Train", 1) + "[.gz|.xz|.zip]"]
        raise not_found("FI-2010", names, place, _ORIGIN)
    return days


def fi2010_fold(
    k: int,
    data: str | os.PathLike[str] | None = None,
    *,
    horizon: int = 10,
    window: int = 10,
) -> Fold:
    """Anchored fold k of FI-2010: train on days 1 to k, test on day k+1.

    Taken from the per-day file when there is one, else from the published pair ``Train_..._CF_k``
    and ``Test_..._CF_k``. Features are z-scored by the training days. Windows never cross a stock
    or a day, and come by day and stock whichever files they are made from.

    Parameters
    ----------
    k : int
        The fold, 1 to 9.
    data : path or None, default=None
        Directory or .npz file; None takes the environment variable ``TENFOLD_DATA``.
    horizon : {10, 20, 30, 50, 100}, default=10
        How many events ahead the label looks.
    window : int, default=10
        Consecutive blocks in a sample.

    Returns
    -------
    Fold
        ``train, test``: each has X `SegmentedWindows` of shape (n, 144, window), y the label of the
        last block (1 up, 2 stationary, 3 down), groups the day, ``sample_info["stock"]`` the stock.
        ``X.last_blocks`` (n, 144) is what vector methods see.

    Examples
    --------
    >>> from paper.fi2010 import fi2010_fold
    >>> train, test = fi2010_fold(2, "order_book")                   # doctest: +SKIP
    >>> train                                                        # doctest: +SKIP
    TensorDataset 'fi2010': 77819 samples of 144x10 (float32), 3 classes
    """
    if not 1 <= k <= N_FOLDS:
        raise ValueError(f"fold is {k}; FI-2010 has folds 1 to {N_FOLDS}")
    place = data_directory(data, "FI-2010")
    stored = _days_file(place)
    if stored is not None:
        return _read_days_file(stored, last_day=k + 1).fold(k, horizon=horizon, window=window)
    halves = []
    parts: list[tuple[Split, range]] = [("Train", range(1, k + 1)), ("Test", range(k + 1, k + 2))]
    for split, days in parts:
        file = read_published(place, split, k)
        if file is None:
            names = ["fi2010/fi2010_days*.npz", published_name(split, k) + "[.gz|.xz|.zip]"]
            raise not_found(f"Fold {k} of FI-2010", names, place, _ORIGIN)
        segments = stock_segments(file, days)
        halves.append(windowed(file.features, file.labels, segments, horizon, window))
    return Fold(*halves)


def _days_file(place: Path) -> Path | None:
    if place.is_file():
        return place
    for folder in (place / "fi2010", place):
        found = sorted(folder.glob("fi2010_days*.npz"))
        if found:
            return found[-1]
    return None


def _read_days_file(path: Path, last_day: int = N_FOLDS + 1) -> FI2010Days:
    """Days 1, 2, ... of a per-day file, at most up to `last_day`."""
    form = "file of FI-2010 days"
    # Opened here, because np.load leaves a damaged file open.
    with (
        reading(path, form),
        path.open("rb") as file,
        np.load(file, allow_pickle=False) as arrays,
    ):
        days = [day for day in range(1, last_day + 1) if f"X{day}" in arrays.files]
        if days != list(range(1, len(days) + 1)) or not days:
            raise ValueError(f"it has days {days}; expected arrays X1, X2, ... without a gap")
        parts = [_check_day(day, *(arrays[f"{n}{day}"] for n in _DAY_ARRAYS)) for day in days]
    features, labels, offsets = zip(*parts, strict=True)
    return FI2010Days(features, labels, offsets)


def _check_day(
    day: int, features: np.ndarray, labels: np.ndarray, offsets: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    n = len(labels)
    if features.shape != (n, N_FEATURES) or labels.shape != (n, len(HORIZONS)):
        raise ValueError(
            f"X{day} has shape {features.shape} and y{day} {labels.shape}; expected (n, "
            f"{N_FEATURES}) and (n, {len(HORIZONS)})"
        )
    steps = np.diff(offsets)
    if offsets.shape != (N_STOCKS + 1,) or offsets[0] != 0 or offsets[-1] != n or (steps < 0).any():
        raise ValueError(
            f"stock_offsets{day} is {offsets.tolist()}; expected {N_STOCKS + 1} rising numbers "
            f"from 0 to {n}"
        )
    return features, labels, offsets


def _days_from_text(place: Path) -> FI2010Days | None:
    features: list[np.ndarray] = []
    labels: list[np.ndarray] = []
    offsets: list[np.ndarray] = []
    for day in range(1, N_FOLDS + 2):
        file = read_published(place, *(("Train", 1) if day == 1 else ("Test", day - 1)))
        if file is None:
            break
        segments = stock_segments(file, range(day, day + 1))
        rows = file.features
        if day > 1:  # undo the z-score of the days before
            mean, scale = mean_and_scale(tuple(features))
            rows = (rows * scale + mean).astype(np.float32)
        features.append(rows)
        labels.append(file.labels)
        offsets.append(np.array([0, *(segment.stop for segment in segments)]))
    return FI2010Days(tuple(features), tuple(labels), tuple(offsets)) if features else None
