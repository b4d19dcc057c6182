"""Long work shared out over processes, as many as BLAS may use threads.

Fits of small models are held up by Python more than by BLAS, so threads gain little. Processes do,
but each takes a second to start: short work stays where it is.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from typing import TypeVar

import numpy as np
from joblib import effective_n_jobs, parallel_config  # a dependency of scikit-learn
from sklearn.utils.parallel import Parallel, delayed

from tenfold.threads import allowed_threads, one_thread

T = TypeVar("T")

PATIENCE = 2.0  # seconds of work before processes are started


def over_processes(
    work: Callable[..., T],
    tasks: Sequence[tuple[object, ...]],
    patience: float = PATIENCE,
    n_jobs: int | None = None,
) -> Iterator[tuple[int, T]]:
    """``work(*task)`` of every task, with the number of the task, as they are done.

    Parameters
    ----------
    work : callable
        A function of a module; what it takes and gives can be pickled.
    tasks : sequence of tuples
        The arguments of every call.
    patience : float
        After so many seconds in this process the tasks that are left go to others. Every task has
        one thread of BLAS wherever it is done; with infinite patience it has all that are allowed.
    n_jobs : int or None, default=None
        How many processes, from the first task on; None starts as many as BLAS may use threads,
        when patience ends.

    Yields
    ------
    (int, result)
        In any order.

    Examples
    --------
    >>> from tenfold.processes import over_processes
    >>> dict(over_processes(divmod, [(7, 2), (9, 4)]))
    {0: (3, 1), 1: (2, 1)}
    """
    start = time.perf_counter()
    processes = allowed_threads()
    if n_jobs is not None:
        processes = effective_n_jobs(n_jobs)
        patience = min(patience, -1.0) if processes > 1 else np.inf
    for number, task in enumerate(tasks):
        late = time.perf_counter() - start > patience
        if late and processes > 1 and len(tasks) - number > processes:
            break
        with one_thread() if processes > 1 and patience < np.inf else nullcontext():
            done = work(*task)  # as it would be elsewhere, so that times can be compared
        yield number, done
    else:
        return
    rest = range(number, len(tasks))
    with parallel_config("loky", inner_max_num_threads=1):
        pool = Parallel(n_jobs=processes, return_as="generator_unordered")
        results = pool(delayed(_numbered)(k, work, tasks[k]) for k in rest)
    yield from results


def _numbered(number: int, work: Callable[..., T], task: tuple[object, ...]) -> tuple[int, T]:
    return number, work(*task)
