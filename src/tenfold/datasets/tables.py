"""Tables with a sample per row, read by pandas: the only module here that imports it.

Text such as CSV, and sheets of Excel, are read as text, so that labels such as 007 stay what they
are; columns of numbers are made of it afterwards. Parquet and ARFF say themselves what is a number.
What a file does not say is asked from the user: whether its first row holds names (`header`), and
whether a comma is decimal or separates thousands (`decimal`).
"""

from __future__ import annotations

import csv
import gzip
import io
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from tenfold.datasets.labels import LABEL_NAMES, as_labels
from tenfold.datasets.locations import FileError, naming, reading, short, shortened
from tenfold.datasets.named_arrays import Arrays, Look, in_memory
from tenfold.datasets.spelling import FILE, NAME, Word, spelled
from tenfold.extras import require_extra
from tenfold.tables import is_number

GAPS = ("", "?", "na", "n/a", "nan", "null", "none")  # in small letters
LABEL_GAPS = ("", "?", "na", "n/a", "nan")  # a class may well be called none
ROW_NUMBER_NAMES = ("", "Unnamed: 0", "__index_level_0__")  # of a column that R or pandas wrote
MARKS = ["\t", ";", ",", "|", " "]  # between cells, the likeliest first
MOST_CATEGORIES = 20  # different texts in a column that is encoded
# Words in names of columns that likely hold labels; those of `LABEL_NAMES` are taken unasked.
LIKELY_LABELS = frozenset(
    {"category", "class", "diagnosis", "disease", "grade", "label", "labels", "outcome"}
    | {"quality", "response", "result", "species", "status", "survived", "target"}
)
MANY = 4  # so many numbers 0, 1, 2, ... in the first row are names that pandas gave

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
    if header is None and (isinstance(labels, str) or columns):
        header = True
    table = _table(source, delimiter, header)
    column = _label_position(table, labels) if labelled or labels is not None else None
    group = None if groups is None else _positions(table, [groups])[0]
    if columns is not None:
        chosen = _positions(table, columns)
    else:
        left_out = [] if leave_out is None else _positions(table, leave_out)
        chosen = _features(table, {column, group, *left_out}, labels is not None)
    names = [table.names[i] for i in chosen]
    twice = sorted({name for name in names if names.count(name) > 1})
    if table.named and twice:
        raise ValueError(
            f"several columns are called {shortened(twice)}; rename all but one, so that a model "
            "can distinguish them"
        )
    known = {name: list(values) for name, *values in categories}
    X, encoded, notes = _numbers(table, chosen, decimal, known)
    found = {"the numbers": X}
    about = f"{len(chosen)} columns of {source.name}: {shortened(names)}"
    if labelled and column is not None:
        found["the labels"] = _labels(table, column)
        why = "chosen by its name" if labels is None else "as requested"
        about += f"; labels: column {short(table.names[column])}, {why}"
    if group is not None:
        found[table.names[group]] = _labels(table, group)
    return replace(
        in_memory(found),
        samples="the numbers",
        labels="the labels" if "the labels" in found else None,
        description=f"{about}.",
        notes=(*table.notes, *notes),
        reading=_told(table, names, encoded),
    )


def _told(table: Table, names: list[str], encoded: Mapping[str, list[str]]) -> dict[str, object]:
    """What a later reading needs: names of columns, and values of those that are text."""
    told: dict[str, object] = {"columns": tuple(names)} if table.named else {}
    if encoded:
        told["categories"] = tuple((name, *values) for name, values in encoded.items())
    return told


def read_column(source: Path, name: str | None) -> np.ndarray:
    """The labels in a table of them: the column of this name, the only one, or one named so."""
    table = _table(source, header=None if name is None else True)
    return _labels(table, _label_position(table, name))


def rows_of_files(source: Path, column: str | None, files: Sequence[str]) -> np.ndarray | None:
    """For each file the row of a table of labels that names it; None if no column names files.

    A column may hold paths, names of files, or names without their endings. `column` is that of
    the labels, if it was named: then the first row holds names, as for `read_column`.
    """
    table = _table(source, header=None if column is None else True)
    if len(table.names) < 2:
        return None
    paths = [Path(file) for file in files]
    stems = [path.stem for path in paths]
    spellings = [list(files), [path.name for path in paths], stems]
    for i, title in enumerate(table.names):
        cells = [str(cell).strip() for cell in table.cells[:, i]]
        row_of = {cell: row for row, cell in enumerate(cells)}
        if len(row_of) < len(cells):
            continue  # a file has one row
        for names in spellings:
            missing = [name for name in names if name not in row_of]
            are_different = len(set(names)) == len(names)
            if not missing and are_different:
                return np.array([row_of[name] for name in names])
            if names is stems or len(missing) == len(names):
                continue  # a number may be the stem of some file by chance
            if not are_different:
                raise ValueError(
                    f"column {short(title)!r} of {source} names files, but files in several "
                    f"folders have one name; write their paths, such as {files[0]}"
                )
            raise ValueError(
                f"column {short(title)!r} of {source} names files, but not "
                f"{shortened(missing)}; add these rows, or pass labels in the order of the files"
            )
    return None


def look_at_table(source: Path, options: Mapping[str, Any]) -> Look:
    """For `contents`: what every column holds, and ways to read it.

    Labels are likely the column named so; else one whose name has a word such as diagnosis; else
    the last column, if its values come again; else that of text with the fewest values; else that
    of whole numbers with the fewest. Columns of text with many values, and columns that number the
    rows, are likely no features.
    """
    header = options.get("header")
    if header is None and isinstance(_asked(options.get("labels")), str):
        header = True
    table = _table(source, options.get("delimiter"), header)
    known: dict[str, object] = {}  # what is likely and was not told
    decimal = options.get("decimal")
    if decimal is None:
        decimal = _likely_decimal(table)
        known = {} if decimal is None else {"decimal": decimal}
    rows = []
    no_features = []  # text with many values, and what numbers the rows
    few = []  # (whether it holds numbers, how many differ, position) of columns with few values
    for i, name in enumerate(table.names):
        cells = [_text(cell) for cell in table.cells[:, i]]
        gaps = sum(cell is None for cell in cells)
        distinct = list(dict.fromkeys(cell for cell in cells if cell is not None))
        comes_again = 1 < len(distinct) <= max(2, len(cells) // 2) and not gaps
        try:
            numbers = _column(table, i, decimal)
        except ValueError:
            more = ", ..." if len(distinct) > 4 else ""
            holds = f"text: {shortened(distinct[:4])}{more}"
            if not _categories(cells):
                no_features.append(i)
            if comes_again:
                few.append((0, len(distinct), i))
        else:
            holds = "numbers: none"
            if distinct:
                holds = f"numbers: {np.nanmin(numbers):g} to {np.nanmax(numbers):g}"
            if _numbers_rows(name, numbers):
                no_features.append(i)
            if comes_again and not (numbers % 1).any():
                few.append((1, len(distinct), i))
        rows.append([name, holds, str(len(distinct)), str(gaps)])
    label = _likely_label(table, few)
    labels: dict[str, object] = {}
    if label is not None:
        labels = {"labels": table.names[label] if table.named else label}
    others = [table.names[i] for i in no_features if i != label]
    out: dict[str, object] = {"leave_out": tuple(others)} if others and table.named else {}
    none: dict[str, object] = {"labelled": False}
    ways = [known, out, labels, {**labels, **out}, {**out, **none}, none]
    names = ["column", "holds", "different", "gaps"]
    return Look(names, rows, [{**known, **way} for way in ways])


def _likely_decimal(table: Table) -> str | None:
    """The mark of decimals that commas in numbers speak for; None without, or if they may be both.

    1,5 has a decimal comma, 1,000.5 has not, and 1,500 may be either.
    """
    for cell in table.cells.ravel().tolist():
        if isinstance(cell, str) and _has_comma(cell):
            after = cell.strip().rpartition(",")[2]
            if "." in after:
                return "."
            if len(after) != 3:
                return ","
    return None


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
        if LIKELY_LABELS.intersection(words):
            return i
    last = len(table.names) - 1
    if last in again:
        return last
    return min(few, default=(0, 0, None))[2]


# ── Files ───────────────────────────────────────────────────────────────────────────────────────


def _table(source: Path, delimiter: str | None = None, header: bool | None = None) -> Table:
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
        cells = sheet.to_numpy(dtype=object)
    else:
        cells, notes = _text_cells(source, delimiter)
    filled = np.flatnonzero((cells != "").any(axis=1))  # rows that are not blank
    if not len(filled):
        raise ValueError("it is empty; expected one flat sample per row")
    cells = cells[filled]
    rows = (filled + 1).tolist()
    if header is None:
        header = _has_names(cells)
    if not header:
        return Table(list(map(str, range(cells.shape[1]))), False, cells, rows, notes)
    if len(cells) == 1:
        raise ValueError("it has a row of names and no samples below it")
    names = [str(name).strip() for name in cells[0]]
    return Table(names, True, cells[1:], rows[1:], notes)


def _text_cells(source: Path, delimiter: str | None) -> tuple[np.ndarray, tuple[str, ...]]:
    """The cells of all rows of a text, blank ones included; and what is to be said."""
    if delimiter == r"\t":  # as it is typed in a shell
        delimiter = "\t"
    if delimiter is not None and (len(str(delimiter)) != 1 or delimiter in '"\r\n'):
        raise ValueError(
            f"delimiter is {delimiter!r}; expected one character that separates cells, such as ';'"
        )
    text, notes = decoded_text(source)
    pandas = _pandas()
    body = text.lstrip("\r\n")
    if not body:
        return np.empty((0, 0), dtype=object), notes
    separator = delimiter or _separator(source, body)
    with reading(source, "table"):
        found = pandas.read_csv(
            io.StringIO(body),
            sep=r"\s+" if separator == " " else separator,
            header=None,
            dtype=str,
            keep_default_na=False,
            skip_blank_lines=False,
        )
    before = len(text[: len(text) - len(body)].splitlines())
    blank = np.full((before, found.shape[1]), "", dtype=object)
    return np.vstack([blank, found.to_numpy(dtype=object)]), notes


def _separator(source: Path, text: str) -> str:
    """What separates cells, from the first rows."""
    if source.suffix.lower() == ".tsv":
        return "\t"
    is_csv = ".csv" in [suffix.lower() for suffix in source.suffixes]
    rows = [line for line in text[: 2**16].splitlines()[:50] if line.strip()][:20]
    sniffer = csv.Sniffer()
    sniffer.preferred = MARKS
    try:
        return sniffer.sniff("\n".join(rows), "".join(MARKS[:-1] if is_csv else MARKS)).delimiter
    except csv.Error:
        return ","


def _parquet(source: Path) -> tuple[list[str], np.ndarray]:
    frame = _pandas().read_parquet(
        source, engine="pyarrow", use_threads=False, page_checksum_verification=True
    )  # whose index is no feature
    names = [str(name).strip() for name in frame.columns]
    return names, frame.to_numpy(dtype=object, copy=True, na_value=np.nan)


def _arff(source: Path) -> tuple[list[str], np.ndarray]:
    from scipy.io.arff import loadarff

    found, _ = loadarff(source)
    cells = np.array(found.tolist(), dtype=object)
    for place, cell in np.ndenumerate(cells):
        if isinstance(cell, bytes):
            cells[place] = cell.decode("utf-8")
    return list(found.dtype.names or ()), cells


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
        raise FileError(f"{source} is not text; expected a row, or a label, per line")
    return text, notes


def _has_names(cells: np.ndarray) -> bool:
    """Whether the first row holds names; a ValueError when it may as well be a sample."""
    first = [str(cell).strip() for cell in cells[0]]
    words = [i for i, cell in enumerate(first) if not is_number(cell)]
    numbers = [cell for cell in first if is_number(cell)]
    counts = numbers == [str(i) for i in range(len(numbers))]
    if counts and (len(numbers) >= MANY or first[0] in ROW_NUMBER_NAMES):
        return True  # names that pandas gave
    if not words:
        return False
    for i in words:
        if first[i] and (cells[1:, i] == cells[0, i]).any():
            return False  # a name does not come again in its column
    if not numbers:
        return True
    if any(first[i].lower() in LABEL_NAMES and first[i].lower() != "y" for i in words):
        return True  # label, 400, 410, ...
    raise ValueError(
        f"the first row, {shortened(first, 6)}, may be names or a sample; pass "
        f"{spelled('header', True)} or {spelled('header', False)}"
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
            raise ValueError(
                f"it has {width} columns, so there is no column {label}; pass a name, or a "
                f"position from 0 to {width - 1} (-1 is the last)"
            )
        return label % width
    if label is None and width == 1:
        return 0
    wanted = LABEL_NAMES if label is None else (label,)
    known = [name.lower() if label is None else name for name in table.names]
    found = [i for i, name in enumerate(known) if name in wanted]
    if len(found) != 1 or not table.named:
        there = f"columns {shortened(table.names)}"
        there += f", {short(table.names[-1])}" if there.endswith("...") else ""
        said = f"no column {label!r}, or several"
        if label is None:
            said = "cannot tell which column holds the labels"
        raise ValueError(
            f"{said}: it has {there if table.named else f'{width} columns without names'}; pass "
            f"{spelled('labels', NAME)} or a position (-1 is the last), {spelled('labels', FILE)}, "
            f"or {spelled('labelled', False)}"
        )
    return found[0]


def _labels(table: Table, column: int) -> np.ndarray:
    """The labels of a column."""
    values = table.cells[:, column].copy()
    values[[str(value).strip().lower() in LABEL_GAPS for value in values]] = None
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
                f"pass {spelled('leave_out', name)}, or {spelled('columns', Word('NAME,...'))} if "
                "it is a feature"
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
            f"{shortened(table.names) or 'no names'}; pass names of its columns, or rename them"
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
            blocks[i] = np.array([[float(cell == value) for value in values] for cell in cells])
            blocks[i][[cell is None for cell in cells]] = np.nan  # a gap is one in all columns
            if name not in known:
                notes.append(
                    f"column {short(name)!r} is text; it became {len(values)} columns of zeros and "
                    f"ones ({shortened(values)}); pass {spelled('leave_out', name)} if it is no "
                    "feature"
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
    if not few or any(is_number(value) or _has_comma(value) for value in values):
        return []
    return values


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
    if decimal == ",":  # then 1.234 is a thousand and more, also in columns without a comma
        texts = list(range(len(chosen)))
    for j in texts:
        X[:, j] = _column(table, chosen[j], decimal)
    notes = []
    n_gaps = int(np.isnan(X).sum())
    if n_gaps:
        notes.append(f"{n_gaps} of {X.size} numbers are gaps (blank, NA or ?)")
    names = [table.names[i] for i in chosen]
    counting = [
        name for name, column in zip(names, X.T, strict=True) if _numbers_rows(name, column)
    ]
    if counting:
        notes.append(
            f"column {shortened(counting)} numbers the rows, or names them; pass "
            f"{spelled('leave_out', ','.join(counting))} if it is no feature"
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


def _column(table: Table, column: int, decimal: str | None) -> np.ndarray:
    """A column of text as numbers; the first cell that is none is named with its row."""
    numbers = np.full(len(table.cells), np.nan)
    for i, cell in enumerate(map(_text, table.cells[:, column])):
        if cell is None:
            continue
        try:
            numbers[i] = float(_pointed(cell, decimal))
        except ValueError:
            if decimal is None and _has_comma(cell):
                raise ValueError(
                    f"row {table.rows[i]}: {short(cell)!r} may have a decimal comma or stand for "
                    f"thousands; pass {spelled('decimal', ',')} or {spelled('decimal', '.')}"
                ) from None
            name = table.names[column]
            raise ValueError(
                f"row {table.rows[i]}: {short(cell)!r} is not a number; if the column "
                f"{short(name)!r} is no feature, pass {spelled('leave_out', name)}, or "
                f"{spelled('labels', name)} for labels"
            ) from None
    return numbers


def _text(cell: object) -> str | None:
    """A cell as text without blanks around it; None for a gap."""
    text = str(cell).strip()
    return None if text.lower() in GAPS else text


def _pointed(cell: str, decimal: str | None) -> str:
    """A number as Python writes it: with a point, and without marks of thousands.

    The mark that is not the decimal one must separate groups of three digits; a ValueError where
    it stands elsewhere.
    """
    if decimal is None:
        return cell
    mark = "." if decimal == "," else ","  # of thousands
    whole, point, part = cell.partition(decimal)
    if mark in part:
        raise ValueError(f"{cell} is not a number with the decimal mark {decimal}")
    if mark in whole:
        in_threes = rf"\s*[+-]?[0-9]{{1,3}}({re.escape(mark)}[0-9]{{3}})+"
        if not re.fullmatch(in_threes, whole):
            raise ValueError(f"{cell} is not a number with the decimal mark {decimal}")
        whole = whole.replace(mark, "")
    return f"{whole}.{part}" if point else whole


def _has_comma(cell: str) -> bool:
    """Whether a cell is a number but for its commas."""
    if "," not in cell:
        return False
    for decimal in (",", "."):
        with suppress(ValueError):
            if is_number(_pointed(cell, decimal)):
                return True
    return False


def _lists(table: Table, column: int) -> np.ndarray:
    rows = table.cells[:, column].tolist()
    name = table.names[column]
    if len({len(row) for row in rows}) != 1:
        raise ValueError(f"the lists of column {name!r} differ in length")
    try:
        return np.array(rows, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"column {name!r} holds lists of no numbers") from error


def _pandas() -> ModuleType:
    with require_extra("tables need pandas", "data"):
        import pandas
    return pandas
