"""Unfolding, mode products, projection and reconstruction: Definitions 1-2, eqs 1 and 6."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from tenfold.mathematics.accumulate import row_blocks
from tenfold.mathematics.algebra import mode_product, project, reconstruct, unfold

SHAPES = [(5,), (4, 3), (3, 4, 2), (2, 3, 2, 3)]
each_shape = pytest.mark.parametrize("shape", SHAPES, ids=str)


def batch(shape, n=6, seed=0):
    return np.random.default_rng(seed).normal(size=(n, *shape))


@each_shape
def test_unfolding_lays_fibres_out_as_columns(shape):
    X = batch(shape)
    for k in range(len(shape)):
        expected = np.stack([reference.unfolded(x, k) for x in X])
        np.testing.assert_array_equal(unfold(X, k), expected)


def test_unfolding_of_the_worked_example_of_kolda_and_bader():
    # Kolda & Bader 2009, example 2.1: two frontal slices of 3 x 4. They list the columns with the
    # second mode running fastest; C order lets the last mode run fastest.
    x = np.stack([np.arange(1, 13).reshape(4, 3).T, np.arange(13, 25).reshape(4, 3).T], axis=2)
    first_row = unfold(x[None], 0)[0, 0]
    assert sorted(first_row) == [1, 4, 7, 10, 13, 16, 19, 22]
    np.testing.assert_array_equal(first_row, [1, 13, 4, 16, 7, 19, 10, 22])


@each_shape
def test_a_mode_product_multiplies_the_unfolding_eq_1(shape):
    X, rng = batch(shape), np.random.default_rng(1)
    for k, size in enumerate(shape):
        U = rng.normal(size=(size + 1, size))
        Y = mode_product(X, U, k)
        assert Y.shape == (len(X), *shape[:k], size + 1, *shape[k + 1 :])
        np.testing.assert_allclose(unfold(Y, k), U @ unfold(X, k), rtol=1e-13, atol=1e-13)


def test_mode_products_along_different_modes_commute():
    X, rng = batch((3, 4, 2)), np.random.default_rng(2)
    U, V = rng.normal(size=(5, 3)), rng.normal(size=(2, 4))
    one = mode_product(mode_product(X, U, 0), V, 1)
    other = mode_product(mode_product(X, V, 1), U, 0)
    np.testing.assert_allclose(one, other, rtol=1e-13, atol=1e-13)


@each_shape
def test_projection_is_eq_6_of_every_sample(shape):
    X, rng = batch(shape), np.random.default_rng(3)
    factors = [rng.normal(size=(size, max(1, size - 1 - k % 2))) for k, size in enumerate(shape)]
    expected = np.stack([reference.projected(x, factors) for x in X])
    np.testing.assert_allclose(project(X, factors), expected, rtol=1e-12, atol=1e-12)


def test_vectorised_projection_is_a_kronecker_product():
    X, rng = batch((4, 3)), np.random.default_rng(4)
    V, W = rng.normal(size=(4, 2)), rng.normal(size=(3, 2))
    flat = X.reshape(len(X), -1) @ np.kron(V, W)
    np.testing.assert_allclose(project(X, [V, W]).reshape(len(X), -1), flat, rtol=1e-12)


@each_shape
def test_reconstruction_is_the_orthogonal_projection_onto_the_spans(shape):
    X, rng = batch(shape), np.random.default_rng(5)
    # Columns of any scale: the pseudo-inverse makes the way back independent of the basis.
    factors = [rng.normal(size=(size, max(1, size - 1))) for size in shape]
    back = reconstruct(project(X, factors), factors)
    expected = project(X, [reference.projector(W) for W in factors])
    np.testing.assert_allclose(back, expected, rtol=1e-10, atol=1e-10)


def test_reconstruction_undoes_a_projection_that_loses_nothing():
    X, rng = batch((4, 3)), np.random.default_rng(6)
    factors = [rng.normal(size=(4, 4)), rng.normal(size=(3, 3))]
    np.testing.assert_allclose(reconstruct(project(X, factors), factors), X, rtol=1e-9)


@pytest.mark.parametrize("view", ["transposed", "strided", "integer"])
def test_layout_and_dtype_of_the_samples_do_not_matter(view):
    base = np.arange(2 * 5 * 4 * 6, dtype=float).reshape(10, 4, 6)
    X = {"transposed": base.T.copy().T, "strided": base[::2, :, ::-1], "integer": base.astype(int)}
    X = X[view]
    W = [np.random.default_rng(7).normal(size=(size, 2)) for size in X.shape[1:]]
    plain = np.ascontiguousarray(X, dtype=float)
    np.testing.assert_allclose(project(X, W), project(plain, W), rtol=1e-12)


def test_a_mode_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match=r"mode 2 does not exist.*2 mode\(s\).*0 to 1"):
        unfold(batch((4, 3)), 2)
    with pytest.raises(ValueError, match=r"mode -1 does not exist.*pass one of these"):
        unfold(batch((4, 3)), -1)
    with pytest.raises(ValueError, match=r"mode 5 does not exist.*pass one of these"):
        mode_product(batch((4, 3)), np.ones((2, 4)), 5)


def test_a_matrix_that_does_not_fit_is_refused():
    with pytest.raises(ValueError, match=r"shape \(2, 5\) cannot multiply mode 0.*\(J, 4\)"):
        mode_product(batch((4, 3)), np.ones((2, 5)), 0)


@given(n=st.integers(0, 50), size=st.integers(1, 40), budget=st.integers(1, 200))
def test_blocks_cover_all_rows_once_and_keep_the_budget(n, size, budget):
    blocks = list(row_blocks(n, size, budget))
    rows = [row for block in blocks for row in range(block.start, block.stop)]
    assert rows == list(range(n))
    assert all(
        (block.stop - block.start) * size <= budget or block.stop - block.start == 1
        for block in blocks
    )
