"""Many models of vectors that differ by few columns: what they share is solved once.

The pair of class number p, of n_p samples among N, is ::

    A_p = T + N d d^T - Z Z^T                   all other samples about the mean of the class
    B_p = (1 - s_p) Z Z^T + s_p (S_w + rho I)   the class about its mean, shrunk

(up to factors per class), where the total T and the within scatter S_w are those of all classes.
Only the displacement d, the deviations Z of n_p samples and the shrinkage s_p are its own. So every
pair is ``(T + G a G^T, B_0 + G b G^T)`` with few columns ``G = [d, Z]``. There are two ways:

- Class means stand for samples, and T is of few means (`PairOfMeans`): the Woodbury formula leaves
  an eigenproblem as small as the classes are many.
- Otherwise one eigenproblem ``F^T T F = diag(tau)``, ``F^T B_0 F = I`` serves all classes
  (`PairInFrame`). In its basis a pair is diagonal but for the few columns, and the leading
  directions of a class lie in a space of one or two hundred dimensions, which is known beforehand.

Without shrinkage B_0 is the ridge alone, and F are the eigenvectors of T. So they are in the null
space of ``B_p = Z Z^T``, where b is infinite.

With many own columns that space is too large. Then ARPACK is asked, which takes two to three times
as long (120 classes of 839 dimensions: 6.2 ms a class, the space 2.3 ms). Where values are close to
each other, ARPACK is stopped, and LAPACK finds the leading directions among all of the frame (40
classes of 799 dimensions: 38 ms a class; ARPACK needs 86 ms). Models for which nothing of this is
exact are solved one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial.chebyshev import chebvander
from scipy.linalg import LinAlgError, eigh, solve_triangular
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from tenfold.linalg.algebra import Array
from tenfold.linalg.solvers import NULL, ROUNDING, signs_of_columns
from tenfold.optimization.criteria import Problem
from tenfold.statistics.scatters import SampleTerm, Scatter, Term, along_mode

FEWEST = 4  # models for which a shared problem is solved
PAYS = 0.8  # of all dimensions: the largest space that takes less time than a dense solution
NEAR = (3e-6, 1e-10)  # how well a space holds each direction; the second if the first is too bad
RESTARTS = 4  # of ARPACK, with which it takes less time than LAPACK
EXACT = 1e-8  # largest residual, in units of the smallest value
EPS = float(np.finfo(float).eps)


class OwnColumns(NamedTuple):
    """What sets one model apart: columns, and the factors of their squares in A and B."""

    G: Array  # (n, k)
    in_A: Array  # (k,)
    in_B: Array  # (k,), not negative; infinite for columns that directions must not see


@dataclass(frozen=True, eq=False)
class SharedPairs:
    """M pairs ``A = T + G a G^T`` and ``B = within S_w + ridge I + G b G^T``.

    Parameters
    ----------
    T : ndarray of shape (n, n)
        The scatter to keep that all models share.
    S_w : ndarray of shape (n, n) or None
        The scatter to suppress that they share, if there is one.
    within, ridge : ndarray of shape (M,)
        The factors of S_w and of the identity.
    own : list of M OwnColumns
        The other parts of each.
    """

    T: Array
    S_w: Array | None
    within: Array
    ridge: Array
    own: list[OwnColumns]


@dataclass(frozen=True, eq=False)
class SharedSolution:
    """What is found of M models; those that are not `solved` are left out.

    Parameters
    ----------
    rows : ndarray of shape (M, r, I)
        Directions, for samples as they came.
    kept : ndarray of shape (M, r)
        What each direction keeps of A.
    suppressed, objective, within : ndarray of shape (M,)
        What all directions see of B without its ridge, the ratio of both, and what they see of
        S_w; None where that is not a part of B.
    solved : ndarray of shape (M,)
        Whether this is the solution of a model.
    means : ndarray of shape (M, C, r) or None
        The class means along each direction, about the mean of all and times the roots of their
        counts, where A is made of them.
    """

    rows: Array
    kept: Array
    suppressed: Array
    objective: Array
    within: Array | None
    solved: Array
    means: Array | None = None

    @classmethod
    def empty(cls, problem: Problem, has_within: bool) -> SharedSolution:
        """Nothing is solved yet."""
        n_models = len(problem)
        width = int(problem.ranks.max())
        size = problem.shape[0] if problem.basis is None else problem.basis.full_size
        return cls(
            rows=np.zeros((n_models, width, size)),
            kept=np.zeros((n_models, width)),
            suppressed=np.zeros(n_models),
            objective=np.zeros(n_models),
            within=np.zeros(n_models) if has_within else None,
            solved=np.zeros(n_models, dtype=bool),
        )

    def select_models(self, models: Array) -> SharedSolution:
        """The solution of some of the models."""
        return SharedSolution(
            rows=self.rows[models],
            kept=self.kept[models],
            suppressed=self.suppressed[models],
            objective=self.objective[models],
            within=None if self.within is None else self.within[models],
            solved=self.solved[models],
            means=None if self.means is None else self.means[models],
        )


# ── Two kinds of pairs ──────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, eq=False)
class PairOfMeans:
    """The pair ``(H a H^T, I + H b H^T)``, of which only ``H^T H`` is needed.

    H holds all class means and the columns of one class, in a basis in which B_0 is the identity.
    Directions are combinations of these columns.

    Parameters
    ----------
    gram : ndarray of shape (k, k)
        ``H^T H``.
    rows_of_means, own_rows : ndarrays of shape (C, I) and (k - C, I)
        The columns, for samples as they came.
    in_A, in_B : ndarray of shape (k,)
        a and b, not negative.
    """

    gram: Array
    rows_of_means: Array
    own_rows: Array
    in_A: Array
    in_B: Array

    def leading(self, rank: int) -> Array:
        """Coefficients (k, r) of the columns: directions ``B^-1 H v``, and ``W^T B W = I``.

        v are eigenvectors of ``H^T B^-1 H``, with the roots of a as factors. The Woodbury formula
        gives ``B^-1`` from the columns that B has.
        """
        of_A = np.flatnonzero(self.in_A)
        of_B = np.flatnonzero(self.in_B)
        root_A = np.sqrt(self.in_A[of_A])
        root_B = np.sqrt(self.in_B[of_B])
        seen = root_B[:, None] * self.gram[np.ix_(of_B, of_A)] * root_A
        inner = np.eye(len(of_B)) + root_B[:, None] * self.gram[np.ix_(of_B, of_B)] * root_B
        pulled = np.linalg.solve(inner, seen)
        of_identity = root_A[:, None] * self.gram[np.ix_(of_A, of_A)] * root_A
        values, vectors = np.linalg.eigh(of_identity - seen.T @ pulled)
        values = values[::-1][:rank]
        vectors = vectors[:, ::-1][:, :rank]
        tells = values > 10 * len(self.gram) * EPS * values[0]
        tells[0] = True
        vectors = vectors[:, tells] / np.sqrt(np.maximum(values[tells], np.finfo(float).tiny))
        coefficients = np.zeros((len(self.gram), vectors.shape[1]))
        coefficients[of_A] = vectors * root_A[:, None]
        coefficients[of_B] -= (pulled @ vectors) * root_B[:, None]
        return coefficients

    def directions(self, coefficients: Array) -> Array:
        """Directions (r, I) for samples as they came."""
        n = len(self.rows_of_means)
        of_means = coefficients[:n].T @ self.rows_of_means
        return np.asarray(of_means + coefficients[n:].T @ self.own_rows)

    def means_along(self, coefficients: Array) -> Array:
        """The class means along each direction, (C, r)."""
        return np.asarray(self.gram[: len(self.rows_of_means)] @ coefficients)

    def squares(self, coefficients: Array) -> tuple[Array, float, float]:
        """What each direction keeps of A; what all see of the identity, and of the rest of B."""
        seen = self.gram @ coefficients
        kept = self.in_A @ seen**2
        return kept, float(np.vdot(coefficients, seen)), float((self.in_B @ seen**2).sum())


@dataclass(frozen=True, eq=False)
class PairInFrame:
    """The pair ``(diag(tau) + G a G^T, I + G b G^T)`` with few columns G.

    Parameters
    ----------
    tau : ndarray of shape (n,)
        The diagonal, the largest first.
    rows : ndarray of shape (n, I)
        The basis, for samples as they came.
    own : OwnColumns
        G, a and b. Columns with an infinite b are independent, and no other b is positive then.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.optimization.shared_core import OwnColumns, PairInFrame
    >>> tau, G = 0.8 ** np.arange(100.0), np.ones((100, 1))
    >>> pair = PairInFrame(tau, np.eye(100), OwnColumns(G, np.array([0.0]), np.array([2.0])))
    >>> kept, *_ = pair.squares(pair.leading(rank=2))
    >>> A, B = np.diag(tau), np.eye(100) + 2 * G @ G.T
    >>> expected = np.linalg.eigvals(np.linalg.solve(B, A)).real
    >>> bool(np.allclose(kept, np.sort(expected)[::-1][:2]))
    True
    """

    tau: Array
    rows: Array
    own: OwnColumns

    def directions(self, coefficients: Array) -> Array:
        """Directions (r, I) for samples as they came."""
        return np.asarray(coefficients.T @ self.rows)

    def leading(self, rank: int) -> Array | None:
        """Directions U (n, r) with ``U^T (I + G b G^T) U = I``; None if not exact."""
        for near in NEAR:
            space = self._head_and_tail(rank, near)
            U = None if space is None else self._leading_in(*space, rank)
            if U is not None:
                return U
        U = self._leading_by_arpack(rank)
        return self._leading_of_all(rank) if U is None else U

    def _inverse_root(self) -> tuple[Array, Array]:
        """``B^-1/2`` as the identity plus ``P change P^T``: the columns P, and the changes.

        With the singular vectors P and values s of ``G sqrt(b)``, its factors along P are
        ``1 / sqrt(1 + s^2)``: zero where b is infinite.
        """
        G, _, in_B = self.own
        apart = np.isinf(in_B)
        if apart.any():
            P = np.linalg.qr(G[:, apart])[0]
            return P, -np.ones(P.shape[1])
        P, s, _ = np.linalg.svd(G * np.sqrt(in_B), full_matrices=False)
        return P, 1 / np.sqrt(1 + s**2) - 1

    def _leading_by_arpack(self, rank: int) -> Array | None:
        """Those directions by ARPACK, which applies ``B^-1/2 A B^-1/2`` to vectors.

        None where it needs many restarts, because the values are close to each other.
        """
        tau = self.tau
        G, in_A, _ = self.own
        n = len(tau)
        if not 4 * rank < n:  # ARPACK is slow where most values are wanted
            return None
        P, change = self._inverse_root()

        def root(x: Array) -> Array:
            return np.asarray(x + P @ (change * (P.T @ x)))

        def apply(x: Array) -> Array:
            x = root(x.ravel())
            return root(tau * x + G @ (in_A * (G.T @ x)))

        operator = LinearOperator((n, n), matvec=apply, dtype=float)
        start = np.random.default_rng(0).standard_normal(n)  # the same in every run
        try:
            values, vectors = eigsh(operator, k=rank, which="LA", v0=start, maxiter=RESTARTS)
        except ArpackError:
            return None
        values = values[::-1]
        U = vectors[:, ::-1]
        U = U + P @ (change[:, None] * (P.T @ U))
        above = values[-1] * (1 + EXACT)
        if self._count_above(above) != np.count_nonzero(values > above):
            return None  # one of several equal values was missed
        return self._if_exact(values, U)

    def _leading_of_all(self, rank: int) -> Array | None:
        """Those directions by LAPACK, from all of ``B^-1/2 A B^-1/2``."""
        G, in_A, _ = self.own
        P, change = self._inverse_root()
        A = (G * in_A) @ G.T
        A[np.diag_indices_from(A)] += self.tau
        changed = P * change
        along = A @ P
        half = along @ changed.T + 0.5 * changed @ (P.T @ along) @ changed.T
        values, vectors = eigh(
            A + half + half.T, subset_by_index=_last(len(A), rank), check_finite=False
        )
        U = vectors[:, ::-1]
        return self._if_exact(values[::-1], U + changed @ (P.T @ U))

    def _count_above(self, level: float) -> int:
        """How many values of the pair are above a level: those are positive in ``A - level B``.

        That matrix is ``D + G f G^T`` with a diagonal D. Both ways to eliminate a block of
        ``[[D, G], [G^T, -1/f]]`` leave the same number of positive eigenvalues (Sylvester).
        """
        D = self.tau - level
        f = self.own.in_A - level * self.own.in_B
        G = self.own.G[:, f != 0]
        f = f[f != 0]
        if not D.all():
            return -1  # the level is a value of tau itself: no answer
        small = np.diag(-1 / f) - G.T @ (G / D[:, None])
        positive = np.count_nonzero(np.linalg.eigvalsh(small) > 0)
        return int(np.count_nonzero(D > 0) + positive - np.count_nonzero(f < 0))

    def _leading_in(self, head: int, V: Array, rank: int) -> Array | None:
        """Those directions of a space of `_head_and_tail`, by a dense eigenproblem."""
        tau = self.tau
        G, in_A, in_B = self.own
        g = np.concatenate([G[:head], V.T @ G[head:]])
        A = (g * in_A) @ g.T
        A[np.arange(head), np.arange(head)] += tau[:head]
        A[head:, head:] += V.T @ (tau[head:, None] * V)
        apart = np.isinf(in_B)
        if apart.any():
            free = np.linalg.qr(g[:, apart], mode="complete")[0][:, apart.sum() :]
            wanted = _last(free.shape[1], rank)
            values, vectors = eigh(free.T @ A @ free, subset_by_index=wanted, check_finite=False)
            vectors = free @ vectors
        else:
            B = np.eye(len(A)) + (g * in_B) @ g.T
            wanted = _last(len(A), rank)
            values, vectors = eigh(A, B, subset_by_index=wanted, check_finite=False)
        values = values[::-1]
        vectors = vectors[:, ::-1]
        U = np.concatenate([vectors[:head], V @ vectors[head:]])
        return self._if_exact(values, U)

    def _if_exact(self, values: Array, U: Array) -> Array | None:
        """Directions with these values; None if they do not solve the eigenproblem."""
        tau = self.tau
        G, in_A, in_B = self.own
        apart = np.isinf(in_B)
        factors = in_A[:, None] - values * np.where(apart, 0.0, in_B)[:, None]
        left = (tau[:, None] - values) * U + G @ (factors * (G.T @ U))
        least = 0.0
        if apart.any():
            Q = np.linalg.qr(G[:, apart])[0]
            left -= Q @ (Q.T @ left)
            # Below this A vanishes in some of these directions.
            least = 10 * len(tau) * EPS * float(tau.sum() + in_A @ (G**2).sum(axis=0))
        if not (values[-1] > least and np.abs(left).max() <= EXACT * values[-1]):
            return None
        return np.asarray(U[:, values > 10 * len(tau) * EPS * values[0]])

    def _head_and_tail(self, rank: int, near: float) -> tuple[int, Array] | None:
        """A space that holds the leading directions: unit vectors, and columns V (n - head, q).

        A direction with the value mu has the entries ``(G y)_i / (mu - tau_i)`` for some small y.
        Orthogonal to the k columns both matrices are diagonal, so mu is at least the value number
        rank + k of tau (Courant and Fischer). The *head*, the largest tau, is kept as it is. In
        the *tail*, where tau_i is below every wanted mu, 1 / (mu - tau_i) is close to a polynomial
        of tau_i: with ``x = 2 mu / tau_head - 1`` the error falls by the factor
        ``x + sqrt(x^2 - 1)`` with each degree (Bernstein). So Chebyshev polynomials of tau, times
        the columns, span all tails, and no value is missed: it is off by the square of that error.
        Head and degree are those that cost least; None where the space is too large to pay.
        """
        tau = self.tau
        n, k = self.own.G.shape
        heads = np.arange(rank + k, n)
        if not len(heads) or not tau[rank + k - 1] > 0:
            return None
        largest = np.maximum(tau[heads], tau[0] * EPS)  # of the tail
        falls = np.arccosh(np.maximum(2 * tau[rank + k - 1] / largest - 1, 1 + EPS))
        degrees = np.ceil(-np.log(near) / falls)
        columns = k * (degrees + 1)
        best = int(np.argmin(heads + 2 * columns))  # of the tail, which are made orthonormal first
        head = int(heads[best])
        if head + columns[best] > PAYS * n:
            return None
        polynomials = chebvander(2 * tau[head:] / largest[best] - 1, int(degrees[best]))
        tails = polynomials[:, :, None] * self.own.G[head:, None, :]
        return head, np.linalg.qr(tails.reshape(n - head, -1))[0]

    def squares(self, U: Array) -> tuple[Array, float, float]:
        """What each direction keeps of A; what all see of the identity, and of the rest of B."""
        seen = (self.own.G.T @ U) ** 2
        in_B = np.where(np.isinf(self.own.in_B), 0.0, self.own.in_B)
        kept = self.tau @ U**2 + self.own.in_A @ seen
        return kept, float(np.vdot(U, U)), float((in_B @ seen).sum())


# ── All models ──────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, eq=False)
class MeansCore:
    """The class means and all own columns, in a basis in which ``S_w + rho I`` is the identity.

    Parameters
    ----------
    pairs : SharedPairs
        Of the models.
    rho : float
        The ridge of S_w.
    scale : ndarray of shape (M,)
        By how much B exceeds its identity.
    gram : ndarray of shape (k, k)
        Inner products of the columns: all class means, then the columns of each model.
    rows : ndarray of shape (k, I)
        The columns, for samples as they came.
    ends : ndarray of shape (M + 1,)
        Where the columns of each model begin and end.
    """

    pairs: SharedPairs
    rho: float
    scale: Array
    gram: Array
    rows: Array
    ends: Array

    @classmethod
    def of(cls, problem: Problem, pairs: SharedPairs, rho: float) -> MeansCore | None:
        """None where A is not of few class means, or B_0 is nearly singular."""
        of_means = problem.maximise.summands[0].term
        shared = [term for _, term, _ in problem.maximise.summands if term.n_groups == 1]
        if shared != [of_means] or not isinstance(of_means, SampleTerm):
            return None
        if 4 * len(of_means.members[0]) > problem.shape[0]:
            return None
        if pairs.S_w is None or min(own.in_A.min() for own in pairs.own) < 0:
            return None
        try:
            L = np.linalg.cholesky(pairs.S_w + rho * np.eye(len(pairs.S_w)))
        except LinAlgError:
            return None
        means = np.concatenate(list(of_means.deviations(0))).T
        columns = np.concatenate([means, *(own.G for own in pairs.own)], axis=1)
        whitened = solve_triangular(L, columns, lower=True, check_finite=False)
        solved = solve_triangular(L, whitened, lower=True, trans="T", check_finite=False)
        rows = solved.T if problem.basis is None else problem.basis.rows_from_span(solved)
        ends = np.cumsum([means.shape[1], *(own.G.shape[1] for own in pairs.own)])
        return cls(pairs, rho, pairs.within, whitened.T @ whitened, rows, ends)

    def pair(self, m: int) -> PairOfMeans:
        """The pair of model number m."""
        n_means = self.ends[0]
        own = self.pairs.own[m]
        start = self.ends[m]
        end = self.ends[m + 1]
        chosen = np.r_[0:n_means, start:end]
        gram = self.gram[np.ix_(chosen, chosen)]
        in_A = np.concatenate([np.ones(n_means), own.in_A])
        in_B = np.concatenate([np.zeros(n_means), own.in_B / self.scale[m]])
        return PairOfMeans(gram, self.rows[:n_means], self.rows[start:end], in_A, in_B)


@dataclass(frozen=True, eq=False)
class FrameCore:
    """A basis F with ``F^T T F = diag(tau)``, in which the shared part of B is the identity.

    Parameters
    ----------
    pairs, rho, scale
        As in `MeansCore`. The shared part of B is ``S_w + rho I``, or I where rho is infinite.
    tau : ndarray of shape (n,)
        The largest first.
    rows : ndarray of shape (n, I)
        F^T, for samples as they came.
    columns : list of M ndarrays of shape (n, k)
        Own columns in this basis.
    """

    pairs: SharedPairs
    rho: float
    scale: Array
    tau: Array
    rows: Array
    columns: list[Array]

    @classmethod
    def of(cls, problem: Problem, pairs: SharedPairs, rho: float, scale: Array) -> FrameCore | None:
        """None where the shared part of B is nearly singular."""
        T = pairs.T
        try:
            if pairs.S_w is None or not np.isfinite(rho):
                tau, F = np.linalg.eigh(T)
            else:
                tau, F = eigh(T, pairs.S_w + rho * np.eye(len(T)), check_finite=False)
        except LinAlgError:
            return None
        F = np.ascontiguousarray(F[:, ::-1])
        rows = (
            np.ascontiguousarray(F.T) if problem.basis is None else problem.basis.rows_from_span(F)
        )
        ends = np.cumsum([own.G.shape[1] for own in pairs.own])
        columns = F.T @ np.concatenate([own.G for own in pairs.own], axis=1)
        return cls(pairs, rho, scale, tau[::-1], rows, np.split(columns, ends[:-1], axis=1))

    def pair(self, m: int) -> PairInFrame:
        """The pair of model number m."""
        own = self.pairs.own[m]
        seen = OwnColumns(self.columns[m], own.in_A, own.in_B / self.scale[m])
        return PairInFrame(self.tau, self.rows, seen)


def solve_shared(
    problem: Problem, orthonormal: bool, share: Callable[..., Any], null: bool = False
) -> SharedSolution | None:
    """Solve the models that share what is large in their pairs; None where there are none.

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
    """
    pairs = shared_pairs(problem, null)
    if pairs is None:
        return None
    rhos = np.full(len(problem), np.inf)
    np.divide(pairs.ridge, pairs.within, out=rhos, where=pairs.within > 0)
    found = SharedSolution.empty(problem, has_within=bool(np.isfinite(rhos).all()))
    rounded = np.round(np.log(rhos), 12)
    _, first, group = np.unique(rounded, return_index=True, return_inverse=True)
    for number, example in enumerate(first):
        models = np.flatnonzero(group == number)
        if len(models) < FEWEST:
            continue
        rho = float(rhos[example])
        core: MeansCore | FrameCore | None = None
        if np.isfinite(rho):
            scale = pairs.within
            core = MeansCore.of(problem, pairs, rho) if len(first) == 1 else None
        else:
            scale = np.ones(len(problem)) if null else pairs.ridge
        if core is None:
            core = FrameCore.of(problem, pairs, rho, scale)
        if isinstance(core, MeansCore):
            shape = (len(problem), int(core.ends[0]), found.kept.shape[1])
            found = replace(found, means=np.zeros(shape))
        if core is not None:
            turned = orthonormal and not null  # in a null space they are orthonormal as found
            work = partial(
                _solve_some, core=core, ranks=problem.ranks, orthonormal=turned, found=found
            )
            share(work, np.array_split(models, min(8, len(models))))
    return found


def _solve_some(
    models: Array,
    core: MeansCore | FrameCore,
    ranks: Array,
    orthonormal: bool,
    found: SharedSolution,
) -> None:
    """Solve some of the models, and write them where they belong."""
    for m in models:
        pair = core.pair(m)
        coefficients = pair.leading(int(ranks[m, 0]))
        if coefficients is None:
            continue
        coefficients = coefficients / np.sqrt(core.scale[m])  # W^T B W is the identity
        rows = pair.directions(coefficients)
        if orthonormal:
            Q, triangle = np.linalg.qr(rows.T)
            rows = Q.T
            coefficients = coefficients @ np.linalg.inv(triangle)
        kept, of_identity, of_own = pair.squares(coefficients)
        squares = float(np.vdot(rows, rows))
        within = 0.0
        if np.isfinite(core.rho):
            within = max(of_identity - core.rho * squares, 0.0)  # S_w + rho I is the identity
        if found.within is not None:
            found.within[m] = within
        suppressed = core.pairs.within[m] * within + core.scale[m] * of_own
        lost = suppressed + core.pairs.ridge[m] * squares
        r = len(rows)
        signs = signs_of_columns(rows.T)
        np.multiply(rows, signs.T, out=found.rows[m, :r])
        found.rows[m, :r] += 0.0  # no negative zeros
        if found.means is not None and isinstance(pair, PairOfMeans):
            found.means[m, :, :r] = pair.means_along(coefficients) * signs
        found.kept[m, :r] = kept
        found.suppressed[m] = suppressed
        found.objective[m] = kept.sum() / lost if lost > 0 else 0.0
        found.solved[m] = True


# ── What is shared, and what is not ─────────────────────────────────────────────────────────────


def shared_pairs(problem: Problem, null: bool = False) -> SharedPairs | None:
    """The pairs as what they share and what they do not; None where sharing does not pay."""
    n_models = len(problem)
    if n_models < FEWEST or problem.unit is None or problem.column_units is not None:
        return None
    assert problem.minimise is not None
    n = problem.shape[0]
    totals: list[Array | None] = [None, None]
    within = np.zeros(n_models)
    # By term the group of each model, and what counts of it in A and in B, (2, M).
    own: dict[SampleTerm, tuple[Array, Array]] = {}
    for side, scatter in enumerate((problem.maximise, problem.minimise)):
        for coefficient, term, groups in scatter.summands:
            each = np.broadcast_to(np.asarray(coefficient, dtype=float), (n_models,))
            if term.n_groups > 1:
                if not isinstance(term, SampleTerm):
                    return None
                own.setdefault(term, (groups, np.zeros((2, n_models))))[1][side] += each
            elif side == 0 and (each == each[0]).all():
                whole = each[0] * _whole(term, n)
                totals[0] = whole if totals[0] is None else totals[0] + whole
            elif side == 1 and totals[1] is None:
                totals[1] = _whole(term, n)
                within = each
            else:
                return None
    T, S_w = totals
    if T is None or not own or (null and S_w is not None):
        return None
    columns = []
    for m in range(n_models):
        blocks = [
            (_independent(np.concatenate(list(term.deviations(int(groups[m]))))), factors[:, m])
            for term, (groups, factors) in own.items()
            if factors[:, m].any()
        ]
        if not blocks:
            return None
        G = np.concatenate([Z for Z, _ in blocks]).T
        both = np.concatenate([np.broadcast_to(factor, (len(Z), 2)) for Z, factor in blocks])
        if both[:, 1].min() < 0:  # samples that are held out of S_w
            return None
        columns.append(OwnColumns(G, both[:, 0], both[:, 1]))
    widths = np.array([each.G.shape[1] for each in columns])
    if (problem.ranks[:, 0] + 3 * widths > PAYS * n).all():
        return None
    if null:
        columns = [_not_seen(each, float(np.trace(T))) for each in columns]
        return SharedPairs(T, None, within, np.zeros(n_models), columns)
    return SharedPairs(T, S_w, within, problem.ridges(_unit_sizes(problem)), columns)


def _last(n: int, rank: int) -> tuple[int, int]:
    """Which of n ascending eigenvalues are the largest, as LAPACK wants to be told."""
    return max(n - rank, 0), n - 1


def _whole(term: Term, size: int) -> Array:
    """The scatter (n, n) of a term of one group."""
    (S,) = along_mode([Scatter.of(term)], 0, [np.eye(size)[None]])
    return np.asarray(S[0])


def _unit_sizes(problem: Problem) -> Array:
    """The trace of the unit of each model's ridge."""
    assert problem.unit is not None
    sizes = np.zeros(len(problem))
    for coefficient, term, groups in problem.unit.summands:
        if not np.any(coefficient):
            continue
        if isinstance(term, SampleTerm):
            each = [
                sum(float(np.vdot(Z, Z)) for Z in term.deviations(group))
                for group in range(term.n_groups)
            ]
        else:
            each = [np.trace(_whole(term, problem.shape[0]))] * term.n_groups
        sizes += coefficient * np.array(each)[groups]
    return sizes


def _independent(Z: Array) -> Array:
    """Rows with the same ``Z^T Z``, one fewer: deviations from a mean sum to zero."""
    if len(Z) < 2:
        return Z
    squares, turn = np.linalg.eigh(Z @ Z.T)
    there = squares > len(Z) * EPS * squares[-1]
    return np.asarray(turn[:, there].T @ Z)


def _not_seen(own: OwnColumns, total: float) -> OwnColumns:
    """The same columns, those in B of length 1, and its directions infinitely heavy in it."""
    squares = (own.G**2).sum(axis=0)
    of_B = own.in_B * squares
    size = total + float(np.sum((own.in_A + own.in_B) * squares))
    there = of_B > max(NULL * of_B.max(), ROUNDING * size)
    G = own.G / np.where(there, np.sqrt(squares), 1.0)
    in_A = np.where(there, own.in_A * squares, own.in_A)
    return OwnColumns(G, in_A, np.where(there, np.inf, 0.0))


def few_columns(problem: Problem) -> Array | None:
    """Columns (M, n, k) with the products A of models of vectors; None unless they are few.

    Where class means stand for their samples, they are no more than the classes.
    """
    n_models = len(problem)
    size = problem.shape[0]
    parts = []
    for coefficient, term, groups in problem.maximise.summands:
        if not isinstance(term, SampleTerm) or np.min(coefficient) < 0:
            return None
        parts.append((np.sqrt(np.broadcast_to(coefficient, n_models)), term, groups))
    widths = [max(len(term.members[g]) for g in groups) for _, term, groups in parts]
    if not 0 < 2 * sum(widths) <= size:
        return None
    found = np.zeros((n_models, sum(widths), size))
    for (factors, term, groups), end in zip(parts, np.cumsum(widths), strict=True):
        for rows, g, factor in zip(found, groups, factors, strict=True):
            Z = np.concatenate([np.empty((0, size)), *term.deviations(int(g))])
            np.multiply(factor, Z, out=rows[end - len(Z) : end])
    return found.swapaxes(1, 2)
