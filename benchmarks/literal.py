"""Algorithm 1 of the paper, written down literally in NumPy: what tenfold is measured against.

Every mode of every round projects every sample, unfolds the projected samples, sums the two
scatters and hands the pair to SciPy.

`textbook` follows the definitions word by word: `tensordot` for mode products, all eigenvectors, of
which the leading ones are kept. `mcsda` is tuned: every product is one BLAS call without a copy,
and only the leading eigenvectors are asked for. Neither loops over samples in Python, and both
centre the samples once. What they lack is the idea that the sums need not be repeated.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import eigh, qr

Array = npt.NDArray[Any]


def mcsda(
    X: Array,
    is_positive: Array,
    ranks: Sequence[int],
    ridge: float = 0.01,
    rounds: int = 20,
    printed: bool = False,
) -> list[Array]:
    """One orthonormal projection (I_k, r_k) per mode for one positive class."""
    scatter, solve = (printed_scatter, all_of_them) if printed else (mode_scatter, leading)
    mean = X[is_positive].mean(axis=0)
    inside, outside = X[is_positive] - mean, X[~is_positive] - mean
    W = [np.ones((size, rank)) for size, rank in zip(X.shape[1:], ranks, strict=True)]
    for _ in range(rounds):
        for k, rank in enumerate(ranks):
            S_I = scatter(inside, W, k)  # eq. 18
            S_O = scatter(outside, W, k)  # eq. 17
            W[k] = qr(solve(S_O, rank, S_I + ridge * np.eye(len(S_I))), mode="economic")[0]
    return W


textbook = partial(mcsda, printed=True)  # as the definitions read


def mpca(X: Array, ranks: Sequence[int], rounds: int = 20) -> list[Array]:
    """One projection (I_k, r_k) per mode that keeps as much of the scatter as it can."""
    centred = X - X.mean(axis=0)
    W = [np.eye(size) for size in X.shape[1:]]
    for _ in range(rounds):
        for k, rank in enumerate(ranks):
            W[k] = leading(mode_scatter(centred, W, k), rank)
    return W


def mode_scatter(Z: Array, W: Sequence[Array], mode: int) -> Array:
    """``sum_j Y_j Y_j^T`` with Y_j = [Z_j x_{q != k} W_q^T]_(k) (Definitions 1 and 2)."""
    for q, other in enumerate(W):
        if q != mode:
            Z = mode_product(Z, other.T, q)
    unfolded = np.moveaxis(Z, mode + 1, 0).reshape(Z.shape[mode + 1], -1)
    return unfolded @ unfolded.T


def mode_product(Z: Array, matrix: Array, mode: int) -> Array:
    """Multiply mode k of every sample by a matrix (J, I_k)."""
    if mode == Z.ndim - 2:
        return Z @ matrix.T
    flat = Z.reshape(*Z.shape[: mode + 2], -1)
    return (matrix @ flat).reshape(*Z.shape[: mode + 1], len(matrix), *Z.shape[mode + 2 :])


def leading(A: Array, rank: int, B: Array | None = None) -> Array:
    """The eigenvectors of the largest (generalised) eigenvalues, largest first."""
    size = len(A)
    return eigh(A, B, subset_by_index=(size - rank, size - 1))[1][:, ::-1]


def printed_scatter(Z: Array, W: Sequence[Array], mode: int) -> Array:
    """What `mode_scatter` gives, as Definitions 1 and 2 read."""
    for q, other in enumerate(W):
        if q != mode:
            Z = np.moveaxis(np.tensordot(Z, other, axes=(q + 1, 0)), -1, q + 1)
    unfolded = np.moveaxis(Z, mode + 1, 0).reshape(Z.shape[mode + 1], -1)
    return unfolded @ unfolded.T


def all_of_them(A: Array, rank: int, B: Array) -> Array:
    """What `leading` gives, by way of all eigenvectors."""
    return eigh(A, B)[1][:, ::-1][:, :rank]


def csda_bank(X: Array, y: Array, rank: int, ridge: float, shrinkage: float = 0.5) -> list[Array]:
    """CSDA of every class of vectors (n, I), n < I: one eigenproblem of n rows for each."""
    mean = X.mean(axis=0)
    basis, coordinates = qr((X - mean).T, mode="economic")
    Z = coordinates.T
    classes, codes = np.unique(y, return_inverse=True)
    centres = np.stack([Z[codes == c].mean(axis=0) for c in range(len(classes))])
    about = Z - centres[codes]
    total, within = Z.T @ Z, about.T @ about
    models = []
    for c in range(len(classes)):
        own, share = about[codes == c], (codes == c).mean()
        inside = own.T @ own
        outside = total + len(Z) * np.outer(centres[c], centres[c]) - inside
        B = (1 - shrinkage) * inside + shrinkage * share * within + ridge * np.eye(len(total))
        wanted = (len(total) - rank, len(total) - 1)
        W = eigh(outside, B, subset_by_index=wanted)[1][:, ::-1]
        models.append(basis @ W)
    return models


def hoda(
    X: Array, y: Array, ranks: Sequence[int], rounds: int = 20, alternate: bool = True
) -> list[Array]:
    """Higher order discriminant analysis as Phan and Cichocki (2010) print it.

    Every mode maximises the ratio of the traces of between and within scatter over orthonormal
    columns: the leading eigenvectors of S_b - phi S_w, where phi is the ratio reached so far.
    Without `alternate` every mode sees the samples as they are, as TULCA does by default.
    """
    classes, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    means = np.stack([X[codes == c].mean(axis=0) for c in range(len(classes))])
    weights = np.sqrt(counts).reshape(-1, *[1] * (X.ndim - 1))
    apart, inside = weights * (means - X.mean(axis=0)), X - means[codes]
    W = [np.eye(size) for size in X.shape[1:]]
    found = list(W)
    for _ in range(rounds if alternate else 1):
        for mode, rank in enumerate(ranks):
            between, within = (mode_scatter(Z, W, mode) for Z in (apart, inside))
            found[mode] = best_ratio(between, within, rank)
            if alternate:
                W[mode] = found[mode]
    return found


def best_ratio(A: Array, B: Array, rank: int) -> Array:
    """Orthonormal columns with the largest ``tr(W^T A W) / tr(W^T B W)``."""
    W, before = leading(A, rank), -1.0
    while True:
        phi = np.trace(W.T @ A @ W) / np.trace(W.T @ B @ W)
        if phi - before <= 1e-14 * phi:
            return W
        W, before = leading(A - phi * B, rank), phi
