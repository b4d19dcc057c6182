"""Samples with gaps: what completes them is right, and only `GaussianImputer` takes them."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.covariance import LedoitWolf
from sklearn.datasets import load_digits
from sklearn.pipeline import make_pipeline

from reference import with_gaps
from tenfold import (
    CSDA,
    MCSDA,
    ClassSpecificClassifier,
    ClassSpecificVerifier,
    GaussianImputer,
    ProbabilisticLDA,
)
from tenfold.methods import ALL_METHODS
from tenfold.metrics import mean_average_precision
from tenfold.statistics.completion import (
    Gaussian,
    completed,
    kronecker_product,
    learned_completion,
    round_of,
)
from tenfold.statistics.stores import StoredSamples


def planted(n=400, seed=0):
    """Samples of a Gaussian with a covariance of no special form."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(5, 5))
    covariance, mean = A @ A.T + 0.1 * np.eye(5), rng.normal(size=5)
    return rng.multivariate_normal(mean, covariance, size=n), mean, covariance


@pytest.fixture(scope="module")
def digits():
    data = load_digits()
    return data.images[:240], data.target[:240]


# ── The mathematics ─────────────────────────────────────────────────────────────────────────────


def test_gaps_hold_the_conditional_expectation():
    """The textbook: mu_g + S_gk S_kk^-1 (x_k - mu_k), from the covariance and not its inverse."""
    X, mean, covariance = planted(n=30)
    holes = with_gaps(X, 0.4)
    found = completed(holes, mean, np.linalg.inv(covariance))
    for x, before in zip(found, holes, strict=True):
        k, g = np.flatnonzero(~np.isnan(before)), np.flatnonzero(np.isnan(before))
        S_gk, S_kk = covariance[np.ix_(g, k)], covariance[np.ix_(k, k)]
        expected = mean[g] + S_gk @ np.linalg.solve(S_kk, before[k] - mean[k])
        np.testing.assert_allclose(x[g], expected, atol=1e-10)
        assert (x[k] == before[k]).all()


def log_likelihood(X, gaussian):
    """Of the known numbers of every sample, each by its own marginal."""
    total = 0.0
    for x in X:
        k = ~np.isnan(x)
        marginal = multivariate_normal(gaussian.mean[k], gaussian.covariance[np.ix_(k, k)])
        total += marginal.logpdf(x[k])
    return total


def test_no_round_makes_the_known_numbers_less_likely():
    holes = with_gaps(planted(n=60)[0], 0.4)
    known, weight = ~np.isnan(holes), np.ones(60)
    now = Gaussian(np.zeros(5), np.eye(5))
    likelihoods = [log_likelihood(holes, now)]
    for _ in range(15):
        now = round_of(np.where(known, holes, 0.0), known, weight, now)
        likelihoods.append(log_likelihood(holes, now))
    assert np.diff(likelihoods).min() > -1e-8
    assert likelihoods[-1] > likelihoods[0] + 50


def test_a_round_is_that_of_expected_moments_written_out():
    X, mean, covariance = planted(n=12)
    holes, weight = with_gaps(X, 0.4), np.linspace(0.5, 2.0, 12)
    known = ~np.isnan(holes)
    found = round_of(np.where(known, holes, 0.0), known, weight, Gaussian(mean, covariance))
    filled, unsure = holes.copy(), np.zeros((12, 5, 5))
    for x, own in zip(filled, unsure, strict=True):
        k, g = np.flatnonzero(~np.isnan(x)), np.flatnonzero(np.isnan(x))
        slopes = np.linalg.solve(covariance[np.ix_(k, k)], covariance[np.ix_(k, g)]).T
        x[g] = mean[g] + slopes @ (x[k] - mean[k])
        own[np.ix_(g, g)] = covariance[np.ix_(g, g)] - slopes @ covariance[np.ix_(k, g)]
    expected_mean = weight @ filled / weight.sum()
    about = filled - expected_mean
    second = np.einsum("n,ni,nj->ij", weight, about, about) + np.tensordot(weight, unsure, 1)
    np.testing.assert_allclose(found.mean, expected_mean, atol=1e-12)
    np.testing.assert_allclose(found.covariance, second / weight.sum(), atol=1e-10)


def test_a_planted_covariance_is_found_through_gaps():
    """As well as from whole samples, up to what 30 % fewer numbers cost."""
    X, mean, covariance = planted(n=4000)
    found_mean, precision = learned_completion(with_gaps(X, 0.3))
    spreads = np.sqrt(np.diag(covariance))
    units = np.outer(spreads, spreads)
    assert np.abs((found_mean - mean) / spreads).max() < 0.06
    assert np.abs((np.linalg.inv(precision) - covariance) / units).max() < 0.06


def test_a_kronecker_covariance_is_found_to_the_last_digit():
    rng = np.random.default_rng(0)
    factors = []
    for size in (2, 3, 4):
        A = rng.normal(size=(size, size))
        A = A @ A.T + np.eye(size)
        factors.append(A / np.trace(A) * size)
    product = np.kron(np.kron(factors[0], factors[1]), factors[2])
    found = kronecker_product(7.0 * product, (2, 3, 4), [0.0, 0.0, 0.0])
    np.testing.assert_allclose(found, product, atol=1e-10)


def test_neighbours_along_modes_fill_gaps_better_than_a_vector_can():
    """60 samples of 12 x 10 show a Kronecker covariance, but not one of 120 x 120."""
    rng = np.random.default_rng(0)
    smooth = [0.9 ** np.abs(np.subtract.outer(np.arange(s), np.arange(s))) for s in (12, 10)]
    roots = [np.linalg.cholesky(A) for A in smooth]
    X = np.einsum("ij,njk,lk->nil", roots[0], rng.normal(size=(100, 12, 10)), roots[1])
    holes = with_gaps(X, 0.3)

    def error(samples):
        flat = samples.reshape(100, -1)
        filled = completed(flat[60:], *learned_completion(samples[:60]))
        gaps = np.isnan(flat[60:])
        return np.sqrt(np.mean((filled - X.reshape(100, -1)[60:])[gaps] ** 2))

    assert error(holes) < 0.75 * error(holes.reshape(100, -1)) < 0.75


def test_units_and_the_order_of_samples_do_not_matter():
    X, _, _ = planted(n=80)
    holes = with_gaps(X, 0.3)
    scale, shift = np.array([1e-6, 1.0, 1e6, 3.0, 1e3]), np.array([0.0, 5.0, 1e6, -1.0, 10.0])
    plain = completed(holes, *learned_completion(holes))
    scaled = completed(holes * scale + shift, *learned_completion(holes * scale + shift))
    np.testing.assert_allclose((scaled - shift) / scale, plain, atol=1e-6)
    turned = completed(holes, *learned_completion(holes[::-1]))
    np.testing.assert_allclose(turned, plain, atol=1e-10)


def test_a_weight_of_zero_is_not_there():
    X, _, _ = planted(n=60)
    holes = with_gaps(X, 0.3)
    weight = np.r_[np.ones(40), np.zeros(20)]
    for one, other in zip(
        learned_completion(holes, weight), learned_completion(holes[:40]), strict=True
    ):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("common", [0.0, 1.0, 30.0])
@pytest.mark.parametrize("holes", [0.0, 0.2])
def test_gaps_are_filled_as_well_as_by_the_shrinkage_of_ledoit_and_wolf(common, holes):
    """From few samples, whole or with gaps: what numbers have in common is none, some or all."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 15)) + common * rng.normal(size=(240, 2)) @ rng.normal(size=(2, 15))
    training, asked = X[:40], with_gaps(X[40:], 0.4)
    rival = LedoitWolf().fit(training)
    expected = completed(asked, rival.location_, rival.precision_)
    found = GaussianImputer().fit(with_gaps(training, holes)).transform(asked)
    error, least = (np.mean((filled - X[40:]) ** 2) for filled in (found, expected))
    assert error < 1.15 * least


def test_modes_of_size_one_are_as_if_not_there():
    holes = with_gaps(np.random.default_rng(0).normal(size=(30, 5)), 0.2)
    found = GaussianImputer().fit(holes.reshape(30, 1, 5))
    np.testing.assert_allclose(found.precision_, GaussianImputer().fit(holes).precision_, rtol=1e-9)


def test_numbers_that_never_vary_are_completed_by_themselves():
    holes = with_gaps(np.full((12, 2, 3), 7.0), 0.3)
    for samples in (holes, np.full((8, 2, 3), 7.0), np.full((13, 2, 3), 0.1)):
        value = np.nanmax(samples)
        for weight in (None, np.random.default_rng(0).random(len(samples))):
            imputer = GaussianImputer().fit(samples, sample_weight=weight)
            np.testing.assert_array_equal(imputer.mean_, value)
            found = imputer.transform(with_gaps(np.full((5, 2, 3), value), 0.3))
            np.testing.assert_allclose(found, value, rtol=1e-9)


@pytest.mark.parametrize("unit", [1e-130, 1e130])
def test_no_unit_is_too_small_or_too_large_for_completing(unit):
    rng = np.random.default_rng(0)
    holes = with_gaps(rng.normal(size=(40, 4)) + rng.normal(size=(40, 1)), 0.2)
    scaled = GaussianImputer().fit_transform(unit * holes)
    np.testing.assert_allclose(scaled / unit, GaussianImputer().fit_transform(holes), atol=1e-8)


def test_numbers_whose_squares_are_none_are_refused_or_never_vary():
    rng = np.random.default_rng(0)
    holes = with_gaps(rng.normal(size=(40, 4)) + rng.normal(size=(40, 1)), 0.2)
    large, small = holes.copy(), holes.copy()
    large[:, 2] *= 1e150
    with pytest.raises(ValueError, match="too large for float64"):
        GaussianImputer().fit(large)
    small[:, 2] *= 1e-150  # beside the others it is a constant
    constant = np.where(np.arange(4) == 2, 0.0 * holes, holes)
    found, expected = (GaussianImputer().fit_transform(X) for X in (small, constant))
    np.testing.assert_allclose(found[:, [0, 1, 3]], expected[:, [0, 1, 3]], atol=1e-6)
    assert np.abs(found[:, 2]).max() < 1e-149


# ── The step ────────────────────────────────────────────────────────────────────────────────────


def test_flat_rows_with_a_shape_are_completed_as_tensors_are(digits):
    holes = with_gaps(digits[0][:60, :4, 3:6], 0.3)
    flat = GaussianImputer(sample_shape=(4, 3)).fit_transform(holes.reshape(60, -1))
    np.testing.assert_array_equal(flat, GaussianImputer().fit_transform(holes).reshape(60, -1))


def test_what_is_known_stays_and_masks_are_gaps(digits):
    X = digits[0][:60, :4, 3:6]
    holes = with_gaps(X, 0.2)
    imputer = GaussianImputer().fit(holes)
    found = imputer.transform(holes)
    np.testing.assert_array_equal(found[~np.isnan(holes)], holes[~np.isnan(holes)])
    assert np.isfinite(found).all()
    masked = np.ma.masked_array(X.astype(int), mask=np.isnan(holes))
    np.testing.assert_array_equal(GaussianImputer().fit_transform(masked), found)
    np.testing.assert_array_equal(imputer.transform(X), X)  # whole samples as they are, to the bit


def test_completing_beats_filling_with_means(digits):
    X, y = digits
    holes = with_gaps(X, 0.5)
    filled = np.where(np.isnan(holes), np.nanmean(holes[:160], axis=0), holes)
    bank = ClassSpecificClassifier(CSDA(ridge=0.01))  # a chosen ridge suppresses what was filled in
    model = make_pipeline(GaussianImputer(), bank).fit(holes[:160], y[:160])
    ours = mean_average_precision(model, holes[160:], y[160:])
    means = mean_average_precision(bank.fit(filled[:160], y[:160]), filled[160:], y[160:])
    assert ours > means + 0.02


# ── Bad input ───────────────────────────────────────────────────────────────────────────────────


def every_estimator():
    for Method in ALL_METHODS:
        yield Method(**({"positive": 3} if hasattr(Method, "positive") else {}))
    yield ClassSpecificClassifier(MCSDA(ranks=(4, 4)))
    yield ClassSpecificVerifier(CSDA(ranks=4, positive=3), false_accept_rate=0.2)
    yield ProbabilisticLDA()


def test_whoever_takes_no_gaps_names_who_does(digits):
    X, y = digits
    holes = with_gaps(X, 0.2)
    for estimator in every_estimator():
        for samples in (holes, np.ma.masked_invalid(holes), StoredSamples.of(holes)):
            with pytest.raises(ValueError, match="GaussianImputer"):
                estimator.fit(samples, y)


@pytest.fixture
def small():
    return np.random.default_rng(0).normal(size=(30, 3, 2))


def test_samples_without_any_number_are_named(small):
    imputer = GaussianImputer().fit(small)
    small[[4, 7]] = np.nan
    for use in (GaussianImputer().fit, imputer.transform):
        with pytest.raises(ValueError, match=r"2 samples have no number at all.*rows 4, 7"):
            use(small)


def test_a_number_that_no_sample_with_weight_has_is_named(small):
    small[1:, 2, 1] = np.nan
    GaussianImputer().fit(small)
    weight = np.r_[0.0, np.ones(29)]
    with pytest.raises(ValueError, match=r"1 of 6 numbers .* every sample, the first at \(2, 1\)"):
        GaussianImputer().fit(small, sample_weight=weight)


def test_infinity_is_no_gap(small):
    small[0, 0, 0] = np.inf
    imputer = GaussianImputer().fit(small[1:])
    for samples in (small, StoredSamples.of(small)):
        with pytest.raises(ValueError, match="infinity"):
            np.asarray(imputer.transform(samples))


def test_tables_that_do_not_fit_into_memory_are_refused(small, allow):
    allow(8 * 6**2)
    with pytest.raises(ValueError, match=r"more than the budget.*fit on some of the samples"):
        GaussianImputer().fit(small)
