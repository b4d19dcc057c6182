"""Runs survive kill -9, do not depend on the number of processes, and do not mix."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from paper import experiment
from paper.experiment import run_experiment
from paper.finished_cells import RunError
from toy_run import N_CELLS, dies, toy

ROOT = Path(__file__).parents[2]
FILES = {"results.json", "results.csv", "tables.md", "index.html", "times.json"}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    run_experiment(toy(pause=0.0), folder)
    return (folder / "results.json").read_bytes()


def start(folder, jobs):
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.toy_run", str(folder), str(jobs)],
        stdout=subprocess.PIPE,
        cwd=ROOT,
    )
    process.stdout.readline()  # imports are done
    return process


def finished_cells(folder):
    path = folder / "cells.jsonl"
    return path.read_bytes().count(b"\n") - 1 if path.exists() else 0


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="the system has no kill -9")
@pytest.mark.parametrize(
    "jobs", [pytest.param(1, marks=pytest.mark.long), pytest.param(2, marks=pytest.mark.cluster)]
)
def test_a_run_that_was_killed_three_times_ends_with_the_same_bytes(tmp_path, undisturbed, jobs):
    dice = random.Random(jobs)
    kills = 0
    for goal in (2, 10, 20):  # at least so many cells are there when it is killed
        process = start(tmp_path, jobs)
        while finished_cells(tmp_path) < goal and process.poll() is None:
            time.sleep(0.005)
        time.sleep(0.03 * dice.random())
        kills += process.poll() is None
        process.kill()
        process.communicate()
    assert kills == 3, "the toy ended before it could be killed"
    assert 20 <= finished_cells(tmp_path) < N_CELLS
    before = (tmp_path / "cells.jsonl").read_bytes()
    run_experiment(toy(), tmp_path)
    assert (tmp_path / "cells.jsonl").read_bytes().startswith(before[: before.rfind(b"\n")])
    assert (tmp_path / "results.json").read_bytes() == undisturbed
    assert {path.name for path in tmp_path.iterdir()} >= FILES


@pytest.mark.long
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="the system has no kill -9")
def test_workers_end_with_the_process_that_started_them(tmp_path):
    process = start(tmp_path, 2)
    while finished_cells(tmp_path) < 1:
        time.sleep(0.005)
    workers = children(process.pid)
    process.kill()
    process.communicate()
    deadline = time.monotonic() + 20
    while any(is_alive(pid) for pid in workers) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert [pid for pid in workers if is_alive(pid)] == []


def children(pid):
    path = Path(f"/proc/{pid}/task/{pid}/children")
    if not path.exists():
        pytest.skip("the system does not list the children of a process")
    found = [int(child) for child in path.read_text().split()]
    assert len(found) >= 2
    return found


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().split(")")[1].split()[0] != "Z"


@pytest.mark.long
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="the system has no kill -9")
def test_a_killed_worker_says_that_the_same_command_goes_on(tmp_path):
    cells = [experiment.Cell(f"cell {i}", dies, (i,)) for i in range(3)]
    doomed = experiment.Experiment("toy", "Toy", {"n": 3}, cells, lambda results: ([], []))
    with pytest.raises(RunError, match=r"worker process was killed.*the same command goes on"):
        run_experiment(doomed, tmp_path, jobs=2)
