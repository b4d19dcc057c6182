"""Zarr stores."""

import json
import pickle
import struct
from itertools import product

import numcodecs
import numpy as np
import pytest
import zarr

from tenfold import MPCA
from tenfold.datasets import load
from tenfold.validation.absent_chunks import absent_chunk

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
    data = load(group(X=X, y=Y, pose=np.arange(6)))
    assert isinstance(data.X, zarr.Array)
    assert isinstance(data.y, np.ndarray)
    np.testing.assert_array_equal(data.X[2:5], X[2:5])
    assert data.y.tolist() == Y.tolist()
    assert data.sample_info["pose"].tolist() == list(range(6))
    assert repr(data) == "TensorDataset 'data': 6 samples of 4x3 (float64), 3 classes"


def test_a_store_cannot_be_written_through_the_data_set(group):
    data = load(group(X=X, y=Y))
    with pytest.raises(ValueError, match="read-only"):
        data.X[0] = 0


def test_a_single_array_takes_its_labels_from_elsewhere(single, tmp_path):
    (tmp_path / "labels.txt").write_text("\n".join("aabbcc"))
    assert load(single, labels=tmp_path / "labels.txt").y.tolist() == list("aabbcc")
    assert load(single, labelled=False).y is None
    with pytest.raises(ValueError, match="holds samples only; pass labels"):
        load(single)


def test_a_folder_that_is_no_store_is_named(tmp_path):
    (tmp_path / "empty.zarr").mkdir()
    with pytest.raises(ValueError, match=r"empty\.zarr is not a whole Zarr store"):
        load(tmp_path / "empty.zarr")


# ── Chunks that are not there ───────────────────────────────────────────────────────────────────

KINDS = {
    "2": {"zarr_format": 2},
    "3": {"zarr_format": 3},
    "3 sharded": {"zarr_format": 3, "shards": (4, 4, 3)},
}


@pytest.fixture(params=KINDS)
def holey(request, tmp_path):
    """A store of twelve samples, the second chunk (or shard) of which was deleted."""
    chunks = (2, 4, 3) if "sharded" in request.param else (4, 4, 3)
    group = zarr.open_group(tmp_path / "holey.zarr", mode="w", **zarr_format(request.param))
    X = np.random.default_rng(0).random((12, 4, 3)) + 1
    for name, data, kind in (
        ("X", X, {**KINDS[request.param], "chunks": chunks}),
        ("y", np.arange(12) % 3 + 1, {}),
    ):
        kind = {key: value for key, value in kind.items() if key != "zarr_format"}
        group.create_array(name, data=data, **kind)
    array = zarr.open_group(tmp_path / "holey.zarr", mode="r")["X"]
    (tmp_path / "holey.zarr" / "X" / array.metadata.encode_chunk_key((1, 0, 0))).unlink()
    return tmp_path / "holey.zarr"


def zarr_format(kind):
    return {"zarr_format": KINDS[kind]["zarr_format"]}


def test_a_chunk_that_is_not_there_is_named(holey):
    key = r"(c/1/0/0|1\.0\.0)"
    with pytest.raises(ValueError, match=rf"X has 2 of 3 chunks; .* is {key} \(rows 4 to 7\)"):
        load(holey)


def test_absent_may_mean_the_fill_value(holey):
    data = load(holey, missing_chunks="fill")
    assert not data.X[4:8].any()
    assert data.X[0:4].all()
    assert MPCA(ranks=2).fit(data.X).mean_.shape == (4, 3)
    with pytest.raises(ValueError, match=r"missing_chunks is 'zero'; expected"):
        load(holey, missing_chunks="zero")


def test_a_fit_on_a_store_with_holes_names_the_chunk(holey):
    array = zarr.open_group(holey, mode="r")["X"]
    said = r"chunk (c/1/0/0|1\.0\.0) with samples 4 to 7 is not in the store"
    with pytest.raises(RuntimeError, match=said):
        MPCA(ranks=2).fit(array)


def test_chunks_of_a_store_without_files_are_counted(tmp_path):
    X = np.ones((6, 4, 3))
    X[2:4] = 0  # Zarr does not write this chunk
    array = zarr.create_array(zarr.storage.MemoryStore(), data=X, chunks=(2, 4, 3))
    with pytest.raises(RuntimeError, match="with samples 2 to 3 is not in the store"):
        MPCA(ranks=2).fit(array)


class Bomb:
    """What a pickle may do to whoever opens it."""

    def __reduce__(self):
        return (pytest.fail, ("a pickle was opened",))


@pytest.mark.parametrize("where", ["filters", "compressor"])
def test_pickles_are_never_opened(tmp_path, where):
    path = tmp_path / "bomb.zarr"
    zarr.create_array(path, data=np.ones((4, 3)), zarr_format=2, compressors=None)
    metadata = json.loads((path / ".zarray").read_text())
    metadata[where] = {"id": "pickle"} if where == "compressor" else [{"id": "pickle"}]
    (path / ".zarray").write_text(json.dumps(metadata))
    (path / "0.0").write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(ValueError, match=r"bomb\.zarr"):
        load(path, labelled=False)


def test_a_store_that_declares_more_than_it_holds_is_refused_at_once(tmp_path):
    path = tmp_path / "huge.zarr"
    zarr.create_array(path, shape=(2**40, 3), chunks=(1, 3), dtype="f8")
    with pytest.raises(ValueError, match=r"has 0 of \d+ chunks; .* c/0/0 \(rows 0 to 0\)"):
        load(path, labelled=False)
    other = tmp_path / "large.zarr"
    zarr.create_array(other, shape=(2**40, 3), chunks=(2**40, 3), dtype="f8")
    with pytest.raises(ValueError, match=r"large\.zarr: a chunk .* is larger than memory"):
        load(other, labelled=False, missing_chunks="fill")


@pytest.mark.parametrize("size", [-2, 2**31 - 1])
def test_a_compressed_chunk_is_not_believed_about_its_size(tmp_path, size):
    """Blosc takes the size from the chunk: a negative one is a SystemError of Python itself."""
    group = zarr.open_group(tmp_path / "lie.zarr", mode="w", zarr_format=2)
    group.create_array("X", data=np.ones((4, 3)), chunks=(4, 3), compressors=numcodecs.Blosc())
    group.create_array("y", data=np.arange(4) % 2, chunks=(4,), compressors=numcodecs.Blosc())
    chunk = tmp_path / "lie.zarr" / "y" / "0"
    data = chunk.read_bytes()
    chunk.write_bytes(data[:4] + struct.pack("<i", size) + data[8:])
    with pytest.raises(ValueError, match=r"lie\.zarr is not a whole Zarr store"):
        load(tmp_path / "lie.zarr")


def test_a_flipped_byte_in_a_chunk_with_a_checksum_is_seen(tmp_path):
    """As the guide recommends, and as the example and the benchmarks write."""
    X = np.random.default_rng(0).random((4, 3))
    codec = zarr.codecs.ZstdCodec(checksum=True)
    zarr.create_array(tmp_path / "safe.zarr", data=X, chunks=(4, 3), compressors=codec)
    chunk = tmp_path / "safe.zarr" / "c" / "0" / "0"
    data = chunk.read_bytes()
    for byte in range(len(data)):
        for bit in (1, 128):
            chunk.write_bytes(data[:byte] + bytes([data[byte] ^ bit]) + data[byte + 1 :])
            store = load(tmp_path / "safe.zarr", labelled=False, trusted=True).X
            try:
                found = store[...]
            except (RuntimeError, ValueError, MemoryError):
                continue
            np.testing.assert_array_equal(found, X, err_msg=f"byte {byte}")


def store_at(place, fill=0.0, data=None):
    data = np.arange(1.0, 106.0).reshape((7, 5, 3)) if data is None else data
    return zarr.create_array(place, data=data, chunks=(3, 2, 3), fill_value=fill)


@pytest.mark.parametrize("fill", [0.0, -1.0, np.nan])
def test_any_absent_chunk_is_named_and_nothing_else(tmp_path, fill):
    array = store_at(tmp_path / "x.zarr", fill)
    blocks = [(0, 7), (2, 5), (3, 6), (6, 7)]
    for first, last in blocks:
        assert absent_chunk(array, array[first:last], first) is None
    for cell in product(range(3), range(3), range(1)):
        file = tmp_path / "x.zarr" / array.metadata.encode_chunk_key(cell)
        kept = file.read_bytes()
        file.unlink()
        for first, last in blocks:
            said = absent_chunk(array, array[first:last], first)
            low, high = max(first, 3 * cell[0]), min(last, 3 * cell[0] + 3)
            if low < high:
                key = array.metadata.encode_chunk_key(cell)
                assert said.startswith(f"chunk {key} with samples {low} to {high - 1} is not in")
            else:
                assert said is None
        file.write_bytes(kept)
