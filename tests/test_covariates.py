"""Covariates are removed within classes, and the rest of the library does not notice."""

import numpy as np
import pytest
from sklearn.base import clone

import tenfold
from tenfold import (
    CSDA,
    MCSDA,
    MPCA,
    ClassMoments,
    ClassSpecificClassifier,
    ClassSpecificVerifier,
    ProbabilisticLDA,
)
from tenfold.files.onnx_export import to_onnx
from tenfold.mathematics.stores import StoredSamples
from tenfold.methods import ALL_METHODS, KERNEL_METHODS


def planted(n=300, seed=0):
    """Three classes of 4 x 5 samples; age and site move them as far as, and where, classes do."""
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1, 2], n // 3)
    means = 0.5 * rng.normal(size=(3, 4, 5))
    effects = 3 * (means[1:] - means[0])
    Z = np.column_stack([rng.normal(size=n) + 0.5 * y, rng.integers(2, size=n)])
    X = means[y] + np.tensordot(Z, effects, axes=1) + 0.5 * rng.normal(size=(n, 4, 5))
    order = rng.permutation(n)
    return X[order], y[order], Z[order], effects


def by_least_squares(X, y, Z, weight=None):
    """The regression of samples on covariates and a constant per class, by numpy."""
    root = np.ones(len(y)) if weight is None else np.sqrt(weight)
    design = np.column_stack([Z, np.equal.outer(y, np.unique(y))]) * root[:, None]
    found = np.linalg.lstsq(design, X.reshape(len(X), -1) * root[:, None], rcond=None)[0]
    return found[: Z.shape[1]].reshape(-1, *X.shape[1:])


def every_estimator():
    for Method in (*ALL_METHODS, *KERNEL_METHODS):
        yield Method(**({"positive": 2} if hasattr(Method, "positive") else {}))
    yield ClassSpecificClassifier(MCSDA(ranks=(2, 2)))
    yield ClassSpecificVerifier(CSDA(ranks=3, positive=2), false_accept_rate=0.4)
    yield ProbabilisticLDA(shrinkage=0.1)  # folds go by content, which rounding changes
    yield ProbabilisticLDA(MPCA(ranks=(3, 3)), shrinkage=0.1)


def answer(model, X, *covariates):
    score = model.transform if hasattr(model, "transform") else model.decision_function
    return np.asarray(score(X, *covariates))


names = [f"{type(e).__name__}-{i}" for i, e in enumerate(every_estimator())]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("i", range(len(names)), ids=names)
def test_every_estimator_is_that_of_samples_regressed_by_hand(i, tmp_path):
    X, y, Z, _ = planted()
    bare = list(every_estimator())[i]
    model = clone(bare).fit(X[:200], y[:200], covariates=Z[:200])
    if bare.__sklearn_tags__().target_tags.required:
        slopes = by_least_squares(X[:200], y[:200], Z[:200])
    else:  # a method without labels has one class
        slopes = by_least_squares(X[:200], np.zeros(200), Z[:200])
    np.testing.assert_allclose(model.covariate_slopes_, slopes, atol=1e-10)
    by_hand = X - np.tensordot(Z - Z[:200].mean(axis=0), slopes, axes=1)
    plain = clone(bare).fit(by_hand[:200], y[:200])
    found = answer(model, X[200:], Z[200:])
    np.testing.assert_allclose(found, answer(plain, by_hand[200:]), rtol=1e-7, atol=1e-8)
    model.save(tmp_path / "m.safetensors")
    loaded = tenfold.load(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(answer(loaded, X[200:], Z[200:]), found)


def test_weights_count_in_the_regression():
    X, y, Z, _ = planted()
    weight = np.random.default_rng(1).integers(3, size=len(y)).astype(float)
    model = ProbabilisticLDA().fit(X, y, weight, covariates=Z)
    expected = by_least_squares(X, y, Z, weight)
    np.testing.assert_allclose(model.covariate_slopes_, expected, atol=1e-10)


def test_a_far_offset_costs_no_digits():
    X, y, Z, _ = planted()
    near = CSDA(positive=2).fit(X, y, covariates=Z).covariate_slopes_
    far = CSDA(positive=2).fit(X + 1e7, y, covariates=Z + 1e5).covariate_slopes_
    np.testing.assert_allclose(far, near, atol=1e-6)


def test_moments_of_rows_with_their_covariates_are_enough():
    X, y, Z, _ = planted()
    rows = np.hstack([X.reshape(len(X), -1), Z])
    moments = ClassMoments.from_batch(rows[:90], y[:90]) + ClassMoments.from_batch(
        rows[90:], y[90:]
    )
    for bare in (
        MCSDA(ranks=(2, 2), positive=1, sample_shape=(4, 5)),
        MPCA(ranks=(2, 2), sample_shape=(4, 5)),
        ClassSpecificClassifier(CSDA(ranks=3, sample_shape=(4, 5))),
        ProbabilisticLDA(shrinkage=0.1),
    ):
        whole = clone(bare).fit(X.reshape(len(X), -1), y, covariates=Z)
        parts = clone(bare).fit_moments(moments, covariates=2)
        assert parts.covariate_slopes_.shape == whole.covariate_slopes_.shape
        np.testing.assert_allclose(parts.covariate_slopes_, whole.covariate_slopes_, atol=1e-8)
        flat = X.reshape(len(X), -1)
        np.testing.assert_allclose(
            np.abs(answer(parts, flat, Z)), np.abs(answer(whole, flat, Z)), atol=1e-6
        )


def test_covariates_help_where_they_move_samples():
    X, y, Z, effects = planted()
    model = ProbabilisticLDA()
    without = model.fit(X[:150], y[:150]).score(X[150:], y[150:])
    model.fit(X[:150], y[:150], covariates=Z[:150])
    found = model.score(X[150:], y[150:], covariates=Z[150:])
    assert found > without + 0.1
    assert np.abs(model.covariate_slopes_ - effects).max() < 0.4


def test_what_classes_differ_by_is_not_taken_away():
    """Only within classes: a covariate that follows the classes removes nothing of them."""
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    X = rng.normal(size=(200, 6)) + 2.0 * y[:, None]
    z = y + 0.01 * rng.normal(size=200)
    slopes = CSDA().fit(X, y, covariates=z).covariate_slopes_
    np.testing.assert_allclose(slopes, by_least_squares(X, y, z[:, None]), rtol=1e-6)
    z = 3.0 * y + rng.normal(size=200)
    model = ProbabilisticLDA().fit(X, y, covariates=z)
    assert model.score(X, y, covariates=z) > 0.95


@pytest.fixture
def data():
    return planted(n=60)[:3]


def test_all_that_scores_takes_covariates(data):
    X, y, Z = data
    model = ProbabilisticLDA().fit(X, y, covariates=Z)
    assert model.predict(X, Z).shape == (60,)
    assert model.predict_proba(X, Z).shape == (60, 3)
    assert model.set_scores(X, y, Z)[1].shape == (3, 3)
    at_home = model.recentred(X, Z).predict_proba(X, Z)
    np.testing.assert_allclose(at_home, model.predict_proba(X, Z), atol=1e-6)
    assert len(model.enrol(X[:2], [7, 7], covariates=Z[:2]).classes_) == 4
    bank = ClassSpecificClassifier(CSDA(ranks=2)).fit(X, y, covariates=Z)
    assert bank.distances(X, Z).shape == (60, 3)
    assert bank.score(X, y, covariates=Z) == np.mean(bank.predict(X, Z) == y)
    projected = MPCA(ranks=(2, 2)).fit_transform(X, covariates=Z)
    np.testing.assert_array_equal(
        projected, MPCA(ranks=(2, 2)).fit(X, covariates=Z).transform(X, Z)
    )
    verifier = ClassSpecificVerifier(CSDA(ranks=2), positive=1, false_accept_rate=0.4)
    verifier.fit(X, y, covariates=Z)
    assert verifier.similarity(X, Z).shape == (60,)
    assert verifier.score(X, y, covariates=Z) > 0.9
    assert verifier.predict(X, Z).dtype == bool


def test_gaps_are_completed_first(data):
    X, y, Z = data
    holes = X.copy()
    holes[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    model = ProbabilisticLDA(missing="complete").fit(holes, y, covariates=Z)
    assert np.isfinite(model.decision_function(holes, Z)).all()


# ── Bad input ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("covariates", "complaint"),
    [
        (np.zeros((59, 2)), r"shape \(59, 2\), but there are 60 samples"),
        (np.zeros((60, 2, 2)), r"expected \(60,\) or \(60, q\)"),
        (np.r_[np.nan, np.arange(59.0)], r"1 samples are NaN or infinite, the first in row 0"),
        (np.full(60, 3.0), r"covariate 0 .* same for all samples; leave it out"),
        (["north"] * 60, r"covariates hold .*OneHotEncoder"),
    ],
)
def test_covariates_that_cannot_be_used(data, covariates, complaint):
    X, y, _ = data
    with pytest.raises(ValueError, match=complaint):
        ProbabilisticLDA().fit(X, y, covariates=covariates)


def test_covariates_that_repeat_something_are_named(data):
    X, y, Z = data
    with pytest.raises(ValueError, match=r"covariate 2 .* does not vary within any class"):
        ProbabilisticLDA().fit(X, y, covariates=np.column_stack([Z, 2.0 * y - 1]))
    with pytest.raises(ValueError, match=r"covariate 2 .* follows from the columns before it"):
        ProbabilisticLDA().fit(X, y, covariates=np.column_stack([Z, Z @ [1.0, -2.0] + y]))


def test_covariates_come_always_or_never(data):
    X, y, Z = data
    model = ProbabilisticLDA().fit(X, y, covariates=Z)
    with pytest.raises(ValueError, match=r"fitted with 2 covariates.*pass covariates=Z"):
        model.predict(X)
    with pytest.raises(ValueError, match=r"1 covariates per sample, but .* fitted with 2"):
        model.predict(X, Z[:, 0])
    with pytest.raises(ValueError, match=r"fitted with covariates.*use fit"):
        model.partial_fit(X, y)
    with pytest.raises(ValueError, match=r"fitted with covariates.*use fit"):
        model.revert(X[:2], y[:2])
    model.fit(X, y)
    with pytest.raises(ValueError, match=r"fitted without; leave them out"):
        model.predict(X, Z)


def test_stores_files_and_graphs_say_what_they_cannot(data, tmp_path):
    X, y, Z = data
    with pytest.raises(ValueError, match=r"in memory only; load the samples"):
        CSDA(positive=1).fit(StoredSamples.of(X), y, covariates=Z)
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    model = CSDA(ranks=2, positive=1).fit(X, y, covariates=Z)
    np.testing.assert_array_equal(
        clone(model).fit(mapped, y, covariates=Z).decision_function(mapped, Z),
        model.decision_function(X, Z),
    )
    pytest.importorskip("onnx")
    with pytest.raises(ValueError, match=r"fitted with covariates, and a graph takes samples only"):
        to_onnx(model, tmp_path / "m.onnx")
    broken = clone(model).keep(model.learned_attributes() | {"covariate_means_": np.zeros(3)})
    broken.save(tmp_path / "m.safetensors")
    with pytest.raises(ValueError, match="covariate_slopes_"):
        tenfold.load(tmp_path / "m.safetensors")


@pytest.mark.parametrize("count", [0, 22, 2.0, "2"])
def test_the_number_of_covariates_in_moments_is_checked(data, count):
    X, y, Z = data
    moments = ClassMoments.from_batch(np.hstack([X.reshape(60, -1), Z]), y)
    with pytest.raises(ValueError, match=r"expected moments of flat rows \(x, z\)"):
        ProbabilisticLDA().fit_moments(moments, covariates=count)
