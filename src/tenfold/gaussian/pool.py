"""Temperatures, and the weights of views: both by the log loss of left-out samples.

Probabilities are a log-linear pool of the scores of views, mixed with equal probabilities:

    p = (1 - e) softmax(sum_v w_v s_v / T_v + log prior) + e / C,     e = 1 / (N + 2),

since N correct predictions support a probability of at most (N + 1) / (N + 2). The loss is that of
these mixed probabilities, so one sample that is far off costs at most log(N C) nats. One
pseudo-sample is added, for which the runner-up is correct. Without it a few samples that are all
classified correctly would make the model certain.

The optimum is flat where views agree, and many views fit few samples by chance. So the loss of the
pool has a term that holds the sum of the weights near 1, a small square of the weights, and a price
in nats per unit of weight for views that are not plain.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from tenfold.linalg.algebra import Array

PSEUDO_ANSWERS = 1.0
HOLD_SUM = 3.0  # nats, times the square of the log of the sum of all weights
HOLD_EACH = 0.1  # nats, times the squares of the weights
TEMPERATURES = np.exp(np.linspace(0.0, 5.0, 11))
HALVINGS = 20
NEGLIGIBLE = 1e-3  # of the sum of the weights: a view with less is left out
STRANGERS_TO_OWN = 9.0  # odds at which the ratio is asked to tell both apart
TIE = 1e-9  # nats: what must be gained to prefer a later choice


class Answers(NamedTuple):
    """The labels of left-out samples, with all that the log loss of their scores needs."""

    codes: Array  # (n,), the class of each sample
    weights: Array  # (n,), how many samples each stands for
    log_priors: Array  # (C,), of the classes before a sample is seen

    @property
    def total(self) -> float:
        """How many samples all of them stand for."""
        return float(self.weights.sum())

    def loss(self, scores: Array, slope: Array | None = None) -> float:
        """The mean log loss of scores (n, C), with the pseudo-sample.

        Parameters
        ----------
        scores : ndarray of shape (n, C)
            The scores of the samples.
        slope : ndarray of shape (n, C) or None
            An array of zeros, which becomes the derivative of the loss by the scores.
        """
        total = self.total
        floor = floor_of(total)
        n_possible = np.isfinite(self.log_priors).sum()
        rows = np.arange(len(self.codes))
        P = softmax(scores + self.log_priors)
        own = P[rows, self.codes].copy()
        P[rows, self.codes] = -1.0
        runner_up = P.argmax(axis=1)
        P[rows, self.codes] = own
        value = 0.0
        for answer, share in ((self.codes, 1.0), (runner_up, PSEUDO_ANSWERS / total)):
            p = P[rows, answer]
            mixed = (1 - floor) * p + floor / n_possible
            weight = share * self.weights / total
            value -= float(weight @ np.log(mixed))
            if slope is not None:
                by_score = weight * (1 - floor) * p / mixed
                slope += by_score[:, None] * P
                slope[rows, answer] -= by_score
        return value


def softmax(scores: Array) -> Array:
    """Probabilities (n, C) in proportion to the exponentials of scores."""
    P = scores - scores.max(axis=1, keepdims=True)
    np.exp(P, out=P)
    P /= P.sum(axis=1, keepdims=True)
    return np.asarray(P)


def floor_of(count: float) -> float:
    """The share e of equal probabilities that `count` samples leave."""
    return 1 / (count + 2)


def probabilities(scores: Array, log_priors: Array, floor: float) -> Array:
    """Probabilities (n, C), mixed with equal ones of the classes that are possible."""
    possible = np.isfinite(log_priors)
    P = softmax(scores + log_priors)
    return np.asarray((1 - floor) * P + floor * possible / possible.sum())


# ── Temperatures and weights of the scores ───────────────────────────────────────────────────────


def best_temperature(scores: Array, answers: Answers) -> tuple[float, float]:
    """The temperature of 1 or more with the least loss, and that loss."""
    grid = np.log(TEMPERATURES)
    losses = [answers.loss(scores * np.exp(-t)) for t in grid]
    best = int(np.argmin(losses))
    low = grid[max(best - 1, 0)]
    high = grid[min(best + 1, len(grid) - 1)]
    golden = (np.sqrt(5) - 1) / 2
    left = high - golden * (high - low)
    right = low + golden * (high - low)
    at_left = answers.loss(scores * np.exp(-left))
    at_right = answers.loss(scores * np.exp(-right))
    for _ in range(HALVINGS):
        if at_left <= at_right:
            high = right
            right = left
            at_right = at_left
            left = high - golden * (high - low)
            at_left = answers.loss(scores * np.exp(-left))
        else:
            low = left
            left = right
            at_left = at_right
            right = low + golden * (high - low)
            at_right = answers.loss(scores * np.exp(-right))
    middle = 0.5 * (low + high)
    at_middle = answers.loss(scores * np.exp(-middle))
    if losses[0] <= at_middle + TIE:
        return 1.0, losses[0]
    return float(np.exp(middle)), at_middle


def pool_weights(tables: Sequence[Array], prices: Array, answers: Answers) -> Array:
    """The weight (V,) of every view, from left-out scores (n, C) over their temperatures."""
    scores = np.stack(tables)
    # Two starts, since the mixed loss is not convex: the best plain view, and the best of all.
    alone = np.array([answers.loss(table) for table in tables])
    starts = {int(np.argmin(alone + prices / answers.total))}
    if (prices == 0).any():
        starts.add(int(np.argmin(np.where(prices > 0, np.inf, alone))))
    best = None
    for start in sorted(starts):
        first = np.zeros(len(tables))
        first[start] = 1.0
        found = minimize(
            pool_objective,
            first,
            args=(scores, prices, answers),
            jac=True,
            bounds=[(0.0, None)] * len(tables),
            method="L-BFGS-B",
            options={"ftol": 1e-14, "gtol": 1e-9, "maxiter": 500},
        )
        if best is None or found.fun < best.fun - TIE:
            best = found
    assert best is not None
    weights = np.asarray(best.x)
    return np.where(weights < NEGLIGIBLE * weights.sum(), 0.0, weights)


def pool_objective(
    weights: Array, scores: Array, prices: Array, answers: Answers
) -> tuple[float, Array]:
    """The loss of a pool of scores (V, n, C) with its price and what holds weights, and slopes."""
    slope = np.zeros(scores.shape[1:])
    value = answers.loss(np.tensordot(weights, scores, 1), slope)
    slopes = np.tensordot(scores, slope, ([1, 2], [0, 1]))
    total = weights.sum() + 1e-12
    held = HOLD_SUM * np.log(total) ** 2 + HOLD_EACH * (weights**2).sum()
    held_slopes = 2 * HOLD_SUM * np.log(total) / total + 2 * HOLD_EACH * weights
    value += (prices @ weights + held) / answers.total
    return value, slopes + (prices + held_slopes) / answers.total


# ── The ratio against a stranger ─────────────────────────────────────────────────────────────────


class Trials(NamedTuple):
    """What V views say of samples for their own classes, and of strangers."""

    own: Array  # (n, V)
    own_shares: Array  # (n,), what each sample counts; they sum to 1
    strangers: Array  # (m, V), for classes that are not theirs
    stranger_shares: Array  # (m,)
    total: float  # how many samples there are


def ratio_weights(trials: Trials) -> Array:
    """The weight (V,) of every view in the ratio against a stranger.

    It minimizes the log loss of telling samples of a class from strangers, nine of which come for
    one sample of the class: a verifier is used where false accepts are rare. The weights are held
    near 1 as the scale of a single view is, since a few samples that are all classified correctly
    would make them infinite.
    """
    spreads = np.sqrt(np.mean((trials.own.mean(axis=0) - trials.strangers) ** 2, axis=0))
    spreads = np.where(spreads > 0, spreads, 1.0)
    in_units = trials._replace(own=trials.own / spreads, strangers=trials.strangers / spreads)
    n_views = len(spreads)
    first = np.append(np.full(n_views, 1 / n_views), 0.0)
    bounds = [(0.0, None)] * n_views + [(None, None)]
    found = minimize(
        ratio_objective, first, args=(in_units,), jac=True, bounds=bounds, method="L-BFGS-B"
    )
    weights = found.x[:-1]
    return np.asarray(np.where(weights < NEGLIGIBLE * weights.sum(), 0.0, weights / spreads))


def ratio_objective(x: Array, trials: Trials) -> tuple[float, Array]:
    """The log loss at weights and an offset, with what holds the weights, and slopes."""
    weights = x[:-1]
    share = 1 / (1 + STRANGERS_TO_OWN)
    offset = x[-1] - np.log(STRANGERS_TO_OWN)
    at_own = -(trials.own @ weights + offset)
    at_strangers = trials.strangers @ weights + offset
    value = share * (trials.own_shares @ np.logaddexp(0, at_own))
    value += (1 - share) * (trials.stranger_shares @ np.logaddexp(0, at_strangers))
    slope_own = -share * trials.own_shares * expit(at_own)
    slope_strangers = (1 - share) * trials.stranger_shares * expit(at_strangers)
    total = weights.sum() + 1e-12
    held = 0.5 * np.log(total) ** 2 + HOLD_EACH * (weights**2).sum()
    slopes = trials.own.T @ slope_own + trials.strangers.T @ slope_strangers
    slopes += (np.log(total) / total + 2 * HOLD_EACH * weights) / (trials.total + 2)
    by_offset = slope_own.sum() + slope_strangers.sum()
    return value + held / (trials.total + 2), np.append(slopes, by_offset)


def calibrated_ratio(trials: Trials) -> tuple[float, float]:
    """Scale and offset with which the ratios of one view or pool are log likelihood ratios.

    It is a logistic regression in which samples of a class and strangers count the same.
    """
    targets = trials.own[:, 0]
    others = trials.strangers[:, 0]
    spread = 1.0
    middle = 0.0
    if len(others):
        spread = float(np.sqrt(np.mean((targets.mean() - others) ** 2))) or 1.0
        middle = 0.5 * (float(targets.mean()) + float(others.mean()))
    first = np.array([0.0, -middle / spread])
    with np.errstate(over="ignore"):
        found = minimize(
            calibration_objective, first, args=(trials, spread), jac=True, method="L-BFGS-B"
        )
    return float(np.exp(found.x[0]) / spread), float(found.x[1])


def calibration_objective(x: Array, trials: Trials, spread: float) -> tuple[float, Array]:
    """The log loss at the logarithm of a scale and an offset, and slopes."""
    targets = trials.own[:, 0]
    others = trials.strangers[:, 0]
    scale = np.exp(x[0]) / spread
    at_targets = -(scale * targets + x[1])
    at_others = scale * others + x[1]
    value = trials.own_shares @ np.logaddexp(0, at_targets)
    value += trials.stranger_shares @ np.logaddexp(0, at_others)
    slope_targets = -trials.own_shares / (1 + np.exp(-at_targets))
    slope_others = trials.stranger_shares / (1 + np.exp(-at_others))
    by_scale = scale * (slope_targets @ targets + slope_others @ others)
    by_offset = slope_targets.sum() + slope_others.sum()
    held = 0.5 * x[0] ** 2 / (trials.total + 2)  # for few samples that are far from each other
    return value + held, np.array([by_scale + x[0] / (trials.total + 2), by_offset])
