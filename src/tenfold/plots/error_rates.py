"""Both errors of a yes-or-no decision at every threshold."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from tenfold.decisions.scores import ClassScores, class_scores
from tenfold.mathematics.algebra import Array
from tenfold.plots.display import Display
from tenfold.plots.drawing import MUTED, OTHERS, OWN, tidy


class ErrorRatesDisplay(Display):
    """Share of false accepts and of false rejects against the threshold.

    Where the curves cross, both errors are equal. A dashed line shows the threshold of the model.

    Parameters
    ----------
    scores : ndarray of shape (n,)
        How like the class each sample is.
    is_positive : ndarray of shape (n,)
        Which samples are of the class.
    threshold : float or None, default=None
        Samples that score at least this are accepted.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure of `ax_`.
    thresholds_, false_accepts_, false_rejects_ : ndarrays of shape (m,)
        What was drawn.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tenfold import MCSDA
    >>> from tenfold.plots import ErrorRatesDisplay
    >>> X, y = load_digits().images, load_digits().target
    >>> model = MCSDA((5, 5), positive=7).fit(X[:900], y[:900])
    >>> display = ErrorRatesDisplay.from_estimator(model, X[900:], y[900:])
    >>> float(display.false_accepts_[0]), float(display.false_rejects_[0])
    (1.0, 0.0)
    """

    size = (7.2, 3.0)

    def __init__(self, scores: Array, is_positive: Array, threshold: float | None = None):
        self.scores = np.asarray(scores, dtype=float)
        self.is_positive = np.asarray(is_positive, dtype=bool)
        self.threshold = threshold

    @classmethod
    def from_scores(cls, one: ClassScores) -> Self:
        """From the scores of one class."""
        return cls(one.scores, one.is_positive, one.threshold)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, positive: Any = None, ax: Any = None, **line: Any
    ) -> Self:
        """Score samples and draw.

        Parameters
        ----------
        estimator : fitted estimator
            A class-specific projector, a verifier, a bank or `ProbabilisticLDA`, or a search or
            pipeline over one.
        X : array-like of shape (n, I_1, ..., I_K)
            The samples, best those that it was not fitted on.
        y : array-like of shape (n,)
            Their labels.
        positive : label or None, default=None
            Which class of a bank; None takes the first.
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a new figure.
        **line
            Options of matplotlib's ``plot``.

        Returns
        -------
        display
            The display, drawn.
        """
        found = class_scores(estimator, X, y)
        one = [c for c in found if positive is None or c.label == positive]
        if not one:
            labels = [c.label for c in found]
            raise ValueError(f"class {positive!r} is not scored; choose one of {labels}")
        return cls.from_scores(one[0]).plot(ax=ax, **line)

    def _draw(self, **line: Any) -> None:
        own = np.sort(self.scores[self.is_positive])
        others = np.sort(self.scores[~self.is_positive])
        if not len(own) or not len(others):
            raise ValueError("all samples are of one group; pass samples of the class and others")
        self.thresholds_ = np.unique(self.scores)
        self.false_accepts_ = 1 - np.searchsorted(others, self.thresholds_) / len(others)
        self.false_rejects_ = np.searchsorted(own, self.thresholds_) / len(own)
        curves = [("false rejects", self.false_rejects_, OWN)]
        curves += [("false accepts", self.false_accepts_, OTHERS)]
        for name, rates, colour in curves:
            looks = {"color": colour, "linewidth": 1.6, "drawstyle": "steps-post"} | line
            self.ax_.plot(self.thresholds_, 100 * rates, label=name, **looks)
        if self.threshold is not None:
            self.ax_.axvline(self.threshold, color=MUTED, linestyle="--", label="threshold")
        tidy(self.ax_)
        low, high = np.percentile(self.scores, [1, 100])
        self.ax_.set(xlabel="threshold", ylabel="percent", ylim=(0, 100), xlim=(low, high))
        self.ax_.legend(frameon=False)
