"""An experiment: cells to compute, each written at once, and the tables made of them."""

from __future__ import annotations

import json
import multiprocessing
import os
import platform
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

import tenfold
from paper.finished_cells import FinishedCells, RunError, only_run_in
from paper.results_page import results_page
from paper.tables import Table, as_csv, as_markdown
from tenfold.app.report.page import as_html
from tenfold.progress import progress as progress_bar
from tenfold.serialization.atomic_write import write_whole

Record = dict[str, Any]
Results = dict[str, dict[str, Any]]  # of every cell, by its name


@dataclass(frozen=True)
class Cell:
    """One piece of a table that is computed, written and never computed again.

    Parameters
    ----------
    name : str
        What the cell is, unique in its run, such as ``"MCSDA k=0.2 split=1"``.
    work : callable
        A module-level function that returns the result as JSON types.
    arguments : tuple
        What it is called with.
    weight : float
        Rough relative cost, for the time left.
    alone : bool
        Whether nothing else may run meanwhile, because the cell measures time.
    """

    name: str
    work: Callable[..., dict[str, Any]]
    arguments: tuple[Any, ...] = ()
    weight: float = 1.0
    alone: bool = False


@dataclass(frozen=True)
class Experiment:
    """Something that can be run, interrupted and continued.

    Parameters
    ----------
    name : str
        A short name.
    title : str
        What the page and the progress bar say.
    settings : dict
        Everything that decides the results, as JSON types.
    cells : list of Cell
        What has to be computed.
    summarise : callable
        From the results of all cells to records and tables.
    """

    name: str
    title: str
    settings: dict[str, Any]
    cells: list[Cell]
    summarise: Callable[[Results], tuple[list[Record], list[Table]]]


@dataclass(frozen=True)
class Finished:
    """What a run leaves: tables, the same figures with all digits, and the files written."""

    tables: list[Table]
    records: list[Record]
    files: list[Path]


def run_experiment(
    experiment: Experiment,
    out: str | os.PathLike[str],
    *,
    jobs: int = 1,
    progress: bool | None = None,
) -> Finished:
    """Compute the cells that are missing in a folder, and write the tables.

    Every finished cell is written to ``cells.jsonl`` at once. Started again with the same
    settings, after whatever end, the run continues there; ``results.json`` is a pure function of
    the data and the seed and comes out the same, byte by byte. Times are kept apart from it.

    Into the folder `out`, made if need be, go ``results.json``, ``results.csv``, ``tables.md``,
    ``tables.json``, ``index.html`` and ``times.json``. `jobs` are processes, -1 means one per core;
    the results do not depend on it. `progress` None shows a bar on a terminal only.
    """
    if jobs != -1 and jobs < 1:
        raise ValueError(f"jobs is {jobs}; expected 1 or more, or -1 for one per core")
    folder = Path(out)
    settings = {"experiment": experiment.name, "tenfold": tenfold.__version__}
    settings |= experiment.settings
    with only_run_in(folder), FinishedCells(folder / "cells.jsonl", settings) as finished:
        _compute(experiment, finished, jobs, progress)
        cells = {cell.name: finished.cells[cell.name] for cell in experiment.cells}
        results = {name: cell["result"] for name, cell in cells.items()}
        seconds = {name: cell["seconds"] for name, cell in cells.items()}
        records, tables = experiment.summarise(results)
        texts = _files(experiment, settings, results, records, tables, seconds)
        for name, text in texts.items():
            write_whole(folder / name, text.encode("utf-8"))
    return Finished(tables, records, [folder / name for name in texts])


def _compute(
    experiment: Experiment, finished: FinishedCells, jobs: int, progress: bool | None
) -> None:
    """Compute what is missing: first cells side by side, then those that must be alone."""
    missing = [cell for cell in experiment.cells if cell.name not in finished.cells]
    together = [cell for cell in missing if not cell.alone]
    alone = [cell for cell in missing if cell.alone]
    total, left = (sum(cell.weight for cell in cells) for cells in (experiment.cells, missing))
    with progress_bar(experiment.title, total, enabled=progress) as advance:
        advance(total - left)
        n_jobs = min(os.cpu_count() or 1 if jobs == -1 else jobs, len(together))
        for cells, side_by_side in ((together, n_jobs), (alone, 1)):
            for cell, result, took in _computed(cells, side_by_side):
                finished.write(cell.name, result, took)
                advance(cell.weight, note=cell.name)


def _computed(cells: list[Cell], jobs: int) -> Iterator[tuple[Cell, dict[str, Any], float]]:
    """Cells as they finish, with result and seconds; here, or in several processes."""
    if jobs <= 1:
        yield from map(_timed, cells)
        return
    context = multiprocessing.get_context("spawn")  # BLAS threads do not survive a fork
    pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_end_with_parent)
    try:
        for future in as_completed([pool.submit(_timed, cell) for cell in cells]):
            yield future.result()
    except BrokenProcessPool as error:
        raise RunError(
            "a worker process was killed, perhaps for lack of memory; the same command goes on "
            "with what is finished, and --jobs 1 needs the least memory"
        ) from error
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _timed(cell: Cell) -> tuple[Cell, dict[str, Any], float]:
    """A cell, its result and its seconds. One BLAS thread: sums come out the same every time."""
    start = time.perf_counter()
    with threadpool_limits(limits=1):
        result = cell.work(*cell.arguments)
    return cell, result, time.perf_counter() - start


def _end_with_parent() -> None:
    """End this worker when the process that started it is gone, even by kill -9.

    Workers of joblib stay behind, which is why this is not `joblib.Parallel`.
    """
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_exit_after, args=(parent.sentinel,), daemon=True).start()


def _exit_after(sentinel: int) -> None:
    wait([sentinel])
    os._exit(1)


def _files(
    experiment: Experiment,
    settings: dict[str, Any],
    results: Results,
    records: list[Record],
    tables: list[Table],
    seconds: dict[str, float],
) -> dict[str, str]:
    """What the reader gets, by the names of the files."""
    clocks = {cell.name for cell in experiment.cells if cell.alone}
    pure = {name: result for name, result in results.items() if name not in clocks}
    measured = {name: result for name, result in results.items() if name in clocks}
    facts = facts_of_this_run(sum(seconds.values()))
    page = results_page(experiment.title, tables, records, facts, bool(settings.get("quick")))
    rows = [[str(v) if isinstance(v, list) else v for v in r.values()] for r in records]
    return {
        "results.json": _json({"settings": settings, "records": records, "cells": pure}),
        "results.csv": as_csv(Table("", list(records[0]), rows)),
        "times.json": _json({"facts": facts, "measured": measured, "seconds": seconds}),
        "tables.json": _json({"title": experiment.title, "tables": [asdict(t) for t in tables]}),
        "tables.md": "\n\n".join(map(as_markdown, tables)) + "\n",
        "index.html": as_html(page),
    }


def facts_of_this_run(seconds: float) -> dict[str, str]:
    """Date, versions and machine, as sentences."""
    packages = ("numpy", "scipy", "scikit-learn")
    versions = ", ".join(f"{package} {version(package)}" for package in packages)
    return {
        "date": f"Finished on {datetime.now(UTC):%Y-%m-%d}.",
        "versions": f"tenfold {tenfold.__version__}{_commit()}, "
        f"Python {platform.python_version()}, {versions}.",
        "machine": f"{platform.machine()}, {os.cpu_count()} cores; "
        f"{seconds:.0f} seconds of work in all cells.",
    }


def _commit() -> str:
    """Name the commit of the tree that runs, and whether files differ; "" outside of git."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=7"]
    try:
        said = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True)
    except OSError:
        return ""
    return f" at commit {said.stdout.strip()}" if said.returncode == 0 else ""


def _json(content: dict[str, Any]) -> str:
    return json.dumps(content, indent=1) + "\n"
