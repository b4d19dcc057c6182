"""Scores of samples by a model without their whole class, in closed form.

A sample of a class that is left out is a stranger to all others. Without the n deviations D of its
class the scatter of the noise is ``T' = T - D^T W D``. With ``U = W^(1/2) D`` and A = T + s,

    (A - U^T U)^-1 = A^-1 + A^-1 U^T (I - U A^-1 U^T)^-1 U A^-1,

so that axes in which T is diagonal serve all classes: a system of n equations for each class and
resolvent, and no refitting. rho and b mean for the others what they mean for all: rho in units of
the mean eigenvalue of the noise, b per degree of freedom. The centre becomes that of the others,
too: class means have the mean 0 about the centre of all, so a class among them lies against the
others, and a stranger does not. With ten classes that alone would double the false accepts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from tenfold.gaussian.formula import EMPTY, FEW_COUNTS, Frame, stranger_shares
from tenfold.linalg.algebra import Array

STEP = 1.1  # between counts, where these are many: each one takes resolvents of its own


class Strangers(NamedTuple):
    """What a view says of samples that are strangers to all classes but their own."""

    columns: Array  # (c,), the classes that they are scored for
    scores: Array  # (n, c), not divided by a temperature; NaN for their own class, or without noise
    term: Array  # (n,), the quadratic term of the ratio against a stranger

    def put(self, rows: Array, other: Strangers) -> None:
        """Set some rows."""
        self.scores[rows] = other.scores
        self.term[rows] = other.term

    @classmethod
    def unknown(cls, n: int, columns: Array) -> Strangers:
        """Of n samples of which nothing is known yet."""
        return cls(columns, np.full((n, len(columns)), np.nan), np.full(n, np.nan))


def without_classes(frame: Frame, n: float, rho: float, b: float, columns: Array) -> Strangers:
    """The scores of all scored samples of a frame, each without its class.

    Parameters
    ----------
    frame : Frame
        It has all samples of the classes of its scored samples.
    n : float
        The number of samples that the ratio against a stranger takes a class to have.
    rho, b : float
        The setting for all classes.
    columns : ndarray of shape (c,)
        The classes that they are scored for.
    """
    sizes = frame.sizes
    counts = frame.counted(sizes.counts[columns])
    if len(np.unique(counts)) > FEW_COUNTS:
        steps = np.round(np.log(np.maximum(counts, EMPTY)) / np.log(STEP))
        counts = np.where(counts > EMPTY, STEP**steps, 0.0)
    n = float(frame.counted(np.array([n]))[0])
    found = Strangers.unknown(len(sizes.codes), columns)
    for code in np.unique(sizes.codes):
        own = np.flatnonzero(sizes.codes == code)
        others = _Without(frame, int(code), own, rho, b)
        if others.freedom > EMPTY:  # without noise nothing is known of anyone
            found.put(own, others.scored(n, counts, columns))
    return found


class _Tables(NamedTuple):
    """Inner products with one resolvent of the other classes."""

    xx: Array  # (n,), x^T R x
    xm: Array  # (n, c), x^T R m
    mm: Array  # (c,) m^T R m


class _Without:
    """A frame without one class, at the setting that means the same for the others."""

    def __init__(self, frame: Frame, code: int, own: Array, rho: float, b: float) -> None:
        sizes = frame.sizes
        self.frame, self.code, self.own, self.rho, self.b = frame, code, own, rho, b
        self.root_weights = np.sqrt(sizes.weights[own])[:, None]
        # The move of the centre, as a sum of class means with these factors.
        count, total = float(sizes.counts[code]), float(sizes.counts.sum())
        self.move = sizes.counts / total
        self.move[code] -= 1.0
        self.move *= count / (total - count)
        self.freedom = sizes.freedom - max(float(sizes.counts[code]) - 1, 0.0)
        one, _ = frame.axes(0.0, rho, b)
        trace = float(frame.noise.diagonal.sum()) - float(
            sizes.weights[own] @ one.squares[own].sum(axis=1)
        )
        n_directions = min(frame.means.shape[1], max(self.freedom, 1.0))
        unit, unit_left = frame.noise_unit, trace / n_directions
        self.rho_left, self.b_left = rho, b
        if unit > 0 and unit_left > 1e-9 * unit:
            self.rho_left = rho * unit_left / unit
        if frame.spread is not None:
            self.b_left = b * self.rho_left / rho
        elif self.freedom > 0:
            self.b_left = b * self.freedom / sizes.freedom

    def scored(self, n: float, counts: Array, columns: Array) -> Strangers:
        """The scores of the samples of the class for others with these counts."""
        shares = dict(stranger_shares(n))
        used = {k for count in np.unique(counts) for k in (0.0, count, count + 1)}
        scores = np.zeros((len(self.own), len(columns)))
        term = np.zeros(len(self.own))
        a = counts / (counts + 1)
        for k in sorted(used | set(shares)):
            of_products = np.where(k == 0, a, 0.0) - np.where(k == counts + 1, a, 0.0)
            of_squares = np.where(k == 0, a, 0.0) - np.where(k == counts, counts, 0.0)
            of_squares = of_squares + np.where(k == counts + 1, counts * a, 0.0)
            some = np.flatnonzero((of_products != 0) | (of_squares != 0))
            tables = self.tables(float(k), columns[some])
            scores[:, some] += of_products[some] * tables.xm
            scores[:, some] -= 0.5 * of_squares[some] * tables.mm
            term += 0.5 * shares.get(k, 0.0) * tables.xx
        scores[:, columns == self.code] = np.nan
        return Strangers(columns, self.freedom * scores, self.freedom * term)

    def tables(self, k: float, columns: Array) -> _Tables:
        """Inner products with the resolvent for one k."""
        one, _ = self.frame.axes(k, self.rho, self.b)
        has_structure = self.frame.spread is not None
        shift = self.rho_left if has_structure else self.rho_left + k * self.b_left
        moved = self.move @ one.means
        samples, means = one.samples[self.own] - moved, one.means[columns] - moved
        deviations = self.root_weights * (one.samples[self.own] - one.means[self.code])
        weighted = deviations / (one.values + shift)
        system = cho_factor(np.eye(len(self.own)) - weighted @ deviations.T, check_finite=False)
        xd, dm = samples @ weighted.T, weighted @ means.T
        from_samples = cho_solve(system, xd.T, check_finite=False)
        from_means = cho_solve(system, dm, check_finite=False)
        by_move = one.outside @ self.move
        squared_move = float(self.move @ by_move)
        of_own = (one.outside[self.code] - by_move[self.code] - by_move + squared_move) / shift
        of_each = (np.diagonal(one.outside) - 2 * by_move + squared_move) / shift
        xx = (samples**2) @ (1 / (one.values + shift)) + of_own[self.code]
        xm = (samples / (one.values + shift)) @ means.T + of_own[columns]
        mm = (means**2) @ (1 / (one.values + shift)) + of_each[columns]
        xx = xx + (xd * from_samples.T).sum(axis=1)
        xm = xm + xd @ from_means
        mm = mm + (dm * from_means).sum(axis=0)
        return _Tables(xx, xm, mm)
