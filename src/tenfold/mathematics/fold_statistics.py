"""Statistics of the training part of every fold, from one reading of the data.

Folds share samples. Samples of one class that are in the training parts of the same folds form an
*atom*; the moments of the atoms are taken in one pass, and the moments of a training part are the
sum of its atoms. K-fold splits have K atoms per class, time-ordered splits one more than folds, and
splits that hold out whole classes one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from tenfold.mathematics.algebra import Array
from tenfold.mathematics.cost import Workload, moments_of, statistics_of
from tenfold.mathematics.moments import ClassStatistics
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
    atoms, of_class = _atoms(parts, codes_of(X, y, classes))
    once = all(len(np.unique(rows)) == len(rows) for rows in parts)  # no sample counts twice
    if once and _sharing_pays(X, len(of_class), len(parts), len(classes), kind, work):
        moments = moments_of(X, atoms, weight, np.arange(len(of_class)))
        for rows in parts:
            held = np.setdiff1d(np.arange(len(of_class)), atoms[rows])
            codes = of_class.copy()
            codes[held] = -1
            yield replace(moments.summed_by(codes, len(classes)), classes=classes).present()
        return
    for rows in parts:
        labels, own = (None if column is None else column[rows] for column in (y, weight))
        counted = labels if labels is None or own is None else labels[own > 0]
        present = classes if counted is None else np.unique(counted)
        yield statistics_of(X[rows], labels, own, present, kind, work)


def _atoms(parts: list[Array], codes: Array) -> tuple[Array, Array]:
    """For each sample the number of its atom, and for each atom the number of its class."""
    membership = np.zeros((len(codes), len(parts)), dtype=bool)
    for fold, rows in enumerate(parts):
        membership[rows, fold] = True
    packed = np.unique(np.packbits(membership, axis=1), axis=0, return_inverse=True)[1].ravel()
    n_classes = int(codes.max(initial=0)) + 1
    found, atoms = np.unique(packed * n_classes + codes, return_inverse=True)
    return atoms.ravel(), found % n_classes


def _sharing_pays(
    samples: Any, n_tables: int, n_parts: int, n_classes: int, kind: str, work: Workload
) -> bool:
    """Whether moments of atoms fit into memory and cost less than statistics of every part.

    Sharing reads each sample once, where parts read it once each; but adding up tables of atoms
    takes `ADDING` times as long per table as reading takes per sample.
    """
    n, shape = len(samples), samples.shape[1:]
    if kind == "samples" or 8 * n_tables * prod(shape) ** 2 > work.memory:
        return False
    if isinstance(samples, Source):  # reading is dearer than any sum
        return bool(8 * n_tables * prod(shape) ** 2 <= samples.table_bytes())
    sharing_costs, not_sharing = n + ADDING * n_parts * n_tables, n * n_parts
    asked = kind == "moments" or work.moments_pay(n, shape, n_classes)
    return asked and sharing_costs <= not_sharing
