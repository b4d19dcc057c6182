"""What covariates such as age, site or session add to samples, taken away."""

from __future__ import annotations

from functools import partial
from math import prod
from typing import Annotated, Any, ClassVar, Self

import numpy as np

from tenfold.linalg.algebra import Array
from tenfold.methods.base import Shape
from tenfold.preprocessing.step import Step
from tenfold.serialization.values import Axes
from tenfold.statistics.covariates import (
    Slopes,
    WithinScatters,
    aliased,
    moments_without_covariates,
    scatters_of_moments,
    scatters_of_samples,
    slopes_of,
    without_covariates,
)
from tenfold.statistics.moments import ClassMoments
from tenfold.statistics.stores import ArraySamples, over_blocks
from tenfold.validation import parameters
from tenfold.validation import samples as check
from tenfold.validation.labels import check_covariates, check_labels
from tenfold.validation.parameters import Number


class CovariateRemover(Step):
    """Remove from samples what covariates such as age, site or session add to them.

    Samples are regressed on the covariates *within* classes: by how much the covariates differ
    between classes does not count, or the regression would remove part of what tells the classes
    apart. Each sample then becomes what it would be with the mean covariates.

    Covariates come beside the samples, ``fit(X, y, covariates=Z)`` and
    ``transform(X, covariates=Z)``; in a pipeline they do so by scikit-learn's metadata routing. Or
    they are the last numbers of flat rows, as in a table: ``CovariateRemover(last=q)``.

    Parameters
    ----------
    last : int or None, default=None
        How many of the last numbers of flat rows are covariates. `transform` gives rows without
        them. None: covariates come beside the samples, or not at all.

    Attributes
    ----------
    covariate_means_ : ndarray of shape (q,)
        The means of the covariates of all training samples.
    slopes_ : ndarray of shape (q, I_1, ..., I_K)
        What one unit of each covariate adds to a sample. Without covariates q is 0.
    sample_shape_ : tuple of K ints
        The shape of a sample, with `last` that of a row with its covariates.

    Notes
    -----
    A remover that was fitted with covariates refuses samples without. Each covariate needs an
    effect of its own: one that is constant, follows the classes, or follows from the others is
    named and refused. Stores and Dask arrays are read block by block, and come out as such.

    References
    ----------
    Y. Pan, Q. Mai, X. Zhang, "Covariate-adjusted tensor classification in high dimensions",
    Journal of the American Statistical Association 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from tenfold import CSDA, CovariateRemover
    >>> rng = np.random.default_rng(0)
    >>> age, ill = rng.uniform(20, 80, size=100), np.arange(100) % 2
    >>> scans = rng.normal(size=(100, 4)) + 0.5 * age[:, None] + ill[:, None]
    >>> remover = CovariateRemover()
    >>> flat = remover.fit_transform(scans, ill, covariates=age)
    >>> remover.slopes_.round(1)
    array([[0.5, 0.5, 0.5, 0.5]])

    As the last column of a table, in a pipeline:

    >>> rows = np.column_stack([scans, age])
    >>> model = make_pipeline(CovariateRemover(last=1), CSDA(ranks=1)).fit(rows, ill)
    >>> round(model.score(rows, ill), 2) > 0.8
    True

    Beside the samples, in a pipeline, by metadata routing:

    >>> import sklearn
    >>> with sklearn.config_context(enable_metadata_routing=True):
    ...     remover = CovariateRemover().set_fit_request(covariates=True)
    ...     remover.set_transform_request(covariates=True)
    ...     model = make_pipeline(remover, CSDA(ranks=1)).fit(scans, ill, covariates=age)
    ...     model.score(scans, ill, covariates=age) > 0.8
    CovariateRemover()
    True
    """

    covariate_means_: Annotated[Array, Axes("q")]
    slopes_: Annotated[Array, Axes("q", "corrected")]

    _allowed: ClassVar = {"last": (None, Number(1, whole=True))}

    def __init__(self, last: int | None = None):
        self.last = last

    # -- fitting ---------------------------------------------------------------------------------

    def fit(
        self, X: object, y: object = None, covariates: object = None, sample_weight: object = None
    ) -> Self:
        """Learn what one unit of each covariate adds to samples.

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
            The samples; with `last` flat rows that end with their covariates.
        y : array-like of shape (n,), default=None
            Class labels. Without labels all samples are one class.
        covariates : array-like of shape (n,) or (n, q), default=None
            One row of numbers per sample. Give every site or session but one a column of zeros and
            ones, as `sklearn.preprocessing.OneHotEncoder(drop="first")` does.
        sample_weight : array-like of shape (n,), default=None
            Non-negative weights.

        Returns
        -------
        self
            The fitted remover.
        """
        parameters.check_declared(self)
        input_info, X, _, weight = check.check_first_batch(self, X, None, sample_weight)
        labels = np.zeros(len(X), dtype=np.intp) if y is None else check_labels(self, X, y)
        codes = np.unique(labels, return_inverse=True)[1].ravel()
        X, Z = self._parted(X, covariates)
        if Z is None:
            found = Slopes(np.zeros(0), np.zeros((0, prod(X.shape[1:]))))
        else:
            found = _checked_slopes(*scatters_of_samples(X, Z, codes, weight))
        return self._learn(input_info, found, X.shape[1:])

    def fit_transform(
        self, X: object, y: object = None, covariates: object = None, sample_weight: object = None
    ) -> object:
        """`fit`, then `transform` of the same samples with the same covariates.

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
            The samples.
        y : array-like of shape (n,), default=None
            Class labels.
        covariates : array-like of shape (n,) or (n, q), default=None
            One row of numbers per sample.
        sample_weight : array-like of shape (n,), default=None
            Non-negative weights.

        Returns
        -------
        array, store or Dask array
            As `transform` gives it.
        """
        return self.fit(X, y, covariates, sample_weight).transform(X, covariates)

    def fit_moments(self, moments: ClassMoments) -> Self:
        """Learn from moments of flat rows (x, z), of which the last numbers are covariates.

        Parameters
        ----------
        moments : ClassMoments
            Of rows of which `last` says how many numbers are covariates.

        Returns
        -------
        self
            The fitted remover.
        """
        parameters.check_declared(self)
        q, size = self.last, moments.shape[0]
        if q is None or len(moments.shape) != 1 or q >= size:
            raise ValueError(
                f"last is {q!r} and the moments are of samples of shape {moments.shape}; expected "
                "moments of flat rows (x, z), and how many of their last numbers are z"
            )
        found = _checked_slopes(*scatters_of_moments(moments.present(), q))
        input_info = {"sample_shape_": (size,), "n_features_in_": size}
        return self._learn(input_info, found, (size - q,))

    def _learn(self, input_info: check.InputInfo, found: Slopes, shape: tuple[int, ...]) -> Self:
        slopes = found.slopes.reshape(len(found.means), *shape)
        return self._set_fitted(input_info, covariate_means_=found.means, slopes_=slopes)

    def _parted(self, X: check.Samples, covariates: object) -> tuple[check.Samples, Array | None]:
        """Samples and their covariates, which are in memory; None for none."""
        if self.last is None:
            return X, None if covariates is None else check_covariates(covariates, len(X))
        if covariates is not None:
            raise ValueError(
                f"last is {self.last}, so covariates are the last numbers of rows, but others "
                "were also passed next to the samples; pass them in one way"
            )
        if X.ndim != 2 or X.shape[1] <= self.last:
            raise ValueError(
                f"last is {self.last}, but samples have shape {X.shape[1:]}; expected flat rows "
                "with more numbers than that, of which the last are covariates"
            )
        X = X.in_memory() if isinstance(X, ArraySamples) else X
        Z = np.asarray(over_blocks(X, partial(_columns, part=slice(-self.last, None))))
        own = self._changed_samples(X, partial(_columns, part=slice(None, -self.last)))
        return own, check_covariates(Z, len(X))

    # -- using -----------------------------------------------------------------------------------

    def transform(self, X: object, covariates: object = None) -> Any:
        """Samples as they would be with the mean covariates.

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
            The samples; with `last` flat rows that end with their covariates.
        covariates : array-like of shape (n,) or (n, q), default=None
            Those of the samples, if it was fitted with covariates beside the samples.

        Returns
        -------
        array, store or Dask array of shape (n, I_1, ..., I_K), with `last` (n, I)
            In float64, or in float32 for float32 samples; without covariates, as they came.
        """
        check.check_fitted(self, "slopes_")
        X = check.check_samples(self, X)
        slopes = self.slopes_.reshape(len(self.slopes_), prod(self.slopes_.shape[1:]))
        own = Slopes(self.covariate_means_, slopes)
        if self.last is not None:
            return self._changed(X, partial(_without_last, found=own))
        none = np.empty((len(X), 0))
        Z = none if covariates is None else check_covariates(covariates, len(X))
        if Z.shape[1] != len(self.slopes_):
            raise ValueError(
                f"there are {Z.shape[1]} covariates per sample, but this CovariateRemover was "
                f"fitted with {len(self.slopes_)} covariates; pass covariates=Z, of shape (n, q), "
                "with the same ones in the same order; in a pipeline this takes "
                "set_transform_request(covariates=True)"
            )
        if not len(self.slopes_):
            return self._changed(X, np.asarray)
        return self._changed(X, partial(without_covariates, found=own), Z)

    def transform_moments(self, moments: ClassMoments) -> ClassMoments:
        """Moments of samples without what covariates add, from moments of flat rows (x, z).

        Parameters
        ----------
        moments : ClassMoments
            Of rows with their covariates, as in `fit_moments`.

        Returns
        -------
        ClassMoments
            Of samples of shape (I,).
        """
        check.check_fitted(self, "slopes_")
        if self.last is None or moments.shape != self.sample_shape_:
            raise ValueError(
                f"the moments are of samples of shape {moments.shape}; expected those of flat rows "
                f"of {self.n_features_in_} numbers that end with their covariates, and "
                "CovariateRemover(last=...)"
            )
        return moments_without_covariates(moments, Slopes(self.covariate_means_, self.slopes_))

    def get_feature_names_out(self, input_features: object = None) -> Array:
        """Names of the numbers that come out: those that came in, without the covariates.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            The names of the numbers of a sample; None takes those of `fit`, or x0, x1, ...

        Returns
        -------
        ndarray of str objects
            One name per number.
        """
        names = super().get_feature_names_out(input_features)
        return names if self.last is None else names[: -self.last]

    def _sizes(self) -> dict[str, Shape]:
        """The shape of a sample without its covariates."""
        *modes, last = self.sample_shape_
        return {"corrected": (*modes, last - (self.last or 0))}


def _columns(X: Array, part: slice) -> Array:
    return X[:, part]


def _without_last(X: Array, found: Slopes) -> Array:
    q = len(found.means)
    return without_covariates(X[:, :-q], check_covariates(X[:, -q:], len(X)), found)


def _checked_slopes(mean: Array, scatters: WithinScatters) -> Slopes:
    found = aliased(scatters)
    if found is not None:
        column, repeats = found
        why = {
            "nothing": "is the same for all samples",
            "the classes": "does not vary within any class, so its effect and that of the classes "
            "cannot be distinguished",
            "the others": "follows from the columns before it within classes, or there are too "
            "few samples to separate their effects",
        }[repeats]
        raise ValueError(f"covariate {column} (columns count from 0) {why}; leave it out")
    return Slopes(mean, slopes_of(scatters))
