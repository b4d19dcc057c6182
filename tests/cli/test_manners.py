"""How the command line behaves: help, JSON, exit codes, completion, interruption, start."""

import csv
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tenfold as library
from tenfold.app.cli.app import COMMANDS

NAMES = [work.__name__ for work in COMMANDS]
EXECUTABLE = [sys.executable, "-m", "tenfold"]


def start(*words, **more):
    return subprocess.run([*EXECUTABLE, *words], capture_output=True, text=True, **more)


# ── Help ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", ["", *NAMES])
def test_help_fits_on_a_screen(tenfold, name):
    run = tenfold(*name.split(), "--help")
    lines = run.out.splitlines()
    assert run.code == 0
    assert len(lines) <= 30
    assert max(map(len, lines)) <= 80


def test_the_first_page_lists_every_command(tenfold):
    page = tenfold("--help").out
    assert [name for name in NAMES if f"\n  {name} " not in page] == []
    assert "DATA" in page


def example(tenfold, name):
    (command,) = re.findall(r"Example: tenfold (.*)", tenfold(name, "--help").out)
    return shlex.split(command)


QUICK = [name for name in NAMES if name not in ("demo", "compare")]  # which take seconds


@pytest.mark.parametrize("name", NAMES)
def test_the_example_of_every_help_page_works(tenfold, verifier, name):
    words = example(tenfold, name)
    assert words[0] == name
    if name == "demo":  # which tests of its own type
        assert words == ["demo"]
        return
    run = tenfold(*words)
    assert run.code == 0, run.err
    assert run.out


def test_the_version_is_the_version_of_the_library(tenfold):
    assert tenfold("--version").out == f"tenfold {library.__version__}\n"


# ── JSON ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", QUICK)  # the others do so in test_commands.py
def test_every_command_speaks_json(tenfold, verifier, name):
    run = tenfold(*example(tenfold, name), "--json")
    assert run.code == 0, run.err
    assert isinstance(json.loads(run.out), dict)
    assert run.out.count("\n") == 1


# ── On a terminal and off it ────────────────────────────────────────────────────────────────────


def test_a_reader_that_has_seen_enough_is_no_error(here, tenfold, bank):
    rng = np.random.default_rng(0)
    np.savez("large.npz", X=rng.random((5000, 8, 6)), y=np.repeat(["s6", "s7"], 2500))
    words = [*EXECUTABLE, "score", str(bank), "large.npz"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline().startswith(b"sample,label,decision")
        process.stdout.close()
        complaints = process.stderr.read()
    assert complaints == b""
    assert process.returncode in (0, 1)  # 0 where the pipe took everything


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell that closes files")
def test_closed_output_is_no_error(here, npz):
    tenfold = shlex.join(EXECUTABLE)
    for words, closed, code in [
        (f"fit {npz.name} --method csda --ranks 2 -o new.safetensors", "<&- >&- 2>&-", 0),
        ("inspect missing.safetensors", ">&-", 2),
    ]:
        run = subprocess.run(["sh", "-c", f"{tenfold} {words} {closed}"], capture_output=True)
        assert run.returncode == code, words
        assert b"Traceback" not in run.stdout + run.stderr
    assert (here / "new.safetensors").exists()


HOSTILE = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "a\nb\x1b[2J", "\t=1", "\r=2", "-7"]


@pytest.fixture
def hostile(here):
    """Samples whose labels and file are named by somebody who means harm."""
    y = np.repeat(HOSTILE, 6)
    X = np.random.default_rng(0).normal(size=(len(y), 4, 3)) + np.arange(len(y))[:, None, None]
    np.savez(here / "=x\n\x1b[2Jy.npz", X=X, y=y)
    return "=x\n\x1b[2Jy.npz"


def test_labels_and_file_names_reach_no_terminal_raw(tenfold, hostile):
    seen = []
    for words in [
        ("fit", hostile, "-o", "m.safetensors"),
        ("fit", hostile, "--positive", HOSTILE[4], "--ranks", "2,2", "-o", "\x1bv.safetensors"),
        ("evaluate", "m.safetensors", hostile),
        ("evaluate", "\x1bv.safetensors", hostile),
        ("inspect", "m.safetensors"),
        ("inspect", "\x1bv.safetensors"),
        ("score", "m.safetensors", hostile),
        ("score", "m.safetensors", hostile, "-o", "s.csv"),
        ("moments", hostile, "-o", "\x1bmoments.safetensors"),
        ("compare", hostile, "--positive", HOSTILE[4], "--ranks", "2,2", "--cv", "2"),
    ]:
        run = tenfold(*words)
        assert run.code == 0, run.err
        seen.append(run.out + run.err)
    assert {one for text in seen for one in text if not one.isprintable()} == {"\n"}
    lines = "\n".join(seen).splitlines()
    assert not [line for line in lines if line.startswith(("b\\x1b", "\\x1b[2Jy"))]
    assert any("a\\nb\\x1b[2J" in line for line in lines)


def test_a_spreadsheet_runs_no_cell(tenfold, hostile, here):
    assert tenfold("fit", hostile, "-o", "m.safetensors").code == 0
    assert tenfold("score", "m.safetensors", hostile, "-o", "s.csv").code == 0
    assert tenfold("transform", "m.safetensors", hostile, "-o", "f.csv").code == 0
    for name in ("s.csv", "f.csv"):
        with open(here / name, newline="", encoding="utf-8") as file:
            rows = list(csv.reader(file))
        assert len(rows) == 1 + 6 * len(HOSTILE)
        for cell in (cell for row in rows for cell in row if cell[0] in "=+-@\t\r"):
            assert np.isfinite(float(cell))  # a number, which runs nothing
        labels = {row[rows[0].index("label")] for row in rows[1:]}
        assert {"'=1+1", "'-2+3", "'@SUM(A1)", "a\\nb\\x1b[2J", "-7"} < labels


@pytest.mark.skipif(sys.platform == "win32", reason="needs permissions of POSIX")
def test_a_file_that_is_replaced_keeps_its_permissions(tenfold, npz, here):
    (here / "m.safetensors").touch(mode=0o600)
    (here / "s.csv").touch(mode=0o600)
    (here / "r.html").touch()
    (here / "r.html").chmod(0o664)  # more than the umask leaves
    assert tenfold("fit", npz, "-o", "m.safetensors").code == 0
    assert tenfold("score", "m.safetensors", npz, "-o", "s.csv").code == 0
    assert tenfold("report", "m.safetensors", npz, "-o", "r.html").code == 0
    modes = [(here / name).stat().st_mode & 0o777 for name in ("m.safetensors", "s.csv", "r.html")]
    assert modes == [0o600, 0o600, 0o664]


def test_progress_and_warnings_stay_out_of_the_output(tenfold, faces):
    run = tenfold(
        "fit", faces, "--method", "mcsda", "--set", "max_iter=1", "-o", "m.safetensors", "--json"
    )
    json.loads(run.out)
    assert run.err.startswith("tenfold: warning: ")
    assert run.err.count("\n") == 1
    assert "raise max_iter" in run.err


def test_a_narrow_encoding_does_not_cost_the_work(here):
    X = np.random.default_rng(0).normal(size=(8, 3, 2))
    np.savez("cafe.npz", X=X, y=["caf\u00e9", "th\u00e9"] * 4)
    run = start("inspect", "cafe.npz", env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert run.returncode == 0, run.stderr
    assert r"th\xe9" in run.stdout


def test_the_advice_is_more_rounds_than_there_were(tenfold, npz):
    words = ("--set", "max_iter=2", "--set", "tol=1e-12", "--ranks", "3,3")
    warned = tenfold("fit", npz, "--method", "mcsda", *words, "-o", "m.safetensors").err
    assert "round 2; raise max_iter" in warned
    compared = tenfold("compare", npz, *words, "--cv", "2").out
    assert "--set max_iter=200 allows more rounds" in compared


def test_the_home_directory_has_its_short_name(tenfold, npz, monkeypatch):
    (npz.parent / "home").mkdir()
    monkeypatch.setenv("HOME", str(npz.parent / "home"))
    run = tenfold("fit", npz, "--output=~/m.safetensors")
    assert run.code == 0, run.err
    assert (npz.parent / "home" / "m.safetensors").is_file()


# ── Interruption ────────────────────────────────────────────────────────────────────────────────


def listen_to_control_c():
    """As in a terminal; what runs in the background ignores it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


INTERRUPTED_WHILE_READING = """
import os, signal, time
import numpy as np

def endless(*arguments, **more):
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(60)

np.load = endless
from tenfold.app.cli import main
main()
"""


def test_control_c_ends_the_work_and_leaves_nothing(here):
    """The signal comes while the data are read, so the command is surely at work."""
    np.savez("data.npz", X=np.zeros((4, 2, 2)), y=[0, 0, 1, 1])
    words = ["fit", "data.npz", "-o", "new.safetensors"]
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_WHILE_READING, *words],
        capture_output=True,
        text=True,
        timeout=50,
        preexec_fn=listen_to_control_c,
    )
    assert done.returncode == 130, done.stderr
    assert done.stderr.startswith("tenfold: interrupted")
    assert done.stderr.count("\n") == 1
    assert sorted(path.name for path in here.iterdir()) == ["data.npz"]


@pytest.mark.parametrize(
    "words",
    [
        ("fit", "faces", "--ranks", "2,2", "-o", "old"),
        ("score", "s7.safetensors", "faces", "-o", "old"),
        ("export", "s7.safetensors", "--onnx", "old"),
        ("report", "s7.safetensors", "faces", "-o", "old"),
    ],
    ids=lambda words: words[0],
)
def test_control_c_while_writing_keeps_the_old_file(tenfold, here, verifier, monkeypatch, words):
    suffix = {"fit": ".safetensors", "score": ".csv", "export": ".onnx", "report": ".html"}
    output = Path(f"old{suffix[words[0]]}")
    output.write_text("what was there before")
    before = sorted(here.rglob("*"))

    def interrupted(*arguments, **more):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    run = tenfold(*(str(output) if word == "old" else word for word in words))
    assert run.code == 130, run.err
    assert output.read_text() == "what was there before"
    assert sorted(here.rglob("*")) == before


# ── Start ───────────────────────────────────────────────────────────────────────────────────────


def test_help_is_quick_because_nothing_heavy_is_imported():
    code = (
        "import sys\n"
        "from tenfold.app.cli.app import app\n"
        "heavy = {'numpy', 'scipy', 'sklearn', 'pandas'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


WITHOUT = """
import sys

class Missing:
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in ("typer", "rich"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing)
from tenfold.app.cli import main
main()
"""


def test_without_its_extra_the_command_says_how_to_get_it():
    run = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True)
    assert run.returncode == 2
    assert run.stderr.count("\n") == 1
    assert 'pip install "tenfold[cli]"' in run.stderr


def test_a_usage_error_is_bad_input():
    run = start("fit")
    assert run.returncode == 2
    assert "--help" in run.stderr
    assert start("no-such-command").returncode == 2


# ── Completion ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("tenfold ev", "evaluate"),
        ("tenfold fit --method mc", "mcsda"),
        ("tenfold fit --sca", "--scale-modes"),
    ],
)
def test_the_shell_completes_commands_options_and_methods(typed, offered):
    words = typed.split()
    environment = {
        **os.environ,
        "_TENFOLD_COMPLETE": "complete_bash",
        "COMP_WORDS": typed,
        "COMP_CWORD": str(len(words) - 1),
        "PYTHONPROFILEIMPORTTIME": "1",
    }
    run = start(env=environment)
    assert offered in run.stdout.split()
    assert "typer" in run.stderr
    assert not re.search("scipy|sklearn", run.stderr)


# ── From the README ─────────────────────────────────────────────────────────────────────────────

ROOT = Path(__file__).parents[2]


def readme_commands() -> list[list[str]]:
    """The commands of the README that speak of the folder ``faces``, in their order."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    lines = re.findall(r"^ *(?:\$ )?tenfold (.*\bfaces\b.*)$", text, flags=re.MULTILINE)
    return [shlex.split(line, comments=True) for line in lines]


@pytest.mark.realdata
def test_a_new_user_follows_the_readme_on_real_faces(data_root, here):
    source = data_root / "orl"
    if not source.is_dir():
        pytest.skip(f"no ORL faces in {source}")
    for image in source.glob("s*/*.pgm"):
        folder = here / "faces" / image.parent.name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / image.name).write_bytes(image.read_bytes())
    commands = readme_commands()
    wanted = ["inspect", "compare", "fit", "evaluate", "score", "transform", "report"]
    assert [words[0] for words in commands] == wanted
    for words in commands:
        run = start(*words)
        assert run.returncode == 0, f"tenfold {' '.join(words)}\n{run.stderr}"
        if words[0] == "evaluate":
            figures = json.loads(start(*words, "--json").stdout)
    assert figures["average_precision"] > 0.9
    with open("scores.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == figures["samples"]
    page = (here / "report.html").stat().st_size
    assert 10_000 < page < 5_000_000
