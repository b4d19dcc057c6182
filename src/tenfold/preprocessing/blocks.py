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
from tenfold.mathematics.algebra import Array, to_numpy
from tenfold.mathematics.stores import ArraySamples, MappedStore, Source, StoredSamples, over_blocks
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
        before = float(_shares(left, labels, weight)[:, 0].sum())
        for number in range(self.n_blocks):
            if number:
                left = _lazily(left, partial(remainder, projector=blocks[-1]))
                self._refuse_nothing(number, len(left), before, _shares(left, labels, weight))
            blocks.append(clone(self.projector).fit(left, labels, **given))
        return self._set_fitted({**described, "blocks_": blocks})

    def _refuse_nothing(self, number: int, n: int, before: float, shares: Array) -> None:
        """Refuse to learn from rounding: where all samples, or all class means, are the same."""
        weights, sums = shares[:, 1:2], shares[:, 3:]
        means = sums / np.where(weights > 0, weights, 1.0)
        mean = sums.sum(axis=0) / weights.sum()
        between = float((weights * (means - mean) ** 2).sum())
        rounding = (4 * sums.shape[1] * np.finfo(float).eps) ** 2 * before
        by_means = get_tags(self.projector).target_tags.required and (
            getattr(self.projector, "out_class", "means") == "means"
        )
        gone = None
        if not shares[:, 2].sum() > rounding:
            gone = "samples"
        elif by_means and not between > rounding:
            gone = "differences between class means"
        if gone is not None:
            raise ValueError(
                f"n_blocks is {self.n_blocks}, but after {number} of them nothing is left of the "
                f"{gone} (n_samples={n}, n_features={sums.shape[1]}); use at most {number} blocks, "
                "or lower ranks"
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
        return self._changed(check.check_samples(self, X), work, flat=True)

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

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of the features: blocks0, blocks1, ...

        Parameters
        ----------
        input_features : None
            Not looked at.

        Returns
        -------
        ndarray of str objects
            One name per feature.
        """
        check.check_fitted(self, "blocks_")
        names = ClassNamePrefixFeaturesOutMixin.get_feature_names_out(self, input_features)
        return np.asarray(names)

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
        left, first = X[rows].astype(float), 0
        for block in blocks:
            own = np.asarray(block.transform(left)).reshape(len(left), -1)
            Y[rows, first : first + own.shape[1]] = own
            first += own.shape[1]
            if first < Y.shape[1]:
                left = left - np.asarray(block.inverse_transform(own)).reshape(left.shape)
    return Y


def remainder(X: Array, projector: Any) -> Array:
    """What a fitted projector leaves of samples in memory, in float64."""
    X = X.astype(float)
    own = np.asarray(projector.transform(X)).reshape(len(X), -1)
    return np.asarray(X - np.asarray(projector.inverse_transform(own)).reshape(X.shape))


def _restored(Y: Array, blocks: Sequence[Any]) -> Array:
    Y = to_numpy(Y)
    ends = np.cumsum([_width(block) for block in blocks])
    parts = np.split(Y, ends[:-1], axis=1)
    each = [
        np.asarray(block.inverse_transform(own)) for block, own in zip(blocks, parts, strict=True)
    ]
    return np.asarray(sum(each))


def _lazily(X: Any, work: Any) -> Any:
    """``work(X)``, for a store or Dask array as one that is changed when it is read."""
    if isinstance(X, StoredSamples):
        return StoredSamples.of(MappedStore(X, work))
    found = over_blocks(X, work)
    return check.as_source(found) if isinstance(X, Source) else found


def _shares(X: Any, labels: Array | None, weight: Array | None) -> Array:
    """What is left to learn from, per class, (C, 3 + I).

    The sum of squares, the weight, the sum of squares about the first sample, and the sum of all
    samples about it.
    """
    codes = (
        np.zeros(len(X), np.intp) if labels is None else np.unique(labels, return_inverse=True)[1]
    )
    one = X[:1].in_memory() if isinstance(X, Source) else X[:1]
    first = one.astype(float).reshape(-1)
    work = partial(_shares_of_block, first=first, n_classes=int(codes.max()) + 1)
    if isinstance(X, Source):
        return np.asarray(X.total(work, codes, weight))
    return work(X, codes, weight)


def _shares_of_block(
    X: Array, codes: Array, weight: Array | None, first: Array, n_classes: int
) -> Array:
    flat = X.reshape(len(X), -1).astype(float)
    w = np.ones(len(flat)) if weight is None else weight
    about = flat - first
    columns = np.column_stack(
        [np.vecdot(flat, flat), np.ones(len(flat)), np.vecdot(about, about), about]
    )
    member = np.equal.outer(np.arange(n_classes), codes) * w
    return np.asarray(member @ columns)
