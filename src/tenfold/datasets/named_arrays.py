"""Which of the arrays in a file are the samples and which the labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from operator import index
from pathlib import Path
from typing import Any, Literal

import numpy as np

from tenfold.datasets.array_names import is_label_name, parsed_name
from tenfold.datasets.label_values import as_labels, one_hot_notes
from tenfold.datasets.locations import short
from tenfold.datasets.tensor_dataset import TensorDataset

Shapes = Mapping[str, tuple[int, ...]]
Order = Literal["C", "F"]


@dataclass(frozen=True)
class Arrays:
    """What a file of named arrays holds, while it is open.

    Parameters
    ----------
    shapes : mapping of str to tuple of int
        Shape of each array.
    read : callable
        Takes names, gives the arrays of those names; the samples are named first.
    unreadable : mapping of str to str
        What is in the file and cannot be read, and why.
    dims : mapping of str to tuple of str
        Names of the axes of each array, where the format has such.
    """

    shapes: Shapes
    read: Callable[[list[str]], Mapping[str, Any]]
    unreadable: Mapping[str, str] = field(default_factory=dict)
    dims: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class ArrayChoice:
    """Names of the arrays to read: samples, labels, and further facts per sample.

    ``axis`` counts the samples; ``notes`` say what was chosen without being asked for.
    """

    samples: str
    labels: str | None
    facts: tuple[str, ...]
    axis: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class ArrayOptions:
    """What the user says about the arrays of a file; see `load` for the meaning of each.

    ``labels`` are those of another file, already read.
    """

    key: str | None = None
    label_key: str | None = None
    sample_shape: Sequence[int] | None = None
    order: Order = "C"
    labelled: bool = True
    sample_axis: int | None = None
    labels: np.ndarray | None = None


def assemble(source: Path, arrays: Arrays, options: ArrayOptions) -> TensorDataset:
    """Choose among the arrays of a file, read the chosen ones, and put the data set together.

    Parameters
    ----------
    source : Path
        The file.
    arrays : Arrays
        What it holds.
    options : ArrayOptions
        The user's choices.

    Returns
    -------
    TensorDataset
        Samples, labels, and other vectors with one value per sample.
    """
    _refuse_unreadable(source, arrays, options)
    choice = choose_arrays(source, _beside(arrays.shapes, options), options, arrays.dims)
    found = arrays.read([choice.samples, *choice.facts, *filter(None, [choice.labels])])
    X = check_numbers(found[choice.samples], choice.samples, source)
    if choice.axis != 0:
        X = np.moveaxis(np.asarray(X), choice.axis, 0)
    labels = options.labels if options.labelled else None
    notes = choice.notes
    if choice.labels is not None:
        values = np.asarray(found[choice.labels])
        notes += one_hot_notes(values)
        labels = _labels_of(source, choice.labels, values, X.shape[0])
    elif labels is not None:
        check_count(source, X.shape[0], labels)
    facts = {name: _fact(found[name]) for name in choice.facts}
    axes = list(arrays.dims.get(choice.samples, ()))
    modes = tuple(axes[: choice.axis] + axes[choice.axis + 1 :])
    told = {"dims": modes} if modes else {"sample_axis": choice.axis} if choice.axis else {}
    return TensorDataset(
        fold_rows(X, options.sample_shape, options.order, source),
        labels,
        name=source.stem,
        description=_description(source, choice, options),
        sample_info={n: fact for n, fact in facts.items() if np.shape(fact) == (X.shape[0],)},
        mode_names=modes if options.sample_shape is None else (),
        notes=notes,
        reading=told,
    )


def _description(source: Path, choice: ArrayChoice, options: ArrayOptions) -> str:
    """What was taken, and why."""
    named = options.key or parsed_name(choice.samples).part
    why = "asked for" if named else "the only one with several axes"
    text = f"Array {choice.samples} of {source.name} ({why})"
    if choice.labels is None:
        return f"{text}."
    by_name = "by its name" if is_label_name(choice.labels) else "the only value per sample"
    why = by_name if options.label_key is None else "asked for"
    return f"{text}; labels: array {choice.labels} ({why})."


def _beside(shapes: Shapes, options: ArrayOptions) -> Shapes:
    """The arrays of the group that the samples lie in, if they are named and not alone in it."""
    group, mark, _ = (options.key or "").rpartition("/")
    if not mark or options.key not in shapes or options.label_key is not None:
        return shapes
    near = {name: shape for name, shape in shapes.items() if name.rpartition("/")[0] == group}
    return near if len(near) > 1 else shapes


def _refuse_unreadable(source: Path, arrays: Arrays, options: ArrayOptions) -> None:
    """Say why an array that is wanted cannot be read: by its name, or as the only labels."""
    wanted = [options.key, options.label_key]
    sought = options.labelled and options.labels is None and options.label_key is None
    if sought and not any(map(is_label_name, arrays.shapes)):
        wanted += [name for name in arrays.unreadable if is_label_name(name)]
    if not any(sum(size > 1 for size in shape) > 1 for shape in arrays.shapes.values()):
        wanted += arrays.unreadable  # the samples must be among them
    for name in wanted:
        if name in arrays.unreadable:
            raise ValueError(f"{source}: array {name!r} {arrays.unreadable[name]}")


def choose_arrays(
    source: Path,
    shapes: Shapes,
    options: ArrayOptions,
    dims: Mapping[str, tuple[str, ...]] | None = None,
) -> ArrayChoice:
    """Choose by name and shape; ask when there is more than one answer.

    Samples are the only array with more than one axis longer than 1 that is not named as labels.
    Labels are the only array called one of `LABEL_NAMES` (of the same set, where names end in train
    or test), or else the only vector with one value per sample. Samples are counted by axis 0,
    or by the last axis if no other is as long as the labels; where axes have names, by that which
    the labels have.

    Parameters
    ----------
    source : Path
        The file, for messages.
    shapes : mapping of str to tuple of int
        Shape of each array in it.
    options : ArrayOptions
        The user's choices.
    dims : mapping of str to tuple of str or None, default=None
        Names of the axes.

    Returns
    -------
    ArrayChoice
        The names.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tenfold.datasets.named_arrays import ArrayOptions, choose_arrays
    >>> shapes = {"fea": (165, 1024), "gnd": (165, 1), "pose": (165, 1)}
    >>> choose_arrays(Path("faces.mat"), shapes, ArrayOptions())
    ArrayChoice(samples='fea', labels='gnd', facts=('pose',), axis=0, notes=())
    """
    vectors = {name for name, shape in shapes.items() if sum(size > 1 for size in shape) <= 1}
    samples = _choose_samples(source, shapes, vectors, options.key)
    vectors -= {samples}
    asked = _checked_axis(source, samples, shapes[samples], options.sample_axis)
    labels = None
    if options.labelled and options.labels is None:
        labels = _choose_labels(source, shapes, vectors, samples, asked, options.label_key, dims)
        if dims and asked is None and dims[labels][:1] and dims[labels][0] in dims[samples]:
            asked = dims[samples].index(dims[labels][0])
    counts = set()
    if labels is not None:
        counts = _counts(shapes[labels], labels in vectors)
    elif options.labelled and options.labels is not None:
        counts = {len(options.labels)}
    axis, notes = _choose_axis(source, samples, shapes[samples], asked, labels, counts)
    part = parsed_name(samples).part
    facts = tuple(
        name
        for name in shapes
        if name in vectors - {labels}
        and _length(shapes[name]) == shapes[samples][axis]
        and parsed_name(name).part == part
    )
    return ArrayChoice(samples, labels, facts, axis, notes)


def fold_rows(X: Any, sample_shape: Sequence[int] | None, order: Order, source: Path) -> Any:
    """Fold flat rows (n, I) into tensors (n, I_1, ..., I_K); a view where the rows are contiguous.

    Parameters
    ----------
    X : array of shape (n, I)
        Flat rows.
    sample_shape : sequence of int or None
        Shape of one sample; None leaves X as it is.
    order : {"C", "F"}
        "F": each row holds its sample column by column, as MATLAB writes it.
    source : Path
        The file, for messages.

    Returns
    -------
    array of shape (n, I_1, ..., I_K)
        The samples.
    """
    if order not in ("C", "F"):
        raise ValueError(f'order is {order!r}; expected "C" (row by row) or "F" (column by column)')
    if sample_shape is None:
        return X
    shape = _checked_shape(sample_shape)
    if len(X.shape) != 2 or int(np.prod(shape)) != X.shape[1]:
        raise ValueError(
            f"{source}: samples have shape {tuple(X.shape[1:])}, which sample_shape={shape} cannot "
            f"fold; expected flat rows of {int(np.prod(shape))} numbers"
        )
    rows = X if isinstance(X, np.ndarray) else np.asarray(X)
    if order == "C":
        return rows.reshape(-1, *shape)
    folded = rows.reshape(-1, *shape[::-1])
    return folded.transpose(0, *range(len(shape), 0, -1))


def check_numbers(array: Any, name: str, source: Path) -> Any:
    """`array` again, or a ValueError when it does not hold real numbers."""
    if array.dtype.kind not in "biuf":
        raise ValueError(
            f"{source}: array {name!r} holds {array.dtype}, not real numbers; choose another with "
            "key=NAME"
        )
    if 0 in array.shape:
        raise ValueError(
            f"{source} holds no samples: array {name!r} has shape {tuple(array.shape)}; expected "
            "at least one sample of at least one number"
        )
    return array


def check_count(source: Path, n_samples: int, labels: np.ndarray) -> None:
    """Refuse labels that are more or fewer than the samples."""
    if len(labels) != n_samples:
        raise ValueError(
            f"{source} has {n_samples} samples, but there are {len(labels)} labels; give one label "
            "per sample, or pass sample_axis=N, the axis that counts samples"
        )


def listing(shapes: Shapes) -> str:
    """Names and shapes for a message, at most twenty."""
    shown = [f"{short(name)} {tuple(shape)}" for name, shape in list(shapes.items())[:20]]
    more = f" and {len(shapes) - 20} more" if len(shapes) > 20 else ""
    return ", ".join(shown) + more or "nothing"


def _fact(values: Any) -> np.ndarray | None:
    """A vector beside the samples; None where it is not one after all."""
    try:
        return as_labels(values)
    except ValueError:
        return None


def _labels_of(source: Path, name: str, values: np.ndarray, n_samples: int) -> np.ndarray:
    """The labels as a vector; rows of a one-hot matrix may lie along either axis."""
    if values.ndim == 2 and values.dtype.kind != "O" and min(values.shape) > 1:
        values = values.T if values.shape[0] != n_samples else values
    try:
        labels = as_labels(values)
    except ValueError as error:
        raise ValueError(f"{source}: {name}: {error}") from error
    check_count(source, n_samples, labels)
    return labels


def _choose_samples(source: Path, shapes: Shapes, vectors: set[str], key: str | None) -> str:
    if key is not None:
        return _existing(source, shapes, key)
    matrices = {name: shape for name, shape in shapes.items() if name not in vectors}
    tensors = {name: shape for name, shape in matrices.items() if not is_label_name(name)}
    if len(tensors) == 1:
        return next(iter(tensors))
    if not tensors:
        found = {name: shape for name, shape in shapes.items() if _length(shape) > 1}
        raise ValueError(
            f"{source} holds no array of samples: {listing(found or shapes)}; expected one with a "
            "row, or an image, per sample"
        )
    parts = {parsed_name(name).part: name for name in tensors}
    if len(parts) == len(tensors) and "" not in parts:
        raise ValueError(
            f"{source} holds {len(parts)} sets of samples: {listing(tensors)}; choose one, such as "
            f"key={next(iter(tensors))!r}; the labels of the same set go with it"
        )
    raise ValueError(
        f"{source} holds several arrays that could be the samples: {listing(tensors)}; pass "
        "key=NAME"
    )


def _choose_labels(
    source: Path,
    shapes: Shapes,
    vectors: set[str],
    samples: str,
    axis: int | None,
    label_key: str | None,
    dims: Mapping[str, tuple[str, ...]] | None,
) -> str:
    if label_key is not None:
        return _existing(source, shapes, label_key)
    shape, part = shapes[samples], parsed_name(samples).part
    others = [name for name in shapes if name != samples]
    same = [name for name in others if parsed_name(name).part == part]
    named = [name for name in same if is_label_name(name) and len(shapes[name]) <= 2]
    sizes = {shape[0 if axis is None else axis]}
    per_sample = [n for n in same if n in vectors and _length(shapes[n]) in sizes]
    if dims:
        per_sample = [n for n in same if n in vectors and set(dims[n]) & set(dims[samples])]
    elif not per_sample and axis is None:
        per_sample = [n for n in same if n in vectors and 1 < _length(shapes[n]) in shape]
    guesses = named or per_sample
    if not others:
        raise ValueError(
            f"{source} holds samples only; pass labels=FILE, a file with one label per sample, or "
            "labelled=False"
        )
    if len(guesses) != 1:
        found = {name: shapes[name] for name in others if _length(shapes[name]) > 1}
        what = f"beside the samples {samples} {tuple(shape)} it holds {listing(found)}"
        raise ValueError(
            f"cannot tell which array of {source} holds the labels: {what}; pass label_key=NAME, "
            "labels=FILE, or labelled=False if there are none"
        )
    return guesses[0]


def _choose_axis(
    source: Path,
    name: str,
    shape: tuple[int, ...],
    asked: int | None,
    labels: str | None,
    counts: set[int],
) -> tuple[int, tuple[str, ...]]:
    """The axis that counts samples, and what is to be said about it."""
    fits = [axis for axis, size in enumerate(shape) if size in counts]
    axis = 0 if asked is None else asked
    if not counts or axis in fits:
        return axis, ()
    last = len(shape) - 1
    if asked is None and fits == [last]:
        note = (
            f"samples lie along the last axis of {name} {tuple(shape)}, the only one as long as "
            f"the labels ({shape[last]})"
        )
        return last, (note,)
    count = " or ".join(map(str, sorted(counts)))
    whose = f"{labels} has" if labels else "there are"
    raise ValueError(
        f"{source}: {name} {tuple(shape)} has {shape[axis]} samples along axis {axis}, but "
        f"{whose} {count} labels; axis 0 must count samples, or pass sample_axis=N"
    )


def _counts(shape: tuple[int, ...], is_vector: bool) -> set[int]:
    """How many labels an array may hold: its length, or of a one-hot matrix either size."""
    return {_length(shape)} if is_vector else set(shape)


def _existing(source: Path, shapes: Shapes, name: str) -> str:
    if name not in shapes:
        raise ValueError(f"{source} has no array {name!r}; it holds {listing(shapes)}")
    return name


def _checked_shape(sample_shape: Sequence[int]) -> tuple[int, ...]:
    try:
        shape = tuple(index(size) for size in sample_shape)
    except TypeError:
        shape = ()
    if not shape or min(shape) < 1:
        raise ValueError(
            f"sample_shape is {sample_shape!r}; expected positive whole numbers, such as (40, 30)"
        )
    return shape


def _checked_axis(
    source: Path, name: str, shape: tuple[int, ...], sample_axis: int | None
) -> int | None:
    if sample_axis is None:
        if not shape:
            raise ValueError(f"{source}: {name} is a single number; expected samples")
        return None
    if not isinstance(sample_axis, Integral):
        raise ValueError(
            f"sample_axis is {sample_axis!r}; expected a whole number, the axis that counts samples"
        )
    if not -len(shape) <= sample_axis < len(shape):
        raise ValueError(f"{source}: {name} has shape {shape}, so there is no axis {sample_axis}")
    return int(sample_axis) % len(shape)


def _length(shape: tuple[int, ...]) -> int:
    """Length of a vector-like array."""
    return max(shape, default=1) if 0 not in shape else 0
