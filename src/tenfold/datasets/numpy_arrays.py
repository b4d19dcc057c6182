"""Arrays in NumPy's own files. Pickles are never opened."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tokenize import TokenError

import numpy as np

from tenfold.datasets.locations import reading
from tenfold.datasets.sizes import check_declared, n_bytes

_MAGIC = b"\x93NUMPY"
_PICKLE = b"\x80"  # the first byte of every protocol since 2
AS_NUMBERS = "numbers, X.astype(float)"
AS_TEXT = "text, y.astype(str), or of numbers"

_DAMAGE = (
    ValueError,
    TypeError,
    LookupError,
    OverflowError,  # NumPy, about sizes beyond 64 bits
    SyntaxError,
    EOFError,
    OSError,
    RuntimeError,  # zipfile, about methods it does not know
    TokenError,  # NumPy, about a header that ends too soon
    zipfile.BadZipFile,
    zlib.error,
)


def map_npy(source: Path, remedy: str = AS_NUMBERS) -> np.ndarray:
    """The array of a .npy file, mapped and not read."""
    with source.open("rb") as file:
        start = file.read(len(_MAGIC))
    if start != _MAGIC and not start.startswith(_PICKLE):  # NumPy takes anything else for a pickle
        raise ValueError(f"{source} does not begin as a .npy file; write it with np.save")
    with _numpy_file(source, str(source), remedy):
        array: np.ndarray = np.load(source, mmap_mode="r", allow_pickle=False)
        return array


def npz_shapes(source: Path) -> dict[str, tuple[int, ...]]:
    """Shapes of the arrays of a .npz file, from their headers alone."""
    with _numpy_file(source), zipfile.ZipFile(source) as archive:
        names = [name for name in archive.namelist() if name.endswith(".npy")]
        for other in set(archive.namelist()) - set(names):
            archive.open(other).close()  # a damaged name, which would hide an array, differs here
        return {name.removesuffix(".npy"): _stored_shape(source, archive, name) for name in names}


def npz_arrays(source: Path, names: list[str]) -> dict[str, np.ndarray]:
    """The arrays of these names of a .npz file."""
    with _numpy_file(source):
        stored = np.load(source, allow_pickle=False)
    arrays = {}
    with stored:
        for name in names:
            remedy = AS_NUMBERS if name == names[0] else AS_TEXT  # the samples come first
            with _numpy_file(source, f"{source}: array {name!r}", remedy):
                arrays[name] = stored[name]
    return arrays


def _stored_shape(source: Path, archive: zipfile.ZipFile, name: str) -> tuple[int, ...]:
    """Shape of one array of a .npz file, from its header alone, if the file can hold it."""
    with archive.open(name) as file:
        version = np.lib.format.read_magic(file)
        read = (
            np.lib.format.read_array_header_1_0
            if version == (1, 0)
            else np.lib.format.read_array_header_2_0
        )
        shape, _, dtype = read(file)
    entry = archive.getinfo(name)
    if not dtype.hasobject:
        packed = entry.compress_type != zipfile.ZIP_STORED
        held = min(entry.compress_size, source.stat().st_size)
        check_declared(source, f"array {name}", n_bytes(shape, dtype.itemsize), held, packed)
    return tuple(shape)


@contextmanager
def _numpy_file(source: Path, what: str = "", remedy: str = AS_NUMBERS) -> Iterator[None]:
    """Name the file in what NumPy and zipfile complain of, and pickles in particular.

    `what` holds the objects then, and `remedy` is the way to save it without them.
    """
    try:
        with reading(source, ".npy or .npz file", *_DAMAGE):
            yield
    except ValueError as error:
        if "allow_pickle" not in str(error) and "Python objects" not in str(error):
            raise
        raise ValueError(
            f"{what or source} holds pickled Python objects, which can run code when opened, so "
            f"tenfold does not; save it again with np.save or np.savez, as an array of {remedy}"
        ) from error
