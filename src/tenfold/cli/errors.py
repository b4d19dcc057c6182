"""What goes wrong, as one line on standard error, and its exit code."""

from __future__ import annotations

import errno
import re
import sys

# What may go wrong without a fault in tenfold; anything else shows its traceback.
EXPECTED = (ValueError, OSError, ImportError, MemoryError, RuntimeError, KeyboardInterrupt)

DONE, FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130

# The library speaks of keyword arguments; here they are options.
OPTION_OF = {
    "key": "--key",
    "label_key": "--labels",
    "label_column": "--labels",
    "labels": "--labels",
    "sample_shape": "--shape",
    "sample_axis": "--read sample_axis=N",
    "resize": "--resize",
    "grey": "--read grey=False",
    "order": "--read order=F",
    "delimiter": "--read delimiter=C",
    "labelled": "--no-labels",
    "cv": "--folds",
    "ranks": "--ranks",
    "ridge": "--ridge",
    "shrinkage": "--shrinkage",
    "positive": "--positive",
    "false_accept_rate": "--false-accept-rate",
    "data": "--data",
}

PHRASES = {
    r"labelled=False": "--no-labels",
    r"a file that save wrote": "a file that tenfold fit wrote",
    r"\('absolute', number\)": "absolute:NUMBER",
    r" \(data\) there": " there; say where with --data",
    r"np\.\w+\(([^()]*)\)": r"\1",  # a label as NumPy shows it
    r"^Input X contains (NaN|infinity).*": r"the samples hold \1; fill or leave out such samples",
}


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
        return FAILED if error.errno in (errno.ENOSPC, errno.EIO, errno.ENOMEM) else BAD_INPUT
    return BAD_INPUT if isinstance(error, ValueError | ImportError) else FAILED


def complain(error: BaseException) -> None:
    """Write the message of an error to standard error, in one line."""
    sys.stderr.write(f"tenfold: {in_options(one_line(error))}\n")


def one_line(error: BaseException) -> str:
    """The message of an error without line breaks; never empty.

    Examples
    --------
    >>> from tenfold.cli.errors import one_line
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


def in_options(message: str) -> str:
    """A message of the library in the words of the command line.

    Examples
    --------
    >>> from tenfold.cli.errors import in_options
    >>> in_options("faces.mat holds several arrays; pass key=NAME (--key NAME)")
    'faces.mat holds several arrays; pass --key NAME'
    >>> in_options("pass label_key=NAME, or labelled=False if there are none")
    'pass --labels NAME, or --no-labels if there are none'
    """
    message = re.sub(r"\b[a-z_]+(?:=[^ (]*(?:\([^)]*\))?)? \((--[^)]*)\)", r"\1", message)
    message = re.sub(
        r"in round (\d+); raise max_iter (.*), or tol to",
        lambda m: f"in round {m[1]}; pass {more_rounds(int(m[1]))} {m[2]}, or --set tol=X to",
        message,
    )
    for ours, spoken in PHRASES.items():
        message = re.sub(ours, spoken, message)
    message = re.sub(r"\bsample_shape=\(([^)]*)\)", _shape_option, message)
    names = "|".join(OPTION_OF)
    message = re.sub(rf"\b({names})=([A-Z]+)\b", lambda m: f"{OPTION_OF[m[1]]} {m[2]}", message)
    message = re.sub(
        r"^(.+?) does not apply to (.+), which .*; its options are (.+)$", _own, message
    )
    return re.sub(rf"(?:^|(?<=; )|(?<=with ))({names})\b(?= is |$)", _option, message)


def more_rounds(present: int) -> str:
    """The option that allows more rounds than the present number of them.

    Examples
    --------
    >>> from tenfold.cli.errors import more_rounds
    >>> more_rounds(20), more_rounds(150)
    ('--set max_iter=100', '--set max_iter=300')
    """
    return f"--set max_iter={max(100, 2 * present)}"


def _option(match: re.Match[str]) -> str:
    return OPTION_OF[match[1]]


def _shape_option(match: re.Match[str]) -> str:
    return f"--shape {match[1].replace(' ', '').rstrip(',')}"


def _own(match: re.Match[str]) -> str:
    """The options of a loader, as those of the command line."""
    wrong, source, known = match.groups()
    options = [OPTION_OF[name] for name in known.split(", ") if name in OPTION_OF]
    given = ", ".join(OPTION_OF.get(name, name) for name in wrong.split(", "))
    return f"{given} does not apply to {source}; for it there are {', '.join(options)}"
