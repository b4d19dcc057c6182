"""Algorithm 1: its objective, its end, and stacks of models that do not see one another."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from reference import problem, projector
from tenfold import ClassMoments
from tenfold.linalg.solvers import SOLVERS, trace_ratio
from tenfold.optimization import alternation
from tenfold.optimization.alternation import Recipe, subspace_distance
from tenfold.optimization.criteria import Problem, class_specific
from tenfold.statistics.class_statistics import MomentStatistics
from tenfold.statistics.sample_statistics import PassStatistics, SampleStatistics
from tenfold.statistics.stores import StoredSamples

seeds = st.integers(0, 2**32 - 1)


def of_moments(X, y):
    return MomentStatistics.of(ClassMoments.from_batch(X, y))


def stack(ranks, positives=2, ridge=0.1, absolute=True, shrinkage=0.0):
    """One model per row of `ranks`; the other arguments are numbers or one per model."""
    columns = (np.broadcast_to(c, len(ranks)) for c in (positives, ridge, absolute, shrinkage))
    return [
        {"ranks": r, "positive": int(p), "ridge": (float(d), bool(a)), "shrinkages": float(s)}
        for r, p, d, a, s in zip(ranks, *columns, strict=True)
    ]


def solve(statistics, models, threads=1, **recipe):
    problem = Problem.stacked([class_specific(statistics, **model) for model in models])
    return alternation.solve(problem, Recipe(**recipe), threads)


# ── Distance of subspaces ───────────────────────────────────────────────────────────────────────


@given(seed=seeds, n=st.integers(2, 7))
def test_subspace_distance_is_that_of_the_projectors(seed, n):
    rng = np.random.default_rng(seed)
    ranks = rng.integers(1, n + 1, 2)
    bases = [np.linalg.qr(rng.normal(size=(n, r)))[0] for r in ranks]
    padded = [np.pad(Q, ((0, 0), (0, n - Q.shape[1]))) for Q in bases]
    expected = np.linalg.norm(projector(bases[0]) - projector(bases[1]))
    assert subspace_distance(*padded) == pytest.approx(expected, abs=1e-12)


# ── The objective ───────────────────────────────────────────────────────────────────────────────


def distances(X, y, positive, factors):
    """D_O and D_I of eq. 13, sample by sample."""
    M_p = reference.mean([x for x, label in zip(X, y, strict=True) if label == positive])
    D_O = D_I = 0.0
    for x, label in zip(X, y, strict=True):
        squared = np.sum(reference.projected(x - M_p, factors) ** 2)
        D_O, D_I = (D_O, D_I + squared) if label == positive else (D_O + squared, D_I)
    return D_O, D_I


@pytest.mark.parametrize("solver", SOLVERS.values(), ids=SOLVERS)
def test_the_objective_is_eq_14_at_the_projections(solver):
    X, y = problem((5, 4, 3), seed=1)
    models = stack([[2, 3, 2]], ridge=0.0)
    found = solve(of_moments(X, y), models, solver=solver, max_iter=3, tol=0.0)
    D_O, D_I = distances(X, y, 2, found.columns(0))
    assert found.objective[0, -1] == pytest.approx(D_O / D_I, rel=1e-10)


def test_the_objective_counts_the_ridge():
    X, y = problem((5, 4), seed=1)
    models = stack([[2, 3]], ridge=0.7)
    found = solve(of_moments(X, y), models, max_iter=3, tol=0.0)
    D_O, D_I = distances(X, y, 2, found.columns(0))
    assert found.objective[0, -1] == pytest.approx(D_O / (D_I + 0.7 * 3), rel=1e-10)


@settings(max_examples=40)
@given(
    seed=seeds,
    shape=st.sampled_from([(4, 3), (3, 3, 2), (5, 2), (2, 2, 2, 2)]),
    init=st.sampled_from(["ones", "identity"]),
    statistics=st.sampled_from([of_moments, SampleStatistics.from_batch]),
)
def test_the_objective_of_the_trace_ratio_never_falls_without_a_ridge(
    seed, shape, init, statistics
):
    rng = np.random.default_rng(seed)
    X, y = problem(shape, per_class=int(rng.integers(6, 20)), seed=seed)
    models = stack([[int(rng.integers(1, size + 1)) for size in shape]], ridge=0.0)
    found = solve(statistics(X, y), models, solver=trace_ratio, init=init, max_iter=12, tol=0.0)
    history = found.objective[0]
    assert len(history) == 12 or found.converged[0]
    assert (np.diff(history) >= -1e-10 * history[1:]).all()


# ── The end ─────────────────────────────────────────────────────────────────────────────────────


def end_of(J, tol):
    """As the user guide has it: a change of at most `tol` of the value, or three rounds of none."""
    for n in range(2, len(J) + 1):
        if abs(J[n - 1] - J[n - 2]) <= tol * abs(J[n - 1]) or J[:n].argmax() < n - 3:
            return n
    return len(J)


@pytest.mark.parametrize("seed", [2, 4])
def test_rounds_end_where_the_objective_says(seed):
    """Just below and just above the change of some rounds."""
    X, y = problem((5, 4), seed=seed)
    statistics, models = of_moments(X, y), stack([[2, 2]])
    J = solve(statistics, models, max_iter=15, tol=0.0).objective[0]
    changes = np.abs(np.diff(J)) / J[1:]
    for tol in np.outer(changes[[0, 2, 4, 13]], [1 - 1e-7, 1 + 1e-7]).ravel():
        found = solve(statistics, models, max_iter=15, tol=float(tol))
        assert found.n_iter[0] == end_of(J, tol)


def test_vectors_need_one_round():
    X, y = problem((6,), seed=3)
    found = solve(of_moments(X, y), stack([[3]]), max_iter=20)
    assert found.n_iter.tolist() == [1]
    assert found.converged.all()


# ── Stacks ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("statistics", [of_moments, SampleStatistics.from_batch])
@pytest.mark.parametrize("solver", SOLVERS.values(), ids=SOLVERS)
@pytest.mark.parametrize("init", ["ones", "identity"])
@pytest.mark.parametrize("orthonormal", [True, False])
def test_a_stack_of_models_is_each_of_them_alone(statistics, solver, init, orthonormal):
    """Other classes, ranks, ridges (relative and absolute) and shrinkages in one stack."""
    X, y = problem((5, 4, 2), seed=4)
    models = stack(
        ranks=[[2, 3, 1], [1, 1, 1], [5, 4, 2], [3, 2, 2], [2, 3, 1], [4, 3, 1]],
        positives=np.array([0, 1, 2, 0, 0, 2]),
        ridge=np.array([0.1, 0.3, 0.5, 0.1, 0.1, 0.2]),
        absolute=np.array([1, 0, 1, 0, 0, 1]),
        shrinkage=np.array([0.0, 0.4, 0.0, 0.0, 0.2, 0.9]),
    )
    statistics = statistics(X, y)
    options = {"solver": solver, "init": init, "orthonormal": orthonormal, "max_iter": 5}
    together = solve(statistics, models, tol=1e-3, **options)
    for m, model in enumerate(models):
        alone = solve(statistics, [model], tol=1e-3, **options)
        n = int(alone.n_iter[0])
        assert together.n_iter[m] == n
        assert together.converged[m] == alone.converged[0]
        np.testing.assert_allclose(together.objective[m, :n], alone.objective[0], rtol=1e-8)
        mine, its = together.columns(m), alone.columns(0)
        for V, W in zip(mine, its, strict=True):
            # W W^T sees scale as well as span.
            scale = np.linalg.norm(W @ W.T)
            assert np.linalg.norm(V @ V.T - W @ W.T) <= 1e-7 * scale
        for V, r in zip(together.projections, model["ranks"], strict=True):
            assert not V[m, :, r:].any()


@pytest.mark.parametrize("workers", [1, 3])
def test_parts_of_a_stack_find_what_the_whole_finds(monkeypatch, workers):
    X, y = problem((6, 5), seed=6)
    models = stack(
        [[r, max(1, r - 1)] for r in (1, 2, 3, 4, 5)], positives=np.array([0, 1, 2, 0, 1])
    )
    statistics = of_moments(X, y)
    whole = solve(statistics, models, max_iter=30, tol=1e-3)
    assert len(set(whole.n_iter)) > 1, "models that rest at different times are needed here"
    monkeypatch.setattr(alternation, "CACHE_BYTES", 0)  # parts of a quarter of the models
    shared = solve(statistics, models, threads=workers, max_iter=30, tol=1e-3)
    for V, W in zip(whole.projections, shared.projections, strict=True):
        np.testing.assert_allclose(V, W, atol=1e-12)
    np.testing.assert_allclose(whole.objective, shared.objective, rtol=1e-12)
    np.testing.assert_array_equal(whole.n_iter, shared.n_iter)
    np.testing.assert_array_equal(whole.converged, shared.converged)


# ── Ridge ───────────────────────────────────────────────────────────────────────────────────────


def test_a_relative_ridge_is_a_share_of_the_mean_eigenvalue_per_positive_sample():
    X, y = problem((5, 4), seed=7)
    p, share = 2, (y == 2).mean()
    factors = reference.ones((5, 4), (2, 2))
    for _ in range(3):
        for k, size in enumerate((5, 4)):
            A = reference.out_scatter(X, y, p, factors, k)
            B = reference.in_scatter(X, y, p, factors, k)
            ridge = 0.01 * share * np.trace(A + B) / size
            factors[k] = reference.ratio_trace(A, B + ridge * np.eye(size), 2)
    models = stack([[2, 2]], ridge=0.01, absolute=False)
    found = solve(of_moments(X, y), models, max_iter=3, tol=0.0)
    assert reference.distance(found.columns(0), factors) <= 1e-8


def test_with_shrinkage_the_ridge_of_all_classes_is_in_units_of_samples_about_class_means():
    X, y = problem((5, 4), seed=7)
    p, share, whole = 2, (y == 2).mean(), reference.identities((5, 4), (5, 4))
    means = np.stack([X[y == c].mean(axis=0) for c in y])  # of each sample's class
    total, between = (((x - X.mean(axis=0)) ** 2).sum() for x in (X, means))
    for k, size in enumerate((5, 4)):
        models = stack(
            [[2, 2], [2, 2]], positives=[2, 0], ridge=0.01, absolute=False, shrinkage=0.5
        )
        both = Problem.stacked([class_specific(of_moments(X, y), **m) for m in models])
        pair = both.pair(k, [np.stack([W, W]) for W in whole])
        B = pair.suppress + pair.ridge[:, None, :] * np.eye(both.shape[k])
        inside = reference.in_scatter(X, y, p, whole, k) / 2
        within = reference.within_scatter(X, y, whole, k) * share / 2
        ridge = 0.01 * share * (1 + between / total) * total / size
        np.testing.assert_allclose(B[0], inside + within + ridge * np.eye(size), rtol=1e-10)


@pytest.mark.parametrize("ridge", [(0.1, False), (10.0, True)], ids=["relative", "absolute"])
@pytest.mark.parametrize("kind", ["moments", "samples", "passes"])
def test_windows_without_their_mean_are_seen_whole_by_any_statistics(kind, ridge):
    """Also beside an absolute ridge, and without one more pass over the samples otherwise."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 6, 8)), np.repeat([0, 1, 2], [10, 70, 10])
    X[y == 1, 1] += np.sin(np.arange(8))
    for windows in (X, X - X.mean(axis=2, keepdims=True)):
        passes = PassStatistics.from_source(StoredSamples.of(windows), y, None, np.arange(3))
        statistics = {
            "moments": of_moments(windows, y),
            "samples": SampleStatistics.from_batch(windows, y),
            "passes": passes,
        }
        models = [{"ranks": (2, 3), "positive": 1, "shrinkages": 0.0, "ridge": ridge}]
        found = solve(statistics[kind], models, init="ones", max_iter=50)
        expected = solve(statistics["moments"], models, init="ones", max_iter=50)
        whole = solve(statistics["moments"], models, init="identity", max_iter=50)
        assert found.n_iter == expected.n_iter
        np.testing.assert_allclose(found.objective, expected.objective, rtol=1e-8)
        is_whole = found.objective.shape == whole.objective.shape and np.allclose(
            found.objective, whole.objective, rtol=1e-8
        )
        assert is_whole == (windows is not X)
