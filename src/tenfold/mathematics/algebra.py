"""Unfolding, mode products, projection and reconstruction of batches of tensors.

The convention of the whole library is said here once: **axis 0 counts samples, mode k is axis
k + 1**, with modes numbered from 0. A batch of N samples of order K has shape (N, I_1, ..., I_K);
a projection along mode k is a matrix W_k of shape (I_k, r_k).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

BLOCK_BYTES = (
    32 * 2**20
)  # temporaries of one block of samples: large enough for BLAS, small for RAM


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
    inner = prod(X.shape[mode + 2 :])
    if inner == 1:  # the last mode: one product for the whole batch
        product = X.reshape(-1, X.shape[mode + 1]) @ matrix.T
    else:
        product = matrix @ X.reshape(-1, X.shape[mode + 1], inner)
    return product.reshape(*X.shape[: mode + 1], matrix.shape[0], *X.shape[mode + 2 :])


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
        Y = mode_product(Y, np.linalg.pinv(W).T, mode)
    return Y


def turned(Z: Array, mode: int) -> Array:
    """Tensors (M, n, I_1, ..., I_K) with mode k first, (M, I_k, n, the other modes...)."""
    return np.ascontiguousarray(np.moveaxis(Z, mode + 2, 1))


def mode_scatters(Y: Array, mode: int, factors: Sequence[Array]) -> Array:
    """``sum_j Y_j Y_j^T`` of M models, with Y_j = [Z_j x_{q != k} W_q^T]_(k).

    Parameters
    ----------
    Y : ndarray of shape (M, I_k, n, ...) or (1, I_k, n, ...)
        The tensors of each model, or those that all share, as `turned` gives them.
    mode : int
        The mode k.
    factors : sequence of K ndarrays of shape (M, I_q, r_q)
        Projections of the models; those of mode k are not used.

    Returns
    -------
    ndarray of shape (M, I_k, I_k)
        The scatters; (1, I_k, I_k) when nothing sets the models apart.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.mathematics.algebra import mode_scatters, turned
    >>> Y = turned(np.ones((1, 5, 2, 3)), mode=0)
    >>> mode_scatters(Y, 0, [np.ones((4, 2, 1)), np.ones((4, 3, 1))])[0]
    array([[45., 45.],
           [45., 45.]])
    """
    others = [W for q, W in enumerate(factors) if q != mode]
    for q in shrinking_order(others):
        if not is_identity(others[q]):  # the first round sees modes that are not yet projected
            Y = _stacked_mode_product(Y, others[q], axis=q + 3)
    Y = Y.reshape(len(Y), Y.shape[1], -1)
    return np.asarray(Y @ Y.swapaxes(1, 2))


def is_identity(W: Array) -> bool:
    """Whether a stack (M, I_q, r_q) leaves its mode as it is."""
    return W.shape[1] == W.shape[2] and bool((np.eye(W.shape[1]) == W).all())


def _stacked_mode_product(Y: Array, W: Array, axis: int) -> Array:
    """Multiply `axis` of Y (M or 1, ...) by each model's W^T, W of shape (M, I_q, r_q)."""
    inner = prod(Y.shape[axis + 1 :])
    flat = Y.reshape(len(Y), -1, Y.shape[axis], inner)
    if inner == 1:
        product = flat.reshape(len(Y), -1, Y.shape[axis]) @ W
    else:
        product = W.swapaxes(1, 2)[:, None] @ flat
    return product.reshape(len(W), *Y.shape[1:axis], W.shape[2], *Y.shape[axis + 1 :])


def _check_mode(X: Array, mode: int) -> None:
    if not 0 <= mode < X.ndim - 1:
        raise ValueError(
            f"mode {mode} does not exist: the samples have {X.ndim - 1} mode(s), "
            f"numbered from 0 to {X.ndim - 2}; pass one of these"
        )


def shrinking_order(projections: Sequence[Array]) -> list[int]:
    """The order of modes in which projecting costs least: the strongest reduction first."""
    return sorted(
        range(len(projections)),
        key=lambda k: projections[k].shape[-1] / projections[k].shape[-2],
    )


def row_blocks(n: int, bytes_per_row: int, budget: int = BLOCK_BYTES) -> Iterator[slice]:
    """Slices that cut n rows into blocks of at most `budget` bytes, one row at the least."""
    step = max(1, budget // max(1, bytes_per_row))
    for start in range(0, n, step):
        yield slice(start, min(n, start + step))
