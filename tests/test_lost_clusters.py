"""A cluster that goes away, or is too small: the fit ends, in words."""

import socket
import subprocess
import sys
import threading
import time

import dask.array as da
import numpy as np
import pytest

import tenfold.validation.dask_array
from tenfold import MCSDA

pytestmark = pytest.mark.cluster
X, Y = np.random.default_rng(0).normal(size=(240, 6, 5)), np.arange(240) % 3


def slowly(block):
    time.sleep(1)
    return block


class Processes:
    """A scheduler and a worker, each in a process that can be killed."""

    def __init__(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.all = []
        self.scheduler = self.start_scheduler()
        self.start("dask_worker", f"127.0.0.1:{self.port}", "--nthreads", "1", "--no-nanny")

    def start(self, module, *words):
        command = [sys.executable, "-m", f"distributed.cli.{module}", *words, "--no-dashboard"]
        self.all.append(subprocess.Popen(command, stderr=subprocess.DEVNULL))
        return self.all[-1]

    def start_scheduler(self):
        return self.start("dask_scheduler", "--host", "127.0.0.1", "--port", str(self.port))

    def kill_scheduler(self, again):
        self.scheduler.kill()
        self.scheduler.wait()
        if again:
            self.start_scheduler()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        for process in self.all:
            process.kill()
            process.wait()


@pytest.mark.parametrize("again", [False, True], ids=["gone", "restarted"])
def test_a_scheduler_that_dies_during_a_fit_ends_it_in_words(again):
    from distributed import Client

    lazy = da.from_array(X, chunks=(8, 6, 5)).map_blocks(slowly, dtype=float, meta=X[:0])
    with Processes() as cluster, Client(f"127.0.0.1:{cluster.port}", timeout=60) as client:
        client.wait_for_workers(1, timeout=60)
        killer = threading.Timer(2, cluster.kill_scheduler, [again])
        killer.start()
        with pytest.raises(
            RuntimeError, match=r"connection to the scheduler was lost, or the clus"
        ):
            MCSDA(ranks=2, positive=1).fit(lazy, Y)
        killer.join()


@pytest.mark.filterwarnings("ignore:moments of 3 class:UserWarning")
def test_workers_without_the_memory_for_their_tables_are_given_up(monkeypatch):
    """Three tables of 134 MB, asked for by name, on a worker of 250 MB: it is killed each time."""
    from distributed import Client, LocalCluster

    monkeypatch.setattr(tenfold.validation.dask_array, "WATCHED_SECONDS", 0.2)
    monkeypatch.setattr(tenfold.validation.dask_array, "PAUSED_SECONDS", 20)
    wide = da.ones((240, 64, 64), chunks=(80, 64, 64))
    settings = {"n_workers": 1, "threads_per_worker": 1, "memory_limit": "250MB"}
    with (
        LocalCluster(**settings, dashboard_address=":0", silence_logs=50) as cluster,
        Client(cluster),
        pytest.raises(RuntimeError, match=r"(memory|died).*; give the workers more memory, cut"),
    ):
        MCSDA(ranks=2, positive=1).partial_fit(wide, Y)


def test_the_same_work_fits_small_workers_without_tables():
    """The choice is tenfold's: it asks the workers how much they hold."""
    from distributed import Client, LocalCluster

    rng = np.random.default_rng(1)
    samples = rng.normal(size=(60, 40, 40))
    wide = da.from_array(samples, chunks=(20, 40, 40))  # three tables of 20 MB
    settings = {"n_workers": 1, "threads_per_worker": 1, "memory_limit": "300MB"}
    with (
        LocalCluster(**settings, dashboard_address=":0", silence_logs=50) as cluster,
        Client(cluster),
    ):
        model = MCSDA(ranks=2, positive=1, tol=1).fit(wide, Y[:60])
    reference = MCSDA(ranks=2, positive=1, tol=1).fit(samples, Y[:60])
    for one, other in zip(model.projections_, reference.projections_, strict=True):
        np.testing.assert_allclose(abs(one), abs(other), atol=1e-9)
