"""Tables as data, as text, CSV and Markdown, and those that the paper and others print."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from tenfold.tables import aligned

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
    >>> from paper.tables import Table, as_text
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
    >>> from paper.tables import shown
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
    >>> from paper.tables import Table, as_csv
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
    >>> from paper.tables import Table, as_markdown
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


_PRINTED = {
    "orl": "table1_orl_map",
    "pie": "table2_pie_map",
    "fi2010": "table3_fi2010",
    "fi2010_published": "published_fi2010_f1",
}


@cache
def paper_table(experiment: str) -> dict[str, Any]:
    """The printed table of an experiment, as in ``paper_tables.json``.

    Examples
    --------
    >>> from paper.tables import paper_table
    >>> paper_table("orl")["MCSDA"]["map"]
    [72.2, 84.73, 87.65, 92.05, 95.69]
    """
    text = Path(__file__).with_name("paper_tables.json").read_text(encoding="utf-8")
    table: dict[str, Any] = json.loads(text)[_PRINTED[experiment]]
    return table


@cache
def published(experiment: str) -> dict[str, Any]:
    """What others published on the data of an experiment, as in ``other_tables.json``.

    Examples
    --------
    >>> from paper.tables import published
    >>> published("gait")["rank-1 mean"]
    54.77
    """
    text = Path(__file__).with_name("other_tables.json").read_text(encoding="utf-8")
    table: dict[str, Any] = json.loads(text)[experiment]
    return table


def printed_map(experiment: str, row: str, share: float) -> float | None:
    """The paper's mAP of a row at a share of training images, None when it has none.

    Examples
    --------
    >>> from paper.tables import printed_map
    >>> printed_map("orl", "CSDA", 0.5), printed_map("orl", "CSDA, shrinkage", 0.5)
    (97.81, None)
    """
    table = paper_table(experiment)
    if row not in table or share not in table["k"]:
        return None
    return float(table[row]["map"][table["k"].index(share)])
