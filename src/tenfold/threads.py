"""Stacks of small problems shared out over the threads that BLAS may use.

LAPACK gains nothing from threads on the matrices of one mode; a stack of models does. Each thread
solves a part of the stack, with BLAS held to one thread meanwhile, so that the number of busy
threads stays what the user allowed, also inside joblib and Dask workers.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from typing import TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController  # a dependency of scikit-learn

T = TypeVar("T")

WORTH_SHARING = 2e6  # flops; a smaller stack is solved sooner than threads are woken


def over_threads(work: Callable[[slice], T], n_models: int, flops: float) -> list[T]:
    """``work(part)`` for parts that cover a stack, in order."""
    controller = _controller()
    workers = min(n_models, _allowed(controller))
    if flops < WORTH_SHARING:
        return [work(slice(0, n_models))]
    cuts = np.linspace(0, n_models, workers + 1).astype(int)
    parts = [slice(a, b) for a, b in pairwise(cuts)]
    if workers == 1:
        return [work(part) for part in parts]
    with controller.limit(limits=1), ThreadPoolExecutor(workers) as pool:
        return list(pool.map(work, parts))


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def _allowed(controller: ThreadpoolController) -> int:
    return max((library.num_threads for library in controller.lib_controllers), default=1)
