"""Paths that people give: what may be read at all, and what is said when it may not."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LONGEST = 300  # characters of what a library says about a damaged file
POINTER = b"version https://git-lfs.github.com/spec/"


class FileError(ValueError):
    """Something is wrong with a file, or with what is in it; the message names the file."""


def existing_path(path: str | os.PathLike[str], wanted: str) -> Path:
    """`path` as a Path to a regular file or a folder, or an error that says what was wanted."""
    found = Path(path).expanduser()
    if not found.exists():
        raise FileNotFoundError(f"{found} does not exist; expected {wanted} there")
    return regular(readable_name(found))


def regular(path: Path) -> Path:
    """`path` again, if it is a folder or a regular file that holds data.

    To open a named pipe waits for ever, and a device such as /dev/zero never ends.
    """
    mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        return path
    if not stat.S_ISREG(mode):
        kinds = {stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket"}
        kind = kinds.get(stat.S_IFMT(mode), "a device")
        raise FileError(f"{path} is {kind}, not a regular file; copy the data into a file")
    with path.open("rb") as file:
        if file.read(len(POINTER)) == POINTER:
            raise FileError(
                f"{path} is a Git LFS pointer: it says where the data are, and holds none; run "
                "git lfs pull in its repository"
            )
    return path


def readable_name(path: Path) -> Path:
    """`path` again, or a ValueError when its name is not UTF-8, which no file could repeat."""
    try:
        str(path).encode("utf-8")
    except UnicodeEncodeError as error:
        shown = os.fsencode(path).decode("utf-8", "backslashreplace")
        raise FileError(f"the name of {shown} is not UTF-8; rename it") from error
    return path


@contextmanager
def reading(source: Path, form: str) -> Iterator[None]:
    """Turn whatever a library raises into a ValueError that names the file.

    Parameters
    ----------
    source : Path
        The file being read.
    form : str
        What it should be.
    """
    try:
        yield
    except (FileError, ImportError):
        raise
    except MemoryError as error:
        raise FileError(
            f"{source} needs more memory than there is, or declares more than it holds; cut it "
            "into smaller files, or save the samples as .npy or Zarr, which stay on disk"
        ) from error
    except Exception as error:
        why = short(str(error) or type(error).__name__, LONGEST)
        raise FileError(f"{source} is not a whole {form}: {why}") from error


@contextmanager
def naming(what: Path | str) -> Iterator[None]:
    """Let a ValueError begin with the file, or the part of it, that it is about."""
    try:
        yield
    except FileError:
        raise
    except ValueError as error:
        kind = FileError if isinstance(what, Path) else ValueError
        raise kind(f"{what}: {error}") from error


def short(text: str, most: int = 40) -> str:
    """The beginning of a text that may be too long for a message.

    Examples
    --------
    >>> from tenfold.datasets.locations import short
    >>> short("x" * 50, 5)
    'xxxxx...'
    """
    return text if len(text) <= most else f"{text[:most]}..."


def shortened(names: list[str], most: int = 8) -> str:
    """The first of some names for a message."""
    return ", ".join(map(short, names[:most])) + (", ..." if len(names) > most else "")


def natural_key(name: str) -> list[tuple[int, float | str]]:
    """Sort key that puts "s2" before "s10", and numbers by their value.

    Examples
    --------
    >>> from tenfold.datasets.locations import natural_key
    >>> sorted(["s10", "s2", "s1"], key=natural_key), sorted(["10", "2", "-1"], key=natural_key)
    (['s1', 's2', 's10'], ['-1', '2', '10'])
    """
    if re.fullmatch(r"-?[0-9]{1,300}(\.[0-9]+)?", name):
        return [(0, float(name))]
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


def stored_bytes(source: Path) -> int:
    """Bytes of a file, or of all files in a folder."""
    files = [source] if source.is_file() else [one for one in source.rglob("*") if one.is_file()]
    return sum(one.stat().st_size for one in files)
