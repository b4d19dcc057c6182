"""Tables in plain text, for terminals, pipes and logs."""

from __future__ import annotations

from collections.abc import Sequence


def aligned(rows: Sequence[Sequence[str]], n_texts: int = 1) -> list[str]:
    """Rows of cells as lines with aligned columns.

    Parameters
    ----------
    rows : sequence of sequences of str
        As many cells in every row.
    n_texts : int, default=1
        How many columns hold texts and are aligned to the left; numbers go to the right.

    Returns
    -------
    list of str
        One line per row.

    Examples
    --------
    >>> from tenfold.system.text_tables import aligned
    >>> print(*aligned([["method", "AP"], ["MCSDA", "97.1"], ["CMDA", "8.0"]]), sep=chr(10))
    method    AP
    MCSDA   97.1
    CMDA     8.0
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if place < n_texts else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
