"""What a stack of models maximises and minimises, and how it is to be solved."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tenfold.mathematics.algebra import Array
from tenfold.mathematics.parts import Part, is_shared
from tenfold.mathematics.scatter import Scatter, along_mode, of_models
from tenfold.mathematics.solvers import Solver, ratio_trace


@dataclass(frozen=True, eq=False)
class Criterion:
    """What M models maximise and minimise.

    Parameters
    ----------
    shape : tuple of K ints
        The shape (I_1, ..., I_K) of a sample.
    maximise : Scatter
        The scatter to keep.
    minimise : Scatter or None
        The scatter to suppress; None when only the first counts.
    owners : ndarray of shape (M,)
        The group of each model in the parts of the scatters.
    balance : ndarray of shape (M,)
        How many samples `minimise` sums over for each one that both sum over. It makes a
        relative ridge mean the same whatever the sizes of the classes are.
    full_shape : tuple of K ints or None
        The shape before an exact change of basis, if there was one.
    """

    shape: tuple[int, ...]
    maximise: Scatter
    minimise: Scatter | None
    owners: Array
    balance: Array
    full_shape: tuple[int, ...] | None = None

    def of_models(self, part: Array) -> Criterion:
        """The criterion of a part of the models."""
        return replace(
            self,
            maximise=self.maximise.of_models(part),
            minimise=None if self.minimise is None else self.minimise.of_models(part),
            owners=self.owners[part],
            balance=self.balance[part],
        )

    @property
    def scatters(self) -> list[Scatter]:
        """The one or two scatters."""
        return [self.maximise] if self.minimise is None else [self.maximise, self.minimise]

    @property
    def parts(self) -> list[Part]:
        """All parts of the scatters."""
        return [part for scatter in self.scatters for _, part in scatter.terms]

    def is_answered_by_passes(self) -> bool:
        """Whether each question costs a pass over samples that are not in memory."""
        return any(is_shared(part) for part in self.parts)

    def along_mode(self, mode: int, factors: list[Array], models: Array) -> tuple[Array, Array]:
        """The pair (A, B) along a mode for some of the models, each of shape (m, I_k, I_k)."""
        pair = along_mode(self.scatters, mode, factors, self.owners[models], models)
        return pair[0], pair[-1]

    def relative_ridge(self, mode: int, A: Array, B: Array, models: Array) -> Array:
        """The size of a ridge of 1: the mean eigenvalue of both scatters, per sample of B."""
        size = (self.full_shape or self.shape)[mode]
        return np.asarray(self.balance[models] * (trace(A) + trace(B)) / size)


@dataclass(frozen=True, eq=False)
class Recipe:
    """How `tenfold.mathematics.alternation.alternate` solves a criterion.

    Parameters
    ----------
    solver : callable
        One of `tenfold.mathematics.solvers`.
    orthonormal : bool
        Whether columns are orthonormalised after each solution.
    ridge : ndarray of shape (M,) or float
        Added to the diagonal of the minimised scatter of every mode, relative to
        `Criterion.relative_ridge` or absolute.
    absolute_ridge : ndarray of shape (M,) or bool
        Whether `ridge` is the paper's absolute lambda.
    init : {"ones", "identity"}
        The projections that the first solutions see: columns of ones, as the paper has it, or
        no projection at all.
    direct : bool
        Solve every mode once, as the start shows it, without waiting for the others.
    max_iter : int
        Rounds at most.
    tol : float
        A model rests when the projectors of all its modes together moved by at most this much
        (Frobenius norm) in one round.
    """

    solver: Solver = ratio_trace
    orthonormal: bool = True
    ridge: Array | float = 0.0
    absolute_ridge: Array | bool = False
    init: str = "ones"
    direct: bool = False
    max_iter: int = 20
    tol: float = 1e-5

    def of_models(self, part: Array) -> Recipe:
        """The recipe of a part of the models."""
        ridge, absolute = of_models(self.ridge, part), of_models(self.absolute_ridge, part)
        return replace(self, ridge=ridge, absolute_ridge=absolute)

    def ridges(self, A: Array, B: Array, unit: Array, models: Array) -> Array:
        """What is added to the diagonal of B for each of the named models, never nothing."""
        asked = np.asarray(self.ridge, dtype=float)
        asked = asked[models] if asked.ndim else asked
        absolute = np.asarray(self.absolute_ridge)
        absolute = absolute[models] if absolute.ndim else absolute
        floor = np.finfo(float).eps * (trace(A) + trace(B))
        floor = np.where(floor > 0, floor, 1.0)  # no scatter at all: every direction is as good
        return np.asarray(np.maximum(np.where(absolute, asked, asked * unit), floor))


def trace(stack: Array) -> Array:
    """The trace of each matrix of a stack."""
    return np.asarray(np.trace(stack, axis1=1, axis2=2))
