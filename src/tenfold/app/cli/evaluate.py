"""``tenfold evaluate``: what a model is worth on labelled samples."""

from __future__ import annotations

from typing import Annotated, Any

from tenfold.app.cli.command import DONE, FAILED, BadInput, Outcome
from tenfold.app.cli.data_options import DataOptions, DataPath, labelled, told_of_known
from tenfold.app.cli.options import ModelPath, option, scoring_model
from tenfold.system.tables import Table, number, percent

MOST_COLUMNS = 12  # a wider confusion matrix is shown as a list of its largest errors
METRICS = ("average_precision", "roc_auc", "equal_error_rate")


def evaluate(
    model: ModelPath,
    data: DataPath,
    *,
    at_least: Annotated[
        float | None,
        option("--at-least", metavar="X", text="Exit 1 if average precision is below, 0 to 1."),
    ] = None,
    data_options: DataOptions,
) -> Outcome:
    """Measure a model on labelled samples.

    Average precision, area under the ROC curve, equal error rate and the confusion of decisions;
    of plda, by its probabilities, also how far these are from what happens. Use samples that the
    model was not fitted on: figures on training samples are too high.

    Example: tenfold evaluate s7.safetensors faces
    """
    from tenfold.decisions import metrics

    if at_least is not None and not 0 <= at_least <= 1:
        raise BadInput(f"--at-least is {at_least:g}; expected a share from 0 to 1, such as 0.9")
    stored = scoring_model(model)
    samples = labelled(data_options.load_for(stored, data), "evaluate")
    figures = metrics.evaluate(stored.estimator, samples.X, samples.y).as_dict()
    told_of_known(samples)
    shown = _shown(figures)
    reached = at_least is None or figures["average_precision"] >= at_least
    if not reached:
        shown.append(f"average precision is below the wanted {100 * (at_least or 0):.1f} %")
    facts = {"model": model, "data": data, **figures, "reached": reached}
    return Outcome(facts, shown, DONE if reached else FAILED)


def _shown(facts: dict[str, Any]) -> list[Table | str]:
    from tenfold.datasets.locations import natural_key

    rows = [
        [str(one["class"]), number(one["samples"]), *(percent(one[name]) for name in METRICS)]
        for one in sorted(facts["classes"], key=lambda one: natural_key(str(one["class"])))
    ]
    if len(rows) > 1:
        means = [percent(facts[name]) for name in METRICS]
        rows.append(["mean", number(facts["samples"]), *means])
    columns = ["class", "samples", "average precision", "ROC AUC", "equal error rate"]
    shown: list[Table | str] = [Table(f"{facts['samples']} samples; in %", columns, rows)]
    if "accuracy" in facts:
        error = facts.get("calibration_error")
        held = "" if error is None else f"; expected calibration error {100 * error:.1f} %"
        shown.append(f"accuracy {100 * facts['accuracy']:.1f} %{held}")
    rates = facts.get("strangers", facts)
    if "threshold" in rates:
        said = {"false accepts": "false_accept_rate", "false rejects": "false_reject_rate"}
        known = [f"{100 * rates[n]:.1f} % {w}" for w, n in said.items() if rates[n] is not None]
        unknown = [f"no samples to count {w}" for w, n in said.items() if rates[n] is None]
        shown.append(f"threshold {rates['threshold']:.4g}: {', '.join([*known, *unknown])}")
    if facts.get("accuracy") == 1.0:
        shown.append("confusion: none, every decision is right")
    elif "confusion" in facts:
        shown.append(_confusion_table(**facts["confusion"]))
    return shown


def _in_order(names: list[str]) -> list[int]:
    """Places of labels in natural order; accepted stays before rejected."""
    from tenfold.datasets.locations import natural_key

    return sorted(range(len(names)), key=lambda i: natural_key(names[i]))


def _confusion_table(labels: list[str], decisions: list[str], counts: list[list[int]]) -> Table:
    if len(decisions) <= MOST_COLUMNS:
        columns = _in_order(decisions)
        rows = [
            [labels[i], *(number(counts[i][j]) for j in columns)]
            for i in (_in_order(labels) if labels == decisions else range(len(labels)))
            if any(counts[i])
        ]
        return Table("confusion", ["label \\ decision", *(decisions[j] for j in columns)], rows)
    wrong = [
        (count, labels[i], decisions[j])
        for i, row in enumerate(counts)
        for j, count in enumerate(row)
        if count and i != j
    ]
    worst = sorted(wrong, key=lambda one: -one[0])[:10]
    title = f"confusion: {sum(one[0] for one in wrong)} wrong decisions, the most frequent first"
    rows = [[label, decision, number(count)] for count, label, decision in worst]
    return Table(title, ["label", "decision", "samples"], rows)
