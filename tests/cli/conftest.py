"""A small world for the command line: one data set in every form, and a way to run commands."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from tenfold.app.cli.app import app

CLASSES = ("s6", "s7", "s8")
PER_CLASS, SHAPE = 8, (8, 6)


@dataclass(frozen=True)
class Run:
    """What a command left behind."""

    code: int
    out: str
    err: str


@pytest.fixture
def tenfold():
    """Run a command in this process, as a shell would: exit code, standard output and error."""

    def run(*words) -> Run:
        result = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
        return Run(result.exit_code, result.stdout, result.stderr)

    return run


@pytest.fixture(scope="session")
def pixels() -> np.ndarray:
    """Grey levels (24, 8, 6) of three faces that differ in brightness patterns, with noise."""
    rng = np.random.default_rng(7)
    faces = rng.uniform(60, 200, (len(CLASSES), 1, *SHAPE))
    noise = rng.normal(0, 25, (len(CLASSES), PER_CLASS, *SHAPE))
    return np.clip(faces + noise, 0, 255).astype(np.uint8).reshape(-1, *SHAPE)


@pytest.fixture(scope="session")
def labels() -> np.ndarray:
    return np.repeat(CLASSES, PER_CLASS)


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TENFOLD_DATA", raising=False)
    return tmp_path


@pytest.fixture
def faces(here, pixels, labels) -> Path:
    """The folder ``faces`` with a subfolder per class, in the working directory."""
    for number, (image, label) in enumerate(zip(pixels, labels, strict=True)):
        folder = here / "faces" / label
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(folder / f"{number % PER_CLASS + 1}.pgm")
    return here / "faces"


@pytest.fixture
def npz(here, pixels, labels) -> Path:
    """The same samples and labels in ``faces.npz``."""
    np.savez(here / "faces.npz", X=pixels / 255, y=labels)
    return here / "faces.npz"


@pytest.fixture(scope="session")
def model_files() -> dict[str, bytes]:
    """The model files that were made so far, by name: each is made once."""
    return {}


@pytest.fixture
def fitted(tenfold, faces, model_files):
    """A function that puts a model file of the faces into the working directory."""

    def put(name, *words) -> Path:
        if name not in model_files:
            run = tenfold("fit", "faces", "--ranks", "3,3", *words, "-o", name)
            assert run.code == 0, run.err
            model_files[name] = Path(name).read_bytes()
        Path(name).write_bytes(model_files[name])
        return Path(name)

    return put


@pytest.fixture
def verifier(fitted) -> Path:
    """A model file of one class."""
    return fitted("s7.safetensors", "--positive", "s7", "--method", "mcsda")


@pytest.fixture
def bank(fitted) -> Path:
    """A model file of all classes."""
    return fitted("bank.safetensors", "--method", "mcsda")
