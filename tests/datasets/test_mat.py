"""MATLAB files of every version, against what SciPy or h5py wrote."""

import h5py
import numpy as np
import pytest
import scipy.io

from tenfold.datasets import load

IMAGES = np.random.default_rng(0).random((6, 4, 3))
FLAT = np.array([image.ravel("F") for image in IMAGES])  # as MATLAB flattens
LABELS = np.array([[1], [1], [2], [2], [3], [3]])
NAMES = ["ann", "ann", "bo", "bo", "Zo\u00eb", "Zo\u00eb"]


def write_73(path, arrays):
    """As MATLAB writes version 7.3: HDF5 with reversed axes behind a header of 512 bytes."""
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, array in arrays.items():
            file[name] = np.asarray(array).T
        file.create_group("#refs#")
    with path.open("r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file".ljust(512))
    return path


@pytest.fixture(params=["4", "5", "5 compressed", "7.3"])
def write(request, tmp_path):
    def write_version(**arrays):
        path = tmp_path / "faces.mat"
        if request.param == "7.3":
            return write_73(path, arrays)
        compressed = request.param.endswith("compressed")
        scipy.io.savemat(path, arrays, format=request.param[0], do_compression=compressed)
        return path

    return write_version


def test_every_version_gives_the_same_arrays(write):
    path = write(fea=FLAT, gnd=LABELS)
    data = load(path, sample_shape=(4, 3))
    np.testing.assert_array_equal(data.X, IMAGES)
    assert data.y.tolist() == [1, 1, 2, 2, 3, 3]
    assert data.name == "faces"
    path.write_bytes(path.read_bytes()[:150])
    with pytest.raises(ValueError, match=r"faces\.mat"):
        load(path)


@pytest.mark.parametrize("kind", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"])
def test_numbers_of_every_type_come_as_they_were_written(tmp_path, kind):
    numbers = np.random.default_rng(0).integers(0, 99, (6, 2, 3)).astype(kind)
    scipy.io.savemat(tmp_path / "a.mat", {"X": numbers, "y": LABELS})
    found = load(tmp_path / "a.mat").X
    np.testing.assert_array_equal(found, numbers)
    assert found.dtype == numbers.dtype


def test_sparse_samples_are_filled_with_their_zeros(tmp_path):
    dense = np.round(FLAT)
    scipy.io.savemat(tmp_path / "a.mat", {"X": scipy.sparse.csc_array(dense), "y": LABELS})
    np.testing.assert_array_equal(load(tmp_path / "a.mat").X, dense)


def test_labels_may_be_cells_or_rows_of_text(tmp_path):
    cells = np.array(NAMES, dtype=object).reshape(-1, 1)
    scipy.io.savemat(tmp_path / "cells.mat", {"X": FLAT, "labels": cells})
    scipy.io.savemat(tmp_path / "rows.mat", {"X": FLAT, "labels": np.array(NAMES)})
    for name in ("cells.mat", "rows.mat"):
        assert load(tmp_path / name).y.tolist() == NAMES


def test_structures_and_cells_of_images(tmp_path):
    path = tmp_path / "ds.mat"
    scipy.io.savemat(path, {"ds": {"X": IMAGES, "info": {"y": LABELS, "who": "me"}}, "n": 6})
    assert load(path).y.tolist() == [1, 1, 2, 2, 3, 3]
    np.testing.assert_array_equal(load(path, key="ds.X", labels="ds.info.y").X, IMAGES)
    records = np.zeros((1, 6), dtype=[("image", object), ("label", object)])
    cells = np.empty((1, 6), dtype=object)
    for i in range(6):
        records[0, i] = (IMAGES[i], float(LABELS[i, 0]))
        cells[0, i] = IMAGES[i]
    for arrays in ({"s": records}, {"faces": cells, "gnd": LABELS}):
        scipy.io.savemat(path, arrays)
        np.testing.assert_array_equal(load(path).X, IMAGES)
        assert load(path).y.tolist() == [1, 1, 2, 2, 3, 3]
    cells[0, 3] = IMAGES[3, :2]
    scipy.io.savemat(path, {"faces": cells, "gnd": LABELS})
    with pytest.raises(ValueError, match=r"'faces' has cells that differ in size \(2x3, 4x3\)"):
        load(path)


# ── Version 7.3 ─────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def write_cells(tmp_path):
    """Samples, and labels behind references, each made by a function of the file."""

    def write(*makers):
        path = write_73(tmp_path / "cells.mat", {"X": FLAT})
        with h5py.File(path, "r+") as file:
            for i, make in enumerate(makers):
                make(file, f"#refs#/{i}")
            references = [file[f"#refs#/{i}"].ref for i in range(len(makers))]
            file.create_dataset("labels", data=[references], dtype=h5py.ref_dtype)
        return path

    return write


def as_chars(texts):
    """Texts as version 7.3 stores them: a column of 16-bit codes each."""
    return np.array([[ord(character) for character in text] for text in texts], np.uint16).T


def text_cell(text):
    def make(file, name):
        file[name] = as_chars([text])
        file[name].attrs["MATLAB_class"] = np.bytes_("char")

    return make


def test_cells_of_version_73_may_hold_texts_or_numbers(write_cells):
    def number(file, name):
        file[name] = np.array([[7]])

    assert load(write_cells(*map(text_cell, NAMES))).y.tolist() == NAMES
    assert load(write_cells(*[number] * 6)).y.tolist() == [7] * 6


def test_structures_rows_of_text_and_objects_of_version_73(tmp_path):
    path = write_73(tmp_path / "ds.mat", {"ds/X": FLAT, "who": np.ones((6, 6), np.uint32)})
    with h5py.File(path, "r+") as file:
        file["ds"].attrs["MATLAB_class"] = np.bytes_("struct")
        file["ds/y"] = as_chars(["ann", "ann", "bo ", "bo ", "cy ", "cy "])
        file["ds/y"].attrs["MATLAB_class"] = np.bytes_("char")
        file["who"].attrs["MATLAB_class"] = np.bytes_("string")
    assert load(path).y.tolist() == ["ann", "ann", "bo", "bo", "cy", "cy"]
    with pytest.raises(ValueError, match=r"type who = cellstr\(who\);"):
        load(path, labels="who")


@pytest.mark.parametrize("inner", ["structure", "cells"])
def test_cells_that_are_neither_numbers_nor_text_are_refused(write_cells, inner):
    def make(file, name):
        if inner == "structure":
            file.create_group(name)
        else:
            file.create_dataset(name, data=[[file["X"].ref]], dtype=h5py.ref_dtype)

    with pytest.raises(ValueError, match=r"'labels' .*cells that are neither"):
        load(write_cells(*[make] * 6))
