"""How good the answers are: tenfold at its defaults beside scikit-learn on the flat samples.

    python benchmarks/answers.py ../shared/data                 # all sets, three seeds, 15 minutes
    python benchmarks/answers.py ../shared/data --sets orl2,coil5 --only tenfold
    python benchmarks/answers.py ../shared/data --write         # and put the tables into the pages
    python benchmarks/answers.py ../shared/data --rounds --sets orl5,coil5,pie5

Training samples are drawn at random, so many of each class; all others are test samples. Gait is
trained on the gallery and tested on probe A. Nothing is chosen on test samples.

accuracy    share of test samples that are classified correctly, in percent
mAP         mean over the classes of the average precision of the score of that class, in percent
calibration expected calibration error of the probabilities, ten bins, for those who give some
seconds     to fit, one BLAS thread
"""

from __future__ import annotations

import argparse
import json
import subprocess
import time
import warnings
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from paper_sets import load_orl
from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import RidgeClassifier
from sklearn.metrics import average_precision_score
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from threadpoolctl import threadpool_limits

from tenfold import (
    CMDA,
    CSDA,
    DATER,
    GTDA,
    HODA,
    MCSDA,
    MPCA,
    ClassSpecificClassifier,
    ProbabilisticLDA,
)

SETS = ("orl2", "orl3", "orl5", "pie5", "pie10", "coil5", "coil15", "digits90", "gaitA")
TITLES = {
    "orl": "ORL faces, {} per person",
    "pie": "CMU PIE faces, {} per person",
    "coil": "COIL-20 objects, {} per object",
    "digits": "digits, {} per digit",
    "gait": "gait, probe {}",
}
ROOT = Path(__file__).parents[1]
FIGURES = ROOT / "docs" / "_static" / "answers.json"  # all figures of the last run of each row
PAGES = {
    "docs/answers.md": ("<!-- table: made by benchmarks/answers.py -->\n", "<!-- end of table -->"),
}
Results = dict[str, dict[str, dict[str, Any]]]  # set, row, figure

PEERS: dict[str, Callable[[], Any]] = {
    "nearest mean": NearestCentroid,
    "ridge": RidgeClassifier,
    "linear SVM": LinearSVC,
    "RBF SVM": lambda: make_pipeline(StandardScaler(), SVC()),
    "LDA, shrinkage": lambda: LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
}
OURS: dict[str, Callable[[], Any]] = {
    "bank of CSDA": lambda: ClassSpecificClassifier(CSDA()),
    "bank of MCSDA": lambda: ClassSpecificClassifier(MCSDA()),
    "ProbabilisticLDA": ProbabilisticLDA,
}


@cache
def whole(folder: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    """All samples of a set, as floats, and their labels."""
    if name == "orl":
        faces = load_orl(folder / "orl")
        return np.asarray(faces.X, dtype=float), np.asarray(faces.y)
    if name == "digits":
        digits = load_digits()
        return digits.images / 16, digits.target
    file = {"pie": "pie/pie_5pose_32x32.npz", "coil": "small/coil20.npz"}.get(name, name)
    with np.load(folder / file) as arrays:
        X, y = arrays["X"], arrays["y"]
    return X / 255 if X.max() > 1 else X.astype(float), y


def split(folder: Path, name: str, seed: int) -> tuple[np.ndarray, ...]:
    """Training samples and labels, test samples and labels."""
    if name.startswith("gait"):
        probe = f"gait/Prb{name.removeprefix('gait')}.npz"
        return (*whole(folder, "gait/Gal.npz"), *whole(folder, probe))
    base = name.rstrip("0123456789")
    X, y = whole(folder, base)
    rng = np.random.default_rng(seed)
    each = int(name.removeprefix(base))
    train = np.sort(
        np.concatenate([rng.permutation(np.flatnonzero(y == c))[:each] for c in np.unique(y)])
    )
    test = np.setdiff1d(np.arange(len(y)), train)
    return X[train], y[train], X[test], y[test]


def scores_of(model: Any, X: np.ndarray) -> np.ndarray:
    """One column per class: log posteriors where there are some, which rank best, else scores."""
    if isinstance(model, NearestCentroid):
        distances = ((X[:, None] - model.centroids_) ** 2).sum(-1) if X.size < 1e7 else None
        if distances is None:
            squares = (X**2).sum(1)[:, None] + (model.centroids_**2).sum(1)
            distances = squares - 2 * X @ model.centroids_.T
        return -distances
    if isinstance(model, LinearDiscriminantAnalysis | ProbabilisticLDA):
        return model.predict_log_proba(X)
    return model.decision_function(X)


def mean_ap(scores: np.ndarray, y: np.ndarray, classes: np.ndarray) -> float:
    return float(
        np.mean(
            [average_precision_score(y == c, scores[:, k]) for k, c in enumerate(classes) if c in y]
        )
    )


def calibration_error(probabilities: np.ndarray, right: np.ndarray) -> float:
    sure = probabilities.max(axis=1)
    bins = np.minimum((sure * 10).astype(int), 9)
    gaps = [abs(sure[bins == b].mean() - right[bins == b].mean()) for b in np.unique(bins)]
    return float(np.average(gaps, weights=np.bincount(bins)[np.unique(bins)]))


def judged(make: Callable[[], Any], flat: bool, parts: tuple[np.ndarray, ...]) -> dict[str, float]:
    X, y, new, truth = parts
    if flat:
        X, new = X.reshape(len(X), -1), new.reshape(len(new), -1)
    start = time.perf_counter()
    model = make().fit(X, y)
    seconds = time.perf_counter() - start
    right = model.predict(new) == truth
    figures = {"accuracy": 100 * right.mean(), "seconds": seconds}
    figures["mAP"] = 100 * mean_ap(scores_of(model, new), truth, model.classes_)
    if isinstance(model, ProbabilisticLDA):
        ratios = model.log_likelihood_ratio(new)
        figures["mAP, log_likelihood_ratio"] = 100 * mean_ap(ratios, truth, model.classes_)
        figures["calibration"] = calibration_error(model.predict_proba(new), right)
    return figures


def made_by(row: str) -> str:
    """Which version, and of tenfold which commit, computes the figures of a row now."""
    if row in PEERS:
        return f"scikit-learn {version('scikit-learn')}"
    asked = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--exclude=*"]
    commit = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    return f"tenfold {version('tenfold')} at commit {commit}"


def title(name: str) -> str:
    base = name.rstrip("0123456789").rstrip("ABCDEFG")
    return TITLES[base].format(name.removeprefix(base))


def table(results: Results) -> str:
    """Accuracy / mAP of every row on every set, as Markdown."""
    rows = list(dict.fromkeys(row for by_row in results.values() for row in by_row))
    lines = ["| set | " + " | ".join(rows) + " |", "|---|" + "--:|" * len(rows)]
    for name, by_row in results.items():
        best = [max(f[key] for f in by_row.values()) for key in ("accuracy", "mAP")]
        cells = []
        for row in rows:
            if row not in by_row:
                cells.append("–")
                continue
            figures = [by_row[row]["accuracy"], by_row[row]["mAP"]]
            shown = [
                f"**{v:.1f}**" if v == b else f"{v:.1f}" for v, b in zip(figures, best, strict=True)
            ]
            seconds = by_row[row]["seconds"]
            spent = f"{seconds:.0f}" if seconds >= 10 else f"{seconds:.2g}"
            cells.append(f"{shown[0]} / {shown[1]}, {spent} s")
        lines.append(f"| {title(name)} | " + " | ".join(cells) + " |")
    extra = [
        f"{title(name)}: calibration error {f['calibration']:.3f}, mAP of "
        f"`log_likelihood_ratio` {f['mAP, log_likelihood_ratio']:.1f}"
        for name, by_row in results.items()
        if (f := by_row.get("ProbabilisticLDA"))
    ]
    by = sorted({f["made_by"] for by_row in results.values() for f in by_row.values()})
    lines += ["", f"Made by {' and '.join(by)}.", "", "ProbabilisticLDA:", ""]
    return "\n".join(lines + [f"- {line}" for line in extra])


def pages(results: Results) -> dict[str, str]:
    """What stands between the marks of each page."""
    return {"docs/answers.md": f"\n{table(results)}\n\n"}


def put_into_pages(results: Results) -> None:
    for page, text in pages(results).items():
        begin, end = PAGES[page]
        before, found, rest = (ROOT / page).read_text(encoding="utf-8").partition(begin)
        _, ended, after = rest.partition(end)
        if not (found and ended):
            raise SystemExit(f"{page} has no lines {begin.strip()} and {end}")
        (ROOT / page).write_text(before + begin + text + end + after, encoding="utf-8")


def rounds(folder: Path, names: list[str]) -> None:
    """Rounds and seconds of every alternating method: 20 rounds, as before, and the default."""
    print("| set, method | 20 rounds | at defaults |\n|---|--:|--:|")
    for name in names:
        X, y, _, _ = split(folder, name, 0)
        for method in (MCSDA, CMDA, DATER, GTDA, HODA, MPCA):
            cells = []
            for settings in ({"max_iter": 20, "tol": 0.0}, {}):
                own = {"positive": y[0]} if method is MCSDA else {}
                start = time.perf_counter()
                with threadpool_limits(1):
                    model = method(**settings, **own).fit(X, y)
                seconds = time.perf_counter() - start
                cells.append(f"{model.n_iter_} rounds, {seconds:.2g} s")
            print(f"| {title(name)}, {method.__name__} | " + " | ".join(cells) + " |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="How good the answers are, at defaults.")
    parser.add_argument("data", type=Path)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--only", choices=("tenfold", "scikit-learn"))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--json", type=Path, default=FIGURES, help="where all figures are kept")
    parser.add_argument("--write", action="store_true", help="put the tables into the pages")
    parser.add_argument("--rounds", action="store_true", help="rounds and time of every method")
    asked = parser.parse_args()
    if asked.rounds:
        rounds(asked.data, asked.sets.split(","))
        return
    contestants = {**({} if asked.only == "tenfold" else PEERS)}
    contestants |= {} if asked.only == "scikit-learn" else OURS
    results: Results = {}
    if asked.json.exists():  # rows that are not measured now stay as they are
        results = json.loads(asked.json.read_text(encoding="utf-8"))
    makers = {row: made_by(row) for row in contestants}  # before what is written changes the tree
    for name in asked.sets.split(","):
        results.setdefault(name, {})
        for row, make in contestants.items():
            seeds = range(1 if name.startswith("gait") else asked.seeds)
            with threadpool_limits(1), warnings.catch_warnings():
                if row in PEERS:
                    warnings.simplefilter("ignore")
                else:
                    warnings.simplefilter("error")
                runs = [judged(make, row in PEERS, split(asked.data, name, s)) for s in seeds]
            mean = {key: float(np.mean([run[key] for run in runs])) for key in runs[0]}
            print(f"{name:9s} {row:17s}", *(f"{k} {v:.3g}" for k, v in mean.items()), flush=True)
            results[name][row] = mean | {"made_by": makers[row]}
            asked.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    print("\n" + table(results))
    if asked.write:
        put_into_pages(results)


if __name__ == "__main__":
    main()
