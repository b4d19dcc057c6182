"""MDA as the paper runs it: CMDA on the problem "this class or not", for a stack of classes."""

from __future__ import annotations

import numpy as np

from tenfold.mathematics.criteria import Criterion
from tenfold.mathematics.moments import ClassStatistics
from tenfold.methods.learning import Models


def binary_mda(statistics: ClassStatistics, models: Models) -> Criterion:
    """Keep each positive class apart from everything else, and both tight.

    The two means and the mean of all lie on a line, so the between scatter is a multiple of
    ``N (M - M_p)(M - M_p)^T``, and the within scatter is the rest of the total. So one set of class
    statistics serves every positive class.

    Parameters
    ----------
    statistics : ClassStatistics
        Of all classes.
    models : Models
        The stack; `positives` says which class each model is about.

    Returns
    -------
    Criterion
        What the stack maximises and minimises.
    """
    classes, owners = np.unique(models.positives, return_inverse=True)
    n, N = statistics.counts[models.positives], statistics.count
    between = statistics.displacement(classes) * (n / (N - n))  # S_b, eq. 10
    within = statistics.total() - between  # S_w, eq. 11
    return Criterion(statistics.shape, between, within, owners, np.ones(len(owners)))
