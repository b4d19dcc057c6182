"""The demo: honest figures, in seconds, without noise."""

import json
import re
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tenfold.app import demo
from tenfold.app.cli.app import app

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def compared():
    """What the demo computes, once for all tests."""
    return demo.compare()


@pytest.fixture
def here(tmp_path, monkeypatch, compared):
    """An empty working directory, and a demo that need not compute again."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(demo, "compare", lambda: compared)
    return tmp_path


def test_the_demo_and_its_report_are_about_the_recommended_model(here):
    run = CliRunner().invoke(app, ["demo"], catch_exceptions=False)
    assert run.exit_code == 0
    line = r"^(RBF SVM|nearest neighbor|\w+) .* (\d+\.\d)% +(\d+\.\d)% "
    found = re.findall(line, run.stdout, flags=re.MULTILINE)
    rows = {name: precision for name, _, precision in found}
    assert set(rows) == {
        "ProbabilisticLDA",
        "CSDA",
        "MCSDA",
        "RBF SVM",
        "nearest neighbor",
    }
    assert "ProbabilisticLDA" in [name for name, *_ in found][:2]
    accuracies = [float(share) for _, share, _ in found]
    assert accuracies == sorted(accuracies, reverse=True)
    assert min(accuracies) > 85
    assert "Begin with ProbabilisticLDA" in run.stdout
    last = run.stdout.strip().splitlines()[-6:]
    assert last[0].startswith("With your own data")
    assert "tenfold inspect DATA" in last[1]
    assert not run.stderr
    page = Path("tenfold-demo.html").read_text(encoding="utf-8")
    assert "<title>ProbabilisticLDA on digits</title>" in page
    assert "left-out log loss of each alone and of the pool" in page
    text = " ".join(re.sub(r"<[^>]*>", " ", page).split())
    (said,) = set(re.findall(r"[Mm]ean average precision (\d+\.\d) ?%", text))
    assert said == rows["ProbabilisticLDA"]


def test_the_demo_speaks_json_and_ends_with_a_page(here):
    words = ["demo", "-o", "digits.html", "--json"]
    facts = json.loads(CliRunner().invoke(app, words, catch_exceptions=False).stdout)
    assert facts["recommended"] in {one["method"] for one in facts["methods"]}
    assert facts["report"] == "digits.html"
    assert sorted(path.name for path in here.iterdir()) == ["digits.html", "digits.npz"]


@pytest.mark.long
def test_the_commands_of_the_demo_give_the_figures_of_its_table(tmp_path, monkeypatch, compared):
    monkeypatch.chdir(tmp_path)
    rows, _ = compared
    table = {row["method"]: row["accuracy"] for row in rows}
    said = demo.write_digits(Path("digits.npz"))
    commands = re.findall(r"^  (\S*tenfold .*)$", "\n".join(said), flags=re.MULTILINE)
    for line in commands[:2]:
        run = CliRunner().invoke(app, [*line.split()[1:], "--json"], catch_exceptions=False)
        assert run.exit_code == 0, line
    assert json.loads(run.stdout)["accuracy"] == pytest.approx(table["ProbabilisticLDA"], abs=1e-9)


@pytest.mark.skipif(not (ROOT / "docs").exists(), reason="a source distribution has no pages")
def test_the_page_that_the_demo_names_says_how_to_choose():
    (page,) = re.findall(r"https://tenfold-ml.github.io/tenfold/(\S+)\.html", "\n".join(demo.NEXT))
    title = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8").partition("\n")[0]
    assert title == "# Which method do I need?"


def test_a_demo_without_its_report_says_why(tmp_path, monkeypatch, compared):
    _, bank = compared
    page, where = demo.write_page(bank, tmp_path / "missing" / "demo.html")
    assert page is None
    assert "does not exist" in where[0]
    monkeypatch.setitem(sys.modules, "jinja2", None)
    assert "tenfold[report]" in demo.write_page(bank, tmp_path / "demo.html")[1][0]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.long
def test_the_demo_ends_with_commands_that_work_as_typed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = demo.write_digits(Path("tenfold-demo.npz"))
    commands = re.findall(r"^  (\S*tenfold .*)$", "\n".join(said), flags=re.MULTILINE)
    assert [line.split()[1] for line in commands] == [
        "fit",
        "evaluate",
        "score",
        "report",
    ]
    for line in commands:
        run = CliRunner().invoke(app, line.split()[1:], catch_exceptions=False)
        assert run.exit_code == 0, line
    assert Path("demo.html").stat().st_size > 10_000
