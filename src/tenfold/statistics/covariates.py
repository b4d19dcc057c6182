"""What covariates such as age, site or session add to samples, taken away within classes.

    x - B^T (z - mean of z),     B = S_zz^-1 S_zx,     S = scatters of (x, z) within classes, pooled

B is the regression of x on z and the classes. Across classes the covariates may differ as the
classes do, and that difference must stay; so only what is seen within classes counts. Everything
follows from the moments of (x, z) taken together, so it can be gathered in parts.

Reference: Y. Pan, Q. Mai, X. Zhang, "Covariate-adjusted tensor classification in high dimensions",
Journal of the American Statistical Association 2019.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from tenfold.linalg.algebra import Array
from tenfold.statistics.accumulate import row_blocks
from tenfold.statistics.moments import ClassMeans, ClassMoments
from tenfold.statistics.stores import Source

ALIASED = 1e-10  # share of its variance that a covariate must have beyond classes and the others


class WithinScatters(NamedTuple):
    """Scatters within classes of covariates z and vectorised samples x, and the spread of z."""

    covariates: Array  # S_zz (q, q)
    cross: Array  # S_zx (q, I)
    totals: Array  # (q,) the scatter of each covariate about its mean over all samples


class Slopes(NamedTuple):
    """What covariates add to samples."""

    means: Array  # (q,) of the covariates of all samples
    slopes: Array  # (q, I) change of a sample by one unit of each


def scatters_of_samples(
    X: Array | Source, Z: Array, codes: Array, weight: Array | None
) -> tuple[Array, WithinScatters]:
    """The mean of the covariates, and scatters within classes, from samples.

    Parameters
    ----------
    X : ndarray or Source of shape (n, I_1, ..., I_K)
        The samples, read once.
    Z : ndarray of shape (n, q)
        Their covariates.
    codes : ndarray of ints of shape (n,)
        The number of the class of each sample.
    weight : ndarray of shape (n,) or None
        Non-negative weights.

    Returns
    -------
    (ndarray of shape (q,), WithinScatters)
        Of all samples.
    """
    w = np.ones(len(X)) if weight is None else weight
    mean = ClassMeans(np.arange(len(w)), w, Z).mean  # every sample a class of its own
    Z = Z - mean
    counts = np.bincount(codes, w)
    sums = np.stack([np.bincount(codes, w * column) for column in Z.T], axis=1)
    means = sums / np.where(counts > 0, counts, 1.0)[:, None]
    within = (Z - means[codes]) * w[:, None]  # the rows of a class sum to 0
    one = X[:1].in_memory() if isinstance(X, Source) else X[:1]
    first = one.astype(float).reshape(-1)
    work = partial(_cross_of_block, first=first)
    cross = X.total(work, within, None) if isinstance(X, Source) else work(X, within, None)
    return mean, WithinScatters(within.T @ Z, cross, w @ Z**2)


def _cross_of_block(X: Array, within: Array | None, weight: Array | None, first: Array) -> Array:
    """The part of a block in S_zx, about the first sample, so that an offset costs no digits."""
    assert within is not None
    flat = X.reshape(len(X), -1)
    cross = np.zeros((within.shape[1], flat.shape[1]))
    for rows in row_blocks(len(flat), 8 * flat.shape[1]):
        cross += within[rows].T @ np.subtract(flat[rows], first, dtype=float)
    return cross


def scatters_of_moments(moments: ClassMoments, count: int) -> tuple[Array, WithinScatters]:
    """The same from moments of rows (x, z), of which the last `count` numbers are z."""
    within = moments.scatters.sum(axis=0)
    means = moments.means.reshape(len(moments.counts), -1)[:, -count:]
    mean = ClassMeans(moments.classes, moments.counts, means).mean
    S = within[-count:, -count:]
    totals = np.diag(S) + moments.counts @ (means - mean) ** 2
    return mean, WithinScatters(S, within[-count:, :-count], totals)


def aliased(scatters: WithinScatters) -> tuple[int, str] | None:
    """The first covariate without an effect of its own, and what it repeats; None if all have one.

    It repeats "nothing" if it is constant, "the classes", or "the others".
    """
    S, totals = scatters.covariates, scatters.totals
    for k, total in enumerate(totals):
        if not total > 0:
            return k, "nothing"
        if S[k, k] <= ALIASED * total:
            return k, "the classes"
    units = np.sqrt(np.diag(S))
    R = S / np.outer(units, units)
    for k in range(1, len(R)):
        known = np.linalg.lstsq(R[:k, :k], R[:k, k], rcond=None)[0]
        if 1 - R[:k, k] @ known <= ALIASED:
            return k, "the others"
    return None


def slopes_of(scatters: WithinScatters) -> Array:
    """B (q, I), the change of a sample by one unit of each covariate."""
    units = np.sqrt(np.diag(scatters.covariates))
    R = scatters.covariates / np.outer(units, units)
    return np.asarray(np.linalg.solve(R, scatters.cross / units[:, None]) / units[:, None])


def without_covariates(X: Array, Z: Array, found: Slopes) -> Array:
    """Samples (n, I_1, ..., I_K) as they would be with the mean covariates; float32 stays so."""
    dtype = np.float32 if X.dtype == np.float32 else np.float64
    result: Array = np.array(X, dtype=dtype)
    flat = result.reshape(len(X), -1)
    for rows in row_blocks(len(flat), 8 * flat.shape[1]):
        flat[rows] = flat[rows] - (Z[rows] - found.means) @ found.slopes
    return result


def moments_without_covariates(moments: ClassMoments, found: Slopes) -> ClassMoments:
    """Moments of samples without covariates, (C, I), from those of rows (x, z)."""
    B = found.slopes
    q = len(found.means)
    means = moments.means.reshape(len(moments.counts), -1)
    moved = (means[:, -q:] - found.means) @ B
    own = means[:, :-q] - (moments.counts > 0)[:, None] * moved
    scatters = np.empty((len(moments.counts), B.shape[1], B.shape[1]))
    for c, S in enumerate(moments.scatters):
        both = S[:-q, -q:] @ B
        scatters[c] = S[:-q, :-q] - both - both.T + B.T @ S[-q:, -q:] @ B
    return replace(moments, means=own, scatters=scatters)
