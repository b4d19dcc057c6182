"""What a fitted method does with samples: transform and the way back."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_is_fitted

from tenfold.mathematics.algebra import Array, project, reconstruct, row_blocks
from tenfold.mathematics.stores import over_blocks
from tenfold.validation import samples as check
from tenfold.validation.large_input import as_source


class Projection(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """One projection matrix per mode, applied to batches of tensors.

    Parameters that a method does not have are class attributes with fixed values.
    """

    needs_labels = True
    flattens = False  # whether samples are treated as vectors

    sample_shape: Any = None
    output: str = "flat"

    sample_shape_: tuple[int, ...]
    ranks_: tuple[int, ...]
    projections_: list[Array]

    @property
    def members_(self) -> list[Any]:
        """The fitted projectors of a model: of a projector, the projector itself."""
        check_is_fitted(self, "projections_")
        return [self]

    def transform(self, X: Any) -> Array:
        """Project samples onto the learned subspaces (eq. 6).

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
            The samples.

        Returns
        -------
        array of shape (n, r_1 * ... * r_K), or (n, r_1, ..., r_K) with output="tensor"
            The projected samples; float32 samples give float32. A Dask array gives a lazy one.
        """
        check_is_fitted(self, "projections_")
        flat = self.output != "tensor"
        container = _get_output_config("transform", self)["dense"]
        if not flat and container != "default":
            raise ValueError(
                f"set_output asks for {container}, whose rows are flat, but output is 'tensor'; "
                "use output='flat', or set_output(transform='default')"
            )
        X = check.check_samples(self, X, reset=False)
        return over_blocks(
            X, partial(projected, projections=self.projections_, centre=self._centre(), flat=flat)
        )

    def inverse_transform(self, X: Any) -> Array:
        """Map projected samples back to the space of the samples, by least squares.

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, r_1 * ... * r_K) or (n, r_1, ..., r_K)
            Projected samples.

        Returns
        -------
        array of shape (n, I_1, ..., I_K), or flat rows when flat rows were fitted
            The samples of the subspace with these projections.
        """
        check_is_fitted(self, "projections_")
        Y: Any = as_source(X)
        if Y is None:
            Y = check.check_array(X, dtype=[np.float64, np.float32], allow_nd=True, input_name="X")
        if Y.shape[1:] not in (self.ranks_, (prod(self.ranks_),)):
            raise ValueError(
                f"projected samples have shape {Y.shape[1:]}, but this model projects onto "
                f"{self.ranks_}, or {prod(self.ranks_)} numbers in flat rows; pass what transform "
                "returned"
            )
        folded = self.sample_shape is not None and self.output == "flat"
        shape = (prod(self.sample_shape_),) if folded else self.sample_shape_
        centre = self._centre()
        return over_blocks(
            Y, partial(reconstructed, projections=self.projections_, centre=centre, shape=shape)
        )

    def _centre(self) -> Array | None:
        """What is subtracted before projecting: nothing, as in eq. 6."""
        return None

    @property
    def _n_features_out(self) -> int:
        return prod(self.ranks_)

    def _samples(self, X: Array) -> Array:
        """The batch as this method sees it: tensors, or vectors for one that flattens."""
        return X.reshape(len(X), -1) if self.flattens else X

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self.needs_labels
        tags.input_tags.three_d_array = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def projected(
    X: Array, projections: Sequence[Array], centre: Array | None = None, flat: bool = False
) -> Array:
    """Samples about a centre, projected block by block, in float32 or float64.

    Parameters
    ----------
    X : ndarray of shape (n, I_1, ..., I_K)
        Samples with as many numbers as the projections take.
    projections : sequence of ndarrays of shape (I_k, r_k)
        One matrix per mode, or one for vectorised samples.
    centre : ndarray of shape (I_1, ..., I_K) or None
        What is subtracted first.
    flat : bool
        Whether projected samples are vectors.

    Returns
    -------
    ndarray of shape (n, r_1, ..., r_K) or (n, r_1 * ... * r_K)
        The projected samples.
    """
    sizes, ranks = [len(W) for W in projections], [W.shape[1] for W in projections]
    X = X.reshape(len(X), *sizes)
    dtype = np.float32 if X.dtype == np.float32 else np.float64
    W = [P.astype(dtype, copy=False) for P in projections]
    Y = np.empty((len(X), *ranks), dtype=dtype)
    for block in row_blocks(len(X), 2 * np.dtype(dtype).itemsize * prod(sizes)):
        rows = X[block]
        if centre is not None:
            rows = rows - centre.reshape(sizes)  # in the wider precision: offsets cost no digits
        Y[block] = project(rows.astype(dtype, copy=False), W)
    return Y.reshape(len(Y), prod(ranks)) if flat else Y


def reconstructed(
    Y: Array, projections: Sequence[Array], centre: Array | None, shape: tuple[int, ...]
) -> Array:
    """The samples (n, *shape) of the subspace that have the projections Y, in Y's precision."""
    dtype = np.float32 if Y.dtype == np.float32 else np.float64
    W = [P.astype(dtype, copy=False) for P in projections]
    projected_samples = Y.reshape(len(Y), *(P.shape[1] for P in W)).astype(dtype, copy=False)
    samples = reconstruct(projected_samples, W)
    if centre is not None:
        samples += centre.astype(dtype).reshape(samples.shape[1:])
    return samples.reshape(len(Y), *shape)
