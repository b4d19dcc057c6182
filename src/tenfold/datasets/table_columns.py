"""Which columns of a table are the labels, the numbers, and neither."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tenfold.datasets.label_files import read_labels
from tenfold.datasets.label_values import LABEL_NAMES, as_labels
from tenfold.datasets.locations import short
from tenfold.datasets.named_arrays import Order, check_count, fold_rows
from tenfold.datasets.tensor_dataset import TensorDataset

ROW_NUMBER_NAMES = ("", "Unnamed: 0", "__index_level_0__")  # of a column that R or pandas wrote


def chosen_columns(
    source: Path,
    label_column: str | int | None,
    header: list[str] | None,
    width: int,
    labels_inside: bool,
    columns: Sequence[str] | None = None,
) -> tuple[int | None, list[int]]:
    """The column of labels, if one is looked for or named, and those of numbers."""
    asked = labels_inside or label_column is not None
    column = label_position(source, label_column, header, width) if asked else None
    if columns is not None:
        return column, named_positions(source, header, columns)
    return column, feature_positions(source, header, width, column)


def named_positions(source: Path, header: list[str] | None, columns: Sequence[str]) -> list[int]:
    """Where the columns of these names are, in the order of the names."""
    names = [name.strip() for name in header or []]
    wanted = [columns] if isinstance(columns, str) else list(columns)
    absent = [str(name) for name in wanted if names.count(name) != 1]
    if absent or not wanted:
        shown = ", ".join(map(short, absent[:8])) + (", ..." if len(absent) > 8 else "")
        there = ", ".join(map(short, names[:8])) + (", ..." if len(names) > 8 else "")
        raise ValueError(
            f"{source} has no column, or more than one, of these names: {shown}; it has "
            f"{there or 'no names'}; rename its columns"
        )
    return [names.index(name) for name in wanted]


def rows_dataset(
    source: Path,
    X: np.ndarray,
    labels: Any,
    sample_shape: Sequence[int] | None,
    order: Order,
    names: list[str] | None = None,
    features: Sequence[int] = (),
) -> TensorDataset:
    """Flat rows and their labels (values, a path, or None for none) as a data set."""
    y = None
    if labels is not None:
        y = as_labels(labels) if isinstance(labels, list) else read_labels(labels)
        check_count(source, len(X), y)
    return TensorDataset(
        fold_rows(X, sample_shape, order, source),
        y,
        name=source.stem,
        description=f"Rows of {source.name}.",
        reading={} if names is None else {"columns": tuple(names[i].strip() for i in features)},
    )


def label_position(
    source: Path, label_column: str | int | None, header: list[str] | None, width: int
) -> int:
    """Which column holds the labels.

    Parameters
    ----------
    source : Path
        The file, for messages.
    label_column : str, int or None
        What the user says.
    header : list of str or None
        Names of the columns, where there are any.
    width : int
        Number of columns.
    """
    if isinstance(label_column, int) and not isinstance(label_column, bool):
        if not -width <= label_column < width:
            raise ValueError(f"{source} has {width} columns, so there is no column {label_column}")
        return label_column % width
    names = [name.strip() for name in header or []]
    wanted = LABEL_NAMES if label_column is None else (label_column,)
    found = [i for i, n in enumerate(names) if (n.lower() if label_column is None else n) in wanted]
    if len(found) != 1:
        shown = ", ".join(map(short, names[:8])) + (", ..." if len(names) > 8 else "")
        columns = f"columns {shown}" if names else f"{width} columns without names"
        raise ValueError(
            f"cannot tell which column of {source} holds the labels: it has {columns}; pass "
            "label_column=NAME or a position (-1 is the last), labels=FILE, or labelled=False"
        )
    return found[0]


def feature_positions(
    source: Path, header: list[str] | None, width: int, column: int | None
) -> list[int]:
    """Every column but those of labels and row numbers; by its name, none may hold labels."""
    features = [i for i in range(width) if i != column]
    if header is None:
        return features
    names = [name.strip() for name in header]
    if names[0] in ROW_NUMBER_NAMES and column != 0:
        features = features[1:]
    for i in features:
        if not names[i]:
            raise ValueError(f"{source}: column {i} has no name; give it one, or remove it")
        if names[i].lower() in LABEL_NAMES:
            skip = f"pass label_column={i} to leave it out"
            remedy = skip if column is None else "remove it"
            raise ValueError(
                f"{source} has a column {short(names[i])!r} among the numbers, which is a name of "
                f"labels; {remedy}, or rename it if it is a feature"
            )
    return features
