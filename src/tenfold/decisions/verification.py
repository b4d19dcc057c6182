"""Held-out scores for a verifier: of impostors it has never met, and of its own class.

The threshold rests on the many samples of other classes, not on the few of the positive one. So
every positive sample stays in the training part when impostors are held out: the models of the
folds are as good as that of all samples. Positives are held out in folds of their own, to estimate
the share of false rejects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from math import exp, prod, sqrt
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import check_cv

from tenfold.decisions.distances import OfBlock
from tenfold.decisions.folds import positions
from tenfold.mathematics.accumulate import as_slice, row_blocks
from tenfold.mathematics.algebra import Array, to_numpy
from tenfold.mathematics.alternation import Solution, solve
from tenfold.mathematics.cost import Parts, Split, part_statistics, renumbered
from tenfold.mathematics.criteria import Problem
from tenfold.mathematics.held_out_samples import held_out_statistics
from tenfold.mathematics.moments import ClassMoments, ClassStatistics
from tenfold.mathematics.sample_statistics import SampleStatistics
from tenfold.mathematics.stores import Source, over_blocks
from tenfold.mathematics.subspace import farness, ratio_at
from tenfold.mathematics.tuning import CACHE_NUMBERS
from tenfold.methods.base import ClassSpecificProjector, Described, spreads_of
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
        """What says how far samples in memory are from the class, and what they contain."""
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
    plan: FoldPlan,
) -> Iterator[list[Measured]]:
    """The model of all samples, then those of every way to hold some out; none warns.

    Parts of samples in memory are what all samples say less a few columns, and one stack.
    """
    whole: ClassStatistics | None = None
    for reading in plan.readings:
        parts, sizes = reading()
        if not isinstance(whole, SampleStatistics):
            described, seen = model._prepared(described, X, weight)
            work = model._workload(seen.shape[1:], classes)
            found = part_statistics(seen, y, weight, classes, parts, work)
            first, whole = whole is None, next(found)
            if first:
                yield measured(model, described, [whole])
        shared = model._is_one_solution and parts.times.max() <= 1
        if shared and isinstance(whole, SampleStatistics):
            found = iter(held_out_statistics(whole, parts)[1:])
        for size in sizes:
            some = islice(found, size)
            if shared and isinstance(whole, SampleStatistics):
                yield measured(model, described, list(some))
            else:
                yield [one for part in some for one in measured(model, described, [part])]


def measured(
    model: ClassSpecificProjector, described: Described, parts: Sequence[ClassStatistics]
) -> list[Measured]:
    """The models of statistics that share their terms, solved as one stack."""
    for statistics in parts:
        check.check_classes(statistics.classes, model)
    if not parts:
        return []
    problem = Problem.stacked([model._problem(statistics) for statistics in parts])
    small = isinstance(parts[0], ClassMoments) or len(problem) > 1
    with threads_for(problem.shape, small, len(problem)) as threads:
        solution = solve(problem, model._recipe(), threads)
    result = []
    for number, statistics in enumerate(parts):
        m = np.array([number])
        found = model._model(statistics, solution, m, described["sample_shape_"])
        fold = clone(model)._set_fitted(described, found)
        if fold._has_ratio:
            typical, even = fold.anchors_
            spread = sqrt(max(even - typical, np.finfo(float).tiny))
        else:
            _, (spread,) = spreads_of(model, [found], statistics, solution, m)
        result.append(Measured(fold, float(spread), solution))
    return result


def farness_in(X: Array, scoring: OfBlock, unit: float, anchors: Array | None) -> Array:
    """How far samples are from a class, in a unit that folds share, and `content_of` them, (n, 2).

    The logarithm of the distance in units of the spread of everything else, minus infinity at the
    mean; of a likelihood ratio its `farness`.
    """
    scores = to_numpy(scoring(X)).astype(float)
    if anchors is not None:
        far = farness(scores, anchors)
    else:
        with np.errstate(divide="ignore"):
            far = np.log(-scores / unit)
    return np.stack([far, content_of(X)], axis=1)


class Verification(NamedTuple):
    """What the folds of a verifier say.

    `farness` says how far samples are from the class by a model that has not seen them, and NaN for
    samples that no fold holds out; see `farness_in`.
    """

    whole: Measured  # fitted on all samples
    farness: Array  # (n,)
    content: Array  # (n,), the same for samples with the same content
    ratio: float  # how much the spreads of the folds differ from that of all samples, 1 or more


Reading = tuple[Parts, list[int]]  # all samples, then what folds of some ways leave; their numbers


class FoldPlan(NamedTuple):
    """Folds that hold out positives, and folds for the rest: each way to deal is tried in turn.

    A fold is given by its number for each sample, -1 where none holds it out.
    """

    own: Array  # (n,)
    impostors: list[Array]  # (n,) each
    by_class: bool  # whether impostors are held out with their whole class
    units: Array | None  # (n,), the same for equal samples, where they were looked for
    readings: Sequence[Callable[[], Reading]]  # of the first ways, and of others if they are needed


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
    samples, as happens where a few classes more or less change the subspace. Where single samples
    are held out, that takes one more reading.

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
    folds = measured_in_folds(model, described, X, labels, weight, classes, plan)
    (whole,) = next(folds)
    model._warn_unless_converged(whole.solution)
    own, n_own = next(folds), n_folds_of(plan.own)
    for chosen in plan.impostors:
        found = next(folds)
        spreads = np.array([fold.spread for fold in found])
        ratio = exp(np.abs(np.log(spreads / whole.spread)).mean())
        held = np.where(chosen >= 0, chosen + n_own, plan.own)
        if ratio <= ALIKE:
            break
    seen = held_out(X, held, [fold.measure() for fold in (*own, *found)])
    content = seen[:, 1] if plan.units is None else plan.units
    return Verification(whole, seen[:, 0], content, ratio)


def held_out(X: Any, folds: Array, works: Sequence[OfBlock]) -> Array:
    """What each fold says of the samples that it has not seen, from one reading of them.

    Parameters
    ----------
    X : ndarray or Source of shape (n, I_1, ..., I_K)
        The samples.
    folds : ndarray of shape (n,)
        The number of the fold that holds each sample out; -1 where none does.
    works : sequence of F callables
        What the model of each fold gives for a block of samples, (m, ...); m may be 0.

    Returns
    -------
    ndarray of shape (n, ...)
        In float64; NaN for samples that no fold holds out.
    """
    work = partial(_by_folds, works=works)
    if not isinstance(X, Source):
        return work(X, folds)
    own = np.flatnonzero(folds >= 0)
    some = X if len(own) == len(X) else X[own]
    found = to_numpy(some.rows(work, folds[own]))
    result = np.full((len(X), *found.shape[1:]), np.nan)
    result[own] = found
    return result


def _by_folds(X: Array, folds: Array, works: Sequence[OfBlock]) -> Array:
    """For each sample what the fold of this number gives; NaN for those without one."""
    X = to_numpy(X)
    result = np.full((len(X), *works[0](X[:0]).shape[1:]), np.nan)
    for number, work in enumerate(works):
        rows = np.flatnonzero(folds == number)
        for block in row_blocks(
            len(rows), X[:1].nbytes, 8 * CACHE_NUMBERS
        ):  # they stay in the cache
            some = rows[block]
            result[some] = work(X.take(some, axis=0))  # takes half the time of X[rows]
    return result


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
    units[dealt] = units_of(X[as_slice(dealt)])
    found, code = renumbered(units[others])
    n_units = len(found)
    if n_units < 2:
        raise ValueError(
            f"there is {n_units} sample of other classes only, so none can be held out to choose "
            "the threshold; pass more"
        )
    sizes = sorted({min(n_folds, n_units), min(max(n_folds, MOST_FOLDS), n_units)})
    first, *finer = impostors = [_dealt(others, code, len(codes), size) for size in sizes]
    of_own = _dealt(own, renumbered(units[own])[1], len(codes), n_folds)
    ways = [[of_own, first, *finer]] if by_class else [[of_own, first], *([way] for way in finer)]
    readings = [partial(_reading, some, codes) for some in ways]
    return FoldPlan(of_own, impostors, by_class, None if by_class else units, readings)


def _given_folds(given: list[Split], codes: Array, own: Array, others: Array) -> FoldPlan:
    of_own = _with_test([(train, np.intersect1d(test, own)) for train, test in given])
    rest = _with_test(
        [(np.union1d(train, own), np.intersect1d(test, others)) for train, test in given]
    )
    trains = [np.arange(len(codes)), *(train for train, _ in of_own + rest)]
    by_class = not any(len(np.intersect1d(codes[a], codes[b])) for a, b in rest)
    parts, sizes = Parts.of_rows(trains, codes), [len(of_own), len(rest)]
    numbers = [fold_numbers(splits, len(codes)) for splits in (of_own, rest)]
    return FoldPlan(numbers[0], numbers[1:], by_class, None, [lambda: (parts, sizes)])


def _reading(ways: list[Array], codes: Array) -> Reading:
    return Parts.of_folds(ways, codes), [n_folds_of(folds) for folds in ways]


def _dealt(rows: Array, units: Array, n: int, n_folds: int) -> Array:
    """The fold (n,) of each sample; rows of the same unit, numbered from 0, share one.

    There are none where rows are a single unit. Units are dealt as they sort: the order of the
    samples plays no part.
    """
    folds = np.full(n, -1)
    n_units = int(units.max(initial=-1)) + 1
    if n_units > 1:
        dealt = np.random.default_rng(0).permutation(n_units) % min(n_folds, n_units)
        folds[rows] = dealt[units]
    return folds


def fold_numbers(splits: Sequence[Split], n: int) -> Array:
    """The number of the last split whose test part has each of n samples, or -1."""
    folds = np.full(n, -1)
    for number, (_, test) in enumerate(splits):
        folds[test] = number
    return folds


def n_folds_of(folds: Array) -> int:
    """How many folds there are."""
    return int(folds.max(initial=-1)) + 1


def _with_test(splits: list[Split]) -> list[Split]:
    return [(train, test) for train, test in splits if len(test)]


# ── Equal samples ───────────────────────────────────────────────────────────────────────────────


def content_of(X: Array) -> Array:
    """A number (n,) of the content of each sample: the same for equal samples, and for no others.

    It is a sum with fixed random weights: it grows with the units of the data, and its last bits
    are theirs.
    """
    X = to_numpy(X)
    weights = np.random.default_rng(0).standard_normal(prod(X.shape[1:]))
    rows = X.reshape(len(X), len(weights))
    return np.asarray(np.vecdot(rows, weights))  # one by one: a product rounds each in its own way


def units_of(X: Any) -> Array:
    """The same number for equal samples, which depends neither on their order nor on last bits."""
    content = to_numpy(over_blocks(X, content_of))
    order = np.argsort(content)
    content = content[order]
    units = np.empty(len(order), dtype=np.intp)
    units[order] = np.cumsum(np.append(False, content[1:] > content[:-1])[: len(order)])
    return units


def merged_equals(content: Array, codes: Array, weight: Array) -> tuple[Array, Array]:
    """The first of the samples of a class with equal content, and the sum of their weights."""
    if content.dtype.kind == "i":
        all_differ = np.bincount(content).max(initial=0) <= 1
    else:
        all_differ = (np.diff(np.sort(content)) > 0).all()
    if all_differ:
        return np.arange(len(weight)), weight
    both = np.stack([np.unique(content, return_inverse=True)[1].ravel(), codes], axis=1)
    _, first, merged = np.unique(both, axis=0, return_index=True, return_inverse=True)
    return first, np.bincount(merged.ravel(), weight)
