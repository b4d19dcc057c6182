"""Scatters: linear combinations of terms, which are asked for along one mode at a time.

The alternating methods never need a scatter of vectorised samples itself, only its mode-k scatters
under the projections of the other modes (eqs 10, 11, 17, 18), of a *stack* of M models at once:
``factors[q]`` has shape (M, I_q, r_q), and columns of zeros pad models of lower rank.

A `Scatter` adds up terms; a `Term` holds one scatter for each of its groups, such as the classes.
`SampleTerm` answers from deviations of samples in memory, `TableTerm` from packed tables, and
`PassTerm` by a pass over the samples of a source.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from math import prod
from typing import NamedTuple

import numpy as np

from tenfold.linalg.algebra import (
    contract_table,
    is_identity,
    mode_scatters,
    pack_projectors,
    packed_gram,
    unpack,
)
from tenfold.linalg.arrays import Array
from tenfold.linalg.constants import KEPT_BYTES, STACK_BYTES
from tenfold.statistics.accumulate import as_slice, row_blocks
from tenfold.statistics.stores import Source

Factors = Sequence[Array]  # one (M, I_q, r_q) stack per mode
TermKey = tuple["Term", bytes]  # a term, and the groups of it that the models ask


class Summand(NamedTuple):
    """One summand of a scatter: what a term answers to each model, times a coefficient."""

    coefficient: float | Array  # one number, or one per model, (M,)
    term: Term
    groups: Array  # (M,), the group of each model in the term


class Products(dict[tuple["TableTerm", int, int], tuple[Array, Array]]):
    """What an alternation keeps of its tables from one mode to the next.

    By term, first model and mode: the projectors that a table was contracted with last, and the
    product. Of three modes or more the next mode needs the same product, if the mode that was
    contracted was not solved meanwhile.
    """


@dataclass(frozen=True, eq=False)
class Scatter:
    """A linear combination of terms, for each of M models.

    Parameters
    ----------
    summands : tuple of Summand
        What is added up: terms with coefficients. If it is for one model, it serves all models.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.linalg.algebra import pack_table
    >>> from tenfold.statistics.scatters import Scatter, TableTerm, along_mode
    >>> term = TableTerm((2, 2), (pack_table(np.eye(4), (2, 2)),))
    >>> twice = Scatter.of(term) + Scatter.of(term)
    >>> along_mode([twice], 0, [np.eye(2)[None], np.eye(2)[None]])[0][0]
    array([[4., 0.],
           [0., 4.]])
    """

    summands: tuple[Summand, ...]

    @classmethod
    def of(cls, term: Term) -> Scatter:
        """The scatter of the first group of a term."""
        return cls((Summand(1.0, term, np.zeros(1, dtype=np.intp)),))

    def __len__(self) -> int:
        """Number of models."""
        return len(self.summands[0].groups)

    def __add__(self, other: Scatter) -> Scatter:
        return Scatter(self.summands + other.summands)

    def __sub__(self, other: Scatter) -> Scatter:
        return self + other * -1.0

    def __mul__(self, factor: float) -> Scatter:
        return Scatter(
            tuple(Summand(factor * c, term, groups) for c, term, groups in self.summands)
        )

    def __getitem__(self, models: Array) -> Scatter:
        """The scatters of some of the models."""
        chosen = []
        for coefficient, term, groups in self.summands:
            own = coefficient[models] if isinstance(coefficient, np.ndarray) else coefficient
            chosen.append(Summand(own, term, groups[models]))
        return Scatter(tuple(chosen))

    @classmethod
    def stacked(cls, scatters: Sequence[Scatter]) -> Scatter:
        """The models of several scatters with terms of the same kinds, in order.

        A term that several of them share is asked once for all of its models. Last terms that
        only some of them have count as zero in the others.
        """
        longest = max((scatter.summands for scatter in scatters), key=len)
        stacked = []
        for place, usual in enumerate(longest):
            column = []
            for scatter in scatters:
                if place < len(scatter.summands):
                    column.append(scatter.summands[place])
                else:
                    nowhere = np.zeros(len(scatter), dtype=np.intp)
                    column.append(Summand(0.0, usual.term, nowhere))
            different = tuple(dict.fromkeys(part.term for part in column))
            joined = different[0].joined(different[1:])
            first_group = np.cumsum([0, *(term.n_groups for term in different)])
            start = dict(zip(different, first_group, strict=False))
            groups = np.concatenate([part.groups + start[part.term] for part in column])
            each = np.concatenate(
                [np.broadcast_to(part.coefficient, part.groups.shape) for part in column]
            )
            coefficient = each if (each != each[0]).any() else float(each[0])
            stacked.append(Summand(coefficient, joined, groups))
        return cls(tuple(stacked))


def along_mode(
    scatters: Sequence[Scatter], mode: int, factors: Factors, products: Products | None = None
) -> list[Array]:
    """Several scatters of M models along one mode, each term asked once.

    Parameters
    ----------
    scatters : sequence of Scatter
        What is asked for.
    mode : int
        The mode k.
    factors : sequence of K ndarrays of shape (M, I_q, r_q)
        Projections of the models; those of mode k are not used.
    products : Products or None
        What the same models were answered before, where they ask mode after mode.

    Returns
    -------
    list of ndarrays of shape (M, I_k, I_k)
        One per scatter.
    """
    n_models = len(factors[0])
    size = scatters[0].summands[0].term.shape[mode]
    products = Products() if products is None else products
    asked: dict[TermKey, Array] = {}
    uses: Counter[TermKey] = Counter()
    for scatter in scatters:
        for _, term, groups in scatter.summands:
            key = (term, groups.tobytes())
            asked[key] = np.broadcast_to(groups, (n_models,))
            uses[key] += 1
    answers: dict[TermKey, Array] = {}
    in_passes: dict[TermKey, tuple[PassTerm, Array]] = {}
    for key, groups in asked.items():
        term, _ = key
        if isinstance(term, PassTerm):
            in_passes[key] = (term, groups)
        else:
            answers[key] = term.along(mode, factors, groups, products)
    if in_passes:  # one pass over the samples answers all of them
        first, _ = next(iter(in_passes.values()))
        found = first.along_together(list(in_passes.values()), mode, factors)
        answers |= zip(in_passes, found, strict=True)
    sums = []
    for scatter in scatters:
        total = np.zeros((n_models, size, size))
        for coefficient, term, groups in scatter.summands:
            key = (term, groups.tobytes())
            uses[key] -= 1
            is_last = uses[key] == 0
            answer = answers.pop(key) if is_last else answers[key]  # lets its memory go
            is_one = np.ndim(coefficient) == 0 and coefficient == 1
            total += answer if is_one else np.reshape(coefficient, (-1, 1, 1)) * answer
        sums.append(total)
    return sums


@dataclass(eq=False)
class Term(ABC):
    """One scatter for each of its groups, such as the classes, asked for along a mode."""

    shape: tuple[int, ...] = field(init=False)  # (I_1, ..., I_K), of a sample
    n_groups: int = field(init=False)
    unions: dict[tuple[Term, ...], Term] = field(default_factory=dict, init=False, repr=False)

    @abstractmethod
    def along(self, mode: int, factors: Factors, groups: Array, products: Products) -> Array:
        """Mode-k scatters of M models, of shape (M, I_k, I_k); `groups` says whom each asks."""

    @abstractmethod
    def tabulated(self) -> TableTerm:
        """The same as a packed table of every group."""

    def joined(self, others: tuple[Term, ...]) -> Term:
        """One term with the groups of this one and of others of its kind, in order.

        It is kept, so that two stacks over the same terms share it, and ask it once.
        """
        if not others:
            return self
        if others not in self.unions:
            self.unions[others] = self._union([self, *others])
        return self.unions[others]

    @abstractmethod
    def _union(self, every: Sequence[Term]) -> Term: ...


@dataclass(eq=False)
class TableTerm(Term):
    """Scatters as packed tables: they answer in O(I^2), whatever the number of samples.

    Parameters
    ----------
    shape : tuple of K ints
        The shape (I_1, ..., I_K) of a sample.
    tables : tuple of G ndarrays of shape (L_1, ..., L_K)
        One packed table per group; of vectors the scatter (I, I) itself.
    """

    shape: tuple[int, ...]
    tables: tuple[Array, ...]

    def __post_init__(self) -> None:
        self.n_groups = len(self.tables)

    def tabulated(self) -> TableTerm:
        """Itself."""
        return self

    def _union(self, every: Sequence[Term]) -> Term:
        own = [term.tables for term in every if isinstance(term, TableTerm)]
        return TableTerm(self.shape, tuple(table for tables in own for table in tables))

    def along(self, mode: int, factors: Factors, groups: Array, products: Products) -> Array:
        """Mode-k scatters of M models: each table contracted with the projectors W W^T."""
        size = self.shape[mode]
        packed = {q: pack_projectors(W) for q, W in enumerate(factors) if q != mode}
        if not packed and len(set(groups.tolist())) == 1:  # vectors: one answer for all models
            return np.broadcast_to(self.tables[groups[0]], (len(groups), size, size))
        if not packed:
            return np.stack([self.tables[group] for group in groups])
        # The first contraction takes all the time; along the largest mode it leaves the least.
        largest = max(packed, key=lambda q: self.shape[q])
        left_bytes = self.tables[0].nbytes // self.tables[0].shape[largest]
        keeps = len(self.shape) > 2 and self.n_groups == 1
        result = np.empty((len(groups), size * (size + 1) // 2))
        for group in sorted(set(groups.tolist())):
            models = np.flatnonzero(groups == group)
            for block in row_blocks(len(models), left_bytes):
                chosen = models[block]
                own = {q: projectors[chosen] for q, projectors in packed.items()}
                place = (self, int(chosen[0]), largest)
                known = products.get(place)
                left = None
                if known is not None and np.array_equal(known[0], own[largest]):
                    left = known[1]
                left, result[chosen] = contract_table(self.tables[group], own, largest, left)
                if keeps:
                    products[place] = (own[largest], left)
        return unpack(result, size)


@dataclass(eq=False)
class SampleTerm(Term):
    """Scatters of samples about centres: they answer by products, and no I x I matrix is made.

    Parameters
    ----------
    X : array of shape (n, I_1, ..., I_K)
        The samples.
    centres : ndarray of shape (m, I_1, ..., I_K)
        The points that deviations are taken from.
    centre_of : ndarray of shape (n,)
        Which of the centres each sample is measured from.
    members : list of G index arrays
        The samples of each group.
    weights : ndarray of shape (n,) or None
        Sample weights, 1 if None.
    """

    X: Array
    centres: Array
    centre_of: Array
    members: list[Array]
    weights: Array | None = None

    def __post_init__(self) -> None:
        self.shape = self.centres.shape[1:]
        self.n_groups = len(self.members)

    def _union(self, every: Sequence[Term]) -> Term:
        """The groups of all over the same samples, or over the deviations of all."""
        own = [term for term in every if isinstance(term, SampleTerm)]
        members = [rows for term in own for rows in term.members]
        if all(term.X is self.X and term.centres is self.centres for term in own):
            return SampleTerm(self.X, self.centres, self.centre_of, members, self.weights)
        blocks = [Z for term in own for g in range(term.n_groups) for Z in term.deviations(g)]
        columns = np.concatenate([np.empty((0, *self.shape)), *blocks])
        ends = np.cumsum([len(rows) for rows in members])
        rows = np.split(np.arange(len(columns)), ends[:-1])
        nowhere = np.zeros(len(columns), dtype=np.intp)
        return SampleTerm(columns, np.zeros((1, *self.shape)), nowhere, rows)

    def tabulated(self) -> TableTerm:
        """The same as a packed table of every group."""
        groups = range(self.n_groups)
        tables = tuple(packed_gram(self.deviations(g), self.shape) for g in groups)
        return TableTerm(self.shape, tables)

    def deviations(self, group: int) -> Iterator[Array]:
        """Blocks of sqrt(w_j) (x_j - c_j) of one group, in float64."""
        members = self.members[group]
        for block in row_blocks(len(members), 8 * prod(self.shape)):
            rows = as_slice(members[block])  # a view where they follow each other: no copy but Z
            one = len(self.centres) == 1
            Z = np.asarray(
                self.X[rows] - (self.centres if one else self.centres[self.centre_of[rows]])
            )
            if self.weights is not None:
                Z *= np.sqrt(self.weights[rows]).reshape(-1, *[1] * (Z.ndim - 1))
            yield Z

    @cached_property
    def mode_first(self) -> list[Array] | None:
        """Deviations of all groups, padded with zeros to one size, with each mode first.

        None if they are too many to be kept. Every round asks for them again, and for few models
        making them anew takes longer than the products; so does a loop over groups.
        """
        longest = max(map(len, self.members))
        if not 0 < 8 * self.n_groups * longest * prod(self.shape) <= KEPT_BYTES:
            return None
        padded = np.zeros((self.n_groups, longest, *self.shape))
        for group, rows in enumerate(padded):
            start = 0
            for Z in self.deviations(group):
                rows[start : start + len(Z)] = Z
                start += len(Z)
        axes = range(2, padded.ndim)
        return [np.ascontiguousarray(np.moveaxis(padded, axis, 1)) for axis in axes]

    def along(self, mode: int, factors: Factors, groups: Array, products: Products) -> Array:
        """Mode-k scatters of M models: deviations projected, then multiplied with themselves."""
        kept = None if self.mode_first is None else self.mode_first[mode]
        few_models_each = len(groups) < 8 or len(groups) < 8 * len(np.unique(groups))
        if kept is not None and len(kept) > 1 and few_models_each:
            in_order = bool((np.diff(groups) == 1).all())  # a view, then
            return mode_scatters(kept[as_slice(groups) if in_order else groups], mode, factors)
        size = self.shape[mode]
        result = np.zeros((len(groups), size, size))
        for group in sorted(set(groups.tolist())):
            models = np.flatnonzero(groups == group)
            anew = (np.moveaxis(Z[None], mode + 2, 1) for Z in self.deviations(group))
            for turned in anew if kept is None else [kept[group : group + 1]]:
                Y = np.ascontiguousarray(turned)
                widths = [W.shape[2] / W.shape[1] for q, W in enumerate(factors) if q != mode]
                bytes_per_model = int(Y.nbytes * max([1, *widths]))
                for block in row_blocks(len(models), bytes_per_model, STACK_BYTES):
                    own = [W if q == mode else W[models[block]] for q, W in enumerate(factors)]
                    result[models[block]] += mode_scatters(Y, mode, own)
        return result


class LabelledSource(NamedTuple):
    """The samples of a source with their labels and weights, as it takes them."""

    source: Source
    y: Array | None
    weights: Array | None
    classes: Array  # (C,), all labels, sorted


@dataclass(eq=False)
class PassTerm(Term):
    """Scatters of groups of classes, answered by a pass over the samples of a source.

    Parameters
    ----------
    samples : LabelledSource
        What is read. Terms over the same samples are answered by the same pass.
    centres : ndarray of shape (m, I_1, ..., I_K)
        The points that deviations are taken from.
    centre_of : ndarray of shape (C,)
        Which of the centres the samples of each class are measured from.
    members : list of G index arrays
        The classes of each group.
    """

    samples: LabelledSource
    centres: Array
    centre_of: Array
    members: list[Array]

    def __post_init__(self) -> None:
        self.shape = self.centres.shape[1:]
        self.n_groups = len(self.members)
        # Answers about samples that no mode projects yet: the same for every model, and asked for
        # by the choice of ranks, by the first mode and by methods that do not alternate.
        self._unprojected: dict[int, Array] = {}

    def tabulated(self) -> TableTerm:
        """Not to be had: samples are read in passes where tables do not fit into memory."""
        raise NotImplementedError

    def _union(self, every: Sequence[Term]) -> Term:
        own = [term.members for term in every if isinstance(term, PassTerm)]
        members = [classes for groups in own for classes in groups]
        return PassTerm(self.samples, self.centres, self.centre_of, members)

    def along(self, mode: int, factors: Factors, groups: Array, products: Products) -> Array:
        """Mode-k scatters of M models, of shape (M, I_k, I_k)."""
        return self.along_together([(self, groups)], mode, factors)[0]

    def along_together(
        self, questions: Sequence[tuple[PassTerm, Array]], mode: int, factors: Factors
    ) -> list[Array]:
        """The answers of several terms over the same samples, with their groups, in one pass."""
        whole = all(is_identity(W) for q, W in enumerate(factors) if q != mode)
        if whole and len(questions) == 1 and mode in self._unprojected:
            return [np.repeat(self._unprojected[mode], len(factors[0]), axis=0)]
        work = partial(
            mode_scatters_of_block,
            classes=self.samples.classes,
            questions=[(t.centres, t.centre_of, t.members, groups) for t, groups in questions],
            mode=mode,
            factors=[np.asarray(W) for W in factors],
        )
        answers = list(self.samples.source.total(work, self.samples.y, self.samples.weights))
        if whole and len(questions) == self.n_groups == 1:
            self._unprojected[mode] = answers[0][:1]
        return answers


def mode_scatters_of_block(
    X: Array,
    y: Array | None,
    weight: Array | None,
    *,
    classes: Array,
    questions: list[tuple[Array, Array, list[Array], Array]],
    mode: int,
    factors: Factors,
) -> Array:
    """What one block adds to the mode scatters of several terms, of shape (terms, M, I_k, I_k)."""
    codes = codes_of(X, y, classes)
    used = np.ones(len(X), dtype=bool) if weight is None else weight > 0
    answers = []
    for centres, centre_of, members, groups in questions:
        rows = [np.flatnonzero(used & np.isin(codes, chosen)) for chosen in members]
        term = SampleTerm(X, centres, centre_of[codes], rows, weight)
        answers.append(term.along(mode, factors, groups, Products()))
    return np.stack(answers)


def codes_of(X: Array | Source, y: Array | None, classes: Array) -> Array:
    """The position of each sample's label among the classes.

    A label that is not among them belongs to a sample of weight 0, whose position is not used.
    """
    if y is None:
        return np.zeros(len(X), dtype=np.intp)
    return np.minimum(np.searchsorted(classes, y), len(classes) - 1)
