"""Estimators from model files: `load`, the way back from `save`.

A file says numbers and words only. The method is looked up in a list of known ones, and what was
learned must fit together as the method itself would have left it.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from typing import Any

from sklearn.pipeline import Pipeline

from tenfold.files.learned_checks import KNOWN, LEARNED, check_kind, check_learned
from tenfold.mathematics.algebra import Array
from tenfold.system.model_format import FORMAT, errors_named, read
from tenfold.system.plain_values import Unpacker, expect


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
        unpacker = ModelUnpacker(header, arrays)
        return unpacker.model(header.get("model")), unpacker.table(header.get("reading", {}))


class ModelUnpacker(Unpacker):
    """Turns the JSON values of `tenfold.methods.saving` back into estimators."""

    containers = Unpacker.containers | {"estimator", "pipeline"}

    def __init__(self, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
        super().__init__(header, arrays)
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
        for step in expect(list, inside):
            name, packed = step if isinstance(step, list) and len(step) == 2 else (None, None)
            skipped = packed in (None, "passthrough")
            steps.append((expect(str, name), packed if skipped else self.estimator(packed)))
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
        estimator = method(**self._known(packed, "parameters", method._get_param_names()))
        kinds = LEARNED[packed["method"]]
        learned = self._known(packed, "learned", kinds)
        for name, value in learned.items():
            check_kind(name, value, kinds[name])
            setattr(estimator, name, value)
        if "moments_" in learned:
            estimator._is_stream = True
        if learned:
            check_learned(estimator)
        return estimator

    def _known(self, packed: dict[str, Any], kind: str, known: Any) -> dict[str, Any]:
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
        return self.table({name: v for name, v in table.items() if name not in strange})

    def _estimator(self, inside: Any) -> Any:
        return self.estimator(inside)
