"""What fitted models say of samples: scores of classes, decisions, features."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, NamedTuple

import numpy as np

from tenfold.classifiers.class_subspaces import of_both_classes
from tenfold.classifiers.members import (
    answer_of,
    innermost,
    label_of,
    names_classes,
    rejecting,
    unwrap,
)
from tenfold.linalg.algebra import Array
from tenfold.statistics.accumulate import row_blocks
from tenfold.validation.containers import is_data_array


class ClassScores(NamedTuple):
    """How like one class every sample is, and which samples are of that class."""

    label: Any
    scores: Array  # (n,)
    is_positive: Array  # (n,), bool
    threshold: float | None  # samples that score at least this are accepted; None: no threshold


def class_scores(estimator: Any, X: object, y: object) -> list[ClassScores]:
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
    scores = all_scores(estimator, X)
    model = innermost(estimator)
    y = np.asarray(y)
    threshold = model.threshold_ if answer_of(model) == "acceptance" else None
    both = zip(scored_labels(model), scores.T, strict=True)
    return [ClassScores(label, column, y == label, threshold) for label, column in both]


def scores_and_decisions(estimator: Any, X: object) -> dict[str, Array]:
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
        ``score`` of a model of one class; of a verifier also its ``threshold``, and ``accepted``
        where the score reaches it. Of a bank ``decision`` and one score per class; of
        `ProbabilisticLDA` ``decision`` and the probability of each class. What may reject a sample
        has ``score`` and ``threshold`` as well: below it the decision is the unknown label.
    """
    scores = all_scores(estimator, X)
    model = innermost(estimator)
    if not names_classes(model):
        columns = {"score": scores[:, 0]}
        if answer_of(model) == "acceptance":
            columns["threshold"] = np.full(len(scores), model.threshold_)
            columns["accepted"] = columns["score"] >= model.threshold_
        return columns
    columns = {"decision": decisions_of(estimator, X, scores)}
    open_set = rejecting(estimator)
    if open_set is not None:
        columns["score"] = in_blocks(estimator.score_samples, X)
        columns["threshold"] = np.full(len(scores), open_set.threshold_)
    is_sure = answer_of(model) == "probability"
    names = [f"{'probability' if is_sure else 'score'} {c}" for c in model.classes_.tolist()]
    return columns | dict(zip(names, (np.exp(scores) if is_sure else scores).T, strict=True))


def decisions_of(estimator: Any, X: object, scores: Array) -> Array:
    """The class of every sample: that of the highest score, unless more than scores decide."""
    model = innermost(estimator)
    if getattr(model, "classifier", None) is None and rejecting(estimator) is None:
        return np.asarray(model.classes_[scores.argmax(axis=1)])
    return in_blocks(estimator.predict, X)


def scored_labels(model: Any) -> Any:
    """The labels of the classes that a fitted model has scores for."""
    return model.classes_ if names_classes(model) else [label_of(model)]


def all_scores(estimator: Any, X: object) -> Array:
    """Scores of the model inside an estimator, of samples that may be larger than memory.

    There is a column for each of the `scored_labels`.
    """
    model, prepare = unwrap(estimator)
    return in_blocks(lambda block: model._class_scores(prepare(block)), X)


def in_blocks(function: Callable[[Any], Array], X: Any) -> Array:
    """``function(X)`` for samples that may be larger than memory, such as windows on disk."""
    shape = getattr(X, "shape", None)
    if shape is None or hasattr(X, "iloc") or is_data_array(X):  # lists; what must keep its names
        return function(X)
    blocks = row_blocks(shape[0], 8 * prod(shape[1:]))
    return np.concatenate([function(np.asarray(X[block])) for block in blocks])


def labels_like(y: object, classes: Array) -> Array:
    """Labels in the type of the classes, where both read the same: "7" and 7 are one class.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.classifiers.scores import labels_like
    >>> labels_like(["7", "x"], np.array([6, 7])).tolist()
    [7, 'x']
    """
    y = np.asarray(y)
    if y.dtype.kind == classes.dtype.kind:
        return np.asarray(y)
    in_writing = {str(label): label for label in classes.tolist()}
    if classes.dtype.kind == "f":  # "7" and 7.0 are one class, too
        in_writing |= {str(int(label)): label for label in classes.tolist() if label % 1 == 0}
    learned = np.empty(len(y), dtype=object)
    learned[:] = [in_writing.get(str(label), label) for label in y.tolist()]
    return learned


def features_of(estimator: Any, X: object) -> tuple[list[str], Array]:
    """The features of samples and their names, for models of every kind.

    Parameters
    ----------
    estimator : fitted estimator
        A projector, verifier, bank or `ProbabilisticLDA`, or a search or pipeline over one.
    X : array-like or store of shape (n, I_1, ..., I_K)
        The samples; what does not fit into memory is read in blocks.

    Returns
    -------
    names : list of d str
        What each feature is called.
    features : ndarray of shape (n, d)
        Of a projector or verifier the projected samples, of `ProbabilisticLDA` the scores of all
        classes, of a bank the distances from the class means.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tenfold import MPCA
    >>> from tenfold.classifiers.scores import features_of
    >>> X = load_digits().images
    >>> names, features = features_of(MPCA((2, 2)).fit(X), X)
    >>> names[:2], features.shape
    (['mpca_mode0_0_mode1_0', 'mpca_mode0_0_mode1_1'], (1797, 4))
    """
    model, prepare = unwrap(estimator)
    answer = answer_of(model)
    if answer == "class":
        names = [f"distance {label}" for label in model.classes_.tolist()]
        return names, in_blocks(lambda block: model.distances(prepare(block)), X)
    if answer == "probability":
        names = [f"score {label}" for label in model.classes_.tolist()]
        found = in_blocks(lambda block: of_both_classes(model.decision_function(prepare(block))), X)
        return names, found
    if not model.members_:  # a verifier by Gaussian classes
        found = in_blocks(lambda block: model._class_scores(prepare(block)), X)
        return ["score"], found
    (projector,) = model.members_
    found = in_blocks(lambda block: np.asarray(projector.transform(prepare(block))), X)
    return projector.get_feature_names_out().tolist(), found.reshape(len(found), -1)
