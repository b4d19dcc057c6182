"""Multilinear principal component analysis."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.linalg import eigvalsh

from tenfold.mathematics.algebra import Array
from tenfold.mathematics.alternation import Alternation
from tenfold.mathematics.criteria import Criterion
from tenfold.mathematics.moments import ClassStatistics
from tenfold.mathematics.solvers import leading_eigenvectors
from tenfold.methods.base import TensorProjector
from tenfold.methods.learning import Models
from tenfold.validation import samples as check


class MPCA(TensorProjector):
    """Multilinear principal component analysis: keep as much scatter as the ranks allow.

    It maximises the scatter of the projected samples about their mean, one mode at a time.
    On vectors it is PCA. Samples are centred before they are projected. Labels are not used.

    Parameters
    ----------
    ranks : int, float, tuple of K ints or floats, or None, default=None
        Dimensions kept in each mode; one number serves all modes. A float such as 0.999 is a
        share: the fewest dimensions that keep so much of the scatter of the mode. None takes the
        square root of each size, rounded up.
    max_iter : int, default=20
        Rounds at most. With 0 every mode is solved once, on its own, from whole samples: nearly
        as good when almost all scatter is kept, and fewer passes over data that are on disk.
    tol : float, default=1e-5
        The projectors of all modes together must move by no more than this in a round to rest.
    init : {"ones", "identity"}, default="identity"
        What the first solution sees of the other modes: their sum, or all of them.
    statistics : {"auto", "moments", "samples"}, default="auto"
        Work from class moments, from the samples, or from whichever costs less.
    sample_shape : tuple of K ints or None, default=None
        Fold flat rows of X into tensors of this shape.
    output : {"flat", "tensor"}, default="flat"
        Whether `transform` gives (n, r_1 * ... * r_K) or (n, r_1, ..., r_K).

    Attributes
    ----------
    projections_ : list of K ndarrays of shape (I_k, r_k)
        One projection per mode.
    ranks_ : tuple of K ints
        The ranks that came.
    classes_ : ndarray of shape (C,)
        The labels, sorted.
    mean_ : ndarray of shape (I_1, ..., I_K)
        Mean of all samples.
    captured_ : float
        Share of the total scatter that the projections keep; 1 minus it is lost.
    sample_shape_ : tuple of K ints
        The shape of a sample.
    objective_ : ndarray of shape (n_rounds,)
        The captured scatter after each round.
    n_iter_ : int
        Rounds made.
    converged_ : bool
        Whether the subspaces came to rest.
    moments_ : ClassMoments
        Kept by `partial_fit` and by ``statistics="moments"``.

    References
    ----------
    H. Lu, K. N. Plataniotis, A. N. Venetsanopoulos, "MPCA: multilinear principal component
    analysis of tensor objects", IEEE Transactions on Neural Networks, 2008.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tenfold import MPCA
    >>> images = load_digits().images
    >>> mpca = MPCA(ranks=(6, 6), tol=1e-3).fit(images)
    >>> round(mpca.captured_, 2)
    0.93
    """

    needs_labels = False
    fewest_rounds = 0

    def __init__(
        self,
        ranks: Any = None,
        *,
        max_iter: int = 20,
        tol: float = 1e-5,
        init: str = "identity",
        statistics: str = "auto",
        sample_shape: Any = None,
        output: str = "flat",
    ):
        self.ranks = ranks
        self.max_iter = max_iter
        self.tol = tol
        self.init = init
        self.statistics = statistics
        self.sample_shape = sample_shape
        self.output = output

    @property
    def alternates(self) -> bool:  # type: ignore[override]
        """Whether a mode waits for the solutions of the others."""
        return self.max_iter > 0

    def _solver(self) -> Any:
        return leading_eigenvectors

    def _ranks(self) -> tuple[int, ...]:
        """The ranks asked for; a share counts as the whole mode until statistics are there."""
        shape = self._shape()
        ranks, shares = check.ranks_and_shares(self.ranks, len(shape))
        ranks = check.check_ranks(ranks, shape, self._default_ranks(shape))
        return tuple(size if k in shares else ranks[k] for k, size in enumerate(shape))

    def _models(self, statistics: ClassStatistics) -> Models:
        models = super()._models(statistics)
        _, shares = check.ranks_and_shares(self.ranks, len(statistics.shape))
        ranks = models.ranks.copy()
        for mode, share in shares.items():
            ranks[0, mode] = rank_of_share(statistics, mode, share)
        return replace(models, ranks=ranks)

    def _criterion(self, statistics: ClassStatistics, models: Models) -> Criterion:
        n = len(models.ranks)
        zeros = np.zeros(n, dtype=int)
        return Criterion(statistics.shape, statistics.total(), None, zeros, np.ones(n))

    def _take(
        self, statistics: ClassStatistics, models: Models, found: Alternation, rows: Array
    ) -> None:
        super()._take(statistics, models, found, rows)
        self.mean_ = statistics.full_means[0]
        everything = float(statistics.traces(np.zeros(1, dtype=int))[0])
        self.captured_ = float(self.objective_[-1]) / everything if everything > 0 else 1.0

    def _centre(self) -> Array | None:
        return self.mean_


def rank_of_share(statistics: ClassStatistics, mode: int, share: float) -> int:
    """The fewest dimensions of a mode that keep a share of its scatter, no mode projected."""
    whole = [np.eye(size)[None] for size in statistics.shape]
    scatter = statistics.total().along(mode, whole, np.zeros(1, dtype=int))[0]
    kept = np.cumsum(eigvalsh(scatter)[::-1].clip(0))
    enough = kept >= (share - 1e-12) * kept[-1]  # rounding must not ask for one more
    return int(np.argmax(enough)) + 1
