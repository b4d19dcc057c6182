"""Progress bars: the only place that knows rich.

A bar is shown when work takes long, standard error is a terminal and rich is installed (the `cli`
extra); otherwise the same code runs quietly.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from tenfold.tables import visible

Advance = Callable[..., None]  # (steps=1.0, note=""): so many are done; what comes next


@contextmanager
def progress(description: str, total: float, enabled: bool | None = None) -> Iterator[Advance]:
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
    function
        ``advance(steps=1.0, note="")``: so many steps are done; `note` says what comes next.

    Examples
    --------
    >>> from tenfold.progress import progress
    >>> with progress("fitting", total=3, enabled=False) as advance:
    ...     for _ in range(3):
    ...         advance()
    """
    if enabled is None:
        enabled = sys.stderr is not None and sys.stderr.isatty()  # None: closed by the shell
    if not enabled or find_spec("rich") is None:
        yield lambda steps=1.0, note="": None
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import (
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    told, bar, *_ = Progress.get_default_columns()
    times = (TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn())
    columns = (told, bar, MofNCompleteColumn(), *times)
    with Progress(*columns, console=Console(stderr=True), transient=True) as display:
        task = display.add_task(escape(visible(description)), total=total)

        def advance(steps: float = 1.0, note: str = "") -> None:
            text = visible(f"{description}: {note}" if note else description)
            display.update(task, advance=steps, description=escape(text))

        yield advance
