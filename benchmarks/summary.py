"""The few lines of README about speed, made of the measurements alone.

python benchmarks/summary.py      prints them from docs/_static/benchmarks/results.json
"""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "docs" / "_static" / "benchmarks" / "results.json"
BEGIN, END = "<!-- bench -->\n", "\n<!-- /bench -->"
SPACE = "\N{NO-BREAK SPACE}"
Row = dict[str, Any]

TITLES = {
    "mcsda": "`MCSDA`, one fit: 10 000 samples of 144×10 → 60×8",
    "mpca-5000": "`MPCA`, one fit: 5000 samples of 40×30 → 7×7",
    "faces": "`MCSDA` for 40 persons at 19 ranks: 200 faces of 40×30",
    "order-book": "`MCSDA` for 3 classes at 16 ranks: 39 467 order books of 144×10",
    "scoring": "30 000 samples of 40×30 against 40 subspaces",
}


def summary(results: dict[str, Any]) -> str:
    """A table in Markdown: medians on one thread, and how much longer the fastest other takes."""
    lines = [
        "| one thread, 20 rounds each | tenfold | fastest other | factor |",
        "|---|--:|--:|--:|",
    ]
    for job, title in results["titles"].items():
        own, other = fastest(results["jobs"], job, 1)
        peer = f"{other['contestant']} {seconds(median(other['wall']))}"
        cells = [title, seconds(median(own["wall"])), peer, ratio(results["jobs"], job, 1)]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def fastest(rows: list[Row], job: str, threads: int) -> tuple[Row, Row]:
    """tenfold, and the fastest of those that found the same answer."""
    there = [row for row in rows if (row["job"], row["threads"]) == (job, threads)]
    own = next(row for row in there if row["contestant"] == "tenfold")
    others = [row for row in there if row is not own and row["status"] == "agrees"]
    return own, min(others, key=lambda row: median(row["wall"]))


def ratio(rows: list[Row], job: str, threads: int) -> str:
    own, other = fastest(rows, job, threads)
    times = median(other["wall"]) / median(own["wall"])
    return f"{times:.0f}×" if times >= 10 else f"{times:.1f}×"


def seconds(value: float) -> str:
    if value >= 100:
        return f"{value:.0f}{SPACE}s"
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= size:
            return f"{value / size:.3g}{SPACE}{unit}"
    return f"{value / 1e-6:.2g}{SPACE}µs"


def put_into(page: Path, text: str) -> None:
    """Put the table between the two marks of a page."""
    before, rest = page.read_text(encoding="utf-8").split(BEGIN)
    after = rest.split(END)[1]
    page.write_text(before + BEGIN + text + END + after, encoding="utf-8")


if __name__ == "__main__":
    print(summary(json.loads(RESULTS.read_text(encoding="utf-8"))))
