"""The figures that are promised, in one run: asked, measured, reached or not.

    make must-show                        a quarter of an hour on quiet cores
    make must-show ARGS="--only start"    some of them

CPU time with one thread, and the kernels of BLAS that are named first. Both sides of a ratio are
measured in turn in this process, five times each, and their medians are divided. Times to start and
`compare` are wall times.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import contestants as who
import data
import jobs
import numpy as np
import store_memory
from run import blas_kernels
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from tenfold import CSDA, MCSDA, ClassSpecificClassifier, ProbabilisticLDA, compare

RUNS = 5
SMALL_FIT = """
import numpy as np
from tenfold import MCSDA
X = np.random.default_rng(0).standard_normal((60, 8, 8))
MCSDA(ranks=(2, 2), positive=1).fit(X, np.arange(60) % 3)
"""


@dataclass(frozen=True)
class Figure:
    """One line: what is asked, and what was measured."""

    name: str
    asked: float
    measured: float
    unit: str
    at_least: bool = False
    note: str = ""

    @property
    def reached(self) -> bool:
        """Whether the figure is what is asked, or better."""
        return self.measured >= self.asked if self.at_least else self.measured <= self.asked

    def __str__(self) -> str:
        sign = ">=" if self.at_least else "<="
        word = "reached" if self.reached else "MISSED"
        asked = f"{sign} {self.asked:g}"
        return (
            f"{self.name:<58} {asked:>8} {self.measured:>8.3g} {self.unit:<12} {word} {self.note}"
        )


def in_turn(
    *works: Callable[[], Any],
    clock: Callable[[], float] = time.process_time,
    runs: int = RUNS,
) -> list[float]:
    """The median time of each, measured in turn after one run that does not count."""
    times: list[list[float]] = [[] for _ in works]
    for run in range(runs + 1):
        for work, own in zip(works, times, strict=True):
            start = clock()
            work()
            if run:
                own.append(clock() - start)
    return [median(own) for own in times]


def contestants(job: str, *names: str) -> list[Callable[[], Any]]:
    """Some contestants of a job of the bench, on its data."""
    given = jobs.JOBS[job].prepare(**jobs.JOBS[job].size)
    return [partial(jobs.JOBS[job].contestants[name], given) for name in names]


def banks() -> Iterator[Figure]:
    own, ridge = in_turn(*contestants("tensor-bank", "tenfold", "RidgeClassifier"))
    yield Figure("71 MCSDA models of 32x22x10 / ridge", 33, own / ridge, "times ridge")
    given = jobs.JOBS["vector-bank"].prepare(**jobs.JOBS["vector-bank"].size)
    bank = ClassSpecificClassifier(CSDA(shrinkage="auto"))
    own, ridge = in_turn(partial(who.fitted, given, bank), partial(who.ridge, given))
    yield Figure('120 CSDA models, shrinkage="auto" / ridge', 12, own / ridge, "times ridge")


def orl() -> Iterator[Figure]:
    job = jobs.JOBS["faces"]
    given = job.prepare(**job.size)
    by_distances = partial(job.contestants["tenfold"], given)
    by_ratios = partial(by_distances, settings=who.LITERALLY | {"decision": "likelihood_ratio"})
    literal = partial(job.contestants["literal"], given)
    distances, ratios, slow = in_turn(by_distances, by_ratios, literal)
    slow /= job.share["literal"]
    note = f"({given['note']})"
    yield Figure("literal / ORL bank by distances", 3.4, slow / distances, "times", True, note)
    yield Figure("literal / ORL bank by likelihood ratios", 3.0, slow / ratios, "times", True, note)


def mpca() -> Iterator[Figure]:
    own, tensorly = in_turn(*contestants("mpca-5000", "tenfold", "TensorLy"))
    yield Figure("TensorLy / MPCA of 5000 x 40x30", 22, tensorly / own, "times", True)


def one_pass() -> Iterator[Figure]:
    size = {"n": 60_000, "shape": (144, 10), "ranks": (60, 8), "n_classes": 3}
    given = who.planted(**size)
    single = given | {"X": given["X"].astype(np.float32)}
    fit = partial(who.fitted, estimator=MCSDA((60, 8), positive=2))
    own, half, product = in_turn(
        partial(fit, given), partial(fit, single), partial(who.blocked_product, given)
    )
    yield Figure("MCSDA of 60 000 x 144x10 / X^T X, both float64", 0.65, own / product, "times")
    yield Figure("the same samples in float32 / X^T X in float64", 0.65, half / product, "times")


def comparison() -> Iterator[Figure]:
    X, y, note = data.faces((32, 32), per_person=10)
    whole, fits = in_turn(partial(compare, X, y), partial(_fits, ProbabilisticLDA(), X, y), runs=1)
    yield Figure(f"compare on 400 faces / five fits ({note})", 6, whole / fits, "times")
    walls = [_compare_in_child() for _ in range(3)]
    yield Figure("compare on 400 faces, two cores, wall", 8, median(walls), "s")


def _fits(estimator: Any, X: Any, y: Any) -> None:
    for fold in range(5):
        rows = np.arange(len(X)) % 5 != fold
        clone(estimator).fit(X[rows], y[rows])


def _compare_in_child() -> float:
    """Seconds of `compare`, in a process that may use all cores."""
    words = [sys.executable, __file__, "--compare"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


def compare_here() -> float:
    """Seconds of `compare` in this process."""
    X, y, _ = data.faces((32, 32), per_person=10)
    start = time.perf_counter()
    compare(X, y)
    return time.perf_counter() - start


def memory() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        for kind, path in store_memory.write_stores(Path(folder)).items():
            for name in store_memory.NAMES:
                label = f"37 MB store ({kind}): {name}"
                yield Figure(label, store_memory.ASKED, store_memory.taken(name, path), "MB")


def one_sample() -> Iterator[Figure]:
    X, y = data.planted(400, (40, 30), (7, 7), n_classes=40)
    for decision in ("distance", "likelihood_ratio"):
        model = MCSDA((7, 7), positive=0, decision=decision).fit(X, y)

        def thousand(model: Any = model) -> None:
            for _ in range(1000):
                model.decision_function(X[:1])

        (seconds,) = in_turn(thousand)
        yield Figure(f"one sample scored, decision={decision!r}", 30, 1000 * seconds, "us")


def start() -> Iterator[Figure]:
    command = [str(Path(sys.executable).with_name("tenfold")), "--version"]
    shown, fitted = in_turn(
        partial(subprocess.run, command, check=True, capture_output=True),
        partial(subprocess.run, [sys.executable, "-c", SMALL_FIT], check=True, capture_output=True),
        clock=time.perf_counter,
    )
    before = os.times()
    subprocess.run([sys.executable, "-c", SMALL_FIT], check=True)
    after = os.times()
    own = after.children_user + after.children_system
    note = f"(CPU {own - before.children_user - before.children_system:.2g} s)"
    yield Figure("start of the command line, wall", 0.3, shown, "s")
    yield Figure("start of a small fit, wall", 2, fitted, "s", note=note)


PARTS: dict[str, Callable[[], Iterator[Figure]]] = {
    "start": start,
    "one-sample": one_sample,
    "banks": banks,
    "orl": orl,
    "mpca": mpca,
    "one-pass": one_pass,
    "compare": comparison,
    "memory": memory,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--compare", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # forced rounds do not converge
    if options.compare:
        print(compare_here())
        return 0
    print(f"kernels of BLAS: {blas_kernels()}; OPENBLAS_CORETYPE names others")
    print(f"load of the machine before: {os.getloadavg()[0]:.1f}")
    print(f"{'':<58} {'asked':>8} {'measured':>8}")
    figures = []
    with threadpool_limits(1):
        for name in options.only:
            for figure in PARTS[name]():
                figures.append(figure)
                print(figure, flush=True)
    print(f"{sum(figure.reached for figure in figures)} of {len(figures)} reached")
    print(f"load of the machine after: {os.getloadavg()[0]:.1f}")
    return 0 if all(figure.reached for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
