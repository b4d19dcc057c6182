"""Tables with a sample per row.

Text such as CSV, and sheets of Excel, are read as text, so that labels such as 007 stay what they
are; columns of numbers are made of it afterwards. Parquet and ARFF say themselves what is a number.
The only module here that imports pandas, for sheets and Parquet.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from tenfold.datasets.labels import LABEL_NAMES, as_labels
from tenfold.datasets.locations import naming, reading, short, shortened
from tenfold.datasets.named_arrays import Arrays, in_memory
from tenfold.extras import require_extra
from tenfold.tables import is_number

GAPS = ("", "?", "na", "n/a", "nan", "null", "none")  # in small letters
ROW_NUMBER_NAMES = ("", "Unnamed: 0", "__index_level_0__")  # of a column that R or pandas wrote
MARKS = ("\t", ";", ",", "|")
SPACED = re.compile(r'"([^"]*)"(?!\S)|(\S+)')  # a cell between spaces, which may be quoted
MOST_CATEGORIES = 20  # different texts in a column that is encoded
# Words in names of columns that likely hold labels; those of `LABEL_NAMES` are taken unasked.
LIKELY_LABELS = ("diagnosis", "species", "outcome", "response", "category", "disease", "result")
LIKELY_LABELS += ("label", "labels", "target", "class", "survived", "status", "quality", "grade")
MANY = 4  # so many numbers 0, 1, 2, ... in the first row are names that pandas gave
COMMA = re.compile(r"[+-]?(?:\d+,\d*|,\d+)(?:[eE][+-]?\d+)?")  # 0,5
COMMA_GROUPS = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d*)?")  # 1,234.5
POINT_GROUPS = re.compile(r"[+-]?\d{1,3}(?:\.\d{3})+(?:,\d*)?")  # 1.234,5

Label = str | int | None  # name or position of the column of labels; None finds it


@dataclass(frozen=True)
class Table:
    """The cells of a table.

    Parameters
    ----------
    names : list of str
        Names of the columns, or their positions.
    named : bool
        Whether these are names.
    cells : ndarray of shape (n_rows, n_columns) of objects
        Text, or whatever the file holds; NaN where it holds nothing.
    rows : list of int
        Where the rows are in the file, counted from 1.
    notes : tuple of str
        What is to be said of it.
    """

    names: list[str]
    named: bool
    cells: np.ndarray
    rows: list[int]
    notes: tuple[str, ...] = ()


def open_table(
    source: Path,
    *,
    labels: Label = None,
    labelled: bool = True,
    delimiter: str | None = None,
    decimal: str | None = None,
    header: bool | None = None,
    columns: Sequence[str] | None = None,
    leave_out: Sequence[str] | None = None,
    groups: str | None = None,
    categories: Sequence[Sequence[str]] = (),
) -> Arrays:
    """Rows as samples: the columns of numbers, one of labels, and maybe one of groups.

    A column of text with few values becomes a column of zeros and ones for each value. The values
    are those of `categories`, a name and its values each, where the column is among these.
    """
    labels = _asked(labels)
    by_name = isinstance(labels, str) or (labelled and labels is None) or bool(columns)
    table = _table(source, delimiter, header, by_name, labels)
    column = _label_position(table, labels) if labelled or labels is not None else None
    group = None if groups is None else _positions(table, [groups])[0]
    if columns is not None:
        chosen = _positions(table, columns)
    else:
        left_out = [] if leave_out is None else _positions(table, leave_out)
        chosen = _features(table, {column, group, *left_out}, labels is not None)
    known = {name: list(values) for name, *values in categories}
    X, encoded, notes = _numbers(table, chosen, decimal, known)
    names = [table.names[i] for i in chosen]
    found = {"the numbers": X}
    about = f"{len(chosen)} columns of {source.name}: {shortened(names)}"
    if labelled and column is not None:
        found["the labels"] = _labels(table, column)
        why = "has a name of labels" if labels is None else "was asked for"
        about += f"; labels: column {short(table.names[column])}, which {why}"
    if group is not None:
        found[table.names[group]] = _labels(table, group)
    return in_memory(
        found,
        samples="the numbers",
        labels="the labels" if "the labels" in found else None,
        description=f"{about}.",
        notes=(*table.notes, *notes),
        reading=_told(table, names, encoded),
    )


def _told(table: Table, names: list[str], encoded: Mapping[str, list[str]]) -> dict[str, Any]:
    """What a later reading needs: names of columns, and values of those that are text."""
    told: dict[str, Any] = {"columns": tuple(names)} if table.named else {}
    if encoded:
        told["categories"] = tuple((name, *values) for name, values in encoded.items())
    return told


def read_column(source: Path, name: str | None) -> np.ndarray:
    """The labels in a table of them: the column of this name, the only one, or one named so."""
    table = _table(source, label=name)
    return _labels(table, _label_position(table, name))


def look_at_table(
    source: Path, options: Mapping[str, Any]
) -> tuple[list[str], list[list[str]], list[dict[str, Any]]]:
    """For `contents`: names of columns, what every column holds, and ways to read it.

    Labels are likely the column named so; else one whose name has a word such as diagnosis; else
    the last column, if its values come again; else that of text with the fewest values; else that
    of whole numbers with the fewest. Columns of text with many values, and columns that number the
    rows, are likely no features.
    """
    told = {name: options[name] for name in ("delimiter", "header") if name in options}
    table = _table(source, **told, label=_asked(options.get("labels")))
    rows, texts, few, counting = [], [], [], []
    for i, name in enumerate(table.names):
        cells = [_text(cell) for cell in table.cells[:, i]]
        gaps = sum(cell is None for cell in cells)
        distinct = list(dict.fromkeys(cell for cell in cells if cell is not None))
        again = 1 < len(distinct) <= max(2, len(cells) // 2) and not gaps
        try:
            numbers = _column(table, i, options.get("decimal") or _decimal(cells))
        except ValueError:
            holds = f"text: {shortened(distinct[:4])}" + ", ..." * (len(distinct) > 4)
            texts += [] if _categories(cells) else [i]
            few += [(0, len(distinct), i)] if again else []
        else:
            counting += [i] if _numbers_rows(name, numbers) else []
            some = not np.isnan(numbers).all()
            span = f"{np.nanmin(numbers):g} to {np.nanmax(numbers):g}" if some else "none"
            holds = f"numbers: {span}"
            few += [(1, len(distinct), i)] if again and not (numbers % 1).any() else []
        rows.append([name, holds, str(len(distinct)), str(gaps)])
    label = _likely_label(table, few)
    others = sorted({*texts, *counting} - {label})
    out = {"leave_out": tuple(table.names[i] for i in others)} if others and table.named else {}
    labels: dict[str, Any] = {}
    if label is not None:
        labels = {"labels": table.names[label] if table.named else label}
    none = {"labelled": False}
    ways = [out, labels, {**labels, **out}, {**out, **none}, none]
    return ["column", "holds", "different", "gaps"], rows, ways


def _likely_label(table: Table, few: list[tuple[int, int, int]]) -> int | None:
    """The column that likely holds the labels; None if there is none.

    `few` has, of each column whose values come again, whether it holds numbers, how many values
    differ, and its position.
    """
    named = [i for i, name in enumerate(table.names) if name.lower() in LABEL_NAMES]
    if len(named) == 1:
        return named[0]
    again = {i for _, _, i in few}
    for i in sorted(again, reverse=True):
        words = re.split(r"[^a-z]+", table.names[i].lower())
        if set(words) & set(LIKELY_LABELS):
            return i
    last = len(table.names) - 1
    if last in again:
        return last
    return min(few, default=(0, 0, None))[2]


# ── Files ───────────────────────────────────────────────────────────────────────────────────────


def _table(
    source: Path,
    delimiter: str | None = None,
    header: bool | None = None,
    by_name: bool = True,
    label: Label = None,
) -> Table:
    """The cells of a file, below the names of its columns."""
    suffix = source.suffix.lower()
    if suffix in (".parquet", ".arff"):
        with reading(source, f"{suffix} file"):
            names, cells = _parquet(source) if suffix == ".parquet" else _arff(source)
        if not cells.size:
            raise ValueError("it has no rows; expected one sample per row")
        return Table(names, True, cells, list(range(1, len(cells) + 1)))
    notes: tuple[str, ...] = ()
    if suffix == ".xlsx":
        with reading(source, "sheet of Excel"):
            sheet = _pandas().read_excel(source, header=None, dtype=str, keep_default_na=False)
            lines = dict(enumerate(sheet.to_numpy().tolist(), 1))
    else:
        lines, notes = _lines(source, delimiter)
    rows = [row for row, cells in lines.items() if any(cells)]
    if not rows:
        raise ValueError("it is empty; expected one flat sample per row")
    width = len(lines[rows[0]])
    for row in rows:
        if len(lines[row]) != width:
            raise ValueError(f"row {row}: {len(lines[row])} cells; expected {width}")
    cells = np.array([lines[row] for row in rows], dtype=object)
    if header is None:
        header = _has_names(cells, by_name, label)
    names = [str(name).strip() for name in cells[0]] if header else list(map(str, range(width)))
    if header and len(cells) == 1:
        raise ValueError("it has a row of names and no samples below it")
    return Table(names, header, cells[int(header) :], rows[int(header) :], notes)


def _parquet(source: Path) -> tuple[list[str], np.ndarray]:
    frame = _pandas().read_parquet(
        source, engine="pyarrow", use_threads=False, page_checksum_verification=True
    )  # whose index is no feature
    names = [str(name).strip() for name in frame.columns]
    return names, frame.to_numpy(dtype=object, copy=True, na_value=np.nan)


def _arff(source: Path) -> tuple[list[str], np.ndarray]:
    from scipy.io.arff import loadarff

    found, _ = loadarff(source)
    cells = np.array([[_decoded(cell) for cell in row] for row in found.tolist()], dtype=object)
    return list(found.dtype.names), cells


def _decoded(cell: Any) -> Any:
    return cell.decode("utf-8") if isinstance(cell, bytes) else cell


def _lines(source: Path, delimiter: str | None) -> tuple[dict[int, list[str]], tuple[str, ...]]:
    """The cells of every row of a text, by the number of its line; and what is to be said."""
    text, notes = decoded_text(source)
    if delimiter == r"\t":  # as it is typed in a shell
        delimiter = "\t"
    if delimiter is not None and not re.fullmatch('[^"\r\n]', str(delimiter)):
        raise ValueError(
            f"delimiter is {delimiter!r}; expected one character that separates cells, such as ';'"
        )
    with reading(source, "table"):
        separator = delimiter or _separator(source, text)
        if separator == " ":
            return {row: _spaced(line) for row, line in enumerate(text.splitlines(), 1)}, notes
        return _separated(text, separator), notes


def decoded_text(source: Path) -> tuple[str, tuple[str, ...]]:
    """The text of a file, and what is to be said of its characters."""
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
        raise ValueError(f"{source} is not text; expected a row, or a label, per line")
    return text, notes


def _spaced(line: str) -> list[str]:
    return [quoted or plain for quoted, plain in SPACED.findall(line)]


def _separated(text: str, separator: str) -> dict[int, list[str]]:
    """The cells of every row by the number of its line; a cell may have any length."""
    limit = csv.field_size_limit(max(len(text), 1))
    try:
        ended = chain(io.StringIO(text, newline=""), [""])  # a quote left open takes that line, too
        table = csv.reader(ended, delimiter=separator)
        lines = {number: cells for cells in table if (number := table.line_num)}
    finally:
        csv.field_size_limit(limit)
    if lines.popitem()[1]:
        raise ValueError("a quote is not closed")
    return lines


def _separator(source: Path, text: str) -> str:
    """What separates cells: the first mark that cuts all of the first rows alike."""
    lines = [line for line in text[: 2**16].splitlines()[:50] if line.strip()][:20]
    marks = {".tsv": "\t"}.get(source.suffix.lower()) or MARKS
    for mark in marks:
        widths = {len(row) for row in csv.reader(lines, delimiter=mark)}
        if len(widths) == 1 and widths != {1}:
            return mark
    spaced = {len(_spaced(line)) for line in lines}
    if ".csv" not in source.suffixes and len(spaced) == 1 and spaced != {1}:
        return " "
    return marks[0] if len(marks) == 1 else ","


def _has_names(cells: np.ndarray, by_name: bool, label: Label) -> bool:
    """Whether the first row holds names; a ValueError when it may as well be a sample."""
    first = [str(cell).strip() for cell in cells[0]]
    numbers = [cell for cell in first if is_number(cell)]
    if not numbers or first[0] in ROW_NUMBER_NAMES or isinstance(label, str):
        return True
    named = [i for i, cell in enumerate(first) if cell.lower() in LABEL_NAMES]
    column = next((i for i in ([label] if label is not None else named)), None)
    if column is not None and not -len(first) <= column < len(first):
        column = None
    word = "" if column is None else first[column]
    if word and not is_number(word) and any(str(c).strip() == word for c in cells[1:, column]):
        return False  # 5.1,3.5,y is a sample if y comes again
    if numbers == [str(i) for i in range(len(numbers))]:
        if by_name or len(numbers) >= MANY:
            return True
    elif not by_name or column is None:
        return False
    elif word.lower() != "y":  # 400,410,label are names
        return True
    raise ValueError(
        f"the first row, {shortened(first, 6)}, may be names or a sample; pass header=True or "
        "header=False"
    )


# ── Columns ─────────────────────────────────────────────────────────────────────────────────────


def _asked(label: Label) -> Label:
    """A name, or a position that may be typed as text."""
    typed = isinstance(label, str) and re.fullmatch(r"-?[0-9]+", label)
    return int(label) if label is not None and typed else label


def _label_position(table: Table, label: Label) -> int:
    """Which column holds the labels."""
    width = len(table.names)
    if isinstance(label, int) and not isinstance(label, bool):
        if not -width <= label < width:
            raise ValueError(f"it has {width} columns, so there is no column {label}")
        return label % width
    if label is None and width == 1:
        return 0
    wanted = LABEL_NAMES if label is None else (label,)
    known = [name.lower() if label is None else name for name in table.names]
    found = [i for i, name in enumerate(known) if name in wanted]
    if len(found) != 1 or not table.named:
        there = f"columns {shortened(table.names)}"
        said = f"no column {label!r}, or several"
        if label is None:
            said = "cannot tell which column holds the labels"
        raise ValueError(
            f"{said}: it has {there if table.named else f'{width} columns without names'}; pass "
            "labels=NAME or a position (-1 is the last), labels=FILE, or labelled=False"
        )
    return found[0]


def _labels(table: Table, column: int) -> np.ndarray:
    """The labels of a column."""
    values = table.cells[:, column].copy()
    values[[isinstance(value, float) and np.isnan(value) for value in values]] = None
    with naming(f"column {table.names[column]!r}"):
        return as_labels(values)


def _features(table: Table, without: set[int | None], asked: bool) -> list[int]:
    """The columns of numbers: all but labels, groups, what is left out, and row numbers.

    Another name of labels is refused, but for a y beside an x where labels were `asked` for.
    """
    features = [i for i in range(len(table.names)) if i not in without]
    if not table.named:
        return features
    features = [i for i in features if i or table.names[0] not in ROW_NUMBER_NAMES]
    for i in features:
        name = table.names[i]
        if not name:
            raise ValueError(f"column {i} has no name; give it one, or remove it")
        coordinate = asked and name == "y" and "x" in table.names
        if name.lower() in LABEL_NAMES and not coordinate:
            raise ValueError(
                f"it has a column {short(name)!r} among the numbers, which is a name of labels; "
                f"pass leave_out={name!r}, or columns=NAME,... if it is a feature"
            )
    return features


def _positions(table: Table, wanted: Sequence[str]) -> list[int]:
    """Where the columns of these names are, in the order of the names."""
    if isinstance(wanted, str):
        wanted = [wanted] if wanted in table.names else wanted.split(",")  # as --read has them
    asked = list(map(str, wanted))
    absent = [name for name in asked if table.names.count(name) != 1]
    if absent or not asked:
        raise ValueError(
            f"no column, or more than one, of these names: {shortened(absent)}; it has "
            f"{shortened(table.names) or 'no names'}; rename its columns"
        )
    return [table.names.index(name) for name in asked]


def _numbers(
    table: Table, chosen: list[int], decimal: str | None, known: Mapping[str, list[str]]
) -> tuple[np.ndarray, dict[str, list[str]], tuple[str, ...]]:
    """The chosen columns side by side, gaps as NaN; a single column of lists gives those.

    Besides the numbers: the values of columns of text, by name, and what is to be said.
    """
    if not chosen:
        raise ValueError("it has no columns of numbers beside the labels")
    if len(chosen) == 1 and all(np.ndim(cell) == 1 for cell in table.cells[:, chosen[0]]):
        return _lists(table, chosen[0]), {}, ()
    encoded: dict[str, list[str]] = {}
    blocks: dict[int, np.ndarray] = {}
    notes = []
    for i in chosen:
        name = table.names[i]
        cells = [_text(cell) for cell in table.cells[:, i]]
        values = known.get(name) or _categories(cells)
        if values:
            encoded[name] = values
            blocks[i] = _one_hot(cells, values)
            if name not in known:
                notes.append(
                    f"column {short(name)!r} is text; it became {len(values)} columns of zeros and "
                    f"ones ({shortened(values)}); pass leave_out={name!r} if it is no feature"
                )
            strange = sorted({cell for cell in cells if cell is not None} - set(values))
            if strange:
                notes.append(
                    f"column {short(name)!r} has values that the model does not know "
                    f"({shortened(strange)}); these rows have zeros there"
                )
    plain = [i for i in chosen if i not in blocks]
    X, told = _plain_numbers(table, plain, decimal)
    for j, i in enumerate(plain):
        blocks[i] = X[:, [j]]
    return np.hstack([blocks[i] for i in chosen]), encoded, (*notes, *told)


def _categories(cells: list[str | None]) -> list[str]:
    """The values of a column of text with few of them, sorted; none for any other column."""
    values = sorted({cell for cell in cells if cell is not None})
    few = 1 < len(values) <= min(MOST_CATEGORIES, len(cells) // 2)
    if not few or any(is_number(_pointed(value, mark)) for value in values for mark in ".,"):
        return []
    return values


def _one_hot(cells: list[str | None], values: list[str]) -> np.ndarray:
    """A column of zeros and ones for each value; NaN in all of them for a gap."""
    found = np.array([[float(cell == value) for value in values] for cell in cells])
    found[[cell is None for cell in cells]] = np.nan
    return found


def _plain_numbers(
    table: Table, chosen: list[int], decimal: str | None
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Columns of numbers side by side, gaps as NaN."""
    X = np.empty((len(table.cells), len(chosen)))
    texts = []
    for j, i in enumerate(chosen):
        try:
            X[:, j] = table.cells[:, i]
        except (TypeError, ValueError):
            texts.append(j)  # gaps, commas, or no numbers
    cells = (_text(cell) for j in texts for cell in table.cells[:, chosen[j]])
    comma = decimal or _decimal(cells)
    if comma == ",":  # then 1.234 is a thousand and more, also in columns without a comma
        texts = list(range(len(chosen)))
    for j in texts:
        X[:, j] = _column(table, chosen[j], comma)
    notes = []
    if n_gaps := int(np.isnan(X).sum()):
        notes.append(f"{n_gaps} of {X.size} numbers are gaps (blank, NA or ?)")
    counting = [
        name for j, i in enumerate(chosen) if _numbers_rows(name := table.names[i], X[:, j])
    ]
    if counting:
        notes.append(
            f"column {shortened(counting)} numbers the rows, or names them; pass "
            f"leave_out={','.join(counting)!r} if it is no feature"
        )
    return X, tuple(notes)


def _numbers_rows(name: str, numbers: np.ndarray) -> bool:
    """Whether a column is likely an identifier: whole numbers that count, or that are called id."""
    if len(numbers) <= 2 * MANY or np.isnan(numbers).any() or (numbers % 1).any():
        return False
    if (np.diff(numbers) == 1).all():
        return True
    words = re.split(r"[^a-z]+|(?<=[a-z])(?=id$)", name.lower())
    return bool({"id", "index", "idx"} & set(words)) and len(np.unique(numbers)) == len(numbers)


def _decimal(cells: Any) -> str:
    """Whether numbers are written 0,5 or 0.5, from all cells with a comma."""
    commas = [cell for cell in cells if cell is not None and "," in cell]
    grouped = [cell for cell in commas if COMMA_GROUPS.fullmatch(cell)]
    if not commas or any(re.search(r"\.|,.*,", cell) for cell in grouped):
        return "."
    if not all(COMMA.fullmatch(cell) or POINT_GROUPS.fullmatch(cell) for cell in commas):
        return "."  # text, which will be named
    if len(grouped) == len(commas):
        raise ValueError(
            f"{commas[0]!r} may have a decimal comma or stand for thousands; pass decimal=',' or "
            "decimal='.'"
        )
    return ","


def _column(table: Table, column: int, decimal: str) -> np.ndarray:
    """A column of text as numbers; the first cell that is none is named with its row."""
    numbers = np.full(len(table.cells), np.nan)
    for i, cell in enumerate(map(_text, table.cells[:, column])):
        if cell is None:
            continue
        try:
            numbers[i] = float(_pointed(cell, decimal))
        except ValueError:
            name = table.names[column]
            raise ValueError(
                f"row {table.rows[i]}: {short(cell)!r} is not a number; if the column "
                f"{short(name)!r} is no feature, pass leave_out={name!r}, or labels={name!r} for "
                "labels"
            ) from None
    return numbers


def _text(cell: Any) -> str | None:
    """A cell as text without blanks around it; None for a gap."""
    text = str(cell).strip()
    return None if text.lower() in GAPS else text


def _pointed(cell: str, decimal: str) -> str:
    """A number as Python writes it: with a point, and without marks of thousands."""
    if decimal == ".":
        return cell.replace(",", "") if COMMA_GROUPS.fullmatch(cell) else cell
    if POINT_GROUPS.fullmatch(cell):
        cell = cell.replace(".", "")
    return f"{cell}?" if "." in cell else cell.replace(",", ".")


def _lists(table: Table, column: int) -> np.ndarray:
    rows, name = table.cells[:, column].tolist(), table.names[column]
    if len({len(row) for row in rows}) != 1:
        raise ValueError(f"the lists of column {name!r} differ in length")
    try:
        return np.array(rows, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"column {name!r} holds lists of no numbers") from error


def _pandas() -> Any:
    with require_extra("sheets of Excel and Parquet need pandas", "data"):
        import pandas
    return pandas
