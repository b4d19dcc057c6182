"""One class against one other label: all ranks come, and the scores rank as with many labels."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_digits

from reference import problem
from tenfold import CSDA, MCSDA, ClassSpecificClassifier, gather_moments, load_model

DIGITS = load_digits()
X, Y = DIGITS.images, DIGITS.target


def mean_average_precision(make):
    """Of the ten digits, each against all others, the first 900 images for training."""
    return np.mean(
        [make().fit(X[:900], Y[:900] == c).score(X[900:], Y[900:] == c) for c in range(10)]
    )


def test_two_labels_keep_the_ranks_and_find_the_class():
    assert MCSDA(ranks=(5, 5), positive=True).fit(X[:900], Y[:900] == 7).ranks_ == (5, 5)
    assert mean_average_precision(lambda: MCSDA(ranks=(5, 5), positive=True)) >= 0.94


def test_two_labels_of_vectors_find_the_class():
    assert mean_average_precision(lambda: CSDA(positive=True)) >= 0.94


@pytest.mark.parametrize("start", [None, "identity"])
def test_the_difference_of_two_means_keeps_its_ranks(start):
    model = MCSDA(ranks=(5, 5), positive=True, negatives="means", init=start)
    assert model.fit(X[:900], Y[:900] == 7).ranks_ == (5, 5)


def test_the_papers_start_is_one_setting_away():
    model = MCSDA(ranks=(5, 5), positive=True, negatives="means", init="ones")
    with pytest.warns(UserWarning, match=r"^ranks is \(5, 5\), but MCSDA found ranks \(1, 1\)"):
        model.fit(X[:900], Y[:900] == 7)
    assert model.ranks_ == (1, 1)
    paper = MCSDA(ranks=(5, 5), positive=True, decision="distance")
    explicit = MCSDA((5, 5), positive=True, decision="distance", negatives="samples", init="ones")
    labels = Y[:900] == 7
    first, second = paper.fit(X[:900], labels), explicit.fit(X[:900], labels)
    np.testing.assert_array_equal(first.decision_function(X), second.decision_function(X))


def test_ranks_that_cannot_be_had_are_said_in_a_warning():
    with pytest.warns(UserWarning, match=r"^ranks is 5, but CSDA found ranks \(1,\).*negatives"):
        CSDA(ranks=5, positive=True).fit(X[:900], Y[:900] == 7)
    with pytest.warns(UserWarning, match=r"^ranks is 20, but CSDA found ranks \(9,\)"):
        ClassSpecificClassifier(CSDA(ranks=20)).fit(X[:900], Y[:900])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        CSDA(positive=True).fit(X[:900], Y[:900] == 7)  # nobody asked for a number
        MCSDA(ranks=0.9, positive=True).fit(X[:900], Y[:900] == 7)


def test_a_stream_and_moments_give_the_same_scores(tmp_path):
    labels = Y[:900] == 3
    whole = MCSDA(ranks=(4, 4), positive=True).fit(X[:900], labels)
    stream = MCSDA(ranks=(4, 4), positive=True)
    for rows in (slice(0, 250), slice(250, 900)):
        stream.partial_fit(X[rows], labels[rows], classes=[False, True])
    moments = MCSDA(ranks=(4, 4), positive=True).fit_moments(gather_moments(X[:900], labels))
    expected = whole.decision_function(X[900:])
    np.testing.assert_allclose(stream.decision_function(X[900:]), expected, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(moments.decision_function(X[900:]), expected, rtol=1e-6, atol=1e-6)
    whole.save(tmp_path / "model.safetensors")
    again = load_model(tmp_path / "model.safetensors").decision_function(X[900:])
    np.testing.assert_array_equal(again, expected)


def test_a_store_that_is_read_in_passes_gives_the_same_scores(tmp_path):
    samples, labels = problem((30, 28), classes=2, per_class=30, seed=3, spread=0.5)
    np.save(tmp_path / "X.npy", samples)
    store = np.load(tmp_path / "X.npy", mmap_mode="r")
    expected = MCSDA(ranks=(3, 3), positive=1).fit(samples, labels).decision_function(samples)
    from ways import learned

    found = learned(MCSDA(ranks=(3, 3), positive=1), "samples", store, labels)
    np.testing.assert_allclose(found.decision_function(samples), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("per_class", [1, 2, 4])
def test_few_samples_of_two_labels_give_finite_scores(per_class):
    samples, labels = problem((5, 4), classes=2, per_class=per_class, seed=per_class)
    for model in (MCSDA(ranks=(2, 2), positive=1), CSDA(positive=1)):
        assert np.isfinite(model.fit(samples, labels).decision_function(samples)).all()
