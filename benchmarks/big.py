"""More data than memory: fit a Zarr store under a limit of memory, and time it against reading it.

    python benchmarks/big.py --folder /somewhere/with/space

makes a store of 20 GB (and deletes it at the end), then starts three processes of their own that
may have 2 GB each:

    read        reads every block
    multiply    reads every block X and adds up X.T @ X
    fit         MCSDA(...).fit(store, y)

The limit is RLIMIT_DATA, which the kernel enforces on all private memory, and the largest resident
size (VmHWM) is measured as well. It ends with status 1 when the fit needs more memory than allowed
or more than 1.5 times as long as `multiply`. The measured rates go to a JSON file, from which
`benchmarks/scale.py` computes the table of the user guide.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import zarr

from tenfold import MCSDA

SHAPE, N_CLASSES, CHUNK = (32, 32), 4, 4096
SAMPLE_BYTES = 4 * SHAPE[0] * SHAPE[1]
WITHIN = 1.5
HERE = Path(__file__).parent


def main() -> int:
    options = arguments()
    if options.job:
        return child(options)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the store is deleted even then
    folder = Path(tempfile.mkdtemp(prefix="tenfold-big-", dir=options.folder))
    try:
        n = make_store(folder, options.gigabytes)
        results = {job: run(job, folder, options) for job in ("read", "multiply", "fit")}
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return report(n, results, options)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", default=".", help="where the store is made for the time")
    parser.add_argument("--gigabytes", type=float, default=20.0, help="size of the store")
    parser.add_argument("--limit", type=float, default=2.0, help="gigabytes that a process may use")
    parser.add_argument("--out", default=str(HERE / "rates" / "big.json"), help="measured rates")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    return parser.parse_args()


def make_store(folder: Path, gigabytes: float) -> int:
    """Random samples about one mean per class; returns their number."""
    n = int(gigabytes * 1e9) // SAMPLE_BYTES // CHUNK * CHUNK
    store = zarr.create_array(
        folder / "X.zarr",
        shape=(n, *SHAPE),
        chunks=(CHUNK, *SHAPE),
        dtype="float32",
        compressors=zarr.codecs.ZstdCodec(checksum=True),
    )
    rng = np.random.default_rng(0)
    means = rng.normal(size=(N_CLASSES, *SHAPE)).astype(np.float32)
    y = rng.integers(0, N_CLASSES, n)
    start = time.perf_counter()
    for first in range(0, n, CHUNK):
        noise = rng.standard_normal((CHUNK, *SHAPE), dtype=np.float32)
        store[first : first + CHUNK] = noise + means[y[first : first + CHUNK]]
    np.save(folder / "y.npy", y)
    print(f"made {n} samples of {SHAPE[0]}x{SHAPE[1]}, {n * SAMPLE_BYTES / 1e9:.1f} GB,", end=" ")
    print(f"in {time.perf_counter() - start:.0f} s")
    return n


def run(job: str, folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """One job in a process of its own, with cold files and little memory."""
    forget_files(folder)
    command = [sys.executable, __file__, "--job", job, "--folder", str(folder)]
    done = subprocess.run(
        [*command, "--limit", str(options.limit)], check=True, stdout=subprocess.PIPE, text=True
    )
    result: dict[str, Any] = json.loads(done.stdout)
    print(
        f"{job:9s} {result['seconds']:7.1f} s   {result['cpu']:7.1f} s of CPU   "
        f"{result['resident'] / 1e9:.2f} GB resident"
    )
    return result


def forget_files(folder: Path) -> None:
    """Ask the kernel to drop the store from its cache, so that every job reads from the disk."""
    os.sync()
    for path in folder.rglob("*"):
        if path.is_file():
            descriptor = os.open(path, os.O_RDONLY)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(descriptor)


def child(options: argparse.Namespace) -> int:
    limit = int(options.limit * 1e9)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    store = zarr.open_array(Path(options.folder) / "X.zarr", mode="r")
    y = np.load(Path(options.folder) / "y.npy")
    work = {"read": read, "multiply": multiply, "fit": fit}[options.job]
    start, start_cpu = time.perf_counter(), time.process_time()
    work(store, y)
    seconds, cpu = time.perf_counter() - start, time.process_time() - start_cpu
    print(json.dumps({"seconds": seconds, "cpu": cpu, "resident": largest_resident()}))
    return 0


def read(store: Any, y: np.ndarray) -> None:
    for first in range(0, len(y), CHUNK):
        store[first : first + CHUNK]


def multiply(store: Any, y: np.ndarray) -> None:
    total = np.zeros((SAMPLE_BYTES // 4,) * 2, dtype=np.float32)
    for first in range(0, len(y), CHUNK):
        X = store[first : first + CHUNK].reshape(CHUNK, -1)
        total += X.T @ X


def fit(store: Any, y: np.ndarray) -> None:
    MCSDA(ranks=(8, 8), positive=1, tol=1.0).fit(store, y)


def largest_resident() -> int:
    status = Path("/proc/self/status").read_text(encoding="ascii")
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


def report(n: int, results: dict[str, Any], options: argparse.Namespace) -> int:
    size = n * SAMPLE_BYTES
    ratio = results["fit"]["seconds"] / results["multiply"]["seconds"]
    resident = results["fit"]["resident"] / 1e9
    summary = {
        "samples": n,
        "sample_shape": SHAPE,
        "dtype": "float32",
        "bytes": size,
        "limit_gigabytes": options.limit,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "cpu_seconds": {job: round(result["cpu"], 1) for job, result in results.items()},
        "seconds": {job: round(result["seconds"], 1) for job, result in results.items()},
        "resident_gigabytes": {job: round(r["resident"] / 1e9, 2) for job, r in results.items()},
        "fit_over_multiply": round(ratio, 2),
    }
    out = Path(options.out)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")
    print(f"fit took {ratio:.2f} times as long as multiply (at most {WITHIN})")
    print(f"fit used {resident:.2f} GB of memory (at most {options.limit:g})")
    return 0 if ratio <= WITHIN and resident <= options.limit else 1


if __name__ == "__main__":
    sys.exit(main())
