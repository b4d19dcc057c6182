"""MATLAB files of every version."""

import h5py
import numpy as np
import pytest
import scipy.io

from tenfold.datasets import load_mat

IMAGES = np.random.default_rng(0).random((6, 4, 3))
FLAT = np.array([image.ravel("F") for image in IMAGES])  # as MATLAB flattens
LABELS = np.array([[1], [1], [2], [2], [3], [3]])


def write_73(path, arrays):
    """As MATLAB writes version 7.3: HDF5 with reversed axes behind a header of 512 bytes."""
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, array in arrays.items():
            file[name] = np.asarray(array).T
        file.create_group("#refs#")
    with path.open("r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file".ljust(512))


@pytest.fixture(params=["4", "5", "5 compressed", "7.3"])
def write(request, tmp_path):
    def write_version(**arrays):
        path = tmp_path / "faces.mat"
        if request.param == "7.3":
            write_73(path, arrays)
        else:
            compressed = request.param.endswith("compressed")
            scipy.io.savemat(path, arrays, format=request.param[0], do_compression=compressed)
        return path

    return write_version


def test_every_version_gives_the_same_arrays(write):
    data = load_mat(write(fea=FLAT, gnd=LABELS), sample_shape=(4, 3))
    np.testing.assert_array_equal(data.X, IMAGES)
    assert data.y.tolist() == [1, 1, 2, 2, 3, 3]
    assert data.name == "faces"


def test_several_arrays_are_listed_and_key_asked_for(write):
    path = write(fea=FLAT, W=np.eye(4), gnd=LABELS)
    with pytest.raises(ValueError, match=r"several arrays .*pass key=NAME \(--key NAME\)") as error:
        load_mat(path)
    for listed in ("fea (6, 12)", "W (4, 4)", "gnd (6, 1)"):
        assert listed in str(error.value)
    np.testing.assert_array_equal(load_mat(path, key="fea").X, FLAT)


@pytest.mark.parametrize("keep", [0, 100, 150, 400])
def test_a_truncated_file_is_named(write, keep):
    path = write(fea=FLAT, gnd=LABELS)
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(ValueError, match=r"faces\.mat"):
        load_mat(path)


def test_samples_along_the_last_axis(tmp_path):
    path = tmp_path / "stack.mat"
    scipy.io.savemat(path, {"images": np.moveaxis(IMAGES, 0, 2), "gnd": LABELS})
    with pytest.raises(ValueError, match="has 4 samples along axis 0, but gnd has 6 labels"):
        load_mat(path)
    np.testing.assert_array_equal(load_mat(path, sample_axis=2).X, IMAGES)


def test_labels_may_be_cells_or_rows_of_text(tmp_path):
    names = ["ann", "ann", "bo", "bo", "cy", "cy"]
    cells = np.array(names, dtype=object).reshape(-1, 1)
    scipy.io.savemat(tmp_path / "cells.mat", {"X": FLAT, "labels": cells})
    assert load_mat(tmp_path / "cells.mat").y.tolist() == names
    scipy.io.savemat(tmp_path / "text.mat", {"X": FLAT, "who": np.array(names)})
    assert load_mat(tmp_path / "text.mat", key="X", label_key="who").y.tolist() == names


def test_samples_without_labels(write):
    assert load_mat(write(fea=FLAT), labelled=False).y is None


def test_a_file_of_another_kind_is_named(tmp_path):
    (tmp_path / "faces.mat").write_text("label,a\n1,2\n" * 50)
    with pytest.raises(ValueError, match=r"faces\.mat is not a whole \.mat file"):
        load_mat(tmp_path / "faces.mat")
