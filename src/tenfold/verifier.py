"""A verifier: accept a sample as one of a class, or reject it."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import KFold, StratifiedKFold, check_cv
from sklearn.utils.validation import check_is_fitted

from tenfold import validation as check
from tenfold.algebra import Array
from tenfold.class_specific import ClassSpecificProjector
from tenfold.folds import Split, held_out
from tenfold.saving import Savable


class ClassSpecificVerifier(Savable, BaseEstimator):
    """Accept or reject samples as members of one class.

    The threshold is chosen on scores of samples that the scoring model has not seen, for a wanted
    share of false accepts or for equal error rates.

    Parameters
    ----------
    projector : MCSDA or CSDA
        The method, with its parameters; its `positive` is replaced by the verifier's.
    positive : label or None, default=None
        The class to verify; None means the last of the sorted classes.
    false_accept_rate : float or "equal", default=0.01
        The largest share of other samples to accept, or "equal" for the threshold at which the
        shares of false accepts and false rejects are the same.
    cv : int, splitter or iterable of splits, default=5
        Folds for the held-out scores. An int never asks for more folds than there are positive
        samples; a single positive sample stays in every training part.

    Attributes
    ----------
    projector_ : projector
        The model, fitted on all samples.
    threshold_ : float
        Scores of at least this are accepted.
    error_rates_ : dict
        Held-out shares of "false_accepts" and, where positives were held out, "false_rejects".
    classes_ : ndarray of shape (C,)
        The labels, sorted.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tenfold import MCSDA, ClassSpecificVerifier
    >>> X, y = load_digits().images, load_digits().target
    >>> model = MCSDA(ranks=(5, 5), tol=0.1)
    >>> verifier = ClassSpecificVerifier(model, positive=6).fit(X[:900], y[:900])
    >>> accepted = verifier.predict(X[900:])
    >>> bool((accepted == (y[900:] == 6)).mean() > 0.98)
    True
    """

    def __init__(
        self,
        projector: Any,
        *,
        positive: Any = None,
        false_accept_rate: Any = 0.01,
        cv: Any = 5,
    ):
        self.projector = projector
        self.positive = positive
        self.false_accept_rate = false_accept_rate
        self.cv = cv

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the subspace of the positive class and the threshold.

        Parameters
        ----------
        X : array-like of shape (n, I_1, ..., I_K)
            The samples.
        y : array-like of shape (n,)
            Class labels, at least two.
        sample_weight : array-like of shape (n,), default=None
            Non-negative weights.

        Returns
        -------
        self
            The fitted verifier.
        """
        self._check_parameters()
        model = clone(self.projector).set_params(positive=self.positive)
        fresh, X, y, weight = model._prepared(X, y, sample_weight)
        y, weight = check.in_memory(y, weight)
        is_positive = y == fresh.classes_[fresh._positive()]
        counted = np.ones(len(y)) if weight is None else weight
        splits = self._splits(is_positive & (counted > 0), X, y)
        scores = np.full(len(y), np.nan)
        for test, fold in held_out(fresh, X, y, weight, splits):
            scores[test] = fold._scores(X[test])
        held = ~np.isnan(scores) & (counted > 0)
        threshold, rates = self._threshold(scores[held], is_positive[held], counted[held])
        model.fit(X, y, weight)
        self.projector_, self.threshold_, self.error_rates_ = model, threshold, rates
        self.classes_, self.sample_shape_ = model.classes_, model.sample_shape_
        self.n_features_in_ = model.n_features_in_
        return self

    def _check_parameters(self) -> None:
        if not isinstance(self.projector, ClassSpecificProjector):
            raise ValueError(
                f"projector is {self.projector!r}; expected a class-specific method such as "
                "MCSDA() or CSDA()"
            )
        rate = self.false_accept_rate
        if rate != "equal" and not (isinstance(rate, Real) and 0 <= rate <= 1):
            raise ValueError(
                f"false_accept_rate is {rate!r}; expected a number from 0 to 1, or 'equal'"
            )

    def _splits(self, is_positive: Array, X: Array, y: Array) -> list[Split]:
        """Folds in which every training part has positive and other samples."""
        if not isinstance(self.cv, Integral):
            return list(check_cv(self.cv).split(X, y))
        n_folds = check.check_number("cv", self.cv, 2, integer=True)
        n_positive, n_others = int(is_positive.sum()), int((~is_positive).sum())
        if n_positive > 1:
            folds = StratifiedKFold(
                min(n_folds, n_positive, n_others), shuffle=True, random_state=0
            )
            return list(folds.split(np.zeros(len(y)), is_positive))
        if self.false_accept_rate == "equal":
            raise ValueError(
                "there is 1 positive sample only, so none can be held out to find the equal error "
                "rate; pass more, or a number as false_accept_rate"
            )
        others, alone = np.flatnonzero(~is_positive), np.flatnonzero(is_positive)
        folds = KFold(min(n_folds, n_others), shuffle=True, random_state=0)
        return [
            (np.concatenate([alone, others[train]]), others[test])
            for train, test in folds.split(others)
        ]

    def _threshold(
        self, scores: Array, is_positive: Array, weight: Array
    ) -> tuple[float, dict[str, float]]:
        """The lowest threshold that keeps the wanted rate on held-out scores."""
        candidates = np.append(np.unique(scores), np.inf)
        others, own = weight * ~is_positive, weight * is_positive
        order = np.argsort(scores)
        at = np.searchsorted(scores[order], candidates)  # samples below each candidate
        accepted = others.sum() - np.append(0.0, np.cumsum(others[order]))[at]
        rejected = np.append(0.0, np.cumsum(own[order]))[at]
        false_accepts = accepted / others.sum()
        if self.false_accept_rate == "equal":
            false_rejects = rejected / own.sum()
            best = int(np.argmin(np.maximum(false_accepts, false_rejects)))
        else:
            slack = 1e-12  # a rate of exactly the wanted share counts as kept
            best = int(np.argmax(false_accepts <= self.false_accept_rate + slack))
        rates = {"false_accepts": float(false_accepts[best])}
        if own.any():
            rates["false_rejects"] = float(rejected[best] / own.sum())
        return _just_below(scores, candidates, best), rates

    def decision_function(self, X: Any) -> Array:
        """Minus the distance to the positive mean in the subspace.

        Parameters
        ----------
        X : array-like of shape (n, I_1, ..., I_K)
            The samples.

        Returns
        -------
        ndarray of shape (n,)
            The larger, the more like the positive class.
        """
        check_is_fitted(self, "projector_")
        return self.projector_.decision_function(X)

    def similarity(self, X: Any) -> Array:
        """The paper's similarity, one over the distance; infinite at the mean itself.

        Parameters
        ----------
        X : array-like of shape (n, I_1, ..., I_K)
            The samples.

        Returns
        -------
        ndarray of shape (n,)
            Positive numbers.
        """
        distance = -np.asarray(self.decision_function(X))
        return np.divide(1.0, distance, out=np.full(distance.shape, np.inf), where=distance > 0)

    def predict(self, X: Any) -> Array:
        """Whether each sample is accepted.

        Parameters
        ----------
        X : array-like of shape (n, I_1, ..., I_K)
            The samples.

        Returns
        -------
        ndarray of bool of shape (n,)
            True where the score reaches `threshold_`.
        """
        return self.decision_function(X) >= self.threshold_

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Average precision of `decision_function` at finding the positive class.

        Parameters
        ----------
        X : array-like of shape (n, I_1, ..., I_K)
            The samples.
        y : array-like of shape (n,)
            Their labels.
        sample_weight : array-like of shape (n,), default=None
            Sample weights.

        Returns
        -------
        float
            Between 0 and 1.
        """
        check_is_fitted(self, "projector_")
        return float(self.projector_.score(X, y, sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.three_d_array = True
        return tags


def _just_below(scores: Array, candidates: Array, best: int) -> float:
    """Midway between the accepted score and the one below it, so that rounding decides nothing."""
    lower = candidates[best - 1] if best else candidates[best]
    if np.isinf(candidates[best]):  # nothing may be accepted
        return float(np.nextafter(scores.max() / 2, np.inf)) if scores.size else 0.0
    return float((lower + candidates[best]) / 2)
