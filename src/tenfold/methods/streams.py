"""What an estimator does with a stream: learn from moments, forget, and take batches back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np

from tenfold.mathematics.accumulate import check_same_kind
from tenfold.mathematics.algebra import Array
from tenfold.mathematics.moment_changes import check_decay, decayed_weights
from tenfold.mathematics.moments import ClassMoments
from tenfold.validation import fitted
from tenfold.validation import samples as check
from tenfold.validation.parameters import check_option

FORGETTING = ("batch", "sample")


class Streaming:
    """The part of a learner that works from moments alone."""

    classes_: Array
    _check_parameters: Any
    _flatten_if_needed: Any
    _learn: Any
    _set_fitted: Any
    _is_learnable: Any
    _learn_moments: Any
    _moments_of_batch: Any

    def fit_moments(self, moments: ClassMoments) -> Self:
        """Learn from moments that are gathered already; no samples are read.

        Parameters
        ----------
        moments : ClassMoments
            Of all samples, as `gather_moments`, `gather_batches`, `load_moments` or ``+``
            give them.

        Returns
        -------
        self
            The fitted estimator, with `moments_`.
        """
        self._check_parameters()
        described, moments = check.check_moments(self, moments)
        moments = replace(moments, means=self._flatten_if_needed(moments.means))
        model = self._learn(moments, described["sample_shape_"])
        self._set_fitted(described, model, moments)
        return self

    def revert(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Take a batch back: the model is as if these samples had never come.

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
            Samples that were added, by `partial_fit` or by a `fit` that stored moments. They need
            not be a batch as it came, nor the last ones.
        y : array-like of shape (n,)
            Their labels.
        sample_weight : array-like of shape (n,), default=None
            The weights that they have now: where `decay` was used, those of then times the
            factors since.

        Returns
        -------
        self
            The updated estimator. A class of which all samples are taken back stays in `classes_`
            with count 0, as if it had been announced and not come yet; without samples of the
            classes that it needs, the estimator gathers again. Samples that were never added are
            refused where a count or an eigenvalue would be negative; then nothing is changed.
        """
        fitted.check_fitted(self, "sample_shape_")
        self._check_parameters()
        X, y, weight = check.check_batch(self, X, y, sample_weight)
        check_added_labels(y, self.classes_)
        return self._without(self._moments_of_batch(X, y, weight, self.classes_))

    def _without(self, taken: ClassMoments) -> Self:
        """Learn from the moments so far less those that are taken."""
        left = self._moments_so_far() - taken
        return self._keep_moments(left, self.classes_, fitted.description_of(self))

    def _added(self, so_far: ClassMoments, factor: float, batch: ClassMoments) -> ClassMoments:
        """The moments so far, of which some is forgotten, and those of a batch."""
        if factor == 1:
            return so_far.plus(batch, spend=True)
        moments = so_far.decay(factor) + batch
        if not self._is_learnable(moments) and self._is_learnable(so_far + batch):
            gone = (so_far.counts > 0) & (moments.counts == 0)
            if gone.any():
                raise ValueError(
                    f"decay has forgotten all samples of class {moments.classes[gone][0]!s}, of "
                    "which none came for long; pass samples of it, or a decay nearer to 1, or "
                    "start anew without that class"
                )
            raise ValueError(
                f"decay forgets too much: it leaves a weight of {moments.count:.2g} in all, less "
                "than what a model can be learned from (weights are counts of samples); pass a "
                "decay nearer to 1, or larger batches"
            )
        return moments

    def _keep_moments(
        self, moments: ClassMoments, classes: Array, described: Mapping[str, Any]
    ) -> Self:
        """Learn from moments of parts, or wait until there are samples of the classes it needs."""
        learnable = self._is_learnable(moments)
        model = None
        if learnable:
            model = self._learn_moments(moments, classes, described["sample_shape_"])
        self._set_fitted(described, model, moments, **({} if learnable else {"classes_": classes}))
        self._is_stream = True
        return self

    def _moments_so_far(self) -> ClassMoments:
        return fitted.check_kept_moments(self)


def check_added_labels(y: Array | None, classes: Array) -> None:
    """Labels of samples that are taken back are among those that came."""
    labels = classes if y is None else np.unique(y)
    check_same_kind(labels, classes)
    unknown = np.setdiff1d(labels, classes)
    if len(unknown):
        raise ValueError(
            f"samples with labels {unknown[:5].tolist()} cannot be taken back, since none came; "
            f"the classes are {classes.tolist()!s:.200}; pass samples that were added"
        )


def forgetting(
    decay: Any, decay_per: Any, n: int, weight: Array | None
) -> tuple[float, Array | None]:
    """By what the past is multiplied when n samples come, and the weights of these.

    Per batch the past is multiplied once. Per sample each sample forgets all before it, those of
    its own batch too, so that it does not matter how the stream is cut.
    """
    factor = check_decay("decay", decay)
    if check_option("decay_per", decay_per, FORGETTING) == "batch" or factor == 1:
        return factor, weight
    return factor**n, decayed_weights(n, factor, weight)
