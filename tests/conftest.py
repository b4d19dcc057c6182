"""What every test may lean on."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import sklearn
from hypothesis import settings
from PIL import Image

from forked_child import ForkedChild

ROOT = Path(__file__).parents[1]

# No window may open, and a worker must not need a display.
os.environ.setdefault("MPLBACKEND", "Agg")

# A busy machine is not a wrong formula, so no deadline. In CI the same examples come every time:
# a red build must mean the commit, not the dice.
settings.register_profile("developer", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "developer")


@pytest.fixture(scope="session")
def data_root() -> Path:
    """Return the folder with orl/, pie/ and fi2010/; skip the test when there is none."""
    asked = os.environ.get("TENFOLD_DATA")
    root = Path(asked) if asked else ROOT.parent / "shared" / "data"
    if not root.is_dir():
        pytest.skip(f"no real data in {root}; set TENFOLD_DATA to the folder that holds orl/")
    return root


@pytest.fixture(scope="session")
def faces(data_root):
    """The 400 faces of ORL, 40 x 30, and who they are."""
    if not (data_root / "orl").is_dir():
        pytest.skip(f"no ORL faces in {data_root}")
    from paper.orl import load_orl

    loaded = load_orl(data_root)
    return np.asarray(loaded.X, dtype=float), np.asarray(loaded.y)


@pytest.fixture
def allow() -> Iterator[Callable[[int], None]]:
    """Give a function that sets how many bytes tables may take, until the test is over."""
    with sklearn.config_context():
        yield lambda size: sklearn.set_config(working_memory=size / 4 / 2**20)


@pytest.fixture(autouse=True)
def quick_readers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let processes that read files be forks of this one, where the system can fork.

    tests/datasets/test_sandbox.py starts them as users do.
    """
    if hasattr(os, "fork"):
        monkeypatch.setattr("tenfold.datasets.sandbox._started", ForkedChild)


@pytest.fixture
def write_image():
    """Write grey levels (H, W) or colours (H, W, 3), 0 to 255, in the format of the suffix."""

    def write(path: Path, pixels) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.asarray(pixels, dtype=np.uint8)).save(path)
        return path

    return write
