"""Accept or reject: thresholds keep what they guarantee for samples and impostors never seen."""

import warnings
from functools import partial
from itertools import pairwise

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import NotFittedError
from sklearn.metrics import (
    ConfusionMatrixDisplay,
    DetCurveDisplay,
    PrecisionRecallDisplay,
    RocCurveDisplay,
    average_precision_score,
    roc_auc_score,
)
from sklearn.model_selection import (
    FixedThresholdClassifier,
    LeaveOneGroupOut,
    StratifiedKFold,
    check_cv,
    cross_val_score,
)

from reference import problem
from tenfold import (
    CSDA,
    CSRDA,
    MCSDA,
    MPCA,
    ClassSpecificVerifier,
    FalseAcceptRateWarning,
    RankSearchCV,
)
from tenfold.classifiers.thresholds import Impostors
from tenfold.classifiers.thresholds import threshold_at as far_at

# The laws here are of the paper's rule.
CSDA = partial(CSDA, decision="distance")
MCSDA = partial(MCSDA, decision="distance")

X, y = problem((5, 4), classes=6, per_class=25, seed=4, spread=0.4)
LABELS = np.array(["ant", "bee", "cat", "dog", "eel", "fly"])[y]
WEIGHT = np.random.default_rng(0).uniform(0.2, 3.0, len(X))
MODEL = MCSDA(ranks=2, tol=10.0)


def verifier(**parameters):
    """Of class 1 against five others, which can guarantee one false accept in six."""
    return ClassSpecificVerifier(
        clone(MODEL), **{"positive": 1, "false_accept_rate": 0.2, **parameters}
    )


def extrapolating(estimator, *batch):
    """Fitted, at a rate that its samples cannot guarantee."""
    with pytest.warns(FalseAcceptRateWarning):
        return estimator.fit(*batch)


def held_out_distances(X, y, positive, splits, weight=None, model=MODEL):
    """In units of the others' root mean square distance, by plain fits and plain sums."""
    distances = np.full(len(y), np.nan)
    for train, test in splits:
        own = np.ones(len(train)) if weight is None else weight[train]
        fold = clone(model).set_params(positive=positive).fit(X[train], y[train], own)
        among = -fold.decision_function(X[train])
        rest = y[train] != positive
        unit = np.sqrt(np.average(among[rest] ** 2, weights=own[rest]))
        distances[test] = -fold.decision_function(X[test]) / unit
    return distances


def threshold_at(impostors, rate):
    """Of distances: their logarithms say how far samples are."""
    with np.errstate(divide="ignore"):
        far = np.log(impostors.signed_distance)
    return np.exp(far_at(impostors._replace(signed_distance=far), rate))


def spread_of_others(model, X, is_other, weight=None):
    distances = -model.projector_.decision_function(X[is_other])
    return np.sqrt(np.average(distances**2, weights=None if weight is None else weight[is_other]))


def each_other_class(y, positive):
    """Folds that hold out one class each."""
    return [
        (np.flatnonzero(y != label), np.flatnonzero(y == label))
        for label in np.unique(y[y != positive])
    ]


def dealt(which, n_folds):
    """Folds that hold out some of these samples, each by itself."""
    rows = np.flatnonzero(which)
    fold = np.random.default_rng(0).permutation(len(rows)) % n_folds
    every = np.arange(len(which))
    return [(np.setdiff1d(every, rows[fold == f]), rows[fold == f]) for f in range(n_folds)]


# ── The threshold ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("rate", [0.17, 0.2, 0.5])
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["unweighted", "weighted"])
def test_the_threshold_is_set_on_classes_that_were_held_out(rate, weight):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FalseAcceptRateWarning)
        model = verifier(false_accept_rate=rate).fit(X, y, weight)
    other, counted = y != 1, np.ones(len(y)) if weight is None else weight
    u = held_out_distances(X, y, 1, each_other_class(y, 1), weight)
    limit = threshold_at(Impostors(u[other], counted[other], y[other]), rate)
    unit = spread_of_others(model, X, other, weight)
    assert model.threshold_ == pytest.approx(-limit * unit, rel=1e-7)
    share = counted[other & (u <= limit)].sum() / counted[other].sum()
    assert model.error_rates_["false_accepts"] == pytest.approx(share, abs=1e-12)
    assert model.guaranteed_rate_ == 1 / 6


def test_positives_are_held_out_for_the_share_of_false_rejects_alone():
    model = verifier().fit(X, y)
    u = held_out_distances(X, y, 1, dealt(y == 1, 5))[y == 1]
    limit = -model.threshold_ / spread_of_others(model, X, y != 1)
    assert model.error_rates_["false_rejects"] == pytest.approx(np.mean(u > limit), abs=1e-12)


@pytest.mark.filterwarnings("ignore::tenfold.FalseAcceptRateWarning")  # few samples are little
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("model", [CSDA(ranks=3), CSDA(ranks=3, shrinkage="auto"), MODEL], ids=str)
def test_few_large_samples_are_held_out_as_in_plain_fits(model, weighted):
    samples, labels = problem((12, 10), classes=7, per_class=5, seed=4, spread=0.4)
    weight = np.random.default_rng(0).uniform(0.2, 3.0, len(labels)) if weighted else None
    counted, own = np.ones(len(labels)) if weight is None else weight, labels == 1
    each = np.arange(len(labels))  # every sample is a group
    for cv, groups, rest in (
        (6, None, each_other_class(labels, 1)),
        (30, each, dealt(~own, 30)),
    ):
        found = ClassSpecificVerifier(model, positive=1, false_accept_rate=0.3, cv=cv)
        found.fit(samples, labels, weight, groups)
        u = held_out_distances(samples, labels, 1, rest, weight, model)
        classes = labels[~own] if groups is None else None
        limit = threshold_at(Impostors(u[~own], counted[~own], classes), 0.3)
        unit = spread_of_others(found, samples, ~own, weight)
        assert found.threshold_ == pytest.approx(-limit * unit, rel=1e-6)
    v = held_out_distances(samples, labels, 1, dealt(own, 5), weight, model)
    rejected = counted[own & (v > limit)].sum() / counted[own].sum()
    assert found.error_rates_["false_rejects"] == pytest.approx(rejected, abs=1e-12)


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["unweighted", "weighted"])
def test_equal_error_rates_are_as_equal_as_they_come(weight):
    model = verifier(false_accept_rate="equal").fit(X, y, weight)
    rates = model.error_rates_
    step = 1 / (y == 1).sum() if weight is None else WEIGHT.max() / weight[y == 1].sum()
    assert abs(rates["false_accepts"] - rates["false_rejects"]) <= step  # one sample more or less
    assert 0 < max(rates.values()) < 0.5


def test_stricter_rates_accept_fewer():
    models = [verifier(false_accept_rate=rate).fit(X, y) for rate in (0.0, 0.2, 0.3, 0.9, 1.0)]
    for strict, loose in pairwise(models):
        assert strict.threshold_ > loose.threshold_
        assert not (strict.predict(X) & ~loose.predict(X)).any()
    assert not models[0].predict(np.append(X, models[0].projector_.mean_[None], axis=0)).any()
    assert models[0].error_rates_ == {"false_accepts": 0.0, "false_rejects": 1.0}
    with pytest.warns(UserWarning, match="no number of the training samples"):
        assert models[-1].predict(1e3 * X).all()
    assert models[-1].error_rates_ == {"false_accepts": 1.0, "false_rejects": 0.0}


# ── The quantile ────────────────────────────────────────────────────────────────────────────────


def test_the_quantile_is_right_on_average_for_any_distribution():
    # The i-th of n stands at i / (n + 1): exact for every continuous distribution.
    rng = np.random.default_rng(0)
    for draw in (rng.exponential, rng.uniform, rng.lognormal):
        given = []
        for _ in range(400):
            known, new = np.abs(draw(size=99)), np.abs(draw(size=500))
            limit = threshold_at(Impostors(known, np.ones(99), None), 0.05)
            given.append(np.mean(new <= limit))
        # A draw of the 5th of 99 has a standard deviation of 0.022; 400 of them 0.0011.
        assert np.mean(given) == pytest.approx(0.05, abs=0.005)


def test_the_unit_of_weights_and_of_distances_plays_no_part():
    rng = np.random.default_rng(1)
    u, weight, groups = rng.lognormal(size=60), rng.uniform(0.5, 2, 60), np.arange(60) % 12
    for rate in (0.001, 0.05, 0.3):
        for who in (None, groups):
            limit = threshold_at(Impostors(u, weight, who), rate)
            assert threshold_at(Impostors(u, 7e-3 * weight, who), rate) == pytest.approx(limit)
            assert threshold_at(Impostors(1e5 * u, weight, who), rate) == pytest.approx(1e5 * limit)


# ── Asked and given ─────────────────────────────────────────────────────────────────────────────


def gaussian(rng, n_classes, per_class, n_own, n_new=2000):
    """Gaussian classes about Gaussian means; new impostors have new means if there are several."""
    mixing = np.diag(np.linspace(0.3, 1.5, 20)) @ np.linalg.qr(rng.normal(size=(20, 20)))[0]
    if n_classes == 1:
        own, means = np.zeros(20), 0.6 * rng.choice([-1, 1], (1, 20))
        new, wide = np.repeat(means, n_new, axis=0), 1.3
    else:
        own, means = 0.7 * rng.normal(size=20), 0.7 * rng.normal(size=(n_classes, 20))
        new, wide = np.repeat(0.7 * rng.normal(size=(n_new // 4, 20)), 4, axis=0), 1.0
    labels = np.repeat(np.arange(n_classes + 1), [*[per_class] * n_classes, n_own])
    centres = np.concatenate([means, own[None]])[labels]
    noise = rng.normal(size=(len(labels), 20)) * np.where(labels == n_classes, 1, wide)[:, None]
    samples, impostors = (
        (centres + noise) @ mixing,
        (new + wide * rng.normal(size=new.shape)) @ mixing,
    )
    return samples.reshape(-1, 5, 4), labels, impostors.reshape(-1, 5, 4)


@pytest.mark.parametrize(
    ("rate", "n_classes", "per_class", "n_own", "cv", "orthonormal"),
    [
        (0.05, 1, 100, 3, 5, False),
        (0.1, 1, 100, 30, 2, True),
        (0.02, 1, 100, 100, 10, False),
        (0.06, 19, 3, 3, 5, True),
        (0.06, 19, 3, 3, 10, False),
        (0.1, 19, 5, 40, 2, False),
        (0.03, 33, 5, 5, 5, False),
    ],
)
def test_the_rate_that_was_asked_for_is_given(rate, n_classes, per_class, n_own, cv, orthonormal):
    """On new samples, and on new impostors, whatever the folds and however few the positives.

    The shares that single verifiers give differ by about as much as the share itself, because a
    quantile of few scores does; so the mean of 10 has a standard error of about a third of it. The
    models of folds know a little less than the final one, so that rates below are to be expected.
    """
    given = []
    for seed in range(10):
        samples, labels, impostors = gaussian(
            np.random.default_rng(seed), n_classes, per_class, n_own
        )
        model = ClassSpecificVerifier(
            CSDA(ranks=5, orthonormal=orthonormal),
            positive=n_classes,
            false_accept_rate=rate,
            cv=cv,
        )
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "models without some", FalseAcceptRateWarning)
            accepted = model.fit(samples, labels).predict(impostors)
        given.append(np.mean(accepted == model.classes_[1]))
    error = np.std(given, ddof=1) / np.sqrt(len(given))
    assert 0.4 * rate - 2 * error <= np.mean(given) <= 1.2 * rate + 2 * error
    assert error < 0.5 * rate


def test_one_in_a_hundred_is_extrapolated_with_a_warning():
    given = []
    for seed in range(16):
        samples, labels, impostors = gaussian(np.random.default_rng(seed), 33, 5, 5)
        model = ClassSpecificVerifier(CSDA(ranks=5), positive=33)
        given.append(np.mean(extrapolating(model, samples, labels).predict(impostors)))
    error = np.std(given, ddof=1) / 4
    assert 0.003 <= np.mean(given) <= 0.01 + 3 * error
    assert error < 0.005


def test_known_impostors_say_too_little_about_new_ones():
    """Folds of single samples accept more new impostors than folds of classes do."""
    by_class, by_sample = [], []
    for seed in range(12):
        samples, labels, impostors = gaussian(np.random.default_rng(seed), 19, 10, 10)
        model = ClassSpecificVerifier(CSDA(ranks=8), positive=19, false_accept_rate=0.06)
        by_class.append(clone(model).fit(samples, labels).predict(impostors).mean())
        given = model.fit(samples, labels, groups=np.arange(len(labels)))
        by_sample.append(given.predict(impostors).mean())
    assert np.mean(by_class) < np.mean(by_sample)


# ── The guarantee ─────────────────────────────────────────────────────────────────────────────────


def test_what_cannot_be_promised_is_said_with_the_number_that_can():
    with pytest.warns(
        FalseAcceptRateWarning, match=r"rate of 0.01, but 5 other classes can guarantee 0.17"
    ) as w:
        model = verifier(false_accept_rate=0.01).fit(X, y)
    assert "99 would guarantee 0.01. The threshold is meant for new samples" in str(w[0].message)
    assert model.guaranteed_rate_ == 1 / 6
    assert w[0].filename == __file__
    few = y < 3
    with pytest.warns(
        FalseAcceptRateWarning, match=r"2 other classes .* new samples of these classes"
    ):
        model = verifier(false_accept_rate=0.1).fit(X[few], y[few])
    assert model.guaranteed_rate_ == 1 / 3
    n = int((y != 1).sum())
    with pytest.warns(FalseAcceptRateWarning, match="but the other samples can guarantee"):
        model = verifier(false_accept_rate=0.001, positive=None).fit(X, y == 1)
    assert model.guaranteed_rate_ == pytest.approx(1 / (n + 1))


def test_scikit_learn_calibrates_a_verifier_of_one_class_against_the_others():
    model = verifier(positive=None, false_accept_rate="equal")
    chances = CalibratedClassifierCV(model, cv=2).fit(X, y == 3).predict_proba(X)
    assert roc_auc_score(y == 3, chances[:, 1]) > 0.8


def test_models_of_folds_that_are_unlike_the_final_one_are_warned_of():
    # Without the class that is far away, everything else is a hundred times as near.
    far = X + np.where(y == 5, 100.0, 0.0)[:, None, None]
    with pytest.warns(
        FalseAcceptRateWarning, match=r"unlike the model of all: .* factor of \d.*lower ranks"
    ):
        verifier().fit(far, y)


# ── Few samples, and samples with weights ───────────────────────────────────────────────────────


@pytest.mark.filterwarnings("ignore::tenfold.FalseAcceptRateWarning")  # one sample is little
@pytest.mark.parametrize("rate", [0.25, "equal"])
@pytest.mark.parametrize("n_classes", [3, 6])  # samples are held out, or whole classes
def test_the_order_of_the_samples_plays_no_part(n_classes, rate):
    some = y < n_classes
    Z, labels = X[some], y[some]
    order = np.random.default_rng(3).permutation(len(Z))
    one = verifier(false_accept_rate=rate).fit(Z, labels)
    other = verifier(false_accept_rate=rate).fit(Z[order], labels[order])
    assert one.error_rates_ == pytest.approx(other.error_rates_)
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), rtol=1e-7)


@pytest.mark.filterwarnings("ignore::tenfold.FalseAcceptRateWarning")  # one sample is little
def test_a_single_positive_sample_is_never_held_out():
    few = np.append(np.flatnonzero(y != 1), np.flatnonzero(y == 1)[0])
    model = verifier().fit(X[few], y[few])
    assert model.error_rates_.keys() == {"false_accepts"}
    assert model.predict(X[few[-1:]]).all()  # the positive sample is the mean itself


def test_samples_without_weight_do_not_count():
    weight = np.where(np.arange(len(X)) % 3 == 0, 0.0, WEIGHT)
    used = weight > 0
    some, all_ = verifier().fit(X[used], y[used], weight[used]), verifier().fit(X, y, weight)
    assert all_.threshold_ == pytest.approx(some.threshold_, rel=1e-7)
    assert all_.error_rates_ == pytest.approx(some.error_rates_)


@pytest.mark.parametrize("rate", [0.01, 0.2, "equal"])
@pytest.mark.parametrize("two", [False, True])
def test_a_weight_of_two_is_the_sample_twice(rate, two):
    labels = (y == 1) if two else y
    weight = np.random.default_rng(3).integers(1, 4, len(y))
    model = verifier(false_accept_rate=rate, positive=None if two else 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FalseAcceptRateWarning)
        weighted = clone(model).fit(X, labels, weight.astype(float))
        repeated = clone(model).fit(np.repeat(X, weight, axis=0), np.repeat(labels, weight))
    assert weighted.threshold_ == pytest.approx(repeated.threshold_, rel=1e-7)
    assert weighted.error_rates_ == pytest.approx(repeated.error_rates_)
    assert weighted.guaranteed_rate_ == pytest.approx(repeated.guaranteed_rate_)


# ── Scores ──────────────────────────────────────────────────────────────────────────────────────


def test_scores_are_those_of_the_projector_on_all_samples():
    model = verifier(positive="bee").fit(X, LABELS)
    alone = MCSDA(ranks=2, tol=10.0, positive="bee").fit(X, LABELS)
    scores = alone.decision_function(X)
    np.testing.assert_allclose(model.decision_function(X), scores - model.threshold_, rtol=1e-9)
    accepted = model.predict(X)
    assert accepted.dtype == bool
    np.testing.assert_array_equal(accepted, model.decision_function(X) >= 0)
    expected = average_precision_score(LABELS == "bee", scores)
    assert model.score(X, LABELS) == pytest.approx(expected)
    assert model.score(X, LABELS == "bee") == pytest.approx(expected)


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


def test_the_positive_class_is_the_last_of_two_or_named():
    named = np.where(y == 1, "yes", "no")
    model = verifier(positive=None).fit(X, named)
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.projector_.positive_label_ == "yes"
    np.testing.assert_array_equal(
        model.predict(X), np.where(model.decision_function(X) >= 0, "yes", "no")
    )
    for estimator in (verifier(positive=None), RankSearchCV(verifier(positive=None), [2], cv=3)):
        with pytest.raises(ValueError, match=r"^Only binary .* pass positive, the class to verify"):
            estimator.fit(X, y)


def test_the_first_of_two_words_may_be_verified_but_not_the_first_of_two_numbers():
    words = np.where(y == 1, "a face", "other")
    model = verifier(positive="a face").fit(X, words)
    assert model.classes_.tolist() == [False, True]
    same = verifier(positive=None).fit(X, y == 1)
    np.testing.assert_array_equal(model.predict(X), same.predict(X))
    with pytest.raises(ValueError, match=r"turn every curve round; pass y == 0 without positive"):
        verifier(positive=0).fit(X, (y != 1).astype(int))


def test_the_positive_class_of_the_projector_is_kept():
    model = MCSDA(ranks=2, tol=10.0, positive=0)
    named = verifier(positive=0).fit(X, y)
    for positive in (None, 0):
        kept = ClassSpecificVerifier(model, positive=positive, false_accept_rate=0.2)
        assert kept.fit(X, y).threshold_ == named.threshold_
        np.testing.assert_array_equal(kept.projector_.mean_, named.projector_.mean_)
    assert model.positive == 0  # what was passed stays as it was
    inside = ClassSpecificVerifier(model, false_accept_rate=0.2)
    search = RankSearchCV(inside, [2], cv=StratifiedKFold(3)).fit(X, y)
    of_named = RankSearchCV(verifier(positive=0), [2], cv=StratifiedKFold(3)).fit(X, y)
    assert search.best_score_ == of_named.best_score_


def test_two_positive_classes_that_differ_are_refused():
    both = ClassSpecificVerifier(MCSDA(positive=0), positive=1)
    for model in (both, RankSearchCV(both, [2], cv=StratifiedKFold(3))):
        with pytest.raises(ValueError, match=r"positive is 1, .* projector is 0; .* only one"):
            model.fit(X, y)
    with pytest.raises(ValueError, match=r"positive is \[0, 1\]; expected one label"):
        verifier(positive=[0, 1]).fit(X, y)


def test_groups_are_held_out_together():
    groups = np.arange(len(y)) // 4
    model = verifier(cv=3).fit(X, y, groups=[f"day {g:02d}" for g in groups])
    other = y != 1
    found, code = np.unique(groups[other], return_inverse=True)
    fold = (np.random.default_rng(0).permutation(len(found)) % 3)[code]
    rows, every = np.flatnonzero(other), np.arange(len(y))
    splits = [(np.setdiff1d(every, rows[fold == f]), rows[fold == f]) for f in range(3)]
    u = held_out_distances(X, y, 1, splits)[other]
    limit = threshold_at(Impostors(u, np.ones(len(u)), None), 0.2)  # no class was held out
    assert model.threshold_ == pytest.approx(-limit * spread_of_others(model, X, other), rel=1e-7)
    given = verifier(cv=splits).fit(X, y)  # what a split tests is one group
    assert given.threshold_ == pytest.approx(model.threshold_, rel=1e-9)
    assert given.error_rates_.keys() == {"false_accepts"}
    one = verifier(cv=[(every[40:], every[:40])]).fit(X, y)  # positives in one part alone
    assert one.error_rates_.keys() == {"false_accepts", "false_rejects"}
    by_class = verifier(cv=LeaveOneGroupOut()).fit(X, y, groups=y)  # positives stay in all models
    splits = [(np.flatnonzero(y != c), np.flatnonzero(y == c)) for c in np.unique(y[other])]
    assert by_class.threshold_ == pytest.approx(verifier(cv=splits).fit(X, y).threshold_, rel=1e-9)
    assert by_class.error_rates_.keys() == {"false_accepts"}
    with pytest.raises(ValueError, match="other classes, or all of them in one fold"):
        verifier(cv=[(every[~other], every[other]), (every[other], every[~other])]).fit(X, y)
    with pytest.raises(ValueError, match=r"1 group of other classes only"):
        verifier().fit(X, y, groups=np.zeros(len(y)))


# ── Bad input ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("halves", ["groups", "splits"])
def test_halves_of_the_samples_are_too_few_folds_for_a_ratio(halves):
    ratio = ClassSpecificVerifier(positive=1, false_accept_rate=0.3)
    half = np.arange(len(X)) % 2
    given = {"groups": half}
    if halves == "splits":
        ratio.set_params(cv=StratifiedKFold(2))
        given = {}
    with pytest.warns(FalseAcceptRateWarning, match="two folds only: .* pass three folds or more"):
        ratio.fit(X, y, **given)
    ratio.set_params(cv=StratifiedKFold(3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ratio.fit(X, y)


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
    for model in (verifier(), ClassSpecificVerifier(positive=1)):
        with pytest.raises(ValueError, match="ClassSpecificVerifier requires y"):
            model.fit(X)
    everything = np.arange(len(X))
    with pytest.raises(ValueError, match="cv has one fold that tests all samples"):
        ClassSpecificVerifier(positive=1, cv=[(everything, everything)]).fit(X, y)


@pytest.mark.parametrize(
    "model",
    [verifier(), ClassSpecificVerifier(positive=1, false_accept_rate=0.2), MCSDA(positive=1)],
)
def test_labels_that_name_no_positive_sample_are_not_scored(model):
    model.fit(X, y)
    with pytest.raises(ValueError, match="the classes known so far are numbers"):
        model.score(X, LABELS)
    with pytest.raises(ValueError, match="no sample of the positive class 1"):
        model.score(X[y != 1], y[y != 1])


def test_without_negative_samples_there_is_nothing_to_reject():
    own = y == 1
    with pytest.raises(ValueError, match=r"1 class .*1.* only; pass samples of at least two"):
        verifier().fit(X[own], y[own])
    with pytest.raises(ValueError, match=r"1 class"):
        verifier().fit(X, y, own.astype(float))
    one = np.append(np.flatnonzero(own), np.flatnonzero(~own)[0])
    with pytest.raises(ValueError, match=r"1 sample of other classes only.*pass more"):
        verifier(positive=None).fit(X[one], y[one] == 1)


def test_a_failed_fit_leaves_the_verifier_as_it_was():
    model = verifier().fit(X, y)
    before = (model.threshold_, model.decision_function(X))
    with pytest.raises(ValueError, match="rank 9"):
        model.set_params(projector__ranks=9).fit(X, y)
    assert model.threshold_ == before[0]
    np.testing.assert_array_equal(model.decision_function(X), before[1])


# ── As a scikit-learn estimator ─────────────────────────────────────────────────────────────────


def test_to_scikit_learn_it_is_a_binary_classifier():
    model = verifier(positive=None)
    assert is_classifier(model)
    assert isinstance(check_cv(3, y == 1, classifier=is_classifier(model)), StratifiedKFold)
    order = np.argsort(y, kind="stable")
    for scoring in (None, "accuracy", "f1", "roc_auc", "average_precision"):
        found = cross_val_score(model, X[order], y[order] == 1, cv=3, scoring=scoring)
        assert (found > 0.4).all(), scoring
    found = cross_val_score(verifier(), X[order], y[order], cv=3, error_score="raise")
    assert (found > 0.4).all()  # its own score, whatever the number of labels


def test_displays_and_calibration_work_with_two_labels_and_are_refused_with_more():
    mpl.use("Agg")
    several, two = verifier().fit(X, y), verifier(positive=None).fit(X, y == 1)
    expected = roc_auc_score(y == 1, several.decision_function(X))
    shown = RocCurveDisplay.from_estimator(several, X, y == 1)
    assert shown.roc_auc == pytest.approx(expected)
    for Display in (RocCurveDisplay, PrecisionRecallDisplay, DetCurveDisplay):
        Display.from_estimator(two, X, y == 1)
        with pytest.raises(ValueError, match="not binary"):
            Display.from_estimator(several, X, y)
    matrix = ConfusionMatrixDisplay.from_estimator(several, X, y == 1).confusion_matrix
    assert matrix[1, 1] == several.predict(X)[y == 1].sum()
    mpl.pyplot.close("all")
    calibrated = CalibratedClassifierCV(verifier(positive=None), cv=3).fit(X, y == 1)
    assert roc_auc_score(y == 1, calibrated.predict_proba(X)[:, 1]) > 0.7
    fixed = FixedThresholdClassifier(verifier(positive=None)).fit(X, y == 1)
    np.testing.assert_array_equal(fixed.predict(X), two.predict(X))


# ── Low rates, few classes ──────────────────────────────────────────────────────────────────────


@pytest.mark.filterwarnings("ignore::tenfold.FalseAcceptRateWarning")  # nine others guarantee 10 %
@pytest.mark.parametrize("rate", [0.01, 0.05])
def test_nine_others_estimate_a_low_rate_for_strangers(rate):
    """All classes together say what strangers do, though none of them sees a hundred."""
    accepted, own_accepted, possible = [], [], []
    for seed in range(9):
        rng = np.random.default_rng(seed)
        labels = np.repeat(np.arange(70), 8)
        samples = rng.normal(size=(70, 12))[labels] + rng.normal(0, 0.7, (len(labels), 12))
        known, first = labels < 10, np.arange(len(labels)) % 8 < 5
        train, own = known & first, (labels == 3) & ~first
        model = ClassSpecificVerifier(positive=3, false_accept_rate=rate)
        model.fit(samples[train], labels[train])
        strangers = model.decision_function(samples[~known])
        scores = model.decision_function(samples[own])
        accepted.append(np.mean(strangers >= 0))
        own_accepted.append(np.mean(scores >= 0))
        possible.append(np.mean(scores >= np.quantile(strangers, 1 - rate)))
        low, high = model.false_accept_interval_
        assert 0 <= low <= high <= 1
        assert high > 0  # the pooled pairs see strangers that are accepted
    error = np.std(accepted, ddof=1) / 3
    assert rate / 1.5 - 2 * error <= np.mean(accepted) <= 1.5 * rate + 2 * error
    assert error < 0.5 * rate
    assert np.mean(own_accepted) >= 0.5 * np.mean(possible)


def test_folds_are_fitted_anew_where_a_method_has_several_solutions():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [14, 4])
    X = rng.normal(size=(18, 5, 4)) + 0.5 * y[:, None, None]
    verifier = ClassSpecificVerifier(CSRDA(), false_accept_rate=0.2).fit(X, y)
    # the finer folds had no models once, so that no impostor was scored, and all were rejected
    assert 0 < verifier.error_rates_["false_accepts"] <= 0.2
    assert verifier.threshold_ < 0
