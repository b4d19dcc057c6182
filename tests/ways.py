"""Models learned in one of the ways between which the cost model chooses, by what users type."""

import warnings
from contextlib import nullcontext
from math import prod

import numpy as np
import sklearn
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from tenfold import gather_moments


def without_tables(shape, least=0):
    """While it lasts, not one table of samples of this shape fits into scikit-learn's memory."""
    return sklearn.config_context(working_memory=max(24 * prod(shape) ** 2 - 8, least) / 4 / 2**20)


def learned(model, way, X, y=None, sample_weight=None):
    """The model fitted from moments, from samples, or ("auto") as `fit` chooses.

    Passes over a store need scatters of the longest mode in memory. Vectors have a single mode, so
    they are learned from moments there.
    """
    here = nullcontext()
    if way == "samples":
        vectors = getattr(model, "_flattens", False)
        widest = prod(X.shape[1:]) if vectors else max(X.shape[1:])
        here = without_tables(X.shape[1:], 0 if type(X) is np.ndarray else 48 * widest**2)
    with warnings.catch_warnings(), here:
        warnings.simplefilter("ignore", ConvergenceWarning)
        if way == "moments":
            return clone(model).fit_moments(gather_moments(X, y, sample_weight))
        return clone(model).fit(X, y, sample_weight)


def quiet(method, **parameters):
    """A method that stops after a few rounds."""
    extra = {"tol": 50.0} if "tol" in method().get_params() else {}
    return method(**{"ranks": 2, **extra, **parameters})


def assert_same_model(model, expected):
    """The same subspaces, to what sums in another order leave."""
    for V, W in zip(model.projections_, expected.projections_, strict=True):
        np.testing.assert_allclose(V @ np.linalg.pinv(V), W @ np.linalg.pinv(W), atol=1e-8)
