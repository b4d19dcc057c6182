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
    with pytest.raises(ValueError, match=r"several arrays .*pass key=NAME") as error:
        load_mat(path)
    for listed in ("fea (6, 12)", "W (4, 4)"):
        assert listed in str(error.value)
    assert "gnd" not in str(error.value)  # labels, and no candidate
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
    data = load_mat(path)
    np.testing.assert_array_equal(data.X, IMAGES)
    (note,) = data.notes
    assert note.startswith("samples lie along the last axis of images (4, 3, 6), the only one")
    assert data.select(slice(3)).notes == data.notes
    assert load_mat(path, sample_axis=2).notes == ()
    with pytest.raises(ValueError, match="has 4 samples along axis 0, but gnd has 6 labels"):
        load_mat(path, sample_axis=0)


def test_labels_may_be_cells_or_rows_of_text(tmp_path):
    names = ["ann", "ann", "bo", "bo", "cy", "cy"]
    cells = np.array(names, dtype=object).reshape(-1, 1)
    scipy.io.savemat(tmp_path / "cells.mat", {"X": FLAT, "labels": cells})
    assert load_mat(tmp_path / "cells.mat").y.tolist() == names
    scipy.io.savemat(tmp_path / "text.mat", {"X": FLAT, "who": np.array(names)})
    assert load_mat(tmp_path / "text.mat", key="X", label_key="who").y.tolist() == names


def as_chars(texts):
    """Texts as version 7.3 stores them: a column of 16-bit codes each."""
    return np.array([[ord(character) for character in text] for text in texts], np.uint16).T


@pytest.fixture
def write_cells(tmp_path):
    """Samples, and labels behind references, each made by a function of the file."""

    def write(*makers):
        path = tmp_path / "cells.mat"
        write_73(path, {"X": FLAT})
        with h5py.File(path, "r+") as file:
            for i, make in enumerate(makers):
                make(file, f"#refs#/{i}")
            references = [file[f"#refs#/{i}"].ref for i in range(len(makers))]
            file.create_dataset("labels", data=[references], dtype=h5py.ref_dtype)
        return path

    return write


def text_cell(text):
    def make(file, name):
        file[name] = as_chars([text])
        file[name].attrs["MATLAB_class"] = np.bytes_("char")

    return make


def test_labels_of_version_73_may_be_cells(write_cells):
    names = ["ann", "ann", "bo", "bo", "Zo\u00eb", "Zo\u00eb"]
    assert load_mat(write_cells(*map(text_cell, names))).y.tolist() == names


def test_cells_of_version_73_may_hold_numbers(write_cells):
    def number(file, name):
        file[name] = np.array([[7]])

    assert load_mat(write_cells(*[number] * 6)).y.tolist() == [7] * 6


def test_labels_of_version_73_may_be_rows_of_text(tmp_path):
    path = tmp_path / "text.mat"
    write_73(path, {"X": FLAT})
    with h5py.File(path, "r+") as file:
        file["who"] = as_chars(["ann", "ann", "bo ", "bo ", "cy ", "cy "])
        file["who"].attrs["MATLAB_class"] = np.bytes_("char")
    assert load_mat(path).y.tolist() == ["ann", "ann", "bo", "bo", "cy", "cy"]


@pytest.mark.parametrize("inner", ["structure", "cells"])
def test_cells_that_are_neither_numbers_nor_text_are_refused(write_cells, inner):
    def make(file, name):
        if inner == "structure":
            file.create_group(name)
        else:
            file.create_dataset(name, data=[[file["X"].ref]], dtype=h5py.ref_dtype)

    with pytest.raises(ValueError, match=r"'labels' has cells that are neither .*labels=FILE"):
        load_mat(write_cells(*[make] * 6))


def test_samples_without_labels(write):
    assert load_mat(write(fea=FLAT), labelled=False).y is None


def test_a_file_of_another_kind_is_named(tmp_path):
    (tmp_path / "faces.mat").write_text("label,a\n1,2\n" * 50)
    with pytest.raises(ValueError, match=r"faces\.mat is not a whole \.mat file"):
        load_mat(tmp_path / "faces.mat")


# ── Structures, cells, objects ──────────────────────────────────────────────────────────────────


def test_fields_of_a_structure_have_names_with_a_point(tmp_path):
    path = tmp_path / "ds.mat"
    scipy.io.savemat(path, {"ds": {"X": IMAGES, "info": {"y": LABELS, "who": "me"}}, "n": 6})
    data = load_mat(path)
    np.testing.assert_array_equal(data.X, IMAGES)
    assert data.y.tolist() == [1, 1, 2, 2, 3, 3]
    assert load_mat(path, key="ds.X", label_key="ds.info.y").y.tolist() == [1, 1, 2, 2, 3, 3]
    with pytest.raises(ValueError, match=r"no array 'X'; it holds ds\.X \(6, 4, 3\), ds\.info\.y"):
        load_mat(path, key="X")


def test_a_structure_per_sample_is_a_stack(tmp_path):
    records = np.zeros((1, 6), dtype=[("image", object), ("label", object)])
    for i in range(6):
        records[0, i] = (IMAGES[i], float(LABELS[i, 0]))
    scipy.io.savemat(tmp_path / "s.mat", {"s": records})
    data = load_mat(tmp_path / "s.mat")
    np.testing.assert_array_equal(data.X, IMAGES)
    assert data.y.tolist() == [1, 1, 2, 2, 3, 3]


def test_structures_of_version_73_are_groups(tmp_path):
    write_73(tmp_path / "ds.mat", {"ds/X": FLAT, "ds/y": LABELS})
    with h5py.File(tmp_path / "ds.mat", "r+") as file:
        file["ds"].attrs["MATLAB_class"] = np.bytes_("struct")
    data = load_mat(tmp_path / "ds.mat", key="ds.X")
    np.testing.assert_array_equal(data.X, FLAT)
    assert data.y.tolist() == [1, 1, 2, 2, 3, 3]


def test_cells_of_images_are_a_stack(tmp_path, write_cells):
    cells = np.empty((1, 6), dtype=object)
    for i, image in enumerate(IMAGES):
        cells[0, i] = image
    scipy.io.savemat(tmp_path / "faces.mat", {"faces": cells, "gnd": LABELS})
    np.testing.assert_array_equal(load_mat(tmp_path / "faces.mat").X, IMAGES)
    cells[0, 3] = IMAGES[3, :2]
    scipy.io.savemat(tmp_path / "ragged.mat", {"faces": cells, "gnd": LABELS})
    with pytest.raises(ValueError, match=r"cells of array 'faces' differ in size \(2x3, 4x3\)"):
        load_mat(tmp_path / "ragged.mat", key="faces")


def test_objects_of_version_73_are_passed_over(tmp_path):
    write_73(tmp_path / "s.mat", {"X": FLAT, "y": LABELS, "names": np.ones((6, 6), np.uint32)})
    with h5py.File(tmp_path / "s.mat", "r+") as file:
        file["names"].attrs["MATLAB_class"] = np.bytes_("string")
        file["names"].attrs["MATLAB_object_decode"] = np.int32(3)
    np.testing.assert_array_equal(load_mat(tmp_path / "s.mat").X, FLAT)


def test_labels_may_lie_in_another_mat_file(tmp_path):
    scipy.io.savemat(tmp_path / "x.mat", {"fea": FLAT})
    scipy.io.savemat(tmp_path / "y.mat", {"gnd": LABELS, "trainIdx": np.arange(3)})
    data = load_mat(tmp_path / "x.mat", labels=tmp_path / "y.mat")
    assert data.y.tolist() == [1, 1, 2, 2, 3, 3]
