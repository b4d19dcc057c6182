"""How a problem is solved, and what was found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from tenfold.mathematics.algebra import Array
from tenfold.mathematics.solvers import Solver, ratio_trace

T = TypeVar("T")
Share = Callable[[Callable[[Array], T], list[Array]], list[T]]  # work on some models at a time


@dataclass(frozen=True)
class Recipe:
    """How a problem is solved.

    Parameters
    ----------
    solver : callable
        One of `tenfold.mathematics.solvers`.
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
        Whether its subspaces converged.
    kept, suppressed : ndarrays of shape (M,)
        What the projections see of the scatter to keep, and of that to suppress without its ridge.
    """

    projections: list[Array]
    objective: Array
    n_iter: Array
    converged: Array
    kept: Array
    suppressed: Array

    def columns(self, model: int) -> list[Array]:
        """The projections (I_k, r_k) of one model, without the padding."""
        filled = [int(W[model].any(axis=0).sum()) for W in self.projections]
        return [W[model, :, :rank] for W, rank in zip(self.projections, filled, strict=True)]

    @classmethod
    def stacked(cls, parts: list[Solution], order: Array) -> Solution:
        """One stack of the models of several; `order` holds the number of each in that stack."""
        widths = np.max([[W.shape[2] for W in part.projections] for part in parts], axis=0)
        rounds = max(part.objective.shape[1] for part in parts)
        back = np.argsort(order)

        def joined(arrays: list[Array]) -> Array:
            return np.concatenate(arrays)[back]

        def lengthened(objective: Array) -> Array:
            return np.pad(objective, ((0, 0), (0, rounds - objective.shape[1])), "edge")

        return cls(
            [
                joined([padded(p.projections[k], width) for p in parts])
                for k, width in enumerate(widths)
            ],
            joined([lengthened(part.objective) for part in parts]),
            joined([part.n_iter for part in parts]),
            joined([part.converged for part in parts]),
            joined([part.kept for part in parts]),
            joined([part.suppressed for part in parts]),
        )


def in_order(work: Callable[[Array], T], parts: list[Array]) -> list[T]:
    """Work on some models after the others; `system.threads` shares them out."""
    return [work(part) for part in parts]


def padded(W: Array, width: int) -> Array:
    """Columns of zeros added to a stack (M, I_k, r) until it has `width` of them."""
    return W if W.shape[2] == width else np.pad(W, ((0, 0), (0, 0), (0, width - W.shape[2])))
