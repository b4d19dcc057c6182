"""Columns of numbers and words as files: CSV, Parquet, .npy and .npz."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tenfold.system.tables import visible

if TYPE_CHECKING:
    from tenfold.mathematics.algebra import Array

FORMULA_SIGNS = tuple("=+-@＝＋－＠")  # also as East Asian keyboards write them


def check_writable(output: Path) -> None:
    """Complain before the work if what writes this form of file is missing."""
    if output.suffix.lower() == ".parquet":
        _pyarrow()


def write_columns(output: Path, columns: dict[str, Array]) -> None:
    """Write columns to a .csv or .parquet file, by the ending of its name."""
    from tenfold.system.atomic_write import write_whole

    parquet = output.suffix.lower() == ".parquet"
    write_whole(output, _as_parquet(columns) if parquet else as_csv(columns).encode("utf-8"))


def write_arrays(output: Path, arrays: dict[str, Array]) -> None:
    """Write arrays to a .npz file, or the first of them to a .npy file."""
    import numpy as np

    from tenfold.system.atomic_write import write_whole

    stream = io.BytesIO()
    if output.suffix.lower() == ".npz":
        np.savez(stream, allow_pickle=False, **arrays)
    else:
        np.save(stream, next(iter(arrays.values())), allow_pickle=False)
    write_whole(output, stream.getvalue())


def as_csv(columns: dict[str, Array]) -> str:
    """Columns as CSV with a row of names; numbers in full precision.

    Text that a spreadsheet would run as a formula gets an apostrophe before it, and control
    characters are escaped.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.cli.columns import as_csv
    >>> print(as_csv({"sample": np.array(["=1+1"]), "score": np.array([-0.1])}), end="")
    sample,score
    '=1+1,-0.1
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(_harmless, columns))
    cells = ([_harmless(one) for one in column.tolist()] for column in columns.values())
    writer.writerows(zip(*cells, strict=True))
    return text.getvalue()


def _harmless(value: Any) -> Any:
    """A value that a spreadsheet shows and does not run."""
    if not isinstance(value, str):
        return value
    text = visible(value)
    return f"'{text}" if text.startswith(FORMULA_SIGNS) and not _is_number(text) else text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _as_parquet(columns: dict[str, Array]) -> bytes:
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
