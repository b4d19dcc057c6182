"""Scores of Gaussian classes, and the same scores without each sample, in closed form.

Features x are taken about the mean of all samples. Class c has n_c samples (the sum of their
weights) with mean m_c; d_i = x_i - m_c(i) is a deviation, and ``T = sum_i w_i d_i d_i^T`` the
scatter of the noise. Noise has the covariance ``(T + rho Q) / f`` with f = sum_c max(n_c - 1, 0)
degrees of freedom; class means have the covariance ``b B / f``. With the resolvents

    R_k = f (T + rho Q + k b B)^-1

the log likelihood of a class with n samples is, up to what all classes share,

    score(x) = a x^T (R_0 - R_{n+1}) m - 1/2 m^T (a R_0 - n R_n + n a R_{n+1}) m,   a = n / (n + 1).

It is the posterior predictive density of the two-covariance model without the terms that depend on
x alone and on n alone: these would let directions in which nobody has data decide between classes
of different sizes. Against a stranger (a class without samples) the quadratic term in x counts,

    - 1/2 x^T (a R_0 + R_{n+1} / (n + 1) - R_1) x,

with one n for all classes, so that it changes no comparison between known classes.

Leaving sample i out changes T by a matrix of rank one and moves its own mean:

    T' = T - beta d d^T,  beta = w n / (n - w);     m' = m - w d / (n - w);     n' = n - w.

So ``u^T R' v = u^T R v + beta (u^T R d)(v^T R d) / (1 - beta d^T R d)``, each R without f, and all
left-out scores follow from the tables x^T R m, m^T R m, x^T R d and d^T R d: no refitting. The
centre moves, too: about that of the others, x and all means lie ``w / (N - w) x`` further out. A
centre that knows the sample would tell its class where classes are small and numbers many: m lies
on the other side of it.

Without structure Q = B = I, and one eigenproblem of T serves all rho and b. With structure, Q = I
and B is diagonal in the features: then ``T + rho (I + k t B)`` with t = b / rho is diagonal in the
axes of a scaled T, one eigenproblem for every k t, which serves all rho. Deviations lie in the
range of T; class means also lie outside of it, where the resolvent is a plain number.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
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


# ── Classes ──────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, eq=False)
class ClassSizes:
    """Which class each scored sample is of, and how much the classes weigh.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        The class of each scored sample.
    weights : ndarray of shape (n,)
        The weights of the scored samples.
    counts : ndarray of shape (C,)
        The sum of the weights of all samples of each class, scored or not.
    """

    codes: Array
    weights: Array
    counts: Array

    @cached_property
    def freedom(self) -> float:
        """The degrees of freedom of the noise."""
        return float(np.maximum(self.counts - 1, 0).sum())

    @cached_property
    def left(self) -> Array:
        """What is left of the class of each sample without it, (n,)."""
        return self.counts[self.codes] - self.weights

    @cached_property
    def freedom_left(self) -> Array:
        """The degrees of freedom without each sample, (n,)."""
        own = self.counts[self.codes]
        return np.asarray(self.freedom - np.maximum(own - 1, 0) + np.maximum(self.left - 1, 0))

    @cached_property
    def pull(self) -> Array:
        """How far each sample pulls the centre of all towards itself, (n,): ``w / (N - w)``."""
        others = self.counts.sum() - self.weights
        return np.where(others > 0, self.weights / np.where(others > 0, others, 1.0), 0.0)

    @cached_property
    def scored(self) -> Array:
        """Which samples leave a class and some noise behind when they are left out, (n,)."""
        return np.asarray((self.left > EMPTY * self.counts.max()) & (self.freedom_left > EMPTY))

    @cached_property
    def beta(self) -> Array:
        """The factor of ``d d^T`` that leaves T with each sample, (n,)."""
        left = np.where(self.scored, self.left, 1.0)
        return np.where(self.scored, self.weights * self.counts[self.codes] / left, 0.0)


# ── The scatter of the noise ─────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, eq=False)
class NoiseScatter:
    """T, as rows (r, p) with ``T = rows^T rows`` where these are fewer than p, else as a matrix."""

    rows: Array | None
    matrix: Array | None

    @classmethod
    def of_deviations(cls, deviations: Array, weights: Array) -> NoiseScatter:
        """Of deviations (n, p) with weights (n,)."""
        rows = deviations
        if (weights != 1).any():
            rows = deviations * np.sqrt(weights)[:, None]
        if len(rows) < rows.shape[1]:
            return cls(rows, None)
        return cls(None, rows.T @ rows)

    @cached_property
    def trace(self) -> float:
        """The sum of all squared deviations."""
        if self.rows is not None:
            return float(np.vdot(self.rows, self.rows))
        assert self.matrix is not None
        return float(np.trace(self.matrix))

    def diagonal(self) -> Array:
        """The sum of the squared deviations of every number, (p,)."""
        if self.rows is not None:
            return np.asarray((self.rows**2).sum(axis=0))
        assert self.matrix is not None
        return np.diagonal(self.matrix)

    def spectrum(self, scale: Array | None = None) -> tuple[Array, Array]:
        """Positive eigenvalues (d,) of T with scaled features, and a turn.

        For rows the turn (r, d) combines these to orthonormal axes; for a matrix it is the axes.
        """
        if self.rows is not None:
            rows = self.rows if scale is None else self.rows * scale
            values, turn = _eigh(rows @ rows.T)
            kept = values > RANGE * max(values[-1], 0.0)
            values = values[kept]
            return values, turn[:, kept] / np.sqrt(values)
        assert self.matrix is not None
        T = self.matrix.copy() if scale is None else self.matrix * scale * scale[:, None]
        values, axes = _eigh(T)
        return values.clip(0), axes

    @property
    def fills_space(self) -> bool:
        """Whether the axes span all features, so that nothing lies outside of them."""
        return self.rows is None


class Resolved(NamedTuple):
    """Axes in which ``T + rho Q + k b B`` is diagonal, for one k."""

    rows: Array | None  # (r, p), which the turn combines to axes; None where it is the axes
    scale: Array | None  # (p,), what features are multiplied by before the axes; None for 1
    turn: Array  # (r, d) or (p, d)
    values: Array  # (d,), of T along the axes; outside of them T is 0
    shift: float  # what is added to T along all directions

    def scaled(self, features: Array) -> Array:
        """Features in the units of the axes."""
        return features if self.scale is None else features * self.scale

    def along(self, features: Array) -> Array:
        """Features (n, p) along the axes, (n, d)."""
        features = self.scaled(features)
        if self.rows is not None:
            features = features @ self.scaled(self.rows).T
        return features @ self.turn

    def times(self, means: Array) -> Array:
        """``(T + rho Q + k b B)^-1 m`` for rows m, (C, p)."""
        inside = self.along(means) * (1 / (self.values + self.shift) - 1 / self.shift)
        found = inside @ self.turn.T
        if self.rows is not None:
            found = found @ self.scaled(self.rows)
        return self.scaled(found + self.scaled(means) / self.shift)


@dataclass(eq=False)
class Resolvents:
    """The resolvents of one scatter of noise, kept while settings are tried.

    Parameters
    ----------
    noise : NoiseScatter
        T in the features.
    spread : ndarray of shape (p,) or None
        The diagonal of B; None stands for the identity.
    """

    noise: NoiseScatter
    spread: Array | None = None
    _spectra: dict[float, tuple[Array | None, Array, Array]] = field(default_factory=dict)

    def at(self, k: float, rho: float, b: float) -> Resolved:
        """The axes for one k."""
        key = 0.0 if self.spread is None else round(k * b / rho, 12)
        if key not in self._spectra:
            scale = None if self.spread is None else 1 / np.sqrt(1 + key * self.spread)
            self._spectra[key] = (scale, *self.noise.spectrum(scale))
        shift = rho + k * b if self.spread is None else rho
        scale, values, turn = self._spectra[key]
        return Resolved(self.noise.rows, scale, turn, values, shift)

    def axes(self) -> tuple[Array, Array]:
        """Eigenvalues (d,) and axes (p, d) of T itself."""
        one = self.at(0.0, 1.0, 1.0)
        return one.values, one.turn if one.rows is None else one.rows.T @ one.turn

    def forget(self) -> None:
        """Let go of all spectra but that of k = 0."""
        self._spectra = {key: kept for key, kept in self._spectra.items() if key == 0.0}

    def counted(self, counts: Array) -> Array:
        """Counts as the formula takes them: with structure each new one is an eigenproblem."""
        if self.spread is None:
            return counts
        quarters = np.maximum(np.round(4 * counts) / 4, 0.25)
        large = np.clip(counts, EXACT_COUNTS, MOST_COUNTED) / EXACT_COUNTS
        steps = EXACT_COUNTS * STEP ** np.round(np.log(large) / np.log(STEP))
        return np.where(counts > EMPTY, np.where(counts <= EXACT_COUNTS, quarters, steps), 0.0)


# ── Scores ───────────────────────────────────────────────────────────────────────────────────────


class LinearScores(NamedTuple):
    """Scores of classes as ``x @ weights + constants``."""

    weights: Array  # (p, C)
    constants: Array  # (C,)


def class_scores(
    resolvents: Resolvents, means: Array, counts: Array, freedom: float, rho: float, b: float
) -> LinearScores:
    """The scores of classes with means (C, p) and counts (C,)."""
    weights = np.zeros((means.shape[1], len(means)))
    constants = np.zeros(len(means))
    for n, columns in _alike(resolvents.counted(counts)):
        m = means[columns]
        at_0 = resolvents.at(0, rho, b).times(m)
        at_n = resolvents.at(n, rho, b).times(m)
        at_more = resolvents.at(n + 1, rho, b).times(m)
        a = n / (n + 1)
        weights[:, columns] = freedom * a * (at_0 - at_more).T
        squares = m * (a * at_0 - n * at_n + n * a * at_more)
        constants[columns] = -0.5 * freedom * squares.sum(axis=1)
    return LinearScores(weights, constants)


class StrangerTerm(NamedTuple):
    """``x^T (a R_0 + R_{n+1} / (n + 1) - R_1) x / 2`` as squares along axes and outside of them."""

    parts: list[tuple[Resolved, Array]]  # and the factors (d,) of squares along its axes
    energy: Array  # (p,), the factors of the squares of the features themselves
    outside: float  # the factor of squares outside of all features, as kernels have them

    def of(self, features: Array, residual: Array | float) -> Array:
        """The term for features (n, p), and squared lengths (n,) outside of them."""
        found = (features**2) @ self.energy + self.outside * residual
        for axes, factors in self.parts:
            found = found + (axes.along(features) ** 2) @ factors
        return np.asarray(found)


def stranger_shares(n: float) -> list[tuple[float, float]]:
    """K and the share of R_k in the quadratic term, for n samples in a class."""
    return [(0.0, n / (n + 1)), (n + 1, 1 / (n + 1)), (1.0, -1.0)]


def stranger_term(
    resolvents: Resolvents, n: float, freedom: float, rho: float, b: float
) -> StrangerTerm:
    """The quadratic term of the ratio against a stranger, for n samples in a class."""
    p = len(resolvents.noise.diagonal())
    n = float(resolvents.counted(np.array([n]))[0])
    parts: list[tuple[Resolved, Array]] = []
    energy, outside = np.zeros(p), 0.0
    for k, share in stranger_shares(n):
        one = resolvents.at(k, rho, b)
        factor = 0.5 * freedom * share
        energy += factor * one.scaled(one.scaled(np.ones(p))) / one.shift
        outside += factor / (rho + k * b)
        factors = factor * (1 / (one.values + one.shift) - 1 / one.shift)
        if resolvents.spread is None and parts:  # along the same axes
            parts = [(one, parts[0][1] + factors)]
        else:
            parts.append((one, factors))
    return StrangerTerm(parts, energy, outside)


# ── Scores without each sample ───────────────────────────────────────────────────────────────────

Quadratics = dict[float, tuple[Array, Array, Array]]  # by k: d^T R d, x^T R d, x^T R m, each (n,)


@dataclass(eq=False)
class Frame:
    """Scored samples and class means in the features of one view, and what serves all settings.

    Parameters
    ----------
    samples : ndarray of shape (n, p)
        The features of the scored samples.
    means : ndarray of shape (C, p)
        The class means of all samples.
    sizes : ClassSizes
        The classes.
    resolvents : Resolvents
        Of the scatter of the noise of all samples.
    noise_rows : ndarray of shape (n,) or None
        Which rows of that scatter are the deviations of the scored samples, if they are its rows.
    is_level : bool
        Whether left-out scores are of classes of the same size. In the space of a kernel all
        samples lie nearly at right angles, so that the constants of the classes decide; and only
        the own class of a left-out sample lacks one, which would tell what class it is.
    """

    samples: Array
    means: Array
    sizes: ClassSizes
    resolvents: Resolvents
    noise_rows: Array | None = None
    is_level: bool = False
    _tables: dict[int, _Along] = field(default_factory=dict)

    @classmethod
    def of_samples(cls, features: Array, sizes: ClassSizes, spread: Array | None = None) -> Frame:
        """Where the scored samples are all samples."""
        means = class_means(features, sizes)
        noise = NoiseScatter.of_deviations(features - means[sizes.codes], sizes.weights)
        own = None if noise.rows is None else np.arange(len(features))
        return cls(features, means, sizes, Resolvents(noise, spread), own)

    @property
    def noise_unit(self) -> float:
        """The mean eigenvalue of T over the directions that samples can show."""
        noise = self.resolvents.noise
        n_directions = min(self.means.shape[1], max(self.sizes.freedom, 1.0))
        return float(noise.trace / n_directions)

    @property
    def spread_unit(self) -> float:
        """The mean eigenvalue of the scatter of the class means, in units of T."""
        shares = self.sizes.counts / self.sizes.counts.sum()
        n_directions = min(self.means.shape[1], max(len(shares) - 1, 1))
        power = float(shares @ (self.means**2).sum(axis=1))
        return float(power * self.sizes.freedom / n_directions)

    def along(self, k: float, rho: float, b: float) -> tuple[_Along, float]:
        """Samples and means along the axes for one k, and the shift."""
        one = self.resolvents.at(k, rho, b)
        key = id(one.turn)  # which the resolvents keep
        if key not in self._tables:
            self._tables[key] = _Along.of(self, one)
        return self._tables[key], one.shift

    def scores(self, features: Array, rho: float, b: float) -> Array:
        """The scores (n, C) of other samples."""
        sizes = self.sizes
        found = class_scores(self.resolvents, self.means, sizes.counts, sizes.freedom, rho, b)
        return features @ found.weights + found.constants

    def stranger(self, n: float, rho: float, b: float, features: Array) -> Array:
        """The quadratic term (n,) of the ratio against a stranger, for other samples."""
        term = stranger_term(self.resolvents, n, self.sizes.freedom, rho, b)
        return term.of(features, 0.0)

    def forget(self) -> None:
        """Let go of all eigenproblems but that of k = 0."""
        self.resolvents.forget()
        kept = {id(turn) for _, _, turn in self.resolvents._spectra.values()}
        self._tables = {key: table for key, table in self._tables.items() if key in kept}

    def left_out_scores(self, rho: float, b: float, rows: Array | None = None) -> Array:
        """The scores (n, C) of scored samples, each without the sample itself.

        Where classes are kept level, the mean change of the constant of a class that lacks one of
        its samples is taken back: see `is_level`. Samples whose class would be gone have no meaning
        in the column of their class.
        """
        sizes = self.sizes
        rows = np.arange(len(sizes.codes)) if rows is None else rows
        scores, constants, own_constants = self._refitted(rho, b, rows)
        if not self.is_level:
            return scores
        at = np.flatnonzero(sizes.scored[rows])
        codes, weights = sizes.codes[rows[at]], sizes.weights[rows[at]]
        totals = np.bincount(codes, weights, minlength=len(constants))
        sums = np.bincount(codes, weights * own_constants[at], minlength=len(constants))
        change = constants - sums / np.where(totals > 0, totals, 1.0)
        scores[at, codes] += change[codes]
        return scores

    def refitted_scores(self, rho: float, b: float, rows: Array | None = None) -> Array:
        """The scores (n, C) of scored samples that a fit without each sample gives."""
        return self._refitted(rho, b, np.arange(len(self.sizes.codes)) if rows is None else rows)[0]

    def _refitted(self, rho: float, b: float, rows: Array) -> tuple[Array, Array, Array]:
        """These, the constants (C,) of classes, and those (n,) of own classes without a sample."""
        sizes = self.sizes
        groups = list(_alike(self.resolvents.counted(sizes.counts)))
        left = np.where(sizes.scored[rows], self.resolvents.counted(sizes.left[rows]), -1.0)
        own = [(n, places) for n, places in _alike(left) if n > 0]
        of_classes = {k for n, _ in groups for k in (n, n + 1)} | {0.0}
        of_own = {k for n, _ in own for k in (n, n + 1)}
        together = len(own) <= FEW_COUNTS
        asked = sorted(of_classes | of_own) if together else sorted(of_classes)
        quadratics = self._quadratics(asked, rho, b, rows)
        scores, constants = self._scores_of_others(groups, quadratics, rho, b, rows)
        own_constants = np.zeros(len(rows))
        for n, places in own:
            if together:
                some = _of_some(quadratics, [0.0, n, n + 1], places)
            else:
                some = self._quadratics([0.0, n, n + 1], rho, b, rows[places])
            codes = sizes.codes[rows[places]]
            found = self._scores_of_own(n, some, rows[places])
            scores[places, codes], own_constants[places] = found
        freedom = sizes.freedom_left[rows]
        return scores * freedom[:, None], constants * sizes.freedom, own_constants * freedom

    def _scores_of_others(
        self,
        groups: list[tuple[float, Array]],
        quadratics: Quadratics,
        rho: float,
        b: float,
        rows: Array,
    ) -> tuple[Array, Array]:
        """Of samples for classes as if none were their own, and the constants of the classes."""
        sizes = self.sizes
        beta, pull = sizes.beta[rows], sizes.pull[rows][:, None]
        own, which = np.unique(sizes.codes[rows], return_inverse=True)
        scores = np.zeros((len(rows), len(sizes.counts)))
        constants = np.zeros(len(sizes.counts))
        for k in sorted({k for n, _ in groups for k in (n, n + 1)} | {0.0}):
            dd, xd, of_own = quadratics[k]
            update = beta / (1 - beta * dd)
            one, shift = self.along(k, rho, b)
            columns, of_products, of_squares = _roles(k, groups, len(sizes.counts))
            weighted = one.means[columns] / (one.values + shift)
            xm = _some(one.samples, rows) @ weighted.T
            mm = one.means[own] @ weighted.T
            of_means = (one.means[columns] * weighted).sum(axis=1)
            if not self.resolvents.noise.fills_space:
                outside = one.outside[np.ix_(own, columns)] / shift
                xm += outside[which]
                mm += outside
                of_means += np.diagonal(one.outside)[columns] / shift
            constants[columns] -= 0.5 * of_squares * of_means
            dm = xm - mm[which]
            xm += (update * xd)[:, None] * dm
            of_means = of_means + update[:, None] * dm**2
            xx = (of_own + xd + update * xd**2)[:, None]
            scores[:, columns] += of_products * (1 + pull) * (xm + pull * xx)
            scores[:, columns] -= 0.5 * of_squares * (of_means + 2 * pull * xm + pull**2 * xx)
        return scores, constants

    def _quadratics(self, ks: Sequence[float], rho: float, b: float, rows: Array) -> Quadratics:
        """d^T R d, x^T R d and x^T R m of the own class, each (n,), for every k."""
        found: Quadratics = {}
        codes = self.sizes.codes[rows]
        together: dict[int, list[float]] = {}
        for k in ks:
            together.setdefault(id(self.along(k, rho, b)[0]), []).append(k)
        for alike in together.values():  # of the same axes: one product serves all
            one, _ = self.along(alike[0], rho, b)
            shifts = np.array([self.along(k, rho, b)[1] for k in alike])
            R = 1 / (one.values[:, None] + shifts)
            dd = _some(one.squares, rows) @ R
            xd = _some(one.products, rows) @ R
            of_means = (one.means**2) @ R + np.diagonal(one.outside)[:, None] / shifts
            xm = of_means[codes] + xd - dd  # x = m + d
            for place, k in enumerate(alike):
                found[k] = (dd[:, place], xd[:, place], xm[:, place])
        return found

    def _scores_of_own(self, n: float, quadratics: Quadratics, rows: Array) -> tuple[Array, Array]:
        """Of samples for their own classes, of which n are left without each, and constants."""
        beta = self.sizes.beta[rows]
        move = self.sizes.weights[rows] / self.sizes.left[rows]
        pull = self.sizes.pull[rows]
        a = n / (n + 1)
        total, constants = np.zeros((2, len(rows)))
        for k, of_products, of_squares in ((0.0, a, a), (n, 0.0, -n), (n + 1, -a, n * a)):
            dd, xd, xm = quadratics[k]
            dm = xd - dd
            mm = xm - dm
            update = beta / (1 - beta * dd)
            xx = xm + xd + update * xd**2
            moved_dm = dm - move * dd
            moved_xm = xm - move * xd + update * xd * moved_dm
            moved_mm = mm - 2 * move * dm + move**2 * dd + update * moved_dm**2
            total += of_products * (1 + pull) * (moved_xm + pull * xx)
            total -= 0.5 * of_squares * (moved_mm + 2 * pull * moved_xm + pull**2 * xx)
            constants -= 0.5 * of_squares * moved_mm
        return total, constants

    def left_out_stranger(self, n: float, rho: float, b: float) -> Array:
        """The quadratic term (n,) of the ratio against a stranger, without each sample."""
        sizes = self.sizes
        n = float(self.resolvents.counted(np.array([n]))[0])
        shares = stranger_shares(n)
        everyone = np.arange(len(sizes.codes))
        quadratics = self._quadratics([k for k, _ in shares], rho, b, everyone)
        total = np.zeros(len(sizes.codes))
        for k, share in shares:
            dd, xd, xm = quadratics[k]
            total += share * (xm + xd + sizes.beta * xd**2 / (1 - sizes.beta * dd))
        return np.asarray(0.5 * sizes.freedom_left * (1 + sizes.pull) ** 2 * total)


def _of_some(quadratics: Quadratics, ks: Sequence[float], places: Array) -> Quadratics:
    """The quadratics of some samples, for some k."""
    found: Quadratics = {}
    for k in ks:
        dd, xd, xm = quadratics[k]
        found[k] = (dd[places], xd[places], xm[places])
    return found


def _roles(
    k: float, groups: list[tuple[float, Array]], n_classes: int
) -> tuple[Array, Array, Array]:
    """Classes whose scores have R_k, and its factors in products and in squares."""
    of_products, of_squares = np.zeros(n_classes), np.zeros(n_classes)
    used = np.zeros(n_classes, dtype=bool)
    for n, columns in groups:
        a = n / (n + 1)
        for role, product, square in ((0.0, a, a), (n, 0.0, -n), (n + 1, -a, n * a)):
            if k == role:
                used[columns] = True
                of_products[columns] += product
                of_squares[columns] += square
    columns = np.flatnonzero(used)
    return columns, of_products[columns], of_squares[columns]


class _Along(NamedTuple):
    """Samples and class means along axes in which T is diagonal."""

    samples: Array  # (n, d)
    means: Array  # (C, d)
    squares: Array  # (n, d), of deviations
    products: Array  # (n, d), of deviations and samples
    values: Array  # (d,)
    outside: Array  # (C, C), inner products of what of the means lies outside of the axes

    @classmethod
    def of(cls, frame: Frame, one: Resolved) -> _Along:
        """Those of a frame."""
        sizes = frame.sizes
        means = one.along(frame.means)
        outside = np.zeros((len(means), len(means)))
        if not frame.resolvents.noise.fills_space:
            scaled = one.scaled(frame.means)
            outside = scaled @ scaled.T - means @ means.T
        if frame.noise_rows is not None:  # rows of the noise, along axes that are made of them
            own = one.turn[frame.noise_rows]
            deviations = own * one.values / np.sqrt(sizes.weights)[:, None]
        else:
            deviations = one.along(frame.samples - frame.means[sizes.codes])
        samples = deviations + means[sizes.codes]
        return cls(samples, means, deviations**2, deviations * samples, one.values, outside)


def _eigh(matrix: Array) -> tuple[Array, Array]:
    """Eigenvalues and eigenvectors of a symmetric matrix, which is overwritten."""
    # SciPy 1.13 gives "evd" no memory for 1 x 1.
    driver: Literal["evd", "evr"] = "evd" if len(matrix) > 1 else "evr"
    values, axes = eigh(matrix, overwrite_a=True, check_finite=False, driver=driver)
    return values, axes


def class_means(features: Array, sizes: ClassSizes) -> Array:
    """The weighted mean (C, p) of the samples of each class; 0 for a class without any."""
    sums = class_sums(features, sizes.codes, sizes.weights, len(sizes.counts))
    weights = np.bincount(sizes.codes, sizes.weights, minlength=len(sums))
    return sums / np.where(weights > 0, weights, 1.0)[:, None]


def class_sums(features: Array, codes: Array, weights: Array, n_classes: int) -> Array:
    """The weighted sum (C, p) of the samples (n, p) of each class."""
    starts = np.arange(len(codes) + 1)
    shares = csc_array((weights, codes, starts), shape=(n_classes, len(codes)))
    return np.asarray(shares @ features)


def _some(table: Array, rows: Array) -> Array:
    """Rows of a table; the table itself, uncopied, where these are all."""
    return table if len(rows) == len(table) else table[rows]


def _alike(numbers: Array) -> Iterator[tuple[float, Array]]:
    """Each different number, and where it stands."""
    different, which = np.unique(numbers, return_inverse=True)
    for place, number in enumerate(different):
        yield float(number), np.flatnonzero(which == place)
