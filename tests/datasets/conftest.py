"""Small real files, written by the tests themselves."""

import numpy as np
import pytest


@pytest.fixture(autouse=True)
def no_data_variable(monkeypatch):
    """A developer's own TENFOLD_DATA must not decide what a test finds."""
    monkeypatch.delenv("TENFOLD_DATA", raising=False)


@pytest.fixture
def image_folder(tmp_path, write_image):
    """Three classes of two 6x5 images each, with clutter that is not an image."""
    rng = np.random.default_rng(0)
    root = tmp_path / "pets"
    for name in ("s1", "s2", "s10"):
        for number in (1, 2):
            write_image(root / name / f"{number}.png", rng.integers(0, 256, (6, 5)))
        (root / name / "notes.txt").write_text("not an image")
        (root / name / "._1.png").write_text("a Macintosh's shadow of 1.png")
    (root / ".git").mkdir()
    (root / "__MACOSX").mkdir()
    return root
