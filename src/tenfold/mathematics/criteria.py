"""What the methods ask for: the pair of scatters of each, as a problem that can be solved.

Every method of this library keeps one scatter large and another one small. Here are the pairs, and
what follows from the same scatters: the shrinkage of a class, and the spread of a class in its
subspace. A `Problem` holds the pairs of a stack of models, with the ranks and the ridge of each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import eigvalsh

from tenfold.mathematics.algebra import Array
from tenfold.mathematics.moments import ClassStatistics
from tenfold.mathematics.scatter import Factors, Scatter, Term, along_mode, is_shared


@dataclass(frozen=True, eq=False)
class Problem:
    """What M models maximise and minimise, and how many directions each may keep.

    Parameters
    ----------
    shape : tuple of K ints
        The shape (I_1, ..., I_K) of a sample.
    full_shape : tuple of K ints
        The shape before an exact change of basis, if there was one.
    maximise : Scatter
        The scatter to keep.
    minimise : Scatter or None
        The scatter to suppress; None when only the first counts.
    ranks : ndarray of shape (M, K)
        The rank of each mode for each model.
    ridge : ndarray of shape (M,)
        Added to the diagonal of the minimised scatter of every mode.
    absolute : ndarray of shape (M,)
        Whether that is the paper's absolute lambda. Otherwise it is relative to the mean
        eigenvalue of both scatters, per sample of the minimised one.
    balance : ndarray of shape (M,)
        How many samples `minimise` sums over for each one that both sum over. It makes a
        relative ridge mean the same whatever the sizes of the classes are.
    joined : dict
        The joined terms of stacks over the same statistics: S_I is a term of S_O too, and the
        banks of a search have the same classes.
    """

    shape: tuple[int, ...]
    full_shape: tuple[int, ...]
    maximise: Scatter
    minimise: Scatter | None
    ranks: Array
    ridge: Array
    absolute: Array
    balance: Array
    joined: dict[Any, Term]

    @classmethod
    def of(
        cls,
        statistics: ClassStatistics,
        maximise: Scatter,
        minimise: Scatter | None,
        *,
        ranks: Sequence[int],
        ridge: tuple[float, bool] = (0.0, False),
        balance: float = 1.0,
    ) -> Problem:
        """The problem of one model; the ridge comes with whether it is absolute."""
        return cls(
            statistics.shape,
            statistics.full_shape,
            maximise,
            minimise,
            np.minimum(ranks, statistics.shape)[None],
            np.array([ridge[0]]),
            np.array([ridge[1]]),
            np.array([balance]),
            statistics.joined,
        )

    def __len__(self) -> int:
        """Number of models."""
        return len(self.ranks)

    @classmethod
    def stacked(cls, problems: Sequence[Problem]) -> Problem:
        """The models of several problems over the same statistics, in order."""
        if len(problems) == 1:
            return problems[0]
        minimised = [p.minimise for p in problems if p.minimise is not None]
        joined = problems[0].joined
        return replace(
            problems[0],
            maximise=Scatter.stacked([p.maximise for p in problems], joined),
            minimise=Scatter.stacked(minimised, joined) if minimised else None,
            ranks=np.concatenate([p.ranks for p in problems]),
            ridge=np.concatenate([p.ridge for p in problems]),
            absolute=np.concatenate([p.absolute for p in problems]),
            balance=np.concatenate([p.balance for p in problems]),
        )

    def cut(self, models: Array) -> Problem:
        """The problem of some of the models."""
        if len(models) == len(self) == 1:
            return self
        return replace(
            self,
            maximise=self.maximise.of_models(models),
            minimise=None if self.minimise is None else self.minimise.of_models(models),
            ranks=self.ranks[models],
            ridge=self.ridge[models],
            absolute=self.absolute[models],
            balance=self.balance[models],
        )

    @property
    def scatters(self) -> list[Scatter]:
        """The one or two scatters."""
        return [self.maximise] if self.minimise is None else [self.maximise, self.minimise]

    @property
    def terms(self) -> list[Term]:
        """All terms of the scatters."""
        return [term for scatter in self.scatters for _, term in scatter.terms]

    def is_answered_by_passes(self) -> bool:
        """Whether each question costs a pass over samples that are not in memory."""
        return any(is_shared(term) for term in self.terms)

    def along_mode(self, mode: int, factors: Factors) -> tuple[Array, Array]:
        """The pair (A, B) along a mode, each (M, I_k, I_k); B has its ridge, and is never zero."""
        A, *rest = along_mode(self.scatters, mode, factors)
        if not rest:
            return A, A
        (B,) = rest
        sizes = trace(A) + trace(B)
        unit = self.balance * sizes / self.full_shape[mode]
        floor = np.finfo(float).eps * sizes
        floor = np.where(floor > 0, floor, 1.0)  # no scatter at all: every direction is as good
        ridge = np.maximum(np.where(self.absolute, self.ridge, self.ridge * unit), floor)
        return A, B + ridge[:, None, None] * np.eye(B.shape[1])

    def objective(self, W: Array, A: Array, B: Array) -> Array:
        """What each model reaches: the kept scatter, over the suppressed one if there is one."""
        kept = np.einsum("mir,mir->m", W, A @ W)
        if self.minimise is None:
            return np.asarray(kept)
        return np.asarray(kept / np.einsum("mir,mir->m", W, B @ W))


def trace(stack: Array) -> Array:
    """The trace of each matrix of a stack."""
    return np.asarray(np.trace(stack, axis1=1, axis2=2))


# ── The pairs ───────────────────────────────────────────────────────────────────────────────────


def class_specific(
    statistics: ClassStatistics, positive: int, shrinkage: float, **settings: Any
) -> Problem:
    """Everything else far from the mean of class number `positive`, that class tight around it."""
    share = float(statistics.counts[positive] / statistics.count)
    inside = statistics.in_class(positive)  # S_I, eq. 18
    about = statistics.total() + statistics.displacement(positive)  # all samples about M_p
    outside = about - inside  # S_O, eq. 17
    if shrinkage > 0:
        inside = inside * (1 - shrinkage) + statistics.within() * (shrinkage * share)
    return Problem.of(statistics, outside, inside, balance=share, **settings)


def between_within(statistics: ClassStatistics, **settings: Any) -> Problem:
    """Class means apart (S_b, eq. 10), classes tight (S_w, eq. 11)."""
    return Problem.of(statistics, statistics.between(), statistics.within(), **settings)


def total(statistics: ClassStatistics, **settings: Any) -> Problem:
    """As much of the scatter of all samples about their mean as the ranks allow."""
    return Problem.of(statistics, statistics.total(), None, **settings)


# ── What else the scatters say ──────────────────────────────────────────────────────────────────


def automatic_shrinkage(statistics: ClassStatistics) -> Array:
    """For each class the shrinkage that least misses its true covariance, if it is Gaussian.

    For the covariance S of a class, with nu degrees of freedom, and the pooled covariance T of all
    classes, with nu_w, the squared error of their mixture is least at ::

        (1 - nu / nu_w) E||S - Sigma||^2 / E||S - T||^2,

    since T holds S with the weight nu / nu_w. For Gaussian samples ``E||S - Sigma||^2`` is
    ``(tr(S)^2 + tr(S^2)) / nu``, and the denominator is observed. A single sample gives 1. Weights
    are counts: nu is their sum less one.
    """
    own, cross, pooled = statistics.covariance_products
    free = np.maximum(statistics.counts - 1, 0.0)
    all_free = max(statistics.count - int((statistics.counts > 0).sum()), np.finfo(float).tiny)
    scale = float(statistics.traces.sum())
    if not scale > 0:
        return np.ones(len(free))
    traces = statistics.traces / scale
    nu = np.where(free > 0, free, 1.0)
    noise = (traces**2 + own) / nu**3 * np.maximum(1 - nu / all_free, 0.0)
    distance = own / nu**2 - 2 * cross / (nu * all_free) + pooled / all_free**2
    share = np.divide(noise, distance, out=np.ones_like(noise), where=distance > 0)
    return np.where(free > 0, np.clip(share, 0.0, 1.0), 1.0)


def ranks_of_shares(statistics: ClassStatistics, shares: dict[int, float]) -> dict[int, int]:
    """For each mode the fewest dimensions that keep a share of its total scatter."""
    whole = [np.eye(size)[None] for size in statistics.shape]
    ranks = {}
    for mode, share in shares.items():
        (scatter,) = along_mode([statistics.total()], mode, whole)
        kept = np.cumsum(eigvalsh(scatter[0])[::-1].clip(0))
        enough = kept >= (share - 1e-12) * kept[-1]  # rounding must not ask for one more
        ranks[mode] = int(np.argmax(enough)) + 1
    return ranks


def in_class_spreads(
    statistics: ClassStatistics, projections: Sequence[Array], shrinkage: Array
) -> Array:
    """Root mean square distance of each class from its mean in its own subspace, (C,).

    With shrinkage the mean square is mixed with that of all classes about their means, as the
    in-class scatter was. A class that is a single point takes the latter alone.
    """
    square = partial(mean_square, projections=projections)
    classes = range(len(statistics.classes))
    each = Scatter.stacked([statistics.in_class(c) for c in classes], statistics.joined)
    own = square(each, count=statistics.counts)
    if not shrinkage.any() and (own > 1e-9 * own.max()).all():
        return np.sqrt(own)
    pooled = square(statistics.within(), count=statistics.count)
    mixed = (1 - shrinkage) * own + shrinkage * pooled
    point = mixed <= 1e-12 * pooled
    return np.asarray(np.sqrt(np.where(point, np.where(pooled > 0, pooled, 1.0), mixed)))


def out_class_spreads(
    statistics: ClassStatistics, projections: Sequence[Array], positives: Sequence[int]
) -> Array:
    """Root mean square distance of all other samples from a class mean in its subspace, (M,).

    Parameters
    ----------
    statistics : ClassStatistics
        Of all samples.
    projections : sequence of K ndarrays of shape (M, I_k, r_k)
        The subspaces of M models.
    positives : sequence of M ints
        The class of each model.

    Returns
    -------
    ndarray of shape (M,)
        Positive numbers; 1 where all other samples lie on the class mean.
    """
    outside = [
        statistics.total() + statistics.displacement(p) - statistics.in_class(p) for p in positives
    ]
    others = statistics.count - statistics.counts[np.asarray(positives)]
    stack = Scatter.stacked(outside, statistics.joined)
    squares = mean_square(stack, projections, np.maximum(others, np.finfo(float).tiny))
    return np.asarray(np.sqrt(np.where(squares > 0, squares, 1.0)))


def mean_square(scatter: Scatter, projections: Sequence[Array], count: Array | float) -> Array:
    """Mean squared length of what M models see of a scatter of so many samples, (M,)."""
    (S,) = along_mode([scatter], len(projections) - 1, projections)
    last = projections[-1]
    return np.asarray(np.einsum("mir,mir->m", last, S @ last) / count)
