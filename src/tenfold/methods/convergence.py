"""What is said of models that had not converged when their rounds were over."""

from __future__ import annotations

import warnings

from sklearn.exceptions import ConvergenceWarning

from tenfold.mathematics.alternation import Solution


def warn_of_late(name: str, max_iter: int, tol: float, solution: Solution) -> None:
    """Warn of models of a method that still moved in the last round."""
    n, late = len(solution.converged), int((~solution.converged).sum())
    if late and tol > 0:
        who = name if n == 1 else f"{late} of {n} {name} models"
        warnings.warn(
            f"the objective of {who} still changed by more than tol={tol:g} of it in "
            f"round {max_iter}; raise max_iter, or add shrinkage or ridge, without which "
            "a scatter that is nearly singular takes very many rounds",
            ConvergenceWarning,
            stacklevel=5,
        )
