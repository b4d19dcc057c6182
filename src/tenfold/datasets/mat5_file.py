"""MATLAB's files of version 5 to 7, read by hand.

SciPy's reader is compiled, trusts what a file says of itself, and ends the interpreter when a
damaged one lies to it. This one is plain Python over bytes: every size is compared with the bytes
that are there, so the worst that a file can do is a ValueError. String arrays are objects and are
read by `mat_strings`. Objects of other classes (tables, function handles) are passed over; their
place is known, their contents are not.

A file is a sequence of elements: a tag (type, number of bytes), then the bytes. An array is an
element of type `MATRIX` that holds further ones: flags, dimensions, name, and the numbers.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tenfold.datasets.mat5_elements import (
    COMPRESSED,
    Element,
    elements_of,
    next_element,
    text_rows,
)
from tenfold.datasets.mat_strings import object_number, text_of_object
from tenfold.datasets.mat_values import MatValue, filled_later
from tenfold.datasets.sizes import LARGEST_RATIO, check_memory

HEADER_BYTES = 128
DEEPEST = 32  # cells in cells in cells
MOST_AXES = 32  # as NumPy had it for long
PEEK = 8192  # bytes of a compressed array that are enough for its name and shape

INT8, INT32, UINT32, MATRIX, UTF8 = 1, 5, 6, 14, 16
NUMBERS = {
    1: "i1",
    2: "u1",
    3: "i2",
    4: "u2",
    5: "i4",
    6: "u4",
    7: "f4",
    9: "f8",
    12: "i8",
    13: "u8",
}
CELL, STRUCT, OBJECT, CHAR, SPARSE, OPAQUE = 1, 2, 3, 4, 5, 17
NUMERIC = range(6, 16)
COMPLEX, LOGICAL = 0x800, 0x200


class Variable(NamedTuple):
    """Where a variable lies in the file."""

    offset: int
    size: int
    compressed: bool


@dataclass(frozen=True)
class MatHeader:
    """What an array says of itself before its contents."""

    name: str
    kind: int
    dims: tuple[int, ...]
    flags: int
    rest: Any  # the elements behind


class Mat5File:
    """The variables of a file.

    Parameters
    ----------
    source : Path
        The file.
    """

    def __init__(self, source: Path) -> None:
        self.source = source
        with source.open("rb") as file:
            head = file.read(HEADER_BYTES)
            self.size = file.seek(0, 2)
        mark = head[126:128]
        if len(head) < HEADER_BYTES or mark not in (b"IM", b"MI"):
            raise ValueError("it does not begin as a .mat file does")
        self.byte_order = "<" if mark == b"IM" else ">"

    def values(self) -> Iterator[tuple[str, MatValue]]:
        """Every variable, read as far as its shape asks for."""
        strings: list[tuple[str, int]] = []
        subsystem = None
        with self.source.open("rb") as file:
            for place in self._places(file):
                header = self._header(self._bytes(file, place, PEEK), whole=False)
                if header.kind == OPAQUE:
                    strings += self._strings(header)
                elif header.name:
                    yield header.name, self._value(file, place, header)
                else:
                    subsystem = place
        if strings and subsystem is not None:
            cells = self._subsystem(subsystem)
            for name, number in strings:
                yield name, text_of_object(cells, number)

    def _strings(self, header: MatHeader) -> list[tuple[str, int]]:
        """Name and object number of a variable that is a string array; nothing for others."""
        words: list[str] = []
        for element in header.rest:
            if element.kind == MATRIX:
                inner = self._header(element.data)
                known = words[-1:] == ["string"] and inner.kind in NUMERIC
                number = object_number(self._numbers(inner)) if known else None
                return [] if number is None else [(words[0], number)]
            words.append(bytes(element.data).decode("utf-8", "replace"))
        return []

    def _subsystem(self, place: Variable) -> Sequence[MatValue]:
        """The cells in which objects lie: a small file in the last array, behind 8 bytes."""
        data = memoryview(np.ascontiguousarray(self._numbers(self._again(place)).ravel("F")))
        for element in elements_of(data.cast("B")[8:], self.byte_order, whole=False):
            if element.kind == MATRIX:
                found = self._opened(self._header(element.data), 0)
                return next((one.children for one in found.fields.get("MCOS", ())), ())
        return ()

    def _value(self, file: Any, place: Variable, header: MatHeader) -> MatValue:
        if header.kind in NUMERIC:  # the shape is known, and the numbers can wait
            return MatValue("numbers", header.dims, lambda: self._numbers(self._again(place)))
        return self._opened(self._header(self._bytes(file, place, None)), 0)

    def _again(self, place: Variable) -> MatHeader:
        with self.source.open("rb") as file:
            return self._header(self._bytes(file, place, None))

    def _places(self, file: Any) -> Iterator[Variable]:
        offset = HEADER_BYTES
        while offset < self.size:
            file.seek(offset)
            tag = file.read(8)
            if len(tag) < 8:
                raise ValueError(f"it ends inside the tag at byte {offset}")
            kind, size = struct.unpack(f"{self.byte_order}II", tag)
            if kind not in (MATRIX, COMPRESSED):
                raise ValueError(f"an element at byte {offset} is of type {kind}, not an array")
            if size > self.size - offset - 8:
                raise ValueError(
                    f"the array at byte {offset} declares {size} bytes; {self.size - offset - 8} "
                    "are there"
                )
            yield Variable(offset + 8, size, kind == COMPRESSED)
            offset += 8 + size

    def _bytes(self, file: Any, place: Variable, most: int | None) -> memoryview:
        """The contents of a variable, or the first `most` bytes of them."""
        file.seek(place.offset)
        if not place.compressed:
            return memoryview(file.read(place.size if most is None else min(most, place.size)))
        stored = file.read(place.size)
        unpacking = zlib.decompressobj()
        tag = unpacking.decompress(stored, 8)
        if len(tag) < 8:
            raise ValueError(f"the compressed array at byte {place.offset} is empty")
        kind, size = struct.unpack(f"{self.byte_order}II", tag)
        if kind != MATRIX or size > LARGEST_RATIO * place.size:
            raise ValueError(
                f"the compressed array at byte {place.offset} declares type {kind} and {size} "
                f"bytes; it has {place.size}"
            )
        check_memory(self.source, "one array", size)
        wanted = size if most is None else min(most, size)
        if wanted == 0:
            return memoryview(b"")
        data = unpacking.decompress(unpacking.unconsumed_tail, wanted)
        if len(data) < wanted:
            raise ValueError(f"the compressed array at byte {place.offset} ends too soon")
        if most is None:
            more = unpacking.decompress(unpacking.unconsumed_tail, 1)  # reads the checksum
            if more or not unpacking.eof:
                raise ValueError(f"the compressed array at byte {place.offset} has no end")
        return memoryview(data)

    def _header(self, data: memoryview, whole: bool = True) -> MatHeader:
        if not len(data):
            return MatHeader("", 6, (0, 0), 0, iter(()))  # MATLAB's [] inside cells
        elements = elements_of(data, self.byte_order, whole)
        flags = next_element(elements, "flags")
        if flags.kind not in (INT32, UINT32) or len(flags.data) != 8:
            raise ValueError("an array has no flags")
        (word, _) = struct.unpack(f"{self.byte_order}II", flags.data)
        if word & 0xFF == OPAQUE:
            return MatHeader("", OPAQUE, (), 0, elements)
        dims = next_element(elements, "dimensions")
        if dims.kind not in (INT32, UINT32) or len(dims.data) % 4 or not dims.data:
            raise ValueError("an array has no dimensions")
        shape = np.frombuffer(dims.data, f"{self.byte_order}i4").tolist()
        if len(shape) > MOST_AXES or min(shape) < 0:
            raise ValueError(f"an array declares the shape {tuple(shape[:8])}")
        name = next_element(elements, "name")
        if name.kind not in (INT8, 2, UTF8):
            raise ValueError(f"the name of an array is of type {name.kind}, not text")
        text = bytes(name.data).decode("utf-8", "strict")
        return MatHeader(text, word & 0xFF, tuple(shape), word, elements)

    def _opened(self, header: MatHeader, depth: int) -> MatValue:
        """An array with all that is inside."""
        if depth > DEEPEST:
            raise ValueError(f"arrays lie more than {DEEPEST} deep in each other")
        if header.kind in NUMERIC:
            numbers = self._numbers(header)
            return MatValue("numbers", header.dims, lambda: numbers)
        if header.kind == CHAR:
            texts = text_rows(next_element(header.rest, "text"), header.dims, self.byte_order)
            return MatValue("text", texts.shape, lambda: texts)
        if header.kind == SPARSE and not header.flags & COMPLEX:
            return MatValue("sparse", header.dims, self._sparse(header))
        if header.kind == CELL:
            inside = self._inside(header, prod(header.dims), depth)
            return MatValue("cells", header.dims, children=inside)
        if header.kind == STRUCT:
            return self._structure(header, depth)
        if header.kind == OPAQUE:  # of the subsystem: it holds cells
            for element in header.rest:
                inner = self._header(element.data) if element.kind == MATRIX else None
                if inner is not None and inner.kind == CELL:
                    inside = self._inside(inner, prod(inner.dims), depth)
                    return MatValue("object", inner.dims, children=inside)
        return MatValue("object", header.dims)

    def _inside(self, header: MatHeader, count: int, depth: int) -> list[MatValue]:
        found: list[MatValue] = []
        while len(found) < count:  # every one takes bytes, so a large count ends too soon
            element = next_element(header.rest, "cell")
            if element.kind != MATRIX:
                raise ValueError(f"a cell holds an element of type {element.kind}, not an array")
            found.append(self._opened(self._header(element.data), depth + 1))
        return found

    def _structure(self, header: MatHeader, depth: int) -> MatValue:
        width = next_element(header.rest, "length of field names")
        names = next_element(header.rest, "field names")
        length = int.from_bytes(width.data, "little" if self.byte_order == "<" else "big")
        if width.kind not in (INT32, UINT32) or not 0 < length <= 4096 or len(names.data) % length:
            raise ValueError("a structure has no names of fields")
        raw = bytes(names.data)
        cut = [raw[i : i + length].split(b"\0")[0] for i in range(0, len(raw), length)]
        fields = [name.decode("utf-8", "replace") for name in cut]
        count = prod(header.dims) * len(fields)
        values = self._inside(header, count, depth)
        rows = {name: values[i :: len(fields)] for i, name in enumerate(fields)}
        return MatValue("structure", header.dims, fields=rows)

    def _numbers(self, header: MatHeader) -> np.ndarray:
        if not header.name and not prod(header.dims) and (header.flags == 0):
            return np.zeros(header.dims)
        real = self._vector(next_element(header.rest, "numbers"), prod(header.dims))
        if header.flags & COMPLEX:
            real = real + 1j * self._vector(next_element(header.rest, "numbers"), prod(header.dims))
        return real.reshape(header.dims, order="F")

    def _vector(self, element: Element, count: int | None) -> np.ndarray:
        if element.kind not in NUMBERS:
            raise ValueError(f"numbers are of type {element.kind}, which is none of MATLAB's")
        dtype = np.dtype(NUMBERS[element.kind]).newbyteorder(self.byte_order)
        if len(element.data) % dtype.itemsize or (
            count is not None and len(element.data) != count * dtype.itemsize
        ):
            wanted = "whole numbers" if count is None else f"{count} numbers"
            raise ValueError(f"an array of {wanted} has {len(element.data)} bytes")
        vector: np.ndarray = np.frombuffer(element.data, dtype).astype(dtype.newbyteorder("="))
        return vector

    def _sparse(self, header: MatHeader) -> Callable[[], np.ndarray]:
        """A sparse matrix; it is filled with its zeros when it is asked for."""
        if len(header.dims) != 2:
            raise ValueError(f"a sparse matrix has {len(header.dims)} axes")
        rows = self._vector(next_element(header.rest, "rows"), None)
        ends = self._vector(next_element(header.rest, "columns"), None)
        stored = next_element(
            header.rest, "numbers"
        )  # logical ones are bytes, whatever their tag says
        logical = header.flags & LOGICAL and len(stored.data) == len(rows)
        data = self._vector(Element(2, stored.data) if logical else stored, None)
        return filled_later(header.dims, rows, ends, data)
