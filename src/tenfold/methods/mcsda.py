"""Multilinear class-specific discriminant analysis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tenfold.methods.class_specific import ClassSpecificProjector
from tenfold.validation.parameter_types import Decision, InitName, Negatives, SolverName


@dataclass(eq=False, repr=False, kw_only=True)
class MCSDA(ClassSpecificProjector):
    """Multilinear class-specific discriminant analysis: one class against everything else.

    For a positive class p with mean M_p it looks for one projection per mode that maximises
    the distance of all other samples from M_p over that of the positive samples (eq. 14)::

        J = sum_{j not in p} ||(X_j - M_p) x_1 W_1^T ... x_K W_K^T||^2
          / sum_{j in p}     ||(X_j - M_p) x_1 W_1^T ... x_K W_K^T||^2

    by solving one mode at a time (Algorithm 1). On vectors it is `CSDA`.

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
    ridge : float or ("absolute", float), default=1e-2
        Added to the diagonal of the in-class scatter of every mode. A float is relative to the
        mean eigenvalue of the scatter of all samples about a class mean, per positive sample, so
        the units of the data do not matter. ``("absolute", 0.01)`` is the paper's lambda. With
        ``shrinkage="auto"`` classes get it in the measure of their shrinkage.
    shrinkage : float or "auto", default=0.5
        Share of the pooled within-class covariance in that of the positive class, 0 for none, as
        in the paper. "auto" is the share with the least error for Gaussian samples. It is needed
        when positive samples are few.
    orthonormal : bool, default=True
        Orthonormalise the columns of each projection. With False the columns of the ratio trace
        are scaled so that the positive class has the same variance in every direction. True did
        better on faces, False on order books.
    solver : {"ratio_trace", "trace_ratio", "trace_difference"}, default="ratio_trace"
        How the pair of scatters of a mode is solved.
    negatives : {"samples", "means", "both"} or None, default=None
        What is to be far from M_p: all other samples (eq. 17); the means of the other classes,
        each as often as its class has samples; or both, the means and a twentieth of the scatter
        of the samples about them. None takes the samples, as in the paper, for distances. For the
        likelihood ratio it takes the means, and with two labels, where there is only one other
        mean, both.
    decision : {"likelihood_ratio", "distance"}, default="likelihood_ratio"
        What a score is: the log likelihood ratio of two Gaussians in the subspace, the class and
        everything else, or minus the distance from M_p, as in the paper. The ratio also works
        where noise is larger than the difference of class means, as in recordings of brains.
    max_iter : int, default=100
        Rounds at most.
    tol : float, default=1e-3
        Stop when the objective changes by no more than this share in a round, or has not risen
        for three rounds. With 0 all rounds are made.
    init : {"ones", "identity"} or None, default=None
        The starting projections: columns of ones, as in the paper, or the identity. None takes the
        identity where two class means stand for their samples, and ones otherwise.

    Attributes
    ----------
    projections_ : list of K ndarrays of shape (I_k, r_k)
        One projection per mode.
    patterns_ : list of K ndarrays of shape (I_k, r_k)
        What each column stands for in the samples: the covariance along the mode times the
        column, over the variance of its score. A projection says how to find something, a pattern
        what is found. Empty in a bank or verifier, and where a store is read in passes.
    ranks_ : tuple of K ints
        The ranks used: fewer than asked for when a mode has fewer useful directions; a warning
        says so.
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
        J after each round, with the ridge in its denominator.
    n_iter_ : int
        Rounds made.
    converged_ : bool
        Whether the objective converged within `max_iter` rounds.
    moments_ : ClassMoments
        Kept by `partial_fit` and `fit_moments`, and by `fit` where they take no more than 64 KiB.

    Notes
    -----
    **The likelihood ratio.** In the subspace a sample z of the class is ``N(m_p, s I)``, any other
    ``N(m_o, s I + B)``. s is the mean variance about class means, pooled over all classes, and B
    the covariance of the other class means about their mean m_o. From m_o the log ratio is
    ``offset_ + c . z - |C^T z|^2 / 2`` with the columns (c, C) of `contrasts_`.

    **Two labels.** With one label for everything else there are no means to learn B from. Both
    Gaussians then have the pooled covariance of the two labels, with shrunk correlations. In
    directions in which the class is tighter than that by more than chance (the edge of the law of
    Marchenko and Pastur), it has its own smaller variance, and the others have the rest. The class
    is never taken to be wider than everything else.

    **Departures from the paper.**

    - The printed stopping rule compares ``W(t) W(t-1)^T``, of rank r_k, with an identity of
      size I_k: it is at least sqrt(I_k - r_k) and cannot fire. We watch the
      objective.
    - Eq. 19 is a trace ratio, the complexity section solves a ratio trace. The ratio trace with
      orthonormal columns reproduces the printed tables and is the default; ``"trace_ratio"``
      never lowers the objective.
    - A ridge on every mode breaks the monotone objective slightly; with ``ridge=0`` and
      ``"trace_ratio"`` it never falls.
    - The bound min(n_p - 1, D) on the dimension is not enforced: with a ridge there is none.
    - All-ones columns are no subspace of rank r_k. They are harmless for scatters of samples, since
      mode 1 is solved first and never uses its own start. The difference of two class means has
      rank one through them, and so has every mode after it: there the start is the identity.

    ``MCSDA(decision="distance")`` is the method of the paper, with its start and its negatives;
    ``shrinkage=0`` and ``ridge=("absolute", 0.01)`` complete it.

    References
    ----------
    D. T. Tran, M. Gabbouj, A. Iosifidis, "Multilinear Class-Specific Discriminant Analysis",
    Pattern Recognition Letters, 2017.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tenfold import MCSDA
    >>> digits = load_digits()
    >>> mcsda = MCSDA(ranks=(4, 4), positive=3).fit(digits.images, digits.target)
    >>> mcsda.transform(digits.images).shape
    (1797, 16)
    >>> round(mcsda.score(digits.images, digits.target), 2)
    0.95
    """

    decision: Decision = "likelihood_ratio"
    orthonormal: bool = True
    solver: SolverName = "ratio_trace"
    negatives: Negatives = None
    max_iter: int = 100
    tol: float = 1e-3
    init: InitName | None = None

    _allowed: ClassVar = {"init": ("ones", "identity", None)}
