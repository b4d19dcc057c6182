"""What a file or folder holds, as `tenfold.datasets.load` sees it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tenfold.datasets import any_path
from tenfold.datasets.child import in_child
from tenfold.datasets.images import image_sizes
from tenfold.datasets.locations import existing_path, inner_path, natural_key
from tenfold.datasets.named_arrays import Arrays
from tenfold.datasets.numpy_files import npy_files
from tenfold.datasets.tables import described_columns, table_in
from tenfold.datasets.tensor_dataset import TensorDataset

MOST_WAYS = 12  # of reading a file that are tried


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
    samples: Mapping[str, Any] | None
    options: Mapping[str, Any]
    problem: str


def contents(path: str | os.PathLike[str], **options: Any) -> Contents:
    """Look into a file or folder.

    Parameters
    ----------
    path : path
        File or folder, as in `load`.
    **options
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
    {'label_key': 'who'}
    """
    place, inner = inner_path(path)
    source = existing_path(place, any_path.UNDERSTOOD)
    reader = any_path.reader_of(source)
    given = any_path.checked_options(source, inner, reader, options)
    trusted = reader.here or given.pop("trusted", False)
    task = {"options": any_path.sendable(given)}
    return Contents(
        reader.name,
        reader.library,
        **(contents_task(source, given) if trusted else in_child("contents", source, task)),
    )


def contents_task(source: Path, options: dict[str, Any]) -> dict[str, Any]:
    """In the child: the fields of `Contents`, without the samples themselves."""
    reader = any_path.reader_of(source)
    names, rows, ways = _LOOKS.get(reader.name, _look_at_arrays)(source, options)
    problem = ""
    for way in [{}, *ways][:MOST_WAYS]:
        try:
            data = any_path.read_here(reader, source, {**options, **way}, trusted=True)
        except ValueError as error:
            problem = problem or str(error)
            continue
        return _answer(names, rows, _summary(data), way, problem)
    return _answer(names, rows, None, {}, problem)


def _answer(names: Any, rows: Any, samples: Any, way: Any, problem: str) -> dict[str, Any]:
    found = {"names": names, "rows": rows, "samples": samples}
    return {**found, "options": way, "problem": problem}


def _summary(data: TensorDataset) -> dict[str, Any]:
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


# ── Formats ─────────────────────────────────────────────────────────────────────────────────────

Look = tuple[list[str], list[list[str]], list[dict[str, Any]]]  # names, rows, ways to read it


def _look_at_arrays(source: Path, options: Mapping[str, Any]) -> Look:
    opened = any_path.reader_of(source).read.keywords["opened"]  # type: ignore[attr-defined]
    with opened(source) as arrays:
        rows = [[name, "x".join(map(str, shape))] for name, shape in arrays.shapes.items()]
        rows += [[name, f"unreadable: it {why}"] for name, why in arrays.unreadable.items()]
        ways = list(_choices(arrays, options))
    return ["array", "shape"], rows, [*ways, {"labelled": False}]


def _choices(arrays: Arrays, options: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Samples and labels that fit together, the largest array first."""
    sizes = {name: int(np.prod(shape)) for name, shape in arrays.shapes.items()}
    for name in sorted(sizes, key=sizes.__getitem__, reverse=True):
        shape = arrays.shapes[name]
        if "key" in options and options["key"].strip("/") != name:
            continue
        key = {} if "key" in options else {"key": name}
        fits = [one for one, of in arrays.shapes.items() if max(of, default=0) == sizes[one] > 1]
        if sum(size > 1 for size in shape) > 1:
            yield key
            labels = [one for one in fits if one != name and sizes[one] in shape]
            yield from ({"label_key": one} for one in labels)
            yield from ({**key, "label_key": one} for one in labels)


def _look_at_table(source: Path, options: Mapping[str, Any]) -> Look:
    told = {name: options[name] for name in ("delimiter", "header") if name in options}
    frame, named, _ = table_in(source, label_column=options.get("label_column"), **told)
    rows, label, left_out = described_columns(source, frame, options.get("decimal"))
    names = list(map(str, frame.columns))
    out = {"leave_out": tuple(names[i] for i in left_out)} if left_out and named else {}
    labels = {"label_column": names[label] if named else label} if label is not None else {}
    none = {"labelled": False}
    return (
        ["column", "holds", "different", "gaps"],
        rows,
        [out, labels, {**labels, **out}, {**out, **none}, none],
    )


def _look_at_images(source: Path, options: Mapping[str, Any]) -> Look:
    sizes = image_sizes(source)
    folders: dict[str, list[tuple[int, int]]] = {}
    for name, size in sizes.items():
        folders.setdefault(name.rpartition("/")[0] or ".", []).append(size)
    rows = [
        [folder, str(len(found)), _span(found)]
        for folder, found in sorted(folders.items(), key=lambda one: natural_key(one[0]))
    ]
    usual = [int(size) for size in np.median(list(sizes.values()) or [(1, 1)], axis=0)]
    resize = {"resize": tuple(usual)} if len(set(sizes.values())) > 1 else {}
    paths = [folder.split("/") for folder in folders]
    more = len({path[0] for path in paths}) > len({path[-1] for path in paths})
    deep: list[dict[str, Any]] = [{"classes_from": "first" if more else "last"}]
    ways = [resize, *deep, *({**resize, **one} for one in deep)]
    return ["folder", "images", "height x width"], rows, [*ways, {**resize, "labelled": False}]


def _look_at_npy_folder(source: Path, options: Mapping[str, Any]) -> Look:
    parents = [file.parent.relative_to(source).as_posix() for file in npy_files(source)]
    rows = [[one, str(parents.count(one))] for one in sorted(set(parents), key=natural_key)]
    return ["folder", "arrays"], rows, [{"labelled": False}]


def _look_at_one_thing(source: Path, options: Mapping[str, Any]) -> Look:
    return ["file", "bytes"], [[source.name, str(source.stat().st_size)]], [{"labelled": False}]


def _span(sizes: list[tuple[int, int]]) -> str:
    """One size, or the smallest and the largest."""
    ends = sorted(set(sizes), key=lambda size: size[0] * size[1])
    return " to ".join(f"{h}x{w}" for h, w in ([ends[0], ends[-1]] if ends[1:] else ends))


_LOOKS = {
    "table": _look_at_table,
    "image folder": _look_at_images,
    "npy folder": _look_at_npy_folder,
    **dict.fromkeys(("ts", "fif", "image"), _look_at_one_thing),
}
TASKS = any_path.TASKS | {"contents": contents_task}
