"""Prototypes of order-book blocks by k-means, shared by three rows of Table 3."""

from __future__ import annotations

import numpy as np
from sklearn.cluster import MiniBatchKMeans

SAMPLE = 60_000  # blocks that k-means looks at


def prototypes(blocks: np.ndarray, count: int, seed: int) -> np.ndarray:
    """Cluster centres (count, I) of a sample of blocks (n, I).

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.experiments.prototypes import prototypes
    >>> blocks = np.repeat([[0.0], [5.0]], 50, axis=0)
    >>> sorted(prototypes(blocks, 2, seed=0).ravel().round(6).tolist())
    [0.0, 5.0]
    """
    rng = np.random.default_rng(seed)
    if len(blocks) > SAMPLE:
        blocks = blocks[np.sort(rng.choice(len(blocks), SAMPLE, replace=False))]
    found = MiniBatchKMeans(count, batch_size=4096, n_init=1, max_iter=30, random_state=seed)
    return np.asarray(found.fit(blocks).cluster_centers_)


def squared_distances(X: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Squared distances (n, count), never negative."""
    inner = X @ centres.T
    squares = (X**2).sum(axis=1)[:, None] + (centres**2).sum(axis=1) - 2 * inner
    return np.maximum(squares, 0)
