"""Rank search: every candidate of every fold from one reading of the data, solved as stacks."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from inspect import signature
from itertools import product
from math import prod
from numbers import Real
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
from scipy.spatial.distance import cdist
from scipy.stats import rankdata
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    MetaEstimatorMixin,
    clone,
    is_classifier,
)
from sklearn.metrics import check_scoring
from sklearn.model_selection import GridSearchCV, check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils import Tags, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from tenfold.classifiers.folds import positions
from tenfold.classifiers.members import answer_of
from tenfold.classifiers.verifier import ClassSpecificVerifier
from tenfold.linalg.algebra import Array
from tenfold.linalg.constants import STACK_NUMBERS
from tenfold.methods.base import Learner
from tenfold.optimization.alternation import solve
from tenfold.optimization.criteria import Problem
from tenfold.processes import over_processes
from tenfold.progress import progress
from tenfold.statistics.class_statistics import ClassStatistics
from tenfold.statistics.cost import Parts, PartStatistics, Split
from tenfold.statistics.scatters import codes_of
from tenfold.statistics.stores import ArraySamples, Source
from tenfold.threads import threads_for
from tenfold.validation.containers import in_numpy, rows_of
from tenfold.validation.labels import (
    check_classes,
    check_groups,
    check_labels,
    present_labels,
)
from tenfold.validation.parameter_types import ClassRanks, Folds, Ridge, Shrinkage
from tenfold.validation.parameters import memory_budget
from tenfold.validation.samples import InputInfo, check_first_batch

N_CANDIDATES = 10  # of a ladder
Ranks = tuple[int, ...]
Choice = dict[str, object]  # parameters under the names that `set_params` takes
Results = dict[str, Any]  # `cv_results_`: arrays, and the list of candidates under "params"
Scorer = Callable[..., float]  # takes an estimator, samples and labels
T = TypeVar("T")
Candidates = Sequence[T] | Array | None  # of one parameter
NEAREST_MEAN = "nearest_mean"


def _best_has(name: str) -> Callable[[Callable[..., object]], Any]:
    def present(self: RankSearchCV) -> bool:
        return hasattr(getattr(self, "best_estimator_", self.estimator), name)

    decorate: Callable[[Callable[..., object]], Any] = available_if(present)
    return decorate


def _of_best(name: str) -> Callable[..., Any]:
    """A method of the best estimator, where that has it."""

    def method(self: RankSearchCV, X: object, **params: object) -> object:
        check_is_fitted(self, "best_estimator_")
        return getattr(self.best_estimator_, name)(X, **params)

    method.__name__ = name
    method.__doc__ = f"`{name}` of the best estimator."
    method.__qualname__ = f"RankSearchCV.{name}"
    found: Callable[..., Any] = _best_has(name)(method)
    return found


@dataclass(eq=False, repr=False)
class RankSearchCV(MetaEstimatorMixin, BaseEstimator):
    """Cross-validated search over ranks, ridges and shrinkages.

    It gives what `GridSearchCV` gives over the same candidates and folds. But the data are read
    once: each fold's training statistics are sums of statistics of pieces that the folds share,
    and all candidates of all classes are solved as one stack per fold.

    Parameters
    ----------
    estimator : projector, ClassSpecificClassifier or ClassSpecificVerifier
        What is searched for; all its other parameters stay as they are. `GridSearchCV` of
        scikit-learn searches pipelines and other estimators.
    ranks : list or None, default=None
        Candidates for `ranks`: tuples, ints, mappings of labels to ranks, or None. May also be a
        range, an array or a tuple; but a tuple of numbers looks like one candidate. None tries up
        to ten candidates that keep the same share of every mode, from one direction to half of a
        mode; with candidates for `ridge` or `shrinkage` it keeps the estimator's ranks.
    ridge : list or None, default=None
        Candidates for `ridge`; None keeps the estimator's.
    shrinkage : list or None, default=None
        Candidates for `shrinkage`; None keeps the estimator's.
    cv : int, splitter, iterable of splits or None, default=None
        Folds, as in `GridSearchCV`: an int or None (5) means stratified folds for a classifier
        and plain ones for all else. Samples that are sorted by class need a splitter then, such
        as ``StratifiedKFold(5)``.
    scoring : str, callable or None, default=None
        A scikit-learn scorer; None means the estimator's own `score`. "nearest_mean" is the
        accuracy of the nearest class mean of the projected training samples, for projectors of
        all classes, which have no `score`.
    refit : bool or callable, default=True
        Fit the best candidate on all samples, from the statistics that are there already. A
        callable chooses it: it takes `cv_results_` and returns a position.
    n_jobs : int or None, default=None
        How many processes share the folds where candidates are fitted one by one (see the notes);
        -1 means one per core, None none. All others are solved as stacks, on as many threads as
        BLAS may use.
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
        Its position in `cv_results_`: of equals that with the most dimensions, and of these the
        first.
    cv_results_ : dict of ndarrays
        As in `GridSearchCV`. Fit times are shares of the time of the stack.
    n_splits_ : int
        Number of folds.
    refit_time_ : float
        Seconds for the best candidate; only with `refit`.

    Notes
    -----
    A class without a sample in the training part of a fold is unknown there, as it would be in
    `GridSearchCV`. A fold that cannot be scored is an error, never a NaN. Candidates that do not
    converge in a fold raise no warning; the best one does when it is fitted.

    A verifier with a `scoring`, and a bank with a second `classifier`, need inner folds of their
    own; their candidates are fitted one by one. The statistics of a training part are taken from
    its own samples where that costs less than adding up what folds share, as for few samples or
    hundreds of random splits.

    Reading the samples once gains most where that is the main cost: on digits it is three times as
    fast as `GridSearchCV`. Where solving is the main cost, as for a bank of 400 faces, it gains
    little (1.3 times), and `GridSearchCV` is as good.

    Few positives leave many candidates with the same, often perfect, average precision. Of these
    the largest does best on new samples: with 5 positives, 96.0 instead of the 92.0 of the smallest
    on ORL faces, and 84.9 instead of 80.8 on digits. Without ties the choice is that of
    `GridSearchCV`.

    Where several ranks do about as well, the mean of the normalised distances of one bank for each
    of them does better than the best: on ORL faces, half of them for training, a mean average
    precision of 96.1 instead of 95.6.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tenfold import MCSDA, RankSearchCV
    >>> X, y = load_digits().images, load_digits().target
    >>> model = MCSDA(positive=3)
    >>> search = RankSearchCV(model, ranks=[(r, r) for r in range(2, 8)], cv=3).fit(X, y)
    >>> search.best_params_
    {'ranks': (5, 5)}
    """

    estimator: BaseEstimator
    ranks: Candidates[ClassRanks] = None
    _: KW_ONLY
    ridge: Candidates[Ridge] = None
    shrinkage: Candidates[Shrinkage] = None
    cv: Folds | None = None
    scoring: str | Scorer | None = None
    refit: bool | Callable[[Results], int] = True
    n_jobs: int | None = None
    verbose: bool | None = None

    def fit(
        self, X: object, y: object = None, sample_weight: object = None, groups: object = None
    ) -> Self:
        """Score every candidate on every fold, and fit the best on all samples.

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
            The samples.
        y : array-like of shape (n,)
            Class labels; of a method that learns without labels, whatever the scorer takes.
        sample_weight : array-like of shape (n,), default=None
            Non-negative weights, for fitting and for scorers that take them.
        groups : array-like of shape (n,), default=None
            Groups for splitters that keep groups together.

        Returns
        -------
        self
            The search with its results.
        """
        learner = learner_of(self.estimator)  # or an error that says what can be searched
        scorer = self._scorer()
        learner._check_parameters()
        info, checked, labels, weight = check_first_batch(learner, X, y, sample_weight)
        if isinstance(checked, ArraySamples):
            checked = checked.in_memory()
        if labels is None and y is not None:  # for the splitter and the scorer alone
            labels = check_labels(learner, checked, y, discrete=False)
        if groups is not None:
            names, group_of_each = check_groups("groups", groups, len(checked))
            groups = names[group_of_each]
        weighs = weight is not None and takes_weight(scorer, self.estimator)
        samples = SearchedSamples(X, checked, labels, weight, weighs, groups)
        cv = check_cv(self.cv, labels, classifier=is_classifier(self.estimator))
        n = len(checked)
        splits = positions(cv.split(np.arange(n), labels, groups), n)
        candidates = self._candidates(learner, checked.shape[1:], fewest_of(splits))
        variants = [clone(self.estimator).set_params(**candidate) for candidate in candidates]
        for variant in variants:
            variant._check_parameters()
        if isinstance(self.estimator, ClassSpecificVerifier):
            classes = present_labels(labels, weight)
            self.estimator.positive_among(classes)  # or an error that says how to name it
        trials: list[Trial] = []
        whole: Part | None = None
        with progress("rank search", len(splits), self.verbose) as advance:
            if needs_inner_folds(self.estimator, self.scoring):
                tasks = []
                for number, (train, test) in enumerate(splits):
                    fold = CandidatesOfFold(number, train, test, variants)
                    tasks.append((fold, scorer, samples))
                tried = {}
                for number, trial in over_processes(
                    CandidatesOfFold.tried, tasks, np.inf, self.n_jobs
                ):
                    tried[number] = trial
                    advance()
                trials = [tried[number] for number in range(len(splits))]
            else:
                learners = [learner_of(variant) for variant in variants]
                parts = SharedParts(learners, samples, splits, info)
                for number, (train, test) in enumerate(splits):
                    part = parts.of_fold(number)
                    fold = CandidatesOfFold(number, train, test, learners, part)
                    trials.append(fold.tried(scorer, samples))
                    advance()
                if self.refit:
                    whole = parts.whole()
        results = search_results(candidates, trials)
        learned = {"cv_results_": results, "n_splits_": len(splits)}
        learned |= self._best(variants, results, samples, whole)
        own = {name: value for name, value in vars(self).items() if not name.endswith("_")}
        self.__dict__ = {**own, **learned}  # at once: an interrupt leaves the old search or the new
        return self

    # -- what is asked for -----------------------------------------------------------------------

    def _scorer(self) -> Scorer:
        if not (isinstance(self.refit, bool) or callable(self.refit)):
            raise ValueError(
                f"refit is {self.refit!r}; expected True, False or a callable that chooses from "
                "cv_results_: there is one score, which scoring names"
            )
        if not (self.scoring is None or isinstance(self.scoring, str) or callable(self.scoring)):
            raise ValueError(
                f"scoring is {self.scoring!r}; expected one scorer, by name or as a callable, "
                "because one candidate is to be the best"
            )
        if self.scoring == NEAREST_MEAN:
            return NearestMeanScorer()
        scorer: Scorer = check_scoring(self.estimator, scoring=self.scoring)
        return scorer

    def _candidates(self, learner: Learner, shape: tuple[int, ...], n_samples: int) -> list[Choice]:
        """All combinations, under the names that `set_params` takes."""
        known = self.estimator.get_params(deep=False)
        prefix = "" if "ranks" in known else "projector__"
        if prefix and known["projector"] is None:
            kind = type(self.estimator).__name__
            raise ValueError(
                f"{self.estimator!r} has no parameter 'projector__ranks', because it has no "
                f"projector; name one, such as {kind}(MCSDA())"
            )
        grid = {"ranks": self.ranks, "ridge": self.ridge, "shrinkage": self.shrinkage}
        asked = {prefix + name: listed(name, v) for name, v in grid.items() if v is not None}
        if not asked:
            projector = known["projector"] if prefix else learner
            sizes = (prod(shape),) if projector._flattens else shape
            asked[f"{prefix}ranks"] = list(rank_ladder(sizes, n_samples))
        return [dict(zip(asked, choice, strict=True)) for choice in product(*asked.values())]

    # -- what is kept ----------------------------------------------------------------------------

    def _best(
        self,
        variants: list[BaseEstimator],
        results: Results,
        samples: SearchedSamples,
        whole: Part | None,
    ) -> dict[str, object]:
        """The best candidate, fitted on all samples, from their statistics where these are there.

        Of equals it is that with the most dimensions.
        """
        chosen = self.refit(results) if callable(self.refit) else largest_of_best(results)
        if not 0 <= int(chosen) < len(variants):
            raise ValueError(
                f"refit chose candidate {chosen}, but there are {len(variants)}; it must return "
                "a position in cv_results_['params']"
            )
        found: dict[str, object] = {
            "best_index_": int(chosen),
            "best_params_": results["params"][chosen],
            "best_score_": float(results["mean_test_score"][chosen]),
        }
        if not self.refit:
            return found
        start = time.perf_counter()
        best = variants[chosen]
        if whole is not None and isinstance(best, Learner):
            shape = whole.info["sample_shape_"]
            best._set_fitted(whole.info, best._learn(whole.statistics, shape))
        else:
            best.fit(samples.given, samples.labels, **samples.beside(best))
        found["best_estimator_"] = best
        found["refit_time_"] = time.perf_counter() - start
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(best, name):
                found[name] = getattr(best, name)
        return found

    # -- the best estimator ----------------------------------------------------------------------

    @property
    def classes_(self) -> Array:
        """The labels of the best estimator."""
        check_is_fitted(self, "best_estimator_")
        return np.asarray(self.best_estimator_.classes_)

    predict = _of_best("predict")
    predict_proba = _of_best("predict_proba")
    predict_log_proba = _of_best("predict_log_proba")
    decision_function = _of_best("decision_function")
    transform = _of_best("transform")

    @_best_has("transform")
    def fit_transform(self, X: object, y: object = None, **fit_parameters: object) -> object:
        """Search, then `transform` the same samples."""
        return self.fit(X, y, **fit_parameters).transform(X)

    def score(self, X: object, y: object = None, **params: object) -> float:
        """The score of the best estimator, as it was searched for."""
        check_is_fitted(self, "best_estimator_")
        return float(self._scorer()(self.best_estimator_, X, in_numpy(y, "y"), **params))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        own = get_tags(self.estimator)
        for name in ("estimator_type", "classifier_tags", "transformer_tags", "target_tags"):
            setattr(tags, name, getattr(own, name))
        tags.input_tags.three_d_array = True
        return tags


class NearestMean(ClassifierMixin, BaseEstimator):
    """The class whose mean is nearest: what decides for methods that only project."""

    def fit(self, X: Array, y: Array) -> Self:
        """Keep the mean (C, d) of every class of projected samples (n, ...)."""
        self.classes_ = np.unique(y)
        self.means_ = np.stack([X[y == c].mean(axis=0).ravel() for c in self.classes_])
        return self

    def decision_function(self, X: Array) -> Array:
        """Minus the distances (n, C) from the means."""
        return -cdist(X.reshape(len(X), -1), self.means_)

    def predict(self, X: Array) -> Array:
        """The label (n,) of the nearest mean."""
        return np.asarray(self.classes_[self.decision_function(X).argmax(axis=1)])


class NearestMeanScorer:
    """Accuracy of the nearest class mean, which is learned from projected training samples."""

    def __call__(self, estimator: object, X: object, y: object) -> float:
        """Refuse to score without training samples."""
        raise ValueError(
            f"scoring is {NEAREST_MEAN!r}, which needs training samples; it serves to search, and "
            "not to score later; put a classifier after transform"
        )

    def of_fold(
        self,
        estimator: BaseEstimator,
        X_train: object,
        y_train: Array,
        X: object,
        y: Array,
    ) -> float:
        """The accuracy on test samples."""
        nearest = NearestMean().fit(np.asarray(estimator.transform(X_train)), y_train)
        return float(np.mean(nearest.predict(np.asarray(estimator.transform(X))) == y))


def search_ranks(
    estimator: BaseEstimator,
    X: Array,
    y: Array,
    folds: Folds,
    groups: Array | None = None,
    *,
    verbose: bool | None = None,
) -> tuple[BaseEstimator, dict[Ranks, float]]:
    """Search the ranks of an estimator on a ladder of candidates.

    A bank is measured by its accuracy, a model of one class by its average precision. Other
    projectors give no scores, so they are measured by the accuracy of the nearest class mean, also
    where a classifier comes after them in a pipeline.

    Parameters
    ----------
    estimator : projector, bank or verifier, or a pipeline with one
        Not fitted. Steps before it learn from the training samples of every fold.
    X, y : arrays of shapes (n, I_1, ..., I_K) and (n,)
        The samples.
    folds : splitter or iterable of splits
        The folds.
    groups : ndarray of shape (n,) or None, default=None
        Groups for the splitter, and for the last fit if that takes groups.
    verbose : bool or None, default=None
        Show a progress bar; None means on a terminal.

    Returns
    -------
    estimator
        With the best ranks, fitted on all samples.
    dict of ranks to float
        The mean score of every candidate over the folds.
    """
    splits = positions(check_cv(folds, y).split(X, y, groups), len(X))
    steps = list(getattr(estimator, "steps", [("model", estimator)]))
    place = step_with_ranks(estimator, steps)
    before = steps[:place]
    name, searched = steps[place]
    beside = sum(getattr(step, "last", None) or 0 for _, step in before)  # covariates in rows
    sizes = (X.shape[1] - beside,) if beside else tuple(X.shape[1:])
    only_projects = answer_of(searched) == "projection"
    inside = searched if hasattr(searched, "ranks") else searched.projector
    sizes = (prod(sizes),) if inside._flattens else sizes
    candidates = rank_ladder(sizes, fewest_of(splits))
    parameter = "ranks" if inside is searched else "projector__ranks"
    if before:
        last = [("mean", NearestMean())] if only_projects else []
        judged = Pipeline([*before, (name, searched), *last])
        grid = {f"{name}__{parameter}": candidates}
        found = GridSearchCV(judged, grid, cv=splits, refit=largest_of_best)
    else:
        scoring = NEAREST_MEAN if only_projects else None
        found = RankSearchCV(searched, candidates, cv=splits, scoring=scoring, verbose=verbose)
    found.fit(X, y, groups=groups)
    scores = found.cv_results_["mean_test_score"].tolist()
    best = found.best_estimator_
    if len(steps) > 1:
        best = clone(estimator).set_params(
            **{f"{name}__{parameter}": candidates[found.best_index_]}
        )
        best.fit(X, y, **groups_for(best, groups))
    return best, dict(zip(candidates, scores, strict=True))


def groups_for(estimator: BaseEstimator, groups: Array | None) -> dict[str, Array]:
    """The groups, if there are several, under the name that `fit` takes them by; nothing if none.

    A pipeline takes them for its last step.
    """
    name, last = getattr(estimator, "steps", [("", estimator)])[-1]
    if groups is None or len(np.unique(groups)) < 2 or not has_fit_parameter(last, "groups"):
        return {}
    return {f"{name}__groups" if name else "groups": groups}


def largest_of_best(results: Results) -> int:
    """The position of the best candidate; of equals that with the most dimensions.

    A mapping of labels to ranks has as many as all its classes together.
    """
    best = -1
    most = -1.0
    for position in np.flatnonzero(results["rank_test_score"] == 1).tolist():
        candidate = results["params"][position]
        ranks = next((v for name, v in candidate.items() if name.endswith("ranks")), None)
        of_classes = ranks.values() if isinstance(ranks, Mapping) else [ranks]
        dimensions = sum(float(np.prod(own)) for own in of_classes if own is not None)
        if dimensions > most:
            best = position
            most = dimensions
    return best


def fewest_of(splits: Sequence[Split]) -> int:
    """How many samples the smallest training part has."""
    return min(len(train) for train, _ in splits)


def rank_ladder(shape: Ranks, n_samples: int) -> list[Ranks]:
    """Candidates that keep the same share of every mode, in growing steps.

    They end at half of a large mode: beyond, there is little left to reduce. A mode of up to 8
    entries is tried to its end, and none has more directions than there are training samples.

    Examples
    --------
    >>> from tenfold.selection.rank_search import rank_ladder
    >>> rank_ladder((40, 30), 400)
    [(1, 1), (2, 1), (3, 2), (4, 3), (5, 4), (7, 6), (10, 8), (14, 11), (20, 15)]
    """
    most = [min(max(min(size, 8), size // 2), n_samples) for size in shape]
    steps = np.geomspace(1, max(most), N_CANDIDATES) / max(most)
    ranks = [tuple(max(1, round(share * size)) for size in most) for share in steps.tolist()]
    return sorted(set(ranks))


# ── Candidates: solved as one stack, tried on folds, and reported ───────────────────────────────


@dataclass(frozen=True, eq=False)
class SearchedSamples:
    """What a search learns from and scores on.

    Parameters
    ----------
    given : anything
        The samples as the user passed them.
    checked : ndarray or Source of n rows
        The same samples, ready for learning if all candidates learn from one reading.
    labels : ndarray of shape (n,) or None
        The labels, also when the estimator does not look at them.
    weight : ndarray of shape (n,) or None
        Sample weights.
    weighs : bool
        Whether the scorer gets the weights, too.
    groups : ndarray of shape (n,) or None
        What is held out together, for estimators that hold samples out.
    """

    given: object
    checked: Array | Source
    labels: Array | None
    weight: Array | None
    weighs: bool
    groups: Array | None = None

    def some(self, rows: Array) -> SearchedSamples:
        """A part of them, to learn from."""
        X, labels = self.part(rows)
        checked: Any = rows_of(self.checked, rows)
        weight = None if self.weight is None else self.weight[rows]
        groups = None if self.groups is None else self.groups[rows]
        return SearchedSamples(X, checked, labels, weight, self.weighs, groups)

    def beside(self, estimator: BaseEstimator) -> dict[str, Array]:
        """What `fit` of this estimator gets beside samples and labels."""
        more = {}
        if self.weight is not None:
            more["sample_weight"] = self.weight
        return more | groups_for(estimator, self.groups)

    def part(self, rows: Array) -> tuple[object, Array | None]:
        """Some of the samples and their labels; estimators look at the names of a table."""
        X = rows_of(self.given if hasattr(self.given, "iloc") else self.checked, rows)
        return X, None if self.labels is None else self.labels[rows]


class Trial(NamedTuple):
    """All R candidates on one fold."""

    scores: Array  # (R,), finite
    fit_times: Array  # (R,) seconds
    score_times: Array  # (R,) seconds


def search_results(candidates: list[Choice], trials: list[Trial]) -> Results:
    """The `cv_results_` of scikit-learn's searches, for R candidates on F folds."""
    scores = np.stack([trial.scores for trial in trials], axis=1)  # (R, F), as the times
    fit_times = np.stack([trial.fit_times for trial in trials], axis=1)
    score_times = np.stack([trial.score_times for trial in trials], axis=1)
    mean = scores.mean(axis=1)
    results: Results = {
        "mean_fit_time": fit_times.mean(axis=1),
        "std_fit_time": fit_times.std(axis=1),
        "mean_score_time": score_times.mean(axis=1),
        "std_score_time": score_times.std(axis=1),
        "params": candidates,
    }
    for name in candidates[0]:
        column = np.empty(len(candidates), dtype=object)
        column[:] = [params[name] for params in candidates]
        results[f"param_{name}"] = np.ma.MaskedArray(column, mask=False)
    results |= {f"split{f}_test_score": column for f, column in enumerate(scores.T)}
    results["mean_test_score"] = mean
    results["std_test_score"] = scores.std(axis=1)
    results["rank_test_score"] = rankdata(-mean, method="min").astype(np.int32)
    return results


def listed(name: str, values: object) -> list[object]:
    """The candidates for a parameter, unless what came looks like a single one.

    Parameters
    ----------
    name : {"ranks", "ridge", "shrinkage"}
        The parameter.
    values : list, tuple, range or ndarray
        What a user passed as candidates.

    Returns
    -------
    list
        The candidates, at least one.
    """
    values = values.tolist() if isinstance(values, np.ndarray) else values
    alone = isinstance(values, tuple) and _is_one(name, values)
    if alone or not isinstance(values, list | range | tuple):
        advice = f"for this one alone pass [{values!r}]"
        if name == "ranks" and isinstance(values, str):  # no method has ranks that are a word
            advice = "such as [2, 4, (4, 8)]; None among them stands for the ranks a method chooses"
        raise ValueError(f"{name} is {values!r}; expected a list of candidates; {advice}")
    if not len(values):
        raise ValueError(f"there are no candidates for {name!r}; pass at least one")
    return list(values)


def _is_one(name: str, values: tuple[object, ...]) -> bool:
    """Whether a tuple is a candidate itself: a rank per mode, or a ridge that is absolute."""
    if name == "ranks":
        return len(values) > 0 and all(isinstance(value, Real) for value in values)
    return values[:1] == ("absolute",)


def step_with_ranks(estimator: object, steps: list[tuple[str, BaseEstimator]]) -> int:
    """The place of the step whose ranks are searched: the last that has some."""
    for place in reversed(range(len(steps))):
        step = steps[place][1]
        known = step.get_params() if hasattr(step, "get_params") else {}
        if "ranks" in known or known.get("projector") is not None:
            return place
    raise ValueError(
        f"no step of {estimator!r} has ranks to search; expected one such as MCSDA() or MPCA()"
    )


def learner_of(estimator: object) -> Learner:
    """What is solved: the estimator itself, or the projector of what decides by one."""
    if isinstance(estimator, ClassSpecificVerifier):
        estimator._check_parameters()
        model: Learner = estimator.model()
        return model
    if not isinstance(estimator, Learner):
        raise ValueError(
            f"estimator is {estimator!r:.200}; expected a projector such as MCSDA(), a "
            "ClassSpecificClassifier or a ClassSpecificVerifier; GridSearchCV of scikit-learn "
            "searches pipelines and other estimators"
        )
    return estimator


def solved_together(
    learners: list[Learner], statistics: ClassStatistics, input_info: InputInfo
) -> Iterator[list[Learner]]:
    """Every candidate fitted on the same statistics: one list after another, of bounded size."""
    if learners[0]._needs_labels:
        check_classes(statistics.classes, learners[0])
    first_members = learners[0]._members(statistics.classes)
    recipe = first_members[0]._recipe()
    per_candidate = len(first_members) * max(statistics.shape) ** 2
    n_together = max(1, STACK_NUMBERS // per_candidate)
    for begin in range(0, len(learners), n_together):
        chosen = learners[begin : begin + n_together]
        problems = []
        for learner in chosen:
            members = learner._members(statistics.classes)
            problems.append(Problem.stacked([one._problem(statistics) for one in members]))
        stack = Problem.stacked(problems)
        with threads_for(stack.shape, len(stack) > 1, len(stack)) as threads:
            solution = solve(stack, recipe, threads)
        fitted = []
        first = 0
        for learner, problem in zip(chosen, problems, strict=True):
            models = np.arange(first, first + len(problem))
            own = learner._model(statistics, solution, models, input_info["sample_shape_"])
            fitted.append(clone(learner)._set_fitted(input_info, own))
            first += len(problem)
        yield fitted


def shared_statistics(
    learners: list[Learner], samples: SearchedSamples, splits: list[Split], input_info: InputInfo
) -> tuple[InputInfo, PartStatistics]:
    """What is known of the samples, and statistics of every training part, then of all samples.

    Statistics of a part are made when they are asked for; where parts share moments, the samples
    are read here, once.
    """
    first = learners[0]
    X, weight = samples.checked, samples.weight
    y = samples.labels if first._needs_labels else None
    classes = present_labels(y, weight)
    members = [learner._members(classes) for learner in learners]
    input_info, seen = members[0][0]._map_samples(input_info, X, weight)
    shape = seen.shape[1:]
    asked = [[one._asked_ranks(shape, classes)[0] for one in each] for each in members]
    ranks = np.array(asked).swapaxes(0, 1)  # (P, M, K): of every class, those of M candidates
    rounds = max(each[0]._recipe().expected_rounds(len(shape)) for each in members)
    rows = [train for train, _ in splits]
    rows.append(np.arange(len(seen)))
    parts = Parts.of_rows(rows, codes_of(seen, y, classes))
    found = PartStatistics.of(seen, y, weight, classes, parts, ranks, rounds, memory_budget())
    return input_info, found


class Part(NamedTuple):
    """Training samples that all candidates learn from together."""

    info: InputInfo  # what is known of them
    statistics: ClassStatistics


@dataclass(frozen=True, eq=False)
class SharedParts:
    """Training parts that all candidates learn from together; each is made when it is asked for.

    Parameters
    ----------
    learners : list of R projectors or banks
        The candidates, not fitted.
    samples : SearchedSamples
        All samples.
    splits : list of F splits
        Whose training parts these are.
    info : mapping
        What is known of all samples.
    """

    learners: list[Learner]
    samples: SearchedSamples
    splits: list[Split]
    info: InputInfo

    def of_fold(self, number: int) -> Part:
        """The training part of a split."""
        if learns_sums(self.learners[0]):
            info, parts = self.in_sums
            return Part(info, parts.part(number))
        train, _ = self.splits[number]
        return self._alone(train)

    def whole(self) -> Part:
        """All samples."""
        if learns_sums(self.learners[0]):
            info, parts = self.in_sums
            return Part(info, parts.part(len(self.splits)))
        return self._alone(np.arange(len(self.samples.checked)))

    @cached_property
    def in_sums(self) -> tuple[InputInfo, PartStatistics]:
        """What is known of the samples, and statistics of every part, from one reading."""
        return shared_statistics(self.learners, self.samples, self.splits, self.info)

    def _alone(self, rows: Array) -> Part:
        """A part from its own samples, where no sums can be shared with other parts."""
        info, parts = shared_statistics(self.learners, self.samples.some(rows), [], self.info)
        return Part(info, parts.part(0))


@dataclass(frozen=True, eq=False)
class CandidatesOfFold:
    """All candidates on one fold.

    Parameters
    ----------
    number : int
        Of the fold, from 0.
    train, test : ndarrays of positions
        The parts of the fold.
    learners : list of R estimators
        The candidates, not fitted.
    part : Part or None
        The training part, from which all candidates are solved together; None where each needs
        inner folds of its own, and is fitted alone.
    """

    number: int
    train: Array
    test: Array
    learners: list[BaseEstimator]
    part: Part | None = None

    def tried(self, scorer: Scorer, samples: SearchedSamples) -> Trial:
        """Fit and score all candidates.

        What has no finite score is an error that names the fold, and a class that it lacks.
        """
        scores: list[float] = []
        fit_times: list[float] = []
        score_times: list[float] = []
        X, y = samples.part(self.test)
        if isinstance(X, Source) and X.dtype.itemsize * prod(X.shape) <= memory_budget() // 4:
            X = X.in_memory()  # all candidates are scored from one reading
        batch = (X,) if y is None else (X, y)
        weighted = {}
        if samples.weighs and samples.weight is not None:
            weighted["sample_weight"] = samples.weight[self.test]
        try:
            before = time.perf_counter()
            for fitted in self.fitted(samples):
                each = (time.perf_counter() - before) / len(fitted)
                fit_times += [each] * len(fitted)
                for estimator in fitted:
                    start = time.perf_counter()
                    if isinstance(scorer, NearestMeanScorer):
                        assert samples.labels is not None
                        X_train, _ = samples.part(self.train)
                        y_train = samples.labels[self.train]
                        y_test = samples.labels[self.test]
                        score = scorer.of_fold(estimator, X_train, y_train, X, y_test)
                    else:
                        score = scorer(estimator, *batch, **weighted)
                    score_times.append(time.perf_counter() - start)
                    if not np.isfinite(score):
                        raise ValueError(
                            f"candidate {len(scores)} has the score {score}, which is not a number"
                        )
                    scores.append(score)
                before = time.perf_counter()
        except ValueError as error:
            advice = _advice_on_classes(samples, (self.train, self.test))
            raise ValueError(f"fold {self.number} cannot be scored: {error}{advice}") from error
        return Trial(np.array(scores), np.array(fit_times), np.array(score_times))

    def fitted(self, samples: SearchedSamples) -> Iterator[list[BaseEstimator]]:
        """Every candidate fitted on the training part: one list after another, of bounded size.

        From shared statistics they are solved as stacks.
        """
        if self.part is None:
            own = samples.some(self.train)
            for learner in self.learners:
                yield [clone(learner).fit(own.given, own.labels, **own.beside(learner))]
            return
        yield from solved_together(self.learners, self.part.statistics, self.part.info)


def needs_inner_folds(estimator: object, scoring: object) -> bool:
    """Whether a candidate has inner folds of its own, so that it is fitted by itself."""
    if isinstance(estimator, ClassSpecificVerifier):
        return scoring is not None
    return getattr(estimator, "classifier", None) is not None


def learns_sums(learner: Learner) -> bool:
    """Whether samples go into sums as they are, so that parts of them can be added.

    A kernel is seen through landmarks and a width that are learned from the training samples.
    """
    method: Any = getattr(learner, "_method", learner)
    return bool(method._streams)


def takes_weight(scorer: Scorer, estimator: BaseEstimator) -> bool:
    """Whether a scorer can weigh samples; one that stands for `score` can if that can."""
    if isinstance(scorer, NearestMeanScorer):
        return False
    if hasattr(scorer, "_accept_sample_weight"):
        return bool(scorer._accept_sample_weight())
    is_own = type(scorer).__name__ == "_PassthroughScorer"
    return "sample_weight" in signature(estimator.score if is_own else scorer).parameters


def _advice_on_classes(samples: SearchedSamples, split: Split) -> str:
    """What to do where a part of a fold lacks a class; nothing where none does."""
    if samples.labels is None:
        return ""
    for rows, part in zip(split, ("training", "test"), strict=True):
        used = rows if samples.weight is None else rows[np.asarray(samples.weight)[rows] > 0]
        missing = np.setdiff1d(samples.labels, samples.labels[used]).tolist()
        if missing:
            return (
                f"; its {part} part has no sample of class {missing[0]!r}; choose folds (cv) in "
                "which every part has the classes that it needs, such as StratifiedKFold(5)"
            )
    return ""
