"""Moments of more data than fit into memory, with checkpoints; and results written block by block.

`fit` does all this by itself as long as nothing goes wrong. These functions are for runs that take
hours: what was gathered survives a bad block, a full disk or a switched-off laptop, and the model
is made at the end by `fit_moments`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from math import prod
from typing import Any

import numpy as np

from tenfold.gathering.batches import Batches, Carrier, added_up
from tenfold.gathering.checkpoint import Checkpoint, compared, fingerprint, some_samples
from tenfold.mathematics.algebra import Array
from tenfold.mathematics.moments import Batch, ClassMoments
from tenfold.mathematics.stores import Source, StoredSamples, part_of
from tenfold.system.progress import progress
from tenfold.validation import parameters
from tenfold.validation import samples as check
from tenfold.validation.large_input import as_source, is_dask

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
        the same samples that ended early, gathering goes on behind them. A handful of samples is
        compared to tell whether they are the same; moments of others are refused.
    save_every : int or None, default=None
        Write the checkpoint after at least so many samples, and before an error that a block of
        a store raises. None means after a gigabyte, and with a Dask array after a fiftieth of it,
        so that workers seldom wait for one another.

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
    >>> threes = MCSDA(ranks=(4, 4), positive=3).fit_moments(moments)
    >>> sevens = MCSDA(ranks=(4, 4), positive=7).fit_moments(moments)
    """
    if save_every is not None:
        parameters.check_number("save_every", save_every, 1, integer=True)
    carrier = Carrier()
    X = check.check_samples(carrier, X, reset=True)
    y = None if y is None else check.check_labels(carrier, X, y)
    weight = check.check_weights(X, sample_weight)
    classes = check.present_labels(y, weight)
    source = X if isinstance(X, Source) else StoredSamples.of(X)
    if checkpoint is None:
        return source.moments(y, weight, classes)
    saved = Checkpoint(checkpoint, _subject(source, y, weight), source)
    return _gathered(source, y, weight, classes, saved, save_every)


def gather_batches(
    batches: Iterable[Any], *, checkpoint: Folder | None = None, save_every: int = 100
) -> ClassMoments:
    """Class moments of a stream of batches, which is read once.

    Parameters
    ----------
    batches : iterable of X, (X, y) or (X, y, sample_weight)
        Batches of any sizes, with samples of one shape, all with labels or all without. Labels may
        turn up in any of them. A batch is done with before the next one is asked for, so its
        memory may be used again.
    checkpoint : path or None, default=None
        A folder for the moments gathered so far. When they are there already, from a run that
        ended early, so many batches are passed over: the stream must come in the same order. A
        stream whose first batch is another one is refused.
    save_every : int, default=100
        Write the checkpoint after so many batches, and before an error or an interrupt that comes
        instead of a batch.

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
    >>> round(MPCA(ranks=(6, 6)).fit_moments(moments).captured_, 2)
    0.93
    """
    parameters.check_number("save_every", save_every, 1, integer=True)
    stream = Batches(batches)
    if checkpoint is None:
        return ClassMoments.from_blocks(stream.blocks())
    first = list(islice(stream, 1))
    saved = Checkpoint(checkpoint, _subject_of_stream(*first))
    done, total = saved.load()
    stream.pass_over(done)
    coming = chain(() if done else (first.pop(),), stream)
    problem: BaseException | None = None
    while problem is None:
        added, moments, problem = added_up(islice(coming, save_every))
        if moments is None:
            break
        done, total = done + added, moments if total is None else total + moments
        saved.save(done, total)
    if problem is not None:
        raise problem
    assert total is not None, "a stream that has a first batch has moments, or a problem"
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
    >>> mpca = MPCA(ranks=(6, 6)).fit(images)
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


def _gathered(
    source: Source, y: Any, weight: Any, classes: Array, saved: Checkpoint, save_every: int | None
) -> ClassMoments:
    """Moments of all samples behind those that were saved, added to these."""
    done, total = saved.load()
    step = save_every or _rows_between_saves(source, len(classes))
    with progress("gathering moments", len(source)) as bar:
        bar.advance(done)
        for rows in _spans(source, done, step):
            own = part_of(y, rows), part_of(weight, rows)
            added, part, problem = _moments_up_to_an_error(source[rows], *own, classes)
            if part is not None:
                total = part if total is None else total + part
                saved.save(rows.start + added, total)
            if problem is not None:
                raise problem
            bar.advance(added)
    assert total is not None, "there is at least one sample"
    return total


def _moments_up_to_an_error(
    source: Source, y: Any, weight: Any, classes: Array
) -> tuple[int, ClassMoments | None, BaseException | None]:
    """How many samples could be read, their moments, and what ended the reading."""
    if not isinstance(source, StoredSamples):
        return len(source), source.moments(y, weight, classes), None  # all or none: many at once
    added, moments, problem = added_up(source.blocks(y, weight), classes)
    return int(source.ends()[added - 1]) if added else 0, moments, problem


def _spans(source: Source, done: int, step: int) -> Iterator[slice]:
    """Slices of at least `step` samples that end where blocks end."""
    first = done
    for end in source.ends():
        if end >= first + step or (end == len(source) and end > first):
            yield slice(first, int(end))
            first = int(end)


def _subject(source: Source, y: Any, weight: Any) -> dict[str, Any]:
    """What can be known of all samples; single ones are compared by the checkpoint."""
    about = {"kind": "samples", "shape": list(source.shape), "dtype": str(source.dtype)}
    for name, column in (("labels", y), ("weights", weight)):
        about[name] = None if column is None else fingerprint(column)
    return about


def _subject_of_stream(first: Batch | None = None) -> dict[str, Any]:
    """What is known of a stream beforehand: its first batch."""
    if first is None:
        raise ValueError("there are no batches to take moments of; pass at least one")
    X, y, weight = first
    source = X if isinstance(X, Source) else StoredSamples.of(X)
    about = _subject(source, y, weight)
    about["samples"] = fingerprint(some_samples(source, compared(source)))
    about.pop("kind")
    return {"kind": "batches"} | {f"{key} of the first batch": about[key] for key in about}


def _rows_between_saves(source: Source, n_classes: int) -> int:
    """Enough samples that writing the tables takes little beside reading them."""
    size = prod(source.shape[1:])
    tables = 8 * n_classes * size**2
    step = max(1, max(SAVED_BYTES, 8 * tables) // (source.dtype.itemsize * size))
    return step if isinstance(source, StoredSamples) else max(step, len(source) // 50)
