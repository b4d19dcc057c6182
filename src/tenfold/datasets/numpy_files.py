"""NumPy's own files, .npz, .npy and folders of .npy, which are read here. Pickles never are."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from tenfold.datasets.locations import natural_key, readable_name, reading, regular
from tenfold.datasets.named_arrays import Arrays, Order, check_numbers, fold_rows
from tenfold.datasets.tensor_dataset import TensorDataset

STAYS_ON_DISK = 2**30  # bytes of samples; fewer are read at once, more are read block by block
_MAGIC = b"\x93NUMPY"
_PICKLE = b"\x80"  # the first byte of every protocol since 2


@contextmanager
def open_npy(source: Path) -> Iterator[Arrays]:
    """The array of a .npy file, by the name of the file; a large one is mapped and not read."""
    array = _npy(source)
    yield Arrays({source.stem: array.shape}, lambda names: {source.stem: array})


@contextmanager
def open_npz(source: Path) -> Iterator[Arrays]:
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

    yield Arrays(shapes, read)


def read_npy_folder(
    source: Path,
    *,
    sample_shape: Sequence[int] | None = None,
    order: Order = "C",
    labels: np.ndarray | None = None,
    labelled: bool = True,
) -> TensorDataset:
    """A folder in which every subfolder is a class and every .npy file a sample."""
    files = npy_files(source)
    names = [file.relative_to(source).as_posix() for file in files]
    loose = [name for name in names if "/" not in name]
    if labels is None and labelled:
        if loose:
            raise ValueError(
                f"{source} has {len(loose)} .npy files of no class; put the samples of each class "
                "into a subfolder named after the class, name one file, or pass labelled=False"
            )
        labels = np.array([name.split("/")[0] for name in names])
    stack: list[np.ndarray] = []
    for file in files:
        stack.append(np.asarray(check_numbers(_npy(regular(file)), file.name, file)))
        if stack[-1].shape != stack[0].shape:
            raise ValueError(
                f"samples differ in shape: {files[0]} has {stack[0].shape} and {file} has "
                f"{stack[-1].shape}; bring them to one shape"
            )
    return TensorDataset(
        fold_rows(np.stack(stack), sample_shape, order, source),
        labels if labelled else None,
        name=source.resolve().name,
        description=f"{len(files)} .npy files from the folder {source.resolve().name}.",
        sample_info={"file": np.array(names)},
    )


def npy_files(folder: Path) -> list[Path]:
    """All .npy files below a folder that are not hidden, in natural order."""
    found = [
        readable_name(file)
        for file in folder.rglob("*.npy")
        if not any(part.startswith(".") for part in file.relative_to(folder).parts)
    ]
    return sorted(found, key=lambda file: natural_key(file.relative_to(folder).as_posix()))


def _npy(source: Path) -> np.ndarray:
    with source.open("rb") as file:
        start = file.read(len(_MAGIC))
    if start != _MAGIC and not start.startswith(_PICKLE):  # NumPy takes anything else for a pickle
        raise ValueError(f"{source} does not begin as a .npy file; write it with np.save")
    with _numpy_file(source):
        array: np.ndarray = np.load(source, mmap_mode="r", allow_pickle=False)
        return array if array.nbytes > STAYS_ON_DISK else np.array(array)


def _stored_shape(archive: zipfile.ZipFile, name: str) -> tuple[int, ...]:
    """Shape of one array of a .npz file, from its header alone."""
    with archive.open(name) as file:
        version = np.lib.format.read_magic(file)
        read: Any = (
            np.lib.format.read_array_header_1_0
            if version == (1, 0)
            else np.lib.format.read_array_header_2_0
        )
        return tuple(read(file)[0])


@contextmanager
def _numpy_file(source: Path, what: str = "") -> Iterator[None]:
    """Name the file in what NumPy and zipfile complain of, and pickles in particular."""
    try:
        with reading(source, ".npy or .npz file"):
            yield
    except ValueError as error:
        pickled = any(words in str(error) for words in ("allow_pickle", "Python objects"))
        if not pickled or "holds pickled" in str(error):
            raise
        raise ValueError(
            f"{what or source} holds pickled Python objects, which can run code when opened, so "
            "tenfold does not; save it again with np.save or np.savez, as an array of numbers, "
            "X.astype(float), or of text, y.astype(str)"
        ) from error
