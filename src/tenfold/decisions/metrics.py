"""Metrics of an evaluation: what the scores and decisions of a model are worth on samples."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata
from sklearn.metrics import confusion_matrix, roc_curve

from tenfold.decisions.members import (
    Answer,
    answer_of,
    innermost,
    known_classes,
    names_classes,
    rejecting,
    unwrap,
)
from tenfold.decisions.open_set import are_right
from tenfold.decisions.probabilistic import ProbabilisticLDA
from tenfold.decisions.scores import (
    ClassScores,
    all_scores,
    class_scores,
    decisions_of,
    labels_like,
    of_both_classes,
)
from tenfold.mathematics.accumulate import check_same_kind
from tenfold.mathematics.algebra import Array
from tenfold.methods.base import Learner
from tenfold.validation import samples as check

N_BINS = 10
MEANS = ("average_precision", "roc_auc", "equal_error_rate")


@dataclass(frozen=True, eq=False)
class ClassMetrics:
    """What the scores of one class are worth on the samples at hand.

    Parameters
    ----------
    label : label
        The class.
    scores : ndarray of shape (n,)
        The scores.
    is_positive : ndarray of shape (n,)
        Which samples are of the class.
    threshold : float or None
        Samples that score at least this are accepted; None when there is nothing to choose it by.
    chosen_here : bool
        Whether the threshold was chosen on these very samples, for equal errors.
    average_precision, roc_auc, equal_error_rate : float or None
        Shares; None when one of the two groups has no sample.
    """

    label: Any
    scores: Array
    is_positive: Array
    threshold: float | None
    chosen_here: bool
    average_precision: float | None = None
    roc_auc: float | None = None
    equal_error_rate: float | None = None

    @property
    def n_positive(self) -> int:
        """Samples of the class."""
        return int(self.is_positive.sum())

    @property
    def n_others(self) -> int:
        """Samples of other classes."""
        return len(self.scores) - self.n_positive

    @property
    def false_rejects(self) -> int:
        """Samples of the class below the threshold."""
        return int((self.is_positive & ~self.accepted).sum())

    @property
    def false_accepts(self) -> int:
        """Other samples at or above the threshold."""
        return int((~self.is_positive & self.accepted).sum())

    @property
    def accepted(self) -> Array:
        """Which samples score at least the threshold."""
        return self.scores >= (np.inf if self.threshold is None else self.threshold)

    def hardest(self, n: int) -> tuple[Array, Array]:
        """Positions of the n worst samples of the class, and of the n best of the others."""
        order = np.argsort(self.scores, kind="stable")
        own = order[self.is_positive[order]]
        others = order[~self.is_positive[order]][::-1]
        return own[:n], others[:n]


@dataclass(frozen=True, eq=False)
class Evaluation:
    """A model on labelled samples, in figures.

    Parameters
    ----------
    model : bank, ProbabilisticLDA, verifier or class-specific projector
        The model.
    y : ndarray of shape (n,)
        The labels, in the type of the model's classes.
    classes : list of ClassMetrics
        One per class of a model that names classes, else one. Scores of `ProbabilisticLDA` are
        logarithms of probabilities.
    decisions : ndarray of shape (n,) or None
        The classes that were named; None for models of one class.
    rejecting : OpenSetClassifier or None
        What may have answered "none of these".
    """

    model: Any
    y: Array
    classes: list[ClassMetrics]
    decisions: Array | None
    rejecting: Any = None

    @property
    def answer(self) -> Answer:
        """The kind of answer that the model gives."""
        return answer_of(self.model)

    @property
    def average_precision(self) -> float:
        """Mean average precision over the classes that have samples here."""
        return self._mean("average_precision")

    @property
    def roc_auc(self) -> float:
        """Mean area under the ROC curve over the classes that have samples here."""
        return self._mean("roc_auc")

    @property
    def equal_error_rate(self) -> float:
        """Mean equal error rate over the classes that have samples here."""
        return self._mean("equal_error_rate")

    @property
    def accuracy(self) -> float:
        """Share of right decisions; a label that the model does not know must be rejected."""
        if self.rejecting is None:
            return float(np.mean(self.decisions == self.y))
        return float(np.mean(are_right(self.rejecting, np.asarray(self.decisions), self.y)))

    @property
    def strangers(self) -> dict[str, Any]:
        """How samples of classes that are not known were answered, and who was rejected wrongly."""
        decisions = np.asarray(self.decisions).tolist()
        rejected = np.array([decision == self.rejecting.unknown_ for decision in decisions])
        new = ~self.is_known
        return {
            "unknown": self.rejecting.unknown_,
            "threshold": self.rejecting.threshold_,
            "promised_rate": self.rejecting.promised_rate_,
            "samples": int(new.sum()),
            "false_accept_rate": float(np.mean(~rejected[new])) if new.any() else None,
            "false_reject_rate": float(np.mean(rejected[~new])) if not new.all() else None,
        }

    @cached_property
    def is_known(self) -> Array:
        """Which samples are of a class that the model knows, shape (n,)."""
        classes = set(known_classes(self.model).tolist())
        known = np.array([label in classes for label in self.y.tolist()])
        if not known.any() and not self.rejects:
            self._refuse()
        return known

    @property
    def rejects(self) -> bool:
        """Whether the model may reject, so that samples of strangers alone say something."""
        return self.rejecting is not None or self.answer == "acceptance"

    @cached_property
    def reliability(self) -> Reliability:
        """How sure `ProbabilisticLDA` was of samples of its classes, and how often it was right."""
        scores = np.array([one.scores for one in self.classes])
        sure, named = np.exp(scores.max(axis=0)), self.model.classes_[scores.argmax(axis=0)]
        right = np.asarray(named == self.y)
        return reliability(sure[self.is_known], right[self.is_known])

    def as_dict(self) -> dict[str, Any]:
        """All figures by name: per class, their means, and the confusion of decisions."""
        facts: dict[str, Any] = {
            "kind": type(self.model if self.rejecting is None else self.rejecting).__name__,
            "samples": len(self.y),
            **{name: getattr(self, name) for name in MEANS},
            "classes": [
                {"class": one.label, "samples": one.n_positive}
                | {name: getattr(one, name) for name in MEANS}
                for one in self.classes
            ],
        }
        if names_classes(self.model):
            facts |= {"accuracy": self.accuracy, "confusion": self._confusion()}
            if self.rejecting is not None:
                facts["strangers"] = self.strangers
            if self.answer == "probability" and self.is_known.any():
                facts["calibration_error"] = self.reliability.error
        elif self.answer == "acceptance":
            (one,) = self.classes
            facts |= {
                "threshold": self.model.threshold_,
                "promised_rate": self.model.promised_rate_,
                "false_accept_rate": one.false_accepts / one.n_others if one.n_others else None,
                "false_reject_rate": one.false_rejects / one.n_positive if one.n_positive else None,
                "confusion": _acceptances(one),
            }
        return facts

    def _mean(self, name: str) -> float:
        """The mean of a figure; NaN where samples of one side alone say nothing of it."""
        figures = [getattr(one, name) for one in self.classes]
        present = [figure for figure in figures if figure is not None]
        if not present and not self.rejects:
            self._refuse()
        return float(np.mean(present)) if present else float("nan")

    def _refuse(self) -> None:
        here = np.unique(self.y.astype(str))
        if any(one.n_positive for one in self.classes):  # then there are no others
            raise ValueError(
                f"all samples are of class {here[0]}; metrics need samples of other classes, too"
            )
        raise ValueError(
            f"labels do not match: the model knows {_some(known_classes(self.model))} and the data "
            f"hold {_some(here)}; metrics need samples of a class it knows, and others"
        )

    def _confusion(self) -> dict[str, Any]:
        """Counts by label and decision; labels the model does not know are rows, too."""
        labels, decided = self.y.astype(str), np.asarray(self.decisions).astype(str)
        known = np.unique(np.asarray(self.decisions)).astype(str)
        names = list(dict.fromkeys([*known.tolist(), *sorted({*labels, *decided})]))
        counts = confusion_matrix(labels, decided, labels=names)
        return {"labels": names, "decisions": names, "counts": counts.tolist()}


def evaluate(estimator: Any, X: Any, y: Any) -> Evaluation:
    """Measure a fitted model on labelled samples, best those that it was not fitted on.

    Parameters
    ----------
    estimator : fitted estimator
        A class-specific projector, a verifier, a bank, `ProbabilisticLDA` or `OpenSetClassifier`,
        or a search or pipeline over one.
    X : array-like or store of shape (n, I_1, ..., I_K)
        The samples.
    y : array-like of shape (n,)
        Their labels. "7" and 7 are the same class.

    Returns
    -------
    Evaluation
        Average precision, area under the ROC curve and equal error rate per class, and decisions.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tenfold import MCSDA, ClassSpecificClassifier
    >>> from tenfold.decisions.metrics import evaluate
    >>> X, y = load_digits().images, load_digits().target
    >>> bank = ClassSpecificClassifier(MCSDA(ranks=(5, 5))).fit(X[:900], y[:900])
    >>> round(evaluate(bank, X[900:], y[900:]).accuracy, 2)
    0.9
    """
    model, _ = unwrap(estimator)
    y = labels_like(y, known_classes(model))
    found = class_scores(estimator, X, y)
    decisions = None
    if names_classes(model):
        scores = np.stack([one.scores for one in found], axis=1)
        decisions = decisions_of(estimator, X, scores)
    metrics = [class_metrics(one) for one in found]
    return Evaluation(model, y, metrics, decisions, rejecting(estimator))


def class_metrics(found: ClassScores) -> ClassMetrics:
    """Metrics of the scores of one class.

    Parameters
    ----------
    found : ClassScores
        Scores, and which samples are positive.

    Returns
    -------
    ClassMetrics
        A model without a threshold gets the one at which both errors are equal here.
    """
    label, scores, is_positive, threshold = found
    if not 0 < is_positive.sum() < len(scores):
        return ClassMetrics(label, scores, is_positive, threshold, False)
    rate, equal_at = equal_errors(scores, is_positive)
    column, is_own = scores[:, None], is_positive[:, None]
    return ClassMetrics(
        label,
        scores,
        is_positive,
        equal_at if threshold is None else float(threshold),
        threshold is None,
        float(average_precisions(column, is_own)[0]),
        float(roc_areas(column, is_own)[0]),
        rate,
    )


def equal_errors(scores: Array, is_positive: Array) -> tuple[float, float]:
    """The equal error rate and its threshold.

    Among all thresholds, the one at which the shares of false accepts and of false rejects
    differ least; the rate is their mean.

    Parameters
    ----------
    scores : ndarray of shape (n,)
        The larger, the more like the class.
    is_positive : ndarray of shape (n,)
        Which samples are of the class; some, but not all.

    Returns
    -------
    rate : float
        Between 0 and 1.
    threshold : float
        Samples that score at least this are accepted.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.decisions.metrics import equal_errors
    >>> equal_errors(np.array([1.0, 3.0, 2.0, 4.0]), np.array([False, False, True, True]))
    (0.5, 3.0)
    """
    false_accepts, true_accepts, thresholds = roc_curve(
        is_positive, scores, drop_intermediate=False
    )
    false_rejects = 1 - true_accepts
    best = 1 + int(np.argmin(np.abs(false_accepts - false_rejects)[1:]))  # [0] accepts nobody
    return float(false_accepts[best] + false_rejects[best]) / 2, float(thresholds[best])


def _acceptances(one: ClassMetrics) -> dict[str, Any]:
    own, others = one.n_positive - one.false_rejects, one.n_others - one.false_accepts
    return {
        "labels": [str(one.label), "others"],
        "decisions": ["accepted", "rejected"],
        "counts": [[own, one.false_rejects], [one.false_accepts, others]],
    }


def _some(labels: Any) -> str:
    return ", ".join(map(str, labels[:5])) + ("..." if len(labels) > 5 else "")


def mean_average_precision(
    model: Any, X: Any, y: Any, sample_weight: Any = None, **params: Any
) -> float:
    """Average precision of the scores of every class at finding its class, averaged over classes.

    With ``ClassSpecificClassifier(normalise=False)`` the model of each class ranks all samples on
    its own, as the paper evaluates face verification. Otherwise classes compete for a sample:
    `ProbabilisticLDA` ranks samples by `predict_log_proba`, not by the ratio against a stranger.

    Parameters
    ----------
    model : classifier
        Fitted, with a `decision_function`, such as a `ClassSpecificClassifier`.
    X : array-like of shape (n, I_1, ..., I_K)
        The samples.
    y : array-like of shape (n,)
        Their labels. Classes of the model without a sample here are left out of the mean.
    sample_weight : array-like of shape (n,), default=None
        Sample weights.
    **params : dict
        More that the scores of the model take, as a pipeline does with metadata routing.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tenfold import MCSDA, ClassSpecificClassifier, RankSearchCV, mean_average_precision
    >>> X, y = load_digits().images[:600], load_digits().target[:600]
    >>> bank = ClassSpecificClassifier(MCSDA())
    >>> search = RankSearchCV(bank, [(1, 1), (4, 4)], cv=3, scoring=mean_average_precision)
    >>> search.fit(X, y).best_params_
    {'projector__ranks': (4, 4)}
    """
    inner = innermost(model)
    if not params and isinstance(inner, Learner) and names_classes(inner):
        # the scores of `evaluate`, so that both give one number
        scores = all_scores(model, X)
    else:
        gaussian = isinstance(inner, ProbabilisticLDA)
        scores_by = model.predict_log_proba if gaussian else model.decision_function
        scores = np.asarray(scores_by(X, **params))
        scores = of_both_classes(np.maximum(scores, np.finfo(float).min))  # log 0 has a place, too
    y = check.check_labels(model, scores, y)
    check_same_kind(y, model.classes_)
    weight = check.check_weights(scores, sample_weight)
    present = np.flatnonzero(np.isin(model.classes_, check.present_labels(y, weight)))
    if not len(present):
        raise ValueError(
            f"none of the labels {np.unique(y)[:5].tolist()} is a class of the model, so it has "
            "nothing to find; pass samples of its classes"
        )
    is_own = y[:, None] == model.classes_[present]
    return float(np.mean(average_precisions(scores[:, present], is_own, weight)))


# ── Rankings ────────────────────────────────────────────────────────────────────────────────────
#
# The figures are those of `average_precision_score` and `roc_auc_score` of scikit-learn. These take
# one class at a time and check it anew: for 40 classes a hundred times as long.


def average_precisions(
    scores: Array, is_positive: Array, sample_weight: Array | None = None
) -> Array:
    """Average precision of each class; samples with the same score count as found together.

    Parameters
    ----------
    scores : ndarray of shape (n, C)
        The larger, the more like the class.
    is_positive : ndarray of shape (n, C)
        Which samples are of each class.
    sample_weight : ndarray of shape (n,), default=None
        Sample weights.

    Returns
    -------
    ndarray of shape (C,)
        Between 0 and 1; NaN for a class without samples.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.decisions.metrics import average_precisions
    >>> average_precisions(np.array([[3.0], [2.0], [1.0]]), np.array([[True], [False], [True]]))
    array([0.83333333])
    """
    order = np.argsort(-scores, axis=0, kind="stable")
    weight = np.ones(len(scores)) if sample_weight is None else np.asarray(sample_weight, float)
    own = weight[order] * np.take_along_axis(is_positive, order, axis=0)
    found, looked_at = own.cumsum(axis=0), weight[order].cumsum(axis=0)
    precision = np.divide(found, looked_at, out=np.zeros_like(found), where=looked_at > 0)
    falling = np.take_along_axis(-scores, order, axis=0)
    last = rankdata(falling, method="max", axis=0).astype(int) - 1  # of those with the same score
    return _shares((own * np.take_along_axis(precision, last, axis=0)).sum(axis=0), found[-1])


def roc_areas(scores: Array, is_positive: Array) -> Array:
    """Area under the ROC curve of each class.

    That is how often a sample of the class scores higher than another one; the same score counts
    as half.

    Parameters
    ----------
    scores : ndarray of shape (n, C)
        The larger, the more like the class.
    is_positive : ndarray of shape (n, C)
        Which samples are of each class.

    Returns
    -------
    ndarray of shape (C,)
        Between 0 and 1; NaN for a class without samples, or without others.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.decisions.metrics import roc_areas
    >>> roc_areas(np.array([[3.0], [2.0], [2.0]]), np.array([[True], [False], [True]]))
    array([0.75])
    """
    n_own = is_positive.sum(axis=0)
    above = (rankdata(scores, axis=0) * is_positive).sum(axis=0) - n_own * (n_own + 1) / 2
    return _shares(above, n_own * (len(scores) - n_own))


def _shares(part: Array, whole: Array) -> Array:
    unknown = np.full(len(part), np.nan)
    return np.asarray(np.divide(part, whole, out=unknown, where=whole > 0))


# ── Probabilities ───────────────────────────────────────────────────────────────────────────────


class Reliability(NamedTuple):
    """How sure a model was, and how often it was right, in bins of equal width.

    Bins without a sample are left out.
    """

    confidence: Array  # (B,), the mean probability of the class that was named
    accuracy: Array  # (B,), the share of samples that were classified correctly
    counts: Array  # (B,), samples

    @property
    def error(self) -> float:
        """The expected calibration error: the mean gap between the two, over samples."""
        gaps = np.abs(self.confidence - self.accuracy)
        return float(np.average(gaps, weights=self.counts))


def reliability(sure: Array, right: Array, n_bins: int = N_BINS) -> Reliability:
    """Sort samples by how sure a model was of them.

    Parameters
    ----------
    sure : ndarray of shape (n,)
        The probability of the class that was named.
    right : ndarray of shape (n,)
        Whether that is the class of the sample.
    n_bins : int, default=10
        Into how many bins of equal width the probabilities are sorted.

    Returns
    -------
    Reliability
        One entry for each bin that has samples.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.decisions.metrics import reliability
    >>> found = reliability(np.array([0.9, 0.9, 0.6, 0.6]), np.array([True, True, True, False]))
    >>> round(found.error, 2)
    0.1
    """
    bins = np.minimum((sure * n_bins).astype(int), n_bins - 1)
    counts = np.bincount(bins, minlength=n_bins)
    some = counts > 0
    confidence, accuracy = (np.bincount(bins, weights=w, minlength=n_bins) for w in (sure, right))
    return Reliability(confidence[some] / counts[some], accuracy[some] / counts[some], counts[some])
