"""How a classifier of the order book is judged."""

from __future__ import annotations

import numpy as np
from sklearn.metrics import accuracy_score, precision_recall_fscore_support

METRICS = ("accuracy", "precision", "recall", "f1")
DIGITS = 6  # of a result in percent; what is beyond is rounding of the machine


def metrics_of(y: np.ndarray, predicted: np.ndarray) -> list[float]:
    """Accuracy and macro precision, recall and F1, in percent."""
    macro = precision_recall_fscore_support(y, predicted, average="macro", zero_division=0)
    values = (accuracy_score(y, predicted), *macro[:3])
    return [round(100 * float(value), DIGITS) for value in values]
