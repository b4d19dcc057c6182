"""Moments of finished blocks, kept on disk: what an interrupted run need not gather again."""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tenfold.mathematics.algebra import Array
from tenfold.mathematics.moments import ClassMoments
from tenfold.mathematics.stores import Source
from tenfold.system.atomic_write import whole_file

FILE = "moments.npz"
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
    subject : dict
        What the moments are of, in JSON values. Moments of anything else are not picked up.
    source : Source or None, default=None
        The samples. A handful of those whose moments are in the file must still be what they
        were; the others may have been repaired meanwhile.
    columns : tuple of arrays, default=()
        Labels and weights to compare beside these samples.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from tenfold import ClassMoments
    >>> from tenfold.gathering.checkpoint import Checkpoint
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
    source: Source | None = None
    columns: tuple[Any, ...] = ()
    _seen: dict[int, tuple[Array, str]] = field(default_factory=dict, init=False, repr=False)

    def load(self) -> tuple[int, ClassMoments | None]:
        """How much is done, and its moments; (0, None) when there is nothing yet."""
        path = Path(self.folder, FILE)
        if not path.exists():
            return 0, None
        try:
            with open(path, "rb") as raw, np.load(raw) as file:
                header = json.loads(str(file["header"]))
                rows, beside, samples = header["rows"], header["beside"], file["samples"]
                arrays = [file[name] for name in ("classes", "counts", "means", "scatters")]
        except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
            raise ValueError(
                f"{path} is not a checkpoint, or is damaged ({error}); delete it to start anew"
            ) from error
        difference = _difference(header["subject"], self.subject)
        difference = difference or self._other_sample(rows, samples, beside)
        if difference:
            raise ValueError(
                f"{path} holds moments of something else: {difference}; "
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
        rows = [row for row in compared(self.source) if row < done]
        samples, beside = self._look_at(rows)
        header = {
            "subject": self.subject,
            "done": done,
            "labels": moments.classes.dtype.str,
            "rows": rows,
            "beside": beside,
        }
        with whole_file(Path(self.folder, FILE)) as file:
            np.savez(
                file,
                header=np.asarray(json.dumps(header)),
                samples=samples,
                classes=classes,
                counts=moments.counts,
                means=moments.means,
                scatters=moments.scatters,
            )

    def _look_at(self, rows: list[int]) -> tuple[Array, list[str]]:
        """Samples (m, I), and fingerprints of what is beside them; each is read once."""
        new = [row for row in rows if row not in self._seen]
        if new and self.source is not None:
            samples = some_samples(self.source, new)
            columns = [np.asarray(column[np.asarray(new)]) for column in self.columns]
            beside = [fingerprint(*(column[i] for column in columns)) for i in range(len(new))]
            self._seen.update(zip(new, zip(samples, beside, strict=True), strict=True))
        seen = [self._seen[row] for row in rows]
        return np.array([sample for sample, _ in seen]), [text for _, text in seen]

    def _other_sample(self, rows: list[int], samples: Array, beside: list[str]) -> str:
        """Which sample is not what it was, and by how much; nothing if there is none."""
        if self.source is None:
            return ""
        now, beside_now = self._look_at(rows)
        for i, row in enumerate(rows):
            change = np.abs(now[i] - samples[i]).max()
            if change > rounding(self.source.dtype) * np.abs(samples[i]).max():
                return f"sample {row} has changed by up to {change:.3g}"
            if beside[i] != beside_now[i]:
                return f"the label or weight of sample {row} has changed"
        return ""


def compared(source: Source | None) -> list[int]:
    """Positions of the first, the last and some samples between."""
    last = -1 if source is None else len(source) - 1
    return sorted({last * i // (COMPARED - 1) for i in range(COMPARED) if last >= 0})


def some_samples(source: Source, rows: list[int]) -> Array:
    """A few samples as rows (m, I) of float64; those of a Dask array come in one computation."""
    samples = np.asarray(source[np.asarray(rows)].rows(np.array))
    return samples.reshape(len(rows), -1).astype(float)


def rounding(dtype: np.dtype[Any]) -> float:
    """Half the digits: a sample that is computed anew, elsewhere, has these in common."""
    return float(np.sqrt(np.finfo(dtype).eps)) if dtype.kind == "f" else 0.0


def fingerprint(*arrays: Any) -> str:
    """A short text that differs for different arrays."""
    digest = hashlib.sha256()
    for array in map(np.asarray, arrays):
        plain = array.astype(str) if array.dtype.kind == "O" else array
        digest.update(f"{plain.dtype.str} {plain.shape}".encode())
        digest.update(np.ascontiguousarray(plain).tobytes())
    return digest.hexdigest()[:16]


def _difference(saved: dict[str, Any], current: dict[str, Any]) -> str:
    keys = [key for key in {**saved, **current} if saved.get(key) != current.get(key)]
    return ", ".join(f"{key} was {saved.get(key)} and is {current.get(key)}" for key in keys)
