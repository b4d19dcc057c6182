"""What the names of arrays say: labels, and which of several sets they belong to."""

from __future__ import annotations

import re
from typing import NamedTuple

from tenfold.datasets.label_values import LABEL_NAMES

SAMPLE_NAMES = ("x", "data", "images", "image", "samples", "features", "feature", "fea", "inputs")
_SETS = {
    "train": "train",
    "training": "train",
    "test": "test",
    "testing": "test",
    "val": "validation",
    "valid": "validation",
    "validation": "validation",
    "dev": "validation",
}
_LONGEST_FIRST = "|".join(sorted(_SETS, key=len, reverse=True))
_BEFORE = re.compile(rf"({_LONGEST_FIRST})([_.\-/ ]?)(.+)")
_AFTER = re.compile(rf"(.+?)([_.\-/ ]?)({_LONGEST_FIRST})")


class ArrayName(NamedTuple):
    """A name without its set, and the set: train, test, validation or ""."""

    base: str
    part: str


def parsed_name(name: str) -> ArrayName:
    """Name and set of an array.

    Examples
    --------
    >>> from tenfold.datasets.array_names import parsed_name
    >>> parsed_name("X_train"), parsed_name("testLabels"), parsed_name("values")
    (ArrayName(base='x', part='train'), ArrayName(base='labels', part='test'),
     ArrayName(base='values', part=''))
    """
    last = re.split(r"[./]", name)[-1].lower() or name.lower()
    whole = name.lower()
    for text in (last, whole):
        if match := _AFTER.fullmatch(text):
            base, mark, part = match.groups()
        elif match := _BEFORE.fullmatch(text):
            part, mark, base = match.groups()
        else:
            continue
        if mark or base in LABEL_NAMES + SAMPLE_NAMES:
            return ArrayName(re.split(r"[./]", base)[-1], _SETS[part])
    return ArrayName(last, "")


def is_label_name(name: str) -> bool:
    """Whether an array of this name holds labels."""
    return parsed_name(name).base in LABEL_NAMES
