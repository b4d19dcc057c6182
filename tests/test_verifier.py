"""Accept or reject: thresholds keep what they promise on samples that were held out."""

import warnings
from collections import Counter
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import average_precision_score
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.utils.estimator_checks import check_estimator

from reference import problem
from tenfold import CSDA, MCSDA, MPCA, ClassSpecificVerifier, RankSearchCV

X, y = problem((5, 4), classes=4, per_class=25, seed=4, spread=0.4)
LABELS = np.array(["ant", "bee", "cat", "dog"])[y]
WEIGHT = np.random.default_rng(0).uniform(0.2, 3.0, len(X))
MODEL = MCSDA(ranks=2, tol=10.0)


def verifier(**parameters):
    return ClassSpecificVerifier(MODEL, **{"positive": 1, **parameters})


def held_out_scores(X, y, positive, splits, weight=None):
    """The score of every sample by a model that has not seen it, one fit after the other."""
    scores = np.full(len(y), np.nan)
    for train, test in splits:
        own = None if weight is None else weight[train]
        model = MCSDA(ranks=2, tol=10.0, positive=positive).fit(X[train], y[train], own)
        scores[test] = model.decision_function(X[test])
    return scores


def folds_of(is_positive, n_folds=5):
    """The folds of an int: positive samples first, shuffled with seed 0."""
    used = np.concatenate([np.flatnonzero(is_positive), np.flatnonzero(~is_positive)])
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=0)
    return [(used[a], used[b]) for a, b in folds.split(used, is_positive[used])]


def false_accepts(scores, is_positive, threshold, weight=None):
    weight = np.ones(len(scores)) if weight is None else weight
    return weight[~is_positive & (scores >= threshold)].sum() / weight[~is_positive].sum()


def false_rejects(scores, is_positive, threshold, weight=None):
    weight = np.ones(len(scores)) if weight is None else weight
    return weight[is_positive & (scores < threshold)].sum() / weight[is_positive].sum()


# ── The threshold ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("rate", [0.0, 0.01, 0.05, 0.2, 0.5, 1.0])
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["unweighted", "weighted"])
def test_the_threshold_is_the_lowest_that_keeps_the_rate_on_held_out_scores(rate, weight):
    model = verifier(false_accept_rate=rate).fit(X, y, weight)
    scores = held_out_scores(X, y, 1, folds_of(y == 1), weight)
    assert not np.isnan(scores).any()
    candidates = [*np.sort(scores), np.nextafter(scores.max(), np.inf)]
    allowed = [t for t in candidates if false_accepts(scores, y == 1, t, weight) <= rate + 1e-12]
    assert model.threshold_ == pytest.approx(min(allowed), rel=1e-9)
    found = model.error_rates_
    assert found["false_accepts"] <= rate + 1e-12
    assert found["false_accepts"] == pytest.approx(
        false_accepts(scores, y == 1, min(allowed), weight), abs=1e-12
    )
    assert found["false_rejects"] == pytest.approx(
        false_rejects(scores, y == 1, min(allowed), weight), abs=1e-12
    )


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["unweighted", "weighted"])
def test_equal_error_rates_are_as_equal_and_as_low_as_they_come(weight):
    model = verifier(false_accept_rate="equal").fit(X, y, weight)
    scores = held_out_scores(X, y, 1, folds_of(y == 1), weight)
    worst = min(
        max(false_accepts(scores, y == 1, t, weight), false_rejects(scores, y == 1, t, weight))
        for t in scores
    )
    assert max(model.error_rates_.values()) == pytest.approx(worst, abs=1e-12)
    gap = abs(model.error_rates_["false_accepts"] - model.error_rates_["false_rejects"])
    step = 1 / (y == 1).sum() if weight is None else WEIGHT.max() / weight[y == 1].sum()
    assert gap <= step  # one sample more or less would turn it round
    assert 0 < worst < 0.5


def test_stricter_rates_accept_fewer():
    rates = [0.0, 0.01, 0.1, 0.3, 1.0]
    models = [verifier(false_accept_rate=rate).fit(X, y) for rate in rates]
    for strict, loose in pairwise(models):
        assert strict.threshold_ >= loose.threshold_
        assert not (strict.predict(X) & ~loose.predict(X)).any()


def test_a_rate_of_zero_accepts_no_other_sample_that_was_held_out():
    hard = np.concatenate([X, X[y == 1][:3]])  # copies of positives under another label
    labels = np.concatenate([y, [3, 3, 3]])
    model = verifier(false_accept_rate=0.0).fit(hard, labels)
    scores = held_out_scores(hard, labels, 1, folds_of(labels == 1))
    # Scores of the same folds by another way of summing differ in their last digits.
    rounding = 1e-9 * abs(model.threshold_)
    assert false_accepts(scores, labels == 1, model.threshold_ + rounding) == 0
    assert model.error_rates_["false_accepts"] == 0
    others = scores[labels != 1].max()
    assert model.threshold_ > others - rounding
    above = scores[scores > others + rounding]
    if len(above):
        assert model.threshold_ == pytest.approx(above.min(), rel=1e-9)


def test_when_nothing_may_be_accepted_the_threshold_is_just_above_all_scores():
    # Positives lie far apart around others that sit at their mean.
    rng = np.random.default_rng(0)
    around, inside = rng.normal(size=(20, 3, 3)) * 5, rng.normal(size=(20, 3, 3)) * 0.01
    samples, labels = np.concatenate([around, inside]), np.repeat([1, 0], 20)
    model = ClassSpecificVerifier(MCSDA(ranks=3, tol=10.0), positive=1, false_accept_rate=0.0).fit(
        samples, labels
    )
    assert np.isfinite(model.threshold_)
    assert model.threshold_ < 0  # scores are never above 0, but the mean itself may be accepted
    assert model.error_rates_ == {"false_accepts": 0.0, "false_rejects": 1.0}
    assert model.predict(model.projector_.mean_[None]).all()


def test_the_promise_holds_for_new_samples():
    many, labels = problem((5, 4), classes=4, per_class=800, seed=4, spread=0.4)
    half = np.arange(len(many)) % 2 == 0
    model = verifier(false_accept_rate=0.05).fit(many[half], labels[half])
    accepted = model.predict(many[~half])
    # 1200 others: a share of 0.05 has a standard error of 0.0063; four of them.
    assert accepted[labels[~half] != 1].mean() == pytest.approx(0.05, abs=0.025)


# ── Few samples ─────────────────────────────────────────────────────────────────────────────────


def test_a_single_positive_sample_stays_in_every_training_part():
    few = np.append(np.flatnonzero(y != 1), np.flatnonzero(y == 1)[0])
    model = verifier(false_accept_rate=0.1).fit(X[few], y[few])
    others, alone = np.arange(len(few) - 1), len(few) - 1
    splits = [
        (np.append(others[a], alone), others[b])
        for a, b in KFold(5, shuffle=True, random_state=0).split(others)
    ]
    scores = held_out_scores(X[few], y[few], 1, splits)
    assert np.isnan(scores[alone])
    assert model.error_rates_.keys() == {"false_accepts"}
    held = scores[:-1]
    assert (held >= model.threshold_).mean() == pytest.approx(model.error_rates_["false_accepts"])
    assert model.error_rates_["false_accepts"] <= 0.1
    assert model.predict(X[few[-1:]]).all()  # the positive sample is the mean itself


def test_few_positive_samples_mean_few_folds():
    few = np.concatenate([np.flatnonzero(y != 1), np.flatnonzero(y == 1)[:3]])
    model = verifier(cv=10).fit(X[few], y[few])
    scores = held_out_scores(X[few], y[few], 1, folds_of(y[few] == 1, 3))
    assert model.error_rates_["false_rejects"] == pytest.approx(
        false_rejects(scores, y[few] == 1, model.threshold_), abs=1 / 3 + 1e-12
    )


def test_samples_without_weight_do_not_count():
    weight = np.where(np.arange(len(X)) % 3 == 0, 0.0, WEIGHT)
    used = weight > 0
    some, all_ = verifier().fit(X[used], y[used], weight[used]), verifier().fit(X, y, weight)
    assert all_.threshold_ == pytest.approx(some.threshold_, rel=1e-7)
    assert all_.error_rates_ == pytest.approx(some.error_rates_)


# ── Scores ──────────────────────────────────────────────────────────────────────────────────────


def test_scores_are_those_of_the_projector_on_all_samples():
    model = verifier(positive="bee").fit(X, LABELS)
    alone = MCSDA(ranks=2, tol=10.0, positive="bee").fit(X, LABELS)
    np.testing.assert_allclose(model.decision_function(X), alone.decision_function(X), rtol=1e-10)
    accepted = model.predict(X)
    assert accepted.dtype == bool
    np.testing.assert_array_equal(accepted, model.decision_function(X) >= model.threshold_)
    assert model.score(X, LABELS) == average_precision_score(
        LABELS == "bee", model.decision_function(X)
    )


def test_similarity_is_one_over_the_distance():
    model = verifier().fit(X, y)
    distance = [
        np.linalg.norm(model.projector_.transform((x - model.projector_.mean_)[None]))
        for x in X[:10]
    ]
    np.testing.assert_allclose(model.similarity(X[:10]), 1 / np.array(distance), rtol=1e-10)
    order = np.argsort(model.similarity(X))
    np.testing.assert_array_equal(order, np.argsort(model.decision_function(X)))
    assert model.similarity(model.projector_.mean_[None]).tolist() == [np.inf]


def test_the_positive_class_is_the_last_unless_named():
    assert verifier(positive=None).fit(X, y).projector_.mean_ == pytest.approx(
        X[y == 3].mean(axis=0)
    )
    assert verifier(positive=None).fit(X, y).threshold_ == verifier(positive=3).fit(X, y).threshold_


def test_the_positive_class_of_the_projector_is_kept():
    model = MCSDA(ranks=2, tol=10.0, positive=0)
    named = verifier(positive=0).fit(X, y)
    for kept in (ClassSpecificVerifier(model), ClassSpecificVerifier(model, positive=0)):
        assert kept.fit(X, y).threshold_ == named.threshold_
        np.testing.assert_array_equal(kept.projector_.mean_, named.projector_.mean_)
    assert model.positive == 0  # what was passed stays as it was
    search = RankSearchCV(ClassSpecificVerifier(model), [2], cv=StratifiedKFold(3)).fit(X, y)
    of_named = RankSearchCV(verifier(positive=0), [2], cv=StratifiedKFold(3)).fit(X, y)
    assert search.best_score_ == of_named.best_score_


def test_two_positive_classes_that_differ_are_refused():
    both = ClassSpecificVerifier(MCSDA(positive=0), positive=1)
    for model in (both, RankSearchCV(both, [2], cv=StratifiedKFold(3))):
        with pytest.raises(ValueError, match=r"positive is 1, .* projector is 0; .* only one"):
            model.fit(X, y)
    with pytest.raises(ValueError, match=r"positive is \[0, 1\]; expected one label"):
        verifier(positive=[0, 1]).fit(X, y)


def test_a_fold_without_the_positive_class_never_takes_another_for_it():
    without = [(np.flatnonzero(y != 3), np.flatnonzero(y == 3))]
    with pytest.raises(ValueError, match=r"positive is .*3.*not among the labels"):
        verifier(positive=None, cv=without).fit(X, y)


def test_folds_may_be_given():
    splits = list(StratifiedKFold(3).split(X, y))
    model = verifier(cv=splits, false_accept_rate=0.1).fit(X, y)
    scores = held_out_scores(X, y, 1, splits)
    assert false_accepts(scores, y == 1, model.threshold_) == pytest.approx(
        model.error_rates_["false_accepts"]
    )


# ── Bad input ───────────────────────────────────────────────────────────────────────────────────


def test_bad_verifiers_say_what_is_wrong():
    with pytest.raises(ValueError, match=r"projector is MPCA\(\); expected a class-specific"):
        ClassSpecificVerifier(MPCA()).fit(X, y)
    for rate in (-0.1, 1.5, "often", None):
        with pytest.raises(ValueError, match=r"false_accept_rate is .*; expected a number from 0"):
            verifier(false_accept_rate=rate).fit(X, y)
    with pytest.raises(ValueError, match=r"positive is 9, which is not among the labels"):
        verifier(positive=9).fit(X, y)
    with pytest.raises(ValueError, match=r"cv is 1; expected an integer of 2 or more"):
        verifier(cv=1).fit(X, y)
    with pytest.raises(NotFittedError):
        verifier().predict(X)


def test_without_negative_samples_there_is_nothing_to_reject():
    own = y == 1
    with pytest.raises(ValueError, match=r"1 class .*1.* only; pass samples of at least two"):
        verifier().fit(X[own], y[own])
    with pytest.raises(ValueError, match=r"1 class"):
        verifier().fit(X, y, own.astype(float))
    one = np.append(np.flatnonzero(own), np.flatnonzero(~own)[0])
    with pytest.raises(ValueError, match=r"1 sample of other classes only.*pass more"):
        verifier().fit(X[one], y[one])


def test_rates_need_samples_that_were_held_out():
    few = np.append(np.flatnonzero(y != 1), np.flatnonzero(y == 1)[0])
    with pytest.raises(ValueError, match=r"no sample of the positive class was held out"):
        verifier(false_accept_rate="equal").fit(X[few], y[few])
    only_own = [(np.arange(1, len(y)), np.flatnonzero(y == 1)[:1])]
    with pytest.raises(ValueError, match=r"no sample of other classes was held out"):
        verifier(cv=only_own).fit(X, y)


def test_a_failed_fit_leaves_the_verifier_as_it_was():
    model = verifier().fit(X, y)
    before = (model.threshold_, model.decision_function(X))
    with pytest.raises(ValueError, match="rank 9"):
        model.set_params(projector__ranks=9).fit(X, y)
    assert model.threshold_ == before[0]
    np.testing.assert_array_equal(model.decision_function(X), before[1])


# ── As a scikit-learn estimator ─────────────────────────────────────────────────────────────────


def test_the_common_checks_pass_and_there_are_many_of_them():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        results = check_estimator(ClassSpecificVerifier(MCSDA()), on_skip=None, on_fail=None)
    status = Counter(result["status"] for result in results)
    assert not [(r["check_name"], r["exception"]) for r in results if r["status"] == "failed"]
    assert status["passed"] >= 45
    skipped = [r["check_name"] for r in results if r["status"] == "skipped"]
    assert set(skipped) <= {"check_array_api_input"}


def test_a_grid_search_runs_over_verifiers():
    flat = X.reshape(len(X), -1)
    grid = {"projector__ranks": [2, 4], "positive": [0, 1]}
    model = ClassSpecificVerifier(CSDA())
    search = GridSearchCV(model, grid, cv=StratifiedKFold(3)).fit(flat, y)
    assert len(search.cv_results_["params"]) == 4
    assert search.predict(flat).dtype == bool


def test_names_of_features_are_kept_and_checked():
    frame = pd.DataFrame(X.reshape(len(X), -1), columns=[f"pixel {i}" for i in range(20)])
    model = ClassSpecificVerifier(CSDA(ranks=4), positive=1).fit(frame, y)
    assert model.feature_names_in_.tolist() == frame.columns.tolist()
    np.testing.assert_array_equal(model.predict(frame), model.predict(frame))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame.rename(columns={"pixel 0": "other"}))
