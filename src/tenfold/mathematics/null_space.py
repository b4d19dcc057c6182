"""The null space of one matrix, and in it the directions that make another one large."""

from __future__ import annotations

import numpy as np

from tenfold.mathematics.algebra import Array
from tenfold.mathematics.solvers import leading_eigenvectors

NULL = 1e-10  # of the largest eigenvalue: what is left of zero by rounding
ROUNDING = 1e-13  # of both traces: a ridge that only keeps B definite


def null_space(maximise: Array, minimise: Array, rank: int | Array) -> Array:
    """Orthonormal directions that maximise ``tr(W^T A W)`` where ``W^T B W = 0``.

    A matrix B without a null space has the directions of its smallest eigenvalues taken for it,
    as many as are asked for.

    Parameters
    ----------
    maximise, minimise : ndarray of shape (M, n, n)
        A and B, positive semi-definite; a ridge on B of the size of rounding does not matter.
    rank : int or ndarray of shape (M,)
        The number of directions.

    Returns
    -------
    ndarray of shape (M, n, max(rank))
        The directions, best first; columns of zeros where the null space has no more in which A
        does not vanish.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.mathematics.null_space import null_space
    >>> A, B = np.diag([3.0, 2.0, 1.0]), np.diag([4.0, 0.0, 0.0])
    >>> null_space(A[None], B[None], rank=2)[0]
    array([[0., 0.],
           [1., 0.],
           [0., 1.]])
    """
    values, vectors = np.linalg.eigh(minimise)
    sizes = np.trace(maximise, axis1=1, axis2=2) + np.trace(minimise, axis1=1, axis2=2)
    rounding = ROUNDING * sizes
    inside = values <= np.maximum(NULL * values[:, -1], rounding)[:, None]
    n = values.shape[1]
    least = np.arange(n) < np.broadcast_to(rank, sizes.shape)[:, None]
    inside = np.where(inside.any(axis=1, keepdims=True), inside, least)
    basis = vectors * inside[:, None, :]
    kept = basis.swapaxes(1, 2) @ maximise @ basis  # zero outside of the null space
    W = basis @ leading_eigenvectors(kept, None, rank)
    least = 10 * n * np.finfo(float).eps * np.trace(maximise, axis1=1, axis2=2)
    W = W * (np.einsum("mir,mir->mr", W, maximise @ W) > least[:, None])[:, None, :]
    nothing = np.flatnonzero(~W.any(axis=(1, 2)))  # no scatter to keep: one direction, any one
    W[nothing, :, 0] = vectors[nothing, :, inside[nothing].argmax(axis=1)]
    return np.asarray(W)
