"""Gaussian classes that come and go: moments by class and fold, added to, taken back, enrolled."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Any, Self

import numpy as np

from tenfold.decisions.gaussian_scores import GaussianScores
from tenfold.mathematics.accumulate import check_same_kind
from tenfold.mathematics.algebra import Array
from tenfold.mathematics.arrays import to_numpy
from tenfold.mathematics.cost import moments_of
from tenfold.mathematics.fold_moments import N_FOLDS, content_folds, merged_folds, name_folds
from tenfold.mathematics.moments import ClassMoments
from tenfold.mathematics.moments_in_folds import MomentsInFolds
from tenfold.mathematics.pass_statistics import codes_of
from tenfold.mathematics.stores import over_blocks
from tenfold.methods.streams import check_added_labels
from tenfold.validation import fitted, parameters
from tenfold.validation import samples as check
from tenfold.validation.groups import check_groups


class GaussianStreams(GaussianScores):
    """What a model of Gaussian classes keeps of samples, and how more come or some are taken back.

    Samples are dealt to folds, by which shrinkage is chosen, so every class has moments in each.
    """

    shrinkage: Any

    def _is_learnable(self, moments: ClassMoments) -> bool:
        """Whether there are samples of two classes, and two of one of them."""
        counts = moments.counts.reshape(-1, self._n_folds()).sum(axis=1)
        return bool((counts > 0).sum() > 1 and (counts > 1).any())

    def _n_tables(self, classes: Array) -> int:
        return len(classes) * self._n_folds()

    def _moments_of_batch(
        self,
        X: Any,
        y: Array | None,
        weight: Array | None,
        classes: Array,
        folds: Array | None = None,
    ) -> ClassMoments:
        """The moments of every class in every fold; class c in fold f has number c F + f."""
        n_folds = self._n_folds()
        parameters.check_tables_fit(prod(X.shape[1:]), len(classes) * n_folds)
        numbers = codes_of(X, y, classes) * n_folds
        numbers += self._folds(X) if folds is None else folds
        return moments_of(X, numbers, weight, np.arange(len(classes) * n_folds))

    def _fit_folds(self, moments: MomentsInFolds) -> Self:
        """Learn from moments of every class in every fold."""
        described, together = check.check_moments(self, moments.together())
        cells = moments.present().cells
        cells = replace(cells, means=cells.means.reshape(-1, *together.shape))
        model = self._learn_moments(cells, together.classes, described["sample_shape_"])
        return self._set_fitted(described, model, cells)

    def revert(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> Self:
        """Take a batch back: the model is as if these samples had never come.

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
            Samples that were added, by `partial_fit`, by `enrol`, or by a `fit` that stored
            moments. They need not be a batch as it came, nor the last ones.
        y : array-like of shape (n,)
            Their labels.
        sample_weight : array-like of shape (n,), default=None
            The weights that they have now: where `decay` was used, those of then times the
            factors since.
        groups : array-like of shape (n,), default=None
            Their groups, if they had some in `fit`.

        Returns
        -------
        self
            The updated estimator. A class of which all samples are taken back stays in `classes_`
            with count 0, and is never predicted.
        """
        if groups is None:
            return super().revert(X, y, sample_weight)
        fitted.check_fitted(self, "sample_shape_")
        X, labels, weight = check.check_batch(self, X, y, sample_weight)
        check_added_labels(labels, self.classes_)
        folds = self._folds(X, groups)
        return self._without(self._moments_of_batch(X, labels, weight, self.classes_, folds))

    def enrol(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Add classes that came later, or samples of known ones, without learning anew.

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
            Samples; one per class is enough.
        y : array-like of shape (n,)
            Their labels: new ones, or known ones, to whose means the samples are added.
        sample_weight : array-like of shape (n,), default=None
            Non-negative weights.

        Returns
        -------
        self
            With more classes; covariances and coordinates stay as they are. A new class gets the
            mean prior of those before; then all are scaled to sum to 1.
        """
        fitted.check_fitted(self, "directions_")
        X, labels, weight = check.check_batch(self, X, y, sample_weight)
        assert labels is not None
        check_same_kind(labels, self.classes_)
        came = check.present_labels(labels, weight)
        classes = np.union1d(self.classes_, came)
        at = np.searchsorted(classes, self.classes_)
        priors = np.full(len(classes), self.priors_.mean())
        priors[at] = self.priors_
        learned: dict[str, Any] = {"classes_": classes, "priors_": priors / priors.sum()}
        if hasattr(self, "moments_"):  # so that partial_fit goes on with all of them
            n_folds = self._n_folds()
            numbers = (at[:, None] * n_folds + np.arange(n_folds)).ravel()
            so_far = replace(self._moments_so_far(), classes=numbers)
            learned["moments_"] = so_far + self._moments_of_batch(X, labels, weight, classes)
        Z = to_numpy(over_blocks(X, self.coordinates()))
        known = self.known_classes().placed(at, len(classes))
        known = known.with_samples(Z, codes_of(X, labels, classes), weight)
        learned |= {"class_means_": known.means, "class_count_": known.counts}
        self.__dict__.update(learned, enrolled_=known.enrolled)
        return self

    # -- folds -----------------------------------------------------------------------------------

    def _n_folds(self) -> int:
        return N_FOLDS if self.shrinkage == "auto" else 1

    def _moments_so_far(self) -> ClassMoments:
        """What is to be added to, with as many folds as `shrinkage` needs now."""
        moments, n_folds = super()._moments_so_far(), self._n_folds()
        kept = len(moments.counts) // len(self.classes_)
        if kept < n_folds:
            raise ValueError(
                f"shrinkage is {self.shrinkage!r}, which needs moments of {n_folds} folds, but "
                "this model began with a number and kept none; start with a fresh estimator"
            )
        return moments if kept == n_folds else merged_folds(moments, kept)

    def _folds(self, X: Any, groups: Any = None) -> Array:
        """The fold of each sample: that of its group, or by its content."""
        named = None if groups is None else check_groups("groups", groups, len(X))
        if self._n_folds() == 1:
            return np.zeros(len(X), dtype=np.intp)
        if named is None:
            return to_numpy(over_blocks(X, content_folds))
        names, numbers = named
        return name_folds(names)[numbers]
