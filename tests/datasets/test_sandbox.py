"""A file of a stranger is read in a process of its own: whatever it does, it does it there."""

import io
import os
import struct
import subprocess
import sys

import h5py
import numpy as np
import pytest
import scipy.io

from mat_files import array as mat_array
from mat_files import element, mat5, string_variable, subsystem, unnamed_string
from tenfold.datasets import load, sandbox

X = np.random.default_rng(0).random((6, 4, 3))
Y = np.array([1, 1, 2, 2, 3, 3])
linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits memory")

started = sandbox._started


@pytest.fixture(autouse=True)
def quick_readers(monkeypatch):
    """Start processes as users do."""
    monkeypatch.setattr(sandbox, "_started", started)


@pytest.fixture
def mat(tmp_path):
    scipy.io.savemat(tmp_path / "data.mat", {"X": X, "y": Y})
    return tmp_path / "data.mat"


def test_the_answer_is_that_of_this_process(mat):
    there, here = load(mat), load(mat, trusted=True)
    np.testing.assert_array_equal(there.X, here.X)
    assert there.X.dtype == here.X.dtype
    assert there.X.strides == here.X.strides
    assert there.y.tolist() == here.y.tolist() == Y.tolist()
    assert (there.reading, there.notes, repr(there)) == (here.reading, here.notes, repr(here))


def test_a_file_that_ends_the_library_ends_the_child_only(tmp_path):
    """Numbers of a type that does not exist, at which SciPy 1.17 ends."""
    path = mat5(tmp_path / "lies.mat", mat_array(b"X", (6, 12), element(99, X.tobytes())))
    with pytest.raises(ValueError, match=r"lies\.mat") as error:
        load(path, labelled=False)
    code = "import sys; from tenfold.datasets import load; load(sys.argv[1], trusted=True)"
    alone = subprocess.run([sys.executable, "-c", code, path], capture_output=True)
    if alone.returncode < 0:  # it ends the process that reads it, and this one was not it
        assert "the process that read it crashed (SIG" in str(error.value)


def test_a_file_that_keeps_the_library_busy_is_ended_in_time(tmp_path, monkeypatch):
    """A heap of texts with a gap of no size, at which HDF5 1.14 waits for ever."""
    path = tmp_path / "data.h5"
    with h5py.File(path, "w") as file:
        file["X"], file["y"] = X, list("aabbcc")
    data = bytearray(path.read_bytes())
    at = data.find(b"GCOL") + 16
    data[at : at + 16] = bytes(16)
    path.write_bytes(data)
    monkeypatch.setattr(sandbox, "SECONDS", 3.0)
    with pytest.raises(ValueError, match=r"data\.h5.*(took more than 3 seconds|not a whole)"):
        load(path)


@linux
def test_a_file_that_takes_all_memory_is_refused(tmp_path, monkeypatch):
    bomb = scipy.sparse.csc_array((10**6, 10**6))  # 8 TB with its zeros
    scipy.io.savemat(tmp_path / "bomb.mat", {"X": bomb, "y": Y})
    with pytest.raises(ValueError, match=r"bomb\.mat needs more memory than there is"):
        load(tmp_path / "bomb.mat")


def test_nothing_beside_the_data_is_imported(mat, monkeypatch):
    (mat.parent / "numpy.py").write_text("raise SystemExit('foreign code')")
    (mat.parent / "scipy.py").write_text("raise SystemExit('foreign code')")
    monkeypatch.chdir(mat.parent)
    assert len(load("data.mat")) == 6


def test_what_a_child_says_is_not_believed(mat, monkeypatch):
    """An answer that is cut short, or holds other than numbers and texts, is none."""

    def npy(array):
        stream = io.BytesIO()
        np.lib.format.write_array(stream, array)
        return stream.getvalue()

    head = b'{"plain": {}, "arrays": ["X"]}\n'
    for answer in (
        b"",
        b"{}\n",
        b'{"plain": {}, "arrays": ["X"]}\n12345678',
        head + npy(np.array([None], dtype=object)),
        head + npy(np.zeros(2))[:-8],
        head + npy(np.zeros(2, dtype="f8,i4")),
    ):
        code = f"import sys; sys.stdin.readline(); sys.stdout.buffer.write({answer!r})"
        command = [sys.executable, "-c", code]

        def lying(command=command):
            return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

        monkeypatch.setattr(sandbox, "_started", lying)
        with pytest.raises(ValueError, match=r"data\.mat: the process that read it ended with"):
            load(mat)


def test_one_child_reads_data_and_labels(mat, tmp_path, monkeypatch):
    scipy.io.savemat(tmp_path / "labels.mat", {"gnd": Y + 1})
    begun = []
    monkeypatch.setattr(sandbox, "_started", lambda: begun.append(1) or started())
    assert load(mat, labels=tmp_path / "labels.mat").y.tolist() == (Y + 1).tolist()
    assert len(begun) == 1


def test_the_script_of_the_user_is_not_run_again(mat):
    script = mat.parent / "script.py"
    script.write_text(
        f"print('ran')\nfrom tenfold.datasets import load\nprint(len(load({str(mat)!r})))"
    )
    run = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert run.stdout.split() == ["ran", "6"]


# ── Only regular files ──────────────────────────────────────────────────────────────────────────


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
@pytest.mark.parametrize("kind", ["pipe", "link", "inside"])
def test_pipes_and_devices_are_refused_at_once(tmp_path, kind):
    path = tmp_path / "data.mat"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "link":
        path.symlink_to("/dev/zero")
    else:
        path = tmp_path / "trials"
        (path / "a").mkdir(parents=True)
        (path / "a" / "1.npy").symlink_to("/dev/zero")
    with pytest.raises(ValueError, match=r"is (a named pipe|a device), not a regular file"):
        load(path)


def test_a_pointer_of_git_lfs_is_called_one(tmp_path):
    path = tmp_path / "faces.mat"
    path.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 12345\n")
    with pytest.raises(ValueError, match=r"faces\.mat is a Git LFS pointer.*git lfs pull"):
        load(path)


def test_strings_of_matlab_are_answered_with_the_line_to_type(tmp_path):
    arrays = mat_array(b"X", (6, 12), element(9, X.tobytes("F")))
    path = mat5(tmp_path / "s.mat", arrays, string_variable(b"label", 1), subsystem(list("aabbcc")))
    with pytest.raises(ValueError, match=r"'label' is a string .* type label = cellstr\(label\);"):
        load(path)
    assert load(path, labels=Y).y.tolist() == Y.tolist()  # it does no harm to the rest
    whole = load(path, labels=Y)
    assert not any("label" in name for name in whole.sample_info)  # nor is it a fact per sample


def test_strings_of_matlab_in_a_structure_or_a_cell_are_answered_too(tmp_path):
    arrays = mat_array(b"X", (6, 12), element(9, X.tobytes("F")))
    inner = unnamed_string(1)
    name_length = element(5, struct.pack("<i", 8))
    structure = mat_array(b"s", (1, 1), name_length + element(1, b"labels\0\0") + inner, 2)
    cells = mat_array(b"labels", (6, 1), inner * 6, 1)
    for variable in (structure, cells):
        path = mat5(tmp_path / "s.mat", arrays, variable, subsystem(list("aabbcc")))
        with pytest.raises(ValueError, match=r"labels' is a string of MATLAB"):
            load(path)


def test_stores_stay_on_disk_after_a_child_looked_through_them(tmp_path, monkeypatch):
    import zarr

    from tenfold import MPCA

    monkeypatch.setattr("tenfold.datasets.hdf5.STAYS_ON_DISK", 0)
    monkeypatch.setattr(sandbox, "_started", __import__("forked_child").ForkedChild)
    zarr.save_group(tmp_path / "data.zarr", X=X, y=Y)
    with h5py.File(tmp_path / "data.h5", "w") as file:
        file["X"], file["y"] = X, Y
    for name, kind in {"data.zarr": zarr.Array, "data.h5": h5py.Dataset}.items():
        data = load(tmp_path / name)
        assert isinstance(data.X, kind)
        np.testing.assert_allclose(MPCA(ranks=2).fit(data.X).mean_, X.mean(axis=0), rtol=1e-12)
