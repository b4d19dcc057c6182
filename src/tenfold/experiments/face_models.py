"""All persons and all ranks of a face experiment, solved and scored as one stack.

A batch of images has shape (n, I_1, I_2), or (n, I_1, I_2, channels) with channels kept whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from tenfold.experiments.binary_mda import binary_mda
from tenfold.experiments.channels import ChannelStatistics
from tenfold.experiments.ranking import average_precision
from tenfold.experiments.subspace_lengths import squared_lengths
from tenfold.mathematics.algebra import Array
from tenfold.mathematics.alternation import alternate
from tenfold.mathematics.criteria import Recipe
from tenfold.mathematics.moments import ClassStatistics
from tenfold.mathematics.sample_statistics import SampleStatistics, SpanStatistics, Workload
from tenfold.methods.class_specific import automatic_shrinkage, class_specific
from tenfold.methods.learning import Models

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
        When the subspaces rest.
    per_sample : bool
        Whether lambda is added to scatters divided by their number of samples, or to the sums.
        The paper does not say. It is all one to CSDA and MCSDA, but not to MDA, whose printed
        figures agree with the former only.
    """

    name: str
    ridge: float = 0.01
    max_iter: int = 20
    tol: float = 1e-5
    per_sample: bool = True


def map_of_candidates(
    method: FaceMethod,
    candidates: list[Candidate],
    train: tuple[Array, Array],
    test: tuple[Array, Array],
) -> Array:
    """Mean average precision over persons, for each candidate.

    Parameters
    ----------
    method : FaceMethod
        What is learned.
    candidates : list of R Candidates
        The ranks and shrinkages to try.
    train, test : (X, y)
        Images (n, I_1, I_2) or (n, I_1, I_2, channels) and their persons.

    Returns
    -------
    ndarray of shape (R,)
        In percent.
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
    n_persons = len(statistics.classes)
    positives = np.repeat(np.arange(n_persons), len(candidates))
    models = stack_of_models(method, candidates, statistics, positives)
    criterion = (binary_mda if method.name == "MDA" else class_specific)(statistics, models)
    recipe = Recipe(
        ridge=models.ridge,
        absolute_ridge=True,
        init=_start(method, X),
        max_iter=method.max_iter,
        tol=method.tol,
    )
    rows, columns = alternate(criterion, models.ranks, recipe).projections
    n_candidates = len(candidates)
    scores = np.empty((n_persons, n_candidates, len(X_test)))
    for person, mean in enumerate(statistics.means):
        own = slice(person * n_candidates, (person + 1) * n_candidates)
        scores[person] = -squared_lengths(X_test - mean, rows[own], columns[own])
    return scores


def _start(method: FaceMethod, X: Array) -> str:
    """All ones for MCSDA, as the paper has it, but where channels are kept whole from the start.

    For MDA all ones would leave the two-class problem a single direction: see `CMDA`.
    """
    return "ones" if method.name == "MCSDA" and X.ndim == 3 else "identity"


def stack_of_models(
    method: FaceMethod, candidates: list[Candidate], statistics: ClassStatistics, positives: Array
) -> Models:
    """One model per person and candidate, person by person."""
    n_persons = len(statistics.classes)
    ranks = np.tile([candidate.rank for candidate in candidates], n_persons)
    fixed = [0.0 if c.shrinkage == "auto" else float(c.shrinkage) for c in candidates]
    shrinkage = np.tile(fixed, n_persons)
    automatic = np.tile([c.shrinkage == "auto" for c in candidates], n_persons)
    if automatic.any():
        own = automatic_shrinkage(statistics, np.arange(n_persons))
        shrinkage[automatic] = own[positives[automatic]]
    n_modes = 1 if len(statistics.shape) == 1 else 2
    ridge = np.full(len(positives), method.ridge)
    if method.per_sample:
        ridge *= statistics.count if method.name == "MDA" else statistics.counts[positives]
    return Models(
        ranks=np.repeat(ranks[:, None], n_modes, axis=1),
        ridge=ridge,
        absolute_ridge=np.ones(len(positives), dtype=bool),
        positives=positives,
        shrinkage=shrinkage,
    )


def _image_statistics(
    candidates: list[Candidate], X: Array, y: Array, method: FaceMethod
) -> SampleStatistics:
    if prod(X.shape[1:3]) > LARGEST_TABLE:
        return SampleStatistics.from_batch(X, y)
    rank = max(candidate.rank for candidate in candidates)
    work = Workload(len(np.unique(y)) * len(candidates), method.max_iter, (rank, rank))
    kind = SampleStatistics if X.ndim == 3 else ChannelStatistics
    return kind.from_batch(X, y, workload=work)


# -- vectors -------------------------------------------------------------------------------------


def _csda_scores(
    method: FaceMethod, candidates: list[Candidate], X: Array, y: Array, X_test: Array
) -> Array:
    """Minus the squared distance to each person's mean, (C, R, n); dimensions are nested."""
    classes = np.unique(y)
    statistics = SpanStatistics.from_vectors(X.reshape(len(X), -1), y, None, classes)
    Z = (X_test.reshape(len(X_test), -1) - statistics.origin) @ statistics.basis
    n_persons, widest = len(classes), statistics.shape[0]
    scores = np.empty((n_persons, len(candidates), len(X_test)))
    for shrinkage in dict.fromkeys(candidate.shrinkage for candidate in candidates):
        whole = [Candidate(widest, shrinkage)]
        models = stack_of_models(method, whole, statistics, np.arange(n_persons))
        recipe = Recipe(ridge=models.ridge, absolute_ridge=True, max_iter=1)
        W = alternate(class_specific(statistics, models), models.ranks, recipe).projections[0]
        mine = [r for r, candidate in enumerate(candidates) if candidate.shrinkage == shrinkage]
        for person, mean in enumerate(statistics.means):
            lengths = np.cumsum(((Z - mean) @ W[person]) ** 2, axis=1)  # for every dimension
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
