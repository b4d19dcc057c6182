"""Labels: one per sample, all of one kind, none of them missing."""

from __future__ import annotations

from numbers import Number
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, column_or_1d

from tenfold.mathematics.algebra import Array
from tenfold.validation.named_axes import refuse_masked
from tenfold.validation.other_arrays import in_numpy


def check_labels(estimator: Any, X: Array, y: Any) -> Array:
    """One class label per sample."""
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None; "
            "pass one class label per sample"
        )
    y = refuse_masked(y, name="y")
    given, y = y, column_or_1d(in_numpy(y, "y"), warn=True)
    check_consistent_length(X, y)
    if isinstance(given, list | tuple) and y.dtype.kind == "U":
        check_kinds(np.array(given, dtype=object))  # NumPy makes text of None, NaN and numbers
    _check_label_values(y)
    return y


def _check_label_values(y: Array) -> None:
    if y.dtype.kind in "fM" and not np.isfinite(y).all():
        raise ValueError("Input y contains NaN or infinity; every sample needs a class label")
    if y.dtype == object:
        check_kinds(y)
        if _kind(y[0]) == "numbers":
            raise ValueError(
                "Unknown label type: y holds numbers as objects; expected an array of numbers or "
                "of text; convert it, as with y.astype(int)"
            )
    check_classification_targets(y)


def check_kinds(y: Array, name: str = "y") -> None:
    """Labels or names that are objects are all text or all numbers, and none is missing."""
    kinds = {_kind(label) for label in y.ravel()}
    if "missing" in kinds:
        raise ValueError(
            f"Input {name} contains NaN or None; every sample needs a class label; drop the "
            "samples without one, or give them a label of their own"
        )
    if len(kinds) > 1:
        raise ValueError(
            f"{name} mixes {' and '.join(sorted(kinds))}; expected labels of one kind; convert "
            f"them, as with {name}.astype(str)"
        )


def _kind(label: Any) -> str:
    if isinstance(label, str):
        return "text"
    if label is None or type(label).__name__ in ("NAType", "NaTType"):  # those of pandas
        return "missing"
    if isinstance(label, Number | np.bool_):
        return "numbers" if label == label else "missing"
    return f"objects of type {type(label).__name__}"
