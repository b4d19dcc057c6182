"""
More data than memory
=====================

You have samples on a disk that do not fit into memory, and you want a model of all of them.

Everything a method learns follows from the *moments* of the classes: their counts, means and
scatters. Moments can be added. So the data are read once, block by block, and only a table per
class has to fit into memory, not the samples.

The store on this page is small, so that the page is quick to build. With a large one the code is
the same.
"""

# %%
# A store on disk
# ---------------
# Zarr stores an array in chunks. We fill it batch by batch.

import tempfile
import time
import tracemalloc
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import zarr

from tenfold.datasets import load, make_tensor_classes

folder = Path(tempfile.mkdtemp())
truth = make_tensor_classes(4, sample_shape=(24, 20), ranks=(3, 2), n_classes=4, random_state=0)
n, shape = 100_000, truth.sample_shape
group = zarr.open_group(folder / "big.zarr", mode="w")
checked = {"compressors": zarr.codecs.ZstdCodec(checksum=True)}  # a flipped byte is an error
X_out = group.create_array(
    "X", shape=(n, *shape), chunks=(1000, *shape), dtype="float32", **checked
)
y_out = group.create_array("y", shape=(n,), chunks=(n,), dtype="int64", **checked)
rng = np.random.default_rng(0)
for first in range(0, n, 5000):
    rows = slice(first, first + 5000)
    y = rng.integers(0, 4, size=5000)
    X_out[rows] = truth.means[y] + 3.0 * rng.normal(size=(5000, *shape))
    y_out[rows] = y

data = load(folder / "big.zarr")
size = data.X.dtype.itemsize * np.prod(data.X.shape) / 2**20
print(data, f"{size:.0f} MiB on disk")

# %%
# Fit from the store
# ------------------
# Pass the store to an estimator as you would pass an array. It reads one block ahead while it
# adds up the last one, so memory does not grow with the number of samples: half of the store and
# all of it need the same memory at the peak, to a fifth.

from tenfold import HODA


def fitted(X, y):
    tracemalloc.start()
    start = time.perf_counter()
    hoda = HODA(ranks=(3, 2), max_iter=100).fit(X, y)
    seconds, peak = time.perf_counter() - start, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    print(f"{len(y)} samples: {seconds:.1f} s, peak of {peak / 2**20:.0f} MiB")
    return hoda, peak / 2**20


from tenfold.statistics.stores import StoredSamples

half = StoredSamples.of(data.X)[: n // 2]  # a part of a store, still on disk
_, half_peak = fitted(half, data.y[: n // 2])
hoda, peak = fitted(data.X, data.y)

assert abs(peak - half_peak) < 0.2 * peak

figure, ax = plt.subplots(figsize=(6, 2), layout="constrained")
ax.barh(["half", "all"], [size / 2, size], color="0.85", label="samples on disk")
ax.barh(["half", "all"], [half_peak, peak], height=0.3, label="memory at the peak")
ax.set_xlabel("MiB")
ax.legend()

# %%
# The data are simulated, so we know the true subspaces. The distance of two subspaces is 0 if they
# are the same, and at most the square root of twice the rank: 2.4 and 2.0 here. The ones that were
# found are within 0.1 of the true ones.

from tenfold.optimization.alternation import subspace_distance

for k, (found, true) in enumerate(zip(hoda.projections_, truth.subspaces, strict=True)):
    print(f"mode {k}: distance {subspace_distance(found, true):.3f}")
    assert subspace_distance(found, true) < 0.1

# %%
# Moments first, models after
# ---------------------------
# If reading takes hours, gather the moments once and keep them. `gather_moments` writes
# checkpoints, and a run that was interrupted continues from the last one. Afterwards models with
# other ranks, or of other methods, need no reading at all.

from tenfold import MCSDA, MPCA, gather_moments

moments = gather_moments(data.X, data.y, checkpoint=folder / "checkpoint")
print(moments.counts, f"{moments.scatters.nbytes / 2**20:.0f} MiB of scatters")

start = time.perf_counter()
for positive in range(4):
    mcsda = MCSDA(ranks=(3, 2), positive=positive).fit_moments(moments)
mpca = MPCA(ranks=(3, 2)).fit_moments(moments)
print(f"five models in {time.perf_counter() - start:.2f} s")

# %%
# Two machines, or yesterday and today
# ------------------------------------
# The moments of parts add up to the moments of the whole, up to the rounding of float32 samples.

store = StoredSamples.of(data.X)
first, second = slice(0, n // 2), slice(n // 2, n)
sum_of_parts = gather_moments(store[first], data.y[first])
sum_of_parts += gather_moments(store[second], data.y[second])
error = np.abs(sum_of_parts.scatters - moments.scatters).max() / np.abs(moments.scatters).max()
print(f"largest relative difference {error:.1e}")
assert error < 1e-6

# %%
# Results larger than memory
# --------------------------
# `write_blocks` writes what a method returns to another store, block by block.

from tenfold import write_blocks

out = zarr.create_array(
    folder / "projected.zarr", shape=(n, 6), chunks=(5000, 6), dtype="float32", **checked
)
write_blocks(hoda.transform, data.X, out)
print(out.shape, np.isfinite(out[:5]).all())

# %%
# A cluster
# ---------
# A Dask array is processed where its blocks are. `transform` and `decision_function` stay lazy. The
# subspaces are the same, to 1e-6.

import dask.array as da

lazy = da.from_zarr(folder / "big.zarr" / "X")
on_dask = HODA(ranks=(3, 2), max_iter=100).fit(lazy, data.y)
for mine, theirs in zip(on_dask.projections_, hoda.projections_, strict=True):
    print(f"{subspace_distance(mine, theirs):.1e}")
    assert subspace_distance(mine, theirs) < 1e-6
print(on_dask.transform(lazy))
