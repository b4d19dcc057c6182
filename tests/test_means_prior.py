"""Laws of the Kronecker prior of class means: EM written out densely, and what it is good for."""

from functools import reduce

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal

from tenfold import ProbabilisticLDA
from tenfold.mathematics.means_prior import MeansPrior, kronecker_prior
from tenfold.mathematics.two_covariances import PooledMoments


def class_means(shape, n_classes, seed=0):
    """Class means about their mean, with a smooth first mode."""
    rng = np.random.default_rng(seed)
    D = np.cumsum(rng.normal(size=(n_classes, *shape)), axis=1)
    D += 0.5 * rng.normal(size=D.shape)
    return D - D.mean(axis=0)


def covariance(scale, factors):
    return scale * reduce(np.kron, factors)


def em_round(D, noise, scale, factors, share):
    """One round of EM with dense matrices: expected second moments, and a factor of each mode."""
    dof, flat = len(D) - 1, D.reshape(len(D), -1)
    S = covariance(scale, factors)
    gain = S @ np.linalg.inv(S + noise * np.eye(len(S)))
    means = flat @ gain.T
    second = means.T @ means / dof + S - gain @ S
    found, sizes = [], D.shape[1:]
    for k, size in enumerate(sizes):
        others = [np.eye(size) if q == k else np.linalg.inv(B) for q, B in enumerate(factors)]
        weighed = (second @ reduce(np.kron, others)).reshape(*sizes, *sizes)
        rest = [q for q in range(len(sizes)) if q != k]
        for q in sorted(rest, reverse=True):
            weighed = np.trace(weighed, axis1=q, axis2=q + weighed.ndim // 2)
        weighed *= size / np.trace(weighed)
        found.append((1 - share) * weighed + share * np.eye(size))
    return found


@pytest.mark.parametrize("shape", [(4, 3), (3, 2, 4), (5, 1, 3)])
@pytest.mark.parametrize("n_classes", [2, 6, 40])
def test_where_em_ends_a_dense_round_changes_nothing(shape, n_classes):
    D = class_means(shape, n_classes)
    scale, factors = kronecker_prior(D, n_classes - 1, 0.3, rounds=5000, close=1e-9)
    again = em_round(D, 0.3, scale, factors, share=0.05)
    for came, expected in zip(factors, again, strict=True):
        assert_allclose(came, expected, atol=1e-6)
        assert np.trace(came) == pytest.approx(len(came))


def test_the_likelihood_of_class_means_never_falls():
    D, noise = class_means((4, 3), 30), 0.3
    rows = D.reshape(len(D), -1)

    def log_likelihood(rounds):
        scale, factors = kronecker_prior(D, len(D), noise, share=0.0, rounds=rounds, close=0)
        S = covariance(scale, factors) + noise * np.eye(12)
        return multivariate_normal(np.zeros(12), S).logpdf(rows).sum()

    found = [log_likelihood(rounds) for rounds in range(1, 40)]
    assert (np.diff(found) >= -1e-9 * abs(found[0])).all()
    assert found[-1] > found[0] + 1


@pytest.mark.parametrize("few", [False, True])
def test_directions_are_those_of_the_formula_with_dense_matrices(few):
    shape, n_classes, n, shrinkage = (4, 5), 3, 3, 0.4
    rng = np.random.default_rng(1)
    D = class_means(shape, n_classes).reshape(n_classes, -1)
    X = D[np.repeat(np.arange(n_classes), n)] + rng.normal(size=(n * n_classes, 20))
    basis = np.linalg.qr((X - X.mean(axis=0)).T)[0][:, :-1] if few else None
    Z = X - X.mean(axis=0) if basis is None else (X - X.mean(axis=0)) @ basis
    means = Z.reshape(n_classes, n, -1).mean(axis=1)
    R = (Z.reshape(n_classes, n, -1) - means[:, None]).reshape(len(Z), -1)
    part = PooledMoments(np.full(n_classes, float(n)), means, R.T @ R, 20)
    prior = MeansPrior.of_moments(part, basis, shape)
    inside, outside = prior.directions(part, shrinkage)
    whole = prior.lifted(inside, outside)
    B = np.eye(20) if basis is None else basis
    W = B @ R.T @ R @ B.T / (n_classes * (n - 1))
    S_w = (1 - shrinkage) * W + shrinkage * np.trace(W) / 20 * np.eye(20)
    Q = reduce(np.kron, prior.axes)
    S_b = (Q * prior.variances) @ Q.T
    expected = np.linalg.solve(S_w, S_b @ np.linalg.solve(S_w + (n + 1) * S_b, B @ means.T))
    assert_allclose(whole.T @ S_w @ whole, np.eye(n_classes - 1), atol=1e-9)
    onto = whole @ (whole.T @ S_w @ expected)
    assert_allclose(onto, expected, atol=1e-9 * np.abs(expected).max())
    along = means @ inside
    assert_allclose(along, means @ B.T @ whole, atol=1e-9 * np.abs(along).max())
    scatter = along.T @ along
    assert_allclose(scatter, np.diag(np.diag(scatter)), atol=1e-9 * scatter.max())


def trials(structured, seed):
    """Trials of two classes, whose difference is one pattern over modes, or any."""
    rng = np.random.default_rng(seed)
    pattern = rng.normal(size=(3, 12, 15))
    if structured:
        pattern = np.einsum("ci,cj->cij", *(rng.normal(size=(3, size)) for size in (12, 15)))
    y = np.repeat(np.arange(3), 80)
    return 0.25 * pattern[y] + rng.normal(size=(240, 12, 15)), y


def accuracy(structured, means_prior):
    found = []
    for seed in range(4):
        X, y = trials(structured, seed)
        model = ProbabilisticLDA(means_prior=means_prior).fit(X[::8], y[::8])
        rest = np.arange(len(y)) % 8 > 0
        found.append(model.score(X[rest], y[rest]))
    return np.mean(found)


def test_class_means_with_structure_are_found_sooner():
    assert accuracy(True, "kronecker") > accuracy(True, "full") + 0.02


def test_a_structure_that_is_not_there_costs_little():
    assert accuracy(False, "kronecker") > accuracy(False, "full") - 0.02


@pytest.mark.parametrize("shape", [(1, 6), (6, 1), (2, 3), (1, 1), (3, 2, 2)])
@pytest.mark.parametrize("counts", [(1, 2), (2, 2), (1, 1, 2), (9, 1)])
def test_modes_of_size_one_and_single_samples_are_served(shape, counts):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(len(counts)), counts)
    X = rng.normal(size=(len(y), *shape)) + 3 * y.reshape(-1, *[1] * len(shape))
    model = ProbabilisticLDA().fit(X, y)
    assert_allclose(model.predict_proba(X).sum(axis=1), 1)


@pytest.mark.parametrize("singular", [0, 1])
def test_modes_that_are_singular_are_served(singular):
    X, y = trials(structured=True, seed=0)
    X = np.take(X, [0, 1, 1, 2, 2, 2], axis=singular + 1)
    model = ProbabilisticLDA().fit(X[::2], y[::2])
    assert model.score(X[1::2], y[1::2]) > 0.45  # 0.33 by chance
