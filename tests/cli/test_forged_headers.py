"""A model file whose header was changed: every command answers in one line, without a traceback."""

import json
import struct

import pytest

from tenfold.serialization.model_format import _checksum, read


def rewrite(path, edit):
    """Change the header of a file and sign it again, as someone else's program might."""
    header, arrays = read(path)
    edit(header)
    header["checksum"] = _checksum(header, arrays)
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    table = json.loads(data[8 : 8 + length])
    table["__metadata__"]["tenfold"] = json.dumps(header)
    text = json.dumps(table).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data[8 + length :])


FORGED = {
    "no versions": lambda header: header.pop("versions"),
    "no summary": lambda header: header.pop("summary"),
    "versions a list": lambda header: header.update(versions=["numpy"]),
    "versions a number": lambda header: header.update(versions=3),
    "version a number": lambda header: header.update(versions={"numpy": 2}),
    "summary a word": lambda header: header.update(summary="good"),
    "reading a list": lambda header: header.update(reading=[1]),
    "usual_size a word": lambda header: header["reading"].update(usual_size="x"),
    "usual_size below 0": lambda header: header["reading"].update(usual_size=-1.0),
    "usual_size a switch": lambda header: header["reading"].update(usual_size=True),
    "resize a word": lambda header: header["reading"].update(resize="x"),
    "resize of words": lambda header: header["reading"].update(resize=["x", "y"]),
    "rows a number": lambda header: header["reading"].update(rows=7),
    "name a list": lambda header: header["reading"].update(name=["faces"]),
    "of a word": lambda header: header["reading"].update(of="x"),
    "columns a number": lambda header: header["reading"].update(columns=[1]),
    "grey a word": lambda header: header["reading"].update(grey="x"),
    "scale a word": lambda header: header["reading"].update(scale="x"),
}


@pytest.mark.parametrize("edit", FORGED.values(), ids=FORGED.keys())
def test_a_forged_header_is_an_error_in_one_line(tenfold, bank, edit):
    rewrite(bank, edit)
    for words in (["inspect", bank], ["score", bank, "faces"]):
        run = tenfold(*words)
        assert run.code == 2
        assert run.err.startswith("tenfold: cannot load bank.safetensors: its ")
        assert run.err.count("\n") == 1


@pytest.mark.parametrize("edit", ["no versions", "no summary", "usual_size a word"])
def test_a_forged_header_of_moments_is_an_error_in_one_line(tenfold, faces, edit):
    assert tenfold("moments", "faces", "-o", "site.safetensors").code == 0
    rewrite(faces.parent / "site.safetensors", FORGED[edit])
    run = tenfold("inspect", "site.safetensors")
    assert run.code == 2
    assert run.err.startswith("tenfold: cannot load site.safetensors: its ")
    assert run.err.count("\n") == 1
