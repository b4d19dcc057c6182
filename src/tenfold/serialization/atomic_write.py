"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import re
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

PART_NAME = re.compile(r"\.tenfold-[0-9a-f]{16}\.part")
STALE_SECONDS = 24 * 3600.0  # after which a part is old where files cannot be locked


def write_whole(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file in one step: whoever looks sees the old file or the whole new one.

    The data go to a temporary name in the same folder, which is then renamed. After Ctrl-C or on
    a full disk the old file is as it was, and the temporary one is gone. A temporary file whose
    process was killed is removed when the next file is written to that folder.

    Parameters
    ----------
    path : path-like
        Where to; an existing file is replaced by one with the same permissions, and a link keeps
        pointing where it points.
    data : bytes
        The content.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from tenfold.serialization.atomic_write import write_whole
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(Path(folder, "scores.csv"), b"sample,score")
    ...     Path(folder, "scores.csv").read_text()
    'sample,score'
    """
    with whole_file(path) as file:
        file.write(data)


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write to that takes its name when the ``with`` block has ended without an error.

    Parameters
    ----------
    path : path-like
        As in `write_whole`.

    Yields
    ------
    file
        Open for writing bytes.
    """
    goal = Path(path).resolve()
    if not goal.parent.is_dir():
        raise FileNotFoundError(f"the folder {goal.parent} does not exist; make it first")
    if goal.exists() and not goal.is_file():
        raise ValueError(f"{path} is there and is not a file; choose another name")
    mode = goal.stat().st_mode & 0o777 if goal.exists() else None
    remove_stale_parts(goal.parent)
    lock = None
    # Made with the permissions that it will have: no moment in which others can read it.
    permissions = 0o666 if mode is None else mode | 0o200
    part = _part_name(goal)
    try:
        lock = _new_part(part, permissions)
        while lock is None:  # another process took it for a stale one before it was locked
            part = _part_name(goal)
            lock = _new_part(part, permissions)
        with open(part, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if fcntl is None:  # Windows does not rename an open file
            os.close(lock)
            lock = None
        if mode is not None:
            os.chmod(part, mode)  # what the umask has taken away
        os.replace(part, goal)
    except OSError as error:
        if error.errno is None or error.filename not in (None, str(part)):
            raise
        # A full disk does not say which file it was about.
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        if lock is not None and fcntl is None:
            os.close(lock)
            lock = None
        part.unlink(missing_ok=True)
        if lock is not None:
            os.close(lock)


def remove_stale_parts(folder: Path) -> None:
    """Remove the temporary files in a folder whose writers were killed.

    A writer holds a lock on its temporary file, which the system releases when the process ends,
    however it ends. So a temporary file that can be locked has no writer. Where files cannot be
    locked, those older than a day are removed.

    Parameters
    ----------
    folder : Path
        The folder of a file that is about to be written.
    """
    try:
        names = [name for name in os.listdir(folder) if PART_NAME.fullmatch(name)]
    except OSError:  # a folder that may be written to, but not listed
        return
    for name in names:
        part = folder / name
        try:
            if fcntl is None:
                is_stale = time.time() - part.stat().st_mtime > STALE_SECONDS
                if is_stale:
                    part.unlink(missing_ok=True)
            else:
                _remove_if_unlocked(part)
        except OSError:  # it is gone already, in use, or owned by another user
            continue


def _part_name(goal: Path) -> Path:
    return goal.with_name(f".tenfold-{secrets.token_hex(8)}.part")


def _new_part(part: Path, permissions: int) -> int | None:
    """Make a temporary file and lock it; None if it was removed before it was locked."""
    descriptor = os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, permissions)
    if fcntl is None:
        return descriptor
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    except OSError:  # a file system without locks
        return descriptor
    if part.exists():
        return descriptor
    os.close(descriptor)
    return None


def _remove_if_unlocked(part: Path) -> None:
    """Remove a temporary file that nobody holds a lock on."""
    descriptor = os.open(part, os.O_WRONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:  # somebody writes it
            return
        except OSError:  # a file system without locks
            if time.time() - os.fstat(descriptor).st_mtime <= STALE_SECONDS:
                return
        part.unlink(missing_ok=True)
    finally:
        os.close(descriptor)
