"""Rank search: every candidate of every fold from one reading of the data, solved as stacks."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import KW_ONLY, dataclass, field, replace
from inspect import signature
from itertools import product
from math import prod
from numbers import Real
from typing import Any, Self

import numpy as np
from scipy.spatial.distance import cdist
from scipy.stats import rankdata
from sklearn import get_config
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    MetaEstimatorMixin,
    clone,
    is_classifier,
)
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from tenfold.decisions.folds import positions
from tenfold.decisions.members import answer_of, innermost
from tenfold.decisions.probabilistic import ProbabilisticLDA
from tenfold.decisions.verifier import ClassSpecificVerifier
from tenfold.mathematics.algebra import Array
from tenfold.mathematics.alternation import solve
from tenfold.mathematics.cost import Parts, Split, part_statistics, statistics_of
from tenfold.mathematics.criteria import Problem
from tenfold.mathematics.moments import ClassStatistics
from tenfold.mathematics.sample_statistics import codes_of
from tenfold.mathematics.stores import ArraySamples, Source
from tenfold.mathematics.tuning import STACK_NUMBERS
from tenfold.methods.base import Described, Learner
from tenfold.system.progress import progress
from tenfold.system.threads import threads_for
from tenfold.validation import samples as check
from tenfold.validation.parameters import memory_budget
from tenfold.validation.samples import in_numpy

N_CANDIDATES = 10  # of a ladder
Ranks = tuple[int, ...]
Candidate = dict[str, Any]  # parameters under the names that `set_params` takes
FitPart = Callable[[Split], list[Any]]  # all candidates, fitted on the training part of a split
ASKED = ("predict", "predict_proba", "predict_log_proba", "decision_function", "transform")


def _best_has(name: str) -> Any:
    def present(self: RankSearchCV) -> bool:
        return hasattr(getattr(self, "best_estimator_", self.estimator), name)

    return available_if(present)


def _of_best(name: str) -> Any:
    """A method of the best estimator, where that has it."""

    def method(self: RankSearchCV, X: Any, **params: Any) -> Any:
        check_is_fitted(self, "best_estimator_")
        return getattr(self.best_estimator_, name)(X, **params)

    method.__name__, method.__doc__ = name, f"`{name}` of the best estimator."
    method.__qualname__ = f"RankSearchCV.{name}"
    return _best_has(name)(method)


@dataclass(eq=False, repr=False)
class RankSearchCV(MetaEstimatorMixin, BaseEstimator):
    """Cross-validated search over ranks, ridges and shrinkages.

    It gives what `GridSearchCV` gives over the same candidates and folds. But the data are read
    once: each fold's training statistics are sums of statistics of pieces that the folds share,
    and all candidates of all classes are solved as one stack per fold.

    Parameters
    ----------
    estimator : projector, ClassSpecificClassifier, ClassSpecificVerifier or ProbabilisticLDA
        What is searched for, or a pipeline with one of them; all its other parameters stay as they
        are. Of a pipeline the last step that has ranks is searched, and every fold learns all steps
        from its own training samples.
    ranks : list
        Candidates for `ranks`: tuples, ints, mappings of labels to ranks, or None. May also be a
        range, an array or a tuple; but a tuple of numbers looks like one candidate.
    ridge : list or None, default=None
        Candidates for `ridge`; None keeps the estimator's.
    shrinkage : list or None, default=None
        Candidates for `shrinkage`; None keeps the estimator's. For `ProbabilisticLDA` this is its
        own shrinkage, while `ranks` and `ridge` are those of its projector; ``ranks=None`` keeps
        these.
    cv : int, splitter, iterable of splits or None, default=None
        Folds, as in `GridSearchCV`: an int or None (5) means stratified folds for a classifier
        and plain ones for all else. Samples that are sorted by class need a splitter then, such
        as ``StratifiedKFold(5)``.
    scoring : str, callable or None, default=None
        A scikit-learn scorer; None means the estimator's own `score`.
    refit : bool or callable, default=True
        Fit the best candidate on all samples, from the statistics that are there already. A
        callable chooses it: it takes `cv_results_` and returns a position.
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
    own; their candidates are fitted one by one. Of `ProbabilisticLDA` the projectors are solved as
    one stack per fold; what ``shrinkage="auto"`` chooses is chosen for every candidate in every
    fold, and takes nearly all of the time. The steps of a pipeline before the one that is searched
    are fitted once per fold, and its candidates are solved as one stack, if no metadata came. The
    statistics of a training part are taken from its own samples where that costs less than adding
    up what folds share, as for few samples or hundreds of random splits.

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

    estimator: Any
    ranks: Any
    _: KW_ONLY
    ridge: Any = None
    shrinkage: Any = None
    cv: Any = None
    scoring: Any = None
    refit: Any = True
    verbose: bool | None = None

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None, **params: Any
    ) -> Self:
        """Score every candidate on every fold, and fit the best on all samples.

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
            The samples.
        y : array-like of shape (n,)
            Class labels.
        sample_weight : array-like of shape (n,), default=None
            Non-negative weights, for fitting and for scorers that take them.
        groups : array-like of shape (n,), default=None
            Groups for splitters that keep groups together.
        **params : dict of array-likes of length n
            What the steps of a pipeline ask for besides, such as `covariates`, by metadata routing.

        Returns
        -------
        self
            The search with its results.
        """
        estimator = self.estimator
        if not hasattr(estimator, "steps"):
            learner_of(estimator)  # or an error that says what can be searched
        scorer, candidates = self._scorer(), self._candidates()
        besides = {"sample_weight": sample_weight, "groups": groups, **params}
        besides = {name: value for name, value in besides.items() if value is not None}
        routed = routed_metadata(self, scorer, besides)
        variants = [clone(estimator).set_params(**candidate) for candidate in candidates]
        labels = None if y is None else np.asarray(in_numpy(y, "y"))
        described: Described = {}
        parts: Iterator[ClassStatistics] | None = None
        if self._stacks():
            learners = [learner_of(variant) for variant in variants]
            described, samples, splits, parts = self._read(learners, X, labels, routed)
            fit = one_stack_per_fold(learners, parts, described)
        else:
            samples = self._given(variants, X, labels, routed)
            splits = self._splits(samples, routed)
            alike = hasattr(estimator, "steps") and not samples.fit_with
            fit = (in_pipelines if alike else one_by_one)(variants, samples)
        trials = tried(fit, scorer, samples, splits, self.verbose)
        self._choose(candidates, search_results(candidates, *trials))
        self.n_splits_ = len(splits)
        if self.refit:
            self._refit(variants[self.best_index_], samples, described, parts)
        return self

    def _given(
        self, variants: list[Any], X: Any, labels: Array | None, routed: dict[str, Any]
    ) -> Samples:
        """The samples for candidates that are fitted to parts of them; checked but for steps."""
        fit_with, score_with = routed["fit"], routed["score"]
        if hasattr(self.estimator, "steps"):
            return Samples(X, check.as_rows(X), labels, fit_with, score_with)
        for variant in variants:
            variant._check_parameters()
        weight, given = fit_with.get("sample_weight"), X
        _, X, labels, weight = learner_of(variants[0])._first_batch(X, labels, weight)
        checked = {} if weight is None else {"sample_weight": weight}
        fit_with, score_with = (
            fit_with | checked,
            {n: checked.get(n, v) for n, v in score_with.items()},
        )
        return Samples(given, X, labels, fit_with, score_with)

    def _read(
        self, learners: list[Learner], X: Any, labels: Array | None, routed: dict[str, Any]
    ) -> tuple[Described, Samples, list[Split], Iterator[ClassStatistics]]:
        """The samples, checked, the folds, and the statistics of each from one reading."""
        for learner in learners:
            learner._check_parameters()
        first, given = learners[0], X
        described, X, y, weight = first._first_batch(X, labels, routed["fit"].get("sample_weight"))
        X = X.in_memory() if isinstance(X, ArraySamples) else X
        fit_with, score_with = (dict.fromkeys(routed[name], weight) for name in ("fit", "score"))
        samples = Samples(given, X, labels if y is None else y, fit_with, score_with)
        splits = self._splits(samples, routed)
        classes = check.present_labels(y, weight)
        if isinstance(self.estimator, ClassSpecificVerifier):
            self.estimator.positive_among(classes)  # or an error that says how to name it
        described, seen = first._prepared(described, X, weight)
        ranks, rounds = asked_together(learners, seen.shape[1:], classes)
        rows = [*(train for train, _ in splits), np.arange(len(seen))]
        parts = Parts.of_rows(rows, codes_of(seen, y, classes))
        found = part_statistics(seen, y, weight, classes, parts, ranks, rounds, memory_budget())
        return described, samples, splits, found

    def get_metadata_routing(self) -> Any:
        """Who gets what comes beside samples and labels.

        Returns
        -------
        MetadataRouter
            The steps of the estimator, the scorer and the splitter.
        """
        calls = MethodMapping()
        for name in ("fit", *ASKED):
            calls.add(caller=name, callee=name)
        scored = (
            MethodMapping().add(caller="score", callee="score").add(caller="fit", callee="score")
        )
        split = MethodMapping().add(caller="fit", callee="split")
        router = MetadataRouter(owner=self)
        router.add(estimator=self.estimator, method_mapping=calls)
        scorer = self.estimator if self.scoring is None else self._scorer()
        router.add(scorer=scorer, method_mapping=scored)
        router.add(splitter=self.cv, method_mapping=split)
        return router

    # -- what is asked for -----------------------------------------------------------------------

    def _scorer(self) -> Any:
        if not (self.scoring is None or isinstance(self.scoring, str) or callable(self.scoring)):
            raise ValueError(
                f"scoring is {self.scoring!r}; expected one scorer, by name or as a callable, "
                "because one candidate is to be the best"
            )
        return check_scoring(self.estimator, scoring=self.scoring)

    def _candidates(self) -> list[Candidate]:
        """All combinations, under the names that `set_params` takes."""
        outer, searched = "", self.estimator
        if hasattr(searched, "steps"):
            name, searched = searched.steps[step_with_ranks(searched)]
            outer = f"{name}__"
        known = searched.get_params(deep=False)
        prefix = outer if "ranks" in known else f"{outer}projector__"
        grid = {"ranks": self.ranks, "ridge": self.ridge, "shrinkage": self.shrinkage}
        own = {"shrinkage"} if isinstance(searched, ProbabilisticLDA) else set()
        asked = {
            (outer if name in own else prefix) + name: listed(name, values)
            for name, values in grid.items()
            if values is not None
        }
        inside = [name for name in asked if name.startswith(f"{outer}projector__")]
        if inside and known["projector"] is None:
            such_as = "CMDA" if own else "MCSDA"
            raise ValueError(
                f"{searched!r} has no parameter {inside[0].removeprefix(outer)!r}, because it has "
                f"no projector; name one, such as {type(searched).__name__}({such_as}())"
            )
        return [dict(zip(asked, choice, strict=True)) for choice in product(*asked.values())]

    def _splits(self, samples: Samples, routed: dict[str, Any]) -> list[Split]:
        cv = check_cv(self.cv, samples.labels, classifier=is_classifier(self.estimator))
        n = len(samples.checked)
        return positions(cv.split(np.arange(n), samples.labels, **routed["split"]), n)

    def _stacks(self) -> bool:
        """Whether a fold's candidates can be solved together, without inner folds of their own."""
        if isinstance(self.estimator, ClassSpecificVerifier):
            return self.scoring is None
        return solved_in_stacks(self.estimator)

    # -- what is kept ----------------------------------------------------------------------------

    def _choose(self, candidates: list[Candidate], results: dict[str, Any]) -> None:
        equals = np.flatnonzero(results["rank_test_score"] == 1).tolist()
        largest = max(equals, key=lambda i: dimensions(candidates[i]))
        chosen = self.refit(results) if callable(self.refit) else largest
        if not 0 <= int(chosen) < len(candidates):
            raise ValueError(
                f"refit chose candidate {chosen}, but there are {len(candidates)}; it must return "
                "a position in cv_results_['params']"
            )
        self.cv_results_, self.best_index_ = results, int(chosen)
        self.best_params_ = candidates[self.best_index_]
        self.best_score_ = float(results["mean_test_score"][self.best_index_])

    def _refit(
        self,
        best: Any,
        samples: Samples,
        described: Described,
        parts: Iterator[ClassStatistics] | None,
    ) -> None:
        """Fit the best candidate on all samples; their statistics come after those of the folds."""
        start = time.perf_counter()
        if parts is not None and isinstance(best, Learner):
            *_, whole = parts
            best._set_fitted(described, best._learn(whole, described["sample_shape_"]))
        else:
            best.fit(samples.given, samples.labels, **samples.fit_with)
        self.best_estimator_, self.refit_time_ = best, time.perf_counter() - start
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(best, name):
                setattr(self, name, getattr(best, name))

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
    def fit_transform(self, X: Any, y: Any = None, **fit_parameters: Any) -> Any:
        """Search, then `transform` the same samples."""
        return self.fit(X, y, **fit_parameters).transform(X)

    def score(self, X: Any, y: Any = None, **params: Any) -> float:
        """The score of the best estimator, as it was searched for."""
        check_is_fitted(self, "best_estimator_")
        return float(self._scorer()(self.best_estimator_, X, in_numpy(y, "y"), **params))

    def __sklearn_tags__(self) -> Any:
        tags, own = super().__sklearn_tags__(), get_tags(self.estimator)
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


def search_ranks(
    estimator: Any, X: Any, y: Any, folds: Any, *, verbose: bool | None = None
) -> tuple[Any, dict[Ranks, float]]:
    """Search the ranks of an estimator on a ladder of candidates.

    A bank is measured by its accuracy, a model of one class by its average precision. Other
    projectors give no scores, so they are measured by the accuracy of the nearest class mean.

    Parameters
    ----------
    estimator : projector, bank or verifier
        Not fitted.
    X, y : arrays of shapes (n, I_1, ..., I_K) and (n,)
        The samples.
    folds : splitter or iterable of splits
        The folds.
    verbose : bool or None, default=None
        Show a progress bar; None means on a terminal.

    Returns
    -------
    estimator
        With the best ranks, fitted on all samples.
    dict of ranks to float
        The mean score of every candidate over the folds.
    """
    answer, inner = answer_of(estimator), innermost(estimator)
    projector = inner.projector if answer in ("class", "probability", "acceptance") else inner
    steps = getattr(estimator, "steps", [("projector", estimator)])
    beside = sum(getattr(step, "last", None) or 0 for _, step in steps[:-1])  # covariates in rows
    sizes = (X.shape[1] - beside,) if beside else tuple(X.shape[1:])
    shape = (prod(sizes),) if projector._flattens else sizes
    candidates = rank_ladder(shape, X.shape[0])
    only_projects = answer == "projection"
    judged = Pipeline([*steps, ("mean", NearestMean())]) if only_projects else estimator
    found = RankSearchCV(judged, ranks=candidates, cv=folds, verbose=verbose).fit(X, y)
    scores = found.cv_results_["mean_test_score"].tolist()
    best = found.best_estimator_
    if only_projects:
        best = best[:-1] if hasattr(estimator, "steps") else best[0]
    return best, dict(zip(candidates, scores, strict=True))


def rank_ladder(shape: Ranks, n_samples: int) -> list[Ranks]:
    """Candidates that keep the same share of every mode, in growing steps.

    They end at half of a large mode: beyond, there is little left to reduce. A mode of up to 8
    entries is tried to its end, and none has more directions than there are samples.

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
class Samples:
    """What a search learns from and scores on.

    Parameters
    ----------
    given : anything
        The samples as the user passed them.
    checked : anything of n rows
        The same samples, ready for learning if all candidates learn from one reading.
    labels : ndarray of shape (n,) or None
        The labels, also when the estimator does not look at them.
    fit_with, score_with : dicts
        What `fit` and the scorer get besides, by name: one entry per sample each.
    """

    given: Any
    checked: Any
    labels: Array | None
    fit_with: dict[str, Any] = field(default_factory=dict)
    score_with: dict[str, Any] = field(default_factory=dict)

    @property
    def weight(self) -> Any:
        """Sample weights, or None."""
        return self.fit_with.get("sample_weight")

    def training(self, rows: Array) -> tuple[tuple[Any, Array | None], dict[str, Any]]:
        """The arguments of `fit` for some of the samples."""
        labels = None if self.labels is None else self.labels[rows]
        return (self._rows(rows), labels), _parts(self.fit_with, rows)

    def test(self, rows: Array) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of a scorer for some of the samples, read only once if they fit."""
        X = self._rows(rows)
        if isinstance(X, Source) and X.dtype.itemsize * prod(X.shape) <= memory_budget() // 4:
            X = X.in_memory()
        batch = (X,) if self.labels is None else (X, self.labels[rows])
        return batch, _parts(self.score_with, rows)

    def _rows(self, rows: Array) -> Any:
        is_frame = hasattr(self.given, "iloc")  # estimators look at the names of its columns
        return check.rows_of(self.given if is_frame else self.checked, rows)


def _parts(columns: dict[str, Any], rows: Array) -> dict[str, Any]:
    return {name: _safe_indexing(column, rows) for name, column in columns.items()}


def search_results(
    candidates: list[Candidate], scores: Array, fit_times: Array, score_times: Array
) -> dict[str, Any]:
    """The `cv_results_` of scikit-learn's searches, for R candidates on F folds, (R, F) each."""
    mean = scores.mean(axis=1)
    results: dict[str, Any] = {
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
    results["mean_test_score"], results["std_test_score"] = mean, scores.std(axis=1)
    results["rank_test_score"] = rankdata(-mean, method="min").astype(np.int32)
    return results


def dimensions(candidate: Candidate) -> float:
    """How much a candidate keeps, in units that serve to compare it with others of its kind."""
    ranks = next((v for name, v in candidate.items() if name.endswith("ranks")), None)
    own = ranks.values() if isinstance(ranks, Mapping) else [ranks]
    return sum(float(np.prod(r)) for r in own if r is not None)


def listed(name: str, values: Any) -> list[Any]:
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


def _is_one(name: str, values: tuple[Any, ...]) -> bool:
    """Whether a tuple is a candidate itself: a rank per mode, or a ridge that is absolute."""
    if name == "ranks":
        return len(values) > 0 and all(isinstance(value, Real) for value in values)
    return values[:1] == ("absolute",)


def step_with_ranks(pipeline: Any) -> int:
    """The place of the step of a pipeline whose ranks are searched: the last that has some."""
    for place in reversed(range(len(pipeline.steps))):
        step = pipeline.steps[place][1]
        known = step.get_params() if hasattr(step, "get_params") else {}
        if "ranks" in known or "projector" in known:
            return place
    raise ValueError(
        f"no step of {pipeline!r} has ranks; expected one such as MCSDA() or MPCA(); GridSearchCV "
        "searches other pipelines"
    )


def routed_metadata(search: Any, scorer: Any, besides: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """What comes beside samples and labels, by who gets it: "fit", "score" or "split"."""
    estimator = search.estimator
    is_pipeline = hasattr(estimator, "steps")
    if is_pipeline and get_config()["enable_metadata_routing"]:
        found = process_routing(search, "fit", **besides)
        return {
            "fit": found.estimator.fit,
            "score": found.scorer.score,
            "split": found.splitter.split,
        }
    split = {"groups": besides.pop("groups", None)}
    if is_pipeline:
        plain = [name for name in besides if "__" not in name]
        advice = (
            "came for a pipeline, and no step is named that gets it; turn on "
            "sklearn.set_config(enable_metadata_routing=True) and let steps ask for it, as with "
            "set_fit_request, or pass it as step__name"
        )
    else:
        plain = [name for name in besides if name != "sample_weight"]
        advice = (
            f"came, but {type(estimator).__name__} takes none; metadata are for pipelines, of "
            "which a step asks for them"
        )
    if plain:
        raise ValueError(f"{', '.join(plain)} {advice}")
    scored = {} if is_pipeline or not takes_weight(scorer, estimator) else besides
    return {"fit": besides, "score": scored, "split": split}


def learner_of(estimator: Any) -> Learner:
    """What is solved: the estimator itself, or the projector of what decides by one."""
    if isinstance(estimator, ClassSpecificVerifier):
        estimator._check_parameters()
        model: Learner = estimator.model()
        return model
    if not isinstance(estimator, Learner):
        raise ValueError(
            f"estimator is {estimator!r}; expected a projector such as MCSDA(), a "
            "ClassSpecificClassifier, a ClassSpecificVerifier or a pipeline that ends with one; "
            "GridSearchCV searches others"
        )
    return estimator


def asked_together(
    learners: list[Learner], shape: tuple[int, ...], classes: Array
) -> tuple[Array, int]:
    """Ranks and rounds of all candidates; asking each for its own also checks its ranks."""
    ranks = np.concatenate([one._model_ranks(shape, classes) for one in learners], axis=1)
    return ranks, max(one._recipe().expected_rounds(len(shape)) for one in learners)


def solved_together(
    learners: list[Learner], statistics: ClassStatistics, described: Described
) -> list[Learner]:
    """Every candidate fitted on the same statistics, in stacks of bounded size."""
    if learners[0]._needs_labels:
        check.check_classes(statistics.classes, learners[0])
    fresh, recipe = replace(statistics), learners[0]._recipe()
    problems = [learner._problem(fresh) for learner in learners]
    per_stack = max(1, STACK_NUMBERS // (len(problems[0]) * max(statistics.shape) ** 2))
    fitted = []
    for start in range(0, len(learners), per_stack):
        chunk = problems[start : start + per_stack]
        stack = Problem.stacked(chunk)
        with threads_for(stack.shape, len(stack) > 1, len(stack)) as threads:
            solution = solve(stack, recipe, threads)
        starts = np.cumsum([0, *map(len, chunk)])
        for learner, first, last in zip(learners[start:], starts, starts[1:], strict=False):
            models, shape = np.arange(first, last), described["sample_shape_"]
            own = learner._model(fresh, solution, models, shape)
            fitted.append(clone(learner)._set_fitted(described, own))
    return fitted


def one_stack_per_fold(
    learners: list[Learner], parts: Iterator[ClassStatistics], described: Described
) -> FitPart:
    """All candidates solved together, from the statistics of each fold in turn."""
    return lambda split: solved_together(learners, next(parts), described)


def one_by_one(variants: list[Any], samples: Samples) -> FitPart:
    """Each candidate fitted alone; for estimators that need inner folds of their own."""

    def fit(split: Split) -> list[Any]:
        batch, besides = samples.training(split[0])
        return _fitted_together(variants, *batch, **besides)

    return fit


def in_pipelines(pipelines: list[Any], samples: Samples) -> FitPart:
    """Pipelines that differ in one step alone: those before it are fitted once per fold."""
    place = step_with_ranks(pipelines[0])

    def fit(split: Split) -> list[Any]:
        (X, y), _ = samples.training(split[0])
        common = clone(pipelines[0])[:place]
        X = common.fit_transform(X, y) if place else X
        searched = [pipeline.steps[place][1] for pipeline in pipelines]
        both = zip(pipelines, _fitted_together(searched, X, y), strict=True)
        return [_joined(common, pipeline, step, X, y) for pipeline, step in both]

    return fit


def _joined(common: Any, pipeline: Any, step: Any, X: Any, y: Array | None) -> Any:
    """A pipeline of fitted steps; those behind the searched one learn from what it gives."""
    place = len(common.steps)
    fitted, name = copy(pipeline), pipeline.steps[place][0]
    rest = clone(pipeline)[place + 1 :]
    if rest.steps:
        rest.fit(step.transform(X), y)
    fitted.steps = [*common.steps, (name, step), *rest.steps]
    return fitted


def _fitted_together(variants: list[Any], X: Any, y: Array | None, **besides: Any) -> list[Any]:
    """Candidates fitted to the same samples; what can be solved as one stack is."""
    first = variants[0]
    if solved_in_stacks(first):
        return _solved(variants, X, y)
    if isinstance(first, ProbabilisticLDA) and first.projector is not None:
        first._check_parameters()
        projectors = [variant.projector for variant in variants]
        inside = _solved(projectors, X, y, besides.get("sample_weight"))
        both = zip(variants, inside, strict=True)
        return [clone(variant)._fit_in(fitted, X, y, **besides) for variant, fitted in both]
    return [clone(variant).fit(X, y, **besides) for variant in variants]


def _solved(
    learners: list[Learner], X: Any, y: Array | None, weight: Array | None = None
) -> list[Learner]:
    """All candidates solved together, from statistics of these samples."""
    for learner in learners:
        learner._check_parameters()
    described, X, y, weight = learners[0]._first_batch(X, y, weight)
    classes = check.present_labels(y, weight)
    described, X = learners[0]._prepared(described, X, weight)
    ranks, rounds = asked_together(learners, X.shape[1:], classes)
    found = statistics_of(X, y, weight, classes, ranks, rounds, memory_budget())
    return solved_together(learners, found, described)


def solved_in_stacks(estimator: Any) -> bool:
    """Whether candidates can be solved together, without inner folds of their own."""
    own_folds = isinstance(estimator, ProbabilisticLDA) or getattr(estimator, "classifier", None)
    return isinstance(estimator, Learner) and not own_folds


def tried(
    fit: FitPart, scorer: Any, samples: Samples, splits: list[Split], show: bool | None
) -> tuple[Array, Array, Array]:
    """Fit and score all candidates on every fold.

    Parameters
    ----------
    fit : callable
        Gives all candidates, fitted on the training part of a split.
    scorer : callable
        ``scorer(estimator, X, y)`` is one number.
    samples : Samples
        What the splits are of.
    splits : list of F (train, test)
        The folds.
    show : bool or None
        Show a progress bar; None means on a terminal.

    Returns
    -------
    three ndarrays of shape (R, F)
        Scores, and the times to fit and to score. Scores are finite; what has none is an error
        that names the fold, and a class that it lacks.
    """
    columns = []
    with progress("rank search", len(splits), show) as advance:
        for number, split in enumerate(splits):
            try:
                columns.append(_tried_on_fold(fit, scorer, samples, split))
            except ValueError as error:
                advice = _advice_on_classes(samples, split)
                raise ValueError(f"fold {number} cannot be scored: {error}{advice}") from error
            advance()
    scores, fit_times, score_times = (np.stack(c, axis=1) for c in zip(*columns, strict=True))
    return scores, fit_times, score_times


def takes_weight(scorer: Any, estimator: Any) -> bool:
    """Whether a scorer can weigh samples; one that stands for `score` can if that can."""
    if hasattr(scorer, "_accept_sample_weight"):
        return bool(scorer._accept_sample_weight())
    is_own = type(scorer).__name__ == "_PassthroughScorer"
    return "sample_weight" in signature(estimator.score if is_own else scorer).parameters


def _advice_on_classes(samples: Samples, split: Split) -> str:
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


def _tried_on_fold(
    fit: FitPart, scorer: Any, samples: Samples, split: Split
) -> tuple[Array, Array, Array]:
    """Scores and times of all candidates on one fold, each of shape (R,)."""
    start = time.perf_counter()
    fitted = fit(split)
    fit_time = (time.perf_counter() - start) / len(fitted)
    batch, besides = samples.test(split[1])
    scores, times = np.empty(len(fitted)), np.empty(len(fitted))
    for c, estimator in enumerate(fitted):
        start = time.perf_counter()
        scores[c] = scorer(estimator, *batch, **besides)
        times[c] = time.perf_counter() - start
        if not np.isfinite(scores[c]):
            raise ValueError(f"candidate {c} has the score {scores[c]}, which is not a number")
    return scores, np.full(len(fitted), fit_time), times
