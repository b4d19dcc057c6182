"""``tenfold transform``: the features of samples, for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from tenfold.cli.columns import check_writable, write_arrays, write_columns
from tenfold.cli.data_options import DataOptions, DataPath
from tenfold.cli.options import ModelPath, load_model, option, output_file
from tenfold.cli.output import Outcome

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
    from tenfold.decisions.features import features_of

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
