"""Pictures of samples and directions, figures, and small histograms."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import NamedTuple
from zlib import crc32

import numpy as np
import numpy.typing as npt

from tenfold.app.report.page import Figure, Picture, short
from tenfold.datasets.images import as_png
from tenfold.datasets.tensor_dataset import Samples
from tenfold.linalg.algebra import Array
from tenfold.metrics.evaluation import ClassMetrics
from tenfold.plots import display
from tenfold.plots.decisions import shared_histogram
from tenfold.plots.display import AMOUNT, SIGNED, palette
from tenfold.plots.subspaces import strongest_slice

N_SLICES = 3  # how much of a sample of order 3 is shown
MOST_PIXELS = 160  # per side; a larger sample is thinned out, nobody sees more in a small picture
LINE = "#4c8fc7"  # visible on light and on dark


@dataclass(frozen=True, eq=False)
class SamplePictures:
    """Pictures of the samples of one data set, all on the same scale.

    Parameters
    ----------
    low, high : float
        The values drawn as the two ends of the scale.
    style : {"line", "grey", "colour", "map"}
        Vectors as lines, grey and colour images as such, anything else as heat maps.
    """

    low: float
    high: float
    style: str

    @classmethod
    def for_samples(
        cls, X: Samples, shape: Sequence[int], mode_names: Sequence[str]
    ) -> SamplePictures:
        """Choose scale and style from up to 200 of the samples.

        Parameters
        ----------
        X : array of shape (n, ...)
            The samples.
        shape : sequence of K ints
            The shape of one sample as the model sees it.
        mode_names : sequence of K str, possibly empty
            What the modes count; rows and columns, or no names and no negative number, or two
            values only (a silhouette), make an image.
        """
        some = np.asarray(X[:: max(1, X.shape[0] // 200)], dtype=np.float64)
        low, high = np.percentile(some, [0.5, 99.5]).tolist()
        named = tuple(mode_names[:2]) == ("row", "column")
        two_values = len(np.unique(some[:50])) <= 2 and len(np.unique(some)) <= 2  # silhouettes
        image = named or (not mode_names and some.min() >= 0) or two_values
        if two_values:
            low = float(some.min())
            high = float(some.max())
        if len(shape) == 1:
            style = "line"
        elif image and len(shape) == 3 and shape[2] == 3:
            style = "colour"
        elif image and len(shape) == 2:
            style = "grey"
        else:
            style = "map"
        return cls(low, high if high > low else low + 1.0, style)

    def picture(
        self, sample: Array, description: str, lines: Sequence[str] = (), wrong: bool = False
    ) -> Picture:
        """One sample."""
        if self.style == "line":
            drawn = _line(sample, self.low, self.high)
        else:
            if self.style != "colour":
                sample = side_by_side(sample, self.low)
            colours = palette(AMOUNT) if self.style == "map" else None
            drawn = _image(sample, self.low, self.high, colours)
        return Picture(*drawn, description, lines, wrong)


def direction_picture(direction: Array, description: str, lines: Sequence[str] = ()) -> Picture:
    """A direction, on a scale about zero of its own."""
    limit = float(np.abs(direction).max()) or 1.0
    if direction.ndim == 1:
        drawn = _line(direction, -limit, limit)
    else:
        drawn = _image(strongest_slice(direction), -limit, limit, palette(SIGNED))
    return Picture(*drawn, description, lines)


def side_by_side(sample: Array, gap: float) -> Array:
    """A matrix as it is; of a sample of higher order its first slices, next to each other."""
    if sample.ndim == 2:
        return sample
    slices = sample.reshape(*sample.shape[:2], -1)[:, :, :N_SLICES]
    bar = np.full((len(sample), 1), gap)
    parts = [slices[:, :, 0]]
    for i in range(1, slices.shape[2]):
        parts += [bar, slices[:, :, i]]
    return np.concatenate(parts, axis=1)


class Drawn(NamedTuple):
    """An image inside of an address, and its size."""

    uri: str
    width: int
    height: int


def _image(values: Array, low: float, high: float, colours: Array | None) -> Drawn:
    """Values from `low` to `high` as grey levels, or as a palette of 256 colours."""
    steps = [max(1, -(-size // MOST_PIXELS)) for size in values.shape[:2]]
    shares = np.clip((values[:: steps[0], :: steps[1]] - low) / (high - low), 0, 1)
    levels = np.round(255 * shares).astype(np.uint8)
    height, width = levels.shape[:2]
    return Drawn(_uri("png", as_png(levels, colours)), width, height)


def _line(values: Array, low: float, high: float) -> Drawn:
    """A vector as a line."""
    width, height = 160, 60
    x = np.linspace(2, width - 2, len(values))
    y = height - 4 - (height - 8) * np.clip((values - low) / (high - low), 0, 1)
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
    drawing = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">'
        f'<polyline points="{points}" fill="none" stroke="{LINE}" stroke-width="1.2"/></svg>'
    )
    return Drawn(_uri("svg+xml", drawing.encode()), width, height)


def _uri(kind: str, content: bytes) -> str:
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"


INK = "#1c1e21"

# The page gives each of these colours a value for light and one for dark.
_PAGE_COLOURS = {INK: "currentColor", display.MUTED: "var(--faint)"} | {
    colour: f"var(--series-{i})" for i, colour in enumerate(display.COLOURS)
}
_LOOKS = {
    "font.size": 10.5,
    "axes.edgecolor": display.MUTED,
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


def figure(
    draw: Callable[..., object], size: tuple[float, float], description: str, caption: str
) -> Figure:
    """What ``draw(ax=ax)`` draws on axes of `size` inches, as a figure of the page."""
    with display.settings(_LOOKS):
        drawn = display.detached_figure(size)
        draw(ax=drawn.subplots())
        text = display.svg(drawn)
    prefix = f"f{crc32(f'{description} {caption}'.encode()):08x}-"
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
    svg = re.sub(r' (?:width|height)="[^"]*"', "", svg, count=2)  # of the drawing; the page scales
    svg = re.sub(r"font(?:-family)?: [^;\"]*(;|(?=\"))", _without_family, svg)
    for colour, variable in _PAGE_COLOURS.items():
        svg = svg.replace(colour, variable)
    return re.sub(r">\s+<", "><", svg).strip()


def _without_family(found: re.Match[str]) -> str:
    """The size of a font without its family, so that text takes the font of the page."""
    size = re.search(r"[\d.]+px", found.group())
    return f"font-size: {size.group()};" if size else ""


WIDTH, HEIGHT, FLOOR = 640, 130, 108  # of the drawing, and where its bars stand
N_BINS = 48


def small_histogram(measured: ClassMetrics) -> str:
    """Histograms of a class and of the others over one line, as SVG.

    A page may have a hundred of them, and each takes matplotlib a tenth of a second.

    Parameters
    ----------
    measured : ClassMetrics
        A class with samples on both sides and a threshold.

    Returns
    -------
    str
        An svg element in the colours of the page.
    """
    edges, shares = shared_histogram(measured.scores, measured.is_positive, N_BINS)
    assert measured.threshold is not None
    tops = FLOOR - (FLOOR - 24) * shares / shares.max()

    def place(scores: npt.ArrayLike) -> Array:
        shares = (np.asarray(scores) - edges[0]) / (edges[-1] - edges[0])
        return np.asarray(np.clip(WIDTH * shares, 0, WIDTH))

    bars = "".join(
        f'<path d="{_stairs(place(edges), top)}" fill="var(--series-{i})" fill-opacity="0.5" '
        f'stroke="var(--series-{i})" stroke-width="1"/>'
        for i, top in enumerate(tops)
    )
    rule = (
        f'<path d="M0 {FLOOR}H{WIDTH}" stroke="var(--faint)"/><path d="M'
        f'{place(measured.threshold):.1f} 20V{FLOOR}" stroke="var(--soft)" stroke-dasharray="4 3"/>'
    )
    names = (
        f'<text x="{WIDTH}" y="12" text-anchor="end" fill="var(--series-0)">'
        f"class {escape(str(measured.label))}</text>"
        '<text x="0" y="12" fill="var(--series-1)">others</text>'
    )
    ends = (
        f'<text x="0" y="{HEIGHT - 6}">{short(edges[0])}</text>'
        f'<text x="{WIDTH}" y="{HEIGHT - 6}" text-anchor="end">{short(edges[-1])}</text>'
    )
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" fill="currentColor" font-size="11">'
        f"{bars}{rule}{names}{ends}</svg>"
    )


def _stairs(x: Array, top: Array) -> str:
    steps = (f"V{y:.1f}H{right:.1f}" for y, right in zip(top, x[1:], strict=True))
    return f"M{x[0]:.1f} {FLOOR}{''.join(steps)}V{FLOOR}Z"
