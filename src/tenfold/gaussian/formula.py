"""Scores of Gaussian classes, and the same scores without each sample, in closed form.

Features x are taken about the mean of all samples. Class c has n_c samples (the sum of their
weights) with mean m_c; d_i = x_i - m_c(i) is a deviation, and ``T = sum_i w_i d_i d_i^T`` is the
scatter of the noise, with f = sum_c max(n_c - 1, 0) degrees of freedom. Noise has the covariance
``S + Q`` with S = T / f and Q = rho I / f. Class means have the covariance ``b B / f``. With the
resolvents

    R_k = (S + Q + k b B / f)^-1 = f (T + rho I + k b B)^-1

the log likelihood of a class with n samples is, up to what all classes share,

    score(x) = a x^T (R_0 - R_{n+1}) m - 1/2 m^T (a R_0 - n R_n + n a R_{n+1}) m,   a = n / (n + 1).

It is the posterior predictive density of the two-covariance model without the terms that depend on
x alone and on n alone: these would let directions in which nobody has data decide between classes
of different sizes. `factors_of` says how much each R_k counts. Against a stranger, a class without
samples, the quadratic term in x counts,

    - 1/2 x^T (a R_0 + R_{n+1} / (n + 1) - R_1) x,

with one n for all classes, so that it changes no comparison between known classes.

Leaving sample i out changes T by a matrix of rank one and moves the mean of its class:

    T' = T - beta d d^T,  beta = w n / (n - w);     m' = m - w d / (n - w);     n' = n - w.

So ``u^T R' v = u^T R v + beta (u^T R d)(v^T R d) / (1 - beta d^T R d)``, each R without f, and all
left-out scores follow from the tables x^T R m, m^T R m, x^T R d and d^T R d: no refitting. The
centre of all samples moves, too: about that of the others, x and all means lie ``w / (N - w) x``
further out. A centre that knows the sample would give its class away where classes are small and
numbers many: m lies on the other side of it.

Without structure B = I, and one eigenproblem of T serves all rho and b. With structure B is
diagonal in the features. Then ``T + rho (I + k t B)`` with t = b / rho is diagonal in the axes of a
scaled T: one eigenproblem for every k t, which serves all rho. Deviations lie in the range of T.
Class means also lie outside of it, where the resolvent is a plain number.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import csc_array

from tenfold.linalg.algebra import Array

RANGE = 1e-13  # of the largest eigenvalue: smaller ones are rounding
EMPTY = 1e-9  # of a weight: a class with less is gone
EXACT_COUNTS = 8.0  # with structure, counts above are rounded to steps of a quarter,
STEP = 1.25
MOST_COUNTED = 32.0  # and these are as good as any more
FEW_COUNTS = 16  # different ones, up to which one product serves all
NOBODY = np.empty((0, 0))


# ── Classes ──────────────────────────────────────────────────────────────────────────────────────


class ClassSizes(NamedTuple):
    """The classes of the scored samples, and what is left of them without each sample."""

    codes: Array  # (n,), the class of each scored sample
    weights: Array  # (n,), of the scored samples
    counts: Array  # (C,), the sum of the weights of all samples of each class, scored or not
    freedom: float  # f, the degrees of freedom of the noise
    left: Array  # (n,), n - w: what is left of the class of each sample without it
    freedom_left: Array  # (n,), f without each sample
    pull: Array  # (n,), w / (N - w): how far each sample pulls the centre towards itself
    scored: Array  # (n,), whether a class and some noise are left without the sample
    beta: Array  # (n,), the factor of d d^T that leaves T with each sample

    @classmethod
    def of(cls, codes: Array, weights: Array, counts: Array) -> ClassSizes:
        """Of the classes and weights of the scored samples, and the counts of all samples."""
        freedom = float(np.maximum(counts - 1, 0).sum())
        own = counts[codes]
        left = own - weights
        freedom_left = freedom - np.maximum(own - 1, 0) + np.maximum(left - 1, 0)
        others = counts.sum() - weights
        pull = np.where(others > 0, weights / np.where(others > 0, others, 1.0), 0.0)
        scored = (left > EMPTY * counts.max()) & (freedom_left > EMPTY)
        beta = np.where(scored, weights * own / np.where(scored, left, 1.0), 0.0)
        return cls(codes, weights, counts, freedom, left, freedom_left, pull, scored, beta)


def class_means(features: Array, codes: Array, weights: Array, n_classes: int) -> Array:
    """The weighted mean (C, p) of the samples (n, p) of each class; 0 for a class without any."""
    starts = np.arange(len(codes) + 1)
    shares = csc_array((weights, codes, starts), shape=(n_classes, len(codes)))
    counts = np.bincount(codes, weights, minlength=n_classes)
    return np.asarray(shares @ features) / np.where(counts > 0, counts, 1.0)[:, None]


def factors_of(k: float, n: Array) -> tuple[Array, Array]:
    """What R_k counts in ``x^T R m`` and in ``m^T R m / 2``, for classes of n samples, (C,) each.

    For n samples these are a and a at k = 0; 0 and -n at k = n; -a and n a at k = n + 1.
    """
    a = n / (n + 1)
    at_0 = np.where(k == 0, a, 0.0)
    at_more = np.where(k == n + 1, a, 0.0)
    return at_0 - at_more, at_0 - np.where(k == n, n, 0.0) + n * at_more


def stranger_shares(n: float) -> list[tuple[float, float]]:
    """K and the share of R_k in the quadratic term, for n samples in a class."""
    return [(0.0, n / (n + 1)), (n + 1, 1 / (n + 1)), (1.0, -1.0)]


# ── Noise ────────────────────────────────────────────────────────────────────────────────────────


class Noise(NamedTuple):
    """The scatter T: rows with ``T = rows^T rows`` where these are fewer than p, else a matrix."""

    rows: Array | None  # (r, p)
    matrix: Array | None  # (p, p)
    diagonal: Array  # (p,), of T

    @classmethod
    def of_rows(cls, rows: Array) -> Noise:
        """Of deviations (r, p), each times the root of its weight."""
        if len(rows) < rows.shape[1]:
            return cls(rows, None, np.einsum("ij,ij->j", rows, rows))
        T = rows.T @ rows
        return cls(None, T, np.diagonal(T))


class Axes(NamedTuple):
    """Axes in which ``T + rho (I + k t B)`` is diagonal, and what of a frame lies along them."""

    metric: Array | float  # (p,), the diagonal of (I + k t B)^-1; 1 without structure
    rows: Array | None  # (r, p), which the turn combines to axes; None where it is the axes
    turn: Array  # (r, d) or (p, d)
    values: Array  # (d,), of T along the axes; outside of them T is 0
    samples: Array = NOBODY  # (n, d)
    means: Array = NOBODY  # (C, d)
    squares: Array = NOBODY  # (n, d), of deviations
    products: Array = NOBODY  # (n, d), of deviations and samples
    outside: Array = NOBODY  # (C, C), inner products of the means outside of the axes

    @classmethod
    def of(cls, noise: Noise, metric: Array | float = 1.0) -> Axes:
        """Of the noise, in features that are multiplied by the root of a metric."""
        root = np.sqrt(metric)
        has_metric = isinstance(metric, np.ndarray)
        if noise.rows is not None:
            scaled = noise.rows * root if has_metric else noise.rows
            T = scaled @ scaled.T
        else:
            assert noise.matrix is not None
            T = noise.matrix * np.multiply.outer(root, root)
        # SciPy 1.13 gives "evd" no memory for 1 x 1.
        driver: Literal["evd", "evr"] = "evd" if len(T) > 1 else "evr"
        values, turn = eigh(T, overwrite_a=True, check_finite=False, driver=driver)
        if noise.rows is None:
            turn = turn * root[:, None] if has_metric else turn
            return cls(metric, None, turn, values.clip(0))
        kept = values > RANGE * max(values[-1], 0.0)
        values = values[kept]
        return cls(metric, noise.rows, turn[:, kept] / np.sqrt(values), values)

    def vectors(self) -> Array:
        """The axes (p, d) themselves, where the metric is 1."""
        return self.turn if self.rows is None else self.rows.T @ self.turn

    def along(self, features: Array) -> Array:
        """Features (n, p) along the axes, (n, d)."""
        if self.rows is None:
            return features @ self.turn
        return (features * self.metric) @ self.rows.T @ self.turn

    def solved(self, means: Array, rho: float) -> Array:
        """``(T + rho (I + k t B))^-1 m`` for rows m, (C, p)."""
        inside = self.along(means) * (1 / (self.values + rho) - 1 / rho)
        found = inside @ self.turn.T
        if self.rows is not None:
            found = found @ self.rows * self.metric
        return np.asarray(found + means * self.metric / rho)


class LinearScores(NamedTuple):
    """Scores of classes as ``x @ weights + constants``."""

    weights: Array  # (p, C)
    constants: Array  # (C,)


class StrangerTerm(NamedTuple):
    """``x^T (a R_0 + R_{n+1} / (n + 1) - R_1) x / 2`` as squares along axes and outside of them."""

    parts: list[tuple[Axes, Array]]  # and the factors (d,) of squares along the axes
    energy: Array  # (p,), the factors of the squares of the features themselves
    outside: float  # the factor of squares outside of all features, as kernels have them

    def of(self, features: Array, residual: Array | float) -> Array:
        """The term for features (n, p), and squared lengths (n,) outside of them."""
        found = (features**2) @ self.energy + self.outside * residual
        for axes, factors in self.parts:
            found = found + (axes.along(features) ** 2) @ factors
        return np.asarray(found)


# ── A frame ──────────────────────────────────────────────────────────────────────────────────────


@dataclass(eq=False)
class Frame:
    """Scored samples, class means and noise in the features of one view.

    Parameters
    ----------
    samples : ndarray of shape (n, p)
        The features of the scored samples.
    means : ndarray of shape (C, p)
        The class means of all samples.
    sizes : ClassSizes
        The classes.
    noise : Noise
        The scatter of the noise of all samples.
    spread : ndarray of shape (p,) or None
        The diagonal of B; None stands for the identity.
    noise_rows : ndarray of shape (n,) or None
        Which rows of the noise are the deviations of the scored samples, if they are its rows.
    is_level : bool
        Whether left-out scores are of classes of the same size. In the space of a kernel all
        samples lie nearly at right angles, so that the constants of the classes decide. Only the
        class of a left-out sample lacks one sample, which would give it away.
    """

    samples: Array
    means: Array
    sizes: ClassSizes
    noise: Noise
    spread: Array | None = None
    noise_rows: Array | None = None
    is_level: bool = False
    kept_axes: dict[float, Axes] = field(default_factory=dict)  # by k t
    kept_ratio: float | None = None  # t, of which axes are kept
    noise_unit: float = field(init=False)  # the mean eigenvalue of T where samples can show it
    spread_unit: float = field(init=False)  # that of the scatter of the class means, in units of T

    @classmethod
    def of_samples(
        cls,
        features: Array,
        sizes: ClassSizes,
        spread: Array | None = None,
        is_level: bool = False,
    ) -> Frame:
        """Where the scored samples are all samples."""
        means = class_means(features, sizes.codes, sizes.weights, len(sizes.counts))
        rows = features - means[sizes.codes]
        if (sizes.weights != 1).any():
            rows *= np.sqrt(sizes.weights)[:, None]
        noise = Noise.of_rows(rows)
        noise_rows = None if noise.rows is None else np.arange(len(features))
        return cls(features, means, sizes, noise, spread, noise_rows, is_level)

    def __post_init__(self) -> None:
        counts, p = self.sizes.counts, self.means.shape[1]
        n_directions = min(p, max(self.sizes.freedom, 1.0))
        self.noise_unit = float(self.noise.diagonal.sum() / n_directions)
        n_directions = min(p, max(len(counts) - 1, 1))
        power = float(counts / counts.sum() @ (self.means**2).sum(axis=1))
        self.spread_unit = float(power * self.sizes.freedom / n_directions)

    def axes(self, k: float, rho: float, b: float) -> tuple[Axes, float]:
        """Axes in which ``T + rho I + k b B`` is diagonal, and what is added to T along them."""
        if self.spread is None:
            if not self.kept_axes:
                self.kept_axes[0.0] = self._tabulated(Axes.of(self.noise))
            return self.kept_axes[0.0], rho + k * b
        ratio = round(b / rho, 12)
        if ratio != self.kept_ratio:  # each takes memory: those of one t, and k = 0, are enough
            self.kept_axes = {key: axes for key, axes in self.kept_axes.items() if key == 0.0}
            self.kept_ratio = ratio
        key = round(k * b / rho, 12)
        if key not in self.kept_axes:
            self.kept_axes[key] = self._tabulated(Axes.of(self.noise, 1 / (1 + key * self.spread)))
        return self.kept_axes[key], rho

    def _tabulated(self, axes: Axes) -> Axes:
        """The axes, with the samples and the class means along them."""
        sizes = self.sizes
        means = axes.along(self.means)
        outside = np.zeros((len(means), len(means)))
        if axes.rows is not None:
            outside = (self.means * axes.metric) @ self.means.T - means @ means.T
        if self.noise_rows is not None:  # rows of the noise, along axes that are made of them
            deviations = axes.turn[self.noise_rows] * axes.values
            deviations /= np.sqrt(sizes.weights)[:, None]
        else:
            deviations = axes.along(self.samples - self.means[sizes.codes])
        samples = deviations + means[sizes.codes]
        return axes._replace(
            samples=samples,
            means=means,
            squares=deviations**2,
            products=deviations * samples,
            outside=outside,
        )

    def counted(self, counts: Array) -> Array:
        """Counts as the formula takes them: with structure each new one is an eigenproblem."""
        if self.spread is None:
            return counts
        quarters = np.maximum(np.round(4 * counts) / 4, 0.25)
        large = np.clip(counts, EXACT_COUNTS, MOST_COUNTED) / EXACT_COUNTS
        steps = EXACT_COUNTS * STEP ** np.round(np.log(large) / np.log(STEP))
        return np.where(counts > EMPTY, np.where(counts <= EXACT_COUNTS, quarters, steps), 0.0)

    # -- scores of other samples ------------------------------------------------------------------

    def class_scores(self, rho: float, b: float) -> LinearScores:
        """The scores of the classes, as linear functions of features."""
        counts = self.counted(self.sizes.counts)
        weights = np.zeros((self.means.shape[1], len(counts)))
        constants = np.zeros(len(counts))
        for k in np.unique([0.0, *counts, *(counts + 1)]):
            in_products, in_squares = factors_of(k, counts)
            used = np.flatnonzero((in_products != 0) | (in_squares != 0))
            axes, shift = self.axes(k, rho, b)
            m = self.means[used]
            Rm = axes.solved(m, shift)
            weights[:, used] += (in_products[used, None] * Rm).T
            constants[used] -= 0.5 * in_squares[used] * (m * Rm).sum(axis=1)
        return LinearScores(self.sizes.freedom * weights, self.sizes.freedom * constants)

    def stranger_term(self, n: float, rho: float, b: float) -> StrangerTerm:
        """The quadratic term of the ratio against a stranger, for n samples in a class."""
        n = float(self.counted(np.array([n]))[0])
        parts: list[tuple[Axes, Array]] = []
        energy = np.zeros(self.means.shape[1])
        outside = 0.0
        for k, share in stranger_shares(n):
            axes, shift = self.axes(k, rho, b)
            factor = 0.5 * self.sizes.freedom * share
            energy += factor * axes.metric / shift
            outside += factor / (rho + k * b)
            factors = factor * (1 / (axes.values + shift) - 1 / shift)
            if self.spread is None and parts:  # along the same axes
                parts = [(axes, parts[0][1] + factors)]
            else:
                parts.append((axes, factors))
        return StrangerTerm(parts, energy, outside)

    def scores(self, features: Array, rho: float, b: float) -> Array:
        """The scores (n, C) of other samples."""
        found = self.class_scores(rho, b)
        return features @ found.weights + found.constants

    # -- scores without each sample ---------------------------------------------------------------

    def left_out_scores(self, rho: float, b: float, rows: Array | None = None) -> Array:
        """The scores (n, C) of scored samples, each without the sample itself.

        Where classes are kept level, the mean change of the constant of a class that lacks one of
        its samples is taken back: see `is_level`. Samples whose class would be gone have no meaning
        in the column of their class.
        """
        sizes = self.sizes
        rows = np.arange(len(sizes.codes)) if rows is None else rows
        scores, constants, own_constants = self.refitted(rho, b, rows)
        if not self.is_level:
            return scores
        at = np.flatnonzero(sizes.scored[rows])
        codes = sizes.codes[rows[at]]
        weights = sizes.weights[rows[at]]
        totals = np.bincount(codes, weights, minlength=len(constants))
        sums = np.bincount(codes, weights * own_constants[at], minlength=len(constants))
        change = constants - sums / np.where(totals > 0, totals, 1.0)
        scores[at, codes] += change[codes]
        return scores

    def refitted(self, rho: float, b: float, rows: Array) -> tuple[Array, Array, Array]:
        """What a fit without each sample gives, in closed form.

        Returns
        -------
        scores : ndarray of shape (n, C)
            Of every sample, by the fit without it.
        constants : ndarray of shape (C,)
            The constants of the classes with all samples.
        own_constants : ndarray of shape (n,)
            The constant of the class of each sample, by the fit without it.
        """
        sizes = self.sizes
        codes = sizes.codes[rows]
        counts = self.counted(sizes.counts)
        left = np.where(sizes.scored, self.counted(sizes.left), 0.0)[rows]
        different, which = np.unique(left, return_inverse=True)
        has_few = len(different) <= FEW_COUNTS  # else a product for all of them would be large
        ks = np.concatenate([[0.0], counts, counts + 1])
        if has_few:
            ks = np.concatenate([ks, different, different + 1])
        quadratics = self._quadratics(np.unique(ks), rho, b, rows)
        scores, constants = self._scores_of_classes(quadratics, rho, b, rows)
        own_constants = np.zeros(len(rows))
        for first in range(0, len(different), FEW_COUNTS):
            places = np.flatnonzero((which >= first) & (which < first + FEW_COUNTS) & (left > 0))
            if not has_few:
                some = different[first : first + FEW_COUNTS]
                ks = np.unique(np.concatenate([[0.0], some, some + 1]))
                quadratics = self._quadratics(ks, rho, b, rows[places])
            elif len(places) < len(rows):
                quadratics = {k: table[:, places] for k, table in quadratics.items()}
            found = self._scores_of_own(quadratics, rows[places], left[places])
            scores[places, codes[places]] = found[0]
            own_constants[places] = found[1]
        freedom = sizes.freedom_left[rows]
        return scores * freedom[:, None], constants * sizes.freedom, own_constants * freedom

    def _scores_of_own(
        self, quadratics: dict[float, Array], rows: Array, left: Array
    ) -> tuple[Array, Array]:
        """Of samples for their own classes, whose means move away from them, and constants.

        So much of each class is left (n,); degrees of freedom are not counted yet.
        """
        sizes = self.sizes
        beta = sizes.beta[rows]
        pull = sizes.pull[rows]
        move = sizes.weights[rows] / sizes.left[rows]
        scores = np.zeros(len(rows))
        constants = np.zeros(len(rows))
        for k, (dd, xd, xm) in quadratics.items():
            in_products, in_squares = factors_of(k, left)
            dm = xd - dd
            update = beta / (1 - beta * dd)
            xx = xm + xd + update * xd**2
            moved_dm = dm - move * dd
            moved_xm = xm - move * xd + update * xd * moved_dm
            moved_mm = xm - dm - 2 * move * dm + move**2 * dd + update * moved_dm**2
            scores += in_products * (1 + pull) * (moved_xm + pull * xx)
            scores -= 0.5 * in_squares * (moved_mm + 2 * pull * moved_xm + pull**2 * xx)
            constants -= 0.5 * in_squares * moved_mm
        return scores, constants

    def _scores_of_classes(
        self, quadratics: dict[float, Array], rho: float, b: float, rows: Array
    ) -> tuple[Array, Array]:
        """Of samples for all classes as if none were their own, and constants of the classes."""
        sizes = self.sizes
        counts = self.counted(sizes.counts)
        beta = sizes.beta[rows]
        pull = sizes.pull[rows][:, None]
        own, which = np.unique(sizes.codes[rows], return_inverse=True)
        scores = np.zeros((len(rows), len(counts)))
        constants = np.zeros(len(counts))
        for k, (dd, xd, xm_own) in quadratics.items():
            in_products, in_squares = factors_of(k, counts)
            used = np.flatnonzero((in_products != 0) | (in_squares != 0))
            if not len(used):
                continue
            axes, shift = self.axes(k, rho, b)
            everyone = len(rows) == len(axes.samples)
            weighted = axes.means[used] / (axes.values + shift)
            xm = (axes.samples if everyone else axes.samples[rows]) @ weighted.T
            of_own = axes.means[own] @ weighted.T
            mm = (axes.means[used] * weighted).sum(axis=1)
            if axes.rows is not None:
                outside = axes.outside[np.ix_(own, used)] / shift
                xm += outside[which]
                of_own += outside
                mm += np.diagonal(axes.outside)[used] / shift
            in_products = in_products[used]
            in_squares = in_squares[used]
            constants[used] -= 0.5 * in_squares * mm
            dm = xm - of_own[which]
            update = beta / (1 - beta * dd)
            xm += (update * xd)[:, None] * dm
            mm = mm + update[:, None] * dm**2
            xx = (xm_own + xd + update * xd**2)[:, None]
            scores[:, used] += in_products * (1 + pull) * (xm + pull * xx)
            scores[:, used] -= 0.5 * in_squares * (mm + 2 * pull * xm + pull**2 * xx)
        return scores, constants

    def _quadratics(self, ks: Array, rho: float, b: float, rows: Array) -> dict[float, Array]:
        """For every k the table (3, n) of d^T R d, x^T R d and x^T R m of the own class."""
        found: dict[float, Array] = {}
        codes = self.sizes.codes[rows]
        together = [ks] if self.spread is None else [ks[i : i + 1] for i in range(len(ks))]
        for alike in together:  # of the same axes: one product serves all
            axes, _ = self.axes(alike[0], rho, b)
            shifts = np.array([self.axes(k, rho, b)[1] for k in alike])
            R = 1 / (axes.values[:, None] + shifts)
            everyone = len(rows) == len(axes.squares)
            dd = (axes.squares if everyone else axes.squares[rows]) @ R
            xd = (axes.products if everyone else axes.products[rows]) @ R
            mm = (axes.means**2) @ R + np.diagonal(axes.outside)[:, None] / shifts
            xm = mm[codes] + xd - dd  # x = m + d
            for place, k in enumerate(alike):
                found[float(k)] = np.stack([dd[:, place], xd[:, place], xm[:, place]])
        return found

    def left_out_stranger(self, n: float, rho: float, b: float) -> Array:
        """The quadratic term (n,) of the ratio against a stranger, without each sample."""
        sizes = self.sizes
        n = float(self.counted(np.array([n]))[0])
        shares = stranger_shares(n)
        everyone = np.arange(len(sizes.codes))
        quadratics = self._quadratics(np.array([k for k, _ in shares]), rho, b, everyone)
        total = np.zeros(len(sizes.codes))
        for k, share in shares:
            dd, xd, xm = quadratics[k]
            total += share * (xm + xd + sizes.beta * xd**2 / (1 - sizes.beta * dd))
        return np.asarray(0.5 * sizes.freedom_left * (1 + sizes.pull) ** 2 * total)
