"""netCDF files as xarray writes them: version 4 by hand with h5py, version 3 with SciPy."""

import struct

import h5py
import numpy as np
import pytest
from scipy.io import netcdf_file

from tenfold.datasets import load, load_netcdf

X = np.random.default_rng(0).random((6, 4, 3))  # channel x trial x time: samples in the middle
Y = np.array([1, 1, 2, 2])
DIMS = {"channel": 6, "trial": 4, "time": 3}


def version_4(path, dims=tuple(DIMS), values=X, label="label", **attributes):
    with h5py.File(path, "w") as file:
        for name, size in DIMS.items():
            file[name] = np.arange(size) * 10.0
            file[name].make_scale(name)
        file["eeg"] = values
        file["eeg"].attrs.update(attributes)
        file[label] = Y
        for name, axes in (("eeg", dims), (label, ("trial",))):
            for axis, dim in enumerate(axes):
                file[name].dims[axis].attach_scale(file[dim])
    return path


def version_3(path):
    with netcdf_file(path, "w") as file:
        for name, size in DIMS.items():
            file.createDimension(name, size)
        file.createVariable("eeg", "d", tuple(DIMS))[:] = X
        file.createVariable("label", "i", ("trial",))[:] = Y
        file.createVariable("time", "d", ("time",))[:] = np.arange(3.0)
    return path


@pytest.mark.parametrize("write", [version_4, version_3])
def test_the_axis_of_the_labels_counts_samples(tmp_path, write):
    data = load(write(tmp_path / "eeg.nc"))
    np.testing.assert_array_equal(data.X, X.transpose(1, 0, 2))
    assert data.y.tolist() == Y.tolist()
    assert data.mode_names == ("channel", "time")
    assert data.reading == {"dims": ("channel", "time"), "loader": "load_netcdf"}


def test_modes_come_in_the_order_asked_for(tmp_path):
    path = version_4(tmp_path / "eeg.nc")
    data = load_netcdf(path, dims=("time", "channel"), labelled=False)
    np.testing.assert_array_equal(data.X, X.transpose(1, 2, 0))
    with pytest.raises(ValueError, match="exactly one other must be left"):
        load_netcdf(path, dims=("time",), labelled=False)


def test_the_only_variable_along_the_samples_holds_the_labels(tmp_path):
    path = version_4(tmp_path / "eeg.nc", label="stimulus")
    assert load_netcdf(path).y.tolist() == Y.tolist()


def test_packed_numbers_are_unpacked_and_missing_ones_refused(tmp_path):
    packed = (10 * X).round().astype("i2")
    path = version_4(tmp_path / "a.nc", values=packed, scale_factor=0.1, add_offset=1.0)
    np.testing.assert_allclose(load_netcdf(path).X, (packed * 0.1 + 1).transpose(1, 0, 2))
    n_missing = int((packed == 3).sum())
    path = version_4(tmp_path / "b.nc", values=packed, _FillValue=np.int16(3))
    with pytest.raises(ValueError, match=f"{n_missing} numbers of eeg are missing"):
        load_netcdf(path)


def test_an_unknown_name_and_a_damaged_file_are_named(tmp_path):
    path = version_4(tmp_path / "eeg.nc")
    with pytest.raises(ValueError, match=r"has no variable 'meg'.*eeg \(6, 4, 3\)"):
        load(f"{path}::meg")
    with pytest.raises(ValueError, match="has no variable 'who'"):
        load(path, labels="who")
    (tmp_path / "bad.nc").write_bytes(b"CDF\x01" + b"\xff" * 60)
    with pytest.raises(ValueError, match=r"bad\.nc is not a whole netCDF file"):
        load(tmp_path / "bad.nc")


def test_a_name_of_two_gigabytes_is_refused_before_it_is_read(tmp_path):
    data = version_3(tmp_path / "eeg.nc").read_bytes()
    at = data.find(b"label") - 4
    (tmp_path / "bad.nc").write_bytes(data[:at] + b"\x7f\xff\xff\xff" + data[at + 4 :])
    said = r"bad\.nc is not a whole netCDF file: it declares 2147483647 bytes at byte \d+"
    with pytest.raises(ValueError, match=said):
        load(tmp_path / "bad.nc")


def test_variables_that_lie_in_the_same_place_do_not_multiply(tmp_path):
    """SciPy reads all of them; 200 of 32 KiB in one place would be 6.4 MB from 50 kB."""
    path, size = tmp_path / "many.nc", 2**15
    with netcdf_file(path, "w") as file:
        file.createDimension("n", size)
        for i in range(200):
            file.createVariable(f"v{i}", "b", ("n",))[:] = 0
    data = path.read_bytes()
    first = len(data) - 200 * size
    for i in range(1, 200):
        data = data.replace(struct.pack(">i", first + i * size), struct.pack(">i", first))
    path.write_bytes(data[: first + size])
    with pytest.raises(ValueError, match=r"many\.nc is not a whole netCDF file: it declares"):
        load(path)


def test_a_file_that_xarray_wrote_is_read(tmp_path):
    xarray = pytest.importorskip("xarray", reason="xarray comes with the extra of its name")
    coords = {"channel": list("abcdef"), "label": ("trial", Y)}
    array = xarray.DataArray(X, dims=tuple(DIMS), coords=coords, name="eeg")
    array.to_netcdf(tmp_path / "eeg.nc", engine="scipy")
    data = load(tmp_path / "eeg.nc")
    np.testing.assert_array_equal(data.X, X.transpose(1, 0, 2))
    assert data.y.tolist() == Y.tolist()
