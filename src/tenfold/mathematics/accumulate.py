"""Sums over a stream of samples: the one place where data are read to become moments."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np
from scipy.linalg import blas

from tenfold.mathematics.algebra import Array
from tenfold.mathematics.tuning import BLOCK_BYTES, PROBE_ROWS, SHIFT_ROWS

WEAKEST = 1e-3  # the weakest direction of a mode, relative to the mean one, that float32 can hold
SQUARES = (1e-30, 1e30)  # mean squares that float32 can hold, with room for sums and outliers
NARROW = (np.dtype(np.float32), np.dtype(np.float16))


class ClassSums:
    """Shifted sums of a stream; the shift of a class is the mean of its first rows.

    With z = x - shift, ``S = sum w z z^T - s s^T / n`` and ``M = shift + s / n``, s = sum w z.
    The shift is a value of the samples' own precision, so z is exact to its last bit even when
    the data sit on a large offset. Products are in float64, or in float32 for blocks of float32
    samples that lose nothing by it (`float32_suffices`); sums are in float64.
    """

    def __init__(self, classes: Array, shape: tuple[int, ...]):
        size = prod(shape)
        self.classes, self.shape = classes, shape
        self.counts = np.zeros(len(classes))
        self.shifts = np.zeros((len(classes), size))
        self.sums = np.zeros((len(classes), size))
        self.grams = np.zeros((len(classes), size, size))  # upper triangles
        self.seen = np.zeros(len(classes), dtype=bool)
        self.narrow = np.zeros(len(classes), dtype=bool)  # the shift is a float32 number

    def cover(self, classes: Array) -> None:
        """Make room for classes that were not known before."""
        check_same_kind(classes, self.classes)
        union = np.union1d(self.classes, classes)
        if len(union) == len(self.classes):
            return
        at = np.searchsorted(union, self.classes)
        for name in ("counts", "shifts", "sums", "grams", "seen", "narrow"):
            old = getattr(self, name)
            wide = np.zeros((len(union), *old.shape[1:]), dtype=old.dtype)
            wide[at] = old
            setattr(self, name, wide)
        self.classes = union

    def add(self, X: Array, labels: Array, weight: Array | None) -> None:
        """Add one block of samples."""
        if X.shape[1:] != self.shape or len(labels) != len(X):
            raise ValueError(
                f"a block has samples of shape {X.shape[1:]} and {len(labels)} labels for "
                f"{len(X)} samples; expected samples of shape {self.shape} with one label each"
            )
        if weight is not None and not (weight >= 0).all():
            raise ValueError(f"a weight is {np.min(weight)}; weights must not be negative or NaN")
        check_same_kind(labels, self.classes)
        counted = np.ones(len(X), dtype=bool) if weight is None else weight > 0
        strange = ~np.isin(labels, self.classes) & counted
        if strange.any():
            raise ValueError(
                f"{strange.sum()} sample(s) are of class {labels[strange][0]!s}, which is not "
                f"among the classes {self.classes.tolist()}; name all classes, or leave the "
                "samples out"
            )
        for c, label in enumerate(self.classes):
            self._add_class(c, X, np.flatnonzero((labels == label) & counted), weight)

    def _add_class(self, c: int, X: Array, rows: Array, weight: Array | None) -> None:
        if not len(rows):
            return
        if not self.seen[c]:
            self.seen[c], self.narrow[c] = True, X.dtype in NARROW
            first = gather(X, rows[:SHIFT_ROWS], np.float64).mean(axis=0)
            self.shifts[c] = first.astype(np.float32) if self.narrow[c] else first
        dtype = np.float32 if self._float32_suffices(c, X, rows) else np.float64
        size = self.shifts.shape[1]
        blocks = list(row_blocks(len(rows), size * np.dtype(dtype).itemsize))
        memory = np.empty((max(b.stop - b.start for b in blocks), size), dtype)
        for block in blocks:
            chosen = rows[block]
            Z = about(X, chosen, self.shifts[c].astype(dtype), memory)
            w = np.ones(len(chosen)) if weight is None else weight[chosen]
            self.counts[c] += w.sum()
            self.sums[c] += weighted_sum(w.astype(dtype), Z)
            if weight is not None:
                Z *= np.sqrt(w).astype(dtype)[:, None]
            add_gram(self.grams[c], Z)

    def _float32_suffices(self, c: int, X: Array, rows: Array) -> bool:
        """Whether these rows of a class may be multiplied in float32, about its shift.

        A stream may change, so every block is asked, by a few of its rows.
        """
        if X.dtype not in NARROW or not self.narrow[c] or len(rows) < PROBE_ROWS:
            return False
        probe = rows[:: max(16, -(-len(rows) // PROBE_ROWS))]
        Z = gather(X, probe, np.float64) - self.shifts[c]
        return float32_suffices(Z.reshape(len(probe), *self.shape))

    def finish(self) -> tuple[Array, Array, Array]:
        """Counts (C,), means (C, I_1, ..., I_K) and scatters (C, I, I) of what was added."""
        n = np.where(self.counts > 0, self.counts, 1.0)[:, None]
        means = (self.shifts + self.sums / n).reshape(-1, *self.shape)
        squares = np.diagonal(self.grams, axis1=1, axis2=2)
        if not (np.isfinite(means).all() and np.isfinite(squares).all()):
            raise ValueError(
                "moments are not finite: samples hold NaN, infinity, or numbers whose squares are "
                "larger than a float64; repair, leave out or rescale these samples"
            )
        for c, s in enumerate(self.sums):
            self.grams[c] = symmetrised(self.grams[c])
            self.grams[c] -= np.outer(s / n[c], s)
        return self.counts, means, self.grams


def check_same_kind(labels: Array, classes: Array) -> None:
    """Refuse text beside numbers: NumPy would compare them as text, and find few of them equal."""
    is_text = [
        kinds.dtype.kind in "US" or (kinds.dtype.kind == "O" and isinstance(kinds[0], str))
        for kinds in (labels, classes)
        if len(kinds)
    ]
    if len(set(is_text)) > 1:
        came, known = (["numbers", "text"][text] for text in is_text)
        raise ValueError(
            f"labels are {came} ({_shown(labels)}, ...) and the classes known so far are {known} "
            f"({_shown(classes)}, ...); convert one of them, as with y.astype(str)"
        )


def _shown(labels: Array) -> str:
    """The first of some labels as it is typed."""
    return repr(labels[:1].tolist()[0])


def merged(
    counts: Array, means: Array, more: Array, other_means: Array
) -> tuple[Array, Array, Array, Array]:
    """Counts (C,) and means (C, ...) of two sets of samples together.

    Also the weights ``n_a n_b / (n_a + n_b)`` and the steps ``M_b - M_a`` of the rank-one parts by
    which scatters about the common means exceed the sum of those about their own.
    """
    total = counts + more
    share = np.divide(more, total, out=np.zeros_like(total), where=total > 0)
    step = other_means - means
    common = means + share.reshape(-1, *[1] * (step.ndim - 1)) * step
    common[counts == 0] = other_means[counts == 0]  # no rounding from a mean that is not there
    return total, common, np.where(more > 0, counts, 0.0) * share, step.reshape(len(step), -1)


def float32_suffices(Z: Array) -> bool:
    """Whether scatters of such samples can be multiplied in float32 without losing directions.

    A float32 product of n rows, added in float64 block by block, is off by about 1e-7 of the
    largest scatter, whatever the direction. So the weakest direction of every mode must hold at
    least `WEAKEST` of the mean one; then it is known to better than one part in a thousand.
    Features that never move do not count. Vectors are always multiplied in float64.

    Parameters
    ----------
    Z : ndarray of shape (n, I_1, ..., I_K)
        Some of the samples, about what they will be multiplied about.

    Returns
    -------
    bool
        False for collinear features, such as the levels of an order book, and for samples far
        from what they are taken about.
    """
    if Z.ndim < 3 or not SQUARES[0] < np.mean(np.square(Z)) < SQUARES[1]:
        return False
    for mode in range(Z.ndim - 1):
        fibres = np.moveaxis(Z, mode + 1, 0).reshape(Z.shape[mode + 1], -1)
        moving = fibres[fibres.any(axis=1)]
        strength = np.linalg.eigvalsh(moving @ moving.T)
        if not strength.size or strength[0] < WEAKEST * strength.mean():
            return False
    return True


def gather(X: Array, rows: Array, dtype: type) -> Array:
    """A new array (len(rows), I) of the named samples, flat, in the wanted precision."""
    chosen = as_slice(rows)
    copy = isinstance(chosen, slice) or None  # other rows are a new array already
    return np.array(X[chosen], dtype=dtype, copy=copy).reshape(len(rows), -1)


def about(X: Array, rows: Array, centre: Array, memory: Array) -> Array:
    """The named samples minus a centre (I,), flat, in the precision of the centre.

    They are written into `memory`: fresh memory costs as much as the copy itself.
    """
    Z = memory[: len(rows)]
    chosen = as_slice(rows)
    if isinstance(chosen, slice):  # one pass instead of a copy and a subtraction
        flat = X[chosen].reshape(len(rows), -1)
        return np.subtract(flat, centre, out=Z, dtype=centre.dtype)
    if type(X) is np.ndarray and X.dtype == centre.dtype and X.flags.c_contiguous:
        np.take(X.reshape(len(X), -1), rows, axis=0, out=Z, mode="clip")
    else:
        Z[...] = X[rows].reshape(len(rows), -1)
    Z -= centre
    return Z


def as_slice(rows: Array) -> Any:
    """Sorted positions as a slice, which takes no copy, if none is left out between them."""
    if len(rows) and rows[-1] - rows[0] + 1 == len(rows):
        return slice(int(rows[0]), int(rows[-1]) + 1)
    return rows


def row_blocks(n: int, bytes_per_row: int, budget: int = BLOCK_BYTES) -> Iterator[slice]:
    """Slices that cut n rows into blocks of at most `budget` bytes, one row at the least."""
    step = max(1, budget // max(1, bytes_per_row))
    for start in range(0, n, step):
        yield slice(start, min(n, start + step))


def weighted_sum(weights: Array, rows: Array) -> Array:
    """``weights @ rows``, by the BLAS of `add_gram`.

    NumPy and SciPy bring a BLAS each. Threads of the one still wait busily for work while the
    other is asked, so on all cores asking both in turn takes twice as long.
    """
    times = blas.sgemv if rows.dtype == np.float32 else blas.dgemv
    return np.asarray(times(1.0, rows.T, weights))


def add_gram(matrix: Array, rows: Array) -> None:
    """Add ``rows.T @ rows`` to the upper triangle of a C-ordered float64 matrix, in place.

    float32 rows are multiplied in float32 and added in float64.
    """
    if rows.dtype == np.float32:
        matrix += blas.ssyrk(1.0, rows.T, lower=1).T
    else:
        blas.dsyrk(1.0, rows.T, beta=1.0, c=matrix.T, lower=1, overwrite_c=1)


def symmetrised(upper: Array) -> Array:
    """The symmetric matrix of an upper triangle; what is below the diagonal must be zero."""
    both = upper + upper.T
    np.fill_diagonal(both, upper.diagonal())
    return both
