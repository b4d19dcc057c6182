"""Whatever comes from a user is checked here; scikit-learn's validators run nowhere else."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from math import isfinite, prod
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils.validation import (
    check_array,
    validate_data,
)

from tenfold.mathematics.accumulate import check_same_kind
from tenfold.mathematics.algebra import Array
from tenfold.mathematics.moments import ClassMoments
from tenfold.mathematics.stores import ArraySamples
from tenfold.validation.fitted import description_of
from tenfold.validation.labels import check_labels as check_labels
from tenfold.validation.large_input import as_source as as_source
from tenfold.validation.named_axes import named_samples, refuse_masked
from tenfold.validation.other_arrays import follow_array, in_numpy
from tenfold.validation.parameters import plain

FLOATS = (np.dtype(np.float64), np.dtype(np.float32))


def check_first_batch(
    estimator: Any, X: Any, y: Any, sample_weight: Any, classes: Any = None
) -> tuple[dict[str, Any], Any, Array | None, Array | None]:
    """What is to be known of samples before anything is learned from them, and the batch.

    The estimator stays as it is.

    Parameters
    ----------
    estimator : estimator
        Whose `sample_shape` and need of labels count.
    X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
        The samples; with ``estimator.sample_shape`` also flat rows of shape (n, I).
    y : array-like of shape (n,) or None
        The labels; of no account to an estimator that needs none.
    sample_weight : array-like of shape (n,) or None
        The weights.
    classes : array-like of shape (C,) or None
        All labels that will come; None means those of the batch.

    Returns
    -------
    (dict, samples, labels, weights)
        Attributes that a fitted estimator has, such as `sample_shape_`, and the checked batch.
    """
    seen = copy(estimator)
    X, y, weight = check_batch(seen, X, y, sample_weight, reset=True)
    if estimator._needs_labels:
        check_classes(present_labels(y, weight) if classes is None else np.unique(classes), seen)
    return description_of(seen), X, y, weight


def check_batch(
    estimator: Any, X: Any, y: Any, sample_weight: Any, reset: bool = False
) -> tuple[Any, Array | None, Array | None]:
    """Samples, labels and weights of one batch; labels and weights are always in memory."""
    if estimator._needs_labels and y is None:
        check_labels(estimator, X, y)
    X = check_samples(estimator, X, reset=reset)
    y = check_labels(estimator, X, y) if estimator._needs_labels else None
    return X, y, check_weights(X, sample_weight)


def check_samples(estimator: Any, X: Any, *, reset: bool = False) -> Any:
    """Samples as a finite numeric batch, neither copied nor cast.

    Parameters
    ----------
    estimator : estimator
        With `reset`, its `n_features_in_`, `feature_names_in_` and `sample_shape_` are set;
        otherwise the samples must agree with them.
    X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
        The samples; with ``estimator.sample_shape`` also flat rows of shape (n, I).
    reset : bool
        Whether the model is about to be fitted.

    Returns
    -------
    ndarray or Source of shape (n, I_1, ..., I_K)
        The batch, in its own dtype. A source is checked as its blocks are read. NaN is there only
        for an estimator that `takes_gaps`.
    """
    fitted_shape = None if reset else estimator.sample_shape_
    if _is_ready(estimator, X, fitted_shape):
        return X
    X = follow_array(X)
    named = named_samples(estimator, X, reset)
    X = X if named is None else named.values
    gaps = takes_gaps(estimator)
    X = unmasked(X) if gaps else refuse_masked(X)
    source = None if type(X) is np.ndarray else as_source(X)
    if source is not None:
        X = replace(source, gaps=True) if gaps and not isinstance(source, ArraySamples) else source
    else:
        X = _as_array(estimator, X, reset)
    shape = fitted_shape if fitted_shape is not None else _asked_shape(estimator)
    if X.ndim == 2 and shape is not None and X.shape[1] == prod(shape):
        X = X.reshape(len(X), *shape)
    if shape is not None and X.shape[1:] != tuple(shape):
        single = " (for a single sample pass X[None])" if X.shape == fitted_shape else ""
        raise ValueError(_shape_complaint(X.shape[1:], tuple(shape), reset) + single)
    if reset:
        estimator.sample_shape_ = X.shape[1:]
        estimator.n_features_in_ = prod(X.shape[1:])
        if named is not None:
            named.remember(estimator, X.shape[1:])
    return X


def takes_gaps(estimator: Any) -> bool:
    """Whether the samples of an estimator may hold NaN: those of `GaussianImputer` alone."""
    return bool(getattr(estimator, "takes_gaps", False))


def unmasked(X: Any) -> Any:
    """X without a mask: with NaN where it was masked."""
    if not isinstance(X, np.ma.MaskedArray):
        return X
    return X.astype(X.dtype if X.dtype.kind == "f" else float).filled(np.nan)


def _is_ready(estimator: Any, X: Any, fitted_shape: tuple[int, ...] | None) -> bool:
    """A finite float array of the fitted shape: nothing to check that takes longer than scoring."""
    return (
        fitted_shape is not None
        and type(X) is np.ndarray
        and X.dtype in FLOATS
        and X.shape[1:] == fitted_shape
        and len(X) > 0
        and X.flags.c_contiguous  # of others the product below would make copies
        and "feature_names_in_" not in vars(estimator)
        and isfinite(_squares(X))  # of large numbers it is not: then the slower checks decide
    )


def _squares(X: Array) -> float:
    """The sum of all squares.

    Of many samples one by one: BLAS shares a long product out over threads, and these wait busily
    for more while the samples are scored.
    """
    if len(X) == 1:
        return float(np.vdot(X, X))
    flat = X.reshape(len(X), -1)
    with np.errstate(over="ignore"):
        return float(np.vecdot(flat, flat).sum())


def _as_array(estimator: Any, X: Any, reset: bool) -> Array:
    if isinstance(X, list | tuple):
        try:
            X = np.asarray(X)
        except ValueError as error:
            raise ValueError(
                "the samples do not all have the same shape, so they form no array; "
                f"pad, crop or resample them to one shape first ({error})"
            ) from error
    if isinstance(X, np.ndarray) and X.dtype.kind == "f" and X.dtype.itemsize > 8:
        with np.errstate(over="ignore"):  # what is too large becomes infinite, and is refused
            X = X.astype(np.float64)
    finite: Any = "allow-nan" if takes_gaps(estimator) else True
    try:
        with np.errstate(invalid="ignore"):  # infinities of both signs
            if getattr(X, "ndim", 2) > 2:
                kept = {"estimator": estimator, "input_name": "X", "ensure_all_finite": finite}
                X = check_array(X, allow_nd=True, **kept)
            else:
                X = validate_data(estimator, X, reset=reset, ensure_all_finite=finite)
    except ValueError as error:
        single = not reset and np.shape(X) == estimator.sample_shape_
        raise ValueError(_with_advice(str(error), single)) from error
    if 0 in X.shape:  # there are samples, which were counted above
        raise ValueError(
            f"samples have shape {X.shape[1:]}, so they hold no numbers; every mode needs at least "
            "1 entry; drop the mode, or pass samples that have some"
        )
    return X


def _with_advice(complaint: str, single: bool) -> str:
    """What scikit-learn says of an array, and what to do about it where it does not say so."""
    if single and "features, but" in complaint:
        return f"{complaint.rstrip('.')}; for a single sample pass X[None]"
    advice = {
        "infinity": "every number must be finite; repair or drop those samples",
        "contains NaN": "complete gaps first, as make_pipeline(GaussianImputer(), ...) does",
        "could not convert": "every entry must be a number; encode or drop those that are none",
        "0 sample(s)": "pass at least one sample",
        "0 feature(s)": "pass samples that hold some numbers",
        "features, but": "pass samples of the shape that was fitted, or fit again",
    }
    if "contains NaN" in complaint:
        complaint = complaint.splitlines()[0]  # the rest is about other libraries
    fitting = [text for words, text in advice.items() if words in complaint]
    return "; ".join([complaint.rstrip("."), *fitting])


def _asked_shape(estimator: Any) -> tuple[int, ...] | None:
    shape = estimator.sample_shape
    if shape is None:
        return None
    shape = shape.tolist() if isinstance(shape, np.ndarray) else shape
    shape = (shape,) if isinstance(shape, Integral) else shape
    is_sequence = isinstance(shape, Sequence) and len(shape) > 0
    if not is_sequence or not all(isinstance(size, Integral) and size > 0 for size in shape):
        raise ValueError(
            f"sample_shape is {estimator.sample_shape!r}; expected positive integers, one per "
            "mode, such as (40, 30)"
        )
    return tuple(int(size) for size in shape)


def _shape_complaint(came: tuple[int, ...], expected: tuple[int, ...], reset: bool) -> str:
    if reset:
        return (
            f"samples have shape {came}, which is {prod(came)} numbers each, but sample_shape is "
            f"{expected}, which is {prod(expected)}; pass rows of {prod(expected)} numbers, "
            "or change sample_shape"
        )
    advice = "transpose them, or fit again" if came == expected[::-1] else "reshape or fit again"
    return f"samples have shape {came}, but this model was fitted on {expected}; {advice}"


def check_weights(X: Array, sample_weight: Any) -> Array | None:
    """Finite, non-negative weights with a positive sum, or None when all are 1."""
    if sample_weight is None:
        return None
    options = {"ensure_2d": False, "ensure_min_samples": 0, "dtype": float}
    given = in_numpy(refuse_masked(sample_weight, name="sample_weight"), "sample_weight")
    weights = check_array(given, input_name="sample_weight", **options)
    if weights.shape != (len(X),):
        raise ValueError(
            f"sample_weight has shape {weights.shape}, but there are {len(X)} samples; "
            "pass one weight per sample"
        )
    with np.errstate(over="ignore"):
        least, total = float(weights.min()), float(weights.sum())
    if not np.isfinite(total):
        raise ValueError(
            "sample_weight sums to more than a float64 holds; divide all weights by a large number"
        )
    if least < 0:
        raise ValueError(
            f"sample_weight holds negative numbers (the least is {least:g}); "
            "weights must be 0 or more"
        )
    if total == 0:
        raise ValueError("sample_weight sums to zero, so no sample counts; give some a weight")
    return weights


def check_projected(X: Any, ranks: tuple[int, ...]) -> Any:
    """Samples that `transform` of a model with these ranks returned, flat or not."""
    X = follow_array(X)
    Y: Any = as_source(X)
    if Y is None:
        Y = check_array(X, dtype=[np.float64, np.float32], allow_nd=True, input_name="X")
    if Y.shape[1:] not in (ranks, (prod(ranks),)):
        raise ValueError(
            f"projected samples have shape {Y.shape[1:]}, but this model projects onto {ranks}, or "
            f"{prod(ranks)} numbers in flat rows; pass what transform returned"
        )
    return Y


def check_moments(estimator: Any, moments: Any) -> tuple[dict[str, Any], ClassMoments]:
    """What is to be known of the samples, and moments of the classes that the estimator sees."""
    if not isinstance(moments, ClassMoments):
        raise ValueError(
            f"moments is a {type(moments).__name__}; expected ClassMoments, as gather_moments "
            "gives them"
        )
    if not moments.counts.any():
        raise ValueError("the moments are of no samples; gather some first")
    moments = moments.by_class()
    moments = moments.present() if estimator._needs_labels else moments.pooled()
    shape = _asked_shape(estimator) or moments.shape
    if prod(shape) != prod(moments.shape) or (len(moments.shape) > 1 and shape != moments.shape):
        raise ValueError(_shape_complaint(moments.shape, shape, True))
    if estimator._needs_labels:
        check_classes(moments.classes, estimator)
    described = {"sample_shape_": shape, "n_features_in_": prod(shape)}
    return described, replace(moments, means=moments.means.reshape(-1, *shape))


def check_classes(classes: Array, estimator: Any) -> None:
    """At least two classes, or an error that says which one there is."""
    if len(classes) < 2:
        raise ValueError(
            f"{type(estimator).__name__} tells classes apart, but the data hold 1 class "
            f"({plain(classes[0])!r}) only; pass samples of at least two classes"
        )


def present_labels(y: Array | None, weight: Array | None) -> Array:
    """The sorted labels of the samples that have weight."""
    if y is None:
        return np.zeros(1, dtype=np.intp)
    return np.unique(y if weight is None else y[weight > 0])


def announced_labels(y: Array | None, weight: Array | None, classes: Any) -> Array:
    """All labels that will come: those announced, or those there; without labels a single class."""
    return present_labels(y, weight) if y is None or classes is None else np.unique(classes)


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


def check_same_classes(classes: Any, known: Array) -> None:
    """Classes that a later `partial_fit` names must be those of the first."""
    if classes is not None and not np.array_equal(np.unique(np.asarray(classes)), known):
        raise ValueError(
            f"classes are {np.unique(np.asarray(classes)).tolist()}, but partial_fit began with "
            f"{known.tolist()}; name the same ones or none, or start with a fresh estimator"
        )
