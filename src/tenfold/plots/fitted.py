"""What is inside a fitted estimator: its projectors, and its scores class by class.

Everything below is asked of the estimator's learned attributes, so a pipeline, a search, a
verifier, a bank and a single projector are all served.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.mathematics.algebra import Array, row_blocks


class Part(NamedTuple):
    """One projector, and the class it was learned for (None when it serves all classes)."""

    label: Any
    projector: Any


class ClassScores(NamedTuple):
    """How like one class every sample is, and which samples are of that class."""

    label: Any
    scores: Array  # (n,)
    is_positive: Array  # (n,), bool
    threshold: float | None  # accepted from here on; None when the model does not decide


def innermost(estimator: Any) -> Any:
    """The estimator that a search chose or that a pipeline ends with."""
    while True:
        if hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        elif hasattr(estimator, "steps"):
            estimator = estimator.steps[-1][1]
        else:
            check_is_fitted(estimator)
            return estimator


def parts_of(estimator: Any) -> list[Part]:
    """The projectors of an estimator: one per class for a bank, else one."""
    model = innermost(estimator)
    if hasattr(model, "projectors_"):
        return [Part(*pair) for pair in zip(model.classes_, model.projectors_, strict=True)]
    projector = getattr(model, "projector_", model)
    if not hasattr(projector, "projections_"):
        raise TypeError(
            f"{type(model).__name__} has no projections to draw; pass a fitted projector, "
            "ClassSpecificClassifier, ClassSpecificVerifier, or a search or pipeline over one"
        )
    return [Part(positive_of(model), projector)]


def part_for(estimator: Any, positive: Any) -> Part:
    """The projector of one class; None takes the first."""
    parts = parts_of(estimator)
    if positive is None:
        return parts[0]
    found = [part for part in parts if part.label == positive]
    if not found:
        raise ValueError(
            f"there is no projector for class {positive!r}; choose one of "
            f"{[part.label for part in parts]}"
        )
    return found[0]


def positive_of(model: Any) -> Any:
    """The class a class-specific model was learned for; None for other models."""
    if hasattr(model, "projectors_") or not scores_classes(model):
        return None
    return model.classes_[-1] if model.positive is None else model.positive


def class_scores(estimator: Any, X: Any, y: Any) -> list[ClassScores]:
    """The scores of every class that the estimator knows, from one pass over the samples."""
    model = innermost(estimator)
    if not scores_classes(model):
        raise TypeError(
            f"{type(model).__name__} gives no scores: it learns one subspace for all classes; "
            "score with MCSDA, CSDA, ClassSpecificVerifier or ClassSpecificClassifier"
        )
    y = np.asarray(y)
    scores = in_blocks(partial(_scores, estimator), X)
    if not hasattr(model, "projectors_"):
        label = positive_of(model)
        threshold = getattr(model, "threshold_", None)
        return [ClassScores(label, scores, y == label, threshold)]
    if scores.ndim == 1:  # a second classifier scores two classes by the second alone
        scores = np.stack([-scores, scores], axis=1)
    return [ClassScores(c, scores[:, i], y == c, None) for i, c in enumerate(model.classes_)]


def scores_classes(model: Any) -> bool:
    """Whether a model scores samples; a projector for all classes together does not."""
    return hasattr(model, "decision_function") or hasattr(model, "projectors_")


def _scores(estimator: Any, X: Any) -> Array:
    """Scores of some samples; of a bank without a second classifier minus the distances.

    `decision_function` of a bank of two classes gives their difference, as scikit-learn wants it,
    but a class is judged by its own model, whatever the number of classes.
    """
    if hasattr(estimator, "best_estimator_"):
        return _scores(estimator.best_estimator_, X)
    if hasattr(estimator, "steps"):
        before, last = estimator.steps[:-1], estimator.steps[-1][1]
        return _scores(last, estimator[:-1].transform(X) if before else X)
    asks_second = hasattr(estimator, "classifier_") and hasattr(estimator, "decision_function")
    if hasattr(estimator, "projectors_") and not asks_second:
        return -np.asarray(estimator.distances(X))
    return np.asarray(estimator.decision_function(X))


def in_blocks(function: Callable[[Array], Array], X: Any) -> Array:
    """``function(X)`` for samples that may be larger than memory, such as windows on disk."""
    shape = getattr(X, "shape", None)
    if shape is None or hasattr(X, "iloc"):  # lists; data frames, which must keep their names
        return function(X)
    blocks = row_blocks(shape[0], 8 * prod(shape[1:]))
    return np.concatenate([function(np.asarray(X[block])) for block in blocks])


def as_learned(y: Array, classes: Array) -> Array:
    """Labels in the type of the classes, where both read the same: "7" and 7 are one class.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.plots.fitted import as_learned
    >>> as_learned(np.array(["7", "x"]), np.array([6, 7])).tolist()
    [7, 'x']
    """
    if y.dtype.kind == classes.dtype.kind:
        return y
    in_writing = {str(label): label for label in classes.tolist()}
    learned = np.empty(len(y), dtype=object)
    learned[:] = [in_writing.get(str(label), label) for label in y.tolist()]
    return learned
