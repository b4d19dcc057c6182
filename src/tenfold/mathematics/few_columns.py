"""The leading eigenvectors of a pair that is diagonal but for a few columns.

An eigenvector of ::

    (diag(tau) + G a G^T) u = mu (I + G b G^T) u

has ``u_i = (G y)_i / (mu - tau_i)`` for some small y; an infinite b keeps u away from a column.
Where tau_i is far below every wanted mu, in the *tail*, these vectors lie close to the span of
``G / (pole - tau)`` for a few poles: with Zolotarev's poles the error falls by a factor of 20 to
2000 with each. The *head*, the largest tau, is kept as it is. A dense eigenproblem of head and
tail, of a hundred or two hundred rows, gives the wanted vectors; residuals say whether they are
good enough.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import ellipj, ellipk

from tenfold.mathematics.algebra import Array

LIKELY = 0.7  # of the value with its number in the diagonal: where the smallest wanted one lies
FAR = 0.4  # of the smallest wanted value: where the tail may begin
EXACT = 1e-8  # largest residual, in units of the value itself
AIMED = 3e-9  # error of vectors in the tail, most of whose length is in the head


class Leading(NamedTuple):
    """The r leading vectors, in the head and in the tail: ``tail = basis @ inside``."""

    values: Array  # (r,)
    head: Array  # (h, r)
    tail: Array  # (n - h, r)
    basis: Array  # (n - h, t), orthonormal
    inside: Array  # (t, r)
    seen: Array  # G^T of them, (k, r)


def leading(tau: Array, G: Array, a: Array, b: Array, rank: int) -> Leading | None:
    """The leading vectors of the pair; None where they did not become exact.

    Parameters
    ----------
    tau : ndarray of shape (n,)
        The diagonal, the largest first.
    G : ndarray of shape (n, k)
        The columns.
    a, b : ndarrays of shape (k,)
        The factors of their squares. Columns with an infinite b are independent; the vectors are
        orthogonal to them, and to no others is b positive, then.
    rank : int
        How many vectors are wanted.

    Returns
    -------
    Leading or None
        Vectors u with ``u^T (I + G b G^T) u = 1``, the largest value first.
    """
    bound = float(tau[min(rank + G.shape[1], len(tau) - 1)])  # all wanted values are larger
    likely = LIKELY * float(tau[rank - 1]) if rank <= len(tau) else 0.0
    for smallest in (likely, bound) if likely > bound else (bound,):
        found = _leading_above(smallest, tau, G, a, b, rank) if smallest > 0 else None
        if found is not None and (smallest == bound or found.values[-1] >= smallest):
            return found
    return None


def _leading_above(
    smallest: float, tau: Array, G: Array, a: Array, b: Array, rank: int
) -> Leading | None:
    """`leading`, if no wanted value is below `smallest`; else vectors may be wrong, or none."""
    head = int(np.searchsorted(-tau, -FAR * smallest))
    head = min(max(head, rank + G.shape[1] + 5), 2 * (rank + G.shape[1]) + 20, len(tau) - 1)
    rest, tail = tau[head:], G[head:]
    finite = np.where(np.isinf(b), 0.0, b)
    poles = zolotarev_poles(max(rest[0], 0.0), smallest, AIMED)
    V = np.concatenate([tail / (pole - rest)[:, None] for pole in poles], axis=1)
    for _ in range(3):
        V = np.linalg.qr(V)[0]
        mu, u, v, y = _rayleigh_ritz(tau, G, a, b, head, V, rank)
        in_tail = V @ v
        seen = G[:head].T @ u + tail.T @ in_tail  # G^T w
        y = np.where(np.isinf(b)[:, None], y, (a[:, None] - finite[:, None] * mu) * seen)
        pull = tail @ y
        if np.abs((rest[:, None] - mu) * in_tail + pull).max() <= EXACT * mu[-1]:
            return Leading(mu, u, in_tail, V, v, seen)
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
    >>> from tenfold.mathematics.few_columns import zolotarev_poles
    >>> zolotarev_poles(0.01, 1.0, 1e-7).round(2)
    array([ 1.07,  1.99, 14.86])
    """
    root = np.clip(np.sqrt(below / above), 1e-3, 1 - 1e-6)  # ranges that touch, or a single point
    k = (1 - root) / (1 + root)
    across, along = ellipk(1 - k**2), ellipk(k**2)
    count = int(np.clip(np.ceil(np.log(4 / error) * across / (2 * np.pi * along)), 2, 12))
    points = ellipj((2 * np.arange(count) + 1) / (2 * count) * across, 1 - k**2)[2]
    return np.asarray(above * root * (1 + points) / (1 - points))[::-1]


def _rayleigh_ritz(
    tau: Array, G: Array, a: Array, b: Array, head: int, V: Array, rank: int
) -> tuple[Array, Array, Array, Array]:
    """The leading values mu (r,) and vectors, (head, r) and (t, r), of the pair seen in a basis.

    The basis is the head and the orthonormal columns V of the tail. The last array (k, r) says by
    how much of each column ``A u`` misses ``mu u``, for columns with an infinite b.
    """
    g = np.concatenate([G[:head], V.T @ G[head:]])
    A = np.zeros((len(g), len(g)))
    A[np.arange(head), np.arange(head)] = tau[:head]
    A[head:, head:] = V.T @ (tau[head:, None] * V)
    A += (g * a) @ g.T
    apart = np.isinf(b)
    taken = apart if apart.any() else b > 0
    inside = g[:, taken] * np.sqrt(np.where(apart, 1.0, b)[taken])  # B = I + inside inside^T
    squares, turn = np.linalg.eigh(inside.T @ inside)
    there = squares > 1e-14 * squares.max(initial=0.0)
    turn = turn[:, there] / np.sqrt(squares[there])
    P = inside @ turn  # orthonormal columns
    D = np.full(P.shape[1], -1.0) if apart.any() else 1 / np.sqrt(1 + squares[there]) - 1
    left = A + (P * D) @ (P.T @ A)
    whitened = left + (left @ P) * D @ P.T  # B^(-1/2) = I + P D P^T
    mu, U = np.linalg.eigh(whitened)  # all at once takes less time than the leading ones alone
    mu, U = mu[::-1][:rank], U[:, ::-1][:, :rank]
    U = U + (P * D) @ (P.T @ U)
    missed = np.zeros((len(b), len(mu)))
    if apart.any():
        missed[apart] = -turn @ (P.T @ (A @ U))
    return mu, U[:head], U[head:], missed
