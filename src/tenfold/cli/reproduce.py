"""``tenfold reproduce``: an experiment of the paper."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tenfold.cli.errors import BadInput
from tenfold.cli.options import option
from tenfold.cli.output import Outcome
from tenfold.system.tables import Cell, Table


def _experiments() -> list[str]:
    return ["orl", "pie", "fi2010", "complexity"]


def reproduce(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="orl, pie, fi2010 (tables 1, 2, 3) or complexity.",
            autocompletion=_experiments,
        ),
    ],
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
    jobs: Annotated[int, option("--jobs", metavar="N", text="Processes; one per core.")] = -1,
) -> Outcome:
    """Run an experiment of the paper, ours beside the printed figures.

    Every finished cell is written at once. After an interruption, the same command goes on.

    Example: tenfold reproduce orl --data data --out table1 --quick
    """
    from tenfold import experiments
    from tenfold.experiments.tables import shown

    if name not in _experiments():
        raise BadInput(f"there is no experiment {name!r}; choose {', '.join(_experiments())}")
    if name == "complexity":
        result = experiments.complexity(out=out, quick=quick, seed=seed)
    else:
        result = experiments.reproduce(name, data=data, out=out, quick=quick, seed=seed, jobs=jobs)
    story: list[Table | str] = []
    for table in result.tables:
        rows = [[shown(row[0]), *(Cell(shown(v), 0.0) for v in row[1:])] for row in table.rows]
        story += [Table(table.title, table.columns, rows), *table.notes, ""]
    facts = {"experiment": result.name, "records": result.records, "files": result.files}
    page = next((file for file in result.files if file.suffix == ".html"), result.files[0])
    return Outcome(facts, [*story, f"wrote {page} and {len(result.files) - 1} files beside it"])
