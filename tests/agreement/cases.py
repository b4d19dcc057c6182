"""Random fits, and whether they agree with the oracle.

A case is a number: `draw(seed)` makes samples, labels, weights, a method with random parameters and
a path by which the samples come, and `check(seed)` compares what is learned with `oracle.answer`.

Compared is ``W W^T`` of every mode, which is the projector for orthonormal columns and does not
depend on signs, and the objective after each round. The tolerance is that of the precision of the
samples. A case that misses it is judged by the oracle itself, which answers again for samples and
scatters that are changed in their last digits. The verdicts are

- "agrees": as close as the last digits of the samples allow;
- "as good": the subspace is not determined (two eigenvalues are equal), the objective agrees;
- "unclear": in this precision neither is determined, or an eigenvalue is as small as rounding, or
  the reference of `CSRDA` lies as far away as one likes, since its means coincide;
- "refused": with an error that is right.
"""

from __future__ import annotations

import tempfile
import warnings
from contextlib import nullcontext
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

import tenfold
from tenfold import ClassMoments
from tenfold.methods import CLASS_SPECIFIC_METHODS, LINEAR_METHODS
from ways import learned

from . import oracle

PATHS = {
    "auto": 5, "moments": 5, "samples": 5, "partial_fit": 5, "merged": 4, "memory_map": 2,
    "passes": 2, "hdf5": 1, "zarr": 0.15, "dask": 0.15,
}  # fmt: skip
VERDICTS = ("agrees", "as good", "unclear", "refused")
SOLVER = {"GTDA": "trace_difference", "DGTDA": "trace_difference", "HODA": "trace_ratio"}
VECTORS = {"CSDA", "CSRDA"}
CLOSE = {"f8": 1e-8, "f4": 2e-5}  # of the largest entry of W W^T
LAST_DIGITS = {"f8": 2.3e-16, "f4": 6e-8}
ON_DISK = ("memory_map", "passes", "hdf5", "zarr")
AWAY = 1e4  # times the distance of the means: its square is what rounding leaves of a product
SLACK = 1000  # times what the last digits of the samples change: sums have many roundings


@dataclass
class Case:
    """One fit, all of it random."""

    name: str
    parameters: dict
    path: str
    X: Any
    y: Any
    weight: Any
    classes: Any
    setting: oracle.Setting
    cuts: Any
    digits: str  # of the numbers that are multiplied: "f8" or "f4"

    def __str__(self):
        weights = "no weights" if self.weight is None else f"weights to {self.weight.max():.1g}"
        return f"{self.name}({self.parameters}) {self.path} {self.X.dtype} {self.X.shape} {weights}"


def draw(seed):
    """The case with this number."""
    rng = np.random.default_rng(seed)
    Method = LINEAR_METHODS[rng.integers(len(LINEAR_METHODS))]
    shape = drawn_shape(rng, 32 if Method.__name__ in VECTORS else 72)
    counts = rng.integers(1, 9, rng.integers(2, 5))
    X = drawn_samples(rng, shape, counts)
    y = np.repeat(np.arange(len(counts)), counts)
    order = rng.permutation(len(y))
    X, y = laid_out(rng, X[order]), y[order]
    weight = drawn_weight(rng, y)
    there = np.unique(y if weight is None else y[weight > 0])
    path = str(rng.choice(list(PATHS), p=np.array([*PATHS.values()]) / sum(PATHS.values())))
    parameters, setting = drawn_parameters(rng, Method, shape, len(there))
    classes = drawn_labels(rng, len(counts))
    if "positive" in parameters:
        parameters["positive"] = classes[there[parameters["positive"]]]
    cuts = np.sort(rng.integers(0, len(y) + 1, rng.integers(0, 4)))
    digits = "f4" if X.dtype == np.float32 else "f8"
    return Case(Method.__name__, parameters, path, X, y, weight, classes, setting, cuts, digits)


def drawn_shape(rng, largest):
    order = int(rng.choice([1, 2, 3, 4, 5], p=[0.25, 0.35, 0.2, 0.1, 0.1]))
    most = {1: 12, 2: 6, 3: 4, 4: 3, 5: 3}[order]
    shape = rng.integers(1 if rng.random() < 0.1 else 2, most + 1, order)
    while shape.prod() > largest:
        shape[shape.argmax()] -= 1
    return tuple(shape.tolist())


def drawn_samples(rng, shape, counts):
    """Classes with means and spreads of their own; offset, unit and type of number are random."""
    n, y = int(counts.sum()), np.repeat(np.arange(len(counts)), counts)
    X = rng.normal(size=(n, *shape))
    for k, size in enumerate(shape):
        mixing = rng.normal(size=(size, size))
        X = np.moveaxis(np.tensordot(X, mixing, axes=(k + 1, 0)), -1, k + 1)
    X = X / X.std() * rng.uniform(0.5, 2, len(counts))[y].reshape(-1, *[1] * len(shape))
    X = X + rng.choice([0.3, 1, 3]) * rng.normal(size=(len(counts), *shape))[y]
    kind = rng.choice(["f8", "f4", "i2", "u1", "f2"], p=[0.6, 0.22, 0.08, 0.05, 0.05])
    offsets = [0, 0, 1, 30, 1e4] if kind in ("f8", "f4") else [0, 1]  # the others would overflow
    X = X + rng.choice(offsets) * rng.normal(size=shape)
    if kind == "i2":
        return np.clip(np.round(100 * X), -32000, 32000).astype("i2")
    if kind == "u1":
        return np.clip(np.round(20 * X + 128), 0, 255).astype("u1")
    if kind == "f2":
        return np.clip(X, -6e4, 6e4).astype("f2")
    scale = rng.choice([1, 1, 1e-8, 1e8, 1e-3])
    return (X * scale).astype(kind)


def laid_out(rng, X):
    """The same numbers, otherwise in memory."""
    layout = rng.integers(6)
    if layout == 1:
        return np.asfortranarray(X)
    if layout == 2:
        return np.repeat(X, 2, axis=0)[::2]
    if layout == 3:
        return np.ascontiguousarray(X[:, ::-1])[:, ::-1]
    if layout == 4:
        return np.moveaxis(np.ascontiguousarray(np.moveaxis(X, -1, 0)), 0, -1)
    if layout == 5 and X.dtype.kind == "f":
        return X.astype(X.dtype.newbyteorder(">"))
    return X


def drawn_weight(rng, y):
    kind = rng.integers(8)
    if kind < 4:
        return None
    weight = rng.uniform(0.2, 3, len(y)) if kind < 6 else rng.integers(0, 4, len(y)).astype(float)
    if kind == 5:
        weight = weight * rng.choice([1e-50, 1e-6, 1e6, 1e50])
    if len(np.unique(y[weight > 0])) < 2:
        return None
    return weight


def drawn_labels(rng, n):
    kind = rng.integers(4)
    if kind == 0:
        return np.sort(rng.choice(50, n, replace=False)) - 20
    if kind == 1:
        return np.array(["ash", "beech", "cherry", "dogwood"])[:n]
    return np.arange(n)


def drawn_parameters(rng, Method, shape, n_classes):
    """Parameters of the method, and the same as a setting of the oracle."""
    name, flattens = Method.__name__, Method.__name__ in VECTORS
    seen = (prod(shape),) if flattens else shape
    ranks = tuple(int(rng.integers(1, size + 1)) for size in seen)
    if rng.random() < 0.3:  # strong reductions
        ranks = tuple(min(r, 2) for r in ranks)
    asked = {"ranks": ranks if len(set(ranks)) > 1 or rng.random() < 0.5 else ranks[0]}
    has = Method().get_params()
    setting = oracle.Setting(
        kind="multi_class", ranks=ranks, solver=SOLVER.get(name, "ratio_trace"),
        orthonormal=has.get("orthonormal", Method.orthonormal),
        flattens=flattens, direct=name == "DGTDA", by_between=name == "HODA",
    )  # fmt: skip
    if "solver" in has:
        setting.solver = asked["solver"] = str(
            rng.choice(["ratio_trace", "ratio_trace", "trace_ratio", "trace_difference"])
        )
    if "orthonormal" in has:
        setting.orthonormal = asked["orthonormal"] = bool(rng.integers(2))
    if "ridge" in has:
        setting.ridge = float(rng.choice([1e-4, 1e-2, 0.1, 1, 10]))
        asked["ridge"] = setting.ridge
    if "init" in has:
        setting.start = asked["init"] = str(rng.choice(["ones", "identity"]))
    if "max_iter" in has:
        setting.rounds = asked["max_iter"] = int(rng.integers(1, 4))
        asked["tol"] = 0
    if name == "MPCA":
        setting.kind = "total"
        if rng.random() < 0.1:
            asked["max_iter"], setting.direct = 0, True
    if Method in CLASS_SPECIFIC_METHODS:
        class_specific(rng, name, has, asked, setting, n_classes)
    return asked, setting


def class_specific(rng, name, has, asked, setting, n_classes):
    setting.kind, setting.positive = "class_specific", int(rng.integers(n_classes))
    asked["positive"] = setting.positive
    if "shrinkage" in has:
        share = rng.choice(["0", "0.3", "0.5", "1", "auto"])
        asked["shrinkage"] = setting.shrinkage = "auto" if share == "auto" else float(share)
    asked["negatives"] = str(rng.choice(["samples", "means"]))
    setting.means = asked["negatives"] == "means"
    if name == "CSDA" and rng.random() < 0.25:
        asked["solver"] = setting.solver = "null_space"
        setting.orthonormal, setting.ridge, setting.shrinkage = True, 0.0, 0.0
    setting.reference = name == "CSRDA"


# ── The library's answer ────────────────────────────────────────────────────────────────────────


def fitted(case, folder):
    """The model, by the path of the case."""
    model = getattr(tenfold, case.name)(**case.parameters)
    labels = case.classes[case.y]
    present = np.unique(labels if case.weight is None else labels[case.weight > 0])
    if case.path == "partial_fit":
        for rows in np.split(np.arange(len(labels)), case.cuts):
            weight = None if case.weight is None else case.weight[rows]
            if len(rows) and (weight is None or weight.any()):  # a batch of no weight is refused
                model.partial_fit(case.X[rows], labels[rows], np.unique(labels), weight)
        return model
    if case.path == "merged":
        if case.name == "MPCA":
            labels, present = np.zeros(len(labels), int), np.zeros(1, int)
        return model.fit_moments(merged(case, labels, present))
    way = {"moments": "moments", "samples": "samples", "passes": "samples"}.get(case.path, "auto")
    return learned(model, way, stored(case, folder), labels, case.weight)


def merged(case, labels, present):
    """Moments of parts of the samples, added."""
    native = case.X.astype(case.X.dtype.newbyteorder("="))
    parts = []
    for rows in np.split(np.arange(len(labels)), case.cuts):
        weight = None if case.weight is None else case.weight[rows]
        keep = np.isin(labels[rows], present)
        rows, weight = rows[keep], weight if weight is None else weight[keep]
        if len(rows):
            parts.append(
                ClassMoments.from_batch(native[rows], labels[rows], weight, classes=present)
            )
    return sum(parts[1:], parts[0])


def stored(case, folder):
    """The samples in memory, on disk, or in a Dask array."""
    if case.path in ("memory_map", "passes"):
        np.save(folder / "X.npy", case.X)
        return np.load(folder / "X.npy", mmap_mode="r")
    if case.path == "hdf5":
        import h5py

        with h5py.File(folder / "X.h5", "w") as file:
            file["X"] = case.X
        return h5py.File(folder / "X.h5")["X"]
    if case.path == "zarr":
        import zarr

        native = case.X.astype(case.X.dtype.newbyteorder("="))
        chunks = (max(1, len(native) // 3), *native.shape[1:])
        return zarr.create_array(str(folder / "X.zarr"), data=native, chunks=chunks)
    if case.path == "dask":
        import dask.array

        chunks = (max(1, len(case.X) // 3), *case.X.shape[1:])
        return dask.array.from_array(np.ascontiguousarray(case.X), chunks=chunks)
    return case.X


# ── Whether they agree ──────────────────────────────────────────────────────────────────────────


def squares(blocks):
    """W W^T of every mode of every block, in units of its largest entry."""
    found = []
    for factors in blocks:
        for W in factors:
            W = W.astype(oracle.REAL)
            S = W @ W.T
            found.append(S)
    return found


def apart(first, second):
    """The largest difference, of the largest entry."""
    gaps = [
        float(np.abs(S - T).max() / max(np.abs(T).max(), np.finfo(oracle.REAL).tiny))
        for S, T in zip(first, second, strict=True)
    ]
    return max(gaps)


def expected(case, moved=None, scatters=True):
    weight = np.ones(len(case.y)) if case.weight is None else case.weight
    X = case.X.astype(oracle.REAL)
    setting = replace(case.setting, moved=moved if scatters else None)
    if moved is not None:
        size = np.abs(X).max()
        X = X + LAST_DIGITS[case.digits] * size * moved.normal(size=X.shape)
    there = np.unique(case.y[weight > 0])
    y = np.searchsorted(there, case.y)
    return oracle.answer(X, y, weight, len(there), setting)


def check(seed, folder=None):
    """One of `VERDICTS` for a case; or a sentence that says what is wrong."""
    case = draw(seed)
    with (
        tempfile.TemporaryDirectory(dir=folder) if case.path in ON_DISK else nullcontext("") as own,
        warnings.catch_warnings(),
        np.errstate(all="ignore"),
    ):
        warnings.simplefilter("ignore")
        try:
            model = fitted(case, Path(own))
        except ValueError as error:
            return refusal(case, f"seed {seed}: {case}: {error}")
        truth = expected(case)
        gap, off = differences(case, model, truth)
        close = CLOSE[case.digits]
        if max(gap, off) <= close:
            return "agrees"
        if truth.more.get("farthest", 0) > AWAY:
            return "unclear"
        moves = np.random.default_rng(seed).spawn(3)
        alone, *others = [expected(case, m, scatters=i > 0) for i, m in enumerate(moves)]
        gap_moved, off_moved = np.max([moved_by(m, truth) for m in (alone, *others)], axis=0)
    if off <= close + SLACK * off_moved:
        if gap <= close + SLACK * gap_moved:
            return "agrees" if gap_moved < 1e-3 else "as good" if off_moved < 1e-3 else "unclear"
        if truth.unclear:
            return "unclear"
    if gap == np.inf and alone.unclear:  # how many columns there are depends on the last digits
        return "unclear"
    return (
        f"seed {seed}: {case}: differs by {gap:.1e} (objective {off:.1e}), the oracle moves by "
        f"{gap_moved:.1e} ({off_moved:.1e})"
    )


def differences(case, model, truth):
    """How far model and oracle are apart, in W W^T and in the objective."""
    blocks = [model.projections_]
    if [W.shape for b in blocks for W in b] != [W.shape for b in truth.blocks for W in b]:
        return np.inf, np.inf
    gap = apart(squares(blocks), squares(truth.blocks))
    if case.setting.solver == "null_space":
        return gap, 0.0
    return gap, off_by(np.asarray(model.objective_), np.array(truth.objective))


def moved_by(again, truth):
    if [W.shape for b in again.blocks for W in b] != [W.shape for b in truth.blocks for W in b]:
        return np.inf, np.inf
    gap = apart(squares(again.blocks), squares(truth.blocks))
    return gap, off_by(np.array(again.objective), np.array(truth.objective))


def off_by(first, second):
    if len(first) != len(second):
        return np.inf
    scale = np.maximum(np.abs(second), np.finfo(oracle.REAL).tiny)
    return float((np.abs(first.astype(oracle.REAL) - second) / scale).max())


def refusal(case, message):
    """Errors that are right."""
    if "shrinkage='auto' needs" in message and case.path == "passes":
        return "refused"
    return message
