"""NumPy's own files: .npz, .npy, and folders of .npy."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tenfold.datasets.label_files import read_labels
from tenfold.datasets.locations import existing_path, natural_key, readable_name
from tenfold.datasets.named_arrays import (
    ArrayOptions,
    Order,
    assemble,
    check_count,
    check_numbers,
    fold_rows,
)
from tenfold.datasets.numpy_arrays import map_npy, npz_arrays, npz_shapes
from tenfold.datasets.sizes import check_memory, n_bytes
from tenfold.datasets.tensor_dataset import TensorDataset


def load_npz(
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
    """Read samples and labels from a .npz file.

    Parameters
    ----------
    path : path
        The file.
    key : str or None, default=None
        Name of the samples; None when only one array can be meant. Of a file with several sets,
        ``X_train`` takes its labels from ``y_train``.
    label_key : str or None, default=None
        Name of the labels; None takes the only one called y, gnd, label(s), target(s) or class(es),
        or else the only vector with a value per sample. Rows with a single 1 (one-hot) give the
        number of its column.
    labels : array-like of shape (n,), path or None, default=None
        Labels that are not in this file: one per sample, or a file that holds them (text with one
        per line, .npy, .npz, .mat, .csv, .h5).
    sample_shape : sequence of int or None, default=None
        Shape to fold flat rows into.
    order : {"C", "F"}, default="C"
        Whether flat rows hold their sample row by row or column by column.
    sample_axis : int or None, default=None
        The axis that counts samples. None: axis 0, or the last one if no other is as long as the
        labels; then ``notes`` of the result says so.
    labelled : bool, default=True
        False reads samples without labels.

    Returns
    -------
    TensorDataset
        Samples and labels; other vectors with one value per sample go to ``sample_info``.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from tenfold.datasets import load_npz
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "toy.npz"
    >>> np.savez(path, X=np.zeros((4, 3, 2)), y=["a", "a", "b", "b"])
    >>> load_npz(path)
    TensorDataset 'toy': 4 samples of 3x2 (float64), 2 classes
    """
    source = existing_path(path, "a .npz file")
    given = read_labels(labels, label_key) if labelled and labels is not None else None
    options = ArrayOptions(key, label_key, sample_shape, order, labelled, sample_axis, given)
    return assemble(source, npz_shapes(source), partial(npz_arrays, source), options)


def load_npy(
    path: str | os.PathLike[str],
    labels: Any = None,
    *,
    sample_shape: Sequence[int] | None = None,
    order: Order = "C",
    labelled: bool = True,
) -> TensorDataset:
    """Map samples from a .npy file into memory, with labels from elsewhere.

    Parameters
    ----------
    path : path
        The file. It is mapped, not read: only the blocks used come into memory.
    labels : array-like of shape (n,), path or None, default=None
        The labels, or a file that holds them (text with one per line, .npy, .npz, .mat, .csv, .h5).
    sample_shape : sequence of int or None, default=None
        Shape to fold flat rows into.
    order : {"C", "F"}, default="C"
        Whether flat rows hold their sample row by row or column by column.
    labelled : bool, default=True
        False reads samples without labels.

    Returns
    -------
    TensorDataset
        Samples as a read-only memory map, and labels.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from tenfold.datasets import load_npy
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "toy.npy"
    >>> np.save(path, np.zeros((4, 6)))
    >>> load_npy(path, ["a", "a", "b", "b"], sample_shape=(3, 2))
    TensorDataset 'toy': 4 samples of 3x2 (float64), 2 classes
    """
    source = existing_path(path, "a .npy file")
    if labels is None and labelled:
        raise ValueError(
            f"{source} holds samples only; pass labels=FILE (a .npy or text file with "
            "one label per line), or labelled=False"
        )
    X = check_numbers(map_npy(source), source.name, source)
    if X.ndim < 2:
        raise ValueError(f"{source} has shape {X.shape}; expected (n, I_1, ..., I_K)")
    y = read_labels(labels) if labelled else None
    if y is not None:
        check_count(source, len(X), y)
    return TensorDataset(
        fold_rows(X, sample_shape, order, source),
        y,
        name=source.stem,
        description=f"Array {source.name}.",
    )


def load_npy_folder(
    path: str | os.PathLike[str],
    *,
    sample_shape: Sequence[int] | None = None,
    order: Order = "C",
    labelled: bool = True,
) -> TensorDataset:
    """Read a folder in which every subfolder is a class and every .npy file a sample.

    Parameters
    ----------
    path : path
        The folder.
    sample_shape : sequence of int or None, default=None
        Shape to fold flat samples into.
    order : {"C", "F"}, default="C"
        Whether flat samples are stored row by row or column by column.
    labelled : bool, default=True
        False reads every file below `path` and gives no labels.

    Returns
    -------
    TensorDataset
        X of shape (n, I_1, ..., I_K), y the names of the subfolders, ``sample_info["file"]`` the
        path of each sample below the folder.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from tenfold.datasets.numpy_files import load_npy_folder
    >>> folder = pathlib.Path(tempfile.mkdtemp()) / "trials"
    >>> for name in ("left", "right"):
    ...     (folder / name).mkdir(parents=True)
    ...     np.save(folder / name / "1.npy", np.zeros((3, 2)))
    >>> load_npy_folder(folder)
    TensorDataset 'trials': 2 samples of 3x2 (float64), 2 classes
    """
    root = existing_path(path, "a folder of .npy files")
    files = npy_files(root)
    names = [file.relative_to(root).as_posix() for file in files]
    loose = [name for name in names if "/" not in name]
    if not files or (labelled and loose):
        raise ValueError(
            f"{root} has {len(loose)} .npy files of no class; put the samples of each class into a "
            "subfolder named after the class, name one file, or pass labelled=False"
        )
    return TensorDataset(
        fold_rows(_stacked(root, files), sample_shape, order, root),
        np.array([name.split("/")[0] for name in names]) if labelled else None,
        name=root.resolve().name,
        description=f"{len(files)} .npy files from the folder {root.resolve().name}.",
        sample_info={"file": np.array(names)},
    )


def _stacked(root: Path, files: list[Path]) -> np.ndarray:
    first = map_npy(files[0])
    check_memory(root, f"{len(files)} files", n_bytes((len(files), *first.shape), 8))
    stack = []
    for file in files:
        sample = np.asarray(check_numbers(map_npy(file), file.name, file))
        if sample.shape != first.shape:
            raise ValueError(
                f"samples differ in shape: {files[0]} has {first.shape} and {file} has "
                f"{sample.shape}; bring them to one shape"
            )
        stack.append(sample)
    return np.stack(stack)


def npy_files(folder: Path) -> list[Path]:
    """All .npy files below a folder that are not hidden, in natural order."""
    found = [
        readable_name(file)
        for file in folder.rglob("*.npy")
        if not any(part.startswith(".") for part in file.relative_to(folder).parts)
    ]
    return sorted(found, key=lambda file: natural_key(file.relative_to(folder).as_posix()))
