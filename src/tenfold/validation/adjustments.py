"""What is done to checked samples first: gaps are completed, and covariates removed."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from math import prod
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from tenfold.mathematics.algebra import Array
from tenfold.mathematics.arrays import to_numpy
from tenfold.mathematics.completion import completed, learned_completion
from tenfold.mathematics.covariates import (
    Slopes,
    WithinScatters,
    aliased,
    moments_without_covariates,
    scatters_of_moments,
    scatters_of_samples,
    slopes_of,
    without_covariates,
)
from tenfold.mathematics.moments import ClassMoments
from tenfold.mathematics.stores import Source
from tenfold.validation.fitted import COMPLETION, COVARIATES
from tenfold.validation.named_axes import refuse_masked
from tenfold.validation.other_arrays import is_other
from tenfold.validation.parameters import memory_budget, plain

MISSING = ("error", "complete")
COMPLETION_TABLES = 10  # of I x I numbers, held at once where gaps are completed, as measured


class _Accompanied(NamedTuple):
    samples: Any
    covariates: Any


def accompanied(X: Any, covariates: Any) -> Any:
    """Samples together with their covariates; without covariates the samples as they are."""
    return X if covariates is None else _Accompanied(X, covariates)


def parted(X: Any) -> tuple[Any, Any]:
    """Samples and covariates, or None, from what `accompanied` gave."""
    if not isinstance(X, _Accompanied):
        return X, None
    return _in_memory(X.samples), X.covariates


def _in_memory(X: Any) -> Any:
    """A memory map as an array, of which the system holds in memory what it likes."""
    return np.asarray(X) if isinstance(X, np.memmap) else X


# ── Gaps ────────────────────────────────────────────────────────────────────────────────────────


def allows_gaps(estimator: Any) -> bool:
    """Whether the samples of an estimator may hold NaN."""
    return bool(getattr(estimator, "missing", "error") == "complete")


def unmasked(estimator: Any, X: Any) -> Any:
    """X without a mask: with NaN where it was masked, or an error where gaps are not allowed.

    Where they are, a memory map is an array like others.
    """
    X = _in_memory(X) if allows_gaps(estimator) else X
    if not isinstance(X, np.ma.MaskedArray):
        return X
    if allows_gaps(estimator):
        return X.astype(X.dtype if X.dtype.kind == "f" else float).filled(np.nan)
    return refuse_masked(X, hasattr(estimator, "missing"))


def refuse_parts(estimator: Any) -> None:
    """Refuse to learn from parts what needs all samples at once."""
    name = type(estimator).__name__
    if hasattr(estimator, "covariate_slopes_"):
        raise ValueError(
            f"this {name} was fitted with covariates, whose effect is learned from all samples at "
            "once; use fit, or gather moments of rows (x, z) and pass them to fit_moments"
        )


def _holes(X: Any) -> Array | None:
    """Where samples in memory have gaps, (n, I); None if there are none."""
    if isinstance(X, Source) or X.dtype.kind != "f":
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(X.sum()):
            return None
    holes = np.isnan(X.reshape(len(X), -1))
    return holes if holes.any() else None


def _refuse_empty(holes: Array | None, y: Array | None = None) -> None:
    empty = np.flatnonzero(holes.all(axis=1)) if holes is not None else np.arange(0)
    if not len(empty):
        return
    if y is not None:
        for label in np.unique(y[empty]):
            if np.isin(np.flatnonzero(y == label), empty).all():
                raise ValueError(
                    f"class {plain(label)!r} is only gaps: nothing is known of any of its samples; "
                    "leave the class out, or pass a sample with some numbers"
                )
    shown = ", ".join(map(str, empty[:5])) + (", ..." if len(empty) > 5 else "")
    raise ValueError(
        f"{len(empty)} samples have no number at all, only gaps (rows {shown}), so nothing is "
        "known of them; leave them out"
    )


def _learned_gaps(X: Any, y: Array | None, weight: Array | None) -> tuple[dict[str, Any], Any]:
    if isinstance(X, Source):
        raise ValueError(
            "missing is 'complete', but the samples are read block by block from a store or Dask "
            "array, and gaps are completed in memory only; load them (X = np.asarray(X)), or use "
            "missing='error'"
        )
    holes = _holes(X)
    _refuse_empty(holes, y)
    if holes is not None:
        counted = slice(None) if weight is None else weight > 0
        never = np.flatnonzero(holes[counted].all(axis=0))
        if len(never):
            place = tuple(map(int, np.unravel_index(never[0], X.shape[1:])))
            raise ValueError(
                f"{len(never)} of {holes.shape[1]} numbers are missing in every sample, the first "
                f"at {place}, so nothing is known of them; drop them from all samples"
            )
    size = prod(X.shape[1:])
    needed, budget = COMPLETION_TABLES * 8 * size**2, memory_budget()
    if needed > budget:
        raise ValueError(
            f"completing gaps in samples of {size} numbers needs {needed / 2**30:.1f} GiB, more "
            f"than the budget of {budget / 2**30:.3g} GiB, four times scikit-learn's "
            "working_memory; make the samples smaller, or raise "
            "sklearn.set_config(working_memory=...)"
        )
    mean, precision = learned_completion(X, weight)
    found = {"completion_mean_": mean, "completion_precision_": precision}
    return found, X if holes is None else completed(X, mean, precision)


def _completed(estimator: Any, X: Any) -> Any:
    holes = _holes(X)
    if holes is None:
        return X
    if not hasattr(estimator, "completion_precision_"):
        raise ValueError(
            f"Input X contains NaN, but this {type(estimator).__name__} has not learned how gaps "
            "are completed; fit it on samples with missing='complete'"
        )
    _refuse_empty(holes)
    return completed(X, estimator.completion_mean_, estimator.completion_precision_)


# ── Covariates ──────────────────────────────────────────────────────────────────────────────────


def check_covariates(covariates: Any, n: int) -> Array:
    """Covariates as finite numbers (n, q), or an error that says what came."""
    if np.ma.is_masked(covariates):
        covariates = np.ma.filled(covariates.astype(float), np.nan)  # refused below, with its row
    Z = np.asarray(to_numpy(covariates) if is_other(covariates) else covariates)
    if Z.dtype.kind not in "biuf":
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
    if not np.isfinite(Z).all():
        rows = np.flatnonzero(~np.isfinite(Z).all(axis=1))
        raise ValueError(
            f"covariates of {len(rows)} samples are NaN or infinite, the first in row {rows[0]}; "
            "fill them, as with the mean of the others, or leave those samples out"
        )
    return Z


def _checked_slopes(mean: Array, scatters: WithinScatters) -> Slopes:
    found = aliased(scatters)
    if found is not None:
        column, repeats = found
        why = {
            "nothing": "is the same for all samples",
            "the classes": "does not vary within any class, so its effect and that of the classes "
            "cannot be told apart",
            "the others": "follows from the columns before it within classes, or there are too "
            "few samples to tell them apart",
        }[repeats]
        raise ValueError(f"covariate {column} (columns count from 0) {why}; leave it out")
    return Slopes(mean, slopes_of(scatters))


def _learned_covariates(
    X: Any, y: Array | None, weight: Array | None, covariates: Any
) -> tuple[dict[str, Any], Any]:
    _refuse_source(X)
    Z = check_covariates(covariates, len(X))
    codes = np.zeros(len(X), dtype=np.intp) if y is None else np.unique(y, return_inverse=True)[1]
    found = _checked_slopes(*scatters_of_samples(X, Z, codes.ravel(), weight))
    return _kept(found, X.shape[1:]), without_covariates(X, Z, found)


def _kept(found: Slopes, shape: tuple[int, ...]) -> dict[str, Any]:
    slopes = found.slopes.reshape(len(found.means), *shape)
    return {"covariate_means_": found.means, "covariate_slopes_": slopes}


def _without(estimator: Any, X: Any, covariates: Any) -> Any:
    name = type(estimator).__name__
    slopes = getattr(estimator, "covariate_slopes_", None)
    if slopes is None and covariates is None:
        return X
    if slopes is None:
        raise ValueError(
            f"covariates came, but this {name} was fitted without; leave them out, or fit it with "
            "covariates"
        )
    if covariates is None:
        raise ValueError(
            f"this {name} was fitted with {len(slopes)} covariates, and needs those of every "
            "sample; pass covariates=Z, of shape (n, q)"
        )
    _refuse_source(X)
    Z = check_covariates(covariates, len(X))
    if Z.shape[1] != len(slopes):
        raise ValueError(
            f"there are {Z.shape[1]} covariates per sample, but this {name} was fitted with "
            f"{len(slopes)}; pass the same ones, in the same order"
        )
    found = Slopes(estimator.covariate_means_, slopes.reshape(len(slopes), -1))
    return without_covariates(X, Z, found)


def _refuse_source(X: Any) -> None:
    if isinstance(X, Source):
        raise ValueError(
            "covariates came with samples that are read block by block from a store or Dask array, "
            "and are removed in memory only; load the samples (X = np.asarray(X)), or gather "
            "moments of rows (x, z) and pass them to fit_moments"
        )


def _is_number(count: Any) -> bool:
    return isinstance(count, Integral) and not isinstance(count, bool)


def joint_moments(
    moments: Any, count: Any, shape: tuple[int, ...] | None
) -> tuple[ClassMoments, dict[str, Any]]:
    """Moments of samples without covariates, and the slopes to keep, from moments of rows (x, z).

    Parameters
    ----------
    moments : ClassMoments
        Of flat rows.
    count : int or None
        How many of the last numbers of a row are covariates; with None there are none.
    shape : tuple of K ints or None
        That of the samples, where it is known.

    Returns
    -------
    (ClassMoments, dict)
        Of samples of shape (I,), and the learned attributes.
    """
    if count is None:
        return moments, {}
    size = prod(moments.shape)
    if len(moments.shape) != 1 or not _is_number(count) or not 0 < count < size:
        raise ValueError(
            f"covariates is {count!r} and the moments are of samples of shape {moments.shape}; "
            "expected moments of flat rows (x, z), and how many of their last numbers are z"
        )
    found = _checked_slopes(*scatters_of_moments(moments, count))
    return moments_without_covariates(moments, found), _kept(
        found, shape if shape and prod(shape) == size - count else (size - count,)
    )


# ── Both ────────────────────────────────────────────────────────────────────────────────────────


def learned_adjustments(
    estimator: Any, X: Any, y: Array | None, weight: Array | None, covariates: Any, part: bool
) -> tuple[dict[str, Any], Any]:
    """What is learned of gaps and covariates in a first batch, and the batch without them.

    A part of the samples is no base for completing those that come later.
    """
    learned: dict[str, Any] = {}
    if part:
        if allows_gaps(estimator) and _holes(X) is not None:
            raise ValueError(
                "Input X contains NaN, but how gaps are completed is learned from all samples at "
                "once; use fit, or complete the samples before partial_fit"
            )
    elif allows_gaps(estimator):
        found, X = _learned_gaps(X, y, weight)
        learned |= found
    if covariates is not None:
        found, X = _learned_covariates(X, y, weight, covariates)
        learned |= found
    return learned, X


def adjusted(estimator: Any, X: Any, covariates: Any) -> Any:
    """Samples of a fitted estimator with their gaps completed and without covariates."""
    if allows_gaps(estimator):
        X = _completed(estimator, X)
    return _without(estimator, X, covariates)


def unadjusted(described: Mapping[str, Any]) -> dict[str, Any]:
    """What is known of samples, without what an earlier fit learned of gaps and covariates."""
    stale = (*COMPLETION, *COVARIATES)
    return {name: value for name, value in described.items() if name not in stale}
