"""HOG images and the face subset."""

import numpy as np
import pytest
from skimage.feature import hog

from paper.hog import with_hog
from tenfold.datasets import load_faces_subset


def test_faces_come_first_and_look_like_faces():
    data = load_faces_subset()
    assert data.X.shape == (200, 25, 25)
    assert data.y[[0, 99, 100, 199]].tolist() == ["face", "face", "other", "other"]
    assert 0 <= data.X.min() < data.X.max() <= 1
    # A face has detail; a patch of background mostly has not.
    detail = np.abs(np.diff(data.X, axis=2)).mean(axis=(1, 2))
    assert np.median(detail[:100]) > 2 * np.median(detail[100:])


def test_the_image_comes_first_and_its_hog_drawing_second():
    X = load_faces_subset(shape=(40, 30)).X[:4]
    stacked = with_hog(X)
    assert stacked.shape == (4, 40, 30, 2)
    np.testing.assert_array_equal(stacked[..., 0], X)
    _, drawing = hog(X[2], pixels_per_cell=(10, 10), visualize=True)
    np.testing.assert_allclose(stacked[2, ..., 1], drawing / drawing.max(), rtol=1e-12)


def test_drawings_fill_0_to_1_whatever_the_contrast():
    X = load_faces_subset(shape=(40, 30)).X[:4]
    drawings = with_hog(X)[..., 1]
    assert drawings.min() == 0
    np.testing.assert_array_equal(drawings.max(axis=(1, 2)), 1.0)
    np.testing.assert_allclose(with_hog(X / 8)[..., 1], drawings, atol=1e-12)


@pytest.mark.parametrize(
    ("shape", "said"),
    [((3, 400), "expected grey images"), ((3, 9, 30), "smaller than one HOG cell")],
)
def test_what_has_no_hog_says_why(shape, said):
    with pytest.raises(ValueError, match=said):
        with_hog(np.zeros(shape))
