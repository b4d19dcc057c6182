"""Samples and labels among named arrays, whatever the format; NumPy's own files stand for all."""

import pickle
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest

from tenfold.datasets import load
from tenfold.datasets.contents import contents

X = np.random.default_rng(0).random((6, 4, 3))
Y = np.array([1, 1, 2, 2, 3, 3])


@pytest.fixture
def npz(tmp_path):
    def write(**arrays):
        np.savez(tmp_path / "data.npz", **arrays)
        return tmp_path / "data.npz"

    return write


class Bomb:
    """What a pickle may do to whoever opens it."""

    def __reduce__(self):
        return (pytest.fail, ("a pickle was opened",))


# ── Which array ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("label", ["y", "gnd", "labels", "Target", "anything"])
def test_one_tensor_and_one_vector_leave_no_question(npz, label):
    data = load(npz(**{"samples": X, label: Y}))
    np.testing.assert_array_equal(data.X, X)
    assert data.y.tolist() == Y.tolist()


def test_other_vectors_are_kept_beside_the_samples(npz):
    arrays = {"y": Y, "pose": np.arange(6), "version": np.array(3), "distances": np.eye(6)}
    data = load(npz(X=X, **arrays), key="X")
    assert list(data.sample_info) == ["pose"]
    assert data.sample_info["pose"].tolist() == list(range(6))


def test_several_arrays_are_listed_and_a_name_asked_for(npz):
    path = npz(X=X, other=X, y=Y, version=np.array(3))
    with pytest.raises(
        ValueError, match=r"data\.npz: it holds several arrays .*pass key=NAME"
    ) as error:
        load(path)
    assert "X (6, 4, 3), other (6, 4, 3);" in str(error.value)
    assert load(path, key="other").X.shape == X.shape
    path = npz(X=X, person=Y, pose=Y, one=3.0)
    with pytest.raises(ValueError, match=r"cannot tell .* labels: .*person \(6,\), pose \(6,\)"):
        load(path)
    assert load(path, labels="person").y.tolist() == Y.tolist()
    for key, said in (
        ("Z", r"no array 'Z'; it holds X \(6, 4, 3\)"),
        ("one", "one is a single number"),
    ):
        with pytest.raises(ValueError, match=said):
            load(path, key=key)


@pytest.mark.parametrize("names", ["X_{} y_{}", "{}_images {}_labels", "x{} y{}", "{}X {}Y"])
def test_several_sets_are_named_and_each_goes_with_its_labels(npz, names):
    arrays = {}
    for part, n in (("train", 6), ("test", 4)):
        samples, labels = names.format(part, part).split()
        arrays |= {samples: X[:n], labels: Y[:n]}
    path = npz(**arrays)
    with pytest.raises(
        ValueError, match=r"several arrays .*pass key=NAME; .*labels of the same set"
    ):
        load(path)
    test = load(path, key=names.format("test", "test").split()[0])
    assert test.y.tolist() == Y[:4].tolist()


def test_the_labels_say_which_axis_counts_samples(npz):
    data = load(npz(X=np.moveaxis(X, 0, 2), y=Y))
    np.testing.assert_array_equal(data.X, X)
    assert data.notes[0].startswith("samples lie along the last axis of X (4, 3, 6), the only one")
    assert load(npz(X=np.moveaxis(X, 0, 2), y=Y), sample_axis=2).notes == ()
    for options, said in (
        ({"sample_axis": 0}, "has 4 samples along axis 0, but y has 6 labels"),
        ({"sample_axis": 3}, "no axis 3"),
        ({"sample_axis": 1.5}, "expected a whole number"),
    ):
        with pytest.raises(ValueError, match=said):
            load(npz(X=np.moveaxis(X, 0, 2), y=Y), **options)


@pytest.mark.parametrize("order", ["C", "F"])
def test_flat_rows_are_folded_in_the_order_said(npz, order):
    flat = np.array([sample.ravel(order) for sample in X])
    np.testing.assert_array_equal(load(npz(X=flat, y=Y), sample_shape=(4, 3), order=order).X, X)
    for shape in ((4, 4), "foo", (2.5, 4), (0, 12)):
        with pytest.raises(ValueError, match="sample_shape"):
            load(npz(X=flat, y=Y), sample_shape=shape)


@pytest.mark.parametrize("array", [X.astype(complex), X.astype(str), X[:0]])
def test_samples_must_be_real_numbers_and_there(npz, array):
    with pytest.raises(ValueError, match=r"data\.npz.*(not real numbers|no samples|no array of)"):
        load(npz(X=array, y=Y[: len(array)]))


# ── Labels ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("labels", "wanted"),
    [
        (Y.astype(float), Y.tolist()),
        (Y + 0.5, (Y + 0.5).tolist()),
        (["2", "10", "2", "10", "-1", "3"], [2, 10, 2, 10, -1, 3]),
        (["007", "7", "7", "07", "1", "2"], ["007", "7", "7", "07", "1", "2"]),
        (["+1", "1", "1.0", "1e2", "5", "6"], ["+1", "1", "1.0", "1e2", "5", "6"]),
        (["1234567890123456789012"] * 6, ["1234567890123456789012"] * 6),
        ([" a", " a", "b ", "b ", "c", "c"], ["a", "a", "b", "b", "c", "c"]),
        (np.array([1e20, 1e20, 2e20, 2e20, 3, 3]), [1e20, 1e20, 2e20, 2e20, 3, 3]),
    ],
)
def test_labels_stay_as_many_classes_as_they_were(npz, labels, wanted):
    assert load(npz(X=X, y=labels)).y.tolist() == wanted


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (["lead", " lead", "tin", "tin", "tin", "tin"], "' lead'.* differ in blanks only"),
        (["a", "", "b", " ", "b", "a"], "2 of 6 labels are empty, the first is that of sample 1"),
        ([1, 2, np.nan, 1, 2, 1], "1 of 6 labels are NaN"),
        (np.eye(3)[Y - 1] + 1, r"labels have shape \(6, 3\); expected one per sample"),
    ],
)
def test_labels_that_cannot_be_meant_are_refused(npz, labels, said):
    with pytest.raises(ValueError, match=rf"data\.npz: y: .*{said}"):
        load(npz(X=X, y=labels))


def test_a_column_per_class_is_told(npz):
    for one_hot in (np.eye(3)[Y - 1], np.eye(3)[Y - 1].T):
        data = load(npz(X=X, y=one_hot))
        assert data.y.tolist() == [0, 0, 1, 1, 2, 2]
        assert "3 columns of zeros and ones (one-hot); class 0 is the first" in data.notes[0]


def test_labels_may_come_from_outside_the_data(npz, tmp_path, monkeypatch):
    path = npz(X=X)
    (tmp_path / "y.txt").write_text("Label\r\na\r\na\r\nb\r\nb\r\nc\r\nc\r\n\r\n")
    np.save(tmp_path / "y.npy", np.array(list("aabbcc")))
    for labels in (list("aabbcc"), tmp_path / "y.txt", str(tmp_path / "y.npy")):
        assert load(path, labels=labels).y.tolist() == list("aabbcc")
    with pytest.raises(ValueError, match="6 samples along axis 0, but there are 5 labels"):
        load(path, labels=list("aabbc"))
    with pytest.raises(FileNotFoundError, match=r"none\.txt does not exist"):
        load(path, labels="none.txt")
    with pytest.raises(ValueError, match=r"holds samples only; pass labels=FILE"):
        load(path)
    assert load(path, labelled=False).y is None
    np.savez(tmp_path / "two.npz", p=Y, q=Y)
    with pytest.raises(ValueError, match=r"p \(6,\), q .* labels='.*two.npz::NAME'"):
        load(path, labels=tmp_path / "two.npz")
    monkeypatch.chdir(tmp_path)
    Path("y").write_text("a\n\nb")
    with pytest.raises(ValueError, match=r"^y: 1 of 3 labels are empty"):  # "empty" has a y, too
        load(path, labels="y")


# ── NumPy's own files ───────────────────────────────────────────────────────────────────────────


def test_pickled_objects_are_never_opened(npz, tmp_path):
    said = r"holds pickled Python objects.*np\.save"
    for arrays in ({"X": np.array([[Bomb()] * 2] * 2), "y": Y[:2]}, {"X": X, "y": Y.astype("O")}):
        with pytest.raises(ValueError, match=rf"data\.npz: array '[Xy]' {said}"):
            load(npz(**arrays))
    np.save(tmp_path / "a.npy", np.array([Bomb(), Bomb()], dtype=object))
    (tmp_path / "b.npy").write_bytes(pickle.dumps(Bomb()))
    for name in ("a.npy", "b.npy"):
        with pytest.raises(ValueError, match=rf"{name} {said}"):
            load(tmp_path / name, labels=Y)


def test_a_large_npy_is_mapped_and_a_small_one_read(tmp_path, monkeypatch):
    np.save(tmp_path / "data.npy", X.reshape(6, 12))
    for limit, mapped in ((2**30, False), (100, True)):
        monkeypatch.setattr("tenfold.datasets.numpy_files.STAYS_ON_DISK", limit)
        data = load(tmp_path / "data.npy", labels=Y, sample_shape=(4, 3))
        assert isinstance(data.X, np.memmap) is mapped
        np.testing.assert_array_equal(data.X, X)


@pytest.mark.parametrize("name", ["data.npz", "data.npy"])
@pytest.mark.parametrize("keep", [0, 10, 200, -30])
def test_a_truncated_file_is_named(tmp_path, name, keep):
    path = tmp_path / name
    np.savez(path, X=X, y=Y) if name.endswith("z") else np.save(path, X)
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(ValueError, match=r"data\.np[yz]"):
        load(path, labels=None if name.endswith("z") else Y)


def test_what_an_archive_cannot_hold_is_refused(tmp_path):
    header = {"descr": "<f8", "fortran_order": False, "shape": (2**40, 6)}
    with zipfile.ZipFile(tmp_path / "bomb.npz", "w") as archive, archive.open("X.npy", "w") as file:
        np.lib.format.write_array_header_1_0(file, header)
    with pytest.raises(ValueError, match=r"bomb\.npz needs more memory than there is"):
        load(tmp_path / "bomb.npz", labelled=False)


def write_bomb(path, n_samples=16_000):
    """0.4 MB of compressed zeros that unpack to 400 MB."""
    shape = (n_samples, 50, 64)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        with archive.open("X.npy", "w", force_zip64=True) as file:
            header = {"descr": "<f8", "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(file, header)
            for _ in range(n_samples // 1000):
                file.write(bytes(8 * 1000 * 50 * 64))
        with archive.open("y.npy", "w") as file:
            np.lib.format.write_array(file, np.arange(n_samples) % 2)
    return path


def test_a_small_file_that_unpacks_to_a_thousandfold_is_refused_in_little_memory(tmp_path):
    path = write_bomb(tmp_path / "bomb.npz")
    assert path.stat().st_size < 2e6
    tracemalloc.start()
    try:
        for read in (
            load,
            contents,
            lambda path: load(file_of_samples(tmp_path), labels=f"{path}::y"),
        ):
            with pytest.raises(ValueError, match=r"bomb\.npz has 0\.\d MB and unpacks to 410 MB"):
                read(path)
        assert tracemalloc.get_traced_memory()[1] < 50e6
    finally:
        tracemalloc.stop()


def file_of_samples(folder):
    np.save(folder / "X.npy", X)
    return folder / "X.npy"


def test_whoever_trusts_a_file_reads_it_all_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr("tenfold.datasets.numpy_files.ALWAYS_ALLOWED", 10**6)
    path = write_bomb(tmp_path / "zeros.npz", 2000)
    with pytest.raises(ValueError, match="pass trusted=True"):
        load(path)
    assert load(path, trusted=True).X.shape == (2000, 50, 64)


def test_numbers_that_pack_well_are_read(tmp_path):
    np.savez_compressed(tmp_path / "a.npz", X=np.zeros((2000, 50, 64)), y=np.arange(2000) % 2)
    assert len(load(tmp_path / "a.npz")) == 2000  # 51 MB, a thousand times the file


def test_an_array_whose_name_was_damaged_is_not_passed_over(npz):
    """Only the contents of a zip archive have checksums; another vector would become the labels."""
    path = npz(X=X, y=Y, pose=np.arange(6))
    data = path.read_bytes()
    at = data.rfind(b"y.npy")
    path.write_bytes(data[:at] + b"y.np\0" + data[at + 5 :])
    with pytest.raises(ValueError, match=r"data\.npz is not a whole .*File name in directory"):
        load(path)


def test_a_folder_of_npy_files_by_class(tmp_path):
    root = tmp_path / "trials"
    for i, sample in enumerate(X):
        (root / f"c{Y[i]}").mkdir(parents=True, exist_ok=True)
        np.save(root / f"c{Y[i]}" / f"{i}.npy", sample)
    data = load(root)
    np.testing.assert_array_equal(data.X, X)
    assert data.y.tolist() == ["c1", "c1", "c2", "c2", "c3", "c3"]
    assert data.sample_info["file"][0] == "c1/0.npy"
    np.save(root / "c1" / "0.npy", X[0, :2])
    with pytest.raises(ValueError, match=r"samples differ in size: .*0\.npy is 2x3 and"):
        load(root)
    np.save(root / "loose.npy", X[0])
    with pytest.raises(ValueError, match=r"1 of 7 files lie in no class folder: loose\.npy"):
        load(root)
