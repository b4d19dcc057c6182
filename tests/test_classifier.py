"""One model per class: each is the model fitted alone, and the nearest class wins."""

from functools import partial

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, TimeSeriesSplit
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

import reference
from reference import distance, problem
from tenfold import CSDA, MCSDA, MPCA, ClassSpecificClassifier
from tenfold.classifiers.folds import folds_of
from tenfold.metrics import mean_average_precision
from ways import learned, without_tables

# The laws here are of the paper's rule.
CSDA = partial(CSDA, decision="distance")
MCSDA = partial(MCSDA, decision="distance")

X, y = problem((5, 4), classes=4, per_class=15, seed=3)
NEW = problem((5, 4), classes=4, per_class=5, seed=3)[0] + 0.1
LABELS = np.array(["ant", "bee", "cat", "dog"])[y]
WEIGHT = np.random.default_rng(0).uniform(0.2, 3.0, len(X))
RANKS = {"ant": (2, 2), "bee": (1, 4), "cat": (5, 1), "dog": 3}

PROJECTORS = {
    "plain": MCSDA(ranks=(3, 2)),
    "one rank for each class": MCSDA(ranks=RANKS),
    "shrinkage": MCSDA(ranks=(3, 2), shrinkage=0.4),
    "automatic shrinkage": MCSDA(ranks=2, shrinkage="auto"),
    "absolute ridge": MCSDA(ranks=2, ridge=("absolute", 0.01)),
    "metric": MCSDA(ranks=2, orthonormal=False),
    "trace ratio": MCSDA(ranks=2, solver="trace_ratio", ridge=0.1),
    "vectors": CSDA(ranks=6),
    "shrunk vectors": CSDA(ranks=6, shrinkage="auto"),
}
each_projector = pytest.mark.parametrize("name", PROJECTORS)


def quickly(projector):
    """A few rounds suffice to compare, and where they end is compared as well."""
    alternates = "max_iter" in projector.get_params()
    return clone(projector).set_params(max_iter=4) if alternates else clone(projector)


def bank_of(name="plain", **parameters):
    return ClassSpecificClassifier(quickly(PROJECTORS[name]), **parameters)


def rms(values, weight=None):
    return np.sqrt(np.average(np.square(values), weights=weight))


# ── The stack ───────────────────────────────────────────────────────────────────────────────────


@each_projector
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["unweighted", "weighted"])
def test_each_model_of_the_stack_is_the_model_fitted_alone(name, weight):
    bank = bank_of(name).fit(X, LABELS, weight)
    assert [member.positive for member in bank.projectors_] == bank.classes_.tolist()
    for label, member in zip(bank.classes_, bank.projectors_, strict=True):
        alone = quickly(PROJECTORS[name]).set_params(positive=label).fit(X, LABELS, weight)
        assert distance(member.projections_, alone.projections_) <= 1e-8
        for mine, other in zip(member.projections_, alone.projections_, strict=True):
            np.testing.assert_allclose(mine, other, atol=1e-8)  # also signs and scale
        np.testing.assert_allclose(member.mean_, alone.mean_, atol=1e-12)
        np.testing.assert_allclose(member.objective_, alone.objective_, rtol=1e-8)
        assert (member.ranks_, member.n_iter_, member.converged_) == (
            alone.ranks_,
            alone.n_iter_,
            alone.converged_,
        )
        np.testing.assert_allclose(member.transform(NEW), alone.transform(NEW), atol=1e-8)


def test_the_stack_is_algorithm_1_written_sample_by_sample():
    projector = MCSDA((2, 3), ridge=("absolute", 0.1), shrinkage=0.0, max_iter=3, tol=0.0)
    bank = ClassSpecificClassifier(projector).fit(X, y)
    for label, member in zip(bank.classes_, bank.projectors_, strict=True):
        literal = reference.mcsda(X, y, label, (2, 3), ridge=0.1, rounds=3)
        assert distance(member.projections_, literal) <= 1e-8


def test_a_bank_learned_from_samples_is_its_members_and_the_bank_of_moments():
    with without_tables(X.shape[1:]):
        test_each_model_of_the_stack_is_the_model_fitted_alone("plain", WEIGHT)
    banks = [learned(bank_of("plain"), way, X, LABELS, WEIGHT) for way in ("moments", "samples")]
    one, other = (bank.distances(NEW) for bank in banks)
    np.testing.assert_allclose(one, other, rtol=1e-7)


@each_projector
def test_any_cut_of_the_data_gives_the_bank_of_one_fit(name):
    whole = bank_of(name).fit(X, LABELS, WEIGHT)
    grown = bank_of(name)
    for part in np.array_split(np.arange(len(X)), 5):
        grown.partial_fit(X[part], LABELS[part], np.unique(LABELS), WEIGHT[part])
    np.testing.assert_allclose(grown.distances(NEW), whole.distances(NEW), rtol=1e-7)
    np.testing.assert_allclose(grown.spreads_, whole.spreads_, rtol=1e-8)


def test_a_bank_that_lacks_a_class_gathers_and_cannot_predict_yet():
    bank = bank_of()
    first = y < 3
    bank.partial_fit(X[first], y[first], classes=range(4))
    with pytest.raises(NotFittedError):
        bank.predict(X)
    bank.partial_fit(X[~first], y[~first])
    np.testing.assert_array_equal(bank.predict(NEW), bank_of().fit(X, y).predict(NEW))


# ── Distances ───────────────────────────────────────────────────────────────────────────────────


@each_projector
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_distances_are_those_of_a_plain_loop(name, dtype):
    bank = bank_of(name, normalize=False).fit(X, LABELS)
    new = NEW.astype(dtype)
    found = bank.distances(new)
    assert found.shape == (len(NEW), 4)
    assert found.dtype == dtype
    for i, sample in enumerate(new[:20]):
        for c, member in enumerate(bank.projectors_):
            moved = sample - member.mean_
            factors = member.projections_
            moved = moved.ravel() if len(factors) == 1 else moved
            expected = np.linalg.norm(reference.projected(moved, factors))
            assert found[i, c] == pytest.approx(
                expected, rel=1e-10 if dtype == np.float64 else 1e-4
            )


def test_distances_are_those_of_the_members_a_bank_has_now():
    bank = bank_of(normalize=False).fit(X, y)
    before = bank.distances(NEW)
    bank.projectors_[1] = bank.projectors_[0]
    exchanged = bank.distances(NEW)
    np.testing.assert_allclose(exchanged[:, 1], before[:, 0], rtol=1e-12)
    np.testing.assert_allclose(exchanged[:, 2:], before[:, 2:], rtol=1e-12)
    bank.projectors_[0].mean_ = bank.projectors_[0].mean_ + 1.0
    assert not np.allclose(bank.distances(NEW)[:, 0], before[:, 0])
    again = bank.fit(X, y).distances(NEW)
    np.testing.assert_array_equal(again, before)


@pytest.mark.parametrize("scale", [1e-25, 1e25], ids=["tiny", "huge"])
def test_squares_that_float32_cannot_hold_change_no_decision(scale):
    bank, scaled = bank_of().fit(X, y), bank_of().fit(scale * X, y)
    small = (scale * NEW).astype(np.float32)
    np.testing.assert_array_equal(scaled.predict(small), bank.predict(NEW.astype(np.float32)))
    one = scaled.projectors_[0].decision_function(small)
    plain = bank.projectors_[0].decision_function(NEW)
    np.testing.assert_allclose(one / np.float32(scale), plain, rtol=1e-4)


def test_a_common_offset_costs_no_digits():
    near = bank_of().fit(X, y)
    far = bank_of().fit(X + 1e6, y)
    np.testing.assert_allclose(far.distances(NEW + 1e6), near.distances(NEW), rtol=1e-6)


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["unweighted", "weighted"])
@each_projector
def test_the_spread_of_the_others_is_their_rms_distance_sample_by_sample(name, weight):
    bank = bank_of(name, normalize=False).fit(X, LABELS, weight)
    for c, (label, member) in enumerate(zip(bank.classes_, bank.projectors_, strict=True)):
        others = label != LABELS
        lengths = [
            np.linalg.norm(member.transform(x[None]) - member.transform(member.mean_[None]))
            for x in X[others]
        ]
        expected = rms(lengths, None if weight is None else weight[others])
        assert bank.other_spreads_[c] == pytest.approx(expected, rel=1e-8)


def test_classes_compete_for_a_sample_and_the_nearest_still_wins():
    for normalize in ("others", "own"):
        bank = bank_of(normalize=normalize).fit(X, y)
        scores, near = bank.decision_function(NEW), -bank.distances(NEW)
        best_two = np.sort(near, axis=1)[:, -2:].mean(axis=1, keepdims=True)
        np.testing.assert_allclose(scores, near - best_two, rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(scores.argmax(axis=1), near.argmax(axis=1))
        np.testing.assert_array_equal(bank.classes_[scores.argmax(axis=1)], bank.predict(NEW))
    plain = bank_of(normalize=False).fit(X, y)
    np.testing.assert_array_equal(plain.decision_function(NEW), -plain.distances(NEW))


def test_a_shrunk_spread_is_mixed_as_the_scatter_was():
    bank = bank_of("shrinkage", normalize=False).fit(X, y)
    for c, member in enumerate(bank.projectors_):
        own = rms(bank.distances(X[y == c])[:, c])
        means = np.stack([X[y == label].mean(axis=0) for label in bank.classes_])
        about_own_means = rms(
            [
                np.linalg.norm(member.transform((x - means[k])[None]))
                for x, k in zip(X, y, strict=True)
            ]
        )
        expected = np.sqrt(0.6 * own**2 + 0.4 * about_own_means**2)
        assert bank.spreads_[c] == pytest.approx(expected, rel=1e-9)


def test_normalised_distances_are_in_units_of_the_spreads():
    choices = ("others", "own", False)
    others, normalized, plain = (bank_of(normalize=n).fit(X, y) for n in choices)
    np.testing.assert_allclose(
        normalized.distances(NEW), plain.distances(NEW) / plain.spreads_, rtol=1e-12
    )
    np.testing.assert_allclose(
        others.distances(NEW), plain.distances(NEW) / plain.other_spreads_, rtol=1e-12
    )
    np.testing.assert_array_equal(
        plain.predict(NEW), plain.classes_[plain.distances(NEW).argmin(axis=1)]
    )
    np.testing.assert_array_equal(
        normalized.predict(NEW), plain.classes_[normalized.distances(NEW).argmin(axis=1)]
    )


def test_a_class_of_one_sample_has_the_spread_of_all_classes():
    alone = np.append(np.flatnonzero(y != 3), np.flatnonzero(y == 3)[0])
    for name in ("plain", "shrinkage", "automatic shrinkage", "vectors"):
        bank = bank_of(name).fit(X[alone], y[alone])
        assert np.isfinite(bank.spreads_).all()
        assert (bank.spreads_ > 0).all()
        assert np.isfinite(bank.distances(NEW)).all()
        assert bank.predict(X[alone[-1:]]) == [3]


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("name", ["plain", "vectors"])
def test_the_spread_of_a_point_is_that_of_all_classes_in_its_subspace(name, weight):
    """All samples about the means of their own classes; the other classes keep theirs."""
    alone = np.append(np.flatnonzero(y != 3), np.flatnonzero(y == 3)[0])
    Z, labels, w = X[alone], y[alone], None if weight is None else weight[alone]
    bank = bank_of(name, normalize=False).set_params(projector__shrinkage=0.0)
    bank.fit(Z, labels, w)
    shares = np.ones(len(Z)) if w is None else w
    means = [np.average(Z[labels == c], axis=0, weights=shares[labels == c]) for c in range(4)]
    for c, member in enumerate(bank.projectors_):
        rows = labels == c if c != 3 else np.full(len(Z), True)
        steps = [
            np.linalg.norm(member.transform((x - means[k])[None]))
            for x, k in zip(Z[rows], labels[rows], strict=True)
        ]
        assert bank.spreads_[c] == pytest.approx(rms(steps, shares[rows]), rel=1e-8)


@pytest.mark.parametrize("statistics", ["moments", "samples"])
def test_classes_that_are_all_points_have_spreads_of_one(statistics):
    points = np.random.default_rng(0).normal(size=(3, 4, 3))[np.arange(12) % 3]
    bank = ClassSpecificClassifier(MCSDA(ranks=(2, 2), shrinkage=0.0))
    bank = learned(bank, statistics, points, np.arange(12) % 3)
    np.testing.assert_array_equal(bank.spreads_, np.ones(3))


# ── Decisions ───────────────────────────────────────────────────────────────────────────────────


def test_two_classes_have_one_score_that_prefers_the_second():
    two = y < 2
    bank = bank_of().fit(X[two], LABELS[two])
    scores, distances = bank.decision_function(NEW), bank.distances(NEW)
    assert scores.shape == (len(NEW),)
    assert distances.shape == (len(NEW), 2)
    np.testing.assert_array_equal(scores, distances[:, 0] - distances[:, 1])
    np.testing.assert_array_equal(bank.predict(NEW), np.where(scores > 0, "bee", "ant"))


def test_ties_go_to_the_first_of_the_sorted_classes():
    twice, labels = np.concatenate([X, X, X]), np.repeat(["b", "c", "a"], len(X))
    bank = ClassSpecificClassifier(MCSDA(ranks=2, max_iter=2), normalize=False).fit(twice, labels)
    np.testing.assert_allclose(np.ptp(bank.distances(NEW), axis=1), 0, atol=1e-9)
    exact = bank.projectors_[0]
    bank.projectors_ = [exact, exact, exact]
    assert set(bank.predict(NEW)) == {"a"}


def test_there_are_no_probabilities_without_a_classifier_that_has_them():
    assert not hasattr(bank_of(), "predict_proba")
    assert not hasattr(bank_of(classifier=SVC()), "predict_proba")
    assert hasattr(bank_of(classifier=LogisticRegression()), "predict_proba")
    assert not hasattr(bank_of(classifier=KNeighborsClassifier()), "decision_function")


# ── The second classifier ───────────────────────────────────────────────────────────────────────


class Recorder(ClassifierMixin, BaseEstimator):
    """Keeps what it was trained on where a test can see it."""

    seen: list = []  # noqa: RUF012

    def fit(self, X, y, sample_weight=None):
        Recorder.seen.append((X.copy(), y.copy(), sample_weight))
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return self.classes_[X.argmin(axis=1)]


def trained_on(X, y, weight=None, **parameters):
    """What the second classifier of a bank was given."""
    Recorder.seen.clear()
    bank_of(classifier=Recorder(), **parameters).fit(X, y, weight)
    (record,) = Recorder.seen
    return record


def test_the_second_classifier_learns_from_banks_that_never_saw_the_sample():
    distances, labels, weight = trained_on(X, LABELS)
    np.testing.assert_array_equal(labels, LABELS)
    assert weight is None
    for train, test in folds_of(5, LABELS):
        alone = bank_of().fit(X[train], LABELS[train])
        np.testing.assert_allclose(distances[test], alone.distances(X[test]), rtol=1e-7)


def test_folds_of_the_second_classifier_can_be_chosen():
    order = np.argsort(y, kind="stable")  # classes one after the other
    with pytest.raises(ValueError, match=r"training part of fold 0 has no sample of class .*0"):
        trained_on(X[order], y[order], cv=KFold(4))
    distances, labels, _ = trained_on(X, y, cv=TimeSeriesSplit(3))
    held = np.sort(np.concatenate([test for _, test in TimeSeriesSplit(3).split(X)]))
    np.testing.assert_array_equal(labels, y[held])
    assert np.isfinite(distances).all()


def test_samples_without_weight_do_not_train_the_second_classifier():
    weight = np.where(np.arange(len(X)) % 3 == 0, 0.0, WEIGHT)
    distances, labels, weights = trained_on(X, y, weight)
    used = weight > 0
    np.testing.assert_array_equal(labels, y[used])
    np.testing.assert_array_equal(weights, weight[used])
    np.testing.assert_allclose(distances, trained_on(X[used], y[used], weight[used])[0], rtol=1e-7)


@pytest.mark.parametrize("classifier", [SVC(), LogisticRegression(), KNeighborsClassifier(3)])
def test_decisions_are_those_of_the_second_classifier_on_distances(classifier):
    bank = bank_of(classifier=classifier).fit(X, LABELS)
    plain = bank_of().fit(X, LABELS)
    distances = plain.distances(NEW)
    np.testing.assert_allclose(bank.distances(NEW), distances, rtol=1e-10)
    for method in ("predict", "decision_function", "predict_proba"):
        assert hasattr(bank, method) == hasattr(classifier, method)
        if hasattr(classifier, method):
            expected = getattr(bank.classifier_, method)(distances)
            found = getattr(bank, method)(NEW)
            np.testing.assert_array_equal(found, expected)


def test_a_second_classifier_needs_what_it_needs():
    with pytest.raises(ValueError, match=r"KNeighborsClassifier.*takes no sample_weight"):
        bank_of(classifier=KNeighborsClassifier()).fit(X, y, WEIGHT)
    for method in ("partial_fit", "fit_moments"):
        assert hasattr(bank_of(), method)
        with pytest.raises(AttributeError) as caught:
            getattr(bank_of(classifier=SVC()), method)
        assert "need all samples at once; use fit" in str(caught.value.__cause__)
    once = np.append(np.flatnonzero(y != 3), np.flatnonzero(y == 3)[0])
    with pytest.raises(ValueError, match=r"at least 2 samples of every class, but class 3 has 1"):
        bank_of(classifier=SVC()).fit(X[once], y[once])


def test_a_failed_fit_leaves_the_bank_as_it_was():
    bank = bank_of(classifier=SVC()).fit(X, y)
    before = bank.predict(NEW)
    with pytest.raises(ValueError, match="rank 9 does not fit mode 0"):
        bank.set_params(projector__ranks=9).fit(X, y)
    np.testing.assert_array_equal(bank.predict(NEW), before)


# ── Bad input ───────────────────────────────────────────────────────────────────────────────────


def test_bad_banks_say_what_is_wrong():
    with pytest.raises(ValueError, match=r"projector is MPCA\(\); expected a class-specific"):
        ClassSpecificClassifier(MPCA()).fit(X, y)
    with pytest.raises(ValueError, match=r"1 class .*2.* only; pass samples of at least two"):
        bank_of().fit(X, np.full(len(X), 2))
    lacking = {"ant": 2, "bee": 2, "cat": 2}
    with pytest.raises(ValueError, match=r"not the class .*'dog'.*; give every class its own"):
        ClassSpecificClassifier(MCSDA(ranks=lacking)).fit(X, LABELS)
    with pytest.raises(ValueError, match=r"rank 6 does not fit mode 0, which has 5 entries"):
        ClassSpecificClassifier(MCSDA(ranks={**RANKS, "dog": 6})).fit(X, LABELS)
    with pytest.raises(NotFittedError):
        bank_of().predict(X)
    with pytest.raises(ValueError, match=r"shape \(4, 5\).*fitted on \(5, 4\); transpose"):
        bank_of().fit(X, y).predict(X.swapaxes(1, 2))


def test_models_that_do_not_rest_are_counted_in_one_warning():
    with pytest.warns(ConvergenceWarning, match=r"\d of 4 MCSDA models still changed") as record:
        ClassSpecificClassifier(MCSDA(ranks=2, max_iter=1)).fit(X, y)
    assert len(record) == 1


# ── As a scikit-learn classifier ────────────────────────────────────────────────────────────────


def test_one_versus_rest_over_projectors_is_the_plain_bank():
    """Without shrinkage, for which the others are one class or many."""
    flat, csda = X.reshape(len(X), -1), CSDA(ranks=6, shrinkage=0.0)
    rest = OneVsRestClassifier(csda).fit(flat, y)
    bank = ClassSpecificClassifier(csda, normalize=False).fit(flat, y)
    flat = NEW.reshape(len(NEW), -1)
    np.testing.assert_allclose(
        rest.decision_function(flat), bank.decision_function(flat), rtol=1e-8
    )


# ── Mean average precision ──────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["unweighted", "weighted"])
def test_mean_average_precision_is_the_mean_of_what_the_models_score_alone(weight):
    """As in the paper, whose classes do not compete; of two classes they always do."""
    for chosen in (np.ones(len(y), dtype=bool), y > 0):
        bank = bank_of(normalize=False).fit(X[chosen], LABELS[chosen])
        own = None if weight is None else weight[chosen]
        alone = [member.score(X[chosen], LABELS[chosen], own) for member in bank.projectors_]
        found = mean_average_precision(bank, X[chosen], LABELS[chosen], own)
        assert found == pytest.approx(np.mean(alone), abs=1e-12)


def test_mean_average_precision_leaves_out_classes_that_are_not_there():
    bank = bank_of(normalize=False).fit(X, LABELS)
    some = LABELS != "cat"
    alone = [bank.projectors_[c].score(X[some], LABELS[some]) for c in (0, 1, 3)]
    assert mean_average_precision(bank, X[some], LABELS[some]) == pytest.approx(np.mean(alone))
    with pytest.raises(ValueError, match=r"none of the labels \['eel'\] is a class of the model"):
        mean_average_precision(bank, X, np.full(len(X), "eel"))


def test_mean_average_precision_refuses_labels_of_another_kind():
    many = np.arange(len(X)) % 20  # with so many NumPy compares numbers as text
    bank = ClassSpecificClassifier(MCSDA(tol=10.0)).fit(X, many)
    with pytest.raises(ValueError, match=r"labels are text .* are numbers .*; convert"):
        mean_average_precision(bank, X, many.astype(str))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        mean_average_precision(bank, X, many[1:])
