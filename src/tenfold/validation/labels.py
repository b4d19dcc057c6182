"""Labels of samples, and what else comes along with each: groups and covariates.

Labels are one per sample, all of one kind, none of them missing. Groups are samples that are held
out together, or those of one class. Covariates are numbers such as the age of who was measured.
"""

from __future__ import annotations

from contextlib import suppress
from numbers import Number

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, column_or_1d

from tenfold.linalg.algebra import Array
from tenfold.statistics.accumulate import check_same_kind
from tenfold.validation.containers import in_numpy, refuse_masked, unmasked
from tenfold.validation.parameters import plain


def missing_labels(estimator: object) -> ValueError:
    """What to raise where labels are needed and none came."""
    return ValueError(
        f"{type(estimator).__name__} requires y to be passed, but the target y is None; "
        "pass one class label per sample"
    )


def check_labels(estimator: object, X: object, y: object, discrete: bool = True) -> Array:
    """One class label per sample; not `discrete`, also any number."""
    if y is None:
        raise missing_labels(estimator)
    if np.isscalar(X) or getattr(X, "ndim", 1) == 0:
        raise ValueError(
            f"Expected 2D array, got scalar instead: X is {X!r:.80}; pass samples with at least 2 "
            "axes, samples first"
        )
    array = y if type(y) is np.ndarray else in_numpy(refuse_masked(y, name="y"), "y")
    labels: Array = column_or_1d(array, warn=True)
    check_consistent_length(X, labels)
    if isinstance(y, list | tuple) and labels.dtype.kind == "U":
        check_kinds(np.array(y, dtype=object))  # NumPy makes text of None, NaN and numbers
    if labels.dtype.kind in "fM" and not np.isfinite(labels).all():
        raise ValueError("Input y contains NaN or infinity; every sample needs a class label")
    if labels.dtype == object:
        check_kinds(labels)
        if discrete and _kind(labels[0]) == "numbers":
            raise ValueError(
                "Unknown label type: y holds numbers as objects; expected an array of numbers or "
                "of text; convert it, as with y.astype(int)"
            )
    if discrete:
        fractions = labels[labels != np.trunc(labels)] if labels.dtype.kind == "f" else labels[:0]
        if len(fractions):
            raise ValueError(
                f"Unknown label type: y contains {fractions[0]:g}, which is a measurement, not a "
                "class label; expected whole numbers or text; pass the column of the classes, or "
                "make classes of the measurements, as with np.digitize(y, edges)"
            )
        check_classification_targets(labels)
    return labels


def check_kinds(y: Array, name: str = "y") -> None:
    """Labels or names that are objects are all text or all numbers, and none is missing."""
    kinds = {_kind(label) for label in y.ravel()}
    what = "class label" if name == "y" else "name or number"
    if "missing" in kinds:
        raise ValueError(
            f"Input {name} contains NaN or None; every sample needs a {what}; drop the "
            f"samples without one, or give them a {what} of their own"
        )
    if len(kinds) > 1:
        raise ValueError(
            f"{name} mixes {' and '.join(sorted(kinds))}; expected labels of one kind; convert "
            f"them, as with {name}.astype(str)"
        )


def _kind(label: object) -> str:
    if isinstance(label, str):
        return "text"
    if label is None or type(label).__name__ in ("NAType", "NaTType"):  # those of pandas
        return "missing"
    if isinstance(label, Number | np.bool_):
        return "numbers" if label == label else "missing"
    return f"objects of type {type(label).__name__}"


def check_groups(name: str, groups: object, n_samples: int) -> tuple[Array, Array]:
    """The groups, sorted, and for each sample the number of its group."""
    given = groups
    groups = np.asarray(in_numpy(groups, name))
    if groups.shape != (n_samples,):
        raise ValueError(
            f"{name} has shape {groups.shape}, but there are {n_samples} samples; pass one name or "
            "number per sample"
        )
    if isinstance(given, list | tuple) and groups.dtype.kind == "U":
        check_kinds(np.array(given, dtype=object), name)  # NumPy makes text of None and numbers
    if groups.dtype.kind == "O":
        check_kinds(groups, name)
    if groups.dtype.kind == "f" and not np.isfinite(groups).all():
        raise ValueError(f"{name} contains NaN or infinity; every sample needs a name or number")
    names, numbers = np.unique(groups, return_inverse=True)
    return names, numbers


def check_covariates(covariates: object, n: int) -> Array:
    """Covariates as finite numbers (n, q), or an error that says what came."""
    if np.ma.is_masked(covariates):
        covariates = unmasked(covariates)  # refused below, with its row
    Z = np.asarray(in_numpy(covariates, "covariates"))
    with suppress(TypeError, ValueError):  # numbers of several kinds in one table
        Z = Z.astype(float) if Z.dtype == object else Z
    if Z.dtype.kind not in "biuf":
        raise ValueError(
            f"covariates hold {Z.dtype}; expected numbers; give every site or session but one "
            "a column of zeros and ones, as sklearn's OneHotEncoder(drop='first') does"
        )
    Z = np.asarray(Z[:, None] if Z.ndim == 1 else Z, dtype=float)
    if Z.ndim != 2 or len(Z) != n or not Z.shape[1]:
        came = np.asarray(covariates).shape
        raise ValueError(
            f"covariates have shape {came}, but there are {n} samples; expected ({n},) or "
            f"({n}, q), one row per sample"
        )
    rows = np.flatnonzero(~np.isfinite(Z).all(axis=1))
    if len(rows):
        raise ValueError(
            f"covariates of {len(rows)} samples are NaN or infinite, the first in row {rows[0]}; "
            "fill them, as with the mean of the others, or leave those samples out"
        )
    return Z


# ── Classes ───────────────────────────────────────────────────────────────────────────────────────


def check_classes(classes: Array, estimator: object) -> None:
    """At least two classes, or an error that says which one there is."""
    if len(classes) < 2:
        raise ValueError(
            f"{type(estimator).__name__} needs two classes or more, but the data contain 1 class "
            f"({plain(classes[0])!r}) only; pass samples of at least two classes"
        )


def present_labels(y: Array | None, weight: Array | None) -> Array:
    """The sorted labels of the samples that have weight."""
    if y is None:
        return np.zeros(1, dtype=np.intp)
    return np.unique(y if weight is None else y[weight > 0])


def which_are(positive: object, labels: Array, classes: Array) -> Array:
    """Which samples are of the positive class, (n,); at least one, or nothing can be scored."""
    check_same_kind(labels, classes)
    found = np.asarray(labels == positive)
    if not found.any():
        raise ValueError(
            f"there is no sample of the positive class {plain(positive)!r} to score; average "
            "precision needs at least one"
        )
    return found


def check_known_labels(y: Array | None, classes: Array) -> None:
    """Labels of a batch are among those announced."""
    labels = classes if y is None else np.unique(y)
    check_same_kind(labels, classes)
    unknown = np.setdiff1d(labels, classes)
    if len(unknown):
        raise ValueError(
            f"labels {unknown[:5].tolist()} were not there in the first call of partial_fit; "
            "announce all of them there with classes=..."
        )


def check_same_classes(classes: object, known: Array) -> None:
    """Classes that a later `partial_fit` names must be those of the first."""
    if classes is not None and not np.array_equal(np.unique(np.asarray(classes)), known):
        raise ValueError(
            f"classes are {np.unique(np.asarray(classes)).tolist()}, but partial_fit began with "
            f"{known.tolist()}; name the same ones or none, or start with a fresh estimator"
        )
