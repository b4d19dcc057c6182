"""What a report is about: a model, samples, and all figures that were computed from them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from tenfold.app.about_model import about_model
from tenfold.app.report.pictures import SamplePictures
from tenfold.classifiers.members import (
    Answer,
    Member,
    answer_of,
    members_of,
    names_classes,
    unwrap,
)
from tenfold.datasets import TensorDataset
from tenfold.datasets.locations import natural_key
from tenfold.linalg.algebra import Array
from tenfold.metrics.evaluation import ClassMetrics, Evaluation, evaluate

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

N_SAMPLES = 2000  # that are mapped back, evenly spread over the data


@dataclass(frozen=True, eq=False)
class Subject:
    """A fitted model and samples to test it on.

    Parameters
    ----------
    estimator : fitted estimator
        As the user gave it, possibly a search or a pipeline.
    data : TensorDataset
        The samples.
    """

    estimator: BaseEstimator
    data: TensorDataset

    @cached_property
    def model(self) -> BaseEstimator:
        """The estimator without the search or pipeline around it."""
        return unwrap(self.estimator)[0]

    @cached_property
    def answer(self) -> Answer:
        """The kind of answer that the model gives."""
        return answer_of(self.model)

    @property
    def is_bank(self) -> bool:
        """Whether there is one projector per class."""
        return self.answer == "class"

    @property
    def names_classes(self) -> bool:
        """Whether the model says of which class a sample is."""
        return names_classes(self.model)

    @cached_property
    def members(self) -> list[Member]:
        """The projectors, in the natural order of their classes."""
        return sorted(members_of(self.estimator), key=lambda one: natural_key(str(one.label)))

    @cached_property
    def about(self) -> dict[str, str]:
        """The model in words, line by line."""
        _, lines = about_model(self.estimator)
        return lines | {"samples": lines["samples"].replace("x", "×").replace("->", "→")}

    @cached_property
    def method(self) -> str:
        """The name of the method."""
        if self.answer == "probability" or not self.members:
            return type(self.model).__name__
        return type(self.members[0].projector).__name__

    @cached_property
    def evaluation(self) -> Evaluation:
        """The figures of the model on the samples."""
        if self.data.y is None:
            raise ValueError(
                f"{self.data.name} has no labels, and the report compares scores with labels; "
                "pass labelled samples"
            )
        return evaluate(self.estimator, self.data.X, self.data.y)

    @cached_property
    def y(self) -> Array:
        """The labels, in the type of the model's: "7" and 7 are the same class."""
        return self.evaluation.y

    @cached_property
    def decisions(self) -> Array:
        """The class that the model names for every sample."""
        found = self.evaluation.decisions
        if found is None:
            raise ValueError(f"{self.method} names no class; only its scores can be shown")
        return found

    @cached_property
    def classes(self) -> list[ClassMetrics]:
        """The figures of every class, in natural order."""
        return sorted(self.evaluation.classes, key=lambda one: natural_key(str(one.label)))

    @cached_property
    def scatter_kept(self) -> tuple[int, float]:
        """How many samples were mapped back, and what share of their scatter is there then."""
        X = self.data.X[:: -(-len(self.data) // N_SAMPLES)]
        restored = self.estimator.inverse_transform(self.estimator.transform(X))
        flat = np.asarray(X, dtype=float).reshape(len(X), -1)
        # A projection is linear: what is missing of X - M is what is missing of X, less that of M.
        lost = np.var(flat - restored.reshape(len(X), -1), axis=0).sum()
        scatter = np.var(flat, axis=0).sum()
        return len(X), 1 - float(lost / scatter) if scatter > 0 else 1.0

    @cached_property
    def sample_shape(self) -> tuple[int, ...]:
        """The shape in which a sample is drawn."""
        shape = tuple(self.model.sample_shape_)
        return shape if prod(shape) == prod(self.data.sample_shape) else self.data.sample_shape

    @cached_property
    def pictures(self) -> SamplePictures:
        """Draws the samples."""
        names = self.data.mode_names if len(self.data.sample_shape) > 1 else ()
        return SamplePictures.for_samples(self.data.X, self.sample_shape, names)

    def sample(self, i: int) -> Array:
        """Sample i in its shape."""
        one = self.data.X[int(i) : int(i) + 1]  # a slice: rows of arrays, frames and stores
        return np.asarray(one, dtype=float).reshape(self.sample_shape)

    def name_of(self, i: int) -> str:
        """What to call sample i."""
        named = "file" in self.data.sample_info
        return str(self.data.sample_names[i]) if named else f"row {self.data.row_numbers[i]}"
