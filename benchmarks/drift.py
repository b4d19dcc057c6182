"""Streams that change: models that keep everything, models that forget, and those of river.

Every sample is first predicted and then learned (prequential accuracy). The models of river learn
after each sample, those of tenfold after each batch of twenty. What has to be chosen (the decay, a
learning rate) is chosen on the first fifth of a stream; the figures are of the rest.

    pip install river==0.26.1
    python benchmarks/drift.py --seeds 3
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tenfold import CSDA, ClassSpecificClassifier, ProbabilisticLDA

Array = npt.NDArray[Any]
BATCH = 20
FIRST = 0.2  # of a stream, on which decay and learning rate are chosen
DECAYS = (0.98, 0.95, 0.9, 0.8, 0.7)
RATES = (0.001, 0.003, 0.01, 0.03, 0.1)


# ── Streams ─────────────────────────────────────────────────────────────────────────────────────


class Stream(NamedTuple):
    """Samples in the order in which they come."""

    X: Array  # (n, I_1, ..., I_K)
    y: Array  # (n,), numbers from 0


def turning_trials(n: int, seed: int) -> Stream:
    """Responses of 8 channels over 10 instants, whose patterns turn once by 180 degrees."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, n)
    mixing = rng.normal(size=(8, 8)) / np.sqrt(8)
    start, end = rng.normal(size=(2, 4, 8, 10))
    angle = np.linspace(0, np.pi, n)[:, None, None]
    response = np.cos(angle) * start[y] + np.sin(angle) * end[y]
    noise = rng.normal(size=(n, 8, 10))
    for t in range(1, 10):
        noise[..., t] = 0.8 * noise[..., t - 1] + 0.6 * noise[..., t]
    return Stream(0.25 * response + mixing @ noise, y)


def new_sensors(n: int, seed: int) -> Stream:
    """The same trials without turning, but every fifth of the stream a recording starts anew."""
    rng = np.random.default_rng([seed, 1])
    y = rng.integers(0, 4, n)
    patterns, mixing = rng.normal(size=(4, 8, 10)), rng.normal(size=(8, 8)) / np.sqrt(8)
    noise = rng.normal(size=(n, 8, 10))
    for t in range(1, 10):
        noise[..., t] = 0.8 * noise[..., t - 1] + 0.6 * noise[..., t]
    X = 0.25 * patterns[y] + mixing @ noise
    for part in np.array_split(np.arange(n), 5):
        turn = np.linalg.qr(rng.normal(size=(8, 8)))[0]  # the sensors are put on otherwise
        X[part] = turn @ X[part] + rng.normal(size=(8, 10))
    return Stream(X, y)


def of_river(generator: Any, n: int) -> Stream:
    """The first samples of a generator of river."""
    rows = list(islice(generator, n))
    return Stream(
        np.array([list(x.values()) for x, _ in rows]), np.array([int(y) for _, y in rows])
    )


def streams(n: int, seed: int) -> dict[str, Stream]:
    """All streams, by name."""
    from river.datasets import synth

    plane = synth.Hyperplane(
        seed=seed, n_features=20, n_drift_features=10, mag_change=0.01, noise_percentage=0.05
    )
    centres = {
        speed: synth.RandomRBFDrift(
            seed,
            seed,
            n_classes=4,
            n_features=20,
            n_centroids=8,
            change_speed=speed,
            n_drift_centroids=8,
        )
        for speed in (0.01, 0.5)
    }
    return {
        "turning trials": turning_trials(n, seed),
        "new sensors": new_sensors(n, seed),
        "river's Hyperplane": of_river(plane, n),
        "river's RandomRBFDrift": of_river(centres[0.01], n),
        "river's RandomRBFDrift, fast": of_river(centres[0.5], n),
    }


# ── Models ──────────────────────────────────────────────────────────────────────────────────────


def of_tenfold(make: Callable[[], Any], decay: float) -> Callable[[Stream], Array]:
    """Which samples a model of tenfold predicts right, batch by batch."""

    def right(stream: Stream) -> Array:
        X, y = stream
        model, found = make(), np.zeros(len(y), dtype=bool)
        for start in range(0, len(y), BATCH):
            batch = slice(start, start + BATCH)
            if hasattr(model, "class_count_"):
                found[batch] = model.predict(X[batch]) == y[batch]
            model.partial_fit(X[batch], y[batch], np.unique(y), decay=decay)
        return found

    return right


def of_peer(make: Callable[[], Any]) -> Callable[[Stream], Array]:
    """Which samples a model of river predicts right, sample by sample."""

    def right(stream: Stream) -> Array:
        X, y = stream
        model, found = make(), np.zeros(len(y), dtype=bool)
        rows = X.reshape(len(X), -1).tolist()
        for i, (row, label) in enumerate(zip(rows, y.tolist(), strict=True)):
            x = dict(enumerate(row))
            found[i] = model.predict_one(x) == label
            model.learn_one(x, label)
        return found

    return right


def bank() -> Any:
    return ClassSpecificClassifier(CSDA(shrinkage=0.5))


def gaussian() -> Any:
    return ProbabilisticLDA()


def contestants() -> Iterator[tuple[str, list[Callable[[Stream], Array]]]]:
    """Names, and for each the settings of which the best on the first part is taken."""
    from river import drift, forest, linear_model, naive_bayes, optim, preprocessing, tree

    for name, make in {"ProbabilisticLDA": gaussian, "bank of CSDA": bank}.items():
        yield f"tenfold: {name}, keeps all", [of_tenfold(make, 1.0)]
        yield f"tenfold: {name}, forgets", [of_tenfold(make, decay) for decay in DECAYS]

    def softmax(rate: float) -> Callable[[], Any]:
        model = linear_model.SoftmaxRegression
        return lambda: preprocessing.StandardScaler() | model(optim.SGD(rate))

    yield "river: GaussianNB", [of_peer(naive_bayes.GaussianNB)]
    yield (
        "river: GaussianNB, anew at drift (DDM)",
        [
            of_peer(
                lambda: drift.DriftRetrainingClassifier(
                    naive_bayes.GaussianNB(), drift.binary.DDM()
                )
            )
        ],
    )
    yield "river: SoftmaxRegression on scaled data", [of_peer(softmax(rate)) for rate in RATES]
    yield (
        "river: HoeffdingAdaptiveTreeClassifier",
        [of_peer(lambda: tree.HoeffdingAdaptiveTreeClassifier(seed=0))],
    )
    yield "river: ARFClassifier, 10 trees", [of_peer(lambda: forest.ARFClassifier(seed=0))]


def measured(settings: list[Callable[[Stream], Array]], stream: Stream) -> float:
    """Accuracy after the first part, with the setting that was best on it."""
    first = round(FIRST * len(stream.y))
    start = Stream(stream.X[:first], stream.y[:first])
    best = 0
    if len(settings) > 1:
        best = int(np.argmax([right(start).mean() for right in settings]))
    return float(settings[best](stream)[first:].mean())


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--samples", type=int, default=3000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", help="the name of one stream")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    by_seed = [streams(asked.samples, seed) for seed in range(asked.seeds)]
    if asked.only is not None:
        by_seed = [{asked.only: one[asked.only]} for one in by_seed]
    print(f"| model | {' | '.join(by_seed[0])} |")
    print(f"|---|{'--:|' * len(by_seed[0])}")
    for name, settings in contestants():
        start, cells = time.perf_counter(), []
        for stream in by_seed[0]:
            found = 100 * np.array([measured(settings, one[stream]) for one in by_seed])
            error = found.std(ddof=1) / len(found) ** 0.5 if len(found) > 1 else np.nan
            cells.append(f"{found.mean():.1f} ± {error:.1f}")
        took = time.perf_counter() - start
        print(f"| {name} | {' | '.join(cells)} | <!-- {took:.0f} s -->", flush=True)


if __name__ == "__main__":
    main()
