"""The first step of README and site: its table is what one gets, and whoever is best is first."""

import importlib.util
import json
import re
from pathlib import Path

import numpy as np
import pytest

from tenfold.datasets import make_trials

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "benchmarks" / "first_step.py"


def shown(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    part = text.partition("<!-- first -->")[2].partition("<!-- /first -->")[0]
    rows = re.findall(r"^\| (.+?) \| ([\d.]+) %", part, re.M)
    return {name: float(share) for name, share in rows}


@pytest.mark.skipif(not SCRIPT.exists(), reason="a source distribution has no pages")
def test_the_table_of_the_first_step_is_what_one_gets():
    module = loaded(SCRIPT)
    found = module.shares()
    for page in module.PAGES:
        said = shown(page)
        assert said.keys() == found.keys()
        for name, share in said.items():
            assert share == pytest.approx(found[name], abs=0.3), name  # some of 1697 answers
        assert list(said.values()) == sorted(said.values(), reverse=True)


def test_the_first_step_is_the_same_on_every_page():
    """README, landing page, the page on methods and the help all begin with the same model."""
    for page in ("README.md", "docs/index.md", "docs/which_method.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        first = re.search(r"\b(ProbabilisticLDA|MCSDA|CSDA|CMDA|DATER|ClassSpecific\w+)\(", text)
        assert first, page
        assert first[1] == "ProbabilisticLDA", page


def loaded(script):
    """A script of benchmarks/ as a module."""
    spec = importlib.util.spec_from_file_location(script.stem, script)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.skipif(not SCRIPT.exists(), reason="a source distribution has no pages")
def test_answers_on_the_pages_are_those_of_the_last_run(monkeypatch):
    monkeypatch.syspath_prepend(SCRIPT.parent)
    module = loaded(SCRIPT.with_name("answers.py"))
    figures = json.loads(module.FIGURES.read_text(encoding="utf-8"))
    for page, expected in module.pages(figures).items():
        begin, end = module.PAGES[page]
        text = (ROOT / page).read_text(encoding="utf-8")
        assert text.partition(begin)[2].partition(end)[0] == expected, page


@pytest.mark.skipif(not SCRIPT.exists(), reason="a source distribution has no pages")
def test_results_on_the_page_are_those_of_the_runs():
    module = loaded(ROOT / "docs" / "make_results.py")
    figures = json.loads(module.FIGURES.read_text(encoding="utf-8"))
    assert figures.keys() == module.SECTIONS.keys()
    for path, text in module.pages(figures).items():
        assert path.read_text(encoding="utf-8") == text, path.name


@pytest.mark.skipif(not SCRIPT.exists(), reason="a source distribution has no pages")
def test_figures_by_kind_of_data_are_those_of_the_run(monkeypatch):
    """README's reasons, and the table of README, landing page and the page on methods."""
    monkeypatch.syspath_prepend(SCRIPT.parent)
    module = loaded(SCRIPT.with_name("kinds.py"))
    figures = json.loads(module.FIGURES.read_text(encoding="utf-8"))
    assert figures.keys() == module.KINDS.keys()
    for page, (begin, end), expected in module.pages(figures):
        text = (ROOT / page).read_text(encoding="utf-8")
        assert text.partition(begin)[2].partition(end)[0] == expected, page


def test_trials_of_a_subject_share_patterns_and_not_noise():
    first, second = make_trials(2000), make_trials(2000, random_state=1)
    other = make_trials(2000, subject=1)

    def pattern(data):
        means = np.stack([data.X[data.y == c].mean(axis=0) for c in range(4)])
        return (means - means.mean(axis=0)).ravel()

    def alike(a, b):
        return np.corrcoef(pattern(a), pattern(b))[0, 1]

    assert alike(first, second) > 0.9
    assert abs(alike(first, other)) < 0.5
    assert not np.array_equal(first.X, second.X)
    # a class mean is of rank one: a pattern over channels times a wave over time
    values = np.linalg.svd(pattern(first).reshape(4, 24, 60)[0], compute_uv=False)
    assert first.X.std() == pytest.approx(1, abs=0.25)
    assert values[0] > 3 * values[4]
