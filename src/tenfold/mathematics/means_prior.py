"""Class means whose covariance is a Kronecker product, and the directions that tell them apart.

    class mean ~ N(mu, s B_1 (x) ... (x) B_K),    every B_k with mean eigenvalue 1

A handful of class means shows a factor per mode, where it says little of all pairs of numbers. The
factors are found by EM: each class mean is known up to noise, and what noise leaves open is added
to what is seen. The noise is taken to be white for this, so that everything is diagonal in the axes
of the factors. A small share of identity stays in every factor: with two classes one contrast
cannot tell the factors apart.

With S_b that covariance, S_w the noise and n samples in a class, the directions are

    S_w^-1 S_b (S_w + (n + 1) S_b)^-1 (class means),

the discriminants of the class means that are expected from the training means. S_w is known in the
span of a basis and white outside of it, so that no matrix is larger than samples times numbers.

References: P. Dutilleul, "The MLE algorithm for the matrix normal distribution", Journal of
Statistical Computation and Simulation 1999; M. Drton, S. Kuriki, P. Hoff, "Existence and
uniqueness of the Kronecker covariance MLE", Annals of Statistics 2021.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, reduce

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.lapack import dpotri

from tenfold.mathematics.algebra import Array, project
from tenfold.mathematics.two_covariances import PooledMoments

SHARE = 0.05  # of identity in every factor
ROUNDS = 200
CLOSE = 3e-3  # change of every factor in a round, at which EM stops
LEAST = 1e-9  # of the mean eigenvalue of a factor: its smallest
FLAT = 1e-10  # of the longest: directions that are shorter are rounding


def outer(vectors: list[Array]) -> Array:
    """The outer product of vectors, one per mode."""
    return np.asarray(reduce(np.multiply.outer, vectors, np.ones(())))


def kronecker_prior(
    D: Array,
    degrees_of_freedom: float,
    noise: float,
    share: float = SHARE,
    rounds: int = ROUNDS,
    close: float = CLOSE,
) -> tuple[float, list[Array]]:
    """The scale s and the factors B_k of the covariance of class means, by EM.

    Parameters
    ----------
    D : ndarray of shape (n, I_1, ..., I_K)
        Class means about their mean, or other rows with the same scatter.
    degrees_of_freedom : float
        One less than the number of classes.
    noise : float
        What noise adds to the variance of a class mean, in every direction.
    share : float
        Of identity in every factor.
    rounds : int
        How many there are at most.
    close : float
        The change in a round at which it stops.

    Returns
    -------
    float, list of K ndarrays of shape (I_k, I_k)
        The scale and the factors. A mode of size 1 has the factor 1.
    """
    sizes, n_numbers = D.shape[1:], int(np.prod(D.shape[1:]))
    power = float((D**2).sum()) / degrees_of_freedom / n_numbers
    scale = max(power - noise, SHARE * power, LEAST * noise)
    factors = [np.eye(size) for size in sizes]
    for _ in range(rounds):
        values, axes = zip(*(np.linalg.eigh(B) for B in factors), strict=True)
        values = [np.maximum(v, LEAST) for v in values]
        variances = scale * outer(values)
        kept = variances / (variances + noise)
        seen, unsure = project(D, axes) * kept, kept * noise
        moved, scales = 0.0, []
        for mode, size in enumerate(sizes):
            if size == 1:
                continue
            others = outer([np.ones_like(v) if k == mode else v for k, v in enumerate(values)])
            rows = np.moveaxis(seen / np.sqrt(others), mode + 1, -1).reshape(-1, size)
            open_ = np.moveaxis(unsure / others, mode, -1).reshape(-1, size).sum(axis=0)
            S = axes[mode] @ (rows.T @ rows / degrees_of_freedom + np.diag(open_)) @ axes[mode].T
            scales.append(float(np.trace(S)) / n_numbers)
            S = (1 - share) * S * (size / np.trace(S)) + share * np.eye(size)
            moved = max(moved, float(np.linalg.norm(S - factors[mode])) / np.sqrt(size))
            factors[mode] = S
        found = float(np.exp(np.mean(np.log(scales))))
        moved, scale = max(moved, abs(float(np.log(found / scale)))), found
        if moved < close:
            break
    return scale, factors


def _with_scatter(rows: Array) -> Array:
    """Rows with the same scatter, no more than there are numbers in one."""
    if len(rows) <= rows.shape[1]:
        return rows
    return np.asarray(np.linalg.qr(rows, mode="r"))


@dataclass(eq=False)
class MeansPrior:
    """A Kronecker prior of class means, seen from a basis of the samples.

    Parameters
    ----------
    variances : ndarray of shape (I,)
        Of the class means along the axes.
    axes : list of K ndarrays of shape (I_k, I_k)
        The axes of the factors.
    basis : ndarray of shape (I, r) or None
        The basis in which moments are given; None for all numbers of a sample.
    n : float
        How many samples a class has.
    noise : float
        The mean variance of the noise.
    """

    variances: Array
    axes: list[Array]
    basis: Array | None
    n: float
    noise: float
    _seen: dict[float, tuple[Array, Array]] = field(init=False, default_factory=dict)

    @cached_property
    def _along_axes(self) -> Array:
        """The basis along the axes, (r, I)."""
        rows = np.eye(len(self.variances)) if self.basis is None else self.basis.T
        return self._projected(rows, self.axes)

    @classmethod
    def of_moments(
        cls, part: PooledMoments, basis: Array | None, shape: tuple[int, ...]
    ) -> MeansPrior:
        """Fitted to the class means of moments in a basis of samples of a shape."""
        counts = part.counts[part.known]
        n = len(counts) / float((1 / counts).sum())  # a class mean has this many, if all were equal
        D = _with_scatter(part.centred[part.known])
        D = D if basis is None else D @ basis.T
        noise = part.noise_level
        scale, factors = kronecker_prior(D.reshape(-1, *shape), len(counts) - 1, noise / n)
        values, axes = zip(*(np.linalg.eigh(B) for B in factors), strict=True)
        variances = scale * outer([np.maximum(v, 0.0) for v in values]).ravel()
        return cls(variances, list(axes), basis, n, noise)

    def _projected(self, rows: Array, matrices: list[Array]) -> Array:
        sizes = [len(Q) for Q in self.axes]
        return project(rows.reshape(-1, *sizes), matrices).reshape(len(rows), -1)

    def _shares(self, noise: float) -> tuple[Array, Array]:
        """H and G (r, r): what (S_w + (n + 1) S_b)^-1 and S_b times it are for white noise."""
        if noise not in self._seen:  # one at a time: a shrinkage is tried on all folds in a row
            roots = self._along_axes / np.sqrt(noise + (self.n + 1) * self.variances)
            inverse = roots @ roots.T
            H = dpotri(cho_factor(inverse, lower=True)[0], lower=True)[0]
            H = np.tril(H) + np.tril(H, -1).T
            self._seen = {noise: (H, (np.eye(len(H)) - noise * inverse) / (self.n + 1))}
        return self._seen[noise]

    def directions(self, part: PooledMoments, shrinkage: float) -> tuple[Array, Array]:
        """Directions in the basis (r, d), and what of them lies outside of it, (d, I) along axes.

        Along them S_w is the identity and the class means have variances that fall.
        """
        white, rest = shrinkage * self.noise, 1 - shrinkage
        counts = part.counts[part.known]
        rows = part.centred[part.known] * np.sqrt(counts)[:, None]
        d = max(min(len(rows) - 1, rows.shape[1]), 1)
        rows = _with_scatter(rows)
        W = rest * part.within / part.degrees_of_freedom
        H, G = self._shares(white)
        steps = H @ cho_solve(cho_factor(H + W), rows.T)
        inside = G @ steps
        T = cho_solve(cho_factor(W + white * np.eye(len(W))), inside)
        norms = inside.T @ T
        shares = self.variances / (white + (self.n + 1) * self.variances)
        outside = np.zeros((len(norms), 0))
        if self.basis is not None:  # what lies outside of the basis meets white noise alone
            outside = (steps.T @ self._along_axes) * shares - inside.T @ self._along_axes
            norms = norms + outside @ outside.T / white
        values, turn = np.linalg.eigh((norms + norms.T) / 2)
        kept = np.flatnonzero(values > FLAT * values[-1])[-d:]
        turn = turn[:, kept] / np.sqrt(values[kept])
        along = rows @ (T @ turn)
        turn = turn @ np.linalg.eigh(along.T @ along)[1][:, ::-1]
        return T @ turn, turn.T @ outside / white

    def lifted(self, found: Array, outside: Array) -> Array:
        """The directions of whole samples (I, d), from those in the basis and what is outside."""
        if self.basis is None:
            return found
        back = [Q.T for Q in self.axes]
        return np.asarray(self.basis @ found + self._projected(outside, back).T)
