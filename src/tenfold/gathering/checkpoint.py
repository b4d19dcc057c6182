"""Moments of what was gathered so far, on disk: what an interrupted run need not gather again."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tenfold.linalg.algebra import Array
from tenfold.serialization import model_format
from tenfold.serialization.values import Packer, Unpacker, expect
from tenfold.statistics.moments import ClassMoments
from tenfold.statistics.stores import Source

FILE = "moments.safetensors"
COMPARED = 5  # samples that tell data apart: the first, the last, some between


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """A folder with the moments of all that was gathered so far, in one file.

    The file is replaced in one step: after a crash at any moment it holds what it held before or
    what it was to hold.

    Parameters
    ----------
    folder : path
        Where; it is made when the first moments are saved.
    subject : dict of str to str
        What the moments are of, as `subject` says it. Moments of anything else are refused.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from tenfold import ClassMoments
    >>> from tenfold.gathering.checkpoint import Checkpoint
    >>> moments = ClassMoments.from_batch(np.eye(3))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     checkpoint = Checkpoint(folder, {"shape": "(3, 3)"})
    ...     checkpoint.save(3, moments)
    ...     done, loaded = checkpoint.load()
    >>> done, bool((loaded.scatters == moments.scatters).all())
    (3, True)
    """

    folder: str | os.PathLike[str]
    subject: dict[str, str]

    def load(self) -> tuple[int, ClassMoments | None]:
        """How much is done, and its moments; (0, None) when there is nothing yet."""
        path = Path(self.folder, FILE)
        if not path.exists():
            return 0, None
        try:
            header, arrays = model_format.read(path)
            found = Unpacker(header, arrays).table(header.get("checkpoint"))
            done = expect(int, found["done"])
            saved = expect(dict, found["subject"])
            moments = expect(ClassMoments, found["moments"])
        except (ValueError, TypeError, LookupError, RecursionError) as error:
            raise ValueError(
                f"{path} is not a checkpoint, or is damaged ({error}); delete it to start anew"
            ) from error
        differences = [
            f"{key} was {saved.get(key)} and is {self.subject.get(key)}"
            for key in {**saved, **self.subject}
            if saved.get(key) != self.subject.get(key)
        ]
        if differences:
            raise ValueError(
                f"{path} holds moments of something else: {', '.join(differences)}; name another "
                "folder, or delete this one to start anew"
            )
        return done, moments

    def save(self, done: int, moments: ClassMoments) -> None:
        """Replace what is there by the moments of the first `done` samples or batches."""
        Path(self.folder).mkdir(parents=True, exist_ok=True)
        packer = Packer()
        found = {"done": done, "subject": self.subject, "moments": moments}
        header = {"checkpoint": packer.table("checkpoint", found), "summary": {"done": done}}
        path = Path(self.folder, FILE)
        model_format.write(path, header | {"labels": packer.labels}, packer.arrays)


def subject(source: Source, y: Array | None, weight: Array | None) -> dict[str, str]:
    """What tells samples from others: shape, type, labels, weights and a handful of the samples."""
    rows = np.unique(np.linspace(0, len(source) - 1, COMPARED).astype(int))
    about = {"shape": str(source.shape), "dtype": str(source.dtype)}
    columns = {"labels": y, "weights": weight, "samples": source[rows].in_memory()}
    return about | {name: _fingerprint(column) for name, column in columns.items()}


def _fingerprint(array: Array | None) -> str:
    """A short text that differs for different arrays."""
    if array is None:
        return "None"
    array = np.asarray(array)
    plain = np.ascontiguousarray(array.astype(str) if array.dtype.kind == "O" else array)
    described = f"{plain.dtype.str} {plain.shape}".encode()
    return hashlib.sha256(described + plain.tobytes()).hexdigest()[:16]
