"""Discriminant analysis with tensor representation."""

from __future__ import annotations

from dataclasses import dataclass

from tenfold.methods.cmda import CMDA


@dataclass(eq=False, repr=False, kw_only=True)
class DATER(CMDA):
    """Discriminant analysis with tensor representation: LDA for tensors of any order.

    It maximises the between-class distance over the within-class distance (eq. 7), one mode
    at a time, by generalised eigenvectors without a constraint on their length. On vectors it
    is linear discriminant analysis; on matrices it is the two-dimensional LDA of Ye, Janardan
    and Li, which alternates between rows and columns.

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
    orthonormal : bool, default=False
        Orthonormalise the columns of each projection. With False the columns of the ratio trace
        are scaled so that the classes have the same variance in every direction.
    solver : {"ratio_trace", "trace_ratio", "trace_difference"}, default="ratio_trace"
        How the pair of scatters of a mode is solved.
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
        The objective after each round.
    n_iter_ : int
        Rounds made.
    converged_ : bool
        Whether the objective converged within `max_iter` rounds.
    moments_ : ClassMoments
        Kept by `partial_fit` and `fit_moments`, and by `fit` where they take no more than 64 KiB.

    References
    ----------
    S. Yan, D. Xu, Q. Yang, L. Zhang, X. Tang, H.-J. Zhang, "Discriminant analysis with tensor
    representation", CVPR, 2005. J. Ye, R. Janardan, Q. Li, "Two-dimensional linear
    discriminant analysis", NIPS, 2005.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tenfold import DATER
    >>> X, y = load_iris(return_X_y=True)
    >>> DATER(ranks=2).fit(X, y).transform(X).shape
    (150, 2)
    """

    orthonormal: bool = False
