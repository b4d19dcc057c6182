"""Distances in the subspaces of many classes, and what follows from them.

Nothing here holds a model: a function and the few matrices it needs can be sent to other
processes, however many moments the model keeps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from tenfold.mathematics.accumulate import row_blocks
from tenfold.mathematics.algebra import Array, of_type, shrinking_order
from tenfold.mathematics.on_device import STAGES, Other, Place, twin_of
from tenfold.mathematics.tuning import CACHE_NUMBERS, DEVICE_BYTES, THREAD_BYTES
from tenfold.system.threads import over_threads

OfBlock = Callable[[Array], Array]


@dataclass(frozen=True, eq=False)
class Subspaces:
    """M subspaces with a centre each, stacked so that samples meet all of them at once.

    Parameters
    ----------
    order : tuple of K ints
        The modes in the order in which they are projected.
    projections : list of K ndarrays of shape (M, r_k, I_k)
        ``W_k^T`` of every model, in that order of modes; rows of zeros pad lower ranks.
    origin : ndarray of shape (I_1, ..., I_K)
        What is subtracted from samples before they are projected, so that an offset that all
        centres share costs no digits.
    centres : ndarray of shape (M, r_1, ..., r_K, 1)
        The projected centres about the origin, in that order of modes.
    """

    order: tuple[int, ...]
    projections: list[Array]
    origin: Array
    centres: Array

    @classmethod
    def stacked(cls, projections: list[list[Array]], means: list[Array]) -> Subspaces:
        """From the K projections (I_k, r_k) and the mean of each model."""
        stacks = [_stacked(per_model) for per_model in zip(*projections, strict=True)]
        order = tuple(shrinking_order([W.swapaxes(1, 2) for W in stacks]))
        ordered = [stacks[k] for k in order]
        centres = np.stack(means).reshape(len(means), *(W.shape[2] for W in stacks))
        origin = centres.mean(axis=0)
        about = (centres - origin).transpose(0, *(k + 1 for k in order))
        return cls(order, ordered, origin, _project_each(about[..., None], ordered))

    @cached_property
    def _squares_fit_float32(self) -> bool:
        size = max(np.abs(self.origin).max(), np.abs(self.centres).max())
        return bool(1e-15 < size < 1e15)

    def squared_distances(self, X: Array) -> Array:
        """Squared distances (n, M) of samples from the centres, each in its own subspace."""
        X = X.reshape(len(X), *self.origin.shape)
        dtype = np.float32 if X.dtype == np.float32 and self._squares_fit_float32 else np.float64
        stacks = [of_type(W, dtype) for W in self.projections]
        centres = of_type(self.centres, dtype)
        largest = self.origin.size * stacks[0].shape[1] // stacks[0].shape[2]  # per model, sample
        n_rows = max(32, CACHE_NUMBERS // (largest * len(centres)))
        n_models = max(1, CACHE_NUMBERS // (largest * n_rows))

        def turned(rows: Array) -> Array:
            return of_type(_samples_last(rows - self.origin, self.order), dtype)

        if 0 < len(X) <= n_rows and len(centres) <= n_models:
            return _squares(turned(X), stacks, centres).T
        result = np.empty((len(X), len(centres)), dtype=dtype)

        def work(part: slice) -> None:
            for start in range(part.start, part.stop, n_rows):
                rows = slice(start, min(start + n_rows, part.stop))
                block = turned(X[rows])
                for first in range(0, len(centres), n_models):
                    models = slice(first, first + n_models)
                    own = [W[models] for W in stacks]
                    result[rows, models] = _squares(block, own, centres[models]).T

        parts = list(row_blocks(len(X), X[:1].nbytes, THREAD_BYTES))
        if len(parts) > 1:
            over_threads(work, parts)
        elif parts:
            work(parts[0])
        return result


def _squares(block: Array, stacks: list[Array], centres: Array) -> Array:
    """Squared distances (M, n) of samples (I_1, ..., I_K, n) from the centres of M models."""
    Y = project_by_all(block, stacks)
    Y -= centres
    if Y.shape[-1] == 1:
        flat = Y.reshape(len(Y), -1)
        return np.asarray(np.vecdot(flat, flat)[:, None])
    Y *= Y
    return np.asarray(Y.reshape(len(Y), -1, Y.shape[-1]).sum(axis=1))


def project_by_all(block: Array, stacks: list[Array]) -> Array:
    """Samples (I_1, ..., I_K, n) projected by M models at once, (M, r_1, ..., r_K, n).

    `stacks` holds ``W_k^T`` of every model, (M, r_k, I_k). The first mode is one product for all
    models and samples.
    """
    first, *rest = stacks
    Y = first.reshape(-1, len(block)) @ block.reshape(len(block), -1)
    return _project_each(Y.reshape(*first.shape[:2], *block.shape[1:]), rest, skip=1)


def _project_each(Y: Array, stacks: Sequence[Array], skip: int = 0) -> Array:
    """Each model's own tensors (M, I_1, ..., I_K, n), all modes but the first `skip` projected."""
    for axis, W in enumerate(stacks, start=skip + 1):
        before, after = prod(Y.shape[1:axis]), prod(Y.shape[axis + 1 :])
        if after == 1:  # the last mode of one sample: one product per model
            product = Y.reshape(len(W), before, W.shape[2]) @ W.swapaxes(1, 2)
        else:
            product = W[:, None] @ Y.reshape(len(W), before, W.shape[2], after)
        Y = product.reshape(*Y.shape[:axis], W.shape[1], *Y.shape[axis + 1 :])
    return Y


def _stacked(projections: Sequence[Array]) -> Array:
    """``W^T`` of M models, padded with rows of zeros, (M, r_k, I_k); no copy if that is there."""
    widest = max(W.shape[1] for W in projections)
    shape = (len(projections), widest, len(projections[0]))
    whole = projections[0].base
    if (
        isinstance(whole, np.ndarray)
        and whole.shape == shape
        and all(_is_same_memory(own, W.T) for own, W in zip(whole, projections, strict=True))
    ):
        return np.asarray(whole)
    stack = np.zeros(shape)
    for padded, W in zip(stack, projections, strict=True):
        padded[: W.shape[1]] = W.T
    return stack


def _is_same_memory(A: Array, B: Array) -> bool:
    """Whether two arrays are the same numbers in memory, in the same order."""
    return bool(
        A.ctypes.data == B.ctypes.data
        and (A.shape, A.strides, A.dtype) == (B.shape, B.strides, B.dtype)
    )


def _samples_last(X: Array, order: tuple[int, ...]) -> Array:
    """A batch (n, I_1, ..., I_K) as (I_..., n), its modes in the given order."""
    return np.ascontiguousarray(X.transpose(*(k + 1 for k in order), 0))


def distances_to_classes(X: Array, subspaces: Subspaces, spreads: Array | None) -> Array:
    """Distances (n, C) from every class mean in its own subspace, in units of the spreads."""
    distances = np.sqrt(subspaces.squared_distances(X))
    return distances if spreads is None else distances / spreads.astype(distances.dtype)


@twin_of(distances_to_classes)
def distances_to_classes_on(
    X: Other, place: Place, subspaces: Subspaces, spreads: Array | None
) -> Other:
    """The same on another device: products for all classes at once, some samples at a time."""
    xp, dtype = place.xp, place.float_like(X)
    origin = place.put(subspaces.origin)
    stacks = [place.put(W, dtype) for W in subspaces.projections]
    centres = place.put(subspaces.centres[..., 0], dtype)
    units = 1.0 if spreads is None else place.put(spreads, dtype)
    axes = (0, *(k + 1 for k in subspaces.order))
    per_model = subspaces.origin.size * stacks[0].shape[1] // stacks[0].shape[2]
    found = []
    for rows in row_blocks(X.shape[0], 8 * per_model * centres.shape[0], DEVICE_BYTES):
        block = xp.reshape(X[rows, ...], (-1, *subspaces.origin.shape))
        block = xp.astype(xp.permute_dims(block - origin, axes), dtype)
        Y = project_each_on(block, stacks, xp) - centres
        flat = xp.reshape(Y, (Y.shape[0], Y.shape[1], -1))
        found.append(xp.sqrt(xp.sum(flat * flat, axis=2)) / units)
    return xp.concat(found, axis=0)


def project_each_on(X: Other, stacks: Sequence[Other], xp: Any) -> Other:
    """Samples (n, I_1, ..., I_K), modes in the order of the stacks, as (n, M, r_1, ..., r_K)."""
    n, n_models = X.shape[0], stacks[0].shape[0]
    Y = X[:, None, ...]
    for axis, W in enumerate(stacks, start=2):
        before, after = prod(Y.shape[2:axis]), prod(Y.shape[axis + 1 :])
        product = xp.matmul(W[:, None, ...], xp.reshape(Y, (n, -1, before, W.shape[2], after)))
        Y = xp.reshape(product, (n, n_models, *Y.shape[2:axis], W.shape[1], *Y.shape[axis + 1 :]))
    return Y


def distances_by_each(X: Array, scorings: Sequence[OfBlock], spreads: Array | None) -> Array:
    """The same, where each model gives minus its distances on its own."""
    distances = -np.stack([scoring(X) for scoring in scorings], axis=1)
    return distances if spreads is None else distances / spreads.astype(distances.dtype)


def finished(X: Array, distances: OfBlock, finish: OfBlock) -> Array:
    """What `finish` makes of the distances of samples."""
    return np.asarray(finish(distances(X)))


STAGES[finished] = "distances"


def preference(distances: Array, compete: bool) -> Array:
    """Scores (n, C), or (n,) for two classes, from distances (n, C).

    Classes that compete for a sample lose the mean of its two best scores.
    """
    if distances.shape[1] == 2:
        return np.asarray(distances[:, 0] - distances[:, 1])
    if compete:
        best = np.partition(distances, 1, axis=1)
        return np.asarray((best[:, :1] + best[:, 1:2]) / 2 - distances)
    return -distances


def nearest(distances: Array, classes: Array) -> Array:
    """The label (n,) with the least of the distances (n, C)."""
    return np.asarray(classes[distances.argmin(axis=1)])
