"""Samples that come from a user are checked here; scikit-learn's validators run nowhere else.

And what a fitted estimator has, against what is asked of it. What samples may come in is said in
`containers` and `named_axes`; labels, groups and covariates are checked in `labels`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from math import isfinite, prod
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from tenfold.linalg.algebra import Array
from tenfold.statistics.moments import ClassMoments
from tenfold.statistics.stores import ArraySamples, Source
from tenfold.validation.containers import (
    as_source,
    follow_array,
    in_numpy,
    refuse_masked,
    unmasked,
)
from tenfold.validation.labels import check_classes, check_labels, present_labels
from tenfold.validation.named_axes import NamedSamples, named_samples
from tenfold.validation.ranges import check_range, limit_of, range_of

FLOATS = (np.dtype(np.float64), np.dtype(np.float32))


def check_first_batch(
    estimator: Any, X: object, y: Any, sample_weight: object, classes: Any = None
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
    seen = copy(estimator)  # scikit-learn's validators set attributes
    for name in NAMES:  # those of an earlier fit
        vars(seen).pop(name, None)
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
    weight = None if sample_weight is None else check_weights(X, sample_weight)
    return X, y, weight


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
    if not reset and _is_ready(estimator, X):
        return X
    named = None
    if type(X) is not np.ndarray:
        X, named = _from_container(estimator, X)
    if not isinstance(X, Source):
        X = _as_array(estimator, X, reset)
    fitted_shape = None if reset else estimator.sample_shape_
    shape = fitted_shape
    if reset and estimator.sample_shape is not None:
        shape = _asked_shape(estimator)
    if X.ndim == 2 and shape is not None and X.shape[1] == prod(shape):
        X = X.reshape(len(X), *shape)
    if shape is not None and X.shape[1:] != tuple(shape):
        single = " (for a single sample pass X[None])" if X.shape == fitted_shape else ""
        raise ValueError(_shape_complaint(X.shape[1:], tuple(shape), reset) + single)
    if reset:
        estimator.sample_shape_ = X.shape[1:]
        estimator.n_features_in_ = prod(X.shape[1:])
        if estimator._knows_range:
            estimator.range_, X = range_of(X)
        if named is not None and X.shape == tuple(named.values.shape):  # not folded
            estimator.mode_names_ = named.mode_names
            estimator.mode_labels_ = named.mode_labels
        return X
    return check_range(estimator, X)


def _is_ready(estimator: Any, X: object) -> bool:
    """Whether X is a finite float array of the fitted shape, not far outside of the known range.

    Scikit-learn's validators take longer than scoring a sample. Here the sum of squares decides:
    where it is not finite or too large, they do.
    """
    has_form = (
        type(X) is np.ndarray
        and X.dtype in FLOATS
        and X.shape[1:] == estimator.sample_shape_
        and len(X) > 0
        and X.flags.forc  # others would be copied
        and "feature_names_in_" not in vars(estimator)
    )
    if not has_form:
        return False
    flat = X.ravel(order="K")
    squares = float(np.vdot(flat, flat))
    if not isfinite(squares):
        return False
    limit = limit_of(estimator)
    return limit is None or 2 * squares <= len(X) * limit * limit


def _from_container(estimator: Any, X: Any) -> tuple[Any, NamedSamples | None]:
    """Samples that are not simply a NumPy array: a source, or what can become an array; names."""
    X = follow_array(X)
    named = named_samples(estimator, X)
    X = X if named is None else named.values
    X = unmasked(X) if estimator.takes_gaps else refuse_masked(X)
    source = None if type(X) is np.ndarray else as_source(X)
    if source is None:
        return X, named
    if estimator.takes_gaps and not isinstance(source, ArraySamples):
        source = replace(source, gaps=True)
    return source, named


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
    finite: Any = "allow-nan" if estimator.takes_gaps else True
    try:
        with np.errstate(invalid="ignore"):  # infinities of both signs
            if getattr(X, "ndim", 2) > 2:
                kept = {"estimator": estimator, "input_name": "X", "ensure_all_finite": finite}
                X = check_array(X, allow_nd=True, **kept)
            else:
                X = validate_data(estimator, X, reset=reset, ensure_all_finite=finite)
    except ValueError as error:
        advice = _advice(X, None if reset else estimator.sample_shape_)
        complaint = str(error).splitlines()[0]  # the rest is about other libraries
        raise ValueError("; ".join([complaint.rstrip(".:"), *advice])) from error
    if 0 in X.shape:  # there are samples, which were counted above
        raise ValueError(
            f"samples have shape {X.shape[1:]}, so they hold no numbers; every mode needs at least "
            "1 entry; drop the mode, or pass samples that have some"
        )
    return X


def _advice(X: object, fitted_shape: tuple[int, ...] | None) -> list[str]:
    """What to do about samples that scikit-learn refuses."""
    if not isinstance(X, np.ndarray):
        X = np.asarray(X)
    if X.shape == fitted_shape:
        return ["Reshape your data: for a single sample pass X[None]"]
    if X.ndim == 0:
        return [f"X is {X.item()!r:.80}. Reshape your data: pass an array, samples first"]
    if X.ndim == 1:
        return ["Reshape your data: X[None] for a single sample, X[:, None] for single numbers"]
    if len(X) == 0:
        return ["pass at least one sample"]
    if X.size == 0:
        return ["pass samples that hold some numbers"]
    if X.dtype.kind not in "biufc":
        return ["every entry must be a number; encode or drop those that are none"]
    if X.dtype.kind == "f" and np.isnan(X).any():
        return ["complete gaps first, as make_pipeline(GaussianImputer(), ...) does"]
    if X.dtype.kind == "f" and not np.isfinite(X).all():
        return ["every number must be finite; repair or drop those samples"]
    if fitted_shape is not None and X.shape[1:] != fitted_shape:
        return ["pass samples of the shape that was fitted, or fit again"]
    return []


def _asked_shape(estimator: Any) -> tuple[int, ...] | None:
    """The parameter `sample_shape` as a tuple."""
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


def check_weights(X: Array, sample_weight: object) -> Array | None:
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
        least = float(weights.min())
        total = float(weights.sum())
    if not (least >= 0 and 0 < total < np.inf):
        raise ValueError(
            f"sample_weight has the least number {least:g} and the sum {total:g}; expected weights "
            "of 0 or more, not all of them zero, with a sum that a float64 holds"
        )
    return weights


def check_projected(X: object, ranks: tuple[int, ...]) -> Any:
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
    moments = moments.present() if estimator._needs_labels else moments.pooled()
    shape = _asked_shape(estimator) or moments.shape
    if prod(shape) != prod(moments.shape) or (len(moments.shape) > 1 and shape != moments.shape):
        raise ValueError(_shape_complaint(moments.shape, shape, True))
    if estimator._needs_labels:
        check_classes(moments.classes, estimator)
    described = {"sample_shape_": shape, "n_features_in_": prod(shape)}
    return described, replace(moments, means=moments.means.reshape(-1, *shape))


# ── What a fitted estimator has ───────────────────────────────────────────────────────────────────

NAMES = ("feature_names_in_", "mode_names_", "mode_labels_")
DESCRIPTION = ("sample_shape_", "n_features_in_", "range_", *NAMES)


def check_fitted(estimator: object, attribute: str) -> None:
    """Refuse an estimator that lacks this learned attribute, as scikit-learn does it.

    Scikit-learn makes all tags of an estimator first, which takes as long as scoring a sample.
    """
    if attribute not in vars(estimator):
        check_is_fitted(estimator, attribute)


def description_of(estimator: object) -> dict[str, Any]:
    """What an estimator knows of the samples that it was fitted on."""
    found = {name: getattr(estimator, name) for name in DESCRIPTION if hasattr(estimator, name)}
    if "sample_shape_" not in found and "n_features_in_" in found:  # scikit-learn's take rows
        found["sample_shape_"] = (int(found["n_features_in_"]),)
    return found


def described_with(estimator: object, X: object) -> tuple[dict[str, Any], Any]:
    """What a fitted estimator knows of its samples and of a further batch, and that batch."""
    described = description_of(estimator)
    if "range_" in described:
        described["range_"], X = range_of(X, described["range_"])
    return described, X


def of_samples(described: Mapping[str, object]) -> dict[str, Any]:
    """What is known of the samples, without what a method learned of them before its statistics."""
    return {name: value for name, value in described.items() if name in DESCRIPTION}


def check_output(estimator: object, ndim: int) -> str:
    """What `set_output` asks for; it must be able to hold an array with so many axes."""
    container = str(_get_output_config("transform", estimator)["dense"])
    if ndim > 2 and container != "default":
        raise ValueError(
            f"set_output asks for {container}, whose rows are flat, but samples with several modes "
            "come out here; use output='flat' where there is that parameter, flat rows as samples, "
            "or set_output(transform='default')"
        )
    return container


def check_kept_moments(estimator: object) -> ClassMoments:
    """The moments that an estimator kept, for more to be added."""
    if not hasattr(estimator, "moments_"):
        raise ValueError(
            f"this {type(estimator).__name__} was fitted without keeping the moments of its "
            "samples, so partial_fit cannot add to it; start with partial_fit, to keep them (and "
            "in files with save(..., moments=True))"
        )
    moments: ClassMoments = estimator.moments_
    return moments
