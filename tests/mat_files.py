"""MATLAB files of version 5 written by hand: what SciPy cannot write, such as string arrays."""

import struct

import numpy as np


def element(kind, data):
    return struct.pack("<II", kind, len(data)) + data + b"\0" * (-len(data) % 8)


def array(name, dims, numbers, array_class=6):
    flags = element(6, struct.pack("<II", array_class, 0))
    shape = element(5, struct.pack(f"<{len(dims)}i", *dims))
    return element(14, flags + shape + element(1, name) + numbers)


def mat5(path, *arrays):
    head = b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack("<H", 0x0100) + b"IM"
    path.write_bytes(head + b"".join(arrays))
    return path


def string_numbers(texts):
    """The contents of a string array of shape (n, 1), as MATLAB stores them."""
    units = "".join(texts).encode("utf-16-le")
    units += b"\0" * (-len(units) % 8)
    head = [1, 2, len(texts), 1, *(len(text) for text in texts)]
    return np.array([*head, *np.frombuffer(units, "<u8").tolist()], dtype=np.uint64)


def object_table(n_objects):
    """The first cell of the subsystem: names, classes, properties, objects."""
    names = b"any\0string\0"
    names += b"\0" * (-len(names) % 8)
    classes = struct.pack("<8I", 0, 0, 0, 0, 0, 2, 0, 0)
    properties = struct.pack("<2I", 0, 0)
    objects = struct.pack("<6I", *[0] * 6)
    for number in range(n_objects):
        properties += struct.pack("<4I", 1, 1, 1, number)
        objects += struct.pack("<6I", 1, 0, 0, number + 1, 0, number + 1)
    parts = [names, classes, properties, objects]
    offsets, at = [], 40
    for part in parts:
        at += len(part)
        offsets.append(at)
    offsets = [offsets[0], offsets[1], offsets[2], *[offsets[3]] * 5]
    return struct.pack("<2I8I", 4, 2, *offsets) + b"".join(parts)


def opaque(name, words, inside):
    flags = element(6, struct.pack("<II", 17, 0))
    said = b"".join(element(1, word) for word in ([name] if name else []) + words)
    return element(14, flags + said + inside)


def string_variable(name, number):
    numbers = struct.pack("<6I", 0xDD000000, 2, 1, 1, number, 1)
    return opaque(name, [b"MCOS", b"string"], array(b"", (6, 1), element(6, numbers), 13))


def unnamed_string(number):
    """A string array inside a structure or cell: its name is there and is empty."""
    numbers = struct.pack("<6I", 0xDD000000, 2, 1, 1, number, 1)
    inside = array(b"", (6, 1), element(6, numbers), 13)
    return opaque(None, [b"", b"MCOS", b"string"], inside)


def subsystem(*string_arrays):
    table = object_table(len(string_arrays))
    cells = array(b"", (len(table), 1), element(2, table), 9) + element(14, b"")
    for texts in string_arrays:
        numbers = string_numbers(texts)
        cells += array(b"", (len(numbers), 1), element(13, numbers.tobytes()), 15)
    cells += b"".join(array(b"", (1, 1), element(6, bytes(4)), 13) for _ in range(3))
    inside = array(b"", (len(string_arrays) + 5, 1), cells, 1)
    wrapper = opaque(b"", [b"MCOS", b"FileWrapper__"], inside)
    fields = element(5, struct.pack("<i", 5)) + element(1, b"MCOS\0")
    data = b"\0\1IM" + bytes(4) + array(b"", (1, 1), fields + wrapper, 2)
    return array(b"", (1, len(data)), element(2, data), 9)
