"""The N-BoF row of Table 3."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.experiments.book_metrics import metrics_of
from tenfold.experiments.book_settings import BookSettings
from tenfold.experiments.neural import Network
from tenfold.experiments.order_book_data import LABELS, Part


def neural_bag_of_features(
    settings: BookSettings, inner: Part, outer: Part, seed: int
) -> dict[str, Any]:
    """The N-BoF row of one fold: balance and number of epochs chosen on the training days."""
    best: tuple[float, dict[str, Any]] = (-1.0, {})
    for balance in (0.5, 1.0):
        network = _network(settings, inner, balance, seed)
        curve: dict[str, list[float]] = {"loss": [], "held_out_f1": []}
        for _ in range(settings.neural_epochs):
            curve["loss"].append(round(network.epoch(), 5))
            guess = LABELS[network.predict(inner.test.X)]
            curve["held_out_f1"].append(metrics_of(inner.test.y, guess)[3])
        epoch = int(np.argmax(curve["held_out_f1"]))
        if curve["held_out_f1"][epoch] > best[0]:
            best = (
                curve["held_out_f1"][epoch],
                {"balance": balance, "epochs": epoch + 1, "c": curve},
            )
    f1, chosen = best
    curve = chosen.pop("c")
    network = _network(settings, outer, chosen["balance"], seed)
    for _ in range(chosen["epochs"]):
        network.epoch()
    metrics = metrics_of(outer.test.y, LABELS[network.predict(outer.test.X)])
    return {"metrics": metrics, "selected": chosen, "inner_f1": f1, "curve": curve}


def _network(settings: BookSettings, part: Part, balance: float, seed: int) -> Network:
    return Network(part, settings.neural_codewords, settings.neural_windows, balance, seed)
