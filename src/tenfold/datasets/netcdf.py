"""netCDF files, as xarray writes them: samples whose axes have names.

Version 4 is HDF5 and is read with h5py; version 3 is read by SciPy, in plain Python.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.io import netcdf_file

from tenfold.datasets.array_names import is_label_name
from tenfold.datasets.hdf5_file import HDF5_DAMAGE, datasets, is_hdf5, opened, read_dataset
from tenfold.datasets.label_files import read_labels
from tenfold.datasets.label_values import as_labels
from tenfold.datasets.locations import existing_path, inner_path, reading
from tenfold.datasets.named_arrays import check_count, check_numbers, listing
from tenfold.datasets.sizes import HonestReader
from tenfold.datasets.tensor_dataset import TensorDataset


@dataclass(frozen=True)
class Variable:
    """An array of a file and the names of its axes."""

    dims: tuple[str, ...]
    shape: tuple[int, ...]
    attributes: Mapping[str, Any]
    read: Callable[[], np.ndarray]


def load_netcdf(
    path: str | os.PathLike[str],
    *,
    key: str | None = None,
    label_key: str | None = None,
    labels: Any = None,
    dims: Sequence[str] | None = None,
    labelled: bool = True,
) -> TensorDataset:
    """Read samples with named axes from a netCDF file, such as xarray writes.

    The axis of samples is the one that the labels have; without labels it is the axis that is not
    in `dims`, or else the first.

    Parameters
    ----------
    path : path
        The file, or ``file.nc::name``.
    key : str or None, default=None
        Name of the samples; None when only one variable has several axes.
    label_key : str or None, default=None
        Name of the labels; None takes the variable called y, gnd, label(s), target(s) or class(es),
        or else the only one with a value per sample that is not a coordinate of an axis.
    labels : array-like of shape (n,), path or None, default=None
        Labels that are not in this file.
    dims : sequence of str or None, default=None
        The modes in the order wanted; None keeps the order of the file.
    labelled : bool, default=True
        False reads samples without labels.

    Returns
    -------
    TensorDataset
        Its ``mode_names`` are the names of the axes.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from scipy.io import netcdf_file
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "eeg.nc"
    >>> with netcdf_file(path, "w") as file:
    ...     for name, size in {"channel": 3, "trial": 4, "time": 5}.items():
    ...         file.createDimension(name, size)
    ...     file.createVariable("eeg", "d", ("channel", "trial", "time"))[:] = 0
    ...     file.createVariable("label", "i", ("trial",))[:] = [0, 0, 1, 1]
    >>> load_netcdf(path), load_netcdf(path).mode_names
    (TensorDataset 'eeg': 4 samples of 3x5 (float64), 2 classes, ('channel', 'time'))
    """
    place, inner = inner_path(path)
    source = existing_path(place, "a netCDF file")
    given = read_labels(labels, label_key) if labelled and labels is not None else None
    names = _Names(key or inner, label_key, dims, labelled and labels is None)
    return _loaded(source, names, given)


class _Names(NamedTuple):
    """What the user says of the variables of a file."""

    key: str | None
    label_key: str | None
    dims: Sequence[str] | None
    labels_inside: bool


def _loaded(source: Path, names: _Names, given: np.ndarray | None) -> TensorDataset:
    dims = names.dims
    damage = (*HDF5_DAMAGE, AssertionError, AttributeError)
    with reading(source, "netCDF file", *damage), _variables(source) as found:
        name = _samples(source, found, names.key)
        inside = names.labels_inside
        label = _labels(source, found, name, names.label_key) if inside else None
        axes = found[name].dims
        sample = found[label].dims[0] if label else _sample_axis(source, axes, dims)
        modes = tuple(dims or (axis for axis in axes if axis != sample))
        if sorted((sample, *modes)) != sorted(axes):
            raise ValueError(
                f"{source}: {name} has the axes {axes}, but samples along {sample!r} with the "
                f"modes {modes} were expected; pass dims=NAMES of the modes"
            )
        X = _numbers(source, name, found[name])
        X = np.transpose(X, [axes.index(axis) for axis in (sample, *modes)])
        y = as_labels(found[label].read()) if label else given
        if y is not None:
            check_count(source, len(X), y)
    told = f"Variable {name} of {source.name}, samples along {sample}."
    facts = {"description": told, "mode_names": modes, "reading": {"dims": modes}}
    return TensorDataset(X, y, name=source.stem, **facts)


@contextmanager
def _variables(source: Path) -> Iterator[dict[str, Variable]]:
    if is_hdf5(source):
        with opened(source) as file:
            found = datasets(file)
            yield {
                name: Variable(
                    _axis_names(item),
                    tuple(item.shape or ()),
                    dict(item.attrs),
                    lambda item=item: read_dataset(source, item),
                )
                for name, item in found.items()
            }
        return
    with HonestReader(source) as raw, netcdf_file(raw, mmap=False) as file:
        yield {
            name: Variable(
                tuple(item.dimensions), tuple(item.shape), dict(item._attributes), _copy(item)
            )
            for name, item in file.variables.items()
        }


def _copy(item: Any) -> Callable[[], np.ndarray]:
    def read() -> np.ndarray:
        values = np.array(item.data)
        if values.dtype.kind == "S":  # characters, a text per row
            texts = [b"".join(row).decode("utf-8", "replace").strip("\0 ") for row in values]
            return np.array(texts)
        native: np.ndarray = values.astype(values.dtype.newbyteorder("="))
        return native

    return read


def _axis_names(item: Any) -> tuple[str, ...]:
    """The dimensions of a netCDF variable: each is an HDF5 scale of that name."""
    if "DIMENSION_LIST" not in item.attrs:
        return (item.name.strip("/"),) if item.ndim == 1 else ()
    return tuple(axis[0].name.rpartition("/")[2] if len(axis) else "" for axis in item.dims)


def _samples(source: Path, found: Mapping[str, Variable], key: str | None) -> str:
    shapes = {name: one.shape for name, one in found.items()}
    if key is not None:
        if key.strip("/") not in found:
            raise ValueError(f"{source} has no variable {key!r}; it holds {listing(shapes)}")
        return key.strip("/")
    tensors = {name: shape for name, shape in shapes.items() if len(found[name].dims) > 1}
    tensors = {
        name: shape
        for name, shape in tensors.items()
        if not is_label_name(name) and name not in found[name].dims  # a coordinate of an axis
    }
    if len(tensors) != 1:
        raise ValueError(
            f"{source} holds {len(tensors)} variables with several axes: {listing(tensors)}; pass "
            "key=NAME of the samples"
        )
    return next(iter(tensors))


def _labels(
    source: Path, found: Mapping[str, Variable], samples: str, label_key: str | None
) -> str:
    if label_key is not None:
        if label_key not in found:
            shapes = {name: one.shape for name, one in found.items()}
            raise ValueError(f"{source} has no variable {label_key!r}; it holds {listing(shapes)}")
        return label_key
    axes = found[samples].dims
    per_sample = [
        name
        for name, one in found.items()
        if one.dims and one.dims[0] in axes and len(one.dims) <= 2 and name not in (*axes, samples)
    ]
    named = [name for name in per_sample if is_label_name(name)]
    guesses = named or per_sample
    if len(guesses) != 1:
        shown = ", ".join(guesses or found)
        raise ValueError(
            f"cannot tell which variable of {source} holds the labels: it has {shown}; pass "
            "label_key=NAME, labels=FILE, or labelled=False if there are none"
        )
    return guesses[0]


def _sample_axis(source: Path, axes: tuple[str, ...], dims: Sequence[str] | None) -> str:
    others = [axis for axis in axes if axis not in dims] if dims else list(axes[:1])
    if len(others) != 1:
        raise ValueError(
            f"{source}: its axes are {axes}, and {tuple(dims or ())} are to be modes; exactly one "
            "other must be left, which counts samples"
        )
    return others[0]


def _numbers(source: Path, name: str, variable: Variable) -> np.ndarray:
    """The numbers of a variable, unpacked as its attributes say, if none is missing."""
    values: np.ndarray = check_numbers(variable.read(), name, source)
    gap = variable.attributes.get("_FillValue", variable.attributes.get("missing_value"))
    if gap is not None:
        missing = int((values == np.ravel(gap)[0]).sum())
        if missing:
            raise ValueError(
                f"{source}: {missing} numbers of {name} are missing (they are its fill value); "
                "fill them, or drop those samples"
            )
    scale = variable.attributes.get("scale_factor", 1)
    offset = variable.attributes.get("add_offset", 0)
    if np.ravel(scale)[0] != 1 or np.ravel(offset)[0] != 0:
        values = values * np.ravel(scale)[0] + np.ravel(offset)[0]
    return values
