"""Many models of vectors that differ by few columns: what they share is solved once.

The pair of class number p, of n_p samples among N, is ::

    A_p = T + N d d^T - Z Z^T          all other samples about the mean of the class
    B_p = s S_w + (1 - s) Z Z^T + l I  the class about its mean, shrunk, with a ridge

(up to factors per class), where the total T and the within scatter S_w are those of all classes,
and only the displacement d and the deviations Z of n_p samples are its own. One generalised
eigenproblem ``F^T T F = diag(tau)``, ``F^T (S_w + rho I) F = I`` serves all classes. In its basis
every pair is diagonal but for the few columns ``G = F^T [d, Z]``:

    (diag(tau) + G a G^T) u = mu (I + G b G^T) u.

So an eigenvector with the value mu has ``u_i = (G y)_i / (mu - tau_i)`` for some small y. Where
tau_i is far below every wanted mu, in the *tail*, these vectors lie close to the span of
``G / (pole - tau)`` for a few poles: with Zolotarev's poles the error falls by a factor of 20 to
2000 with each. The *head*, the largest tau, is kept as it is. A dense eigenproblem of head and
tail, of a hundred or two hundred rows instead of N, gives the wanted directions; residuals say
whether they are good enough, and models for which they are not are solved without this.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, eigh
from scipy.special import ellipj, ellipk

from tenfold.mathematics.algebra import Array
from tenfold.mathematics.criteria import Problem
from tenfold.mathematics.scatter import SampleTerm, Scatter, along_mode
from tenfold.mathematics.solvers import with_fixed_signs
from tenfold.mathematics.span import Span

FAR = 0.4  # of the smallest wanted value: where the tail may begin
EXACT = 1e-8  # largest residual, in units of the value itself
AIMED = 3e-9  # error of vectors in the tail, most of whose length is in the head
FEWEST = 4  # models for which a shared problem is solved


@dataclass(frozen=True, eq=False)
class Own:
    """What sets the models apart: columns (n, k) of each, and what A and B make of these.

    Parameters
    ----------
    columns : list of M ndarrays of shape (n, k)
        Displacements and deviations.
    in_A, in_B : lists of M ndarrays of shape (k,)
        The factor of every column's square in each of the scatters.
    """

    columns: list[Array]
    in_A: list[Array]
    in_B: list[Array]


@dataclass(frozen=True, eq=False)
class SharedCore:
    """The shared part of some models, diagonal, and the few columns of each in its basis.

    Parameters
    ----------
    models : ndarray of shape (M,)
        Their numbers in the problem.
    values : ndarray of shape (n,)
        tau, the largest first.
    vectors : ndarray of shape (I, n)
        F, for samples as they came.
    own : Own
        Their columns, in the basis F; `in_B` is relative to the shared part of B.
    scale : ndarray of shape (M,)
        By how much B exceeds that.
    ridge : ndarray of shape (M,)
        The ridge that is part of it.
    has_within : bool
        Whether S_w is a part of it, or the ridge alone.
    ranks : ndarray of shape (M,)
        How many directions are wanted.
    """

    models: Array
    values: Array
    vectors: Array
    own: Own
    scale: Array
    ridge: Array
    has_within: bool
    ranks: Array


def shared_cores(problem: Problem) -> list[SharedCore]:
    """The shared parts of as many models of vectors as have one; none where it does not pay."""
    if len(problem) < FEWEST or problem.unit is None:
        return []
    parts = _common_and_own(problem)
    if parts is None:
        return []
    T, S_w, in_B, own = parts
    most, widest = int(problem.ranks.max()), max(G.shape[1] for G in own.columns)
    if 2 * (most + widest) + 5 * widest > len(T) // 2:
        return []
    ridge = problem.ridges(_unit_sizes(problem, T))
    relative = np.divide(ridge, in_B, out=np.full_like(ridge, np.inf), where=in_B > 0)
    _, first, group = np.unique(
        np.round(np.log(relative), 12), return_index=True, return_inverse=True
    )
    cores = []
    for number, example in enumerate(first):
        models = np.flatnonzero(group == number)
        if len(models) >= FEWEST:
            rho = float(relative[example])
            core = _core(T, S_w, rho, problem.basis)
            if core is not None:
                shrunk = bool(np.isfinite(rho))
                scale = in_B[models] if shrunk else ridge[models]
                cores.append(_with_models(problem, core, own, models, scale, ridge[models], shrunk))
    return cores


def _common_and_own(problem: Problem) -> tuple[Array, Array | None, Array, Own] | None:
    """T, S_w, the factor of S_w in each B, and the columns of each model; or None."""
    n_models, common = len(problem), []
    own: dict[int, tuple[SampleTerm, Array, Array]] = {}
    assert problem.minimise is not None
    assert problem.unit is not None
    for side, scatter in enumerate((problem.maximise, problem.minimise)):
        shared = []
        for (coefficient, term), groups in zip(scatter.terms, scatter.groups, strict=True):
            each = np.broadcast_to(np.asarray(coefficient, dtype=float), (n_models,))
            if term.n_groups == 1:
                shared.append((each, term))
            elif isinstance(term, SampleTerm):
                own.setdefault(id(term), (term, groups, np.zeros((2, n_models))))[2][side] = each
            else:
                return None
        common.append(shared)
    (of_A, of_B) = common
    if len(of_A) != 1 or (of_A[0][0] != 1).any() or len(of_B) > 1 or not own:
        return None
    if of_A[0][1] is not problem.unit.terms[0][1]:
        return None  # the ridge is in units of what A shares, and that is not the total
    T, *S_w = (
        along_mode([Scatter.of(term)], 0, [np.eye(problem.shape[0])[None]])[0][0]
        for _, term in of_A + of_B
    )
    columns, in_A, in_B = [], [], []
    for m in range(n_models):
        blocks = [
            (_independent(np.concatenate(list(term.deviations(int(groups[m]))))), factors[:, m])
            for term, groups, factors in own.values()
        ]
        columns.append(np.concatenate([Z for Z, _ in blocks]).T)
        both = np.concatenate([np.broadcast_to(factor, (len(Z), 2)) for Z, factor in blocks])
        in_A.append(both[:, 0])
        in_B.append(both[:, 1])
    within = of_B[0][0] if of_B else np.zeros(n_models)
    return T, S_w[0] if S_w else None, within, Own(columns, in_A, in_B)


def _unit_sizes(problem: Problem, T: Array) -> Array:
    """The trace of the unit of each model's ridge, T and perhaps columns of its own."""
    assert problem.unit is not None
    sizes = np.full(len(problem), np.trace(T))
    columns = zip(problem.unit.terms[1:], problem.unit.groups[1:], strict=True)
    for (coefficient, term), groups in columns:
        assert isinstance(term, SampleTerm)
        squares = [sum(float(np.vdot(Z, Z)) for Z in term.deviations(int(g))) for g in groups]
        sizes += coefficient * np.array(squares)
    return sizes


def _independent(Z: Array) -> Array:
    """Rows with the same ``Z^T Z``, one fewer: deviations from a mean sum to zero."""
    if len(Z) < 2:
        return Z
    squares, turn = np.linalg.eigh(Z @ Z.T)
    there = squares > len(Z) * np.finfo(float).eps * squares[-1]
    return np.asarray(turn[:, there].T @ Z)


def _core(
    T: Array, S_w: Array | None, rho: float, basis: Span | None
) -> tuple[Array, Array, Array] | None:
    """tau, F in the basis of the samples and F as they came; None where B is nearly singular."""
    try:
        if S_w is None or not np.isfinite(rho):
            values, F = np.linalg.eigh(T)
        else:
            values, F = eigh(T, S_w + rho * np.eye(len(T)), check_finite=False)
    except LinAlgError:
        return None
    values, F = values[::-1], np.ascontiguousarray(F[:, ::-1])
    return values, F, F if basis is None else basis.lifted(F)


def _with_models(
    problem: Problem,
    core: tuple[Array, Array, Array],
    own: Own,
    models: Array,
    scale: Array,
    ridge: Array,
    has_within: bool,
) -> SharedCore:
    """The core with the columns of its models in its basis."""
    values, F, vectors = core
    ends = np.cumsum([own.columns[m].shape[1] for m in models])
    together = F.T @ np.concatenate([own.columns[m] for m in models], axis=1)
    columns = np.split(together, ends[:-1], axis=1)
    in_B = [own.in_B[m] / b for m, b in zip(models, scale, strict=True)]
    seen = Own(columns, [own.in_A[m] for m in models], in_B)
    ranks = problem.ranks[models, 0]
    return SharedCore(models, values, vectors, seen, scale, ridge, has_within, ranks)


def solve_shared(
    problem: Problem, orthonormal: bool, share: Callable[..., Any]
) -> tuple[Array, Array, Array, Array, Array] | None:
    """Solve the models that share a core, M of them; None where there are none.

    Returns
    -------
    tuple of ndarrays of shape (M,), (M, I, r), (M,), (M,) and (M,)
        Their numbers, sorted; their projections, for samples as they came; what these keep and
        leave of the two scatters; and the objective.
    """
    cores = shared_cores(problem)
    if not cores:
        return None
    n_models, size = len(problem), len(cores[0].vectors)
    W = np.zeros((n_models, size, int(problem.ranks.max())))
    numbers = np.zeros((4, n_models))  # kept, suppressed, objective, and whether it is exact
    for core in cores:
        work = partial(_solve_some, core=core, orthonormal=orthonormal, W=W, numbers=numbers)
        share(work, np.array_split(np.arange(len(core.models)), min(8, len(core.models))))
    exact = np.flatnonzero(numbers[3])
    kept, suppressed, objective, _ = numbers[:, exact]
    return exact, W if len(exact) == n_models else W[exact], kept, suppressed, objective


def _solve_some(part: Array, core: SharedCore, orthonormal: bool, W: Array, numbers: Array) -> None:
    """Solve the models of one part, and write them where they belong."""
    for number in part:
        found = leading(core, int(number))
        if found is None:
            continue
        columns, values, left = found
        if orthonormal:
            columns, triangle = np.linalg.qr(columns)
            back = np.linalg.inv(triangle)
            kept, lost = np.einsum("ij,i->", back**2, values), (back**2).sum()
            suppressed = np.einsum("ij,ij->", back, left @ back)
        else:
            kept, lost, suppressed = values.sum(), len(values), np.trace(left)
        model = core.models[number]
        W[model, :, : columns.shape[1]] = with_fixed_signs(columns)
        numbers[:, model] = kept, max(suppressed, 0.0), kept / lost, 1.0


def leading(core: SharedCore, number: int) -> tuple[Array, Array, Array] | None:
    """The leading directions of one of the models; None where they did not become exact.

    Returns
    -------
    tuple of ndarrays of shape (I, r), (r,) and (r, r), or None
        W with ``W^T B W = I``; the values of ``W^T A W``, which is diagonal; and what W leaves of
        the scatter to suppress, without its ridge.
    """
    tau, G, rank = core.values, core.own.columns[number], int(core.ranks[number])
    a, b = core.own.in_A[number], core.own.in_B[number]
    smallest = tau[rank + G.shape[1]]  # all wanted values are larger
    if not smallest > 0:
        return None
    head = int(np.searchsorted(-tau, -FAR * smallest))
    head = min(max(head, rank + G.shape[1] + 5), 2 * (rank + G.shape[1]) + 20, len(tau) - 1)
    rest, tail = tau[head:], G[head:]
    poles = zolotarev_poles(max(rest[0], 0.0), smallest, AIMED)
    V = np.concatenate([tail / (pole - rest)[:, None] for pole in poles], axis=1)
    for _ in range(3):
        V = np.linalg.qr(V)[0]
        mu, u, v = _rayleigh_ritz(tau, G, a, b, head, V, rank)
        in_tail = V @ v
        seen = G[:head].T @ u + tail.T @ in_tail  # G^T w
        y = (a[:, None] - b[:, None] * mu) * seen
        pull = tail @ y
        if np.abs((rest[:, None] - mu) * in_tail + pull).max() <= EXACT * mu[-1]:
            return _lifted(core, number, mu, u, (V, v, in_tail), seen)
        V = pull / (mu - rest[:, None])  # what the tail of these values is
    return None


def zolotarev_poles(below: float, above: float, error: float) -> Array:
    """Poles for which ``1 / (mu - t)`` is a sum of ``1 / (pole - t)``, best for all mu and t.

    The functions with mu >= above are wanted for 0 <= t <= below < above. A Moebius map takes the
    two ranges to [-1, -k] and [k, 1], where the best points are known.

    Parameters
    ----------
    below, above : float
        The ends of the ranges.
    error : float
        How far from the truth the sum may be.

    Returns
    -------
    ndarray of shape (J,)
        As few poles as that takes, none below `above`.

    Examples
    --------
    >>> from tenfold.mathematics.shared_core import zolotarev_poles
    >>> zolotarev_poles(0.01, 1.0, 1e-7).round(2)
    array([ 1.07,  1.99, 14.86])
    """
    root = np.clip(np.sqrt(below / above), 1e-3, 1 - 1e-6)  # ranges that touch, or a single point
    k = (1 - root) / (1 + root)
    across, along = ellipk(1 - k**2), ellipk(k**2)
    count = int(np.clip(np.ceil(np.log(4 / error) * across / (2 * np.pi * along)), 2, 12))
    points = ellipj((2 * np.arange(count) + 1) / (2 * count) * across, 1 - k**2)[2]
    return np.asarray(above * root * (1 + points) / (1 - points))[::-1]


def _lifted(
    core: SharedCore,
    number: int,
    mu: Array,
    u: Array,
    tail: tuple[Array, Array, Array],
    seen: Array,
) -> tuple[Array, Array, Array]:
    """What `leading` returns, from the directions in the basis of the core."""
    V, v, in_tail = tail
    scale, head = core.scale[number], len(u)
    tells = mu > 10 * len(core.values) * np.finfo(float).eps * mu[0]
    F = core.vectors
    far = (F[:, head:] @ V) @ v if V.shape[1] < v.shape[1] else F[:, head:] @ in_tail
    W = (F[:, :head] @ u + far)[:, tells] / np.sqrt(scale)
    seen = seen[:, tells]
    left = (seen * core.own.in_B[number][:, None]).T @ seen
    if core.has_within:
        own_share = np.eye(len(left)) - left  # B of these directions is I
        left = left + own_share - core.ridge[number] * (W.T @ W)
    return W, mu[tells] / scale, left


def _rayleigh_ritz(
    tau: Array, G: Array, a: Array, b: Array, head: int, V: Array, rank: int
) -> tuple[Array, Array, Array]:
    """The leading values mu (r,) and vectors, (head, r) and (t, r), of the pair seen in a basis.

    The basis is the head and the orthonormal columns V of the tail.
    """
    g = np.concatenate([G[:head], V.T @ G[head:]])
    A = np.zeros((len(g), len(g)))
    A[np.arange(head), np.arange(head)] = tau[:head]
    A[head:, head:] = V.T @ (tau[head:, None] * V)
    A += (g * a) @ g.T
    inside = g[:, b > 0] * np.sqrt(b[b > 0])  # B = I + inside inside^T
    squares, turn = np.linalg.eigh(inside.T @ inside)
    there = squares > 1e-14 * squares.max(initial=0.0)
    P = inside @ (turn[:, there] / np.sqrt(squares[there]))  # orthonormal columns
    D = 1 / np.sqrt(1 + squares[there]) - 1  # B^(-1/2) = I + P D P^T
    left = A + (P * D) @ (P.T @ A)
    whitened = left + (left @ P) * D @ P.T
    mu, U = np.linalg.eigh(whitened)  # all at once takes less time than the leading ones alone
    mu, U = mu[::-1][:rank], U[:, ::-1][:, :rank]
    U = U + (P * D) @ (P.T @ U)
    return mu, U[:head], U[head:]
