"""How `ProbabilisticLDA` chooses on held-out samples, written out once more, sample by sample.

With one or two held-out samples of a class in a fold the points that stand for them are the
samples. So everything here goes through samples.
"""

from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import pytest
from scipy.linalg import eigh
from scipy.optimize import minimize_scalar
from scipy.special import logit, logsumexp
from scipy.stats import multivariate_normal, wishart

from tenfold import ClassMoments
from tenfold.mathematics.fold_moments import FoldMoments
from tenfold.mathematics.held_out import SHRINKAGES, chosen, left_out

N_CLASSES, N_FOLDS, SIZE = 22, 2, 24
PRIORS = np.arange(1, N_CLASSES + 1) / sum(range(N_CLASSES + 1))


@dataclass
class Fold:
    """One fold held out: its samples and the other samples of each class, in coordinates."""

    X: np.ndarray
    codes: np.ndarray
    weights: np.ndarray
    means: np.ndarray  # of the training samples of each class
    counts: np.ndarray


def averaged(X, weights):
    return weights @ X / weights.sum()


def scatter(X, weights, centre):
    return (weights[:, None] * (X - centre)).T @ (X - centre)


def folds_along(Z, codes, folds, weights, shrinkage):
    """Every fold that can be held out, in the coordinates that the other samples give."""
    found = []
    for f in range(N_FOLDS):
        training = folds != f
        counts = np.bincount(codes[training], weights[training], minlength=N_CLASSES)
        known, free = np.flatnonzero(counts), np.maximum(counts - 1, 0).sum()
        held = ~training & np.isin(codes, known)
        if free <= 0 or len(known) < 2 or not held.any():
            continue
        mean = averaged(Z[training], weights[training])
        means = np.zeros((N_CLASSES, SIZE))
        within, between = np.zeros((2, SIZE, SIZE))
        for c in known:
            own = training & (codes == c)
            means[c] = averaged(Z[own], weights[own]) - mean
            within += scatter(Z[own] - mean, weights[own], means[c])
            between += counts[c] * np.outer(means[c], means[c])
        noise = within / free
        shrunk = (1 - shrinkage) * noise + shrinkage * np.trace(noise) / SIZE * np.eye(SIZE)
        D = eigh(between, shrunk)[1][:, ::-1][:, : len(known) - 1]
        found.append(Fold((Z[held] - mean) @ D, codes[held], weights[held], means @ D, counts))
    d = min(fold.X.shape[1] for fold in found)
    return [replace(fold, X=fold.X[:, :d], means=fold.means[:, :d]) for fold in found]


@dataclass
class Numbers:
    """What held-out samples say of each coordinate."""

    between: np.ndarray
    spread: np.ndarray
    within: np.ndarray
    noise: np.ndarray


def seen(folds):
    """Mean squares of held-out samples, and their products with the means of their classes."""
    n = sum(fold.weights.sum() for fold in folds)
    total, cross, of_means, inverse = 0.0, 0.0, 0.0, 0.0
    for fold in folds:
        for x, c, w in zip(fold.X, fold.codes, fold.weights, strict=True):
            total = total + w * x**2 / n
            cross = cross + w * x * fold.means[c] / n
            of_means = of_means + w * fold.means[c] ** 2 / n
            inverse = inverse + w / fold.counts[c] / n
    cross = np.clip(cross, 0, 0.999 * total)
    spread = np.maximum(of_means - cross, 1e-3 * of_means) / inverse
    within = total - cross
    share = sum(np.bincount(f.codes, f.weights, minlength=N_CLASSES) for f in folds) / n
    between = cross * (1 - 1 / np.sum(share > 0)) / (1 - np.sum(share**2))
    miss = inverse * spread  # the variance of a training mean about the true one
    variance = within + between * miss / (between + miss)
    return Numbers(between, spread, within, variance / np.exp(np.mean(np.log(variance))))


def log_densities(X, centres, covariances, tails):
    """Of normal or Student's t distributions (C of them), less what they have in common, (n, C)."""
    steps = X[:, None] - centres
    squares = np.einsum("nci,cij,ncj->nc", steps, np.linalg.inv(covariances), steps)
    volumes = np.linalg.slogdet(covariances)[1] / 2
    if tails == 0:
        return -squares / 2 - volumes
    freedom = 1 / tails
    return -(freedom + X.shape[1]) / 2 * np.log1p(squares / freedom) - volumes


def log_ratios(fold, numbers, gain, tails):
    """log p(x | class) - log p(x | someone else) for held-out samples and classes (n, C)."""
    identity = np.eye(len(numbers.between))
    trust = fold.counts[:, None] * numbers.between + numbers.spread
    means = fold.means * fold.counts[:, None] * numbers.between / trust
    variances = numbers.within + numbers.between * numbers.spread / trust
    levels = np.exp(np.mean(np.log(variances / numbers.noise), axis=1))
    own = levels[:, None, None] * identity + gain * means[:, :, None] * means[:, None]
    stranger = identity * (numbers.between + numbers.within) / numbers.noise
    of_stranger = log_densities(fold.X, np.zeros_like(means[:1]), stranger[None], tails)
    ratios = log_densities(fold.X, means, own, tails) - of_stranger
    return np.where(fold.counts > 0, ratios, -np.inf)


def judged(folds, numbers, shrinkage, gain, tails):
    """The least log loss at any temperature, with what is preferred, and that temperature."""
    scores = np.concatenate([log_ratios(fold, numbers, gain, tails) for fold in folds])
    codes = np.concatenate([fold.codes for fold in folds])
    weights = np.concatenate([fold.weights for fold in folds])

    def loss(log_temperature):
        logits = scores / np.exp(log_temperature) + np.log(PRIORS)
        right = logits[np.arange(len(codes)), codes] - logsumexp(logits, axis=1)
        return -averaged(right, weights)

    best = minimize_scalar(loss, bounds=(0, np.log(50)), method="bounded", options={"xatol": 1e-7})
    found = min([0.0, best.x, np.log(50)], key=loss)
    moderate = min(1 / len(numbers.between), 0.1)
    nats = (logit(shrinkage) - logit(0.3)) ** 2 / 4 + 2 * (gain > 0) + 2 * (tails != moderate)
    return loss(found) + nats / weights.sum(), np.exp(found)


def chosen_by_hand(Z, codes, folds, weights):
    """The shrinkage first, with moderate tails; then gain, and no, moderate or heavy tails."""
    found = []
    for shrinkage in SHRINKAGES:
        views = folds_along(Z, codes, folds, weights, shrinkage)
        numbers = seen(views)
        d = len(numbers.between)
        loss, _ = judged(views, numbers, shrinkage, 0.0, min(1 / d, 0.1))
        found.append((loss, shrinkage, views, numbers))
    _, shrinkage, views, numbers = min(found, key=lambda one: one[0])
    tried = []
    for gain, tails in product((0.0, 0.03, 0.1, 0.3), (0.0, min(1 / d, 0.1), min(10 / d, 0.1))):
        loss, temperature = judged(views, numbers, shrinkage, gain, tails)
        tried.append((loss, gain, tails, temperature))
    return shrinkage, numbers, *min(tried)


def samples(seed, apart, heavy, light):
    """One or two samples of each class in each fold: far classes, outliers, changes of light."""
    rng = np.random.default_rng(seed)
    cells = np.array([*np.ndindex(N_CLASSES, N_FOLDS)])
    twice = np.sort(rng.choice(len(cells), len(cells) // 2, replace=False))
    weights = rng.uniform(0.8, 1.7, len(cells))
    cells, weights = np.concatenate([cells, cells[twice]]), np.append(weights, weights[twice])
    unknown = (cells[:, 0] == 3) & (cells[:, 1] > 0)  # class 3 is in fold 0 alone
    codes, folds = cells[~unknown].T
    n = len(codes)
    means = apart * rng.normal(size=(N_CLASSES, SIZE)) * np.exp(-np.arange(SIZE) / 4)
    noise = rng.normal(size=(n, SIZE)) * np.linspace(0.3, 1.5, SIZE)
    noise /= np.sqrt(rng.chisquare(heavy, size=(n, 1)) / heavy)
    return (
        means[codes] * (1 + light * rng.normal(size=(n, 1))) + noise,
        codes,
        folds,
        weights[~unknown],
    )


def held_out(Z, codes, folds, weights):
    shape = (N_FOLDS, N_CLASSES)
    return FoldMoments.of_samples(Z, codes, folds, weights, shape, SIZE).held_out()


@pytest.mark.parametrize(
    ("apart", "heavy", "light"), [(0.2, 1, 0.5), (2, 3, 0.5), (30, 1, 0.5), (30, 50, 0.5)]
)
def test_the_choice_has_the_least_log_loss_on_held_out_samples(apart, heavy, light):
    """With a few nats for what is usual: the loss is that of samples, and so is the choice."""
    data = samples(0, apart, heavy, light)
    choice = chosen(held_out(*data), PRIORS)
    shrinkage, numbers, loss, gain, tails, temperature = chosen_by_hand(*data)
    found = choice.likelihood
    assert (choice.shrinkage, found.gain) == (shrinkage, gain)
    assert found.tails == pytest.approx(tails, abs=1e-12)
    assert choice.loss == pytest.approx(loss, rel=1e-9)
    assert found.temperature == pytest.approx(temperature, rel=1e-5)
    for name in ("between", "spread", "within", "noise"):
        np.testing.assert_allclose(getattr(found, name), getattr(numbers, name), rtol=1e-6)


def test_what_the_folds_do_not_tell_apart_is_usual():
    """Classes so far apart that every choice is right."""
    choice = chosen(held_out(*samples(0, 1000, 50, 0)), PRIORS)
    assert choice.shrinkage == 0.3
    assert choice.likelihood.gain == 0
    assert choice.likelihood.tails == 1 / len(choice.likelihood.between)
    assert choice.loss < 1e-9


@pytest.mark.parametrize(
    ("codes", "folds"),
    [
        ([0, 0, 0, 0], [0, 0, 1, 1]),  # a single class
        ([0, 1, 2, 0, 1, 2], [0, 0, 0, 1, 1, 1]),  # single samples say nothing of their spread
        ([0, 0, 1, 1, 2, 2, 3, 3], [0, 0, 0, 0, 1, 1, 1, 1]),  # nobody is known in the other fold
    ],
)
def test_nothing_is_chosen_where_no_fold_can_be_held_out(codes, folds):
    Z = np.random.default_rng(0).normal(size=(len(codes), SIZE))
    assert chosen(held_out(Z, np.array(codes), np.array(folds), None), PRIORS) is None


@pytest.mark.parametrize("n_classes", [2, 7])
def test_classes_that_are_left_out_are_most_likely_under_the_shrinkage(n_classes):
    """Their scatters have Wishart's distribution; every fifth class is left out at a time."""
    found = set()
    for seed, n in product(range(3), (12, 40)):
        rng = np.random.default_rng(seed)
        codes = np.concatenate([np.full(n + 3 * c, c) for c in range(n_classes)])
        turn = np.linalg.qr(rng.normal(size=(6, 6)))[0]
        X = rng.normal(size=(len(codes), 6)) * np.exp(rng.normal(size=6) * seed / 2) @ turn
        moments = ClassMoments.from_batch(X, codes, classes=np.arange(n_classes + 1))
        free, scatters = np.maximum(moments.counts - 1, 0), moments.scatters
        n_parts, likelihoods = min(5, n_classes), np.zeros(len(SHRINKAGES))
        for part in range(n_parts):
            out = np.arange(n_classes + 1) % n_parts == part
            pooled = scatters[~out].sum(axis=0) / free[~out].sum()
            target = np.trace(pooled) / 6 * np.eye(6)
            for i, share in enumerate(SHRINKAGES):
                covariance = (1 - share) * pooled + share * target
                seen = wishart(free[out].sum(), covariance).logpdf(scatters[out].sum(axis=0))
                likelihoods[i] += seen
        assert left_out(moments) == SHRINKAGES[np.argmax(likelihoods)]
        found.add(left_out(moments))
    assert len(found) > 2, "some of these need more shrinkage than others"


def test_two_pairs_are_enough_to_leave_one_out():
    """Half the difference of a pair, times the root of two, is normal with mean zero."""
    found = set()
    for seed in range(10):
        X = np.random.default_rng(seed).normal(size=(4, 3)) * [1.0, 1.0, 3.0]
        steps = (X[[0, 2]] - X[[1, 3]]) / np.sqrt(2)
        likelihoods = []
        for share in SHRINKAGES:
            targets = [np.square(d).sum() / 3 * np.eye(3) for d in steps]
            covariances = [
                (1 - share) * np.outer(d, d) + share * target
                for d, target in zip(steps, targets, strict=True)
            ]
            seen = zip(steps[::-1], covariances, strict=True)
            likelihoods.append(sum(multivariate_normal(cov=S).logpdf(d) for d, S in seen))
        found.add(left_out(ClassMoments.from_batch(X, [0, 0, 1, 1])))
        assert (
            left_out(ClassMoments.from_batch(X, [0, 0, 1, 1])) == SHRINKAGES[np.argmax(likelihoods)]
        )
    assert len(found - {0.3}) > 2, "some of these need more shrinkage than others"


def test_classes_without_spread_say_nothing_of_the_others():
    X = np.random.default_rng(0).normal(size=(9, 3))
    assert left_out(ClassMoments.from_batch(X, [0] * 8 + [1])) == 0.3  # a single sample
    assert left_out(ClassMoments.from_batch(X[[0, 0, 1, 1]], [0, 0, 1, 1])) == 0.3  # points
    X[:4] = X[0]
    assert left_out(ClassMoments.from_batch(X, [0] * 4 + [1] * 5)) in SHRINKAGES
