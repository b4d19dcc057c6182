"""What a command prints: for programs one JSON value, for people tables and sentences."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike, fspath
from typing import Any

from tenfold.system.tables import Table, visible


@dataclass(frozen=True)
class Outcome:
    """The result of a command.

    Parameters
    ----------
    facts : JSON value
        What ``--json`` prints; NumPy numbers and arrays, paths and NaN (as null) are welcome.
    shown : sequence of Table and str
        What is printed otherwise; a str is one line.
    exit_code : int, default=0
        1 when a wanted figure was not reached.
    """

    facts: Any
    shown: Sequence[Table | str] = field(default_factory=tuple)
    exit_code: int = 0


def print_outcome(outcome: Outcome, *, as_json: bool) -> None:
    """Write an outcome to standard output: JSON, rich tables on a terminal, or plain ones."""
    if hasattr(sys.stdout, "reconfigure"):  # a narrow encoding must not cost the finished work
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        if as_json:
            sys.stdout.write(as_json_text(outcome.facts) + "\n")
        else:
            _print_pieces(outcome.shown)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:  # a full disk, behind > file
        raise OSError(error.errno, error.strerror, "standard output") from error


def _print_pieces(pieces: Sequence[Table | str]) -> None:
    for piece in pieces:
        if isinstance(piece, Table) and sys.stdout.isatty():
            _print_rich(piece)
        else:
            sys.stdout.write((visible(piece) if isinstance(piece, str) else str(piece)) + "\n")


def _print_rich(table: Table) -> None:
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    drawn = RichTable()
    for name, numeric in zip(table.names, table.numeric, strict=True):
        drawn.add_column(Text(name), justify="right" if numeric else "left")
    for row in table.cells:
        drawn.add_row(*(Text(cell.text) for cell in row))  # Text: a label like "[b]" is no markup
    console = Console()
    if table.title:
        console.print(Text(visible(table.title), style="bold"))
    console.print(drawn)


def as_json_text(value: Any) -> str:
    """Strict JSON in ASCII: what is not a finite number becomes null, a date becomes text.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.cli.output import as_json_text
    >>> print(as_json_text({"ap": np.float64(0.5), "auc": np.nan, "ranks": (7, 7)}))
    {"ap": 0.5, "auc": null, "ranks": [7, 7]}
    """
    return json.dumps(_plain_value(value), allow_nan=False, default=str)


def _plain_value(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(_plain_value(key)): _plain_value(inner) for key, inner in value.items()}
    if hasattr(value, "tolist"):  # NumPy's numbers and arrays
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_plain_value(inner) for inner in value]
    if isinstance(value, PathLike):
        return fspath(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value
