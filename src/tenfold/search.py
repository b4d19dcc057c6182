"""Rank search: every candidate of every fold from one reading of the data, solved as stacks."""

from __future__ import annotations

import time
from itertools import product
from typing import Any, Self

import numpy as np
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from tenfold import validation as check
from tenfold.algebra import Array
from tenfold.base import TensorProjector
from tenfold.folds import Split, fold_statistics
from tenfold.learning import Learner
from tenfold.progress import progress
from tenfold.stacks import joint_workload, learner_of, ready_for, solved_together
from tenfold.verifier import ClassSpecificVerifier


def _best_has(name: str) -> Any:
    def present(self: RankSearchCV) -> bool:
        return hasattr(getattr(self, "best_estimator_", self.estimator), name)

    return available_if(present)


class RankSearchCV(MetaEstimatorMixin, BaseEstimator):
    """Cross-validated search over ranks, ridges and shrinkages.

    It gives what `GridSearchCV` gives over the same candidates and folds. But the data are read
    once: the statistics of each training part are sums of parts that folds share, and all
    candidates of all classes are solved as one stack per fold.

    Parameters
    ----------
    estimator : projector, ClassSpecificClassifier or ClassSpecificVerifier
        What is searched for; all its other parameters stay as they are.
    ranks : list
        Candidates for `ranks`: tuples, ints, mappings of labels to ranks, or None.
    ridge : list or None, default=None
        Candidates for `ridge`; None keeps the estimator's.
    shrinkage : list or None, default=None
        Candidates for `shrinkage`; None keeps the estimator's.
    cv : int, splitter, iterable of splits or None, default=None
        Folds; an int or None (5) means stratified folds when there are labels.
    scoring : str, callable or None, default=None
        A scikit-learn scorer; None means the estimator's own `score`.
    refit : bool, default=True
        Fit the best candidate on all samples, from the statistics that are there already.
    verbose : bool or None, default=None
        Show a progress bar; None means when standard error is a terminal.

    Attributes
    ----------
    best_estimator_ : estimator
        The best candidate, fitted on all samples; only with `refit`.
    best_params_ : dict
        Its parameters.
    best_score_ : float
        Its mean score over the folds.
    best_index_ : int
        Its position in `cv_results_`.
    cv_results_ : dict of ndarrays
        As in `GridSearchCV`. Fit times are shares of the time of the stack.
    n_splits_ : int
        Number of folds.

    Notes
    -----
    A class without a sample in the training part of a fold is unknown there, as it would be in
    `GridSearchCV`. A verifier with a `scoring`, and a bank with a second `classifier`, need inner
    folds of their own; their candidates are fitted one by one.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tenfold import MCSDA, RankSearchCV
    >>> X, y = load_digits().images, load_digits().target
    >>> model = MCSDA(positive=3, tol=0.1)
    >>> search = RankSearchCV(model, ranks=[(r, r) for r in range(2, 8)], cv=3).fit(X, y)
    >>> search.best_params_
    {'ranks': (6, 6)}
    """

    def __init__(
        self,
        estimator: Any,
        ranks: Any,
        *,
        ridge: Any = None,
        shrinkage: Any = None,
        cv: Any = None,
        scoring: Any = None,
        refit: bool = True,
        verbose: bool | None = None,
    ):
        self.estimator = estimator
        self.ranks = ranks
        self.ridge = ridge
        self.shrinkage = shrinkage
        self.cv = cv
        self.scoring = scoring
        self.refit = refit
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> Self:
        """Score every candidate on every fold, and fit the best on all samples.

        Parameters
        ----------
        X : array-like of shape (n, I_1, ..., I_K)
            The samples.
        y : array-like of shape (n,)
            Class labels.
        sample_weight : array-like of shape (n,), default=None
            Weights for fitting; scores are not weighted.
        groups : array-like of shape (n,), default=None
            Groups for splitters that keep groups together.

        Returns
        -------
        self
            The search with its results.
        """
        scorer = check_scoring(self.estimator, scoring=self.scoring)
        candidates = self._candidates()
        variants = [clone(self.estimator).set_params(**params) for params in candidates]
        fresh, X, checked, weight = learner_of(variants[0])._prepared(X, y, sample_weight)
        labels, y, weight = check.in_memory(y, checked, weight)
        labels = labels if y is None else y
        splits = self._splits(X, labels, groups)
        learners = [ready_for(learner_of(variant), fresh, fresh.classes_) for variant in variants]
        parts = fold_statistics(fresh, X, y, weight, splits, joint_workload(learners))
        shape = (len(candidates), len(splits))
        scores, fit_times, score_times = np.empty(shape), np.empty(shape), np.empty(shape)
        with progress("rank search", len(splits), self.verbose) as bar:
            for f, (train, test) in enumerate(splits):
                start = time.perf_counter()
                try:
                    if self._stacks():
                        fitted = solved_together(learners, next(parts))
                    else:
                        batch = (X[train], y[train], None if weight is None else weight[train])
                        fitted = [clone(variant).fit(*batch) for variant in variants]
                    fit_times[:, f] = (time.perf_counter() - start) / len(variants)
                    truth = () if labels is None else (labels[test],)
                    scores[:, f], score_times[:, f] = _scored(scorer, fitted, X[test], *truth)
                except ValueError as error:
                    raise ValueError(
                        f"fold {f} cannot be scored: {error}; choose folds (cv) in which every "
                        "part has the classes that it needs"
                    ) from error
                bar.advance()
        self._keep_results(candidates, scores, fit_times, score_times)
        if self.refit:
            self.best_estimator_ = variants[self.best_index_]
            if self._stacks() and isinstance(self.best_estimator_, Learner):
                whole = list(parts)[-1]
                self.best_estimator_ = ready_for(self.best_estimator_, fresh, fresh.classes_)
                self.best_estimator_._learn(whole)
                self.best_estimator_._last_fit = (X, y, weight)
            else:
                self.best_estimator_.fit(X, labels, weight)
            self.n_features_in_ = fresh.n_features_in_
        return self

    def _stacks(self) -> bool:
        """Whether a fold's candidates can be solved together, without inner folds of their own."""
        if isinstance(self.estimator, ClassSpecificVerifier):
            return self.scoring is None
        return getattr(self.estimator, "classifier", None) is None

    def _candidates(self) -> list[dict[str, Any]]:
        """All combinations, under the names that `set_params` takes."""
        prefix = "" if isinstance(self.estimator, TensorProjector) else "projector__"
        grid = {"ranks": self.ranks, "ridge": self.ridge, "shrinkage": self.shrinkage}
        asked = {prefix + name: list(values) for name, values in grid.items() if values is not None}
        known = self.estimator.get_params()
        for name, values in asked.items():
            if name not in known:
                raise ValueError(
                    f"{type(self.estimator).__name__} has no parameter {name!r} to search over; "
                    f"leave it out"
                )
            if not values:
                raise ValueError(f"there are no candidates for {name!r}; pass at least one")
        return [dict(zip(asked, choice, strict=True)) for choice in product(*asked.values())]

    def _splits(self, X: Array, y: Array | None, groups: Any) -> list[Split]:
        cv = check_cv(5 if self.cv is None else self.cv, y, classifier=y is not None)
        return [(np.asarray(train), np.asarray(test)) for train, test in cv.split(X, y, groups)]

    def _keep_results(
        self, candidates: list[dict[str, Any]], scores: Array, fits: Array, scorings: Array
    ) -> None:
        """Results in the form of `GridSearchCV`."""
        results: dict[str, Any] = {
            "mean_fit_time": fits.mean(axis=1),
            "std_fit_time": fits.std(axis=1),
            "mean_score_time": scorings.mean(axis=1),
            "std_score_time": scorings.std(axis=1),
            "params": candidates,
        }
        for name in candidates[0]:
            column = np.empty(len(candidates), dtype=object)
            column[:] = [params[name] for params in candidates]
            results[f"param_{name}"] = np.ma.MaskedArray(column, mask=False)
        results |= {f"split{f}_test_score": scores[:, f] for f in range(scores.shape[1])}
        results["mean_test_score"] = scores.mean(axis=1)
        results["std_test_score"] = scores.std(axis=1)
        order = rankdata(-results["mean_test_score"], method="min")
        results["rank_test_score"] = order.astype(np.int32)
        self.cv_results_, self.n_splits_ = results, scores.shape[1]
        self.best_index_ = int(order.argmin())
        self.best_params_ = candidates[self.best_index_]
        self.best_score_ = float(results["mean_test_score"][self.best_index_])

    # -- the best estimator ----------------------------------------------------------------------

    @property
    def classes_(self) -> Array:
        """The labels of the best estimator."""
        check_is_fitted(self, "best_estimator_")
        return np.asarray(self.best_estimator_.classes_)

    @_best_has("predict")
    def predict(self, X: Any) -> Array:
        """`predict` of the best estimator."""
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.predict(X)

    @_best_has("decision_function")
    def decision_function(self, X: Any) -> Array:
        """`decision_function` of the best estimator."""
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.decision_function(X)

    @_best_has("transform")
    def transform(self, X: Any) -> Array:
        """`transform` of the best estimator."""
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.transform(X)

    def __sklearn_tags__(self) -> Any:
        tags, own = super().__sklearn_tags__(), get_tags(self.estimator)
        for name in ("estimator_type", "classifier_tags", "transformer_tags", "target_tags"):
            setattr(tags, name, getattr(own, name))
        tags.input_tags.three_d_array = True
        return tags

    def score(self, X: Any, y: Any = None) -> float:
        """The score of the best estimator, as it was searched for."""
        check_is_fitted(self, "best_estimator_")
        scorer = check_scoring(self.best_estimator_, scoring=self.scoring)
        return float(scorer(self.best_estimator_, X, y))


def _scored(scorer: Any, fitted: list[Any], *batch: Any) -> tuple[list[float], list[float]]:
    """The score of every candidate, and the time it took."""
    scores, times = [], []
    for estimator in fitted:
        start = time.perf_counter()
        scores.append(scorer(estimator, *batch))
        times.append(time.perf_counter() - start)
    return scores, times
