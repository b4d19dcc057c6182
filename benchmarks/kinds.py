"""The table by kind of data: `ProbabilisticLDA` at its defaults next to the strongest peers.

    python benchmarks/kinds.py ../shared/data                     # all sets, 10 minutes
    python benchmarks/kinds.py ../shared/data --sets uwave,meat
    python benchmarks/kinds.py ../shared/data --write             # and put the table into the pages

Every row gets the same splits, and nothing is chosen on test samples. The pages show the two peers
with the best test figures of each set, which favours the peers. Rows of pyRiemann and aeon need
these packages: `make kinds` has them.

accuracy     share of test samples that are classified correctly, in percent
AUC          area under the ROC curve, in percent; each run of a recording predicts the other run
named at 5 % share of known people who are named correctly, in percent, at the threshold at which
             5 % of the images of strangers get a name; half of the people are strangers
"""

from __future__ import annotations

import argparse
import json
import subprocess
import time
import warnings
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import summary
from answers import split as image_split
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier, RidgeClassifierCV
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler, normalize
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from tenfold import ProbabilisticLDA
from tenfold.metrics import detection_identification_rate

ROOT = Path(__file__).parents[1]
FIGURES = ROOT / "docs" / "_static" / "kinds.json"
PAGES = ("README.md", "docs/index.md", "docs/which_method.md")
MARKS = "<!-- kinds: made by benchmarks/kinds.py -->\n", "<!-- /kinds -->"
WHY = "<!-- why: made by benchmarks/kinds.py -->\n", "<!-- /why -->"
Parts = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
Results = dict[str, dict[str, dict[str, Any]]]  # set, row, figure

KINDS = {  # set: kind, what the table says of it, what is measured
    "orl5": ("images", "ORL faces, 5 per person", "accuracy"),
    "pie5": ("images", "CMU PIE faces in hard light, 5 per person", "accuracy"),
    "usps": ("images", "USPS digits, 20 per digit", "accuracy"),
    "speller": ("recordings", "P300 speller, 3 subjects", "AUC"),
    "uwave": ("gestures", "UWave, 10 per gesture", "accuracy"),
    "racketsports": ("gestures", "RacketSports", "accuracy"),
    "olive_oil": ("spectra", "olive oil by country, 30 spectra", "accuracy"),
    "meat": ("spectra", "meat, 40 spectra", "accuracy"),
    "breast_cancer": ("tables", "breast cancer, 30 columns", "accuracy"),
    "wine": ("tables", "wine, 13 columns", "accuracy"),
    "orl_strangers": ("strangers", "ORL, 20 people known", "named at 5 %"),
    "pie_strangers": ("strangers", "CMU PIE, 34 people known", "named at 5 %"),
}
OURS = "ProbabilisticLDA()"
WITH_ROCKET = 'ProbabilisticLDA(views=["auto", MiniRocket()])'


# ── Data ────────────────────────────────────────────────────────────────────────────────────────


def stored(folder: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    with np.load(folder / "more" / f"{name}.npz") as found:
        return found["X"].astype(np.float64), found["y"]


def drawn(X: np.ndarray, y: np.ndarray, train_size: float, times: int) -> Iterator[Parts]:
    """Random stratified splits."""
    for train, test in StratifiedShuffleSplit(times, train_size=train_size, random_state=0).split(
        X, y
    ):
        yield X[train], y[train], X[test], y[test]


def each_class(X: np.ndarray, y: np.ndarray, n: int) -> Iterator[Parts]:
    """Three random splits with n training samples of each class."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        train = np.concatenate([rng.permutation(np.flatnonzero(y == c))[:n] for c in np.unique(y)])
        test = np.setdiff1d(np.arange(len(y)), train)
        yield X[train], y[train], X[test], y[test]


def speller(folder: Path) -> Iterator[Parts]:
    """Each run of each subject predicts the other one."""
    with np.load(folder / "eeg" / "bnci2015_003_s6_8.npz") as found:
        X, y = found["X"] * float(found["scale"]), found["y"]
        subject, run = found["subject"], found["run"]
    for who in np.unique(subject):
        for first in (0, 1):
            train, test = (subject == who) & (run == first), (subject == who) & (run != first)
            yield X[train], y[train], X[test], y[test]


def resampled(folder: Path, name: str) -> Iterator[Parts]:
    """The published split and the first two resamples."""
    with np.load(folder / "uea" / f"{name}.npz") as found:
        X, y, test = found["X"].astype(np.float64), found["y"], found["test"].astype(bool)
    with np.load(folder / "uea" / "resamples.npz") as found:
        resamples = found[f"{name}_train"]
    for train in (np.flatnonzero(~test), *resamples[:2]):
        rest = np.setdiff1d(np.arange(len(y)), train)
        yield X[train], y[train], X[rest], y[rest]


def with_strangers(folder: Path, name: str) -> Iterator[Parts]:
    """Five images of each known person; all other images, and those of the other half."""
    for seed in range(3):
        X, y, new, truth = image_split(folder, f"{name}5", seed)
        people = np.random.default_rng(seed).permutation(np.unique(y))
        known = people[: len(people) // 2]
        kept = np.isin(y, known)
        yield X[kept], y[kept], new, truth


def splits(folder: Path, name: str) -> Iterator[Parts]:
    """Training samples, their labels, test samples, their labels."""
    if name in ("orl5", "pie5"):
        yield from (image_split(folder, name, seed) for seed in range(3))
    elif name == "speller":
        yield from speller(folder)
    elif name == "racketsports":
        yield from resampled(folder, name)
    elif name.endswith("_strangers"):
        yield from with_strangers(folder, name.removesuffix("_strangers"))
    elif name in ("uwave", "usps"):
        yield from each_class(*stored(folder, name), n={"uwave": 10, "usps": 20}[name])
    elif name in ("olive_oil", "meat"):
        yield from drawn(*stored(folder, name), {"olive_oil": 0.5, "meat": 1 / 3}[name], times=10)
    else:
        table = {"wine": load_wine, "breast_cancer": load_breast_cancer}[name]()
        yield from drawn(table.data, table.target, 0.5, times=5)


# ── Rows ────────────────────────────────────────────────────────────────────────────────────────


def flat(model: Any) -> Any:
    """A model of scikit-learn that sees samples as vectors."""
    return make_pipeline(FunctionTransformer(lambda X: X.reshape(len(X), -1)), model)


def standardised(model: Any) -> Any:
    return flat(make_pipeline(StandardScaler(), model))


def minirocket() -> Any:
    from aeon.transformations.collection.convolution_based import MiniRocket

    return MiniRocket(random_state=0)


def minirocket_ridge() -> Any:
    """The classifier that the authors of MiniRocket use."""
    ridge = RidgeClassifierCV(alphas=np.logspace(-3, 3, 10))
    return make_pipeline(minirocket(), StandardScaler(with_mean=False), ridge)


def of_covariances(kind: str, last: Any) -> Any:
    """Covariances of pyRiemann in their tangent space, or distances to their means."""
    from pyriemann.estimation import Covariances, ERPCovariances, XdawnCovariances
    from pyriemann.tangentspace import TangentSpace

    made = {"Xdawn": XdawnCovariances, "ERP": ERPCovariances, "": Covariances}[kind]
    first = made(estimator="lwf")
    return make_pipeline(first, TangentSpace(), last) if last else make_pipeline(first, mdm())


def mdm() -> Any:
    from pyriemann.classification import MDM

    return MDM()


def gradients(X: np.ndarray) -> np.ndarray:
    """Histograms of oriented gradients of scikit-image, in cells of 4 x 4 pixels."""
    from skimage.feature import hog

    settings = {"orientations": 8, "pixels_per_cell": (4, 4), "cells_per_block": (2, 2)}
    return np.stack([hog(image, **settings) for image in X])


HOG = FunctionTransformer(gradients)
LOGISTIC = LogisticRegression(max_iter=2000)
GENERAL: dict[str, Callable[[], Any]] = {
    "nearest neighbour": lambda: flat(KNeighborsClassifier(1)),
    "LDA with shrinkage": lambda: flat(LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")),
    "ridge": lambda: flat(RidgeClassifier()),
    "logistic regression": lambda: standardised(LOGISTIC),
    "linear SVM": lambda: flat(SVC(kernel="linear")),
    "RBF SVM": lambda: standardised(SVC()),
}
FURTHER: dict[str, dict[str, Callable[[], Any]]] = {
    "images": {
        "HOG, linear SVM": lambda: make_pipeline(HOG, SVC(kernel="linear")),
        "HOG, LDA with shrinkage": lambda: make_pipeline(HOG, GENERAL["LDA with shrinkage"]()),
    },
    "recordings": {
        "pyRiemann, Xdawn, tangent space": lambda: of_covariances("Xdawn", LOGISTIC),
        "pyRiemann, Xdawn, MDM": lambda: of_covariances("Xdawn", None),
        "pyRiemann, ERP, tangent space": lambda: of_covariances("ERP", LOGISTIC),
    },
    "gestures": {
        "MiniRocket with ridge": minirocket_ridge,
        "pyRiemann, tangent space": lambda: of_covariances("", LOGISTIC),
        WITH_ROCKET: lambda: ProbabilisticLDA(views=["auto", minirocket()]),
    },
    "tables": {
        "random forest": lambda: RandomForestClassifier(random_state=0),
        "gradient boosting": lambda: HistGradientBoostingClassifier(random_state=0),
    },
}


class NearestCosine(ClassifierMixin, BaseEstimator):
    """The largest cosine with a training sample of each class, about the mean of all."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> NearestCosine:
        self.mean_ = X.reshape(len(X), -1).mean(axis=0)
        self.samples_, self.y_, self.classes_ = self._unit(X), y, np.unique(y)
        return self

    def _unit(self, X: np.ndarray) -> np.ndarray:
        return normalize(X.reshape(len(X), -1) - self.mean_)

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        cosines = self._unit(X) @ self.samples_.T
        return np.stack([cosines[:, self.y_ == c].max(axis=1) for c in self.classes_], axis=1)


class NearestSample(NearestCosine):
    """Minus the distance to the nearest training sample of each class."""

    def _unit(self, X: np.ndarray) -> np.ndarray:
        return X.reshape(len(X), -1)

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        new = self._unit(X)
        squares = (new**2).sum(1)[:, None] + (self.samples_**2).sum(1)
        squares = squares - 2 * new @ self.samples_.T
        return -np.stack([squares[:, self.y_ == c].min(axis=1) for c in self.classes_], axis=1)


STRANGERS: dict[str, Callable[[], Any]] = {
    "nearest sample": NearestSample,
    "cosine": NearestCosine,
    "HOG, cosine": lambda: make_pipeline(HOG, NearestCosine()),
    "LDA with shrinkage": GENERAL["LDA with shrinkage"],
    "linear SVM, one against all": lambda: flat(OneVsRestClassifier(SVC(kernel="linear"))),
}


def rows_of(kind: str) -> dict[str, Callable[[], Any]]:
    peers = STRANGERS if kind == "strangers" else GENERAL | FURTHER.get(kind, {})
    return {OURS: ProbabilisticLDA, **peers}


# ── Measuring ───────────────────────────────────────────────────────────────────────────────────


def judged(model: Any, parts: Parts, measure: str) -> float:
    """One figure in percent."""
    X, y, new, truth = parts
    model.fit(X, y)
    if measure == "accuracy":
        return 100 * float(np.mean(model.predict(new) == truth))
    if measure == "AUC":
        scores = (
            model.predict_proba(new)[:, 1]
            if hasattr(model, "predict_proba")
            else model.decision_function(new)
        )
        return 100 * float(roc_auc_score(truth, scores))
    scores = (
        model.log_likelihood_ratio(new)
        if isinstance(model, ProbabilisticLDA)
        else model.decision_function(new)
    )
    return 100 * detection_identification_rate(
        truth, scores, model.classes_, false_accept_rate=0.05
    )


def commit() -> str:
    asked = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--exclude=*"]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()


def versions() -> str:
    names = ("scikit-learn", "scikit-image", "pyriemann", "aeon")
    return ", ".join(f"{name} {version(name)}" for name in names)


# ── The table ───────────────────────────────────────────────────────────────────────────────────


def table(results: Results) -> str:
    """One line for each set: ours, and the two best others, as Markdown."""
    lines = [f"| data | measure | `{OURS}` | strongest peer | next |", "|---|---|--:|---|---|"]
    told = ""
    for name, (kind, title, measure) in KINDS.items():
        if name not in results:
            continue
        means = {row: one["mean"] for row, one in results[name].items()}
        ours = means.pop(OURS)
        helped = means.pop(WITH_ROCKET, None)
        first, second = sorted(means, key=means.__getitem__, reverse=True)[:2]
        best = f"{max(ours, helped or 0, means[first]):.1f}"

        def shown(value: float, best: str = best) -> str:
            text = f"{value:.1f}"
            return f"**{text}**" if text == best else text

        own = shown(ours) + (f" (MiniRocket as a view: {shown(helped)})" if helped else "")
        label = f"**{kind}**: {title}" if kind != told else title
        told = kind
        peers = f"{first} {shown(means[first])}", f"{second} {means[second]:.1f}"
        lines.append("| " + " | ".join([label, measure, own, *peers]) + " |")
    return "\n".join(lines) + "\n"


def why(results: Results) -> str:
    """What README says about three libraries, with a measured figure each."""
    faces = {row: one["mean"] for row, one in results["pie5"].items()}
    ours = faces.pop(OURS)
    best = max(faces, key=faces.__getitem__)
    waves = {row: one["mean"] for row, one in results["speller"].items()}
    theirs = max(value for row, value in waves.items() if row.startswith("pyRiemann"))
    jobs = json.loads(summary.RESULTS.read_text(encoding="utf-8"))["jobs"]
    seconds = {
        row["contestant"]: summary.seconds(float(np.median(row["wall"])))
        for row in jobs
        if (row["job"], row["threads"]) == ("mpca-5000", 1)
    }
    pages = "https://github.com/tenfold-ml/tenfold/blob/main/docs"
    return f"""\
- **scikit-learn**: tenfold is accurate with few samples per class. CMU PIE faces, 5 images per
  person: accuracy {ours:.1f} %; the best of {len(faces)} pipelines of scikit-learn, with and
  without HOG features, has {faces[best]:.1f} ({best}; [by kind of data]({pages}/which_method.md)).
- **pyRiemann**: on evoked potentials the two are level (P300 speller, AUC: {waves[OURS]:.1f} %,
  pyRiemann {theirs:.1f}). tenfold also takes images, spectra, tables and embeddings, rejects
  strangers, and uses pyRiemann's features as a view ([recipes]({pages}/user_guide/recipes.md)).
- **TensorLy**: tenfold classifies; TensorLy decomposes. What both can do, `MPCA`, takes
  {seconds["tenfold"]} for 5000 samples of 40×30 with one thread, TensorLy's `partial_tucker`
  {seconds["TensorLy"]} ([benchmarks]({pages}/benchmarks.md)).
"""


def pages(results: Results) -> list[tuple[str, tuple[str, str], str]]:
    """Page, marks, and what stands between them."""
    tables = [(page, MARKS, table(results)) for page in PAGES]
    return [("README.md", WHY, why(results)), *tables]


def put_into_pages(results: Results) -> None:
    for page, (begin, end), text in pages(results):
        before, found, rest = (ROOT / page).read_text(encoding="utf-8").partition(begin)
        _, ended, after = rest.partition(end)
        if not (found and ended):
            raise SystemExit(f"{page} has no lines {begin.strip()} and {end}")
        (ROOT / page).write_text(before + begin + text + end + after, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--sets", default=",".join(KINDS))
    parser.add_argument("--only", help="rows that start with this; others stay as they were")
    parser.add_argument("--json", type=Path, default=FIGURES)
    parser.add_argument("--write", action="store_true", help="put the table into the pages")
    asked = parser.parse_args()
    results: Results = {}
    if asked.json.exists():
        results = json.loads(asked.json.read_text(encoding="utf-8"))
    ours, others = f"tenfold {version('tenfold')} at commit {commit()}", versions()
    for name in filter(None, asked.sets.split(",")):
        kind, _, measure = KINDS[name]
        for row, make in rows_of(kind).items():
            is_ours = row in (OURS, WITH_ROCKET)
            if asked.only and not row.startswith(asked.only):
                continue
            start = time.process_time()
            with threadpool_limits(1), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                figures = [judged(make(), parts, measure) for parts in splits(asked.data, name)]
            mean, spread = float(np.mean(figures)), float(np.std(figures))
            seconds = time.process_time() - start
            print(f"{name:14s} {row:48s} {mean:.2f} +- {spread:.2f} {seconds:.1f} s", flush=True)
            results.setdefault(name, {})[row] = {
                "mean": mean,
                "splits": figures,
                "made_by": ours if is_ours else others,
            }
            asked.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    print(table(results))
    if asked.write:
        put_into_pages(results)


if __name__ == "__main__":
    main()
