"""Runs the cells of an experiment, in this process or in several, each with one BLAS thread."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import wait as wait_for
from typing import Any

from threadpoolctl import threadpool_limits

from tenfold.experiments.ledger import Ledger
from tenfold.system.progress import progress


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
    arguments: tuple[Any, ...] = field(default=())
    weight: float = 1.0
    alone: bool = False


def run_cells(
    cells: Sequence[Cell],
    ledger: Ledger,
    *,
    description: str,
    jobs: int = 1,
    show: bool | None = None,
) -> dict[str, dict[str, Any]]:
    """Compute the cells that the ledger does not have yet, and write each at once.

    Parameters
    ----------
    cells : sequence of Cell
        All cells of the run.
    ledger : Ledger
        Where finished cells are.
    description : str
        What the progress bar says.
    jobs : int
        Processes; -1 means one per core.
    show : bool or None
        Whether to show a bar; None means on a terminal.

    Returns
    -------
    dict of str to dict
        The result of every cell, in the order of `cells`.
    """
    missing = [cell for cell in cells if cell.name not in ledger.cells]
    together = [cell for cell in missing if not cell.alone]
    done = sum(cell.weight for cell in cells) - sum(cell.weight for cell in missing)
    with progress(description, sum(cell.weight for cell in cells), enabled=show) as bar:
        bar.advance(done)
        with _pool(min(number_of_jobs(jobs), max(1, len(together)))) as compute:
            for cell, result, seconds in compute(together):
                ledger.write(cell.name, result, seconds)
                bar.advance(cell.weight, note=cell.name)
        for cell in (cell for cell in missing if cell.alone):
            ledger.write(cell.name, *_timed(cell))
            bar.advance(cell.weight, note=cell.name)
    return {cell.name: ledger.cells[cell.name]["result"] for cell in cells}


def number_of_jobs(jobs: int) -> int:
    """The number of processes asked for; -1 means one per core.

    Examples
    --------
    >>> from tenfold.experiments.runner import number_of_jobs
    >>> number_of_jobs(2)
    2
    """
    if jobs == -1:
        return os.cpu_count() or 1
    if jobs < 1:
        raise ValueError(f"jobs is {jobs}; expected 1 or more, or -1 for one per core")
    return jobs


Finished = Iterator[tuple[Cell, dict[str, Any], float]]


@contextmanager
def _pool(jobs: int) -> Iterator[Callable[[Sequence[Cell]], Finished]]:
    """Something that computes cells and yields them as they finish."""
    if jobs == 1:
        yield _one_after_another
        return
    context = multiprocessing.get_context("spawn")  # BLAS threads do not survive a fork
    pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_end_with_parent)
    try:
        yield lambda cells: _side_by_side(pool, cells)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _one_after_another(cells: Sequence[Cell]) -> Finished:
    for cell in cells:
        yield cell, *_timed(cell)


def _side_by_side(pool: ProcessPoolExecutor, cells: Sequence[Cell]) -> Finished:
    running: dict[Future[tuple[dict[str, Any], float]], Cell] = {
        pool.submit(_timed, cell): cell for cell in cells
    }
    while running:
        finished, _ = wait(running, return_when=FIRST_COMPLETED)
        for future in finished:
            yield running.pop(future), *future.result()


def _timed(cell: Cell) -> tuple[dict[str, Any], float]:
    """The result and the seconds it took. One BLAS thread: sums come out the same every time."""
    start = time.perf_counter()
    with threadpool_limits(limits=1):
        result = cell.work(*cell.arguments)
    return result, time.perf_counter() - start


def _end_with_parent() -> None:
    """End this worker when the process that started it is gone, even by kill -9."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_exit_after, args=(parent.sentinel,), daemon=True).start()


def _exit_after(sentinel: int) -> None:
    wait_for([sentinel])
    os._exit(1)
