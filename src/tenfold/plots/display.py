"""What all displays share: axes to draw on, which are kept; colours and SVG.

This is the only place that imports matplotlib.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Self

import numpy as np

from tenfold.extras import require_extra
from tenfold.linalg.algebra import Array

# Okabe and Ito's colours, which people with any kind of colour vision tell apart. Yellow and black
# are left out, because one of them vanishes on white or on a dark page.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
OWN, OTHERS = COLOURS[0], COLOURS[1]  # the positive class, and everything else
MUTED = "#8a9099"  # grid-like things; half way between white and black
SIGNED = "RdBu_r"  # for numbers about zero
AMOUNT = "viridis"  # for numbers of one sign


def _matplotlib() -> Any:
    with require_extra("plots need matplotlib", "plot"):
        import matplotlib
        import matplotlib.figure
        import matplotlib.pyplot
    return matplotlib


def single_axes(ax: object, size: tuple[float, float]) -> Any:
    """The axes given, or those of a new figure of `size` inches."""
    if ax is not None:
        return ax
    _, ax = _matplotlib().pyplot.subplots(figsize=size, layout="constrained")
    return ax


def axes_grid(outer: Any, rows: int, columns: int) -> Array:
    """A grid of `rows` x `columns` axes inside an axes that shows nothing itself."""
    outer.set_axis_off()
    inner = outer.get_subplotspec().subgridspec(rows, columns)
    axes = [outer.figure.add_subplot(inner[r, c]) for r in range(rows) for c in range(columns)]
    return np.array(axes, dtype=object).reshape(rows, columns)


def detached_axes(size: tuple[float, float]) -> Any:
    """Axes of a new figure that pyplot does not know, so that nobody has to close it."""
    return _matplotlib().figure.Figure(figsize=size, layout="constrained").subplots()


def settings(values: dict[str, Any]) -> AbstractContextManager[Any]:
    """Settings of matplotlib, changed for the length of a ``with`` block."""
    return _matplotlib().rc_context(values)


def palette(name: str) -> Array:
    """A colour map as 256 colours, an array of uint8 of shape (256, 3)."""
    colours = _matplotlib().colormaps[name](np.arange(256))[:, :3]
    return np.round(255 * colours).astype(np.uint8)


def svg(figure: Any) -> str:
    """The figure as SVG text with transparent ground, the same for the same figure."""
    text = io.StringIO()
    unchanging = {"svg.fonttype": "none", "svg.hashsalt": "tenfold"}
    with settings(unchanging):
        figure.savefig(text, format="svg", transparent=True, metadata={"Date": None})
    return text.getvalue()


def tidy(ax: Any) -> None:
    """Only the two spines that carry numbers, and a faint grid behind the data."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(True, color=MUTED, alpha=0.25, linewidth=0.6)
    ax.set_axisbelow(True)


def show_tensor(ax: Any, values: Array, *, signed: bool, cmap: str | None = None) -> None:
    """A vector as a line, a matrix as an image without ticks; signed values about zero."""
    limit = float(np.abs(values).max()) or 1.0
    if values.ndim == 1:
        ax.axhline(0, color=MUTED, linewidth=0.6)
        ax.plot(values, color=OWN, linewidth=1.2)
        ax.set(ylim=(-1.1 * limit if signed else None, 1.1 * limit))
    else:
        limits = {"vmin": -limit, "vmax": limit} if signed else {}
        aspect = "equal" if max(values.shape) <= 4 * min(values.shape) else "auto"
        ax.imshow(values, cmap=cmap or (SIGNED if signed else AMOUNT), aspect=aspect, **limits)
    ax.set(xticks=[], yticks=[])


class Display:
    """Something that can be drawn; a subclass says what in `_draw`."""

    size = (5.6, 3.4)  # of a new figure, in inches
    ax_: Any
    figure_: Any

    def plot(self, *, ax: object = None, **options: object) -> Self:
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
        self.ax_ = single_axes(ax, self._size(**options))
        self.figure_ = self.ax_.figure
        self._draw(**options)
        return self

    def _size(self, **options: object) -> tuple[float, float]:
        return self.size

    def _draw(self, **options: object) -> None:
        raise NotImplementedError(f"{type(self).__name__} must say what it draws")

    def _draw_lines(self, curves: Sequence[tuple[Array, Array, str]], **looks: object) -> None:
        """One line for each (x, y, name); names and colours of their own where they are few."""
        few = len(curves) <= len(COLOURS)
        names = [name for *_, name in curves]
        self.lines_: list[Any] = []
        for i, (x, y, name) in enumerate(curves):
            own = {"color": COLOURS[i % len(COLOURS)], "linewidth": 1.7}
            own = own if few else {"color": OWN, "linewidth": 1.0, "alpha": 0.4}
            self.lines_ += self.ax_.plot(x, y, **({"label": name or None} | own | looks))
        tidy(self.ax_)
        if few and any(names):
            self.ax_.legend(frameon=False, fontsize="small")
