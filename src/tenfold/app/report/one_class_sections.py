"""Sections about one class against everything else."""

from __future__ import annotations

from typing import Any

from tenfold.app.report.page import Figure, Gallery, Picture, Prose, Section, counted, short
from tenfold.app.report.pictures import small_histogram
from tenfold.app.report.subject import Subject
from tenfold.decisions.metrics import ClassMetrics
from tenfold.decisions.scores import ClassScores
from tenfold.mathematics.algebra import Array
from tenfold.plots import (
    ErrorRatesDisplay,
    PrecisionRecallDisplay,
    RocDisplay,
    ScoresDisplay,
)

N_HARDEST = 12
WIDE = (7.4, 3.0)  # inches of a figure that fills the page


def sections(subject: Subject) -> list[Section]:
    """Scores, curves and the hardest samples of the one class."""
    (measured,) = subject.classes
    if measured.average_precision is None:
        return []
    blocks = [
        histogram(subject, measured),
        *curves(subject, [measured]),
        _errors(subject, measured),
    ]
    return [
        Section("scores", "How well it tells them apart", blocks),
        Section("hardest", "The hardest samples", hardest(subject, measured, N_HARDEST)),
    ]


def histogram(subject: Subject, measured: ClassMetrics) -> Figure:
    """The scores of a class and of the others."""
    display = ScoresDisplay(
        measured.scores, measured.is_positive, measured.threshold, f"class {measured.label}"
    )
    words = in_words(measured)
    return subject.figures.figure(lambda ax: display.plot(ax=ax), WIDE, *words)


def _errors(subject: Subject, measured: ClassMetrics) -> Figure:
    """False accepts and rejects at every threshold."""
    display = ErrorRatesDisplay(measured.scores, measured.is_positive, measured.threshold)
    accepts = 100 * measured.false_accepts / measured.n_others
    rejects = 100 * measured.false_rejects / measured.n_positive
    return subject.figures.figure(
        lambda ax: display.plot(ax=ax),
        WIDE,
        f"At the threshold {short(measured.threshold)} there are {accepts:.1f} % false accepts and "
        f"{rejects:.1f} % false rejects; a higher one makes the first fewer and the second more.",
        "Both errors at every threshold. A higher threshold accepts fewer samples of either kind.",
    )


def strip(measured: ClassMetrics) -> Figure:
    """The same, small."""
    return Figure(small_histogram(measured), *in_words(measured))


def in_words(measured: ClassMetrics) -> tuple[str, str]:
    """Description and caption of a histogram."""
    own, others = measured.scores[measured.is_positive], measured.scores[~measured.is_positive]
    origin = "where both errors are equal here" if measured.chosen_here else "of the model"
    return (
        f"Histogram of scores. {counted(len(own), 'sample')} of class {measured.label} from "
        f"{short(own.min())} to {short(own.max())}, {counted(len(others), 'other')} from "
        f"{short(others.min())} to {short(others.max())}, threshold {short(measured.threshold)}.",
        f"Scores of class {measured.label} and of the others. Dashed: the threshold, {origin}.",
    )


def curves(subject: Subject, measured: list[ClassMetrics]) -> list[Figure]:
    """Precision-recall and ROC curves."""
    both = [j for j in measured if j.average_precision is not None]
    scores = [ClassScores(j.label, j.scores, j.is_positive, j.threshold) for j in both]
    kinds: list[tuple[Any, str, list[Any]]] = [
        (PrecisionRecallDisplay, "Precision against recall", [j.average_precision for j in both]),
        (RocDisplay, "True against false accepts", [j.roc_auc for j in both]),
    ]
    figures = []
    for kind, words, areas in kinds:
        display = kind.from_scores(scores)
        spread = f"{100 * min(areas):.1f} %"
        if len(areas) > 1:
            spread += f" to {100 * max(areas):.1f} %"
        figures.append(
            subject.figures.figure(
                lambda ax, display=display: display.plot(ax=ax),
                (4.2, 3.7),
                f"{words}, {counted(len(both), 'curve')}; {kind.summary_name} {spread}.",
                f"{words}.",
            )
        )
    return figures


def hardest(subject: Subject, measured: ClassMetrics, n: int) -> list[Any]:
    """Pictures of the worst of the class and of the best of the others."""
    own, others = measured.hardest(n)
    false_rejects, false_accepts = measured.false_rejects, measured.false_accepts
    return [
        Prose(
            f"{counted(false_rejects, 'sample')} of the class "
            f"{'falls' if false_rejects == 1 else 'fall'} below the threshold of "
            f"{short(measured.threshold)}, {counted(false_accepts, 'other')} "
            f"{'reaches' if false_accepts == 1 else 'reach'} it."
        ),
        Gallery(
            f"Samples of class {measured.label} with the lowest scores",
            _pictures(subject, measured, own, "rejected"),
        ),
        Gallery(
            "Other samples with the highest scores",
            _pictures(subject, measured, others, "accepted"),
        ),
    ]


def _pictures(subject: Subject, measured: ClassMetrics, rows: Array, error: str) -> list[Picture]:
    pictures = []
    for i in rows:
        wrong = bool(measured.accepted[i]) != bool(measured.is_positive[i])
        lines = [f"class {subject.y[i]}", f"score {short(measured.scores[i])}"]
        verdict = f", wrongly {error}" if wrong else ""
        description = f"{subject.name_of(i)} of class {subject.y[i]}{verdict}"
        pictures.append(subject.pictures.picture(subject.sample(i), description, lines, wrong))
    return pictures
