"""Rankings of all classes at once, against scikit-learn's of one class at a time."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_auc_score

from tenfold.metrics.ranking import average_precisions, roc_areas


@given(
    st.integers(0, 2**32 - 1),
    st.integers(2, 40),
    st.sampled_from([1, 3, 10_000]),
    st.sampled_from(["none", "some", "zeros"]),
)
def test_rankings_are_those_of_scikit_learn(seed, n, levels, weighting):
    rng = np.random.default_rng(seed)
    scores = rng.integers(levels, size=(n, 4)) / 7.0  # few levels: many samples score the same
    is_positive = rng.random((n, 4)) < rng.random(4)
    weight = {"none": None, "some": rng.random(n) + 0.1, "zeros": rng.integers(0, 3, size=n)}
    weights = weight[weighting]
    own_weight = np.ones(n) if weights is None else weights
    precisions = average_precisions(scores, is_positive, weights)
    areas = roc_areas(scores, is_positive)
    for c, (column, own) in enumerate(zip(scores.T, is_positive.T, strict=True)):
        if own_weight[own].sum() == 0:
            assert np.isnan(precisions[c])
        else:
            expected = average_precision_score(own, column, sample_weight=weights)
            assert precisions[c] == pytest.approx(expected, abs=1e-12)
        if own.all() or not own.any():
            assert np.isnan(areas[c])
        else:
            assert areas[c] == pytest.approx(roc_auc_score(own, column), abs=1e-12)


def test_scores_of_minus_infinity_come_last_together():
    scores = np.array([[0.0], [-np.inf], [-np.inf]])
    is_positive = np.array([[True], [True], [False]])
    assert average_precisions(scores, is_positive) == pytest.approx([0.5 + 0.5 * 2 / 3])
    assert roc_areas(scores, is_positive) == pytest.approx([0.75])


def test_what_cannot_be_ranked_is_nan_and_nothing_is_said():
    scores = np.array([[3.0, 3.0], [2.0, 2.0]])
    is_positive = np.array([[True, False], [True, False]])  # no others, no own
    assert np.isnan(roc_areas(scores, is_positive)).tolist() == [True, True]
    assert np.isnan(average_precisions(scores, is_positive)).tolist() == [False, True]
    assert np.isnan(average_precisions(scores, is_positive, np.zeros(2))).all()
