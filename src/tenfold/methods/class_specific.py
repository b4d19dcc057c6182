"""Class-specific projectors: one class of interest against everything else."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from math import prod
from typing import Any, ClassVar

import numpy as np
from sklearn.metrics import average_precision_score

from tenfold.mathematics.accumulate import check_same_kind, row_blocks
from tenfold.mathematics.algebra import Array, to_numpy
from tenfold.mathematics.alternation import Solution, padded
from tenfold.mathematics.criteria import (
    Problem,
    automatic_shrinkage,
    class_specific,
    class_spreads,
    in_class_spreads,
    lowered,
    mean_square,
    out_class_spreads,
)
from tenfold.mathematics.likelihood_ratio import log_ratios, two_gaussians
from tenfold.mathematics.moments import ClassMoments, ClassStatistics, weighted_mean
from tenfold.mathematics.stores import OfBlock, over_blocks
from tenfold.mathematics.subspace import minus_distances, projected
from tenfold.methods.base import ClassModel, RatioModel, Shape, TensorProjector
from tenfold.validation import parameters
from tenfold.validation import samples as check
from tenfold.validation.samples import in_numpy


class ClassSpecificProjector(TensorProjector):
    """Base of the methods that learn one class against everything else.

    It adds two learned attributes to those of every method: `mean_`, the mean of the positive
    class, and `positive_index_`, its position among `classes_`. A later
    `set_params(positive=...)` is for the next `fit` and changes neither.
    """

    positive: Any = None
    shrinkage: Any = 0.5
    decision: str = "distance"
    out_class: Any = "samples"

    _value: type = ClassModel
    _allowed: ClassVar = {
        "shrinkage": ("auto", parameters.Number(0, 1)),
        "decision": ("likelihood_ratio", "distance"),
        "out_class": ("samples", "means", None),
    }

    # -- what is learned -------------------------------------------------------------------------

    def _problem(self, statistics: ClassStatistics, shift: float = 0.0) -> Problem:
        """Everything else far from the positive mean, or a point behind it, the class tight."""
        p, shrinkages = self._positive_in(statistics.classes), self._shrinkage_in(statistics)
        settings = self._settings(statistics) | {"out_class": self._scatter(), "shift": shift}
        return class_specific(statistics, p, shrinkages, **settings)

    def _scatter(self) -> str:
        """The out-class scatter that was asked for, or the one that goes with the decision."""
        if self.out_class is not None:
            return str(self.out_class)
        return "means" if self.decision == "likelihood_ratio" else "samples"

    def _model(
        self, statistics: ClassStatistics, solution: Solution, models: Array, shape: Shape
    ) -> ClassModel:
        """What was learned of samples of this shape: the solution with this number in a stack."""
        (found,) = self._decided([self._subspace(statistics, solution, models, shape)], statistics)
        return found

    def _decided(
        self, models: Sequence[ClassModel], statistics: ClassStatistics
    ) -> list[ClassModel]:
        """The models of some classes with what decides in their subspaces."""
        if not issubclass(self._value, RatioModel):
            return list(models)
        noises = noises_in(models, statistics) if self.decision == "likelihood_ratio" else models
        return [
            self._value(**vars(model), **_ratio_of(model, statistics, noise, self.decision))
            for model, noise in zip(models, noises, strict=True)
        ]

    def _subspace(
        self, statistics: ClassStatistics, solution: Solution, models: Array, shape: Shape
    ) -> ClassModel:
        """The solution with this number in a stack, before anything is decided in it."""
        p = self._positive_in(statistics.classes)
        own = {"mean": statistics.full_means[p].reshape(shape), "positive_index": p}
        return ClassModel.of(statistics, solution, int(models[0]), **own)

    def _completed(
        self,
        members: Sequence[ClassSpecificProjector],
        statistics: ClassStatistics,
        solution: Solution,
        models: Array,
    ) -> tuple[Solution, Array]:
        """What is left to solve for members of a bank together: a solution, and their numbers."""
        return solution, models

    def _warn_of_guesses(self, classes: Array) -> None:
        """Say which class is the positive one, where nobody named one of several."""
        if self.positive is None and len(classes) > 2:
            taken = parameters.plain(classes[self._positive_in(classes)])
            warnings.warn(
                f"positive is None, so {type(self).__name__} takes {taken!r}, the last of "
                f"{len(classes)} classes, for the positive one; pass positive={taken!r} or another "
                "label, or learn all classes with ClassSpecificClassifier",
                UserWarning,
                stacklevel=4,
            )

    def _asked_ranks(self, classes: Array) -> Any:
        """The ranks of the positive class when `ranks` maps labels to ranks."""
        if not isinstance(self.ranks, Mapping):
            return self.ranks
        return parameters.ranks_of_class(self.ranks, classes[self._positive_in(classes)])

    def _is_learnable(self, moments: ClassMoments) -> bool:
        """Whether the moments hold samples of all the classes that it needs."""
        positives = moments.counts[self._positive_in(moments.classes)]
        return super()._is_learnable(moments) and bool(positives > 0)

    def _positive_in(self, classes: Array) -> int:
        """The position of the positive class among the classes."""
        return parameters.check_positive(self.positive, classes)

    def _shrinkage_in(self, statistics: ClassStatistics) -> Array:
        """The shrinkage of every class: the number asked for, or the closed form for "auto"."""
        if self.shrinkage == "auto":
            return automatic_shrinkage(statistics)
        return np.full(len(statistics.classes), float(self.shrinkage))

    # -- how it is used --------------------------------------------------------------------------

    def decision_function(self, X: Any) -> Array:
        """The log likelihood ratio of the class and everything else, or minus the distance.

        With ``decision="distance"`` and in methods without that parameter, minus the distance to
        the positive mean in the subspace: the order is that of the paper's similarity 1 / distance,
        without its division by zero.

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
            The samples.

        Returns
        -------
        array of shape (n,)
            The larger, the more like the positive class. A likelihood ratio is above 0 where the
            class explains a sample better than everything else does; minus a distance is 0 at
            the mean. A Dask array gives a lazy one.
        """
        check.check_fitted(self, "projections_")
        return over_blocks(check.check_samples(self, X), self._scoring())

    def _scoring(self) -> OfBlock:
        """What gives scores of samples in memory, and can be sent to other processes."""
        if not self._has_ratio:
            work = partial(minus_distances, projections=self.projections_, mean=self.mean_)
            return self._on_samples(work)
        centre = self.other_mean_
        work = partial(log_ratios, projections=self.projections_, centre=centre)
        return self._on_samples(partial(work, contrasts=self.contrasts_, offset=self.offset_))

    @property
    def _has_ratio(self) -> bool:
        """Whether it learned a likelihood ratio, whatever `decision` says by now."""
        return getattr(self, "contrasts_", np.empty((0, 0))).shape[1] > 0

    @property
    def _is_one_solution(self) -> bool:
        """Whether the solution of one problem gives the subspace, to the last digits."""
        return True

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
        scores = to_numpy(self.decision_function(X))
        labels, positive = check.check_labels(self, scores, y), self.positive_label_
        check_same_kind(labels, self.classes_)
        is_positive = labels == positive
        if not is_positive.any():
            raise ValueError(
                f"there is no sample of the positive class {parameters.plain(positive)!r} to "
                "score; average precision needs at least one"
            )
        weight = in_numpy(sample_weight, "sample_weight")
        return float(average_precision_score(is_positive, scores, sample_weight=weight))

    @property
    def positive_label_(self) -> Any:
        """The label of the class that was learned."""
        check.check_fitted(self, "projections_")
        return self.classes_[self.positive_index_]


def spreads_of(
    method: ClassSpecificProjector,
    models: Sequence[ClassModel],
    statistics: ClassStatistics,
    solution: Solution,
    numbers: Array,
) -> tuple[Array, Array]:
    """Root mean square distances of each class, and of all else, from the mean of each model.

    They come with the solution, where that keeps all other samples away from the class mean.

    Parameters
    ----------
    method : ClassSpecificProjector
        What the models have in common; they differ in their class alone.
    models : sequence of M ClassModels
        What was learned.
    statistics : ClassStatistics
        Of the samples.
    solution : Solution
        What the models were made of.
    numbers : ndarray of shape (M,)
        Their numbers in it.

    Returns
    -------
    two ndarrays of shape (M,)
        Of the class of each model, and of all other samples.
    """
    positives = np.array([model.positive_index for model in models])
    if method._is_one_solution and method._scatter() == "samples":
        return in_class_spreads(
            statistics,
            solution.suppressed[numbers],
            positives,
            lambda: [W[numbers] for W in solution.projections],
        ), out_class_spreads(statistics, solution.kept[numbers], positives)
    shrinkage = method._shrinkage_in(statistics)[positives]
    shifts = np.array([getattr(model, "shift", 0.0) for model in models])
    one = max(statistics.shape) ** 2 + sum(W.size for W in models[0].projections)
    found = []
    for rows in row_blocks(len(models), 4 * 8 * one):
        modes = zip(*(model.projections for model in models[rows]), strict=True)
        seen = lowered(statistics, [side_by_side(W) for W in modes])
        found.append(
            class_spreads(statistics, seen, positives[rows], shrinkage[rows], shifts[rows])
        )
    own, others = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return own, others


def noises_in(models: Sequence[ClassModel], statistics: ClassStatistics) -> Array:
    """The mean variance (M,) of samples about the means of their classes, in each subspace."""
    free = float(np.maximum(statistics.counts - 1, 0.0).sum()) or statistics.count
    one = max(statistics.shape) ** 2 + sum(W.size for W in models[0].projections)
    found = []
    for rows in row_blocks(len(models), 4 * 8 * one):
        modes = zip(*(model.projections for model in models[rows]), strict=True)
        seen = lowered(statistics, [side_by_side(W) for W in modes])
        found.append(mean_square(statistics.within(), seen, free))
    return np.concatenate(found) / [prod(model.ranks) for model in models]


def _ratio_of(
    model: ClassModel, statistics: ClassStatistics, noise: float, decision: str
) -> dict[str, Any]:
    """The fields of a `RatioModel` that a model lacks."""
    means, counts = statistics.full_means, statistics.counts
    own = means[model.positive_index]
    centre, n = weighted_mean(means, counts), counts[model.positive_index]
    other_mean = centre + n / (statistics.count - n) * (centre - own)
    fields = {"other_mean": other_mean.reshape(model.mean.shape)}
    if decision == "distance":
        none = np.empty((prod(model.ranks), 0))
        return fields | {"contrasts": none, "offset": 0.0, "anchors": np.zeros(2)}
    Z = projected(means, model.projections, other_mean, flat=True)
    return fields | two_gaussians(Z, counts, model.positive_index, float(noise))._asdict()


def side_by_side(projections: Sequence[Array]) -> Array:
    """Projections (I_k, r) of M models as one stack, columns of zeros added to the narrow ones."""
    widest = max(W.shape[1] for W in projections)
    return np.concatenate([padded(W[None], widest) for W in projections])
