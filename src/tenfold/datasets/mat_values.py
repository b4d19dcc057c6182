"""What a variable of a .mat file holds, whatever the version of the file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any, Literal

import numpy as np

from tenfold.datasets.sizes import in_words, n_bytes

LARGEST_DENSE = 2**30  # bytes of a sparse matrix with its zeros

Kind = Literal["numbers", "text", "sparse", "cells", "structure", "object"]


@dataclass(frozen=True)
class MatValue:
    """A variable, cell or field.

    Parameters
    ----------
    kind : str
        Numbers, text (one per row), a sparse matrix, cells, a structure, or an object of a MATLAB
        class, which is not read.
    dims : tuple of int
        MATLAB's dimensions; of text, those of its rows.
    read : callable
        Gives numbers or texts.
    children : sequence of MatValue
        The cells, column by column.
    fields : mapping of str to sequence of MatValue
        For each field, its value in every element of a structure array.
    """

    kind: Kind
    dims: tuple[int, ...]
    read: Callable[[], Any] | None = None
    children: Sequence[MatValue] = ()
    fields: Mapping[str, Sequence[MatValue]] = field(default_factory=dict)


def flat_values(name: str, value: MatValue) -> Iterator[tuple[str, MatValue]]:
    """The value, or for a structure each of its fields as ``name.field``."""
    if value.kind != "structure":
        yield name, value
        return
    for inner, parts in value.fields.items():
        if len(parts) == 1:
            yield from flat_values(f"{name}.{inner}", parts[0])
        elif parts:
            yield f"{name}.{inner}", MatValue("cells", (len(parts), 1), children=parts)


def array_shape(value: MatValue) -> tuple[int, ...]:
    """Shape of the array that `as_array` gives; cells of equal arrays count as one stack."""
    if value.kind != "cells":
        return value.dims
    inner = {child.dims for child in value.children if child.kind == "numbers"}
    same = len(inner) == 1 and all(child.kind == "numbers" for child in value.children)
    if same and prod(next(iter(inner))) > 1:
        return (len(value.children), *next(iter(inner)))
    return (len(value.children),)


def as_array(source: Path, name: str, value: MatValue) -> np.ndarray:
    """Numbers, texts, or a stack of the cells; a ValueError for what is neither."""
    if value.kind == "sparse" and n_bytes(value.dims, 8) > LARGEST_DENSE:
        raise ValueError(
            f"{source}: array {name!r} is sparse, and with its zeros would need "
            f"{in_words(n_bytes(value.dims, 8))}; keep fewer of its columns, or save full({name})"
        )
    if value.read is not None:
        return np.asarray(value.read())
    if value.kind != "cells":
        raise ValueError(
            f"{source}: array {name!r} is an object of a MATLAB class, which tenfold does not "
            "read; in MATLAB save cellstr(...) of a string array, or double(...) of numbers"
        )
    cells = [child.read() if child.read is not None else None for child in value.children]
    if any(
        cell is None or (child.kind == "text" and np.size(cell) != 1)
        for cell, child in zip(cells, value.children, strict=True)
    ):
        raise ValueError(
            f"{source}: array {name!r} has cells that are neither numbers nor text; write the "
            "labels to a text file, one per line, and pass labels=FILE"
        )
    shapes = {np.shape(cell) for cell in cells}
    numbers = all(child.kind == "numbers" for child in value.children)
    if numbers and cells and len(shapes) == 1:
        stack = np.stack(cells)
        return stack if prod(stack.shape[1:]) > 1 else stack.ravel()
    if numbers and any(prod(shape) > 1 for shape in shapes):
        shown = ", ".join(sorted("x".join(map(str, shape)) for shape in shapes)[:4])
        raise ValueError(
            f"{source}: the cells of array {name!r} differ in size ({shown}); resize them first"
        )
    if any(np.size(cell) != 1 for cell in cells):
        raise ValueError(
            f"{source}: array {name!r} has cells that are neither one number nor one text"
        )
    return _objects(cells)


def _objects(cells: Sequence[Any]) -> np.ndarray:
    """One object per cell: a text, or a number."""
    objects = np.empty(len(cells), dtype=object)
    objects[:] = [np.asarray(cell).ravel()[0] for cell in cells]
    return objects


def filled_later(
    dims: tuple[int, int], rows: np.ndarray, ends: np.ndarray, data: np.ndarray
) -> Callable[[], np.ndarray]:
    """A sparse matrix; it is filled with its zeros when it is asked for.

    Parameters
    ----------
    dims : (int, int)
        Its shape.
    rows : ndarray
        Row of each number, column by column.
    ends : ndarray of shape (n_columns + 1,)
        Where the numbers of each column begin and end.
    data : ndarray
        The numbers.
    """
    n_rows, n_columns = dims
    used = int(ends[-1]) if len(ends) else -1
    counts = np.diff(ends.astype(np.int64))
    if (
        len(ends) != n_columns + 1
        or int(ends[0]) != 0
        or (counts < 0).any()
        or not 0 <= used <= min(len(rows), len(data))
        or (used and not 0 <= int(rows[:used].min()) <= int(rows[:used].max()) < n_rows)
    ):
        raise ValueError("the places of a sparse matrix lie outside of it")

    def filled() -> np.ndarray:
        full = np.zeros(dims, dtype=data.dtype)
        full[rows[:used].astype(np.int64), np.repeat(np.arange(n_columns), counts)] = data[:used]
        return full

    return filled
