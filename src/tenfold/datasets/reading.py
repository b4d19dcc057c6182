"""How samples were read: what a model remembers of its data, as options of `load`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tenfold.datasets.tensor_dataset import TensorDataset

# What a sample is: a model can only be used on samples that were read in the same way.
SAMPLE_OPTIONS = ("sample_shape", "order", "resize", "grey", "background", "scale")
SAMPLE_OPTIONS += ("columns", "dims", "classes_from")
# Where the samples and labels lie in a file: another file may need other values.
PLACE_OPTIONS = ("key", "label_key", "label_column", "sample_axis", "header", "delimiter")
PLACE_OPTIONS += ("decimal",)

MOST_ROWS = 1000  # from which the usual size of the numbers is taken


def how_it_was_read(
    reader: Any, given: Mapping[str, Any], found: Mapping[str, Any]
) -> dict[str, Any]:
    """The options that a later reading needs to give the same kind of samples.

    Parameters
    ----------
    reader : Reader
        How it was read; its default of ``order`` counts, since it differs from format to format.
    given : mapping
        The options it was called with.
    found : mapping
        What the reader found out itself, such as the axis that counts samples.

    Returns
    -------
    dict
        Options by name, plain values.
    """
    options = {name: value for name, value in {**found, **given}.items() if value is not None}
    if "sample_shape" in options:
        options.setdefault("order", reader.options["order"])
    else:
        options.pop("order", None)
    kept = (name for name in (*SAMPLE_OPTIONS, *PLACE_OPTIONS) if name in options)
    return {name: _plain(options[name]) for name in kept} | {"loader": reader.name}


def _plain(value: Any) -> Any:
    """A value that a model file can hold."""
    if isinstance(value, tuple | list):
        return tuple(_plain(part) for part in value)
    return value.item() if isinstance(value, np.generic) else value


def usual_size(data: TensorDataset) -> float:
    """The root mean square of the numbers of the first thousand samples; gaps do not count."""
    some = np.asarray(data.X[:MOST_ROWS], dtype=float)
    gaps = np.isnan(some)
    return float(np.sqrt(np.mean(some[~gaps] ** 2 if gaps.any() and not gaps.all() else some**2)))


def in_words(options: Mapping[str, Any]) -> str:
    """Options as a person would type them in Python; a long one is cut.

    Examples
    --------
    >>> from tenfold.datasets.reading import in_words
    >>> in_words({"sample_shape": (32, 32), "order": "F"})
    "sample_shape=(32, 32), order='F'"
    """
    return ", ".join(f"{name}={value!r:.60}" for name, value in options.items())
