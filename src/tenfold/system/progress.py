"""Progress bars: the only place that knows rich.

A bar is shown when work takes long, standard error is a terminal and rich is installed (the `cli`
extra); otherwise the same code runs quietly.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from tenfold.system.tables import visible


class Bar(Protocol):
    """What a piece of work tells about itself."""

    def advance(self, steps: float = 1.0, note: str = "") -> None:
        """Some steps are done; `note` says what comes next."""
        ...


class _Quiet:
    def advance(self, steps: float = 1.0, note: str = "") -> None:
        """Say nothing."""


@contextmanager
def progress(description: str, total: float, enabled: bool | None = None) -> Iterator[Bar]:
    """A bar with the time left, for the length of a ``with`` block.

    Parameters
    ----------
    description : str
        What is being done.
    total : float
        Number of steps.
    enabled : bool or None
        Show the bar; None means when standard error is a terminal.

    Yields
    ------
    Bar
        Something to call `advance` on.

    Examples
    --------
    >>> from tenfold.system.progress import progress
    >>> with progress("fitting", total=3, enabled=False) as bar:
    ...     for _ in range(3):
    ...         bar.advance()
    """
    if enabled is None:
        enabled = sys.stderr is not None and sys.stderr.isatty()  # None: closed by the shell
    if not enabled:
        yield _Quiet()
        return
    try:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )
    except ImportError:
        yield _Quiet()
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as display:
        task = display.add_task(visible(description), total=total)

        class Shown:
            def advance(self, steps: float = 1.0, note: str = "") -> None:
                text = f"{description}: {note}" if note else description
                display.update(task, advance=steps, description=visible(text))

        yield Shown()
