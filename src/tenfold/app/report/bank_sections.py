"""Sections about a model that names classes, such as a bank of one subspace per class."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import numpy as np

from tenfold.app.report import one_class_sections as one_class
from tenfold.app.report.learned_sections import direction_pictures, has_directions
from tenfold.app.report.page import Details, Gallery, Picture, Prose, Section, counted, short
from tenfold.app.report.subject import Subject
from tenfold.decisions.metrics import ClassMetrics
from tenfold.mathematics.algebra import Array
from tenfold.plots import ReliabilityDisplay
from tenfold.system.tables import Cell, Table, number, percent

N_HARDEST = 24
N_CONFUSIONS = 100
N_HARDEST_OF_A_CLASS = 6
N_CLASSES = 100  # shown in detail; of more classes, those with the lowest average precision


def sections(subject: Subject) -> list[Section]:
    """Curves, tables, the hardest samples, and every class on click."""
    shown = _shown(subject.classes)
    anchors = {j.label: anchor(i, j.label) for i, j in enumerate(shown)}
    blocks: list[Any] = []
    if any(j.average_precision is not None for j in subject.classes):
        blocks += one_class.curves(subject, subject.classes)
    blocks.append(_class_table(subject, anchors))
    confusions = _confusions(subject)
    if confusions is not None:
        blocks.append(confusions)
    details = [_details(subject, measured, anchors[measured.label]) for measured in shown]
    if len(shown) < len(subject.classes):
        details.insert(0, Prose(f"The {len(shown)} classes with the lowest average precision."))
    return [
        Section("classes", "How well it tells them apart", blocks),
        *([_calibration(subject)] if subject.answer == "probability" else []),
        Section("hardest", "The hardest samples", _hardest(subject)),
        Section("detail", "Class by class", details),
    ]


def _calibration(subject: Subject) -> Section:
    """Whether probabilities are what they say."""
    found = subject.evaluation.reliability
    display = ReliabilityDisplay(found)
    text = (
        "Of all samples to whose class the model gave a probability of about 0.8, about 80 % "
        "should be classified correctly. The expected calibration error, the mean gap between the "
        f"two over samples, is {100 * found.error:.1f} %."
    )
    figure = subject.figures.figure(
        lambda ax: display.plot(ax=ax),
        (4.2, 3.7),
        f"Share of right answers against the probability given, {len(found.counts)} bins; "
        f"expected calibration error {100 * found.error:.1f} %.",
        "How often it was right, by how sure it was. Below the dotted line it is too sure.",
    )
    return Section("calibration", "Whether its probabilities hold", [Prose(text), figure])


def anchor(i: int, label: Any) -> str:
    """An id for a class; the number keeps labels apart that differ in punctuation only."""
    return f"class-{i}-{re.sub(r'[^a-zA-Z0-9]+', '-', str(label))}"


def _shown(classes: list[ClassMetrics]) -> list[ClassMetrics]:
    if len(classes) <= N_CLASSES:
        return classes
    worst = sorted(classes, key=lambda j: (j.average_precision is None, j.average_precision or 0))
    chosen = {id(j) for j in worst[:N_CLASSES]}
    return [j for j in classes if id(j) in chosen]


def _class_table(subject: Subject, anchors: dict[Any, str]) -> Table:
    rows = []
    for measured in subject.classes:
        own = measured.is_positive
        found = (
            float((subject.evaluation.decisions[own] == measured.label).mean())
            if own.any()
            else None
        )
        rows.append(
            [
                Cell(str(measured.label), link=anchors.get(measured.label, "")),
                number(measured.n_positive),
                percent(found),
                percent(measured.average_precision),
                percent(measured.roc_auc),
                percent(measured.equal_error_rate),
            ]
        )
    columns = ["Class", "Samples", "Right", "AP", "AUC", "EER"]
    caption = (
        "Every class, in percent. Right: samples of the class classified correctly. AP: average "
        "precision. AUC: area under the ROC curve. EER: equal error rate."
    )
    return Table(caption, columns, rows)


def _confusions(subject: Subject) -> Details | None:
    wrong = subject.evaluation.is_known & (subject.evaluation.decisions != subject.y)
    pairs = Counter(
        zip(subject.y[wrong].tolist(), subject.evaluation.decisions[wrong].tolist(), strict=True)
    )
    if not pairs:
        return None
    sizes = Counter(subject.y.tolist())
    rows = [
        [str(true), str(taken), number(n), percent(n / sizes[true])]
        for (true, taken), n in pairs.most_common(N_CONFUSIONS)
    ]
    table = Table("Percent is of the class.", ["Class", "Taken for", "Samples", "Percent"], rows)
    aside = counted(sum(pairs.values()), "sample")
    return Details("mistakes", "What is mistaken for what", aside, [table])


def _margins(subject: Subject) -> Array:
    """Score of a sample's own class minus the best of the others; -inf for unknown classes."""
    scores = np.stack([j.scores for j in subject.classes], axis=1)
    own = np.stack([j.is_positive for j in subject.classes], axis=1)
    own_score = np.where(own, scores, -np.inf).max(axis=1)
    return own_score - np.where(own, -np.inf, scores).max(axis=1)


def _hardest(subject: Subject) -> list[Any]:
    margins, known = _margins(subject), np.flatnonzero(subject.evaluation.is_known)
    wrong = subject.evaluation.decisions != subject.y
    order = known[np.lexsort((margins[known], ~wrong[known]))][:N_HARDEST]
    n_wrong = int(wrong[known].sum())
    text = (
        f"{counted(n_wrong, 'sample')} {'is' if n_wrong == 1 else 'are'} taken for another class. "
        + _explained(subject)
    )
    pictures: list[Picture] = []
    for i in order:
        close = "right, but close" if _is_close(subject, i) else "right"
        taken = f"taken for {subject.evaluation.decisions[i]}" if wrong[i] else close
        lines = [f"class {subject.y[i]}", taken, _lead(subject, i, margins[i])]
        description = f"{subject.name_of(i)} of class {subject.y[i]}, {taken}"
        pictures.append(
            subject.pictures.picture(subject.sample(i), description, lines, bool(wrong[i]))
        )
    caption = "Mistakes first, the worst before the others; then the closest calls"
    return [Prose(text), Gallery(caption, pictures)]


def _explained(subject: Subject) -> str:
    if subject.answer == "probability":
        return "Below each: the probability given to its own class, and to the best other class."
    return "Below each: how far the score of its own class is from the best score of the others."


def _lead(subject: Subject, i: int, margin: float) -> str:
    """How close a decision was, in words."""
    if subject.answer == "probability":
        own, other = (np.exp(v) for v in _own_and_best_other(subject, i))
        return f"{100 * own:.0f} % against {100 * other:.0f} %"
    return f"{'ahead' if margin >= 0 else 'behind'} by {short(abs(margin), 2)}"


def _is_close(subject: Subject, i: int) -> bool:
    """Whether another class was a serious candidate; of a bank the closest calls count as close."""
    return subject.answer != "probability" or np.exp(_own_and_best_other(subject, i)[1]) > 0.1


def _own_and_best_other(subject: Subject, i: int) -> tuple[float, float]:
    scores = {bool(j.is_positive[i]): [] for j in subject.classes}
    for j in subject.classes:
        scores[bool(j.is_positive[i])].append(float(j.scores[i]))
    return max(scores[True]), max(scores.get(False, [-np.inf]))


def _details(subject: Subject, measured: ClassMetrics, where: str) -> Details:
    look = subject.is_bank and has_directions(subject)
    blocks: list[Any] = [_look(subject, measured.label)] if look else []
    aside = counted(measured.n_positive, "sample")
    if measured.average_precision is not None:
        aside += f", AP {100 * measured.average_precision:.1f} %"
        blocks.insert(0, one_class.strip(measured))
        blocks += one_class.hardest(subject, measured, N_HARDEST_OF_A_CLASS)
    return Details(where, f"Class {measured.label}", aside, blocks)


def _look(subject: Subject, label: Any) -> Gallery:
    """The mean of a class, and the first directions of its own subspace."""
    (projector,) = (one.projector for one in subject.members if one.label == label)
    mean = projector.mean_.reshape(subject.sample_shape)
    look = [
        subject.pictures.picture(mean, f"mean of class {label}", ["mean"]),
        *direction_pictures(projector, 8),
    ]
    return Gallery("Its mean, and the directions it is measured along", look)
