"""``tenfold demo`` and ``tenfold reproduce``: work that brings or finds its own data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tenfold.cli.options import option
from tenfold.cli.outcome import Outcome, Table


def reproduce(
    name: Annotated[str, typer.Argument(metavar="orl|pie|fi2010", help="Table 1, 2 or 3.")],
    *,
    out: Annotated[Path, option("--out", metavar="DIR", text="Folder of this run.")],
    data: Annotated[
        Path | None,
        option("--data", metavar="DIR", text="Where orl/, pie/, fi2010/ are; else TENFOLD_DATA."),
    ] = None,
    quick: Annotated[
        bool, option("--quick", metavar=None, text="A small version with every row.")
    ] = False,
    seed: Annotated[int, option("--seed", metavar="N", text="Of splits and starts; 0.")] = 0,
    jobs: Annotated[int, option("--jobs", metavar="N", text="Processes; 1. -1: all cores.")] = 1,
) -> Outcome:
    """Run an experiment of the paper, ours beside the printed figures.

    Every finished cell is written at once. After an interruption, the same command goes on.

    Example: tenfold reproduce orl --data data --out table1 --quick
    """
    from tenfold.experiments import reproduce as run
    from tenfold.experiments.tables import shown

    result = run(name, data=data, out=out, quick=quick, seed=seed, jobs=jobs)
    story: list[Table | str] = []
    for table in result.tables:
        rows = [[shown(value) for value in row] for row in table.rows]
        story += [Table(table.columns, rows, table.title), *table.notes, ""]
    facts = {"experiment": result.name, "records": result.records, "files": result.files}
    page = next((file for file in result.files if file.suffix == ".html"), result.files[0])
    return Outcome(facts, [*story, f"wrote {page} and {len(result.files) - 1} files beside it"])
