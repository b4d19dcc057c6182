"""How time and memory grow: the same jobs at many sizes, and the limit that nobody can beat."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import contestants as who
import literal
import peers
from jobs import MPCA, Job, mpca_by


@dataclass(frozen=True)
class Sweep:
    """A job at growing sizes.

    `sizes` maps what grows to the arguments of `Job.prepare`. A contestant leaves the sweep when
    its next run would take too long.
    """

    title: str
    axis: str
    job: Job
    sizes: dict[int, dict[str, Any]]


def models_at_ranks(given: who.Given, contestant: Callable[..., who.Answer]) -> who.Answer:
    shown = list(range(given["n_models"]))
    return contestant(given, grid=given["grid"], shown=shown)


def bank(n_classes: int, n_ranks: int) -> who.Given:
    """1280 samples of 24 x 20 in some classes, and pairs of ranks to solve each of them at."""
    given = who.planted(1280, (24, 20), (6, 6), n_classes)
    grid = [(2 + g // 16, 2 + g % 16) for g in range(n_ranks)]
    return given | {"grid": grid, "n_models": n_classes * n_ranks}


def scored_by(contestant: Callable[..., list[Any]], *names: str) -> Any:
    return lambda given: who.subspaces(contestant(*(given[name] for name in names)))


BANK = {
    "tenfold": partial(models_at_ranks, contestant=who.tenfold_grid),
    "literal": partial(models_at_ranks, contestant=who.literal_grid),
    "literal, tuned": partial(
        models_at_ranks, contestant=partial(who.literal_grid, algorithm=literal.mcsda)
    ),
}
ALL_MPCA = MPCA | {"hottbox": mpca_by(peers.hottbox_hooi)}
FLAT = {"shape": (16, 12), "ranks": (4, 4), "rank": 16}
COUNTS = [1000, 10_000, 100_000, 300_000]

SWEEPS = {
    "samples": Sweep(
        "MPCA of 16×12 → 4×4, 20 rounds",
        "samples",
        Job("", who.planted, ALL_MPCA, limits=("X^T X alone",)),
        {n: {"n": n, "shape": (16, 12), "ranks": (4, 4)} for n in COUNTS},
    ),
    "size": Sweep(
        "MPCA of 500 square images → 4×4, 20 rounds",
        "numbers in a sample",
        Job("", who.planted, ALL_MPCA, limits=("X^T X alone",)),
        {s * s: {"n": 500, "shape": (s, s), "ranks": (4, 4)} for s in (8, 16, 32, 48, 64)},
    ),
    "pca": Sweep(
        "PCA of vectors of 192 → 16",
        "samples",
        Job(
            "",
            who.flat,
            {
                "tenfold": who.tenfold_flat_pca,
                "scikit-learn PCA": scored_by(peers.sklearn_pca, "X", "rank"),
                "IncrementalPCA": scored_by(peers.sklearn_incremental_pca, "X", "rank"),
                "X^T X alone": who.blocked_product,
            },
            approximate=("IncrementalPCA",),
            limits=("X^T X alone",),
        ),
        {n: FLAT | {"n": n} for n in COUNTS},
    ),
    "lda": Sweep(
        "LDA of vectors of 192, 10 classes",
        "samples",
        Job(
            "",
            who.flat,
            {
                "tenfold": who.tenfold_flat_lda,
                "scikit-learn LDA": scored_by(peers.sklearn_lda, "X", "y"),
                "X^T X alone": who.blocked_product,
            },
            limits=("X^T X alone",),
        ),
        {n: FLAT | {"n": n} for n in COUNTS},
    ),
    "classes": Sweep(
        "MCSDA for every class, 1280 samples of 24×20 → 2×2, 20 rounds",
        "classes",
        Job("", bank, BANK),
        {c: {"n_classes": c, "n_ranks": 1} for c in (4, 16, 64)},
    ),
    "vector-classes": Sweep(
        "CSDA for every class, 800 samples of 50×40",
        "classes",
        Job(
            "",
            who.planted,
            {
                "tenfold": who.tenfold_vector_bank,
                "class by class": who.literal_vector_bank,
                "RidgeClassifier": who.ridge,
            },
            limits=("RidgeClassifier",),
        ),
        {
            c: {"n": 800, "shape": (50, 40), "ranks": (16, 14), "n_classes": c}
            for c in (40, 160, 400)
        },
    ),
    "many-classes": Sweep(
        "ProbabilisticLDA, 3 samples of 10×10 per class",
        "classes",
        Job("", who.few_of_many, {"tenfold": who.tenfold_classifier}),
        {c: {"n_classes": c, "per_class": 3, "shape": (10, 10)} for c in (125, 250, 500, 1000)},
    ),
    "bank-of-many": Sweep(
        "CSDA for every class, 4 samples of 200 numbers per class",
        "classes",
        Job("", who.few_of_many, {"tenfold": who.tenfold_vector_bank}),
        {c: {"n_classes": c, "per_class": 4, "shape": (200,)} for c in (125, 250, 500, 1000)},
    ),
    "candidates": Sweep(
        "MCSDA at many pairs of ranks, 1280 samples of 24×20, 2 classes, 20 rounds",
        "pairs of ranks",
        Job("", bank, BANK),
        {r: {"n_classes": 2, "n_ranks": r} for r in (1, 16, 64)},
    ),
    "scoring": Sweep(
        "Scoring samples of 40×30 against 40 subspaces of 7×7",
        "samples",
        Job(
            "",
            who.bank_and_samples,
            {
                "tenfold": who.tenfold_scores,
                "literal": who.literal_scores,
                "one read": who.one_read,
            },
            tolerance=1e-9,
            limits=("one read",),
        ),
        {n: {"n": n} for n in (1, 100, 10_000, 30_000)},
    ),
}
JOBS = {name: sweep.job for name, sweep in SWEEPS.items()}
