"""HDF5 files of strangers: the only module here that imports h5py.

An HDF5 file can name other files of the disk (external links, external storage, virtual datasets)
and declare arrays that it does not hold. All of that is refused before a number is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any

import numpy as np

from tenfold.datasets.sizes import check_declared, check_memory, n_bytes

SIGNATURE = b"\x89HDF\r\n\x1a\n"
HEAP = b"GCOL\1\0\0\0"
MOST_NAMES = 100_000
HDF5_DAMAGE = (ValueError, TypeError, LookupError, OSError, RuntimeError, EOFError, OverflowError)


def is_hdf5(source: Path) -> bool:
    """Whether a file is HDF5: at its start, or behind MATLAB's block of 512 bytes."""
    with source.open("rb") as file:
        start = file.read(520)
    return SIGNATURE in (start[:8], start[512:])


@contextmanager
def opened(source: Path) -> Iterator[Any]:
    """An HDF5 file, if none of its links leads to another file."""
    h5py = _h5py()
    check_heaps(source)  # virtual datasets lie in them, too: opening one would wait already
    with h5py.File(source, "r") as file:
        kinds = (h5py.h5l.TYPE_HARD, h5py.h5l.TYPE_SOFT)
        names = []

        def look(name: bytes, info: Any) -> bool | None:
            names.append(name)
            foreign = info.type not in kinds
            return True if foreign or len(names) > MOST_NAMES else None

        if file.id.links.visit(look, info=True):
            what = "an external link" if len(names) <= MOST_NAMES else "too many names"
            raise ValueError(
                f"{source}: {names[-1].decode('utf-8', 'replace')!r} is {what}; tenfold does not "
                "follow links to other files: copy the data into one file (h5repack, or h5py)"
            )
        yield file


def datasets(file: Any) -> dict[str, Any]:
    """All datasets of a file by path; soft links count, if they lead somewhere."""
    h5py = _h5py()
    names: list[str] = []

    def look(name: bytes) -> None:
        names.append(name.decode("utf-8", "replace"))

    file.id.links.visit(look)
    found = {name: file.get(name) for name in names}
    return {name: item for name, item in found.items() if isinstance(item, h5py.Dataset)}


def read_dataset(source: Path, stored: Any) -> np.ndarray:
    """The numbers or texts of a dataset, if they lie in this file."""
    check_dataset(source, stored)
    if _h5py().check_string_dtype(stored.dtype) is not None:
        return np.asarray(stored.asstr("utf-8", "replace")[()])
    return np.asarray(stored[()])


def check_dataset(source: Path, stored: Any) -> None:
    """Refuse data that lie elsewhere, and sizes that the file cannot hold.

    Parameters
    ----------
    source : Path
        The file.
    stored : h5py.Dataset
        What is to be read.
    """
    name = stored.name or "a cell"
    if stored.external:
        raise ValueError(
            f"{source}: the numbers of {name} lie in another file, {stored.external[0][0]!r}; "
            "tenfold reads none but the file it is given: copy them into it (h5repack)"
        )
    if stored.is_virtual:
        others = [part.file_name for part in stored.virtual_sources() if part.file_name != "."]
        if others:
            raise ValueError(
                f"{source}: {name} is a virtual dataset over {others[0]!r}; tenfold reads none but "
                "the file it is given: copy the numbers into it (h5repack)"
            )
    declared = n_bytes(stored.shape or (), stored.id.get_type().get_size())
    if stored.is_virtual:
        check_memory(source, f"dataset {name}", declared)
        return
    held = min(stored.id.get_storage_size(), source.stat().st_size)
    filters = stored.id.get_create_plist().get_nfilters() > 0
    check_declared(source, f"dataset {name}", declared, held, filters)
    if stored.chunks and filters:
        sizes = zip(stored.shape, stored.chunks, strict=True)
        wanted = prod(-(-size // step) for size, step in sizes)
        there = stored.id.get_num_chunks()
        check_memory(source, f"a chunk of {name}", n_bytes(stored.chunks, stored.dtype.itemsize))
        if there < wanted:
            raise ValueError(
                f"{source}: {wanted - there} of {wanted} chunks of dataset {name} are not in the "
                "file, and would be read as its fill value; write the file again"
            )


def check_heaps(source: Path) -> None:
    """Refuse a heap of texts with a size of 0 or beyond it, at which HDF5 would wait for ever.

    A heap is ``GCOL``, a version, its size, and objects of 16 bytes and their data; an object
    with the number 0 is a gap, and its size counts these 16 bytes.
    """
    with source.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as data:
        heap = data.find(HEAP)
        while heap >= 0:
            length = int.from_bytes(data[heap + 8 : heap + 16], "little")
            at, end = heap + 16, min(len(data), heap + length)
            while at + 16 <= end:
                number = int.from_bytes(data[at : at + 2], "little")
                size = int.from_bytes(data[at + 8 : at + 16], "little")
                if (not number and size < 16) or size > length:
                    raise ValueError(
                        f"the heap of texts at byte {heap} has a gap or a text of {size} bytes"
                    )
                at += size if not number else 16 + size + -size % 8
            heap = data.find(HEAP, heap + 4)


def references(stored: Any) -> bool:
    """Whether a dataset holds references to other objects of the file, as MATLAB's cells do."""
    return bool(_h5py().check_ref_dtype(stored.dtype) is _h5py().Reference)


def is_dataset(item: Any) -> bool:
    """Whether something of a file is a dataset, and not a group."""
    return isinstance(item, _h5py().Dataset)


def _h5py() -> Any:
    try:
        import h5py
    except ImportError as error:
        raise ImportError(
            'reading HDF5, and .mat files of version 7.3, needs h5py: pip install "tenfold[data]"'
        ) from error
    return h5py
