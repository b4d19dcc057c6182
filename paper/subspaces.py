"""Stacks of subspaces: many classes and many ranks solved at once, and lengths in them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.linalg.algebra import Array
from tenfold.linalg.solvers import ratio_trace
from tenfold.optimization.alternation import Recipe, solve
from tenfold.optimization.criteria import Problem, class_specific
from tenfold.statistics.class_statistics import ClassStatistics
from tenfold.threads import threads_for


def solved(
    method: str,
    statistics: ClassStatistics,
    ranks: Array,
    positives: Array,
    *,
    ridge: Array | float,
    absolute_ridge: bool,
    shrinkage: Array | float,
    orthonormal: bool,
    init: str,
    max_iter: int,
    tol: float,
    threads: bool,
) -> list[Array]:
    """Projections of M models of one method, solved as one stack.

    Nothing has a default, so that the tables do not follow those of the library.

    Method is "CSDA", "MDA" (CMDA on "this class or not") or "MCSDA". Ranks (M, K); positives (M,),
    the position of the class that each model is about; ridge and shrinkage are numbers or (M,).
    `absolute_ridge` says whether the ridge is the paper's lambda, `threads` whether threads share
    the stack; the rest is as for `tenfold.MCSDA`. Projections are (M, I_k, r_k), one array per
    mode; columns of zeros pad lower ranks.
    """
    n_models = len(ranks)
    ridges, shrinkages = (np.broadcast_to(value, n_models) for value in (ridge, shrinkage))
    problems = []
    for p, own, value, share in zip(positives, ranks, ridges, shrinkages, strict=True):
        settings = {"ranks": own, "ridge": (float(value), absolute_ridge)}
        if method == "MDA":
            problems.append(this_class_or_not(statistics, int(p), **settings))
        else:
            problems.append(class_specific(statistics, int(p), float(share), **settings))
    recipe = Recipe(
        solver=ratio_trace,
        orthonormal=orthonormal,
        init=init,
        direct=False,
        max_iter=max_iter,
        tol=tol,
    )
    stack = Problem.stacked(problems)
    with threads_for(stack.shape, threads, len(stack)) as n_threads:
        return solve(stack, recipe, n_threads).projections


def this_class_or_not(statistics: ClassStatistics, positive: int, **settings: Any) -> Problem:
    """MDA as the paper runs it: CMDA on "this class or not".

    The two means and the mean of all lie on a line, so the between scatter is a multiple of
    ``N (M - M_p)(M - M_p)^T``, and the within scatter is the rest of the total. So one set of class
    statistics serves every positive class.
    """
    n, N = float(statistics.counts[positive]), statistics.count
    between = statistics.mean_offset_scatter(positive) * (n / (N - n))  # S_b, eq. 10
    within = statistics.total() - between  # S_w, eq. 11
    return Problem.of(statistics, between, within, **settings)


def squared_lengths(Z: Array, rows: Array, columns: Array) -> Array:
    """Squared norms of ``W_1^T Z_j W_2`` for R pairs of projections.

    Deviations Z (n, I_1, I_2) or (n, I_1, I_2, channels), whose channels are added up; projections
    (R, I_1, r) and (R, I_2, r), of which columns of zeros count for nothing. The result is (R, n).

    Examples
    --------
    >>> import numpy as np
    >>> from paper.subspaces import squared_lengths
    >>> squared_lengths(np.ones((1, 4, 3)), np.eye(4)[None, :, :2], np.eye(3)[None, :, :2])
    array([[4.]])
    """
    channels = [Z[..., c] for c in range(Z.shape[3])] if Z.ndim == 4 else [Z]
    ranks = [int(W.any(axis=0).sum()) for W in rows]
    all_rows = np.concatenate([W[:, :r] for W, r in zip(rows, ranks, strict=True)], axis=1)
    lengths = np.zeros((len(rows), len(Z)), dtype=Z.dtype)
    for channel in channels:
        flat = np.ascontiguousarray(channel.transpose(1, 0, 2)).reshape(Z.shape[1], -1)
        half = (all_rows.T @ flat).reshape(-1, len(Z), Z.shape[2])  # one product for all ranks
        start = 0
        for m, (rank, W) in enumerate(zip(ranks, columns, strict=True)):
            Y = half[start : start + rank] @ W[:, : int(W.any(axis=0).sum())]
            lengths[m] += np.einsum("rnc,rnc->n", Y, Y)
            start += rank
    return lengths
