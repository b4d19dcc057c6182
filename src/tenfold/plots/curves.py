"""Precision-recall and ROC curves, one per class.

scikit-learn's own displays draw one curve of a classifier. Here there are up to hundreds of
classes, and models that score without being classifiers; its metrics do the counting.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.metrics import (
    average_precision_score,
    precision_recall_curve,
    roc_auc_score,
    roc_curve,
)

from tenfold.decisions.scores import ClassScores, class_scores
from tenfold.mathematics.algebra import Array
from tenfold.plots.display import Display
from tenfold.plots.drawing import COLOURS, MUTED, OWN, tidy


class Curve(NamedTuple):
    """One curve and the number that sums it up."""

    label: Any
    x: Array
    y: Array
    summary: float


class _CurvesDisplay(Display):
    """Curves of several classes in one frame; says which in its subclasses."""

    x_name = y_name = summary_name = ""
    steps: str = "default"
    size = (4.4, 4.0)

    def __init__(self, curves: Sequence[Curve]):
        self.curves = list(curves)

    @staticmethod
    def _curve(found: ClassScores) -> Curve:
        raise NotImplementedError

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, ax: Any = None, **line: Any) -> Self:
        """Score samples and draw one curve per class.

        Parameters
        ----------
        estimator : fitted estimator
            A class-specific projector, a verifier or a bank, or a search or pipeline over one.
        X : array-like of shape (n, I_1, ..., I_K)
            The samples.
        y : array-like of shape (n,)
            Their labels. A class without samples, or with nothing but samples of it, has no curve.
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a new figure.
        **line
            Options of matplotlib's ``plot``.

        Returns
        -------
        display
            The display, drawn.
        """
        return cls.from_scores(class_scores(estimator, X, y)).plot(ax=ax, **line)

    @classmethod
    def from_scores(cls, scores: Sequence[ClassScores]) -> Self:
        """The display of scores that are already there, not yet drawn."""
        both = [found for found in scores if 0 < found.is_positive.sum() < len(found.scores)]
        if not both:
            raise ValueError(
                "no class has both positive and negative samples here, so there is no curve; "
                "pass samples of the model's classes and of others"
            )
        return cls([cls._curve(found) for found in both])

    def _draw(self, **line: Any) -> None:
        few = len(self.curves) <= len(COLOURS)
        self.lines_ = []
        for i, curve in enumerate(self.curves):
            looks = {"color": COLOURS[i]} if few else {"color": OWN, "alpha": 0.35}
            looks |= {"linewidth": 1.8 if few else 1.0, "drawstyle": self.steps, "clip_on": False}
            name = f"{curve.label} ({self.summary_name} {100 * curve.summary:.1f})"
            self.lines_ += self.ax_.plot(
                curve.x, curve.y, label=name if few else None, **(looks | line)
            )
        tidy(self.ax_)
        self.ax_.set(xlabel=self.x_name, ylabel=self.y_name, xlim=(0, 1), ylim=(0, 1.02))
        if few:
            self.ax_.legend(frameon=False, fontsize="small")
        else:
            mean = np.mean([curve.summary for curve in self.curves])
            text = f"{len(self.curves)} classes, mean {self.summary_name} {100 * mean:.1f}"
            self.ax_.set_title(text, fontsize="medium")


class PrecisionRecallDisplay(_CurvesDisplay):
    """Precision against recall, one curve per class.

    Parameters
    ----------
    curves : list of (label, recall, precision, average precision)
        What to draw.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure of `ax_`.
    lines_ : list of matplotlib Line2D
        One per class.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tenfold import MCSDA
    >>> from tenfold.plots import PrecisionRecallDisplay
    >>> X, y = load_digits().images, load_digits().target
    >>> mcsda = MCSDA(ranks=(4, 4), positive=3).fit(X, y)
    >>> display = PrecisionRecallDisplay.from_estimator(mcsda, X, y)
    >>> [int(curve.label) for curve in display.curves]
    [3]
    """

    x_name, y_name, summary_name = "recall", "precision", "AP"
    steps = "steps-post"

    @staticmethod
    def _curve(found: ClassScores) -> Curve:
        truth, scores = found.is_positive, found.scores
        precision, recall, _ = precision_recall_curve(truth, scores, drop_intermediate=True)
        # scikit-learn's recall falls from 1 to 0, and a step lasts until the next lower recall.
        average = float(average_precision_score(truth, scores))
        return Curve(found.label, recall, precision, average)


class RocDisplay(_CurvesDisplay):
    """True accepts against false accepts, one curve per class.

    Parameters
    ----------
    curves : list of (label, false accept rate, true accept rate, area)
        What to draw.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure of `ax_`.
    lines_ : list of matplotlib Line2D
        One per class.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tenfold import MCSDA
    >>> from tenfold.plots import RocDisplay
    >>> X, y = load_digits().images, load_digits().target
    >>> mcsda = MCSDA(ranks=(4, 4), positive=3).fit(X, y)
    >>> RocDisplay.from_estimator(mcsda, X, y).ax_.get_xlabel()
    'false accept rate'
    """

    x_name, y_name, summary_name = "false accept rate", "true accept rate", "AUC"

    @staticmethod
    def _curve(found: ClassScores) -> Curve:
        truth, scores = found.is_positive, found.scores
        false, true, _ = roc_curve(truth, scores)
        return Curve(found.label, false, true, float(roc_auc_score(truth, scores)))

    def _draw(self, **line: Any) -> None:
        super()._draw(**line)
        self.ax_.plot([0, 1], [0, 1], color=MUTED, linestyle=":", linewidth=1)  # chance
