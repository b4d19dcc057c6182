"""Scores as tables, in CSV and Parquet files: the only module that imports pyarrow."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np

from tenfold.datasets import TensorDataset
from tenfold.decisions.classifier import ClassSpecificClassifier
from tenfold.mathematics.algebra import Array
from tenfold.plots.fitted import in_blocks
from tenfold.system.atomic_write import write_whole

Columns = dict[str, Array]


def scored(model: Any, data: TensorDataset) -> Columns:
    """Scores and decisions of every sample, by name of column.

    Parameters
    ----------
    model : bank, verifier or class-specific projector
        Fitted.
    data : TensorDataset
        Samples, with labels or without.

    Returns
    -------
    dict of str to ndarray of shape (n,)
        ``sample`` (file, or row), ``label`` if there are labels, ``score`` and ``accepted`` of a
        verifier; ``decision`` and one score per class of a bank.
    """
    names = data.sample_info.get("file", np.arange(len(data)))
    columns: Columns = {"sample": np.asarray(names)}
    if data.y is not None:
        columns["label"] = np.asarray(data.y)
    if isinstance(model, ClassSpecificClassifier):
        distances = in_blocks(model.distances, data.X)
        columns["decision"] = _decisions(model, data, distances)
        scores = {f"score {c}": -distances[:, k] for k, c in enumerate(model.classes_.tolist())}
        return columns | scores
    columns["score"] = in_blocks(model.decision_function, data.X)
    if hasattr(model, "threshold_"):
        columns["accepted"] = columns["score"] >= model.threshold_
    return columns


def _decisions(model: ClassSpecificClassifier, data: TensorDataset, distances: Array) -> Array:
    if hasattr(model, "classifier_"):
        return in_blocks(model.predict, data.X)
    return np.asarray(model.classes_[distances.argmin(axis=1)])


def write_scores(path: Path, columns: Columns) -> None:
    """Write columns to a .csv or .parquet file, whole or not at all."""
    parquet = path.suffix.lower() == ".parquet"
    write_whole(path, _as_parquet(columns) if parquet else as_csv(columns).encode("utf-8"))


def as_csv(columns: Columns) -> str:
    """Columns as CSV with a row of names; numbers in full precision.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.cli.score_files import as_csv
    >>> print(as_csv({"sample": np.array([0]), "score": np.array([-0.1])}), end="")
    sample,score
    0,-0.1
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))
    return text.getvalue()


def check_parquet(path: Path) -> None:
    """Complain before the work if the file is to be Parquet and pyarrow is missing."""
    if path.suffix.lower() == ".parquet":
        _pyarrow()


def _as_parquet(columns: Columns) -> bytes:
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
