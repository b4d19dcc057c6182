"""What all displays share: axes to draw on, which are kept; colours and SVG.

This is the only place that imports matplotlib.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from types import ModuleType
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from tenfold.extras import require_extra
from tenfold.linalg.algebra import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.lines import Line2D

# Okabe and Ito's colours, which people with any kind of colour vision tell apart. Yellow and black
# are left out, because one of them vanishes on white or on a dark page.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
OWN, OTHERS = COLOURS[0], COLOURS[1]  # the positive class, and everything else
MUTED = "#8a9099"  # grid-like things; half way between white and black
SIGNED = "RdBu_r"  # for numbers about zero
AMOUNT = "viridis"  # for numbers of one sign


def _matplotlib() -> ModuleType:
    with require_extra("plots need matplotlib", "plot"):
        import matplotlib
        import matplotlib.figure
        import matplotlib.pyplot
    return matplotlib


def axes_grid(outer: Axes, rows: int, columns: int) -> Array:
    """A grid of `rows` x `columns` axes inside an axes that shows nothing itself."""
    outer.set_axis_off()
    place = outer.get_subplotspec()
    if place is None:
        raise ValueError(
            "ax has no place in a grid of its figure, so it cannot be divided; make it with "
            "plt.subplots or figure.add_subplot"
        )
    inner = place.subgridspec(rows, columns)
    axes = np.empty((rows, columns), dtype=object)
    for row, column in np.ndindex(rows, columns):
        axes[row, column] = outer.figure.add_subplot(inner[row, column])
    return axes


def detached_figure(size: tuple[float, float]) -> Figure:
    """A new figure that pyplot does not know, so that nobody has to close it."""
    figure: Figure = _matplotlib().figure.Figure(figsize=size, layout="constrained")
    return figure


def settings(values: Mapping[str, object]) -> AbstractContextManager[None]:
    """Settings of matplotlib, changed for the length of a ``with`` block."""
    context: AbstractContextManager[None] = _matplotlib().rc_context(values)
    return context


def palette(name: str) -> Array:
    """A colour map as 256 colours, an array of uint8 of shape (256, 3)."""
    colours: Array = _matplotlib().colormaps[name](np.arange(256))
    return np.round(255 * colours[:, :3]).astype(np.uint8)


def svg(figure: Figure) -> str:
    """The figure as SVG text with transparent ground, the same for the same figure."""
    text = io.StringIO()
    unchanging = {"svg.fonttype": "none", "svg.hashsalt": "tenfold"}
    with settings(unchanging):
        figure.savefig(text, format="svg", transparent=True, metadata={"Date": None})
    return text.getvalue()


def tidy(ax: Axes) -> None:
    """Only the two spines that carry numbers, and a faint grid behind the data."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(True, color=MUTED, alpha=0.25, linewidth=0.6)
    ax.set_axisbelow(True)


def show_tensor(ax: Axes, values: Array, *, signed: bool, cmap: str | None = None) -> None:
    """A vector as a line, a matrix as an image without ticks; signed values about zero."""
    limit = float(np.abs(values).max()) or 1.0
    if values.ndim == 1:
        ax.axhline(0, color=MUTED, linewidth=0.6)
        ax.plot(values, color=OWN, linewidth=1.2)
        ax.set(ylim=(-1.1 * limit if signed else None, 1.1 * limit))
    else:
        ax.imshow(
            values,
            cmap=cmap or (SIGNED if signed else AMOUNT),
            aspect="equal" if max(values.shape) <= 4 * min(values.shape) else "auto",
            vmin=-limit if signed else None,
            vmax=limit if signed else None,
        )
    ax.set(xticks=[], yticks=[])


class Display:
    """Something that can be drawn; a subclass says what in `_draw`."""

    size = (5.6, 3.4)  # of a new figure, in inches
    ax_: Axes
    figure_: Figure | SubFigure
    _draw: Callable[..., None]  # with the options of the display

    def plot(self, *, ax: Axes | None = None, **options: object) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a new figure.
        **options
            Options of what is drawn; ``from_estimator`` says which.

        Returns
        -------
        display
            The display itself.
        """
        if ax is None:
            size = self._size(**options)
            ax = _matplotlib().pyplot.subplots(figsize=size, layout="constrained")[1]
        self.ax_ = ax
        self.figure_ = self.ax_.figure
        self._draw(**options)
        return self

    def _size(self, *args: Any, **options: Any) -> tuple[float, float]:
        return self.size

    def _draw_lines(self, curves: Sequence[tuple[Array, Array, str]], **looks: object) -> None:
        """One line for each (x, y, name); names and colours of their own where they are few."""
        few = len(curves) <= len(COLOURS)
        names = [name for *_, name in curves]
        self.lines_: list[Line2D] = []
        for i, (x, y, name) in enumerate(curves):
            own: dict[str, Any] = {"color": OWN, "linewidth": 1.0, "alpha": 0.4}
            if few:
                own = {"color": COLOURS[i % len(COLOURS)], "linewidth": 1.7}
            own = {"label": name or None} | own | looks
            self.lines_ += self.ax_.plot(x, y, **own)
        tidy(self.ax_)
        if few and any(names):
            self.ax_.legend(frameon=False, fontsize="small")
