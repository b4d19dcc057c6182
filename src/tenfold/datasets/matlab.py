"""MATLAB's .mat files of every version."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from typing import Any

from tenfold.datasets.label_files import read_labels
from tenfold.datasets.locations import existing_path
from tenfold.datasets.mat_file import mat_arrays, mat_values
from tenfold.datasets.mat_values import array_shape
from tenfold.datasets.named_arrays import ArrayOptions, Order, assemble
from tenfold.datasets.tensor_dataset import TensorDataset


def load_mat(
    path: str | os.PathLike[str],
    *,
    key: str | None = None,
    label_key: str | None = None,
    labels: Any = None,
    sample_shape: Sequence[int] | None = None,
    order: Order = "F",
    sample_axis: int | None = None,
    labelled: bool = True,
) -> TensorDataset:
    """Read samples and labels from a .mat file of any version.

    Parameters
    ----------
    path : path
        The file.
    key : str or None, default=None
        Name of the samples, such as ``fea``, or ``ds.X`` for a field of a structure; None when only
        one array can be meant. Cells that hold images of one size are a stack of them.
    label_key : str or None, default=None
        Name of the labels; None as in `load_npz`.
    labels : array-like of shape (n,), path or None, default=None
        Labels that are not in this file: one per sample, or a file that holds them (text with one
        per line, .npy, .npz, .mat, .csv, .h5).
    sample_shape : sequence of int or None, default=None
        Shape to fold flat rows into.
    order : {"C", "F"}, default="F"
        Whether flat rows hold their sample row by row or, as MATLAB does, column by column.
    sample_axis : int or None, default=None
        The axis that counts samples: 2 for a stack of images stored H x W x n. None: axis 0, or the
        last one if no other is as long as the labels; then ``notes`` of the result says so.
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
    given = read_labels(labels, label_key) if labelled and labels is not None else None
    options = ArrayOptions(key, label_key, sample_shape, order, labelled, sample_axis, given)
    with mat_values(source) as values:
        shapes = {name: array_shape(value) for name, value in values.items()}
        return assemble(source, shapes, partial(mat_arrays, source, values), options)
