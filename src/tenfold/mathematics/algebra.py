"""Unfolding, mode products, projection and reconstruction of batches of tensors.

The convention of the whole library is said here once: **axis 0 counts samples, mode k is axis
k + 1**, with modes numbered from 0. A batch of N samples of order K has shape (N, I_1, ..., I_K);
a projection along mode k is a matrix W_k of shape (I_k, r_k).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from tenfold.mathematics.arrays import like, reshaped

Array = npt.NDArray[Any]


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
