"""Verification of faces with impostors who were never seen: error rates, asked and given.

Half of the persons are enrolled, with n images each; the others are impostors that no model has
met. For some of the enrolled a verifier is fitted at a false-accept rate of 1 %, and then tried on
the other images of that person and on those of all persons of the other half. One line a method,
in the form of the table of docs/user_guide/deciding.md:

    python benchmarks/verification.py --data ../shared/data --sets orl pie

``--open-set`` asks instead who of all enrolled persons it is, or none of them, with 5 images each:
how many of the other half `OpenSetClassifier` names, over 20 halves.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from paper_sets import load_orl, load_pie
from sklearn.exceptions import ConvergenceWarning

from tenfold import (
    CSDA,
    MCSDA,
    ClassSpecificVerifier,
    FalseAcceptRateWarning,
    OpenSetClassifier,
    ProbabilisticLDA,
)
from tenfold.metrics import equal_error_rate

Array = npt.NDArray[Any]
ASKED = 0.01
IMAGES = {"orl": (2, 3, 5), "pie": (3, 5, 10)}
METHODS = {
    "at defaults": None,
    "CSDA": CSDA(),
    "MCSDA": MCSDA(),
    "CSDA, distance": CSDA(decision="distance"),
    "MCSDA, distance": MCSDA(decision="distance"),
}
OPEN_RATES, OPEN_IMAGES, OPEN_HALVES = (0.05, 0.01), 5, 20
PER_IMPOSTOR = 30  # images; PIE has 170 of each person


class Trial(NamedTuple):
    """What one verifier gives, as shares."""

    equal_error_rate: float
    false_accepts: float
    false_rejects: float
    estimated_rejects: float
    guaranteed: float
    warned: float


def enrolled(y: Array, n: int, seed: int, n_persons: int) -> tuple[list[Any], Array, Array, Array]:
    """Some persons, the training images, the other images of the enrolled, and the impostors."""
    rng = np.random.default_rng(seed)
    persons = rng.permutation(np.unique(y))
    known, unknown = np.array_split(persons, 2)
    images = {person: rng.permutation(np.flatnonzero(y == person)) for person in persons.tolist()}
    train = np.concatenate([images[person][:n] for person in known.tolist()])
    rest = np.concatenate([images[person][n:] for person in known.tolist()])
    impostors = np.concatenate([images[person][:PER_IMPOSTOR] for person in unknown.tolist()])
    return known[:n_persons].tolist(), train, rest, impostors


def tried(model: Any, X: Array, y: Array, n: int, seed: int, n_persons: int) -> list[Trial]:
    """A verifier for each of some persons."""
    persons, train, rest, impostors = enrolled(y, n, seed, n_persons)
    trials = []
    for person in persons:
        verifier = ClassSpecificVerifier(model, positive=person, false_accept_rate=ASKED)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            warnings.simplefilter("ignore", ConvergenceWarning)
            verifier.fit(X[train], y[train])
        others = verifier.decision_function(X[impostors])
        own = verifier.decision_function(X[rest[y[rest] == person]])
        is_own = np.repeat([True, False], [len(own), len(others)])
        trials.append(
            Trial(
                equal_error_rate(is_own, np.concatenate([own, others])),
                float(np.mean(others >= 0)),
                float(np.mean(own < 0)),
                verifier.error_rates_.get("false_rejects", np.nan),
                verifier.guaranteed_rate_,
                any(issubclass(one.category, FalseAcceptRateWarning) for one in caught),
            )
        )
    return trials


def images_of(name: str, data: str | None) -> tuple[Array, Array]:
    """All images of a set, and who is on them."""
    faces = {"orl": load_orl, "pie": load_pie}[name](data)
    return np.asarray(faces.X, dtype=float), np.asarray(faces.y)


def open_set(name: str, X: Array, y: Array) -> None:
    """Print how many strangers get a name, and how many of the enrolled get theirs."""
    for rate in OPEN_RATES:
        shares = []
        for seed in range(OPEN_HALVES):
            _, train, rest, strangers = enrolled(y, OPEN_IMAGES, seed, 0)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FalseAcceptRateWarning)
                model = OpenSetClassifier(false_accept_rate=rate).fit(X[train], y[train])
            closed = ProbabilisticLDA().fit(X[train], y[train])
            named = model.predict(X[strangers]) != model.unknown_
            right = model.predict(X[rest]) == y[rest]
            shares.append((named.mean(), right.mean(), closed.score(X[rest], y[rest])))
        named, right, without = 100 * np.mean(shares, axis=0)
        print(
            f"| {name.upper()}, {len(closed.classes_)} persons known | {100 * rate:.0f} % | "
            f"{named:.1f} % | {right:.0f} % ({without:.0f}) |",
            flush=True,
        )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", help="folder with orl and pie; default: $TENFOLD_DATA")
    parser.add_argument("--sets", nargs="+", choices=list(IMAGES), default=list(IMAGES))
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--open-set", action="store_true", help="name one of all, or nobody")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--persons", type=int, default=5)
    asked = parser.parse_args()
    if asked.open_set:
        print("| | asked | strangers who were named | known persons named rightly (no threshold) |")
        print("|---|--:|--:|--:|")
        for name in asked.sets:
            open_set(name, *images_of(name, asked.data))
        return
    print("| faces | images | method | equal errors | false accepts | false rejects | warned |")
    print("|---|---|---|---|---|---|---|")
    for name in asked.sets:
        X, y = images_of(name, asked.data)
        for n in IMAGES[name]:
            for method in asked.methods:
                start = time.perf_counter()
                by_seed = [
                    tried(METHODS[method], X, y, n, seed, asked.persons)
                    for seed in range(asked.seeds)
                ]
                found = 100 * np.array(by_seed).mean(axis=1)  # (seeds, figures)
                mean, error = found.mean(axis=0), found.std(axis=0, ddof=1) / len(found) ** 0.5
                print(
                    f"| {name.upper()} | {n} | {method} | {mean[0]:.1f} | "
                    f"{mean[1]:.1f} ± {error[1]:.1f} | {mean[2]:.0f} (estimated {mean[3]:.0f}) | "
                    f"{mean[5]:.0f}, guaranteed {mean[4]:.1f} |"
                    f" <!-- {time.perf_counter() - start:.0f} s -->",
                    flush=True,
                )


if __name__ == "__main__":
    main()
