"""NumPy's own files, .npz and .npy, which are read in this process. Pickles never are."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from tenfold.datasets.locations import FileError, reading
from tenfold.datasets.named_arrays import Arrays, in_memory
from tenfold.datasets.sandbox import MEMORY_SHARE, instead, machine_memory

STAYS_ON_DISK = 2**30  # bytes of samples; fewer are read at once, more are read block by block
ALWAYS_ALLOWED = 2**28  # bytes that any file may unpack to
MOST_EXPANSION = 200  # bytes that a byte of a larger file may unpack to; zeros reach 1000
_MAGIC = b"\x93NUMPY"
_PICKLE = b"\x80"  # the first byte of every protocol since 2


def open_npy(source: Path) -> Arrays:
    """The array of a .npy file, by the name of the file; a large one is mapped and not read."""
    return in_memory({source.stem: read_npy(source)})


def open_npz(source: Path) -> Arrays:
    """The arrays of a .npz file."""
    with _numpy_file(source), zipfile.ZipFile(source) as archive:
        names = [name for name in archive.namelist() if name.endswith(".npy")]
        for other in set(archive.namelist()) - set(names):
            archive.open(other).close()  # a damaged name, which would hide an array, differs here
        shapes = {name.removesuffix(".npy"): _stored_shape(archive, name) for name in names}

    def read(names: list[str]) -> dict[str, np.ndarray]:
        found = {}
        with _numpy_file(source), np.load(source, allow_pickle=False) as stored:
            for name in names:
                with _numpy_file(source, f"{source}: array {name!r}"):
                    found[name] = stored[name]
        return found

    return Arrays(shapes, read)


def check_unpacked_size(source: Path) -> None:
    """Refuse a .npz file that would fill the memory of this process.

    The sizes are those that the archive declares, and zipfile never unpacks more than these.
    """
    with _numpy_file(source), zipfile.ZipFile(source) as archive:
        unpacked = sum(entry.file_size for entry in archive.infolist())
    stored = source.stat().st_size
    if unpacked > MEMORY_SHARE * machine_memory():
        raise FileError(
            f"{source} needs more memory than there is, or declares more than it holds: its "
            f"arrays take {unpacked / 1e9:.1f} GB; save the samples as .npy or Zarr, which stay "
            f"on disk; {instead()}"
        )
    if unpacked > max(ALWAYS_ALLOWED, MOST_EXPANSION * stored):
        raise FileError(
            f"{source} has {stored / 1e6:.1f} MB and unpacks to {unpacked / 1e6:.0f} MB, "
            f"{unpacked // stored} times as much; expected at most {MOST_EXPANSION} times: the "
            f"file may be made to fill the memory; {instead()}"
        )


def read_npy(source: Path) -> np.ndarray:
    """The array of a .npy file; a large one is mapped and not read."""
    with source.open("rb") as file:
        start = file.read(len(_MAGIC))
    if start != _MAGIC and not start.startswith(_PICKLE):  # NumPy takes anything else for a pickle
        raise FileError(f"{source} does not begin as a .npy file; write it with np.save")
    with _numpy_file(source):
        array: np.ndarray = np.load(source, mmap_mode="r", allow_pickle=False)
        return array if array.nbytes > STAYS_ON_DISK else np.array(array)


def _stored_shape(archive: zipfile.ZipFile, name: str) -> tuple[int, ...]:
    """Shape of one array of a .npz file, from its header alone."""
    with archive.open(name) as file:
        version = np.lib.format.read_magic(file)
        if version == (1, 0):
            return tuple(np.lib.format.read_array_header_1_0(file)[0])
        return tuple(np.lib.format.read_array_header_2_0(file)[0])


class PickleError(FileError):
    """An array of Python objects, which only pickle could read."""


@contextmanager
def _numpy_file(source: Path, what: str = "") -> Iterator[None]:
    """Name the file in what NumPy and zipfile complain of, and pickles in particular."""
    try:
        with reading(source, ".npy or .npz file"):
            yield
    except PickleError:
        raise
    except ValueError as error:
        if not any(words in str(error) for words in ("allow_pickle", "Python objects")):
            raise
        raise PickleError(
            f"{what or source} holds pickled Python objects, which can run code when opened, so "
            "tenfold does not; save it again with np.save or np.savez, as an array of numbers, "
            "X.astype(float), or of text, y.astype(str)"
        ) from error
