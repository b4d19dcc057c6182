"""HDF5 files, Parquet tables and TIFF stacks."""

import h5py
import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from PIL import Image

from tenfold.datasets import load, load_hdf5, load_parquet, load_tiff

X = np.random.default_rng(0).random((6, 4, 3))
Y = np.array([1, 1, 2, 2, 3, 3])
WORDS = ["ann", "ann", "bo", "bo", "cy", "cy"]


@pytest.fixture
def write(tmp_path):
    def write_file(**arrays):
        with h5py.File(tmp_path / "data.h5", "w") as file:
            for name, array in arrays.items():
                file[name] = array
        return tmp_path / "data.h5"

    return write_file


@pytest.mark.parametrize("labels", [Y, WORDS, np.array(WORDS, dtype="S3"), np.eye(3)[Y - 1]])
def test_samples_and_labels_are_found(write, labels):
    data = load(write(X=X, y=labels, pose=np.arange(6)))
    np.testing.assert_array_equal(data.X, X)
    assert len(data.classes) == 3
    assert data.sample_info["pose"].tolist() == list(range(6))


def test_a_path_inside_is_written_behind_two_colons(write):
    path = write(**{"train/X": X, "train/y": Y, "test/X": X[:4], "test/y": Y[:4]})
    with pytest.raises(ValueError, match=r"holds 2 sets of samples: test/X .*train/X \(6, 4, 3\)"):
        load(path)
    for name in (f"{path}::/test/X", f"{path}::test/X"):
        assert load(name).y.tolist() == Y[:4].tolist()
        assert load_hdf5(name).X.shape == (4, 4, 3)
    assert load(path, key="/train/X").y.tolist() == Y.tolist()
    with pytest.raises(ValueError, match="the path names test/X and key names train/X"):
        load(f"{path}::test/X", key="train/X")
    with pytest.raises(ValueError, match=r"has no array 'test/Z'; it holds"):
        load(f"{path}::test/Z")


def test_a_path_inside_goes_for_every_file_of_named_arrays(tmp_path):
    np.savez(tmp_path / "data.npz", X=X, Z=X + 1, y=Y)
    np.testing.assert_array_equal(load(f"{tmp_path / 'data.npz'}::Z").X, X + 1)


def test_a_file_of_another_kind_is_named(tmp_path):
    (tmp_path / "data.h5").write_text("not HDF5")
    with pytest.raises(ValueError, match=r"data\.h5 is not a whole HDF5 file"):
        load(tmp_path / "data.h5")


def test_links_to_other_files_are_refused(write, tmp_path):
    path = write(y=Y)
    with h5py.File(path, "r+") as file:
        file["X"] = h5py.ExternalLink("other.h5", "/X")
    with pytest.raises(ValueError, match=r"data\.h5: 'X' is an external link"):
        load(path)


def test_a_heap_at_which_the_library_would_wait_for_ever_is_refused(write):
    path = write(X=X, y=WORDS)
    data = bytearray(path.read_bytes())
    at = data.find(b"GCOL") + 16
    data[at : at + 16] = bytes(16)  # the first text becomes a gap of no size
    path.write_bytes(data)
    with pytest.raises(ValueError, match=r"data\.h5 .*heap of texts at byte \d+ has a gap or"):
        load(path)


def test_a_heap_of_a_virtual_dataset_is_looked_at_before_it_is_opened(tmp_path):
    """HDF5 1.14 would wait for ever when it opens the dataset, before it can be asked anything."""
    path = tmp_path / "data.h5"
    with h5py.File(path, "w") as file:
        file["part"], file["y"] = X, Y
        layout = h5py.VirtualLayout(X.shape, "f8")
        layout[:] = h5py.VirtualSource(".", "part", X.shape)
        file.create_virtual_dataset("X", layout)
    data = bytearray(path.read_bytes())
    at = data.find(b"GCOL") + 16
    data[at : at + 16] = bytes(16)
    path.write_bytes(data)
    with pytest.raises(ValueError, match=r"data\.h5 .*heap of texts at byte \d+ has a gap or"):
        load(path)


# ── Parquet ─────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def table(tmp_path):
    def write_table(**columns):
        pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / "data.parquet")
        return tmp_path / "data.parquet"

    return write_table


def columns_of(rows):
    return {f"p{i}": rows[:, i] for i in range(rows.shape[1])}


@pytest.mark.parametrize("labels", [Y, WORDS, pyarrow.array(WORDS).dictionary_encode()])
def test_columns_are_folded_and_labels_found_by_name(table, labels):
    data = load(table(**columns_of(X.reshape(6, 12)), label=labels), sample_shape=(4, 3))
    np.testing.assert_array_equal(data.X, X)
    assert data.y.tolist() == (Y.tolist() if labels is Y else WORDS)


def test_a_column_of_lists_holds_the_samples(table):
    data = load_parquet(table(pixels=X.reshape(6, 12).tolist(), y=Y), sample_shape=(4, 3))
    np.testing.assert_array_equal(data.X, X)
    with pytest.raises(ValueError, match="lists of column 'pixels' differ in length"):
        load_parquet(table(pixels=[[1.0], [1.0, 2.0]], y=[1, 2]))


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"a": [1.0, None], "y": [1, 2]}, "column 'a' lacks 1 of 2 numbers"),
        ({"a": [1.0, 2.0], "y": [1, None]}, "column 'y' lacks 1 of 2 labels"),
        ({"a": ["x", "z"], "y": [1, 2]}, "column 'a' holds string, not numbers"),
        ({"a": [1.0, 2.0], "b": [1, 2]}, "cannot tell which column"),
        ({"y": [1, 2]}, "no columns of numbers"),
        ({"y": pyarrow.array([], "int64"), "a": pyarrow.array([], "int64")}, "has no rows"),
    ],
)
def test_a_table_that_cannot_be_meant_is_refused(table, columns, said):
    with pytest.raises(ValueError, match=said):
        load_parquet(table(**columns))


def test_what_is_no_parquet_is_named(tmp_path):
    (tmp_path / "data.parquet").write_bytes(b"PAR1 and nothing else PAR1")
    with pytest.raises(ValueError, match=r"data\.parquet is not a whole Parquet file"):
        load(tmp_path / "data.parquet")


def test_labels_beside_a_table(table, tmp_path):
    (tmp_path / "labels.txt").write_text("\n".join(WORDS))
    path = table(**columns_of(X.reshape(6, 12)))
    assert load(path, labels=tmp_path / "labels.txt").y.tolist() == WORDS
    assert load(path, labelled=False).y is None


# ── TIFF ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("deep", [False, True])
def test_pages_are_samples(tmp_path, deep):
    top, dtype = (65535, np.uint16) if deep else (255, np.uint8)
    levels = np.random.default_rng(0).integers(0, top, (6, 4, 3)).astype(dtype)
    first, *others = map(Image.fromarray, levels)
    first.save(tmp_path / "stack.tif", save_all=True, append_images=others)
    data = load(tmp_path / "stack.tif", labels=WORDS)
    np.testing.assert_array_equal(data.X, levels / top)
    assert data.y.tolist() == WORDS
    assert load_tiff(tmp_path / "stack.tif", WORDS, resize=(2, 2)).X.shape == (6, 2, 2)
    with pytest.raises(ValueError, match=r"stack\.tif holds samples only; pass labels=FILE"):
        load(tmp_path / "stack.tif")
    with pytest.raises(ValueError, match="has 6 samples, but there are 5 labels"):
        load(tmp_path / "stack.tif", labels=WORDS[:5])


def test_pages_of_two_sizes_are_refused(tmp_path):
    pages = [Image.new("L", (4, 4)), Image.new("L", (5, 4))]
    pages[0].save(tmp_path / "stack.tif", save_all=True, append_images=pages[1:])
    with pytest.raises(ValueError, match=r"stack\.tif .*its pages differ in size"):
        load(tmp_path / "stack.tif", labelled=False)
