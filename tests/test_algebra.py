"""Unfolding, mode products, projection and reconstruction: Definitions 1-2, eqs 1 and 6."""

import numpy as np
import pytest

from tenfold.linalg.algebra import mode_product, unfold

SHAPES = [(5,), (4, 3), (3, 4, 2), (2, 3, 2, 3)]
each_shape = pytest.mark.parametrize("shape", SHAPES, ids=str)


def batch(shape, n=6, seed=0):
    return np.random.default_rng(seed).normal(size=(n, *shape))


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


def test_a_mode_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match=r"mode 2 does not exist.*2 mode\(s\).*0 to 1"):
        unfold(batch((4, 3)), 2)
    with pytest.raises(ValueError, match=r"mode -1 does not exist.*pass one of these"):
        unfold(batch((4, 3)), -1)
    with pytest.raises(ValueError, match=r"mode 5 does not exist.*pass one of these"):
        mode_product(batch((4, 3)), np.ones((2, 4)), 5)
