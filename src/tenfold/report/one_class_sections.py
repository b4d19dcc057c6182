"""Sections about one class against everything else."""

from __future__ import annotations

from typing import Any

from tenfold.mathematics.algebra import Array
from tenfold.plots import PrecisionRecallDisplay, RocDisplay, ScoresDisplay
from tenfold.plots.fitted import ClassScores
from tenfold.report.content import Figure, Gallery, Picture, Prose, Section, counted, short
from tenfold.report.judging import Judgement
from tenfold.report.strips import score_strip
from tenfold.report.subject import Subject

N_HARDEST = 12


def sections(subject: Subject) -> list[Section]:
    """Scores, curves and the hardest samples of the one class."""
    (judged,) = subject.judgements
    if judged.average_precision is None:
        return []
    blocks = [histogram(subject, judged), *curves(subject, [judged])]
    return [
        Section("scores", "How well it tells them apart", blocks),
        Section("hardest", "The hardest samples", hardest(subject, judged, N_HARDEST)),
    ]


def histogram(subject: Subject, judged: Judgement) -> Figure:
    """The scores of a class and of the others."""
    display = ScoresDisplay(
        judged.scores, judged.is_positive, judged.threshold, f"class {judged.label}"
    )
    words = in_words(judged)
    return subject.studio.figure(lambda ax: display.plot(ax=ax), (5.6, 3.2), *words)


def strip(judged: Judgement) -> Figure:
    """The same, small."""
    return Figure(score_strip(judged), *in_words(judged))


def in_words(judged: Judgement) -> tuple[str, str]:
    """Description and caption of a histogram."""
    own, others = judged.scores[judged.is_positive], judged.scores[~judged.is_positive]
    origin = "where both errors are equal here" if judged.chosen_here else "the model's own"
    return (
        f"Histogram of scores. {counted(len(own), 'sample')} of class {judged.label} from "
        f"{short(own.min())} to {short(own.max())}, {counted(len(others), 'other')} from "
        f"{short(others.min())} to {short(others.max())}, threshold {short(judged.threshold)}.",
        f"Scores of class {judged.label} and of the others. Dashed: the threshold, {origin}.",
    )


def curves(subject: Subject, judged: list[Judgement]) -> list[Figure]:
    """Precision-recall and ROC curves."""
    both = [j for j in judged if j.average_precision is not None]
    scores = [ClassScores(j.label, j.scores, j.is_positive, j.threshold) for j in both]
    kinds: list[tuple[Any, str, list[Any]]] = [
        (PrecisionRecallDisplay, "Precision against recall", [j.average_precision for j in both]),
        (RocDisplay, "True against false accepts", [j.auc for j in both]),
    ]
    figures = []
    for kind, words, areas in kinds:
        display = kind.from_scores(scores)
        spread = f"{100 * min(areas):.1f} %"
        if len(areas) > 1:
            spread += f" to {100 * max(areas):.1f} %"
        figures.append(
            subject.studio.figure(
                lambda ax, display=display: display.plot(ax=ax),
                (4.2, 3.7),
                f"{words}, {counted(len(both), 'curve')}; {kind.summary_name} {spread}.",
                f"{words}.",
            )
        )
    return figures


def hardest(subject: Subject, judged: Judgement, n: int) -> list[Any]:
    """Pictures of the worst of the class and of the best of the others."""
    own, others = judged.hardest(n)
    false_rejects, false_accepts = judged.false_rejects, judged.false_accepts
    return [
        Prose(
            f"{counted(false_rejects, 'sample')} of the class "
            f"{'falls' if false_rejects == 1 else 'fall'} below the threshold of "
            f"{short(judged.threshold)}, {counted(false_accepts, 'other')} "
            f"{'reaches' if false_accepts == 1 else 'reach'} it."
        ),
        Gallery(
            f"Samples of class {judged.label} with the lowest scores",
            _pictures(subject, judged, own, "rejected"),
        ),
        Gallery(
            "Other samples with the highest scores",
            _pictures(subject, judged, others, "accepted"),
        ),
    ]


def _pictures(subject: Subject, judged: Judgement, rows: Array, error: str) -> list[Picture]:
    pictures = []
    for i in rows:
        wrong = bool(judged.accepted[i]) != bool(judged.is_positive[i])
        lines = [f"class {subject.y[i]}", f"score {short(judged.scores[i])}"]
        verdict = f", wrongly {error}" if wrong else ""
        description = f"{subject.name_of(i)} of class {subject.y[i]}{verdict}"
        pictures.append(subject.album.picture(subject.sample(i), description, lines, wrong))
    return pictures
