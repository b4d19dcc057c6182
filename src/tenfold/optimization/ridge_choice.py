"""The ridge of a problem of vectors, chosen by how well samples that are left out are predicted.

Ridge regression of the class memberships on the samples has the same directions as discriminant
analysis with the same ridge (for two classes exactly). Its prediction error for samples that are
left out has a closed form, of which generalised cross-validation (Golub, Heath and Wahba, 1979)
needs nothing but the total scatter, the class means and the counts. For membership y of a class ::

    GCV(ridge) = |y - H y|^2 / (1 - (1 + tr H) / N)^2,      H = X (X^T X + ridge I)^-1 X^T.

The mean of its logarithm over the classes is used. So moments are enough, one eigenproblem serves
all ridges and all classes, and `fit`, `partial_fit` and `fit_moments` make the same choice.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tenfold.linalg.algebra import Array
from tenfold.optimization.criteria import about_class_means
from tenfold.statistics.class_statistics import ClassStatistics
from tenfold.statistics.scatters import along_mode

RIDGES = 10.0 ** np.arange(-3.0, 2.01, 0.25)
USUAL = 1e-2  # the ridge, where samples say nothing of it
SHARPNESS = 100.0  # a ridge whose error is 1 % above the least counts 1/e in the mean
UNITS_GAIN = 0.02  # by how much the logarithm of the error must fall for columns to be scaled
RANK = 1e-12  # of the largest eigenvalue: what is left of zero by rounding


class RidgeChoice(NamedTuple):
    """A relative ridge, and the share of it that each column gets (mean 1); None if all alike."""

    ridge: float
    units: Array | None


def chosen_ridge(statistics: ClassStatistics) -> RidgeChoice:
    """The ridge, and whether it is in the units of each column.

    The ridge is a mean of all ridges (of their logarithms), weighted by how near each is to the
    least prediction error, so it is a smooth function of the samples. Columns have units of their
    own where the ridge in units of their variances predicts better. Only with more samples than
    columns are both tried.

    Parameters
    ----------
    statistics : ClassStatistics
        Of vectors.

    Returns
    -------
    RidgeChoice
        The same for all models of these statistics, which keep it.
    """
    known = statistics.choices
    if "ridge" not in known:
        known["ridge"] = _choose(statistics)
    found: RidgeChoice = known["ridge"]
    return found


def _choose(statistics: ClassStatistics) -> RidgeChoice:
    size = statistics.shape[0]
    (total,) = along_mode([statistics.total()], 0, [np.eye(size)[None]])
    T = total[0]
    variances = np.diagonal(T)
    trace = float(variances.sum())
    if not trace > 0:
        return RidgeChoice(USUAL, None)
    steps = statistics.counts[:, None] * (statistics.means - statistics.mean)
    full_size = statistics.given.means.shape[1]
    level = about_class_means(statistics) * trace / full_size
    counts = statistics.counts
    regression = Regression.of(T, steps, counts)
    errors = regression.errors(level * RIDGES)
    units = None
    more_than_columns = statistics.basis is None and statistics.count > full_size
    if more_than_columns and not regression.interpolates:
        own = np.where(variances > RANK * trace, variances * full_size / trace, 1.0)
        root = np.sqrt(own)
        scaled = prediction_errors(T / np.outer(root, root), steps / root, counts, level * RIDGES)
        if scaled.min() < errors.min() - UNITS_GAIN:
            errors = scaled
            units = own
    least = errors.min()
    if not np.isfinite(least):
        return RidgeChoice(USUAL, None)
    weights = np.exp(-SHARPNESS * (errors - least))
    return RidgeChoice(float(np.exp(weights @ np.log(RIDGES) / weights.sum())), units)


class Regression(NamedTuple):
    """The regression of the class memberships on the samples, along the axes of the total scatter.

    Parameters
    ----------
    values : ndarray of shape (r,)
        The eigenvalues of the total scatter above zero.
    explained : ndarray of shape (C, r)
        The share of each membership that follows from each axis.
    outside : ndarray of shape (C,)
        The share that follows from none.
    weight : float
        The sum of the sample weights.
    """

    values: Array
    explained: Array
    outside: Array
    weight: float

    @classmethod
    def of(cls, total: Array, steps: Array, counts: Array) -> Regression:
        """From the total scatter and the class means; `prediction_errors` says what they are."""
        N = float(counts.sum())
        values, vectors = np.linalg.eigh(total)
        there = values > RANK * values[-1]
        values = values[there]
        squares = counts * (1 - counts / N)
        known = squares > 0
        squares = squares[known]
        explained = (steps[known] @ vectors[:, there]) ** 2 / values / squares[:, None]
        outside = 1 - explained.sum(axis=1)
        outside = np.where(outside > RANK, outside, 0.0)  # few samples span all memberships
        return cls(values, explained, outside, N)

    @property
    def interpolates(self) -> bool:
        """Whether the samples span all memberships: no more are distinct than there are axes."""
        return not self.outside.any()

    def errors(self, ridges: Array) -> Array:
        """See `prediction_errors`."""
        spare = max(self.weight - 1 - len(self.values), 0.0)
        if self.interpolates:
            spare = 0.0  # what the weights exceed the axes by are copies, which predict themselves
        errors = np.full(len(ridges), np.inf)
        for number, ridge in enumerate(ridges):
            shrunk = ridge / (self.values + ridge)  # what is left of 1 - H along each direction
            free = (spare + float(shrunk.sum())) / self.weight
            left = self.outside + self.explained @ shrunk**2
            if free > 0 and left.min() > 0:
                errors[number] = float(np.log(left).mean()) - 2 * np.log(free)
        return errors


def prediction_errors(total: Array, steps: Array, counts: Array, ridges: Array) -> Array:
    """The logarithm of the error of generalised cross-validation, for each absolute ridge.

    It is a mean over the classes.

    Parameters
    ----------
    total : ndarray of shape (n, n)
        The scatter of all samples about their mean.
    steps : ndarray of shape (C, n)
        The class means about the mean of all, times the counts.
    counts : ndarray of shape (C,)
        The sums of the sample weights.
    ridges : ndarray of shape (R,)
        What is added to the diagonal of the total scatter.

    Returns
    -------
    ndarray of shape (R,)
        Infinite where there are no more samples than the regression has degrees of freedom.
    """
    return Regression.of(total, steps, counts).errors(ridges)
