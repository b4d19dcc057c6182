"""The demo: honest figures, in seconds, without noise."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.metrics import average_precision_score
from sklearn.model_selection import train_test_split
from typer.testing import CliRunner

from tenfold import demo
from tenfold.cli.app import app

ROOT = Path(__file__).parents[1]


def test_the_demo_prints_a_table_of_three_methods_and_where_to_go_next(
    capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    demo.main()
    printed, complaints = capsys.readouterr()
    rows = dict(re.findall(r"^  (mean image|\w+) .* (\d+\.\d)%", printed, flags=re.MULTILINE))
    assert list(rows) == ["mean image", "CMDA", "MCSDA", "CSDA"]
    # Both class-specific methods find digits better than the distance to their mean image does.
    assert float(rows["MCSDA"]) > float(rows["mean image"])
    assert float(rows["CSDA"]) > float(rows["mean image"])
    assert "Where to go next" in printed
    assert not complaints


@pytest.mark.skipif(not (ROOT / "docs").exists(), reason="a source distribution has no pages")
def test_the_page_that_the_demo_names_says_how_to_choose():
    (page,) = re.findall(r"^  (\S+\.md) ", demo.NEXT, flags=re.MULTILINE)
    title = (ROOT / page).read_text(encoding="utf-8").partition("\n")[0]
    assert title == "# Which method do I need?"


def test_the_precision_of_the_demo_is_that_of_scikit_learn():
    digits = load_digits()
    X, Z, y, z = train_test_split(
        digits.images / 16, digits.target, test_size=0.5, stratify=digits.target, random_state=0
    )
    means = [X[y == d].mean(axis=0).ravel() for d in range(10)]
    flat = Z.reshape(len(Z), -1)
    expected = np.mean(
        [
            average_precision_score(z == d, -np.linalg.norm(flat - mean, axis=1))
            for d, mean in enumerate(means)
        ]
    )
    found = demo.mean_average_precision(demo.mean_images(X, y), Z, z)
    assert abs(found - expected) < 1e-4  # ties may fall either way


def test_the_demo_ends_with_a_report_and_says_where_it_is(tmp_path):
    path = tmp_path / demo.REPORT
    page, where = demo.write_page(path)
    assert page == path
    assert str(path) in where
    assert "MCSDA on digits" in path.read_text(encoding="utf-8")
    page, where = demo.write_page(tmp_path / "missing" / demo.REPORT)
    assert page is None
    assert "does not exist" in where


def test_without_the_extra_the_demo_says_what_is_missing(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    assert "tenfold[report]" in demo.write_page(tmp_path / demo.REPORT)[1]
    assert list(tmp_path.iterdir()) == []


def test_the_demo_ends_with_commands_that_work_as_typed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = demo.write_digits(Path(demo.DIGITS))
    commands = re.findall(r"^  (\S*tenfold .*)$", said, flags=re.MULTILINE)
    assert [line.split()[1] for line in commands] == [
        "compare",
        "fit",
        "evaluate",
        "score",
        "report",
    ]
    for line in commands[1:]:  # compare takes long, and is tested elsewhere
        run = CliRunner().invoke(app, line.split()[1:], catch_exceptions=False)
        assert run.exit_code == 0, line
    assert Path("demo.html").stat().st_size > 10_000
