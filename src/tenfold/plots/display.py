"""What all displays share: axes to draw on, which are kept."""

from __future__ import annotations

from typing import Any, Self

from tenfold.plots.drawing import single_axes


class Display:
    """Something that can be drawn; a subclass says what in `_draw`."""

    size = (5.6, 3.4)  # of a new figure, in inches
    ax_: Any
    figure_: Any

    def plot(self, *, ax: Any = None, **options: Any) -> Self:
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

    def _size(self, **options: Any) -> tuple[float, float]:
        return self.size

    def _draw(self, **options: Any) -> None:
        raise NotImplementedError(f"{type(self).__name__} must say what it draws")
