"""Tables: rows of cells under names, as text here; terminal and report draw them, too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple
from unicodedata import category

UNSEEN = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")  # Unicode's control, format and private characters


class Cell(NamedTuple):
    """One cell of a table."""

    text: str
    value: float | None = None  # what to sort a number by; None sorts by the text
    link: str = ""  # id of the place on the page it leads to


@dataclass(frozen=True)
class Table:
    """Rows of short texts and numbers under names; the first column names its rows.

    Parameters
    ----------
    title : str
        A line above; may be empty.
    columns : sequence of str
        Names.
    rows : sequence of sequences of Cell or str
        A str is a cell that is no number.

    Examples
    --------
    >>> from tenfold.tables import Table, number
    >>> rows = [["MCSDA", number(97.1, "{:.1f}")], ["CMDA", number(8, "{:.1f}")]]
    >>> print(Table("", ["method", "AP"], rows))
    method    AP
    MCSDA   97.1
    CMDA     8.0
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell | str]]

    @property
    def cells(self) -> list[list[Cell]]:
        """The rows, every entry a Cell whose text can be shown anywhere."""
        rows = [[Cell(one) if isinstance(one, str) else one for one in row] for row in self.rows]
        return [[cell._replace(text=visible(cell.text)) for cell in row] for row in rows]

    @property
    def names(self) -> list[str]:
        """The names of the columns, as they can be shown anywhere."""
        return [visible(name) for name in self.columns]

    @property
    def numeric(self) -> list[bool]:
        """Whether each column holds numbers."""
        columns = zip(*self.cells, strict=True)
        found = [any(cell.value is not None for cell in column) for column in columns]
        return found or [False] * len(self.columns)

    def __str__(self) -> str:
        texts = [[cell.text for cell in row] for row in self.cells]
        lines = aligned([self.names, *texts], self.numeric)
        return "\n".join([visible(self.title), *lines] if self.title else lines)


def visible(text: str, kept: str = "") -> str:
    r"""A text whose control characters are escaped: no label or file name can move the cursor.

    Parameters
    ----------
    text : str
        Of anybody.
    kept : str
        Characters that stay as they are, such as line breaks.

    Returns
    -------
    str
        The same text if all of its characters can be seen.

    Examples
    --------
    >>> from tenfold.tables import visible
    >>> visible("s7\x1b[2J, Zoë")
    's7\\x1b[2J, Zoë'
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        one.encode("unicode_escape").decode()
        if category(one) in UNSEEN and one not in kept
        else one
        for one in text
    )


def is_number(text: str) -> bool:
    """Whether a text reads as a number in Python."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def aligned(rows: Sequence[Sequence[str]], numeric: Sequence[bool] | None = None) -> list[str]:
    """Rows of texts as lines with aligned columns.

    Parameters
    ----------
    rows : sequence of sequences of str
        As many texts in every row.
    numeric : sequence of bool or None, default=None
        Which columns hold numbers and are aligned to the right; None means all but the first.

    Returns
    -------
    list of str
        One line per row.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    right = [i > 0 for i in range(len(widths))] if numeric is None else numeric
    return [
        "  ".join(
            text.rjust(width) if number else text.ljust(width)
            for text, width, number in zip(row, widths, right, strict=True)
        ).rstrip()
        for row in rows
    ]


def percent(share: float | None, digits: int = 1) -> Cell:
    """A share as a cell; None or NaN, where nothing can be said, is a dash that sorts last."""
    if share is None or share != share:
        return Cell("–")
    return Cell(f"{100 * share:.{digits}f}", 100 * share)


def number(value: float, pattern: str = "{:,}") -> Cell:
    """A number as a cell."""
    return Cell(pattern.format(value), float(value))


def times(shape: Sequence[int], sign: str = "x") -> str:
    """A shape or ranks as people write them.

    Examples
    --------
    >>> from tenfold.tables import times
    >>> times((40, 30)), times((40, 30), "×")
    ('40x30', '40×30')
    """
    return sign.join(map(str, shape))
