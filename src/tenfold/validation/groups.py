"""Checks of groups of samples: those that are held out together, and those of one class."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.mathematics.algebra import Array
from tenfold.validation.labels import check_kinds
from tenfold.validation.other_arrays import in_numpy


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
