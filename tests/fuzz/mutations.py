"""Ways to damage a file: of bytes, and of what the bytes of a format mean."""

import gzip
import io
import json
import re
import struct
import zipfile
import zlib

NUMBERS = [0, 1, 2, 3, 4, 7, 8, 255, 256, 4096, 65535, 2**20, 2**24, 2**31 - 1, 2**31, 2**32 - 1]
LARGE = [*NUMBERS, 2**33, 2**35, 2**40, 2**62, 2**63, 2**64 - 1]


def flip_bits(data, other, dice):
    data = bytearray(data)
    for _ in range(dice.choice([1, 1, 1, 2, 8])):
        data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
    return bytes(data)


def flip_early_bits(data, other, dice):
    """The first bytes say what the others mean."""
    cut = min(len(data), 256)
    return flip_bits(data[:cut], other, dice) + data[cut:]


def truncate(data, other, dice):
    return data[: dice.randrange(len(data))]


def lengthen(data, other, dice):
    return data + dice.randbytes(dice.choice([1, 8, 64, 1000]))


def erase_a_part(data, other, dice):
    a, b = sorted(dice.sample(range(len(data) + 1), 2))
    return data[:a] + bytes([dice.choice([0, 0, 255])]) * (b - a) + data[b:]


def drop_a_part(data, other, dice):
    a = dice.randrange(len(data))
    return data[:a] + data[a + dice.choice([1, 2, 4, 8, 64]) :]


def repeat_a_part(data, other, dice):
    a, b = sorted(dice.sample(range(len(data) + 1), 2))
    return data[:b] + data[a : min(b, a + 4096)] * dice.choice([1, 2, 16]) + data[b:]


def swap_parts(data, other, dice):
    a, b, c = sorted(dice.sample(range(len(data) + 1), 3))
    return data[:a] + data[b:c] + data[a:b] + data[c:]


def splice(data, other, dice):
    return data[: dice.randrange(len(data))] + other[dice.randrange(len(other)) :]


def write_a_number(data, other, dice):
    """A number of 2, 4 or 8 bytes somewhere, mostly where numbers lie."""
    size, order = dice.choice([2, 4, 4, 4, 8]), dice.choice("<<<>")
    at = dice.randrange(max(1, len(data) - size))
    at -= at % dice.choice([1, size, size])
    value = dice.choice([*LARGE, len(data), len(data) - at])
    code = {2: "H", 4: "I", 8: "Q"}[size]
    return data[:at] + struct.pack(order + code, value % 2 ** (8 * size)) + data[at + size :]


BYTES = [
    flip_bits,
    flip_bits,
    flip_early_bits,
    truncate,
    lengthen,
    erase_a_part,
    drop_a_part,
    repeat_a_part,
    swap_parts,
    splice,
    write_a_number,
    write_a_number,
    write_a_number,
]


def anyhow(data, other, dice):
    """One or a few of the ways above."""
    for _ in range(dice.choice([1, 1, 1, 2, 3])):
        if len(data) < 16:
            return data
        data = dice.choice(BYTES)(data, other, dice)
    return data


# ── Inside what is packed ───────────────────────────────────────────────────────────────────────


def inside_mat5(data, other, dice):
    """The contents of one compressed array, packed again with the right checksum."""
    at, places = 128, []
    while at + 8 <= len(data):
        kind, size = struct.unpack_from("<II", data, at)
        places.append((kind, at, size))
        at += 8 + size
    packed = [place for place in places if place[0] == 15]
    if not packed:
        return write_a_number(data, other, dice)
    _, at, size = dice.choice(packed)
    inner = zlib.decompress(data[at + 8 : at + 8 + size])
    inner = anyhow(inner, inner, dice)
    if dice.random() < 0.7:  # a tag that agrees with what follows
        inner = struct.pack("<II", 14, max(0, len(inner) - 8)) + inner[8:]
    new = zlib.compress(inner)
    return data[:at] + struct.pack("<II", 15, len(new)) + new + data[at + 8 + size :]


def inside_npz(data, other, dice):
    """One array of an archive, with the right checksum."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        chosen = dice.choice(old.namelist())
        for name in old.namelist():
            content = old.read(name)
            if name == chosen:
                content = dice.choice([anyhow, npy_header])(content, content, dice)
            new.writestr(name, content, dice.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED]))
    return out.getvalue()


def npy_header(data, other, dice):
    """Another shape or type in the header, padded to its old length where that is possible."""
    end = data.find(b"}")
    if end < 0:
        return flip_bits(data, other, dice)
    head = data[:end]
    words = [b"'<f8'", b"'|O'", b"'<U16777216'", b"'<M8[ns]'", b"'|V9'", b"'<c16'", b"'f8,O'"]
    if dice.random() < 0.5:
        spots = list(re.finditer(rb"\b\d+\b", head[10:]))
        value = str(dice.choice([*LARGE, 10**30, -1])).encode()
    else:
        spots, value = list(re.finditer(rb"'[<>|=][a-zA-Z]\d+'", head[10:])), dice.choice(words)
    if not spots:
        return flip_bits(data, other, dice)
    spot = dice.choice(spots)
    head = head[: 10 + spot.start()] + value + head[10 + spot.end() :]
    rest = data[end:]
    change = len(head) - end
    if change > 0 and rest[1 : 1 + change].strip() == b"":
        rest = rest[:1] + rest[1 + change :]
    elif change < 0:
        rest = rest[:1] + b" " * -change + rest[1:]
    return head + rest


def png_chunk(data, other, dice):
    """One chunk of a PNG changed, with the right checksum."""
    if not data.startswith(b"\x89PNG"):
        return anyhow(data, other, dice)
    at, chunks = 8, []
    while at + 12 <= len(data):
        (size,) = struct.unpack_from(">I", data, at)
        chunks.append([data[at + 4 : at + 8], data[at + 8 : at + 8 + size]])
        at += 12 + size
    chosen = dice.choice(chunks)
    if chosen[1]:
        way = dice.choice([flip_bits, write_a_number, drop_a_part])
        chosen[1] = way(chosen[1].ljust(16, b"\0"), other, dice)[: len(chosen[1])]
    if dice.random() < 0.2:
        dice.shuffle(chunks)
    out = data[:8]
    for kind, content in chunks:
        crc = zlib.crc32(kind + content)
        out += struct.pack(">I", len(content)) + kind + content + struct.pack(">I", crc)
    return out


CELLS = [
    "1e999",
    "nan",
    "inf",
    "-1",
    "0x10",
    "1_000",
    "1,5",
    "''",
    '"',
    "é",
    "١",
    "007",
    "1e20",
    "99999999999999999999",
    "=cmd()",
    "\x00",
]


def csv_cell(data, other, dice):
    """One cell of a table replaced, or a line doubled, cut or lost."""
    lines = data.decode("utf-8", "replace").split("\n")
    line = dice.randrange(len(lines))
    cells = lines[line].split(",")
    cells[dice.randrange(len(cells))] = dice.choice([*CELLS, "x" * 200_000, '"', "\r", "\u2028"])
    lines[line] = dice.choice([",", ",", ",", ";", ",,"]).join(cells)
    if dice.random() < 0.2:
        del lines[line]
    return "\n".join(lines).encode()


def json_value(data, other, dice):
    """One value of a JSON document replaced."""
    try:
        return json.dumps(edited(json.loads(data), dice)).encode()
    except ValueError:
        return anyhow(data, other, dice)


STRANGE = [None, True, 0, -1, 1, 3, 2**31, 2**40, 2**70, 1e308, "", "x" * 1000, [], {}]
WORDS = ["float64", "object", "<U16777216", "string", "gzip", "../../x", "zstd", "blosc"]


def edited(value, dice, strange=(*STRANGE, *WORDS)):
    """A JSON value with one random place of it changed or removed."""
    if isinstance(value, dict | list) and value and dice.random() < 0.9:
        key = dice.choice(list(value) if isinstance(value, dict) else range(len(value)))
        value = value.copy()
        if dice.random() < 0.1:
            del value[key]
        else:
            value[key] = edited(value[key], dice, strange)
        return value
    return dice.choice([*(new for new in strange if repr(new) != repr(value)), [value]])


def gunzipped(data, other, dice):
    try:
        return gzip.compress(anyhow(gzip.decompress(data), other, dice))
    except (OSError, EOFError, zlib.error):
        return anyhow(data, other, dice)


def name_the_bait(data, other, dice):
    """A name in the file, of an array, a link or a file, becomes another of the names there."""
    names = list(re.finditer(rb"[A-Za-z#/][\w#/.]{0,14}(?=\0)", data))
    if not names:
        return anyhow(data, other, dice)
    spot = dice.choice(names)
    length = len(spot.group())
    word = dice.choice([b"bait.h5", b"bait.bin", b"/X", b"X", b"/", b".", b"../bait.h5"])
    return data[: spot.start()] + word[:length].ljust(length, b"\0") + data[spot.end() :]


RESEALING = (inside_mat5, inside_npz, png_chunk)  # they write new checksums
