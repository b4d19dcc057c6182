"""Tables with columns of text: which is taken for labels, and how the others become numbers."""

import json
from pathlib import Path

import numpy as np
import pandas
import pytest

import tenfold as library
from tenfold.datasets import load


@pytest.fixture
def patients(here):
    """Forty patients: an id, the sex, a place of many names, two numbers, the diagnosis."""
    rng = np.random.default_rng(0)
    ill = np.arange(40) % 2 == 0
    frame = pandas.DataFrame(
        {
            "patient_id": [f"p{i:03}" for i in range(40)],
            "sex": rng.choice(["female", "male"], 40),
            "smoker": np.where(ill, "yes", "no"),
            "age": rng.integers(20, 80, 40),
            "dose": rng.normal(size=40).round(3),
            "diagnosis": np.where(ill, "ill", "well"),
            "ward": rng.choice(["north", "south"], 40),
        }
    )
    frame.to_csv("patients.csv", index=False)
    return frame


def test_inspect_proposes_the_column_that_is_called_like_labels(tenfold, patients):
    run = tenfold("inspect", "patients.csv", "--json")
    found = json.loads(run.out)
    assert found["options"] == {"labels": "diagnosis", "leave_out": ["patient_id"]}
    assert "--labels diagnosis" in found["next"]
    for name in ("tumor_class", "Outcome", "species"):
        patients.rename(columns={"diagnosis": name}).to_csv("other.csv", index=False)
        assert (
            json.loads(tenfold("inspect", "other.csv", "--json").out)["options"]["labels"] == name
        )


def test_inspect_proposes_the_last_column_where_no_name_says_more(tenfold, patients):
    patients.rename(columns={"diagnosis": "d"}).to_csv("other.csv", index=False)
    found = json.loads(tenfold("inspect", "other.csv", "--json").out)
    assert found["options"]["labels"] == "ward"


def test_columns_of_text_become_columns_of_zeros_and_ones(patients):
    data = load("patients.csv", labels="diagnosis", leave_out="patient_id")
    assert data.X.shape == (40, 8)  # sex 2, smoker 2, age, dose, ward 2
    np.testing.assert_array_equal(data.X[:, 0], patients["sex"] == "female")
    np.testing.assert_array_equal(data.X[:, 3], patients["smoker"] == "yes")
    np.testing.assert_array_equal(data.X[:, 4], patients["age"])
    assert any("column 'sex' is text; it became 2 columns" in note for note in data.notes)
    assert data.reading["categories"][0] == ("sex", "female", "male")


def test_a_model_reads_later_tables_with_the_values_it_knows(tenfold, patients):
    """Of a table with one sex only, the columns are those of the training table."""
    words = ("--labels", "diagnosis", "--read", "leave_out=patient_id")
    run = tenfold("fit", "patients.csv", *words, "-o", "m.safetensors")
    assert run.code == 0, run.err
    assert library.load_model("m.safetensors").steps[0][1].sample_shape_ == (8,)
    later = patients[patients["sex"] == "male"].drop(columns="diagnosis").head(5)
    later = later.assign(ward=["north", "south", "west", "north", "north"])
    later.to_csv("later.csv", index=False)
    run = tenfold("score", "m.safetensors", "later.csv", "--json")
    assert run.code == 0, run.err
    assert json.loads(run.out)["samples"] == 5
    assert "column 'ward' has values that the model does not know (west)" in run.err


def test_a_gap_in_text_is_a_gap_in_its_columns(here):
    lines = ["colour,size,label", *["red,1,a", "blue,2,b"] * 3, ",3,a"]
    Path("t.csv").write_text("\n".join(lines), "utf-8")
    X = load("t.csv").X
    assert np.isnan(X[6, :2]).all()
    assert not np.isnan(X[:6]).any()


@pytest.mark.parametrize("cell", ["1.2x", "2020-01-01", "1..5"])
def test_a_column_of_numbers_with_one_bad_cell_is_still_an_error(here, cell):
    lines = ["a,label", *["1,u", "2,v"] * 5, f"{cell},u"]
    Path("t.csv").write_text("\n".join(lines), "utf-8")
    with pytest.raises(ValueError, match="is not a number"):
        load("t.csv")


@pytest.fixture
def rows(here):
    """A table with a column that numbers its rows, and one called as a switch is."""
    lines = [f"{i},{i % 5},{-(i % 3)},{i % 7},{'ab'[i % 2]}" for i in range(1, 31)]
    (here / "rows.csv").write_text("\n".join(["No,p,q,r,class", *lines]))
    return here / "rows.csv"


def test_columns_named_to_read_are_those_of_the_model(tenfold, rows):
    assert tenfold("fit", rows, "--read", "columns=p,q", "-o", "m.safetensors").code == 0
    assert tenfold("evaluate", "m.safetensors", rows).code == 0
    assert tenfold("fit", rows, "--read", "leave_out=No", "-o", "n.safetensors").code == 0
    refused = tenfold("fit", rows, "--read", "header=1", "-o", "m.safetensors")
    assert refused.code == 2
    assert "--read header is 1; expected true or false" in refused.err
    assert tenfold("evaluate", "m.safetensors", rows).code == 0  # it was not overwritten
    assert "no option path" in tenfold("fit", rows, "--read", "path=x", "-o", "p.safetensors").err


def test_other_groups_than_those_of_the_fit_are_refused(tenfold, here):
    rng = np.random.default_rng(0)
    y = np.arange(48) % 2
    X = rng.normal(size=(48, 3)) + y[:, None]
    np.savez(here / "g.npz", X=X, y=y, person=np.arange(48) // 4)
    assert tenfold("fit", "g.npz", "--rows", "train", "-o", "m.safetensors").code == 0
    words = ("--rows", "test", "--groups", "person")
    assert "give the same groups" in tenfold("evaluate", "m.safetensors", "g.npz", *words).err
    words = ("--groups", "person", "--false-accept-rate", "0.1")
    assert "takes no --groups" in tenfold("fit", "g.npz", *words, "-o", "u.safetensors").err
