"""What is measured: every job, who does it, and how far two answers may lie apart.

The first contestant is tenfold; nobody's time is reported unless the answer agrees with its.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import contestants as who
import literal
import peers
from sklearn.covariance import LedoitWolf
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import RidgeClassifier
from sklearn.svm import SVC

from tenfold import CSDA, MCSDA, ClassSpecificClassifier, ProbabilisticLDA, RankSearchCV


@dataclass(frozen=True)
class Job:
    """A job and its contestants.

    `prepare(**size)` makes the data. `share` is the part of the job that a contestant really
    does: its time is divided by it, and the page says so. `calls` is how often a contestant does
    the whole job in one measurement.
    """

    title: str
    prepare: Callable[..., who.Given]
    contestants: dict[str, Callable[[who.Given], who.Answer]]
    size: dict[str, Any] = field(default_factory=dict)
    tolerance: float = 1e-6
    share: dict[str, float] = field(default_factory=dict)
    calls: int = 1
    limits: tuple[str, ...] = ()  # contestants that do not answer, but show what is possible
    approximate: tuple[str, ...] = ()  # contestants that do not claim to find the answer exactly


def mpca_by(peer: Callable[..., Any]) -> Callable[[who.Given], who.Answer]:
    return lambda given: who.subspaces(peer(given["X"], given["ranks"], who.ROUNDS))


MPCA = {
    "tenfold": who.tenfold_mpca,
    "pyKale": mpca_by(peers.pykale_mpca),
    "TensorLy": mpca_by(peers.tensorly_partial_tucker),
    "X^T X alone": who.blocked_product,
}
SQUARE_RANKS = [(r, r) for r in range(2, 21)]
EVERY_SIXTEENTH = list(range(3, 40 * 19, 16))
BOOK_RANKS = [(r, s) for r in (15, 30, 45, 60) for s in (2, 4, 6, 8)]
# The cost of a fit grows evenly with both ranks, so one in the middle costs what most do.
MIDDLE = [3 * BOOK_RANKS.index((30, 4)) + 2]


LITERAL = ("literal", "literal, tuned")
# Each finds something else; what they are worth on new samples is on the page of answers.
CLASSIFIERS = {
    "LDA with shrinkage": partial(
        who.classifier, estimator=LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")
    ),
    "LedoitWolf alone": partial(who.classifier, estimator=LedoitWolf()),
    "SVC": partial(who.classifier, estimator=SVC()),
    "RidgeClassifier": partial(who.classifier, estimator=RidgeClassifier()),
}


def grids(ranks: list[tuple[int, ...]], shown: list[int]) -> dict[str, Any]:
    alike = {"grid": ranks, "shown": shown}
    return {
        "tenfold": partial(who.tenfold_grid, **alike),
        "literal": partial(who.literal_grid, **alike),
        "literal, tuned": partial(who.literal_grid, algorithm=literal.mcsda, **alike),
    }


def without(contestants: dict[str, Any], slower: str) -> dict[str, Any]:
    """Those whose time is not reported at a size where it would take minutes to be the slower."""
    return {name: contestant for name, contestant in contestants.items() if name != slower}


def beside(tenfold: Any, name: str, other: Any) -> dict[str, Any]:
    """What costs more than one fit, and that fit: a limit, since it answers less."""
    return {"contestants": {"tenfold": tenfold, name: other}, "limits": (name,)}


def fit_of(estimator: Any) -> Any:
    return partial(who.fitted, estimator=estimator)


BANK = ClassSpecificClassifier(MCSDA())
UNSTRUCTURED = ProbabilisticLDA(["numbers", "units", "length", "rbf"])
SIX_RANKS = [(r, s) for r in (3, 5) for s in (3, 5, 7)]

JOBS = {
    "mcsda": Job(
        "One MCSDA fit, 10 000 samples of 144×10 → 60×8",
        who.planted,
        {
            "tenfold": who.tenfold_mcsda,
            "literal": who.literal_mcsda,
            "literal, tuned": partial(who.literal_mcsda, algorithm=literal.mcsda),
            "X^T X alone": who.blocked_product,
        },
        {"n": 10_000, "shape": (144, 10), "ranks": (60, 8), "n_classes": 3},
        limits=("X^T X alone",),
    ),
    "mpca-5000": Job(
        "MPCA, 5000 samples of 40×30 → 7×7",
        who.planted,
        MPCA,
        {"n": 5000, "shape": (40, 30), "ranks": (7, 7)},
        limits=("X^T X alone",),
    ),
    "faces": Job(
        "The ORL bank: 40 persons × ranks 2…20, 200 images of 40×30",
        who.faces,
        grids(SQUARE_RANKS, EVERY_SIXTEENTH)
        | {"eigenproblems alone": partial(who.eigenproblems_alone, n_models=40 * 19)},
        {"shape": (40, 30)},
        limits=("eigenproblems alone",),
        share=dict.fromkeys(LITERAL, len(EVERY_SIXTEENTH) / (40 * len(SQUARE_RANKS))),
    ),
    "order-book": Job(
        "The FI-2010 grid: 3 classes × 16 pairs of ranks, 39 467 windows of 144×10",
        who.order_book,
        without(grids(BOOK_RANKS, MIDDLE), "literal")
        | {"eigenproblems alone": partial(who.eigenproblems_alone, n_models=3 * len(BOOK_RANKS))},
        {},
        # The levels of an order book are nearly collinear: rounding moves subspaces by 1e-8 when
        # the literal algorithm sees its samples in another order, and by 1e-5 between the two.
        tolerance=1e-3,
        limits=("eigenproblems alone",),
        share={"literal, tuned": len(MIDDLE) / (3 * len(BOOK_RANKS))},
    ),
    "one-pass": Job(
        "One MCSDA fit, 60 000 samples of 144×10 in float32 → 60×8",
        who.planted,
        {"tenfold": who.tenfold_mcsda, "X^T X alone": who.blocked_product},
        {"n": 60_000, "shape": (144, 10), "ranks": (60, 8), "n_classes": 3, "dtype": "float32"},
        limits=("X^T X alone",),
    ),
    "large-faces": Job(
        "One CSDA fit, 200 faces of 112×92 (vectors of 10 304)",
        who.faces,
        {"tenfold": who.tenfold_csda},
        {"shape": (112, 92)},
    ),
    "vector-bank": Job(
        "A bank of CSDA: 120 classes, 840 samples of 50×40",
        who.planted,
        {
            "tenfold": who.tenfold_vector_bank,
            "class by class": who.literal_vector_bank,
            "RidgeClassifier": who.ridge,
        },
        {"n": 840, "shape": (50, 40), "ranks": (16, 14), "n_classes": 120},
        limits=("RidgeClassifier",),
    ),
    "tensor-bank": Job(
        "A bank of MCSDA: 71 classes, 731 samples of 32×22×10 → 7×7×5",
        who.planted,
        {"tenfold": who.tenfold_tensor_bank, "RidgeClassifier": who.ridge},
        {"n": 731, "shape": (32, 22, 10), "ranks": (7, 7, 5), "n_classes": 71},
        limits=("RidgeClassifier",),
    ),
    "hoda": Job(
        "HODA, 5000 samples of 40×30 in 10 classes → 7×7",
        who.planted,
        {
            "tenfold": who.tenfold_hoda,
            "from its paper, tuned": who.literal_hoda,
            "X^T X alone": who.blocked_product,
        },
        {"n": 5000, "shape": (40, 30), "ranks": (7, 7)},
        limits=("X^T X alone",),
    ),
    "tulca": Job(
        "The trace ratio of each mode by itself, 5000 samples of 40×30 → 7×7",
        who.planted,
        {
            "tenfold": partial(who.tenfold_hoda, method=who.DirectHODA),
            "TULCA": who.tulca,
            "from its paper, tuned": partial(who.literal_hoda, alternate=False),
        },
        {"n": 5000, "shape": (40, 30), "ranks": (7, 7)},
    ),
    "classifiers": Job(
        "A classifier of 40 persons, 200 images of 40×30: ProbabilisticLDA and others",
        who.faces,
        {"tenfold": who.tenfold_classifier} | CLASSIFIERS,
        {"shape": (40, 30)},
        limits=tuple(CLASSIFIERS),
    ),
    "stream": Job(
        "ProbabilisticLDA in four batches, 380 samples of 16×16 in 38 classes",
        who.planted,
        size={"n": 380, "shape": (16, 16), "ranks": (5, 5), "n_classes": 38},
        **beside(
            partial(who.four_batches, estimator=ProbabilisticLDA()),
            "one fit",
            fit_of(ProbabilisticLDA()),
        ),
    ),
    "search": Job(
        "RankSearchCV of a bank of MCSDA, 6 candidates, 5 folds, 1797 digits",
        who.digits,
        **beside(fit_of(RankSearchCV(BANK, SIX_RANKS, cv=5)), "one fit", fit_of(BANK)),
    ),
    "verifier": Job(
        "A verifier of one of 40 persons, MCSDA, 200 images of 40×30",
        who.faces,
        size={"shape": (40, 30)},
        **beside(
            partial(who.verifier, projector=MCSDA()),
            "bank of all persons",
            fit_of(ClassSpecificClassifier(MCSDA())),
        ),
    ),
    "large-verifier": Job(
        "A verifier of one of 10 classes, CSDA, a million samples of 20 numbers",
        who.planted,
        size={"n": 1_000_000, "shape": (20,), "ranks": (6,)},
        **beside(
            partial(who.verifier, projector=CSDA()),
            "bank of all classes",
            fit_of(ClassSpecificClassifier(CSDA())),
        ),
    ),
    "automatic-bank": Job(
        "A bank of CSDA that chooses its shrinkage: 120 classes, 840 samples of 50×40",
        who.planted,
        size={"n": 840, "shape": (50, 40), "ranks": (16, 14), "n_classes": 120},
        **beside(
            fit_of(ClassSpecificClassifier(CSDA(shrinkage="auto"))),
            "a number",
            fit_of(ClassSpecificClassifier(CSDA(shrinkage=0.5))),
        ),
    ),
    "structure": Job(
        "ProbabilisticLDA with its Kronecker view, 300 samples of 24×51 in 5 classes",
        who.planted,
        size={"n": 300, "shape": (24, 51), "ranks": (5, 8), "n_classes": 5},
        **beside(fit_of(ProbabilisticLDA()), "without that view", fit_of(UNSTRUCTURED)),
    ),
    "scoring": Job(
        "Scoring 30 000 samples of 40×30 against 40 subspaces of 7×7",
        who.bank_and_samples,
        {
            "tenfold": who.tenfold_scores,
            "literal": who.literal_scores,
            "products alone": who.products_of_the_same_size,
            "one read": who.one_read,
        },
        {"n": 30_000},
        tolerance=1e-9,
        limits=("products alone", "one read"),
    ),
    "one-sample": Job(
        "Scoring one sample of 40×30 against one subspace of 7×7",
        who.bank_and_samples,
        {"tenfold": who.thousand_single_scores},
        {"n": 400},
        calls=1000,
    ),
}
