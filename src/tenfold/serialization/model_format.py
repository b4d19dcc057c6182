"""Model files: arrays and a JSON header in one safetensors file, and nothing that runs.

A model file is an ordinary safetensors file: eight bytes with the length of a JSON table, the
table, then the numbers. Its metadata hold one entry, ``tenfold``, again JSON:

    format      "major.minor" of this layout
    checksum    SHA-256 over the rest of this entry and all numbers
    versions    of Python and the libraries that wrote the file
    summary     what a person wants to know first
    labels      lists of class labels, each with its dtype
    model       method, parameters and what was learned, as `tenfold.methods.saving` packs them
    moments     in a file of moments, in place of `model`: counts, means and scatters of classes
    reading     how the samples were read from their file, as options of the loaders

A newer minor version may add entries that an older reader can leave out without changing a
prediction. Anything else is a new major version, which an older reader refuses.

The checksum finds damage, not malice: whoever can write the file can write its checksum. So
nothing in a file is trusted: sizes are compared with the size of the file before anything is
allocated, and only numbers, words and the names of known methods are ever read.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from io import BufferedReader
from math import prod
from typing import Any

import numpy as np

from tenfold.linalg.algebra import Array
from tenfold.serialization.atomic_write import whole_file

FORMAT = (3, 1)
HEADER_LIMIT = 4 * 2**20  # bytes of a header that any file may have
LARGEST_HEADER = 64 * 2**20  # of a file with many numbers: room for a bank of 30 000 classes
HEADER_PER_NUMBERS = 32  # bytes of a larger header for each byte of numbers
NESTING_LIMIT = 200_000  # lists and objects in a header; more would take seconds to read
BYTES_PER_NESTING = 32  # of a larger header for each list or object; banks have 44
DTYPES: dict[str, np.dtype] = {"F64": np.dtype("<f8"), "F32": np.dtype("<f4")}
MAY_BE_INFINITE = "objective_"  # a ratio whose denominator may vanish; no prediction reads it


class ModelFileError(ValueError):
    """A file that is not a sound tenfold model; the message names the file and the problem."""


@contextmanager
def errors_named(path: str | os.PathLike[str]) -> Iterator[None]:
    """Errors about what a file holds become a `ModelFileError` that names the file."""
    try:
        yield
    except RecursionError as error:
        raise ModelFileError(f"cannot load {path}: its header is nested too deep") from error
    except (ValueError, TypeError) as error:
        raise ModelFileError(f"cannot load {path}: {error!s:.600}") from error


# ── Writing ─────────────────────────────────────────────────────────────────────────────────────


def write(
    path: str | os.PathLike[str], header: Mapping[str, object], arrays: Mapping[str, Array]
) -> None:
    """Write a model file in one step: whoever looks sees the old file or the whole new one.

    Parameters
    ----------
    path : path-like
        Where to; an existing file is replaced.
    header : mapping of str to JSON values
        The entries `summary`, `labels`, `model` and `reading`; the others are added here.
    arrays : mapping of str to ndarrays of float64 or float32
        The numbers.
    """
    _check_finite(arrays)
    wide_first = sorted(arrays, key=lambda name: -arrays[name].itemsize)  # so all are aligned
    rows = {name: _row_by_row(arrays[name]) for name in wide_first}
    full = {"format": ".".join(map(str, FORMAT)), "versions": _versions(), **header}
    full["checksum"] = _checksum(full, rows)
    table: dict[str, Any] = {"__metadata__": {"tenfold": json.dumps(full, allow_nan=False)}}
    end = 0
    for name, array in rows.items():
        begin = end
        end = end + array.nbytes
        kind = f"F{8 * array.itemsize}"
        table[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": [begin, end]}
    text = json.dumps(table).encode("ascii")
    text += b" " * (-len(text) % 8)
    limit = _header_limit(8 + len(text) + end)
    if len(text) > limit or _nesting(text) > _nesting_limit(len(text)):
        raise ValueError(
            f"this model has too many parts or labels for a model file: its header takes "
            f"{len(text)} bytes of at most {limit}; save its projectors_ one by one"
        )
    with whole_file(path) as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for array in rows.values():
            file.write(_bytes(array))


def _versions() -> dict[str, str]:
    libraries = ("tenfold", "numpy", "scipy", "scikit-learn")
    return {"python": platform.python_version()} | {name: version(name) for name in libraries}


def _row_by_row(array: Array) -> Array:
    """An array as it stands in a file."""
    if array.dtype not in DTYPES.values():
        raise ValueError(f"arrays of {array.dtype} cannot be stored; expected float64 or float32")
    return np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))


# ── Reading ─────────────────────────────────────────────────────────────────────────────────────


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Array]]:
    """Read and verify a model file; `tenfold.load_model` makes an estimator of what it says.

    Parameters
    ----------
    path : path-like
        A file that `save` wrote.

    Returns
    -------
    header : dict
        Format, versions, summary, labels and model.
    arrays : dict of str to ndarray
        The numbers, row by row.

    Raises
    ------
    ModelFileError
        If the file is damaged, foreign, hostile or of a newer major version.
    """
    if os.path.exists(path) and not os.path.isfile(path):
        raise ModelFileError(f"cannot load {path}: it is not a regular file")
    with open(path, "rb") as file, errors_named(path):
        return _read(file, os.fstat(file.fileno()).st_size)


def _read(file: BufferedReader, size: int) -> tuple[dict[str, object], dict[str, Array]]:
    table = _json(_header_bytes(file, size), "its table of arrays")
    header = _tenfold_header(table.pop("__metadata__", None))
    rows = _arrays(file, table, size - file.tell())
    if header.get("checksum") != _checksum(header, rows):
        raise ValueError("its checksum is wrong, so some of it was changed; get the file again")
    _check_described(header)
    _check_finite(rows)
    native = {name: array.dtype.newbyteorder("=") for name, array in rows.items()}
    return header, {name: array.astype(native[name], copy=False) for name, array in rows.items()}


def _header_bytes(file: BufferedReader, size: int) -> bytes:
    start = file.read(9)
    length = int.from_bytes(start[:8], "little")
    if size < 10 or start[8:] != b"{":
        raise ValueError("it is not a safetensors file; pass a file that save wrote")
    limit = _header_limit(size)
    if length > limit:
        raise ValueError(
            f"it declares a header of {length} bytes, but tenfold writes at most {limit} in a "
            f"file of {size} bytes"
        )
    if length > size - 8:
        raise ValueError(
            f"it is cut short: its header takes {length} bytes, but only {size - 8} are there"
        )
    file.seek(8)
    text = file.read(length)
    if _nesting(text) > _nesting_limit(length):
        raise ValueError("its header holds more lists and objects than any model has")
    return text


def _header_limit(size: int) -> int:
    """The largest header of a file of this size: it grows with the numbers beside it."""
    of_numbers = HEADER_PER_NUMBERS * size // (HEADER_PER_NUMBERS + 1)
    return max(HEADER_LIMIT, min(LARGEST_HEADER, of_numbers))


def _nesting_limit(length: int) -> int:
    """How many lists and objects a header of this length may hold."""
    return max(NESTING_LIMIT, length // BYTES_PER_NESTING)


def _nesting(text: bytes) -> int:
    return text.count(b"[") + text.count(b"{")


def _json(text: bytes | str, what: str) -> dict[str, object]:
    try:
        value = json.loads(text, parse_constant=_refuse)
    except ValueError as error:
        raise ValueError(f"{what} is not valid JSON ({error}); get the file again") from error
    if not isinstance(value, dict):
        raise ValueError(f"{what} is not a JSON object; get the file again")
    return value


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def _tenfold_header(metadata: object) -> dict[str, object]:
    text = metadata.get("tenfold") if isinstance(metadata, dict) else None
    if not isinstance(text, str):
        raise ValueError("it is a safetensors file of another program, without a tenfold header")
    header = _json(text, "its tenfold header")
    major, _, minor = str(header.get("format")).partition(".")
    if not (major.isdecimal() and minor.isdecimal() and len(major) + len(minor) < 9):
        raise ValueError(f"its format version is {header.get('format')!r:.50}, not major.minor")
    if int(major) < FORMAT[0]:
        raise ValueError(
            f"it has format {major}.{minor}, of before {FORMAT[0]}.0, which is no longer read; fit "
            "the model again and save it"
        )
    if int(major) > FORMAT[0]:
        raise ValueError(
            f"it has format {major}.{minor}, but this tenfold reads formats up to "
            f"{FORMAT[0]}.x; upgrade tenfold: pip install --upgrade tenfold"
        )
    return header


def _check_described(header: Mapping[str, object]) -> None:
    """Refuse a header without the versions and the summary that every file has."""
    versions = header.get("versions")
    summary = header.get("summary")
    if not isinstance(versions, dict) or not all(isinstance(v, str) for v in versions.values()):
        raise ValueError(
            f"its header has versions {versions!r:.80}; expected the names of libraries with their "
            "versions; get the file again, or save the model again"
        )
    if not isinstance(summary, dict):
        raise ValueError(
            f"its header has the summary {summary!r:.80}; expected facts by name; get the file "
            "again, or save the model again"
        )


def _arrays(file: BufferedReader, table: dict[str, Any], size: int) -> dict[str, Array]:
    """The arrays in the order of the file; they fill it without a gap or an overlap."""
    places = sorted(_place(name, entry) for name, entry in table.items())
    position = 0
    for begin, end, name, *_ in places:
        if begin != position:
            raise ValueError(
                f"array {name!r:.80} starts at byte {begin}, not {position}: the arrays overlap or "
                "leave a gap; get the file again"
            )
        position = end
    if position != size:
        how = "cut short" if position > size else "too long"
        raise ValueError(f"it is {how}: its arrays take {position} bytes, but {size} are there")
    rows = {name: np.empty(shape, dtype=DTYPES[kind]) for _, _, name, kind, shape in places}
    for array in rows.values():
        file.readinto(_bytes(array))  # of a file that is cut meanwhile the checksum is wrong
    return rows


def _place(name: str, entry: Any) -> tuple[int, int, str, str, tuple[int, ...]]:
    """Where an array begins and ends, its name, type and shape."""
    try:
        dtype, shape, (begin, end) = entry["dtype"], entry["shape"], entry["data_offsets"]
        numbers = [begin, end, *shape]
    except (TypeError, KeyError, ValueError) as error:
        raise ValueError(f"array {name!r:.80} has no proper dtype, shape and offsets") from error
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise ValueError(f"array {name!r:.80} has dtype {dtype!r:.20}; expected F64 or F32")
    if not all(type(number) is int and 0 <= number < 2**48 for number in numbers):
        raise ValueError(f"array {name!r:.80} has a shape or offsets that no array can have")
    if len(shape) > 32 or prod(shape) * DTYPES[dtype].itemsize != end - begin:
        raise ValueError(
            f"array {name!r:.80} has a shape that does not fit its {end - begin} bytes"
        )
    return begin, end, name, dtype, tuple(shape)


# ── Both ────────────────────────────────────────────────────────────────────────────────────────


def _checksum(header: Mapping[str, object], rows: Mapping[str, Array]) -> str:
    """SHA-256 over the header without its checksum, and the arrays in the order of names."""
    signed = {name: value for name, value in header.items() if name != "checksum"}
    text = json.dumps(signed, sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(text.encode("ascii"))
    for name in sorted(rows):
        digest.update(json.dumps([name, rows[name].dtype.str, rows[name].shape]).encode("ascii"))
        digest.update(_bytes(rows[name]))
    return f"sha256:{digest.hexdigest()}"


def _bytes(array: Array) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


def _check_finite(arrays: Mapping[str, Array]) -> None:
    for name, array in arrays.items():
        if MAY_BE_INFINITE not in name and not np.isfinite(array).all():
            raise ValueError(f"array {name!r:.80} holds NaN or infinity, which no model may")
