"""What one subspace does with samples in memory: project, reconstruct, measure.

Nothing here holds a model: a function and the few matrices it needs can be sent to other
processes, however many moments the model keeps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

import numpy as np
from scipy.linalg import qr

from tenfold.linalg.algebra import project, reconstruct
from tenfold.linalg.arrays import (
    Array,
    asarray_like,
    block_bytes,
    empty_like,
    float_type,
    namespace_of,
    of_type,
    reshaped,
    square_lengths,
    wide_type,
)
from tenfold.linalg.constants import BLOCK_BYTES
from tenfold.statistics.accumulate import row_blocks
from tenfold.statistics.moments import ClassMoments


def projected(
    X: Array, projections: Sequence[Array], centre: Array | None = None, flat: bool = False
) -> Array:
    """Samples about a centre, projected block by block, in float32 or float64.

    Parameters
    ----------
    X : ndarray of shape (n, I_1, ..., I_K)
        Samples with as many numbers as the projections take.
    projections : sequence of ndarrays of shape (I_k, r_k)
        One matrix per mode, or one for vectorised samples.
    centre : ndarray of shape (I_1, ..., I_K) or None
        What is subtracted first.
    flat : bool
        Whether projected samples are vectors.

    Returns
    -------
    ndarray of shape (n, r_1, ..., r_K) or (n, r_1 * ... * r_K)
        The projected samples.
    """
    n = X.shape[0]
    sizes = [len(W) for W in projections]
    X = reshaped(X, (n, *sizes))
    dtype = float_type(X)
    W = [asarray_like(P, X, dtype) for P in projections]
    centre = None if centre is None else asarray_like(centre.reshape(sizes), X)

    def part(rows: Array) -> Array:
        if centre is not None:
            rows = rows - centre  # in the wider precision: offsets cost no digits
        return project(of_type(rows, dtype), W)

    if 16 * n * prod(sizes) <= BLOCK_BYTES:
        Y = part(X)
    else:
        Y = empty_like(X, (n, *(P.shape[1] for P in W)), dtype)
        for rows in row_blocks(n, 2 * 8 * prod(sizes), block_bytes(X)):
            Y[rows, ...] = part(X[rows, ...])
    return reshaped(Y, (n, prod(Y.shape[1:]))) if flat else Y


def reconstructed(
    Y: Array, projections: Sequence[Array], centre: Array | None, shape: tuple[int, ...]
) -> Array:
    """The samples (n, *shape) of the subspace that have the projections Y, in Y's precision."""
    n = Y.shape[0]
    dtype = float_type(Y)
    tensors = of_type(reshaped(Y, (n, *(W.shape[1] for W in projections))), dtype)
    samples = reconstruct(tensors, projections)
    if centre is not None:
        samples = samples + asarray_like(centre.reshape(samples.shape[1:]), samples, dtype)
    found: Array = reshaped(samples, (n, *shape))
    return found


def minus_distances(X: Array, projections: Sequence[Array], mean: Array) -> Array:
    """Minus the distance of samples (n, I_1, ..., I_K) from a mean in a subspace, (n,)."""
    Y = projected(X, projections, mean, flat=True)
    squared = square_lengths(Y, wide_type(Y))  # squares of float32 may not fit it
    found: Array = of_type(namespace_of(Y).sqrt(squared), Y.dtype)
    return -found


def log_ratios(
    X: Array, projections: Sequence[Array], centre: Array, contrasts: Array, offset: float
) -> Array:
    """Log likelihood ratios (n,) of samples (n, I_1, ..., I_K) in memory."""
    Y = projected(X, projections, centre, flat=True)
    wide = of_type(Y, wide_type(Y))
    found: Array = of_type(of_contrasts(wide @ asarray_like(contrasts, wide), offset), Y.dtype)
    return found


def of_contrasts(Z: Array, offset: Array | float) -> Array:
    """The ratio, from what the contrasts see of samples: along the second axis of Z."""
    found: Array = Z[:, 0, ...] + offset - square_lengths(Z[:, 1:, ...], axis=1) / 2
    return found


def signed_distance(ratios: Array, anchors: Array) -> Array:
    """How much farther samples are from a class than from everything else, 1 for typical others.

    The root of the difference of two squared distances, each in units of its Gaussian, so it grows
    as a distance does; it is negative where the class is nearer. `anchors` are (2,), or (C, 2) for
    ratios (n, C).
    """
    typical, even = anchors[..., 0], anchors[..., 1]
    unit = np.where(even > typical, even - typical, 1.0)
    squares = (even - ratios) / unit
    return np.asarray(np.copysign(np.sqrt(np.abs(squares)), squares))


def ratio_at(far: float, anchors: Array) -> float:
    """The log likelihood ratio of a sample that is so far from the class."""
    typical = float(anchors[0])
    even = float(anchors[1])
    return even - float(np.copysign(far**2, far)) * (even - typical if even > typical else 1.0)


def span(Y: Array) -> tuple[Array, Array | None]:
    """The mean of samples, and an orthonormal basis of their span about it if they are few."""
    origin = Y.mean(axis=0)
    if len(Y) > Y.shape[1]:
        return origin, None
    return origin, qr((Y - origin).T, mode="economic", check_finite=False)[0]


def projected_moments(
    moments: ClassMoments, projections: list[Array], centre: Array | None
) -> ClassMoments:
    """The moments of projected samples."""
    means = projected(moments.means, projections, centre, flat=True)
    scatters = np.empty((len(means), means.shape[1], means.shape[1]))
    for c, S in enumerate(moments.scatters):
        half = projected(S, projections, flat=True)  # (I, d)
        scatters[c] = projected(np.ascontiguousarray(half.T), projections, flat=True)
    return replace(moments, means=means, scatters=scatters)
