"""Class moments: exact statistics of labelled tensor samples that can be added.

Everything the methods of this library learn from data follows from one small table per class:
its count n_c, its mean M_c and its scatter ``S_c = sum_{j in c} (x_j - M_c)(x_j - M_c)^T``.

    within      sum_c S_c                                              eq. 11
    between     sum_c n_c (M_c - M)(M_c - M)^T                         eq. 10
    total       within + between                                       MPCA
    in-class    S_p                                                    eq. 18
    out-class   total + N (M - M_p)(M - M_p)^T - S_p                   eq. 17

The alternating methods never need a scatter itself, only its mode-k scatters under the projections
of the other modes (eqs 10, 11, 17, 18), of a *stack* of M models at once: ``factors[q]`` has shape
(M, I_q, r_q), and columns of zeros pad models of lower rank. A `Scatter` is a linear combination of
terms; a `Term` holds one scatter for each of its groups, such as the classes, as samples or tables.

`ClassStatistics` says what can be asked; `ClassMoments` answers from tables. The same questions are
answered from the samples, in memory or by passes over a store (`sample_statistics`).
Moments can forget samples, and give some back: what is exact, and what is refused, is said below.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from numbers import Real
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, blas, cholesky

from tenfold.linalg.algebra import (
    contracted,
    first_contracted,
    mode_first,
    mode_scatters,
    pack_projectors,
    pack_table,
    packed_gram,
    unpack,
)
from tenfold.linalg.arrays import Array, square_lengths
from tenfold.linalg.bases import Span
from tenfold.linalg.constants import KEPT_BYTES, STACK_BYTES
from tenfold.statistics.accumulate import (
    ClassSums,
    as_slice,
    check_same_kind,
    check_squares,
    merged_means,
    row_blocks,
)

Factors = Sequence[Array]  # one (M, I_q, r_q) stack per mode
TermKey = tuple["Term", bytes]  # and the groups that models ask it for
Batch = tuple[Array, Array | None, Array | None]  # samples, labels, weights
EPS = float(np.finfo(float).eps)
FORGOTTEN = 1e-100  # a class with less than this share of the largest weight is forgotten
EMPTY = 1e-10  # less than this share of its weight left means that nothing is left of a class
EXACT = 1e-8  # to which moments after taking samples back are those of the others alone
ROUNDING = 64 * EPS  # of a sum of squares: what a scatter may be off without being wrong
DEFINITE_SIZE = 2048  # numbers in a sample up to which every eigenvalue is looked at


# ── Scatters ─────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, eq=False)
class Scatter:
    """A linear combination of terms; a coefficient is a number, or one per model, of shape (M,).

    Parameters
    ----------
    terms : tuple of (coefficient, Term, ndarray of shape (M,))
        What is added up, and the group of each model in each term. A stack of one model serves all.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.statistics.moments import Scatter, Term, along_mode
    >>> term = Term.from_matrices(np.eye(4)[None], (2, 2))
    >>> twice = Scatter.of(term) + Scatter.of(term)
    >>> along_mode([twice], 0, [np.eye(2)[None], np.eye(2)[None]])[0][0]
    array([[4., 0.],
           [0., 4.]])
    """

    terms: tuple[tuple[Any, Term, Array], ...]

    @classmethod
    def of(cls, term: Term) -> Scatter:
        """The scatter of the first group of a term."""
        return cls(((1.0, term, np.zeros(1, dtype=np.intp)),))

    def __len__(self) -> int:
        """Number of models."""
        return len(self.terms[0][2])

    def __add__(self, other: Scatter) -> Scatter:
        return Scatter(self.terms + other.terms)

    def __sub__(self, other: Scatter) -> Scatter:
        return self + other * -1.0

    def __mul__(self, factor: Any) -> Scatter:
        return Scatter(tuple((factor * c, term, groups) for c, term, groups in self.terms))

    def __getitem__(self, models: Array) -> Scatter:
        """The scatters of some of the models."""
        own = ((c[models] if np.ndim(c) else c, term, of[models]) for c, term, of in self.terms)
        return Scatter(tuple(own))

    @classmethod
    def stacked(cls, scatters: Sequence[Scatter]) -> Scatter:
        """The models of several scatters with terms of the same kinds, in order.

        A term that several of them share is asked once for all of its models. Last terms that
        only some of them have count as zero in the others.
        """
        longest = max((scatter.terms for scatter in scatters), key=len)
        terms = []
        for place, (_, usual, _) in enumerate(longest):
            column = [
                scatter.terms[place]
                if place < len(scatter.terms)
                else (0.0, usual, np.zeros(len(scatter), dtype=np.intp))
                for scatter in scatters
            ]
            first, *others = different = list(dict.fromkeys(term for _, term, _ in column))
            starts = np.cumsum([0, *(term.n_groups for term in different)])
            start = dict(zip(different, starts, strict=False))
            groups = np.concatenate([own + start[term] for _, term, own in column])
            each = np.concatenate([np.broadcast_to(c, own.shape) for c, _, own in column])
            common = each if (each != each[0]).any() else float(each[0])
            terms.append((common, first.joined(tuple(others)), groups))
        return cls(tuple(terms))

    def combined(self, answers: dict[TermKey, Array]) -> Array:
        """The sum of what its terms answered, (M, I_k, I_k); see `answers_along`."""
        total = np.zeros_like(answers[term_key(*self.terms[0][1:])])
        for coefficient, term, groups in self.terms:
            answer = answers[term_key(term, groups)]
            is_one = np.ndim(coefficient) == 0 and coefficient == 1
            total += answer if is_one else np.reshape(coefficient, (-1, 1, 1)) * answer
        return total

    def traces(self, answers: dict[TermKey, Array]) -> Array:
        """The traces of the same sum, (M,)."""
        each = ((c, answers[term_key(term, groups)]) for c, term, groups in self.terms)
        return np.asarray(sum(c * np.trace(answer, axis1=1, axis2=2) for c, answer in each))


def term_key(term: Term, groups: Array) -> TermKey:
    """What tells the answer of a term to these models from others."""
    return term, groups.tobytes()


def along_mode(scatters: Sequence[Scatter], mode: int, factors: Factors) -> list[Array]:
    """Several scatters of M models along one mode, each term asked once.

    Parameters
    ----------
    scatters : sequence of Scatter
        What is asked for.
    mode : int
        The mode k.
    factors : sequence of K ndarrays of shape (M, I_q, r_q)
        Projections of the models; those of mode k are not used.

    Returns
    -------
    list of ndarrays of shape (M, I_k, I_k)
        One per scatter.
    """
    answers = evaluate_terms(scatters, mode, factors)
    return [scatter.combined(answers) for scatter in scatters]


def evaluate_terms(
    scatters: Sequence[Scatter], mode: int, factors: Factors
) -> dict[TermKey, Array]:
    """What each term answers; terms that share their samples are asked in one pass."""
    n_models = len(factors[0])
    asked: dict[TermKey, tuple[Any, Array]] = {
        term_key(term, groups): (term, np.broadcast_to(groups, (n_models,)))
        for scatter in scatters
        for _, term, groups in scatter.terms
    }
    answers: dict[TermKey, Array] = {}
    for key, (term, groups) in asked.items():
        if key in answers:
            continue
        if not is_shared(term):
            answers[key] = term.along(mode, factors, groups)
            continue
        together = {k: own for k, own in asked.items() if is_shared(own[0]) and own[0].X is term.X}
        found = term.along_together(list(together.values()), mode, factors)
        answers |= zip(together, found, strict=True)
    return answers


def is_shared(term: Any) -> bool:
    """Whether a term can be asked together with others over the same samples, in one pass."""
    return hasattr(term, "along_together")


@dataclass(frozen=True, eq=False)
class Term:
    """One scatter for each of its groups, such as the classes, asked for along a mode.

    Samples answer by going through them in blocks: no I x I matrix is ever made. Packed tables,
    made of the samples or of scatters, answer in O(I^2), whatever the number of samples.

    Parameters
    ----------
    X : array of shape (n, I_1, ..., I_K)
        The samples; anything that gives ndarrays for ``X[rows]``.
    centres : ndarray of shape (m, I_1, ..., I_K)
        The points that deviations are taken from.
    centre_of : ndarray of shape (n,)
        Which of the centres each sample is measured from.
    members : list of G index arrays
        The samples of each group.
    weights : ndarray of shape (n,) or None
        Sample weights, 1 if None.
    tables : tuple of G ndarrays of shape (L_1, ..., L_K)
        One packed table per group; none where the samples answer.
    """

    X: Any
    centres: Array
    centre_of: Array
    members: list[Array]
    weights: Array | None = None
    tables: tuple[Array, ...] = ()
    _turned: dict[int, Array] = field(default_factory=dict, init=False)  # by mode
    _joined: dict[tuple[Term, ...], Term] = field(default_factory=dict, init=False)
    _halfway: dict[tuple[int, ...], tuple[Array, Array]] = field(default_factory=dict, init=False)

    @classmethod
    def from_matrices(cls, matrices: Array, shape: tuple[int, ...]) -> Term:
        """Packed tables of symmetric matrices of shape (G, I, I), without samples."""
        nobody = np.empty(0, dtype=np.intp)
        none = np.empty((0, *shape))
        tables = tuple(pack_table(matrix, shape) for matrix in matrices)
        return cls(none, none, nobody, [nobody] * len(matrices), tables=tables)

    def tabulated(self) -> Term:
        """The same with a packed table of every group."""
        groups = range(self.n_groups)
        tables = tuple(packed_gram(self.deviations(g), self.shape) for g in groups)
        return replace(self, tables=tables)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape (I_1, ..., I_K) of a sample."""
        return self.centres.shape[1:]

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.members)

    @property
    def faster_by_group(self) -> bool:
        """Whether many models of one group cost less than as many of several groups.

        A table is read once for all models of its group; deviations that are too many to be kept
        are made anew whenever they are asked for.
        """
        return self.n_groups > 1 and (bool(self.tables) or not self._can_be_kept)

    def joined(self, others: tuple[Term, ...]) -> Term:
        """One term with the groups of this one and of others of its kind, in order.

        It is kept, so that two stacks over the same terms share it, and ask it once.
        """
        if not others:
            return self
        if others not in self._joined:
            self._joined[others] = self._joined_anew(others)
        return self._joined[others]

    def _joined_anew(self, others: tuple[Term, ...]) -> Term:
        every = (self, *others)
        members = [rows for term in every for rows in term.members]
        tables = tuple(table for term in every for table in term.tables)
        if tables or all(term.X is self.X and term.centres is self.centres for term in others):
            return replace(self, members=members, tables=tables)
        columns = np.concatenate([t._about_centres(rows) for t in every for rows in t.members])
        ends = np.cumsum([len(rows) for rows in members])
        return Term(
            columns,
            np.zeros((1, *columns.shape[1:])),
            np.zeros(len(columns), dtype=np.intp),
            np.split(np.arange(len(columns)), ends[:-1]),
        )

    def along(self, mode: int, factors: Factors, groups: Array) -> Array:
        """Mode-k scatters of M models, of shape (M, I_k, I_k); `groups` says whom each asks."""
        if self.tables:
            return self._along_tables(mode, factors, groups)
        kept = self._kept(mode)
        few_models_each = len(groups) < 8 or len(groups) < 8 * len(np.unique(groups))
        if kept is not None and len(kept) > 1 and few_models_each:
            in_order = bool((np.diff(groups) == 1).all())  # a view, then
            return mode_scatters(kept[as_slice(groups) if in_order else groups], mode, factors)
        size = self.centres.shape[mode + 1]
        result = np.zeros((len(groups), size, size))
        for group, models in models_of_groups(groups, len(self.members)):
            anew = (mode_first(Z[None], mode) for Z in self.deviations(group))
            for Y in anew if kept is None else [kept[group : group + 1]]:
                widths = [W.shape[2] / W.shape[1] for q, W in enumerate(factors) if q != mode]
                bytes_per_model = int(Y.nbytes * max([1, *widths]))
                for block in row_blocks(len(models), bytes_per_model, STACK_BYTES):
                    own = [W[models[block]] for W in factors]
                    result[models[block]] += mode_scatters(Y, mode, own)
        return result

    def _kept(self, mode: int) -> Array | None:
        """Deviations of all groups, `turned`, padded with zeros to one size; None if too many.

        Every round asks for them again, and for few models making them anew takes longer than
        the products; so does a loop over groups.
        """
        if not self._can_be_kept:
            return None
        if mode not in self._turned:
            padded = np.zeros((len(self.members), max(map(len, self.members)), *self.shape))
            for group, rows in zip(padded, self.members, strict=True):
                group[: len(rows)] = self._about_centres(rows)
            self._turned[mode] = mode_first(padded, mode)
        return self._turned[mode]

    @cached_property
    def _can_be_kept(self) -> bool:
        padded = len(self.members) * max(map(len, self.members))
        return 0 < 8 * padded * prod(self.centres.shape[1:]) <= KEPT_BYTES

    def deviations(self, group: int) -> Iterator[Array]:
        """Blocks of sqrt(w_j) (x_j - c_j) of one group, in float64."""
        rows = self.members[group]
        for block in row_blocks(len(rows), 8 * prod(self.centres.shape[1:])):
            yield self._about_centres(rows[block])

    def _about_centres(self, rows: Any) -> Array:
        rows = as_slice(rows)  # a view where they follow each other: no copy but Z
        one = len(self.centres) == 1
        Z = self.X[rows] - (self.centres if one else self.centres[self.centre_of[rows]])
        if self.weights is not None:
            Z *= np.sqrt(self.weights[rows]).reshape(-1, *[1] * (Z.ndim - 1))
        return np.asarray(Z)

    def _along_tables(self, mode: int, factors: Factors, groups: Array) -> Array:
        packed = {q: pack_projectors(W) for q, W in enumerate(factors) if q != mode}
        size = self.shape[mode]
        if not packed and self.n_groups == 1:  # one answer for all models
            return np.broadcast_to(unpack(self.tables[0][None], size), (len(groups), size, size))
        if not packed:
            return unpack(np.stack([self.tables[group] for group in groups]), size)
        result = np.empty((len(groups), size * (size + 1) // 2))
        largest = max(packed, key=lambda q: self.shape[q])
        kept = self.tables[0].size // self.tables[0].shape[largest]
        for group, models in models_of_groups(groups, len(self.tables)):
            for block in row_blocks(len(models), 8 * kept):
                chosen = models[block]
                chunk = {q: p[chosen] for q, p in packed.items()}
                left = self._first_contraction(group, int(chosen[0]), chunk[largest], largest)
                result[chosen] = contracted(left, chunk, largest)
        return unpack(result, size)

    def _first_contraction(self, group: int, start: int, projectors: Array, mode: int) -> Array:
        """A table contracted along one mode, (M, the other modes...), which takes all the time.

        Of three modes or more the next one that is asked for needs the same product, if `mode` was
        not solved meanwhile. So the last product for the models from `start` on is kept.
        """
        if len(self.shape) == 2 or self.n_groups > 1:
            return first_contracted(self.tables[group], projectors, mode)
        last = self._halfway.get((start, mode))
        if last is None or not np.array_equal(last[0], projectors):
            last = projectors, first_contracted(self.tables[group], projectors, mode)
            self._halfway[start, mode] = last
        return last[1]


def models_of_groups(groups: Array, n_groups: int) -> Iterator[tuple[int, Array]]:
    """(group, positions of its models); with a single group every model belongs to it."""
    if n_groups == 1:
        yield 0, np.arange(len(groups))
        return
    for group in np.unique(groups):
        yield int(group), np.flatnonzero(groups == group)


# ── Statistics ───────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, eq=False)
class ClassStatistics(ABC):
    """What a method may ask about labelled samples.

    A term of a scatter is made when it is first asked for, and then kept, so that the models of a
    stack share it. ``dataclasses.replace(statistics)`` is a copy that has kept nothing.

    Parameters
    ----------
    classes : ndarray of shape (C,)
        The labels, sorted.
    counts : ndarray of shape (C,)
        The sum of the sample weights of each class.
    means : ndarray of shape (C, I_1, ..., I_K)
        The mean sample of each class; zero for a class without samples.
    """

    classes: Array
    counts: Array
    means: Array

    # -- counts and means ------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape (I_1, ..., I_K) of a sample."""
        return self.means.shape[1:]

    @property
    def basis(self) -> Span | None:
        """The basis in which the samples are given, if it was changed."""
        return None

    @property
    def full_shape(self) -> tuple[int, ...]:
        """The shape of a sample before any change of basis."""
        return self.shape if self.basis is None else (self.basis.full_size,)

    @property
    def full_means(self) -> Array:
        """The mean sample of each class before any change of basis."""
        return self.means

    @property
    def count(self) -> float:
        """The sum of all sample weights, N."""
        return float(self.counts.sum())

    @cached_property
    def mean(self) -> Array:
        """The mean of all samples, of shape (I_1, ..., I_K)."""
        return weighted_mean(self.means, self.counts)

    @cached_property
    def choices(self) -> dict[str, Any]:
        """What was chosen by these statistics; the models of a stack share it."""
        return {}

    @cached_property
    def _full_mean(self) -> Array:
        return weighted_mean(self.full_means, self.counts)

    def other_mean(self, p: int) -> Array:
        """The mean of all samples but those of class number p, before any change of basis."""
        own = self.counts[p]
        step = self._full_mean - self.full_means[p]
        return np.asarray(self._full_mean + own / (self.count - own) * step)

    @cached_property
    def scaled_class_means(self) -> tuple[Array, Array | None]:
        """Class means about the mean of all, times the roots of the counts; before any new basis.

        They are no more rows (k, I) than numbers: where there are more classes, a turn (C, k) of
        these rows gives them.
        """
        steps = (self.full_means - self._full_mean).reshape(len(self.counts), -1)
        steps *= np.sqrt(self.counts)[:, None]
        if len(steps) <= steps.shape[1]:
            return steps, None
        turn, rows = np.linalg.qr(steps)
        return rows, turn

    @cached_property
    def between_squares(self) -> float:
        """The sum of squares of the class means about the mean of all samples."""
        steps = (self.means - self.mean).reshape(len(self.means), -1)
        return float(self.counts @ np.vecdot(steps, steps))

    # -- scatters --------------------------------------------------------------------------------

    def within(self) -> Scatter:
        """``sum_c S_c`` (eq. 11)."""
        return self._kept("within", self._within)

    def total(self) -> Scatter:
        """All samples about their mean: within + between."""
        return self._kept("total", self._total)

    def in_class(self, p: int) -> Scatter:
        """S_p, the samples of class number p about their mean (eq. 18)."""
        return self._kept(p, lambda: self._in_class(p))

    def between(self) -> Scatter:
        """``sum_c n_c (M_c - M)(M_c - M)^T`` (eq. 10)."""
        return self._kept("between", self._means_about_mean)

    def mean_offset_scatter(self, p: int) -> Scatter:
        """``N (M_p - M)(M_p - M)^T``: by how much the total about M_p exceeds that about M."""
        nowhere = np.zeros(len(self.counts), dtype=np.intp)
        weights = np.full_like(self.counts, self.count)
        rows = [np.array([p])]
        return self._kept(
            ("offset", p), lambda: Term(self.means, self.mean[None], nowhere, rows, weights)
        )

    @property
    @abstractmethod
    def covariance_products(self) -> tuple[Array, Array, float]:
        """Frobenius products <S_c, S_c> and <S_c, S_w> of every class, and <S_w, S_w>.

        S_w is the within scatter, and all of them are over its squared trace, so that no units
        are too large or too small.
        """

    @property
    @abstractmethod
    def traces(self) -> Array:
        """tr(S_c) of every class, of shape (C,)."""

    # -- terms -----------------------------------------------------------------------------------

    @abstractmethod
    def _within(self) -> Term: ...

    @abstractmethod
    def _total(self) -> Term: ...

    @abstractmethod
    def _in_class(self, p: int) -> Term: ...

    def _kept(self, name: Any, make: Callable[[], Term]) -> Scatter:
        """The scatter of a term that is made when it is first asked for."""
        terms: dict[Any, Term] = vars(self).setdefault("_terms", {})
        if not terms:
            check_squares(self.counts, self.means, self.traces)
        if name not in terms:
            terms[name] = make()
        return Scatter.of(terms[name])

    def _means_about_mean(self) -> Term:
        everybody = np.zeros(len(self.counts), dtype=np.intp)
        seen = np.flatnonzero(self.counts)
        return Term(self.means, self.mean[None], everybody, [seen], self.counts)


@dataclass(frozen=True, eq=False)
class ClassMoments(ClassStatistics):
    """Count, mean and scatter of every class: exact, weighted, and mergeable with ``+``.

    Parameters
    ----------
    classes : ndarray of shape (C,)
        The labels, sorted.
    counts : ndarray of shape (C,)
        The sum of the sample weights of each class.
    means : ndarray of shape (C, I_1, ..., I_K)
        The mean sample of each class.
    scatters : ndarray of shape (C, I, I)
        The scatter of each class about its mean, over vectorised samples.

    Examples
    --------
    However a stream is batched, in any order, the moments are the same:

    >>> import numpy as np
    >>> from tenfold import ClassMoments
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(9, 4, 3)), np.array(list("abcabcabc"))
    >>> parts = ClassMoments.from_batch(X[:2], y[:2]) + ClassMoments.from_batch(X[2:], y[2:])
    >>> whole = ClassMoments.from_batch(X, y)
    >>> bool(np.allclose(parts.scatters, whole.scatters))
    True
    """

    scatters: Array

    @classmethod
    def from_batch(
        cls,
        X: Array,
        y: Array | None = None,
        sample_weight: Array | None = None,
        *,
        classes: Array | None = None,
    ) -> ClassMoments:
        """Moments of one batch.

        Parameters
        ----------
        X : ndarray of shape (n, I_1, ..., I_K)
            The samples. They are read in blocks and never copied or cast whole.
        y : ndarray of shape (n,) or None
            The labels; with None all samples form one class.
        sample_weight : ndarray of shape (n,) or None
            Non-negative weights, 1 if None.
        classes : ndarray of shape (C,) or None
            All labels, sorted, when the batch may lack some.

        Returns
        -------
        ClassMoments
            In float64. float32 samples may be multiplied in float32, when that loses nothing
            (`tenfold.statistics.accumulate.float32_suffices`), and are summed in float64.
        """
        return cls.from_blocks([(X, y, sample_weight)], classes=classes)

    @classmethod
    def from_blocks(
        cls,
        blocks: Iterable[Batch | ClassMoments],
        *,
        classes: Array | None = None,
        total: ClassMoments | None = None,
    ) -> ClassMoments:
        """Moments of a stream of blocks, read once.

        Equals the sum of the moments of the blocks, without a table per block.

        Parameters
        ----------
        blocks : iterable of (X, y, sample_weight)
            As `from_batch` takes them; y and sample_weight may be None. Moments of a block that
            are there already may stand for it.
        classes : ndarray of shape (C,) or None
            All labels, sorted; None takes them as they come.
        total : ClassMoments or None
            Moments of earlier blocks, to which these are added.

        Returns
        -------
        ClassMoments
            Of all blocks.
        """
        sums: ClassSums | None = None
        for block in blocks:
            if isinstance(block, ClassMoments):
                total = block if total is None else total + block
                continue
            X, y, weight = block
            X = X if hasattr(X, "dtype") else np.asarray(X, dtype=float)
            labels = np.zeros(X.shape[0], dtype=np.intp) if y is None else np.asarray(y)
            weight = None if weight is None else np.asarray(weight)
            present = np.unique(labels) if classes is None else np.asarray(classes)
            if sums is None:
                sums = ClassSums(present, X.shape[1:])
            else:
                sums.cover(present)
            sums.add(X, labels, weight)
        if sums is None:
            if total is None:
                raise ValueError("there are no blocks to take moments of; pass at least one")
            return total
        own = cls(sums.classes, *sums.finish())
        return own if total is None else total.plus(own, inplace=True)

    def __add__(self, other: ClassMoments) -> ClassMoments:
        return self.plus(other)

    def plus(self, other: ClassMoments, inplace: bool = False) -> ClassMoments:
        """The sum; with `spend`, in the memory of the other one if it has all classes."""
        _check_addable(self, other)
        classes = np.union1d(self.classes, other.classes)
        codes = [np.searchsorted(classes, part.classes) for part in (other, self)]
        return _summed([other, self], codes, classes, inplace)

    def summed_by(self, codes: Array, n: int) -> ClassMoments:
        """Sums of cells.

        A cell is a row: a class, or part of a class. The moments of several cells together follow
        from those of each cell.

        Parameters
        ----------
        codes : ndarray of shape (C,)
            The number of the sum to which each row belongs; -1 leaves a row out.
        n : int
            How many sums there are.

        Returns
        -------
        ClassMoments
            With the labels 0 to n - 1; a sum without samples has count 0.

        Examples
        --------
        >>> import numpy as np
        >>> from tenfold import ClassMoments
        >>> X = np.random.default_rng(0).normal(size=(6, 2))
        >>> four = ClassMoments.from_batch(X, np.array([0, 1, 2, 3, 0, 1]))
        >>> four.summed_by(np.array([0, 0, 1, 1]), 2).counts
        array([4., 2.])
        """
        return _summed([self], [np.asarray(codes)], np.arange(n))

    def present(self) -> ClassMoments:
        """The moments of the rows that have samples."""
        here = self.counts > 0
        if here.all():
            return self
        classes, counts, means = (a[here] for a in (self.classes, self.counts, self.means))
        return ClassMoments(classes, counts, means, self.scatters[here])

    def pooled(self) -> ClassMoments:
        """The moments of all samples as one class, 0."""
        if len(self.classes) == 1:
            return replace(self, classes=np.zeros(1, dtype=np.intp))
        return self.summed_by(np.zeros(len(self.classes), dtype=np.intp), 1)

    def decay(self, factor: float) -> ClassMoments:
        """The moments with all weights multiplied: what is old counts less.

        ``moments.decay(0.9) + ClassMoments.from_batch(X, y)`` is what a stream knows that forgets
        a tenth of the past with every batch.

        Parameters
        ----------
        factor : float
            Above 0 and at most 1.

        Returns
        -------
        ClassMoments
            Of the same samples with `factor` times their weights.

        Examples
        --------
        >>> import numpy as np
        >>> from tenfold import ClassMoments
        >>> moments = ClassMoments.from_batch(np.eye(3))
        >>> moments.decay(0.5).counts
        array([1.5])
        """
        factor = check_decay("factor", factor)
        counts = self.counts * factor
        counts[counts < FORGOTTEN * counts.max(initial=0.0)] = 0.0
        gone = counts == 0
        means = self.means
        scatters = self.scatters * factor
        if gone.any():
            column = gone.reshape(-1, *[1] * (means.ndim - 1))
            means, scatters[gone] = np.where(column, 0.0, means), 0.0
        return replace(self, counts=counts, means=means, scatters=scatters)

    def __sub__(self, other: ClassMoments) -> ClassMoments:
        _check_addable(self, other)
        taken = other.present()
        strange = ~np.isin(taken.classes, self.classes)
        if strange.any():
            raise ValueError(
                f"samples of class {taken.classes[strange][0]!s} cannot be taken back: there are "
                f"none; the classes are {self.classes.tolist()!s:.200}; pass samples "
                "that were added"
            )
        counts, means, scatters = (a.copy() for a in (self.counts, self.means, self.scatters))
        bounds = np.zeros(len(counts))
        for b, c in enumerate(np.searchsorted(self.classes, taken.classes)):
            counts[c], means[c], scatters[c], bounds[c] = rest_of_cell(self, c, taken, b)
        result = replace(self, counts=counts, means=means, scatters=scatters)
        check_known_to_enough_digits(result, bounds)
        return result

    @cached_property
    def covariance_products(self) -> tuple[Array, Array, float]:
        """Frobenius products <S_c, S_c> and <S_c, S_w> of every class, and <S_w, S_w>."""
        unit = float(self.traces.sum()) or 1.0
        within = self.scatters.sum(axis=0) / unit
        own = np.array([np.vdot(scatter / unit, scatter / unit) for scatter in self.scatters])
        cross = np.array([np.vdot(scatter / unit, within) for scatter in self.scatters])
        return own, cross, float(np.vdot(within, within))

    @cached_property
    def traces(self) -> Array:
        """tr(S_c) of every class, of shape (C,)."""
        return np.asarray(np.trace(self.scatters, axis1=1, axis2=2))

    def _within(self) -> Term:
        return Term.from_matrices(self.scatters.sum(axis=0)[None], self.shape)

    def _total(self) -> Term:
        return Term.from_matrices(self.pooled().scatters, self.shape)

    def _in_class(self, p: int) -> Term:
        return Term.from_matrices(self.scatters[[p]], self.shape)


def _check_addable(one: ClassMoments, other: ClassMoments) -> None:
    """Refuse moments of samples of other shapes, or with labels of another kind."""
    if one.shape != other.shape:
        raise ValueError(
            f"moments of samples of shape {one.shape} and {other.shape} cannot be added or taken "
            "from each other; both must come from samples of the same shape"
        )
    check_same_kind(other.classes, one.classes)


def _summed(
    parts: Sequence[ClassMoments], codes: Sequence[Array], classes: Array, inplace: bool = False
) -> ClassMoments:
    """The sum of the rows of several moments, by code; see `ClassMoments.summed_by`.

    With `spend` in the memory of the first, if its rows stay where they are.
    """
    n = len(classes)
    all_codes = np.concatenate(codes)
    all_counts = np.concatenate([part.counts for part in parts])
    all_means = np.concatenate([part.means for part in parts])
    counts, means, steps = merged_means(all_counts, all_means, all_codes, n)
    if inplace and np.array_equal(codes[0], np.arange(n)):
        scatters, parts, codes = parts[0].scatters, parts[1:], codes[1:]
    else:
        scatters = np.zeros((n, *parts[0].scatters.shape[1:]))
    for part, places in zip(parts, codes, strict=True):
        for i in np.flatnonzero((places >= 0) & (part.counts > 0)):
            scatters[places[i]] += part.scatters[i]
    moved = np.flatnonzero(steps.any(axis=1))
    groups = all_codes[moved]
    for g in np.unique(groups):
        rows = steps[moved[groups == g]].T
        blas.dgemm(1.0, rows, rows, 1.0, scatters[g].T, trans_b=1, overwrite_c=1)  # in place
    return ClassMoments(classes, counts, means, scatters)


def weighted_mean(means: Array, counts: Array) -> Array:
    """Mean of class means, about the first so that a common offset costs no digits."""
    first = means[np.argmax(counts > 0)]
    share = np.where(counts > 0, counts, 0) / max(counts.sum(), np.finfo(float).tiny)
    offsets = np.where((counts > 0).reshape(-1, *[1] * first.ndim), means - first, 0)
    return np.asarray(first + np.tensordot(share, offsets, axes=1))


def check_decay(name: str, factor: Any) -> float:
    """A factor by which weights may be multiplied, or an error that names the parameter."""
    is_number = isinstance(factor, Real) and not isinstance(factor, bool | np.bool_)
    if not is_number or not 0 < float(factor) <= 1:
        raise ValueError(
            f"{name} is {factor!r}; expected a number above 0 and at most 1: 1 forgets nothing, "
            "0.99 forgets a hundredth of the past; to forget everything, fit anew"
        )
    return float(factor)


def rest_of_cell(
    whole: ClassMoments, c: int, taken: ClassMoments, b: int
) -> tuple[float, Array, Array, float]:
    """Count, mean and scatter of row c without row b, and what they may be off by rounding."""
    label = whole.classes[c]
    n = float(whole.counts[c])
    n_taken = float(taken.counts[b])
    count = n - n_taken
    size = whole.traces[c]
    sizes = whole.traces[c] + taken.traces[b]
    if count < -EMPTY * n:
        raise _never_added(label, f"{n_taken:g} of them are taken from {n:g}")
    step = (taken.means[b] - whole.means[c]).ravel()
    scatter = whole.scatters[c] - taken.scatters[b]
    rounded = EPS * float(np.linalg.norm(whole.means[c]))  # of a mean far from zero
    if count <= EMPTY * n:
        off = np.abs(scatter).max(initial=0.0)
        far = float(np.linalg.norm(step))
        lengths = ROUNDING * np.sqrt(sizes / n) + 16 * rounded
        if off > ROUNDING * sizes + 8 * rounded * np.sqrt(n * sizes) or far > lengths:
            raise _never_added(label, "all of them are taken, but those that are there differ")
        return 0.0, np.zeros(whole.shape), np.zeros_like(scatter), 0.0
    weight = n_taken * n / count
    push = weight * float(step @ step)  # S_all = S_part + S_rest + weight step step^T
    scatter -= weight * np.outer(step, step)
    mean = whole.means[c] - (n_taken / count) * step.reshape(whole.shape)
    sizes += push
    lost = rounded * (np.sqrt(n * size) + np.sqrt(weight * push))
    bound = ROUNDING * sizes + 16 * lost
    if not is_definite(scatter, bound):
        raise _never_added(label, "without them its scatter would have a negative eigenvalue")
    if float(np.trace(scatter)) <= bound:
        scatter[...] = 0.0  # one sample is left, or equal ones
    moved = n / count * rounded  # how far the mean may be off
    lost += moved * np.sqrt(count * float(np.trace(scatter))) + count * moved**2
    return count, mean, scatter, EPS * sizes + lost


def is_definite(scatter: Array, bound: float) -> bool:
    """Whether no eigenvalue is negative by more than the rounding that `bound` allows for."""
    negative = bool((np.diagonal(scatter) < -bound).any())
    if not negative and 1 < len(scatter) <= DEFINITE_SIZE:
        try:
            cholesky(scatter + 2 * bound * np.eye(len(scatter)), overwrite_a=True)
        except LinAlgError:
            negative = bound > 0 or float(np.linalg.eigvalsh(scatter)[0]) < 0
    return not negative


def _never_added(label: Any, why: str) -> ValueError:
    return ValueError(
        f"samples of class {label!s} cannot be taken back: {why}; pass samples that were added, "
        "with the weights that they have now (after decay, those of then times the factors since)"
    )


def check_known_to_enough_digits(left: Any, bounds: Array) -> None:
    """Refuse what is left when its digits drowned in those of what was taken."""
    changed = np.flatnonzero(bounds)
    if not len(changed):
        return
    flat = (left.means - left.mean).reshape(len(left.means), -1)
    sizes = left.traces + left.counts * square_lengths(flat)
    alone = (sizes == 0) & (left.counts <= 1 + EMPTY)  # one sample has no scatter
    sizes[alone] = left.counts[alone] * square_lengths(left.means.reshape(len(sizes), -1))[alone]
    worst = changed[np.argmax(bounds[changed] - EXACT * sizes[changed])]
    if bounds[worst] > EXACT * sizes[worst]:
        raise ValueError(
            f"samples of class {left.classes[worst]!s} cannot be taken back exactly: what is left "
            f"of it has a scatter of {left.traces[worst]:.1e}, and rounding has left an error of "
            f"about {bounds[worst]:.1e}; gather the moments of the other samples anew, or subtract "
            "the common offset of all samples before adding them"
        )
