"""Small histograms for the classes of a bank: drawn by hand, since there may be a hundred."""

from __future__ import annotations

from html import escape

import numpy as np

from tenfold.decisions.metrics import ClassMetrics
from tenfold.mathematics.algebra import Array
from tenfold.plots.scores import shared_histogram
from tenfold.report.content import short

WIDTH, HEIGHT, FLOOR = 640, 130, 108  # of the drawing, and where its bars stand
N_BINS = 48


def small_histogram(measured: ClassMetrics) -> str:
    """Histograms of a class and of the others over one line, as SVG.

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
    tops = FLOOR - (FLOOR - 24) * shares / shares.max()
    x = _place(edges, edges)
    bars = "".join(
        f'<path d="{_stairs(x, top)}" fill="var(--series-{i})" fill-opacity="0.5" '
        f'stroke="var(--series-{i})" stroke-width="1"/>'
        for i, top in enumerate(tops)
    )
    threshold = float(np.clip(_place(measured.threshold, edges), 0, WIDTH))
    rule = (
        f'<path d="M0 {FLOOR}H{WIDTH}" stroke="var(--faint)"/>'
        f'<path d="M{threshold:.1f} 20V{FLOOR}" stroke="var(--soft)" stroke-dasharray="4 3"/>'
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


def _place(values: Array | float | None, edges: Array) -> Array:
    """Scores as positions across the drawing."""
    return WIDTH * (np.asarray(values, dtype=float) - edges[0]) / (edges[-1] - edges[0])


def _stairs(x: Array, top: Array) -> str:
    steps = (f"V{y:.1f}H{right:.1f}" for y, right in zip(top, x[1:], strict=True))
    return f"M{x[0]:.1f} {FLOOR}{''.join(steps)}V{FLOOR}Z"
