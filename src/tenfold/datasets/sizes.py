"""How large a foreign file may say that it is."""

from __future__ import annotations

import io
import os
from math import prod
from pathlib import Path

LARGEST_RATIO = 1100  # zlib gives at most 1032 bytes for one
SMALL = 2**20  # bytes; what is below is not worth a question


def check_memory(source: Path, what: str, n_bytes: int) -> None:
    """Refuse what cannot fit into the memory of this machine, before anything is allocated."""
    if n_bytes > _memory():
        raise ValueError(
            f"{source}: {what} needs {in_words(n_bytes)}, but this machine has "
            f"{in_words(_memory())} of memory; cut the file into smaller ones, or save the samples "
            "as .npy or Zarr, which stay on disk"
        )


def check_declared(source: Path, what: str, declared: int, stored: int, compressed: bool) -> None:
    """Refuse numbers that a file declares but cannot hold.

    Parameters
    ----------
    source : Path
        The file.
    what : str
        What is declared, for the message.
    declared, stored : int
        Bytes in memory, and bytes that lie in the file.
    compressed : bool
        Whether fewer bytes in the file may become more in memory.
    """
    if declared > max(SMALL if compressed else 0, stored * (LARGEST_RATIO if compressed else 1)):
        raise ValueError(
            f"{source}: {what} declares {in_words(declared)}, but the file holds only "
            f"{in_words(stored)} of it; the file is damaged or was never filled, so write it again"
        )
    check_memory(source, what, declared)


class HonestReader(io.BufferedReader):
    """A file for readers that believe its header: no byte that is not there, and few twice.

    Parameters
    ----------
    source : Path
        The file, which is opened here.
    """

    def __init__(self, source: Path) -> None:
        super().__init__(io.FileIO(source))
        self._left = 2 * source.stat().st_size + SMALL

    def read(self, size: int | None = -1) -> bytes:
        """`size` bytes, or a ValueError when the file has fewer or gave all of itself twice."""
        there = os.fstat(self.fileno()).st_size - self.tell()
        wanted = there if size is None else size
        if not 0 <= wanted <= min(there, self._left):
            raise ValueError(
                f"it declares {wanted} bytes at byte {self.tell()}, where it holds {max(0, there)}"
            )
        self._left -= wanted
        return super().read(wanted)


def stored_bytes(source: Path) -> int:
    """Bytes of a file, or of all files in a folder."""
    files = [source] if source.is_file() else [one for one in source.rglob("*") if one.is_file()]
    return sum(one.stat().st_size for one in files)


def n_bytes(shape: tuple[int, ...], itemsize: int) -> int:
    """Bytes of an array of this shape, as a whole number that cannot overflow."""
    return prod(map(int, shape)) * int(itemsize)


def in_words(size: int) -> str:
    """A number of bytes in the unit that suits it.

    Examples
    --------
    >>> from tenfold.datasets.sizes import in_words
    >>> in_words(2600), in_words(2**35)
    ('2.5 KiB', '32 GiB')
    """
    if size < 1024:
        return f"{size} bytes"
    amount, unit = float(size), "bytes"
    for larger in ("KiB", "MiB", "GiB", "TiB", "PiB", "EiB"):
        if amount < 1024:
            break
        amount, unit = amount / 1024, larger
    return f"{amount:.3g} {unit}" if amount < 1000 else f"{amount:.0f} {unit}"


def _memory() -> int:
    """Bytes of memory of this machine; without a bound where the system does not say."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 2**62
