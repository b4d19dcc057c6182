"""CMU PIE in the forms people have it."""

import numpy as np
import pytest
import scipy.io

from paper.pie import PIE_STAND_INS, load_pie
from tenfold.datasets import resize_images

RNG = np.random.default_rng(0)
IMAGES = RNG.integers(0, 256, (136, 32, 32), dtype=np.uint8)
PERSONS = np.repeat(np.arange(1, 69), 2)


def rows(images):
    """One column-major image per row, as in the published .mat files."""
    return np.array([image.ravel("F") for image in images])


@pytest.fixture
def as_npz(tmp_path):
    (tmp_path / "pie").mkdir()
    pose = np.tile([5, 27], 68)
    np.savez(tmp_path / "pie" / "pie_5pose_32x32.npz", X=IMAGES, y=PERSONS, pose=pose)
    return tmp_path


@pytest.fixture
def as_pose_files(tmp_path):
    for pose, part in ((5, slice(0, 136, 2)), (27, slice(1, 136, 2))):
        fea, gnd = rows(IMAGES[part]).astype(float), PERSONS[part, None]
        scipy.io.savemat(tmp_path / f"PIE{pose:02d}.mat", {"fea": fea, "gnd": gnd})
    return tmp_path


@pytest.fixture
def as_folder(tmp_path, write_image):
    for number, (image, person) in enumerate(zip(IMAGES, PERSONS, strict=True)):
        write_image(tmp_path / "pie" / f"{person:02d}" / f"{number}.png", image)
    return tmp_path


def by_person(data):
    """Images in an order that every form shares."""
    order = np.lexsort((data.X[:, 0, 0], data.y))
    return data.X[order], data.y[order]


@pytest.mark.parametrize("form", ["as_npz", "as_pose_files", "as_folder"])
def test_every_form_gives_the_same_images(form, request):
    X, y = by_person(load_pie(request.getfixturevalue(form), shape=None))
    order = np.lexsort((IMAGES[:, 0, 0], PERSONS))
    np.testing.assert_array_equal(X, IMAGES[order] / 255)
    np.testing.assert_array_equal(y, PERSONS[order])


def test_the_papers_size_and_the_stand_ins(as_npz):
    data = load_pie(as_npz, persons=PIE_STAND_INS)
    assert PIE_STAND_INS == (60, 61, 62, 63, 64, 65, 66, 67, 68)
    assert data.X.shape == (18, 40, 30)
    assert data.classes.tolist() == list(PIE_STAND_INS)
    np.testing.assert_allclose(data.X, resize_images(IMAGES[118:] / 255, (40, 30)), rtol=1e-12)
    assert "stand in" in data.description


def test_a_missing_set_says_what_was_looked_for_where_and_where_to_get_it(tmp_path):
    with pytest.raises(FileNotFoundError) as error:
        load_pie(tmp_path)
    for part in ("pie/pie*.npz", "pie/PIE*.mat", str(tmp_path), "Carnegie Mellon"):
        assert part in str(error.value)
