"""How Gaussian classes are fitted to samples that they have not seen, from moments alone.

The moments of every class in every fold (count, mean, scatter) are all that is needed:

1. Directions are found without a group of folds, for several shrinkages. The prior of the class
   means, and the product that noise is shrunk towards, are found without its quarter of the folds.
2. The held-out moments along them say how far new samples follow the means of their classes, and
   how much they vary: a law of four numbers for all directions.
3. In place of the held-out samples of a class stand a few points with the same mean and scatter.
   Shrinkage, gain and tails are means over a grid, weighted by the likelihood of these points
   under each; the temperature has their least log loss. So all are smooth functions of the moments.

With many classes a held-out point is told from those of its block alone, and each of these stands
for as many others: the cost is linear in the number of classes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import NamedTuple, Protocol

import numpy as np
from scipy.special import expit, logit

from tenfold.mathematics.algebra import Array
from tenfold.mathematics.fold_moments import FoldMoments, Points
from tenfold.mathematics.moments import ClassMoments
from tenfold.mathematics.two_covariances import (
    ClassLikelihood,
    KnownClasses,
    PooledMoments,
)

SHRINKAGES = (0.01, 0.03, 0.1, 0.25, 0.5, 0.8, 0.95)
GAINS = (0.0, 0.03, 0.1, 0.3)
TAILS = (0.0, 1.0, 10.0)  # one over degrees of freedom, times the number of coordinates
MOST_TAILS = 0.1
HOTTEST = 50.0  # held-out samples make us less sure than the model is, never surer
USUAL = 0.3  # the shrinkage, where the folds do not say
PARTS = 5  # of the classes, each left out once where there are no folds
BLOCK = 128  # classes that a held-out sample is told from
STEPS = 40  # each at least halves what is missing, for slopes up to 3
HOLD = 0.05  # how firmly the slope of the law is held near 1


def left_out(moments: ClassMoments) -> float:
    """The shrinkage under which classes that are left out of the covariance are most likely.

    It needs no folds.
    """
    counts, scatters = moments.counts, moments.scatters
    free = np.maximum(counts - 1, 0.0)
    n_parts = min(PARTS, int((counts > 0).sum()))
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


class Frame(Protocol):
    """Coordinates in which the target of the noise is white, and how directions are found there."""

    def along(self, part: PooledMoments, shrinkage: float) -> Array:
        """Directions (r, d) in the coordinates of the moments."""


@dataclass(frozen=True)
class Law:
    """How far new samples follow the training means of their classes, and what is left.

    Along a direction with variance v of the training means of n samples, new samples follow the
    share q of these, with ``logit q = level + slope log v``, and vary by
    ``exp(left + left_slope log v)`` about them. With other numbers of samples ``q / (1 - q)`` grows
    like these, and v is what it would have been with n.
    """

    level: float
    slope: float
    left: float
    left_slope: float
    n: float

    @classmethod
    def seen(cls, total: Array, cross: Array, of_means: Array, n: float) -> Law:
        """The law of mean squares (d,) of held-out samples, products with their means, and means.

        The share is found by Gauss and Newton's least squares.
        """
        x, q = np.log(of_means), cross / of_means
        middle = float(x.mean())
        A = np.stack([np.ones_like(x), x - middle], axis=1)
        found, hold = np.array([0.0, 1.0]), np.diag([1e-9, HOLD])
        for _ in range(50):
            s = expit(A @ found)
            J = A * (s * (1 - s))[:, None]
            step = J.T @ (q - s) - hold @ (found - [0.0, 1.0])
            step = np.clip(np.linalg.solve(J.T @ J + hold, step), -1, 1)
            before, found = found, np.clip(found + step, [-8.0, 0.0], [8.0, 3.0])
            if np.abs(found - before).max() < 1e-12:
                break
        share = expit(A @ found)
        left = np.log(np.maximum(total - share**2 * of_means, 0.02 * total))
        slope = float(A[:, 1] @ left / (A[:, 1] @ A[:, 1] + 1.0))
        level = float(found[0] - found[1] * middle)
        return cls(level, float(found[1]), float(left.mean()) - slope * middle, slope, n)

    def likelihood(self, part: PooledMoments, M: Array) -> ClassLikelihood:
        """The likelihood of new samples in coordinates where the class means are M (C, d).

        In means over samples a large class, which is near the mean of all, counts most. What class
        means vary by is more than that where the shares of the classes are unequal.
        """
        shares = part.counts / part.counts.sum()
        n = float(part.counts.sum()) / float(part.known.sum())
        of_means = _variances(shares @ M**2)
        seen = of_means  # what they would be with as many samples as the law was seen with
        for _ in range(STEPS):
            q = expit(self.level + self.slope * np.log(seen))
            seen = of_means / (q + (1 - q) * self.n / n)
        left = np.exp(self.left + self.left_slope * np.log(seen))
        within = np.maximum(left - q * (1 - q) * seen, 0.05 * left)
        q = expit(self.level + self.slope * np.log(seen) + np.log(n / self.n))
        between = q * of_means
        spread = np.maximum(of_means - between, 1e-9 * of_means) * n
        left = within + between * spread / (n * between + spread)
        unequal = (1 - 1 / part.known.sum()) / (1 - shares @ shares)
        noise = left / np.exp(np.mean(np.log(left)))
        return ClassLikelihood(between * unequal, spread, within, noise)


class Choice(NamedTuple):
    """What the held-out samples chose."""

    shrinkage: float
    law: Law
    gain: float
    tails: float  # times the number of coordinates
    temperature: float
    loss: float  # in nats, of all held-out samples

    def likelihood(self, part: PooledMoments, M: Array) -> ClassLikelihood:
        """What samples look like in coordinates where the class means are M (C, d)."""
        found = with_tails(self.law.likelihood(part, M), self.gain, self.tails)
        return replace(found, temperature=self.temperature)


def with_tails(likelihood: ClassLikelihood, gain: float, tails: float) -> ClassLikelihood:
    """With a gain, and tails that are given times the number of coordinates."""
    few = min(tails / len(likelihood.between), MOST_TAILS)
    return replace(likelihood, gain=float(gain), tails=float(few))


class _View(NamedTuple):
    """Held-out points of one group, and the classes without it, along the directions found."""

    points: Points
    part: PooledMoments
    means: Array


def chosen(moments: FoldMoments, frames: list[Frame], priors: Array) -> Choice | None:
    """What fits samples best that are held out; None if no group can be held out.

    The frame of a group is that of its quarter. Probabilities are those under the priors (C,);
    classes of prior 0 do not count.

    Where held-out samples do not tell choices apart, a few nats prefer what is usual: 2 of them no
    gain, 2 moderate tails, and a quarter of the squared difference of their logits a shrinkage of
    `USUAL`.
    """
    trained = {}
    for group in range(moments.n_groups):
        part = moments.without((group,))
        held = moments.counts[moments.folds_of(group)].sum(axis=0)
        if part.is_usable() and (held[part.known & (priors > 0)] > 0).any():
            trained[group] = part
    if not trained:
        return None

    def seen(shrinkage: float) -> tuple[Law, list[_View]]:
        return _seen_held_out(moments, trained, frames, shrinkage, priors)

    def judged(law: Law, views: list[_View], gain: float, tails: float) -> tuple[float, float]:
        return _judged(law, views, gain, tails, priors)

    losses: list[float] = []
    for shrinkage in SHRINKAGES:
        preference = (logit(shrinkage) - logit(USUAL)) ** 2 / 4
        losses.append(judged(*seen(shrinkage), 0.0, 1.0)[1] + float(preference))
    shrinkage = float(expit(float(_likely(losses) @ logit(np.array(SHRINKAGES)))))
    law, views = seen(shrinkage)
    pairs = list(product(GAINS, TAILS))
    losses = [judged(law, views, *p)[1] + 2 * (p[0] > 0) + 2 * (p[1] != 1) for p in pairs]
    gain, tails = _likely(losses) @ np.array(pairs)
    return Choice(shrinkage, law, gain, tails, *judged(law, views, gain, tails))


def _likely(losses: list[float]) -> Array:
    """The weights of candidates with these losses, in nats."""
    weights = np.exp(min(losses) - np.array(losses))
    return np.asarray(weights / weights.sum())


def _variances(squares: Array) -> Array:
    """Mean squares, none of which is 0."""
    return np.asarray(np.maximum(squares, 1e-12 * squares.max(initial=1e-280)))


def _seen_held_out(
    moments: FoldMoments,
    trained: dict[int, PooledMoments],
    frames: list[Frame],
    shrinkage: float,
    priors: Array,
) -> tuple[Law, list[_View]]:
    """The law that held-out moments show for a shrinkage, and the held-out points."""
    views = []
    for quarter, frame in enumerate(frames):
        for group, part in trained.items():
            if group % len(frames) != quarter:
                continue
            D = frame.along(part, shrinkage)
            points = moments.held_out(group, D)
            counted = (part.known & (priors > 0))[points.codes]
            points = Points(*(column[counted] for column in points))
            points = points._replace(X=points.X - part.mean @ D)
            views.append(_View(points, part, part.centred @ D))
    d = min(view.means.shape[1] for view in views)
    total, cross, of_means = np.zeros((3, d))
    weight = inverse = 0.0
    for (X, codes, w), part, M in views:
        X, m = X[:, :d], M[codes, :d]
        total, cross, of_means = total + w @ X**2, cross + w @ (X * m), of_means + w @ m**2
        weight, inverse = weight + float(w.sum()), inverse + float(w @ (1 / part.counts[codes]))
    law = Law.seen(
        _variances(total / weight), cross / weight, _variances(of_means / weight), weight / inverse
    )
    return law, views


def _judged(
    law: Law, views: list[_View], gain: float, tails: float, priors: Array
) -> tuple[float, float]:
    """The best temperature of held-out points, and their log loss in nats."""
    n_classes = len(priors)
    n_blocks = -(-n_classes // BLOCK)
    width = -(-n_classes // n_blocks)
    with np.errstate(divide="ignore"):
        log_priors = np.log(priors / priors.max())
    scores, offsets, codes, weights = [], [], [], []
    for points, part, M in views:
        likelihood = with_tails(law.likelihood(part, M), gain, tails)
        for block in range(n_blocks):
            rivals, own = np.arange(block, n_classes, n_blocks), points.codes % n_blocks == block
            known = KnownClasses(M[rivals], part.counts[rivals], np.zeros(len(rivals)))
            S = np.full((int(own.sum()), width), -np.inf)
            S[:, : len(rivals)] = likelihood.scores(points.X[own], known)
            offset, code = np.full_like(S, -np.inf), points.codes[own] // n_blocks
            many = np.log((n_classes - 1) / max(len(rivals) - 1, 1))
            offset[:, : len(rivals)] = log_priors[rivals] + many
            offset[np.arange(len(code)), code] -= many
            scores.append(S)
            offsets.append(offset)
            codes.append(code)
            weights.append(points.weights[own])
    return best_temperature(
        np.concatenate(scores),
        np.concatenate(codes),
        np.concatenate(weights),
        np.concatenate(offsets),
    )


def best_temperature(
    scores: Array, codes: Array, weights: Array, log_priors: Array, precision: float = 1e-10
) -> tuple[float, float]:
    """The temperature from 1 to `HOTTEST` with the least log loss, and that loss in nats.

    Scores (n, C) are divided by it, and then the logarithms of the priors added.

    The loss is convex in one over the temperature, so its slope has one root. Newton's steps find
    it, in the logarithm of the temperature; one that would leave the bracket halves it instead.
    """
    rows = np.arange(len(codes))
    below = np.where(np.isfinite(log_priors), scores, -np.inf)
    below -= below.max(axis=1, keepdims=True)  # the best class of a sample has 0
    finite = np.where(np.isfinite(below), below, 0.0)
    own, own_priors, ones = finite[rows, codes], log_priors[rows, codes], np.ones(below.shape[1])

    def at(log_temperature: float) -> tuple[float, float, float]:
        """Slope, bend and loss."""
        colder = np.exp(-log_temperature)
        odds = np.exp(below * colder + log_priors)
        sums = odds @ ones  # sums of short rows are fastest as products
        odds *= finite
        mean = odds @ ones / sums
        odds *= finite
        bend = colder * float(weights @ (odds @ ones / sums - mean**2))
        loss = float(weights @ (np.log(sums) - own * colder - own_priors))
        return float(weights @ (own - mean)), bend, loss

    low, high = 0.0, float(np.log(HOTTEST))
    best = low
    slope, bend, loss = at(low)
    hottest = at(high) if slope < 0 else (0.0, 0.0, 0.0)
    if slope < 0 and hottest[0] <= 0:
        best, loss = high, hottest[2]
    elif slope < 0:
        while high - low > precision:
            step = -slope / bend if bend > 0 else np.inf
            if abs(step) < precision / 2:
                break
            best = best + step if low < best + step < high else (low + high) / 2
            slope, bend, loss = at(best)
            low, high = (best, high) if slope < 0 else (low, best)
    return float(np.exp(best)), loss
