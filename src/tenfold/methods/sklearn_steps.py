"""Transformers of scikit-learn that a model file may hold: their names, and what they learn.

A file names a transformer of this list, its parameters and its learned attributes, as plain
values. Nothing else of scikit-learn is ever imported, and nothing is run but their `transform`.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

MARK = "sklearn."  # before the name of a transformer in a file
MOST_FEATURES = 2**40


class Known(NamedTuple):
    """Where a transformer lives, and its learned attributes."""

    module: str
    arrays: dict[str, tuple[str, ...]]  # names of axes: "p" features, "k" components
    missing: tuple[str, ...] = ()  # arrays that may be None
    numbers: tuple[str, ...] = ()
    counts: tuple[str, ...] = ()  # numbers, or one whole number per feature


TRANSFORMERS = {
    "StandardScaler": Known(
        "sklearn.preprocessing",
        {"mean_": ("p",), "var_": ("p",), "scale_": ("p",)},
        missing=("mean_", "var_", "scale_"),
        counts=("n_samples_seen_",),
    ),
    "MinMaxScaler": Known(
        "sklearn.preprocessing",
        dict.fromkeys(("min_", "scale_", "data_min_", "data_max_", "data_range_"), ("p",)),
        counts=("n_samples_seen_",),
    ),
    "MaxAbsScaler": Known(
        "sklearn.preprocessing",
        {"scale_": ("p",), "max_abs_": ("p",)},
        counts=("n_samples_seen_",),
    ),
    "RobustScaler": Known(
        "sklearn.preprocessing",
        {"center_": ("p",), "scale_": ("p",)},
        missing=("center_", "scale_"),
    ),
    "Normalizer": Known("sklearn.preprocessing", {}),
    "PCA": Known(
        "sklearn.decomposition",
        {
            "components_": ("k", "p"),
            "mean_": ("p",),
            "explained_variance_": ("k",),
            "explained_variance_ratio_": ("k",),
            "singular_values_": ("k",),
        },
        numbers=("noise_variance_", "n_components_", "n_samples_"),
    ),
}


def sklearn_name(estimator: object) -> str | None:
    """Its name in a file; None for what is not in the list, such as a subclass."""
    kind = type(estimator)
    known = TRANSFORMERS.get(kind.__name__)
    if known is None or not kind.__module__.startswith("sklearn."):
        return None
    same = getattr(import_module(known.module), kind.__name__) is kind
    return MARK + kind.__name__ if same else None


def sklearn_learned(estimator: BaseEstimator) -> dict[str, object]:
    """The learned attributes that a file holds; none of a transformer that is not fitted."""
    known = TRANSFORMERS[type(estimator).__name__]
    names = [*known.arrays, *known.numbers, *known.counts]
    names += ["n_features_in_", "feature_names_in_"]
    return {name: getattr(estimator, name) for name in names if hasattr(estimator, name)}


def sklearn_transformer(
    name: str, parameters: Mapping[str, object], learned: Mapping[str, Any]
) -> BaseEstimator:
    """A transformer of the list from what a file says; a ValueError where that cannot be.

    Parameters
    ----------
    name : str
        Such as "sklearn.PCA".
    parameters, learned : mappings of str to values
        What it is made with, and what it learned; nothing for one that is not fitted.
    """
    short = name.removeprefix(MARK)
    if not name.startswith(MARK) or short not in TRANSFORMERS:
        raise ValueError(
            f"it holds a {name!r:.80}, which this tenfold does not know; upgrade tenfold if a "
            "newer one wrote the file"
        )
    known = TRANSFORMERS[short]
    method = getattr(import_module(known.module), short)
    strange = sorted(parameters.keys() - set(method._get_param_names()))
    if strange:
        raise ValueError(f"{short} has no parameters named {', '.join(strange):.200}")
    estimator = method(**parameters)
    estimator._validate_params()
    if not learned:
        return estimator
    _check_learned(short, known, learned)
    for attribute, value in learned.items():
        setattr(estimator, attribute, value)
    if known.arrays:
        _check_works(short, estimator)
    return estimator


def _check_learned(name: str, known: Known, learned: Mapping[str, Any]) -> None:
    """Refuse learned attributes of other names, kinds and shapes than such a transformer has."""
    needed = {*known.arrays, *known.numbers, *known.counts, "n_features_in_"}
    if learned.keys() - {"feature_names_in_"} != needed:
        raise ValueError(f"its {name} has not learned {', '.join(sorted(needed))}")
    n_features = learned["n_features_in_"]
    if type(n_features) is not int or not 0 < n_features < MOST_FEATURES:
        raise ValueError(f"the n_features_in_ of its {name} is {n_features!r:.80}")
    components = learned.get("components_")
    sizes = {"p": n_features, "k": 0}
    if isinstance(components, np.ndarray) and components.ndim == 2:
        sizes["k"] = len(components)
    for attribute, axes in known.arrays.items():
        value = learned[attribute]
        if value is None and attribute in known.missing:
            continue
        wanted = tuple(sizes[axis] for axis in axes)
        is_array = isinstance(value, np.ndarray) and value.dtype.kind == "f"
        if not is_array or value.shape != wanted or not np.isfinite(value).all():
            raise ValueError(f"the {attribute} of its {name} is not {wanted} finite numbers")
    for attribute in (*known.numbers, *known.counts):
        value = learned[attribute]
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        per_feature = attribute in known.counts and isinstance(value, np.ndarray)
        if per_feature:
            is_number = value.shape == (n_features,) and value.dtype.kind in "if"
        if not is_number or not np.all(value >= 0):
            raise ValueError(f"the {attribute} of its {name} is {value!r:.80}")
    names = learned.get("feature_names_in_")
    if names is not None and np.shape(names) != (n_features,):
        raise ValueError(f"the feature_names_in_ of its {name} are not {n_features} names")


def _check_works(name: str, estimator: BaseEstimator) -> None:
    """Refuse a transformer that does not transform, as parameters and attributes may disagree."""
    zeros = np.zeros((1, estimator.n_features_in_))
    names = vars(estimator).pop("feature_names_in_", None)  # zeros have none
    try:
        with np.errstate(all="ignore"):
            found = estimator.transform(zeros)
    except (TypeError, AttributeError) as error:
        raise ValueError(f"its {name} does not transform: {error}") from error
    if not np.isfinite(found).all():
        raise ValueError(f"its {name} makes numbers that are not finite")
    if names is not None:
        estimator.feature_names_in_ = names
