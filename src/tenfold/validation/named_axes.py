"""Named axes: xarray's DataArrays, and tables with several levels of columns.

Axis 0 counts samples when a model is fitted; the other axes are its modes. Later samples may have
their axes, and the entries along them, in any order: names put them right.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import TransformerMixin

from tenfold.linalg.algebra import Array
from tenfold.validation.containers import is_data_array

PLAIN = "biufU"  # kinds of coordinates that a model file can hold; others become text


class NamedSamples(NamedTuple):
    """Samples as an array, and what their axes are called."""

    values: Any  # (n, I_1, ..., I_K)
    mode_names: tuple[str, ...]
    mode_labels: list[object]  # one array (I_k,) per mode, or None where entries have no names


def named_samples(
    X: Any, known: tuple[str, ...] | None, known_labels: Sequence[Array | None] | None
) -> NamedSamples | None:
    """Samples with names, in the order of a fitted model; None for samples without names.

    Parameters
    ----------
    X : anything
        What the user passed.
    known, known_labels : tuple and list, or None
        The names of the modes of a fitted model, and of their entries: the samples are brought
        into their order. None before a model is fitted.

    Returns
    -------
    NamedSamples or None
        The samples in the order of the model's modes.
    """
    _refuse_several_arrays(X)
    if is_data_array(X):
        if known is not None and known_labels is not None:
            X = _in_order(X, known, known_labels)
        names = tuple(map(str, X.dims[1:]))
        return NamedSamples(X.data, names, [_labels(X, name) for name in X.dims[1:]])
    columns = getattr(X, "columns", None)
    if getattr(columns, "nlevels", 1) > 1:
        return _from_columns(X, columns, known, known_labels)
    return None


def _refuse_several_arrays(X: Any) -> None:
    """Refuse a data set of xarray and epochs of MNE, with what to type instead."""
    if hasattr(X, "data_vars") and is_data_array(X):
        names = [str(name) for name in X.data_vars if len(X[name].dims) > 1][:3]
        raise ValueError(
            f"X is a Dataset of xarray, which holds several arrays; pass one of them, such as "
            f"X[{(names or ['images'])[0]!r}], with the dimension of samples first"
        )
    if all(hasattr(X, name) for name in ("get_data", "events", "event_id")):
        raise ValueError(
            "X is epochs of MNE; pass their numbers and events: "
            "fit(epochs.get_data(), epochs.events[:, 2])"
        )


def _in_order(X: Any, names: tuple[str, ...], labels: Sequence[Array | None]) -> Any:
    """A DataArray with its sample axis first and its modes as the model has them."""
    others = [dim for dim in X.dims if str(dim) not in names]
    absent = [name for name in names if name not in X.dims]
    if absent or len(others) != 1:
        raise ValueError(
            f"the axes of the samples are {tuple(map(str, X.dims))}, but this model was fitted on "
            f"one axis of samples and {names}; rename the axes, or fit again"
        )
    X = X.transpose(*others, *names)
    for name, known in zip(names, labels, strict=True):
        here = _labels(X, name)
        if known is None or here is None or np.array_equal(here, known):
            continue
        places = {entry: place for place, entry in enumerate(here.tolist())}
        wanted = np.asarray(known).tolist()
        if len({*places, *wanted}) != len(places) or not len(places) == len(here) == len(wanted):
            raise ValueError(
                f"the entries of axis {name!r} are {_few(here)}, but this model was fitted on "
                f"{_few(known)}; pass the same ones, in any order, or drop that coordinate"
            )
        X = X.isel({name: [places[entry] for entry in wanted]})
    return X


def _from_columns(
    X: Any,
    columns: Any,
    known: tuple[str, ...] | None,
    known_labels: Sequence[Array | None] | None,
) -> NamedSamples:
    """A table whose columns are all pairs (triples, ...) of the entries of its levels."""
    found = [list(dict.fromkeys(columns.get_level_values(k))) for k in range(columns.nlevels)]
    levels = found
    if known_labels is not None:
        levels = [[] if level is None else list(level) for level in known_labels]
    shape = tuple(map(len, levels))
    wanted = list(product(*levels))
    positions = {pair: i for i, pair in enumerate(columns)}
    if len(columns) != prod(shape) or any(pair not in positions for pair in wanted):
        raise ValueError(
            f"the table has {len(columns)} columns in {columns.nlevels} levels of sizes "
            f"{tuple(map(len, found))}; expected a column for each of the {prod(shape)} "
            "combinations; fill what lacks, or pass flat columns and sample_shape"
        )
    values = np.asarray(X.iloc[:, [positions[pair] for pair in wanted]])
    names = known or tuple(
        f"mode {k + 1}" if name is None else str(name) for k, name in enumerate(columns.names)
    )
    return NamedSamples(values.reshape(-1, *shape), names, [_plain(np.array(v)) for v in levels])


def labelled_like(X: Any, found: Array, projector: TransformerMixin, container: str) -> Array:
    """Projected samples with the sample axis of a DataArray; others as they are.

    Parameters
    ----------
    X : anything
        What was projected.
    found : array of shape (n, r) or (n, r_1, ..., r_K)
        The projected samples.
    projector : TensorProjector
        Fitted.
    container : str
        What `set_output` asked for; "default" gives a DataArray.

    Returns
    -------
    array-like
        An array, a DataArray, or a table of pandas.
    """
    if not is_data_array(X):
        return found
    modes = getattr(projector, "mode_names_", tuple(map(str, X.dims[1:])))
    (sample,) = [dim for dim in X.dims if str(dim) not in modes]
    kept = {name: coord for name, coord in X.coords.items() if coord.dims == (sample,)}
    if found.ndim > 2:
        dims = (sample, *(f"{mode}_component" for mode in modes))
        return type(X)(found, dims=dims, coords=kept)
    names = projector.get_feature_names_out()
    labelled = type(X)(found, dims=(sample, "feature"), coords={**kept, "feature": names})
    return labelled.to_pandas() if container == "pandas" else labelled


def _labels(X: Any, name: str) -> Array | None:
    """The entries along an axis; None without a coordinate, of which `get` would make numbers."""
    return _plain(np.asarray(X.coords[name])) if name in X.coords else None


def _plain(labels: Array) -> Array:
    return labels if labels.dtype.kind in PLAIN else labels.astype(str)


def _few(labels: Array) -> str:
    shown = ", ".join(map(str, np.asarray(labels).tolist()[:6]))
    return f"{shown}, ... ({len(labels)})" if len(labels) > 6 else shown
