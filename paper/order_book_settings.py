"""The protocol of Table 3: what is tried on which folds, and how it is judged."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from itertools import product
from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score, precision_recall_fscore_support

from paper.order_book_data import number_of_folds

PAPER_ROWS = ("RR", "SLFN", "CSDA", "MDA", "MCSDA", "BoF", "N-BoF")
BEYOND_ROWS = ("LDA", "RR, 1440", "LDA, 1440", "CSDA, 1440", "MCSDA, mode 1 to 140")


@dataclass(frozen=True)
class BookSettings:
    """Everything that decides the figures of Table 3, beside the data themselves."""

    seed: int = 0
    quick: bool = False
    folds: tuple[int, ...] = (1, 2, 3, 4, 5, 6)
    rows: tuple[str, ...] = PAPER_ROWS + BEYOND_ROWS
    first_ranks: tuple[int, ...] = tuple(range(5, 61, 5))
    second_ranks: tuple[int, ...] = tuple(range(1, 9))
    mda_ranks: tuple[int, ...] = (5, 10, 20)
    wide_ranks: tuple[tuple[int, int], ...] = tuple(product((60, 80, 100, 120, 140), (1, 2)))
    dimensions: tuple[int, ...] = (*range(5, 61, 5), 80, 100, 120, 144)
    ridges: tuple[float, ...] = (1e-4, 1e-2)
    alphas: tuple[float, ...] = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
    max_iter: int = 20
    inner_max_iter: int = 5
    stride: int = 4
    prototypes: tuple[int, ...] = (200, 500)
    codewords: tuple[int, ...] = (64, 128)
    bof_epochs: int = 10
    neural_codewords: int = 128
    neural_epochs: int = 12
    neural_windows: int = 30_000
    torch: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """The settings as JSON types."""
        return asdict(self)


def book_settings(data: str, seed: int, quick: bool) -> BookSettings:
    """The protocol of Table 3, or a small version that has every row."""
    torch = torch_version()
    if not quick:
        folds = tuple(range(1, number_of_folds(data) + 1))
        return BookSettings(seed, folds=folds, torch=torch)
    return BookSettings(
        seed,
        quick=True,
        folds=(1,),
        first_ranks=(10, 60),
        second_ranks=(1, 4),
        wide_ranks=((60, 1), (120, 1)),
        dimensions=(10, 40),
        ridges=(1e-2,),
        alphas=(1e-3,),
        max_iter=5,
        inner_max_iter=2,
        stride=8,
        prototypes=(50,),
        codewords=(32,),
        bof_epochs=3,
        neural_codewords=32,
        neural_epochs=2,
        neural_windows=4000,
        torch=torch,
    )


def torch_version() -> str | None:
    """The version of PyTorch, None when it is not installed."""
    try:
        return version("torch")
    except PackageNotFoundError:
        return None


METRICS = ("accuracy", "precision", "recall", "f1")
DIGITS = 6  # of a result in percent; what is beyond is rounding of the machine


def metrics_of(y: np.ndarray, predicted: np.ndarray) -> list[float]:
    """Accuracy and macro precision, recall and F1, in percent."""
    macro = precision_recall_fscore_support(y, predicted, average="macro", zero_division=0)
    values = (accuracy_score(y, predicted), *macro[:3])
    return [round(100 * float(value), DIGITS) for value in values]
