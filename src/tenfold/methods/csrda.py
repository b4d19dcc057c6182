"""Class-specific reference discriminant analysis."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import sqrt

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from tenfold.linalg.solvers import orthonormalised, with_fixed_signs
from tenfold.methods.base import Shape
from tenfold.methods.class_specific import ClassModel, ClassSpecificProjector
from tenfold.optimization.alternation import Recipe, Solution, solve
from tenfold.quiet import warn
from tenfold.statistics.class_statistics import ClassStatistics
from tenfold.threads import threads_for
from tenfold.validation.parameter_types import SolverName
from tenfold.validation.parameters import check_positive

NO_STEP = 1e-12  # of the squares of the samples: what rounding makes of means that coincide


@dataclass(frozen=True, eq=False, kw_only=True)
class CSRDAModel(ClassModel):
    """A model of one class about a point that was learned, and how far that is behind its mean."""

    shift: float


@dataclass(eq=False, repr=False, kw_only=True)
class CSRDA(ClassSpecificProjector):
    """Class-specific reference discriminant analysis: `CSDA` about a point that is learned, too.

    `CSDA` measures all samples from the mean M_p of the positive class. Here the point that they
    are measured from, the reference, is chosen with the projection, to maximise ::

        J = sum_{j not in p} ||W^T (x_j - reference)||^2 / sum_{j in p} ||W^T (x_j - reference)||^2

    It moves away from the other samples: reference = M_p + t (M_p - M_o), with M_o the mean of all
    other samples. For given W the best t solves a quadratic equation. W and t are found in turn.

    Parameters
    ----------
    ranks : int, float, tuple of one int or float, or None, default=None
        Dimensions kept; a float such as 0.95 is the share of the total scatter to keep. None takes
        the square root of the number of features, rounded up.
    sample_shape : tuple of K ints or None, default=None
        Fold flat rows of X into tensors of this shape.
    output : {"flat", "tensor"}, default="flat"
        Whether `transform` gives (n, r_1 * ... * r_K) or (n, r_1, ..., r_K).
    positive : label or None, default=None
        The class of interest; None means the last of the sorted classes, and says so if there are
        more than two.
    ridge : float or ("absolute", float), default=1e-2
        Added to the diagonal of the in-class scatter, as in `CSDA`.
    shrinkage : float or "auto", default=0.5
        Share of the pooled within-class covariance in that of the positive class, as in `CSDA`.
    orthonormal : bool, default=False
        Orthonormalise the columns. With False the columns of the ratio trace are scaled so that
        the positive class has the same variance in every direction.
    solver : {"ratio_trace", "trace_ratio", "trace_difference"}, default="ratio_trace"
        How the pair of scatters is solved. "ratio_trace" puts the ratio trace in the place of J,
        for the reference as well.
    negatives : {"samples", "means"}, default="samples"
        What is to be far from the reference: all other samples, or the means of their classes.
    max_iter : int, default=100
        Rounds at most: a projection and a reference each.
    tol : float, default=1e-6
        Stop when J changes by no more than this share in a round. With 0 all rounds are made.

    Attributes
    ----------
    projections_ : list of one ndarray of shape (I, d)
        The projection of vectorised samples.
    patterns_ : list of one ndarray of shape (I, r)
        What each column stands for in the samples: their covariance times the column, over the
        variance of its score. A projection says how to find something, a pattern what is found.
        Empty in a bank or verifier, and where a store is read in passes.
    mean_ : ndarray of shape (I_1, ..., I_K)
        The reference, from which `decision_function` measures.
    other_mean_ : ndarray of shape (I_1, ..., I_K)
        Mean of all other samples.
    contrasts_, offset_, anchors_ : ndarray of shape (0, 0), float, ndarray of shape (2,)
        What a likelihood ratio would be made of, as in `CSDA`; empty and 0, since distances decide.
    positive_index_ : int
        The position of the positive class among `classes_`.
    shift_ : float
        t: how far the reference lies behind the mean of the class, in units of the distance of
        that mean from the mean of all other samples. 0 is `CSDA`.
    ranks_ : tuple of one int
        The ranks used: fewer than asked for when there are fewer useful directions.
    classes_ : ndarray of shape (C,)
        The labels, sorted.
    sample_shape_ : tuple of K ints
        The shape of a sample.
    objective_ : ndarray of shape (n_rounds,)
        J after each round, or the ratio trace per direction, with ridge and shrinkage in the
        denominator. It never falls with ``ridge=0``, and little with a ridge.
    n_iter_ : int
        Rounds made.
    converged_ : bool
        Whether J converged within `max_iter` rounds.
    moments_ : ClassMoments
        Kept by `partial_fit` and `fit_moments`, and by `fit` where they take no more than 64 KiB.

    Notes
    -----
    **Departures from the paper.** It maps samples by a kernel, and finds the reference among all
    points of the space. Outside of the line through M_p and M_o, J falls as the reference leaves
    it, and what W does not see of the reference is of no account; so a number is enough, and
    moments of the classes are. For kernels put scikit-learn's ``Nystroem`` before it.

    References
    ----------
    A. Iosifidis, A. Tefas, I. Pitas, "Class-specific reference discriminant analysis with
    application in human behavior analysis", IEEE Transactions on Human-Machine Systems, 2015.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tenfold import CSRDA
    >>> X, y = load_digits().images, load_digits().target
    >>> model = CSRDA(ranks=16, positive=3).fit(X[:900], y[:900])
    >>> model.shift_ > 0
    True
    """

    solver: SolverName = "ratio_trace"
    max_iter: int = 100
    tol: float = 1e-6

    shift_: float = field(init=False)

    _value = CSRDAModel
    _flattens = True
    _is_one_solution = False

    def _recipe(self) -> Recipe:
        """How it is solved: columns stay as the solver scales them until the last round."""
        return replace(super()._recipe(), orthonormal=False)

    def best_reference(
        self, statistics: ClassStatistics, positive: int, shift: float, found: Solution, number: int
    ) -> tuple[float, float]:
        """The best shift t for a projection, and the objective there.

        With A and B the pair without its rank-one part D of the two means, both seen through W,

            J(t) = tr(A + n_o (1 + t)^2 D) / tr(B + n_p t^2 D).

        It has one maximum at t >= 0, the positive root of n_o n_p d t^2 + q t - n_o b with
        q = n_o n_p d + n_p a - n_o b and the traces a, b, d. So has the ratio trace
        tr((B + n_p t^2 D)^-1 (A + n_o (1 + t)^2 D)), with b = 1, d = tr(B^-1 D) and
        a = tr(B^-1 A B^-1 D) / d. Its solver makes the present B the identity, and A diagonal.

        Parameters
        ----------
        statistics : ClassStatistics
            Of the samples.
        positive : int
            The number of the class.
        shift : float
            The present t.
        found : Solution
            Of the problem with this t.
        number : int
            Which of its models is asked for.

        Returns
        -------
        tuple of two floats
            The best t, and J(t).
        """
        n_p = float(statistics.counts[positive])
        n_o = statistics.count - n_p
        (W,) = found.columns(number)
        kept = found.kept_by_column[number]
        step = W.T @ (statistics.given.means[positive] - statistics.other_mean(positive))
        if self.solver == "ratio_trace":
            A = np.diag(kept[: len(step)])
            B = np.eye(len(step))
            D = np.outer(step, step)
        else:
            lost = kept.sum() / found.objective[number, -1] if kept.any() else 1.0
            A = np.full((1, 1), kept.sum())
            B = np.full((1, 1), lost)
            D = np.full((1, 1), step @ step)
        A = A - n_o * (1 + shift) ** 2 * D
        B = B - n_p * shift**2 * D
        if self.solver == "ratio_trace":
            inverse = np.linalg.inv(B)
            b = 1.0
            d = max(float(np.trace(inverse @ D)), 0.0)
            a = float(np.trace(inverse @ A @ inverse @ D)) / d if d > 0 else 0.0
        else:
            a = max(float(A[0, 0]), 0.0)
            b = max(float(B[0, 0]), 0.0)
            d = max(float(D[0, 0]), 0.0)
        d = d if d > NO_STEP * (a / n_o + b / n_p) else 0.0  # means that coincide give no direction
        best = _positive_root(n_o * n_p * d, n_o * n_p * d + n_p * a - n_o * b, n_o * b)
        A = A + n_o * (1 + best) ** 2 * D
        B = B + n_p * best**2 * D
        return best, float(np.trace(np.linalg.solve(B, A)) / len(B))

    def _subspace(
        self, statistics: ClassStatistics, solution: Solution, number: int, shape: Shape
    ) -> CSRDAModel:
        """A reference and a projection in turn; the first projection is that of the solution."""
        positive = check_positive(self.positive, statistics.classes)
        shift = 0.0
        reached = []
        converged = False
        for t in range(self.max_iter):
            if t:
                problem = self._problem(statistics, shift)
                number = 0
                with threads_for(problem.shape, of_stacks=False) as threads:
                    solution = solve(problem, self._recipe(), threads)
            shift, objective = self.best_reference(statistics, positive, shift, solution, number)
            reached.append(objective)
            converged = t > 0 and abs(objective - reached[-2]) <= self.tol * abs(objective)
            if converged and self.tol > 0:
                break
        if not converged and self.tol > 0 and self.max_iter > 1:
            warn(
                f"the objective of CSRDA still changed by more than tol={self.tol:g} of it in "
                f"round {len(reached)}; raise max_iter or tol",
                ConvergenceWarning,
            )
        own = super()._subspace(statistics, solution, number, shape)
        projections = own.projections
        if self.orthonormal:
            projections = [with_fixed_signs(orthonormalised(W)) for W in projections]
        found = replace(
            own,
            projections=projections,
            objective=np.array(reached),
            n_iter=len(reached),
            converged=converged,
            mean=own.mean + shift * (own.mean - own.other_mean),
        )
        return CSRDAModel(**vars(found), shift=shift)


def _positive_root(square: float, linear: float, minus: float) -> float:
    """Where square t^2 + linear t = minus, all but `linear` not negative; 0 where nothing is."""
    root = sqrt(linear**2 + 4 * square * minus)
    if square <= 0 or minus <= 0:
        return 0.0
    return 2 * minus / (linear + root) if linear > 0 else (root - linear) / (2 * square)
