"""A classifier that may answer "none of these", at a rate for strangers."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import Tags, get_tags
from sklearn.utils.metaestimators import available_if

from tenfold.classifiers.classifier import ClassSpecificClassifier
from tenfold.classifiers.members import innermost, unwrap
from tenfold.classifiers.probabilistic import ProbabilisticLDA, groups_of_classes
from tenfold.classifiers.thresholds import (
    FalseAcceptRateWarning,
    Impostors,
    stranger_threshold,
    warn_of_rate,
)
from tenfold.gaussian.model import LeftOut
from tenfold.gaussian.pool import softmax
from tenfold.linalg.arrays import Array, to_numpy
from tenfold.methods.base import Labels, Learner, Savable, TensorProjector
from tenfold.methods.saving import sample_shape_of, steps_of
from tenfold.quiet import quietly, warn
from tenfold.serialization.values import check_agree
from tenfold.validation import parameters
from tenfold.validation import samples as check
from tenfold.validation.containers import as_source, rows_of
from tenfold.validation.labels import check_labels
from tenfold.validation.parameter_types import Label, Numeric, Whole

EXACT = 2**53  # up to here a float64 holds every whole number
LIMIT = float(np.finfo(np.float64).max)  # a threshold that no score reaches


def _has_likelihood_ratios(classifier: OpenSetClassifier) -> bool:
    if isinstance(innermost(classifier._model()), ProbabilisticLDA):
        return True
    raise ValueError("distances are not probabilities; use a ProbabilisticLDA as the model")


@dataclass(frozen=True, eq=False)
class OpenSetModel:
    """What is learned to name or reject; `OpenSetClassifier` says what the fields are."""

    model: Any
    classes: Labels
    unknown: Any
    threshold: float
    error_rates: dict[str, float]
    guaranteed_rate: float


@dataclass(eq=False, repr=False)
class OpenSetClassifier(ClassifierMixin, Savable, BaseEstimator):
    """Name the class of a sample, or answer that it is of none of the known classes.

    A sample is accepted when the largest of its scores for all classes reaches a threshold, and is
    then named as the model names it. The threshold is set on strangers: classes are left out, and
    their samples are scored by a model without them. So the rate of false accepts is that of a
    sample of a new class over *all* known classes. `ProbabilisticLDA` leaves out every class in
    closed form, from one fit, and strangers also weigh its views in the ratio against a stranger;
    other models are fitted once for each group of classes.

    Parameters
    ----------
    model : ProbabilisticLDA, ClassSpecificClassifier, pipeline ending in one, or None, default=None
        The classifier, with its parameters; None means ``ProbabilisticLDA()``. Steps of a pipeline
        are fitted without the classes that are left out, too.
    false_accept_rate : float from 0 to 1, default=0.01
        The share of samples of new classes that may be named as one of the known classes.
    unknown : label or None, default=None
        The answer for samples that are rejected. None means "unknown" where labels are text. Where
        they are numbers it means a whole number below all of them, -1 at most; where no such number
        can be told from its neighbours in a float64, the largest below 0 that is no label.
    n_groups : int, default=10
        How many groups of classes to leave out in turn; no more than there are classes.

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
        "false_accepts": the share of samples of left-out classes that reach the threshold.
        "false_rejects", of a `ProbabilisticLDA`: the share of left-out samples of known classes
        that do not.
    guaranteed_rate_ : float
        The least rate that these classes can guarantee whatever the distribution of scores is:
        1 / (C + 1), and 1 for two classes, of which none can be left out. Samples of one class are
        alike, so classes count and not samples. It is guaranteed on average over draws of known
        and new classes from the same population. A rate below is an estimate.
    sample_shape_ : tuple of K ints
        The shape of a sample.

    Warns
    -----
    FalseAcceptRateWarning
        When the asked rate is below `guaranteed_rate_`. The rate is then an estimate: a quantile
        of left-out samples where these are enough, else its mean with an extrapolation of the
        upper tail of their largest scores.

    Notes
    -----
    A model without some classes has fewer classes that can accept a stranger. The rate asked of it
    is lower by the same share: ``1 - (1 - rate) ** (C' / C)`` for C' of C classes.

    With two classes a model without one of them tells nothing. Their samples are then strangers to
    the other class in the model of both, and nothing is guaranteed.

    Scores are log likelihood ratios of `ProbabilisticLDA`, and minus `distances` of a
    `ClassSpecificClassifier`: both say how like one class a sample is, whatever other classes there
    are. A threshold per class would guarantee a rate for that class alone, and strangers have as
    many chances as there are classes.

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
    false_accept_rate: Numeric = 0.01
    unknown: Label = None
    n_groups: Whole = 10
    # What was learned: the fields of `OpenSetModel`.
    model_: Any = field(init=False)
    classes_: Labels = field(init=False)
    unknown_: Any = field(init=False)
    threshold_: float = field(init=False)
    error_rates_: dict[str, float] = field(init=False)
    guaranteed_rate_: float = field(init=False)

    # -- fitting ----------------------------------------------------------------------------------

    def fit(self, X: object, y: object = None, sample_weight: object = None) -> Self:
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
        labels = check_labels(self, X, y)
        weight = check.check_weights(labels, sample_weight)
        unknown = self._unknown_label(labels if weight is None else labels[weight > 0])
        if isinstance(model, Learner):  # a memory map may be larger than memory
            X = as_source(X) or X
        whole, left_out = self._fitted_and_left_out(model, X, labels, weight)
        classes = whole.classes_
        rate = float(self.false_accept_rate)
        n_classes = len(classes)
        guaranteed = 1.0 if n_classes == 2 else 1 / (n_classes + 1)
        threshold = _threshold(left_out, rate)
        self._warn(n_classes, guaranteed)
        largest = left_out.of_strangers().max(axis=1)
        seen = np.isfinite(largest)
        strangers = Impostors(-largest[seen], left_out.weights[seen], left_out.codes[seen])
        accepted = largest[seen] >= threshold
        rates = {"false_accepts": float(np.average(accepted, weights=strangers.shares()))}
        own, weights = left_out.own()[1:]
        if len(own):
            rates["false_rejects"] = float(np.average(own < threshold, weights=weights))
        learned = OpenSetModel(whole, classes, unknown, threshold, rates, guaranteed)
        return self._set_fitted(check.input_info_of(steps_of(whole)[0]), learned)

    def _fitted_and_left_out(
        self, model: Any, X: object, labels: Array, weight: Array | None
    ) -> tuple[Any, LeftOut]:
        """The model of all samples, and scores of samples by models without their classes.

        A `ProbabilisticLDA` has these in closed form. Any other model is fitted once per group.
        """
        if isinstance(model, ProbabilisticLDA):
            whole = clone(model)
            found = whole._fit(X, labels, weight, None, int(self.n_groups))
            if found is not None:
                return whole, found
        whole = _fitted(model, X, labels, weight)
        return whole, self._refitted(whole, model, X, labels, weight)

    def _refitted(
        self, whole: Any, model: Any, X: object, labels: Array, weight: Array | None
    ) -> LeftOut:
        """Scores of samples by models that are fitted without groups of classes."""
        classes = whole.classes_
        used = np.arange(len(labels)) if weight is None else np.flatnonzero(weight)
        counts = np.ones(len(used)) if weight is None else weight[used]
        codes = np.searchsorted(classes, labels[used])
        if len(classes) == 2:
            scores = class_scores_of(whole, rows_of(X, used))
            scores[np.arange(len(used)), codes] = np.nan  # the model has met the sample
            return LeftOut(codes, counts, scores, 1.0)
        groups = groups_of_classes(len(classes), int(self.n_groups))
        scores = np.full((len(used), len(classes)), np.nan)
        for group in range(groups.max() + 1):
            held = np.flatnonzero(groups[codes] == group)
            part = _fitted_without(classes[groups == group], model, X, labels, weight)
            found = class_scores_of(part, rows_of(X, used[held]))
            scores[np.ix_(held, groups != group)] = found
        n_left = len(classes) - float(np.bincount(groups).mean())
        return LeftOut(codes, counts, scores, n_left)

    def _model(self) -> Any:
        return ProbabilisticLDA() if self.model is None else self.model

    def _check_learned(self) -> None:
        """Refuse a model of other samples or classes, or one that names no classes."""
        first = steps_of(self.model_)[0]
        last = innermost(self.model_)
        if not isinstance(last, ProbabilisticLDA | ClassSpecificClassifier):
            raise ValueError(f"its model_ is {self.model_!r:.80}, which names no classes")
        for step in (first, last):
            if not hasattr(step, "n_features_in_"):
                raise ValueError(f"its model_ is {self.model_!r:.80}, which is not fitted")
        check_agree("model_", sample_shape_of(first), self.sample_shape_)
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
        unknown: Any = self.unknown
        if not (unknown is None or np.ndim(unknown) == 0) or unknown != unknown:
            raise ValueError(
                f"unknown is {unknown!r}; expected one label, such as 'stranger' or -1, or None; "
                "nan equals no label"
            )

    def _unknown_label(self, labels: Array) -> Any:
        """The answer for samples that are rejected, which is no label."""
        unknown: Any = self.unknown
        if unknown is None and labels.dtype.kind in "biuf":
            return number_below({int(label) for label in np.unique(labels).tolist()})
        unknown = "unknown" if unknown is None else parameters.plain(unknown)
        if unknown in set(labels.tolist()):
            raise ValueError(
                f"unknown is {unknown!r}, and samples have this label; expected an answer that is "
                "no class; leave those samples out, or pass another unknown"
            )
        return unknown

    def _warn(self, n_classes: int, guaranteed: float) -> None:
        """Warn if the classes cannot guarantee the requested rate."""
        rate = float(self.false_accept_rate)
        if n_classes > 2:
            how = "extrapolates from scores of classes that were left out"
            warn_of_rate(rate, guaranteed, f"{n_classes} classes", how)
        elif 0 < rate < 1:
            warn(
                f"requested a false-accept rate of {rate:g}, but there are only two classes, so "
                "nothing is guaranteed: a model without one of them has a single class. The "
                "threshold is set on the scores that samples of each class get for the other",
                FalseAcceptRateWarning,
            )

    # -- using ------------------------------------------------------------------------------------

    @property
    def members_(self) -> list[TensorProjector]:
        """The fitted projectors of the model."""
        check.check_fitted(self, "model_")
        members: list[TensorProjector] = innermost(self.model_).members_
        return members

    def score_samples(self, X: object) -> Array:
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

    def decision_function(self, X: object) -> Array:
        """By how much the score of each sample exceeds the threshold: above 0 it is known.

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
            The samples.

        Returns
        -------
        ndarray of shape (n,)
            `score_samples` minus `threshold_`. `predict` names a class where it is not negative.
        """
        return self.score_samples(X) - self.threshold_

    @available_if(_has_likelihood_ratios)
    def predict_proba(self, X: object) -> Array:
        """The probability of every class, and that of being unknown.

        A sample is taken to be of a known class or of an unknown one with equal probability before
        it is seen, and known classes to be as frequent as `model_.priors_` says. The rest follows
        from the log likelihood ratios, which are calibrated on left-out samples. `predict` asks
        for a rate of false accepts instead, so it may reject a sample that is probably known.
        It needs a `ProbabilisticLDA`.

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
            The samples.

        Returns
        -------
        ndarray of shape (n, C + 1)
            Rows that sum to 1: the columns of `classes_`, and the last for `unknown_`.
        """
        check.check_fitted(self, "model_")
        with np.errstate(divide="ignore"):
            log_priors = np.log(innermost(self.model_).priors_)
        known = class_scores_of(self.model_, X) + log_priors
        return softmax(np.column_stack([known, np.zeros(len(known))]))

    def predict(self, X: object) -> Array:
        """The class of every sample, or `unknown_`.

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
            The samples.

        Returns
        -------
        ndarray of shape (n,)
            Labels, each exactly a class or `unknown_`; of type object where no other type holds
            all of them, as for text and numbers, or -1 and whole numbers from 2**63 on. Booleans
            beside a number are 1 and 0, as scikit-learn's metrics want them.
        """
        accepted = self.score_samples(X) >= self.threshold_
        named = to_numpy(self.model_.predict(X))
        answers = named.astype(type_of_answers(self.classes_, self.unknown_))
        answers[~accepted] = self.unknown_
        return answers

    def score(self, X: object, y: object, sample_weight: object = None) -> float:
        """Accuracy: `unknown_` is right for samples of all other classes.

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
        labels = check_labels(self, answers, y)
        weight = check.check_weights(answers, sample_weight)
        return float(np.average(are_right(self, answers, labels), weights=weight))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self._model()).input_tags
        tags.classifier_tags.poor_score = True  # of two or three classes most are rejected
        return tags


def number_below(labels: set[int]) -> int:
    """A whole number that is none of these labels, and that every type of numbers holds exactly."""
    below = min(-1, min(labels) - 1)
    if below >= -EXACT:
        return below
    below = -1
    while below in labels:
        below -= 1
    return below


def type_of_answers(classes: Array, unknown: Any) -> np.dtype[Any]:
    """The type of numbers or text that holds every class and the unknown label exactly."""
    label = np.asarray(unknown)
    kinds = {classes.dtype.kind, label.dtype.kind}
    candidates: list[Any] = []
    if kinds <= set("iu"):
        candidates = [np.int64, np.uint64]
    elif kinds <= set("biuf") or len(kinds) == 1:
        candidates = [np.result_type(classes, label)]
    wanted = [*classes.tolist(), label.item()]
    for dtype in candidates:
        try:
            held = np.array(wanted, dtype=dtype)
        except OverflowError:
            continue
        if held.tolist() == wanted:
            return held.dtype
    return np.dtype(object)


def are_right(model: Any, answers: Array, labels: Array) -> Array:
    """Which answers (n,) of a model that may reject are right, for samples with these labels."""
    known = set(model.classes_.tolist())
    wanted = [label if label in known else model.unknown_ for label in labels.tolist()]
    return np.array([a == b for a, b in zip(answers.tolist(), wanted, strict=True)])


def class_scores_of(model: Any, X: object) -> Array:
    """How like each class samples are, (n, C), whatever other classes there are."""
    inner, prepare = unwrap(model)
    X = prepare(X)
    if isinstance(inner, ProbabilisticLDA):
        return to_numpy(inner.log_likelihood_ratio(X))
    return -to_numpy(inner.distances(X))


def _fitted(model: Any, X: object, labels: Array, weight: Array | None) -> Any:
    """A model of all samples; weights reach the last step of a pipeline."""
    last = f"{model.steps[-1][0]}__" if hasattr(model, "steps") else ""
    named = {} if weight is None else {f"{last}sample_weight": weight}
    return clone(model).fit(X, labels, **named)


def _fitted_without(
    classes: Array, model: Any, X: object, labels: Array, weight: Array | None
) -> Any:
    """A model that has not met these classes; priors of all would not fit, and do not matter."""
    model = clone(model)
    inner = innermost(model)
    if isinstance(inner, ProbabilisticLDA):
        inner.set_params(priors="equal")
    try:
        rows = np.flatnonzero(~np.isin(labels, classes))
        some = None if weight is None else weight[rows]
        # The model of all classes warned already.
        return quietly(_fitted, model, rows_of(X, rows), labels[rows], some)
    except ValueError as error:
        raise ValueError(
            f"classes {classes[:5].tolist()} cannot be left out to choose the threshold, since the "
            f"model cannot learn from the others alone: {error}"
        ) from error


def _threshold(left_out: LeftOut, rate: float) -> float:
    """The score from which on to accept; 0 accepts nobody, and 1 everybody."""
    if rate <= 0:
        return LIMIT
    if rate >= 1:
        return -LIMIT
    scores = left_out.of_strangers()
    seen = np.isfinite(scores).any(axis=1)
    found = stranger_threshold(
        scores[seen], left_out.codes[seen], left_out.weights[seen], rate, left_out.n_left
    )
    return float(np.nextafter(np.clip(found, -LIMIT, LIMIT), np.inf))
