"""Which of the arrays in a file are the samples and which the labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from operator import index
from pathlib import Path
from typing import Any, Literal

import numpy as np

from tenfold.datasets.tensor_dataset import TensorDataset

LABEL_NAMES = ("y", "gnd", "label", "labels", "target", "targets", "class", "classes")

Shapes = Mapping[str, tuple[int, ...]]
Order = Literal["C", "F"]


@dataclass(frozen=True)
class ArrayChoice:
    """Names of the arrays to read: samples, labels, and further facts per sample."""

    samples: str
    labels: str | None
    facts: tuple[str, ...]


@dataclass(frozen=True)
class ArrayOptions:
    """What the user says about the arrays of a file; see `load_npz` for the meaning of each."""

    key: str | None = None
    label_key: str | None = None
    sample_shape: Sequence[int] | None = None
    order: Order = "C"
    labelled: bool = True
    sample_axis: int = 0


def assemble(
    source: Path,
    shapes: Shapes,
    read: Callable[[list[str]], Mapping[str, Any]],
    options: ArrayOptions,
) -> TensorDataset:
    """Choose among the arrays of a file, read the chosen ones, and put the data set together.

    Parameters
    ----------
    source : Path
        The file.
    shapes : mapping of str to tuple of int
        Shape of each array in it.
    read : callable
        Takes names, gives the arrays of those names; the samples are named first.
    options : ArrayOptions
        The user's choices.

    Returns
    -------
    TensorDataset
        Samples, labels, and other vectors with one value per sample.
    """
    choice = choose_arrays(source, shapes, options)
    arrays = read([choice.samples, *choice.facts, *filter(None, [choice.labels])])
    X = check_numbers(arrays[choice.samples], choice.samples, source)
    if options.sample_axis != 0:
        X = np.moveaxis(X, options.sample_axis, 0)
    return TensorDataset(
        fold_rows(X, options.sample_shape, options.order, source),
        None if choice.labels is None else as_labels(arrays[choice.labels]),
        name=source.stem,
        description=f"Array {choice.samples} of {source.name}.",
        sample_info={name: as_labels(arrays[name]) for name in choice.facts},
    )


def choose_arrays(source: Path, shapes: Shapes, options: ArrayOptions) -> ArrayChoice:
    """Choose by name and shape; ask when there is more than one answer.

    Samples are the only array with more than one axis longer than 1. Labels are the only vector
    called one of `LABEL_NAMES`, or else the only vector with one value per sample.

    Parameters
    ----------
    source : Path
        The file, for messages.
    shapes : mapping of str to tuple of int
        Shape of each array in it.
    options : ArrayOptions
        The user's choices.

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
    ArrayChoice(samples='fea', labels='gnd', facts=('pose',))
    """
    vectors = {name for name, shape in shapes.items() if sum(size > 1 for size in shape) <= 1}
    samples = _choose_samples(source, shapes, vectors, options.key)
    n_samples = _n_samples(source, samples, shapes[samples], options.sample_axis)
    vectors -= {samples}
    per_sample = [n for n in shapes if n in vectors and _length(shapes[n]) == n_samples]
    labels = _choose_labels(source, shapes, vectors, per_sample, options)
    if labels in vectors and labels not in per_sample:
        raise ValueError(
            f"{source}: {samples} {shapes[samples]} has {n_samples} samples along axis "
            f"{options.sample_axis}, but {labels} has {_length(shapes[labels])} labels; axis 0 "
            "must count samples, or pass sample_axis=N"
        )
    return ArrayChoice(samples, labels, tuple(name for name in per_sample if name != labels))


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


def as_labels(values: Any) -> np.ndarray:
    """Labels as a vector: whole numbers as int, text stripped, MATLAB cells opened.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.datasets.named_arrays import as_labels
    >>> as_labels(np.array([[1.0], [2.0]]))
    array([1, 2])
    >>> as_labels(["10", "9"])
    array([10,  9])
    """
    array = np.asarray(values)
    if array.dtype.kind == "O":
        array = np.array([str(np.squeeze(cell)) for cell in array.ravel()])
    labels = array.ravel() if array.size == _length(array.shape) else array
    if labels.dtype.kind in "SU":
        labels = np.char.strip(labels.astype(str))
        return labels.astype(np.int64) if all(map(_is_whole, labels)) else labels
    if labels.dtype.kind == "f" and np.isfinite(labels).all() and not (labels % 1).any():
        return labels.astype(np.int64)
    return labels


def check_numbers(array: Any, name: str, source: Path) -> Any:
    """`array` again, or a ValueError when it does not hold real numbers."""
    if array.dtype.kind not in "biuf":
        raise ValueError(
            f"{source}: array {name!r} holds {array.dtype}, not real numbers; choose another with "
            "key=NAME"
        )
    return array


def _choose_samples(source: Path, shapes: Shapes, vectors: set[str], key: str | None) -> str:
    if key is not None:
        return _existing(source, shapes, key)
    tensors = [name for name in shapes if name not in vectors]
    if len(tensors) != 1:
        which = "several arrays that could be the samples" if tensors else "no array of samples"
        raise ValueError(f"{source} holds {which}: {_listing(shapes)}; pass key=NAME")
    return tensors[0]


def _choose_labels(
    source: Path, shapes: Shapes, vectors: set[str], per_sample: list[str], options: ArrayOptions
) -> str | None:
    if not options.labelled:
        return None
    if options.label_key is not None:
        return _existing(source, shapes, options.label_key)
    named = [name for name in shapes if name in vectors and name.lower() in LABEL_NAMES]
    guesses = named or per_sample
    if len(guesses) != 1:
        raise ValueError(
            f"cannot tell which array of {source} holds the labels: {_listing(shapes)}; pass "
            "label_key=NAME, or labelled=False if there are none"
        )
    return guesses[0]


def _existing(source: Path, shapes: Shapes, name: str) -> str:
    if name not in shapes:
        raise ValueError(f"{source} has no array {name!r}; it holds {_listing(shapes)}")
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


def _n_samples(source: Path, name: str, shape: tuple[int, ...], sample_axis: int) -> int:
    if not isinstance(sample_axis, Integral):
        raise ValueError(
            f"sample_axis is {sample_axis!r}; expected a whole number, the axis that counts samples"
        )
    if not -len(shape) <= sample_axis < len(shape):
        raise ValueError(f"{source}: {name} has shape {shape}, so there is no axis {sample_axis}")
    return shape[sample_axis]


def _listing(shapes: Shapes) -> str:
    return ", ".join(f"{name} {shape}" for name, shape in shapes.items()) or "nothing"


def _length(shape: tuple[int, ...]) -> int:
    """Length of a vector-like array."""
    return max(shape, default=1) if 0 not in shape else 0


def _is_whole(text: str) -> bool:
    return text.lstrip("+-").isdecimal() and text.count("-") + text.count("+") <= 1
