"""Held-out scores for a verifier: of impostors it has never met, and of its own class.

The threshold rests on the many samples of other classes, not on the few of the positive one. So
every positive sample stays in the training part when impostors are held out: the models of the
folds are as good as that of all samples. Positives are held out in folds of their own, to estimate
the share of false rejects.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from math import exp, prod, sqrt
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import check_cv

from tenfold.decisions.distances import OfBlock
from tenfold.decisions.folds import fold_numbers, held_out, positions, statistics_in_folds
from tenfold.mathematics.accumulate import row_blocks
from tenfold.mathematics.algebra import Array, to_numpy
from tenfold.mathematics.alternation import Solution, solve
from tenfold.mathematics.cost import Parts, Split, renumbered
from tenfold.mathematics.criteria import Problem, out_class_spreads
from tenfold.mathematics.held_out_samples import held_out_statistics
from tenfold.mathematics.likelihood_ratio import farness, ratio_at
from tenfold.mathematics.moments import ClassStatistics
from tenfold.mathematics.sample_statistics import SampleStatistics
from tenfold.mathematics.stores import over_blocks
from tenfold.methods.base import Described
from tenfold.methods.class_specific import ClassSpecificProjector, spreads_of
from tenfold.system.threads import threads_for
from tenfold.validation import parameters
from tenfold.validation import samples as check

FEWEST_CLASSES = 4  # other classes; fewer say nothing about new ones, so samples are held out
ENOUGH_CLASSES = 10  # from which rates below one over their number plus one may be extrapolated
MOST_FOLDS = 50  # when models that lack a fold are unlike the model of all samples
NOTHING = float(np.finfo(np.float32).tiny)  # above minus every distance
ABOVE_ALL = float(np.finfo(np.float32).max)  # above every likelihood ratio
ALIKE = 1.05  # the ratio of their spreads that is let pass


class Measured(NamedTuple):
    """A class-specific projector, and how far everything else is from its mean in its subspace."""

    projector: ClassSpecificProjector
    spread: float
    solution: Solution

    def measure(self) -> OfBlock:
        """What says how far samples in memory are from the class, and their keys."""
        anchors = self.projector.anchors_ if self.projector._has_ratio else None
        scoring = self.projector._scoring()
        return partial(farness_in, scoring=scoring, unit=self.spread, anchors=anchors)

    def score_at(self, far: float) -> float:
        """The score of a sample that is so far from the class, always a number."""
        if far == -np.inf:
            return ABOVE_ALL if self.projector._has_ratio else NOTHING
        if self.projector._has_ratio:
            return ratio_at(far, self.projector.anchors_)
        return -float(np.exp(far)) * self.spread


def measured_in_folds(
    model: ClassSpecificProjector,
    described: Described,
    X: Any,
    y: Array,
    weight: Array | None,
    classes: Array,
    parts: Parts,
    sizes: Sequence[int],
) -> Iterator[list[Measured]]:
    """The model of the first part, then those of so many parts at a time; none warns.

    Parts of samples in memory are what all samples say less a few columns, and one stack.
    """
    described, found = statistics_in_folds(model, described, X, y, weight, classes, parts)
    whole = next(found)
    yield [measured(model, described, whole)]
    shared = model._is_one_solution and parts.times.max() <= 1
    if shared and isinstance(whole, SampleStatistics):
        found = iter(held_out_statistics(whole, parts)[1:])
        for size in sizes:
            yield measured_together(model, described, list(islice(found, size)))
        return
    for size in sizes:
        yield [measured(model, described, statistics) for statistics in islice(found, size)]


def measured(
    model: ClassSpecificProjector, described: Described, statistics: ClassStatistics
) -> Measured:
    """The model of these statistics."""
    check.check_classes(statistics.classes, model)
    found, solution = model._solve(statistics, described["sample_shape_"])
    if model.decision == "likelihood_ratio":
        spread = sqrt(max(found.anchors[1] - found.anchors[0], np.finfo(float).tiny))
    elif model._is_one_solution:
        (spread,) = out_class_spreads(statistics, solution.kept, np.array([found.positive_index]))
    else:
        _, (spread,) = spreads_of(model, [found], statistics)
    return Measured(clone(model)._set_fitted(described, found), float(spread), solution)


def measured_together(
    model: ClassSpecificProjector, described: Described, parts: Sequence[ClassStatistics]
) -> list[Measured]:
    """The models of statistics that share their terms, solved as one stack."""
    for statistics in parts:
        check.check_classes(statistics.classes, model)
    if not parts:
        return []
    problem = Problem.stacked([model._problem(statistics) for statistics in parts])
    with threads_for(problem.shape, True, len(problem)) as threads:
        solution = solve(problem, model._recipe(), threads)
    result = []
    for number, statistics in enumerate(parts):
        m = np.array([number])
        found = model._model(statistics, solution, m, described["sample_shape_"])
        positive = np.array([found.positive_index])
        (spread,) = out_class_spreads(statistics, solution.kept[m], positive)
        fold = clone(model)._set_fitted(described, found)
        result.append(Measured(fold, float(spread), solution))
    return result


def farness_in(X: Array, scoring: OfBlock, unit: float, anchors: Array | None) -> Array:
    """How far samples are from a class, in a unit that folds share, and content keys, (n, 2).

    The logarithm of the distance in units of the spread of everything else, minus infinity at the
    mean; of a likelihood ratio its `farness`.
    """
    scores = to_numpy(scoring(X)).astype(float)
    if anchors is not None:
        far = farness(scores, anchors)
    else:
        with np.errstate(divide="ignore"):
            far = np.log(-scores / unit)
    return np.stack([far, content_keys(X)], axis=1)


class Verification(NamedTuple):
    """What the folds of a verifier say.

    `farness` says how far samples are from the class by a model that has not seen them, and NaN for
    samples that no fold holds out; see `farness_in`.
    """

    whole: Measured  # fitted on all samples
    farness: Array  # (n,)
    keys: Array  # (n,), the same for samples with the same content
    ratio: float  # how much the spreads of the folds differ from that of all samples, 1 or more


class FoldPlan(NamedTuple):
    """Folds that hold out positives, and folds for the rest: each way to deal is tried in turn.

    A fold is given by its number for each sample, -1 where none holds it out.
    """

    parts: Parts  # all samples, then what each fold of `own` and of `impostors` leaves
    own: Array  # (n,)
    impostors: list[Array]  # (n,) each
    by_class: bool  # whether impostors are held out with their whole class


def verified(
    model: ClassSpecificProjector,
    described: Described,
    X: Any,
    labels: Array,
    weight: Array | None,
    classes: Array,
    plan: FoldPlan,
) -> Verification:
    """Distances of held-out samples, and the model of all samples, from two readings of them.

    The next folds of impostors are tried when the spreads of the last ones were unlike that of all
    samples, as happens where a few classes more or less change the subspace.

    Parameters
    ----------
    model : ClassSpecificProjector
        Not fitted, with the label of the positive class.
    described : mapping
        What is known of the samples, from `Learner._first_batch`.
    X, labels, weight : arrays
        The batch that came with it.
    classes : ndarray of shape (C,)
        All labels, sorted.
    plan : FoldPlan
        The folds.

    Returns
    -------
    Verification
        What they say.
    """
    sizes = [n_folds_of(folds) for folds in (plan.own, *plan.impostors)]
    parts = plan.parts
    folds = measured_in_folds(model, described, X, labels, weight, classes, parts, sizes)
    (whole,) = next(folds)
    model._warn_unless_converged(whole.solution)
    own, n_own = next(folds), sizes[0]
    for chosen in plan.impostors:
        found = next(folds)
        spreads = np.array([fold.spread for fold in found])
        ratio = exp(np.abs(np.log(spreads / whole.spread)).mean())
        held = np.where(chosen >= 0, chosen + n_own, plan.own)
        if ratio <= ALIKE:
            break
    seen = held_out(X, held, [fold.measure() for fold in (*own, *found)])
    return Verification(whole, seen[:, 0], seen[:, 1], ratio)


# ── Folds ───────────────────────────────────────────────────────────────────────────────────────


def tells_of_strangers(n_classes: int, rate: Any) -> bool:
    """Whether so many other classes can say how many samples of new ones are accepted."""
    if rate == "equal" or rate == 0 or rate * (n_classes + 1) >= 1:
        return n_classes >= FEWEST_CLASSES
    return n_classes >= ENOUGH_CLASSES


def fold_plan(cv: Any, X: Any, codes: Array, positive: int, used: Array, rate: Any) -> FoldPlan:
    """The folds of a verifier.

    Parameters
    ----------
    cv : int, splitter or iterable of splits
        An int holds out that many folds of other classes, or of their samples when these say
        too little about strangers. Of given folds the test parts are taken; positives of a
        training part are joined by all others when impostors are scored.
    X, codes : arrays of shapes (n, I_1, ..., I_K) and (n,)
        The samples and the numbers of their classes. Samples that are dealt one by one are read:
        the positives, and all where no classes are held out.
    positive : int
        The number of the class to verify.
    used : ndarray of bool of shape (n,)
        Which samples have weight.
    rate : float or "equal"
        The share of false accepts to find.

    Returns
    -------
    FoldPlan
        At least one fold of impostors.
    """
    is_own = codes == positive
    own, others = np.flatnonzero(is_own & used), np.flatnonzero(~is_own & used)
    if not isinstance(cv, Integral):
        return _given_folds(positions(check_cv(cv).split(X, codes), len(codes)), codes, own, others)
    n_folds = parameters.check_option("cv", cv, [parameters.Number(2, whole=True)])
    by_class = tells_of_strangers(len(renumbered(codes[others])[0]), rate)
    dealt = own if by_class else np.flatnonzero(used)
    units = codes.copy()
    units[dealt] = units_of(X[dealt])
    n_units = len(renumbered(units[others])[0])
    if n_units < 2:
        raise ValueError(
            f"there is {n_units} sample of other classes only, so none can be held out to choose "
            "the threshold; pass more"
        )
    sizes = sorted({min(n_folds, n_units), min(max(n_folds, MOST_FOLDS), n_units)})
    impostors = [_dealt(others, units, size) for size in sizes]
    of_own = _dealt(own, units, n_folds)
    return FoldPlan(Parts.of_folds([of_own, *impostors], codes), of_own, impostors, by_class)


def _given_folds(given: list[Split], codes: Array, own: Array, others: Array) -> FoldPlan:
    of_own = _with_test([(train, np.intersect1d(test, own)) for train, test in given])
    rest = _with_test(
        [(np.union1d(train, own), np.intersect1d(test, others)) for train, test in given]
    )
    trains = [np.arange(len(codes)), *(train for train, _ in of_own + rest)]
    by_class = not any(len(np.intersect1d(codes[a], codes[b])) for a, b in rest)
    parts = Parts.of_rows(trains, codes)
    return FoldPlan(
        parts, fold_numbers(of_own, len(codes)), [fold_numbers(rest, len(codes))], by_class
    )


def _dealt(rows: Array, units: Array, n_folds: int) -> Array:
    """The fold (n,) of each sample, dealt unit by unit (n,); none where rows are a single unit.

    Units are dealt as they sort: the order of the samples plays no part.
    """
    found, code = renumbered(units[rows])
    folds = np.full(len(units), -1)
    if len(found) > 1:
        dealt = np.random.default_rng(0).permutation(len(found)) % min(n_folds, len(found))
        folds[rows] = dealt[code]
    return folds


def n_folds_of(folds: Array) -> int:
    """How many folds there are."""
    return int(folds.max(initial=-1)) + 1


def _with_test(splits: list[Split]) -> list[Split]:
    return [(train, test) for train, test in splits if len(test)]


# ── Equal samples ───────────────────────────────────────────────────────────────────────────────


def content_keys(X: Array) -> Array:
    """A number (n,) of the content of each sample: of 2^53, and the same for equal samples."""
    X, n_numbers = to_numpy(X), prod(X.shape[1:])
    weights = np.random.default_rng(0).integers(2**64, size=n_numbers, dtype=np.uint64)
    keys = np.empty(len(X))
    for rows in row_blocks(len(X), 3 * 8 * n_numbers):
        numbers = np.ascontiguousarray(X[rows], dtype=np.float64).reshape(-1, n_numbers) + 0.0
        bits = numbers.view(np.uint64)  # + 0.0, since -0.0 equals 0.0
        bits ^= bits >> np.uint64(32)
        keys[rows] = bits @ (weights | np.uint64(1)) >> np.uint64(11)
    return keys


def weighted_sums(X: Array) -> Array:
    """Sums (n,) of the numbers of each sample with fixed random weights."""
    X, n_numbers = to_numpy(X), prod(X.shape[1:])
    weights = np.random.default_rng(0).standard_normal(n_numbers)
    sums = np.empty(len(X))
    for rows in row_blocks(len(X), 8 * n_numbers):
        sums[rows] = X[rows].reshape(-1, n_numbers) @ weights
    return sums


def units_of(X: Any) -> Array:
    """The same number for equal samples.

    Numbers follow a sum of the numbers of a sample with fixed random weights, so they depend
    neither on the order of the samples nor on their last bits.
    """
    keys, sums = to_numpy(over_blocks(X, _keys_and_sums)).T
    _, first, same = np.unique(keys, return_index=True, return_inverse=True)
    number = np.empty(len(first), dtype=np.intp)
    number[np.argsort(sums[first])] = np.arange(len(first))
    return np.asarray(number[same.ravel()])


def _keys_and_sums(X: Array) -> Array:
    return np.stack([content_keys(X), weighted_sums(X)], axis=1)


def merged_equals(keys: Sequence[Array], weight: Array) -> tuple[Array, Array]:
    """The first of the samples that are equal in all keys, and the sum of their weights."""
    if (np.diff(np.sort(keys[0])) > 0).all():  # all differ
        return np.arange(len(weight)), weight
    codes = np.stack([np.unique(key, return_inverse=True)[1].ravel() for key in keys], axis=1)
    _, first, merged = np.unique(codes, axis=0, return_index=True, return_inverse=True)
    return first, np.bincount(merged.ravel(), weight)
