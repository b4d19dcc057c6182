"""Moments of more data than fit into memory, with checkpoints; and results written block by block.

`fit` does all this by itself as long as nothing goes wrong. These functions are for runs that take
hours: what was gathered survives a bad block, a full disk or a switched-off laptop, and the model
is made at the end by `fit_moments`. Batches of a stream are checked as they come: alike in shape
and labels, and a bad one is named.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from math import prod
from typing import Any, Protocol, TypeVar

from sklearn.base import BaseEstimator

from tenfold.gathering.checkpoint import Checkpoint, subject
from tenfold.linalg.algebra import Array
from tenfold.linalg.arrays import to_numpy
from tenfold.progress import progress
from tenfold.statistics.accumulate import check_same_kind
from tenfold.statistics.moments import Batch, ClassMoments
from tenfold.statistics.stores import BlockError, Source, StoredSamples, part_of
from tenfold.validation import parameters
from tenfold.validation import samples as check
from tenfold.validation.containers import as_source, is_dask
from tenfold.validation.labels import present_labels

SAVED_BYTES = 2**30  # what is read at least between two writings of a checkpoint

Folder = str | os.PathLike[str]
Piece = tuple[int, Batch | ClassMoments]  # how many samples, and what they are or give


def gather_moments(
    X: object,
    y: object = None,
    sample_weight: object = None,
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
        the same samples that ended early, gathering goes on behind them, and ends with the moments
        of a run that was never interrupted. All labels and weights and a handful of samples are
        compared to tell whether they are the same, to the last bit; moments of others are refused.
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
    >>> from tenfold import MCSDA, ProbabilisticLDA, gather_moments
    >>> X, y = load_digits().images, load_digits().target
    >>> moments = gather_moments(X, y)
    >>> threes = MCSDA(ranks=(4, 4), positive=3).fit_moments(moments)
    >>> sevens = MCSDA(ranks=(4, 4), positive=7).fit_moments(moments)
    >>> one, other = (gather_moments(X[i::2], y[i::2]) for i in (0, 1))  # of two sites
    >>> model = ProbabilisticLDA().fit_moments(one + other)
    """
    samples, labels, weight = Carrier().checked(X, y, sample_weight, first=True)
    classes = present_labels(labels, weight)
    if save_every is not None:
        parameters.check_option("save_every", save_every, [parameters.Number(1, whole=True)])
    source = samples if isinstance(samples, Source) else StoredSamples.of(samples)
    parameters.announce_tables(len(source), prod(source.shape[1:]), len(classes))
    if checkpoint is None:
        return source.moments(labels, weight, classes)
    step = save_every or _rows_between_saves(source, len(classes))
    saved = Checkpoint(checkpoint, subject(source, labels, weight))
    done, total = saved.load()
    pieces = _pieces_of_source(source, labels, weight, classes, done, step)
    return _gathered(saved, done, total, pieces, step, classes)


def gather_batches(batches: Iterable[object]) -> ClassMoments:
    """Class moments of a stream of batches, which is read once.

    Moments add up: where a stream may break, gather it in parts, write each with `save_moments`,
    and `load_moments` of all of them gives the sum.

    Parameters
    ----------
    batches : iterable of X, (X, y) or (X, y, sample_weight)
        Batches of any sizes, with samples of one shape, all with labels or all without. Labels may
        turn up in any of them. A batch is done with before the next one is asked for, so its
        memory may be used again.

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
    return ClassMoments.from_blocks(_checked(batches))


class Writable(Protocol):
    """A store that results are written to."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Its shape."""

    def __setitem__(self, rows: slice | Array, values: Array, /) -> None: ...


Out = TypeVar("Out", bound=Writable)


def write_blocks(method: Callable[[Array], Array], X: object, out: Out) -> Out:
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
    if not isinstance(source, StoredSamples):
        source = StoredSamples.of(to_numpy(X))
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
    saved: Checkpoint,
    done: int,
    total: ClassMoments | None,
    pieces: Iterator[Piece],
    step: int,
    classes: Array,
) -> ClassMoments:
    """Moments of all pieces added to those that were saved, saved whenever `step` more are done.

    What came before a piece that cannot be had, or before an interrupt that comes instead of it,
    is saved before that is raised. An interrupt while sums are changed leaves nothing to save.
    """
    problem: BaseException | None = None
    added = step

    def until_a_save() -> Iterator[Batch | ClassMoments]:
        nonlocal added, problem
        while added < step:
            try:
                count, piece = next(pieces)
            except StopIteration:
                return
            except BaseException as error:  # noqa: BLE001 - it is raised when all is saved
                problem = error
                return
            added += count
            yield piece

    while problem is None and added >= step:
        added = 0
        part = ClassMoments.from_blocks(until_a_save(), classes=classes, total=total)
        if added:
            done = done + added
            total = part
            saved.save(done, total)
    if problem is not None:
        raise problem
    assert total is not None, "there is at least one sample"
    return total


def _pieces_of_source(
    source: Source,
    y: Array | None,
    weight: Array | None,
    classes: Array,
    done: int,
    step: int,
) -> Iterator[Piece]:
    """Blocks behind those that are done; of a Dask array, moments of what is saved at once."""
    with progress("gathering moments", len(source)) as advance:
        advance(done)
        rest = source[done:]
        labels = part_of(y, slice(done, None))
        weights = part_of(weight, slice(done, None))
        if isinstance(rest, StoredSamples):
            for block in rest.blocks(labels, weights) if len(rest) else ():
                yield len(block[0]), block
                advance(len(block[0]))
            return
        first = 0
        for end in map(int, rest.ends()):
            if end >= first + step or (end == len(rest) and end > first):
                rows = slice(first, end)
                part = rest[rows].moments(part_of(labels, rows), part_of(weights, rows), classes)
                yield end - first, part
                advance(end - first)
                first = end


def _rows_between_saves(source: Source, n_classes: int) -> int:
    """Enough samples that writing the tables takes little beside reading them."""
    size = prod(source.shape[1:])
    tables = 8 * n_classes * size**2
    step = max(1, max(SAVED_BYTES, 8 * tables) // (source.dtype.itemsize * size))
    return step if isinstance(source, StoredSamples) else max(step, len(source) // 50)


# Samples, in memory or in a store, and labels and weights, or None.
Checked = tuple[Any, Array | None, Array | None]


class Carrier(BaseEstimator):
    """What is known of the samples so far, as an estimator would know it."""

    sample_shape = None
    takes_gaps = False
    _needs_labels = True
    _knows_range = False

    def checked(self, X: object, y: object, sample_weight: object, first: bool) -> Checked:
        """A batch of samples like those of the first one; labels may be missing in all of them."""
        self._needs_labels = y is not None
        if first:
            info, _ = check.first_samples(self, X)
            for name, value in info.items():
                setattr(self, name, value)
        return check.check_batch(self, X, y, sample_weight)


def _numbered(batches: Iterable[object]) -> Iterator[tuple[int, object]]:
    """Batches with their numbers; an error that comes instead of one says which it was."""
    number = 0
    try:
        for batch in batches:
            yield number, batch
            del batch  # its memory is free before the next one comes
            number += 1
    except Exception as error:
        raise BlockError(
            f"batch {number} could not be read ({type(error).__name__}: {error}); nothing was "
            "fitted, because a model of part of the data would not be the one asked for; repair it "
            "and start again"
        ) from error


def _checked(batches: Iterable[object]) -> Iterator[Batch | ClassMoments]:
    """The batches of a stream, each as samples, labels and weights, or as moments of a store."""
    carrier = Carrier()
    example = None
    for number, batch in _numbered(batches):
        try:
            X, y, weight = carrier.checked(*_members(batch), first=number == 0)
            if isinstance(X, Source) and not isinstance(X, StoredSamples):
                raise ValueError("it is a Dask array; pass it to gather_moments instead")
            if number == 0:
                example = None if y is None else y[:1].copy()
            _check_alike(y, example)
        except ValueError as error:
            raise ValueError(f"batch {number}: {error}") from error
        labels = present_labels(y, None)
        yield X.moments(y, weight, labels) if isinstance(X, Source) else (X, y, weight)


def _members(batch: object) -> tuple[object, object, object]:
    members = batch if isinstance(batch, tuple | list) else (batch,)
    if not 1 <= len(members) <= 3:
        raise ValueError(
            f"it has {len(members)} members; expected X, (X, y) or (X, y, sample_weight); "
            "samples in a list are to be made an array first"
        )
    X, y, weight = (*members, None, None)[:3]
    return X, y, weight


def _check_alike(y: Array | None, example: Array | None) -> None:
    """All batches have labels of one kind, or none has any."""
    if (example is None) != (y is None):
        came, before = ("no labels", "had some") if y is None else ("labels", "had none")
        raise ValueError(
            f"it has {came}, but the batches before it {before}; pass labels with every batch or "
            "with none"
        )
    if y is not None and example is not None:
        check_same_kind(y, example)
