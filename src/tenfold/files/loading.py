"""Estimators from model files: `load_model`, the way back from `save`.

A file says numbers and words only. The method is looked up in a list of known ones, and what was
learned must fit together as the method itself would have left it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from math import prod
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np
from sklearn.pipeline import Pipeline

from tenfold.classifiers.classifier import ClassSpecificClassifier
from tenfold.classifiers.open_set import OpenSetClassifier
from tenfold.classifiers.probabilistic import ProbabilisticLDA
from tenfold.classifiers.verifier import ClassSpecificVerifier
from tenfold.linalg.algebra import Array
from tenfold.methods import ALL_METHODS
from tenfold.methods.base import Learner, Shape, TensorProjector
from tenfold.methods.sklearn_steps import MARK, sklearn_transformer
from tenfold.preprocessing import ALL_STEPS
from tenfold.preprocessing.step import Step
from tenfold.quiet import warn
from tenfold.serialization.model_format import FORMAT, errors_named, read
from tenfold.serialization.values import Axes, Unpacker, check_agree, check_reading, expect

DECISIONS = (ClassSpecificClassifier, ClassSpecificVerifier, OpenSetClassifier, ProbabilisticLDA)
KNOWN = {M.__name__: M for M in (*ALL_METHODS, *DECISIONS, *ALL_STEPS)}
# Of streams, of tables, of samples with named axes, and of banks that decide by distances.
OPTIONAL = {"moments_", "feature_names_in_", "mode_names_", "mode_labels_"}
OPTIONAL |= {"spreads_", "other_spreads_", "classifier_", "range_"}


def load_model(path: str | os.PathLike[str]) -> object:
    """The estimator or pipeline that `save` wrote: it predicts the same, bit for bit.

    Loading needs no extra, never runs code, and never returns a model with other numbers than
    were saved: a checksum covers all of it.

    Parameters
    ----------
    path : path-like
        A file that `save` wrote.

    Returns
    -------
    estimator
        A fitted projector, `ClassSpecificClassifier`, `ClassSpecificVerifier`,
        `ProbabilisticLDA`, `OpenSetClassifier`, step of `tenfold.preprocessing` or scikit-learn
        pipeline of these and of the transformers of scikit-learn that `save` takes.

    Raises
    ------
    ModelFileError
        A `ValueError` that names the file and what is wrong with it: damaged, foreign, hostile,
        or of a format that this tenfold does not read.

    Examples
    --------
    >>> import os, tempfile
    >>> import tenfold
    >>> from sklearn.datasets import load_digits
    >>> mpca = tenfold.MPCA(ranks=(4, 4)).fit(load_digits().images)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "digits.safetensors")
    ...     mpca.save(path)
    ...     tenfold.load_model(path)
    MPCA(ranks=(4, 4))
    """
    return load_with_reading(path)[0]


def load_with_reading(path: str | os.PathLike[str]) -> tuple[object, dict[str, object]]:
    """The estimator of a model file, and how the samples it was fitted on were read.

    Parameters
    ----------
    path : path-like
        A file that `save` wrote.

    Returns
    -------
    estimator
        As from `load_model`.
    reading : dict
        Options of `tenfold.datasets.load`; empty where the file does not say.
    """
    header, arrays = read(path)
    with errors_named(path):
        if "moments" in header and "model" not in header:
            raise ValueError(
                "it holds moments, not a model; use load_moments and fit_moments, or tenfold "
                "fit --from-moments"
            )
        unpacker = ModelUnpacker(header, arrays)
        reading = check_reading(unpacker.table(header.get("reading", {})))
        return unpacker.model(header.get("model")), reading


class ModelUnpacker(Unpacker):
    """Turns the JSON values of `tenfold.methods.saving` back into estimators."""

    containers = Unpacker.containers | {"estimator", "pipeline"}

    def __init__(self, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
        super().__init__(header, arrays)
        self.format = header["format"]
        self.newer = int(self.format.partition(".")[2]) > FORMAT[1]

    def model(self, packed: object) -> Any:
        """A fitted estimator, or a pipeline of such."""
        if not isinstance(packed, dict) or packed.keys() != {"pipeline"}:
            return self.estimator(packed)
        found = self._pipeline(packed["pipeline"])
        for name, step in found.steps:
            if step not in (None, "passthrough") and not hasattr(step, "n_features_in_"):
                raise ValueError(f"step {name!r:.80} of its pipeline is not fitted")
        return found

    def _pipeline(self, inside: object) -> Pipeline:
        steps = []
        for step in expect(list, inside):
            name, packed = step if isinstance(step, list) and len(step) == 2 else (None, None)
            skipped = packed in (None, "passthrough")
            steps.append((expect(str, name), packed if skipped else self.estimator(packed)))
        if not steps or len({name for name, _ in steps}) < len(steps):
            raise ValueError("its pipeline has no steps, or two of one name")
        return Pipeline(steps)

    def estimator(self, packed: object) -> Any:
        """A fitted estimator, or an unfitted one that is a parameter of another."""
        if not isinstance(packed, dict) or not isinstance(packed.get("method"), str):
            raise ValueError("its header does not say of which method the model is")
        if packed["method"].startswith(MARK):
            values = [self.table(packed.get(kind)) for kind in ("parameters", "learned")]
            return sklearn_transformer(packed["method"], *values)
        if packed["method"] not in KNOWN:
            raise ValueError(
                f"it holds a {packed['method']!r:.80}, which this tenfold does not know; upgrade "
                "tenfold if a newer one wrote the file"
            )
        method = KNOWN[packed["method"]]
        estimator = method(**self._known(packed, "parameters", method._get_param_names()))
        kinds = LEARNED[packed["method"]]
        learned = self._known(packed, "learned", kinds)
        for name, value in learned.items():
            check_kind(name, value, kinds[name])
            setattr(estimator, name, value)
        if "moments_" in learned:
            estimator._is_stream = True
        if learned:
            check_learned(estimator, learned, kinds)
        return estimator

    def _known(self, packed: dict[str, object], kind: str, known: Iterable[str]) -> dict[str, Any]:
        table = packed.get(kind)
        if not isinstance(table, dict):
            raise ValueError(f"its header has no {kind} of {packed['method']}")
        strange = sorted(table.keys() - set(known))
        if strange and not self.newer:
            raise ValueError(f"{packed['method']} has no {kind} named {', '.join(strange):.200}")
        if strange:
            warn(
                f"left out {', '.join(strange):.200} of {packed['method']}, which came with a "
                f"newer tenfold (file format {self.format}); predictions do not depend on it",
                UserWarning,
            )
        return self.table({name: v for name, v in table.items() if name not in strange})

    def _estimator(self, inside: object) -> object:
        return self.estimator(inside)


# ── Whether what a file says was learned fits together, as the method itself would leave it ─────


def learned_kinds(method: type) -> dict[str, object]:
    """The learned attributes of a class: the fields of its value, and what it declares itself."""
    value = getattr(method, "_value", None)
    hints = get_type_hints(method, include_extras=True)
    own = {name: kind for name, kind in hints.items() if name.endswith("_") and name[0] != "_"}
    inside = {} if value is None else get_type_hints(value, include_extras=True)
    return own | {f"{name}_": kind for name, kind in inside.items()}


LEARNED = {name: learned_kinds(method) for name, method in KNOWN.items()}


def check_kind(name: str, value: object, kind: object) -> None:
    """Refuse a learned attribute that is not of the declared kind."""
    told = kind.__metadata__ if hasattr(kind, "__metadata__") else ()
    kind = get_args(kind)[0] if told else kind
    if kind == Shape:
        good = type(value) is tuple and all(type(v) is int and v >= 0 for v in value)
    elif "labels" in told:
        good = isinstance(value, np.ndarray) and value.ndim == 1
    elif kind == Array:
        good = isinstance(value, np.ndarray) and value.dtype.kind == "f"
    else:
        choices = get_args(kind) if isinstance(kind, UnionType) else (kind,)
        good = kind is Any or isinstance(value, tuple(get_origin(one) or one for one in choices))
    if not good:
        raise ValueError(f"its {name} is {value!r:.80}, which is not what such a model has")


def check_learned(model: Any, learned: Mapping[str, object], kinds: Mapping[str, object]) -> None:
    """Refuse a model that lacks something, or whose learned attributes do not fit together."""
    least = {"sample_shape_", "n_features_in_", "classes_"}
    gathers = "moments_" in learned and learned.keys() <= least | OPTIONAL  # partial_fit waits
    needed = least if gathers else kinds.keys() - OPTIONAL
    missing = sorted(needed - learned.keys())
    if missing:
        raise ValueError(f"its {type(model).__name__} lacks {', '.join(missing)}")
    check_agree("n_features_in_", model.n_features_in_, prod(model.sample_shape_))
    inside = getattr(model, "projector", None)
    if not isinstance(model, Step) and not isinstance(inside, TensorProjector | None):
        raise ValueError(f"its projector is {inside!r:.80}, not a projector")
    _check_mode_names(model.sample_shape_, learned)
    if isinstance(model, Learner | ProbabilisticLDA):
        model._check_parameters()
    if "moments_" in learned:
        _check_moments(model)
    if gathers:
        return
    model._check_learned()
    sizes = {"sample": model.sample_shape_, "I": (model.n_features_in_,), **model._sizes()}
    sizes |= {"C": (len(model.classes_),)} if "classes_" in learned else {}
    for name, value in learned.items():
        for axes in getattr(kinds[name], "__metadata__", ()):
            if isinstance(axes, Axes):
                axes.check(name, value, sizes)


def _check_mode_names(shape: Shape, learned: Mapping[str, Any]) -> None:
    names = learned.get("mode_names_", ())
    labels = learned.get("mode_labels_", [])
    if not names and not labels:
        return
    alike = (len(names), len(labels)) == (len(shape), len(shape))
    words = all(isinstance(name, str) for name in names)
    each = zip(labels, shape, strict=False)
    if not (alike and words and all(v is None or np.shape(v) == (size,) for v, size in each)):
        raise ValueError(f"its mode_names_ or mode_labels_ do not fit samples of shape {shape}")


def _check_moments(model: Any) -> None:
    moments, size = model.moments_, model.n_features_in_
    check_agree("moments_.classes", moments.classes.tolist(), model.classes_.tolist())
    flat = getattr(getattr(model, "_method", model), "_flattens", False)
    check_agree("moments_.means", moments.shape, (size,) if flat else model.sample_shape_)
