"""Samples centred and scaled along modes: each by itself, or by what was fitted."""

from __future__ import annotations

from functools import partial
from math import prod
from typing import Annotated, Any, ClassVar, Self

import numpy as np

from tenfold.linalg.arrays import Array, reshaped
from tenfold.methods.base import Shape
from tenfold.preprocessing.step import Step
from tenfold.serialization.values import Axes
from tenfold.statistics.mode_scaling import FibreMoments, Scaling
from tenfold.statistics.moments import ClassMoments
from tenfold.statistics.stores import Source, over_blocks
from tenfold.validation import parameters
from tenfold.validation import samples as check
from tenfold.validation.parameter_types import Keep, Modes, Numeric, OutputName, SampleShape
from tenfold.validation.parameters import Number

KEPT = {"mean": ("mean",), "spread": ("spread",), "both": ("mean", "spread"), None: ()}


class ModeScaler(Step):
    """Centre and scale samples along modes, each by itself or by the training samples.

    A *fibre* is what a sample holds along `modes`: by default along the last one, such as the ten
    values of one feature in a window of time. From each number the mean of its fibre is
    subtracted, and the result is divided by the spread of the fibre. With ``per_sample=True``
    every sample has its own means and spreads, so that slow drifts vanish and short movements
    remain. With ``per_sample=False`` a fibre reaches through all training samples: this is
    `sklearn.preprocessing.StandardScaler` for samples of any order.

    ======================================================  ======================================
    each feature of a window (feature, time), by itself     ``ModeScaler()``
    each image (row, column), by itself                     ``ModeScaler(modes=(0, 1))``
    each pixel, over the training images                    ``ModeScaler((), per_sample=False)``
    each colour of (row, column, colour), over them all     ``ModeScaler((0, 1), per_sample=False)``
    ======================================================  ======================================

    Parameters
    ----------
    modes : int or tuple of ints, default=-1
        The modes along which a fibre lies, from 0; negative numbers count from the last mode.
        With ``per_sample=False`` it may be empty.
    per_sample : bool, default=True
        Whether every sample is centred and scaled by itself, or all by the training samples.
    pseudocount : float, default=1.0
        With ``per_sample=True``, the spread of a fibre is taken as if it held so many more
        numbers, as far from its mean as is typical of the training samples. So a fibre that
        hardly moves is not blown up to the size of the others, one that is constant gives zeros,
        and the units of the data do not matter. 0 makes the spread of every fibre 1.
    keep : {None, "mean", "spread", "both"}, default=None
        With ``per_sample=True`` and one mode, adds to this mode a column with the mean that was
        subtracted, in units of its spread over the training samples, a column with the logarithm
        of what was divided by, relative to the typical spread, or both in this order.
    sample_shape : tuple of K ints or None, default=None
        Fold flat rows of X into tensors of this shape.
    output : {"tensor", "flat"}, default="tensor"
        Whether `transform` gives (n, J_1, ..., J_K) or (n, J_1 * ... * J_K).

    Attributes
    ----------
    mean_ : ndarray with the shape of a sample, but 1 along `modes`
        The mean of the fibres' means, over the training samples.
    spread_ : ndarray of the same shape
        The typical spread inside of a fibre: root of the mean variance.
    mean_spread_ : ndarray of the same shape
        The standard deviation of the fibres' means from sample to sample.
    scale_ : ndarray of the same shape
        The standard deviation over all training samples, which ``per_sample=False`` divides by;
        1 where nothing varies.
    n_samples_seen_ : float
        Number of training samples, or the sum of their weights.
    sample_shape_ : tuple of K ints
        The shape of a sample.

    Notes
    -----
    A fibre of m numbers with standard deviation s is divided by
    ``sqrt((m s^2 + c t^2) / (m + c))``, where c is `pseudocount` and t the typical spread in
    `spread_` at this place of the sample. Standard deviations are those of all numbers (ddof 0).

    All sums are in float64, and float32 samples give float32. A Dask array gives a lazy one, and a
    store (a memory map, a Zarr array, an HDF5 dataset, windows of a series) gives a store whose
    samples are scaled as they are read: neither needs a scaled copy of the data.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import ModeScaler
    >>> windows = np.array([[[1.0, 2.0, 3.0], [50.0, 50.0, 50.0]], [[11.0, 13.0, 15.0], [1, 2, 3]]])
    >>> ModeScaler(pseudocount=0).fit_transform(windows).round(2)
    array([[[-1.22,  0.  ,  1.22],
            [ 0.  ,  0.  ,  0.  ]],
    <BLANKLINE>
           [[-1.22,  0.  ,  1.22],
            [-1.22,  0.  ,  1.22]]])

    Each pixel over the training images, where `StandardScaler` asks for two dimensions:

    >>> from sklearn.datasets import load_digits
    >>> images = load_digits().images
    >>> scaled = ModeScaler((), per_sample=False).fit_transform(images)
    >>> scaled.shape, float(np.abs(scaled.mean(axis=0)).max()) < 1e-12
    ((1797, 8, 8), True)
    """

    mean_: Annotated[Array, Axes("fibres")]
    spread_: Annotated[Array, Axes("fibres", least=0)]
    mean_spread_: Annotated[Array, Axes("fibres", least=0)]
    n_samples_seen_: Annotated[float, Axes(above=0)]

    _allowed: ClassVar = {
        "per_sample": (True, False),
        "pseudocount": (Number(0),),
        "output": ("tensor", "flat"),
        "keep": tuple(KEPT),
    }

    def __init__(
        self,
        modes: Modes = -1,
        *,
        per_sample: bool = True,
        pseudocount: Numeric = 1.0,
        keep: Keep = None,
        sample_shape: SampleShape = None,
        output: OutputName = "tensor",
    ):
        self.modes = modes
        self.per_sample = per_sample
        self.pseudocount = pseudocount
        self.keep = keep
        self.sample_shape = sample_shape
        self.output = output

    # -- fitting ---------------------------------------------------------------------------------

    def fit(self, X: object, y: object = None, sample_weight: object = None) -> Self:
        """Learn the means and spreads of the training samples, in one pass.

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
            The samples; with `sample_shape` also flat rows of shape (n, I).
        y : None
            Not looked at.
        sample_weight : array-like of shape (n,), default=None
            Non-negative weights. A weight of 2 is the same as having the sample twice.

        Returns
        -------
        self
            The fitted scaler.
        """
        self._check_parameters()
        input_info, X, _, weight = check.check_first_batch(self, X, None, sample_weight)
        return self._learn(input_info, self._moments(X, weight))

    def partial_fit(self, X: object, y: object = None, sample_weight: object = None) -> Self:
        """Add a batch to what was learned: however you batch the data, the result equals one `fit`.

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
            The samples of this batch.
        y : None
            Not looked at.
        sample_weight : array-like of shape (n,), default=None
            Non-negative weights.

        Returns
        -------
        self
            The updated scaler.
        """
        if not hasattr(self, "mean_"):
            return self.fit(X, y, sample_weight)
        self._check_parameters()
        X, _, weight = check.check_batch(self, X, None, sample_weight)
        n = self.n_samples_seen_
        so_far = FibreMoments(n, self.mean_, n * self.mean_spread_**2, n * self.spread_**2)
        return self._learn(check.input_info_of(self), so_far + self._moments(X, weight))

    def fit_moments(self, moments: ClassMoments) -> Self:
        """Learn from moments that are gathered already; no samples are read.

        Parameters
        ----------
        moments : ClassMoments
            Of all samples, as `gather_moments`, `load_moments` or ``+`` give them.

        Returns
        -------
        self
            The fitted scaler.
        """
        self._check_parameters()
        input_info, together = check.check_moments(self, moments)
        axes = self._axes(together.shape)
        return self._learn(input_info, FibreMoments.of_moments(together, axes))

    def _check_parameters(self) -> None:
        """Validate parameters."""
        parameters.check_declared(self)
        if self.per_sample and np.size(self.modes) == 0:
            raise ValueError(
                "modes is empty, so every number would be its own mean; name at least one mode, "
                "or pass per_sample=False for the mean and spread of each number over the samples"
            )
        if self.keep is not None and not (self.per_sample and np.size(self.modes) == 1):
            raise ValueError(
                f"keep={self.keep!r} adds what was taken from each sample to the mode it was taken "
                f"along, but modes is {self.modes!r} and per_sample is {self.per_sample}; pass one "
                "mode and per_sample=True, or keep=None"
            )

    def _axes(self, shape: Shape) -> tuple[int, ...]:
        """The modes as axes of a batch of samples of this shape."""
        return tuple(mode + 1 for mode in parameters.check_modes("modes", self.modes, shape))

    def _moments(self, X: check.Samples, weight: Array | None) -> FibreMoments:
        axes = self._axes(tuple(X.shape[1:]))
        work = partial(FibreMoments.of_block, axes=axes)
        return X.total(work, None, weight) if isinstance(X, Source) else work(X, None, weight)

    def _learn(self, input_info: check.InputInfo, moments: FibreMoments) -> Self:
        spread, mean_spread = moments.spreads()
        return self._set_fitted(
            input_info,
            mean_=moments.mean,
            spread_=spread,
            mean_spread_=mean_spread,
            n_samples_seen_=moments.weight,
        )

    # -- using -----------------------------------------------------------------------------------

    @property
    def scale_(self) -> Array:
        """The standard deviation over all training samples; 1 where nothing varies."""
        return self.scaling().total_spread

    def scaling(self) -> Scaling:
        """What is done to samples, as a function of arrays."""
        check.check_fitted(self, "mean_")
        return Scaling(
            self._axes(self.sample_shape_),
            self.mean_,
            self.spread_,
            self.mean_spread_,
            bool(self.per_sample),
            float(self.pseudocount),
            self.keep,
        )

    def transform(self, X: object) -> Any:
        """Centre and scale samples.

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
            The samples.

        Returns
        -------
        array, store or Dask array of shape (n, J_1, ..., J_K), or flat with output="flat"
            The scaled samples. J_k is I_k, and with `keep` 1 or 2 more for the mode of the fibres.
        """
        work = partial(self.scaling(), flat=self.output == "flat")
        return self._changed(check.check_samples(self, X), work)

    def transform_moments(self, moments: ClassMoments) -> ClassMoments:
        """The moments of scaled samples, from those of samples; with ``per_sample=False``.

        Parameters
        ----------
        moments : ClassMoments
            Of samples of the shape that was fitted.

        Returns
        -------
        ClassMoments
            As `ClassMoments.from_batch` gives them for the samples of `transform`.
        """
        scaling = self.scaling()
        if self.per_sample:
            raise ValueError(
                "every sample is scaled by itself, and moments do not contain single samples; "
                "scale samples before their moments are gathered, or pass per_sample=False"
            )
        known = check.check_gathered(moments).present()
        if known.shape not in (self.sample_shape_, (prod(self.sample_shape_),)):
            raise ValueError(
                f"the moments are of samples of shape {known.shape}, but this ModeScaler was "
                f"fitted on {self.sample_shape_}; gather moments of samples of that shape"
            )
        means = scaling(known.means.reshape(-1, *self.sample_shape_), flat=self.output == "flat")
        scale = np.broadcast_to(scaling.total_spread, self.sample_shape_).ravel()
        scatters = known.scatters / scale / scale[:, None]
        return ClassMoments(known.classes, known.counts, means, scatters)

    def inverse_transform(self, X: object) -> Array:
        """The samples that `transform` scaled.

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, J_1, ..., J_K) or (n, J_1 * ... * J_K)
            Scaled samples.

        Returns
        -------
        array of shape (n, I_1, ..., I_K), or flat rows when flat rows were fitted
            The samples. Those that were scaled by themselves need ``keep="both"``.
        """
        scaling = self.scaling()
        if self.per_sample and self.keep != "both":
            raise ValueError(
                "what was taken from each sample is not there any more, so samples cannot be "
                "scaled back; fit with keep='both', or with per_sample=False"
            )
        shape = scaling.shape_after(self.sample_shape_)
        Y = check.check_projected(X, shape)
        folded = self.sample_shape is not None and self.output == "flat"
        own = (prod(self.sample_shape_),) if folded else self.sample_shape_
        return over_blocks(Y, partial(_unscaled, scaling=scaling, scaled_shape=shape, shape=own))

    def get_feature_names_out(self, input_features: object = None) -> Array:
        """Names of the scaled numbers, in the order of flat rows.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            The names of the numbers of a sample; None takes those of `fit`, or x0, x1, ...

        Returns
        -------
        ndarray of str objects
            The same names, with "mean0", "spread0", ... for what is kept of each fibre.
        """
        names = super().get_feature_names_out(input_features).reshape(self.sample_shape_)
        kept = [
            np.array([f"{word}{i}" for i in range(self.mean_.size)], dtype=object)
            for word in KEPT[self.keep]
        ]
        columns = [names, *(column.reshape(self.mean_.shape) for column in kept)]
        if kept:
            (axis,) = self._axes(self.sample_shape_)
            names = np.concatenate(columns, axis=axis - 1)
        return np.asarray(names.ravel())

    def _sizes(self) -> dict[str, Shape]:
        """The shape of what is known of the fibres: 1 along them."""
        axes = self._axes(self.sample_shape_)
        sizes = enumerate(self.sample_shape_, start=1)
        return {"fibres": tuple(1 if axis in axes else size for axis, size in sizes)}

    def _check_learned(self) -> None:
        """Refuse parameters that no scaler has."""
        self._check_parameters()


def _unscaled(X: Array, scaling: Scaling, scaled_shape: Shape, shape: Shape) -> Array:
    samples = scaling.undo(reshaped(X, (X.shape[0], *scaled_shape)))
    return samples.reshape(len(samples), *shape)
