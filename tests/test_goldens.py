"""What users saw before the house was rebuilt: answers through the public API, frozen in a file.

`python tests/test_goldens.py` writes `goldens.json` anew; do that only when an answer is meant to
move, and say by how much. Signs of directions are free, so transforms are compared by the inner
products of the features. Class-specific models are frozen without shrinkage; how shrinkage and
ridge go together may still move.
"""

import json
import os
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.pipeline import make_pipeline

import tenfold
from tenfold import (
    CMDA,
    CSDA,
    DATER,
    DGTDA,
    GTDA,
    HODA,
    MCSDA,
    MPCA,
    ClassSpecificClassifier,
    ClassSpecificVerifier,
    KernelCSDA,
    ModeScaler,
    RankSearchCV,
)
from tenfold.metrics import mean_average_precision

FILE = Path(__file__).with_name("goldens.json")
# Twenty forced rounds: an answer does not hang on the round in which a stopping rule fires.
ROUNDS = {"max_iter": 20, "tol": 0.0}
PAPER = {"ridge": ("absolute", 0.01), "shrinkage": 0.0, "orthonormal": True}
PAPER["decision"] = "distance"
PROJECTORS = {
    "CMDA": lambda: CMDA(ranks=(4, 4), **ROUNDS),
    "DATER": lambda: DATER(ranks=(4, 4), **ROUNDS),
    "DGTDA": lambda: DGTDA(ranks=(4, 4)),
    "GTDA": lambda: GTDA(ranks=(4, 4), **ROUNDS),
    "HODA": lambda: HODA(ranks=(4, 4), ridge=2.0, **ROUNDS),
    "MPCA": lambda: MPCA(ranks=(4, 4), **ROUNDS),
    "MCSDA": lambda: MCSDA(ranks=(4, 4), positive=3, **PAPER, **ROUNDS),
    "CSDA": lambda: CSDA(ranks=9, positive=3, **PAPER),
    "KernelCSDA": lambda: KernelCSDA(ranks=9, positive=3, shrinkage=0.0),
    "scaled DATER": lambda: make_pipeline(ModeScaler(), DATER(ranks=(4, 4), **ROUNDS)),
}


def features(model, X, y, X_test):
    """Inner products of the features of some test samples, whose units are those of the largest."""
    Z = model.fit(X, y).transform(X_test[:12])
    gram = Z @ Z.T
    return (gram / np.abs(gram).max()).ravel()


def bank(projector, X, y, X_test, y_test):
    """Share of right answers and mean average precision, in percent."""
    model = ClassSpecificClassifier(projector).fit(X, y)
    right = 100 * np.mean(model.predict(X_test) == y_test)
    return [right, 100 * mean_average_precision(model, X_test, y_test)]


def on_digits():
    """Answers on the digits of scikit-learn, by name."""
    digits = load_digits()
    X, y = digits.images / 16, digits.target
    train = np.arange(len(y)) % 3 > 0
    X, X_test, y, y_test = X[train], X[~train], y[train], y[~train]
    found = {name: features(make(), X, y, X_test) for name, make in PROJECTORS.items()}
    found["bank of MCSDA"] = bank(MCSDA(ranks=(4, 4), **PAPER, **ROUNDS), X, y, X_test, y_test)
    found["bank of CSDA"] = bank(CSDA(ranks=9, **PAPER), X, y, X_test, y_test)
    mcsda = MCSDA(ranks=(4, 4), positive=3, **PAPER, **ROUNDS).fit(X, y)
    scores = mcsda.decision_function(X_test[:50])
    found["scores of MCSDA"] = scores / np.abs(scores).max()
    ranks = [(2, 2), (3, 3), (4, 4)]
    search = RankSearchCV(MCSDA(positive=3, **PAPER, **ROUNDS), ranks=ranks, cv=3).fit(X, y)
    found["search of MCSDA"] = np.asarray(search.cv_results_["mean_test_score"])
    verifier = ClassSpecificVerifier(MCSDA(ranks=(4, 4), positive=3, **PAPER, **ROUNDS))
    accepted = verifier.fit(X, y).predict(X_test)
    found["verifier"] = [100 * np.mean(accepted == (y_test == 3))]
    stream = MCSDA(ranks=(4, 4), positive=3, **PAPER, **ROUNDS)
    for part in np.array_split(np.arange(len(y)), 4):
        stream.partial_fit(X[part], y[part], classes=np.arange(10))
    scores = stream.decision_function(X_test[:50])
    found["scores of a stream"] = scores / np.abs(scores).max()
    return found


def read_orl(root):
    """The faces in a third of their resolution, read without the library."""
    X, y = [], []
    for person in range(1, 41):
        for shot in range(1, 11):
            raw = (root / "orl" / f"s{person}" / f"{shot}.pgm").read_bytes()
            pixels = np.frombuffer(raw[-112 * 92 :], dtype=np.uint8).reshape(112, 92)
            X.append(pixels[::3, ::3] / 255)
            y.append(person)
    return np.array(X), np.array(y), np.tile(np.arange(10) < 5, 40)


def read_natops(root):
    """Six gestures, 24 channels and 51 instants."""
    held = np.load(root / "uea" / "natops.npz", allow_pickle=False)
    return held["X"].astype(float), held["y"], ~held["test"].astype(bool)


def read_speller(root):
    """Targets and others of one person, 8 channels and 52 instants."""
    held = np.load(root / "eeg" / "bnci2015_003_s6_8.npz", allow_pickle=False)
    own = held["subject"] == np.unique(held["subject"])[0]
    X = held["X"][own] * held["scale"]
    return X - X.mean(axis=2, keepdims=True), held["y"][own], held["run"][own] == 0


def read_gait(root):
    """Silhouettes of twelve persons, 32 x 22 x 10."""
    held = np.load(root / "gait" / "Gal.npz", allow_pickle=False)
    own = np.isin(held["y"], np.unique(held["y"])[:12])
    y = held["y"][own]
    return held["X"][own] / 255, y, np.arange(len(y)) % 2 == 0


SETS = {"orl": read_orl, "natops": read_natops, "speller": read_speller, "gait": read_gait}


def on_real_data(name, root):
    """Right answers and mean average precision of banks, and features of multi-class methods."""
    X, y, train = SETS[name](root)
    split = X[train], y[train], X[~train], y[~train]
    order = X.ndim - 1
    small = (5,) * order
    found = {
        "bank of MCSDA": bank(MCSDA(ranks=small, **PAPER, **ROUNDS), *split),
        "bank of CSDA": bank(CSDA(ranks=10, **PAPER), *split),
    }
    for method in (DATER, MPCA):
        found[method.__name__] = features(method(ranks=small, **ROUNDS), *split[:3])
    return found


def plain(found):
    return {name: [round(float(v), 9) for v in np.ravel(value)] for name, value in found.items()}


def assert_as_before(found, before):
    """Features to 1e-6 of the largest; percentages to what a rounding of one score may turn."""
    assert found.keys() == before.keys()
    for name, value in plain(found).items():
        np.testing.assert_allclose(value, before[name], rtol=0, atol=1e-6, err_msg=name)


@pytest.fixture(autouse=True)
def _rounds_are_counted_not_waited_for():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tenfold.FalseAcceptRateWarning)
        yield


def test_answers_on_digits_are_those_of_before():
    assert_as_before(on_digits(), json.loads(FILE.read_text())["digits"])


@pytest.mark.realdata
@pytest.mark.parametrize("name", SETS)
def test_answers_on_real_data_are_those_of_before(name, data_root):
    if not (data_root / {"natops": "uea", "speller": "eeg"}.get(name, name)).is_dir():
        pytest.skip(f"no {name} in {data_root}")
    assert_as_before(on_real_data(name, data_root), json.loads(FILE.read_text())[name])


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    root = Path(sys.argv[1] if len(sys.argv) > 1 else os.environ["TENFOLD_DATA"])
    kept = {"digits": plain(on_digits())}
    kept |= {name: plain(on_real_data(name, root)) for name in SETS}
    FILE.write_text(json.dumps(kept, indent=None, separators=(",", ":")) + "\n")
