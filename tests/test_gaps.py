"""Samples with gaps: what completes them is right, and every estimator takes them if asked to."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.utils.estimator_checks import check_estimator

import tenfold
from reference import with_gaps
from tenfold import (
    CSDA,
    MCSDA,
    MPCA,
    ClassSpecificClassifier,
    ClassSpecificVerifier,
    ProbabilisticLDA,
    RankSearchCV,
    mean_average_precision,
)
from tenfold.files.onnx_export import to_onnx
from tenfold.mathematics.completion import (
    Gaussian,
    completed,
    kronecker_product,
    learned_completion,
    patterns,
    round_of,
)
from tenfold.mathematics.stores import StoredSamples
from tenfold.methods import ALL_METHODS, KERNEL_METHODS


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


def test_a_weight_of_zero_is_not_there_and_samples_with_equal_gaps_are_solved_together():
    X, _, _ = planted(n=60)
    holes = with_gaps(X, 0.3)
    weight = np.r_[np.ones(40), np.zeros(20)]
    for one, other in zip(
        learned_completion(holes, weight), learned_completion(holes[:40]), strict=True
    ):
        np.testing.assert_array_equal(one, other)
    known = np.array([[1, 0, 1], [1, 1, 1], [1, 0, 1], [0, 1, 1]], dtype=bool)
    found = {tuple(p.rows.tolist()): p.gaps.tolist() for p in patterns(known)}
    assert found == {(0, 2): [1], (3,): [0]}


# ── The estimators ──────────────────────────────────────────────────────────────────────────────


def every_estimator(**settings):
    for Method in (*ALL_METHODS, *KERNEL_METHODS):
        extra = {"positive": 3} if hasattr(Method, "positive") else {}
        yield Method(**extra, **settings)
    yield ClassSpecificClassifier(MCSDA(ranks=(4, 4), **settings))
    yield ClassSpecificVerifier(CSDA(ranks=4, positive=3, **settings), false_accept_rate=0.2)
    yield ProbabilisticLDA(**settings)
    yield ProbabilisticLDA(MPCA(ranks=(4, 4)), **settings)


def answer(model, X):
    found = model.transform(X) if hasattr(model, "transform") else model.decision_function(X)
    return np.asarray(found)


names = [f"{type(e).__name__}-{i}" for i, e in enumerate(every_estimator())]


@pytest.fixture(scope="module")
def once():
    """Gaps are completed in the same way for all methods; here that is learned once."""
    with pytest.MonkeyPatch.context() as patch:
        from tenfold.validation import adjustments

        known = {}

        def kept(X, weight=None):
            key = X.tobytes()
            if key not in known:
                known[key] = learned_completion(X, weight)
            return known[key]

        patch.setattr(adjustments, "learned_completion", kept)
        yield


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("i", range(len(names)), ids=names)
def test_every_estimator_takes_gaps_if_asked_to(i, digits, once, tmp_path):
    X, y = digits
    holes = with_gaps(X, 0.2)
    refusing = list(every_estimator())[i]
    with pytest.raises(ValueError, match=r"(?s)NaN.*missing='complete'"):
        refusing.fit(holes, y)
    model = list(every_estimator(missing="complete"))[i].fit(holes[:200], y[:200])
    found = answer(model, holes[200:])
    assert np.isfinite(found).all()
    filled = completed(holes, model.completion_mean_, model.completion_precision_)
    plain = clone(refusing).fit(filled[:200], y[:200])
    np.testing.assert_allclose(found, answer(plain, filled[200:]), rtol=1e-8, atol=1e-10)
    masked = np.ma.masked_invalid(holes[200:])
    np.testing.assert_array_equal(answer(model, masked), found)
    path = tmp_path / "model.safetensors"
    model.save(path)
    np.testing.assert_array_equal(answer(tenfold.load(path), holes[200:]), found)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("i", range(len(names)), ids=names)
def test_without_gaps_the_model_is_that_of_today(i, digits, once):
    X, y = digits
    plain = list(every_estimator())[i].fit(X[:200], y[:200])
    asked = list(every_estimator(missing="complete"))[i].fit(X[:200], y[:200])
    np.testing.assert_array_equal(answer(plain, X[200:]), answer(asked, X[200:]))


def test_completing_beats_filling_with_means(digits):
    X, y = digits
    holes = with_gaps(X, 0.5)
    filled = np.where(np.isnan(holes), np.nanmean(holes[:160], axis=0), holes)
    bank = ClassSpecificClassifier(CSDA(missing="complete"))
    ours = mean_average_precision(bank.fit(holes[:160], y[:160]), holes[160:], y[160:])
    means = mean_average_precision(bank.fit(filled[:160], y[:160]), filled[160:], y[160:])
    assert ours > means + 0.02


def test_rows_of_a_table_and_rank_searches_may_have_gaps():
    pd = pytest.importorskip("pandas")
    X, y = load_iris(return_X_y=True)
    table = pd.DataFrame(with_gaps(X, 0.1), columns=list("abcd"))
    model = ProbabilisticLDA(missing="complete").fit(table, y)
    assert model.score(table, y) > 0.9
    bank = ClassSpecificClassifier(CSDA(missing="complete"))
    search = RankSearchCV(bank, [1, 2], cv=3).fit(table, y)
    assert search.predict(table).shape == (150,)
    assert hasattr(search.best_estimator_, "completion_mean_")


def test_float32_stays_and_a_later_fit_forgets_the_gaps(digits):
    X, _ = digits
    holes = with_gaps(X, 0.1).astype(np.float32)
    model = MPCA(ranks=(2, 2), missing="complete").fit(holes)
    assert model.transform(holes).dtype == np.float32
    model.set_params(missing="error").fit(X)
    assert not hasattr(model, "completion_mean_")
    with pytest.raises(ValueError, match="missing='complete'"):
        model.transform(holes)


# ── Bad input ───────────────────────────────────────────────────────────────────────────────────


def test_a_number_that_one_class_never_has_is_inferred_from_the_others():
    """All entries of a feature missing in a class: the mean there follows from what is known."""
    rng = np.random.default_rng(0)
    level = rng.normal(size=120)
    X = level[:, None] + 0.1 * rng.normal(size=(120, 4))
    y = (np.arange(120) % 3).astype(int)
    X[y == 2] += 3.0
    holes = X.copy()
    holes[y == 2, 1] = np.nan
    model = CSDA(ranks=2, positive=2, missing="complete").fit(holes, y)
    assert abs(model.mean_[1] - X[y == 2, 1].mean()) < 0.3


@pytest.fixture
def small():
    X = np.random.default_rng(0).normal(size=(30, 3, 2))
    return X, np.arange(30) % 3


def test_a_class_that_is_only_gaps_is_named(small):
    X, y = small
    X[y == 1] = np.nan
    with pytest.raises(ValueError, match=r"class 1 is only gaps.*leave the class out"):
        ProbabilisticLDA(missing="complete").fit(X, y)


def test_samples_without_any_number_are_named(small):
    X, y = small
    model = MPCA(ranks=1, missing="complete").fit(X)
    X[[4, 7]] = np.nan
    with pytest.raises(ValueError, match=r"2 samples have no number at all.*rows 4, 7"):
        ProbabilisticLDA(missing="complete").fit(X, y)
    with pytest.raises(ValueError, match=r"2 samples have no number at all.*leave them out"):
        model.transform(X)


def test_a_number_that_no_sample_has_is_named(small):
    X, y = small
    X[:, 2, 1] = np.nan
    with pytest.raises(ValueError, match=r"1 of 6 numbers .* every sample, the first at \(2, 1\)"):
        ProbabilisticLDA(missing="complete").fit(X, y)


def test_infinity_is_no_gap(small):
    X, y = small
    X[0, 0, 0] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        ProbabilisticLDA(missing="complete").fit(X, y)


def test_how_gaps_are_completed_is_not_learned_from_parts(small):
    X, y = small
    model = MPCA(ranks=(2, 1), missing="complete").partial_fit(X[:20]).partial_fit(X[20:])
    np.testing.assert_allclose(model.transform(X), MPCA(ranks=(2, 1)).fit(X).transform(X))
    X[25, 0, 0] = np.nan
    with pytest.raises(ValueError, match=r"all samples at once; use fit"):
        MPCA(missing="complete").partial_fit(X, y)
    with pytest.raises(ValueError, match=r"has not learned how gaps are completed"):
        model.partial_fit(X)


def test_what_fit_learned_of_gaps_serves_later_batches_and_those_taken_back(small):
    X, y = small
    X[::7, 0, 0] = np.nan
    model = ProbabilisticLDA(shrinkage=0.1, missing="complete").fit(X, y)
    whole = completed(X, model.completion_mean_, model.completion_precision_)
    expected = ProbabilisticLDA(shrinkage=0.1).fit(whole[:20], y[:20]).decision_function(whole)
    model.revert(X[20:], y[20:])
    np.testing.assert_allclose(model.decision_function(X), expected, atol=1e-8)
    model.partial_fit(X[20:], y[20:])
    expected = ProbabilisticLDA(shrinkage=0.1).fit(whole, y).decision_function(whole)
    np.testing.assert_allclose(model.decision_function(X), expected, atol=1e-8)


def test_gaps_are_not_completed_in_stores_but_in_memory_maps(small, tmp_path):
    X, _ = small
    with pytest.raises(ValueError, match=r"in memory only; load them"):
        MPCA(missing="complete").fit(StoredSamples.of(X))
    X[0, 0, 0] = np.nan
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    model = MPCA(missing="complete").fit(X)
    expected = model.transform(X)
    np.testing.assert_array_equal(model.fit(mapped).transform(mapped), expected)


def test_a_model_that_saw_no_samples_cannot_complete(small):
    X, y = small
    moments = tenfold.ClassMoments.from_batch(X, y)
    model = ProbabilisticLDA(missing="complete").fit_moments(moments)
    assert np.isfinite(model.decision_function(X)).all()
    X[0, 0, 0] = np.nan
    with pytest.raises(ValueError, match=r"has not learned how gaps are completed; fit it"):
        model.decision_function(X)


def test_the_parameter_has_two_words(small):
    for model in (MPCA(missing="drop"), ProbabilisticLDA(missing="drop")):
        with pytest.raises(ValueError, match=r"missing.*'drop'.*error.*complete"):
            model.fit(*small)


def test_onnx_has_no_gaps(small, tmp_path):
    pytest.importorskip("onnx")
    X, y = small
    model = ProbabilisticLDA(missing="complete").fit(X, y)
    with pytest.raises(ValueError, match=r"completes gaps.*set_params\(missing='error'\)"):
        to_onnx(model, tmp_path / "m.onnx")
    to_onnx(model.set_params(missing="error"), tmp_path / "m.onnx")


def test_a_model_file_with_a_wrong_precision_is_refused(small, tmp_path):
    X, _ = small
    model = MPCA(ranks=1, missing="complete").fit(X)
    for wrong in (-model.completion_precision_, model.completion_precision_[:3]):
        broken = clone(model).keep(model.learned_attributes() | {"completion_precision_": wrong})
        broken.save(tmp_path / "m.safetensors")
        with pytest.raises(ValueError, match="completion_precision_"):
            tenfold.load(tmp_path / "m.safetensors")


def test_arrays_of_other_libraries_may_have_gaps_and_covariates(digits, monkeypatch):
    xp = pytest.importorskip("array_api_strict")
    X, y = digits
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    holes, Z = with_gaps(X, 0.1), np.random.default_rng(0).normal(size=(240, 2))
    model = ProbabilisticLDA(missing="complete")
    expected = model.fit(X, y, covariates=Z).decision_function(holes, covariates=Z)
    with config_context(array_api_dispatch=True):
        model.fit(xp.asarray(X), xp.asarray(y), covariates=Z)
        found = model.decision_function(xp.asarray(holes), covariates=xp.asarray(Z))
    np.testing.assert_allclose(np.asarray(found), expected, atol=1e-8)


@pytest.mark.filterwarnings("ignore")  # of scikit-learn's own samples
def test_the_common_checks_pass_where_gaps_are_completed():
    found = check_estimator(ProbabilisticLDA(missing="complete"), on_skip=None, on_fail=None)
    assert [one["check_name"] for one in found if one["status"] == "failed"] == []
    assert sum(one["status"] == "passed" for one in found) > 50


# ── Together with streams, masks and metrics ────────────────────────────────────────────────────


@pytest.mark.parametrize("rows", [slice(0, 1), slice(3, 11), slice(20, 50)])
def test_samples_with_the_same_gaps_are_taken_back_alone_or_together(rows):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 20)
    X = rng.normal(size=(60, 5, 4)) + y[:, None, None]
    X[::2, 1:3, 1:3] = np.nan
    model = ProbabilisticLDA(missing="complete").fit(X, y)
    before = model.moments_.counts.sum()
    model.revert(X[rows], y[rows])
    assert model.moments_.counts.sum() == pytest.approx(before - len(X[rows]))


def test_a_projector_does_not_learn_the_gaps_again(digits):
    X, y = with_gaps(digits[0], 0.1), digits[1]
    model = ProbabilisticLDA(MPCA(ranks=3, missing="complete"), missing="complete").fit(X, y)
    assert not hasattr(model.projector_, "completion_mean_")
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize("name", ["y", "sample_weight", "covariates"])
def test_masked_labels_weights_and_covariates_are_refused(digits, name):
    X, y = digits
    given = {"y": y, "sample_weight": np.ones(len(y)), "covariates": np.arange(len(y)) % 7.0}
    given[name] = np.ma.masked_array(given[name], mask=np.arange(len(y)) < 5)
    with pytest.raises(ValueError, match=r"masked values|NaN or infinite"):
        ProbabilisticLDA().fit(X, given.pop("y"), **given)


def test_mean_average_precision_of_a_model_with_covariates(digits):
    X, y = digits
    ages = np.random.default_rng(0).normal(size=len(y))
    model = ProbabilisticLDA().fit(X, y, covariates=ages)
    found = mean_average_precision(model, X, y, covariates=ages)
    assert 0.9 < found <= 1
    with pytest.raises(ValueError, match="covariates=Z"):
        mean_average_precision(model, X, y)
