"""Lengths of samples in many subspaces at once."""

from __future__ import annotations

import numpy as np

from tenfold.mathematics.algebra import Array


def squared_lengths(Z: Array, rows: Array, columns: Array) -> Array:
    """Squared norms of ``W_1^T Z_j W_2`` for R pairs of projections.

    Parameters
    ----------
    Z : ndarray of shape (n, I_1, I_2) or (n, I_1, I_2, channels)
        Deviations from a mean; the channels of an image are added up.
    rows, columns : ndarrays of shape (R, I_1, r) and (R, I_2, r)
        Projections; columns of zeros count for nothing.

    Returns
    -------
    ndarray of shape (R, n)
        The squared norms.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.experiments.subspace_lengths import squared_lengths
    >>> squared_lengths(np.ones((1, 4, 3)), np.eye(4)[None, :, :2], np.eye(3)[None, :, :2])
    array([[4.]])
    """
    channels = [Z[..., c] for c in range(Z.shape[3])] if Z.ndim == 4 else [Z]
    ranks = [int(W.any(axis=0).sum()) for W in rows]
    all_rows = np.concatenate([W[:, :r] for W, r in zip(rows, ranks, strict=True)], axis=1)
    lengths = np.zeros((len(rows), len(Z)), dtype=Z.dtype)
    for channel in channels:
        flat = np.ascontiguousarray(channel.transpose(1, 0, 2)).reshape(Z.shape[1], -1)
        half = (all_rows.T @ flat).reshape(-1, len(Z), Z.shape[2])  # one product for all ranks
        start = 0
        for m, (rank, W) in enumerate(zip(ranks, columns, strict=True)):
            Y = half[start : start + rank] @ W[:, : int(W.any(axis=0).sum())]
            lengths[m] += np.einsum("rnc,rnc->n", Y, Y)
            start += rank
    return lengths
