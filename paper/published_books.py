"""FI-2010 beside the tables that others published: windows scaled along time, then closed forms.

Fold k trains on days 1 to k and tests on day k+1. So the test day of fold k-1 is the last training
day of fold k, and what was best there is what fold k takes: nothing is chosen on a test day. For
fold 1 the last fifth of day 1 is held out, as fold 0.
"""

from __future__ import annotations

import multiprocessing
import re
import resource
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from itertools import pairwise
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline

from paper.experiment import Cell
from paper.fi2010 import load_fi2010_days
from paper.fi2010_days import FI2010Days
from paper.fi2010_text import HORIZONS
from paper.linear_rows import linear_discriminants
from paper.neural_row import MISSING, OneLayerTABL
from paper.order_book_data import LABELS, flattened, head_and_tail, number_of_folds
from paper.order_book_settings import metrics_of, torch_version
from tenfold import (
    CSDA,
    MCSDA,
    ClassSpecificClassifier,
    ModeScaler,
    ProbabilisticLDA,
    gather_moments,
)
from tenfold.datasets import TensorDataset
from tenfold.statistics.accumulate import row_blocks

EVENTS = 10  # in a block
NARROW = 40  # prices and volumes of ten levels; the rest is derived from them
Metrics = dict[str, list[float]]  # of each candidate: accuracy, precision, recall, F1


@dataclass(frozen=True)
class PublishedSettings:
    """Everything that decides the figures, beside the data themselves."""

    seed: int = 0
    quick: bool = False
    folds: tuple[int, ...] = (1, 2, 3, 4, 5, 6)
    features: tuple[int, ...] = (40, 144)
    keeps: tuple[str | None, ...] = (None, "both")
    horizons: tuple[int, ...] = (10, 50, 100)
    shrinkages: tuple[float, ...] = (1e-5, 1e-3, 1e-1)
    csda_ranks: tuple[int, ...] = (2, 5, 10)
    wide_keeps: tuple[str | None, ...] = (None,)  # of more than 40 features
    wide_csda_ranks: tuple[int, ...] = (5,)
    wide_horizons: tuple[int, ...] = (10, 50, 100)
    mcsda_ranks: tuple[tuple[int, int], ...] = ((2, 1), (4, 2), (7, 4))
    network_features: tuple[int, ...] = (40,)
    network_horizons: tuple[int, ...] = (10,)
    epochs: int = 12
    torch: str | None = None

    def horizons_of(self, n: int) -> tuple[int, ...]:
        """The horizons of windows of n features."""
        return self.horizons if n <= NARROW else self.wide_horizons

    def keeps_of(self, n: int) -> tuple[str | None, ...]:
        """What `ModeScaler` may keep of windows of n features."""
        return self.keeps if n <= NARROW else self.wide_keeps

    def as_dict(self) -> dict[str, Any]:
        """The settings as JSON types."""
        return asdict(self)


def published_settings(data: str, seed: int, quick: bool) -> PublishedSettings:
    """The whole of it, or a small version that has every row."""
    torch = torch_version()
    if not quick:
        folds = tuple(range(1, number_of_folds(data) + 1))
        return PublishedSettings(seed, folds=folds, torch=torch)
    return PublishedSettings(
        seed,
        quick=True,
        folds=(1,),
        features=(40,),
        horizons=(10,),
        wide_horizons=(10,),
        csda_ranks=(5,),
        mcsda_ranks=((4, 2),),
        epochs=2,
        torch=torch,
    )


# -- cells ---------------------------------------------------------------------------------------


def published_cells(settings: PublishedSettings, data: str) -> list[Cell]:
    """Closed forms and networks of every fold, the clocks, and what the labels look at."""
    cells = [Cell("labels", label_cell, (data, settings.horizons), 2)]
    folds = (0, *settings.folds)
    cells += [
        Cell(network_name(scaled, n, horizon, fold), network_cell,
             (settings, data, scaled, n, horizon, fold), 4 * (fold + 1))
        for n in settings.network_features
        for horizon in settings.network_horizons
        for scaled in (False, True)
        for fold in folds
    ]  # fmt: skip
    cells += [
        Cell(
            later_name(horizon, fold), later_cell, (data, settings.features[0], horizon, fold), fold
        )
        for horizon in settings.horizons
        for fold in settings.folds
    ]
    for n in settings.features:
        cells += [
            Cell(closed_name(n, keep, horizon, fold), closed_cell,
                 (settings, data, n, keep, horizon, fold), (fold + 1) * n / 40)
            for horizon in settings.horizons_of(n)
            for keep in settings.keeps_of(n)
            for fold in folds
        ]  # fmt: skip
    last = max(settings.folds)
    cells += [
        Cell(f"clock | {n} features", closed_clock, (data, n, last), 3 * n / 40, alone=True)
        for n in settings.features
    ]
    clock = Cell("clock | network", network_clock, (settings, data, last), 3, alone=True)
    return [*cells, clock]


def closed_name(n: int, keep: str | None, horizon: int, fold: int) -> str:
    """The name of a cell of closed forms."""
    return f"{n} features | keep {keep} | horizon {horizon} | fold {fold}"


def network_name(scaled: bool, n: int, horizon: int, fold: int) -> str:
    """The name of a cell of a network."""
    return f"A(TABL){' scaled' * scaled} | {n} features | horizon {horizon} | fold {fold}"


def later_name(horizon: int, fold: int) -> str:
    """The name of a cell with labels of a horizon later."""
    return f"later | horizon {horizon} | fold {fold}"


# -- the data ------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def _days(data: str) -> FI2010Days:
    return load_fi2010_days(data)


def parts(data: str, n: int, horizon: int, fold: int) -> tuple[TensorDataset, TensorDataset]:
    """Training and test windows of the first n features; fold 0 is day 1, cut in two."""
    days = _days(data)
    days = replace(days, features=tuple(day[:, :n] for day in days.features))
    train, test = days.fold(max(fold, 1), horizon=horizon)
    if fold > 0:
        return train, test
    head, tail = head_and_tail(train)
    return train.select(head), train.select(tail)


def label_cell(data: str, horizons: tuple[int, ...]) -> dict[str, Any]:
    """How well three movements of the mid-price tell labels up from down: areas under the ROC.

    With h blocks of ten events in a horizon, and the block of the label as block 0: the mean of
    blocks -h+1 to 0 less block -h, which the window holds; the same one block later; and the mean
    of blocks 1 to h less block 0, which is what is to be predicted.
    """
    days, found = _days(data), {}
    for horizon in horizons:
        h, areas = horizon // EVENTS, []
        for X, y, offsets in zip(days.features, days.labels, days.stock_offsets, strict=True):
            for start, stop in pairwise(offsets):
                price = X[start:stop, [0, 2]].mean(axis=1, dtype=float)  # best ask and bid
                label = y[start:stop, HORIZONS.index(horizon)]
                sums = np.concatenate([[0.0], np.cumsum(price)])
                now = np.arange(h, len(price) - h)
                now = now[label[now] != 2]
                if len(np.unique(label[now])) < 2:
                    continue
                rises = [
                    (sums[now + first + h] - sums[now + first]) / h - price[now + first - 1]
                    for first in (1 - h, 2 - h, 1)
                ]
                areas.append([float(roc_auc_score(label[now] == 1, rise)) for rise in rises])
        found[str(horizon)] = np.mean(areas, axis=0).tolist() if areas else [0.5] * 3
    return found


def later_cell(data: str, n: int, horizon: int, fold: int) -> Metrics:
    """Gaussian classes on labels of h blocks later, whose movement a window has not seen."""
    train, test = (_later(one, horizon // EVENTS) for one in parts(data, n, horizon, fold))
    model = make_pipeline(ModeScaler(), ProbabilisticLDA(priors="equal")).fit(train.X, train.y)
    return {"PLDA": metrics_of(test.y, model.predict(test.X))}


def _later(windows: TensorDataset, h: int) -> TensorDataset:
    """The same windows with the label of h blocks later, where the stock has one on this day."""
    assert windows.y is not None
    assert windows.groups is not None
    place = np.stack([windows.groups, windows.sample_info["stock"]])
    known = np.flatnonzero((place[:, h:] == place[:, :-h]).all(axis=0))
    return replace(windows.select(known), y=windows.y[known + h])


# -- closed forms --------------------------------------------------------------------------------


def closed_cell(
    settings: PublishedSettings, data: str, n: int, keep: str | None, horizon: int, fold: int
) -> Metrics:
    """Test metrics of everything that follows from one pass over the scaled windows."""
    train, test = parts(data, n, horizon, fold)
    scaler = ModeScaler(keep=keep).fit(train.X)
    scaled = scaler.transform(train.X)
    guesses: dict[str, Callable[[np.ndarray], np.ndarray]] = {}
    moments = gather_moments(scaled, train.y)
    if fold > 0:  # fold 0 is where settings are chosen; ProbabilisticLDA has none
        guesses["PLDA"] = _predictor(ProbabilisticLDA(priors="equal").fit(scaled, train.y))
    share = np.log(len(LABELS) * moments.counts / moments.counts.sum())
    found = linear_discriminants(flattened(moments), list(settings.shrinkages), True)
    for shrinkage, lda in zip(settings.shrinkages, found, strict=True):
        own = replace(lda, intercepts=lda.intercepts + share)
        guesses[f"LDA, equal priors, shrinkage {shrinkage:g}"] = _of_scores(lda.scores)
        guesses[f"LDA, own priors, shrinkage {shrinkage:g}"] = _of_scores(own.scores)
    csda_ranks = settings.csda_ranks if n <= NARROW else settings.wide_csda_ranks
    projectors = [CSDA(ranks=rank, decision="distance") for rank in csda_ranks]
    projectors += [MCSDA(ranks=ranks, decision="distance") for ranks in settings.mcsda_ranks]
    for projector in projectors:
        bank = ClassSpecificClassifier(projector).fit_moments(moments)
        guesses[f"{type(projector).__name__}, ranks {projector.ranks}"] = _predictor(bank)
    return _judged(guesses, scaler, test)


def _judged(guesses: dict[str, Any], scaler: ModeScaler, test: TensorDataset) -> Metrics:
    """Metrics of all that guess labels of scaled windows, which are read once, in float64."""
    scaled = scaler.transform(test.X)
    found: dict[str, list[np.ndarray]] = {name: [] for name in guesses}
    for rows in row_blocks(len(test), 8 * prod(scaled.shape[1:])):
        block = np.asarray(scaled[rows], dtype=float)
        for name, guess in guesses.items():
            found[name].append(guess(block))
    return {name: metrics_of(test.y, np.concatenate(labels)) for name, labels in found.items()}


def _predictor(model: Any) -> Callable[[np.ndarray], np.ndarray]:
    return lambda block: np.asarray(model.predict(block))


def _of_scores(scores: Callable[[np.ndarray], np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
    return lambda block: np.asarray(LABELS[scores(block.reshape(len(block), -1)).argmax(axis=1)])


# -- networks ------------------------------------------------------------------------------------


def network_cell(
    settings: PublishedSettings, data: str, scaled: bool, n: int, horizon: int, fold: int
) -> dict[str, Any]:
    """Test metrics of a network after every epoch, on windows as they are or behind ModeScaler."""
    if settings.torch is None:
        return {"missing": MISSING}
    train, test = parts(data, n, horizon, fold)
    windows, judged = train.X, test.X
    if scaled:
        scaler = ModeScaler().fit(windows)
        windows, judged = (np.asarray(scaler.transform(one)) for one in (windows, judged))
    network = OneLayerTABL(windows, train.y, 1000 * settings.seed + fold)
    found = {}
    for epoch in range(1, settings.epochs + 1):
        network.epoch()
        found[f"epochs {epoch}"] = metrics_of(test.y, network.predict(judged))
    return found


# -- clocks: seconds of one core, so that other work on the machine does not count ----------------


def closed_clock(data: str, n: int, fold: int) -> dict[str, float]:
    """Seconds and peak memory of one fit of `ProbabilisticLDA`, in a process of its own."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        return dict(pool.apply(_fit_and_look, (data, n, fold)))


def _fit_and_look(data: str, n: int, fold: int) -> dict[str, float]:
    train, test = parts(data, n, 10, fold)
    start = time.process_time()
    model = make_pipeline(ModeScaler(), ProbabilisticLDA(priors="equal")).fit(train.X, train.y)
    fitted = time.process_time()
    model.predict(test.X)
    return {
        "windows": len(train),
        "fit": fitted - start,
        "predict": time.process_time() - fitted,
        "gibibytes": _peak_kibibytes() / 2**20,
    }


def _peak_kibibytes() -> float:
    """Of this process alone: what `getrusage` tells begins with that of the parent."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = re.search(r"VmHWM:\s*(\d+) kB", status.read_text(encoding="utf-8"))
    return float(found[1]) if found else float("nan")


def network_clock(settings: PublishedSettings, data: str, fold: int) -> dict[str, float | str]:
    """Seconds of one epoch of training."""
    if settings.torch is None:
        return {"missing": MISSING}
    train, test = parts(data, settings.network_features[0], 10, fold)
    network = OneLayerTABL(train.X, train.y)
    start = time.process_time()
    network.epoch()
    fitted = time.process_time()
    network.predict(test.X)
    return {
        "windows": len(train),
        "fit": fitted - start,
        "predict": time.process_time() - fitted,
    }
