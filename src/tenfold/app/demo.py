"""``tenfold demo``: handwritten digits, learned by the recommended model and by others.

Rows are sorted by accuracy; baselines of scikit-learn are rows of the same table. The report, and
the commands at the end, are about the recommended model, on the same split of the same images.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from time import perf_counter
from typing import TypedDict

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC

from tenfold.app.report import write_report
from tenfold.classifiers.classifier import ClassSpecificClassifier
from tenfold.classifiers.probabilistic import ProbabilisticLDA
from tenfold.datasets import TensorDataset, load_digits_tensor
from tenfold.methods import CSDA, MCSDA
from tenfold.metrics import mean_average_precision
from tenfold.serialization.atomic_write import whole_file
from tenfold.tables import Cell, Table, number, times

RECOMMENDED = "ProbabilisticLDA"
WHICH_METHOD = "https://tenfold-ml.github.io/tenfold/which_method.html"
SIDE = 5  # the rank of both modes of MCSDA


def digits_in_random_order() -> TensorDataset:
    """The digits of scikit-learn, shuffled: there those of one writer follow one another."""
    digits = load_digits_tensor()
    return digits.select(np.random.default_rng(0).permutation(len(digits)))


def parts() -> tuple[TensorDataset, TensorDataset]:
    """Digits to learn from and digits to test on, as ``--rows train`` and ``--rows test`` do."""
    digits = digits_in_random_order()
    held_out = digits.is_held_out
    return digits.select(~held_out), digits.select(held_out)


class Row(TypedDict):
    """A method, and how well it does."""

    method: str
    kept: str  # of an image
    accuracy: float  # on the held-out images
    precision: float  # mean average precision on these, over the digits
    seconds: float  # to learn all ten digits


def compare() -> tuple[list[Row], ProbabilisticLDA]:
    """What the demo measures, and the recommended model, for the report.

    Returns
    -------
    rows : list of Row
        One per method, the most accurate first.
    recommended : ProbabilisticLDA
        Fitted.
    """
    (X, y), held_out = parts()
    recommended = ProbabilisticLDA()
    nearest = KNeighborsClassifier(n_neighbors=1)
    models: list[tuple[str, str, BaseEstimator]] = [
        (RECOMMENDED, "8x8", recommended),
        ("CSDA", "", ClassSpecificClassifier(CSDA())),
        ("MCSDA", "", ClassSpecificClassifier(MCSDA(ranks=SIDE))),
        ("RBF SVM", "64", make_pipeline(FunctionTransformer(_flat), SVC())),
        ("nearest neighbor", "64", make_pipeline(FunctionTransformer(_flat), nearest)),
    ]
    rows: list[Row] = []
    for name, kept, model in models:
        start = perf_counter()
        model.fit(X, y)
        seconds = perf_counter() - start
        if isinstance(model, ClassSpecificClassifier):
            kept = f"{times(model.members_[0].ranks_)} per digit"
        row: Row = {
            "method": name,
            "kept": kept,
            "accuracy": float(model.score(*held_out)),
            "precision": mean_average_precision(model, *held_out),
            "seconds": seconds,
        }
        rows.append(row)
    return sorted(rows, key=lambda row: -row["accuracy"]), recommended


def _flat(X: np.ndarray) -> np.ndarray:
    return X.reshape(len(X), -1)


def table(rows: list[Row]) -> Table:
    """The rows as a table."""
    columns = ["method", "reduced to", "accuracy", "mean average precision", "training"]
    cells: list[list[Cell | str]] = [
        [
            row["method"],
            row["kept"],
            number(100 * row["accuracy"], "{:.1f}%"),
            number(100 * row["precision"], "{:.1f}%"),
            number(row["seconds"], "{:.2f} s"),
        ]
        for row in rows
    ]
    return Table("", columns, cells)


def write_page(model: object, path: Path) -> tuple[Path | None, list[str]]:
    """Write the report on a model of all digits, and say where it is.

    Returns
    -------
    page : Path or None
        The file; None when it could not be written.
    remark : list of str
        Where it is, or why it is not there; line by line.
    """
    _, held_out = parts()
    try:
        page = write_report(model, held_out, path)
    except (ImportError, OSError) as error:  # no extra, or no right to write here
        return None, [f"No report this time: {error}"]
    return page, [f"A report on {RECOMMENDED}, to open in a browser:", f"  {page.resolve()}"]


REMARK = [
    f"Begin with {RECOMMENDED}: it needs no tuning and gives probabilities. It looks at images",
    "in several views, and left-out images choose their weights: the report shows them. CSDA and",
    "MCSDA learn one subspace per digit, to verify one class; the others are of scikit-learn.",
]

NEXT = [
    "With your own data (images in a folder per class, a table, .npz, .mat, .h5, ...)",
    "  tenfold inspect DATA            what it contains, and the next command",
    "  tenfold fit DATA --rows train -o model.safetensors",
    "  tenfold evaluate model.safetensors DATA --rows test",
    "  tenfold compare DATA            whether another method is more accurate",
    f"What every method does, and how to choose one: {WHICH_METHOD}",
]


def write_digits(path: Path) -> list[str]:
    """Write the digits to a file, and say what to do with it, line by line."""
    digits = digits_in_random_order()
    try:
        with whole_file(path) as file:
            np.savez_compressed(file, X=digits.X, y=np.asarray(digits.y))
    except OSError as error:
        return [f"No file of digits this time: {error}"]
    beside = Path(sys.executable).parent / "tenfold"
    tenfold = "tenfold" if shutil.which("tenfold") else os.path.relpath(beside)
    model = "demo.safetensors"
    return [
        f"The digits are in {path}; these commands fit {RECOMMENDED} again, as above:",
        f"  {tenfold} fit {path} --rows train -o {model}",
        f"  {tenfold} evaluate {model} {path} --rows test",
        f"  {tenfold} score {model} {path} --rows 100:104",
        f"  {tenfold} report {model} {path} --rows test -o demo.html",
    ]
