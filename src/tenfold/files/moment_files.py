"""Moments as files: what a site can hand on in place of its samples.

The format is that of model files, with the entry `moments` in place of `model`. Nothing in a file
is trusted: a header is checked before anything is built from it, and moments must be such as
samples have.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tenfold.datasets.load_like_training import LARGEST_RATIO
from tenfold.datasets.loading import SAMPLE_OPTIONS
from tenfold.serialization import model_format
from tenfold.serialization.values import Packer, Unpacker, check_reading, packed_reading
from tenfold.statistics.accumulate import check_same_kind
from tenfold.statistics.moments import ClassMoments
from tenfold.validation.parameters import Number, check_option, plain

Path = str | os.PathLike[str]
# Of a reading: which samples of which file, no property.
OF_ONE_FILE = ("name", "of", "rows", "groups")


class StoredMoments(NamedTuple):
    """Moments from files, and what is known of their samples."""

    moments: ClassMoments
    reading: dict[str, Any]  # how the samples were read; may be empty
    mode_names: tuple[str, ...]  # may be empty
    header: dict[str, object]  # of the first file
    labelled: bool = True  # else all samples count as one class, 0


def save_moments(
    moments: ClassMoments,
    path: Path,
    *,
    reading: Mapping[str, object] | None = None,
    mode_names: Sequence[str] = (),
    minimum_count: int | None = None,
    labelled: bool = True,
) -> None:
    """Write moments to one safetensors file, which `load_moments` reads.

    The file holds arrays and a JSON header, no pickle, under a checksum; it is written whole or
    not at all. It says more of single samples than one may think: see the page "Several sites" of
    the user guide.

    Parameters
    ----------
    moments : ClassMoments
        The moments.
    path : path-like
        Where to, such as "site1.safetensors"; an existing file is replaced.
    reading : mapping or None, default=None
        How the samples were read: ``data.reading`` of a `TensorDataset`. Moments of samples that
        were read otherwise are then refused as summands.
    mode_names : sequence of K str, default=()
        What the modes of a sample are called; moments with other names are refused as well.
    minimum_count : int or None, default=None
        Refuse to write moments of a class with fewer samples. Counts are sums of weights.
    labelled : bool, default=True
        False for samples without labels, so that they are not added to those of a class 0.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> from tenfold import ClassMoments, load_moments, save_moments
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(40, 4, 3)), np.arange(40) % 2
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     paths = [os.path.join(folder, f"site{i}.safetensors") for i in (1, 2)]
    ...     save_moments(ClassMoments.from_batch(X[:30], y[:30]), paths[0], minimum_count=10)
    ...     save_moments(ClassMoments.from_batch(X[30:], y[30:]), paths[1])
    ...     both = load_moments(*paths)
    >>> both.counts
    array([20., 20.])
    """
    if minimum_count is not None:
        check_minimum_count(moments, minimum_count)
    _check_names(mode_names, moments.shape)
    packer = Packer()
    try:
        header: dict[str, object] = packer.value(moments, "moments")
    except TypeError as error:
        raise ValueError(
            f"moments cannot be saved: {error}; pass labels that are words or numbers, such as "
            "y.astype(str)"
        ) from error
    header |= {"mode_names": [str(name) for name in mode_names]} if mode_names else {}
    header |= {"reading": packed_reading(reading)} if reading else {}
    header |= {} if labelled else {"labelled": False}
    header["summary"] = {
        "sample_shape": list(moments.shape),
        "n_classes": len(moments.classes),
        "counts": moments.counts.tolist(),
    }
    model_format.write(path, header | {"labels": packer.labels}, packer.arrays)


def _check_names(mode_names: Sequence[str], shape: tuple[int, ...]) -> None:
    if mode_names and len(mode_names) != len(shape):
        raise ValueError(
            f"mode_names has {len(mode_names)} names {tuple(mode_names)}, but samples have shape "
            f"{shape}; pass one name per mode"
        )


def check_minimum_count(moments: ClassMoments, minimum_count: int) -> None:
    """Refuse moments of few samples of a class: they say much of each."""
    check_option("minimum_count", minimum_count, [Number(1, whole=True)])
    counts = moments.counts
    few = (counts > 0) & (counts < minimum_count)
    if few.any():
        shown = [
            f"{plain(label)!r} has {count:g}"
            for label, count in zip(moments.classes[few][:5], counts[few], strict=False)
        ]
        raise ValueError(
            f"{few.sum()} of {len(few)} classes have fewer than minimum_count="
            f"{minimum_count} samples (such as {', '.join(shown)}), and nothing was written; leave "
            "these classes out, give them one label together, or gather more samples"
        )


def load_moments(*paths: Path) -> ClassMoments:
    """The moments of one file, or the sum of those of several, if they are of like samples.

    Parameters
    ----------
    *paths : path-like
        Files that `save_moments` or ``tenfold moments`` wrote. Classes may differ; shapes, names
        of modes and the way in which samples were read must not.

    Returns
    -------
    ClassMoments
        Of all samples together.

    Raises
    ------
    ModelFileError
        A `ValueError` that names the file and what is wrong with it.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> from tenfold import ClassMoments, load_moments, save_moments
    >>> moments = ClassMoments.from_batch(np.ones((4, 3, 2)), np.array([0, 0, 1, 1]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "site.safetensors")
    ...     save_moments(moments, path)
    ...     load_moments(path).counts
    array([2., 2.])
    """
    return read_moments(*paths).moments


def read_moments(*paths: Path) -> StoredMoments:
    """The moments of files, added, and what is known of their samples.

    Parameters
    ----------
    *paths : path-like
        One file at least.

    Returns
    -------
    StoredMoments
        The sum; of the readings what all files agree in.
    """
    if not paths:
        raise ValueError("there are no files of moments to load; name at least one")
    files: dict[str, Path] = {}
    for path in paths:
        place = os.path.realpath(path)
        if place in files:
            raise ValueError(
                f"{path} is named twice, so its samples would count twice; name each file once"
            )
        files[place] = path
    total = _read(paths[0])
    for path in paths[1:]:
        one = _read(path)
        _check_alike(paths[0], total, path, one)
        total = total._replace(
            moments=total.moments + one.moments,
            reading=_common(total, one),
            mode_names=total.mode_names or one.mode_names,
        )
    return total


def _read(path: Path) -> StoredMoments:
    header, arrays = model_format.read(path)
    with model_format.errors_named(path):
        packed = header.get("moments")
        if packed is None:
            other = "a model" if "model" in header else "no moments"
            raise ValueError(
                f"it holds {other}; expected moments, which tenfold moments or save_moments writes"
            )
        unpacker = Unpacker(header, arrays)
        moments: ClassMoments = unpacker.value({"moments": packed})
        used = {name for part in packed.values() if part for name in part.values()}
        if used != {*arrays, *range(len(unpacker.labels))}:
            raise ValueError("its header and its arrays are not those of moments")
        names = header.get("mode_names", [])
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise ValueError("its names of modes are not words")
        _check_names(names, moments.shape)
        labelled = header.get("labelled", True) is not False
        reading = check_reading(unpacker.table(header.get("reading", {})))
        return StoredMoments(moments, reading, tuple(names), header, labelled)


def _check_alike(first: Path, one: StoredMoments, second: Path, other: StoredMoments) -> None:
    """Refuse to add moments of samples that differ in shape, order, units or kind of labels."""
    if one.labelled != other.labelled:
        raise ValueError(
            f"{first if other.labelled else second} is of samples without labels, which would "
            "count as a class of their own; gather its moments again with labels, or those of all "
            "files without"
        )
    a = _facts(one)
    b = _facts(other)
    differ = [name for name in a if name in b and a[name] != b[name]]
    if differ:
        name = differ[0]
        raise ValueError(
            f"the samples of {first} have {name}={a[name]!r:.60}, but those of {second} have "
            f"{name}={b[name]!r:.60}; bring those of one site into the form of the other "
            "(transpose, resize or scale them) and gather its moments again"
        )
    try:
        check_same_kind(other.moments.classes, one.moments.classes)
    except ValueError as error:
        raise ValueError(f"{second} does not go with {first}: {error}") from error
    sizes = [stored.reading.get("usual_size", 0.0) for stored in (one, other)]
    if all(sizes) and not 1 / LARGEST_RATIO < sizes[0] / sizes[1] < LARGEST_RATIO:
        raise ValueError(
            f"the numbers of {first} are about {sizes[0]:.3g}, and those of {second} about "
            f"{sizes[1]:.3g} (root mean squares), so their units differ; gather the moments of one "
            "site again with scale=X, which divides its numbers by X"
        )


def _facts(stored: StoredMoments) -> dict[str, object]:
    """What must be the same for samples of two files, where both know it."""
    facts: dict[str, object] = {"shape": stored.moments.shape}
    facts |= {"mode_names": stored.mode_names} if stored.mode_names else {}
    told = stored.reading
    return facts | ({name: told.get(name) for name in SAMPLE_OPTIONS} if told else {})


def _common(one: StoredMoments, other: StoredMoments) -> dict[str, object]:
    """What two readings agree in, and the usual size of all samples."""
    a, b = one.reading, other.reading
    common = {k: v for k, v in a.items() if k in b and b[k] == v and k not in OF_ONE_FILE}
    if "usual_size" in a and "usual_size" in b:
        counts = np.array([one.moments.count, other.moments.count])
        squares = np.square([a["usual_size"], b["usual_size"]])
        common["usual_size"] = float(np.sqrt(counts @ squares / max(counts.sum(), 1e-300)))
    return common
