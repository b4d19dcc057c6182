"""The columns of each projection matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tenfold.decisions.members import member_for, mode_names_of
from tenfold.mathematics.algebra import Array
from tenfold.plots.display import Display
from tenfold.plots.drawing import SIGNED, axes_grid

MOST_TICKS = 12  # names beside a heat map


class ProjectionsDisplay(Display):
    """Every projection matrix as a heat map: entries of the mode down, columns across.

    The sign of a column means nothing, so each is drawn with its largest entry positive.

    Parameters
    ----------
    projections : list of K ndarrays of shape (I_k, r_k)
        One matrix per mode.
    mode_names : sequence of K str, default=()
        What each mode counts; modes are numbered when there are no names.
    mode_labels : sequence of K arrays of shape (I_k,) or None, default=()
        What the entries of each mode are called, such as channels.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Holds the K axes.
    axes_ : ndarray of K matplotlib Axes
        One per mode.
    figure_ : matplotlib Figure
        The figure of `ax_`.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tenfold import MPCA
    >>> from tenfold.plots import ProjectionsDisplay
    >>> mpca = MPCA(ranks=(4, 3)).fit(load_digits().images)
    >>> display = ProjectionsDisplay.from_estimator(mpca, mode_names=("row", "column"))
    >>> [ax.get_title() for ax in display.axes_]
    ['row (8 to 4)', 'column (8 to 3)']
    """

    def __init__(
        self,
        projections: Sequence[Array],
        mode_names: Sequence[str] = (),
        mode_labels: Sequence[Any] = (),
    ):
        self.projections = [largest_positive(np.asarray(W).T).T for W in projections]
        self.mode_names = tuple(mode_names)
        self.mode_labels = list(mode_labels) or [None] * len(self.projections)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        positive: Any = None,
        mode_names: Sequence[str] = (),
        ax: Any = None,
        **image: Any,
    ) -> ProjectionsDisplay:
        """Draw the projections of a fitted model.

        Parameters
        ----------
        estimator : fitted estimator
            A projector, a verifier, a bank, or a search or pipeline over one.
        positive : label or None, default=None
            Whose projector of a bank; None takes the first class.
        mode_names : sequence of K str, default=()
            What each mode counts; by default the names of the samples that were fitted.
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a new figure.
        **image
            Options of matplotlib's ``imshow``.

        Returns
        -------
        ProjectionsDisplay
            The display, drawn.
        """
        projections = member_for(estimator, positive).projector.projections_
        known, labels = mode_names_of(estimator)
        names = tuple(mode_names) or known
        names = names if len(names) == len(projections) else ()
        labels = labels if names else []
        return cls(projections, names, labels).plot(ax=ax, **image)

    def _size(self, **image: Any) -> tuple[float, float]:
        return 3.2 * len(self.projections), 3.4

    def _draw(self, **image: Any) -> None:
        self.axes_ = axes_grid(self.ax_, 1, len(self.projections))[0]
        for mode, (W, axes) in enumerate(zip(self.projections, self.axes_, strict=True)):
            limit = float(np.abs(W).max()) or 1.0
            looks = {"cmap": SIGNED, "vmin": -limit, "vmax": limit, "aspect": "auto"}
            first = (0.5, W.shape[1] + 0.5, W.shape[0] + 0.5, 0.5)  # people count from 1
            axes.imshow(W, **(looks | {"extent": first, "interpolation": "nearest"} | image))
            name = self.mode_names[mode] if self.mode_names else f"mode {mode + 1}"
            axes.set(title=f"{name} ({W.shape[0]} to {W.shape[1]})", xlabel="column", ylabel=name)
            for axis in (axes.xaxis, axes.yaxis):
                axis.get_major_locator().set_params(integer=True)
            if self.mode_labels[mode] is not None:
                places = np.linspace(0, len(W) - 1, min(len(W), MOST_TICKS)).round().astype(int)
                shown = [str(self.mode_labels[mode][i]) for i in places]
                axes.set_yticks(places + 1, labels=shown)


def largest_positive(rows: Array) -> Array:
    """Each row with the sign that makes its entry of largest magnitude positive.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.plots.projections import largest_positive
    >>> largest_positive(np.array([[1.0, -3.0], [2.0, 1.0]])).tolist()
    [[-1.0, 3.0], [2.0, 1.0]]
    """
    flat = rows.reshape(len(rows), -1)
    largest = np.take_along_axis(flat, np.abs(flat).argmax(axis=1)[:, None], axis=1)
    return (np.where(largest < 0, -1, 1) * flat).reshape(rows.shape)
