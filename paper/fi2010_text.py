"""FI-2010 as published: text files of 149 rows, plain or compressed."""

from __future__ import annotations

import gzip
import lzma
import zipfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple

import numpy as np

from tenfold.datasets.locations import reading

Split = Literal["Train", "Test"]
HORIZONS = (10, 20, 30, 50, 100)
N_FEATURES = 144
N_STOCKS = 5
N_FOLDS = 9

# Blocks of each stock on each of the ten days of the NoAuction files. A training file holds stock
# after stock, each through all its days. Prices jump where the stock changes and hardly overnight,
# so the days inside a stock can only be told apart by these counts. Days 1 to 7 were checked on
# data; days 8 to 10, and the order of training files of several days, are as public code for this
# set reports them. A file whose stocks begin elsewhere is refused, not cut wrongly.
STOCK_BLOCKS = np.array(
    [
        [3454, 6318, 4922, 10719, 14099],
        [5079, 6122, 5965, 6712, 14519],
        [3903, 5411, 4027, 5186, 10008],
        [2806, 6992, 5342, 10819, 11064],
        [3030, 6728, 5946, 6378, 12703],
        [2263, 6243, 5607, 7007, 18032],
        [2801, 7060, 6740, 7854, 12891],
        [2647, 8662, 8591, 13229, 22349],
        [1873, 9271, 10036, 12880, 18112],
        [1888, 5128, 5722, 5821, 13378],
    ]
)

# In z-scores of the best ask. On days 1 to 7 the smallest jump between stocks is 0.4 and the
# largest within one is 0.03.
_PRICE_JUMP = 0.2
_OPENERS: dict[str, Callable[..., Any]] = {".txt": open, ".gz": gzip.open, ".xz": lzma.open}


class Segment(NamedTuple):
    """Rows of one stock on one day, both counted from 1."""

    start: int
    stop: int
    day: int
    stock: int


class PublishedFile(NamedTuple):
    """What one published file holds.

    Parameters
    ----------
    source : str
        The file it came from.
    features : ndarray of shape (n, 144), float32
        One row per block of ten events.
    labels : ndarray of shape (n, 5), uint8
        1 up, 2 stationary, 3 down, for each of `HORIZONS`.
    """

    source: str
    features: np.ndarray
    labels: np.ndarray


def published_name(split: Split, fold: int) -> str:
    """Name of a published file, without the suffix of a compression.

    Examples
    --------
    >>> from paper.fi2010_text import published_name
    >>> published_name("Train", 3)
    'Train_Dst_NoAuction_ZScore_CF_3.txt'
    """
    return f"{split}_Dst_NoAuction_ZScore_CF_{fold}.txt"


def read_published(place: Path, split: Split, fold: int) -> PublishedFile | None:
    """Read a published file from wherever it lies below a folder.

    Parameters
    ----------
    place : Path
        Folder to search: for the file, with or without .gz, .xz or .zip, and inside .zip archives.
    split : {"Train", "Test"}
        Which half.
    fold : int
        Fold, 1 to 9.

    Returns
    -------
    PublishedFile or None
        None when it is not there.
    """
    name = published_name(split, fold)
    for suffix in ("", ".gz", ".xz"):
        for path in sorted(place.rglob(name + suffix)):
            with reading(path, "file"), _OPENERS[path.suffix](path, "rb") as stream:
                return _parse(str(path), stream)
    for path in sorted(place.rglob("*.zip")):
        with reading(path, "file"), zipfile.ZipFile(path) as archive:
            for member in archive.namelist():
                if Path(member).name == name:
                    with archive.open(member) as stream:
                        return _parse(f"{path} ({name})", stream)
    return None


def stock_segments(file: PublishedFile, days: range) -> list[Segment]:
    """Find where each stock's days begin and end in a published file.

    The best ask jumps wherever the stock changes. For one day these jumps are the answer. For
    several, the known number of blocks per stock and day says where the days of a stock end, and
    the jumps must confirm it.

    Parameters
    ----------
    file : PublishedFile
        The file.
    days : range
        Days it holds, counted from 1.

    Returns
    -------
    list of Segment
        In the order of the rows.
    """
    price = file.features[:, 0]
    jumps = np.flatnonzero(np.abs(np.diff(price)) > _PRICE_JUMP) + 1
    if len(jumps) != N_STOCKS - 1:
        raise ValueError(
            f"{file.source}: the best ask (row 1) jumps at columns {jumps[:10].tolist()}; expected "
            f"{N_STOCKS - 1}, between {N_STOCKS} stocks. Is it the NoAuction z-score file, whole?"
        )
    stock_bounds = [0, *jumps.tolist(), len(price)]
    if len(days) == 1:
        pairs = pairwise(stock_bounds)
        return [Segment(a, b, days[0], stock) for stock, (a, b) in enumerate(pairs, start=1)]
    counts = STOCK_BLOCKS[days[0] - 1 : days[-1]]
    expected = np.concatenate([[0], counts.sum(axis=0).cumsum()])
    if expected.tolist() != stock_bounds:
        raise ValueError(
            f"{file.source}: stocks begin at columns {stock_bounds}, but in the published file of "
            f"days {days[0]} to {days[-1]} at {expected.tolist()}, so its days cannot be told "
            "apart; use load_fi2010_days, which needs Train_..._CF_1 and the Test_... files only"
        )
    bounds = np.concatenate([[0], counts.T.ravel().cumsum()]).tolist()
    order = [(day, stock) for stock in range(1, N_STOCKS + 1) for day in days]
    pairs = pairwise(bounds)
    return [Segment(a, b, *which) for (a, b), which in zip(pairs, order, strict=True)]


def _parse(source: str, stream: IO[bytes]) -> PublishedFile:
    table = _read_table(source, stream)
    features, labels = table[:N_FEATURES], table[N_FEATURES:]
    bad = np.flatnonzero(~np.isfinite(features).all(axis=1))
    if len(bad):
        raise ValueError(f"{source}: row {bad[0] + 1} holds a value that is not finite")
    bad = np.flatnonzero(~np.isin(labels, (1, 2, 3)).all(axis=1))
    if len(bad):
        wrong = labels[bad[0]][~np.isin(labels[bad[0]], (1, 2, 3))][0]
        raise ValueError(
            f"{source}: row {N_FEATURES + bad[0] + 1} holds {wrong:g}; expected the labels 1, 2 "
            f"and 3 of horizon {HORIZONS[bad[0]]}"
        )
    return PublishedFile(source, np.ascontiguousarray(features.T), labels.T.astype(np.uint8))


def _read_table(source: str, stream: IO[bytes]) -> np.ndarray:
    """The numbers of a published file, (149, n)."""
    n_rows = N_FEATURES + len(HORIZONS)
    layout = f"{n_rows} rows (144 features, 5 labels) with one column per block"
    lines = (line for line in stream if line.strip())
    table = np.empty((0, 0), dtype=np.float32)
    number = 0
    for number, line in enumerate(lines, start=1):
        row = _read_row(source, number, line)
        if number == 1:
            if len(row) in (n_rows, N_FEATURES):
                raise ValueError(
                    f"{source}: row 1 holds {len(row)} numbers, so the file is transposed; "
                    f"expected {layout}"
                )
            table = np.empty((n_rows, len(row)), dtype=np.float32)
        if number > n_rows or len(row) != table.shape[1]:
            raise ValueError(
                f"{source}: row {number} holds {len(row)} numbers, row 1 {table.shape[1]}; "
                f"expected {layout}"
            )
        table[number - 1] = row
    if number != n_rows:
        raise ValueError(f"{source}: ends after row {number}; expected {layout}")
    return table


def _read_row(source: str, number: int, line: bytes) -> np.ndarray:
    try:
        return np.loadtxt([line], dtype=np.float32, ndmin=1)
    except ValueError as error:
        wrong = str(error).split(" at row")[0]
        raise ValueError(f"{source}: row {number}: {wrong}") from error
