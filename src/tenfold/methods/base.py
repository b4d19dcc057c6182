"""What all methods share: from the pair of scatters to one projection per mode."""

from __future__ import annotations

import warnings
from math import ceil, prod, sqrt
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from tenfold.mathematics.algebra import Array
from tenfold.mathematics.alternation import Alternation, alternate
from tenfold.mathematics.criteria import Criterion, Recipe
from tenfold.mathematics.moments import ClassMoments, ClassStatistics
from tenfold.mathematics.sample_statistics import Workload
from tenfold.mathematics.solvers import SOLVERS, STAYING_INSIDE
from tenfold.methods.learning import Learner, Models
from tenfold.methods.projection import Projection
from tenfold.system.threads import threads_for
from tenfold.validation import samples as check


class TensorProjector(Projection, Learner):
    """Base of all methods: one projection matrix per mode, learned from class statistics.

    A method says which scatters it maximises and minimises in `_criterion`; everything else
    is here, in `Projection` and in `Learner`. Parameters that a method does not have are class
    attributes with fixed values.
    """

    alternates = True  # whether a mode waits for the solutions of the others
    fewest_rounds = 1

    ranks: Any = None
    solver: Any = "ratio_trace"
    orthonormal: bool = True
    ridge: Any = 0.0
    max_iter: int = 20
    tol: float = 1e-5
    init: str = "identity"

    # -- what a method says ----------------------------------------------------------------------

    def _criterion(self, statistics: ClassStatistics, models: Models) -> Criterion:
        raise NotImplementedError(f"{type(self).__name__} must say what it maximises")

    def _default_ranks(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The square root of each size, rounded up: 7 x 6 for images of 40 x 30."""
        return tuple(ceil(sqrt(size)) for size in shape)

    def _solver(self) -> Any:
        return SOLVERS[check.check_option("solver", self.solver, list(SOLVERS))]

    # -- what a learner says ---------------------------------------------------------------------

    def _check_parameters(self) -> None:
        check.check_number("max_iter", self.max_iter, self.fewest_rounds, integer=True)
        check.check_number("tol", self.tol, 0)
        check.check_option("statistics", self.statistics, ("auto", "moments", "samples"))
        check.check_option("output", self.output, ("flat", "tensor"))
        check.check_option("init", self.init, ("ones", "identity"))
        check.check_flag("orthonormal", self.orthonormal)
        check.check_ridge(self.ridge)
        self._solver()

    def _workload(self) -> Workload:
        ranks = self._ranks()
        outside = 0 if self._solver() in STAYING_INSIDE else max(ranks)
        return Workload(1, max(1, self.max_iter) if len(ranks) > 1 else 1, ranks, outside)

    def _models(self, statistics: ClassStatistics) -> Models:
        ridge, absolute = check.check_ridge(self.ridge)
        ranks = np.minimum(self._ranks(), statistics.shape)
        return Models(
            ranks[None],
            np.array([ridge]),
            np.array([absolute]),
            positives=np.zeros(1, dtype=int),
            shrinkage=np.zeros(1),
        )

    def _solve(self, statistics: ClassStatistics, models: Models) -> Alternation:
        recipe = Recipe(
            solver=self._solver(),
            orthonormal=self.orthonormal,
            ridge=models.ridge,
            absolute_ridge=models.absolute_ridge,
            init=self.init,
            direct=not self.alternates,
            max_iter=self.max_iter,
            tol=self.tol,
        )
        criterion = self._criterion(statistics, models)
        from_tables = isinstance(statistics, ClassMoments)
        share = threads_for(criterion.shape, len(models), from_tables)
        return alternate(criterion, models.ranks, recipe, share)

    def _take(
        self, statistics: ClassStatistics, models: Models, found: Alternation, rows: Array
    ) -> None:
        m = int(rows[0])
        filled = [int(W[m].any(axis=0).sum()) for W in found.projections]
        own = [W[m, :, :rank] for W, rank in zip(found.projections, filled, strict=True)]
        self.projections_ = statistics.lift(own)
        self.ranks_ = tuple(filled)
        self.objective_ = found.objective[m, : found.n_iter[m]]
        self.n_iter_ = int(found.n_iter[m])
        self.converged_ = bool(found.converged[m])

    def _warn_unless_converged(self, found: Alternation) -> None:
        n, late = len(found.converged), int((~found.converged).sum())
        if late:
            who = type(self).__name__ if n == 1 else f"{late} of {n} {type(self).__name__} models"
            warnings.warn(
                f"{who} still moved by more than tol={self.tol:g} in round {self.max_iter}; "
                "raise max_iter for subspaces that rest, or tol to accept these",
                ConvergenceWarning,
                stacklevel=4,
            )

    # -- shapes ----------------------------------------------------------------------------------

    def _shape(self) -> tuple[int, ...]:
        return (prod(self.sample_shape_),) if self.flattens else self.sample_shape_

    def _ranks(self) -> tuple[int, ...]:
        shape = self._shape()
        return check.check_ranks(self.ranks, shape, self._default_ranks(shape))
