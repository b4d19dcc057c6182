"""Arrays of NumPy and of other libraries on one path, wherever they are.

What grows with the number of samples (sums, projections, distances, reconstructions) is written
with functions that NumPy, PyTorch and the array API standard have in common, and runs where the
samples are: on a GPU, if they are there. What is learned is in NumPy; `asarray_like` puts it beside
the samples, and puts results there.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tenfold.linalg.constants import BLOCK_BYTES, DEVICE_BYTES

Array = npt.NDArray[Any]


def namespace_of(X: Any) -> Any:
    """The module with the functions of an array: NumPy, PyTorch, or one of the standard."""
    if isinstance(X, np.ndarray):
        return np
    if hasattr(X, "__array_namespace__"):
        return X.__array_namespace__()
    return sys.modules[type(X).__module__.partition(".")[0]]  # PyTorch has the same names


def is_elsewhere(X: Any) -> bool:
    """Whether an array is of another library and has a device of it."""
    return not isinstance(X, np.ndarray) and hasattr(X, "device")


def has_float64(X: Any) -> bool:
    """Whether the device of an array has float64 numbers; Apple's GPUs do not."""
    return isinstance(X, np.ndarray) or not str(X.device).startswith("mps")


def float_type(X: Any) -> Any:
    """The type of results: float32 for float32 samples, else float64 where there is such."""
    if isinstance(X, np.ndarray):
        return np.float32 if X.dtype == np.float32 else np.float64
    xp = namespace_of(X)
    return xp.float32 if X.dtype == xp.float32 or not has_float64(X) else xp.float64


def wide_type(X: Any) -> Any:
    """The widest type of real numbers that the device of an array has."""
    if isinstance(X, np.ndarray):
        return np.float64
    xp = namespace_of(X)
    return xp.float64 if has_float64(X) else xp.float32


def asarray_like(array: Any, X: Any, dtype: Any = None) -> Any:
    """A NumPy array in the library of X and on its device: the border between the two.

    Parameters
    ----------
    array : ndarray
        Something learned, or a result. What is in another library already stays as it is.
    X : array
        Of any library; one without devices, such as a Dask array, gives NumPy arrays.
    dtype : type of numbers in that library, or None
        What to convert to.

    Returns
    -------
    array
        Text stays in NumPy, which alone has it.
    """
    if isinstance(X, np.ndarray):
        return array if dtype is None else of_type(array, dtype)
    is_numbers = isinstance(array, np.ndarray) and array.dtype.kind in "fiub"
    if not is_numbers or not is_elsewhere(X):
        return array
    if array.dtype == np.float64 and not has_float64(X):
        array = array.astype(np.float32)
    copied = np.array(array, order="C")  # PyTorch would share memory, and warn if it is read-only
    return namespace_of(X).asarray(copied, dtype=dtype, device=X.device)


def to_numpy(array: Any) -> npt.NDArray[Any]:
    """An array of any library as a NumPy array, in main memory."""
    if isinstance(array, np.ndarray):
        return array
    if hasattr(array, "detach"):  # PyTorch
        return np.asarray(array.detach().cpu().numpy())
    if hasattr(array, "get") and hasattr(array, "device"):  # CuPy
        return np.asarray(array.get())
    if hasattr(array, "__array_namespace__") and hasattr(array, "device"):
        xp = array.__array_namespace__()
        host = xp.__array_namespace_info__().default_device()
        if host is not None and array.device != host:
            array = xp.asarray(array, device=host)
    return np.asarray(array)


def of_type(X: Any, dtype: Any) -> Any:
    """An array in some type of number; asked first, since `astype` is slow for one sample."""
    if X.dtype == dtype:
        return X
    return X.astype(dtype) if isinstance(X, np.ndarray) else namespace_of(X).asarray(X, dtype=dtype)


def reshaped(X: Any, shape: Sequence[int]) -> Any:
    """An array in another shape; the standard has no method for it."""
    if isinstance(X, np.ndarray):
        return X.reshape(shape)
    return namespace_of(X).reshape(X, tuple(shape))


def permuted(X: Any, axes: Sequence[int]) -> Any:
    """An array with its axes in another order, in one piece of memory."""
    if isinstance(X, np.ndarray):
        return np.ascontiguousarray(X.transpose(axes))
    xp = namespace_of(X)
    return (xp.permute_dims if hasattr(xp, "permute_dims") else xp.permute)(X, tuple(axes))


def take(X: Any, rows: slice | npt.NDArray[Any]) -> Any:
    """The samples at these positions, of an array of another library."""
    if isinstance(rows, slice):
        return X[rows, ...]
    xp = namespace_of(X)
    where = asarray_like(rows.astype(np.int64), X)
    return (
        xp.index_select(X, 0, where) if hasattr(xp, "index_select") else xp.take(X, where, axis=0)
    )


def empty_like(X: Any, shape: Sequence[int], dtype: Any) -> Any:
    """Memory for results beside X."""
    return namespace_of(X).empty(tuple(shape), dtype=dtype, device=X.device)


def block_bytes(X: Any) -> int:
    """How large temporaries of one block of samples may be where these are."""
    return DEVICE_BYTES if is_elsewhere(X) else BLOCK_BYTES


def square_lengths(rows: Any, dtype: Any = None, axis: int = -1) -> Any:
    """The squared length of each row, added up in some type of numbers or that of the rows."""
    if isinstance(rows, np.ndarray):
        if axis not in (-1, rows.ndim - 1):
            rows = np.moveaxis(rows, axis, -1)
        return np.vecdot(rows, rows, dtype=dtype)
    rows = rows if dtype is None else of_type(rows, dtype)
    return namespace_of(rows).sum(rows * rows, axis=axis)
