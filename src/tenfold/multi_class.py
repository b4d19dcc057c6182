"""Multi-class projectors: one subspace in which all classes lie apart."""

from __future__ import annotations

from math import prod

import numpy as np

from tenfold.base import TensorProjector
from tenfold.criterion import Criterion
from tenfold.learning import Models
from tenfold.moments import ClassStatistics


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
