"""Methods compared on the same folds by the same metrics."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import mode
from typing import Any

import numpy as np
from scipy.stats import t
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import RidgeClassifier
from sklearn.neighbors import NearestCentroid
from sklearn.svm import LinearSVC

from tenfold.decisions.classifier import ClassSpecificClassifier
from tenfold.decisions.folds import folds_of
from tenfold.decisions.members import answer_of
from tenfold.decisions.metrics import average_precisions, roc_areas
from tenfold.decisions.scores import of_both_classes, scored_labels, scores_of
from tenfold.mathematics.algebra import Array
from tenfold.mathematics.cost import Split
from tenfold.mathematics.two_covariances import log_posteriors
from tenfold.methods.base import Learner
from tenfold.methods.saving import steps_of
from tenfold.selection.rank_search import NearestMean, search_ranks
from tenfold.system.processes import PATIENCE, keep_freed_memory, over_processes
from tenfold.system.progress import progress
from tenfold.system.tables import Cell, Table, number, percent, times
from tenfold.validation.samples import check_groups, in_numpy

MOST_NUMBERS_OF_LDA = 2048  # it makes a table of all pairs of numbers, and solves with it
MOST_BYTES_TWICE = 2**28  # of samples that several processes may work on at the same time
INNER_FOLDS = 3  # of the rank search inside the training samples of a fold
MOST_NAMED = 4  # methods in a sentence


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
        The class that was told from the rest; None when every class was.
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
        n, least = len(differences), 1 / self.n_samples  # less than one sample is no difference
        if n < 2:
            return 0
        error = np.sqrt(differences.var(ddof=1) * (1 / n + self.test_per_training))
        mean = differences.mean()
        clear = abs(mean) > max(least, float(t.ppf(0.975, n - 1) * error))
        return int(np.sign(mean)) if clear else 0

    @property
    def advice(self) -> str:
        """One sentence that says which method to take, or that there is no clear winner."""
        first, *others = self.best_methods
        precision = f"average precision {100 * first.average_precision:.1f} %"
        if not others:
            return f"Take {first.method}: {precision}, above all others by more than the error."
        highest = "the highest " * (first is self.methods[0])
        names = [one.method for one in others]
        if len(names) > MOST_NAMED:
            names = [*names[: MOST_NAMED - 1], f"{len(names) - MOST_NAMED + 1} more"]
        return (
            f"No clear winner: {first.method} has {highest}{precision}, but is not clearly better "
            f"than {_listed(names)}; the differences are within the error over folds."
        )

    def __str__(self) -> str:
        return f"{self.table}\n{self.advice}"

    def as_dict(self) -> dict[str, Any]:
        """All figures by name."""
        return asdict(self)


def compare(
    methods: Sequence[Any],
    X: Any,
    y: Any,
    *,
    positive: Any = None,
    search: bool = False,
    cv: Any = 5,
    groups: Any = None,
    random_state: int = 0,
    verbose: bool | None = None,
) -> Comparison:
    """Compare methods by cross-validation, all of them on the same folds.

    A class is told from the rest by the distance from its mean: in its own subspace for
    class-specific methods, else in the subspace of all classes. `ProbabilisticLDA` and classifiers
    of scikit-learn, which get flat samples, are ranked by their own scores. Accuracy is that of
    `predict`; of a projector, which has none, that of the nearest mean. Figures are means over
    classes and folds; a class without test samples in a fold does not count there, and a test
    sample of a class without training samples is answered wrongly. What takes longer than some
    seconds is shared out over processes, as many as BLAS may use threads.

    Parameters
    ----------
    methods : sequence of projectors, classifiers and pipelines that end in one
        Not fitted, such as ``[ProbabilisticLDA(), MCSDA((5, 5)), *rivals(64)]``. The steps of a
        pipeline are fitted to the training samples of every fold.
    X : array-like of shape (n, I_1, ..., I_K)
        The samples.
    y : array-like of shape (n,)
        Their labels.
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
        the splitter, and for the folds of `search`.
    random_state : int, default=0
        Seed of the shuffle into folds, where `cv` is an int.
    verbose : bool or None, default=None
        A progress bar; None means on a terminal.

    Returns
    -------
    Comparison
        Its `methods` hold the figures, its `table` shows them, its `advice` says which to take.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tenfold import CMDA, MCSDA, compare
    >>> X, y = load_digits().images[:300], load_digits().target[:300]
    >>> found = compare([CMDA((4, 4)), MCSDA((4, 4))], X, y, cv=3)
    >>> [one.method for one in found.methods]
    ['MCSDA', 'CMDA']
    """
    X, y = np.asarray(in_numpy(X)), np.asarray(in_numpy(y, "y"))
    group = None if groups is None else check_groups("groups", groups, len(X))[1]
    splits = folds_of(cv, y, group, random_state)
    _check_folds(splits, y, positive)
    given = X, y, group
    tasks = [(method, *given, *split, positive, search) for method in methods for split in splits]
    patience = PATIENCE if X.nbytes <= MOST_BYTES_TWICE else np.inf
    found: dict[int, MethodFigures] = {}  # every fold of every method is a task of its own
    with progress("comparing", len(tasks), verbose) as advance:
        advance(0, name_of(methods[0]) if methods else "")
        for task, one in over_processes(_figures_of_fold, tasks, patience):
            found[task] = one
            advance(1, name_of(tasks[min(task + 1, len(tasks) - 1)][0]))
    n_folds, folds = len(splits), [found[task] for task in range(len(tasks))]
    figures = [_figures(folds[m * n_folds : (m + 1) * n_folds]) for m in range(len(methods))]
    figures.sort(key=lambda one: -one.average_precision)
    shape, n_classes = tuple(X.shape[1:]), len(np.unique(y))
    ratio = float(np.mean([len(test) / len(train) for train, test in splits]))
    return Comparison(figures, len(X), n_classes, n_folds, shape, positive, ratio)


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


def rivals(n_numbers: int) -> list[Any]:
    """Classifiers of scikit-learn that see samples as vectors, at their usual settings.

    Parameters
    ----------
    n_numbers : int
        How many numbers a sample has.

    Returns
    -------
    list of classifiers
        The nearest mean, ridge regression, a linear support vector machine and, up to 2048
        numbers, where it does not take minutes, linear discriminant analysis with shrinkage.
    """
    found = [NearestCentroid(), RidgeClassifier(), LinearSVC(random_state=0)]
    if n_numbers <= MOST_NUMBERS_OF_LDA:
        found.append(LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"))
    return found


def name_of(method: Any) -> str:
    """What a method is called in the table.

    Examples
    --------
    >>> from tenfold import MCSDA, MPCA, ProbabilisticLDA
    >>> from tenfold.selection.comparison import name_of
    >>> name_of(MCSDA()), name_of(ProbabilisticLDA(MPCA()))
    ('MCSDA', 'ProbabilisticLDA(MPCA)')
    """
    method = steps_of(method)[-1]
    name, inner = type(method).__name__, getattr(method, "projector", None)
    return name if inner is None else f"{name}({type(inner).__name__})"


def _figures(folds: list[MethodFigures]) -> MethodFigures:
    """Figures of one method, means over folds."""
    precisions = [v for v in (one.average_precision for one in folds) if not np.isnan(v)]

    def mean(name: str) -> float:
        return _mean_of_known([getattr(one, name) for one in folds])

    return MethodFigures(
        folds[0].method,
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
    method: Any,
    X: Array,
    y: Array,
    group: Array | None,
    train: Array,
    test: Array,
    positive: Any,
    search: bool,
) -> MethodFigures:
    keep_freed_memory()
    model, X = _after_steps(method, X, y, train)
    tenfold_own = isinstance(model, Learner)
    alone = tenfold_own and answer_of(model) == "score"
    if alone and positive is None:
        model = ClassSpecificClassifier(model)
    elif alone:
        model.set_params(positive=positive)
    start = time.perf_counter()
    samples = X if tenfold_own else X.reshape(len(X), -1)
    if isinstance(model, LinearSVC):
        samples = _in_span(samples, train)
    with warnings.catch_warnings():
        # `converged` says it once for all; what others warn of is not about our methods
        warnings.simplefilter("ignore", ConvergenceWarning if tenfold_own else Warning)
        if search and tenfold_own and getattr(model, "projector", model) is not None:
            inner = folds_of(INNER_FOLDS, y[train], None if group is None else group[train])
            model, _ = search_ranks(model, X[train], y[train], inner, verbose=False)
        else:
            model.fit(samples[train], y[train])
    seconds = time.perf_counter() - start
    classes, scores = _scores(model, samples, y, train, test)
    asked = np.ones(len(classes), dtype=bool) if positive is None else classes == positive
    ranked = scores[:, asked], y[test][:, None] == classes[asked]
    nearest = classes[scores.argmax(axis=1)]
    named = model.predict(samples[test]) if hasattr(model, "predict") else nearest
    members = model.members_ if tenfold_own else []
    return MethodFigures(
        name_of(method),
        mode(member.ranks_ for member in members) if members else (),
        _mean_of_known(average_precisions(*ranked)),
        0.0,
        _mean_of_known(roc_areas(*ranked)),
        float(np.mean(named == y[test])) if positive is None else None,
        all(member.converged_ for member in members),
        seconds,
    )


def _after_steps(method: Any, X: Array, y: Array, train: Array) -> tuple[Any, Array]:
    """The last step of what may be a pipeline, and the samples as the steps before give them."""
    *before, model = map(clone, steps_of(method))
    for step in before:
        X = np.asarray(step.fit(X[train], y[train]).transform(X))
    return model, X


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
    if not isinstance(model, Learner):
        if not hasattr(model, "decision_function"):
            raise ValueError(
                f"{type(model).__name__} has no decision_function, by which compare ranks samples; "
                "compare what is inside of it"
            )
        scores = of_both_classes(model.decision_function(X[test]))
        # What has probabilities is ranked by them: its scores compare classes, not samples.
        by_odds = hasattr(model, "predict_proba")
        return model.classes_, log_posteriors(scores) if by_odds else scores
    if answer_of(model) != "projection":
        return np.asarray(scored_labels(model)), scores_of(model, X[test])
    nearest = NearestMean().fit(model.transform(X[train]), y[train])
    return nearest.classes_, nearest.decision_function(model.transform(X[test]))
