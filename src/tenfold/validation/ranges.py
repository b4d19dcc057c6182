"""The range of training samples: a model warns of samples that are far outside of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isfinite
from typing import Protocol

import numpy as np

from tenfold.linalg.algebra import Array
from tenfold.quiet import warn
from tenfold.statistics.stores import ArraySamples, Range, Source, StoredSamples


class KnowsRange(Protocol):
    """An estimator that may know the range of its training samples."""

    @property
    def _knows_range(self) -> bool: ...


FAR = 10.0  # times the largest magnitude of all training samples


def range_of(X: Array | Source, known: Array | None = None) -> tuple[Array | Range, Array | Source]:
    """The range of samples, and the samples: of a source it is known when all blocks are read.

    Parameters
    ----------
    X : ndarray or Source of shape (n, I_1, ..., I_K)
        Checked samples.
    known : ndarray of shape (2,) or None
        The range of those before.

    Returns
    -------
    (ndarray of shape (2,) or Range, samples)
        The samples are to be used in place of X.
    """
    if isinstance(X, Source) and not isinstance(X, ArraySamples):
        seen = Range() if known is None else Range(*known.tolist())
        return seen, replace(X, seen=seen)  # type: ignore[type-var]  # a dataclass, as all are
    low, high = X.range() if isinstance(X, ArraySamples) else (float(X.min()), float(X.max()))
    if known is not None:
        low = min(low, known[0])
        high = max(high, known[1])
    return np.array([low, high]), X


def limit_of(estimator: KnowsRange) -> float | None:
    """The magnitude from which on numbers are far outside; None where no range is known."""
    known = vars(estimator).get("range_")
    if known is None or not estimator._knows_range:
        return None
    low, high = known.tolist()
    limit = FAR * max(-low, high)
    return limit if limit > 0 else None  # of nothing but zeros no scale is known


@dataclass
class RangeWatch:
    """Warns of blocks of samples that are far outside of a range, once."""

    limit: float
    warned: bool = False

    def add(self, block: Array) -> None:
        """Look at one block (m, I_1, ..., I_K).

        Half of its samples at least must hold such a number: outliers do not count.
        """
        if self.warned or not len(block):
            return
        flat = block.reshape(len(block), -1)
        largest = np.maximum(flat.max(axis=1), -flat.min(axis=1).astype(float))
        typical = float(np.median(largest))
        if typical > self.limit:
            self.warned = True
            warn(
                f"samples hold numbers up to {typical:.3g}, but no number of the training samples "
                f"was larger than {self.limit / FAR:.3g}; scale them as the training samples were "
                "scaled (tenfold.datasets.load divides pixels from 0 to 255 by 255), or fit again",
                UserWarning,
            )


def check_range(estimator: KnowsRange, X: Array | Source) -> Array | Source:
    """Samples for a fitted model: an error where squares overflow, a warning where all are far."""
    limit = limit_of(estimator)
    if isinstance(X, StoredSamples):
        return X if limit is None else replace(X, seen=RangeWatch(limit))
    if isinstance(X, Source) or not estimator._knows_range:
        return X
    if limit is not None:
        RangeWatch(limit).add(X)
    if X.dtype.kind == "f":
        flat = X.ravel(order="K")
        if not isfinite(np.vdot(flat, flat)):
            X = X.astype(np.float64)  # of float32 the squares are too large for float32
            flat = X.ravel(order="K")
            if not isfinite(np.vdot(flat, flat)):
                raise ValueError(
                    f"samples hold numbers up to {np.abs(X).max():.3g}, whose squares are too "
                    "large for float64; repair, leave out or rescale these samples"
                )
    return X
