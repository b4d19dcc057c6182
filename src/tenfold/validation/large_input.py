"""Which inputs are read block by block: stores, Dask arrays, and columns beside them."""

from __future__ import annotations

from typing import Any

from tenfold.mathematics.stores import Source, StoredSamples, is_stored


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
    >>> from tenfold.validation.large_input import as_source
    >>> as_source(np.zeros((4, 3))) is None
    True
    """
    if is_dask(X):
        from tenfold.system.dask_array import DaskSamples

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
    if source.dtype.kind not in "fiub":
        raise ValueError(f"X holds {source.dtype}; expected real numbers")
    if source.dtype.itemsize > 8:
        raise ValueError(
            f"X holds {source.dtype}, and is read block by block; expected float64 or less; "
            "write it as float64"
        )
    if not len(source):
        raise ValueError(f"Found array with 0 sample(s) (shape={source.shape}); pass at least one")
    return source


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
