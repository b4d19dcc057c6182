"""Null-space class-specific discriminant analysis."""

from __future__ import annotations

import warnings
from typing import Any

from tenfold.mathematics.algebra import Array
from tenfold.mathematics.alternation import Solution
from tenfold.mathematics.deflation import whole_square
from tenfold.mathematics.moments import ClassStatistics
from tenfold.mathematics.null_space import null_space
from tenfold.mathematics.solvers import Solver
from tenfold.methods.base import Described
from tenfold.methods.class_specific import ClassSpecificProjector
from tenfold.validation.parameters import plain

LEFT = 1e-7  # of the in-class scatter: more than rounding leaves in its null space


class NullCSDA(ClassSpecificProjector):
    """Null-space CSDA: where the positive class is one point, and all else is far from it.

    Of all directions in which the positive class does not vary, ``w^T S_I w = 0``, it takes the
    orthonormal ones in which the other samples are farthest from it, ``tr(W^T S_O W)`` maximal.
    There are such directions as long as samples have more numbers than the positive class has
    samples; `CSDA` needs a ridge then, and this does not. Samples are vectors, as in `CSDA`.

    Parameters
    ----------
    ranks : int, float, tuple of one int or float, or None, default=None
        Dimensions kept; a float such as 0.95 is the share of the total scatter to keep. None takes
        the square root of the number of features, rounded up.
    out_class : {"samples", "means"}, default="samples"
        What is to be far from the positive mean: all other samples, or the means of the other
        classes, each as often as its class has samples.
    statistics : {"auto", "moments", "samples"}, default="auto"
        Work from class moments, from the samples, or from whichever costs less.
    sample_shape : tuple of K ints or None, default=None
        Fold flat rows of X into tensors of this shape.
    missing : {"error", "complete"}, default="error"
        What to do with gaps, NaN or masked numbers in samples: refuse them, or complete each
        sample from what is known of it.
    output : {"flat", "tensor"}, default="flat"
        Whether `transform` gives (n, r_1 * ... * r_K) or (n, r_1, ..., r_K).
    positive : label or None, default=None
        The class of interest; None means the last of the sorted classes, and says so if there are
        more than two.
    blocks : int, default=1
        Learn so many projections one after the other, each from what the last ones leave.

    Attributes
    ----------
    projections_ : list of one ndarray of shape (I, d)
        The projection of vectorised samples, with orthonormal columns.
    ranks_ : tuple of one int
        The ranks used: fewer than asked for when the null space has fewer useful directions.
    classes_ : ndarray of shape (C,)
        The labels, sorted.
    mean_ : ndarray of shape (I_1, ..., I_K)
        Mean of the positive class.
    positive_index_ : int
        The position of the positive class among `classes_`.
    sample_shape_ : tuple of K ints
        The shape of a sample.
    objective_ : ndarray of shape (1,)
        ``tr(W^T S_O W) / tr(S_O)``: the share of the out-class scatter that is kept.
    n_iter_ : int
        Rounds made: 1.
    converged_ : bool
        Always True: there is only one mode.
    moments_ : ClassMoments
        Kept by `partial_fit` and by ``statistics="moments"``.

    Warns
    -----
    UserWarning
        When the positive class varies in all directions, so that there is no null space. The
        directions in which it varies least are taken then, and `CSDA` does better.

    Notes
    -----
    **What of the paper this is.** The paper compares orders of the steps. This is the plain one:
    the null space of ``S_I`` within the range of ``S_I + S_O``, then the principal directions of
    ``S_O`` in it, orthonormal and not scaled. ``out_class="means"`` gives the scatter that the
    paper uses for other classes of several kinds. There is no ridge and no shrinkage: both would
    fill the null space.

    References
    ----------
    J. Raitoharju, A. Iosifidis, "Null Space Analysis for Class-Specific Discriminant Learning",
    arXiv:1908.04562, 2019.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tenfold import NullCSDA
    >>> X, y = load_digits().images, load_digits().target
    >>> model = NullCSDA(ranks=8, positive=3).fit(X[:200], y[:200])
    >>> same = model.transform(X[:200][y[:200] == 3])
    >>> bool(same.std(axis=0).max() < 1e-8)
    True
    """

    flattens = True
    is_one_solution = False  # what it leaves of the class is rounding, and no spread
    max_iter = 1
    shrinkage = 0.0

    def __init__(
        self,
        ranks: Any = None,
        *,
        out_class: str = "samples",
        statistics: str = "auto",
        sample_shape: Any = None,
        missing: str = "error",
        output: str = "flat",
        positive: Any = None,
        blocks: int = 1,
    ):
        self.ranks = ranks
        self.out_class = out_class
        self.statistics = statistics
        self.sample_shape = sample_shape
        self.missing = missing
        self.output = output
        self.positive = positive
        self.blocks = blocks

    def solver_function(self) -> Solver:
        """What solves a pair of scatters."""
        return null_space

    def learned(
        self, statistics: ClassStatistics, solution: Solution, models: Array, described: Described
    ) -> dict[str, Any]:
        """The learned attributes, from the solution with this number in a stack."""
        learned = super().learned(statistics, solution, models, described)
        p = self.positive_in(statistics.classes)
        kept, left = float(solution.kept[models[0]]), float(solution.suppressed[models[0]])
        if left > LEFT * float(statistics.traces[p]):
            warnings.warn(
                f"no null space: the {statistics.counts[p]:g} samples of class "
                f"{plain(statistics.classes[p])!r} vary in all directions. NullCSDA takes those in "
                "which they vary least; use CSDA, which weighs all directions, or samples with "
                "more numbers than the class has samples",
                UserWarning,
                stacklevel=4,
            )
        whole = whole_square(self.problem(statistics).maximise, statistics.shape)
        learned["objective_"] = learned["objective_"] * 0 + (kept / whole if whole > 0 else 0.0)
        return learned
