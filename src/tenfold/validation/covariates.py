"""Covariates: numbers that come along with each sample."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from tenfold.mathematics.algebra import Array
from tenfold.validation.other_arrays import in_numpy


def check_covariates(covariates: Any, n: int) -> Array:
    """Covariates as finite numbers (n, q), or an error that says what came."""
    if np.ma.is_masked(covariates):
        covariates = np.ma.filled(covariates.astype(float), np.nan)  # refused below, with its row
    Z = np.asarray(in_numpy(covariates, "covariates"))
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
