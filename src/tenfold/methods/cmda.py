"""Constrained multilinear discriminant analysis, the paper's MDA."""

from __future__ import annotations

from dataclasses import dataclass

from tenfold.methods.multi_class import MultiClassProjector
from tenfold.validation.parameter_types import InitName, Ridge, SolverName


@dataclass(eq=False, repr=False, kw_only=True)
class CMDA(MultiClassProjector):
    """Constrained multilinear discriminant analysis: all classes apart, orthonormal columns.

    The paper calls it MDA. It maximises the between-class distance over the within-class
    distance in the projected space (eq. 7), one mode at a time (eq. 12), with
    ``W_k^T W_k = I``.

    Parameters
    ----------
    ranks : int, float, tuple of K ints or floats, or None, default=None
        Dimensions kept in each mode; one number serves all modes. A float such as 0.95 is a
        share: the fewest dimensions that keep so much of the total scatter of the mode. None takes
        the square root of each size, rounded up, and the whole of modes of up to 3 entries,
        but no more than the class means can span.
    sample_shape : tuple of K ints or None, default=None
        Fold flat rows of X into tensors of this shape.
    output : {"flat", "tensor"}, default="flat"
        Whether `transform` gives (n, r_1 * ... * r_K) or (n, r_1, ..., r_K).
    ridge : float or ("absolute", float), default=0.1
        Added to the diagonal of the within-class scatter of every mode. A float is relative to
        the mean eigenvalue of the scatters of the mode, so the units of the data do not matter;
        ``("absolute", 0.01)`` is the paper's lambda.
    orthonormal : bool, default=True
        Orthonormalise the columns of each projection; with False they keep the scale that the
        solver gives them.
    solver : {"ratio_trace", "trace_ratio", "trace_difference"}, default="ratio_trace"
        How the pair of scatters of a mode is solved.
    max_iter : int, default=100
        Rounds at most.
    tol : float, default=1e-3
        Stop when the objective changes by no more than this share in a round, or has not risen
        for three rounds. With 0 all rounds are made.
    init : {"ones", "identity"}, default="identity"
        The starting projections: columns of ones, as in the paper, or the identity.

    Attributes
    ----------
    projections_ : list of K ndarrays of shape (I_k, r_k)
        One projection per mode.
    patterns_ : list of K ndarrays of shape (I_k, r_k)
        What each column stands for in the samples: the covariance along the mode times the
        column, over the variance of its score. A projection says how to find something, a pattern
        what is found. Empty in a bank or verifier, and where a store is read in passes.
    ranks_ : tuple of K ints
        The ranks used: fewer than asked for when a mode has fewer useful directions.
    classes_ : ndarray of shape (C,)
        The labels, sorted.
    sample_shape_ : tuple of K ints
        The shape of a sample.
    objective_ : ndarray of shape (n_rounds,)
        The objective after each round.
    n_iter_ : int
        Rounds made.
    converged_ : bool
        Whether the objective converged within `max_iter` rounds.
    moments_ : ClassMoments
        Kept by `partial_fit` and `fit_moments`, and by `fit` where they take no more than 64 KiB.

    Notes
    -----
    **Departures from the paper.** Eq. 8 as printed sums over all samples and is the total
    distance; the between-class distance of eq. 10 is what is maximised here, as eq. 12 says.
    The all-ones start shows the first mode only the sums over the others. With two classes its
    between-class scatter then has rank one, and no mode can ever find more than one useful
    direction; so the start is the identity.

    References
    ----------
    Q. Li, D. Schonfeld, "Multilinear discriminant analysis for higher-order tensor data
    classification", IEEE Transactions on Pattern Analysis and Machine Intelligence, 2014.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tenfold import CMDA
    >>> digits = load_digits()
    >>> CMDA(ranks=(4, 4)).fit(digits.images, digits.target).ranks_
    (4, 4)
    """

    ridge: Ridge = 0.1
    orthonormal: bool = True
    solver: SolverName = "ratio_trace"
    max_iter: int = 100
    tol: float = 1e-3
    init: InitName = "identity"
