"""Laws of decisions at their edges: banks, verifiers and Gaussian classes, found by mutants."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.calibration import calibration_curve
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, confusion_matrix
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from reference import problem
from tenfold import (
    MCSDA,
    MPCA,
    ClassMoments,
    ClassSpecificClassifier,
    ClassSpecificVerifier,
    KernelCSDA,
    ProbabilisticLDA,
    RateWarning,
    gather_moments,
    mean_average_precision,
)
from tenfold.decisions.calibration import reliability
from tenfold.decisions.features import features_of
from tenfold.decisions.metrics import class_metrics, equal_errors, evaluate
from tenfold.decisions.scores import (
    ClassScores,
)
from tenfold.decisions.verification import fold_plan

X, y = problem((4, 3), classes=4, per_class=12, seed=61, spread=0.6)
NEW, NEW_Y = problem((4, 3), classes=4, per_class=9, seed=61, spread=0.9)
PROJECTOR = MCSDA(ranks=2, tol=10.0)


def bank(**parameters):
    return ClassSpecificClassifier(PROJECTOR, **parameters)


def verifier(**parameters):
    return ClassSpecificVerifier(
        PROJECTOR, **{"positive": 1, "false_accept_rate": 0.4, **parameters}
    )


# ── As estimators of scikit-learn ───────────────────────────────────────────────────────────────


def test_the_tags_of_models_that_decide_tell_the_truth():
    projector = MCSDA(ranks=2, tol=10.0)
    models = [
        ClassSpecificClassifier(projector),
        ClassSpecificVerifier(projector, positive=1, false_accept_rate=0.4),
        ProbabilisticLDA(),
    ]
    for model in models:
        tags = model.__sklearn_tags__()
        assert tags.input_tags.two_d_array
        assert tags.input_tags.three_d_array
        assert not tags.input_tags.allow_nan
        assert tags.classifier_tags.multi_class == (not isinstance(model, ClassSpecificVerifier))


@pytest.mark.parametrize(
    ("model", "methods"),
    [
        (bank(), ("predict", "decision_function", "distances")),
        (bank(classifier=LogisticRegression()), ("predict", "decision_function", "predict_proba")),
        (verifier(), ("predict", "decision_function", "similarity")),
        (
            ProbabilisticLDA(),
            ("predict", "decision_function", "predict_proba", "predict_log_proba", "recentred"),
        ),
    ],
    ids=["bank", "second classifier", "verifier", "gaussian"],
)
def test_what_is_not_fitted_says_so_whatever_it_is_asked(model, methods):
    for method in methods:
        with pytest.raises(NotFittedError, match="fit"):
            getattr(model, method)(X)
    with pytest.raises(NotFittedError, match="fit"):
        model.score(X, y)
    if isinstance(model, ProbabilisticLDA):
        with pytest.raises(NotFittedError, match="fit"):
            model.set_scores(X, y)
        with pytest.raises(NotFittedError, match="fit"):
            model.enrol(X, y)
    with pytest.raises(NotFittedError, match="fit"):
        _ = model.members_


def test_using_a_bank_changes_nothing_in_it():
    model = ClassSpecificClassifier(PROJECTOR).fit(X, y)
    before = {name: id(value) for name, value in vars(model).items()}
    model.predict(NEW)
    model.decision_function(NEW)
    assert {name: id(value) for name, value in vars(model).items()} == before


def test_what_is_no_projector_is_refused_as_such():
    with pytest.raises(ValueError, match="expected a class-specific"):
        ClassSpecificClassifier(LogisticRegression()).partial_fit(X, y)


def test_a_saved_bank_has_what_was_learned_and_nothing_made_of_it():
    model = bank().fit(X, y)
    loaded = pickle.loads(pickle.dumps(model))
    assert {"_stacked"}.isdisjoint(vars(loaded))  # as large as all projections together
    np.testing.assert_array_equal(loaded.distances(NEW), model.distances(NEW))


def test_a_bank_goes_on_from_a_fit_where_its_projector_does():
    half = np.arange(len(X)) % 2 == 0
    model = bank().fit(X[half], y[half]).partial_fit(X[~half], y[~half])
    np.testing.assert_allclose(model.distances(NEW), bank().fit(X, y).distances(NEW), rtol=1e-7)
    assert not hasattr(ClassSpecificClassifier(KernelCSDA()).fit(X, y), "moments_")


# ── Metrics ─────────────────────────────────────────────────────────────────────────────────────


def test_rows_of_a_confusion_are_labels_and_columns_are_decisions():
    model = bank().fit(X, y)
    labels = np.where(NEW_Y == 2, 0, NEW_Y)  # class 2 is decided for and never right
    decided = model.predict(NEW)
    expected = confusion_matrix(labels, decided, labels=range(4))
    assert (expected != expected.T).any()
    np.testing.assert_array_equal(
        evaluate(model, NEW, labels).as_dict()["confusion"]["counts"], expected
    )


@pytest.mark.parametrize("model", [bank(), ProbabilisticLDA()], ids=["bank", "gaussian"])
def test_mean_average_precision_of_two_classes_looks_for_both(model):
    two, new = y < 2, NEW_Y < 2
    model.fit(X[two], y[two])
    scores = np.asarray(model.decision_function(NEW[new]))
    expected = np.mean(
        [average_precision_score(NEW_Y[new] == c, s) for c, s in enumerate((-scores, scores))]
    )
    assert mean_average_precision(model, NEW[new], NEW_Y[new]) == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(10))
def test_equal_errors_differ_least_of_all_thresholds(seed):
    rng = np.random.default_rng(seed)
    own = rng.permutation(np.arange(20) < 7)
    scores = rng.integers(0, 9, 20) + 2.0 * own

    def shares(limit):
        return np.mean(scores[~own] >= limit), np.mean(scores[own] < limit)

    rate, threshold = equal_errors(scores, own)
    accepts, rejects = shares(threshold)
    assert rate == pytest.approx((accepts + rejects) / 2)
    assert threshold in scores
    gaps = [abs(np.subtract(*shares(limit))) for limit in scores]
    assert abs(accepts - rejects) == pytest.approx(min(gaps))
    one = class_metrics(ClassScores(1, scores, own, None))
    assert one.chosen_here
    assert one.threshold == threshold
    assert one.equal_error_rate == rate


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


def test_a_pipeline_prepares_samples_step_by_step():
    steps = [FunctionTransformer(lambda Z: 2 * Z), FunctionTransformer(lambda Z: Z + 1)]
    pipeline = make_pipeline(*steps, ProbabilisticLDA()).fit(X, y)
    features = features_of(pipeline, NEW)[1]
    model, prepared = pipeline[-1], 2 * NEW + 1
    np.testing.assert_array_equal(features, features_of(model, prepared)[1])
    found = mean_average_precision(pipeline, NEW, NEW_Y)
    assert found == mean_average_precision(model, prepared, NEW_Y)
    by_hand = [
        average_precision_score(c == NEW_Y, model.predict_log_proba(prepared)[:, c])
        for c in range(4)
    ]
    assert found == pytest.approx(np.mean(by_hand))


# ── Folds ───────────────────────────────────────────────────────────────────────────────────────


def test_a_fold_that_leaves_one_class_is_refused():
    only_own = [(np.flatnonzero(y == 1), np.flatnonzero(y != 1))]
    with pytest.raises(ValueError, match=r"1 class .* only; pass samples of at least two"):
        verifier(cv=only_own).fit(X, y)


def spread_of_others(train, labels):
    """By a plain fit, the root mean square distance of others from the positive mean."""
    model = MCSDA(ranks=2, tol=10.0, positive=1).fit(train, labels)
    return np.sqrt(np.mean(model.decision_function(train[labels != 1]) ** 2))


def moved(by, cv):
    """Six classes, of which one is moved, and how far the spreads of folds are from that of all."""
    samples, labels = problem((4, 3), classes=6, per_class=12, seed=61, spread=0.6)
    samples = samples + np.where(labels == 5, by, 0.0)[:, None, None]
    plan = fold_plan(cv, samples, labels, 1, np.full(len(labels), True))
    whole = spread_of_others(samples, labels)
    folds = plan.impostors[0]
    parts = [np.flatnonzero(folds != fold) for fold in range(folds.max() + 1)]
    spreads = [spread_of_others(samples[rows], labels[rows]) for rows in parts]
    return samples, labels, np.exp(np.mean(np.abs(np.log(np.array(spreads) / whole))))


def test_rates_of_zero_and_one_are_rates():
    strictest = verifier(false_accept_rate=0).fit(X, y)
    assert not strictest.predict(NEW).any()
    assert not strictest.predict(strictest.projector_.mean_[None]).any()  # nor the mean itself
    assert verifier(false_accept_rate=1).fit(X, y).predict(NEW).all()
    for rate in (-1e-9, 1 + 1e-9):
        with pytest.raises(ValueError, match="false_accept_rate is"):
            verifier(false_accept_rate=rate).fit(X, y)


def test_two_labels_in_any_form_are_not_one_class_to_verify():
    for labels in ([0, 1], (0, 1), np.array([0, 1])):
        with pytest.raises(ValueError, match="expected one label"):
            verifier(positive=labels).fit(X, y)


def test_a_verifier_of_two_classes_knows_which_one_it_verifies():
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a projector that must guess the class says so
        model = verifier(positive=None).fit(X, y == 1)
    assert model.projector_.positive_label_


def test_a_single_other_class_is_extrapolated_from():
    with pytest.warns(RateWarning, match=r"the other samples can promise .* extrapolates from"):
        verifier(positive=None, false_accept_rate=1e-4).fit(X, y == 1)


# ── Gaussian classes that come and go ───────────────────────────────────────────────────────────


def test_moments_of_folds_that_do_not_fit_are_refused(allow):
    allow(8 * 4 * 12**2)  # one table of each class, and there are folds
    ProbabilisticLDA(shrinkage=0.5).partial_fit(X, y)
    with pytest.raises(ValueError, match=r"moments of \d+ classes .* more than the budget"):
        ProbabilisticLDA().partial_fit(X, y)


def test_two_classes_and_two_samples_of_one_of_them_are_enough():
    one, two, three = np.flatnonzero(y == 0)[:1], np.flatnonzero(y == 1)[:2], [0, 1]
    for rows in (one, two, np.append(one, two[:1])):
        model = ProbabilisticLDA().partial_fit(X[rows], y[rows], classes=three)
        assert not hasattr(model, "directions_")
    rows = np.append(one, two)
    model = ProbabilisticLDA().partial_fit(X[rows], y[rows], classes=three)
    np.testing.assert_array_equal(model.predict(X[rows]), y[rows])


def test_groups_say_nothing_where_nothing_is_held_out():
    plain = ProbabilisticLDA(shrinkage=0.3).fit(X, y)
    grouped = ProbabilisticLDA(shrinkage=0.3).fit(X, y, groups=np.arange(len(X)) % 12)
    np.testing.assert_array_equal(grouped.decision_function(NEW), plain.decision_function(NEW))
    np.testing.assert_array_equal(grouped.class_count_, plain.class_count_)


def test_moments_in_folds_are_kept_where_the_folds_were_used():
    moments = gather_moments(X, y, folds=True)
    assert hasattr(ProbabilisticLDA().fit_moments(moments), "moments_")
    to_the_letter = ProbabilisticLDA(shrinkage=0.3).fit_moments(moments)
    assert to_the_letter.moments_.folds is None
    found = ProbabilisticLDA(shrinkage=0.3).fit(X, y).predict_log_proba(NEW)
    np.testing.assert_allclose(to_the_letter.predict_log_proba(NEW), found, rtol=1e-6, atol=1e-9)
    with pytest.raises(ValueError, match="1 class"):
        ProbabilisticLDA().fit_moments(gather_moments(X[y == 1], y[y == 1], folds=True))
    with pytest.raises(ValueError, match="1 class"):
        ProbabilisticLDA().fit_moments(ClassMoments.from_batch(X[y == 1], y[y == 1]))


def test_held_out_samples_ask_for_more_shrinkage_where_there_are_few():
    rng = np.random.default_rng(3)
    chosen = {}
    for n in (16, 800):
        labels = np.arange(n) % 4
        samples = rng.normal(size=(n, 8)) * np.linspace(0.1, 3, 8)
        samples += 0.5 * np.random.default_rng(0).normal(size=(4, 8))[labels]
        chosen[n] = ProbabilisticLDA().fit(samples, labels).shrinkage_
    assert chosen[16] > chosen[800]


@pytest.mark.parametrize("n", [10, 40])
def test_samples_without_weight_span_nothing(n):
    rows = np.argsort(np.arange(len(X)) % 12, kind="stable")[:n]  # of all four classes
    weight = np.tile([1.0, 1.5], n // 2)
    strange = np.append(X[rows], 1e3 * X[rows][:4] + 1e4, axis=0)
    labels = np.append(y[rows], y[rows][:4])
    some = ProbabilisticLDA(shrinkage=0.3).fit(X[rows], y[rows], weight)
    all_ = ProbabilisticLDA(shrinkage=0.3).fit(strange, labels, np.append(weight, np.zeros(4)))
    found, expected = (model.predict_log_proba(NEW) for model in (all_, some))
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


def test_flat_rows_are_folded_as_the_projector_says():
    flat = MPCA(ranks=(2, 2), sample_shape=(4, 3), tol=10.0)
    folded = ProbabilisticLDA(flat).fit(X.reshape(len(X), -1), y)
    plain = ProbabilisticLDA(MPCA(ranks=(2, 2), tol=10.0)).fit(X, y)
    assert folded.sample_shape_ == (4, 3)
    found = folded.predict_log_proba(NEW.reshape(len(NEW), -1))
    np.testing.assert_allclose(found, plain.predict_log_proba(NEW), rtol=1e-9)
