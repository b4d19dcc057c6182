"""Kills workers of a Dask cluster while models are fitted on it, and compares the models.

    python benchmarks/kills.py --kills 100 --seed 1

Each fit is of samples in slow chunks; meanwhile worker processes get SIGKILL at random moments, one
at a time and at most three in a fit, since Dask gives up on a chunk whose workers died more often.
The model must be that of an undisturbed fit on the same cluster, to the last bit. Exits with 1 if
one was not.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import threading
import time
import warnings
from typing import Any

import dask
import dask.array as da
import numpy as np
import sklearn

from tenfold import MCSDA
from tenfold.validation.dask_array import ClusterError

# A local cluster gives up a worker that is away 15 seconds after it was lost once.
PATIENT = {"logging": {"distributed": "critical"}, "distributed.deploy.lost-worker-timeout": "1 h"}
PER_FIT, PAUSE = 3, {"moments": 0.25, "samples": 0.04}
TOO_LITTLE = 0.002  # MiB of working memory: four times as much holds no table of 30 x 30 numbers


class Killer(threading.Thread):
    """Kills worker processes at random moments, until told to stop."""

    def __init__(self, cluster: Any, most: int, dice: random.Random):
        super().__init__(daemon=True)
        self.cluster, self.most, self.dice = cluster, most, dice
        self.killed: list[int] = []
        self.enough = threading.Event()

    def run(self) -> None:
        while len(self.killed) < self.most and not self.enough.wait(self.dice.uniform(0.2, 0.9)):
            alive = [pid for pid in running(self.cluster) if pid not in self.killed]
            if len(alive) > 1:
                pid = self.dice.choice(alive)
                os.kill(pid, signal.SIGKILL)
                self.killed.append(pid)


def running(cluster: Any) -> list[int]:
    """Worker processes at work; Dask does not replace one that dies while it starts."""
    nannies = [nanny for nanny in cluster.workers.values() if nanny.process is not None]
    return [nanny.pid for nanny in nannies if nanny.process.status.name == "running"]


def slowly(block: np.ndarray, pause: float) -> np.ndarray:
    """The same samples, later."""
    time.sleep(pause)
    return block


def fitted(statistics: str, X: np.ndarray, y: np.ndarray) -> bytes:
    """The projections of a model of samples in slow chunks."""
    chunks = da.from_array(X, chunks=(8, *X.shape[1:]))
    lazy = chunks.map_blocks(slowly, PAUSE[statistics], dtype=float, meta=X[:0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # two rounds are not enough to converge
        memory = TOO_LITTLE if statistics == "samples" else sklearn.get_config()["working_memory"]
        with sklearn.config_context(working_memory=memory):
            model = MCSDA(ranks=2, positive=1, max_iter=2).fit(lazy, y)
    return b"".join(projection.tobytes() for projection in model.projections_)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    from distributed import Client, LocalCluster

    dice, rng = random.Random(given.seed), np.random.default_rng(given.seed)
    X, y = rng.normal(size=(240, 6, 5)), np.arange(240) % 3
    start, kills, fits, different, given_up = time.perf_counter(), 0, 0, 0, 0
    with (
        dask.config.set(PATIENT),
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50
        ) as cluster,
        Client(cluster),
    ):
        known = {statistics: fitted(statistics, X, y) for statistics in PAUSE}
        while kills < given.kills:
            statistics = dice.choice(list(PAUSE))
            killer = Killer(cluster, min(PER_FIT, given.kills - kills), dice)
            killer.start()
            try:
                different += fitted(statistics, X, y) != known[statistics]
            except ClusterError as error:
                given_up += 1
                sys.stderr.write(f"{error}\n")
            killer.enough.set()
            killer.join()
            kills, fits = kills + len(killer.killed), fits + 1
            sys.stderr.write(f"{kills} killed in {fits} fits, {different} other models\n")
    seconds = time.perf_counter() - start
    sys.stdout.write(
        f"{kills} workers killed in {fits} fits: {different} other models, {given_up} given up, "
        f"seed {given.seed}, {seconds:.0f} s\n"
    )
    sys.exit(int(different > 0))


if __name__ == "__main__":
    main()
