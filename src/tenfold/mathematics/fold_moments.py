"""The moments of classes in folds: what it takes to hold samples out without reading them again.

Samples are dealt to folds by where they lie on a ruler, so that the folds do not depend on the
order of the samples, on how a stream is cut, on whether a sample is repeated or weighted, or on
units, offset and precision of the numbers; or by the name of a group of samples that belong
together.

Folds have the numbers N to 2 N - 1 where there are N of them. So moments of samples that were dealt
to other numbers of folds are told apart, and not added up by mistake.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from itertools import pairwise
from math import prod
from typing import NamedTuple
from zlib import crc32

import numpy as np

from tenfold.mathematics.accumulate import merged_means, row_blocks
from tenfold.mathematics.algebra import Array, to_numpy
from tenfold.mathematics.moments import ClassMoments
from tenfold.mathematics.two_covariances import PooledMoments

N_FOLDS = 16
THIRDS = 3  # what is costly is found without a third of the folds, not without every fold
RULER = 128.0  # marks on the ruler per standard deviation of what white noise would give
LARGE = 256  # numbers or samples above which folds are held out two, and then four at a time
SHORT = 1e-2  # of the largest square of a step in a class: half the weight of a long one
_ODD = np.uint64(0x9E3779B97F4A7C15)


def content_folds(X: Array, n_folds: int = N_FOLDS) -> Array:
    """The fold of each sample (n, ...), by what is in it: samples that are equal share a fold.

    The bits of the numbers are added up as integers, with odd weights. So the fold depends neither
    on the precision in which the numbers came nor on how they lie, and numbers far from zero are
    told apart like others.
    """
    X = to_numpy(X)
    folds = np.empty(len(X), dtype=np.intp)
    n_numbers = prod(X.shape[1:])
    weights = np.arange(n_numbers, dtype=np.uint64) * _ODD + np.uint64(1) | np.uint64(1)
    for rows in row_blocks(len(X), 8 * n_numbers):
        flat = np.ascontiguousarray(X[rows], dtype=np.float64).reshape(-1, n_numbers) + 0.0
        bits = flat.view(np.uint64)  # + 0.0, since -0.0 equals 0.0
        bits ^= bits >> np.uint64(32)
        mixed = (bits @ weights) * _ODD >> np.uint64(32)
        folds[rows] = mixed * np.uint64(n_folds) >> np.uint64(32)
    return folds


def name_folds(names: Array, n_folds: int = N_FOLDS) -> Array:
    """The fold of each group (n,), by its name or number: a group is in one fold in any batch."""
    if names.dtype.kind not in "biuf":
        names = np.array([crc32(str(name).encode()) for name in names])
    return n_folds + content_folds(names[:, None], n_folds)


def ruler_folds(X: Array) -> Array:
    """The fold of each sample (n, ...), by where it lies on a ruler along one fixed contrast.

    The sample is taken about the mean of its numbers and in units of its length. So copies share a
    fold, and neither units nor an offset nor the last bits of the numbers matter. One or two
    numbers have no place on the ruler and are dealt by their content.
    """
    X = to_numpy(X)
    n_numbers = prod(X.shape[1:])
    if n_numbers < 3:
        return N_FOLDS + content_folds(X)
    contrast = np.sin(np.arange(1, n_numbers + 1) ** 2 * 0.61803398875)
    contrast -= contrast.mean()
    contrast /= np.sqrt((contrast**2).mean())
    folds = np.empty(len(X), dtype=np.intp)
    for rows in row_blocks(len(X), 16 * n_numbers):
        Z = np.ascontiguousarray(X[rows], dtype=np.float64).reshape(-1, n_numbers)
        Z = Z - Z.mean(axis=1, keepdims=True)
        largest = np.abs(Z).max(axis=1, keepdims=True)  # squares neither overflow nor vanish
        Z /= np.where(largest > 0, largest, 1.0)
        length = np.sqrt(np.vecdot(Z, Z))
        place = np.vecdot(Z, contrast) / np.where(length > 0, length, 1.0)
        folds[rows] = N_FOLDS + np.floor(RULER * place).astype(np.intp) % N_FOLDS
    return folds


class Points(NamedTuple):
    """Points (m, d) of classes, with weights (m,)."""

    X: Array
    codes: Array
    weights: Array


@dataclass(frozen=True, eq=False)
class FoldMoments:
    """The moments of C classes in F folds, in r coordinates.

    Folds are held out in G groups: fold f is in group f mod G.

    Parameters
    ----------
    counts : ndarray of shape (F, C)
        The sum of the sample weights.
    means : ndarray of shape (F, C, r)
        The mean samples.
    within : ndarray of shape (G, r, r)
        The scatters about these means, added up over the classes and folds of a group.
    size : int
        How many numbers a sample has.
    points : callable
        ``points(fold, D)`` gives `Points` with the means and scatters of the classes in a fold,
        along the columns of D (r, d).
    """

    counts: Array
    means: Array
    within: Array
    size: int
    points: Callable[[int, Array], Points]
    _without: dict[tuple[int, ...], PooledMoments] = field(default_factory=dict, init=False)

    @classmethod
    def of_samples(
        cls,
        Z: Array,
        codes: Array,
        folds: Array,
        weights: Array | None,
        n_classes: int,
        size: int,
    ) -> FoldMoments:
        """From samples (n, r), the class and the fold of each, or 0 if there are none."""
        n_folds, folds = N_FOLDS if folds.any() else 1, folds % N_FOLDS
        w = np.ones(len(Z)) if weights is None else weights
        Z, codes, folds, w = (column[w > 0] for column in (Z, codes, folds, w))
        cell = folds * n_classes + codes
        counts = np.bincount(cell, weights=w, minlength=n_folds * n_classes)
        order = np.argsort(cell, kind="stable")
        starts = np.searchsorted(cell[order], np.arange(n_folds * n_classes + 1))
        rows = [order[a:b] for a, b in pairwise(starts)]
        means = np.zeros((n_folds * n_classes, Z.shape[1]))
        for c in np.flatnonzero(counts):
            means[c] = w[rows[c]] @ Z[rows[c]] / counts[c]
        n_groups = _n_groups(n_folds, float(w.sum()), size)
        within = np.empty((n_groups, Z.shape[1], Z.shape[1]))
        for g in range(n_groups):
            own = np.flatnonzero(folds % n_groups == g)
            R = (Z[own] - means[cell[own]]) * np.sqrt(w[own])[:, None]
            within[g] = R.T @ R

        def points(f: int, D: Array) -> Points:
            first = f * n_classes
            own = order[starts[first] : starts[first + n_classes]]
            centres, codes = means[first : first + n_classes] @ D, cell[own] - first
            deviations = (Z[own] @ D - centres[codes]) * np.sqrt(w[own])[:, None]
            sizes = np.diff(starts[first : first + n_classes + 1])
            begins, found = starts[first : first + n_classes] - starts[first], []
            widths = 2 ** np.ceil(np.log2(np.maximum(sizes, 1))).astype(np.intp)
            for width in np.unique(widths[sizes > 0]):  # classes of about one size are one stack
                alike, nth = np.flatnonzero((widths == width) & (sizes > 0)), np.arange(width)
                places = np.minimum(begins[alike][:, None] + nth, len(deviations) - 1)
                inside = (nth < sizes[alike][:, None])[..., None]  # zeros add nothing to a scatter
                rows = np.where(inside, deviations[places], 0.0)
                found.append(_points_of_classes(centres[alike], rows, counts[first + alike], alike))
            return _joined(found, D.shape[1])

        shape = n_folds, n_classes
        return cls(counts.reshape(shape), means.reshape(*shape, -1), within, size, points)

    @classmethod
    def of_tables(cls, moments: ClassMoments, classes: Array) -> FoldMoments:
        """From moments of classes in folds, or of classes, which are then in one."""
        codes = np.searchsorted(classes, moments.classes)
        folds = np.zeros(len(codes), dtype=np.intp)
        folds = folds if moments.folds is None else moments.folds % N_FOLDS
        n_folds = 1 if moments.folds is None else N_FOLDS
        shape, size = (n_folds, len(classes)), moments.scatters.shape[-1]
        counts, means = np.zeros(shape), np.zeros((*shape, size))
        counts[folds, codes] = moments.counts
        means[folds, codes] = moments.means.reshape(-1, size)
        n_groups = _n_groups(shape[0], float(moments.counts.sum()), size)
        groups = [folds % n_groups == g for g in range(n_groups)]
        within = np.stack([moments.scatters[own].sum(axis=0) for own in groups])

        def points(f: int, D: Array) -> Points:
            own = np.flatnonzero((folds == f) & (moments.counts > 0))
            S = D.T @ moments.scatters[own] @ D
            return _points_along(
                means[f, codes[own]] @ D, *_axes(S), moments.counts[own], codes[own]
            )

        return cls(counts, means, within, size, points)

    @property
    def n_groups(self) -> int:
        """Number of groups of folds."""
        return len(self.within)

    @property
    def largest_share(self) -> float:
        """That of the samples in the fold that has most of them; 0 if these do not vary."""
        in_fold = self.counts.sum(axis=1)
        fold = int(in_fold.argmax())
        varies = np.trace(self.within[fold % self.n_groups]) > 0
        return float(in_fold[fold] / in_fold.sum()) if varies else 0.0

    def folds_of(self, group: int) -> list[int]:
        """The folds of a group."""
        return list(range(group, len(self.counts), self.n_groups))

    def without(self, groups: Collection[int] = ()) -> PooledMoments:
        """The moments of all samples, or of those outside of some groups of folds."""
        asked = tuple(groups)
        if asked not in self._without:
            self._without[asked] = self._pooled(asked)
        return self._without[asked]

    def _pooled(self, groups: tuple[int, ...]) -> PooledMoments:
        kept = [g for g in range(self.n_groups) if g not in groups]
        folds = np.isin(np.arange(len(self.counts)) % self.n_groups, kept)
        rows, codes = np.nonzero((self.counts > 0) & folds[:, None])
        counts, means = self.counts[rows, codes], self.means[rows, codes]
        n, common, steps = merged_means(counts, means, codes, self.counts.shape[1])
        within = self.within[kept].sum(axis=0) + steps.T @ steps
        return PooledMoments(n, common, within, self.size)

    def held_out(self, group: int, D: Array) -> Points:
        """Points in place of the samples of a group of folds, along the columns of D (r, d)."""
        return _joined([self.points(f, D) for f in self.folds_of(group)], D.shape[1])


def _n_groups(n_folds: int, n_samples: float, size: int) -> int:
    """In how many groups folds are held out: fewer where a solution is costly."""
    few = min(n_samples, size)
    return min(n_folds, N_FOLDS // (1 if few <= LARGE else 2 if few <= 2 * LARGE else 4))


def _points_of_classes(means: Array, deviations: Array, counts: Array, codes: Array) -> Points:
    """Points with the means (k, d) of k classes and the scatters of their deviations (k, n, d)."""
    if deviations.shape[1] > deviations.shape[2]:
        steps, squares = _axes(deviations.mT @ deviations)
    else:
        _, turns = np.linalg.eigh(deviations @ deviations.mT)
        steps = turns.mT @ deviations
        squares = np.vecdot(steps, steps)
    return _points_along(means, steps, squares, counts, codes)


def _axes(scatters: Array) -> tuple[Array, Array]:
    """Rows (k, d, d), at right angles to each other, with these scatters, and their squares."""
    squares, vectors = np.linalg.eigh((scatters + scatters.mT) / 2)
    return np.sqrt(squares.clip(0))[..., None] * vectors.mT, squares


def _points_along(
    means: Array, steps: Array, squares: Array, counts: Array, codes: Array
) -> Points:
    """Two points along every step (k, n, d) of a class, or its mean if it has none.

    All weigh about the same, but a step weighs little where it is short: rounding makes steps
    where there are none, and it must not matter how many.
    """
    squares = squares.clip(0)
    short = SHORT * squares.max(axis=1, initial=0.0, keepdims=True)
    weights = np.divide(squares, squares + short, out=np.zeros_like(squares), where=squares > 0)
    kept = weights > 0
    of_class, _ = np.nonzero(kept)
    at, flat = means[of_class], np.flatnonzero(~kept.any(axis=1))
    share = weights[kept] / weights.sum(axis=1)[of_class]
    step = steps[kept] / np.sqrt(share * counts[of_class])[:, None]
    both = np.concatenate([of_class, of_class, flat])
    halves = share * counts[of_class] / 2
    weights = np.concatenate([halves, halves, counts[flat]])
    return Points(np.concatenate([at + step, at - step, means[flat]]), codes[both], weights)


def _joined(parts: list[Points], d: int) -> Points:
    if not parts:
        return Points(np.empty((0, d)), np.empty(0, dtype=np.intp), np.empty(0))
    return Points(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
