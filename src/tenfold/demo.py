"""``make demo``: one subspace per handwritten digit, learned by three methods in seconds.

Every method keeps 25 numbers of an image of 8x8: MCSDA and CMDA as 5x5, CSDA as a vector. That is
about where the tensor methods are at their best on these digits, and it makes the rows comparable.
CMDA has no positive class of its own, so it learns "this digit or another one", as in the paper.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from textwrap import indent
from time import perf_counter

import numpy as np
from sklearn.model_selection import train_test_split

from tenfold.datasets import TensorDataset, load_digits_tensor
from tenfold.decisions.classifier import ClassSpecificClassifier
from tenfold.decisions.metrics import mean_average_precision
from tenfold.mathematics.algebra import Array
from tenfold.methods import CMDA, CSDA, MCSDA
from tenfold.report import write_report
from tenfold.system.atomic_write import whole_file
from tenfold.system.tables import Table, number

SIDE = 5  # the rank of both modes; CSDA keeps SIDE**2 dimensions

REPORT = "tenfold-demo.html"  # in the current folder
DIGITS = "tenfold-demo.npz"


@dataclass(frozen=True)
class Distances:
    """What `mean_average_precision` asks for, of methods that make no bank.

    Parameters
    ----------
    classes_ : ndarray of shape (10,)
        The digits.
    distances : callable
        From images (n, 8, 8) to distances (n, 10), one column per digit.
    """

    classes_: Array
    distances: Callable[[Array], Array]

    def decision_function(self, X: Array) -> Array:
        """Minus the distances: every digit ranks all images on its own."""
        return -self.distances(X)


Model = ClassSpecificClassifier | Distances


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
        How many numbers it learns for one digit.
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


def mean_images(X: Array, y: Array) -> Distances:
    """No subspace at all: the distance to the mean image of a digit."""
    digits = np.unique(y)
    means = np.stack([X[y == digit].mean(axis=0) for digit in digits])
    return Distances(digits, lambda Z: np.linalg.norm(Z[:, None] - means, axis=(2, 3)))


def class_specific(projector: MCSDA | CSDA, X: Array, y: Array) -> ClassSpecificClassifier:
    """One subspace per digit, all learned from one pass over the images."""
    return ClassSpecificClassifier(projector, normalise=False).fit(X, y)


def one_against_the_rest(X: Array, y: Array) -> Distances:
    """CMDA on ten problems of two classes; distances are those to the mean of the digit."""
    digits = np.unique(y)
    models = [CMDA(ranks=SIDE).fit(X, y == digit) for digit in digits]
    means = [m.transform(X[y == d].mean(axis=0)[None]) for d, m in zip(digits, models, strict=True)]

    def distances(Z: Array) -> Array:
        pairs = zip(models, means, strict=True)
        return np.stack([np.linalg.norm(m.transform(Z) - mean, axis=1) for m, mean in pairs], 1)

    return Distances(digits, distances)


def halves() -> tuple[TensorDataset, TensorDataset]:
    """Digits to learn from, and as many held out."""
    digits = load_digits_tensor()
    rows = np.arange(len(digits))
    split = train_test_split(rows, test_size=0.5, stratify=digits.y, random_state=0)
    learned, held_out = (digits.select(part) for part in split)
    return learned, held_out


def compare() -> tuple[list[Row], int, int]:
    """The rows of the table, and how many images were learned from and held out."""
    (X, y), (X_held_out, y_held_out) = halves()
    size, kept, folded = X[0].size, SIDE**2, f"{SIDE}x{SIDE}"
    tensor_numbers = SIDE * sum(X.shape[1:])
    methods: list[tuple[str, str, int, Callable[[], Model]]] = [
        ("mean image", "8x8", 0, lambda: mean_images(X, y)),
        ("CMDA", folded, tensor_numbers, lambda: one_against_the_rest(X, y)),
        ("MCSDA", folded, tensor_numbers, lambda: class_specific(MCSDA(ranks=SIDE), X, y)),
        ("CSDA", str(kept), size * kept, lambda: class_specific(CSDA(ranks=kept), X, y)),
    ]
    rows = []
    for name, kept_shape, learned, learn in methods:
        model, seconds = timed(learn)
        precision = mean_average_precision(model, X_held_out, y_held_out)
        rows.append(Row(name, kept_shape, learned, precision, seconds))
    return rows, len(X), len(X_held_out)


def timed(learn: Callable[[], Model]) -> tuple[Model, float]:
    """What was learned, and in how many seconds."""
    start = perf_counter()
    model = learn()
    return model, perf_counter() - start


def table(rows: list[Row]) -> Table:
    """The rows as a table.

    Examples
    --------
    >>> from tenfold.demo import Row, table
    >>> print(table([Row("MCSDA", "5x5", 80, 0.944, 0.25)]))
    method  keeps  numbers per digit  mean average precision  training
    MCSDA   5x5                   80                   94.4%    0.25 s
    """
    columns = ["method", "keeps", "numbers per digit", "mean average precision", "training"]
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


def write_page(path: Path) -> tuple[Path | None, str]:
    """Write the report on the MCSDA models of all digits, and say where it is.

    Returns
    -------
    page : Path or None
        The file; None when it could not be written.
    remark : str
        Where it is, or why it is not there.
    """
    learned, held_out = halves()
    bank = ClassSpecificClassifier(MCSDA(ranks=SIDE)).fit(*learned)
    try:
        page = write_report(bank, held_out, path)
    except (ImportError, OSError) as error:  # no extra, or no right to write here
        return None, f"No report this time: {error}"
    return page, f"Every digit in detail, to open in a browser:\n  {page.resolve()}"


REMARK = """\
MCSDA and CSDA learn one digit against everything else, CMDA two classes. With plenty of small
images the vector method CSDA is hard to beat; MCSDA learns 20 times fewer numbers."""

NEXT = """\
Where to go next
  docs/which_method.md            what every method does, and how to choose one"""


def commands(data: Path) -> str:
    """Commands to try on the digits, as they are typed here, one per line."""
    beside = Path(sys.executable).parent / "tenfold"
    tenfold = "tenfold" if shutil.which("tenfold") else os.path.relpath(beside)
    model = "demo.safetensors"
    lines = [
        f"{tenfold} compare {data} --cv 3",
        f"{tenfold} fit {data} --method csda --rows ::2 -o {model}",
        f"{tenfold} evaluate {model} {data} --rows 1::2",
        f"{tenfold} score {model} {data} --rows 100:104",
        f"{tenfold} report {model} {data} --rows 1::2 -o demo.html",
    ]
    return "\n".join(f"  {line}" for line in lines)


def write_digits(path: Path) -> str:
    """Write the digits to a file, and say what to do with it."""
    digits = load_digits_tensor()
    try:
        with whole_file(path) as file:
            np.savez_compressed(file, X=digits.X, y=digits.y)
    except OSError as error:
        return f"No file of digits this time: {error}"
    return f"The digits are in {path}; these commands work as they stand:\n{commands(path)}"


def main() -> None:
    """Print the comparison, and write the report."""
    rows, n_learned, n_held_out = compare()
    print("One subspace per handwritten digit: which of the held-out images show it?")
    print(f"{n_learned} images of 8x8 to learn from, {n_held_out} held out.\n")
    print(indent(str(table(rows)), "  "))
    _, where = write_page(Path(REPORT))
    print(f"\n{REMARK}\n\n{where}\n\n{NEXT}\n\n{write_digits(Path(DIGITS))}")


if __name__ == "__main__":
    main()
