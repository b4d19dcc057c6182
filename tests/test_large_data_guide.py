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


def test_the_table_of_the_page_is_the_one_that_the_rates_give():
    rates = json.loads((ROOT / "benchmarks" / "rates" / "scale.json").read_text("utf-8"))
    text = PAGE.read_text(encoding="utf-8")
    (shown,) = re.findall(r"<!-- scale -->\n(.*?)\n<!-- /scale -->", text, flags=re.DOTALL)
    assert shown == scale().table(rates)
