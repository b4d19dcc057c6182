"""One class against everything else: the log ratio of two Gaussians in the subspace of the class.

    of the class        z ~ N(m_p, s I)
    everything else     z ~ N(m_o, s I + B)

z is a projected sample. s is the mean variance of samples about the means of their classes, pooled
over all classes: the few samples of one class would make their own subspace look too narrow. B is
the covariance of the other class means about the mean m_o of all other samples. With two classes
there is no B, and the ratio is linear in z, as in linear discriminant analysis; where other classes
lie far apart it is the squared distance from a point just behind m_p. From m_o the log ratio is

    offset + a . z / s - |C^T z|^2 / 2,     C C^T = I / s - (s I + B)^-1,     a = m_p - m_o.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tenfold.mathematics.algebra import Array, like, namespace_of, of_type, wide_type
from tenfold.mathematics.subspace import projected

SMALLEST = 1e-12  # of the scatter of means: what noise is taken to be where there is none


class Ratio(NamedTuple):
    """What the log ratio is made of; see `tenfold.methods.base.RatioModel`."""

    contrasts: Array
    offset: float
    anchors: Array


def two_gaussians(means: Array, counts: Array, positive: int, noise: float) -> Ratio:
    """The log ratio of a class and everything else, from class means in the subspace.

    Parameters
    ----------
    means : ndarray of shape (C, r)
        The class means, projected, from the mean of all samples but those of the class.
    counts : ndarray of shape (C,)
        The sums of the sample weights.
    positive : int
        The number of the class.
    noise : float
        s, the variance of samples about the mean of their class in one direction.

    Returns
    -------
    Ratio
        Contrasts, offset and anchors.

    Examples
    --------
    Two classes at 0 and 2 with variance 1: above 1 the second is more likely.

    >>> import numpy as np
    >>> from tenfold.mathematics.likelihood_ratio import two_gaussians
    >>> ratio = two_gaussians(np.array([[0.0], [2.0]]), np.array([5.0, 5.0]), 1, 1.0)
    >>> ratio.contrasts.tolist(), ratio.offset, ratio.anchors.tolist()
    ([[2.0]], -2.0, [-2.0, 0.0])
    """
    others = counts * (np.arange(len(counts)) != positive)
    step, rows = means[positive], np.sqrt(others / others.sum())[:, None] * means
    least = SMALLEST * float((rows**2).sum() + step @ step)
    s = max(noise, least) if max(noise, least) > 0 else 1.0
    _, singular, axes = np.linalg.svd(rows[others > 0], full_matrices=False)
    b = (singular**2)[: int((others > 0).sum()) - 1] / s  # they add up to zero: one is none
    C = axes[: len(b)].T * np.sqrt(b / (s * (1 + b)))
    contrasts = np.concatenate([step[:, None] / s, C], axis=1)
    offset = float(np.log1p(b).sum() - step @ step / s) / 2
    anchors = np.array([offset - b.sum() / 2, np.log1p(b).sum() / 2])
    return Ratio(contrasts, offset, anchors)


def log_ratios(
    X: Array, projections: Sequence[Array], centre: Array, contrasts: Array, offset: float
) -> Array:
    """Log likelihood ratios (n,) of samples (n, I_1, ..., I_K) in memory."""
    Y = projected(X, projections, centre, flat=True)
    wide = of_type(Y, wide_type(Y))
    found: Array = of_type(of_contrasts(wide @ like(contrasts, wide), offset), Y.dtype)
    return found


def of_contrasts(Z: Array, offset: Array | float) -> Array:
    """The ratio, from what the contrasts see of samples: along the second axis of Z."""
    rest = Z[:, 1:, ...]
    found: Array = Z[:, 0, ...] + offset - namespace_of(Z).sum(rest * rest, axis=1) / 2
    return found


def farness(ratios: Array, anchors: Array) -> Array:
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
    typical, even = (float(anchor) for anchor in anchors)
    return even - float(np.copysign(far**2, far)) * (even - typical if even > typical else 1.0)
