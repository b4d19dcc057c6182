"""Laws at the edges: what a changed sign, bound or constant would break, found by mutants."""

import numpy as np
import pytest

from reference import distance, problem
from tenfold import (
    CSDA,
    MCSDA,
    MPCA,
    ClassMoments,
    ProbabilisticLDA,
)

X, y = problem((4, 3), classes=3, seed=50)
FLAT = X.reshape(len(X), -1)

# ── Validation ──────────────────────────────────────────────────────────────────────────────────


def test_weights_whose_sum_is_no_number_are_refused():
    with pytest.raises(ValueError, match="more than a float64"):
        MCSDA(ranks=2, positive=1).fit(X, y, np.full(len(X), 1e308))


def test_moments_of_flat_rows_are_folded_as_the_rows_are():
    folded = CSDA(ranks=2, positive=1, sample_shape=(4, 3)).fit_moments(
        ClassMoments.from_batch(FLAT, y)
    )
    assert folded.sample_shape_ == (4, 3)
    assert folded.mean_.shape == (4, 3)
    for shape, moments in [((5, 3), FLAT), ((3, 4), X)]:
        with pytest.raises(ValueError, match="shape"):
            CSDA(positive=1, sample_shape=shape).fit_moments(ClassMoments.from_batch(moments, y))


def test_a_sample_shape_of_one_mode_is_one():
    assert MPCA(ranks=2, sample_shape=(12,)).fit(FLAT).sample_shape_ == (12,)
    assert MPCA(ranks=(2, 1), sample_shape=(12, 1)).fit(FLAT).sample_shape_ == (12, 1)
    for shape in [(), (12, 0), (-12,), "12"]:
        with pytest.raises(ValueError, match="expected positive integers"):
            MPCA(ranks=2, sample_shape=shape).fit(FLAT)


# ── Decisions ───────────────────────────────────────────────────────────────────────────────────


def test_two_of_three_announced_classes_are_enough_to_learn():
    two = y < 2
    model = ProbabilisticLDA().partial_fit(X[two], y[two], classes=[0, 1, 2])
    assert set(model.predict(X[two])) == {0, 1}
    alone = ProbabilisticLDA().partial_fit(X[y == 0], y[y == 0], classes=[0, 1])
    assert not hasattr(alone, "means_")


# ── Mathematics ─────────────────────────────────────────────────────────────────────────────────


def test_a_class_without_samples_has_moments_of_zero():
    moments = ClassMoments.from_batch(X, y, classes=np.arange(4))
    assert moments.counts[3] == 0
    assert not moments.means[3].any()
    assert not moments.scatters[3].any()


def test_single_samples_too_far_apart_are_refused():
    far = np.array([[1.0, 2.0], [1e145, 2.0]])
    with pytest.raises(ValueError, match="too large for float64"):
        CSDA(ranks=1, positive=1).fit(far, [0, 1])
    CSDA(ranks=1, positive=1).fit(far / 1e20, [0, 1])
    with pytest.raises(ValueError, match="too small for float64"):
        CSDA(ranks=1, positive=1).fit(far / 1e290, [0, 1])


@pytest.mark.parametrize("statistics", ["moments", "samples"])
@pytest.mark.parametrize("weight", [1e-100, 1e-9, 1e9, 1e100])
def test_automatic_shrinkage_stands_any_weight(weight, statistics):
    model = CSDA(ranks=2, positive=1, shrinkage="auto", ridge=0.1, statistics=statistics)
    model.fit(X, y, np.full(len(X), weight))
    assert np.isfinite(model.projections_[0]).all()
    share = 1.0 if weight < 1 else 0.0  # weights are counts: less than a sample, or very many
    by_hand = CSDA(ranks=2, positive=1, shrinkage=max(share, 1e-300), ridge=0.1).fit(X, y)
    assert distance([model.projections_[0]], by_hand.projections_) < 1e-6
