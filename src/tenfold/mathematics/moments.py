"""Class moments: exact statistics of labelled tensor samples that can be added.

Everything the methods of this library learn from data follows from one small table per class:
its count n_c, its mean M_c and its scatter ``S_c = sum_{j in c} (x_j - M_c)(x_j - M_c)^T``.

    within      sum_c S_c                                              eq. 11
    between     sum_c n_c (M_c - M)(M_c - M)^T                         eq. 10
    total       within + between                                       MPCA
    in-class    S_p                                                    eq. 18
    out-class   total + N (M - M_p)(M - M_p)^T - S_p                   eq. 17

`ClassStatistics` says what can be asked; `ClassMoments` answers from tables. The same questions are
answered from the samples, in memory or by passes over a store (`sample_statistics`).
Moments can forget samples, and give some back: what is exact, and what is refused, is said below.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, blas, cholesky

from tenfold.mathematics.accumulate import (
    ClassSums,
    check_same_kind,
    check_squares,
    merged_means,
)
from tenfold.mathematics.algebra import Array, square_lengths
from tenfold.mathematics.bases import Span
from tenfold.mathematics.scatter import (
    SampleTerm,
    Scatter,
    TableTerm,
    Term,
)

Batch = tuple[Array, Array | None, Array | None]  # samples, labels, weights
EPS = float(np.finfo(float).eps)
FORGOTTEN = 1e-100  # a class with less than this share of the largest weight is forgotten
EMPTY = 1e-10  # less than this share of its weight left means that nothing is left of a class
EXACT = 1e-8  # to which moments after taking samples back are those of the others alone
ROUNDING = 64 * EPS  # of a sum of squares: what a scatter may be off without being wrong
DEFINITE_SIZE = 2048  # numbers in a sample up to which every eigenvalue is looked at


@dataclass(frozen=True, eq=False)
class ClassStatistics(ABC):
    """What a method may ask about labelled samples.

    A term of a scatter is made when it is first asked for, and then kept, so that the models of a
    stack share it. ``dataclasses.replace(statistics)`` is a copy that has kept nothing.

    Parameters
    ----------
    classes : ndarray of shape (C,)
        The labels, sorted.
    counts : ndarray of shape (C,)
        The sum of the sample weights of each class.
    means : ndarray of shape (C, I_1, ..., I_K)
        The mean sample of each class; zero for a class without samples.
    """

    classes: Array
    counts: Array
    means: Array

    # -- counts and means ------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape (I_1, ..., I_K) of a sample."""
        return self.means.shape[1:]

    @property
    def basis(self) -> Span | None:
        """The basis in which the samples are given, if it was changed."""
        return None

    @property
    def full_shape(self) -> tuple[int, ...]:
        """The shape of a sample before any change of basis."""
        return self.shape if self.basis is None else (self.basis.full_size,)

    @property
    def full_means(self) -> Array:
        """The mean sample of each class before any change of basis."""
        return self.means

    @property
    def count(self) -> float:
        """The sum of all sample weights, N."""
        return float(self.counts.sum())

    @cached_property
    def mean(self) -> Array:
        """The mean of all samples, of shape (I_1, ..., I_K)."""
        return weighted_mean(self.means, self.counts)

    @cached_property
    def _full_mean(self) -> Array:
        return weighted_mean(self.full_means, self.counts)

    def other_mean(self, p: int) -> Array:
        """The mean of all samples but those of class number p, before any change of basis."""
        own = self.counts[p]
        step = self._full_mean - self.full_means[p]
        return np.asarray(self._full_mean + own / (self.count - own) * step)

    @cached_property
    def between_squares(self) -> float:
        """The sum of squares of the class means about the mean of all samples."""
        steps = (self.means - self.mean).reshape(len(self.means), -1)
        return float(self.counts @ np.vecdot(steps, steps))

    # -- scatters --------------------------------------------------------------------------------

    def within(self) -> Scatter:
        """``sum_c S_c`` (eq. 11)."""
        return self._kept("within", self._within)

    def total(self) -> Scatter:
        """All samples about their mean: within + between."""
        return self._kept("total", self._total)

    def in_class(self, p: int) -> Scatter:
        """S_p, the samples of class number p about their mean (eq. 18)."""
        return self._kept(p, lambda: self._in_class(p))

    def between(self) -> Scatter:
        """``sum_c n_c (M_c - M)(M_c - M)^T`` (eq. 10)."""
        return self._kept("between", self._means_about_mean)

    def displacement(self, p: int) -> Scatter:
        """``N (M_p - M)(M_p - M)^T``: by how much the total about M_p exceeds that about M."""
        return self._kept(("displacement", p), lambda: self._mean_about_mean(p))

    @property
    @abstractmethod
    def covariance_products(self) -> tuple[Array, Array, float]:
        """Frobenius products <S_c, S_c> and <S_c, S_w> of every class, and <S_w, S_w>.

        S_w is the within scatter, and all of them are over its squared trace, so that no units
        are too large or too small.
        """

    @property
    @abstractmethod
    def traces(self) -> Array:
        """tr(S_c) of every class, of shape (C,)."""

    # -- terms -----------------------------------------------------------------------------------

    @abstractmethod
    def _within(self) -> Term: ...

    @abstractmethod
    def _total(self) -> Term: ...

    @abstractmethod
    def _in_class(self, p: int) -> Term: ...

    @cached_property
    def joined(self) -> dict[Any, Term]:
        """Terms that stacks of models joined, by the ids of what they joined."""
        return {}

    @cached_property
    def _terms(self) -> dict[Any, Term]:
        check_squares(self.counts, self.means, self.traces)
        return {}

    def _kept(self, name: Any, make: Callable[[], Term]) -> Scatter:
        if name not in self._terms:
            self._terms[name] = make()
        return Scatter.of(self._terms[name])

    def _means_about_mean(self) -> SampleTerm:
        everybody = np.zeros(len(self.counts), dtype=np.intp)
        seen = np.flatnonzero(self.counts)
        return SampleTerm(self.means, self.mean[None], everybody, [seen], self.counts)

    def _mean_about_mean(self, p: int) -> SampleTerm:
        everybody, weights = (
            np.zeros(len(self.counts), dtype=np.intp),
            np.full_like(self.counts, self.count),
        )
        return SampleTerm(self.means, self.mean[None], everybody, [np.array([p])], weights)


@dataclass(frozen=True, eq=False)
class ClassMoments(ClassStatistics):
    """Count, mean and scatter of every class: exact, weighted, and mergeable with ``+``.

    The rows may also be cells that are finer than classes: every class in every fold. They add up
    in the same way, and `by_class` gives those of the classes.

    Parameters
    ----------
    classes : ndarray of shape (C,)
        The labels, sorted.
    counts : ndarray of shape (C,)
        The sum of the sample weights of each class.
    means : ndarray of shape (C, I_1, ..., I_K)
        The mean sample of each class.
    scatters : ndarray of shape (C, I, I)
        The scatter of each class about its mean, over vectorised samples.
    folds : ndarray of shape (C,) or None, default=None
        The fold of each row, rising within a class, if rows are classes in folds. Then a label
        stands in as many rows as its class has folds with samples. N folds have the numbers N to
        2 N - 1.

    Examples
    --------
    Any cut of a stream, in any order, gives the same moments:

    >>> import numpy as np
    >>> from tenfold import ClassMoments
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(9, 4, 3)), np.array(list("abcabcabc"))
    >>> parts = ClassMoments.from_batch(X[:2], y[:2]) + ClassMoments.from_batch(X[2:], y[2:])
    >>> whole = ClassMoments.from_batch(X, y)
    >>> bool(np.allclose(parts.scatters, whole.scatters))
    True
    """

    scatters: Array
    folds: Array | None = None

    @classmethod
    def from_batch(
        cls,
        X: Array,
        y: Array | None = None,
        sample_weight: Array | None = None,
        *,
        classes: Array | None = None,
    ) -> ClassMoments:
        """Moments of one batch.

        Parameters
        ----------
        X : ndarray of shape (n, I_1, ..., I_K)
            The samples. They are read in blocks and never copied or cast whole.
        y : ndarray of shape (n,) or None
            The labels; with None all samples form one class.
        sample_weight : ndarray of shape (n,) or None
            Non-negative weights, 1 if None.
        classes : ndarray of shape (C,) or None
            All labels, sorted, when the batch may lack some.

        Returns
        -------
        ClassMoments
            In float64. float32 samples may be multiplied in float32, when that loses nothing
            (`tenfold.mathematics.accumulate.float32_suffices`), and are summed in float64.
        """
        return cls.from_blocks([(X, y, sample_weight)], classes=classes)

    @classmethod
    def from_blocks(
        cls,
        blocks: Iterable[Batch | ClassMoments],
        *,
        classes: Array | None = None,
        total: ClassMoments | None = None,
    ) -> ClassMoments:
        """Moments of a stream of blocks, read once.

        Equals the sum of the moments of the blocks, without a table per block.

        Parameters
        ----------
        blocks : iterable of (X, y, sample_weight)
            As `from_batch` takes them; y and sample_weight may be None. Moments of a block that
            are there already may stand for it.
        classes : ndarray of shape (C,) or None
            All labels, sorted; None takes them as they come.
        total : ClassMoments or None
            Moments of earlier blocks, to which these are added.

        Returns
        -------
        ClassMoments
            Of all blocks.
        """
        sums: ClassSums | None = None
        for block in blocks:
            if isinstance(block, ClassMoments):
                total = block if total is None else total + block
                continue
            X, y, weight = block
            X = X if hasattr(X, "dtype") else np.asarray(X, dtype=float)
            labels = np.zeros(X.shape[0], dtype=np.intp) if y is None else np.asarray(y)
            weight = None if weight is None else np.asarray(weight)
            present = np.unique(labels) if classes is None else np.asarray(classes)
            if sums is None:
                sums = ClassSums(present, X.shape[1:])
            else:
                sums.cover(present)
            sums.add(X, labels, weight)
        if sums is None:
            if total is None:
                raise ValueError("there are no blocks to take moments of; pass at least one")
            return total
        own = cls(sums.classes, *sums.finish())
        return own if total is None else total.plus(own, spend=True)

    def __add__(self, other: ClassMoments) -> ClassMoments:
        return self.plus(other)

    def plus(self, other: ClassMoments, spend: bool = False) -> ClassMoments:
        """The sum; with `spend`, in the memory of the other one if it has all classes."""
        (own, others), classes, n = _cell_keys(self, other)
        keys = np.union1d(own, others)
        codes = [np.searchsorted(keys, part) for part in (others, own)]
        found = _summed([other, self], codes, classes[keys // n], spend)
        return found if self.folds is None else replace(found, folds=keys % n)

    def summed_by(self, codes: Array, n: int) -> ClassMoments:
        """Sums of cells.

        A cell is a row: a class, or a class in a fold, at a site, on a day. What is known of all
        samples of some cells together is known from the cells.

        Parameters
        ----------
        codes : ndarray of shape (C,)
            The number of the sum to which each row belongs; -1 leaves a row out.
        n : int
            How many sums there are.

        Returns
        -------
        ClassMoments
            With the labels 0 to n - 1; a sum without samples has count 0.

        Examples
        --------
        >>> import numpy as np
        >>> from tenfold import ClassMoments
        >>> X = np.random.default_rng(0).normal(size=(6, 2))
        >>> four = ClassMoments.from_batch(X, np.array([0, 1, 2, 3, 0, 1]))
        >>> four.summed_by(np.array([0, 0, 1, 1]), 2).counts
        array([4., 2.])
        """
        return _summed([self], [np.asarray(codes)], np.arange(n))

    def by_class(self) -> ClassMoments:
        """The moments of the classes, of all their folds together."""
        if self.folds is None:
            return self
        classes, codes = np.unique(self.classes, return_inverse=True)
        return replace(self.summed_by(codes, len(classes)), classes=classes)

    def present(self) -> ClassMoments:
        """The moments of the rows that have samples."""
        here = self.counts > 0
        if here.all():
            return self
        classes, counts, means = (a[here] for a in (self.classes, self.counts, self.means))
        folds = None if self.folds is None else self.folds[here]
        return ClassMoments(classes, counts, means, self.scatters[here], folds)

    def pooled(self) -> ClassMoments:
        """The moments of all samples as one class, 0."""
        if len(self.classes) == 1:
            return replace(self, classes=np.zeros(1, dtype=np.intp), folds=None)
        return self.summed_by(np.zeros(len(self.classes), dtype=np.intp), 1)

    def decay(self, factor: float) -> ClassMoments:
        """The moments with all weights multiplied: what is old counts less.

        ``moments.decay(0.9) + ClassMoments.from_batch(X, y)`` is what a stream knows that forgets
        a tenth of the past with every batch.

        Parameters
        ----------
        factor : float
            Above 0 and at most 1.

        Returns
        -------
        ClassMoments
            Of the same samples with `factor` times their weights.

        Examples
        --------
        >>> import numpy as np
        >>> from tenfold import ClassMoments
        >>> moments = ClassMoments.from_batch(np.eye(3))
        >>> moments.decay(0.5).counts
        array([1.5])
        """
        factor = check_decay("factor", factor)
        counts = self.counts * factor
        counts[counts < FORGOTTEN * counts.max(initial=0.0)] = 0.0
        gone = counts == 0
        means, scatters = self.means, self.scatters * factor
        if gone.any():
            column = gone.reshape(-1, *[1] * (means.ndim - 1))
            means, scatters[gone] = np.where(column, 0.0, means), 0.0
        return replace(self, counts=counts, means=means, scatters=scatters)

    def revert(
        self, X: Array, y: Array | None = None, sample_weight: Array | None = None
    ) -> ClassMoments:
        """The moments without a batch that was added: as if it had never come.

        Parameters
        ----------
        X : ndarray of shape (n, I_1, ..., I_K)
            Samples that are in these moments, whenever they came and however the stream was cut.
        y : ndarray of shape (n,) or None, default=None
            Their labels.
        sample_weight : ndarray of shape (n,) or None, default=None
            The weights that they have now: after `decay`, those of then times the factors since.

        Returns
        -------
        ClassMoments
            To 1e-8 those of the other samples; a class of which all samples are taken back has
            count 0. Samples that were never added are refused where a count or an eigenvalue of a
            scatter would be negative, and so is what rounding has made unknown.

        Examples
        --------
        >>> import numpy as np
        >>> from tenfold import ClassMoments
        >>> X = np.random.default_rng(0).normal(size=(9, 2))
        >>> kept = ClassMoments.from_batch(X).revert(X[:4])
        >>> bool(np.allclose(kept.scatters, ClassMoments.from_batch(X[4:]).scatters))
        True
        """
        return self - ClassMoments.from_batch(X, y, sample_weight)

    def recentred(self, centre: Array | None = None, *, balanced: bool = False) -> ClassMoments:
        """The moments of the same samples, all moved alike so that their mean is elsewhere.

        Another day, site or camera moves all samples alike. Recentre the moments of each session
        before they are added, and classes are compared within sessions:
        ``sum_of_all = monday.recentred() + tuesday.recentred()``. Samples to be scored are
        recentred in the same way: ``X - X.mean(axis=0)``, or ``model.recentred(X)`` of
        `ProbabilisticLDA`.

        Parameters
        ----------
        centre : ndarray of shape (I_1, ..., I_K) or None, default=None
            Where the mean is to be; None means at zero.
        balanced : bool, default=False
            Take the mean of the class means for the mean, so that it does not matter how many
            samples of each class a session has. All sessions must have the same classes.

        Returns
        -------
        ClassMoments
            With the same counts and scatters.

        Examples
        --------
        >>> import numpy as np
        >>> from tenfold import ClassMoments
        >>> rng = np.random.default_rng(0)
        >>> X, y = rng.normal(size=(8, 3)), np.arange(8) % 2
        >>> days = [ClassMoments.from_batch(X + shift, y) for shift in (0, 100)]
        >>> one, other = [day.recentred() for day in days]
        >>> bool(np.allclose(one.means, other.means))
        True
        """
        shape = self.means.shape[1:]
        to = np.zeros(shape) if centre is None else np.asarray(centre, dtype=float)
        if to.shape != shape or not np.isfinite(to).all():
            raise ValueError(
                f"centre has shape {to.shape}, or holds NaN or infinity, but the samples have "
                f"shape {shape}; pass one finite number for each number of a sample"
            )
        known = self.by_class().present()
        if not len(known.means):
            return self
        weights = np.ones(len(known.means)) if balanced else known.counts
        first = known.means[0]
        off = np.tensordot(weights / weights.sum(), known.means - first, axes=1)
        means, here = np.zeros_like(self.means), self.counts > 0
        means[here] = (self.means[here] - first) - off + to
        return replace(self, means=means)

    def __sub__(self, other: ClassMoments) -> ClassMoments:
        at = _places(self, other)
        counts, means, scatters = (a.copy() for a in (self.counts, self.means, self.scatters))
        bounds = np.zeros(len(counts))
        for b, c in enumerate(at):
            if other.counts[b] > 0:
                left = rest_of_cell(_cell(self, c), _cell(other, b), self.classes[c])
                counts[c], means[c], scatters[c], bounds[c] = left
        result = replace(self, counts=counts, means=means, scatters=scatters)
        check_known_to_enough_digits(result, bounds)
        return result

    @cached_property
    def covariance_products(self) -> tuple[Array, Array, float]:
        """Frobenius products <S_c, S_c> and <S_c, S_w> of every class, and <S_w, S_w>."""
        unit = float(self.traces.sum()) or 1.0
        within = self.scatters.sum(axis=0) / unit
        own = np.array([np.vdot(scatter / unit, scatter / unit) for scatter in self.scatters])
        cross = np.array([np.vdot(scatter / unit, within) for scatter in self.scatters])
        return own, cross, float(np.vdot(within, within))

    @cached_property
    def traces(self) -> Array:
        """tr(S_c) of every class, of shape (C,)."""
        return np.asarray(np.trace(self.scatters, axis1=1, axis2=2))

    def _within(self) -> TableTerm:
        return TableTerm.from_matrices(self.scatters.sum(axis=0)[None], self.shape)

    def _total(self) -> TableTerm:
        return TableTerm.from_matrices(self.pooled().scatters, self.shape)

    def _in_class(self, p: int) -> TableTerm:
        return TableTerm.from_matrices(self.scatters[[p]], self.shape)


def _places(moments: ClassMoments, taken: ClassMoments) -> Array:
    """Where the cells that are taken stand among those that are there."""
    (keys, strange_keys), _, _ = _cell_keys(moments, taken)
    at = np.searchsorted(keys, strange_keys)
    known = at < len(keys)
    known[known] = keys[at[known]] == strange_keys[known]
    strange = ~known & (taken.counts > 0)
    if strange.any():
        raise ValueError(
            f"samples of class {taken.classes[strange][0]!s} cannot be taken back: there are none; "
            f"the classes are {np.unique(moments.classes).tolist()!s:.200}; pass samples that were "
            "added"
        )
    return np.where(known, at, 0)


def _cell(moments: ClassMoments, c: int) -> Cell:
    return Cell(float(moments.counts[c]), moments.means[c], moments.scatters[c])


def _cell_keys(one: ClassMoments, other: ClassMoments) -> tuple[list[Array], Array, int]:
    """Numbers of the rows of two moments, equal for equal cells and rising; ``class * n + fold``.

    Also the classes and n.
    """
    if one.shape != other.shape:
        raise ValueError(
            f"moments of samples of shape {one.shape} and {other.shape} cannot be added or taken "
            "from each other; both must come from samples of the same shape"
        )
    if (one.folds is None) != (other.folds is None):
        raise ValueError(
            "moments of classes in folds cannot be added to moments of classes, or taken from "
            "them; gather both with folds=True, or add up the folds with by_class() first"
        )
    check_same_kind(other.classes, one.classes)
    classes = np.union1d(one.classes, other.classes)
    parts, n = (one, other), 1
    if one.folds is not None and other.folds is not None:
        numbers = np.union1d(one.folds, other.folds)
        n = 1 + int(numbers.max(initial=0))
        if n > 2 * numbers.min(initial=n):
            raise ValueError(
                f"moments of folds with the numbers {numbers.tolist()} are of samples that were "
                "dealt to folds in two ways; gather both anew with folds=True, or add up the folds "
                "with by_class() first"
            )
    keys = [
        np.searchsorted(classes, part.classes) * n + (0 if part.folds is None else part.folds)
        for part in parts
    ]
    return keys, classes, n


def _summed(
    parts: Sequence[ClassMoments], codes: Sequence[Array], classes: Array, spend: bool = False
) -> ClassMoments:
    """The sum of the rows of several moments, by code; see `ClassMoments.summed_by`.

    With `spend` in the memory of the first, if its rows stay where they are.
    """
    n, all_codes = len(classes), np.concatenate(codes)
    all_counts = np.concatenate([part.counts for part in parts])
    all_means = np.concatenate([part.means for part in parts])
    counts, means, steps = merged_means(all_counts, all_means, all_codes, n)
    if spend and np.array_equal(codes[0], np.arange(n)):
        scatters, parts, codes = parts[0].scatters, parts[1:], codes[1:]
    else:
        scatters = np.zeros((n, *parts[0].scatters.shape[1:]))
    for part, places in zip(parts, codes, strict=True):
        for i in np.flatnonzero((places >= 0) & (part.counts > 0)):
            scatters[places[i]] += part.scatters[i]
    moved = np.flatnonzero(steps.any(axis=1))
    groups = all_codes[moved]
    for g in np.unique(groups):
        rows = steps[moved[groups == g]].T
        blas.dgemm(1.0, rows, rows, 1.0, scatters[g].T, trans_b=1, overwrite_c=1)  # in place
    return ClassMoments(classes, counts, means, scatters)


def weighted_mean(means: Array, counts: Array) -> Array:
    """Mean of class means, about the first so that a common offset costs no digits."""
    first = means[np.argmax(counts > 0)]
    share = np.where(counts > 0, counts, 0) / max(counts.sum(), np.finfo(float).tiny)
    offsets = np.where((counts > 0).reshape(-1, *[1] * first.ndim), means - first, 0)
    return np.asarray(first + np.tensordot(share, offsets, axes=1))


def check_decay(name: str, factor: Any) -> float:
    """A factor by which weights may be multiplied, or an error that names the parameter."""
    is_number = isinstance(factor, Real) and not isinstance(factor, bool | np.bool_)
    if not is_number or not 0 < float(factor) <= 1:
        raise ValueError(
            f"{name} is {factor!r}; expected a number above 0 and at most 1: 1 forgets nothing, "
            "0.99 forgets a hundredth of the past; to forget everything, fit anew"
        )
    return float(factor)


class Cell(NamedTuple):
    """Count, mean (I_1, ..., I_K) and scatter (I, I) of one cell."""

    n: float
    mean: Array
    scatter: Array

    @property
    def trace(self) -> float:
        """The sum of squares about the mean."""
        return float(np.trace(self.scatter))


def rest_of_cell(all_: Cell, part: Cell, label: Any) -> tuple[float, Array, Array, float]:
    """Count, mean and scatter of the rest of a class, and what they may be off by rounding."""
    count = all_.n - part.n
    if count < -EMPTY * all_.n:
        raise _never_added(label, f"{part.n:g} of them are taken from {all_.n:g}")
    step = (part.mean - all_.mean).ravel()
    sizes = all_.trace + part.trace
    rounded = EPS * float(np.linalg.norm(all_.mean))  # of a mean far from zero
    if count <= EMPTY * all_.n:
        off = np.abs(all_.scatter - part.scatter).max(initial=0.0)
        far = float(np.linalg.norm(step))
        lengths = ROUNDING * np.sqrt(sizes / all_.n) + 16 * rounded
        if off > ROUNDING * sizes + 8 * rounded * np.sqrt(all_.n * sizes) or far > lengths:
            raise _never_added(label, "all of them are taken, but those that are there differ")
        return 0.0, np.zeros_like(all_.mean), np.zeros_like(all_.scatter), 0.0
    weight = part.n * all_.n / count
    push = weight * float(step @ step)  # S_all = S_part + S_rest + weight step step^T
    scatter = all_.scatter - part.scatter
    scatter -= weight * np.outer(step, step)
    mean = all_.mean - (part.n / count) * step.reshape(all_.mean.shape)
    sizes += push
    lost = rounded * (np.sqrt(all_.n * all_.trace) + np.sqrt(weight * push))
    bound = ROUNDING * sizes + 16 * lost
    if not is_definite(scatter, bound):
        raise _never_added(label, "without them its scatter would have a negative eigenvalue")
    if float(np.trace(scatter)) <= bound:
        scatter[...] = 0.0  # one sample is left, or equal ones
    moved = all_.n / count * rounded  # how far the mean may be off
    lost += moved * np.sqrt(count * float(np.trace(scatter))) + count * moved**2
    return count, mean, scatter, EPS * sizes + lost


def is_definite(scatter: Array, bound: float) -> bool:
    """Whether no eigenvalue is negative by more than the rounding that `bound` allows for."""
    negative = bool((np.diagonal(scatter) < -bound).any())
    if not negative and 1 < len(scatter) <= DEFINITE_SIZE:
        try:
            cholesky(scatter + 2 * bound * np.eye(len(scatter)), overwrite_a=True)
        except LinAlgError:
            negative = bound > 0 or float(np.linalg.eigvalsh(scatter)[0]) < 0
    return not negative


def _never_added(label: Any, why: str) -> ValueError:
    return ValueError(
        f"samples of class {label!s} cannot be taken back: {why}; pass samples that were added, "
        "with the weights that they have now (after decay, those of then times the factors since)"
    )


def check_known_to_enough_digits(left: Any, bounds: Array) -> None:
    """Refuse what is left when its digits drowned in those of what was taken."""
    changed = np.flatnonzero(bounds)
    if not len(changed):
        return
    flat = (left.means - left.mean).reshape(len(left.means), -1)
    sizes = left.traces + left.counts * square_lengths(flat)
    alone = (sizes == 0) & (left.counts <= 1 + EMPTY)  # one sample has no scatter
    sizes[alone] = left.counts[alone] * square_lengths(left.means.reshape(len(sizes), -1))[alone]
    worst = changed[np.argmax(bounds[changed] - EXACT * sizes[changed])]
    if bounds[worst] > EXACT * sizes[worst]:
        raise ValueError(
            f"samples of class {left.classes[worst]!s} cannot be taken back exactly: what is left "
            f"of it has a scatter of {left.traces[worst]:.1e}, and rounding has left an error of "
            f"about {bounds[worst]:.1e}; gather the moments of the other samples anew, or subtract "
            "the common offset of all samples before adding them"
        )
