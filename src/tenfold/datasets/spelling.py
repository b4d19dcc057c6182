"""How messages write the options of `load`: as in Python, or as they are typed in a shell."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

# Options of `load` that have an option of their own on the command line; --read takes the others.
OWN_OPTIONS = {
    "key": "--key",
    "labels": "--labels",
    "groups": "--groups",
    "sample_shape": "--sample-shape",
    "resize": "--resize",
}

_for_shell: ContextVar[bool] = ContextVar("for_shell", default=False)


class Word(str):
    """A word that stands for a value, such as NAME; it is written without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


NAME = Word("NAME")
FILE = Word("FILE")


def spelled(name: str, value: object) -> str:
    """An option of `load` as whoever reads the message types it.

    Parameters
    ----------
    name : str
        The option.
    value : object
        What to pass; a `Word` stands for something else.

    Returns
    -------
    str
        ``name=value``, or inside of `spelled_for_shell` an option of the command line.

    Examples
    --------
    >>> from tenfold.datasets.spelling import NAME, spelled, spelled_for_shell
    >>> spelled("labels", NAME), spelled("leave_out", "my id")
    ('labels=NAME', "leave_out='my id'")
    >>> with spelled_for_shell():
    ...     spelled("labels", NAME), spelled("leave_out", "my id")
    ('--labels NAME', "--read 'leave_out=my id'")
    """
    if _for_shell.get():
        return shlex.join(as_words({name: value}))
    return f"{name}={value!r}"


def as_words(options: Mapping[str, object]) -> list[str]:
    """Options of `load` as they are typed.

    Examples
    --------
    >>> from tenfold.datasets.spelling import as_words
    >>> as_words({"labels": "species", "leave_out": ("id", "day")})
    ['--labels', 'species', '--read', 'leave_out=id,day']
    """
    words = []
    for name, value in options.items():
        text = ",".join(map(str, value)) if isinstance(value, tuple | list) else str(value)
        words += [OWN_OPTIONS[name], text] if name in OWN_OPTIONS else ["--read", f"{name}={text}"]
    return words


@contextmanager
def spelled_for_shell(wanted: bool = True) -> Iterator[None]:
    """Write options as on the command line, for the length of a ``with`` block."""
    before = _for_shell.set(wanted)
    try:
        yield
    finally:
        _for_shell.reset(before)


def is_for_shell() -> bool:
    """Whether options are written as on the command line."""
    return _for_shell.get()
