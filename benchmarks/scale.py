"""How long moments take, measured here, and what 1e9 samples would take by these rates.

    python benchmarks/scale.py            measure, and print the table of the user guide
    python benchmarks/scale.py --table    print it from what was measured before

The rate at which a store is read comes from `benchmarks/big.py`; run that first.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path(__file__).parent / "results"
SHAPES = [(40, 30), (144, 10), (32, 32), (64, 64)]
N_CLASSES, BATCH_BYTES, MACHINES, SAMPLES = 4, 400e6, 64, 1e9
VIDEO = (256, 256, 16)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--table", action="store_true", help="do not measure again")
    path = RESULTS / "scale.json"
    if not parser.parse_args().table:
        path.write_text(json.dumps(measured(), indent=2) + "\n", encoding="utf-8")
    print(table(json.loads(path.read_text(encoding="utf-8"))))
    return 0


def measured() -> dict[str, Any]:
    """Rates of this machine, with all its cores."""
    big = json.loads((RESULTS / "big.json").read_text(encoding="utf-8"))
    return {
        "cores": big["cores"],
        "read_bytes_per_second": round(big["bytes"] / big["seconds"]["read"]),
        "shapes": {"x".join(map(str, shape)): of_shape(shape) for shape in SHAPES},
        "video": of_video(),
        "two_workers_over_one": two_workers_over_one(),
    }


def of_shape(shape: tuple[int, ...]) -> dict[str, float]:
    """Samples that are added to moments per second, and the seconds of one fit from moments."""
    from tenfold import MCSDA, ClassMoments

    n = int(BATCH_BYTES) // (4 * prod(shape))
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, *shape), dtype=np.float32)
    y = rng.integers(0, N_CLASSES, n)
    adding, moments = best_of(2, lambda: ClassMoments.from_batch(X, y))
    model = MCSDA(ranks=tuple(min(8, size) for size in shape), tol=1.0)
    solving, _ = best_of(2, lambda: model.fit_moments(moments))
    return {"samples_per_second": round(n / adding), "solve_seconds": round(solving, 2)}


def of_video() -> dict[str, float]:
    """Seconds per clip of 256x256x16 to compress, all passes together, and to project."""
    from tenfold import MPCA
    from tenfold.sources import StoredSamples

    rng = np.random.default_rng(0)
    factors = [
        rng.standard_normal((s, r), dtype=np.float32)
        for s, r in zip(VIDEO, (12, 12, 4), strict=True)
    ]
    core = rng.standard_normal((48, 12, 12, 4), dtype=np.float32)
    clips = np.einsum("nabc,ia,jb,kc->nijk", core, *factors, optimize=True)
    clips += 0.1 * rng.standard_normal(clips.shape, dtype=np.float32)
    mpca = MPCA(ranks=0.999, max_iter=0)
    start = time.perf_counter()
    mpca.fit(StoredSamples.of(clips))
    fitting = time.perf_counter() - start
    projecting, _ = best_of(2, lambda: mpca.transform(clips))
    return {
        "passes": 1 + len(VIDEO) + 1,
        "fit_seconds_per_clip": round(fitting / len(clips), 4),
        "transform_seconds_per_clip": round(projecting / len(clips), 4),
        "ranks": list(mpca.ranks_),
        "lost": round(1 - mpca.captured_, 6),
    }


def two_workers_over_one() -> float:
    """How much faster two worker processes with one thread each are than one."""
    import dask.array as da
    from distributed import Client, LocalCluster

    from tenfold import gather_moments

    X = da.random.default_rng(0).standard_normal((200_000, 32, 32), chunks=(5000, 32, 32))
    y = np.arange(len(X)) % N_CLASSES
    seconds = []
    for n_workers in (1, 2):
        options = {"n_workers": n_workers, "threads_per_worker": 1, "dashboard_address": ":0"}
        with LocalCluster(**options, silence_logs=50) as cluster, Client(cluster):
            gather_moments(X[:10_000], y[:10_000])  # workers import tenfold
            seconds.append(best_of(1, lambda: gather_moments(X, y))[0])
    return round(seconds[0] / seconds[1], 2)


def best_of(times: int, work: Any) -> tuple[float, Any]:
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        result = work()
        taken.append(time.perf_counter() - start)
    return min(taken), result


def table(rates: dict[str, Any]) -> str:
    """What 1e9 samples of float32 would take, as Markdown."""
    cores, read = rates["cores"], rates["read_bytes_per_second"]
    lines = [
        f"| sample | data | table of a class | samples/s | this machine ({cores} cores) "
        f"| {MACHINES} such machines | then one fit |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, rate in rates["shapes"].items():
        size = prod(map(int, name.split("x")))
        adding = SAMPLES / rate["samples_per_second"]
        reading = SAMPLES * 4 * size / read
        seconds = max(adding, reading)  # the next block is read while the last is added
        lines.append(
            f"| {name.replace('x', '×')} | {SAMPLES * 4 * size / 1e12:.1f} TB "
            f"| {8 * size**2 / 1e6:.0f} MB | {rate['samples_per_second']:,} "
            f"| {duration(seconds)} | {duration(seconds / MACHINES)} "
            f"| {duration(rate['solve_seconds'])} |"
        )
    return "\n".join(lines)


def duration(seconds: float) -> str:
    for unit, length in (("days", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.1f} {unit}"
    return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"


if __name__ == "__main__":
    sys.exit(main())
