"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


def write_whole(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file in one step: whoever looks sees the old file or the whole new one.

    The data go to a temporary name in the same folder, which is then renamed. After Ctrl-C or on
    a full disk the old file is as it was, and the temporary one is gone.

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
    >>> from tenfold.system.atomic_write import write_whole
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
    part = goal.with_name(f".{secrets.token_hex(8)}.part")
    try:
        # Made with the permissions that it will have: no moment in which others can read it.
        part.touch(0o666 if mode is None else mode | 0o200, exist_ok=False)
        with open(part, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            os.chmod(part, mode)  # what the umask has taken away
        os.replace(part, goal)
    except OSError as error:
        if error.errno is None or error.filename not in (None, str(part)):
            raise
        # A full disk does not say which file it was about.
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        part.unlink(missing_ok=True)
