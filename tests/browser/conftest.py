"""Reports in a real Chromium, driven by playwright."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from paper.experiment import run_experiment
from paper.training_times import complexity_experiment
from tenfold import MCSDA, MPCA, ClassSpecificClassifier, ClassSpecificVerifier, RankSearchCV
from tenfold.app.report import write_report
from tenfold.datasets import TensorDataset, load_digits_tensor

playwright = pytest.importorskip("playwright.sync_api")

# Nothing that would talk to the network or want a display.
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def chromium():
    """Return a running browser with a profile of its own."""
    program = (
        os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    )
    if program is None:
        pytest.fail("there is no chromium here; install it, or set CHROMIUM to the program")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, headless=True, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def pages(tmp_path_factory) -> dict[str, Path]:
    """Return one report for each kind of model, on digits."""
    folder = tmp_path_factory.mktemp("reports")
    digits = load_digits_tensor()
    train, test = digits.select(slice(0, 600)), digits.select(slice(600, 1100))
    mcsda = MCSDA(ranks=(4, 4), tol=1.0)
    threes = MCSDA(ranks=(4, 4), positive=3, tol=1.0)
    models = {
        "bank": ClassSpecificClassifier(mcsda).fit(*train),
        "projector": threes.fit(*train),
        "verifier": ClassSpecificVerifier(mcsda, positive=8, false_accept_rate=0.1).fit(*train),
        "search": RankSearchCV(threes, ranks=[(a, b) for a in (2, 4) for b in (2, 4)], cv=2).fit(
            *train
        ),
        "MPCA": MPCA(ranks=(3, 3), tol=1.0).fit(train.X),
    }
    without_fours = test.select(test.y != 4)  # so that the table of the bank has a row of dashes
    made = {
        kind: write_report(
            model, without_fours if kind == "bank" else test, folder / f"{kind}.html"
        )
        for kind, model in models.items()
    }
    run_experiment(complexity_experiment(seed=0, quick=True), folder / "run", progress=False)
    return {**made, "run": folder / "run" / "index.html"}


@pytest.fixture(scope="session")
def face_like() -> TensorDataset:
    """Return 400 images of 40x30 in 40 classes, as noisy as photographs: they pack no better."""
    rng = np.random.default_rng(0)
    faces = np.repeat(rng.random((40, 40, 30)), 10, axis=0)
    images = np.clip(faces + 0.3 * rng.normal(size=faces.shape), 0, 1)
    names = np.repeat([f"s{i}" for i in range(1, 41)], 10)
    return TensorDataset(images, names, name="faces", mode_names=("row", "column"))


@pytest.fixture
def open_page(chromium):
    """Return a function that opens a file, and afterwards see that nothing was wrong with it."""
    contexts, complaints = [], []

    def opened(path, *, width=1280, scheme="light"):
        context = chromium.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce"
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda m: complaints.append(f"console: {m.text}"))
        page.on("pageerror", lambda e: complaints.append(f"error: {e}"))
        page.on("request", lambda r: _note_foreign(complaints, r.url, path))
        page.goto(path.as_uri())
        return page

    yield opened
    for context in contexts:
        context.close()
    assert complaints == []


def _note_foreign(complaints, url, path):
    if not url.startswith(("data:", path.as_uri())):
        complaints.append(f"asked for {url}")
