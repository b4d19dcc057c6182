"""Metrics and comparisons in Python: what the command line and the report print."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import calibration_curve
from sklearn.linear_model import RidgeClassifier
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    confusion_matrix,
)
from sklearn.model_selection import (
    LeaveOneGroupOut,
    StratifiedGroupKFold,
    StratifiedKFold,
    TimeSeriesSplit,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from tenfold import (
    CMDA,
    MCSDA,
    ClassSpecificClassifier,
    ClassSpecificVerifier,
    GaussianImputer,
    KernelCSDA,
    OpenSetClassifier,
    ProbabilisticLDA,
    RankSearchCV,
    compare,
)
from tenfold.metrics import (
    equal_error_rate,
    equal_error_threshold,
    evaluate,
    mean_average_precision,
    reliability,
)
from tenfold.selection.comparison import Comparison, MethodFigures

RNG = np.random.default_rng(0)
Y = np.arange(90) % 3
X = RNG.normal(size=(3, 6, 5))[Y] + RNG.normal(0, 1.5, (90, 6, 5))
MODEL = MCSDA((2, 2), tol=10.0)


def test_what_compare_cannot_rank_is_refused_in_words():
    verifier = ClassSpecificVerifier(MODEL, positive=1)
    with pytest.raises(ValueError, match="verifies the class 1, but positive is None"):
        compare(X, Y, [verifier], cv=3)
    with pytest.raises(ValueError, match="verifies the class 1, but positive is 2"):
        compare(X, Y, [verifier], cv=3, positive=2)
    with pytest.raises(ValueError, match="compare takes no OpenSetClassifier"):
        compare(X, Y, [OpenSetClassifier()], cv=3)
    with pytest.raises(ValueError, match="compare takes no RankSearchCV"):
        compare(X, Y, [RankSearchCV(MODEL, [(1, 1), (2, 2)])], cv=3)


@pytest.mark.filterwarnings("ignore::tenfold.FalseAcceptRateWarning")
def test_decisions_of_an_open_set_are_counted_whatever_its_labels_are():
    words = OpenSetClassifier(unknown="stranger", false_accept_rate=0.2).fit(X[Y < 2], Y[Y < 2])
    counts = evaluate(words, X, Y).as_dict()["confusion"]
    assert counts["labels"] == ["0", "1", "2", "stranger"]
    assert np.sum(counts["counts"]) == len(X)
    truth = OpenSetClassifier(false_accept_rate=0.2).fit(X, Y == 2)
    counts = evaluate(truth, X, Y == 2).as_dict()["confusion"]
    assert counts["labels"][:2] == ["False", "True"]
    decided = truth.predict(X)
    assert counts["counts"][1][1] == np.sum((Y == 2) & (decided == 1))
    everyone = mean_average_precision(words, X[Y < 2], Y[Y < 2])
    inside = mean_average_precision(words.model_, X[Y < 2], Y[Y < 2])
    assert everyone == pytest.approx(inside, abs=1e-12)
    with pytest.raises(TypeError, match="got covariates, which the scores of an open set do not"):
        mean_average_precision(words, X[Y < 2], Y[Y < 2], covariates=Y[Y < 2])


@pytest.mark.filterwarnings("ignore::tenfold.FalseAcceptRateWarning")
def test_a_verifier_is_evaluated_on_truth_values_as_on_labels():
    verifier = ClassSpecificVerifier(MODEL, positive=1, false_accept_rate=0.2).fit(X, Y)
    by_label = evaluate(verifier, X, Y).as_dict()
    assert evaluate(verifier, X, Y == 1).as_dict() == by_label


def test_labels_under_a_mask_are_not_evaluated():
    bank = ClassSpecificClassifier(MODEL).fit(X, Y)
    with pytest.raises(ValueError, match="y is a masked array with 30 masked values"):
        evaluate(bank, X, np.ma.array(Y, mask=Y == 2))


def test_the_class_of_a_verifier_may_be_that_of_its_projector():
    """A model whose class is said inside the verifier is scored for that class."""
    inside = MCSDA((2, 2), tol=10.0, positive=0)
    verifier = ClassSpecificVerifier(inside, false_accept_rate=0.5).fit(X, Y)
    (found,) = evaluate(verifier, X, Y).classes
    assert found.label == 0
    assert (found.is_positive == (Y == 0)).all()
    np.testing.assert_array_equal(found.scores >= found.threshold, verifier.predict(X))
    assert evaluate(verifier, X, Y).is_known.all()  # of three classes; `classes_` are its answers


def test_a_comparison_is_a_table_and_figures():
    found = compare(X, Y, [CMDA((2, 2), tol=10.0), MODEL], cv=3, random_state=5, verbose=False)
    by_name = {one.method: one for one in found.methods}
    lines = str(found).splitlines()
    assert [line.split()[0] for line in lines[2:4]] == [one.method for one in found.methods]
    right = []
    for train, test in StratifiedKFold(3, shuffle=True, random_state=5).split(X, Y):
        bank = ClassSpecificClassifier(MODEL).fit(X[train], Y[train])
        right.append(bank.score(X[test], Y[test]))
    assert by_name["MCSDA"].accuracy == pytest.approx(np.mean(right))
    assert found.as_dict()["methods"][0]["method"] == found.methods[0].method


GROUPS = np.repeat(np.arange(6), 15)


@pytest.mark.parametrize(
    ("cv", "splits"),
    [
        (LeaveOneGroupOut(), list(LeaveOneGroupOut().split(X, Y, GROUPS))),
        (TimeSeriesSplit(4), list(TimeSeriesSplit(4).split(X))),
        (9, list(StratifiedGroupKFold(6, shuffle=True, random_state=0).split(X, Y, GROUPS))),
    ],
    ids=["groups", "time", "more than there are groups"],
)
def test_a_comparison_takes_any_splitter_and_groups(cv, splits):
    groups = None if isinstance(cv, TimeSeriesSplit) else GROUPS  # which it has no use for
    found = compare(X, Y, [ProbabilisticLDA(), KernelCSDA(2)], cv=cv, groups=groups, verbose=False)
    assert found.n_folds == len(splits)
    by_name = {one.method: one for one in found.methods}
    for model in (ProbabilisticLDA(), ClassSpecificClassifier(KernelCSDA(2))):
        right = []
        for train, test in splits:
            more = {}
            if groups is not None and isinstance(model, ProbabilisticLDA):
                more["groups"] = groups[train]
            fitted = clone(model).fit(X[train], Y[train], **more)
            right.append(fitted.score(X[test], Y[test]))
        name = type(getattr(model, "projector", None) or model).__name__
        np.testing.assert_allclose(by_name[name].accuracy_by_fold, right)
    assert found.best_methods
    assert str(found)


def test_a_class_without_test_samples_does_not_count_in_that_fold():
    rows = np.arange(90)
    whole, part = (rows[:60], rows[60:]), (rows[:60], rows[60:][Y[60:] != 2])
    both = compare(X, Y, [ProbabilisticLDA()], cv=[whole, part], verbose=False).methods[0]
    scores = ProbabilisticLDA().fit(X[:60], Y[:60]).predict_log_proba(X[part[1]])
    each = [average_precision_score(Y[part[1]] == c, scores[:, c]) for c in (0, 1)]
    assert both.precision_by_fold[1] == pytest.approx(np.mean(each))
    one = compare(X, Y, [MODEL], positive=2, cv=[whole, part], verbose=False).methods[0]
    assert len(one.precision_by_fold) == 1


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"groups": np.zeros(90), "cv": 3}, "one group"),
        ({"groups": np.zeros(7)}, "groups has shape"),
        ({"cv": [(np.flatnonzero(Y == 0), np.flatnonzero(Y == 1))]}, "two classes"),
        ({"cv": [(np.flatnonzero(Y < 2), np.flatnonzero(Y == 2))]}, "no test part"),
        ({"cv": [(np.flatnonzero(Y < 2), np.arange(90))], "positive": 2}, "no samples of class 2"),
        ({"cv": []}, "no folds"),
        ({"cv": LeaveOneGroupOut()}, "'groups' parameter should not be None"),
    ],
)
def test_folds_that_say_nothing_are_refused(given, words):
    with pytest.raises(ValueError, match=words):
        compare(X, Y, [MODEL], **given, verbose=False)


def test_a_comparison_needs_samples_and_labels_only():
    found = compare(X, Y, verbose=False)
    names = {one.method for one in found.methods}
    assert {"ProbabilisticLDA", "CSDA", "SVC", "KNeighborsClassifier", "RidgeClassifier"} <= names
    assert found.n_folds == 5
    with pytest.raises(TypeError, match=r"expected samples: compare\(X, y, models\)"):
        compare([MODEL], X, Y)
    scaled = make_pipeline(StandardScaler(), SVC(C=10.0))
    right = []
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, Y):
        fitted = clone(scaled).fit(X[train].reshape(len(train), -1), Y[train])
        right.append(fitted.score(X[test].reshape(len(test), -1), Y[test]))
    (of_svc,) = (one for one in found.methods if one.method == "SVC")
    np.testing.assert_allclose(of_svc.accuracy_by_fold, right)


def test_processes_change_no_figure():
    alone = compare(X, Y, [MODEL, RidgeClassifier()], cv=2, n_jobs=1, verbose=False)
    shared = compare(X, Y, [MODEL, RidgeClassifier()], cv=2, n_jobs=2, verbose=False)
    for one, other in zip(alone.methods, shared.methods, strict=True):
        assert replace(one, seconds=0.0) == replace(other, seconds=0.0)


def test_projectors_before_a_classifier_name_a_row_and_show_their_ranks():
    models = [ProbabilisticLDA(), make_pipeline(CMDA((2, 2), tol=10.0), ProbabilisticLDA())]
    found = compare(X, Y, models, cv=2, verbose=False)
    ranks = {one.method: one.ranks for one in found.methods}
    assert ranks == {"ProbabilisticLDA": (), "CMDA + ProbabilisticLDA": (2, 2)}
    twice = compare(X, Y, [RidgeClassifier(), RidgeClassifier(alpha=9.0)], cv=2, verbose=False)
    assert {one.method for one in twice.methods} == {"RidgeClassifier", "RidgeClassifier 2"}


def test_advice_says_why_and_prefers_the_much_faster_of_equals():
    def figures(name, seconds, by_fold):
        mean = float(np.mean(by_fold))
        return MethodFigures(name, (), mean, 0.0, mean, mean, True, seconds, by_fold, by_fold)

    def advice(seconds):
        slow = figures("slow", 3.0, (0.9, 0.8, 0.91))
        fast = figures("fast", seconds, (0.8, 0.9, 0.9))
        return Comparison([slow, fast], 300, 3, 3, (4, 3), None, 0.5).advice

    why = "the differences are within their error (paired t test over 3 folds, 95 %)"
    assert why in advice(1.1)
    assert "use fast" not in advice(1.1)
    assert "use fast, which is fitted 3 times faster" in advice(1.0)


def test_the_figures_of_a_bank_by_name_are_scikit_learns():
    bank = ClassSpecificClassifier(MODEL).fit(X[:60], Y[:60])
    new, labels = X[60:], Y[60:]
    facts, decided = evaluate(bank, new, labels).as_dict(), bank.predict(new)
    assert facts["samples"] == 30
    assert facts["accuracy"] == accuracy_score(labels, decided)
    confusion = facts["confusion"]
    assert confusion["labels"] == confusion["decisions"] == ["0", "1", "2"]
    np.testing.assert_array_equal(confusion["counts"], confusion_matrix(labels, decided))
    assert [one["samples"] for one in facts["classes"]] == [10, 10, 10]
    for name in ("average_precision", "roc_auc", "equal_error_rate"):
        assert facts[name] == pytest.approx(np.mean([one[name] for one in facts["classes"]]))
    assert "threshold" not in facts
    unknown = np.where(labels == 2, 7, labels)  # a label that the model does not know is a row
    found = evaluate(bank, new, unknown)
    assert found.is_known.tolist() == (labels != 2).tolist()
    assert found.as_dict()["confusion"]["labels"] == ["0", "1", "2", "7"]
    assert found.accuracy == accuracy_score(unknown, decided)


def test_the_figures_of_a_verifier_by_name_are_counts_of_its_decisions():
    model = ClassSpecificVerifier(MODEL, positive=2, false_accept_rate=0.4).fit(X[:60], Y[:60])
    new, labels = X[60:], Y[60:]
    accepted, own = np.asarray(model.predict(new) == model.classes_[1]), labels == 2
    facts = evaluate(model, new, labels).as_dict()
    assert facts["threshold"] == model.threshold_
    assert facts["guaranteed_rate"] == model.guaranteed_rate_
    assert facts["false_accept_rate"] == pytest.approx(accepted[~own].mean())
    assert facts["false_reject_rate"] == pytest.approx(1 - accepted[own].mean())
    assert facts["confusion"] == {
        "labels": ["2", "others"],
        "decisions": ["accepted", "rejected"],
        "counts": [
            [int(accepted[own].sum()), int((~accepted[own]).sum())],
            [int(accepted[~own].sum()), int((~accepted[~own]).sum())],
        ],
    }


def test_labels_that_no_class_has_are_told_with_those_that_are_known():
    bank = ClassSpecificClassifier(MODEL).fit(X, Y)
    with pytest.raises(ValueError, match=r"the model knows 0, 1, 2 and the data hold 7"):
        evaluate(bank, X, np.full(len(X), 7)).as_dict()


@pytest.mark.parametrize("seed", range(10))
def test_equal_errors_differ_least_of_all_thresholds(seed):
    rng = np.random.default_rng(seed)
    own = rng.permutation(np.arange(20) < 7)
    scores = rng.integers(0, 9, 20) + 2.0 * own

    def shares(limit):
        return np.mean(scores[~own] >= limit), np.mean(scores[own] < limit)

    rate = equal_error_rate(own, scores)
    threshold = equal_error_threshold(own, scores)
    accepts, rejects = shares(threshold)
    assert min(accepts, rejects) <= rate <= max(accepts, rejects)
    assert threshold in scores
    gaps = [abs(np.subtract(*shares(limit))) for limit in scores]
    assert abs(accepts - rejects) == pytest.approx(min(gaps))


def test_a_class_without_a_threshold_is_measured_where_both_errors_are_equal():
    """A projector has no threshold; figures take the one of equal errors, and say so."""
    (one,) = evaluate(MCSDA((2, 2), tol=10.0, positive=1).fit(X, Y), X, Y).classes
    assert one.chosen_here
    assert one.threshold == equal_error_threshold(one.is_positive, one.scores)
    assert one.equal_error_rate == equal_error_rate(one.is_positive, one.scores)


@pytest.mark.parametrize("n_bins", [4, 10])
def test_reliability_is_scikit_learns_calibration_curve(n_bins):
    rng = np.random.default_rng(2)
    sure = np.append(rng.uniform(0.3, 1.0, 60), [1.0, 1.0, 0.99])  # some are certain
    right = rng.random(63) < sure
    found = reliability(sure, right, n_bins)
    accuracy, confidence = calibration_curve(right, sure, n_bins=n_bins)
    np.testing.assert_allclose(found.accuracy, accuracy)
    np.testing.assert_allclose(found.confidence, confidence)
    assert found.counts.sum() == 63
    one_by_one = np.repeat(np.abs(accuracy - confidence), found.counts)
    assert found.error == pytest.approx(one_by_one.mean())
    np.testing.assert_array_equal(reliability(sure, right).counts, reliability(sure, right, 10)[2])


def test_compare_takes_labels_and_samples_as_fit_takes_them():
    words = np.array(["a", "b", "c"])[Y].tolist()
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        compare(X, Y[:80], [MODEL], cv=2)
    with pytest.raises(ValueError, match="contains NaN or None"):
        compare(X, [float("nan"), *words[1:]], [MODEL], cv=2)
    with pytest.raises(ValueError, match="y is a masked array"):
        compare(X, np.ma.array(Y, mask=Y == 2), [MODEL], cv=2)
    hidden = np.ma.array(X, mask=np.abs(X) > 4)
    assert hidden.mask.any()
    with pytest.raises(ValueError, match="contains NaN"):
        compare(hidden, Y, [MODEL], cv=2, n_jobs=1)
    found = compare(hidden, Y, [make_pipeline(GaussianImputer(), MODEL)], cv=2, verbose=False)
    assert found.methods[0].accuracy > 0.5
    for models in ([], MODEL):
        with pytest.raises(TypeError, match="expected a list of models"):
            compare(X, Y, models)
    with pytest.raises(ValueError, match="positive is 9, which is not among the labels: 0, 1, 2"):
        compare(X, Y, [MODEL], positive=9)


@pytest.mark.parametrize("positive", ["a", "b"])
def test_a_verifier_of_either_of_two_words_is_as_accurate_as_it_is(positive):
    two = Y < 2
    words = np.array(["a", "b"])[Y[two]]
    verifier = ClassSpecificVerifier(MODEL, positive=positive, false_accept_rate=0.2)
    found = compare(X[two], words, [verifier], cv=2, n_jobs=1, verbose=False).methods[0]
    assert found.accuracy > 0.6
