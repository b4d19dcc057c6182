"""Where the paper is wrong or silent: each departure proved, in the order of its list."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from reference import distance, problem
from tenfold import CMDA, CSDA, MCSDA, gather_moments

seeds = st.integers(0, 2**32 - 1)
# What the paper has, whatever the defaults are.
PRINTED = {"decision": "distance", "shrinkage": 0.0, "orthonormal": True}


def printed_rule(now, before):
    """The sum that Algorithm 1 compares with its threshold."""
    return sum(np.linalg.norm(W @ V.T - np.eye(len(W))) for W, V in zip(now, before, strict=True))


def criterion(X, y, positive, factors):
    """J of eq. 14, sample by sample."""
    M_p = X[y == positive].mean(axis=0)
    squared = np.array([np.sum(reference.projected(x - M_p, factors) ** 2) for x in X])
    return squared[y != positive].sum() / squared[y == positive].sum()


# ── 1. The stopping rule ────────────────────────────────────────────────────────────────────────


@given(seed=seeds, size=st.integers(2, 8), scale=st.floats(0.01, 100))
def test_the_printed_stopping_rule_has_a_bound_that_no_projections_can_beat(seed, size, scale):
    """W(t) W(t-1)^T has rank r, the identity rank I: sqrt(I - r) is left, whatever W is."""
    rng = np.random.default_rng(seed)
    rank = int(rng.integers(1, size))
    now, before = scale * rng.normal(size=(2, size, rank))
    resting = np.linalg.qr(now)[0]
    bound = np.sqrt(size - rank)
    for W, V in [(now, before), (now, now), (resting, resting)]:
        assert printed_rule([W], [V]) >= bound - 1e-9
    # The best case of all: a subspace at rest, with an orthonormal basis at rest.
    assert printed_rule([resting], [resting]) == pytest.approx(bound)


def test_the_printed_rule_does_not_fire_where_ours_does():
    X, y = problem((6, 5), seed=3)
    options = {"ranks": (2, 2), "ridge": ("absolute", 0.1), "positive": 1, "init": "ones"}
    rested = MCSDA(max_iter=500, tol=1e-9, **options, **PRINTED).fit(X, y)
    assert rested.converged_
    assert rested.n_iter_ < 500
    after = MCSDA(max_iter=rested.n_iter_ + 1, tol=0.0, **options, **PRINTED).fit(X, y)
    assert after.objective_[-1] == pytest.approx(rested.objective_[-1], rel=1e-9)
    assert distance(rested.projections_, after.projections_) <= 1e-4
    assert printed_rule(rested.projections_, after.projections_) >= np.sqrt(6 - 2)


# ── 2. Trace ratio or ratio trace ───────────────────────────────────────────────────────────────


def test_ratio_trace_may_lower_the_criterion_and_trace_ratio_does_not():
    X, y = problem((5, 4), seed=1)
    history = {
        solver: MCSDA((1, 3), solver=solver, ridge=0.0, max_iter=15, tol=0.0, **PRINTED)
        .fit(X, y)
        .objective_
        for solver in ("ratio_trace", "trace_ratio")
    }
    falls = {solver: (np.diff(J) / J[1:]).min() for solver, J in history.items()}
    assert falls["ratio_trace"] < -0.01
    assert falls["trace_ratio"] >= -1e-10
    assert history["trace_ratio"][-1] > history["ratio_trace"][-1]


def test_the_paper_is_the_ratio_trace_with_orthonormal_columns():
    X, y = problem((5, 4), seed=2)
    expected = reference.mcsda(X, y, 2, (2, 2), ridge=0.01, rounds=3, solve=reference.ratio_trace)
    rounds = {"init": "ones", "max_iter": 3, "tol": 0.0}
    found = MCSDA((2, 2), ridge=("absolute", 0.01), **rounds, **PRINTED).fit(X, y)
    assert distance(found.projections_, expected) <= 1e-8
    for W in found.projections_:
        np.testing.assert_allclose(W.T @ W, np.eye(2), atol=1e-12)
    other = reference.mcsda(X, y, 2, (2, 2), ridge=0.01, rounds=3, solve=reference.trace_ratio)
    assert distance(found.projections_, other) > 1e-2


# ── 3. A ridge on every mode ────────────────────────────────────────────────────────────────────


def test_a_ridge_on_every_mode_breaks_the_monotone_criterion():
    X, y = problem((5, 4), seed=4)

    def history(ridge):
        return np.array(
            [
                criterion(X, y, 2, model(ridge, rounds).fit(X, y).projections_)
                for rounds in range(1, 9)
            ]
        )

    def model(ridge, rounds):
        options = {"solver": "trace_ratio", "ridge": ridge, "max_iter": rounds, "tol": 0.0}
        return MCSDA((1, 3), **options, **PRINTED)

    with_ridge, without = history(("absolute", 5.0)), history(0.0)
    assert (np.diff(with_ridge) / with_ridge[1:]).min() < -0.01
    assert (np.diff(without) / without[1:]).min() >= -1e-10


# ── 4. Equation 8 ───────────────────────────────────────────────────────────────────────────────


def test_equation_8_as_printed_is_the_total_distance():
    X, y = problem((5, 4), classes=4, seed=5)
    factors = [
        np.linalg.qr(np.random.default_rng(k).normal(size=(n, 2)))[0] for k, n in ((0, 5), (1, 4))
    ]
    M = reference.mean(X)
    printed = sum(np.sum(reference.projected(x - M, factors) ** 2) for x in X)

    def traced(scatter):
        return np.trace(factors[0].T @ scatter(X, y, factors, 0) @ factors[0])

    between, within = traced(reference.between_scatter), traced(reference.within_scatter)
    assert printed == pytest.approx(between + within, rel=1e-12)
    assert between < 0.9 * printed


def test_cmda_maximises_equation_10():
    X, y = problem((5, 4), classes=4, seed=5)
    cmda = CMDA(ranks=(2, 2), ridge=0.0, max_iter=5, tol=0.0).fit(X, y)
    W = cmda.projections_
    between = np.trace(W[1].T @ reference.between_scatter(X, y, W, 1) @ W[1])
    within = np.trace(W[1].T @ reference.within_scatter(X, y, W, 1) @ W[1])
    assert cmda.objective_[-1] == pytest.approx(between / within, rel=1e-8)


# ── 5. The bound on the dimension ───────────────────────────────────────────────────────────────


@pytest.mark.parametrize("path", ["moments", "samples"])
def test_with_a_ridge_there_are_more_directions_than_positive_samples(path):
    X, y = problem((20,), classes=4, per_class=5, seed=6)
    n_p = int((y == 0).sum())

    def fitted(**ridge):
        model = CSDA(ranks=15, positive=0, **{**PRINTED, **ridge})
        return model.fit(X, y) if path == "samples" else model.fit_moments(gather_moments(X, y))

    csda = fitted()
    assert n_p == 5
    assert csda.ranks_ == (15,)
    expected = reference.csda(X, y, 0, 15, ridge=0.1)
    found = fitted(ridge=("absolute", 0.1))
    assert distance(found.projections_, [expected]) <= 1e-8


# ── 7. The all-ones start ───────────────────────────────────────────────────────────────────────


def test_the_start_of_the_first_mode_is_never_used():
    X, y = problem((5, 4), seed=7)

    def other_start(shape, ranks):
        start = reference.ones(shape, ranks)
        start[0] = np.random.default_rng(0).normal(size=start[0].shape)
        return start

    printed, other = (
        reference.mcsda(X, y, 2, (2, 3), ridge=0.1, rounds=3, start=start)
        for start in (reference.ones, other_start)
    )
    for V, W in zip(printed, other, strict=True):
        np.testing.assert_array_equal(V, W)


def test_equal_columns_of_ones_are_one_column_as_often():
    """They only scale both scatters of the first solution, which a ratio does not see."""
    X, y = problem((5, 4), seed=8)
    many, single = reference.ones((5, 4), (2, 3)), reference.ones((5, 4), (2, 1))
    np.testing.assert_allclose(
        reference.out_scatter(X, y, 2, many, 0), 3 * reference.out_scatter(X, y, 2, single, 0)
    )


def test_from_all_ones_cmda_of_two_classes_is_trapped_at_rank_one():
    """Summed over the columns, one difference of means is one vector: S_b has rank one for good."""
    X, y = problem((6, 5), classes=2, per_class=20, seed=9)
    start = reference.ones((6, 5), (3, 3))
    S_b = reference.between_scatter(X, y, start, 0)
    assert np.linalg.matrix_rank(S_b) == 1
    trapped = CMDA(ranks=(3, 3), init="ones").fit(X, y)
    free = CMDA(ranks=(3, 3)).fit(X, y)
    assert trapped.ranks_ == (1, 1)
    assert free.ranks_ == (3, 3)
    # MCSDA is not: its S_O sums over samples, not over class means.
    assert MCSDA(ranks=(3, 3), decision="distance", init="ones").fit(X, y).ranks_ == (3, 3)


def test_directions_without_any_scatter_to_keep_do_not_come():
    """S_O has as many directions as the negatives span; `ranks_` says how many came."""
    X, y = problem((8, 1), classes=2, per_class=20, seed=10)
    negatives = np.flatnonzero(y == 0)[:3]
    keep = np.r_[negatives, np.flatnonzero(y == 1)]
    mcsda = MCSDA(ranks=(6, 1), decision="distance", positive=1).fit(X[keep], y[keep])
    assert mcsda.ranks_ == (3, 1)
    assert mcsda.transform(X).shape == (len(X), 3)


# ── In one place ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("Method", [MCSDA, CSDA, CMDA], ids=lambda M: M.__name__)
def test_the_docs_of_a_method_list_its_departures(Method):
    assert "**Departures from the paper.**" in Method.__doc__
