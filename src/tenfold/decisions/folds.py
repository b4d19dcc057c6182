"""Folds: models without some of the samples, by which to see what new samples will look like."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, check_cv

from tenfold.mathematics.algebra import Array
from tenfold.mathematics.fold_statistics import Split, fold_statistics
from tenfold.methods.base import Described, Learner
from tenfold.validation import parameters
from tenfold.validation import samples as check


def fold_models(
    learner: Any,
    described: Described,
    X: Any,
    y: Array,
    weight: Array | None,
    splits: list[Split],
) -> Iterator[Any]:
    """The learner fitted on the training part of every split, then on all samples.

    The samples are read once.

    Parameters
    ----------
    learner : Learner
        Not fitted.
    described : mapping
        What is known of the samples, from `Learner.first_batch`.
    X, y, weight : arrays
        The batch that came with it.
    splits : list of (train, test)
        The folds.

    Yields
    ------
    Learner
        One per split, and one for all samples.
    """
    classes, samples = check.present_labels(y, weight), learner.as_seen(X)
    work = learner.workload(samples.shape[1:], classes)
    kind = learner.statistics
    for statistics in fold_statistics(samples, y, weight, classes, splits, kind, work):
        check.check_classes(statistics.classes, learner)
        fold: Learner = clone(learner)
        yield fold.keep(fold.learn(statistics, described))


def stratified_splits(cv: Any, y: Array, weight: Array | None) -> list[Split]:
    """Folds whose training parts have samples of every class; only samples with weight count.

    An int gives folds that keep the shares of the classes, no more than the smallest class has
    samples.
    """
    used = np.arange(len(y)) if weight is None else np.flatnonzero(weight)
    counts = np.unique(y[used], return_counts=True)[1]
    if isinstance(cv, Integral):
        if counts.min() < 2:
            raise ValueError(
                "a class has 1 sample only, so its distances cannot be out of fold; classifier="
                "... needs at least 2 samples of every class"
            )
        n_folds = min(parameters.check_number("cv", cv, 2, integer=True), int(counts.min()))
        folds = StratifiedKFold(n_folds, shuffle=True, random_state=0)
        return [(used[a], used[b]) for a, b in folds.split(used, y[used])]
    splits = positions(check_cv(cv).split(np.zeros(len(y)), y), len(y))
    splits = [(a[np.isin(a, used)], b[np.isin(b, used)]) for a, b in splits]
    for number, (train, _) in enumerate(splits):
        missing = np.setdiff1d(y[used], y[train]).tolist()
        if missing:
            raise ValueError(
                f"the training part of fold {number} has no sample of class {missing[0]!r}, so "
                "there are no distances to it; choose folds (cv) that leave some of every class"
            )
    return splits


def positions(splits: Iterable[Any], n: int) -> list[Split]:
    """The splits of n samples as positions, whether they came as positions, masks or slices."""
    every = np.arange(n)
    found = [(every[train], every[test]) for train, test in splits]
    if not found:
        raise ValueError("cv gives no folds; pass at least one")
    for number, split in enumerate(found):
        for rows, name in zip(split, ("training", "test"), strict=True):
            if not len(rows):
                raise ValueError(f"fold {number} of cv has no {name} samples; give it some")
    return found
