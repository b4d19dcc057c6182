"""Ranks chosen by cross-validation from a ladder of candidates, for any method."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.model_selection import StratifiedKFold, check_cv

from tenfold.decisions.members import answer_of, innermost
from tenfold.mathematics.algebra import Array
from tenfold.selection.rank_search import RankSearchCV
from tenfold.system.progress import progress

N_CANDIDATES = 10
Ranks = tuple[int, ...]

METRICS = {
    "class": "accuracy",
    "probability": "accuracy",
    "acceptance": "average precision",
    "score": "average precision",
    "projection": "accuracy of the nearest class mean",
}


@dataclass(frozen=True)
class FoundRanks:
    """The candidates, their mean scores over the folds, and the estimator with the best ones."""

    candidates: list[Ranks]
    scores: list[float]
    metric: str
    estimator: Any

    @property
    def best(self) -> Ranks:
        """The ranks with the highest score; the more dimensions among equals."""
        return self.candidates[len(self.scores) - 1 - int(np.argmax(self.scores[::-1]))]


def search_ranks(
    estimator: Any, X: Any, y: Any, folds: Any, *, verbose: bool | None = None
) -> FoundRanks:
    """Search the ranks of an estimator.

    A bank is measured by its accuracy, a model of one class by its average precision. Other
    projectors give no scores, so they are measured by the accuracy of the nearest class mean.

    Parameters
    ----------
    estimator : projector, bank or verifier
        Not fitted.
    X, y : arrays of shapes (n, I_1, ..., I_K) and (n,)
        The samples.
    folds : splitter or iterable of splits
        The folds.
    verbose : bool or None, default=None
        Show a progress bar; None means on a terminal.

    Returns
    -------
    FoundRanks
        With the estimator fitted on all samples.
    """
    answer, inner = answer_of(estimator), innermost(estimator)
    projector = inner.projector if answer in ("class", "probability", "acceptance") else inner
    before = [step for _, step in getattr(estimator, "steps", [])[:-1]]
    beside = sum(getattr(step, "last", None) or 0 for step in before)  # covariates in rows
    sizes = (X.shape[1] - beside,) if beside else tuple(X.shape[1:])
    shape = (prod(sizes),) if projector._flattens else sizes
    candidates = rank_ladder(shape, X.shape[0])
    if answer == "projection":
        return _search_projection(estimator, np.asarray(X), y, folds, candidates, verbose)
    found = RankSearchCV(estimator, ranks=candidates, cv=folds, verbose=verbose).fit(X, y)
    scores = found.cv_results_["mean_test_score"].tolist()
    return FoundRanks(candidates, scores, METRICS[answer], found.best_estimator_)


def rank_ladder(shape: Ranks, n_samples: int) -> list[Ranks]:
    """Candidates that keep the same share of every mode, in growing steps.

    They end at half of a large mode: beyond, there is little left to reduce. A mode of up to 8
    entries is tried to its end, and none has more directions than there are samples.

    Examples
    --------
    >>> from tenfold.selection.automatic_ranks import rank_ladder
    >>> rank_ladder((40, 30), 400)
    [(1, 1), (2, 1), (3, 2), (4, 3), (5, 4), (7, 6), (10, 8), (14, 11), (20, 15)]
    """
    most = [min(max(min(size, 8), size // 2), n_samples) for size in shape]
    steps = np.geomspace(1, max(most), N_CANDIDATES) / max(most)
    ranks = [tuple(max(1, round(share * size)) for size in most) for share in steps.tolist()]
    return sorted(set(ranks))


def stratified_folds(y: Any, cv: int, random_state: int = 0) -> StratifiedKFold:
    """Folds with every class in every fold; fewer when a class has fewer samples.

    Parameters
    ----------
    y : array of shape (n,)
        The labels.
    cv : int
        How many folds are wanted.
    random_state : int, default=0
        Seed of the shuffle.

    Returns
    -------
    StratifiedKFold
        The folds.
    """
    if not len(y):
        raise ValueError("there are no samples; cross-validation needs 2 or more of every class")
    label, fewest = min(Counter(y.tolist()).items(), key=lambda item: item[1])
    if cv < 2:
        raise ValueError(f"cv is {cv}; expected 2 or more folds")
    if fewest < 2:
        raise ValueError(
            f"class {label!r} has 1 sample, but cross-validation needs at least 2 of every class; "
            "add samples, or leave the class out"
        )
    return StratifiedKFold(min(cv, fewest), shuffle=True, random_state=random_state)


def _search_projection(
    estimator: Any, X: Array, y: Array, folds: Any, candidates: list[Ranks], verbose: bool | None
) -> FoundRanks:
    splits = list(check_cv(folds).split(X, y))
    scores = []
    with progress("rank search", len(splits), verbose) as bar:
        for train, test in splits:  # one search per fold: its scorer must know the training fold
            found = RankSearchCV(
                estimator,
                ranks=candidates,
                cv=[(train, test)],
                scoring=partial(_nearest_mean_accuracy, X[train], y[train]),
                refit=False,
                verbose=False,
            ).fit(X, y)
            scores.append(found.cv_results_["mean_test_score"])
            bar.advance()
    means = np.mean(scores, axis=0).tolist()
    search = FoundRanks(candidates, means, METRICS["projection"], estimator)
    estimator.set_params(ranks=search.best).fit(X, y)
    return search


def _nearest_mean_accuracy(X: Array, y: Array, model: Any, new: Array, labels: Array) -> float:
    """How often new samples have the label of the nearest class mean of X."""
    classes, distances = class_mean_distances(model, X, y, new)
    return float(np.mean(classes[distances.argmin(axis=1)] == labels))


def class_mean_distances(model: Any, X: Array, y: Array, new: Array) -> tuple[Array, Array]:
    """Classes, and the distance of new samples from the mean of each in the subspace of a model.

    Parameters
    ----------
    model : projector
        Fitted.
    X, y : arrays of shapes (n, I_1, ..., I_K) and (n,)
        The samples that give the means.
    new : array of shape (m, I_1, ..., I_K)
        The samples to measure.

    Returns
    -------
    classes : ndarray of shape (C,)
        The labels, sorted.
    distances : ndarray of shape (m, C)
        Euclidean.
    """
    classes, projected = np.unique(y), model.transform(X).reshape(len(X), -1)
    means = np.stack([projected[y == label].mean(axis=0) for label in classes])
    return classes, cdist(model.transform(new).reshape(len(new), -1), means)
