"""Statistics of the training part of every fold, from one reading of the data.

Folds share samples. Samples that are in the training parts of the same folds form an *atom*; the
moments of the atoms are taken in one pass, and the moments of a training part are the sum of its
atoms. K-fold splits have K atoms, time-ordered splits one more than folds.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from numbers import Integral
from operator import add
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold, check_cv

from tenfold import validation as check
from tenfold.algebra import Array
from tenfold.choosing import moments_of, moments_pay, statistics_of
from tenfold.learning import Learner
from tenfold.moments import ClassMoments, ClassStatistics
from tenfold.samples import MEMORY_BUDGET, Workload
from tenfold.sources import Source

Split = tuple[Array, Array]  # positions of the training and of the test samples


def fold_statistics(
    learner: Learner,
    X: Array,
    y: Array | None,
    weight: Array | None,
    splits: list[Split],
    workload: Workload,
) -> Iterator[ClassStatistics]:
    """Statistics of the training part of each split, then of all samples.

    Classes without a training sample in a split are left out of its statistics, as if the
    estimator had been fitted on the training part alone.

    Parameters
    ----------
    learner : Learner
        A prepared estimator: how it sees samples, and which statistics it wants.
    X, y, weight : ndarrays
        The checked batch.
    splits : list of (train, test)
        The folds.
    workload : Workload
        What will be asked of each of the statistics.

    Yields
    ------
    ClassMoments or SampleStatistics
        One per split, and one for all samples.
    """
    samples, classes = learner._samples(X), learner._moment_classes()
    parts = [np.sort(train) for train, _ in splits] + [np.arange(len(samples))]
    atoms = _atoms(parts, len(samples))
    n_atoms, shape = int(atoms.max()) + 1, samples.shape[1:]
    kind = learner.statistics
    few = 8 * n_atoms * len(classes) * int(np.prod(shape)) ** 2 <= MEMORY_BUDGET
    pays = kind == "moments" or (
        kind == "auto"
        and (
            isinstance(samples, Source)
            or moments_pay(len(samples), shape, n_atoms * len(classes), workload)
        )
    )
    if not (few and pays and n_atoms <= 2 * len(parts)):
        for rows in parts:
            labels = None if y is None else y[rows]
            own = classes if y is None else np.intersect1d(classes, labels)
            part_weight = None if weight is None else weight[rows]
            yield statistics_of(samples[rows], labels, part_weight, own, kind, workload)
        return
    moments = _moments_of_atoms(samples, y, weight, atoms, classes)
    for rows in parts:
        yield reduce(add, (moments[a] for a in np.unique(atoms[rows]))).present()


def held_out(
    learner: Learner, X: Array, y: Array, weight: Array | None, splits: list[Split]
) -> Iterator[tuple[Array, Learner]]:
    """For each split the positions of its test samples, and the learner without them.

    Parameters
    ----------
    learner : Learner
        A prepared estimator.
    X, y, weight : ndarrays
        The checked batch.
    splits : list of (train, test)
        The folds.

    Yields
    ------
    (ndarray, Learner)
        Test positions, and an estimator fitted on the training part.
    """
    parts = fold_statistics(learner, X, y, weight, splits, learner._workload())
    for (_, test), statistics in zip(splits, parts, strict=False):
        fold = learner._without_learned_state()
        fold.__dict__.update(vars(learner), classes_=statistics.classes)
        fold._learn(statistics)
        yield test, fold


def stratified_splits(cv: Any, y: Array) -> list[Split]:
    """Folds that keep the shares of the classes; no more than the smallest class has samples."""
    smallest = int(np.unique(y, return_counts=True)[1].min())
    if smallest < 2:
        raise ValueError(
            "a class has 1 sample only, so its distances cannot be out of fold; classifier="
            "... needs at least 2 samples of every class"
        )
    if isinstance(cv, Integral):
        n_folds = min(check.check_number("cv", cv, 2, integer=True), smallest)
        cv = StratifiedKFold(n_folds, shuffle=True, random_state=0)
    return list(check_cv(cv).split(np.zeros(len(y)), y))


def _atoms(parts: list[Array], n: int) -> Array:
    """For each sample the number of its atom."""
    membership = np.zeros((n, len(parts)), dtype=bool)
    for fold, rows in enumerate(parts):
        membership[rows, fold] = True
    packed = np.packbits(membership, axis=1)
    return np.unique(packed, axis=0, return_inverse=True)[1].ravel()


def _moments_of_atoms(
    samples: Array, y: Array | None, weight: Array | None, atoms: Array, classes: Array
) -> list[ClassMoments]:
    codes = np.zeros(len(samples), int) if y is None else np.searchsorted(classes, y)
    n_atoms, n_classes = int(atoms.max()) + 1, len(classes)
    labels = np.arange(n_atoms * n_classes)
    both = moments_of(samples, atoms * n_classes + codes, weight, labels)
    cuts = [slice(a * n_classes, (a + 1) * n_classes) for a in range(n_atoms)]
    return [
        ClassMoments(classes, both.counts[cut], both.means[cut], both.scatters[cut]) for cut in cuts
    ]
