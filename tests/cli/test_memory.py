"""A model remembers how its samples were read: other commands do the same, or say why not."""

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas
import pytest
import scipy.io

import tenfold as library
from tenfold.datasets import load
from tenfold.serialization.model_format import read

SHAPE = (6, 4)


@pytest.fixture(scope="module")
def matrices():
    """Samples 6 x 4 of three classes that differ in one row each, and their labels."""
    rng = np.random.default_rng(3)
    y = np.arange(60) % 3
    X = rng.normal(0, 0.6, (60, *SHAPE))
    X[np.arange(60), 2 * y] += 1.5
    return X, y


@pytest.fixture
def mat(here, matrices):
    """Flat rows column by column, as MATLAB's ``X(i, :) = image(:)`` gives them."""
    X, y = matrices
    flat = np.stack([x.ravel("F") for x in X])
    scipy.io.savemat("x.mat", {"fea": flat, "gnd": y[:, None]})
    return Path("x.mat")


def figures(run):
    assert run.code == 0, run.err
    return json.loads(run.out)


FIT = ("--method", "mcsda", "--ranks", "2,2", "-o", "m.safetensors")


# ── The four wrong results that nobody was told of ──────────────────────────────────────────────


def test_the_shape_is_remembered(tenfold, mat, matrices):
    X, y = matrices
    assert tenfold("fit", mat, "--sample-shape", "6,4", "--rows", "::2", *FIT).code == 0
    run = tenfold("evaluate", "m.safetensors", mat, "--rows", "1::2", "--json")
    bank = library.ClassSpecificClassifier(library.MCSDA((2, 2))).fit(X[::2], y[::2])
    assert figures(run)["accuracy"] == bank.score(X[1::2], y[1::2]) > 0.8
    assert "folded to 6 x 4, column by column (--read order=F)" in run.err


def test_column_by_column_is_not_taken_for_row_by_row(tenfold, mat, matrices):
    X, y = matrices
    assert tenfold("fit", mat, "--sample-shape", "6,4", *FIT).code == 0
    np.savez("rows.npz", X=X.reshape(60, -1), y=y)
    run = tenfold("evaluate", "m.safetensors", "rows.npz")
    assert run.code == 2
    assert "column by column (--read order=F)" in run.err
    assert "--read order=C if row by row" in run.err
    right = figures(tenfold("evaluate", "m.safetensors", mat, "--json"))
    told = tenfold("evaluate", "m.safetensors", "rows.npz", "--read", "order=C", "--json")
    assert figures(told)["accuracy"] == right["accuracy"]


def test_the_axis_of_samples_is_remembered_where_every_axis_is_as_long(tenfold, here):
    """A cube of 12 x 12 x 12: only the model can know which axis counts samples."""
    rng = np.random.default_rng(0)
    y = np.arange(36) % 3
    images = rng.normal(0, 0.5, (12, 12, 36))
    images[3 * y, :, np.arange(36)] += 1.5
    scipy.io.savemat("all.mat", {"images": images, "y": y})
    scipy.io.savemat("cube.mat", {"images": images[..., :12], "y": y[:12]})
    run = tenfold("fit", "all.mat", *FIT)
    assert "note: samples lie along the last axis of images (12, 12, 36)" in run.err
    run = tenfold("evaluate", "m.safetensors", "cube.mat", "--json")
    assert figures(run)["accuracy"] == 1.0
    assert "sample_axis=2" in run.err


def test_numbers_of_another_scale_are_refused(tenfold, npz, faces, pixels, labels):
    assert tenfold("fit", faces, *FIT).code == 0
    np.savez("bytes.npz", X=pixels, y=labels)
    run = tenfold("evaluate", "m.safetensors", "bytes.npz")
    assert run.code == 2
    assert "a ratio of 255;" in run.err
    assert "such as --read scale=255 for pixels up to 255" in run.err
    told = tenfold("evaluate", "m.safetensors", "bytes.npz", "--read", "scale=255", "--json")
    assert figures(told) | {"data": ""} == figures(
        tenfold("evaluate", "m.safetensors", npz, "--json")
    ) | {"data": ""}
    assert tenfold("evaluate", "m.safetensors", "bytes.npz", "--read", "scale=1").code == 0


# ── The rest of the memory ──────────────────────────────────────────────────────────────────────


def test_size_and_colour_of_images_are_remembered(tenfold, faces):
    words = ("--resize", "4,3", "--read", "grey=False", "--set", "ranks=(2, 2, 1)")
    assert tenfold("fit", faces, *words, "--method", "mcsda", "-o", "m.safetensors").code == 0
    assert tenfold("evaluate", "m.safetensors", faces).code == 0
    run = tenfold("evaluate", "m.safetensors", faces, "--resize", "8,6")
    assert run.code == 2
    assert "--resize 8,6 was passed" in run.err
    assert "--resize 4,3" in run.err


def test_columns_of_a_table_are_found_by_name_in_any_order(tenfold, here, matrices):
    X, y = matrices
    frame = pandas.DataFrame(X.reshape(60, -1)).add_prefix("p").assign(who=y)
    frame.to_csv("a.csv", index=False)
    shuffled = frame[frame.columns[::-1]].assign(extra="text")
    shuffled.to_parquet("b.parquet", index=False)
    words = ("--labels", "who", "--sample-shape", "6,4")
    assert tenfold("fit", "a.csv", *words, *FIT).code == 0
    first = figures(tenfold("evaluate", "m.safetensors", "a.csv", "--json"))
    second = figures(tenfold("evaluate", "m.safetensors", "b.parquet", "--json"))
    assert first["accuracy"] == second["accuracy"] > 0.8
    frame.drop(columns="p7").to_csv("c.csv", index=False)
    run = tenfold("evaluate", "m.safetensors", "c.csv")
    assert run.code == 2
    assert "p7" in run.err


def test_a_key_is_remembered_and_may_be_another_in_another_file(tenfold, here, matrices):
    X, y = matrices
    np.savez("a.npz", left=X, right=-X, y=y)
    np.savez("b.npz", samples=X, y=y)
    assert tenfold("fit", "a.npz", "--key", "left", *FIT).code == 0
    first = tenfold("evaluate", "m.safetensors", "a.npz", "--json")
    second = tenfold("evaluate", "m.safetensors", "b.npz", "--json")
    assert figures(first)["accuracy"] == figures(second)["accuracy"]
    assert "--key left" in first.err
    assert "read without --key left" in second.err
    third = tenfold("evaluate", "m.safetensors", "a.npz", "--key", "right", "--json")
    assert figures(third)["accuracy"] < figures(first)["accuracy"]


def test_samples_that_have_their_shape_already_are_not_folded(tenfold, mat, matrices):
    X, y = matrices
    assert tenfold("fit", mat, "--sample-shape", "6,4", *FIT).code == 0
    np.savez("whole.npz", X=X, y=y)
    first = figures(tenfold("evaluate", "m.safetensors", mat, "--json"))
    assert figures(tenfold("evaluate", "m.safetensors", "whole.npz", "--json")) == {
        **first,
        "data": "whole.npz",
    }


def test_a_model_saved_in_python_folds_rows_as_their_format_does(tenfold, mat, matrices):
    X, y = matrices
    bank = library.ClassSpecificClassifier(library.MCSDA((2, 2))).fit(X, y)
    bank.save("m.safetensors")
    run = tenfold("evaluate", "m.safetensors", mat, "--json")
    assert figures(run)["accuracy"] == bank.score(X, y)
    assert "folded to 6 x 4, column by column (--read order=F)" in run.err


def test_a_model_that_folds_rows_itself_gets_them_flat(tenfold, here, matrices):
    X, y = matrices
    np.savez("rows.npz", X=X.reshape(60, -1), y=y)
    words = ("--set", "sample_shape=(6, 4)", *FIT)
    assert tenfold("fit", "rows.npz", *words).code == 0
    run = tenfold("evaluate", "m.safetensors", "rows.npz", "--json")
    assert figures(run)["accuracy"] > 0.8
    assert "order" not in run.err


def test_the_reading_travels_in_the_file(here, npz):
    data = load(npz, scale=2)
    model = library.MPCA((2, 2)).fit(data.X)
    model.save("m.safetensors", reading=data.reading)
    header, _ = read("m.safetensors")
    assert header["reading"] == {"scale": 2, "loader": "npz"}
    np.testing.assert_array_equal(data.X, np.load(npz)["X"] / 2)
    with pytest.raises(ValueError, match="scale=nan of reading cannot be saved"):
        model.save("n.safetensors", reading={"scale": np.nan})
    with pytest.raises(ValueError, match="scale is 0"):
        load(npz, scale=0)


def test_evaluate_says_when_samples_were_in_the_fit(tenfold, npz):
    assert tenfold("fit", npz, "--rows", "::2", *FIT).code == 0
    assert "fitted on" not in tenfold("evaluate", "m.safetensors", npz, "--rows", "1::2").err
    run = tenfold("evaluate", "m.safetensors", npz)
    assert "the model was fitted on 12 of these 24 samples" in run.err


# ── Row numbers ─────────────────────────────────────────────────────────────────────────────────


def test_row_numbers_are_those_of_the_file(tenfold, npz):
    assert tenfold("fit", npz, *FIT).code == 0
    run = tenfold("score", "m.safetensors", npz, "--rows", "10:14")
    rows = list(csv.DictReader(io.StringIO(run.out)))
    assert [row["sample"] for row in rows] == ["10", "11", "12", "13"]
    words = ("--rows", "1::5", "-o", "report.html")
    assert tenfold("report", "m.safetensors", npz, *words).code == 0
    page = Path("report.html").read_text(encoding="utf-8")
    assert 'alt="row 21 of class s8' in page
    assert "Rows 1::5: 5 of 24 samples." in page


# ── transform ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("ending", ["csv", "parquet", "npy", "npz"])
def test_transform_writes_the_features_of_the_library(tenfold, npz, ending):
    words = ("--method", "mpca", "--read", "labelled=False", "--ranks", "3,2", *FIT[-2:])
    assert tenfold("fit", npz, *words).code == 0
    output = f"features.{ending}"
    run = tenfold("transform", "m.safetensors", npz, "--rows", "4:", "-o", output)
    assert run.code == 0, run.err
    expected = library.load_model("m.safetensors").transform(np.load(npz)["X"][4:])
    if ending == "npy":
        return np.testing.assert_array_equal(np.load(output), expected)
    if ending == "npz":
        with np.load(output) as stored:
            assert stored["sample"].tolist() == list(range(4, 24))
            assert stored["y"][0] == "s6"
            return np.testing.assert_array_equal(stored["X"], expected)
    frame = pandas.read_csv(output, dtype=str) if ending == "csv" else pandas.read_parquet(output)
    names = ["mpca_mode0_0_mode1_0", "mpca_mode0_0_mode1_1"]
    assert list(frame.columns[:4]) == ["sample", "label", *names]
    assert frame["sample"].astype(int).tolist() == list(range(4, 24))
    return np.testing.assert_array_equal(frame.iloc[:, 2:].map(float), expected)


def test_features_of_every_kind_of_model(matrices):
    from tenfold.classifiers.scores import features_of

    X, y = matrices
    bank = library.ClassSpecificClassifier(library.MCSDA((2, 2))).fit(X, y)
    names, features = features_of(bank, X)
    assert names == ["distance 0", "distance 1", "distance 2"]
    np.testing.assert_allclose(features, bank.distances(X))
    gaussian = library.ProbabilisticLDA().fit(X, y)
    names, features = features_of(gaussian, X)
    assert names == ["score 0", "score 1", "score 2"]
    np.testing.assert_allclose(features, gaussian.decision_function(X))
    projector = library.MCSDA((2, 2))
    verifier = library.ClassSpecificVerifier(projector, positive=1, false_accept_rate="equal")
    verifier.fit(X, y)
    names, features = features_of(verifier, X)
    np.testing.assert_allclose(features, verifier.projector_.transform(X))


@pytest.mark.parametrize("method", ["plda", "mcsda", "csda", "cmda", "mpca"])
def test_what_is_compared_can_be_fitted_evaluated_scored_and_transformed(tenfold, npz, method):
    assert tenfold("fit", npz, "--method", method, "-o", "m.safetensors").code == 0
    for words in (["evaluate"], ["score"], ["transform", "-o", "f.npy"]):
        run = tenfold(words[0], "m.safetensors", npz, *words[1:])
        assert run.code == 0, run.err


# ── Disks ───────────────────────────────────────────────────────────────────────────────────────


def test_a_folder_that_cannot_be_written_to_is_refused_before_learning(tenfold, npz, monkeypatch):
    def fail(*arguments, **more):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.TemporaryFile", fail)
    monkeypatch.setattr("tenfold.classifiers.probabilistic.ProbabilisticLDA.fit", fail)
    run = tenfold("fit", npz, "-o", "m.safetensors")
    assert run.code == 2
    assert "nothing can be written to the folder" in run.err
    assert "(permission denied)" in run.err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_full_disk_behind_the_shell_is_an_error(tenfold, npz):
    assert tenfold("fit", npz, *FIT).code == 0
    words = [sys.executable, "-m", "tenfold", "score", "m.safetensors", str(npz)]
    with open("/dev/full", "w") as full:
        run = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True)
    assert run.returncode == 1
    assert run.stderr == "tenfold: standard output: no space left on device\n"
