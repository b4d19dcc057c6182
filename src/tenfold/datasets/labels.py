"""Labels as people write them, and the names that people give to arrays of labels."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

LABEL_NAMES = ("y", "gnd", "label", "labels", "target", "targets", "class", "classes")
SAMPLE_NAMES = ("x", "data", "images", "image", "samples", "features", "feature", "fea", "inputs")
# The longest first; "train" and "training" are one set, since they begin alike.
SETS = ("validation", "training", "testing", "valid", "train", "test", "val", "dev")
_SET = "|".join(SETS)
_BEFORE = re.compile(rf"({_SET})([_.\-/ ]?)(.+)")
_AFTER = re.compile(rf"(.+?)([_.\-/ ]?)({_SET})")

LAST_CHARACTER = 0x10FFFF
EXACT = 2**53  # up to here a float64 holds every whole number
_USUAL_NUMBER = re.compile(r"0|-?[1-9][0-9]{0,17}")


def as_labels(values: object) -> np.ndarray:
    """Labels as a vector: whole numbers as int, text stripped, cells and one-hot rows opened.

    Texts become numbers only if every one of them is the usual way to write its number. So ids such
    as 007 and 7 stay two classes, and numbers too long for 64 bits stay text. Blanks around a text
    go, unless two classes would become one; that, and labels that are empty or NaN, is an error.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.datasets.labels import as_labels
    >>> as_labels(np.array([[1.0], [2.0]]))
    array([1, 2])
    >>> as_labels(["10", "9"])
    array([10,  9])
    >>> as_labels(["007", "7"]).tolist()
    ['007', '7']
    >>> as_labels([[0, 1, 0], [1, 0, 0]])
    array([1, 0])
    """
    array = np.asarray(values)
    if isinstance(values, list | tuple) and array.dtype.kind == "U" and array.ndim == 1:
        array = np.array(values, dtype=object)  # NumPy makes text of None and NaN
    if array.dtype.kind == "O":
        array = _opened_cells(array)
    labels = from_one_hot(array) if is_matrix(array) else array.ravel()
    if labels.dtype.kind in "SU":
        labels = _stripped(_texts(labels))
        return (
            labels.astype(np.int64)
            if all(map(_USUAL_NUMBER.fullmatch, labels.tolist()))
            else labels
        )
    if labels.dtype.kind == "f":
        _refuse_absent(np.isnan(labels), "NaN")
        if (labels % 1 == 0).all() and (np.abs(labels) <= EXACT).all():
            return labels.astype(np.int64)
    return labels


def is_matrix(array: np.ndarray) -> bool:
    """Whether labels are more than a vector: a column per class."""
    return array.size != max(array.shape, default=1) and 0 not in array.shape


def one_hot_notes(array: np.ndarray) -> tuple[str, ...]:
    """What is to be said of labels that are a column per class; nothing of others."""
    if array.dtype.kind == "O" or not is_matrix(array):
        return ()
    return (
        f"the labels are {min(array.shape)} columns of zeros and ones (one-hot); class 0 is the "
        "first column, class 1 the second, and so on",
    )


def from_one_hot(rows: np.ndarray) -> np.ndarray:
    """Number of the column that holds the 1 of each row; a ValueError if rows are not so.

    Parameters
    ----------
    rows : array of shape (n, n_classes)
        One 1 per row, zeros else.
    """
    one_hot = (
        rows.ndim == 2 and rows.dtype.kind in "biuf" and bool(((rows == 0) | (rows == 1)).all())
    )
    if not one_hot or not (rows.sum(axis=1) == 1).all():
        raise ValueError(
            f"labels have shape {rows.shape}; expected one per sample, or rows with a single 1 "
            "(one-hot)"
        )
    columns: np.ndarray = rows.argmax(axis=1)
    return columns


def _stripped(texts: list[str]) -> np.ndarray:
    """Texts without blanks around them, if that leaves the classes as they are."""
    bare = [text.strip() for text in texts]
    _refuse_absent(np.array([not text for text in bare], dtype=bool), "empty")
    together = dict(zip(bare, texts, strict=True))
    mixed = next((text for text in set(texts) if together[text.strip()] != text), None)
    if mixed is not None:
        raise ValueError(
            f"labels {mixed!r} and {together[mixed.strip()]!r} differ in blanks only; write them "
            "alike if they are one class, or rename one of them"
        )
    return np.array(bare, dtype=str)


def _refuse_absent(absent: np.ndarray, how: str) -> None:
    if absent.any():
        first = int(np.flatnonzero(absent)[0])
        raise ValueError(
            f"{int(absent.sum())} of {len(absent)} labels are {how}, the first is that of sample "
            f"{first} (counted from 0); fill them in, or leave out these samples"
        )


def _opened_cells(cells: np.ndarray) -> np.ndarray:
    """Cells that hold one number or one text each, as an array of them."""
    inner = [np.asarray(cell).ravel() for cell in cells.ravel()]
    if inner and all(cell.size == 1 and cell.dtype.kind in "biuf" for cell in inner):
        return np.concatenate(inner)
    if not all(cell.size == 1 or not cell.size for cell in inner):
        raise ValueError("labels lie in cells that are neither one number nor one text each")
    found = [cell[0] if cell.size else "" for cell in inner]
    texts = [one.decode("utf-8", "replace") if isinstance(one, bytes) else one for one in found]
    return np.array(["" if _is_missing(one) else str(one) for one in texts], dtype=str)


def _is_missing(label: object) -> bool:
    """Whether a label is None, NaN, or what pandas has for these."""
    if label is None or type(label).__name__ in ("NAType", "NaTType"):
        return True
    return bool(label != label)  # NaN of any type


def _texts(labels: np.ndarray) -> list[str]:
    """Python's texts; a ValueError for bytes that are none, which a damaged file may hold."""
    if labels.dtype.kind == "S":
        return [text.decode("utf-8", "strict") for text in labels.tolist()]
    native = np.ascontiguousarray(labels.astype(labels.dtype.newbyteorder("=")))
    codes = native.view(np.uint32) if native.dtype.itemsize else np.zeros(1)
    if native.size and codes.max() > LAST_CHARACTER:
        raise ValueError("labels hold characters that do not exist; the file is damaged")
    texts: list[str] = native.tolist()
    return texts


# ── Names of arrays ─────────────────────────────────────────────────────────────────────────────


class ArrayName(NamedTuple):
    """A name without its set, and the first three letters of the set: tra, tes, val or none."""

    base: str
    part: str


def parsed_name(name: str) -> ArrayName:
    """Name and set of an array.

    Examples
    --------
    >>> from tenfold.datasets.labels import parsed_name
    >>> parsed_name("X_train"), parsed_name("testLabels"), parsed_name("values")
    (ArrayName(base='x', part='tra'), ArrayName(base='labels', part='tes'),
     ArrayName(base='values', part=''))
    """
    last = re.split(r"[./]", name)[-1].lower() or name.lower()
    whole = name.lower()
    for text in (last, whole):
        after = _AFTER.fullmatch(text)
        before = _BEFORE.fullmatch(text)
        if after is not None:
            base, mark, part = after.groups()
        elif before is not None:
            part, mark, base = before.groups()
        else:
            continue
        if mark or base in LABEL_NAMES + SAMPLE_NAMES:
            return ArrayName(re.split(r"[./]", base)[-1], part[:3])
    return ArrayName(last, "")


def is_label_name(name: str) -> bool:
    """Whether an array of this name holds labels."""
    return parsed_name(name).base in LABEL_NAMES
