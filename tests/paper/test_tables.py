import csv
import io

from paper.tables import Table, as_csv, as_markdown, as_text

TABLE = Table(
    "mAP <of> faces", ["", "k=0.1"], [["CSDA", 76.814], ["a|b", None]], ["A note & more."]
)


def test_text_aligns_columns_and_shows_gaps():
    lines = as_text(TABLE).splitlines()
    assert lines[0] == "mAP <of> faces"
    assert lines[2:6] == ["      k=0.1", "----  -----", "CSDA  76.81", "a|b       -"]
    assert lines[-1] == "A note & more."


def test_csv_keeps_all_digits():
    assert list(csv.reader(io.StringIO(as_csv(TABLE)))) == [["", "k=0.1"], ["CSDA", "76.814"],
                                                            ["a|b", ""]]  # fmt: skip


def test_markdown_escapes_what_would_break_a_row():
    assert "| a\\|b | - |" in as_markdown(TABLE)
