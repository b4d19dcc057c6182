import csv
import io

from tenfold.experiments.tables import Table, as_csv, as_markdown, as_page, as_text

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


def test_a_page_is_whole_and_escaped():
    page = as_page("T <1>", [TABLE], ["seed < 1"])
    assert page.startswith("<!doctype html>")
    assert page.rstrip().endswith("</html>")
    assert "<h1>T &lt;1&gt;</h1>" in page
    assert "mAP &lt;of&gt; faces" in page
    assert "http" not in page  # nothing is loaded from elsewhere
