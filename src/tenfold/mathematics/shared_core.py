"""Many models of vectors that differ by few columns: what they share is solved once.

The pair of class number p, of n_p samples among N, is ::

    A_p = T + N d d^T - Z Z^T          all other samples about the mean of the class
    B_p = s S_w + (1 - s) Z Z^T + l I  the class about its mean, shrunk, with a ridge

(up to factors per class), where the total T and the within scatter S_w are those of all classes,
and only the displacement d and the deviations Z of n_p samples are its own. One generalised
eigenproblem ``F^T T F = diag(tau)``, ``F^T (S_w + rho I) F = I`` serves all classes. In its basis
every pair is diagonal but for the few columns ``G = F^T [d, Z]``:

    (diag(tau) + G a G^T) u = mu (I + G b G^T) u.

`few_columns` finds the leading directions of such a pair; models for which these do not become
exact are solved without this. In the null space of ``B_p = Z Z^T`` the columns of Z are to be seen
in no direction, and F are the eigenvectors of T.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, eigh

from tenfold.mathematics.accumulate import row_blocks
from tenfold.mathematics.algebra import Array
from tenfold.mathematics.criteria import Problem
from tenfold.mathematics.few_columns import Leading, leading
from tenfold.mathematics.null_space import NULL, ROUNDING
from tenfold.mathematics.scatter import SampleTerm, Scatter, Term, along_mode
from tenfold.mathematics.solvers import signs_of_columns
from tenfold.mathematics.span import Span

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
    rows : ndarray of shape (n, I)
        F^T, for samples as they came.
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
    rows: Array
    own: Own
    scale: Array
    ridge: Array
    has_within: bool
    ranks: Array

    def leading(self, number: int) -> Leading | None:
        """The leading directions of one of the models, in the basis F."""
        G, a, b = (each[number] for each in (self.own.columns, self.own.in_A, self.own.in_B))
        found = leading(self.values, G, a, b, int(self.ranks[number]))
        if found is None or not np.isinf(b).any():
            return found
        size = float(self.values.sum() + (a * (G**2).sum(axis=0)).sum())
        least = 10 * len(G) * np.finfo(float).eps * size
        return found if found.values[-1] > least else None  # A vanishes in some of these directions


def shared_cores(problem: Problem, null: bool = False) -> list[SharedCore]:
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
    if null:
        core = None if S_w is not None else _core(T, None, np.inf, problem.basis)
        every, one = np.arange(len(problem)), np.ones(len(problem))
        if core is None:
            return []
        own = _not_seen(own, float(np.trace(T)))
        return [_with_models(problem, core, own, every, one, 0 * one, has_within=False)]
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
                own.setdefault(id(term), (term, groups, np.zeros((2, n_models))))[2][side] += each
            else:
                return None
        common.append(shared)
    (of_A, of_B) = common
    if len(of_A) != 1 or (of_A[0][0] != 1).any() or len(of_B) > 1 or not own:
        return None
    T, *S_w = (_whole(term, problem.shape[0]) for _, term in of_A + of_B)
    columns, in_A, in_B = [], [], []
    for m in range(n_models):
        blocks = [
            (_independent(np.concatenate(list(term.deviations(int(groups[m]))))), factors[:, m])
            for term, groups, factors in own.values()
            if factors[:, m].any()
        ]
        if not blocks:
            return None
        columns.append(np.concatenate([Z for Z, _ in blocks]).T)
        both = np.concatenate([np.broadcast_to(factor, (len(Z), 2)) for Z, factor in blocks])
        in_A.append(both[:, 0])
        in_B.append(both[:, 1])
    within = of_B[0][0] if of_B else np.zeros(n_models)
    return T, S_w[0] if S_w else None, within, Own(columns, in_A, in_B)


def _whole(term: Term, size: int) -> Array:
    """The scatter (n, n) of a term of one group."""
    (S,) = along_mode([Scatter.of(term)], 0, [np.eye(size)[None]])
    return np.asarray(S[0])


def _unit_sizes(problem: Problem, T: Array) -> Array:
    """The trace of the unit of each model's ridge: of one scatter, and perhaps of own columns."""
    assert problem.unit is not None
    first = problem.unit.terms[0][1]
    unit = T if first is problem.maximise.terms[0][1] else _whole(first, len(T))
    sizes = np.full(len(problem), np.trace(unit))
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


def _not_seen(own: Own, total: float) -> Own:
    """The same columns, those in B of length 1, and its directions infinitely heavy in it."""
    columns, in_A, in_B = [], [], []
    for Z, a, b in zip(own.columns, own.in_A, own.in_B, strict=True):
        squares = (Z**2).sum(axis=0)
        of_B = b * squares
        size = total + float(np.sum((a + b) * squares))
        there = of_B > max(NULL * of_B.max(), ROUNDING * size)
        columns.append(Z / np.where(there, np.sqrt(squares), 1.0))
        in_A.append(np.where(there, a * squares, a))
        in_B.append(np.where(there, np.inf, 0.0))
    return Own(columns, in_A, in_B)


def _core(
    T: Array, S_w: Array | None, rho: float, basis: Span | None
) -> tuple[Array, Array, Array] | None:
    """tau, F in the basis of the samples and F^T as they came; None where B is nearly singular."""
    try:
        if S_w is None or not np.isfinite(rho):
            values, F = np.linalg.eigh(T)
        else:
            values, F = eigh(T, S_w + rho * np.eye(len(T)), check_finite=False)
    except LinAlgError:
        return None
    values, F = values[::-1], np.ascontiguousarray(F[:, ::-1])
    return values, F, np.ascontiguousarray(F.T) if basis is None else basis.lifted_rows(F)


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
    values, F, rows = core
    ends = np.cumsum([own.columns[m].shape[1] for m in models])
    together = F.T @ np.concatenate([own.columns[m] for m in models], axis=1)
    columns = np.split(together, ends[:-1], axis=1)
    in_B = [own.in_B[m] / b for m, b in zip(models, scale, strict=True)]
    seen = Own(columns, [own.in_A[m] for m in models], in_B)
    ranks = problem.ranks[models, 0]
    return SharedCore(models, values, rows, seen, scale, ridge, has_within, ranks)


def solve_shared(
    problem: Problem, orthonormal: bool, share: Callable[..., Any], null: bool = False
) -> tuple[Array, Array, Array, Array, Array] | None:
    """Solve the models that share a core, M of them; None where there are none.

    Parameters
    ----------
    problem : Problem
        Of models of vectors.
    orthonormal : bool
        Whether columns are orthonormalised.
    share : callable
        Who works on which models.
    null : bool
        Solve in the null space of the scatter to suppress, and not for the ratio trace.

    Returns
    -------
    tuple of ndarrays of shape (M,), (M, I, r), (M, r), (M,) and (M,)
        Their numbers, sorted; their projections, for samples as they came; what each column keeps
        of one scatter, and all of them leave of the other; and the objective.
    """
    cores = shared_cores(problem, null)
    if not cores:
        return None
    n_models, size, width = len(problem), cores[0].rows.shape[1], int(problem.ranks.max())
    W, kept = np.zeros((n_models, width, size)), np.zeros((n_models, width))
    numbers = np.zeros((3, n_models))  # suppressed, objective, and whether it is exact
    for core in cores:
        turn = orthonormal and not null  # in a null space they are orthonormal as found
        into = (W, kept, numbers)
        work = partial(_solve_some, core=core, orthonormal=turn, into=into)
        share(work, np.array_split(np.arange(len(core.models)), min(8, len(core.models))))
    exact = np.flatnonzero(numbers[2])
    suppressed, objective, _ = numbers[:, exact]
    W = (W if len(exact) == n_models else W[exact]).swapaxes(1, 2)
    return exact, W, kept[exact], suppressed, objective


def _solve_some(
    part: Array, core: SharedCore, orthonormal: bool, into: tuple[Array, Array, Array]
) -> None:
    """Solve the models of one part, and write them where they belong."""
    W, kept, numbers = into
    for block in row_blocks(len(part), core.rows[: int(core.ranks.max())].nbytes):
        each = [(int(number), core.leading(int(number))) for number in part[block]]
        found = [(number, _scaled(core, number, one)) for number, one in each if one is not None]
        lifted = _lifted(core, [one for _, one in found])
        for (number, one), rows in zip(found, lifted, strict=True):
            values, seen, b = one.values, one.seen, core.own.in_B[number]
            lost, squares = float(len(values)), float(np.vdot(rows, rows))  # W^T B W is I
            if orthonormal:
                Q, triangle = np.linalg.qr(rows.T)
                rows, back = Q.T, np.linalg.inv(triangle)
                values, seen = values @ back**2, seen @ back
                lost, squares = float((back**2).sum()), float(len(values))
            of_columns = (np.where(np.isinf(b), 0.0, b)[:, None] * seen**2).sum()
            suppressed = lost - core.ridge[number] * squares if core.has_within else of_columns
            model, own = core.models[number], slice(len(values))
            np.multiply(rows, signs_of_columns(rows.T).T, out=W[model, own])
            W[model, own] += 0.0  # no negative zeros
            kept[model, own] = values
            numbers[:, model] = max(suppressed, 0.0), values.sum() / lost, 1.0


def _scaled(core: SharedCore, number: int, one: Leading) -> Leading:
    """The directions that tell, scaled so that B of the model itself makes them orthonormal."""
    scale = core.scale[number]
    tells = one.values > 10 * len(core.values) * np.finfo(float).eps * one.values[0]
    parts = (one.head, one.tail, one.inside)
    head, tail, inside = (part[:, tells] / np.sqrt(scale) for part in parts)
    return Leading(one.values[tells] / scale, head, tail, one.basis, inside, one.seen[:, tells])


def _lifted(core: SharedCore, found: list[Leading]) -> list[Array]:
    """The directions of several models as rows (r, I) for samples as they came.

    One product for all models, or two, of which the second is for the few directions that all
    their tails lie in.
    """
    if not found:
        return []
    head = len(found[0].head)
    thin = all(
        len(one.head) == head and 2 * one.basis.shape[1] < one.inside.shape[1] for one in found
    )
    if not thin:
        return _times([np.concatenate([one.head, one.tail]) for one in found], core.rows)
    near = _times([one.head for one in found], core.rows[:head])
    far = _times([one.basis for one in found], core.rows[head:])
    for one, rows, basis in zip(found, near, far, strict=True):
        rows += one.inside.T @ basis
    return near


def _times(parts: list[Array], rows: Array) -> list[Array]:
    """``part^T @ rows`` of every part."""
    ends = np.cumsum([part.shape[1] for part in parts])
    return np.split(np.concatenate(parts, axis=1).T @ rows, ends[:-1])
