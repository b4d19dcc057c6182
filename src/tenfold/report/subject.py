"""What a report is about: a model, samples, and all that was computed of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from tenfold.datasets import TensorDataset
from tenfold.datasets.locations import natural_key
from tenfold.mathematics.algebra import Array
from tenfold.plots.fitted import (
    Part,
    as_learned,
    class_scores,
    in_blocks,
    innermost,
    parts_of,
    scores_classes,
)
from tenfold.report.figures import Studio
from tenfold.report.judging import Judgement, judge
from tenfold.report.pictures import Album


@dataclass(frozen=True, eq=False)
class Subject:
    """A fitted model and samples to judge it by.

    Parameters
    ----------
    estimator : fitted estimator
        As the user gave it, possibly a search or a pipeline.
    data : TensorDataset
        The samples.
    """

    estimator: Any
    data: TensorDataset

    @cached_property
    def model(self) -> Any:
        """The estimator without the search or pipeline around it."""
        return innermost(self.estimator)

    @cached_property
    def parts(self) -> list[Part]:
        """The projectors, in the natural order of their classes."""
        return sorted(parts_of(self.estimator), key=lambda part: natural_key(str(part.label)))

    @cached_property
    def is_bank(self) -> bool:
        """Whether there is one projector per class."""
        return hasattr(self.model, "projectors_")

    @cached_property
    def scores_classes(self) -> bool:
        """Whether the model scores samples at all."""
        return scores_classes(self.model)

    @cached_property
    def method(self) -> str:
        """The name of the method."""
        return type(self.parts[0].projector).__name__

    @cached_property
    def y(self) -> Array:
        """The labels, in the type of the model's: "7" and 7 are the same class."""
        if self.data.y is None:
            raise ValueError(
                f"{self.data.name} has no labels, and the report compares scores with labels; "
                "pass labelled samples"
            )
        y = np.asarray(self.data.y)
        return as_learned(y, self.model.classes_) if self.scores_classes else y

    @cached_property
    def judgements(self) -> list[Judgement]:
        """One judgement per class, in natural order."""
        found = class_scores(self.estimator, self.data.X, self.y)
        return [judge(f) for f in sorted(found, key=lambda f: natural_key(str(f.label)))]

    @cached_property
    def decisions(self) -> Array:
        """What a bank takes every sample for, shape (n,)."""
        return in_blocks(self.estimator.predict, self.data.X)

    @cached_property
    def is_known(self) -> Array:
        """Which samples are of a class the bank knows, shape (n,)."""
        classes = set(self.model.classes_.tolist())
        known = np.array([label in classes for label in self.y.tolist()])
        if not known.any():
            raise ValueError(
                f"labels do not match: the model knows {list(classes)[:5]}, and the samples are of "
                f"{sorted(set(map(str, self.y)))[:5]}; pass samples of the model's classes"
            )
        return known

    @cached_property
    def sample_shape(self) -> tuple[int, ...]:
        """The shape in which a sample is drawn."""
        shape = tuple(self.parts[0].projector.sample_shape_)
        return shape if prod(shape) == prod(self.data.sample_shape) else self.data.sample_shape

    @cached_property
    def album(self) -> Album:
        """Draws the samples."""
        names = self.data.mode_names if len(self.data.sample_shape) > 1 else ()
        return Album.for_samples(self.data.X, self.sample_shape, names)

    @cached_property
    def studio(self) -> Studio:
        """Draws the figures."""
        return Studio()

    def sample(self, i: int) -> Array:
        """Sample i in its shape."""
        one = self.data.X[int(i) : int(i) + 1]  # a slice: rows of arrays, frames and stores
        return np.asarray(one, dtype=float).reshape(self.sample_shape)

    def name_of(self, i: int) -> str:
        """What to call sample i."""
        files = self.data.sample_info.get("file")
        return f"sample {i}" if files is None else str(files[i])
