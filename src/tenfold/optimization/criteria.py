"""What the methods ask for: the pair of scatters of each, as a problem that can be solved.

Every method of this library keeps one scatter large and another one small. Here are the pairs, and
what follows from the same scatters: the shrinkage of a class, the spread of a class in its
subspace, and patterns, which say what a filter finds beside how it finds it. A `Problem` holds the
pairs of a stack of models, with the ranks and the ridge of each.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eigvalsh, solve_triangular

from tenfold.linalg.algebra import Array, project
from tenfold.linalg.bases import Span
from tenfold.statistics.class_statistics import ClassStatistics, MomentStatistics
from tenfold.statistics.sample_statistics import PassStatistics, SampleStatistics
from tenfold.statistics.scatters import (
    Factors,
    Products,
    SampleTerm,
    Scatter,
    along_mode,
    codes_of,
)
from tenfold.statistics.subspace import projected_moments

SCATTERS = ("maximise", "minimise", "unit")  # what a problem has of each model
NUMBERS = ("ranks", "ridge", "absolute", "balance")
LEAST_NOISE = 1e-12  # of the scatter of means: what noise is taken to be where there is none
OTHER_SAMPLES = 0.05  # of the scatter of other samples, beside that of their means


class Pair(NamedTuple):
    """The two scatters of M models along one mode, as the other projections see them."""

    keep: Array  # (M, I_k, I_k)
    suppress: Array  # (M, I_k, I_k), without its ridge; the first once more if that alone counts
    ridge: Array  # (M, I_k), what is added to the diagonal of the second


@dataclass(frozen=True, eq=False)
class Problem:
    """What M models maximise and minimise, and how many directions each may keep.

    Parameters
    ----------
    shape : tuple of K ints
        The shape (I_1, ..., I_K) of a sample.
    basis : Span or None
        The basis in which samples of one mode are given, if it was changed.
    maximise : Scatter
        The scatter to keep.
    minimise : Scatter or None
        The scatter to suppress; None when only the first counts.
    unit : Scatter or None
        The scatter whose mean eigenvalue, times `balance`, is the unit of a relative ridge, such as
        that of all samples about their mean. None means the sum of both.
    ranks : ndarray of shape (M, K)
        The rank of each mode for each model.
    ridge : ndarray of shape (M,)
        Added to the diagonal of the minimised scatter of every mode.
    absolute : ndarray of shape (M,)
        Whether that is the paper's absolute lambda. Otherwise it is relative to `unit`.
    balance : ndarray of shape (M,)
        How many samples `minimise` sums over for each one that `unit` sums over, so that a
        relative ridge means the same whatever the sizes of the classes are.
    size : float
        The trace of the scatter of all samples about their mean.
    column_units : ndarray of shape (I,) or None
        The share of the ridge that each column of vectors gets, 1 on average; None for all alike.
    whole_start : bool
        Whether a start from columns of ones would lose directions: the first solutions then see
        the samples as they are.
    """

    shape: tuple[int, ...]
    basis: Span | None
    maximise: Scatter
    minimise: Scatter | None
    unit: Scatter | None
    ranks: Array
    ridge: Array
    absolute: Array
    balance: Array
    size: float
    column_units: Array | None = None
    whole_start: bool = False

    @classmethod
    def of(
        cls,
        statistics: ClassStatistics,
        maximise: Scatter,
        minimise: Scatter | None,
        *,
        ranks: Sequence[int],
        ridge: tuple[float, bool] = (0.0, False),
        unit: Scatter | None = None,
        balance: float = 1.0,
        column_units: Array | None = None,
        whole_start: bool = False,
    ) -> Problem:
        """The problem of one model; the ridge comes with whether it is absolute."""
        return cls(
            statistics.shape,
            statistics.basis,
            maximise,
            minimise,
            unit,
            np.minimum(ranks, statistics.shape)[None],
            np.array([ridge[0]]),
            np.array([ridge[1]]),
            np.array([balance]),
            statistics.between_squares + float(statistics.traces.sum()),
            column_units,
            whole_start,
        )

    def __len__(self) -> int:
        """Number of models."""
        return len(self.ranks)

    @classmethod
    def stacked(cls, problems: Sequence[Problem]) -> Problem:
        """The models of several problems over the same statistics, in order."""
        if len(problems) == 1:
            return problems[0]
        found: dict[str, Any] = {}
        for name in SCATTERS:
            each = [getattr(p, name) for p in problems if getattr(p, name) is not None]
            found[name] = Scatter.stacked(each) if each else None
        for name in NUMBERS:
            found[name] = np.concatenate([getattr(p, name) for p in problems])
        return replace(problems[0], **found)

    def select_models(self, models: Array) -> Problem:
        """The problem of some of the models."""
        own: dict[str, Any] = {name: getattr(self, name) for name in SCATTERS + NUMBERS}
        own = {name: each if each is None else each[models] for name, each in own.items()}
        return replace(self, **own)

    def pair(self, mode: int, factors: Factors, products: Products | None = None) -> Pair:
        """Both scatters along a mode, and the ridge of the second one, which is never quite zero.

        `factors` are the projections of all modes; that of this mode is not used. `products` keeps
        what the next mode can use again.
        """
        n = self.shape[mode]
        if self.minimise is None:
            (A,) = along_mode([self.maximise], mode, factors, products)
            return Pair(A, A, np.zeros((len(A), n)))
        if self.unit is None or self.absolute.all():
            A, B = along_mode([self.maximise, self.minimise], mode, factors, products)
            sizes = np.trace(A, axis1=1, axis2=2) + np.trace(B, axis1=1, axis2=2)
        else:
            asked = [self.maximise, self.minimise, self.unit]
            A, B, unit = along_mode(asked, mode, factors, products)
            sizes = np.trace(unit, axis1=1, axis2=2)
        ridge = self.ridges(sizes, mode)
        least = np.finfo(float).eps * np.trace(B, axis1=1, axis2=2)
        units = np.ones(n) if self.column_units is None else self.column_units
        return Pair(A, B, np.maximum(ridge, least)[:, None] * units)

    def objective(self, W: Array, pair: Pair) -> tuple[Array, Array, Array]:
        """How much scatter projections W keep, and the objective of each model.

        Returns the kept scatter by column, (M, r), the suppressed scatter without its ridge, (M,),
        and the objective, (M,): kept over suppressed with its ridge, or kept alone if nothing is
        suppressed.
        """
        kept = np.einsum("mir,mir->mr", W, pair.keep @ W)
        if self.minimise is None:
            return kept, kept.sum(axis=1), kept.sum(axis=1)
        suppressed = np.einsum("mir,mir->m", W, pair.suppress @ W)
        lost = suppressed + np.einsum("mi,mir->m", pair.ridge, W**2)
        return kept, suppressed, kept.sum(axis=1) / lost

    def ridges(self, sizes: Array, mode: int = 0) -> Array:
        """The ridge of each model along a mode, where its unit has traces (M,) of this size."""
        full_size = self.shape[mode] if self.basis is None else self.basis.full_size
        unit = self.balance * sizes / full_size
        floor = np.finfo(float).eps * sizes
        floor = np.where(floor > 0, floor, 1.0)  # no scatter at all: every direction is as good
        return np.maximum(np.where(self.absolute, self.ridge, self.ridge * unit), floor)


# ── The pairs ───────────────────────────────────────────────────────────────────────────────────


def class_specific(
    statistics: ClassStatistics,
    positive: int,
    shrinkages: Array | float,
    *,
    negatives: str = "samples",
    shift: float = 0.0,
    **settings: Any,
) -> Problem:
    """The problem of one class: other samples far from its mean M_p, its own samples near to it.

    `outside` is the scatter to maximise (S_O, eq. 17) and `inside` the one to minimise (S_I,
    eq. 18), before the choices below.

    With ``negatives="means"`` the mean of each other class stands for its samples. With "both" a
    twentieth of the scatter of other samples about their class means is added.

    With shrinkages s of each class the scatter to suppress is ``(1 - s_p) S_I + s_p (share S_w +
    ridge I / mean(s))``, where share is n_p / N. The ridge is a part of what is shrunk towards, so
    that classes share that part whatever their shrinkage. If all shrinkages are equal, the ridge is
    what the parameter says.

    A `shift` t measures both from M_p + t (M_p - M_o) instead, where M_o is the mean of the other
    samples.
    """
    each = np.broadcast_to(np.asarray(shrinkages, dtype=float), statistics.counts.shape)
    shrinkage = float(each[positive])
    share = float(statistics.counts[positive] / statistics.count)
    inside = statistics.in_class(positive)  # S_I, eq. 18
    apart = statistics.mean_offset_scatter(positive)  # N (M_p - M)(M_p - M)^T
    if negatives == "samples":
        total = statistics.total()
        outside = total + apart - inside  # S_O, eq. 17
    else:  # means stand for the other samples; the total is made of terms that are needed anyway
        total = statistics.within() + statistics.between()
        outside = statistics.between() + apart  # class means about M_p, each times its count
    if negatives == "both":
        outside = outside + (statistics.within() - inside) * OTHER_SAMPLES
    if shrinkage > 0:
        inside = inside * (1 - shrinkage) + statistics.within() * (shrinkage * share)
    if shift > 0:
        outside = outside + apart * (((1 + shift) ** 2 - 1) / (1 - share))
        inside = inside + apart * (shift**2 * share / (1 - share) ** 2)
    if shrinkage == 0:
        about = total + apart  # all samples about M_p
        return Problem.of(statistics, outside, inside, unit=about, balance=share, **settings)
    balance = share * about_class_means(statistics)
    amount, absolute = settings.pop("ridge", (0.0, False))
    usual = float(statistics.counts @ each / statistics.count)
    settings["ridge"] = (amount * shrinkage / usual, absolute)
    return Problem.of(statistics, outside, inside, unit=total, balance=balance, **settings)


def about_class_means(statistics: ClassStatistics) -> float:
    """By how much samples scatter more about the mean of a class than about their own mean.

    About the mean of class c that is the trace of ``total + N (M_c - M)(M_c - M)^T``; on average
    over the samples, ``total + between``. One number for all classes: models that share the
    within scatter have the same ridge, too, and can be solved together.
    """
    between = statistics.between_squares
    within = float(statistics.traces.sum())
    return 1 + between / (between + within) if between + within > 0 else 1.0


def between_within(statistics: ClassStatistics, **settings: Any) -> Problem:
    """Class means apart (S_b, eq. 10), classes tight (S_w, eq. 11)."""
    return Problem.of(statistics, statistics.between(), statistics.within(), **settings)


def total(statistics: ClassStatistics, **settings: Any) -> Problem:
    """As much of the scatter of all samples about their mean as the ranks allow."""
    return Problem.of(statistics, statistics.total(), None, **settings)


# ── What else the scatters say ──────────────────────────────────────────────────────────────────


def automatic_shrinkage(statistics: ClassStatistics) -> Array:
    """For each class the shrinkage that least misses its true covariance, if it is Gaussian.

    For the covariance S of a class, with nu degrees of freedom, and the pooled covariance T of all
    classes, with nu_w, the squared error of their mixture is least at ::

        (1 - nu / nu_w) E||S - Sigma||^2 / E||S - T||^2,

    since T holds S with the weight nu / nu_w. For Gaussian samples ``E||S - Sigma||^2`` is
    ``(tr(S)^2 + tr(S^2)) / nu``, and the denominator is observed. A single sample gives 1. Weights
    are counts: nu is their sum less one, and 0 where that is negative.
    """
    own, cross, pooled = statistics.covariance_products
    free = np.maximum(statistics.counts - 1, 0.0)
    all_free = float(free.sum())
    scale = float(statistics.traces.sum())
    if not (scale > 0 and all_free > 0):  # single samples say nothing of their spread
        return np.ones(len(free))
    traces = statistics.traces / scale
    nu = np.where(free > 0, free, 1.0)
    part = np.clip(nu / all_free, 1e-100, 1.0)  # nu / nu_w: cubes of huge weights are no numbers
    noise = (traces**2 + own) / part**2 / nu * (1 - part)  # times nu_w^2, as is all below
    both = own / part**2 + pooled
    distance = both - 2 * cross / part
    apart = distance > 1e-14 * both  # else S is T but for rounding: other classes are points
    share = np.divide(noise, distance, out=np.ones_like(noise), where=apart)
    least = np.finfo(float).tiny  # never quite 0, which has another ridge: rounding must not choose
    return np.where(free > 0, np.clip(share, least, 1.0), 1.0)


def ranks_of_shares(statistics: ClassStatistics, shares: dict[int, float]) -> dict[int, int]:
    """For each mode the fewest dimensions that keep a share of its total scatter."""
    whole = [np.eye(size)[None] for size in statistics.shape]
    ranks = {}
    for mode, share in shares.items():
        (scatter,) = along_mode([statistics.total()], mode, whole)
        kept = np.cumsum(eigvalsh(scatter[0])[::-1].clip(0))
        enough = kept >= (share - 1e-12) * kept[-1]  # rounding must not ask for one more
        ranks[mode] = int(np.argmax(enough)) + 1
    return ranks


def class_spreads(
    statistics: ClassStatistics,
    projections: Sequence[Array],
    positives: Array,
    shrinkage: Array,
    shift: Array,
) -> tuple[Array, Array]:
    """Root mean square distance of classes, and of all other samples, from where it is measured.

    Parameters
    ----------
    statistics : ClassStatistics
        Of all samples.
    projections : sequence of K ndarrays of shape (M, I_k, r_k)
        Those of the models, in the basis of the statistics.
    positives : ndarray of shape (M,)
        The number of the class of each model.
    shrinkage : ndarray of shape (M,)
        Share of all classes about their means in the first number.
    shift : ndarray of shape (M,)
        Distances are from M_p + shift (M_p - M_o); M_o is the mean of the other samples.

    Returns
    -------
    tuple of two ndarrays of shape (M,)
        Positive numbers. A class that is a single point takes the distance of all classes from
        their means, in its subspace; where all other samples lie on the class mean, theirs is 1.
    """
    n, n_own = statistics.count, statistics.counts[positives]
    every = positives.tolist()
    in_class = Scatter.stacked([statistics.in_class(p) for p in every])
    offsets = Scatter.stacked([statistics.mean_offset_scatter(p) for p in every])
    own = projected_trace(in_class, projections)
    step = projected_trace(offsets, projections)
    total = projected_trace(statistics.total(), projections)
    within = projected_trace(statistics.within(), projections)
    others = (total + step - own) / (n - n_own)
    step = step * n / (n - n_own) ** 2  # |W^T (M_p - M_o)|^2
    others += ((1 + shift) ** 2 - 1) * step
    own = own / n_own + shift**2 * step
    within = within / n
    mixed = (1 - shrinkage) * own + shrinkage * within
    mixed = np.where(mixed <= 1e-12 * within, np.where(within > 0, within, 1.0), mixed)
    return np.sqrt(mixed), np.sqrt(np.where(others > 0, others, 1.0))


def likelihood_ratio_terms(
    steps: Array, turn: Array | None, counts: Array, positive: int, noise: float
) -> tuple[Array, float, Array]:
    """The log ratio of a class and everything else, from class means in the subspace.

        of the class        z ~ N(m_p, s I)
        everything else     z ~ N(m_o, s I + B)

    z is a projected sample. s is the mean variance of samples about the means of their classes,
    pooled over all classes: the few samples of one class would make their own subspace look too
    narrow. B is the covariance of the other class means about the mean m_o of all other samples.
    With two classes there is no B, and the ratio is linear in z, as in linear discriminant
    analysis; where other classes lie far apart it is the squared distance from a point just behind
    m_p. From m_o the log ratio is

        offset + a . z / s - |C^T z|^2 / 2,     C C^T = I / s - (s I + B)^-1,     a = m_p - m_o.

    With the steps Y, of n_p among N samples in the class, ``(N - n_p) B = Y^T (I - h h^T) Y`` for a
    unit vector h, along which ``h^T Y`` is a multiple of a.

    Parameters
    ----------
    steps : ndarray of shape (k, r)
        The class means from the mean of all, times the roots of the counts, projected.
    turn : ndarray of shape (C, k) or None
        With orthonormal columns, if these are fewer rows that it turns into those of the classes.
    counts : ndarray of shape (C,)
        The sums of the sample weights.
    positive : int
        The number of the class.
    noise : float
        s, the variance of samples about the mean of their class in one direction.

    Returns
    -------
    tuple of ndarray of shape (r, 1 + q), float and ndarray of shape (2,)
        Contrasts, offset and anchors; see `tenfold.methods.class_specific.ClassModel`.

    Examples
    --------
    Two classes at 0 and 2 with variance 1: above 1 the second is more likely.

    >>> import numpy as np
    >>> from tenfold.optimization.criteria import likelihood_ratio_terms
    >>> likelihood_ratio_terms(np.array([[-2.0], [2.0]]), None, np.array([4.0, 4.0]), 1, 1.0)
    (array([[2.]]), -2.0, array([-2.,  0.]))
    """
    n = float(counts.sum())
    own = float(counts[positive])
    h = -np.sqrt(counts * own) / n
    h[positive] += 1.0
    h *= np.sqrt(n / (n - own))
    h = h if turn is None else h @ turn
    along = h @ steps
    left = np.sqrt(max(1 - float(h @ h), 0.0))
    step = along * np.sqrt(n / own / (n - own))
    rows = (steps - np.outer(h / (1 + left), along)) / np.sqrt(n - own)  # B = rows^T rows
    if (counts > 0).sum() <= 2:
        rows = rows[:0]
    elif len(rows) > rows.shape[1]:
        rows = np.linalg.qr(rows, mode="r")
    squares = float((rows**2).sum())
    least = LEAST_NOISE * (squares + float(step @ step))
    s = max(noise, least) or 1.0
    # (s I + B)^-1 = I / s - rows^T (s I + rows rows^T)^-1 rows / s, by the Woodbury formula.
    L = np.linalg.cholesky(s * np.eye(len(rows)) + rows @ rows.T)
    if len(rows):  # SciPy 1.13 solves no empty systems
        rows = solve_triangular(L, rows, lower=True, check_finite=False)
    C = rows.T / np.sqrt(s)
    contrasts = np.concatenate([step[:, None] / s, C], axis=1)
    volume = 2 * float(np.log(np.diagonal(L) / np.sqrt(s)).sum())  # log det(I + B / s)
    offset = (volume - float(step @ step) / s) / 2
    anchors = np.array([offset - squares / s / 2, volume / 2])
    return contrasts, offset, anchors


def tight_gaussian(
    step: Array, own: Array, others: Array, n_own: float, n_others: float
) -> tuple[Array, float, Array]:
    """The log ratio of a class and one other, from scatters of both in the subspace.

        of the class        z ~ N(m_p, P^(1/2) E P^(1/2))
        everything else     z ~ N(m_o, P^(1/2) E_o P^(1/2))

    P is the covariance about both class means, its correlations shrunk towards 0 by the share that
    is best for Gaussian samples (Chen, Wiesel, Eldar and Hero, 2010). In directions in
    which the class is tighter than P by more than chance, E has a variance below 1. Chance is the
    edge ``(1 - sqrt(r / (n_p - 1)))^2`` of the law of Marchenko and Pastur, below which no
    eigenvalue of n_p samples in r dimensions falls if their covariance is P. In all other
    directions both covariances are P, and the ratio is linear. E_o is what P leaves for the others:
    ``n_p E + n_o E_o = (n_p + n_o) I``. So the class is never wider than everything else.

    Parameters
    ----------
    step : ndarray of shape (r,)
        The mean of the class from that of the others, projected.
    own, others : ndarray of shape (r, r)
        The scatter of each about its mean, projected.
    n_own, n_others : float
        The sums of the sample weights.

    Returns
    -------
    tuple of ndarray of shape (r, 1 + q), float and ndarray of shape (2,)
        Contrasts, offset and anchors; see `tenfold.methods.class_specific.ClassModel`.

    Examples
    --------
    Two classes at 0 and 2 with variance 1: above 1 the second is more likely.

    >>> import numpy as np
    >>> from tenfold.optimization.criteria import tight_gaussian
    >>> scatter = np.array([[3.0]])
    >>> contrasts, offset, anchors = tight_gaussian(np.array([2.0]), scatter, scatter, 4.0, 4.0)
    >>> float(contrasts[0, 0]), offset
    (2.0, -2.0)
    """
    n = n_own + n_others
    size = len(step)
    free = n - 2 if n > 2 else n
    pooled = shrunk_covariance((own + others) / free, free)
    least = LEAST_NOISE * float(step @ step)
    floor = max(least, LEAST_NOISE * float(np.trace(pooled))) or 1.0
    lacking = np.maximum(floor - np.diagonal(pooled), 0.0)
    pooled = pooled + np.diag(lacking)
    tight = np.ones(size)
    axes = np.linalg.inv(np.linalg.cholesky(pooled)).T
    if n_own - 1 > size:
        values, turn = np.linalg.eigh(axes.T @ own @ axes / (n_own - 1))
        axes = axes @ turn
        edge = (1 - np.sqrt(size / (n_own - 1))) ** 2
        tight = np.clip(values / edge, 1 / n_own, 1.0)
    wide = (n - n_own * tight) / n_others
    along = step @ axes
    curved = tight < 1
    C = axes[:, curved] * np.sqrt(1 / tight[curved] - 1 / wide[curved])
    contrasts = np.concatenate([(axes @ (along / tight))[:, None], C], axis=1)
    even = float(np.log(wide / tight).sum()) / 2
    offset = even - float((along**2 / tight).sum()) / 2
    typical = offset - float((wide / tight - 1).sum()) / 2
    return contrasts, offset, np.array([typical, even])


def shrunk_covariance(S: Array, free: float) -> Array:
    """A covariance of so many degrees of freedom, its correlations shrunk towards 0."""
    size = len(S)
    variances = np.diagonal(S)
    root = np.sqrt(np.where(variances > 0, variances, 1.0))
    squares = float(((S / np.outer(root, root)) ** 2).sum())  # the trace is the size
    noise = (1 - 2 / size) * squares + size**2
    apart = (free + 1 - 2 / size) * (squares - size)
    share = min(1.0, noise / apart) if apart > 0 else 1.0
    return (1 - share) * S + share * np.diag(variances)


def class_scatters_in(statistics: ClassStatistics, projections: Sequence[Array]) -> Array:
    """The scatter of each class about its mean as a model sees it, of shape (C, r, r).

    Parameters
    ----------
    statistics : ClassStatistics
        Of the samples.
    projections : sequence of K ndarrays of shape (I_k, r_k)
        For samples as they came.
    """
    if isinstance(statistics, MomentStatistics):
        return projected_moments(statistics.moments, list(projections), None).scatters
    if isinstance(statistics, PassStatistics):
        work = partial(
            projected_scatters_of_block,
            classes=statistics.classes,
            means=statistics.means,
            projections=list(projections),
        )
        source, y, weights, _ = statistics.samples
        passed: Array = source.total(work, y, weights)
        return passed
    assert isinstance(statistics, SampleStatistics)
    seen = to_span(statistics, projections)
    classes = range(len(statistics.classes))
    return np.stack([sum_of_projected(statistics.deviations(c), seen) for c in classes])


def projected_scatters_of_block(
    X: Array,
    y: Array | None,
    weight: Array | None,
    *,
    classes: Array,
    means: Array,
    projections: Sequence[Array],
) -> Array:
    """What one block adds to the projected scatters of the classes, (C, r, r)."""
    codes = codes_of(X, y, classes)
    used = np.ones(len(X), dtype=bool) if weight is None else weight > 0
    members = [np.flatnonzero(used & (codes == c)) for c in range(len(classes))]
    term = SampleTerm(X, means, codes, members, weight)
    return np.stack(
        [sum_of_projected(term.deviations(c), projections) for c in range(len(classes))]
    )


def sum_of_projected(blocks: Iterable[Array], projections: Sequence[Array]) -> Array:
    """The scatter (r, r) about 0 of blocks of samples as they are projected."""
    size = prod(W.shape[1] for W in projections)
    scatter = np.zeros((size, size))
    for Z in blocks:
        if len(Z):
            Y = project(Z, projections).reshape(len(Z), -1)
            scatter += Y.T @ Y
    return scatter


def to_span(statistics: ClassStatistics, projections: Sequence[Array]) -> list[Array]:
    """Projections of samples as they came, in the basis of the statistics."""
    if statistics.basis is None:
        return list(projections)
    return [statistics.basis.to_span(projections[0])]


def projected_trace(scatter: Scatter, projections: Sequence[Array]) -> Array:
    """Sum of the squared lengths of what M models see of the samples of a scatter, (M,)."""
    last = projections[-1]
    seen = projections if len(projections) > 1 else [last[: len(scatter)]]  # vectors: all see all
    (S,) = along_mode([scatter], len(projections) - 1, seen)
    return np.asarray(np.einsum("mir,mir->m", last, S @ last))


def patterns_of(statistics: ClassStatistics, projections: Sequence[Array]) -> list[Array]:
    """What the entries of a mode do when a score rises by one, for each column of a projection.

    A filter (a column of W_k) must also suppress what is noise, so it looks like noise in part. Its
    pattern is how the samples themselves vary with the score: the regression of the samples on
    the scores, ``S_k W_k (W_k^T S_k W_k)^-1``, with S_k the covariance of all samples along mode
    k, seen through the projections of the other modes (Haufe et al., 2014).

    Parameters
    ----------
    statistics : ClassStatistics
        Of the samples.
    projections : sequence of K ndarrays of shape (I_k, r_k)
        The filters, for samples as they came.

    Returns
    -------
    list of K ndarrays of shape (I_k, r_k)
        Empty where samples are read in passes, since each mode would take one more.
    """
    if isinstance(statistics, PassStatistics):
        return []
    seen = [W[None] for W in to_span(statistics, projections)]
    found = []
    for mode, (W,) in enumerate(seen):
        ((S,),) = along_mode([statistics.total()], mode, seen)
        size = float(np.trace(S)) or 1.0
        moved = S @ W / size
        found.append(moved @ np.linalg.pinv(W.T @ moved, hermitian=True))
    return found if statistics.basis is None else [statistics.basis.from_span(found[0])]
