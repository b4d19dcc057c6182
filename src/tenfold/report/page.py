"""From content to HTML: the only place that imports jinja2."""

from __future__ import annotations

from typing import Any

from tenfold import __version__
from tenfold.report.content import Page

# Control characters of labels, which HTML does not allow, also inside of figures.
UNSEEN = {code: f"\\x{code:02x}" for code in (*range(9), 11, 12, *range(14, 32), *range(127, 160))}


def as_html(page: Page) -> str:
    """The page as one HTML document with its style and script inside.

    Parameters
    ----------
    page : Page
        What to show.

    Returns
    -------
    str
        HTML. All texts are escaped; only the SVG of figures is taken as it is.
    """
    environment = _environment()
    template = environment.get_template("page.html")
    source = environment.loader.get_source
    style, script = (source(environment, name)[0] for name in ("page.css", "page.js"))
    html = template.render(page=page, style=style, script=script, version=__version__)
    return str(html).translate(UNSEEN)


def _environment() -> Any:
    try:
        import jinja2
    except ImportError as error:
        raise ImportError(
            'the report needs jinja2, which is not installed; pip install "tenfold[report]"'
        ) from error
    return jinja2.Environment(
        loader=jinja2.PackageLoader("tenfold.report", "."),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
