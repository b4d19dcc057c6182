"""Where data are looked for, and what is said when they are not there."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tenfold.datasets.sizes import in_words, stored_bytes

DATA_VARIABLE = "TENFOLD_DATA"
SMALL_FILE = 2**20  # bytes; what is smaller is no reason to run out of memory
LONGEST = 300  # characters of what a library says about a damaged file


def data_directory(data: str | os.PathLike[str] | None, wanted: str) -> Path:
    """The directory (or file) to look in: the argument, else the variable TENFOLD_DATA.

    Parameters
    ----------
    data : path or None
        What the user gave.
    wanted : str
        What is looked for, for the message.

    Returns
    -------
    Path
        A path that exists.
    """
    given = data if data is not None else os.environ.get(DATA_VARIABLE)
    if not given:
        raise FileNotFoundError(
            f"no place to look for {wanted}: pass data=DIRECTORY, or set the environment "
            f"variable {DATA_VARIABLE}"
        )
    origin = "data" if data is not None else f"the environment variable {DATA_VARIABLE}"
    return existing_path(given, f"{wanted} ({origin})")


def existing_path(path: str | os.PathLike[str], wanted: str) -> Path:
    """`path` as a Path, or a FileNotFoundError that says what was wanted there."""
    found = Path(path).expanduser()
    if not found.exists():
        raise FileNotFoundError(f"{found} does not exist; expected {wanted} there")
    return readable_name(found)


def readable_name(path: Path) -> Path:
    """`path` again, or a ValueError when its name is not UTF-8, which no file could repeat."""
    try:
        str(path).encode("utf-8")
    except UnicodeEncodeError as error:
        shown = os.fsencode(path).decode("utf-8", "backslashreplace")
        raise ValueError(f"the name of {shown} is not UTF-8; rename it") from error
    return path


def not_found(wanted: str, names: Iterable[str], place: Path, origin: str) -> FileNotFoundError:
    """The error for a data set that is not in the place looked at.

    Parameters
    ----------
    wanted : str
        The data set.
    names : iterable of str
        File names that would have done.
    place : Path
        The directory looked at.
    origin : str
        Where people get the set.
    """
    return FileNotFoundError(f"{wanted} not found: no {' or '.join(names)} in {place}. {origin}")


@contextmanager
def reading(source: Path, form: str, *damage: type[Exception]) -> Iterator[None]:
    """Turn a reader's complaints into a ValueError that names the file.

    Parameters
    ----------
    source : Path
        The file being read.
    form : str
        What it should be.
    *damage : exception types
        What the reader raises when it is not.
    """
    try:
        yield
    except MemoryError as error:
        raise too_large(source) from error
    except damage as error:
        if isinstance(error, ValueError) and str(error).startswith(str(source)):
            raise  # a complaint of our own, which names the file already
        why = short(str(error), LONGEST)
        raise ValueError(f"{source} is not a whole {form}: {why}") from error


def too_large(source: Path) -> Exception:
    """What to raise when memory was not enough: a small file has no right to ask for so much."""
    held = stored_bytes(source)
    if held > SMALL_FILE:
        return MemoryError(f"{source} needs more memory than there is; read it in parts")
    return ValueError(
        f"{source} declares more than fits into memory, but takes only {in_words(held)} on disk; "
        "it is damaged, so write it again"
    )


def short(text: str, most: int = 40) -> str:
    """The beginning of a text that may be too long for a message.

    Examples
    --------
    >>> from tenfold.datasets.locations import short
    >>> short("x" * 50, 5)
    'xxxxx...'
    """
    return text if len(text) <= most else f"{text[:most]}..."


def natural_key(name: str) -> list[tuple[int, int | str]]:
    """Sort key that puts "s2" before "s10".

    Examples
    --------
    >>> from tenfold.datasets.locations import natural_key
    >>> sorted(["s10", "s2", "s1"], key=natural_key)
    ['s1', 's2', 's10']
    """
    parts = re.split(r"(\d+)", name.casefold())
    return [(0, int(part)) if part.isdecimal() else (1, part) for part in parts]


def inner_path(path: str | os.PathLike[str]) -> tuple[Path, str | None]:
    """A file, and the name of an array inside, where they are written ``file.h5::/path``.

    Examples
    --------
    >>> from tenfold.datasets.locations import inner_path
    >>> inner_path("faces.h5::/train/X")[1], inner_path("faces.h5")[1]
    ('/train/X', None)
    """
    outer, mark, inner = os.fspath(path).partition("::")
    if mark and not Path(path).expanduser().exists():
        return Path(outer), inner or None
    return Path(path), None
