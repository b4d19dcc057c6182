"""Solvers: optimal, nested where they say so, the same for a stack as for each of its matrices."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from reference import projector
from tenfold.linalg.solvers import (
    SOLVERS,
    leading_eigenvectors,
    orthonormalised,
    ratio_trace,
    trace_difference,
    trace_ratio,
    with_fixed_signs,
)

ALL = [ratio_trace, trace_ratio, trace_difference, leading_eigenvectors]
each_solver = pytest.mark.parametrize("solver", ALL, ids=lambda solver: solver.__name__)

seeds = st.integers(0, 2**32 - 1)


def pair(n, seed, rank_of_A=None):
    """A positive semi-definite, B positive definite, both well away from multiples of I."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(n, rank_of_A or n)) * np.linspace(0.5, 2, rank_of_A or n)
    other = rng.normal(size=(n, 2 * n)) * np.linspace(0.5, 2, n)[:, None]
    return root @ root.T, other @ other.T / n + 0.05 * np.eye(n)


def ratio_trace_value(W, A, B):
    return np.trace(np.linalg.solve(W.T @ B @ W, W.T @ A @ W))


def trace_ratio_value(W, A, B):
    return np.trace(W.T @ A @ W) / np.trace(W.T @ B @ W)


def difference_value(W, A, B):
    zeta = np.linalg.eigvals(np.linalg.solve(B, A)).real.max()
    return np.trace(W.T @ (A - zeta * B) @ W)


def captured(W, A, B):
    return np.trace(W.T @ A @ W)


OBJECTIVE = {
    ratio_trace: ratio_trace_value,
    trace_ratio: trace_ratio_value,
    trace_difference: difference_value,
    leading_eigenvectors: captured,
}


@each_solver
@settings(max_examples=25)
@given(seed=seeds, n=st.integers(2, 7))
def test_no_random_basis_beats_a_solver(solver, seed, n):
    A, B = pair(n, seed)
    rank = 1 + seed % n
    found = orthonormalised(solver(A[None], B[None], rank))[0]
    best = OBJECTIVE[solver](found, A, B)
    rng = np.random.default_rng(seed)
    others = [np.linalg.qr(rng.normal(size=(n, rank)))[0] for _ in range(20)]
    near = [np.linalg.qr(found + 1e-2 * rng.normal(size=(n, rank)))[0] for _ in range(20)]
    slack = 1e-10 * (np.trace(A) + abs(best))
    assert all(OBJECTIVE[solver](W, A, B) <= best + slack for W in others + near)


@pytest.mark.parametrize(
    ("solver", "oracle"),
    [
        (ratio_trace, reference.ratio_trace),
        (trace_ratio, reference.trace_ratio),
        (trace_difference, reference.trace_difference),
        (leading_eigenvectors, reference.leading),
    ],
    ids=lambda f: f.__name__,
)
@pytest.mark.parametrize("rank", [1, 2, 4])
def test_a_solver_spans_what_lapack_finds_one_matrix_at_a_time(solver, oracle, rank):
    A, B = pair(6, seed=3)
    found = solver(A[None], B[None], rank)[0]
    assert np.linalg.norm(projector(found) - projector(oracle(A, B, rank))) <= 1e-9


def test_ratio_trace_gives_generalised_eigenvectors_in_the_metric_of_b():
    A, B = pair(6, seed=4)
    W = ratio_trace(A[None], B[None], 4)[0]
    np.testing.assert_allclose(W.T @ B @ W, np.eye(4), atol=1e-10)
    expected = reference.eigh(A, B, eigvals_only=True)[::-1][:4]
    np.testing.assert_allclose(W.T @ A @ W, np.diag(expected), atol=1e-9 * expected[0])


@pytest.mark.parametrize("solver", [trace_ratio, trace_difference, leading_eigenvectors])
def test_the_other_solvers_give_orthonormal_columns(solver):
    A, B = pair(6, seed=5)
    W = solver(A[None], B[None], 3)[0]
    np.testing.assert_allclose(W.T @ W, np.eye(3), atol=1e-12)


def test_trace_ratio_and_ratio_trace_are_two_problems():
    """Departure 2: eq. 19 and the eigenvectors of S_I^-1 S_O differ as soon as the rank is 2."""
    A, B = pair(6, seed=6)
    one = [solver(A[None], B[None], 1)[0] for solver in (ratio_trace, trace_ratio)]
    assert np.linalg.norm(projector(one[0]) - projector(one[1])) <= 1e-6
    two = [orthonormalised(solver(A[None], B[None], 3))[0] for solver in (ratio_trace, trace_ratio)]
    assert np.linalg.norm(projector(two[0]) - projector(two[1])) > 0.1
    assert trace_ratio_value(two[1], A, B) > 1.01 * trace_ratio_value(two[0], A, B)
    assert ratio_trace_value(two[0], A, B) > 1.01 * ratio_trace_value(two[1], A, B)


@each_solver
def test_a_stack_is_solved_as_each_of_its_matrices(solver):
    pairs = [pair(5, seed) for seed in range(6)]
    A, B = np.stack([a for a, _ in pairs]), np.stack([b for _, b in pairs])
    ranks = np.array([1, 3, 2, 5, 1, 4])
    stack = solver(A, B, ranks)
    assert stack.shape == (6, 5, 5)
    for m, rank in enumerate(ranks):
        alone = solver(A[m : m + 1], B[m : m + 1], int(rank))[0]
        np.testing.assert_allclose(stack[m, :, :rank], alone, atol=1e-9)
        assert not stack[m, :, rank:].any()


@each_solver
def test_all_but_the_trace_ratio_keep_their_first_directions_when_the_rank_grows(solver):
    A, B = pair(6, seed=7)
    low, high = (orthonormalised(solver(A[None], B[None], rank))[0] for rank in (2, 4))
    gap = np.linalg.norm(projector(low) - projector(high[:, :2]))
    assert (gap <= 1e-9) == (solver is not trace_ratio)


@each_solver
def test_the_answer_does_not_depend_on_the_units_of_either_matrix(solver):
    A, B = pair(5, seed=8)
    expected = projector(solver(A[None], B[None], 2)[0])
    for a, b in [(1e6, 1e6), (1e-6, 1e-6), (1e6, 1e-6)]:
        found = projector(solver(a * A[None], b * B[None], 2)[0])
        assert np.linalg.norm(found - expected) <= 1e-8


def test_directions_without_anything_to_maximise_come_as_zero_columns():
    A, B = pair(6, seed=9, rank_of_A=2)
    W = ratio_trace(A[None], B[None], 5)[0]
    assert W.any(axis=0).tolist() == [True, True, False, False, False]
    expected = projector(reference.metric_columns(A, B, 2))
    assert np.linalg.norm(projector(W[:, :2]) - expected) <= 1e-8
    assert not orthonormalised(W[None])[0, :, 2:].any()


def test_with_nothing_to_maximise_one_direction_is_left():
    W = ratio_trace(np.zeros((1, 3, 3)), np.eye(3)[None], 2)[0]
    assert W.any(axis=0).tolist() == [True, False]
    assert np.isfinite(W).all()


@each_solver
def test_a_minimised_matrix_that_is_barely_definite_gives_finite_answers(solver):
    A = np.diag([1.0, 2.0, 3.0])
    B = np.diag([1.0, 1e-17, 1e-17])
    B[1, 2] = B[2, 1] = 1.1e-17  # indefinite by rounding
    W = solver(A[None], B[None], 2)[0]
    assert np.isfinite(W).all()
    assert np.linalg.matrix_rank(W) == 2


@settings(max_examples=30)
@given(seed=seeds)
def test_orthonormalised_columns_keep_the_nested_spans(seed):
    W = np.random.default_rng(seed).normal(size=(2, 5, 3))
    Q = orthonormalised(W)
    for m in range(2):
        np.testing.assert_allclose(Q[m].T @ Q[m], np.eye(3), atol=1e-12)
        for r in (1, 2, 3):
            gap = projector(Q[m, :, :r]) - projector(W[m, :, :r])
            assert np.linalg.norm(gap) <= 1e-8


def test_signs_are_fixed_by_the_largest_entry():
    W = np.array([[0.5, -0.0], [-2.0, 0.0]])
    np.testing.assert_array_equal(with_fixed_signs(W), [[-0.5, 0.0], [2.0, 0.0]])
    assert not np.signbit(with_fixed_signs(W)[:, 1]).any()
    np.testing.assert_array_equal(with_fixed_signs(W), with_fixed_signs(-W))


@pytest.mark.parametrize("solver", SOLVERS.values(), ids=lambda solver: solver.__name__)
@pytest.mark.parametrize("scale", [1.0, 1e279, 1e-279])
def test_a_scatter_that_is_nearly_zero_gives_directions_at_any_scale(solver, scale):
    rng = np.random.default_rng(4)
    root = rng.normal(size=(40, 40))
    A, B = root @ root.T, np.outer(root[0], root[0])
    for small in (1e-16, 1e-30):
        pair = [scale * S[None] / 2000 for S in (A, B + small * np.eye(40))]
        W = orthonormalised(solver(*pair, 2))[0]
        np.testing.assert_allclose(W.T @ W, np.eye(2), atol=1e-10)


def test_directions_without_scatter_do_not_count():
    A = np.diag([2.0, 0.0, 3.0, 1e-18])[None]
    W = leading_eigenvectors(A, None, 4)[0]
    assert W.any(axis=0).tolist() == [True, True, False, False]
    assert leading_eigenvectors(0 * A, None, 4)[0].any(axis=0).tolist() == [True] + 3 * [False]


@pytest.mark.parametrize("seed", range(5))
def test_the_rounding_of_a_scatter_is_no_direction(seed):
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.normal(size=(8, 8)))[0]
    A = Q[:, :2] @ np.diag([3.0, 1.0]) @ Q[:, :2].T  # of rank 2, but for rounding
    B = (Q * np.logspace(0, -7, 8)) @ Q.T  # in which that rounding is large
    W = ratio_trace(((A + A.T) / 2)[None], ((B + B.T) / 2)[None], 6)[0]
    assert W.any(axis=0).sum() == 2
    np.testing.assert_allclose(projector(W[:, :2]), Q[:, :2] @ Q[:, :2].T, atol=1e-8)


def test_features_in_very_different_units_are_all_directions():
    A, B = pair(5, seed=3)
    units = np.array([1.0, 1e-5, 1e5, 1e-9, 1e3])
    plain = ratio_trace(A[None], B[None], 5)[0]
    scaled = ratio_trace((A * np.outer(units, units))[None], (B * np.outer(units, units))[None], 5)
    np.testing.assert_allclose(np.abs(scaled[0] * units[:, None]), np.abs(plain), rtol=1e-6)
