"""``tenfold demo``: handwritten digits, learned by our methods and by an SVM.

Everything is at defaults but for MCSDA and CMDA, which keep 5x5 numbers of an image of 8x8, and
CSDA, which keeps as many of its vector. Whoever has the most right answers stands first.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC

from tenfold.app.report import write_report
from tenfold.datasets import TensorDataset, load_digits_tensor
from tenfold.decisions.classifier import ClassSpecificClassifier
from tenfold.decisions.metrics import mean_average_precision
from tenfold.decisions.probabilistic import ProbabilisticLDA
from tenfold.methods import CMDA, CSDA, MCSDA, KernelCSDA
from tenfold.system.atomic_write import whole_file
from tenfold.system.tables import Table, number

SIDE = 5  # the rank of both modes; CSDA keeps SIDE**2 dimensions


def halves() -> tuple[TensorDataset, TensorDataset]:
    """Digits to learn from, and as many held out."""
    digits = load_digits_tensor()
    rows = np.arange(len(digits))
    split = train_test_split(rows, test_size=0.5, stratify=digits.y, random_state=0)
    learned, held_out = (digits.select(part) for part in split)
    return learned, held_out


def compare() -> tuple[list[dict[str, Any]], Any]:
    """What the demo measures, and the bank of MCSDA models, for the report.

    Returns
    -------
    rows : list of dict
        One per method, the best first: its name; what it keeps of an image; the share of held-out
        images that are classified correctly; mean average precision on these, over the digits;
        seconds to learn all ten digits.
    bank : ClassSpecificClassifier
        Fitted.
    """
    (X, y), held_out = halves()
    each, folded = SIDE**2, f"{SIDE}x{SIDE}"
    bank = ClassSpecificClassifier(MCSDA(ranks=SIDE))
    models: list[tuple[str, str, Any]] = [
        ("ProbabilisticLDA", "8x8", ProbabilisticLDA()),
        ("KernelCSDA", "9 per digit", ClassSpecificClassifier(KernelCSDA())),
        ("CSDA", f"{each} per digit", ClassSpecificClassifier(CSDA(ranks=each))),
        ("MCSDA", f"{folded} per digit", bank),
        ("CMDA", folded, ProbabilisticLDA(CMDA(ranks=SIDE))),
        ("RBF SVM", "64", make_pipeline(FunctionTransformer(_flat), SVC())),
    ]
    rows = []
    for name, kept, model in models:
        start = perf_counter()
        model.fit(X, y)
        row = {"method": name, "kept": kept, "seconds": perf_counter() - start}
        row["right"] = float(model.score(*held_out))
        rows.append(row | {"precision": mean_average_precision(model, *held_out)})
    return sorted(rows, key=lambda row: -row["right"]), bank


def _flat(X: np.ndarray) -> np.ndarray:
    return X.reshape(len(X), -1)


def table(rows: list[dict[str, Any]]) -> Table:
    """The rows as a table."""
    columns = ["method", "keeps", "right answers", "mean average precision", "training"]
    cells = [
        [
            row["method"],
            row["kept"],
            number(100 * row["right"], "{:.1f}%"),
            number(100 * row["precision"], "{:.1f}%"),
            number(row["seconds"], "{:.2f} s"),
        ]
        for row in rows
    ]
    return Table("", columns, cells)


def write_page(bank: Any, path: Path) -> tuple[Path | None, list[str]]:
    """Write the report on a bank of models of all digits, and say where it is.

    Returns
    -------
    page : Path or None
        The file; None when it could not be written.
    remark : list of str
        Where it is, or why it is not there; line by line.
    """
    _, held_out = halves()
    try:
        page = write_report(bank, held_out, path)
    except (ImportError, OSError) as error:  # no extra, or no right to write here
        return None, [f"No report this time: {error}"]
    return page, ["Every digit in detail, to open in a browser:", f"  {page.resolve()}"]


REMARK = [
    "Begin with ProbabilisticLDA: nothing to choose, and probabilities. Digits are curved classes;",
    "kernels (KernelCSDA, RBF SVM) are better here, ProbabilisticLDA on few faces and recordings.",
    "MCSDA and CSDA learn one subspace per digit, CMDA one for all. RBF SVM: scikit-learn.",
]

NEXT = [
    "Where to go next",
    "  docs/which_method.md            what every method does, and how to choose one",
]


def write_digits(path: Path) -> list[str]:
    """Write the digits to a file, and say what to do with it, line by line."""
    digits = load_digits_tensor()
    try:
        with whole_file(path) as file:
            np.savez_compressed(file, X=digits.X, y=digits.y)
    except OSError as error:
        return [f"No file of digits this time: {error}"]
    beside = Path(sys.executable).parent / "tenfold"
    tenfold = "tenfold" if shutil.which("tenfold") else os.path.relpath(beside)
    model = "demo.safetensors"
    return [
        f"The digits are in {path}; these commands work as they stand:",
        f"  {tenfold} compare {path} --cv 3",
        f"  {tenfold} fit {path} --method csda --rows train -o {model}",
        f"  {tenfold} evaluate {model} {path} --rows test",
        f"  {tenfold} score {model} {path} --rows 100:104",
        f"  {tenfold} report {model} {path} --rows test -o demo.html",
    ]
