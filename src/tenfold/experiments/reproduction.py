"""`reproduce`: the paper's tables by one call each, on the data at hand."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import tenfold
from tenfold.datasets.locations import data_directory
from tenfold.experiments.experiment import Experiment
from tenfold.experiments.face_tables import face_experiment
from tenfold.experiments.ledger import Ledger, only_run_in
from tenfold.experiments.order_book_tables import order_book_experiment
from tenfold.experiments.runner import run_cells
from tenfold.experiments.tables import Table, as_csv, as_markdown, as_page, as_text
from tenfold.system.atomic_write import write_whole

EXPERIMENTS = ("orl", "pie", "fi2010")


@dataclass(frozen=True)
class Reproduction:
    """A finished experiment.

    Parameters
    ----------
    name : {"orl", "pie", "fi2010", "complexity"}
        Which one.
    tables : list of Table
        Ours beside the paper's.
    records : list of dict
        The same figures, one record per cell, with all digits.
    files : list of Path
        What was written.
    """

    name: str
    tables: list[Table]
    records: list[dict[str, Any]]
    files: list[Path]

    def text(self) -> str:
        """All tables, for the terminal."""
        return "\n\n\n".join(map(as_text, self.tables))


def reproduce(
    name: str,
    *,
    data: str | os.PathLike[str] | None = None,
    out: str | os.PathLike[str],
    quick: bool = False,
    seed: int = 0,
    jobs: int = 1,
    progress: bool | None = None,
) -> Reproduction:
    """Run one of the paper's experiments, or go on with one that was interrupted.

    Every finished cell is written to ``cells.jsonl`` at once. Started again with the same
    settings, after whatever end, the run continues there; ``results.json`` is a pure function of
    the data and the seed and comes out the same, byte by byte. Times are kept apart from it.

    Parameters
    ----------
    name : {"orl", "pie", "fi2010"}
        Table 1, 2 or 3.
    data : path or None
        Directory with the data sets; None takes the environment variable ``TENFOLD_DATA``.
    out : path
        Folder of this run, made if need be: ``results.json``, ``results.csv``, ``tables.md``,
        ``tables.json``, ``index.html``, ``times.json``.
    quick : bool, default=False
        A small version with every row, in about a minute.
    seed : int, default=0
        Decides all splits and random starts.
    jobs : int, default=1
        Processes; -1 means one per core. The results do not depend on it.
    progress : bool or None, default=None
        Show a bar; None means on a terminal.

    Returns
    -------
    Reproduction
        The tables.

    Examples
    --------
    >>> from tenfold.experiments import reproduce
    >>> print(reproduce("orl", data="faces", out="table1").text())   # doctest: +SKIP
    """
    if name not in EXPERIMENTS:
        raise ValueError(f"experiment is {name!r}; expected one of {', '.join(EXPERIMENTS)}")
    make = order_book_experiment if name == "fi2010" else face_experiment
    experiment = make(name, str(data_directory(data, "the data sets")), seed=seed, quick=quick)
    return run_experiment(experiment, Path(out), jobs=jobs, progress=progress)


def run_experiment(
    experiment: Experiment, folder: Path, *, jobs: int = 1, progress: bool | None = None
) -> Reproduction:
    """Compute the cells that are missing in a folder, and write the tables."""
    settings = {"experiment": experiment.name, "tenfold": tenfold.__version__}
    settings |= experiment.settings
    with only_run_in(folder), Ledger(folder / "cells.jsonl", settings) as ledger:
        results = run_cells(
            experiment.cells, ledger, description=experiment.title, jobs=jobs, show=progress
        )
        seconds = {cell.name: ledger.cells[cell.name]["seconds"] for cell in experiment.cells}
        records, tables = experiment.summarise(results)
        files = _written(folder, experiment, settings, results, records, tables, seconds)
    return Reproduction(experiment.name, tables, records, files)


def _written(
    folder: Path,
    experiment: Experiment,
    settings: dict[str, Any],
    results: dict[str, dict[str, Any]],
    records: list[dict[str, Any]],
    tables: list[Table],
    seconds: dict[str, float],
) -> list[Path]:
    """Write what the reader gets, each file whole."""
    clocks = {cell.name for cell in experiment.cells if cell.alone}
    pure = {name: result for name, result in results.items() if name not in clocks}
    measured = {name: result for name, result in results.items() if name in clocks}
    how = facts_of_this_run(sum(seconds.values()))
    table = Table(
        "",
        list(records[0]),
        [[str(v) if isinstance(v, list) else v for v in r.values()] for r in records],
    )
    texts = {
        "results.json": _json({"settings": settings, "records": records, "cells": pure}),
        "results.csv": as_csv(table),
        "times.json": _json({"facts": how, "measured": measured, "seconds": seconds}),
        "tables.json": _json({"title": experiment.title, "tables": [asdict(t) for t in tables]}),
        "tables.md": "\n\n".join(map(as_markdown, tables)) + "\n",
        "index.html": as_page(experiment.title, tables, list(how.values())),
    }
    for name, text in texts.items():
        write_whole(folder / name, text.encode("utf-8"))
    return [folder / name for name in texts]


def facts_of_this_run(seconds: float) -> dict[str, str]:
    """Date, versions and machine, as sentences."""
    packages = ("numpy", "scipy", "scikit-learn")
    versions = ", ".join(f"{package} {version(package)}" for package in packages)
    return {
        "date": f"Finished on {datetime.now(UTC):%Y-%m-%d}.",
        "versions": f"tenfold {tenfold.__version__}, Python {platform.python_version()}, "
        f"{versions}.",
        "machine": f"{platform.machine()}, {os.cpu_count()} cores; "
        f"{seconds:.0f} seconds of work in all cells.",
    }


def _json(content: dict[str, Any]) -> str:
    return json.dumps(content, indent=1) + "\n"
