"""How Gaussian classes are fitted to samples that they have not seen, from moments alone.

The moments of every class in every fold (count, mean, scatter) are all that is needed:

1. Directions are found without a group of folds, for several shrinkages. The prior of the class
   means, and the product that noise is shrunk towards, are found without its third of the folds.
2. The held-out moments along them say how far new samples follow the means of their classes, and
   how much they vary: a law of four numbers for all directions.
3. In place of the held-out samples of a class stand a few points with the same mean and scatter.
   Shrinkage, gain and tails are means over a grid, weighted by the likelihood of these points
   under each; the temperature has their least log loss. So all are smooth functions of the moments.
   A class has fewer samples when some are held out, and scores are surer than they should be in so
   far as its mean is not known: the logarithm of the temperature is taken to grow with that.
   Where the slices of a mode seem to have units of their own, they may be divided by their spreads.
4. A second expert, whose noise is shrunk half-way towards a Kronecker product, is fitted alike.
   Scores are a weighted mean of both; the share of the second is a mean over a grid, too. It is
   left out where a share of it gains too little on a third of the folds.

The shrinkage of the noise is chosen with class means of any covariance: that choice hardly hangs on
the prior of the class means, and one eigenproblem then serves all shrinkages.

With many classes a held-out point is told from those of its block alone, and each of these stands
for as many others: the cost is linear in the number of classes.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit

from tenfold.mathematics.algebra import Array
from tenfold.mathematics.fold_moments import THIRDS, FoldMoments
from tenfold.mathematics.moments import ClassMoments
from tenfold.mathematics.noise_frames import Frame, Space
from tenfold.mathematics.two_covariances import (
    ClassLikelihood,
    KnownClasses,
    PooledMoments,
    Ratios,
)

SHRINKAGES = (1e-5, 1e-4, 1e-3, 0.01, 0.03, 0.1, 0.25, 0.5, 0.8, 0.95)
SMALL = 0.01  # shrinkages below are tried while the one above has a weight
NEGLIGIBLE = 1e-12
GAINS = (0.0, 0.03, 0.1, 0.3)
TAILS = (0.0, 1.0, 10.0)  # one over degrees of freedom, times the number of coordinates
MOST_TAILS = 0.1
HOTTEST = 50.0  # held-out samples make us less sure than the model is, never surer
USUAL = 0.3  # the shrinkage, where the folds do not say
PARTS = 5  # of the classes, each left out once where there are no folds
BLOCK = 128  # classes that a held-out sample is told from
STEPS = 40  # each at least halves what is missing, for slopes up to 3
HOLD = 0.05  # how firmly the slope of the law is held near 1
SHARES = np.linspace(0, 1, 9)  # of the second expert
MARGIN = 4.0  # nats by which held-out samples must prefer the second expert, or another space
HALF = 0.5  # the shrinkage of the second expert
LOOK = 0.25  # the share of it that is tried on one third of the folds


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

    def likelihoods(self, parts: list[PooledMoments], means: list[Array]) -> list[ClassLikelihood]:
        """The likelihood of new samples in several coordinates, each with class means (C, d).

        In means over samples a large class, which is near the mean of all, counts most. What class
        means vary by is more than that where the shares of the classes are unequal.
        """
        shares = [part.counts / part.counts.sum() for part in parts]
        ends = np.cumsum([M.shape[1] for M in means])
        n = np.repeat(
            [part.counts.sum() / part.known.sum() for part in parts], [M.shape[1] for M in means]
        )
        of_means = np.concatenate(
            [_variances(share @ M**2) for share, M in zip(shares, means, strict=True)]
        )
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
        found = []
        columns = np.split(np.stack([between, spread, within, left]), ends[:-1], axis=1)
        for part, share, (between, spread, within, left) in zip(
            parts, shares, columns, strict=True
        ):
            unequal = (1 - 1 / part.known.sum()) / (1 - share @ share)
            noise = left / np.exp(np.mean(np.log(left)))
            found.append(ClassLikelihood(between * unequal, spread, within, noise))
        return found


class Choice(NamedTuple):
    """What the held-out samples chose."""

    shrinkages: list[float]  # of the experts, as the laws
    laws: list[Law]
    frames: list[Frame]  # that all samples give
    share: float  # of the second expert; 0 if there is none
    gain: float
    tails: float  # times the number of coordinates
    temperature: float

    def model(self, whole: PooledMoments) -> tuple[Array, Array, ClassLikelihood]:
        """Directions of whole samples (I, d), class means (C, d) along them, and the likelihood.

        If both experts have a share, each has a half of the coordinates.
        """
        lifted, means, laws = [], [], []
        for e, frame in enumerate(self.frames):
            if self.share == 1 - e:
                continue
            seen = frame.seen(whole)
            inside, outside = frame.found(seen, self.shrinkages[e])
            lifted.append(frame.of_samples(inside, outside))
            means.append(seen.centred @ inside)
            laws.append(self.laws[e])
        d = min(M.shape[1] for M in means)
        lifted, means = ([D[:, :d] for D in found] for found in (lifted, means))
        each = [law.likelihoods([whole], [M])[0] for law, M in zip(laws, means, strict=True)]
        between, spread, within, noise = np.concatenate([one.variances for one in each], axis=1)
        rest = self.gain, min(self.tails / d, MOST_TAILS), self.temperature, self.share
        likelihood = ClassLikelihood(between, spread, within, noise, *rest)
        cooler = likelihood.unsure(float(whole.counts[whole.known].mean()))
        cooler /= max(likelihood.unsure(laws[0].n), 1e-300)
        likelihood = replace(likelihood, temperature=self.temperature**cooler)
        return np.concatenate(lifted, axis=1), np.concatenate(means, axis=1), likelihood


class Expert:
    """Gaussian classes without every group of folds, for one target of the noise.

    Parameters
    ----------
    moments : FoldMoments
        Of all samples.
    trained : mapping of groups to PooledMoments
        The moments without each group.
    space : Space
        Where they lie.
    whitened : bool
        Whether noise is shrunk towards a Kronecker product.
    """

    def __init__(
        self,
        moments: FoldMoments,
        trained: dict[int, PooledMoments],
        space: Space,
        whitened: bool,
    ) -> None:
        self.moments, self.trained = moments, trained
        self.space, self.whitened = space, whitened
        self._frames: dict[int | None, Frame] = {}
        self._seen: dict[int, PooledMoments] = {}
        self._found: dict[int, Array] = {}  # with the prior, for the one shrinkage that is chosen

    def frame(self, third: int | None = None) -> Frame:
        """The frame that samples outside of a third of the groups give, or all samples."""
        if third not in self._frames:
            out = () if third is None else range(third, self.moments.n_groups, THIRDS)
            part = self.moments.without(out)
            part = part if part.is_usable() else self.moments.without()
            near = next(iter(self._frames.values()), None)
            self._frames[third] = Frame(part, self.space, self.whitened, near)
        return self._frames[third]

    def directions(self, group: int, shrinkage: float, prior: bool) -> Array:
        """Directions (r, d) without a group, in the coordinates of the moments."""
        frame = self.frame(group % THIRDS)
        if group not in self._seen:
            self._seen[group] = frame.seen(self.trained[group])
        if not prior:
            return frame.of_moments(self._seen[group].coordinates(shrinkage)[0])
        if group not in self._found:
            found = frame.found(self._seen[group], shrinkage)[0]
            self._found[group] = frame.of_moments(found)
        return self._found[group]


class _View(NamedTuple):
    """Held-out points of one group, and the classes without it, along the directions of experts."""

    part: PooledMoments
    points: list[Array]  # (m, d) for every expert
    means: list[Array]  # (C, d) for every expert
    codes: Array
    weights: Array


class Evidence:
    """How well held-out points are told apart along the directions of one expert or of two.

    Parameters
    ----------
    asked : list of Expert and float
        The experts, and their shrinkages.
    groups : collection of ints
        What is held out.
    priors : ndarray of shape (C,)
        The probabilities of the classes; those of prior 0 do not count.
    prior : bool
        Whether class means have their prior.
    """

    def __init__(
        self,
        asked: list[tuple[Expert, float]],
        groups: Collection[int],
        priors: Array,
        prior: bool,
    ) -> None:
        views = []
        for group in groups:
            found = [expert.directions(group, shrinkage, prior) for expert, shrinkage in asked]
            views.append(_view(asked[0][0], group, found, priors))
        self.laws = [_law(views, e) for e in range(len(asked))]
        self.priors = priors
        self.ratios: list[list[Ratios]] = [[] for _ in asked]  # by expert and block of points
        n_classes, n_blocks = len(priors), -(-len(priors) // BLOCK)
        with np.errstate(divide="ignore"):
            log_priors = np.log(priors / priors.max())
        likelihoods = [
            law.likelihoods([view.part for view in views], [view.means[e] for view in views])
            for e, law in enumerate(self.laws)
        ]
        answers = []
        for v, (part, points, means, codes, weights) in enumerate(views):
            for block in range(n_blocks):
                rivals, own = np.arange(block, n_classes, n_blocks), codes % n_blocks == block
                late = np.zeros(len(rivals))
                for e, (X, M) in enumerate(zip(points, means, strict=True)):
                    known = KnownClasses(M[rivals], part.counts[rivals], late)
                    self.ratios[e].append(likelihoods[e][v].ratios(X[own], known))
                column = codes[own] // n_blocks
                offset = np.tile(log_priors[rivals], (len(column), 1))
                many = np.log((n_classes - 1) / max(len(rivals) - 1, 1))  # that each stands for
                offset[np.arange(len(column)), column] -= many
                answers.append((column, weights[own], _wide(offset + many, priors)))
        columns, counts, offsets = zip(*answers, strict=True)
        self.answers = np.concatenate(columns), np.concatenate(counts), np.concatenate(offsets)

    def scores(self, gain: float, tails: float) -> list[Array]:
        """For every expert the scores (n, B) of held-out points, by the classes of their block."""
        found = []
        for blocks in self.ratios:
            few = [min(tails / one.n_coordinates, MOST_TAILS) for one in blocks]
            tables = [one.scores(gain, t) for one, t in zip(blocks, few, strict=True)]
            found.append(np.concatenate([_wide(S, self.priors) for S in tables]))
        return found

    def judged(self, scores: Array) -> tuple[float, float]:
        """The best temperature of scores (n, B), and their log loss in nats."""
        return best_temperature(scores, *self.answers)

    def loss(self, share: float = 0.0, gain: float = 0.0, tails: float = 1.0) -> float:
        """The log loss in nats, where the second expert has a share."""
        return self.judged(mixed(self.scores(gain, tails), share))[1]


def _view(expert: Expert, group: int, found: list[Array], priors: Array) -> _View:
    """What is seen of a group along the directions that experts found without it."""
    part = expert.trained[group]
    points = expert.moments.held_out(group, np.concatenate(found, axis=1))
    counted = (part.known & (priors > 0))[points.codes]
    X, codes, weights = (column[counted] for column in points)
    halves = np.split(X, np.cumsum([D.shape[1] for D in found])[:-1], axis=1)
    along = [Y - part.mean @ D for Y, D in zip(halves, found, strict=True)]
    return _View(part, along, [part.centred @ D for D in found], codes, weights)


def _law(views: list[_View], e: int) -> Law:
    """The law that held-out points follow along the directions of an expert."""
    d = min(view.means[e].shape[1] for view in views)
    total, cross, of_means = np.zeros((3, d))
    weight = inverse = 0.0
    for part, points, means, codes, w in views:
        X, m = points[e][:, :d], means[e][codes, :d]
        total, cross, of_means = total + w @ X**2, cross + w @ (X * m), of_means + w @ m**2
        weight, inverse = weight + float(w.sum()), inverse + float(w @ (1 / part.counts[codes]))
    squares = _variances(total / weight), cross / weight, _variances(of_means / weight)
    return Law.seen(*squares, weight / inverse)


def _wide(table: Array, priors: Array) -> Array:
    """A table of a block of classes with as many columns as the largest block has."""
    n_blocks = -(-len(priors) // BLOCK)
    missing = -(-len(priors) // n_blocks) - table.shape[1]
    return np.pad(table, ((0, 0), (0, missing)), constant_values=-np.inf) if missing else table


def mixed(scores: list[Array], share: float) -> Array:
    """The mean of the scores of experts, in which the second has a share."""
    if share in (0, 1):
        return scores[int(share)]
    return np.asarray((1 - share) * scores[0] + share * scores[1])


def chosen(moments: FoldMoments, spaces: list[Space], priors: Array) -> Choice | None:
    """What fits samples best that are held out; None if no group can be held out.

    Probabilities are those under the priors (C,); classes of prior 0 do not count.

    Where held-out samples do not tell choices apart, a few nats prefer what is usual: 2 of them no
    gain, 2 moderate tails, 4 the first of the spaces, 4 the first expert alone, and a quarter of
    the squared difference of their logits a shrinkage of `USUAL`. Other spaces than the first are
    tried with this one.
    """
    trained = {}
    for group in range(moments.n_groups):
        part = moments.without((group,))
        held = moments.counts[moments.folds_of(group)].sum(axis=0)
        if part.is_usable() and (held[part.known & (priors > 0)] > 0).any():
            trained[group] = part
    if not trained:
        return None

    def evidence(
        *asked: tuple[Expert, float], groups: Collection[int] = trained, prior: bool = True
    ) -> Evidence:
        return Evidence(list(asked), groups, priors, prior)

    plain = Expert(moments, trained, spaces[0], whitened=False)
    losses = _losses_of_shrinkages(plain, priors)
    for space in spaces[1:]:
        other = Expert(moments, trained, space, whitened=False)
        if evidence((other, USUAL), prior=False).loss() + MARGIN < losses.min():
            plain, losses = other, _losses_of_shrinkages(other, priors)
    asked = [(plain, float(expit(_likely(losses) @ logit(SHRINKAGES))))]
    if plain.space.noise_prior:
        both = [*asked, (Expert(moments, trained, plain.space, whitened=True), HALF)]
        third = [group for group in trained if (group - min(trained)) % THIRDS == 0]
        look = evidence(*both, groups=third)
        if look.loss() - look.loss(LOOK) > MARGIN * LOOK / THIRDS:
            asked = both
    seen, share = evidence(*asked), 0.0
    if len(asked) > 1:
        losses, scores = MARGIN * SHARES, seen.scores(0.0, 1.0)
        unknown = float(_likely(losses) @ SHARES)  # the share where held-out samples do not tell
        losses = losses + [seen.judged(mixed(scores, share))[1] for share in SHARES]
        share = max(float(_likely(losses) @ SHARES) - unknown, 0.0) / (1 - unknown)
    pairs = np.array(list(product(GAINS, TAILS)))
    losses = 2.0 * (pairs[:, 0] > 0) + 2.0 * (pairs[:, 1] != 1)
    gain, tails = _likely(losses + [seen.loss(share, *pair) for pair in pairs]) @ pairs
    temperature, _ = seen.judged(mixed(seen.scores(gain, tails), share))
    shrinkages, frames = [s for _, s in asked], [expert.frame() for expert, _ in asked]
    return Choice(shrinkages, seen.laws, frames, share, gain, tails, temperature)


def _losses_of_shrinkages(expert: Expert, priors: Array) -> Array:
    """The log loss of every one of `SHRINKAGES`, in nats; infinite where it was not tried."""
    losses = np.full(len(SHRINKAGES), np.inf)
    for s, shrinkage in reversed(list(enumerate(SHRINKAGES))):
        if shrinkage < SMALL and _likely(losses)[s + 1] < NEGLIGIBLE:
            break
        losses[s] = Evidence([(expert, shrinkage)], expert.trained, priors, prior=False).loss()
        losses[s] += (logit(shrinkage) - logit(USUAL)) ** 2 / 4
    return losses


def _likely(losses: Array) -> Array:
    """The weights of candidates with these losses, in nats."""
    weights = np.exp(losses.min() - losses)
    return np.asarray(weights / weights.sum())


def _variances(squares: Array) -> Array:
    """Mean squares, none of which is 0."""
    return np.asarray(np.maximum(squares, 1e-12 * squares.max(initial=1e-280)))


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
