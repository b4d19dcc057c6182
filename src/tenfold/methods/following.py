"""Everything follows X: estimators give arrays of the library and device that they were given.

Estimators are written for NumPy arrays. One that is given arrays of another library runs as a copy
of itself whose learned arrays are NumPy's, on samples that stay on their device (`DeviceSamples`).
What it returns or learned is then put where the samples are.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import wraps
from operator import is_
from typing import Any, NamedTuple

import numpy as np

from tenfold.mathematics.on_device import Place, to_numpy
from tenfold.mathematics.stores import Source
from tenfold.validation import other_arrays
from tenfold.validation.adjustments import is_adjusted

# What a user calls with samples. For the last ones samples are read into NumPy's memory.
LEARNING = ("fit", "partial_fit", "enrol", "revert")
USING = ("transform", "inverse_transform", "decision_function", "distances", "predict")
PROBABILITIES = ("predict_proba", "predict_log_proba", "log_likelihood_ratio")
READING = ("similarity", "score", "set_scores", "recentred", "enrol", "revert")
# Labels and tables of moments or results are NumPy's, whatever the samples are.
NUMPYS = ("classes_", "feature_names_in_", "mode_labels_", "moments_", "cv_results_")


NUMPY = "numpy"  # in place of a twin: all learned arrays are NumPy's


class HostTwin(NamedTuple):
    """A model with NumPy arrays, and what it was made from."""

    values: list[Any]  # the learned values of the model, to see whether they are still the same
    model: Any
    array: Any  # one of the learned arrays, to see where they are


class FollowsX:
    """Base of estimators whose results, and learned arrays, are where X is."""

    learns_on_device = True  # whether `fit` takes samples that are not in NumPy's memory
    _host: HostTwin | str | None = NUMPY  # else the twin, or None until it is made

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Let every method that takes samples follow them."""
        for name in (*LEARNING, *USING, *PROBABILITIES, *READING):
            method: Any = cls.__dict__.get(name)
            if hasattr(method, "fn"):  # under available_if
                method.fn = following(method.fn)
            elif method is not None:
                setattr(cls, name, following(method))
        super().__init_subclass__(**kwargs)

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())  # type: ignore[call-overload]
        if "_host" in state:
            state["_host"] = None  # made anew when it is needed
        return state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.array_api_support = True
        return tags


def following(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of NumPy arrays as one that follows X."""
    if hasattr(method, "follows_X"):
        return method

    @wraps(method)
    def follow(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        if type(X) is not np.ndarray or self._host is not NUMPY:
            return followed(method, self, X, args, kwargs)
        if args or kwargs:
            return method(self, X, *args, **kwargs)
        return method(self, X)  # one sample is scored so fast that the line above would count

    # Code of its own, which Python then specialises for this method alone, and its name in traces.
    named: Any = follow
    named.__code__ = named.__code__.replace(co_name=method.__name__)
    named.follows_X = True
    return follow


def followed(method: Any, model: Any, X: Any, args: Any, kwargs: Any) -> Any:
    """What a method gives for samples that need not be NumPy's, of a model that need not be.

    Parameters
    ----------
    method : function
        Of a model of NumPy arrays.
    model : estimator
        Its learned arrays may be of another library.
    X : anything
        The samples.
    args, kwargs : tuple and dict
        The other arguments.

    Returns
    -------
    anything
        With arrays that are where X is; for a method that learns, the model.
    """
    twin, name, place = host_twin(model), method.__name__, None
    if other := other_arrays.is_other(X):
        other_arrays.check_readable(X)
    elif twin is None:
        return method(model, X, *args, **kwargs)
    if other_arrays.dispatches():
        place = other_arrays.place_of(X)
        if twin is not None and name != "fit":
            own = other_arrays.place_of(twin.array)
            other_arrays.check_same_place(type(model).__name__, name, place, own)
    if other:
        X = other_arrays.samples_at(X, place)
    acting = model if twin is None else twin.model
    reads = name in READING or (name in LEARNING and not model.learns_on_device)
    if isinstance(X, Source) and (reads or is_adjusted(acting, kwargs)):
        X = X.rows(np.asarray)
    if name not in LEARNING:
        return moved(method(acting, X, *args, **kwargs), place)
    acting = copy(acting)  # what fails changes nothing
    method(acting, X, *args, **kwargs)
    return adopted(model, acting, place)


def host_model(model: Any) -> Any:
    """A model as one of NumPy arrays: itself, or a copy."""
    twin = host_twin(model)
    return model if twin is None else twin.model


def host_twin(model: Any) -> HostTwin | None:
    """The model with NumPy arrays in place of others, made once; None if all are NumPy's."""
    if "_host" not in getattr(model, "__dict__", ()):
        return None
    learned = learned_of(model)
    values = list(learned.values())
    twin: HostTwin | None = model._host
    if twin is None or len(twin.values) != len(values) or not all(map(is_, twin.values, values)):
        array = some_other(values)
        acting = copy(model)
        del acting._host
        if array is None:  # what was learned since is NumPy's
            del model._host
            return None
        acting.__dict__.update({name: moved(value, None) for name, value in learned.items()})
        twin = model._host = HostTwin(values, acting, array)
    settings = {k: v for k, v in vars(model).items() if k not in learned and k != "_host"}
    twin.model.__dict__.update(settings)  # parameters may have been set since
    return twin


def adopted(model: Any, fitted: Any, place: Place | None) -> Any:
    """The model with what another has learned, at that place; None stands for NumPy."""
    learned = learned_of(fitted)
    for name in [*learned_of(model), "_host", "_stacked", "_is_stream"]:
        vars(model).pop(name, None)
    if place is None:
        model.__dict__.update(vars(fitted))
        return model
    placed = {k: v if k in NUMPYS else moved(v, place) for k, v in learned.items()}
    model.__dict__.update(placed, _is_stream=getattr(fitted, "_is_stream", False))
    values = list(placed.values())
    array = some_other(values)
    if array is not None:  # a stream that has not come to all classes has learned none
        model._host = HostTwin(values, fitted, array)
    return model


def learned_of(model: Any) -> dict[str, Any]:
    """The learned attributes of an estimator, by name."""
    return {k: v for k, v in vars(model).items() if k.endswith("_") and k[0] != "_"}


def moved(value: Any, place: Place | None) -> Any:
    """A value with its arrays of numbers at a place; None moves them to NumPy.

    Parameters
    ----------
    value : anything
        Arrays, tenfold estimators, and lists, tuples and dicts of them; all else stays.
    place : Place or None
        Where to. Text has no place but NumPy.

    Returns
    -------
    anything
        A value of the same kind.
    """
    if isinstance(value, np.ndarray):
        return value if place is None or value.dtype.kind not in "fiub" else place.put(value)
    if type(value) in (list, tuple):
        return type(value)(moved(part, place) for part in value)
    if type(value) is dict:
        return {key: moved(part, place) for key, part in value.items()}
    if isinstance(value, FollowsX):
        return host_model(value) if place is None else adopted(copy(value), value, place)
    return to_numpy(value) if place is None and other_arrays.is_other(value) else value


def some_other(value: Any) -> Any:
    """The first array of another library in a learned value, None if there is none."""
    if isinstance(value, FollowsX):
        return some_other(list(learned_of(value).values()))
    if type(value) in (list, tuple, dict):
        parts = value.values() if type(value) is dict else value
        return next((found for found in map(some_other, parts) if found is not None), None)
    return value if other_arrays.is_other(value) else None
