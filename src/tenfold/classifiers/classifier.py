"""A bank of class-specific models: one subspace per class, all from one set of statistics."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property, partial
from math import prod
from numbers import Integral
from operator import is_
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.metrics import accuracy_score
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import has_fit_parameter

from tenfold.classifiers.folds import folds_of
from tenfold.linalg.algebra import shrinking_order
from tenfold.linalg.arrays import (
    Array,
    asarray_like,
    empty_like,
    float_type,
    namespace_of,
    of_type,
    permuted,
    reshaped,
    square_lengths,
    to_numpy,
    wide_type,
)
from tenfold.linalg.constants import CACHE_NUMBERS, DEVICE_BYTES, THREAD_BYTES
from tenfold.methods.base import Learner, Shape
from tenfold.methods.class_specific import (
    ClassModel,
    ClassSpecificProjector,
    spreads_of,
)
from tenfold.methods.csda import CSDA
from tenfold.optimization.alternation import Recipe, Solution
from tenfold.optimization.criteria import Problem
from tenfold.serialization.values import Axes, check_agree
from tenfold.statistics.accumulate import row_blocks
from tenfold.statistics.class_statistics import ClassStatistics
from tenfold.statistics.moments import ClassMoments
from tenfold.statistics.stores import OfBlock, compose, over_blocks
from tenfold.statistics.subspace import of_contrasts, signed_distance
from tenfold.threads import over_threads
from tenfold.validation import samples as check
from tenfold.validation.containers import in_numpy
from tenfold.validation.labels import present_labels
from tenfold.validation.parameter_types import Folds, Normalize
from tenfold.validation.samples import InputInfo


def _learns_from_parts(bank: ClassSpecificClassifier) -> bool:
    if not getattr(bank._method, "_streams", True):
        raise ValueError(f"{bank._method!r} learns from all samples at once; use fit")
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
        labels = in_numpy(y, "y")
        weight = in_numpy(sample_weight, "sample_weight")
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

    # -- what the projector says ------------------------------------------------------------------

    @property
    def _method(self) -> ClassSpecificProjector:
        """The projector, or the default one."""
        return CSDA() if self.projector is None else self.projector

    @property
    def sample_shape(self) -> Any:
        """The `sample_shape` of the projector."""
        return self._method.sample_shape

    @property
    def _flattens(self) -> bool:  # type: ignore[override]
        """Whether the projector treats samples as vectors."""
        return bool(self._method._flattens)

    @property
    def _streams(self) -> bool:  # type: ignore[override]
        """Whether the projector can learn from moments."""
        return bool(self._method._streams)

    def _map_samples(
        self, input_info: InputInfo, X: Any, weight: Array | None
    ) -> tuple[InputInfo, Any]:
        """As the projector does it, once for all classes."""
        return self._method._map_samples(input_info, X, weight)

    def of_classes(self, classes: Array) -> list[ClassSpecificProjector]:
        """The projector of each class, not fitted."""
        bare = clone(self._method)
        members = [copy(bare) for _ in classes]  # a clone costs as much as solving a model
        for member, label in zip(members, classes, strict=True):
            member.positive = label
        return members

    # -- what a learner says ----------------------------------------------------------------------

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

    def _model_ranks(self, shape: Shape, classes: Array) -> Array:
        """Those of the projectors of all classes."""
        each = [member._model_ranks(shape, classes) for member in self.of_classes(classes)]
        return np.concatenate(each)

    def _problem(self, statistics: ClassStatistics) -> Problem:
        """The problems of the projectors of all classes, as one stack."""
        members = self.of_classes(statistics.classes)
        return Problem.stacked([member._problem(statistics) for member in members])

    def _recipe(self) -> Recipe:
        """How the problem of every projector is solved."""
        return self._method._recipe()

    def _model(
        self, statistics: ClassStatistics, solution: Solution, numbers: Array, shape: Shape
    ) -> Bank:
        """What was learned of samples of this shape, from these solutions of a stack."""
        members = self.of_classes(statistics.classes)
        found = self._method._models(members, statistics, solution, numbers, shape)
        if found[0].contrasts.size:
            return Bank(found, {})
        own, others = spreads_of(self._method, found, statistics, solution, numbers)
        return Bank(found, {"spreads_": own, "other_spreads_": others})

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
                for member, own in zip(self.of_classes(one.classes), model.members, strict=True)
            ]
        super()._set_fitted(check.of_samples(input_info), None, moments, **more)
        if model is not None:
            self._subspaces()
        return self

    def _warn_unless_converged(self, solution: Solution) -> None:
        """Warn of models that still moved in the last round."""
        self._method._warn_unless_converged(solution)

    def _warn_of(self, model: Bank) -> None:
        """Warn of fewer directions than were asked for."""
        self._method._warn_of(model.members)

    def _is_learnable(self, moments: ClassMoments) -> bool:
        """Whether the moments hold samples of all classes."""
        return bool((moments.counts > 0).all())

    # -- fitting ----------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
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

    def _out_of_fold(self, cv: Any, X: Any, labels: Array, weight: Array | None) -> Array:
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
            Comparable across classes as `normalize` says; the least is that of `predict`.
        """
        return self._from_distances(X, np.asarray)

    def _from_distances(self, X: Any, finish: OfBlock) -> Array:
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
    def decision_function(self, X: Any) -> Array:
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


# ── Distances in the subspaces of many classes ──────────────────────────────────────────────────
#
# Nothing here holds a model: a function and the few matrices it needs can be sent to other
# processes, however many moments the model keeps.


@dataclass(frozen=True, eq=False)
class Subspaces:
    """M subspaces with a centre each, stacked so that samples meet all of them at once.

    Parameters
    ----------
    order : tuple of K ints
        The modes in the order in which they are projected.
    projections : list of K ndarrays of shape (M, r_k, I_k)
        ``W_k^T`` of every model, in that order of modes; rows of zeros pad lower ranks.
    origin : ndarray of shape (I_1, ..., I_K)
        What is subtracted from samples before they are projected, so that an offset that all
        centres share costs no digits.
    centres : ndarray of shape (M, r_1, ..., r_K, 1)
        The projected centres about the origin, in that order of modes.
    contrasts : ndarray of shape (M, 1 + q, r_1 * ... * r_K) or None
        What likelihood ratios are made of, in that order of modes, if they are asked for.
    """

    order: tuple[int, ...]
    projections: list[Array]
    origin: Array
    centres: Array
    contrasts: Array | None = None

    @classmethod
    def stacked(
        cls,
        projections: list[list[Array]],
        means: list[Array],
        contrasts: list[Array] | None = None,
    ) -> Subspaces:
        """From the K projections (I_k, r_k), the centre and the contrasts of each model."""
        stacks = [_stacked(per_model) for per_model in zip(*projections, strict=True)]
        order = tuple(shrinking_order([W.swapaxes(1, 2) for W in stacks]))
        ordered = [stacks[k] for k in order]
        centres = np.stack(means).reshape(len(means), *(W.shape[2] for W in stacks))
        origin = centres.mean(axis=0)
        about = (centres - origin).transpose(0, *(k + 1 for k in order))
        projected = _project_each(about[..., None], ordered)
        if contrasts is None:
            return cls(order, ordered, origin, projected)
        ranks = [[W.shape[1] for W in own] for own in projections]
        widest = [stack.shape[1] for stack in stacks]
        width = max(own.shape[1] for own in contrasts)
        padded = np.zeros((len(contrasts), *widest, width))
        for to, own, shape in zip(padded, contrasts, ranks, strict=True):
            to[(*map(slice, shape), slice(own.shape[1]))] = own.reshape(*shape, -1)
        turned = padded.transpose(0, len(order) + 1, *(k + 1 for k in order))
        turned = np.ascontiguousarray(turned).reshape(len(contrasts), width, -1)
        return cls(order, ordered, origin, projected, turned)

    @cached_property
    def _squares_fit_float32(self) -> bool:
        size = max(np.abs(self.origin).max(), np.abs(self.centres).max())
        return bool(1e-15 < size < 1e15)

    def squared_distances(self, X: Array) -> Array:
        """Squared distances (n, M) of samples from the centres, each in its own subspace.

        With contrasts, the log likelihood ratios without their offsets.
        """
        n = X.shape[0]
        n_all = len(self.centres)
        X = reshaped(X, (n, *self.origin.shape))
        dtype = float_type(X) if self._squares_fit_float32 else wide_type(X)
        stacks = [asarray_like(W, X, dtype) for W in self.projections]
        centres = asarray_like(self.centres, X, dtype)
        origin = asarray_like(self.origin, X)
        contrasts = None if self.contrasts is None else asarray_like(self.contrasts, X, dtype)
        axes = (*(k + 1 for k in self.order), 0)  # samples last
        on_host = isinstance(X, np.ndarray)
        room = CACHE_NUMBERS if on_host else DEVICE_BYTES // 8
        largest = self.origin.size * stacks[0].shape[1] // stacks[0].shape[2]  # per model, sample
        n_rows = max(32, room // (largest * n_all))
        n_models = max(1, room // (largest * n_rows))

        def turned(rows: Array) -> Array:
            found: Array = of_type(permuted(rows - origin, axes), dtype)
            return found

        if 0 < n <= n_rows and n_all <= n_models:
            return _squares(turned(X), stacks, centres, contrasts).T
        result: Array = empty_like(X, (n, n_all), dtype)

        def work(part: slice) -> None:
            for start in range(part.start, part.stop, n_rows):
                rows = slice(start, min(start + n_rows, part.stop))
                block = turned(X[rows, ...])
                for first in range(0, n_all, n_models):
                    models = slice(first, min(first + n_models, n_all))
                    own = [W[models, ...] for W in stacks]
                    seen = None if contrasts is None else contrasts[models, ...]
                    result[rows, models] = _squares(block, own, centres[models, ...], seen).T

        whole = [slice(0, n)]
        parts = list(row_blocks(n, X[:1].nbytes, THREAD_BYTES)) if on_host else whole
        if len(parts) > 1:
            over_threads(work, parts)
        elif parts:
            work(parts[0])
        return result


def _squares(block: Array, stacks: list[Array], centres: Array, contrasts: Array | None) -> Array:
    """Squared distances (M, n) of samples (I_1, ..., I_K, n) from the centres of M models."""
    Y = project_by_all(block, stacks)
    Y -= centres
    if contrasts is not None:
        return of_contrasts(contrasts @ reshaped(Y, (Y.shape[0], -1, Y.shape[-1])), 0.0)
    if Y.shape[-1] == 1:
        lengths: Array = square_lengths(reshaped(Y, (Y.shape[0], -1)))[:, None]
        return lengths
    Y *= Y
    total: Array = namespace_of(Y).sum(reshaped(Y, (Y.shape[0], -1, Y.shape[-1])), axis=1)
    return total


def project_by_all(block: Array, stacks: list[Array]) -> Array:
    """Samples (I_1, ..., I_K, n) projected by M models at once, (M, r_1, ..., r_K, n).

    `stacks` holds ``W_k^T`` of every model, (M, r_k, I_k). The first mode is one product for all
    models and samples.
    """
    first, *rest = stacks
    size = block.shape[0]
    Y = reshaped(first, (-1, size)) @ reshaped(block, (size, -1))
    return _project_each(reshaped(Y, (*first.shape[:2], *block.shape[1:])), rest, skip=1)


def _project_each(Y: Array, stacks: Sequence[Array], skip: int = 0) -> Array:
    """Each model's own tensors (M, I_1, ..., I_K, n), all modes but the first `skip` projected."""
    for axis, W in enumerate(stacks, start=skip + 1):
        before = prod(Y.shape[1:axis])
        after = prod(Y.shape[axis + 1 :])
        if after == 1:  # the last mode of one sample: one product per model
            product = reshaped(Y, (W.shape[0], before, W.shape[2])) @ W.mT
        else:
            product = W[:, None, ...] @ reshaped(Y, (W.shape[0], before, W.shape[2], after))
        Y = reshaped(product, (*Y.shape[:axis], W.shape[1], *Y.shape[axis + 1 :]))
    return Y


def _stacked(projections: Sequence[Array]) -> Array:
    """``W^T`` of M models, padded with rows of zeros, (M, r_k, I_k); no copy if that is there."""
    widest = max(W.shape[1] for W in projections)
    shape = (len(projections), widest, len(projections[0]))
    whole = projections[0].base
    if (
        isinstance(whole, np.ndarray)
        and whole.shape == shape
        and all(
            W.T.strides == own.strides and np.may_share_memory(own, W)
            for own, W in zip(whole, projections, strict=True)
        )
    ):
        return np.asarray(whole)
    stack = np.zeros(shape)
    for padded, W in zip(stack, projections, strict=True):
        padded[: W.shape[1]] = W.T
    return stack


def distances_to_classes(X: Array, subspaces: Subspaces, spreads: Array | None) -> Array:
    """Distances (n, C) from every class mean in its own subspace, in units of the spreads."""
    squared = subspaces.squared_distances(X)
    distances: Array = namespace_of(squared).sqrt(squared)
    return (
        distances if spreads is None else distances / asarray_like(spreads, squared, squared.dtype)
    )


def distances_of_classes(
    X: Array, subspaces: Subspaces, offsets: Array, anchors: Array | None
) -> Array:
    """How far samples are from every class by its likelihood ratio, (n, C).

    Without anchors, minus the log likelihood ratios.
    """
    ratios = to_numpy(subspaces.squared_distances(X)).astype(float) + offsets
    return -ratios if anchors is None else signed_distance(ratios, anchors)


def preference(distances: Array, compete: bool) -> Array:
    """Scores (n, C), or (n,) for two classes, from distances (n, C).

    Classes that compete for a sample lose the mean of its two best scores.
    """
    if distances.shape[1] == 2:
        return np.asarray(distances[:, 0] - distances[:, 1])
    if compete:
        best = np.partition(distances, 1, axis=1)
        return np.asarray((best[:, :1] + best[:, 1:2]) / 2 - distances)
    return -distances


def nearest(distances: Array, classes: Array) -> Array:
    """The label (n,) with the least of the distances (n, C)."""
    return np.asarray(classes[distances.argmin(axis=1)])
