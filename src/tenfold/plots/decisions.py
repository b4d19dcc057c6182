"""Pictures of scores: those of a class and of everything else, with the threshold.

scikit-learn draws the curves: ``RocCurveDisplay``, ``PrecisionRecallDisplay``, ``DetCurveDisplay``
and ``CalibrationDisplay`` take verifiers and `ProbabilisticLDA` as they take its own classifiers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from tenfold.classifiers.scores import class_scores
from tenfold.linalg.algebra import Array
from tenfold.plots.display import MUTED, OTHERS, OWN, Display, tidy

if TYPE_CHECKING:
    from tenfold.plots.display import Axes


@dataclass(eq=False, repr=False)
class ScoresDisplay(Display):
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
        ax: Axes | None = None,
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
            Options of matplotlib's ``stairs``, and `n_bins`, 40 by default.

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

    def _draw(self, n_bins: int = 40, **bars: object) -> None:
        self.edges_, self.shares_ = shared_histogram(self.scores, self.is_positive, n_bins)
        n_own = int(self.is_positive.sum())
        names = [f"{self.name} ({n_own})", f"others ({len(self.scores) - n_own})"]
        for share, name, colour in zip(self.shares_, names, (OWN, OTHERS), strict=True):
            looks: dict[str, Any] = {"fill": True, "alpha": 0.55, "color": colour, "linewidth": 0}
            looks = looks | bars
            self.ax_.stairs(share, self.edges_, label=name, **looks)
            self.ax_.stairs(share, self.edges_, color=colour, linewidth=1.2)
        if self.threshold is not None:
            self.ax_.axvline(self.threshold, color=MUTED, linestyle="--", label="threshold")
        tidy(self.ax_)
        self.ax_.set(xlabel="score", ylabel="share of its group", ylim=(0, None))
        self.ax_.legend(frameon=False)


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
    low = np.min(central)
    high = np.max(central)
    if np.ptp(scores) > 2 * (high - low) > 0:
        scores = np.clip(scores, low, high)
    edges = np.histogram_bin_edges(scores, n_bins)
    groups = [scores[is_positive], scores[~is_positive]]
    counts = np.array([np.histogram(group, edges)[0] for group in groups])
    return edges, counts / np.maximum(1, counts.sum(axis=1, keepdims=True))
