"""Laws of covariances that are shrunk towards Kronecker products: oracles, streams, bad input."""

import numpy as np
import pytest
import scipy.linalg
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal
from sklearn.datasets import load_digits

from tenfold import MPCA, ProbabilisticLDA, gather_moments
from tenfold.datasets import make_trials
from tenfold.mathematics.separable import IDENTITY, inverse_roots, stationary

SIZES = (6, 8)


def autoregressive(size, step=0.95):
    """The covariance of a stationary series: a Toeplitz matrix."""
    return scipy.linalg.toeplitz(step ** np.arange(size))


def wishart(size, seed):
    """A covariance without order."""
    R = np.random.default_rng(seed).normal(size=(size, 2 * size))
    return R @ R.T / (2 * size)


def drawn(factors, counts, apart, seed=0):
    """Gaussian classes with noise along modes, whose means are as far apart in all directions."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat(np.arange(len(counts)), counts))
    shape = tuple(map(len, factors))
    X = rng.normal(size=(len(y), *shape))
    for mode, A in enumerate(factors):
        X = np.moveaxis(np.tensordot(scipy.linalg.sqrtm(A).real, X, (1, mode + 1)), 0, mode + 1)
    return X + apart * np.random.default_rng(99).normal(size=(len(counts), *shape))[y], y


def relative(A):
    """With variances of mean 1, and the share of the identity that the factors have."""
    return (1 - IDENTITY) * A * len(A) / np.trace(A) + IDENTITY * np.eye(len(A))


def test_the_flip_flop_finds_the_factors_of_a_kronecker_product():
    A, B = wishart(6, 1), wishart(8, 2)
    X, _ = drawn([A, B], [4000], 0.0)
    found = [np.linalg.inv(root @ root) for root in inverse_roots(X - X.mean(axis=0))]
    assert_allclose(found[0], relative(A), atol=0.05)  # 32 000 fibres: 1 / sqrt(32000) ~ 0.006
    assert_allclose(found[1], relative(B), atol=0.05)


@pytest.mark.parametrize("unit", [1.0, 1e-160])
def test_the_flip_flop_ends_where_no_factor_changes_any_more(unit):
    """Each factor is the covariance of samples that are whitened along all other modes."""
    X, _ = drawn([wishart(3, 4), autoregressive(4, 0.99), wishart(5, 5) ** 3], [9], 0.0)
    deviations = unit * (X - X.mean(axis=0))
    roots = inverse_roots(deviations)
    for mode in range(3):
        Y = deviations / np.abs(deviations).max()
        for other in {0, 1, 2} - {mode}:
            Y = np.moveaxis(np.tensordot(roots[other], Y, (1, other + 1)), 0, other + 1)
        Y = np.moveaxis(Y, mode + 1, 1).reshape(9, len(roots[mode]), -1)
        again = relative(np.einsum("nlj,nkj->lk", Y, Y))
        assert_allclose(np.linalg.inv(roots[mode] @ roots[mode]), again, atol=3e-3)


def test_a_stationary_factor_has_the_mean_of_each_diagonal():
    A = autoregressive(5) + 0.01 * wishart(5, 3)
    means = [np.diagonal(A, lag).mean() for lag in range(5)]
    assert_allclose(stationary(A), scipy.linalg.toeplitz(means), atol=1e-12)
    indefinite = np.array([[1.0, 2.0], [2.0, 1.0]])
    assert_allclose(stationary(indefinite), np.full((2, 2), 1.5))  # the nearest without -1


def test_noise_that_does_not_vary_is_left_as_it_is():
    for root, size in zip(inverse_roots(np.zeros((3, 4, 5))), (4, 5), strict=True):
        assert_allclose(root, np.eye(size))
    X = np.random.default_rng(0).normal(size=(20, 4, 5))
    X[:, 0] = 0.0  # a row that never changes
    assert all(np.isfinite(root).all() for root in inverse_roots(X))
    assert_allclose(inverse_roots(1e200 * X)[1], inverse_roots(X)[1])


def covariances(X, y, shrinkage, time_modes=()):
    """The covariances of noise and of class means that the docstrings state, written out."""
    flat, (classes, n) = X.reshape(len(X), -1), np.unique(y, return_counts=True)
    N, C, size = len(y), len(n), flat.shape[1]
    means = np.stack([flat[y == c].mean(axis=0) for c in classes])
    about = flat - means[np.searchsorted(classes, y)]
    S_w = about.T @ about / (N - C)
    roots = inverse_roots(about.reshape(X.shape), time_modes)
    W = np.kron(*roots)
    T = np.linalg.inv(W @ W)
    S_w = (1 - shrinkage) * S_w + shrinkage * np.trace(W @ S_w @ W) / size * T
    mean = flat.mean(axis=0)
    between = ((means - mean).T * n) @ (means - mean) / (C - 1)
    typical = (N - (n**2).sum() / N) / (C - 1)
    phi, U = scipy.linalg.eigh((between - S_w) / typical, S_w)
    lifted = S_w @ U
    return mean, S_w, (lifted * phi.clip(0)) @ lifted.T


@pytest.mark.parametrize("time_modes", [(), (1,), (0, 1)])
@pytest.mark.parametrize("counts", [[4, 3, 5], [40, 30, 20]], ids=["fewer", "more"])
def test_scores_are_those_of_the_joint_gaussian_written_out(counts, time_modes):
    X, y = drawn([wishart(4, 1), autoregressive(5)], counts, 1.0)
    model = ProbabilisticLDA(shrinkage=0.4, shrink_to="kronecker", time_modes=time_modes)
    new, _ = drawn([wishart(4, 1), autoregressive(5)], counts, 1.0, seed=5)
    found = model.fit(X, y).log_likelihood_ratio(new[:5])
    mean, S_w, S_b = covariances(X, y, 0.4, time_modes)
    for c in range(3):
        n, own = (y == c).sum(), X[y == c].reshape(-1, 20).mean(axis=0) - mean
        gain = S_b @ np.linalg.inv(S_b + S_w / n)
        of_class = multivariate_normal(mean + gain @ own, S_w + S_b - gain @ S_b)
        of_stranger = multivariate_normal(mean, S_b + S_w)
        flat = new[:5].reshape(5, -1)
        assert_allclose(found[:, c], of_class.logpdf(flat) - of_stranger.logpdf(flat), atol=1e-7)


@pytest.mark.parametrize("shrink_to", ["kronecker", "auto"])
def test_streams_give_the_model_of_one_batch(shrink_to):
    X, y = drawn([wishart(4, 1), autoregressive(5)], [30, 30, 30], 0.7)
    whole = ProbabilisticLDA(shrink_to=shrink_to, time_modes=1).fit(X, y)
    parts = ProbabilisticLDA(shrink_to=shrink_to, time_modes=1)
    for rows in np.array_split(np.arange(90), 4):
        parts.partial_fit(X[rows], y[rows], classes=[0, 1, 2])
    assert parts.shrink_to_ == whole.shrink_to_
    assert_allclose(parts.predict_log_proba(X), whole.predict_log_proba(X), atol=1e-6)


def accuracy(factors, shrink_to, seed, time_modes=(), n=6, n_classes=6):
    X, y = drawn(factors, [n + 60] * n_classes, 0.15, seed)
    first = np.concatenate([np.flatnonzero(y == c)[:n] for c in range(n_classes)])
    rest = np.setdiff1d(np.arange(len(y)), first)
    model = ProbabilisticLDA(shrink_to=shrink_to, time_modes=time_modes).fit(X[first], y[first])
    return model.score(X[rest], y[rest]), model.shrink_to_


def test_a_product_helps_where_noise_is_one_and_is_chosen():
    factors = [wishart(6, 1), autoregressive(8)]
    plain, chosen = (
        [accuracy(factors, name, seed) for seed in range(5)] for name in ("identity", "auto")
    )
    gains = [b[0] - a[0] for a, b in zip(plain, chosen, strict=True)]
    assert np.mean(gains) > 0.05, gains
    assert [name for _, name in chosen].count("kronecker") >= 4


def test_a_stationary_factor_is_chosen_where_it_helps():
    factors = [wishart(2, 3), autoregressive(40)]
    plain = [accuracy(factors, "identity", seed, n=4)[0] for seed in range(5)]
    chosen = [accuracy(factors, "auto", seed, time_modes=1, n=4) for seed in range(5)]
    assert np.mean([score for score, _ in chosen]) > np.mean(plain) + 0.05
    assert [name for _, name in chosen].count("kronecker, stationary") >= 4


def test_the_identity_stays_where_held_out_samples_do_not_tell():
    for seed in range(12):
        X, y = drawn([np.eye(4), np.eye(5)], [20] * 3, 1.0, seed)
        assert ProbabilisticLDA(shrink_to="auto").fit(X, y).shrink_to_ == "identity"


def test_few_samples_of_trials_show_the_product():
    """80 samples of 1440 numbers. Without it 61 of 100 are right."""
    train, test = make_trials(80), make_trials(400, random_state=1)
    model = ProbabilisticLDA(shrink_to="kronecker").fit(train.X, train.y)
    assert model.score(test.X, test.y) > 0.8


def test_a_product_costs_nothing_where_noise_is_none():
    X, y = load_digits().images, load_digits().target
    differences = []
    for seed in range(5):
        rows = np.random.default_rng(seed).permutation(len(y))
        train, test = rows[:100], rows[100:]
        scores = [
            ProbabilisticLDA(shrink_to=name).fit(X[train], y[train]).score(X[test], y[test])
            for name in ("identity", "auto")
        ]
        differences.append(scores[1] - scores[0])
    assert np.mean(differences) > -0.01, differences


def test_no_table_is_larger_than_the_samples():
    """12 samples of 90 000 numbers: a table of these would take 60 GiB."""
    X = np.random.default_rng(0).normal(size=(12, 300, 300))
    y = np.arange(12) % 3
    model = ProbabilisticLDA(shrink_to="kronecker", shrinkage=0.5).fit(X, y)
    assert model.directions_.shape == (90000, 2)
    assert model.score(X, y) == 1


def test_inside_a_projector_the_product_is_of_the_projected_modes():
    X, y = drawn([wishart(6, 1), autoregressive(8)], [20] * 4, 0.5)
    inside = MPCA(ranks=(3, 4)).fit(X)
    model = ProbabilisticLDA(MPCA(ranks=(3, 4)), shrinkage=0.5, shrink_to="kronecker").fit(X, y)
    outside = ProbabilisticLDA(shrinkage=0.5, shrink_to="kronecker")
    outside.fit(inside.transform(X).reshape(-1, 3, 4), y)
    expected = outside.decision_function(inside.transform(X).reshape(-1, 3, 4))
    assert_allclose(model.decision_function(X), expected, atol=1e-8)


def test_moments_without_folds_know_the_product_when_asked():
    X, y = drawn([wishart(3, 1), autoregressive(4)], [30] * 3, 0.7)
    moments = gather_moments(X, y)
    model = ProbabilisticLDA(shrinkage=0.5, shrink_to="kronecker").fit_moments(moments)
    direct = ProbabilisticLDA(shrinkage=0.5, shrink_to="kronecker").fit(X, y)
    assert_allclose(model.decision_function(X), direct.decision_function(X), atol=1e-6)
    assert ProbabilisticLDA(shrink_to="auto").fit_moments(moments).shrink_to_ == "identity"


def test_one_sample_in_most_classes_is_enough_to_go_on():
    X, y = drawn([wishart(3, 1), autoregressive(4)], [2, 1, 1], 3.0)
    for shrink_to in ("kronecker", "auto"):
        model = ProbabilisticLDA(shrink_to=shrink_to).fit(X, y)
        assert np.isfinite(model.predict_log_proba(X)).all()


def refused(words, X, y, **parameters):
    with pytest.raises(ValueError, match=words):
        ProbabilisticLDA(**parameters).fit(X, y)


def test_what_has_no_such_structure_is_refused_in_words():
    X, y = drawn([wishart(3, 1), autoregressive(4)], [5] * 3, 0.7)
    product = {"shrink_to": "kronecker"}
    refused("modes 0 to 1; name those along which time", X, y, time_modes=2, **product)
    refused("modes 0 to 1", X, y, time_modes=-1, **product)
    refused("modes 0 to 1", X, y, time_modes="01", **product)
    refused("modes 0 to 1", X, y, time_modes=0.5, **product)
    refused("one entry, which is no time", X[:, :, :, None], y, time_modes=2, **product)
    refused("'identity', which has no factors", X, y, time_modes=1)
    refused("after a projector", X, y, time_modes=1, projector=MPCA(), **product)
    refused("no two modes for a product", X.reshape(15, -1), y, **product)
    refused("choose both or none", X, y, shrinkage=0.3, shrink_to="auto")
    refused("shrink_to is 'toeplitz'", X, y, shrink_to="toeplitz")
    refused("two or more of some class", X[:3], [0, 1, 2], **product)
    assert ProbabilisticLDA(time_modes=None, **product).fit(X, y).shrink_to_ == "kronecker"
    flat = ProbabilisticLDA(shrink_to="auto").fit(X.reshape(15, -1), y)
    assert flat.shrink_to_ == "identity"
