"""Faces with gaps: what completing them is worth beside imputing means.

    python benchmarks/gaps.py [DATA] [--seeds 3] [--train 3] [--shape 40 30] [--iterative]

The ORL faces, so many images per person for training, the others for testing. 10, 30 or 50 % of the
pixels are missing at random, or a rectangle of 40 % of the height and of the width somewhere, in
training and test images alike. Printed is the mean average precision of banks and of
`ProbabilisticLDA`, in percent, over all seeds: of whole images, with `GaussianImputer`, with
scikit-learn's SimpleImputer (means) and, if asked for, with its IterativeImputer, which takes hours
for images of 40 x 30 and minutes for 20 x 15. How gaps are completed is learned once per set of
images and shared by the models, which is what a pipeline of each would learn.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from paper_sets import load_orl
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_iterative_imputer  # noqa: F401 - it must come first
from sklearn.impute import IterativeImputer, SimpleImputer

from tenfold import (
    CSDA,
    MCSDA,
    ClassSpecificClassifier,
    GaussianImputer,
    ProbabilisticLDA,
)
from tenfold.metrics import mean_average_precision

Array = npt.NDArray[Any]
KINDS = (0.1, 0.3, 0.5, "rectangle")
MODELS = {
    "bank of CSDA": ClassSpecificClassifier(CSDA()),
    "bank of MCSDA": ClassSpecificClassifier(MCSDA()),
    "ProbabilisticLDA": ProbabilisticLDA(),
}


def with_gaps(X: Array, kind: Any, rng: np.random.Generator) -> Array:
    """A copy with NaN where pixels are missing."""
    X = X.copy()
    if kind != "rectangle":
        X[rng.random(X.shape) < kind] = np.nan
        return X
    height, width = (round(0.4 * size) for size in X.shape[1:])
    for x in X:
        top = rng.integers(len(x) - height + 1)
        left = rng.integers(len(x[0]) - width + 1)
        x[top : top + height, left : left + width] = np.nan
    return X


def training_rows(y: Array, each: int, rng: np.random.Generator) -> Array:
    """Which samples train: so many of every class, at random."""
    train = np.zeros(len(y), dtype=bool)
    for label in np.unique(y):
        train[rng.permutation(np.flatnonzero(y == label))[:each]] = True
    return train


def filled(X: Array, train: Array, iterative: bool) -> Iterator[tuple[str, Array, float]]:
    """Names, samples without gaps, and the seconds it took, of every way to fill gaps."""
    start = time.perf_counter()
    found = GaussianImputer().fit(X[train]).transform(X)
    yield "complete", found, time.perf_counter() - start
    flat = X.reshape(len(X), -1)
    others = {"mean": SimpleImputer()}
    if iterative:
        others["iterative"] = IterativeImputer(random_state=0)
    for name, imputer in others.items():
        start = time.perf_counter()
        found = imputer.fit(flat[train]).transform(flat).reshape(X.shape)
        yield name, found, time.perf_counter() - start


def precisions(X: Array, y: Array, train: Array) -> dict[str, float]:
    """Mean average precision of every model, in percent."""
    return {
        name: 100 * mean_average_precision(model.fit(X[train], y[train]), X[~train], y[~train])
        for name, model in MODELS.items()
    }


def main() -> None:
    """Print one line per kind of gaps, model and way to fill."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("data", nargs="?", help="the folder that holds orl (default: TENFOLD_DATA)")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--train", type=int, default=3, help="training images per person")
    parser.add_argument("--shape", type=int, nargs=2, default=(40, 30))
    parser.add_argument("--iterative", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    faces = load_orl(options.data, shape=tuple(options.shape))
    for kind in KINDS:
        found: dict[tuple[str, str], list[float]] = {}
        errors: dict[str, list[float]] = {}
        seconds: dict[str, list[float]] = {}
        for seed in range(options.seeds):
            rng = np.random.default_rng(seed)
            train = training_rows(faces.y, options.train, rng)
            X = with_gaps(faces.X, kind, rng)
            gaps = np.isnan(X) & ~train[:, None, None]
            ways = [("whole", faces.X, 0.0), *filled(X, train, options.iterative)]
            for way, Y, took in ways:
                errors.setdefault(way, []).append(float(np.mean((Y - faces.X)[gaps] ** 2) ** 0.5))
                seconds.setdefault(way, []).append(took)
                for model, value in precisions(Y, faces.y, train).items():
                    found.setdefault((model, way), []).append(value)
        print(f"gaps {kind}: error of pixels and seconds")
        for way in errors:
            print(f"  {way:12} {np.mean(errors[way]):.4f} {np.mean(seconds[way]):8.1f} s")
        for (model, way), values in found.items():
            shown = " ".join(f"{value:6.2f}" for value in values)
            print(f"  {model:18} {way:12} mean {np.mean(values):6.2f}   seeds {shown}", flush=True)


if __name__ == "__main__":
    main()
