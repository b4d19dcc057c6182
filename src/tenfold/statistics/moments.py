"""Class moments: exact statistics of labelled tensor samples that can be added.

Everything the methods of this library learn from data follows from one small table per class:
its count n_c, its mean M_c and its scatter ``S_c = sum_{j in c} (x_j - M_c)(x_j - M_c)^T``.

Moments of parts of the samples add up to those of all. They can forget samples, and give some back:
what is exact, and what is refused, is said below. What a method asks of them is in
`class_statistics`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real

import numpy as np
from scipy.linalg import LinAlgError, blas, cholesky

from tenfold.linalg.arrays import Array, square_lengths
from tenfold.statistics.accumulate import ClassSums, check_same_kind, merged_means

Batch = tuple[Array, Array | None, Array | None]  # samples, labels, weights
EPS = float(np.finfo(float).eps)
FORGOTTEN = 1e-100  # a class with less than this share of the largest weight is forgotten
EMPTY = 1e-10  # less than this share of its weight left means that nothing is left of a class
EXACT = 1e-8  # to which moments after taking samples back are those of the others alone
ROUNDING = 64 * EPS  # of a sum of squares: what a scatter may be off without being wrong
DEFINITE_SIZE = 2048  # numbers in a sample up to which every eigenvalue is looked at


@dataclass(frozen=True, eq=False)
class ClassMeans:
    """Count and mean of every class.

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

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape (I_1, ..., I_K) of a sample."""
        return self.means.shape[1:]

    @property
    def count(self) -> float:
        """The sum of all sample weights, N."""
        return float(self.counts.sum())

    @cached_property
    def mean(self) -> Array:
        """The mean of all samples, of shape (I_1, ..., I_K).

        It is taken about the first class mean, so that a common offset costs no digits.
        """
        here = self.counts > 0
        first = self.means[np.argmax(here)]
        share = np.where(here, self.counts, 0) / max(self.count, np.finfo(float).tiny)
        offsets = np.where(here.reshape(-1, *[1] * first.ndim), self.means - first, 0)
        return np.asarray(first + np.tensordot(share, offsets, axes=1))


@dataclass(frozen=True, eq=False)
class ClassMoments(ClassMeans):
    """Count, mean and scatter of every class: exact, weighted, and mergeable with ``+``.

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

    Examples
    --------
    However a stream is batched, in any order, the moments are the same:

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
            (`tenfold.statistics.accumulate.float32_suffices`), and are summed in float64.
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
        return own if total is None else total.plus(own, inplace=True)

    def __add__(self, other: ClassMoments) -> ClassMoments:
        return self.plus(other)

    def plus(self, other: ClassMoments, inplace: bool = False) -> ClassMoments:
        """The sum; with `inplace`, in the memory of the other one if it has all classes."""
        _check_addable(self, other)
        classes = np.union1d(self.classes, other.classes)
        codes = [np.searchsorted(classes, part.classes) for part in (other, self)]
        return _summed([other, self], codes, classes, inplace)

    def summed_by(self, codes: Array, n: int) -> ClassMoments:
        """Sums of cells.

        A cell is a row: a class, or part of a class. The moments of several cells together follow
        from those of each cell.

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

    def present(self) -> ClassMoments:
        """The moments of the rows that have samples."""
        here = self.counts > 0
        if here.all():
            return self
        return ClassMoments(
            self.classes[here], self.counts[here], self.means[here], self.scatters[here]
        )

    def pooled(self) -> ClassMoments:
        """The moments of all samples as one class, 0."""
        if len(self.classes) == 1:
            return replace(self, classes=np.zeros(1, dtype=np.intp))
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
        means = self.means
        scatters = self.scatters * factor
        if gone.any():
            column = gone.reshape(-1, *[1] * (means.ndim - 1))
            means = np.where(column, 0.0, means)
            scatters[gone] = 0.0
        return replace(self, counts=counts, means=means, scatters=scatters)

    def __sub__(self, other: ClassMoments) -> ClassMoments:
        _check_addable(self, other)
        taken = other.present()
        strange = ~np.isin(taken.classes, self.classes)
        if strange.any():
            raise ValueError(
                f"samples of class {taken.classes[strange][0]!s} cannot be taken back: there are "
                f"none; the classes are {self.classes.tolist()!s:.200}; pass samples "
                "that were added"
            )
        counts = self.counts.copy()
        means = self.means.copy()
        scatters = self.scatters.copy()
        bounds = np.zeros(len(counts))
        for b, c in enumerate(np.searchsorted(self.classes, taken.classes)):
            counts[c], means[c], scatters[c], bounds[c] = rest_of_cell(self, c, taken, b)
        result = replace(self, counts=counts, means=means, scatters=scatters)
        check_known_to_enough_digits(result, bounds)
        return result

    @cached_property
    def traces(self) -> Array:
        """tr(S_c) of every class, of shape (C,)."""
        return np.asarray(np.trace(self.scatters, axis1=1, axis2=2))


def _check_addable(one: ClassMoments, other: ClassMoments) -> None:
    """Refuse moments of samples of other shapes, or with labels of another kind."""
    if one.shape != other.shape:
        raise ValueError(
            f"moments of samples of shape {one.shape} and {other.shape} cannot be added or taken "
            "from each other; both must come from samples of the same shape"
        )
    check_same_kind(other.classes, one.classes)


def _summed(
    parts: Sequence[ClassMoments], codes: Sequence[Array], classes: Array, inplace: bool = False
) -> ClassMoments:
    """The sum of the rows of several moments, by code; see `ClassMoments.summed_by`.

    With `inplace` in the memory of the first, if its rows stay where they are.
    """
    n = len(classes)
    all_codes = np.concatenate(codes)
    all_counts = np.concatenate([part.counts for part in parts])
    all_means = np.concatenate([part.means for part in parts])
    counts, means, steps = merged_means(all_counts, all_means, all_codes, n)
    if inplace and np.array_equal(codes[0], np.arange(n)):
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


def check_decay(name: str, factor: object) -> float:
    """A factor by which weights may be multiplied, or an error that names the parameter."""
    is_switch = isinstance(factor, bool | np.bool_)
    number = float(factor) if isinstance(factor, Real) and not is_switch else 0.0
    if not 0 < number <= 1:
        raise ValueError(
            f"{name} is {factor!r}; expected a number above 0 and at most 1: 1 forgets nothing, "
            "0.99 forgets a hundredth of the past; to forget everything, fit anew"
        )
    return number


def rest_of_cell(
    whole: ClassMoments, c: int, taken: ClassMoments, b: int
) -> tuple[float, Array, Array, float]:
    """Count, mean and scatter of row c without row b, and what they may be off by rounding."""
    label = whole.classes[c]
    n = float(whole.counts[c])
    n_taken = float(taken.counts[b])
    count = n - n_taken
    size = whole.traces[c]
    sizes = whole.traces[c] + taken.traces[b]
    if count < -EMPTY * n:
        raise _never_added(label, f"{n_taken:g} of them are taken from {n:g}")
    step = (taken.means[b] - whole.means[c]).ravel()
    scatter = whole.scatters[c] - taken.scatters[b]
    rounded = EPS * float(np.linalg.norm(whole.means[c]))  # of a mean far from zero
    if count <= EMPTY * n:
        off = np.abs(scatter).max(initial=0.0)
        far = float(np.linalg.norm(step))
        lengths = ROUNDING * np.sqrt(sizes / n) + 16 * rounded
        if off > ROUNDING * sizes + 8 * rounded * np.sqrt(n * sizes) or far > lengths:
            raise _never_added(label, "all of them are taken, but those that are there differ")
        return 0.0, np.zeros(whole.shape), np.zeros_like(scatter), 0.0
    weight = n_taken * n / count
    push = weight * float(step @ step)  # S_all = S_part + S_rest + weight step step^T
    scatter -= weight * np.outer(step, step)
    mean = whole.means[c] - (n_taken / count) * step.reshape(whole.shape)
    sizes += push
    lost = rounded * (np.sqrt(n * size) + np.sqrt(weight * push))
    bound = ROUNDING * sizes + 16 * lost
    if not is_definite(scatter, bound):
        raise _never_added(label, "without them its scatter would have a negative eigenvalue")
    if float(np.trace(scatter)) <= bound:
        scatter[...] = 0.0  # one sample is left, or equal ones
    moved = n / count * rounded  # how far the mean may be off
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


def _never_added(label: object, why: str) -> ValueError:
    return ValueError(
        f"samples of class {label!s} cannot be taken back: {why}; pass samples that were added, "
        "with the weights that they have now (after decay, those of then times the factors since)"
    )


def check_known_to_enough_digits(left: ClassMoments, bounds: Array) -> None:
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
