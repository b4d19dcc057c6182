"""Laws of what held-out samples choose, and of the shrinkage that classes left out choose."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import multivariate_normal, wishart

from tenfold import ClassMoments, ProbabilisticLDA
from tenfold.mathematics.held_out import SHRINKAGES, left_out


def drawn(n_classes, n, size, apart, seed=0):
    """Classes with normal means of a variance, and normal noise of variance 1."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(n_classes), n)
    means = np.sqrt(apart) * rng.normal(size=(n_classes, size))
    return means[y] + rng.normal(size=(len(y), size)), y


@pytest.mark.parametrize("apart", [0.2, 1.0, 5.0])
@pytest.mark.parametrize("n", [2, 5])
def test_new_samples_follow_the_means_as_the_formula_says(apart, n):
    """With many classes of few numbers a mean of n samples counts phi / (phi + 1 / n)."""
    X, y = drawn(600, n, 4, apart)
    likelihood = ProbabilisticLDA().fit(X, y).likelihood()
    assert likelihood.factor(n).mean() == pytest.approx(apart / (apart + 1 / n), abs=0.05)
    assert likelihood.between.mean() == pytest.approx(apart * likelihood.within.mean(), rel=0.15)


@pytest.mark.parametrize("n_classes", [100, 300])
def test_blocks_of_classes_stand_for_all(n_classes):
    """Log loss of new samples is near that of the true model, with one block and with three."""
    X, y = drawn(n_classes, 6, 5, 4.0)
    own = np.arange(len(y)) % 6 < 4
    model = ProbabilisticLDA().fit(X[own], y[own])
    test = X[~own]
    means = np.stack([X[own & (y == c)].mean(axis=0) for c in range(n_classes)])
    a, v = means * 4 / (4 + 1 / 4), 1 + 4 * (1 / 4) / (4 + 1 / 4)
    S = -0.5 * ((test[:, None] - a) ** 2).sum(axis=2) / v
    best = S[np.arange(len(test)), y[~own]] - np.log(np.exp(S).sum(axis=1))
    found = model.predict_log_proba(test)[np.arange(len(test)), y[~own]]
    assert -found.mean() < -best.mean() + 0.05


def test_heavy_tails_and_noise_make_probabilities_humbler():
    """A temperature never makes a model surer than it is."""
    X, y = drawn(20, 12, 30, 1.0)
    light = ProbabilisticLDA().fit(X, y)
    rng = np.random.default_rng(1)
    heavy = ProbabilisticLDA().fit(X + 0.5 * rng.standard_t(1.5, size=(len(X), 1)) * X.std(), y)
    for model in (light, heavy):
        assert model.temperature_ >= 1
        assert model.tails_ > 0


def test_what_the_folds_do_not_tell_apart_is_usual():
    """Classes so far apart that every choice is right."""
    X, y = drawn(6, 5, 24, 1e6)
    model = ProbabilisticLDA().fit(X, y)
    assert 0.15 < model.shrinkage_ < 0.5
    assert model.gain_ < 0.1
    assert model.temperature_ == 1


@pytest.mark.parametrize("codes", [[0, 0, 1], [0, 0, 1, 2, 3]])
def test_nothing_is_chosen_where_no_fold_can_be_held_out(codes):
    X = np.random.default_rng(0).normal(size=(len(codes), 3, 4))
    model = ProbabilisticLDA().fit(X, codes)
    letter = ProbabilisticLDA(shrinkage=0.3).fit(X, codes)
    np.testing.assert_allclose(model.predict_log_proba(X), letter.predict_log_proba(X))


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
