"""What was learned, as values: frozen, and nothing but fields.

Solving gives a `Solution`, a stack; a method makes a `Model` of it. An estimator shows the fields
of its model with an underscore at the end, and a file holds them: there is no other list of what
was learned. A method that learns more derives a value with more fields.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import Annotated, Any, Self

from tenfold.mathematics.algebra import Array
from tenfold.mathematics.alternation import Solution
from tenfold.mathematics.moments import ClassStatistics

Labels = Annotated[Array, "labels"]
Shape = tuple[int, ...]


def check_agree(name: str, came: Any, expected: Any) -> None:
    """Refuse a field, from a file, that does not fit the rest."""
    if came != expected:
        raise ValueError(f"its {name} has {came}, but the rest of the model needs {expected}")


@dataclass(frozen=True, eq=False, kw_only=True)
class Model:
    """One projection per mode, and how they were found.

    Parameters
    ----------
    classes : ndarray of shape (C,)
        The labels, sorted.
    class_count : ndarray of shape (C,)
        How many samples of each class there were; sums of weights.
    projections : list of K ndarrays of shape (I_k, r_k)
        One projection per mode.
    ranks : tuple of K ints
        Their numbers of columns.
    objective : ndarray of shape (n_iter,)
        The objective after each round.
    n_iter : int
        Rounds made.
    converged : bool
        Whether the subspaces converged.
    patterns : list of K ndarrays of shape (I_k, r_k)
        What each column of a projection stands for in the samples; empty for members of a bank.
    """

    classes: Labels
    class_count: Array
    projections: list[Array]
    ranks: Shape
    objective: Array
    n_iter: int
    converged: bool
    patterns: list[Array] = field(default_factory=list)

    @classmethod
    def of(cls, statistics: ClassStatistics, solution: Solution, number: int, **more: Any) -> Self:
        """The model with this number in a stack, and more that was learned."""
        own = solution.columns(number)
        return cls(
            classes=statistics.classes,
            class_count=statistics.counts,
            projections=own,
            ranks=tuple(W.shape[1] for W in own),
            objective=solution.objective[number, : solution.n_iter[number]],
            n_iter=int(solution.n_iter[number]),
            converged=bool(solution.converged[number]),
            **more,
        )

    def check(self, seen: Shape, shape: Shape) -> None:
        """Refuse fields that do not fit together.

        Parameters
        ----------
        seen : tuple of K ints
            The shape of a sample as it is projected.
        shape : tuple of ints
            Its shape as it came.
        """
        if not all(getattr(W, "dtype", "O") in ("f8", "f4") for W in self.projections):
            raise ValueError("its projections are not arrays of floats")
        shapes = tuple(W.shape for W in self.projections)
        check_agree("projections_", shapes, tuple(zip(seen, self.ranks, strict=False)))
        check_agree("ranks_", len(self.ranks), len(seen))
        if self.patterns:
            check_agree("patterns_", tuple(P.shape for P in self.patterns), shapes)
        check_agree("objective_", self.objective.shape, (self.n_iter,))
        check_agree("class_count_", self.class_count.shape, self.classes.shape)


@dataclass(frozen=True, eq=False, kw_only=True)
class ClassModel(Model):
    """A model of one class against everything else.

    Parameters
    ----------
    mean : ndarray of the shape of a sample
        The point from which distances are measured: the mean of the class, or one behind it.
    positive_index : int
        The position of the class among the labels.
    """

    mean: Array
    positive_index: int

    def check(self, seen: Shape, shape: Shape) -> None:
        """Refuse fields that do not fit together."""
        super().check(seen, shape)
        check_agree("mean_", self.mean.shape, shape)
        if not 0 <= self.positive_index < len(self.classes):
            raise ValueError("its positive_index_ is not the position of a class")


@dataclass(frozen=True, eq=False, kw_only=True)
class RatioModel(ClassModel):
    """A model of one class, and two Gaussians in its subspace: the class and everything else.

    Of a projected sample z, from the mean of the other samples, the log likelihood ratio is
    ``offset + c_0 . z - |C^T z|^2 / 2``; see `likelihood_ratio`.

    Parameters
    ----------
    other_mean : ndarray of the shape of a sample
        The mean of all other samples.
    contrasts : ndarray of shape (r_1 * ... * r_K, 1 + q)
        c_0 and the q columns of C; no column where distances decide.
    offset : float
        The log likelihood ratio at the mean of the other samples.
    anchors : ndarray of shape (2,)
        That expected of other samples, and that of a sample as far from one mean as from the
        other, in units of the two Gaussians.
    """

    other_mean: Array
    contrasts: Array
    offset: float
    anchors: Array

    def check(self, seen: Shape, shape: Shape) -> None:
        """Refuse fields that do not fit together."""
        super().check(seen, shape)
        check_agree("other_mean_", self.other_mean.shape, shape)
        wanted = (prod(self.ranks), *self.contrasts.shape[1:2])
        check_agree("contrasts_", self.contrasts.shape, wanted)
        check_agree("anchors_", self.anchors.shape, (2,))
