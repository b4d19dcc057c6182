"""Algorithm 1: solve one mode at a time, until the objective converges, for a stack of models.

`solve` first looks for vectors that can be solved in one step (`shared_core`). `_solve_stack` cuts
what is left into stacks that fit into the cache, and `_alternate` is Algorithm 1 for one of these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from math import ceil
from typing import Literal, TypeVar

import numpy as np

from tenfold.linalg.algebra import Array
from tenfold.linalg.constants import CACHE_BYTES, EXPECTED_ROUNDS, STACK_BYTES
from tenfold.linalg.solvers import (
    Solver,
    null_space,
    orthonormalised,
    ratio_trace,
    ratio_trace_of_columns,
    with_fixed_signs,
)
from tenfold.optimization.criteria import Pair, Problem
from tenfold.optimization.shared_core import SharedSolution, few_columns, solve_shared
from tenfold.statistics.scatters import PassTerm, Products, SampleTerm, TableTerm

P = TypeVar("P")
T = TypeVar("T")

PATIENCE = 3  # the ratio trace may go round in circles once it is near the top
NOTHING = 1e-10  # of the scatter: what may be left of it by rounding


@dataclass(frozen=True)
class Recipe:
    """How a problem is solved.

    Parameters
    ----------
    solver : callable
        One of `tenfold.linalg.solvers`.
    orthonormal : bool
        Whether columns are orthonormalised after each solution.
    init : {"ones", "identity"}
        The projections that the first solutions see: columns of ones, as the paper has it, or
        no projection at all.
    direct : bool
        Solve every mode once, as the start shows it, without waiting for the others.
    max_iter : int
        Rounds at most.
    tol : float
        A model has converged when its objective changed by at most this share of it in one
        round, or has reached no new height in `PATIENCE` rounds. With 0 all rounds are made.
    """

    solver: Solver = ratio_trace
    orthonormal: bool = True
    init: str = "ones"
    direct: bool = False
    max_iter: int = 100
    tol: float = 1e-3

    def expected_rounds(self, n_modes: int) -> int:
        """How many rounds a solution will take, about."""
        if self.direct or n_modes == 1:
            return 1
        return max(1, min(self.max_iter, EXPECTED_ROUNDS) if self.tol > 0 else self.max_iter)


@dataclass(frozen=True, eq=False)
class Solution:
    """What `solve` found.

    Parameters
    ----------
    projections : list of K ndarrays of shape (M, I_k, max r_k)
        One projection per mode and model, for samples as they came, whatever basis they were
        given in; columns beyond a model's rank are zero.
    objective : ndarray of shape (M, rounds)
        The objective after each round; a model that has converged keeps its last value.
    n_iter : ndarray of shape (M,)
        Rounds made for each model.
    converged : ndarray of shape (M,)
        Whether its objective converged.
    kept_by_column : ndarray of shape (M, max r_K)
        What each column of the last projection sees of the scatter to keep.
    suppressed : ndarray of shape (M,)
        What the projections see of the scatter to suppress, without its ridge.
    within : ndarray of shape (M,) or None
        What they see of the within scatter, where it came with the solution.
    means : ndarray of shape (M, C, r) or None
        The class means that they see, about the mean of all and times the roots of their counts,
        where they came with the solution.
    """

    projections: list[Array]
    objective: Array
    n_iter: Array
    converged: Array
    kept_by_column: Array
    suppressed: Array
    within: Array | None = None
    means: Array | None = None

    @classmethod
    def of_shared(cls, shared: SharedSolution) -> Solution:
        """What was found in one step, of models that are all solved."""
        once = np.ones(len(shared.solved), dtype=int)
        return cls(
            [shared.rows.swapaxes(1, 2)],
            shared.objective[:, None],
            once,
            shared.solved,
            shared.kept,
            shared.suppressed,
            shared.within,
            shared.means,
        )

    @property
    def kept(self) -> Array:
        """What the projections of each model see of the scatter to keep, (M,)."""
        return np.asarray(self.kept_by_column.sum(axis=1))

    def columns(self, model: int) -> list[Array]:
        """The projections (I_k, r_k) of one model, without the padding."""
        filled = [int(W[model].any(axis=0).sum()) for W in self.projections]
        return [
            W[model] if rank == W.shape[2] else W[model, :, :rank].copy(order="K")
            for W, rank in zip(self.projections, filled, strict=True)
        ]

    @classmethod
    def stacked(cls, parts: list[Solution], order: Array) -> Solution:
        """One stack of the models of several; `order` holds the number of each in that stack."""
        widths = np.max([[W.shape[2] for W in part.projections] for part in parts], axis=0)
        rounds = max(part.objective.shape[1] for part in parts)

        def joined(arrays: Iterable[Array]) -> Array:
            found = np.empty(0)
            start = 0
            for rows in arrays:
                if start == 0:
                    found = np.empty((len(order), *rows.shape[1:]), rows.dtype)
                found[order[start : start + len(rows)]] = rows
                start += len(rows)
            return found

        return cls(
            [
                joined(padded(p.projections[k], width) for p in parts)
                for k, width in enumerate(widths)
            ],
            joined([padded(part.objective, rounds, "edge") for part in parts]),
            joined([part.n_iter for part in parts]),
            joined([part.converged for part in parts]),
            joined([padded(part.kept_by_column, widths[-1]) for part in parts]),
            joined([part.suppressed for part in parts]),
        )


def shared_out(work: Callable[[P], T], parts: Sequence[P], threads: int) -> list[T]:
    """``work(part)`` for every part, in order, by so many threads."""
    if threads == 1 or len(parts) == 1:
        return [work(part) for part in parts]
    with ThreadPoolExecutor(min(threads, len(parts))) as pool:
        return list(pool.map(work, parts))


def solve(problem: Problem, recipe: Recipe, threads: int = 1) -> Solution:
    """Maximise a criterion over one projection per mode, one mode at a time.

    Models do not depend on each other, so a stack is cut into stacks whose matrices stay in the
    cache, and each of these is solved from the first round to the last. Models of vectors that
    differ by few columns are solved by `shared_core` instead.

    Parameters
    ----------
    problem : Problem
        What M models maximise and minimise, and their ranks.
    recipe : Recipe
        Solver, start and stopping rule.
    threads : int
        How many work on models at the same time; `threads` knows how many there are.

    Returns
    -------
    Solution
        Projections and the history of the objective.
    """
    null = recipe.solver is null_space
    vectors = len(problem.shape) == 1 and (null or recipe.solver is ratio_trace)
    share = partial(shared_out, threads=threads)
    shared = solve_shared(problem, recipe.orthonormal, share, null) if vectors else None
    if shared is None or not shared.solved.any():
        return _solve_stack(problem, recipe, threads)
    alone = np.flatnonzero(~shared.solved)
    if not len(alone):
        return Solution.of_shared(shared)
    models = np.flatnonzero(shared.solved)
    rest = _solve_stack(problem.select_models(alone), recipe, threads)
    return Solution.stacked(
        [Solution.of_shared(shared.select_models(models)), rest], np.concatenate([models, alone])
    )


def _solve_stack(problem: Problem, recipe: Recipe, threads: int) -> Solution:
    """`solve` for models that share nothing: how many are solved together, in which order."""
    scatters = [problem.maximise]
    if problem.minimise is not None:
        scatters.append(problem.minimise)
    summands = [summand for scatter in scatters for summand in scatter.summands]
    # What the cache holds, in several parts for threads.
    matrix_bytes = 8 * max(problem.shape) ** 2
    in_cache = CACHE_BYTES // matrix_bytes
    in_four_parts = max(ceil(len(problem) / 4), in_cache // 4, 1)
    n_together = min(in_four_parts, max(in_cache, 16))
    # Reading a large table takes longer than a model: as many as take no more memory than it does.
    model_bytes = 10 * matrix_bytes  # to solve one: ten matrices of the largest mode
    tables = [
        table for _, term, _ in summands if isinstance(term, TableTerm) for table in term.tables
    ]
    table_bytes = max((table.nbytes for table in tables), default=0)
    beside_table = min(ceil(len(problem) / threads), table_bytes // model_bytes)
    n_together = max(n_together, beside_table)
    n_together = min(n_together, max(1, STACK_BYTES // model_bytes))
    order = np.lexsort((*-problem.ranks.T,))  # one width, and the longest work first
    for _, term, groups in summands:
        if isinstance(term, PassTerm):
            n_together = len(problem)  # a pass over the samples answers all models
            continue
        # Tables, and deviations that are too many to be kept, are read once for all of a group.
        are_kept = isinstance(term, SampleTerm) and term.mode_first is not None
        if len(groups) > 1 and term.n_groups > 1 and not are_kept:
            order = np.argsort(groups, kind="stable")
    is_in_order = (order[1:] > order[:-1]).all()
    if n_together >= len(problem) and is_in_order:
        return _alternate(problem, recipe)
    parts = [order[start : start + n_together] for start in range(0, len(order), n_together)]
    found = shared_out(lambda part: _alternate(problem.select_models(part), recipe), parts, threads)
    return Solution.stacked(found, order)


def _alternate(problem: Problem, recipe: Recipe) -> Solution:
    """Algorithm 1 of the paper, for a stack of models that fit into the cache together."""
    n_models, n_modes = problem.ranks.shape
    widths = problem.ranks.max(axis=0).tolist()
    once = recipe.direct or n_modes == 1
    max_iter = 1 if once else recipe.max_iter
    objective = np.zeros((n_models, max_iter))
    n_iter = np.zeros(n_models, dtype=int)
    kept = np.zeros((n_models, widths[-1]))
    suppressed = np.zeros(n_models)
    converged = np.full(n_models, once)
    columns = few_columns(problem) if n_modes == 1 and recipe.solver is ratio_trace else None
    solver = recipe.solver if columns is None else ratio_trace_of_columns
    start, first_pair = _start(problem, recipe.init)
    factors = list(start)
    products = Products()
    active = np.arange(n_models)  # models that have not converged
    moving = problem
    for t in range(max_iter):
        for k in range(n_modes):
            # Scatters along mode k, seen through the other projections (eqs 17 and 18).
            seen = start if recipe.direct or t == k == 0 else [W[active] for W in factors]
            pair = first_pair if t == k == 0 else moving.pair(k, seen, products)
            # The r_k directions with the most S_O in proportion to S_I with its ridge (eq. 19).
            S_I = pair.suppress.copy()
            np.einsum("mii->mi", S_I)[...] += pair.ridge  # in place: a view of its diagonals
            S_O = pair.keep if columns is None else columns
            W = solver(S_O, S_I, moving.ranks[:, k])
            W = padded(W, widths[k])
            W = orthonormalised(W) if recipe.orthonormal else W
            if t == 0:
                factors[k] = W
            else:
                factors[k][active] = W
        # The objective (eq. 14) after this round; a model stops when it has converged.
        kept[active], suppressed[active], reached = moving.objective(W, pair)
        objective[active, t:] = reached[:, None]
        n_iter[active] = t + 1
        if recipe.tol > 0 and not once:
            converged[active] = _has_converged(objective[active, : t + 1], recipe.tol)
        if converged.all():
            break
        if converged[active].any():
            active = np.flatnonzero(~converged)
            moving = problem.select_models(active)
    if recipe.direct:
        last = problem.pair(n_modes - 1, factors)
        kept, suppressed, objective[:, 0] = problem.objective(factors[-1], last)
    full = factors if problem.basis is None else [problem.basis.from_span(factors[0])]
    signed = [with_fixed_signs(W) for W in full]
    return Solution(signed, objective[:, : n_iter.max()], n_iter, converged, kept, suppressed)


def _has_converged(objective: Array, tol: float) -> Array:
    """Whether each objective (M, rounds) changed little, or has not risen for `PATIENCE` rounds."""
    rounds = objective.shape[1]
    if rounds == 1:
        return np.zeros(len(objective), dtype=bool)
    change = np.abs(objective[:, -1] - objective[:, -2])
    little = change <= tol * np.abs(objective[:, -1])
    stale = rounds - 1 - objective.argmax(axis=1) >= PATIENCE
    return np.asarray(little | stale)


def padded(W: Array, width: int, fill: Literal["constant", "edge"] = "constant") -> Array:
    """Columns of zeros, or the last one again, added to (M, ..., r) until there are `width`."""
    lacking = width - W.shape[-1]
    if lacking == 0:
        return W
    return np.pad(W, [*[(0, 0)] * (W.ndim - 1), (0, lacking)], fill)


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
    >>> from tenfold.optimization.alternation import subspace_distance
    >>> Q = np.eye(3)[:, :2]
    >>> float(subspace_distance(Q, Q[:, ::-1]))
    0.0
    """
    overlap = first.swapaxes(-1, -2) @ second
    only_first = first - second @ overlap.swapaxes(-1, -2)
    only_second = second - first @ overlap
    squared = (only_first**2).sum(axis=(-1, -2)) + (only_second**2).sum(axis=(-1, -2))
    return np.asarray(np.sqrt(squared))


def _start(problem: Problem, init: str) -> tuple[list[Array], Pair]:
    """The starting projections (M, I_k, width) of each mode, and the pair of the first mode.

    These are columns of ones or identities. Two cases start from identities in any case. Samples
    that sum to zero along a mode, such as windows without their mean, leave only rounding errors
    when they are projected on ones. And the difference of two class means has rank one after that
    projection, and so has every mode after it (`whole_start`).
    Vectors have no other mode, so any start does: ones, which take no memory.
    """
    if init not in ("ones", "identity"):
        raise ValueError(f"init is {init!r}; expected 'ones' or 'identity'")
    n_models = len(problem)
    if len(problem.shape) == 1 or (init == "ones" and not problem.whole_start):
        ones = []
        for size, ranks in zip(problem.shape, problem.ranks.T, strict=True):
            columns = (np.arange(ranks.max()) < ranks[:, None]).astype(float)
            ones.append(np.broadcast_to(columns[:, None, :], (n_models, size, columns.shape[1])))
        first = problem.pair(0, ones)
        seen = float(np.trace(first.keep[0]) + np.trace(first.suppress[0]))
        if len(ones) == 1 or seen > NOTHING * problem.size:
            return ones, first
    whole = [np.broadcast_to(np.eye(size), (n_models, size, size)) for size in problem.shape]
    return whole, problem.pair(0, whole)
