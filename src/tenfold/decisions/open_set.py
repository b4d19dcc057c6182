"""A classifier that may answer "none of these", with a promised rate for strangers."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from math import ceil
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import get_tags

from tenfold.decisions.classifier import ClassSpecificClassifier
from tenfold.decisions.members import innermost, unwrap
from tenfold.decisions.probabilistic import ProbabilisticLDA
from tenfold.decisions.thresholds import (
    ENOUGH_CLASSES,
    Impostors,
    RateWarning,
    quantile_or_tail,
    warn_of_rate,
)
from tenfold.mathematics.algebra import Array, to_numpy
from tenfold.methods.base import Labels, Learner, Savable, TensorProjector
from tenfold.methods.saving import steps_of
from tenfold.system.plain_values import check_agree
from tenfold.validation import parameters
from tenfold.validation import samples as check

LIMIT = float(np.finfo(np.float64).max)  # a threshold that no score reaches


@dataclass(frozen=True, eq=False)
class OpenSetModel:
    """What is learned to name or reject; `OpenSetClassifier` says what the fields are."""

    model: Any
    classes: Labels
    unknown: Any
    threshold: float
    error_rates: dict[str, float]
    promised_rate: float


@dataclass(eq=False, repr=False)
class OpenSetClassifier(ClassifierMixin, Savable, BaseEstimator):
    """Name the class of a sample, or answer that it is of none of the known classes.

    A sample is accepted when the largest of its scores for all classes reaches a threshold, and is
    then named as the model names it. The threshold is set on strangers: classes are left out in
    groups, the model is fitted without them, and their samples are scored by it. So the rate of
    false accepts is that of a sample of a new class over *all* known classes.

    Parameters
    ----------
    model : ProbabilisticLDA, ClassSpecificClassifier, pipeline ending in one, or None, default=None
        The classifier, with its parameters; None means ``ProbabilisticLDA()``. Steps of a pipeline
        are fitted without the classes that are left out, too.
    false_accept_rate : float from 0 to 1, default=0.01
        The share of samples of new classes that may be named as one of the known classes.
    unknown : label or None, default=None
        The answer for samples that are rejected. None means "unknown" where labels are text, and a
        whole number below all labels, -1 at most, where they are numbers.
    n_groups : int, default=10
        How many groups of classes to leave out in turn, one model each; no more than there are
        classes.

    Attributes
    ----------
    model_ : classifier
        The model, fitted on all samples.
    classes_ : ndarray of shape (C,)
        The labels, sorted; `unknown_` is not among them.
    unknown_ : label
        The answer for samples that are rejected.
    threshold_ : float
        Samples whose `score_samples` is at least this are accepted.
    error_rates_ : dict
        Shares of the samples of classes that were left out: "false_accepts" at the threshold.
    promised_rate_ : float
        The least rate that these classes can promise whatever the distribution of scores is:
        1 / (C + 1), and 1 for two classes, of which none can be left out. Samples of one class are
        alike, so classes count and not samples.
    sample_shape_ : tuple of K ints
        The shape of a sample.

    Warns
    -----
    RateWarning
        When the asked rate is below `promised_rate_`. With 10 classes or more the threshold then
        extrapolates from the upper half of the strangers' scores; with fewer it is just above the
        highest of them.

    Notes
    -----
    A model without some classes has fewer classes that can accept a stranger. The rate asked of it
    is lower by the same share: ``1 - (1 - rate) ** (C' / C)`` for C' of C classes.

    With two classes a model without one of them tells nothing. Their samples are then strangers to
    the other class in the model of both, and nothing is promised.

    Scores are log likelihood ratios of `ProbabilisticLDA`, and minus `distances` of a
    `ClassSpecificClassifier`: both say how like one class a sample is, whatever other classes there
    are. A threshold per class would promise a rate for that class alone, and strangers have as many
    chances as there are classes.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from tenfold import OpenSetClassifier
    >>> X, y = load_digits().images, load_digits().target
    >>> known = y[:300] < 8
    >>> model = OpenSetClassifier(false_accept_rate=0.2).fit(X[:300][known], y[:300][known])
    >>> model.classes_.tolist(), model.unknown_
    ([0, 1, 2, 3, 4, 5, 6, 7], -1)
    >>> answers = model.predict(X[900:])
    >>> new = y[900:] > 7
    >>> bool(np.mean(answers[new] != -1) < 0.4), bool(np.mean(answers[~new] == y[900:][~new]) > 0.6)
    (True, True)
    """

    _value: ClassVar = OpenSetModel
    _allowed: ClassVar = {
        "false_accept_rate": (parameters.Number(0, 1),),
        "n_groups": (parameters.Number(2, whole=True),),
    }

    model: Any = None
    _: KW_ONLY
    false_accept_rate: float = 0.01
    unknown: Any = None
    n_groups: int = 10

    # -- fitting ----------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the classes, and the threshold for strangers.

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
            The samples. A store is read for the model of all classes, and for that of every group.
        y : array-like of shape (n,)
            Class labels, at least two, none of them `unknown`.
        sample_weight : array-like of shape (n,), default=None
            Non-negative weights; of a pipeline they reach its last step.

        Returns
        -------
        self
            The fitted classifier.
        """
        model = self._model()
        self._check_parameters(model)
        labels = check.check_labels(self, X, y)
        weight = check.check_weights(labels, sample_weight)
        unknown = self._unknown_label(labels)
        if isinstance(model, Learner):  # a memory map may be larger than memory
            X = check.as_source(X) or X
        whole = _fitted(model, X, labels, weight)
        classes = whole.classes_
        used = np.arange(len(labels)) if weight is None else np.flatnonzero(weight)
        codes = np.searchsorted(classes, labels[used])
        if len(classes) == 2:
            scores = class_scores_of(whole, check.rows_of(X, used))[np.arange(len(used)), 1 - codes]
            n_left, promised = 1.0, 1.0
        else:
            groups, scores = self._groups(len(classes)), np.empty(len(used))
            for group in range(groups.max() + 1):
                held = np.flatnonzero(groups[codes] == group)
                left_out = classes[groups == group]
                part = _fitted_without(left_out, model, X, labels, weight)
                scores[held] = class_scores_of(part, check.rows_of(X, used[held])).max(axis=1)
            n_left, promised = len(classes) - np.bincount(groups).mean(), 1 / (len(classes) + 1)
        rate = 1 - (1 - float(self.false_accept_rate)) ** (n_left / len(classes))
        counts = np.ones(len(used)) if weight is None else weight[used]
        strangers = Impostors(-scores, counts, codes)
        threshold = _threshold(strangers, rate, len(classes))
        if len(classes) < ENOUGH_CLASSES and rate > 0:
            threshold = min(threshold, float(np.nextafter(scores.max(), np.inf)))
        self._warn(len(classes), promised)
        accepted = float(np.average(scores >= threshold, weights=strangers.shares()))
        rates = {"false_accepts": accepted}
        learned = OpenSetModel(whole, classes, unknown, threshold, rates, promised)
        return self._set_fitted(check.description_of(steps_of(whole)[0]), learned)

    def _model(self) -> Any:
        return ProbabilisticLDA() if self.model is None else self.model

    def _check_learned(self) -> None:
        """Refuse a model of other samples or classes, or one that names no classes."""
        first, last = steps_of(self.model_)[0], innermost(self.model_)
        if not isinstance(last, ProbabilisticLDA | ClassSpecificClassifier):
            raise ValueError(f"its model_ is {self.model_!r:.80}, which names no classes")
        for step in (first, last):
            if not hasattr(step, "sample_shape_"):
                raise ValueError(f"its model_ is {self.model_!r:.80}, which is not fitted")
        check_agree("model_", first.sample_shape_, self.sample_shape_)
        check_agree("classes_", self.classes_.tolist(), last.classes_.tolist())
        if self.unknown_ in self.classes_.tolist():
            raise ValueError("its unknown_ is one of its classes")

    def _check_parameters(self, model: Any) -> None:
        """Validate parameters."""
        if not isinstance(innermost(model), ProbabilisticLDA | ClassSpecificClassifier):
            raise ValueError(
                f"model is {model!r:.200}; expected a ProbabilisticLDA, a ClassSpecificClassifier, "
                "or a pipeline that ends in one"
            )
        parameters.check_declared(self)
        unknown = self.unknown
        if not (unknown is None or np.ndim(unknown) == 0) or unknown != unknown:
            raise ValueError(
                f"unknown is {unknown!r}; expected one label, such as 'stranger' or -1, or None; "
                "nan equals no label"
            )

    def _unknown_label(self, labels: Array) -> Any:
        """The answer for samples that are rejected, which is no label."""
        unknown = self.unknown
        if unknown is None and labels.dtype.kind in "biuf":
            return min(-1, ceil(labels.min(initial=0)) - 1)
        unknown = "unknown" if unknown is None else parameters.plain(unknown)
        if unknown in set(labels.tolist()):
            raise ValueError(
                f"unknown is {unknown!r}, and samples have this label; expected an answer that is "
                "no class; leave those samples out, or pass another unknown"
            )
        return unknown

    def _groups(self, n_classes: int) -> Array:
        """The group of each class; without any of them there are two classes at least."""
        n_groups = max(int(self.n_groups), ceil(n_classes / (n_classes - 2)))
        dealt: Array = np.random.default_rng(0).permutation(n_classes) % min(n_groups, n_classes)
        return dealt

    def _warn(self, n_classes: int, promised: float) -> None:
        """Say so where the asked rate is more than the classes can promise."""
        rate = float(self.false_accept_rate)
        if n_classes > 2:
            above = "extrapolates from" if n_classes >= ENOUGH_CLASSES else "is above all"
            how = f"{above} scores of classes that were left out"
            warn_of_rate(rate, promised, f"{n_classes} classes", how)
        elif 0 < rate < 1:
            warnings.warn(
                f"asked for a false-accept rate of {rate:g}, but a model without one of two "
                "classes tells nothing, so nothing is promised; the threshold is set on how "
                "samples of each class score for the other",
                RateWarning,
                stacklevel=3,
            )

    # -- using ------------------------------------------------------------------------------------

    @property
    def members_(self) -> list[TensorProjector]:
        """The fitted projectors of the model."""
        check.check_fitted(self, "model_")
        members: list[TensorProjector] = innermost(self.model_).members_
        return members

    def score_samples(self, X: Any) -> Array:
        """How like the best of all classes each sample is.

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
            The samples.

        Returns
        -------
        ndarray of shape (n,)
            The largest log likelihood ratio, or minus the least distance. A sample is accepted
            where this is at least `threshold_`.
        """
        check.check_fitted(self, "model_")
        return np.asarray(class_scores_of(self.model_, X).max(axis=1))

    def predict(self, X: Any) -> Array:
        """The class of every sample, or `unknown_`.

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
            The samples.

        Returns
        -------
        ndarray of shape (n,)
            Labels; of type object where labels are numbers and `unknown_` is text, or the reverse.
            Booleans beside a number are 1 and 0, as scikit-learn's metrics want them.
        """
        accepted = self.score_samples(X) >= self.threshold_
        named, unknown = to_numpy(self.model_.predict(X)), np.asarray(self.unknown_)
        kinds = {named.dtype.kind, unknown.dtype.kind}
        if len(kinds) == 1 or kinds <= set("biuf"):
            return np.where(accepted, named, unknown)
        answers = named.astype(object)
        answers[~accepted] = self.unknown_
        return answers

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of right answers: `unknown_` is right for samples of all other classes.

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
            The samples.
        y : array-like of shape (n,)
            Their labels. One that is not among `classes_` is a stranger's.
        sample_weight : array-like of shape (n,), default=None
            Sample weights.

        Returns
        -------
        float
            Between 0 and 1.
        """
        answers = self.predict(X)
        labels = check.check_labels(self, answers, y)
        weight = check.check_weights(answers, sample_weight)
        return float(np.average(are_right(self, answers, labels), weights=weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self._model()).input_tags
        tags.classifier_tags.poor_score = True  # of two or three classes most are rejected
        return tags


def are_right(model: Any, answers: Array, labels: Array) -> Array:
    """Which answers (n,) of a model that may reject are right, for samples with these labels."""
    known = set(model.classes_.tolist())
    wanted = [label if label in known else model.unknown_ for label in labels.tolist()]
    return np.array([a == b for a, b in zip(answers.tolist(), wanted, strict=True)])


def class_scores_of(model: Any, X: Any) -> Array:
    """How like each class samples are, (n, C), whatever other classes there are."""
    inner, prepare = unwrap(model)
    X = prepare(X)
    if isinstance(inner, ProbabilisticLDA):
        return to_numpy(inner.log_likelihood_ratio(X))
    return -to_numpy(inner.distances(X))


def _fitted(model: Any, X: Any, labels: Array, weight: Array | None) -> Any:
    """A model of all samples; weights reach the last step of a pipeline."""
    last = f"{model.steps[-1][0]}__" if hasattr(model, "steps") else ""
    named = {} if weight is None else {f"{last}sample_weight": weight}
    return clone(model).fit(X, labels, **named)


def _fitted_without(classes: Array, model: Any, X: Any, labels: Array, weight: Array | None) -> Any:
    """A model that has not met these classes; priors of all would not fit, and do not matter."""
    model = clone(model)
    inner = innermost(model)
    if isinstance(inner, ProbabilisticLDA):
        inner.set_params(priors="equal")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the model of all classes said it
            rows = np.flatnonzero(~np.isin(labels, classes))
            some = None if weight is None else weight[rows]
            return _fitted(model, check.rows_of(X, rows), labels[rows], some)
    except ValueError as error:
        raise ValueError(
            f"classes {classes[:5].tolist()} cannot be left out to choose the threshold, since the "
            f"model cannot learn from the others alone: {error}"
        ) from error


def _threshold(strangers: Impostors, rate: float, n: int) -> float:
    """The score from which on to accept, for scores of strangers with the opposite sign."""
    if rate <= 0:
        return LIMIT
    far = quantile_or_tail(strangers.farness, strangers.shares(), rate, n)
    return float(np.nextafter(max(-far, -LIMIT), np.inf))
