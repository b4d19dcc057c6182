"""A bank of class-specific models: one subspace per class, all from one set of statistics."""

from __future__ import annotations

from copy import copy
from functools import partial
from numbers import Integral
from operator import is_
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.metrics import accuracy_score
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import has_fit_parameter

from tenfold.classifiers.bank import BankLearner
from tenfold.classifiers.class_subspaces import (
    Subspaces,
    distances_of_classes,
    distances_to_classes,
    nearest,
    of_both_classes,
    preference,
)
from tenfold.classifiers.folds import folds_of
from tenfold.linalg.arrays import Array, to_numpy
from tenfold.methods.base import Learner
from tenfold.methods.class_specific import ClassSpecificProjector
from tenfold.serialization.values import Axes, check_agree
from tenfold.statistics.moments import ClassMoments
from tenfold.statistics.stores import OfBlock, compose, over_blocks
from tenfold.validation import samples as check
from tenfold.validation.containers import in_numpy
from tenfold.validation.labels import present_labels
from tenfold.validation.parameter_types import Folds, Normalize
from tenfold.validation.samples import InputInfo, Samples


def _learns_from_parts(bank: ClassSpecificClassifier) -> bool:
    if not getattr(bank._method, "_streams", True):
        raise ValueError(f"{bank._method!r} learns from all samples at once; use fit")
    if bank.classifier is None:
        return True
    raise ValueError("out-of-fold distances need all samples at once; use fit, or classifier=None")


class AccuracyScore:
    """`score` of scikit-learn's classifiers, for any arrays; it stands before their mixin."""

    predict: Any
    predict_log_proba: Any

    def _class_scores(self, X: object) -> Array:
        """Scores (n, C) by which the classes that it names compete: logarithms of probabilities."""
        least = np.finfo(float).min  # metrics want numbers
        return np.asarray(np.maximum(self.predict_log_proba(X), least))

    def score(self, X: object, y: object, sample_weight: object = None) -> float:
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
        labels = in_numpy(y, "y")
        weight = in_numpy(sample_weight, "sample_weight")
        predicted = to_numpy(self.predict(X))
        return float(accuracy_score(labels, predicted, sample_weight=weight))


class ClassSpecificClassifier(AccuracyScore, ClassifierMixin, BankLearner):
    """One class-specific subspace per class; the class whose mean is nearest in its own wins.

    All C models are solved together as one stack, from statistics that are made in one pass.

    Parameters
    ----------
    projector : MCSDA, CSDA or another class-specific method, or None, default=None
        The method, with its parameters; its `positive` is set to each class in turn. Its
        `ranks` may map every label to ranks of its own. None means ``CSDA()``, which chooses its
        ridge by itself.
    normalize : {"others", "own", False}, default="others"
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

    _output_kind = "class"
    _allowed: ClassVar = {
        "projector": (ClassSpecificProjector, None),
        "normalize": ("others", "own", False),
    }

    def __init__(
        self,
        projector: ClassSpecificProjector | None = None,
        *,
        normalize: Normalize = "others",
        classifier: Any = None,
        cv: Folds = 5,
    ):
        self.projector = projector
        self.normalize = normalize
        self.classifier = classifier
        self.cv = cv

    # -- what was learned -------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        """Validate parameters."""
        super()._check_parameters()
        if self.normalize == "own" and self._method.decision != "distance":
            raise ValueError(
                "normalize='own' divides distances, but the projector decides by likelihood "
                "ratios; use normalize='others', or decision='distance' of the projector"
            )
        self._method._check_parameters()

    def _check_learned(self) -> None:
        """Refuse members that are not those of the classes."""
        members = [m for m in self.projectors_ if isinstance(m, ClassSpecificProjector)]
        fitted = [m for m in members if getattr(m, "sample_shape_", None) == self.sample_shape_]
        n = len(self.classes_)
        check_agree("projectors_", (len(self.projectors_), len(fitted)), (n, n))
        if not (members[0]._has_ratio or {"spreads_", "other_spreads_"} <= vars(self).keys()):
            raise ValueError("its ClassSpecificClassifier lacks spreads_ or other_spreads_")

    def _set_fitted(
        self,
        input_info: InputInfo,
        model: Any = None,
        moments: ClassMoments | None = None,
        **more: Any,
    ) -> Self:
        """Replace all that was learned; the projector of each class shows its own model."""
        if model is not None:
            one = model.members[0]
            more |= {"classes_": one.classes, "class_count_": one.class_count}
            more |= model.spreads
            of_member = {name: value for name, value in input_info.items() if name != "range_"}
            more["projectors_"] = [
                member._set_fitted(of_member, own)
                for member, own in zip(self._members(one.classes), model.members, strict=True)
            ]
        super()._set_fitted(check.of_samples(input_info), None, moments, **more)
        if model is not None:
            self._subspaces()
        return self

    # -- fitting ----------------------------------------------------------------------------------

    def fit(self, X: object, y: object = None, sample_weight: object = None) -> Self:
        """Learn one subspace per class, and the second classifier if there is one.

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
            The samples. A store is read once for all statistics, and twice for every fold of a
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
        self._check_parameters()
        _, batch, labels, weight = check.check_first_batch(self, X, y, sample_weight)
        assert labels is not None
        plain = clone(self).set_params(classifier=None)
        distances = plain._out_of_fold(self.cv, batch, labels, weight)
        held = ~np.isnan(distances[:, 0]) & (True if weight is None else weight > 0)
        weights = {} if weight is None else {"sample_weight": weight[held]}
        second.fit(distances[held], labels[held], **weights)
        whole = copy(self)
        Learner.fit(whole, X, y, sample_weight)
        whole.classifier_ = second
        self.__dict__ = whole.__dict__  # all of it at once, as `_set_fitted` does it
        return self

    def _out_of_fold(self, cv: Folds, X: Samples, labels: Array, weight: Array | None) -> Array:
        """Distances (n, C) by banks that have not seen the sample; NaN where no fold holds it out.

        Samples without weight have no part in the folds.
        """
        used = np.arange(len(labels)) if weight is None else np.flatnonzero(weight)
        rows = used if isinstance(cv, Integral) else np.arange(len(labels))
        classes = present_labels(labels, weight)
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

    def distances(self, X: object) -> Array:
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
            Comparable across classes as `normalize` says; the least is that of `predict`.
        """
        return self._from_distances(X, np.asarray)

    def _class_scores(self, X: object) -> Array:
        """Scores (n, C): those of `decision_function`, also where it has one number for two.

        Minus the distances where there is none, or where classes do not compete.
        """
        alone = self.normalize is False and self.classifier is None
        if alone or not hasattr(self, "decision_function"):
            return -np.asarray(self.distances(X))
        return of_both_classes(self.decision_function(X))

    def _from_distances(self, X: object, finish: OfBlock) -> Array:
        """What follows from the distances of samples, block by block."""
        check.check_fitted(self, "projectors_")
        X = check.check_samples(self, X)
        return over_blocks(X, partial(compose, measure=self.measure(), finish=finish))

    def measure(self) -> OfBlock:
        """What gives distances of samples in memory, and can be sent to other processes."""
        if self.projectors_[0]._has_ratio:
            offsets = np.array([member.offset_ for member in self.projectors_])
            anchors = np.stack([member.anchors_ for member in self.projectors_])
            ratios = partial(distances_of_classes, subspaces=self._subspaces(), offsets=offsets)
            return partial(ratios, anchors=anchors if self.normalize else None)
        choice = {"others": "other_spreads_", "own": "spreads_"}
        spreads = getattr(self, choice[self.normalize]) if self.normalize else None
        work = partial(distances_to_classes, subspaces=self._subspaces(), spreads=spreads)
        return self.projectors_[0]._on_samples(work)

    def _subspaces(self) -> Subspaces:
        """The subspaces of all classes, stacked once: for one sample that takes the most time."""
        ratio = self.projectors_[0]._has_ratio
        projections = [member.projections_ for member in self.projectors_]
        means = [m.other_mean_ if ratio else m.mean_ for m in self.projectors_]
        learned = [*projections, *means]
        known = [] if self._stacked is None else self._stacked[0]
        if self._stacked is None or len(known) != len(learned) or not all(map(is_, known, learned)):
            contrasts = [member.contrasts_ for member in self.projectors_] if ratio else None
            self._stacked = learned, Subspaces.stacked(projections, means, contrasts)
        return self._stacked[1]

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        state.pop("_stacked", None)
        return state

    @available_if(lambda s: s.classifier is None or hasattr(s.classifier, "decision_function"))
    def decision_function(self, X: object) -> Array:
        """How much more a sample is like one class than like the best others.

        Minus the distances; unless `normalize` is False, less the mean of the two largest of
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
        own = partial(preference, compete=self.normalize is not False)
        return self._from_distances(X, own if second is None else second.decision_function)

    def predict(self, X: object) -> Array:
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
    def predict_proba(self, X: object) -> Array:
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
