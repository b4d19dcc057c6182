"""Covariances that are Kronecker products, one factor per mode, and samples in which they are gone.

    covariance of vec(x) = A_1 (x) ... (x) A_K,    x = noise of a sample, of shape (I_1, ..., I_K)

Noise often is like that: neighbouring instants, or genes that work together, vary together, in
whichever channel they are. The factors have so few numbers that a handful of samples shows them.
They are found by the flip-flop: each mode is estimated from samples in which the others are
whitened, in turn. Along a time mode a factor may be stationary, with one number per lag: a Toeplitz
matrix.

In samples that are whitened along each mode, shrinking a covariance towards a multiple of the
identity is shrinking it towards that Kronecker product. No matrix is larger than a mode.

References: P. Dutilleul, "The MLE algorithm for the matrix normal distribution", Journal of
Statistical Computation and Simulation 1999; J. Sosulski, M. Tangermann, "Introducing block-Toeplitz
covariance matrices to remaster linear discriminant analysis for event-related potential
brain-computer interfaces", Journal of Neural Engineering 2022.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from tenfold.mathematics.algebra import Array, mode_product

ROUNDS = 10
CLOSE = 1e-3  # relative change of every factor in a round, at which the flip-flop stops
IDENTITY = 0.2  # share of the identity in a factor: pixels that never change stay finite


def inverse_roots(deviations: Array, time_modes: Collection[int] = ()) -> list[Array]:
    """Symmetric matrices A_k^(-1/2) that whiten noise along each mode.

    Parameters
    ----------
    deviations : ndarray of shape (n, I_1, ..., I_K)
        Samples about the means of their classes, times the roots of their weights.
    time_modes : collection of ints
        Modes along which noise is stationary.

    Returns
    -------
    list of K ndarrays of shape (I_k, I_k)
        For noise that does not vary at all, identities.
    """
    sizes = deviations.shape[1:]
    roots = [np.eye(size) for size in sizes]
    if not deviations.any():
        return roots
    deviations = deviations / np.abs(deviations).max()  # squares neither overflow nor vanish
    factors = [np.zeros((size, size)) for size in sizes]
    for _ in range(ROUNDS):
        moved = 0.0
        for mode in range(len(sizes)):
            found = _factor(deviations, roots, mode, mode in time_modes)
            moved = max(moved, float(np.abs(found - factors[mode]).max()))
            factors[mode], roots[mode] = found, _inverse_root(found)
        if moved <= CLOSE:
            break
    return roots


def _factor(deviations: Array, roots: list[Array], mode: int, is_time: bool) -> Array:
    """The covariance along a mode of samples whitened along the others; its mean variance is 1."""
    Y = deviations
    for other, root in enumerate(roots):
        Y = Y if other == mode else mode_product(Y, root, other)
    fibres = np.moveaxis(Y, mode + 1, -1).reshape(-1, Y.shape[mode + 1])
    A = fibres.T @ fibres
    A = stationary(A) if is_time else A
    size = len(A)
    trace = float(np.trace(A))
    return (1 - IDENTITY) * A * (size / trace) + IDENTITY * np.eye(size)


def stationary(A: Array) -> Array:
    """The Toeplitz matrix with the mean of each diagonal, without what is below zero in it."""
    size = len(A)
    lags = np.abs(np.subtract.outer(np.arange(size), np.arange(size)))
    means = np.bincount(lags.ravel(), weights=A.ravel()) / np.bincount(lags.ravel())
    values, axes = np.linalg.eigh(means[lags])
    return np.asarray((axes * np.maximum(values, 0.0)) @ axes.T)


def _inverse_root(A: Array) -> Array:
    values, axes = np.linalg.eigh(A)
    return np.asarray((axes / np.sqrt(values)) @ axes.T)
