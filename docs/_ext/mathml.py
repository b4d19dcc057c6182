"""Formulas as MathML, which browsers draw themselves: no script, no font, no network.

docutils brings the converter from LaTeX. A formula that it cannot read is a warning, and warnings
are errors when the site is built.
"""

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

LOGGER = logging.getLogger(__name__)


def as_mathml(node, block):
    try:
        return tex2mathml(node.astext(), as_block=block)
    except MathError as error:
        LOGGER.warning("formula %r: %s", node.astext(), error, location=node)
        return f"<code>{node.astext()}</code>"


def visit_inline(writer, node):
    writer.body.append(as_mathml(node, block=False))
    raise nodes.SkipNode


def visit_block(writer, node):
    writer.body.append(f'<div class="math">{as_mathml(node, block=True)}</div>')
    raise nodes.SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
