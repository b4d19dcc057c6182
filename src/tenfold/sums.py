"""Sums over a stream of samples: the one place where data are read to become moments."""

from __future__ import annotations

from math import prod

import numpy as np
from scipy.linalg import blas

from tenfold.algebra import Array, row_blocks

SHIFT_ROWS = 64  # samples whose mean is the shift of their class
PROBE_ROWS = 512  # samples of a class that decide whether its products may be float32
WEAKEST = 1e-3  # the weakest direction of a mode, relative to the mean one, that float32 can hold


class ClassSums:
    """Shifted sums of a stream; the shift of a class is the mean of its first rows.

    With z = x - shift, ``S = sum w z z^T - s s^T / n`` and ``M = shift + s / n``, s = sum w z.
    The shift is a value of the samples' own precision, so z is exact to its last bit even when
    the data sit on a large offset. Products are in float64, or in float32 for float32 samples
    that lose nothing by it (`float32_suffices`); sums are in float64.
    """

    def __init__(self, classes: Array, shape: tuple[int, ...]):
        size = prod(shape)
        self.classes, self.shape = classes, shape
        self.counts = np.zeros(len(classes))
        self.shifts = np.zeros((len(classes), size))
        self.sums = np.zeros((len(classes), size))
        self.grams = np.zeros((len(classes), size, size))  # upper triangles
        self.seen = np.zeros(len(classes), dtype=bool)
        self.single: list[bool | None] = [None] * len(classes)  # float32 products suffice

    def add(self, X: Array, labels: Array, weight: Array | None) -> None:
        """Add one block of samples."""
        if X.shape[1:] != self.shape or len(labels) != len(X):
            raise ValueError(
                f"a block has samples of shape {X.shape[1:]} and {len(labels)} labels for "
                f"{len(X)} samples; expected samples of shape {self.shape} with one label each"
            )
        for c, label in enumerate(self.classes):
            belongs = labels == label
            rows = np.flatnonzero(belongs if weight is None else belongs & (weight > 0))
            self._add_class(c, X, rows, weight)

    def _add_class(self, c: int, X: Array, rows: Array, weight: Array | None) -> None:
        size = self.shifts.shape[1]
        if self.single[c] is None and len(rows) >= PROBE_ROWS:
            probe = rows[:: len(rows) // PROBE_ROWS][:PROBE_ROWS]
            narrow = X.dtype in (np.float32, np.float16)
            self.single[c] = narrow and float32_suffices(np.asarray(X[probe], dtype=np.float64))
        dtype = np.float32 if self.single[c] else np.float64
        blocks = list(row_blocks(len(rows), size * np.dtype(dtype).itemsize))
        memory = np.empty((max((b.stop - b.start for b in blocks), default=0), size), dtype)
        for block in blocks:
            chosen = rows[block]
            if not self.seen[c]:
                first = gather(X, chosen[:SHIFT_ROWS], np.float64)
                self.shifts[c] = first.mean(axis=0).astype(dtype)
                self.seen[c] = True
            Z = about(X, chosen, self.shifts[c].astype(dtype), memory)
            w = np.ones(len(chosen)) if weight is None else weight[chosen]
            self.counts[c] += w.sum()
            self.sums[c] += w.astype(dtype) @ Z
            if weight is not None:
                Z *= np.sqrt(w).astype(dtype)[:, None]
            add_gram(self.grams[c], Z)

    def finish(self) -> tuple[Array, Array, Array]:
        """Counts (C,), means (C, I_1, ..., I_K) and scatters (C, I, I) of what was added."""
        n = np.where(self.counts > 0, self.counts, 1.0)[:, None]
        means = (self.shifts + self.sums / n).reshape(-1, *self.shape)
        for c, s in enumerate(self.sums):
            self.grams[c] = symmetrised(self.grams[c])
            self.grams[c] -= np.outer(s / n[c], s)
        return self.counts, means, self.grams


def float32_suffices(Z: Array) -> bool:
    """Whether scatters of such samples can be multiplied in float32 without losing directions.

    A float32 product of n rows, added in float64 block by block, is off by about 1e-7 of the
    largest scatter, whatever the direction. So the weakest direction of every mode must hold at
    least `WEAKEST` of the mean one; then it is known to better than one part in a thousand.
    Features that never move do not count. Vectors are always multiplied in float64.

    Parameters
    ----------
    Z : ndarray of shape (n, I_1, ..., I_K)
        Some of the samples.

    Returns
    -------
    bool
        False for collinear features, such as the levels of an order book.
    """
    if Z.ndim < 3:
        return False
    Z = Z - Z.mean(axis=0)
    for mode in range(Z.ndim - 1):
        fibres = np.moveaxis(Z, mode + 1, 0).reshape(Z.shape[mode + 1], -1)
        moving = fibres[fibres.any(axis=1)]
        strength = np.linalg.eigvalsh(moving @ moving.T)
        if not strength.size or strength[0] < WEAKEST * strength.mean():
            return False
    return True


def gather(X: Array, rows: Array, dtype: type) -> Array:
    """A new array (len(rows), I) of the named samples, flat, in the wanted precision."""
    chosen = X[_slice_of(rows)] if _follow_each_other(rows) else X[rows]
    copy = _follow_each_other(rows) or None  # other rows are a new array already
    return np.array(chosen, dtype=dtype, copy=copy).reshape(len(rows), -1)


def about(X: Array, rows: Array, centre: Array, memory: Array) -> Array:
    """The named samples minus a centre (I,), flat, in the precision of the centre.

    They are written into `memory`: fresh memory costs as much as the copy itself.
    """
    Z = memory[: len(rows)]
    if _follow_each_other(rows):  # one pass instead of a copy and a subtraction
        flat = X[_slice_of(rows)].reshape(len(rows), -1)
        return np.subtract(flat, centre, out=Z, dtype=centre.dtype)
    if type(X) is np.ndarray and X.dtype == centre.dtype and X.flags.c_contiguous:
        np.take(X.reshape(len(X), -1), rows, axis=0, out=Z, mode="clip")
    else:
        Z[...] = X[rows].reshape(len(rows), -1)
    Z -= centre
    return Z


def _follow_each_other(rows: Array) -> bool:
    return len(rows) > 0 and bool(rows[-1] - rows[0] + 1 == len(rows))


def _slice_of(rows: Array) -> slice:
    return slice(int(rows[0]), int(rows[-1]) + 1)


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
