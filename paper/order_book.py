"""Table 3: mid-price movements of FI-2010, one cell per row and fold."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

from paper.experiment import Cell
from paper.linear_rows import linear_discriminants, ridge_classifiers
from paper.neural_row import MISSING, neural_bag_of_features
from paper.order_book_data import LABELS, Part, flattened, inner_part, last_block, outer_part
from paper.order_book_settings import BookSettings, metrics_of
from paper.order_book_subspaces import subspace_bank, vector_bank
from paper.prototype_rows import bag_of_features, slfn


def book_cells(settings: BookSettings, data: str) -> list[Cell]:
    """One cell per row and fold, the long ones first."""
    cost = {"MCSDA": 80, "MDA": 80, "N-BoF": 80, "BoF": 40, "CSDA, 1440": 50, "SLFN": 20}
    return [
        Cell(cell_name(row, fold), book_cell, (settings, data, row, fold), cost.get(row, 8))
        for fold in settings.folds
        for row in sorted(settings.rows, key=lambda row: -cost.get(row, 8))
    ]


def cell_name(row: str, fold: int) -> str:
    """The name of a cell in the ledger."""
    return f"{row} | fold {fold}"


Variants = dict[str, dict[str, Any]]


def book_cell(settings: BookSettings, data: str, row: str, fold: int) -> Variants:
    """Test metrics of a row, its parameters chosen on the training days.

    Returns
    -------
    dict of str to dict
        For each variant of the row ("" where there is one only): ``metrics``, four numbers in
        percent; ``selected``, the parameters; ``inner_f1``, what chose them; for the bags of
        features ``curve``, the course of the training. A row that cannot run has ``missing`` alone.
    """
    if row == "N-BoF" and settings.torch is None:
        return {"": {"missing": MISSING}}
    inner, outer = inner_part(data, fold, settings.stride), outer_part(data, fold)
    if row in ("CSDA", "MDA", "MCSDA", "CSDA, 1440", "MCSDA, mode 1 to 140"):
        return _subspace_row(settings, row, inner, outer)
    if row.startswith(("RR", "LDA")):
        return _linear_row(settings, row, inner, outer)
    rng_seed = 1000 * settings.seed + fold
    if row == "SLFN":
        return {"": slfn(settings, inner, outer, rng_seed)}
    if row == "BoF":
        return {"": bag_of_features(settings, inner, outer, rng_seed)}
    return {"": neural_bag_of_features(settings, inner, outer, rng_seed)}


# -- subspaces -----------------------------------------------------------------------------------


def _subspace_row(settings: BookSettings, row: str, inner: Part, outer: Part) -> Variants:
    """Plain distances, as in the paper, and distances in units of each model's spread."""
    options = [
        {"ranks": list(ranks), "ridge": ridge}
        for ridge in settings.ridges
        for ranks in _rank_grid(settings, row)
    ]
    tried = _distances(settings, row, inner, options, settings.inner_max_iter)
    variants = {}
    for name in ("plain", "normalised"):
        f1 = [metrics_of(inner.test.y, _nearest(d))[3] for d in tried[name]]
        best = options[int(np.argmax(f1))]
        final = _distances(settings, row, outer, [best], settings.max_iter)[name][0]
        variants[name] = {
            "metrics": metrics_of(outer.test.y, _nearest(final)),
            "selected": best,
            "inner_f1": max(f1),
        }
    return variants


def _rank_grid(settings: BookSettings, row: str) -> list[tuple[int, ...]]:
    if row.startswith("CSDA"):
        return [(d,) for d in settings.dimensions]
    if row == "MCSDA, mode 1 to 140":
        return list(settings.wide_ranks)
    # Two class means differ by one 144x10 matrix, so MDA can tell ten directions of mode 1 at most.
    first = settings.mda_ranks if row == "MDA" else settings.first_ranks
    return list(product(first, settings.second_ranks))


def _distances(
    settings: BookSettings, row: str, part: Part, options: list[dict[str, Any]], max_iter: int
) -> dict[str, np.ndarray]:
    """Plain and normalised distances (R, n, C) of the windows to be judged."""
    plain, spreads = [], []
    for ridge in dict.fromkeys(option["ridge"] for option in options):
        ranks = np.array([option["ranks"] for option in options if option["ridge"] == ridge])
        if row.startswith("CSDA"):
            moments, X = _vectors(row, part)
            bank = vector_bank(moments, ranks[:, 0], ridge=ridge)
            plain.append(bank.distances(X))
        else:
            method = row.split(",")[0]
            bank = subspace_bank(method, part.moments, ranks, ridge=ridge, max_iter=max_iter)
            plain.append(bank.distances(part.test.X))
        spreads.append(bank.spreads.T)
    distances, units = np.concatenate(plain), np.concatenate(spreads)
    return {"plain": distances, "normalised": distances / units[:, None, :].astype(np.float32)}


def _nearest(distances: np.ndarray) -> np.ndarray:
    return np.asarray(LABELS[distances.argmin(axis=1)])


def _vectors(row: str, part: Part) -> tuple[Any, np.ndarray]:
    """Moments and vectors to be judged: of the last block, or of all ten."""
    if row.endswith("1440"):
        X = np.ascontiguousarray(part.test.X[:]).reshape(len(part.test), -1)
        return flattened(part.moments), X
    return last_block(part.moments), part.test.X.last_blocks


# -- linear classifiers --------------------------------------------------------------------------


def _linear_row(settings: BookSettings, row: str, inner: Part, outer: Part) -> Variants:
    fit: Callable[..., Any] = ridge_classifiers if row.startswith("RR") else linear_discriminants
    options = list(product((False, True), settings.alphas))

    def predictions(part: Part, chosen: list[tuple[bool, float]]) -> list[np.ndarray]:
        moments, X = _vectors(row, part)
        found = []
        for balanced in dict.fromkeys(balanced for balanced, _ in chosen):
            penalties = [alpha for b, alpha in chosen if b == balanced]
            found += [LABELS[m.scores(X).argmax(axis=1)] for m in fit(moments, penalties, balanced)]
        return found

    f1 = [metrics_of(inner.test.y, guess)[3] for guess in predictions(inner, options)]
    balanced, alpha = options[int(np.argmax(f1))]
    (final,) = predictions(outer, [(balanced, alpha)])
    selected = {"balanced": balanced, "alpha": alpha}
    metrics = metrics_of(outer.test.y, final)
    return {"": {"metrics": metrics, "selected": selected, "inner_f1": max(f1)}}
