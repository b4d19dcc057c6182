"""netCDF files: samples whose axes have names, as xarray understands them.

xarray unpacks numbers that are stored as small integers, and makes gaps (NaN) of fill values.
Version 3 is read by SciPy, version 4, which is HDF5, by h5py. The only module here that imports
xarray.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tenfold.datasets.array_names import is_label_name
from tenfold.datasets.hdf5 import datasets, is_hdf5, opened, values_of
from tenfold.datasets.label_values import as_labels
from tenfold.datasets.locations import reading
from tenfold.datasets.named_arrays import check_count, check_numbers, listing
from tenfold.datasets.tensor_dataset import TensorDataset


def read_netcdf(
    source: Path,
    *,
    key: str | None = None,
    label_key: str | None = None,
    labels: np.ndarray | None = None,
    dims: Sequence[str] | None = None,
    labelled: bool = True,
) -> TensorDataset:
    """Samples along the axis that the labels have; without labels the one that is not in `dims`."""
    found = variables(source)
    name = _samples(source, found, key and key.strip("/"))
    inside = labelled and labels is None
    label = _labels(source, found, name, label_key) if inside else None
    axes = found[name].dims
    sample = found[label].dims[0] if label else _sample_axis(source, axes, dims)
    modes = tuple(dims or (axis for axis in axes if axis != sample))
    if sorted((sample, *modes)) != sorted(axes):
        raise ValueError(
            f"{source}: {name} has the axes {axes}, but samples along {sample!r} with the modes "
            f"{modes} were expected; pass dims=NAMES of the modes"
        )
    X = check_numbers(found[name].transpose(sample, *modes).to_numpy(), name, source)
    y = as_labels(found[label].to_numpy()) if label else labels
    if y is not None:
        check_count(source, len(X), y)
    return TensorDataset(
        np.ascontiguousarray(X),
        y if labelled else None,
        name=source.stem,
        description=f"Variable {name} of {source.name}, samples along {sample}.",
        mode_names=modes,
        reading={"dims": modes},
    )


def variables(source: Path) -> dict[str, Any]:
    """All variables of a file with names of their axes, unpacked."""
    xarray = _xarray()
    with reading(source, "netCDF file"):
        if is_hdf5(source):
            with opened(source) as file:
                whole = xarray.Dataset(
                    {name: _variable(source, item) for name, item in datasets(file).items()}
                )
        else:
            with xarray.open_dataset(source, engine="scipy", decode_cf=False) as file:
                whole = file.load()
        return dict(xarray.decode_cf(whole, decode_times=False).variables)


def _variable(source: Path, item: Any) -> Any:
    """A dataset whose axes are scales of HDF5, as an xarray variable."""
    axes = [axis[0].name.rpartition("/")[2] if len(axis) else "" for axis in item.dims]
    if item.is_scale:
        axes = [item.name.rpartition("/")[2]]
    names = [axis or f"{item.name}_{i}" for i, axis in enumerate(axes)]
    wanted = ("scale_factor", "add_offset", "_FillValue", "missing_value", "_Unsigned")
    told = {n: np.ravel(item.attrs[n])[0] for n in wanted if n in item.attrs}
    return _xarray().Variable(names, values_of(source, item), told)


def _samples(source: Path, found: dict[str, Any], key: str | None) -> str:
    shapes = {name: one.shape for name, one in found.items()}
    if key is not None:
        if key not in found:
            raise ValueError(f"{source} has no variable {key!r}; it holds {listing(shapes)}")
        return key
    tensors = {
        name: shape
        for name, shape in shapes.items()
        if len(shape) > 1 and not is_label_name(name) and name not in found[name].dims
    }
    if len(tensors) != 1:
        raise ValueError(
            f"{source} holds {len(tensors)} variables with several axes: {listing(tensors)}; pass "
            "key=NAME of the samples"
        )
    return next(iter(tensors))


def _labels(source: Path, found: dict[str, Any], samples: str, label_key: str | None) -> str:
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
    guesses = [name for name in per_sample if is_label_name(name)] or per_sample
    if len(guesses) != 1:
        raise ValueError(
            f"cannot tell which variable of {source} holds the labels: it has "
            f"{', '.join(guesses or found)}; pass label_key=NAME, labels=FILE, or labelled=False "
            "if there are none"
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


def _xarray() -> Any:
    try:
        import xarray
    except ImportError as error:
        raise ImportError('netCDF files need xarray: pip install "tenfold[data]"') from error
    return xarray
