"""The page about large data: its code runs, and its table follows from measured rates."""

import importlib.util
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "user_guide" / "large_data.md"

pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="a source distribution has no pages")


def scale():
    spec = importlib.util.spec_from_file_location("scale", ROOT / "benchmarks" / "scale.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.filterwarnings("default")  # of Dask and its event loop; the page is about ours
def test_the_code_of_the_page_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 8
    namespace = {"__name__": "large_data"}
    for block in blocks:
        exec(compile(block, "<large_data.md>", "exec", dont_inherit=True), namespace)


def test_the_table_of_the_page_is_the_one_that_the_rates_give():
    rates = json.loads((ROOT / "benchmarks" / "rates" / "scale.json").read_text("utf-8"))
    text = PAGE.read_text(encoding="utf-8")
    (shown,) = re.findall(r"<!-- scale -->\n(.*?)\n<!-- /scale -->", text, flags=re.DOTALL)
    assert shown == scale().table(rates)


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.031, "0.031 s"), (90, "90 s"), (600, "10.0 min"), (4e5, "4.6 days")]
)
def test_durations_are_in_units_that_people_use(seconds, words):
    assert scale().duration(seconds) == words
