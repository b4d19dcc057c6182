"""Solvers: the r directions that make one matrix large and another small.

Every solver has the signature ``solver(maximise, minimise, rank)`` and works on stacks:

maximise, minimise : ndarray of shape (M, n, n)
    Symmetric matrices, `minimise` positive definite.
rank : int or ndarray of shape (M,)
    The number of directions of each model.

and returns an ndarray of shape (M, n, max(rank)) whose columns are the directions, best first;
columns beyond a model's own rank are zero. So any solver can stand in for another.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg.lapack import dtrtri

from tenfold.linalg.algebra import Array
from tenfold.linalg.constants import FEW

Solver = Callable[[Array, Array, "int | Array"], Array]
NULL = 1e-10  # of the largest eigenvalue: what is left of zero by rounding
ROUNDING = 1e-13  # of both traces: a ridge that only keeps B definite


def ratio_trace(maximise: Array, minimise: Array, rank: int | Array) -> Array:
    """Leading generalised eigenvectors, which maximise ``tr((W^T B W)^-1 W^T A W)``.

    The columns are scaled so that ``W^T B W = I``: in this metric the minimised scatter is a
    sphere. The solution for rank r is the first r columns of the solution for any higher rank.
    Directions in which A vanishes carry no information and come as columns of zeros.

    Parameters
    ----------
    maximise, minimise : ndarray of shape (M, n, n)
        A and B; B positive definite.
    rank : int or ndarray of shape (M,)
        The number of directions.

    Returns
    -------
    ndarray of shape (M, n, max(rank))
        The directions, best first.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.linalg.solvers import ratio_trace
    >>> A, B = np.diag([3.0, 2.0, 1.0]), np.diag([4.0, 1.0, 1.0])
    >>> ratio_trace(A[None], B[None], rank=1)[0].ravel()
    array([0., 1., 0.])
    """
    whitener = _whitener(minimise)  # V with V^T B V = I
    whitened = whitener.swapaxes(-1, -2) @ maximise @ whitener
    spread = np.maximum(np.diagonal(maximise, axis1=-2, axis2=-1), 0.0)
    return _in_metric(whitener, *_leading(whitened, rank), spread)


def ratio_trace_of_columns(columns: Array, minimise: Array, rank: int | Array) -> Array:
    """`ratio_trace` for ``A = K K^T`` with few columns K, (M, n, k), without an n x n eigenproblem.

    There are at most k directions.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.linalg.solvers import ratio_trace_of_columns
    >>> K, B = np.array([[3.0], [2.0], [0.0]]), np.diag([3.0, 1.0, 1.0])
    >>> W = ratio_trace_of_columns(K[None], B[None], rank=2)[0]
    >>> bool(np.allclose(W, np.array([[1.0], [2.0], [0.0]]) / np.sqrt(7)))
    True
    """
    whitener = _whitener(minimise)
    vectors, roots, _ = np.linalg.svd(whitener.swapaxes(-1, -2) @ columns, full_matrices=False)
    return _in_metric(whitener, *_first(roots**2, vectors, rank), (columns**2).sum(axis=-1))


def _in_metric(whitener: Array, values: Array, vectors: Array, spread: Array) -> Array:
    """Directions W with ``W^T B W = I``, from eigenvectors of the whitened A.

    `spread` is the diagonal of A. Directions in which A is only rounding become zeros.
    """
    W = whitener @ _that_tell(values, vectors)
    seen = (np.abs(W) * np.sqrt(spread)[..., None]).sum(axis=-2) ** 2  # as much as any such A
    tells = values > 10 * W.shape[-2] * np.finfo(float).eps * seen  # more than the rounding of A
    tells[..., 0] = True
    return with_fixed_signs(W * tells[..., None, :])


def trace_ratio(maximise: Array, minimise: Array, rank: int | Array) -> Array:
    """Orthonormal directions that maximise ``tr(W^T A W) / tr(W^T B W)`` (eqs 12 and 19).

    Newton's iteration on the ratio: with its present value rho, the leading eigenvectors of
    A - rho B never lower it, and it converges quadratically to the global maximum. Directions in
    which nothing varies tell nothing and come as columns of zeros.

    Parameters
    ----------
    maximise, minimise : ndarray of shape (M, n, n)
        A and B; B positive definite.
    rank : int or ndarray of shape (M,)
        The number of directions.

    Returns
    -------
    ndarray of shape (M, n, max(rank))
        Orthonormal directions.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.linalg.solvers import trace_ratio
    >>> A, B = np.diag([3.0, 2.0, 1.0]), np.diag([4.0, 1.0, 1.0])
    >>> trace_ratio(A[None], B[None], rank=2)[0]
    array([[0., 0.],
           [1., 0.],
           [0., 1.]])
    """
    basis = _where_something_varies(maximise, minimise)
    W = orthonormalised(ratio_trace(maximise, minimise, rank))
    ratio = _traces(W, maximise) / _traces(W, minimise)
    for _ in range(50):
        W = _leading_in(basis, maximise - ratio[:, None, None] * minimise, rank)
        better = _traces(W, maximise) / _traces(W, minimise)
        resting = np.abs(better - ratio) <= 1e-14 * np.abs(better)
        ratio = better
        if resting.all():
            break
    return with_fixed_signs(W)


def trace_difference(maximise: Array, minimise: Array, rank: int | Array) -> Array:
    """Orthonormal directions that maximise ``tr(W^T (A - zeta B) W)``.

    zeta is the largest generalised eigenvalue of (A, B), as in GTDA and DGTDA. Directions in which
    nothing varies tell nothing and come as columns of zeros.

    Parameters
    ----------
    maximise, minimise : ndarray of shape (M, n, n)
        A and B; B positive definite.
    rank : int or ndarray of shape (M,)
        The number of directions.

    Returns
    -------
    ndarray of shape (M, n, max(rank))
        Orthonormal directions, best first.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.linalg.solvers import trace_difference
    >>> A, B = np.diag([3.0, 2.0, 1.0]), np.diag([4.0, 1.0, 1.0])
    >>> trace_difference(A[None], B[None], rank=1)[0].ravel()
    array([0., 1., 0.])
    """
    best = ratio_trace(maximise, minimise, 1)  # B-normalised, so that w^T A w = zeta
    zeta = _traces(best, maximise)[:, None, None]
    unit = np.maximum(zeta, 1.0)  # zeta B alone may be larger than a float64, if B is nearly zero
    basis = _where_something_varies(maximise, minimise)
    return with_fixed_signs(_leading_in(basis, maximise / unit - zeta / unit * minimise, rank))


def leading_eigenvectors(maximise: Array, minimise: Array | None, rank: int | Array) -> Array:
    """Eigenvectors of the largest eigenvalues of A, which maximise ``tr(W^T A W)``.

    Directions in which A vanishes come as columns of zeros.

    Parameters
    ----------
    maximise : ndarray of shape (M, n, n)
        A, positive semi-definite.
    minimise : ndarray of shape (M, n, n) or None
        Not used; there so that all solvers have one signature.
    rank : int or ndarray of shape (M,)
        The number of directions.

    Returns
    -------
    ndarray of shape (M, n, max(rank))
        Orthonormal directions, best first.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.linalg.solvers import leading_eigenvectors
    >>> leading_eigenvectors(np.diag([1.0, 3.0, 2.0])[None], None, rank=2)[0]
    array([[0., 0.],
           [1., 0.],
           [0., 1.]])
    """
    return with_fixed_signs(_that_tell(*_leading(maximise, rank)))


SOLVERS: dict[str, Solver] = {
    "ratio_trace": ratio_trace,
    "trace_ratio": trace_ratio,
    "trace_difference": trace_difference,
}


def orthonormalised(W: Array) -> Array:
    """Orthonormal columns with the same nested spans; trailing columns of zeros stay zero."""
    return np.asarray(np.linalg.qr(W)[0] * W.any(axis=-2, keepdims=True))


def with_fixed_signs(W: Array) -> Array:
    """Make the largest entry of every column positive."""
    return np.asarray(W * signs_of_columns(W) + 0.0)  # + 0.0: no negative zeros


def signs_of_columns(W: Array) -> Array:
    """The sign of the largest entry of every column of (..., n, r), as (..., 1, r)."""
    largest = np.take_along_axis(W, np.abs(W).argmax(axis=-2)[..., None, :], axis=-2)
    return np.where(largest < 0, -1.0, 1.0)


def _leading(matrix: Array, rank: int | Array) -> tuple[Array, Array]:
    """The largest eigenvalues and their unit eigenvectors, zero beyond each model's rank."""
    values, vectors = np.linalg.eigh(matrix)
    return _first(values[..., ::-1], vectors[..., ::-1], rank)


def _first(values: Array, vectors: Array, rank: int | Array) -> tuple[Array, Array]:
    """The first of sorted values and vectors, zero beyond each model's rank."""
    width = int(np.max(rank))
    values, vectors = values[..., :width], vectors[..., :width]
    own = np.arange(values.shape[-1]) < np.asarray(rank)[..., None]
    return values * own, vectors * own[..., None, :]


def _where_something_varies(maximise: Array, minimise: Array) -> Array | None:
    """A basis (M, n, n) of the directions in which A or B vary; None if these are all.

    B has a ridge: where nothing varies, A vanishes and B is as small as anywhere. The basis has
    columns of zeros for these directions. One direction is always left.
    """
    n = maximise.shape[-1]
    rounding = 10 * n * np.finfo(float).eps
    eye = np.eye(n)
    size = _sizes(maximise + minimise)  # both are differences of sums over all samples
    try:
        np.linalg.cholesky(maximise / size - rounding * eye)
    except np.linalg.LinAlgError:
        pass
    else:
        return None
    least = np.linalg.eigvalsh(minimise)[..., :1, None]
    values, basis = np.linalg.eigh((maximise + minimise - least * eye) / size)
    varies = values > rounding
    varies[..., -1] = True
    return None if varies.all() else np.asarray(basis * varies[..., None, :])


def _sizes(matrix: Array) -> Array:
    """The trace of each matrix of a stack, (M, 1, 1), and 1 where it is 0."""
    sizes = np.trace(matrix, axis1=-2, axis2=-1)[..., None, None]
    return np.where(sizes > 0, sizes, 1.0)


def _leading_in(basis: Array | None, matrix: Array, rank: int | Array) -> Array:
    """Leading unit eigenvectors in a basis with columns of zeros, which come last, as zeros."""
    if basis is None:
        return _leading(matrix, rank)[1]
    inside = basis.swapaxes(-1, -2) @ matrix @ basis
    below = 2 * np.linalg.norm(inside, axis=(-2, -1)) + 1.0  # less than every value inside
    outside = ~basis.any(axis=-2)
    inside -= (below[..., None] * outside)[..., None] * np.eye(inside.shape[-1])
    return np.asarray(basis @ _leading(inside, rank)[1])


def _that_tell(values: Array, vectors: Array) -> Array:
    """Eigenvectors (M, n, r) of a scatter, as zeros where their value is nothing but rounding.

    With no scatter at all one direction is left, any one.
    """
    tells = values > 10 * vectors.shape[-2] * np.finfo(float).eps * values[..., :1]
    tells[..., 0] = True
    return np.asarray(vectors * tells[..., None, :])


def _whitener(matrix: Array) -> Array:
    """V with ``V^T B V = I`` for each positive definite B of a stack."""
    try:
        inverse = inverse_of_lower(np.linalg.cholesky(matrix))
        if np.isfinite(inverse).all():
            return inverse.swapaxes(-1, -2)
    except np.linalg.LinAlgError:
        pass
    values, vectors = np.linalg.eigh(matrix)  # it is definite in exact arithmetic only
    floor = values[..., -1:] * matrix.shape[-1] * np.finfo(float).eps
    return np.asarray(vectors / np.sqrt(np.maximum(values, floor))[..., None, :])


def inverse_of_lower(L: Array) -> Array:
    """Inverses of lower triangular matrices (M, n, n).

    A few go to LAPACK, one after the other; of many, all but small blocks are products.
    """
    n = L.shape[-1]
    if len(L) <= FEW:
        return np.stack([dtrtri(single, lower=1)[0] for single in L])
    if n <= 8:
        return np.linalg.inv(L)
    half = n // 2
    inverse = np.zeros_like(L)
    top = inverse[..., :half, :half] = inverse_of_lower(L[..., :half, :half])
    bottom = inverse[..., half:, half:] = inverse_of_lower(L[..., half:, half:])
    inverse[..., half:, :half] = -bottom @ L[..., half:, :half] @ top
    return inverse


def _traces(W: Array, matrix: Array) -> Array:
    """``tr(W^T A W)`` of each model."""
    return np.asarray(np.einsum("...ir,...ir->...", W, matrix @ W))


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
    >>> from tenfold.linalg.solvers import null_space
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
