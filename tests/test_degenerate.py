"""Degenerate input: the right answer, and a finite one."""

import numpy as np
import pytest

import reference
from reference import distance, problem
from tenfold import CMDA, CSDA, DATER, DGTDA, GTDA, HODA, MCSDA, MPCA, ProbabilisticLDA
from tenfold.methods import CLASS_SPECIFIC_METHODS, LINEAR_METHODS
from ways import learned

each_method = pytest.mark.parametrize("Method", LINEAR_METHODS, ids=lambda M: M.__name__)
each_class_specific = pytest.mark.parametrize(
    "Method", CLASS_SPECIFIC_METHODS, ids=lambda M: M.__name__
)
each_statistics = pytest.mark.parametrize("statistics", ["moments", "samples", "auto"])


def fit(estimator, X, y=None, way="auto"):
    """Fit, and insist that whatever was learned is finite."""
    estimator = learned(estimator, way, X, y)
    assert all(np.isfinite(W).all() for W in estimator.projections_)
    assert np.isfinite(estimator.objective_).all()
    assert np.isfinite(estimator.transform(X)).all()
    shape = (estimator.n_features_in_,) if estimator._flattens else estimator.sample_shape_
    shapes = [W.shape for W in estimator.projections_]
    assert shapes == list(zip(shape, estimator.ranks_, strict=True))
    if hasattr(estimator, "decision_function"):
        assert np.isfinite(estimator.decision_function(X)).all()
    return estimator


def ranks_of(Method, multilinear, flat):
    return flat if Method._flattens else multilinear


# ── One positive sample ─────────────────────────────────────────────────────────────────────────


@each_statistics
@pytest.mark.parametrize("ridge", [1e-3, 0.0, ("absolute", 0.01)], ids=str)
@each_class_specific
def test_one_positive_sample_leaves_the_directions_of_most_scatter(Method, ridge, statistics):
    """With S_I = 0 only the ridge is left to divide by, so the leading eigenvectors of S_O win."""
    X, y = problem((5, 4), classes=2, per_class=15, seed=1)
    keep = np.r_[np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:1]]
    X, y = X[keep], y[keep]
    # One mode at a time from the identity: the reference with S_I = 0 and any ridge.
    if Method._flattens:
        Z = (X[y == 0] - X[y == 1]).reshape((y == 0).sum(), -1)
        expected = [reference.leading(Z.T @ Z, None, 3)]
        estimator = CSDA(ranks=3, ridge=ridge, shrinkage=0.0, decision="distance")
    else:
        expected = reference.mcsda(
            X, y, 1, (2, 2), ridge=1.0, rounds=3, solve=reference.leading, start=reference.ones
        )
        options = {"ridge": ridge, "shrinkage": 0.0, "decision": "distance"}
        estimator = MCSDA(ranks=(2, 2), **options, max_iter=3, tol=0.0)
    assert distance(fit(estimator, X, y, statistics).projections_, expected) <= 1e-7


@pytest.mark.parametrize("Method", [MCSDA, CSDA])
def test_one_positive_sample_scores_itself_highest(Method):
    X, y = problem((5, 4), classes=4, per_class=10, seed=2)
    first = np.flatnonzero(y == 3)[:1]
    keep = np.r_[np.flatnonzero(y != 3), first]
    for shrinkage in (0.0, 0.5, "auto"):
        model = Method(shrinkage=shrinkage, decision="distance")
        scores = fit(model, X[keep], y[keep]).decision_function(X[keep])
        assert scores.argmax() == len(keep) - 1
        assert scores[-1] == pytest.approx(0.0, abs=1e-12)


# ── Constant features and samples ───────────────────────────────────────────────────────────────


@each_method
@each_statistics
def test_constant_features_are_not_looked_at(Method, statistics):
    X, y = problem((5, 4), classes=4, seed=3)
    wide = np.full((len(X), 7, 4), 3.0)
    wide[:, 1:6] = X
    # The scatter difference and the trace ratio prefer directions without any scatter to bad
    # ones, but not to the best one.
    ranks = (1, 1) if Method in (GTDA, DGTDA, HODA) else ranks_of(Method, (2, 2), 3)
    options = {"ridge": ("absolute", 0.1)} if "ridge" in Method().get_params() else {}
    plain = fit(Method(ranks=ranks, **options), X, y, statistics)
    padded = fit(Method(ranks=ranks, **options), wide, y, statistics)
    if Method._flattens:
        expected = np.zeros((7, 4, 3))
        expected[1:6] = plain.projections_[0].reshape(5, 4, 3)
        expected = [expected.reshape(28, 3)]
    else:
        expected = [np.pad(plain.projections_[0], ((1, 1), (0, 0))), plain.projections_[1]]
    # Zero rows for constant features: they have no scatter to keep.
    assert distance(padded.projections_, expected) <= 1e-6


@each_method
@each_statistics
def test_identical_samples_have_nothing_to_tell(Method, statistics):
    X = np.full((12, 4, 3), 7.0)
    y = np.arange(12) % 3
    estimator = fit(Method(), X, y, statistics)
    Y = estimator.transform(X)
    np.testing.assert_allclose(Y, np.broadcast_to(Y[:1], Y.shape), atol=1e-12)
    if Method in CLASS_SPECIFIC_METHODS:
        np.testing.assert_allclose(estimator.decision_function(X), 0.0, atol=1e-12)
    if Method is MPCA:
        assert estimator.captured_ == 1.0
        np.testing.assert_allclose(estimator.inverse_transform(Y), X)


@each_statistics
def test_classes_without_spread_are_told_apart(statistics):
    """S_w = 0: every class is one point."""
    points = np.random.default_rng(0).normal(size=(3, 4, 3))
    y = np.repeat(np.arange(3), 5)
    X = points[y]
    for Method in LINEAR_METHODS:
        estimator = fit(Method(), X, y, statistics)
        Y = estimator.transform(X)
        gaps = np.linalg.norm(Y[::5][:, None] - Y[::5][None], axis=2)
        assert gaps[~np.eye(3, dtype=bool)].min() > 1e-3
        np.testing.assert_allclose(Y, Y[::5][y], atol=1e-10)


@each_method
@each_statistics
def test_duplicated_classes_have_no_direction_between_them(Method, statistics):
    """Two names for the same samples: S_b = 0, and S_O is the scatter of the class itself."""
    X, _ = problem((4, 3), classes=1, per_class=10, seed=4)
    both, y = np.concatenate([X, X]), np.repeat(["a", "b"], len(X))
    estimator = fit(Method(), both, y, statistics)
    if Method in CLASS_SPECIFIC_METHODS:
        assert estimator.objective_[-1] <= 1.0 + 1e-9  # S_O = S_I, and the ridge below
    elif Method is not MPCA:
        assert estimator.objective_[-1] <= 1e-9


# ── Shapes ──────────────────────────────────────────────────────────────────────────────────────


@each_method
@pytest.mark.parametrize("shape", [(5, 1), (1, 5), (1, 5, 1)], ids=str)
def test_modes_of_size_one_are_as_if_not_there(Method, shape):
    X, y = problem((5,), classes=4, seed=6)
    ranks = ranks_of(Method, tuple(2 if size > 1 else 1 for size in shape), 2)
    vectors = fit(Method(ranks=2), X, y)
    tensors = fit(Method(ranks=ranks), X.reshape(-1, *shape), y)
    mode = 0 if Method._flattens else shape.index(5)
    assert distance([tensors.projections_[mode]], vectors.projections_) <= 1e-8
    for k, W in enumerate(tensors.projections_):
        assert k == mode or W.shape == (1, 1)
    a, b = tensors.transform(X.reshape(-1, *shape)), vectors.transform(X)
    if Method is not DATER:  # its scale is shared out among the modes
        np.testing.assert_allclose(np.abs(a), np.abs(b), atol=1e-8)


@pytest.mark.parametrize("Method", LINEAR_METHODS)
def test_full_ranks_lose_nothing(Method):
    X, y = problem((4, 3), classes=16, per_class=5, seed=8)
    whole = {"orthonormal": True} if Method._flattens else {}
    whole |= {"decision": "distance"} if Method in (MCSDA, CSDA) else {}
    estimator = fit(Method(ranks=ranks_of(Method, (4, 3), 12), **whole), X, y)
    assert estimator.ranks_ == ranks_of(Method, (4, 3), (12,))
    np.testing.assert_allclose(estimator.inverse_transform(estimator.transform(X)), X, atol=1e-7)
    if Method in CLASS_SPECIFIC_METHODS:
        flat = (X - estimator.mean_).reshape(len(X), -1)
        np.testing.assert_allclose(
            estimator.decision_function(X), -np.linalg.norm(flat, axis=1), rtol=1e-8
        )


# ── Few samples ─────────────────────────────────────────────────────────────────────────────────


@each_method
@each_statistics
def test_fewer_samples_than_numbers(Method, statistics):
    X, y = problem((9, 8), classes=3, per_class=3, seed=9)
    printed = {"shrinkage": 0.0, "ridge": 1e-3} if Method is CSDA else {}
    printed |= {"decision": "distance"} if Method is CSDA else {}
    ranks = ranks_of(Method, (2, 2), 2)
    estimator = fit(Method(ranks=ranks, **printed), X, y, statistics)
    if Method is CSDA:
        flat = X.reshape(len(X), -1)
        share = (y == 2).mean()
        about = flat - flat[y == 2].mean(axis=0)
        ridge = 1e-3 * share * np.sum(about**2) / 72
        expected = reference.csda(flat, y, 2, 2, ridge=ridge)
        assert distance(estimator.projections_, [expected]) <= 1e-7


def test_csda_finds_no_more_directions_than_samples_span():
    X, y = problem((9, 8), classes=3, per_class=3, seed=10)
    for statistics in ("moments", "samples"):
        estimator = fit(CSDA(ranks=60, decision="distance"), X, y, statistics)
        # About the positive mean, the 12 - 5 negatives and the 5 positives, less one for the mean.
        assert len(X) == 12
        assert estimator.ranks_ == (7,)


@each_method
def test_two_samples_are_enough(Method):
    X = np.random.default_rng(0).normal(size=(2, 4, 3))
    estimator = fit(Method(), X, [0, 1])
    gap = np.linalg.norm(np.diff(estimator.transform(X), axis=0))
    assert gap > 0.1 * np.linalg.norm(X[1] - X[0]) or Method is DATER
    assert gap > 0


# ── Offsets and scales ──────────────────────────────────────────────────────────────────────────


@each_method
@each_statistics
def test_data_on_an_offset_of_1e8(Method, statistics):
    X, y = problem((5, 4), classes=4, seed=11)
    X = np.round(X * 2**20) / 2**20  # so that 1e8 + X is exact to about 1e-8
    ranks = ranks_of(Method, (2, 2), 3)
    plain = fit(Method(ranks=ranks), X, y, statistics)
    moved = fit(Method(ranks=ranks), X + 1e8, y, statistics)
    # Samples are rounded by 1.5e-8 at this offset; scatters by that times their root.
    assert distance(plain.projections_, moved.projections_) <= 1e-5


@each_method
@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_very_small_and_very_large_numbers(Method, scale):
    X, y = problem((5, 4), classes=4, seed=12)
    ranks = ranks_of(Method, (2, 2), 3)
    plain = fit(Method(ranks=ranks), X, y)
    extreme = fit(Method(ranks=ranks), scale * X, y)
    assert distance(plain.projections_, extreme.projections_) <= 1e-6


def test_ranks_that_came_are_those_that_the_data_hold():
    """Two classes of 5 x 4 differ by one matrix, of rank 4: there is no fifth direction."""
    X, y = problem((5, 4), classes=2, seed=13)
    for Method in (CMDA, DATER):
        for statistics in ("moments", "samples"):
            estimator = fit(Method(ranks=(5, 4)), X, y, statistics)
            assert estimator.ranks_ == (4, 4)
            assert estimator.transform(X).shape == (len(X), 16)


@pytest.mark.parametrize("shape", [(30,), (5, 6), (30, 2)], ids=str)
def test_ranks_of_mpca_are_the_same_on_every_path(shape):
    """Six samples scatter in five directions; those of weight zero are not there."""
    X = np.random.default_rng(14).normal(size=(9, *shape)) + 100
    X[..., -1] = X[..., 0]  # one direction less in the last mode
    weight = np.array([1.0] * 6 + [0.0] * 3)
    paths = {
        statistics: learned(MPCA(ranks=shape), statistics, X, sample_weight=weight)
        for statistics in ("auto", "samples", "moments")
    }
    paths["fewer"] = MPCA(ranks=shape).fit(X[:6])
    paths["batches"] = MPCA(ranks=shape)
    for rows in (slice(0, 2), slice(2, 9)):
        paths["batches"].partial_fit(X[rows], sample_weight=weight[rows])
    ranks = {name: model.ranks_ for name, model in paths.items()}
    expected = (5,) if len(shape) == 1 else (min(shape[0], 5 * (shape[1] - 1)), shape[1] - 1)
    assert set(ranks.values()) == {expected}, ranks


@pytest.mark.parametrize("solver", ["ratio_trace", "trace_ratio", "trace_difference"])
@pytest.mark.parametrize("statistics", ["auto", "moments", "samples"])
@pytest.mark.parametrize("n", [60, 150])
def test_no_solver_takes_directions_in_which_nothing_varies(solver, statistics, n):
    """Data of rank 14: what was never seen to vary cannot move a distance, in any order."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n, 14)) @ rng.normal(size=(14, 100)), np.arange(n) % 6
    new, order = rng.normal(size=(20, 100)), rng.permutation(n)
    seen = np.linalg.svd(X - X.mean(axis=0))[2][:14]
    for ranks in (9, 30):
        model = CSDA(ranks, solver=solver, positive=2, decision="distance")
        W = learned(model, statistics, X, y).projections_[0]
        assert W.shape[1] == min(ranks, 14)
        np.testing.assert_allclose(seen.T @ (seen @ W), W, atol=1e-10 * np.abs(W).max())
        one, other = (learned(model, statistics, X[rows], y[rows]) for rows in (slice(None), order))
        np.testing.assert_allclose(
            one.decision_function(new), other.decision_function(new), rtol=1e-8
        )


def test_weights_of_single_samples_change_no_automatic_shrinkage():
    """Classes of one sample have no spread, whatever the weights: all is shrunk, in any path."""
    X = np.random.default_rng(0).integers(-300, 300, (2, 25)).astype(float)
    y, weight = [0, 1], [2.40186212, 0.90709141]
    asked, whole = (
        CSDA(positive=1, shrinkage=share).fit(X, y, weight).objective_ for share in ("auto", 1)
    )
    np.testing.assert_allclose(asked, whole, rtol=1e-12)


# ── Gaussian classes ────────────────────────────────────────────────────────────────────────────


def gaussian(X, y, views="auto"):
    """A fitted model whose answers are all finite."""
    model = ProbabilisticLDA(views=views).fit(X, y)
    P = model.predict_proba(X)
    assert np.isfinite(P).all()
    np.testing.assert_allclose(P.sum(axis=1), 1)
    assert np.isfinite(model.log_likelihood_ratio(X)).all()
    return model


def test_gaussian_classes_of_few_samples():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3, 4, 3))
    gaussian(X, [0, 1, 1])
    for n_numbers in (1, 2, 40):
        X = rng.normal(size=(4, n_numbers)) + 9 * np.array([[0], [0], [1], [1]])
        assert gaussian(X, [0, 0, 1, 1]).predict(X).tolist() == [0, 0, 1, 1]


def test_gaussian_classes_of_one_sample_and_two_of_another():
    X = 10 * np.eye(6) + np.random.default_rng(0).normal(size=(6, 6))
    y = np.array([0, 1, 2, 3, 4, 4])
    assert gaussian(X, y).predict(X).tolist() == y.tolist()


def test_numbers_that_never_vary_change_no_gaussian_answer():
    X, y = problem((5, 4), classes=4, seed=3)
    wide = np.full((len(X), 7, 4), 3.0)
    wide[:, 1:6] = X
    for views in (["numbers"], ["units"], ["length"], ["rbf"]):
        plain, padded = gaussian(X, y, views), gaussian(wide, y, views)
        np.testing.assert_allclose(
            padded.predict_proba(wide), plain.predict_proba(X), atol=0.05, err_msg=str(views)
        )


def test_a_gaussian_model_is_told_of_equal_samples_with_different_labels():
    X, _ = problem((4, 3), classes=1, per_class=10, seed=4)
    both, y = np.concatenate([X, X]), np.repeat(["a", "b"], len(X))
    P = gaussian(both, y).predict_proba(both)
    np.testing.assert_allclose(P, 0.5, atol=0.2)
