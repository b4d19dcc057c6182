"""Unfolding, mode products, projection and reconstruction of batches of tensors.

The convention of the whole library is said here once: **axis 0 counts samples, mode k is axis
k + 1**, with modes numbered from 0. A batch of N samples of order K has shape (N, I_1, ..., I_K);
a projection along mode k is a matrix W_k of shape (I_k, r_k).

A mode scatter ``sum_j [Z_j x_{q != k} W_q^T]_(k) [...]_(k)^T`` depends on the other modes only
through the symmetric ``P_q = W_q W_q^T``, and is symmetric itself. So of the scatter of vectorised
samples, seen as I_1 x ... x I_K x I_1 x ... x I_K, only the part that is symmetric in every pair of
modes matters: a *packed table* of L_k = I_k (I_k + 1) / 2 numbers per mode, 1 / 2^K of the scatter.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import prod

import numpy as np
from scipy.linalg import blas

from tenfold.linalg.arrays import Array as Array
from tenfold.linalg.arrays import asarray_like, is_elsewhere, reshaped, to_numpy
from tenfold.linalg.constants import WHOLE_TABLE


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
    >>> from tenfold.linalg.algebra import unfold
    >>> unfold(np.arange(6).reshape(1, 2, 3), mode=1)[0]
    array([[0, 3],
           [1, 4],
           [2, 5]])
    """
    if not 0 <= mode < X.ndim - 1:
        raise _no_such_mode(X, mode)
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
    >>> from tenfold.linalg.algebra import mode_product
    >>> mode_product(np.ones((5, 4, 3)), np.ones((2, 4)), mode=0).shape
    (5, 2, 3)
    """
    if not 0 <= mode < X.ndim - 1:
        raise _no_such_mode(X, mode)
    if matrix.ndim != 2 or matrix.shape[1] != X.shape[mode + 1]:
        raise ValueError(
            f"a matrix of shape {matrix.shape} cannot multiply mode {mode}, which has "
            f"{X.shape[mode + 1]} entries; pass one of shape (J, {X.shape[mode + 1]})"
        )
    before, after = X.shape[: mode + 1], X.shape[mode + 2 :]
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
    >>> from tenfold.linalg.algebra import project
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
    >>> from tenfold.linalg.algebra import project, reconstruct
    >>> X = np.arange(12.0).reshape(1, 4, 3)
    >>> bool(np.allclose(reconstruct(project(X, [np.eye(4), 2 * np.eye(3)]),
    ...                              [np.eye(4), 2 * np.eye(3)]), X))
    True
    """
    for mode, W in enumerate(projections):
        Y = mode_product(Y, asarray_like(np.linalg.pinv(W).T, Y, Y.dtype), mode)
    return Y


def _no_such_mode(X: Array, mode: int) -> ValueError:
    return ValueError(
        f"mode {mode} does not exist: the samples have {X.ndim - 1} mode(s), "
        f"numbered from 0 to {X.ndim - 2}; pass one of these"
    )


def shrinking_order(projections: Sequence[Array]) -> list[int]:
    """The order of modes in which projecting costs least: the strongest reduction first."""
    left = [W.shape[-1] / W.shape[-2] for W in projections]
    return sorted(range(len(left)), key=left.__getitem__)


def add_gram(matrix: Array, rows: Array, factor: float = 1.0) -> None:
    """Add ``factor rows.T @ rows`` to the upper triangle of a C-ordered float64 matrix, in place.

    float32 rows are multiplied in float32 and added in float64.
    """
    if is_elsewhere(rows):
        matrix += factor * to_numpy(rows.mT @ rows)
    elif rows.dtype == np.float32:
        matrix += blas.ssyrk(factor, rows.T, lower=1).T
    else:
        blas.dsyrk(factor, rows.T, beta=1.0, c=matrix.T, lower=1, overwrite_c=1)


# ── Mode scatters of samples ─────────────────────────────────────────────────────────────────────


def mode_scatters(Y: Array, mode: int, factors: Sequence[Array]) -> Array:
    """``sum_j Y_j Y_j^T`` of M models, with Y_j = [Z_j x_{q != k} W_q^T]_(k).

    Parameters
    ----------
    Y : ndarray of shape (M, I_k, n, ...) or (1, I_k, n, ...)
        The tensors Z_j of each model, or those that all share, with mode k first and in one piece
        of memory: that of (M, n, I_1, ..., I_K) with axis k + 2 moved to place 1.
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
    >>> from tenfold.linalg.algebra import mode_scatters
    >>> five = np.ones((1, 5, 2, 3))
    >>> Y = np.moveaxis(five, 2, 1)
    >>> mode_scatters(Y, 0, [np.ones((4, 2, 1)), np.ones((4, 3, 1))])[0]
    array([[45., 45.],
           [45., 45.]])
    """
    others = [W for q, W in enumerate(factors) if q != mode]
    for q in shrinking_order(others):
        W = others[q]
        if is_identity(W):  # the first round sees modes that are not yet projected
            continue
        axis = q + 3
        before = Y.shape[1:axis]
        after = Y.shape[axis + 1 :]
        if prod(after) == 1:
            product = Y.reshape(len(Y), -1, Y.shape[axis]) @ W
        else:
            product = W.mT[:, None] @ Y.reshape(len(Y), -1, Y.shape[axis], prod(after))
        Y = product.reshape(len(W), *before, W.shape[2], *after)
    Y = Y.reshape(len(Y), Y.shape[1], -1)
    return np.asarray(Y @ Y.mT)


def is_identity(W: Array) -> bool:
    """Whether a stack (M, I_q, r_q) leaves its mode as it is."""
    return W.shape[1] == W.shape[2] and bool((np.eye(W.shape[1]) == W).all())


# ── Packed tables ─────────────────────────────────────────────────────────────────────────────────


@lru_cache(maxsize=64)
def _pairs(size: int) -> tuple[Array, Array, Array]:
    """Flat positions of the upper triangle, their contraction weights, and the way back."""
    rows, columns = np.triu_indices(size)
    position = np.empty((size, size), dtype=np.intp)
    position[rows, columns] = position[columns, rows] = np.arange(len(rows))
    return rows * size + columns, np.where(rows == columns, 1.0, 2.0), position.ravel()


def pack_table(matrix: Array, shape: tuple[int, ...]) -> Array:
    """The part of an (I, I) scatter that mode scatters depend on, of shape (L_1, ..., L_K).

    Entry ((i, i'), (j, j'), ...) is the mean over exchanging the two indices of each mode. The
    first mode needs none, since the scatter is symmetric. Only its upper triangle is read. Of
    vectors it is the scatter itself, which needs no unpacking.
    """
    first = shape[0]
    rest = shape[1:]
    if not rest:
        return np.asarray(np.triu(matrix) + np.triu(matrix, 1).T)
    rows, columns = np.triu_indices(first)
    blocks = matrix.reshape(first, prod(rest), first, prod(rest))
    table = blocks[rows, :, columns, :]  # (L_1, I / I_1, I / I_1)
    on_diagonal = np.flatnonzero(rows == columns)
    corner = table[on_diagonal]
    table[on_diagonal] = np.triu(corner) + np.triu(corner, 1).mT
    table = table.reshape(-1, *rest, *rest)
    for k in range(len(rest) - 1, -1, -1):  # axes: L, modes up to k, the same again, packed modes
        last = np.moveaxis(table, (k + 1, 2 * k + 2), (-2, -1))
        mean = (last + last.mT).reshape(*last.shape[:-2], -1)
        packed = np.take(mean, _pairs(rest[k])[0], axis=-1)
        packed /= 2
        table = np.moveaxis(packed, -1, 2 * k + 1)
    return np.ascontiguousarray(table)


def packed_gram(blocks: Iterable[Array], shape: tuple[int, ...]) -> Array:
    """The packed table (L_1, ..., L_K) of ``sum_j z_j z_j^T``, from blocks (n, I_1, ..., I_K).

    Of large tensors the scatter is never made. Seen along its smallest mode, with slices a and b of
    all samples, the table needs the symmetric part of ``a^T b`` alone, which is
    ``((a + b)^T (a + b) - a^T a - b^T b) / 2``: products of a matrix with itself, at half the
    price of others. Slices are brought to one length first, so that this costs no digits.
    """
    size = prod(shape)
    if len(shape) == 1 or size <= WHOLE_TABLE:
        matrix = np.zeros((size, size))
        for Z in blocks:
            add_gram(matrix, Z.reshape(len(Z), -1))
        return pack_table(matrix, shape)
    mode = int(np.argmin(shape))
    others = shape[:mode] + shape[mode + 1 :]
    first, second = np.triu_indices(shape[mode])
    table = np.zeros((len(first), *(n * (n + 1) // 2 for n in others)))
    for Z in blocks:
        slices = np.ascontiguousarray(np.moveaxis(Z, mode + 1, 0)).reshape(shape[mode], len(Z), -1)
        flat = slices.reshape(len(slices), -1)
        lengths = np.sqrt(np.vecdot(flat, flat))
        lengths = np.where(lengths > 0, lengths, 1.0)
        slices /= lengths[:, None, None]
        own = [_packed_square(rows, others) for rows in slices]
        for entry, a, b in zip(table, first, second, strict=True):
            product = own[a]
            if a != b:
                product = (_packed_square(slices[a] + slices[b], others) - own[a] - own[b]) / 2
            entry += lengths[a] * lengths[b] * product
    return np.ascontiguousarray(np.moveaxis(table, 0, mode))


def _packed_square(rows: Array, shape: tuple[int, ...]) -> Array:
    """The packed table of ``rows^T rows``."""
    matrix = np.zeros((rows.shape[1], rows.shape[1]))
    add_gram(matrix, rows)
    return pack_table(matrix, shape)


def pack_projectors(W: Array) -> Array:
    """``P = W W^T`` of a stack (M, I_q, r_q), packed for contraction: (M, L_q)."""
    flat, weights, _ = _pairs(W.shape[1])
    P = (W @ W.swapaxes(1, 2)).reshape(len(W), -1)
    return np.take(P, flat, axis=1) * weights


def contract_table(
    table: Array, packed: dict[int, Array], first: int, left: Array | None = None
) -> tuple[Array, Array]:
    """A packed table contracted with the projectors of M models along all modes but one.

    Parameters
    ----------
    table : ndarray of shape (L_1, ..., L_K)
        A packed table.
    packed : dict of mode to ndarray of shape (M, L_q)
        Packed projectors of all modes but k.
    first : int
        The mode that is contracted first, which takes nearly all the time.
    left : ndarray or None
        What that left before, if it is known.

    Returns
    -------
    tuple of two ndarrays of shape (M, all modes but the first...) and (M, L_k)
        What the first contraction leaves, and what all of them leave.
    """
    if left is None:
        before = table.shape[:first]
        after = table.shape[first + 1 :]
        if not before:
            left = packed[first] @ table.reshape(len(table), -1)
        elif not after:
            left = packed[first] @ table.reshape(-1, table.shape[first]).T
        else:
            left = packed[first] @ table.reshape(prod(before), table.shape[first], -1)
            left = left.swapaxes(0, 1)
        left = left.reshape(-1, *before, *after)
    rest = left
    axes = [q for q in range(table.ndim) if q != first]
    for q, P in packed.items():
        if q != first:
            columns = P.reshape(len(P), *[1] * (rest.ndim - 3), -1, 1)
            rest = (np.moveaxis(rest, axes.index(q) + 1, -1) @ columns)[..., 0]
            axes.remove(q)
    return left, rest


def unpack(packed: Array, size: int) -> Array:
    """Symmetric matrices (M, I_k, I_k) from their packed form (M, L_k)."""
    return np.take(packed, _pairs(size)[2], axis=1).reshape(len(packed), size, size)
