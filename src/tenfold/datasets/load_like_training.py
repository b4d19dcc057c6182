"""Reading samples for a model in the way its training samples were read."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from tenfold.datasets.loading import (
    PLACE_OPTIONS,
    SAMPLE_OPTIONS,
    first_that_works,
    load,
    reader_of,
)
from tenfold.datasets.named_arrays import Order, fold_rows
from tenfold.datasets.spelling import Word, spelled
from tenfold.datasets.tensor_dataset import TensorDataset

FIXED = ("sample_shape", "resize", "grey", "background", "columns")  # no other value can be right
# Nobody need know these.
UNSAID = ("columns", "categories", "dims", "labels", "labelled", "header", "delimiter", "decimal")
LARGEST_RATIO = 50.0  # of the usual size of numbers; pixels of 0..255 and 0..1 differ by 255
MOST_ROWS = 1000  # from which the usual size of the numbers is taken


def load_like_training(
    path: str | os.PathLike[str],
    before: Mapping[str, Any],
    shape: tuple[int, ...] = (),
    *,
    labels_needed: bool = True,
    **given: Any,
) -> TensorDataset:
    """Read samples as those of a model were read.

    Options that are not given are those of `before`, as far as the reader of this path has them.
    Where the samples lie (key, axis, names of labels) may differ from file to file: if the old
    places fail, the reader looks for them itself, and ``notes`` of the result says so.

    Parameters
    ----------
    path : path
        File or folder, as in `load`.
    before : mapping
        ``reading`` of the samples that the model was fitted on, maybe with ``usual_size``.
    shape : tuple of int, default=()
        Shape of a sample of the model; flat rows are folded to it.
    labels_needed : bool, default=True
        False reads samples without labels if none are found.
    **given
        Options of `load` that the user gives now. One that is None counts as not given.

    Returns
    -------
    TensorDataset
        The samples; ``notes`` lists the options taken from `before`.
    """
    given = {name: value for name, value in given.items() if value is not None}
    for name in set(FIXED) & given.keys() & before.keys():
        if _listed(given[name]) != _listed(before[name]):
            raise ValueError(
                f"{spelled(name, given[name])} was passed, but the model was fitted on samples "
                f"read with {in_words({name: before[name]})}; leave it out, or fit a new model"
            )
    known = {*reader_of(path).options, "scale"} - {"sample_shape", "order"} - given.keys()
    known -= {"labels"} if given.get("labelled") is False else set()
    known -= {"key"} if "::" in os.fspath(path) else set()
    taken = {n: before[n] for n in (*SAMPLE_OPTIONS, *PLACE_OPTIONS) if n in known & before.keys()}
    places = {name: value for name, value in taken.items() if name in PLACE_OPTIONS}
    without = {name: value for name, value in taken.items() if name not in places}
    ways = [taken, without] if places else [taken]
    if not labels_needed and not given.keys() & {"labels", "labelled"}:
        ways += [{**way, "labelled": False} for way in ways]
    data, used, complaint = first_that_works(ways, lambda way: load(path, **{**way, **given}))
    if data is None:
        assert complaint is not None
        if not labels_needed:
            load(path, **{**ways[-1], **given})  # its error is about samples, not about labels
        raise complaint
    if places and not places.keys() <= used.keys():
        note = f"read without {in_words(places)}, with which the model was fitted: {complaint}"
        if "labelled" in used:
            note = f"read without labels ({in_words(places)} as the model was fitted)"
        data = replace(data, notes=(*data.notes, note))
    if len(shape) > 1 and data.sample_shape == (prod(shape),):
        data = _folded(path, data, shape, before, given.get("order"))
    _check_size(path, data, before, given)
    told = {name: value for name, value in used.items() if name not in UNSAID}
    note = f"read as the samples that the model was fitted on: {in_words(told)}"
    return data if not told else replace(data, notes=(*data.notes, note))


def _folded(
    path: str | os.PathLike[str],
    data: TensorDataset,
    shape: tuple[int, ...],
    before: Mapping[str, Any],
    order: Order | None,
) -> TensorDataset:
    """Flat rows folded to the shape of a model's samples, in the order of their file format."""
    usual = reader_of(path).order
    then = before.get("order", usual)
    if order is None and then != usual and before.get("loader") != data.reading["loader"]:
        how = "column by column" if then == "F" else "row by row"
        raise ValueError(
            f"the model was fitted on flat rows folded {how} ({spelled('order', then)}), and "
            f"{path} is of another format, whose rows are usually stored the other way; pass "
            f"{spelled('order', 'F')} if its rows hold a sample column by column, "
            f"{spelled('order', 'C')} if row by row"
        )
    order = order or then
    how = "column by column" if order == "F" else "row by row"
    sizes = " x ".join(map(str, shape))
    note = f"flat rows were folded to {sizes}, {how} ({spelled('order', order)})"
    return replace(
        data,
        X=fold_rows(data.X, shape, order),
        mode_names=(),
        notes=(*data.notes, note),
        reading={**data.reading, "sample_shape": shape, "order": order},
    )


def _check_size(
    path: str | os.PathLike[str],
    data: TensorDataset,
    before: Mapping[str, Any],
    given: Mapping[str, object],
) -> None:
    """Refuse numbers that are far larger or smaller than those of the fit, such as 255 for 1."""
    usual = before.get("usual_size")
    if not usual or "scale" in given:
        return
    size = usual_size(data)
    if size == 0 or 1 / LARGEST_RATIO < size / usual < LARGEST_RATIO:
        return
    raise ValueError(
        f"the numbers of {path} are about {size:.3g}, and those that the model was fitted on about "
        f"{usual:.3g} (root mean squares), a ratio of {size / usual:.3g}; pass "
        f"{spelled('scale', Word('X'))} to divide them by X, such as {spelled('scale', 255)} for "
        f"pixels up to 255 where the model had pixels up to 1, or {spelled('scale', 1)} to take "
        "them as they are"
    )


def _listed(value: object) -> object:
    return list(value) if isinstance(value, tuple | list) else value


def usual_size(data: TensorDataset) -> float:
    """The root mean square of the numbers of the first thousand samples; gaps do not count."""
    some = np.asarray(data.X[:MOST_ROWS], dtype=float)
    gaps = np.isnan(some)
    return float(np.sqrt(np.mean(some[~gaps] ** 2 if gaps.any() and not gaps.all() else some**2)))


def in_words(options: Mapping[str, object]) -> str:
    """Options as a person would type them; a long one is cut.

    Examples
    --------
    >>> from tenfold.datasets.load_like_training import in_words
    >>> in_words({"sample_shape": (32, 32), "order": "F"})
    "sample_shape=(32, 32), order='F'"
    """
    return ", ".join(f"{spelled(name, value):.80}" for name, value in options.items())
