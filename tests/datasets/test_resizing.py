"""Resizing, against Pillow and against what must hold for any image."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from tenfold.datasets import resize_images


@pytest.mark.parametrize(
    ("old", "new"),
    [((112, 92), (40, 30)), ((32, 32), (40, 30)), ((7, 9), (9, 7)), ((5, 5), (1, 1))],
)
def test_the_rule_is_pillows_bilinear(old, new):
    images = np.random.default_rng(0).random((3, *old)).astype(np.float32)
    wanted = [
        np.asarray(Image.fromarray(image).resize(new[::-1], Image.Resampling.BILINEAR))
        for image in images
    ]
    # Pillow computes in float32.
    np.testing.assert_allclose(resize_images(images, new), wanted, atol=1e-6)


@given(old=st.integers(1, 60), new=st.integers(1, 60))
def test_new_pixels_are_means_of_old_ones(old, new):
    ones = np.eye(old)[:, :, None]  # image i is a column whose pixel i is 1
    weights = resize_images(ones, (new, 1))[:, :, 0].T
    assert weights.min() >= 0
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, rtol=1e-12)


def test_shrinking_does_not_alias():
    stripes = np.tile([0.0, 1.0], (1, 40, 20))
    assert np.ptp(resize_images(stripes, (10, 10))) < 0.1
    assert np.ptp(stripes[:, ::4, ::4]) == 0.0


def test_channels_are_resized_one_by_one():
    images = np.random.default_rng(0).random((2, 8, 6, 3))
    resized = resize_images(images, (5, 4))
    assert resized.shape == (2, 5, 4, 3)
    np.testing.assert_allclose(resized[..., 1], resize_images(images[..., 1], (5, 4)), rtol=1e-12)


def test_the_same_size_changes_nothing():
    images = np.arange(12, dtype=np.uint8).reshape(1, 3, 4)
    np.testing.assert_array_equal(resize_images(images, (3, 4)), images)


@pytest.mark.parametrize("shape", [(0, 3), (3,), 5, ("a", "b"), (1, 2, 3)])
def test_a_wrong_size_says_what_is_wanted(shape):
    with pytest.raises(ValueError, match=r"expected \(height, width\)"):
        resize_images(np.zeros((1, 4, 4)), shape)


def test_flat_rows_are_not_images():
    with pytest.raises(ValueError, match=r"images have shape \(3, 16\)"):
        resize_images(np.zeros((3, 16)), (2, 2))
