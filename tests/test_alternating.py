"""Algorithm 1: its objective, its end, and stacks of models that do not see one another."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from reference import problem, projector
from tenfold import MCSDA
from tenfold.mathematics import alternation
from tenfold.mathematics.alternation import Recipe, subspace_distance
from tenfold.mathematics.criteria import Problem, class_specific
from tenfold.mathematics.moments import ClassMoments
from tenfold.mathematics.pass_statistics import PassStatistics
from tenfold.mathematics.sample_statistics import SampleStatistics
from tenfold.mathematics.solvers import SOLVERS, ratio_trace, trace_ratio
from tenfold.mathematics.stores import StoredSamples
from tenfold.system.threads import over_threads

seeds = st.integers(0, 2**32 - 1)


def stack(ranks, positives=2, ridge=0.1, absolute=True, shrinkage=0.0):
    """One model per row of `ranks`; the other arguments are numbers or one per model."""
    columns = (np.broadcast_to(c, len(ranks)) for c in (positives, ridge, absolute, shrinkage))
    return [
        {"ranks": r, "positive": int(p), "ridge": (float(d), bool(a)), "shrinkage": float(s)}
        for r, p, d, a, s in zip(ranks, *columns, strict=True)
    ]


def solve(statistics, models, share=alternation.in_order, **recipe):
    problem = Problem.stacked([class_specific(statistics, **model) for model in models])
    return alternation.solve(problem, Recipe(**recipe), share)


# ── Distance of subspaces ───────────────────────────────────────────────────────────────────────


@given(seed=seeds, n=st.integers(2, 7))
def test_subspace_distance_is_that_of_the_projectors(seed, n):
    rng = np.random.default_rng(seed)
    ranks = rng.integers(1, n + 1, 2)
    bases = [np.linalg.qr(rng.normal(size=(n, r)))[0] for r in ranks]
    padded = [np.pad(Q, ((0, 0), (0, n - Q.shape[1]))) for Q in bases]
    expected = np.linalg.norm(projector(bases[0]) - projector(bases[1]))
    assert subspace_distance(*padded) == pytest.approx(expected, abs=1e-12)


def test_subspace_distance_does_not_see_the_basis_and_keeps_small_angles():
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.normal(size=(6, 3)))[0]
    turned = Q @ np.linalg.qr(rng.normal(size=(3, 3)))[0]
    assert subspace_distance(Q, turned) <= 1e-14
    # An angle far below the square root of eps, where 2 (r - ||Q^T Q'||^2) would round to zero.
    angle = 1e-11
    a, b = np.eye(3)[:, :1], np.array([[np.cos(angle)], [np.sin(angle)], [0.0]])
    assert subspace_distance(a, b) == pytest.approx(np.sqrt(2) * angle, rel=1e-4)


def test_a_stack_of_subspaces_has_the_distances_of_each():
    rng = np.random.default_rng(0)
    first, second = (np.linalg.qr(rng.normal(size=(3, 2, 5, 2)))[0] for _ in range(2))
    found = subspace_distance(first, second)
    assert found.shape == (3, 2)
    for i, j in np.ndindex(3, 2):
        expected = np.linalg.norm(projector(first[i, j]) - projector(second[i, j]))
        assert found[i, j] == pytest.approx(expected)


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
    found = solve(ClassMoments.from_batch(X, y), models, solver=solver, max_iter=3, tol=0.0)
    D_O, D_I = distances(X, y, 2, found.columns(0))
    assert found.objective[0, -1] == pytest.approx(D_O / D_I, rel=1e-10)


def test_the_objective_counts_the_ridge():
    X, y = problem((5, 4), seed=1)
    models = stack([[2, 3]], ridge=0.7)
    found = solve(ClassMoments.from_batch(X, y), models, max_iter=3, tol=0.0)
    D_O, D_I = distances(X, y, 2, found.columns(0))
    assert found.objective[0, -1] == pytest.approx(D_O / (D_I + 0.7 * 3), rel=1e-10)


@settings(max_examples=40)
@given(
    seed=seeds,
    shape=st.sampled_from([(4, 3), (3, 3, 2), (5, 2), (2, 2, 2, 2)]),
    init=st.sampled_from(["ones", "identity"]),
    statistics=st.sampled_from([ClassMoments, SampleStatistics]),
)
def test_the_objective_of_the_trace_ratio_never_falls_without_a_ridge(
    seed, shape, init, statistics
):
    rng = np.random.default_rng(seed)
    X, y = problem(shape, per_class=int(rng.integers(6, 20)), seed=seed)
    models = stack([[int(rng.integers(1, size + 1)) for size in shape]], ridge=0.0)
    found = solve(
        statistics.from_batch(X, y), models, solver=trace_ratio, init=init, max_iter=12, tol=0.0
    )
    history = found.objective[0]
    assert len(history) == 12 or found.converged[0]
    assert (np.diff(history) >= -1e-10 * history[1:]).all()


# ── The end ─────────────────────────────────────────────────────────────────────────────────────


def history_of(models, X, y, **recipe):
    return solve(ClassMoments.from_batch(X, y), models, tol=0.0, **recipe).objective[0]


def test_a_model_rests_when_its_objective_does():
    X, y = problem((5, 4), seed=4)
    models = stack([[2, 2]])
    found = solve(ClassMoments.from_batch(X, y), models, max_iter=200, tol=1e-6)
    n = int(found.n_iter[0])
    assert found.converged[0]
    assert 2 < n < 200
    assert found.objective.shape == (1, n)
    # The last round changed it by no more than tol, and every round before by more.
    J = history_of(models, X, y, max_iter=n)
    np.testing.assert_array_equal(found.objective[0], J)
    changes = np.abs(np.diff(J)) / J[1:]
    assert changes[-1] <= 1e-6
    assert (changes[:-1] > 1e-6).all()


def test_a_model_rests_when_its_objective_reaches_no_new_height():
    """The ratio trace may fall from the top of its objective, in steps that are never small."""
    X, y = problem((5, 4), seed=2)
    models = stack([[2, 2]])
    found = solve(ClassMoments.from_batch(X, y), models, max_iter=200, tol=1e-6)
    n = int(found.n_iter[0])
    J = history_of(models, X, y, max_iter=n)
    assert found.converged[0]
    assert (np.abs(np.diff(J)) > 1e-6 * J[1:]).all()
    assert J.argmax() == n - 1 - 3


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
    statistics, models = ClassMoments.from_batch(X, y), stack([[2, 2]])
    J = solve(statistics, models, max_iter=15, tol=0.0).objective[0]
    changes = np.abs(np.diff(J)) / J[1:]
    for tol in np.outer(changes[[0, 2, 4, 13]], [1 - 1e-7, 1 + 1e-7]).ravel():
        found = solve(statistics, models, max_iter=15, tol=float(tol))
        assert found.n_iter[0] == end_of(J, tol)


def test_with_a_tol_of_zero_all_rounds_are_made():
    X, y = problem((5, 4), seed=2)
    found = solve(ClassMoments.from_batch(X, y), stack([[5, 4], [2, 2]]), max_iter=60, tol=0.0)
    assert found.n_iter.tolist() == [60, 60]
    assert not found.converged.any()


def test_a_model_that_still_moves_is_not_called_converged():
    X, y = problem((5, 4), seed=2)
    found = solve(ClassMoments.from_batch(X, y), stack([[2, 2]]), max_iter=2, tol=1e-12)
    assert not found.converged[0]
    assert found.n_iter[0] == 2


def test_vectors_need_one_round():
    X, y = problem((6,), seed=3)
    found = solve(ClassMoments.from_batch(X, y), stack([[3]]), max_iter=20)
    assert found.n_iter.tolist() == [1]
    assert found.converged.all()


# ── Stacks ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("statistics", [ClassMoments, SampleStatistics])
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
    statistics = statistics.from_batch(X, y)
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


@pytest.mark.parametrize("different", ["ranks", "ridge", "absolute", "positives", "shrinkage"])
def test_models_that_differ_in_one_thing_share_no_more_than_they_may(different):
    X, y = problem((5, 4), seed=9)
    options = {"ranks": [[2, 2]] * 3, "ridge": 0.3, "absolute": 0, "positives": 1}
    values = {
        "ranks": [[1, 2], [4, 2], [2, 2]],
        "ridge": np.array([0.01, 10.0, 0.3]),
        "absolute": np.array([1, 0, 1]),
        "positives": np.array([0, 1, 2]),
        "shrinkage": np.array([0.0, 1.0, 0.5]),
    }
    models = stack(**options | {different: values[different]})
    statistics = ClassMoments.from_batch(X, y)
    together = solve(statistics, models, max_iter=1, tol=0.0)
    for m, model in enumerate(models):
        alone = solve(statistics, [model], max_iter=1, tol=0.0)
        mine, its = together.columns(m), alone.columns(0)
        assert reference.distance(mine, its) <= 1e-9
    first, second = (together.columns(m) for m in (0, 1))
    if different != "ranks":
        assert reference.distance(first, second) > 1e-4


def test_models_that_rest_early_are_left_alone():
    X, y = problem((5, 4), seed=5)
    models = stack([[5, 4], [2, 2]])  # nothing to choose for the first, so it rests at once
    found = solve(ClassMoments.from_batch(X, y), models, max_iter=200, tol=1e-9)
    assert found.n_iter[0] < found.n_iter[1]
    n = int(found.n_iter[0])
    np.testing.assert_array_equal(found.objective[0, n:], found.objective[0, n - 1])


@pytest.mark.parametrize("workers", [1, 3])
def test_parts_of_a_stack_find_what_the_whole_finds(monkeypatch, workers):
    from tenfold.system import threads

    X, y = problem((6, 5), seed=6)
    models = stack(
        [[r, max(1, r - 1)] for r in (1, 2, 3, 4, 5)], positives=np.array([0, 1, 2, 0, 1])
    )
    statistics = ClassMoments.from_batch(X, y)
    whole = solve(statistics, models, max_iter=30, tol=1e-3)
    assert len(set(whole.n_iter)) > 1, "models that rest at different times are needed here"
    monkeypatch.setattr(alternation, "CACHE_BYTES", 0)  # parts of a quarter of the models
    monkeypatch.setattr(threads, "_allowed", lambda controller: workers)
    shared = solve(statistics, models, share=over_threads, max_iter=30, tol=1e-3)
    for V, W in zip(whole.projections, shared.projections, strict=True):
        np.testing.assert_allclose(V, W, atol=1e-12)
    np.testing.assert_allclose(whole.objective, shared.objective, rtol=1e-12)
    np.testing.assert_array_equal(whole.n_iter, shared.n_iter)
    np.testing.assert_array_equal(whole.converged, shared.converged)


@pytest.mark.parametrize("cache", [0, 2**20], ids=["parts", "whole"])
@pytest.mark.parametrize("statistics", [ClassMoments, SampleStatistics])
@pytest.mark.parametrize(
    ("ranks", "positives"),
    [([2, 2, 2, 2, 2], 1), ([1, 2, 3, 4, 5], 1), ([1, 5], 1), ([2, 2, 2], [2, 1, 0])],
)
def test_models_come_back_in_the_order_in_which_they_were_asked_for(
    monkeypatch, cache, statistics, ranks, positives
):
    X, y = problem((6, 5), seed=6)
    ridges = np.linspace(0.1, 2.0, len(ranks))
    models = stack([[r, 2] for r in ranks], positives=positives, ridge=ridges)
    monkeypatch.setattr(alternation, "CACHE_BYTES", cache)
    found = solve(statistics.from_batch(X, y), models, max_iter=3)
    assert len(found.n_iter) == len(models)
    for m, model in enumerate(models):
        alone = solve(statistics.from_batch(X, y), [model], max_iter=3)
        for V, W in zip(alone.columns(0), found.columns(m), strict=True):
            np.testing.assert_allclose(projector(V), projector(W), atol=1e-9)


@pytest.mark.parametrize("workers", [1, 2, 9])
def test_parts_come_back_in_order(monkeypatch, workers):
    from tenfold.system import threads

    monkeypatch.setattr(threads, "_allowed", lambda controller: workers)
    parts = [slice(a, a + 3) for a in range(0, 12, 3)]
    assert over_threads(lambda part: part.start, parts) == [0, 3, 6, 9]


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
    found = solve(ClassMoments.from_batch(X, y), models, max_iter=3, tol=0.0)
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
        both = Problem.stacked([class_specific(ClassMoments.from_batch(X, y), **m) for m in models])
        _, B = both.along_mode(k, [np.stack([W, W]) for W in whole])
        inside = reference.in_scatter(X, y, p, whole, k) / 2
        within = reference.within_scatter(X, y, whole, k) * share / 2
        ridge = 0.01 * share * (1 + between / total) * total / size
        np.testing.assert_allclose(B[0], inside + within + ridge * np.eye(size), rtol=1e-10)


def test_without_a_ridge_a_singular_scatter_still_has_a_solution():
    X, y = problem((5, 4), per_class=2, seed=8)
    one = np.flatnonzero(y == 2)[1:]
    X, y = np.delete(X, one, axis=0), np.delete(y, one)  # a single positive sample: S_I = 0
    found = solve(ClassMoments.from_batch(X, y), stack([[2, 2]], ridge=0.0), max_iter=5, tol=0.0)
    assert all(np.isfinite(W).all() for W in found.projections)
    assert np.isfinite(found.objective).all()


def test_an_unknown_start_is_refused():
    X, y = problem((5, 4), seed=2)
    with pytest.raises(ValueError, match=r"init is 'zeros'; expected 'ones' or 'identity'"):
        solve(ClassMoments.from_batch(X, y), stack([[2, 2]]), init="zeros")


def test_the_default_recipe_is_the_papers_but_for_its_end():
    recipe = Recipe()
    assert recipe.solver is ratio_trace
    assert (recipe.init, recipe.orthonormal) == ("ones", True)
    assert (recipe.max_iter, recipe.tol) == (100, 1e-3)


@pytest.mark.parametrize("statistics", ["samples", "moments"])
def test_windows_without_their_mean_are_not_seen_through_columns_of_ones(statistics):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 6, 8)), np.repeat([0, 1, 2], 30)
    for c in range(3):
        X[y == c, c] += np.sin(np.arange(8) + c)
    X -= X.mean(axis=2, keepdims=True)
    models = [
        MCSDA((2, 3), init=init, statistics=statistics).fit(X, y) for init in ("ones", "identity")
    ]
    for W, V in zip(models[0].projections_, models[1].projections_, strict=True):
        np.testing.assert_allclose(W @ W.T, V @ V.T, atol=1e-10)


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
            "moments": ClassMoments.from_batch(windows, y),
            "samples": SampleStatistics.from_batch(windows, y),
            "passes": passes,
        }
        models = [{"ranks": (2, 3), "positive": 1, "shrinkage": 0.0, "ridge": ridge}]
        found = solve(statistics[kind], models, init="ones", max_iter=50)
        expected = solve(statistics["moments"], models, init="ones", max_iter=50)
        whole = solve(statistics["moments"], models, init="identity", max_iter=50)
        assert found.n_iter == expected.n_iter
        np.testing.assert_allclose(found.objective, expected.objective, rtol=1e-8)
        is_whole = found.objective.shape == whole.objective.shape and np.allclose(
            found.objective, whole.objective, rtol=1e-8
        )
        assert is_whole == (windows is not X)
