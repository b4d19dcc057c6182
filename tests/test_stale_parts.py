"""Temporary files of a killed process are removed by the next write; those in use are not."""

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from tenfold import MPCA
from tenfold.serialization import atomic_write
from tenfold.serialization.atomic_write import whole_file, write_whole

MODEL = MPCA(ranks=2).fit(np.random.default_rng(0).normal(size=(9, 4, 3)))

KILLED_WHILE_SAVING = """
import os, signal, sys
import numpy as np
from tenfold import MPCA
model = MPCA(ranks=2).fit(np.random.default_rng(0).normal(size=(9, 4, 3)))
os.replace = lambda *names: os.kill(os.getpid(), signal.SIGKILL)
model.save(sys.argv[1])
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no process can be killed so here")
def test_what_a_killed_process_left_is_removed_by_the_next_save(tmp_path):
    path = tmp_path / "model.safetensors"
    run = subprocess.run([sys.executable, "-c", KILLED_WHILE_SAVING, path])
    assert run.returncode == -signal.SIGKILL
    assert len(list(tmp_path.glob(".*.part"))) == 1
    MODEL.save(path)
    assert os.listdir(tmp_path) == ["model.safetensors"]


def test_a_file_that_is_being_written_is_left_alone(tmp_path):
    with whole_file(tmp_path / "slow.csv") as slow:
        slow.write(b"first ")
        write_whole(tmp_path / "quick.csv", b"quick")
        slow.write(b"second")
    assert (tmp_path / "slow.csv").read_bytes() == b"first second"
    assert sorted(os.listdir(tmp_path)) == ["quick.csv", "slow.csv"]


def test_many_writers_of_one_folder_do_not_disturb_each_other(tmp_path):
    def write(number):
        write_whole(tmp_path / f"{number % 3}.csv", b"whole" * 1000)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(200)))
    assert sorted(os.listdir(tmp_path)) == ["0.csv", "1.csv", "2.csv"]
    assert all(path.read_bytes() == b"whole" * 1000 for path in tmp_path.iterdir())


def test_files_of_others_are_left_alone(tmp_path):
    for name in ("film.mp4.part", ".0123456789abcdef.part", ".tenfold-notes.part"):
        (tmp_path / name).write_bytes(b"not ours")
    before = sorted(os.listdir(tmp_path))
    MODEL.save(tmp_path / "model.safetensors")
    assert sorted(os.listdir(tmp_path)) == sorted([*before, "model.safetensors"])


@pytest.mark.parametrize(("age", "is_left"), [(3600, True), (2 * 24 * 3600, False)])
def test_where_files_cannot_be_locked_age_decides(tmp_path, monkeypatch, age, is_left):
    monkeypatch.setattr(atomic_write, "fcntl", None)
    part = tmp_path / ".tenfold-0123456789abcdef.part"
    part.write_bytes(b"some")
    then = part.stat().st_mtime - age
    os.utime(part, (then, then))
    MODEL.save(tmp_path / "model.safetensors")
    assert part.exists() == is_left
