"""Batches of a stream, checked as they come: alike in shape and labels, and a bad one is named."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from sklearn.base import BaseEstimator

from tenfold.mathematics.accumulate import check_same_kind
from tenfold.mathematics.algebra import Array
from tenfold.mathematics.stores import BlockError, Source, StoredSamples
from tenfold.validation import samples as check

Checked = tuple[Any, Any, Any]  # samples, in memory or in a store, and labels and weights, or None


class Carrier(BaseEstimator):
    """What is known of the samples so far, as an estimator would know it."""

    sample_shape = None
    needs_labels = False


def numbered(batches: Iterable[Any]) -> Iterator[tuple[int, Any]]:
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
            "and start again, with a checkpoint to keep what was gathered before it"
        ) from error


def checked_batch(X: Any, y: Any, sample_weight: Any) -> Checked:
    """All samples as one batch."""
    carrier = Carrier()
    X = check.check_samples(carrier, X, reset=True)
    y = None if y is None else check.check_labels(carrier, X, y)
    return X, y, check.check_weights(X, sample_weight)


def checked(stream: Iterator[tuple[int, Any]]) -> Iterator[Checked]:
    """The batches of a numbered stream, each as samples, labels and weights."""
    carrier, example = Carrier(), None
    for number, batch in stream:
        try:
            X, y, weight = _members(batch)
            X = check.check_samples(carrier, X, reset=number == 0)
            if isinstance(X, Source) and not isinstance(X, StoredSamples):
                raise ValueError("it is a Dask array; pass it to gather_moments instead")
            y = None if y is None else check.check_labels(carrier, X, y)
            if number == 0:
                example = None if y is None else y[:1].copy()
            _check_alike(y, example)
            weight = check.check_weights(X, weight)
        except ValueError as error:
            raise ValueError(f"batch {number}: {error}") from error
        yield X, y, weight


def _members(batch: Any) -> Checked:
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
