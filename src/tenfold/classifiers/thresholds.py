"""Thresholds: from held-out samples to a false-accept rate that new samples keep.

How far an impostor is from a class is any number that is about normal and grows with the distance:
its logarithm, or the root of a likelihood ratio (`verifier.signed_distance_in`), in units that the
models of different folds share.
"""

from __future__ import annotations

from math import ceil, pi, sqrt
from typing import NamedTuple

import numpy as np
from scipy.stats import t as student

from tenfold.linalg.algebra import Array
from tenfold.quiet import warn
from tenfold.statistics.cost import renumbered

ENOUGH_CLASSES = 10  # from which rates below one over their number plus one are extrapolated
TAIL = 0.1  # the share of the largest scores that a tail is extrapolated from
STRICTLY = 1e-9  # accepted means closer than the quantile
EVERYTHING = 14.0  # beyond the farthest: a rate of 1 accepts all of this
FLOOR = 14.0  # before the median: an impostor at the very mean has a logarithm, too


class FalseAcceptRateWarning(UserWarning):
    """The samples cannot guarantee the requested false-accept rate."""


def warn_of_rate(rate: float, guaranteed: float, who: str, how: str) -> None:
    """Warn if the requested rate is lower than the rate that can be guaranteed."""
    if 0 < rate < guaranteed:
        warn(
            f"requested a false-accept rate of {rate:g}, but {who} can guarantee {guaranteed:.2g}, "
            f"1 / (their number + 1), at best; {ceil(1 / rate) - 1} would guarantee {rate:g}. The "
            f"threshold {how}",
            FalseAcceptRateWarning,
        )


class Impostors(NamedTuple):
    """Held-out samples of other classes."""

    signed_distance: Array  # (n,), minus infinity at the very mean
    weight: Array  # (n,), positive
    groups: Array | None  # (n,) the number of its class where classes were held out, else None

    def shares(self) -> Array:
        """What each counts: its weight, or its share of its class, so that classes are equal."""
        if self.groups is None:
            return np.asarray(self.weight / self.weight.sum())
        _, code = renumbered(self.groups)
        totals = np.bincount(code, self.weight)
        return np.asarray(self.weight / totals[code] / len(totals))


def threshold_at(impostors: Impostors, rate: float) -> float:
    """How far a sample may be to be accepted, so that new impostors are accepted at this rate.

    Where at least one of as many independent impostors is expected below, it is their quantile,
    at the place that is right on average for any distribution: the i-th of n scores stands at
    i / (n + 1). Else it is an extrapolation of the lower half of them.

    Parameters
    ----------
    impostors : Impostors
        Held-out samples of other classes.
    rate : float
        From 0, which rejects all, to 1, which accepts all.

    Returns
    -------
    float
        As `signed_distance`; minus infinity to reject everything.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.classifiers.thresholds import Impostors, threshold_at
    >>> some = Impostors(np.arange(1.0, 100.0) / 10, np.ones(99), None)
    >>> [round(threshold_at(some, rate), 6) for rate in (0.0, 0.01, 0.5)]
    [-inf, 0.1, 5.0]
    """
    u = impostors.signed_distance
    if rate <= 0 or not (u > -np.inf).any():
        return -np.inf
    v = np.maximum(u, np.median(u[u > -np.inf]) - FLOOR)
    n = effective_number(impostors._replace(signed_distance=v))
    found = quantile_or_tail(v, impostors.shares(), rate, n)
    return (float(u.max()) + EVERYTHING if found == np.inf else found) - STRICTLY


def stranger_threshold(
    scores: Array, codes: Array, weights: Array, rate: float, n_left: float
) -> float:
    """The score that a sample of a new class reaches for the best of all classes at this rate.

    Where one of C known classes is expected above it, it is the quantile of the largest scores of
    left-out classes: the i-th of C stands at i / (C + 1). Below that it is their quantile still
    where samples of a class differ enough to count, by `effective_number`. Lower rates are the
    mean of two estimates, since samples of a class are neither independent nor one. The first is
    the quantile of all samples as if they were independent, which accepts too many. The second
    counts them by `effective_number` and extrapolates: what exceeds the lower end of the upper
    tenth of the largest scores has a generalized Pareto distribution in the limit. Fewer than
    `ENOUGH_CLASSES` cannot tell how far a tail goes on: the threshold is at most just above the
    largest score that a left-out sample had.

    Parameters
    ----------
    scores : ndarray of shape (n, C)
        Of left-out samples, by models without their classes; NaN or minus infinity where a model
        has no score.
    codes, weights : ndarrays of shape (n,)
        Their classes and weights; every class weighs the same.
    rate : float above 0, below 1
        The share of strangers to accept.
    n_left : float
        How many classes the models had that scored; a stranger has all C chances.

    Returns
    -------
    float
        The threshold.
    """
    n_classes = scores.shape[1]
    largest = np.where(np.isfinite(scores), scores, -np.inf).max(axis=1)
    strangers = Impostors(-largest, weights, codes)
    of_fewer = 1 - (1 - rate) ** (n_left / n_classes)
    if rate * (n_classes + 1) >= 1:
        place = max(of_fewer, 1 / (n_classes + 1))
        return -quantile_or_tail(-largest, strangers.shares(), place, n_classes)
    n = effective_number(strangers)
    if of_fewer * (n + 1) >= 1:
        return -quantile_or_tail(-largest, strangers.shares(), of_fewer, n)
    of_samples = -quantile_or_tail(-largest, strangers.shares(), of_fewer, kish(weights))
    found = 0.5 * (of_samples + _upper_tail(largest, strangers.shares(), of_fewer, n))
    if n_classes >= ENOUGH_CLASSES:
        return found
    return min(found, float(np.nextafter(largest.max(), np.inf)))


def _upper_tail(v: Array, shares: Array, rate: float, n: float) -> float:
    """The predictive quantile of a generalized Pareto tail, from numbers worth n independent ones.

    The shape follows from mean and variance of the excesses, is halved, since few numbers say
    little about it, and is at most 0, that of the exponential tail. The quantile is that of one
    more number, whose tail is heavier by one over the number of excesses.
    """
    order = np.argsort(-v)
    v = v[order]
    shares = shares[order] / shares.sum()
    start = float(np.interp(max(TAIL, rate), np.cumsum(shares), v))
    beyond = v > start
    if rate >= TAIL or not beyond.any():
        return start
    excess = v[beyond] - start
    weights = shares[beyond]
    mean = float(np.average(excess, weights=weights))
    variance = float(np.average((excess - mean) ** 2, weights=weights))
    shape = 0.5 * 0.5 * (1 - mean**2 / variance) if variance > 0 else -0.5
    shape = min(max(shape, -0.5), 0.0)
    scale = mean * (1 - shape)
    heavier = shape + 1 / max(TAIL * n, 1.0)
    if abs(heavier) < 1e-9:
        return start + scale * float(np.log(TAIL / rate))
    return float(start + scale * ((TAIL / rate) ** heavier - 1) / heavier)


def quantile_or_tail(v: Array, shares: Array, rate: float, n: float) -> float:
    """Where such a share of new numbers is below, for numbers that are worth n independent ones.

    Infinity for a rate above n / (n + 1), which is the place of the largest.
    """
    if rate * (n + 1) < 1:
        return _lower_tail(*_lowest(v, shares, 0.5), rate, n)
    v, shares = _lowest(v, shares, rate * (n + 1) / n)
    places = np.cumsum(shares) * n / (n + 1)
    return float(np.interp(np.log(rate), np.log(places), v, right=np.inf))


def _lowest(v: Array, shares: Array, share: float) -> tuple[Array, Array]:
    """Numbers, sorted, and the share of each, up to one beyond those that have such a share."""
    some: slice | Array = slice(None)
    place = int(1.1 * share * len(v)) + 1
    while place < len(v):
        lower = v <= np.partition(v, place)[place]
        if shares[lower].sum() - shares[lower].max() > share:
            some = lower
            break
        place *= 2
    order = np.argsort(v[some])
    return v[some][order], shares[some][order]


def _lower_tail(v: Array, shares: Array, rate: float, n: float) -> float:
    """``median - t(1 - rate) s sqrt(1 + pi / (2 n))``, for sorted numbers v.

    s is the root mean square of those below the median about it: the lower half alone says how
    the tail falls, whatever makes the upper one long. Half of n are the degrees of freedom of t.
    """
    middle = float(np.interp(0.5, np.cumsum(shares) - shares / 2, v))
    low = v <= middle
    s = sqrt(float(np.average((middle - v[low]) ** 2, weights=shares[low])))
    steps = float(student.ppf(1 - rate, max(n / 2, 1.0)))
    return middle - steps * s * sqrt(1 + pi / (2 * n))


def effective_number(impostors: Impostors) -> float:
    """How many independent impostors the scores are worth, whatever the unit of the weights is.

    Without groups Kish's number of the weights. The scores of K groups are mu + b_k + e_ki: their
    means have the variance s_m^2 = var(b) + var(e) mean(1 / n_k), a sample of a new group has
    s^2 = s_m^2 + var(e) (1 - mean(1 / n_k)), and the mean of all is known to s_m^2 / K = s^2 / n.
    So groups whose samples score alike, such as frames of one video, count once.

    Parameters
    ----------
    impostors : Impostors
        With finite numbers.

    Returns
    -------
    float
        From the number of groups to that of samples.
    """
    v, weight, groups = impostors
    if groups is None:
        return kish(weight)
    _, code = renumbered(groups)
    totals = np.bincount(code, weight)
    means = np.bincount(code, weight * v) / totals
    sizes = totals**2 / np.bincount(code, weight**2)
    most = float(sizes.sum())
    freedom = float((sizes - 1).sum())
    if len(means) < 2 or freedom < 1e-9:
        return most
    squares = np.bincount(code, weight * (v - means[code]) ** 2) / totals * sizes
    of_means = float(means.var(ddof=1))
    of_new = of_means + float(squares.sum()) / freedom * (1 - float(np.mean(1 / sizes)))
    if of_means * most <= len(means) * of_new:
        return most
    return float(max(len(means) * of_new / of_means, len(means)))


def kish(weight: Array) -> float:
    """The number of samples that weights are worth: their squared sum over the sum of squares."""
    return float(weight.sum() ** 2 / (weight**2).sum())


def equal_threshold(impostors: Impostors, own: Array, weight: Array) -> float:
    """Where the worse of both held-out error rates is least.

    Parameters
    ----------
    impostors : Impostors
        Held-out samples of other classes.
    own, weight : ndarrays of shape (m,)
        How far held-out samples of the class itself are, and their weights.

    Returns
    -------
    float
        One of the numbers, or minus infinity.
    """
    candidates = np.unique(np.concatenate([[-np.inf], impostors.signed_distance, own]))
    accepts = _shares_up_to(candidates, impostors.signed_distance, impostors.weight)
    rejects = 1 - _shares_up_to(candidates, own, weight)
    return float(candidates[np.argmin(np.maximum(accepts, rejects))])


def _shares_up_to(limits: Array, signed_distance: Array, weight: Array) -> Array:
    order = np.argsort(signed_distance)
    sums = np.append(0.0, np.cumsum(weight[order]))
    return np.asarray(
        sums[np.searchsorted(signed_distance[order], limits, side="right")] / sums[-1]
    )
