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
PRIOR_CLASSES = 30.0  # that the location and scale of a class are drawn towards all by
TAIL = 0.1  # the share of pairs whose scores the tail is extrapolated from
STRICTLY = 1e-9  # accepted means closer than the quantile
EVERYTHING = 14.0  # beyond the farthest: a rate of 1 accepts all of this
FLOOR = 14.0  # before the median: an impostor at the very mean has a logarithm, too


class FalseAcceptRateWarning(UserWarning):
    """The samples cannot guarantee the false-accept rate that was asked for."""


def warn_of_rate(rate: float, guaranteed: float, who: str, how: str, stacklevel: int = 4) -> None:
    """Warn where the asked rate is less than what can be guaranteed."""
    if 0 < rate < guaranteed:
        warn(
            f"asked for a false-accept rate of {rate:g}, but {who} can guarantee {guaranteed:.2g}, "
            f"one over their number plus one; {ceil(1 / rate) - 1} would guarantee {rate:g}. The "
            f"threshold {how}",
            FalseAcceptRateWarning,
            stacklevel=stacklevel,
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


class PooledTail(NamedTuple):
    """Scores of strangers for many classes, in units of the location and scale of each class.

    One class sees few strangers, and none of them at a low rate. All classes together see the
    square of that. The location and scale of a class are the mean and standard deviation of what
    it gives to strangers, drawn towards those of all classes: K other classes count against
    `PRIOR_CLASSES` of the common value. A stranger is measured in units that are found without its
    class, so the pooled numbers are those of one more stranger.
    """

    places: Array  # (m,), in these units, the nearest first in sign: small is near
    shares: Array  # (m,), every pair of classes counts the same
    groups: Array  # (m,), the class of the stranger
    columns: Array  # (m,), the class that scored it
    location: Array  # (c,), of each class that scored
    scale: Array  # (c,)

    @classmethod
    def of(cls, scores: Array, codes: Array, weights: Array, columns: Array) -> PooledTail:
        """Of strangers that were scored without their classes.

        Parameters
        ----------
        scores : ndarray of shape (n, c)
            Their scores for some classes; NaN where there is none.
        codes, weights : ndarrays of shape (n,)
            Their classes and weights.
        columns : ndarray of shape (c,)
            The classes that they are scored for.
        """
        _, code = renumbered(codes)
        is_other = np.isfinite(scores) & (codes[:, None] != columns)
        counted = np.where(is_other, weights[:, None], 0.0)
        finite = np.where(is_other, scores, 0.0)
        totals, means, squares = np.zeros((3, int(code.max()) + 1, len(columns)))
        np.add.at(totals, code, counted)
        np.add.at(means, code, counted * finite)
        np.add.at(squares, code, counted * finite**2)
        has = totals > 0
        safe = np.where(has, totals, 1.0)
        means, squares = means / safe, squares / safe  # every class counts the same
        all_means, all_squares, n = means.sum(axis=0), squares.sum(axis=0), has.sum(axis=0)
        location, scale = _units_of(all_means, all_squares, n)
        others = _units_of(all_means - means, all_squares - squares, n - has)
        rows, places = np.nonzero(is_other)
        z = (scores[rows, places] - others[0][code[rows], places]) / others[1][code[rows], places]
        shares = counted[rows, places] / safe[code[rows], places]
        return cls(-z, shares / shares.sum(), code[rows], places, location, scale)

    def limit(self, rate: float) -> float:
        """The place up to which a stranger is accepted at this rate."""
        pairs = self.groups * len(self.location) + self.columns
        n = effective_number(Impostors(self.places, self.shares, pairs))
        found = quantile_or_tail(self.places, self.shares, rate, n)
        return min(found, float(self.places.max()) + EVERYTHING) - STRICTLY


def _units_of(means: Array, squares: Array, n: Array) -> tuple[Array, Array]:
    """Location and scale (..., c) of classes, from sums over n other classes; drawn together."""
    n = np.maximum(n, 1)
    location = means / n
    variance = np.maximum(squares / n - location**2, 0.0)
    positive = variance[variance > 0]
    floor = 1e-12 * float(positive.max()) if len(positive) else 1.0
    log_scale = 0.5 * np.log(np.maximum(variance, floor))
    own = n / (n + PRIOR_CLASSES)
    middle = location.mean(axis=-1, keepdims=True)
    typical = log_scale.mean(axis=-1, keepdims=True)
    return middle + own * (location - middle), np.exp(typical + own * (log_scale - typical))


def stranger_threshold(
    scores: Array, codes: Array, weights: Array, rate: float, n_left: float
) -> float:
    """The score that a sample of a new class reaches for the best of all classes at this rate.

    Where one of C known classes is expected above it, it is the quantile of the largest scores of
    left-out classes: the i-th of C stands at i / (C + 1). Below that it is their quantile still
    where samples of a class differ enough to count, by `effective_number`. Lower rates are the
    mean of two extrapolations. One is of the largest scores, which are few. The other is of all
    pairs of a left-out sample and a class, of which there are C (C - 1) / 2 kinds: what exceeds
    the lower end of the upper tenth of them has a generalized Pareto distribution, and a stranger
    is accepted if one of C independent pairs is.

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
    shares = Impostors(scores[:, 0], weights, codes).shares()
    has_score = np.isfinite(scores)
    largest = np.where(has_score, scores, -np.inf).max(axis=1)
    of_fewer = 1 - (1 - rate) ** (n_left / n_classes)
    if rate * (n_classes + 1) >= 1:
        return -quantile_or_tail(-largest, shares, max(of_fewer, 1 / (n_classes + 1)), n_classes)
    n = effective_number(Impostors(-largest, weights, codes))
    of_largest = -quantile_or_tail(-largest, shares, of_fewer, n)
    if of_fewer * (n + 1) >= 1:
        return of_largest
    of_pair = 1 - (1 - rate) ** (1 / n_classes)
    pair_shares = (shares / np.maximum(has_score.sum(axis=1), 1))[:, None] * has_score
    n_pairs = n_classes * (n_classes - 1) / 2
    of_pairs = _upper_tail(scores[has_score], pair_shares[has_score], of_pair, n_pairs)
    found = 0.5 * (of_largest + of_pairs)
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
    v, shares = v[order], shares[order] / shares.sum()
    start = float(np.interp(max(TAIL, rate), np.cumsum(shares), v))
    beyond = v > start
    if rate >= TAIL or not beyond.any():
        return start
    excess, weights = v[beyond] - start, shares[beyond]
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
    some, place = slice(None), int(1.1 * share * len(v)) + 1
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
    most, freedom = float(sizes.sum()), float((sizes - 1).sum())
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
