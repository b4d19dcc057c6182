"""What samples may come in: stores, Dask arrays, arrays of other libraries, masked arrays.

Stores and Dask arrays are read block by block. Arrays of other libraries are PyTorch's tensors, and
what follows the array API standard. As in scikit-learn, arrays of another library come out where
such go in, if ``sklearn.set_config(array_api_dispatch=True)`` says so; without it they are read as
NumPy arrays, and NumPy arrays come out. Nothing here imports such a library: who passes its objects
has it.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from sklearn import get_config

from tenfold.linalg.arrays import Array, namespace_of, to_numpy
from tenfold.statistics.stores import ArraySamples, Source, StoredSamples, is_stored
from tenfold.validation.absent_chunks import absent_chunk

HOSTS = ("cpu", "CPU")  # in the names of devices that NumPy can read


def unmasked(X: object) -> object:
    """X without a mask: with NaN where it was masked."""
    if not isinstance(X, np.ma.MaskedArray):
        return X
    return np.ma.filled(X.astype(X.dtype if X.dtype.kind == "f" else float), np.nan)


def refuse_masked(X: object, name: str = "X") -> object:
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
    >>> from tenfold.validation.containers import as_source
    >>> as_source(np.zeros((4, 3))) is None
    True
    """
    if is_dask(X):
        from tenfold.validation.dask_array import DaskSamples

        source: Source = DaskSamples.of(X)
    elif isinstance(X, Source) or not is_stored(X):
        return X if isinstance(X, Source) else None
    else:
        source = StoredSamples.of(X, absent_chunk)
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


def is_data_array(X: object) -> bool:
    """Whether X is a DataArray of xarray, or of its kind."""
    return all(hasattr(X, name) for name in ("dims", "coords", "transpose", "sel"))


def rows_of(X: Any, rows: Array) -> object:
    """Some of the samples, in the kind of container that they came in where that has rows."""
    if isinstance(X, np.ndarray):
        return X[rows]
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if is_data_array(X):
        return X[rows]
    source = as_source(X)
    return np.asarray(in_numpy(X))[rows] if source is None else source[rows]


def is_dask(X: object) -> bool:
    """Whether X is a Dask array, without importing Dask."""
    kind = type(X)
    if kind.__module__.startswith("dask.array"):
        return True
    if hasattr(X, "to_dask_array"):
        raise ValueError(
            f"got a Dask {kind.__name__}; pass its .to_dask_array(lengths=True), which stays lazy"
        )
    return False


# ── Arrays of other libraries ─────────────────────────────────────────────────────────────────────


def is_other(X: object) -> bool:
    """Whether X is an array of another library: neither NumPy's nor one that wraps arrays."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(X, torch.Tensor):
        return True
    namespace = hasattr(type(X), "__array_namespace__") and hasattr(X, "device")
    return namespace and not isinstance(X, np.ndarray | np.generic)


def check_readable(X: Any, name: str = "X") -> object:
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
    device = str(getattr(X, "device", "cpu"))
    dtype = str(X.dtype).rpartition(".")[2]
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


def in_numpy(X: object, name: str = "X") -> Any:
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


def follow_array(X: Any) -> object:
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
        xp = namespace_of(X)
        is_batch = X.ndim >= 2 and 0 not in X.shape
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
