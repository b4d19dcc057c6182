"""Estimators from model files: `load`, the way back from `save`.

A file says numbers and words only. The method is looked up in a list of known ones, and what was
learned must fit together as the method itself would have left it.
"""

from __future__ import annotations

import os
import warnings
from math import prod
from typing import Any, get_origin, get_type_hints

import numpy as np

from tenfold.decisions.classifier import ClassSpecificClassifier
from tenfold.decisions.probabilistic import ProbabilisticLDA
from tenfold.decisions.verifier import ClassSpecificVerifier
from tenfold.mathematics.algebra import Array
from tenfold.mathematics.held_out import N_FOLDS
from tenfold.mathematics.moments import ClassMoments
from tenfold.methods import ALL_METHODS
from tenfold.methods.base import Labels, Shape, TensorProjector
from tenfold.methods.class_specific import ClassSpecificProjector
from tenfold.methods.saving import unpacked_labels, unpacked_reading
from tenfold.system.model_format import FORMAT, ModelFileError, read


def learned_kinds(method: type) -> dict[str, Any]:
    """The learned attributes that a class declares, with the types of its annotations."""
    hints = get_type_hints(method, include_extras=True)
    return {name: kind for name, kind in hints.items() if name.endswith("_") and name[0] != "_"}


DECISIONS = (ClassSpecificClassifier, ClassSpecificVerifier, ProbabilisticLDA)
KNOWN = {M.__name__: M for M in (*ALL_METHODS, *DECISIONS)}
LEARNED = {name: learned_kinds(method) for name, method in KNOWN.items()}
OPTIONAL = {"moments_", "feature_names_in_", "mode_names_", "mode_labels_"}
CONTAINERS = {"list", "pairs", "array", "labels", "moments", "estimator"}


def load(path: str | os.PathLike[str]) -> Any:
    """The estimator that `save` wrote: it predicts the same, bit for bit.

    Loading needs no extra, never runs code, and never returns a model with other numbers than
    were saved: a checksum covers all of it.

    Parameters
    ----------
    path : path-like
        A file that `save` wrote, with this version of tenfold or another.

    Returns
    -------
    estimator
        A fitted projector, `ClassSpecificClassifier`, `ClassSpecificVerifier` or
        `ProbabilisticLDA`.

    Raises
    ------
    ModelFileError
        A `ValueError` that names the file and what is wrong with it: damaged, foreign, hostile,
        or written by a newer tenfold.

    Examples
    --------
    >>> import os, tempfile
    >>> import tenfold
    >>> from sklearn.datasets import load_digits
    >>> mpca = tenfold.MPCA(ranks=(4, 4)).fit(load_digits().images)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "digits.safetensors")
    ...     mpca.save(path)
    ...     tenfold.load(path)
    MPCA(ranks=(4, 4))
    """
    return load_with_reading(path)[0]


def load_with_reading(path: str | os.PathLike[str]) -> tuple[Any, dict[str, Any]]:
    """The estimator of a model file, and how the samples it was fitted on were read.

    Parameters
    ----------
    path : path-like
        A file that `save` wrote.

    Returns
    -------
    estimator
        As from `load`.
    reading : dict
        Options of `tenfold.datasets.load`; empty where the file does not say.
    """
    header, arrays = read(path)
    try:
        reading = unpacked_reading(header.get("reading"))
        return _Unpacker(header, arrays).estimator(header.get("model")), reading
    except RecursionError as error:
        raise ModelFileError(f"cannot load {path}: its model is nested too deep") from error
    except (ValueError, TypeError) as error:
        raise ModelFileError(f"cannot load {path}: {error!s:.600}") from error


class _Unpacker:
    """Turns the JSON values of `tenfold.methods.saving` back into what they stand for."""

    def __init__(self, header: dict[str, Any], arrays: dict[str, Array]) -> None:
        labels = header.get("labels")
        if not isinstance(labels, list):
            raise ValueError("its header lists no labels")
        self.labels = [unpacked_labels(packed) for packed in labels]
        self.arrays = arrays
        self.format = header["format"]
        self.newer = int(self.format.partition(".")[2]) > FORMAT[1]

    def estimator(self, packed: Any) -> Any:
        """A fitted estimator, or an unfitted one that is a parameter of another."""
        if not isinstance(packed, dict) or not isinstance(packed.get("method"), str):
            raise ValueError("its header does not say of which method the model is")
        if packed["method"] not in KNOWN:
            raise ValueError(
                f"it holds a {packed['method']!r:.80}, which this tenfold does not know; upgrade "
                "tenfold if a newer one wrote the file"
            )
        method = KNOWN[packed["method"]]
        estimator = method(**self._table(packed, "parameters", method._get_param_names()))
        kinds = LEARNED[packed["method"]]
        learned = self._table(packed, "learned", kinds)
        for name, value in learned.items():
            _check_kind(name, value, kinds[name])
            setattr(estimator, name, value)
        if learned:
            _check_learned(estimator)
        return estimator

    def _table(self, packed: dict[str, Any], kind: str, known: Any) -> dict[str, Any]:
        table = packed.get(kind)
        if not isinstance(table, dict):
            raise ValueError(f"its header has no {kind} of {packed['method']}")
        strange = sorted(table.keys() - set(known))
        if strange and not self.newer:
            raise ValueError(f"{packed['method']} has no {kind} named {', '.join(strange):.200}")
        if strange:
            warnings.warn(
                f"left out {', '.join(strange):.200} of {packed['method']}, which came with a "
                f"newer tenfold (file format {self.format}); predictions do not depend on it",
                UserWarning,
                stacklevel=4,
            )
        return {name: self.value(value) for name, value in table.items() if name not in strange}

    def value(self, packed: Any) -> Any:
        """What a JSON value stands for."""
        if packed is None or isinstance(packed, bool | int | str):
            return packed
        if isinstance(packed, float) and np.isfinite(packed):
            return packed
        if isinstance(packed, list):
            return tuple(self.value(part) for part in packed)
        if not isinstance(packed, dict) or len(packed) != 1 or not packed.keys() <= CONTAINERS:
            raise ValueError(f"its header holds {packed!r:.80}, which stands for nothing")
        ((kind, inside),) = packed.items()
        return getattr(self, f"_{kind}")(inside)

    def _list(self, inside: Any) -> list[Any]:
        return list(self.value(_expect(list, inside)))

    def _pairs(self, inside: Any) -> dict[Any, Any]:
        return dict(self.value(_expect(list, inside)))

    def _array(self, inside: Any) -> Array:
        if _expect(str, inside) not in self.arrays:
            raise ValueError(f"its header speaks of an array {inside!r:.80} that is not there")
        return self.arrays[inside]

    def _labels(self, inside: Any) -> Array:
        if not 0 <= _expect(int, inside) < len(self.labels):
            raise ValueError(f"its header speaks of labels {inside!r:.20} that are not there")
        return self.labels[inside]

    def _moments(self, inside: Any) -> ClassMoments:
        parts = {name: self.value(part) for name, part in _expect(dict, inside).items()}
        if not all(isinstance(part, np.ndarray) for part in parts.values()):
            raise ValueError("its moments are not arrays")
        return ClassMoments(**parts)

    def _estimator(self, inside: Any) -> Any:
        return self.estimator(inside)


def _expect(kind: type, value: Any) -> Any:
    if type(value) is not kind:
        raise ValueError(f"its header holds {value!r:.80} where a {kind.__name__} should be")
    return value


# ── What was learned must fit together ──────────────────────────────────────────────────────────


def _check_kind(name: str, value: Any, kind: Any) -> None:
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


def _check_learned(model: Any) -> None:
    """The learned attributes are all there, and their shapes agree."""
    _need(model, "sample_shape_", "n_features_in_", "classes_")
    gaussian, projector = isinstance(model, ProbabilisticLDA), getattr(model, "projector", model)
    if not isinstance(projector, TensorProjector) and not (gaussian and projector is None):
        raise ValueError(f"its projector is {model.projector!r:.80}, not a projector")
    _agree("n_features_in_", model.n_features_in_, prod(model.sample_shape_))
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        _agree("feature_names_in_", len(names), model.n_features_in_)
    if hasattr(model, "mode_names_") or hasattr(model, "mode_labels_"):
        _check_mode_names(model)
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
    _need(model, "projections_", "ranks_", "objective_", "n_iter_", "converged_")
    shape = (model.n_features_in_,) if model.flattens else model.sample_shape_
    if not all(isinstance(W, np.ndarray) and W.dtype.kind == "f" for W in model.projections_):
        raise ValueError("its projections are not arrays of floats")
    shapes = tuple(W.shape for W in model.projections_)
    _agree("projections_", shapes, tuple(zip(shape, model.ranks_, strict=False)))
    _agree("ranks_", len(model.ranks_), len(shape))
    _agree("objective_", model.objective_.shape, (model.n_iter_,))
    if "mean_" in LEARNED[type(model).__name__]:
        _need(model, "mean_")
        _agree("mean_", model.mean_.shape, model.sample_shape_)
    if isinstance(model, ClassSpecificProjector):
        model.positive_in(model.classes_)


def _check_moments(model: Any) -> None:
    moments, size = model.moments_, model.n_features_in_
    n, n_classes = len(moments.classes), len(model.classes_)
    if isinstance(model, ProbabilisticLDA):  # of every class in every fold
        n_folds = N_FOLDS if n != n_classes else 1
        _agree("moments_.classes", moments.classes.tolist(), [*range(n_folds * n_classes)])
    else:
        _agree("moments_.classes", n, n_classes)
    _agree("moments_.counts", moments.counts.shape, (n,))
    _agree("moments_.scatters", moments.scatters.shape, (n, size, size))
    flat = getattr(getattr(model, "projector", model), "flattens", False)
    flat = flat and not isinstance(model, ProbabilisticLDA)  # its folds are of samples as they are
    _agree("moments_.means", moments.means.shape, (n, size) if flat else (n, *model.sample_shape_))


def _check_bank(bank: ClassSpecificClassifier) -> None:
    if bank.normalise is True:  # in files of format 1.0: what is called "own" today
        bank.normalise = "own"
    bank.check_parameters()
    _need(bank, "projectors_", "spreads_")
    if bank.normalise == "others":
        _need(bank, "other_spreads_")
        _agree("other_spreads_", bank.other_spreads_.shape, (len(bank.classes_),))
    n = len(bank.classes_)
    members = [m for m in bank.projectors_ if isinstance(m, ClassSpecificProjector)]
    fitted = [m for m in members if getattr(m, "sample_shape_", None) == bank.sample_shape_]
    _agree("projectors_", (len(bank.projectors_), len(fitted)), (n, n))
    _agree("spreads_", bank.spreads_.shape, (n,))
    if not (bank.spreads_ > 0).all():
        raise ValueError("its spreads_ are not all positive")


def _check_gaussian(model: ProbabilisticLDA) -> None:
    _need(model, *(name for name in LEARNED["ProbabilisticLDA"] if name not in OPTIONAL))
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
    shapes |= {"class_count_": (n,), "enrolled_": (n,)}
    shapes |= dict.fromkeys(("between_", "spread_", "within_", "noise_"), d)
    for name, shape in shapes.items():
        _agree(name, getattr(model, name).shape, shape)
    least = (model.between_, model.spread_, model.class_count_, model.gain_, model.tails_)
    above = (model.within_, model.noise_, model.temperature_)
    if not all(np.all(v >= 0) for v in least) or not all(np.all(v > 0) for v in above):
        raise ValueError("its variances, counts or temperature are not positive")


def _check_verifier(verifier: ClassSpecificVerifier) -> None:
    _need(verifier, "projector_", "threshold_", "error_rates_", "promised_rate_")
    _need(verifier.projector_, "sample_shape_")
    _agree("projector_", verifier.projector_.sample_shape_, verifier.sample_shape_)
    _agree("classes_", len(verifier.classes_), 2)


def _need(model: Any, *names: str) -> None:
    missing = [name for name in names if not hasattr(model, name)]
    if missing:
        raise ValueError(f"its {type(model).__name__} lacks {', '.join(missing)}")


def _agree(name: str, came: Any, expected: Any) -> None:
    if came != expected:
        raise ValueError(f"its {name} has {came}, but the rest of the model needs {expected}")
