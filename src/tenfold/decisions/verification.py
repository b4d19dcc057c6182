"""Held-out distances for a verifier: of impostors it has never met, and of its own class.

The threshold rests on the many samples of other classes, not on the few of the positive one. So
every positive sample stays in the training part when impostors are held out: the models of the
folds are as good as that of all samples. Positives are held out in folds of their own, to estimate
the share of false rejects.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from hashlib import blake2b
from itertools import chain, islice
from math import exp
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import check_cv

from tenfold.decisions.distances import OfBlock
from tenfold.decisions.folds import held_out, positions, statistics_in_folds
from tenfold.mathematics.accumulate import row_blocks
from tenfold.mathematics.algebra import Array
from tenfold.mathematics.alternation import Solution
from tenfold.mathematics.criteria import out_class_spreads
from tenfold.mathematics.fold_statistics import Split
from tenfold.mathematics.stores import Source
from tenfold.methods.base import Described
from tenfold.methods.class_specific import ClassSpecificProjector, spreads_of
from tenfold.validation import parameters
from tenfold.validation import samples as check

FEWEST_CLASSES = 4  # other classes; fewer say nothing about new ones, so samples are held out
MOST_FOLDS = 50  # when models that lack a fold are unlike the model of all samples
ALIKE = 1.05  # the ratio of their spreads that is let pass


class Measured(NamedTuple):
    """A class-specific projector, and how far everything else is from its mean in its subspace."""

    projector: ClassSpecificProjector
    spread: float
    solution: Solution

    def measure(self) -> OfBlock:
        """What gives distances of samples in memory, in units of the spread."""
        return partial(distances_in, scoring=self.projector._scoring(), unit=self.spread)


def measured_in_folds(
    model: ClassSpecificProjector,
    described: Described,
    X: Any,
    y: Array,
    weight: Array | None,
    splits: list[Split],
) -> Iterator[Measured]:
    """The model of the training part of every split, without a word of convergence."""
    described, parts = statistics_in_folds(model, described, X, y, weight, splits)
    for statistics in parts:
        check.check_classes(statistics.classes, model)
        projector: ClassSpecificProjector = clone(model)
        found, solution = projector._solve(statistics, described["sample_shape_"])
        if projector._is_one_solution:
            positive = np.array([found.positive_index])
            (spread,) = out_class_spreads(statistics, solution.kept, positive)
        else:
            _, (spread,) = spreads_of(projector, [found], statistics)
        yield Measured(projector._set_fitted(described, found), float(spread), solution)


def distances_in(X: Array, scoring: OfBlock, unit: float) -> Array:
    """Distances in a unit, from what gives minus the distances."""
    return -scoring(X) / unit


class Verification(NamedTuple):
    """What the folds of a verifier say.

    `distances` are those of samples that the scoring model has not seen, in units of the spread of
    everything else, and NaN for samples that no fold holds out.
    """

    whole: Measured  # fitted on all samples
    distances: Array  # (n,)
    by_class: bool  # whether impostors were held out with their whole class
    ratio: float  # how much the spreads of the folds differ from that of all samples, 1 or more


class FoldPlan(NamedTuple):
    """Folds that hold out positives, and folds for the rest: each list is tried in turn."""

    own: list[Split]
    impostors: list[list[Split]]


def verified(
    model: ClassSpecificProjector,
    described: Described,
    X: Any,
    labels: Array,
    weight: Array | None,
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
    plan : FoldPlan
        The folds.

    Returns
    -------
    Verification
        What they say.
    """
    everything = (np.arange(len(X)), np.arange(0))
    splits = [everything, *plan.own, *chain(*plan.impostors)]
    folds = measured_in_folds(model, described, X, labels, weight, splits)
    whole = next(folds)
    model._warn_unless_converged(whole.solution)
    own = [fold.measure() for fold in islice(folds, len(plan.own))]
    for chosen in plan.impostors:
        found = [(fold.spread, fold.measure()) for fold in islice(folds, len(chosen))]
        spreads = np.array([spread for spread, _ in found])
        ratio = exp(np.abs(np.log(spreads / whole.spread)).mean())
        if ratio <= ALIKE:
            break
    works = [*own, *(measure for _, measure in found)]
    distances = held_out(X, [*plan.own, *chosen], works)
    by_class = not any(len(np.intersect1d(labels[a], labels[b])) for a, b in chosen)
    return Verification(whole, distances, by_class, ratio)


# ── Folds ───────────────────────────────────────────────────────────────────────────────────────


def fold_plan(cv: Any, X: Any, labels: Array, positive: Any, used: Array, same: Array) -> FoldPlan:
    """The folds of a verifier.

    Parameters
    ----------
    cv : int, splitter or iterable of splits
        An int holds out that many folds of other classes, or of their samples when there are fewer
        than 4 of them. Of given folds the test parts are taken; positives of a training part are
        joined by all others when impostors are scored.
    X, labels : arrays of shapes (n, I_1, ..., I_K) and (n,)
        The samples and their labels.
    positive : label
        The class to verify.
    used : ndarray of bool of shape (n,)
        Which samples have weight.
    same : ndarray of shape (n,)
        Equal numbers for samples that must stay together.

    Returns
    -------
    FoldPlan
        At least one fold of impostors.
    """
    is_own = labels == positive
    own, others = np.flatnonzero(is_own & used), np.flatnonzero(~is_own & used)
    if not isinstance(cv, Integral):
        given = positions(check_cv(cv).split(X, labels), len(labels))
        of_own = [(train, np.intersect1d(test, own)) for train, test in given]
        rest = [(np.union1d(train, own), np.intersect1d(test, others)) for train, test in given]
        return FoldPlan(_with_test(of_own), [_with_test(rest)])
    n_folds = parameters.check_number("cv", cv, 2, integer=True)
    by_class = len(np.unique(labels[others])) >= FEWEST_CLASSES
    units = labels[others] if by_class else same[others]
    n_units = len(np.unique(units))
    if n_units < 2:
        raise ValueError(
            f"there is {n_units} sample of other classes only, so none can be held out to choose "
            "the threshold; pass more"
        )
    sizes = sorted({min(n_folds, n_units), min(max(n_folds, MOST_FOLDS), n_units)})
    of_rest = [_folds_of(others, units, size, own) for size in sizes]
    n_own = min(n_folds, len(np.unique(same[own])))
    return FoldPlan(_folds_of(own, same[own], n_own, others) if n_own > 1 else [], of_rest)


def _folds_of(rows: Array, units: Array, n_folds: int, always: Array) -> list[Split]:
    """Folds that hold out rows unit by unit; the training parts have those of `always`, too.

    Units are dealt as they sort: the order of the samples plays no part.
    """
    found, code = np.unique(units, return_inverse=True)
    fold = (np.random.default_rng(0).permutation(len(found)) % n_folds)[code.ravel()]
    return [
        (np.sort(np.concatenate([always, rows[fold != f]])), rows[fold == f])
        for f in range(n_folds)
    ]


def _with_test(splits: list[Split]) -> list[Split]:
    return [(train, test) for train, test in splits if len(test)]


def equal_samples(X: Any) -> Array:
    """The same number for equal samples in memory; in a store every sample has its own.

    Numbers in memory follow a sum of the numbers of a sample with fixed random weights, so they
    depend neither on the order of the samples nor on their last bits.
    """
    if isinstance(X, Source):
        return np.arange(len(X))
    first: dict[bytes, int] = {}
    digests = (blake2b(x.tobytes(), digest_size=16).digest() for x in X)
    same = np.array([first.setdefault(key, i) for i, key in enumerate(digests)])
    weights = np.random.default_rng(0).standard_normal(X[0].size)
    blocks = row_blocks(len(X), 8 * len(weights))
    sums = np.concatenate([X[rows].reshape(-1, len(weights)) @ weights for rows in blocks])
    different = np.unique(same)
    number = np.zeros(len(X), dtype=np.intp)
    number[different[np.argsort(sums[different])]] = np.arange(len(different))
    return np.asarray(number[same])


def merged_equals(keys: Sequence[Array], weight: Array) -> tuple[Array, Array]:
    """The first of the samples that are equal in all keys, and the sum of their weights."""
    codes = np.stack([np.unique(key, return_inverse=True)[1].ravel() for key in keys], axis=1)
    _, first, merged = np.unique(codes, axis=0, return_index=True, return_inverse=True)
    return first, np.bincount(merged.ravel(), weight)
