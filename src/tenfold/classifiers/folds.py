"""Folds: which samples are held out in turn."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, check_cv

from tenfold.linalg.algebra import Array
from tenfold.statistics.cost import Split
from tenfold.validation import parameters
from tenfold.validation.parameter_types import Folds


def folds_of(cv: Folds, y: Array, groups: object = None, random_state: int = 0) -> list[Split]:
    """The folds, whichever way they are asked for.

    Parameters
    ----------
    cv : int, splitter or iterable of splits
        An int is a number of folds that keep the shares of the classes, no more than the smallest
        class has samples; with groups of whole groups, no more than there are.
    y : ndarray of shape (n,)
        The labels.
    groups : ndarray of shape (n,), default=None
        Groups that are held out together.
    random_state : int, default=0
        Seed of the shuffle, where `cv` is an int.

    Returns
    -------
    list of (train, test)
        Positions.
    """
    if not isinstance(cv, Integral):
        return positions(check_cv(cv, y, classifier=True).split(y, y, groups), len(y))
    asked = parameters.check_option("cv", cv, [parameters.Number(2, whole=True)])
    classes, counts = np.unique(y, return_counts=True)
    if not len(y) or counts.min() < 2:
        few = f"class {classes[counts.argmin()]!s} has 1 sample" if len(y) else "there are none"
        raise ValueError(
            f"folds need at least 2 samples of every class, but {few}; add samples, or leave the "
            "class out"
        )
    n_folds = min(asked, int(counts.min()))
    dealt = StratifiedKFold
    if groups is not None:
        n_folds = min(n_folds, len(np.unique(groups)))
        dealt = StratifiedGroupKFold
        if n_folds < 2:
            raise ValueError(
                "all samples are of one group, so none can be held out; pass two or more groups"
            )
    shuffled = dealt(n_folds, shuffle=True, random_state=random_state)
    return positions(shuffled.split(y, y, groups), len(y))


def positions(splits: Iterable[Any], n: int) -> list[Split]:
    """The splits of n samples as positions, whether they came as positions, masks or slices."""
    every = np.arange(n)
    found = [(every[train], every[test]) for train, test in splits]
    if not found:
        raise ValueError("cv gives no folds; pass at least one")
    for number, split in enumerate(found):
        for rows, name in zip(split, ("training", "test"), strict=True):
            if not len(rows):
                raise ValueError(f"fold {number} of cv has no {name} samples; give it some")
    return found
