"""A new user with a file of any kind follows the README: six commands, and no option but --rows."""

from pathlib import Path

import h5py
import numpy as np
import pandas
import pytest
import scipy.io


def as_folder(X, y):
    from PIL import Image

    for i, (image, label) in enumerate(zip(X, y, strict=True)):
        folder = f"data/{label}"
        Path(folder).mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(f"{folder}/{i}.png")
    return "data"


def as_mat(X, y):
    cells = np.array(y.tolist(), dtype=object)[:, None]
    scipy.io.savemat("data.mat", {"images": np.moveaxis(X, 0, -1), "labels": cells})
    return "data.mat"


def as_hdf5(X, y):
    with h5py.File("data.h5", "w") as file:
        file["set/X"], file["set/y"] = X, y.tolist()
    return "data.h5::/set/X"


def as_table(X, y):
    flat = pandas.DataFrame(X.reshape(len(X), -1)).add_prefix("p").assign(label=y)
    flat.to_parquet("data.parquet")
    return "data.parquet"


def as_netcdf(X, y):
    with h5py.File("data.nc", "w") as file:  # as xarray writes it with h5netcdf
        for name, size in zip(("sample", "row", "column"), X.shape, strict=True):
            file[name] = np.arange(size)
            file[name].make_scale(name)
        file["images"], file["label"] = X, np.unique(y, return_inverse=True)[1]
        for axis, name in enumerate(("sample", "row", "column")):
            file["images"].dims[axis].attach_scale(file[name])
        file["label"].dims[0].attach_scale(file["sample"])
    return "data.nc"


@pytest.mark.parametrize("write", [as_folder, as_mat, as_hdf5, as_table, as_netcdf])
def test_six_commands_on_data_of_any_form(tenfold, here, pixels, labels, write):
    data = write(pixels, labels)
    commands = [
        ["compare", data, "--cv", "2"],
        ["fit", data, "--rows", "::2", "-o", "m.safetensors"],
        ["evaluate", "m.safetensors", data, "--rows", "1::2", "--at-least", "0.9"],
        ["score", "m.safetensors", data, "--rows", "1::2", "-o", "scores.csv"],
        ["transform", "m.safetensors", data, "-o", "features.parquet"],
        ["report", "m.safetensors", data, "--rows", "1::2", "-o", "report.html"],
    ]
    for words in commands[write not in (as_mat, as_netcdf) :]:  # compare takes the longest
        run = tenfold(*words)
        assert run.code == 0, f"{' '.join(words)}\n{run.err}"
    scores = pandas.read_csv("scores.csv")
    assert len(scores) == 12
    if write is not as_folder:
        assert scores["sample"].tolist() == list(range(1, 24, 2))
    features = pandas.read_parquet("features.parquet")
    assert features.columns.tolist() == ["sample", "label", "coordinate 0", "coordinate 1"]
    # an outside witness: the nearest class mean in the features, learned on even rows
    even, odd = features[::2], features[1::2]
    names = ["coordinate 0", "coordinate 1"]
    means = even.groupby("label")[names].mean()
    distances = ((odd[names].to_numpy()[:, None] - means.to_numpy()) ** 2).sum(axis=2)
    assert np.mean(means.index.to_numpy()[distances.argmin(axis=1)] == odd["label"]) > 0.8
