"""How every estimator learns: from one batch, from many, or as part of a stack.

`fit` makes statistics of the samples, `partial_fit` adds to those it has, and both then solve the
models that the parameters describe. Nothing is changed until all of it has worked.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, fields, replace
from math import prod
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from tenfold.mathematics.algebra import Array
from tenfold.mathematics.alternation import Alternation
from tenfold.mathematics.cost import moments_of, statistics_of
from tenfold.mathematics.moments import ClassMoments, ClassStatistics
from tenfold.mathematics.sample_statistics import MEMORY_BUDGET, Workload, a_few
from tenfold.methods.saving import Savable
from tenfold.validation import samples as check


@dataclass(frozen=True, eq=False)
class Models:
    """M models to be solved together; every array has one row per model.

    Parameters
    ----------
    ranks : ndarray of shape (M, K)
        Rank of each mode.
    ridge : ndarray of shape (M,)
        Ridge.
    absolute_ridge : ndarray of shape (M,)
        Whether the ridge is absolute.
    positives : ndarray of shape (M,)
        Position of the positive class; not used by methods without one.
    shrinkage : ndarray of shape (M,)
        Shrinkage of the in-class scatter; not used by methods without one.
    """

    ranks: Array
    ridge: Array
    absolute_ridge: Array
    positives: Array
    shrinkage: Array

    def __len__(self) -> int:
        return len(self.ranks)

    @classmethod
    def stacked(cls, parts: list[Models]) -> Models:
        """All models of several stacks, in order."""
        names = [field.name for field in fields(cls)]
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


class Learner(Savable, BaseEstimator):
    """Base of everything that is learned from class statistics.

    A subclass says which models its parameters describe (`_models`), how a stack of them is
    solved (`_solve`) and what it keeps of the solution (`_take`).
    """

    needs_labels = True
    statistics: str = "auto"

    classes_: Array
    sample_shape_: tuple[int, ...]

    # -- what a subclass says ------------------------------------------------------------------

    def _check_parameters(self) -> None:
        raise NotImplementedError

    def _samples(self, X: Array) -> Array:
        raise NotImplementedError

    def _workload(self) -> Workload:
        raise NotImplementedError

    def _models(self, statistics: ClassStatistics) -> Models:
        raise NotImplementedError

    def _solve(self, statistics: ClassStatistics, models: Models) -> Alternation:
        raise NotImplementedError

    def _take(
        self, statistics: ClassStatistics, models: Models, found: Alternation, rows: Array
    ) -> None:
        raise NotImplementedError

    def _warn_unless_converged(self, found: Alternation) -> None:
        raise NotImplementedError

    # -- fitting -------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from one batch.

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
            The samples; with `sample_shape` also flat rows of shape (n, I). A store (a memory
            map, a Zarr array, an HDF5 dataset) is read block by block and never as a whole.
        y : array-like of shape (n,)
            Class labels; MPCA does not look at them.
        sample_weight : array-like of shape (n,), default=None
            Non-negative weights. A weight of 2 is the same as having the sample twice.

        Returns
        -------
        self
            The fitted estimator.
        """
        fitted, X, y, weight = self._prepared(X, y, sample_weight)
        statistics = fitted._statistics(X, y, weight)
        fitted._learn(statistics)
        fitted._remember(statistics, (X, y, weight))
        return self._replace_by(fitted)

    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Add a batch to what was learned: any cut of the data gives the model of one `fit`.

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
            The samples of this batch.
        y : array-like of shape (n,)
            Class labels.
        classes : array-like of shape (C,), default=None
            All labels that will ever come. Only needed in the first call, and only when its
            batch lacks some of them; a later call may repeat them.
        sample_weight : array-like of shape (n,), default=None
            Non-negative weights.

        Returns
        -------
        self
            The updated estimator. After a `fit` that went through the samples, these are read
            again from the array it was given. Until samples of all the classes that it needs
            have come, it gathers moments, and using it raises `NotFittedError`.
        """
        first = not hasattr(self, "sample_shape_")
        if first:
            fitted, X, y, weight = self._prepared(X, y, sample_weight, classes)
        else:
            fitted = copy(self)
            check.check_same_classes(classes, fitted.classes_)
            X, y, weight = fitted._check_batch(X, y, sample_weight, reset=False)
        check.check_known_labels(y, fitted.classes_)
        fitted._check_moments_fit()
        moments = fitted._moments_of(X, y, weight)
        moments = moments if first else self._moments_so_far() + moments
        if fitted._is_learnable(moments):
            fitted._learn(moments)
        fitted.moments_ = moments
        return self._replace_by(fitted)

    def fit_moments(self, moments: ClassMoments) -> Self:
        """Learn from moments that are gathered already; no samples are read.

        Parameters
        ----------
        moments : ClassMoments
            Of all samples, as `gather_moments`, `gather_batches` or ``+`` give them.

        Returns
        -------
        self
            The fitted estimator, with `moments_`.
        """
        self._check_parameters()
        fitted = self._without_learned_state()
        moments = check.check_moments(fitted, moments)
        if self.needs_labels:
            fitted.classes_ = moments.classes
            check.check_classes(fitted.classes_, self)
        else:
            moments = moments.pooled()
            fitted.classes_ = moments.classes
        fitted.moments_ = replace(moments, means=fitted._samples(moments.means))
        fitted._learn(fitted.moments_)
        return self._replace_by(fitted)

    def _prepared(
        self, X: Any, y: Any, sample_weight: Any, classes: Any = None
    ) -> tuple[Self, Array, Array | None, Array | None]:
        """A copy that knows shapes and classes but has learned nothing, and the checked batch."""
        fresh = self._without_learned_state()
        X, y, weight = fresh._check_batch(X, y, sample_weight, reset=True)
        announced = None if classes is None else np.asarray(classes)
        fresh.classes_ = (
            check.present_labels(y, weight) if announced is None else np.unique(announced)
        )
        if self.needs_labels:
            check.check_classes(fresh.classes_, self)
        return fresh, X, y, weight

    def _check_batch(
        self, X: Any, y: Any, sample_weight: Any, reset: bool
    ) -> tuple[Array, Array | None, Array | None]:
        self._check_parameters()
        if self.needs_labels and y is None:
            check.check_labels(self, X, y)
        X = check.check_samples(self, X, reset=reset)
        y = check.check_labels(self, X, y) if self.needs_labels else None
        return X, y, check.check_weights(X, sample_weight)

    def _statistics(self, X: Array, y: Array | None, weight: Array | None) -> ClassStatistics:
        classes, work = self._moment_classes(), self._workload()
        return statistics_of(self._samples(X), y, weight, classes, self.statistics, work)

    def _learn(self, statistics: ClassStatistics) -> None:
        """Solve the models that the parameters describe, and keep what was learned."""
        models = self._models(statistics)
        found = self._solve(statistics, models)
        self._take(statistics, models, found, np.arange(len(models)))
        self._warn_unless_converged(found)

    # -- moments -------------------------------------------------------------------------------

    def _moment_classes(self) -> Array:
        return self.classes_ if self.needs_labels else np.zeros(1, dtype=np.intp)

    def _moments_of(self, X: Array, y: Array | None, weight: Array | None) -> ClassMoments:
        return moments_of(self._samples(X), y, weight, self._moment_classes())

    def _remember(self, statistics: ClassStatistics, batch: tuple[Any, Any, Any]) -> None:
        """Keep what `partial_fit` would add to, for good or until the estimator is saved."""
        by_moments = isinstance(statistics, ClassMoments)
        if self.statistics == "moments":
            self.moments_ = statistics
        else:
            self._last_fit = statistics if by_moments else (batch, a_few(batch[0]))

    def _moments_so_far(self) -> ClassMoments:
        """The moments of all samples that this estimator has seen."""
        if hasattr(self, "moments_"):
            return self.moments_
        if not hasattr(self, "_last_fit"):
            raise ValueError(
                f"this {type(self).__name__} was saved or copied without the moments of the "
                "samples it was fitted on, so partial_fit cannot add to it; fit with "
                "statistics='moments', or start with partial_fit, to keep them"
            )
        if isinstance(self._last_fit, ClassMoments):
            return self._last_fit
        batch, was = self._last_fit
        if not np.array_equal(a_few(batch[0]), was):
            raise ValueError(
                "the array that fit was given holds other numbers now, so partial_fit cannot add "
                "to it; pass fit a copy, fit with statistics='moments', or start with partial_fit"
            )
        return self._moments_of(*batch)

    def _is_learnable(self, moments: ClassMoments) -> bool:
        return not self.needs_labels or int((moments.counts > 0).sum()) > 1

    def _check_moments_fit(self) -> None:
        size, n_classes = prod(self.sample_shape_), len(self.classes_)
        needed = 8 * n_classes * size**2
        if needed > MEMORY_BUDGET:
            raise ValueError(
                f"moments of {n_classes} classes of samples with {size} numbers need "
                f"{needed / 2**30:.1f} GiB, more than the budget of "
                f"{MEMORY_BUDGET / 2**30:.0f} GiB; make the samples smaller first (MPCA), or use "
                "fit with statistics='samples'"
            )

    # -- state ---------------------------------------------------------------------------------

    def _without_learned_state(self) -> Self:
        bare = copy(self)
        bare.__dict__ = {
            name: value
            for name, value in vars(self).items()
            if not name.endswith("_") and name != "_last_fit"
        }
        return bare

    def _replace_by(self, fitted: Self) -> Self:
        self.__dict__ = fitted.__dict__
        return self

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        state.pop("_last_fit", None)  # a saved model is small; moments_ are there when asked for
        return state
