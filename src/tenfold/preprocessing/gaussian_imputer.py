"""Gaps in samples, completed by what a Gaussian of all samples expects there."""

from __future__ import annotations

from functools import partial
from math import prod
from typing import Annotated, Any, Self

import numpy as np

from tenfold.linalg.algebra import Array
from tenfold.preprocessing.step import Step
from tenfold.serialization.values import Axes
from tenfold.statistics.completion import completed, learned_completion
from tenfold.statistics.stores import Source
from tenfold.validation import samples as check
from tenfold.validation.parameter_types import SampleShape
from tenfold.validation.parameters import check_memory

TABLES = 10  # of I x I numbers that `fit` holds at once, as measured


class GaussianImputer(Step):
    """Complete gaps in samples, NaN or masked numbers, from what is known of each sample.

    A gap gets what a normal distribution of all training samples expects there, given all other
    numbers of the same sample. Neighbours along every mode tell the most about a gap: the
    covariance is shrunk towards a Kronecker product with one factor per mode. What is known stays
    as it is, to the bit, and labels are not looked at.

    Parameters
    ----------
    sample_shape : tuple of K ints or None, default=None
        The shape of a sample where flat rows come: neighbours along its modes are then used, and
        flat rows come out again.

    Attributes
    ----------
    mean_ : ndarray of shape (I,)
        The mean of whole samples.
    precision_ : ndarray of shape (I, I)
        The inverse of their covariance.
    sample_shape_ : tuple of K ints
        The shape of a sample.

    Notes
    -----
    The distribution is found by expectation and maximisation over all samples, in memory.
    `transform` goes through stores and Dask arrays block by block. In a pipeline inside of a search
    or a cross-validation each fold learns it from its own training samples.

    References
    ----------
    R. Little, D. Rubin, "Statistical analysis with missing data", Wiley 2002, section 11.3.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from tenfold import CSDA, GaussianImputer
    >>> X = np.random.default_rng(0).normal(size=(50, 1)) * [1.0, 2.0, -1.0]
    >>> imputer = GaussianImputer().fit(X)
    >>> imputer.transform([[3.0, np.nan, np.nan]]).round()
    array([[ 3.,  6., -3.]])

    Before a model, for samples with gaps in training and in use:

    >>> model = make_pipeline(GaussianImputer(), CSDA(ranks=2))
    """

    takes_gaps = True

    mean_: Annotated[Array, Axes("I")]
    precision_: Annotated[Array, Axes("I", "I")]

    def __init__(self, sample_shape: SampleShape = None):
        self.sample_shape = sample_shape

    def fit(self, X: object, y: object = None, sample_weight: object = None) -> Self:
        """Learn mean and covariance of whole samples, from samples with gaps.

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
            The samples, with NaN in the gaps, or masked. A store is read into memory.
        y : None
            Not looked at: samples that are to be classified have no labels.
        sample_weight : array-like of shape (n,), default=None
            Non-negative weights.

        Returns
        -------
        self
            The fitted imputer.
        """
        input_info, X, _, weight = check.check_first_batch(self, X, None, sample_weight)
        _check_memory(X)
        X = X.in_memory() if isinstance(X, Source) else X
        X = X.astype(float) if X.dtype.kind != "f" else X
        _check_known(X, weight)
        mean, precision = learned_completion(X, weight)
        return self._set_fitted(input_info, mean_=mean, precision_=precision)

    def transform(self, X: object) -> Any:
        """Samples with their gaps completed.

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
            The samples, with NaN in the gaps, or masked; flat rows if those were fitted.

        Returns
        -------
        array, store or Dask array of the same shape
            Whole samples; float32 samples give float32.
        """
        check.check_fitted(self, "mean_")
        flat = self.sample_shape is not None or len(self.sample_shape_) == 1
        work = partial(whole, mean=self.mean_, precision=self.precision_, flat=flat)
        return self._changed(check.check_samples(self, X), work)

    def _check_learned(self) -> None:
        """Refuse a precision from a file that is none."""
        precision = self.precision_
        if not (np.array_equal(precision, precision.T) and (np.diagonal(precision) > 0).all()):
            raise ValueError("its precision_ is not the inverse of a covariance")


def whole(X: Array, mean: Array, precision: Array, flat: bool) -> Array:
    """Samples in memory with their gaps completed; what has no number at all is named."""
    holes = np.isnan(X.reshape(len(X), -1)) if X.dtype.kind == "f" else np.zeros((0, 1), bool)
    _refuse_empty(holes)
    Y = completed(X, mean, precision) if holes.any() else X
    return Y.reshape(len(Y), -1) if flat else Y


def _refuse_empty(holes: Array) -> None:
    empty = np.flatnonzero(holes.all(axis=1))
    if len(empty):
        shown = ", ".join(map(str, empty[:5])) + (", ..." if len(empty) > 5 else "")
        raise ValueError(
            f"{len(empty)} samples have no number at all, only gaps (rows {shown}), so nothing is "
            "known of them; leave them out"
        )


def _check_known(X: Array, weight: Array | None) -> None:
    """Every sample has some number, and every number is there in some sample that counts."""
    holes = np.isnan(X.reshape(len(X), -1))
    _refuse_empty(holes)
    never = np.flatnonzero(holes[slice(None) if weight is None else weight > 0].all(axis=0))
    if len(never):
        place = tuple(map(int, np.unravel_index(never[0], X.shape[1:])))
        raise ValueError(
            f"{len(never)} of {holes.shape[1]} numbers are missing in every sample, the first "
            f"at {place}, so nothing is known of them; drop them from all samples"
        )


def _check_memory(X: check.Samples) -> None:
    size = prod(X.shape[1:])
    check_memory(
        f"learning how gaps are completed in {len(X)} samples of {size} numbers",
        8 * (TABLES * size**2 + (len(X) * size if isinstance(X, Source) else 0)),
        "fit on some of the samples (transform goes through all), make them smaller",
    )
