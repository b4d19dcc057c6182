"""Classifiers of the order book that follow from class moments alone.

Ridge regression and linear discriminants need no more than counts, means and scatters, so all
their parameters are tried from one pass over the data, for 144 features and for 1440.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from tenfold.statistics.moments import ClassMoments


@dataclass(frozen=True, eq=False)
class LinearClassifier:
    """``argmax_c (x^T coefficients + intercepts)_c``.

    Parameters
    ----------
    coefficients : ndarray of shape (I, C)
        One column per class.
    intercepts : ndarray of shape (C,)
        One per class.
    """

    coefficients: np.ndarray
    intercepts: np.ndarray

    def scores(self, X: np.ndarray) -> np.ndarray:
        """Scores (n, C) of vectors (n, I)."""
        return X @ self.coefficients.astype(X.dtype) + self.intercepts.astype(X.dtype)


def ridge_classifiers(
    moments: ClassMoments, alphas: list[float], balanced: bool
) -> list[LinearClassifier]:
    """Ridge regression on targets of plus and minus one, for several penalties.

    The same as `sklearn.linear_model.RidgeClassifier`, from the moments of vectors.

    Penalties `alphas` count times the number of samples; `balanced` makes every class weigh the
    same.
    """
    n = moments.counts
    weights = n.sum() / (len(n) * n) if balanced else np.ones(len(n))
    mass = weights * n
    mean = mass @ moments.means / mass.sum()
    offsets = moments.means - mean
    total = np.tensordot(weights, moments.scatters, axes=1) + (offsets.T * mass) @ offsets
    targets = 2 * np.eye(len(n)) - 1
    centre = mass @ targets / mass.sum()
    cross = (offsets.T * mass) @ (targets - centre)
    values, vectors = eigh(total)
    rotated = vectors.T @ cross
    found = []
    for alpha in alphas:
        W = vectors @ (rotated / (np.maximum(values, 0) + alpha * mass.sum())[:, None])
        found.append(LinearClassifier(W, centre - mean @ W))
    return found


def linear_discriminants(
    moments: ClassMoments, shrinkages: list[float], uniform: bool
) -> list[LinearClassifier]:
    """Linear discriminant analysis with a shrunk covariance, for several shrinkages.

    Without shrinkage and with the priors of the data the same as scikit-learn's.

    A shrinkage is the share of a multiple of the identity in the within-class covariance; `uniform`
    takes equal priors instead of those of the data.
    """
    n = moments.counts
    covariance = moments.scatters.sum(axis=0) / n.sum()
    values, vectors = eigh(covariance)
    rotated = moments.means @ vectors
    priors = np.full(len(n), 1 / len(n)) if uniform else n / n.sum()
    mean_variance = np.trace(covariance) / len(covariance)
    found = []
    for shrinkage in shrinkages:
        spectrum = (1 - shrinkage) * np.maximum(values, 0) + shrinkage * mean_variance
        W = vectors @ (rotated / spectrum).T
        quadratic = np.einsum("ci,ic->c", moments.means, W)
        found.append(LinearClassifier(W, np.log(priors) - quadratic / 2))
    return found
