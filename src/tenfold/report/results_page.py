"""The page about a run of the paper's experiments."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tenfold.report.content import Facts, Page, Prose, Section
from tenfold.report.stories import story_of
from tenfold.system.tables import Cell, Table

_QUICK = "This was the quick version of the experiment, with fewer splits and ranks."
_NOTE = "Figures of the paper are those that it prints; all others were computed by this run."


@dataclass(frozen=True, eq=False)
class Run:
    """What a run left in its folder.

    Parameters
    ----------
    title : str
        What was run.
    tables : list of dict
        Title, columns, rows and notes of each table.
    records : list of dict
        The same figures with all digits, one record per figure.
    facts : dict of str to str
        When, where and with which versions.
    quick : bool
        Whether it was the small version of the experiment.
    """

    title: str
    tables: list[dict[str, Any]]
    records: list[dict[str, Any]]
    facts: dict[str, str]
    quick: bool


def read_run(results: str | os.PathLike[str]) -> Run:
    """Read the folder of a run, or the folder of one of its files.

    Parameters
    ----------
    results : path
        What ``tenfold reproduce`` wrote to.

    Returns
    -------
    Run
        Its tables, records and facts.
    """
    place = Path(results)
    if not place.exists():
        raise FileNotFoundError(f"{place} does not exist; pass what tenfold reproduce wrote to")
    folder = place if place.is_dir() else place.parent
    try:
        told = json.loads((folder / "tables.json").read_text(encoding="utf-8"))
        results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
        facts = json.loads((folder / "times.json").read_text(encoding="utf-8"))["facts"]
        quick = bool(results.get("settings", {}).get("quick"))
        return Run(told["title"], told["tables"], results["records"], facts, quick)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise FileNotFoundError(
            f"{place} is not the folder of a finished run, nor a file in one: "
            f"{Path(error.filename).name} is not there; pass what tenfold reproduce wrote to"
        ) from error
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"the results in {folder} are damaged ({error}); run tenfold reproduce again, which "
            "keeps what is finished"
        ) from error


def results_page(results: str | os.PathLike[str], title: str | None = None) -> Page:
    """The tables of a run, with a picture of ours beside the paper's.

    Parameters
    ----------
    results : path
        The folder of a run.
    title : str or None, default=None
        None takes that of the run.

    Returns
    -------
    Page
        Ready to be turned into HTML.
    """
    run = read_run(results)
    summary, headline, drawing = story_of(run.records, len(run.tables))
    sections = []
    for i, table in enumerate(run.tables):
        blocks = [*drawing] if i == 0 else []
        blocks += [_table(table), *map(Prose, table["notes"])]
        sections.append(Section(f"table-{i + 1}", table["title"], blocks))
    made = [(name.capitalize(), text) for name, text in run.facts.items()]
    sections.append(Section("about", "How the figures came about", [Facts(made)]))
    note = f"{_QUICK} {_NOTE}" if run.quick else _NOTE
    return Page(title or run.title, summary, note, headline, sections)


def _table(table: dict[str, Any]) -> Table:
    columns = [name or "Method" for name in table["columns"]]
    rows = [[_cell(value, i) for i, value in enumerate(row)] for row in table["rows"]]
    return Table("Choose a column to sort by it.", columns, rows)


def _cell(value: Any, position: int) -> Cell:
    """A value of a table; a text that starts with a number is sorted by that number."""
    if value is None:
        return Cell("–")
    if isinstance(value, str):
        found = re.match(r"[+-]?\d+(?:\.\d+)?(?=$|[\s(])", value) if position else None
        return Cell(_typeset(value), float(found.group()) if found else None)
    text = f"{value:,.2f}" if isinstance(value, float) else f"{value:,}"
    return Cell(_typeset(text), float(value))


def _typeset(text: str) -> str:
    """A true minus sign before numbers."""
    return re.sub(r"(?<![\w.])-(?=\d)", "−", text)
