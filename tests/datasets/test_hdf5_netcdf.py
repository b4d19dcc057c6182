"""HDF5 and netCDF: what is in the file, and nothing from elsewhere."""

import h5py
import numpy as np
import pytest
from scipy.io import netcdf_file

from tenfold.datasets import load

X = np.random.default_rng(0).random((6, 4, 3))
Y = np.array([1, 1, 2, 2, 3, 3])
WORDS = ["ann", "ann", "bo", "bo", "cy", "cy"]


@pytest.fixture
def write(tmp_path):
    def write_file(make=lambda file: None, name="data.h5", **arrays):
        with h5py.File(tmp_path / name, "w") as file:
            for key, array in arrays.items():
                file[key] = array
            make(file)
        return tmp_path / name

    return write_file


@pytest.mark.parametrize("labels", [Y, WORDS, np.array(WORDS, dtype="S3"), np.eye(3)[Y - 1]])
def test_samples_and_labels_are_found(write, labels):
    data = load(write(X=X, y=labels, pose=np.arange(6)))
    np.testing.assert_array_equal(data.X, X)
    assert len(data.classes) == 3
    assert data.sample_info["pose"].tolist() == list(range(6))


def test_a_path_inside_is_written_behind_two_colons(write):
    path = write(**{"a/X": X, "a/y": Y, "b/X": X[:4], "b/y": Y[:4]})
    with pytest.raises(ValueError, match=r"several arrays .*a/X \(6, 4, 3\), b/X"):
        load(path)
    for name in (f"{path}::/b/X", f"{path}::b/X"):
        assert load(name).y.tolist() == Y[:4].tolist()
    assert load(path, key="/a/X").y.tolist() == Y.tolist()
    with pytest.raises(ValueError, match="the path names b/X and key names a/X"):
        load(f"{path}::b/X", key="a/X")


@pytest.mark.parametrize("name", ["data.h5", "data.mat", "data.nc"])
@pytest.mark.parametrize("kind", ["external", "link", "through", "virtual"])
def test_nothing_is_read_from_another_file(write, tmp_path, name, kind):
    (tmp_path / "secret.bin").write_bytes(X.tobytes())
    with h5py.File(tmp_path / "other.h5", "w") as other:
        other["X"] = X

    def make(file):
        file["y"] = Y
        if kind == "external":
            place = [(str(tmp_path / "secret.bin"), 0, X.nbytes)]
            file.create_dataset("X", X.shape, dtype="f8", external=place)
        elif kind == "link":
            file["X"] = h5py.ExternalLink("other.h5", "/X")
        elif kind == "through":
            file["#away"] = h5py.ExternalLink("other.h5", "/")
            file["X"] = h5py.SoftLink("/#away/X")
        else:
            layout = h5py.VirtualLayout(X.shape, "f8")
            layout[:] = h5py.VirtualSource("other.h5", "X", X.shape)
            file.create_virtual_dataset("X", layout)

    with pytest.raises(ValueError, match=r"data\..*(is an external link|lie in another file)"):
        load(write(make, name))


def test_links_inside_the_file_are_followed(write):
    def make(file):
        file["kept/X"] = X
        file["X"] = h5py.SoftLink("/kept/X")
        file["gone"] = h5py.SoftLink("/nowhere")
        layout = h5py.VirtualLayout(X.shape, "f8")
        layout[:] = h5py.VirtualSource(".", "kept/X", X.shape)
        file.create_virtual_dataset("again", layout)

    for key in ("X", "again"):
        np.testing.assert_array_equal(load(write(make, y=Y), key=key).X, X)


@pytest.mark.parametrize("filters", [{}, {"chunks": (1024, 6)}, {"compression": "gzip"}])
def test_numbers_that_were_never_written_are_refused(write, filters):
    def make(file):
        file.create_dataset("X", (2**30, 6), dtype="f8", **filters)  # 48 GiB of nothing

    with pytest.raises(ValueError, match=r"data\.h5: \d+ of \d+ chunks of dataset /X are not in"):
        load(write(make, y=Y), labelled=False)


def test_a_file_of_another_kind_is_named(tmp_path):
    for name in ("data.h5", "data.nc", "data.mat"):
        (tmp_path / name).write_text("label,a\n1,2\n" * 50)
        with pytest.raises(ValueError, match=rf"{name} is not a whole"):
            load(tmp_path / name)


# ── netCDF ──────────────────────────────────────────────────────────────────────────────────────

DIMS = {"channel": 6, "trial": 4, "time": 3}  # samples in the middle
TRIALS = Y[:4]


def version_4(path, values=X, label="label", **attributes):
    with h5py.File(path, "w") as file:
        for name, size in DIMS.items():
            file[name] = np.arange(size) * 10.0
            file[name].make_scale(name)
        file["eeg"] = values
        file["eeg"].attrs.update(attributes)
        file[label] = TRIALS
        for name, axes in (("eeg", tuple(DIMS)), (label, ("trial",))):
            for axis, dim in enumerate(axes):
                file[name].dims[axis].attach_scale(file[dim])
    return path


def version_3(path):
    with netcdf_file(path, "w") as file:
        for name, size in DIMS.items():
            file.createDimension(name, size)
        file.createVariable("eeg", "d", tuple(DIMS))[:] = X
        file.createVariable("label", "i", ("trial",))[:] = TRIALS
        file.createVariable("time", "d", ("time",))[:] = np.arange(3.0)
    return path


def by_xarray(path):
    xarray = pytest.importorskip("xarray")
    coords = {"channel": list("abcdef"), "label": ("trial", TRIALS)}
    array = xarray.DataArray(X, dims=tuple(DIMS), coords=coords, name="eeg")
    array.to_netcdf(path, engine="scipy")
    return path


@pytest.mark.parametrize("write_netcdf", [version_4, version_3, by_xarray])
def test_the_axis_of_the_labels_counts_samples(tmp_path, write_netcdf):
    path = write_netcdf(tmp_path / "eeg.nc")
    data = load(path)
    np.testing.assert_array_equal(data.X, X.transpose(1, 0, 2))
    assert data.y.tolist() == TRIALS.tolist()
    assert data.mode_names == ("channel", "time")
    assert data.reading == {"dims": ("channel", "time"), "loader": "netcdf"}
    turned = load(path, dims=("time", "channel"), labelled=False)
    np.testing.assert_array_equal(turned.X, X.transpose(1, 2, 0))
    with pytest.raises(ValueError, match="exactly one other must be left"):
        load(path, dims=("time",), labelled=False)


def test_packed_numbers_are_unpacked_and_fill_values_are_gaps(tmp_path):
    packed = (10 * X).round().astype("i2")
    told = {"scale_factor": 0.1, "add_offset": 1.0, "_FillValue": np.int16(3)}
    path = version_4(tmp_path / "a.nc", values=packed, label="stimulus", **told)
    expected = np.where(packed == 3, np.nan, packed * 0.1 + 1).transpose(1, 0, 2)
    np.testing.assert_allclose(load(path).X, expected, rtol=1e-12)


def test_an_unknown_variable_is_answered_with_those_that_are_there(tmp_path):
    path = version_4(tmp_path / "eeg.nc")
    with pytest.raises(ValueError, match=r"has no array 'meg'.*eeg \(6, 4, 3\)"):
        load(f"{path}::meg")
    with pytest.raises(ValueError, match="has no array 'who'"):
        load(path, labels="who")
