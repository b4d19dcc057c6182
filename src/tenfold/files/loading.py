"""Estimators from model files: `load`, the way back from `save`.

A file says numbers and words only. The method is looked up in a list of known ones, and what was
learned must fit together as the method itself would have left it.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from tenfold.files.learned_checks import KNOWN, LEARNED, check_kind, check_learned
from tenfold.mathematics.algebra import Array
from tenfold.mathematics.moments import ClassMoments
from tenfold.methods.saving import unpacked_labels, unpacked_reading
from tenfold.system.model_format import FORMAT, errors_named, read

MOST_FOLDS = 10**6
CONTAINERS = {"list", "pairs", "array", "labels", "moments", "estimator", "pipeline"}


def load(path: str | os.PathLike[str]) -> Any:
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
        pipeline of these.

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
    with errors_named(path):
        if "moments" in header and "model" not in header:
            raise ValueError(
                "it holds moments, not a model; use load_moments and fit_moments, or tenfold "
                "fit --from-moments"
            )
        reading = unpacked_reading(header.get("reading"))
        return Unpacker(header, arrays).model(header.get("model")), reading


class Unpacker:
    """Turns the JSON values of `tenfold.methods.saving` back into what they stand for."""

    def __init__(self, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
        labels = header.get("labels")
        if not isinstance(labels, list):
            raise ValueError("its header lists no labels")
        self.labels = [unpacked_labels(packed) for packed in labels]
        self.arrays = arrays
        self.format = header["format"]
        self.newer = int(self.format.partition(".")[2]) > FORMAT[1]

    def model(self, packed: Any) -> Any:
        """A fitted estimator, or a pipeline of such."""
        if not isinstance(packed, dict) or packed.keys() != {"pipeline"}:
            return self.estimator(packed)
        found = self._pipeline(packed["pipeline"])
        for name, step in found.steps:
            if step not in (None, "passthrough") and not hasattr(step, "sample_shape_"):
                raise ValueError(f"step {name!r:.80} of its pipeline is not fitted")
        return found

    def _pipeline(self, inside: Any) -> Pipeline:
        steps = []
        for step in _expect(list, inside):
            name, packed = step if isinstance(step, list) and len(step) == 2 else (None, None)
            skipped = packed in (None, "passthrough")
            steps.append((_expect(str, name), packed if skipped else self.estimator(packed)))
        if not steps or len({name for name, _ in steps}) < len(steps):
            raise ValueError("its pipeline has no steps, or two of one name")
        return Pipeline(steps)

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
            check_kind(name, value, kinds[name])
            setattr(estimator, name, value)
        if "moments_" in learned:
            estimator._is_stream = True
        if learned:
            check_learned(estimator)
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
        return mapping_of(self.value(_expect(list, inside)))

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
        needed = [part for name, part in parts.items() if name != "folds" or part is not None]
        if not all(isinstance(part, np.ndarray) for part in needed):
            raise ValueError("its moments are not arrays")
        moments = ClassMoments(**parts)
        check_rows(moments)
        return moments

    def _estimator(self, inside: Any) -> Any:
        return self.estimator(inside)


def check_rows(moments: ClassMoments) -> None:
    """Rows are sorted by class, and by fold in a class; none is there twice."""
    classes, folds = moments.classes, moments.folds
    if classes.ndim != 1:
        raise ValueError("its classes are not a row")
    keys = np.unique(classes, return_inverse=True)[1]
    if folds is not None:
        if folds.shape != classes.shape or folds.dtype.kind != "i":
            raise ValueError("its folds are not one number for each of its classes")
        if folds.min(initial=0) < 0 or folds.max(initial=0) >= MOST_FOLDS:
            raise ValueError("its folds are not numbered as folds are")
        keys = keys * MOST_FOLDS + folds
    if not (np.diff(keys) > 0).all():
        raise ValueError("its classes are not sorted, or some are there twice")


def mapping_of(pairs: list[Any]) -> dict[Any, Any]:
    """A mapping from pairs of a file; keys made to collide would take minutes, and are refused."""
    keys = [key for key, _ in pairs]
    if len(keys) > len(set(map(hash, keys))) + 8:
        raise ValueError(f"its header holds a mapping with {len(keys)} keys that collide")
    return dict(pairs)


def _expect(kind: type, value: Any) -> Any:
    if type(value) is not kind:
        raise ValueError(f"its header holds {value!r:.80} where a {kind.__name__} should be")
    return value
