"""Moments of more data than fit into memory, with checkpoints; and results written block by block.

`fit` does all this by itself as long as nothing goes wrong. These functions are for runs that take
hours: what was gathered survives a bad block, a full disk or a switched-off laptop, and the model
is made at the end by `fit_moments`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from math import prod
from typing import Any

import numpy as np

from tenfold import validation as check
from tenfold.algebra import Array
from tenfold.checkpoints import Checkpoint, fingerprint
from tenfold.large_input import as_source, is_dask
from tenfold.moments import Batch, ClassMoments
from tenfold.progress import progress
from tenfold.projection import Projection
from tenfold.sources import BlockError, Source, StoredSamples

SAVED_BYTES = 2**30  # what is read at least between two writings of a checkpoint

Folder = str | os.PathLike[str]


def gather_moments(
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    checkpoint: Folder | None = None,
    save_every: int | None = None,
) -> ClassMoments:
    """Class moments of samples in memory, in a store or in a Dask array.

    Parameters
    ----------
    X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
        The samples.
    y : array-like or Dask array of shape (n,), default=None
        Class labels; without them all samples form one class.
    sample_weight : array-like or Dask array of shape (n,), default=None
        Non-negative weights.
    checkpoint : path or None, default=None
        A folder for the moments gathered so far. When they are there already, from a run over
        the same samples that ended early, gathering goes on behind them.
    save_every : int or None, default=None
        Write the checkpoint after at least so many samples. None means after a gigabyte, and with
        a Dask array after a fiftieth of it, so that workers seldom wait for one another.

    Returns
    -------
    ClassMoments
        Of all samples, or an error: never of a part of them.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tenfold import MCSDA, gather_moments
    >>> X, y = load_digits().images, load_digits().target
    >>> moments = gather_moments(X, y)
    >>> threes = MCSDA(ranks=(4, 4), positive=3, tol=0.1).fit_moments(moments)
    >>> sevens = MCSDA(ranks=(4, 4), positive=7, tol=0.1).fit_moments(moments)
    """
    carrier = Projection()
    X = check.check_samples(carrier, X, reset=True)
    y = None if y is None else check.check_labels(carrier, X, y)
    weight = check.check_weights(X, sample_weight)
    classes = check.present_labels(y, weight)
    source = X if isinstance(X, Source) else StoredSamples.of(X)
    if checkpoint is None:
        return source.moments(y, weight, classes)
    saved = Checkpoint(checkpoint, _subject(source, y, weight))
    done, total = saved.load()
    step = save_every or _rows_between_saves(source, len(classes))
    with progress("gathering moments", len(source)) as bar:
        bar.advance(done)
        for rows in _spans(source, done, step):
            part = source[rows].moments(_part(y, rows), _part(weight, rows), classes)
            total = part if total is None else total + part
            saved.save(rows.stop, total)
            bar.advance(rows.stop - rows.start)
    if total is None:
        raise ValueError("there are no samples to take moments of; pass at least one")
    return total


def gather_batches(
    batches: Iterable[Any], *, checkpoint: Folder | None = None, save_every: int = 100
) -> ClassMoments:
    """Class moments of a stream of batches, which is read once.

    Parameters
    ----------
    batches : iterable of X, (X, y) or (X, y, sample_weight)
        Batches of any sizes, with samples of one shape. Labels may turn up in any of them.
    checkpoint : path or None, default=None
        A folder for the moments gathered so far. When they are there already, from a run that
        ended early, so many batches are passed over: the stream must come in the same order.
    save_every : int, default=100
        Write the checkpoint after so many batches.

    Returns
    -------
    ClassMoments
        Of all batches.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tenfold import MPCA, gather_batches
    >>> images = load_digits().images
    >>> moments = gather_batches(images[i : i + 100] for i in range(0, len(images), 100))
    >>> round(MPCA(ranks=(6, 6), tol=1e-3).fit_moments(moments).captured_, 2)
    0.93
    """
    stream = _numbered(batches)
    if checkpoint is None:
        return ClassMoments.from_blocks(_checked(stream))
    saved = Checkpoint(checkpoint, {"kind": "batches"})
    done, total = saved.load()
    passed = sum(1 for _ in islice(stream, done))
    if passed < done:
        raise ValueError(
            f"the checkpoint holds the moments of {done} batches, but the stream has {passed} "
            "only; pass the stream it was gathered from, or delete the checkpoint"
        )
    while part := list(islice(stream, check.check_number("save_every", save_every, 1, True))):
        moments = ClassMoments.from_blocks(_checked(iter(part)))
        done, total = done + len(part), moments if total is None else total + moments
        saved.save(done, total)
    if total is None:
        raise ValueError("there are no blocks to take moments of; pass at least one")
    return total


def write_blocks(method: Callable[[Array], Array], X: Any, out: Any) -> Any:
    """What a method gives for samples in a store, written to another store block by block.

    Parameters
    ----------
    method : callable
        Such as ``model.transform`` or ``model.decision_function``.
    X : array-like or store of shape (n, I_1, ..., I_K)
        The samples.
    out : array with shape (n, ...) and assignment to slices
        Where to: a memory map, a Zarr array, an HDF5 dataset.

    Returns
    -------
    array
        `out`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from tenfold import MPCA, write_blocks
    >>> images = load_digits().images
    >>> mpca = MPCA(ranks=(6, 6), tol=1e-3).fit(images)
    >>> write_blocks(mpca.transform, images, np.empty((len(images), 36))).shape
    (1797, 36)
    """
    if is_dask(X):
        raise ValueError(
            "a Dask array stays lazy: write what the method returns, as in "
            "model.transform(X).to_zarr(...)"
        )
    source = as_source(X)
    source = StoredSamples.of(np.asarray(X)) if source is None else source
    for rows, block in source.read():
        part = method(block)
        if tuple(out.shape) != (len(source), *part.shape[1:]):
            raise ValueError(
                f"out has shape {tuple(out.shape)}, but the results have shape "
                f"{(len(source), *part.shape[1:])}; make out of that shape"
            )
        out[rows] = part
    return out


def _spans(source: Source, done: int, step: int) -> Iterator[slice]:
    """Slices of at least `step` samples that end where blocks end."""
    first = done
    for end in source.ends():
        if end >= first + step or (end == len(source) and end > first):
            yield slice(first, int(end))
            first = int(end)


def _subject(source: Source, y: Any, weight: Any) -> dict[str, Any]:
    lazy = [is_dask(column) for column in (y, weight)]
    return {
        "kind": "samples",
        "shape": list(source.shape),
        "dtype": str(source.dtype),
        "labels": "lazy" if lazy[0] else fingerprint(y),
        "weights": "lazy" if lazy[1] else fingerprint(weight),
    }


def _numbered(batches: Iterable[Any]) -> Iterator[tuple[int, Any]]:
    """Batches with their numbers; one that cannot be read is named."""
    stream, number = iter(batches), 0
    while True:
        try:
            batch = next(stream)
        except StopIteration:
            return
        except Exception as error:
            raise BlockError(
                f"batch {number} could not be read ({type(error).__name__}: {error}); nothing was "
                "fitted, because a model of part of the data would not be the one asked for; "
                "repair it and start again, with a checkpoint to keep what was gathered before it"
            ) from error
        yield number, batch
        number += 1


def _checked(stream: Iterator[tuple[int, Any]]) -> Iterator[Batch]:
    """Batches in memory, with the number of a bad one in its error."""
    carrier: Any = None
    for number, batch in stream:
        parts = tuple(batch) if isinstance(batch, tuple | list) else (batch,)
        X, y, weight = (*parts, None, None)[:3]
        first, carrier = carrier is None, carrier or Projection()
        try:
            X = check.check_samples(carrier, X, reset=first)
            y = None if y is None else check.check_labels(carrier, X, y)
            weight = check.check_weights(X, weight)
        except ValueError as error:
            raise ValueError(f"batch {number}: {error}") from error
        if not isinstance(X, Source):
            yield X, y, weight
        elif isinstance(X, StoredSamples):
            yield from ((block, _part(y, at), _part(weight, at)) for at, block in X.read())
        else:
            raise ValueError(f"batch {number} is a Dask array; pass it to gather_moments instead")


def _part(column: Any, rows: slice | Array) -> Any:
    return None if column is None else column[rows]


def _rows_between_saves(source: Source, n_classes: int) -> int:
    """Enough samples that writing the tables takes little beside reading them."""
    size = prod(source.shape[1:])
    tables = 8 * n_classes * size**2
    step = max(1, max(SAVED_BYTES, 8 * tables) // (source.dtype.itemsize * size))
    return step if isinstance(source, StoredSamples) else max(step, len(source) // 50)
