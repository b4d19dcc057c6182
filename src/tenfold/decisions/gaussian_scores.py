"""Scores and probabilities of classes that are Gaussian in common coordinates."""

from __future__ import annotations

from copy import copy
from dataclasses import fields
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin

from tenfold.decisions.accuracy import AccuracyScore
from tenfold.mathematics.algebra import Array
from tenfold.mathematics.arrays import like, to_numpy
from tenfold.mathematics.stores import over_blocks
from tenfold.mathematics.two_covariances import (
    ClassLikelihood,
    KnownClasses,
    best_class,
    coordinates,
    log_posteriors,
    of_scores,
    posteriors,
    preference,
)
from tenfold.methods.base import Learner, TensorProjector
from tenfold.validation import fitted
from tenfold.validation import samples as check
from tenfold.validation.groups import check_groups

LIKELIHOOD = [field.name for field in fields(ClassLikelihood)]


class GaussianScores(AccuracyScore, ClassifierMixin, Learner):
    """What a fitted model of Gaussian classes says of samples."""

    @property
    def members_(self) -> list[TensorProjector]:
        """The fitted projectors of the model: one, or none for all numbers of a sample."""
        fitted.check_fitted(self, "directions_")
        return [] if self.projector_ is None else [self.projector_]

    def decision_function(self, X: Any) -> Array:
        """Log likelihood ratio of every class plus the logarithm of its prior.

        The class of the largest one is what `predict` says.

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
            The samples.

        Returns
        -------
        ndarray of shape (n, C), or (n,) for two classes
            For two classes that of the second minus that of the first.
        """
        finish = partial(preference, log_priors=self.log_priors())
        return self._of_scores(X, finish)

    def log_likelihood_ratio(self, X: Any) -> Array:
        """Logarithm of the density under "this class" over that under "someone else".

        It knows nothing of priors or of who else is known, so it is what to threshold when a
        sample may be of a stranger.

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
            The samples.

        Returns
        -------
        ndarray of shape (n, C)
            Above 0 where the class explains the sample better than a class that nobody has
            seen.
        """
        return self._of_scores(X, np.asarray)

    def predict(self, X: Any) -> Array:
        """The most probable class of every sample.

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
            The samples.

        Returns
        -------
        ndarray of shape (n,)
            Labels.
        """
        finish = partial(best_class, log_priors=self.log_priors(), classes=self.classes_)
        return self._of_scores(X, finish)

    def predict_log_proba(self, X: Any) -> Array:
        """Logarithms of `predict_proba`, to full precision where a class is nearly certain.

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
            The samples.

        Returns
        -------
        ndarray of shape (n, C)
            At most 0.
        """
        finish = partial(log_posteriors, log_priors=self.log_priors())
        return self._of_scores(X, finish)

    def predict_proba(self, X: Any) -> Array:
        """The probability of every class, if the sample belongs to one of them.

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
            The samples.

        Returns
        -------
        ndarray of shape (n, C)
            Rows that sum to 1.
        """
        finish = partial(posteriors, log_priors=self.log_priors())
        return self._of_scores(X, finish)

    def set_scores(self, X: Any, sets: Any) -> tuple[Array, Array]:
        """Scores of sets of samples, where all samples of a set are of one unknown class.

        A set may be all images of one video, or all steps of one walk. Its score is the mean of
        the scores of its samples, and not their sum: what samples of one recording have in common
        would count many times.

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
            The samples.
        sets : array-like of shape (n,)
            For each sample the name or number of its set.

        Returns
        -------
        names : ndarray of shape (S,)
            The sets, sorted.
        scores : ndarray of shape (S, C)
            For every set and class the log likelihood ratio of a typical sample, without the
            prior of the class. The class with the largest one is
            ``classes_[scores.argmax(axis=1)]``.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from tenfold import ProbabilisticLDA
        >>> X, y = load_digits().images, load_digits().target
        >>> model = ProbabilisticLDA().fit(X[:900], y[:900])
        >>> names, scores = model.set_scores(X[900:], y[900:])
        >>> model.classes_[scores.argmax(axis=1)]
        array([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
        """
        found = self.log_likelihood_ratio(X)
        scores = to_numpy(found)
        names, numbers = check_groups("sets", sets, len(scores))
        sums = np.zeros((len(names), scores.shape[1]))
        np.add.at(sums, numbers, scores)
        return names, like(sums / np.bincount(numbers)[:, None], found)

    def recentred(self, X: Any) -> Self:
        """A copy of the model for samples of another session, whose mean takes the place of ours.

        Another camera, day or surface moves all samples alike. A set of samples of many classes
        shows by how much, without labels. The mean of these samples becomes what the mean of the
        training samples was; class means keep their places about it. Do not use it where the
        samples are of few classes only: what these have in common would be taken away.

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
            Samples of that session, of many classes; no labels are needed.

        Returns
        -------
        ProbabilisticLDA
            A copy that decides about samples of that session. The model itself stays as it is.
            `partial_fit` and `fit` of the copy forget the session.
        """
        fitted.check_fitted(self, "directions_")
        X = check.check_samples(self, X)
        off = to_numpy(over_blocks(X, self.coordinates())).mean(axis=0)
        other, D = copy(self), self.directions_
        other.mean_ = self.mean_ + np.linalg.lstsq(D.T, off)[0]  # the shortest way there
        return other

    def log_priors(self) -> Array:
        """Logarithms of the prior probabilities of the classes."""
        fitted.check_fitted(self, "directions_")
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.priors_))

    def likelihood(self) -> ClassLikelihood:
        """What samples of a class, and of someone else, look like in the coordinates."""
        return ClassLikelihood(**{k: getattr(self, f"{k}_") for k in LIKELIHOOD})

    def known_classes(self) -> KnownClasses:
        """What is known of the classes, in the coordinates."""
        return KnownClasses(self.class_means_, self.class_count_, self.enrolled_)

    def coordinates(self) -> Any:
        """What gives the coordinates of samples in memory, and can be sent to other processes."""
        steps = None
        if self.projector_ is not None:
            steps = (self.projector_.projections_, self.projector_._centre())
        return partial(coordinates, steps=steps, mean=self.mean_, directions=self.directions_)

    def _of_scores(self, X: Any, finish: Any) -> Array:
        fitted.check_fitted(self, "directions_")
        X = check.check_samples(self, X)
        work = partial(
            of_scores,
            coordinates=self.coordinates(),
            likelihood=self.likelihood(),
            known=self.known_classes(),
            finish=finish,
        )
        return over_blocks(X, work)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        return tags
