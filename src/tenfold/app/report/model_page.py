"""The page about a model, and writing it."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from tenfold.app.report.page import Page, as_html, counted, in_percent
from tenfold.app.report.sections import sections
from tenfold.app.report.subject import Subject
from tenfold.classifiers.members import label_of
from tenfold.datasets import TensorDataset
from tenfold.serialization.atomic_write import write_whole


def write_report(
    model: object, data: object, path: str | os.PathLike[str], *, title: str | None = None
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
        multi-class projectors give no scores; of them the page says how much of the scatter their
        subspace keeps.
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


def _as_dataset(data: object) -> TensorDataset:
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


NOTE = (
    "All figures are of the samples described below. If the model was fitted on some of them, "
    "expect worse figures on new samples."
)


def model_page(estimator: object, data: TensorDataset, title: str | None = None) -> Page:
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
    if subject.names_classes:
        summary, headline = _bank_summary(subject)
    elif subject.answer != "projection":
        summary, headline = _one_class_summary(subject)
    else:
        summary, headline = _subspace_summary(subject)
    label = None if subject.names_classes else label_of(subject.model)
    name = subject.method if label is None else f"{subject.method} for class {label}"
    said = "; ".join(data.notes)
    note = f"{said[0].upper()}{said[1:]}." if said else NOTE
    return Page(title or f"{name} on {data.name}", summary, note, headline, sections(subject))


def _bank_summary(subject: Subject) -> tuple[str, list[tuple[str, str]]]:
    known = subject.evaluation.is_known
    if not known.any():
        raise ValueError("no sample is of a class that the model knows; add some, or use evaluate")
    right = int((subject.decisions[known] == subject.y[known]).sum())
    share = right / int(known.sum())
    classes = counted(len(subject.classes), "class", "classes")
    learned = "one subspace for each" if subject.is_bank else "what samples look like in each"
    summary = (
        f"{subject.method} learned {learned} of {classes} and classifies {right:,} of "
        f"{counted(int(known.sum()), 'sample')} correctly ({in_percent(share)})"
    )
    headline = [(in_percent(share), "classified correctly")]
    if any(one.average_precision is not None for one in subject.classes):  # not of one class alone
        precision = in_percent(subject.evaluation.average_precision)
        errors = in_percent(subject.evaluation.equal_error_rate)
        headline += [(precision, "mean average precision"), (errors, "mean equal error rate")]
        summary += f"; a sample of a class is found with a mean average precision of {precision}"
    summary += "."
    unknown = len(known) - int(known.sum())
    if unknown:
        summary += (
            f" {counted(unknown, 'sample')} of classes that it does not know count as others."
        )
    if subject.evaluation.rejecting is not None:
        rates = subject.evaluation.strangers
        named = rates["false_accept_rate"]
        strangers = "" if named is None else f"names {in_percent(named)} of these strangers and "
        summary += (
            f" It may answer {rates['unknown']}, for none of these: it {strangers}rejects "
            f"{in_percent(rates['false_reject_rate'])} of the samples of its classes."
        )
    if subject.answer == "probability":
        error = subject.evaluation.reliability.error
        headline.append((in_percent(error), "expected calibration error"))
    return summary, [*headline, _reduction(subject)] if subject.members else headline


def _one_class_summary(subject: Subject) -> tuple[str, list[tuple[str, str]]]:
    (measured,) = subject.classes
    own, others = measured.n_positive, measured.n_others
    who = f"class {measured.label}"
    if measured.average_precision is None:
        summary = (
            f"{subject.method} learned a subspace for {who}, but the samples given are all "
            f"{'of that class' if own else 'of other classes'}, so nothing can be measured."
        )
        return summary, [_reduction(subject)] if subject.members else []
    accepted = own - measured.false_rejects
    where = (
        "At the threshold where both errors are equal here, it"
        if measured.chosen_here
        else "At its threshold, it"
    )
    summary = (
        f"{subject.method} tells {who} from everything else with an average precision of "
        f"{in_percent(measured.average_precision)}. {where} accepts {accepted:,} of "
        f"{counted(own, 'sample')} of the class, and {measured.false_accepts:,} of "
        f"{others:,} others."
    )
    headline = [
        (in_percent(measured.average_precision), "average precision"),
        (in_percent(measured.roc_auc), "area under the ROC curve"),
        (in_percent(measured.equal_error_rate), "equal error rate"),
    ]
    if measured.cllr is not None:
        headline.append((f"{measured.cllr:.3f} bits", "Cllr, the cost of the likelihood ratios"))
    return summary, [*headline, _reduction(subject)] if subject.members else headline


def _subspace_summary(subject: Subject) -> tuple[str, list[tuple[str, str]]]:
    n_samples, share = subject.scatter_kept
    reduction = _reduction(subject)
    summary = (
        f"{subject.method} keeps {in_percent(share)} of the scatter of "
        f"{counted(n_samples, 'sample')} in {reduction[0].replace(' → ', ' to ')} numbers."
    )
    return summary, [(in_percent(share), "of the scatter kept"), reduction]


def _reduction(subject: Subject) -> tuple[str, str]:
    return subject.about["samples"], "each sample, before and after"
