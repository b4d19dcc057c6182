""".mat and HDF5 files of strangers: no other file is read, nothing is allocated on their word."""

import struct
import zlib

import h5py
import numpy as np
import pytest
import scipy.io

from mat_files import (
    array,
    element,
    mat5,
    object_table,
    string_numbers,
    string_variable,
    subsystem,
)
from tenfold.datasets import load_mat

X = np.random.default_rng(0).random((6, 12))
Y = np.array([1, 1, 2, 2, 3, 3])


@pytest.fixture
def write(tmp_path):
    def write_file(make):
        path = tmp_path / "foreign.mat"
        with h5py.File(path, "w") as file:
            file["y"] = Y[None]
            make(file)
        return path

    return write_file


def test_numbers_in_another_file_are_not_read(write, tmp_path):
    (tmp_path / "secret.bin").write_bytes(X.tobytes())
    place = [(str(tmp_path / "secret.bin"), 0, X.nbytes)]
    path = write(lambda file: file.create_dataset("X", (12, 6), dtype="f8", external=place))
    with pytest.raises(ValueError, match=r"numbers of /X lie in another file, .*secret\.bin"):
        load_mat(path)


@pytest.mark.parametrize("name", ["X", "group/X"])
def test_a_link_to_another_file_is_not_followed(write, tmp_path, name):
    with h5py.File(tmp_path / "other.h5", "w") as other:
        other["X"] = X.T

    def make(file):
        file[name] = h5py.ExternalLink("other.h5", "/X")

    with pytest.raises(ValueError, match=rf"'{name}' is an external link; tenfold does not follow"):
        load_mat(write(make))


def test_a_soft_link_through_a_link_to_another_file_is_not_followed(write, tmp_path):
    with h5py.File(tmp_path / "other.h5", "w") as other:
        other["X"] = X.T

    def make(file):
        file["#away"] = h5py.ExternalLink("other.h5", "/")
        file["X"] = h5py.SoftLink("/#away/X")

    with pytest.raises(ValueError, match="is an external link"):
        load_mat(write(make))


def test_a_virtual_dataset_over_another_file_is_not_read(write, tmp_path):
    with h5py.File(tmp_path / "other.h5", "w") as other:
        other["X"] = X.T

    def make(file):
        layout = h5py.VirtualLayout((12, 6), "f8")
        layout[:] = h5py.VirtualSource("other.h5", "X", (12, 6))
        file.create_virtual_dataset("X", layout)

    with pytest.raises(ValueError, match=r"/X is a virtual dataset over 'other\.h5'"):
        load_mat(write(make))


def test_a_soft_link_inside_the_file_is_followed(write):
    def make(file):
        file["#refs#/X"] = X.T
        file["X"] = h5py.SoftLink("/#refs#/X")
        file["gone"] = h5py.SoftLink("/nowhere")

    np.testing.assert_array_equal(load_mat(write(make)).X, X)


@pytest.mark.parametrize("filters", [{}, {"chunks": (1024, 6)}, {"compression": "gzip"}])
def test_what_a_file_cannot_hold_is_refused_before_it_is_allocated(write, filters):
    shape = (2**30, 6)  # 48 GiB
    path = write(lambda file: file.create_dataset("X", shape, dtype="f8", **filters))
    assert path.stat().st_size < 10_000
    with pytest.raises(ValueError, match=r"foreign\.mat: dataset /X declares 48 GiB, but the file"):
        load_mat(path)


def test_a_bare_reference_is_one_cell(write):
    def make(file):
        file["X"] = X.T
        del file["y"]
        file.create_dataset("y", data=file["X"].ref, dtype=h5py.ref_dtype)

    with pytest.raises(ValueError, match=r"samples X \(6, 12\) it holds y \(1, 6, 12\)"):
        load_mat(write(make))


def test_compressed_chunks_that_are_not_there_are_counted(write):
    def make(file):
        file.create_dataset("X", (12, 6), dtype="f8", chunks=(4, 6), compression="gzip")[:4] = 1

    with pytest.raises(ValueError, match="2 of 3 chunks of dataset /X are not in the file"):
        load_mat(write(make))


# ── Version 5 ───────────────────────────────────────────────────────────────────────────────────


GOOD = [
    array(b"X", X.shape, element(9, X.tobytes("F"))),
    array(b"y", (6, 1), element(2, bytes(Y.tolist()))),
]
FIELDS = element(5, struct.pack("<i", 0)) + element(1, b"")


def test_a_file_written_by_hand_is_read(tmp_path):
    data = load_mat(mat5(tmp_path / "hand.mat", *GOOD))
    np.testing.assert_array_equal(data.X, X)
    assert data.y.tolist() == Y.tolist()


@pytest.mark.parametrize(
    "bad",
    [
        array(b"Z", (2**30, 2**30), element(9, X.tobytes())),
        array(b"Z", (6, 13), element(9, X.tobytes())),
        array(b"Z", (-1, 6), element(9, X.tobytes())),
        array(b"Z", (1,) * 40, element(9, bytes(8))),
        array(b"Z", (2**31 - 1, 1), b"", array_class=1),
        array(b"Z", (2**31 - 1, 1), FIELDS, array_class=2),
        array(b"Z", (2**31 - 1, 1), element(16, b""), array_class=4),
        array(b"Z", (3, 2), element(5, bytes(12)) + element(5, b"\xff" * 12) + GOOD[0], 5),
        array(b"Z", (6, 12), element(99, X.tobytes())),
        struct.pack("<II", 14, 2**32 - 1) + bytes(64),
        element(15, zlib.compress(struct.pack("<II", 14, 2**32 - 1) + bytes(64))),
        element(15, zlib.compress(bytes(2**24))),
        element(15, zlib.compress(GOOD[0])[:-3]),
        element(3, bytes(16)),
    ],
)
def test_a_version_5_file_that_lies_is_refused(tmp_path, bad):
    """Each of these has a size, type, nesting or checksum that does not agree with its bytes."""
    with pytest.raises(ValueError, match=r"lies\.mat"):
        load_mat(mat5(tmp_path / "lies.mat", GOOD[0], bad, GOOD[1]), key="Z", labelled=False)


def test_cells_in_cells_without_an_end_are_refused(tmp_path):
    inner = array(b"", (1, 1), element(9, bytes(8)))
    for _ in range(2000):
        inner = array(b"deep", (1, 1), inner, array_class=1)
    with pytest.raises(ValueError, match=r"lies\.mat .*more than 32 deep"):
        load_mat(mat5(tmp_path / "lies.mat", inner, *GOOD))


def test_objects_of_matlab_classes_are_passed_over(tmp_path):
    """As MATLAB writes a string array: opaque, with names instead of dimensions."""
    flags = element(6, struct.pack("<II", 17, 0))
    numbers = array(b"", (6, 1), element(6, struct.pack("<6I", 0xDD000000, 2, 1, 1, 1, 1)), 13)
    opaque = flags + b"".join(element(1, word) for word in (b"s", b"MCOS", b"string")) + numbers
    workspace = array(b"", (1, 8), element(2, bytes(8)), 9)
    path = mat5(tmp_path / "strings.mat", element(14, opaque), *GOOD, workspace)
    with pytest.raises((ValueError, TypeError)):
        scipy.io.whosmat(path)
    np.testing.assert_array_equal(load_mat(path).X, X)


@pytest.mark.parametrize("compressed", [False, True])
def test_numbers_texts_cells_and_structures_are_those_of_scipy(tmp_path, compressed):
    rng = np.random.default_rng(0)
    kinds = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"]
    arrays = {kind: rng.integers(0, 99, (6, 2, 3)).astype(kind) for kind in kinds}
    cells = np.array(["ann", "Zoë", "b", "", "x y", "日本"], dtype=object).reshape(-1, 1)
    arrays |= {"cells": cells, "rows": np.array(["one", "two", "six"]), "flags": Y > 1}
    path = tmp_path / "all.mat"
    scipy.io.savemat(path, arrays, do_compression=compressed)
    theirs = scipy.io.loadmat(path)
    for name in kinds:
        ours = load_mat(path, key=name, labelled=False).X
        np.testing.assert_array_equal(ours, theirs[name])
        assert ours.dtype == theirs[name].dtype
    labels = load_mat(path, key="f8", label_key="cells").y
    assert labels.tolist() == ["ann", "Zoë", "b", "", "x y", "日本"]


# ── String arrays, which are objects ────────────────────────────────────────────────────────────

WHO = ["ann", "Zoë", "b", "ann", "", "日本"]


def test_labels_that_are_a_string_array_are_read(tmp_path):
    others = ["one", "two"]
    path = mat5(
        tmp_path / "strings.mat",
        string_variable(b"remark", 1),
        GOOD[0],
        string_variable(b"label", 2),
        subsystem(others, WHO),
    )
    data = load_mat(path)
    np.testing.assert_array_equal(data.X, X)
    assert data.y.tolist() == WHO


def test_a_compressed_file_with_string_labels_is_read(tmp_path):
    arrays = (GOOD[0], string_variable(b"label", 1), subsystem(WHO))
    path = mat5(tmp_path / "z.mat", *(element(15, zlib.compress(one)) for one in arrays))
    # compressed elements are not filled up to 8 bytes
    head = path.read_bytes()[:128]
    packed = [zlib.compress(one) for one in arrays]
    path.write_bytes(head + b"".join(struct.pack("<II", 15, len(p)) + p for p in packed))
    assert load_mat(path).y.tolist() == WHO


def test_string_labels_of_version_7_3_are_read(write):
    def make(file):
        del file["y"]
        file["X"] = X.T
        reference = h5py.special_dtype(ref=h5py.Reference)
        table = np.frombuffer(object_table(1), dtype=np.uint8)
        contents = [table[None], np.zeros(2, "u8"), string_numbers(WHO)[None]]
        for i, content in enumerate(contents):
            file[f"#refs#/{i}"] = content
        cells = file.create_dataset("#subsystem#/MCOS", (1, 3), dtype=reference)
        cells[0] = [file[f"#refs#/{i}"].ref for i in range(3)]
        file["label"] = np.array([[0xDD000000, 2, 1, 1, 1, 1]], dtype=np.uint32)
        file["label"].attrs["MATLAB_class"] = np.bytes_("string")
        file["label"].attrs["MATLAB_object_decode"] = np.int32(3)

    assert load_mat(write(make)).y.tolist() == WHO


@pytest.mark.parametrize("number", [0, 3, 2**31])
def test_a_string_that_is_not_there_is_passed_over(tmp_path, number):
    path = mat5(tmp_path / "s.mat", string_variable(b"s", number), *GOOD, subsystem(WHO))
    assert load_mat(path).y.tolist() == Y.tolist()


def test_a_string_array_that_lies_about_its_size_is_passed_over(tmp_path):
    whole = bytearray(subsystem(WHO))
    numbers = string_numbers(WHO)
    at = bytes(whole).index(numbers.tobytes())
    for position, value in ((2, 2**40), (4, 2**62), (1, 99)):
        broken = bytearray(whole)
        broken[at + 8 * position : at + 8 * position + 8] = struct.pack("<Q", value)
        path = mat5(tmp_path / "s.mat", string_variable(b"s", 1), *GOOD, bytes(broken))
        assert load_mat(path).y.tolist() == Y.tolist()
