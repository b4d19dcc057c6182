"""A damaged file of any format gives data or an error that names it, and does nothing else."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
SCRIPT = FOLDER / "hostile_files.py"
FORMATS = ["npy", "npz", "mat5", "mat73", "hdf5", "netcdf", "csv", "parquet", "images", "tiff"]
FORMATS += ["archive", "arff", "ts", "zarr", "model", "forged", "moments", "forged_moments"]
FORMATS += ["checkpoint"]
linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits memory and tells")


@linux
@pytest.mark.parametrize(
    ("each", "formats"),
    [
        (40, ["model", "forged", "moments", "forged_moments"]),
        pytest.param(50, FORMATS, marks=pytest.mark.long),
        pytest.param(3000, FORMATS, marks=pytest.mark.slow),
    ],
    ids=["models", "all", "many"],
)
def test_no_file_ends_the_process_hangs_it_or_leads_it_elsewhere(each, formats):
    command = [sys.executable, SCRIPT, "--each", str(each), "--seed", "1", "--json"]
    run = subprocess.run([*command, "--formats", ",".join(formats)], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr[-3000:]
    report = json.loads(run.stdout)
    assert list(report) == formats
    for counts in report.values():
        assert set(counts) <= {"same", "values", "layout", "refused", "ended"}
        assert sum(counts.values()) == each
        assert counts["refused"] + counts.get("ended", 0) > each / 4
    for name in ("model", "moments"):  # a checksum covers all of them
        assert set(report[name]) <= {"same", "refused"}


WATCHED = """
import dataclasses, os, signal, subprocess, sys
import h5py, numpy as np
import hostile_files, hostile_formats, mutations
from tenfold.datasets import TensorDataset

readers = {
    "foreign": lambda target: h5py.File(target.parent / "bait.h5"),  # opened by a library in C
    "foreign too": lambda target: open("/usr/bin/env", "rb").close(),
    "code": lambda target: subprocess.run(["true"]),
    "hang": lambda target: os.kill(os.getpid(), signal.SIGPROF),
    "crash": lambda target: os.kill(os.getpid(), signal.SIGSEGV),
    "memory": lambda target: bytes(2**30),
    "unclear": lambda target: [][0],
    "unnamed": lambda target: int("a"),
    "silent": lambda target: TensorDataset(np.zeros((2, 3)), None),
}
for word, read in readers.items():
    def reader(target):
        return read(target) if target.name.startswith("mutant") else hostile_formats.load(target)
    form = hostile_formats.FORMATS["npz"]
    form = dataclasses.replace(form, reader=reader, mutations=(mutations.flip_bits,))
    counts, broken, _ = hostile_files.run_format(form, 3, 1, None)
    print(word, dict(counts), len(broken))
"""


@linux
def test_the_watchman_sees_every_kind_of_failure():
    """Readers that do what none may do are found out, each by its word."""
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", WATCHED],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(FOLDER), *sys.path])},
    )
    found = run.stdout.splitlines()
    assert len(found) == 9, run.stderr[-2000:]
    for line in found:
        word = line.split()[0]
        assert line.endswith(f"{{'{word}': 3}} 3"), line
