"""What held-out samples choose, recomputed sample by sample with dense matrices and SciPy alone.

Every class has at most one sample in a fold, so that what stands for the held-out samples are these
samples themselves. Only the folds, the EM of the class means and the flip-flop of the noise are the
library's; each has its own tests.
"""

from functools import reduce
from itertools import product

import numpy as np
import pytest
import scipy.linalg
from scipy.optimize import brentq, minimize, minimize_scalar
from scipy.special import expit, log_softmax, logit
from scipy.stats import multivariate_normal, multivariate_t

from tenfold import ProbabilisticLDA
from tenfold.mathematics import noise_frames
from tenfold.mathematics.fold_moments import N_FOLDS, ruler_folds
from tenfold.mathematics.means_prior import kronecker_prior
from tenfold.mathematics.noise_frames import whitening

SHAPE, N_CLASSES, N = (3, 4), 4, 9
SIZE = 12
GRID = np.array([1e-5, 1e-4, 1e-3, 0.01, 0.03, 0.1, 0.25, 0.5, 0.8, 0.95])
PAIRS = np.array(list(product((0.0, 0.03, 0.1, 0.3), (0.0, 1.0, 10.0))))
SHARES = np.linspace(0, 1, 9)


def samples(seed):
    """Classes with samples in different folds; noise along modes is a product."""
    rng = np.random.default_rng(seed)
    means = 0.3 * rng.normal(size=(N_CLASSES, *SHAPE))
    roots = [np.linalg.cholesky(0.8 * np.ones((s, s)) + 0.2 * np.eye(s)) for s in SHAPE]
    X, y = [], []
    for c in range(N_CLASSES):
        taken = set()
        while len(taken) < N:
            x = means[c] + roots[0] @ rng.standard_t(5, size=SHAPE) @ roots[1].T
            fold = int(ruler_folds(x[None])[0])
            if fold not in taken:
                taken.add(fold)
                X.append(x)
                y.append(c)
    return np.array(X), np.array(y)


class Part:
    """Means of classes about the mean of all, and the covariance of the noise, of some samples."""

    def __init__(self, X, y):
        self.n = np.bincount(y, minlength=N_CLASSES).astype(float)
        assert (self.n > 1).all()
        means = np.stack([X[y == c].mean(axis=0) for c in range(N_CLASSES)])
        self.mean = X.mean(axis=0)
        self.means, self.about = means - self.mean, X - means[y]
        self.W = self.about.T @ self.about / (len(y) - N_CLASSES)
        self.level = np.trace(self.W) / SIZE


def whitened_by(part):
    """What makes the product of the noise white."""
    return np.kron(*whitening(part.about.reshape(-1, *SHAPE)))


def plain_directions(part, shrinkage):
    """Discriminants of the class means, for noise of variance 1 along them."""
    S_w = (1 - shrinkage) * part.W + shrinkage * part.level * np.eye(SIZE)
    between = (part.means.T * part.n) @ part.means
    _, D = scipy.linalg.eigh(between, S_w)
    return D[:, ::-1][:, : N_CLASSES - 1]


def directions_with_prior(X, y, kept, third, shrinkage, white):
    """The same for class means with a Kronecker prior, that samples outside of a third show."""
    frame = Part(X[third], y[third])
    G = whitened_by(frame) if white else np.eye(SIZE)
    frame, part = Part(X[third] @ G, y[third]), Part(X[kept] @ G, y[kept])
    n = N_CLASSES / (1 / frame.n).sum()
    D = frame.means.reshape(-1, *SHAPE)
    scale, factors = kronecker_prior(D, N_CLASSES - 1, frame.level / n)
    S_b = scale * reduce(np.kron, factors)
    S_w = (1 - shrinkage) * part.W + shrinkage * frame.level * np.eye(SIZE)
    A = np.linalg.solve(S_w, S_b @ np.linalg.solve(S_w + (n + 1) * S_b, part.means.T))
    L = np.linalg.cholesky(S_w)
    Q = np.linalg.svd(L.T @ A)[0][:, : N_CLASSES - 1]
    T = np.linalg.solve(L.T, Q)
    along = (part.means * np.sqrt(part.n)[:, None]) @ T
    return G @ T @ np.linalg.eigh(along.T @ along)[1][:, ::-1]


def law_of(held):
    """Level, slope, what is left and its slope, and the number of samples behind the means."""
    x, m = (np.array([one[k] for one in held]) for k in (0, 1))
    of_means, n = (m**2).mean(axis=0), len(held) / sum(1 / one[2] for one in held)
    q, logs = (x * m).mean(axis=0) / of_means, np.log(of_means)
    centred = logs - logs.mean()

    def misfit(law):
        missed = q - expit(law[0] + law[1] * centred)
        return missed @ missed / 2 + 0.05 * (law[1] - 1) ** 2 / 2 + 1e-9 * law[0] ** 2 / 2

    options = {"xatol": 1e-12, "fatol": 1e-18, "maxiter": 4000}
    level, slope = minimize(misfit, [0.0, 1.0], method="Nelder-Mead", options=options).x
    share = expit(level + slope * centred)
    left = np.log(np.maximum((x**2).mean(axis=0) - share**2 * of_means, 0.02 * (x**2).mean(axis=0)))
    left_slope = centred @ left / (centred @ centred + 1)
    middle = logs.mean()
    return level - slope * middle, slope, left.mean() - left_slope * middle, left_slope, n


def variances_of(law, n_c, M):
    """Between, spread, within and the noise of every coordinate with class means M."""
    level, slope, left, left_slope, n_law = law
    n, of_means = n_c.mean(), (n_c / n_c.sum()) @ M**2
    found = []
    for v in of_means:

        def missed(log_seen, v=v):
            q = expit(level + slope * log_seen)
            return log_seen - np.log(v / (q + (1 - q) * n_law / n))

        log_seen = brentq(missed, np.log(v) - 5, np.log(v) + 5, xtol=1e-14)
        q, rest = expit(level + slope * log_seen), np.exp(left + left_slope * log_seen)
        within = max(rest - q * (1 - q) * np.exp(log_seen), 0.05 * rest)
        q = expit(level + slope * log_seen + np.log(n / n_law))
        between = q * v
        spread = max(v - between, 1e-9 * v) * n
        found.append((between, spread, within, within + between * spread / (n * between + spread)))
    between, spread, within, total = np.array(found).T
    shares = n_c / n_c.sum()
    unequal = (1 - 1 / N_CLASSES) / (1 - shares @ shares)
    return between * unequal, spread, within, total / np.exp(np.log(total).mean())


def ratio(x, m, n, variances, gain, tails):
    """Of the density of a new sample of a class to that of one of someone else."""
    between, spread, within, noise = variances
    a = m * n * between / (n * between + spread)
    v = within + between * spread / (n * between + spread)
    v = np.exp(np.log(v / noise).mean()) * np.eye(len(x)) + gain * np.outer(a, a)
    tails, stranger = min(tails / len(x), 0.1), np.diag((between + within) / noise)
    if tails == 0:
        return multivariate_normal(a, v).logpdf(x) - multivariate_normal(cov=stranger).logpdf(x)
    of_class, of_stranger = (
        multivariate_t(a, v, df=1 / tails),
        multivariate_t(0 * a, stranger, 1 / tails),
    )
    return of_class.logpdf(x) - of_stranger.logpdf(x)


class Oracle:
    """Held-out samples of some folds along directions found without them."""

    def __init__(self, X, y, folds, groups, directions):
        self.y, held, parts = [], [], []
        for f in groups:
            kept = folds != f
            part, D = Part(X[kept], y[kept]), directions(kept, f)
            M = part.means @ D
            for x, c in zip(X[~kept], y[~kept], strict=True):
                held.append(((x - part.mean) @ D, M[c], part.n[c]))
                parts.append((part.n, M))
                self.y.append(c)
        law = law_of(held)
        self.n = law[-1]
        self.points = [
            (one[0], n, M, variances_of(law, n, M)) for one, (n, M) in zip(held, parts, strict=True)
        ]

    def scores(self, gain, tails):
        return np.array(
            [
                [ratio(x, M[c], n[c], variances, gain, tails) for c in range(N_CLASSES)]
                for x, n, M, variances in self.points
            ]
        )


def judged(S, y):
    """The temperature with the least log loss, and the loss; all classes are as common."""

    def loss(log_temperature):
        return -log_softmax(S / np.exp(log_temperature), axis=1)[np.arange(len(y)), y].sum()

    best = minimize_scalar(
        loss, bounds=(0, np.log(50)), method="bounded", options={"xatol": 1e-10}
    ).x
    best = min((0.0, best), key=loss)
    return np.exp(best), loss(best)


def soft(losses, values):
    """The mean of values, weighted by likelihood."""
    weights = np.exp(np.min(losses) - np.array(losses))
    return weights @ values / weights.sum()


def choice(X, y, means_prior, noise_prior):
    flat, folds = X.reshape(len(X), -1), ruler_folds(X) - N_FOLDS
    groups = np.unique(folds)

    def oracle(shrinkage, prior, white, groups):
        def directions(kept, f):
            if not prior:
                return plain_directions(Part(flat[kept], y[kept]), shrinkage)
            third = folds % 3 != f % 3
            return directions_with_prior(flat, y, kept, third, shrinkage, white)

        return Oracle(flat, y, folds, groups, directions)

    usual = (logit(GRID) - logit(0.3)) ** 2 / 4
    tried = [oracle(s, False, False, groups) for s in GRID]
    losses = usual + [judged(one.scores(0, 1), one.y)[1] for one in tried]
    shrinkage = expit(soft(losses, logit(GRID)))
    experts, share = [oracle(shrinkage, means_prior, False, groups)], 0.0
    if noise_prior:
        third = [f for f in groups if (f - groups[0]) % 3 == 0]
        look = [
            oracle(shrinkage, True, False, third).scores(0, 1),
            oracle(0.5, True, True, third).scores(0, 1),
        ]
        own = oracle(shrinkage, True, False, third).y
        alone, helped = judged(look[0], own)[1], judged(0.75 * look[0] + 0.25 * look[1], own)[1]
        assert alone - helped > 4 * 0.25 / 3  # else the second expert is left
        experts.append(oracle(0.5, True, True, groups))
        one, two = (expert.scores(0, 1) for expert in experts)
        losses = 4 * SHARES + [judged((1 - w) * one + w * two, experts[0].y)[1] for w in SHARES]
        unknown = soft(4 * SHARES, SHARES)
        share = max(soft(losses, SHARES) - unknown, 0) / (1 - unknown)

    def mixed(gain, tails):
        found = [expert.scores(gain, tails) for expert in experts]
        return found[0] if len(found) == 1 else (1 - share) * found[0] + share * found[1]

    losses = 2.0 * (PAIRS[:, 0] > 0) + 2.0 * (PAIRS[:, 1] != 1)
    losses += [judged(mixed(*pair), experts[0].y)[1] for pair in PAIRS]
    gain, tails = soft(losses, PAIRS)
    temperature, _ = judged(mixed(gain, tails), experts[0].y)
    n = experts[0].n
    return shrinkage, share, gain, min(tails / (N_CLASSES - 1), 0.1), temperature, n


@pytest.mark.parametrize(("means_prior", "noise_prior"), [(False, False), (True, True)])
def test_what_is_chosen_is_what_held_out_samples_say_one_by_one(
    means_prior, noise_prior, monkeypatch
):
    monkeypatch.setattr(noise_frames, "CLOSE", 1e-10)  # wherever the flip-flop starts
    monkeypatch.setattr(noise_frames, "ROUNDS", 500)
    X, y = samples(3)
    model = ProbabilisticLDA(
        means_prior="kronecker" if means_prior else "full",
        noise_prior="kronecker" if noise_prior else "identity",
    ).fit(X, y)
    names = ("shrinkage_", "kronecker_share_", "gain_", "tails_", "temperature_")
    found = [getattr(model, name) for name in names]
    *expected, temperature, n = choice(X, y, means_prior, noise_prior)
    between, spread, within = model.between_, model.spread_, model.within_
    few, all_ = (between * spread / (k * between + spread) for k in (n, N))
    cooler = np.mean(all_ / (within + all_)) / np.mean(few / (within + few))
    expected.append(temperature**cooler)  # a class has more samples where none is held out
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    assert not noise_prior or 0 < model.kronecker_share_ < 1
