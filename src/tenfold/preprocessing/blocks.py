"""Blocks of features, each of what the earlier ones leave of the samples."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, clone
from sklearn.utils import get_tags

from tenfold.mathematics.accumulate import row_blocks
from tenfold.mathematics.algebra import Array, square_lengths, to_numpy
from tenfold.mathematics.moments import weighted_mean
from tenfold.mathematics.sample_statistics import ClassSketch
from tenfold.mathematics.stores import ArraySamples, Source, over_blocks
from tenfold.preprocessing.step import Step
from tenfold.validation import parameters
from tenfold.validation import samples as check
from tenfold.validation.parameters import Number


class Blocks(ClassNamePrefixFeaturesOutMixin, Step):
    """Several projections, each learned from what the earlier ones leave of the samples.

    A projection with one matrix per mode sees the part of a sample in the tensor product of some
    subspaces, and what is in the subspace of one mode and outside of that of another is lost. So
    this part is taken away from the samples, and the same method learns another projection from
    what is left::

        X  <-  X - projector.inverse_transform(projector.transform(X))

    Parameters
    ----------
    projector : MPCA, HODA or another projector with an inverse
        The method, with its parameters; any transformer of scikit-learn that has
        `inverse_transform` will do.
    n_blocks : int, default=2
        How many projections to learn.

    Attributes
    ----------
    blocks_ : list of n_blocks projectors
        The fitted projectors.
    sample_shape_ : tuple of K ints
        The shape of a sample.

    Notes
    -----
    `transform` gives the features of all blocks side by side, for a classifier of vectors. Stores
    and Dask arrays are read once more for every block.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tenfold import MPCA, Blocks
    >>> images = load_digits().images
    >>> blocks = Blocks(MPCA(ranks=(2, 2)), n_blocks=3).fit(images)
    >>> blocks.transform(images).shape
    (1797, 12)
    """

    blocks_: list[Any]
    output = "flat"

    _allowed: ClassVar = {"n_blocks": (Number(1, whole=True),)}

    def __init__(self, projector: Any, n_blocks: int = 2):
        self.projector = projector
        self.n_blocks = n_blocks

    @property
    def sample_shape(self) -> Any:
        """The `sample_shape` of the projector."""
        return getattr(self.projector, "sample_shape", None)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn one projection after the other.

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
            The samples; with `sample_shape` of the projector also flat rows of shape (n, I).
        y : array-like of shape (n,), default=None
            Class labels, for a projector that needs them.
        sample_weight : array-like of shape (n,), default=None
            Non-negative weights.

        Returns
        -------
        self
            The fitted blocks.
        """
        parameters.check_declared(self)
        if not hasattr(self.projector, "inverse_transform"):
            raise ValueError(
                f"projector is {self.projector!r}, which has no inverse_transform, so what it "
                "leaves of a sample is not known; expected a method such as MPCA() or HODA()"
            )
        described, left, _, weight = check.check_first_batch(self, X, None, sample_weight)
        left = left.in_memory() if isinstance(left, ArraySamples) else left
        labels = None if y is None else check.check_labels(self, left, y)
        given = {} if weight is None else {"sample_weight": weight}
        blocks: list[Any] = []
        first = _sketch(left, labels, weight)
        for number in range(self.n_blocks):
            if number:
                left = self._changed_samples(left, partial(remainder, projector=blocks[-1]))
                self._refuse_nothing(number, len(left), first, _sketch(left, labels, weight))
            blocks.append(clone(self.projector).fit(left, labels, **given))
        return self._set_fitted({**described, "blocks_": blocks})

    def _refuse_nothing(self, number: int, n: int, first: ClassSketch, left: ClassSketch) -> None:
        """Refuse to learn from rounding: where all samples, or all class means, are the same."""
        flat = left.means.reshape(len(left.means), -1)
        between = left.counts @ square_lengths(flat - weighted_mean(flat, left.counts))
        before = first.traces.sum() + first.counts @ square_lengths(first.means.reshape(flat.shape))
        rounding = (4 * flat.shape[1] * np.finfo(float).eps) ** 2 * before
        by_means = get_tags(self.projector).target_tags.required and (
            getattr(self.projector, "out_class", "means") == "means"
        )
        gone = None
        if not left.traces.sum() + between > rounding:
            gone = "samples"
        elif by_means and not between > rounding:
            gone = "differences between class means"
        if gone is not None:
            raise ValueError(
                f"n_blocks is {self.n_blocks}, but after {number} of them nothing is left of the "
                f"{gone} (n_samples={n}, n_features={flat.shape[1]}); use at "
                f"most {number} blocks, or lower ranks"
            )

    def transform(self, X: Any) -> Any:
        """The features of all blocks, side by side.

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
            The samples.

        Returns
        -------
        array, store or Dask array of shape (n, number of features)
            float32 samples give float32.
        """
        check.check_fitted(self, "blocks_")
        work = partial(features, blocks=self.blocks_)
        return self._changed(check.check_samples(self, X), work)

    def inverse_transform(self, X: Any) -> Array:
        """Map features back to the space of the samples: the sum of what the blocks give back.

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, number of features)
            What `transform` gave.

        Returns
        -------
        array of shape (n, I_1, ..., I_K), or flat rows when flat rows were fitted
            The samples without what no block sees.
        """
        check.check_fitted(self, "blocks_")
        Y = check.check_projected(X, (self._n_features_out,))
        return over_blocks(Y, partial(_restored, blocks=self.blocks_))

    @property
    def members_(self) -> list[Any]:
        """The fitted projectors."""
        check.check_fitted(self, "blocks_")
        return [block for block in self.blocks_ if hasattr(block, "objective_")]

    @property
    def _n_features_out(self) -> int:
        return sum(_width(block) for block in self.blocks_)

    def _check_learned(self) -> None:
        """Refuse blocks from a file that are not of these samples."""
        own = [getattr(block, "sample_shape_", None) for block in self.blocks_]
        if own != [self.sample_shape_] * self.n_blocks:
            raise ValueError(f"its blocks_ are of samples of shapes {own!r:.80}")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = get_tags(self.projector).target_tags.required
        return tags


def _width(block: Any) -> int:
    return len(block.get_feature_names_out())


def features(X: Array, blocks: Sequence[Any]) -> Array:
    """Features of samples in memory, all blocks side by side."""
    dtype = np.float32 if X.dtype == np.float32 else np.float64
    Y = np.empty((len(X), sum(map(_width, blocks))), dtype=dtype)
    for rows in row_blocks(len(X), 3 * 8 * prod(X.shape[1:])):
        left, parts = X[rows].astype(float), []
        for block in blocks:
            own, left = _parted(left, block)
            parts.append(own)
        Y[rows] = np.concatenate(parts, axis=1)
    return Y


def remainder(X: Array, projector: Any) -> Array:
    """What a fitted projector leaves of samples in memory, in float64."""
    return _parted(X.astype(float), projector)[1]


def _parted(X: Array, projector: Any) -> tuple[Array, Array]:
    """The flat features of samples, and what is left of these."""
    own = np.asarray(projector.transform(X)).reshape(len(X), -1)
    return own, np.asarray(X - np.asarray(projector.inverse_transform(own)).reshape(X.shape))


def _restored(Y: Array, blocks: Sequence[Any]) -> Array:
    Y = to_numpy(Y)
    ends = np.cumsum([_width(block) for block in blocks])
    parts = np.split(Y, ends[:-1], axis=1)
    each = [
        np.asarray(block.inverse_transform(own)) for block, own in zip(blocks, parts, strict=True)
    ]
    return np.asarray(sum(each))


def _sketch(X: Any, labels: Array | None, weight: Array | None) -> ClassSketch:
    """What there is to learn from: counts, means and spreads of classes."""
    found = np.zeros(len(X)) if labels is None else labels
    classes, codes = np.unique(found, return_inverse=True)
    work = partial(ClassSketch.of_block, classes=np.arange(len(classes)))
    return X.total(work, codes, weight) if isinstance(X, Source) else work(X, codes, weight)
