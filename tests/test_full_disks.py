"""A disk that is full, or fails, at any step: the old files stay, nothing is left over."""

import errno
import gc
import os
import shutil
import signal
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import toy_run
from failing_disk import Disk, contents, failing
from paper.experiment import run_experiment
from tenfold import MCSDA, MPCA, ClassMoments, ClassSpecificClassifier, gather_moments, save_moments
from tenfold.app.cli.app import app
from tenfold.app.cli.score import write_arrays
from tenfold.app.report import write_report
from tenfold.app.report.model_page import model_page
from tenfold.datasets import TensorDataset
from tenfold.files.onnx_export import to_onnx

resource = pytest.importorskip("resource", reason="disks are full as POSIX does it")

# NumPy before 2.1 leaves the archive of a savez that failed to be closed when it is forgotten.
pytestmark = pytest.mark.filterwarnings(
    r"ignore:Exception ignored in.*ZipFile\.__del__:pytest.PytestUnraisableExceptionWarning"
)


@pytest.fixture(autouse=True)
def forgotten():
    """What a test left behind is closed while its own filter of warnings holds."""
    yield
    gc.collect()


RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(60, 8, 6)), np.arange(60) % 3
MODEL = ClassSpecificClassifier(MCSDA(ranks=2)).fit(X, Y)


def save(folder):
    MODEL.save(folder / "out.safetensors")


def save_some_moments(folder):
    gather_moments(X, Y, checkpoint=folder / "moments", save_every=20)


def save_moment_file(folder):
    save_moments(ClassMoments.from_batch(X, Y), folder / "out.safetensors")


def export(folder):
    to_onnx(MODEL, folder / "out.onnx")


def report(folder):
    write_report(MODEL, (X, Y), folder / "out.html")


def command(*words):
    def run(folder):
        result = CliRunner().invoke(app, [word.format(folder) for word in words])
        if result.exit_code:
            raise CommandError(result.exit_code, result.stderr)

    run.__name__ = " ".join(words[:1] + words[-1:]).replace("{}/", "")
    return run


class CommandError(Exception):
    """What a command says when it fails."""


FIT = ("--method", "mcsda", "--ranks", "2", "-o", "{}/out.safetensors")
SAVERS = [
    save,
    save_some_moments,
    save_moment_file,
    export,
    report,
    command("fit", "{}/in.npz", *FIT),
    command("moments", "{}/in.npz", "-o", "{}/out.safetensors"),
    command("score", "{}/in.safetensors", "{}/in.npz", "-o", "{}/out.csv"),
    command("score", "{}/in.safetensors", "{}/in.npz", "-o", "{}/out.parquet"),
    command("transform", "{}/in.safetensors", "{}/in.npz", "-o", "{}/out.npy"),
    command("transform", "{}/in.safetensors", "{}/in.npz", "-o", "{}/out.npz"),
    command("export", "{}/in.safetensors", "--onnx", "{}/out.onnx"),
    command("report", "{}/in.safetensors", "{}/in.npz", "-o", "{}/out.html"),
]


@pytest.fixture
def folder(tmp_path):
    """Samples and a model to begin with, and what the savers wrote the last time."""
    np.savez(tmp_path / "in.npz", X=X, y=Y)
    MODEL.save(tmp_path / "in.safetensors")
    return tmp_path


@pytest.mark.parametrize(
    ("saver", "number"),
    [*((saver, errno.ENOSPC) for saver in SAVERS), (save, errno.EIO)],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_a_disk_that_fails_at_any_step_costs_no_file(saver, number, folder, monkeypatch):
    monkeypatch.setattr("tenfold.statistics.stores.BLOCK_BYTES", 20 * X[0].nbytes)
    if "report" in saver.__name__:  # drawing takes long and writes nothing
        page = model_page(MODEL, TensorDataset(X, Y), None)
        monkeypatch.setattr("tenfold.app.report.model_page.model_page", lambda *arguments: page)
    at, resumed = 0, False
    while True:
        at += 1
        for old in ("safetensors", "onnx", "html", "csv", "parquet", "npy", "npz"):
            (folder / f"out.{old}").write_bytes(b"what was there before")
        before = contents(folder)
        with failing(Disk(folder, at, number), monkeypatch) as disk:
            failed = attempt(saver, folder, disk)
        if not disk.failed:
            break
        if not failed:
            assert disk.steps[at - 1] == "probe", "the library asked twice whether it may write"
            continue
        left = contents(folder)
        moments = left.pop(os.path.join("moments", "moments.safetensors"), None)
        assert left == before, f"step {at}, {disk.steps[-1]}"
        if moments is not None:  # of the first samples, whole: the next run goes on behind them
            saver(folder)
            resumed = True
            shutil.rmtree(folder / "moments")
    assert not failed
    assert resumed == (saver is save_some_moments)
    assert {"open", "write", "fsync", "replace"} <= set(disk.steps)
    assert at == len(disk.steps) + 1, "every step failed once"
    assert contents(folder) != before


def attempt(saver, folder, disk):
    """Whether a saver failed, as it should then: with the name of the file, and exit code 1."""
    try:
        saver(folder)
    except (OSError, CommandError) as error:
        problem = error
    else:
        return False
    if isinstance(problem, OSError):
        assert problem.errno == disk.number
        assert str(folder) in str(problem.filename), problem
        return True
    code, said = problem.args
    assert code == 1
    assert str(folder) in said
    assert os.strerror(disk.number).lower() in said
    assert said.count("\n") == 1, "one line"
    return True


@pytest.mark.long
def test_a_run_of_the_paper_goes_on_after_a_disk_that_failed(tmp_path, monkeypatch):
    number = errno.EIO
    monkeypatch.setattr(toy_run, "N_CELLS", 2)
    experiment = toy_run.toy(pause=0)
    run_experiment(experiment, tmp_path / "whole", progress=False)
    whole = contents(tmp_path / "whole")
    steps = count_steps(experiment, tmp_path / "counted", monkeypatch)
    assert steps > 25
    for at in range(1, steps + 1):
        place = tmp_path / f"run {at}"
        disk = Disk(place, at, number)
        with (
            failing(disk, monkeypatch),
            pytest.raises(OSError, match=rf"{os.strerror(number)}: '.*run {at}"),
        ):
            run_experiment(experiment, place, progress=False)
        run_experiment(experiment, place, progress=False)
        again = contents(place)
        for name in ("results.json", "results.csv", "tables.json", "tables.md"):
            assert again[name] == whole[name], f"step {at}: {name}"
        assert again.keys() == whole.keys()


def count_steps(experiment, place, monkeypatch):
    with failing(Disk(place, 0, errno.EIO), monkeypatch) as disk:
        run_experiment(experiment, place, progress=False)
    return len(disk.steps)


# ── The system itself ───────────────────────────────────────────────────────────────────────────


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize("save", [MODEL.save, lambda path: write_arrays(path, {"X": X})])
def test_a_limit_of_the_system_at_any_size_costs_no_file(tmp_path, save):
    """The kernel ends a write at a size, as a full disk does; no step of it is imitated here."""
    path = tmp_path / "model.safetensors"
    MPCA(ranks=2).fit(X).save(path)
    before, size = path.read_bytes(), 0
    save(tmp_path / "whole")
    size = (tmp_path / "whole").stat().st_size
    (tmp_path / "whole").unlink()
    for limit in [*range(0, size, max(1, size // 12)), size - 1]:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
                save(path)
            except OSError as error:
                code = 0 if error.errno == errno.EFBIG and str(path) in str(error) else 2
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert contents(tmp_path) == {path.name: before}


def test_whatever_writes_a_file_writes_it_whole():
    """So that the tests above see every write of the package: no other module opens to write."""
    source = Path(sys.modules["tenfold"].__file__).parent
    writers = [
        f"{path.relative_to(source)}: {line.strip()}"
        for path in sorted(source.rglob("*.py"))
        for line in path.read_text().splitlines()
        if any(word in line for word in ('"wb"', '"xb"', '"ab"', '"w"', '"x"', '"r+b"'))
        and ("open" in line or "mode" in line)
        and "..." not in line
        and ">>>" not in line
        and "os.devnull" not in line
        and "os.dup(" not in line  # a standard stream, not a file
    ]
    assert writers == ['serialization/atomic_write.py: with open(part, "wb") as file:']
    texts = [path.read_text() for path in source.rglob("*.py")]
    assert not any(".write_text(" in line and ">>>" not in line and "..." not in line
                   for text in texts for line in text.splitlines())  # fmt: skip
