"""The arrays of a .mat file, whatever its version."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np

from tenfold.datasets.hdf5_file import is_hdf5, opened
from tenfold.datasets.locations import reading
from tenfold.datasets.mat4_file import Mat4File
from tenfold.datasets.mat5_file import Mat5File
from tenfold.datasets.mat73_file import Mat73File
from tenfold.datasets.mat_values import MatValue, as_array, flat_values

_DAMAGE = (
    ValueError,
    TypeError,
    LookupError,
    OSError,
    RuntimeError,
    EOFError,
    OverflowError,
    zlib.error,
    struct.error,
)


@contextmanager
def mat_values(source: Path) -> Iterator[dict[str, MatValue]]:
    """All arrays of a .mat file by name, those of structures as ``name.field``; read on demand."""
    with reading(source, ".mat file", *_DAMAGE), ExitStack() as stack:
        if is_hdf5(source):
            found = Mat73File(source, stack.enter_context(opened(source))).values()
        else:
            found = (Mat4File if _is_version_4(source) else Mat5File)(source).values()
        flat = dict(part for name, value in found for part in flat_values(name, value))
        yield {name: value for name, value in flat.items() if value.kind != "object"}


def mat_arrays(
    source: Path, values: Mapping[str, MatValue], names: list[str]
) -> dict[str, np.ndarray]:
    """The arrays of these names."""
    return {name: as_array(source, name, values[name]) for name in names}


def _is_version_4(source: Path) -> bool:
    """Later versions begin with text; the first number of version 4 has a byte that is zero."""
    with source.open("rb") as file:
        return 0 in file.read(4)
