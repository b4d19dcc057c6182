"""Whether a model is as often right as it says."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from tenfold.decisions.calibration import N_BINS, Reliability, reliability
from tenfold.decisions.scores import in_blocks, labels_like
from tenfold.plots.display import Display
from tenfold.plots.drawing import MUTED, OWN, tidy


class ReliabilityDisplay(Display):
    """The share of right answers against the probability that the model gave them.

    On the dotted line both are equal; below it a model is too sure. Larger dots stand for more
    samples. scikit-learn's `CalibrationDisplay` draws the same for two classes.

    Parameters
    ----------
    reliability : Reliability
        What to draw.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure of `ax_`.
    line_ : matplotlib Line2D
        The curve.
    dots_ : matplotlib PathCollection
        Its points.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tenfold import ProbabilisticLDA
    >>> from tenfold.plots import ReliabilityDisplay
    >>> X, y = load_digits().images, load_digits().target
    >>> model = ProbabilisticLDA().fit(X[:900], y[:900])
    >>> display = ReliabilityDisplay.from_estimator(model, X[900:], y[900:])
    >>> display.reliability.error < 0.05
    True
    """

    size = (4.4, 4.0)

    def __init__(self, reliability: Reliability):
        self.reliability = reliability

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, n_bins: int = N_BINS, ax: Any = None, **line: Any
    ) -> Self:
        """Ask for the probabilities of samples and draw how often they hold.

        Parameters
        ----------
        estimator : fitted classifier
            With a `predict_proba`.
        X : array-like of shape (n, I_1, ..., I_K)
            The samples, best those that it was not fitted on.
        y : array-like of shape (n,)
            Their labels.
        n_bins : int, default=10
            Into how many bins of equal width the probabilities are sorted.
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a new figure.
        **line
            Options of matplotlib's ``plot``.

        Returns
        -------
        display
            The display, drawn.
        """
        if not hasattr(estimator, "predict_proba"):
            raise TypeError(
                f"{type(estimator).__name__} gives no probabilities; draw a ProbabilisticLDA, or "
                "put the model into scikit-learn's CalibratedClassifierCV"
            )
        probabilities = in_blocks(estimator.predict_proba, X)
        named = estimator.classes_[probabilities.argmax(axis=1)]
        right = np.asarray(named == labels_like(y, estimator.classes_))
        found = reliability(probabilities.max(axis=1), right, n_bins)
        return cls(found).plot(ax=ax, **line)

    def _draw(self, **line: Any) -> None:
        found = self.reliability
        self.ax_.plot([0, 1], [0, 1], color=MUTED, linestyle=":", linewidth=1)
        looks = {"color": OWN, "linewidth": 1.4} | line
        (self.line_,) = self.ax_.plot(found.confidence, found.accuracy, **looks)
        sizes = 12 + 140 * found.counts / found.counts.max()
        self.dots_ = self.ax_.scatter(
            found.confidence, found.accuracy, s=sizes, color=OWN, clip_on=False, zorder=3
        )
        tidy(self.ax_)
        self.ax_.set(xlabel="probability it gave", ylabel="share that was right")
        self.ax_.set(xlim=(0, 1), ylim=(0, 1.02))
        text = f"expected calibration error {found.error:.3f}"
        self.ax_.set_title(text, fontsize="medium")
