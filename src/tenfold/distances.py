"""Distances in subspaces, and what follows from them: functions of a block of samples.

Nothing here holds a model: a function and the few matrices it needs can be sent to other
processes, however many moments the model keeps.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tenfold.algebra import Array
from tenfold.projection import projected

OfBlock = Callable[[Array], Array]


def minus_distances(X: Array, projections: list[Array], mean: Array) -> Array:
    """Minus the distance of samples (n, I_1, ..., I_K) from a mean in a subspace, (n,)."""
    Y = projected(X, projections, mean, flat=True)
    return np.asarray(-np.sqrt(np.einsum("ij,ij->i", Y, Y)))


def distances_to_classes(X: Array, scorings: list[OfBlock], spreads: Array | None) -> Array:
    """Distances (n, C) from the scores of one model per class, in units of the spreads."""
    distances = np.stack([-scoring(X) for scoring in scorings], axis=1)
    return distances if spreads is None else distances / spreads.astype(distances.dtype)


def finished(X: Array, distances: OfBlock, finish: OfBlock) -> Array:
    """What `finish` makes of the distances of samples."""
    return np.asarray(finish(distances(X)))


def preference(distances: Array) -> Array:
    """Scores (n, C), or (n,) for two classes, from distances (n, C)."""
    two = distances.shape[1] == 2
    return np.asarray(distances[:, 0] - distances[:, 1] if two else -distances)


def nearest(distances: Array, classes: Array) -> Array:
    """The label (n,) with the least of the distances (n, C)."""
    return np.asarray(classes[distances.argmin(axis=1)])
