"""Statistics of all samples but a few: what all samples say, less a few columns.

The models of folds differ in what is held out alone. With the scatter of all samples T, about the
mean M, and atoms of counts n_a, means m_a and scatters S_a that are held out of N_f samples with
the mean M_f are left ::

    total    T - sum_a [S_a + n_a (m_a - M)(m_a - M)^T] - N_f (M_f - M)(M_f - M)^T
    within   the same in every class, about its mean

So the models of all folds are one stack: they ask one table, and each a few samples of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from tenfold.mathematics.algebra import Array
from tenfold.mathematics.bases import Span
from tenfold.mathematics.cost import Parts
from tenfold.mathematics.moments import ClassStatistics, Scatter, Term
from tenfold.mathematics.sample_statistics import SampleStatistics


@dataclass(frozen=True, eq=False)
class Atoms:
    """The atoms of some samples: see `Parts`.

    Parameters
    ----------
    whole : SampleStatistics
        Of all samples.
    codes, of_class : ndarrays of shape (n,) and (A,)
        The atom of each sample, and the class of each atom.
    """

    whole: SampleStatistics
    codes: Array
    of_class: Array

    @cached_property
    def statistics(self) -> SampleStatistics:
        """Counts, means and traces of the atoms, as if they were classes."""
        whole, labels = self.whole, np.arange(len(self.of_class))
        return SampleStatistics.from_batch(whole.X, self.codes, whole.weights, classes=labels)

    @cached_property
    def full_means(self) -> Array:
        """The mean sample of each atom before any change of basis."""
        whole, means = self.whole, self.statistics.means
        if whole.basis is None:
            return means
        middle = whole.counts @ whole.full_means / whole.count
        return np.asarray(middle + whole.basis.lifted(means.T).T)

    @cached_property
    def members(self) -> list[Array]:
        """Positions of the samples of each atom that have weight."""
        return [self.statistics._used(a) for a in range(len(self.of_class))]


@dataclass(frozen=True, eq=False)
class HeldOutStatistics(ClassStatistics):
    """Statistics of a training part of samples in memory.

    Parameters
    ----------
    classes, counts, means : ndarrays of shape (C,), (C,) and (C, I_1, ..., I_K)
        As for all statistics.
    atoms : Atoms
        Of all samples.
    kept : ndarray of bool of shape (A,)
        Which of them are in the part.
    """

    atoms: Atoms
    kept: Array

    @classmethod
    def of(cls, atoms: Atoms, kept: Array) -> HeldOutStatistics:
        """The statistics of these atoms."""
        n = np.where(kept, atoms.statistics.counts, 0.0)
        counts = np.bincount(atoms.of_class, n, minlength=len(atoms.whole.classes))
        here = np.flatnonzero(counts)
        means = _means_of(atoms, kept, here, atoms.statistics.means)
        return cls(atoms.whole.classes[here], counts[here], means, atoms, kept)

    @property
    def basis(self) -> Span | None:
        """The basis in which the samples are given, if it was changed."""
        return self.atoms.whole.basis

    @property
    def full_means(self) -> Array:
        """The mean sample of each class before any change of basis."""
        if self.basis is None:
            return self.means
        return _means_of(self.atoms, self.kept, self._class_numbers, self.atoms.full_means)

    @cached_property
    def traces(self) -> Array:
        """tr(S_c) of every class, of shape (C,)."""
        found, own = self.atoms.statistics, self._class_of_atom
        steps = (found.means - self.means[own]).reshape(len(own), -1)
        squares = found.traces + found.counts * np.vecdot(steps, steps)
        return np.bincount(own[self.kept], squares[self.kept], minlength=len(self.classes))

    @property
    def covariance_products(self) -> tuple[Array, Array, float]:
        """As for all statistics, from the samples of the part."""
        whole, rows = self.atoms.whole, np.flatnonzero(self.kept[self.atoms.codes])
        weights = None if whole.weights is None else whole.weights[rows]
        labels = whole.classes[whole.codes[rows]]
        part = SampleStatistics.from_batch(whole.X[rows], labels, weights, classes=self.classes)
        return part.covariance_products

    def total(self) -> Scatter:
        """All samples of the part about their mean."""
        whole, found, held = self.atoms.whole, self.atoms.statistics, ~self.kept
        points = [found.means[held] - whole.mean, (self.mean - whole.mean)[None]]
        weights = [found.counts[held], np.array([self.count])]
        return self._less(whole.total(), "total", points, weights)

    def within(self) -> Scatter:
        """Each class of the part about its mean."""
        atoms, found = self.atoms, self.atoms.statistics
        held = np.flatnonzero(~self.kept)
        cut = np.isin(np.arange(len(atoms.whole.classes)), atoms.of_class[held])
        left = np.flatnonzero(cut[self._class_numbers])  # classes that lost some of their atoms
        some = held[np.isin(atoms.of_class[held], self._class_numbers[left])]
        points = [
            found.means[some] - atoms.whole.means[atoms.of_class[some]],
            self.means[left] - atoms.whole.means[self._class_numbers[left]],
        ]
        weights = [found.counts[some], self.counts[left]]
        return self._less(atoms.whole.within(), "within", points, weights)

    def _in_class(self, p: int) -> Term:
        whole, number = self.atoms.whole, int(self._class_numbers[p])
        own = np.flatnonzero(self.atoms.of_class == number)
        if self.kept[own].all():
            (_, term), *_ = whole.in_class(number).terms
            return term
        rows = np.sort(np.concatenate([self.atoms.members[a] for a in own[self.kept[own]]]))
        nowhere = np.zeros(len(whole.X), dtype=np.intp)
        term = Term(whole.X, self.means[[p]], nowhere, [rows], whole.weights)
        return term.tabulated() if whole._classes_are_tables else term

    def _less(
        self, scatter: Scatter, name: str, points: list[Array], weights: list[Array]
    ) -> Scatter:
        """A scatter of all samples without the held-out atoms and some points with weights."""
        columns, scale = np.concatenate(points), np.sqrt(np.concatenate(weights))
        columns = columns * scale.reshape(-1, *[1] * len(self.shape))

        def of_points() -> Term:
            return Term(
                columns,
                np.zeros((1, *self.shape)),
                np.zeros(len(columns), dtype=np.intp),
                [np.arange(len(columns))],
            )

        return scatter - self._kept("held", self._held) - self._kept(name, of_points)

    def _held(self) -> Term:
        """The held-out atoms about their means."""
        atoms, found = self.atoms, self.atoms.statistics
        rows = [atoms.members[a] for a in np.flatnonzero(~self.kept)]
        together = np.sort(np.concatenate([np.empty(0, dtype=np.intp), *rows]))
        return Term(atoms.whole.X, found.means, atoms.codes, [together], atoms.whole.weights)

    @cached_property
    def _class_numbers(self) -> Array:
        """The number that each class has among all classes."""
        return np.searchsorted(self.atoms.whole.classes, self.classes)

    @cached_property
    def _class_of_atom(self) -> Array:
        """The number of the class of each atom in this part; of none, any."""
        number = np.zeros(len(self.atoms.whole.classes), dtype=np.intp)
        number[self._class_numbers] = np.arange(len(self.classes))
        return number[self.atoms.of_class]

    def _within(self) -> Term:
        raise NotImplementedError

    def _total(self) -> Term:
        raise NotImplementedError


def _means_of(atoms: Atoms, kept: Array, classes: Array, means: Array) -> Array:
    """The means of classes with these numbers, from the means of the atoms that are kept."""
    own = kept & (atoms.of_class == classes[:, None])
    shares = np.where(own, atoms.statistics.counts, 0.0)
    shares /= shares.sum(axis=1, keepdims=True)
    flat = shares @ means.reshape(len(means), -1)
    return np.asarray(flat.reshape(len(classes), *means.shape[1:]))


def held_out_statistics(whole: SampleStatistics, parts: Parts) -> list[HeldOutStatistics]:
    """Statistics of every part of samples in memory; no part holds a sample twice."""
    work = None if whole.work is None else replace(whole.work, models=len(parts.times))
    atoms = Atoms(replace(whole, work=work), parts.atoms, parts.of_class)
    return [HeldOutStatistics.of(atoms, times > 0) for times in parts.times]
