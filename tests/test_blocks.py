"""Blocks: each is what the method learns from the samples without what the earlier ones see."""

import warnings
from functools import reduce

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import check_estimator

import tenfold
from reference import distance, problem
from tenfold import (
    CSDA,
    MCSDA,
    MPCA,
    ClassMoments,
    ClassSpecificClassifier,
    ClassSpecificVerifier,
    ProbabilisticLDA,
    RankSearchCV,
)
from tenfold.mathematics.deflation import class_spreads, share_left, total_square
from tenfold.mathematics.sample_statistics import SampleStatistics
from tenfold.methods import ALL_METHODS

WITH_BLOCKS = [M for M in ALL_METHODS if "blocks" in M().get_params()]
each_method = pytest.mark.parametrize("Method", WITH_BLOCKS, ids=lambda M: M.__name__)
each_statistics = pytest.mark.parametrize("statistics", ["moments", "samples", "auto"])
X, y = problem((5, 4), classes=4, per_class=9, seed=0)
new = problem((5, 4), classes=4, per_class=9, seed=1)[0]


def make(Method, **parameters):
    rounds = {"max_iter": 4, "tol": 0.0} if "tol" in Method().get_params() else {}
    return Method(ranks=3 if Method.flattens else (2, 2), **rounds, **parameters)


def without(samples, projections):
    """Samples less their part in the spans, by the Kronecker product of the projectors."""
    projectors = [Q @ Q.T for Q in (np.linalg.qr(W)[0] for W in projections)]
    flat = samples.reshape(len(samples), -1)
    return (flat - flat @ reduce(np.kron, projectors)).reshape(samples.shape)


def one_after_the_other(model, n_blocks, weight=None):
    """What `blocks` gives, by fitting again and again."""
    left, features, blocks = X, [], []
    left_new = new - (X.mean(axis=0) if isinstance(model, MPCA) else 0)
    for _ in range(n_blocks):
        one = clone(model).set_params(blocks=1).fit(left, y, sample_weight=weight)
        shape = (len(X), -1) if one.flattens else X.shape
        blocks.append(one.projections_)
        flat = left_new.reshape(shape)
        features.append(
            np.einsum("nij,ia,jb->nab", flat, *blocks[-1]).reshape(len(new), -1)
            if flat.ndim == 3
            else flat @ blocks[-1][0]
        )
        left = without(left.reshape(shape), blocks[-1]).reshape(X.shape)
        left_new = without(flat, blocks[-1]).reshape(X.shape)
    return blocks, np.concatenate(features, axis=1)


@each_method
@each_statistics
def test_a_block_is_a_fit_to_what_the_earlier_ones_leave(Method, statistics):
    model = make(Method, statistics=statistics, blocks=3).fit(X, y)
    blocks, features = one_after_the_other(make(Method, statistics=statistics), 3)
    assert len(model.blocks_) == 3
    for own, expected in zip(model.blocks_, blocks, strict=True):
        assert distance(own, expected) <= 1e-7
    np.testing.assert_allclose(np.abs(model.transform(new)), np.abs(features), atol=1e-7)
    assert model.transform(new).shape[1] == len(model.get_feature_names_out())


@each_method
def test_one_block_is_bit_for_bit_what_it_was(Method):
    plain, one = make(Method).fit(X, y), make(Method, blocks=1).fit(X, y)
    for V, W in zip(plain.projections_, one.projections_, strict=True):
        np.testing.assert_array_equal(V, W)
    assert not hasattr(one, "blocks_")
    first = make(Method, blocks=2).fit(X, y)
    for V, W in zip(plain.projections_, first.projections_, strict=True):
        np.testing.assert_array_equal(V, W)


@each_method
def test_streams_weights_and_files_give_the_same_blocks(Method, tmp_path):
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    whole = make(Method, blocks=2).fit(X, y, sample_weight=weight)
    repeated = make(Method, blocks=2).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    stream = make(Method, blocks=2)
    for rows in np.array_split(np.arange(len(X)), 3):
        stream.partial_fit(X[rows], y[rows], classes=np.unique(y), sample_weight=weight[rows])
    for other in (repeated, stream):
        np.testing.assert_allclose(
            np.abs(other.transform(new)), np.abs(whole.transform(new)), rtol=1e-6, atol=1e-7
        )
    whole.save(tmp_path / "blocks.safetensors")
    loaded = tenfold.load(tmp_path / "blocks.safetensors")
    np.testing.assert_array_equal(loaded.transform(new), whole.transform(new))


@each_method
def test_the_inverse_is_the_sum_of_what_the_blocks_give_back(Method):
    model = make(Method, blocks=2).fit(X, y)
    back = model.inverse_transform(model.transform(new))
    if model.flattens:  # blocks of tensors need not be orthogonal to each other
        np.testing.assert_allclose(model.transform(back), model.transform(new), atol=1e-8)
    centre = X.mean(axis=0) if Method is MPCA else 0.0
    shape = (len(new), -1) if model.flattens else X.shape
    left = (new - centre).reshape(shape)
    for block in model.blocks_:
        left = without(left, block)
    np.testing.assert_allclose(new - back, left.reshape(new.shape), atol=1e-8)


@pytest.mark.parametrize("Method", [CSDA, MPCA], ids=lambda M: M.__name__)
def test_the_common_checks_pass_with_two_blocks(Method):
    results = check_estimator(Method(ranks=1, blocks=2), on_skip=None, on_fail=None)
    failed = {r["check_name"]: str(r["exception"]) for r in results if r["status"] == "failed"}
    # one number, or one sample, has no second direction, and the refusal says so
    assert failed.keys() <= {"check_fit2d_1feature", "check_fit2d_1sample"}
    assert all("nothing is left of the samples" in text for text in failed.values())


def test_what_mpca_captures_is_what_its_blocks_do_not_leave():
    for shape in ((5, 4), (20,)):
        Z = X.reshape(-1, *shape)
        model = MPCA(ranks=2, blocks=3).fit(Z)
        about, back = Z - Z.mean(axis=0), model.inverse_transform(model.transform(Z))
        share = 1 - np.sum((Z - back) ** 2) / np.sum(about**2)
        assert model.captured_ == pytest.approx(share, rel=1e-10)
        assert model.captured_ > MPCA(ranks=2).fit(Z).captured_


@pytest.mark.parametrize("projector", [CSDA(2, blocks=2), MCSDA((2, 2), blocks=2)])
def test_a_bank_measures_in_all_blocks(projector):
    bank = ClassSpecificClassifier(projector).fit(X, y)
    for c, member in enumerate(bank.projectors_):
        alone = clone(projector).set_params(positive=c).fit(X, y)
        expected = -alone.decision_function(new)
        Y, centre = alone.transform(new), alone.transform(alone.mean_[None])
        np.testing.assert_allclose(expected, np.linalg.norm(Y - centre, axis=1), rtol=1e-8)
        np.testing.assert_allclose(-member.decision_function(new), expected, rtol=1e-7)
        spread = np.sqrt(np.mean(alone.decision_function(X[y != c]) ** 2))
        assert bank.other_spreads_[c] == pytest.approx(spread, rel=1e-7)
        np.testing.assert_allclose(bank.distances(new)[:, c], expected / spread, rtol=1e-7)
    plain = ClassSpecificClassifier(clone(projector).set_params(blocks=1, shrinkage=0.0))
    own = [
        np.sqrt(np.mean(m.decision_function(X[y == c]) ** 2))
        for c, m in enumerate(plain.fit(X, y).projectors_)
    ]
    np.testing.assert_allclose(plain.spreads_, own, rtol=1e-8)
    statistics = tenfold.ClassMoments.from_batch(X, y)
    if not projector.flattens:
        found = [member.spreads(statistics) for member in plain.projectors_]
        np.testing.assert_allclose(found, np.stack([plain.spreads_, plain.other_spreads_]).T)


def spreads_of_one(statistics, blocks, positive, shrinkage, shift=0.0):
    """`class_spreads` of one model."""
    stack = [[W[None] for W in block] for block in blocks]
    numbers = (np.array([number]) for number in (positive, shrinkage, shift))
    (own,), (others,) = class_spreads(statistics, stack, *numbers)
    return own, others


@pytest.mark.parametrize("from_samples", [False, True])
@pytest.mark.parametrize("shift", [0.0, 0.7])
def test_spreads_are_those_of_samples_in_all_blocks(shift, from_samples):
    """Of a class and of the others about a point, and of all about the means of their classes."""
    rng = np.random.default_rng(0)
    blocks = [[rng.normal(size=(5, 2)), rng.normal(size=(4, 2))] for _ in range(3)]
    weight = rng.uniform(0.2, 2.0, len(y))
    kind = SampleStatistics if from_samples else ClassMoments
    statistics = kind.from_batch(X, y, weight)

    def mean_square(samples, weights):
        total, left = 0.0, samples
        for block in blocks:
            total += np.square(np.einsum("nij,ia,jb->nab", left, *block)).sum(axis=(1, 2))
            left = without(left, block)
        return np.average(total, weights=weights)

    for c in range(4):
        own = y == c
        centre, others = (np.average(X[r], axis=0, weights=weight[r]) for r in (own, ~own))
        about = X - (centre + shift * (centre - others))
        means = np.stack([np.average(X[y == k], axis=0, weights=weight[y == k]) for k in range(4)])
        inside = mean_square(about[own], weight[own])
        for shrinkage in (0.0, 0.3, 1.0):
            mixed = (1 - shrinkage) * inside + shrinkage * mean_square(X - means[y], weight)
            found = spreads_of_one(statistics, blocks, c, shrinkage, shift)
            assert found[0] == pytest.approx(np.sqrt(mixed), rel=1e-9)
            outside = mean_square(about[~own], weight[~own])
            assert found[1] == pytest.approx(np.sqrt(outside), rel=1e-9)


def test_the_spread_of_a_single_sample_is_that_of_all_classes():
    rows = np.append(np.flatnonzero(y != 3), np.flatnonzero(y == 3)[0])
    Z, labels = 0.1 * X[rows], y[rows]
    block = [np.eye(5)[:, :2], np.eye(4)[:, :3]]
    means = np.stack([Z[labels == c].mean(axis=0) for c in range(4)])
    within = np.square((Z - means[labels])[:, :2, :3]).sum(axis=(1, 2)).mean()
    found, _ = spreads_of_one(ClassMoments.from_batch(Z, labels), [block], 3, 0.0)
    assert found == pytest.approx(np.sqrt(within), rel=1e-9)
    assert within < 0.5
    Z[labels == 2] = (
        means[2] + 0.1 * (Z - means[labels])[labels == 2]
    )  # a tight class keeps its own
    found, _ = spreads_of_one(ClassMoments.from_batch(Z, labels), [block], 2, 0.0)
    own = np.square((Z[labels == 2] - means[2])[:, :2, :3]).sum(axis=(1, 2)).mean()
    assert found == pytest.approx(np.sqrt(own), rel=1e-9)


def test_points_have_spreads_of_one():
    same, labels = np.ones((6, 4)), np.repeat([0, 1], 3)
    moments = ClassMoments.from_batch(same, labels)
    assert spreads_of_one(moments, [[np.eye(4)[:, :2]]], 1, 0.0) == (1.0, 1.0)
    apart = ClassMoments.from_batch(same * labels[:, None], labels)
    assert spreads_of_one(apart, [[np.eye(4)[:, :2]]], 1, 0.5) == (1.0, pytest.approx(np.sqrt(2)))


def test_what_is_left_of_samples_is_a_share_of_their_scatter():
    rng = np.random.default_rng(0)
    blocks = [[rng.normal(size=(5, 2)), rng.normal(size=(4, 3))] for _ in range(2)]
    left = X - X.mean(axis=0)
    for block in blocks:
        left = without(left, block)
    share = np.sum(left**2) / np.sum((X - X.mean(axis=0)) ** 2)
    for kind in (ClassMoments, SampleStatistics):
        for scale in (1e-8, 1e8):
            scaled = kind.from_batch(scale * X, y)
            assert share_left(scaled, blocks) == pytest.approx(share, rel=1e-10)
            assert share_left(scaled, [[np.eye(5), np.eye(4)]]) == 0.0
        statistics = kind.from_batch(X, y)
        assert share_left(statistics, blocks) == pytest.approx(share, rel=1e-10)
        assert share_left(statistics, []) == 1.0
        assert total_square(statistics) == pytest.approx(np.sum((X - X.mean(axis=0)) ** 2))
        assert share_left(statistics, [[np.eye(5), np.eye(4)]]) == 0.0


def test_verifiers_and_searches_take_blocks():
    model = MCSDA((2, 2), positive=1, blocks=2, tol=1.0)
    verifier = ClassSpecificVerifier(model, false_accept_rate=0.5).fit(X, y)
    assert len(verifier.projector_.blocks_) == 2
    found = RankSearchCV(model, ranks=[(1, 1), (2, 2)], cv=3).fit(X, y)
    assert len(found.best_estimator_.blocks_) == 2


# ── Bad input ───────────────────────────────────────────────────────────────────────────────────


@each_statistics
def test_more_blocks_than_directions_are_refused(statistics):
    with pytest.raises(ValueError, match=r"blocks is 4, but after 2 of them.*at most 2 blocks"):
        MPCA(ranks=10, blocks=4, statistics=statistics).fit(X.reshape(len(X), -1))
    with pytest.raises(ValueError, match=r"after 1 of them, the last of ranks \(5, 4\)"):
        MCSDA(ranks=(5, 4), blocks=2, positive=1, ridge=0.1, statistics=statistics).fit(X, y)


@pytest.mark.parametrize("blocks", [0, -1, 1.5, True, "2"])
def test_a_number_of_blocks_is_a_whole_one(blocks):
    with pytest.raises(ValueError, match=r"blocks is .*; expected an integer of 1 or more"):
        MPCA(blocks=blocks).fit(X)


def test_features_of_blocks_are_no_tensor_and_no_gaussian_projector():
    with pytest.raises(ValueError, match="blocks is 2 and output is 'tensor'"):
        MPCA(blocks=2, output="tensor").fit(X)
    with pytest.raises(ValueError, match="put it before in a pipeline"):
        ProbabilisticLDA(MPCA(ranks=2, blocks=2)).fit(X, y)


def test_blocks_that_would_need_many_readings_are_refused(tmp_path, allow):
    np.save(tmp_path / "X.npy", X)
    stored = np.load(tmp_path / "X.npy", mmap_mode="r")
    allow(8 * 20**2)  # one table of 20 x 20 numbers
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        make(MCSDA, positive=1).fit(stored, y)
        with pytest.raises(ValueError, match=r"blocks need moments, or samples in memory"):
            make(MCSDA, positive=1, blocks=2).fit(stored, y)


@each_statistics
def test_blocks_end_with_an_error_when_nothing_is_left_to_keep(statistics):
    rows = np.concatenate([np.flatnonzero(y == 1)[:1], np.flatnonzero((y == 0) | (y == 2))])
    model = CSDA(
        ranks=8, solver="null_space", blocks=2, positive=1, out_class="means", statistics=statistics
    )
    # a single sample has no scatter; the means of two other classes span two directions
    with pytest.raises(ValueError, match=r"ranks \(2,\), nothing is left of the scatter"):
        model.fit(X[rows], y[rows])


@pytest.mark.parametrize("statistics", ["moments", "samples"])
def test_a_block_has_no_direction_of_an_earlier_one(statistics):
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    X = rng.normal(size=(40, 6)) * [1, 1, 1, 1, 1, 1e-4] @ turn  # one direction is left, and little
    pairs = np.stack([X, rng.permutation(X)], axis=2)  # its second mode stays whole
    for samples, ranks in ((X, 5), (pairs, (5, 2))):
        first, second = MPCA(ranks=ranks, blocks=2, statistics=statistics).fit(samples).blocks_
        assert first[0].shape == (6, 5)
        assert second[0].shape == (6, 1)
        assert abs(second[0][:, 0] @ turn[-1]) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("statistics", ["moments", "samples"])
def test_a_block_of_a_null_space_has_no_direction_of_an_earlier_one(statistics):
    rng = np.random.default_rng(3)
    turn = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    X = rng.normal(size=(12, 6)) * [1, 1, 1, 1, 1, 1e-4] @ turn
    X[0] = 0  # the class is one sample: all directions are in its null space
    model = CSDA(solver="null_space", positive=0, ranks=5, blocks=2, statistics=statistics)
    first, second = model.fit(X, [0] + 11 * [1]).blocks_
    assert first[0].shape == (6, 5)
    assert second[0].shape == (6, 1)
    assert abs(second[0][:, 0] @ turn[-1]) == pytest.approx(1, abs=1e-6)
