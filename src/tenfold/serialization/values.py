"""Values as they stand in a file, and back: numbers, words, lists, arrays, labels and moments.

None, bool, int, float, str     themselves; NumPy scalars become Python's
tuple                           a JSON list
list, dict                      {"list": [...]}, {"pairs": [[key, value], ...]}
array of floats                 {"array": its name in the file}, or {"columns": ...} if it lies
                                in memory column by column: BLAS rounds differently for the two
array of labels                 {"labels": its place in the header's lists}
moments                         {"moments": {...}}

Nothing in a file is trusted: whatever is not of these kinds is refused, and moments must be such
as samples have.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from math import isfinite, prod
from typing import Any, TypeVar

import numpy as np

from tenfold.linalg.algebra import Array
from tenfold.statistics.accumulate import check_squares
from tenfold.statistics.moments import ClassMoments, is_definite

T = TypeVar("T")
Packed = dict[str, object]  # a JSON object

LABEL_KINDS = {"U": str, "i": int, "u": int, "b": bool}
LABEL_BYTES = 64 * 2**20  # of one array of labels; a few declared bytes must not claim gigabytes
LARGEST_COUNT = 1e100  # a sum of weights
ROUNDING = 1e-9  # of the trace of a scatter


class Axes:
    """What is declared of an array that is learned: ``Annotated[Array, Axes("C", "d", least=0)]``.

    A file is refused whose arrays have other axes. A number is an array without any.

    Parameters
    ----------
    *names : str or int
        One per axis: its size, or a name. A name stands for the same size in all that an estimator
        learned; some stand for several axes, such as "sample" for the shape of a sample.
    least, above : float, default=-inf
        What numbers must reach, and what they must exceed.
    """

    def __init__(self, *names: str | int, least: float = -np.inf, above: float = -np.inf) -> None:
        self.names, self.least, self.above = names, least, above

    def check(self, name: str, value: Any, sizes: dict[str, tuple[int, ...]]) -> None:
        """Refuse a value that does not fit what is known of sizes, and add those that it tells."""
        shape = np.shape(value)
        wanted: tuple[int, ...] = ()
        for axis in self.names:
            own = shape[len(wanted) :][:1] or (0,)
            wanted += (axis,) if isinstance(axis, int) else sizes.setdefault(axis, own)
        check_agree(name, shape, wanted)
        if self.least > -np.inf and not np.all(value >= self.least):
            raise ValueError(f"its {name} are not all {self.least:g} or more")
        if self.above > -np.inf and not np.all(value > self.above):
            raise ValueError(f"its {name} are not all above {self.above:g}")


def check_agree(name: str, came: object, expected: object) -> None:
    """Refuse what a file says of a learned attribute, if it does not fit the rest."""
    if came != expected:
        raise ValueError(f"its {name} has {came}, but the rest of the model needs {expected}")


class Packer:
    """Collects the arrays and labels of values while these are turned into JSON.

    An array that several values share is collected once.

    Attributes
    ----------
    arrays : dict of str to ndarray
        The numbers, by their names in the file.
    labels : list of dicts
        Arrays of labels, each once, as {"dtype": ..., "values": [...]}.
    """

    def __init__(self) -> None:
        self.arrays: dict[str, Array] = {}
        self.labels: list[Packed] = []
        self._places: dict[int, int] = {}  # of arrays in `labels`: members of a bank share them
        self._names: dict[int, str] = {}  # of arrays in `arrays`, for the same reason

    def table(self, owner: str, values: Mapping[str, object], prefix: str = "") -> Packed:
        """Values by name; what cannot be in a file is named with its owner."""
        packed = {}
        for name, value in values.items():
            try:
                packed[name] = self.value(value, f"{prefix}{name}")
            except TypeError as error:
                raise ValueError(
                    f"{name}={value!r:.200} of {owner} cannot be saved: {error}. A model file "
                    "holds numbers, words and estimators that tenfold knows, and nothing that "
                    "would run when it is loaded; use such values, or joblib.dump, whose files "
                    "only someone you trust may write"
                ) from error
        return packed

    def value(self, value: object, name: str) -> Any:
        """A JSON value; arrays go to `arrays` under `name`."""
        value = value.item() if isinstance(value, np.generic) else value
        if value is None or type(value) in (bool, int, str):
            return value
        if type(value) is float and isfinite(value):
            return value
        if type(value) is tuple:
            return [self.value(v, f"{name}.{i}") for i, v in enumerate(value)]
        if type(value) is list:
            return {"list": [self.value(v, f"{name}.{i}") for i, v in enumerate(value)]}
        if type(value) is dict:
            pairs = enumerate(value.items())
            return {"pairs": [[self.value(part, f"{name}.{i}") for part in v] for i, v in pairs]}
        if isinstance(value, np.ndarray):
            return self._array(value, name)
        if isinstance(value, ClassMoments):
            parts = {field.name: getattr(value, field.name) for field in fields(value)}
            return {"moments": {k: self.value(v, f"{name}.{k}") for k, v in parts.items()}}
        return self.other(value, name)

    def other(self, value: object, name: str) -> object:
        """What is no plain value."""
        raise TypeError("it is no finite number, no word, and no array or list of these")

    def _array(self, array: Array, name: str) -> dict[str, object]:
        if array.dtype.kind == "f":
            name = self._names.setdefault(id(array), name)
            if self.arrays.setdefault(name, array) is not array:
                raise ValueError(f"two arrays would have the name {name!r:.80} in the file")
            by_columns = array.ndim > 1 and array.strides[0] < array.strides[-1]
            return {"columns" if by_columns else "array": name}
        if id(array) not in self._places:
            packed = {"dtype": array.dtype.str, "values": array.tolist()}
            unpacked_labels(packed)  # whatever is written can be read
            if packed not in self.labels:
                self.labels.append(packed)
            self._places[id(array)] = self.labels.index(packed)
        return {"labels": self._places[id(array)]}


def packed_reading(reading: Mapping[str, object]) -> dict[str, object]:
    """How samples were read as JSON values: words, numbers, None, and lists of these."""
    for name, value in reading.items():
        if not _is_told(value):
            raise ValueError(
                f"reading[{name!r}] is {value!r:.80}; expected words, numbers or lists of them"
            )
    return Packer().table("reading", reading)


def _is_told(value: object) -> bool:
    if isinstance(value, list | tuple):
        return all(map(_is_told, value))
    return isinstance(value, str | int | float | np.generic | None)


# What each option of a reading must be; others are words, numbers or lists of these.
READING_KINDS: dict[str, tuple[type, ...]] = {
    "background": (int, float),
    "categories": (tuple, list),
    "classes_from": (str,),
    "columns": (tuple, list),
    "decimal": (str,),
    "delimiter": (str,),
    "dims": (tuple, list),
    "grey": (bool,),
    "groups": (str,),
    "header": (bool,),
    "key": (str,),
    "labels": (str, int),
    "loader": (str,),
    "name": (str,),
    "of": (int,),
    "order": (str,),
    "resize": (tuple, list),
    "rows": (str,),
    "sample_axis": (int,),
    "sample_shape": (tuple, list),
    "scale": (int, float),
    "usual_size": (int, float),
}


def check_reading(reading: Mapping[str, Any]) -> Packed:
    """How samples were read, as a file says it; a ValueError where that cannot be.

    Parameters
    ----------
    reading : mapping of str to values
        Options of `tenfold.datasets.load`, and what the command line adds to them.

    Returns
    -------
    dict
        The same.
    """
    given = {name: value for name, value in reading.items() if value is not None}
    for name, value in given.items():
        kinds = READING_KINDS.get(name)
        good = _is_told(value)
        if kinds is not None:
            is_switch = isinstance(value, bool)
            good = good and isinstance(value, kinds) and (not is_switch or bool in kinds)
        if not good:
            raise ValueError(
                f"its reading has {name}={value!r:.80}, which is no value of {name}; fit the model "
                "again and save it"
            )
    for name in ("sample_shape", "resize"):
        sizes = given.get(name, ())
        if not all(type(size) is int and size > 0 for size in sizes):
            raise ValueError(f"its reading has {name}={sizes!r:.80}; expected positive numbers")
    for name in ("columns", "dims"):
        words = given.get(name, ())
        if not all(isinstance(word, str) for word in words):
            raise ValueError(f"its reading has {name}={words!r:.80}; expected names")
    for one in given.get("categories", ()):
        words = one if isinstance(one, tuple | list) else ()
        if len(words) < 2 or not all(isinstance(word, str) for word in words):
            raise ValueError(f"its reading has categories with {one!r:.80}; expected names")
    usual = given.get("usual_size", 0.0)
    if not 0 <= usual < np.inf:
        raise ValueError(f"its usual_size is {usual!r:.80}, which is no size")
    return dict(reading)


class Unpacker:
    """Turns the JSON values of a `Packer` back into what they stand for."""

    containers = frozenset({"list", "pairs", "array", "columns", "labels", "moments"})

    def __init__(self, header: Mapping[str, object], arrays: Mapping[str, Array]) -> None:
        labels = header.get("labels")
        if not isinstance(labels, list):
            raise ValueError("its header lists no labels")
        self.labels = [unpacked_labels(packed) for packed in labels]
        self.arrays = arrays

    def table(self, packed: object) -> Packed:
        """Values by name."""
        return {name: self.value(value) for name, value in expect(dict, packed).items()}

    def value(self, packed: object) -> Any:
        """What a JSON value stands for."""
        if packed is None or isinstance(packed, bool | int | str):
            return packed
        if isinstance(packed, float) and np.isfinite(packed):
            return packed
        if isinstance(packed, list):
            return tuple(self.value(part) for part in packed)
        if not isinstance(packed, dict) or len(packed) != 1 or not packed.keys() <= self.containers:
            raise ValueError(f"its header holds {packed!r:.80}, which stands for nothing")
        ((kind, inside),) = packed.items()
        return getattr(self, f"_{kind}")(inside)

    def _list(self, inside: object) -> list[object]:
        return list(self.value(expect(list, inside)))

    def _pairs(self, inside: object) -> dict[object, object]:
        return mapping_of(self.value(expect(list, inside)))

    def _array(self, inside: object) -> Array:
        name = expect(str, inside)
        if name not in self.arrays:
            raise ValueError(f"its header speaks of an array {inside!r:.80} that is not there")
        return self.arrays[name]

    def _columns(self, inside: object) -> Array:
        return np.asfortranarray(self._array(inside))

    def _labels(self, inside: object) -> Array:
        place = expect(int, inside)
        if not 0 <= place < len(self.labels):
            raise ValueError(f"its header speaks of labels {inside!r:.20} that are not there")
        labels: Array = self.labels[place]
        return labels

    def _moments(self, inside: object) -> ClassMoments:
        parts = self.table(inside)
        if parts.pop("folds", None) is not None:
            raise ValueError(
                "its moments are of classes in folds, which an earlier tenfold wrote and this one "
                "does not read; gather the moments again and save them"
            )
        needed = {field.name for field in fields(ClassMoments)}
        arrays = {name: part for name, part in parts.items() if isinstance(part, np.ndarray)}
        if parts.keys() != needed or arrays.keys() != needed:
            raise ValueError(f"its moments are not the arrays {', '.join(sorted(needed))}")
        moments = ClassMoments(**arrays)
        _check_rows(moments)
        _check_possible(moments)
        return moments


def unpacked_labels(packed: object) -> Array:
    """Labels from the form they have in a file.

    Parameters
    ----------
    packed : dict
        With a NumPy "dtype" of words, integers, booleans or objects, and a list of "values".

    Returns
    -------
    ndarray of shape (C,)
        The labels in their own dtype.
    """
    if not isinstance(packed, dict) or not isinstance(packed.get("values"), list):
        raise TypeError("labels are not a list with a dtype")
    values = packed["values"]
    kinds = {type(value) for value in packed["values"]}
    if not re.fullmatch(r"[<>|=]?(U\d{1,8}|[iu][1248]|b1|O)", str(packed.get("dtype"))):
        raise TypeError(f"labels of dtype {packed.get('dtype')!r:.50} are not of a plain kind")
    dtype = np.dtype(packed["dtype"])
    if dtype.kind == "O" and len(kinds) == 1 and kinds <= {str, int, float, bool}:
        array = np.empty(len(values), dtype=object)
        array[:] = values
        return array
    if kinds != {LABEL_KINDS.get(dtype.kind)}:
        names = sorted(kind.__name__ for kind in kinds)
        raise TypeError(f"labels of dtype {dtype} must not be of types {', '.join(names):.80}")
    if dtype.itemsize * len(values) > LABEL_BYTES:
        raise TypeError(f"{len(values)} labels of dtype {dtype} take more than {LABEL_BYTES} bytes")
    try:
        array = np.array(values, dtype=dtype.newbyteorder("="))
    except OverflowError as error:
        raise TypeError(f"labels do not fit their dtype {dtype}") from error
    if array.tolist() != values:  # words that were cut
        raise TypeError(f"labels do not fit their dtype {dtype}")
    return array


def mapping_of(pairs: Sequence[tuple[object, object]]) -> dict[object, object]:
    """A mapping from pairs of a file; keys made to collide would take minutes, and are refused."""
    keys = [key for key, _ in pairs]
    if len(keys) > len(set(map(hash, keys))) + 8:
        raise ValueError(f"its header holds a mapping with {len(keys)} keys that collide")
    return dict(pairs)


def expect(kind: type[T], value: object) -> T:
    """The value, if it is of this kind."""
    if type(value) is not kind:
        raise ValueError(f"its header holds {value!r:.80} where a {kind.__name__} should be")
    return value


def _check_rows(moments: ClassMoments) -> None:
    """Rows are sorted by class, and none is there twice."""
    if moments.classes.ndim != 1:
        raise ValueError("its classes are not a row")
    places = np.unique(moments.classes, return_inverse=True)[1]
    if not (np.diff(places) > 0).all():
        raise ValueError("its classes are not sorted, or some are there twice")


def _check_possible(moments: ClassMoments) -> None:
    """Whether samples could have such moments."""
    n = len(moments.classes)
    size = prod(moments.means.shape[1:])
    shapes = (moments.counts.shape, moments.means.shape[:1], moments.scatters.shape)
    if shapes != ((n,), (n,), (n, size, size)) or moments.means.ndim < 2 or size == 0 or n == 0:
        raise ValueError(f"its arrays do not fit together: {n} classes, and shapes {shapes}")
    if any(a.dtype != np.float64 for a in (moments.counts, moments.means, moments.scatters)):
        raise ValueError("its arrays are not of float64")
    diagonals = np.diagonal(moments.scatters, axis1=1, axis2=2)
    bounds = ROUNDING * np.abs(diagonals).sum(axis=1)
    if (moments.counts < 0).any() or (diagonals.min(axis=1) < -bounds).any():
        raise ValueError("its counts or variances are negative")
    for scatter, bound in zip(moments.scatters, bounds, strict=True):
        if np.abs(scatter - scatter.T).max() > bound or np.abs(scatter).max() > bound / ROUNDING:
            raise ValueError("its scatters are not symmetric, or no scatters of samples")
        if not is_definite(scatter, bound):
            raise ValueError("one of its scatters has a negative eigenvalue: no samples have that")
    check_squares(moments.counts, moments.means, diagonals.sum(axis=1))
    if moments.counts.max() > LARGEST_COUNT:
        raise ValueError(f"it counts {moments.counts.max():.0e} samples, more than there can be")
    empty = moments.counts == 0
    if moments.means[empty].any() or moments.scatters[empty].any():
        raise ValueError("a class without samples has a mean or a scatter")
