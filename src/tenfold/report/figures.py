"""Displays as inline SVG that follows the colours of the page, light or dark."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import count
from typing import Any

from tenfold.plots import drawing
from tenfold.report.content import Figure

INK = "#1c1e21"

# The page gives each of these colours a value for light and one for dark.
_PAGE_COLOURS = {INK: "currentColor", drawing.MUTED: "var(--faint)"} | {
    colour: f"var(--series-{i})" for i, colour in enumerate(drawing.COLOURS)
}
_LOOKS = {
    "font.size": 10.5,
    "axes.edgecolor": drawing.MUTED,
    "axes.labelsize": 10.5,
    "axes.titlesize": 10.5,
    **dict.fromkeys(
        ["text.color", "axes.labelcolor", "axes.titlecolor", "xtick.color", "ytick.color"], INK
    ),
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "figure.constrained_layout.use": False,
    "text.parse_math": False,  # a class may be called US$$
}


class FigureSet:
    """The figures of one page; ids inside them are unique on the page."""

    def __init__(self) -> None:
        self._numbers = count(1)

    def figure(
        self,
        draw: Callable[[Any], Any],
        size: tuple[float, float],
        description: str,
        caption: str,
    ) -> Figure:
        """Draw with ``draw(ax)`` on axes of `size` inches."""
        with drawing.settings(_LOOKS):
            ax = drawing.detached_axes(size)
            draw(ax)
            text = drawing.svg(ax.figure)
        prefix = f"f{next(self._numbers)}-"
        return Figure(inline(text, prefix), description, caption, half=size[0] < 5)


def inline(svg: str, prefix: str) -> str:
    """SVG text from matplotlib, ready to stand inside a page.

    Parameters
    ----------
    svg : str
        A whole SVG document.
    prefix : str
        Put before every id, so that figures on one page do not use each other's clip paths.

    Returns
    -------
    str
        The svg element alone, in the colours of the page.
    """
    svg = svg[svg.index("<svg") :]
    # A style inside an SVG would rule the whole page; page.css says the same for figures alone.
    svg = re.sub(r"<(metadata|style)\b.*?</\1>\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r'(?<=\sid=")', prefix, svg)
    svg = re.sub(r'(?<=href="#)|(?<=url\(#)', prefix, svg)
    svg = re.sub(r'^<svg([^>]*?) (?:width|height)="[^"]*"', r"<svg\1", svg)
    svg = re.sub(r'^<svg([^>]*?) (?:width|height)="[^"]*"', r"<svg\1", svg)
    svg = re.sub(r"font(?:-family)?: [^;\"]*(;|(?=\"))", _without_family, svg)
    for colour, variable in _PAGE_COLOURS.items():
        svg = svg.replace(colour, variable)
    return re.sub(r">\s+<", "><", svg).strip()


def _without_family(found: re.Match[str]) -> str:
    """The size of a font without its family, so that text takes the font of the page."""
    size = re.search(r"[\d.]+px", found.group())
    return f"font-size: {size.group()};" if size else ""
