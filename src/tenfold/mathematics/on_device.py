"""What grows with the number of samples, for arrays of other libraries: on their device.

Products of samples (moments), projections and distances are written once more here, with nothing
but the functions of the array API standard, and run where the samples are: on a GPU, if they are
there. The standard lacks generalised and partial eigenproblems, triangular solves and products in
place. All of that is about matrices whose size does not depend on the number of samples, and stays
on the host, in NumPy and SciPy: this is the border between the two.

`TWINS` has for a function of NumPy arrays that of arrays on a device. `STAGES` names, for a
function of two stages, the first of them; the second gets few numbers per sample, on the host.
Everything else reads the samples into NumPy's memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import prod
from typing import Any, NamedTuple

import numpy as np

from tenfold.mathematics.accumulate import ClassSums, row_blocks
from tenfold.mathematics.algebra import Array, shrinking_order
from tenfold.mathematics.deflation import (
    Block,
    block_features,
    blocks_reconstructed,
    minus_distances,
)
from tenfold.mathematics.moments import ClassMoments
from tenfold.mathematics.tuning import DEVICE_BYTES, SHIFT_ROWS
from tenfold.mathematics.two_covariances import coordinates, of_scores

Other = Any  # an array of another library

TWINS: dict[Any, Callable[..., Other]] = {}
STAGES: dict[Any, str] = {of_scores: "coordinates"}


class Place(NamedTuple):
    """Where arrays are: a namespace of the array API standard, and one of its devices."""

    xp: Any
    device: Any

    def __str__(self) -> str:
        return f"{self.xp.__name__.rpartition('.')[2]} on {self.device}"

    @property
    def has_float64(self) -> bool:
        """Whether the device has float64 numbers; Apple's GPUs do not."""
        kinds = self.xp.__array_namespace_info__().dtypes(device=self.device, kind="real floating")
        return "float64" in kinds

    def float_like(self, X: Other) -> Any:
        """The precision of results: float32 for float32 samples, else the widest."""
        narrow = X.dtype == self.xp.float32 or not self.has_float64
        return self.xp.float32 if narrow else self.xp.float64

    def put(self, array: Array, dtype: Any = None) -> Other:
        """A copy of a NumPy array here."""
        if array.dtype == np.float64 and not self.has_float64:
            array = array.astype(np.float32)
        found = self.xp.asarray(np.array(array, order="C"), device=self.device)
        return found if dtype is None else self.xp.astype(found, dtype)


def to_numpy(array: Other) -> Array:
    """An array of another library as a NumPy array, on the host."""
    if hasattr(array, "detach"):  # PyTorch
        return np.asarray(array.detach().cpu().numpy())
    if hasattr(array, "get"):  # CuPy
        return np.asarray(array.get())
    if hasattr(array, "__array_namespace__"):
        xp = array.__array_namespace__()
        host = xp.__array_namespace_info__().default_device()
        if host is not None and getattr(array, "device", host) != host:
            array = xp.asarray(array, device=host)
    return np.asarray(array)


def twin_of(function: Any) -> Callable[[Callable[..., Other]], Callable[..., Other]]:
    """A decorator: what it decorates takes a place as well, and stands for `function` there."""

    def register(twin: Callable[..., Other]) -> Callable[..., Other]:
        TWINS[function] = twin
        return twin

    return register


def run(work: Any, X: Other, place: Place) -> Any:
    """``work(X)`` on the device; a NumPy array where it ends on the host, None if it cannot begin.

    Parameters
    ----------
    work : callable
        A `functools.partial` of a function, with NumPy arrays among its keywords.
    X : array of shape (n, I_1, ..., I_K)
        Samples at that place.
    place : Place
        Where they are.
    """
    function: Any = getattr(work, "func", None)
    if function in TWINS:
        return TWINS[function](X, place, **work.keywords)
    if function in STAGES:
        stage = STAGES[function]
        first = run(work.keywords[stage], X, place)
        if first is not None:
            first = first if isinstance(first, np.ndarray) else to_numpy(first)
            return function(first, **{**work.keywords, stage: np.asarray})
    return None


# ── Moments ─────────────────────────────────────────────────────────────────────────────────────


def class_moments(
    X: Other, place: Place, y: Array | None, weight: Array | None, classes: Array
) -> ClassMoments:
    """Class moments, multiplied on the device in float64; counts, means and tables are NumPy's.

    Parameters
    ----------
    X : array of shape (n, I_1, ..., I_K)
        Samples at that place, which has float64 numbers.
    place : Place
        Where they are.
    y, weight : ndarrays of shape (n,) or None
        Labels and weights, on the host.
    classes : ndarray of shape (C,)
        All labels, sorted.
    """
    xp, n = place.xp, X.shape[0]
    sums = ClassSums(classes, tuple(X.shape[1:]))
    labels = np.zeros(n, dtype=np.intp) if y is None else y
    w = np.ones(n) if weight is None else weight
    flat = xp.reshape(X, (n, -1))
    for c, label in enumerate(classes):
        rows = np.flatnonzero((labels == label) & (w > 0))
        if not len(rows):
            continue
        heaviest = rows[np.argsort(-w[rows], kind="stable")[:SHIFT_ROWS]]
        some = to_numpy(xp.astype(_rows(flat, np.sort(heaviest), place), xp.float64))
        sums.shifts[c] = np.median(some, axis=0)  # as exact as in ClassSums, for the same reason
        shift, gram, total = place.put(sums.shifts[c]), None, None
        for block in row_blocks(len(rows), 8 * flat.shape[1], DEVICE_BYTES):
            Z = xp.astype(_rows(flat, rows[block], place), xp.float64) - shift
            own = place.put(np.sqrt(w[rows[block]]))[:, None]
            Z = Z * own
            added, products = xp.sum(Z * own, axis=0), xp.matmul(xp.matrix_transpose(Z), Z)
            total = added if total is None else total + added
            gram = products if gram is None else gram + products
        sums.counts[c] = w[rows].sum()
        sums.sums[c], sums.grams[c] = to_numpy(total), to_numpy(gram)
    return ClassMoments(classes, *sums.finish())


def _rows(X: Other, rows: Array, place: Place) -> Other:
    if rows[-1] - rows[0] + 1 == len(rows):
        return X[int(rows[0]) : int(rows[-1]) + 1, ...]
    return place.xp.take(X, place.put(rows.astype(np.int64)), axis=0)


# ── Projections ─────────────────────────────────────────────────────────────────────────────────


def project(X: Other, matrices: Sequence[Other], order: Sequence[int], xp: Any) -> Other:
    """Multiply modes of samples (n, I_1, ..., I_K) by matrices (J_k, I_k), in that order."""
    for mode in order:
        shape, matrix = X.shape, matrices[mode]
        folded = xp.reshape(X, (-1, shape[mode + 1], prod(shape[mode + 2 :])))
        new = (*shape[: mode + 1], matrix.shape[0], *shape[mode + 2 :])
        X = xp.reshape(xp.matmul(matrix, folded), new)
    return X


def projected(X: Other, place: Place, W: Block, centre: Array | None = None) -> Other:
    """Samples about a centre, projected, (n, r_1, ..., r_K), in float32 or float64."""
    xp, dtype = place.xp, place.float_like(X)
    matrices = [place.put(np.ascontiguousarray(P.T), dtype) for P in W]
    X = xp.reshape(X, (X.shape[0], *(len(P) for P in W)))
    if centre is not None:  # in the wider precision: offsets cost no digits
        origin = place.put(centre.reshape(X.shape[1:]))
        X = xp.astype(X, xp.result_type(origin.dtype, dtype)) - origin
    return project(xp.astype(X, dtype), matrices, shrinking_order(W), xp)


@twin_of(block_features)
def block_features_on(
    X: Other, place: Place, blocks: Sequence[Block], centre: Array | None = None, flat: bool = True
) -> Other:
    """Features of all blocks, side by side; those of a single block may stay tensors."""
    xp, n, dtype = place.xp, X.shape[0], place.float_like(X)
    if len(blocks) == 1:
        Y = projected(X, place, blocks[0], centre)
        return xp.reshape(Y, (n, -1)) if flat else Y
    left = xp.reshape(X, (n, *(len(W) for W in blocks[0])))
    left = xp.astype(left, xp.float64 if place.has_float64 else xp.float32)
    if centre is not None:
        left = left - place.put(centre.reshape(left.shape[1:]))
    features = []
    for block in blocks:
        features.append(xp.reshape(projected(left, place, block), (n, -1)))
        Q = [np.linalg.qr(W)[0] for W in block]
        part = projected(projected(left, place, Q), place, [basis.T for basis in Q])
        left = left - part
    return xp.astype(xp.concat(features, axis=1), dtype)


@twin_of(blocks_reconstructed)
def blocks_reconstructed_on(
    Y: Other, place: Place, blocks: Sequence[Block], centre: Array | None, shape: tuple[int, ...]
) -> Other:
    """The samples (n, *shape) that have the features Y; pseudo-inverses are made on the host."""
    xp, n = place.xp, Y.shape[0]
    flat = xp.reshape(Y, (n, -1))
    widths = np.cumsum([0, *(prod(W.shape[1] for W in block) for block in blocks)]).tolist()
    found: Other = 0.0
    for block, (first, last) in zip(blocks, pairwise(widths), strict=True):
        inverse = [np.linalg.pinv(W) for W in block]
        found = found + xp.reshape(projected(flat[:, first:last], place, inverse), (n, *shape))
    if centre is not None:
        found = found + place.put(centre.reshape(shape), found.dtype)
    return found


# ── Distances ───────────────────────────────────────────────────────────────────────────────────


@twin_of(minus_distances)
def minus_distances_on(X: Other, place: Place, blocks: Sequence[Block], mean: Array) -> Other:
    """Minus the distance of samples (n, I_1, ..., I_K) from a mean in a subspace, (n,)."""
    xp = place.xp
    Y = block_features_on(X, place, blocks, mean)
    wide = xp.astype(Y, xp.float64) if place.has_float64 else Y  # float32 may not hold squares
    return xp.astype(-xp.sqrt(xp.sum(wide * wide, axis=1)), Y.dtype)


@twin_of(coordinates)
def coordinates_on(X: Other, place: Place, steps: Any, mean: Array, directions: Array) -> Other:
    """Samples (n, I_1, ..., I_K) in the coordinates of a model, (n, d)."""
    xp = place.xp
    Y = X if steps is None else projected(X, place, *steps)
    widest = xp.float64 if place.has_float64 else xp.float32
    Y = xp.astype(xp.reshape(Y, (Y.shape[0], -1)), widest)
    return xp.matmul(Y - place.put(mean), place.put(directions))
