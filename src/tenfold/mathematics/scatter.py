"""Scatters of tensor samples: values that can be added and asked for along one mode.

A scatter is ``A = sum_j w_j (x_j - c_j)(x_j - c_j)^T`` over vectorised samples. The alternating
methods never need A itself, only its mode-k scatters under the projections of the other modes,

    S^k = sum_j w_j [(X_j - C_j) x_{q != k} W_q^T]_(k) [...]_(k)^T            (eqs 10, 11, 17, 18)

A `Scatter` is a linear combination of *terms*. Two kinds of term answer from memory: `TableTerm`
holds A, `SampleTerm` holds the samples. Both take a *stack* of M models at once: ``factors[q]`` has
shape (M, I_q, r_q), and columns of zeros pad models of lower rank. A term holds one scatter for
each of its *groups*, such as the classes; ``groups`` says which of them each model asks for.

A mode scatter depends on the other modes only through the symmetric ``P_q = W_q W_q^T``, and is
symmetric itself. So of a scatter, seen as I_1 x ... x I_K x I_1 x ... x I_K, only the part that is
symmetric in every pair of modes matters: a packed table of L_k = I_k (I_k + 1) / 2 numbers per
mode, 1 / 2^K of the scatter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from math import prod
from typing import Any, Protocol, Self

import numpy as np

from tenfold.mathematics.accumulate import add_gram, as_slice, row_blocks
from tenfold.mathematics.algebra import Array
from tenfold.mathematics.tuning import KEPT_BYTES, KEPT_PRODUCTS, STACK_BYTES, WHOLE_TABLE

Factors = Sequence[Array]  # one (M, I_q, r_q) stack per mode
Question = tuple[int, bytes]  # the id of a term, and the groups that models ask it for


class Term(Protocol):
    """One scatter per group, asked for along a mode."""

    @property
    def by_group(self) -> bool:
        """Whether many models of one group cost less than as many of several groups."""
        ...

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        ...

    def along(self, mode: int, factors: Factors, groups: Array) -> Array:
        """Mode-k scatters of M models, of shape (M, I_k, I_k)."""
        ...

    def joined(self, others: Sequence[Any]) -> Self:
        """One term with the groups of this one and of others of its kind, in order."""
        ...


def is_shared(term: Any) -> bool:
    """Whether a term can be asked together with others over the same samples, in one pass."""
    return hasattr(term, "along_together")


@dataclass(frozen=True, eq=False)
class Scatter:
    """A linear combination of terms; a coefficient is a number, or one per model, of shape (M,).

    Parameters
    ----------
    terms : tuple of (coefficient, Term)
        What is added up.
    groups : tuple of ndarrays of shape (M,), one per term
        The group of each model in each term. A stack of one model serves all.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.mathematics.scatter import Scatter, TableTerm, along_mode
    >>> term = TableTerm.from_matrices(np.eye(4)[None], (2, 2))
    >>> twice = Scatter.of(term) + Scatter.of(term)
    >>> along_mode([twice], 0, [np.eye(2)[None], np.eye(2)[None]])[0][0]
    array([[4., 0.],
           [0., 4.]])
    """

    terms: tuple[tuple[Any, Term], ...]
    groups: tuple[Array, ...]

    @classmethod
    def of(cls, term: Term) -> Scatter:
        """The scatter of the first group of a term."""
        return cls(((1.0, term),), (np.zeros(1, dtype=np.intp),))

    def __len__(self) -> int:
        """Number of models."""
        return len(self.groups[0])

    def __add__(self, other: Scatter) -> Scatter:
        return Scatter(self.terms + other.terms, self.groups + other.groups)

    def __sub__(self, other: Scatter) -> Scatter:
        return self + other * -1.0

    def __mul__(self, factor: Any) -> Scatter:
        return replace(self, terms=tuple((factor * c, term) for c, term in self.terms))

    def of_models(self, models: Array) -> Scatter:
        """The scatters of some of the models."""
        terms = tuple((c[models] if np.ndim(c) else c, term) for c, term in self.terms)
        return Scatter(terms, tuple(groups[models] for groups in self.groups))

    @classmethod
    def stacked(cls, scatters: Sequence[Scatter], joined: dict[Any, Term]) -> Scatter:
        """The models of several scatters with terms of the same kinds, in order.

        A term that several of them share is asked once for all of its models. Last terms that
        only some of them have count as zero in the others. Joined terms are kept in `joined`, so
        that two stacks over the same terms share them, and ask them once.
        """
        longest = max((scatter.terms for scatter in scatters), key=len)
        columns = zip(*(scatter._lengthened(longest) for scatter in scatters), strict=True)
        terms, groups = [], []
        for column in columns:
            different = {id(term): term for _, term, _ in column}
            first, *others = different.values()
            starts = np.cumsum([0, *(term.n_groups for term in different.values())])
            start = dict(zip(different, starts, strict=False))
            groups.append(np.concatenate([own + start[id(term)] for _, term, own in column]))
            each = np.concatenate([np.broadcast_to(c, own.shape) for c, _, own in column])
            if (key := tuple(different)) not in joined:
                joined[key] = first.joined(others)
            terms.append((each if (each != each[0]).any() else float(each[0]), joined[key]))
        return cls(tuple(terms), tuple(groups))

    def questions(self) -> list[tuple[Any, Term, Array, Question]]:
        """(coefficient, term, groups) of every term, and what tells its answer from others."""
        return [
            (c, term, groups, (id(term), groups.tobytes()))
            for (c, term), groups in zip(self.terms, self.groups, strict=True)
        ]

    def combined(self, answers: dict[Question, Array]) -> Array:
        """The sum of what its terms answered, (M, I_k, I_k); see `answers_along`."""
        questions = self.questions()
        total = np.zeros_like(answers[questions[0][3]])
        for coefficient, _, _, question in questions:
            answer = answers[question]
            is_one = np.ndim(coefficient) == 0 and coefficient == 1
            total += answer if is_one else np.reshape(coefficient, (-1, 1, 1)) * answer
        return total

    def traces(self, answers: dict[Question, Array]) -> Array:
        """The traces of the same sum, (M,)."""
        each = (c * np.trace(answers[q], axis1=1, axis2=2) for c, _, _, q in self.questions())
        return np.asarray(sum(each))

    def _lengthened(self, terms: tuple[tuple[Any, Term], ...]) -> list[tuple[Any, Term, Array]]:
        """(coefficient, term, groups) of every term, and zero times those that only others have."""
        own = [(*term, groups) for term, groups in zip(self.terms, self.groups, strict=True)]
        first = np.zeros(len(self), dtype=np.intp)
        return own + [(0.0, term, first) for _, term in terms[len(own) :]]


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
    answers = answers_along(scatters, mode, factors)
    return [scatter.combined(answers) for scatter in scatters]


def answers_along(
    scatters: Sequence[Scatter], mode: int, factors: Factors
) -> dict[Question, Array]:
    """What each term answers; terms that share their samples are asked in one pass."""
    n_models = len(factors[0])
    asked: dict[Question, tuple[Any, Array]] = {
        question: (term, np.broadcast_to(groups, (n_models,)))
        for scatter in scatters
        for _, term, groups, question in scatter.questions()
    }
    answers: dict[Question, Array] = {}
    for key, (term, groups) in asked.items():
        if key in answers:
            continue
        if not is_shared(term):
            answers[key] = term.along(mode, factors, groups)
            continue
        together = {
            k: own for k, own in asked.items() if getattr(own[0], "samples", None) is term.samples
        }
        found = term.along_together(list(together.values()), mode, factors)
        answers |= zip(together, found, strict=True)
    return answers


@dataclass(frozen=True, eq=False)
class SampleTerm:
    """Scatters answered by going through the samples in blocks: no I x I matrix is ever made.

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
    """

    X: Array
    centres: Array
    centre_of: Array
    members: list[Array]
    weights: Array | None = None
    _turned: dict[int, Array] = field(default_factory=dict, init=False)  # by mode

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.members)

    @property
    def by_group(self) -> bool:
        """Whether deviations of several groups are made anew whenever they are asked."""
        return len(self.members) > 1 and not self._can_be_kept

    def joined(self, others: Sequence[SampleTerm]) -> SampleTerm:
        """One term with the groups of this one and of others, in order."""
        if not others:
            return self
        every = [self, *others]
        members = [rows for term in every for rows in term.members]
        if all(term.X is self.X and term.centres is self.centres for term in others):
            return replace(self, members=members)
        columns = np.concatenate([t._about_centres(rows) for t in every for rows in t.members])
        ends = np.cumsum([len(rows) for rows in members])
        return SampleTerm(
            columns,
            np.zeros((1, *columns.shape[1:])),
            np.zeros(len(columns), dtype=np.intp),
            np.split(np.arange(len(columns)), ends[:-1]),
        )

    def along(self, mode: int, factors: Factors, groups: Array) -> Array:
        """Mode-k scatters of M models, of shape (M, I_k, I_k)."""
        kept = self._kept(mode)
        few_models_each = len(groups) < 8 or len(groups) < 8 * len(np.unique(groups))
        if kept is not None and len(kept) > 1 and few_models_each:
            in_order = bool((np.diff(groups) == 1).all())  # a view, then
            return mode_scatters(kept[as_slice(groups) if in_order else groups], mode, factors)
        size = self.centres.shape[mode + 1]
        result = np.zeros((len(groups), size, size))
        for group, models in models_of_groups(groups, len(self.members)):
            anew = (turned(Z[None], mode) for Z in self.deviations(group))
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
            self._turned[mode] = turned(self._side_by_side, mode)
        return self._turned[mode]

    @cached_property
    def _side_by_side(self) -> Array:
        if len(self.members) == 1:
            return self._about_centres(self.members[0])[None]
        largest = max(map(len, self.members))
        padded = np.zeros((len(self.members), largest, *self.centres.shape[1:]))
        for group, rows in zip(padded, self.members, strict=True):
            group[: len(rows)] = self._about_centres(rows)
        return padded

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


def turned(Z: Array, mode: int) -> Array:
    """Tensors (M, n, I_1, ..., I_K) with mode k first, (M, I_k, n, the other modes...)."""
    return np.ascontiguousarray(np.moveaxis(Z, mode + 2, 1))


def mode_scatters(Y: Array, mode: int, factors: Factors) -> Array:
    """``sum_j Y_j Y_j^T`` of M models, with Y_j = [Z_j x_{q != k} W_q^T]_(k).

    Parameters
    ----------
    Y : ndarray of shape (M, I_k, n, ...) or (1, I_k, n, ...)
        The tensors of each model, or those that all share, as `turned` gives them.
    mode : int
        The mode k.
    factors : sequence of K ndarrays of shape (M, I_q, r_q)
        Projections of the models; those of mode k are not used.

    Returns
    -------
    ndarray of shape (M, I_k, I_k)
        The scatters; (1, I_k, I_k) when nothing sets the models apart.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.mathematics.scatter import mode_scatters, turned
    >>> Y = turned(np.ones((1, 5, 2, 3)), mode=0)
    >>> mode_scatters(Y, 0, [np.ones((4, 2, 1)), np.ones((4, 3, 1))])[0]
    array([[45., 45.],
           [45., 45.]])
    """
    others = [W for q, W in enumerate(factors) if q != mode]
    for q in sorted(range(len(others)), key=lambda q: others[q].shape[2] / others[q].shape[1]):
        if not is_identity(others[q]):  # the first round sees modes that are not yet projected
            Y = _stacked_mode_product(Y, others[q], axis=q + 3)
    Y = Y.reshape(len(Y), Y.shape[1], -1)
    return np.asarray(Y @ Y.swapaxes(1, 2))


def is_identity(W: Array) -> bool:
    """Whether a stack (M, I_q, r_q) leaves its mode as it is."""
    return W.shape[1] == W.shape[2] and bool((np.eye(W.shape[1]) == W).all())


def _stacked_mode_product(Y: Array, W: Array, axis: int) -> Array:
    """Multiply `axis` of Y (M or 1, ...) by each model's W^T, W of shape (M, I_q, r_q)."""
    inner = prod(Y.shape[axis + 1 :])
    flat = Y.reshape(len(Y), -1, Y.shape[axis], inner)
    if inner == 1:
        product = flat.reshape(len(Y), -1, Y.shape[axis]) @ W
    else:
        product = W.swapaxes(1, 2)[:, None] @ flat
    return product.reshape(len(W), *Y.shape[1:axis], W.shape[2], *Y.shape[axis + 1 :])


def models_of_groups(groups: Array, n_groups: int) -> Iterator[tuple[int, Array]]:
    """(group, positions of its models); with a single group every model belongs to it."""
    if n_groups == 1:
        yield 0, np.arange(len(groups))
        return
    for group in np.unique(groups):
        yield int(group), np.flatnonzero(groups == group)


# ── Packed tables ─────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, eq=False)
class TableTerm:
    """Scatters held as packed tables: a question costs O(I^2), whatever the number of samples.

    Parameters
    ----------
    tables : tuple of G ndarrays of shape (L_1, ..., L_K)
        One packed table per group.
    shape : tuple of K ints
        The shape (I_1, ..., I_K) of a sample.
    """

    tables: tuple[Array, ...]
    shape: tuple[int, ...]
    _halfway: dict[Any, Array] = field(default_factory=dict, init=False)  # see `_first_product`

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.tables)

    @property
    def by_group(self) -> bool:
        """Whether there are several tables: each is read once for all models of its group."""
        return len(self.tables) > 1

    @classmethod
    def from_matrices(cls, matrices: Array, shape: tuple[int, ...]) -> TableTerm:
        """Pack symmetric matrices of shape (G, I, I)."""
        return cls(tuple(pack_table(matrix, shape) for matrix in matrices), shape)

    def joined(self, others: Sequence[TableTerm]) -> TableTerm:
        """One term with the groups of this one and of others, in order."""
        more = (table for other in others for table in other.tables)
        return replace(self, tables=(*self.tables, *more)) if others else self

    def along(self, mode: int, factors: Factors, groups: Array) -> Array:
        """Mode-k scatters of M models, of shape (M, I_k, I_k)."""
        packed = {q: pack_projectors(W) for q, W in enumerate(factors) if q != mode}
        size = self.shape[mode]
        if not packed and self.n_groups == 1:  # one answer for all models
            return np.broadcast_to(unpack(self.tables[0][None], size), (len(groups), size, size))
        result = np.empty((len(groups), size * (size + 1) // 2))
        largest = max(packed, key=lambda q: self.shape[q], default=mode)
        kept = self.tables[0].size // (self.tables[0].shape[largest] if packed else 1)
        for group, models in models_of_groups(groups, len(self.tables)):
            for block in row_blocks(len(models), 8 * kept):
                chosen = models[block]
                chunk = {q: p[chosen] for q, p in packed.items()}
                result[chosen] = self._contracted(group, chunk, largest)
        return unpack(result, size)

    def _contracted(self, group: int, packed: dict[int, Array], first: int) -> Array:
        """Contract a table with every packed projector, `first` first; (M, L_k) is left."""
        table = self.tables[group]
        if not packed:
            return table[None]
        if table.ndim == 2:
            return packed[first] @ (table.T if first else table)
        return contracted(self._first_product(group, packed[first], first), packed, first)

    def _first_product(self, group: int, projectors: Array, first: int) -> Array:
        """A table with one mode contracted, (M, the other modes...), which takes all the time.

        The next mode that is asked for needs the same one if `first` did not change meanwhile,
        which is so for one question of two or three. So the last ones are kept.
        """
        key = (group, first, projectors.tobytes())
        left = self._halfway.get(key)
        if left is None:
            if len(self._halfway) >= KEPT_PRODUCTS:
                self._halfway.clear()
            left = first_contracted(self.tables[group], projectors, first)
            self._halfway[key] = left
        return left


@lru_cache(maxsize=64)
def _pairs(size: int) -> tuple[Array, Array, Array]:
    """Flat positions of the upper triangle, their contraction weights, and the way back."""
    rows, columns = np.triu_indices(size)
    position = np.empty((size, size), dtype=np.intp)
    position[rows, columns] = position[columns, rows] = np.arange(len(rows))
    return rows * size + columns, np.where(rows == columns, 1.0, 2.0), position.ravel()


def pack_table(matrix: Array, shape: tuple[int, ...]) -> Array:
    """The part of an (I, I) scatter that mode scatters depend on, of shape (L_1, ..., L_K).

    Entry ((i, i'), (j, j'), ...) is the mean over exchanging the two indices of each mode. The
    first mode needs none, since the scatter is symmetric. Only its upper triangle is read.
    """
    first, rest = shape[0], shape[1:]
    rows, columns = np.triu_indices(first)
    blocks = matrix.reshape(first, prod(rest), first, prod(rest))
    table = blocks[rows, :, columns, :]  # (L_1, I / I_1, I / I_1)
    on_diagonal = np.flatnonzero(rows == columns)
    corner = table[on_diagonal]
    table[on_diagonal] = np.triu(corner) + np.triu(corner, 1).mT
    table = table.reshape(-1, *rest, *rest)
    for k in range(len(rest) - 1, -1, -1):  # axes: L_1, modes up to k, the same again, packed modes
        last = np.moveaxis(table, (k + 1, 2 * k + 2), (-2, -1))
        mean = (last + last.mT).reshape(*last.shape[:-2], -1)
        packed = np.take(mean, _pairs(rest[k])[0], axis=-1)
        packed /= 2
        table = np.moveaxis(packed, -1, 2 * k + 1)
    return np.ascontiguousarray(table)


def packed_gram(blocks: Iterable[Array], shape: tuple[int, ...]) -> Array:
    """The packed table of ``sum_j z_j z_j^T``, from blocks of deviations (n, I_1, ..., I_K).

    An I x I matrix is made first where that is small. Otherwise the slices Z_l (n, I / I_k) along
    the smallest mode k are multiplied in pairs, in half of the flops: what a packed table holds
    of two of them is ``Z_l^T Z_m + Z_m^T Z_l``, the symmetric product of their sum less those of
    each. Slices are brought to one length first, so that this costs no digits.

    Parameters
    ----------
    blocks : iterable of ndarrays of shape (n, I_1, ..., I_K)
        Deviations from a centre.
    shape : tuple of K ints
        The shape of a sample.

    Returns
    -------
    ndarray of shape (L_1, ..., L_K)
        The packed table.
    """
    size = prod(shape)
    if len(shape) == 1 or size <= WHOLE_TABLE:
        matrix = np.zeros((size, size))
        for Z in blocks:
            add_gram(matrix, Z.reshape(len(Z), -1))
        return pack_table(matrix, shape)
    mode = int(np.argmin(shape))
    others = shape[:mode] + shape[mode + 1 :]
    pairs = list(zip(*np.triu_indices(shape[mode]), strict=True))
    table = np.zeros((len(pairs), *(n * (n + 1) // 2 for n in others)))
    for Z in blocks:
        slices = np.ascontiguousarray(np.moveaxis(Z, mode + 1, 0)).reshape(shape[mode], len(Z), -1)
        lengths = np.sqrt(np.vecdot(*2 * (slices.reshape(len(slices), -1),)))
        lengths = np.where(lengths > 0, lengths, 1.0)
        slices /= lengths[:, None, None]
        own = [_packed_square(Z_l, others) for Z_l in slices]
        for entry, (first, second) in zip(table, pairs, strict=True):
            both = own[first]
            if first != second:
                both = _packed_square(slices[first] + slices[second], others)
                both = (both - own[first] - own[second]) / 2
            entry += lengths[first] * lengths[second] * both
    return np.ascontiguousarray(np.moveaxis(table, 0, mode))


def _packed_square(rows: Array, shape: tuple[int, ...]) -> Array:
    matrix = np.zeros((rows.shape[1], rows.shape[1]))
    add_gram(matrix, rows)
    return pack_table(matrix, shape)


def pack_projectors(W: Array) -> Array:
    """``P = W W^T`` of a stack (M, I_q, r_q), packed for contraction: (M, L_q)."""
    flat, weights, _ = _pairs(W.shape[1])
    P = (W @ W.swapaxes(1, 2)).reshape(len(W), -1)
    return np.take(P, flat, axis=1) * weights


def first_contracted(table: Array, projectors: Array, mode: int) -> Array:
    """A table (L_1, ..., L_K) contracted along one mode with projectors (M, L_k): (M, L...)."""
    before, after = table.shape[:mode], table.shape[mode + 1 :]
    if not after:
        return (projectors @ table.reshape(-1, table.shape[mode]).T).reshape(-1, *before)
    left = projectors @ table.reshape(prod(before), table.shape[mode], -1)
    return left.swapaxes(0, 1).reshape(-1, *before, *after)


def contracted(left: Array, packed: dict[int, Array], first: int) -> Array:
    """A table (M, L...) whose mode `first` is contracted already, with the others: (M, L_k)."""
    axes = [q for q in range(left.ndim) if q != first]
    for q, P in packed.items():
        if q != first:
            columns = P.reshape(len(P), *[1] * (left.ndim - 3), -1, 1)
            left = (np.moveaxis(left, axes.index(q) + 1, -1) @ columns)[..., 0]
            axes.remove(q)
    return left


def unpack(packed: Array, size: int) -> Array:
    """Symmetric matrices (M, I_k, I_k) from their packed form (M, L_k)."""
    return np.take(packed, _pairs(size)[2], axis=1).reshape(len(packed), size, size)
