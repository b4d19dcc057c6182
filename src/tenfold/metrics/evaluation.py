"""Metrics of an evaluation: what the scores and decisions of a model are worth on samples."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from sklearn.metrics import confusion_matrix

from tenfold.classifiers.members import (
    Answer,
    answer_of,
    known_classes,
    names_classes,
    rejecting,
    unwrap,
)
from tenfold.classifiers.open_set import are_right, class_scores_of
from tenfold.classifiers.scores import (
    ClassScores,
    class_scores,
    decisions_of,
    in_blocks,
    labels_like,
)
from tenfold.linalg.algebra import Array
from tenfold.metrics.calibration import Reliability, reliability
from tenfold.metrics.ranking import average_precisions, roc_areas
from tenfold.metrics.verification import (
    cllr,
    detection_identification_rate,
    equal_error_rate,
    equal_error_threshold,
    min_cllr,
)
from tenfold.validation.containers import in_numpy, refuse_masked

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
        Samples that score at least this are accepted; None if no threshold can be chosen.
    chosen_here : bool
        Whether the threshold was chosen on these very samples, for equal errors.
    average_precision, roc_auc, equal_error_rate : float or None
        Shares; None when one of the two groups has no sample.
    cllr, min_cllr : float or None
        The cost of the scores in bits, as they are and after the best calibration; None where they
        are not log likelihood ratios, too.
    """

    label: Any
    scores: Array
    is_positive: Array
    threshold: float | None
    chosen_here: bool
    average_precision: float | None = None
    roc_auc: float | None = None
    equal_error_rate: float | None = None
    cllr: float | None = None
    min_cllr: float | None = None

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
    acceptance_scores : ndarray of shape (n, C) or None
        How like each class a sample is, by which `rejecting` accepts; None without it.
    """

    model: Any
    y: Array
    classes: list[ClassMetrics]
    decisions: Array | None
    rejecting: Any = None
    acceptance_scores: Array | None = None

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
        equal_errors, identified = None, None
        if new.any() and not new.all():
            scores = np.asarray(self.acceptance_scores)
            rate = self.rejecting.false_accept_rate
            classes = self.rejecting.classes_
            equal_errors = equal_error_rate(~new, scores.max(axis=1))
            identified = detection_identification_rate(
                self.y, scores, classes, false_accept_rate=rate
            )
        return {
            "unknown": self.rejecting.unknown_,
            "threshold": self.rejecting.threshold_,
            "guaranteed_rate": self.rejecting.guaranteed_rate_,
            "samples": int(new.sum()),
            "false_accept_rate": float(np.mean(~rejected[new])) if new.any() else None,
            "false_reject_rate": float(np.mean(rejected[~new])) if not new.all() else None,
            "equal_error_rate": equal_errors,
            "detection_identification_rate": identified,
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
        sure = np.exp(scores.max(axis=0))
        named = self.model.classes_[scores.argmax(axis=0)]
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
        if len(self.classes) == 1 and self.classes[0].cllr is not None:
            facts |= {"cllr": self.classes[0].cllr, "min_cllr": self.classes[0].min_cllr}
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
                "guaranteed_rate": self.model.guaranteed_rate_,
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
            f"hold {_some(here)}; metrics need samples of a class that the model knows, and of "
            "another class"
        )

    def _confusion(self) -> dict[str, Any]:
        """Counts by label and decision; labels the model does not know are rows, too."""
        labels = self.y.astype(str)
        # An open set of booleans decides 1 and 0, which are the keys True and False.
        written = {label: str(label) for label in known_classes(self.model).tolist()}
        decisions = np.asarray(self.decisions).tolist()
        decided = [written.get(decision, str(decision)) for decision in decisions]
        used = set(decided)
        known = [label for label in written.values() if label in used]
        names = list(dict.fromkeys([*known, *sorted(used.union(labels.tolist()))]))
        counts = confusion_matrix(labels, decided, labels=names)
        return {"labels": names, "decisions": names, "counts": counts.tolist()}


def evaluate(estimator: Any, X: object, y: object) -> Evaluation:
    """Measure a fitted model on labelled samples, best those that it was not fitted on.

    Parameters
    ----------
    estimator : fitted estimator
        A class-specific projector, a verifier, a bank, `ProbabilisticLDA` or `OpenSetClassifier`,
        or a search or pipeline over one.
    X : array-like or store of shape (n, I_1, ..., I_K)
        The samples.
    y : array-like of shape (n,)
        Their labels. "7" and 7 are the same class. Of a verifier also whether they are of its
        class, as booleans.

    Returns
    -------
    Evaluation
        Average precision, area under the ROC curve and equal error rate per class, and decisions.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tenfold import MCSDA, ClassSpecificClassifier
    >>> from tenfold.metrics import evaluate
    >>> X, y = load_digits().images, load_digits().target
    >>> bank = ClassSpecificClassifier(MCSDA(ranks=(5, 5))).fit(X[:900], y[:900])
    >>> round(evaluate(bank, X[900:], y[900:]).accuracy, 2)
    0.9
    """
    model, _ = unwrap(estimator)
    classes = known_classes(model)
    y = np.asarray(in_numpy(refuse_masked(y, name="y"), "y"))
    if answer_of(model) == "acceptance" and y.dtype == bool and classes.dtype != bool:
        positive = model.positive_label_  # whether samples are of this class
        y = np.where(y, positive, classes[classes != positive][0])
    y = labels_like(y, classes)
    found = class_scores(estimator, X, y)
    decisions = None
    if names_classes(model):
        scores = np.stack([one.scores for one in found], axis=1)
        decisions = decisions_of(estimator, X, scores)
    are_ratios = answer_of(model) in ("score", "acceptance")
    if are_ratios and model.members_:  # a verifier by Gaussian classes has none
        are_ratios = model.members_[0]._has_ratio
    metrics = [class_metrics(one, are_ratios) for one in found]
    open_set = rejecting(estimator)
    if open_set is None:
        return Evaluation(model, y, metrics, decisions)
    accepted_by = in_blocks(partial(class_scores_of, estimator), X)
    return Evaluation(model, y, metrics, decisions, open_set, accepted_by)


def class_metrics(found: ClassScores, are_ratios: bool = False) -> ClassMetrics:
    """Metrics of the scores of one class.

    Parameters
    ----------
    found : ClassScores
        Scores, and which samples are positive.
    are_ratios : bool, default=False
        Whether the scores are log likelihood ratios.

    Returns
    -------
    ClassMetrics
        A model without a threshold gets the one at which both errors are equal here.
    """
    label, scores, is_positive, threshold = found
    if not 0 < is_positive.sum() < len(scores):
        return ClassMetrics(label, scores, is_positive, threshold, False)
    rate = equal_error_rate(is_positive, scores)
    equal_at = equal_error_threshold(is_positive, scores)
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
        cllr(is_positive, scores) if are_ratios else None,
        min_cllr(is_positive, scores) if are_ratios else None,
    )


def _acceptances(one: ClassMetrics) -> dict[str, Any]:
    own = one.n_positive - one.false_rejects
    others = one.n_others - one.false_accepts
    return {
        "labels": [str(one.label), "others"],
        "decisions": ["accepted", "rejected"],
        "counts": [[own, one.false_rejects], [one.false_accepts, others]],
    }


def _some(labels: Any) -> str:
    return ", ".join(map(str, labels[:5])) + ("..." if len(labels) > 5 else "")
