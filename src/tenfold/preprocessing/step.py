"""What all steps have in common: how samples come in, go out, and what is kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import _check_feature_names_in

from tenfold.linalg.arrays import Array, asarray_like
from tenfold.methods.base import Savable
from tenfold.statistics.stores import ArraySamples, MappedStore, Source, StoredSamples, over_blocks
from tenfold.validation import samples as check
from tenfold.validation.containers import as_source


class Step(TransformerMixin, Savable, BaseEstimator):
    """A transformer of samples (n, I_1, ..., I_K), read block by block where they are not arrays.

    A subclass learns in `fit`, keeps what it learned with `_set_fitted`, and hands `_changed` what
    is to be done with a block of samples.
    """

    _needs_labels = False
    _knows_range = False  # the model after it does, and some steps rescale each sample
    sample_shape: object = None
    output = "tensor"  # what comes out has the modes of what came in; "flat": it is flat rows

    @property
    def members_(self) -> list[BaseEstimator]:
        """The projectors inside: none."""
        check.check_fitted(self, "sample_shape_")
        return []

    def _changed(
        self, X: check.Samples, work: Callable[..., Array], column: Array | None = None
    ) -> Any:
        """``work(block, part of column)`` of all blocks of samples.

        Parameters
        ----------
        X : ndarray or Source of shape (n, I_1, ..., I_K)
            Checked samples.
        work : callable
            Takes a block, and the part of the column of that block if there is one.
        column : ndarray of shape (n, ...) or None
            What comes along with each sample.

        Returns
        -------
        array, store or Dask array
            A store for a store, changed as it is read; a lazy Dask array for a Dask array.
        """
        container = check.check_output(self, 2 if self.output == "flat" else X.ndim)
        if isinstance(X, StoredSamples) and container == "default":
            return MappedStore(X, work, column)
        beside = () if column is None else (column,)
        if isinstance(X, ArraySamples):
            return asarray_like(work(X.in_memory(), *beside), X.array)
        return X.rows(work, column) if isinstance(X, Source) else work(X, *beside)

    def _changed_samples(self, X: check.Samples, work: Callable[..., Array]) -> check.Samples:
        """As `_changed`, for who learns from the samples that come out: a `Source`, or an array.

        What `set_output` asks for is for who uses the step.
        """
        if isinstance(X, StoredSamples):
            return StoredSamples.of(MappedStore(X, work))
        found = over_blocks(X, work)
        source = as_source(found)
        return found if source is None else source

    def get_feature_names_out(self, input_features: object = None) -> Array:
        """Names of the numbers that come out, in the order of flat rows: those that came in.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            The names of the numbers of a sample; None takes those of `fit`, or x0, x1, ...

        Returns
        -------
        ndarray of str objects
            One name per number.
        """
        check.check_fitted(self, "sample_shape_")
        return np.asarray(_check_feature_names_in(self, input_features), dtype=object)

    def __sklearn_tags__(self) -> object:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.input_tags.allow_nan = self.takes_gaps
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
