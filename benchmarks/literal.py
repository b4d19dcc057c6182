"""Algorithm 1 of the paper, written down literally in NumPy: what tenfold is measured against.

Every mode of every round projects every sample, sums the two scatters from the projected samples
and hands the pair to SciPy. It is meant to be what a competent user of NumPy would write: no
Python loop over samples, contiguous arrays made once per fit, every product one BLAS call, and
only the leading eigenvectors asked for. What it lacks is the idea that the sums need not be
repeated.
"""

from __future__ import annotations

from collections.abc import Sequence
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
    orthonormal: bool = True,
) -> list[Array]:
    """One projection (I_k, r_k) per mode for one positive class."""
    mean = X[is_positive].mean(axis=0)
    inside = _ready(X[is_positive] - mean)
    outside = _ready(X[~is_positive] - mean)
    sizes = X.shape[1:]
    W = [np.ones((size, rank)) for size, rank in zip(sizes, ranks, strict=True)]
    for _ in range(rounds):
        for k, rank in enumerate(ranks):
            S_I = _mode_scatter(inside[k], W, k)  # eq. 18
            S_O = _mode_scatter(outside[k], W, k)  # eq. 17
            W[k] = _leading_pairs(S_O, S_I + ridge * np.eye(sizes[k]), rank)
            if orthonormal:
                W[k] = qr(W[k], mode="economic")[0]
    return W


def mpca(X: Array, ranks: Sequence[int], rounds: int = 20) -> list[Array]:
    """One projection (I_k, r_k) per mode that keeps the total scatter."""
    samples = _ready(X - X.mean(axis=0))
    sizes = X.shape[1:]
    W = [np.eye(size) for size in sizes]
    for _ in range(rounds):
        for k, rank in enumerate(ranks):
            W[k] = _leading_pairs(_mode_scatter(samples[k], W, k), None, rank)
    return W


def _ready(Z: Array) -> list[Array]:
    """For each mode, the samples as (I_k, n, the other modes...), contiguous."""
    return [np.ascontiguousarray(np.moveaxis(Z, k + 1, 0)) for k in range(Z.ndim - 1)]


def _mode_scatter(Z: Array, W: Sequence[Array], mode: int) -> Array:
    """``sum_j Y_j Y_j^T`` with Y_j = [Z_j x_{q != k} W_q^T]_(k), Z of shape (I_k, n, others...)."""
    for other in (W[q] for q in range(len(W)) if q != mode):
        Z = np.tensordot(Z, other, axes=(2, 0))  # the projected mode goes last, the next comes up
    flat = Z.reshape(len(Z), -1)
    return flat @ flat.T


def _leading_pairs(A: Array, B: Array | None, rank: int) -> Array:
    """The eigenvectors of the largest generalised eigenvalues of (A, B), largest first."""
    size = len(A)
    return eigh(A, B, subset_by_index=(size - rank, size - 1))[1][:, ::-1]
