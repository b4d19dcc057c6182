"""CSDA, MDA and MCSDA on the order book: every rank of every class from one set of moments."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from paper.subspaces import solved, squared_lengths
from tenfold.linalg.algebra import Array
from tenfold.optimization.criteria import projected_trace
from tenfold.statistics.class_statistics import MomentStatistics
from tenfold.statistics.moments import ClassMoments
from tenfold.statistics.scatters import Scatter


@dataclass(frozen=True, eq=False)
class SubspaceBank:
    """R candidates of one subspace per class.

    Parameters
    ----------
    projections : list of two ndarrays of shape (C, R, I_k, r_k)
        One per mode; columns of zeros pad lower ranks.
    means : ndarray of shape (C, I_1, I_2)
        The mean of each class.
    spreads : ndarray of shape (C, R)
        Root mean square distance of a class from its mean in its own subspace.
    """

    projections: list[Array]
    means: Array
    spreads: Array

    def distances(self, X: Any, block: int = 512) -> Array:
        """Plain distances (R, n, C) of windows from every class mean."""
        n_classes, n_candidates = self.spreads.shape
        found = np.empty((n_candidates, len(X), n_classes), dtype=np.float32)
        rows, columns = (W.astype(np.float32) for W in self.projections)
        for part in _blocks(len(X), block):
            for c, mean in enumerate(self.means):
                Z = (X[part] - mean).astype(np.float32)
                found[:, part, c] = np.sqrt(squared_lengths(Z, rows[c], columns[c]))
        return found


def _blocks(n: int, size: int) -> Iterator[slice]:
    for start in range(0, n, size):
        yield slice(start, min(n, start + size))


def subspace_bank(
    method: str, moments: ClassMoments, ranks: Array, *, ridge: float, max_iter: int
) -> SubspaceBank:
    """Solve all classes and candidates as one stack.

    Columns keep the scale of the ratio trace, in which the minimised scatter is the identity.

    Method is "MDA", which is CMDA on "this class or not", or "MCSDA"; moments are of windows
    (n, 144, 10); ranks (R, 2) are the candidates. The ridge is relative to the mean eigenvalue:
    the paper's absolute 0.01 is next to nothing beside the scatter of tens of thousands of
    windows, and leaves the collinear features unstable.
    """
    n_classes, n_candidates = len(moments.classes), len(ranks)
    positives = np.repeat(np.arange(n_classes), n_candidates)
    stack = np.tile(np.minimum(ranks, moments.shape), (n_classes, 1))
    statistics = MomentStatistics.of(moments)
    found = _solved(method, statistics, stack, positives, ridge, max_iter)
    inside = Scatter.stacked([statistics.in_class(p) for p in positives.tolist()])
    spreads = np.sqrt(projected_trace(inside, found) / moments.counts[positives])
    grid = (n_classes, n_candidates)
    return SubspaceBank(
        [W.reshape(*grid, *W.shape[1:]) for W in found], moments.means, spreads.reshape(grid)
    )


def _solved(
    method: str,
    statistics: MomentStatistics,
    ranks: Array,
    positives: Array,
    ridge: float,
    max_iter: int,
) -> list[Array]:
    return solved(
        method,
        statistics,
        ranks,
        positives,
        ridge=ridge,
        absolute_ridge=False,
        shrinkage=0.0,
        orthonormal=False,
        init="identity" if method == "MDA" else "ones",
        max_iter=max_iter,
        tol=0.0,
        threads=True,
    )


@dataclass(frozen=True, eq=False)
class VectorBank:
    """CSDA of every class at several dimensions, which are nested.

    Parameters
    ----------
    projections : ndarray of shape (C, I, d)
        One solution per class, at the highest dimension.
    means : ndarray of shape (C, I)
        The mean of each class.
    dimensions : ndarray of shape (R,)
        The dimensions asked for.
    spreads : ndarray of shape (C, R)
        Root mean square distance of a class from its mean in its own subspace.
    """

    projections: Array
    means: Array
    dimensions: Array
    spreads: Array

    def distances(self, X: Array, block: int = 4096) -> Array:
        """Plain distances (R, n, C) of vectors (n, I) from every class mean."""
        found = np.empty((len(self.dimensions), len(X), len(self.means)), dtype=np.float32)
        for part in _blocks(len(X), block):
            for c, (W, mean) in enumerate(zip(self.projections, self.means, strict=True)):
                Y = (X[part] - mean).astype(np.float32) @ W.astype(np.float32)
                found[:, part, c] = np.sqrt(np.cumsum(Y**2, axis=1)[:, self.dimensions - 1]).T
        return found


def vector_bank(moments: ClassMoments, dimensions: Array, *, ridge: float) -> VectorBank:
    """Solve CSDA of every class once, at the highest dimension.

    Moments of vectors (n, I), candidates (R,), and a ridge relative to the mean eigenvalue.
    """
    positives = np.arange(len(moments.classes))
    dimensions = np.minimum(dimensions, moments.shape[0])
    ranks = np.full((len(positives), 1), dimensions.max())
    (W,) = _solved("CSDA", MomentStatistics.of(moments), ranks, positives, ridge, max_iter=1)
    squares = np.einsum("cir,cir->cr", W, moments.scatters @ W)
    spreads = np.sqrt(np.cumsum(squares, axis=1)[:, dimensions - 1] / moments.counts[:, None])
    return VectorBank(W, moments.means, dimensions, spreads)
