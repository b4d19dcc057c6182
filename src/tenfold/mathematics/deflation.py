"""Blocks of projections, each learned from what the earlier ones leave of the samples.

A block with projections W_k sees of a sample its part in the tensor product of the spans of the
W_k. Deflation takes that part away,

    X  <-  X - X x_1 Q_1 Q_1^T ... x_K Q_K Q_K^T

with Q_k an orthonormal basis of the span of W_k: an orthogonal projection P of the vectorised
sample. It is linear, so the moments of what is left follow from moments: M_c <- P M_c and
S_c <- P S_c P^T. No second pass over samples is made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from math import prod

import numpy as np

from tenfold.mathematics.accumulate import row_blocks
from tenfold.mathematics.algebra import Array, project
from tenfold.mathematics.arrays import namespace_of, of_type, square_lengths, to_numpy, wide_type
from tenfold.mathematics.criteria import mean_square
from tenfold.mathematics.moments import ClassMoments, ClassStatistics
from tenfold.mathematics.sample_statistics import SampleStatistics
from tenfold.mathematics.scatter import Scatter, along_mode
from tenfold.mathematics.subspace import projected, reconstructed

Block = list[Array]  # one projection (I_k, r_k) per mode
NOTHING = 1e-12  # of the scatter: what may be left of it by rounding


def remainder(X: Array, block: Sequence[Array]) -> Array:
    """What a block leaves of samples (n, I_1, ..., I_K).

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.mathematics.deflation import remainder
    >>> remainder(np.ones((1, 2, 2)), [np.eye(2)[:, :1], np.eye(2)[:, :1]])[0]
    array([[0., 1.],
           [1., 1.]])
    """
    Q = [np.linalg.qr(W)[0] for W in block]
    return np.asarray(X - project(project(X, Q), [basis.T for basis in Q]))


def deflated(statistics: ClassStatistics, block: Block) -> ClassStatistics:
    """The statistics of what a block leaves of the samples.

    Parameters
    ----------
    statistics : ClassMoments or SampleStatistics
        Of the samples that the block was learned from.
    block : list of K ndarrays of shape (I_k, r_k)
        Its projections, in the basis of the statistics.

    Returns
    -------
    ClassStatistics
        Of the same kind.
    """
    means = remainder(statistics.means, block)
    if isinstance(statistics, SampleStatistics):
        X = np.empty(statistics.X.shape)
        for rows in row_blocks(len(X), 2 * 8 * prod(X.shape[1:])):
            X[rows] = remainder(statistics.X[rows].astype(float), block)
        return replace(statistics, X=X, means=means)
    if not isinstance(statistics, ClassMoments):
        raise ValueError(
            "blocks need moments, or samples in memory, but these samples are read in every round; "
            "make them smaller first (MPCA), or raise sklearn.set_config(working_memory=...) so "
            "that their moments fit"
        )
    scatters = np.empty_like(statistics.scatters)
    for S, left in zip(statistics.scatters, scatters, strict=True):
        half = remainder(S.reshape(-1, *statistics.shape), block).reshape(S.shape)
        left[:] = remainder(half.T.reshape(-1, *statistics.shape), block).reshape(S.shape)
    return replace(statistics, means=means, scatters=scatters)


def share_left(statistics: ClassStatistics, blocks: Sequence[Block]) -> float:
    """The share of the scatter of all samples about their mean that blocks leave."""
    left = statistics
    for block in blocks:
        left = deflated(left, block)
    before, after = total_square(statistics), total_square(left)
    return after / before if after > NOTHING * before else 0.0


def total_square(statistics: ClassStatistics) -> float:
    """The sum of squared distances of all samples from their mean."""
    return whole_square(statistics.total(), statistics.shape)


def whole_square(scatter: Scatter, shape: Sequence[int]) -> float:
    """The sum of squares that a scatter holds, without any projection."""
    (S,) = along_mode([scatter], 0, [np.eye(size)[None] for size in shape])
    return float(np.trace(S[0]))


def block_features(
    X: Array, blocks: Sequence[Block], centre: Array | None = None, flat: bool = True
) -> Array:
    """Features of all blocks, side by side; those of a single block may stay tensors.

    Parameters
    ----------
    X : ndarray of shape (n, I_1, ..., I_K)
        Samples with as many numbers as the projections take.
    blocks : sequence of B lists of K ndarrays of shape (I_k, r_k)
        The projections of every block.
    centre : ndarray of shape (I_1, ..., I_K) or None
        What is subtracted first.
    flat : bool
        Whether the features of a sample are a vector.

    Returns
    -------
    ndarray of shape (n, sum of r_1 * ... * r_K over the blocks), or (n, r_1, ..., r_K)
        In float32 or float64.
    """
    if len(blocks) == 1:
        return projected(X, blocks[0], centre, flat)
    sizes = [len(W) for W in blocks[0]]
    X = to_numpy(X).reshape(-1, *sizes)
    widths = np.cumsum([0, *(prod(W.shape[1] for W in block) for block in blocks)])
    Y = np.empty((len(X), widths[-1]), np.float32 if X.dtype == np.float32 else np.float64)
    for rows in row_blocks(len(X), 3 * 8 * prod(sizes)):
        left = X[rows].astype(float)
        left = left if centre is None else left - centre.reshape(sizes)
        for block, (first, last) in zip(blocks, pairwise(widths), strict=True):
            Y[rows, first:last] = projected(left, block, flat=True)
            left = remainder(left, block) if last < widths[-1] else left
    return Y


def blocks_reconstructed(
    Y: Array, blocks: Sequence[Block], centre: Array | None, shape: tuple[int, ...]
) -> Array:
    """The samples (n, *shape) that have the features Y: what each block gives back, added up."""
    if len(blocks) == 1:
        return reconstructed(Y, blocks[0], centre, shape)
    Y = to_numpy(Y)
    widths = np.cumsum([0, *(prod(W.shape[1] for W in block) for block in blocks)])
    parts = zip(blocks, pairwise(widths), strict=True)
    found = sum(reconstructed(Y[:, a:b], block, None, shape) for block, (a, b) in parts)
    return np.asarray(found if centre is None else found + centre.astype(Y.dtype).reshape(shape))


def minus_distances(X: Array, blocks: Sequence[Block], mean: Array) -> Array:
    """Minus the distance of samples (n, I_1, ..., I_K) from a mean in a subspace, (n,)."""
    Y = block_features(X, blocks, mean)
    squared = square_lengths(Y, wide_type(Y))  # squares of float32 may not fit it
    found: Array = of_type(namespace_of(Y).sqrt(squared), Y.dtype)
    return -found


def class_spreads(
    statistics: ClassStatistics,
    blocks: Sequence[Block],
    positives: Array,
    shrinkage: Array,
    shift: Array,
) -> tuple[Array, Array]:
    """Root mean square distance of classes, and of all other samples, from where it is measured.

    Parameters
    ----------
    statistics : ClassStatistics
        Of all samples.
    blocks : sequence of B lists of K ndarrays of shape (M, I_k, r_k)
        The projections of the models, in the basis of the statistics; M is 1 for several blocks.
    positives : ndarray of shape (M,)
        The number of the class of each model.
    shrinkage : ndarray of shape (M,)
        Share of all classes about their means in the first number.
    shift : ndarray of shape (M,)
        Distances are from M_p + shift (M_p - M_o); M_o is the mean of the other samples.

    Returns
    -------
    tuple of two ndarrays of shape (M,)
        Positive numbers, as `in_class_spreads` and `out_class_spreads` give for one block.
    """
    n, n_own = statistics.count, statistics.counts[positives]
    squares = np.zeros((3, len(positives)))  # of the class, of the others, of all about their means
    for block in blocks:
        classes = [
            Scatter.stacked([part(int(p)) for p in positives], statistics.joined)
            for part in (statistics.in_class, statistics.displacement)
        ]
        own, step, total, within = (
            mean_square(scatter, block, 1.0)
            for scatter in (*classes, statistics.total(), statistics.within())
        )
        others = (total + step - own) / (n - n_own)
        step = step * n / (n - n_own) ** 2  # |W^T (M_p - M_o)|^2
        others += ((1 + shift) ** 2 - 1) * step
        squares += [own / n_own + shift**2 * step, others, within / n]
        if block is not blocks[-1]:
            statistics = deflated(statistics, [W[0] for W in block])
    mixed = (1 - shrinkage) * squares[0] + shrinkage * squares[2]
    pooled = np.where(squares[2] > 0, squares[2], 1.0)
    mixed = np.where(mixed <= 1e-12 * squares[2], pooled, mixed)
    return np.sqrt(mixed), np.sqrt(np.where(squares[1] > 0, squares[1], 1.0))
