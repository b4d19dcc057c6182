"""An experiment of a few short cells, to be killed; run as a script with a folder and jobs."""

import os
import signal
import sys
import time
from pathlib import Path

import numpy as np

from paper.experiment import Cell, Experiment, run_experiment
from paper.tables import Table

N_CELLS = 30


def slow_square(i, pause):
    time.sleep(pause)
    matrix = np.random.default_rng(i).normal(size=(50, 50))
    return {"value": float(np.linalg.svd(matrix @ matrix.T)[1].sum())}


def toy(pause=0.03):
    cells = [Cell(f"cell {i}", slow_square, (i, pause)) for i in range(N_CELLS)]
    cells.append(Cell("clock", measured, alone=True))

    def summarise(results):
        records = [{"cell": name, "value": r["value"]} for name, r in results.items()
                   if name != "clock"]  # fmt: skip
        return records, [Table("Toy", ["cell", "value"], [list(r.values()) for r in records])]

    return Experiment("toy", "Toy", {"n": N_CELLS}, cells, summarise)


def dies(i):
    os.kill(os.getpid(), signal.SIGKILL)


def measured():
    return {"seconds": time.perf_counter()}


if __name__ == "__main__":
    sys.stdout.write("started\n")
    sys.stdout.flush()
    run_experiment(toy(), Path(sys.argv[1]), jobs=int(sys.argv[2]))
