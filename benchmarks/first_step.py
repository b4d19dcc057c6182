"""The first table of README: ten images of each digit, everything at defaults.

    python benchmarks/first_step.py            # print the table
    python benchmarks/first_step.py --write    # and put it into the pages

Training images are drawn at random, ten of each digit; all others are test images; the mean of five
draws. Nothing is chosen on test images, and whoever is best stands first.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from tenfold import ClassSpecificClassifier, KernelCSDA, ProbabilisticLDA

ROOT = Path(__file__).parents[1]
PAGES = ("README.md",)
MARKS = "<!-- first -->\n", "<!-- /first -->"
EACH, DRAWS = 10, 5

OURS: dict[str, Callable[[], Any]] = {
    "`ProbabilisticLDA()`": ProbabilisticLDA,
    "`ClassSpecificClassifier(KernelCSDA())`": lambda: ClassSpecificClassifier(KernelCSDA()),
}
PEERS: dict[str, Callable[[], Any]] = {
    "nearest neighbour": lambda: KNeighborsClassifier(1),
    "RBF SVM": SVC,
    "logistic regression, standardised": lambda: make_pipeline(
        StandardScaler(), LogisticRegression(max_iter=1000)
    ),
    "LDA with shrinkage": lambda: LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
}


def shares() -> dict[str, float]:
    """The accuracy of each row in percent, the best first."""
    X, y = load_digits().images, load_digits().target
    found: dict[str, list[float]] = {}
    for draw in range(DRAWS):
        rng = np.random.default_rng(draw)
        train = np.concatenate(
            [rng.choice(np.flatnonzero(y == digit), EACH, replace=False) for digit in range(10)]
        )
        test = np.setdiff1d(np.arange(len(y)), train)
        for name, make in (OURS | PEERS).items():
            Z = X if name in OURS else X.reshape(len(X), -1)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of scikit-learn about itself
                right = make().fit(Z[train], y[train]).score(Z[test], y[test])
            found.setdefault(name, []).append(100 * right)
    means = {name: float(np.mean(rights)) for name, rights in found.items()}
    return dict(sorted(means.items(), key=lambda one: -one[1]))


def table(found: dict[str, float]) -> str:
    """The rows as Markdown."""
    rows = [f"| {name} | {share:.1f} % |\n" for name, share in found.items()]
    return "| ten images of each digit, at defaults | accuracy |\n|---|--:|\n" + "".join(rows)


def main() -> None:
    """Print the table, and write it where it is shown."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="put the table into the pages")
    arguments = parser.parse_args()
    rows = table(shares())
    sys.stdout.write(rows)
    for page in PAGES if arguments.write else ():
        text = (ROOT / page).read_text(encoding="utf-8")
        before, begin, rest = text.partition(MARKS[0])
        _, end, after = rest.partition(MARKS[1])
        if not (begin and end):
            raise SystemExit(f"{page} has no lines {MARKS[0].strip()} and {MARKS[1]}")
        (ROOT / page).write_text(before + begin + rows + end + after, encoding="utf-8")


if __name__ == "__main__":
    main()
