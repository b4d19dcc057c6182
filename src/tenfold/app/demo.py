"""``tenfold demo``: one subspace per handwritten digit, learned by three methods in seconds.

MCSDA and CMDA keep 5x5 numbers of an image of 8x8, CSDA as many of its vector. That is about where
the tensor methods are at their best on these digits, and it makes the rows comparable.
"""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from tenfold.app.report import write_report
from tenfold.datasets import TensorDataset, load_digits_tensor
from tenfold.decisions.classifier import ClassSpecificClassifier
from tenfold.decisions.metrics import mean_average_precision
from tenfold.decisions.probabilistic import ProbabilisticLDA
from tenfold.methods import CMDA, CSDA, MCSDA
from tenfold.system.atomic_write import whole_file
from tenfold.system.tables import Table, number

SIDE = 5  # the rank of both modes; CSDA keeps SIDE**2 dimensions


@dataclass(frozen=True)
class Row:
    """One line of the table.

    Parameters
    ----------
    method : str
        Its name.
    kept : str
        What it keeps of an image.
    learned : int
        How many numbers the projections of all ten digits have.
    precision : float
        Mean average precision on held-out images, over the digits.
    seconds : float
        Time to learn all ten digits.
    """

    method: str
    kept: str
    learned: int
    precision: float
    seconds: float


def halves() -> tuple[TensorDataset, TensorDataset]:
    """Digits to learn from, and as many held out."""
    digits = load_digits_tensor()
    rows = np.arange(len(digits))
    split = train_test_split(rows, test_size=0.5, stratify=digits.y, random_state=0)
    learned, held_out = (digits.select(part) for part in split)
    return learned, held_out


def compare() -> tuple[list[Row], Any]:
    """The rows of the table, and the bank of MCSDA models, for the report."""
    (X, y), held_out = halves()
    kept, folded = SIDE**2, f"{SIDE}x{SIDE}"
    one_tensor, one_vector = SIDE * sum(X.shape[1:]), kept * X[0].size
    # All of 8x8 is no subspace: what is left is the distance to the mean image of a digit.
    paper: dict[str, Any] = {"decision": "distance"}
    models: list[tuple[str, str, int, Any]] = [
        ("mean image", "8x8", 0, ClassSpecificClassifier(MCSDA(ranks=X.shape[1:], **paper))),
        ("CMDA", folded, one_tensor, ProbabilisticLDA(CMDA(ranks=SIDE))),
        ("MCSDA", folded, 10 * one_tensor, ClassSpecificClassifier(MCSDA(ranks=SIDE, **paper))),
        ("CSDA", str(kept), 10 * one_vector, ClassSpecificClassifier(CSDA(ranks=kept, **paper))),
    ]
    rows = []
    for name, kept_shape, learned, model in models:
        start = perf_counter()
        model.fit(X, y)
        seconds = perf_counter() - start
        precision = mean_average_precision(model, *held_out)
        rows.append(Row(name, kept_shape, learned, precision, seconds))
    return rows, models[2][3]


def table(rows: list[Row]) -> Table:
    """The rows as a table.

    Examples
    --------
    >>> from tenfold.app.demo import Row, table
    >>> print(table([Row("MCSDA", "5x5", 800, 0.984, 0.25)]))
    method  keeps  numbers learned  mean average precision  training
    MCSDA   5x5                800                   98.4%    0.25 s
    """
    columns = ["method", "keeps", "numbers learned", "mean average precision", "training"]
    cells = [
        [
            row.method,
            row.kept,
            number(row.learned),
            number(100 * row.precision, "{:.1f}%"),
            number(row.seconds, "{:.2f} s"),
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
    "MCSDA and CSDA learn one subspace per digit, CMDA one for all, in which digits are Gaussian.",
    "With plenty of small images the vector method CSDA is hard to beat; MCSDA learns 20 times",
    "fewer numbers.",
]

NEXT = [
    "Where to go next",
    "  docs/which_method.md            what every method does, and how to choose one",
]


def commands(data: Path) -> list[str]:
    """Commands to try on the digits, as they are typed here."""
    beside = Path(sys.executable).parent / "tenfold"
    tenfold = "tenfold" if shutil.which("tenfold") else os.path.relpath(beside)
    model = "demo.safetensors"
    return [
        f"  {tenfold} compare {data} --cv 3",
        f"  {tenfold} fit {data} --method csda --rows train -o {model}",
        f"  {tenfold} evaluate {model} {data} --rows test",
        f"  {tenfold} score {model} {data} --rows 100:104",
        f"  {tenfold} report {model} {data} --rows test -o demo.html",
    ]


def write_digits(path: Path) -> list[str]:
    """Write the digits to a file, and say what to do with it, line by line."""
    digits = load_digits_tensor()
    try:
        with whole_file(path) as file:
            np.savez_compressed(file, X=digits.X, y=digits.y)
    except OSError as error:
        return [f"No file of digits this time: {error}"]
    return [f"The digits are in {path}; these commands work as they stand:", *commands(path)]
