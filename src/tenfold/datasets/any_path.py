"""One function that reads whatever the path is."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tenfold.datasets.csv_file import load_csv
from tenfold.datasets.images import load_image_folder
from tenfold.datasets.locations import existing_path
from tenfold.datasets.matlab import load_mat
from tenfold.datasets.numpy_files import load_npy, load_npz
from tenfold.datasets.tensor_dataset import TensorDataset
from tenfold.datasets.zarr_store import load_zarr

_BY_SUFFIX: dict[str, Callable[..., TensorDataset]] = {
    ".npz": load_npz,
    ".npy": load_npy,
    ".mat": load_mat,
    ".zarr": load_zarr,
    ".csv": load_csv,
    ".tsv": load_csv,
}
_UNDERSTOOD = "a .npz, .npy, .mat, .csv or .tsv file, a Zarr store, or a folder of images by class"


def load(path: str | os.PathLike[str], **options: Any) -> TensorDataset:
    """Read a data set, by what the path is.

    ============================= ====================
    path                          read by
    ============================= ====================
    ``.npz``                      `load_npz`
    ``.npy``                      `load_npy`
    ``.mat``                      `load_mat`
    ``.csv``, ``.tsv``            `load_csv`
    Zarr store                    `load_zarr`
    other folder                  `load_image_folder`
    ============================= ====================

    Parameters
    ----------
    path : path
        File or folder.
    **options
        Keyword arguments of the loader in the table. One that is None counts as not given.

    Returns
    -------
    TensorDataset
        The data.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from tenfold.datasets import load
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "toy.npz"
    >>> np.savez(path, X=np.zeros((4, 3, 2)), y=[0, 0, 1, 1])
    >>> load(path, key="X")
    TensorDataset 'toy': 4 samples of 3x2 (float64), 2 classes
    """
    source = existing_path(path, _UNDERSTOOD)
    loader = _loader_for(source)
    given = {name: value for name, value in options.items() if value is not None}
    known = list(inspect.signature(loader).parameters)[1:]
    unknown = [name for name in given if name not in known]
    if unknown:
        raise ValueError(
            f"{', '.join(unknown)} does not apply to {source}, which is read by {loader.__name__}; "
            f"its options are {', '.join(known)}"
        )
    return loader(source, **given)


def _loader_for(source: Path) -> Callable[..., TensorDataset]:
    is_store = any((source / name).exists() for name in ("zarr.json", ".zgroup", ".zarray"))
    if source.is_dir() and not is_store:
        return load_image_folder
    loader = load_zarr if is_store else _BY_SUFFIX.get(source.suffix.lower())
    if loader is None:
        raise ValueError(f"{source} has a form tenfold does not read; expected {_UNDERSTOOD}")
    return loader
