"""The sections of a page about a model: what each one shows, and of which models."""

from __future__ import annotations

import re
from collections import Counter
from math import prod
from typing import TYPE_CHECKING

import numpy as np
from sklearn.calibration import CalibrationDisplay
from sklearn.metrics import PrecisionRecallDisplay, RocCurveDisplay

from tenfold.app.about_model import has_left_out, views_in_words
from tenfold.app.report.page import (
    Block,
    Details,
    Facts,
    Figure,
    Gallery,
    Picture,
    Prose,
    Section,
    counted,
    in_percent,
    short,
)
from tenfold.app.report.pictures import direction_picture, figure, small_histogram
from tenfold.app.report.subject import Subject
from tenfold.linalg.algebra import Array
from tenfold.methods import KERNEL_METHODS
from tenfold.metrics.evaluation import ClassMetrics
from tenfold.plots import (
    ObjectiveDisplay,
    PoolDisplay,
    ProjectionsDisplay,
    RankGridDisplay,
    ScoresDisplay,
)
from tenfold.plots.display import COLOURS, OWN, tidy
from tenfold.plots.subspaces import class_patterns, leading_directions
from tenfold.tables import Cell, Table, number, percent

if TYPE_CHECKING:
    from tenfold.methods.base import TensorProjector
    from tenfold.plots.display import Axes

WIDE = (7.4, 3.0)  # inches of a figure that fills the page
HALF = (4.2, 3.7)  # half of it
N_HARDEST, N_HARDEST_OF_ONE, N_HARDEST_IN_DETAIL = 24, 12, 6
N_DIRECTIONS, N_DIRECTIONS_IN_DETAIL = 12, 8
N_CONFUSIONS = 100
N_CLASSES = 100  # shown in detail; of more classes, those with the lowest average precision


def sections(subject: Subject) -> list[Section]:
    """All sections that have something to show of this model."""
    found = [Section(anchor, title, blocks(subject)) for anchor, title, blocks in SECTIONS]
    return [section for section in found if section.blocks]


# ── How well it separates classes ────────────────────────────────────────────────────────────────


def _scores(subject: Subject) -> list[Block]:
    """Curves and tables; of one class also the scores."""
    if subject.answer == "projection":
        return []
    curves = _curves([j for j in subject.classes if j.average_precision is not None])
    if subject.names_classes:
        return [*curves, _class_table(subject), *_confusions(subject)]
    (measured,) = subject.classes
    return [_histogram(measured), *curves] if curves else []


def _histogram(measured: ClassMetrics) -> Figure:
    """The scores of a class and of the others."""
    whose = f"class {measured.label}"
    display = ScoresDisplay(measured.scores, measured.is_positive, measured.threshold, whose)
    return figure(display.plot, WIDE, *_histogram_in_words(measured))


def _histogram_in_words(measured: ClassMetrics) -> tuple[str, str]:
    """Description and caption of a histogram."""
    own, others = measured.scores[measured.is_positive], measured.scores[~measured.is_positive]
    origin = "where both errors are equal here" if measured.chosen_here else "of the model"
    return (
        f"Histogram of scores. {counted(len(own), 'sample')} of class {measured.label} from "
        f"{short(own.min())} to {short(own.max())}, {counted(len(others), 'other')} from "
        f"{short(others.min())} to {short(others.max())}, threshold {short(measured.threshold)}.",
        f"Scores of class {measured.label} and of the others. Dashed: the threshold, {origin}.",
    )


def _curves(measured: list[ClassMetrics]) -> list[Figure]:
    """Precision-recall and ROC curves, as scikit-learn draws them."""
    if not measured:
        return []
    precisions = [one.average_precision for one in measured if one.average_precision is not None]
    areas = [one.roc_auc for one in measured if one.roc_auc is not None]
    return [
        _curve_figure(PrecisionRecallDisplay, measured, precisions, "Precision against recall"),
        _curve_figure(RocCurveDisplay, measured, areas, "True against false accepts"),
    ]


def _curve_figure(
    display: type[PrecisionRecallDisplay | RocCurveDisplay],
    measured: list[ClassMetrics],
    areas: list[float],
    words: str,
) -> Figure:
    """One curve per class; of many classes without names."""
    few = len(measured) <= len(COLOURS)

    def draw(ax: Axes) -> None:
        for i, one in enumerate(measured):
            display.from_predictions(one.is_positive, one.scores, name=str(one.label), ax=ax)
            if few:
                ax.lines[-1].set(color=COLOURS[i], linewidth=1.7)
            else:
                ax.lines[-1].set(color=OWN, linewidth=1.0, alpha=0.4)
        tidy(ax)
        is_roc = display is RocCurveDisplay
        ax.set_xlabel("false accept rate" if is_roc else "recall")
        ax.set_ylabel("true accept rate" if is_roc else "precision")
        legend = ax.legend(frameon=False, fontsize="small")
        if not few:
            legend.remove()

    ends = dict.fromkeys([min(areas), max(areas)])
    spread = " to ".join(map(in_percent, ends))
    area = "AUC" if display is RocCurveDisplay else "AP"
    about = f"{words}, {counted(len(measured), 'curve')}; {area} {spread}."
    return figure(draw, HALF, about, f"{words}.")


def _class_table(subject: Subject) -> Table:
    right = subject.decisions == subject.y
    anchors = _anchors(subject)
    rows = [
        [
            Cell(str(j.label), link=anchors.get(j.label, "")),
            number(j.n_positive),
            percent(float(right[j.is_positive].mean()) if j.n_positive else None),
            percent(j.average_precision),
            percent(j.roc_auc),
            percent(j.equal_error_rate),
        ]
        for j in subject.classes
    ]
    columns = ["Class", "Samples", "Right", "AP", "AUC", "EER"]
    caption = (
        "Every class, in percent. Right: samples of the class classified correctly. AP: average "
        "precision. AUC: area under the ROC curve. EER: equal error rate."
    )
    return Table(caption, columns, rows)


def _confusions(subject: Subject) -> list[Details]:
    decisions = subject.decisions
    wrong = subject.evaluation.is_known & (decisions != subject.y)
    pairs = Counter(zip(subject.y[wrong].tolist(), decisions[wrong].tolist(), strict=True))
    if not pairs:
        return []
    sizes = Counter(subject.y.tolist())
    rows: list[list[Cell | str]] = []
    for (true, taken), n in pairs.most_common(N_CONFUSIONS):
        rows.append([str(true), str(taken), number(n), percent(n / sizes[true])])
    table = Table("Percent is of the class.", ["Class", "Taken for", "Samples", "Percent"], rows)
    aside = counted(sum(pairs.values()), "sample")
    return [Details("mistakes", "What is mistaken for what", aside, [table])]


def _calibration(subject: Subject) -> list[Block]:
    """Whether probabilities are what they say."""
    if subject.answer != "probability":
        return []
    found = subject.evaluation.reliability
    text = (
        "Of all samples to whose class the model gave a probability of about 0.8, about 80 % "
        "should be classified correctly. The expected calibration error, the mean gap between the "
        f"two over samples, is {in_percent(found.error)}."
    )

    def draw(ax: Axes) -> None:
        CalibrationDisplay(found.accuracy, found.confidence, found.confidence).plot(ax=ax)
        tidy(ax)
        ax.set(xlabel="probability it gave", ylabel="share that was right")
        ax.legend().remove()

    drawn = figure(
        draw,
        HALF,
        f"Observed accuracy against predicted probability, {len(found.counts)} bins; "
        f"expected calibration error {in_percent(found.error)}.",
        "Below the dotted line the model is overconfident.",
    )
    return [Prose(text), drawn]


# ── The hardest samples, and class by class ─────────────────────────────────────────────────────


def _hardest(subject: Subject) -> list[Block]:
    """Mistakes and close calls; of one class its worst samples and the best of the others."""
    if subject.names_classes:
        return _hardest_of_all(subject)
    if subject.answer == "projection" or subject.classes[0].average_precision is None:
        return []
    return _hardest_of_class(subject, subject.classes[0], N_HARDEST_OF_ONE)


def _hardest_of_all(subject: Subject) -> list[Block]:
    scores = np.stack([j.scores for j in subject.classes], axis=1)
    is_own = np.stack([j.is_positive for j in subject.classes], axis=1)
    own = np.where(is_own, scores, -np.inf).max(axis=1)
    other = np.where(is_own, -np.inf, scores).max(axis=1)  # the best of the other classes
    decisions = subject.decisions
    known = np.flatnonzero(subject.evaluation.is_known)
    wrong = decisions != subject.y
    order = known[np.lexsort(((own - other)[known], ~wrong[known]))][:N_HARDEST]
    by_odds = subject.answer == "probability"
    pictures: list[Picture] = []
    for i in order:
        ahead = "ahead" if own[i] >= other[i] else "behind"
        lead = f"{ahead} by {short(abs(own[i] - other[i]), 2)}"
        if by_odds:
            lead = f"{100 * np.exp(own[i]):.0f}\u00a0% against {100 * np.exp(other[i]):.0f}\u00a0%"
        close = not by_odds or np.exp(other[i]) > 0.1  # a serious candidate
        right = "right, but close" if close else "right"
        taken = f"taken for {decisions[i]}" if wrong[i] else right
        lines = [f"class {subject.y[i]}", taken, lead]
        about = f"{subject.name_of(i)} of class {subject.y[i]}, {taken}"
        pictures.append(subject.pictures.picture(subject.sample(i), about, lines, bool(wrong[i])))
    n_wrong = int(wrong[known].sum())
    below = (
        "the probability given to its own class, and to the best other class."
        if by_odds
        else "how far the score of its own class is from the best score of the others."
    )
    return [
        Prose(
            f"{counted(n_wrong, 'sample')} {'is' if n_wrong == 1 else 'are'} taken for another "
            f"class. Below each: {below}"
        ),
        Gallery("Mistakes first, the worst before the others; then the closest calls", pictures),
    ]


def _hardest_of_class(subject: Subject, measured: ClassMetrics, n: int) -> list[Block]:
    """Pictures of the worst of the class and of the best of the others."""

    def pictures(rows: Array, error: str) -> list[Picture]:
        found = []
        for i in rows:
            wrong = bool(measured.accepted[i]) != bool(measured.is_positive[i])
            lines = [f"class {subject.y[i]}", f"score {short(measured.scores[i])}"]
            verdict = f", wrongly {error}" if wrong else ""
            about = f"{subject.name_of(i)} of class {subject.y[i]}{verdict}"
            found.append(subject.pictures.picture(subject.sample(i), about, lines, wrong))
        return found

    own, others = measured.hardest(n)
    rejects, accepts = measured.false_rejects, measured.false_accepts
    text = (
        f"{counted(rejects, 'sample')} of the class {'falls' if rejects == 1 else 'fall'} below "
        f"the threshold of {short(measured.threshold)}, {counted(accepts, 'other')} "
        f"{'reaches' if accepts == 1 else 'reach'} it."
    )
    lowest = f"Samples of class {measured.label} with the lowest scores"
    return [
        Prose(text),
        Gallery(lowest, pictures(own, "rejected")),
        Gallery("Other samples with the highest scores", pictures(others, "accepted")),
    ]


def _anchors(subject: Subject) -> dict[object, str]:
    """An id for each class that is shown in detail, by its label.

    The number keeps labels apart that differ in punctuation only.
    """
    worst = sorted(
        subject.classes, key=lambda j: (j.average_precision is None, j.average_precision or 0)
    )
    shown = {id(j) for j in worst[:N_CLASSES]}
    labels = [j.label for j in subject.classes if id(j) in shown]
    plain = [re.sub(r"[^a-zA-Z0-9]+", "-", str(label)) for label in labels]
    return {label: f"class-{i}-{plain[i]}" for i, label in enumerate(labels)}


def _class_by_class(subject: Subject) -> list[Block]:
    if not subject.names_classes:
        return []
    anchors = _anchors(subject)
    shown = [j for j in subject.classes if j.label in anchors]
    details: list[Block] = [_details(subject, one, anchors[one.label]) for one in shown]
    if len(shown) == len(subject.classes):
        return details
    return [Prose(f"The {len(shown)} classes with the lowest average precision."), *details]


def _details(subject: Subject, measured: ClassMetrics, where: str) -> Details:
    blocks: list[Block] = []
    aside = counted(measured.n_positive, "sample")
    if subject.is_bank and _has_directions(subject):
        (projector,) = [one.projector for one in subject.members if one.label == measured.label]
        look = _mean_picture(subject, projector.mean_, f"class {measured.label}")
        look += _direction_pictures(projector, N_DIRECTIONS_IN_DETAIL)
        blocks.append(Gallery("Its mean, and the directions it is measured along", look))
    if measured.average_precision is not None:
        aside += f", AP {in_percent(measured.average_precision)}"
        blocks.insert(0, Figure(small_histogram(measured), *_histogram_in_words(measured)))
        blocks += _hardest_of_class(subject, measured, N_HARDEST_IN_DETAIL)
    return Details(where, f"Class {measured.label}", aside, blocks)


# ── What it looks at, and how it was learned ────────────────────────────────────────────────────


def _has_directions(subject: Subject) -> bool:
    """Whether there are directions that can be shown; those of kernels cannot."""
    return not any(type(one.projector) in KERNEL_METHODS for one in subject.members)


def _direction_pictures(
    projector: TensorProjector, n: int, patterns: bool = False
) -> list[Picture]:
    """The first directions of a projector, or their patterns."""
    pictures = []
    what = "pattern" if patterns else "direction"
    for direction, columns in zip(*leading_directions(projector, n, patterns), strict=True):
        name = ", ".join(map(str, columns))
        noun = "column" if len(columns) == 1 else "columns"
        pictures.append(direction_picture(direction, f"{what} of {noun} {name}", [name]))
    return pictures


def _mean_picture(subject: Subject, mean: Array | None, whose: str) -> list[Picture]:
    """The mean, if samples are drawn as the projector sees them."""
    if mean is None or mean.size != prod(subject.sample_shape):
        return []
    drawn = mean.reshape(subject.sample_shape)
    return [subject.pictures.picture(drawn, f"mean of {whose}", ["mean"])]


def _directions(subject: Subject) -> list[Block]:
    if subject.is_bank or not _has_directions(subject):
        return []
    if not subject.members:
        return _class_patterns(subject) if subject.names_classes else []
    label, projector = subject.members[0]
    whose = "all samples" if label is None else "the class"
    pictures = _mean_picture(subject, getattr(projector, "mean_", None), whose)
    pictures += _direction_pictures(projector, N_DIRECTIONS)
    text = (
        "Each projected number is the inner product of a sample with one direction, the outer "
        "product of one column of every mode's projection. Red counts for, blue against; the sign "
        "of a whole direction means nothing."
    )
    blocks: list[Block] = [Prose(text), Gallery("Directions, named by their columns", pictures)]
    if getattr(projector, "patterns_", None):
        about = (
            "A direction also cancels noise, so it looks like noise in part. Its pattern shows how "
            "the samples themselves vary with the number."
        )
        found = _direction_pictures(projector, N_DIRECTIONS, patterns=True)
        blocks += [Prose(about), Gallery("Patterns of the same directions", found)]
    names = subject.data.mode_names
    fits = len(names) == len(projector.projections_)
    drawn = figure(
        ProjectionsDisplay(projector.projections_, names if fits else ()).plot,
        (7.4, 3.2),
        "Heat maps of the projection matrices, entries down and columns across.",
        "The columns of each mode's projection.",
    )
    return [*blocks, drawn]


def _class_patterns(subject: Subject) -> list[Block]:
    """What each class looks like to the linear views of `ProbabilisticLDA`."""
    model = subject.model
    try:
        patterns, titles = class_patterns(model, N_DIRECTIONS)
    except AttributeError:  # no linear view has a weight
        return []
    pictures = []
    for pattern, (label,) in zip(patterns, titles, strict=True):
        pictures.append(direction_picture(pattern, f"pattern of class {label}", [str(label)]))
    text = (
        "The pattern of a class shows which numbers of a sample vary together with its score: red "
        "ones are larger where the class is more likely, blue ones smaller. Only the linear views "
        "have patterns."
    )
    return [Prose(text), Gallery("Patterns of the classes", pictures)]


def _learning(subject: Subject) -> list[Block]:
    """The objective round by round, and the ranks that a search tried."""
    blocks: list[Block] = []
    if subject.answer == "probability":
        blocks += _pool(subject)
    if subject.members:
        blocks.append(_objective(subject))
    search = subject.estimator
    if hasattr(search, "cv_results_"):
        about = (
            f"Cross-validated scores of {len(search.cv_results_['params'])} candidates; the best "
            f"has {100 * search.best_score_:.1f} with {search.best_params_}."
        )
        caption = "Cross-validated score of every choice of ranks."
        draw = RankGridDisplay.from_estimator
        blocks.append(figure(lambda ax: draw(search, ax=ax), (7.4, 3.6), about, caption))
    return blocks


def _pool(subject: Subject) -> list[Block]:
    """The views of `ProbabilisticLDA`, their left-out losses and the calibration of the pool."""
    model = subject.model
    if not has_left_out(model):
        text = (
            f"The model looks at a sample in these views: {views_in_words(model)}. No sample could "
            "be left out to choose among them."
        )
        return [Prose(text)]
    text = (
        "The model looks at a sample in several views. Each training sample was left out once, and "
        "the log loss of these samples chose the regularization of every view and its weight in a "
        f"pool: {views_in_words(model)}. The left-out log loss of the pool is "
        f"{model.loo_log_loss_:.3g} nats."
    )
    drawn = figure(
        lambda ax: PoolDisplay.from_estimator(model, ax=ax),
        (7.4, 3.0),
        f"Weights of {counted(len(model.views_), 'view')}, left-out log loss of each view and of "
        f"the pool ({model.loo_log_loss_:.3g} nats), and calibration of left-out samples.",
        "Weights of the views, left-out log loss of each alone and of the pool, and how often "
        "left-out samples were classified correctly, by the probability given.",
    )
    return [Prose(text), drawn]


def _objective(subject: Subject) -> Figure | Prose:
    histories = [one.projector.objective_ for one in subject.members]
    rounds = max(map(len, histories))
    if rounds == 1:
        return Prose(
            "The subspaces are the solution of one eigenproblem, without iteration. "
            f"Objective: {histories[0][-1]:.4g}{' for the first class' if subject.is_bank else ''}."
        )
    what = "each class" if subject.is_bank else "the model"
    return figure(
        lambda ax: ObjectiveDisplay.from_estimator(subject.model, ax=ax),
        (7.4, 2.9),
        f"Objective of {what} over {rounds} rounds; from {histories[0][0]:.4g} to "
        f"{histories[0][-1]:.4g}{' for the first' if subject.is_bank else ''}.",
        f"The objective of {what}, round by round.",
    )


# ── Model and data ──────────────────────────────────────────────────────────────────────────────


def _about(subject: Subject) -> list[Block]:
    data = subject.data
    told = [(name.capitalize(), text) for name, text in subject.about.items()]
    told += [("Data", data.name), ("Number of samples", f"{len(data):,}")]
    if data.y is not None:
        told.append(("Number of classes", f"{len(data.classes):,}"))
    if data.description:
        told.append(("Description", data.description))
    return [Facts(told)]


SECTIONS = (
    ("scores", "How well it separates classes", _scores),
    ("calibration", "Whether its probabilities hold", _calibration),
    ("hardest", "The hardest samples", _hardest),
    ("detail", "Class by class", _class_by_class),
    ("directions", "What it looks at", _directions),
    ("learning", "How it was learned", _learning),
    ("about", "Model and data", _about),
)
