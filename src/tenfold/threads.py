"""Stacks of small problems shared out over the threads that BLAS may use.

LAPACK gains nothing from threads on the matrices of one mode; a stack of models does. Each thread
solves a part of the stack, with BLAS held to one thread meanwhile, so that the number of busy
threads stays what the user allowed, also inside joblib and Dask workers.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

from threadpoolctl import ThreadpoolController  # a dependency of scikit-learn

P = TypeVar("P")
T = TypeVar("T")


def over_threads(work: Callable[[P], T], parts: list[P]) -> list[T]:
    """``work(part)`` for every part, in order."""
    controller = _controller()
    workers = min(len(parts), _allowed(controller)) if len(parts) > 1 else 1
    if workers == 1:
        return [work(part) for part in parts]
    with controller.limit(limits=1), ThreadPoolExecutor(workers) as pool:
        return list(pool.map(work, parts))


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def _allowed(controller: ThreadpoolController) -> int:
    blas = (library for library in controller.lib_controllers if library.user_api == "blas")
    return max((library.num_threads for library in blas), default=1)
