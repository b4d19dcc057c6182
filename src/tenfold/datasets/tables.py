"""Tables with a sample per row, by pandas: the only module here that imports it.

CSV and its kin, and sheets of Excel, are read as text, so that labels such as 007 stay what they
are; columns of numbers are made of it afterwards. Parquet and ARFF say themselves what is a number.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from tenfold.datasets.label_values import LABEL_NAMES, as_labels
from tenfold.datasets.locations import reading, short, shortened
from tenfold.datasets.named_arrays import Order, check_count, fold_rows
from tenfold.datasets.tensor_dataset import TensorDataset

GAPS = ("", "?", "na", "n/a", "nan", "null", "none")  # in small letters
ROW_NUMBER_NAMES = ("", "Unnamed: 0", "__index_level_0__")  # of a column that R or pandas wrote
MARKS = ("\t", ";", ",", "|")
MANY = 4  # so many numbers 0, 1, 2, ... in the first row are names that pandas gave
COMMA = r"[+-]?(?:\d+,\d*|,\d+)(?:[eE][+-]?\d+)?"  # 0,5
COMMA_GROUPS = r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d*)?"  # 1,234.5
POINT_GROUPS = r"[+-]?\d{1,3}(?:\.\d{3})+(?:,\d*)?"  # 1.234,5


def read_table(
    source: Path,
    *,
    sample_shape: Sequence[int] | None = None,
    label_column: str | int | None = None,
    order: Order = "C",
    delimiter: str | None = None,
    decimal: str | None = None,
    header: bool | None = None,
    labels: np.ndarray | None = None,
    labelled: bool = True,
    columns: Sequence[str] | None = None,
    leave_out: Sequence[str] | None = None,
    groups: str | None = None,
) -> TensorDataset:
    """Rows as samples: the columns of numbers, one of labels, and maybe one of groups."""
    inside = labelled and labels is None
    by_name = isinstance(label_column, str) or (inside and label_column is None) or bool(columns)
    frame, named, notes = table_in(source, delimiter, header, by_name, label_column)
    names = list(map(str, frame.columns))
    asked = inside or label_column is not None
    column = label_position(source, label_column, names, named) if asked else None
    at = None if groups is None else _positions(source, names, [groups])[0]
    by_name = label_column is not None
    chosen = _features(source, names, named, column, columns, leave_out, at, by_name)
    X, more = _numbers(source, frame, chosen, decimal)
    y = labels if labelled else None
    if inside and column is not None:
        y = column_labels(source, frame, column)
    if y is not None:
        check_count(source, len(X), y)
    return TensorDataset(
        fold_rows(X, sample_shape, order, source),
        y,
        name=source.name.partition(".")[0],
        description=_description(source, names, chosen, column if inside else None, label_column),
        reading={"columns": tuple(names[i] for i in chosen)} if named else {},
        notes=(*notes, *more),
        sample_info={} if at is None else {names[at]: column_labels(source, frame, at)},
    )


def _description(
    source: Path, names: list[str], chosen: list[int], label: int | None, told: str | int | None
) -> str:
    columns = f"{len(chosen)} columns of {source.name}: {shortened([names[i] for i in chosen])}"
    if label is None:
        return f"{columns}."
    why = "has a name of labels" if told is None else "was asked for"
    return f"{columns}; labels: column {short(names[label])}, which {why}."


# ── Files ───────────────────────────────────────────────────────────────────────────────────────


def table_in(
    source: Path,
    delimiter: str | None = None,
    header: bool | None = None,
    by_name: bool = True,
    label_column: str | int | None = None,
) -> tuple[Any, bool, tuple[str, ...]]:
    """A table, whether its columns have names, and what is to be said of it."""
    pandas = _pandas()
    suffix = source.suffix.lower()
    if suffix in (".parquet", ".arff"):
        with reading(source, f"{suffix} file"):
            frame = _parquet(source) if suffix == ".parquet" else _arff(source)
        if not frame.size:
            raise ValueError(f"{source} has no rows; expected one sample per row")
        return frame.rename(columns=lambda name: str(name).strip()), True, ()
    notes: tuple[str, ...] = ()
    if suffix in (".xlsx", ".xls"):
        with reading(source, "sheet of Excel"):
            cells = pandas.read_excel(source, header=None, dtype=str, keep_default_na=False)
    else:
        cells, notes = _text_cells(source, delimiter)
    cells = cells[(cells != "").any(axis=1)]
    if not len(cells):
        raise ValueError(f"{source} is empty; expected one flat sample per row")
    if header is None:
        header = _has_names(source, cells, by_name, label_column)
    if header:
        cells.columns = [str(name).strip() for name in cells.iloc[0]]
        cells = cells.iloc[1:]
        if not len(cells):
            raise ValueError(f"{source} has a row of names and no samples below it")
    return cells, header, notes


def _parquet(source: Path) -> Any:
    frame = _pandas().read_parquet(
        source, engine="pyarrow", use_threads=False, page_checksum_verification=True
    )
    return frame.reset_index(drop=True)  # an index is no feature


def _arff(source: Path) -> Any:
    from scipy.io.arff import loadarff

    rows, _ = loadarff(source)
    frame = _pandas().DataFrame(rows)
    texts = [name for name in frame if frame[name].dtype == object]
    return frame.assign(**{name: frame[name].str.decode("utf-8") for name in texts})


def _text_cells(source: Path, delimiter: str | None) -> tuple[Any, tuple[str, ...]]:
    """All cells as text, numbered by line; cells that a row lacks are NaN."""
    with reading(source, "compressed text"):
        packed = source.suffix.lower() == ".gz"
        with gzip.open(source) if packed else source.open("rb") as file:
            data = file.read()
    notes: tuple[str, ...] = ()
    utf16 = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    try:
        text = data.decode("utf-16" if utf16 else "utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
        notes = ("its text is not UTF-8, and was read as Latin-1 (Western European)",)
    if "\0" in text:
        raise ValueError(f"{source} is not text; expected a table with a sample per row")
    with reading(source, "table") if delimiter is None else nullcontext():
        separator = _separator(source, text, delimiter)
    if not text.strip():
        raise ValueError(f"{source} is empty; expected one flat sample per row")
    pandas = _pandas()
    try:
        with reading(source, "table"):
            cells = pandas.read_csv(
                io.StringIO(text.lstrip("\r\n")),
                sep=r"\s+" if separator == " " else separator,
                header=None,
                dtype=object,
                keep_default_na=False,
                skip_blank_lines=False,
            )
    except ValueError as error:
        found = re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", str(error))
        if found is None:
            raise
        wanted, line, saw = found.groups()
        raise ValueError(f"{source}, row {line}: {saw} cells; expected {wanted}") from error
    with reading(source, "table"):
        _refuse_short_rows(source, text, cells, separator)
    return cells, notes


def _refuse_short_rows(source: Path, text: str, cells: Any, separator: str) -> None:
    """Name a row that has fewer cells than the first; pandas fills it up."""
    lines = text.lstrip("\r\n").split("\n")
    for row in cells.index[cells.iloc[:, -1] == ""]:
        if len(lines) - len(cells) in (0, 1) and lines[row].strip() and separator != " ":
            there = len(next(csv.reader([lines[row].rstrip("\r")], delimiter=separator)))
            if there != cells.shape[1]:
                raise ValueError(
                    f"{source}, row {row + 1}: {there} cells; expected {cells.shape[1]}"
                )


def _separator(source: Path, text: str, delimiter: str | None) -> str:
    """What separates cells: as told, else the first mark that cuts all of the first rows alike."""
    if delimiter is not None:
        separator = "\t" if delimiter == r"\t" else delimiter  # as it is typed in a shell
        if not isinstance(separator, str) or len(separator) != 1 or separator in '"\r\n':
            raise ValueError(
                f"delimiter is {delimiter!r}; expected one character that separates cells, such "
                "as ';'"
            )
        return separator
    lines = [line for line in text[: 2**16].splitlines()[:50] if line.strip()][:20]
    marks = {".tsv": "\t"}.get(source.suffix.lower()) or MARKS
    for mark in marks:
        widths = {len(row) for row in csv.reader(lines, delimiter=mark)}
        if len(widths) == 1 and widths != {1}:
            return mark
    spaced = {len(line.split()) for line in lines}
    if ".csv" not in source.suffixes and len(spaced) == 1 and spaced != {1}:
        return " "
    return marks[0] if len(marks) == 1 else ","


def _has_names(source: Path, cells: Any, by_name: bool, label_column: str | int | None) -> bool:
    """Whether the first row holds names; a ValueError when it may as well be a sample."""
    first = [str(cell).strip() for cell in cells.iloc[0]]
    numbers = [cell for cell in first if _is_number(cell)]
    if not numbers or first[0] in ROW_NUMBER_NAMES or isinstance(label_column, str):
        return True
    counted = numbers == [str(i) for i in range(len(numbers))]
    found = [i for i, cell in enumerate(first) if cell.lower() in LABEL_NAMES]
    column = label_column if isinstance(label_column, int) else found[0] if found else None
    width = len(first)
    if column is not None and not -width <= column < width:
        column = None
    label = "" if column is None else first[column]
    repeats = (
        column is not None
        and not _is_number(label)
        and (cells.iloc[1:, column].str.strip() == label).any()
    )
    if not counted:  # 400,410,label are names; 5.1,3.5,y is a sample if y comes again
        sure = repeats or not by_name or column is None
        if sure or label.lower() != "y":
            return not sure
    elif repeats:
        return False
    elif by_name or len(numbers) >= MANY:
        return True
    raise ValueError(
        f"{source}: the first row, {shortened(first, 6)}, may be names or a sample; pass "
        "header=True or header=False"
    )


# ── Columns ─────────────────────────────────────────────────────────────────────────────────────


def label_position(
    source: Path, label_column: str | int | None, names: list[str], named: bool
) -> int:
    """Which column holds the labels."""
    width = len(names)
    if isinstance(label_column, int) and not isinstance(label_column, bool):
        if not -width <= label_column < width:
            raise ValueError(f"{source} has {width} columns, so there is no column {label_column}")
        return label_column % width
    wanted = LABEL_NAMES if label_column is None else (label_column,)
    known = [name.lower() if label_column is None else name for name in names] if named else []
    found = [i for i, name in enumerate(known) if name in wanted]
    if len(found) != 1:
        there = f"columns {shortened(names)}" if named else f"{width} columns without names"
        said = f"{source} has no column {label_column!r}, or several"
        if label_column is None:
            said = f"cannot tell which column of {source} holds the labels"
        raise ValueError(
            f"{said}: it has {there}; pass "
            "label_column=NAME or a position (-1 is the last), labels=FILE, or labelled=False"
        )
    return found[0]


def column_labels(source: Path, frame: Any, column: int) -> np.ndarray:
    """The labels of a column."""
    values = frame.iloc[:, column]
    absent = int(values.isna().sum())
    name = frame.columns[column]
    if absent:
        raise ValueError(f"{source}: column {name!r} lacks {absent} of {len(values)} labels")
    try:
        return as_labels(values.to_numpy(dtype=object, copy=True, na_value=None))
    except ValueError as error:
        raise ValueError(f"{source}: column {name!r}: {error}") from error


def _features(
    source: Path,
    names: list[str],
    named: bool,
    column: int | None,
    columns: Sequence[str] | None,
    leave_out: Sequence[str] | None,
    groups: int | None,
    asked: bool = False,
) -> list[int]:
    """The columns of numbers: as told, else all but labels, groups and row numbers.

    Another name of labels is refused, but for a y beside an x where labels were `asked` for.
    """
    if columns is not None:
        return _positions(source, names, columns)
    left_out = set() if leave_out is None else set(_positions(source, names, leave_out))
    features = [i for i in range(len(names)) if i not in {column, groups, *left_out}]
    if not named:
        return features
    if names[0] in ROW_NUMBER_NAMES:
        features = [i for i in features if i != 0]
    for i in features:
        if not names[i]:
            raise ValueError(f"{source}: column {i} has no name; give it one, or remove it")
        coordinate = asked and names[i] == "y" and "x" in names
        if names[i].lower() in LABEL_NAMES and not coordinate:
            raise ValueError(
                f"{source} has a column {short(names[i])!r} among the numbers, which is a name of "
                f"labels; pass leave_out={names[i]!r}, or columns=NAME,... if it is a feature"
            )
    return features


def _positions(source: Path, names: list[str], wanted: Sequence[str]) -> list[int]:
    """Where the columns of these names are, in the order of the names."""
    if isinstance(wanted, str):
        wanted = [wanted] if wanted in names else wanted.split(",")  # as --read has them
    asked = list(map(str, wanted))
    absent = [name for name in asked if names.count(name) != 1]
    if absent or not asked:
        raise ValueError(
            f"{source} has no column, or more than one, of these names: {shortened(absent)}; it "
            f"has {shortened(names) or 'no names'}; rename its columns"
        )
    return [names.index(name) for name in asked]


def _numbers(
    source: Path, frame: Any, chosen: list[int], decimal: str | None
) -> tuple[np.ndarray, tuple[str, ...]]:
    """The chosen columns side by side, gaps as NaN; a single column of lists gives those."""
    if not chosen:
        raise ValueError(f"{source} has no columns of numbers beside the labels")
    first = frame.iloc[:, chosen[0]]
    if len(chosen) == 1 and first.map(np.ndim).eq(1).all():
        return _lists(source, first), ()
    cells = frame.iloc[:, chosen].to_numpy(dtype=object, copy=True, na_value=np.nan)
    X = np.empty(cells.shape)
    texts = [j for j in range(len(chosen)) if not _converted(cells[:, j], X[:, j])]
    columns = {j: frame.iloc[:, chosen[j]] for j in texts}  # gaps, commas, or no numbers
    comma = decimal or (_decimal(source, list(columns.values())) if texts else ".")
    if comma == ",":  # then 1.234 is a thousand and more, also in columns without a comma
        columns = {j: frame.iloc[:, i] for j, i in enumerate(chosen)}
    for j, column in columns.items():
        X[:, j] = _from_text(source, column, comma)
    return X, _told(frame, chosen, X)


def _converted(cells: np.ndarray, numbers: np.ndarray) -> bool:
    """Whether all cells of a column are plainly written numbers, which are filled in."""
    try:
        numbers[:] = cells
    except (TypeError, ValueError):
        return False
    return True


def _told(frame: Any, chosen: list[int], X: np.ndarray) -> tuple[str, ...]:
    """Notes on gaps, and on columns that number the rows."""
    notes = []
    n_gaps = int(np.isnan(X).sum())
    if n_gaps:
        notes.append(f"{n_gaps} of {X.size} numbers are gaps (blank, NA or ?)")
    counting = [
        str(frame.columns[i]) for j, i in enumerate(chosen) if _numbers_rows(frame, i, X[:, j])
    ]
    if counting:
        notes.append(
            f"column {shortened(counting)} numbers the rows, or names them; pass "
            f"leave_out={','.join(counting)!r} if it is no feature"
        )
    return tuple(notes)


def _numbers_rows(frame: Any, position: int, numbers: np.ndarray) -> bool:
    """Whether a column is likely an identifier: whole numbers that count, or that are called id."""
    if len(numbers) <= 2 * MANY or np.isnan(numbers).any() or (numbers % 1).any():
        return False
    if (np.diff(numbers) == 1).all():
        return True
    words = re.split(r"[^a-z]+|(?<=[a-z])(?=id$)", str(frame.columns[position]).lower())
    return bool({"id", "index", "idx"} & set(words)) and len(np.unique(numbers)) == len(numbers)


def described_columns(
    source: Path, frame: Any, decimal: str | None = None
) -> tuple[list[list[str]], int | None, list[int]]:
    """What every column holds, which is likely the labels, and which are likely no features.

    Returns
    -------
    rows : list of list of str
        Name, what it holds, how many different values, how many gaps.
    label : int or None
        The column named as labels; else that of text with the fewest values that come again; else
        that of whole numbers with the fewest.
    left_out : list of int
        Other columns of text, and columns that number the rows.
    """
    rows, texts, few, counting = [], [], [], []
    for i, name in enumerate(map(str, frame.columns)):
        column = frame.iloc[:, i]
        cells = column.astype(str).str.strip()
        gaps = column.isna() | cells.str.lower().isin(GAPS)
        distinct = cells[~gaps].unique()
        again = 1 < len(distinct) <= max(2, len(cells) // 2) and not gaps.any()
        try:
            numbers = np.asarray(_from_text(source, column, decimal or _decimal(source, [column])))
        except ValueError:
            holds = f"text: {shortened(distinct[:4].tolist())}" + ", ..." * (len(distinct) > 4)
            texts.append(i)
            few += [(0, len(distinct), i)] if again else []
        else:
            counting += [i] if _numbers_rows(frame, i, numbers) else []
            some = not np.isnan(numbers).all()
            span = f"{np.nanmin(numbers):g} to {np.nanmax(numbers):g}" if some else "none"
            holds = f"numbers: {span}"
            few += [(1, len(distinct), i)] if again and not (numbers % 1).any() else []
        rows.append([name, holds, str(len(distinct)), str(int(gaps.sum()))])
    named = [i for i, name in enumerate(frame.columns) if str(name).lower() in LABEL_NAMES]
    label = named[0] if len(named) == 1 else min(few, default=(0, 0, None))[2]
    return rows, label, sorted({*texts, *counting} - {label})


def _decimal(source: Path, columns: list[Any]) -> str:
    """Whether numbers are written 0,5 or 0.5, from all cells with a comma."""
    cells = _pandas().concat(columns).astype(str).str.strip()
    cells = cells[cells.str.contains(",", regex=False)]
    grouped = cells.str.fullmatch(COMMA_GROUPS)
    if not len(cells) or (grouped & cells.str.contains(r"\.|,.*,")).any():
        return "."
    if not (cells.str.fullmatch(COMMA) | cells.str.fullmatch(POINT_GROUPS)).all():
        return "."  # text, which will be named
    if grouped.all():
        raise ValueError(
            f"{source}: {cells.iloc[0]!r} may have a decimal comma or stand for thousands; pass "
            "decimal=',' or decimal='.'"
        )
    return ","


def _from_text(source: Path, column: Any, decimal: str) -> Any:
    """A column of text as numbers; the first cell that is none is named with its row."""
    cells = column.astype(str).str.strip()
    cells = cells.mask(column.isna() | cells.str.lower().isin(GAPS))
    if decimal == ",":
        grouped = cells.str.fullmatch(POINT_GROUPS).fillna(False).astype(bool)
        cells = cells.mask(grouped, cells.str.replace(".", "", regex=False))
        pointed = cells.str.contains(".", regex=False).fillna(False).astype(bool)
        cells = cells.mask(pointed, cells + "?").str.replace(",", ".", regex=False)
    else:
        grouped = cells.str.fullmatch(COMMA_GROUPS).fillna(False).astype(bool)
        cells = cells.mask(grouped, cells.str.replace(",", "", regex=False))
    try:
        return cells.astype(object).astype(float)
    except ValueError:
        wrong = cells.notna() & ~cells.map(_is_number, na_action="ignore").fillna(True).astype(bool)
    line, name = int(wrong.idxmax()), column.name
    raise ValueError(
        f"{source}, row {line + 1}: {short(str(column.loc[line]))!r} is not a number; if the "
        f"column {short(str(name))!r} is no feature, pass leave_out={name!r}, or "
        f"label_column={name!r} for labels"
    )


def _lists(source: Path, column: Any) -> np.ndarray:
    rows = column.tolist()
    if len({len(row) for row in rows}) != 1:
        raise ValueError(f"{source}: the lists of column {column.name!r} differ in length")
    try:
        return np.array(rows, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{source}: column {column.name!r} holds lists of no numbers") from error


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _pandas() -> Any:
    try:
        import pandas
    except ImportError as error:
        raise ImportError('tables need pandas: pip install "tenfold[data]"') from error
    return pandas
