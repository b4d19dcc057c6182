"""Methods compared on the same folds by the same metrics."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from math import prod
from statistics import mode
from typing import Any

import numpy as np
from scipy.stats import t
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.utils import get_tags

from tenfold.classifiers.class_subspaces import of_both_classes
from tenfold.classifiers.classifier import ClassSpecificClassifier
from tenfold.classifiers.folds import folds_of
from tenfold.classifiers.members import answer_of
from tenfold.classifiers.open_set import OpenSetClassifier
from tenfold.classifiers.probabilistic import ProbabilisticLDA
from tenfold.classifiers.scores import scored_labels
from tenfold.classifiers.verifier import ClassSpecificVerifier
from tenfold.linalg.algebra import Array
from tenfold.methods.base import TensorProjector
from tenfold.methods.csda import CSDA
from tenfold.methods.saving import steps_of
from tenfold.metrics.ranking import average_precisions, roc_areas
from tenfold.processes import PATIENCE, over_processes
from tenfold.progress import progress
from tenfold.quiet import quietly
from tenfold.selection.rank_search import NearestMean, RankSearchCV, groups_for, search_ranks
from tenfold.statistics.cost import Split
from tenfold.tables import Cell, Table, number, percent, times
from tenfold.validation.containers import in_numpy, unmasked
from tenfold.validation.labels import check_groups, check_labels
from tenfold.validation.parameter_types import Folds, Label
from tenfold.validation.parameters import check_positive

MOST_NUMBERS_OF_LDA = 2048  # it makes a table of all pairs of numbers, and solves with it
MOST_BYTES_TWICE = 2**28  # of samples that several processes may work on at the same time
INNER_FOLDS = 3  # of the rank search inside the training samples of a fold
MOST_NAMED = 4  # methods in a sentence
FASTER = 3.0  # times: what makes speed decide between methods that are not clearly different
SLOW = 1.0  # seconds to fit one fold, below which speed does not decide


@dataclass(frozen=True)
class MethodFigures:
    """Figures of one method, or of one method on one fold."""

    method: str
    ranks: tuple[int, ...]  # the most frequent ones; none of what learns no subspace
    average_precision: float  # mean over classes and folds
    deviation: float  # of the average precision over folds
    roc_auc: float
    accuracy: float | None  # of its own `predict`; None when one class alone is compared
    converged: bool  # every model of every fold
    seconds: float  # to fit one fold
    precision_by_fold: tuple[float, ...] = ()
    accuracy_by_fold: tuple[float, ...] = ()


@dataclass(frozen=True)
class Comparison:
    """What `compare` found, best method first.

    Parameters
    ----------
    methods : list of MethodFigures
        One per method, by falling average precision.
    n_samples, n_classes, n_folds : int
        What they were compared on.
    sample_shape : tuple of int
        The shape of a sample.
    positive : label or None
        The class that was compared with all others; None when every class was.
    test_per_training : float
        Test samples per training sample, the mean over folds.
    """

    methods: list[MethodFigures]
    n_samples: int
    n_classes: int
    n_folds: int
    sample_shape: tuple[int, ...]
    positive: Any
    test_per_training: float

    @property
    def table(self) -> Table:
        """One row per method; ``print`` shows it."""
        columns = ["method", "ranks", "average precision", "ROC AUC", "accuracy", "fit (s)"]
        rows = [self._row(one) for one in self.methods]
        if self.positive is not None:
            columns.pop(4)
            rows = [row[:4] + row[5:] for row in rows]
        title = (
            f"{self.n_samples} samples of {times(self.sample_shape)}, {self.n_classes} classes, "
            f"{self.n_folds} fold{'s' * (self.n_folds > 1)}; % ± deviation over folds"
        )
        return Table(title, columns, rows)

    def _row(self, one: MethodFigures) -> list[Cell | str]:
        precision = f"{100 * one.average_precision:.1f} ± {100 * one.deviation:.1f}"
        return [
            one.method,
            times(one.ranks) if one.ranks else "",
            Cell(precision, one.average_precision),
            percent(one.roc_auc),
            percent(one.accuracy),
            number(one.seconds, "{:.2f}"),
        ]

    @property
    def best_methods(self) -> list[MethodFigures]:
        """The methods that no other one is clearly better than, by falling average precision.

        Clearly better is a method whose average precision or accuracy is higher, and the other of
        the two not lower, by more than the error of the difference: Student's t of the paired
        differences over folds, at 95 %, with a variance that counts the training samples which
        the folds share (Nadeau and Bengio, 2003). How long a method takes plays no part.
        """
        everyone = self.methods
        best = [one for one in everyone if not any(self._better(b, one) for b in everyone)]
        return best or everyone

    def _better(self, one: MethodFigures, other: MethodFigures) -> bool:
        """Whether one method is better in one figure, and in none worse, by more than the error."""
        pairs = [
            (one.precision_by_fold, other.precision_by_fold),
            (one.accuracy_by_fold, other.accuracy_by_fold),
        ]
        signs = [self._clear_sign(np.subtract(*pair)) for pair in pairs if pair[0]]
        return max(signs) > 0 and min(signs) >= 0

    def _clear_sign(self, differences: Array) -> int:
        """The sign of the mean over folds; 0 when it is within its error, or there is one fold."""
        n = len(differences)
        least = 1 / self.n_samples  # less than one sample is no difference
        if n < 2:
            return 0
        error = np.sqrt(differences.var(ddof=1) * (1 / n + self.test_per_training))
        mean = differences.mean()
        clear = abs(mean) > max(least, float(t.ppf(0.975, n - 1) * error))
        return int(np.sign(mean)) if clear else 0

    @property
    def advice(self) -> str:
        """Which method to use, or that there is no clear winner, and why."""
        first, *others = self.best_methods
        precision = f"average precision {100 * first.average_precision:.1f} %"
        if len(self.methods) == 1:
            return f"{first.method} has {precision}; there is no other method to compare it with."
        test = f"paired t test over {self.n_folds} folds, 95 %"
        if not others:
            return (
                f"Use {first.method}: {precision}. It is clearly better than all others: the "
                f"differences are larger than their error ({test})."
            )
        highest = "the highest " if first is self.methods[0] else ""
        names = [one.method for one in others]
        if len(names) > MOST_NAMED:
            names = [*names[: MOST_NAMED - 1], f"{len(names) - MOST_NAMED + 1} more"]
        why = f"the differences are within their error ({test})"
        if self.n_folds < 2:
            why = "one fold does not show the error of a difference"
        said = (
            f"No clear winner: {first.method} has {highest}{precision}, but is not clearly better "
            f"than {_listed(names)}: {why}."
        )
        for other in others:  # the best of those that are much faster
            if first.seconds >= max(SLOW, FASTER * other.seconds):
                faster = f"{first.seconds / other.seconds:.0f} times faster"
                return f"{said} If time matters, use {other.method}, which is fitted {faster}."
        return said

    def __str__(self) -> str:
        return f"{self.table}\n{self.advice}"

    def as_dict(self) -> dict[str, Any]:
        """All figures by name."""
        return asdict(self)


def compare(
    X: object,
    y: object,
    models: Sequence[Any] | None = None,
    *,
    positive: Label = None,
    search: bool = False,
    cv: Folds = 5,
    groups: object = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    verbose: bool | None = None,
) -> Comparison:
    """Compare models by cross-validation, all of them on the same folds.

    Class-specific methods are ranked by their scores for every class: the likelihood ratio of the
    class, or minus the distance from its mean, in its own subspace. Other projectors are ranked by
    the distance from class means in the subspace of all classes, `ProbabilisticLDA` and classifiers
    of scikit-learn, which get flat samples, by their own scores. Accuracy is that of `predict`; of
    a projector, which has none, that of the nearest mean. Figures are means over classes and folds;
    a class without test samples in a fold does not count there, and a test sample of a class
    without training samples is answered wrongly.

    Parameters
    ----------
    X : array-like of shape (n, I_1, ..., I_K)
        The samples.
    y : array-like of shape (n,)
        Their labels.
    models : sequence of projectors, classifiers and pipelines that end in one, default=None
        Not fitted, such as ``[ProbabilisticLDA(), MCSDA((5, 5)), *baselines(64)]``. The steps of a
        pipeline are fitted to the training samples of every fold. None compares
        `ProbabilisticLDA`, `CSDA` for every class, and `baselines` of scikit-learn.
    positive : label or None, default=None
        Compare on this class alone; None means on every class.
    search : bool, default=False
        Search the ranks of each method in the training samples of every fold.
    cv : int, splitter or iterable of splits, default=5
        An int is a number of stratified folds, with `groups` of whole groups; fewer when a class
        has fewer samples or there are fewer groups. Or what scikit-learn takes: a splitter such as
        ``LeaveOneGroupOut()``, or pairs of training and test rows.
    groups : array-like of shape (n,), default=None
        Numbers or names of groups that are held out together, such as persons or recordings; for
        the splitter, for the folds of `search`, and for models whose `fit` takes groups.
    random_state : int, default=0
        Seed of the shuffle into folds, where `cv` is an int.
    n_jobs : int or None, default=None
        How many processes share the folds of all models; -1 means one per core. None starts as
        many as BLAS may use threads, when the work takes longer than some seconds.
    verbose : bool or None, default=None
        A progress bar that names the model; None means on a terminal.

    Returns
    -------
    Comparison
        Its `methods` hold the figures, its `table` shows them, its `advice` says which to use.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tenfold import CMDA, MCSDA, compare
    >>> X, y = load_digits().images[:300], load_digits().target[:300]
    >>> found = compare(X, y, [CMDA((4, 4)), MCSDA((4, 4))], cv=3)
    >>> [one.method for one in found.methods]
    ['MCSDA', 'CMDA']
    """
    if isinstance(X, list | tuple) and X and hasattr(X[0], "fit"):
        raise TypeError("X is a list of models; expected samples: compare(X, y, models)")
    if y is None:
        raise ValueError(
            "compare needs class labels, but y is None; pass one class label per sample"
        )
    X = np.asarray(in_numpy(unmasked(X)))
    y = check_labels(ProbabilisticLDA(), X, y)
    if models is None:
        models = [ProbabilisticLDA(), CSDA(), *baselines(prod(X.shape[1:]))]
    _check_models(models, y, positive)
    names = _free_names(models)
    group = None if groups is None else check_groups("groups", groups, len(X))[1]
    splits = folds_of(cv, y, group, random_state)
    _check_folds(splits, y, positive)
    given = X, y, group
    tasks = [(model, *given, *split, positive, search) for model in models for split in splits]
    n_folds = len(splits)
    patience = PATIENCE if X.nbytes <= MOST_BYTES_TWICE else np.inf
    found: dict[int, MethodFigures] = {}  # every fold of every model is a task of its own
    with progress("comparing", len(tasks), verbose) as advance:
        advance(0, names[0] if names else "")
        for task, one in over_processes(_figures_of_fold, tasks, patience, n_jobs):
            found[task] = one
            following = min(task + 1, len(tasks) - 1)
            advance(1, names[following // n_folds])
    figures = []
    for place, name in enumerate(names):
        folds = [found[place * n_folds + fold] for fold in range(n_folds)]
        figures.append(_figures(name, folds))
    figures.sort(key=lambda one: -one.average_precision)
    shape = tuple(X.shape[1:])
    n_classes = len(np.unique(y))
    ratio = float(np.mean([len(test) / len(train) for train, test in splits]))
    return Comparison(figures, len(X), n_classes, n_folds, shape, positive, ratio)


def _check_models(models: Sequence[Any], y: Array, positive: Any) -> None:
    """Refuse models that cannot be ranked beside others, and verifiers of another class."""
    if not isinstance(models, Sequence) or not models:
        raise TypeError(
            f"models is {models!r:.80}; expected a list of models, such as [CSDA(), MCSDA((5, 5))]"
        )
    if positive is not None:
        check_positive(positive, np.unique(y))
    for model in models:
        last = steps_of(model)[-1]
        name = type(last).__name__
        if isinstance(last, RankSearchCV):
            raise ValueError(
                f"compare takes no {name}; pass its estimator, and search=True to search ranks in "
                "the training samples of every fold"
            )
        if isinstance(last, OpenSetClassifier):
            raise ValueError(
                f"compare takes no {name}; pass the model inside of it, and see what an open set "
                "is worth with tenfold.metrics.evaluate"
            )
        if not isinstance(last, ClassSpecificVerifier) or len(np.unique(y)) == 2:
            continue
        own = last.positive if last.projector is None else last.model().positive
        if positive is None or own != positive:
            raise ValueError(
                f"{name} verifies the class {own!r}, but positive is {positive!r}; pass its class "
                "as positive"
            )


def _check_folds(splits: list[Split], y: Array, positive: Any) -> None:
    """Refuse folds that say nothing."""
    told = False
    for place, (train, test) in enumerate(splits):
        known = np.unique(y[train])
        if len(known) < 2 or (positive is not None and positive not in known):
            missing = "two classes" if len(known) < 2 else f"class {positive!r}"
            raise ValueError(
                f"the training part of fold {place} has no samples of {missing}; choose folds "
                "(cv, groups) that leave some"
            )
        told |= bool(np.isin(y[test], known if positive is None else [positive]).any())
    if not told:
        what = "the classes of their training parts" if positive is None else f"class {positive!r}"
        raise ValueError(f"no test part has samples of {what}; choose other folds (cv, groups)")


def baselines(n_numbers: int) -> list[Any]:
    """Classifiers of scikit-learn that see samples as vectors, at usual settings.

    Parameters
    ----------
    n_numbers : int
        How many numbers a sample has.

    Returns
    -------
    list of classifiers
        A support vector machine with a Gaussian kernel (standardized numbers, C=10), the nearest
        neighbor, ridge regression, a linear support vector machine and, up to 2048 numbers, where
        it does not take minutes, linear discriminant analysis with shrinkage.
    """
    found = [
        make_pipeline(StandardScaler(), SVC(C=10.0)),
        KNeighborsClassifier(n_neighbors=1),
        RidgeClassifier(),
        LinearSVC(random_state=0),
    ]
    if n_numbers <= MOST_NUMBERS_OF_LDA:
        found.append(LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"))
    return found


def name_of(model: object) -> str:
    """What a model is called in the table: a pipeline by its projectors and its last step.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from tenfold import CMDA, MCSDA, ModeScaler, ProbabilisticLDA
    >>> from tenfold.selection.comparison import name_of
    >>> name_of(MCSDA()), name_of(make_pipeline(ModeScaler(), CMDA(), ProbabilisticLDA()))
    ('MCSDA', 'CMDA + ProbabilisticLDA')
    """
    *before, last = steps_of(model)
    name = type(last).__name__
    inner = getattr(last, "projector", None)
    if inner is not None:
        name = f"{name}({type(inner).__name__})"
    projectors = [type(step).__name__ for step in before if isinstance(step, TensorProjector)]
    return " + ".join([*projectors, name])


def _free_names(models: Sequence[object]) -> list[str]:
    """What each model is called; a number tells models of the same name apart."""
    names: list[str] = []
    for model in models:
        name = free = name_of(model)
        number = 2
        while free in names:
            free = f"{name} {number}"
            number += 1
        names.append(free)
    return names


def _figures(name: str, folds: list[MethodFigures]) -> MethodFigures:
    """Figures of one model, means over folds."""
    precisions = [v for v in (one.average_precision for one in folds) if not np.isnan(v)]

    def mean(name: str) -> float:
        return _mean_of_known([getattr(one, name) for one in folds])

    return MethodFigures(
        name,
        mode(one.ranks for one in folds),
        mean("average_precision"),
        float(np.std(precisions)),
        mean("roc_auc"),
        None if folds[0].accuracy is None else mean("accuracy"),
        all(one.converged for one in folds),
        mean("seconds"),
        tuple(precisions),
        tuple(one.accuracy for one in folds if one.accuracy is not None),
    )


def _mean_of_known(values: Any) -> float:
    """The mean of those that are numbers; NaN where none is."""
    known = np.asarray(values)[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _figures_of_fold(
    method: object,
    X: Array,
    y: Array,
    group: Array | None,
    train: Array,
    test: Array,
    positive: object,
    search: bool,
) -> MethodFigures:
    start = time.perf_counter()
    model, before, X = _after_steps(method, X, y, train, search, group)
    tenfold_own = hasattr(model, "_output_kind")
    alone = tenfold_own and answer_of(model) == "score"
    if alone and positive is None:
        model = ClassSpecificClassifier(model)
    elif alone:
        model.set_params(positive=positive)
    if isinstance(model, LinearSVC):
        X = _in_span(X, train)
    inner_groups = None if group is None else group[train]
    model = _fitted(model, X[train], y[train], inner_groups, search and tenfold_own)
    seconds = time.perf_counter() - start
    classes, scores = _scores(model, X, y, train, test)
    asked = np.ones(len(classes), dtype=bool) if positive is None else classes == positive
    ranked = scores[:, asked], y[test][:, None] == classes[asked]
    if tenfold_own and answer_of(model) == "acceptance":
        is_accepted = model.predict(X[test]) == model.classes_[1]
        is_own = y[test] == model.positive_label_
        right = is_accepted == is_own
    elif hasattr(model, "predict"):
        right = model.predict(X[test]) == y[test]
    else:
        nearest = classes[scores.argmax(axis=1)]
        right = nearest == y[test]
    members = [step for step in before if isinstance(step, TensorProjector)]
    members += model.members_ if tenfold_own else []
    return MethodFigures(
        name_of(method),
        mode(member.ranks_ for member in members) if members else (),
        _mean_of_known(average_precisions(*ranked)),
        0.0,
        _mean_of_known(roc_areas(*ranked)),
        float(np.mean(right)) if positive is None else None,
        all(member.converged_ for member in members),
        seconds,
    )


def _fitted(model: Any, X: Array, y: Array, groups: Array | None, search: bool) -> Any:
    """A model that is fitted, after a search of its ranks where it has some.

    `converged` says for all folds what a warning would say for each.
    """
    if search and _has_ranks(model):
        inner = folds_of(INNER_FOLDS, y, groups)
        found = partial(search_ranks, model, X, y, inner, groups, verbose=False)
        return quietly(found, without=ConvergenceWarning)[0]
    fit = partial(model.fit, X, y, **groups_for(model, groups))
    quietly(fit, without=ConvergenceWarning)
    return model


def _after_steps(
    method: object, X: Array, y: Array, train: Array, search: bool, group: Array | None
) -> tuple[Any, list[Any], Array]:
    """The last step of what may be a pipeline, those before it, and the samples as these give them.

    Estimators of scikit-learn, and any classifier of others, get flat samples.
    """
    *before, model = map(clone, steps_of(method))
    fitted = []
    for step in before:
        if _wants_vectors(step):
            X = X.reshape(len(X), -1)
        if search and isinstance(step, TensorProjector) and _has_ranks(step):
            inner = folds_of(INNER_FOLDS, y[train], None if group is None else group[train])
            found = partial(search_ranks, step, X[train], y[train], inner, verbose=False)
            step, _ = quietly(found, without=ConvergenceWarning)
        else:
            quietly(partial(step.fit, X[train], y[train]), without=ConvergenceWarning)
        X = np.asarray(step.transform(X))
        fitted.append(step)
    if not hasattr(model, "_output_kind"):
        X = X.reshape(len(X), -1)
    return model, fitted, X


def _has_ranks(model: object) -> bool:
    """Whether a model has ranks that can be searched."""
    return getattr(model, "projector", None) is not None or hasattr(model, "ranks")


def _wants_vectors(step: object) -> bool:
    """Whether a step is of scikit-learn and takes vectors alone."""
    if not type(step).__module__.startswith("sklearn."):
        return False
    tags = get_tags(step)
    return not (tags.no_validation or tags.input_tags.three_d_array)


def _in_span(X: Array, train: Array) -> Array:
    """Samples as coordinates in the span of the training samples, where these are few.

    A support vector machine asks for inner products with training samples alone, and a turn leaves
    these as they are, but for rounding. With shorter vectors it finds the same answer.
    """
    if len(train) >= X.shape[1]:
        return X
    return np.asarray(X @ np.linalg.qr(X[train].T)[0])


def _scores(model: Any, X: Array, y: Array, train: Array, test: Array) -> tuple[Array, Array]:
    """The classes, and the score of every test sample for each."""
    if not hasattr(model, "_output_kind"):
        # What has probabilities is ranked by them: its scores compare classes, not samples.
        if hasattr(model, "predict_proba"):
            with np.errstate(divide="ignore"):
                if hasattr(model, "predict_log_proba"):
                    odds = np.asarray(model.predict_log_proba(X[test]))
                else:  # of neighbors
                    odds = np.log(np.asarray(model.predict_proba(X[test])))
            return model.classes_, np.maximum(odds, np.finfo(float).min)
        if hasattr(model, "decision_function"):
            return model.classes_, of_both_classes(model.decision_function(X[test]))
        raise ValueError(
            f"{type(model).__name__} has neither decision_function nor predict_proba, by "
            "which compare ranks samples; compare what is inside of it"
        )
    if answer_of(model) != "projection":
        return np.asarray(scored_labels(model)), model._class_scores(X[test])
    nearest = NearestMean().fit(model.transform(X[train]), y[train])
    return nearest.classes_, nearest.decision_function(model.transform(X[test]))
