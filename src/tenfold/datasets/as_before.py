"""Reading samples for a model in the way its training samples were read."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from math import prod
from typing import Any

from tenfold.datasets.any_path import load, reader_of
from tenfold.datasets.reading import (
    PLACE_OPTIONS,
    SAMPLE_OPTIONS,
    in_words,
    usual_size,
)
from tenfold.datasets.tensor_dataset import TensorDataset

FIXED = ("sample_shape", "resize", "grey", "background", "columns")  # no other value can be right
# Nobody need know these.
UNSAID = ("columns", "dims", "label_key", "label_column", "header", "delimiter", "decimal")
LARGEST_RATIO = 50.0  # of the usual size of numbers; pixels of 0..255 and 0..1 differ by 255


def load_as_before(
    path: str | os.PathLike[str],
    before: Mapping[str, Any],
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
    _refuse_disagreement(before, given)
    reader = reader_of(path)
    known = {*reader.options, "scale"}
    taken = {n: v for n, v in before.items() if n in known and n not in given}
    if "labels" in given or given.get("labelled") is False:
        taken = {n: v for n, v in taken.items() if n not in ("label_key", "label_column")}
    if "::" in os.fspath(path):
        taken.pop("key", None)
    data, used = _first_that_works(path, taken, given, labels_needed)
    if "order" in used and before.get("loader") not in (None, reader.name):
        _refuse_another_order(path, reader.options["order"], before)
    _check_size(path, data, before, given)
    told = {name: value for name, value in used.items() if name not in UNSAID}
    return data if not told else replace(data, notes=(*data.notes, _note(told)))


def _refuse_another_order(path: Any, usual: str, before: Mapping[str, Any]) -> None:
    """Flat rows of two formats that are usually stored in different orders: a person must say."""
    if usual != before["order"]:
        how = "column by column" if before["order"] == "F" else "row by row"
        raise ValueError(
            f"the model was fitted on flat rows folded {how} (order={before['order']!r}), and "
            f"{path} is of another format, whose rows are usually stored the other way; pass "
            "order='F' if its rows hold a sample column by column, order='C' if row by row"
        )


def _refuse_disagreement(before: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    for name in FIXED:
        if name in given and name in before and _listed(given[name]) != _listed(before[name]):
            raise ValueError(
                f"{name}={given[name]!r} was asked for, but the model was fitted on samples read "
                f"with {in_words({name: before[name]})}; leave it out, or fit a new model"
            )


def _first_that_works(
    path: Any, taken: Mapping[str, Any], given: Mapping[str, Any], labels_needed: bool
) -> tuple[TensorDataset, dict[str, Any]]:
    """The data, and which of the earlier options gave them."""
    ways = [{n: v for n, v in taken.items() if n in SAMPLE_OPTIONS + PLACE_OPTIONS}]
    for names in (
        PLACE_OPTIONS,
        ("sample_shape", "order"),
        (*PLACE_OPTIONS, "sample_shape", "order"),
    ):
        fewer = {n: v for n, v in ways[0].items() if n not in names}
        ways += [fewer] if fewer not in ways else []
    if not labels_needed and not given.keys() & {"labels", "labelled"}:
        ways += [{**way, "labelled": False} for way in ways]
    complaint = None
    for way in ways:
        try:
            data = load(path, **{**way, **given})
        except ValueError as error:
            complaint = complaint or error
        else:
            note = _without_places(ways[0], way, complaint)
            used = {name: value for name, value in way.items() if name != "labelled"}
            return replace(data, notes=(*data.notes, *note)), used
    assert complaint is not None
    raise complaint


def _without_places(
    first: Mapping[str, Any], way: Mapping[str, Any], complaint: ValueError | None
) -> list[str]:
    left_out = {n: v for n, v in first.items() if n not in way and n in PLACE_OPTIONS}
    if not left_out or complaint is None:
        return []
    if way.get("labelled") is False:
        return [f"read without labels ({in_words(left_out)} as the model was fitted)"]
    return [f"read without {in_words(left_out)}, with which the model was fitted: {complaint}"]


def _check_size(
    path: Any, data: TensorDataset, before: Mapping[str, Any], given: Mapping[str, Any]
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
        f"{usual:.3g} (root mean squares); pass scale=X to divide them by X, such as "
        f"{_round_ratio(size / usual):g}, or scale=1 to take them as they are"
    )


def _round_ratio(ratio: float) -> float:
    """A factor between usual scales of pixels, if the ratio is near one; else two digits of it."""
    usual = (255.0, 65535.0, 257.0)
    for factor in (*usual, *(1 / one for one in usual)):
        if 0.4 < ratio / factor < 2.5:
            return factor
    return float(f"{ratio:.2g}")


def _note(used: Mapping[str, Any]) -> str:
    return f"read as the samples that the model was fitted on: {in_words(used)}"


def _listed(value: Any) -> Any:
    return list(value) if isinstance(value, tuple | list) else value


def folded_for(
    path: str | os.PathLike[str],
    data: TensorDataset,
    shape: tuple[int, ...],
    before: Mapping[str, Any],
    **given: Any,
) -> TensorDataset:
    """Flat rows folded to the shape of a model's samples, in the order of their file format.

    Parameters
    ----------
    path : path
        Where `data` come from.
    data : TensorDataset
        What was read; it comes back as it is unless its samples are flat and `shape` is not.
    shape : tuple of int
        The sample shape of the model.
    before, **given
        As in `load_as_before`.

    Returns
    -------
    TensorDataset
        Samples of that shape, with a note that says how they were folded.
    """
    if len(shape) < 2 or data.sample_shape != (prod(shape),):
        return data
    if "order" not in reader_of(path).options:
        return data
    options = {**given, "sample_shape": shape, "labelled": data.y is not None or None}
    folded = load_as_before(
        path, {**before, "sample_shape": shape}, labels_needed=data.y is not None, **options
    )
    how = "column by column" if folded.reading["order"] == "F" else "row by row"
    sizes = " x ".join(map(str, shape))
    note = f"flat rows were folded to {sizes}, {how} (order={folded.reading['order']!r})"
    return replace(folded, notes=(*data.notes, note))
