"""Folds: models without some of the samples, by which to see what new samples will look like."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, check_cv

from tenfold.decisions.distances import OfBlock
from tenfold.mathematics.accumulate import row_blocks
from tenfold.mathematics.algebra import Array, to_numpy
from tenfold.mathematics.cost import Parts, Split, part_statistics
from tenfold.mathematics.moments import ClassStatistics
from tenfold.mathematics.sample_statistics import codes_of
from tenfold.mathematics.stores import Source
from tenfold.mathematics.tuning import CACHE_NUMBERS
from tenfold.methods.base import Described, Learner
from tenfold.validation import parameters
from tenfold.validation import samples as check


def statistics_in_folds(
    learner: Any,
    described: Described,
    X: Any,
    y: Array,
    weight: Array | None,
    classes: Array,
    parts: Parts,
) -> tuple[Described, Iterator[ClassStatistics]]:
    """Statistics of every training part, from one reading.

    Parameters
    ----------
    learner : Learner
        Says which statistics it needs.
    described : mapping
        What is known of the samples, from `Learner._first_batch`.
    X, y, weight : arrays
        The batch that came with it.
    classes : ndarray of shape (C,)
        All labels, sorted.
    parts : Parts
        The training parts.

    Returns
    -------
    mapping, iterator of ClassStatistics
        What is known of the samples as the learner prepared them, and the statistics.
    """
    described, samples = learner._prepared(described, X, weight)
    work = learner._workload(samples.shape[1:], classes)
    found = part_statistics(samples, y, weight, classes, parts, work)
    return described, found


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
        What is known of the samples, from `Learner._first_batch`.
    X, y, weight : arrays
        The batch that came with it.
    splits : list of (train, test)
        The folds.

    Yields
    ------
    Learner
        One per split, and one for all samples.
    """
    rows = [*(train for train, _ in splits), np.arange(len(X))]
    classes = check.present_labels(y, weight)
    parts = Parts.of_rows(rows, codes_of(X, y, classes))
    described, found = statistics_in_folds(learner, described, X, y, weight, classes, parts)
    for statistics in found:
        check.check_classes(statistics.classes, learner)
        fold: Learner = clone(learner)
        yield fold._set_fitted(described, fold._learn(statistics, described["sample_shape_"]))


def held_out(X: Any, folds: Array, works: Sequence[OfBlock]) -> Array:
    """What each fold says of the samples that it has not seen, from one reading of them.

    Parameters
    ----------
    X : ndarray or Source of shape (n, I_1, ..., I_K)
        The samples.
    folds : ndarray of shape (n,)
        The number of the fold that holds each sample out; -1 where none does.
    works : sequence of F callables
        What the model of each fold gives for a block of samples, (m, ...); m may be 0.

    Returns
    -------
    ndarray of shape (n, ...)
        In float64; NaN for samples that no fold holds out.
    """
    work = partial(said_by_folds, works=works)
    if not isinstance(X, Source):
        return work(X, folds)
    own = np.flatnonzero(folds >= 0)
    some = X if len(own) == len(X) else X[own]
    found = to_numpy(some.rows(work, folds[own]))
    result = np.full((len(X), *found.shape[1:]), np.nan)
    result[own] = found
    return result


def said_by_folds(X: Array, folds: Array, works: Sequence[OfBlock]) -> Array:
    """For each sample what the fold of this number gives; NaN for those without one."""
    X = to_numpy(X)
    result = np.full((len(X), *works[0](X[:0]).shape[1:]), np.nan)
    for number, work in enumerate(works):
        rows = np.flatnonzero(folds == number)
        for block in row_blocks(
            len(rows), X[:1].nbytes, 8 * CACHE_NUMBERS
        ):  # they stay in the cache
            some = rows[block]
            result[some] = work(X.take(some, axis=0))  # takes half the time of X[rows]
    return result


def fold_numbers(splits: Sequence[Split], n: int) -> Array:
    """The number of the last split whose test part has each of n samples, or -1."""
    folds = np.full(n, -1)
    for number, (_, test) in enumerate(splits):
        folds[test] = number
    return folds


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
        asked = parameters.check_option("cv", cv, [parameters.Number(2, whole=True)])
        n_folds = min(asked, int(counts.min()))
        folds = StratifiedKFold(n_folds, shuffle=True, random_state=0)
        return [(used[a], used[b]) for a, b in folds.split(used, y[used])]
    splits = positions(check_cv(cv).split(y, y), len(y))
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
