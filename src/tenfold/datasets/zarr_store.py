"""Zarr stores, which stay on disk: the only module here that imports zarr."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from tenfold.datasets.locations import existing_path
from tenfold.datasets.named_arrays import Order, assemble, check_numbers, fold_rows
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
        Labels for a single array; a path names a .npy or a text file, one label per line.
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
    >>> store = zarr.create_group(path)
    >>> _ = store.create_array("X", data=np.zeros((4, 3, 2)))
    >>> _ = store.create_array("y", data=np.array([0, 0, 1, 1]))
    >>> load_zarr(path)
    TensorDataset 'toy': 4 samples of 3x2 (float64), 2 classes
    """
    zarr = _zarr()
    source = existing_path(path, "a Zarr store")
    try:
        store = zarr.open(source, mode="r")
    except (FileNotFoundError, ValueError, KeyError, OSError) as error:
        raise ValueError(f"{source} is not a Zarr store: {error}") from error
    if isinstance(store, zarr.Group) and labels is None:
        arrays = dict(store.arrays())
        return assemble(
            source,
            {name: array.shape for name, array in arrays.items()},
            lambda names: {
                name: arrays[name] if name == names[0] else np.asarray(arrays[name][:])
                for name in names
            },
            key=key,
            label_key=label_key,
            sample_shape=sample_shape,
            order=order,
            sample_axis=0,
            labelled=labelled,
        )
    if labels is None and labelled:
        raise ValueError(
            f"{source} is a single array; pass labels (--labels FILE), or labelled=False"
        )
    return TensorDataset(
        fold_rows(check_numbers(store, source.name, source), sample_shape, order, source),
        read_labels(labels) if labelled else None,
        name=source.stem,
        description=f"Zarr array {source.name}.",
    )


def _zarr() -> Any:
    try:
        import zarr
    except ImportError as error:
        raise ImportError('Zarr stores need zarr: pip install "tenfold[data]"') from error
    return zarr
