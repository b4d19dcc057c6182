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
from sklearn.utils._array_api import get_namespace_and_device

from tenfold.mathematics.on_device import Place, to_numpy
from tenfold.system.device_samples import DeviceSamples

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


def dispatches() -> bool:
    """Whether arrays of other libraries shall come out as they went in."""
    return bool(get_config()["array_api_dispatch"])


def place_of(X: Any) -> Place | None:
    """The namespace and device of an array of another library; None for everything else."""
    if not is_other(X):
        return None
    xp, _, device = get_namespace_and_device(X)
    return Place(xp, device)


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


def samples_at(X: Any, place: Place | None) -> Any:
    """Samples that stay at their place; NumPy's without one, or for the usual messages.

    Parameters
    ----------
    X : array of another library
        The samples, readable.
    place : Place or None
        Where they are; None without dispatch.

    Returns
    -------
    DeviceSamples or ndarray
        NumPy's without dispatch, and for what is no batch of finite numbers.
    """
    if place is None:
        return _without_dispatch(X)
    xp = place.xp
    is_batch = X.ndim >= 2 and 0 not in X.shape
    if is_batch and (not xp.isdtype(X.dtype, "real floating") or bool(xp.all(xp.isfinite(X)))):
        return DeviceSamples(X, place)
    return to_numpy(X)


def _without_dispatch(X: Any) -> Any:
    device = str(getattr(X, "device", "cpu"))
    if not any(word in device for word in HOSTS):
        raise ValueError(
            f"X is on device {device!r}, which NumPy cannot read, and array API dispatch is off; "
            "turn it on with sklearn.set_config(array_api_dispatch=True), with SCIPY_ARRAY_API=1 "
            "in the environment before Python starts, or pass X.cpu()"
        )
    return to_numpy(X)


def check_same_place(name: str, method: str, place: Place | None, own: Place | None) -> None:
    """Refuse samples that are elsewhere than what was fitted, in the words of scikit-learn."""
    if place is not None and place == own:
        return
    came = "NumPy or in another form" if place is None else str(place)
    raise ValueError(
        f"Inputs passed to {name}.{method}() must use the same namespace and the same device as "
        f"those passed to fit(): the model was fitted on arrays of {own}, and these samples are "
        f"of {came}. Move the samples, as with X.to(device), or the model: save and tenfold.load "
        "give one of NumPy arrays, which takes the arrays of any library on any device"
    )
