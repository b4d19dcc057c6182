"""Multi-class projectors: one subspace in which all classes lie apart."""

from __future__ import annotations

from math import prod

import numpy as np

from tenfold.mathematics.criteria import Criterion
from tenfold.mathematics.moments import ClassStatistics
from tenfold.methods.base import TensorProjector
from tenfold.methods.learning import Models


class MultiClassProjector(TensorProjector):
    """Base of the methods that keep class means apart and classes tight."""

    def _criterion(self, statistics: ClassStatistics, models: Models) -> Criterion:
        n = len(models.ranks)
        return Criterion(
            statistics.shape,
            statistics.between(),  # S_b, eq. 10
            statistics.within(),  # S_w, eq. 11
            owners=np.zeros(n, dtype=int),
            balance=np.ones(n),
            full_shape=statistics.full_shape,
        )

    def _default_ranks(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """As for every method, but no more directions than the class means can span."""
        roots = super()._default_ranks(shape)
        n_means = len(self.classes_) - 1
        return tuple(min(rank, n_means * prod(roots) // rank) for rank in roots)
