"""Samples with gaps, completed by what a Gaussian of all samples expects given the rest of each.

    x_gaps = mu_gaps - P_gg^-1 P_gk (x_known - mu_known),     P = Sigma^-1, the precision

mu and Sigma are found by expectation and maximisation: samples are completed, their moments are
taken, and the covariance P_gg^-1 of what a gap may hold is added to these. So the covariance is
that of whole samples, and not of the smooth ones that completing gives. Sigma is shrunk towards a
Kronecker product with one factor per mode, or towards the identity for vectors, by a share that
samples which are held out choose: neighbours along a mode tell the most about a gap.

Labels are not looked at. A sample that is to be classified has none, and training samples must be
completed as it will be. No unit matters: numbers are divided by their spreads first.

References: R. Little, D. Rubin, "Statistical analysis with missing data", Wiley 2002, section 11.3;
P. Dutilleul, "The MLE algorithm for the matrix normal distribution", Journal of Statistical
Computation and Simulation 1999.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from string import ascii_letters
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs

from tenfold.linalg.algebra import Array
from tenfold.linalg.hashing import content_hashes
from tenfold.statistics.accumulate import SMALLEST, check_not_too_large

SHARES = (0.01, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9)  # of the target, from which one is chosen
USUAL = 0.5  # the share where there are too few samples to choose
PARTS = 5  # of the samples, which are held out in turn until there are enough
FEWEST_HELD, MOST_HELD = 4, 50  # samples that choose it
HIDDEN = 0.2  # share of the numbers of these that is hidden where no sample has gaps
START = 0.2  # share of the identity in a factor made of pairs, which are noisy
FACTOR = 0.01  # and in later ones, at least: what never varies stays finite
FLOOR = 1e-6  # least variance, in units of the spreads
CLOSE = 1e-3  # relative change of Sigma at which the rounds end
FEWEST_ROUNDS, MOST_ROUNDS = 6, 100
WORK = 1e10  # products in all rounds, unless the fewest rounds take more
CALL = 3e5  # products that take as long as calling LAPACK for one sample
WORK_OF_ROUND = 2e11  # products in one round; more samples than that are not learned from


class Gaussian(NamedTuple):
    """A normal distribution of vectorised samples."""

    mean: Array  # (I,)
    covariance: Array  # (I, I)


def learned_completion(X: Array, weight: Array | None = None) -> tuple[Array, Array]:
    """Mean and precision of samples with gaps, for `completed`.

    Parameters
    ----------
    X : ndarray of shape (n, I_1, ..., I_K)
        The samples; NaN in the gaps. Every number is known in some sample with weight.
    weight : ndarray of shape (n,) or None
        Non-negative weights.

    Returns
    -------
    mean : ndarray of shape (I,)
        Of whole samples.
    precision : ndarray of shape (I, I)
        The inverse of their covariance.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.statistics.completion import completed, learned_completion
    >>> X = np.random.default_rng(0).normal(size=(50, 1)) * [1.0, 2.0, -1.0]
    >>> completed(np.array([[3.0, np.nan, np.nan]]), *learned_completion(X)).round()
    array([[ 3.,  6., -3.]])
    """
    shape = X.shape[1:]
    X = np.asarray(X.reshape(len(X), -1), dtype=float)
    if weight is not None:
        X, weight = X[weight > 0], weight[weight > 0]
    known = ~np.isnan(X)
    w = np.ones(len(X)) if weight is None else weight
    mean, spread = _units(X, known, w)
    Z = np.where(known, (X - mean) / spread, 0.0)
    some = _affordable(Z, known)
    Z, known, w = Z[some], known[some], w[some]
    start = _start(Z, known, w, shape)
    share = _chosen_share(Z, known, w, shape, start)
    found = _rounds(Z, known, w, shape, start, share)
    return mean + spread * found.mean, inverse(found.covariance) / np.outer(spread, spread)


def completed(X: Array, mean: Array, precision: Array) -> Array:
    """Samples with their gaps filled by what is expected there, given the rest.

    Parameters
    ----------
    X : ndarray of shape (n, I_1, ..., I_K)
        The samples; NaN in the gaps.
    mean, precision : ndarrays of shapes (I,) and (I, I)
        From `learned_completion`.

    Returns
    -------
    ndarray of shape (n, I_1, ..., I_K)
        A copy in the same dtype. What is known stays as it is, to the bit.
    """
    flat = X.reshape(len(X), -1)
    gaps = np.isnan(flat)
    if not gaps.any():
        return X
    deviations = np.where(gaps, 0.0, flat - mean)
    filled = flat.copy()
    for rows, places, factor in _by_gaps(~gaps, np.asarray(precision, dtype=float)):
        expected = mean[places] + _expected(deviations[rows], places, factor, precision)
        filled[np.ix_(rows, places)] = _rounded(expected)
    return filled.reshape(X.shape)


def _rounded(values: Array) -> Array:
    """Numbers to 32 bits: later ones depend on how many samples are completed at once.

    `ProbabilisticLDA` merges samples that are equal to the bit.
    """
    parts, powers = np.frexp(values)
    return np.asarray(np.ldexp(np.round(parts * 2.0**32) * 2.0**-32, powers))


def round_of(Z: Array, known: Array, weight: Array, now: Gaussian) -> Gaussian:
    """One round of expectation and maximisation, without shrinkage.

    Parameters
    ----------
    Z : ndarray of shape (n, I)
        Samples; 0 in the gaps.
    known : ndarray of bool of shape (n, I)
        Where there are none.
    weight : ndarray of shape (n,)
        Weights.
    now : Gaussian
        The distribution so far.

    Returns
    -------
    Gaussian
        Under which the known numbers are at least as likely.
    """
    precision = inverse(now.covariance)
    deviations = np.where(known, Z - now.mean, 0.0)
    # and the covariances of gaps
    whole = deviations.copy()
    unsure = np.zeros_like(precision)
    for rows, gaps, factor in _by_gaps(known, precision):
        whole[np.ix_(rows, gaps)] = _expected(deviations[rows], gaps, factor, precision)
        own = _both_halves(dpotri(factor, lower=1)[0])
        unsure[np.ix_(gaps, gaps)] += weight[rows].sum() * own
    total = weight.sum()
    step = weight @ whole / total
    whole -= step
    covariance = ((whole * weight[:, None]).T @ whole + unsure) / total
    return Gaussian(now.mean + step, covariance)


def target_of(covariance: Array, shape: tuple[int, ...], count: float) -> Array:
    """What a covariance (I, I) of so many samples is shrunk towards; of the same mean variance."""
    variance = float(np.trace(covariance)) / len(covariance)
    if sum(size > 1 for size in shape) < 2:
        return variance * np.eye(len(covariance))
    shares = [max(FACTOR, size / (size + count * prod(shape) / size)) for size in shape]
    return variance * kronecker_product(covariance, shape, shares)


def kronecker_product(
    covariance: Array, shape: tuple[int, ...], shares: list[float], rounds: int = 5
) -> Array:
    """The Kronecker product nearest to a covariance in likelihood, by the flip-flop.

    Every factor is positive definite, has this share of the identity in it, and mean variance 1;
    so has the product (I, I).
    """
    factors = [np.eye(size) for size in shape]
    table = covariance.reshape(shape * 2)
    K = len(shape)
    left, right = ascii_letters[:K], ascii_letters[K : 2 * K]
    for _ in range(rounds):
        for mode, share in enumerate(shares):
            others = [q for q in range(K) if q != mode]
            inverses = [np.linalg.inv(factors[q]) for q in others]
            pairs = "".join(f",{left[q]}{right[q]}" for q in others)
            asked = f"{left}{right}{pairs}->{left[mode]}{right[mode]}"
            found = np.einsum(asked, table, *inverses, optimize=True)
            values, axes = np.linalg.eigh(found + found.T)
            values = np.maximum(values, 0.0)
            unit = float(values.mean()) or 1.0
            factors[mode] = (axes * ((1 - share) * values / unit + share)) @ axes.T
    product: Array = np.ones((1, 1))
    for factor in factors:
        product = np.kron(product, factor)
    return product


def inverse(covariance: Array) -> Array:
    """The inverse of a positive definite matrix."""
    factor, failed = dpotrf(covariance, lower=1)
    if failed:
        raise ValueError(
            "the covariance of the samples with gaps is not positive definite; are some numbers "
            "beyond the range of floats? Scale them, or drop those samples"
        )
    return _both_halves(dpotri(factor, lower=1)[0])


# ── Steps ───────────────────────────────────────────────────────────────────────────────────────


def _units(X: Array, known: Array, weight: Array) -> tuple[Array, Array]:
    """Mean and spread of what is known of every number; 1 for one that hardly varies, if at all."""
    shares = known * weight[:, None]
    shares /= shares.sum(axis=0)
    first = X[known.argmax(axis=0), np.arange(X.shape[1])]  # about it, equal numbers are exact
    mean = first + (shares * np.where(known, X - first, 0.0)).sum(axis=0)
    with np.errstate(over="ignore"):
        squares = (shares * np.where(known, X - mean, 0.0) ** 2).sum(axis=0)
    check_not_too_large(squares)
    return mean, np.sqrt(np.where(squares > SMALLEST, squares, 1.0))


def _affordable(Z: Array, known: Array) -> Array:
    """The rows to learn from: all, or so many as a round has time for, chosen by content."""
    parts = int(np.ceil(_work(known) / WORK_OF_ROUND))
    if parts <= 1:
        return np.arange(len(Z))
    chosen = _dealt(Z, parts) == 0
    everywhere = known[chosen].any(axis=0).all() if chosen.any() else False
    return np.flatnonzero(chosen) if everywhere else np.arange(len(Z))


def _dealt(Z: Array, parts: int) -> Array:
    """The part of each sample, by its content; rounded, so that units do not matter here either."""
    return np.asarray(content_hashes(np.round(Z, 5)) % np.uint64(parts))


def _distinct(Z: Array, known: Array, weight: Array) -> tuple[Array, Array, Array]:
    """Equal samples as one with the sum of their weights."""
    hashes = content_hashes(np.hstack([np.round(Z, 5), known]))
    _, first, number = np.unique(hashes, return_index=True, return_inverse=True)
    return Z[first], known[first], np.bincount(number, weight)


def _work(known: Array) -> float:
    gaps = np.count_nonzero(~known, axis=1).astype(float)
    return float((gaps**3).sum() + CALL * len(known) + 2.0 * known.shape[1] ** 3)


def _start(Z: Array, known: Array, weight: Array, shape: tuple[int, ...]) -> Gaussian:
    """A first guess: the Kronecker product nearest to what pairs of known numbers say."""
    counts = known * weight[:, None]
    pairs = counts.T @ known
    covariance = (Z * weight[:, None]).T @ Z / np.where(pairs > 0, pairs, 1.0)
    product = kronecker_product(covariance, shape, [START] * len(shape), rounds=1)
    return Gaussian(np.zeros(Z.shape[1]), product)


def _shrunk(covariance: Array, target: Array, share: float) -> Array:
    shrunk = (1 - share) * covariance + share * target
    shrunk[np.diag_indices_from(shrunk)] += FLOOR
    return shrunk


def _chosen_share(
    Z: Array, known: Array, weight: Array, shape: tuple[int, ...], start: Gaussian
) -> float:
    """The share under which hidden numbers of samples that were held out are predicted best."""
    Z, known, weight = _distinct(Z, known, weight)
    parts = _dealt(Z, PARTS)
    losses = np.zeros(len(SHARES))
    n_held = 0
    for part in range(PARTS):
        held = parts == part
        if 0 < held.sum() < len(Z) and n_held < MOST_HELD:
            losses += _losses_of_shares(Z, known, weight, shape, start, held)
            n_held += int(held.sum())
    if n_held < FEWEST_HELD or not losses.any():
        return USUAL
    return SHARES[int(np.argmin(losses))]


def _losses_of_shares(
    Z: Array, known: Array, weight: Array, shape: tuple[int, ...], start: Gaussian, held: Array
) -> Array:
    """How badly the others predict hidden numbers of the samples that are held out, (shares,)."""
    rest = round_of(Z[~held], known[~held], weight[~held], start)
    target = target_of(rest.covariance, shape, float(weight[~held].sum()))
    order = np.argsort(_dealt(Z[held], 2**31), kind="stable")[:MOST_HELD]
    Z = Z[held][order]
    known = known[held][order]
    weight = weight[held][order]
    seen = np.roll(known, 1, axis=0)  # with the gaps of the next one; with none, random ones
    if known.all():
        seen = np.random.default_rng(0).random(known.shape) >= HIDDEN
    hidden = known & ~seen
    losses = np.zeros(len(SHARES))
    if not hidden.any():
        return losses
    shown = np.where(known & seen, Z, np.nan)
    for place, share in enumerate(SHARES):
        found = completed(shown, rest.mean, inverse(_shrunk(rest.covariance, target, share)))
        losses[place] = (weight @ np.where(hidden, found - Z, 0.0) ** 2).sum()
    return losses


def _rounds(
    Z: Array, known: Array, weight: Array, shape: tuple[int, ...], now: Gaussian, share: float
) -> Gaussian:
    """Rounds until the covariance is at rest, or until time is up."""
    most = int(np.clip(WORK / _work(known), FEWEST_ROUNDS, MOST_ROUNDS))
    for _ in range(most):
        found = round_of(Z, known, weight, now)
        target = target_of(found.covariance, shape, float(weight.sum()))
        covariance = _shrunk(found.covariance, target, share)
        moved = np.linalg.norm(covariance - now.covariance)
        now = Gaussian(found.mean, covariance)
        if moved <= CLOSE * np.linalg.norm(covariance):
            break
    return now


def _by_gaps(known: Array, precision: Array) -> Iterator[tuple[Array, Array, Array]]:
    """Positions of samples with the same gaps, these, and the Cholesky factor of their precision.

    Samples without gaps are left out.
    """
    if known.all():
        return
    _, first, number = np.unique(
        np.packbits(known, axis=1), axis=0, return_index=True, return_inverse=True
    )
    order = np.argsort(number.ravel(), kind="stable")
    ends = np.cumsum(np.bincount(number.ravel()))
    for row, rows in zip(first, np.split(order, ends[:-1]), strict=True):
        gaps = np.flatnonzero(~known[row])
        if not len(gaps):
            continue
        factor, failed = dpotrf(precision[np.ix_(gaps, gaps)], lower=1)
        if failed:
            raise ValueError(
                "the precision matrix by which gaps are completed is not positive definite; fit "
                "the model again"
            )
        yield rows, gaps, factor


def _expected(deviations: Array, gaps: Array, factor: Array, precision: Array) -> Array:
    """What is expected in the gaps of samples, about the mean; deviations are 0 there."""
    return np.asarray(-dpotrs(factor, (deviations @ precision[:, gaps]).T, lower=1)[0].T)


def _both_halves(lower: Array) -> Array:
    """A symmetric matrix from its lower half."""
    half = np.tril(lower)
    return np.asarray(half + np.tril(lower, -1).T)
