"""General tensor discriminant analysis."""

from __future__ import annotations

from dataclasses import dataclass

from tenfold.methods.multi_class import MultiClassProjector
from tenfold.validation.parameter_types import InitName, Ridge


@dataclass(eq=False, repr=False, kw_only=True)
class GTDA(MultiClassProjector):
    """General tensor discriminant analysis: the difference of scatters, mode by mode.

    Every mode maximises ``tr(W_k^T (S_b^k - zeta S_w^k) W_k)`` over orthonormal columns, zeta
    being the largest eigenvalue of ``(S_w^k)^-1 S_b^k``, given the other modes' projections.

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
    ridge : float or ("absolute", float), default=10.0
        Added to the diagonal of the within-class scatter of every mode. A float is relative to
        the mean eigenvalue of the scatters of the mode, so the units of the data do not matter;
        ``("absolute", 0.01)`` is the paper's lambda. It must be large here: see the notes.
    max_iter : int, default=100
        Rounds at most.
    tol : float, default=1e-3
        Stop when the objective changes by no more than this share in a round, or has not risen
        for three rounds. With 0 all rounds are made.
    init : {"ones", "identity"}, default="identity"
        The starting projections: columns of ones, or the identity.

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
        Between over within distance after each round.
    n_iter_ : int
        Rounds made.
    converged_ : bool
        Whether the objective converged within `max_iter` rounds.
    moments_ : ClassMoments
        Kept by `partial_fit` and `fit_moments`, and by `fit` where they take no more than 64 KiB.

    Notes
    -----
    zeta is the price of scatter within classes, and the ridge moves nothing but zeta. It is the
    ratio of the single best direction, more than a subspace ever reaches, so it takes a larger
    ridge than in `HODA` to keep it from being that of a direction in which samples hardly differ;
    all directions with scatter are too dear then. On ORL faces, 5 a person, LDA in the subspace is
    right for 95 % with a ridge of 10, for 89 % with 1 and for 31 % with 1e-3.

    References
    ----------
    D. Tao, X. Li, X. Wu, S. J. Maybank, "General tensor discriminant analysis and Gabor
    features for gait recognition", IEEE Transactions on Pattern Analysis and Machine
    Intelligence, 2007.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tenfold import GTDA
    >>> digits = load_digits()
    >>> GTDA(ranks=(4, 4)).fit(digits.images, digits.target).ranks_
    (4, 4)
    """

    ridge: Ridge = 10.0
    max_iter: int = 100
    tol: float = 1e-3
    init: InitName = "identity"

    solver = "trace_difference"
