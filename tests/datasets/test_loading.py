"""The loader that looks at the path."""

from dataclasses import fields

import numpy as np
import pytest
import scipy.io
import zarr

from tenfold.app.cli.data_options import DataOptions
from tenfold.datasets import load, loading

X = np.random.default_rng(0).random((4, 6))
Y = np.array([1, 1, 2, 2])


@pytest.fixture
def folder(tmp_path):
    np.savez(tmp_path / "data.npz", X=X, y=Y)
    np.save(tmp_path / "data.npy", X)
    np.savetxt(tmp_path / "labels.txt", Y, fmt="%d")
    scipy.io.savemat(tmp_path / "data.MAT", {"X": X, "y": Y})
    rows = "\n".join(",".join(map(repr, [int(y), *x])) for x, y in zip(X.tolist(), Y, strict=True))
    (tmp_path / "data.csv").write_text("label,a,b,c,d,e,f\n" + rows)
    for name in ("data.zarr", "store"):
        zarr.save_group(tmp_path / name, X=X, y=Y)
    return tmp_path


@pytest.mark.parametrize(
    "name", ["data.npz", "data.npy", "data.MAT", "data.csv", "data.zarr", "store"]
)
def test_every_form_gives_the_same_tensors(folder, name):
    labels = folder / "labels.txt" if name.endswith(".npy") else None
    data = load(folder / name, labels=labels, sample_shape=(2, 3), order="C", key=None)
    np.testing.assert_array_equal(data.X, X.reshape(4, 2, 3))
    assert data.y.tolist() == Y.tolist()


def test_options_of_the_command_line_are_named_as_parameters():
    known = {name for reader in loading.READERS.values() for name in reader.options}
    options = {field.name for field in fields(DataOptions)} - {"no_labels", "rows", "read"}
    assert options - known == set()


def test_labels_of_a_folder_may_come_from_a_file(image_folder, tmp_path):
    (tmp_path / "labels.txt").write_text("\n".join("aabbcc"))
    data = load(image_folder, labels=tmp_path / "labels.txt", groups="folder")
    assert data.y.tolist() == list("aabbcc")
    assert data.groups.tolist() == load(image_folder).y.tolist()
    with pytest.raises(ValueError, match="no folders other than the classes"):
        load(image_folder, groups="folder")
    (tmp_path / "labels.txt").write_text("\n".join("aabbc"))
    with pytest.raises(ValueError, match="has 6 samples along axis 0, but there are 5 labels"):
        load(image_folder, labels=tmp_path / "labels.txt")


@pytest.mark.parametrize(
    "form", ["mat", "parquet", "column", "csv", "txt", "data", "lst", "npz", "h5"]
)
def test_labels_may_lie_in_a_file_of_any_form(tmp_path, form):
    import h5py
    import pandas

    X, who = np.zeros((4, 3, 2)), ["ann", "bo", "ann", "cy"]
    np.save(tmp_path / "X.npy", X)
    table = pandas.DataFrame({"id": range(4), "who": who})
    if form == "mat":
        scipy.io.savemat(tmp_path / "y.mat", {"gnd": np.array(who, dtype=object)[:, None]})
    elif form == "parquet":
        table[["who"]].to_parquet(tmp_path / "y.parquet")
    elif form == "column":
        table.to_parquet(tmp_path / "y.parquet")
    elif form == "csv":
        table.rename(columns={"who": "label"}).to_csv(tmp_path / "y.csv", index=False)
    elif form in ("txt", "data", "lst"):
        (tmp_path / f"y.{form}").write_text("\n".join(["label"] * (form == "txt") + who) + "\n")
    elif form == "npz":
        np.savez(tmp_path / "y.npz", y=who)
    else:
        with h5py.File(tmp_path / "y.h5", "w") as file:
            file["train/y"] = who
    (labels,) = tmp_path.glob("y.*")
    inner = {"column": "::who", "h5": "::/train/y"}.get(form, "")
    assert load(tmp_path / "X.npy", labels=f"{labels}{inner}").y.tolist() == who
