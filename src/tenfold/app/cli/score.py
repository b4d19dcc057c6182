"""``tenfold evaluate``, ``score`` and ``transform``: a model on samples."""

from __future__ import annotations

import csv
import io
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tenfold.app.cli.command import Outcome
from tenfold.app.cli.data_options import DataOptions, DataPath, labelled, warn_if_trained_on
from tenfold.app.cli.options import (
    ModelPath,
    check_order,
    load_model,
    option,
    output_file,
    require,
)
from tenfold.datasets.locations import natural_key
from tenfold.serialization.atomic_write import whole_file, write_whole
from tenfold.tables import Cell, Table, is_number, number, percent, visible

if TYPE_CHECKING:
    from tenfold.datasets import TensorDataset
    from tenfold.linalg.algebra import Array

TABLES = (".csv", ".parquet")
ARRAYS = (".npy", ".npz")
FORMULA_SIGNS = tuple("=+-@＝＋－＠")  # also as East Asian keyboards write them
MOST_COLUMNS = 12  # a wider confusion matrix is shown as a list of its largest errors
METRICS = ("average_precision", "roc_auc", "equal_error_rate")


def evaluate(
    model: ModelPath,
    data: DataPath,
    *,
    data_options: DataOptions,
) -> Outcome:
    """Measure a model on labelled samples.

    It reports average precision, area under the ROC curve, equal error rate and the confusion
    matrix. plda also reports the calibration error of its probabilities, and models that give
    log-likelihood ratios their cost, Cllr. A model fitted with --false-accept-rate also reports how
    well it rejects strangers. Use samples that the model was not fitted on: figures on training
    samples are too high.

    Example: tenfold evaluate s7.safetensors faces
    """
    from tenfold import metrics

    check_order("evaluate", model, data)
    estimator, reading = load_model(model, scores=True)
    samples = labelled(data_options.load_for(estimator, reading, data), "evaluate")
    figures = metrics.evaluate(estimator, samples.X, samples.y).as_dict()
    warn_if_trained_on(samples)
    return Outcome({"model": model, "data": data, **figures}, _figures(figures))


def _figures(facts: dict[str, Any]) -> list[Table | str]:
    rows: list[list[Cell | str]] = []
    for one in sorted(facts["classes"], key=lambda one: natural_key(str(one["class"]))):
        measured = [percent(one[name]) for name in METRICS]
        rows.append([str(one["class"]), number(one["samples"]), *measured])
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
    if "cllr" in facts:
        least = max(0.0, facts["min_cllr"])  # rounding may put it below
        calibrated = f"{least:.3f} after the best calibration"
        shown.append(f"Cllr {facts['cllr']:.3f} bits, {calibrated}")
    if rates.get("detection_identification_rate") is not None:
        equal = 100 * rates["equal_error_rate"]
        identified = 100 * rates["detection_identification_rate"]
        shown.append(
            f"strangers against known classes: equal error rate {equal:.1f} %; at the requested "
            f"rate of false accepts among these strangers, {identified:.1f} % of the others are "
            "accepted and named correctly"
        )
    if facts.get("accuracy") == 1.0:
        shown.append("confusion: none, every decision is right")
    elif "confusion" in facts:
        shown.append(_confusion_table(**facts["confusion"]))
    return shown


def _confusion_table(labels: list[str], decisions: list[str], counts: list[list[int]]) -> Table:
    if len(decisions) <= MOST_COLUMNS:
        columns = sorted(range(len(decisions)), key=lambda i: natural_key(decisions[i]))
        order = columns if labels == decisions else range(len(labels))
        rows: list[list[Cell | str]] = [
            [labels[i], *(number(counts[i][j]) for j in columns)] for i in order if any(counts[i])
        ]
        return Table("confusion", ["label \\ decision", *(decisions[j] for j in columns)], rows)
    wrong = []
    for i, row in enumerate(counts):
        for j, count in enumerate(row):
            if count and i != j:
                wrong.append((count, labels[i], decisions[j]))
    worst = sorted(wrong, key=lambda one: -one[0])[:10]
    title = f"confusion: {sum(one[0] for one in wrong)} wrong decisions, the most frequent first"
    rows = [[label, decision, number(count)] for count, label, decision in worst]
    return Table(title, ["label", "decision", "samples"], rows)


def score(
    model: ModelPath,
    data: DataPath,
    *,
    output: Annotated[
        Path | None, option("FILE", "Write .csv or .parquet; else show CSV.", "-o", "--output")
    ] = None,
    data_options: DataOptions,
) -> Outcome:
    """Score samples and decide.

    Each line names the sample by its file or its row number, counted from 0. A verifier gives one
    score (log-likelihood ratio of the class against all others), its threshold, and whether the
    score reaches it. A bank gives a score per class (margin: how much more likely than the best
    others) and the class with the highest. plda gives a probability per class. A model fitted with
    --false-accept-rate also gives a score and a threshold; below it the decision is "unknown".

    Example: tenfold score s7.safetensors faces -o scores.csv
    """
    from tenfold.classifiers.scores import scores_and_decisions

    check_order("score", model, data)
    if output is not None:
        _check_output(output, TABLES, model, data, *data_options.files)
    estimator, reading = load_model(model, scores=True)
    samples = data_options.load_for(estimator, reading, data, labels_needed=False)
    columns = _names_and_labels(samples)
    found = scores_and_decisions(estimator, samples.X)
    first = [name for name in ("decision", "score", "threshold", "accepted") if name in found]
    per_class = sorted(found.keys() - set(first), key=natural_key)
    columns |= {name: found[name] for name in [*first, *per_class]}
    facts: dict[str, object] = {"model": model, "data": data, "samples": len(samples)}
    if output is None:
        return Outcome({**facts, "columns": columns}, as_csv(columns).splitlines())
    write_columns(output, columns)
    if "accepted" in columns:
        word = ""
        decisions = ["accepted" if one else "rejected" for one in columns["accepted"]]
    else:  # a projector only scores
        word = "class "
        decisions = list(map(str, columns.get("decision", [])))
    counts = dict(sorted(Counter(decisions).items(), key=lambda one: natural_key(one[0])))
    decided = "".join(f"; {word}{name}: {count} samples" for name, count in counts.items())
    facts |= {"output": output, "decisions": counts}
    return Outcome(facts, [f"wrote {output}: {len(samples)} samples{decided}"])


def transform(
    model: ModelPath,
    data: DataPath,
    *,
    output: Annotated[
        Path, option("FILE", "Write .parquet, .csv, .npy or .npz.", "-o", "--output")
    ],
    data_options: DataOptions,
) -> Outcome:
    """Write the features of samples, for other programs.

    Features are the coordinates of a sample in the learned subspace. plda writes the score of
    every class, a bank the distance from every class mean. Tables also hold the file name or row
    number of each sample, and its label if there is one.

    Example: tenfold transform s7.safetensors faces -o features.csv
    """
    from tenfold.classifiers.scores import features_of

    check_order("transform", model, data)
    _check_output(output, TABLES + ARRAYS, model, data, *data_options.files)
    estimator, reading = load_model(model)
    samples = data_options.load_for(estimator, reading, data, labels_needed=False)
    names, features = features_of(estimator, samples.X)
    about = _names_and_labels(samples)
    if output.suffix.lower() in TABLES:
        write_columns(output, about | dict(zip(names, features.T, strict=True)))
    else:
        y = {"y": about["label"]} if "label" in about else {}
        write_arrays(output, {"X": features, **y, "sample": about["sample"]})
    facts: dict[str, object] = {"model": model, "data": data, "output": output}
    facts |= {"samples": len(samples), "features": len(names)}
    return Outcome(facts, [f"wrote {output}: {len(samples)} samples, features: {len(names)}"])


def _names_and_labels(samples: TensorDataset) -> dict[str, Array]:
    """The first columns of a table: the file or row number of each sample, and its label."""
    labels = {} if samples.y is None else {"label": samples.y}
    return {"sample": samples.sample_names, **labels}


def _check_output(output: Path, suffixes: tuple[str, ...], *inputs: Path) -> None:
    """Complain before the work if a table or array cannot be written there."""
    output_file(output, *suffixes, inputs=inputs)
    if output.suffix.lower() == ".parquet":
        require("a Parquet file", "data", "pyarrow")


def write_columns(output: Path, columns: dict[str, Array]) -> None:
    """Write columns to a .csv or .parquet file, by the ending of its name."""
    with whole_file(output) as file:
        if output.suffix.lower() == ".csv":
            file.write(as_csv(columns).encode("utf-8"))
            return
        import pyarrow.parquet

        table = pyarrow.table({name: column.tolist() for name, column in columns.items()})
        pyarrow.parquet.write_table(table, file)


def write_arrays(output: Path, arrays: dict[str, Array]) -> None:
    """Write arrays to a .npz file, or the first of them to a .npy file."""
    import numpy as np

    content = io.BytesIO()  # NumPy does not say why a file cannot be written
    if output.suffix.lower() == ".npz":
        np.savez(content, allow_pickle=False, **arrays)
    else:
        np.save(content, next(iter(arrays.values())), allow_pickle=False)
    write_whole(output, content.getvalue())


def as_csv(columns: dict[str, Array]) -> str:
    """Columns as CSV with a row of names; numbers in full precision.

    Text that a spreadsheet would run as a formula gets an apostrophe before it, and control
    characters are escaped.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.app.cli.score import as_csv
    >>> print(as_csv({"sample": np.array(["=1+1"]), "score": np.array([-0.1])}), end="")
    sample,score
    '=1+1,-0.1
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(_harmless, columns))
    cells = ([_harmless(one) for one in column.tolist()] for column in columns.values())
    writer.writerows(zip(*cells, strict=True))
    return text.getvalue()


def _harmless(value: object) -> object:
    """A value that a spreadsheet shows and does not run."""
    if not isinstance(value, str):
        return value
    text = visible(value)
    return f"'{text}" if text.startswith(FORMULA_SIGNS) and not is_number(text) else text
