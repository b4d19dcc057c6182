"""Statistics of the training part of every fold, from one reading of the data.

Folds share samples. Samples that are in the training parts of the same folds form an *atom*; the
moments of the atoms are taken in one pass, and the moments of a training part are the sum of its
atoms. K-fold splits have K atoms, time-ordered splits one more than folds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

import numpy as np

from tenfold.mathematics.algebra import Array
from tenfold.mathematics.cost import Workload, moments_of, statistics_of
from tenfold.mathematics.moments import ClassMoments, ClassStatistics, weighted_mean
from tenfold.mathematics.pass_statistics import codes_of
from tenfold.mathematics.stores import Source
from tenfold.mathematics.tuning import ADDING

Split = tuple[Array, Array]  # positions of the training and of the test samples


def fold_statistics(
    X: Any,
    y: Array | None,
    weight: Array | None,
    classes: Array,
    splits: Sequence[Split],
    kind: str,
    work: Workload,
) -> Iterator[ClassStatistics]:
    """Statistics of the training part of each split, then of all samples.

    Classes without a training sample in a split are left out of its statistics, as if the
    estimator had been fitted on the training part alone.

    Parameters
    ----------
    X : ndarray or Source of shape (n, I_1, ..., I_K)
        The samples.
    y, weight : ndarrays of shape (n,), or None
        Labels and weights.
    classes : ndarray of shape (C,)
        All labels, sorted.
    splits : sequence of (train, test)
        The folds.
    kind : {"auto", "moments", "samples"}
        Which statistics are wanted.
    work : Workload
        What will be asked of each of the statistics.

    Yields
    ------
    ClassStatistics
        One per split, and one for all samples.
    """
    parts = [np.sort(train) for train, _ in splits] + [np.arange(len(X))]
    atoms = _atoms(parts, len(X))
    once = all(len(np.unique(rows)) == len(rows) for rows in parts)  # no sample counts twice
    if once and _sharing_pays(X, atoms, len(parts), len(classes), kind, work):
        moments = _moments_of_atoms(X, y, weight, atoms, classes)
        for rows in parts:
            yield _together([moments[a] for a in np.unique(atoms[rows])]).present()
        return
    for rows in parts:
        labels, own = (None if column is None else column[rows] for column in (y, weight))
        counted = labels if labels is None or own is None else labels[own > 0]
        present = classes if counted is None else np.unique(counted)
        yield statistics_of(X[rows], labels, own, present, kind, work)


def _atoms(parts: list[Array], n: int) -> Array:
    """For each sample the number of its atom."""
    membership = np.zeros((n, len(parts)), dtype=bool)
    for fold, rows in enumerate(parts):
        membership[rows, fold] = True
    packed = np.packbits(membership, axis=1)
    return np.unique(packed, axis=0, return_inverse=True)[1].ravel()


def _sharing_pays(
    samples: Any, atoms: Array, n_parts: int, n_classes: int, kind: str, work: Workload
) -> bool:
    """Whether moments of atoms fit into memory and cost less than statistics of every part.

    Sharing reads each sample once, where parts read it once each; but adding up tables of atoms
    takes `ADDING` times as long per table as reading takes per sample.
    """
    n, shape, n_tables = len(samples), samples.shape[1:], (int(atoms.max()) + 1) * n_classes
    if kind == "samples" or 8 * n_tables * prod(shape) ** 2 > work.memory:
        return False
    if isinstance(samples, Source):  # reading is dearer than any sum
        return 8 * n_tables * prod(shape) ** 2 <= samples.table_bytes()
    sharing_costs, not_sharing = n + ADDING * n_parts * n_tables, n * n_parts
    asked = kind == "moments" or work.moments_pay(n, shape, n_classes)
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
