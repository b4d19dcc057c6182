"""A bank of class-specific models: one subspace per class, all from one set of statistics."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from tenfold.mathematics.algebra import Array
from tenfold.mathematics.alternation import Alternation
from tenfold.mathematics.moments import ClassStatistics
from tenfold.mathematics.sample_statistics import Workload
from tenfold.mathematics.stores import over_blocks
from tenfold.methods.class_specific import ClassSpecificProjector, in_class_spreads, shrinkage_of
from tenfold.methods.distances import (
    OfBlock,
    distances_to_classes,
    finished,
    nearest,
    preference,
    subspaces_of,
)
from tenfold.methods.folds import held_out, stratified_splits
from tenfold.methods.learning import Learner, Models
from tenfold.validation import samples as check


def _learns_from_parts(bank: ClassSpecificClassifier) -> bool:
    if bank.classifier is None:
        return True
    raise ValueError("out-of-fold distances need all samples at once; use fit, or classifier=None")


class ClassSpecificClassifier(ClassifierMixin, Learner):
    """One class-specific subspace per class; the class whose mean is nearest in its own wins.

    All C models are solved together as one stack, from statistics that are made in one pass.

    Parameters
    ----------
    projector : MCSDA or CSDA
        The method, with its parameters; its `positive` is set to each class in turn. Its
        `ranks` may map every label to ranks of its own.
    normalise : bool, default=True
        Divide each distance by the in-class spread of its model, the root mean square distance
        of the class from its mean in the subspace. With False distances are compared as they
        are, as in the paper.
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
        The in-class spread of each model. A class that is a single point in its subspace gets
        that of all classes pooled.
    classifier_ : classifier
        The fitted `classifier`, if one was given.
    sample_shape_ : tuple of K ints
        The shape of a sample.
    moments_ : ClassMoments
        Kept by `partial_fit` and by ``statistics="moments"`` of the projector.

    Notes
    -----
    There is no `predict_proba` unless `classifier` has one: distances are not probabilities.
    Ties go to the first of the sorted classes.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tenfold import MCSDA, ClassSpecificClassifier
    >>> X, y = load_digits().images, load_digits().target
    >>> bank = ClassSpecificClassifier(MCSDA(ranks=(5, 5), tol=0.1)).fit(X[:900], y[:900])
    >>> bank.decision_function(X[900:]).shape
    (897, 10)
    >>> round(bank.score(X[900:], y[900:]), 2)
    0.87
    """

    def __init__(
        self, projector: Any, *, normalise: bool = True, classifier: Any = None, cv: Any = 5
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

    @property
    def statistics(self) -> str:  # type: ignore[override]
        """The `statistics` of the projector."""
        return str(self.projector.statistics)

    def _check_parameters(self) -> None:
        check.check_class_specific(self.projector, ClassSpecificProjector)
        check.check_flag("normalise", self.normalise)
        self.projector._check_parameters()

    def _members(self) -> list[ClassSpecificProjector]:
        """The projector of each class, knowing the data's shape and classes, not yet learned."""
        member = clone(self.projector)
        for name in ("sample_shape_", "n_features_in_", "classes_", "feature_names_in_"):
            if hasattr(self, name):
                setattr(member, name, getattr(self, name))
        members = [copy(member) for _ in self.classes_]  # a clone costs as much as solving a model
        for member, label in zip(members, self.classes_, strict=True):
            member.positive = label
        return members

    def _samples(self, X: Array) -> Array:
        return self.projector._samples(X)

    # -- what a learner says ----------------------------------------------------------------------

    def _workload(self) -> Workload:
        one = [member._workload() for member in self._members()]
        ranks = tuple(np.max([work.ranks for work in one], axis=0).tolist())
        return replace(one[0], models=len(one), ranks=ranks)

    def _models(self, statistics: ClassStatistics) -> Models:
        members = self._members()
        positives = np.arange(len(members))
        for member in members:
            member.shrinkage = 0.0  # found below for all of them at once
        plain = [member._models(statistics) for member in members]
        shrinkage = shrinkage_of(self.projector.shrinkage, statistics, positives)
        return replace(Models.stacked(plain), shrinkage=shrinkage)

    def _solve(self, statistics: ClassStatistics, models: Models) -> Alternation:
        return self.projector._solve(statistics, models)

    def _take(
        self, statistics: ClassStatistics, models: Models, found: Alternation, rows: Array
    ) -> None:
        self.projectors_ = self._members()
        for member, row in zip(self.projectors_, rows, strict=True):
            member._take(statistics, models, found, np.array([row]))
        self.spreads_ = in_class_spreads(statistics, found, rows, models.shrinkage[rows])

    def _warn_unless_converged(self, found: Alternation) -> None:
        self.projector._warn_unless_converged(found)

    def _is_learnable(self, moments: Any) -> bool:
        return bool((moments.counts > 0).all())

    # -- fitting ----------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn one subspace per class, and the second classifier if there is one.

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
            The samples.
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
        second = self._second(X, y, sample_weight)
        super().fit(X, y, sample_weight)
        self.classifier_ = second
        return self

    partial_fit = available_if(_learns_from_parts)(Learner.partial_fit)
    fit_moments = available_if(_learns_from_parts)(Learner.fit_moments)

    def _second(self, X: Any, y: Any, sample_weight: Any) -> Any:
        """The second classifier, trained on the distances of samples that were held out."""
        second = clone(self.classifier)
        if sample_weight is not None and not has_fit_parameter(second, "sample_weight"):
            raise ValueError(f"classifier={second!r} takes no sample_weight; leave it out")
        fresh, X, y, weight = self._prepared(X, y, sample_weight)
        y, weight = check.in_memory(y, weight)
        distances = np.full((len(y), len(fresh.classes_)), np.nan)
        for test, bank in held_out(fresh, X, y, weight, stratified_splits(self.cv, y, weight)):
            distances[test] = over_blocks(X[test], bank._distances())
        held = ~np.isnan(distances[:, 0])
        weights = {} if weight is None else {"sample_weight": weight[held]}
        return second.fit(distances[held], y[held], **weights)

    @property
    def members_(self) -> list[ClassSpecificProjector]:
        """The fitted projectors of a model: of a bank, one per class."""
        check_is_fitted(self, "projectors_")
        return self.projectors_

    # -- using ------------------------------------------------------------------------------------

    def distances(self, X: Any) -> Array:
        """Distance of every sample from every class mean, each in the subspace of that class.

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
            The samples.

        Returns
        -------
        ndarray of shape (n, C)
            Divided by the spreads when `normalise` is set.
        """
        return self._from_distances(X, np.asarray)

    def _from_distances(self, X: Any, finish: OfBlock) -> Array:
        """What follows from the distances of samples, block by block."""
        check_is_fitted(self, "projectors_")
        X = check.check_samples(self, X, reset=False)
        return over_blocks(X, partial(finished, distances=self._distances(), finish=finish))

    def _distances(self) -> OfBlock:
        """What gives distances of samples in memory, and can be sent to other processes."""
        subspaces = subspaces_of(self, self.projectors_)
        spreads = self.spreads_ if self.normalise else None
        return partial(distances_to_classes, subspaces=subspaces, spreads=spreads)

    @available_if(lambda s: s.classifier is None or hasattr(s.classifier, "decision_function"))
    def decision_function(self, X: Any) -> Array:
        """Minus the distances, or the `decision_function` of `classifier` if it has one.

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
        return self._from_distances(X, preference if second is None else second.decision_function)

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
        check_is_fitted(self, "projectors_")
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
        check_is_fitted(self, "classifier_")
        return self._from_distances(X, self.classifier_.predict_proba)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        return tags
