"""Candidates of a search as one stack of models."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from tenfold.decisions.verifier import ClassSpecificVerifier
from tenfold.mathematics.algebra import Array
from tenfold.mathematics.moments import ClassStatistics
from tenfold.mathematics.sample_statistics import Workload
from tenfold.methods.learning import Learner, Models
from tenfold.validation import samples as check

STACK_NUMBERS = 2**26  # largest stack of mode scatters solved together


def learner_of(estimator: Any) -> Learner:
    """What is solved: the estimator itself, or the projector of a verifier."""
    if isinstance(estimator, ClassSpecificVerifier):
        estimator._check_parameters()
        return estimator._model()
    if not isinstance(estimator, Learner):
        raise ValueError(
            f"estimator is {estimator!r}; expected a projector such as MCSDA(), a "
            "ClassSpecificClassifier or a ClassSpecificVerifier; GridSearchCV searches others"
        )
    return estimator


def ready_for(learner: Learner, fresh: Learner, classes: Array) -> Learner:
    """The learner with what `fresh` knows of the data, and the classes of a training part."""
    ready = clone(learner)
    for name in ("sample_shape_", "n_features_in_", "feature_names_in_"):
        if hasattr(fresh, name):
            setattr(ready, name, getattr(fresh, name))
    ready.classes_ = classes
    return ready


def joint_workload(learners: list[Learner]) -> Workload:
    """All candidates together; asking each for its own also checks its ranks."""
    each = [learner._workload() for learner in learners]
    ranks = tuple(np.max([work.ranks for work in each], axis=0).tolist())
    outside = max(work.outside for work in each)
    return Workload(sum(work.models for work in each), each[0].rounds, ranks, outside)


def solved_together(learners: list[Learner], statistics: ClassStatistics) -> list[Learner]:
    """Every candidate fitted on the same statistics, in stacks of bounded size."""
    labels = statistics.classes if learners[0].needs_labels else learners[0].classes_
    if learners[0].needs_labels:
        check.check_classes(labels, learners[0])
    ready = [ready_for(learner, learner, labels) for learner in learners]
    models = [learner._models(statistics) for learner in ready]
    per_stack = max(1, STACK_NUMBERS // (len(models[0]) * max(statistics.shape) ** 2))
    for start in range(0, len(ready), per_stack):
        chunk = slice(start, start + per_stack)
        stack = Models.stacked(models[chunk])
        found = ready[0]._solve(statistics, stack)
        row = 0
        for learner, own in zip(ready[chunk], models[chunk], strict=True):
            learner._take(statistics, stack, found, np.arange(row, row + len(own)))
            row += len(own)
    return ready
