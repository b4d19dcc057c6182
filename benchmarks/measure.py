"""One contestant, one job, one process: time, memory and the answer.

The parent starts this file with the number of BLAS threads in the environment, because it must be
there before NumPy is imported.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

THREAD_VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class Effort:
    """How often something is measured: `repeats` times, or fewer once `seconds` have passed."""

    repeats: int
    seconds: float
    at_least: int = 1


def measured(
    module: str, job: str, contestant: str, size: dict[str, Any], threads: int, effort: Effort
) -> dict[str, Any]:
    """Times, peak memory and answer of a contestant, measured in a process of its own."""
    environment = os.environ | {name: str(threads) for name in THREAD_VARIABLES}
    with tempfile.TemporaryDirectory() as folder:
        order = {
            "module": module,
            "job": job,
            "contestant": contestant,
            "size": size,
            "effort": vars(effort),
            "answer": str(Path(folder) / "answer.npz"),
        }
        done = subprocess.run(
            [sys.executable, __file__, json.dumps(order)],
            env=environment,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            why = done.stderr.strip().splitlines() or [f"ended by signal {-done.returncode}"]
            return {"failed": why[-1], "wall": [], "cpu": [], "peak": 0, "note": "", "answer": {}}
        result = json.loads(done.stdout.splitlines()[-1])
        with np.load(order["answer"]) as answer:
            result["answer"] = dict(answer)
    return result


def disagreement(first: dict[str, Any], second: dict[str, Any]) -> float:
    """The largest distance of projectors, or relative difference of numbers, of two answers."""
    worst = 0.0
    for name in first.keys() & second.keys():
        a, b = first[name], second[name]
        if "W" in name:
            Q, V = np.linalg.qr(a)[0], np.linalg.qr(b)[0]
            distance = np.linalg.norm(V - Q @ (Q.T @ V)) * np.sqrt(2)
        else:
            distance = np.abs(a - b).max() / np.abs(a).max()
        worst = max(worst, float(distance))
    return worst


def _child(order: dict[str, Any]) -> dict[str, Any]:
    job = __import__(order["module"]).JOBS[order["job"]]
    given = job.prepare(**order["size"])
    work = job.contestants[order["contestant"]]
    wall, cpu, effort = [], [], Effort(**order["effort"])
    answer: dict[str, Any] = {}
    before = _resident("VmRSS")
    _forget_peak()
    started = time.perf_counter()
    warm = False
    while len(wall) < effort.repeats:
        wall_start, cpu_start = time.perf_counter(), time.process_time()
        answer = work(given)
        wall.append(time.perf_counter() - wall_start)
        cpu.append(time.process_time() - cpu_start)
        if not warm:  # the first run imports and fills caches; it counts only if it is a long one
            warm = True
            peak = _resident("VmHWM") - before
            if wall[0] < 5:
                wall, cpu = [], []
        elif len(wall) >= effort.at_least and time.perf_counter() - started > effort.seconds:
            break
    np.savez(order["answer"], **answer)
    scale = job.share.get(order["contestant"], 1.0) * job.calls
    return {
        "wall": [seconds / scale for seconds in wall],
        "cpu": [seconds / scale for seconds in cpu],
        "peak": max(0, peak),
        "note": given.get("note", ""),
    }


def _resident(field: str) -> int:
    """Bytes of resident memory now (VmRSS) or at most (VmHWM)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    return 0


def _forget_peak() -> None:
    """Let VmHWM start again from what is resident now."""
    Path("/proc/self/clear_refs").write_text("5")


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # forced rounds do not converge, and every peer has its own
    print(json.dumps(_child(json.loads(sys.argv[1]))))
