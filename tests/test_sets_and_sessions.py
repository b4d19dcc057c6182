"""Laws of ProbabilisticLDA for groups that are held out together, sets and other sessions."""

from copy import deepcopy

import dask.array as da
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits

from tenfold import MPCA, ProbabilisticLDA

X, Y = load_digits().images, load_digits().target
TRAIN, TEST = slice(0, 300), slice(300, 800)
MODELS = [ProbabilisticLDA(), ProbabilisticLDA([MPCA((5, 5))]), ProbabilisticLDA(["numbers"])]
KINDS = ["all numbers", "projected", "to the letter"]
each_model = pytest.mark.parametrize("model", MODELS, ids=KINDS)


# ── Groups ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.long
def test_samples_twice_in_one_group_are_samples_of_weight_two():
    numbers = np.arange(300)
    twice = ProbabilisticLDA().fit(
        np.concatenate([X[TRAIN], X[TRAIN]]),
        np.tile(Y[TRAIN], 2),
        groups=np.tile(numbers, 2),
    )
    weighted = ProbabilisticLDA().fit(X[TRAIN], Y[TRAIN], np.full(300, 2.0), groups=numbers)
    assert_allclose(twice.weights_, weighted.weights_, atol=1e-6)
    found, expected = (m.predict_log_proba(X[TEST]) for m in (twice, weighted))
    assert_allclose(found, expected, atol=1e-6)


@pytest.mark.long
def test_noisy_copies_deceive_unless_they_are_held_out_together():
    """A copy in another fold is nearly the held-out sample, and so looks easy to tell."""
    rng = np.random.default_rng(0)
    rows, n = slice(0, 100), 100
    copies = np.concatenate([X[rows] + rng.normal(size=X[rows].shape) for _ in range(5)])
    y = np.tile(Y[rows], 5)
    apart = ProbabilisticLDA().fit(copies, y)
    together = ProbabilisticLDA().fit(copies, y, groups=np.tile(np.arange(n), 5))

    def log_loss(model):
        found = model.predict_log_proba(X[TEST])
        return -found[np.arange(500), Y[TEST]].mean()

    assert log_loss(together) < log_loss(apart) - 0.02
    assert together.loo_log_loss_ > apart.loo_log_loss_


def test_groups_that_do_not_fit_are_refused_in_words():
    model = ProbabilisticLDA()
    with pytest.raises(ValueError, match="groups has shape \\(7,\\), but there are 300 samples"):
        model.fit(X[TRAIN], Y[TRAIN], groups=np.arange(7))
    with pytest.raises(ValueError, match="groups contains NaN"):
        model.fit(X[TRAIN], Y[TRAIN], groups=np.full(300, np.nan))


def test_one_group_leaves_nothing_to_hold_out():
    with pytest.raises(ValueError, match="groups has one group only"):
        ProbabilisticLDA().fit(X[TRAIN], Y[TRAIN], groups=np.zeros(300))


# ── Sets ────────────────────────────────────────────────────────────────────────────────────────


@each_model
def test_the_score_of_a_set_is_the_mean_of_its_samples(model):
    model.fit(X[TRAIN], Y[TRAIN])
    sets = np.array(["b", "a", "b", "c", "a"])
    names, scores = model.set_scores(X[TEST][:5], sets)
    each = model.log_likelihood_ratio(X[TEST][:5])
    assert names.tolist() == ["a", "b", "c"]
    assert_allclose(scores, [each[[1, 4]].mean(axis=0), each[[0, 2]].mean(axis=0), each[3]])


def test_dask_arrays_and_stores_are_scored_and_adapted_to_like_arrays():
    model = ProbabilisticLDA(["numbers"]).fit(X[TRAIN], Y[TRAIN])
    lazy, sets = da.from_array(X[TEST], chunks=(70, 8, 8)), np.arange(500) % 7
    for ours, expected in zip(
        model.set_scores(lazy, sets), model.set_scores(X[TEST], sets), strict=True
    ):
        assert_allclose(ours, expected)
    found = deepcopy(model).adapt(lazy).predict_log_proba(X[TEST])
    assert_allclose(found, deepcopy(model).adapt(X[TEST]).predict_log_proba(X[TEST]), atol=1e-8)


def test_sets_of_two_classes_have_two_columns():
    two = Y < 2
    model = ProbabilisticLDA().fit(X[two], Y[two])
    _, scores = model.set_scores(X[two], Y[two])
    assert scores.shape == (2, 2)
    assert_array_equal(scores.argmax(axis=1), [0, 1])


def test_several_samples_say_more_than_one():
    model = ProbabilisticLDA().fit(X[:60], Y[:60])
    sets = 100 * Y[TEST] + np.arange(500) % 10  # some five samples each
    names, scores = model.set_scores(X[TEST], sets)
    assert (scores.argmax(axis=1) == names // 100).mean() > model.score(X[TEST], Y[TEST]) + 0.05


def test_sets_that_do_not_fit_are_refused_in_words():
    model = ProbabilisticLDA(["numbers"]).fit(X[TRAIN], Y[TRAIN])
    with pytest.raises(ValueError, match="sets has shape \\(3,\\), but there are 500 samples"):
        model.set_scores(X[TEST], [1, 2, 3])
    with pytest.raises(ValueError, match="Input sets contains NaN or None"):
        model.set_scores(X[:2], np.array(["a", None], dtype=object))


# ── Sessions ────────────────────────────────────────────────────────────────────────────────────


@each_model
def test_what_moves_all_samples_of_a_session_is_taken_away(model):
    model.fit(X[TRAIN], Y[TRAIN])
    shift = np.random.default_rng(0).normal(size=(8, 8)) * 5
    here = deepcopy(model).adapt(X[TEST]).predict_log_proba(X[TEST])
    there = deepcopy(model).adapt(X[TEST] + shift).predict_log_proba(X[TEST] + shift)
    assert_allclose(there, here, atol=1e-7)
    assert model.score(X[TEST] + shift, Y[TEST]) < (there.argmax(axis=1) == Y[TEST]).mean() - 0.08


@each_model
def test_the_session_of_the_training_samples_changes_little(model):
    model.fit(X[TRAIN], Y[TRAIN])
    adapted = deepcopy(model).adapt(X[TRAIN])
    assert (adapted.predict(X[TEST]) == model.predict(X[TEST])).mean() > 0.95
