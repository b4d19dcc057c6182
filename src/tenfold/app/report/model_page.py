"""The page about a model, and writing it."""

from __future__ import annotations

import os
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from tenfold.app.report import (
    bank_sections,
    learned_sections,
    one_class_sections,
    reconstruction_sections,
)
from tenfold.app.report.page import Facts, Page, Section, as_html, counted
from tenfold.app.report.subject import Subject
from tenfold.datasets import TensorDataset
from tenfold.system.atomic_write import write_whole
from tenfold.system.tables import times


def write_report(
    model: Any, data: Any, path: str | os.PathLike[str], *, title: str | None = None
) -> Path:
    """Write one self-contained HTML page about a fitted model.

    The page needs no network and no other file. It holds a summary, the plots of `tenfold.plots`,
    the learned directions, the hardest samples as pictures, every class in detail, and tables
    that can be sorted.

    Parameters
    ----------
    model : fitted estimator
        A projector, `ClassSpecificVerifier` or `ClassSpecificClassifier`, or a search or
        pipeline over one.
    data : TensorDataset or (X, y)
        The samples to test a model on, best those it was not fitted on. `MPCA` and the
        multi-class projectors give no scores; of them the page shows what their subspace keeps.
    path : path
        The file to write, usually ``something.html``. It is replaced as a whole or not at all.
    title : str or None, default=None
        None makes one from the method and the name of the data.

    Returns
    -------
    Path
        The file written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from tenfold import MCSDA
    >>> from tenfold.datasets import load_digits_tensor
    >>> from tenfold.app.report import write_report
    >>> digits = load_digits_tensor()
    >>> mcsda = MCSDA(ranks=(4, 4), positive=3).fit(digits.X[:900], digits.y[:900])
    >>> page = pathlib.Path(tempfile.mkdtemp()) / "three.html"
    >>> write_report(mcsda, digits.select(slice(900, None)), page).name
    'three.html'
    """
    page = model_page(model, _as_dataset(data), title)
    write_whole(path, as_html(page).encode())
    return Path(path)


def _as_dataset(data: Any) -> TensorDataset:
    if isinstance(data, TensorDataset):
        return data
    if not isinstance(data, tuple | list) or len(data) != 2:
        raise TypeError(
            f"data is {type(data).__name__}; pass a TensorDataset, or samples and labels as (X, y)"
        )
    X, y = data
    return TensorDataset(
        X if hasattr(X, "shape") else np.asarray(X), None if y is None else np.asarray(y)
    )


_NOTE = (
    "All figures are of the samples described below. If the model was fitted on some of them, "
    "expect worse figures on new samples."
)


def _note(data: TensorDataset) -> str:
    """What to know of the figures: what the data say of themselves, else what may be."""
    return (
        "; ".join(data.notes)[:1].upper() + "; ".join(data.notes)[1:] + "." if data.notes else _NOTE
    )


def model_page(estimator: Any, data: TensorDataset, title: str | None = None) -> Page:
    """Everything there is to say about a fitted model and its figures on samples.

    Parameters
    ----------
    estimator : fitted estimator
        The model.
    data : TensorDataset
        The samples.
    title : str or None, default=None
        None makes one.

    Returns
    -------
    Page
        Ready to be turned into HTML.
    """
    subject = Subject(estimator, data)
    learned = learned_sections.sections(subject)  # first: it refuses what has no projections
    if subject.names_classes:
        summary, headline = _bank_summary(subject)
        sections = bank_sections.sections(subject)
    elif subject.answer != "projection":
        summary, headline = _one_class_summary(subject)
        sections = one_class_sections.sections(subject)
    else:
        summary, headline = _subspace_summary(subject)
        sections = reconstruction_sections.sections(subject)
    about = Section("about", "Model and data", [Facts(_model_facts(subject) + _data_facts(data))])
    return Page(
        title or f"{_name(subject)} on {data.name}",
        summary,
        _note(data),
        headline,
        [*sections, *learned, about],
    )


def _name(subject: Subject) -> str:
    label = None if subject.names_classes else subject.members[0].label
    if label is None:
        return subject.method
    return f"{subject.method} for class {label}"


def _bank_summary(subject: Subject) -> tuple[str, list[tuple[str, str]]]:
    known = subject.evaluation.is_known
    if not known.any():
        raise ValueError("no sample is of a class that the model knows; add some, or use evaluate")
    right = int((subject.evaluation.decisions[known] == subject.y[known]).sum())
    measured = [j for j in subject.classes if j.average_precision is not None]
    precision = float(np.mean([j.average_precision for j in measured])) if measured else np.nan
    errors = float(np.mean([j.equal_error_rate for j in measured])) if measured else np.nan
    share = right / int(known.sum())
    classes = counted(len(subject.classes), "class", "classes")
    learned = "one subspace for each" if subject.is_bank else "what samples look like in each"
    summary = (
        f"{subject.method} learned {learned} of {classes} and classifies {right:,} of "
        f"{counted(int(known.sum()), 'sample')} correctly ({100 * share:.1f} %); a sample of a "
        f"class is found with a mean average precision of {100 * precision:.1f} %."
    )
    unknown = len(known) - int(known.sum())
    if unknown:
        summary += (
            f" {counted(unknown, 'sample')} of classes that it does not know count as others."
        )
    if subject.evaluation.rejecting is not None:
        rates = subject.evaluation.strangers
        named = rates["false_accept_rate"]
        strangers = "" if named is None else f"names {100 * named:.1f} % of these strangers and "
        summary += (
            f" It may answer {rates['unknown']}, for none of these: it {strangers}rejects "
            f"{100 * rates['false_reject_rate']:.1f} % of the samples of its classes."
        )
    headline = [
        (f"{100 * share:.1f} %", "classified correctly"),
        (f"{100 * precision:.1f} %", "mean average precision"),
        (f"{100 * errors:.1f} %", "mean equal error rate"),
        _reduction(subject),
    ]
    if subject.answer == "probability":
        error = subject.evaluation.reliability.error
        headline.insert(3, (f"{100 * error:.1f} %", "expected calibration error"))
    return summary, headline


def _one_class_summary(subject: Subject) -> tuple[str, list[tuple[str, str]]]:
    (measured,) = subject.classes
    own, others = measured.n_positive, measured.n_others
    who = f"class {measured.label}"
    if measured.average_precision is None:
        summary = (
            f"{subject.method} learned a subspace for {who}, but the samples given are all "
            f"{'of that class' if own else 'of other classes'}: there is nothing to tell apart."
        )
        return summary, [_reduction(subject)]
    accepted = own - measured.false_rejects
    where = (
        "At the threshold where both errors are equal here, it"
        if measured.chosen_here
        else "At its threshold, it"
    )
    summary = (
        f"{subject.method} tells {who} from everything else with an average precision of "
        f"{100 * measured.average_precision:.1f} %. {where} accepts {accepted:,} of "
        f"{counted(own, 'sample')} of the class, and {measured.false_accepts:,} of "
        f"{others:,} others."
    )
    headline = [
        (f"{100 * measured.average_precision:.1f} %", "average precision"),
        (f"{100 * measured.roc_auc:.1f} %", "area under the ROC curve"),
        (f"{100 * measured.equal_error_rate:.1f} %", "equal error rate"),
        _reduction(subject),
    ]
    return summary, headline


def _subspace_summary(subject: Subject) -> tuple[str, list[tuple[str, str]]]:
    kept = reconstruction_sections.reconstruction_of(subject)
    reduction = _reduction(subject)
    summary = (
        f"{subject.method} keeps {100 * kept.overall:.1f} % of the scatter of "
        f"{counted(kept.n_samples, 'sample')} in {reduction[0].replace(' → ', ' to ')} numbers."
    )
    return summary, [(f"{100 * kept.overall:.1f} %", "of the scatter kept"), reduction]


def _reduction(subject: Subject) -> tuple[str, str]:
    if subject.answer == "probability":
        sizes, numbers = times(subject.model.sample_shape_, "×"), len(subject.model.between_)
        return f"{sizes} → {numbers}", "each sample, before and after"
    sizes = times([len(W) for W in subject.members[0].projector.projections_], "×")
    return f"{sizes} → {_ranks(subject)}", "each sample, before and after"


def _ranks(subject: Subject) -> str:
    """The ranks, from the smallest to the largest where classes have their own."""
    ranks = sorted({one.projector.ranks_ for one in subject.members}, key=prod)
    ends = [ranks[0]] if len(ranks) == 1 else [ranks[0], ranks[-1]]
    return " to ".join(times(one, "×") for one in ends)


def _model_facts(subject: Subject) -> list[tuple[str, str]]:
    model = [
        ("Model", " ".join(repr(subject.estimator).split())),
        ("Sample shape", times(subject.model.sample_shape_, "×")),
    ]
    if subject.answer == "probability":
        names = ("shrinkage_", "gain_", "tails_", "temperature_")
        chosen = [(n.rstrip("_").title(), f"{getattr(subject.model, n):.3g}") for n in names]
        model += [("Coordinates", f"{len(subject.model.between_)}"), *chosen]
    if not subject.members:
        return model
    projectors = [one.projector for one in subject.members]
    rounds = [p.n_iter_ for p in projectors]
    n_converged = sum(p.converged_ for p in projectors)
    all_rounds = f"{min(rounds)} to {max(rounds)}" if len(set(rounds)) > 1 else str(rounds[0])
    if len(projectors) == 1:
        state = "converged" if n_converged else "stopped before it converged"
    else:
        state = f"{n_converged} of {len(projectors)} converged"
    return [
        *model,
        ("Ranks", _ranks(subject)),
        ("Rounds", f"{all_rounds}; {state}"),
    ]


def _data_facts(data: TensorDataset) -> list[tuple[str, str]]:
    labelled = [] if data.y is None else [("Classes", f"{len(data.classes):,}")]
    about = [("Description", data.description)] if data.description else []
    return [("Data", data.name), *about, ("Samples", f"{len(data):,}"), *labelled]
