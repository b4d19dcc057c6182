"""Metrics of verification and of open-set identification: error rates and costs of scores.

A *target* is a sample of the class that is asked for; all other samples are *non-targets*. A sample
is accepted when its score is at least the threshold. The *miss rate* is the share of targets that
are rejected, the *false-accept rate* the share of non-targets that are accepted.

All functions take labels and scores, of whatever model or library. Scores may be infinite: a model
may be certain. NaN is refused.
"""

from __future__ import annotations

from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import xlogy
from sklearn.isotonic import isotonic_regression

from tenfold.linalg.algebra import Array
from tenfold.validation.parameter_types import Label
from tenfold.validation.parameters import plain


class ErrorRates(NamedTuple):
    """Both error rates at every threshold that changes them, the highest threshold first."""

    thresholds: Array  # (m,), infinity where no sample is accepted
    false_accepts: Array  # (m,), the share of non-targets that are accepted; from 0 to 1
    misses: Array  # (m,), the share of targets that are rejected; from 1 to 0


def equal_error_rate(
    y_true: ArrayLike, y_score: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """The error rate at the threshold where as many targets are missed as others accepted.

    Between two neighboring thresholds, both error rates are interpolated linearly along the ROC
    curve; the convex hull of the curve is not taken. Without ties between the scores of targets and
    non-targets this is the rate that one of the two errors really has.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Which samples are targets: booleans, or 1 for targets and 0 or -1 for the others. Of labels
        of several classes pass ``y == label``.
    y_score : array-like of shape (n,)
        The scores; the larger, the more like a target.
    sample_weight : array-like of shape (n,), default=None
        Sample weights.

    Returns
    -------
    float
        Between 0 and 1; 0.5 is chance.

    See Also
    --------
    equal_error_threshold : The threshold that belongs to it.
    sklearn.metrics.DetCurveDisplay : Both error rates at all thresholds, as a picture.

    Examples
    --------
    >>> from tenfold.metrics import equal_error_rate
    >>> equal_error_rate([0, 0, 0, 1, 1], [0.1, 0.4, 0.3, 0.35, 0.8])
    0.333...
    """
    rates = error_rates(y_true, y_score, sample_weight=sample_weight)
    gaps = rates.false_accepts - rates.misses  # rises from -1 to 1
    after = int(np.argmax(gaps >= 0))
    before = after - 1
    part = -gaps[before] / (gaps[after] - gaps[before])
    step = rates.false_accepts[after] - rates.false_accepts[before]
    return float(rates.false_accepts[before] + part * step)


def equal_error_threshold(
    y_true: ArrayLike, y_score: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """The score at which the two error rates differ least.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Which samples are targets, as for `equal_error_rate`.
    y_score : array-like of shape (n,)
        The scores; the larger, the more like a target.
    sample_weight : array-like of shape (n,), default=None
        Sample weights.

    Returns
    -------
    float
        One of the scores: samples that score at least this are accepted.

    Examples
    --------
    >>> from tenfold.metrics import equal_error_threshold
    >>> equal_error_threshold([0, 0, 0, 1, 1], [0.1, 0.4, 0.3, 0.35, 0.8])
    0.4
    """
    rates = error_rates(y_true, y_score, sample_weight=sample_weight)
    gaps = np.abs(rates.false_accepts - rates.misses)
    best = 1 + int(np.argmin(gaps[1:]))  # the first threshold accepts nobody
    return float(rates.thresholds[best])


def min_dcf(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    p_target: float = 0.01,
    c_miss: float = 1.0,
    c_false_accept: float = 1.0,
) -> float:
    """The detection cost at the best threshold, over the cost of a decision without scores.

    The cost is ``p_target * c_miss * (miss rate) + (1 - p_target) * c_false_accept *
    (false-accept rate)``, as in the evaluations of NIST. It is divided by the cost of the better
    of two decisions that look at no score: to reject every sample, or to accept every sample.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Which samples are targets, as for `equal_error_rate`.
    y_score : array-like of shape (n,)
        The scores; the larger, the more like a target.
    p_target : float above 0 and below 1, default=0.01
        How often a sample is a target in use, whatever their share is here.
    c_miss : float above 0, default=1.0
        The cost of a target that is rejected.
    c_false_accept : float above 0, default=1.0
        The cost of a non-target that is accepted.

    Returns
    -------
    float
        Between 0 and 1; 1 says that the scores are of no use at these costs.

    Examples
    --------
    >>> from tenfold.metrics import min_dcf
    >>> min_dcf([0, 0, 0, 1, 1], [0.1, 0.4, 0.3, 0.35, 0.8])
    0.5
    """
    _check_number("p_target", p_target, 1.0)
    _check_number("c_miss", c_miss, np.inf)
    _check_number("c_false_accept", c_false_accept, np.inf)
    rates = error_rates(y_true, y_score)
    of_misses = p_target * c_miss
    of_false_accepts = (1 - p_target) * c_false_accept
    costs = of_misses * rates.misses + of_false_accepts * rates.false_accepts
    return float(costs.min() / min(of_misses, of_false_accepts))


def cllr(y_true: ArrayLike, log_likelihood_ratio: ArrayLike) -> float:
    """The cost of log likelihood ratios, in bits: how well they separate and are calibrated.

    It is the mean of ``log2(1 + exp(-r))`` over targets and of ``log2(1 + exp(r))`` over
    non-targets, both with weight one half [1]_. Ratios that say nothing (all 0) cost 1 bit;
    misleading ratios cost more than that.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Which samples are targets, as for `equal_error_rate`.
    log_likelihood_ratio : array-like of shape (n,)
        Natural logarithms of likelihood ratios of target and non-target, such as the
        `decision_function` of `MCSDA` or `ProbabilisticLDA.log_likelihood_ratio`.

    Returns
    -------
    float
        0 or more; infinite where a ratio is infinitely sure of the wrong answer.

    See Also
    --------
    min_cllr : The same after the best calibration that keeps the order of the scores.

    References
    ----------
    .. [1] N. Brümmer and J. du Preez, "Application-independent evaluation of speaker detection",
       Computer Speech and Language, 2006.

    Examples
    --------
    >>> from tenfold.metrics import cllr
    >>> cllr([0, 0, 1, 1], [0.0, 0.0, 0.0, 0.0])
    1.0
    >>> cllr([0, 0, 1, 1], [-3.0, -1.0, 2.0, 4.0])
    0.182...
    """
    is_target, ratios = _checked("log_likelihood_ratio", y_true, log_likelihood_ratio)
    of_targets = np.logaddexp(0.0, -ratios[is_target]).mean()
    of_others = np.logaddexp(0.0, ratios[~is_target]).mean()
    return float((of_targets + of_others) / (2 * np.log(2.0)))


def min_cllr(y_true: ArrayLike, y_score: ArrayLike) -> float:
    """The `cllr` of scores after the best monotone calibration on these very samples.

    The calibration is an isotonic regression (pool adjacent violators). What remains is the part of
    `cllr` that no calibration can remove; ``cllr - min_cllr`` is the part due to calibration.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Which samples are targets, as for `equal_error_rate`.
    y_score : array-like of shape (n,)
        The scores; the larger, the more like a target. They need not be likelihood ratios.

    Returns
    -------
    float
        Between 0 and 1 bit.

    Examples
    --------
    >>> from tenfold.metrics import min_cllr
    >>> min_cllr([0, 0, 1, 1], [-3.0, -1.0, 2.0, 4.0])
    0.0
    """
    is_target, scores = _checked("y_score", y_true, y_score)
    # Weights make targets and non-targets equally frequent, so a fitted share is a probability for
    # even odds. Samples of the same score get the same probability.
    levels, level = np.unique(scores, return_inverse=True)
    targets = np.bincount(level[is_target], minlength=len(levels)) / is_target.sum()
    others = np.bincount(level[~is_target], minlength=len(levels)) / (~is_target).sum()
    both = targets + others
    fitted = isotonic_regression(targets / both, sample_weight=both, y_min=0.0, y_max=1.0)
    cost = -(xlogy(targets, fitted) + xlogy(others, 1 - fitted)).sum()
    return float(max(cost, 0.0) / (2 * np.log(2.0)))


def detection_identification_rate(
    y_true: ArrayLike,
    scores: ArrayLike,
    classes: ArrayLike,
    *,
    false_accept_rate: float = 0.01,
    unknown: Label = None,
) -> float:
    """The share of samples of known classes that are accepted and named correctly.

    A sample is accepted when its highest score is above a threshold. The threshold is the lowest
    one at which no more than the given share of strangers is accepted, counted on the strangers at
    hand. With fewer than ``1 / false_accept_rate`` strangers, none of them is accepted.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        The labels. Samples whose label is not among `classes` are strangers.
    scores : array-like of shape (n, C)
        The scores of each class; the larger, the more like the class.
    classes : array-like of shape (C,)
        The known classes, in the order of the columns of `scores`.
    false_accept_rate : float from 0 to 1, default=0.01
        The share of strangers that may be accepted.
    unknown : label or None, default=None
        The label of strangers. If given, every other label must be among `classes`, so that a
        misspelled label is not taken for a stranger.

    Returns
    -------
    float
        Between 0 and 1. Where two classes have the same highest score, the first of them is named.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.metrics import detection_identification_rate
    >>> y = ["ann", "ann", "bob", "stranger", "stranger"]
    >>> scores = np.array([[9, 1], [2, 1], [1, 8], [3, 2], [1, 4]])
    >>> detection_identification_rate(y, scores, ["ann", "bob"], false_accept_rate=0.0)
    0.666...
    >>> detection_identification_rate(y, scores, ["ann", "bob"], false_accept_rate=1.0)
    1.0
    """
    labels, found, names = _checked_identification(y_true, scores, classes, false_accept_rate)
    known = _which_are_known(labels, names, unknown)
    highest = found.max(axis=1)
    named = found.argmax(axis=1)
    strangers = np.sort(highest[~known])[::-1]
    n = len(strangers)
    n_accepted = int((np.arange(n + 1) / n <= false_accept_rate).sum()) - 1
    accepted = np.ones(len(labels), dtype=bool)
    if n_accepted < n:  # the best of the strangers that must be rejected is the limit
        accepted = highest > strangers[n_accepted]
    right = np.array([names[k] == label for k, label in zip(named, labels, strict=True)])
    return float(np.mean(accepted[known] & right[known]))


def error_rates(
    y_true: ArrayLike, y_score: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> ErrorRates:
    """Both error rates at every threshold.

    These are the points of `sklearn.metrics.det_curve`, with both ends and for infinite scores,
    too.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Which samples are targets, as for `equal_error_rate`.
    y_score : array-like of shape (n,)
        The scores; the larger, the more like a target.
    sample_weight : array-like of shape (n,), default=None
        Sample weights.

    Returns
    -------
    ErrorRates
        The first threshold accepts no sample, the last one every sample.

    Examples
    --------
    >>> from tenfold.metrics import error_rates
    >>> error_rates([0, 1], [1.0, 2.0]).misses.tolist()
    [1.0, 0.0, 0.0]
    """
    is_target, scores = _checked("y_score", y_true, y_score)
    weight = _checked_weight(sample_weight, is_target)
    used = weight > 0
    is_target, scores, weight = is_target[used], scores[used], weight[used]
    order = np.argsort(-scores, kind="stable")
    falling = scores[order]
    last = np.append(falling[1:] != falling[:-1], True)  # of the samples with the same score
    targets = np.cumsum(np.where(is_target, weight, 0.0)[order])[last]
    others = np.cumsum(np.where(is_target, 0.0, weight)[order])[last]
    return ErrorRates(
        thresholds=np.append(np.inf, falling[last]),
        false_accepts=np.append(0.0, others / others[-1]),
        misses=1 - np.append(0.0, targets / targets[-1]),
    )


# ── Checks ──────────────────────────────────────────────────────────────────────────────────────


def _checked(name: str, y_true: ArrayLike, y_score: ArrayLike) -> tuple[Array, Array]:
    """Which samples are targets, and their scores: some of each kind, and no NaN."""
    labels = np.asarray(y_true)
    scores = _numbers(name, y_score)
    if labels.ndim != 1 or scores.shape != labels.shape:
        raise ValueError(
            f"y_true has shape {labels.shape} and {name} has shape {scores.shape}; expected one "
            "label and one score for each sample; pass two arrays of shape (n,)"
        )
    if np.isnan(scores).any():
        raise ValueError(
            f"{name} holds NaN for {int(np.isnan(scores).sum())} of {len(scores)} samples; "
            "expected numbers, of which some may be infinite; leave those samples out"
        )
    is_target = _targets(labels)
    n_targets = int(is_target.sum())
    if not 0 < n_targets < len(labels):
        raise ValueError(
            f"y_true holds {n_targets} targets and {len(labels) - n_targets} others; expected "
            "samples of both kinds; pass at least one of each"
        )
    return is_target, scores


def _targets(labels: Array) -> Array:
    """Which labels stand for targets."""
    if labels.dtype == bool:
        return labels
    present = set(labels.tolist())
    if not (present <= {0, 1} or present <= {-1, 1}):
        shown = ", ".join(sorted(map(repr, present))[:5])
        raise ValueError(
            f"y_true holds the labels {shown}; expected booleans, or 1 for targets and 0 or -1 for "
            "the others; pass y_true == label, with the label of the class that is asked for"
        )
    return np.asarray(labels == 1, dtype=bool)


def _checked_weight(sample_weight: ArrayLike | None, is_target: Array) -> Array:
    if sample_weight is None:
        return np.ones(len(is_target))
    weight = _numbers("sample_weight", sample_weight)
    if weight.shape != is_target.shape or not (np.isfinite(weight) & (weight >= 0)).all():
        raise ValueError(
            f"sample_weight has shape {weight.shape}, with {len(is_target)} samples; expected one "
            "finite number of 0 or more for each sample"
        )
    if not (weight[is_target].sum() > 0 and weight[~is_target].sum() > 0):
        raise ValueError(
            "sample_weight is 0 for all targets or for all others; expected samples of both kinds "
            "that count; pass a positive weight for some of each"
        )
    return weight


def _numbers(name: str, values: ArrayLike) -> Array:
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{name} does not hold numbers ({error}); expected an array of floats"
        ) from None


def _check_number(name: str, value: object, limit: float) -> None:
    """A number between 0 and a limit; neither is allowed."""
    if not isinstance(value, Real) or not 0 < float(value) < limit:
        below = f" and below {limit:g}" if np.isfinite(limit) else ", and finite"
        raise ValueError(f"{name} is {value!r}; expected a number above 0{below}")


def _checked_identification(
    y_true: ArrayLike, scores: ArrayLike, classes: ArrayLike, false_accept_rate: float
) -> tuple[list[Any], Array, list[Any]]:
    """Labels, scores and the names of classes, of sizes that fit together."""
    labels = np.asarray(y_true)
    found = _numbers("scores", scores)
    names = np.asarray(classes)
    if labels.ndim != 1 or names.ndim != 1 or found.shape != (len(labels), len(names)):
        raise ValueError(
            f"y_true has shape {labels.shape}, scores {found.shape} and classes {names.shape}; "
            "expected (n,), (n, C) and (C,): a score of every class for each sample"
        )
    if np.isnan(found).any():
        raise ValueError(
            f"scores hold NaN for {int(np.isnan(found).any(axis=1).sum())} of {len(found)} "
            "samples; expected numbers, of which some may be infinite; leave those samples out"
        )
    if len(set(names.tolist())) < len(names):
        raise ValueError(f"classes are {names.tolist()!s:.200}; expected each of them once")
    if not isinstance(false_accept_rate, Real) or not 0 <= false_accept_rate <= 1:
        raise ValueError(
            f"false_accept_rate is {false_accept_rate!r}; expected a number from 0 to 1"
        )
    return labels.tolist(), found, names.tolist()


def _which_are_known(labels: list[Any], names: list[Any], unknown: Label) -> Array:
    """Which samples are of known classes, (n,): some, but not all."""
    classes = set(names)
    known = np.array([label in classes for label in labels], dtype=bool)
    if unknown is not None:
        if unknown in classes:
            raise ValueError(
                f"unknown is {plain(unknown)!r}, which is one of the classes; pass another"
            )
        others = {label for label in labels if label not in classes and label != unknown}
        if others:
            shown = ", ".join(sorted(map(repr, others))[:5])
            raise ValueError(
                f"y_true holds {shown}, neither among the classes nor unknown={plain(unknown)!r}; "
                "correct these labels, or pass unknown=None to count them as strangers"
            )
    n_known = int(known.sum())
    if not 0 < n_known < len(labels):
        raise ValueError(
            f"{n_known} of {len(labels)} samples are of known classes ({names!s:.100}); expected "
            "some of known classes and some strangers; pass samples of both kinds, with labels of "
            "the type of the classes"
        )
    return known
