"""Tables as data, and how they become text, CSV, Markdown and a page."""

from __future__ import annotations

import csv
import html
import io
from dataclasses import dataclass, field

from tenfold.system.tables import aligned

Value = str | float | int | None


@dataclass(frozen=True)
class Table:
    """A table that knows nothing of where it will be shown.

    Parameters
    ----------
    title : str
        One line.
    columns : list of str
        Headings.
    rows : list of lists
        One value per column; None where there is none.
    notes : list of str
        Sentences beneath the table.

    Examples
    --------
    >>> from tenfold.experiments.tables import Table, as_text
    >>> print(as_text(Table("Sizes", ["set", "images"], [["ORL", 400], ["PIE", None]])))
    Sizes
    <BLANKLINE>
    set  images
    ---  ------
    ORL     400
    PIE       -
    """

    title: str
    columns: list[str]
    rows: list[list[Value]]
    notes: list[str] = field(default_factory=list)


def shown(value: Value) -> str:
    """A value as a reader sees it.

    Examples
    --------
    >>> from tenfold.experiments.tables import shown
    >>> shown(None), shown(93.71999), shown(7)
    ('-', '93.72', '7')
    """
    if value is None:
        return "-"
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def as_text(table: Table) -> str:
    """A table for the terminal, columns aligned."""
    cells = [[shown(value) for value in row] for row in table.rows]
    rule = ["-" * max(map(len, column)) for column in zip(table.columns, *cells, strict=True)]
    notes = ["", *table.notes] if table.notes else []
    return "\n".join([table.title, "", *aligned([table.columns, rule, *cells]), *notes])


def as_csv(table: Table) -> str:
    r"""A table for spreadsheets, with all digits.

    Examples
    --------
    >>> from tenfold.experiments.tables import Table, as_csv
    >>> as_csv(Table("Sizes", ["set", "images"], [["ORL", 400]]))
    'set,images\nORL,400\n'
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows(table.rows)
    return text.getvalue()


def as_markdown(table: Table) -> str:
    """A table for the documentation.

    Examples
    --------
    >>> from tenfold.experiments.tables import Table, as_markdown
    >>> print(as_markdown(Table("Sizes", ["set", "images"], [["ORL", 400]])))
    ### Sizes
    <BLANKLINE>
    | set | images |
    |:--|--:|
    | ORL | 400 |
    """
    escaped = [[shown(v).replace("|", "\\|") for v in row] for row in [table.columns, *table.rows]]
    rule = "|:--|" + "--:|" * (len(table.columns) - 1)
    lines = ["| " + " | ".join(row) + " |" for row in escaped]
    notes = [line for note in table.notes for line in ("", note)]
    return "\n".join([f"### {table.title}", "", lines[0], rule, *lines[1:], *notes])


_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:75rem;margin:2rem auto;padding:0 1rem}"
    "table{border-collapse:collapse;margin:1rem 0}.wide{overflow-x:auto}"
    "th,td{padding:.25rem .6rem;border-bottom:1px solid #8884;text-align:right;"
    "white-space:nowrap;font-variant-numeric:tabular-nums}"
    "th:first-child,td:first-child{text-align:left}:root{color-scheme:light dark}"
)


def as_page(title: str, tables: list[Table], facts: list[str]) -> str:
    """A self-contained HTML page of tables.

    Parameters
    ----------
    title : str
        Heading of the page.
    tables : list of Table
        What it shows.
    facts : list of str
        How the figures came about, as sentences above the tables.

    Returns
    -------
    str
        The page.
    """
    body = [f"<h1>{html.escape(title)}</h1>", *(f"<p>{html.escape(fact)}</p>" for fact in facts)]
    for table in tables:
        head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in table.columns)
        rows = [
            "<tr>" + "".join(f"<td>{html.escape(shown(value))}</td>" for value in row) + "</tr>"
            for row in table.rows
        ]
        body += [
            f"<h2>{html.escape(table.title)}</h2>",
            f'<div class="wide"><table><thead><tr>{head}</tr></thead>',
            f"<tbody>{''.join(rows)}</tbody></table></div>",
            *(f"<p>{html.escape(note)}</p>" for note in table.notes),
        ]
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(title)}</title><style>{_STYLE}</style></head>"
        f"<body>{''.join(body)}</body></html>\n"
    )
