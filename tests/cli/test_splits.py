"""What is trained on and what is tested: rows, groups, near copies, and tables with units."""

import json
import shlex
from pathlib import Path

import h5py
import numpy as np
import pandas
import pytest
import zarr
from PIL import Image
from sklearn.datasets import load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.preprocessing import StandardScaler

import tenfold as library
from tenfold.datasets import load

FIT = ("--method", "csda", "-o", "m.safetensors")


@pytest.fixture
def days(here):
    """Rows of four days; what is measured shifts from day to day more than from class to class."""
    rng = np.random.default_rng(0)
    y, day = np.tile(["a", "b"], 40), np.repeat(["mon", "tue", "wed", "thu"], 20)
    X = rng.normal(size=(80, 3)) + 9 * rng.normal(size=(4, 3))[np.repeat(range(4), 20)]
    X[:, 0] += y == "a"
    frame = pandas.DataFrame(X, columns=list("pqr")).assign(day=day, label=y)
    frame.to_csv("days.csv", index=False)
    return frame


def test_train_and_test_are_the_first_and_last_samples_of_every_class(tenfold, npz, labels):
    whole = load(npz)
    assert (whole.y == labels).all()
    parts = {}
    for part in ("train", "test"):
        assert tenfold("fit", npz, "--rows", part, *FIT).code == 0
        run = tenfold("score", "m.safetensors", npz, "--rows", part, "--json")
        parts[part] = json.loads(run.out)["columns"]["sample"]
    assert parts["test"] == [6, 7, 14, 15, 22, 23]  # of eight samples per class
    assert sorted(parts["train"] + parts["test"]) == list(range(24))


@pytest.fixture(params=["zarr", "zarr filled", "zarr sharded", "hdf5", "npy"])
def stored(request, here, pixels, labels, monkeypatch):
    """The same samples in a store that stays on disk, in the order a b c a b c, and its options."""
    monkeypatch.setattr("tenfold.datasets.hdf5.STAYS_ON_DISK", 0)
    monkeypatch.setattr("tenfold.datasets.numpy_files.STAYS_ON_DISK", 0)
    order = np.arange(24).reshape(3, 8).T.ravel()
    X, y = pixels[order] / 255, labels[order].astype("U2")
    Path("labels.txt").write_text("\n".join(y), "utf-8")
    if request.param.startswith("zarr"):
        group = zarr.create_group("faces.zarr")
        shards = {"shards": (10, 8, 6)} if request.param.endswith("sharded") else {}
        group.create_array("X", shape=X.shape, dtype=X.dtype, chunks=(5, 8, 6), **shards)[:] = X
        more = ["--read", "missing_chunks=fill"] if request.param.endswith("filled") else []
        return ["faces.zarr", "--labels", "labels.txt", *more]
    if request.param == "hdf5":
        with h5py.File("faces.h5", "w") as file:
            file.create_dataset("X", data=X, chunks=(5, 8, 6))
        return ["faces.h5", "--labels", "labels.txt"]
    np.save("faces.npy", X)
    return ["faces.npy", "--labels", "labels.txt"]


@pytest.mark.parametrize("rows", ["train", "1::2"])
def test_rows_of_stores_that_stay_on_disk(tenfold, stored, rows):
    whole = load(stored[0], labels="labels.txt")
    assert type(whole.X) is not np.ndarray
    np.savez("memory.npz", X=np.asarray(whole.X), y=whole.y)
    for name, words in {"there": stored, "here": ["memory.npz"]}.items():
        output = f"{name}.safetensors"
        run = tenfold("fit", *words, "--rows", rows, "--method", "csda", "-o", output)
        assert run.code == 0, run.err
        run = tenfold("evaluate", output, *words, "--rows", "test")
        assert run.code == 0, run.err
    there, here = (library.load_model(f"{name}.safetensors") for name in ("there", "here"))
    np.testing.assert_array_equal(there.predict(whole.X[:]), here.predict(whole.X[:]))


def test_chosen_rows_of_a_store_are_read_when_they_are_used(here, pixels, labels):
    zarr.save_group("faces.zarr", X=pixels / 255)
    data = load("faces.zarr", labels=labels)
    chosen = data.select(data.is_held_out)
    assert not isinstance(chosen.X, np.ndarray)
    assert chosen.X.shape == (6, 8, 6)
    np.testing.assert_array_equal(np.asarray(chosen.X), pixels[data.is_held_out] / 255)
    again = chosen.select(np.array([4, 0]))
    assert again.row_numbers.tolist() == [22, 6]
    np.testing.assert_array_equal(again.X[:], pixels[[22, 6]] / 255)


def test_groups_are_on_one_side_of_every_split(tenfold, days):
    words = ("days.csv", "--groups", "day", "--json")
    samples = {}
    for part in ("train", "test"):
        assert tenfold("fit", *words[:3], "--rows", part, *FIT).code == 0
        run = tenfold("score", "m.safetensors", *words, "--rows", part)
        samples[part] = json.loads(run.out)["columns"]["sample"]
    sides = [set(days["day"][samples[part]]) for part in ("train", "test")]
    assert not sides[0] & sides[1]
    assert len(sides[0] | sides[1]) == 4
    assert library.load_model("m.safetensors").steps[0][1].sample_shape_ == (
        3,
    )  # the day is no number


def test_groups_come_from_a_file_and_from_folders(here, pixels, labels):
    X, y = pixels / 255, labels
    np.savez("faces.npz", X=X, y=y, day=np.arange(24) % 3)
    Path("day.txt").write_text("\n".join(f"day {i % 3}" for i in range(24)))
    for i, image in enumerate(pixels):
        folder = Path("faces", str(labels[i]), f"day {i % 3}")
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(folder / f"{i}.png")
    assert load("faces.npz", groups="day").groups.tolist() == [i % 3 for i in range(24)]
    by_file = load("faces.npz", groups="day.txt").groups
    by_folder = load("faces", groups="folder", classes_from="first")
    expected = {f"{i}.png": f"day {i % 3}" for i in range(24)}
    names = [Path(file).name for file in by_folder.sample_info["file"]]
    assert by_folder.groups.tolist() == [expected[name] for name in names]
    assert by_file.tolist() == [f"day {i % 3}" for i in range(24)]
    with pytest.raises(ValueError, match=r"groups is 'week'.*there is day"):
        load("faces.npz", groups="week")


def test_models_choose_on_whole_groups(tenfold, days):
    X, y, day = days[list("pqr")].to_numpy(), days["label"].to_numpy(), days["day"].to_numpy()
    assert tenfold("fit", "days.csv", "--groups", "day", "-o", "m.safetensors").code == 0
    found = library.load_model("m.safetensors")
    scaled = StandardScaler().fit_transform(X)
    expected = library.ProbabilisticLDA().fit(scaled, y, groups=day)
    other = library.ProbabilisticLDA().fit(scaled, y)
    assert found[-1].loo_log_loss_ == pytest.approx(expected.loo_log_loss_)
    assert other.loo_log_loss_ != pytest.approx(expected.loo_log_loss_)
    np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(scaled), atol=1e-8)
    words = ("--groups", "day", "--positive", "a", "-o", "v.safetensors")
    assert tenfold("fit", "days.csv", *words).code == 0


def test_compare_holds_out_whole_groups(tenfold, days):
    run = tenfold("compare", "days.csv", "--groups", "day", "--json")
    assert run.code == 0, run.err
    facts = json.loads(run.out)
    assert facts["n_folds"] == 4  # there are four days
    assert "--groups day" in facts["fit"]


def test_columns_of_a_table_are_scaled_and_the_scaler_is_saved(tenfold, here):
    frame = load_wine(as_frame=True).frame.rename(columns={"target": "label"})
    frame.to_csv("wine.csv", index=False)
    assert tenfold("fit", "wine.csv", "--rows", "train", "-o", "m.safetensors").code == 0
    run = tenfold("evaluate", "m.safetensors", "wine.csv", "--rows", "test", "--json")
    data = load("wine.csv")
    train, test = ~data.is_held_out, data.is_held_out
    scaler = StandardScaler().fit(data.X[train])
    model = library.load_model("m.safetensors")
    np.testing.assert_allclose(model[0].transform(data.X), scaler.transform(data.X), atol=1e-10)
    lda = LinearDiscriminantAnalysis().fit(data.X[train], data.y[train])
    assert json.loads(run.out)["accuracy"] >= lda.score(data.X[test], data.y[test])
    words = ("--scale-modes", "none", "-o", "raw.safetensors")
    assert tenfold("fit", "wine.csv", *words).code == 0
    assert isinstance(library.load_model("raw.safetensors"), library.ProbabilisticLDA)


def test_near_copies_are_told(tenfold, here):
    rng = np.random.default_rng(0)
    films = np.repeat(rng.normal(size=(12, 4, 3)), 8, axis=0)
    y = np.repeat(["x", "y", "z"], 32)
    for name, noise in {"film": 0.01, "still": 9.0}.items():
        np.savez(f"{name}.npz", X=films + noise * rng.normal(size=films.shape), y=y)
    hint = "near copies"
    assert hint in tenfold("fit", "film.npz", *FIT).out
    assert hint not in tenfold("fit", "still.npz", *FIT).out


def test_a_class_of_one_sample_is_left_out_of_a_comparison(tenfold, here, pixels, labels):
    y = labels.astype("U9")
    y[5] = "alone"
    np.savez("one.npz", X=pixels, y=y)
    run = tenfold("compare", "one.npz", "--cv", "2", "--json")
    assert run.code == 0, run.err
    assert "1 classes of one sample are left out: alone" in run.err
    facts = json.loads(run.out)
    assert (facts["n_samples"], facts["n_classes"]) == (23, 3)


def test_a_comparison_is_readable_on_eighty_columns_and_says_nothing_twice(tenfold, days):
    words = ("days.csv", "--cv", "2", "--rows", "train", "--read", "leave_out=day")
    run, every = tenfold("compare", *words), tenfold("compare", *words, "--all")
    assert run.code == 0, run.err
    lines = run.out.splitlines()
    table = [line for line in lines if "±" in line]
    assert max(map(len, table)) <= 71  # drawn on a terminal it takes nine more
    figures = [line.split()[-7:-1] for line in every.out.splitlines() if "±" in line]
    assert len(figures) > len(table)
    command = shlex.split(lines[-1].partition(": ")[2])
    assert command[:3] == ["tenfold", "fit", "days.csv"]
    assert command[command.index("--rows") + 1] == "train"  # never what is held out
    # "as printed": the command runs, and so does the one that it prints
    done = tenfold(*command[1:])
    assert done.code == 0, done.err
    following = shlex.split(done.out.splitlines()[-1].partition("next: ")[2])
    assert following[following.index("--rows") + 1] == "test"
    assert tenfold(*following[1:]).code == 0


def test_a_report_says_when_samples_were_in_the_fit(tenfold, npz):
    assert tenfold("fit", npz, "--rows", "train", *FIT).code == 0
    run = tenfold("report", "m.safetensors", npz, "-o", "r.html")
    assert "the model was fitted on 18 of these 24 samples" in run.err
    assert "model was fitted on 18 of these 24 samples" in Path("r.html").read_text("utf-8")
    clean = tenfold("report", "m.safetensors", npz, "--rows", "test", "-o", "r.html")
    assert "was fitted on" not in clean.err


def test_a_verifier_that_rejects_nearly_all_says_what_helps(tenfold, here):
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b", "c"], 12)
    X = rng.normal(size=(36, 4, 3)) + 0.4 * (y == "a")[:, None, None]
    np.savez("few.npz", X=X, y=y)
    run = tenfold("fit", "few.npz", "--positive", "a", "-o", "m.safetensors")
    assert run.code == 0
    assert "--false-accept-rate equal" in run.out
    run = tenfold(
        "fit", "few.npz", "--positive", "a", "--false-accept-rate", "equal", "-o", "m.safetensors"
    )
    assert run.code == 0
    assert "hint: at this rate" not in run.out


def test_one_array_is_one_sample_and_one_group_too_large_is_for_training(tenfold, here):
    rng = np.random.default_rng(0)
    y = np.tile(["a", "b"], 18)
    day = np.repeat(["train", "val"], [24, 12])
    np.savez("days.npz", X=rng.normal(size=(36, 4, 3)) + (y == "a")[:, None, None], y=y, day=day)
    words = ("days.npz", "--groups", "day", "--rows", "train", "-o", "m.safetensors")
    run = tenfold("fit", *words)
    assert run.code == 0, run.err
    assert "24 of 36 samples" in run.out
    np.save("one.npy", rng.normal(size=(4, 3)))
    run = tenfold("score", "m.safetensors", "one.npy", "--json")
    assert run.code == 0, run.err
    assert len(json.loads(run.out)["columns"]["sample"]) == 1


def test_scores_need_the_columns_but_not_the_labels(tenfold, days):
    days.rename(columns={"label": "kind"}).to_csv("kinds.csv", index=False)
    words = ("--labels", "kind", "--read", "leave_out=day")
    assert tenfold("fit", "kinds.csv", *words, *FIT).code == 0
    days[list("pqr")].to_csv("new.csv", index=False)
    run = tenfold("score", "m.safetensors", "new.csv")
    assert run.code == 0, run.err
    assert "note: read without labels (--labels kind as the model was fitted)\n" in run.err
    days[list("pq")].to_csv("new.csv", index=False)
    run = tenfold("score", "m.safetensors", "new.csv")
    assert run.code == 2
    assert "of these names: r" in run.err
    assert "kind" not in run.err
