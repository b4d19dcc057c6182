"""Stacks of small problems shared out over the threads that BLAS may use.

LAPACK gains nothing from threads on the matrices of one mode; a stack of models does. Each thread
solves a part of the stack, with BLAS held to one thread meanwhile, so that the number of busy
threads stays what the user allowed, also inside joblib and Dask workers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from threading import Lock
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController  # a dependency of scikit-learn

from tenfold.mathematics.alternation import shared_out
from tenfold.mathematics.tuning import FEW, MEDIUM, SMALL

P = TypeVar("P")
T = TypeVar("T")


def over_threads(work: Callable[[P], T], parts: list[P]) -> list[T]:
    """``work(part)`` for every part, in order, with BLAS held to one thread meanwhile."""
    threads = allowed_threads()
    with one_thread():
        return shared_out(work, parts, threads)


@contextmanager
def threads_for(shape: tuple[int, ...], of_stacks: bool, models: int = 1) -> Iterator[int]:
    """How many threads work on the models of a stack, with BLAS held to one; or one, and BLAS many.

    LAPACK loses by threads on matrices of up to `SMALL` rows, even with nothing else to do, and on
    the few of a model of vectors up to `MEDIUM`; products of whole samples gain by them. More
    models of vectors than threads keep all of these busy whatever their size.
    """
    small = of_stacks and max(shape) <= SMALL
    if len(shape) == 1:
        small = max(shape) <= MEDIUM or (of_stacks and models >= FEW)
    threads = allowed_threads() if small else 1
    with one_thread() if small else nullcontext():
        yield threads


def one_thread_for_small(size: int) -> AbstractContextManager[None]:
    """Hold BLAS to one thread while it works on matrices of so many rows, where it loses by more.

    The threads wait busily for each other, and for those of SciPy's own BLAS.
    """
    return one_thread() if size <= MEDIUM else nullcontext()


def one_thread() -> AbstractContextManager[None]:
    """Hold BLAS to one thread."""
    return _one_blas_thread(_controller()) if allowed_threads() > 1 else nullcontext()


def allowed_threads() -> int:
    """How many threads BLAS may use."""
    return _allowed(_controller())


_holders: list[Any] = []  # what restores the number of BLAS threads, and everybody who waits
_lock = Lock()


@contextmanager
def _one_blas_thread(controller: ThreadpoolController) -> Iterator[None]:
    """Hold BLAS to one thread until the last of all callers that hold it lets go.

    The number is the whole process's, so of two callers at the same time the second would
    otherwise restore the one that it found: 1, for ever.
    """
    with _lock:
        _holders.append(None if _holders else controller.limit(limits=1))
    try:
        yield
    finally:
        with _lock:
            limiter = _holders.pop(1 if len(_holders) > 1 else 0)
            if limiter is not None:
                limiter.restore_original_limits()


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def _allowed(controller: ThreadpoolController) -> int:
    blas = (library for library in controller.lib_controllers if library.user_api == "blas")
    return max((library.num_threads for library in blas), default=1)
