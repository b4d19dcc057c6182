"""A bank of class-specific models: one subspace per class, all from one set of statistics."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from operator import is_
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.metrics import accuracy_score
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import has_fit_parameter

from tenfold.decisions.distances import (
    OfBlock,
    Subspaces,
    distances_to_classes,
    farness_of_classes,
    finished,
    nearest,
    preference,
)
from tenfold.decisions.folds import folds_of
from tenfold.mathematics.algebra import Array, to_numpy
from tenfold.mathematics.alternation import Recipe, Solution
from tenfold.mathematics.cost import Workload
from tenfold.mathematics.criteria import Problem
from tenfold.mathematics.moments import ClassMoments, ClassStatistics
from tenfold.mathematics.stores import over_blocks
from tenfold.methods.base import (
    ClassModel,
    ClassSpecificProjector,
    Described,
    Learner,
    Shape,
    spreads_of,
)
from tenfold.system.plain_values import Axes, check_agree
from tenfold.validation import parameters
from tenfold.validation import samples as check
from tenfold.validation.samples import in_numpy


def _learns_from_parts(bank: ClassSpecificClassifier) -> bool:
    if not getattr(bank.projector, "_streams", True):
        raise ValueError(f"{bank.projector!r} learns from all samples at once; use fit")
    if bank.classifier is None:
        return True
    raise ValueError("out-of-fold distances need all samples at once; use fit, or classifier=None")


class AccuracyScore:
    """`score` of scikit-learn's classifiers, for any arrays; it stands before their mixin."""

    predict: Any

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of samples whose class is predicted.

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
        labels, weight = in_numpy(y, "y"), in_numpy(sample_weight, "sample_weight")
        predicted = to_numpy(self.predict(X))
        return float(accuracy_score(labels, predicted, sample_weight=weight))


@dataclass(frozen=True, eq=False)
class Bank:
    """The models of all classes, and how far samples are from the mean of each in its subspace.

    Parameters
    ----------
    members : list of C ClassModels
        One per class.
    spreads : dict of two ndarrays of shape (C,)
        Root mean square distance of the samples of each class, and of all others, by the names of
        attributes; empty where likelihood ratios decide, which have units of their own.
    """

    members: list[ClassModel]
    spreads: dict[str, Array]


class ClassSpecificClassifier(AccuracyScore, ClassifierMixin, Learner):
    """One class-specific subspace per class; the class whose mean is nearest in its own wins.

    All C models are solved together as one stack, from statistics that are made in one pass.

    Parameters
    ----------
    projector : MCSDA, CSDA or another class-specific method
        The method, with its parameters; its `positive` is set to each class in turn. Its
        `ranks` may map every label to ranks of its own.
    normalise : {"others", "own", False}, default="others"
        What makes scores of different classes comparable. With the likelihood ratio of the
        projector, "others" measures it from where a sample is as far from the class as from
        everything else, in units of what other samples have, and False compares ratios as they
        are. Of distances "others" divides by the root mean square distance of all other samples
        from the same class mean, in the subspace of that class. "own" divides by that of the class
        itself, which is known badly from few samples. False compares distances as they are, as in
        the paper.
    classifier : scikit-learn classifier or None, default=None
        Trained on the distances to all classes, as the paper suggests. The distances it learns
        from are out of fold, so that it sees what new samples will look like.
    cv : int, splitter or iterable of splits, default=5
        Folds for those distances; an int never asks for more than the smallest class has samples.
        Samples that no fold holds out, as with time-ordered splits, do not train `classifier`.

    Attributes
    ----------
    classes_ : ndarray of shape (C,)
        The labels, sorted.
    projectors_ : list of C projectors
        The fitted model of each class.
    spreads_ : ndarray of shape (C,)
        Root mean square distance of each class from its mean in its subspace, if distances decide.
        A class that is a single point there gets that of all classes pooled.
    other_spreads_ : ndarray of shape (C,)
        Root mean square distance of all other samples from that mean in that subspace, likewise.
    classifier_ : classifier
        The fitted `classifier`, if one was given.
    sample_shape_ : tuple of K ints
        The shape of a sample.
    moments_ : ClassMoments
        Kept by `partial_fit` and `fit_moments`, and by `fit` where they take no more than 64 KiB.

    Notes
    -----
    There is no `predict_proba` unless `classifier` has one: distances are not probabilities; see
    `ProbabilisticLDA` for these. Ties go to the first of the sorted classes.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tenfold import MCSDA, ClassSpecificClassifier
    >>> X, y = load_digits().images, load_digits().target
    >>> bank = ClassSpecificClassifier(MCSDA(ranks=(5, 5))).fit(X[:900], y[:900])
    >>> bank.decision_function(X[900:]).shape
    (897, 10)
    >>> round(bank.score(X[900:], y[900:]), 2)
    0.9
    """

    class_count_: Annotated[Array, Axes("C")]
    projectors_: list[ClassSpecificProjector]
    spreads_: Annotated[Array, Axes("C", above=0)]
    other_spreads_: Annotated[Array, Axes("C", above=0)]
    classifier_: Any
    _stacked: tuple[list[Any], Subspaces] | None = None  # what was stacked last, and its stack

    _answer = "class"
    _allowed: ClassVar = {"normalise": ("others", "own", False)}

    def __init__(
        self, projector: Any, *, normalise: Any = "others", classifier: Any = None, cv: Any = 5
    ):
        self.projector = projector
        self.normalise = normalise
        self.classifier = classifier
        self.cv = cv

    # -- what the projector says ------------------------------------------------------------------

    @property
    def sample_shape(self) -> Any:
        """The `sample_shape` of the projector."""
        return self.projector.sample_shape

    def _flatten_if_needed(self, X: Any) -> Any:
        """The batch as the projector sees it."""
        return self.projector._flatten_if_needed(X)

    @property
    def _streams(self) -> bool:  # type: ignore[override]
        """Whether the projector can learn from moments."""
        return bool(self.projector._streams)

    def _prepared(
        self, described: Described, X: Any, weight: Array | None
    ) -> tuple[Described, Any]:
        """As the projector does it, once for all classes."""
        prepared: tuple[Described, Any] = self.projector._prepared(described, X, weight)
        return prepared

    def of_classes(self, classes: Array) -> list[ClassSpecificProjector]:
        """The projector of each class, not fitted."""
        bare = clone(self.projector)
        members = [copy(bare) for _ in classes]  # a clone costs as much as solving a model
        for member, label in zip(members, classes, strict=True):
            member.positive = label
        return members

    # -- what a learner says ----------------------------------------------------------------------

    def _check_parameters(self) -> None:
        """Validate parameters."""
        parameters.check_class_specific(self.projector, ClassSpecificProjector)
        super()._check_parameters()
        if self.normalise == "own" and self.projector.decision != "distance":
            raise ValueError(
                "normalise='own' divides distances, but the projector decides by likelihood "
                "ratios; use normalise='others', or decision='distance' of the projector"
            )
        self.projector._check_parameters()

    def _check_learned(self) -> None:
        """Refuse members that are not those of the classes."""
        members = [m for m in self.projectors_ if isinstance(m, ClassSpecificProjector)]
        fitted = [m for m in members if getattr(m, "sample_shape_", None) == self.sample_shape_]
        n = len(self.classes_)
        check_agree("projectors_", (len(self.projectors_), len(fitted)), (n, n))
        if not (members[0]._has_ratio or {"spreads_", "other_spreads_"} <= vars(self).keys()):
            raise ValueError("its ClassSpecificClassifier lacks spreads_ or other_spreads_")

    def _workload(self, shape: Shape, classes: Array) -> Workload:
        """That of the projectors of all classes together."""
        each = [member._workload(shape, classes) for member in self.of_classes(classes)]
        return replace(Workload.together(each), positives=len(each))

    def _problem(self, statistics: ClassStatistics) -> Problem:
        """The problems of the projectors of all classes, as one stack."""
        members = self.of_classes(statistics.classes)
        return Problem.stacked([member._problem(statistics) for member in members])

    def _recipe(self) -> Recipe:
        """How the problem of every projector is solved."""
        recipe: Recipe = self.projector._recipe()
        return recipe

    def _model(
        self, statistics: ClassStatistics, solution: Solution, models: Array, shape: Shape
    ) -> Bank:
        """What was learned of samples of this shape, from these solutions of a stack."""
        members = self.of_classes(statistics.classes)
        solution, models = self.projector._completed(members, statistics, solution, models)
        each = zip(members, models, strict=True)
        found = self.projector._decided(
            [own._subspace(statistics, solution, np.array([m]), shape) for own, m in each],
            statistics,
        )
        if found[0].contrasts.size:
            return Bank(found, {})
        own, others = spreads_of(self.projector, found, statistics, solution, models)
        return Bank(found, {"spreads_": own, "other_spreads_": others})

    def _set_fitted(
        self,
        described: Described,
        model: Any = None,
        moments: ClassMoments | None = None,
        **more: Any,
    ) -> Self:
        """Replace all that was learned; the projector of each class shows its own model."""
        if model is not None:
            one = model.members[0]
            more |= {"classes_": one.classes, "class_count_": one.class_count}
            more |= model.spreads
            more["projectors_"] = [
                member._set_fitted(described, own)
                for member, own in zip(self.of_classes(one.classes), model.members, strict=True)
            ]
        super()._set_fitted(check.of_samples(described), None, moments, **more)
        self.__dict__.pop("_stacked", None)
        if model is not None:
            self._subspaces()
        return self

    def _warn_unless_converged(self, solution: Solution) -> None:
        """Warn of models that still moved in the last round."""
        self.projector._warn_unless_converged(solution)

    def _is_learnable(self, moments: ClassMoments) -> bool:
        """Whether the moments hold samples of all classes."""
        return bool((moments.counts > 0).all())

    # -- fitting ----------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn one subspace per class, and the second classifier if there is one.

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
            The samples. A store is read once for all statistics, and once more for every fold of a
            second classifier.
        y : array-like of shape (n,)
            Class labels.
        sample_weight : array-like of shape (n,), default=None
            Non-negative weights.

        Returns
        -------
        self
            The fitted bank.
        """
        if self.classifier is None:
            return super().fit(X, y, sample_weight)
        second = clone(self.classifier)
        if sample_weight is not None and not has_fit_parameter(second, "sample_weight"):
            raise ValueError(f"classifier={second!r} takes no sample_weight; leave it out")
        _, batch, labels, weight = self._first_batch(X, y, sample_weight)
        assert labels is not None
        plain = clone(self).set_params(classifier=None)
        distances = plain._out_of_fold(self.cv, batch, labels, weight)
        held = ~np.isnan(distances[:, 0]) & (True if weight is None else weight > 0)
        weights = {} if weight is None else {"sample_weight": weight[held]}
        second.fit(distances[held], labels[held], **weights)
        whole = plain.fit(X, y, sample_weight)
        for name in self._learned_attributes():
            delattr(self, name)
        self.__dict__.update(whole._learned_attributes(), classifier_=second)
        self.__dict__.pop("_stacked", None)
        self._subspaces()  # using changes nothing
        return self

    def _out_of_fold(self, cv: Any, X: Any, labels: Array, weight: Array | None) -> Array:
        """Distances (n, C) by banks that have not seen the sample; NaN where no fold holds it out.

        Samples without weight have no part in the folds.
        """
        used = np.arange(len(labels)) if weight is None else np.flatnonzero(weight)
        rows = used if isinstance(cv, Integral) else np.arange(len(labels))
        classes = check.present_labels(labels, weight)
        distances = np.full((len(labels), len(classes)), np.nan)
        for number, (a, b) in enumerate(folds_of(cv, labels[rows])):
            train, test = rows[a][np.isin(rows[a], used)], rows[b]
            missing = np.setdiff1d(classes, labels[train]).tolist()
            if missing:
                raise ValueError(
                    f"the training part of fold {number} has no sample of class {missing[0]!r}, so "
                    "there are no distances to it; choose folds (cv) that leave some of every class"
                )
            some = None if weight is None else weight[train]
            distances[test] = clone(self).fit(X[train], labels[train], some).distances(X[test])
        return distances

    partial_fit = available_if(_learns_from_parts)(Learner.partial_fit)
    fit_moments = available_if(_learns_from_parts)(Learner.fit_moments)

    # -- using ------------------------------------------------------------------------------------

    @property
    def members_(self) -> list[ClassSpecificProjector]:
        """The fitted projectors of the model, one per class."""
        check.check_fitted(self, "projectors_")
        return self.projectors_

    def distances(self, X: Any) -> Array:
        """How far every sample is from every class, each in the subspace of that class.

        The distance from the class mean; where likelihood ratios decide, the root of how much
        farther a sample is from the class than from everything else, negative where it is nearer.

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
            The samples.

        Returns
        -------
        ndarray of shape (n, C)
            Comparable across classes as `normalise` says; the least is that of `predict`.
        """
        return self._from_distances(X, np.asarray)

    def _from_distances(self, X: Any, finish: OfBlock) -> Array:
        """What follows from the distances of samples, block by block."""
        check.check_fitted(self, "projectors_")
        X = check.check_samples(self, X)
        return over_blocks(X, partial(finished, distances=self.measure(), finish=finish))

    def measure(self) -> OfBlock:
        """What gives distances of samples in memory, and can be sent to other processes."""
        if self.projectors_[0]._has_ratio:
            offsets = np.array([member.offset_ for member in self.projectors_])
            anchors = np.stack([member.anchors_ for member in self.projectors_])
            ratios = partial(farness_of_classes, subspaces=self._subspaces(), offsets=offsets)
            return partial(ratios, anchors=anchors if self.normalise else None)
        choice = {"others": "other_spreads_", "own": "spreads_"}
        spreads = getattr(self, choice[self.normalise]) if self.normalise else None
        work = partial(distances_to_classes, subspaces=self._subspaces(), spreads=spreads)
        return self.projectors_[0]._on_samples(work)

    def _subspaces(self) -> Subspaces:
        """The subspaces of all classes, stacked once: for one sample that takes the most time."""
        projections = [member.projections_ for member in self.projectors_]
        ratio = self.projectors_[0]._has_ratio
        means = [m.other_mean_ if ratio else m.mean_ for m in self.projectors_]
        contrasts = [m.contrasts_ for m in self.projectors_] if ratio else None
        learned = [*projections, *means]
        if self._stacked is not None:
            known, stack = self._stacked
            if len(known) == len(learned) and all(map(is_, known, learned)):
                return stack
        stack = Subspaces.stacked(projections, means, contrasts)
        self._stacked = learned, stack
        return stack

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        state.pop("_stacked", None)
        return state

    @available_if(lambda s: s.classifier is None or hasattr(s.classifier, "decision_function"))
    def decision_function(self, X: Any) -> Array:
        """How much more a sample is like one class than like the best others.

        Minus the distances; unless `normalise` is False, less the mean of the two largest of
        these for the same sample. So the classes compete for a sample, which ranks samples better
        where each belongs to one of them, and leaves the order of the classes as it is. With
        `classifier`, its `decision_function`.

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
            The samples.

        Returns
        -------
        ndarray of shape (n, C), or (n,) for two classes
            The larger, the more like that class. For two classes the score of the second minus
            that of the first, as scikit-learn has it.
        """
        second = getattr(self, "classifier_", None)
        own = partial(preference, compete=self.normalise is not False)
        return self._from_distances(X, own if second is None else second.decision_function)

    def predict(self, X: Any) -> Array:
        """The class of every sample.

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
            The samples.

        Returns
        -------
        ndarray of shape (n,)
            Labels.
        """
        check.check_fitted(self, "projectors_")
        second = getattr(self, "classifier_", None)
        decide = partial(nearest, classes=self.classes_) if second is None else second.predict
        return self._from_distances(X, decide)

    @available_if(lambda self: hasattr(self.classifier, "predict_proba"))
    def predict_proba(self, X: Any) -> Array:
        """Class probabilities of `classifier`; there are none without it.

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
            The samples.

        Returns
        -------
        ndarray of shape (n, C)
            Probabilities.
        """
        check.check_fitted(self, "classifier_")
        return self._from_distances(X, self.classifier_.predict_proba)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        return tags
