"""Warnings of this library: they name the line of the user, and a caller can ask for quiet.

``warnings.catch_warnings`` changes the filters of the whole process: of two threads inside of it
the last to leave restores what it found, which is the filters of the other. A context variable
belongs to one thread, and an interrupt cannot leave it set.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from contextvars import ContextVar, copy_context
from types import FrameType
from typing import TypeVar

T = TypeVar("T")

# A user's call passes through these packages: scikit-learn wraps `transform`, and searches fit.
INSIDE = ("tenfold", "sklearn")

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
    >>> quietly(warn, "said before", UserWarning)
    """
    inside = copy_context()
    inside.run(_unwanted.set, (*_unwanted.get(), without))
    return inside.run(work, *given)


def warn(message: str, category: type[Warning]) -> None:
    """A warning about the line outside of tenfold, unless a caller asked for quiet.

    Every warning of tenfold is given here.

    Parameters
    ----------
    message : str
        What is said.
    category : type of warning
        Its kind.
    """
    if issubclass(category, _unwanted.get()):
        return
    level = 1  # of this function
    frame = inspect.currentframe()
    while frame is not None and _package_of(frame) in INSIDE:
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)


def _package_of(frame: FrameType) -> str:
    """The name of the package whose code a frame runs."""
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]
