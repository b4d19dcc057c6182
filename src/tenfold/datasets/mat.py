"""MATLAB's .mat files: up to version 7 by SciPy, version 7.3 by h5py."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from inspect import signature
from pathlib import Path

import numpy as np

from tenfold.datasets.hdf5 import is_hdf5, matlab_variables, opened
from tenfold.datasets.locations import reading
from tenfold.datasets.named_arrays import Arrays, in_memory
from tenfold.datasets.spelling import FILE, spelled


def open_mat(source: Path) -> Arrays:
    """The arrays of a .mat file; a field of a structure is named ``structure.field``."""
    with reading(source, ".mat file"):
        if is_hdf5(source):
            with opened(source) as file:
                values = matlab_variables(source, file)
        else:
            values = _scipy_values(source)
        found: dict[str, np.ndarray] = {}
        unreadable: dict[str, str] = {}
        for name, value in values.items():
            _gather(name, value, found, unreadable)
    return replace(in_memory(found), unreadable=unreadable)


def _scipy_values(source: Path) -> Mapping[str, object]:
    """The variables that SciPy reads, by name."""
    from scipy.io import loadmat

    read = partial(loadmat, source, struct_as_record=True, appendmat=False)
    if "spmatrix" in signature(loadmat).parameters:  # from SciPy 1.18 on it asks to be told
        read = partial(read, spmatrix=False)
    values = read()
    named = {}
    for name, value in values.items():
        if name.startswith("__"):
            continue
        if name == "None" and "s0" in (value.dtype.names or ()):
            name = _text_of(value["s0"])  # SciPy before 1.18 calls every object None
        named[name] = value
    return named


def _object_class(value: object) -> str | None:
    """The MATLAB class of an object; None for numbers, text, cells and structures."""
    from scipy.io.matlab import MatlabFunction, MatlabOpaque

    if isinstance(value, MatlabFunction):
        return "function_handle"
    if not isinstance(value, MatlabOpaque):
        return None
    field = (
        "_Class" if "_Class" in (value.dtype.names or ()) else "s2"
    )  # since SciPy 1.18, and before
    return _text_of(value[field])


def _text_of(field: np.ndarray) -> str:
    """The only text of a field of an object, which SciPy before 1.18 gives as bytes."""
    text = np.asarray(field).ravel()[0]
    return text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text)


def _gather(
    name: str, value: object, found: dict[str, np.ndarray], unreadable: dict[str, str]
) -> None:
    """Put a variable, or each field of a structure, where it belongs."""
    value = value.toarray() if hasattr(value, "toarray") else value
    kind = _object_class(value)
    if kind is not None:
        value = kind
    if isinstance(value, np.ndarray) and value.dtype.names:
        fields = {part: value[part].ravel("F") for part in value.dtype.names}
        value = {part: cells[0] if len(cells) == 1 else cells for part, cells in fields.items()}
    if isinstance(value, Mapping):
        for part, inner in value.items():
            _gather(f"{name}.{part}", inner, found, unreadable)
        return
    if isinstance(value, str):
        unreadable[name] = _no_class(name, value)
        return
    array = np.asarray(value)
    if array.dtype.kind == "O":
        kinds = [_object_class(cell) for cell in array.flat]
        objects = [kind for kind in kinds if kind is not None]
        if objects:
            unreadable[name] = _no_class(name, objects[0])
            return
        cells = [np.asarray(cell) for cell in array.ravel("F")]
        try:
            found[name] = _from_cells(cells)
        except ValueError as error:
            unreadable[name] = str(error)
    elif array.dtype.kind == "U":  # rows of text are filled up with blanks
        found[name] = np.char.rstrip(array)
    else:
        found[name] = array


def _no_class(name: str, kind: str) -> str:
    """Why an object is not read, and the line that makes an array of it in MATLAB."""
    remedies = {"string": "cellstr({0})", "categorical": "cellstr({0})", "sparse": "full({0})"}
    line = f"{name} = {remedies.get(kind, 'double({0})').format(name)};"
    return (
        f"is a {kind} of MATLAB, which tenfold does not read; in MATLAB type {line} and save the "
        "file again"
    )


def _from_cells(cells: list[np.ndarray]) -> np.ndarray:
    """A stack of arrays of one shape, or a vector of numbers or texts."""
    if all(cell.size <= 1 and cell.dtype.kind in "biufU" for cell in cells):
        inner = np.empty(len(cells), dtype=object)
        inner[:] = [cell.ravel()[0] if cell.size else "" for cell in cells]
        return inner
    if not all(cell.dtype.kind in "biuf" for cell in cells):
        raise ValueError(
            "has cells that are neither numbers nor text; write the labels to a text file, one per "
            f"line, and pass {spelled('labels', FILE)}"
        )
    shapes = sorted({cell.shape for cell in cells})
    if len(shapes) > 1:
        shown = ", ".join("x".join(map(str, shape)) for shape in shapes[:4])
        raise ValueError(f"has cells that differ in size ({shown}); resize them first")
    return np.stack(cells)
