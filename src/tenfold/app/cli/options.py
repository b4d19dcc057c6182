"""Options that several commands share, and the values that texts on the command line stand for."""

from __future__ import annotations

import ast
import shlex
import tempfile
from collections.abc import Collection
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tenfold.app.cli.command import DISK_FAILS, BadInput, did_you_mean
from tenfold.datasets.locations import natural_key

if TYPE_CHECKING:
    from tenfold.linalg.algebra import Array

SWITCHES = {"true": True, "yes": True, "false": False, "no": False}
EXAMPLES = {"--set": "max_iter=100", "--read": "sample_axis=2"}


def value_of(text: str) -> object:
    """A switch, a number, a tuple or the like as Python writes it; else the text, which is a word.

    Examples
    --------
    >>> from tenfold.app.cli.options import value_of
    >>> value_of("7,6"), value_of("0.99"), value_of("auto"), value_of("no")
    ((7, 6), 0.99, 'auto', False)
    """
    if text.lower() in SWITCHES:
        return SWITCHES[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return text  # TypeError: {[]: 1} reads well and cannot be


def numbers(option: str, text: str, expected: str) -> float | tuple[float, ...]:
    """A number, or several between commas, as 7,6 or 7x6.

    Examples
    --------
    >>> from tenfold.app.cli.options import numbers
    >>> numbers("--ranks", "7x6", "numbers"), numbers("--ranks", "0.99", "numbers")
    ((7, 6), 0.99)
    """
    value = value_of(text.replace("x", ","))
    if isinstance(value, bool) or not isinstance(value, int | float | tuple):
        raise BadInput(f"{option} is {text!r}; expected {expected}")
    return value


def whole_numbers(option: str, text: str, least: int = 1) -> tuple[int, ...]:
    """Whole numbers between commas, none below the least.

    Examples
    --------
    >>> from tenfold.app.cli.options import whole_numbers
    >>> whole_numbers("--sample-shape", "40,30"), whole_numbers("--scale-modes", "0", least=0)
    ((40, 30), (0,))
    """
    expected = f"whole numbers such as {option} {'40,30' if least else '0,1'}"
    value = numbers(option, text, expected)
    given = value if isinstance(value, tuple) else (value,)
    found = tuple(one for one in given if isinstance(one, int) and one >= least)
    if not found or len(found) < len(given):
        raise BadInput(f"{option} is {text!r}; expected {expected}")
    return found


def assignments(option: str, pairs: list[str], as_text: Collection[str] = ()) -> dict[str, object]:
    """Parameters from texts like ``max_iter=100``, ``solver=trace_ratio`` and ``grey=no``.

    Those named in `as_text` stay as they are typed: a column may be called 2019 or No.

    Examples
    --------
    >>> from tenfold.app.cli.options import assignments
    >>> assignments("--set", ["max_iter=100", "solver=trace_ratio", "orthonormal=false"])
    {'max_iter': 100, 'solver': 'trace_ratio', 'orthonormal': False}
    """
    values: dict[str, object] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name.isidentifier():
            raise BadInput(f"{option} is {pair!r}; expected NAME=VALUE, such as {EXAMPLES[option]}")
        values[name] = text if name in as_text else value_of(text)
    return values


def label_named(text: str, classes: Array) -> object:
    """The label that reads `text`, whatever its type.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.app.cli.options import label_named
    >>> label_named("7", np.array([3, 7]))
    7
    """
    for label in classes.tolist():
        if str(label) == text:
            return label
    names = sorted(map(str, classes.tolist()), key=natural_key)
    shown = ", ".join(names[:10]) + (", ..." if len(names) > 10 else "")
    near = did_you_mean(text, names)
    raise BadInput(f"--positive is {text!r}, which is not among the labels: {shown}{near}")


ModelPath = Annotated[Path, typer.Argument(metavar="MODEL", hidden=True)]


def option(metavar: str | None, text: str, *names: str, **more: Any) -> object:
    """An option, called as its parameter or by these names; `text` names a default that matters."""
    return typer.Option(*names, metavar=metavar, help=text, show_default=False, **more)


def as_typed(options: object) -> list[str]:
    """A group of options as it is typed, without what was not given; fields are called as options.

    Examples
    --------
    >>> from tenfold.app.cli.model_options import ModelOptions
    >>> from tenfold.app.cli.options import as_typed
    >>> as_typed(ModelOptions(impute=True, scale_modes="0,1", set=["tol=1", "ridge=0"]))
    ['--impute', '--scale-modes', '0,1', '--set', 'tol=1', '--set', 'ridge=0']
    """
    words = []
    for name, value in vars(options).items():
        typed = f"--{name.replace('_', '-')}"
        if value is True:
            words.append(typed)
        elif value is not None and value is not False:
            for one in value if isinstance(value, list) else [value]:
                words += [typed, str(one)]
    return words


FoldCount = Annotated[int, option("N", "Folds of the cross-validation; default 5.")]


def require(what: str, extra: str, *libraries: str) -> None:
    """Complain before the work, not after it, if a library of an extra is missing."""
    missing = [name for name in libraries if find_spec(name) is None]
    if missing:
        raise ImportError(f'{what} needs {missing[0]}; pip install "tenfold[{extra}]"')


def check_order(command: str, model: Path, data: Path) -> None:
    """Say so if DATA was typed before MODEL."""
    ending = ".safetensors"
    if data.suffix.lower() == ending and model.suffix.lower() != ending:
        right = shlex.join(["tenfold", command, str(data), str(model)])
        raise BadInput(
            f"{data} is a model and {model} is not; MODEL comes first, then DATA: {right}"
        )


def load_model(
    path: Path, *, scores: bool = False, scalers: bool = False
) -> tuple[object, dict[str, object]]:
    """The model of a file, and how the samples that it was fitted on were read.

    Parameters
    ----------
    path : Path
        The file.
    scores : bool, default=False
        Refuse a model that gives no scores.
    scalers : bool, default=False
        Also a ModeScaler, which says nothing of samples.
    """
    from tenfold.classifiers.members import answer_of
    from tenfold.files.loading import load_with_reading

    if not path.exists():
        raise BadInput(f"{path} does not exist; expected a model that tenfold fit wrote")
    model, reading = load_with_reading(path)
    name = type(model).__name__
    if name == "ModeScaler" and not scalers:
        raise BadInput(
            f"{path} holds a ModeScaler, which scales samples and says nothing of them; name a "
            "model that tenfold fit wrote, or use tenfold.load_model and transform in Python"
        )
    if scores and answer_of(model) == "projection":
        raise BadInput(
            f"{path} holds a {name} subspace that was fitted without labels or in Python, so it "
            "knows no classes; fit it again on labelled samples, or use tenfold transform"
        )
    return model, reading


def output_file(path: Path, *suffixes: str, inputs: tuple[Path, ...] = ()) -> Path:
    """`path`, when a file can be written there; to be asked before the work starts.

    Parameters
    ----------
    path : Path
        Where the user wants the output.
    *suffixes : str
        Endings it may have; none means any.
    inputs : tuple of Path, default=()
        Files that must not be replaced.

    Returns
    -------
    Path
        The same path.
    """
    if suffixes and path.suffix.lower() not in suffixes:
        raise BadInput(f"{path} should end in {' or '.join(suffixes)}, to say what to write")
    if path.is_dir():
        raise BadInput(f"{path} is a folder; name a file to write")
    if not path.absolute().parent.is_dir():
        raise BadInput(f"the folder {path.parent} does not exist; make it first")
    if any(path.exists() and given.exists() and path.samefile(given) for given in inputs):
        raise BadInput(f"{path} is read and would be replaced; choose another name for the output")
    try:
        with tempfile.TemporaryFile(dir=path.resolve().parent):
            pass
    except OSError as error:
        if error.errno in DISK_FAILS:  # no mistake of whoever typed the command
            raise OSError(error.errno, error.strerror, str(path)) from error
        why = (error.strerror or str(error)).lower()
        raise BadInput(
            f"nothing can be written to the folder {path.absolute().parent} ({why}); choose "
            "another place for the output"
        ) from error
    return path
