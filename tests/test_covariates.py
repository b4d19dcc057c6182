"""Covariates are removed within classes, from samples, rows and moments alike."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from tenfold import (
    CSDA,
    MCSDA,
    MPCA,
    ClassMoments,
    ClassSpecificClassifier,
    CovariateRemover,
    ProbabilisticLDA,
)
from tenfold.metrics import mean_average_precision


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


@pytest.mark.parametrize("labelled", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_samples_are_those_of_a_regression_within_classes(labelled, weighted):
    X, y, Z, _ = planted()
    weight = np.random.default_rng(1).integers(3, size=len(y)).astype(float) if weighted else None
    remover = CovariateRemover().fit(X, y if labelled else None, Z, weight)
    slopes = by_least_squares(X, y if labelled else 0 * y, Z, weight)  # without labels: one class
    np.testing.assert_allclose(remover.slopes_, slopes, atol=1e-10)
    by_hand = X - np.tensordot(Z - np.average(Z, axis=0, weights=weight), slopes, axes=1)
    np.testing.assert_allclose(remover.transform(X, Z), by_hand, atol=1e-9)


def test_the_model_learns_from_corrected_samples():
    """Fitting and transforming at once hands the covariates to both."""
    X, y, Z, _ = planted()
    corrected = CovariateRemover().fit_transform(X, y, covariates=Z)
    np.testing.assert_array_equal(corrected, CovariateRemover().fit(X, y, Z).transform(X, Z))
    assert np.abs(corrected - X).max() > 1
    rows = np.hstack([X.reshape(len(X), -1), Z])
    pipeline = make_pipeline(CovariateRemover(last=2), CSDA(ranks=2, positive=1)).fit(rows, y)
    model = CSDA(ranks=2, positive=1).fit(corrected.reshape(len(X), -1), y)
    np.testing.assert_allclose(pipeline[-1].mean_, model.mean_, atol=1e-10)


def test_a_far_offset_costs_no_digits():
    X, y, Z, _ = planted()
    near = CovariateRemover().fit(X, y, Z).slopes_
    far = CovariateRemover().fit(X + 1e7, y, Z + 1e5).slopes_
    np.testing.assert_allclose(far, near, atol=1e-6)


def test_rows_that_end_with_covariates_are_samples_with_covariates():
    X, y, Z, _ = planted()
    rows = np.hstack([X.reshape(len(X), -1), Z])
    beside = CovariateRemover().fit(X, y, Z)
    remover = CovariateRemover(last=2)
    found = remover.fit_transform(rows, y)
    np.testing.assert_allclose(found, beside.transform(X, Z).reshape(len(X), -1), atol=1e-10)
    assert remover.get_feature_names_out().tolist() == [f"x{i}" for i in range(20)]


def test_moments_of_rows_with_their_covariates_are_enough():
    X, y, Z, _ = planted()
    rows = np.hstack([X.reshape(len(X), -1), Z])
    moments = ClassMoments.from_batch(rows[:90], y[:90]) + ClassMoments.from_batch(
        rows[90:], y[90:]
    )
    remover = CovariateRemover(last=2).fit_moments(moments)
    whole = CovariateRemover(last=2).fit(rows, y)
    np.testing.assert_allclose(remover.slopes_, whole.slopes_, atol=1e-8)
    corrected, left = whole.transform(rows), remover.transform_moments(moments)
    np.testing.assert_allclose(left.means, ClassMoments.from_batch(corrected, y).means, atol=1e-8)
    for bare in (
        MCSDA(ranks=(2, 2), positive=1, sample_shape=(4, 5)),
        MPCA(ranks=(2, 2), sample_shape=(4, 5)),
        ClassSpecificClassifier(CSDA(ranks=3)),
    ):
        moments_of = left.pooled() if isinstance(bare, MPCA) else left
        models = clone(bare).fit_moments(moments_of), clone(bare).fit(corrected, y)
        answers = [
            m.transform(corrected) if hasattr(m, "transform") else m.decision_function(corrected)
            for m in models
        ]
        found, expected = map(np.abs, answers)
        np.testing.assert_allclose(found, expected, atol=1e-6)


def test_covariates_help_where_they_move_samples():
    X, y, Z, effects = planted()
    rows = np.hstack([X.reshape(len(X), -1), Z])
    without = ProbabilisticLDA().fit(X[:150], y[:150]).score(X[150:], y[150:])
    model = make_pipeline(CovariateRemover(last=2), ProbabilisticLDA()).fit(rows[:150], y[:150])
    assert model.score(rows[150:], y[150:]) > without + 0.1
    assert mean_average_precision(model, rows[150:], y[150:]) > 0.9
    assert np.abs(model[0].slopes_.reshape(2, 4, 5) - effects).max() < 0.4


def test_what_classes_differ_by_is_not_taken_away():
    """Only within classes: a covariate that follows the classes removes nothing of them."""
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    X = rng.normal(size=(200, 6)) + 2.0 * y[:, None]
    z = y + 0.01 * rng.normal(size=200)
    slopes = CovariateRemover().fit(X, y, z).slopes_
    np.testing.assert_allclose(slopes, by_least_squares(X, y, z[:, None]), rtol=1e-6)
    z = 3.0 * y + rng.normal(size=200)
    corrected = CovariateRemover().fit_transform(X, y, z)
    assert ProbabilisticLDA().fit(corrected, y).score(corrected, y) > 0.95


# ── Bad input ───────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def data():
    return planted(n=60)[:3]


@pytest.mark.parametrize(
    ("covariates", "complaint"),
    [
        (np.zeros((59, 2)), r"shape \(59, 2\), but there are 60 samples"),
        (np.zeros((60, 2, 2)), r"expected \(60,\) or \(60, q\)"),
        (np.r_[np.arange(59.0), np.nan], r"1 samples are NaN or infinite, the first in row 59"),
        (np.ma.masked_less(np.arange(60.0), 3), r"3 samples are NaN or infinite"),
        ([*range(59), None], r"the first in row 59; fill"),
        (3.0, r"shape \(\), but there are 60"),
        (np.arange(60).astype("M8[D]"), r"covariates hold datetime64\[D\]; expected numbers"),
        (pd.Series(["a", "b"] * 30, dtype="category"), r"covariates hold .*drop='first'"),
        (np.full(60, 3.0), r"covariate 0 .* same for all samples; leave it out"),
        (["1", "2"] * 30, r"OneHotEncoder"),
        (["north"] * 60, r"OneHotEncoder"),
    ],
)
def test_covariates_that_cannot_be_used(data, covariates, complaint):
    X, y, _ = data
    with pytest.raises(ValueError, match=complaint):
        CovariateRemover().fit(X, y, covariates)


def test_covariates_that_repeat_something_are_named(data):
    X, y, Z = data
    with pytest.raises(ValueError, match=r"covariate 2 .* does not vary within any class"):
        CovariateRemover().fit(X, y, np.column_stack([Z, 2.0 * y - 1]))
    with pytest.raises(ValueError, match=r"covariate 2 .* follows from the columns before it"):
        CovariateRemover().fit(X, y, np.column_stack([Z, Z @ [1.0, -2.0] + y]))


def test_covariates_come_always_or_never(data):
    X, y, Z = data
    remover = CovariateRemover().fit(X, y, Z)
    with pytest.raises(ValueError, match=r"fitted with 2 covariates.*pass covariates=Z"):
        remover.transform(X)
    with pytest.raises(ValueError, match=r"1 covariates per sample, but .* fitted with 2"):
        remover.transform(X, Z[:, 0])
    np.testing.assert_array_equal(remover.fit(X, y).transform(X), X)
    assert remover.transform(np.ones(X.shape, dtype=np.int8)).dtype == np.int8
    with pytest.raises(ValueError, match=r"fitted with 0 covariates"):
        remover.transform(X, Z)
    with pytest.raises(ValueError, match="pass them in one way"):
        CovariateRemover(last=1).fit(X.reshape(60, -1), y, Z)


@pytest.mark.parametrize("last", [0, 22, 2.0, "2", True])
def test_how_many_numbers_are_covariates_is_checked(data, last):
    X, y, Z = data
    rows = np.hstack([X.reshape(60, -1), Z])
    with pytest.raises(ValueError, match=r"last is "):
        CovariateRemover(last=last).fit(rows, y)
    with pytest.raises(ValueError, match=r"last is "):
        CovariateRemover(last=last).fit_moments(ClassMoments.from_batch(rows, y))
