"""A disk that fails at a chosen moment: every step that a program asks of it is counted."""

import builtins
import errno
import io
import os
from contextlib import contextmanager
from pathlib import Path


class Disk:
    """Fails at step number `at` under a folder, and from there on if it is full.

    Steps are opening a file to write, each write that reaches the system, each flush to the disk,
    each renaming, each new folder. A full disk takes half of the bytes of the write it fails at, as
    real ones do.
    """

    def __init__(self, folder, at, number):
        self.folder, self.at, self.number = os.path.realpath(folder), at, number
        self.steps, self.failed = [], False

    def step(self, what, *path):
        self.steps.append(what)
        if len(self.steps) == self.at or (self.failed and self.number == errno.ENOSPC):
            self.failed = True
            raise OSError(self.number, os.strerror(self.number), *map(str, path))

    def holds(self, path):
        return isinstance(path, str | os.PathLike) and os.path.realpath(path).startswith(
            self.folder
        )


class Raw(io.FileIO):
    """What lies below the buffer of a file: each write is one of the system."""

    def __init__(self, disk, path, mode):
        super().__init__(path, mode)
        self.disk = disk

    def write(self, data):
        try:
            self.disk.step("write")
        except OSError:
            if self.disk.steps.count("write") and len(self.disk.steps) == self.disk.at:
                super().write(bytes(data)[: len(data) // 2])
            raise
        return super().write(data)


@contextmanager
def failing(disk, monkeypatch):
    """Let all that writes under the folder of a disk go through it."""
    really = {"open": builtins.open}
    for name in ("fsync", "replace", "mkdir"):
        really[name] = getattr(os, name)

    def opened(path, mode="r", *arguments, **more):
        writes = set(mode) & set("wxa+")
        if not (writes and disk.holds(path)):
            return really["open"](path, mode, *arguments, **more)
        probe = "opener" in more or "b" not in mode  # or a lock: nothing is written to it
        disk.step("probe" if probe else "open", path)
        if probe:
            return really["open"](path, mode, *arguments, **more)
        raw = Raw(disk, path, mode)
        return raw if 0 in (*arguments, more.get("buffering")) else io.BufferedWriter(raw)

    def synced(number):
        disk.step("fsync")
        return really["fsync"](number)

    def replaced(old, new, **more):
        if disk.holds(new):
            disk.step("replace", old)
        return really["replace"](old, new, **more)

    def made(path, *arguments, **more):
        if disk.holds(path) and not os.path.isdir(path):
            disk.step("mkdir", path)
        return really["mkdir"](path, *arguments, **more)

    with monkeypatch.context() as patch:
        patch.setattr(builtins, "open", opened)
        patch.setattr(io, "open", opened)
        patch.setattr(os, "fsync", synced)
        patch.setattr(os, "replace", replaced)
        patch.setattr(os, "mkdir", made)
        yield disk


def contents(folder):
    """Every file below a folder, with its bytes."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(Path(folder).rglob("*"))
        if path.is_file()
    }
