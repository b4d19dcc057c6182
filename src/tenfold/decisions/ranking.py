"""How well scores rank the samples of each class, for all classes at once.

The figures are those of `average_precision_score` and `roc_auc_score` of scikit-learn. These take
one class at a time and check it anew: for 40 classes a hundred times as long.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tenfold.mathematics.algebra import Array


class Ranked(NamedTuple):
    """Samples by falling score, each column by itself; all arrays have shape (n, C)."""

    own: Array  # weights of the samples of the class, 0 for others
    others: Array  # weights of the other samples
    first: Array  # position of the first of all samples with the same score
    last: Array  # and of the last


def average_precisions(
    scores: Array, is_positive: Array, sample_weight: Array | None = None
) -> Array:
    """Average precision of each class; samples with the same score count as found together.

    Parameters
    ----------
    scores : ndarray of shape (n, C)
        The larger, the more like the class.
    is_positive : ndarray of shape (n, C)
        Which samples are of each class.
    sample_weight : ndarray of shape (n,), default=None
        Sample weights.

    Returns
    -------
    ndarray of shape (C,)
        Between 0 and 1; NaN for a class without samples.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.decisions.ranking import average_precisions
    >>> average_precisions(np.array([[3.0], [2.0], [1.0]]), np.array([[True], [False], [True]]))
    array([0.83333333])
    """
    own, others, _, last = _ranked(scores, is_positive, sample_weight)
    found = own.cumsum(axis=0)
    looked_at = found + others.cumsum(axis=0)
    precision = np.divide(found, looked_at, out=np.zeros_like(found), where=looked_at > 0)
    return _share((own * np.take_along_axis(precision, last, axis=0)).sum(axis=0), found[-1])


def roc_areas(scores: Array, is_positive: Array, sample_weight: Array | None = None) -> Array:
    """Area under the ROC curve of each class.

    That is how often a sample of the class scores higher than another one; the same score counts
    as half.

    Parameters
    ----------
    scores : ndarray of shape (n, C)
        The larger, the more like the class.
    is_positive : ndarray of shape (n, C)
        Which samples are of each class.
    sample_weight : ndarray of shape (n,), default=None
        Sample weights.

    Returns
    -------
    ndarray of shape (C,)
        Between 0 and 1; NaN for a class without samples, or without others.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.decisions.ranking import roc_areas
    >>> roc_areas(np.array([[3.0], [2.0], [2.0]]), np.array([[True], [False], [True]]))
    array([0.75])
    """
    own, others, first, last = _ranked(scores, is_positive, sample_weight)
    passed = others.cumsum(axis=0)
    before = np.take_along_axis(passed - others, first, axis=0)
    below = passed[-1] - (before + np.take_along_axis(passed, last, axis=0)) / 2
    return _share((own * below).sum(axis=0), own.sum(axis=0) * passed[-1])


def _ranked(scores: Array, is_positive: Array, sample_weight: Array | None) -> Ranked:
    order = np.argsort(-scores, axis=0, kind="stable")
    falling = np.take_along_axis(scores, order, axis=0)
    positive = np.take_along_axis(is_positive, order, axis=0)
    weight = np.ones(len(scores)) if sample_weight is None else np.asarray(sample_weight, float)
    new = np.ones((len(scores) + 1, scores.shape[1]), dtype=bool)
    new[1:-1] = falling[1:] != falling[:-1]
    place = np.arange(len(scores))[:, None]
    first = np.maximum.accumulate(np.where(new[:-1], place, 0), axis=0)
    last = np.minimum.accumulate(np.where(new[1:], place, len(scores))[::-1], axis=0)[::-1]
    return Ranked(weight[order] * positive, weight[order] * ~positive, first, last)


def _share(part: Array, whole: Array) -> Array:
    unknown = np.full(len(part), np.nan)
    return np.asarray(np.divide(part, whole, out=unknown, where=whole > 0))
