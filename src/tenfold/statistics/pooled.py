"""One class against all others: moments in which the scatters of other classes are one.

A verifier asks for S_p of its class, for the sum of all S_c, and for class means. So the folds of a
verifier need two tables each, and not one for each class.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import blas

from tenfold.linalg.algebra import add_gram, pack_table
from tenfold.linalg.arrays import Array
from tenfold.statistics.accumulate import ClassSums, merged_means
from tenfold.statistics.class_statistics import ClassStatistics, MomentStatistics, made_once
from tenfold.statistics.moments import ClassMeans, ClassMoments
from tenfold.statistics.scatters import Scatter, TableTerm
from tenfold.statistics.stores import StoredSamples


@dataclass(frozen=True, eq=False)
class PooledMoments(ClassMeans):
    """Count and mean of every cell, which is a part of a class, and scatters that cells share.

    Parameters
    ----------
    classes, counts, means : ndarrays
        Numbers of the cells, the sum of the weights of each, and its mean.
    table_of : ndarray of shape (A,)
        Which of the scatters each cell is a part of.
    scatters : ndarray of shape (T, I, I)
        Sums over cells of their scatters, each about its own mean.
    """

    table_of: Array
    scatters: Array

    @classmethod
    def of_store(
        cls, X: StoredSamples, cells: Array, weight: Array | None, table_of: Array
    ) -> PooledMoments:
        """Of samples (n, I_1, ..., I_K) in the cells (n,), in one reading."""
        numbers = np.arange(len(table_of))
        sums = ClassSums(numbers, X.shape[1:], table_of)
        for block, own_cells, own_weight in X.blocks(cells, weight):
            assert own_cells is not None
            sums.add(block, own_cells, own_weight)
        counts, means, scatters = sums.finish()
        return cls(numbers, counts, means, table_of, scatters)

    def part(self, kept: Array, of_class: Array, classes: Array, positive: int) -> ClassStatistics:
        """Statistics of the cells that a part keeps; classes without samples are left out.

        Parameters
        ----------
        kept : ndarray of bool of shape (A,)
            The cells of the part. It keeps all cells of a scatter, or none.
        of_class : ndarray of shape (A,)
            The number of the class of each cell.
        classes : ndarray of shape (C,)
            All labels, sorted.
        positive : int
            The number of the class that is told from all others.
        """
        codes = np.where(kept, of_class, -1)
        counts, means, steps = merged_means(self.counts, self.means, codes, len(classes))
        size = self.scatters.shape[1]
        sums = np.zeros((2, size, size))  # of the other classes, and of this one
        for side, scatter in enumerate(sums):
            cells = kept & ((of_class == positive) == bool(side))
            for table in np.unique(self.table_of[cells]):
                scatter += self.scatters[table]
            rows = steps[cells].T
            blas.dgemm(1.0, rows, rows, 1.0, scatter.T, trans_b=1, overwrite_c=1)  # in place
        here = np.flatnonzero(counts > 0)
        place = int(np.searchsorted(here, positive))
        if len(here) == 2 and here[min(place, 1)] == positive:
            in_order = sums[::-1] if place == 0 else sums
            return MomentStatistics.of(
                ClassMoments(classes[here], counts[here], means[here], in_order)
            )
        return OneClassStatistics(classes[here], counts[here], means[here], place, *sums)


@dataclass(frozen=True, eq=False)
class OneClassStatistics(ClassStatistics):
    """Statistics of one class and of all others together, from two tables.

    Parameters
    ----------
    classes, counts, means : ndarrays
        Those of all classes.
    positive : int
        The number of the one class.
    others : ndarray of shape (I, I)
        The sum of the scatters of the other classes, each about its mean.
    own : ndarray of shape (I, I)
        The scatter of the one class about its mean.
    """

    positive: int
    others: Array
    own: Array

    @property
    def covariance_products(self) -> tuple[Array, Array, float]:
        """Those of each class are not known."""
        raise NotImplementedError("scatters of other classes are pooled; take MomentStatistics")

    @property
    def traces(self) -> Array:
        """tr(S_c) of every class; the other classes have equal shares of what they sum to."""
        n_others = max(len(self.classes) - 1, 1)
        traces = np.full(len(self.classes), float(np.trace(self.others)) / n_others)
        traces[self.positive] = float(np.trace(self.own))
        return traces

    @made_once
    def within(self) -> Scatter:
        """``sum_c S_c`` (eq. 11)."""
        table = pack_table(self.own + self.others, self.shape)
        return Scatter.of(TableTerm(self.shape, (table,)))

    @made_once
    def total(self) -> Scatter:
        """All samples about their mean: within + between."""
        matrix = self.own + self.others
        steps = (self.means - self.mean).reshape(len(self.counts), -1)
        add_gram(matrix, steps * np.sqrt(self.counts)[:, None])  # the upper triangle
        return Scatter.of(TableTerm(self.shape, (pack_table(matrix, self.shape),)))

    @made_once
    def in_class(self, p: int) -> Scatter:
        """S_p of the one class (eq. 18)."""
        if p != self.positive:
            raise NotImplementedError("scatters of other classes are pooled")
        return Scatter.of(TableTerm(self.shape, (pack_table(self.own, self.shape),)))
