"""Scores of fitted models: how like each class a sample is, and what is decided."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, NamedTuple

import numpy as np

from tenfold.decisions.members import (
    answer_of,
    innermost,
    label_of,
    names_classes,
    rejecting,
    unwrap,
)
from tenfold.mathematics.accumulate import row_blocks
from tenfold.mathematics.algebra import Array
from tenfold.validation.samples import is_data_array


class ClassScores(NamedTuple):
    """How like one class every sample is, and which samples are of that class."""

    label: Any
    scores: Array  # (n,)
    is_positive: Array  # (n,), bool
    threshold: float | None  # samples that score at least this are accepted; None: no threshold


def class_scores(estimator: Any, X: Any, y: Any) -> list[ClassScores]:
    """The scores of every class that an estimator knows, from one pass over the samples.

    Parameters
    ----------
    estimator : fitted estimator
        A class-specific projector, a verifier, a bank or `ProbabilisticLDA`, or a search or
        pipeline over one.
    X : array-like or store of shape (n, I_1, ..., I_K)
        The samples; what does not fit into memory is read in blocks.
    y : array-like of shape (n,)
        Their labels.

    Returns
    -------
    list of ClassScores
        One per class of a bank, else one. Those of `ProbabilisticLDA` are the logarithms of
        probabilities, as the classes that it knows compete for a sample here.
    """
    model, prepare = unwrap(estimator)
    _check_scores(model)
    y = np.asarray(y)
    scores = in_blocks(lambda block: scores_of(model, prepare(block)), X)
    if names_classes(model):
        return [ClassScores(c, scores[:, i], y == c, None) for i, c in enumerate(model.classes_)]
    label = label_of(model.members_[0])
    threshold = model.threshold_ if answer_of(model) == "acceptance" else None
    return [ClassScores(label, scores, y == label, threshold)]


def scores_and_decisions(estimator: Any, X: Any) -> dict[str, Array]:
    """Scores and decisions of every sample, by name of column.

    Parameters
    ----------
    estimator : bank, ProbabilisticLDA, verifier, class-specific projector, or a pipeline of one
        Fitted.
    X : array-like or store of shape (n, I_1, ..., I_K)
        The samples.

    Returns
    -------
    dict of str to ndarray of shape (n,)
        ``score``, minus the distance from the mean of the class, and ``accepted`` of a verifier
        where it reaches the threshold; of a bank ``decision`` and one score per class; of
        `ProbabilisticLDA` ``decision`` and the probability of each class.
    """
    model, prepare = unwrap(estimator)
    _check_scores(model)
    if answer_of(model) == "probability":
        logarithms = in_blocks(lambda block: model.predict_log_proba(prepare(block)), X)
        columns = {"decision": decisions_of(estimator, X, logarithms)}
        names = [f"probability {c}" for c in model.classes_.tolist()]
        return columns | dict(zip(names, np.exp(logarithms).T, strict=True))
    if answer_of(model) == "class":
        scores = in_blocks(lambda block: scores_of(model, prepare(block)), X)
        columns = {"decision": decisions_of(estimator, X, scores)}
        each = {f"score {c}": scores[:, k] for k, c in enumerate(model.classes_.tolist())}
        return columns | each
    columns = {"score": in_blocks(lambda block: _similarity(model, prepare(block)), X)}
    if answer_of(model) == "acceptance":
        columns["accepted"] = columns["score"] >= model.threshold_
    return columns


def decisions_of(estimator: Any, X: Any, scores: Array) -> Array:
    """The class of every sample: that of the highest score, unless more than scores decide."""
    model = innermost(estimator)
    if getattr(model, "classifier", None) is None and rejecting(estimator) is None:
        return np.asarray(model.classes_[scores.argmax(axis=1)])
    return in_blocks(estimator.predict, X)


def _check_scores(model: Any) -> None:
    if answer_of(model) == "projection":
        raise TypeError(
            f"{type(model).__name__} gives no scores: it learns one subspace for all classes; "
            "score with MCSDA, CSDA, ClassSpecificVerifier, ClassSpecificClassifier or "
            "ProbabilisticLDA"
        )


def scores_of(model: Any, X: Any) -> Array:
    """Scores of some samples; of a bank one column per class.

    Those of `decision_function`, which for two classes gives one number for both; where a bank has
    none, or its classes do not compete, minus the distance of each class.
    """
    if answer_of(model) == "probability":
        least = np.finfo(float).min  # metrics want numbers
        return np.asarray(np.maximum(model.predict_log_proba(X), least))
    if answer_of(model) != "class":
        return _similarity(model, X)
    if model.normalise is False and model.classifier is None:
        return -np.asarray(model.distances(X))
    if not hasattr(model, "decision_function"):
        return -np.asarray(model.distances(X))
    scores = np.asarray(model.decision_function(X))
    return np.stack([-scores, scores], axis=1) if scores.ndim == 1 else scores


def _similarity(model: Any, X: Any) -> Array:
    """Minus the distance from the mean of the one class of a projector or verifier."""
    (member,) = model.members_
    return np.asarray(member.decision_function(X))


def in_blocks(function: Callable[[Any], Array], X: Any) -> Array:
    """``function(X)`` for samples that may be larger than memory, such as windows on disk."""
    shape = getattr(X, "shape", None)
    if shape is None or hasattr(X, "iloc") or is_data_array(X):  # lists; what must keep its names
        return function(X)
    blocks = row_blocks(shape[0], 8 * prod(shape[1:]))
    return np.concatenate([function(np.asarray(X[block])) for block in blocks])


def labels_like(y: Any, classes: Array) -> Array:
    """Labels in the type of the classes, where both read the same: "7" and 7 are one class.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.decisions.scores import labels_like
    >>> labels_like(["7", "x"], np.array([6, 7])).tolist()
    [7, 'x']
    """
    y = np.asarray(y)
    if y.dtype.kind == classes.dtype.kind:
        return np.asarray(y)
    in_writing = {str(label): label for label in classes.tolist()}
    learned = np.empty(len(y), dtype=object)
    learned[:] = [in_writing.get(str(label), label) for label in y.tolist()]
    return learned
