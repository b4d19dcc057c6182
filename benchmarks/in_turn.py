"""The own rows of the bench for two trees of this repository, measured in turn.

    make in-turn ARGS=../before                 this tree beside another checkout
    make in-turn ARGS="../before --quick"       small sizes
    make in-turn ARGS="../before --only mcsda vector-bank"

Each run is a process with one thread. The trees take turns, so what else the machine does meets
both. A factor is the median CPU time of this tree over that of the other; above 1.1 it is named.
Every tree runs its own `benchmarks/`, so contestants may change; a row that one of them does not
have is left out.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from jobs import JOBS
from measure import THREAD_VARIABLES
from run import QUICK_SIZE

HERE = Path(__file__).resolve().parents[1]
SLOWER = 1.1
TOO_LONG = ("order-book", "one-pass")  # minutes each; "mcsda" and "faces" go the same way


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("other", type=Path, help="another checkout of this repository")
    parser.add_argument("--only", nargs="+", choices=list(JOBS))
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    names = options.only or [name for name in JOBS if name not in TOO_LONG]
    print(f"load of the machine before: {os.getloadavg()[0]:.1f}")
    slower = []
    for name in names:
        size = QUICK_SIZE.get(name, JOBS[name].size) if options.quick else JOBS[name].size
        times: dict[Path, list[float]] = {HERE: [], options.other: []}
        for _ in range(options.rounds):
            for tree, own in times.items():
                own += cpu_times(tree, name, size)
        new, old = times.values()
        if not new or not old:
            print(f"  {name:<16} failed in {'this' if old else 'the other'} tree", flush=True)
            continue
        factor = median(new) / median(old)
        if factor > SLOWER:
            slower.append(name)
        word = "SLOWER" if factor > SLOWER else ""
        print(
            f"  {name:<16} {median(old):9.4g} s -> {median(new):9.4g} s  {factor:5.2f}  {word}",
            flush=True,
        )
    print(f"load of the machine after: {os.getloadavg()[0]:.1f}")
    print(f"slower by more than {SLOWER}: {', '.join(slower) or 'none'}")
    return 0


def cpu_times(tree: Path, name: str, size: dict[str, Any]) -> list[float]:
    """CPU seconds of the tree's own contestant, one or two runs; none where it fails."""
    environment = os.environ | dict.fromkeys(THREAD_VARIABLES, "1")
    environment["PYTHONPATH"] = str(tree.resolve() / "src")
    with tempfile.TemporaryDirectory() as folder:
        order = {
            "module": "jobs",
            "job": name,
            "contestant": "tenfold",
            "size": size,
            "effort": {"repeats": 2, "seconds": 5.0, "at_least": 1},
            "answer": str(Path(folder) / "answer.npz"),
        }
        script = str(tree.resolve() / "benchmarks" / "measure.py")
        words = [sys.executable, script, json.dumps(order)]
        done = subprocess.run(words, env=environment, capture_output=True, text=True)
    if done.returncode:
        print("\n".join(done.stderr.splitlines()[-2:]), file=sys.stderr)
        return []
    times: list[float] = json.loads(done.stdout.splitlines()[-1])["cpu"]
    return times


if __name__ == "__main__":
    sys.exit(main())
