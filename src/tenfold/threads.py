"""Stacks of small problems shared out over the threads that BLAS may use.

LAPACK gains nothing from threads on the matrices of one mode; a stack of models does. Each thread
solves a part of the stack, with BLAS held to one thread meanwhile, so that the number of busy
threads stays what the user allowed, also inside joblib and Dask workers.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from threading import RLock, current_thread, main_thread
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController  # a dependency of scikit-learn

from tenfold.linalg.constants import FEW, MEDIUM, SMALL
from tenfold.optimization.alternation import shared_out

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

    `of_stacks` says that work is on stacks of small matrices, not on products of whole samples.
    LAPACK loses by threads on matrices of up to `SMALL` rows, even with nothing else to do, and on
    the few of a model of vectors up to `MEDIUM`; products of whole samples gain by them. More
    models of vectors than threads keep all of these busy whatever their size.
    """
    small = of_stacks and max(shape) <= SMALL
    if len(shape) == 1:
        small = max(shape) <= MEDIUM or (of_stacks and models >= FEW)
    threads = allowed_threads() if small else 1
    with one_thread(small):
        yield threads


def one_thread(when: bool = True) -> AbstractContextManager[None]:
    """Hold BLAS to one thread, where that is faster.

    On matrices of up to `MEDIUM` rows BLAS loses by more threads: they wait busily for each other,
    and for those of SciPy's own BLAS.
    """
    if not when or allowed_threads() == 1:
        return nullcontext()
    return _one_blas_thread(_controller())


def allowed_threads() -> int:
    """How many threads BLAS may use."""
    blas = [one for one in _controller().lib_controllers if one.user_api == "blas"]
    return max((library.num_threads for library in blas), default=1)


@dataclass(eq=False)
class _Hold:
    """A time during which BLAS is held to one thread, by one caller or by several together."""

    limits: list[tuple[Any, int]]  # every library, and how many threads it may use otherwise
    callers: int = 0

    def give_back(self) -> None:
        """Give every library its threads back; once more does no harm."""
        for library, threads in self.limits:
            library.set_num_threads(threads)


@dataclass(eq=False)
class _Guard:
    """Gives the threads back before an interrupt is raised, wherever that finds the main thread.

    A ``finally`` is not enough: an interrupt may come before it is entered, or while it works.
    """

    before: Callable[..., Any]  # what handles an interrupt otherwise

    def __call__(self, number: int, frame: Any) -> Any:
        """Handle an interrupt: let go of all that is held, then do what is done otherwise."""
        global _lock
        with _lock:
            _let_go()
            self.remove()
        _lock = RLock()  # the interrupted thread may never give the old one back
        return self.before(number, frame)

    def remove(self) -> None:
        """Let interrupts be handled as before, unless someone else handles them by now."""
        before = self.before
        if signal.getsignal(signal.SIGINT) is self:
            signal.signal(signal.SIGINT, before)


_lock = RLock()  # an interrupt may come while the main thread has it
_holds: list[_Hold] = []  # the one that BLAS is held by, if any


@contextmanager
def _one_blas_thread(controller: ThreadpoolController) -> Iterator[None]:
    """Hold BLAS to one thread until the last of all callers that hold it lets go.

    The number is the whole process's, so of two callers at the same time the second would
    otherwise restore the one that it found: 1, for ever.
    """
    guard = _guarded()
    hold = _taken(controller)
    try:
        yield
    finally:
        with _lock:
            hold.callers -= 1
            if hold.callers == 0 and hold in _holds:
                _let_go()
        if guard is not None:
            guard.remove()


def _guarded() -> _Guard | None:
    """A guard against interrupts, which only the main thread gets; None where one is there."""
    if current_thread() is not main_thread():
        return None
    before = signal.getsignal(signal.SIGINT)
    if not callable(before) or isinstance(before, _Guard):
        return None
    guard = _Guard(before)
    signal.signal(signal.SIGINT, guard)
    return guard


def _taken(controller: ThreadpoolController) -> _Hold:
    """What BLAS is held by from now on, with one caller more."""
    with _lock:
        if not _holds:  # limits are known before they are changed, and given back from here
            limits = [(library, library.num_threads) for library in controller.lib_controllers]
            _holds.append(_Hold(limits))
            for library, _ in limits:
                library.set_num_threads(1)
        (hold,) = _holds
        hold.callers += 1
        return hold


def _let_go() -> None:
    """Give BLAS its threads back, whoever holds it: callers lose speed at most."""
    for hold in _holds:
        hold.give_back()
    _holds.clear()


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()
