"""Pictures of decisions: curves, both errors at every threshold, histograms of scores, reliability.

scikit-learn's own displays draw one curve of a classifier. Here there are up to hundreds of
classes, and models that score without being classifiers; its metrics do the counting.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.metrics import (
    average_precision_score,
    precision_recall_curve,
    roc_auc_score,
    roc_curve,
)

from tenfold.classifiers.scores import ClassScores, class_scores, in_blocks, labels_like
from tenfold.linalg.algebra import Array
from tenfold.metrics.calibration import N_BINS, Reliability, reliability
from tenfold.plots.display import COLOURS, MUTED, OTHERS, OWN, Display, tidy


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
    def from_estimator(
        cls, estimator: object, X: object, y: object, *, ax: object = None, **line: object
    ) -> Self:
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

    def _draw(self, **line: object) -> None:
        each = [
            (one.x, one.y, f"{one.label} ({self.summary_name} {100 * one.summary:.1f})")
            for one in self.curves
        ]
        self._draw_lines(each, **({"drawstyle": self.steps, "clip_on": False} | line))
        self.ax_.set(xlabel=self.x_name, ylabel=self.y_name, xlim=(0, 1), ylim=(0, 1.02))
        if len(self.curves) > len(COLOURS):
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

    def _draw(self, **line: object) -> None:
        super()._draw(**line)
        self.ax_.plot([0, 1], [0, 1], color=MUTED, linestyle=":", linewidth=1)  # chance


@dataclass(eq=False, repr=False)
class _OneClassDisplay(Display):
    """Scores of one class and of everything else, and a threshold; subclasses say what is drawn."""

    scores: Array
    is_positive: Array
    threshold: float | None = None
    name: str = "positive"

    def __post_init__(self) -> None:
        self.scores = np.asarray(self.scores, dtype=float)
        self.is_positive = np.asarray(self.is_positive, dtype=bool)

    @classmethod
    def from_estimator(
        cls,
        estimator: object,
        X: object,
        y: object,
        *,
        positive: object = None,
        threshold: float | None = None,
        ax: object = None,
        **options: object,
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
        threshold : float or None, default=None
            None takes that of a verifier.
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a new figure.
        **options
            Options of matplotlib's ``plot``; of `ScoresDisplay` those of ``stairs``, and `n_bins`,
            40 by default.

        Returns
        -------
        display
            The display, drawn.
        """
        found = class_scores(estimator, X, y)
        one = [c for c in found if positive is None or c.label == positive]
        if not one:
            raise ValueError(
                f"class {positive!r} is not scored by this model; choose one of "
                f"{[c.label for c in found]}"
            )
        label, scores, is_positive, own = one[0]
        at = own if threshold is None else threshold
        return cls(scores, is_positive, at, str(label)).plot(ax=ax, **options)

    def _finish(self, **axes: object) -> None:
        """The threshold, names of the axes and a legend."""
        if self.threshold is not None:
            self.ax_.axvline(self.threshold, color=MUTED, linestyle="--", label="threshold")
        tidy(self.ax_)
        self.ax_.set(**axes)
        self.ax_.legend(frameon=False)


class ErrorRatesDisplay(_OneClassDisplay):
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
    name : str, default="positive"
        The class.

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

    def _draw(self, **line: object) -> None:
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
        low, high = np.percentile(self.scores, [1, 100])
        self._finish(xlabel="threshold", ylabel="percent", ylim=(0, 100), xlim=(low, high))


class ScoresDisplay(_OneClassDisplay):
    """How far the scores of one class lie from those of everything else.

    Both histograms share their bins, and each is a share of its own group, so that few positives
    can be seen next to many negatives. Very far scores count in the outermost bins.

    Parameters
    ----------
    scores : ndarray of shape (n,)
        The larger, the more like the class.
    is_positive : ndarray of shape (n,)
        Which samples are of the class.
    threshold : float or None, default=None
        Samples that score at least this are accepted.
    name : str, default="positive"
        The class.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure of `ax_`.
    edges_ : ndarray of shape (n_bins + 1,)
        The edges of the bins.
    shares_ : ndarray of shape (2, n_bins)
        Share of the positives and of the negatives in each bin.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tenfold import MCSDA
    >>> from tenfold.plots import ScoresDisplay
    >>> X, y = load_digits().images, load_digits().target
    >>> mcsda = MCSDA(ranks=(4, 4), positive=3).fit(X, y)
    >>> display = ScoresDisplay.from_estimator(mcsda, X, y)
    >>> display.shares_.sum(axis=1).round(6).tolist()
    [1.0, 1.0]
    """

    def _draw(self, n_bins: int = 40, **bars: Any) -> None:
        self.edges_, self.shares_ = shared_histogram(self.scores, self.is_positive, n_bins)
        n_own = int(self.is_positive.sum())
        names = [f"{self.name} ({n_own})", f"others ({len(self.scores) - n_own})"]
        for share, name, colour in zip(self.shares_, names, (OWN, OTHERS), strict=True):
            looks = {"fill": True, "alpha": 0.55, "color": colour, "linewidth": 0}
            self.ax_.stairs(share, self.edges_, label=name, **(looks | bars))
            self.ax_.stairs(share, self.edges_, color=colour, linewidth=1.2)
        self._finish(xlabel="score", ylabel="share of its group", ylim=(0, None))


def shared_histogram(scores: Array, is_positive: Array, n_bins: int) -> tuple[Array, Array]:
    """Histograms of positives and negatives over the same bins.

    When a few far scores would squeeze all others into a corner, the bins end at the 1st and 99th
    percentile of the groups, and what lies beyond counts in the outermost bins.

    Returns
    -------
    edges : ndarray of shape (n_bins + 1,)
        The edges of the bins.
    shares : ndarray of shape (2, n_bins)
        Share of the positives and of the negatives in each bin; zeros for a group without samples.
    """
    groups = [group for group in (scores[is_positive], scores[~is_positive]) if len(group)]
    central = np.percentile(groups[0], [1, 99]), np.percentile(groups[-1], [1, 99])
    low, high = np.min(central), np.max(central)
    if np.ptp(scores) > 2 * (high - low) > 0:
        scores = np.clip(scores, low, high)
    edges = np.histogram_bin_edges(scores, n_bins)
    groups = [scores[is_positive], scores[~is_positive]]
    counts = np.array([np.histogram(group, edges)[0] for group in groups])
    return edges, counts / np.maximum(1, counts.sum(axis=1, keepdims=True))


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
        cls,
        estimator: Any,
        X: object,
        y: Any,
        *,
        n_bins: int = N_BINS,
        ax: object = None,
        **line: object,
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

    def _draw(self, **line: object) -> None:
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
