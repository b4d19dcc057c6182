"""MATLAB's files of version 4: a header of 20 bytes, a name and numbers, again and again."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from tenfold.datasets.mat_values import MatValue

NUMBERS = {0: "f8", 1: "f4", 2: "i4", 3: "i2", 4: "u2", 5: "u1"}
FULL, TEXT, SPARSE = range(3)
LONGEST_NAME = 4096


class Mat4File:
    """The variables of a file.

    Parameters
    ----------
    source : Path
        The file.
    """

    def __init__(self, source: Path) -> None:
        self.source = source
        self.size = source.stat().st_size
        with source.open("rb") as file:
            start = file.read(4)
        little = len(start) == 4 and 0 <= struct.unpack("<i", start)[0] < 5000
        self.byte_order = "<" if little else ">"

    def values(self) -> Iterator[tuple[str, MatValue]]:
        """Every variable that is not sparse."""
        at = 0
        with self.source.open("rb") as file:
            while at < self.size:
                file.seek(at)
                head = file.read(20)
                if len(head) < 20:
                    raise ValueError(f"it ends inside the header at byte {at}")
                mopt, rows, columns, imaginary, name_length = struct.unpack(
                    f"{self.byte_order}5i", head
                )
                machine, zero, precision, kind = (mopt // 10**i % 10 for i in (3, 2, 1, 0))
                if (
                    not 0 <= mopt < 2000
                    or (machine, zero) != (int(self.byte_order == ">"), 0)
                    or precision not in NUMBERS
                    or kind not in (FULL, TEXT, SPARSE)
                    or min(rows, columns) < 0
                    or imaginary not in (0, 1)
                    or not 0 < name_length <= LONGEST_NAME
                ):
                    raise ValueError(f"the header at byte {at} is not one of version 4")
                name = file.read(name_length).split(b"\0")[0].decode("latin-1")
                dtype = np.dtype(NUMBERS[precision]).newbyteorder(self.byte_order)
                start, parts = at + 20 + name_length, 1 + imaginary
                at = start + rows * columns * dtype.itemsize * parts
                if at > self.size:
                    raise ValueError(
                        f"array {name!r} declares {rows} x {columns} numbers; the file ends before"
                    )
                if kind != SPARSE:
                    dims = (rows,) if kind == TEXT else (rows, columns)
                    read = self._reader(start, (rows, columns), dtype, parts, kind)
                    yield name, MatValue("text" if kind == TEXT else "numbers", dims, read)

    def _reader(
        self, start: int, dims: tuple[int, int], dtype: np.dtype, parts: int, kind: int
    ) -> Callable[[], np.ndarray]:
        def read() -> np.ndarray:
            count = dims[0] * dims[1]
            with self.source.open("rb") as file:
                file.seek(start)
                data = file.read(count * dtype.itemsize * parts)
            numbers = np.frombuffer(data, dtype, count * parts).astype(dtype.newbyteorder("="))
            if parts == 2:
                numbers = numbers[:count] + 1j * numbers[count:]
            array = numbers.reshape(dims, order="F")
            return _texts(array) if kind == TEXT else array

        return read


def _texts(codes: np.ndarray) -> np.ndarray:
    if not (np.isfinite(codes).all() and (codes >= 0).all() and (codes < 256).all()):
        raise ValueError("a text has characters beyond 255")
    return np.array(["".join(map(chr, row.astype(int))) for row in codes], dtype=str)
