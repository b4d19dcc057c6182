"""Patterns: what a filter finds, beside how it finds it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tenfold.mathematics.algebra import Array
from tenfold.mathematics.criteria import lowered
from tenfold.mathematics.moments import ClassStatistics
from tenfold.mathematics.sample_statistics import PassStatistics
from tenfold.mathematics.scatter import along_mode


def patterns_of(statistics: ClassStatistics, projections: Sequence[Array]) -> list[Array]:
    """What the entries of a mode do when a score rises by one, for each column of a projection.

    A filter (a column of W_k) must also suppress what is noise, so it looks like noise in part. Its
    pattern is how the samples themselves vary with the score: the regression of the samples on
    the scores, ``S_k W_k (W_k^T S_k W_k)^-1``, with S_k the covariance of all samples along mode
    k, seen through the projections of the other modes (Haufe et al., 2014).

    Parameters
    ----------
    statistics : ClassStatistics
        Of the samples.
    projections : sequence of K ndarrays of shape (I_k, r_k)
        The filters, for samples as they came.

    Returns
    -------
    list of K ndarrays of shape (I_k, r_k)
        None where samples are read in passes, since each mode would take one more.
    """
    if isinstance(statistics, PassStatistics):
        return []
    fresh = replace(statistics)  # a copy: the terms of its scatters go when this is done
    seen = [W[None] for W in lowered(fresh, projections)]
    found = []
    for mode, (W,) in enumerate(seen):
        ((S,),) = along_mode([fresh.total()], mode, seen)
        size = float(np.trace(S)) or 1.0
        moved = S @ W / size
        found.append(moved @ np.linalg.pinv(W.T @ moved, hermitian=True))
    return found if fresh.basis is None else [fresh.basis.lifted(found[0])]
