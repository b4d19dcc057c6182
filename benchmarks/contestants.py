"""Who does the jobs, and on which data. Each contestant takes what `prepare` made."""

from __future__ import annotations

from typing import Any

import data
import literal
import numpy as np
import numpy.typing as npt
import peers
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.linear_model import RidgeClassifier

from tenfold import (
    CMDA,
    CSDA,
    HODA,
    MCSDA,
    MPCA,
    ClassSpecificClassifier,
    ClassSpecificVerifier,
    ProbabilisticLDA,
)
from tenfold.selection.rank_search import solved_together
from tenfold.statistics.cost import statistics_of
from tenfold.threads import over_threads
from tenfold.validation.samples import check_first_batch

Array = npt.NDArray[Any]
Given = dict[str, Any]  # samples X, labels y, what else the job needs, and a note for the page
Answer = dict[str, Array]  # names with W are projections, others are numbers
ROUNDS = 20
SOME = [0, 7, 13]  # models of a bank that are compared
LAMBDA = ("absolute", 0.01)
# What the paper prints; all rounds are made, by everybody.
PAPER = {"decision": "distance"}  # and with it the scatter of the paper
LITERALLY = {"ridge": LAMBDA, "shrinkage": 0.0, "max_iter": ROUNDS, "tol": 0.0, **PAPER}


def subspaces(projections: list[Array], prefix: str = "") -> Answer:
    return {f"{prefix}W{k}": np.asarray(W) for k, W in enumerate(projections)}


# ── Data ────────────────────────────────────────────────────────────────────────────────────────


def planted(
    n: int,
    shape: tuple[int, ...],
    ranks: tuple[int, ...],
    n_classes: int = 10,
    dtype: str = "float64",
) -> Given:
    X, y = data.planted(n, tuple(shape), tuple(ranks), n_classes, np.dtype(dtype))
    return {"X": X, "y": y, "ranks": tuple(ranks), "note": "planted"}


def flat(n: int, shape: tuple[int, ...], ranks: tuple[int, ...], rank: int) -> Given:
    given = planted(n, shape, ranks)
    return given | {"X": given["X"].reshape(n, -1), "rank": rank}


def digits() -> Given:
    X, y = load_digits(return_X_y=True)
    return {"X": X.reshape(-1, 8, 8), "y": y, "note": "digits"}


def few_of_many(n_classes: int, per_class: int, shape: tuple[int, ...]) -> Given:
    """Some samples of each of many classes."""
    ranks = tuple(max(1, size // 2) for size in shape)
    return planted(n_classes * per_class, shape, ranks, n_classes)


def faces(shape: tuple[int, int]) -> Given:
    X, y, note = data.faces(tuple(shape))
    return {"X": X, "y": y, "note": note}


def order_book() -> Given:
    X, y, note = data.order_book()
    return {"X": X, "y": y, "note": note}


def bank_and_samples(n: int) -> Given:
    X, y = data.planted(max(n, 400), (40, 30), (7, 7), n_classes=40)
    bank = ClassSpecificClassifier(MCSDA((7, 7), **PAPER), normalize=False).fit(X[:400], y[:400])
    return {"X": X[:n], "bank": bank, "note": "planted"}


# ── Contestants ─────────────────────────────────────────────────────────────────────────────────


def tenfold_mcsda(given: Given) -> Answer:
    positive = given["y"].max()
    model = MCSDA(given["ranks"], **LITERALLY, positive=positive)
    return subspaces(model.fit(given["X"], given["y"]).projections_)


def literal_mcsda(given: Given, algorithm: Any = literal.textbook) -> Answer:
    positive = given["y"] == given["y"].max()
    return subspaces(algorithm(given["X"], positive, given["ranks"], rounds=ROUNDS))


def tenfold_mpca(given: Given) -> Answer:
    return subspaces(MPCA(given["ranks"], max_iter=ROUNDS, tol=0.0).fit(given["X"]).projections_)


def tenfold_grid(
    given: Given,
    grid: list[tuple[int, ...]],
    shown: list[int],
    settings: dict[str, Any] = LITERALLY,
) -> Answer:
    """A bank of all classes at every pair of ranks, as a search solves them: one stack."""
    X, y = given["X"], given["y"]
    banks = [ClassSpecificClassifier(MCSDA(ranks, **settings)) for ranks in grid]
    described, X, y, weight = check_first_batch(banks[0], X, y, None)
    classes = np.unique(y)
    shape = X.shape[1:]
    members = [bank._members(classes) for bank in banks]
    asked = [[one._asked_ranks(shape, classes)[0] for one in each] for each in members]
    ranks = np.array(asked).swapaxes(0, 1)
    rounds = max(each[0]._recipe().expected_rounds(len(shape)) for each in members)
    statistics = statistics_of(X, y, weight, classes, ranks, rounds)
    models = []
    for banks_together in solved_together(banks, statistics, described):
        for bank in banks_together:
            models += [member.projections_ for member in bank.projectors_]
    return _named(shown, [models[number] for number in shown])


def literal_grid(
    given: Given,
    grid: list[tuple[int, ...]],
    shown: list[int],
    algorithm: Any = literal.textbook,
) -> Answer:
    """Only the models that are shown, one after the other."""
    X, y = given["X"], given["y"]
    models = [(ranks, label) for ranks in grid for label in np.unique(y)]
    chosen = [models[number] for number in shown]
    return _named(shown, [algorithm(X, y == label, ranks) for ranks, label in chosen])


def _named(numbers: list[int], models: list[list[Array]]) -> Answer:
    named: Answer = {}
    for number, projections in zip(numbers, models, strict=True):
        named |= subspaces(projections, f"model{number}-")
    return named


def blocked_product(given: Given) -> Answer:
    """X^T X alone, block by block: what nobody who reads all samples for moments can beat."""
    X = given["X"].reshape(len(given["X"]), -1)
    total = np.zeros((X.shape[1], X.shape[1]))
    for start in range(0, len(X), 4096):
        block = X[start : start + 4096]
        total += block.T @ block
    return {}


def one_read(given: Given) -> Answer:
    given["X"].sum()
    return {}


def eigenproblems_alone(given: Given, n_models: int) -> Answer:
    """As many symmetric eigenproblems as the models have, by LAPACK, on all threads."""
    rng = np.random.default_rng(0)
    stacks = []
    for size in given["X"].shape[1:]:
        factors = rng.normal(size=(40, size, 2 * size))
        stacks.append(factors @ factors.swapaxes(1, 2))

    def work(n: int) -> None:
        for stack in stacks:
            np.linalg.eigh(stack[:n])

    over_threads(work, [40] * (n_models * ROUNDS // 40))
    return {}


def tenfold_csda(given: Given) -> Answer:
    options = {"ridge": LAMBDA, "shrinkage": 0.0, "orthonormal": True, **PAPER}
    CSDA(ranks=20, positive=0, **options).fit(given["X"], given["y"])
    return {}


def tenfold_vector_bank(given: Given) -> Answer:
    """A CSDA model of every class, with the default shrinkage."""
    bank = ClassSpecificClassifier(CSDA(ridge=LAMBDA, **PAPER)).fit(given["X"], given["y"])
    return _named(SOME, [bank.members_[number].projections_ for number in SOME])


def literal_vector_bank(given: Given) -> Answer:
    """The same class by class, with SciPy, in the span of the samples."""
    X = given["X"].reshape(len(given["X"]), -1)
    models = literal.csda_bank(X, given["y"], rank=int(np.ceil(np.sqrt(X.shape[1]))), ridge=0.01)
    return _named(SOME, [[models[number]] for number in SOME])


def tenfold_tensor_bank(given: Given) -> Answer:
    projector = MCSDA(given["ranks"], max_iter=ROUNDS, tol=0.0, **PAPER)
    bank = ClassSpecificClassifier(projector).fit(given["X"], given["y"])
    return {"spreads": bank.spreads_}


def ridge(given: Given) -> Answer:
    """scikit-learn's ridge regression of the labels: a classifier, but no subspaces."""
    flat_samples = given["X"].reshape(len(given["X"]), -1)
    return {"ridge": RidgeClassifier().fit(flat_samples, given["y"]).intercept_}


class DirectHODA(HODA):
    """Every mode once, as it sees the samples: what TULCA solves by default."""

    _alternates = False


def tenfold_hoda(given: Given, method: Any = HODA) -> Answer:
    model = method(given["ranks"], ridge=0.0, max_iter=ROUNDS, tol=0.0)
    return subspaces(model.fit(given["X"], given["y"]).projections_)


def literal_hoda(given: Given, alternate: bool = True) -> Answer:
    ranks = given["ranks"]
    return subspaces(literal.hoda(given["X"], given["y"], ranks, ROUNDS, alternate))


def tulca(given: Given) -> Answer:
    return subspaces(peers.tulca(given["X"], given["y"], given["ranks"]))


def tenfold_classifier(given: Given) -> Answer:
    ProbabilisticLDA().fit(given["X"], given["y"])
    return {}


def classifier(given: Given, estimator: Any) -> Answer:
    """A classifier, or a covariance, of scikit-learn on flat samples."""
    clone(estimator).fit(given["X"].reshape(len(given["X"]), -1), given["y"])
    return {}


def fitted(given: Given, estimator: Any) -> Answer:
    """One fit of an estimator of tenfold."""
    clone(estimator).fit(given["X"], given["y"])
    return {}


def four_batches(given: Given, estimator: Any) -> Answer:
    """The same samples as a stream of four batches, with a model after each."""
    model, labels = clone(estimator), np.unique(given["y"])
    for X, y in zip(np.array_split(given["X"], 4), np.array_split(given["y"], 4), strict=True):
        model.partial_fit(X, y, classes=labels)
    return {}


def verifier(given: Given, projector: Any) -> Answer:
    """One class, with a threshold from samples that were held out."""
    ClassSpecificVerifier(clone(projector), positive=given["y"][0]).fit(given["X"], given["y"])
    return {}


def tenfold_scores(given: Given) -> Answer:
    return {"distances": given["bank"].distances(given["X"])[:100]}


def literal_scores(given: Given) -> Answer:
    """Every model by itself: X x_1 W_1^T x_2 W_2^T about the mean, and the norm."""
    columns = []
    for member in given["bank"].projectors_:
        W, V = member.projections_
        Y = W.T @ (given["X"] - member.mean_) @ V
        columns.append(np.sqrt((Y**2).sum(axis=(1, 2))))
    return {"distances": np.stack(columns, axis=1)[:100]}


def products_of_the_same_size(given: Given) -> Answer:
    """Square products of as many flops as scoring needs: the machine's rate for them."""
    n, m, r, (I, J) = len(given["X"]), len(given["bank"].projectors_), 7, (40, 30)
    flops = 2.0 * n * m * r * (I * J + min(I, J) * r)
    A = np.random.default_rng(0).normal(size=(1500, 1500))
    for _ in range(max(1, round(flops / (2 * 1500**3)))):
        A @ A
    return {}


def thousand_single_scores(given: Given) -> Answer:
    """A thousand calls with one sample each; times are per call."""
    member, x = given["bank"].projectors_[0], given["X"][:1]
    for _ in range(1000):
        member.decision_function(x)
    return {}


def tenfold_flat_pca(given: Given) -> Answer:
    return subspaces(MPCA(given["rank"]).fit(given["X"]).projections_)


def tenfold_flat_lda(given: Given) -> Answer:
    model = CMDA(len(np.unique(given["y"])) - 1, ridge=0.0)
    return subspaces(model.fit(given["X"], given["y"]).projections_)
