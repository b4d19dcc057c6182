"""Samples that are not in memory: how they are recognised, and how they are read.

A *store* is anything with ``shape``, ``dtype``, ``ndim`` and slices along axis 0: a NumPy memory
map, a Zarr array, an HDF5 dataset, the windows of an order book. `StoredSamples` reads one from
front to back, a block at a time; a Dask array is cut into blocks already (`validation.dask_array`).
An array of another library, perhaps on a GPU, is one block (`ArraySamples`). All are a `Source`:
whoever wants something of all samples says what is wanted of one block. A `MappedStore` is a store
whose samples are changed as they are read, so that no changed copy of all is needed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import reduce
from itertools import islice
from math import inf, prod
from numbers import Integral
from operator import add
from typing import Any, TypeVar

import numpy as np
from scipy.sparse import issparse

from tenfold.linalg.arrays import (
    Array,
    asarray_like,
    float_type,
    has_float64,
    namespace_of,
    of_type,
    reshaped,
    take,
    to_numpy,
)
from tenfold.linalg.constants import BLOCK_BYTES, LARGEST_CHUNK
from tenfold.statistics.moments import Batch, ClassMoments

T = TypeVar("T")  # what blocks give; it can be added
OfBlock = Callable[[Array], Array]  # what is made of samples in memory
BlockWork = Callable[[Array, Array | None, Array | None], T]  # samples, labels, weights
Missing = Callable[[Any, Array, int], str | None]  # of a store, a block of it and its first row


class BlockError(RuntimeError):
    """A block of samples that could not be read; the message names its rows."""


class NotFiniteError(ValueError):
    """Samples that hold NaN or infinity; the message names them."""


class Source(ABC):
    """Samples (n, I_1, ..., I_K) that are read block by block and never become one array."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    gaps: bool = False  # whether NaN in samples is a gap, and no error

    @property
    def ndim(self) -> int:
        """Number of axes, K + 1."""
        return len(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def table_bytes(self) -> float:
        """How large moments may be where blocks are read; no limit but the user's, by default."""
        return inf

    @abstractmethod
    def __getitem__(self, rows: slice | Array) -> Source:
        """Some of the samples, still unread."""

    @abstractmethod
    def reshape(self, n: int, *sample_shape: int) -> Source:
        """The same samples in another shape; -1 stands for all their numbers."""

    @abstractmethod
    def ends(self) -> Array:
        """Where blocks end, as numbers of samples; rising, the last is n."""

    @abstractmethod
    def moments(self, y: Array | None, weight: Array | None, classes: Array) -> ClassMoments:
        """Class moments, in one pass."""

    @abstractmethod
    def total(self, work: BlockWork[T], y: Array | None, weight: Array | None) -> T:
        """What `work` gives for each block of samples, labels and weights, added up."""

    @abstractmethod
    def rows(self, work: Callable[..., Array], column: Array | None = None) -> Any:
        """What `work` gives for each block of samples, one below the other.

        With a column of one number per sample it takes that of the block as well.
        """

    def in_memory(self) -> Array:
        """All samples as one NumPy array."""
        return to_numpy(self.rows(to_numpy))


@dataclass
class Range:
    """The least and the largest of all numbers that were read so far.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.statistics.stores import Range
    >>> seen = Range()
    >>> seen.add(np.array([3.0, 5.0]))
    >>> seen.add(np.array([4.0, 9.0]))
    >>> seen.bounds()
    array([3., 9.])
    """

    low: float = inf
    high: float = -inf

    def add(self, block: Any) -> None:
        """Take note of the numbers of a block, or of another range."""
        if isinstance(block, Range):
            low, high = block.low, block.high
        elif 0 in block.shape:
            return
        else:
            low = float(block.min())
            high = float(block.max())
        self.low = min(self.low, low)
        self.high = max(self.high, high)

    def bounds(self) -> Array:
        """The least and the largest number, (2,)."""
        return np.array([self.low, self.high])


@dataclass(frozen=True, eq=False)
class StoredSamples(Source):
    """Samples in a store, read from front to back.

    Parameters
    ----------
    store : array-like with shape, dtype, ndim and slices
        Where the samples are.
    shape : tuple of ints
        The shape (n, I_1, ..., I_K) that they are given.
    chosen : range or ndarray of shape (n,)
        Which rows of the store they are.
    gaps : bool
        Whether NaN in samples is a gap, and no error.
    seen : Range, or an object with its `add`, or None
        What takes note of each block that is read.
    missing : callable or None
        Takes the store, a block that was read and its first row; says what the store lacks of the
        block though it gave one, or None.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.statistics.stores import StoredSamples
    >>> samples = StoredSamples.of(np.arange(12.0).reshape(4, 3))
    >>> samples[np.array([3, 0])].rows(lambda block: block.sum(axis=1))
    array([30.,  3.])
    """

    store: Any
    shape: tuple[int, ...]
    chosen: range | Array
    gaps: bool = False
    seen: Any = None
    missing: Missing | None = None

    @classmethod
    def of(cls, store: Any, missing: Missing | None = None) -> StoredSamples:
        """All samples of a store."""
        shape = tuple(store.shape)
        rows = range(shape[0] if shape else 0)
        return cls(store, shape, rows, missing=missing)

    @property
    def dtype(self) -> np.dtype[Any]:  # type: ignore[override]
        """Type of the numbers."""
        dtype: np.dtype[Any] = np.dtype(self.store.dtype)
        return dtype

    def __getitem__(self, rows: slice | Array) -> StoredSamples:
        chosen = self.chosen[rows] if isinstance(rows, slice) else np.asarray(self.chosen)[rows]
        if isinstance(chosen, range) and chosen.step != 1:
            chosen = np.asarray(chosen)
        return replace(self, shape=(len(chosen), *self.shape[1:]), chosen=chosen)

    def reshape(self, n: int, *sample_shape: int) -> StoredSamples:
        """The same samples in another shape; -1 stands for all their numbers."""
        return replace(self, shape=(n, *folded(self.shape[1:], sample_shape)))

    def ends(self) -> Array:
        """Where blocks end, as numbers of samples; the last is n."""
        if not isinstance(self.chosen, range):
            return np.array([len(self)])
        cuts = self._cuts(self.chosen.start, self.chosen.stop)
        return np.array([rows.stop - self.chosen.start for rows in cuts])

    def moments(self, y: Array | None, weight: Array | None, classes: Array) -> ClassMoments:
        """Class moments, in one pass."""
        return ClassMoments.from_blocks(self.blocks(y, weight), classes=classes)

    def total(self, work: BlockWork[T], y: Array | None, weight: Array | None) -> T:
        """What `work` gives for each block of samples, labels and weights, added up."""
        return reduce(add, (work(*block) for block in self.blocks(y, weight)))

    def rows(self, work: Callable[..., Array], column: Array | None = None) -> Array:
        """What `work` gives for each block of samples, one below the other."""
        result: Array | None = None
        for rows, X in self.read():
            part = work(X) if column is None else work(X, column[rows])
            if result is None:
                result = np.empty((len(self), *part.shape[1:]), dtype=part.dtype)
            result[rows] = part
        if result is None:
            raise ValueError("there are no samples; pass at least one")
        return result

    def blocks(self, y: Array | None, weight: Array | None) -> Iterator[Batch]:
        """Every block once, with its labels and weights."""
        for rows, X in self.read():
            yield X, part_of(y, rows), part_of(weight, rows)

    def read(self) -> Iterator[tuple[slice | Array, Array]]:
        """Every block once, with the positions of its samples here; read one block ahead."""
        wanted = iter(list(self._wanted()))
        with ThreadPoolExecutor(1, thread_name_prefix="tenfold-reader") as reader:
            coming = [(at, reader.submit(self._block, rows)) for at, rows in islice(wanted, 1)]
            while coming:
                at, block = coming.pop()
                X = block.result()
                coming = [(at, reader.submit(self._block, rows)) for at, rows in islice(wanted, 1)]
                yield at, X

    def _wanted(self) -> Iterator[tuple[slice | Array, range | Array]]:
        """Positions here and rows of the store, block by block, in the order of the store."""
        if isinstance(self.chosen, range):
            for rows in self._cuts(self.chosen.start, self.chosen.stop):
                here = slice(rows.start - self.chosen.start, rows.stop - self.chosen.start)
                yield here, rows
            return
        order = np.argsort(self.chosen, kind="stable")
        ordered = self.chosen[order]
        for rows in self._cuts(*((ordered[0], ordered[-1] + 1) if len(ordered) else (0, 0))):
            first, last = np.searchsorted(ordered, [rows.start, rows.stop])
            if last > first:
                yield order[first:last], ordered[first:last]

    def _cuts(self, first: int, last: int) -> Iterator[range]:
        """Ranges of whole chunks of the store, some 32 MiB each."""
        row_bytes = max(1, self.dtype.itemsize * prod(self.shape[1:]))
        step = max(1, BLOCK_BYTES // row_bytes)
        chunk = _rows_per_chunk(self.store)
        if 0 < chunk * row_bytes <= LARGEST_CHUNK:
            step = chunk * max(1, step // chunk)
        while first < last:
            end = min(last, (first // step + 1) * step)  # cut where the chunks are cut
            yield range(first, end)
            first = end

    def _block(self, rows: range | Array) -> Array:
        first = int(rows[0])
        last = int(rows[-1]) + 1
        try:
            block = np.asarray(self.store[first:last])
        except Exception as error:
            raise BlockError(unreadable(first, last, error)) from error
        if len(block) != last - first:
            came = f"{len(block)} samples came instead of {last - first}"
            raise BlockError(unreadable(first, last, came))
        missing = None if self.missing is None else self.missing(self.store, block, first)
        if missing is not None:
            raise BlockError(unreadable(first, last, missing))
        block = check_block(block.reshape(-1, *self.shape[1:]), first, self.gaps)
        wanted = block if isinstance(rows, range) else block[rows - first]
        if self.seen is not None:
            self.seen.add(wanted)
        return wanted


@dataclass(frozen=True, eq=False)
class ArraySamples(Source):
    """Samples in an array of another library: what grows with their number is done where they are.

    Parameters
    ----------
    array : array of shape (n, I_1, ..., I_K)
        Of PyTorch, or of a library that follows the array API standard.
    """

    array: Any

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        """The shape (n, I_1, ..., I_K)."""
        return tuple(self.array.shape)

    @property
    def dtype(self) -> np.dtype[Any]:  # type: ignore[override]
        """Type of the numbers, by NumPy's name."""
        return np.dtype(str(self.array.dtype).rpartition(".")[2])

    def __getitem__(self, rows: slice | Array) -> ArraySamples:
        return ArraySamples(take(self.array, np.arange(len(self))[rows]))

    def reshape(self, n: int, *sample_shape: int) -> ArraySamples:
        """The same samples in another shape; -1 stands for all their numbers."""
        return ArraySamples(reshaped(self.array, (n, *folded(self.shape[1:], sample_shape))))

    def ends(self) -> Array:
        """One block: all of them."""
        return np.array([len(self)])

    def moments(self, y: Array | None, weight: Array | None, classes: Array) -> ClassMoments:
        """Class moments; their products are made where the samples are, if in float64."""
        X = self._floats() if has_float64(self.array) else self.in_memory()
        return ClassMoments.from_batch(X, y, weight, classes=classes)

    def total(self, work: BlockWork[T], y: Array | None, weight: Array | None) -> T:
        """What `work` gives for the samples in NumPy's memory."""
        return work(self.in_memory(), y, weight)

    def rows(self, work: Callable[..., Array], column: Array | None = None) -> Any:
        """What `work` gives, in NumPy or where the samples are."""
        return work(self._floats()) if column is None else work(self._floats(), column)

    def in_memory(self) -> Array:
        """All samples as one NumPy array, in their own type of numbers."""
        return to_numpy(self.array)

    def range(self) -> tuple[float, float]:
        """The least and the largest number, found where the samples are."""
        X = self._floats()
        xp = namespace_of(X)
        return float(xp.min(X)), float(xp.max(X))

    def _floats(self) -> Any:
        return of_type(self.array, float_type(self.array))


def over_blocks(X: Any, work: Callable[[Array], Array]) -> Array:
    """``work(X)``, block by block where X is a `Source`.

    Parameters
    ----------
    X : ndarray or Source of shape (n, I_1, ..., I_K)
        The samples.
    work : callable
        Takes a block (m, I_1, ..., I_K), gives an array (m, ...); m may be 0.

    Returns
    -------
    array of shape (n, ...)
        An ndarray; a lazy Dask array where the samples are one; an array of another library, on
        the same device, where they are that.
    """
    in_memory = type(X) is np.ndarray or not isinstance(X, Source)  # the first is quicker to ask
    rows: Array = work(X) if in_memory else X.rows(work)
    return rows if in_memory or not isinstance(X, ArraySamples) else asarray_like(rows, X.array)


def compose(X: Array, measure: OfBlock, finish: OfBlock) -> Array:
    """What `finish` makes of what `measure` gives of samples in memory, both in NumPy's memory."""
    return np.asarray(finish(to_numpy(measure(X))))


def folded(old: tuple[int, ...], new: tuple[int, ...]) -> tuple[int, ...]:
    """A new sample shape, with -1 replaced by what is left."""
    known = prod(size for size in new if size != -1)
    return tuple(prod(old) // known if size == -1 else size for size in new)


def is_stored(X: object) -> bool:
    """Whether samples are in a store: sliced and typed like an array, but not one in memory."""
    if isinstance(X, np.memmap):
        return True
    return (
        not isinstance(X, np.ndarray | np.generic)
        and isinstance(getattr(X, "dtype", None), np.dtype)
        and all(hasattr(X, name) for name in ("shape", "ndim", "__getitem__"))
        and not hasattr(X, "iloc")  # a pandas object is in memory
        and not issparse(X)
    )


def check_block(block: Array, first: int, gaps: bool = False) -> Array:
    """A block without NaN or infinity, or an error that names the samples that hold them.

    With `gaps` NaN may be there.
    """
    if block.dtype.kind != "f":
        return block
    with np.errstate(over="ignore", invalid="ignore"):
        finite = bool(np.isfinite(block.sum()))  # one read; decides unless the sum overflows
    if finite:
        return block
    good = ~np.isinf(block) if gaps else np.isfinite(block)
    bad = np.flatnonzero(~good.reshape(len(block), -1).all(axis=1))
    if len(bad):
        shown = ", ".join(str(first + row) for row in bad[:5]) + (", ..." if len(bad) > 5 else "")
        raise NotFiniteError(
            f"Input X contains NaN or infinity in {len(bad)} of the samples {first} to "
            f"{first + len(block) - 1}: {shown}; repair or leave out these samples; "
            "GaussianImputer completes gaps, or tenfold fit --impute"
        )
    return block


def unreadable(first: int, last: int, reason: object) -> str:
    """What a `BlockError` says."""
    why = f"{type(reason).__name__}: {reason}" if isinstance(reason, Exception) else reason
    return (
        f"the block of samples {first} to {last - 1} could not be read ({why}); nothing was "
        "fitted, because a model of part of the data would not be the one asked for; repair the "
        "block and start again, with a checkpoint to keep what was gathered before it"
    )


def _rows_per_chunk(store: object) -> int:
    chunks = getattr(store, "chunks", None)
    return int(chunks[0]) if chunks and isinstance(chunks[0], Integral) else 0


def part_of(column: Array | None, rows: slice | Array) -> Array | None:
    """Some of the labels or weights; None, for none at all, stays None."""
    return None if column is None else column[rows]


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
    >>> from tenfold.statistics.stores import MappedStore
    >>> from tenfold.statistics.stores import StoredSamples
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
            rows = slice(None)
            inside = [Ellipsis, *inside]
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
