"""Scorers for banks of class-specific models, for searches and cross-validation."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score

from tenfold.mathematics.accumulate import check_same_kind
from tenfold.validation import samples as check


def mean_average_precision(bank: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
    """Average precision of every class's own model at finding its class, averaged over classes.

    This is how the paper judges face verification: the model of each person ranks all samples.
    Whether distances are normalised makes no difference, because every ranking is of one model.

    Parameters
    ----------
    bank : ClassSpecificClassifier
        Fitted.
    X : array-like of shape (n, I_1, ..., I_K)
        The samples.
    y : array-like of shape (n,)
        Their labels. Classes of the bank without a sample here are left out of the mean.
    sample_weight : array-like of shape (n,), default=None
        Sample weights.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tenfold import MCSDA, ClassSpecificClassifier, RankSearchCV, mean_average_precision
    >>> X, y = load_digits().images[:600], load_digits().target[:600]
    >>> bank = ClassSpecificClassifier(MCSDA(tol=1.0))
    >>> search = RankSearchCV(bank, [(2, 2), (5, 5)], cv=3, scoring=mean_average_precision)
    >>> search.fit(X, y).best_params_
    {'projector__ranks': (5, 5)}
    """
    distances = np.asarray(bank.distances(X))
    y = check.check_labels(bank, distances, y)
    check_same_kind(y, bank.classes_)
    present = np.flatnonzero(np.isin(bank.classes_, y))
    if not len(present):
        raise ValueError(
            f"none of the labels {np.unique(y)[:5].tolist()} is a class of the bank, so no model "
            "has anything to find; pass samples of its classes"
        )
    found = [
        average_precision_score(
            y == bank.classes_[c], -distances[:, c], sample_weight=sample_weight
        )
        for c in present
    ]
    return float(np.mean(found))
