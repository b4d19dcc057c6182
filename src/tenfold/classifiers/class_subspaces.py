"""Distances of samples in the subspaces of many classes.

Nothing here holds a model: a function and the few matrices it needs can be sent to other
processes, however many moments the model keeps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import ArrayLike

from tenfold.linalg.algebra import shrinking_order
from tenfold.linalg.arrays import (
    Array,
    asarray_like,
    empty_like,
    float_type,
    namespace_of,
    of_type,
    permuted,
    reshaped,
    square_lengths,
    to_numpy,
    wide_type,
)
from tenfold.linalg.constants import CACHE_NUMBERS, DEVICE_BYTES, THREAD_BYTES
from tenfold.statistics.accumulate import row_blocks
from tenfold.statistics.subspace import of_contrasts, signed_distance
from tenfold.threads import over_threads


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
    contrasts : ndarray of shape (M, 1 + q, r_1 * ... * r_K) or None
        What likelihood ratios are made of, in that order of modes, if they are asked for.
    """

    order: tuple[int, ...]
    projections: list[Array]
    origin: Array
    centres: Array
    contrasts: Array | None = None

    @classmethod
    def stacked(
        cls,
        projections: list[list[Array]],
        means: list[Array],
        contrasts: list[Array] | None = None,
    ) -> Subspaces:
        """From the K projections (I_k, r_k), the centre and the contrasts of each model."""
        stacks = [_stacked(per_model) for per_model in zip(*projections, strict=True)]
        order = tuple(shrinking_order([W.swapaxes(1, 2) for W in stacks]))
        ordered = [stacks[k] for k in order]
        centres = np.stack(means).reshape(len(means), *(W.shape[2] for W in stacks))
        origin = centres.mean(axis=0)
        about = (centres - origin).transpose(0, *(k + 1 for k in order))
        projected = _project_each(about[..., None], ordered)
        if contrasts is None:
            return cls(order, ordered, origin, projected)
        ranks = [[W.shape[1] for W in own] for own in projections]
        widest = [stack.shape[1] for stack in stacks]
        width = max(own.shape[1] for own in contrasts)
        padded = np.zeros((len(contrasts), *widest, width))
        for to, own, shape in zip(padded, contrasts, ranks, strict=True):
            to[(*map(slice, shape), slice(own.shape[1]))] = own.reshape(*shape, -1)
        turned = padded.transpose(0, len(order) + 1, *(k + 1 for k in order))
        turned = np.ascontiguousarray(turned).reshape(len(contrasts), width, -1)
        return cls(order, ordered, origin, projected, turned)

    @cached_property
    def _squares_fit_float32(self) -> bool:
        size = max(np.abs(self.origin).max(), np.abs(self.centres).max())
        return bool(1e-15 < size < 1e15)

    def squared_distances(self, X: Array) -> Array:
        """Squared distances (n, M) of samples from the centres, each in its own subspace.

        With contrasts, the log likelihood ratios without their offsets.
        """
        n = X.shape[0]
        n_all = len(self.centres)
        X = reshaped(X, (n, *self.origin.shape))
        dtype = float_type(X) if self._squares_fit_float32 else wide_type(X)
        stacks = [asarray_like(W, X, dtype) for W in self.projections]
        centres = asarray_like(self.centres, X, dtype)
        origin = asarray_like(self.origin, X)
        contrasts = None if self.contrasts is None else asarray_like(self.contrasts, X, dtype)
        axes = (*(k + 1 for k in self.order), 0)  # samples last
        on_host = isinstance(X, np.ndarray)
        room = CACHE_NUMBERS if on_host else DEVICE_BYTES // 8
        largest = self.origin.size * stacks[0].shape[1] // stacks[0].shape[2]  # per model, sample
        n_rows = max(32, room // (largest * n_all))
        n_models = max(1, room // (largest * n_rows))

        def turned(rows: Array) -> Array:
            found: Array = of_type(permuted(rows - origin, axes), dtype)
            return found

        if 0 < n <= n_rows and n_all <= n_models:
            return _squares(turned(X), stacks, centres, contrasts).T
        result: Array = empty_like(X, (n, n_all), dtype)

        def work(part: slice) -> None:
            for start in range(part.start, part.stop, n_rows):
                rows = slice(start, min(start + n_rows, part.stop))
                block = turned(X[rows, ...])
                for first in range(0, n_all, n_models):
                    models = slice(first, min(first + n_models, n_all))
                    own = [W[models, ...] for W in stacks]
                    seen = None if contrasts is None else contrasts[models, ...]
                    result[rows, models] = _squares(block, own, centres[models, ...], seen).T

        whole = [slice(0, n)]
        parts = list(row_blocks(n, X[:1].nbytes, THREAD_BYTES)) if on_host else whole
        if len(parts) > 1:
            over_threads(work, parts)
        elif parts:
            work(parts[0])
        return result


def _squares(block: Array, stacks: list[Array], centres: Array, contrasts: Array | None) -> Array:
    """Squared distances (M, n) of samples (I_1, ..., I_K, n) from the centres of M models."""
    Y = project_by_all(block, stacks)
    Y -= centres
    if contrasts is not None:
        return of_contrasts(contrasts @ reshaped(Y, (Y.shape[0], -1, Y.shape[-1])), 0.0)
    if Y.shape[-1] == 1:
        lengths: Array = square_lengths(reshaped(Y, (Y.shape[0], -1)))[:, None]
        return lengths
    Y *= Y
    total: Array = namespace_of(Y).sum(reshaped(Y, (Y.shape[0], -1, Y.shape[-1])), axis=1)
    return total


def project_by_all(block: Array, stacks: list[Array]) -> Array:
    """Samples (I_1, ..., I_K, n) projected by M models at once, (M, r_1, ..., r_K, n).

    `stacks` holds ``W_k^T`` of every model, (M, r_k, I_k). The first mode is one product for all
    models and samples.
    """
    first, *rest = stacks
    size = block.shape[0]
    Y = reshaped(first, (-1, size)) @ reshaped(block, (size, -1))
    return _project_each(reshaped(Y, (*first.shape[:2], *block.shape[1:])), rest, skip=1)


def _project_each(Y: Array, stacks: Sequence[Array], skip: int = 0) -> Array:
    """Each model's own tensors (M, I_1, ..., I_K, n), all modes but the first `skip` projected."""
    for axis, W in enumerate(stacks, start=skip + 1):
        before = prod(Y.shape[1:axis])
        after = prod(Y.shape[axis + 1 :])
        if after == 1:  # the last mode of one sample: one product per model
            product = reshaped(Y, (W.shape[0], before, W.shape[2])) @ W.mT
        else:
            product = W[:, None, ...] @ reshaped(Y, (W.shape[0], before, W.shape[2], after))
        Y = reshaped(product, (*Y.shape[:axis], W.shape[1], *Y.shape[axis + 1 :]))
    return Y


def _stacked(projections: Sequence[Array]) -> Array:
    """``W^T`` of M models, padded with rows of zeros, (M, r_k, I_k); no copy if that is there."""
    widest = max(W.shape[1] for W in projections)
    shape = (len(projections), widest, len(projections[0]))
    whole = projections[0].base
    if (
        isinstance(whole, np.ndarray)
        and whole.shape == shape
        and all(
            W.T.strides == own.strides and np.may_share_memory(own, W)
            for own, W in zip(whole, projections, strict=True)
        )
    ):
        return np.asarray(whole)
    stack = np.zeros(shape)
    for padded, W in zip(stack, projections, strict=True):
        padded[: W.shape[1]] = W.T
    return stack


def distances_to_classes(X: Array, subspaces: Subspaces, spreads: Array | None) -> Array:
    """Distances (n, C) from every class mean in its own subspace, in units of the spreads."""
    squared = subspaces.squared_distances(X)
    distances: Array = namespace_of(squared).sqrt(squared)
    return (
        distances if spreads is None else distances / asarray_like(spreads, squared, squared.dtype)
    )


def distances_of_classes(
    X: Array, subspaces: Subspaces, offsets: Array, anchors: Array | None
) -> Array:
    """How far samples are from every class by its likelihood ratio, (n, C).

    Without anchors, minus the log likelihood ratios.
    """
    ratios = to_numpy(subspaces.squared_distances(X)).astype(float) + offsets
    return -ratios if anchors is None else signed_distance(ratios, anchors)


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


def of_both_classes(scores: ArrayLike) -> Array:
    """Scores (n, C) also where a `decision_function` gives one number for two classes."""
    scores = np.asarray(scores)
    return np.stack([-scores, scores], axis=1) if scores.ndim == 1 else scores


def nearest(distances: Array, classes: Array) -> Array:
    """The label (n,) with the least of the distances (n, C)."""
    return np.asarray(classes[distances.argmin(axis=1)])
