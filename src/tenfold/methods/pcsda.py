"""Probabilistic class-specific discriminant analysis."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tenfold.mathematics.algebra import Array
from tenfold.mathematics.alternation import Solution
from tenfold.mathematics.models import ClassModel, Shape
from tenfold.mathematics.moments import ClassStatistics
from tenfold.methods.class_specific import ClassSpecificProjector


@dataclass(frozen=True, eq=False, kw_only=True)
class PCSDAModel(ClassModel):
    """A model of one class, and the log likelihood ratio at its mean."""

    offset: float


class PCSDA(ClassSpecificProjector):
    """Probabilistic CSDA: the likelihood ratio of one class and everything else.

    A sample of the positive class is Gaussian about its mean, ``x ~ N(M_p, F_w)``. Another class
    has a mean that is Gaussian about the *same* point, ``m ~ N(M_p, F_o)``, and its samples are
    ``x ~ N(m, F_w)``. So a sample of an unknown other class is ``x ~ N(M_p, F_w + F_o)``, and the
    rule for "is it the positive class?" is the ratio of the two densities::

        log p(x | positive) - log p(x | other) = offset_ - distance^2 / 2

    with the distance from M_p in the subspace. Samples are vectors, as in `CSDA`.

    Parameters
    ----------
    ranks : int, float, tuple of one int or float, or None, default=None
        Dimensions kept; a float such as 0.95 is the share of the total scatter to keep. None takes
        the square root of the number of features, rounded up.
    ridge : float or ("absolute", float), default=1e-2
        Added to the diagonal of the in-class scatter, as in `CSDA`.
    shrinkage : float or "auto", default=1.0
        Share of the covariance within all classes in F_w; the rest is the covariance of the
        positive class.
    out_class : {"samples", "means"}, default="means"
        "means" is the model above. "samples" makes every other sample a class of its own.
    sample_shape : tuple of K ints or None, default=None
        Fold flat rows of X into tensors of this shape.
    output : {"flat", "tensor"}, default="flat"
        Whether `transform` gives (n, r_1 * ... * r_K) or (n, r_1, ..., r_K).
    positive : label or None, default=None
        The class of interest; None means the last of the sorted classes, and says so if there are
        more than two.

    Attributes
    ----------
    projections_ : list of one ndarray of shape (I, d)
        The projection of vectorised samples, scaled so that squared distances are twice the
        logarithms of densities.
    offset_ : float
        The log likelihood ratio at M_p, the largest there is.
    ranks_ : tuple of one int
        The ranks used: fewer than asked for when other classes differ in fewer directions.
    classes_ : ndarray of shape (C,)
        The labels, sorted.
    mean_ : ndarray of shape (I_1, ..., I_K)
        Mean of the positive class.
    positive_index_ : int
        The position of the positive class among `classes_`.
    sample_shape_ : tuple of K ints
        The shape of a sample.
    objective_ : ndarray of shape (1,)
        ``tr(W^T S_O W) / tr(W^T S_I W)``, with the ridge in its denominator.
    n_iter_ : int
        Rounds made: 1.
    converged_ : bool
        Always True: there is only one mode.
    moments_ : ClassMoments
        Kept by `partial_fit` and `fit_moments`, and by `fit` where they take no more than 64 KiB.

    Notes
    -----
    **Beside** `ProbabilisticLDA`. There all class means are Gaussian about the mean of all samples,
    and a class that is known badly is a wide one. Here the other classes lie about the positive
    mean, which is taken as known; one class is learned, without the others being classes to name.

    **Departures from the paper.** It fits by expectation maximisation. Here F_w is the covariance
    above, and F_o follows from the scatter of the class means: it exceeds F_o by F_w over the size
    of a class.

    References
    ----------
    A. Iosifidis, "Probabilistic Class-Specific Discriminant Analysis", arXiv:1812.05980, 2018.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tenfold import PCSDA
    >>> X, y = load_digits().images, load_digits().target
    >>> model = PCSDA(ranks=8, positive=3).fit(X[:900], y[:900])
    >>> ratio = model.log_likelihood_ratio(X[900:])
    >>> bool(((ratio > 0) == (y[900:] == 3)).mean() > 0.9)
    True
    """

    _value = PCSDAModel
    _flattens = True
    max_iter = 1
    orthonormal = False
    _is_one_solution = False

    def __init__(
        self,
        ranks: Any = None,
        *,
        ridge: Any = 1e-2,
        shrinkage: Any = 1.0,
        out_class: str = "means",
        sample_shape: Any = None,
        output: str = "flat",
        positive: Any = None,
    ):
        self.ranks = ranks
        self.ridge = ridge
        self.shrinkage = shrinkage
        self.out_class = out_class
        self.sample_shape = sample_shape
        self.output = output
        self.positive = positive

    def _model(
        self, statistics: ClassStatistics, solution: Solution, models: Array, shape: Shape
    ) -> PCSDAModel:
        """What was learned: the ratio trace makes F_w the identity and F_o diagonal."""
        own = super()._model(statistics, solution, models, shape)
        p = self._positive_in(statistics.classes)
        n_own, n_others = statistics.counts[p], statistics.count - statistics.counts[p]
        found = own.projections[0]
        spread = solution.kept_by_column[models[0], : found.shape[1]] * n_own / n_others
        n_means = (statistics.counts > 0).sum() - 1 if self.out_class == "means" else n_others
        ratios = np.maximum(spread - n_means / n_others, 0.0)  # F_o in units of F_w
        kept = max(int((ratios > 0).sum()), 1)  # they fall
        ratios = ratios[:kept]
        scaled = found[:, :kept] * np.sqrt(n_own * ratios / (1 + ratios))
        own = replace(own, projections=[scaled], ranks=(kept,))
        return PCSDAModel(**vars(own), offset=float(np.log1p(ratios).sum() / 2))

    def log_likelihood_ratio(self, X: Any) -> Array:
        """Log density of samples under the positive class, less that under an unknown other one.

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
            The samples.

        Returns
        -------
        array of shape (n,)
            Add the logarithm of the prior odds, and positive numbers mean the positive class.
        """
        ratio: Array = self.offset_ - self.decision_function(X) ** 2 / 2
        return ratio
