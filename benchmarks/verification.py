"""Verifiers, banks and open sets on real data: error rates, requested and reached.

    python benchmarks/verification.py --data ../shared/data                    # everything, an hour
    python benchmarks/verification.py --data ../shared/data --parts strangers --sets usps leaf
    python benchmarks/verification.py --data ../shared/data --splits 1 --persons 3

Some classes of each set are known, with n training samples each; all other classes are strangers
whom no model has met. Every part prints a table in percent, a row per set. Nothing is chosen on
test samples.

rates       For some of the known classes ``ClassSpecificVerifier(positive=p)`` is fitted at 1 % and
            at 5 %, and tried on the other samples of that class and on all strangers. False rejects
            at a true 1 % of strangers, next to those of ``log_likelihood_ratio`` of a
            `ProbabilisticLDA` of the same samples; the share of strangers that is accepted, on
            average and for the worst class, with the lower end of a 95 % bootstrap interval over
            strangers (classes); the accepted share of the class, as a part of what the same scores
            accept at a true 1 %.
open        The same of `OpenSetClassifier`: strangers who are named, known samples who are accepted
            at 1 % as a part of what the same scores accept at a true 1 %.
strangers   Area under the ROC curve of known samples against strangers, of the score of
            `OpenSetClassifier` and of the distance to the nearest training sample.
bank        Accuracy of ``ClassSpecificClassifier()`` and of a bank of `MCSDA`; of tables also
            behind a scaler. Run it with another PYTHONPATH to compare trees.
recordings  Area under the ROC curve of a verifier and of `ProbabilisticLDA`.
time        CPU seconds of a verifier of 400 faces, and of a bank of `MCSDA`, one thread.
faces       The table of docs/verification.md: verifiers around methods, faces, several sizes.
open-faces  The table of docs/user_guide/deciding.md: how many strangers are named, 20 halves.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from paper_sets import load_orl
from scipy.spatial.distance import cdist
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from tenfold import (
    CSDA,
    MCSDA,
    ClassSpecificClassifier,
    ClassSpecificVerifier,
    FalseAcceptRateWarning,
    OpenSetClassifier,
    ProbabilisticLDA,
)
from tenfold.metrics import equal_error_rate

Array = npt.NDArray[Any]
ASKED = (0.01, 0.05)
PER_STRANGER = 60  # samples; PIE has 170 of each person, USPS a thousand of each digit
N_DRAWS = 500  # of the bootstrap


class Protocol(NamedTuple):
    """How a set is used: the number of known classes, and training samples of each."""

    file: str
    n_known: int
    each: int


SETS = {
    "orl": Protocol("orl", 20, 5),
    "pie": Protocol("pie/pie_5pose_32x32.npz", 34, 5),
    "coil": Protocol("small/coil20.npz", 10, 5),
    "gait": Protocol("gait/Gal.npz", 35, 5),
    "words": Protocol("uea/articularywordrecognition.npz", 13, 5),
    "leaf": Protocol("more/swedish_leaf.npz", 10, 10),
    "usps": Protocol("more/usps.npz", 7, 20),
    "digits": Protocol("digits", 7, 10),
    "medical": Protocol("more/medical_images.npz", 7, 5),
    "uwave": Protocol("more/uwave.npz", 5, 10),
    "jaffe": Protocol("more/jaffe.npz", 7, 3),
    "phoneme": Protocol("more/phoneme.npz", 3, 20),
    "speakers": Protocol("more/speakers.npz", 3, 20),
}
CURVED = ("usps", "digits", "leaf", "medical", "uwave")


def samples_of(data: Path, name: str) -> tuple[Array, Array]:
    """All samples of a set, and their labels."""
    file = SETS[name].file
    if file == "digits":
        digits = load_digits()
        return digits.images, digits.target
    if file == "orl":
        faces = load_orl(data)
        return np.asarray(faces.X, dtype=float), np.asarray(faces.y)
    with np.load(data / file) as found:
        X, y = found["X"].astype(float), found["y"]
    if name == "gait":  # the probe with another view: enough trials of each person
        with np.load(data / "gait" / "PrbA.npz") as found:
            X = np.concatenate([X, found["X"].astype(float)])
            y = np.concatenate([y, found["y"]])
    return X, y


class Split(NamedTuple):
    """Positions of samples."""

    known: list[Any]  # labels
    train: Array
    rest: Array  # other samples of known classes
    strangers: Array


def split_of(name: str, y: Array, seed: int) -> Split:
    """Known classes and strangers, drawn at random."""
    _, n_known, each = SETS[name]
    return drawn(y, n_known, each, PER_STRANGER, seed)


def drawn(y: Array, n_known: int, each: int, per_stranger: int, seed: int) -> Split:
    """So many classes are known, from so many samples each."""
    rng = np.random.default_rng(seed)
    classes = rng.permutation(np.unique(y))
    rows = {label: rng.permutation(np.flatnonzero(y == label)) for label in classes.tolist()}
    known = classes[:n_known].tolist()
    train = np.concatenate([rows[label][:each] for label in known])
    rest = np.concatenate([rows[label][each:] for label in known])
    strangers = [rows[label][:per_stranger] for label in classes[n_known:].tolist()]
    nobody = np.empty(0, dtype=np.intp)
    return Split(known, train, rest, np.concatenate([nobody, *strangers]))


def quiet_fit(model: Any, X: Array, y: Array) -> Any:
    """A fitted model; warnings of rates and of rounds are expected here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)


def rejects_at(rate: float, own: Array, strangers: Array) -> float:
    """The share of own samples below the score that such a share of strangers reaches."""
    return float(np.mean(own < np.quantile(strangers, 1 - rate)))


def least_of_interval(accepted: Array, groups: Array) -> float:
    """The lower end of a 95 % bootstrap interval of a share, over groups."""
    _, code = np.unique(groups, return_inverse=True)
    totals = np.bincount(code).astype(float)
    sums = np.bincount(code, accepted)
    rng = np.random.default_rng(0)
    chosen = rng.integers(len(totals), size=(N_DRAWS, len(totals)))
    shares = sums[chosen].sum(axis=1) / totals[chosen].sum(axis=1)
    return float(np.quantile(shares, 0.025))


# ── Rates ───────────────────────────────────────────────────────────────────────────────────────


class Trial(NamedTuple):
    """What verifiers of one class give, as shares."""

    rejects: float  # at a true 1 %
    ratio_rejects: float  # the same, of the ratio of a ProbabilisticLDA
    accepted_1: float  # strangers, with 1 % asked
    accepted_5: float
    least_1: float  # the lower end of the interval of accepted_1
    least_5: float
    own_1: float  # accepted samples of the class, with 1 % asked


def trials(name: str, X: Array, y: Array, n_splits: int, n_persons: int) -> Iterator[Trial]:
    """Verifiers of some classes of some splits."""
    for seed in range(n_splits):
        split = split_of(name, y, seed)
        X_train, y_train = X[split.train], y[split.train]
        gaussian = quiet_fit(ProbabilisticLDA(), X_train, y_train)
        of_strangers = gaussian.log_likelihood_ratio(X[split.strangers])
        for person in split.known[:n_persons]:
            own_rows = split.rest[y[split.rest] == person]
            column = gaussian.classes_.tolist().index(person)
            of_own = gaussian.log_likelihood_ratio(X[own_rows])[:, column]
            ratio_rejects = rejects_at(0.01, of_own, of_strangers[:, column])
            others, own = [], []
            for rate in ASKED:
                verifier = ClassSpecificVerifier(positive=person, false_accept_rate=rate)
                quiet_fit(verifier, X_train, y_train)
                others.append(verifier.decision_function(X[split.strangers]))
                own.append(verifier.decision_function(X[own_rows]))
            groups = y[split.strangers]
            least = [least_of_interval(scores >= 0, groups) for scores in others]
            rejects = rejects_at(0.01, own[0], others[0])
            accepted = [float(np.mean(scores >= 0)) for scores in others]
            own_1 = float(np.mean(own[0] >= 0))
            yield Trial(rejects, ratio_rejects, *accepted, *least, own_1)


def rates(data: Path, names: list[str], n_splits: int, n_persons: int) -> None:
    """Print false rejects at a true 1 %, and what asked rates give."""
    print(
        "| set | known | rejects at a true 1 %, verifier | ratio | worse by | 1 %: mean | worst "
        "(at least) | 5 %: mean | worst (at least) | own at 1 %: asked / true | CPU s |"
    )
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    for name in names:
        X, y = samples_of(data, name)
        start = time.process_time()
        found = np.array(list(trials(name, X, y, n_splits, n_persons)))
        seconds = time.process_time() - start
        mean = Trial(*100 * found.mean(axis=0))
        worst = Trial(*100 * found.max(axis=0))
        print(
            f"| {name} | {SETS[name].n_known} | {mean.rejects:.1f} | {mean.ratio_rejects:.1f} | "
            f"{mean.rejects - mean.ratio_rejects:+.1f} | "
            f"{mean.accepted_1:.2f} | {worst.accepted_1:.1f} ({worst.least_1:.1f}) | "
            f"{mean.accepted_5:.1f} | {worst.accepted_5:.1f} ({worst.least_5:.1f}) | "
            f"{mean.own_1:.0f} / {100 - mean.rejects:.0f} | {seconds:.0f} |",
            flush=True,
        )


# ── Open sets ───────────────────────────────────────────────────────────────────────────────────


def open_rates(data: Path, names: list[str], n_splits: int) -> None:
    """Print how many strangers are named, and how many known samples are accepted."""
    print("| set | known | 1 %: strangers | 5 %: strangers | known at 1 %: asked / true |")
    print("|---|--:|--:|--:|--:|")
    for name in names:
        X, y = samples_of(data, name)
        found = []
        for seed in range(n_splits):
            split = split_of(name, y, seed)
            strangers, known = [], []
            for rate in ASKED:
                model = OpenSetClassifier(false_accept_rate=rate)
                quiet_fit(model, X[split.train], y[split.train])
                strangers.append(model.decision_function(X[split.strangers]))
                known.append(model.decision_function(X[split.rest]))
            accepted = [np.mean(scores >= 0) for scores in (*strangers, known[0])]
            found.append([*accepted, 1 - rejects_at(0.01, known[0], strangers[0])])
        at_1, at_5, own, own_true = 100 * np.mean(found, axis=0)
        print(
            f"| {name} | {SETS[name].n_known} | {at_1:.2f} | {at_5:.1f} | "
            f"{own:.0f} / {own_true:.0f} |",
            flush=True,
        )


def areas(data: Path, names: list[str], n_splits: int) -> None:
    """Print how well strangers are told from known samples."""
    print("| set | known | OpenSetClassifier | nearest sample | difference |")
    print("|---|--:|--:|--:|--:|")
    table = []
    for name in names:
        X, y = samples_of(data, name)
        found = []
        for seed in range(n_splits):
            split = split_of(name, y, seed)
            model = quiet_fit(OpenSetClassifier(), X[split.train], y[split.train])
            rows = np.concatenate([split.rest, split.strangers])
            is_known = np.repeat([True, False], [len(split.rest), len(split.strangers)])
            flat = X.reshape(len(X), -1)
            distances = cdist(flat[rows], flat[split.train]).min(axis=1)
            ours = roc_auc_score(is_known, model.score_samples(X[rows]))
            found.append([ours, roc_auc_score(is_known, -distances)])
        ours, nearest = 100 * np.mean(found, axis=0)
        table.append([ours, nearest])
        print(
            f"| {name} | {SETS[name].n_known} | {ours:.1f} | {nearest:.1f} | "
            f"{ours - nearest:+.1f} |",
            flush=True,
        )
    ours, nearest = np.mean(table, axis=0)
    print(f"| mean | | {ours:.1f} | {nearest:.1f} | {ours - nearest:+.1f} |")


# ── Banks, recordings, time ─────────────────────────────────────────────────────────────────────

BANKS = {  # training samples of each class
    "usps": ("usps", 20),
    "uwave": ("uwave", 10),
    "orl": ("orl", 5),
    "pie": ("pie", 5),
    "pie 10": ("pie", 10),
    "gait": ("gait", 0),
}
TABLES = {"wine": load_wine, "breast cancer": load_breast_cancer}
Parts = tuple[Array, Array, Array, Array]


def bank_splits(data: Path, name: str, n_splits: int) -> Iterator[Parts]:
    """Training samples and labels, test samples and labels; gait: gallery and probe A."""
    if name in TABLES:
        table = TABLES[name]()
        halves = StratifiedShuffleSplit(n_splits, train_size=0.5, random_state=0)
        for train, test in halves.split(table.data, table.target):
            yield table.data[train], table.target[train], table.data[test], table.target[test]
        return
    base, each = BANKS[name]
    X, y = samples_of(data, base)
    if base == "gait":
        n = 731  # of the gallery
        yield X[:n], y[:n], X[n:], y[n:]
        return
    for seed in range(n_splits):
        split = drawn(y, len(np.unique(y)), each, 0, seed)
        yield X[split.train], y[split.train], X[split.rest], y[split.rest]


def banks(data: Path, names: list[str], n_splits: int) -> None:
    """Print the accuracy of banks; of tables also behind a scaler."""
    print("| set | bank of CSDA | bank of MCSDA | bank of CSDA behind a scaler |")
    print("|---|--:|--:|--:|")
    for name in names:
        found = []
        for X, y, X_new, y_new in bank_splits(data, name, n_splits):
            # Spelled with CSDA(), so that older trees, which need the argument, can be measured.
            models: list[Any] = [ClassSpecificClassifier(CSDA())]
            if name in TABLES:
                models.append(make_pipeline(StandardScaler(), ClassSpecificClassifier(CSDA())))
            else:
                models.append(ClassSpecificClassifier(MCSDA()))
            found.append([quiet_fit(model, X, y).score(X_new, y_new) for model in models])
        first, second = 100 * np.mean(found, axis=0)
        cells = f"| {second:.1f}" if name in TABLES else f"{second:.1f} |"
        print(f"| {name} | {first:.1f} | {cells} |", flush=True)


def recording_splits(data: Path, name: str, n_splits: int) -> Iterator[Parts]:
    """Random stratified splits; a quarter of the epochs is for testing."""
    file = {"finger": "uea/fingermovements", "n170": "eeg/muse_n170", "p300": "eeg/muse_p300"}
    path = data / f"{file.get(name, 'eeg/bnci2015_003_s6_8')}.npz"
    with np.load(path) as found:
        X, y = found["X"] * float(found["scale"]), found["y"]
        who = found["subject"] if "subject" in found else np.ones(len(y))
        session = found["session"] if "session" in found else np.ones(len(y))
    rows = session == session[0]
    rows &= who == (int(name.removeprefix("speller")) if name.startswith("speller") else who[0])
    X, y = X[rows], y[rows]
    for train, test in StratifiedShuffleSplit(n_splits, test_size=0.25, random_state=42).split(
        X, y
    ):
        yield X[train], y[train], X[test], y[test]


RECORDINGS = ("speller6", "speller7", "speller8", "n170", "p300", "finger")


def recordings(data: Path, n_splits: int) -> None:
    """Print the area of a verifier and of `ProbabilisticLDA`."""
    print("| recording | verifier | ProbabilisticLDA | difference |")
    print("|---|--:|--:|--:|")
    table = []
    for name in RECORDINGS:
        found = []
        for X, y, X_new, y_new in recording_splits(data, name, n_splits):
            models = [ClassSpecificVerifier(), ProbabilisticLDA()]
            scores = [quiet_fit(model, X, y).decision_function(X_new) for model in models]
            found.append([roc_auc_score(y_new, each) for each in scores])
        ours, gaussian = 100 * np.mean(found, axis=0)
        table.append([ours, gaussian])
        print(f"| {name} | {ours:.1f} | {gaussian:.1f} | {ours - gaussian:+.1f} |", flush=True)
    ours, gaussian = np.mean(table, axis=0)
    print(f"| mean | {ours:.1f} | {gaussian:.1f} | {ours - gaussian:+.1f} |")


def seconds_of(model: Any, X: Array, y: Array) -> float:
    """CPU seconds of a fit."""
    start = time.process_time()
    quiet_fit(model, X, y)
    return time.process_time() - start


def times(data: Path, repeats: int = 3) -> None:
    """Print CPU seconds of a verifier and of a bank of 400 faces, in turn, medians."""
    print("| 400 faces | verifier | bank of MCSDA | ratio |")
    print("|---|--:|--:|--:|")
    for shape in ((112, 92), (32, 32)):
        faces = load_orl(data, shape=shape)
        X, y = np.asarray(faces.X, dtype=float), np.asarray(faces.y)
        verifier = ClassSpecificVerifier(positive=y[0])
        bank = ClassSpecificClassifier(MCSDA())
        found = [[seconds_of(model, X, y) for model in (verifier, bank)] for _ in range(repeats)]
        ours, of_bank = np.median(found, axis=0)
        row = f"{shape[0]} x {shape[1]} | {ours:.2f} | {of_bank:.2f} | {ours / of_bank:.1f}"
        print(f"| {row} |", flush=True)


# ── The tables of the pages ─────────────────────────────────────────────────────────────────────

IMAGES = {"orl": (2, 3, 5), "pie": (3, 5, 10)}
METHODS = {
    "at defaults": None,
    "CSDA": CSDA(),
    "MCSDA": MCSDA(),
    "CSDA, distance": CSDA(decision="distance"),
    "MCSDA, distance": MCSDA(decision="distance"),
}
OPEN_IMAGES, OPEN_HALVES = 5, 20


class FaceTrial(NamedTuple):
    """What one verifier of a face gives, as shares."""

    equal_error_rate: float
    false_accepts: float
    false_rejects: float
    estimated_rejects: float
    guaranteed: float
    warned: float


def face_trials(model: Any, X: Array, y: Array, n: int, seed: int, n_persons: int) -> Array:
    """A verifier for each of some persons, at 1 %; half of all persons are strangers."""
    split = drawn(y, (len(np.unique(y)) + 1) // 2, n, 30, seed)
    found = []
    for person in split.known[:n_persons]:
        verifier = ClassSpecificVerifier(model, positive=person, false_accept_rate=0.01)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            warnings.simplefilter("ignore", ConvergenceWarning)
            verifier.fit(X[split.train], y[split.train])
        others = verifier.decision_function(X[split.strangers])
        own = verifier.decision_function(X[split.rest[y[split.rest] == person]])
        is_own = np.repeat([True, False], [len(own), len(others)])
        found.append(
            FaceTrial(
                equal_error_rate(is_own, np.concatenate([own, others])),
                float(np.mean(others >= 0)),
                float(np.mean(own < 0)),
                verifier.error_rates_.get("false_rejects", np.nan),
                verifier.guaranteed_rate_,
                any(issubclass(one.category, FalseAcceptRateWarning) for one in caught),
            )
        )
    return np.array(found)


def faces_table(data: Path, n_splits: int, n_persons: int) -> None:
    """Print the table of docs/verification.md."""
    print("| faces | images | method | equal errors | false accepts | false rejects | warned |")
    print("|---|---|---|---|---|---|---|")
    for name, sizes in IMAGES.items():
        X, y = samples_of(data, name)
        for n in sizes:
            for method, model in METHODS.items():
                by_split = [face_trials(model, X, y, n, s, n_persons) for s in range(n_splits)]
                found = 100 * np.array(by_split).mean(axis=1)  # (splits, figures)
                mean = FaceTrial(*found.mean(axis=0))
                error = FaceTrial(*found.std(axis=0, ddof=1) / len(found) ** 0.5)
                print(
                    f"| {name.upper()} | {n} | {method} | {mean.equal_error_rate:.1f} | "
                    f"{mean.false_accepts:.1f} ± {error.false_accepts:.1f} | "
                    f"{mean.false_rejects:.0f} (reported {mean.estimated_rejects:.0f}) | "
                    f"{mean.warned:.0f}, guarantees {mean.guaranteed:.1f} |",
                    flush=True,
                )


def open_faces(data: Path) -> None:
    """Print the table of docs/user_guide/deciding.md."""
    print("| | asked | strangers who were named | known persons named rightly (no threshold) |")
    print("|---|--:|--:|--:|")
    for name in IMAGES:
        X, y = samples_of(data, name)
        for rate in reversed(ASKED):
            found = []
            for seed in range(OPEN_HALVES):
                split = drawn(y, (len(np.unique(y)) + 1) // 2, OPEN_IMAGES, 30, seed)
                model = OpenSetClassifier(false_accept_rate=rate)
                quiet_fit(model, X[split.train], y[split.train])
                named = np.mean(model.predict(X[split.strangers]) != model.unknown_)
                right = np.mean(model.predict(X[split.rest]) == y[split.rest])
                closed = model.model_.score(X[split.rest], y[split.rest])
                found.append([named, right, closed])
            named, right, closed = 100 * np.mean(found, axis=0)
            print(
                f"| {name.upper()}, {len(split.known)} persons known | {100 * rate:.0f} % | "
                f"{named:.1f} % | {right:.0f} % ({closed:.0f}) |",
                flush=True,
            )


PARTS = ("rates", "open", "strangers", "bank", "recordings", "time")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with orl, pie, more, ...")
    parser.add_argument(
        "--parts", nargs="+", choices=[*PARTS, "faces", "open-faces"], default=PARTS
    )
    parser.add_argument("--sets", nargs="+", help="of these parts; all sets by default")
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--persons", type=int, default=6, help="verifiers of a split")
    asked = parser.parse_args()

    def named(sets: Any) -> list[str]:
        return [name for name in sets if asked.sets is None or name in asked.sets]

    works = {
        "rates": lambda: rates(asked.data, named(SETS), asked.splits, asked.persons),
        "open": lambda: open_rates(asked.data, named(SETS), asked.splits),
        "strangers": lambda: areas(asked.data, named(CURVED), asked.splits),
        "bank": lambda: banks(asked.data, named([*BANKS, *TABLES]), asked.splits),
        "recordings": lambda: recordings(asked.data, asked.splits),
        "time": lambda: times(asked.data),
        "faces": lambda: faces_table(asked.data, asked.splits, asked.persons),
        "open-faces": lambda: open_faces(asked.data),
    }
    with threadpool_limits(1):
        for part in asked.parts:
            print(f"\n**{part}**\n")
            works[part]()


if __name__ == "__main__":
    main()
