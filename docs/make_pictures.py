"""Draw the picture of the README: what a model of one digit looks at, and what it is worth.

Run it as ``python docs/make_pictures.py``; it writes ``docs/_static/readme.png``.
"""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt

from tenfold import MCSDA, ClassSpecificVerifier
from tenfold.datasets import load_digits_tensor
from tenfold.plots import DirectionsDisplay, ScoresDisplay

DIGIT = 7
TARGET = Path(__file__).parent / "_static" / "readme.png"


def draw(target: Path) -> None:
    """Fit on the first half of the digits, draw what was learned and the scores of the rest."""
    digits = load_digits_tensor()
    train, test = digits.select(slice(0, 900)), digits.select(slice(900, None))
    mcsda = MCSDA(ranks=(5, 5), shrinkage="auto", max_iter=200)
    verifier = ClassSpecificVerifier(mcsda, positive=DIGIT, false_accept_rate=0.1).fit(*train)

    figure = plt.figure(figsize=(9.6, 3.4), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.12, h_pad=0.08)
    left, right = figure.subfigures(1, 2, width_ratios=[1, 1.35], wspace=0.04)
    left.suptitle(f"What it looks at to tell a {DIGIT}", fontsize=11)
    DirectionsDisplay.from_estimator(verifier, n_directions=12, n_columns=4, ax=left.subplots())
    right.suptitle(f"Scores of {len(test)} digits it has not seen", fontsize=11)
    ScoresDisplay.from_estimator(verifier, *test, ax=right.subplots())
    target.parent.mkdir(exist_ok=True)
    figure.savefig(target, dpi=150, metadata={"Software": None})
    plt.close(figure)


if __name__ == "__main__":
    draw(TARGET)
