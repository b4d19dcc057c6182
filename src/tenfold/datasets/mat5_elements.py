"""The elements that .mat files of version 5 to 7 are made of: a tag (type, size), then bytes."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from math import prod
from typing import NamedTuple

import numpy as np

COMPRESSED = 15
TEXTS = {1: "latin-1", 2: "latin-1", 4: "utf-16", 16: "utf-8", 17: "utf-16", 18: "utf-32"}
LONGEST_BLANK = 4096  # characters of a text that is stored without any


class Element(NamedTuple):
    """Type and bytes of one element."""

    kind: int
    data: memoryview


def elements_of(data: memoryview, byte_order: str, whole: bool = True) -> Iterator[Element]:
    """The elements that follow each other; a cut one at the end is left out unless `whole`."""
    at = 0
    while at < len(data):
        if len(data) - at < 8:
            if whole:
                raise ValueError("an array ends inside the tag of an element")
            return
        kind, size = struct.unpack_from(f"{byte_order}II", data, at)
        start, end = at + 8, at + 8 + size
        if kind >> 16:  # a small element: size and type share the first half of the tag
            kind, size, start = kind & 0xFFFF, kind >> 16, at + 4
            end = start + size
            if size > 4:
                raise ValueError(f"a small element declares {size} bytes; at most 4 fit")
            at += 8
        else:
            at = end + (-size % 8 if kind != COMPRESSED else 0)
        if end > len(data):
            if whole:
                there = len(data) - start
                raise ValueError(f"an element declares {size} bytes; {there} are there")
            return
        yield Element(kind, data[start:end])


def next_element(elements: Iterator[Element], what: str) -> Element:
    """The next element, or a ValueError that says what is missing."""
    found = next(elements, None)
    if found is None:
        raise ValueError(f"an array ends before its {what}")
    return found


def text_rows(element: Element, dims: tuple[int, ...], byte_order: str) -> np.ndarray:
    """Rows of characters, one text each."""
    count = prod(dims)
    if element.kind not in TEXTS:
        raise ValueError(f"text is of type {element.kind}, which is none of MATLAB's")
    coding = TEXTS[element.kind]
    if coding in ("utf-16", "utf-32"):
        coding += "-le" if byte_order == "<" else "-be"
    text = bytes(element.data).decode(coding, "replace")
    if not text and count <= LONGEST_BLANK:
        text = " " * count
    if len(text) != count:
        raise ValueError(f"a text of {count} characters has {len(text)}")
    if not count:
        return np.array([""])
    letters = np.array(list(text), dtype="U1").reshape(dims, order="F")
    joined = ["".join(row) for row in letters.reshape(-1, dims[-1])]
    return np.array(joined).reshape(dims[:-1])
