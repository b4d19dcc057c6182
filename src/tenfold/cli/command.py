"""What is around every command: shared options, errors, warnings and printing."""

from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from tenfold.cli.errors import EXPECTED, complain, exit_code_of
from tenfold.cli.output import Outcome, print_outcome
from tenfold.system.tables import visible


@dataclass(frozen=True)
class CommonOptions:
    """Options that every command has."""

    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False
    debug: Annotated[bool, typer.Option("--debug", hidden=True)] = False  # shows tracebacks


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
    groups = {n: kind for n, kind in get_type_hints(work).items() if is_dataclass(kind)}
    groups = {name: kind for name, kind in groups.items() if name != "return"}

    @wraps(work)
    def run(**values: Any) -> None:
        common = _taken(CommonOptions, values)
        values |= {name: _taken(kind, values) for name, kind in groups.items()}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # libraries about one another
                warnings.simplefilter("default", UserWarning)
                warnings.showwarning = _Warner()
                outcome = work(**{name: _at_home(value) for name, value in values.items()})
            print_outcome(outcome, as_json=common.as_json)
            sys.stdout.flush()
        except BrokenPipeError:  # the reader, such as head, has seen enough; typer knows how
            raise
        except EXPECTED as error:
            if common.debug and not isinstance(error, KeyboardInterrupt):
                raise
            complain(error)
            raise typer.Exit(exit_code_of(error)) from None
        raise typer.Exit(outcome.exit_code)

    parameters = [
        parameter
        for own in inspect.signature(work, eval_str=True).parameters.values()
        for parameter in (_parameters(groups[own.name]) if own.name in groups else [own])
    ]
    everything = [
        p.replace(kind=p.KEYWORD_ONLY) for p in [*parameters, *_parameters(CommonOptions)]
    ]
    run.__signature__ = inspect.Signature(everything)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in everything}
    run.__doc__ = _help(work)
    del run.__wrapped__  # typer would look through it at the other signature
    return run


def _help(work: Callable[..., Outcome]) -> str:
    """The docstring, with what comes before the example as one paragraph."""
    text, mark, example = inspect.cleandoc(work.__doc__ or "").partition("Example:")
    return f"{' '.join(text.split())}\n\n\b\n{mark}{example}"  # \b: lines stay as they are


def _parameters(group: type) -> list[inspect.Parameter]:
    """The fields of a dataclass as parameters of a function."""
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in fields(group)
    ]


def _taken(group: type, values: dict[str, Any]) -> Any:
    """A dataclass from those of the values that are its fields; they are taken out."""
    return group(**{field.name: values.pop(field.name) for field in fields(group)})


def _at_home(value: Any) -> Any:
    """A path with the home directory for ``~``, which shells leave alone in ``--output=~/x``."""
    if isinstance(value, list):
        return [_at_home(one) for one in value]
    return value.expanduser() if isinstance(value, Path) and value.parts[:1] == ("~",) else value


class _Warner:
    """Shows each warning once, in one line, without the place in the code."""

    def __init__(self) -> None:
        self.seen: set[str] = set()

    def __call__(self, message: Warning | str, *place: Any, **more: Any) -> None:
        text = " ".join(str(message).split())
        if text not in self.seen:
            self.seen.add(text)
            sys.stderr.write(f"tenfold: warning: {visible(text)}\n")
