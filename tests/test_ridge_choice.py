"""The ridge of CSDA: chosen by how well samples that are left out are predicted."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from reference import problem
from tenfold import CSDA, ClassSpecificClassifier, gather_moments, load_model
from tenfold.optimization.ridge_choice import prediction_errors

DIGITS = load_digits()


def near_interpolation(seed):
    """As many samples as numbers: where a small ridge is worst."""
    rng = np.random.default_rng(seed)
    means = rng.normal(size=(5, 100)) * 0.5
    y = np.repeat(np.arange(5), 420)
    X = means[y] + rng.normal(size=(len(y), 100))
    train = np.concatenate([np.flatnonzero(y == c)[:20] for c in range(5)])
    test = np.setdiff1d(np.arange(len(y)), train)
    return X[train], y[train], X[test], y[test]


def test_as_many_samples_as_numbers_get_a_large_ridge():
    gains = []
    for seed in range(3):
        X, y, new, labels = near_interpolation(seed)
        automatic = ClassSpecificClassifier(CSDA()).fit(X, y).score(new, labels)
        best = max(
            ClassSpecificClassifier(CSDA(ridge=ridge)).fit(X, y).score(new, labels)
            for ridge in (0.01, 0.1, 1.0, 10.0)
        )
        small = ClassSpecificClassifier(CSDA(ridge=0.01)).fit(X, y).score(new, labels)
        gains.append((automatic - small, best - automatic))
    gain, loss = np.mean(gains, axis=0)
    assert gain > 0.05
    assert loss < 0.02


@pytest.mark.parametrize(("data", "per_class"), [(load_wine, 10), (load_breast_cancer, 25)])
def test_columns_find_their_units(data, per_class):
    X, y = data(return_X_y=True)
    raw, scaled = [], []
    for seed in range(5):
        n = per_class * len(np.unique(y))
        rows = train_test_split(np.arange(len(y)), train_size=n, stratify=y, random_state=seed)
        train, test = rows
        bank = ClassSpecificClassifier(CSDA())
        raw.append(bank.fit(X[train], y[train]).score(X[test], y[test]))
        behind = make_pipeline(StandardScaler(), ClassSpecificClassifier(CSDA()))
        scaled.append(behind.fit(X[train], y[train]).score(X[test], y[test]))
    assert np.mean(raw) >= np.mean(scaled) - 0.01
    assert np.mean(raw) >= 0.92


@pytest.mark.parametrize("shape", [(60, 12), (30, 80)])
def test_the_error_is_that_of_a_ridge_regression(shape):
    """Written sample by sample: the hat matrix, its trace, the residuals of each membership."""
    n, size = shape
    rng = np.random.default_rng(0)
    codes = np.arange(n) % 3
    X = rng.normal(size=(n, size)) + rng.normal(size=(3, size))[codes]
    centred = X - X.mean(axis=0)
    members = np.eye(3)[codes]
    counts = members.sum(axis=0)
    ridges = np.array([0.3, 5.0, 100.0])
    expected = []
    for ridge in ridges:
        H = centred @ np.linalg.solve(centred.T @ centred + ridge * np.eye(size), centred.T)
        Y = members - members.mean(axis=0)
        left = ((Y - H @ Y) ** 2).sum(axis=0) / (Y**2).sum(axis=0)
        expected.append(np.log(left).mean() - 2 * np.log(1 - (1 + np.trace(H)) / n))
    found = prediction_errors(centred.T @ centred, members.T @ centred, counts, ridges)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    leave_one_out = RidgeCV(alphas=ridges, store_cv_results=True).fit(X, members)
    exact = leave_one_out.cv_results_.mean(axis=0).mean(axis=0)
    assert np.argmin(found) == np.argmin(exact)


def test_a_stream_moments_and_a_file_have_the_same_ridge(tmp_path):
    X, y = DIGITS.images[:300], DIGITS.target[:300]
    whole = CSDA(positive=3).fit(X, y)
    stream = CSDA(positive=3)
    for rows in (slice(0, 120), slice(120, 300)):
        stream.partial_fit(X[rows], y[rows], classes=np.arange(10))
    moments = CSDA(positive=3).fit_moments(gather_moments(X, y))
    assert stream.ridge_ == pytest.approx(whole.ridge_, rel=1e-6)
    assert moments.ridge_ == pytest.approx(whole.ridge_, rel=1e-6)
    whole.save(tmp_path / "model.safetensors")
    assert load_model(tmp_path / "model.safetensors").ridge_ == whole.ridge_
    bank = ClassSpecificClassifier(CSDA()).fit(X, y)
    assert {member.ridge_ for member in bank.projectors_} == {bank.projectors_[3].ridge_}
    assert bank.projectors_[3].ridge_ == pytest.approx(whole.ridge_, rel=1e-9)


@pytest.mark.parametrize("n", [60, 100])
def test_copies_and_weights_do_not_lower_the_ridge(n):
    """A copy predicts its original whatever the ridge is, so it says nothing of new samples."""
    X, y, new, labels = near_interpolation(0)
    rows = np.arange(len(y)) % 20 < n // 5
    X, y = X[rows], y[rows]
    once = ClassSpecificClassifier(CSDA()).fit(X, y)
    weighted = ClassSpecificClassifier(CSDA()).fit(X, y, sample_weight=np.full(n, 2.0))
    twice = ClassSpecificClassifier(CSDA()).fit(np.tile(X, (2, 1)), np.tile(y, 2))
    for bank in (weighted, twice):
        assert bank.projectors_[0].ridge_ == pytest.approx(once.projectors_[0].ridge_, rel=1e-6)
    assert abs(weighted.score(new, labels) - once.score(new, labels)) < 0.01
    some = np.where(np.arange(n) % 2 > 0, 2, 1)  # more samples than columns, fewer that differ
    weighted = CSDA(positive=1).fit(X, y, sample_weight=some)
    repeated = CSDA(positive=1).fit(np.repeat(X, some, axis=0), np.repeat(y, some))
    np.testing.assert_allclose(
        weighted.decision_function(new), repeated.decision_function(new), rtol=1e-6, atol=1e-6
    )


def test_the_paper_keeps_its_ridge():
    X, y = problem((5, 4), classes=3, seed=2)
    plain = CSDA(positive=1, decision="distance").fit(X, y)
    fixed = CSDA(positive=1, decision="distance", ridge=0.01).fit(X, y)
    np.testing.assert_array_equal(plain.decision_function(X), fixed.decision_function(X))
    assert plain.ridge_ == 0.01


def test_the_choice_is_smooth():
    """Samples that move a little move the ridge a little."""
    X, y = DIGITS.images[:200], DIGITS.target[:200]
    moved = X + 1e-9 * np.random.default_rng(0).normal(size=X.shape)
    first, second = (CSDA(positive=3).fit(Z, y).ridge_ for Z in (X, moved))
    assert second == pytest.approx(first, rel=1e-6)


def test_a_bank_needs_no_argument(tmp_path):
    X, y = DIGITS.images[:900], DIGITS.target[:900]
    bank = ClassSpecificClassifier().fit(X, y)
    named = ClassSpecificClassifier(CSDA()).fit(X, y)
    new = DIGITS.images[900:]
    np.testing.assert_array_equal(bank.predict(new), named.predict(new))
    bank.save(tmp_path / "bank.safetensors")
    np.testing.assert_array_equal(
        load_model(tmp_path / "bank.safetensors").predict(new), bank.predict(new)
    )
    with pytest.raises(ValueError, match="projector is 3"):
        ClassSpecificClassifier(3).fit(X, y)


@pytest.mark.parametrize("ridge", ["best", -1.0, ("absolute", "auto")])
def test_a_wrong_ridge_is_refused(ridge):
    X, y = problem((5, 4), classes=3, seed=2)
    with pytest.raises(ValueError, match=r"ridge is .*; expected a number of 0 or more"):
        CSDA(positive=1, ridge=ridge).fit(X, y)
