"""``tenfold score`` and ``tenfold transform``: scores, decisions and features as tables."""

from __future__ import annotations

import csv
import io
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tenfold.app.cli.command import Outcome
from tenfold.app.cli.data_options import DataOptions, DataPath
from tenfold.app.cli.options import ModelPath, load_model, option, output_file, scoring_model
from tenfold.system.extras import needed
from tenfold.system.tables import visible

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
    from tenfold.datasets.locations import natural_key
    from tenfold.decisions.scores import scores_and_decisions

    if output is not None:
        output_file(output, ".csv", ".parquet", inputs=(model, data))
        check_writable(output)
    stored = scoring_model(model)
    samples = data_options.load_for(stored, data, labels_needed=False)
    columns = {"sample": samples.sample_names}
    if samples.y is not None:
        columns["label"] = samples.y
    found = scores_and_decisions(stored.estimator, samples.X)
    first = [name for name in ("decision", "score", "accepted") if name in found]
    per_class = sorted(found.keys() - set(first), key=natural_key)
    columns |= {name: found[name] for name in [*first, *per_class]}
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
    from tenfold.datasets.locations import natural_key

    return dict(sorted(Counter(named).items(), key=lambda one: natural_key(one[0])))


TABLES, ARRAYS = (".csv", ".parquet"), (".npy", ".npz")


def transform(
    model: ModelPath,
    data: DataPath,
    *,
    output: Annotated[
        Path, option("-o", "--output", metavar="FILE", text=".parquet, .csv, .npy or .npz.")
    ],
    data_options: DataOptions,
) -> Outcome:
    """Write the features of samples, for other programs.

    Features are the numbers of the learned subspace; of plda its coordinates, the most telling
    first; of a bank the distance from the mean of every class. Tables also hold the file or row
    number of each sample, and its label where there is one.

    Example: tenfold transform s7.safetensors faces -o features.csv
    """
    from tenfold.decisions.scores import features_of

    output_file(output, *TABLES, *ARRAYS, inputs=(model, data))
    check_writable(output)
    stored = load_model(model)
    samples = data_options.load_for(stored, data, labels_needed=False)
    names, features = features_of(stored.estimator, samples.X)
    about: dict[str, Any] = {"sample": samples.sample_names}
    if samples.y is not None:
        about["label"] = samples.y
    if output.suffix.lower() in TABLES:
        columns = dict(zip(names, features.T, strict=True))
        write_columns(output, {**about, **columns})
    else:
        y = {} if samples.y is None else {"y": samples.y}
        write_arrays(output, {"X": features, **y, "sample": about["sample"]})
    facts = {
        "model": model,
        "data": data,
        "output": output,
        "samples": len(samples),
        "features": len(names),
    }
    return Outcome(facts, [f"wrote {output}: {len(samples)} samples of {len(names)} features"])


FORMULA_SIGNS = tuple("=+-@＝＋－＠")  # also as East Asian keyboards write them


def check_writable(output: Path) -> None:
    """Complain before the work if what writes this form of file is missing."""
    if output.suffix.lower() == ".parquet":
        _pyarrow()


def write_columns(output: Path, columns: dict[str, Array]) -> None:
    """Write columns to a .csv or .parquet file, by the ending of its name."""
    from tenfold.system.atomic_write import write_whole

    parquet = output.suffix.lower() == ".parquet"
    write_whole(output, _as_parquet(columns) if parquet else as_csv(columns).encode("utf-8"))


def write_arrays(output: Path, arrays: dict[str, Array]) -> None:
    """Write arrays to a .npz file, or the first of them to a .npy file."""
    import numpy as np

    from tenfold.system.atomic_write import write_whole

    stream = io.BytesIO()
    if output.suffix.lower() == ".npz":
        np.savez(stream, allow_pickle=False, **arrays)
    else:
        np.save(stream, next(iter(arrays.values())), allow_pickle=False)
    write_whole(output, stream.getvalue())


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


def _harmless(value: Any) -> Any:
    """A value that a spreadsheet shows and does not run."""
    if not isinstance(value, str):
        return value
    text = visible(value)
    return f"'{text}" if text.startswith(FORMULA_SIGNS) and not _is_number(text) else text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _as_parquet(columns: dict[str, Array]) -> bytes:
    pyarrow = _pyarrow()
    stream = io.BytesIO()
    table = pyarrow.table({name: column.tolist() for name, column in columns.items()})
    pyarrow.parquet.write_table(table, stream)
    return stream.getvalue()


def _pyarrow() -> Any:
    with needed("Parquet files need pyarrow, a .csv does not", "data"):
        import pyarrow
        import pyarrow.parquet
    return pyarrow
