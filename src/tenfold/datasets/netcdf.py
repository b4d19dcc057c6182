"""netCDF files: samples whose axes have names, as xarray understands them.

xarray unpacks numbers that are stored as small integers, and makes gaps (NaN) of fill values.
Version 3 is read by SciPy, version 4, which is HDF5, by h5py. The only module here that imports
xarray.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from tenfold.datasets.hdf5 import datasets, is_hdf5, opened, values_of
from tenfold.datasets.locations import FileError, reading
from tenfold.datasets.named_arrays import Arrays, in_memory
from tenfold.extras import require_extra

if TYPE_CHECKING:
    from xarray import Variable

    from tenfold.datasets.hdf5 import Dataset


def open_netcdf(source: Path, *, dims: Sequence[str] | None = None) -> Arrays:
    """The variables of a file but the coordinates of axes; `dims` are modes in the order wanted."""
    found = {name: one for name, one in _variables(source).items() if name not in one.dims}
    if dims is not None:
        found = {
            name: _samples_first(source, name, one, tuple(dims)) for name, one in found.items()
        }
    values = {name: one.to_numpy() for name, one in found.items()}
    return replace(in_memory(values), dims={name: one.dims for name, one in found.items()})


def _samples_first(source: Path, name: str, variable: Variable, modes: tuple[str, ...]) -> Variable:
    """A variable with its samples first and these modes behind; one that lacks them as it is."""
    others = [axis for axis in variable.dims if axis not in modes]
    if len(variable.dims) < 2:
        return variable
    if len(others) != 1 or len(variable.dims) != len(modes) + 1:
        raise FileError(
            f"{source}: the axes of {name} are {variable.dims}, and {modes} are to be modes; "
            "exactly one other must be left, which counts samples"
        )
    return variable.transpose(*others, *modes)


def _variables(source: Path) -> dict[str, Variable]:
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


def _variable(source: Path, item: Dataset) -> Variable:
    """A dataset whose axes are scales of HDF5, as an xarray variable."""
    axes = [axis[0].name.rpartition("/")[2] if len(axis) else "" for axis in item.dims]
    if item.is_scale:
        axes = [item.name.rpartition("/")[2]]
    names = [axis or f"{item.name}_{i}" for i, axis in enumerate(axes)]
    wanted = ("scale_factor", "add_offset", "_FillValue", "missing_value", "_Unsigned")
    told = {n: np.ravel(item.attrs[n])[0] for n in wanted if n in item.attrs}
    return _xarray().Variable(names, values_of(source, item), told)


def _xarray() -> ModuleType:
    with require_extra("netCDF files need xarray", "data"):
        import xarray
    return xarray
