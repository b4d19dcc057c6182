"""Flat rows in Parquet files: the only module here that imports pyarrow."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tenfold.datasets.locations import existing_path, reading
from tenfold.datasets.named_arrays import Order
from tenfold.datasets.sizes import check_memory
from tenfold.datasets.table_columns import chosen_columns, label_position, rows_dataset
from tenfold.datasets.tensor_dataset import TensorDataset


def load_parquet(
    path: str | os.PathLike[str],
    *,
    sample_shape: Sequence[int] | None = None,
    label_column: str | int | None = None,
    order: Order = "C",
    labels: Any = None,
    labelled: bool = True,
    columns: Sequence[str] | None = None,
) -> TensorDataset:
    """Read a Parquet file with one sample per row and a column of labels.

    The samples are all columns of numbers but the labels, or a single column of lists.

    Parameters
    ----------
    path : path
        The file.
    sample_shape : sequence of int or None, default=None
        Shape to fold the rows into; None keeps vectors.
    label_column : str, int or None, default=None
        Name or position of the labels; None takes the column named y, gnd, label(s), target(s) or
        class(es).
    order : {"C", "F"}, default="C"
        Whether rows hold their sample row by row or column by column.
    labels : array-like of shape (n,), path or None, default=None
        Labels that are not in this file: one per row, or a file that holds them.
    labelled : bool, default=True
        False gives no labels, and leaves `label_column` out where one is given.
    columns : sequence of str or None, default=None
        Names of the columns of numbers, in this order; None takes all but the labels.

    Returns
    -------
    TensorDataset
        X of shape (n, I_1, ..., I_K) or (n, I), y the labels.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import pyarrow, pyarrow.parquet
    >>> from tenfold.datasets import load_parquet
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "toy.parquet"
    >>> table = pyarrow.table({"label": ["up", "down"], "a": [1.0, 5.0], "b": [2.0, 6.0]})
    >>> pyarrow.parquet.write_table(table, path)
    >>> load_parquet(path)
    TensorDataset 'toy': 2 samples of 2 (float64), 2 classes
    """
    source = existing_path(path, "a Parquet file")
    inside = labelled and labels is None
    table = _read(source)
    names = list(table.column_names)
    column, features = chosen_columns(source, label_column, names, len(names), inside, columns)
    X = _numbers(source, table, features)
    given = labels if column is None or not inside else _labels(source, table, column)
    return rows_dataset(
        source, X, given if labelled else None, sample_shape, order, names, features
    )


def parquet_column(source: Path, name: str | None) -> list[Any]:
    """The labels of a Parquet file: the column of this name, the only one, or one named so."""
    table = _read(source)
    names = list(table.column_names)
    if name is None and len(names) == 1:
        return _labels(source, table, 0)
    return _labels(source, table, label_position(source, name, names, len(names)))


def _read(source: Path) -> Any:
    arrow = _pyarrow()
    damage = (arrow.ArrowException, ValueError, OSError, TypeError, LookupError, RuntimeError)
    with reading(source, "Parquet file", *damage):
        with arrow.parquet.ParquetFile(source, page_checksum_verification=True) as file:
            facts = file.metadata
            check_memory(source, "the table", 8 * facts.num_rows * facts.num_columns)
            table = file.read(use_threads=False, use_pandas_metadata=False)
        table.validate(full=True)
        if not table.num_rows or not table.num_columns:
            raise ValueError(f"{source} has no rows; expected one sample per row")
        return table


def _numbers(source: Path, table: Any, columns: list[int]) -> np.ndarray:
    """The columns side by side; a single column of lists gives their elements."""
    arrow = _pyarrow()
    found = [table.column(i) for i in columns]
    if not found:
        raise ValueError(f"{source} has no columns of numbers beside the labels")
    kinds = arrow.types
    if len(found) == 1 and (
        kinds.is_list(found[0].type)
        or kinds.is_large_list(found[0].type)
        or kinds.is_fixed_size_list(found[0].type)
    ):
        return _lists(source, table.column_names[columns[0]], found[0])
    arrays = []
    for i, column in zip(columns, found, strict=True):
        name, kind = table.column_names[i], column.type
        if not (kinds.is_integer(kind) or kinds.is_floating(kind) or kinds.is_boolean(kind)):
            raise ValueError(
                f"{source}: column {name!r} holds {kind}, not numbers; leave it out, or name it as "
                "the labels with label_column"
            )
        if column.null_count:
            raise ValueError(
                f"{source}: column {name!r} lacks {column.null_count} of {len(column)} numbers; "
                "fill them, or leave out these rows"
            )
        arrays.append(column.to_numpy())
    check_memory(source, "the table", 8 * len(arrays) * len(arrays[0]))
    stacked: np.ndarray = np.column_stack(arrays)
    return stacked


def _lists(source: Path, name: str, column: Any) -> np.ndarray:
    rows = column.to_pylist()
    sizes = {None if row is None else len(row) for row in rows}
    if len(sizes) != 1 or None in sizes:
        raise ValueError(f"{source}: the lists of column {name!r} differ in length, or lack")
    try:
        return np.array(rows, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{source}: column {name!r} holds lists of other than numbers") from error


def _labels(source: Path, table: Any, column: int) -> list[Any]:
    name, values = table.column_names[column], table.column(column).to_pylist()
    absent = sum(value is None for value in values)
    if absent:
        raise ValueError(f"{source}: column {name!r} lacks {absent} of {len(values)} labels")
    if not all(isinstance(value, (str, int, float)) for value in values):
        raise ValueError(f"{source}: column {name!r} holds neither texts nor numbers")
    return values


def _pyarrow() -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError('Parquet files need pyarrow: pip install "tenfold[data]"') from error
    return pyarrow
