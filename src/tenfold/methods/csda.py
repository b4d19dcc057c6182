"""Class-specific discriminant analysis of vectors."""

from __future__ import annotations

from typing import Any

from tenfold.methods.class_specific import ClassSpecificProjector


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
    solver : {"ratio_trace", "trace_ratio", "trace_difference"}, default="ratio_trace"
        How the pair of scatters of a mode is solved.
    orthonormal : bool, default=False
        Orthonormalise the columns of each projection, as in the paper. With False they keep the
        scale that the solver gives them: distances are measured in units of the spread of the
        positive class in each direction.
    ridge : float or ("absolute", float), default=1e-2
        Added to the diagonal of the in-class scatter. A float is relative to the mean eigenvalue
        of the scatter of all samples about a class mean, per positive sample, so the units of the
        data do not matter; ``("absolute", 0.01)`` is the paper's lambda. With
        ``shrinkage="auto"`` classes get it in the measure of their shrinkage.
    shrinkage : float or "auto", default=0.5
        Share of the pooled within-class covariance in that of the positive class, 0 for none, as
        in the paper. "auto" is the share with the least error for Gaussian samples. It is needed
        when positive samples are few.
    out_class : {"samples", "means"}, default="samples"
        What is to be far from M_p: all other samples (eq. 17), or the means of the other classes,
        each as often as its class has samples.
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
        Learn so many projections one after the other, each from what the last ones leave of the
        samples; `transform` gives the features of all of them.

    Attributes
    ----------
    projections_ : list of one ndarray of shape (I, d)
        The projection of vectorised samples.
    ranks_ : tuple of one int
        The ranks used: fewer than asked for when a mode has fewer useful directions.
    classes_ : ndarray of shape (C,)
        The labels, sorted.
    mean_ : ndarray of shape (I_1, ..., I_K)
        Mean of the positive class.
    positive_index_ : int
        The position of the positive class among `classes_`.
    sample_shape_ : tuple of K ints
        The shape of a sample.
    objective_ : ndarray of shape (n_rounds,)
        ``tr(W^T S_O W) / tr(W^T S_I W)``, with the ridge in its denominator.
    n_iter_ : int
        Rounds made.
    converged_ : bool
        Always True: there is only one mode.
    moments_ : ClassMoments
        Kept by `partial_fit` and by ``statistics="moments"``.

    Notes
    -----
    **Departures from the paper.** The bound min(n_p - 1, D) on the dimension contradicts the 729
    dimensions that the paper reports for ORL; with a ridge there is none but the number of
    samples, beyond which all directions are alike; `ranks_` says how many were used.

    References
    ----------
    G. Goudelis, S. Zafeiriou, A. Tefas, I. Pitas, "Class-specific kernel-discriminant analysis
    for face verification", IEEE Transactions on Information Forensics and Security, 2007.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tenfold import CSDA
    >>> digits = load_digits()
    >>> csda = CSDA(ranks=16, positive=3).fit(digits.images, digits.target)
    >>> csda.projections_[0].shape
    (64, 16)
    >>> csda.decision_function(digits.images[:2]).shape
    (2,)
    """

    flattens = True
    max_iter = 1

    def __init__(
        self,
        ranks: Any = None,
        *,
        solver: str = "ratio_trace",
        orthonormal: bool = False,
        ridge: Any = 1e-2,
        shrinkage: Any = 0.5,
        out_class: str = "samples",
        statistics: str = "auto",
        sample_shape: Any = None,
        missing: str = "error",
        output: str = "flat",
        positive: Any = None,
        blocks: int = 1,
    ):
        self.ranks = ranks
        self.solver = solver
        self.orthonormal = orthonormal
        self.ridge = ridge
        self.shrinkage = shrinkage
        self.out_class = out_class
        self.statistics = statistics
        self.sample_shape = sample_shape
        self.missing = missing
        self.output = output
        self.positive = positive
        self.blocks = blocks
