"""Rows of Table 3 that describe a block by k-means prototypes: SLFN and BoF."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from sklearn.cluster import MiniBatchKMeans
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import log_loss

from paper.linear_rows import LinearClassifier, ridge_classifiers
from paper.order_book_data import LABELS, Part
from paper.order_book_settings import BookSettings, metrics_of
from tenfold.datasets import SegmentedWindows
from tenfold.statistics.moments import ClassMoments

SAMPLE = 60_000  # blocks that k-means looks at
LAYER_ROWS, CODE_ROWS = 8192, 16384  # rows whose distances are in memory at a time


def prototypes(blocks: np.ndarray, count: int, seed: int) -> np.ndarray:
    """Cluster centres (count, I) of a sample of blocks (n, I).

    Examples
    --------
    >>> import numpy as np
    >>> from paper.prototype_rows import prototypes
    >>> blocks = np.repeat([[0.0], [5.0]], 50, axis=0)
    >>> sorted(prototypes(blocks, 2, seed=0).ravel().round(6).tolist())
    [0.0, 5.0]
    """
    rng = np.random.default_rng(seed)
    if len(blocks) > SAMPLE:
        blocks = blocks[np.sort(rng.choice(len(blocks), SAMPLE, replace=False))]
    found = MiniBatchKMeans(count, batch_size=4096, n_init=1, max_iter=30, random_state=seed)
    return np.asarray(found.fit(blocks).cluster_centers_)


def squared_distances(X: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Squared distances (n, count), never negative."""
    inner = X @ centres.T
    squares = (X**2).sum(axis=1)[:, None] + (centres**2).sum(axis=1) - 2 * inner
    return np.maximum(squares, 0)


# -- SLFN: a single hidden layer of radial basis functions ---------------------------------------


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
        layer, readouts = _trained_layer(inner, count, balanced, list(settings.alphas), seed)
        for alpha, guess in zip(settings.alphas, _predictions(layer, readouts, inner), strict=True):
            f1 = metrics_of(inner.test.y, guess)[3]
            if f1 > best[0]:
                best = f1, {"prototypes": count, "balanced": balanced, "alpha": alpha}
    f1, chosen = best
    layer, readouts = _trained_layer(
        outer, chosen["prototypes"], chosen["balanced"], [chosen["alpha"]], seed
    )
    (guess,) = _predictions(layer, readouts, outer)
    return {"metrics": metrics_of(outer.test.y, guess), "selected": chosen, "inner_f1": f1}


def _trained_layer(
    part: Part, count: int, balanced: bool, alphas: list[float], seed: int
) -> tuple[RadialLayer, list[LinearClassifier]]:
    X, y = part.train.X.last_blocks, part.train.y
    layer = RadialLayer.fitted(X, count, seed)
    blocks = (slice(start, start + LAYER_ROWS) for start in range(0, len(X), LAYER_ROWS))
    activations = ((layer(X[rows]).astype(np.float64), y[rows], None) for rows in blocks)
    moments = ClassMoments.from_blocks(activations, classes=LABELS)
    return layer, ridge_classifiers(moments, alphas, balanced)


def _predictions(
    layer: RadialLayer, readouts: list[LinearClassifier], part: Part
) -> list[np.ndarray]:
    H = layer(part.test.X.last_blocks).astype(np.float64)
    return [LABELS[readout.scores(H).argmax(axis=1)] for readout in readouts]


# -- BoF: a histogram of codewords over the blocks of a window, then a linear classifier ----------


def bag_of_features(settings: BookSettings, inner: Part, outer: Part, seed: int) -> dict[str, Any]:
    """The BoF row of one fold: codebook, balance and epochs chosen on the training days."""
    best: tuple[float, dict[str, Any]] = (-1.0, {})
    for count, soft in product(settings.codewords, (True, False)):
        parts = _histograms(inner, count, soft, seed)
        for balance in (0.5, 1.0):
            curve = _trained_on_histograms(inner, *parts, balance, settings.bof_epochs, seed)[1]
            epoch = int(np.argmax(curve["held_out_f1"]))
            if curve["held_out_f1"][epoch] > best[0]:
                chosen = {"codewords": count, "soft": soft, "balance": balance, "epochs": epoch + 1}
                best = curve["held_out_f1"][epoch], {**chosen, "curve": curve}
    f1, chosen = best
    curve = chosen.pop("curve")
    parts = _histograms(outer, chosen["codewords"], chosen["soft"], seed)
    model, _ = _trained_on_histograms(outer, *parts, chosen["balance"], chosen["epochs"], seed)
    metrics = metrics_of(outer.test.y, model.predict(parts[1]))
    return {"metrics": metrics, "selected": chosen, "inner_f1": f1, "curve": curve}


def codes(rows: np.ndarray, centres: np.ndarray, soft: bool) -> np.ndarray:
    """How much each block (n, I) belongs to each codeword (H, I): rows that sum to one.

    Soft membership falls with the distance, in units of the mean distance from the nearest
    codeword; hard membership goes to the nearest alone.

    Examples
    --------
    >>> import numpy as np
    >>> from paper.prototype_rows import codes
    >>> codes(np.array([[0.0], [3.0]]), np.array([[0.0], [2.0]]), soft=False)
    array([[1., 0.],
           [0., 1.]])
    """
    distances = np.sqrt(squared_distances(rows, centres))
    nearest = distances.argmin(axis=1)
    if not soft:
        return np.eye(len(centres), dtype=rows.dtype)[nearest]
    closest = distances[np.arange(len(rows)), nearest]
    unit = max(float(closest.mean()), 1e-12) / 4
    weights = np.exp(-(distances - closest[:, None]) / unit)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def window_histograms(windows: SegmentedWindows, memberships: np.ndarray) -> np.ndarray:
    """The mean membership (n, H) of the blocks of each window, from that of every row."""
    total = np.zeros((len(windows), memberships.shape[1]), dtype=np.float32)
    for back in range(windows.window):
        total += memberships[windows.last_rows - back]
    return total / windows.window


def _histograms(part: Part, count: int, soft: bool, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Square roots of training and test histograms, about their mean on the training days.

    The square root is the map in which distances of histograms are Hellinger's; times the root of
    the number of codewords, entries are of order one.
    """
    centres = prototypes(part.train.X.last_blocks, count, seed).astype(np.float32)
    found = []
    for windows in (part.train.X, part.test.X):
        rows = windows.rows
        blocks = [rows[start : start + CODE_ROWS] for start in range(0, len(rows), CODE_ROWS)]
        memberships = np.concatenate([codes(block, centres, soft) for block in blocks])
        found.append(np.sqrt(count * window_histograms(windows, memberships.astype(np.float32))))
    mean = found[0].mean(axis=0)
    return found[0] - mean, found[1] - mean


def _trained_on_histograms(
    part: Part, train: np.ndarray, test: np.ndarray, balance: float, epochs: int, seed: int
) -> tuple[SGDClassifier, dict[str, list[float]]]:
    """Logistic regression by averaged stochastic gradients, with its course.

    Classes weigh as their share to the power of minus `balance`: 1 makes them equal.
    """
    y = part.train.y
    share = np.array([(y == label).mean() for label in LABELS])
    weights = (share**-balance)[np.searchsorted(LABELS, y)]
    weights /= weights.mean()
    model = SGDClassifier(
        loss="log_loss",
        alpha=1e-5,
        learning_rate="constant",
        eta0=1e-3,
        average=True,
        random_state=seed,
    )
    curve: dict[str, list[float]] = {"loss": [], "held_out_f1": []}
    rng = np.random.default_rng(seed)
    sample = slice(None, None, max(1, len(y) // 20_000))
    for _ in range(epochs):
        order = rng.permutation(len(y))
        model.partial_fit(train[order], y[order], classes=LABELS, sample_weight=weights[order])
        loss = log_loss(
            y[sample], model.predict_proba(train[sample]), sample_weight=weights[sample],
            labels=LABELS,
        )  # fmt: skip
        curve["loss"].append(round(float(loss), 6))
        curve["held_out_f1"].append(metrics_of(part.test.y, model.predict(test))[3])
    return model, curve
