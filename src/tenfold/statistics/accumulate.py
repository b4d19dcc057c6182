"""Sums over a stream of samples: the one place where data are read to become moments."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

import numpy as np
from scipy.linalg import blas

from tenfold.linalg.algebra import add_gram
from tenfold.linalg.arrays import (
    Array,
    asarray_like,
    block_bytes,
    is_elsewhere,
    of_type,
    reshaped,
    square_lengths,
    take,
    to_numpy,
    wide_type,
)
from tenfold.linalg.constants import BLOCK_BYTES, PROBE_ROWS, SHIFT_ROWS, TILE

WEAKEST = 1e-3  # the weakest direction of a mode, relative to the mean one, that float32 can hold
FARTHEST = 25.0  # squared length of a row, relative to the typical one, that float32 can hold
SQUARES = (1e-28, 1e28)  # mean squares that float32 can hold, with room for sums
WEIGHTS = (1e-8, 1e8)  # weights that float32 can hold beside them
OUTWEIGHED = 1e3  # a shift holds until a block weighs so many times the one it was taken from
SMALLEST, LARGEST = 1e-280, 1e280  # sums of squares that float64 can hold, with room for products
NARROW = (np.dtype(np.float32), np.dtype(np.float16))  # which may do for products of samples


class ClassSums:
    """Shifted sums of a stream; the shift of a class is the median of its first or heaviest rows.

    With z = x - shift, ``S = sum w z z^T - s s^T / n`` and ``M = shift + s / n``, s = sum w z.
    The shift is a value of the samples' own precision, so z is exact to its last bit even when
    the data sit on a large offset. Products are in float64, or in float32 for blocks of float32
    samples that lose nothing by it (`float32_suffices`); rows far beyond the typical one are
    always multiplied in float64, and sums are in float64. Classes may share a table: `table_of`
    (C,) says which is whose, and a table is the sum of the scatters of its classes.
    """

    def __init__(self, classes: Array, shape: tuple[int, ...], table_of: Array | None = None):
        size = prod(shape)
        self.table_of = np.arange(len(classes)) if table_of is None else table_of
        n_tables = int(self.table_of.max(initial=-1)) + 1
        self.classes, self.shape = classes, shape
        self.counts = np.zeros(len(classes))
        self.shifts = np.zeros((len(classes), size))
        self.sums = np.zeros((len(classes), size))
        self.grams = np.zeros((n_tables, size, size))  # upper triangles
        self.shift_weights = np.zeros(len(classes))  # of the blocks that shifts are from
        self.narrow = np.zeros(len(classes), dtype=bool)  # the shift is a float32 number

    def cover(self, classes: Array) -> None:
        """Make room for classes that were not known before."""
        check_same_kind(classes, self.classes)
        union = np.union1d(self.classes, classes)
        if len(union) == len(self.classes):
            return
        at = np.searchsorted(union, self.classes)
        for name in ("counts", "shifts", "sums", "grams", "shift_weights", "narrow"):
            old = getattr(self, name)
            wide = np.zeros((len(union), *old.shape[1:]), dtype=old.dtype)
            wide[at] = old
            setattr(self, name, wide)
        self.classes = union
        self.table_of = np.arange(len(union))

    def add(self, X: Array, labels: Array, weight: Array | None) -> None:
        """Add one block of samples."""
        n = X.shape[0]
        if tuple(X.shape[1:]) != self.shape or len(labels) != n:
            raise ValueError(
                f"a block has samples of shape {tuple(X.shape[1:])} and {len(labels)} labels for "
                f"{n} samples; expected samples of shape {self.shape} with one label each"
            )
        if weight is not None and not (weight >= 0).all():
            raise ValueError(f"a weight is {np.min(weight)}; weights must not be negative or NaN")
        check_same_kind(labels, self.classes)
        counted = np.ones(n, dtype=bool) if weight is None else weight > 0
        strange = ~np.isin(labels, self.classes) & counted
        if strange.any():
            raise ValueError(
                f"{strange.sum()} sample(s) are of class {labels[strange][0]!s}, which is not "
                f"among the classes {self.classes.tolist()}; name all classes, or leave the "
                "samples out"
            )
        for c, label in enumerate(self.classes):
            rows = np.flatnonzero((labels == label) & counted)
            if len(rows):
                self._place_shift(c, X, rows, weight)
                self._add_rows(c, X, rows, weight, self._float32_limit(c, X, rows, weight))

    def _place_shift(self, c: int, X: Array, rows: Array, weight: Array | None) -> None:
        """Take the shift from these rows, if they far outweigh those that it was taken from.

        Then a shift lies within rows of a fair share of all weight, and what the sums about it
        lose by cancellation is small beside the scatter that such rows have. It is a median, so
        that no outlier draws it away from the others.
        """
        w = np.ones(len(rows)) if weight is None else weight[rows]
        block_weight = float(w.sum())
        if block_weight <= OUTWEIGHED * self.shift_weights[c]:
            return
        if weight is not None:
            rows = np.sort(rows[np.argsort(-w, kind="stable")[:SHIFT_ROWS]])
            rows = rows[weight[rows] >= w.max() / OUTWEIGHED]
        shift = np.median(gather(X, rows[:SHIFT_ROWS], np.float64), axis=0)
        self.shift_weights[c] = block_weight
        self.narrow[c] = isinstance(X, np.ndarray) and X.dtype in NARROW
        shift = shift.astype(np.float32) if self.narrow[c] else shift
        n = self.counts[c]
        if n > 0:  # the same sums about the new shift
            gram = self.grams[self.table_of[c]]
            add_gram(gram, self.sums[c : c + 1], -1 / n)
            self.sums[c] -= n * (shift - self.shifts[c])
            add_gram(gram, self.sums[c : c + 1], 1 / n)
        self.shifts[c] = shift

    def _add_rows(
        self, c: int, X: Array, rows: Array, weight: Array | None, limit: float | None
    ) -> None:
        """Add rows of a class, in float32 those whose squared length is within the limit."""
        dtype = np.float64 if limit is None else np.float32
        size = self.shifts.shape[1]
        blocks = list(row_blocks(len(rows), size * np.dtype(dtype).itemsize, block_bytes(X)))
        memory = np.empty((max(b.stop - b.start for b in blocks), size), dtype)
        for block in blocks:
            chosen = rows[block]
            Z = about(X, chosen, self.shifts[c].astype(dtype), memory)
            w = np.ones(len(chosen)) if weight is None else weight[chosen]
            if limit is not None:
                with np.errstate(over="ignore"):
                    near = w * square_lengths(Z) <= limit  # False where the square is infinite
                if not near.all():
                    self._add_rows(c, X, chosen[~near], weight, None)
                    Z, w = Z[near], w[near]
            self.counts[c] += w.sum()
            # The BLAS of `add_gram`, SciPy's: threads of NumPy's would still wait busily for work
            # while this one is asked, so on all cores asking both in turn takes twice as long.
            if is_elsewhere(Z):
                self.sums[c] += to_numpy(asarray_like(w.astype(dtype), Z) @ Z)
            else:
                times = blas.sgemv if Z.dtype == np.float32 else blas.dgemv
                self.sums[c] += times(1.0, Z.T, w.astype(dtype))
            if weight is not None:
                Z *= asarray_like(np.sqrt(w).astype(dtype)[:, None], Z)
            add_gram(self.grams[self.table_of[c]], Z)

    def _float32_limit(self, c: int, X: Array, rows: Array, weight: Array | None) -> float | None:
        """Up to which squared length rows of a class may be multiplied in float32; None for none.

        A stream may change, so every block is asked. A few of its rows tell what a typical one is
        and whether it may; how long a row is, each is asked.
        """
        narrow = isinstance(X, np.ndarray) and X.dtype in NARROW and self.narrow[c]
        if not narrow or len(rows) < PROBE_ROWS:
            return None
        probe = rows[:: max(16, -(-len(rows) // PROBE_ROWS))]
        Z = gather(X, probe, np.float64) - self.shifts[c]
        if weight is not None:
            if not (WEIGHTS[0] <= weight[rows].min() and weight[rows].max() <= WEIGHTS[1]):
                return None
            Z *= np.sqrt(weight[probe])[:, None]
        with np.errstate(over="ignore"):
            lengths = square_lengths(Z)
        limit = FARTHEST * float(np.median(lengths))
        near = Z[lengths <= limit]
        return limit if float32_suffices(near.reshape(len(near), *self.shape)) else None

    def finish(self) -> tuple[Array, Array, Array]:
        """Counts (C,), means (C, I_1, ..., I_K) and scatters (T, I, I) of what was added."""
        n = np.where(self.counts > 0, self.counts, 1.0)
        means = (self.shifts + self.sums / n[:, None]).reshape(-1, *self.shape)
        squares = np.diagonal(self.grams, axis1=1, axis2=2)
        if not (np.isfinite(means).all() and np.isfinite(squares).all()):
            raise ValueError(
                "moments are not finite: samples hold NaN, infinity, or numbers whose squares are "
                "larger than a float64; repair, leave out or rescale these samples"
            )
        for c, table in enumerate(self.table_of):
            add_gram(self.grams[table], self.sums[c : c + 1], -1 / n[c])
        for gram in self.grams:
            for start in range(0, len(gram), TILE):  # the lower triangle, tile by tile
                own = slice(start, start + TILE)
                gram[start + TILE :, own] = gram[own, start + TILE :].T
                corner = gram[own, own]
                corner[...] = np.triu(corner) + np.triu(corner, 1).T
        return self.counts, means, self.grams


def check_same_kind(labels: Array, classes: Array) -> None:
    """Refuse text beside numbers: NumPy would compare them as text, and find few of them equal."""
    is_text = [
        kinds.dtype.kind in "US" or (kinds.dtype.kind == "O" and isinstance(kinds[0], str))
        for kinds in (labels, classes)
        if len(kinds)
    ]
    if len(set(is_text)) > 1:
        came = "text" if is_text[0] else "numbers"
        known = "text" if is_text[1] else "numbers"
        raise ValueError(
            f"labels are {came} ({labels[:1].tolist()[0]!r}, ...) and the classes known so far are "
            f"{known} ({classes[:1].tolist()[0]!r}, ...); convert one of them, as with "
            "y.astype(str)"
        )


def merged_means(counts: Array, means: Array, codes: Array, n: int) -> tuple[Array, Array, Array]:
    """Counts (n,) and means (n, ...) of cells together, by the code of each; -1 leaves one out.

    Also the steps (m, I) of the cells, ``sqrt(count) (mean of the cell - common mean)``, flat. A
    scatter about a common mean is the sum of those of its cells about their own, and of the
    products of the steps with themselves.

    Parameters
    ----------
    counts, means : ndarrays of shape (m,) and (m, ...)
        Of the cells; those without samples do not count.
    codes : ndarray of shape (m,)
        To which of the n sums a cell belongs.
    n : int
        The number of sums.
    """
    own = np.flatnonzero((codes >= 0) & (counts > 0))
    at = codes[own]
    total = np.bincount(at, weights=counts[own], minlength=n)
    flat = means.reshape(len(means), prod(means.shape[1:]))
    common = np.zeros((n, flat.shape[1]))
    steps = np.zeros_like(flat)
    groups, firsts = np.unique(at, return_index=True)
    common[groups] = flat[own[firsts]]  # all about the first: no digits are lost to an offset
    steps[own] = flat[own] - common[at]
    if len(own) > len(groups):
        offsets = np.zeros_like(common)
        order = np.argsort(at, kind="stable")
        shares = (counts[own] / total[at])[:, None] * steps[own]
        offsets[groups] = np.add.reduceat(shares[order], np.searchsorted(at[order], groups))
        common += offsets
        steps[own] -= offsets[at]
        steps[own] *= np.sqrt(counts[own])[:, None]
    return total, common.reshape(n, *means.shape[1:]), steps


def float32_suffices(Z: Array) -> bool:
    """Whether scatters of such samples can be multiplied in float32 without losing directions.

    A float32 product of n rows, added in float64 block by block, is off by about 1e-7 of the
    largest scatter, whatever the direction. So the weakest direction of every mode must hold at
    least `WEAKEST` of the mean one; then it is known to better than one part in a thousand. What
    counts of the weakest is its scatter about the mean, which is what is left in the end; what
    counts of the mean one is its scatter about what samples are multiplied about, which is rounded.
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
    centred = Z - Z.mean(axis=0)
    for mode in range(Z.ndim - 1):
        fibres = np.moveaxis(centred, mode + 1, 0).reshape(Z.shape[mode + 1], -1)
        is_moving = fibres.any(axis=1)
        moving = fibres[is_moving]
        strength = np.linalg.eigvalsh(moving @ moving.T)
        multiplied = np.moveaxis(Z, mode + 1, 0)[is_moving]
        if not strength.size or strength[0] < WEAKEST * np.sum(multiplied**2) / len(moving):
            return False
    return True


def gather(X: Array, rows: Array, dtype: type) -> Array:
    """A new array (len(rows), I) of the named samples, flat, in the wanted precision."""
    chosen = as_slice(rows)
    copy = isinstance(chosen, slice) or None  # other rows are a new array already
    found = to_numpy(take(X, chosen)) if is_elsewhere(X) else X[chosen]
    return np.array(found, dtype=dtype, copy=copy).reshape(len(rows), -1)


def about(X: Array, rows: Array, centre: Array, memory: Array) -> Array:
    """The named samples minus a centre (I,), flat, in the precision of the centre.

    They are written into `memory`: fresh memory costs as much as the copy itself. Samples of
    another library stay in it.
    """
    if is_elsewhere(X):
        own: Array = of_type(reshaped(take(X, as_slice(rows)), (len(rows), -1)), wide_type(X))
        own = own - asarray_like(centre, own)
        return own
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


def as_slice(rows: Array) -> slice | Array:
    """Sorted positions as a slice, which takes no copy, if none is left out between them."""
    if len(rows) and rows[-1] - rows[0] + 1 == len(rows):
        return slice(int(rows[0]), int(rows[-1]) + 1)
    return rows


def row_blocks(n: int, bytes_per_row: int, budget: int = BLOCK_BYTES) -> Iterator[slice]:
    """Slices that cut n rows into blocks of at most `budget` bytes, one row at the least."""
    step = max(1, budget // max(1, bytes_per_row))
    for start in range(0, n, step):
        yield slice(start, min(n, start + step))


def check_not_too_large(squares: Array) -> None:
    """Refuse samples whose squares, about what they are taken about, are too large for float64."""
    if not np.all(squares < LARGEST):
        raise ValueError(
            "samples differ by numbers whose squares are too large for float64 (up to about 1e140 "
            "together); divide the samples by a large number first"
        )


def check_squares(counts: Array, means: Array, traces: Array) -> None:
    """Refuse samples whose squares are too large or too small for float64 numbers.

    Parameters
    ----------
    counts, means, traces : ndarrays of shape (C,), (C, I_1, ..., I_K) and (C,)
        Of each class; ``tr(S_c)``.
    """
    here = counts > 0
    flat = means[here].reshape(here.sum(), -1)
    with np.errstate(over="ignore", invalid="ignore"):
        steps = flat - flat[:1]
        squares = traces[here].sum() + counts[here] @ np.vecdot(steps, steps)
    level = np.abs(flat).max(initial=0.0)
    if not squares < LARGEST:
        raise ValueError(
            "samples differ by numbers whose squares, times their weights, are too large for "
            f"float64 (up to about 1e140 together); the mean is {level:.0e} at most; divide "
            "samples or weights by a large number first"
        )
    if 0 < squares < SMALLEST or (squares == 0 and 0 < level < SMALLEST**0.5):
        raise ValueError(
            "samples differ by numbers whose squares, times their weights, are too small for "
            f"float64 (down to about 1e-140 together); the mean is {level:.0e} at most; multiply "
            "samples or weights by a large number first"
        )
