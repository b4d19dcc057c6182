"""The ORL faces, from a folder and from scikit-learn's copy."""

import joblib
import numpy as np
import pytest

from paper.orl import load_orl
from tenfold.datasets import resize_images

RNG = np.random.default_rng(0)
PIXELS = RNG.integers(0, 256, (400, 112, 92), dtype=np.uint8)
NAMES = [f"s{person}/{image}.pgm" for person in range(1, 41) for image in range(1, 11)]


def write_pgm(path, pixels):
    path.parent.mkdir(parents=True, exist_ok=True)
    height, width = pixels.shape
    path.write_bytes(b"P5\n%d %d\n255\n" % (width, height) + pixels.tobytes())


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    root = tmp_path_factory.mktemp("data")
    for name, pixels in zip(NAMES, PIXELS, strict=True):
        write_pgm(root / "orl" / name, pixels)
    return root


def test_persons_come_in_natural_order_at_the_papers_size(written):
    data = load_orl(written)
    assert data.X.shape == (400, 40, 30)
    assert data.y[::10].tolist() == [f"s{person}" for person in range(1, 41)]
    assert data.sample_info["file"].tolist() == NAMES
    np.testing.assert_allclose(data.X, resize_images(PIXELS / 255, (40, 30)), rtol=1e-12)


def test_the_original_size_is_the_files_pixels(written):
    np.testing.assert_array_equal(load_orl(written / "orl", shape=None).X, PIXELS / 255)


def test_a_missing_set_says_what_was_looked_for_where_and_where_to_get_it(tmp_path):
    with pytest.raises(FileNotFoundError) as error:
        load_orl(tmp_path)
    for part in ("orl/s1/1.pgm", str(tmp_path), "AT&T Laboratories Cambridge"):
        assert part in str(error.value)


def test_olivetti_is_read_from_scikit_learns_own_file(tmp_path):
    faces = np.random.default_rng(1).random((400, 64 * 64)).astype(np.float32)
    faces[0, :2] = 0, 1  # scikit-learn stretches the whole set to [0, 1]
    joblib.dump(faces, tmp_path / "olivetti_py3.pkz", compress=6)
    data = load_orl(tmp_path, source="olivetti", shape=None)
    assert data.X.shape == (400, 64, 64)
    # scikit-learn turns the images, which are stored column by column.
    np.testing.assert_allclose(data.X[7], faces[7].reshape(64, 64).T, rtol=1e-7)
    assert data.y[::10].tolist() == [f"s{person}" for person in range(1, 41)]
    assert load_orl(tmp_path, source="olivetti").X.shape == (400, 40, 30)
