"""Rank search: every candidate of every fold from one reading of the data, solved as stacks."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from itertools import product
from math import prod
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from tenfold.decisions.folds import positions
from tenfold.decisions.members import answer_of, innermost
from tenfold.decisions.probabilistic import ProbabilisticLDA
from tenfold.decisions.verifier import ClassSpecificVerifier
from tenfold.mathematics.algebra import Array
from tenfold.mathematics.cost import Split, fold_statistics
from tenfold.mathematics.moments import ClassStatistics
from tenfold.mathematics.stores import ArraySamples
from tenfold.methods.base import Described, Learner
from tenfold.selection.candidates import (
    Candidate,
    Samples,
    dimensions,
    in_pipelines,
    joint_workload,
    learner_of,
    listed,
    one_by_one,
    one_stack_per_fold,
    routed_metadata,
    solved_in_stacks,
    step_with_ranks,
    tried,
)
from tenfold.validation import samples as check
from tenfold.validation.samples import in_numpy

N_CANDIDATES = 10  # of a ladder
Ranks = tuple[int, ...]
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
        range or an array, but not a tuple, which looks like one candidate.
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
    own; their candidates are fitted one by one. So are those of `ProbabilisticLDA`: what
    ``shrinkage="auto"`` chooses is chosen for every candidate in every fold, and takes nearly all
    of the time. The steps of a pipeline before the one that is searched are fitted once per fold,
    and its candidates are solved as one stack, if no metadata came. The statistics of a training
    part are taken from its own samples where that costs less than adding up what folds share, as
    for few samples or hundreds of random splits.

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
            samples = Samples(X, check.as_rows(X), labels, routed["fit"], routed["score"])
            splits = self._splits(samples, routed)
            alike = hasattr(estimator, "steps") and not samples.fit_with
            fit = (in_pipelines if alike else one_by_one)(variants, samples)
        trials = tried(fit, scorer, samples, splits, self.verbose)
        self._choose(candidates, trials.results(candidates))
        self.n_splits_ = len(splits)
        if self.refit:
            self._refit(variants[self.best_index_], samples, described, parts)
        return self

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
        work = joint_workload(learners, seen.shape[1:], classes)
        return described, samples, splits, fold_statistics(seen, y, weight, classes, splits, work)

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
        prefix = outer if "ranks" in searched.get_params() else f"{outer}projector__"
        grid = {"ranks": self.ranks, "ridge": self.ridge, "shrinkage": self.shrinkage}
        own = {"shrinkage"} if isinstance(searched, ProbabilisticLDA) else set()
        asked = {
            (outer if name in own else prefix) + name: listed(name, values)
            for name, values in grid.items()
            if values is not None
        }
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
    judged = Pipeline([*steps, ("mean", NearestCentroid())]) if only_projects else estimator
    with np.errstate(invalid="ignore"):  # one sample of a class has no deviation, nor needs it
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
