"""Moments, samples or passes over a store: which statistics to make of some samples.

All give the same model. They differ in what they cost, and a stated cost model chooses.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from tenfold.mathematics.algebra import Array
from tenfold.mathematics.moments import ClassMoments, ClassStatistics
from tenfold.mathematics.pass_statistics import PassStatistics, codes_of
from tenfold.mathematics.sample_statistics import SampleStatistics, SpanStatistics
from tenfold.mathematics.stores import ArraySamples, Source
from tenfold.mathematics.tuning import KEPT_BYTES, MEMORY_BUDGET, PACK, READ, THIN, TURN


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
