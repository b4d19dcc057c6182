"""Flat rows in a CSV file."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tenfold.datasets.locations import existing_path
from tenfold.datasets.named_arrays import LABEL_NAMES, Order, as_labels, fold_rows
from tenfold.datasets.tensor_dataset import TensorDataset

ROW_NUMBER_NAMES = ("", "Unnamed: 0")  # of a first column that R or pandas wrote


def load_csv(
    path: str | os.PathLike[str],
    *,
    sample_shape: Sequence[int] | None = None,
    label_column: str | int | None = None,
    order: Order = "C",
    delimiter: str | None = None,
    labelled: bool = True,
) -> TensorDataset:
    r"""Read a CSV file with one flat sample per row and a column of labels.

    The first row holds names when the labels are found by name, when none of its cells is a number,
    or when its numbers are 0, 1, 2, ..., as pandas names columns that have no names. A first column
    without a name (or "Unnamed: 0"), where R and pandas write row numbers, is left out.

    Parameters
    ----------
    path : path
        The file, UTF-8.
    sample_shape : sequence of int or None, default=None
        Shape to fold the rows into; None keeps vectors.
    label_column : str, int or None, default=None
        Name or position of the labels (-1 is the last column); None takes the column named y, gnd,
        label(s), target(s) or class(es). Another column of such a name is refused as a feature.
    order : {"C", "F"}, default="C"
        Whether rows hold their sample row by row or column by column.
    delimiter : str or None, default=None
        What separates cells; None: a tab in .tsv files, else a comma.
    labelled : bool, default=True
        False gives no labels, and leaves `label_column` out where one is given.

    Returns
    -------
    TensorDataset
        X of shape (n, I_1, ..., I_K) or (n, I), y the labels.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from tenfold.datasets import load_csv
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "toy.csv"
    >>> _ = path.write_text("label,a,b,c,d\nup,1,2,3,4\ndown,5,6,7,8\n")
    >>> data = load_csv(path, sample_shape=(2, 2))
    >>> data.X[0].tolist(), data.y.tolist()
    ([[1.0, 2.0], [3.0, 4.0]], ['up', 'down'])
    """
    source = existing_path(path, "a CSV file")
    by_name = isinstance(label_column, str) or (labelled and label_column is None)
    header, rows = _read_rows(source, delimiter, by_name)
    width = len(header or rows[0].cells)
    named = labelled or label_column is not None
    column = _label_position(source, label_column, header, width) if named else None
    features = _feature_positions(source, header, width, column)
    X = np.array([_numbers(source, row, features) for row in rows])
    return TensorDataset(
        fold_rows(X, sample_shape, order, source),
        _labels(rows, column) if labelled else None,
        name=source.stem,
        description=f"Rows of {source.name}.",
    )


class _Row(NamedTuple):
    line: int
    cells: list[str]


def _read_rows(
    source: Path, delimiter: str | None, by_name: bool
) -> tuple[list[str] | None, list[_Row]]:
    """The names of the columns, where there are any, and the rows below."""
    rows = list(_rows(source, delimiter))
    if not rows:
        raise ValueError(f"{source} is empty; expected one flat sample per row")
    _check_delimiter(source, rows[0].cells)
    header = rows.pop(0).cells if by_name or _are_names(rows[0].cells) else None
    if not rows:
        raise ValueError(f"{source} has a row of names and no samples below it")
    _check_widths(source, rows, len(header or rows[0].cells))
    return header, rows


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


def _are_names(cells: list[str]) -> bool:
    numbers = [cell for cell in cells if _is_number(cell)]
    return not numbers or numbers == [str(i) for i in range(len(numbers))]


def _label_position(
    source: Path, label_column: str | int | None, header: list[str] | None, width: int
) -> int:
    if isinstance(label_column, int):
        if not -width <= label_column < width:
            raise ValueError(f"{source} has {width} columns, so there is no column {label_column}")
        return label_column % width
    names = [name.strip() for name in header or []]
    wanted = LABEL_NAMES if label_column is None else (label_column,)
    found = [i for i, n in enumerate(names) if (n.lower() if label_column is None else n) in wanted]
    if len(found) != 1:
        shown = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
        columns = f"columns {shown}" if names else f"{width} columns without names"
        raise ValueError(
            f"cannot tell which column of {source} holds the labels: it has {columns}; pass "
            "label_column=NAME or a position (-1 is the last), or labelled=False"
        )
    return found[0]


def _feature_positions(
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
            raise ValueError(
                f"{source} has a column {names[i]!r} among the numbers, which is a name of labels; "
                f"{skip if column is None else 'remove it'}, or rename it if it is a feature"
            )
    return features


def _check_widths(source: Path, rows: list[_Row], width: int) -> None:
    for line, cells in rows:
        if len(cells) != width:
            raise ValueError(f"{source}, row {line}: {len(cells)} cells; expected {width}")


def _labels(rows: list[_Row], column: int | None) -> np.ndarray | None:
    return None if column is None else as_labels([cells[column] for _, cells in rows])


def _numbers(source: Path, row: _Row, columns: list[int]) -> np.ndarray:
    cells = [row.cells[i] for i in columns]
    try:
        return np.array(cells, dtype=np.float64)
    except ValueError:
        wrong = next(cell for cell in cells if not _is_number(cell))
        raise ValueError(f"{source}, row {row.line}: {wrong!r} is not a number") from None


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
