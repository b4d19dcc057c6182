"""Metrics of the field, against counts over all thresholds, scikit-learn and closed forms."""

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.datasets import load_digits
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import det_curve, roc_curve

import tenfold
from tenfold import MCSDA, ClassSpecificVerifier, OpenSetClassifier
from tenfold.app.report import write_report
from tenfold.datasets import TensorDataset
from tenfold.metrics import (
    cllr,
    detection_identification_rate,
    equal_error_rate,
    equal_error_threshold,
    error_rates,
    evaluate,
    mean_average_precision,
    min_cllr,
    min_dcf,
)

SEEDS = range(8)
OF_SCORES = [equal_error_rate, equal_error_threshold, error_rates, min_dcf, cllr, min_cllr]


def trials(seed, ties=True):
    """Some 60 samples of which 20 are targets; half of the scores are tied if wanted."""
    rng = np.random.default_rng(seed)
    is_target = rng.permutation(np.arange(60) < 20)
    scores = rng.normal(size=60) + 1.5 * is_target
    return is_target, np.round(2 * scores) / 2 if ties else scores


def counted(is_target, scores):
    """Both error rates at every threshold, by counting samples; the first accepts nobody."""
    limits = [np.inf, *sorted(set(scores.tolist()), reverse=True)]
    accepts = [np.mean(scores[~is_target] >= limit) for limit in limits]
    misses = [np.mean(scores[is_target] < limit) for limit in limits]
    return np.array(accepts), np.array(misses)


# ── Error rates ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("seed", SEEDS)
def test_error_rates_are_those_of_scikit_learn(seed):
    is_target, scores = trials(seed)
    found = error_rates(is_target, scores)
    false, true, thresholds = roc_curve(is_target, scores, drop_intermediate=False)
    np.testing.assert_allclose(found.false_accepts, false)
    np.testing.assert_allclose(found.misses, 1 - true, atol=1e-15)
    np.testing.assert_array_equal(found.thresholds, thresholds)
    accepts, misses, _ = det_curve(is_target, scores)
    ours = set(zip(found.false_accepts.round(12), found.misses.round(12), strict=True))
    assert set(zip(accepts.round(12), misses.round(12), strict=True)) <= ours


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_equal_error_rate_is_where_the_roc_curve_meets_the_diagonal(seed, ties):
    is_target, scores = trials(seed, ties)
    accepts, misses = counted(is_target, scores)
    along = np.linspace(0, len(accepts) - 1, 400_001)  # a fine walk along the curve
    places = np.arange(len(accepts))
    a, b = np.interp(along, places, accepts), np.interp(along, places, misses)
    meet = np.argmin(np.abs(a - b))
    assert equal_error_rate(is_target, scores) == pytest.approx(a[meet], abs=1e-5)


@pytest.mark.parametrize("seed", SEEDS)
def test_without_ties_the_equal_error_rate_is_the_least_of_the_larger_errors(seed):
    is_target, scores = trials(seed, ties=False)
    accepts, misses = counted(is_target, scores)
    assert equal_error_rate(is_target, scores) == pytest.approx(np.maximum(accepts, misses).min())


@pytest.mark.parametrize("seed", SEEDS)
def test_the_threshold_of_equal_errors_is_the_best_of_all_scores(seed):
    is_target, scores = trials(seed)
    threshold = equal_error_threshold(is_target, scores)
    accepts, misses = counted(is_target, scores)
    gap = abs(np.mean(scores[~is_target] >= threshold) - np.mean(scores[is_target] < threshold))
    assert threshold in scores
    assert gap == pytest.approx(np.abs(accepts - misses)[1:].min())


@pytest.mark.parametrize("distance", [0.5, 1.0, 2.0, 4.0])
def test_two_gaussians_have_the_equal_error_rate_of_the_closed_form(distance):
    quantiles = norm.ppf((np.arange(20_000) + 0.5) / 20_000)
    scores = np.concatenate([quantiles, quantiles + distance])
    is_target = np.repeat([False, True], 20_000)
    assert equal_error_rate(is_target, scores) == pytest.approx(norm.cdf(-distance / 2), abs=1e-4)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_weight_of_two_is_the_sample_twice(seed):
    is_target, scores = trials(seed)
    weight = np.random.default_rng(seed).integers(0, 3, 60)
    twice = np.repeat(is_target, weight), np.repeat(scores, weight)
    weighted = equal_error_rate(is_target, scores, sample_weight=weight)
    assert weighted == pytest.approx(equal_error_rate(*twice))


# ── Costs ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("p", "miss", "accept"), [(0.01, 1, 1), (0.5, 1, 1), (0.2, 10, 3)])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_least_cost_is_that_of_the_best_threshold(seed, p, miss, accept):
    is_target, scores = trials(seed)
    accepts, misses = counted(is_target, scores)
    costs = [p * miss * m + (1 - p) * accept * a for a, m in zip(accepts, misses, strict=True)]
    expected = min(costs) / min(p * miss, (1 - p) * accept)
    found = min_dcf(is_target, scores, p_target=p, c_miss=miss, c_false_accept=accept)
    assert found == pytest.approx(expected)
    assert 0 <= found <= 1


def test_scores_of_no_use_cost_as_much_as_a_decision_without_scores():
    is_target = np.arange(10) < 3
    assert min_dcf(is_target, np.zeros(10)) == 1
    assert min_dcf(is_target, -1.0 * is_target, p_target=0.9) == 1  # the wrong way round
    assert min_dcf(is_target, 1.0 * is_target) == 0
    assert equal_error_rate(is_target, np.zeros(10)) == pytest.approx(0.5)


@pytest.mark.parametrize("metric", [equal_error_rate, min_dcf, min_cllr])
@pytest.mark.parametrize("seed", SEEDS)
def test_only_the_order_of_scores_matters(metric, seed):
    is_target, scores = trials(seed)
    for monotone in (np.exp, np.arctan, lambda s: 3 * s - 100, lambda s: s**3):
        assert metric(is_target, monotone(scores)) == pytest.approx(metric(is_target, scores))


def test_ratios_that_say_nothing_cost_one_bit():
    is_target = np.arange(10) < 3
    assert cllr(is_target, np.zeros(10)) == pytest.approx(1)
    assert min_cllr(is_target, np.zeros(10)) == pytest.approx(1)
    assert cllr(is_target, np.where(is_target, 800.0, -800.0)) == 0  # no overflow
    assert cllr(is_target, np.where(is_target, -800.0, 800.0)) == pytest.approx(800 / np.log(2))


@pytest.mark.parametrize("seed", SEEDS)
def test_cllr_is_the_mean_of_logarithms(seed):
    is_target, ratios = trials(seed)
    own = np.mean(np.log2(1 + np.exp(-ratios[is_target])))
    others = np.mean(np.log2(1 + np.exp(ratios[~is_target])))
    assert cllr(is_target, ratios) == pytest.approx((own + others) / 2)


@pytest.mark.parametrize("seed", SEEDS)
def test_no_monotone_calibration_beats_the_least_cllr(seed):
    is_target, scores = trials(seed)
    least = min_cllr(is_target, scores)
    # the isotonic regression of scikit-learn, as likelihood ratios at the odds of these samples
    share = IsotonicRegression().fit(scores, is_target.astype(float)).predict(scores)
    with np.errstate(divide="ignore"):
        ratios = np.log(share) - np.log1p(-share) - np.log(20 / 40)
    assert cllr(is_target, ratios) == pytest.approx(least)
    rng = np.random.default_rng(seed)
    for slope, shift in rng.uniform([0, -2], [5, 2], (50, 2)):
        assert cllr(is_target, slope * scores + shift) >= least - 1e-12


# ── Open sets ───────────────────────────────────────────────────────────────────────────────────


def identified_by_counting(y, scores, classes, rate):
    """The best share over all thresholds at which few enough strangers are accepted."""
    highest, named = scores.max(axis=1), np.array(classes)[scores.argmax(axis=1)]
    known = np.isin(y, classes)
    best = 0.0
    for limit in [*highest.tolist(), np.inf, -np.inf]:
        for accepted in (highest >= limit, highest > limit):
            if np.mean(accepted[~known]) <= rate:
                best = max(best, np.mean((accepted & (named == y))[known]))
    return best


@pytest.mark.parametrize("rate", [0.0, 0.01, 0.05, 0.29, 0.5, 1.0])
@pytest.mark.parametrize("seed", SEEDS)
def test_identification_is_the_best_of_all_thresholds_that_keep_the_rate(seed, rate):
    rng = np.random.default_rng(seed)
    classes = ["ann", "bob", "eve"]
    y = np.array([*classes, "new", "other"])[rng.integers(0, 5, 150)]
    own = y[:, None] == np.array(classes)
    scores = np.round(2 * (rng.normal(size=(150, 3)) + 2 * own)) / 2
    found = detection_identification_rate(y, scores, classes, false_accept_rate=rate)
    assert found == pytest.approx(identified_by_counting(y, scores, classes, rate))


def test_a_share_of_strangers_is_counted_exactly():
    """29 of 100 strangers are 0.29 of them, although 0.29 * 100 is a little below 29."""
    y = np.repeat([7, 0], [1, 100])
    scores = np.append(71.5, np.arange(1.0, 101.0))[:, None]  # 29 strangers score higher
    assert detection_identification_rate(y, scores, [7], false_accept_rate=0.29) == 1
    assert detection_identification_rate(y, scores, [7], false_accept_rate=0.28) == 0


def test_a_label_that_is_neither_known_nor_unknown_is_an_error():
    y, scores = ["ann", "ben", "?"], np.eye(3)[:, :2]
    assert detection_identification_rate(y, scores, ["ann", "bob"]) == 0
    with pytest.raises(ValueError, match="holds 'ben', neither among the classes nor unknown"):
        detection_identification_rate(y, scores, ["ann", "bob"], unknown="?")
    with pytest.raises(ValueError, match="unknown is 'bob', which is one of the classes"):
        detection_identification_rate(y, scores, ["ann", "bob"], unknown="bob")


@pytest.mark.parametrize(
    ("y", "scores", "classes", "words"),
    [
        (["a", "b"], np.eye(2), ["a", "b"], "2 of 2 samples are of known classes"),
        ([1, 2], np.eye(2), ["1", "2"], "0 of 2 samples are of known classes"),
        (["a", "?"], np.eye(3), ["a", "b"], r"shape \(2,\), scores \(3, 3\) and classes \(2,\)"),
        (["a", "?"], [[np.nan, 1], [1, 1]], ["a", "b"], "scores hold NaN for 1 of 2 samples"),
        (["a", "?"], np.eye(2), ["a", "a"], "expected each of them once"),
    ],
)
def test_open_sets_that_say_nothing_are_refused(y, scores, classes, words):
    with pytest.raises(ValueError, match=words):
        detection_identification_rate(y, scores, classes)


@pytest.mark.parametrize("rate", [-0.1, 1.1, np.nan, "low"])
def test_a_rate_is_a_number_from_0_to_1(rate):
    with pytest.raises(ValueError, match="expected a number from 0 to 1"):
        detection_identification_rate(["a", "?"], [[1], [0]], ["a"], false_accept_rate=rate)


# ── What comes in ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("metric", OF_SCORES)
def test_labels_are_booleans_or_one_and_another_number(metric):
    is_target, scores = trials(0)
    expected = metric(is_target, scores)
    for labels in (is_target.astype(int), np.where(is_target, 1, -1), is_target.tolist()):
        np.testing.assert_equal(metric(labels, scores), expected)


@pytest.mark.parametrize("metric", OF_SCORES)
def test_infinite_scores_are_legal(metric):
    is_target = np.array([False, False, True, True])
    scores = np.array([-np.inf, -np.inf, 1.0, np.inf])
    finite = np.array([-1e6, -1e6, 1.0, 1e6])
    found, expected = metric(is_target, scores), metric(is_target, finite)
    if metric is error_rates:
        found, expected = found[1:], expected[1:]
    np.testing.assert_allclose(found, expected)
    if metric is cllr:
        assert cllr(~is_target, scores) == np.inf  # sure of what is wrong


@pytest.mark.parametrize("metric", OF_SCORES)
@pytest.mark.parametrize(
    ("y", "scores", "words"),
    [
        ([1, 1], [0.0, 1.0], "holds 2 targets and 0 others; expected samples of both kinds"),
        ([0, 0], [0.0, 1.0], "holds 0 targets and 2 others"),
        ([], [], "holds 0 targets and 0 others"),
        ([0, 1], [np.nan, 1.0], "holds NaN for 1 of 2 samples"),
        ([0, 1, 1], [0.0, 1.0], r"y_true has shape \(3,\) and .* has shape \(2,\)"),
        ([[0, 1]], [[0.0, 1.0]], r"pass two arrays of shape \(n,\)"),
        ([0, 1], [[0.0, 1.0], [1.0, 0.0]], r"has shape \(2, 2\)"),
        (["a", "b"], [0.0, 1.0], "holds the labels 'a', 'b'; .* pass y_true == label"),
        ([1, 2], [0.0, 1.0], "holds the labels 1, 2; expected booleans"),
        ([0, 1], ["x", "y"], "does not hold numbers"),
    ],
)
def test_what_cannot_be_measured_is_refused_in_words(metric, y, scores, words):
    with pytest.raises(ValueError, match=words):
        metric(y, scores)


@pytest.mark.parametrize("weight", [[1.0], [1.0, -1.0], [np.inf, 1.0], [1.0, 0.0], ["a", "b"]])
def test_weights_are_finite_and_count_both_kinds(weight):
    with pytest.raises(ValueError, match="sample_weight"):
        equal_error_rate([0, 1], [0.0, 1.0], sample_weight=weight)


@pytest.mark.parametrize(
    "costs", [{"p_target": 0}, {"p_target": 1}, {"c_miss": -1}, {"c_false_accept": "high"}]
)
def test_costs_are_positive_and_a_prior_is_between_0_and_1(costs):
    (name,) = costs
    with pytest.raises(ValueError, match=f"{name} is .*; expected a number above 0"):
        min_dcf([0, 1], [0.0, 1.0], **costs)


# ── Where they are shown ────────────────────────────────────────────────────────────────────────

X, Y = load_digits().images, load_digits().target


def test_metrics_have_one_home():
    assert not hasattr(tenfold, "mean_average_precision")
    assert mean_average_precision.__module__.startswith("tenfold.metrics")


def test_an_evaluation_of_a_verifier_says_the_cost_of_its_ratios():
    verifier = ClassSpecificVerifier(MCSDA((4, 4)), positive=3, false_accept_rate=0.1)
    verifier.fit(X[:500], Y[:500])
    facts = evaluate(verifier, X[500:900], Y[500:900]).as_dict()
    ratios = verifier.projector_.decision_function(X[500:900])
    is_own = Y[500:900] == 3
    assert facts["cllr"] == pytest.approx(cllr(is_own, ratios))
    assert facts["min_cllr"] == pytest.approx(min_cllr(is_own, ratios))
    assert facts["equal_error_rate"] == pytest.approx(equal_error_rate(is_own, ratios))
    by_distance = MCSDA((4, 4), positive=3, decision="distance").fit(X[:500], Y[:500])
    assert "cllr" not in evaluate(by_distance, X[500:900], Y[500:900]).as_dict()


def test_the_report_of_a_verifier_says_the_cost_of_its_ratios(tmp_path):
    model = MCSDA((4, 4), positive=3).fit(X[:500], Y[:500])
    write_report(model, TensorDataset(X[500:600], Y[500:600]), tmp_path / "page.html")
    cost = cllr(Y[500:600] == 3, model.decision_function(X[500:600]))
    assert f"{cost:.3f} bits" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_an_evaluation_of_an_open_set_says_how_strangers_are_told_apart():
    known = Y[:600] < 8
    model = OpenSetClassifier(false_accept_rate=0.2).fit(X[:600][known], Y[:600][known])
    facts = evaluate(model, X[900:], Y[900:]).as_dict()["strangers"]
    scores = model.model_.log_likelihood_ratio(X[900:])
    is_known = Y[900:] < 8
    assert facts["equal_error_rate"] == equal_error_rate(is_known, model.score_samples(X[900:]))
    identified = detection_identification_rate(
        Y[900:], scores, model.classes_, false_accept_rate=0.2
    )
    assert facts["detection_identification_rate"] == identified
    assert 0.5 < identified < 1
    of_known = evaluate(model, X[900:][is_known], Y[900:][is_known]).as_dict()["strangers"]
    assert of_known["detection_identification_rate"] is None
