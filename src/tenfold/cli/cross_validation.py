"""Methods judged on the same folds by the same measure."""

from __future__ import annotations

import time
import warnings
from collections import Counter
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import average_precision_score, roc_auc_score

from tenfold.cli.searching import class_mean_distances, searched, stratified
from tenfold.datasets import TensorDataset
from tenfold.decisions.classifier import ClassSpecificClassifier
from tenfold.mathematics.algebra import Array
from tenfold.methods.class_specific import ClassSpecificProjector
from tenfold.system.progress import progress

INNER_FOLDS = 3  # of the rank search inside a training part


class Judged(NamedTuple):
    """What one method did in one fold."""

    precisions: list[float]  # average precision per judged class
    areas: list[float]  # ROC AUC per judged class
    accuracy: float | None
    ranks: tuple[int, ...]
    converged: bool
    seconds: float


def cross_validated(
    estimators: list[Any], data: TensorDataset, folds: Any, *, positive: Any, search: bool
) -> list[dict[str, Any]]:
    """Figures of every method.

    Parameters
    ----------
    estimators : list of projectors
        One per method, not fitted.
    data : TensorDataset
        Labelled samples.
    folds : splitter
        The folds.
    positive : label or None
        Judge this class alone; None means every class.
    search : bool
        Search the ranks inside every training part.

    Returns
    -------
    list of dict
        Per method its figures, means over classes and folds.
    """
    X, y = np.asarray(data.X), np.asarray(data.y)
    splits = list(folds.split(X, y))
    results = []
    with progress("comparing", len(estimators) * len(splits)) as bar:
        for estimator in estimators:
            judged = []
            for train, test in splits:
                bar.advance(0, type(estimator).__name__)
                judged.append(_judged(estimator, X, y, train, test, positive, search))
                bar.advance(1, type(estimator).__name__)
            results.append(_figures(type(estimator).__name__, judged))
    return results


def _figures(name: str, judged: list[Judged]) -> dict[str, Any]:
    per_fold = [float(np.mean(one.precisions)) for one in judged]
    accuracies = [one.accuracy for one in judged if one.accuracy is not None]
    return {
        "method": name,
        "ranks": Counter(one.ranks for one in judged).most_common(1)[0][0],
        "average_precision": float(np.mean(per_fold)),
        "deviation": float(np.std(per_fold)),
        "roc_auc": float(np.mean([np.mean(one.areas) for one in judged])),
        "accuracy": float(np.mean(accuracies)) if accuracies else None,
        "converged": all(one.converged for one in judged),
        "seconds": float(np.mean([one.seconds for one in judged])),
    }


def _judged(
    estimator: Any, X: Array, y: Array, train: Array, test: Array, positive: Any, search: bool
) -> Judged:
    model = clone(estimator)
    if isinstance(model, ClassSpecificProjector):
        alone = positive is not None
        model = model.set_params(positive=positive) if alone else ClassSpecificClassifier(model)
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # `converged` tells it once for all
        if search:
            inner = stratified(y[train], INNER_FOLDS)
            model = searched(model, X[train], y[train], inner, show=False).estimator
        else:
            model.fit(X[train], y[train])
    seconds = time.perf_counter() - start
    classes, distances = _distances(model, X, y, train, test)
    judged_classes = [(c, k) for k, c in enumerate(classes) if positive is None or c == positive]
    nearest = classes[distances.argmin(axis=1)]
    members = getattr(model, "projectors_", [model])
    return Judged(
        [float(average_precision_score(y[test] == c, -distances[:, k])) for c, k in judged_classes],
        [float(roc_auc_score(y[test] == c, -distances[:, k])) for c, k in judged_classes],
        float(np.mean(nearest == y[test])) if positive is None else None,
        Counter(member.ranks_ for member in members).most_common(1)[0][0],
        all(member.converged_ for member in members),
        seconds,
    )


def _distances(model: Any, X: Array, y: Array, train: Array, test: Array) -> tuple[Array, Array]:
    """The classes, and the distance of every test sample from the mean of each."""
    if isinstance(model, ClassSpecificClassifier):
        return model.classes_, model.distances(X[test])
    if isinstance(model, ClassSpecificProjector):
        return np.array([model.positive]), -model.decision_function(X[test])[:, None]
    return class_mean_distances(model, X[train], y[train], X[test])
