"""Laws of ProbabilisticLDA among others: search, metrics, comparison, calibration."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.linear_model import RidgeClassifier
from sklearn.metrics import average_precision_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from tenfold import (
    CMDA,
    CSDA,
    MCSDA,
    MPCA,
    ClassSpecificClassifier,
    ModeScaler,
    ProbabilisticLDA,
    RankSearchCV,
    compare,
    mean_average_precision,
)
from tenfold.decisions.metrics import evaluate
from tenfold.decisions.scores import class_scores, scores_and_decisions
from tenfold.plots import ReliabilityDisplay
from tenfold.selection.comparison import Comparison, MethodFigures, name_of, rivals

X, Y = load_digits().images[:600], load_digits().target[:600]
TRAIN, TEST = slice(0, 300), slice(300, 600)


@pytest.fixture(scope="module")
def model():
    return ProbabilisticLDA().fit(X[TRAIN], Y[TRAIN])


# ── Search ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("scoring", [None, "neg_log_loss", mean_average_precision])
def test_a_search_gives_what_scikit_learns_gives(scoring):
    weight = np.random.default_rng(0).integers(1, 4, 300).astype(float)
    estimator, cv = ProbabilisticLDA(MPCA()), StratifiedKFold(2)
    ranks, shrinkages = ([(2, 2), (4, 3)], ["auto", 0.3]) if scoring is None else ([(2, 2)], [0.3])
    search = RankSearchCV(estimator, ranks=ranks, shrinkage=shrinkages, cv=cv, scoring=scoring).fit(
        X[TRAIN], Y[TRAIN]
    )
    grid = {"projector__ranks": ranks, "shrinkage": shrinkages}
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


def test_columns_of_scores_are_a_decision_and_probabilities(model):
    columns = scores_and_decisions(model, X[TEST])
    assert list(columns) == ["decision", *(f"probability {c}" for c in range(10))]
    assert_array_equal(columns["decision"], model.predict(X[TEST]))
    assert_array_equal(columns["probability 3"], model.predict_proba(X[TEST])[:, 3])


# ── Calibration ─────────────────────────────────────────────────────────────────────────────────


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
    found = compare(methods, X[TRAIN], Y[TRAIN], cv=2, positive=positive)
    by_name = {one.method: one for one in found.methods}
    assert by_name.keys() >= {"CMDA", "RidgeClassifier", "LinearSVC", "NearestCentroid"}
    assert by_name["RidgeClassifier"].ranks == ()
    assert by_name["LinearDiscriminantAnalysis"].average_precision > 0.9
    assert by_name["ProbabilisticLDA"].average_precision > 0.9
    assert (by_name["LinearSVC"].accuracy is None) == (positive is not None)
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


def test_figures_of_compare_are_those_of_scikit_learns_folds():
    """NearestCentroid decides by distances, and its scores are something else."""
    rng = np.random.default_rng(3)
    y = np.arange(120) % 3
    wide = np.array([1.0, 30.0])  # the second number tells nothing, and is large
    samples = (rng.normal(size=(120, 2)) + np.array([[0, 0], [2, 0], [4, 0]])[y]) * wide
    folds = list(StratifiedKFold(4, shuffle=True, random_state=0).split(samples, y))
    methods = [ProbabilisticLDA(), ClassSpecificClassifier(CSDA(ranks=1)), *rivals(2)]
    found = {one.method: one for one in compare(methods, samples, y, cv=4).methods}
    for method in methods:
        one, each = found[name_of(method)], cross_val_score(method, samples, y, cv=folds)
        assert one.accuracy == pytest.approx(each.mean())
        assert one.accuracy_by_fold == pytest.approx(each)
    for method in methods[:2]:
        each = cross_val_score(method, samples, y, cv=folds, scoring=mean_average_precision)
        one = found[name_of(method)]
        assert one.precision_by_fold == pytest.approx(each)
    centroids = NearestCentroid().fit(samples, y)
    by_scores = centroids.classes_[centroids.decision_function(samples).argmax(axis=1)]
    assert (by_scores != centroids.predict(samples)).mean() > 0.2  # the oracle can tell


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize(
    "model",
    [
        ProbabilisticLDA(),
        ClassSpecificClassifier(CSDA(ranks=3)),
        ClassSpecificClassifier(CSDA(ranks=3), normalise=False),
        make_pipeline(ModeScaler((), per_sample=False), ClassSpecificClassifier(CSDA(ranks=3))),
    ],
)
def test_a_mean_average_precision_is_one_number_everywhere(model, classes):
    rows = np.isin(Y, range(classes))
    model = clone(model).fit(X[rows][::2], Y[rows][::2])
    held_out = X[rows][1::2], Y[rows][1::2]
    expected = evaluate(model, *held_out).average_precision
    assert mean_average_precision(model, *held_out) == pytest.approx(expected, abs=1e-12)


def figures(method, precisions, seconds=1.0):
    accuracies = tuple(precisions)
    middle = float(np.mean(precisions))
    return MethodFigures(
        method, (), middle, 0.0, middle, middle, True, seconds, tuple(precisions), accuracies
    )


def test_advice_follows_from_the_error_over_folds_and_never_from_time():
    good, also, poor = [0.95, 0.90, 0.93], [0.94, 0.91, 0.92], [0.55, 0.49, 0.52]
    for seconds in ([1, 2, 3], [3, 2, 1], [2, 9, 0.1]):
        rows = list(map(figures, ("good", "also", "poor"), (good, also, poor), seconds))
        found = Comparison(rows, 300, 3, 3, (2,), None, 1 / 2)
        assert [one.method for one in found.best_methods] == ["good", "also"]
        assert found.advice.startswith("No clear winner: good has the highest")
        found = Comparison([rows[0], rows[2]], 300, 3, 3, (2,), None, 1 / 2)
        assert [one.method for one in found.best_methods] == ["good"]
        assert found.advice.startswith("Take good: average precision 92.7 %")


def test_clearly_better_is_the_corrected_t_test_of_paired_differences():
    """Of Nadeau and Bengio (2003), with k - 1 training folds for each test fold."""
    rng = np.random.default_rng(0)
    verdicts = set()
    for _ in range(200):
        first, second = rng.uniform(0.3, 0.7, (2, 5)) + np.array([[0.2 * rng.random()], [0]])
        d = first - second
        statistic = d.mean() / np.sqrt((1 / 5 + 1 / 4) * d.var(ddof=1))
        clear = 2 * stats.t.sf(abs(statistic), df=4) < 0.05
        found = Comparison(
            [figures("a", first), figures("b", second)], 10**6, 3, 5, (2,), None, 1 / 4
        )
        assert (len(found.best_methods) == 1) == clear
        verdicts.add(bool(clear))
    assert verdicts == {True, False}


def test_units_of_columns_and_sensors_do_not_matter():
    """As right as where all have one unit, and in a stream the same."""
    rng = np.random.default_rng(0)
    y = np.arange(480) % 6
    samples = 0.7 * rng.normal(size=(6, 5, 4))[y] + rng.normal(size=(480, 5, 4))
    units = np.array([1e-3, 30, 1, 1e3, 0.1])[:, None]
    for flat, unit in ((False, units), (True, (units * np.ones(4)).ravel())):
        S = samples.reshape(480, -1) if flat else samples
        right = ProbabilisticLDA().fit(S[:120], y[:120]).score(S[120:], y[120:])
        model = ProbabilisticLDA().fit(S[:120] * unit, y[:120])
        assert model.score(S[120:] * unit, y[120:]) == pytest.approx(right, abs=0.03)
        parts = ProbabilisticLDA()
        for part in (slice(0, 50), slice(50, 60), slice(60, 120)):
            parts.partial_fit(S[part] * unit, y[part], classes=np.arange(6))
        expected = model.predict_proba(S[120:] * unit)
        assert_allclose(parts.predict_proba(S[120:] * unit), expected, atol=1e-8)
        assert right > 0.85
