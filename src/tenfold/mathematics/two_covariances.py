"""Gaussian classes whose means are Gaussian too: two covariances, one likelihood ratio.

    x = class mean + noise,    noise ~ N(0, S_w),    class mean ~ N(mu, S_b)

One eigenproblem for all classes makes both covariances diagonal: in its coordinates the noise has
variance 1 and the class means have variances phi. For a class with n samples and mean m, a new
sample of it is then normal in every coordinate, with

    mean       a = phi / (phi + 1 / n) m                  the mean of the class, not trusted whole
    variance   v = 1 + phi (1 / n) / (phi + 1 / n)        noise, and what is not known of the mean

and a sample of someone else has mean 0 and variance 1 + phi. The score of a class is the logarithm
of the ratio of these two densities. It can be compared across classes, knows how little one sample
says, and serves classes that come later.

In high dimension the coordinates are fitted to the very means that they are used on, and new
samples are nearer to 0 than the textbook says. So the three numbers of a coordinate (the variance
of the class means, n times the variance of a training mean about the true one, the noise) may be
given as they were seen on samples that were held out (`tenfold.mathematics.held_out`).

References: S. Ioffe, "Probabilistic linear discriminant analysis", ECCV 2006; S. Prince, J. Elder,
"Probabilistic linear discriminant analysis for inferences about identity", ICCV 2007.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from tenfold.mathematics.accumulate import merged_means
from tenfold.mathematics.algebra import Array, like, of_type, reshaped, wide_type
from tenfold.mathematics.subspace import projected

SMALLEST = 1e-12  # of all scatter: what noise is taken to be where there is none


@dataclass(frozen=True, eq=False)
class PooledMoments:
    """What two covariances are learned from.

    Parameters
    ----------
    counts : ndarray of shape (C,)
        The sum of the sample weights of each class.
    means : ndarray of shape (C, r)
        The class means.
    within : ndarray of shape (r, r)
        ``sum_c S_c``, the scatter of all samples about the means of their classes.
    size : int
        How many numbers a sample has, also when r coordinates hold all its scatter.
    """

    counts: Array
    means: Array
    within: Array
    size: int

    @property
    def known(self) -> Array:
        """Which classes have samples."""
        return np.asarray(self.counts > 0)

    @property
    def degrees_of_freedom(self) -> float:
        """N - C, where no class counts for less than nothing: a stream may have forgotten some."""
        return float(np.maximum(self.counts - 1, 0.0).sum())

    @cached_property
    def mean(self) -> Array:
        """The mean of all samples, (r,)."""
        return np.asarray(self.counts @ self.means / self.counts.sum())

    @cached_property
    def centred(self) -> Array:
        """The class means about the mean of all samples; zero for a class without samples."""
        return np.where(self.known[:, None], self.means - self.mean, 0.0)

    @cached_property
    def _noise(self) -> tuple[Array, Array]:
        """Eigenvalues and vectors of the noise covariance."""
        variances, axes = np.linalg.eigh(self.within / self.degrees_of_freedom)
        return np.maximum(variances, 0.0), axes

    @cached_property
    def noise_level(self) -> float:
        """The mean variance of the noise."""
        between = float(np.einsum("c,cr,cr->", self.counts, self.centred, self.centred))
        within = float(np.trace(self.within))
        return max(within, SMALLEST * (within + between)) / (self.degrees_of_freedom * self.size)

    def is_usable(self) -> bool:
        """Whether there are two classes, and two samples of one of them."""
        return bool(self.degrees_of_freedom > 0 and self.known.sum() > 1)

    def changed(self, R: Array) -> PooledMoments:
        """The moments in the coordinates z' = R z, with R (r, r)."""
        return PooledMoments(self.counts, self.means @ R.T, R @ self.within @ R.T, self.size)

    def check_scatter(self) -> None:
        """Refuse samples that do not vary, or of which no two are of one class."""
        if self.degrees_of_freedom <= 0:
            raise ValueError(
                f"{self.counts.sum():g} sample(s) of {len(self.counts)} classes do not show how "
                "far samples of one class lie apart; pass two or more of some class (weights are "
                "counts)"
            )
        if not np.trace(self.within) > 0 and not self.centred.any():
            raise ValueError(
                "all samples are equal, so no class can be told from another; pass others"
            )

    def is_singular(self) -> bool:
        """Whether there are directions without noise, so that no covariance can be inverted."""
        variances, _ = self._noise
        few = len(variances) < self.size
        return few or bool(variances[0] <= len(variances) * np.finfo(float).eps * variances[-1])

    def deviations(self) -> Array:
        """Rows (r, r) with the scatter of all samples about the means of their classes."""
        W = self.within
        try:
            return np.asarray(np.linalg.cholesky(W + SMALLEST * np.trace(W) * np.eye(len(W))).T)
        except np.linalg.LinAlgError:  # some directions have no noise but rounding
            squares, axes = np.linalg.eigh(W)
            return np.asarray(np.sqrt(squares.clip(0))[:, None] * axes.T)

    @cached_property
    def _means_along_axes(self) -> Array:
        return np.asarray(self.centred[self.known] @ self._noise[1])

    def coordinates(self, shrinkage: float) -> tuple[Array, Array]:
        """Directions D (r, C - 1) with D^T S_w D = I and D^T S_b D = diag(phi), phi falling.

        S_w is shrunk towards a multiple of the identity. S_b is the scatter of the class means
        less what noise adds to it, and nothing where that is negative. Outside of these
        directions all classes are alike.
        """
        variances, axes = self._noise
        scale = 1 / np.sqrt((1 - shrinkage) * variances + shrinkage * self.noise_level)
        n, known = self.counts[self.known], int(self.known.sum())
        whitened = self._means_along_axes * scale * np.sqrt(n)[:, None]
        _, singular, rows = np.linalg.svd(whitened, full_matrices=False)
        singular, rows = singular[: known - 1], rows[: known - 1]
        typical = (n.sum() - (n**2).sum() / n.sum()) / (known - 1)  # n, if all were equal
        phi = np.maximum(singular**2 / (known - 1) - 1, 0.0) / typical
        return axes @ (rows * scale).T, phi


class KnownClasses(NamedTuple):
    """What a model knows of C classes, in d coordinates."""

    means: Array  # (C, d)
    counts: Array  # (C,), the sums of the sample weights
    enrolled: Array  # (C,), 1 for classes that had no part in finding the coordinates, else 0

    def along(self, coordinates: slice) -> KnownClasses:
        """What is known in some of the coordinates."""
        return KnownClasses(self.means[:, coordinates], self.counts, self.enrolled)

    def joined_by(self, Z: Array, codes: Array, weights: Array, at: Array) -> KnownClasses:
        """These classes at their places among all, and samples (n, d) of some of all, by number."""
        n, places = max(at.max(), codes.max()) + 1, np.concatenate([at, codes])
        counts = np.concatenate([self.counts, weights])
        counts, means, _ = merged_means(counts, np.concatenate([self.means, Z]), places, n)
        enrolled = np.ones(n)
        enrolled[at] = self.enrolled
        return KnownClasses(means, counts, enrolled)


@dataclass(frozen=True, eq=False)
class ClassLikelihood:
    """What samples of a class, and of someone else, look like in d coordinates.

    Parameters
    ----------
    between : ndarray of shape (d,)
        phi, the variance of the class means.
    spread : ndarray of shape (d,)
        n times the variance of the mean of n training samples about the true class mean.
    within : ndarray of shape (d,)
        The variance of samples about their true class mean.
    noise : ndarray of shape (d,)
        The units in which noise is the same in all coordinates.
    gain : float
        Variance of a factor that multiplies the class mean, as light does: x = (1 + g) a + noise.
    tails : float
        One over the degrees of freedom of Student's t distribution; 0 for the normal one.
    temperature : float
        What scores are divided by, so that probabilities are what they say.
    kronecker_share : float
        Between 0 and 1 there are two experts, each with a half of the coordinates, and this is
        the share of the second in the scores. Else there is one.
    """

    between: Array
    spread: Array
    within: Array
    noise: Array
    gain: float = 0.0
    tails: float = 0.0
    temperature: float = 1.0
    kronecker_share: float = 0.0

    @classmethod
    def plain(cls, phi: Array) -> ClassLikelihood:
        """The two-covariance model to the letter."""
        one = np.ones_like(phi)
        return cls(phi, one, one, one)

    def factor(self, n: Any, spread: Array | None = None) -> Array:
        """What a class mean of n samples is multiplied by."""
        spread = self.spread if spread is None else spread
        top = n * self.between
        below = top + spread
        return np.asarray(np.divide(top, below, out=np.zeros_like(below), where=below > 0))

    def variance(self, n: Any, spread: Array | None = None) -> Array:
        """The variance of a new sample of a class with n samples.

        A sum, not a difference: exact however large the variance of the class means is.
        """
        spread = self.spread if spread is None else spread
        below = n * self.between + spread
        unsure = np.divide(spread, below, out=np.zeros_like(below), where=below > 0)
        return np.asarray(self.within + self.between * unsure)

    def unsure(self, n: float) -> float:
        """The share in the variance of new samples of what n samples leave open of a class mean."""
        variance = self.variance(n)
        return float(np.mean((variance - self.within) / variance))

    def expected(self, known: KnownClasses) -> tuple[Array, Array, Array]:
        """Mean and variance (C, d) of new samples of classes, and variance (d,) of strangers.

        The means of classes that were enrolled miss the true ones by noise alone.
        """
        n, late = known.counts[:, None], known.enrolled[:, None] > 0
        spread = np.where(late, self.within, self.spread)
        a, v = known.means * self.factor(n, spread), self.variance(n, spread)
        stranger = self.between + self.within
        if not np.all(self.noise == 1):  # equal noise in all coordinates, as large as all together
            v = np.exp(np.mean(np.log(v / self.noise), axis=1, keepdims=True)) + np.zeros_like(v)
            stranger = stranger / self.noise
        return a, v, stranger

    def scores(self, X: Array, known: KnownClasses) -> Array:
        """Log likelihood ratios of "this class" against "someone else".

        Parameters
        ----------
        X : ndarray of shape (n, d)
            Samples in these coordinates.
        known : KnownClasses
            C classes in these coordinates. A class without samples scores minus infinity.

        Returns
        -------
        ndarray of shape (n, C)
            Divided by the temperature.
        """
        found = [
            share * expert.ratios(X[:, own], known.along(own)).scores(self.gain, self.tails)
            for share, own, expert in self.experts()
        ]
        return np.asarray(sum(found)) / self.temperature

    @property
    def variances(self) -> Array:
        """What is given for every coordinate, as rows (4, d)."""
        return np.stack([self.between, self.spread, self.within, self.noise])

    def experts(self) -> list[tuple[float, slice, ClassLikelihood]]:
        """The share of every expert, its coordinates, and its likelihood in these."""
        d, share = len(self.between), self.kronecker_share
        if share in (0, 1):
            return [(1.0, slice(d), self)]
        found = []
        for part, own in ((1 - share, slice(d // 2)), (share, slice(d // 2, d))):
            between, spread, within, noise = self.variances[:, own]
            rest = self.gain, self.tails, self.temperature
            found.append((part, own, ClassLikelihood(between, spread, within, noise, *rest)))
        return found

    def ratios(self, X: Array, known: KnownClasses) -> Ratios:
        """What the scores of one expert are made of, for samples (n, d) in its coordinates."""
        a, v, stranger = self.expected(known)
        size, overlap = (a**2 / v).sum(axis=1), X @ (a / v).T
        squares = np.maximum(X**2 @ (1 / v).T - 2 * overlap + size, 0.0)
        of_stranger = (X**2 / stranger).sum(axis=1)[:, None]
        constant = 0.5 * np.log(stranger / v).sum(axis=1)
        constant = np.where(known.counts > 0, constant, -np.inf)
        return Ratios(squares, overlap, size, of_stranger, constant, X.shape[1])


class Ratios(NamedTuple):
    """What log likelihood ratios are made of, whatever the gain and the tails."""

    squares: Array  # (n, C), of the samples about what is expected, over its variance
    overlap: Array  # (n, C), of the samples with what is expected
    size: Array  # (C,), of what is expected with itself
    of_stranger: Array  # (n, 1), squares of the samples as those of someone else
    constant: Array  # (C,)
    n_coordinates: int

    def scores(self, gain: float, tails: float) -> Array:
        """The log likelihood ratios (n, C)."""
        squares, constant = self.squares, self.constant
        if gain != 0:
            more = 1 + gain * self.size
            squares = np.maximum(squares - gain * (self.overlap - self.size) ** 2 / more, 0.0)
            constant = constant - 0.5 * np.log(more)
        if tails == 0:
            return np.asarray(constant - 0.5 * (squares - self.of_stranger))
        power = 0.5 * (1 / tails + self.n_coordinates)
        heavier = np.log1p(squares * tails) - np.log1p(self.of_stranger * tails)
        return np.asarray(constant - power * heavier)


def log_posteriors(scores: Array, log_priors: Array | float = 0.0) -> Array:
    """Logarithms of class probabilities (n, C), that do not all become 0 when a class is certain.

    That of the best class is minus log1p of what the others have, relative to it.
    """
    S = scores + log_priors
    rows, best = np.arange(len(S)), S.argmax(axis=1)
    relative = S - S[rows, best][:, None]
    others = np.exp(relative)
    others[rows, best] = 0.0
    rest = np.log1p(others.sum(axis=1))
    result = relative - rest[:, None]
    result[rows, best] = -rest
    return np.asarray(result)


def posteriors(scores: Array, log_priors: Array | float = 0.0) -> Array:
    """Class probabilities (n, C)."""
    return np.exp(log_posteriors(scores, log_priors))


def coordinates(X: Array, steps: Any, mean: Array, directions: Array) -> Array:
    """Samples (n, I_1, ..., I_K) in the coordinates of a model, (n, d), in float64."""
    Y = X if steps is None else projected(X, *steps)
    Y = of_type(reshaped(Y, (Y.shape[0], -1)), wide_type(Y))
    found: Array = (Y - like(mean, Y)) @ like(directions, Y)
    return found


def preference(scores: Array, log_priors: Array) -> Array:
    """Scores with priors (n, C); for two classes (n,), that of the second less the first."""
    S = scores + log_priors
    return np.asarray(S[:, 1] - S[:, 0] if S.shape[1] == 2 else S)


def best_class(scores: Array, log_priors: Array, classes: Array) -> Array:
    """The label (n,) with the largest posterior."""
    return np.asarray(classes[(scores + log_priors).argmax(axis=1)])
