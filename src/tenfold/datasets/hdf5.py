"""Samples and labels in HDF5 files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tenfold.datasets.hdf5_file import HDF5_DAMAGE, datasets, opened, read_dataset
from tenfold.datasets.label_files import read_labels
from tenfold.datasets.locations import existing_path, inner_path, reading
from tenfold.datasets.named_arrays import ArrayOptions, Order, assemble
from tenfold.datasets.tensor_dataset import TensorDataset


def load_hdf5(
    path: str | os.PathLike[str],
    *,
    key: str | None = None,
    label_key: str | None = None,
    labels: Any = None,
    sample_shape: Sequence[int] | None = None,
    order: Order = "C",
    sample_axis: int | None = None,
    labelled: bool = True,
) -> TensorDataset:
    """Read samples and labels from an HDF5 file into memory.

    For more data than memory, open the file with h5py and pass a dataset to `fit`. Links to other
    files, and numbers that lie in other files, are refused.

    Parameters
    ----------
    path : path
        The file, or ``file.h5::/path/of/samples``.
    key : str or None, default=None
        Path of the samples inside; None when only one dataset can be meant.
    label_key : str or None, default=None
        Path of the labels inside; None as in `load_npz`.
    labels : array-like of shape (n,), path or None, default=None
        Labels that are not in this file: one per sample, or a file that holds them (text with one
        per line, .npy, .npz, .mat, .csv, .h5).
    sample_shape : sequence of int or None, default=None
        Shape to fold flat rows into.
    order : {"C", "F"}, default="C"
        Whether flat rows hold their sample row by row or column by column.
    sample_axis : int or None, default=None
        The axis that counts samples; None as in `load_npz`.
    labelled : bool, default=True
        False reads samples without labels.

    Returns
    -------
    TensorDataset
        Samples and labels; other vectors with one value per sample go to ``sample_info``.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import h5py, numpy as np
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "toy.h5"
    >>> with h5py.File(path, "w") as file:
    ...     file["train/X"], file["train/y"] = np.zeros((4, 3, 2)), [0, 0, 1, 1]
    >>> load_hdf5(f"{path}::/train/X")
    TensorDataset 'toy': 4 samples of 3x2 (float64), 2 classes
    """
    place, inner = inner_path(path)
    source = existing_path(place, "an HDF5 file")
    if key is not None and inner is not None and key.strip("/") != inner.strip("/"):
        raise ValueError(f"{source}: the path names {inner} and key names {key}; give one of them")
    given = read_labels(labels, label_key) if labelled and labels is not None else None
    names = _bare(key or inner), _bare(label_key)
    options = ArrayOptions(*names, sample_shape, order, labelled, sample_axis, given)
    return _loaded(source, options)


def _loaded(source: Path, options: ArrayOptions) -> TensorDataset:
    with reading(source, "HDF5 file", *HDF5_DAMAGE), opened(source) as file:
        found = datasets(file)
        shapes = {name: tuple(item.shape or ()) for name, item in found.items()}
        if options.key in shapes and options.label_key is None:
            shapes = _beside(shapes, options.key)

        def read(names: list[str]) -> dict[str, np.ndarray]:
            return {name: read_dataset(source, found[name]) for name in names}

        return assemble(source, shapes, read, options)


def _beside(shapes: dict[str, tuple[int, ...]], wanted: str) -> dict[str, tuple[int, ...]]:
    """The datasets of the same group, if there are any beside the samples; else all."""
    group = Path(wanted).parent
    near = {name: shape for name, shape in shapes.items() if Path(name).parent == group}
    return near if len(near) > 1 else shapes


def _bare(name: str | None) -> str | None:
    return None if name is None else name.strip("/")
