"""The page about a run of the paper's experiments."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tenfold.plots.drawing import COLOURS, OTHERS, OWN, tidy
from tenfold.report.content import (
    Cell,
    Facts,
    Figure,
    Page,
    Prose,
    Section,
    Table,
    counted,
    short,
)
from tenfold.report.figures import Studio

CLOSE = 3.0  # points of mean average precision that count as agreeing with the paper
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
    """

    title: str
    tables: list[dict[str, Any]]
    records: list[dict[str, Any]]
    facts: dict[str, str]


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
    folder = place if place.is_dir() else place.parent
    try:
        told = json.loads((folder / "tables.json").read_text(encoding="utf-8"))
        records = json.loads((folder / "results.json").read_text(encoding="utf-8"))["records"]
        facts = json.loads((folder / "times.json").read_text(encoding="utf-8"))["facts"]
        return Run(told["title"], told["tables"], records, facts)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise FileNotFoundError(
            f"{folder} is not the folder of a finished run: {Path(error.filename).name} is not "
            "there; pass what tenfold reproduce wrote to"
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
    summary, headline, drawing = _story(run)
    sections = []
    for i, table in enumerate(run.tables):
        blocks = [*drawing] if i == 0 else []
        blocks += [_table(table), *map(Prose, table["notes"])]
        sections.append(Section(f"table-{i + 1}", table["title"], blocks))
    made = [(name.capitalize(), text) for name, text in run.facts.items()]
    sections.append(Section("about", "How the figures came about", [Facts(made)]))
    return Page(title or run.title, summary, _NOTE, headline, sections)


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
        return Cell(value, float(found.group()) if found else None)
    return Cell(f"{value:,.2f}" if isinstance(value, float) else f"{value:,}", float(value))


# ── What there is to say ────────────────────────────────────────────────────────────────────────

Story = tuple[str, list[tuple[str, str]], list[Figure]]


def _story(run: Run) -> Story:
    """Summary, headline and picture, by what the records are about."""
    names = set(run.records[0]) if run.records else set()
    tell: Callable[[Run], Story] = _plain_story
    if {"row", "k", "oracle", "paper", "difference"} <= names:
        tell = _face_story
    elif {"row", "variant", "metric", "mean", "paper"} <= names:
        tell = _book_story
    return tell(run)


def _plain_story(run: Run) -> Story:
    figures = counted(len(run.records), "figure")
    return f"{figures} in {counted(len(run.tables), 'table')}.", [], []


def _face_story(run: Run) -> Story:
    compared = [r for r in run.records if r["difference"] is not None]
    if not compared:
        return _plain_story(run)
    differences = np.array([r["difference"] for r in compared])
    close = int((np.abs(differences) <= CLOSE).sum())
    summary = (
        f"Of {counted(len(compared), 'figure')} that the paper prints, {close} "
        f"{'is' if close == 1 else 'are'} met within {CLOSE:g} points of mean average precision; "
        f"ours minus the paper's is {_signed(differences.mean())} on average and "
        f"{_signed(differences[np.abs(differences).argmax()])} at most."
    )
    last = max(compared, key=lambda r: (r["k"], r["row"] == "MCSDA"))
    headline = [
        (f"{close} of {len(compared)}", f"within {CLOSE:g} points of the paper"),
        (_signed(differences.mean()), "mean difference, in points"),
        (f"{last['oracle']:.1f}", f"{last['row']} at k = {last['k']:g}; paper {last['paper']:.1f}"),
    ]
    rows = list(dict.fromkeys(r["row"] for r in compared))
    figure = Studio().figure(
        lambda ax: _draw_faces(ax, compared, rows),
        (5.6, 3.8),
        f"Mean average precision against the share of training images for {', '.join(rows)}: "
        f"ours and the paper's lie {short(np.abs(differences).mean(), 2)} points apart on average.",
        "Mean average precision in percent against the share k of training images. Full lines: "
        "ours. Dashed: the paper.",
    )
    return summary, headline, [figure]


def _signed(value: float) -> str:
    return f"{value:+.1f}".replace("-", "−")


def _draw_faces(ax: Any, records: list[dict[str, Any]], rows: list[str]) -> None:
    for i, row in enumerate(rows):
        own = sorted((r for r in records if r["row"] == row), key=lambda r: r["k"])
        shares, colour = [r["k"] for r in own], COLOURS[i % len(COLOURS)]
        ax.plot(shares, [r["oracle"] for r in own], color=colour, marker="o", ms=4, label=row)
        ax.plot(shares, [r["paper"] for r in own], color=colour, linestyle="--", alpha=0.7)
    tidy(ax)
    ax.set(xlabel="k", ylabel="mAP")
    ax.legend(frameon=False, fontsize="small")


def _book_story(run: Run) -> Story:
    f1 = [r for r in run.records if r["metric"].lower() == "f1" and r["mean"] is not None]
    if not f1:
        return _plain_story(run)
    best = max(f1, key=lambda r: r["mean"])
    printed = [r for r in f1 if r["paper"] is not None]
    summary = (
        f"Over {counted(len(best['folds']), 'fold')}, {_name(best)} has the highest mean F1, "
        f"{best['mean']:.1f} %."
    )
    headline = [(f"{best['mean']:.1f} %", f"F1 of {_name(best)}")]
    own = [r for r in printed if r["row"] == "MCSDA"]
    if own:
        mine = max(own, key=lambda r: r["mean"])
        summary += f" MCSDA reaches {mine['mean']:.1f} %; the paper prints {mine['paper']:.1f} %."
        headline.append((f"{mine['mean']:.1f} %", f"F1 of MCSDA; paper {mine['paper']:.1f} %"))
    figure = Studio().figure(
        lambda ax: _draw_book(ax, f1),
        (5.6, 0.9 + 0.26 * len(f1)),
        "F1 of every method, ours with its deviation over folds: "
        + ", ".join(f"{_name(r)} {r['mean']:.1f}" for r in f1),
        "F1 in percent, with its deviation over folds. Rings: the paper.",
    )
    return summary, headline, [figure]


def _name(record: dict[str, Any]) -> str:
    return record["row"] + (f", {record['variant']}" if record["variant"] else "")


def _draw_book(ax: Any, records: list[dict[str, Any]]) -> None:
    places = np.arange(len(records))
    means = [r["mean"] for r in records]
    ax.errorbar(means, places, xerr=[r["std"] for r in records], fmt="o", color=OWN, ms=5)
    for place, record in zip(places, records, strict=True):
        if record["paper"] is not None:
            ax.plot(record["paper"], place, "o", ms=9, mfc="none", mec=OTHERS)
    ax.set_yticks(places, [_name(r) for r in records])
    ax.invert_yaxis()
    ax.set(xlabel="F1")
    tidy(ax)
