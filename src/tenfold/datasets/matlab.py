"""MATLAB's .mat files of every version."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import numpy as np

from tenfold.datasets.hdf5_file import is_hdf5, opened
from tenfold.datasets.locations import existing_path, reading
from tenfold.datasets.mat4_file import Mat4File
from tenfold.datasets.mat5_file import Mat5File
from tenfold.datasets.mat73_file import Mat73File
from tenfold.datasets.mat_values import MatValue, array_shape, as_array, flat_values
from tenfold.datasets.named_arrays import ArrayOptions, Order, assemble
from tenfold.datasets.tensor_dataset import TensorDataset

_DAMAGE = (ValueError, TypeError, LookupError, OSError, RuntimeError, EOFError, zlib.error)


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
    with mat_values(source) as values:
        shapes = {name: array_shape(value) for name, value in values.items()}
        return assemble(source, shapes, partial(mat_arrays, source, values), options)


@contextmanager
def mat_values(source: Path) -> Iterator[dict[str, MatValue]]:
    """All arrays of a .mat file by name, those of structures as ``name.field``; read on demand."""
    with reading(source, ".mat file", *_DAMAGE), ExitStack() as stack:
        if is_hdf5(source):
            found = Mat73File(source, stack.enter_context(opened(source))).values()
        else:
            found = (Mat4File if _is_version_4(source) else Mat5File)(source).values()
        flat = dict(part for name, value in found for part in flat_values(name, value))
        yield {name: value for name, value in flat.items() if value.kind != "object"}


def mat_arrays(
    source: Path, values: Mapping[str, MatValue], names: list[str]
) -> dict[str, np.ndarray]:
    """The arrays of these names."""
    return {name: as_array(source, name, values[name]) for name in names}


def _is_version_4(source: Path) -> bool:
    """Later versions begin with text; the first number of version 4 has a byte that is zero."""
    with source.open("rb") as file:
        return 0 in file.read(4)
