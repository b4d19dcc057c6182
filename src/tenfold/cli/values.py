"""Texts on the command line, and the values they stand for."""

from __future__ import annotations

import ast
from typing import Any

from tenfold.cli.errors import BadInput

SWITCHES = {"true": True, "yes": True, "false": False, "no": False}
EXAMPLES = {"--set": "max_iter=100", "--read": "sample_axis=2"}


def whole_numbers(option: str, text: str) -> tuple[int, ...]:
    """Numbers between commas.

    Examples
    --------
    >>> from tenfold.cli.values import whole_numbers
    >>> whole_numbers("--sample-shape", "40,30")
    (40, 30)
    """
    try:
        numbers = tuple(int(part) for part in text.replace("x", ",").split(","))
    except ValueError:
        numbers = ()
    if not numbers or min(numbers) < 1:
        raise BadInput(f"{option} is {text!r}; expected whole numbers such as {option} 40,30")
    return numbers


def number_or(option: str, text: str, *words: str) -> Any:
    """A number, or one of some words.

    Examples
    --------
    >>> from tenfold.cli.values import number_or
    >>> number_or("--shrinkage", "0.5", "auto"), number_or("--shrinkage", "auto", "auto")
    (0.5, 'auto')
    """
    if text in words:
        return text
    try:
        return float(text)
    except ValueError:
        expected = " or ".join(["a number", *words])
        raise BadInput(f"{option} is {text!r}; expected {expected}") from None


def ridge_value(text: str) -> Any:
    """A relative ridge, or an absolute one as the paper has it.

    Examples
    --------
    >>> from tenfold.cli.values import ridge_value
    >>> ridge_value("0.001"), ridge_value("absolute:0.01")
    (0.001, ('absolute', 0.01))
    """
    word, colon, number = text.rpartition(":")
    if colon and word == "absolute":
        return ("absolute", number_or("--ridge", number))
    try:
        return float(text)
    except ValueError:
        raise BadInput(f"--ridge is {text!r}; expected a number or absolute:NUMBER") from None


def assignments(option: str, pairs: list[str]) -> dict[str, Any]:
    """Parameters from texts like ``max_iter=100``, ``solver=trace_ratio`` and ``grey=no``.

    Examples
    --------
    >>> from tenfold.cli.values import assignments
    >>> assignments("--set", ["max_iter=100", "solver=trace_ratio", "orthonormal=false"])
    {'max_iter': 100, 'solver': 'trace_ratio', 'orthonormal': False}
    """
    values: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name.isidentifier():
            raise BadInput(f"{option} is {pair!r}; expected NAME=VALUE, such as {EXAMPLES[option]}")
        values[name] = SWITCHES[text.lower()] if text.lower() in SWITCHES else _literal(text)
    return values


def _literal(text: str) -> Any:
    """A number, tuple or the like as Python writes it; else the text, which is a word."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return text  # TypeError: {[]: 1} reads well and cannot be


def label_named(text: str, classes: Any) -> Any:
    """The label that reads `text`, whatever its type.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.cli.values import label_named
    >>> label_named("7", np.array([3, 7]))
    7
    """
    for label in classes.tolist():
        if str(label) == text:
            return label
    shown = ", ".join(map(str, classes[:10])) + (", ..." if len(classes) > 10 else "")
    raise BadInput(f"--positive is {text!r}, which is not among the labels: {shown}")
