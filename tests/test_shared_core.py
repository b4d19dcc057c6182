"""Banks of vectors that share what they can: the same models as solving each class by itself."""

import numpy as np
import pytest
from scipy.linalg import eigh

from tenfold import CSDA, ClassSpecificClassifier
from tenfold.mathematics import alternation
from tenfold.mathematics.few_columns import zolotarev_poles
from tenfold.mathematics.sample_statistics import SpanStatistics
from tenfold.mathematics.shared_core import shared_cores
from tenfold.mathematics.span import Span


def samples(n_classes=30, per_class=8, size=500, seed=0):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(n_classes), per_class)
    scale = 1 / np.sqrt(np.arange(1, size + 1))
    X = (rng.standard_normal((n_classes, size))[y] + rng.standard_normal((len(y), size))) * scale
    return X, y


def statistics_of(X, y, weight=None):
    return SpanStatistics.from_vectors(X, y, weight, np.unique(y))


def without_sharing(bank, X, y, weight=None):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(alternation, "solve_shared", lambda *_: None)
        return bank.fit(X, y, weight)


def oracle(X, y, p, rank, shrinkage, ridge, weight):
    """W from the definitions, in all I dimensions."""
    n = weight.sum()
    mean, M_p = weight @ X / n, weight[y == p] @ X[y == p] / weight[y == p].sum()
    share = weight[y == p].sum() / n

    def scatter(rows, centre):
        Z = (X[rows] - centre) * np.sqrt(weight[rows])[:, None]
        return Z.T @ Z

    inside = scatter(y == p, M_p)
    within = sum(
        scatter(y == c, weight[y == c] @ X[y == c] / weight[y == c].sum()) for c in np.unique(y)
    )
    means = np.stack([weight[y == c] @ X[y == c] / weight[y == c].sum() for c in np.unique(y)])
    between = weight @ ((means[y] - mean) ** 2).sum(axis=1)
    total = np.trace(scatter(np.ones(len(y), bool), mean if shrinkage else M_p))
    unit = share * (total + (between if shrinkage else 0.0)) / X.shape[1]
    B = (1 - shrinkage) * inside + shrinkage * share * within
    B = B + ridge * unit * np.eye(X.shape[1])
    return eigh(scatter(y != p, M_p), B)[1][:, ::-1][:, :rank]


@pytest.mark.parametrize("shrinkage", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("orthonormal", [False, True])
def test_a_bank_is_that_of_models_solved_alone(shrinkage, orthonormal):
    X, y = samples(20, 7, 200)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(X))
    projector = CSDA(ranks=6, shrinkage=shrinkage, orthonormal=orthonormal)
    bank = ClassSpecificClassifier(projector)
    assert shared_cores(bank.problem(statistics_of(X, y, weight)))
    shared = ClassSpecificClassifier(projector).fit(X, y, weight)
    alone = without_sharing(bank, X, y, weight)
    for one, other in zip(shared.projectors_, alone.projectors_, strict=True):
        np.testing.assert_allclose(one.projections_[0], other.projections_[0], atol=2e-8)
        assert one.objective_ == pytest.approx(other.objective_, rel=1e-10)
    np.testing.assert_allclose(shared.spreads_, alone.spreads_, rtol=1e-7)
    np.testing.assert_allclose(shared.other_spreads_, alone.other_spreads_, rtol=1e-10)


@pytest.mark.parametrize("shrinkage", [0.0, 0.5])
def test_the_directions_are_those_of_the_definitions(shrinkage):
    X, y = samples(12, 12, 160)
    weight = np.random.default_rng(2).uniform(0.5, 2.0, len(X))
    bank = ClassSpecificClassifier(CSDA(ranks=6, shrinkage=shrinkage)).fit(X, y, weight)
    for p in (0, 7):
        expected = oracle(X, y, p, 6, shrinkage, 1e-2, weight)
        found = bank.projectors_[p].projections_[0]
        signs = np.sign((found * expected).sum(axis=0))
        np.testing.assert_allclose(found * signs, expected, atol=1e-7 * np.abs(expected).max())


def test_classes_of_different_sizes_and_ranks_share_as_well():
    X, y = samples(24, 10, 400, seed=3)
    keep = np.random.default_rng(0).permutation(len(X))[:170]
    X, y = X[keep], y[keep]
    ranks = {c: 5 + c % 3 for c in range(24)}
    bank = ClassSpecificClassifier(CSDA(ranks=ranks))
    shared, alone = bank.fit(X, y).projectors_, without_sharing(bank, X, y).projectors_
    assert [model.ranks_ for model in shared] == [(5 + c % 3,) for c in range(24)]
    for one, other in zip(shared, alone, strict=True):
        np.testing.assert_allclose(one.projections_[0], other.projections_[0], atol=2e-8)


@pytest.mark.parametrize("what", ["twins", "flat tail", "no noise", "automatic"])
def test_where_sharing_fails_models_are_solved_alone(what):
    X, y = samples(20, 9, 300, seed=4)
    shrinkage = 0.5
    if what == "twins":
        X[1::9] = X[::9]
    if what == "flat tail":
        X = np.random.default_rng(5).standard_normal(X.shape)
    if what == "no noise":
        X = X[::9][y]
    if what == "automatic":
        shrinkage = "auto"
    bank = ClassSpecificClassifier(CSDA(ranks=10, shrinkage=shrinkage))
    shared, alone = bank.fit(X, y), without_sharing(bank, X, y)
    predicted = shared.distances(X), alone.distances(X)
    np.testing.assert_allclose(*predicted, atol=1e-6 * predicted[1].max())


@pytest.mark.parametrize("sizes", [(3, 30, 200), (4, 60, 300), (20, 2, 60)])
def test_few_models_many_columns_or_few_samples_are_not_worth_a_core(sizes):
    X, y = samples(*sizes)
    bank = ClassSpecificClassifier(CSDA(ranks=6))
    assert shared_cores(bank.problem(statistics_of(X, y))) == []


@pytest.mark.parametrize("below", [0.9, 0.5, 0.1, 1e-3])
def test_poles_span_what_they_should(below):
    t = np.linspace(0, below, 400)
    poles = zolotarev_poles(below, 1.0, 1e-7)
    assert (poles >= 1).all()
    basis = np.linalg.qr(1 / (poles - t[:, None]))[0]
    for mu in (1.0, 1.01, 1.5, 10.0, 1e4):
        wanted = 1 / (mu - t)
        miss = wanted - basis @ (basis.T @ wanted)
        assert np.abs(miss).max() <= 1e-6 * np.abs(wanted).max()


def test_a_span_is_orthonormal_and_exact():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((7, 20)) * np.geomspace(1, 1e-4, 7)[:, None]
    for given in (rows, np.concatenate([rows, rows[:2]])):
        centred = given - given.mean(axis=0)
        for outside in (0, 3):
            span, coordinates = Span.of(centred, outside)
            basis = span.lifted(np.eye(coordinates.shape[1]))
            np.testing.assert_allclose(basis.T @ basis, np.eye(basis.shape[1]), atol=1e-10)
            np.testing.assert_allclose(coordinates @ basis.T, centred, atol=1e-13)
            np.testing.assert_allclose(span.lowered(centred.T).T, coordinates, atol=1e-12)
