"""A damaged file of any format gives data or an error that names it, and does nothing else."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("hostile_files.py")
FORMATS = ["npy", "npz", "mat5", "mat73", "hdf5", "csv", "parquet", "images", "tiff", "zarr"]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux enforces RLIMIT_AS")
@pytest.mark.parametrize("each", [80, pytest.param(3000, marks=pytest.mark.slow)])
def test_no_file_ends_the_process_hangs_it_or_leads_it_elsewhere(each):
    command = [sys.executable, SCRIPT, "--each", str(each), "--seed", "1", "--json"]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr[-3000:]
    report = json.loads(run.stdout)
    assert list(report) == FORMATS
    for counts in report.values():
        assert set(counts) <= {"same", "changed", "refused"}
        assert sum(counts.values()) == each
        assert counts["refused"] > each / 4
