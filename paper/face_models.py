"""All persons and all ranks of a face experiment, solved and scored as one stack.

A batch of images has shape (n, I_1, I_2), or (n, I_1, I_2, channels) with channels kept whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from paper.subspaces import solved, squared_lengths
from tenfold.linalg.algebra import Array
from tenfold.optimization.criteria import automatic_shrinkage
from tenfold.statistics.class_statistics import ClassStatistics
from tenfold.statistics.cost import with_tables
from tenfold.statistics.sample_statistics import SampleStatistics, SpanStatistics

LARGEST_TABLE = 4000  # pixels; tables of larger images take more memory than several runs have


@dataclass(frozen=True)
class Candidate:
    """One choice of the parameters that a face experiment selects.

    Parameters
    ----------
    rank : int
        The rank of both image modes, or the dimension for CSDA.
    shrinkage : float or "auto"
        The shrinkage of the in-class scatter.
    """

    rank: int
    shrinkage: float | str = 0.0


@dataclass(frozen=True)
class FaceMethod:
    """How the faces are learned.

    Parameters
    ----------
    name : {"CSDA", "MDA", "MCSDA", "pixels"}
        The method; "pixels" is the distance to the mean image, without any subspace.
    ridge : float
        The paper's lambda.
    max_iter : int
        Rounds at most.
    tol : float
        When the objective rests; with 0 all rounds are made, as in the paper, whose rule compares
        projections entry by entry and does not fire in 20 rounds.
    per_sample : bool
        Whether lambda is added to scatters divided by their number of samples, or to the sums.
        The paper does not say. It is all one to CSDA and MCSDA, but not to MDA, whose printed
        figures agree with the former only.
    """

    name: str
    ridge: float = 0.01
    max_iter: int = 20
    tol: float = 0.0
    per_sample: bool = True


def map_of_candidates(
    method: FaceMethod,
    candidates: list[Candidate],
    train: tuple[Array, Array],
    test: tuple[Array, Array],
) -> Array:
    """Mean average precision over persons, for each candidate.

    `train` and `test` are images (n, I_1, I_2) or (n, I_1, I_2, channels) and their persons. In
    percent, (R,).
    """
    (X, y), (X_test, y_test) = train, test
    persons = np.intersect1d(y, y_test)
    scores = {"CSDA": _csda_scores, "pixels": _pixel_scores}.get(method.name, _tensor_scores)
    similarity = scores(method, candidates, X, y, X_test)  # (C, R, n)
    classes = np.unique(y)
    similarity = similarity[np.isin(classes, persons)]
    relevant = np.broadcast_to((y_test == persons[:, None])[:, None], similarity.shape)
    n = similarity.shape[-1]
    precision = average_precision(similarity.reshape(-1, n), relevant.reshape(-1, n))
    return 100.0 * precision.reshape(len(persons), -1).mean(axis=0)


# -- tensors -------------------------------------------------------------------------------------


def _tensor_scores(
    method: FaceMethod, candidates: list[Candidate], X: Array, y: Array, X_test: Array
) -> Array:
    """Minus the squared distance to each person's mean, (C, R, n)."""
    statistics = _image_statistics(candidates, X, y, method)
    n_persons, n_candidates = len(statistics.classes), len(candidates)
    # All ones for MCSDA, as the paper has it, but where channels are kept whole from the start. For
    # MDA all ones would leave the two-class problem a single direction: see `CMDA`.
    init = "ones" if method.name == "MCSDA" and X.ndim == 3 else "identity"
    rows, columns, *_ = _solved(method, candidates, statistics, init, method.max_iter)
    scores = np.empty((n_persons, n_candidates, len(X_test)))
    for person, mean in enumerate(statistics.means):
        own = slice(person * n_candidates, (person + 1) * n_candidates)
        scores[person] = -squared_lengths(X_test - mean, rows[own], columns[own])
    return scores


def _solved(
    method: FaceMethod,
    candidates: list[Candidate],
    statistics: ClassStatistics,
    init: str,
    max_iter: int,
) -> list[Array]:
    """One model per person and candidate, person by person."""
    n_persons, n_candidates = len(statistics.classes), len(candidates)
    positives = np.repeat(np.arange(n_persons), n_candidates)
    whole = statistics.shape[2:]  # channels
    each = [(c.rank, c.rank, *whole)[: len(statistics.shape)] for c in candidates]
    fixed = [0.0 if c.shrinkage == "auto" else float(c.shrinkage) for c in candidates]
    shrinkage = np.tile(fixed, n_persons)
    automatic = np.tile([c.shrinkage == "auto" for c in candidates], n_persons)
    if automatic.any():
        own = automatic_shrinkage(statistics)
        shrinkage[automatic] = own[positives[automatic]]
    ridge = np.full(len(positives), method.ridge)
    if method.per_sample:
        ridge *= statistics.count if method.name == "MDA" else statistics.counts[positives]
    return solved(
        method.name,
        statistics,
        np.tile(each, (n_persons, 1)),
        positives,
        ridge=ridge,
        absolute_ridge=True,
        shrinkage=shrinkage,
        orthonormal=True,
        init=init,
        max_iter=max_iter,
        tol=method.tol,
        threads=False,
    )


def _image_statistics(
    candidates: list[Candidate], X: Array, y: Array, method: FaceMethod
) -> SampleStatistics:
    if prod(X.shape[1:3]) > LARGEST_TABLE:
        return SampleStatistics.from_batch(X, y)
    rank = max(candidate.rank for candidate in candidates)
    persons, whole = len(np.unique(y)), X.shape[3:]  # all channels of an image are kept
    ranks = np.tile((rank, rank, *whole), (persons, len(candidates), 1))
    return with_tables(SampleStatistics.from_batch(X, y), ranks, method.max_iter)


# -- vectors -------------------------------------------------------------------------------------


def _csda_scores(
    method: FaceMethod, candidates: list[Candidate], X: Array, y: Array, X_test: Array
) -> Array:
    """Minus the squared distance to each person's mean, (C, R, n); dimensions are nested."""
    classes = np.unique(y)
    statistics = SpanStatistics.from_vectors(X.reshape(len(X), -1), y, None, classes)
    flat = X_test.reshape(len(X_test), -1)
    n_persons, widest = len(classes), statistics.shape[0]
    scores = np.empty((n_persons, len(candidates), len(X_test)))
    for shrinkage in dict.fromkeys(candidate.shrinkage for candidate in candidates):
        (W,) = _solved(method, [Candidate(widest, shrinkage)], statistics, "ones", max_iter=1)
        mine = [r for r, candidate in enumerate(candidates) if candidate.shrinkage == shrinkage]
        for person, mean in enumerate(statistics.given.means):
            lengths = np.cumsum(((flat - mean) @ W[person]) ** 2, axis=1)  # for every dimension
            for r in mine:
                scores[person, r] = -lengths[:, min(candidates[r].rank, widest) - 1]
    return scores


def _pixel_scores(
    method: FaceMethod, candidates: list[Candidate], X: Array, y: Array, X_test: Array
) -> Array:
    """Minus the squared distance to each person's mean image, (C, 1, n)."""
    means = np.stack([X[y == person].mean(axis=0) for person in np.unique(y)])
    Z = X_test.reshape(len(X_test), -1)
    M = means.reshape(len(means), -1)
    return -(((Z[None] - M[:, None]) ** 2).sum(axis=2))[:, None, :]


# -- average precision ---------------------------------------------------------------------------


def average_precision(scores: np.ndarray, relevant: np.ndarray) -> np.ndarray:
    """Average precision of each row, as `sklearn.metrics.average_precision_score` defines it.

    Scores (M, n), the larger, the sooner found; `relevant` (M, n) is what is looked for, at least
    one per row. Equal scores are found together.

    Examples
    --------
    >>> import numpy as np
    >>> from paper.face_models import average_precision
    >>> average_precision(np.array([[3.0, 2.0, 1.0]]), np.array([[True, False, True]]))
    array([0.833])
    """
    order = np.argsort(-scores, axis=1, kind="stable")
    sorted_scores = np.take_along_axis(scores, order, axis=1)
    found = np.cumsum(np.take_along_axis(relevant, order, axis=1), axis=1)
    n = scores.shape[1]
    # Only the last of several equal scores is a threshold; the others look ahead to it.
    is_last = np.ones(scores.shape, dtype=bool)
    is_last[:, :-1] = sorted_scores[:, :-1] != sorted_scores[:, 1:]
    last = np.where(is_last, np.arange(n), n)
    last = np.minimum.accumulate(last[:, ::-1], axis=1)[:, ::-1]
    hits = np.take_along_axis(found, last, axis=1)
    precision = hits / (last + 1)
    new = np.diff(found, axis=1, prepend=0)  # each find counts with the precision at its threshold
    return np.asarray((new * precision).sum(axis=1) / found[:, -1])
