"""What a page holds, and the page as HTML."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from tenfold import __version__
from tenfold.extras import require_extra
from tenfold.tables import Table, visible

if TYPE_CHECKING:
    from jinja2 import Environment

STYLE = re.compile(r"<style[^>]*>(.*?)</style>", re.DOTALL)
SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)


@dataclass(frozen=True)
class Figure:
    """A drawing, as inline SVG, with a description for those who do not see it."""

    svg: str
    description: str
    caption: str
    half: bool = False  # whether two of them fit side by side


@dataclass(frozen=True)
class Picture:
    """A small image with a line or two below it."""

    uri: str
    width: int
    height: int
    description: str
    lines: Sequence[str] = ()
    wrong: bool = False  # whether the model erred here


@dataclass(frozen=True)
class Gallery:
    """Pictures side by side."""

    caption: str
    pictures: Sequence[Picture]


@dataclass(frozen=True)
class Prose:
    """A paragraph."""

    text: str


@dataclass(frozen=True)
class Facts:
    """Names and values, such as the parameters of a model."""

    pairs: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Details:
    """Blocks that open on click, below a line that says what they are about."""

    anchor: str
    summary: str
    aside: str
    blocks: Sequence[Block]


Block: TypeAlias = Figure | Gallery | Prose | Facts | Details | Table


@dataclass(frozen=True)
class Section:
    """A stretch of the page with a heading."""

    anchor: str
    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Page:
    """A whole page."""

    title: str
    summary: str
    note: str
    headline: Sequence[tuple[str, str]]  # the few numbers that matter most: value, what it is
    sections: Sequence[Section]


def short(value: float | None, digits: int = 3) -> str:
    """A number with few digits and a true minus sign; a dash where there is none.

    Examples
    --------
    >>> from tenfold.app.report.page import short
    >>> short(-1.23456)
    '−1.23'
    """
    return "–" if value is None else f"{value:.{digits}g}".replace("-", "−")


def in_percent(share: float | None) -> str:
    """A share in percent; a dash where there is none.

    Examples
    --------
    >>> from tenfold.app.report.page import in_percent
    >>> in_percent(0.9875), in_percent(None)
    ('98.8 %', '–')
    """
    return "–" if share is None else f"{100 * share:.1f} %"


def counted(n: int, thing: str, things: str = "") -> str:
    """Return "1 sample", "2 samples".

    Examples
    --------
    >>> from tenfold.app.report.page import counted
    >>> counted(1, "class", "classes"), counted(1200, "sample")
    ('1 class', '1,200 samples')
    """
    return f"{n:,} {thing if n == 1 else things or thing + 's'}"


LINE_BREAKS = "\t\n\r"
POLICY = "THE-POLICY-OF-THIS-PAGE"  # stands in the template until the whole page is known


def as_html(page: Page) -> str:
    """The page as one HTML document with its style and script inside.

    Characters that cannot be seen, such as those that turn the direction of writing round, are
    shown as escapes, also inside of figures. A policy in the head forbids the browser to load
    anything and to run any script but that of the page.

    Parameters
    ----------
    page : Page
        What to show.

    Returns
    -------
    str
        HTML. All texts are escaped; only the SVG of figures is taken as it is.
    """
    template = _environment().get_template("page.html")
    here = Path(__file__).parent
    style = (here / "page.css").read_text(encoding="utf-8")
    script = (here / "page.js").read_text(encoding="utf-8")
    html = template.render(
        page=page, style=style, script=script, version=__version__, policy=POLICY
    )
    unseen = {ord(one): visible(one) for one in set(html) if one not in LINE_BREAKS}
    html = html.translate(unseen)
    return html.replace(POLICY, _policy(html), 1)


def _policy(html: str) -> str:
    """The content security policy of a page: it loads nothing and runs its own script alone."""
    styles = " ".join(sorted({_hash(text) for text in STYLE.findall(html)}))
    (script,) = SCRIPT.findall(html)
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src {_hash(script)}",
            f"style-src-elem {styles}",
            "style-src-attr 'unsafe-inline'",  # of matplotlib's drawings
            "style-src 'unsafe-inline'",  # for browsers that do not know the two lines above
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def _environment() -> Environment:
    with require_extra("the report needs jinja2", "report"):
        import jinja2
    return jinja2.Environment(
        loader=jinja2.PackageLoader("tenfold.app.report", "."),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
