"""Flat rows in a CSV file."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tenfold.datasets.label_values import LABEL_NAMES
from tenfold.datasets.locations import existing_path, short
from tenfold.datasets.named_arrays import Order
from tenfold.datasets.table_columns import ROW_NUMBER_NAMES, chosen_columns, rows_dataset
from tenfold.datasets.tensor_dataset import TensorDataset

MANY = 4  # so many numbers 0, 1, 2, ... in the first row are names that pandas gave


def load_csv(
    path: str | os.PathLike[str],
    *,
    sample_shape: Sequence[int] | None = None,
    label_column: str | int | None = None,
    order: Order = "C",
    delimiter: str | None = None,
    header: bool | None = None,
    labels: Any = None,
    labelled: bool = True,
    columns: Sequence[str] | None = None,
) -> TensorDataset:
    r"""Read a CSV file with one flat sample per row and a column of labels.

    A first column without a name, as R and pandas write row numbers, is left out.

    Parameters
    ----------
    path : path
        The file, UTF-8.
    sample_shape : sequence of int or None, default=None
        Shape to fold the rows into; None keeps vectors.
    label_column : str, int or None, default=None
        Name or position (-1: last) of the labels; None: the column named y, gnd, label or the like.
    order : {"C", "F"}, default="C"
        Whether rows hold their sample row by row or column by column.
    delimiter : str or None, default=None
        What separates cells; None: a tab in .tsv files, else a comma.
    header : bool or None, default=None
        Whether the first row holds names. None: if no cell is a number, or they are 0, 1, 2, ...
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
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "toy.csv"
    >>> _ = path.write_text("label,a,b,c,d\nup,1,2,3,4\ndown,5,6,7,8\n")
    >>> load_csv(path, sample_shape=(2, 2)).X[0].tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    source, inside = existing_path(path, "a CSV file"), labelled and labels is None
    by_name = isinstance(label_column, str) or (inside and label_column is None) or bool(columns)
    names, rows = _read_rows(source, delimiter, header, by_name, label_column)
    wide = len(names or rows[0].cells)
    column, features = chosen_columns(source, label_column, names, wide, inside, columns)
    given = [row.cells[column] for row in rows] if inside and column is not None else labels
    X = np.array([_numbers(source, row, features) for row in rows])
    return rows_dataset(
        source, X, given if labelled else None, sample_shape, order, names, features
    )


class _Row(NamedTuple):
    line: int
    cells: list[str]


def _read_rows(
    source: Path,
    delimiter: str | None,
    header: bool | None,
    by_name: bool,
    label_column: str | int | None,
) -> tuple[list[str] | None, list[_Row]]:
    """The names of the columns, where there are any, and the rows below."""
    rows = list(_rows(source, delimiter))
    if not rows:
        raise ValueError(f"{source} is empty; expected one flat sample per row")
    _check_delimiter(source, rows[0].cells)
    if header is None:
        header = _has_names(source, rows, by_name, label_column)
    names = rows.pop(0).cells if header else None
    if not rows:
        raise ValueError(f"{source} has a row of names and no samples below it")
    _check_widths(source, rows, len(names or rows[0].cells))
    return names, rows


def _has_names(
    source: Path, rows: list[_Row], by_name: bool, label_column: str | int | None
) -> bool:
    """Whether the first row holds names; a ValueError when it may as well be a sample."""
    cells = rows[0].cells
    numbers = [cell for cell in cells if _is_number(cell)]
    counted = numbers == [str(i) for i in range(len(numbers))]
    if not numbers or any(cell.strip() in ROW_NUMBER_NAMES for cell in cells[:1]):
        return True
    if isinstance(label_column, str):
        return True  # labels are found by name, so there must be names
    column = label_column if isinstance(label_column, int) else _named_labels(cells)
    repeated = column is not None and _repeats(rows, column)
    if not counted:  # 400,410,label are names; 5.1,3.5,y is a sample if y comes again
        sure = repeated or not by_name or column is None
        if sure or cells[column].strip().lower() != "y":
            return not sure
    elif repeated:
        return False
    elif by_name or len(numbers) >= MANY:
        return True
    shown = ", ".join(map(short, cells[:6]))
    raise ValueError(
        f"{source}: the first row, {shown}, may be names or a sample; pass "
        "header=True or header=False"
    )


def _named_labels(cells: list[str]) -> int | None:
    """Position of the only cell that is a name of labels."""
    found = [i for i, cell in enumerate(cells) if cell.strip().lower() in LABEL_NAMES]
    return found[0] if len(found) == 1 else None


def _repeats(rows: list[_Row], column: int) -> bool:
    """Whether the text in the column of labels occurs again below, as a label would."""
    first = rows[0].cells
    if not -len(first) <= column < len(first) or _is_number(first[column]):
        return False
    below = (row.cells for row in rows[1:] if len(row.cells) == len(first))
    return any(cells[column] == first[column] for cells in below)


def _rows(source: Path, delimiter: str | None) -> Iterator[_Row]:
    """Line number and cells of every row that is not blank."""
    separator = _separator(source, delimiter)
    with source.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.reader(file, delimiter=separator)
        try:
            for cells in reader:
                if cells:
                    yield _Row(reader.line_num, cells)
        except UnicodeDecodeError as error:
            raise ValueError(f"{source} is not UTF-8 text; save it as UTF-8") from error
        except csv.Error as error:
            raise ValueError(f"{source}, row {reader.line_num + 1}: {error}") from error


def _separator(source: Path, delimiter: str | None) -> str:
    if delimiter is None:
        return "\t" if source.suffix.lower() == ".tsv" else ","
    separator = "\t" if delimiter == r"\t" else delimiter  # as it is typed in a shell
    if not isinstance(separator, str) or len(separator) != 1 or separator in '"\r\n':
        raise ValueError(
            f"delimiter is {delimiter!r}; expected one character that separates cells, such as ';'"
        )
    return separator


def _check_delimiter(source: Path, cells: list[str]) -> None:
    """Refuse rows that another delimiter would cut."""
    other = next((mark for mark in ";\t," if mark in cells[0]), None)
    if len(cells) == 1 and other is not None:
        raise ValueError(
            f"{source} has one column, and a {other!r} in its first cell; if that separates the "
            f"cells, pass delimiter={other!r}"
        )


def _check_widths(source: Path, rows: list[_Row], width: int) -> None:
    for line, cells in rows:
        if len(cells) != width:
            raise ValueError(f"{source}, row {line}: {len(cells)} cells; expected {width}")


def _numbers(source: Path, row: _Row, columns: list[int]) -> np.ndarray:
    cells = [row.cells[i] for i in columns]
    try:
        return np.array(cells, dtype=np.float64)
    except ValueError:
        wrong = next(cell for cell in cells if not _is_number(cell))
        raise ValueError(f"{source}, row {row.line}: {short(wrong)!r} is not a number") from None


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
