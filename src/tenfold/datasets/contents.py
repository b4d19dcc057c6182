"""What a file or folder holds, as `tenfold.datasets.load` sees it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

import numpy as np

from tenfold.datasets import loading
from tenfold.datasets.images import sample_files
from tenfold.datasets.locations import naming
from tenfold.datasets.named_arrays import Arrays, Look
from tenfold.datasets.sandbox import in_sandbox
from tenfold.datasets.tensor_dataset import TensorDataset

MOST_WAYS = 12  # of reading a file that are tried


class SamplesFound(TypedDict):
    """The samples that `load` gives."""

    count: int
    shape: list[int]
    type: str
    gaps: int
    classes: dict[str, int] | None
    description: str
    notes: list[str]


@dataclass(frozen=True)
class Contents:
    """What a file or folder holds, and how it can be read.

    Parameters
    ----------
    kind, library : str
        The format, and what reads it.
    names : list of str
        Of the columns of `rows`.
    rows : list of list of str
        An array, a column of a table, or a class of images each.
    samples : mapping or None
        The samples that `load` gives with these `options`: ``count``, ``shape``, ``type``,
        ``gaps``, ``classes`` (counts by label), ``description`` and ``notes``. None where no way
        to read them was found.
    options : mapping
        What must be added to the options that were given.
    problem : str
        Why the options that were given are not enough; empty if they are.
    """

    kind: str
    library: str
    names: list[str]
    rows: list[list[str]]
    samples: SamplesFound | None
    options: Mapping[str, object]
    problem: str


def contents(path: str | os.PathLike[str], *, trusted: bool = False, **options: object) -> Contents:
    """Look into a file or folder.

    Parameters
    ----------
    path : path
        File or folder, as in `load`.
    trusted, **options
        As in `load`.

    Returns
    -------
    Contents
        What it holds, and the options that `load` needs.

    Examples
    --------
    >>> import pathlib, tempfile, numpy as np
    >>> from tenfold.datasets.contents import contents
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "toy.npz"
    >>> np.savez(path, images=np.zeros((4, 3, 2)), who=[0, 0, 1, 1], day=[1, 2, 1, 2])
    >>> found = contents(path)
    >>> found.rows
    [['images', '4x3x2'], ['who', '4'], ['day', '4']]
    >>> found.options
    {'labels': 'who'}
    """
    source, reader, given = loading.checked_options(path, options)
    if reader.reads_here(source, trusted):
        return Contents(reader.name, reader.library, **contents_task(source, given))
    return Contents(
        reader.name, reader.library, **in_sandbox("contents", source, {"options": given})
    )


def contents_task(source: Path, options: dict[str, Any]) -> dict[str, Any]:
    """In the child: the fields of `Contents`, without the samples themselves."""
    reader = loading.reader_of(source)
    look = reader.look or _look_at_arrays
    outside = loading.is_outside(options.get("labels"))
    inside = {name: value for name, value in options.items() if name != "labels" or not outside}
    try:
        with naming(source):
            seen = look(source, inside)
    except ValueError:
        if reader not in (loading.NPY_FOLDER, loading.SERIES):
            raise  # these two are read whole to look at them; below, reading them says why not
        files = sample_files(source) or [source]
        seen = Look(["file"], [[str(file)] for file in files], [{"labelled": False}])
    data, way, problem = loading.first_that_works(
        [{}, *seen.ways][:MOST_WAYS],
        lambda way: loading.read_here(reader, source, {**options, **way}, trusted=True),
    )
    return {
        "names": seen.names,
        "rows": seen.rows,
        "samples": None if data is None else _summary(data),
        "options": way,
        "problem": "" if problem is None else str(problem),
    }


def _summary(data: TensorDataset) -> SamplesFound:
    stays = not isinstance(data.X, np.ndarray) or isinstance(data.X, np.memmap)
    real = data.X.dtype.kind == "f" and not stays
    return {
        "count": len(data),
        "shape": list(data.sample_shape),
        "type": str(data.X.dtype),
        "gaps": int(np.isnan(data.X).sum()) if real else 0,
        "classes": None if data.y is None else data.class_counts,
        "description": data.description,
        "notes": list(data.notes),
    }


def _look_at_arrays(source: Path, options: Mapping[str, Any]) -> Look:
    """A row per array, and ways to read them."""
    reader = loading.reader_of(source)
    own = {name: value for name, value in options.items() if name in reader.own}
    arrays = reader.give(source, **own)
    rows = [[name, "x".join(map(str, shape))] for name, shape in arrays.shapes.items()]
    rows += [[name, f"unreadable: it {why}"] for name, why in arrays.unreadable.items()]
    ways = list(_choices(arrays, options)) if arrays.samples is None else []
    return Look(["array", "shape"], rows, [*ways, {"labelled": False}])


def _choices(arrays: Arrays, options: Mapping[str, Any]) -> Iterator[dict[str, object]]:
    """Samples and labels that fit together, the largest array first."""
    sizes = {name: int(np.prod(shape)) for name, shape in arrays.shapes.items()}
    vectors = [one for one, of in arrays.shapes.items() if max(of, default=0) == sizes[one] > 1]
    for name in sorted(sizes, key=sizes.__getitem__, reverse=True):
        shape = arrays.shapes[name]
        asked = options.get("key", name).strip("/") == name
        if asked and sum(size > 1 for size in shape) > 1:
            key: dict[str, object] = {} if "key" in options else {"key": name}
            labels = [one for one in vectors if one != name and sizes[one] in shape]
            yield key
            for one in labels:
                yield {"labels": one}
            for one in labels:
                yield {**key, "labels": one}


TASKS: dict[str, Callable[..., dict[str, Any]]] = loading.TASKS | {"contents": contents_task}
