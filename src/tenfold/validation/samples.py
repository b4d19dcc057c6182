"""Data that come from a user are checked here; scikit-learn's validators run nowhere else.

Samples, labels (one per sample, all of one kind, none of them missing), weights, groups (those that
are held out together, and those of one class) and covariates (numbers that come along with each
sample); and what a fitted estimator has, against what is asked of it. They may come as

stores, Dask arrays             read block by block
arrays of other libraries       PyTorch's tensors, and what follows the array API standard. As in
                                scikit-learn, arrays of another library come out where such go in,
                                if ``sklearn.set_config(array_api_dispatch=True)`` says so; without
                                it they are read as NumPy arrays, and NumPy arrays come out
named axes                      xarray's DataArrays, and tables with several levels of columns. Axis
                                0 counts samples when a model is fitted; the other axes are its
                                modes. Later samples may have their axes, and the entries along
                                them, in any order: names put them right

Nothing here imports such a library: who passes its objects has it.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import product
from math import isfinite, prod
from numbers import Integral, Number
from typing import Any, NamedTuple

import numpy as np
from sklearn import get_config
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    check_array,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from tenfold.linalg.algebra import Array, namespace_of, to_numpy
from tenfold.quiet import warn
from tenfold.statistics.accumulate import check_same_kind
from tenfold.statistics.moments import ClassMoments
from tenfold.statistics.stores import ArraySamples, Range, Source, StoredSamples, is_stored
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
    seen = object.__new__(type(estimator))  # a copy with all that it has
    vars(seen).update(vars(estimator))
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
        if knows_range(estimator):
            estimator.range_, X = range_of(X)
        if named is not None and X.shape == tuple(named.values.shape):  # not folded
            estimator.mode_names_, estimator.mode_labels_ = named.mode_names, named.mode_labels
        return X
    return _with_range_checked(estimator, X)


def takes_gaps(estimator: Any) -> bool:
    """Whether the samples of an estimator may hold NaN: those of `GaussianImputer` alone."""
    return bool(getattr(estimator, "takes_gaps", False))


def unmasked(X: Any) -> Any:
    """X without a mask: with NaN where it was masked."""
    if not isinstance(X, np.ma.MaskedArray):
        return X
    return X.astype(X.dtype if X.dtype.kind == "f" else float).filled(np.nan)


def refuse_masked(X: Any, name: str = "X") -> Any:
    """X without its mask, or an error when it hides numbers."""
    if not isinstance(X, np.ma.MaskedArray):
        return X
    hidden = int(np.ma.getmaskarray(X).sum())
    if hidden:
        raise ValueError(
            f"{name} is a masked array with {hidden} masked values, and each must be known; "
            + "complete samples first, as make_pipeline(GaussianImputer(), ...) does, "
            * (name == "X")
            + f"fill them, as with {name}.filled(0), or drop those samples"
        )
    return X.data


def _is_ready(estimator: Any, X: Any, fitted_shape: tuple[int, ...] | None) -> bool:
    """A finite float array of the fitted shape: nothing to check that takes longer than scoring."""
    return (
        fitted_shape is not None
        and type(X) is np.ndarray
        and X.dtype in FLOATS
        and X.shape[1:] == fitted_shape
        and len(X) > 0
        and "feature_names_in_" not in vars(estimator)
        and _is_within(estimator, X)
    )


def _is_within(estimator: Any, X: Array) -> bool:
    """Whether all numbers are finite and most not far outside of the range of training samples.

    One product decides: where it is not finite or too large, the slower checks do.
    """
    if not X.flags.forc:  # it would be copied
        return False
    flat = X.ravel(order="K")
    squares = float(np.vdot(flat, flat))
    if not isfinite(squares):
        return False
    limit = _limit_of(estimator)
    return limit is None or 2 * squares <= len(X) * limit * limit


# ── The range of training samples ─────────────────────────────────────────────────────────────────

FAR = 10.0  # times the largest magnitude of all training samples


def knows_range(estimator: Any) -> bool:
    """Whether an estimator keeps the range of its training samples."""
    return bool(getattr(estimator, "_knows_range", False))


def range_of(X: Any, known: Array | None = None) -> tuple[Array | Range, Any]:
    """The range of samples, and the samples: of a source it is known when all blocks are read.

    Parameters
    ----------
    X : ndarray or Source of shape (n, I_1, ..., I_K)
        Checked samples.
    known : ndarray of shape (2,) or None
        The range of those before.

    Returns
    -------
    (ndarray of shape (2,) or Range, samples)
        The samples are to be used in place of X.
    """
    if isinstance(X, Source) and not isinstance(X, ArraySamples):
        seen = Range() if known is None else Range(*known.tolist())
        return seen, replace(X, seen=seen)
    low, high = X.range() if isinstance(X, ArraySamples) else (float(X.min()), float(X.max()))
    if known is not None:
        low, high = min(low, known[0]), max(high, known[1])
    return np.array([low, high]), X


def with_range(described: Mapping[str, Any]) -> dict[str, Any]:
    """What is known of samples, all of which are read by now."""
    found = dict(described)
    seen = found.get("range_")
    if isinstance(seen, Range):
        found["range_"] = seen.bounds()
    return found


def described_with(estimator: Any, X: Any) -> tuple[dict[str, Any], Any]:
    """What a fitted estimator knows of its samples and of a further batch, and that batch."""
    described = description_of(estimator)
    if "range_" in described:
        described["range_"], X = range_of(X, described["range_"])
    return described, X


def _limit_of(estimator: Any) -> float | None:
    """The magnitude from which on numbers are far outside; None where no range is known."""
    known = vars(estimator).get("range_")
    if known is None or not knows_range(estimator):
        return None
    low, high = known.tolist()
    limit = FAR * max(-low, high)
    return limit if limit > 0 else None  # of nothing but zeros no scale is known


@dataclass
class RangeWatch:
    """Warns of blocks of samples that are far outside of a range, once."""

    limit: float
    warned: bool = False

    def add(self, block: Array) -> None:
        """Look at one block (m, I_1, ..., I_K).

        Half of its samples at least must hold such a number: outliers do not count.
        """
        if self.warned or not len(block):
            return
        flat = block.reshape(len(block), -1)
        largest = np.maximum(flat.max(axis=1), -flat.min(axis=1).astype(float))
        typical = float(np.median(largest))
        if typical > self.limit:
            self.warned = True
            warn(
                f"samples hold numbers up to {typical:.3g}, but no number of the training samples "
                f"was larger than {self.limit / FAR:.3g}; scale them as the training samples were "
                "scaled (tenfold.datasets.load divides pixels from 0 to 255 by 255), or fit again",
                UserWarning,
                stacklevel=5,
            )


def _with_range_checked(estimator: Any, X: Any) -> Any:
    """Samples for a fitted model: an error where squares overflow, a warning where all are far."""
    limit = _limit_of(estimator)
    if isinstance(X, StoredSamples):
        return X if limit is None else replace(X, seen=RangeWatch(limit))
    if isinstance(X, Source) or not knows_range(estimator):
        return X
    if limit is not None:
        RangeWatch(limit).add(X)
    if X.dtype.kind == "f":
        flat = X.ravel(order="K")
        if not isfinite(np.vdot(flat, flat)):
            X = X.astype(np.float64)  # of float32 the squares are too large for float32
            flat = X.ravel(order="K")
            if not isfinite(np.vdot(flat, flat)):
                raise ValueError(
                    f"samples hold numbers up to {np.abs(X).max():.3g}, whose squares are too "
                    "large for float64; repair, leave out or rescale these samples"
                )
    return X


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
    if not (least >= 0 and 0 < total < np.inf):
        raise ValueError(
            f"sample_weight has the least number {least:g} and the sum {total:g}; expected weights "
            "of 0 or more, not all of them zero, with a sum that a float64 holds"
        )
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


# ── Labels, groups and covariates ─────────────────────────────────────────────────────────────────


def check_labels(estimator: Any, X: Array, y: Any) -> Array:
    """One class label per sample."""
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None; "
            "pass one class label per sample"
        )
    if np.isscalar(X) or getattr(X, "ndim", 1) == 0:
        raise ValueError(
            f"Expected 2D array, got scalar instead: X is {X!r:.80}; pass samples with at least 2 "
            "axes, samples first"
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


def check_groups(name: str, groups: Any, n_samples: int) -> tuple[Array, Array]:
    """The groups, sorted, and for each sample the number of its group."""
    groups = np.asarray(in_numpy(groups, name))
    if groups.shape != (n_samples,):
        raise ValueError(
            f"{name} has shape {groups.shape}, but there are {n_samples} samples; pass one name or "
            "number per sample"
        )
    if groups.dtype.kind == "O":
        check_kinds(groups, name)
    if groups.dtype.kind == "f" and not np.isfinite(groups).all():
        raise ValueError(f"{name} contains NaN or infinity; every sample needs a name or number")
    names, numbers = np.unique(groups, return_inverse=True)
    return names, numbers


def check_covariates(covariates: Any, n: int) -> Array:
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
        raise ValueError(
            f"covariates have shape {np.shape(covariates)}, but there are {n} samples; expected "
            f"({n},) or ({n}, q), one row per sample"
        )
    rows = np.flatnonzero(~np.isfinite(Z).all(axis=1))
    if len(rows):
        raise ValueError(
            f"covariates of {len(rows)} samples are NaN or infinite, the first in row {rows[0]}; "
            "fill them, as with the mean of the others, or leave those samples out"
        )
    return Z


# ── What a fitted estimator has ───────────────────────────────────────────────────────────────────

NAMES = ("feature_names_in_", "mode_names_", "mode_labels_")
DESCRIPTION = ("sample_shape_", "n_features_in_", "range_", *NAMES)


def check_fitted(estimator: Any, attribute: str) -> None:
    """Refuse an estimator that lacks this learned attribute, as scikit-learn does it.

    Scikit-learn makes all tags of an estimator first, which takes as long as scoring a sample.
    """
    if attribute not in vars(estimator):
        check_is_fitted(estimator, attribute)


def description_of(estimator: Any) -> dict[str, Any]:
    """What an estimator knows of the samples that it was fitted on."""
    found = {name: getattr(estimator, name) for name in DESCRIPTION if hasattr(estimator, name)}
    if "sample_shape_" not in found and "n_features_in_" in found:  # scikit-learn's take rows
        found["sample_shape_"] = (int(found["n_features_in_"]),)
    return found


def of_samples(described: Mapping[str, Any]) -> dict[str, Any]:
    """What is known of the samples, without what a method learned of them before its statistics."""
    return {name: value for name, value in described.items() if name in DESCRIPTION}


def check_output(estimator: Any, ndim: int) -> str:
    """What `set_output` asks for; it must be able to hold an array with so many axes."""
    container = str(_get_output_config("transform", estimator)["dense"])
    if ndim > 2 and container != "default":
        raise ValueError(
            f"set_output asks for {container}, whose rows are flat, but samples with several modes "
            "come out here; use output='flat' where there is that parameter, flat rows as samples, "
            "or set_output(transform='default')"
        )
    return container


def check_kept_moments(estimator: Any) -> ClassMoments:
    """The moments that an estimator kept, for more to be added."""
    if not hasattr(estimator, "moments_"):
        raise ValueError(
            f"this {type(estimator).__name__} was fitted without keeping the moments of its "
            "samples, so partial_fit cannot add to it; start with partial_fit, to keep them (and "
            "in files with save(..., moments=True))"
        )
    moments: ClassMoments = estimator.moments_
    return moments


# ── Stores and Dask arrays ────────────────────────────────────────────────────────────────────────


def as_source(X: Any) -> Source | None:
    """Samples that are not in memory as a `Source`; None for all others.

    Parameters
    ----------
    X : anything
        What a user passed as samples.

    Returns
    -------
    Source or None
        With at least one mode, numbers, and at least one sample.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.validation.samples import as_source
    >>> as_source(np.zeros((4, 3))) is None
    True
    """
    if is_dask(X):
        from tenfold.validation.dask_array import DaskSamples

        source: Source = DaskSamples.of(X)
    elif isinstance(X, Source) or not is_stored(X):
        return X if isinstance(X, Source) else None
    else:
        source = StoredSamples.of(X)
    if source.ndim < 2:
        raise ValueError(
            f"X has shape {source.shape}; expected at least 2 axes, samples first; for a single "
            "sample or a single feature add the missing axis"
        )
    if source.dtype.kind not in "fiub" or source.dtype.itemsize > 8:
        raise ValueError(
            f"X holds {source.dtype}; expected real numbers, at most float64 where they are read "
            "block by block; write it as float64"
        )
    if not len(source):
        raise ValueError(f"Found array with 0 sample(s) (shape={source.shape}); pass at least one")
    return source


def as_rows(X: Any) -> Any:
    """Samples in a form that gives some of them, in their own kind of container where it can."""
    if isinstance(X, np.ndarray) or hasattr(X, "iloc") or is_data_array(X):
        return X
    source = as_source(X)
    return np.asarray(in_numpy(X)) if source is None else source


def rows_of(X: Any, rows: Array) -> Any:
    """Some of the samples, in the kind of container that they came in."""
    X = as_rows(X)
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def is_dask(X: Any) -> bool:
    """Whether X is a Dask array, without importing Dask."""
    kind = type(X)
    if kind.__module__.startswith("dask.array"):
        return True
    if hasattr(X, "to_dask_array"):
        raise ValueError(
            f"a Dask {kind.__name__} came; pass its .to_dask_array(lengths=True), which stays lazy"
        )
    return False


# ── Arrays of other libraries ─────────────────────────────────────────────────────────────────────

HOSTS = ("cpu", "CPU")  # in the names of devices that NumPy can read


def is_other(X: Any) -> bool:
    """Whether X is an array of another library: neither NumPy's nor one that wraps arrays."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(X, torch.Tensor):
        return True
    namespace = hasattr(type(X), "__array_namespace__") and hasattr(X, "device")
    return namespace and not isinstance(X, np.ndarray | np.generic)


def check_readable(X: Any, name: str = "X") -> Any:
    """An array of another library whose numbers can be read, or an error that says what to do.

    Parameters
    ----------
    X : array of another library
        What the user passed.
    name : str
        What it is called in messages.

    Returns
    -------
    array
        The same.
    """
    device, dtype = str(getattr(X, "device", "cpu")), str(X.dtype).rpartition(".")[2]
    kind = np.dtype(getattr(np, dtype, object)).kind  # NumPy has no bfloat16
    problems = {
        "is on device 'meta', where tensors have no numbers": (
            device.startswith("meta"),
            "tensors of the device where the numbers are",
        ),
        "is a sparse tensor": (
            "sparse" in str(getattr(X, "layout", "")),
            f"{name}.to_dense()",
        ),
        f"holds {dtype} numbers, which are not real ones of NumPy": (
            kind not in "biuf",
            f"{name}.float(), which makes them float32, or {name}.double()",
        ),
        "requires gradients, which do not go through tenfold": (
            getattr(X, "requires_grad", False),
            f"{name}.detach()",
        ),
    }
    for problem, (is_so, remedy) in problems.items():
        if is_so:
            raise ValueError(f"{name} {problem}; pass {remedy}")
    return X


def in_numpy(X: Any, name: str = "X") -> Any:
    """Arrays of other libraries, and of Dask, as NumPy arrays; all else as it is.

    Parameters
    ----------
    X : anything
        What the user passed.
    name : str
        What it is called in messages.

    Returns
    -------
    anything
        A NumPy array, or X itself.
    """
    if type(X) is np.ndarray:
        return X
    if hasattr(X, "dask"):
        return np.asarray(X)
    return to_numpy(check_readable(X, name)) if is_other(X) else X


def follow_array(X: Any) -> Any:
    """Samples of another library that results are to follow; all else as it is.

    Parameters
    ----------
    X : anything
        What the user passed as samples.

    Returns
    -------
    anything
        `ArraySamples` of an array of another library. NumPy's array without dispatch, and of what
        is no batch of finite numbers, for the usual messages.
    """
    if not is_other(X):
        return X
    check_readable(X)
    if get_config()["array_api_dispatch"]:
        xp, is_batch = namespace_of(X), X.ndim >= 2 and 0 not in X.shape
        is_whole = "float" not in str(X.dtype)
        return ArraySamples(X) if is_batch and (is_whole or xp.all(xp.isfinite(X))) else to_numpy(X)
    device = str(getattr(X, "device", "cpu"))
    if not any(word in device for word in HOSTS):
        raise ValueError(
            f"X is on device {device!r}, which NumPy cannot read, and array API dispatch is off; "
            "turn it on with sklearn.set_config(array_api_dispatch=True), with SCIPY_ARRAY_API=1 "
            "in the environment before Python starts, or pass X.cpu()"
        )
    return to_numpy(X)


# ── Named axes ────────────────────────────────────────────────────────────────────────────────────

PLAIN = "biufU"  # kinds of coordinates that a model file can hold; others become text


class NamedSamples(NamedTuple):
    """Samples as an array, and what their axes are called."""

    values: Any  # (n, I_1, ..., I_K)
    mode_names: tuple[str, ...]
    mode_labels: list[Any]  # one array (I_k,) per mode, or None where entries have no names


def is_data_array(X: Any) -> bool:
    """Whether X is a DataArray of xarray, or of its kind."""
    return all(hasattr(X, name) for name in ("dims", "coords", "transpose", "sel"))


def named_samples(estimator: Any, X: Any, reset: bool) -> NamedSamples | None:
    """Samples with names, in the order of a fitted model; None for samples without names.

    Parameters
    ----------
    estimator : estimator
        If it is fitted and knows names, the samples are brought into their order.
    X : anything
        What the user passed.
    reset : bool
        Whether the model is about to be fitted; then it forgets the names of an earlier fit.

    Returns
    -------
    NamedSamples or None
        The samples in the order of the model's modes.
    """
    _refuse_several_arrays(X)
    if reset:  # names of an earlier fit
        for name in ("mode_names_", "mode_labels_"):
            vars(estimator).pop(name, None)
    known = getattr(estimator, "mode_names_", None)
    if is_data_array(X):
        if known is not None:
            X = _in_order(X, known, estimator.mode_labels_)
        names = tuple(map(str, X.dims[1:]))
        return NamedSamples(X.data, names, [_labels(X, name) for name in X.dims[1:]])
    columns = getattr(X, "columns", None)
    if hasattr(columns, "nlevels") and columns.nlevels > 1:
        return _from_columns(X, columns, known, getattr(estimator, "mode_labels_", None))
    return None


def _refuse_several_arrays(X: Any) -> None:
    """Refuse a data set of xarray and epochs of MNE, with what to type instead."""
    if hasattr(X, "data_vars") and is_data_array(X):
        names = [str(name) for name in X.data_vars if len(X[name].dims) > 1][:3]
        raise ValueError(
            f"X is a Dataset of xarray, which holds several arrays; pass one of them, such as "
            f"X[{(names or ['images'])[0]!r}], with the dimension of samples first"
        )
    if all(hasattr(X, name) for name in ("get_data", "events", "event_id")):
        raise ValueError(
            "X is epochs of MNE; pass their numbers and events: "
            "fit(epochs.get_data(), epochs.events[:, 2])"
        )


def _in_order(X: Any, names: tuple[str, ...], labels: list[Any]) -> Any:
    """A DataArray with its sample axis first and its modes as the model has them."""
    others = [dim for dim in X.dims if str(dim) not in names]
    absent = [name for name in names if name not in X.dims]
    if absent or len(others) != 1:
        raise ValueError(
            f"the axes of the samples are {tuple(map(str, X.dims))}, but this model was fitted on "
            f"one axis of samples and {names}; rename the axes, or fit again"
        )
    X = X.transpose(*others, *names)
    for name, known in zip(names, labels, strict=True):
        here = _labels(X, name)
        if known is None or here is None or np.array_equal(here, known):
            continue
        places = {entry: place for place, entry in enumerate(here.tolist())}
        wanted = np.asarray(known).tolist()
        if len({*places, *wanted}) != len(places) or not len(places) == len(here) == len(wanted):
            raise ValueError(
                f"the entries of axis {name!r} are {_few(here)}, but this model was fitted on "
                f"{_few(known)}; pass the same ones, in any order, or drop that coordinate"
            )
        X = X.isel({name: [places[entry] for entry in wanted]})
    return X


def _from_columns(X: Any, columns: Any, known: Any, known_labels: Any) -> NamedSamples:
    """A table whose columns are all pairs (triples, ...) of the entries of its levels."""
    found = [list(dict.fromkeys(columns.get_level_values(k))) for k in range(columns.nlevels)]
    levels = found if known_labels is None else [list(level) for level in known_labels]
    shape = tuple(map(len, levels))
    wanted = list(product(*levels))
    positions = {pair: i for i, pair in enumerate(columns)}
    if len(columns) != prod(shape) or any(pair not in positions for pair in wanted):
        raise ValueError(
            f"the table has {len(columns)} columns in {columns.nlevels} levels of sizes "
            f"{tuple(map(len, found))}; expected a column for each of the {prod(shape)} "
            "combinations; fill what lacks, or pass flat columns and sample_shape"
        )
    values = np.asarray(X.iloc[:, [positions[pair] for pair in wanted]])
    names = known or tuple(
        f"mode {k + 1}" if name is None else str(name) for k, name in enumerate(columns.names)
    )
    return NamedSamples(values.reshape(-1, *shape), names, [_plain(np.array(v)) for v in levels])


def labelled_like(X: Any, found: Any, projector: Any, container: str) -> Array:
    """Projected samples with the sample axis of a DataArray; others as they are.

    Parameters
    ----------
    X : anything
        What was projected.
    found : array of shape (n, r) or (n, r_1, ..., r_K)
        The projected samples.
    projector : TensorProjector
        Fitted.
    container : str
        What `set_output` asked for; "default" gives a DataArray.

    Returns
    -------
    array-like
        An array, a DataArray, or a table of pandas.
    """
    if not is_data_array(X):
        return found
    modes = getattr(projector, "mode_names_", tuple(map(str, X.dims[1:])))
    (sample,) = [dim for dim in X.dims if str(dim) not in modes]
    kept = {name: coord for name, coord in X.coords.items() if coord.dims == (sample,)}
    if found.ndim > 2:
        dims = (sample, *(f"{mode}_component" for mode in modes))
        return type(X)(found, dims=dims, coords=kept)
    names = projector.get_feature_names_out()
    labelled = type(X)(found, dims=(sample, "feature"), coords={**kept, "feature": names})
    return labelled.to_pandas() if container == "pandas" else labelled


def _labels(X: Any, name: Any) -> Array | None:
    """The entries along an axis; None without a coordinate, of which `get` would make numbers."""
    return _plain(np.asarray(X.coords[name])) if name in X.coords else None


def _plain(labels: Array) -> Array:
    return labels if labels.dtype.kind in PLAIN else labels.astype(str)


def _few(labels: Array) -> str:
    shown = ", ".join(map(str, np.asarray(labels).tolist()[:6]))
    return f"{shown}, ... ({len(labels)})" if len(labels) > 6 else shown
