"""The base of the methods that keep the means of all classes apart."""

from __future__ import annotations

from math import prod

from tenfold.linalg.arrays import Array
from tenfold.methods.base import Shape, TensorProjector
from tenfold.optimization.criteria import Problem, between_within
from tenfold.statistics.class_statistics import ClassStatistics


class MultiClassProjector(TensorProjector):
    """Base of the methods that keep class means apart and classes tight."""

    def _problem(self, statistics: ClassStatistics) -> Problem:
        """Class means apart, classes tight."""
        return between_within(statistics, **self._settings(statistics))

    def _default_ranks(self, shape: Shape, classes: Array) -> Shape:
        """As for every method, but no more directions than the class means can span."""
        roots = super()._default_ranks(shape, classes)
        n_means = len(classes) - 1
        return tuple(min(rank, n_means * prod(roots) // rank) for rank in roots)
