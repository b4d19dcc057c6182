"""Feature maps: each view applies the formula to the features that its map computes.

A map takes samples as rows (n, p) and gives features (n, q) about a fixed centre. Features are a
linear function of what a map computes first (`raw`). So scores that are linear in the features are
linear in `raw` too, and scoring is one matrix product.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import prod
from typing import Protocol, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cholesky, solve_triangular

from tenfold.linalg.algebra import Array, mode_product, project

MOST_LANDMARKS = 10_000  # of a kernel view, with those of classes that came later
JITTER = 1e-8  # of the mean diagonal of a kernel matrix
ROUNDING = 1e-12  # of a squared length: what all distances from one sample are rounded by together
LEAST_SPREAD = 1e-12  # of the largest spread: a number that varies less counts as constant


class Transformer(Protocol):
    """A fitted transformer."""

    def transform(self, X: Array) -> ArrayLike:
        """Features of samples (n, I_1, ..., I_K)."""


class FeatureMap(Protocol):
    """A function from samples to the features of a view."""

    def features(self, X: Array) -> Array:
        """Features (n, q) of samples (n, p)."""

    def residual(self, X: Array) -> Array | float:
        """Squared length (n,) of what the features do not show of a sample; kernels have it."""

    def raw(self, X: Array) -> Array:
        """What is computed first, (n, r); features are linear in it."""

    def folded(self, weights: Array) -> tuple[Array, Array]:
        """Weights (r, C) and constants (C,) that give ``features @ weights`` from `raw`."""

    def fits(self, size: int) -> bool:
        """Whether its arrays, which may come from a file, fit samples of `size` numbers."""

    def moved(self, X: Array, step: Array) -> FeatureMap:
        """The same map for samples (n, p) of another session, whose mean differs by a step (p,)."""


@dataclass(frozen=True, eq=False)
class LinearMap:
    """Numbers about their mean; they may be scaled, and multiplied by a matrix along each mode.

    Parameters
    ----------
    mean : ndarray of shape (p,)
        The mean sample.
    scale : ndarray of shape (p,) or None
        What each number is multiplied by.
    shape : tuple of K ints
        The shape of a sample.
    factors : list of K ndarrays of shape (I_k, I_k)
        The matrix of each mode, which `project` multiplies samples by; empty for no change.
    """

    mean: Array
    scale: Array | None = None
    shape: tuple[int, ...] = ()
    factors: list[Array] = field(default_factory=list)

    def turned(self, rows: Array) -> Array:
        """Differences of samples, as rows (n, p), in the features: the mean is not subtracted."""
        rows = rows if self.scale is None else rows * self.scale
        if not self.factors:
            return rows
        return project(rows.reshape(-1, *self.shape), self.factors).reshape(len(rows), -1)

    def features(self, X: Array) -> Array:
        """Features (n, p)."""
        return self.turned(X - self.mean)

    def restored(self, rows: Array) -> Array:
        """The inverse of `turned`: rows (n, p) of features as differences of samples."""
        for mode, factor in enumerate(self.factors):
            rows = mode_product(rows.reshape(-1, *self.shape), np.linalg.inv(factor).T, mode)
        rows = rows.reshape(len(rows), -1)
        if self.scale is None:
            return rows
        varies = self.scale > 0
        return np.where(varies, rows / np.where(varies, self.scale, 1.0), 0.0)

    def residual(self, X: Array) -> Array | float:
        """0: the features show all of a sample."""
        return 0.0

    def raw(self, X: Array) -> Array:
        """The samples themselves."""
        return X

    def moved(self, X: Array, step: Array) -> LinearMap:
        """The same map about the mean of samples (n, p) of another session."""
        return replace(self, mean=X.mean(axis=0))

    def folded(self, weights: Array) -> tuple[Array, Array]:
        """Weights (p, C) of the samples, and constants (C,)."""
        if self.factors:
            back = [factor.T for factor in self.factors]
            rows = project(weights.T.reshape(-1, *self.shape), back)
            weights = rows.reshape(weights.shape[1], -1).T
        if self.scale is not None:
            weights = weights * self.scale[:, None]
        return weights, -self.mean @ weights

    def fits(self, size: int) -> bool:
        """Whether its arrays fit samples of `size` numbers."""
        if self.mean.shape != (size,) or (self.scale is not None and self.scale.shape != (size,)):
            return False
        sizes = [factor.shape for factor in self.factors]
        return not sizes or (
            sizes == [(size_k, size_k) for size_k in self.shape] and prod(self.shape) == size
        )


def unit_scale(variances: Array) -> Array:
    """Factors that scale numbers with these variances to unit variance; 0 for constant numbers."""
    spread = np.sqrt(np.maximum(variances, 0.0))
    varies = spread > LEAST_SPREAD * spread.max(initial=0.0)
    return np.where(varies, 1 / np.where(varies, spread, 1.0), 0.0)


@dataclass(frozen=True, eq=False)
class LengthMap:
    """Samples about the mean, brought to unit length.

    Parameters
    ----------
    mean : ndarray of shape (p,)
        The mean sample.
    direction : ndarray of shape (p,)
        The mean of the samples of unit length.
    """

    mean: Array
    direction: Array

    def raw(self, X: Array) -> Array:
        """Samples of unit length; 0 for the mean itself."""
        D = X - self.mean
        largest = np.abs(D).max(axis=1, initial=0.0)
        D = D / np.where(largest > 0, largest, 1.0)[:, None]  # squares do not overflow
        lengths = np.sqrt((D**2).sum(axis=1))
        return np.asarray(D / np.where(lengths > 0, lengths, 1.0)[:, None])

    def features(self, X: Array) -> Array:
        """Features (n, p)."""
        return self.raw(X) - self.direction

    def residual(self, X: Array) -> Array | float:
        """0: the features show all of a direction."""
        return 0.0

    def moved(self, X: Array, step: Array) -> LengthMap:
        """The same map about the mean of samples (n, p) of another session."""
        return replace(self, mean=X.mean(axis=0))

    def folded(self, weights: Array) -> tuple[Array, Array]:
        """Weights (p, C) of directions, and constants (C,)."""
        return weights, -self.direction @ weights

    def fits(self, size: int) -> bool:
        """Whether its arrays fit samples of `size` numbers."""
        return self.mean.shape == self.direction.shape == (size,)


@dataclass(frozen=True, eq=False)
class RBFMap:
    """Coordinates in the space of a Gaussian kernel, in the span of some samples.

    Parameters
    ----------
    mean, scale : ndarrays of shape (p,)
        Samples are taken about this mean and multiplied by this scale before distances.
    landmarks : ndarray of shape (n, p)
        The samples that span the space, centred and scaled.
    width : float
        What squared distances are divided by.
    centre : ndarray of shape (n,)
        The mean feature.
    root : ndarray of shape (n, n)
        The lower Cholesky factor of the kernel matrix of the landmarks.
    """

    mean: Array
    scale: Array
    landmarks: Array
    width: float
    centre: Array
    root: Array

    @classmethod
    def of_samples(
        cls, X: Array, weights: Array, mean: Array, scale: Array, relative_width: float
    ) -> RBFMap:
        """Of samples (n, p); the width is relative to the median of their squared distances."""
        landmarks = (X - mean) * scale
        D2 = squared_distances(landmarks, landmarks)
        n = len(D2)
        n_pairs = n * (n - 1) // 2
        np.fill_diagonal(D2, 0.0)
        middle = [0]
        if n_pairs:  # in order the diagonal comes first, then every pair twice
            middle = [n + 2 * ((n_pairs - 1) // 2), n + 2 * (n_pairs // 2)]
        typical = float(np.partition(D2, middle, axis=None)[middle].mean())
        width = relative_width * (typical or float(D2.max(initial=0.0)) or 1.0)
        root = kernel_root(D2, width, jitter_of(landmarks, width))
        return cls(mean, scale, landmarks, width, weights @ root / weights.sum(), root)

    def extended(self, X: Array) -> RBFMap:
        """The same with more landmarks; features of the old span stay what they are."""
        if len(self.landmarks) + len(X) > MOST_LANDMARKS:
            raise ValueError(
                f"a kernel view would have {len(self.landmarks) + len(X)} landmarks, more than "
                f"{MOST_LANDMARKS}; fit a new model to all samples, or one with views='linear'"
            )
        more = (X - self.mean) * self.scale
        across = solve_triangular(self.root, self.raw(X).T, lower=True).T
        K = np.exp(-squared_distances(more, more) / self.width)
        jitter = jitter_of(more, self.width)
        K[np.diag_indices(len(K))] = 1.0 + jitter
        beyond = cholesky(K - across @ across.T + np.diag(jitter), lower=True)
        above = np.zeros((len(self.root), len(K)))
        root = np.block([[self.root, above], [across, beyond]])
        centre = np.concatenate([self.centre, np.zeros(len(K))])
        landmarks = np.concatenate([self.landmarks, more])
        return RBFMap(self.mean, self.scale, landmarks, self.width, centre, root)

    def raw(self, X: Array) -> Array:
        """Kernel values (n, N) with the landmarks."""
        D2 = squared_distances((X - self.mean) * self.scale, self.landmarks)
        return np.asarray(np.exp(-D2 / self.width))

    def features(self, X: Array) -> Array:
        """Coordinates (n, N)."""
        K = self.raw(X)
        return np.asarray(solve_triangular(self.root, K.T, lower=True).T - self.centre)

    def residual(self, X: Array) -> Array | float:
        """One, less the square of the coordinates: the kernel of a sample with itself is 1."""
        squares = ((self.features(X) + self.centre) ** 2).sum(axis=1)
        return np.asarray(np.maximum(1.0 - squares, 0.0))

    def moved(self, X: Array, step: Array) -> RBFMap:
        """The same map about the mean of samples (n, p) of another session."""
        return replace(self, mean=X.mean(axis=0))

    def folded(self, weights: Array) -> tuple[Array, Array]:
        """Weights (N, C) of kernel values, and constants (C,)."""
        back = solve_triangular(self.root, weights, lower=True, trans="T")
        return np.asarray(back), -self.centre @ weights

    def fits(self, size: int) -> bool:
        """Whether its arrays fit samples of `size` numbers."""
        sizes = (self.mean.shape, self.scale.shape, self.landmarks.shape[1:])
        return sizes == ((size,), (size,), (size,))


def squared_distances(A: Array, B: Array) -> Array:
    """Squared distances (n, m) between rows, never below 0."""
    with np.errstate(over="ignore"):
        of_a = (A**2).sum(axis=1)
        of_b = (B**2).sum(axis=1)
    with np.errstate(over="ignore", invalid="ignore"):
        D2 = of_a[:, None] + of_b - 2 * (A @ B.T)
    D2[np.isnan(D2)] = np.inf  # of numbers whose squares are too large
    return np.asarray(np.maximum(D2, 0.0, out=D2))


def jitter_of(landmarks: Array, width: float) -> Array:
    """What is added to the diagonal (n,) of a kernel matrix, so that it has a Cholesky factor.

    Distances are differences of squares, so they are rounded by a share of these. That matters
    where a single sample is so far from all others that these are far from their common mean.
    """
    with np.errstate(over="ignore"):
        squares = (landmarks**2).sum(axis=1)
    return np.asarray(np.maximum(JITTER, ROUNDING * (squares / width)))


def kernel_root(D2: Array, width: float, jitter: Array) -> Array:
    """The lower Cholesky factor of the kernel matrix of landmarks; it overwrites the distances."""
    K = np.divide(D2, -width, out=D2)
    np.exp(K, out=K)
    K[np.diag_indices(len(K))] = 1.0 + jitter
    return np.asarray(cholesky(K, lower=True, overwrite_a=True))


@dataclass(frozen=True, eq=False)
class CentredMap:
    """Features that are not linear in a sample, about their mean.

    Parameters
    ----------
    mean : ndarray of shape (q,)
        The mean of the features.
    """

    mean: Array

    def raw(self, X: Array) -> Array:
        """Features (n, q) as they come."""
        raise NotImplementedError

    def features(self, X: Array) -> Array:
        """Features (n, q)."""
        return self.raw(X) - self.mean

    def residual(self, X: Array) -> Array | float:
        """0: the features are all there is."""
        return 0.0

    def moved(self, X: Array, step: Array) -> Self:
        """The same about the mean feature of samples (n, p) of another session."""
        return replace(self, mean=self.raw(X).mean(axis=0))

    def folded(self, weights: Array) -> tuple[Array, Array]:
        """Weights (q, C) of features as they come, and constants (C,)."""
        return weights, -self.mean @ weights

    def fits(self, size: int) -> bool:
        """Whether its arrays fit samples of `size` numbers."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class TransformerMap(CentredMap):
    """The features of a transformer that needs no labels, perhaps in units of their own.

    Parameters
    ----------
    mean, scale : ndarrays of shape (q,)
        The mean of the features, and what they are multiplied by.
    name : str
        What the view is called in errors.
    transformer : fitted transformer
        Takes samples of their own shape.
    shape : tuple of K ints
        The shape of a sample.
    """

    scale: Array
    name: str
    transformer: Transformer
    shape: tuple[int, ...]

    def raw(self, X: Array) -> Array:
        """What the transformer gives, as rows (n, q)."""
        samples = X.reshape(-1, *self.shape).copy()  # a transformer may work in place
        found = self.transformer.transform(samples)
        return checked_features(self.name, found, len(X))

    def features(self, X: Array) -> Array:
        """Features (n, q)."""
        return super().features(X) * self.scale

    def folded(self, weights: Array) -> tuple[Array, Array]:
        """Weights (q, C) of what the transformer gives, and constants (C,)."""
        return super().folded(weights * self.scale[:, None])

    def fits(self, size: int) -> bool:
        """Whether its arrays fit samples of `size` numbers."""
        return prod(self.shape) == size and self.mean.shape == self.scale.shape


def checked_features(name: str, found: ArrayLike, n: int) -> Array:
    """What a transformer gave as finite rows (n, q), or an error that names the view."""
    if hasattr(found, "toarray"):
        found = found.toarray()
    rows = np.asarray(found, dtype=np.float64)
    if rows.ndim < 2 or len(rows) != n:
        raise ValueError(
            f"view {name!r} gave features of shape {rows.shape} for {n} samples; expected one row "
            "of features per sample"
        )
    rows = rows.reshape(n, -1)
    if not np.isfinite(rows).all():
        at = int(np.flatnonzero(~np.isfinite(rows).all(axis=1))[0])
        raise ValueError(
            f"view {name!r} gave features that are not finite, first for sample {at}; expected "
            "finite numbers: mend the transformer, or leave this view out"
        )
    return rows
