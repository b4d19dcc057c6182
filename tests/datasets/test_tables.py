"""Tables with a sample per row."""

import gzip

import numpy as np
import pandas
import pytest

from tenfold.datasets import load
from tenfold.datasets.contents import contents

X = np.random.default_rng(0).standard_normal((12, 4))
WORDS = list("aabbccaabbcc")
FRAME = pandas.DataFrame(X, columns=list("pqrs")).assign(label=WORDS)


@pytest.fixture
def write(tmp_path):
    def write_text(text, name="data.csv", encoding="utf-8"):
        (tmp_path / name).write_bytes(text.encode(encoding))
        return tmp_path / name

    return write_text


def arff(frame, path):
    names = [f"@attribute {name} numeric" for name in "pqrs"] + ["@attribute label {a,b,c}"]
    path.write_text(
        "\n".join(["@relation toy", *names, "@data", frame.to_csv(header=False, index=False)])
    )


def excel(frame, path):
    pytest.importorskip("openpyxl", reason="openpyxl comes with the extra data")
    frame.to_excel(path, index=False)


@pytest.mark.parametrize(
    ("name", "save"),
    [
        ("t.csv", lambda frame, path: frame.to_csv(path, index=False)),
        ("t.csv.gz", lambda frame, path: frame.to_csv(path, index=False)),
        ("t.tsv", lambda frame, path: frame.to_csv(path, sep="\t", index=False)),
        ("t.txt", lambda frame, path: frame.to_csv(path, sep=" ", index=False, quoting=2)),
        ("t.data", lambda frame, path: frame.to_csv(path, sep=";", index=False)),
        ("t.parquet", lambda frame, path: frame.to_parquet(path)),
        ("t.xlsx", excel),
        ("t.arff", arff),
    ],
)
def test_every_kind_of_table_gives_the_same_numbers_to_the_last_digit(tmp_path, name, save):
    save(FRAME, tmp_path / name)
    data = load(tmp_path / name, sample_shape=(2, 2))
    digits = 1e-15 if name == "t.xlsx" else 0  # openpyxl writes sixteen digits
    np.testing.assert_allclose(data.X, X.reshape(12, 2, 2), rtol=digits)
    assert data.y.tolist() == WORDS
    assert data.reading["columns"] == tuple("pqrs")
    assert data.name == "t"


def test_lists_and_gaps_of_parquet(tmp_path):
    path = tmp_path / "t.parquet"
    pandas.DataFrame({"pixels": X.tolist(), "y": WORDS}).to_parquet(path)
    np.testing.assert_array_equal(load(path).X, X)
    pandas.DataFrame({"a": [1, None], "b": [2, 3], "y": [1, 2]}).to_parquet(path)
    np.testing.assert_array_equal(load(path).X, [[1, 2], [np.nan, 3]])
    pandas.DataFrame({"a": ["x", "z"], "y": [1, 2]}, index=["ann", "bo"]).to_parquet(path)
    with pytest.raises(ValueError, match="row 1: 'x' is not a number; if the column 'a' is no"):
        load(path)
    pandas.DataFrame({"a": [1, 2], "y": ["u", None]}).to_parquet(path)
    with pytest.raises(ValueError, match="column 'y': 1 of 2 labels are empty"):
        load(path)


# ── Which columns ───────────────────────────────────────────────────────────────────────────────


def test_labels_by_name_by_position_or_none(write):
    path = write("1,2,7\r\n3,4,8\r\n")
    assert load(path, labels=-1).y.tolist() == [7, 8]
    assert load(path, labels="0").X.tolist() == [[2, 7], [4, 8]]
    assert load(path, labelled=False).X.tolist() == [[1, 2, 7], [3, 4, 8]]
    assert load(write("who,a\nann,1\nbo,2\n"), labels="who").y.tolist() == ["ann", "bo"]
    path = write("a,b,c\n1,2,3\n")
    said = r"cannot tell which column .* it has columns a, b, c; pass labels"
    with pytest.raises(ValueError, match=said):
        load(path)
    with pytest.raises(ValueError, match=r"no column 'zebra', or several: it has columns a, b, c"):
        load(path, labels="zebra")
    with pytest.raises(ValueError, match="has 3 columns, so there is no column 3"):
        load(path, labels=3)


@pytest.mark.parametrize("names", ["0,1,2,3,who", "a,b,c,d,who", ",0,1,2,who"])
def test_a_row_of_names_is_not_a_sample(write, names):
    assert len(load(write(f"{names}\n5,6,7,8,ann\n"), labels=-1)) == 1


def test_a_first_row_that_may_be_names_or_a_sample_is_asked_about(write):
    path = write("0,1,ann\n5,6,bo\n")
    with pytest.raises(ValueError, match=r"first row, 0, 1, ann, may be names or a sample; pass"):
        load(path, labels=-1)
    assert load(path, labels=-1, header=False).y.tolist() == ["ann", "bo"]
    assert load(path, labels=-1, header=True).y.tolist() == ["bo"]
    assert load(write("0,1,ann\n5,6,bo\n7,8,ann\n"), labels=-1).y.tolist() == ["ann", "bo", "ann"]
    assert load(write("label,400.5,410\nann,1,2\nbo,3,4\n")).X.tolist() == [[1, 2], [3, 4]]
    path = write("5.1,3.5,y\n4.9,3.0,n\n5.0,3.1,y\n")  # labels yes and no, no column called y
    assert load(path, labels=-1).y.tolist() == ["y", "n", "y"]


@pytest.mark.parametrize(
    ("text", "options"),
    [
        (",a,label,b\n0,1,x,2\n1,3,y,4\n", {}),
        (",a,b,who\n0,1,2,x\n1,3,4,y\n", {"labels": -1}),
        ("Unnamed: 0,a,b\n0,1,2\n1,3,4\n", {"labelled": False}),
        ("id,a,b\n7,1,2\n8,3,4\n", {"labelled": False, "leave_out": "id"}),
        ("id,b,day,a\n7,2,Mon,1\n8,4,Tue,3\n", {"labelled": False, "columns": "a,b"}),
    ],
)
def test_what_is_no_feature_is_left_out(write, text, options):
    data = load(write(text), **options)
    assert data.X.tolist() == [[1, 2], [3, 4]]
    assert data.y is None or data.y.tolist() == ["x", "y"]


def test_a_column_that_numbers_the_rows_is_told(write):
    rows = "".join(f"{i},{i * i % 7},{'ab'[i % 2]}\n" for i in range(1, 20))
    (note,) = load(write(f"id,p,label\n{rows}")).notes
    assert note.startswith("column id numbers the rows")
    assert "leave_out='id'" in note


def test_an_identifier_that_does_not_count_is_told(write):
    ids = np.random.default_rng(0).permutation(40) * 31
    rows = "".join(f"{one},{one % 7},{i},{'ab'[i % 2]}\n" for i, one in enumerate(ids))
    (note,) = load(write(f"patient_id,humid,p,label\n{rows}")).notes
    assert "leave_out='patient_id,p'" in note  # p counts, humid is no identifier


@pytest.mark.parametrize("options", [{"labelled": False}, {"labels": "who"}])
def test_labels_are_no_feature(write, options):
    path = write("a,who,Target\n1,5,0\n2,6,1\n")
    with pytest.raises(
        ValueError, match=r"a column 'Target' among the numbers.*leave_out='Target'"
    ):
        load(path, **options)
    assert load(path, leave_out=["Target"], **options).X.shape[0] == 2


def test_a_y_beside_an_x_is_a_coordinate_where_labels_are_named(write):
    path = write("x,y,z,class\n1,2,3,a\n4,5,6,b\n")
    assert load(path, labels="class").X.tolist() == [[1, 2, 3], [4, 5, 6]]


# ── As people write them ────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "encoding", "options"),
    [
        ("label;a;b\nÄ;0,5;1000\nß;-1,25;2\n", "utf-8-sig", {"decimal": ","}),
        ("label;a;b\nÄ;0,5;1.000\nß;-1,25;2\n", "latin-1", {"decimal": ","}),
        ('label,a,b\nÄ,0.5,"1,000.0"\nß,-1.25,2\n', "utf-8", {"decimal": "."}),
        ("label\ta\tb\r\nÄ\t0.5\t1e3\r\n\r\nß\t-1.25\t2\r\n", "utf-16", {}),
        ("label|a|b\nÄ| .5 |1000\nß|-1.25| 2\n", "utf-8", {}),
        ("\n\nlabel,a,b\nÄ,.5,1000\nß,-1.25,2\n", "utf-8", {}),
    ],
)
def test_marks_commas_thousands_and_encodings_are_understood(write, text, encoding, options):
    path = write(text, encoding=encoding)
    data = load(path, **options)
    assert data.X.tolist() == [[0.5, 1000], [-1.25, 2]]
    assert data.y.tolist() == ["Ä", "ß"]
    assert any("Latin-1" in note for note in data.notes) is (encoding == "latin-1")
    assert contents(path).options == options  # what is not in the file is proposed


def test_a_comma_in_a_number_is_asked_about(write):
    path = write("label;a\nx;1,234\ny;5,678\n")
    said = r"row 2: '1,234' may have a decimal comma or stand for thousands; pass decimal=','"
    with pytest.raises(ValueError, match=said):
        load(path)
    assert load(path, decimal=",").X.tolist() == [[1.234], [5.678]]
    assert load(path, decimal=".").X.tolist() == [[1234], [5678]]
    assert contents(path).options == {}
    assert "decimal comma or stand for thousands" in contents(path).problem


def test_cells_that_are_missing_at_the_end_of_a_row_are_gaps(write):
    data = load(write("label,a,b\nx,1,2\ny,1\n"))
    np.testing.assert_array_equal(data.X, [[1, 2], [1, np.nan]])
    assert data.notes == ("1 of 4 numbers are gaps (blank, NA or ?)",)


def test_blank_na_and_question_marks_are_gaps(write):
    data = load(write("label,a,b,c,d\nx,1,,NA,?\ny,5,6,7,n/a\n"))
    np.testing.assert_array_equal(data.X, [[1, *[np.nan] * 3], [5, 6, 7, np.nan]])
    assert data.notes == ("4 of 8 numbers are gaps (blank, NA or ?)",)


@pytest.mark.parametrize("form", ["parquet", "arff"])
def test_gaps_among_columns_of_one_type_are_read(tmp_path, form):
    path, gaps = tmp_path / f"t.{form}", X.copy()
    gaps[3, 1] = np.nan
    frame = FRAME.assign(**dict(zip("pqrs", gaps.T, strict=True)))
    arff(frame.astype(object).fillna("?"), path) if form == "arff" else frame.to_parquet(path)
    data = load(path)
    np.testing.assert_array_equal(data.X, gaps)
    assert data.y.tolist() == WORDS


def test_a_delimiter_may_be_told(write):
    path = write('label:a\n"x:"y:1\n' + "z" * 200_000 + ":2\n")
    assert load(path, delimiter=":").y.tolist() == ["x:y", "z" * 200_000]
    with pytest.raises(ValueError, match=r"delimiter is ';;'; expected one character"):
        load(path, delimiter=";;")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("label,a,b\nx,1,2\ny,1,2,3\n", r"data\.csv is not.*Expected 3 fields in line 3, saw 4"),
        ("label,a,b\nx,1,2\n\ny,1,oops\n", r"data\.csv: row 4: 'oops' is not a number.*'b'"),
        ("label,a,day\nx,1,2020-01-01\n", r"'2020-01-01' is not a number; .*leave_out='day'"),
        ("label,a\n,1\nx,2\n", r"1 of 2 labels are empty"),
        ('a,label\n1,x\n2,"y\n3,x\n', r"data\.csv is not.* EOF inside string"),
        ("", r"data\.csv: it is empty"),
        ("label,a,\nx,1,2\n", r"data\.csv: column 2 has no name"),
        ("label,a\n", r"data\.csv: it has a row of names and no samples"),
        ("label,y\n1,2\n", "cannot tell which column"),
        ("y\n1\n2\n", "no columns of numbers"),
        ("\0\1\2", r"data\.csv is not text"),
    ],
)
def test_a_bad_table_is_named_with_what_is_wrong(write, text, said):
    with pytest.raises(ValueError, match=said):
        load(write(text))


def test_what_is_no_parquet_or_gzip_is_named(tmp_path):
    (tmp_path / "t.parquet").write_bytes(b"PAR1 and nothing else PAR1")
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(X.tobytes())[:-60])
    for name in ("t.parquet", "t.csv.gz"):
        with pytest.raises(ValueError, match=rf"{name} is not"):
            load(tmp_path / name)


# ── Series ──────────────────────────────────────────────────────────────────────────────────────


def test_series_of_the_uea_archive(write):
    head = "# made here\n@problemName toy\n@timeStamps false\n@classLabel true up down\n@data\n"
    data = load(write(head + "1,2,3:4,5,?:up\n7,8,9:10,11,12:down\n", "toy.ts"))
    np.testing.assert_array_equal(data.X, [[[1, 2, 3], [4, 5, np.nan]], [[7, 8, 9], [10, 11, 12]]])
    assert data.y.tolist() == ["up", "down"]
    assert data.mode_names == ("channel", "time")
    with pytest.raises(ValueError, match=r"toy\.ts .*series differ in length"):
        load(write(head + "1,2,3:up\n7,8:down\n", "toy.ts"))


def test_epochs_of_mne(tmp_path):
    mne = pytest.importorskip("mne", reason="MNE is not part of any extra")
    info = mne.create_info(3, 100.0, "eeg")
    events = np.column_stack([np.arange(4), np.zeros(4, int), [1, 2, 1, 2]])
    signal = np.random.default_rng(0).normal(size=(4, 3, 50))
    epochs = mne.EpochsArray(signal, info, events, event_id={"left": 1, "right": 2})
    epochs.save(tmp_path / "toy-epo.fif", fmt="double")
    data = load(tmp_path / "toy-epo.fif")
    np.testing.assert_allclose(data.X, signal, rtol=1e-12)
    assert data.y.tolist() == ["left", "right"] * 2


def test_a_first_row_whose_words_come_again_is_a_sample(write):
    mushrooms = "".join(f"{'xy'[i % 2]},{'ab'[i % 3 // 2]},{'ep'[i % 2]}\n" for i in range(20))
    assert len(load(write(mushrooms, "mush.data"), labels=2)) == 20
    numbers = "".join(f"{i / 8},{-i / 4},{'ab'[i % 2]}\n" for i in range(20))
    with_gap = load(write("," + numbers.partition(",")[2]), labels=-1)
    assert len(with_gap) == 20
    assert np.isnan(with_gap.X[0, 0])


@pytest.mark.parametrize(
    ("decimal", "cells", "number"),
    [(",", "0,13", 0.13), (",", "1.234,5", 1234.5), (".", "1,234.5", 1234.5), (".", "0.13", 0.13)],
)
def test_marks_of_thousands_separate_groups_of_three(write, decimal, cells, number):
    text = "x;label\n" + f"{cells};a\n" * 2
    assert load(write(text), decimal=decimal).X[0, 0] == number


@pytest.mark.parametrize(("decimal", "cell"), [(",", "48.688412"), (".", "1,5"), (",", "1,5.3")])
def test_no_number_is_multiplied_by_a_decimal_mark_that_is_not_its_own(write, decimal, cell):
    with pytest.raises(ValueError, match=f"row 2: '{cell}' is not a number"):
        load(write(f"x;label\n{cell};a\n2;b\n"), decimal=decimal)
    with pytest.raises(ValueError, match="decimal is '!'; expected"):
        load(write(f"x;label\n{cell};a\n2;b\n"), decimal="!")


def test_two_columns_of_one_name_are_refused(write):
    with pytest.raises(ValueError, match="several columns are called p"):
        load(write("p,q,p,label\n1,2,3,a\n4,5,6,b\n"))


def test_labels_that_are_missing_are_no_class(write):
    with pytest.raises(ValueError, match="1 of 3 labels are empty"):
        load(write("p,q,label\n1,2,NA\n3,4,a\n5,6,none\n"))
    table = write("p,q\n1,2\n3,4\n5,6\n")
    for missing in (None, np.nan, np.float32("nan"), pandas.NA, pandas.NaT):
        for labels in (["a", missing, "b"], pandas.Series(["a", missing, "b"])):
            with pytest.raises(ValueError, match="1 of 3 labels are empty"):
                load(table, labels=labels)
