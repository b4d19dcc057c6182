import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import average_precision_score

from paper.face_models import average_precision
from paper.faces import inner_folds, stratified_split


@given(
    arrays(np.int64, (3, 12), elements=st.integers(0, 4)),  # few values: many ties
    arrays(bool, (3, 12)),
)
def test_average_precision_is_that_of_scikit_learn_also_with_ties(scores, relevant):
    relevant[:, 0] = True
    expected = [average_precision_score(r, s) for r, s in zip(relevant, scores, strict=True)]
    np.testing.assert_allclose(average_precision(scores, relevant), expected, rtol=1e-12)


@pytest.mark.parametrize(("share", "mean"), [(0.1, 1), (0.25, 2.5), (0.35, 3.5), (0.5, 5)])
def test_splits_are_stratified_and_right_on_average(share, mean):
    y = np.repeat(np.arange(400), 10)
    train, test = stratified_split(y, share, np.random.default_rng(0))
    counts = np.bincount(y[train])
    assert set(counts) == {int(np.floor(mean)), int(np.ceil(mean))}
    # A person's count is a coin between two neighbours: deviation 0.5 at most, 400 of them.
    assert abs(counts.mean() - mean) <= 4 * 0.5 / 20
    assert len(np.union1d(train, test)) == len(y)
    assert len(np.intersect1d(train, test)) == 0


def test_inner_folds_hold_out_every_image_once_and_keep_every_person():
    y = np.repeat(np.arange(7), [2, 3, 2, 3, 2, 2, 3])
    folds = inner_folds(y, 5, np.random.default_rng(0))
    assert len(folds) == 2  # no more than the images of the person with fewest
    assert sorted(np.concatenate([held for _, held in folds])) == list(range(len(y)))
    for train, held in folds:
        assert set(y[train]) == set(y[held]) == set(range(7))
        assert not set(train) & set(held)
