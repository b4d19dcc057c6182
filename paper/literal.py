"""The paper's algorithms as printed, for timing: clear, slow, and right.

`tenfold` computes the same subspaces otherwise. These are what its times are compared with.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg import eigh, qr

from tenfold.linalg.algebra import mode_product, unfold


def literal_csda(X: np.ndarray, positive: np.ndarray, ridge: float, rank: int) -> np.ndarray:
    """CSDA by its I x I scatter matrices, in O(I^3) (eq. 5).

    Vectors X (n, I), of which `positive` belong to the class of interest; `ridge` is the paper's
    lambda. The columns (I, rank) are orthonormal.

    Examples
    --------
    >>> import numpy as np
    >>> from paper.literal import literal_csda
    >>> X = np.random.default_rng(0).normal(size=(20, 6))
    >>> literal_csda(X, np.arange(20) < 5, ridge=0.01, rank=2).shape
    (6, 2)
    """
    Z = X - X[positive].mean(axis=0)
    S_out = Z[~positive].T @ Z[~positive]
    S_in = Z[positive].T @ Z[positive]
    vectors = eigh(S_out, S_in + ridge * np.eye(X.shape[1]))[1]
    return np.asarray(qr(vectors[:, ::-1][:, :rank], mode="economic")[0])


def literal_mcsda(
    X: np.ndarray, positive: np.ndarray, ridge: float, ranks: Sequence[int], rounds: int
) -> list[np.ndarray]:
    """Algorithm 1, sample by sample, for a fixed number of rounds.

    Tensors X (n, I_1, ..., I_K), of which `positive` belong to the class of interest; `ridge` is
    the paper's lambda, `rounds` its tau. Columns (I_k, r_k) are orthonormal.

    Examples
    --------
    >>> import numpy as np
    >>> from paper.literal import literal_mcsda
    >>> X = np.random.default_rng(0).normal(size=(20, 4, 3))
    >>> [W.shape for W in literal_mcsda(X, np.arange(20) < 5, 0.01, (2, 2), rounds=3)]
    [(4, 2), (3, 2)]
    """
    Z = X - X[positive].mean(axis=0)
    W = [np.ones((size, rank)) for size, rank in zip(X.shape[1:], ranks, strict=True)]
    for _ in range(rounds):
        for k, rank in enumerate(ranks):
            S_out, S_in = (_mode_scatter(Z[side], W, k) for side in (~positive, positive))
            vectors = eigh(S_out, S_in + ridge * np.eye(len(S_in)))[1]  # eq. 19
            W[k] = qr(vectors[:, ::-1][:, :rank], mode="economic")[0]
    return W


def _mode_scatter(Z: np.ndarray, W: list[np.ndarray], k: int) -> np.ndarray:
    """Mode-k scatter of deviations projected along the other modes (eqs 17 and 18)."""
    for q, projection in enumerate(W):
        if q != k:
            Z = mode_product(Z, projection.T, q)
    unfolded = unfold(Z, k)
    return np.asarray(sum(matrix @ matrix.T for matrix in unfolded))
