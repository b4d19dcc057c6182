"""A bank scores samples as its members do one by one, whatever the ranks, shapes and offsets."""

from functools import partial

import numpy as np
import pytest

from tenfold import MCSDA, ClassSpecificClassifier
from tenfold.decisions import classifier
from tenfold.decisions.classifier import Subspaces
from tenfold.mathematics.subspace import minus_distances

# The laws here are of the paper's rule.
MCSDA = partial(MCSDA, decision="distance")


def members(shape, n_models, offset, seed=0):
    """Subspaces of differing ranks, and means, away from the origin by `offset`."""
    rng = np.random.default_rng(seed)
    projections = [
        [np.linalg.qr(rng.normal(size=(size, 1 + m % size)))[0] for size in shape]
        for m in range(n_models)
    ]
    return projections, [rng.normal(size=shape) + offset for _ in range(n_models)]


@pytest.mark.parametrize("shape", [(7,), (6, 5), (3, 7), (4, 3, 5)])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_all_subspaces_at_once_measure_what_each_measures_alone(shape, offset, monkeypatch):
    monkeypatch.setattr(classifier, "CACHE_NUMBERS", 500)  # several blocks of rows and of models
    projections, means = members(shape, 6, offset)
    assert_alike(projections, means, shape, offset)
    assert_alike(projections[:1], means[:1], shape, offset)  # one alone


def test_stacks_that_are_there_are_not_copied():
    """Projections that are transposed parts of one array, in the order of the models."""
    rng = np.random.default_rng(0)
    whole, means = rng.normal(size=(3, 2, 7)), list(rng.normal(size=(3, 7)))
    views = [[own.T] for own in whole]
    assert Subspaces.stacked(views, means).projections[0] is whole
    for others in (
        views[::-1],
        [*views[:2], [views[2][0].copy()]],
        [*views[:2], [views[2][0][:, :1]]],
    ):
        found = Subspaces.stacked(others, means)
        assert not np.shares_memory(found.projections[0], whole)
        for stacked, (W,) in zip(found.projections[0], others, strict=True):
            np.testing.assert_array_equal(stacked[: W.shape[1]], W.T)
            assert not stacked[W.shape[1] :].any()


def assert_alike(projections, means, shape, offset):
    X = np.random.default_rng(1).normal(size=(90, *shape)) + offset
    together = Subspaces.stacked(projections, means).squared_distances(X)
    alone = [minus_distances(X, W, mean) ** 2 for W, mean in zip(projections, means, strict=True)]
    # at an offset of 1e6 the samples themselves are known to 1e-10 only
    np.testing.assert_allclose(together, np.stack(alone, axis=1), atol=1e-11 + 1e-15 * offset)


@pytest.mark.parametrize("per_part", [7, 30, 59])
def test_threads_score_what_one_thread_scores(per_part, monkeypatch):
    from tenfold.system import threads

    monkeypatch.setattr(classifier, "THREAD_BYTES", 8 * 30 * per_part)
    projections, means = members((6, 5), 4, 0.0)
    X = np.random.default_rng(2).normal(size=(60, 6, 5))
    subspaces = Subspaces.stacked(projections, means)
    monkeypatch.setattr(threads, "_allowed", lambda controller: 1)
    one = subspaces.squared_distances(X)
    monkeypatch.setattr(threads, "_allowed", lambda controller: 3)
    np.testing.assert_array_equal(subspaces.squared_distances(X), one)
    alone = [minus_distances(X, W, m) ** 2 for W, m in zip(projections, means, strict=True)]
    np.testing.assert_allclose(one, np.stack(alone, axis=1), atol=1e-11)


def test_one_number_that_is_far_from_all_means_is_enough_for_float64():
    projections, means = members((6, 5), 2, 0.0)
    for mean in means:
        mean[2, 3] = 1e25  # so that the square of a difference is no float32
    X = np.random.default_rng(6).normal(size=(20, 6, 5)).astype(np.float32)
    found = Subspaces.stacked(projections, means).squared_distances(X)
    alone = [
        minus_distances(X.astype(float), W, m) ** 2 for W, m in zip(projections, means, strict=True)
    ]
    np.testing.assert_allclose(found, np.stack(alone, axis=1), rtol=1e-6)


def test_a_bank_measures_what_its_projectors_measure():
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(60, 6, 5)), np.repeat(np.arange(3), 20)
    bank = ClassSpecificClassifier(MCSDA(ranks=(2, 3), tol=1.0), normalise=False).fit(X, y)
    alone = [-member.decision_function(X) for member in bank.projectors_]
    np.testing.assert_allclose(bank.distances(X), np.stack(alone, axis=1), rtol=1e-12)
