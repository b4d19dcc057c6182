"""Pictures of what was learned, and how.

Directions as images, the tensor kin of eigenfaces; the columns of each projection matrix; and the
objective, round by round.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from tenfold.classifiers.members import (
    Member,
    filters_or_patterns,
    member_for,
    members_of,
    mode_names_of,
    unwrap,
)
from tenfold.classifiers.probabilistic import ProbabilisticLDA
from tenfold.linalg.algebra import Array
from tenfold.methods import KERNEL_METHODS
from tenfold.methods.base import TensorProjector
from tenfold.plots.display import SIGNED, Display, axes_grid, show_tensor
from tenfold.validation.parameters import plain

if TYPE_CHECKING:
    from tenfold.plots.display import Axes


@dataclass(eq=False, repr=False)
class DirectionsDisplay(Display):
    """What the projected numbers measure, each drawn in the space of the samples.

    Number (j_1, ..., j_K) of a projected sample is its inner product with the outer product of
    column j_k of every W_k. That outer product is drawn: blue counts against, red for. The sign
    of a direction means nothing, so each has its largest entry positive. Directions are filters,
    which also suppress noise; patterns show what varies in the samples when the number does.

    Parameters
    ----------
    directions : ndarray of shape (m, I_1, ..., I_K)
        The directions or patterns.
    columns : sequence of m tuples
        The columns that each was made of, counted from 1; or the label of its class.
    mode_names : sequence of K str, default=()
        What each mode counts; written beside the first picture.

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

    directions: Array
    columns: Sequence[tuple[object, ...]]
    mode_names: Sequence[str] = ()

    def __post_init__(self) -> None:
        self.directions = np.asarray(self.directions)

    @classmethod
    def from_estimator(
        cls,
        estimator: object,
        *,
        patterns: bool = False,
        positive: object = None,
        mode_names: Sequence[str] = (),
        n_directions: int = 12,
        n_columns: int = 6,
        ax: Axes | None = None,
    ) -> DirectionsDisplay:
        """Draw the first directions of a fitted model, or their patterns.

        Parameters
        ----------
        estimator : fitted estimator
            A projector, a verifier, a bank, `ProbabilisticLDA`, or a search or pipeline over one.
            Of a `ProbabilisticLDA` without a projector before it, the patterns of its classes are
            drawn, those of `positive` alone if it is named.
        patterns : bool, default=False
            Draw `patterns_` in place of `projections_`.
        positive : label or None, default=None
            Whose projector of a bank; None takes the first class.
        mode_names : sequence of K str, default=()
            What each mode counts; by default the names of the samples that were fitted.
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
        names = tuple(mode_names) or mode_names_of(estimator)[0]
        if isinstance(model, ProbabilisticLDA) and not members_of(estimator):
            drawn, titles = class_patterns(model, n_directions, positive)
            return cls(drawn, titles, names).plot(n_columns=n_columns, ax=ax)
        projector = member_for(estimator, positive).projector
        found = leading_directions(projector, n_directions, patterns)
        return cls(*found, names).plot(n_columns=n_columns, ax=ax)

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
        if len(self.mode_names) > 1:
            down, across = self.mode_names[:2]
            self.axes_[0].set_ylabel(down, fontsize="small")
            self.axes_[0].set_xlabel(across, fontsize="small")


def leading_directions(
    projector: TensorProjector, n: int, patterns: bool = False
) -> tuple[Array, list[tuple[int, ...]]]:
    """At most n directions of a fitted projector, those made of its first columns first.

    Returns
    -------
    directions : ndarray of shape (m, I_1, ..., I_K)
        Outer products of columns, one of each mode.
    columns : list of m tuples of int
        Which columns, counted from 1.
    """
    if type(projector) in KERNEL_METHODS:
        raise ValueError(
            f"{type(projector).__name__} has no directions to show: it looks at samples in the "
            "space of a kernel; show its scores (ScoresDisplay), or use CSDA"
        )
    W = filters_or_patterns(projector, patterns)
    within_reach = [min(n, P.shape[1]) for P in W]
    chosen = sorted(np.ndindex(*within_reach), key=lambda index: (sum(index), index))[:n]
    products = [
        reduce(np.multiply.outer, [P[:, j] for P, j in zip(W, index, strict=True)])
        for index in chosen
    ]
    directions = np.array(products).reshape(len(chosen), *projector.sample_shape_)
    return largest_positive(directions), [tuple(j + 1 for j in index) for index in chosen]


def class_patterns(
    model: ProbabilisticLDA, n: int, positive: object = None
) -> tuple[Array, list[tuple[object]]]:
    """The patterns of at most n classes of a `ProbabilisticLDA`, and their labels.

    The sign of a pattern means something: red numbers are larger where the class is more likely.
    """
    labels = model.classes_.tolist()
    places = list(range(min(n, len(labels))))
    if positive is not None:
        if positive not in labels:
            raise ValueError(f"there is no class {plain(positive)!r}; choose one of {labels}")
        places = [labels.index(positive)]
    return model.patterns_[places], [(labels[place],) for place in places]


def strongest_slice(tensor: Array) -> Array:
    """The matrix along the first two modes that holds the entry of largest magnitude."""
    if tensor.ndim <= 2:
        return tensor
    slices = tensor.reshape(*tensor.shape[:2], -1)
    strongest = np.abs(slices).max(axis=(0, 1)).argmax()
    return slices[:, :, strongest]


MOST_TICKS = 12  # names beside a heat map


@dataclass(eq=False, repr=False)
class ProjectionsDisplay(Display):
    """Every projection matrix as a heat map: entries of the mode down, columns across.

    The sign of a column means nothing, so each is drawn with its largest entry positive. Columns of
    a projection are filters; ask for patterns to see what varies in the samples.

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

    projections: Sequence[Array]
    mode_names: Sequence[str] = ()
    mode_labels: Sequence[Array | None] = ()

    def __post_init__(self) -> None:
        self.projections = [np.asarray(P) for P in self.projections]

    @classmethod
    def from_estimator(
        cls,
        estimator: object,
        *,
        patterns: bool = False,
        positive: object = None,
        mode_names: Sequence[str] = (),
        ax: Axes | None = None,
        **image: object,
    ) -> ProjectionsDisplay:
        """Draw the projections of a fitted model, or their patterns.

        Parameters
        ----------
        estimator : fitted estimator
            A projector, a verifier, a bank, or a search or pipeline over one.
        patterns : bool, default=False
            Draw `patterns_` in place of `projections_`.
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
        projections = filters_or_patterns(member_for(estimator, positive).projector, patterns)
        known, labels = mode_names_of(estimator)
        names = tuple(mode_names) or known
        names = names if len(names) == len(projections) else ()
        labels = labels if names else []
        return cls(projections, names, labels).plot(ax=ax, **image)

    def _size(self, **image: object) -> tuple[float, float]:
        return 3.2 * len(self.projections), 3.4

    def _draw(self, **image: object) -> None:
        self.axes_ = axes_grid(self.ax_, 1, len(self.projections))[0]
        labels = list(self.mode_labels) or [None] * len(self.projections)
        for mode, (P, axes) in enumerate(zip(self.projections, self.axes_, strict=True)):
            W = largest_positive(P.T).T
            limit = float(np.abs(W).max()) or 1.0
            looks = {"cmap": SIGNED, "vmin": -limit, "vmax": limit, "aspect": "auto"}
            looks["extent"] = (0.5, W.shape[1] + 0.5, W.shape[0] + 0.5, 0.5)  # people count from 1
            looks["interpolation"] = "nearest"
            looks |= image
            axes.imshow(W, **looks)
            name = self.mode_names[mode] if len(self.mode_names) else f"mode {mode + 1}"
            axes.set(title=f"{name} ({W.shape[0]} to {W.shape[1]})", xlabel="column", ylabel=name)
            axes.locator_params(integer=True)
            entries = labels[mode]
            if entries is not None:
                places = np.linspace(0, len(W) - 1, min(len(W), MOST_TICKS)).round().astype(int)
                shown = [str(entries[i]) for i in places]
                axes.set_yticks(places + 1, labels=shown)


def largest_positive(rows: Array) -> Array:
    """Each row with the sign that makes its entry of largest magnitude positive.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.plots.subspaces import largest_positive
    >>> largest_positive(np.array([[1.0, -3.0], [2.0, 1.0]])).tolist()
    [[-1.0, 3.0], [2.0, 1.0]]
    """
    flat = rows.reshape(len(rows), -1)
    largest = np.take_along_axis(flat, np.abs(flat).argmax(axis=1)[:, None], axis=1)
    return (np.where(largest < 0, -1, 1) * flat).reshape(rows.shape)


@dataclass(eq=False, repr=False)
class ObjectiveDisplay(Display):
    """The objective after each round of the alternation.

    Parameters
    ----------
    histories : list of ndarray of shape (n_rounds,)
        One history per model.
    names : list of str
        What to call each of them; an empty name is not put in the legend.
    quantity : str, default="objective"
        What the objective measures.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure of `ax_`.
    lines_ : list of matplotlib Line2D
        One line per history.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tenfold import MCSDA
    >>> from tenfold.plots import ObjectiveDisplay
    >>> digits = load_digits()
    >>> mcsda = MCSDA(ranks=(4, 4), positive=3).fit(digits.images, digits.target)
    >>> display = ObjectiveDisplay.from_estimator(mcsda)
    >>> display.ax_.get_xlabel()
    'round'
    """

    histories: Sequence[Array]
    names: Sequence[str]
    quantity: str = "objective"

    @classmethod
    def from_estimator(
        cls, estimator: object, *, ax: Axes | None = None, **line: object
    ) -> ObjectiveDisplay:
        """Draw the history of a fitted model; of a bank, one line per class.

        Parameters
        ----------
        estimator : fitted estimator
            A projector, a verifier, a bank, or a search or pipeline over one.
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a new figure.
        **line
            Options of matplotlib's ``plot``.

        Returns
        -------
        ObjectiveDisplay
            The display, drawn.
        """
        members = members_of(estimator)
        if not members:
            raise ValueError(
                "ProbabilisticLDA is learned without rounds, so there is no objective to draw; "
                "show its pool of views (PoolDisplay)"
            )
        names = [str(one.label) if len(members) > 1 else "" for one in members]
        histories = [one.projector.objective_ for one in members]
        return cls(histories, names, _quantity(members[0])).plot(ax=ax, **line)

    def _draw(self, **line: object) -> None:
        rounds = [np.arange(1, len(history) + 1) for history in self.histories]
        each = list(zip(rounds, self.histories, self.names, strict=True))
        looks = {"marker": "o", "markersize": 3.5} | line
        self._draw_lines(each, **looks)
        longest = max(map(len, self.histories))
        self.ax_.set(xlabel="round", ylabel=self.quantity or "objective", xlim=(0.5, longest + 0.5))
        self.ax_.locator_params(axis="x", integer=True)


def _quantity(member: Member) -> str:
    if not member.projector._needs_labels:
        return "captured scatter"
    if member.label is None:
        return "between-class over within-class distance"
    return "out-class over in-class distance"
