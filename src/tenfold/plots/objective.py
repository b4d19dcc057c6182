"""The objective, round by round."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tenfold.decisions.members import Member, members_of
from tenfold.mathematics.algebra import Array
from tenfold.plots.display import Display
from tenfold.plots.drawing import COLOURS, OWN, tidy

_QUANTITIES = {
    "class-specific": "out-class over in-class distance",
    "multi-class": "between-class over within-class distance",
    "captured": "captured scatter",
}


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

    def __init__(self, histories: Sequence[Array], names: Sequence[str], quantity: str = ""):
        self.histories = [np.asarray(history, dtype=float) for history in histories]
        self.names = list(names)
        self.quantity = quantity or "objective"

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **line: Any) -> ObjectiveDisplay:
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
        names = [str(one.label) if len(members) > 1 else "" for one in members]
        histories = [one.projector.objective_ for one in members]
        return cls(histories, names, _quantity(members[0])).plot(ax=ax, **line)

    def _draw(self, **line: Any) -> None:
        few = len(self.histories) <= len(COLOURS)
        self.lines_ = []
        for i, (history, name) in enumerate(zip(self.histories, self.names, strict=True)):
            looks = {"color": COLOURS[i]} if few else {"color": OWN, "alpha": 0.45}
            looks |= {"linewidth": 1.6 if few else 1.0, "marker": "o", "markersize": 3.5}
            rounds = np.arange(1, len(history) + 1)
            self.lines_ += self.ax_.plot(rounds, history, label=name or None, **(looks | line))
        tidy(self.ax_)
        longest = max(map(len, self.histories))
        self.ax_.set(xlabel="round", ylabel=self.quantity, xlim=(0.5, longest + 0.5))
        self.ax_.xaxis.get_major_locator().set_params(integer=True)
        if few and any(self.names):
            self.ax_.legend(frameon=False)


def _quantity(member: Member) -> str:
    if not member.projector._needs_labels:
        return _QUANTITIES["captured"]
    return _QUANTITIES["multi-class" if member.label is None else "class-specific"]
