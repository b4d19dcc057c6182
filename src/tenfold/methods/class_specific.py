"""Class-specific projectors: one class of interest against everything else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score
from sklearn.utils.validation import check_is_fitted

from tenfold.mathematics.algebra import Array
from tenfold.mathematics.alternation import Alternation
from tenfold.mathematics.criteria import Criterion
from tenfold.mathematics.moments import ClassMoments, ClassStatistics
from tenfold.mathematics.scatter import Scatter
from tenfold.mathematics.stores import over_blocks
from tenfold.methods.base import TensorProjector
from tenfold.methods.distances import OfBlock, minus_distances
from tenfold.methods.learning import Models
from tenfold.validation import samples as check


class ClassSpecificProjector(TensorProjector):
    """Base of the methods that learn one class against everything else.

    Attributes beside those of every method: `mean_`, the mean of the positive class.
    """

    positive: Any = None
    shrinkage: Any = 0.0

    def decision_function(self, X: Any) -> Array:
        """Minus the distance to the positive mean in the subspace.

        It ranks samples as the paper's similarity 1 / distance does, and is finite everywhere.

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
            The samples.

        Returns
        -------
        array of shape (n,)
            The larger, the more like the positive class; 0 at its mean. A Dask array gives a
            lazy one.
        """
        check_is_fitted(self, "projections_")
        return self._scores(check.check_samples(self, X, reset=False))

    def _scores(self, X: Array) -> Array:
        """`decision_function` of samples that are checked already."""
        return over_blocks(X, self._scoring())

    def _scoring(self) -> OfBlock:
        """What gives scores of samples in memory, and can be sent to other processes."""
        return partial(minus_distances, projections=self.projections_, mean=self.mean_)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Average precision of `decision_function` at finding the positive class.

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
            The samples.
        y : array-like of shape (n,)
            Their labels.
        sample_weight : array-like of shape (n,), default=None
            Sample weights.

        Returns
        -------
        float
            Between 0 and 1.
        """
        scores = np.asarray(self.decision_function(X))
        labels, positive = check.check_labels(self, scores, y), self.classes_[self._positive()]
        check.check_same_kind(labels, self.classes_)
        is_positive = labels == positive
        if not is_positive.any():
            raise ValueError(
                f"there is no sample of the positive class {check.plain(positive)!r} to score; "
                "average precision needs at least one"
            )
        return float(average_precision_score(is_positive, scores, sample_weight=sample_weight))

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check.check_shrinkage(self.shrinkage)

    def _ranks(self) -> tuple[int, ...]:
        """The ranks of the positive class when `ranks` maps labels to ranks."""
        if not isinstance(self.ranks, Mapping):
            return super()._ranks()
        shape, label = self._shape(), self.classes_[self._positive()]
        own = check.ranks_of_class(self.ranks, label)
        return check.check_ranks(own, shape, self._default_ranks(shape))

    def _positive(self) -> int:
        return check.check_positive(self.positive, self.classes_)

    def _models(self, statistics: ClassStatistics) -> Models:
        one = super()._models(statistics)
        positives = np.array([self._positive()])
        shrinkage = shrinkage_of(self.shrinkage, statistics, positives)
        return replace(one, positives=positives, shrinkage=shrinkage)

    def _criterion(self, statistics: ClassStatistics, models: Models) -> Criterion:
        return class_specific(statistics, models)

    def _take(
        self, statistics: ClassStatistics, models: Models, found: Alternation, rows: Array
    ) -> None:
        super()._take(statistics, models, found, rows)
        self.mean_ = statistics.full_means[self._positive()].reshape(self.sample_shape_)

    def _is_learnable(self, moments: ClassMoments) -> bool:
        return super()._is_learnable(moments) and moments.counts[self._positive()] > 0


def class_specific(statistics: ClassStatistics, models: Models) -> Criterion:
    """Keep everything else far from the positive mean, and the positive class tight around it."""
    classes, owners = np.unique(models.positives, return_inverse=True)
    share = statistics.counts[models.positives] / statistics.count
    inside = statistics.in_class(classes)  # S_I, eq. 18
    about = statistics.total() + statistics.displacement(classes)  # all samples about M_p
    outside = about - inside  # S_O, eq. 17
    if models.shrinkage.any():
        pooled = statistics.within() * (models.shrinkage * share)
        inside = inside * (1 - models.shrinkage) + pooled
    return Criterion(
        statistics.shape, outside, inside, owners, share, full_shape=statistics.full_shape
    )


def shrinkage_of(shrinkage: Any, statistics: ClassStatistics, positives: Array) -> Array:
    """The shrinkage of each model, a number or the closed form for "auto"."""
    if shrinkage == "auto":
        return automatic_shrinkage(statistics, positives)
    return np.full(len(positives), float(shrinkage))


def automatic_shrinkage(statistics: ClassStatistics, positives: Array) -> Array:
    """The shrinkage that least misses the true covariance, if samples were Gaussian.

    For the covariance S of n samples and a target T the squared error is least at
    ``E||S - Sigma||^2 / E||S - T||^2``. For Gaussian samples the numerator is
    ``(tr(S)^2 + tr(S^2)) / n``, and the denominator is observed. A single sample gives 1. Weights
    are counts: n is their sum.
    """
    n, N = statistics.counts[positives], statistics.count
    own, cross, pooled = statistics.covariance_products(positives)
    trace = statistics.traces(positives)
    noise = (trace**2 + own) / n**3
    distance = own / n**2 - 2 * cross / (n * N) + pooled / N**2
    share = np.divide(noise, distance, out=np.ones_like(noise), where=distance > 0)
    return np.where(n > 1, np.clip(share, 0.0, 1.0), 1.0)


def in_class_spreads(
    statistics: ClassStatistics, found: Alternation, rows: Array, shrinkage: Array
) -> Array:
    """Root mean square distance of each class from its mean in its own subspace, (C,).

    With shrinkage the mean square is mixed with that of all classes about their means, as the
    in-class scatter was. A class that is a single point takes the latter alone.
    """
    factors = [W[rows] for W in found.projections]
    classes, mode = np.arange(len(rows)), len(factors) - 1

    def mean_square(scatter: Scatter, n: Array | float) -> Array:
        S = scatter.along(mode, factors, classes)
        return np.asarray(np.einsum("mir,mir->m", factors[mode], S @ factors[mode]) / n)

    own = mean_square(statistics.in_class(classes), statistics.counts)
    if not shrinkage.any() and (own > 1e-9 * own.max()).all():
        return np.sqrt(own)
    pooled = mean_square(statistics.within(), statistics.count)
    mixed = (1 - shrinkage) * own + shrinkage * pooled
    point = mixed <= 1e-12 * pooled
    return np.asarray(np.sqrt(np.where(point, np.where(pooled > 0, pooled, 1.0), mixed)))
