"""The data that everybody is measured on, a pure function of their size."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from paper_sets import load_fi2010_days, load_orl

Array = npt.NDArray[Any]


def planted(
    n: int, shape: tuple[int, ...], ranks: tuple[int, ...], n_classes: int = 10, dtype: Any = float
) -> tuple[Array, Array]:
    """Samples of a low multilinear rank in noise, with classes that differ within that rank.

    The planted ranks keep about 95 % of the scatter of every mode, so that a method that takes a
    share of the scatter instead of ranks can be told to find the same ranks.
    """
    rng = np.random.default_rng(7)
    sizes = zip(shape, ranks, strict=True)
    bases = [np.linalg.qr(rng.normal(size=(size, rank)))[0] for size, rank in sizes]
    y = np.arange(n) % n_classes
    centres = rng.normal(size=(n_classes, *ranks))
    X = np.empty((n, *shape), dtype=dtype)
    step = max(1, 2**24 // int(np.prod(shape)))
    noise = np.sqrt(0.1 * np.prod(ranks) / np.prod(shape))
    for start in range(0, n, step):
        rows = slice(start, min(n, start + step))
        signal = centres[y[rows]] + rng.normal(size=(rows.stop - rows.start, *ranks))
        for k, basis in enumerate(bases):
            signal = np.moveaxis(np.tensordot(signal, basis, axes=(k + 1, 1)), -1, k + 1)
        X[rows] = signal + noise * rng.normal(size=signal.shape)
    return X, y


def folder() -> Path | None:
    """Where real data are: in $TENFOLD_DATA, or beside the repository."""
    beside = Path(__file__).parents[2] / "shared" / "data"
    return None if "TENFOLD_DATA" in os.environ or not beside.exists() else beside


@cache
def faces(shape: tuple[int, int], per_person: int = 5) -> tuple[Array, Array, str]:
    """ORL: five images of each of 40 persons; planted faces of the same shape where it is not."""
    try:
        orl = load_orl(folder(), shape=shape)
    except FileNotFoundError:
        X, y = planted(40 * per_person, shape, (12, 12), n_classes=40)
        return X, y, "synthetic, without ORL"
    X, y = np.asarray(orl.X, dtype=float), np.unique(orl.y, return_inverse=True)[1]
    rng = np.random.default_rng(0)
    chosen = [rng.permutation(np.flatnonzero(y == p))[:per_person] for p in np.unique(y)]
    rows = np.concatenate(chosen)
    return X[rows], y[rows], "ORL"


@cache
def order_book() -> tuple[Array, Array, str]:
    """FI-2010: the training windows of fold 1, 144 x 10; planted ones where it is not."""
    try:
        train = load_fi2010_days(folder()).fold(1).train
    except FileNotFoundError:
        X, y = planted(39_467, (144, 10), (60, 8), n_classes=3)
        return X, y, "synthetic, without FI-2010"
    return np.asarray(train.X, dtype=float), np.asarray(train.y), "FI-2010"
