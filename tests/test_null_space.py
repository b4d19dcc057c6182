"""Null-space CSDA against the null space that SciPy finds."""

from functools import partial

import numpy as np
import pytest
from scipy.linalg import eigh, null_space

from reference import distance, problem
from tenfold import CSDA
from ways import learned

PaperCSDA = partial(CSDA, decision="distance")

X, y = problem((6, 5), classes=4, per_class=9, seed=0)  # fewer samples of a class than numbers
FLAT = X.reshape(len(X), -1)
each_statistics = pytest.mark.parametrize("statistics", ["moments", "samples", "auto"])


def scatters(Z, labels, positive, means=False):
    """S_I and S_O, written as sums over samples."""
    m_p = Z[labels == positive].mean(axis=0)
    inside = sum(np.outer(x - m_p, x - m_p) for x in Z[labels == positive])
    others = Z[labels != positive]
    if means:
        own = {c: Z[labels == c].mean(axis=0) for c in np.unique(labels)}
        others = np.array([own[c] for c in labels[labels != positive]])
    return inside, sum(np.outer(x - m_p, x - m_p) for x in others)


def by_scipy(Z, labels, positive, rank, means=False):
    inside, outside = scatters(Z, labels, positive, means)
    N = null_space(inside, rcond=1e-10)
    return N @ eigh(N.T @ outside @ N)[1][:, ::-1][:, :rank]


@pytest.mark.parametrize("positive", range(4))
def test_at_defaults_the_class_lies_in_one_point_and_scores_above_all_others(positive):
    model = CSDA(solver="null_space", positive=positive).fit(X, y)
    projected = model.transform(X)
    own = projected[y == positive]
    spread = np.abs(own - own.mean(axis=0)).max()
    assert spread <= 1e-8 * np.abs(projected).max()
    scores = model.decision_function(X)
    assert np.ptp(scores[y == positive]) <= 1e-6
    assert scores[y == positive].min() > scores[y != positive].max()


# ── The paper's rule ────────────────────────────────────────────────────────────────────────────


@each_statistics
@pytest.mark.parametrize("negatives", ["samples", "means"])
@pytest.mark.parametrize("n", [len(X), 20])  # more and fewer samples than numbers
def test_it_is_the_leading_directions_of_scipys_null_space(statistics, negatives, n):
    rows = np.random.default_rng(0).permutation(len(X))[:n]
    Z, labels = FLAT[rows], y[rows]
    # the mean of a class twice over: three means span no more than three directions
    rank = 3 if negatives == "means" else 4
    model = PaperCSDA(rank, solver="null_space", positive=2, negatives=negatives)
    found = learned(model, statistics, X[rows], labels)
    expected = by_scipy(Z, labels, 2, rank, negatives == "means")
    assert distance(found.projections_, [expected]) <= 1e-8
    inside, outside = scatters(Z, labels, 2, negatives == "means")
    W = found.projections_[0]
    assert np.trace(W.T @ inside @ W) <= 1e-12 * np.trace(inside)
    np.testing.assert_allclose(W.T @ W, np.eye(rank), atol=1e-12)
    share = np.trace(W.T @ outside @ W) / np.trace(outside)
    assert found.objective_ == pytest.approx([share], rel=1e-8)
    scores = -np.linalg.norm((FLAT - Z[labels == 2].mean(axis=0)) @ expected, axis=1)
    np.testing.assert_allclose(found.decision_function(X), scores, atol=1e-8)


def test_it_is_the_limit_of_csda_without_ridge():
    """As the ridge goes to zero, the null space outweighs every other direction."""
    null = PaperCSDA(4, solver="null_space", positive=1).fit(X, y)
    options = {"positive": 1, "shrinkage": 0.0, "orthonormal": True}
    gaps = [
        distance(null.projections_, PaperCSDA(4, ridge=ridge, **options).fit(X, y).projections_)
        for ridge in (1e-4, 1e-6, 1e-8)
    ]
    assert gaps[0] > 3 * gaps[1] > 9 * gaps[2]
    assert gaps[2] < 1e-5


def test_with_one_positive_sample_everything_is_null_space():
    rows = np.r_[np.flatnonzero(y != 3), np.flatnonzero(y == 3)[:1]]
    Z = FLAT[rows][:-1] - FLAT[rows][-1]
    expected = eigh(Z.T @ Z)[1][:, ::-1][:, :4]
    model = PaperCSDA(4, solver="null_space", positive=3).fit(X[rows], y[rows])
    assert distance(model.projections_, [expected]) <= 1e-8


def test_no_more_directions_come_than_the_null_space_has():
    for statistics in ("moments", "samples"):
        model = learned(PaperCSDA(30, solver="null_space", positive=0), statistics, X, y)
        n = np.sum(y == 0)
        assert model.ranks_ == (30 - (n - 1),)  # of all numbers, less what the class spans
        rank = np.linalg.matrix_rank(scatters(FLAT, y, 0)[0])
        assert model.ranks_ == (30 - rank,)


def test_without_a_null_space_it_says_so_and_takes_the_least_directions():
    Z, labels = problem((4, 3), classes=3, per_class=20, seed=2)
    with pytest.warns(UserWarning, match=r"no null space: the 22 samples of class 2.*use solver="):
        model = PaperCSDA(3, solver="null_space", positive=2).fit(Z, labels)
    flat = Z.reshape(len(Z), -1)
    expected = eigh(scatters(flat, labels, 2)[0])[1][:, :3]
    assert distance(model.projections_, [expected]) <= 1e-8


@each_statistics
def test_a_null_space_in_which_nothing_else_lies_has_one_direction(statistics):
    rng = np.random.default_rng(4)
    spanned = rng.normal(size=(5, 12))  # all other samples lie where the class varies
    own = rng.normal(size=(9, 5)) @ spanned
    Z = np.concatenate([own, own[:4] + rng.normal(size=(4, 5)) @ spanned])
    model = PaperCSDA(ranks=6, solver="null_space", positive=1)
    assert learned(model, statistics, Z, np.repeat([1, 0], [9, 4])).ranks_ == (1,)
