"""``tenfold score``: scores and decisions, as CSV or Parquet."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tenfold.cli.columns import as_csv, check_writable, write_columns
from tenfold.cli.data_options import DataOptions, DataPath
from tenfold.cli.options import ModelPath, option, output_file, scoring_model
from tenfold.cli.output import Outcome

if TYPE_CHECKING:
    from tenfold.mathematics.algebra import Array


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

    Each line names the sample by its file or its row number, counted from 0. A verifier gives one
    score and whether it accepts. A bank gives a score per class (minus the distance from the class
    mean, in units of the spread of the class) and the class with the highest. plda gives a
    probability per class.

    Example: tenfold score s7.safetensors faces -o scores.csv
    """
    from tenfold.decisions.scores import scores_and_decisions

    if output is not None:
        output_file(output, ".csv", ".parquet", inputs=(model, data))
        check_writable(output)
    stored = scoring_model(model)
    samples = data_options.load_for(stored, data, labels_needed=False)
    columns = {"sample": samples.sample_names}
    if samples.y is not None:
        columns["label"] = samples.y
    columns |= scores_and_decisions(stored.estimator, samples.X)
    facts: dict[str, Any] = {"model": model, "data": data, "samples": len(samples)}
    if output is None:
        return Outcome({**facts, "columns": columns}, as_csv(columns).splitlines())
    write_columns(output, columns)
    counts = _counts(columns)
    facts |= {"output": output, "decisions": counts}
    word = "class " if "decision" in columns else ""
    decided = "".join(f"; {word}{name}: {count} samples" for name, count in counts.items())
    return Outcome(facts, [f"wrote {output}: {len(samples)} samples{decided}"])


def _counts(columns: dict[str, Array]) -> dict[str, int]:
    """How often each decision was made; nothing for a projector, which only scores."""
    if "accepted" in columns:
        named = ["accepted" if one else "rejected" for one in columns["accepted"].tolist()]
    else:
        named = [str(one) for one in columns["decision"].tolist()] if "decision" in columns else []
    return dict(Counter(named).most_common())
