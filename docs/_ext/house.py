"""Directives that draw the house from what is there, so that pages about it cannot go stale.

`name`        (the default role) code, and a link where the name is documented
``layers``    the import contract of pyproject.toml as a table
``tour``      modules with the first sentence of their docstrings
``dataflow``  a diagram whose names must exist
``methods``   all methods as a table
"""

import ast
import html
import re
import tomllib
from pathlib import Path
from pkgutil import resolve_name

import method_lists
from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.roles import XRefRole
from sphinx.util.docutils import SphinxDirective

import tenfold
import tenfold.datasets
import tenfold.plots

PUBLIC = {*tenfold.__all__, *tenfold.datasets.__all__, *tenfold.plots.__all__, "write_report"}
ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "tenfold"


def floors(pyproject):
    """The lines of the import contract, top floor first."""
    contracts = tomllib.loads(pyproject)["tool"]["importlinter"]["contracts"]
    return contracts[0]["layers"]


def modules_of(layer):
    """The modules of one layer: "(cli)" and "a : b | c" are names with punctuation."""
    return re.findall(r"\w+", layer)


def path_of(module):
    """The file of a module or package below tenfold."""
    path = SOURCE / module.replace(".", "/")
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def first_sentence(module):
    """What the docstring of a module says first."""
    docstring = ast.get_docstring(ast.parse(path_of(module).read_text(encoding="utf-8")))
    paragraph = " ".join(docstring.partition("\n\n")[0].split())
    return paragraph.replace("`", "")


def members_of(package):
    """The modules of a package, in alphabetical order."""
    return [
        f"{package}.{p.stem}" for p in sorted(SOURCE.joinpath(*package.split(".")).glob("[!_]*.py"))
    ]


class Layers(SphinxDirective):
    """The floors of the house; a module imports only from lines below its own."""

    def run(self):
        rows = [("folder", "what is in it")]
        pyproject = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
        names = [name for line in floors(pyproject) for name in modules_of(line)]
        rows += [(name, first_sentence(name)) for name in names if path_of(name).exists()]
        return [table(rows)]


class Methods(SphinxDirective):
    """All methods, with what their docstrings and defaults say."""

    def run(self):
        return [table([method_lists.COLUMNS, *method_lists.rows()], (10, 28, 18, 14, 14, 10, 6))]


def table(rows, widths=(20, 80)):
    """A table; the first row is its head, and the first column holds names."""
    group = nodes.tgroup("", *(nodes.colspec(colwidth=w) for w in widths), cols=len(widths))
    head, body = nodes.thead(), nodes.tbody()
    for number, (name, *cells) in enumerate(rows):
        first = nodes.literal("", name) if number else nodes.Text(name)
        entries = [nodes.entry("", nodes.paragraph("", "", first))]
        entries += [nodes.entry("", nodes.paragraph("", cell)) for cell in cells]
        (body if number else head).append(nodes.row("", *entries))
    group += [head, body]
    return nodes.table("", group)


class Tour(SphinxDirective):
    """One line per module, in the order given; ``name.*`` stands for the modules of a package."""

    has_content = True

    def run(self):
        listed = nodes.definition_list()
        for name in filter(None, map(str.strip, self.content)):
            for module in members_of(name[:-2]) if name.endswith(".*") else [name]:
                term = nodes.term("", "", nodes.literal("", module))
                text = nodes.definition("", nodes.paragraph("", first_sentence(module)))
                listed += nodes.definition_list_item("", term, text)
        return [listed]


class Dataflow(SphinxDirective):
    """Boxes from top to bottom, drawn as inline SVG.

    A line "title | text" is a box, a line "-> text | name" the arrow to the next one, where name
    is something in tenfold that must exist. "loop: from, to, text" draws the way back.
    """

    has_content = True

    def run(self):
        boxes, arrows, loop = [], [], None
        for line in filter(None, map(str.strip, self.content)):
            if line.startswith("->"):
                text, name = (part.strip() for part in line[2:].split("|"))
                resolve(name)
                arrows.append((text, name))
            elif line.startswith("loop:"):
                loop = [part.strip() for part in line[5:].split(",", 2)]
            else:
                boxes.append(tuple(part.strip() for part in line.split("|")))
        svg = drawing(boxes, arrows, loop, f"tip{self.env.new_serialno('dataflow')}")
        return [nodes.raw("", f'<div class="dataflow">{svg}</div>', format="html")]


def resolve(name):
    """Something that "moments.ClassMoments.from_batch" names; an error when nothing does."""
    return resolve_name(f"tenfold.{name}")


def drawing(boxes, arrows, loop, tip):
    """The SVG: boxes of one size, an arrow with text between each and the next.

    `tip` is the id of the head of the arrows, one of its own in each drawing of a page.
    """
    width, left, box, step = 760, 10, 540, 92
    titles = [title for title, _ in boxes]
    height = step * (len(boxes) - 1) + 56
    parts = [
        f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="Data flow of tenfold: '
        f'{html.escape(", then ".join(titles))}">',
        f'<defs><marker id="{tip}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" '
        'markerHeight="7" orient="auto-start-reverse"><path d="M0 0L10 5L0 10z" class="tip"/>'
        "</marker></defs>",
    ]
    for number, (title, text) in enumerate(boxes):
        y = step * number + 2
        parts.append(f'<rect x="{left}" y="{y}" width="{box}" height="44" rx="6"/>')
        title, text = html.escape(title), html.escape(text)
        parts.append(f'<text x="{left + 14}" y="{y + 27}" class="title">{title}</text>')
        parts.append(f'<text x="{left + 130}" y="{y + 27}">{text}</text>')
    for number, (text, name) in enumerate(arrows):
        y = step * number + 47
        parts.append(f'<path d="M60 {y}V{y + 44}" class="arrow" marker-end="url(#{tip})"/>')
        parts.append(f'<text x="78" y="{y + 20}">{html.escape(text)}</text>')
        parts.append(f'<text x="78" y="{y + 36}" class="code">{html.escape(name)}</text>')
    if loop:
        first, last, text = loop
        low, high = (step * titles.index(title) + 24 for title in (first, last))
        edge = left + box
        parts.append(
            f'<path d="M{edge} {low}H{edge + 34}V{high}H{edge + 3}" class="arrow" '
            f'marker-end="url(#{tip})"/>'
        )
        for number, row in enumerate(text.split(";")):
            y = (low + high) / 2 + 18 * number - 8
            parts.append(f'<text x="{edge + 46}" y="{y}">{html.escape(row.strip())}</text>')
    return "".join([*parts, "</svg>"])


# ── Names ───────────────────────────────────────────────────────────────────────────────────────


def link_public_names(app, doctree):
    """In pages, make `MCSDA` and `tenfold.plots.ScoresDisplay` links, as in docstrings."""
    for literal in list(doctree.findall(nodes.literal)):
        text = literal.astext()
        known = text in PUBLIC or text.startswith("tenfold.")
        if known and isinstance(literal.parent, nodes.paragraph | nodes.term | nodes.entry):
            link = pending_xref("", refdomain="py", reftype="obj", reftarget=text, refexplicit=True)
            link["py:module"], link["optional"] = "tenfold", True
            literal.replace_self(link)
            link += literal


class Name(XRefRole):
    """A name that may be documented, and need not be."""

    def process_link(self, env, refnode, has_explicit_title, title, target):
        refnode["py:module"] = env.ref_context.get("py:module")
        refnode["py:class"] = env.ref_context.get("py:class")
        refnode["optional"] = True
        refnode["refdomain"], refnode["reftype"] = "py", "obj"
        return title, target


def resolve_optional(app, env, node, contnode):
    """A public name from any module; other names stay as they are, and are no error."""
    if not node.get("optional"):
        return None
    domain = env.get_domain("py")
    for prefix in ("", "tenfold.", "tenfold.datasets.", "tenfold.plots.", "tenfold.app.report."):
        target = prefix + node["reftarget"]
        if target in domain.objects:
            where = (env, node["refdoc"], app.builder, "obj", target, node, contnode)
            return domain.resolve_xref(*where)
    return contnode


def setup(app):
    app.add_role("name", Name())
    app.connect("doctree-read", link_public_names)
    app.connect("missing-reference", resolve_optional)
    for directive in (Layers, Tour, Dataflow, Methods):
        app.add_directive(directive.__name__.lower(), directive)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
