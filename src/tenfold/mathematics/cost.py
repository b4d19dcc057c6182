"""Moments, samples or passes over a store: three statistics that answer the same questions.

All give the same model. They differ in what they cost, and a stated cost model chooses.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from tenfold.mathematics.algebra import Array
from tenfold.mathematics.moments import ClassMoments
from tenfold.mathematics.pass_statistics import PassStatistics
from tenfold.mathematics.sample_statistics import (
    MEMORY_BUDGET,
    PACK,
    SampleStatistics,
    SpanStatistics,
    Workload,
)
from tenfold.mathematics.stores import Source


def statistics_of(
    X: Array | Source,
    y: Any,
    sample_weight: Any,
    classes: Array,
    kind: str,
    workload: Workload,
) -> ClassMoments | SampleStatistics | PassStatistics:
    """Class statistics of a batch by moments, by samples, or by whichever costs less.

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
    kind : {"auto", "moments", "samples"}
        What to use.
    workload : Workload
        What will be asked.

    Returns
    -------
    ClassMoments, SampleStatistics or PassStatistics
        The statistics.
    """
    if isinstance(X, Source):
        return _statistics_of_source(X, y, sample_weight, classes, kind, workload)
    if kind != "moments" and X.ndim == 2 and len(X) < X.shape[1]:
        return SpanStatistics.from_vectors(X, y, sample_weight, classes, workload.outside)
    if kind == "samples":
        return SampleStatistics.from_batch(X, y, sample_weight, classes=classes)
    if kind == "auto" and not moments_pay(len(X), X.shape[1:], len(classes), workload):
        return SampleStatistics.from_batch(X, y, sample_weight, classes=classes, workload=workload)
    return ClassMoments.from_batch(X, y, sample_weight, classes=classes)


def moments_of(X: Array | Source, y: Any, sample_weight: Any, classes: Array) -> ClassMoments:
    """Class moments of samples in memory or out of it."""
    if isinstance(X, Source):
        return X.moments(y, sample_weight, classes)
    return ClassMoments.from_batch(X, y, sample_weight, classes=classes)


def _statistics_of_source(
    X: Source, y: Any, weight: Any, classes: Array, kind: str, workload: Workload
) -> ClassMoments | SampleStatistics | PassStatistics:
    size = prod(X.shape[1:])
    if kind == "moments" or (kind == "auto" and moments_fit(X.shape[1:], len(classes))):
        return X.moments(y, weight, classes)
    if X.ndim == 2 and len(X) < size and 3 * 8 * len(X) * size <= MEMORY_BUDGET:
        labels, weights = (None if c is None else np.asarray(c) for c in (y, weight))
        vectors = np.asarray(X.rows(np.array))
        return SpanStatistics.from_vectors(vectors, labels, weights, classes, workload.outside)
    widest = max(X.shape[1:])
    if 8 * widest**2 * 6 > MEMORY_BUDGET:
        raise ValueError(
            f"scatters of {widest} x {widest} numbers do not fit into "
            f"{MEMORY_BUDGET / 2**30:.0f} GiB; treat the samples as tensors, or make them smaller "
            "first with MPCA(ranks=0.999)"
        )
    return PassStatistics.from_source(X, y, weight, classes)


def moments_fit(shape: tuple[int, ...], n_classes: int) -> bool:
    """Whether a table per class, and two to work with, fit into the memory budget."""
    return 8 * prod(shape) ** 2 * (n_classes + 2) <= MEMORY_BUDGET


def moments_pay(n: int, shape: tuple[int, ...], n_classes: int, workload: Workload) -> bool:
    """Whether a table per class is affordable and cheaper than going through the samples."""
    size = prod(shape)
    if not moments_fit(shape, n_classes):
        return False
    packing = float(PACK) * size**2 * (n_classes + 1)
    asking = workload.table_flops(shape)
    moments = n * size**2 + packing + asking + workload.table_flops(shape, n_classes)
    total = min(n * size**2 + packing / (n_classes + 1) + asking, workload.sample_flops(n, shape))
    samples = total + workload.sample_flops(n / n_classes, shape, n_classes)
    return moments <= samples
