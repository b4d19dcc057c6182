"""A picture of the pool of views of `ProbabilisticLDA`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tenfold.classifiers.members import innermost
from tenfold.classifiers.probabilistic import ProbabilisticLDA
from tenfold.linalg.algebra import Array
from tenfold.plots.display import MUTED, OTHERS, OWN, Display, axes_grid, tidy
from tenfold.validation.samples import check_fitted

if TYPE_CHECKING:
    from tenfold.plots.display import Axes


@dataclass(eq=False, repr=False)
class PoolDisplay(Display):
    """Which views `ProbabilisticLDA` uses, and how well left-out samples are predicted.

    The left panel shows the weight of every view. The middle one shows the log loss of left-out
    samples for each view alone; a dashed line shows that of the pool. The right one shows, for
    left-out samples, how often the most probable class was right, by its mean probability; below
    the dotted line the model is too sure.

    Parameters
    ----------
    views : sequence of V str
        The views that were tried.
    weights : ndarray of shape (V,)
        Their weights in the pool.
    log_losses : ndarray of shape (V,)
        The left-out log loss of each view alone.
    pool_log_loss : float
        The left-out log loss of the pool.
    calibration : ndarray of shape (3, bins)
        Mean probability, accuracy and number of answers, by bin.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Holds the three axes.
    axes_ : ndarray of 3 matplotlib Axes
        Weights, log losses, calibration.
    figure_ : matplotlib Figure
        The figure of `ax_`.
    weight_bars_, loss_bars_ : matplotlib BarContainer
        One bar per view.
    dots_ : matplotlib PathCollection
        The bins of the calibration that have samples; the more, the larger.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tenfold import ProbabilisticLDA
    >>> from tenfold.plots import PoolDisplay
    >>> X, y = load_digits().images, load_digits().target
    >>> model = ProbabilisticLDA(views="linear").fit(X[:300], y[:300])
    >>> display = PoolDisplay.from_estimator(model)
    >>> [ax.get_title() for ax in display.axes_]
    ['weight in the pool', 'left-out log loss', 'calibration of left-out samples']
    """

    views: Sequence[str]
    weights: Array
    log_losses: Array
    pool_log_loss: float
    calibration: Array

    def __post_init__(self) -> None:
        self.weights = np.asarray(self.weights, dtype=float)
        self.log_losses = np.asarray(self.log_losses, dtype=float)
        self.calibration = np.asarray(self.calibration, dtype=float)

    @classmethod
    def from_estimator(
        cls, estimator: object, *, ax: Axes | None = None, **bars: object
    ) -> PoolDisplay:
        """Draw the pool of a fitted model.

        Parameters
        ----------
        estimator : fitted ProbabilisticLDA, or a search or pipeline over one
            The model.
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a new figure.
        **bars
            Options of matplotlib's ``barh``.

        Returns
        -------
        PoolDisplay
            The display, drawn.
        """
        model = innermost(estimator)
        if not isinstance(model, ProbabilisticLDA):
            raise TypeError(
                f"{type(model).__name__} has no pool of views; pass a fitted ProbabilisticLDA"
            )
        check_fitted(model, "pool_")
        pool = model.pool_
        found = cls(
            model.views_,
            model.weights_,
            pool["log_losses"],
            model.loo_log_loss_,
            pool["calibration"],
        )
        return found.plot(ax=ax, **bars)

    def _size(self, **bars: object) -> tuple[float, float]:
        return 9.6, max(2.6, 1.4 + 0.28 * len(self.views))

    def _draw(self, **bars: object) -> None:
        self.axes_ = axes_grid(self.ax_, 1, 3)[0]
        weights, losses, calibration = self.axes_
        places = np.arange(len(self.views))
        looks = {"color": OWN, "height": 0.6} | bars
        self.weight_bars_ = weights.barh(places, self.weights, **looks)
        weights.set_yticks(places, labels=list(self.views))
        weights.set_title("weight in the pool", fontsize="medium")
        looks["color"] = MUTED
        self.loss_bars_ = losses.barh(places, self.log_losses, **looks)
        losses.axvline(self.pool_log_loss, color=OTHERS, linestyle="--", label="the pool")
        losses.set_yticks(places, labels=[])
        losses.set_title("left-out log loss", fontsize="medium")
        losses.set_xlabel("nats")
        losses.legend(frameon=False, fontsize="small")
        for axes in (weights, losses):
            tidy(axes)
            axes.invert_yaxis()
        self._draw_calibration(calibration)

    def _draw_calibration(self, axes: Axes) -> None:
        """Bins with samples; dots of many samples are larger."""
        known = self.calibration[2] > 0
        probability, right, counts = self.calibration[:, known]
        axes.plot([0, 1], [0, 1], color=MUTED, linestyle=":", linewidth=1)
        axes.plot(probability, right, color=OWN, linewidth=1.4)
        most = counts.max() if len(counts) else 1.0
        sizes = 12 + 140 * counts / most
        self.dots_ = axes.scatter(probability, right, s=sizes, color=OWN, clip_on=False, zorder=3)
        tidy(axes)
        axes.set(xlabel="mean probability", ylabel="share that was right")
        axes.set(xlim=(0, 1), ylim=(0, 1.02))
        axes.set_title("calibration of left-out samples", fontsize="medium")
