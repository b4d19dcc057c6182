"""Arrays of other libraries: PyTorch's tensors, and what follows the array API standard.

Nothing here imports such a library: who passes its arrays has it. As in scikit-learn, arrays of
another library come out where such go in, if ``sklearn.set_config(array_api_dispatch=True)`` says
so; without it they are read as NumPy arrays, and NumPy arrays come out.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from sklearn import get_config

from tenfold.mathematics.arrays import namespace_of, to_numpy
from tenfold.mathematics.stores import ArraySamples

HOSTS = ("cpu", "CPU")  # in the names of devices that NumPy can read
WIDTHS = (8, 16, 32, 64)
NUMBERS = {"float64", "float32", "float16", "bool"}.union(
    *({f"int{n}", f"uint{n}"} for n in WIDTHS)
)


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
    if device.startswith("meta"):
        raise ValueError(
            f"{name} is on device 'meta', where tensors have a shape and no numbers; pass tensors "
            "of the device where the numbers are"
        )
    if getattr(X, "requires_grad", False):
        raise ValueError(
            f"{name} requires gradients, but no gradient goes through a fit or a score of tenfold; "
            f"pass {name}.detach()"
        )
    if dtype not in NUMBERS:
        raise ValueError(
            f"{name} holds {dtype} numbers; expected real numbers that NumPy has, too; pass "
            f"{name}.float(), which makes them float32, or {name}.double()"
        )
    if "sparse" in str(getattr(X, "layout", "")):
        raise ValueError(
            f"{name} is a sparse tensor ({X.layout}); expected a dense one; pass {name}.to_dense()"
        )
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
