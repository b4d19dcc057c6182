"""Changes of basis: into the span of few samples, and into coordinates from inner products.

Scatters of few samples live in their span: in N instead of I dimensions (`Span`). Samples that are
known by their inner products only have coordinates, too (`KernelBasis`): the rows of ``L`` in
``K = L L^T`` are samples with the inner products K. So a method for vectors becomes a method for
kernels by a change of basis: no formula of it changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.linalg import qr
from scipy.linalg.lapack import dgeqrf, dpstrf, dtrtri

from tenfold.linalg.algebra import Array

WORST = 1e7  # condition of a triangle from which on its inverse is not used


@dataclass(frozen=True, eq=False)
class Span:
    """An orthonormal basis ``Q = rows^T inverse``, which need not be formed.

    Parameters
    ----------
    rows : ndarray of shape (d, I)
        What spans the space.
    inverse : ndarray of shape (d, d) or None
        Upper triangular; None where the rows are orthonormal already.
    """

    rows: Array
    inverse: Array | None = None

    @classmethod
    def of(cls, centred: Array) -> tuple[Self, Array]:
        """The span of n <= I centred rows, and the coordinates (n, d) of the rows.

        The triangle R of a QR decomposition is made of all rows but the last, which is a sum of
        the others; Q itself, more than half of the work, only where R has no good inverse.

        Parameters
        ----------
        centred : ndarray of shape (n, I)
            Samples about their mean.

        Returns
        -------
        tuple of Span and ndarray of shape (n, d)
            The span and the coordinates.
        """
        independent = centred[:-1]
        if 0 < len(independent) <= centred.shape[1]:
            packed = dgeqrf(independent.T, lwork=64 * len(independent))[0]
            R = np.triu(packed[: len(independent)])
            inverse, failed = dtrtri(R)
            if not failed and np.linalg.norm(R, 1) * np.linalg.norm(inverse, 1) < WORST:
                span = cls(independent, inverse)
                return span, np.concatenate([R.T, span.to_span(centred[-1:].T).T])
        Q = qr(centred.T, mode="economic", check_finite=False)[0]
        return cls(np.ascontiguousarray(Q.T)), centred @ Q

    @property
    def full_size(self) -> int:
        """I, the number of numbers of a sample."""
        return int(self.rows.shape[1])

    def from_span(self, W: Array) -> Array:
        """Directions (..., d, r) of the span as directions (..., I, r) of all samples."""
        inner = W if self.inverse is None else self.inverse @ W
        return np.asarray(self.rows.T @ inner)

    def rows_from_span(self, W: Array) -> Array:
        """`from_span` of (d, r), as rows (r, I)."""
        inner = W if self.inverse is None else self.inverse @ W
        return np.asarray(inner.T @ self.rows)

    def to_span(self, W: Array) -> Array:
        """The part (..., d, r) of directions (..., I, r) of all samples that is in the span."""
        inner = self.rows @ W
        return np.asarray(inner if self.inverse is None else self.inverse.T @ inner)


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
        >>> from tenfold.linalg.bases import KernelBasis
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
        L = np.tril(factor)[:, :rank]
        order = pivots - 1
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
