"""Covariances that are Kronecker products, with one small factor per mode.

    covariance of vec(x) ~ A_1 (x) ... (x) A_K

Noise often is like that: neighbouring instants, or genes that work together, vary together, in
whichever channel they are. So are class means: a handful of them shows a factor per mode, where it
says little of all pairs of numbers.

`whitening` finds the factors of noise by the flip-flop: each mode is estimated from samples in
which the others are whitened, in turn. `means_factors` finds those of class means by EM: each mean
is known up to noise, and what noise leaves open is added to what is seen.

References: P. Dutilleul, "The MLE algorithm for the matrix normal distribution", Journal of
Statistical Computation and Simulation 1999; M. Drton, S. Kuriki, P. Hoff, "Existence and
uniqueness of the Kronecker covariance MLE", Annals of Statistics 2021.
"""

from __future__ import annotations

from functools import reduce

import numpy as np

from tenfold.linalg.algebra import Array, mode_product, project

NOISE_ROUNDS = 10
NOISE_CLOSE = 3e-2  # change of every factor in a round, at which the flip-flop stops
MEANS_SHARE = 0.05  # of identity in every factor of the class means
MEANS_ROUNDS = 200
MEANS_CLOSE = 3e-3
LEAST = 1e-9  # of the mean eigenvalue of a factor: its smallest


def outer(vectors: list[Array]) -> Array:
    """The outer product of vectors, one per mode."""
    return np.asarray(reduce(np.multiply.outer, vectors, np.ones(())))


def whitening(deviations: Array, share: float) -> list[Array]:
    """Symmetric matrices A_k^(-1/2) that whiten noise along each mode.

    Parameters
    ----------
    deviations : ndarray of shape (n, I_1, ..., I_K)
        Samples about the means of their classes, times the roots of their weights.
    share : float from 0 to 1
        Of identity in every factor; 1 leaves the noise as it is.

    Returns
    -------
    list of K ndarrays of shape (I_k, I_k)
        For noise that does not vary at all, identities.
    """
    sizes = deviations.shape[1:]
    roots = [np.eye(size) for size in sizes]
    if share >= 1 or not deviations.any():
        return roots
    deviations = deviations / np.abs(deviations).max()  # squares neither overflow nor vanish
    factors = [np.zeros((size, size)) for size in sizes]
    for _ in range(NOISE_ROUNDS):
        moved = 0.0
        for mode, size in enumerate(sizes):
            Y = deviations
            for other, root in enumerate(roots):
                if other != mode:
                    Y = mode_product(Y, root, other)
            fibres = np.moveaxis(Y, mode + 1, -1).reshape(-1, size)
            A = fibres.T @ fibres
            A = (1 - share) * A * (size / np.trace(A)) + share * np.eye(size)
            moved = max(moved, float(np.abs(A - factors[mode]).max()))
            values, axes = np.linalg.eigh(A)
            factors[mode] = A
            roots[mode] = (axes / np.sqrt(values)) @ axes.T
        if moved <= NOISE_CLOSE:
            break
    return roots


def means_factors(means: Array, freedom: float, noise: float) -> tuple[float, list[Array]]:
    """The scale s and the factors B_k of the covariance of class means, by EM.

    Parameters
    ----------
    means : ndarray of shape (C, I_1, ..., I_K)
        Class means about their mean.
    freedom : float
        One less than the number of classes.
    noise : float
        What noise adds to the variance of a class mean, in every direction.

    Returns
    -------
    float, list of K ndarrays of shape (I_k, I_k)
        The scale, and factors with a mean eigenvalue of 1.
    """
    sizes = means.shape[1:]
    n_numbers = int(np.prod(sizes))
    power = float((means**2).sum()) / freedom / n_numbers
    scale = max(power - noise, MEANS_SHARE * power, LEAST * noise)
    factors = [np.eye(size) for size in sizes]
    for _ in range(MEANS_ROUNDS):
        parts = [np.linalg.eigh(B) for B in factors]
        values = [np.maximum(part.eigenvalues, LEAST) for part in parts]
        axes = [part.eigenvectors for part in parts]
        variances = scale * outer(values)
        kept = variances / (variances + noise)
        seen = project(means, axes) * kept
        unsure = kept * noise
        moved = 0.0
        scales = []
        for mode, size in enumerate(sizes):
            if size == 1:
                continue
            others = outer([np.ones_like(v) if k == mode else v for k, v in enumerate(values)])
            rows = np.moveaxis(seen / np.sqrt(others), mode + 1, -1).reshape(-1, size)
            left_open = np.moveaxis(unsure / others, mode, -1).reshape(-1, size).sum(axis=0)
            S = axes[mode] @ (rows.T @ rows / freedom + np.diag(left_open)) @ axes[mode].T
            scales.append(float(np.trace(S)) / n_numbers)
            S = (1 - MEANS_SHARE) * S * (size / np.trace(S)) + MEANS_SHARE * np.eye(size)
            moved = max(moved, float(np.linalg.norm(S - factors[mode])) / np.sqrt(size))
            factors[mode] = S
        found = float(np.exp(np.mean(np.log(scales))))
        moved = max(moved, abs(float(np.log(found / scale))))
        scale = found
        if moved < MEANS_CLOSE:
            break
    return scale, factors
