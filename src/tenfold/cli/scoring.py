"""``tenfold score`` and ``tenfold evaluate``: a model at work on a data set."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated, Any

from tenfold.cli.errors import DONE, FAILED, BadInput
from tenfold.cli.options import DataOptions, DataPath, ModelPath, load_model, option, output_file
from tenfold.cli.outcome import Outcome, Table


def score(
    model: ModelPath,
    data: DataPath,
    *,
    output: Annotated[
        Path | None,
        option("-o", "--output", metavar="FILE", text=".csv or .parquet; else CSV on screen."),
    ] = None,
    data_options: DataOptions,
) -> Outcome:
    """Score samples and decide.

    A verifier gives one score per sample and whether it is accepted; a bank a score for every
    class, minus the distance from its mean in units of its spread, and the best class.

    Example: tenfold score s7.safetensors faces -o scores.csv
    """
    from tenfold.cli.score_files import as_csv, check_parquet, scored, write_scores

    if output is not None:
        output_file(output, ".csv", ".parquet", inputs=(model, data))
        check_parquet(output)
    estimator = scoring_model(model)
    samples = data_options.load_for(estimator, data)
    columns = scored(estimator, samples)
    facts: dict[str, Any] = {"model": model, "data": data, "samples": len(samples)}
    if output is None:
        return Outcome({**facts, "columns": columns}, [as_csv(columns).rstrip("\n")])
    write_scores(output, columns)
    facts |= {"output": output, "decisions": _counts(columns)}
    counts = ", ".join(f"{count} {name}" for name, count in facts["decisions"].items())
    decided = f"; {counts}" if counts else ""
    return Outcome(facts, [f"wrote {output}: {len(samples)} samples{decided}"])


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
    """Judge a model on labelled samples.

    Average precision, area under the ROC curve, equal error rate and the confusion of decisions.
    Samples that the model has learned from flatter it.

    Example: tenfold evaluate s7.safetensors faces
    """
    from tenfold.cli.evaluating import evaluated, evaluation_story

    if at_least is not None and not 0 <= at_least <= 1:
        raise BadInput(f"--at-least is {at_least:g}; expected a share from 0 to 1, such as 0.9")
    estimator = scoring_model(model)
    samples = data_options.load_for(estimator, data)
    if samples.y is None:
        raise BadInput("evaluating needs labels; leave out --no-labels, or pass --labels")
    facts = {"model": model, "data": data, **evaluated(estimator, samples)}
    story: list[Table | str] = evaluation_story(facts)
    reached = at_least is None or facts["average_precision"] >= at_least
    if not reached:
        story.append(f"average precision is below the wanted {100 * (at_least or 0):.1f} %")
    return Outcome({**facts, "reached": reached}, story, DONE if reached else FAILED)


def scoring_model(path: Path) -> Any:
    """The model of a file, if it is of a kind that gives scores."""
    model = load_model(path)
    if not hasattr(model, "decision_function"):
        raise BadInput(
            f"{path} holds a {type(model).__name__} subspace, which gives no scores; fit with "
            "--method mcsda or csda, or use tenfold.load and transform in Python"
        )
    return model


def _counts(columns: Any) -> dict[str, int]:
    """How often each decision came; nothing of a projector, which scores and does not decide."""
    if "accepted" in columns:
        named = ["accepted" if one else "rejected" for one in columns["accepted"].tolist()]
    else:
        named = [str(one) for one in columns["decision"].tolist()] if "decision" in columns else []
    return dict(Counter(named).most_common())
