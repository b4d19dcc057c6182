"""What all methods share: fit, partial_fit, transform and their way back."""

from __future__ import annotations

import warnings
from copy import copy
from dataclasses import dataclass
from math import ceil, prod, sqrt
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from tenfold import validation as check
from tenfold.algebra import Array
from tenfold.alternating import Alternation, alternate
from tenfold.criterion import Criterion, Recipe
from tenfold.moments import ClassMoments, ClassStatistics
from tenfold.projection import Projection
from tenfold.samples import MEMORY_BUDGET, Workload, statistics_of
from tenfold.solvers import SOLVERS
from tenfold.threads import over_threads


@dataclass(frozen=True, eq=False)
class Models:
    """M models to be solved together; each array has one row per model.

    Parameters
    ----------
    ranks : ndarray of shape (M, K)
        Rank of each mode.
    ridge : ndarray of shape (M,)
        Ridge, relative or absolute.
    positives : ndarray of shape (M,)
        Position of the positive class; not used by methods without one.
    shrinkage : ndarray of shape (M,)
        Shrinkage of the in-class scatter; not used by methods without one.
    absolute_ridge : bool
        Whether the ridges are absolute.
    """

    ranks: Array
    ridge: Array
    positives: Array
    shrinkage: Array
    absolute_ridge: bool = False


class TensorProjector(Projection):
    """Base of all methods: one projection matrix per mode, learned from class statistics.

    A method says which scatters it maximises and minimises in `_criterion`; everything else
    is here and in `Projection`.
    """

    alternates = True  # whether a mode waits for the solutions of the others

    solver: Any = "ratio_trace"
    orthonormal: bool = True
    ridge: Any = 0.0
    max_iter: int = 20
    tol: float = 1e-5
    init: str = "identity"
    statistics: str = "auto"

    # -- what a method says ----------------------------------------------------------------

    def _criterion(self, statistics: ClassStatistics, models: Models) -> Criterion:
        raise NotImplementedError(f"{type(self).__name__} must say what it maximises")

    def _default_ranks(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The square root of each size, rounded up: 7 x 6 for images of 40 x 30."""
        return tuple(ceil(sqrt(size)) for size in shape)

    def _solver(self) -> Any:
        return SOLVERS[check.check_option("solver", self.solver, list(SOLVERS))]

    # -- fitting -----------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> TensorProjector:
        """Learn one projection per mode.

        Parameters
        ----------
        X : array-like of shape (n, I_1, ..., I_K)
            The samples; with `sample_shape` also flat rows of shape (n, I).
        y : array-like of shape (n,)
            Class labels; MPCA does not look at them.
        sample_weight : array-like of shape (n,), default=None
            Non-negative weights. A weight of 2 is the same as having the sample twice.

        Returns
        -------
        self
            The fitted estimator.
        """
        return self._replace_by(self._fitted(X, y, sample_weight))

    def _fitted(self, X: Any, y: Any, sample_weight: Any) -> TensorProjector:
        """A fitted copy, so that nothing is half changed when something is wrong."""
        fitted = self._without_learned_state()
        X, y, weight = fitted._check_batch(X, y, sample_weight, reset=True)
        fitted.classes_ = check.present_labels(y, weight)
        statistics = fitted._statistics(X, y, weight)
        fitted._learn(statistics)
        if self.statistics == "moments":
            fitted.moments_ = statistics
        else:
            fitted._last_fit = (
                statistics if isinstance(statistics, ClassMoments) else (X, y, weight)
            )
        return fitted

    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> TensorProjector:
        """Add a batch to what was learned: any cut of the data gives the model of one `fit`.

        Parameters
        ----------
        X : array-like of shape (n, I_1, ..., I_K)
            The samples of this batch.
        y : array-like of shape (n,)
            Class labels.
        classes : array-like of shape (C,), default=None
            All labels that will ever come. Only needed in the first call, and only when its
            batch lacks some of them.
        sample_weight : array-like of shape (n,), default=None
            Non-negative weights.

        Returns
        -------
        self
            The updated estimator. Until samples of all the classes that the method needs have
            come, it gathers moments and `transform` raises `NotFittedError`.
        """
        return self._replace_by(self._continued(X, y, classes, sample_weight))

    def _continued(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> TensorProjector:
        first = not hasattr(self, "sample_shape_")
        fitted = self._without_learned_state() if first else copy(self)
        X, y, weight = fitted._check_batch(X, y, sample_weight, reset=first)
        if first:
            fitted.classes_ = check.present_labels(
                y if classes is None else np.asarray(classes), None
            )
        check.check_known_labels(y, fitted.classes_)
        fitted._check_moments_fit()
        moments = ClassMoments.from_batch(
            fitted._samples(X), y, weight, classes=fitted._moment_classes()
        )
        moments = moments if first else self._moments_so_far() + moments
        if fitted._is_learnable(moments):
            fitted._learn(moments)
        fitted.moments_ = moments
        return fitted

    def _moments_so_far(self) -> ClassMoments:
        """The moments of all samples that this model has seen."""
        if hasattr(self, "moments_"):
            return self.moments_
        if not hasattr(self, "_last_fit"):
            raise ValueError(
                f"this {type(self).__name__} was saved without the moments of the samples it was "
                "fitted on, so partial_fit cannot add to it; fit with statistics='moments', or "
                "start with partial_fit, to save them too"
            )
        if isinstance(self._last_fit, ClassMoments):
            return self._last_fit
        X, y, weight = self._last_fit
        return ClassMoments.from_batch(self._samples(X), y, weight, classes=self._moment_classes())

    def _check_batch(
        self, X: Any, y: Any, sample_weight: Any, reset: bool
    ) -> tuple[Array, Array | None, Array | None]:
        check.check_number("max_iter", self.max_iter, 1, integer=True)
        check.check_number("tol", self.tol, 0)
        check.check_option("statistics", self.statistics, ("auto", "moments", "samples"))
        check.check_option("output", self.output, ("flat", "tensor"))
        check.check_option("init", self.init, ("ones", "identity"))
        if self.needs_labels and y is None:
            check.check_labels(self, X, y)
        X = check.check_samples(self, X, reset=reset)
        y = check.check_labels(self, X, y) if self.needs_labels else None
        return X, y, check.check_weights(X, sample_weight)

    def _statistics(self, X: Array, y: Array | None, weight: Array | None) -> ClassStatistics:
        if self.needs_labels:
            check.check_classes(self.classes_, self)
        ranks = self._ranks()
        work = Workload(1, self.max_iter if len(ranks) > 1 else 1, ranks)
        kind = self.statistics
        return statistics_of(self._samples(X), y, weight, self._moment_classes(), kind, work)

    def _learn(self, statistics: ClassStatistics) -> None:
        """Solve the one model that the parameters describe, and keep what was learned."""
        found = self._solve(statistics, self._models(statistics))
        self._keep(statistics, found, 0)
        self._warn_unless_converged(found)

    def _models(self, statistics: ClassStatistics) -> Models:
        ridge, absolute = check.check_ridge(self.ridge)
        ranks = np.minimum(self._ranks(), statistics.shape)
        return Models(ranks[None], np.array([ridge]), np.zeros(1, int), np.zeros(1), absolute)

    def _solve(self, statistics: ClassStatistics, models: Models) -> Alternation:
        recipe = Recipe(
            solver=self._solver(),
            orthonormal=self.orthonormal,
            ridge=models.ridge,
            absolute_ridge=models.absolute_ridge,
            init=self.init,
            direct=not self.alternates,
            max_iter=self.max_iter,
            tol=self.tol,
        )
        return alternate(self._criterion(statistics, models), models.ranks, recipe, over_threads)

    def _keep(self, statistics: ClassStatistics, found: Alternation, m: int) -> None:
        """Store model m of a solved stack."""
        filled = [int(W[m].any(axis=0).sum()) for W in found.projections]
        own = [W[m, :, :rank] for W, rank in zip(found.projections, filled, strict=True)]
        self.projections_ = statistics.lift(own)
        self.ranks_ = tuple(filled)
        self.objective_ = found.objective[m, : found.n_iter[m]]
        self.n_iter_ = int(found.n_iter[m])
        self.converged_ = bool(found.converged[m])

    def _warn_unless_converged(self, found: Alternation) -> None:
        n, late = len(found.converged), int((~found.converged).sum())
        if late:
            who = type(self).__name__ if n == 1 else f"{late} of {n} {type(self).__name__} models"
            warnings.warn(
                f"{who} still moved by more than tol={self.tol:g} in round {self.max_iter}; "
                "raise max_iter for subspaces that rest, or tol to accept these",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _is_learnable(self, moments: ClassMoments) -> bool:
        if not self.needs_labels:
            return True
        check.check_classes(self.classes_, self)
        return int((moments.counts > 0).sum()) > 1

    # -- shapes ------------------------------------------------------------------------------

    def _shape(self) -> tuple[int, ...]:
        return (prod(self.sample_shape_),) if self.flattens else self.sample_shape_

    def _ranks(self) -> tuple[int, ...]:
        shape = self._shape()
        return check.check_ranks(self.ranks, shape, self._default_ranks(shape))

    def _moment_classes(self) -> Array:
        return self.classes_ if self.needs_labels else np.zeros(1, dtype=np.intp)

    def _check_moments_fit(self) -> None:
        needed = 8 * len(self.classes_) * prod(self.sample_shape_) ** 2
        if needed > MEMORY_BUDGET:
            raise ValueError(
                f"moments of {len(self.classes_)} classes of samples with "
                f"{prod(self.sample_shape_)} numbers need {needed / 2**30:.1f} GiB, more than the "
                f"budget of {MEMORY_BUDGET / 2**30:.0f} GiB; make the samples smaller first "
                "(MPCA), or use fit with statistics='samples'"
            )

    # -- state -------------------------------------------------------------------------------

    def _without_learned_state(self) -> TensorProjector:
        bare = copy(self)
        bare.__dict__ = {
            name: value
            for name, value in vars(self).items()
            if not name.endswith("_") and name != "_last_fit"
        }
        return bare

    def _replace_by(self, fitted: TensorProjector) -> TensorProjector:
        self.__dict__ = fitted.__dict__
        return self

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        state.pop("_last_fit", None)  # a saved model is small; moments_ are there when asked for
        return state
