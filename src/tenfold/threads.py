"""Stacks of small problems shared out over the threads that BLAS may use.

LAPACK gains nothing from threads on the matrices of one mode; a stack of models does. Each thread
solves a part of the stack, with BLAS held to one thread meanwhile, so that the number of busy
threads stays what the user allowed, also inside joblib and Dask workers.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController  # a dependency of scikit-learn

from tenfold.alternating import Share, in_order

SMALL = 256

P = TypeVar("P")
T = TypeVar("T")


def over_threads(work: Callable[[P], T], parts: list[P]) -> list[T]:
    """``work(part)`` for every part, in order, with BLAS held to one thread meanwhile."""
    controller = _controller()
    allowed = _allowed(controller)
    if allowed == 1:
        return [work(part) for part in parts]
    with controller.limit(limits=1):
        if len(parts) == 1:
            return [work(parts[0])]
        with ThreadPoolExecutor(min(allowed, len(parts))) as pool:
            return list(pool.map(work, parts))


def threads_for(shape: tuple[int, ...], n_models: int, from_tables: bool) -> Share[Any]:
    """Who uses the threads while models are solved: the parts of the stack, or BLAS.

    LAPACK loses by threads on matrices of up to `SMALL` rows, even with nothing else to do;
    products of whole samples gain by them.
    """
    small = max(shape) <= SMALL and (n_models > 1 or from_tables)
    return over_threads if small else in_order


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def _allowed(controller: ThreadpoolController) -> int:
    blas = (library for library in controller.lib_controllers if library.user_api == "blas")
    return max((library.num_threads for library in blas), default=1)
