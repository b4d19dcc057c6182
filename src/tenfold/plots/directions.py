"""Learned directions as images: the tensor kin of eigenfaces."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import ceil
from typing import Any

import numpy as np

from tenfold.decisions.members import answer_of, member_for, unwrap
from tenfold.mathematics.algebra import Array
from tenfold.methods import KERNEL_METHODS
from tenfold.plots.display import Display
from tenfold.plots.drawing import axes_grid, show_tensor
from tenfold.plots.projections import largest_positive


class DirectionsDisplay(Display):
    """What the projected numbers measure, each drawn in the space of the samples.

    Number (j_1, ..., j_K) of a projected sample is its inner product with the outer product of
    column j_k of every W_k. That outer product is drawn: blue counts against, red for. The sign
    of a direction means nothing, so each has its largest entry positive.

    Parameters
    ----------
    directions : ndarray of shape (m, I_1, ..., I_K)
        The directions.
    columns : sequence of m tuples of int
        The columns that each was made of, counted from 1.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Holds the m axes.
    axes_ : ndarray of m matplotlib Axes
        One per direction. Of samples of order 3 and more the strongest slice is drawn.
    figure_ : matplotlib Figure
        The figure of `ax_`.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tenfold import MCSDA
    >>> from tenfold.plots import DirectionsDisplay
    >>> digits = load_digits()
    >>> mcsda = MCSDA(ranks=(4, 4), positive=3).fit(digits.images, digits.target)
    >>> display = DirectionsDisplay.from_estimator(mcsda, n_directions=3)
    >>> display.directions.shape
    (3, 8, 8)
    >>> [ax.get_title() for ax in display.axes_]
    ['1, 1', '1, 2', '2, 1']
    """

    def __init__(self, directions: Array, columns: Sequence[tuple[int, ...]]):
        self.directions = np.asarray(directions)
        self.columns = list(columns)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        positive: Any = None,
        n_directions: int = 12,
        n_columns: int = 6,
        ax: Any = None,
    ) -> DirectionsDisplay:
        """Draw the first directions of a fitted model.

        Parameters
        ----------
        estimator : fitted estimator
            A projector, a verifier, a bank, `ProbabilisticLDA`, or a search or pipeline over one.
            Of a `ProbabilisticLDA` without projector the directions of its coordinates are drawn.
        positive : label or None, default=None
            Whose projector of a bank; None takes the first class.
        n_directions : int, default=12
            How many at most.
        n_columns : int, default=6
            How many side by side.
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        DirectionsDisplay
            The display, drawn.
        """
        model, _ = unwrap(estimator)
        if answer_of(model) == "probability" and not model.members_:
            found = _coordinate_directions(model, n_directions)
        else:
            found = leading_directions(member_for(estimator, positive).projector, n_directions)
        return cls(*found).plot(n_columns=n_columns, ax=ax)

    def _size(self, n_columns: int = 6) -> tuple[float, float]:
        n_columns = min(len(self.directions), n_columns)
        return 1.25 * n_columns, 1.5 * ceil(len(self.directions) / n_columns)

    def _draw(self, n_columns: int = 6) -> None:
        m = len(self.directions)
        n_columns = min(m, n_columns)
        grid = axes_grid(self.ax_, ceil(m / n_columns), n_columns)
        self.axes_ = grid.ravel()[:m]
        for axes in grid.ravel()[m:]:
            axes.set_axis_off()
        for direction, columns, axes in zip(self.directions, self.columns, self.axes_, strict=True):
            show_tensor(axes, strongest_slice(direction), signed=True)
            axes.set_title(", ".join(map(str, columns)), fontsize="small")
            axes.spines[:].set_visible(False)


def leading_directions(projector: Any, n: int) -> tuple[Array, list[tuple[int, ...]]]:
    """At most n directions of a fitted projector, those made of its first columns first.

    Returns
    -------
    directions : ndarray of shape (m, I_1, ..., I_K)
        Outer products of columns, one of each mode.
    columns : list of m tuples of int
        Which columns, counted from 1.
    """
    W = projector.projections_
    if type(projector) in KERNEL_METHODS:
        raise ValueError(
            f"{type(projector).__name__} has no directions to show: it looks at samples in the "
            "space of a kernel; show its scores (ScoresDisplay), or use CSDA"
        )
    within_reach = [min(n, P.shape[1]) for P in W]
    chosen = sorted(np.ndindex(*within_reach), key=lambda index: (sum(index), index))[:n]
    products = [
        reduce(np.multiply.outer, [P[:, j] for P, j in zip(W, index, strict=True)])
        for index in chosen
    ]
    directions = np.array(products).reshape(len(chosen), *projector.sample_shape_)
    return largest_positive(directions), [tuple(j + 1 for j in index) for index in chosen]


def _coordinate_directions(model: Any, n: int) -> tuple[Array, list[tuple[int, ...]]]:
    """At most n directions along which Gaussian classes are compared, the first ones first."""
    directions = model.directions_.T[:n].reshape(-1, *model.sample_shape_)
    return largest_positive(directions), [(j + 1,) for j in range(len(directions))]


def strongest_slice(tensor: Array) -> Array:
    """The matrix along the first two modes that holds the entry of largest magnitude."""
    if tensor.ndim <= 2:
        return tensor
    strongest = np.unravel_index(np.abs(tensor).argmax(), tensor.shape)
    return tensor[(slice(None), slice(None), *strongest[2:])]
