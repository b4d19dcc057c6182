"""NumPy's own files."""

import pickle
import zipfile

import h5py
import numpy as np
import pytest
import scipy.io

from tenfold.datasets import load, load_npy, load_npz

X = np.random.default_rng(0).random((6, 4, 3))
Y = np.array([1, 1, 2, 2, 3, 3])


@pytest.fixture
def npz(tmp_path):
    def write(**arrays):
        np.savez(tmp_path / "data.npz", **arrays)
        return tmp_path / "data.npz"

    return write


@pytest.fixture
def npy(tmp_path):
    def write(array, name="data.npy"):
        np.save(tmp_path / name, array)
        return tmp_path / name

    return write


class Bomb:
    """What a pickle may do to whoever opens it."""

    def __reduce__(self):
        return (pytest.fail, ("a pickle was opened",))


# ── .npz ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("label", ["y", "gnd", "labels", "Target", "anything"])
def test_one_tensor_and_one_vector_leave_no_question(npz, label):
    data = load_npz(npz(**{"samples": X, label: Y}))
    np.testing.assert_array_equal(data.X, X)
    assert data.y.tolist() == Y.tolist()


def test_other_vectors_are_kept_beside_the_samples(npz):
    data = load_npz(npz(X=X, y=Y, pose=np.arange(6), version=np.array(3)))
    assert list(data.sample_info) == ["pose"]
    assert data.sample_info["pose"].tolist() == list(range(6))


def test_several_tensors_are_listed_and_key_asked_for(npz):
    path = npz(X=X, other=X, y=Y)
    with pytest.raises(ValueError, match="several arrays") as error:
        load_npz(path)
    assert "X (6, 4, 3), other (6, 4, 3); pass key=NAME" in str(error.value)
    assert str(path) in str(error.value)
    assert load_npz(path, key="other").X.shape == X.shape


def test_several_vectors_are_listed_and_label_key_asked_for(npz):
    path = npz(X=X, person=Y, pose=Y)
    with pytest.raises(ValueError, match=r"cannot tell .* labels: .*person \(6,\), pose \(6,\)"):
        load_npz(path)
    assert load_npz(path, label_key="person").y.tolist() == Y.tolist()
    assert load_npz(path, labelled=False).y is None


@pytest.mark.parametrize("option", ["key", "label_key"])
def test_an_array_that_is_not_there_is_answered_with_those_that_are(npz, option):
    with pytest.raises(ValueError, match=r"has no array 'Z'; it holds X \(6, 4, 3\), y \(6,\)"):
        load_npz(npz(X=X, y=Y), **{option: "Z"})


def test_a_file_without_samples_says_so(npz):
    with pytest.raises(ValueError, match="no array of samples"):
        load_npz(npz(y=Y))


def test_labels_that_do_not_match_are_counted(npz):
    path = npz(X=np.moveaxis(X, 0, -1), y=Y)
    with pytest.raises(ValueError, match="has 4 samples along axis 0, but y has 6 labels"):
        load_npz(path, sample_axis=0)
    with pytest.raises(ValueError, match="has 4 samples along axis 0, but y has 5 labels"):
        load_npz(npz(X=np.moveaxis(X, 0, -1), y=Y[:5]))
    path = npz(X=np.moveaxis(X, 0, -1), y=Y)
    np.testing.assert_array_equal(load_npz(path, sample_axis=2).X, X)
    with pytest.raises(ValueError, match="no axis 3"):
        load_npz(path, sample_axis=3)


@pytest.mark.parametrize("order", ["C", "F"])
def test_flat_rows_are_folded_in_the_order_said(npz, order):
    flat = np.array([sample.ravel(order) for sample in X])
    data = load_npz(npz(X=flat, y=Y), sample_shape=(4, 3), order=order)
    np.testing.assert_array_equal(data.X, X)


@pytest.mark.parametrize("shape", [(4, 4), (12, 1, 2)])
def test_a_shape_that_does_not_fit_says_what_came(npz, shape):
    with pytest.raises(ValueError, match=r"samples have shape \(12,\), which sample_shape="):
        load_npz(npz(X=X.reshape(6, 12), y=Y), sample_shape=shape)


def test_an_unknown_order_is_refused(npz):
    with pytest.raises(ValueError, match="order is 'A'"):
        load_npz(npz(X=X, y=Y), order="A")


@pytest.mark.parametrize("array", [X.astype(complex), X.astype(str)])
def test_samples_must_be_real_numbers(npz, array):
    with pytest.raises(ValueError, match=r"array 'X' holds .* not real numbers"):
        load_npz(npz(X=array, y=Y))


def test_pickled_objects_are_never_opened(npz):
    path = npz(X=np.array([[Bomb()] * 2] * 2, dtype=object), y=Y[:2])
    with pytest.raises(
        ValueError, match=r"data\.npz: array 'X' holds pickled .*X\.astype\(float\)"
    ):
        load_npz(path)


def test_labels_saved_as_objects_are_to_be_saved_as_text(npz, npy):
    words = np.array(list("aabbcc"), dtype=object)
    with pytest.raises(ValueError, match=r"array 'y' holds pickled .* text, y\.astype\(str\)"):
        load_npz(npz(X=X, y=words))
    with pytest.raises(ValueError, match=r"labels\.npy holds pickled .* text, y\.astype\(str\)"):
        load_npy(npy(X), npy(words, "labels.npy"))


@pytest.mark.parametrize("axis", ["foo", 1.5, [0]])
def test_a_sample_axis_is_a_whole_number(npz, axis):
    with pytest.raises(ValueError, match=r"sample_axis is .*; expected a whole number"):
        load_npz(npz(X=X, y=Y), sample_axis=axis)


@pytest.mark.parametrize("shape", ["foo", 12, (), (3, "4"), (2.5, 4), (-3, -4), (0, 12)])
def test_a_sample_shape_is_whole_numbers(npz, shape):
    with pytest.raises(ValueError, match=r"sample_shape is .*; expected positive whole numbers"):
        load_npz(npz(X=X.reshape(6, 12), y=Y), sample_shape=shape)


@pytest.mark.parametrize("keep", [0, 10, 300, -30])
def test_a_truncated_file_is_named(npz, keep):
    path = npz(X=X, y=Y)
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(ValueError, match=r"data\.npz is not a whole \.npy or \.npz file"):
        load_npz(path)


# ── .npy ────────────────────────────────────────────────────────────────────────────────────────


def test_npy_is_mapped_not_read(npy):
    data = load_npy(npy(X), Y)
    assert isinstance(data.X, np.memmap)
    assert not data.X.flags.writeable
    np.testing.assert_array_equal(data.X, X)


def test_folding_a_mapped_file_copies_nothing(npy):
    data = load_npy(npy(X.reshape(6, 12)), Y, sample_shape=(4, 3))
    assert isinstance(data.X, np.memmap)
    np.testing.assert_array_equal(data.X, X)


def test_labels_may_be_a_list_a_npy_or_a_text_file(npy, tmp_path):
    path = npy(X)
    text = tmp_path / "labels.txt"
    text.write_text("s1\ns1\ns2\ns2\ns10\n s10 \n")
    wanted = ["s1", "s1", "s2", "s2", "s10", "s10"]
    assert load_npy(path, wanted).y.tolist() == wanted
    assert load_npy(path, text).y.tolist() == wanted
    assert load_npy(path, str(npy(np.array(wanted), "labels.npy"))).y.tolist() == wanted


def test_labels_in_whole_numbers_become_integers(npy, tmp_path):
    (tmp_path / "labels.txt").write_text("2\n10\n2\n10\n-1\n3\n")
    labels = load_npy(npy(X), tmp_path / "labels.txt").y
    assert labels.dtype == np.int64
    assert labels.tolist() == [2, 10, 2, 10, -1, 3]
    assert load_npy(npy(X), Y.astype(float)).y.dtype == np.int64
    assert load_npy(npy(X), Y + 0.5).y.tolist() == (Y + 0.5).tolist()


def test_npy_asks_for_labels(npy):
    with pytest.raises(ValueError, match=r"holds samples only; pass labels=FILE"):
        load_npy(npy(X))
    assert load_npy(npy(X), labelled=False).y is None


def test_too_few_labels_are_counted(npy):
    with pytest.raises(ValueError, match=r"data\.npy has 6 samples, but there are 5 labels"):
        load_npy(npy(X), Y[:5])


def test_one_axis_is_not_a_batch(npy):
    with pytest.raises(ValueError, match=r"has shape \(6,\); expected \(n, I_1"):
        load_npy(npy(Y), Y)


def test_a_pickled_npy_is_never_opened(npy, tmp_path):
    said = r"\.npy holds pickled Python objects, .* save it again"
    with pytest.raises(ValueError, match=said):
        load_npy(npy(np.array([Bomb(), Bomb()], dtype=object)), Y)
    (tmp_path / "plain.npy").write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(ValueError, match=said):
        load_npy(tmp_path / "plain.npy", Y)


@pytest.mark.parametrize("content", [b"1,2,3\n", b"PK\x03\x04", b""])
def test_a_file_that_only_has_the_name_is_no_npy(tmp_path, content):
    (tmp_path / "data.npy").write_bytes(content)
    with pytest.raises(ValueError, match=r"data\.npy does not begin as a \.npy file"):
        load_npy(tmp_path / "data.npy", Y)


@pytest.mark.parametrize("keep", [0, 10, 200])
def test_a_truncated_npy_is_named(npy, keep):
    path = npy(X)
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(ValueError, match=r"data\.npy"):
        load_npy(path, Y)


def test_labels_that_are_not_text_are_named(npy, tmp_path):
    (tmp_path / "labels.txt").write_bytes(b"\xff\xfe\x00\x80")
    with pytest.raises(ValueError, match=r"labels\.txt is not UTF-8 text; save it as UTF-8"):
        load_npy(npy(X), tmp_path / "labels.txt")


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.npz does not exist"):
        load_npz(tmp_path / "none.npz")
    with pytest.raises(FileNotFoundError, match=r"none\.npy does not exist"):
        load_npy(tmp_path / "none.npy", Y)


# ── Labels ──────────────────────────────────────────────────────────────────────────────────────


def test_large_labels_stay_apart(npz):
    assert load_npz(npz(X=X, y=np.array([1e20, 1e20, 2e20, 2e20, 3, 3]))).classes.size == 3
    assert load_npz(npz(X=X, y=np.array([2.0**60] * 3 + [2.0**61] * 3))).classes.size == 2


def test_rows_with_a_single_1_are_labels(npz):
    one_hot = np.eye(3)[Y - 1]
    assert load_npz(npz(X=X, y=one_hot)).y.tolist() == [0, 0, 1, 1, 2, 2]
    assert load_npz(npz(X=X, y=one_hot.T)).y.tolist() == [0, 0, 1, 1, 2, 2]
    with pytest.raises(ValueError, match=r"data\.npz: y: labels have shape \(6, 3\); expected one"):
        load_npz(npz(X=X, y=one_hot + 1))


@pytest.mark.parametrize("names", ["X_{} y_{}", "{}_images {}_labels", "x{} y{}", "{}X {}Y"])
def test_several_sets_are_named_and_each_goes_with_its_labels(npz, names):
    arrays = {}
    for part, n in (("train", 6), ("test", 4)):
        samples, labels = names.format(part, part).split()
        arrays |= {samples: X[:n], labels: Y[:n]}
    path = npz(**arrays)
    with pytest.raises(ValueError, match=r"holds 2 sets of samples: .* choose one, such as key="):
        load_npz(path)
    test = load_npz(path, key=names.format("test", "test").split()[0])
    assert test.y.tolist() == Y[:4].tolist()
    assert test.sample_info == {}


def test_candidates_are_listed_without_numbers_and_labels(npz):
    with pytest.raises(ValueError, match="several arrays") as error:
        load_npz(npz(X=X, W=np.eye(4), y=Y, version=np.array(3)))
    assert "version" not in str(error.value)
    assert "y (6,)" not in str(error.value)


def test_what_an_archive_cannot_hold_is_refused_before_it_is_allocated(tmp_path):
    path = tmp_path / "bomb.npz"
    header = {"descr": "<f8", "fortran_order": False, "shape": (2**30, 6)}
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        with zipfile.ZipFile(path, "w", method) as archive, archive.open("X.npy", "w") as file:
            np.lib.format.write_array_header_1_0(file, header)
        with pytest.raises(ValueError, match=r"bomb\.npz: array X\.npy declares 48 GiB"):
            load_npz(path, labelled=False)


def test_an_array_whose_name_was_damaged_is_not_passed_over(tmp_path):
    """Only the contents of a zip archive have checksums; another vector would become the labels."""
    path = tmp_path / "names.npz"
    np.savez(path, X=np.zeros((6, 2, 2)), y=np.arange(6) % 2, pose=np.arange(6))
    data = path.read_bytes()
    at = data.rfind(b"y.npy")
    path.write_bytes(data[:at] + b"y.np\0" + data[at + 5 :])
    with pytest.raises(ValueError, match=r"names\.npz is not a whole .*File name in directory"):
        load_npz(path)


def test_characters_that_do_not_exist_are_refused(npz):
    labels = np.array(list("aabbcc"))
    labels.view(np.uint32)[3] = 0x7FFFFFFF
    with pytest.raises(ValueError, match=r"data\.npz: y: labels hold characters that do not exist"):
        load_npz(npz(X=X, y=labels))


# ── Labels in another file ──────────────────────────────────────────────────────────────────────


@pytest.fixture
def label_file(tmp_path):
    def write(name):
        path, words = tmp_path / name, np.array(list("aabbcc"))
        if name.endswith(".npz"):
            np.savez(path, y=words, other=np.zeros((2, 2)))
        elif name.endswith(".mat"):
            scipy.io.savemat(path, {"labels": words.astype(object)[:, None], "n": 6})
        elif name.endswith(".h5"):
            with h5py.File(path, "w") as file:
                file["train/y"] = list("aabbcc")
        elif name.endswith(".csv"):
            rows = [f"{i},{word}" for i, word in enumerate(words)]
            path.write_text("\n".join(["id,label", *rows]))
        elif name.startswith("header"):
            path.write_text("Label\r\n" + "\r\n".join(words) + "\r\n")
        else:
            path.write_text("\n".join(words) + "\n\n")
        return path

    return write


@pytest.mark.parametrize("name", ["y.txt", "header.txt", "y.csv", "y.npz", "y.mat", "y.h5"])
def test_labels_may_lie_in_another_file(npz, label_file, name):
    assert load_npz(npz(X=X), labels=label_file(name)).y.tolist() == list("aabbcc")


def test_labels_of_another_file_say_which_axis_counts(npz, label_file):
    data = load_npz(npz(X=np.moveaxis(X, 0, 2)), labels=label_file("y.txt"))
    np.testing.assert_array_equal(data.X, X)
    assert "last axis" in data.notes[0]
    with pytest.raises(ValueError, match="the file of labels has 6 labels; axis 0 must count"):
        load_npz(npz(X=np.moveaxis(X, 0, 1)), labels=label_file("y.txt"))


def test_an_array_of_another_file_can_be_named(npz, label_file):
    inside = f"{label_file('y.h5')}::/train/y"
    assert load_npz(npz(X=X), labels=inside).y.tolist() == list("aabbcc")
    with pytest.raises(ValueError, match=r"cannot tell which array of .*y\.npz .*y \(6,\)"):
        load_npz(npz(X=X), labels=label_file("y.npz"), label_key="Z")


# ── Folders ─────────────────────────────────────────────────────────────────────────────────────


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
    with pytest.raises(ValueError, match=r"samples differ in shape: .*0\.npy has \(2, 3\)"):
        load(root)
    np.save(root / "loose.npy", X[0])
    with pytest.raises(ValueError, match=r"1 \.npy files of no class"):
        load(root)
