"""Moments of finished blocks, kept on disk: what an interrupted run need not gather again."""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tenfold.algebra import Array
from tenfold.moments import ClassMoments
from tenfold.whole_files import whole_file

FILE = "moments.npz"


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """A folder with the moments of all that was gathered so far, in one file.

    The file is replaced in one step: after a crash at any moment it holds what it held before or
    what it was to hold.

    Parameters
    ----------
    folder : path
        Where; it is made when the first moments are saved.
    subject : dict
        What the moments are of, in JSON values. Moments of anything else are not picked up.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from tenfold import ClassMoments
    >>> from tenfold.checkpoints import Checkpoint
    >>> moments = ClassMoments.from_batch(np.eye(3))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     checkpoint = Checkpoint(folder, {"samples": [3, 3]})
    ...     checkpoint.save(3, moments)
    ...     done, loaded = checkpoint.load()
    >>> done, bool((loaded.scatters == moments.scatters).all())
    (3, True)
    """

    folder: str | os.PathLike[str]
    subject: dict[str, Any]

    def load(self) -> tuple[int, ClassMoments | None]:
        """How much is done, and its moments; (0, None) when there is nothing yet."""
        path = Path(self.folder, FILE)
        if not path.exists():
            return 0, None
        try:
            with open(path, "rb") as raw, np.load(raw) as file:
                header = json.loads(str(file["header"]))
                arrays = [file[name] for name in ("classes", "counts", "means", "scatters")]
        except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
            raise ValueError(
                f"{path} is not a checkpoint, or is damaged ({error}); delete it to start anew"
            ) from error
        if header["subject"] != self.subject:
            raise ValueError(
                f"{path} holds moments of something else: {_difference(header, self.subject)}; "
                "name another folder, or delete this one to start anew"
            )
        arrays[0] = arrays[0].astype(header["labels"])
        return int(header["done"]), ClassMoments(*arrays)

    def save(self, done: int, moments: ClassMoments) -> None:
        """Replace what is there by the moments of the first `done` samples or batches."""
        classes = np.asarray(moments.classes.tolist())
        if classes.dtype.kind == "O" or len(classes) != len(moments.classes):
            raise ValueError(
                "labels of mixed kinds cannot be written to a checkpoint; use text or numbers"
            )
        Path(self.folder).mkdir(parents=True, exist_ok=True)
        header = {"subject": self.subject, "done": done, "labels": moments.classes.dtype.str}
        with whole_file(Path(self.folder, FILE)) as file:
            np.savez(
                file,
                header=np.asarray(json.dumps(header)),
                classes=classes,
                counts=moments.counts,
                means=moments.means,
                scatters=moments.scatters,
            )


def fingerprint(column: Array | None) -> str | None:
    """A short text that differs for different labels or weights."""
    if column is None:
        return None
    plain = column.astype(str) if column.dtype.kind == "O" else column
    return hashlib.sha256(np.ascontiguousarray(plain).tobytes()).hexdigest()[:16]


def _difference(header: dict[str, Any], subject: dict[str, Any]) -> str:
    saved = header["subject"]
    keys = [key for key in {**saved, **subject} if saved.get(key) != subject.get(key)]
    return ", ".join(f"{key} was {saved.get(key)} and is {subject.get(key)}" for key in keys)
