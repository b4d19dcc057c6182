"""Laws at the edges of stores: blocks, chunks that are absent, and samples changed on the way."""

from itertools import product

import numpy as np
import pytest
import zarr

from tenfold.mathematics import stores
from tenfold.mathematics.mapped_store import MappedStore
from tenfold.mathematics.stores import (
    BlockError,
    StoredSamples,
    absent_chunk,
)

X = np.arange(1.0, 43.0).reshape(14, 3)


class Chunked:
    """An array in chunks of some rows, that remembers what was read."""

    def __init__(self, array, rows):
        self.array, self.chunks, self.asked = array, (rows, *array.shape[1:]), []
        self.shape, self.dtype, self.ndim = array.shape, array.dtype, array.ndim

    def __getitem__(self, rows):
        self.asked.append((rows.start, rows.stop))
        return self.array[rows]


# ── Blocks ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("block_bytes", [1, 48, 120, 10**6])
@pytest.mark.parametrize("chunk", [1, 3, 4, 20])
def test_blocks_are_whole_chunks_and_every_sample_comes_once(monkeypatch, chunk, block_bytes):
    monkeypatch.setattr(stores, "BLOCK_BYTES", block_bytes)
    store = Chunked(X, chunk)
    samples = StoredSamples.of(store)
    ends = samples.ends()
    np.testing.assert_array_equal(samples.rows(lambda block: 2 * block), 2 * X)
    assert store.asked == list(zip([0, *ends[:-1]], ends, strict=True))
    assert all(end % chunk == 0 for end in ends[:-1])
    assert ends[-1] == 14
    rows = [stop - start for start, stop in store.asked]
    assert all(n <= max(chunk, block_bytes // 24) for n in rows)
    assert all(n + chunk > block_bytes // 24 for n in rows[:-1])  # no more chunks fit


def test_part_of_a_store_is_read_where_its_chunks_are(monkeypatch):
    monkeypatch.setattr(stores, "BLOCK_BYTES", 96)
    store = Chunked(X, 4)
    middle = StoredSamples.of(store)[3:12]
    assert middle.ends().tolist() == [1, 5, 9]
    np.testing.assert_array_equal(middle.rows(np.array), X[3:12])
    assert store.asked == [(3, 4), (4, 8), (8, 12)]
    store.asked.clear()
    some = np.array([9, 2, 9, 3, 13])
    picked = StoredSamples.of(store)[some]
    assert picked.ends().tolist() == [5]
    np.testing.assert_array_equal(picked.rows(np.array), X[some])
    assert store.asked == [(2, 4), (9, 10), (13, 14)]  # no more than is needed of each chunk
    np.testing.assert_array_equal(picked[1:4].rows(np.array), X[some[1:4]])
    np.testing.assert_array_equal(middle[np.array([1, 0])].rows(np.array), X[[4, 3]])
    np.testing.assert_array_equal(StoredSamples.of(store)[12:1:-4].rows(np.array), X[12:1:-4])
    column = np.arange(5.0)
    found = picked.rows(lambda block, own: block.sum(axis=1) + own, column)
    np.testing.assert_array_equal(found, X[some].sum(axis=1) + column)
    total = picked.total(lambda block, y, w: (block * (y * w)[:, None]).sum(axis=0), column, some)
    np.testing.assert_array_equal(total, (column * some) @ X[some])


def test_a_store_that_gives_fewer_rows_is_an_error():
    class Short(Chunked):
        def __getitem__(self, rows):
            return self.array[rows][:-1]

    with pytest.raises(BlockError, match=r"samples 0 to 13 .*13 samples came instead of 14"):
        StoredSamples.of(Short(X, 4)).rows(np.array)


# ── Absent chunks ───────────────────────────────────────────────────────────────────────────────

GRID = (7, 5, 3)


def store_at(place, fill=0.0, data=None):
    data = np.arange(1.0, 106.0).reshape(GRID) if data is None else data
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


# ── Samples changed as they are read ────────────────────────────────────────────────────────────


def test_a_mapped_store_is_sliced_as_the_changed_array_is():
    def work(block):
        return np.stack([block, -block], axis=2).astype(np.float32)

    mapped, whole = MappedStore(StoredSamples.of(X), work), work(X)
    assert (mapped.shape, mapped.dtype, mapped.ndim) == (whole.shape, whole.dtype, 3)
    for key in [
        slice(2, 5),
        slice(None, None, 3),
        slice(None, None, -1),
        4,
        -1,
        np.array([3, 1, 3]),
        X[:, 0] > 20,
        Ellipsis,
        (slice(1, 4), 2),
        (5, slice(None), 1),
        (..., 0),
        (np.array([1, 2]), 0),
        slice(3, 3),
    ]:
        np.testing.assert_array_equal(mapped[key], whole[key], strict=True)
    np.testing.assert_array_equal(np.asarray(mapped, dtype=float), whole.astype(float))
    with pytest.raises(ValueError, match="must be copied"):
        np.asarray(mapped, copy=False)
