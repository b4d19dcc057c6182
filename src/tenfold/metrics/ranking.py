"""Average precision and area under the ROC curve of every class.

The figures are those of `average_precision_score` and `roc_auc_score` of scikit-learn. These take
one class at a time and check it anew: for 40 classes a hundred times as long.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import rankdata

from tenfold.classifiers.class_subspaces import of_both_classes
from tenfold.classifiers.members import innermost, names_classes, rejecting
from tenfold.classifiers.probabilistic import ProbabilisticLDA
from tenfold.classifiers.scores import all_scores
from tenfold.linalg.algebra import Array
from tenfold.methods.base import Learner
from tenfold.statistics.accumulate import check_same_kind
from tenfold.validation import samples as check
from tenfold.validation.labels import check_labels, present_labels


def mean_average_precision(
    model: Any, X: object, y: object, sample_weight: object = None, **params: Any
) -> float:
    """Average precision of the scores of every class at finding its class, averaged over classes.

    With ``ClassSpecificClassifier(normalize=False)`` the model of each class ranks all samples on
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
    >>> from tenfold import MCSDA, ClassSpecificClassifier, RankSearchCV
    >>> from tenfold.metrics import mean_average_precision
    >>> X, y = load_digits().images[:600], load_digits().target[:600]
    >>> bank = ClassSpecificClassifier(MCSDA())
    >>> search = RankSearchCV(bank, [(1, 1), (4, 4)], cv=3, scoring=mean_average_precision)
    >>> search.fit(X, y).best_params_
    {'projector__ranks': (4, 4)}
    """
    inner = innermost(model)
    is_bank = isinstance(inner, Learner) and names_classes(inner)
    is_open_set = rejecting(model) is not None
    if is_open_set and params:
        raise TypeError(
            f"mean_average_precision got {', '.join(params)}, which the scores of an open set do "
            "not take; pass the model inside of it (model_), or samples that need no more"
        )
    if is_open_set or (is_bank and not params):
        # The scores of `evaluate`, so that both give one number. Those of an open set itself say
        # whether a sample is of any class, not of which.
        scores = all_scores(model, X)
    else:
        if isinstance(inner, ProbabilisticLDA):
            scores = np.asarray(model.predict_log_proba(X, **params))
        elif hasattr(model, "decision_function") or not hasattr(model, "predict_proba"):
            scores = np.asarray(model.decision_function(X, **params))
        else:  # such as nearest neighbors
            scores = np.asarray(model.predict_proba(X, **params))
        scores = of_both_classes(np.maximum(scores, np.finfo(float).min))  # log 0 has a place, too
    y = check_labels(model, scores, y)
    check_same_kind(y, model.classes_)
    weight = check.check_weights(scores, sample_weight)
    present = np.flatnonzero(np.isin(model.classes_, present_labels(y, weight)))
    if not len(present):
        raise ValueError(
            f"none of the labels {np.unique(y)[:5].tolist()} is a class of the model, so it has "
            "nothing to find; pass samples of its classes"
        )
    is_own = y[:, None] == model.classes_[present]
    return float(np.mean(average_precisions(scores[:, present], is_own, weight)))


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
    >>> from tenfold.metrics.ranking import average_precisions
    >>> average_precisions(np.array([[3.0], [2.0], [1.0]]), np.array([[True], [False], [True]]))
    array([0.83333333])
    """
    order = np.argsort(-scores, axis=0, kind="stable")
    weight = np.ones(len(scores)) if sample_weight is None else np.asarray(sample_weight, float)
    own = weight[order] * np.take_along_axis(is_positive, order, axis=0)
    found = own.cumsum(axis=0)
    looked_at = weight[order].cumsum(axis=0)
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
    >>> from tenfold.metrics.ranking import roc_areas
    >>> roc_areas(np.array([[3.0], [2.0], [2.0]]), np.array([[True], [False], [True]]))
    array([0.75])
    """
    n_own = is_positive.sum(axis=0)
    above = (rankdata(scores, axis=0) * is_positive).sum(axis=0) - n_own * (n_own + 1) / 2
    return _shares(above, n_own * (len(scores) - n_own))


def _shares(part: Array, whole: Array) -> Array:
    unknown = np.full(len(part), np.nan)
    return np.asarray(np.divide(part, whole, out=unknown, where=whole > 0))
