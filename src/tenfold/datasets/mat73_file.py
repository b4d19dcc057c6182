"""MATLAB's files of version 7.3, which are HDF5 with reversed axes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tenfold.datasets.hdf5_file import check_dataset, is_dataset, read_dataset, references
from tenfold.datasets.mat_strings import object_number, text_of_object
from tenfold.datasets.mat_values import MatValue

DEEPEST = 32
MOST_CELLS = 2**22


class Mat73File:
    """The variables of a file that is open.

    Parameters
    ----------
    source : Path
        The file, for messages.
    file : h5py.File
        The same, open.
    """

    def __init__(self, source: Path, file: Any) -> None:
        self.source = source
        self.file = file
        self._cells_of_objects: Sequence[MatValue] | None = None

    def values(self) -> Iterator[tuple[str, MatValue]]:
        """Every variable; MATLAB's own tables begin with a #."""
        for name in self.file:
            if not name.startswith("#") and (item := self.file.get(name)) is not None:
                yield name, self._value(item, 0)

    def _value(self, item: Any, depth: int) -> MatValue:
        if depth > DEEPEST:
            raise ValueError(f"arrays lie more than {DEEPEST} deep in each other")
        kind = _matlab_class(item)
        if not is_dataset(item):
            if kind not in ("", "struct") or "MATLAB_sparse" in item.attrs:
                return MatValue("object", ())
            names = [name for name in item if item.get(name) is not None]
            fields = {name: [self._value(item[name], depth + 1)] for name in names}
            return MatValue("structure", (1, 1), fields=fields)
        shape = item.shape or ()
        if kind == "string" and "MATLAB_object_decode" in item.attrs:
            number = object_number(read_dataset(self.source, item))
            return text_of_object(self._subsystem(), number or 0)
        if "MATLAB_object_decode" in item.attrs or kind in ("string", "function_handle"):
            return MatValue("object", shape[::-1])
        if kind == "char":
            empty = "MATLAB_empty" in item.attrs
            return MatValue("text", (1,) if empty else shape[-1:], lambda: self._texts(item, empty))
        if references(item):
            return self._cells(item, depth)
        return MatValue("numbers", shape[::-1], lambda: read_dataset(self.source, item).T)

    def _cells(self, item: Any, depth: int) -> MatValue:
        if item.size > MOST_CELLS:
            raise ValueError(f"{item.name} declares {item.size} cells; at most {MOST_CELLS}")
        check_dataset(self.source, item)
        references = np.asarray(item[()], dtype=object)  # a damaged file may hold a bare one
        inside = [self._value(self.file[one], depth + 1) for one in references.T.ravel("F")]
        return MatValue("cells", item.shape[::-1], children=inside)

    def _subsystem(self) -> Sequence[MatValue]:
        """The cells in which objects lie."""
        if self._cells_of_objects is None:
            self._cells_of_objects = ()  # an object inside finds nothing, and does not recurse
            item = self.file.get("#subsystem#/MCOS")
            if item is not None and is_dataset(item) and references(item):
                self._cells_of_objects = self._cells(item, 1).children
        return self._cells_of_objects

    def _texts(self, item: Any, empty: bool) -> np.ndarray:
        codes = np.zeros((1, 0)) if empty else read_dataset(self.source, item).T
        if codes.dtype.kind not in "ui" and codes.size:
            raise ValueError(f"{item.name} is text, but holds {codes.dtype}")
        return np.array(["".join(map(chr, row)) for row in codes.reshape(len(codes), -1)])


def _matlab_class(item: Any) -> str:
    """The name of its class in MATLAB; "" where the file was written by other programs."""
    name = item.attrs.get("MATLAB_class", b"")
    return name.decode("ascii", "replace") if isinstance(name, bytes) else ""
