"""What moments cost on one core, measured here, and what 1e9 samples would take by these rates.

    python benchmarks/scale.py            measure, and print the table of the user guide
    python benchmarks/scale.py --table    print it from what was measured before

All times are CPU times with one thread, so they hardly depend on what else the machine does. The
cost of reading a store comes from `benchmarks/big.py`; run that first.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from math import prod
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
from threadpoolctl import threadpool_limits

from tenfold import MCSDA, MPCA, ClassMoments, gather_moments
from tenfold.statistics.stores import StoredSamples

RATES = Path(__file__).parent / "rates"
SHAPES = [(40, 30), (144, 10), (32, 32), (64, 64)]
N_CLASSES, BATCH_BYTES, SAMPLES = 4, 200e6, 1e9
LAPTOP, CLUSTER = 8, 512  # cores
VIDEO = (256, 256, 16)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--table", action="store_true", help="do not measure again")
    path = RATES / "scale.json"
    if not parser.parse_args().table:
        with threadpool_limits(1):
            path.write_text(json.dumps(measured(), indent=2) + "\n", encoding="utf-8")
    print(table(json.loads(path.read_text(encoding="utf-8"))))
    return 0


def measured() -> dict[str, Any]:
    big = json.loads((RATES / "big.json").read_text(encoding="utf-8"))
    return {
        "read_bytes_per_core_second": round(big["bytes"] / big["cpu_seconds"]["read"]),
        "shapes": {"x".join(map(str, shape)): of_shape(shape) for shape in SHAPES},
        "dask_over_memory": dask_over_memory(),
        "video": of_video(),
    }


def of_shape(shape: tuple[int, ...]) -> dict[str, float]:
    """Samples added to moments in a second of one core, and the seconds of a fit from moments."""
    X, y = samples(shape, int(BATCH_BYTES) // (4 * prod(shape)))
    adding, moments = best_of(2, lambda: ClassMoments.from_batch(X, y))
    model = MCSDA(ranks=tuple(min(8, size) for size in shape), tol=1.0)
    solving, _ = best_of(2, lambda: model.fit_moments(moments))
    return {"samples_per_core_second": round(len(X) / adding), "solve_seconds": round(solving, 2)}


def dask_over_memory() -> float:
    """What a tree of sums over Dask blocks costs, relative to one pass over an array."""
    X, y = samples((32, 32), 60_000)
    lazy = da.from_array(X, chunks=(6000, 32, 32))
    with dask.config.set(scheduler="synchronous"):
        tree, _ = best_of(2, lambda: gather_moments(lazy, y))
    plain, _ = best_of(2, lambda: gather_moments(X, y))
    return round(tree / plain, 2)


def of_video() -> dict[str, Any]:
    """Seconds per clip of 256x256x16 to compress, all passes together, and to project."""
    rng = np.random.default_rng(0)
    ranks = (12, 12, 4)
    factors = [
        rng.standard_normal((size, rank), dtype=np.float32)
        for size, rank in zip(VIDEO, ranks, strict=True)
    ]
    core = rng.standard_normal((32, *ranks), dtype=np.float32)
    clips = np.einsum("nabc,ia,jb,kc->nijk", core, *factors, optimize=True)
    clips += 0.1 * rng.standard_normal(clips.shape, dtype=np.float32)
    mpca = MPCA(ranks=0.999, max_iter=0)
    fitting, _ = best_of(1, lambda: mpca.fit(StoredSamples.of(clips)))
    projecting, _ = best_of(2, lambda: mpca.transform(clips))
    return {
        "passes": 1 + len(VIDEO) + 1,
        "fit_core_seconds_per_clip": round(fitting / len(clips), 3),
        "transform_core_seconds_per_clip": round(projecting / len(clips), 3),
        "ranks": list(mpca.ranks_),
        "lost": float(f"{1 - mpca.captured_:.2g}"),
    }


def samples(shape: tuple[int, ...], n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.standard_normal((n, *shape), dtype=np.float32), rng.integers(0, N_CLASSES, n)


def best_of(times: int, work: Callable[[], Any]) -> tuple[float, Any]:
    taken = []
    for _ in range(times):
        start = time.process_time()
        result = work()
        taken.append(time.process_time() - start)
    return min(taken), result


def table(rates: dict[str, Any]) -> str:
    """What 1e9 samples of float32 would take, as Markdown."""
    lines = [
        f"| sample | data | table of a class | read | add | {LAPTOP} cores "
        f"| {CLUSTER} cores with Dask | then one fit |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, rate in rates["shapes"].items():
        size = prod(map(int, name.split("x")))
        reading = SAMPLES * 4 * size / rates["read_bytes_per_core_second"]
        adding = SAMPLES / rate["samples_per_core_second"]
        cluster = (reading + adding * rates["dask_over_memory"]) / CLUSTER
        lines.append(
            f"| {name.replace('x', '×')} | {SAMPLES * 4 * size / 1e12:.1f} TB "
            f"| {8 * size**2 / 1e6:.0f} MB "
            f"| {reading / 3600:.0f} core hours | {adding / 3600:.0f} core hours "
            f"| {duration((reading + adding) / LAPTOP)} | {duration(cluster)} "
            f"| {duration(rate['solve_seconds'])} |"
        )
    video = rates["video"]
    kept = "×".join(map(str, video["ranks"]))
    lines += [
        "",
        f"A clip of {'×'.join(map(str, VIDEO))} costs {video['fit_core_seconds_per_clip']} s "
        f"of one core in all {video['passes']} passes",
        f"of `MPCA(ranks=0.999, max_iter=0)` together, and "
        f"{video['transform_core_seconds_per_clip']} s to be projected; of clips",
        f"made for this, {kept} numbers each were kept, and {video['lost']:g} of the scatter lost.",
    ]
    return "\n".join(lines)


def duration(seconds: float) -> str:
    for unit, length in (("days", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.1f} {unit}"
    return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"


if __name__ == "__main__":
    sys.exit(main())
