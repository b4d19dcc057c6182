"""How moments forget samples, and give some back: what is exact, and what is refused."""

from __future__ import annotations

from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cholesky

from tenfold.mathematics.algebra import Array
from tenfold.mathematics.arrays import square_lengths

EPS = float(np.finfo(float).eps)
FORGOTTEN = 1e-100  # a class with less than this share of the largest weight is forgotten
EMPTY = 1e-10  # less than this share of its weight left means that nothing is left of a class
EXACT = 1e-8  # to which moments after taking samples back are those of the others alone
ROUNDING = 64 * EPS  # of a sum of squares: what a scatter may be off without being wrong
DEFINITE_SIZE = 2048  # numbers in a sample up to which every eigenvalue is looked at


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
