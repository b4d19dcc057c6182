"""Sections about what was learned, for any kind of model."""

from __future__ import annotations

from typing import Any

from tenfold.app.report.page import Figure, Gallery, Picture, Prose, Section
from tenfold.app.report.pictures import direction_picture
from tenfold.app.report.subject import Subject
from tenfold.methods import KERNEL_METHODS
from tenfold.plots import ObjectiveDisplay, ProjectionsDisplay, RankGridDisplay
from tenfold.plots.subspaces import leading_directions

N_DIRECTIONS = 12


def sections(subject: Subject) -> list[Section]:
    """What the model looks at, and how it was learned."""
    looks = [] if subject.is_bank or not has_directions(subject) else [_looks(subject)]
    if subject.answer == "probability" and not subject.members:
        looks = [_coordinates(subject)]
    learning: list[Any] = [_objective(subject)]
    if hasattr(subject.estimator, "cv_results_"):  # a search
        learning.append(_rank_grid(subject))
    return [*looks, Section("learning", "How it was learned", learning)]


def has_directions(subject: Subject) -> bool:
    """Whether there are projectors with directions that can be shown; those of kernels cannot."""
    kinds = [type(one.projector) for one in subject.members]
    return bool(kinds) and not any(kind in KERNEL_METHODS for kind in kinds)


def direction_pictures(projector: Any, n: int, patterns: bool = False) -> list[Picture]:
    """The first directions of a projector, or their patterns."""
    pictures, what = [], "pattern" if patterns else "direction"
    for direction, columns in zip(*leading_directions(projector, n, patterns), strict=True):
        name = ", ".join(map(str, columns))
        noun = "column" if len(columns) == 1 else "columns"
        pictures.append(direction_picture(direction, f"{what} of {noun} {name}", [name]))
    return pictures


def _looks(subject: Subject) -> Section:
    projector = subject.members[0].projector
    pictures = direction_pictures(projector, N_DIRECTIONS)
    mean = getattr(projector, "mean_", None)
    if mean is not None:
        mean = mean.reshape(projector.sample_shape_)
        whose = "all samples" if subject.members[0].label is None else "the class"
        if mean.shape == subject.sample_shape:
            pictures.insert(0, subject.pictures.picture(mean, f"mean of {whose}", ["mean"]))
    text = (
        "Each projected number is the inner product of a sample with one direction, the outer "
        "product of one column of every mode's projection. Red counts for, blue against; the sign "
        "of a whole direction means nothing."
    )
    names = subject.data.mode_names
    display = ProjectionsDisplay(
        projector.projections_, names if len(names) == len(projector.projections_) else ()
    )
    figure = subject.figures.figure(
        lambda ax: display.plot(ax=ax),
        (7.4, 3.2),
        "Heat maps of the projection matrices, entries down and columns across.",
        "The columns of each mode's projection.",
    )
    blocks: list[Any] = [Prose(text), Gallery("Directions, named by their columns", pictures)]
    if getattr(projector, "patterns_", None):
        about = (
            "A direction also cancels noise, so it looks like noise in part. Its pattern shows how "
            "the samples themselves vary with the number."
        )
        found = direction_pictures(projector, N_DIRECTIONS, patterns=True)
        blocks += [Prose(about), Gallery("Patterns of the same directions", found)]
    return Section("directions", "What it looks at", [*blocks, figure])


def _coordinates(subject: Subject) -> Section:
    """The directions of Gaussian classes on all numbers of a sample."""
    pictures = [
        direction_picture(column.reshape(subject.sample_shape), f"coordinate {k}", [str(k)])
        for k, column in enumerate(subject.model.directions_.T[:N_DIRECTIONS])
    ]
    mean = subject.model.mean_.reshape(subject.sample_shape)
    pictures.insert(0, subject.pictures.picture(mean, "mean of all samples", ["mean"]))
    text = (
        "Each coordinate is the inner product of a sample about the mean with one direction. Along "
        "them samples of a class vary alike, and the first tell classes apart best. Red counts "
        "for, blue against; the sign of a whole direction means nothing."
    )
    blocks = [Prose(text), Gallery("The mean, and the first directions", pictures)]
    return Section("directions", "What it looks at", blocks)


def _objective(subject: Subject) -> Figure | Prose:
    if not subject.members:
        return Prose(
            "All classes follow from one eigenproblem on all numbers of a sample, without "
            "iteration."
        )
    histories = [one.projector.objective_ for one in subject.members]
    rounds = max(map(len, histories))
    if rounds == 1:
        return Prose(
            "The subspaces are the solution of one eigenproblem, without iteration. "
            f"Objective: {histories[0][-1]:.4g}{' for the first class' if subject.is_bank else ''}."
        )
    what = "each class" if subject.is_bank else "the model"
    return subject.figures.figure(
        lambda ax: ObjectiveDisplay.from_estimator(subject.model, ax=ax),
        (7.4, 2.9),
        f"Objective of {what} over {rounds} rounds; from {histories[0][0]:.4g} to "
        f"{histories[0][-1]:.4g}{' for the first' if subject.is_bank else ''}.",
        f"The objective of {what}, round by round.",
    )


def _rank_grid(subject: Subject) -> Figure:
    search = subject.estimator
    tried = len(search.cv_results_["params"])
    return subject.figures.figure(
        lambda ax: RankGridDisplay.from_estimator(search, ax=ax),
        (7.4, 3.6),
        f"Cross-validated scores of {tried} candidates; the best has {100 * search.best_score_:.1f}"
        f" with {search.best_params_}.",
        "Cross-validated score of every choice of ranks.",
    )
