"""What is inside a fitted estimator: its projectors, and the kind of answer it gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from sklearn.utils.validation import check_is_fitted

from tenfold.linalg.arrays import Array
from tenfold.validation.parameter_types import Label
from tenfold.validation.parameters import plain

Answer = Literal["class", "probability", "acceptance", "score", "projection"]


class Member(NamedTuple):
    """One projector, and the class it was learned for (None when it serves all classes)."""

    label: Label
    projector: Any


def answer_of(model: object) -> Answer:
    """What a model says about a sample.

    Parameters
    ----------
    model : projector, verifier, bank, ProbabilisticLDA, or a search or pipeline over one
        Fitted or not.

    Returns
    -------
    {"class", "probability", "acceptance", "score", "projection"}
        A bank names a class and scores all of them. `ProbabilisticLDA` names a class and gives
        the probability of each. A verifier accepts or rejects, and scores. A
        class-specific projector scores. Any other projector only projects.

    Examples
    --------
    >>> from tenfold import MCSDA, MPCA
    >>> from tenfold.classifiers.members import answer_of
    >>> answer_of(MCSDA()), answer_of(MPCA())
    ('score', 'projection')
    """
    inner = innermost(model)
    if not hasattr(inner, "_output_kind"):
        raise TypeError(
            f"{type(inner).__name__} has no projections; pass a fitted projector, "
            "ClassSpecificClassifier, ClassSpecificVerifier, ProbabilisticLDA, or a search or "
            "pipeline over one"
        )
    answer: Answer = inner._output_kind
    return answer


def names_classes(model: object) -> bool:
    """Whether a model says of which class a sample is, and has a score for each of them."""
    return answer_of(model) in ("class", "probability")


class Inside(NamedTuple):
    """What is inside searches, pipelines and what may reject."""

    model: Any
    steps: list[Any]  # pipelines of the steps before it
    rejecting: Any  # what may reject what the model names; None where all samples are named


def opened(estimator: Any) -> Inside:
    """What is inside an estimator, fitted or not."""
    steps = []
    rejecting = None
    while True:
        if hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        elif hasattr(estimator, "steps"):
            steps += [estimator[:-1]] if len(estimator.steps) > 1 else []
            estimator = estimator.steps[-1][1]
        elif hasattr(estimator, "unknown"):
            rejecting = estimator
            estimator = estimator.model_ if hasattr(estimator, "model_") else estimator._model()
        else:
            return Inside(estimator, steps, rejecting)


def unwrap(estimator: object) -> tuple[Any, Callable[[Any], Any]]:
    """The fitted model inside, and what is done to samples before they reach it."""
    model, steps, _ = opened(estimator)
    check_is_fitted(model)

    def prepare(X: Any) -> Any:
        for step in steps:
            X = step.transform(X)
        return X

    return model, prepare


def innermost(estimator: object) -> Any:
    """What is inside searches, pipelines and what may reject, whatever it is."""
    return opened(estimator).model


def rejecting(estimator: object) -> Any:
    """The fitted `OpenSetClassifier` of a search or pipeline; None where all samples are named."""
    return opened(estimator).rejecting


def members_of(estimator: object) -> list[Member]:
    """The projectors of an estimator with their classes: one per class for a bank, else one.

    `ProbabilisticLDA` has none itself; those of a pipeline are the projectors before it.
    """
    model, _ = unwrap(estimator)
    if answer_of(model) == "probability":  # or an error about what has no projectors
        return [Member(None, projector) for projector in projectors_before(estimator)]
    return [Member(label_of(projector), projector) for projector in model.members_]


def projectors_before(estimator: object) -> list[Any]:
    """The fitted projectors among the steps of a pipeline before its last step."""
    found = []
    for pipeline in opened(estimator).steps:
        found += [step for _, step in pipeline.steps if hasattr(step, "projections_")]
    return found


def label_of(projector: object) -> Any:
    """The class that a projector was learned for; None when it serves all classes."""
    return getattr(projector, "positive_label_", None)


def known_classes(model: object) -> Array:
    """All labels that a fitted model was learned from; `classes_` of a verifier are its answers."""
    inner = innermost(model)
    learned = inner.projector_ if answer_of(inner) == "acceptance" else inner
    classes: Array = learned.classes_
    return classes


def mode_names_of(estimator: object) -> tuple[tuple[str, ...], list[Any]]:
    """Names of the modes, and of the entries of each, that a model was fitted on; none: empty."""
    model, _ = unwrap(estimator)
    return getattr(model, "mode_names_", ()), getattr(model, "mode_labels_", [])


def member_for(estimator: object, positive: Label) -> Member:
    """The projector of one class; None takes the first."""
    members = members_of(estimator)
    if not members:
        raise ValueError(
            f"this {type(innermost(estimator)).__name__} works on all numbers of a sample and has "
            "no projections; show its patterns (DirectionsDisplay), or put a projector before it, "
            "as make_pipeline(CMDA(), ProbabilisticLDA())"
        )
    found = [one for one in members if positive is None or one.label == positive]
    if not found:
        raise ValueError(
            f"there is no projector for class {plain(positive)!r}; choose one of "
            f"{[plain(one.label) for one in members]}"
        )
    return found[0]


def filters_or_patterns(projector: Any, patterns: bool) -> Any:
    """The `projections_` of a fitted projector, or its `patterns_` if these are asked for."""
    if patterns and not projector.patterns_:
        raise ValueError(
            f"this {type(projector).__name__} has no patterns: it is part of a bank or a verifier, "
            "works in the space of a kernel, or was fitted to a store in passes; fit MCSDA, CSDA "
            "or another method alone, to samples in memory"
        )
    return projector.patterns_ if patterns else projector.projections_
