"""What a model is worth on labelled samples."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import confusion_matrix

from tenfold.cli.errors import BadInput
from tenfold.cli.outcome import Table
from tenfold.datasets import TensorDataset
from tenfold.mathematics.algebra import Array
from tenfold.plots.fitted import as_learned, class_scores, in_blocks
from tenfold.report.judging import Judgement, judge

MOST_COLUMNS = 12  # a wider confusion matrix is shown as a list of its largest errors


def evaluated(model: Any, data: TensorDataset) -> dict[str, Any]:
    """Figures per class, their means, and the confusion of decisions.

    Parameters
    ----------
    model : bank, verifier or class-specific projector
        Fitted.
    data : TensorDataset
        Labelled samples.

    Returns
    -------
    dict
        Ready for JSON. Means are over the classes that have samples here.
    """
    y = as_learned(np.asarray(data.y), model.classes_)
    judged = [judge(found) for found in class_scores(model, data.X, y)]
    present = [one for one in judged if one.average_precision is not None]
    if not present:
        _refuse(data, judged)
    facts: dict[str, Any] = {
        "kind": type(model).__name__,
        "samples": len(data),
        "average_precision": float(np.mean([one.average_precision for one in present])),
        "roc_auc": float(np.mean([one.auc for one in present])),
        "equal_error_rate": float(np.mean([one.equal_error_rate for one in present])),
        "classes": [_figures(one) for one in judged],
    }
    if hasattr(model, "projectors_"):
        decisions = in_blocks(model.predict, data.X)
        facts["accuracy"] = float(np.mean(decisions == y))
        facts["confusion"] = _confusion(y, decisions)
    elif hasattr(model, "threshold_"):
        (one,) = judged
        facts |= {
            "threshold": model.threshold_,
            "false_accept_rate": one.false_accepts / max(one.n_others, 1),
            "false_reject_rate": one.false_rejects / one.n_positive,
            "confusion": _accepted(one),
        }
    return facts


def _refuse(data: TensorDataset, judged: list[Judgement]) -> None:
    if any(one.n_positive for one in judged):  # then there are no others
        raise BadInput(
            f"all samples are of class {data.classes[0]}; judging needs samples of other classes, "
            "too"
        )
    wanted = ", ".join(str(one.label) for one in judged[:5]) + ("..." if len(judged) > 5 else "")
    there = ", ".join(map(str, data.classes[:5])) + ("..." if len(data.classes) > 5 else "")
    raise BadInput(
        f"labels do not match: the model knows {wanted} and the data hold {there}; judging needs "
        "samples of a class it knows, and others"
    )


def _figures(one: Judgement) -> dict[str, Any]:
    return {
        "class": one.label,
        "samples": one.n_positive,
        "average_precision": one.average_precision,
        "roc_auc": one.auc,
        "equal_error_rate": one.equal_error_rate,
    }


def _accepted(one: Judgement) -> dict[str, Any]:
    own, others = one.n_positive - one.false_rejects, one.n_others - one.false_accepts
    return {
        "labels": [str(one.label), "others"],
        "decisions": ["accepted", "rejected"],
        "counts": [[own, one.false_rejects], [one.false_accepts, others]],
    }


def _confusion(y: Array, decisions: Array) -> dict[str, Any]:
    """Counts by label and decision; labels the model does not know are rows, too."""
    labels = [str(label) for label in y.tolist()]
    decided = [str(label) for label in decisions.tolist()]
    names = list(dict.fromkeys([*np.unique(decisions).astype(str), *sorted({*labels, *decided})]))
    counts = confusion_matrix(labels, decided, labels=names)
    return {"labels": names, "decisions": names, "counts": counts.tolist()}


# ── For people ──────────────────────────────────────────────────────────────────────────────────


def evaluation_story(facts: dict[str, Any]) -> list[Table | str]:
    """Tables of an evaluation."""
    per_class = [
        [str(one["class"]), str(one["samples"])]
        + [_percent(one[name]) for name in ("average_precision", "roc_auc", "equal_error_rate")]
        for one in facts["classes"]
    ]
    if len(per_class) > 1:
        means = [facts[n] for n in ("average_precision", "roc_auc", "equal_error_rate")]
        per_class.append(["mean", str(facts["samples"]), *map(_percent, means)])
    columns = ["class", "samples", "average precision", "ROC AUC", "equal error rate"]
    story: list[Table | str] = [Table(columns, per_class, f"{facts['samples']} samples; in %")]
    if "accuracy" in facts:
        story.append(f"accuracy {_percent(facts['accuracy'])} %")
    if "threshold" in facts:
        story.append(
            f"threshold {facts['threshold']:.4g}: {_percent(facts['false_accept_rate'])} % false "
            f"accepts, {_percent(facts['false_reject_rate'])} % false rejects"
        )
    if facts.get("accuracy") == 1.0:
        story.append("confusion: none, every decision is right")
    elif "confusion" in facts:
        story.append(_confusion_table(**facts["confusion"]))
    return story


def _confusion_table(labels: list[str], decisions: list[str], counts: list[list[int]]) -> Table:
    if len(decisions) <= MOST_COLUMNS:
        rows = [
            [name, *map(str, row)] for name, row in zip(labels, counts, strict=True) if any(row)
        ]
        return Table(["label \\ decision", *decisions], rows, "confusion")
    wrong = [
        (count, labels[i], decisions[j])
        for i, row in enumerate(counts)
        for j, count in enumerate(row)
        if count and i != j
    ]
    worst = sorted(wrong, key=lambda one: -one[0])[:10]
    rows = [[label, decision, str(count)] for count, label, decision in worst]
    title = f"confusion: {sum(one[0] for one in wrong)} wrong decisions, the most frequent first"
    return Table(["label", "decision", "samples"], rows, title, n_texts=2)


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}"
