"""Samples in a Dask array: the only module that imports Dask.

Each block is worked on where it is. What blocks give is added up as a tree on the workers, so the
client receives one sum and a worker holds a few. Everything goes through Dask's own scheduler: a
worker that dies is Dask's to replace, and its progress bars and dashboards show what is done. A
cluster that cannot do the work is given up after a stated number of tries, with a `ClusterError`.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import pairwise
from math import inf, isnan, prod
from operator import add
from threading import Thread
from time import monotonic
from typing import Any, TypeVar

import dask
import dask.array as da
import numpy as np

from tenfold.linalg.algebra import Array
from tenfold.linalg.constants import (
    BLOCK_BYTES,
    FAN_IN,
    LARGEST_JOINED,
    LOST_WORKERS,
    PAUSED_SECONDS,
    PROBED_TOGETHER,
    SAMPLES_PER_TABLE,
    WATCHED_SECONDS,
)
from tenfold.statistics.moments import ClassMoments
from tenfold.statistics.stores import (
    BlockError,
    BlockWork,
    NotFiniteError,
    Range,
    Source,
    check_block,
    folded,
    part_of,
    unreadable,
)

T = TypeVar("T")


class ClusterError(RuntimeError):
    """A cluster that cannot do the work; the message says what happened to its workers."""


@dataclass(frozen=True, eq=False)
class DaskSamples(Source):
    """Samples in a Dask array, cut along the sample axis alone.

    Parameters
    ----------
    array : dask array of shape (n, I_1, ..., I_K)
        The samples; each block holds whole samples.
    start : int
        The number that errors give the first of them.
    gaps : bool
        Whether NaN in samples is a gap, and no error.
    seen : Range or None
        What takes note of all blocks that are added up, and of samples that come into memory.

    Examples
    --------
    >>> import dask.array as da
    >>> from tenfold.validation.dask_array import DaskSamples
    >>> samples = DaskSamples.of(da.ones((7, 4, 3), chunks=(3, 2, 3)))
    >>> samples.rows(lambda block: block.sum(axis=(1, 2))).compute()
    array([12., 12., 12., 12., 12., 12., 12.])
    """

    array: da.Array
    start: int = 0
    gaps: bool = False
    seen: Range | None = None

    @classmethod
    def of(cls, array: da.Array) -> DaskSamples:
        """Any Dask array, with the modes of a sample brought into one block."""
        if any(isnan(size) for size in array.shape):
            array = array[:].compute_chunk_sizes()
        return cls(array.rechunk(dict.fromkeys(range(1, array.ndim), -1)))

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        """(n, I_1, ..., I_K)."""
        return tuple(int(size) for size in self.array.shape)

    @property
    def dtype(self) -> np.dtype[Any]:  # type: ignore[override]
        """Type of the numbers."""
        return np.dtype(self.array.dtype)

    def __getitem__(self, rows: slice | Array) -> DaskSamples:
        start = self.start + rows.indices(len(self))[0] if isinstance(rows, slice) else 0
        return replace(self, array=self.array[rows], start=start)

    def reshape(self, n: int, *sample_shape: int) -> DaskSamples:
        """The same samples in another shape; -1 stands for all their numbers."""
        shape = folded(self.shape[1:], sample_shape)
        return replace(self, array=self.array.reshape(len(self), *shape))

    def in_memory(self) -> Array:
        """All samples as one NumPy array."""
        found = super().in_memory()
        if self.seen is not None:
            self.seen.add(found)
        return found

    def ends(self) -> Array:
        """Where blocks end, as numbers of samples; the last is n."""
        return np.cumsum(self.array.chunks[0])

    def table_bytes(self) -> float:
        """What the smallest worker can hold: what one task adds up, and two to work with."""
        client = _client()
        workers = {} if client is None else _workers(client)
        limits = [worker["memory_limit"] for worker in workers.values()]
        return min((limit for limit in limits if limit), default=inf) / (FAN_IN + 2)

    def moments(self, y: Array | None, weight: Array | None, classes: Array) -> ClassMoments:
        """Class moments, in one pass."""
        table = 8 * len(classes) * prod(self.shape[1:]) ** 2
        work = partial(ClassMoments.from_batch, classes=classes)
        wanted = min(SAMPLES_PER_TABLE * table, LARGEST_JOINED)
        return self._total(work, y, weight, max(BLOCK_BYTES, wanted))

    def total(self, work: BlockWork[T], y: Array | None, weight: Array | None) -> T:
        """What `work` gives for each block of samples, labels and weights, added up."""
        return self._total(work, y, weight, BLOCK_BYTES)

    def rows(self, work: Callable[..., Array], column: Array | None = None) -> da.Array:
        """What `work` gives for each block of samples, one below the other: a lazy array."""
        beside = () if column is None else (column[:1],)
        example = work(np.zeros((1, *self.shape[1:]), dtype=self.dtype), *beside)
        modes = range(1, self.array.ndim)
        new = {len(self.shape) + axis: size for axis, size in enumerate(example.shape[1:])}
        return da.blockwise(
            partial(_rows_of_block, empty=example[:0], column=column, gaps=self.gaps),
            (0, *new),
            self.array,
            (0, *modes),
            da.from_array(np.cumsum([0, *self.array.chunks[0][:-1]]), chunks=1),
            (0,),
            new_axes=new,
            dtype=example.dtype,
            meta=np.empty((0,) * example.ndim, dtype=example.dtype),
            concatenate=True,
            align_arrays=False,
            work=dask.delayed(work, pure=False),
        )

    def _total(
        self, work: BlockWork[T], y: Array | None, weight: Array | None, block_bytes: int
    ) -> T:
        X = self.array.rechunk({0: self._merged_chunks(block_bytes)})
        rows = [slice(*map(int, cut)) for cut in pairwise(np.cumsum([0, *X.chunks[0]]))]
        shared = dask.delayed(work, pure=False)  # sent once, not once per block
        parts = [
            work_on_block(
                shared, block, part_of(y, own), part_of(weight, own), self.start + own.start
            )
            for block, own in zip(X.to_delayed().ravel(), rows, strict=True)
        ]
        try:
            found = _computed(_tree(parts))
        except (NotFiniteError, ClusterError):
            raise
        except Exception as error:
            self._name_unreadable(error)
            raise
        if self.seen is not None:
            self.seen.add(found.seen)
        total: T = found.total
        return total

    def _merged_chunks(self, block_bytes: int) -> tuple[int, ...]:
        """Neighbouring chunks joined until a block is worth a task; none is ever cut."""
        row_bytes = max(1, self.dtype.itemsize * prod(self.shape[1:]))
        merged: list[int] = []
        for rows in self.array.chunks[0]:
            empty = merged and not (rows and merged[-1])
            if empty or (merged and (merged[-1] + rows) * row_bytes <= block_bytes):
                merged[-1] += int(rows)
            else:
                merged.append(int(rows))
        return tuple(merged)

    def _name_unreadable(self, error: Exception) -> None:
        """Raise an error that names the block which cannot be read, if there is one."""
        blocks = self.array.to_delayed().ravel()
        chunks = self.array.chunks[0]
        lasts = self.start + np.cumsum(chunks)
        for start in range(0, len(blocks), PROBED_TOGETHER):
            some = range(start, min(start + PROBED_TOGETHER, len(blocks)))
            if _failure([is_readable(blocks[b]) for b in some]) is None:
                continue
            for b in some:
                reason = _failure([is_readable(blocks[b])])
                if reason is not None:
                    raise BlockError(unreadable(lasts[b] - chunks[b], lasts[b], reason)) from error


# -- tasks, named as dashboards show them --------------------------------------------------------


@dataclass
class OfBlocks:
    """What some blocks give together, and the range of their numbers."""

    total: Any
    seen: Range

    def __add__(self, other: OfBlocks) -> OfBlocks:
        both = Range(self.seen.low, self.seen.high)
        both.add(other.seen)
        return OfBlocks(self.total + other.total, both)


@dask.delayed(pure=False)
def work_on_block(
    work: BlockWork[T], X: Array, y: Array | None, weight: Array | None, first: int
) -> OfBlocks:
    """What one block gives; NaN and infinity are named by their samples."""
    seen = Range()
    seen.add(X)
    return OfBlocks(work(check_block(X, first), y, weight), seen)


@dask.delayed(pure=False)
def add_up(parts: list[T]) -> T:
    """One node of the tree."""
    return reduce(add, parts)


@dask.delayed(pure=False)
def is_readable(block: Array) -> bool:
    """Reading the block is all there is to do."""
    return True


def _rows_of_block(
    block: Array, first: Array, work: Any = None, *, empty: Array, column: Array | None, gaps: bool
) -> Array:
    start = int(first[0])
    beside = () if column is None else (column[start : start + len(block)],)
    return work(check_block(block, start, gaps), *beside) if len(block) else empty


# -- graphs --------------------------------------------------------------------------------------


def _tree(parts: list[Any]) -> Any:
    while len(parts) > 1:
        parts = [add_up(parts[i : i + FAN_IN]) for i in range(0, len(parts), FAN_IN)]
    return parts[0]


def _failure(tasks: list[Any]) -> Exception | None:
    """What goes wrong when tasks are computed, if anything does."""
    try:
        dask.compute(*tasks)
    except Exception as error:  # noqa: BLE001 - it is the answer
        return error
    return None


def _computed(value: Any) -> Any:
    """Compute with whatever scheduler the user has set up."""
    client = _client()
    # Means and projections travel with the graph on purpose: data scattered ahead of it would be
    # lost with the worker that holds them. Where they are large, distributed warns of that.
    return value.compute() if client is None else _watched(client, value)


# -- clusters ------------------------------------------------------------------------------------


def _client() -> Any:
    """The client of the cluster that Dask computes on; None when it computes in this process."""
    client = getattr(dask.base.get_scheduler(), "__self__", None)
    return client if type(client).__module__.startswith("distributed") else None


def _workers(client: Any) -> dict[str, Any]:
    """What is known here of the workers, by their addresses; nothing is asked of the cluster."""
    return dict(client.scheduler_info(n_workers=-1)["workers"])


def _watched(client: Any, value: Any) -> Any:
    """Compute on a cluster, and give up when its workers cannot do it.

    Workers may die of sending a sum as well as of making it, so they are watched until it is here.
    """
    future = client.compute(value)
    here: Future[Any] = Future()
    Thread(target=_fetch, args=(future, here), name="tenfold-fetch", daemon=True).start()
    watch = _Watch(set(_workers(client)))
    try:
        while not here.done():
            wait([here], timeout=WATCHED_SECONDS)
            reason = "" if here.done() else watch.reason_to_give_up(_workers(client))
            if future.cancelled() and not here.done():
                raise ClusterError(GONE)
            if reason:
                raise ClusterError(f"{reason}; {ADVICE}")
        return here.result()
    except Exception as error:
        future.cancel()
        if not type(error).__module__.startswith("distributed"):
            raise
        name = type(error).__name__
        if "Cancelled" in name:
            raise ClusterError(GONE) from error
        raise ClusterError(
            f"the cluster did not finish ({name}: {error}): workers died again and again over the "
            f"same block, most often for lack of memory; {ADVICE}"
        ) from error


def _fetch(future: Any, here: Future[Any]) -> None:
    try:
        here.set_result(future.result())
    except BaseException as error:  # noqa: BLE001 - whoever waits for it raises it
        here.set_exception(error)


GONE = (
    "the connection to the scheduler was lost, or the cluster was closed or restarted meanwhile; "
    "nothing was fitted; fit again when the cluster is there, with gather_moments and a checkpoint "
    "to keep what is done"
)
ADVICE = (
    "nothing was fitted; give the workers more memory, cut the array into smaller chunks, or lower "
    "sklearn.set_config(working_memory=...), so that fit sends no tables"
)


class _Watch:
    """What has become of the workers since a computation began."""

    def __init__(self, known: set[str]):
        self.known = known
        self.lost = 0
        self.since = monotonic()
        self.allowed = max(LOST_WORKERS, 10 * len(known))

    def reason_to_give_up(self, workers: dict[str, Any]) -> str:
        """Why there is no hope, in words; nothing while there is some."""
        self.lost += len(self.known - set(workers))
        self.known = set(workers)
        if self.lost > self.allowed:
            return f"{self.lost} workers of the cluster died while they worked on one sum"
        working = any(worker.get("status") != "paused" for worker in workers.values())
        if working or not (workers or self.lost):  # a cluster may wait for its first worker
            self.since = monotonic()
        if monotonic() - self.since > PAUSED_SECONDS:
            paused = f"all {len(workers)} workers of the cluster were paused for lack of memory"
            gone = f"all workers of the cluster died ({self.lost} in turn), and none came back"
            return f"{paused if workers else gone} for {PAUSED_SECONDS:.0f} seconds"
        return ""
