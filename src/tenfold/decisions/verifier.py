"""A verifier: accept a sample as one of a class, or reject it."""

from __future__ import annotations

from itertools import islice
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import KFold, StratifiedKFold, check_cv
from sklearn.utils.validation import check_is_fitted

from tenfold.decisions.folds import fold_models, held_out, positions
from tenfold.mathematics.algebra import Array
from tenfold.mathematics.fold_statistics import Split
from tenfold.methods.base import Labels, Shape
from tenfold.methods.class_specific import ClassSpecificProjector
from tenfold.methods.saving import Savable
from tenfold.validation import parameters
from tenfold.validation import samples as check

RATE_ROUNDING = 1e-12  # a rate of exactly the wanted share counts as kept


class ClassSpecificVerifier(Savable, BaseEstimator):
    """Accept or reject samples as members of one class.

    The threshold is chosen on scores of samples that the scoring model has not seen, for a wanted
    share of false accepts or for equal error rates.

    Parameters
    ----------
    projector : MCSDA or CSDA
        The method, with its parameters.
    positive : label or None, default=None
        The class to verify; None means the `positive` of the projector, and if that is None too,
        the last of the sorted classes.
    false_accept_rate : float or "equal", default=0.01
        The largest share of other samples to accept, or "equal" for the threshold at which the
        shares of false accepts and false rejects are the same.
    cv : int, splitter or iterable of splits, default=5
        Folds for the held-out scores. An int never asks for more folds than there are positive
        samples; a single positive sample stays in every training part, and then only the share
        of false accepts can be known.

    Attributes
    ----------
    projector_ : projector
        The model, fitted on all samples.
    threshold_ : float
        Scores of at least this are accepted: the lowest of the held-out scores that keeps the
        wanted rate, or a number just above them all when none does.
    error_rates_ : dict
        Held-out shares of "false_accepts" and, where positives were held out, "false_rejects".
    classes_ : ndarray of shape (C,)
        The labels, sorted.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tenfold import MCSDA, ClassSpecificVerifier
    >>> X, y = load_digits().images, load_digits().target
    >>> model = MCSDA(ranks=(5, 5))
    >>> verifier = ClassSpecificVerifier(model, positive=6).fit(X[:900], y[:900])
    >>> accepted = verifier.predict(X[900:])
    >>> bool((accepted == (y[900:] == 6)).mean() > 0.98)
    True
    """

    projector_: ClassSpecificProjector
    threshold_: float
    error_rates_: dict[str, float]
    classes_: Labels
    sample_shape_: Shape
    n_features_in_: int
    feature_names_in_: Labels

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
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
            The samples. A store is read once for all statistics, and once for the scores of
            samples that were held out.
        y : array-like of shape (n,)
            Class labels, at least two.
        sample_weight : array-like of shape (n,), default=None
            Non-negative weights.

        Returns
        -------
        self
            The fitted verifier.
        """
        self.check_parameters()
        model = self.model()
        described, X, labels, weight = model.first_batch(X, y, sample_weight)
        classes = check.present_labels(labels, weight)
        label = classes[model.positive_in(classes)]
        model.set_params(positive=label)  # in a fold without it, None would mean another class
        is_positive = labels == label
        counted = np.ones(len(labels)) if weight is None else weight
        splits = self._splits(is_positive, counted > 0, X, labels)
        folds = fold_models(model, described, X, labels, weight, splits)
        scores = held_out(X, splits, [fold.scoring() for fold in islice(folds, len(splits))])
        held = ~np.isnan(scores) & (counted > 0)
        threshold, rates = self._threshold(scores[held], is_positive[held], counted[held])
        whole = next(folds).set_params(positive=self.model().positive)
        for name in self.learned_attributes():
            delattr(self, name)
        self.__dict__.update(described)
        self.projector_, self.threshold_, self.error_rates_ = whole, threshold, rates
        self.classes_ = whole.classes_
        return self

    def check_parameters(self) -> None:
        """Refuse parameters that no data could make right."""
        parameters.check_class_specific(self.projector, ClassSpecificProjector)
        asked = self.positive, self.projector.positive
        for positive in asked:
            parameters.check_one_label(positive)
        if None not in asked and asked[0] != asked[1]:
            raise ValueError(
                f"positive is {parameters.plain(asked[0])!r}, but that of the projector is "
                f"{parameters.plain(asked[1])!r}; expected one class to verify; set only one of "
                "them"
            )
        rate = self.false_accept_rate
        if rate != "equal" and not (isinstance(rate, Real) and 0 <= float(rate) <= 1):
            raise ValueError(
                f"false_accept_rate is {rate!r}; expected a number from 0 to 1, or 'equal'"
            )

    def model(self) -> Any:
        """The projector for the class to verify, not fitted."""
        model = clone(self.projector)
        return model if self.positive is None else model.set_params(positive=self.positive)

    def _splits(self, is_positive: Array, counts: Array, X: Any, y: Array) -> list[Split]:
        """Folds in which every training part has positive and other samples that count."""
        if not isinstance(self.cv, Integral):
            return positions(check_cv(self.cv).split(X, y), len(y))
        n_folds = parameters.check_number("cv", self.cv, 2, integer=True)
        own, others = np.flatnonzero(is_positive & counts), np.flatnonzero(~is_positive & counts)
        if len(others) < 2:
            raise ValueError(
                "there is 1 sample of other classes only, so none can be held out to choose the "
                "threshold; pass more"
            )
        if len(own) > 1:
            used = np.concatenate([own, others])
            folds = StratifiedKFold(
                min(n_folds, len(own), len(others)), shuffle=True, random_state=0
            )
            return [(used[a], used[b]) for a, b in folds.split(used, is_positive[used])]
        folds = KFold(min(n_folds, len(others)), shuffle=True, random_state=0)
        return [(np.append(own, others[a]), others[b]) for a, b in folds.split(others)]

    def _threshold(
        self, scores: Array, is_positive: Array, weight: Array
    ) -> tuple[float, dict[str, float]]:
        """The lowest threshold that keeps the wanted rate on held-out scores.

        Every held-out score is a candidate, and one just above them all, which accepts nothing.
        """
        others, own = weight * ~is_positive, weight * is_positive
        equal = self.false_accept_rate == "equal"
        if not others.any() or (equal and not own.any()):
            missing = "the positive class" if others.any() else "other classes"
            raise ValueError(
                f"no sample of {missing} was held out, so there is nothing to choose the threshold "
                f"on; pass more samples or other folds (cv), or a number as false_accept_rate"
            )
        candidates = np.unique(scores)
        candidates = np.append(candidates, np.nextafter(candidates[-1], np.inf))
        order = np.argsort(scores)
        below = np.searchsorted(scores[order], candidates)  # samples that each would reject
        rejected, rejected_own = (np.append(0.0, np.cumsum(w[order]))[below] for w in (others, own))
        false_accepts = 1 - rejected / others.sum()
        if equal:
            best = int(np.argmin(np.maximum(false_accepts, rejected_own / own.sum())))
        else:
            kept = false_accepts <= self.false_accept_rate + RATE_ROUNDING
            best = int(np.argmax(kept))
        rates = {"false_accepts": float(max(0.0, false_accepts[best]))}
        if own.any():
            rates["false_rejects"] = float(rejected_own[best] / own.sum())
        return float(candidates[best]), rates

    @property
    def members_(self) -> list[ClassSpecificProjector]:
        """The fitted projectors of the model: one."""
        check_is_fitted(self, "projector_")
        return [self.projector_]

    def decision_function(self, X: Any) -> Array:
        """Minus the distance to the positive mean in the subspace.

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
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
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
            The samples.

        Returns
        -------
        ndarray of shape (n,)
            Positive numbers.
        """
        distance = -np.asarray(self.decision_function(X))
        infinite = np.full(distance.shape, np.inf)
        return np.asarray(np.divide(1.0, distance, out=infinite, where=distance > 0))

    def predict(self, X: Any) -> Array:
        """Whether each sample is accepted.

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
            The samples.

        Returns
        -------
        ndarray of bool of shape (n,)
            True where the score reaches `threshold_`.
        """
        accepted: Array = self.decision_function(X) >= self.threshold_
        return accepted

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Average precision of `decision_function` at finding the positive class.

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
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
