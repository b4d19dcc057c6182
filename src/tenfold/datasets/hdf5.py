"""HDF5 files, MATLAB's of version 7.3 among them: the only module here that imports h5py.

An HDF5 file can name other files of the disk: external links, external storage, virtual datasets.
All of that is refused before a number is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import prod
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from tenfold.datasets.locations import FileError, reading
from tenfold.datasets.named_arrays import Arrays
from tenfold.datasets.numpy_files import STAYS_ON_DISK
from tenfold.datasets.tensor_dataset import Samples
from tenfold.extras import require_extra

if TYPE_CHECKING:
    from h5py import Dataset as Dataset
    from h5py import File, Group
    from h5py.h5l import LinkInfo

SIGNATURE = b"\x89HDF\r\n\x1a\n"
MOST_NAMES = 100_000
DEEPEST = 32


def is_hdf5(source: Path) -> bool:
    """Whether a file is HDF5: at its start, or behind MATLAB's block of 512 bytes."""
    with source.open("rb") as file:
        start = file.read(520)
    return SIGNATURE in (start[:8], start[512:])


def open_hdf5(source: Path) -> Arrays:
    """All datasets of a file by path. A large one that is asked for first stays on disk."""
    with opened(source) as file:
        shapes = {name: tuple(item.shape or ()) for name, item in datasets(file).items()}

    def read(names: list[str]) -> dict[str, Samples]:
        with opened(source) as file:
            values = {name: values_of(source, file[name]) for name in names[1:]}
            first = checked(source, file[names[0]])
            stays = prod(first.shape or ()) * first.dtype.itemsize > STAYS_ON_DISK
            # a file of its own, which is closed with the samples
            X = _h5py().File(source, "r")[names[0]] if stays else values_of(source, first)
            return {names[0]: X, **values}

    return Arrays(shapes, read)


@contextmanager
def opened(source: Path) -> Iterator[File]:
    """An HDF5 file, if none of its links leads to another file."""
    h5py = _h5py()
    kinds = (h5py.h5l.TYPE_HARD, h5py.h5l.TYPE_SOFT)
    names = []

    def look(name: bytes, info: LinkInfo) -> bool | None:
        names.append(name)
        return True if info.type not in kinds or len(names) > MOST_NAMES else None

    with reading(source, "HDF5 file"), h5py.File(source, "r") as file:
        if file.id.links.visit(look, info=True):
            what = "an external link" if len(names) <= MOST_NAMES else "one name too many"
            raise FileError(
                f"{source}: {names[-1].decode('utf-8', 'replace')!r} is {what}; tenfold does not "
                "follow links to other files: copy the data into one file (h5repack)"
            )
        yield file


def datasets(file: File) -> dict[str, Dataset]:
    """All datasets of a file by path; soft links count, if they lead somewhere."""
    names: list[str] = []
    file.id.links.visit(lambda name: names.append(name.decode("utf-8", "replace")))
    found = {name: file.get(name) for name in names}
    return {name: item for name, item in found.items() if isinstance(item, _h5py().Dataset)}


def values_of(source: Path, stored: Dataset) -> np.ndarray:
    """The numbers or texts of a dataset, if they lie in this file."""
    checked(source, stored)
    if _h5py().check_string_dtype(stored.dtype) is not None:
        return np.asarray(stored.asstr("utf-8", "replace")[()])
    return np.asarray(stored[()])


def checked(source: Path, stored: Dataset) -> Dataset:
    """A dataset again, if all of its numbers lie in this file."""
    name = stored.name or "a cell"
    others = [place[0] for place in stored.external or ()]
    if stored.is_virtual:
        others = [part.file_name for part in stored.virtual_sources() if part.file_name != "."]
    if others:
        raise FileError(
            f"{source}: the numbers of {name} lie in another file, {others[0]!r}; tenfold reads "
            "none but the file it is given: copy them into it (h5repack)"
        )
    if stored.is_virtual or not stored.size:
        return stored
    whole = 1
    there = int(stored.id.get_storage_size() > 0)
    if stored.chunks:
        sizes = zip(stored.shape, stored.chunks, strict=True)
        whole = prod(-(-size // step) for size, step in sizes)
        there = stored.id.get_num_chunks()
    if there < whole:
        raise FileError(
            f"{source}: {whole - there} of {whole} chunks of dataset {name} are not in the file, "
            "and would be read as its fill value; write the file again"
        )
    return stored


# ── MATLAB 7.3: HDF5 with reversed axes ─────────────────────────────────────────────────────────


def matlab_variables(source: Path, group: Group, depth: int = 0) -> Mapping[str, object]:
    """Variables of a file, or fields of a structure, as SciPy gives those of older files."""
    items = {name: group.get(name) for name in group if not name.startswith("#")}
    return {
        name: _matlab_values(source, item, depth + 1)
        for name, item in items.items()
        if item is not None
    }


def _matlab_values(source: Path, item: Dataset | Group, depth: int) -> object:
    """One variable: an array, cells, a mapping, or the name of a class that is not read."""
    if depth > DEEPEST:
        raise ValueError(f"arrays lie more than {DEEPEST} deep in each other")
    kind = item.attrs.get("MATLAB_class", b"")
    kind = kind.decode("ascii", "replace") if isinstance(kind, bytes) else ""
    if "MATLAB_object_decode" in item.attrs or kind in ("string", "function_handle"):
        return kind or "object"
    if not isinstance(item, _h5py().Dataset):
        if "MATLAB_sparse" in item.attrs:
            return "sparse"
        return matlab_variables(source, item, depth)
    if kind == "char":
        if "MATLAB_empty" in item.attrs:
            return np.array([""])
        codes = values_of(source, item).astype(np.uint32).T
        return np.array(["".join(map(chr, row)) for row in codes.reshape(len(codes), -1)])
    if _h5py().check_ref_dtype(item.dtype) is _h5py().Reference:
        inside = np.ravel(np.asarray(values_of(source, item), dtype=object))
        cells = np.empty(len(inside), dtype=object)
        for i, reference in enumerate(inside):
            cells[i] = _matlab_values(source, item.file[reference], depth + 1)
        return cells
    return values_of(source, item).T


def _h5py() -> ModuleType:
    with require_extra("HDF5, and .mat files of version 7.3, need h5py", "data"):
        import h5py
    return h5py
