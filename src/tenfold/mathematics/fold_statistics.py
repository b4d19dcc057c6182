"""Statistics of the training part of every fold, from one reading of the data.

Folds share samples. Samples of one class that are in the training parts of the same folds form an
*atom*; the moments of the atoms are taken in one pass, and the moments of a training part are the
sum of its atoms. K-fold splits have K atoms per class, time-ordered splits one more than folds, and
splits that hold out whole classes one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
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


@dataclass(frozen=True, eq=False)
class Parts:
    """Training parts of n samples, by the atoms that they are made of.

    Parameters
    ----------
    atoms : ndarray of shape (n,)
        The number of the atom of each sample.
    of_class : ndarray of shape (A,)
        The number of the class of each atom.
    times : ndarray of shape (F, A)
        How often each part holds the samples of each atom: once, or not at all; more often if a
        splitter draws them again.
    """

    atoms: Array
    of_class: Array
    times: Array

    @classmethod
    def of_rows(cls, parts: Sequence[Array], codes: Array) -> Parts:
        """Of the positions in every part, and the number (n,) of the class of each sample."""
        alike = codes.astype(np.uint64)
        marks = np.random.default_rng(0).integers(2**63, size=len(parts), dtype=np.uint64)
        counts = [np.bincount(rows, minlength=len(codes)) for rows in parts]
        for mark, count in zip(marks, counts, strict=True):
            alike += mark * count.astype(np.uint64)  # sums of random numbers tell atoms apart
        _, first, atoms = np.unique(alike, return_index=True, return_inverse=True)
        return cls(atoms.ravel(), codes[first], np.array([count[first] for count in counts]))

    @classmethod
    def of_folds(cls, folds: Sequence[Array], codes: Array) -> Parts:
        """All samples, then all but each fold; `folds` has numbers (n,), -1 where none holds out.

        Several ways to deal the same samples give their parts in order.
        """
        found, atoms = renumbered(codes)
        held: list[Array] = []
        for fold in folds:
            n_folds = int(fold.max(initial=-1)) + 1
            both, atoms = renumbered(atoms * (n_folds + 1) + fold + 1)
            before, own = both // (n_folds + 1), both % (n_folds + 1) - 1
            found = found[before]
            held = [*(column[before] for column in held), own]
        ways = [own != f for own in held for f in range(int(own.max(initial=-1)) + 1)]
        return cls(atoms, found, np.array([np.ones(len(found), bool), *ways], dtype=np.intp))

    def rows(self, part: int) -> Array:
        """Positions of the samples of a part, in order."""
        return np.repeat(np.arange(len(self.atoms)), self.times[part][self.atoms])


def renumbered(codes: Array) -> tuple[Array, Array]:
    """The numbers that occur, sorted, and the position of each among them."""
    there = np.bincount(codes) > 0
    return np.flatnonzero(there), (np.cumsum(there) - 1)[codes]


def fold_statistics(
    X: Any,
    y: Array | None,
    weight: Array | None,
    classes: Array,
    splits: Sequence[Split],
    work: Workload,
) -> Iterator[ClassStatistics]:
    """Statistics of the training part of each split, then of all samples: see `part_statistics`."""
    rows = [*(train for train, _ in splits), np.arange(len(X))]
    parts = Parts.of_rows(rows, codes_of(X, y, classes))
    return part_statistics(X, y, weight, classes, parts, work)


def part_statistics(
    X: Any,
    y: Array | None,
    weight: Array | None,
    classes: Array,
    parts: Parts,
    work: Workload,
) -> Iterator[ClassStatistics]:
    """Statistics of every part, from one reading.

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
    parts : Parts
        Which samples belong to which part.
    work : Workload
        What will be asked of each of the statistics.

    Yields
    ------
    ClassStatistics
        One per part.
    """
    n_parts, n_atoms = parts.times.shape
    once = parts.times.max() <= 1  # no sample counts twice
    if once and _sharing_pays(X, n_atoms, n_parts, len(classes), work):
        moments = moments_of(X, parts.atoms, weight, np.arange(n_atoms))
        for times in parts.times:
            codes = np.where(times > 0, parts.of_class, -1)
            yield replace(moments.summed_by(codes, len(classes)), classes=classes).present()
        return
    for part in range(n_parts):
        rows = parts.rows(part)
        labels, own = (None if column is None else column[rows] for column in (y, weight))
        counted = labels if labels is None or own is None else labels[own > 0]
        present = classes if counted is None else np.unique(counted)
        yield statistics_of(X[rows], labels, own, present, work)


def _sharing_pays(
    samples: Any, n_tables: int, n_parts: int, n_classes: int, work: Workload
) -> bool:
    """Whether moments of atoms fit into memory and cost less than statistics of every part.

    Sharing reads each sample once, where parts read it once each; but adding up tables of atoms
    takes `ADDING` times as long per table as reading takes per sample.
    """
    n, shape = len(samples), samples.shape[1:]
    if 8 * n_tables * prod(shape) ** 2 > work.memory:
        return False
    if isinstance(samples, Source):  # reading is dearer than any sum
        return bool(8 * n_tables * prod(shape) ** 2 <= samples.table_bytes())
    sharing_costs, not_sharing = n + ADDING * n_parts * n_tables, n * n_parts
    return work.moments_pay(n, shape, n_classes) and sharing_costs <= not_sharing
