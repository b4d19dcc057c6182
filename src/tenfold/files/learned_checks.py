"""Whether what a model file says was learned fits together, as the method itself would leave it."""

from __future__ import annotations

from dataclasses import fields
from math import prod
from typing import Any, get_origin, get_type_hints

import numpy as np

from tenfold.decisions.classifier import ClassSpecificClassifier
from tenfold.decisions.members import innermost
from tenfold.decisions.open_set import OpenSetClassifier
from tenfold.decisions.probabilistic import ProbabilisticLDA
from tenfold.decisions.verifier import ClassSpecificVerifier
from tenfold.mathematics.algebra import Array
from tenfold.methods import ALL_METHODS, KERNEL_METHODS
from tenfold.methods.base import ClassSpecificProjector, Labels, Shape, TensorProjector
from tenfold.methods.saving import steps_of
from tenfold.preprocessing import ALL_STEPS
from tenfold.preprocessing.step import Step


def learned_kinds(method: type) -> dict[str, Any]:
    """The learned attributes of a class: the fields of its value, and what it declares itself."""
    value = getattr(method, "_value", None)
    hints = get_type_hints(method, include_extras=True)
    own = {name: kind for name, kind in hints.items() if name.endswith("_") and name[0] != "_"}
    inside = {} if value is None else get_type_hints(value, include_extras=True)
    return own | {f"{name}_": kind for name, kind in inside.items()}


def value_of(model: Any) -> Any:
    """The value that an estimator shows the fields of."""
    names = [field.name for field in fields(model._value)]
    _need(model, *(f"{name}_" for name in names))
    return model._value(**{name: getattr(model, f"{name}_") for name in names})


DECISIONS = (
    ClassSpecificClassifier,
    ClassSpecificVerifier,
    OpenSetClassifier,
    ProbabilisticLDA,
)
KNOWN = {M.__name__: M for M in (*ALL_METHODS, *DECISIONS, *ALL_STEPS)}
LEARNED = {name: learned_kinds(method) for name, method in KNOWN.items()}
OPTIONAL = {"moments_", "feature_names_in_"}
OPTIONAL |= {"mode_names_", "mode_labels_"}  # of samples with named axes


def check_kind(name: str, value: Any, kind: Any) -> None:
    """Refuse a learned attribute that is not of the declared kind."""
    if kind == Shape:
        good = type(value) is tuple and all(type(v) is int and v >= 0 for v in value)
    elif kind == Array:
        good = isinstance(value, np.ndarray) and value.dtype.kind == "f"
    elif kind == Labels:
        good = isinstance(value, np.ndarray) and value.ndim == 1
    else:
        good = kind is Any or isinstance(value, get_origin(kind) or kind)
    if not good:
        raise ValueError(f"its {name} is {value!r:.80}, which is not what such a model has")


def check_learned(model: Any) -> None:
    """The learned attributes are all there, and their shapes agree."""
    _need(model, "sample_shape_", "n_features_in_")
    _agree("n_features_in_", model.n_features_in_, prod(model.sample_shape_))
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        _agree("feature_names_in_", len(names), model.n_features_in_)
    if hasattr(model, "mode_names_") or hasattr(model, "mode_labels_"):
        _check_mode_names(model)
    if isinstance(model, Step):
        _need(model, *(name for name in LEARNED[type(model).__name__] if name not in OPTIONAL))
        model.check_learned()
        return
    _need(model, "classes_")
    if isinstance(model, OpenSetClassifier):
        _check_open_set(model)
        return
    gaussian, projector = isinstance(model, ProbabilisticLDA), getattr(model, "projector", model)
    needs_none = gaussian or isinstance(model, ClassSpecificVerifier)
    if not isinstance(projector, TensorProjector) and not (needs_none and projector is None):
        raise ValueError(f"its projector is {model.projector!r:.80}, not a projector")
    if isinstance(model, ClassSpecificVerifier):
        _check_verifier(model)
        return
    if hasattr(model, "moments_"):
        _check_moments(model)
    if isinstance(model, TensorProjector):
        _check_projector(model)
    elif gaussian and (hasattr(model, "directions_") or not hasattr(model, "moments_")):
        _check_gaussian(model)
    elif not gaussian and (hasattr(model, "projectors_") or not hasattr(model, "moments_")):
        _check_bank(model)


def _check_mode_names(model: Any) -> None:
    _need(model, "mode_names_", "mode_labels_")
    sizes = [
        size if v is None else np.shape(v)
        for v, size in zip(model.mode_labels_, model.sample_shape_, strict=False)
    ]
    wanted = [
        size if v is None else (size,)
        for v, size in zip(model.mode_labels_, model.sample_shape_, strict=False)
    ]
    _agree("mode_labels_", sizes, wanted)
    lengths = (len(model.mode_names_), len(model.mode_labels_))
    _agree("mode_names_", lengths, (len(model.sample_shape_),) * 2)
    if not all(isinstance(name, str) for name in model.mode_names_):
        raise ValueError("its mode_names_ are not words")


def _check_projector(model: TensorProjector) -> None:
    if hasattr(model, "moments_") and not hasattr(model, "projections_"):
        return  # partial_fit still gathers
    if isinstance(model, ClassSpecificProjector):
        model._positive_in(model.classes_)
    value, seen = value_of(model), model._seen_shape()
    value.check(seen, seen if type(model) in KERNEL_METHODS else model.sample_shape_)


def _check_moments(model: Any) -> None:
    moments, size = model.moments_, model.n_features_in_
    n, known = len(moments.classes), model.classes_.tolist()
    if moments.folds is None:
        _agree("moments_.classes", moments.classes.tolist(), known)
    elif not isinstance(model, ProbabilisticLDA) or not set(moments.classes.tolist()) <= set(known):
        raise ValueError("its moments_ are of folds of classes that it does not have")
    _agree("moments_.counts", moments.counts.shape, (n,))
    _agree("moments_.scatters", moments.scatters.shape, (n, size, size))
    flat = getattr(getattr(model, "projector", model), "_flattens", False)
    flat = flat and not isinstance(model, ProbabilisticLDA)  # its folds are of samples as they are
    _agree("moments_.means", moments.means.shape, (n, size) if flat else (n, *model.sample_shape_))


def _check_bank(bank: ClassSpecificClassifier) -> None:
    bank._check_parameters()
    _need(bank, "projectors_")
    n = len(bank.classes_)
    members = [m for m in bank.projectors_ if isinstance(m, ClassSpecificProjector)]
    fitted = [m for m in members if getattr(m, "sample_shape_", None) == bank.sample_shape_]
    _agree("projectors_", (len(bank.projectors_), len(fitted)), (n, n))
    if members[0]._has_ratio:
        return
    _need(bank, "spreads_", "other_spreads_")
    for name in ("spreads_", "other_spreads_"):
        spreads = getattr(bank, name)
        _agree(name, spreads.shape, (n,))
        if not (spreads > 0).all():
            raise ValueError(f"its {name} are not all positive")


def _check_gaussian(model: ProbabilisticLDA) -> None:
    value_of(model)
    inside, size = model.projector_, model.n_features_in_
    if (inside is None) != (model.projector is None) or not (
        inside is None or isinstance(inside, TensorProjector)
    ):
        raise ValueError(f"its projector_ is {inside!r:.80}, which is not what it learned")
    if inside is not None:
        _need(inside, "sample_shape_", "projections_")
        _agree("projector_", inside.sample_shape_, model.sample_shape_)
        size = prod(inside.ranks_)
    n, d = len(model.classes_), model.directions_.shape[-1:]
    shapes = {"mean_": (size,), "directions_": (size, *d), "class_means_": (n, *d)}
    shapes |= {"class_count_": (n,), "enrolled_": (n,), "priors_": (n,)}
    shapes |= dict.fromkeys(("between_", "spread_", "within_", "noise_"), d)
    for name, shape in shapes.items():
        _agree(name, getattr(model, name).shape, shape)
    least = (model.between_, model.spread_, model.class_count_, model.gain_, model.tails_)
    least += (model.priors_,)
    above = (model.within_, model.noise_, model.temperature_)
    if not all(np.all(v >= 0) for v in least) or not all(np.all(v > 0) for v in above):
        raise ValueError("its variances, counts or temperature are not positive")
    share = model.kronecker_share_
    if not 0 <= share <= 1 or (0 < share < 1 and d[0] % 2):
        raise ValueError(f"its kronecker_share_ is {share}, which its coordinates do not have")


def _check_verifier(verifier: ClassSpecificVerifier) -> None:
    _need(verifier, "projector_", "threshold_", "error_rates_", "promised_rate_")
    _need(verifier.projector_, "sample_shape_")
    _agree("projector_", verifier.projector_.sample_shape_, verifier.sample_shape_)
    _agree("classes_", len(verifier.classes_), 2)


def _check_open_set(model: OpenSetClassifier) -> None:
    _need(model, "model_", "unknown_", "threshold_", "error_rates_", "promised_rate_")
    first, last = steps_of(model.model_)[0], innermost(model.model_)
    if not isinstance(last, ProbabilisticLDA | ClassSpecificClassifier):
        raise ValueError(f"its model_ is {model.model_!r:.80}, which names no classes")
    _need(first, "sample_shape_")
    _agree("model_", first.sample_shape_, model.sample_shape_)
    _need(last, "sample_shape_")
    _agree("classes_", model.classes_.tolist(), last.classes_.tolist())
    if model.unknown_ in model.classes_.tolist():
        raise ValueError("its unknown_ is one of its classes")


def _need(model: Any, *names: str) -> None:
    missing = [name for name in names if not hasattr(model, name)]
    if missing:
        raise ValueError(f"its {type(model).__name__} lacks {', '.join(missing)}")


def _agree(name: str, came: Any, expected: Any) -> None:
    if came != expected:
        raise ValueError(f"its {name} has {came}, but the rest of the model needs {expected}")
