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
x alone and on n alone: these would let directions without data decide between classes of
different sizes. `score_terms` lists the three resolvents and their factors. Against a stranger, a
class without samples, the quadratic term in x counts,

    - 1/2 x^T (a R_0 + R_{n+1} / (n + 1) - R_1) x,

with one n for all classes, so that it changes no comparison between known classes
(`stranger_terms`).

Leaving sample i out changes T by a matrix of rank one and moves the mean of its class:

    T' = T - beta d d^T,  beta = w n / (n - w);     m' = m - w d / (n - w);     n' = n - w.

So ``u^T R' v = u^T R v + beta (u^T R d)(v^T R d) / (1 - beta d^T R d)``, each R without f, and all
left-out scores follow from the tables x^T R m, m^T R m, x^T R d and d^T R d, without refitting. The
mean of all samples moves, too: about that of the others, x and all class means are shifted by
``w / (N - w) x`` (`score_without_sample`). About a centre that includes the sample, its class mean
would lie on the far side, which gives the class away where classes are small and numbers many.

Without structure B = I, and one eigenproblem of T serves all rho and b. With structure B is
diagonal in the features. Then ``T + rho (I + k t B)`` with t = b / rho is diagonal in the axes of a
scaled T: one eigenproblem for every k t, which serves all rho. Deviations lie in the range of T.
Class means also have a part outside of it, where the resolvent is a plain number.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import csc_array

from tenfold.linalg.algebra import Array

RANGE = 1e-13  # of the largest eigenvalue: smaller ones are rounding errors
EMPTY = 1e-9  # of a weight: a class that weighs less counts as empty
EXACT_COUNTS = 8.0  # with structure, larger counts are rounded to powers of STEP,
STEP = 1.25
MOST_COUNTED = 32.0  # and counts above this one are treated as this one
FEW_COUNTS = 16  # different counts that one matrix product serves
NOBODY = np.empty((0, 0))


# ── Classes ──────────────────────────────────────────────────────────────────────────────────────


class ClassSizes(NamedTuple):
    """Counts of the classes, and what changes when each scored sample is left out.

    Scored samples are those that are left out in turn: the sketch, or some of it.
    """

    codes: Array  # (n,), the class of each scored sample
    weights: Array  # (n,), of the scored samples
    counts: Array  # (C,), the sum of the weights of all samples of each class, scored or not
    freedom: float  # f, the degrees of freedom of the noise
    left: Array  # (n,), n - w: the count of the class of each sample without it
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


class ScoreTerm(NamedTuple):
    """One resolvent R_k of the score, for classes of different sizes."""

    k: Array  # (C,)
    of_products: Array  # (C,), the factor of x^T R m
    of_squares: Array  # (C,), the factor of -1/2 m^T R m


def score_terms(n: Array) -> list[ScoreTerm]:
    """The three resolvents of the score, for classes of n samples, (C,)."""
    a = n / (n + 1)
    zero = np.zeros(len(n))
    return [ScoreTerm(zero, a, a), ScoreTerm(n, zero, -n), ScoreTerm(n + 1, -a, n * a)]


def stranger_terms(n: float) -> list[tuple[float, float]]:
    """The three k of the quadratic term, and the factor of each 1/2 x^T R_k x."""
    return [(0.0, n / (n + 1)), (n + 1, 1 / (n + 1)), (1.0, -1.0)]


class InnerProducts(NamedTuple):
    """Inner products ``u^T R v`` of samples x, class means m and deviations d of the samples."""

    xx: Array
    xm: Array
    mm: Array
    xd: Array
    dm: Array
    dd: Array


class OwnProducts(NamedTuple):
    """Inner products of samples and their own deviations with several resolvents."""

    ks: Array  # (K,), sorted
    table: Array  # (3, n, K), x^T R x, x^T R d and d^T R d


def score_without_sample(
    products: InnerProducts, of_products: Array, of_squares: Array, beta: Array, pull: Array
) -> tuple[Array, Array]:
    """What one term adds to the score by a fit without the sample, and m^T R m of this fit.

    `products` has the resolvent of all samples and the class means of the fit without the sample.
    Both are corrected here: the resolvent for a matrix of rank one, and the centre.
    """
    xx, xm, mm, xd, dm, dd = products
    update = beta / (1 - beta * dd)
    xx = xx + update * xd**2
    xm = xm + (update * xd) * dm
    mm = mm + update * dm**2
    # About the centre of the others x becomes (1 + pull) x, and m becomes m + pull x.
    of_xm = of_products * (1 + pull) - of_squares * pull
    of_xx = pull * (of_products * (1 + pull) - 0.5 * of_squares * pull)
    return of_xm * xm + of_xx * xx - 0.5 * of_squares * mm, mm


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


class NoiseAxes(NamedTuple):
    """Axes in which ``T + rho (I + k t B)`` is diagonal, and a frame along these axes."""

    metric: Array | float  # (p,), the diagonal of (I + k t B)^-1; 1 without structure
    rows: Array | None  # (r, p), which `turn` combines to axes; None where `turn` holds the axes
    turn: Array  # (r, d) or (p, d)
    values: Array  # (d,), of T along the axes; outside of them T is 0
    samples: Array = NOBODY  # (n, d)
    means: Array = NOBODY  # (C, d)
    squares: Array = NOBODY  # (n, d), of deviations
    products: Array = NOBODY  # (n, d), of deviations and samples
    outside: Array = NOBODY  # (C, C), inner products of the class means outside of the axes

    @classmethod
    def of(cls, noise: Noise, metric: Array | float = 1.0) -> NoiseAxes:
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

    def along(self, features: Array) -> Array:
        """Features (n, p) along the axes, (n, d)."""
        if self.rows is None:
            return features @ self.turn
        return (features * self.metric) @ self.rows.T @ self.turn

    def solved(self, means: Array, shifts: Array | float) -> Array:
        """``(T + shift (I + k t B))^-1 m`` for rows m, (C, p), and one shift or shifts (C, 1)."""
        inside = self.along(means) * (1 / (self.values + shifts) - 1 / shifts)
        found = inside @ self.turn.T
        if self.rows is not None:
            found = found @ self.rows * self.metric
        return np.asarray(found + means * self.metric / shifts)


class LinearScores(NamedTuple):
    """Scores of classes as ``x @ weights + constants``."""

    weights: Array  # (p, C)
    constants: Array  # (C,)


class StrangerTerm(NamedTuple):
    """``x^T (a R_0 + R_{n+1} / (n + 1) - R_1) x / 2`` as squares along axes and outside of them."""

    parts: list[tuple[NoiseAxes, Array]]  # and the factors (d,) of squares along the axes
    energy: Array  # (p,), the factors of the squares of the features themselves
    outside: float  # the factor of squares outside of all features, as kernels have them

    def of(self, features: Array, residual: Array | float) -> Array:
        """The term for features (n, p), and squared lengths (n,) outside of them."""
        found = (features**2) @ self.energy + self.outside * residual
        for axes, factors in self.parts:
            found = found + (axes.along(features) ** 2) @ factors
        return np.asarray(found)


# ── A frame ──────────────────────────────────────────────────────────────────────────────────────


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
        Whether left-out scores are corrected for the sample that its class lacks. In the space of
        a kernel all samples are nearly orthogonal, so the constants of the classes decide, and
        these depend on the number of samples. The class with one sample less would be recognized.
    axes_of_noise : NoiseAxes or None
        The axes of T, where they are known.
    """

    def __init__(
        self,
        samples: Array,
        means: Array,
        sizes: ClassSizes,
        noise: Noise,
        spread: Array | None = None,
        noise_rows: Array | None = None,
        is_level: bool = False,
        axes_of_noise: NoiseAxes | None = None,
    ) -> None:
        self.samples = samples
        self.means = means
        self.sizes = sizes
        self.noise = noise
        self.spread = spread
        self.noise_rows = noise_rows
        self.is_level = is_level
        self.kept_axes: dict[float, NoiseAxes] = {}  # by k t
        self.kept_ratio: float | None = None  # t, of which axes are kept
        if axes_of_noise is not None:
            self.kept_axes[0.0] = axes_of_noise
        # The mean eigenvalues of T, and of the scatter of the class means in units of T, over as
        # many directions as samples and classes can show.
        p = means.shape[1]
        noise_directions = min(p, max(sizes.freedom, 1.0))
        means_directions = min(p, max(len(sizes.counts) - 1, 1))
        power = float(sizes.counts / sizes.counts.sum() @ (means**2).sum(axis=1))
        self.noise_unit = float(noise.diagonal.sum() / noise_directions)
        self.spread_unit = float(power * sizes.freedom / means_directions)

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

    def axes(self, k: float, rho: float, b: float) -> tuple[NoiseAxes, float]:
        """Axes in which ``T + rho I + k b B`` is diagonal, and what is added to T along them."""
        key = 0.0
        shift = rho + k * b
        if self.spread is not None:
            key = round(k * b / rho, 12)
            shift = rho
            ratio = round(b / rho, 12)
            if ratio != self.kept_ratio:  # each takes memory: those of one t, and k = 0, are enough
                self.kept_axes = {at: axes for at, axes in self.kept_axes.items() if at == 0.0}
                self.kept_ratio = ratio
        if key in self.kept_axes:
            return self.kept_axes[key], shift
        axes = NoiseAxes.of(self.noise, 1.0 if self.spread is None else 1 / (1 + key * self.spread))
        means = axes.along(self.means)
        outside = np.zeros((len(means), len(means)))
        if axes.rows is not None:
            outside = (self.means * axes.metric) @ self.means.T - means @ means.T
        if self.noise_rows is not None:  # rows of the noise, along axes that are made of them
            deviations = axes.turn[self.noise_rows] * axes.values
            deviations /= np.sqrt(self.sizes.weights)[:, None]
        else:
            deviations = axes.along(self.samples - self.means[self.sizes.codes])
        samples = deviations + means[self.sizes.codes]
        self.kept_axes[key] = axes._replace(
            samples=samples,
            means=means,
            squares=deviations**2,
            products=deviations * samples,
            outside=outside,
        )
        return self.kept_axes[key], shift

    def forget_samples(self) -> None:
        """Let the samples go, with all that is known of them along the axes."""
        self.samples = self.samples[:0]
        for key, axes in self.kept_axes.items():
            empty = axes.samples[:0].copy()
            self.kept_axes[key] = axes._replace(samples=empty, squares=empty, products=empty)

    def counted(self, counts: Array) -> Array:
        """Counts as the formula uses them.

        With structure each different count takes an eigenproblem, so counts are rounded.
        """
        if self.spread is None:
            return counts
        quarters = np.maximum(np.round(4 * counts) / 4, 0.25)
        large = np.clip(counts, EXACT_COUNTS, MOST_COUNTED) / EXACT_COUNTS
        steps = EXACT_COUNTS * STEP ** np.round(np.log(large) / np.log(STEP))
        return np.where(counts > EMPTY, np.where(counts <= EXACT_COUNTS, quarters, steps), 0.0)

    def sharing_axes(
        self, k: Array, rho: float, b: float
    ) -> Iterator[tuple[NoiseAxes, Array | slice, Array]]:
        """Axes, the places (m,) among k that they serve, and their shifts (m,).

        Without structure the same axes serve all k. With structure each k has axes of its own.
        """
        if self.spread is None:
            axes, _ = self.axes(0.0, rho, b)
            yield axes, slice(None), rho + k * b  # indexing with a slice copies nothing
            return
        for one in np.unique(k):
            axes, shift = self.axes(one, rho, b)
            places = np.flatnonzero(k == one)
            yield axes, places, np.full(len(places), shift)

    # -- scores of other samples ------------------------------------------------------------------

    def class_scores(self, rho: float, b: float) -> LinearScores:
        """The scores of the classes, as linear functions of features."""
        counts = self.counted(self.sizes.counts)
        weights = np.zeros((self.means.shape[1], len(counts)))
        constants = np.zeros(len(counts))
        for term in score_terms(counts):
            for axes, classes, shifts in self.sharing_axes(term.k, rho, b):
                m = self.means[classes]
                Rm = axes.solved(m, shifts[:, None])
                weights[:, classes] += term.of_products[classes] * Rm.T
                constants[classes] -= 0.5 * term.of_squares[classes] * (m * Rm).sum(axis=1)
        return LinearScores(self.sizes.freedom * weights, self.sizes.freedom * constants)

    def stranger_term(self, n: float, rho: float, b: float) -> StrangerTerm:
        """The quadratic term of the ratio against a stranger, for n samples in a class."""
        n = float(self.counted(np.array([n]))[0])
        parts: list[tuple[NoiseAxes, Array]] = []
        energy = np.zeros(self.means.shape[1])
        outside = 0.0
        for k, share in stranger_terms(n):
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
        """The scores (n, C) of scored samples, each by a fit without the sample.

        Where classes are level (see `is_level`), the class of each sample gets back what its
        constant loses on average without one of its samples. A sample whose class would be empty
        has no meaningful score for this class.
        """
        sizes = self.sizes
        rows = np.arange(len(sizes.codes)) if rows is None else rows
        at = np.flatnonzero(sizes.scored[rows])  # where samples are that can be left out
        scored = rows[at]
        codes = sizes.codes[scored]
        counts = self.counted(sizes.counts)
        left = self.counted(sizes.left[scored])
        different = np.unique(left)
        has_few = len(different) <= FEW_COUNTS
        ks = np.concatenate([[0.0], counts, counts + 1])
        if has_few:  # one table serves all classes; for many counts it would be large
            ks = np.concatenate([ks, different, different + 1])
        products = self._own_products(np.unique(ks), rho, b, rows)
        scores, constants = self._scores_of_others(products, rho, b, rows)
        if has_few:
            if len(at) < len(rows):
                products = products._replace(table=products.table[:, at])
            own_scores, own_constants = self._scores_of_own(products, scored, left)
        else:
            own_scores = np.zeros(len(at))
            own_constants = np.zeros(len(at))
            for first in range(0, len(different), FEW_COUNTS):
                some = different[first : first + FEW_COUNTS]
                places = np.flatnonzero((left >= some[0]) & (left <= some[-1]))
                ks = np.unique(np.concatenate([[0.0], some, some + 1]))
                products = self._own_products(ks, rho, b, scored[places])
                found = self._scores_of_own(products, scored[places], left[places])
                own_scores[places], own_constants[places] = found
        scores[at, codes] = own_scores
        if self.is_level:
            weights = sizes.weights[scored]
            totals = np.bincount(codes, weights, minlength=len(constants))
            sums = np.bincount(codes, weights * own_constants, minlength=len(constants))
            change = constants - sums / np.where(totals > 0, totals, 1.0)
            scores[at, codes] += change[codes]
        return scores

    def _scores_of_others(
        self, own: OwnProducts, rho: float, b: float, rows: Array
    ) -> tuple[Array, Array]:
        """Scores (n, C) of samples for classes of others, and constants (C,) with all samples."""
        sizes = self.sizes
        everyone = len(rows) == len(sizes.codes)
        beta = sizes.beta[rows, None]
        pull = sizes.pull[rows, None]
        known, code = np.unique(sizes.codes[rows], return_inverse=True)
        counts = self.counted(sizes.counts)
        has_one_size = (counts == counts[0]).all()
        scores = np.zeros((len(rows), len(counts)))
        constants = np.zeros(len(counts))
        for term in score_terms(counts):
            for axes, classes, shifts in self.sharing_axes(term.k, rho, b):
                of_products = term.of_products[classes]
                of_squares = term.of_squares[classes]
                if has_one_size:  # one number for all is faster
                    of_products = of_products[:1]
                    of_squares = of_squares[:1]
                at = np.searchsorted(own.ks, term.k[classes])
                xx, xd, dd = own.table[:, :, at[:1] if (at == at[0]).all() else at]
                Rm = axes.means[classes] / (axes.values + shifts[:, None])
                mm = (axes.means[classes] * Rm).sum(axis=1)
                xm = (axes.samples if everyone else axes.samples[rows]) @ Rm.T
                mm_own = axes.means[known] @ Rm.T
                if axes.rows is not None:
                    outside = axes.outside[known][:, classes] / shifts
                    mm += np.diagonal(axes.outside)[classes] / shifts
                    xm += outside[code]
                    mm_own += outside
                dm = xm - mm_own[code]
                products = InnerProducts(xx, xm, mm, xd, dm, dd)
                scores[:, classes] += score_without_sample(
                    products, of_products, of_squares, beta, pull
                )[0]
                constants[classes] -= 0.5 * of_squares * mm
        return scores * sizes.freedom_left[rows, None], constants * sizes.freedom

    def _scores_of_own(self, own: OwnProducts, rows: Array, left: Array) -> tuple[Array, Array]:
        """Scores (n,) of samples for their own classes, and constants of these, without each.

        The mean of the class moves away from the sample. So many samples (n,) are left of it.
        """
        sizes = self.sizes
        move = sizes.weights[rows] / sizes.left[rows]  # in deviations
        scores = np.zeros(len(rows))
        constants = np.zeros(len(rows))
        for term in score_terms(left):
            xx, xd, dd = own.table[:, np.arange(len(rows)), np.searchsorted(own.ks, term.k)]
            xm = xx - xd
            dm = xd - dd
            products = InnerProducts(
                xx=xx,
                xm=xm - move * xd,
                mm=xm - dm - 2 * move * dm + move**2 * dd,
                xd=xd,
                dm=dm - move * dd,
                dd=dd,
            )
            found, mm = score_without_sample(
                products, term.of_products, term.of_squares, sizes.beta[rows], sizes.pull[rows]
            )
            scores += found
            constants -= 0.5 * term.of_squares * mm
        freedom = sizes.freedom_left[rows]
        return scores * freedom, constants * freedom

    def _own_products(self, ks: Array, rho: float, b: float, rows: Array) -> OwnProducts:
        """x^T R x, x^T R d and d^T R d of samples and their deviations, for every k."""
        table = np.empty((3, len(rows), len(ks)))
        for axes, places, shifts in self.sharing_axes(ks, rho, b):
            everyone = len(rows) == len(axes.squares)
            R = 1 / (axes.values[:, None] + shifts)
            dd = (axes.squares if everyone else axes.squares[rows]) @ R
            xd = (axes.products if everyone else axes.products[rows]) @ R
            mm = (axes.means**2) @ R + np.diagonal(axes.outside)[:, None] / shifts
            xx = mm[self.sizes.codes[rows]] + 2 * xd - dd  # x = m + d
            table[:, :, places] = np.stack([xx, xd, dd])
        return OwnProducts(ks, table)

    def left_out_stranger(self, n: float, rho: float, b: float) -> Array:
        """The quadratic term (n,) of the ratio against a stranger, without each sample."""
        sizes = self.sizes
        terms = stranger_terms(float(self.counted(np.array([n]))[0]))
        ks = np.unique([k for k, _ in terms])
        own = self._own_products(ks, rho, b, np.arange(len(sizes.codes)))
        total = np.zeros(len(sizes.codes))
        for k, share in terms:
            xx, xd, dd = own.table[:, :, np.searchsorted(ks, k)]
            total += share * (xx + sizes.beta * xd**2 / (1 - sizes.beta * dd))
        return np.asarray(0.5 * sizes.freedom_left * (1 + sizes.pull) ** 2 * total)
