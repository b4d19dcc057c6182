"""How well scores tell one class from everything else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score, roc_curve

from tenfold.mathematics.algebra import Array
from tenfold.plots.fitted import ClassScores


@dataclass(frozen=True, eq=False)
class Judgement:
    """What the scores of one class are worth on the samples at hand.

    Parameters
    ----------
    label : label
        The class.
    scores : ndarray of shape (n,)
        The scores.
    is_positive : ndarray of shape (n,)
        Which samples are of the class.
    threshold : float or None
        From here on samples count as accepted; None when there is nothing to choose it by.
    chosen_here : bool
        Whether the threshold was chosen on these very samples, for equal errors.
    average_precision, auc, equal_error_rate : float or None
        Shares; None when one of the two groups has no sample.
    """

    label: Any
    scores: Array
    is_positive: Array
    threshold: float | None
    chosen_here: bool
    average_precision: float | None = None
    auc: float | None = None
    equal_error_rate: float | None = None

    @property
    def n_positive(self) -> int:
        """Samples of the class."""
        return int(self.is_positive.sum())

    @property
    def n_others(self) -> int:
        """Samples of other classes."""
        return len(self.scores) - self.n_positive

    @property
    def false_rejects(self) -> int:
        """Samples of the class below the threshold."""
        return int((self.is_positive & ~self.accepted).sum())

    @property
    def false_accepts(self) -> int:
        """Other samples at or above the threshold."""
        return int((~self.is_positive & self.accepted).sum())

    @property
    def accepted(self) -> Array:
        """Which samples score at least the threshold."""
        return self.scores >= (np.inf if self.threshold is None else self.threshold)

    def hardest(self, n: int) -> tuple[Array, Array]:
        """Positions of the n worst samples of the class, and of the n best of the others."""
        order = np.argsort(self.scores, kind="stable")
        own = order[self.is_positive[order]]
        others = order[~self.is_positive[order]][::-1]
        return own[:n], others[:n]


def judge(found: ClassScores) -> Judgement:
    """Judge the scores of one class.

    Parameters
    ----------
    found : ClassScores
        Scores, and which samples are positive.

    Returns
    -------
    Judgement
        A model without a threshold gets the one at which both errors are equal here.
    """
    label, scores, is_positive, threshold = found
    if not 0 < is_positive.sum() < len(scores):
        return Judgement(label, scores, is_positive, threshold, False)
    rate, equal_at = equal_errors(scores, is_positive)
    return Judgement(
        label,
        scores,
        is_positive,
        equal_at if threshold is None else float(threshold),
        threshold is None,
        float(average_precision_score(is_positive, scores)),
        float(roc_auc_score(is_positive, scores)),
        rate,
    )


def equal_errors(scores: Array, is_positive: Array) -> tuple[float, float]:
    """The equal error rate and its threshold.

    Among all thresholds, the one at which the shares of false accepts and of false rejects
    differ least; the rate is their mean.

    Parameters
    ----------
    scores : ndarray of shape (n,)
        The larger, the more like the class.
    is_positive : ndarray of shape (n,)
        Which samples are of the class; some, but not all.

    Returns
    -------
    rate : float
        Between 0 and 1.
    threshold : float
        Samples that score at least this are accepted.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.report.judging import equal_errors
    >>> equal_errors(np.array([1.0, 3.0, 2.0, 4.0]), np.array([False, False, True, True]))
    (0.5, 3.0)
    """
    false_accepts, true_accepts, thresholds = roc_curve(
        is_positive, scores, drop_intermediate=False
    )
    false_rejects = 1 - true_accepts
    best = 1 + int(np.argmin(np.abs(false_accepts - false_rejects)[1:]))  # [0] accepts nobody
    return float(false_accepts[best] + false_rejects[best]) / 2, float(thresholds[best])
