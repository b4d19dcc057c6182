"""BoF: a histogram of codewords over the blocks of a window, then a linear classifier."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import log_loss

from tenfold.datasets import SegmentedWindows
from tenfold.experiments.book_metrics import metrics_of
from tenfold.experiments.book_settings import BookSettings
from tenfold.experiments.order_book_data import LABELS, Part
from tenfold.experiments.prototypes import prototypes, squared_distances

BLOCK = 16384


def bag_of_features(settings: BookSettings, inner: Part, outer: Part, seed: int) -> dict[str, Any]:
    """The BoF row of one fold: codebook, balance and epochs chosen on the training days."""
    best: tuple[float, dict[str, Any]] = (-1.0, {})
    for count, soft in product(settings.codewords, (True, False)):
        parts = _histograms(inner, count, soft, seed)
        for balance in (0.5, 1.0):
            curve = _training(inner, *parts, balance, settings.bof_epochs, seed)[1]
            epoch = int(np.argmax(curve["held_out_f1"]))
            if curve["held_out_f1"][epoch] > best[0]:
                chosen = {"codewords": count, "soft": soft, "balance": balance, "epochs": epoch + 1}
                best = curve["held_out_f1"][epoch], {**chosen, "curve": curve}
    f1, chosen = best
    curve = chosen.pop("curve")
    parts = _histograms(outer, chosen["codewords"], chosen["soft"], seed)
    model, _ = _training(outer, *parts, chosen["balance"], chosen["epochs"], seed)
    metrics = metrics_of(outer.test.y, model.predict(parts[1]))
    return {"metrics": metrics, "selected": chosen, "inner_f1": f1, "curve": curve}


def codes(rows: np.ndarray, centres: np.ndarray, soft: bool) -> np.ndarray:
    """How much each block (n, I) belongs to each codeword (H, I): rows that sum to one.

    Soft membership falls with the distance, in units of the mean distance from the nearest
    codeword; hard membership goes to the nearest alone.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.experiments.bag_of_features import codes
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
        blocks = [rows[start : start + BLOCK] for start in range(0, len(rows), BLOCK)]
        memberships = np.concatenate([codes(block, centres, soft) for block in blocks])
        found.append(np.sqrt(count * window_histograms(windows, memberships.astype(np.float32))))
    mean = found[0].mean(axis=0)
    return found[0] - mean, found[1] - mean


def _training(
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
