"""What a file holds as named arrays, and which of them are the samples and which the labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral
from operator import index
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

import numpy as np

from tenfold.datasets.labels import as_labels, is_label_name, one_hot_notes, parsed_name
from tenfold.datasets.locations import naming, short
from tenfold.datasets.spelling import FILE, NAME, Word, spelled
from tenfold.datasets.tensor_dataset import Samples, TensorDataset

Shapes = Mapping[str, tuple[int, ...]]
SomeSamples = TypeVar("SomeSamples", bound=Samples)
Order = Literal["C", "F"]


@dataclass(frozen=True)
class Arrays:
    """What a file holds, while it is open: every reader gives this, and `assemble` takes it.

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
    samples, labels : str or None
        Which arrays these are, where the format says so; then axis 0 counts samples, and labels
        are as they should be.
    description : str
        Where samples and labels come from, if there is more to say than names of arrays.
    notes : tuple of str
        What was chosen without being asked for.
    reading : mapping of str to values
        Options that a later reading needs, and that the reader found out itself.
    """

    shapes: Shapes
    read: Callable[[list[str]], Mapping[str, Samples]]
    unreadable: Mapping[str, str] = field(default_factory=dict)
    dims: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    samples: str | None = None
    labels: str | None = None
    description: str = ""
    notes: tuple[str, ...] = ()
    reading: Mapping[str, object] = field(default_factory=dict)


class Look(NamedTuple):
    """What `contents` shows of a file or folder."""

    names: list[str]  # of the columns of `rows`
    rows: list[list[str]]  # an array, a column of a table, or a folder of images each
    ways: list[dict[str, object]]  # options with which it may be read, the likeliest first


def in_memory(found: Mapping[str, Samples]) -> Arrays:
    """`Arrays` that were read already."""
    shapes = {name: tuple(array.shape) for name, array in found.items()}
    return Arrays(shapes, lambda names: {name: found[name] for name in names})


def assemble(
    source: Path,
    arrays: Arrays,
    *,
    key: str | None = None,
    labels: str | int | np.ndarray | None = None,
    labelled: bool = True,
    sample_shape: Sequence[int] | None = None,
    order: Order = "C",
    sample_axis: int | None = None,
) -> TensorDataset:
    """Choose among the arrays of a file, read the chosen ones, and put the data set together.

    Samples are the only array with more than one axis longer than 1 that is not named as labels.
    Labels are the only array called one of `LABEL_NAMES` (of the same set, where names end in train
    or test), or else the only vector with one value per sample. Samples are counted by axis 0,
    or by the last axis if no other is as long as the labels; where axes have names, by that which
    the labels have. Where there is more than one answer, an error asks.

    Parameters
    ----------
    source : Path
        The file.
    arrays : Arrays
        What it holds.
    key, labels, labelled, sample_shape, order, sample_axis
        As in `load`; labels of another file are already read.

    Returns
    -------
    TensorDataset
        Samples, labels, and other vectors with one value per sample.

    Examples
    --------
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from tenfold.datasets.named_arrays import assemble, in_memory
    >>> arrays = in_memory({"fea": np.zeros((6, 4)), "gnd": np.arange(6), "pose": np.ones(6)})
    >>> assemble(Path("faces.mat"), arrays).description
    'Array fea of faces.mat (the only one with several axes); labels: array gnd (by its name).'
    """
    key = None if key is None else key.strip("/")
    y = labels if labelled and isinstance(labels, np.ndarray) else None
    asked = str(labels).strip("/") if isinstance(labels, str | int) else None
    inside = labelled and y is None
    _refuse_unreadable(arrays, key, asked, inside)
    if asked is None:
        arrays = replace(arrays, shapes=_beside(arrays.shapes, key))
    samples = _choose_samples(arrays.shapes, key or arrays.samples)
    axis = _checked_axis(samples, arrays, sample_axis)
    chosen = None  # the array of the labels
    counts = set() if y is None else {len(y)}  # how many samples there may be
    if inside:
        chosen = _choose_labels(arrays, samples, axis, asked or arrays.labels)
        shape = arrays.shapes[chosen]
        counts = {_length(shape)} if _is_vector(shape) else set(shape)  # one-hot: either size
        axis = _named_axis(arrays.dims, samples, chosen) if axis is None else axis
    axis, notes = _choose_axis(samples, arrays.shapes[samples], axis, chosen, counts)
    facts = _facts(arrays, samples, chosen, axis)
    found = arrays.read([samples, *facts, *filter(None, [chosen])])
    X = check_numbers(found[samples], samples)
    X = np.moveaxis(np.asarray(X), axis, 0) if axis else X
    if chosen is not None:
        y = np.asarray(found[chosen])
        if arrays.samples is None:  # else the labels are as they should be
            notes += one_hot_notes(y)
            y = _labels_of(chosen, y, X.shape[0])
    axes = list(arrays.dims.get(samples, ()))
    modes = tuple(axes[:axis] + axes[axis + 1 :])
    return TensorDataset(
        fold_rows(X, sample_shape, order),
        y,
        description=arrays.description or _description(source, samples, chosen, key, asked),
        sample_info=_sample_info(found, facts, X.shape[0], as_stored=arrays.samples is not None),
        mode_names=modes if sample_shape is None else (),
        notes=(*arrays.notes, *notes),
        reading=_reading(modes, axis) if arrays.samples is None else arrays.reading,
    )


def _reading(modes: tuple[str, ...], axis: int) -> dict[str, object]:
    """What a later reading of such a file needs to know."""
    if modes:
        return {"dims": modes}
    return {"sample_axis": axis} if axis else {}


def choose_label_file(source: Path, arrays: Arrays, key: str | None) -> np.ndarray:
    """The labels of a file in which nothing else is wanted."""
    _refuse_unreadable(arrays, None, key, key is None)
    shapes = {name: shape for name, shape in arrays.shapes.items() if _length(shape) > 1}
    if key is not None:
        name = _existing(arrays.shapes, key)
    else:
        named = [name for name in shapes if is_label_name(name)]
        vectors = [name for name, shape in shapes.items() if _is_vector(shape)]
        only = [one for one in (named, vectors, list(shapes)) if len(one) == 1]
        if not only:
            raise ValueError(
                f"cannot tell which array holds the labels: {listing(shapes)}; pass "
                f"{spelled('labels', f'{source}::NAME')}"
            )
        ((name,), *_) = only
    return as_labels(arrays.read([name])[name])


def fold_rows(X: Samples, sample_shape: Sequence[int] | None, order: Order) -> Samples:
    """Fold flat rows (n, I) into tensors (n, I_1, ..., I_K); a view where the rows are contiguous.

    Parameters
    ----------
    X : array of shape (n, I)
        Flat rows.
    sample_shape : sequence of int or None
        Shape of one sample; None leaves X as it is.
    order : {"C", "F"}
        "F": each row holds its sample column by column, as MATLAB writes it.

    Returns
    -------
    array of shape (n, I_1, ..., I_K)
        The samples.
    """
    if order not in ("C", "F"):
        raise ValueError(f'order is {order!r}; expected "C" (row by row) or "F" (column by column)')
    if sample_shape is None:
        return X
    try:
        shape = tuple(index(size) for size in sample_shape)
    except TypeError:
        shape = ()
    if not shape or min(shape) < 1:
        raise ValueError(
            f"sample_shape is {sample_shape!r}; expected positive whole numbers, such as (40, 30)"
        )
    if len(X.shape) != 2 or int(np.prod(shape)) != X.shape[1]:
        raise ValueError(
            f"samples have shape {tuple(X.shape[1:])}, which "
            f"{spelled('sample_shape', shape)} cannot fold; "
            f"expected flat rows of {int(np.prod(shape))} numbers"
        )
    rows = X if isinstance(X, np.ndarray) else np.asarray(X)
    if order == "C":
        return rows.reshape(-1, *shape)
    folded = rows.reshape(-1, *shape[::-1])
    return folded.transpose(0, *range(len(shape), 0, -1))


def check_numbers(array: SomeSamples, name: str) -> SomeSamples:
    """`array` again, or a ValueError when it does not hold real numbers."""
    if array.dtype.kind not in "biuf":
        raise ValueError(
            f"array {name!r} holds {array.dtype}, not real numbers; choose another with "
            f"{spelled('key', NAME)}"
        )
    if 0 in array.shape:
        raise ValueError(
            f"no samples: array {name!r} has shape {tuple(array.shape)}; expected at least one "
            "sample of at least one number"
        )
    return array


def listing(shapes: Shapes) -> str:
    """Names and shapes for a message, at most twenty."""
    shown = [f"{short(name)} {tuple(shape)}" for name, shape in list(shapes.items())[:20]]
    more = f" and {len(shapes) - 20} more" if len(shapes) > 20 else ""
    return ", ".join(shown) + more or "nothing"


def _description(
    source: Path, samples: str, labels: str | None, key: str | None, asked: str | None
) -> str:
    """What was taken, and why."""
    chosen = key or (asked and parsed_name(samples).part)
    why = "as requested" if chosen else "the only one with several axes"
    text = f"Array {samples} of {source.name} ({why})"
    if labels is None:
        return f"{text}."
    by_name = "by its name" if is_label_name(labels) else "the only value per sample"
    return f"{text}; labels: array {labels} ({'as requested' if asked else by_name})."


def _beside(shapes: Shapes, key: str | None) -> Shapes:
    """The arrays of the group that the samples lie in, if they are named and not alone in it."""
    group, mark, _ = (key or "").rpartition("/")
    if not mark or key not in shapes:
        return shapes
    near = {name: shape for name, shape in shapes.items() if name.rpartition("/")[0] == group}
    return near if len(near) > 1 else shapes


def _refuse_unreadable(arrays: Arrays, key: str | None, asked: str | None, inside: bool) -> None:
    """Say why an array that is wanted cannot be read: by its name, or as the only labels."""
    wanted = [name for name in (key, asked) if name is not None]
    if inside and asked is None and not any(map(is_label_name, arrays.shapes)):
        wanted += [name for name in arrays.unreadable if is_label_name(name)]
    if all(map(_is_vector, arrays.shapes.values())):
        wanted += arrays.unreadable  # the samples must be among them
    for name in wanted:
        if name in arrays.unreadable:
            raise ValueError(f"array {name!r} {arrays.unreadable[name]}")


def _facts(arrays: Arrays, samples: str, labels: str | None, axis: int) -> list[str]:
    """Names of other vectors with a value per sample, of the same set."""
    of_set = arrays.samples is None
    return [
        name
        for name, shape in arrays.shapes.items()
        if name not in (samples, labels)
        and _is_vector(shape)
        and _length(shape) == arrays.shapes[samples][axis]
        and (not of_set or parsed_name(name).part == parsed_name(samples).part)
    ]


def _sample_info(
    found: Mapping[str, Samples], facts: list[str], n_samples: int, as_stored: bool
) -> dict[str, np.ndarray]:
    """Vectors beside the samples; those that have no value per sample after all are left out."""
    info = {}
    for name in facts:
        try:
            values = np.asarray(found[name]) if as_stored else as_labels(found[name])
        except ValueError:
            continue
        if values.shape == (n_samples,):
            info[name] = values
    return info


def _labels_of(name: str, values: np.ndarray, n_samples: int) -> np.ndarray:
    """The labels as a vector; rows of a one-hot matrix may lie along either axis."""
    if values.ndim == 2 and values.dtype.kind != "O" and min(values.shape) > 1:
        values = values.T if values.shape[0] != n_samples else values
    with naming(name):
        labels = as_labels(values)
        if len(labels) != n_samples:
            raise ValueError(f"{len(labels)} labels for {n_samples} samples; give one per sample")
        return labels


def _choose_samples(shapes: Shapes, key: str | None) -> str:
    if key is not None:
        return _existing(shapes, key)
    matrices = {name: shape for name, shape in shapes.items() if not _is_vector(shape)}
    tensors = {name: shape for name, shape in matrices.items() if not is_label_name(name)}
    if len(tensors) == 1:
        return next(iter(tensors))
    if not tensors:
        found = {name: shape for name, shape in shapes.items() if _length(shape) > 1}
        raise ValueError(
            f"it holds no array of samples: {listing(found or shapes)}; expected one with a row, "
            "or an image, per sample"
        )
    raise ValueError(
        f"it holds several arrays that could be the samples: {listing(tensors)}; pass "
        f"{spelled('key', NAME)}; where names end in train or test, the labels of the same "
        "set go with it"
    )


def _choose_labels(arrays: Arrays, samples: str, axis: int | None, key: str | None) -> str:
    shapes, dims = arrays.shapes, arrays.dims
    if key is not None:
        return _existing(shapes, key)
    shape = shapes[samples]
    part = parsed_name(samples).part
    others = {name: of for name, of in shapes.items() if name != samples}
    same = [name for name in others if parsed_name(name).part == part]
    guesses = [name for name in same if is_label_name(name) and len(shapes[name]) <= 2]
    vectors = {name: _length(shapes[name]) for name in same if _is_vector(shapes[name])}
    if not guesses and dims:
        guesses = [name for name in vectors if set(dims[name]) & set(dims[samples])]
    elif not guesses:
        guesses = [name for name, size in vectors.items() if size == shape[axis or 0]]
        if not guesses and axis is None:
            guesses = [name for name, size in vectors.items() if 1 < size in shape]
    if not others:
        raise ValueError(
            f"it holds samples only; pass {spelled('labels', FILE)}, a file with one label per "
            f"sample, or {spelled('labelled', False)}"
        )
    if len(guesses) != 1:
        found = {name: of for name, of in others.items() if _length(of) > 1}
        raise ValueError(
            f"cannot tell which array holds the labels: beside the samples {samples} "
            f"{tuple(shape)} it holds {listing(found)}; pass {spelled('labels', NAME)}, "
            f"{spelled('labels', FILE)}, or {spelled('labelled', False)} if there are none"
        )
    return guesses[0]


def _choose_axis(
    name: str, shape: tuple[int, ...], asked: int | None, labels: str | None, counts: set[int]
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
        f"{name} {tuple(shape)} has {shape[axis]} samples along axis {axis}, but {whose} {count} "
        f"labels; give one label per sample, or pass {spelled('sample_axis', Word('N'))}, the axis "
        "that counts samples"
    )


def _existing(shapes: Shapes, name: str) -> str:
    if name not in shapes:
        raise ValueError(f"it has no array {name!r}; it holds {listing(shapes)}")
    return name


def _checked_axis(name: str, arrays: Arrays, asked: int | None) -> int | None:
    """The axis of samples that was asked for, or that the format knows."""
    shape = arrays.shapes[name]
    if not shape:
        raise ValueError(f"{name} is a single number; expected samples along an axis")
    if asked is None:
        return None if arrays.samples is None else 0
    if not isinstance(asked, Integral) or not -len(shape) <= asked < len(shape):
        raise ValueError(
            f"{name} has shape {shape}, so there is no axis {asked!r}; expected a whole number, "
            "the axis that counts samples"
        )
    return int(asked) % len(shape)


def _named_axis(dims: Mapping[str, tuple[str, ...]], samples: str, labels: str) -> int | None:
    """The axis of samples that has the name of the first axis of labels."""
    found = [i for i, name in enumerate(dims.get(samples, ())) if name in dims[labels][:1]]
    return found[0] if found else None


def _is_vector(shape: tuple[int, ...]) -> bool:
    """Whether an array holds one value per sample at most."""
    return sum(size > 1 for size in shape) <= 1


def _length(shape: tuple[int, ...]) -> int:
    """Length of a vector-like array."""
    return max(shape, default=1) if 0 not in shape else 0
