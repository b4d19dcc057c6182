"""Coordinates of samples that are known by their inner products only.

The rows of ``L`` in ``K = L L^T`` are samples with the inner products K. So a method for vectors
becomes a method for kernels by a change of basis: no formula of it changes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpstrf, dtrtri

from tenfold.mathematics.algebra import Array

SAME = 1e-8  # of the largest entry: what two halves of a symmetric matrix may differ by
NEGATIVE = 1e-6  # of the largest entry: a remainder that rounding cannot explain


@dataclass(frozen=True, eq=False)
class KernelBasis:
    """An orthonormal basis of the span of some points, in the space of a kernel.

    Parameters
    ----------
    chosen : ndarray of shape (d,)
        Positions of the points that span the others.
    matrix : ndarray of shape (d, d)
        ``k(x, chosen) @ matrix`` are the coordinates of x.
    coordinates : ndarray of shape (m, d)
        Those of the points.
    """

    chosen: Array
    matrix: Array
    coordinates: Array

    @classmethod
    def of(cls, K: Array, tol: float = 1e-10) -> KernelBasis:
        """The basis for a kernel matrix, by a Cholesky decomposition with pivots.

        The points are taken in the order of how much of them the earlier ones leave over, until
        that is less than `tol` of the largest square.

        Parameters
        ----------
        K : ndarray of shape (m, m)
            The kernel of all pairs of points.
        tol : float, default=1e-10
            What may be left of the largest diagonal entry.

        Returns
        -------
        KernelBasis
            Of d <= m dimensions.

        Examples
        --------
        >>> import numpy as np
        >>> from tenfold.mathematics.kernel_basis import KernelBasis
        >>> X = np.array([[1.0, 2.0], [2.0, 4.0], [0.0, 1.0]])
        >>> basis = KernelBasis.of(X @ X.T)
        >>> basis.coordinates.shape
        (3, 2)
        >>> bool(np.allclose(basis.coordinates @ basis.coordinates.T, X @ X.T))
        True
        """
        largest = float(np.abs(K).max())
        if not np.isfinite(largest):
            raise ValueError("the kernel of some samples is NaN or infinite; scale the samples")
        if np.abs(K - K.T).max() > SAME * largest:
            raise ValueError(
                "the kernel is not symmetric: k(x, y) differs from k(y, x); pass one that is"
            )
        if not largest > 0:
            raise ValueError(
                "the kernel of all samples is 0, so there is nothing to learn from; pass another"
            )
        factor, pivots, rank, _ = dpstrf(K, tol=tol * largest, lower=1)
        L, order = np.tril(factor)[:, :rank], pivots - 1
        left = K[np.ix_(order[rank:], order[rank:])] - L[rank:] @ L[rank:].T
        worst = float(np.abs(left).max(initial=0.0))
        if rank == 0 or worst > NEGATIVE * largest:
            raise ValueError(
                f"the kernel is not positive semi-definite: of entries up to {largest:.3g} it "
                f"leaves {worst:.3g} that no inner product explains; use 'rbf', 'poly' or "
                "'linear', or add to the diagonal of your own"
            )
        inverse = dtrtri(L[:rank], lower=1)[0]
        coordinates = np.empty_like(L)
        coordinates[order] = L
        return cls(order[:rank], np.ascontiguousarray(inverse.T), coordinates)
