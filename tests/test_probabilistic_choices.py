"""Laws of ProbabilisticLDA among others: search, metrics, comparison, calibration."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.linear_model import RidgeClassifier
from sklearn.metrics import average_precision_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import LinearSVC

from tenfold import (
    CMDA,
    MCSDA,
    MPCA,
    ClassSpecificClassifier,
    ProbabilisticLDA,
    RankSearchCV,
    compare,
    mean_average_precision,
)
from tenfold.decisions.calibration import reliability
from tenfold.decisions.members import answer_of, members_of, names_classes
from tenfold.decisions.metrics import evaluate
from tenfold.decisions.scores import class_scores, scores_and_decisions
from tenfold.plots import ReliabilityDisplay
from tenfold.selection.comparison import rivals

X, Y = load_digits().images[:600], load_digits().target[:600]
TRAIN, TEST = slice(0, 300), slice(300, 600)


@pytest.fixture(scope="module")
def model():
    return ProbabilisticLDA().fit(X[TRAIN], Y[TRAIN])


# ── Search ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("scoring", [None, "neg_log_loss", mean_average_precision])
def test_a_search_gives_what_scikit_learns_gives(scoring):
    weight = np.random.default_rng(0).integers(1, 4, 300).astype(float)
    estimator, cv = ProbabilisticLDA(MPCA()), StratifiedKFold(3)
    search = RankSearchCV(
        estimator, ranks=[(2, 2), (5, 4)], shrinkage=["auto", 0.3], cv=cv, scoring=scoring
    ).fit(X[TRAIN], Y[TRAIN])
    grid = {"projector__ranks": [(2, 2), (5, 4)], "shrinkage": ["auto", 0.3]}
    expected = GridSearchCV(estimator, grid, cv=cv, scoring=scoring).fit(X[TRAIN], Y[TRAIN])
    assert search.cv_results_["params"] == expected.cv_results_["params"]
    for name in ("mean_test_score", "split1_test_score"):
        assert_allclose(search.cv_results_[name], expected.cv_results_[name], rtol=1e-9)
    assert search.best_params_ == expected.best_params_
    found = search.predict_log_proba(X[TEST])
    assert_allclose(found, expected.predict_log_proba(X[TEST]), atol=1e-9)
    assert_array_equal(search.classes_, np.arange(10))
    search.fit(X[TRAIN], Y[TRAIN], sample_weight=weight)
    assert search.best_estimator_.class_count_.sum() == weight.sum()


def test_a_search_over_shrinkage_alone():
    search = RankSearchCV(ProbabilisticLDA(), ranks=None, shrinkage=[0.01, 0.3], cv=3)
    assert search.fit(X[TRAIN], Y[TRAIN]).best_params_.keys() == {"shrinkage"}
    with pytest.raises(ValueError, match="no parameter 'projector__ranks'"):
        RankSearchCV(ProbabilisticLDA(), ranks=[2, 3]).fit(X, Y)


# ── Metrics ─────────────────────────────────────────────────────────────────────────────────────


def test_a_closed_set_is_ranked_by_probabilities(model):
    found = class_scores(model, X[TEST], Y[TEST])
    logarithms = model.predict_log_proba(X[TEST])
    for c, one in enumerate(found):
        assert one.label == c
        assert_array_equal(one.scores, logarithms[:, c])
    expected = np.mean([average_precision_score(Y[TEST] == c, logarithms[:, c]) for c in range(10)])
    assert mean_average_precision(model, X[TEST], Y[TEST]) == pytest.approx(expected)
    figures = evaluate(model, X[TEST], Y[TEST])
    assert figures.average_precision == pytest.approx(expected)
    assert figures.accuracy == model.score(X[TEST], Y[TEST])
    assert_array_equal(figures.decisions, model.predict(X[TEST]))
    assert figures.as_dict()["calibration_error"] == figures.reliability.error


def test_a_class_that_cannot_be_is_measured_like_others():
    model = ProbabilisticLDA(priors=[0] + [1 / 9] * 9).fit(X[TRAIN], Y[TRAIN])
    assert 0 < evaluate(model, X[TEST], Y[TEST]).average_precision < 1
    assert 0 < mean_average_precision(model, X[TEST], Y[TEST]) < 1


def test_columns_of_scores_are_a_decision_and_probabilities(model):
    columns = scores_and_decisions(model, X[TEST])
    assert list(columns) == ["decision", *(f"probability {c}" for c in range(10))]
    assert_array_equal(columns["decision"], model.predict(X[TEST]))
    assert_array_equal(columns["probability 3"], model.predict_proba(X[TEST])[:, 3])


def test_what_is_inside(model):
    assert answer_of(model) == "probability"
    assert names_classes(model)
    assert names_classes(ClassSpecificClassifier(MCSDA()))
    assert not names_classes(MCSDA())
    assert members_of(model) == []
    ((label, projector),) = members_of(ProbabilisticLDA(MPCA(ranks=3)).fit(X, Y))
    assert label is None
    assert projector.ranks_ == (3, 3)


# ── Calibration ─────────────────────────────────────────────────────────────────────────────────


def test_the_calibration_error_is_the_mean_gap():
    rng = np.random.default_rng(0)
    sure = rng.uniform(0, 1, 500)
    right = rng.uniform(0, 1, 500) < sure**2
    expected = sum(
        abs(sure[own].mean() - right[own].mean()) * own.mean()
        for own in ((sure >= k / 10) & (sure < (k + 1) / 10) for k in range(10))
    )
    assert reliability(sure, right).error == pytest.approx(expected)
    assert reliability(np.ones(3), np.ones(3, dtype=bool)).error == 0
    assert reliability(sure, right, n_bins=4).counts.sum() == 500


def test_the_display_draws_every_bin(model):
    display = ReliabilityDisplay.from_estimator(model, X[TEST], Y[TEST].astype(str), n_bins=5)
    found = evaluate(model, X[TEST], Y[TEST]).reliability
    assert display.reliability.error == pytest.approx(found.error, abs=0.02)
    assert_array_equal(display.line_.get_xdata(), display.reliability.confidence)
    assert f"{display.reliability.error:.3f}" in display.ax_.get_title()
    with pytest.raises(TypeError, match="gives no probabilities"):
        ReliabilityDisplay.from_estimator(ClassSpecificClassifier(MCSDA()), X, Y)


# ── Comparison ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("positive", [None, 3])
def test_classifiers_of_scikit_learn_stand_beside_methods(positive):
    methods = [ProbabilisticLDA(), ProbabilisticLDA(MPCA(ranks=4)), CMDA((4, 4)), *rivals(64)]
    found = compare(methods, X, Y, cv=3, positive=positive)
    by_name = {one.method: one for one in found.methods}
    assert by_name.keys() >= {"CMDA", "RidgeClassifier", "LinearSVC", "NearestCentroid"}
    assert by_name["RidgeClassifier"].ranks == ()
    assert by_name["LinearDiscriminantAnalysis"].average_precision > 0.9
    assert by_name["ProbabilisticLDA"].average_precision > 0.9
    assert (by_name["LinearSVC"].accuracy is None) == (positive is not None)
    assert found.advice.startswith("Take ")
    assert str(found).endswith(found.advice)


@pytest.mark.parametrize("n", [50, 200])  # fewer samples than the 64 numbers of each, and more
@pytest.mark.parametrize("rival", [RidgeClassifier(), LinearSVC(random_state=0, C=1e-3)])
def test_figures_of_a_rival_are_those_of_flat_samples(rival, n):
    found = compare([rival], X[:n], Y[:n], cv=2).methods[0]
    flat, y, precisions, accuracies = X[:n].reshape(n, -1), Y[:n], [], []
    for a, b in StratifiedKFold(2, shuffle=True, random_state=0).split(flat, y):
        model = clone(rival).fit(flat[a], y[a])
        scores, right = model.decision_function(flat[b]), y[b][:, None] == model.classes_
        precisions.append(average_precision_score(right, scores))
        accuracies.append(model.score(flat[b], y[b]))
    assert found.accuracy == pytest.approx(np.mean(accuracies))
    assert found.average_precision == pytest.approx(np.mean(precisions))


def test_advice_takes_the_fastest_of_equals():
    found = compare([ProbabilisticLDA(), ProbabilisticLDA(shrinkage=0.3)], X, Y, cv=2)
    fast, slow = sorted(found.methods, key=lambda one: one.seconds)
    if slow is found.methods[0] and abs(slow.average_precision - fast.average_precision) < 0.005:
        assert "as good as" in found.advice


def test_linear_discriminant_analysis_is_left_out_where_it_takes_minutes():
    assert len(rivals(64)) == len(rivals(7040)) + 1
