"""What an estimator does with a stream: learn from moments, and forget."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

from tenfold.mathematics.algebra import Array
from tenfold.mathematics.moments import ClassMoments
from tenfold.validation import fitted
from tenfold.validation import samples as check


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
