"""Coordinates in which noise along modes is white, and directions of Gaussian classes there.

    covariance of vec(x) ~ A_1 (x) ... (x) A_K,    x = noise of a sample, of shape (I_1, ..., I_K)

Noise often is like that: neighbouring instants, or genes that work together, vary together, in
whichever channel they are. The factors have so few numbers that a handful of samples shows them.
They are found by the flip-flop: each mode is estimated from samples in which the others are
whitened, in turn. In samples that are whitened along each mode, shrinking a covariance towards a
multiple of the identity is shrinking it towards that Kronecker product. Moments change with the
coordinates, so that samples are not needed again.

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
from tenfold.mathematics.means_prior import MeansPrior
from tenfold.mathematics.two_covariances import PooledMoments

SHARE = 0.01  # of identity in every factor: pixels that never change stay finite
ROUNDS = 10
CLOSE = 3e-2  # change of every factor in a round, at which the flip-flop stops


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


@dataclass(eq=False)
class Frame:
    """Coordinates z' = R z that some moments give, and the prior of class means in them.

    In the span of a basis B the product is seen through ``W B = Q R`` with orthonormal Q, where W
    whitens along each mode: no matrix is larger than B. Directions of whitened samples lie in the
    span of Q, or where the prior of the class means has them; those of samples are W times these.

    Parameters
    ----------
    part : PooledMoments
        What the coordinates and the prior are found from.
    space : Space
        Where these moments lie.
    whitened : bool
        Whether noise is whitened along modes; else coordinates stay as they are.
    near : Frame or None
        That of nearly the same samples, from which the search for the product begins.
    """

    part: PooledMoments
    space: Space
    whitened: bool
    near: Frame | None = None

    @cached_property
    def _change(self) -> tuple[Array | None, Array | None, list[Array]]:
        """R, the basis Q after it, and the matrices that whiten along modes."""
        shape, B = self.space.shape, self.space.basis
        if not self.whitened:
            return None, B, []
        rows = self.part.deviations()
        rows = rows if B is None else rows @ B.T
        start = [] if self.near is None else self.near._change[2]
        roots = whitening(rows.reshape(-1, *shape), self.space.stationary, start)
        columns = np.eye(rows.shape[1]) if B is None else B.T
        columns = project(columns.reshape(-1, *shape), roots).reshape(len(columns), -1).T
        if B is None:
            return columns, None, roots
        Q, R = qr(columns, mode="economic", check_finite=False)
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
        if not roots:
            return found
        whole = project(found.T.reshape(-1, *self.space.shape), roots)
        return whole.reshape(len(whole), -1).T
