"""A fit from a store takes no more memory above the start than is promised."""

import importlib.util
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "store_memory.py"

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the peak"),
]


def script():
    spec = importlib.util.spec_from_file_location("store_memory", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    pytest.importorskip("zarr")
    return script().write_stores(tmp_path_factory.mktemp("stores"))


@pytest.mark.parametrize("kind", ["npy", "zarr"])
@pytest.mark.parametrize("name", script().NAMES if SCRIPT.exists() else [])
def test_a_fit_from_a_store_takes_at_most_300_mb(name, kind, stores):
    module = script()
    assert module.taken(name, stores[kind]) <= module.ASKED
