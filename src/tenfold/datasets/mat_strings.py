"""String arrays of MATLAB, which are objects: where they lie in a .mat file, and what they say.

MATLAB does not document this; the layout is the one that several free readers agree on. A variable
holds the number of its object. All objects lie in one list of cells, the subsystem. Its first cell
is a table of 32-bit numbers that says which cell holds the contents of which object: a version, the
number of names, eight offsets of regions, the names, and the regions. Region 2 (the second offset)
lists properties of objects of classes such as string, region 3 lists the objects.

The contents of a string array are 64-bit numbers: 1, the number of axes, the sizes, the length of
every text, and then the texts in UTF-16.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from tenfold.datasets.mat_values import MatValue

MARK = 0xDD000000  # the first number of a variable that is an object
FIRST_CONTENT = 2  # cells before the contents of objects
MOST_TEXTS = 2**24


def object_number(metadata: np.ndarray) -> int | None:
    """Number of the object that a variable stands for; None for other metadata."""
    numbers = np.ravel(metadata).tolist()
    if len(numbers) < 4 or int(numbers[0]) != MARK:
        return None
    return int(numbers[-2])


def text_of_object(cells: Sequence[MatValue], number: int) -> MatValue:
    """The string array of an object; "object" where it cannot be found or read.

    Parameters
    ----------
    cells : sequence of MatValue
        The subsystem.
    number : int
        The object, counted from 1.

    Returns
    -------
    MatValue
        Of kind "text", one text per element, or of kind "object".
    """
    try:
        texts = _texts(_content(cells, number))
    except (ValueError, LookupError, TypeError):
        return MatValue("object", ())
    return MatValue("text", texts.shape, lambda: texts)


def _content(cells: Sequence[MatValue], number: int) -> np.ndarray:
    """The numbers in the cell of an object."""
    table = _read(cells[0]).astype(np.uint8).tobytes()
    if len(table) % 4:
        raise ValueError("the table of objects is cut")
    words = np.frombuffer(table, dtype=np.uint32).tolist()
    properties, objects = (words[2 + region] // 4 for region in (1, 2))
    saved = words[objects + 6 * number + 3]
    at = properties
    for _ in range(saved):  # blocks of triples, each filled up to 8 bytes
        at += 1 + 3 * words[at]
        at += at % 2
        if at >= objects:
            raise ValueError("an object has no properties")
    if words[at] != 1:
        raise ValueError("a string has one property")
    _, kind, value = words[at + 1 : at + 4]
    if kind != 1:
        raise ValueError("the property of a string is a cell")
    return _read(cells[FIRST_CONTENT + value])


def _read(cell: MatValue) -> np.ndarray:
    if cell.kind != "numbers" or cell.read is None:
        raise ValueError("a cell of the subsystem holds no numbers")
    return np.ravel(cell.read(), order="F")


def _texts(numbers: np.ndarray) -> np.ndarray:
    """Texts from the numbers of a string array."""
    if numbers.dtype != np.uint64 or len(numbers) < 4 or int(numbers[0]) != 1:
        raise ValueError("not a string array")
    n_axes = int(numbers[1])
    shape = tuple(int(size) for size in numbers[2 : 2 + n_axes])
    count = prod(shape)
    if not 2 <= n_axes <= 32 or not 0 <= count <= min(MOST_TEXTS, len(numbers)):
        raise ValueError("a string array declares more texts than it holds")
    start = 2 + n_axes
    lengths = [int(length) for length in numbers[start : start + count]]
    units = numbers[start + count :].astype("<u8").tobytes()
    if 2 * sum(lengths) > len(units) or any(length > len(units) for length in lengths):
        raise ValueError("a string array declares longer texts than it holds")
    texts, at = [], 0
    for length in lengths:
        texts.append(units[at : at + 2 * length].decode("utf-16-le", "replace"))
        at += 2 * length
    return np.array(texts, dtype=str).reshape(shape, order="F")
