"""Scores of samples by a model without their whole class, in closed form.

A sample of a class that is left out is a stranger to all others. Without the n deviations D of its
class the scatter of the noise is ``T' = T - D^T W D``. With ``U = W^(1/2) D`` and A = T + s,

    (A - U^T U)^-1 = A^-1 + A^-1 U^T (I - U A^-1 U^T)^-1 U A^-1,

so that axes in which T is diagonal serve all classes: a system of n equations for each class and
resolvent, and no refitting. rho and b mean for the others what they mean for all: rho is in units
of the mean eigenvalue of the noise, b is per degree of freedom. The centre becomes that of the
others, too: about the centre of all samples, the class means sum to 0, so each class lies opposite
to the others, and a stranger does not. With ten classes that alone would double the false accepts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tenfold.gaussian.formula import (
    EMPTY,
    FEW_COUNTS,
    Frame,
    NoiseAxes,
    score_terms,
    stranger_terms,
)
from tenfold.linalg.algebra import Array

STEP = 1.1  # between counts, where these are many: each one takes resolvents of its own
TOGETHER = 2**22  # bytes of features of the classes that are left out in one go


class Strangers(NamedTuple):
    """What a view says of samples that are strangers to all classes but their own."""

    columns: Array  # (c,), the classes that they are scored for
    scores: Array  # (n, c), not divided by a temperature; NaN for their own class, or without noise
    term: Array  # (n,), the quadratic term of the ratio against a stranger


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
    scores = np.full((len(sizes.codes), len(columns)), np.nan)
    term = np.full(len(sizes.codes), np.nan)
    by_class = np.argsort(sizes.codes, kind="stable")
    n_samples = np.bincount(sizes.codes, minlength=len(sizes.counts))
    starts = np.cumsum(n_samples) - n_samples
    freedom = sizes.freedom - np.maximum(sizes.counts - 1, 0.0)
    for size in np.unique(n_samples[n_samples > 0]):  # classes of one size share array operations
        alike = np.flatnonzero((n_samples == size) & (freedom > EMPTY))  # noise is left without
        most = max(TOGETHER // (8 * frame.samples.shape[1] * size), 1)
        for first in range(0, len(alike), most):
            codes = alike[first : first + most]
            own = by_class[starts[codes][:, None] + np.arange(size)]
            others = _OtherClasses(frame, codes, own, rho, b)
            scores[own], term[own] = others.scores(n, counts, columns)
    return Strangers(columns, scores, term)


class _OtherClasses:
    """A frame without each of g classes of s samples, at settings that mean the same there."""

    def __init__(self, frame: Frame, codes: Array, own: Array, rho: float, b: float) -> None:
        sizes = frame.sizes
        self.frame = frame
        self.codes = codes  # (g,)
        self.own = own  # (g, s), the samples of each class
        self.rho = rho
        self.b = b
        self.root_weights = np.sqrt(sizes.weights[own])[:, :, None]
        # The centre moves by a sum of all class means with these factors, (g, C).
        total = sizes.counts.sum()
        self.move = np.tile(sizes.counts / total, (len(codes), 1))
        self.move[np.arange(len(codes)), codes] -= 1.0
        self.move *= (sizes.counts[codes] / (total - sizes.counts[codes]))[:, None]
        self.freedom = sizes.freedom - np.maximum(sizes.counts[codes] - 1, 0.0)
        axes, _ = frame.axes(0.0, rho, b)
        self._turn_to(axes)
        lost = (self.deviations**2).sum(axis=(1, 2))
        n_directions = np.minimum(frame.means.shape[1], np.maximum(self.freedom, 1.0))
        unit_left = (frame.noise.diagonal.sum() - lost) / n_directions
        self.rho_left = np.full(len(codes), rho)
        if frame.noise_unit > 0:
            shown = unit_left > 1e-9 * frame.noise_unit
            self.rho_left[shown] *= unit_left[shown] / frame.noise_unit
        if frame.spread is not None:
            self.b_left = b * self.rho_left / rho
        else:
            self.b_left = b * self.freedom / sizes.freedom

    def _turn_to(self, axes: NoiseAxes) -> None:
        """Take samples about the moved centre, and their deviations, along axes."""
        self.axes = axes
        self.moved = self.move @ axes.means  # (g, d), the move of the centre
        samples = axes.samples[self.own]
        self.deviations = samples - axes.means[self.codes][:, None]
        self.deviations *= self.root_weights
        self.samples = np.subtract(samples, self.moved[:, None], out=samples)

    def scores(self, n: float, counts: Array, columns: Array) -> tuple[Array, Array]:
        """Scores (g, s, c) of the samples for other classes with these counts, and terms (g, s)."""
        shares = dict(stranger_terms(n))
        terms = score_terms(counts)
        scores = np.zeros((*self.own.shape, len(columns)))
        quadratic = np.zeros(self.own.shape)
        for k in np.unique([*shares, *np.concatenate([term.k for term in terms])]):
            of_products = np.zeros(len(columns))
            of_squares = np.zeros(len(columns))
            for term in terms:
                of_products += np.where(term.k == k, term.of_products, 0.0)
                of_squares += np.where(term.k == k, term.of_squares, 0.0)
            some = np.flatnonzero((of_products != 0) | (of_squares != 0))
            xx, xm, mm = self._products(float(k), columns[some])
            scores[:, :, some] += of_products[some] * xm
            scores[:, :, some] -= 0.5 * of_squares[some] * mm[:, None]
            quadratic += 0.5 * shares.get(float(k), 0.0) * xx
        scores = np.where(columns == self.codes[:, None, None], np.nan, scores)
        return self.freedom[:, None, None] * scores, self.freedom[:, None] * quadratic

    def _products(self, k: float, columns: Array) -> tuple[Array, Array, Array]:
        """x^T R x, (g, s), x^T R m, (g, s, c), and m^T R m, (g, c), with one resolvent."""
        axes, _ = self.frame.axes(k, self.rho, self.b)
        shift = self.rho_left
        if self.frame.spread is None:
            shift = self.rho_left + k * self.b_left
        R = 1 / (axes.values + shift[:, None])  # (g, d)
        if axes is not self.axes:  # without structure all k share them
            self._turn_to(axes)
        means = axes.means[columns]
        moved = self.moved
        samples = self.samples
        deviations = self.deviations
        weighted = deviations * R[:, None]
        # Inner products along the axes; class means are taken about the moved centre, too.
        xd = samples @ weighted.transpose(0, 2, 1)
        dm = weighted @ means.T - (weighted @ moved[:, :, None])
        Rx = samples * R[:, None]
        xx = (samples * Rx).sum(axis=2)
        xm = Rx @ means.T - (Rx @ moved[:, :, None])
        mm = R @ (means**2).T - 2 * (R * moved) @ means.T + (R * moved**2).sum(axis=1)[:, None]
        # And outside of the axes, where samples are like the means of their classes.
        by_move = self.move @ axes.outside  # (g, C)
        squared_move = (self.move * by_move).sum(axis=1)
        at_own = by_move[np.arange(len(self.codes)), self.codes]
        of_own = axes.outside[self.codes] - by_move + (squared_move - at_own)[:, None]
        of_each = np.diagonal(axes.outside) - 2 * by_move + squared_move[:, None]
        own_square = of_own[np.arange(len(self.codes)), self.codes]
        xx += (own_square / shift)[:, None]
        xm += (of_own[:, columns] / shift[:, None])[:, None]
        mm += of_each[:, columns] / shift[:, None]
        # Without the deviations of the class: Woodbury.
        system = np.eye(self.own.shape[1]) - weighted @ deviations.transpose(0, 2, 1)
        both = np.concatenate([xd.transpose(0, 2, 1), dm], axis=2)
        from_samples, from_means = np.split(np.linalg.solve(system, both), [xd.shape[1]], axis=2)
        xx += (xd * from_samples.transpose(0, 2, 1)).sum(axis=2)
        xm += xd @ from_means
        mm += (dm * from_means).sum(axis=1)
        return xx, xm, mm
