"""What is around every command: shared options, errors and their exit codes, warnings, printing."""

from __future__ import annotations

import errno
import inspect
import json
import math
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from difflib import get_close_matches
from functools import cache, wraps
from os import PathLike, fspath
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from tenfold.datasets.spelling import spelled_for_shell
from tenfold.tables import Table, visible

# What may go wrong without a fault in tenfold; anything else shows its traceback.
EXPECTED = (ValueError, OSError, ImportError, MemoryError, RuntimeError, KeyboardInterrupt)

DISK_FAILS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENOMEM)
FAILED, BAD_INPUT, INTERRUPTED = 1, 2, 130


class BadInput(ValueError):
    """Input that a command cannot work with; the message says what to do."""


def exit_code_of(error: BaseException) -> int:
    """The exit code for an error.

    A full disk or too little memory is no mistake of the user's input, so these count as work that
    could not be done.
    """
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    if isinstance(error, OSError):
        return FAILED if error.errno in DISK_FAILS else BAD_INPUT
    return BAD_INPUT if isinstance(error, ValueError | ImportError) else FAILED


def complain(error: BaseException) -> None:
    """Write the message of an error to standard error, in one line."""
    sys.stderr.write(f"tenfold: {visible(one_line(error))}\n")


def print_error_as_json(error: BaseException, code: int) -> None:
    """Write an error to standard output as JSON, for programs that read it."""
    facts = {"error": visible(one_line(error)), "exit_code": code}
    sys.stdout.write(f"{as_json_text(facts)}\n")
    sys.stdout.flush()


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A question to put behind an error about a name that is not known; empty if none is near.

    Examples
    --------
    >>> from tenfold.app.cli.command import did_you_mean
    >>> did_you_mean("mscda", ["csda", "mcsda", "plda"])
    '; did you mean mcsda?'
    >>> did_you_mean("forest", ["csda", "mcsda", "plda"])
    ''
    """
    near = get_close_matches(name.lower(), list(known), n=1)
    return f"; did you mean {near[0]}?" if near else ""


def one_line(error: BaseException) -> str:
    """The message of an error without line breaks; never empty.

    Examples
    --------
    >>> from tenfold.app.cli.command import one_line
    >>> one_line(MemoryError())
    'MemoryError'
    """
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{error.filename}: {error.strerror.lower()}"
    if isinstance(error, KeyboardInterrupt):
        return "interrupted; nothing was left half-written"
    if isinstance(error, MemoryError):
        return f"not enough memory: {error}" if str(error) else "MemoryError"
    return " ".join(str(error).split()) or type(error).__name__


@dataclass(frozen=True)
class Outcome:
    """The result of a command.

    Parameters
    ----------
    facts : mapping of str to JSON values
        What ``--json`` prints; NumPy numbers and arrays, paths and NaN (as null) are welcome.
    shown : sequence of Table and str
        What is printed otherwise; a str is one line.
    """

    facts: Mapping[str, object]
    shown: Sequence[Table | str]


def print_outcome(outcome: Outcome, *, as_json: bool) -> None:
    """Write an outcome to standard output: JSON, or lines and tables."""
    if hasattr(sys.stdout, "reconfigure"):  # a narrow encoding must not cost the finished work
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        lines = [as_json_text(outcome.facts)] if as_json else outcome.shown
        for line in lines:
            sys.stdout.write(f"{visible(line) if isinstance(line, str) else line}\n")
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:  # a full disk, behind > file
        raise OSError(error.errno, error.strerror, "standard output") from error


def as_json_text(value: object) -> str:
    """Strict JSON in ASCII: what is not a finite number becomes null, a date becomes text.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.app.cli.command import as_json_text
    >>> print(as_json_text({"ap": np.float64(0.5), "auc": np.nan, "ranks": (7, 7)}))
    {"ap": 0.5, "auc": null, "ranks": [7, 7]}
    """
    return json.dumps(_plain_value(value), allow_nan=False, default=str)


def _plain_value(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(_plain_value(key)): _plain_value(inner) for key, inner in value.items()}
    if hasattr(value, "tolist"):  # NumPy's numbers and arrays
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_plain_value(inner) for inner in value]
    if isinstance(value, PathLike):
        return fspath(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value


Group = TypeVar("Group")  # a dataclass of options


@dataclass(frozen=True)
class CommonOptions:
    """Options that every command has."""

    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False
    debug: Annotated[bool, typer.Option("--debug", help="Show where an error arose.")] = False


def command(work: Callable[..., Outcome]) -> Callable[..., None]:
    """A function that computes an outcome, as a command for typer.

    A parameter annotated with a dataclass is replaced by the fields of that dataclass, so that
    options are written once and shared by any number of commands.

    Parameters
    ----------
    work : callable
        Returns an `Outcome`.

    Returns
    -------
    callable
        Prints the outcome; turns errors into one line and an exit code.
    """
    groups: dict[str, type] = {}
    for parameter in _parameters(work):
        if isinstance(parameter.annotation, type) and is_dataclass(parameter.annotation):
            groups[parameter.name] = parameter.annotation

    @wraps(work)
    def run(**values: object) -> None:
        common = _taken(CommonOptions, values)
        values |= {name: _taken(kind, values) for name, kind in groups.items()}
        try:
            with warnings.catch_warnings(), spelled_for_shell():
                warnings.simplefilter("ignore")  # libraries about one another
                warnings.simplefilter("default", UserWarning)
                warnings.showwarning = _show_once()
                outcome = work(**{name: _at_home(value) for name, value in values.items()})
            print_outcome(outcome, as_json=common.as_json)
            sys.stdout.flush()
        except BrokenPipeError:  # the reader, such as head, has seen enough; typer knows how
            raise
        except EXPECTED as error:
            if common.debug and not isinstance(error, KeyboardInterrupt):
                raise
            code = exit_code_of(error)
            complain(error)
            if common.as_json:
                print_error_as_json(error, code)
            raise typer.Exit(code) from None

    everything = []
    for own in [*_parameters(work), *_parameters(CommonOptions)]:
        inside = _parameters(groups[own.name]) if own.name in groups else [own]
        everything += [one.replace(kind=one.KEYWORD_ONLY) for one in inside]
    run.__signature__ = inspect.Signature(everything)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in everything}
    run.__doc__ = _help(work)
    del run.__wrapped__  # typer would look through it at the other signature
    return run


def _help(work: Callable[..., Outcome]) -> str:
    """The docstring, with what comes before the example as one paragraph."""
    text, mark, example = inspect.cleandoc(work.__doc__ or "").partition("Example:")
    return f"{' '.join(text.split())}\n\n\b\n{mark}{example}"  # \b: lines stay as they are


def _parameters(callable_: Callable[..., object]) -> list[inspect.Parameter]:
    return list(inspect.signature(callable_, eval_str=True).parameters.values())


def _taken(group: type[Group], values: dict[str, object]) -> Group:
    """A dataclass from those of the values that are its fields; they are taken out."""
    names = list(inspect.signature(group).parameters)
    return group(**{name: values.pop(name) for name in names})


def _at_home(value: object) -> object:
    """A path with the home directory for ``~``, which shells leave alone in ``--output=~/x``."""
    if isinstance(value, list):
        return [_at_home(one) for one in value]
    return value.expanduser() if isinstance(value, Path) and value.parts[:1] == ("~",) else value


def _show_once() -> Callable[..., None]:
    """A function that shows each warning once, in one line, without the place in the code."""

    @cache
    def show(text: str) -> None:
        sys.stderr.write(f"tenfold: warning: {visible(text)}\n")

    return lambda message, *place, **more: show(" ".join(str(message).split()))
