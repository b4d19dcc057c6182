"""The table of speeds in README is the one that the measurements give."""

import importlib.util
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SUMMARY = ROOT / "benchmarks" / "summary.py"

pytestmark = pytest.mark.skipif(not SUMMARY.exists(), reason="a source distribution has no pages")


def test_the_figures_in_readme_are_the_measured_ones():
    spec = importlib.util.spec_from_file_location("summary", SUMMARY)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    measured = json.loads(module.RESULTS.read_text(encoding="utf-8"))
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = readme.split(module.BEGIN)[1].split(module.END)[0]
    assert shown == module.summary(measured)
