"""Multivariate series of the UEA archive: ours beside MiniRocket and twenty published methods.

Six sets with the published split and 29 further resamples. The published figures are in
`published.csv` beside the data. MiniRocket and the covariances of pyRiemann run here where aeon and
pyriemann are installed; `make recordings` makes such an environment.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, RidgeClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from paper.experiment import Cell, Experiment, Record, Results
from paper.recordings import of_vectors
from paper.small_tensors import is_there
from paper.tables import Table
from tenfold import ClassSpecificClassifier, KernelCSDA, ProbabilisticLDA

SETS = (
    "FingerMovements",
    "NATOPS",
    "ArticularyWordRecognition",
    "RacketSports",
    "ERing",
    "Epilepsy",
)


def minirocket() -> Any:
    """MiniRocket features of aeon, standardised, with the ridge classifier of its authors."""
    from aeon.transformations.collection.convolution_based import MiniRocket

    steps = MiniRocket(random_state=0), StandardScaler(with_mean=False)
    return make_pipeline(*steps, RidgeClassifierCV(alphas=np.logspace(-3, 3, 10)))


def covariances(last: Any) -> Any:
    """Covariances of pyRiemann in their tangent space, then a classifier."""
    from pyriemann.estimation import Covariances
    from pyriemann.tangentspace import TangentSpace

    return make_pipeline(Covariances("lwf"), TangentSpace(), last)


ROWS: dict[str, tuple[str | None, Callable[[], Any]]] = {
    "ProbabilisticLDA()": (None, ProbabilisticLDA),
    "ClassSpecificClassifier(KernelCSDA())": (None, lambda: ClassSpecificClassifier(KernelCSDA())),
    "ridge regression": (
        None,
        lambda: of_vectors(StandardScaler(), RidgeClassifierCV(alphas=np.logspace(-3, 3, 10))),
    ),
    "LDA, shrinkage": (
        None,
        lambda: of_vectors(LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")),
    ),
    "covariances, tangent space, ProbabilisticLDA()": (
        "pyriemann",
        lambda: covariances(ProbabilisticLDA()),
    ),
    "covariances, tangent space, logistic regression": (
        "pyriemann",
        lambda: covariances(LogisticRegression(max_iter=1000)),
    ),
    "MiniRocket": ("aeon", minirocket),
}


def series(data: str, name: str) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """Samples (n, channels, time), labels, and the training rows of the 30 resamples."""
    folder, key = Path(data) / "uea", name.lower()
    path = folder / f"{key}.npz"
    if not path.exists():
        raise FileNotFoundError(f"{path} not found; expected X, y and test there")
    with np.load(path) as found:
        X, y, test = found["X"].astype(np.float64), found["y"], found["test"].astype(bool)
        X = X * float(found["scale"]) if "scale" in found.files else X
    with np.load(folder / "resamples.npz") as found:
        resamples = found[f"{key}_train"]
    return X, y, [np.flatnonzero(~test), *resamples]


def series_cell(data: str, name: str, row: str, first: int, last: int) -> dict[str, Any]:
    """Percent of right answers on resamples first to last, 0 being the published split."""
    X, y, trains = series(data, name)
    rates = []
    for train in trains[first:last]:
        test = np.setdiff1d(np.arange(len(y)), train)
        right = ROWS[row][1]().fit(X[train], y[train]).predict(X[test]) == y[test]
        rates.append(round(100 * float(np.mean(right)), 4))
    return {"rates": rates}


def series_experiment(data: str, *, seed: int, quick: bool) -> Experiment:
    """Every row on every set, as cells to compute and a way to put them together."""
    rows = [row for row, (package, _) in ROWS.items() if package is None or is_there(package)]
    sets, n = (SETS[:2], 1) if quick else (SETS, 30)
    cells = [
        Cell(f"{name} | {row}", series_cell, (data, name, row, 0, n))
        for name in sets
        for row in rows
    ]
    return Experiment(
        "series",
        "Multivariate series of the UEA archive",
        {"seed": seed, "quick": quick, "sets": list(sets), "rows": rows, "resamples": n},
        cells,
        lambda results: series_summary(results, list(sets), rows, published_rates(data)),
    )


def published_rates(data: str) -> dict[str, dict[str, dict[str, float]]]:
    """Percent of right answers by kind ("default split", "mean of 30"), method and set."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    with (Path(data) / "uea" / "published.csv").open(encoding="utf-8") as file:
        for line in csv.DictReader(file):
            name, what = line.pop("set"), line.pop("what")
            for method, rate in line.items():
                if rate:
                    found.setdefault(what, {}).setdefault(method, {})[name] = float(rate)
    return found


def series_summary(
    results: Results, sets: list[str], rows: list[str], theirs: Any
) -> tuple[list[Record], list[Table]]:
    """Records of every row and set, and one table per kind of figure: ours among the published."""
    records = [
        {
            "set": name,
            "row": row,
            "rates": results[f"{name} | {row}"]["rates"],
            "mean": round(float(np.mean(results[f"{name} | {row}"]["rates"])), 4),
        }
        for name in sets
        for row in rows
    ]
    by = {(record["set"], record["row"]): record for record in records}
    tables = []
    for what, printed in theirs.items():
        first = what == "default split"
        body: list[list[Any]] = [
            [f"{m} (published)", *map(r.get, sets)] for m, r in printed.items()
        ]
        for row in rows:
            shown = [by[name, row]["rates"][0] if first else by[name, row]["mean"] for name in sets]
            body.append([row, *shown])
        body = [[*line, _mean(line[1:])] for line in body]
        body.sort(key=lambda line: -(line[-1] or 0.0))
        tables.append(Table(f"Accuracy in percent, {what}", ["", *sets, "mean"], body))
    return records, tables


def _mean(values: list[Any]) -> float | None:
    return None if None in values else float(np.mean(values))
