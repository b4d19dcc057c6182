"""The base of the methods that learn one class against everything else, and what they learn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import prod
from typing import Annotated, Any, ClassVar

import numpy as np

from tenfold.linalg.algebra import project
from tenfold.linalg.arrays import Array, to_numpy
from tenfold.methods.base import Model, Shape, TensorProjector
from tenfold.optimization.alternation import Solution, padded
from tenfold.optimization.criteria import (
    Problem,
    automatic_shrinkage,
    class_scatters_in,
    class_specific,
    class_spreads,
    likelihood_ratio_terms,
    projected_trace,
    tight_gaussian,
    to_span,
)
from tenfold.quiet import warn
from tenfold.serialization.values import Axes
from tenfold.statistics.accumulate import row_blocks
from tenfold.statistics.class_statistics import ClassStatistics
from tenfold.statistics.moments import ClassMoments
from tenfold.statistics.stores import OfBlock, over_blocks
from tenfold.statistics.subspace import log_ratios, minus_distances
from tenfold.validation import parameters
from tenfold.validation import samples as check
from tenfold.validation.containers import in_numpy
from tenfold.validation.labels import check_labels, which_are
from tenfold.validation.parameter_types import Label, Negatives, Ridge, Shrinkage, VectorSolverName

SPREAD = 1e-9  # of the largest: a smaller square may be nothing but rounding


@dataclass(frozen=True, eq=False, kw_only=True)
class ClassModel(Model):
    """A model of one class against everything else.

    Where likelihood ratios decide, there are two Gaussians in its subspace: the class and
    everything else. Of a projected sample z, from the mean of the other samples, the log likelihood
    ratio is ``offset + c_0 . z - |C^T z|^2 / 2``; see `likelihood_ratio_terms`.

    Parameters
    ----------
    mean : ndarray of the shape of a sample
        The point from which distances are measured: the mean of the class, or one behind it.
    positive_index : int
        The position of the class among the labels.
    other_mean : ndarray of the shape of a sample
        The mean of all other samples.
    contrasts : ndarray of shape (r_1 * ... * r_K, 1 + q)
        c_0 and the q columns of C; empty where distances decide.
    offset : float
        The log likelihood ratio at the mean of the other samples.
    anchors : ndarray of shape (2,)
        That expected of other samples, and that of a sample as far from one mean as from the
        other, in units of the two Gaussians.
    """

    mean: Annotated[Array, Axes("point")]
    positive_index: int
    other_mean: Annotated[Array, Axes("point")]
    contrasts: Annotated[Array, Axes("features", "columns")] = field(
        default_factory=lambda: np.empty((0, 0))
    )
    offset: float = 0.0
    anchors: Annotated[Array, Axes(2)] = field(default_factory=lambda: np.zeros(2))


@dataclass(eq=False, repr=False, kw_only=True)
class ClassSpecificProjector(TensorProjector):
    """Base of the methods that learn one class against everything else.

    It adds two learned attributes to those of every method: `mean_`, the mean of the positive
    class, and `positive_index_`, its position among `classes_`. A later
    `set_params(positive=...)` is for the next `fit` and changes neither.
    """

    positive: Label = None
    ridge: Ridge = 1e-2
    shrinkage: Shrinkage = 0.5
    orthonormal: bool = False
    solver: VectorSolverName = "ratio_trace"
    negatives: Negatives = "samples"
    decision = "distance"
    # What was learned beside the fields of `Model`: those of `ClassModel`.
    mean_: Array = field(init=False)
    positive_index_: int = field(init=False)
    other_mean_: Array = field(init=False)
    contrasts_: Array = field(init=False)
    offset_: float = field(init=False)
    anchors_: Array = field(init=False)

    _value: ClassVar[type] = ClassModel
    _output_kind = "score"
    _in_words = "a class-specific method such as MCSDA() or CSDA()"
    _allowed: ClassVar = {
        "shrinkage": ("auto", parameters.Number(0, 1)),
        "decision": ("likelihood_ratio", "distance"),
        "negatives": ("samples", "means", "both", None),
    }

    # -- what is learned -------------------------------------------------------------------------

    def _problem(self, statistics: ClassStatistics, shift: float = 0.0) -> Problem:
        """The two scatters: other samples about the positive mean, over the positive samples.

        With a `shift` both are about a point behind the positive mean; see `class_specific`.
        """
        positive = parameters.check_positive(self.positive, statistics.classes)
        negatives = self._kind_of_negatives(statistics.counts)
        # The difference of two class means has rank one, seen through columns of ones.
        two_means = negatives != "samples" and np.count_nonzero(statistics.counts) == 2
        return class_specific(
            statistics,
            positive,
            self._shrinkage_in(statistics),
            negatives=negatives,
            shift=shift,
            whole_start=self.init is None and two_means,
            **self._settings(statistics),
        )

    @property
    def _is_one_solution(self) -> bool:
        """Whether one solution gives the subspace and its spreads; a null space leaves rounding."""
        return self.solver != "null_space"

    def _kind_of_negatives(self, counts: Array) -> str:
        """The parameter `negatives`; if it is None, the choice that goes with the decision.

        At defaults that is "means", not "samples" as in the paper (eq. 17). With two classes there
        is only one other mean, which is not enough for all ranks of a tensor, so it is "both".
        """
        if self.negatives is not None:
            return self.negatives
        if self.decision == "distance":
            return "samples"
        return "both" if np.count_nonzero(counts) == 2 and not self._flattens else "means"

    def _shrinkage_in(self, statistics: ClassStatistics) -> Array:
        """The shrinkage of every class: the number asked for, or the closed form for "auto"."""
        if self.shrinkage == "auto":
            return automatic_shrinkage(statistics)
        return np.full(len(statistics.classes), float(self.shrinkage))

    def _model(
        self, statistics: ClassStatistics, solution: Solution, numbers: Array, shape: Shape
    ) -> ClassModel:
        """What was learned from samples of this shape: the model at one place of a stack."""
        (found,) = self._models([self], statistics, solution, numbers, shape)
        return found

    def _models(
        self,
        members: Sequence[ClassSpecificProjector],
        statistics: ClassStatistics,
        solution: Solution,
        numbers: Array,
        shape: Shape,
    ) -> list[ClassModel]:
        """What the members learned: the subspace of each, and the likelihood ratio in it.

        There is no ratio where distances decide. With two classes it comes from their covariances
        (`tight_gaussian`), otherwise from the class means (`likelihood_ratio_terms`).
        """
        models = [
            member._subspace(statistics, solution, int(number), shape)
            for member, number in zip(members, numbers, strict=True)
        ]
        if self.decision == "distance":
            return models
        if np.count_nonzero(statistics.counts) == 2:
            return [_with_own_covariance(model, statistics) for model in models]
        if solution.within is not None:
            within = solution.within[numbers]
        else:
            scatter = statistics.within()
            stacks = projection_stacks(models, statistics)
            within = np.concatenate([projected_trace(scatter, seen) for _, seen in stacks])
        freedom = float(np.maximum(statistics.counts - 1, 0.0).sum()) or statistics.count
        steps, turn = statistics.scaled_class_means
        decided = []
        # A solution that came with class means has one of every class, unless some have no samples.
        has_means = solution.means is not None and solution.means.shape[1] == len(steps)
        for number, model, squares in zip(numbers, models, within, strict=True):
            if has_means:
                assert solution.means is not None
                Z = solution.means[number, :, : prod(model.ranks)]
            else:
                seen_shape = tuple(len(W) for W in model.projections)
                Z = project(steps.reshape(-1, *seen_shape), model.projections)
                Z = Z.reshape(len(steps), -1)
            noise = float(squares) / freedom / prod(model.ranks)  # variance about class means
            contrasts, offset, anchors = likelihood_ratio_terms(
                Z, turn, statistics.counts, model.positive_index, noise
            )
            decided.append(replace(model, contrasts=contrasts, offset=offset, anchors=anchors))
        return decided

    def _subspace(
        self, statistics: ClassStatistics, solution: Solution, number: int, shape: Shape
    ) -> ClassModel:
        """The model of a class at one place of the solution, without a likelihood ratio."""
        positive = parameters.check_positive(self.positive, statistics.classes)
        return ClassModel.of(
            statistics,
            solution,
            number,
            mean=statistics.given.means[positive].reshape(shape),
            positive_index=positive,
            other_mean=statistics.other_mean(positive).reshape(shape),
        )

    def _warn_of(self, model: ClassModel | Sequence[ClassModel]) -> None:
        """Warn of a positive class that nobody named, and of fewer directions than asked for.

        A bank asks for all its models at once.
        """
        models = [model] if isinstance(model, ClassModel) else model
        classes = models[0].classes
        name = type(self).__name__
        if isinstance(model, ClassModel) and self.positive is None and len(classes) > 2:
            label = parameters.plain(classes[model.positive_index])
            warn(
                f"positive is None, so {name} takes {label!r}, the last of "
                f"{len(classes)} classes, for the positive one; pass positive={label!r} or another "
                "label, or learn all classes with ClassSpecificClassifier",
                UserWarning,
            )
        for one in models:
            asked: object = self.ranks
            if isinstance(asked, Mapping):
                asked = parameters.ranks_of_class(asked, classes[one.positive_index])
            if asked is None:
                continue
            ranks, shares = parameters.check_ranks(asked, [len(W) for W in one.projections])
            given_as_ranks = [k for k in range(len(ranks)) if k not in shares]
            if all(one.ranks[k] >= ranks[k] for k in given_as_ranks):
                continue
            negatives = self._kind_of_negatives(one.class_count)
            source = {
                "samples": "the samples have",
                "means": "the differences of class means have",
                "both": "samples and class means have",
            }[negatives]
            cure = "negatives='samples'" if negatives == "means" else "more samples"
            warn(
                f"ranks is {self.ranks!r}, but {name} found ranks {one.ranks}: {source} no more "
                f"directions; pass lower ranks or ranks=None, or use {cure} to have more",
                UserWarning,
            )
            return

    def _is_learnable(self, moments: ClassMoments) -> bool:
        """Whether the moments hold samples of all the classes that it needs."""
        positives = moments.counts[parameters.check_positive(self.positive, moments.classes)]
        return super()._is_learnable(moments) and bool(positives > 0)

    def _sizes(self) -> dict[str, Shape]:
        """Contrasts are of all features, or there are none."""
        return super()._sizes() | {"features": (prod(self.ranks_) * bool(self.contrasts_.size),)}

    def _check_learned(self) -> None:
        """Refuse a positive class that is not one of the classes."""
        super()._check_learned()
        parameters.check_positive(self.positive, self.classes_)
        if not 0 <= self.positive_index_ < len(self.classes_):
            raise ValueError("its positive_index_ is not the position of a class")

    # -- how it is used --------------------------------------------------------------------------

    def decision_function(self, X: object) -> Array:
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

    def _class_scores(self, X: object) -> Array:
        """Scores (n, 1) of the positive class."""
        return np.asarray(self.decision_function(X))[:, None]

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
        return bool(self.contrasts_.size)

    def score(self, X: object, y: object, sample_weight: object = None) -> float:
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
        labels = check_labels(self, scores, y)
        is_positive = which_are(self.positive_label_, labels, self.classes_)
        weight = in_numpy(sample_weight, "sample_weight")
        from sklearn.metrics import average_precision_score  # a tenth of a second to import

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
    negatives = method._kind_of_negatives(statistics.counts)
    if method._is_one_solution and negatives == "samples":
        n = statistics.counts[positives]
        own = solution.suppressed[numbers] / n
        others = solution.kept[numbers] / (statistics.count - n)
        if (own > SPREAD * own.max()).all() and (others > 0).all():  # no class is a single point
            return np.sqrt(own), np.sqrt(others)
    shrinkage = method._shrinkage_in(statistics)[positives]
    shifts = np.array([getattr(model, "shift", 0.0) for model in models])
    found = [
        np.stack(class_spreads(statistics, seen, positives[rows], shrinkage[rows], shifts[rows]))
        for rows, seen in projection_stacks(models, statistics)
    ]
    own, others = np.concatenate(found, axis=1)
    return own, others


def projection_stacks(
    models: Sequence[ClassModel], statistics: ClassStatistics
) -> Iterator[tuple[slice, list[Array]]]:
    """Some models after others, and their projections (M, I_k, r_k) in the basis of the statistics.

    As many at once as memory has; columns of zeros are added to narrow projections.
    """
    one = max(statistics.shape) ** 2 + sum(W.size for W in models[0].projections)
    for rows in row_blocks(len(models), 4 * 8 * one):
        stacks = []
        for per_model in zip(*(model.projections for model in models[rows]), strict=True):
            widest = max(W.shape[1] for W in per_model)
            stacks.append(np.concatenate([padded(W[None], widest) for W in per_model]))
        yield rows, to_span(statistics, stacks)


def _with_own_covariance(model: ClassModel, statistics: ClassStatistics) -> ClassModel:
    """A model with the two Gaussians of two classes, each with a covariance of its own."""
    p = model.positive_index
    shape = tuple(len(W) for W in model.projections)
    step = (model.mean - model.other_mean).reshape(1, *shape)
    scatters = class_scatters_in(statistics, model.projections)
    own = scatters[p]
    others = scatters.sum(axis=0) - scatters[p]
    n_own = float(statistics.counts[p])
    contrasts, offset, anchors = tight_gaussian(
        project(step, model.projections).ravel(), own, others, n_own, statistics.count - n_own
    )
    return replace(model, contrasts=contrasts, offset=offset, anchors=anchors)
