"""Blocks: each is what the method learns from the samples without what the earlier ones see."""

from functools import reduce

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA

from reference import distance, problem
from tenfold import CSDA, MCSDA, MPCA, Blocks, KernelCSDA
from tenfold.methods import LINEAR_METHODS

each_method = pytest.mark.parametrize("Method", LINEAR_METHODS, ids=lambda M: M.__name__)
X, y = problem((5, 4), classes=4, per_class=9, seed=0)
new = problem((5, 4), classes=4, per_class=9, seed=1)[0]


def make(Method, **parameters):
    rounds = {"max_iter": 4, "tol": 0.0} if "tol" in Method().get_params() else {}
    return Method(ranks=3 if Method._flattens else (2, 2), **rounds, **parameters)


def without(samples, projections):
    """Samples less their part in the spans, by the Kronecker product of the projectors."""
    projectors = [Q @ Q.T for Q in (np.linalg.qr(W)[0] for W in projections)]
    flat = samples.reshape(len(samples), -1)
    return (flat - flat @ reduce(np.kron, projectors)).reshape(samples.shape)


@each_method
def test_a_block_is_a_fit_to_what_the_earlier_ones_leave(Method):
    found = Blocks(make(Method), n_blocks=3).fit(X, y)
    left, left_new, features = X, new, []
    for own in found.blocks_:
        one = clone(make(Method)).fit(left, y)
        assert distance(own.projections_, one.projections_) <= 1e-7
        centre = left.mean(axis=0) if Method is MPCA else 0.0
        features.append(one.transform(left_new))
        left = without(left - centre, one.projections_)
        left_new = without(left_new - centre, one.projections_)
    np.testing.assert_allclose(np.abs(found.transform(new)), np.abs(np.hstack(features)), atol=1e-7)
    np.testing.assert_allclose(
        new - found.inverse_transform(found.transform(new)), left_new, atol=1e-8
    )


def test_the_first_block_is_the_method_bit_for_bit():
    first = Blocks(make(MCSDA), 2).fit(X, y).blocks_[0]
    for V, W in zip(make(MCSDA).fit(X, y).projections_, first.projections_, strict=True):
        np.testing.assert_array_equal(V, W)


def test_blocks_of_vectors_see_what_more_ranks_see():
    """Principal components one block after the other are principal components."""
    flat = X.reshape(len(X), -1)
    for projector in (MPCA(ranks=2), PCA(2)):
        found = Blocks(projector, n_blocks=3).fit(flat)
        expected = PCA(6).fit(flat)
        np.testing.assert_allclose(
            np.abs(found.transform(flat)), np.abs(expected.transform(flat)), atol=1e-8
        )


def test_a_block_has_no_direction_of_an_earlier_one():
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    X = rng.normal(size=(40, 6)) * [1, 1, 1, 1, 1, 1e-4] @ turn  # one direction is left, and little
    pairs = np.stack([X, rng.permutation(X)], axis=2)  # its second mode stays whole
    for samples, ranks in ((X, 5), (pairs, (5, 2))):
        first, second = Blocks(MPCA(ranks=ranks)).fit(samples).blocks_
        assert first.ranks_[0] == 5
        assert second.ranks_[0] == 1
        assert abs(second.projections_[0][:, 0] @ turn[-1]) == pytest.approx(1, abs=1e-6)


# ── Bad input ───────────────────────────────────────────────────────────────────────────────────


def test_more_blocks_than_directions_are_refused():
    said = rf"n_blocks is 4, but after 2 of them.*n_samples={len(X)},.*at most 2 blocks"
    with pytest.raises(ValueError, match=said):
        Blocks(MPCA(ranks=10), 4).fit(X.reshape(len(X), -1), sample_weight=np.full(len(X), 3.0))
    with pytest.raises(ValueError, match=r"after 1 of them nothing is left of the samples"):
        Blocks(MCSDA(ranks=(5, 4), positive=1, ridge=0.1)).fit(X + 1e3, y)


def test_blocks_end_with_an_error_when_nothing_is_left_to_keep():
    rows = np.concatenate([np.flatnonzero(y == 1)[:1], np.flatnonzero((y == 0) | (y == 2))])
    model = Blocks(CSDA(ranks=8, solver="null_space", positive=1, out_class="means"))
    # a single sample has no scatter; the means of two other classes span two directions
    with pytest.raises(ValueError, match=r"nothing is left of the differences between class means"):
        model.fit(X[rows], y[rows])


@pytest.mark.parametrize("n_blocks", [0, -1, 1.5, True, "2"])
def test_a_number_of_blocks_is_a_whole_one(n_blocks):
    with pytest.raises(ValueError, match=r"n_blocks is .*; expected an integer of 1 or more"):
        Blocks(MPCA(), n_blocks).fit(X)


def test_a_projector_without_an_inverse_has_no_blocks():
    with pytest.raises(ValueError, match=r"inverse"):
        Blocks(KernelCSDA(ranks=2, positive=1)).fit(X, y)
    assert Blocks(CSDA(ranks=2, positive=1)).fit(X, y).transform(X).shape == (len(X), 4)
