"""The libraries that people use now, each asked for the job in its own words.

Every function takes samples (n, I_1, ..., I_K) and gives one projection (I_k, r_k) per mode.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def pykale_mpca(X: Array, ranks: Sequence[int], rounds: int) -> list[Array]:
    """pyKale takes a share of the scatter and not ranks: it is told the share that gives them."""
    from kale.embed.factorization import MPCA

    model = MPCA(var_ratio=_share_that_gives(X, ranks), max_iter=rounds).fit(X)
    return [W.T for W in model.proj_mats]


def tensorly_partial_tucker(X: Array, ranks: Sequence[int], rounds: int) -> list[Array]:
    from tensorly.decomposition import partial_tucker

    modes = list(range(1, X.ndim))
    centred = X - X.mean(axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (_, factors), _ = partial_tucker(centred, list(ranks), modes, n_iter_max=rounds, tol=0)
    return list(factors)


def hottbox_hooi(X: Array, ranks: Sequence[int], rounds: int) -> list[Array]:
    """hottbox multiplies the mode of the samples by an identity of N x N, so N stays small."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # `is` with a literal, in its own code
        from hottbox.algorithms.decomposition import HOOI
        from hottbox.core import Tensor

        hooi = HOOI(process=tuple(range(1, X.ndim)), max_iter=rounds, epsilon=-1.0, tol=-1.0)
        found = hooi.decompose(Tensor(X - X.mean(axis=0)), rank=(len(X), *ranks))
    return [found.fmat[k] for k in range(1, X.ndim)]


def tulca(X: Array, y: Array, ranks: Sequence[int]) -> list[Array]:
    """Its defaults are tensor discriminant analysis; labels must be numbers from 0."""
    from tulca import TULCA

    model = TULCA(n_components=list(ranks), convergence_ratio=1e-14)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, np.unique(y, return_inverse=True)[1])
    return list(model.get_projection_matrices())


def sklearn_pca(X: Array, rank: int) -> list[Array]:
    from sklearn.decomposition import PCA

    return [PCA(rank, random_state=0).fit(X).components_.T]


def sklearn_incremental_pca(X: Array, rank: int) -> list[Array]:
    from sklearn.decomposition import IncrementalPCA

    return [IncrementalPCA(rank).fit(X).components_.T]


def sklearn_lda(X: Array, y: Array) -> list[Array]:
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    return [LinearDiscriminantAnalysis(solver="svd").fit(X, y).scalings_]


def _share_that_gives(X: Array, ranks: Sequence[int]) -> float:
    """A share of the scatter that every mode reaches with its rank and not with one less."""
    centred = X[:2000] - X[:2000].mean(axis=0)
    low, high = 0.0, 1.0
    for mode, rank in enumerate(ranks):
        fibres = np.moveaxis(centred, mode + 1, 0).reshape(X.shape[mode + 1], -1)
        reached = np.linalg.eigvalsh(fibres @ fibres.T)[::-1].cumsum()
        low, high = (
            max(low, reached[rank - 2] / reached[-1]),
            min(high, reached[rank - 1] / reached[-1]),
        )
    if not low < high:
        raise ValueError(f"no share of the scatter gives ranks {tuple(ranks)} in every mode")
    return (low + high) / 2
