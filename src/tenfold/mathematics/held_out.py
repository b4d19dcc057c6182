"""How Gaussian classes are fitted to samples that they have not seen, from moments alone.

The moments of every class in every fold (count, mean, scatter) are all that is needed:

1. The coordinates of `two_covariances` are found without a fold, for several shrinkages.
2. The held-out moments along them say how far new samples follow the means of their classes, and
   how much they vary.
3. In place of the held-out samples of a class stand a few points with the same mean and scatter.
   The shrinkage, the gain, the tails and the temperature with the least log loss on them are
   chosen. With one or two held-out samples in a class the points are the samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from tenfold.mathematics.algebra import Array
from tenfold.mathematics.fold_moments import N_FOLDS, HeldOutFold, Points
from tenfold.mathematics.moments import ClassMoments
from tenfold.mathematics.two_covariances import (
    ClassLikelihood,
    KnownClasses,
    PooledMoments,
    log_posteriors,
)

SHRINKAGES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.45, 0.6, 0.75, 0.9)
GAINS = (0.0, 0.03, 0.1, 0.3)
TAILS = (0.0, 1.0, 10.0)  # one over degrees of freedom, times the number of coordinates
MOST_TAILS = 0.1
HOTTEST = 50.0  # held-out samples make us less sure than the model is, never surer
USUAL = 0.3  # the shrinkage, where the folds do not say


def left_out(moments: ClassMoments) -> float:
    """The shrinkage under which classes that are left out of the covariance are most likely.

    It needs no folds.
    """
    counts, scatters = moments.counts, moments.scatters
    free = np.maximum(counts - 1, 0.0)
    n_parts = min(N_FOLDS, int((counts > 0).sum()))
    likelihoods = np.zeros(len(SHRINKAGES))
    for part in range(n_parts):
        out = np.arange(len(counts)) % n_parts == part
        if free[~out].sum() <= 0 or free[out].sum() <= 0:
            continue
        training = scatters[~out].sum(axis=0) / free[~out].sum()
        variances, axes = np.linalg.eigh(training)
        mean = np.trace(training) / len(training)
        seen = np.einsum("ik,ij,jk->k", axes, scatters[out].sum(axis=0), axes, optimize=True)
        for s, shrinkage in enumerate(SHRINKAGES):
            v = (1 - shrinkage) * variances.clip(0) + shrinkage * mean
            if (v > 0).all():
                likelihoods[s] -= 0.5 * (free[out].sum() * np.log(v).sum() + (seen / v).sum())
    return SHRINKAGES[int(np.argmax(likelihoods))] if likelihoods.any() else USUAL


class Choice(NamedTuple):
    """A shrinkage and what samples look like with it."""

    shrinkage: float
    likelihood: ClassLikelihood
    loss: float


class _HeldOut(NamedTuple):
    """Held-out points of one fold, and the classes without it, in the coordinates found there."""

    points: Points
    known: KnownClasses


def chosen(held_out: Sequence[HeldOutFold], priors: Array) -> Choice | None:
    """The shrinkage and the likelihood with the least log loss on what was held out.

    Each fold may be held out of moments in coordinates of its own. Probabilities are those under
    the priors (C,); classes of prior 0 do not count.

    Where the folds do not tell choices apart, a few nats prefer what is usual: 2 of them no gain, 2
    moderate tails, and a quarter of the squared difference of their logits a shrinkage of `USUAL`.
    None if no fold can be held out.
    """
    trained = [(held, held.moments.without(held.fold)) for held in held_out]
    trained = [
        (held, part)
        for held, part in trained
        if part.degrees_of_freedom > 0
        and part.known.sum() > 1
        and held.moments.counts[held.fold][part.known].any()
    ]
    if not trained:
        return None
    best: tuple[Choice, list[_HeldOut]] | None = None
    for shrinkage in SHRINKAGES:
        likelihood, views = _seen_held_out(trained, shrinkage)
        usual = replace(likelihood, tails=_tails(1.0, likelihood))
        tried = _tried(shrinkage, usual, views, priors)
        if best is None or tried.loss < best[0].loss:
            best = tried, views
    assert best is not None, "there is at least one shrinkage to try"
    choice, views = best
    for gain in GAINS:
        for tails in TAILS:
            other = replace(choice.likelihood, gain=gain, tails=_tails(tails, choice.likelihood))
            tried = _tried(choice.shrinkage, other, views, priors)
            choice = tried if tried.loss < choice.loss else choice
    return _tried(choice.shrinkage, choice.likelihood, views, priors, precision=1e-12)


def _tails(relative: float, likelihood: ClassLikelihood) -> float:
    return min(relative / len(likelihood.between), MOST_TAILS)


def _seen_held_out(
    trained: list[tuple[HeldOutFold, PooledMoments]], shrinkage: float
) -> tuple[ClassLikelihood, list[_HeldOut]]:
    """The likelihood that held-out moments show for a shrinkage, and the held-out points."""
    found = [(held, part, part.coordinates(shrinkage)[0]) for held, part in trained]
    d = min(D.shape[1] for _, _, D in found)
    total, cross, of_means = np.zeros((3, d))
    held, n_inverse, views = np.zeros(len(found[0][1].counts)), 0.0, []
    for (moments, f), part, D in found:
        D, known = D[:, :d], part.known
        p = np.where(known, moments.counts[f], 0.0)[:, None]
        x, m = (moments.means[f] - part.mean) @ D, part.centred @ D
        points = moments.points(f, D)
        points = Points(*(column[known[points.codes]] for column in points))
        points = points._replace(X=points.X - part.mean @ D)
        total += points.weights @ points.X**2
        cross += (p * x * m).sum(axis=0)
        of_means += (p * m**2).sum(axis=0)
        held += p[:, 0]
        n_inverse += float((p[known, 0] / part.counts[known]).sum())
        views.append(_HeldOut(points, KnownClasses(m, part.counts, np.zeros(len(m)))))
    n_held = float(held.sum())
    squares = (total / n_held, cross / n_held, of_means / n_held)
    return _honest(*squares, n_inverse / n_held, held / n_held), views


def _honest(
    total: Array, cross: Array, of_means: Array, inverse: float, shares: Array
) -> ClassLikelihood:
    """The likelihood from held-out mean squares, and products with the training class means.

    In means over samples a large class, which is near the mean of all, counts most. What class
    means vary by is more than that where the shares (C,) of the classes are unequal.
    """
    total = np.maximum(total, 1e-12)
    cross = np.clip(cross, 0.0, 0.999 * total)
    spread = np.maximum(of_means - cross, 1e-3 * of_means) / inverse
    among_equals = 1 - 1 / np.count_nonzero(shares)
    unequal = among_equals / (1 - shares @ shares) if among_equals else 1.0
    seen = ClassLikelihood(cross * unequal, spread, total - cross, np.ones_like(total))
    left = seen.variance(1 / inverse)
    return replace(seen, noise=left / np.exp(np.mean(np.log(left))))


def _tried(
    shrinkage: float,
    likelihood: ClassLikelihood,
    views: list[_HeldOut],
    priors: Array,
    precision: float = 1e-3,
) -> Choice:
    """The log loss of held-out points at its best temperature, and the preference for the usual."""
    likelihood = replace(likelihood, temperature=1.0)
    scores = np.concatenate([likelihood.scores(v.points.X, v.known) for v in views])
    codes = np.concatenate([v.points.codes for v in views])
    weights = np.concatenate([v.points.weights for v in views])
    weights = np.where(priors[codes] > 0, weights, 0.0)
    temperature, loss = best_temperature(scores, codes, weights, precision, priors)
    logits = np.log(shrinkage / (1 - shrinkage)) - np.log(USUAL / (1 - USUAL))
    moderate = likelihood.tails == _tails(1.0, likelihood)
    preference = logits**2 / 4 + 2 * (likelihood.gain > 0) + 2 * (not moderate)
    likelihood = replace(likelihood, temperature=temperature)
    return Choice(shrinkage, likelihood, loss + preference / max(float(weights.sum()), 1.0))


def best_temperature(
    scores: Array, codes: Array, weights: Array, precision: float, priors: Array
) -> tuple[float, float]:
    """The temperature from 1 to `HOTTEST` with the least log loss, and that loss.

    Scores are divided by it, and then the logarithms of the priors added.

    The loss is convex in one over the temperature, so its slope has one root. Newton's steps find
    it, in the logarithm of the temperature; one that would leave the bracket halves it instead.
    """
    counted = weights > 0
    if not counted.any():
        return 1.0, 0.0
    scores, codes, weights = scores[counted], codes[counted], weights[counted]
    rows = np.arange(len(codes))
    with np.errstate(divide="ignore"):
        log_priors = np.log(priors / priors.max())
    scores = np.where(priors > 0, scores, -np.inf)
    below = scores - scores.max(axis=1, keepdims=True)  # the best class of a sample has 0
    finite = np.where(np.isfinite(below), below, 0.0)

    def slope_and_bend(log_temperature: float) -> tuple[float, float]:
        colder = np.exp(-log_temperature)
        odds = np.exp(below * colder + log_priors)
        sums = odds.sum(axis=1)
        odds *= finite
        mean = odds.sum(axis=1) / sums
        odds *= finite
        bend = colder * float(weights @ (odds.sum(axis=1) / sums - mean**2))
        return float(weights @ (finite[rows, codes] - mean)), bend

    low, high = 0.0, float(np.log(HOTTEST))
    best = low
    slope, bend = slope_and_bend(low)
    if slope < 0 and slope_and_bend(high)[0] <= 0:
        best = high
    elif slope < 0:
        while high - low > precision:
            step = -slope / bend if bend > 0 else np.inf
            if abs(step) < precision / 2:
                break
            best = best + step if low < best + step < high else (low + high) / 2
            slope, bend = slope_and_bend(best)
            low, high = (best, high) if slope < 0 else (low, best)
    posteriors = log_posteriors(scores / np.exp(best), log_priors)
    return float(np.exp(best)), float(-(weights @ posteriors[rows, codes]) / weights.sum())
