"""Streams of batches: each is checked as it comes, and what came before a bad one is not lost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from operator import add
from typing import Any

from sklearn.base import BaseEstimator

from tenfold.mathematics.accumulate import check_same_kind
from tenfold.mathematics.algebra import Array
from tenfold.mathematics.moments import Batch, ClassMoments
from tenfold.mathematics.stores import BlockError, Source, StoredSamples
from tenfold.validation import samples as check

Checked = tuple[Any, Any, Any]  # samples, in memory or in a store, and labels and weights, or None


class Carrier(BaseEstimator):
    """What is known of the samples so far, as an estimator would know it."""

    sample_shape = None
    needs_labels = False


class Batches:
    """The batches of a stream, checked: alike in shape and labels, and a bad one is named.

    Parameters
    ----------
    batches : iterable of X, (X, y) or (X, y, sample_weight)
        One is held at a time, so they may all be views of one buffer that is filled anew.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.gathering.batches import Batches
    >>> X = np.ones((3, 4, 2))
    >>> [len(X) for X, y, weight in Batches([X, X[:1]])]
    [3, 1]
    """

    def __init__(self, batches: Iterable[Any]):
        self.stream, self.number = iter(batches), -1
        self.carrier = Carrier()
        self.example: Array | None = None  # a label of the first batch

    def __iter__(self) -> Iterator[Checked]:
        return self

    def __next__(self) -> Checked:
        batch = self._unchecked()
        try:
            return self._checked(*(batch if isinstance(batch, tuple | list) else (batch,)))
        except ValueError as error:
            raise ValueError(f"batch {self.number}: {error}") from error

    def pass_over(self, done: int) -> None:
        """Go on behind the first `done` batches; they are taken out of the stream unchecked."""
        while self.number + 1 < done:
            try:
                self._unchecked()
            except StopIteration:
                raise ValueError(
                    f"the checkpoint holds the moments of {done} batches, but the stream has "
                    f"{self.number} only; pass the stream it was gathered from, or delete the "
                    "checkpoint"
                ) from None

    def blocks(self) -> Iterator[Batch]:
        """The samples of all batches in memory, those in stores block by block."""
        for X, y, weight in self:
            if isinstance(X, StoredSamples):
                yield from X.blocks(y, weight)
            else:
                yield X, y, weight

    def _unchecked(self) -> Any:
        self.number += 1
        try:
            return next(self.stream)
        except StopIteration:
            raise
        except Exception as error:
            raise BlockError(
                f"batch {self.number} could not be read ({type(error).__name__}: {error}); nothing "
                "was fitted, because a model of part of the data would not be the one asked for; "
                "repair it and start again, with a checkpoint to keep what was gathered before it"
            ) from error

    def _checked(self, *members: Any) -> Checked:
        if not 1 <= len(members) <= 3:
            raise ValueError(
                f"it has {len(members)} members; expected X, (X, y) or (X, y, sample_weight); "
                "samples in a list are to be made an array first"
            )
        X, y, weight = (*members, None, None)[:3]
        X = check.check_samples(self.carrier, X, reset=self.number == 0)
        if isinstance(X, Source) and not isinstance(X, StoredSamples):
            raise ValueError("it is a Dask array; pass it to gather_moments instead")
        y = None if y is None else check.check_labels(self.carrier, X, y)
        self._check_alike(y)
        return X, y, check.check_weights(X, weight)

    def _check_alike(self, y: Array | None) -> None:
        """All batches have labels of one kind, or none has any."""
        if self.number == 0:
            self.example = None if y is None else y[:1].copy()
        if (self.example is None) != (y is None):
            came, before = ("no labels", "had some") if y is None else ("labels", "had none")
            raise ValueError(
                f"it has {came}, but the batches before it {before}; pass labels with every batch "
                "or with none"
            )
        if y is not None and self.example is not None:
            check_same_kind(y, self.example)


def added_up(
    batches: Iterator[Checked], classes: Array | None = None
) -> tuple[int, ClassMoments | None, BaseException | None]:
    """Moments of batches up to their end, or up to an error.

    Parameters
    ----------
    batches : iterator of (X, y, sample_weight)
        Checked batches. They are added as they come; none is kept.
    classes : ndarray of shape (C,) or None, default=None
        All labels, sorted; None takes them as they come.

    Returns
    -------
    count : int
        How many batches were added, each of them whole.
    moments : ClassMoments or None
        Of these batches; None when there are none.
    problem : exception or None
        What the next batch raised instead of coming, an interrupt included. An interrupt while
        sums are being changed leaves nothing that could be used, so it is raised at once.
    """
    count, problem = 0, None
    stored: list[ClassMoments] = []  # apart, because half of a store must not get into the sums

    def in_memory() -> Iterator[Batch]:
        nonlocal count, problem
        while True:
            try:
                X, y, weight = next(batches)
                if isinstance(X, StoredSamples):
                    own = check.present_labels(y, None) if classes is None else classes
                    stored.append(X.moments(y, weight, own))
            except StopIteration:
                return
            except BaseException as error:  # noqa: BLE001 - the caller raises it
                problem = error
                return
            count += 1
            if not isinstance(X, StoredSamples):
                yield X, y, weight

    try:
        stored.append(ClassMoments.from_blocks(in_memory(), classes=classes))
    except ValueError:
        if count > len(stored):  # else there was nothing in memory, which is no error here
            raise
    return count, reduce(add, stored) if stored else None, problem
