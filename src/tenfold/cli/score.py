"""``tenfold score``: scores and decisions, as CSV or Parquet; the only module with pyarrow."""

from __future__ import annotations

import csv
import io
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tenfold.cli.options import (
    DataOptions,
    DataPath,
    ModelPath,
    option,
    output_file,
    scoring_model,
)
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

    A model of one class (a verifier) gives one score per sample and whether it is accepted. A model
    of all classes (a bank) gives a score per class, minus the distance from its mean in units of
    its spread, and the class with the highest. plda gives a probability per class.

    Example: tenfold score s7.safetensors faces -o scores.csv
    """
    import numpy as np

    from tenfold.decisions.scores import scores_and_decisions
    from tenfold.system.atomic_write import write_whole

    if output is not None:
        output_file(output, ".csv", ".parquet", inputs=(model, data))
        if output.suffix.lower() == ".parquet":
            _pyarrow()
    estimator = scoring_model(model)
    samples = data_options.load_for(estimator, data)
    columns = {"sample": np.asarray(samples.sample_info.get("file", np.arange(len(samples))))}
    if samples.y is not None:
        columns["label"] = np.asarray(samples.y)
    columns |= scores_and_decisions(estimator, samples.X)
    facts: dict[str, Any] = {"model": model, "data": data, "samples": len(samples)}
    if output is None:
        return Outcome({**facts, "columns": columns}, [as_csv(columns).rstrip("\n")])
    parquet = output.suffix.lower() == ".parquet"
    write_whole(output, _as_parquet(columns) if parquet else as_csv(columns).encode("utf-8"))
    counts = _counts(columns)
    facts |= {"output": output, "decisions": counts}
    word = "class " if "decision" in columns else ""
    decided = "".join(f"; {word}{name}: {count} samples" for name, count in counts.items())
    return Outcome(facts, [f"wrote {output}: {len(samples)} samples{decided}"])


def as_csv(columns: dict[str, Array]) -> str:
    """Columns as CSV with a row of names; numbers in full precision.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.cli.score import as_csv
    >>> print(as_csv({"sample": np.array([0]), "score": np.array([-0.1])}), end="")
    sample,score
    0,-0.1
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))
    return text.getvalue()


def _as_parquet(columns: dict[str, Array]) -> bytes:
    pyarrow = _pyarrow()
    stream = io.BytesIO()
    table = pyarrow.table({name: column.tolist() for name, column in columns.items()})
    pyarrow.parquet.write_table(table, stream)
    return stream.getvalue()


def _pyarrow() -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError(
            'Parquet files need pyarrow: pip install "tenfold[data]", or write a .csv'
        ) from error
    return pyarrow


def _counts(columns: dict[str, Array]) -> dict[str, int]:
    """How often each decision was made; nothing for a projector, which only scores."""
    if "accepted" in columns:
        named = ["accepted" if one else "rejected" for one in columns["accepted"].tolist()]
    else:
        named = [str(one) for one in columns["decision"].tolist()] if "decision" in columns else []
    return dict(Counter(named).most_common())
