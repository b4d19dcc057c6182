"""Finished cells of a run, one JSON line each, safe against being killed at any moment.

The first line says what the run is. Every further line is one finished cell. A line counts once
its newline is on the disk, so whatever a kill leaves half written is dropped at the next start.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any


class RunError(RuntimeError):
    """A run cannot start or go on in this folder."""


def settings_hash(settings: Mapping[str, Any]) -> str:
    """Short hash of the settings; runs with the same one compute the same cells.

    Examples
    --------
    >>> from paper.finished_cells import settings_hash
    >>> settings_hash({"seed": 0, "k": [1]}) == settings_hash({"k": [1], "seed": 0})
    True
    """
    text = json.dumps(settings, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class FinishedCells:
    """Finished cells of one run, kept in an append-only file.

    Parameters
    ----------
    path : path
        The file. It is created, or continued when it holds cells of the same settings.
    settings : mapping
        What the run is; everything that changes a result belongs in it.

    Attributes
    ----------
    cells : dict of str to dict
        The record of each finished cell: ``result``, a pure function of the settings, and
        ``seconds``, which is not.

    Examples
    --------
    >>> import tempfile
    >>> from paper.finished_cells import FinishedCells
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with FinishedCells(f"{folder}/cells.jsonl", {"seed": 0}) as first:
    ...         first.write("k=0.1", {"map": 76.81}, seconds=2.0)
    ...     with FinishedCells(f"{folder}/cells.jsonl", {"seed": 0}) as again:
    ...         sorted(again.cells)
    ['k=0.1']
    """

    def __init__(self, path: str | os.PathLike[str], settings: Mapping[str, Any]):
        self.path = Path(path)
        self.settings = dict(settings)
        self.cells: dict[str, dict[str, Any]] = {}
        lines = self._whole_lines()
        if lines:
            self._check_header(lines[0])
            for number, line in enumerate(lines[1:], start=2):
                record = self._parsed(line, number)
                self.cells[record.pop("cell")] = record
        self._file: IO[bytes] = self.path.open("ab", buffering=0)
        if not lines:
            try:
                self._append({"settings": self.settings, "hash": settings_hash(self.settings)})
            except OSError:
                self.close()
                raise

    def write(self, cell: str, result: Mapping[str, Any], seconds: float) -> None:
        """Record a finished cell; it is on the disk when this returns."""
        record = {"result": dict(result), "seconds": round(seconds, 3)}
        self._append({"cell": cell, **record})
        self.cells[cell] = record

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> FinishedCells:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _append(self, record: Mapping[str, Any]) -> None:
        """Write a line; of one that the disk does not take, nothing stays."""
        end, line = self._file.seek(0, os.SEEK_END), json.dumps(record).encode() + b"\n"
        try:
            while line:
                line = line[self._file.write(line) :]
            os.fsync(self._file.fileno())
        except OSError as error:  # a full disk does not say which file it was about
            with suppress(OSError):
                self._file.truncate(end)
            raise OSError(error.errno, error.strerror, str(self.path)) from error

    def _whole_lines(self) -> list[bytes]:
        """The lines that end in a newline; what comes after the last one is cut off."""
        if not self.path.exists():
            return []
        content = self.path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        if len(whole) < len(content):
            with self.path.open("r+b") as file:
                file.truncate(len(whole))
                os.fsync(file.fileno())
        return whole.splitlines()

    def _check_header(self, line: bytes) -> None:
        header = self._parsed(line, 1)
        if header.get("hash") == settings_hash(self.settings):
            return
        there = header.get("settings", {})
        differing = sorted(
            name
            for name in there.keys() | self.settings.keys()
            if settings_hash({"": there.get(name)}) != settings_hash({"": self.settings.get(name)})
        )
        raise RunError(
            f"{self.path.parent} holds a run with other settings ({', '.join(differing)} differ); "
            "choose another folder, or delete this one to start anew"
        )

    def _parsed(self, line: bytes, number: int) -> dict[str, Any]:
        try:
            record = json.loads(line)
        except ValueError as error:
            raise RunError(
                f"line {number} of {self.path} is damaged ({error}); delete that line to compute "
                "its cell again, or the file to start anew"
            ) from error
        if not isinstance(record, dict) or not record.keys() & {"cell", "hash"}:
            raise RunError(
                f"line {number} of {self.path} is not a cell of a run; choose another folder"
            )
        return record


@contextmanager
def only_run_in(folder: str | os.PathLike[str]) -> Iterator[None]:
    """Keep other runs out of a folder; the system lifts the lock when the process ends.

    Examples
    --------
    >>> import tempfile
    >>> from paper.finished_cells import only_run_in
    >>> with tempfile.TemporaryDirectory() as folder, only_run_in(folder):
    ...     pass
    """
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    with (place / "run.lock").open("a") as file:
        try:
            _lock(file)
        except OSError as error:
            raise RunError(
                f"another run is writing to {place}; wait for it, or choose another folder"
            ) from error
        yield


def _lock(file: IO[str]) -> None:
    """Lock a file for this process, or raise OSError when another one has it."""
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    else:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
