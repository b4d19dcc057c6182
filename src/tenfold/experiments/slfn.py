"""SLFN: a single hidden layer of radial basis functions around k-means prototypes."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from tenfold.experiments.book_metrics import metrics_of
from tenfold.experiments.book_settings import BookSettings
from tenfold.experiments.linear_rows import LinearClassifier, ridge_classifiers
from tenfold.experiments.order_book_data import LABELS, Part
from tenfold.experiments.prototypes import prototypes, squared_distances
from tenfold.mathematics.moments import ClassMoments

BLOCK = 8192


@dataclass(frozen=True, eq=False)
class RadialLayer:
    """``exp(-||x - v||^2 / (2 sigma^2))`` for every prototype v.

    Parameters
    ----------
    centres : ndarray of shape (H, I)
        The prototypes.
    width : float
        sigma, the mean distance of samples from prototypes.
    """

    centres: np.ndarray
    width: float

    @classmethod
    def fitted(cls, X: np.ndarray, count: int, seed: int) -> RadialLayer:
        """Prototypes of vectors (n, I), and the width that suits them."""
        centres = prototypes(X, count, seed).astype(X.dtype)
        sample = X[:: max(1, len(X) // 4096)]
        return cls(centres, float(np.sqrt(squared_distances(sample, centres)).mean()))

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Activations (n, H)."""
        return np.asarray(np.exp(-squared_distances(X, self.centres) / (2 * self.width**2)))


def slfn(settings: BookSettings, inner: Part, outer: Part, seed: int) -> dict[str, Any]:
    """The SLFN row of one fold: layer size, balance and penalty chosen on the training days."""
    best: tuple[float, dict[str, Any]] = (-1.0, {})
    for count, balanced in product(settings.prototypes, (False, True)):
        layer, readouts = _trained(inner, count, balanced, list(settings.alphas), seed)
        for alpha, guess in zip(settings.alphas, _predictions(layer, readouts, inner), strict=True):
            f1 = metrics_of(inner.test.y, guess)[3]
            if f1 > best[0]:
                best = f1, {"prototypes": count, "balanced": balanced, "alpha": alpha}
    f1, chosen = best
    layer, readouts = _trained(
        outer, chosen["prototypes"], chosen["balanced"], [chosen["alpha"]], seed
    )
    (guess,) = _predictions(layer, readouts, outer)
    return {"metrics": metrics_of(outer.test.y, guess), "selected": chosen, "inner_f1": f1}


def _trained(
    part: Part, count: int, balanced: bool, alphas: list[float], seed: int
) -> tuple[RadialLayer, list[LinearClassifier]]:
    X, y = part.train.X.last_blocks, part.train.y
    layer = RadialLayer.fitted(X, count, seed)
    blocks = (slice(start, start + BLOCK) for start in range(0, len(X), BLOCK))
    activations = ((layer(X[rows]).astype(np.float64), y[rows], None) for rows in blocks)
    moments = ClassMoments.from_blocks(activations, classes=LABELS)
    return layer, ridge_classifiers(moments, alphas, balanced)


def _predictions(
    layer: RadialLayer, readouts: list[LinearClassifier], part: Part
) -> list[np.ndarray]:
    H = layer(part.test.X.last_blocks).astype(np.float64)
    return [LABELS[readout.scores(H).argmax(axis=1)] for readout in readouts]
