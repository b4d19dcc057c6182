"""Average precision of many rankings at once."""

from __future__ import annotations

import numpy as np


def average_precision(scores: np.ndarray, relevant: np.ndarray) -> np.ndarray:
    """Average precision of each row, as `sklearn.metrics.average_precision_score` defines it.

    Parameters
    ----------
    scores : ndarray of shape (M, n)
        The larger, the sooner found.
    relevant : ndarray of shape (M, n) of bool
        What is looked for; at least one per row.

    Returns
    -------
    ndarray of shape (M,)
        Between 0 and 1. Equal scores are found together.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.experiments.ranking import average_precision
    >>> average_precision(np.array([[3.0, 2.0, 1.0]]), np.array([[True, False, True]]))
    array([0.833])
    """
    order = np.argsort(-scores, axis=1, kind="stable")
    sorted_scores = np.take_along_axis(scores, order, axis=1)
    found = np.cumsum(np.take_along_axis(relevant, order, axis=1), axis=1)
    n = scores.shape[1]
    # Only the last of several equal scores is a threshold; the others look ahead to it.
    is_last = np.ones(scores.shape, dtype=bool)
    is_last[:, :-1] = sorted_scores[:, :-1] != sorted_scores[:, 1:]
    last = np.where(is_last, np.arange(n), n)
    last = np.minimum.accumulate(last[:, ::-1], axis=1)[:, ::-1]
    hits = np.take_along_axis(found, last, axis=1)
    precision = hits / (last + 1)
    new = np.diff(found, axis=1, prepend=0)  # each find counts with the precision at its threshold
    return np.asarray((new * precision).sum(axis=1) / found[:, -1])
