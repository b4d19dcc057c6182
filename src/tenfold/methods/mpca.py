"""Multilinear principal component analysis."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Annotated, ClassVar

import numpy as np

from tenfold.linalg.algebra import Array
from tenfold.linalg.solvers import leading_eigenvectors
from tenfold.methods.base import Model, Shape, TensorProjector
from tenfold.optimization.alternation import Recipe, Solution
from tenfold.optimization.criteria import Problem, total
from tenfold.serialization.values import Axes
from tenfold.statistics.class_statistics import ClassStatistics
from tenfold.validation.parameter_types import InitName
from tenfold.validation.parameters import Number


@dataclass(frozen=True, eq=False, kw_only=True)
class MPCAModel(Model):
    """A model of all samples: their mean, and the share of their scatter that is kept."""

    mean: Annotated[Array, Axes("point")]
    captured: float


@dataclass(eq=False, repr=False, kw_only=True)
class MPCA(TensorProjector):
    """Multilinear principal component analysis: keep as much scatter as the ranks allow.

    It maximises the scatter of the projected samples about their mean, one mode at a time.
    On vectors it is PCA. Samples are centred before they are projected. Labels are not used.

    Parameters
    ----------
    ranks : int, float, tuple of K ints or floats, or None, default=None
        Dimensions kept in each mode; one number serves all modes. A float such as 0.95 is a
        share: the fewest dimensions that keep so much of the total scatter of the mode. None takes
        the square root of each size, rounded up, and the whole of modes of up to 3 entries.
    sample_shape : tuple of K ints or None, default=None
        Fold flat rows of X into tensors of this shape.
    output : {"flat", "tensor"}, default="flat"
        Whether `transform` gives (n, r_1 * ... * r_K) or (n, r_1, ..., r_K).
    max_iter : int, default=100
        Rounds at most. With 0 every mode is solved once, on its own, from whole samples: nearly
        as good when almost all scatter is kept, and fewer passes over data that are on disk.
    tol : float, default=1e-3
        Stop when the objective changes by no more than this share in a round, or has not risen
        for three rounds. With 0 all rounds are made.
    init : {"ones", "identity"}, default="identity"
        The starting projections: columns of ones, or the identity.

    Attributes
    ----------
    projections_ : list of K ndarrays of shape (I_k, r_k)
        One projection per mode.
    patterns_ : list of K ndarrays of shape (I_k, r_k)
        What each column stands for in the samples: the covariance along the mode times the
        column, over the variance of its score. A projection says how to find something, a pattern
        what is found. Empty in a bank or verifier, and where a store is read in passes.
    ranks_ : tuple of K ints
        The ranks used: fewer than asked for when a mode has fewer useful directions.
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
        Whether the objective converged within `max_iter` rounds.
    moments_ : ClassMoments
        Kept by `partial_fit` and `fit_moments`, and by `fit` where they take no more than 64 KiB.

    References
    ----------
    H. Lu, K. N. Plataniotis, A. N. Venetsanopoulos, "MPCA: multilinear principal component
    analysis of tensor objects", IEEE Transactions on Neural Networks, 2008.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tenfold import MPCA
    >>> images = load_digits().images
    >>> mpca = MPCA(ranks=(6, 6)).fit(images)
    >>> round(mpca.captured_, 2)
    0.93
    """

    max_iter: int = 100
    tol: float = 1e-3
    init: InitName = "identity"

    mean_: Array = field(init=False)
    captured_: float = field(init=False)

    _value = MPCAModel
    _needs_labels = False
    _allowed: ClassVar = {"max_iter": (Number(0, whole=True),)}  # with 0 every mode is solved once

    @property
    def _alternates(self) -> bool:  # type: ignore[override]
        """Whether a mode waits for the solutions of the others."""
        return self.max_iter > 0

    def _recipe(self) -> Recipe:
        """How it is solved: there is only one scatter."""
        return replace(super()._recipe(), solver=leading_eigenvectors)

    def _problem(self, statistics: ClassStatistics) -> Problem:
        """As much of the scatter as the ranks allow."""
        return total(statistics, **self._settings(statistics))

    def _model(
        self, statistics: ClassStatistics, solution: Solution, numbers: Array, shape: Shape
    ) -> MPCAModel:
        """What was learned of samples of this shape: the solution with this number in a stack."""
        own = super()._model(statistics, solution, numbers, shape)
        everything = float(statistics.traces[0])
        captured = float(own.objective[-1])
        share = captured / everything if everything > 0 else 1.0
        return MPCAModel(**vars(own), mean=statistics.given.means[0], captured=share)

    def _centre(self) -> Array | None:
        """What is subtracted before projecting: the mean of all samples."""
        return np.asarray(self.mean_)
