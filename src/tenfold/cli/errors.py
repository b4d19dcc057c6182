"""What goes wrong, as one line on standard error, and its exit code."""

from __future__ import annotations

import errno
import sys

from tenfold.system.tables import visible

# What may go wrong without a fault in tenfold; anything else shows its traceback.
EXPECTED = (ValueError, OSError, ImportError, MemoryError, RuntimeError, KeyboardInterrupt)

DISK_FAILS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENOMEM)
DONE, FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130


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
