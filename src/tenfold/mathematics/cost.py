"""Moments, samples or passes over a store: which statistics to make of samples, and of their folds.

All give the same model. They differ in what they cost, and a stated cost model chooses.

The training parts of all folds take one reading of the data. Folds share samples. Samples of one
class that are in the training parts of the same folds form an *atom*; the moments of the atoms are
taken in one pass, and the moments of a training part are the sum of its atoms. K-fold splits have K
atoms per class, time-ordered splits one more than folds, those that hold out whole classes one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from tenfold.mathematics.algebra import Array
from tenfold.mathematics.moments import ClassMoments, ClassStatistics
from tenfold.mathematics.sample_statistics import (
    PassStatistics,
    SampleStatistics,
    SpanStatistics,
    codes_of,
)
from tenfold.mathematics.stores import ArraySamples, Source
from tenfold.mathematics.tuning import ADDING, KEPT_BYTES, MEMORY_BUDGET, PACK, READ, THIN, TURN


@dataclass(frozen=True)
class Workload:
    """What will be asked of the statistics, and what they may take.

    Parameters
    ----------
    ranks : tuple of K ints
        The largest rank of each mode.
    rounds : int
        Rounds of the alternation.
    models : int
        Number of models solved together.
    positives : int
        How many classes have models of their own.
    memory : int
        Bytes that tables may take.
    """

    ranks: tuple[int, ...]
    rounds: int
    models: int = 1
    positives: int = 1
    memory: int = MEMORY_BUDGET

    @classmethod
    def together(cls, parts: list[Workload]) -> Workload:
        """That of several stacks of models over the same classes."""
        return cls(
            ranks=tuple(np.max([part.ranks for part in parts], axis=0).tolist()),
            rounds=max(part.rounds for part in parts),
            models=sum(part.models for part in parts),
            positives=max(part.positives for part in parts),
            memory=parts[0].memory,
        )

    def tables_fit(self, shape: tuple[int, ...], tables: int) -> bool:
        """Whether so many tables, and two to work with, fit into the memory."""
        return 8 * prod(shape) ** 2 * (tables + 2) <= self.memory

    def table_flops(self, shape: tuple[int, ...], tables: int = 1) -> float:
        """Flops to pack tables, and to ask them for every mode, in every round, for every model.

        A table is larger than the cache: reading it takes as long as answering `READ` models.
        """
        packed = prod(size * (size + 1) / 2 for size in shape)
        asking = 2.0 * len(shape) * self.rounds * (self.models + READ * tables) * packed
        return asking + float(PACK) * prod(shape) ** 2 * tables

    def sample_flops(self, n: float, shape: tuple[int, ...], groups: int = 1) -> float:
        """Flops to ask groups of n samples the same; every model asks one group.

        Products are a little slower than square ones. Samples are centred and turned for every
        group, once if they can be kept and else in every round.
        """
        size, flops = prod(shape), 0.0
        for mode, size_k in enumerate(shape):
            others = [q for q in range(len(shape)) if q != mode]
            width = float(size)
            for q in sorted(others, key=lambda q: self.ranks[q] / shape[q]):
                flops += 2 * width * max(self.ranks[q], THIN)
                width *= self.ranks[q] / shape[q]
            flops += 2 * width * size_k
        turns = 1 if 8 * n * size * groups <= KEPT_BYTES else self.rounds
        turning = TURN * len(shape) * size * min(groups, self.models) * turns
        return n * (1.3 * flops * self.models * self.rounds + turning)

    def tables_pay(self, n: float, shape: tuple[int, ...], groups: int = 1) -> bool:
        """Whether groups of n samples each are better made tables before they are asked."""
        making = n * groups * prod(shape) ** 2
        as_tables = making + self.table_flops(shape, groups)
        return self.tables_fit(shape, groups) and as_tables < self.sample_flops(n, shape, groups)

    def moments_pay(self, n: int, shape: tuple[int, ...], n_classes: int) -> bool:
        """Whether a table per class is affordable and cheaper than going through the samples.

        Either way a table of the shared total may be made.
        """
        if not self.tables_fit(shape, n_classes):
            return False
        summing = n * prod(shape) ** 2
        own = min(self.positives, n_classes)
        moments = summing + self.table_flops(shape) + self.table_flops(shape, own)
        total = min(summing + self.table_flops(shape), self.sample_flops(n, shape))
        return moments <= total + self.sample_flops(n / n_classes, shape, own)


def statistics_of(
    X: Array | Source, y: Any, sample_weight: Any, classes: Array, work: Workload
) -> ClassStatistics:
    """Class statistics of a batch by moments or by samples, whichever costs less.

    The model counts flops. Moments cost N I^2 once and then two table look-ups per mode, round
    and model; they need 8 C I^2 bytes. Samples cost N I r per mode, round and model, where a
    table of the shared total may take their place. Samples that are not in memory are read once
    for moments when these fit into memory, and otherwise once per mode and round.

    Parameters
    ----------
    X : ndarray or Source of shape (n, I_1, ..., I_K)
        The samples.
    y : ndarray of shape (n,) or None
        The labels.
    sample_weight : ndarray of shape (n,) or None
        Sample weights.
    classes : ndarray of shape (C,)
        All labels, sorted.
    work : Workload
        What will be asked.

    Returns
    -------
    ClassStatistics
        The statistics.
    """
    if isinstance(X, Source) and not isinstance(X, ArraySamples):
        return _statistics_of_source(X, y, sample_weight, classes, work)
    as_span = X.ndim == 2 and len(X) < X.shape[1]
    if not as_span and work.moments_pay(len(X), X.shape[1:], len(classes)):
        return moments_of(X, y, sample_weight, classes)
    samples = X.in_memory() if isinstance(X, Source) else X
    if as_span:
        return SpanStatistics.from_vectors(samples, y, sample_weight, classes)
    return SampleStatistics.from_batch(samples, y, sample_weight, classes=classes, work=work)


def moments_of(
    X: Array | Source, y: Any, sample_weight: Any, classes: Array, folds: Array | None = None
) -> ClassMoments:
    """Class moments of samples in memory or out of it; with folds (n,), of classes in folds."""
    if folds is not None:
        cells, numbers = cells_of(codes_of(X, y, classes), folds)
        found = moments_of(X, numbers, sample_weight, np.arange(len(cells)))
        return in_cells(found, cells, classes)
    if isinstance(X, Source):
        return X.moments(y, sample_weight, classes)
    return ClassMoments.from_batch(X, y, sample_weight, classes=classes)


def cells_of(codes: Array, folds: Array) -> tuple[Array, Array]:
    """The cells (m, 2) of class and fold that have samples, sorted, and that of each sample."""
    cells, numbers = np.unique(np.stack([codes, folds], axis=1), axis=0, return_inverse=True)
    return cells, numbers.ravel()


def in_cells(moments: ClassMoments, cells: Array, classes: Array) -> ClassMoments:
    """Moments whose classes are numbers of cells, as those of classes in folds."""
    labelled = replace(moments, classes=classes[cells[:, 0]], folds=cells[:, 1])
    return labelled.present()


def _statistics_of_source(
    X: Source, y: Any, weight: Any, classes: Array, work: Workload
) -> ClassStatistics:
    size, widest = prod(X.shape[1:]), max(X.shape[1:])
    fit = work.tables_fit(X.shape[1:], len(classes))
    if fit and 8 * len(classes) * size**2 <= X.table_bytes():
        return X.moments(y, weight, classes)
    if X.ndim == 2 and len(X) < size and 3 * 8 * len(X) * size <= work.memory:
        return SpanStatistics.from_vectors(X.in_memory(), y, weight, classes)
    if not work.tables_fit((widest,), 4):
        raise ValueError(
            f"scatters of {widest} x {widest} numbers do not fit into "
            f"{work.memory / 2**30:.3g} GiB; treat the samples as tensors, or make them smaller "
            "first with MPCA(ranks=0.999)"
        )
    return PassStatistics.from_source(X, y, weight, classes)


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
        return cls._of_times([np.bincount(rows, minlength=len(codes)) for rows in parts], codes)

    @classmethod
    def of_folds(cls, folds: Sequence[Array], codes: Array) -> Parts:
        """All samples, then all but each fold; `folds` has numbers (n,), -1 where none holds out.

        Several ways to deal the same samples give their parts in order.
        """
        kept = [fold != f for fold in folds for f in range(int(fold.max(initial=-1)) + 1)]
        return cls._of_times([np.ones(len(codes), dtype=bool), *kept], codes)

    @classmethod
    def _of_times(cls, times: Sequence[Array], codes: Array) -> Parts:
        """Of how often each part holds each sample."""
        alike = codes.astype(np.uint64)
        marks = np.random.default_rng(0).integers(2**63, size=len(times), dtype=np.uint64)
        for mark, count in zip(marks, times, strict=True):
            alike += mark * count.astype(np.uint64)  # sums of random numbers tell atoms apart
        _, first, atoms = np.unique(alike, return_index=True, return_inverse=True)
        found = np.array([count[first] for count in times], dtype=np.intp)
        return cls(atoms.ravel(), codes[first], found)

    def rows(self, part: int) -> Array:
        """Positions of the samples of a part, in order."""
        return np.repeat(np.arange(len(self.atoms)), self.times[part][self.atoms])


def renumbered(codes: Array) -> tuple[Array, Array]:
    """The numbers that occur, sorted, and the position of each among them."""
    there = np.bincount(codes) > 0
    return np.flatnonzero(there), (np.cumsum(there) - 1)[codes]


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
