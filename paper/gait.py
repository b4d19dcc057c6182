"""Gait recognition, USF 1.7: who walks there? Ours beside MPCA + LDA by the authors of MPCA.

A sample is half a step, 32 x 22 pixels x 10 instants. The gallery holds some ten half steps of each
of 71 persons; seven probe sets show the same persons under other conditions. A sequence, all
samples of one person in one probe set, is identified as a whole. Which copies of the
training samples are used is chosen on the gallery: one half of every walk is predicted from the
other. Half of each mode is fixed.
"""

from __future__ import annotations

from copy import deepcopy
from hashlib import sha256
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np

from paper.experiment import Cell, Experiment, Record, Results
from paper.tables import Table, published
from tenfold import MPCA, ProbabilisticLDA

PROBES = "ABCDEFG"
RANKED = (1, 5)
SHARE = 0.5  # of each mode's size, in the subspace of MPCA
NOBODY = 0  # the label of samples of persons that are not in the gallery

#: What each sample is joined by in training: itself, moved by one step along these modes.
COPIES: dict[str, tuple[int, ...]] = {
    "no copies": (),
    "copies shifted by a pixel": (0, 1),
    "copies shifted by a pixel or an instant": (0, 1, 2),
}

Samples = tuple[np.ndarray, np.ndarray]


def gait_set(data: str, name: str, quick: bool = False) -> Samples:
    """Samples (n, 32, 22, 10) and persons of ``Gal``, ``PrbA`` to ``PrbG``; quickly 12 persons."""
    path = Path(data) / "gait" / f"{name}.npz"
    if not path.exists():
        raise FileNotFoundError(f"{path} not found; expected the gait set with X and y there")
    with np.load(path) as file:
        X, y = file["X"].astype(np.float64), file["y"]
    kept = y <= 12 if quick else slice(None)
    return X[kept], y[kept]


def moved(X: np.ndarray, mode: int, step: int) -> np.ndarray:
    """Samples moved by a step along a mode; what comes in at the border repeats it.

    Examples
    --------
    >>> import numpy as np
    >>> from paper.gait import moved
    >>> moved(np.array([[1, 2, 3]]), 0, 1), moved(np.array([[1, 2, 3]]), 0, -1)
    (array([[1, 1, 2]]), array([[2, 3, 3]]))
    """
    at = np.arange(X.shape[mode + 1]) - step
    return np.take(X, at.clip(0, X.shape[mode + 1] - 1), axis=mode + 1)


def fitted(X: np.ndarray, y: np.ndarray, copies: str) -> ProbabilisticLDA:
    """`ProbabilisticLDA` in half of each mode, on samples and their copies."""
    ways = [(mode, step) for mode in COPIES[copies] for step in (-1, 1)]
    everything = np.concatenate([X, *(moved(X, *way) for way in ways)])
    ranks = tuple(ceil(SHARE * size) for size in X.shape[1:])
    numbers = np.tile(np.arange(len(X)), len(ways) + 1)  # a sample and its copies: one group
    model = ProbabilisticLDA([MPCA(ranks=ranks)], priors="equal")  # everybody walks once
    return model.fit(everything, np.tile(y, len(ways) + 1), groups=numbers)


def halves(y: np.ndarray) -> np.ndarray:
    """Whether a sample is in the second half of the walk of its person; they come in order."""
    second = np.zeros(len(y), dtype=bool)
    for person in np.unique(y):
        own = np.flatnonzero(y == person)
        second[own[len(own) // 2 :]] = True
    return second


def gallery_cell(data: str, copies: str, quick: bool) -> dict[str, Any]:
    """Mean log loss of one half of every walk, predicted from the other, and the reverse."""
    X, y = gait_set(data, "Gal", quick)
    losses = []
    for train in (halves(y), ~halves(y)):
        model = fitted(X[train], y[train], copies)
        found = model.predict_log_proba(X[~train])
        columns = np.searchsorted(model.classes_, y[~train])
        losses.append(-found[np.arange(len(found)), columns].mean())
    return {"log_loss": round(float(np.mean(losses)), 4)}


def places(model: ProbabilisticLDA, X: np.ndarray, y: np.ndarray) -> list[int | None]:
    """For each sequence how many persons score higher than the right one; None for nobody's."""
    persons, scores = model.set_scores(X, y)
    found: list[int | None] = []
    for person, row in zip(persons, scores, strict=True):
        own = np.flatnonzero(model.classes_ == person)
        found.append(int((row > row[own[0]]).sum()) if len(own) else None)
    return found


def probe_cell(data: str, copies: str | None, quick: bool) -> dict[str, Any]:
    """The place of the right person for each sequence, as the model is and adapted to the set."""
    X, y = gait_set(data, "Gal", quick)
    plain = ProbabilisticLDA(priors="equal")
    model = plain.fit(X, y) if copies is None else fitted(X, y, copies)
    result: dict[str, Any] = {"log_loss": model.loo_log_loss_, "plain": {}, "adapted": {}}
    for probe in PROBES:
        Q, q = gait_set(data, f"Prb{probe}", quick)
        result["plain"][probe] = places(model, Q, q)
        adapted = deepcopy(model).adapt(Q)
        result["adapted"][probe] = places(adapted, Q, q)
    return result


def gait_experiment(data: str, *, seed: int, quick: bool) -> Experiment:
    """Identification of sequences, as cells to compute and a way to put them together."""
    choices = ["no copies", "copies shifted by a pixel"] if quick else list(COPIES)
    gallery = np.ascontiguousarray(gait_set(data, "Gal", quick)[0])
    cells = [Cell("probes, all numbers", probe_cell, (data, None, quick))]
    for copies in choices:
        cells.append(Cell(f"gallery, {copies}", gallery_cell, (data, copies, quick), 2.0))
        cells.append(Cell(f"probes, {copies}", probe_cell, (data, copies, quick), 3.0))
    settings = {"seed": seed, "quick": quick, "gallery": sha256(gallery).hexdigest()[:16]}
    return Experiment(
        "gait",
        "Gait recognition, USF 1.7: who walks there?",
        {**settings, "choices": choices, "share": SHARE},
        cells,
        lambda results: gait_summary(results, choices),
    )


def percent_within(found: list[int | None], rank: int, everyone: bool) -> float:
    """Percent of sequences whose person is among the `rank` best.

    With `everyone`, sequences of persons that are not in the gallery count as missed.
    """
    counted = [place for place in found if everyone or place is not None]
    hits = sum(place is not None and place < rank for place in counted)
    return round(100 * hits / len(counted), 4)


def gait_summary(results: Results, choices: list[str]) -> tuple[list[Record], list[Table]]:
    """Records of every row, and the tables."""
    losses = {copies: results[f"gallery, {copies}"]["log_loss"] for copies in choices}
    chosen = min(losses, key=lambda copies: losses[copies])
    names = {"all numbers": "ProbabilisticLDA()"}
    names |= {copies: f"in half of each mode, {copies}" for copies in choices}
    records = []
    for centre in ("plain", "adapted"):
        for key, name in names.items():
            found = results[f"probes, {key}"][centre]
            for rank in RANKED:
                for everyone in (True, False):
                    rates = [percent_within(found[p], rank, everyone) for p in PROBES]
                    records.append(
                        {
                            "row": name,
                            "centre": centre,
                            "chosen": key == chosen,
                            "rank": rank,
                            "everyone": everyone,
                            "rates": rates,
                            "mean": round(float(np.mean(rates)), 4),
                        }
                    )
    return records, [_table(records, rank) for rank in RANKED] + [_choice(losses, chosen)]


def _table(records: list[Record], rank: int) -> Table:
    printed = published("gait")
    theirs = printed["rank-1"] if rank == 1 else None
    rows: list[list[Any]] = [
        ["MPCA + LDA, its authors", *(theirs or [None] * 7), printed[f"rank-{rank} mean"], None]
    ]
    for one in (r for r in records if r["rank"] == rank and r["everyone"]):
        other = next(
            r
            for r in records
            if not r["everyone"] and all(r[k] == one[k] for k in ("row", "centre", "rank"))
        )
        name = one["row"] + (", adapted" if one["centre"] == "adapted" else "")
        name += " (chosen)" if one["chosen"] else ""
        rows.append([name, *(round(r, 1) for r in one["rates"]), one["mean"], other["mean"]])
    columns = ["", *PROBES, "mean", "mean of known"]
    right = "first" if rank == 1 else f"among the first {rank}"
    return Table(f"Percent of sequences whose person comes {right}", columns, rows)


def _choice(losses: dict[str, float], chosen: str) -> Table:
    rows: list[list[Any]] = [[copies, loss] for copies, loss in losses.items()]
    note = f'"{chosen}" is chosen: the least log loss when half a walk is predicted from the other.'
    return Table("What was chosen on the gallery", ["training samples", "log loss"], rows, [note])
