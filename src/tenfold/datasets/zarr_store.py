"""Zarr stores, which stay on disk: the only module here that imports zarr."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tenfold.datasets.locations import existing_path, reading
from tenfold.datasets.named_arrays import ArrayOptions, Order, assemble, check_numbers, fold_rows
from tenfold.datasets.numpy_files import read_labels
from tenfold.datasets.tensor_dataset import TensorDataset


def load_zarr(
    path: str | os.PathLike[str],
    labels: Any = None,
    *,
    key: str | None = None,
    label_key: str | None = None,
    sample_shape: Sequence[int] | None = None,
    order: Order = "C",
    labelled: bool = True,
) -> TensorDataset:
    """Open a Zarr store; the samples stay on disk and come into memory block by block.

    Parameters
    ----------
    path : path
        The store: a group with an array of samples and one of labels, or a single array.
    labels : array-like of shape (n,), path or None, default=None
        Labels that are not in the store; a path names a .npy or a text file, one per line.
    key : str or None, default=None
        Name of the samples in a group; None when only one array can be meant.
    label_key : str or None, default=None
        Name of the labels in a group; None as in `load_npz`.
    sample_shape : sequence of int or None, default=None
        Shape to fold flat rows into. This reads the samples into memory.
    order : {"C", "F"}, default="C"
        Whether flat rows hold their sample row by row or column by column.
    labelled : bool, default=True
        False opens samples without labels.

    Returns
    -------
    TensorDataset
        X a ``zarr.Array`` of shape (n, I_1, ..., I_K), y in memory.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import zarr
    >>> import numpy as np
    >>> from tenfold.datasets import load_zarr
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "toy.zarr"
    >>> zarr.save_group(path, X=np.zeros((4, 3, 2)), y=np.array([0, 0, 1, 1]))
    >>> load_zarr(path)
    TensorDataset 'toy': 4 samples of 3x2 (float64), 2 classes
    """
    source = existing_path(path, "a Zarr store")
    inside = labelled and labels is None
    options = ArrayOptions(key, label_key, sample_shape, order, labelled=inside)
    store = _open(source)
    read = _from_group if hasattr(store, "arrays") else _from_array
    data = read(source, store, options)
    return replace(data, y=read_labels(labels)) if labelled and labels is not None else data


def _open(source: Path) -> Any:
    try:
        import zarr
    except ImportError as error:
        raise ImportError('Zarr stores need zarr: pip install "tenfold[data]"') from error
    with reading(source, "Zarr store", ValueError, KeyError, OSError):
        return zarr.open(source, mode="r")


def _from_group(source: Path, group: Any, options: ArrayOptions) -> TensorDataset:
    arrays = dict(group.arrays())

    def read(names: list[str]) -> dict[str, Any]:
        samples, *vectors = names
        return {samples: arrays[samples]} | {name: np.asarray(arrays[name]) for name in vectors}

    return assemble(source, {name: array.shape for name, array in arrays.items()}, read, options)


def _from_array(source: Path, array: Any, options: ArrayOptions) -> TensorDataset:
    if options.labelled:
        raise ValueError(f"{source} is a single array; pass labels=FILE, or labelled=False")
    X = check_numbers(array, source.name, source)
    return TensorDataset(
        fold_rows(X, options.sample_shape, options.order, source),
        None,
        name=source.stem,
        description=f"Zarr array {source.name}.",
    )
