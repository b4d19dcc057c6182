"""A store whose samples are changed as they are read, so that no changed copy of all is needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tenfold.mathematics.algebra import Array
from tenfold.mathematics.stores import StoredSamples


class MappedStore:
    """What a function makes of the samples of a store; itself a store, which owns no samples.

    Whatever takes a store takes this one. Slices are read, checked and changed when they are
    asked for; ``np.asarray`` does so with all samples.

    Parameters
    ----------
    samples : StoredSamples of shape (n, I_1, ..., I_K)
        What is read.
    work : callable
        Takes samples (m, I_1, ..., I_K), and the part of the column of these if there is one;
        gives an array (m, ...).
    column : ndarray of shape (n, ...) or None
        What comes along with each sample.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.mathematics.mapped_store import MappedStore
    >>> from tenfold.mathematics.stores import StoredSamples
    >>> doubled = MappedStore(StoredSamples.of(np.ones((4, 3))), lambda block: 2 * block)
    >>> doubled
    MappedStore: 4 samples of 3 (float64), changed as they are read
    >>> doubled[1:3]
    array([[2., 2., 2.],
           [2., 2., 2.]])
    """

    def __init__(
        self, samples: StoredSamples, work: Callable[..., Array], column: Array | None = None
    ) -> None:
        self.samples, self.work, self.column = samples, work, column
        beside = () if column is None else (column[:1],)
        example = work(np.zeros((1, *samples.shape[1:]), dtype=samples.dtype), *beside)
        self.shape: tuple[int, ...] = (len(samples), *example.shape[1:])
        self.dtype: np.dtype[Any] = example.dtype
        self.chunks = getattr(samples.store, "chunks", None)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> Array:
        rows, *inside = key if isinstance(key, tuple) else (key,)
        if rows is Ellipsis:
            rows, inside = slice(None), [Ellipsis, *inside]
        places = np.arange(len(self))[rows]
        wanted = self.samples[rows if isinstance(rows, slice) else np.atleast_1d(places)]
        if len(wanted):
            own = None if self.column is None else self.column[np.atleast_1d(places)]
            block = wanted.rows(self.work, own)
        else:
            block = np.empty((0, *self.shape[1:]), dtype=self.dtype)
        picked = block if np.ndim(places) else block[0]
        axes = (slice(None),) * np.ndim(places)
        return np.asarray(picked[(*axes, *inside)] if inside else picked)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if copy is False:
            raise ValueError("the samples are changed as they are read, so they must be copied")
        return np.asarray(self[:], dtype=dtype)

    def __repr__(self) -> str:
        shape = "x".join(map(str, self.shape[1:]))
        return (
            f"MappedStore: {len(self)} samples of {shape} ({self.dtype}), changed as they are read"
        )
