"""Estimators as plain values, ready for a model file.

estimator                       {"estimator": {"method", "parameters", "learned"}}
pipeline of such                {"pipeline": [[name, {"method", ...}], ...]}

Estimators are those of tenfold, and the transformers that `tenfold.methods.sklearn_steps` lists.

A model is {"method", "parameters", "learned"}, or a pipeline as above. How their values
stand in the file is said in `tenfold.serialization.values`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from math import isfinite

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from tenfold.linalg.arrays import Array
from tenfold.methods.sklearn_steps import TRANSFORMERS, sklearn_learned, sklearn_name
from tenfold.quiet import warn
from tenfold.serialization import model_format
from tenfold.serialization.values import Packed, Packer, packed_reading


def save(
    model: BaseEstimator,
    path: str | os.PathLike[str],
    *,
    reading: Mapping[str, object] | None = None,
    moments: bool = False,
) -> None:
    """Write a fitted estimator or pipeline to a safetensors file, which `load_model` reads.

    The file holds arrays and a JSON header, no pickle: loading it never runs code. It is written
    under a temporary name and renamed, so it is never there by half. Training samples are not in
    it, nor are their moments unless these are asked for. Where a model holds samples by its
    nature, a warning says which: the landmarks of `KernelCSDA` and of the kernel views of
    `ProbabilisticLDA`, and the mean of a class of one sample, where the model has it. What
    `set_output` chose is not in it, nor are `memory` and `verbose` of a pipeline.

    Parameters
    ----------
    model : estimator or sklearn.pipeline.Pipeline
        A fitted estimator of tenfold, or a pipeline of such. Steps, and views of a
        `ProbabilisticLDA`, may also be these of scikit-learn: StandardScaler, MinMaxScaler,
        MaxAbsScaler, RobustScaler, Normalizer and PCA.
    path : path-like
        Where to, such as "s7.safetensors"; an existing file is replaced.
    reading : mapping or None, default=None
        How the samples were read: ``data.reading`` of a `TensorDataset`. The commands `score`,
        `evaluate`, `report` and `transform` then read other samples in the same way.
    moments : bool, default=False
        Whether to write the moments of a stream, so that `partial_fit` can go on after loading.
        Whoever has the file then knows count, mean and scatter of every class, and all of a class
        of one or two samples; see the page "Several sites" of the user guide. A stream of
        `ProbabilisticLDA` keeps samples instead, which are never written.

    Examples
    --------
    >>> import os, tempfile
    >>> import tenfold
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.pipeline import make_pipeline
    >>> X, y = load_digits().images, load_digits().target
    >>> model = make_pipeline(tenfold.ModeScaler(), tenfold.MCSDA(ranks=(4, 4), positive=3))
    >>> model = model.fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "three.safetensors")
    ...     tenfold.save(model, path)
    ...     loaded = tenfold.load_model(path)
    >>> bool((loaded.transform(X) == model.transform(X)).all())
    True
    """
    packer = ModelPacker(moments)
    packed = packer.model(model)
    steps = steps_of(model)
    check_savable(steps[-1], moments)
    header = {"summary": summary(steps), "labels": packer.labels, "model": packed}
    if reading:
        header["reading"] = packed_reading(reading)
    for said in dict.fromkeys(said for step in steps for said in samples_inside(step)):
        warn(f"{path} will hold {said}", UserWarning)
    model_format.write(path, header, packer.arrays)


def steps_of(model: BaseEstimator) -> list[BaseEstimator]:
    """The estimators that samples go through, the last one last; one for what is no pipeline."""
    named = model.steps if isinstance(model, Pipeline) else [("", model)]
    steps = [step for _, step in named if step not in (None, "passthrough")]
    if not steps:
        raise ValueError("the pipeline has no steps; pass a fitted model")
    return steps


class ModelPacker(Packer):
    """Collects the arrays and labels of an estimator while it is turned into JSON values.

    Parameters
    ----------
    moments : bool
        Whether moments of streams are wanted, too.
    """

    def __init__(self, moments: bool) -> None:
        super().__init__()
        self.moments = moments

    def model(self, model: BaseEstimator) -> Packed:
        """A fitted estimator, or the steps of a fitted pipeline."""
        if not isinstance(model, Pipeline):
            return self.estimator(model, "")
        for step in steps_of(model):
            check_is_fitted(step)
        return self.pipeline(model, "")

    def pipeline(self, pipeline: Pipeline, prefix: str) -> Packed:
        """The steps of a pipeline by name."""
        packed: list[object] = []
        for name, step in pipeline.steps:
            skipped = step in (None, "passthrough")
            packed.append([name, step if skipped else self.estimator(step, f"{prefix}{name}.")])
        return {"pipeline": packed}

    def estimator(self, estimator: BaseEstimator, prefix: str) -> Packed:
        """Method, parameters and learned attributes of an estimator."""
        _check_known(estimator)
        name = type(estimator).__name__
        method = sklearn_name(estimator)
        if not prefix:
            check_is_fitted(estimator, "sample_shape_" if method is None else "n_features_in_")
        parameters = estimator.get_params(deep=False)
        if method is not None:
            learned = sklearn_learned(estimator)
        else:
            learned = estimator._learned_attributes()
            if not (self.moments and estimator._is_stream):
                learned.pop("moments_", None)
        return {
            "method": method or name,
            "parameters": self.table(name, parameters, prefix),
            "learned": self.table(name, learned, prefix),
        }

    def other(self, value: object, name: str) -> object:
        """An estimator or a pipeline inside another."""
        if isinstance(value, Pipeline):
            return self.pipeline(value, f"{name}.")
        if is_savable(value) or sklearn_name(value) is not None:
            return {"estimator": self.estimator(value, f"{name}.")}
        if value is Ellipsis:  # among the views of a ProbabilisticLDA
            return "auto"
        if hasattr(value, "get_params") and not isinstance(value, type):
            raise TypeError(
                f"{type(value).__name__} is not part of tenfold, and of other libraries a model "
                f"file may hold {', '.join(TRANSFORMERS)} of scikit-learn"
            )
        return super().other(value, name)


def is_savable(value: object) -> bool:
    """Whether it is an estimator that says what it learned, as `methods.base.Savable` does."""
    return hasattr(value, "_learned_attributes")


def _check_known(estimator: BaseEstimator) -> None:
    """Refuse what `load_model` would not know, with what to do instead."""
    kind = type(estimator).__qualname__
    ours = type(estimator).__module__.partition(".")[0] == "tenfold"
    if sklearn_name(estimator) is not None or (ours and is_savable(estimator)):
        return
    if ours and hasattr(estimator, "best_estimator_"):
        raise ValueError(f"a {kind} is not saved whole; save its best_estimator_")
    instead = "use joblib.dump, whose files only someone you trust may write"
    raise ValueError(
        f"{kind} is not part of tenfold, so load_model would not know it; of other libraries it "
        f"knows {', '.join(TRANSFORMERS)} of scikit-learn; {instead}"
    )


def check_savable(estimator: BaseEstimator, moments: bool) -> None:
    """Refuse to save moments that are not kept, and a model that is nothing but moments."""
    name = type(estimator).__name__
    if hasattr(estimator, "_gathered") and not hasattr(estimator, "pool_"):
        raise ValueError(
            f"this {name} has no model yet, since partial_fit waits for samples of more classes, "
            "and samples are never written; save it once it has a model"
        )
    if hasattr(estimator, "_gathered") and moments:
        raise ValueError(
            f"moments is True, but a stream of {name} keeps samples in place of moments, and "
            "samples are never written; save without moments, or use joblib.dump to go on with "
            "partial_fit later"
        )
    if moments and not getattr(estimator, "_is_stream", False):
        raise ValueError(
            f"moments is True, but this {name} has no moments of a stream to save; learn with "
            "partial_fit, or save without moments"
        )
    if not moments and hasattr(estimator, "moments_") and not hasattr(estimator, "class_count_"):
        raise ValueError(
            f"this {name} has no model yet, since partial_fit waits for samples of more classes; "
            "save(..., moments=True) writes the moments so far"
        )


def samples_inside(estimator: BaseEstimator) -> list[str]:
    """What a fitted model holds of single training samples by its nature, in words.

    Parameters
    ----------
    estimator : estimator
        A fitted projector, bank, verifier, Gaussian model or scaler.

    Returns
    -------
    list of str
        Such as "the only sample of class 'a', which is the mean of that class"; most models have
        none. Counts are sums of weights, so a sample of weight 2 is not known to be one.
    """
    found: list[str] = []
    counts: Array = getattr(estimator, "class_count_", np.zeros(0))
    if hasattr(estimator, "class_means_") or hasattr(estimator, "pool_"):
        found += [_only_sample(c) for c in estimator.classes_[(counts > 0) & (counts < 2)]]
    elif hasattr(estimator, "positive_index_"):
        positive = np.arange(len(counts)) == estimator.positive_index_
        for side in (positive, ~positive):
            few = side & (counts > 0) & (counts[side].sum() < 2)
            found += [_only_sample(c) for c in estimator.classes_[few]]
    elif len(counts) and hasattr(estimator, "mean_") and counts.sum() < 2:
        found.append("the only training sample, which is the mean")
    elif np.min(getattr(estimator, "n_samples_seen_", 2)) < 2:
        found.append("the only training sample, or means of it")
    if len(getattr(estimator, "landmarks_", ())):
        found.append(
            f"{len(estimator.landmarks_)} training samples, unchanged: the landmarks_ of "
            f"{type(estimator).__name__}"
        )
    for view in estimator.pool_["views"] if hasattr(estimator, "pool_") else ():
        inside = view["map"]
        if inside["kind"] == "rbf":
            found.append(
                f"{len(inside['landmarks'])} training samples: the landmarks of view "
                f"{view['name']!r}; fit with views='linear' (--views linear) to avoid it"
            )
        elif inside["kind"] == "transformer":
            found += samples_inside(inside["transformer"])
    for step in steps_of(estimator.model_) if hasattr(estimator, "model_") else ():
        found += samples_inside(step)
    for member in estimator.members_ if is_learned(estimator) else ():
        found += [] if member is estimator else samples_inside(member)
    return list(dict.fromkeys(found))


def _only_sample(label: object) -> str:
    return f"the only sample of class {np.asarray(label).item()!r}, which is the mean of that class"


def summary(steps: list[BaseEstimator]) -> Packed:
    """What a person wants to know of a model first, one entry per projector where there are many.

    Parameters
    ----------
    steps : list of estimators
        What samples go through; the last is a fitted projector, bank, verifier or scaler.

    Returns
    -------
    dict of str to JSON values
        Method, shape, number of classes, rounds, convergence, last objective, class counts.
    """
    *before, estimator = steps
    learned = estimator.members_ if is_learned(estimator) else []
    projector = getattr(estimator, "projector", None if hasattr(estimator, "pool_") else estimator)
    objectives = [float(member.objective_[-1]) for member in learned]
    one = learned[0] if learned else estimator  # `classes_` of a verifier are its answers
    classes = getattr(one, "classes_", None)
    counts = getattr(one, "class_count_", None)
    return {
        "method": type(estimator).__name__,
        "steps": [type(step).__name__ for step in before],
        "projector": None if projector is None else type(projector).__name__,
        "sample_shape": list(sample_shape_of(steps[0])),
        "n_classes": None if classes is None else len(classes),
        "ranks": [list(member.ranks_) for member in learned],
        "n_iter": [member.n_iter_ for member in learned],
        "converged": [member.converged_ for member in learned],
        "objective": [value if isfinite(value) else None for value in objectives],
        "counts": None if counts is None else counts.tolist(),
    }


def is_learned(estimator: BaseEstimator) -> bool:
    """Whether there is a model: `partial_fit` may still be waiting for samples of some classes."""
    try:
        return bool(getattr(estimator, "members_", ()))
    except NotFittedError:
        return False


def sample_shape_of(step: BaseEstimator) -> tuple[int, ...]:
    """The shape of the samples of a fitted estimator; scikit-learn's take rows."""
    if hasattr(step, "sample_shape_"):
        return tuple(step.sample_shape_)
    return (int(step.n_features_in_),)
