"""MATLAB's .mat files: SciPy up to version 7, h5py (imported here only) for version 7.3."""

from __future__ import annotations

import os
import zlib
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io

from tenfold.datasets.locations import existing_path, reading
from tenfold.datasets.named_arrays import ArrayOptions, Order, assemble
from tenfold.datasets.tensor_dataset import TensorDataset

_DAMAGE = (
    scipy.io.matlab.MatReadError,
    ValueError,
    TypeError,
    LookupError,
    OSError,
    RuntimeError,
    EOFError,
    zlib.error,
)
_HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"


def load_mat(
    path: str | os.PathLike[str],
    *,
    key: str | None = None,
    label_key: str | None = None,
    sample_shape: Sequence[int] | None = None,
    order: Order = "F",
    sample_axis: int = 0,
    labelled: bool = True,
) -> TensorDataset:
    """Read samples and labels from a .mat file of any version.

    Parameters
    ----------
    path : path
        The file.
    key : str or None, default=None
        Name of the samples, such as ``fea``; None when only one array can be meant.
    label_key : str or None, default=None
        Name of the labels; None as in `load_npz`.
    sample_shape : sequence of int or None, default=None
        Shape to fold flat rows into.
    order : {"C", "F"}, default="F"
        Whether flat rows hold their sample row by row or, as MATLAB does, column by column.
    sample_axis : int, default=0
        The axis that counts samples: 2 for a stack of images stored H x W x n.
    labelled : bool, default=True
        False reads samples without labels.

    Returns
    -------
    TensorDataset
        Samples and labels; other vectors with one value per sample go to ``sample_info``.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np, scipy.io
    >>> from tenfold.datasets import load_mat
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "faces.mat"
    >>> scipy.io.savemat(path, {"fea": np.zeros((4, 6)), "gnd": [[1], [1], [2], [2]]})
    >>> load_mat(path, sample_shape=(3, 2))
    TensorDataset 'faces': 4 samples of 3x2 (float64), 2 classes
    """
    source = existing_path(path, "a .mat file")
    options = ArrayOptions(key, label_key, sample_shape, order, labelled, sample_axis)
    return assemble(source, _shapes(source), partial(_arrays, source), options)


def _shapes(source: Path) -> dict[str, tuple[int, ...]]:
    with reading(source, ".mat file", *_DAMAGE):
        return _hdf5_shapes(source) if _is_hdf5(source) else _mat_shapes(source)


def _arrays(source: Path, names: list[str]) -> dict[str, Any]:
    with reading(source, ".mat file", *_DAMAGE):
        arrays = _hdf5_arrays(source, names) if _is_hdf5(source) else _mat_arrays(source, names)
    for name, array in arrays.items():
        if array is None:
            raise ValueError(
                f"{source}: array {name!r} has cells that are neither numbers nor text; write the "
                "labels to a text file, one per line, and pass it to `load` as labels=FILE"
            )
    return arrays


def _is_hdf5(source: Path) -> bool:
    """Version 7.3 is HDF5 behind a block of 512 bytes."""
    with source.open("rb") as file:
        start = file.read(520)
    return _HDF5_SIGNATURE in (start[:8], start[512:])


def _mat_shapes(source: Path) -> dict[str, tuple[int, ...]]:
    return {name: tuple(shape) for name, shape, _ in scipy.io.whosmat(source, appendmat=False)}


def _mat_arrays(source: Path, names: list[str]) -> dict[str, Any]:
    arrays = scipy.io.loadmat(source, variable_names=names, appendmat=False)
    return {name: arrays[name] for name in names}


def _hdf5_shapes(source: Path) -> dict[str, tuple[int, ...]]:
    """MATLAB's shapes; rows of characters count as one text each, as SciPy has it."""
    h5py = _h5py()
    with h5py.File(source, "r") as file:
        return {
            name: stored.shape[-1:] if _is_text(stored) else stored.shape[::-1]
            for name, stored in file.items()
            if isinstance(stored, h5py.Dataset)
        }


def _hdf5_arrays(source: Path, names: list[str]) -> dict[str, Any]:
    """Arrays with MATLAB's axes, which HDF5 holds in reverse."""
    with _h5py().File(source, "r") as file:
        return {name: _opened(file, file[name]) for name in names}


def _opened(file: Any, stored: Any) -> np.ndarray | None:
    """Numbers, texts, or the cells that HDF5 refers to; None where a cell is neither of the two."""
    array: np.ndarray = stored[()].T
    if _is_text(stored):
        codes = np.zeros((1, 0)) if "MATLAB_empty" in stored.attrs else array
        return np.array(["".join(map(chr, row)) for row in codes])
    if array.dtype.kind != "O":
        return array
    cells = np.empty(array.shape, dtype=object)
    for place, reference in np.ndenumerate(array):
        cell = file[reference]
        if getattr(cell, "dtype", array.dtype).kind == "O":  # a structure, or cells again
            return None
        cells[place] = _opened(file, cell)
    return cells


def _is_text(stored: Any) -> bool:
    return bool(stored.attrs.get("MATLAB_class") == b"char")


def _h5py() -> Any:
    try:
        import h5py
    except ImportError as error:
        raise ImportError(
            'reading a .mat file of version 7.3 needs h5py: pip install "tenfold[data]"'
        ) from error
    return h5py
