"""Moments, samples or passes over a store: which statistics to make of samples, and of their folds.

All give the same model. They differ in what they cost, and a stated cost model chooses.

The training parts of all folds take one reading of the data. Folds share samples. Samples of one
class that are in the training parts of the same folds form an *atom*; the moments of the atoms are
taken in one pass, and the moments of a training part are the sum of its atoms. K-fold splits have K
atoms per class, time-ordered splits one more than folds, those that hold out whole classes one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import NamedTuple

import numpy as np

from tenfold.linalg.algebra import Array
from tenfold.linalg.constants import ADDING, KEPT_BYTES, MEMORY_BUDGET, PACK, READ, THIN, TURN
from tenfold.statistics.class_statistics import ClassStatistics, MomentStatistics
from tenfold.statistics.moments import ClassMoments
from tenfold.statistics.pooled import PooledMoments
from tenfold.statistics.sample_statistics import (
    PassStatistics,
    SampleStatistics,
    SpanStatistics,
)
from tenfold.statistics.stores import ArraySamples, Source, StoredSamples


def tables_fit(shape: tuple[int, ...], tables: int, memory: float) -> bool:
    """Whether so many tables, and two to work with, fit into the memory."""
    return 8 * prod(shape) ** 2 * (tables + 2) <= memory


class Flops(NamedTuple):
    """What it takes to ask groups of samples for every mode, in every round, for every model."""

    making: float  # a table of each group
    tables: float  # to pack these tables, and to ask them
    samples: float  # to ask the samples instead


def flops_of(n: float, shape: tuple[int, ...], ranks: Array, rounds: int, groups: int = 1) -> Flops:
    """Of groups of n samples each; every model asks one group.

    A table is larger than the cache: reading it takes as long as answering `READ` models. Products
    of samples are a little slower than square ones. Samples are centred and turned for every
    group, once if they can be kept and else in every round.
    """
    size = prod(shape)
    models = ranks[..., 0].size
    packed = prod(size_k * (size_k + 1) / 2 for size_k in shape)
    asking = 2.0 * len(shape) * rounds * (models + READ * groups) * packed
    tables = asking + float(PACK) * size**2 * groups
    products = 0.0
    largest = ranks.max(axis=(0, 1))
    for mode, size_k in enumerate(shape):
        others = [q for q in range(len(shape)) if q != mode]
        width = float(size)
        for q in sorted(others, key=lambda q: largest[q] / shape[q]):
            products += 2 * width * max(largest[q], THIN)
            width *= largest[q] / shape[q]
        products += 2 * width * size_k
    turns = 1 if 8 * n * size * groups <= KEPT_BYTES else rounds
    turning = TURN * len(shape) * size * min(groups, models) * turns
    samples = float(n * (1.3 * products * models * rounds + turning))
    return Flops(n * groups * size**2, tables, samples)


def moments_pay(
    n: int, shape: tuple[int, ...], n_classes: int, ranks: Array, rounds: int, memory: float
) -> bool:
    """Whether a table per class is affordable and cheaper than going through the samples.

    Either way a table of the shared total may be made.
    """
    if not tables_fit(shape, n_classes, memory):
        return False
    total = flops_of(n, shape, ranks, rounds)
    own = flops_of(n / n_classes, shape, ranks, rounds, min(len(ranks), n_classes))
    total_as_table = total.making + total.tables
    moments = total_as_table + own.tables  # making those of the classes makes that of all
    return moments <= min(total_as_table, total.samples) + own.samples


def statistics_of(
    X: Array | Source,
    y: Array | None,
    sample_weight: Array | None,
    classes: Array,
    ranks: Array,
    rounds: int,
    memory: float = MEMORY_BUDGET,
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
    ranks : ndarray of shape (P, M, K)
        Of the models that will ask: M for each of P classes, or for all classes together.
    rounds : int
        Rounds of the alternation.
    memory : int
        Bytes that tables may take.

    Returns
    -------
    ClassStatistics
        The statistics.
    """
    if isinstance(X, Source) and not isinstance(X, ArraySamples):
        return _statistics_of_source(X, y, sample_weight, classes, memory)
    as_span = X.ndim == 2 and len(X) < X.shape[1]
    shape = X.shape[1:]
    if not as_span and moments_pay(len(X), shape, len(classes), ranks, rounds, memory):
        return MomentStatistics.of(moments_of(X, y, sample_weight, classes))
    samples = X.in_memory() if isinstance(X, Source) else X
    if as_span:
        return SpanStatistics.from_vectors(samples, y, sample_weight, classes)
    statistics = SampleStatistics.from_batch(samples, y, sample_weight, classes=classes)
    return with_tables(statistics, ranks, rounds, memory)


def with_tables(
    statistics: SampleStatistics, ranks: Array, rounds: int, memory: float = MEMORY_BUDGET
) -> SampleStatistics:
    """The same, answering from tables made of the samples where many models ask many times.

    Of the classes all get a table or none, so that they can be stacked.
    """
    if statistics.basis is not None:
        return statistics  # asked once
    w = statistics.weights
    shape = statistics.shape
    n = len(statistics.X) if w is None else int(np.count_nonzero(w > 0))

    def pays(n: float, groups: int) -> bool:
        """Whether groups of n samples each are better made tables before they are asked."""
        flops = flops_of(n, shape, ranks, rounds, groups)
        pay = flops.making + flops.tables < flops.samples
        return pay and tables_fit(shape, groups, memory)

    of_classes = pays(n / len(statistics.classes), len(ranks))
    return replace(
        statistics,
        total_is_table=pays(n, 1),
        classes_are_tables=of_classes,
        means_are_table=pays(len(statistics.classes), 1),
    )


def moments_of(
    X: Array | Source, y: Array | None, sample_weight: Array | None, classes: Array
) -> ClassMoments:
    """Class moments of samples in memory or out of it."""
    if isinstance(X, Source):
        return X.moments(y, sample_weight, classes)
    return ClassMoments.from_batch(X, y, sample_weight, classes=classes)


def _statistics_of_source(
    X: Source, y: Array | None, weight: Array | None, classes: Array, memory: float
) -> ClassStatistics:
    size = prod(X.shape[1:])
    widest = max(X.shape[1:])
    fit = tables_fit(X.shape[1:], len(classes), memory)
    if fit and 8 * len(classes) * size**2 <= X.table_bytes():
        return MomentStatistics.of(X.moments(y, weight, classes))
    if X.ndim == 2 and len(X) < size and 3 * 8 * len(X) * size <= memory:
        return SpanStatistics.from_vectors(X.in_memory(), y, weight, classes)
    if not tables_fit((widest,), 4, memory):
        raise ValueError(
            f"scatters of {widest} x {widest} numbers do not fit into "
            f"{memory / 2**30:.3g} GiB; treat the samples as tensors, or make them smaller "
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
        times = [np.bincount(rows, minlength=len(codes)) for rows in parts]
        atoms, example = _alike([codes, *times])
        return cls(atoms, codes[example], np.array([count[example] for count in times]))

    @classmethod
    def of_folds(cls, folds: Sequence[Array], codes: Array) -> Parts:
        """All samples, then all but each fold; `folds` has numbers (n,), -1 where none holds out.

        Several ways to deal the same samples give their parts in order.
        """
        atoms, example = _alike([codes, *(fold + 1 for fold in folds)])
        out = [fold[example] == f for fold in folds for f in range(int(fold.max(initial=-1)) + 1)]
        times = np.array([np.zeros(len(example), dtype=bool), *out])
        return cls(atoms, codes[example], 1 - times.astype(np.intp))

    def rows(self, part: int) -> Array:
        """Positions of the samples of a part, in order."""
        return np.repeat(np.arange(len(self.atoms)), self.times[part][self.atoms])


def renumbered(codes: Array) -> tuple[Array, Array]:
    """The numbers that occur, sorted, and the position of each among them."""
    there = np.bincount(codes) > 0
    return np.flatnonzero(there), (np.cumsum(there) - 1)[codes]


def _alike(columns: Sequence[Array]) -> tuple[Array, Array]:
    """A number (n,) that samples share if all columns of numbers (n,) are equal; one of each."""
    alike = np.zeros_like(columns[0])
    for column in columns:
        alike = renumbered(alike * (int(column.max(initial=0)) + 1) + column)[1]
    example = np.zeros(int(alike.max(initial=-1)) + 1, dtype=np.intp)
    example[alike] = np.arange(len(alike))
    return alike, example


class PartStatistics(NamedTuple):
    """Statistics of parts of the samples, each made when it is asked for.

    Where moments of atoms fit into memory and cost less, the samples are read once for all parts.
    Sharing reads each sample once, where parts read it once each; but adding up tables of atoms
    takes `ADDING` times as long per table as reading takes per sample.
    """

    X: Array | Source  # of shape (n, I_1, ..., I_K)
    y: Array | None
    weight: Array | None
    classes: Array  # (C,), all labels, sorted
    parts: Parts
    ranks: Array
    rounds: int
    memory: float
    moments: ClassMoments | PooledMoments | None  # of the atoms, if parts share them
    positive: int  # the number of the one class that is told from all others, where they are pooled

    @classmethod
    def of(
        cls,
        X: Array | Source,
        y: Array | None,
        weight: Array | None,
        classes: Array,
        parts: Parts,
        ranks: Array,
        rounds: int,
        memory: float = MEMORY_BUDGET,
        positive: int = -1,
    ) -> PartStatistics:
        """Decide how parts are made, and read the samples if parts share their moments.

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
        ranks, rounds, memory
            What will be asked of each of the statistics, as `statistics_of` has it.
        positive : int
            The number of a class if nobody asks for the scatter of any other: those of a store
            are pooled, then. -1 if somebody does.
        """
        n_parts, n_atoms = parts.times.shape
        n = len(X)
        shape = X.shape[1:]
        pools = positive >= 0 and isinstance(X, StoredSamples)
        if pools:
            alike = np.vstack([parts.of_class == positive, parts.times])
            table_of = np.unique(alike, axis=1, return_inverse=True)[1].ravel()
            n_atoms = int(table_of.max()) + 1
        table_bytes = 8 * n_atoms * prod(shape) ** 2
        if isinstance(X, Source):  # reading is dearer than any sum
            shares = table_bytes <= X.table_bytes()
        else:
            shares = n + ADDING * n_parts * n_atoms <= n * n_parts
            shares = shares and moments_pay(n, shape, len(classes), ranks, rounds, memory)
        once = parts.times.max() <= 1  # no sample counts twice
        moments: ClassMoments | PooledMoments | None = None
        if once and shares and table_bytes <= memory:
            if isinstance(X, StoredSamples) and pools:
                moments = PooledMoments.of_store(X, parts.atoms, weight, table_of)
            else:
                moments = moments_of(X, parts.atoms, weight, np.arange(n_atoms))
        return cls(X, y, weight, classes, parts, ranks, rounds, memory, moments, positive)

    def part(self, number: int) -> ClassStatistics:
        """Statistics of one part.

        Classes without a sample in it are left out, as if the estimator had been fitted on the
        part alone.
        """
        if isinstance(self.moments, PooledMoments):
            kept = self.parts.times[number] > 0
            return self.moments.part(kept, self.parts.of_class, self.classes, self.positive)
        if self.moments is not None:
            codes = np.where(self.parts.times[number] > 0, self.parts.of_class, -1)
            summed = self.moments.summed_by(codes, len(self.classes))
            return MomentStatistics.of(replace(summed, classes=self.classes).present())
        rows = self.parts.rows(number)
        labels = None if self.y is None else self.y[rows]
        weight = None if self.weight is None else self.weight[rows]
        counted = labels if labels is None or weight is None else labels[weight > 0]
        present = self.classes if counted is None else np.unique(counted)
        some = self.X[rows]
        return statistics_of(some, labels, weight, present, self.ranks, self.rounds, self.memory)
