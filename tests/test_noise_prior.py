"""Laws of noise that is shrunk towards a Kronecker product: oracles, evidence, streams."""

import numpy as np
import pytest
import scipy.linalg
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal, multivariate_t
from sklearn.datasets import load_digits

from tenfold import MPCA, ProbabilisticLDA, load
from tenfold.datasets import make_trials
from tenfold.mathematics.noise_frames import SHARE, Frame, Space, whitening
from tenfold.mathematics.two_covariances import PooledMoments


def autoregressive(size, step=0.95):
    """The covariance of a stationary series: a Toeplitz matrix."""
    return scipy.linalg.toeplitz(step ** np.arange(size))


def wishart(size, seed):
    """A covariance without order."""
    R = np.random.default_rng(seed).normal(size=(size, 2 * size))
    return R @ R.T / (2 * size)


PRODUCT = [wishart(6, 1), autoregressive(8)]
WHITE = [np.eye(6), np.eye(8)]


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
    return (1 - SHARE) * A * len(A) / np.trace(A) + SHARE * np.eye(len(A))


def factor(root):
    return np.linalg.inv(root @ root)


def test_the_flip_flop_finds_the_factors_of_a_kronecker_product():
    A, B = wishart(6, 1), wishart(8, 2)
    X, _ = drawn([A, B], [4000], 0.0)
    found = [factor(root) for root in whitening(X - X.mean(axis=0))]
    assert_allclose(found[0], relative(A), atol=0.05)  # 32 000 fibres: 1 / sqrt(32000) ~ 0.006
    assert_allclose(found[1], relative(B), atol=0.05)


@pytest.mark.parametrize("unit", [1.0, 1e-160])
def test_the_flip_flop_ends_where_factors_hardly_change(unit):
    """Each factor is the covariance of samples that are whitened along all other modes."""
    X, _ = drawn([wishart(3, 4), autoregressive(4), wishart(5, 5)], [9], 0.0)
    deviations = unit * (X - X.mean(axis=0))
    roots = whitening(deviations)
    for mode in range(3):
        Y = deviations / np.abs(deviations).max()
        for other in {0, 1, 2} - {mode}:
            Y = np.moveaxis(np.tensordot(roots[other], Y, (1, other + 1)), 0, other + 1)
        Y = np.moveaxis(Y, mode + 1, 1).reshape(9, len(roots[mode]), -1)
        again = relative(np.einsum("nlj,nkj->lk", Y, Y))
        assert_allclose(factor(roots[mode]), again, atol=0.1)


def test_a_stationary_factor_has_one_number_per_lag():
    X, _ = drawn([wishart(3, 4), autoregressive(6)], [500], 0.0)
    A = factor(whitening(X - X.mean(axis=0), stationary=(1,))[1])
    assert_allclose(A, scipy.linalg.toeplitz(A[0]), atol=1e-9)
    assert_allclose(A, relative(autoregressive(6)), atol=0.1)


def test_noise_that_does_not_vary_is_left_as_it_is():
    for root, size in zip(whitening(np.zeros((3, 4, 5))), (4, 5), strict=True):
        assert_allclose(root, np.eye(size))
    X = np.random.default_rng(0).normal(size=(20, 4, 5))
    X[:, 0] = 0.0  # a row that never changes
    assert all(np.isfinite(root).all() for root in whitening(X))
    assert_allclose(whitening(1e200 * X)[1], whitening(X)[1])


@pytest.mark.parametrize("n", [3, 30])
def test_directions_are_those_of_the_covariances_written_out(n):
    """Noise is whitened along them, and they span S_w^-1 times the class means."""
    X, y = drawn([wishart(4, 1), autoregressive(5)], [n] * 3, 1.0)
    flat = X.reshape(len(X), -1) - X.reshape(len(X), -1).mean(axis=0)
    basis = np.linalg.qr(flat.T)[0][:, : len(flat) - 1] if n == 3 else None
    Z = flat if basis is None else flat @ basis
    means = np.stack([Z[y == c].mean(axis=0) for c in range(3)])
    about = Z - means[y]
    part = PooledMoments(np.full(3, float(n)), means, about.T @ about, 20)
    frame = Frame(part, Space((4, 5), basis), whitened=True)
    inside, outside = frame.found(frame.seen(part), 0.4)
    whole = frame.of_samples(inside, outside)
    about = flat - np.stack([flat[y == c].mean(axis=0) for c in range(3)])[y]
    W = np.kron(*whitening(about.reshape(X.shape)))
    S = about.T @ about / (len(y) - 3)
    S_w = 0.6 * S + 0.4 * np.trace(W @ S @ W) / 20 * np.linalg.inv(W @ W)
    assert_allclose(whole.T @ S_w @ whole, np.eye(2), atol=1e-7)
    expected = np.linalg.solve(S_w, flat[y == 0].mean(axis=0))
    onto = whole @ (whole.T @ S_w @ expected)
    assert_allclose(onto, expected, atol=1e-6 * np.abs(expected).max())
    along = flat @ whole - Z @ frame.of_moments(inside)
    assert_allclose(along, 0, atol=1e-7 * np.abs(flat @ whole).max())


def density(x, mean, covariance, tails):
    """Student's, in units in which its exponent is that of the normal one."""
    if tails == 0:
        return multivariate_normal(mean, covariance).logpdf(x)
    return multivariate_t(mean, covariance, df=1 / tails).logpdf(x)


def test_scores_are_the_weighted_mean_of_two_models_written_out():
    X, y = drawn(PRODUCT, [8] * 5, 0.1)
    model = ProbabilisticLDA().fit(X, y)
    share, d = model.kronecker_share_, model.directions_.shape[1] // 2
    assert 0.1 < share < 1
    assert d == 4
    Z = (X.reshape(len(X), -1) - model.mean_) @ model.directions_
    expected = np.zeros((3, 5))
    for part, own in ((1 - share, slice(d)), (share, slice(d, 2 * d))):
        between, spread, within, noise = (
            getattr(model, f"{name}_")[own] for name in ("between", "spread", "within", "noise")
        )
        for c in range(5):
            mean = model.class_means_[c, own] * 8 * between / (8 * between + spread)
            variance = within + between * spread / (8 * between + spread)
            level = np.exp(np.mean(np.log(variance / noise)))
            covariance = level * np.eye(d) + model.gain_ * np.outer(mean, mean)
            stranger = np.diag((between + within) / noise)
            for k in range(3):
                of_class = density(Z[k, own], mean, covariance, model.tails_)
                of_stranger = density(Z[k, own], np.zeros(d), stranger, model.tails_)
                expected[k, c] += part * (of_class - of_stranger) / model.temperature_
    assert_allclose(model.log_likelihood_ratio(X[:3]), expected, atol=1e-8)


def test_files_and_enrolment_know_both_models(tmp_path):
    X, y = drawn(PRODUCT, [8] * 6, 0.1)
    model = ProbabilisticLDA().fit(X[y < 5], y[y < 5])
    assert 0 < model.kronecker_share_ < 1
    model.enrol(X[y == 5], y[y == 5])
    model.save(tmp_path / "model.tenfold")
    again = load(tmp_path / "model.tenfold")
    assert_allclose(again.predict_log_proba(X), model.predict_log_proba(X))
    assert model.score(X[y == 5], y[y == 5]) > 0.5


def accuracies(factors, seed, n=6, n_classes=6, **parameters):
    """What is right with the product and without, and its share."""
    X, y = drawn(factors, [n + 60] * n_classes, 0.15, seed)
    first = np.concatenate([np.flatnonzero(y == c)[:n] for c in range(n_classes)])
    rest = np.setdiff1d(np.arange(len(y)), first)
    models = ProbabilisticLDA(**parameters), ProbabilisticLDA(noise_prior="identity")
    with_product, without = (model.fit(X[first], y[first]) for model in models)
    right = [model.score(X[rest], y[rest]) for model in (with_product, without)]
    return *right, with_product.kronecker_share_


@pytest.mark.parametrize("stationary_modes", [(), 1])
def test_a_product_helps_where_noise_is_one_and_is_chosen(stationary_modes):
    found = np.array(
        [accuracies(PRODUCT, seed, stationary_modes=stationary_modes) for seed in range(5)]
    )
    assert (found[:, 0] - found[:, 1]).mean() > 0.05, found
    assert np.median(found[:, 2]) > 0.5, found


def test_a_product_costs_next_to_nothing_where_noise_is_none():
    found = np.array([accuracies(WHITE, seed, n=12) for seed in range(5)])
    assert (found[:, 0] - found[:, 1]).mean() > -0.005, found


def test_a_product_is_left_for_images_of_digits():
    X, y = load_digits().images, load_digits().target
    for seed in range(3):
        rows = np.random.default_rng(seed).permutation(len(y))[:200]
        assert ProbabilisticLDA().fit(X[rows], y[rows]).kronecker_share_ < 0.1


def test_few_samples_of_trials_show_the_product():
    """80 samples of 1440 numbers. Without it 61 of 100 are right."""
    train, test = make_trials(80), make_trials(400, random_state=1)
    model = ProbabilisticLDA().fit(train.X, train.y)
    assert model.kronecker_share_ > 0.9
    assert model.score(test.X, test.y) > 0.97


@pytest.mark.parametrize("counts", [[20] * 4, [8] * 4], ids=["more", "fewer"])
def test_streams_give_the_model_of_one_batch(counts):
    X, y = drawn(PRODUCT, counts, 0.1)
    whole, parts = (ProbabilisticLDA(stationary_modes=1) for _ in range(2))
    whole.fit(X, y)
    for rows in np.array_split(np.arange(len(y)), 4):
        parts.partial_fit(X[rows], y[rows], classes=range(4))
    assert whole.kronecker_share_ > 0
    assert_allclose(parts.predict_log_proba(X), whole.predict_log_proba(X), atol=1e-6)


def test_inside_a_projector_the_product_is_of_the_projected_modes():
    X, y = drawn(PRODUCT, [20] * 4, 0.1)
    inside = MPCA(ranks=(3, 4)).fit(X)
    model = ProbabilisticLDA(MPCA(ranks=(3, 4))).fit(X, y)
    folds = ProbabilisticLDA()._folds(X)  # those of whole samples
    outside = ProbabilisticLDA()
    Y = inside.transform(X).reshape(-1, 3, 4)
    outside._folds = lambda X, groups=None: folds
    outside.fit(Y, y)
    assert_allclose(model.decision_function(X), outside.decision_function(Y), atol=1e-7)


@pytest.mark.parametrize("counts", [[2, 1, 1], [2, 2], [9, 1]])
@pytest.mark.parametrize("shape", [(3, 4), (1, 4), (2, 1, 3)])
def test_few_samples_and_modes_of_size_one_are_served(counts, shape):
    X, y = drawn([np.eye(size) for size in shape], counts, 3.0)
    model = ProbabilisticLDA().fit(X, y)
    assert np.isfinite(model.predict_log_proba(X)).all()


def test_what_is_wrong_is_refused_in_words():
    X, y = drawn(PRODUCT, [5] * 3, 0.7)
    for modes in (2, "01", 0.5, (0, 2), (1, -1)):
        with pytest.raises(ValueError, match=r"stationary_modes is .* are 0 to 1"):
            ProbabilisticLDA(stationary_modes=modes).fit(X, y)
    with pytest.raises(ValueError, match="noise_prior is 'toeplitz'"):
        ProbabilisticLDA(noise_prior="toeplitz").fit(X, y)
    flat = ProbabilisticLDA().fit(X.reshape(15, -1), y)
    assert flat.kronecker_share_ == 0


def test_scatter_that_rounding_made_indefinite_still_has_deviations():
    """As of sums over very many samples some of whose numbers follow from others."""
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(5, 5)))[0]
    within = (turn * [1.0, 0.5, 1e-3, 0.0, -1e-9]) @ turn.T
    part = PooledMoments(np.full(2, 50.0), np.eye(5)[:2], within, 5)
    rows = part.deviations()
    np.testing.assert_allclose(rows.T @ rows, within, atol=2e-9)
