"""tenfold beside what people use now: same data, same rounds, same threads, same answer.

    make bench                    25 minutes: medians of five; waits for quiet cores first
    make bench ARGS=--quick       two minutes: small sizes, few repeats

Prints every median as it is measured, writes them to benchmarks/results/results.json, and makes
docs/benchmarks.md and its plots of them. A quick run changes no page.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from datetime import date
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

from growth import SWEEPS
from jobs import JOBS, Job
from measure import Effort, disagreement, measured
from summary import TITLES
from threadpoolctl import threadpool_info

HERE = Path(__file__).parent
EFFORTS = {
    "quick": Effort(repeats=3, seconds=2.0),
    "ordinary": Effort(repeats=5, seconds=60.0, at_least=5),
}
LONGEST = {"quick": 1.0, "ordinary": 1.5}  # seconds of one run in a sweep
ONCE = 5.0  # seconds of one run with one thread: peers that take longer do not run with two
QUIET = 0.5  # the load of a machine that does nothing else
QUICK_SIZE = {
    "mcsda": {"n": 2000, "shape": (144, 10), "ranks": (60, 8), "n_classes": 3},
    "mpca-5000": {"n": 2000, "shape": (40, 30), "ranks": (7, 7)},
    "one-pass": {"n": 20_000, "shape": (144, 10), "ranks": (60, 8), "dtype": "float32"},
    "vector-bank": {"n": 280, "shape": (24, 20), "ranks": (8, 8), "n_classes": 40},
    "tensor-bank": {"n": 160, "shape": (12, 10, 6), "ranks": (4, 4, 3), "n_classes": 16},
    "stream": {"n": 190, "shape": (12, 12), "ranks": (4, 4), "n_classes": 38},
    "large-verifier": {"n": 50_000, "shape": (20,), "ranks": (6,)},
    "automatic-bank": {"n": 280, "shape": (24, 20), "ranks": (8, 8), "n_classes": 40},
    "structure": {"n": 60, "shape": (12, 15), "ranks": (4, 5), "n_classes": 5},
    "scoring": {"n": 10_000},
}
SKIPPED_BY_QUICK = ("order-book",)


def main() -> int:
    options = arguments()
    if options.effort != "quick" and not options.only:
        wait_for_quiet_cores(options.wait)
    results: dict[str, Any] = {"machine": machine(), "effort": options.effort, "note": options.note}
    results["machine"]["load"] = round(os.getloadavg()[0], 1)
    results["titles"] = TITLES
    results["jobs"] = run_jobs(options)
    results["growth"] = [] if options.only else run_sweeps(options)
    target = HERE / "results" / "results.json"
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps(results, indent=1))
    print(f"\nwritten: {target.relative_to(HERE.parent)}")
    if options.effort != "quick" and not options.only:
        from page import write_page

        write_page(results)
    rows = results["jobs"] + results["growth"]
    own = [row for row in rows if row["status"] == "failed" and row["contestant"] == "tenfold"]
    return 1 if own or any(row["status"] == "differs" for row in rows) else 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", dest="effort", action="store_const", const="quick")
    parser.add_argument("--only", nargs="+", choices=list(JOBS), help="these jobs, no growth")
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2], help="BLAS threads")
    parser.add_argument("--wait", type=float, default=10, help="minutes to wait for quiet cores")
    parser.add_argument("--note", default="", help="what readers must know, such as other work")
    parser.set_defaults(effort="ordinary")
    return parser.parse_args()


def wait_for_quiet_cores(minutes: float) -> None:
    """Return when the machine does nothing else, or after so many minutes."""
    until = time.monotonic() + 60 * minutes
    while os.getloadavg()[0] > QUIET and time.monotonic() < until:
        print(f"waiting for quiet cores: the load is {os.getloadavg()[0]:.1f}", flush=True)
        time.sleep(15)


def machine() -> dict[str, Any]:
    libraries = ("tenfold", "numpy", "scipy", "scikit-learn", "tensorly", "pykale", "hottbox")
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "kernels": blas_kernels(),
        "python": platform.python_version(),
        "date": date.today().isoformat(),
        "commit": _commit(),
        "versions": {name: version(name) for name in libraries},
    }


def blas_kernels() -> str:
    """The kernels of BLAS: OpenBLAS chooses by the processor, or takes OPENBLAS_CORETYPE."""
    found = {one.get("architecture") for one in threadpool_info()} - {None}
    return ", ".join(sorted(found))


def _commit() -> str:
    words = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def run_jobs(options: argparse.Namespace) -> list[dict[str, Any]]:
    rows = []
    for name, job in JOBS.items():
        quick = options.effort == "quick"
        if (options.only and name not in options.only) or (quick and name in SKIPPED_BY_QUICK):
            continue
        size = QUICK_SIZE.get(name, job.size) if quick else job.size
        slow: set[str] = set()
        for threads in options.threads:
            print(f"\n{job.title}, {threads} BLAS thread{'s' * (threads > 1)}")
            found = compare("jobs", name, job, size, threads, EFFORTS[options.effort], slow)
            rows += found
            slow |= {row["contestant"] for row in found[1:] if takes(row, job) > ONCE}
    return rows


def takes(row: dict[str, Any], job: Job) -> float:
    """Seconds of one run, of the share of the job that a contestant does."""
    share = job.share.get(row["contestant"], 1.0) * job.calls
    return float(median(row["wall"] or [float("inf")]) * share)


def run_sweeps(options: argparse.Namespace) -> list[dict[str, Any]]:
    rows = []
    effort = EFFORTS[options.effort]
    for name, sweep in SWEEPS.items():
        print(f"\n{sweep.title}")
        left: set[str] = set()
        sizes = list(sweep.sizes.items())
        for x, size in sizes[: 3 if options.effort == "quick" else None]:
            print(f"  {x:,} {sweep.axis}")
            brief = Effort(effort.repeats, min(effort.seconds, 4.0), effort.at_least)
            found = compare("growth", name, sweep.job, size, 1, brief, left)
            rows += [row | {"x": x} for row in found]
            left |= {
                row["contestant"]
                for row in found
                if row["contestant"] != "tenfold"
                and _next_time(row, x, sizes) > LONGEST[options.effort]
            }
    return rows


def _next_time(row: dict[str, Any], x: int, sizes: list[tuple[int, Any]]) -> float:
    """What the next size would take, if time grew a little faster than the size."""
    larger = [other for other, _ in sizes if other > x]
    if row["status"] == "failed":
        return float("inf")
    return median(row["wall"]) * (larger[0] / x) ** 1.2 if larger else 0.0


def compare(
    module: str,
    name: str,
    job: Job,
    size: dict[str, Any],
    threads: int,
    effort: Effort,
    without: set[str] = frozenset(),  # type: ignore[assignment]
) -> list[dict[str, Any]]:
    """Every contestant of a job, measured and held against the first one's answer."""
    rows: list[dict[str, Any]] = []
    reference: dict[str, Any] = {}
    for contestant in job.contestants:
        if contestant in without:
            continue
        row = measured(module, name, contestant, size, threads, effort)
        answer = row.pop("answer")
        reference = reference or answer
        row |= {"job": name, "contestant": contestant, "threads": threads}
        row["distance"] = disagreement(reference, answer)
        row["status"] = status(row, job)
        rows.append(row)
        print(line(row, rows[0]), flush=True)
    return rows


def status(row: dict[str, Any], job: Job) -> str:
    if "failed" in row:
        return "failed"
    if row["contestant"] in job.limits:
        return "limit"
    if row["distance"] <= job.tolerance:
        return "agrees"
    return "approximate" if row["contestant"] in job.approximate else "differs"


def line(row: dict[str, Any], first: dict[str, Any]) -> str:
    if row["status"] == "differs":
        return (
            f"    {row['contestant']:<18} answers differ by {row['distance']:.1e}: no time reported"
        )
    wall, own = median(row["wall"]), median(first["wall"] or [float("nan")])
    spread = f"{min(row['wall']):.3g} to {max(row['wall']):.3g}"
    return (
        f"    {row['contestant']:<18} {wall:9.4g} s  ({spread}, {len(row['wall'])} runs, "
        f"CPU {median(row['cpu']):.3g} s, {row['peak'] / 2**20:.0f} MB)  {wall / own:7.2f}x"
        f"  {row['status']} {row['distance']:.0e}"
    )


if __name__ == "__main__":
    sys.exit(main())
