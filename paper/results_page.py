"""The page about a run: its tables, with a picture of ours beside the paper's."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from paper.gait_picture import summary_of_gait
from paper.tables import Table, paper_table
from tenfold import tables as page_tables
from tenfold.app.report.page import Facts, Figure, Page, Prose, Section, counted, short
from tenfold.app.report.pictures import figure
from tenfold.plots.display import COLOURS, OTHERS, OWN, tidy
from tenfold.tables import Cell

_QUICK = "This was the quick version of the experiment, with fewer splits and ranks. "
_NOTE = "Figures of the paper are those that it prints; all others were computed by this run."
CLOSE = 3.0  # points of mean average precision that count as agreeing with the paper

Record = dict[str, Any]
Headline = list[tuple[str, str]]
Summary = tuple[str, Headline, list[Figure]]


def results_page(
    title: str, tables: list[Table], records: list[Record], facts: dict[str, str], quick: bool
) -> Page:
    """The tables of a run, with a picture.

    Records are the figures with all digits; facts say when, where and with which versions.
    """
    summary, headline, drawing = _summary_of(records, len(tables))
    sections = []
    for i, table in enumerate(tables):
        blocks = [*drawing] if i == 0 else []
        blocks += [_sortable(table), *map(Prose, table.notes)]
        sections.append(Section(f"table-{i + 1}", table.title, blocks))
    made = [(name.capitalize(), text) for name, text in facts.items()]
    sections.append(Section("about", "How the figures came about", [Facts(made)]))
    return Page(title, summary, _QUICK * quick + _NOTE, headline, sections)


def _sortable(table: Table) -> page_tables.Table:
    columns = [name or "Method" for name in table.columns]
    rows = [[_cell(value, i) for i, value in enumerate(row)] for row in table.rows]
    return page_tables.Table("Choose a column to sort by it.", columns, rows)


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


def _summary_of(records: list[Record], n_tables: int) -> Summary:
    """Summary, headline and pictures, by what the records are about.

    The summary is a sentence or two, the headline the few numbers that matter most.
    """
    names = set(records[0]) if records else set()
    summary: Summary | None = None
    if {"row", "k", "oracle", "paper", "difference"} <= names:
        summary = _summary_of_faces(records)
    elif {"row", "variant", "metric", "mean", "paper"} <= names:
        summary = _summary_of_books(records)
    elif {"row", "features", "horizon", "folds"} <= names:
        summary = _summary_of_published(records)
    elif {"method", "I", "N", "seconds"} <= names:
        summary = _summary_of_times(records)
    elif {"row", "centre", "rank", "rates"} <= names:
        summary = summary_of_gait(records)
    plain = f"{counted(len(records), 'figure')} in {counted(n_tables, 'table')}."
    return summary or (plain, [], [])


def _summary_of_faces(records: list[Record]) -> Summary | None:
    compared = [r for r in records if r["difference"] is not None]
    if not compared:
        return None
    differences = np.array([r["difference"] for r in compared])
    close = int((np.abs(differences) <= CLOSE).sum())
    summary = (
        f"Of {counted(len(compared), 'figure')} that the paper prints, {close} "
        f"{'is' if close == 1 else 'are'} met within {CLOSE:g} points of mean average precision; "
        f"ours minus the paper's is {_signed(differences.mean())} on average and "
        f"{_signed(differences[np.abs(differences).argmax()])} at its largest."
    )
    last = max(compared, key=lambda r: (r["k"], r["row"] == "MCSDA"))
    headline = [
        (f"{close} of {len(compared)}", f"within {CLOSE:g} points of the paper"),
        (_signed(differences.mean()), "mean difference, in points"),
        (f"{last['oracle']:.1f}", f"{last['row']} at k = {last['k']:g}; paper {last['paper']:.1f}"),
    ]
    rows = list(dict.fromkeys(r["row"] for r in compared))
    drawn = figure(
        lambda ax: _draw_faces(ax, compared, rows),
        (5.6, 3.8),
        f"Mean average precision against the share of training images for {', '.join(rows)}: "
        f"ours and the paper's lie {short(np.abs(differences).mean(), 2)} points apart on average.",
        "Mean average precision in percent against the share k of training images. Full lines: "
        "ours. Dashed: the paper.",
    )
    return summary, headline, [drawn]


def _signed(value: float) -> str:
    return f"{value:+.1f}".replace("-", "−")


def _draw_faces(ax: Any, records: list[Record], rows: list[str]) -> None:
    for i, row in enumerate(rows):
        own = sorted((r for r in records if r["row"] == row), key=lambda r: r["k"])
        shares, colour = [r["k"] for r in own], COLOURS[i % len(COLOURS)]
        ax.plot(shares, [r["oracle"] for r in own], color=colour, marker="o", ms=4, label=row)
        ax.plot(shares, [r["paper"] for r in own], color=colour, linestyle="--", alpha=0.7)
    tidy(ax)
    ax.set(xlabel="k", ylabel="mAP")
    ax.legend(frameon=False, fontsize="small")


def _summary_of_books(records: list[Record]) -> Summary | None:
    f1 = [r for r in records if r["metric"].lower() == "f1" and r["mean"] is not None]
    if not f1:
        return None
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
    drawn = figure(
        lambda ax: _draw_book(ax, f1),
        (5.6, 0.9 + 0.26 * len(f1)),
        "F1 of every method, ours with its deviation over folds: "
        + ", ".join(f"{_name(r)} {r['mean']:.1f}" for r in f1),
        "F1 in percent, with its deviation over folds. Rings: the paper.",
    )
    return summary, headline, [drawn]


def _name(record: Record) -> str:
    return record["row"] + (f", {record['variant']}" if record["variant"] else "")


def _draw_book(ax: Any, records: list[Record]) -> None:
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


def _summary_of_published(records: list[Record]) -> Summary | None:
    """F1 of every row at the first horizon, with the best figure that others published."""
    first = records[0]["horizon"]
    here = [r for r in records if r["horizon"] == first and r["folds"]]
    printed = paper_table("fi2010_published")
    theirs = {name: printed[name][0] for name in list(printed)[2:]}
    best = max(theirs, key=lambda name: theirs[name])
    if not here:
        return None
    own = here[0]
    folds = counted(len(own["folds"]), "fold")
    summary = (
        f"{own['row']} with {own['features']} features has a mean F1 of {own['f1']:.1f} % over "
        f"{folds} at horizon {first}; the best published figure "
        f"on the nine anchored folds is {theirs[best]:.1f} % ({best})."
    )
    headline = [
        (f"{own['f1']:.1f} %", f"F1 of {own['row']}, {own['features']} features"),
        (f"{theirs[best]:.1f} %", f"F1 of {best}, published"),
    ]
    rows = [
        {"row": r["row"], "variant": f"{r['features']} features", "mean": r["f1"],
         "std": r["f1_std"], "paper": theirs[best]}
        for r in here
    ]  # fmt: skip
    drawn = figure(
        lambda ax: _draw_book(ax, rows),
        (5.6, 0.9 + 0.26 * len(rows)),
        "F1 of every row: " + ", ".join(f"{_name(r)} {r['mean']:.1f}" for r in rows),
        f"F1 in percent, with its deviation over folds. Rings: {best}, published.",
    )
    return summary, headline, [drawn]


def _summary_of_times(records: list[Record]) -> Summary | None:
    """Training times against the size of a sample, at the number of samples with most sizes."""
    counts = [r["N"] for r in records]
    n = max(set(counts), key=lambda one: (len({r["I"] for r in records if r["N"] == one}), -one))
    at_n = [r for r in records if r["N"] == n]
    largest = max(r["I"] for r in at_n)
    times = {r["method"]: 1000 * r["seconds"] for r in at_n if r["I"] == largest}
    if "MCSDA" not in times or len(times) < 2:
        return None
    slowest = max(times, key=lambda method: times[method])
    summary = (
        f"At {counted(n, 'sample')} of {largest:,} numbers, one model takes "
        f"{short(times['MCSDA'])} ms with MCSDA and {short(times[slowest])} ms with {slowest}, "
        "the slowest."
    )
    headline = [(f"{short(took)} ms", method) for method, took in times.items()]
    drawn = figure(
        lambda ax: _draw_times(ax, at_n),
        (5.6, 3.6),
        f"Training time against the numbers in a sample, {n} samples. At {largest}: "
        + ", ".join(f"{method} {short(took)} ms" for method, took in times.items()),
        f"Training time of one model from {counted(n, 'sample')}, both axes logarithmic.",
    )
    return summary, headline, [drawn]


def _draw_times(ax: Any, records: list[Record]) -> None:
    for i, method in enumerate(dict.fromkeys(r["method"] for r in records)):
        own = sorted((r for r in records if r["method"] == method), key=lambda r: r["I"])
        times = [1000 * r["seconds"] for r in own]
        colour = COLOURS[i % len(COLOURS)]
        ax.plot([r["I"] for r in own], times, color=colour, marker="o", ms=4, label=method)
    tidy(ax)
    ax.set(xscale="log", yscale="log", xlabel="numbers in a sample", ylabel="milliseconds")
    ax.legend(frameon=False, fontsize="small")
