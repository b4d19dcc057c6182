"""Coordinates in which noise along modes is white, and directions of Gaussian classes there.

    covariance of vec(x) ~ A_1 (x) ... (x) A_K,    x = noise of a sample, of shape (I_1, ..., I_K)

Noise often is like that: neighbouring instants, or genes that work together, vary together, in
whichever channel they are. The factors have so few numbers that a handful of samples shows them.
They are found by the flip-flop: each mode is estimated from samples in which the others are
whitened, in turn. In samples that are whitened along each mode, shrinking a covariance towards a
multiple of the identity is shrinking it towards that Kronecker product. Moments change with the
coordinates, so that samples are not needed again.

Slices of a mode may have units of their own, as the columns of a table have, or sensors of several
kinds. Then no multiple of the identity is like their noise: each slice is divided by its spread
before anything else.

References: P. Dutilleul, "The MLE algorithm for the matrix normal distribution", Journal of
Statistical Computation and Simulation 1999; J. Sosulski, M. Tangermann, "Introducing block-Toeplitz
covariance matrices to remaster linear discriminant analysis for event-related potential
brain-computer interfaces", Journal of Neural Engineering 2022.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg import qr, toeplitz

from tenfold.mathematics.algebra import Array, mode_product, project
from tenfold.mathematics.means_prior import MeansPrior, outer
from tenfold.mathematics.two_covariances import PooledMoments

SHARE = 0.01  # of identity in every factor: pixels that never change stay finite
ROUNDS = 10
CLOSE = 3e-2  # change of every factor in a round, at which the flip-flop stops
ROUNDING = 100 * np.finfo(float).eps  # of squares: a variance that is no more than that is 0
UNITS = 10.0  # spreads of slices that differ by more may be in units of their own


def whitening(
    deviations: Array, stationary: Collection[int] = (), start: Sequence[Array] = ()
) -> list[Array]:
    """Symmetric matrices A_k^(-1/2) that whiten noise along each mode.

    Parameters
    ----------
    deviations : ndarray of shape (n, I_1, ..., I_K)
        Samples about the means of their classes, times the roots of their weights.
    stationary : collection of ints
        Modes along which a factor has one number per lag: a Toeplitz matrix.
    start : sequence of K ndarrays of shape (I_k, I_k)
        What was found for nearly the same samples, so that few rounds are needed.

    Returns
    -------
    list of K ndarrays of shape (I_k, I_k)
        For noise that does not vary at all, identities.
    """
    sizes = deviations.shape[1:]
    factors = [np.zeros((size, size)) for size in sizes]
    roots = list(start) or [np.eye(size) for size in sizes]
    if not deviations.any():
        return roots
    deviations = deviations / np.abs(deviations).max()  # squares neither overflow nor vanish
    for _ in range(ROUNDS):
        moved = 0.0
        for mode, size in enumerate(sizes):
            Y = deviations
            for other, root in enumerate(roots):
                Y = Y if other == mode else mode_product(Y, root, other)
            fibres = np.moveaxis(Y, mode + 1, -1).reshape(-1, size)
            A = fibres.T @ fibres
            if mode in stationary:
                A = toeplitz([np.diagonal(A, lag).mean() for lag in range(size)])
            A = (1 - SHARE) * A * (size / np.trace(A)) + SHARE * np.eye(size)
            moved = max(moved, float(np.abs(A - factors[mode]).max()))
            values, axes = np.linalg.eigh(A)
            values = np.maximum(values, SHARE)  # diagonal means may have some below
            factors[mode], roots[mode] = A, (axes / np.sqrt(values)) @ axes.T
        if moved <= CLOSE:
            break
    return roots


class Space(NamedTuple):
    """Where moments lie, and what is known of the two covariances there."""

    shape: tuple[int, ...]  # of a sample
    basis: Array | None  # (I, r), if moments are given in its span
    means_prior: bool = False  # whether the covariance of class means is a Kronecker product
    noise_prior: bool = False  # whether that of the noise may be like one
    stationary: tuple[int, ...] = ()  # modes along which this one's factors are Toeplitz matrices
    scaled: bool = False  # whether slices of a mode are divided by their spreads


def spreads(part: PooledMoments, space: Space) -> list[Array]:
    """The spread (I_k,) of noise in the slices of each mode, relative to their geometric mean.

    It is 1 for slices without noise, whose units nobody can tell.
    """
    W, B = part.within, space.basis
    variances = np.diagonal(W) if B is None else np.einsum("ir,ir->i", B @ W, B)
    # Rounding is relative to a number itself, or to the largest of all, which a basis mixes.
    squares = part.degrees_of_freedom * part.mean**2 + variances if B is None else variances.max()
    varying = np.where(variances > ROUNDING * squares, variances, 0.0).reshape(space.shape)
    found = []
    for mode, size in enumerate(space.shape):
        v = np.moveaxis(varying, mode, 0).reshape(size, -1).mean(axis=1)
        varies = v > 0
        logs = np.log(v[varies])
        found.append(np.ones(size))
        found[-1][varies] = np.exp((logs - logs.mean()) / 2) if varies.any() else 1.0
    return found


def differ_in_units(part: PooledMoments, space: Space) -> bool:
    """Whether slices of some mode may have units of their own: their spreads differ tenfold."""
    return any(found.max() > UNITS * found.min() for found in spreads(part, space))


def _factors(columns: Array, in_basis: bool) -> tuple[Array, Array | None]:
    """R, and orthonormal Q if columns are a basis, whose product they are."""
    if not in_basis:
        return columns, None
    Q, R = qr(columns, mode="economic", check_finite=False)
    return R, Q


@dataclass(eq=False)
class Frame:
    """Coordinates z' = R z that some moments give, and the prior of class means in them.

    In the span of a basis B the product is seen through ``W B = Q R`` with orthonormal Q, where W
    whitens along each mode: no matrix is larger than B. Directions of whitened samples lie in the
    span of Q, or where the prior of the class means has them; those of samples are W times these.
    In a space that is scaled, W divides each slice of a mode by its spread first.

    Parameters
    ----------
    part : PooledMoments
        What the coordinates and the prior are found from.
    space : Space
        Where these moments lie.
    whitened : bool
        Whether noise is whitened along modes; else coordinates stay as they are, or scaled.
    near : Frame or None
        That of nearly the same samples, from which the search for the product begins.
    """

    part: PooledMoments
    space: Space
    whitened: bool
    near: Frame | None = None

    @cached_property
    def _scale(self) -> Array:
        """What samples (I_1, ..., I_K) are multiplied by before anything else."""
        if not self.space.scaled:
            return np.ones((1,) * len(self.space.shape))
        return outer([1 / found for found in spreads(self.part, self.space)])

    @cached_property
    def _change(self) -> tuple[Array | None, Array | None, list[Array]]:
        """R, the basis Q after it, and the matrices that whiten along modes."""
        shape, B = self.space.shape, self.space.basis
        if not self.whitened and not self.space.scaled:
            return None, B, []
        columns = np.eye(int(np.prod(shape))) if B is None else B
        part, Q, roots = self.part, B, []
        if self.space.scaled:  # moments, too, so that what is tiny in its unit keeps its digits
            columns = columns * self._scale.reshape(-1, 1)
            R, Q = _factors(columns, B is not None)
            part = part.changed(R)
        if self.whitened:
            rows = part.deviations()
            rows = (rows if Q is None else rows @ Q.T).reshape(-1, *shape)
            start = [] if self.near is None else self.near._change[2]
            roots = whitening(rows, self.space.stationary, start)
            columns = project(columns.T.reshape(-1, *shape), roots).reshape(columns.shape[1], -1).T
            R, Q = _factors(columns, B is not None)
        return R, Q, roots

    def seen(self, part: PooledMoments) -> PooledMoments:
        """Moments in these coordinates."""
        R = self._change[0]
        return part if R is None else part.changed(R)

    @cached_property
    def _prior(self) -> MeansPrior | None:
        part = self.seen(self.part)
        if not self.space.means_prior or not part.centred.any():
            return None
        return MeansPrior.of_moments(part, self._change[1], self.space.shape)

    def found(self, seen: PooledMoments, shrinkage: float) -> tuple[Array, Array | None]:
        """Those with the prior, if there is one, and what of them lies outside of the basis."""
        if self._prior is None or not seen.centred.any():
            return seen.coordinates(shrinkage)[0], None
        return self._prior.directions(seen, shrinkage)

    def of_moments(self, found: Array) -> Array:
        """Directions (r, d) in the coordinates in which moments are given."""
        R = self._change[0]
        return found if R is None else R.T @ found

    def of_samples(self, found: Array, outside: Array | None) -> Array:
        """Directions (I, d) of whole samples."""
        _, basis, roots = self._change
        if self._prior is not None and outside is not None:
            found = self._prior.lifted(found, outside)
        elif basis is not None:
            found = basis @ found
        if self._change[0] is None:
            return found
        whole = found.T.reshape(-1, *self.space.shape)
        whole = (project(whole, roots) if roots else whole) * self._scale
        return whole.reshape(len(whole), -1).T
