"""A basis of the span of few samples: where their scatters live, in N instead of I dimensions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.linalg import qr
from scipy.linalg.lapack import dgeqrf, dtrtri

from tenfold.mathematics.algebra import Array

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
                return span, np.concatenate([R.T, span.lowered(centred[-1:].T).T])
        Q = qr(centred.T, mode="economic", check_finite=False)[0]
        return cls(np.ascontiguousarray(Q.T)), centred @ Q

    @property
    def full_size(self) -> int:
        """I, the number of numbers of a sample."""
        return int(self.rows.shape[1])

    def lifted(self, W: Array) -> Array:
        """Directions (..., d, r) of the span as directions (..., I, r) of all samples."""
        inner = W if self.inverse is None else self.inverse @ W
        return np.asarray(self.rows.T @ inner)

    def lifted_rows(self, W: Array) -> Array:
        """`lifted` of (d, r), as rows (r, I)."""
        inner = W if self.inverse is None else self.inverse @ W
        return np.asarray(inner.T @ self.rows)

    def lowered(self, W: Array) -> Array:
        """The part (..., d, r) of directions (..., I, r) of all samples that is in the span."""
        inner = self.rows @ W
        return np.asarray(inner if self.inverse is None else self.inverse.T @ inner)
