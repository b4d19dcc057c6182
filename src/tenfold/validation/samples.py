"""Samples that come from a user are checked here; scikit-learn's validators run nowhere else.

And what a fitted estimator has, against what is asked of it. What samples may come in is said in
`containers` and `named_axes`; labels, groups and covariates are checked in `labels`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isfinite, prod
from numbers import Integral
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import (
    _get_feature_names,
    check_array,
    check_is_fitted,
    validate_data,
)

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
from tenfold.validation.labels import (
    check_classes,
    check_labels,
    missing_labels,
    present_labels,
)
from tenfold.validation.named_axes import NamedSamples, named_samples
from tenfold.validation.parameter_types import SampleShape
from tenfold.validation.parameters import ParameterError
from tenfold.validation.ranges import check_range, limit_of, range_of

Samples: TypeAlias = Array | Source  # checked, of shape (n, I_1, ..., I_K)
InputInfo: TypeAlias = Mapping[str, Any]  # what a fitted estimator knows of its samples, by name

FLOATS = (np.dtype(np.float64), np.dtype(np.float32))


class Takes(Protocol):
    """An estimator that says what samples it takes."""

    @property
    def sample_shape(self) -> SampleShape:
        """Into which shape flat rows are folded; None for no folding."""
        ...

    @property
    def takes_gaps(self) -> bool:
        """Whether NaN may come."""
        ...

    @property
    def _needs_labels(self) -> bool: ...

    @property
    def _knows_range(self) -> bool: ...


class Fitted(Takes, Protocol):
    """An estimator that knows the samples that it was fitted on."""

    sample_shape_: tuple[int, ...]


def check_first_batch(
    estimator: Takes,
    X: object,
    y: object,
    sample_weight: object,
    classes: ArrayLike | None = None,
    more_will_come: bool = False,
) -> tuple[InputInfo, Samples, Array | None, Array | None]:
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
    more_will_come : bool, default=False
        Whether a batch of one class will do, since others may come later.

    Returns
    -------
    (dict, samples, labels, weights)
        Attributes that a fitted estimator has, such as `sample_shape_`, and the checked batch.
    """
    if estimator._needs_labels and y is None:
        raise missing_labels(estimator)
    info, samples = first_samples(estimator, X)
    labels = check_labels(estimator, samples, y) if estimator._needs_labels else None
    weight = None if sample_weight is None else check_weights(samples, sample_weight)
    if labels is not None and not (more_will_come and classes is None):
        expected = present_labels(labels, weight) if classes is None else np.unique(classes)
        check_classes(expected, estimator)
    return info, samples, labels, weight


def check_batch(
    estimator: Fitted, X: object, y: object, sample_weight: object
) -> tuple[Samples, Array | None, Array | None]:
    """A batch for a fitted estimator; labels and weights are always in memory."""
    if estimator._needs_labels and y is None:
        raise missing_labels(estimator)
    samples = check_samples(estimator, X)
    labels = check_labels(estimator, samples, y) if estimator._needs_labels else None
    weight = None if sample_weight is None else check_weights(samples, sample_weight)
    return samples, labels, weight


def first_samples(estimator: Takes, X: object) -> tuple[InputInfo, Samples]:
    """Samples that nothing is known of before, and what is known of them now.

    Parameters
    ----------
    estimator : estimator
        Stays as it is.
    X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
        The samples; with ``estimator.sample_shape`` also flat rows of shape (n, I).

    Returns
    -------
    (dict, ndarray or Source of shape (n, I_1, ..., I_K))
        `n_features_in_`, `sample_shape_` and the like, and the samples in their own dtype, neither
        copied nor cast. A source is checked as its blocks are read. NaN is there only for an
        estimator that `takes_gaps`.
    """
    named = None
    columns = None
    if type(X) is not np.ndarray:
        X, named = _from_container(estimator, X, None, None)
        columns = None if isinstance(X, Source) else _get_feature_names(X)
    samples = X if isinstance(X, Source) else _as_array(estimator, X, None)
    if estimator.sample_shape is not None:
        samples = _folded(samples, _asked_shape(estimator.sample_shape), is_fitted=False)
    shape = samples.shape[1:]
    info: dict[str, Any] = {"sample_shape_": shape, "n_features_in_": prod(shape)}
    if estimator._knows_range:
        info["range_"], samples = range_of(samples)
    if columns is not None:
        info["feature_names_in_"] = columns
    if named is not None and samples.shape == tuple(named.values.shape):  # not folded
        info["mode_names_"] = named.mode_names
        info["mode_labels_"] = named.mode_labels
    return info, samples


def check_samples(estimator: Fitted, X: object) -> Samples:
    """Samples for a fitted estimator as a finite numeric batch, neither copied nor cast.

    Parameters
    ----------
    estimator : estimator
        The samples must agree with its `n_features_in_`, `feature_names_in_` and `sample_shape_`.
    X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
        The samples; also flat rows of shape (n, I).

    Returns
    -------
    ndarray or Source of shape (n, I_1, ..., I_K)
        The batch, in its own dtype. A source is checked as its blocks are read. NaN is there only
        for an estimator that `takes_gaps`.
    """
    if isinstance(X, np.ndarray) and _is_ready(estimator, X):
        return X
    if type(X) is not np.ndarray:
        names = getattr(estimator, "mode_names_", None)
        X, _ = _from_container(estimator, X, names, getattr(estimator, "mode_labels_", None))
    shape = estimator.sample_shape_
    samples = X if isinstance(X, Source) else _as_array(estimator, X, shape)
    return check_range(estimator, _folded(samples, shape, is_fitted=True))


def _folded(X: Samples, shape: tuple[int, ...], is_fitted: bool) -> Samples:
    """Samples of this shape, from such or from flat rows."""
    if X.shape[1:] == shape:
        return X
    if X.ndim == 2 and X.shape[1] == prod(shape):
        return X.reshape(len(X), *shape)
    single = " (for a single sample pass X[None])" if is_fitted and X.shape == shape else ""
    raise ValueError(_shape_complaint(X.shape[1:], shape, not is_fitted) + single)


def _is_ready(estimator: Fitted, X: Array) -> bool:
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


def _from_container(
    estimator: Takes,
    X: object,
    names: tuple[str, ...] | None,
    labels: Sequence[Array | None] | None,
) -> tuple[object, NamedSamples | None]:
    """Samples that are not simply a NumPy array: a source, or what can become an array; names."""
    X = follow_array(X)
    named = named_samples(X, names, labels)
    X = X if named is None else named.values
    X = unmasked(X) if estimator.takes_gaps else refuse_masked(X)
    source = None if type(X) is np.ndarray else as_source(X)
    if source is None:
        return X, named
    if estimator.takes_gaps and not isinstance(source, ArraySamples):
        source = replace(source, gaps=True)  # type: ignore[type-var]  # a dataclass, as all are
    return source, named


def _as_array(estimator: Takes, X: object, fitted_shape: tuple[int, ...] | None) -> Array:
    """Samples as an array of finite numbers; rows for a fitted estimator agree with its columns."""
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
    finite = "allow-nan" if estimator.takes_gaps else True
    is_deep = getattr(X, "ndim", 2) > 2
    try:
        with np.errstate(invalid="ignore"):  # infinities of both signs
            if is_deep or fitted_shape is None:
                found = check_array(
                    X,
                    allow_nd=is_deep,
                    estimator=estimator,
                    input_name="X",
                    ensure_all_finite=finite,
                )
            else:
                found = validate_data(estimator, X, reset=False, ensure_all_finite=finite)
    except ValueError as error:
        complaint = str(error).splitlines()[0]  # the rest is about other libraries
        advice = _advice(X, fitted_shape)
        raise ValueError("; ".join([complaint.rstrip(".:"), *advice])) from error
    if 0 in found.shape:  # there are samples, which were counted above
        raise ValueError(
            f"samples have shape {found.shape[1:]}, so they hold no numbers; every mode needs at "
            "least 1 entry; drop the mode, or pass samples that have some"
        )
    return np.asarray(found)


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
        return [
            "complete gaps first, as make_pipeline(GaussianImputer(), ...) and tenfold fit "
            "--impute do"
        ]
    if X.dtype.kind == "f" and not np.isfinite(X).all():
        return ["every number must be finite; repair or drop those samples"]
    if fitted_shape is not None and X.shape[1:] != fitted_shape:
        return ["pass samples of the shape that was fitted, or fit again"]
    return []


def _asked_shape(asked: SampleShape) -> tuple[int, ...]:
    """The parameter `sample_shape` as a tuple."""
    shape: object = asked.tolist() if isinstance(asked, np.ndarray) else asked
    shape = (shape,) if isinstance(shape, Integral) else shape
    sizes = list(shape) if isinstance(shape, Sequence) else []
    if not sizes or not all(isinstance(size, Integral) and int(size) > 0 for size in sizes):
        raise ParameterError(
            f"sample_shape is {asked!r}; expected positive integers, one per mode, such as "
            "(40, 30)",
            "sample_shape",
            asked,
        )
    return tuple(int(size) for size in sizes)


def _shape_complaint(came: tuple[int, ...], expected: tuple[int, ...], reset: bool) -> str:
    if reset and prod(came) == prod(expected):
        return (
            f"samples have shape {came}, but sample_shape is {expected}, which folds flat rows "
            "only; pass X.reshape(len(X), -1), or leave sample_shape out"
        )
    if reset:
        return (
            f"samples have shape {came}, which is {prod(came)} numbers each, but sample_shape is "
            f"{expected}, which is {prod(expected)}; pass rows of {prod(expected)} numbers, "
            "or change sample_shape"
        )
    advice = "transpose them, or fit again" if came == expected[::-1] else "reshape or fit again"
    return f"samples have shape {came}, but this model was fitted on {expected}; {advice}"


def check_weights(X: Samples, sample_weight: object) -> Array | None:
    """Finite, non-negative weights with a positive sum, or None when all are 1."""
    if sample_weight is None:
        return None
    options = {"ensure_2d": False, "ensure_min_samples": 0, "dtype": float}
    given = in_numpy(refuse_masked(sample_weight, name="sample_weight"), "sample_weight")
    weights = np.asarray(check_array(given, input_name="sample_weight", **options))
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


def check_projected(X: object, ranks: tuple[int, ...]) -> Samples:
    """Samples that `transform` of a model with these ranks returned, flat or not."""
    X = follow_array(X)
    Y: Samples | None = as_source(X)
    if Y is None:
        floats = [np.float64, np.float32]
        Y = np.asarray(check_array(X, dtype=floats, allow_nd=True, input_name="X"))
    if Y.shape[1:] not in (ranks, (prod(ranks),)):
        raise ValueError(
            f"projected samples have shape {Y.shape[1:]}, but this model projects onto {ranks}, or "
            f"{prod(ranks)} numbers in flat rows; pass what transform returned"
        )
    return Y


def check_moments(estimator: Takes, moments: object) -> tuple[InputInfo, ClassMoments]:
    """What is to be known of the samples, and moments of the classes that the estimator sees."""
    moments = check_gathered(moments)
    moments = moments.present() if estimator._needs_labels else moments.pooled()
    shape = moments.shape
    if estimator.sample_shape is not None:
        shape = _asked_shape(estimator.sample_shape)
    if prod(shape) != prod(moments.shape) or (len(moments.shape) > 1 and shape != moments.shape):
        raise ValueError(_shape_complaint(moments.shape, shape, True))
    if estimator._needs_labels:
        check_classes(moments.classes, estimator)
    info = {"sample_shape_": shape, "n_features_in_": prod(shape)}
    return info, replace(moments, means=moments.means.reshape(-1, *shape))


def check_gathered(moments: object) -> ClassMoments:
    """Moments of some samples, as they came."""
    if not isinstance(moments, ClassMoments):
        raise ValueError(
            f"moments is a {type(moments).__name__}; expected ClassMoments, as gather_moments "
            "gives them"
        )
    if not moments.counts.any():
        raise ValueError("the moments are of no samples; gather some first")
    return moments


# ── What a fitted estimator has ───────────────────────────────────────────────────────────────────

DESCRIPTION = (
    "sample_shape_",
    "n_features_in_",
    "range_",
    "feature_names_in_",
    "mode_names_",
    "mode_labels_",
)


def check_fitted(estimator: object, attribute: str) -> None:
    """Refuse an estimator that lacks this learned attribute, as scikit-learn does it.

    Scikit-learn makes all tags of an estimator first, which takes as long as scoring a sample.
    """
    if attribute not in vars(estimator):
        check_is_fitted(estimator, attribute)


def input_info_of(estimator: object) -> InputInfo:
    """What an estimator knows of the samples that it was fitted on."""
    found = {name: getattr(estimator, name) for name in DESCRIPTION if hasattr(estimator, name)}
    if "sample_shape_" not in found and "n_features_in_" in found:  # scikit-learn's take rows
        found["sample_shape_"] = (int(found["n_features_in_"]),)
    return found


def input_info_with(estimator: object, X: Samples) -> tuple[InputInfo, Samples]:
    """What a fitted estimator knows of its samples and of a further batch, and that batch."""
    info = dict(input_info_of(estimator))
    if "range_" in info:
        info["range_"], X = range_of(X, info["range_"])
    return info, X


def of_samples(input_info: InputInfo) -> InputInfo:
    """What is known of the samples, without what a method learned of them before its statistics."""
    return {name: value for name, value in input_info.items() if name in DESCRIPTION}


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
