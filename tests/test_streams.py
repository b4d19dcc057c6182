"""Streams that change: forgetting, and taking back."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import subspace_angles
from sklearn.base import clone

from tenfold import (
    CSDA,
    MCSDA,
    ClassMoments,
    ClassSpecificClassifier,
    ProbabilisticLDA,
    gather_moments,
)
from tenfold.methods import LINEAR_METHODS

CLASSES = np.array(["a", "b", "c"])


def data(n=90, shape=(4, 3), seed=0, offset=0.0):
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.arange(n) % 3)
    centres = 2 * rng.normal(size=(3, *shape))
    scales = rng.uniform(0.5, 2, size=shape)
    return rng.normal(size=(n, *shape)) * scales + centres[codes] + offset, CLASSES[codes]


def assert_same_moments(found, expected, tolerance=1e-8):
    """Relative to the scatter of all samples, about their mean."""
    assert_array_equal(found.classes, expected.classes)
    assert_allclose(found.counts, expected.counts, rtol=1e-10, atol=1e-10)
    assert_array_equal(found.counts == 0, expected.counts == 0)
    scale = np.abs(expected.pooled().scatters).max()
    assert np.abs(found.scatters - expected.scatters).max() <= tolerance * scale
    spread = np.sqrt(scale / expected.count)
    assert np.abs(found.means - expected.means).max() <= tolerance * max(spread, 1e-300)


# ── Taking back ─────────────────────────────────────────────────────────────────────────────────


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    weighted=st.booleans(),
    offset=st.sampled_from([0.0, 1e3, -1e6]),
    n_batches=st.integers(2, 6),
)
def test_taking_back_any_batch_is_never_having_seen_it(seed, weighted, offset, n_batches):
    """In any order, one or several, whatever the cut."""
    rng = np.random.default_rng(seed)
    X, y = data(seed=seed % 7, offset=offset)
    weight = rng.uniform(0.1, 3, len(X)) if weighted else np.ones(len(X))
    number = rng.integers(0, n_batches, len(X))
    batches = [np.flatnonzero(number == b) for b in range(n_batches)]

    def moments(rows):
        return ClassMoments.from_batch(X[rows], y[rows], weight[rows], classes=CLASSES)

    total = moments(batches[0])
    for rows in batches[1:]:
        total = total + moments(rows)
    gone = rng.permutation(n_batches)[: rng.integers(1, n_batches)]
    for b in gone:
        total = total - moments(batches[b])
    kept = np.flatnonzero(~np.isin(number, gone))
    assert_same_moments(total, moments(kept))


def test_all_but_one_sample_can_be_taken_back():
    X, y = data()
    only = np.flatnonzero(y == "b")
    taken = ClassMoments.from_batch(X[only[1:]], y[only[1:]])
    found = ClassMoments.from_batch(X, y) - taken
    assert_allclose(found.means[1], X[only[0]], rtol=1e-12)
    assert_array_equal(found.scatters[1], 0)  # not what rounding leaves
    alone = ClassMoments.from_batch(X[:2]) - ClassMoments.from_batch(X[1:2])
    assert_array_equal(alone.scatters, 0)


@pytest.mark.parametrize("offset", [0.0, 3.0])
@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("far", [1.0, 1e3])
def test_a_far_sample_of_few_is_taken_back(far, unit, offset):
    """What is left has no scatter in most directions, and rounding must not make it negative."""
    for seed in range(20):
        Z = np.random.default_rng(seed).normal(size=(4, 6)) * [[far], [1], [1], [1]]
        Z = unit * (Z - Z.mean(axis=0) + offset)
        left = ClassMoments.from_batch(Z) - ClassMoments.from_batch(Z[:1])
        expected = ClassMoments.from_batch(Z[1:])
        np.testing.assert_allclose(left.means, expected.means, atol=1e-9 * unit)
        np.testing.assert_allclose(left.scatters, expected.scatters, atol=1e-8 * unit**2)


def test_a_class_that_is_taken_back_whole_has_count_zero():
    X, y = data()
    weight = np.random.default_rng(0).uniform(0.1, 1, len(X))
    moments = ClassMoments.from_batch(X[:33], y[:33], weight[:33])
    moments = moments + ClassMoments.from_batch(X[33:], y[33:], weight[33:])
    own = y == "b"
    found = moments - ClassMoments.from_batch(X[own], y[own], weight[own])
    assert found.counts[1] == 0
    assert not found.means[1].any()
    assert not found.scatters[1].any()
    expected = ClassMoments.from_batch(X[~own], y[~own], weight[~own])
    assert_same_moments(found.present(), expected)


@pytest.mark.parametrize("offset", [1e9, 1e12])
def test_what_rounding_has_made_unknown_is_refused(offset):
    X, y = data(offset=offset)
    moments = ClassMoments.from_batch(X[:50], y[:50]) + ClassMoments.from_batch(X[50:], y[50:])
    with pytest.raises(ValueError, match=r"cannot be taken back exactly.*subtract the common"):
        moments - ClassMoments.from_batch(X[:50], y[:50])


def test_samples_that_drown_in_what_is_taken_are_refused():
    X, y = data()
    wild = 1e9 * X
    moments = ClassMoments.from_batch(X, y) + ClassMoments.from_batch(wild, y)
    with pytest.raises(ValueError, match=r"cannot be taken back exactly.*anew"):
        moments - ClassMoments.from_batch(wild, y)


def test_what_was_never_added_is_refused():
    X, y = data()
    moments = ClassMoments.from_batch(X, y)
    with pytest.raises(ValueError, match="60 of them are taken from 30"):
        moments - ClassMoments.from_batch(np.concatenate([X, X]), np.tile(y, 2))
    with pytest.raises(ValueError, match="negative eigenvalue"):
        moments - ClassMoments.from_batch(X[:9] + 30, y[:9])
    with pytest.raises(ValueError, match="class z cannot be taken back: there are none"):
        moments - ClassMoments.from_batch(X[:1], np.array(["z"]))
    with pytest.raises(ValueError, match="all of them are taken, but those that are there differ"):
        moments - ClassMoments.from_batch(1.001 * X, y)
    with pytest.raises(ValueError, match="labels are numbers"):
        moments - ClassMoments.from_batch(X[:1], np.array([1]))
    with pytest.raises(ValueError, match=r"\(4, 3\) and \(2, 3\) cannot be added or taken"):
        moments - ClassMoments.from_batch(X[:, :2], y)


def test_a_negative_eigenvalue_is_found_where_no_variance_is_negative():
    """Every number of a sample varies less than before, and yet one direction varies negatively."""
    t = np.linspace(-1, 1, 11)
    moments = ClassMoments.from_batch(np.c_[t, t] + 1e-3 * np.c_[t**2, -(t**2)])
    across = np.array([[0.5, -0.5], [-0.5, 0.5]])
    left = np.diagonal(moments.scatters[0] - ClassMoments.from_batch(across).scatters[0])
    assert (left > 0).all()
    with pytest.raises(ValueError, match="negative eigenvalue"):
        moments - ClassMoments.from_batch(across)


# ── Forgetting ──────────────────────────────────────────────────────────────────────────────────


def test_decay_of_batches_is_the_weighted_sum_written_out():
    X, y = data()
    total, cuts = None, [0, 17, 40, 41, 90]
    weight = np.empty(90)
    for b, (i, j) in enumerate(pairwise(cuts)):
        batch = ClassMoments.from_batch(X[i:j], y[i:j], classes=CLASSES)
        total = batch if total is None else total.decay(0.7) + batch
        weight[i:j] = 0.7 ** (3 - b)
    assert_same_moments(total, ClassMoments.from_batch(X, y, weight), 1e-12)


def test_a_class_that_is_not_heard_of_for_long_is_forgotten_at_last():
    X, y = data()
    moments, news = ClassMoments.from_batch(X, y), y != "b"
    fresh = ClassMoments.from_batch(X[news], y[news])
    for _ in range(30):
        moments = moments.decay(1e-3) + fresh
    assert 0 < moments.counts[1] < 1e-80  # what it was like is still known
    assert_allclose(moments.means[1], X[~news].mean(axis=0), rtol=1e-12)
    for _ in range(80):
        moments = moments.decay(1e-3) + fresh
    assert moments.counts[1] == 0
    assert not moments.means[1].any()


@pytest.mark.parametrize("factor", [0, -0.5, 1.01, np.nan, np.inf, True, "0.9", None])
def test_factors_that_forget_nothing_known_are_refused(factor):
    X, y = data()
    with pytest.raises(ValueError, match=r"factor is .*above 0 and at most 1"):
        ClassMoments.from_batch(X, y).decay(factor)
    model = CSDA(positive="a").partial_fit(X, y)
    with pytest.raises(ValueError, match=r"decay is .*above 0 and at most 1"):
        model.partial_fit(X, y, decay=factor)


def test_a_decay_that_forgets_too_much_is_refused_and_changes_nothing():
    X, y = data()
    model = ProbabilisticLDA().partial_fit(X, y, classes=[*CLASSES, "never"])
    with pytest.raises(ValueError, match=r"decay forgets too much.*nearer to 1"):
        model.partial_fit(X[:1], y[:1], sample_weight=[0.5], decay=0.01)
    assert model.class_count_.tolist() == [30, 30, 30]
    assert model.classes_.tolist() == [*CLASSES]


# ── Estimators ──────────────────────────────────────────────────────────────────────────────────

TOGETHER = [
    ClassSpecificClassifier(MCSDA(ranks=2)),
    ClassSpecificClassifier(CSDA(shrinkage="auto")),
    ProbabilisticLDA(),
    ProbabilisticLDA("linear", priors="equal"),
]
MODELS = [M() for M in LINEAR_METHODS] + TOGETHER
each_model = pytest.mark.parametrize("model", MODELS, ids=repr)


def classes_for(model):
    """What to announce: MPCA sees no labels."""
    return CLASSES if getattr(model, "_needs_labels", True) else None


def assert_same_model(found, expected, X):
    assert_array_equal(found.classes_, expected.classes_)
    if hasattr(expected, "projections_"):
        for ours, theirs in zip(found.projections_, expected.projections_, strict=True):
            assert subspace_angles(ours, theirs).max() < 1e-7
    use = "distances" if hasattr(expected, "distances") else "predict_log_proba"
    use = use if hasattr(expected, use) else "decision_function"
    if hasattr(expected, use):
        scale = np.abs(getattr(expected, use)(X)).max()
        assert_allclose(getattr(found, use)(X), getattr(expected, use)(X), atol=1e-8 * scale)


@each_model
def test_a_model_of_moments_without_a_batch_never_saw_it(model):
    """Also of a window that slides."""
    X, y = data(n=120)
    weight = np.random.default_rng(2).uniform(0.5, 3, len(X))

    def moments(rows):
        return gather_moments(X[rows], y[rows], weight[rows])

    window = moments(slice(0, 40))
    for i in range(40, 100, 20):
        window = window + moments(slice(i, i + 20)) - moments(slice(i - 40, i - 20))
    found = clone(model).fit_moments(window)
    assert_same_model(found, clone(model).fit_moments(moments(slice(60, 100))), X)


@each_model
def test_an_estimator_that_forgets_is_one_of_weighted_samples(model):
    X, y = data()
    own = np.random.default_rng(2).uniform(0.5, 3, len(X))
    cuts, found = [0, 40, 55, 90], clone(model)
    ages = np.repeat([2, 1, 0], [40, 15, 35])
    for i, j in pairwise(cuts):
        found.partial_fit(X[i:j], y[i:j], classes_for(model), own[i:j], decay=0.6)
    expected = clone(model).partial_fit(X, y, classes_for(model), own * 0.6**ages)
    if hasattr(found, "moments_"):
        assert_same_moments(found.moments_, expected.moments_, 1e-12)
    assert_same_model(found, expected, X)


@pytest.mark.parametrize("digits", [None, 1])
@pytest.mark.parametrize("weighted", [False, True])
def test_more_samples_than_are_kept_give_one_model_in_any_cut(digits, weighted):
    """Beyond 2000 samples some are kept by a hash of their content; equal ones are one sample."""
    X, y = data(n=5000, shape=(3,), seed=1)
    X = X if digits is None else np.round(X, digits)
    weight = np.random.default_rng(2).uniform(0, 3, len(X)).round() if weighted else np.ones(len(X))
    model = ProbabilisticLDA("linear")
    whole = clone(model).fit(X, y, weight).predict_log_proba(X[:100])
    turned = np.random.default_rng(3).permutation(len(X))
    stream = clone(model)
    for rows in np.split(turned, [30, 2500, 2600, 4900]):
        stream.partial_fit(X[rows], y[rows], sample_weight=weight[rows])
    assert_allclose(stream.predict_log_proba(X[:100]), whole, atol=1e-7)
    again = np.repeat(np.arange(len(X)), weight.astype(int))
    repeated = clone(model).fit(X[again], y[again]).predict_log_proba(X[:100])
    assert_allclose(repeated, whole, atol=1e-7)


@pytest.mark.parametrize("model", [MCSDA(2, positive="a"), ClassSpecificClassifier(MCSDA(2))])
def test_a_class_without_weight_is_not_there_yet(model):
    X, y = data()
    here = y != "c"
    found = clone(model).partial_fit(X, y, sample_weight=here.astype(float))
    expected = clone(model).partial_fit(X[here], y[here])
    assert found.classes_.tolist() == ["a", "b"]
    assert_same_moments(found.moments_, expected.moments_)
    assert_allclose(found.decision_function(X), expected.decision_function(X), atol=1e-8)


@pytest.mark.parametrize(
    "model",
    [
        MCSDA(2, positive="a"),
        ClassSpecificClassifier(MCSDA(2)),
        ProbabilisticLDA(views=["numbers"]),
    ],
)
def test_samples_without_weight_are_of_no_class_that_was_not_announced(model):
    X, y = data()
    here = y != "c"
    weight = here.astype(float)
    found = clone(model).partial_fit(X, y, classes=["a", "b"], sample_weight=weight)
    found.partial_fit(X, y, sample_weight=weight)
    assert found.classes_.tolist() == ["a", "b"]
