"""Warnings of this library that a caller does not want to hear twice.

``warnings.catch_warnings`` changes the filters of the whole process: of two threads inside of it
the last to leave restores what it found, which is the filters of the other. A context variable
belongs to one thread, and an interrupt cannot leave it set.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextvars import ContextVar, copy_context
from typing import TypeVar

T = TypeVar("T")

_unwanted: ContextVar[tuple[type[Warning], ...]] = ContextVar("unwanted", default=())


def quietly(work: Callable[..., T], *given: object, without: type[Warning] = Warning) -> T:
    """``work(*given)`` without the warnings of tenfold of this category.

    Warnings of other libraries are theirs to give.

    Parameters
    ----------
    work : callable
        What is done, in this thread.
    *given : anything
        What it takes.
    without : type of warning, default=Warning
        The category that is left out; ``Warning`` is all of them.

    Returns
    -------
    anything
        What `work` returns.

    Examples
    --------
    >>> from tenfold.quiet import quietly, warn
    >>> quietly(warn, "said before", UserWarning, 1)
    """
    inside = copy_context()
    inside.run(_unwanted.set, (*_unwanted.get(), without))
    return inside.run(work, *given)


def warn(message: str, category: type[Warning], stacklevel: int) -> None:
    """``warnings.warn``, unless the caller asked for quiet; every warning of tenfold is given here.

    Parameters
    ----------
    message : str
        What is said.
    category : type of warning
        Its kind.
    stacklevel : int
        As in ``warnings.warn``: 1 is the line that calls this function.
    """
    if not issubclass(category, _unwanted.get()):
        warnings.warn(message, category, stacklevel=stacklevel + 1)
