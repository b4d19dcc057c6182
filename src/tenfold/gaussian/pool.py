"""Temperatures, and the weights of views: both by the log loss of left-out samples.

Probabilities are a log-linear pool of the scores of views, mixed with equal probabilities,

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

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from tenfold.linalg.algebra import Array

PSEUDO_ANSWERS = 1.0
HOLD_SUM = 3.0  # nats, times the square of the log of the sum of all weights
HOLD_EACH = 0.1  # nats, times the squares of the weights
TEMPERATURES = np.exp(np.linspace(0.0, 5.0, 11))
FEW_TEMPERATURES = (1.0, 2.0, 5.0, 15.0, 60.0)
HALVINGS = 20
NEGLIGIBLE = 1e-3  # of the sum of the weights: a view with less is left out
STRANGERS_TO_OWN = 9.0  # odds at which the ratio is asked to tell both apart
TIE = 1e-9  # nats: what must be gained to prefer a later choice


@dataclass(frozen=True, eq=False)
class Answers:
    """The labels of left-out samples.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        The class of each sample.
    weights : ndarray of shape (n,)
        How many samples each stands for.
    log_priors : ndarray of shape (C,)
        Logarithms of the probabilities of the classes before a sample is seen.
    """

    codes: Array
    weights: Array
    log_priors: Array

    @property
    def count(self) -> float:
        """How many samples there are."""
        return float(self.weights.sum())

    def probabilities(self, scores: Array) -> Array:
        """Mixed probabilities (n, C)."""
        return mixed(softmax(scores + self.log_priors), floor_of(self.count), self.log_priors)

    def log_loss(self, scores: Array) -> float:
        """The mean log loss of the mixed probabilities.

        Samples of a class with a prior of 0 count as if it had the least that others have.
        """
        own = softmax(scores + self.log_priors)[np.arange(len(self.codes)), self.codes]
        e, possible = floor_of(self.count), np.isfinite(self.log_priors)
        own = (1 - e) * own + e / possible.sum()
        return float(-(self.weights @ np.log(own)) / self.count)

    def loss(self, scores: Array) -> float:
        """The mean log loss with the pseudo-answer."""
        return self._loss_and_slope(scores, False)[0]

    def loss_and_slope(self, scores: Array) -> tuple[float, Array]:
        """The same, and its derivative by the scores (n, C)."""
        value, slope = self._loss_and_slope(scores, True)
        assert slope is not None
        return value, slope

    def _loss_and_slope(self, scores: Array, wants_slope: bool) -> tuple[float, Array | None]:
        P = softmax(scores + self.log_priors)
        rows = np.arange(len(self.codes))
        e, possible = floor_of(self.count), np.isfinite(self.log_priors)
        own = P[rows, self.codes].copy()
        P[rows, self.codes] = -1.0
        runner_up = P.argmax(axis=1)
        P[rows, self.codes] = own
        value = 0.0
        slope = np.zeros_like(P) if wants_slope else None
        for answer, share in ((self.codes, 1.0), (runner_up, PSEUDO_ANSWERS / self.count)):
            p = P[rows, answer]
            q = (1 - e) * p + e / possible.sum()
            weight = share * self.weights / self.count
            value -= float(weight @ np.log(q))
            if slope is not None:
                pull = weight * (1 - e) * p / q
                slope += pull[:, None] * P
                slope[rows, answer] -= pull
        return value, slope


def softmax(scores: Array) -> Array:
    """Probabilities (n, C) in proportion to the exponentials of scores."""
    P = scores - scores.max(axis=1, keepdims=True)
    np.exp(P, out=P)
    P /= P.sum(axis=1, keepdims=True)
    return np.asarray(P)


def floor_of(count: float) -> float:
    """The share e of equal probabilities that `count` samples leave."""
    return 1 / (count + 2)


def mixed(P: Array, floor: float, log_priors: Array) -> Array:
    """Probabilities (n, C), mixed with equal ones of the classes that are possible."""
    possible = np.isfinite(log_priors)
    return np.asarray((1 - floor) * P + floor * possible / possible.sum())


def rough_loss(scores: Array, answers: Answers) -> float:
    """The least loss over a few temperatures."""
    return min(answers.loss(scores / T) for T in FEW_TEMPERATURES)


def best_temperature(scores: Array, answers: Answers) -> tuple[float, float]:
    """The temperature of 1 or more with the least loss, and that loss."""

    def loss(log_temperature: float) -> float:
        return answers.loss(scores * np.exp(-log_temperature))

    grid = np.log(TEMPERATURES)
    losses = [loss(t) for t in grid]
    best = int(np.argmin(losses))
    low = grid[max(best - 1, 0)]
    high = grid[min(best + 1, len(grid) - 1)]
    golden = (np.sqrt(5) - 1) / 2
    left, right = high - golden * (high - low), low + golden * (high - low)
    at_left, at_right = loss(left), loss(right)
    for _ in range(HALVINGS):
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - golden * (high - low)
            at_left = loss(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + golden * (high - low)
            at_right = loss(right)
    middle = 0.5 * (low + high)
    at_middle = loss(middle)
    if losses[0] <= at_middle + TIE:
        return 1.0, losses[0]
    return float(np.exp(middle)), at_middle


def pool_weights(tables: list[Array], prices: Array, answers: Answers) -> Array:
    """The weight (V,) of every view, from left-out scores (n, C) over their temperatures."""
    scores = np.stack(tables)
    count = answers.count

    def objective(weights: Array) -> tuple[float, Array]:
        value, slope = answers.loss_and_slope(np.tensordot(weights, scores, 1))
        slopes = np.tensordot(scores, slope, ([1, 2], [0, 1]))
        total = weights.sum() + 1e-12
        held = HOLD_SUM * np.log(total) ** 2 + HOLD_EACH * (weights**2).sum()
        slopes += (prices + 2 * HOLD_SUM * np.log(total) / total + 2 * HOLD_EACH * weights) / count
        return value + (prices @ weights + held) / count, slopes

    # Two starts, since the mixed loss is not convex: the best plain view, and the best of all.
    alone = np.array([answers.loss(table) for table in tables])
    starts = {int(np.argmin(np.where(prices > 0, np.inf, alone)))} if (prices == 0).any() else set()
    starts.add(int(np.argmin(alone + prices / count)))
    found = []
    for start in sorted(starts):
        first = np.zeros(len(tables))
        first[start] = 1.0
        options: Any = {"ftol": 1e-14, "gtol": 1e-9, "maxiter": 500}
        bounds = [(0.0, None)] * len(tables)
        one = minimize(
            objective, first, jac=True, bounds=bounds, method="L-BFGS-B", options=options
        )
        found.append(one)
    best = found[0]
    for one in found[1:]:
        if one.fun < best.fun - TIE:
            best = one
    weights = np.asarray(best.x)
    return np.where(weights < NEGLIGIBLE * weights.sum(), 0.0, weights)


def weights_of_ratio(own: Array, shares: Array, strangers: Array, count: float) -> Array:
    """The weight (V,) of every view in the ratio against a stranger.

    It minimizes the log loss of telling samples of a class from strangers, nine of which come for
    one sample of the class: a verifier is asked where false accepts are rare. Weights are held as
    the scale of a single view is, since a few samples that are all classified correctly would
    make them infinite.

    Parameters
    ----------
    own : ndarray of shape (n, V)
        What each view says of left-out samples for their own classes.
    shares : ndarray of shape (n,)
        What each counts; they sum to 1.
    strangers : ndarray of shape (m, V)
        What each view says of strangers.
    count : float
        How many samples there are.
    """
    spreads = np.sqrt(np.mean((own.mean(axis=0) - strangers) ** 2, axis=0))
    spreads = np.where(spreads > 0, spreads, 1.0)
    t, o = own / spreads, strangers / spreads
    share = 1 / (1 + STRANGERS_TO_OWN)
    log_odds = -np.log(STRANGERS_TO_OWN)

    def objective(x: Array) -> tuple[float, Array]:
        weights, offset = x[:-1], x[-1] + log_odds
        at_t, at_o = -(t @ weights + offset), o @ weights + offset
        value = share * (shares @ np.logaddexp(0, at_t))
        value += (1 - share) * np.logaddexp(0, at_o).mean()
        pull_t = -share * shares * expit(at_t)
        pull_o = (1 - share) * expit(at_o) / len(o)
        total = weights.sum() + 1e-12
        held = 0.5 * np.log(total) ** 2 + HOLD_EACH * (weights**2).sum()
        slopes = t.T @ pull_t + o.T @ pull_o
        slopes += (np.log(total) / total + 2 * HOLD_EACH * weights) / (count + 2)
        return value + held / (count + 2), np.append(slopes, pull_t.sum() + pull_o.sum())

    n_views = own.shape[1]
    first = np.append(np.full(n_views, 1 / n_views), 0.0)
    bounds = [(0.0, None)] * n_views + [(None, None)]
    found = minimize(objective, first, jac=True, bounds=bounds, method="L-BFGS-B")
    weights = found.x[:-1]
    return np.asarray(np.where(weights < NEGLIGIBLE * weights.sum(), 0.0, weights / spreads))
