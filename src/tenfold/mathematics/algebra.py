"""Unfolding, mode products, projection and reconstruction of batches of tensors.

The convention of the whole library is said here once: **axis 0 counts samples, mode k is axis
k + 1**, with modes numbered from 0. A batch of N samples of order K has shape (N, I_1, ..., I_K);
a projection along mode k is a matrix W_k of shape (I_k, r_k).

Arrays of NumPy and of other libraries take one path. What grows with the number of samples (sums,
projections, distances, reconstructions) is written with functions that NumPy, PyTorch and the array
API standard have in common, and runs where the samples are: on a GPU, if they are there. What is
learned is in NumPy; `like` puts it beside the samples, and puts results there.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from tenfold.mathematics.tuning import BLOCK_BYTES, DEVICE_BYTES

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
    xp = namespace_of(X)
    return xp.float64 if has_float64(X) else xp.float32


def like(array: Any, X: Any, dtype: Any = None) -> Any:
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
    xp, where = namespace_of(X), like(rows.astype(np.int64), X)
    return (
        xp.index_select(X, 0, where) if hasattr(xp, "index_select") else xp.take(X, where, axis=0)
    )


def empty_like(X: Any, shape: Sequence[int], dtype: Any) -> Any:
    """Memory for results beside X."""
    return namespace_of(X).empty(tuple(shape), dtype=dtype, device=X.device)


def block_bytes(X: Any) -> int:
    """How large temporaries of one block of samples may be where these are."""
    return DEVICE_BYTES if is_elsewhere(X) else BLOCK_BYTES


def square_lengths(rows: Any, dtype: Any = None) -> Any:
    """The squared length of each row, added up in some type of numbers or that of the rows."""
    if isinstance(rows, np.ndarray):
        return np.vecdot(rows, rows, dtype=dtype)
    rows = rows if dtype is None else of_type(rows, dtype)
    return namespace_of(rows).sum(rows * rows, axis=-1)


def unfold(X: Array, mode: int) -> Array:
    """Mode-k unfolding of every sample of a batch (Definition 1).

    Parameters
    ----------
    X : ndarray of shape (n, I_1, ..., I_K)
        A batch of tensors.
    mode : int
        The mode, from 0 to K - 1.

    Returns
    -------
    ndarray of shape (n, I_k, I / I_k)
        The mode-k fibres of each sample as columns, the other modes in C order.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.mathematics.algebra import unfold
    >>> unfold(np.arange(6).reshape(1, 2, 3), mode=1)[0]
    array([[0, 3],
           [1, 4],
           [2, 5]])
    """
    _check_mode(X, mode)
    return np.moveaxis(X, mode + 1, 1).reshape(X.shape[0], X.shape[mode + 1], -1)


def mode_product(X: Array, matrix: Array, mode: int) -> Array:
    """Mode-k product of every sample with one matrix (Definition 2).

    Parameters
    ----------
    X : ndarray of shape (n, I_1, ..., I_K)
        A batch of tensors.
    matrix : ndarray of shape (J, I_k)
        The matrix that multiplies every mode-k fibre.
    mode : int
        The mode, from 0 to K - 1.

    Returns
    -------
    ndarray of shape (n, I_1, ..., J, ..., I_K)
        The batch with mode k changed from I_k to J entries.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.mathematics.algebra import mode_product
    >>> mode_product(np.ones((5, 4, 3)), np.ones((2, 4)), mode=0).shape
    (5, 2, 3)
    """
    _check_mode(X, mode)
    if matrix.ndim != 2 or matrix.shape[1] != X.shape[mode + 1]:
        raise ValueError(
            f"a matrix of shape {matrix.shape} cannot multiply mode {mode}, which has "
            f"{X.shape[mode + 1]} entries; pass one of shape (J, {X.shape[mode + 1]})"
        )
    before, after = X.shape[: mode + 1], X.shape[mode + 2 :]
    if len(after) == 1 and after[0] > 1:
        product: Array = matrix @ X
        return product
    if prod(after) == 1:  # the last mode: one product for the whole batch
        product = reshaped(X, (-1, X.shape[mode + 1])) @ matrix.T
    else:
        product = matrix @ reshaped(X, (*before, X.shape[mode + 1], prod(after)))
    found: Array = reshaped(product, (*before, matrix.shape[0], *after))
    return found


def project(X: Array, projections: Sequence[Array]) -> Array:
    """Project a batch onto one subspace per mode (eq. 6).

    That is ``X x_1 W_1^T ... x_K W_K^T``, the strongest reduction first.

    Parameters
    ----------
    X : ndarray of shape (n, I_1, ..., I_K)
        A batch of tensors.
    projections : sequence of K ndarrays of shape (I_k, r_k)
        One matrix per mode.

    Returns
    -------
    ndarray of shape (n, r_1, ..., r_K)
        The projected batch.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.mathematics.algebra import project
    >>> project(np.ones((5, 4, 3)), [np.ones((4, 2)), np.ones((3, 1))])[0]
    array([[12.],
           [12.]])
    """
    for mode in shrinking_order(projections):
        X = mode_product(X, projections[mode].T, mode)
    return X


def reconstruct(Y: Array, projections: Sequence[Array]) -> Array:
    """Map projected tensors back to the sample space, the least-squares inverse of `project`.

    For orthonormal columns this is ``Y x_1 W_1 ... x_K W_K``; for others the pseudo-inverse
    takes the place of ``W_k^T``.

    Parameters
    ----------
    Y : ndarray of shape (n, r_1, ..., r_K)
        A batch of projected tensors.
    projections : sequence of K ndarrays of shape (I_k, r_k)
        The matrices that `project` used.

    Returns
    -------
    ndarray of shape (n, I_1, ..., I_K)
        The samples of the spanned subspace with these projections.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.mathematics.algebra import project, reconstruct
    >>> X = np.arange(12.0).reshape(1, 4, 3)
    >>> bool(np.allclose(reconstruct(project(X, [np.eye(4), 2 * np.eye(3)]),
    ...                              [np.eye(4), 2 * np.eye(3)]), X))
    True
    """
    for mode, W in enumerate(projections):
        Y = mode_product(Y, like(np.linalg.pinv(W).T, Y, Y.dtype), mode)
    return Y


def _check_mode(X: Array, mode: int) -> None:
    if not 0 <= mode < X.ndim - 1:
        raise ValueError(
            f"mode {mode} does not exist: the samples have {X.ndim - 1} mode(s), "
            f"numbered from 0 to {X.ndim - 2}; pass one of these"
        )


def shrinking_order(projections: Sequence[Array]) -> list[int]:
    """The order of modes in which projecting costs least: the strongest reduction first."""
    left = [W.shape[-1] / W.shape[-2] for W in projections]
    return sorted(range(len(left)), key=left.__getitem__)
