"""Algorithm 1: solve each mode in turn until the subspaces rest, for a stack of models at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from typing import TypeVar

import numpy as np

from tenfold.mathematics.algebra import Array
from tenfold.mathematics.criteria import Criterion, Recipe
from tenfold.mathematics.solvers import NESTED, orthonormalised, with_fixed_signs

T = TypeVar("T")
Share = Callable[[Callable[[Array], T], list[Array]], list[T]]  # work on parts of a stack

CACHE_BYTES = 2**19  # of one matrix per model of a part
NOTHING = 1e-10  # of the scatter: what may be left of it by rounding


@dataclass(frozen=True, eq=False)
class Alternation:
    """What `alternate` found.

    Parameters
    ----------
    projections : list of K ndarrays of shape (M, I_k, max r_k)
        One projection per mode and model; columns beyond a model's rank are zero.
    objective : ndarray of shape (M, rounds)
        The objective after each round; a model that rests keeps its last value.
    n_iter : ndarray of shape (M,)
        Rounds made for each model.
    converged : ndarray of shape (M,)
        Whether its subspaces came to rest.
    """

    projections: list[Array]
    objective: Array
    n_iter: Array
    converged: Array

    @classmethod
    def stacked(cls, parts: list[Alternation], order: Array) -> Alternation:
        """One stack of the models of several; `order` holds the number of each in that stack."""
        widths = np.max([[W.shape[2] for W in part.projections] for part in parts], axis=0)
        rounds = max(part.objective.shape[1] for part in parts)
        back = np.argsort(order)

        def joined(arrays: list[Array]) -> Array:
            return np.concatenate(arrays)[back]

        return cls(
            [
                joined([padded(p.projections[k], width) for p in parts])
                for k, width in enumerate(widths)
            ],
            joined(
                [
                    np.pad(p.objective, ((0, 0), (0, rounds - p.objective.shape[1])), "edge")
                    for p in parts
                ]
            ),
            joined([part.n_iter for part in parts]),
            joined([part.converged for part in parts]),
        )


def in_order(work: Callable[[Array], T], parts: list[Array]) -> list[T]:
    """Work on one part of a stack after the other; `system.threads` shares them out."""
    return [work(part) for part in parts]


def alternate(
    criterion: Criterion,
    ranks: Array,
    recipe: Recipe,
    share: Share[Alternation] = in_order,
) -> Alternation:
    """Maximise a criterion over one projection per mode, one mode at a time.

    Models do not depend on each other, so a stack is cut into parts whose matrices stay in the
    cache, and each part is solved from the first round to the last.

    Parameters
    ----------
    criterion : Criterion
        What M models maximise and minimise.
    ranks : ndarray of shape (M, K)
        The rank of each mode for each model.
    recipe : Recipe
        Solver, ridge, start and stopping rule.
    share : callable
        Who works on which part of the stack.

    Returns
    -------
    Alternation
        Projections and the history of the objective.
    """
    in_cache = CACHE_BYTES // (8 * max(criterion.shape) ** 2)
    step = min(max(ceil(len(ranks) / 4), in_cache // 4, 1), max(in_cache, 16))  # work for threads
    if criterion.is_answered_by_passes():
        step = len(ranks)  # a pass answers all models
    order = np.lexsort((criterion.owners, *-ranks.T))  # one width, and the longest work first
    if any(part.by_group for part in criterion.parts):
        order = np.argsort(criterion.owners, kind="stable")
    parts = [order[start : start + step] for start in range(0, len(order), step)]

    def work(part: Array) -> Alternation:
        return _alternate(criterion.of_models(part), ranks[part], recipe.of_models(part))

    found = share(work, parts)
    alone = len(found) == 1 and bool((order[1:] > order[:-1]).all())
    return found[0] if alone else Alternation.stacked(found, order)


def _alternate(criterion: Criterion, ranks: Array, recipe: Recipe) -> Alternation:
    """`alternate` for one part of a stack."""
    n_models, n_modes = ranks.shape
    start = _start(criterion, ranks, recipe.init)
    modes = [_Mode(criterion, recipe, k, ranks[:, k]) for k in range(n_modes)]
    factors, bases = list(start), list(start)
    once = recipe.direct or n_modes == 1
    max_iter = 1 if once else recipe.max_iter
    active = np.arange(n_models)
    objective, n_iter = np.zeros((n_models, max_iter)), np.zeros(n_models, dtype=int)
    for t in range(max_iter):
        moved = np.zeros(len(active))
        for k, mode in enumerate(modes):
            shared = _shared_problems(mode, ranks) if t == k == 0 else None
            W, basis, pair = mode.solve(start if recipe.direct else factors, active, shared)
            if t == 0:
                factors[k], bases[k] = W, basis
                moved += np.inf
            else:
                moved += subspace_distance(basis, bases[k][active])
                factors[k][active], bases[k][active] = W, basis
        objective[active, t:] = mode.value(W, *pair)[:, None]
        n_iter[active] = t + 1
        active = active[moved > recipe.tol]
        if not len(active):
            break
    if recipe.direct:
        objective[:, 0] = modes[-1].objective(factors)
    converged = np.ones(n_models, dtype=bool)
    converged[active] = once
    signed = [with_fixed_signs(W) for W in factors]
    return Alternation(signed, objective[:, : n_iter.max()], n_iter, converged)


@dataclass(frozen=True, eq=False)
class _Mode:
    """One mode of a part of the stack, and how it is solved."""

    criterion: Criterion
    recipe: Recipe
    mode: int
    ranks: Array  # (M,)

    def solve(
        self, factors: list[Array], active: Array, shared: tuple[Array, Array] | None
    ) -> tuple[Array, Array, tuple[Array, Array]]:
        """New columns of each active model, an orthonormal basis of them, and the pair solved.

        With `shared`, the models at ``shared[0]`` are solved at the highest rank, and model m
        takes its columns from number ``shared[1][m]`` of them.
        """
        models = active if shared is None else shared[0]
        ranks = self.ranks[models] if shared is None else np.full(len(models), self.ranks.max())
        A, B = self._pair(factors, models)
        W, basis = self._solve_stack(A, B, ranks)
        if shared is not None:
            own = (np.arange(W.shape[2]) < self.ranks[:, None])[:, None, :]
            W, basis, A, B = W[shared[1]] * own, basis[shared[1]] * own, A[shared[1]], B[shared[1]]
        W = basis if self.recipe.orthonormal else W
        return W, basis, (A, B)

    def _solve_stack(self, A: Array, B: Array, ranks: Array) -> tuple[Array, Array]:
        """Solutions (M, I_k, max r_k) and orthonormal bases of them."""
        W = self.recipe.solver(A, B, ranks)
        W = padded(W, int(self.ranks.max()))
        return W, orthonormalised(W)

    def objective(self, factors: list[Array]) -> Array:
        """The objective of every model."""
        return self.value(factors[self.mode], *self._pair(factors, np.arange(len(self.ranks))))

    def value(self, W: Array, A: Array, B: Array) -> Array:
        """The objective of each model, given its pair of scatters."""
        kept = np.einsum("mir,mir->m", W, A @ W)
        if self.criterion.minimise is None:
            return np.asarray(kept)
        return np.asarray(kept / np.einsum("mir,mir->m", W, B @ W))

    def _pair(self, factors: list[Array], models: Array) -> tuple[Array, Array]:
        """The scatters of the mode, the minimised one with its ridge."""
        A, B = self.criterion.along_mode(self.mode, [W[models] for W in factors], models)
        if self.criterion.minimise is None:
            return A, B
        unit = self.criterion.relative_ridge(self.mode, A, B, models)
        ridges = self.recipe.ridges(A, B, unit, models)
        return A, B + ridges[:, None, None] * np.eye(B.shape[1])


def padded(W: Array, width: int) -> Array:
    """Columns of zeros added to a stack (M, I_k, r) until it has `width` of them."""
    return W if W.shape[2] == width else np.pad(W, ((0, 0), (0, 0), (0, width - W.shape[2])))


def subspace_distance(first: Array, second: Array) -> Array:
    """Frobenius distance of the projectors onto two subspaces.

    It is 0 when the subspaces are the same, whatever their bases, and the square root of twice
    the rank when they are orthogonal.

    Parameters
    ----------
    first, second : ndarray of shape (..., n, r)
        Orthonormal columns; columns of zeros do not count.

    Returns
    -------
    ndarray of shape (...)
        ``||Q_1 Q_1^T - Q_2 Q_2^T||_F``.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.mathematics.alternation import subspace_distance
    >>> Q = np.eye(3)[:, :2]
    >>> float(subspace_distance(Q, Q[:, ::-1]))
    0.0
    """
    overlap = first.swapaxes(-1, -2) @ second
    only_first, only_second = first - second @ overlap.swapaxes(-1, -2), second - first @ overlap
    squared = (only_first**2).sum(axis=(-1, -2)) + (only_second**2).sum(axis=(-1, -2))
    return np.asarray(np.sqrt(squared))


def _shared_problems(mode: _Mode, ranks: Array) -> tuple[Array, Array] | None:
    """Models whose first problem differs, and for every model which of them it shares.

    Before the first solution all models see the same start, so models that differ only in the
    rank of this mode have one problem, and their solutions are nested.
    """
    if mode.recipe.solver not in NESTED or len(ranks) == 1:
        return None
    criterion = mode.criterion
    coefficients = [c for s in criterion.scatters for c, _ in s.terms if np.ndim(c)]
    others = np.delete(ranks, mode.mode, axis=1)
    ridges = np.broadcast_to(mode.recipe.ridge, (len(ranks),))
    absolute = np.broadcast_to(mode.recipe.absolute_ridge, (len(ranks),))
    columns = [criterion.owners, criterion.balance, ridges, absolute, *coefficients, *others.T]
    table = np.stack(columns, axis=1)
    _, first, share = np.unique(table, axis=0, return_index=True, return_inverse=True)
    return first, share.ravel()


def _start(criterion: Criterion, ranks: Array, init: str) -> list[Array]:
    """What the first solutions see of each mode, (M, I_k, width).

    Samples that sum to zero along a mode, such as windows without their mean, are nothing but
    rounding seen through columns of ones. They are seen as they are, then.
    """
    start = [_initial(init, size, r) for size, r in zip(criterion.shape, ranks.T, strict=True)]
    if init == "identity" or len(start) == 1 or criterion.is_answered_by_passes():
        return start
    whole = [_initial("identity", size, ranks[:1, 0]) for size in criterion.shape]
    first = np.array([0])
    seen, there = (
        sum(float(np.trace(S[0])) for S in criterion.along_mode(0, factors, first))
        for factors in ([W[:1] for W in start], whole)
    )
    return start if seen > NOTHING * there else _start(criterion, ranks, "identity")


def _initial(init: str, size: int, ranks: Array) -> Array:
    """What the first solutions see of a mode that has no solution yet, (M, I_k, width)."""
    if init == "identity":
        return np.broadcast_to(np.eye(size), (len(ranks), size, size))
    if init != "ones":
        raise ValueError(f"init is {init!r}; expected 'ones' or 'identity'")
    own = np.arange(ranks.max()) < ranks[:, None]
    return np.broadcast_to(own[:, None, :].astype(float), (len(ranks), size, own.shape[1]))
