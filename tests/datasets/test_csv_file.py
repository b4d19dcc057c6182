"""CSV files of flat rows."""

import numpy as np
import pytest

from tenfold.datasets import load_csv


@pytest.fixture
def write(tmp_path):
    def write_text(text, name="data.csv", encoding="utf-8"):
        (tmp_path / name).write_bytes(text.encode(encoding))
        return tmp_path / name

    return write_text


def test_rows_are_folded_and_labels_found_by_name(write):
    data = load_csv(write("a,b,Label,c,d\n1,2,up,3,4\n5,6,down,7,8\n"), sample_shape=(2, 2))
    assert data.X.tolist() == [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]
    assert data.y.tolist() == ["up", "down"]


def test_column_by_column(write):
    path = write("label,a,b,c,d\n0,1,2,3,4\n")
    assert load_csv(path, sample_shape=(2, 2), order="F").X.tolist() == [[[1, 3], [2, 4]]]


def test_labels_by_position_without_names(write):
    path = write("1,2,7\r\n3,4,8\r\n")
    data = load_csv(path, label_column=-1)
    assert data.X.tolist() == [[1, 2], [3, 4]]
    assert data.y.tolist() == [7, 8]
    assert load_csv(path, label_column=0).X.tolist() == [[2, 7], [4, 8]]


def test_labels_by_another_name(write):
    assert load_csv(write("who,a\nann,1\nbo,2\n"), label_column="who").y.tolist() == ["ann", "bo"]


@pytest.mark.parametrize("names", ["0,1,2,3,who", "a,b,c,d,who", ",0,1,2,who"])
def test_a_row_of_names_is_not_a_sample(write, names):
    assert len(load_csv(write(f"{names}\n5,6,7,8,ann\n"), label_column=-1)) == 1


def test_a_first_row_that_may_be_names_or_a_sample_is_asked_about(write):
    path = write("0,1,ann\n5,6,bo\n")
    with pytest.raises(ValueError, match=r"first row, 0, 1, ann, may be names or a sample; pass"):
        load_csv(path, label_column=-1)
    assert load_csv(path, label_column=-1, header=False).y.tolist() == ["ann", "bo"]
    assert load_csv(path, label_column=-1, header=True).y.tolist() == ["bo"]


def test_a_file_without_names_keeps_its_first_row(write):
    again = write("0,1,ann\n5,6,bo\n7,8,ann\n")
    assert load_csv(again, label_column=-1).y.tolist() == ["ann", "bo", "ann"]
    path = write("5.1,3.5,y\n4.9,3.0,n\n5.0,3.1,y\n")  # labels yes and no, no column called y
    with pytest.raises(ValueError, match="3 columns without names; pass label_column"):
        load_csv(path)
    assert load_csv(path, label_column=-1).y.tolist() == ["y", "n", "y"]
    with pytest.raises(ValueError, match=r"first row, 5\.1, 3\.5, y, may be names or a sample"):
        load_csv(write("5.1,3.5,y\n4.9,3.0,n\n"))


def test_names_may_be_numbers(write):
    path = write("label,400.5,410\nann,1,2\nbo,3,4\n")  # wavelengths
    assert load_csv(path).y.tolist() == ["ann", "bo"]
    assert load_csv(path, label_column="label").X.tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    "labels",
    [
        ["007", "7", "07"],
        ["1", "1.0", "01"],
        ["12345678901234567890", "12345678901234567891"],
        ["1e20", "2e20"],
        ["+1", "1"],
        ["٣", "3"],
    ],
)
def test_labels_that_are_not_the_usual_way_to_write_a_number_stay_text(write, labels):
    rows = "".join(f"{label},{i}\n" for i, label in enumerate(labels))
    assert load_csv(write("label,a\n" + rows)).y.tolist() == labels


def test_a_row_of_numbers_is_a_sample(write):
    assert len(load_csv(write("4,5,who\n5,6,ann\n"), label_column=-1)) == 2


def test_no_labels(write):
    data = load_csv(write("1,2\n3,4\n"), labelled=False)
    assert data.y is None
    assert data.X.tolist() == [[1, 2], [3, 4]]


def test_tabs_byte_order_marks_quotes_and_blank_lines(write):
    data = load_csv(write('label\ta\n"x\ty"\t1\n\nz\t2\n', "data.tsv", "utf-8-sig"))
    assert data.y.tolist() == ["x\ty", "z"]
    semicolons = write("label;a\nx;1\n", "semicolons.csv")
    assert load_csv(semicolons, delimiter=";").X.tolist() == [[1]]


@pytest.mark.parametrize(
    ("text", "options"),
    [
        (",a,label,b\n0,1,x,2\n1,3,y,4\n", {}),
        (",a,who,b\n0,1,x,2\n1,3,y,4\n", {"label_column": "who"}),
        (",a,b,who\n0,1,2,x\n1,3,4,y\n", {"label_column": -1}),
        ('"","a","b"\n"1",1,2\n"2",3,4\n', {"labelled": False}),
        (",0,1\n7,1,2\n8,3,4\n", {"labelled": False}),
        ("Unnamed: 0,a,b\n0,1,2\n1,3,4\n", {"labelled": False}),
    ],
)
def test_row_numbers_are_no_feature(write, text, options):
    data = load_csv(write(text), **options)
    assert data.X.tolist() == [[1, 2], [3, 4]]
    assert data.y is None or data.y.tolist() == ["x", "y"]


@pytest.mark.parametrize("options", [{"labelled": False}, {"label_column": "who"}])
def test_labels_are_no_feature(write, options):
    path = write("a,who,Target\n1,5,0\n2,6,1\n")
    with pytest.raises(ValueError, match=r"a column 'Target' among the numbers.* rename it"):
        load_csv(path, **options)
    data = load_csv(path, labelled=False, label_column=2)
    assert data.X.tolist() == [[1, 5], [2, 6]]
    assert data.y is None


@pytest.mark.parametrize("delimiter", [";;", 3, "", '"', "\n"])
def test_a_delimiter_is_one_character(write, delimiter):
    with pytest.raises(ValueError, match=r"delimiter is .*; expected one character"):
        load_csv(write("label,a\nx,1\n"), delimiter=delimiter)


@pytest.mark.parametrize(("mark", "typed"), [(";", ";"), ("\t", r"\t")])
def test_another_delimiter_is_noticed_and_named(write, mark, typed):
    path = write(f"label{mark}a\nx{mark}1\n")
    with pytest.raises(ValueError, match=r"has one column, and a .* pass delimiter=") as error:
        load_csv(path)
    assert f"delimiter={mark!r}" in str(error.value)
    assert load_csv(path, delimiter=typed).X.tolist() == [[1]]


def test_labels_that_cannot_be_found_are_asked_for(write):
    path = write("a,b,c\n1,2,3\n")
    said = r"cannot tell which column .* it has columns a, b, c; pass label_column"
    with pytest.raises(ValueError, match=said):
        load_csv(path)
    with pytest.raises(ValueError, match=said):
        load_csv(path, label_column="z")
    with pytest.raises(ValueError, match="has 3 columns, so there is no column 3"):
        load_csv(path, label_column=3)
    with pytest.raises(ValueError, match="cannot tell which column"):
        load_csv(write("label,y\n1,2\n"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("label,a,b\nx,1,2\ny,1\n", r"data\.csv, row 3: 2 cells; expected 3"),
        ("label,a,b\nx,1,2\ny,1,2,3\n", r"data\.csv, row 3: 4 cells; expected 3"),
        ("label,a,b\nx,1,2\n\ny,1,oops\n", r"data\.csv, row 4: 'oops' is not a number"),
        ("label,a\nx,\n", r"data\.csv, row 2: '' is not a number"),
        ("", r"data\.csv is empty"),
        ("label,a,\nx,1,2\n", r"data\.csv: column 2 has no name"),
        ("label,a\n", r"data\.csv has a row of names and no samples"),
    ],
)
def test_a_bad_row_is_named_with_its_file(write, text, said):
    with pytest.raises(ValueError, match=said):
        load_csv(write(text))


def test_a_file_that_is_not_text_is_named(write):
    with pytest.raises(ValueError, match=r"data\.csv is not UTF-8 text; save it as UTF-8"):
        load_csv(write("label,a\nÄ,1\n", encoding="latin-1"))


def test_numbers_survive_to_the_last_digit(write):
    values = np.random.default_rng(0).standard_normal((5, 4))
    text = "\n".join(",".join(map(repr, row)) for row in values.tolist())
    np.testing.assert_array_equal(load_csv(write(text), labelled=False).X, values)
