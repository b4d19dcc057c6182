"""Moments of a stream that changes: they forget, give samples back, and move to another mean."""

from __future__ import annotations

from dataclasses import replace
from numbers import Real
from typing import Any, NamedTuple, Self, cast

import numpy as np
from scipy.linalg import LinAlgError, cholesky

from tenfold.mathematics.accumulate import check_same_kind
from tenfold.mathematics.algebra import Array
from tenfold.mathematics.arrays import square_lengths

EPS = float(np.finfo(float).eps)
FORGOTTEN = 1e-100  # a class with less than this share of the largest weight is forgotten
EMPTY = 1e-10  # less than this share of its weight left means that nothing is left of a class
EXACT = 1e-8  # to which moments after taking samples back are those of the others alone
ROUNDING = 64 * EPS  # of a sum of squares: what a scatter may be off without being wrong
DEFINITE_SIZE = 2048  # numbers in a sample up to which every eigenvalue is looked at


class ChangingMoments:
    """What class moments can do beside being added: `decay`, `revert`, ``-`` and `recentred`.

    Each gives new moments; the old ones stay as they are.
    """

    classes: Array
    counts: Array
    means: Array
    scatters: Array

    def decay(self, factor: float) -> Self:
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
            means, scatters[gone] = np.where(_column(gone, means), 0.0, means), 0.0
        return self._with(counts, means, scatters)

    def revert(self, X: Array, y: Array | None = None, sample_weight: Array | None = None) -> Self:
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
        batch: Self = cast(Any, type(self)).from_batch(X, y, sample_weight)
        return self - batch

    def recentred(self, centre: Array | None = None, *, balanced: bool = False) -> Self:
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
        here = self.counts > 0
        known = self.means[here]
        if not len(known):
            return self
        weights = np.ones(len(known)) if balanced else self.counts[here]
        first = known[0]
        off = np.tensordot(weights / weights.sum(), known - first, axes=1)
        means = np.zeros_like(self.means)
        means[here] = (known - first) - off + to
        return self._with(self.counts, means, self.scatters)

    def __sub__(self, other: Self) -> Self:
        if self.means.shape[1:] != other.means.shape[1:]:
            raise ValueError(
                f"moments of samples of shape {other.means.shape[1:]} cannot be taken from those "
                f"of shape {self.means.shape[1:]}; both must be of samples of the same shape"
            )
        at = _places(self, other)
        counts, means, scatters = (a.copy() for a in (self.counts, self.means, self.scatters))
        bounds = np.zeros(len(counts))
        for b, c in enumerate(at):
            if other.counts[b] > 0:
                left = _taken(_row(self, c), _row(other, b), self.classes[c])
                counts[c], means[c], scatters[c], bounds[c] = left
        result = self._with(counts, means, scatters)
        _check_known_to_enough_digits(result, bounds)
        return result

    def _with(self, counts: Array, means: Array, scatters: Array) -> Self:
        changed = {"counts": counts, "means": means, "scatters": scatters}
        return cast(Self, replace(cast(Any, self), **changed))


def check_decay(name: str, factor: Any) -> float:
    """A factor by which weights may be multiplied, or an error that names the parameter."""
    is_number = isinstance(factor, Real) and not isinstance(factor, bool | np.bool_)
    if not is_number or not 0 < float(factor) <= 1:
        raise ValueError(
            f"{name} is {factor!r}; expected a number above 0 and at most 1: 1 forgets nothing, "
            "0.99 forgets a hundredth of the past; to forget everything, fit anew"
        )
    return float(factor)


def decayed_weights(n: int, factor: float, sample_weight: Array | None) -> Array:
    """Weights (n,) of samples that each forget those before: the last one has its own weight."""
    ages = factor ** np.arange(n - 1, -1, -1.0)
    return ages if sample_weight is None else ages * sample_weight


class _Class(NamedTuple):
    """Count, mean (I_1, ..., I_K) and scatter (I, I) of one class."""

    n: float
    mean: Array
    scatter: Array

    @property
    def trace(self) -> float:
        return float(np.trace(self.scatter))


def _row(moments: ChangingMoments, c: int) -> _Class:
    return _Class(float(moments.counts[c]), moments.means[c], moments.scatters[c])


def _places(moments: ChangingMoments, taken: ChangingMoments) -> Array:
    """Where the classes that are taken stand among those that are there."""
    check_same_kind(taken.classes, moments.classes)
    at = np.searchsorted(moments.classes, taken.classes)
    known = at < len(moments.classes)
    known[known] = moments.classes[at[known]] == taken.classes[known]
    strange = ~known & (taken.counts > 0)
    if strange.any():
        raise ValueError(
            f"samples of class {taken.classes[strange][0]!s} cannot be taken back: there are none; "
            f"the classes are {moments.classes.tolist()!s:.200}; pass samples that were added"
        )
    return np.where(known, at, 0)


def _taken(all_: _Class, part: _Class, label: Any) -> tuple[float, Array, Array, float]:
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


def _check_known_to_enough_digits(left: Any, bounds: Array) -> None:
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


def _column(which: Array, like: Array) -> Array:
    return which.reshape(-1, *[1] * (like.ndim - 1))
