"""The synthetic set and the digits."""

import numpy as np
import pytest

from tenfold.datasets import load_digits_tensor, make_tensor_classes


def outside(X, subspaces):
    """Largest part of X that lies outside the mode subspaces, by mode."""
    return [
        np.abs(X - np.moveaxis(np.tensordot(X, W @ W.T, (mode, 0)), -1, mode)).max()
        for mode, W in enumerate(subspaces, start=1)
    ]


def test_means_lie_inside_the_mode_subspaces_and_nowhere_else():
    data = make_tensor_classes(
        50, sample_shape=(7, 6, 5), ranks=(3, 2, 1), n_classes=8, random_state=0
    )
    assert data.X.shape == (50, 7, 6, 5)
    assert [W.shape for W in data.subspaces] == [(7, 3), (6, 2), (5, 1)]
    for W in data.subspaces:
        np.testing.assert_allclose(W.T @ W, np.eye(W.shape[1]), atol=1e-14)
    # Projecting loses nothing up to rounding of numbers of size 10.
    assert max(outside(data.means, data.subspaces)) < 1e-13
    # They fill the subspaces: eight means in a space of 3 x 2 x 1.
    assert np.linalg.matrix_rank(data.means.reshape(8, -1)) == 6


def test_without_noise_a_sample_is_its_class_mean():
    data = make_tensor_classes(30, noise=0.0, random_state=0)
    np.testing.assert_array_equal(data.X, data.means[data.y])


def test_noise_has_the_size_asked_for():
    data = make_tensor_classes(2000, noise=0.5, random_state=0)
    # 240 000 numbers: the standard error of their deviation is 0.5 / sqrt(480 000) = 7e-4.
    assert np.std(data.X - data.means[data.y]) == pytest.approx(0.5, abs=4e-3)


def test_classes_are_balanced_and_the_seed_decides():
    one, same, other = (make_tensor_classes(31, random_state=seed) for seed in (1, 1, 2))
    assert sorted(np.bincount(one.y)) == [10, 10, 11]
    np.testing.assert_array_equal(one.X, same.X)
    assert not np.array_equal(one.X, other.X)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"ranks": (3,)}, "give one rank per mode"),
        ({"ranks": (13, 2)}, "each from 1 to the size of the mode"),
        ({"ranks": (0, 2)}, "each from 1"),
        ({"n_classes": 1}, "at least 2 classes"),
        ({"n_samples": 2, "n_classes": 3}, "a sample for each"),
    ],
)
def test_what_cannot_be_made_says_why(options, said):
    with pytest.raises(ValueError, match=said):
        make_tensor_classes(**options)


def test_digits_are_images_from_0_to_1():
    data = load_digits_tensor()
    assert data.X.shape == (1797, 8, 8)
    assert (data.X.min(), data.X.max()) == (0.0, 1.0)
    assert data.classes.tolist() == list(range(10))
