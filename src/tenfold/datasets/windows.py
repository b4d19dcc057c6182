"""Sliding windows over time series that were put one after another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy

import numpy as np
import numpy.typing as npt


class SegmentedWindows:
    """All windows of `window` consecutive rows that stay inside one segment.

    Behaves like an array of shape (n, n_features, window) for whoever slices it along axis 0, but
    owns no memory beyond the rows: a slice inside a segment is a view, any other selection copies
    only the windows selected. ``np.asarray`` copies all of them, which is `window` times the rows.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_features)
        The series, one row per moment in time.
    segments : sequence of (start, stop)
        Row ranges a window may not leave, in the order the windows are wanted. A segment shorter
        than the window has none.
    window : int
        Number of consecutive rows in a window.

    Attributes
    ----------
    last_rows : ndarray of shape (n,)
        For each window, the row it ends with.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.datasets import SegmentedWindows
    >>> rows = np.arange(14.0).reshape(7, 2)
    >>> windows = SegmentedWindows(rows, [(0, 4), (4, 7)], window=3)
    >>> windows.shape
    (3, 2, 3)
    >>> windows[1]
    array([[2., 4., 6.],
           [3., 5., 7.]])
    >>> windows.last_blocks[1]
    array([6., 7.])
    >>> np.shares_memory(windows[0:2], rows)
    True
    """

    ndim = 3

    def __init__(self, rows: np.ndarray, segments: Sequence[tuple[int, int]], window: int) -> None:
        if rows.ndim != 2:
            raise ValueError(f"rows have shape {rows.shape}; expected (n_rows, n_features)")
        if not 1 <= window <= max(len(rows), 1):
            raise ValueError(f"window is {window}; expected 1 to {len(rows)}, the number of rows")
        for start, stop in segments:
            if not 0 <= start <= stop <= len(rows):
                raise ValueError(f"segment ({start}, {stop}) is not inside the {len(rows)} rows")
        self.rows = rows
        self.window = window
        inside = [np.arange(start, stop - window + 1) for start, stop in segments]
        self._first_rows = np.concatenate(inside) if inside else np.empty(0, dtype=np.intp)
        # Windows that cross a segment are in this view too; _first_rows never points at one.
        self._windows = np.lib.stride_tricks.sliding_window_view(rows, window, axis=0)

    @property
    def shape(self) -> tuple[int, int, int]:
        """(n, n_features, window)."""
        return len(self._first_rows), self.rows.shape[1], self.window

    @property
    def dtype(self) -> np.dtype:
        """Type of the numbers."""
        return self.rows.dtype

    @property
    def nbytes(self) -> int:
        """Memory held: that of the rows."""
        return int(self.rows.nbytes)

    @property
    def last_rows(self) -> np.ndarray:
        """Index of the row each window ends with, shape (n,)."""
        return self._first_rows + (self.window - 1)

    @property
    def last_blocks(self) -> np.ndarray:
        """The last row of each window, shape (n, n_features): what vector methods see. A copy."""
        blocks: np.ndarray = self.rows[self.last_rows]
        return blocks

    def views(self) -> Iterator[np.ndarray]:
        """All windows as views (m, n_features, window), one per unbroken run; nothing is copied."""
        breaks = np.flatnonzero(np.diff(self._first_rows) != 1) + 1
        for run in np.split(self._first_rows, breaks):
            if len(run):
                yield self._windows[run[0] : run[-1] + 1]

    def select(self, windows: np.ndarray | slice) -> SegmentedWindows:
        """Some of the windows, over the same rows: nothing is copied.

        Parameters
        ----------
        windows : slice, int array or bool array of shape (n,)
            Which windows, in the order wanted.

        Returns
        -------
        SegmentedWindows
            The chosen windows.
        """
        chosen = copy(self)
        chosen._first_rows = self._first_rows[windows]
        return chosen

    def __len__(self) -> int:
        return len(self._first_rows)

    def __getitem__(self, key: object) -> np.ndarray:
        samples, *inside = key if isinstance(key, tuple) else (key,)
        if samples is Ellipsis:
            samples = slice(None)
            inside = [Ellipsis, *inside]
        view = self._windows[(slice(None), *inside)]
        starts = self._first_rows[samples]
        if starts.ndim == 1 and len(starts) and np.all(np.diff(starts) == 1):
            return view[starts[0] : starts[-1] + 1]
        return view[starts]

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError(
                "windows over several segments cannot become one array without a copy; "
                "slice them, or use views()"
            )
        return np.asarray(self._windows[self._first_rows], dtype=dtype)

    def __repr__(self) -> str:
        n, n_features, window = self.shape
        return f"SegmentedWindows: {n} windows of {n_features}x{window} ({self.dtype})"
