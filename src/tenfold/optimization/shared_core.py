"""Many models of vectors that differ by few columns: what they share is solved once.

The pair of class number p, of n_p samples among N, is ::

    A_p = T + N d d^T - Z Z^T                   all other samples about the mean of the class
    B_p = (1 - s_p) Z Z^T + s_p (S_w + rho I)   the class about its mean, shrunk

(up to factors per class), where the total T and the within scatter S_w are those of all classes,
and only the displacement d, the deviations Z of n_p samples and the shrinkage s_p are its own. One
generalised eigenproblem ``F^T T F = diag(tau)``, ``F^T (S_w + rho I) F = I`` serves all classes. In
its basis every pair is diagonal but for the few columns ``G = F^T [d, Z]``:

    (diag(tau) + G a G^T) u = mu (I + G b G^T) u.

`leading_of_columns` finds the leading directions of such a pair; models for which these do not
become exact are solved without this. Without shrinkage B_p is ``Z Z^T + rho I``, and F are the
eigenvectors of T. So they are in the null space of ``B_p = Z Z^T``, where b is infinite.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, eigh, solve_triangular

from tenfold.linalg.algebra import Array
from tenfold.linalg.bases import Span
from tenfold.linalg.solvers import NULL, ROUNDING, signs_of_columns
from tenfold.optimization.criteria import Problem
from tenfold.statistics.moments import Scatter, Term, along_mode, is_shared

FEWEST = 4  # models for which a shared problem is solved
POLES = (0.9, 1.0, 1.15, 1.5, 3.0, 20.0)  # of the smallest likely value: where tails are guessed
FAR = 0.4  # of the smallest wanted value: where the tail may begin
EXACT = 1e-8  # largest residual, in units of the value itself
ROUNDS = 4  # in which that is reached, or not at all


class ClassColumns(NamedTuple):
    """What sets one model apart: columns, and the factors of their squares in A and B."""

    G: Array  # (n, k)
    in_A: Array  # (k,)
    in_B: Array  # (k,), not negative


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
    own : list of M ClassColumns
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
    own: list[ClassColumns]
    scale: Array
    ridge: Array
    has_within: bool
    ranks: Array


def solve_shared(
    problem: Problem, orthonormal: bool, share: Callable[..., Any], null: bool = False
) -> tuple[Array, Array, Array, Array, Array, Array | None] | None:
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
    tuple of ndarrays of shape (M,), (M, I, r), (M, r), (M,), (M,) and (M,)
        Their numbers, sorted; their projections, for samples as they came; what each column keeps
        of one scatter, and all of them leave of the other; the objective; and what they see of S_w,
        None where that is not a part of B.
    """
    cores = shared_cores(problem, null)
    if not cores:
        return None
    n_models = len(problem)
    size = cores[0].rows.shape[1]
    width = int(problem.ranks.max())
    W = np.zeros((n_models, width, size))
    kept = np.zeros((n_models, width))
    numbers = np.zeros((4, n_models))  # suppressed, objective, of S_w, and whether it is exact
    for core in cores:
        turn = orthonormal and not null  # in a null space they are orthonormal as found
        work = partial(_solve_some, core=core, orthonormal=turn, into=(W, kept, numbers))
        share(work, np.array_split(np.arange(len(core.models)), min(8, len(core.models))))
    exact = np.flatnonzero(numbers[3])
    suppressed, objective, within, _ = numbers[:, exact]
    W = (W if len(exact) == n_models else W[exact]).swapaxes(1, 2)
    has_within = all(core.has_within for core in cores)
    return exact, W, kept[exact], suppressed, objective, within if has_within else None


def _solve_some(
    part: Array, core: SharedCore, orthonormal: bool, into: tuple[Array, Array, Array]
) -> None:
    """Solve the models of one part, and write them where they belong."""
    W, kept, numbers = into
    for number in part:
        (G, _, b), scale = core.own[number], core.scale[number]
        found = leading_of_columns(core.values, core.own[number], int(core.ranks[number]))
        if found is None:
            continue
        tells = found[0] > 10 * len(G) * np.finfo(float).eps * found[0][0]
        values = found[0][tells] / scale
        U = found[1][:, tells] / np.sqrt(scale)
        rows = U.T @ core.rows
        seen = G.T @ U
        # W^T B W is I
        lost = float(len(values))
        squares = float(np.vdot(rows, rows))
        if orthonormal:
            Q, triangle = np.linalg.qr(rows.T)
            rows = Q.T
            back = np.linalg.inv(triangle)
            values = values @ back**2
            seen = seen @ back
            U = U @ back
            lost = float((back**2).sum())
            squares = float(len(values))
        suppressed = lost - core.ridge[number] * squares
        if not core.has_within:
            suppressed = scale * (np.where(np.isinf(b), 0.0, b)[:, None] * seen**2).sum()
        model = core.models[number]
        own = slice(len(values))
        np.multiply(rows, signs_of_columns(rows.T).T, out=W[model, own])
        W[model, own] += 0.0  # no negative zeros
        kept[model, own] = values
        within = float(np.vdot(U, U)) - core.ridge[number] / scale * squares  # S_w + rho I is I
        numbers[:, model] = max(suppressed, 0.0), values.sum() / lost, max(within, 0.0), 1.0


def few_columns(problem: Problem) -> Array | None:
    """Columns (M, n, k) with the products A of models of vectors; None unless they are few.

    Where class means stand for their samples, they are no more than the classes.
    """
    n_models = len(problem)
    size = problem.shape[0]
    terms = problem.maximise.terms
    if any(term.tables or is_shared(term) or np.min(c) < 0 for c, term, _ in terms):
        return None
    widths = [max(len(term.members[g]) for g in groups) for _, term, groups in terms]
    if not 0 < 2 * sum(widths) <= size:
        return None
    found = np.zeros((n_models, sum(widths), size))
    for (c, term, groups), end in zip(terms, np.cumsum(widths), strict=True):
        factors = np.sqrt(np.broadcast_to(c, n_models))
        for rows, g, factor in zip(found, groups, factors, strict=True):
            Z = np.concatenate([np.empty((0, size)), *term.deviations(int(g))])
            np.multiply(factor, Z, out=rows[end - len(Z) : end])
    return found.swapaxes(1, 2)


# ── Few class means ─────────────────────────────────────────────────────────────────────────────


def solve_by_means(
    problem: Problem, orthonormal: bool, share: Callable[..., Any]
) -> tuple[Array, Array, Array, Array, Array, Array | None] | None:
    """Models whose A is of few class means, by the Woodbury formula; None where it does not apply.

    With the columns K of ``A = K K^T``, the shared ``B_0 = S_w + rho I`` and the columns Z of a
    class, ``B = s (B_0 + Z Z^T)``. All ``B_0^-1 K`` and ``B_0^-1 Z`` are solved for at once. The
    directions are ``B^-1 K v`` with the eigenvectors v of the small matrix ``K^T B^-1 K``.
    Parameters and result are those of `solve_shared`.
    """
    parts = _whitened_by_means(problem)
    if parts is None:
        return None
    L, ridge, scale, means, own = parts
    rho = ridge / scale
    columns = np.concatenate([means, *(each.G for each in own)], axis=1)
    whitened = solve_triangular(L, columns, lower=True, check_finite=False)
    gram = whitened.T @ whitened
    solved = solve_triangular(L, whitened, lower=True, trans="T", check_finite=False)
    rows = solved.T if problem.basis is None else problem.basis.lifted_rows(solved)
    n_means = means.shape[1]
    ends = n_means + np.cumsum([0, *(each.G.shape[1] for each in own)])
    width = int(problem.ranks.max())
    W = np.empty((len(problem), width, rows.shape[1]))
    kept = np.zeros((len(problem), width))
    numbers = np.zeros((3, len(problem)))

    def work(models: Array) -> None:
        for m in models:
            chosen = np.r_[0:n_means, ends[m] : ends[m + 1]]
            small = gram[np.ix_(chosen, chosen)]
            in_A = np.concatenate([np.ones(n_means), own[m].in_A])
            in_B = np.concatenate([np.zeros(n_means), own[m].in_B / scale[m]])
            values, coefficients = _by_woodbury(small, in_A, in_B, int(problem.ranks[m, 0]))
            values /= scale[m]
            coefficients /= np.sqrt(scale[m])  # W^T B W is the identity
            directions = coefficients.T @ rows[chosen]
            lost = float(len(values))
            if orthonormal:
                directions, back = _orthonormal_rows(directions)
                coefficients = coefficients @ back
                values = values @ back**2
                lost = float((back**2).sum())
            squares = float(np.vdot(directions, directions))
            seen = float(np.vdot(coefficients, small @ coefficients))  # of S_w + rho I
            r = len(values)
            W[m, :r] = directions * signs_of_columns(directions.T).T + 0.0  # no negative zeros
            W[m, r:] = 0.0
            kept[m, :r] = values
            numbers[0, m] = max(lost - ridge[m] * squares, 0.0)
            numbers[1, m] = values.sum() / lost
            numbers[2, m] = max(seen - rho[m] * squares, 0.0)

    share(work, np.array_split(np.arange(len(problem)), min(8, len(problem))))
    suppressed, objective, within = numbers
    return np.arange(len(problem)), W.swapaxes(1, 2), kept, suppressed, objective, within


def _orthonormal_rows(rows: Array) -> tuple[Array, Array]:
    """Rows (r, I) made orthonormal, and the triangle (r, r) that their coefficients take."""
    Q, triangle = np.linalg.qr(rows.T)
    return Q.T, np.linalg.inv(triangle)


def _whitened_by_means(
    problem: Problem,
) -> tuple[Array, Array, Array, Array, list[ClassColumns]] | None:
    """The Cholesky factor of B_0, ridge and scale of each model, class means, and own columns.

    None where the models do not share B_0, or where class means are not few.
    """
    if len(problem) < FEWEST or problem.unit is None or problem.column_units is not None:
        return None
    first = problem.maximise.terms[0][1]
    if first.n_groups != 1 or first.tables or is_shared(first):
        return None
    if 4 * len(first.members[0]) > problem.shape[0]:
        return None
    parts = _common_and_own(problem)
    if parts is None:
        return None
    _, S_w, scale, own = parts
    if S_w is None or not (scale > 0).all() or min(each.in_A.min() for each in own) < 0:
        return None
    ridge = problem.ridges(_unit_sizes(problem, S_w))
    rho = ridge / scale
    if np.ptp(rho) > 1e-12 * rho.max():
        return None
    try:
        L = np.linalg.cholesky(S_w + rho[0] * np.eye(len(S_w)))
    except LinAlgError:
        return None
    return L, ridge, scale, np.concatenate(list(first.deviations(0))).T, own


def _by_woodbury(gram: Array, in_A: Array, in_B: Array, rank: int) -> tuple[Array, Array]:
    """Values and coefficients (k, r) of the directions of ``(H a H^T, I + H b H^T)``.

    The directions are combinations of the columns of H, of which only ``H^T H`` is asked for.
    """
    root_A = np.sqrt(in_A)
    is_own = in_B > 0
    root_B = np.sqrt(in_B[is_own])
    seen = root_B[:, None] * gram[is_own] * root_A
    inner = np.eye(len(root_B)) + root_B[:, None] * gram[np.ix_(is_own, is_own)] * root_B
    pulled = np.linalg.solve(inner, seen)
    values, vectors = np.linalg.eigh(root_A[:, None] * gram * root_A - seen.T @ pulled)
    values = values[::-1][:rank]
    vectors = vectors[:, ::-1][:, :rank]
    tells = values > 10 * len(gram) * np.finfo(float).eps * values[0]
    tells[0] = True
    values = values[tells]
    vectors = vectors[:, tells] / np.sqrt(np.maximum(values, np.finfo(float).tiny))
    coefficients = vectors * root_A[:, None]
    coefficients[is_own] -= (pulled @ vectors) * root_B[:, None]
    return values, coefficients


# ── The pair of one model ───────────────────────────────────────────────────────────────────────


def leading_of_columns(tau: Array, own: ClassColumns, rank: int) -> tuple[Array, Array] | None:
    """The leading eigenvectors of a pair that is diagonal but for a few columns.

    With ``B^(-1/2) = I + P D P^T`` it becomes ``H w = mu w`` with ``H = diag(tau) + L S L^T``. An
    eigenvector has ``w_i = (L y)_i / (mu - tau_i)`` for some small y. The *head*, the largest tau,
    is kept as it is. In the *tail*, where tau_i is far below every wanted mu, these vectors lie
    close to the span of ``G / (pole - tau)`` for a few poles. A dense eigenproblem of head and tail
    gives the wanted vectors. Where the residual is too large, the tails of the values that were
    found take the place of the guess. At last the law of inertia says whether a value was missed.

    Parameters
    ----------
    tau : ndarray of shape (n,)
        The diagonal, the largest first.
    own : ClassColumns
        Columns with an infinite factor in B are independent; the vectors are orthogonal to them,
        and to no others is that factor positive, then.
    rank : int
        How many vectors are wanted.

    Returns
    -------
    tuple of ndarrays of shape (r,) and (n, r), or None
        Values, the largest first, and vectors u with ``u^T (I + G b G^T) u = 1``; None where they
        did not become exact, or where a dense solution costs no more.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.optimization.shared_core import ClassColumns, leading_of_columns
    >>> tau, G = 0.8 ** np.arange(100.0), np.ones((100, 1))
    >>> own = ClassColumns(G, np.array([0.0]), np.array([2.0]))
    >>> values, _ = leading_of_columns(tau, own, rank=2)
    >>> A, B = np.diag(tau), np.eye(100) + 2 * G @ G.T
    >>> expected = np.linalg.eigvals(np.linalg.solve(B, A)).real
    >>> bool(np.allclose(values, np.sort(expected)[::-1][:2]))
    True
    """
    G, k = own.G, own.G.shape[1]
    smallest = float(tau[min(rank, len(tau)) - 1])
    head = int(np.searchsorted(-tau, -FAR * smallest))
    head = min(max(head, rank + k + 5), 2 * (rank + k) + 20)
    if 2 * (head + 5 * k) > len(tau) or not 0 <= tau[head] < smallest:
        return None
    rest, tail = tau[head:, None], G[head:]
    P, D = _inverse_root(own)
    L, S = _low_rank(tau, own, P, D)
    poles = [pole * smallest for pole in POLES if pole * smallest > tau[head]]
    V = np.concatenate([tail, *(tail / (pole - rest) for pole in poles)], axis=1)
    for _ in range(ROUNDS):
        V = np.linalg.qr(V)[0]
        seen = np.concatenate([L[:head], V.T @ L[head:]])
        H = (seen @ S) @ seen.T
        H[np.arange(head), np.arange(head)] += tau[:head]
        H[head:, head:] += V.T @ (rest * V)
        values, vectors = np.linalg.eigh(H)  # takes less time than the leading ones alone
        mu, w = values[::-1][:rank], vectors[:, ::-1][:, :rank]
        in_tail = V @ w[head:]
        pull = L[head:] @ (S @ (seen.T @ w))
        if np.abs((rest - mu) * in_tail + pull).max() <= EXACT * mu[-1]:
            break
        if not (mu[-1] > 0 and np.abs(mu - rest).min() > 0):
            return None
        V = pull / (mu - rest)
    else:
        return None
    above = mu[-1] * (1 + 1e-9)
    least = 10 * len(G) * np.finfo(float).eps * float(tau.sum() + own.in_A @ (G**2).sum(axis=0))
    if np.isinf(own.in_B).any() and not mu[-1] > least:  # A vanishes in some of these directions
        return None
    if _number_above(above, tau, own) != int((mu > above).sum()):
        return None
    u = np.concatenate([w[:head], in_tail])
    return mu, u + (P * D) @ (P.T @ u)


def _inverse_root(own: ClassColumns) -> tuple[Array, Array]:
    """P with orthonormal columns and D with ``(I + G b G^T)^(-1/2) = I + P D P^T``."""
    apart = np.isinf(own.in_B)
    taken = apart if apart.any() else own.in_B > 0
    inside = own.G[:, taken] * np.sqrt(np.where(apart, 1.0, own.in_B)[taken])
    P, roots, _ = np.linalg.svd(inside, full_matrices=False)
    return P, np.full(len(roots), -1.0) if apart.any() else 1 / np.sqrt(1 + roots**2) - 1


def _low_rank(tau: Array, own: ClassColumns, P: Array, D: Array) -> tuple[Array, Array]:
    """L and S with ``B^(-1/2) A B^(-1/2) = diag(tau) + L S L^T``."""
    scaled = tau[:, None] * P
    q = len(D)
    L = np.concatenate([P, scaled, own.G + (P * D) @ (P.T @ own.G)], axis=1)
    S = np.zeros((L.shape[1], L.shape[1]))
    S[:q, :q] = D[:, None] * (P.T @ scaled) * D
    S[:q, q : 2 * q] = S[q : 2 * q, :q] = np.diag(D)
    S[2 * q :, 2 * q :] = np.diag(own.in_A)
    return L, S


def _number_above(sigma: float, tau: Array, own: ClassColumns) -> int:
    """How many eigenvalues of the pair are larger, by Sylvester's law of inertia."""
    apart = np.isinf(own.in_B)
    c = np.where(apart, -1.0, own.in_A - sigma * np.where(apart, 0.0, own.in_B))
    G = own.G[:, c != 0] * np.sqrt(np.abs(c[c != 0]))
    small = np.diag(np.where(apart, 0.0, np.sign(c))[c != 0]) + G.T @ (G / (tau - sigma)[:, None])
    return int((tau > sigma).sum() + (np.linalg.eigvalsh(small) < 0).sum() - (c < 0).sum())


# ── What is shared, and what is not ─────────────────────────────────────────────────────────────


def shared_cores(problem: Problem, null: bool = False) -> list[SharedCore]:
    """The shared parts of as many models of vectors as have one; none where it does not pay."""
    if len(problem) < FEWEST or problem.unit is None or problem.column_units is not None:
        return []
    parts = _common_and_own(problem)
    if parts is None:
        return []
    T, S_w, in_B, own = parts
    every = np.arange(len(problem))
    widths = np.array([each.G.shape[1] for each in own])
    if (2 * (problem.ranks[:, 0] + 6 * widths + 5) > len(T)).all():  # dense solutions cost no more
        return []
    if null:
        own = [_not_seen(each, float(np.trace(T))) for each in own]
        one = np.ones(len(problem))
        core = None if S_w is not None else _core(T, None, np.inf, problem.basis)
        if core is None:
            return []
        return [_with_models(problem, core, own, every, one, 0 * one, has_within=False)]
    ridge = problem.ridges(_unit_sizes(problem, T))
    relative = np.divide(ridge, in_B, out=np.full_like(ridge, np.inf), where=in_B > 0)
    _, first, group = np.unique(
        np.round(np.log(relative), 12), return_index=True, return_inverse=True
    )
    cores = []
    for number, example in enumerate(first):
        models = every[group == number]
        rho = float(relative[example])
        core = _core(T, S_w, rho, problem.basis) if len(models) >= FEWEST else None
        if core is not None:
            shrunk = bool(np.isfinite(rho))
            scale = in_B[models] if shrunk else ridge[models]
            cores.append(_with_models(problem, core, own, models, scale, ridge[models], shrunk))
    return cores


def _common_and_own(
    problem: Problem,
) -> tuple[Array, Array | None, Array, list[ClassColumns]] | None:
    """T, S_w, the factor of S_w in each B, and the columns of each model; or None."""
    n_models = len(problem)
    common = []
    own: dict[int, tuple[Term, Array, Array]] = {}
    assert problem.minimise is not None
    for side, scatter in enumerate((problem.maximise, problem.minimise)):
        shared = []
        for coefficient, term, groups in scatter.terms:
            each = np.broadcast_to(np.asarray(coefficient, dtype=float), (n_models,))
            if term.n_groups == 1:
                shared.append((each, term))
            elif not term.tables and not is_shared(term):
                own.setdefault(id(term), (term, groups, np.zeros((2, n_models))))[2][side] += each
            else:
                return None
        common.append(shared)
    (of_A, of_B) = common
    if len(of_A) != 1 or (of_A[0][0] != 1).any() or len(of_B) > 1 or not own:
        return None
    T, *S_w = (_whole(term, problem.shape[0]) for _, term in of_A + of_B)
    columns = []
    for m in range(n_models):
        blocks = [
            (_independent(np.concatenate(list(term.deviations(int(groups[m]))))), factors[:, m])
            for term, groups, factors in own.values()
            if factors[:, m].any()
        ]
        if not blocks:
            return None
        G = np.concatenate([Z for Z, _ in blocks]).T
        both = np.concatenate([np.broadcast_to(factor, (len(Z), 2)) for Z, factor in blocks])
        if both[:, 1].min() < 0:  # samples that are held out of S_w
            return None
        columns.append(ClassColumns(G, both[:, 0], both[:, 1]))
    within = of_B[0][0] if of_B else np.zeros(n_models)
    return T, S_w[0] if S_w else None, within, columns


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
    for coefficient, term, groups in problem.unit.terms[1:]:
        assert not term.tables
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


def _not_seen(own: ClassColumns, total: float) -> ClassColumns:
    """The same columns, those in B of length 1, and its directions infinitely heavy in it."""
    squares = (own.G**2).sum(axis=0)
    of_B = own.in_B * squares
    size = total + float(np.sum((own.in_A + own.in_B) * squares))
    there = of_B > max(NULL * of_B.max(), ROUNDING * size)
    G = own.G / np.where(there, np.sqrt(squares), 1.0)
    return ClassColumns(
        G, np.where(there, own.in_A * squares, own.in_A), np.where(there, np.inf, 0.0)
    )


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
    values = values[::-1]
    F = np.ascontiguousarray(F[:, ::-1])
    return values, F, np.ascontiguousarray(F.T) if basis is None else basis.lifted_rows(F)


def _with_models(
    problem: Problem,
    core: tuple[Array, Array, Array],
    own: list[ClassColumns],
    models: Array,
    scale: Array,
    ridge: Array,
    has_within: bool,
) -> SharedCore:
    """The core with the columns of its models in its basis."""
    values, F, rows = core
    ends = np.cumsum([own[m].G.shape[1] for m in models])
    together = np.split(F.T @ np.concatenate([own[m].G for m in models], axis=1), ends[:-1], axis=1)
    seen = [
        ClassColumns(G, own[m].in_A, own[m].in_B / b)
        for G, m, b in zip(together, models, scale, strict=True)
    ]
    ranks = problem.ranks[models, 0]
    return SharedCore(models, values, rows, seen, scale, ridge, has_within, ranks)
