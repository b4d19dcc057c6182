"""The moments of every class in every fold: what sites hand on so that samples can be held out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tenfold.mathematics.accumulate import check_same_kind
from tenfold.mathematics.algebra import Array
from tenfold.mathematics.arrays import to_numpy
from tenfold.mathematics.cost import moments_of
from tenfold.mathematics.fold_moments import N_FOLDS, content_folds, merged_folds
from tenfold.mathematics.moments import ClassMoments
from tenfold.mathematics.pass_statistics import codes_of
from tenfold.mathematics.stores import over_blocks


@dataclass(frozen=True, eq=False)
class MomentsInFolds:
    """The moments of every class in five folds, to which samples are dealt by their content.

    They add up as class moments do, and let `ProbabilisticLDA` choose on samples that are held
    out, without the samples. A fold of a class has fewer samples than the class, so these moments
    reveal more.

    Parameters
    ----------
    classes : ndarray of shape (C,)
        The labels, sorted.
    cells : ClassMoments
        Class number c in fold f has the label 5 c + f.

    Examples
    --------
    Two sites, and the model of all samples:

    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from tenfold import ProbabilisticLDA, gather_folds
    >>> X, y = load_digits().images, load_digits().target
    >>> both = gather_folds(X[:500], y[:500]) + gather_folds(X[500:900], y[500:900])
    >>> found = ProbabilisticLDA().fit_moments(both)
    >>> expected = ProbabilisticLDA().fit(X[:900], y[:900])
    >>> bool(np.allclose(found.predict_proba(X), expected.predict_proba(X), atol=1e-6))
    True
    """

    classes: Array
    cells: ClassMoments

    @classmethod
    def from_batch(
        cls, X: Any, y: Array, sample_weight: Array | None, classes: Array
    ) -> MomentsInFolds:
        """Moments of samples in memory or in a source, with labels among `classes`."""
        numbers = codes_of(X, y, classes) * N_FOLDS + to_numpy(over_blocks(X, content_folds))
        cells = moments_of(X, numbers, sample_weight, np.arange(len(classes) * N_FOLDS))
        return cls(classes, cells)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape (I_1, ..., I_K) of a sample."""
        return self.cells.shape

    def together(self) -> ClassMoments:
        """The moments of the classes, of all folds together."""
        return replace(merged_folds(self.cells, N_FOLDS), classes=self.classes)

    def present(self) -> MomentsInFolds:
        """The moments of the classes that have samples."""
        counts = self.cells.counts.reshape(-1, N_FOLDS).sum(axis=1)
        here = np.repeat(counts > 0, N_FOLDS)
        arrays = (self.cells.counts, self.cells.means, self.cells.scatters)
        cells = ClassMoments(np.arange(here.sum()), *(array[here] for array in arrays))
        return MomentsInFolds(self.classes[counts > 0], cells)

    def __add__(self, other: MomentsInFolds) -> MomentsInFolds:
        check_same_kind(other.classes, self.classes)
        classes = np.union1d(self.classes, other.classes)
        return MomentsInFolds(classes, self._numbered(classes) + other._numbered(classes))

    def _numbered(self, classes: Array) -> ClassMoments:
        """The cells with the numbers that they have among more classes."""
        at = np.searchsorted(classes, self.classes)
        numbers = (at[:, None] * N_FOLDS + np.arange(N_FOLDS)).ravel()
        return replace(self.cells, classes=numbers)
