"""Scores of samples that the models of folds have not seen, for a verifier with a projector.

Every positive sample stays in the training part when impostors are held out: the models of the
folds are as good as that of all samples. Positives are held out in folds of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from math import exp, prod, sqrt
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from tenfold.classifiers.thresholds import ENOUGH_CLASSES, Impostors
from tenfold.linalg.algebra import Array
from tenfold.linalg.arrays import to_numpy
from tenfold.linalg.constants import CACHE_NUMBERS
from tenfold.methods.class_specific import ClassSpecificProjector, spreads_of
from tenfold.optimization.alternation import Solution, solve
from tenfold.optimization.criteria import Problem
from tenfold.statistics.accumulate import as_slice, row_blocks
from tenfold.statistics.class_statistics import ClassStatistics, MomentStatistics
from tenfold.statistics.cost import Parts, PartStatistics, Split, renumbered, with_tables
from tenfold.statistics.pooled import OneClassStatistics
from tenfold.statistics.sample_statistics import HeldOutStatistics, SampleStatistics
from tenfold.statistics.stores import OfBlock, Source, over_blocks
from tenfold.statistics.subspace import ratio_at, signed_distance
from tenfold.threads import threads_for
from tenfold.validation import parameters
from tenfold.validation.labels import check_classes
from tenfold.validation.samples import InputInfo, Samples

FEWEST_CLASSES = 4  # other classes; fewer say nothing about new ones, so samples are held out
MOST_FOLDS = 50  # when models that lack a fold are unlike the model of all samples
NOTHING = float(np.finfo(np.float32).tiny)  # above minus every distance
ABOVE_ALL = float(np.finfo(np.float32).max)  # above every likelihood ratio
ALIKE = 1.05  # the ratio of their spreads that is let pass


# ── Models of folds ─────────────────────────────────────────────────────────────────────────────


class Measured(NamedTuple):
    """A class-specific projector, and how far everything else is from its mean in its subspace."""

    projector: ClassSpecificProjector
    spread: float
    solution: Solution

    def measure(self) -> OfBlock:
        """What says how far samples in memory are from the class."""
        anchors = self.projector.anchors_ if self.projector._has_ratio else None
        scoring = self.projector._scoring()
        return partial(signed_distance_in, scoring=scoring, unit=self.spread, anchors=anchors)

    def score_at(self, far: float) -> float:
        """The score of a sample that is so far from the class, always a number."""
        if far == -np.inf:
            return ABOVE_ALL if self.projector._has_ratio else NOTHING
        if self.projector._has_ratio:
            return ratio_at(far, self.projector.anchors_)
        return -float(np.exp(far)) * self.spread


class FoldModels(NamedTuple):
    """The model of all samples, those without some positives, and those without some impostors."""

    whole: Measured
    own: list[Measured]
    impostors: list[Measured]
    folds: Array  # (n,), the fold that holds each impostor out; -1 where none does

    @property
    def ratio(self) -> float:
        """How much the spreads of the folds differ from that of all samples, 1 or more."""
        spreads = np.array([fold.spread for fold in self.impostors])
        return exp(np.abs(np.log(spreads / self.whole.spread)).mean())


def fold_models(
    model: ClassSpecificProjector,
    input_info: InputInfo,
    X: Samples,
    y: Array,
    weight: Array | None,
    classes: Array,
    plan: FoldPlan,
) -> Iterator[FoldModels]:
    """The models of every way to hold impostors out, in turn; none warns.

    Parts of samples in memory are what all samples say less a few columns, and one stack.
    """
    samples: SampleStatistics | None = None  # of all, if these serve every part
    of_all: list[Measured] = []
    own: list[Measured] | None = None
    for ways in plan.readings():
        parts = Parts.of_folds(ways, plan.codes)
        if samples is None:
            input_info, seen = model._map_samples(input_info, X, weight)
            ranks = np.array([[model._asked_ranks(seen.shape[1:], classes)[0]]])
            rounds = model._recipe().expected_rounds(seen.ndim - 1)
            memory = parameters.memory_budget()
            # Scatters of other classes are pooled, unless the shrinkage follows from each of them.
            positive = -1 if model.shrinkage == "auto" else plan.positive
            found = PartStatistics.of(
                seen, y, weight, classes, parts, ranks, rounds, memory, positive
            )
            if not of_all:
                whole = found.part(0)
                of_all = fit_fold_models(model, input_info, [whole])
                if isinstance(whole, SampleStatistics) and model._is_one_solution:
                    samples = whole
        shared = None
        if samples is not None:
            n_parts = len(parts.times) - 1
            shared = with_tables(samples, np.repeat(ranks, n_parts, axis=1), rounds, memory)
        part = 1  # the first is that of all samples
        for folds in ways:
            models: list[Measured] = []
            numbers = range(part, part + n_folds_of(folds))
            part = numbers.stop
            if shared is not None:
                kept = [parts.times[number][parts.atoms] > 0 for number in numbers]
                without = [HeldOutStatistics.of_part(shared, rows) for rows in kept]
                models = fit_fold_models(model, input_info, without)
            else:
                for number in numbers:
                    models += fit_fold_models(model, input_info, [found.part(number)])
            if own is None:  # the first way holds out positives
                own = models
            else:
                yield FoldModels(of_all[0], own, models, folds)


def fit_fold_models(
    model: ClassSpecificProjector, input_info: InputInfo, parts: Sequence[ClassStatistics]
) -> list[Measured]:
    """The models of statistics that share their terms, solved as one stack."""
    for statistics in parts:
        check_classes(statistics.classes, model)
    if not parts:
        return []
    problem = Problem.stacked([model._problem(statistics) for statistics in parts])
    of_tables = isinstance(parts[0], MomentStatistics | OneClassStatistics)
    small = of_tables or len(problem) > 1
    with threads_for(problem.shape, small, len(problem)) as threads:
        solution = solve(problem, model._recipe(), threads)
    result = []
    for number, statistics in enumerate(parts):
        m = np.array([number])
        found = model._model(statistics, solution, m, input_info["sample_shape_"])
        fold = clone(model)._set_fitted(input_info, found)
        if fold._has_ratio:
            typical, even = fold.anchors_
            spread = sqrt(max(even - typical, np.finfo(float).tiny))
        else:
            _, (spread,) = spreads_of(model, [found], statistics, solution, m)
        result.append(Measured(fold, float(spread), solution))
    return result


def signed_distance_in(X: Array, scoring: OfBlock, unit: float, anchors: Array | None) -> Array:
    """How far samples (n,) are from a class, in a unit that folds share.

    The logarithm of the distance in units of the spread of everything else, minus infinity at the
    mean; of a likelihood ratio its `signed_distance`.
    """
    scores = to_numpy(scoring(X)).astype(float)
    if anchors is not None:
        return signed_distance(scores, anchors)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(-scores / unit))


class Verification(NamedTuple):
    """What the folds of a verifier say of samples that they have not seen; equal ones are one."""

    whole: Measured  # fitted on all samples
    impostors: Impostors  # of other classes
    own: Impostors  # of the class itself
    ratio: float  # how much the spreads of the folds differ from that of all samples, 1 or more


class FoldPlan(NamedTuple):
    """Folds that hold out positives, and folds for the rest: each way to deal is tried in turn.

    A fold is given by its number for each sample, -1 where none holds it out.
    """

    codes: Array  # (n,), the class of each sample
    positive: int  # the class to verify
    own: Array  # (n,)
    impostors: list[Array]  # (n,) each
    by_class: bool  # whether impostors are held out with their whole class
    units: Array | None  # (n,), the same for equal samples, where they were looked for

    def readings(self) -> list[list[Array]]:
        """The ways to deal that are read together: of whole classes all, else the finer alone."""
        first, *finer = self.impostors
        if self.by_class:
            return [[self.own, first, *finer]]
        return [[self.own, first], *([way] for way in finer)]


def score_held_out(
    model: ClassSpecificProjector,
    input_info: InputInfo,
    X: Samples,
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
    input_info : mapping
        What is known of the samples, from `check_first_batch`.
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
    for models in fold_models(model, input_info, X, labels, weight, classes, plan):
        if models.ratio <= ALIKE:
            break
    whole, ratio = models.whole, models.ratio
    model._warn_unless_converged(whole.solution)
    held = np.where(models.folds >= 0, models.folds + n_folds_of(plan.own), plan.own)
    seen = held_out(X, held, [fold.measure() for fold in (*models.own, *models.impostors)])
    rows = np.flatnonzero(~np.isnan(seen[:, 0]))  # no fold holds out what has no weight
    content = (seen[:, 1] if plan.units is None else plan.units)[rows]
    counts = np.ones(len(rows)) if weight is None else weight[rows]
    first, counts = merged_equals(content, plan.codes[rows], counts)
    far, codes = seen[rows[first], 0], plan.codes[rows[first]]
    is_own = codes == plan.positive
    groups = codes[~is_own] if plan.by_class else None
    impostors = Impostors(far[~is_own], counts[~is_own], groups)
    return Verification(whole, impostors, Impostors(far[is_own], counts[is_own], None), ratio)


def held_out(X: Samples, folds: Array, works: Sequence[OfBlock]) -> Array:
    """What each fold says of the samples that it has not seen, from one reading of them.

    Parameters
    ----------
    X : ndarray or Source of shape (n, I_1, ..., I_K)
        The samples.
    folds : ndarray of shape (n,)
        The number of the fold that holds each sample out; -1 where none does.
    works : sequence of F callables
        What the model of each fold gives for a block of samples, (m,); m may be 0.

    Returns
    -------
    ndarray of shape (n, 2)
        That, and the `content_of` the sample; NaN for samples that no fold holds out.
    """
    work = partial(_by_folds, works=works)
    if not isinstance(X, Source):
        return work(X, folds)
    own = np.flatnonzero(folds >= 0)
    some = X if len(own) == len(X) else X[own]
    found = to_numpy(some.rows(work, folds[own]))
    result = np.full((len(X), 2), np.nan)
    result[own] = found
    return result


def _by_folds(X: Array, folds: Array, works: Sequence[OfBlock]) -> Array:
    """For each sample what the fold of this number gives, NaN without one; and its content."""
    X = to_numpy(X)
    result = np.full((2, len(X)), np.nan).T  # columns are asked for, not rows
    for block in row_blocks(len(X), X[:1].nbytes, 4 * len(works) * CACHE_NUMBERS):
        part, far = X[block], result[block, 0]
        result[block, 1] = content_of(part)
        for number, work in enumerate(works):
            rows = np.flatnonzero(folds[block] == number)
            far[rows] = work(part.take(rows, axis=0))  # takes half the time of X[rows]
    return result


# ── Folds ───────────────────────────────────────────────────────────────────────────────────────


def tells_of_strangers(n_classes: int, rate: Any) -> bool:
    """Whether so many other classes can say how many samples of new ones are accepted."""
    if rate == "equal" or rate == 0 or rate * (n_classes + 1) >= 1:
        return n_classes >= FEWEST_CLASSES
    return n_classes >= ENOUGH_CLASSES


def fold_plan(
    n_folds: int,
    X: Samples,
    codes: Array,
    positive: int,
    used: Array,
    rate: Any,
    groups: Array | None,
) -> FoldPlan:
    """The folds of a verifier.

    Parameters
    ----------
    n_folds : int
        How many folds of other classes to hold out, or of their samples or groups when classes
        say too little about strangers.
    X, codes : arrays of shapes (n, I_1, ..., I_K) and (n,)
        The samples and the numbers of their classes. Samples that are dealt one by one are read:
        the positives, and all where no classes are held out.
    positive : int
        The number of the class to verify.
    used : ndarray of bool of shape (n,)
        Which samples may be held out.
    rate : float or "equal"
        The share of false accepts to find.
    groups : ndarray of shape (n,) or None
        Numbers of what is held out together, instead of whole classes.

    Returns
    -------
    FoldPlan
        At least one fold of impostors.
    """
    is_own = codes == positive
    own = np.flatnonzero(is_own & used)
    others = np.flatnonzero(~is_own & used)
    n_classes = len(renumbered(codes[others])[0])
    by_class = groups is None and tells_of_strangers(n_classes, rate)
    units = groups
    if units is None:
        dealt = own if by_class else np.flatnonzero(used)
        units = codes.copy()
        units[dealt] = units_of(X[as_slice(dealt)])
    found, code = renumbered(units[others])
    n_units = len(found)
    if n_units < 2:
        what = "sample" if groups is None else "group"
        raise ValueError(
            f"there is {n_units} {what} of other classes only, so none can be held out to choose "
            "the threshold; pass more"
        )
    sizes = sorted({min(n_folds, n_units), min(max(n_folds, MOST_FOLDS), n_units)})
    impostors = [_dealt(others, code, len(codes), size) for size in sizes]
    of_own = _dealt(own, renumbered(units[own])[1], len(codes), n_folds)
    known = None if by_class or groups is not None else units
    return FoldPlan(codes, positive, of_own, impostors, by_class, known)


def given_folds(splits: list[Split], codes: Array, positive: int, used: Array) -> FoldPlan:
    """The folds of a verifier, where the test parts of splits are held out in turn."""
    tested = np.full(len(codes), -1)
    for number, (_, test) in enumerate(splits):
        tested[test] = number
    is_own = codes == positive
    own = _tested_folds(tested, is_own & used)
    others = _tested_folds(tested, ~is_own & used)
    if not n_folds_of(others):
        raise ValueError(
            "cv tests no sample of other classes, or all of them in one fold, so none can be held "
            "out to choose the threshold; pass other splits, or a number of folds"
        )
    return FoldPlan(codes, positive, own, [others], False, None)


def _tested_folds(tested: Array, is_used: Array) -> Array:
    """The fold (n,) that tests each sample that is used, of those numbers that are in use.

    There are none where one fold tests all of them: a model without it would have none.
    """
    folds = np.full(len(tested), -1)
    rows = np.flatnonzero(is_used & (tested >= 0))
    found, numbers = renumbered(tested[rows])
    if len(found) > 1 or len(rows) < is_used.sum():
        folds[rows] = numbers
    return folds


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


def n_folds_of(folds: Array) -> int:
    """How many folds there are."""
    return int(folds.max(initial=-1)) + 1


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


def units_of(X: Samples) -> Array:
    """The same number for equal samples, which depends neither on their order nor on last bits."""
    return np.unique(to_numpy(over_blocks(X, content_of)), return_inverse=True)[1]


def merged_equals(content: Array, codes: Array, weight: Array) -> tuple[Array, Array]:
    """The first of the samples of a class with equal content, and the sum of their weights.

    Equal ones fall into the same of many boxes; the few that are not alone in theirs are sorted.
    """
    marks = np.random.default_rng(0).integers(2**63, size=int(codes.max()) + 1, dtype=np.uint64)
    keys = (content + 0).view(np.uint64) + marks[codes]  # these random numbers tell classes apart
    keys *= np.uint64(0x9E3779B97F4A7C15)  # the first bits of the product depend on all of them
    boxes = (keys >> np.uint64(63 - len(keys).bit_length())).view(np.int64)
    alone = np.bincount(boxes)[boxes] == 1
    weight = weight.copy()
    some = np.flatnonzero(~alone)
    some = some[np.argsort(keys[some], kind="stable")]
    starts = np.flatnonzero(np.diff(keys[some], prepend=~keys[some[:1]]))
    alone[some[starts]] = True
    weight[some[starts]] = np.add.reduceat(weight[some], starts)
    return np.flatnonzero(alone), weight[alone]
