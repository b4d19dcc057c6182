"""How Gaussian classes are fitted to samples that they have not seen, from moments alone.

Samples are dealt to folds by their content, so that the folds do not depend on the order of the
samples, on how a stream is cut, or on whether a sample is repeated or weighted. The moments of
every class in every fold (count, mean, scatter) are all that is needed:

1. The coordinates of `two_covariances` are found without a fold, for several shrinkages.
2. The held-out moments along them say how far new samples follow the means of their classes, and
   how much they vary.
3. In place of the held-out samples of a class stand a few points with the same mean and scatter.
   The shrinkage, the gain, the tails and the temperature with the least log loss on them are
   chosen. With one or two held-out samples in a class the points are the samples.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from math import prod
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from tenfold.mathematics.accumulate import row_blocks
from tenfold.mathematics.algebra import Array
from tenfold.mathematics.moments import ClassMoments
from tenfold.mathematics.two_covariances import (
    ClassLikelihood,
    KnownClasses,
    PooledMoments,
    log_posteriors,
)

N_FOLDS = 5
SHRINKAGES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.45, 0.6, 0.75, 0.9)
GAINS = (0.0, 0.03, 0.1, 0.3)
TAILS = (0.0, 1.0, 10.0)  # one over degrees of freedom, times the number of coordinates
MOST_TAILS = 0.1
HOTTEST = 50.0  # held-out samples make us less sure than the model is, never surer
_ODD = np.uint64(0x9E3779B97F4A7C15)
USUAL = 0.3  # the shrinkage, where the folds do not say


def content_folds(X: Array, n_folds: int = N_FOLDS) -> Array:
    """The fold of each sample (n, ...), by what is in it: samples that are equal share a fold.

    The bits of the numbers are added up as integers, with odd weights. So the fold depends neither
    on the precision in which the numbers came nor on how they lie, and numbers far from zero are
    told apart like others.
    """
    folds = np.empty(len(X), dtype=np.intp)
    n_numbers = prod(X.shape[1:])
    weights = np.arange(n_numbers, dtype=np.uint64) * _ODD + np.uint64(1) | np.uint64(1)
    for rows in row_blocks(len(X), 8 * n_numbers):
        flat = np.ascontiguousarray(X[rows], dtype=np.float64).reshape(-1, n_numbers) + 0.0
        bits = flat.view(np.uint64)  # + 0.0, since -0.0 equals 0.0
        bits ^= bits >> np.uint64(32)
        mixed = (bits @ weights) * _ODD >> np.uint64(32)
        folds[rows] = mixed * np.uint64(n_folds) >> np.uint64(32)
    return folds


class Points(NamedTuple):
    """Points (m, d) of classes, with weights (m,)."""

    X: Array
    codes: Array
    weights: Array


@dataclass(frozen=True, eq=False)
class FoldMoments:
    """The moments of C classes in F folds, in r coordinates.

    Parameters
    ----------
    counts : ndarray of shape (F, C)
        The sum of the sample weights.
    means : ndarray of shape (F, C, r)
        The mean samples.
    within : ndarray of shape (F, r, r)
        The scatters of the classes about these means, added up over the classes.
    size : int
        How many numbers a sample has.
    points : callable
        ``points(fold, D)`` gives `Points` with the means and scatters of the classes in a fold,
        along the columns of D (r, d).
    """

    counts: Array
    means: Array
    within: Array
    size: int
    points: Callable[[int, Array], Points]

    @classmethod
    def of_samples(
        cls,
        Z: Array,
        codes: Array,
        folds: Array,
        weights: Array | None,
        shape: tuple[int, int],
        size: int,
    ) -> FoldMoments:
        """From samples (n, r), the class and the fold of each; `shape` is (F, C)."""
        n_folds, n_classes = shape
        w = np.ones(len(Z)) if weights is None else weights
        Z, codes, folds, w = (column[w > 0] for column in (Z, codes, folds, w))
        cell = folds * n_classes + codes
        counts = np.bincount(cell, weights=w, minlength=n_folds * n_classes)
        order = np.argsort(cell, kind="stable")
        starts = np.searchsorted(cell[order], np.arange(n_folds * n_classes + 1))
        rows = [order[a:b] for a, b in pairwise(starts)]
        means = np.zeros((n_folds * n_classes, Z.shape[1]))
        for c in np.flatnonzero(counts):
            means[c] = w[rows[c]] @ Z[rows[c]] / counts[c]
        within = np.empty((n_folds, Z.shape[1], Z.shape[1]))
        for f in range(n_folds):
            own = np.flatnonzero(folds == f)
            R = (Z[own] - means[cell[own]]) * np.sqrt(w[own])[:, None]
            within[f] = R.T @ R

        def points(f: int, D: Array) -> Points:
            found = []
            for c in range(n_classes):
                own = rows[f * n_classes + c]
                if len(own):
                    Y, mean = Z[own] @ D, means[f * n_classes + c] @ D
                    deviations = (Y - mean) * np.sqrt(w[own])[:, None]
                    found.append(_points_of_class(mean, deviations, counts[f * n_classes + c], c))
            return _joined(found, D.shape[1])

        return cls(counts.reshape(shape), means.reshape(*shape, -1), within, size, points)

    @classmethod
    def of_tables(cls, moments: ClassMoments, shape: tuple[int, int]) -> FoldMoments:
        """From class moments in which class number c F + f is class c in fold f."""
        n_folds, n_classes = shape
        size = moments.scatters.shape[-1]
        counts = moments.counts.reshape(n_classes, n_folds).T
        means = moments.means.reshape(n_classes, n_folds, size).swapaxes(0, 1)
        scatters = moments.scatters.reshape(n_classes, n_folds, size, size)

        def points(f: int, D: Array) -> Points:
            found = []
            for c in np.flatnonzero(counts[f]):
                S = D.T @ scatters[c, f] @ D
                values, vectors = np.linalg.eigh((S + S.T) / 2)
                roots = np.sqrt(values.clip(0))[:, None] * vectors.T
                found.append(_points_of_class(means[f, c] @ D, roots, counts[f, c], int(c)))
            return _joined(found, D.shape[1])

        return cls(counts, means, scatters.sum(axis=0), size, points)

    @property
    def n_folds(self) -> int:
        """Number of folds."""
        return len(self.counts)

    def without(self, fold: int | None) -> PooledMoments:
        """The moments of all samples, or of those outside of one fold."""
        folds = [f for f in range(self.n_folds) if f != fold]
        counts = self.counts[folds]  # (F', C)
        n = counts.sum(axis=0)
        share = counts / np.where(n > 0, n, 1.0)
        means = np.einsum("fc,fcr->cr", share, self.means[folds])
        steps = (self.means[folds] - means) * np.sqrt(counts)[..., None]
        steps = steps.reshape(-1, means.shape[1])
        within = self.within[folds].sum(axis=0) + steps.T @ steps
        return PooledMoments(n, means, within, self.size)


def _points_of_class(mean: Array, deviations: Array, count: float, code: int) -> Points:
    """Points with the mean and the scatter ``deviations.T @ deviations`` of `count` samples."""
    _, sizes, axes = np.linalg.svd(deviations, full_matrices=False)
    kept = sizes > 1e-6 * max(float(sizes[:1].sum()), np.finfo(float).tiny)
    rank = int(kept.sum())
    if rank == 0:
        return Points(mean[None], np.array([code]), np.array([count]))
    steps = axes[kept] * sizes[kept][:, None] * np.sqrt(rank / count)
    X = np.concatenate([mean + steps, mean - steps])
    return Points(X, np.full(len(X), code), np.full(len(X), count / len(X)))


def _joined(parts: list[Points], d: int) -> Points:
    if not parts:
        return Points(np.empty((0, d)), np.empty(0, dtype=np.intp), np.empty(0))
    return Points(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


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


def chosen(moments: FoldMoments) -> Choice | None:
    """The shrinkage and the likelihood with the least log loss on what was held out.

    Where the folds do not tell choices apart, a few nats prefer a shrinkage of `USUAL`, no gain
    and moderate tails. None if no fold can be held out.
    """
    trained = [(f, moments.without(f)) for f in range(moments.n_folds)]
    trained = [
        (f, part)
        for f, part in trained
        if part.degrees_of_freedom > 0
        and part.known.sum() > 1
        and moments.counts[f][part.known].any()
    ]
    if not trained:
        return None
    best: tuple[Choice, list[_HeldOut]] | None = None
    for shrinkage in SHRINKAGES:
        likelihood, views = _seen_held_out(moments, trained, shrinkage)
        tried = _tried(shrinkage, replace(likelihood, tails=_tails(1.0, likelihood)), views)
        if best is None or tried.loss < best[0].loss:
            best = tried, views
    assert best is not None, "there is at least one shrinkage to try"
    choice, views = best
    for gain in GAINS:
        for tails in TAILS:
            other = replace(choice.likelihood, gain=gain, tails=_tails(tails, choice.likelihood))
            tried = _tried(choice.shrinkage, other, views)
            choice = tried if tried.loss < choice.loss else choice
    return _tried(choice.shrinkage, choice.likelihood, views, precision=1e-12)


def _tails(relative: float, likelihood: ClassLikelihood) -> float:
    return min(relative / len(likelihood.between), MOST_TAILS)


def _seen_held_out(
    moments: FoldMoments, trained: list[tuple[int, PooledMoments]], shrinkage: float
) -> tuple[ClassLikelihood, list[_HeldOut]]:
    """The likelihood that held-out moments show for a shrinkage, and the held-out points."""
    found = [(f, part, part.coordinates(shrinkage)[0]) for f, part in trained]
    d = min(D.shape[1] for _, _, D in found)
    total, cross, of_means = np.zeros((3, d))
    n_held, n_inverse, views = 0.0, 0.0, []
    for f, part, D in found:
        D, known = D[:, :d], part.known
        p = np.where(known, moments.counts[f], 0.0)[:, None]
        x, m = (moments.means[f] - part.mean) @ D, part.centred @ D
        points = moments.points(f, D)
        points = Points(*(column[known[points.codes]] for column in points))
        points = points._replace(X=points.X - part.mean @ D)
        total += points.weights @ points.X**2
        cross += (p * x * m).sum(axis=0)
        of_means += (p * m**2).sum(axis=0)
        n_held += float(p.sum())
        n_inverse += float((p[known, 0] / part.counts[known]).sum())
        views.append(_HeldOut(points, KnownClasses(m, part.counts, np.zeros(len(m)))))
    return _honest(total / n_held, cross / n_held, of_means / n_held, n_inverse / n_held), views


def _honest(total: Array, cross: Array, of_means: Array, inverse: float) -> ClassLikelihood:
    """The likelihood from held-out mean squares, and products with the training class means."""
    total = np.maximum(total, 1e-12)
    between = np.clip(cross, 0.0, 0.999 * total)
    spread = np.maximum(of_means - between, 1e-3 * of_means) / inverse
    seen = ClassLikelihood(between, spread, total - between, np.ones_like(total))
    left = seen.variance(1 / inverse)
    return replace(seen, noise=left / np.exp(np.mean(np.log(left))))


def _tried(
    shrinkage: float,
    likelihood: ClassLikelihood,
    views: list[_HeldOut],
    precision: float = 1e-3,
) -> Choice:
    """The log loss of held-out points at its best temperature, and the preference for the usual."""
    likelihood = replace(likelihood, temperature=1.0)
    scores = np.concatenate([likelihood.scores(v.points.X, v.known) for v in views])
    codes = np.concatenate([v.points.codes for v in views])
    weights = np.concatenate([v.points.weights for v in views])
    temperature, loss = best_temperature(scores, codes, weights, precision)
    logits = np.log(shrinkage / (1 - shrinkage)) - np.log(USUAL / (1 - USUAL))
    moderate = likelihood.tails == _tails(1.0, likelihood)
    preference = logits**2 / 4 + 2 * (likelihood.gain > 0) + 2 * (not moderate)
    likelihood = replace(likelihood, temperature=temperature)
    return Choice(shrinkage, likelihood, loss + preference / float(weights.sum()))


def best_temperature(
    scores: Array, codes: Array, weights: Array, precision: float
) -> tuple[float, float]:
    """The temperature from 1 to `HOTTEST` with the least log loss, and that loss.

    The loss is convex in one over the temperature, so its slope has one root.
    """
    rows = np.arange(len(codes))
    below = scores - scores.max(axis=1, keepdims=True)  # the best class of a sample has 0
    finite = np.where(np.isfinite(below), below, 0.0)

    def slope(log_temperature: float) -> float:
        odds = np.exp(below / np.exp(log_temperature))
        mean = np.einsum("nc,nc->n", odds, finite) / odds.sum(axis=1)
        return float(weights @ (finite[rows, codes] - mean))

    low, high = 0.0, float(np.log(HOTTEST))
    if slope(low) >= 0:
        best = low
    elif slope(high) <= 0:
        best = high
    else:
        best = float(brentq(slope, low, high, xtol=precision))
    posteriors = log_posteriors(scores / np.exp(best))
    return float(np.exp(best)), float(-(weights @ posteriors[rows, codes]) / weights.sum())
