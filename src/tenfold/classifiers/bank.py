"""How a bank learns: one class-specific model per class, solved together as one stack."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass

from sklearn.base import clone

from tenfold.linalg.arrays import Array
from tenfold.methods.base import Learner, Shape
from tenfold.methods.class_specific import ClassModel, ClassSpecificProjector, spreads_of
from tenfold.methods.csda import CSDA
from tenfold.optimization.alternation import Solution
from tenfold.statistics.class_statistics import ClassStatistics
from tenfold.statistics.moments import ClassMoments
from tenfold.validation.parameter_types import SampleShape


@dataclass(frozen=True, eq=False)
class Bank:
    """The models of all classes, and how far samples are from the mean of each in its subspace.

    Parameters
    ----------
    members : list of C ClassModels
        One per class.
    spreads : dict of two ndarrays of shape (C,)
        Root mean square distance of the samples of each class, and of all others, by the names of
        attributes; empty where likelihood ratios decide, which have units of their own.
    """

    members: list[ClassModel]
    spreads: dict[str, Array]


class BankLearner(Learner):
    """What a `ClassSpecificClassifier` says as a learner: what its projector says, for all classes.

    The problems of all classes are one stack, from statistics that are made in one pass.
    """

    projector: ClassSpecificProjector | None

    @property
    def _method(self) -> ClassSpecificProjector:
        """The projector, or the default one."""
        return CSDA() if self.projector is None else self.projector

    @property
    def sample_shape(self) -> SampleShape:
        """The `sample_shape` of the projector."""
        return self._method.sample_shape

    def _members(self, classes: Array) -> list[ClassSpecificProjector]:
        """The projector of each class, not fitted."""
        bare = clone(self._method)
        members = [copy(bare) for _ in classes]  # a clone costs as much as solving a model
        for member, label in zip(members, classes, strict=True):
            member.positive = label
        return members

    def _model(
        self, statistics: ClassStatistics, solution: Solution, numbers: Array, shape: Shape
    ) -> Bank:
        """What was learned of samples of this shape, from these solutions of a stack."""
        members = self._members(statistics.classes)
        found = self._method._models(members, statistics, solution, numbers, shape)
        if found[0].contrasts.size:
            return Bank(found, {})
        own, others = spreads_of(self._method, found, statistics, solution, numbers)
        return Bank(found, {"spreads_": own, "other_spreads_": others})

    def _warn_of(self, model: Bank) -> None:
        """Warn of fewer directions than were asked for."""
        self._method._warn_of(model.members)

    def _is_learnable(self, moments: ClassMoments) -> bool:
        """Whether the moments hold samples of all classes."""
        return bool((moments.counts > 0).all())
