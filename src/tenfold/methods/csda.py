"""Class-specific discriminant analysis of vectors."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from tenfold.linalg.algebra import Array
from tenfold.linalg.solvers import SOLVERS
from tenfold.methods.base import Shape
from tenfold.methods.class_specific import ClassModel, ClassSpecificProjector
from tenfold.optimization.alternation import Solution
from tenfold.optimization.ridge_choice import USUAL, RidgeChoice, chosen_ridge
from tenfold.quiet import warn
from tenfold.statistics.class_statistics import ClassStatistics
from tenfold.statistics.scatters import along_mode
from tenfold.validation.parameter_types import Decision, Negatives, Ridge
from tenfold.validation.parameters import check_ridge, plain

LEFT = 1e-7  # of the in-class scatter: more than rounding leaves in its null space


@dataclass(frozen=True, eq=False, kw_only=True)
class CSDAModel(ClassModel):
    """A model of one class, and the ridge that it was found with."""

    ridge: float


@dataclass(eq=False, repr=False, kw_only=True)
class CSDA(ClassSpecificProjector):
    """Class-specific discriminant analysis: the vector method that MCSDA extends.

    Tensors are vectorised. For a positive class p with mean m_p it finds the directions that
    maximise ``tr(W^T S_O W) / tr(W^T S_I W)`` (eq. 5), as leading eigenvectors of
    ``S_I^-1 S_O``. With fewer samples than numbers in a sample, these lie in the span of the
    samples, and the problem is solved there exactly, in N instead of I dimensions.

    Parameters
    ----------
    ranks : int, float, tuple of K ints or floats, or None, default=None
        Dimensions kept in each mode; one number serves all modes. A float such as 0.95 is a
        share: the fewest dimensions that keep so much of the total scatter of the mode. None takes
        the square root of each size, rounded up, and the whole of modes of up to 3 entries.
    sample_shape : tuple of K ints or None, default=None
        Fold flat rows of X into tensors of this shape.
    output : {"flat", "tensor"}, default="flat"
        Whether `transform` gives (n, r_1 * ... * r_K) or (n, r_1, ..., r_K).
    positive : label or None, default=None
        The class of interest; None means the last of the sorted classes, and says so if there are
        more than two.
    ridge : "auto", float or ("absolute", float), default="auto"
        Added to the diagonal of the in-class scatter. "auto" chooses it, and for tables with more
        samples than columns also whether it is in the units of each column, by generalised
        cross-validation; see the notes. For distances it is 0.01. A float is relative to the mean
        eigenvalue of the scatter of all samples about a class mean, per positive sample, so the
        units of the data do not matter; ``("absolute", 0.01)`` is the paper's lambda. With
        ``shrinkage="auto"`` classes get it in the measure of their shrinkage.
    shrinkage : float or "auto", default=0.5
        Share of the pooled within-class covariance in that of the positive class, 0 for none, as
        in the paper. "auto" is the share with the least error for Gaussian samples. It is needed
        when positive samples are few.
    orthonormal : bool, default=False
        Orthonormalise the columns of each projection, as in the paper. With False they keep the
        scale that the solver gives them: distances are measured in units of the spread of the
        positive class in each direction.
    solver : {"ratio_trace", "trace_ratio", "trace_difference", "null_space"}, \
            default="ratio_trace"
        How the pair of scatters is solved. "null_space" takes, of all directions in which the
        positive class does not vary, the orthonormal ones in which the other samples are farthest
        from it. `ridge` and `shrinkage` would fill the null space, and play no part then.
    negatives : {"samples", "means", "both"} or None, default=None
        What is to be far from M_p: all other samples (eq. 17); the means of the other classes,
        each as often as its class has samples; or both, the means and a twentieth of the scatter
        of the samples about them. None takes the means for the likelihood ratio, and the samples,
        as in the paper, for distances. C classes have C - 1 directions between their means.
    decision : {"likelihood_ratio", "distance"}, default="likelihood_ratio"
        What a score is: the log likelihood ratio of two Gaussians in the subspace, the class and
        everything else, or minus the distance from M_p, as in the paper. The ratio also works
        where noise is larger than the difference of class means, as in recordings of brains.

    Attributes
    ----------
    projections_ : list of one ndarray of shape (I, d)
        The projection of vectorised samples.
    patterns_ : list of one ndarray of shape (I, r)
        What each column stands for in the samples: their covariance times the column, over the
        variance of its score. A projection says how to find something, a pattern what is found.
        Empty in a bank or verifier, and where a store is read in passes.
    ranks_ : tuple of one int
        The ranks used: fewer than asked for when there are fewer useful directions; a warning says
        so.
    ridge_ : float
        The ridge used; with ``("absolute", value)`` that value.
    classes_ : ndarray of shape (C,)
        The labels, sorted.
    mean_ : ndarray of shape (I_1, ..., I_K)
        Mean of the positive class.
    other_mean_ : ndarray of shape (I_1, ..., I_K)
        Mean of all other samples.
    contrasts_ : ndarray of shape (r_1 * ... * r_K, 1 + q)
        What the likelihood ratio is made of; see the notes. Empty where distances decide.
    offset_ : float
        The log likelihood ratio at `other_mean_`.
    anchors_ : ndarray of shape (2,)
        The log likelihood ratio that is expected of other samples, and that of a sample as far
        from both means in units of their Gaussians: what makes scores of classes comparable.
    positive_index_ : int
        The position of the positive class among `classes_`.
    sample_shape_ : tuple of K ints
        The shape of a sample.
    objective_ : ndarray of shape (n_rounds,)
        ``tr(W^T S_O W) / tr(W^T S_I W)``, with the ridge in its denominator. With "null_space"
        ``tr(W^T S_O W) / tr(S_O)``, the share of the out-class scatter that is kept.
    n_iter_ : int
        Rounds made.
    converged_ : bool
        Always True: there is only one mode.
    moments_ : ClassMoments
        Kept by `partial_fit` and `fit_moments`, and by `fit` where they take no more than 64 KiB.

    Warns
    -----
    UserWarning
        When "null_space" is asked for and the positive class varies in all directions. Those in
        which it varies least are taken then, and the other solvers do better.

    Notes
    -----
    **The likelihood ratio.** In the subspace a sample z of the class is ``N(m_p, s I)``, any other
    ``N(m_o, s I + B)``. s is the mean variance about class means, pooled over all classes, and B
    the covariance of the other class means about their mean m_o. From m_o the log ratio is
    ``offset_ + c . z - |C^T z|^2 / 2`` with the columns (c, C) of `contrasts_`. With two labels
    both Gaussians have the pooled variance, unless the class is tighter by more than chance, as in
    `MCSDA`.

    **The ridge.** "auto" minimises the prediction error for samples that are left out, of a ridge
    regression of the class memberships on the samples, as generalised cross-validation estimates
    it from the moments of all samples. All classes share the ridge. So `fit`, `partial_fit` and
    `fit_moments` choose the same, and a bank chooses once. A fixed ridge is poor where there are
    about as many samples as numbers in a sample. Moments do not tell copies from samples that
    differ: where more samples differ than a sample has numbers, many copies, or weights above 1,
    make the ridge too small.

    **Departures from the paper.** The bound min(n_p - 1, D) on the dimension contradicts the 729
    dimensions that the paper reports for ORL; with a ridge there is none but the number of
    samples, beyond which all directions are alike; `ranks_` says how many were used.

    **Null space.** Raitoharju and Iosifidis compare orders of the steps. This is the plain one: the
    null space of ``S_I`` within the range of ``S_I + S_O``, then the principal directions of
    ``S_O`` in it, orthonormal and not scaled. ``negatives="means"`` gives the scatter that they use
    for other classes of several kinds.

    References
    ----------
    G. Goudelis, S. Zafeiriou, A. Tefas, I. Pitas, "Class-specific kernel-discriminant analysis
    for face verification", IEEE Transactions on Information Forensics and Security, 2007.

    J. Raitoharju, A. Iosifidis, "Null Space Analysis for Class-Specific Discriminant Learning",
    arXiv:1908.04562, 2019.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tenfold import CSDA
    >>> digits = load_digits()
    >>> csda = CSDA(ranks=5, positive=3).fit(digits.images, digits.target)
    >>> csda.projections_[0].shape
    (64, 5)
    >>> csda.decision_function(digits.images[:2]).shape
    (2,)

    In the null space of its scatter the class is one point:

    >>> X, y = digits.images[:200], digits.target[:200]
    >>> model = CSDA(ranks=8, solver="null_space", positive=3).fit(X, y)
    >>> bool(model.transform(X[y == 3]).std(axis=0).max() < 1e-8)
    True
    """

    decision: Decision = "likelihood_ratio"
    negatives: Negatives = None
    ridge: Ridge = "auto"

    ridge_: float = field(init=False)

    _value = CSDAModel
    _flattens = True
    _auto_ridge = USUAL  # of distances
    max_iter = 1

    _allowed: ClassVar = {"solver": (*SOLVERS, "null_space")}

    def _ridge_choice(self, statistics: ClassStatistics) -> RidgeChoice:
        """The relative ridge of all models of these statistics, and its units."""
        if self.ridge == "auto" and self.decision == "likelihood_ratio":
            return chosen_ridge(statistics)
        return RidgeChoice(check_ridge(self.ridge, USUAL)[0], None)

    def _settings(self, statistics: ClassStatistics) -> dict[str, Any]:
        """Ranks and ridge of its problem."""
        settings = super()._settings(statistics)
        if self.solver == "null_space":
            settings["ridge"] = (0.0, False)
        elif self.ridge == "auto":
            choice = self._ridge_choice(statistics)
            settings["ridge"] = (choice.ridge, False)
            settings["column_units"] = choice.units
        return settings

    def _shrinkage_in(self, statistics: ClassStatistics) -> Array:
        """The shrinkage of every class."""
        if self.solver == "null_space":
            return np.zeros(len(statistics.classes))
        return super()._shrinkage_in(statistics)

    def _subspace(
        self, statistics: ClassStatistics, solution: Solution, number: int, shape: Shape
    ) -> ClassModel:
        """The model of a class before anything decides in it, with its ridge."""
        plain_model = super()._subspace(statistics, solution, number, shape)
        if self.solver != "null_space":
            return CSDAModel(**vars(plain_model), ridge=self._ridge_choice(statistics).ridge)
        own = CSDAModel(**vars(plain_model), ridge=0.0)
        positive = own.positive_index
        kept = float(solution.kept[number])
        left = float(solution.suppressed[number])
        if left > LEFT * float(statistics.traces[positive]):
            label = plain(statistics.classes[positive])
            warn(
                f"no null space: the {statistics.counts[positive]:g} samples of class "
                f"{label!r} vary in all directions. Those in which they "
                "vary least are taken; use solver='ratio_trace', which weighs all directions, or "
                "samples with more numbers than the class has samples",
                UserWarning,
            )
        outside = self._problem(statistics).maximise
        whole = np.trace(along_mode([outside], 0, [np.eye(statistics.shape[0])[None]])[0][0])
        share = kept / whole if whole > 0 else 0.0
        return replace(own, objective=np.full_like(own.objective, share))
