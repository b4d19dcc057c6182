"""What was learned as labelled arrays: the only module that imports xarray."""

from __future__ import annotations

import numpy as np

from tenfold.classifiers.members import filters_or_patterns, member_for, mode_names_of
from tenfold.extras import require_extra


def labelled_projections(
    estimator: object, positive: object = None, *, patterns: bool = False
) -> list[object]:
    """The projections of a model, or their patterns, as DataArrays of xarray, one per mode.

    Parameters
    ----------
    estimator : fitted estimator
        A projector, a verifier, a bank, or a search or pipeline over one. If it was fitted on a
        DataArray, or on a table with several levels of columns, names and entries of the modes are
        those of the samples; else modes are called "mode 1", "mode 2", ...
    positive : label or None, default=None
        Whose projector of a bank; None takes the first class.
    patterns : bool, default=False
        Give `patterns_` in place of `projections_`: what is found in place of how to find it.

    Returns
    -------
    list of K DataArrays of shape (I_k, r_k)
        Axis 0 is the mode, axis 1 "component", counted from 0.

    Examples
    --------
    >>> import numpy as np, xarray
    >>> from tenfold import MPCA
    >>> from tenfold.files.labelled_arrays import labelled_projections
    >>> X = np.random.default_rng(0).normal(size=(20, 3, 5))
    >>> trials = xarray.DataArray(X, dims=("trial", "channel", "time"),
    ...                           coords={"channel": ["C3", "Cz", "C4"]})
    >>> channel, time = labelled_projections(MPCA((2, 2)).fit(trials))
    >>> channel.dims, channel.channel.values.tolist()
    (('channel', 'component'), ['C3', 'Cz', 'C4'])
    """
    with require_extra("labelled arrays need xarray", "xarray"):
        import xarray
    projector = member_for(estimator, positive).projector
    matrices = filters_or_patterns(projector, patterns)
    names, labels = mode_names_of(estimator)
    if len(names) != len(matrices):  # a method that flattens its samples
        names = tuple(f"mode {k + 1}" for k in range(len(matrices)))
        labels = [None] * len(matrices)
    what = "pattern" if patterns else "projection"
    arrays = []
    for W, name, entries in zip(matrices, names, labels, strict=True):
        coordinates = {"component": np.arange(W.shape[1])}
        if entries is not None:
            coordinates[name] = entries
        dims = (name, "component")
        arrays.append(xarray.DataArray(W, coordinates, dims, name=f"{what} of {name}"))
    return arrays
