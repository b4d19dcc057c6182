"""Candidates of a search: solved as one stack, tried on folds, and reported."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from inspect import signature
from math import prod
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn import get_config
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.metadata_routing import process_routing

from tenfold.decisions.probabilistic import ProbabilisticLDA
from tenfold.decisions.verifier import ClassSpecificVerifier
from tenfold.mathematics.algebra import Array
from tenfold.mathematics.alternation import solve
from tenfold.mathematics.cost import Split, Workload, statistics_of
from tenfold.mathematics.criteria import Problem
from tenfold.mathematics.moments import ClassStatistics
from tenfold.mathematics.stores import Source
from tenfold.mathematics.tuning import STACK_NUMBERS
from tenfold.methods.base import Described, Learner
from tenfold.system.progress import progress
from tenfold.system.threads import threads_for
from tenfold.validation import samples as check
from tenfold.validation.parameters import memory_budget

Candidate = dict[str, Any]  # parameters under the names that `set_params` takes
FitPart = Callable[[Split], list[Any]]  # all candidates, fitted on the training part of a split


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


@dataclass(frozen=True, eq=False)
class Trials:
    """Scores and times of R candidates on F folds, each of shape (R, F)."""

    scores: Array
    fit_times: Array
    score_times: Array

    def results(self, candidates: list[Candidate]) -> dict[str, Any]:
        """The `cv_results_` of scikit-learn's searches."""
        mean = self.scores.mean(axis=1)
        results: dict[str, Any] = {
            "mean_fit_time": self.fit_times.mean(axis=1),
            "std_fit_time": self.fit_times.std(axis=1),
            "mean_score_time": self.score_times.mean(axis=1),
            "std_score_time": self.score_times.std(axis=1),
            "params": candidates,
        }
        for name in candidates[0]:
            column = np.empty(len(candidates), dtype=object)
            column[:] = [params[name] for params in candidates]
            results[f"param_{name}"] = np.ma.MaskedArray(column, mask=False)
        results |= {f"split{f}_test_score": column for f, column in enumerate(self.scores.T)}
        results["mean_test_score"], results["std_test_score"] = mean, self.scores.std(axis=1)
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
    values : list, range or ndarray
        What a user passed as candidates.

    Returns
    -------
    list
        The candidates, at least one.
    """
    if not isinstance(values, list | range | np.ndarray):
        raise ValueError(
            f"{name} is {values!r}; expected a list of candidates; for this one alone pass "
            f"[{values!r}]"
        )
    if not len(values):
        raise ValueError(f"there are no candidates for {name!r}; pass at least one")
    return values.tolist() if isinstance(values, np.ndarray) else list(values)


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


def joint_workload(learners: list[Learner], shape: tuple[int, ...], classes: Array) -> Workload:
    """All candidates together; asking each for its own also checks its ranks."""
    return Workload.together([learner._workload(shape, classes) for learner in learners])


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
        return [clone(variant).fit(*batch, **besides) for variant in variants]

    return fit


def in_pipelines(pipelines: list[Any], samples: Samples) -> FitPart:
    """Pipelines that differ in one step alone: those before it are fitted once per fold."""
    place = step_with_ranks(pipelines[0])

    def fit(split: Split) -> list[Any]:
        (X, y), _ = samples.training(split[0])
        common = clone(pipelines[0])[:place]
        X = common.fit_transform(X, y) if place else X
        searched = [pipeline.steps[place][1] for pipeline in pipelines]
        stacked = solved_in_stacks(searched[0])
        fitted = _solved(searched, X, y) if stacked else [clone(s).fit(X, y) for s in searched]
        both = zip(pipelines, fitted, strict=True)
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


def _solved(learners: list[Learner], X: Any, y: Array | None) -> list[Learner]:
    """All candidates solved together, from statistics of these samples."""
    described, X, y, weight = learners[0]._first_batch(X, y, None)
    classes = check.present_labels(y, weight)
    described, X = learners[0]._prepared(described, X, weight)
    work = joint_workload(learners, X.shape[1:], classes)
    return solved_together(learners, statistics_of(X, y, weight, classes, work), described)


def solved_in_stacks(estimator: Any) -> bool:
    """Whether candidates can be solved together, without inner folds of their own."""
    own_folds = isinstance(estimator, ProbabilisticLDA) or getattr(estimator, "classifier", None)
    return isinstance(estimator, Learner) and not own_folds


def tried(
    fit: FitPart, scorer: Any, samples: Samples, splits: list[Split], show: bool | None
) -> Trials:
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
    Trials
        Finite scores; what has none is an error that names the fold, and a class that it lacks.
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
    return Trials(scores, fit_times, score_times)


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
