"""Laws of constants and terms that no other test depends on, each with an answer from outside."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from tenfold import MCSDA, MPCA, ClassSpecificClassifier, compare, gather_moments
from tenfold.optimization.criteria import likelihood_ratio_terms
from tenfold.selection.comparison import Comparison, MethodFigures
from tenfold.statistics.accumulate import float32_suffices

# ── Anchors of the likelihood ratio ───────────────────────────────────────────────────────────────


def mean_of_quadratic(ask, mean, covariance):
    """The expectation of a quadratic function of a Gaussian: its mean over symmetric points."""
    half = np.sqrt(len(mean)) * np.linalg.cholesky(covariance)
    return np.mean([ask(mean + sign * column) for column in half.T for sign in (-1, 1)])


@pytest.mark.parametrize("classes", [2, 3, 6])
def test_anchors_are_the_ratio_of_typical_others_and_of_equal_distances(classes):
    rng = np.random.default_rng(classes)
    counts = rng.integers(3, 9, size=classes).astype(float)
    means = rng.normal(size=(classes, 4))
    noise, positive = 0.3, 1
    whole = counts @ means / counts.sum()
    steps = np.sqrt(counts)[:, None] * (means - whole)
    _, _, (typical, even) = likelihood_ratio_terms(steps, None, counts, positive, noise)

    others = np.arange(classes) != positive
    m_o = counts[others] @ means[others] / counts[others].sum()
    about = means[others] - m_o
    B = (counts[others, None] * about).T @ about / counts[others].sum()
    own = multivariate_normal(means[positive], noise * np.eye(4))
    other = multivariate_normal(m_o, noise * np.eye(4) + B)
    expected = mean_of_quadratic(lambda z: own.logpdf(z) - other.logpdf(z), m_o, other.cov)
    assert typical == pytest.approx(expected, rel=1e-10)
    # At its own mean the distance from each Gaussian is zero, so only the normalisation is left.
    assert even == pytest.approx(own.logpdf(own.mean) - other.logpdf(m_o), rel=1e-10)


# ── float32 ───────────────────────────────────────────────────────────────────────────────────────


def with_weakest(share, mode):
    """Samples (n, 4, 3) or (n, 3, 4) whose weakest direction of a mode has this share of the mean.

    Each sample has one number that is not zero, so the scatters of both modes are diagonal.
    """
    weakest = 3 * share / (4 - share)
    strength = np.array([weakest, 1.0, 1.0, 1.0])
    Z = np.zeros((12, 4, 3))
    for i, j in np.ndindex(4, 3):
        Z[3 * i + j, i, j] = np.sqrt(strength[i])
    Z = np.concatenate([Z, -Z])  # so that the mean is zero
    return Z if mode == 0 else Z.swapaxes(1, 2)


@pytest.mark.parametrize("mode", [0, 1])
def test_float32_is_used_down_to_a_thousandth_of_the_mean_direction(mode):
    Z = with_weakest(1e-3, mode)
    S = np.einsum("nij,nkj->ik" if mode == 0 else "nji,njk->ik", Z, Z)
    assert np.linalg.eigvalsh(S)[0] / np.trace(S) * 4 == pytest.approx(1e-3)
    assert float32_suffices(with_weakest(1.02e-3, mode))
    assert not float32_suffices(with_weakest(0.98e-3, mode))


@pytest.mark.parametrize("weakest", [1e-4, 1e-3, 1e-2, 0.1])
def test_a_weak_direction_of_float32_samples_is_known_to_one_part_in_a_thousand(weakest):
    rng = np.random.default_rng(0)
    scale = np.array([1.0, 1.0, 1.0, weakest])[:, None]
    turn = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    X = np.einsum("ij,njk->nik", turn, scale * rng.normal(size=(4000, 4, 6))).astype(np.float32)
    moments = gather_moments(X, np.zeros(len(X), dtype=int))
    weak = np.einsum("i,nij->nj", turn[:, 3], X.astype(float))
    expected = ((weak - weak.mean(axis=0)) ** 2).sum()
    scatter = moments.scatters[0].reshape(4, 6, 4, 6)
    found = np.einsum("i,iaja,j->", turn[:, 3], scatter, turn[:, 3])
    assert found == pytest.approx(expected, rel=1e-3)


# ── The paired t test of `compare` ────────────────────────────────────────────────────────────────

PATTERN = np.array([-2.0, -1.0, 0.0, 1.0, 2.0]) / 1000  # differences over folds, about their mean
T_975_OF_4 = 2.7764451052  # from a printed table of Student's t, 4 degrees of freedom
TESTED = 0.25  # five folds: a fifth of the samples is tested, four fifths are trained on


def figures(name, by_fold):
    mean = float(np.mean(by_fold))
    own = tuple(by_fold.tolist())
    return MethodFigures(name, (), mean, 0.0, mean, mean, True, 0.1, own, own)


def compared(difference):
    worse = np.full(5, 0.8)
    better = worse + difference + PATTERN
    methods = [figures("better", better), figures("worse", worse)]
    return Comparison(methods, 100_000, 3, 5, (4, 3), None, TESTED)


def test_methods_are_told_apart_by_the_corrected_resampled_t_test():
    # Nadeau and Bengio (2003), eq. 9: the variance of the mean is (1 / J + n_2 / n_1) S^2.
    variance = (PATTERN**2).sum() / 4
    least = T_975_OF_4 * np.sqrt((1 / 5 + TESTED) * variance)
    clear, unclear = compared(1.001 * least), compared(0.999 * least)
    assert [one.method for one in clear.best_methods] == ["better"]
    assert clear.advice.startswith("Use better")
    assert [one.method for one in unclear.best_methods] == ["better", "worse"]
    assert unclear.advice.startswith("No clear winner")
    plain = T_975_OF_4 * np.sqrt(variance / 5)
    assert compared(1.001 * plain).advice.startswith("No clear winner"), "folds share samples"


@pytest.mark.parametrize("folds", [2, 5])
def test_the_correction_counts_test_samples_per_training_sample(folds):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = rng.normal(size=(3, 4, 3))[y] + rng.normal(size=(60, 4, 3))
    bank = ClassSpecificClassifier(MCSDA((2, 2)))
    found = compare(X, y, [bank, MPCA((2, 2))], cv=folds, verbose=False)
    assert found.test_per_training == pytest.approx(1 / (folds - 1))
