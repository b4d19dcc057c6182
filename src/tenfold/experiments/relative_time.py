"""The column t of Tables 1 and 2: training time of one model, one BLAS thread."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from tenfold.experiments.faces import FaceSettings, face_images
from tenfold.experiments.literal import literal_csda, literal_mcsda
from tenfold.experiments.runner import Cell
from tenfold.experiments.splits import stratified_split
from tenfold.methods import CMDA, CSDA, MCSDA

SHARE, RANK = 0.5, 7  # the paper's best rank on both sets


def time_cells(settings: FaceSettings, data: str) -> list[Cell]:
    """One cell per row of the paper that measures seconds, run with nothing else."""
    return [
        Cell(f"time of {name}", time_cell, (settings, data, name), weight=3.0, alone=True)
        for images in ("", "-H")
        for name in (
            f"MCSDA{images}",
            f"MDA{images}",
            f"CSDA{images}",
            f"MCSDA{images} literal",
            f"CSDA{images} literal",
        )
        if not (settings.quick and name == "CSDA-H literal")  # ten seconds
    ]


def time_cell(settings: FaceSettings, data: str, name: str) -> dict[str, Any]:
    """Seconds to train the model of one person at half of the images."""
    method, literal = name.split(" ")[0], name.endswith("literal")
    X, y = face_images(settings.experiment, data, "hog" if method.endswith("-H") else "pixels")
    rng = np.random.default_rng(settings.seed)
    train, _ = stratified_split(y, SHARE, rng)
    work = _training(settings, method.removesuffix("-H"), literal, X[train], y[train])
    repeats = 1 if settings.quick or (literal and method == "CSDA-H") else 3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # 20 rounds are the protocol
        seconds = [_seconds(work) for _ in range(repeats)]
    return {"seconds": min(seconds), "n": len(train)}


def _training(
    settings: FaceSettings, method: str, literal: bool, X: np.ndarray, y: np.ndarray
) -> Callable[[], Any]:
    """What is timed, without the preparation of the images."""
    person = np.unique(y)[0]
    is_person = y == person
    ranks = (RANK, RANK, *X.shape[3:])
    flat, ridge = X.reshape(len(X), -1), ("absolute", settings.ridge)
    dimension = min(RANK * RANK, len(X) - 1)
    options = {"ridge": ridge, "max_iter": settings.max_iter, "tol": settings.tol}
    if literal and method == "CSDA":
        return lambda: literal_csda(flat, is_person, settings.ridge, dimension)
    if literal:
        return lambda: literal_mcsda(X, is_person, settings.ridge, ranks, settings.max_iter)
    if method == "CSDA":
        return lambda: CSDA(dimension, ridge=ridge, positive=person).fit(X, y)
    if method == "MDA":
        return lambda: CMDA(ranks, **options).fit(X, is_person)
    return lambda: MCSDA(ranks, positive=person, **options).fit(X, y)


def _seconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def gathered_times(results: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Seconds of every row from the finished time cells."""
    measured = {
        name.removeprefix("time of "): result
        for name, result in results.items()
        if name.startswith("time of ")
    }
    if not measured:
        return {}
    n = next(iter(measured.values()))["n"]
    return {"n": n, "seconds": {name: result["seconds"] for name, result in measured.items()}}
