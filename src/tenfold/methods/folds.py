"""Statistics of the training part of every fold, from one reading of the data.

Folds share samples. Samples that are in the training parts of the same folds form an *atom*; the
moments of the atoms are taken in one pass, and the moments of a training part are the sum of its
atoms. K-fold splits have K atoms, time-ordered splits one more than folds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import prod
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold, check_cv

from tenfold.mathematics.algebra import Array
from tenfold.mathematics.cost import moments_of, moments_pay, statistics_of
from tenfold.mathematics.moments import ClassMoments, ClassStatistics, weighted_mean
from tenfold.mathematics.pass_statistics import codes_of
from tenfold.mathematics.sample_statistics import MEMORY_BUDGET, Workload
from tenfold.mathematics.stores import Source
from tenfold.methods.learning import Learner
from tenfold.validation import samples as check

ADDING = 20  # samples that are read while one table is added to another
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
    once = all(len(np.unique(rows)) == len(rows) for rows in parts)  # no sample counts twice
    if once and _sharing_pays(
        samples, atoms, len(parts), len(classes), learner.statistics, workload
    ):
        moments = _moments_of_atoms(samples, y, weight, atoms, classes)
        for rows in parts:
            yield _together([moments[a] for a in np.unique(atoms[rows])]).present()
        return
    for rows in parts:
        labels, own = (None if column is None else column[rows] for column in (y, weight))
        present = check.present_labels(labels, own)
        yield statistics_of(samples[rows], labels, own, present, learner.statistics, workload)


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
        check.check_classes(statistics.classes, learner)
        fold = learner._without_learned_state()
        fold.__dict__.update(vars(learner), classes_=statistics.classes)
        fold._learn(statistics)
        yield test, fold


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
        n_folds = min(check.check_number("cv", cv, 2, integer=True), int(counts.min()))
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


def _atoms(parts: list[Array], n: int) -> Array:
    """For each sample the number of its atom."""
    membership = np.zeros((n, len(parts)), dtype=bool)
    for fold, rows in enumerate(parts):
        membership[rows, fold] = True
    packed = np.packbits(membership, axis=1)
    return np.unique(packed, axis=0, return_inverse=True)[1].ravel()


def _sharing_pays(
    samples: Any, atoms: Array, n_parts: int, n_classes: int, kind: str, workload: Workload
) -> bool:
    """Whether moments of atoms fit into memory and cost less than statistics of every part.

    Sharing reads each sample once, where parts read it once each; but adding up tables of atoms
    takes `ADDING` times as long per table as reading takes per sample.
    """
    n, shape, n_tables = len(samples), samples.shape[1:], (int(atoms.max()) + 1) * n_classes
    if kind == "samples" or 8 * n_tables * prod(shape) ** 2 > MEMORY_BUDGET:
        return False
    if isinstance(samples, Source):
        return True  # reading is dearer than any sum
    sharing_costs, not_sharing = n + ADDING * n_parts * n_tables, n * n_parts
    asked = kind == "moments" or moments_pay(n, shape, n_classes, workload)
    return asked and sharing_costs <= not_sharing


def _moments_of_atoms(
    samples: Any, y: Array | None, weight: Array | None, atoms: Array, classes: Array
) -> list[ClassMoments]:
    n_atoms, n_classes = int(atoms.max()) + 1, len(classes)
    codes = atoms * n_classes + codes_of(samples, y, classes)
    both = moments_of(samples, codes, weight, np.arange(n_atoms * n_classes))
    cuts = [slice(a * n_classes, (a + 1) * n_classes) for a in range(n_atoms)]
    return [
        ClassMoments(classes, both.counts[cut], both.means[cut], both.scatters[cut]) for cut in cuts
    ]


def _together(parts: list[ClassMoments]) -> ClassMoments:
    """The sum of moments of the same classes, with one step for all instead of one for each."""
    counts = np.stack([part.counts for part in parts])  # (A, C)
    means = np.stack([part.means for part in parts])  # (A, C, I_1, ..., I_K)
    together = np.stack([weighted_mean(means[:, c], n) for c, n in enumerate(counts.T)])
    scatters = parts[0].scatters.copy()
    for part in parts[1:]:
        scatters += part.scatters
    for c, n in enumerate(counts.T):
        steps = (means[:, c] - together[c]).reshape(len(parts), -1)
        scatters[c] += (steps.T * n) @ steps
    return ClassMoments(parts[0].classes, counts.sum(axis=0), together, scatters)
