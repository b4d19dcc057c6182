"""Zarr stores."""

import numpy as np
import pytest
import zarr

from tenfold.datasets import load_zarr

X = np.random.default_rng(0).random((6, 4, 3))
Y = np.array([1, 1, 2, 2, 3, 3])


@pytest.fixture
def group(tmp_path):
    def write(**arrays):
        zarr.save_group(tmp_path / "data.zarr", **arrays)
        return tmp_path / "data.zarr"

    return write


@pytest.fixture
def single(tmp_path):
    zarr.save_array(tmp_path / "single.zarr", X)
    return tmp_path / "single.zarr"


def test_samples_stay_on_disk_and_labels_do_not(group):
    data = load_zarr(group(X=X, y=Y, pose=np.arange(6)))
    assert isinstance(data.X, zarr.Array)
    assert isinstance(data.y, np.ndarray)
    np.testing.assert_array_equal(data.X[2:5], X[2:5])
    assert data.y.tolist() == Y.tolist()
    assert data.sample_info["pose"].tolist() == list(range(6))
    assert repr(data) == "TensorDataset 'data': 6 samples of 4x3 (float64), 3 classes"


def test_a_store_cannot_be_written_through_the_data_set(group):
    data = load_zarr(group(X=X, y=Y))
    with pytest.raises(ValueError, match="read-only"):
        data.X[0] = 0


def test_several_arrays_are_listed(group):
    path = group(X=X, Z=X, y=Y)
    with pytest.raises(ValueError, match=r"several arrays .*pass key=NAME"):
        load_zarr(path)
    assert load_zarr(path, key="Z").X.shape == X.shape


def test_a_single_array_takes_its_labels_from_elsewhere(single, tmp_path):
    (tmp_path / "labels.txt").write_text("\n".join("aabbcc"))
    assert load_zarr(single, tmp_path / "labels.txt").y.tolist() == list("aabbcc")
    assert load_zarr(single, labelled=False).y is None
    with pytest.raises(ValueError, match="is a single array; pass labels"):
        load_zarr(single)


def test_folding_gives_tensors(group):
    data = load_zarr(group(X=X.reshape(6, 12), y=Y), sample_shape=(4, 3))
    np.testing.assert_array_equal(data.X, X)


def test_a_folder_that_is_no_store_is_named(tmp_path):
    (tmp_path / "empty.zarr").mkdir()
    with pytest.raises(ValueError, match=r"empty\.zarr is not a whole Zarr store"):
        load_zarr(tmp_path / "empty.zarr")
    with pytest.raises(FileNotFoundError, match=r"none\.zarr does not exist"):
        load_zarr(tmp_path / "none.zarr")


def test_labels_from_elsewhere_come_before_those_in_the_store(group):
    assert load_zarr(group(X=X, y=Y), list("aabbcc")).y.tolist() == list("aabbcc")
