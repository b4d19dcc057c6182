"""How sure a model is of its answers, and how often these are right."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tenfold.linalg.algebra import Array

N_BINS = 10


class Reliability(NamedTuple):
    """How sure a model was, and how often it was right, in bins of equal width.

    Bins without a sample are left out.
    """

    confidence: Array  # (B,), the mean probability of the class that was named
    accuracy: Array  # (B,), the share of samples that were classified correctly
    counts: Array  # (B,), samples

    @property
    def error(self) -> float:
        """The expected calibration error: the mean gap between the two, over samples."""
        gaps = np.abs(self.confidence - self.accuracy)
        return float(np.average(gaps, weights=self.counts))


def reliability(sure: Array, right: Array, n_bins: int = N_BINS) -> Reliability:
    """Sort samples by how sure a model was of them.

    Parameters
    ----------
    sure : ndarray of shape (n,)
        The probability of the class that was named.
    right : ndarray of shape (n,)
        Whether that is the class of the sample.
    n_bins : int, default=10
        Into how many bins of equal width the probabilities are sorted.

    Returns
    -------
    Reliability
        One entry for each bin that has samples.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.metrics import reliability
    >>> found = reliability(np.array([0.9, 0.9, 0.6, 0.6]), np.array([True, True, True, False]))
    >>> round(found.error, 2)
    0.1
    """
    bins = np.minimum((sure * n_bins).astype(int), n_bins - 1)
    counts = np.bincount(bins, minlength=n_bins)
    some = counts > 0
    confidence = np.bincount(bins, weights=sure, minlength=n_bins)
    accuracy = np.bincount(bins, weights=right, minlength=n_bins)
    return Reliability(confidence[some] / counts[some], accuracy[some] / counts[some], counts[some])
