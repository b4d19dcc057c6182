"""Windows over series that were put one after another."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenfold.datasets import SegmentedWindows, TensorDataset

SELECTIONS = [
    slice(None),
    slice(1, 4),
    slice(None, None, 2),
    slice(None, None, -1),
    slice(0, 0),
    np.array([3, 0, 3]),
    [2, 1],
    -1,
    (slice(1, 3), Ellipsis),
    (np.array([1, 2]), slice(None), -1),
    (Ellipsis, 0),
    (2, 1),
    np.arange(7) % 3 == 0,
]


def cut(lengths, window, n_features=3):
    """Rows that know their own number, segments, and all windows by brute force."""
    n_rows = sum(lengths)
    rows = np.arange(n_rows * n_features, dtype=np.float64).reshape(n_rows, n_features)
    ends = np.cumsum(lengths)
    segments = [(int(end - length), int(end)) for end, length in zip(ends, lengths, strict=True)]
    wanted = [
        rows[start : start + window].T
        for first, end in segments
        for start in range(first, end)
        if start + window <= end
    ]
    return rows, segments, np.array(wanted).reshape(-1, n_features, window)


@given(lengths=st.lists(st.integers(0, 9), min_size=1, max_size=6), window=st.integers(1, 6))
def test_windows_are_those_inside_a_segment_and_no_others(lengths, window):
    if window > sum(lengths):
        return
    rows, segments, wanted = cut(lengths, window)
    windows = SegmentedWindows(rows, segments, window)
    assert windows.shape == wanted.shape
    assert len(windows) == len(wanted)
    np.testing.assert_array_equal(np.asarray(windows), wanted)
    np.testing.assert_array_equal(windows.last_blocks, wanted[:, :, -1])
    views = list(windows.views())
    np.testing.assert_array_equal(np.concatenate([wanted[:0], *views]), wanted)


@pytest.mark.parametrize("key", SELECTIONS, ids=repr)
def test_selecting_is_selecting_from_the_whole_array(key):
    rows, segments, wanted = cut([5, 2, 6], window=3)
    np.testing.assert_array_equal(SegmentedWindows(rows, segments, 3)[key], wanted[key])


def test_segments_come_in_the_order_asked_for():
    rows, segments, wanted = cut([4, 5], window=3)
    windows = SegmentedWindows(rows, segments[::-1], 3)
    np.testing.assert_array_equal(np.asarray(windows), wanted[[2, 3, 4, 0, 1]])


def test_a_slice_inside_a_segment_and_every_view_copy_nothing():
    rows, segments, _ = cut([50, 60], window=10)
    windows = SegmentedWindows(rows, segments, 10)
    assert windows.nbytes == rows.nbytes
    assert np.shares_memory(windows[3:20], rows)
    assert not np.shares_memory(windows[30:50], rows)
    assert all(np.shares_memory(view, rows) for view in windows.views())


def test_a_part_of_the_windows_copies_nothing():
    rows, segments, wanted = cut([50, 60], window=10)
    windows = SegmentedWindows(rows, segments, 10)
    last = np.arange(len(windows)) >= 41
    part = TensorDataset(windows, np.zeros(len(windows))).select(last).X
    assert part.rows is rows
    assert len(list(part.views())) == 1
    np.testing.assert_array_equal(np.asarray(part), wanted[last])
    np.testing.assert_array_equal(part.last_blocks, wanted[last][:, :, -1])
    order = np.array([60, 3, 4])
    np.testing.assert_array_equal(np.asarray(windows.select(order)), wanted[order])


def test_nobody_can_write_through_a_view():
    rows, segments, _ = cut([9], window=3)
    with pytest.raises(ValueError, match="read-only"):
        SegmentedWindows(rows, segments, 3)[0:2][...] = 0


def test_an_array_without_a_copy_is_refused():
    rows, segments, _ = cut([5, 4], window=3)
    with pytest.raises(ValueError, match="without a copy"):
        SegmentedWindows(rows, segments, 3).__array__(copy=False)


@pytest.mark.parametrize(
    ("shape", "segments", "window", "said"),
    [
        ((5,), [(0, 5)], 2, r"rows have shape \(5,\)"),
        ((5, 2), [(0, 5)], 0, "window is 0"),
        ((5, 2), [(0, 5)], 6, "window is 6"),
        ((5, 2), [(0, 6)], 2, r"segment \(0, 6\) is not inside the 5 rows"),
        ((5, 2), [(3, 1)], 2, r"segment \(3, 1\)"),
    ],
)
def test_what_cannot_be_cut_says_so(shape, segments, window, said):
    with pytest.raises(ValueError, match=said):
        SegmentedWindows(np.zeros(shape), segments, window)
