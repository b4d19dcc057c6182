"""Kernel CSDA beside the support vector machine, both with an RBF kernel.

    python benchmarks/kernels.py ../shared/data                       # chosen parameters
    python benchmarks/kernels.py ../shared/data --nystroem pie30      # exact beside Nyström

Splits, sets and mAP are those of `answers.py`. Parameters are chosen on the training samples alone,
by the mAP of three stratified folds: the factor of the kernel for both, C for the machine. The
scores of scikit-learn's machine for several classes are votes of pairs; one machine per class
against the rest ranks samples better, so both stand beside the bank.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from answers import mean_ap, split, title
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from tenfold import ClassSpecificClassifier, KernelCSDA

SETS = ("orl5", "coil5", "pie5", "pie10")
FACTORS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)  # of one over the mean squared distance from the mean
COSTS = (1.0, 10.0, 100.0, 1000.0)


def flat(parts: tuple[np.ndarray, ...]) -> list[np.ndarray]:
    return [a.reshape(len(a), -1) if a.ndim > 1 else a for a in parts]


def scale_of(X: np.ndarray) -> float:
    return 1 / float(((X - X.mean(axis=0)) ** 2).sum(axis=1).mean())


def by_map(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    return mean_ap(model.decision_function(X), y, model.classes_)


def judged(search: Any, parts: list[np.ndarray]) -> dict[str, Any]:
    X, y, new, truth = parts
    start = time.perf_counter()
    search.fit(X, y)
    spent = time.perf_counter() - start
    return {
        "mAP": 100 * by_map(search, new, truth),
        "accuracy": 100 * float(np.mean(search.predict(new) == truth)),
        "search": spent,
        "fit": search.refit_time_,
        "chosen": search.best_params_,
    }


def chosen(folder: Path, names: list[str], seeds: int, only: str | None) -> None:
    """Both at their chosen parameters."""
    for name in names:
        rows: dict[str, list[dict[str, Any]]] = {}
        for seed in range(seeds):
            parts = flat(split(folder, name, seed))
            gammas = [factor * scale_of(parts[0]) for factor in FACTORS]
            folds = StratifiedKFold(3, shuffle=True, random_state=seed)
            searches = {
                "RBF SVM": GridSearchCV(
                    SVC(), {"C": COSTS, "gamma": gammas}, scoring=by_map, cv=folds
                ),
                "RBF SVM, one against the rest": GridSearchCV(
                    OneVsRestClassifier(SVC()),
                    {"estimator__C": COSTS, "estimator__gamma": gammas},
                    scoring=by_map,
                    cv=folds,
                ),
                "bank of KernelCSDA": GridSearchCV(
                    ClassSpecificClassifier(KernelCSDA()),
                    {"projector__gamma": gammas},
                    scoring=by_map,
                    cv=folds,
                ),
            }
            for row, search in searches.items():
                if only and only not in row:
                    continue
                rows.setdefault(row, []).append(judged(search, parts))
                print(name, seed, row, rows[row][-1], flush=True)
        for row, runs in rows.items():
            mean = {k: np.mean([run[k] for run in runs]) for k in ("mAP", "accuracy", "fit")}
            print(
                f"{title(name)} | {row} |", *(f"{k} {v:.2f}" for k, v in mean.items()), flush=True
            )


def nystroem(folder: Path, name: str, landmarks: list[int | None]) -> None:
    """The bank with all samples as landmarks and with some of them, on one split.

    The factor of the kernel is chosen with the first number of landmarks, and then kept.
    """
    parts = flat(split(folder, name, 0))
    X, y, new, truth = parts
    search = GridSearchCV(
        ClassSpecificClassifier(KernelCSDA(n_landmarks=landmarks[0])),
        {"projector__gamma": [factor * scale_of(X) for factor in FACTORS]},
        scoring=by_map,
        cv=StratifiedKFold(3, shuffle=True, random_state=0),
        refit=False,
    ).fit(X, y)
    gamma = search.best_params_["projector__gamma"]
    print(f"gamma {gamma:.4g}, {gamma / scale_of(X):.3g} times the scale", flush=True)
    for n in landmarks:
        kernel = KernelCSDA(gamma=gamma, n_landmarks=n)
        start = time.perf_counter()
        bank = ClassSpecificClassifier(kernel).fit(X, y)
        spent = time.perf_counter() - start
        found = f"mAP {100 * by_map(bank, new, truth):.2f}, fit {spent:.1f} s"
        print(f"{title(name)}, N = {len(X)}, {n or 'all'} landmarks: {found}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Kernel CSDA beside the RBF SVM.")
    parser.add_argument("data", type=Path)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", help="rows with this in their name")
    parser.add_argument("--nystroem", metavar="SET", help="exact beside Nyström on this set")
    parser.add_argument("--landmarks", default="300,250,200,0", help="0 for all")
    asked = parser.parse_args()
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("error")
        if asked.nystroem:
            landmarks = [int(n) or None for n in asked.landmarks.split(",")]
            nystroem(asked.data, asked.nystroem, landmarks)
        else:
            chosen(asked.data, asked.sets.split(","), asked.seeds, asked.only)


if __name__ == "__main__":
    main()
