"""Banks, searches and shrinkage on the paper's data: what was promised holds there too.

ORL: 40 persons, 10 images each, 40 x 30; splits are those of `python -m paper orl`, seed 0.
FI-2010: windows of 144 features x 10 blocks; train on days 1 to k, test on day k + 1.
``--junitxml=file -o junit_family=xunit1`` keeps the figures.
"""

import warnings

import numpy as np
import pytest
from scipy.linalg import LinAlgWarning
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import RidgeClassifier
from sklearn.metrics import average_precision_score, f1_score
from sklearn.model_selection import GridSearchCV, PredefinedSplit, StratifiedKFold

from paper.faces import stratified_split
from paper.fi2010 import fi2010_fold
from paper.orl import load_orl
from reference import distance
from tenfold import (
    CSDA,
    MCSDA,
    ClassSpecificClassifier,
    ClassSpecificVerifier,
    RankSearchCV,
    mean_average_precision,
)

pytestmark = pytest.mark.realdata

PAPER_LAMBDA = ("absolute", 0.01)
PAPER = {"ridge": PAPER_LAMBDA, "decision": "distance"}
# Table 1 of the paper, in percent, by share of the images for training.
PAPER_CSDA = {0.2: 87.08, 0.25: 91.42, 0.35: 93.72, 0.5: 97.81}
PAPER_MCSDA = {0.2: 84.73, 0.25: 87.65, 0.35: 92.05, 0.5: 95.69}


@pytest.fixture(scope="module")
def faces(data_root):
    if not (data_root / "orl").is_dir():
        pytest.skip(f"no ORL faces in {data_root}")
    loaded = load_orl(data_root)
    return np.asarray(loaded.X, dtype=float), np.asarray(loaded.y)


@pytest.fixture(autouse=True)
def _rounds_are_counted_not_waited_for():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # 20 rounds, as in the paper
        warnings.simplefilter("ignore", LinAlgWarning)  # order-book features are nearly collinear
        warnings.filterwarnings("ignore", "The number of unique classes")  # one image per person
        yield


def split_of(faces, share, number):
    """(X, y, X_test, y_test) of one of the five splits."""
    X, y = faces
    rng = np.random.default_rng([0, round(1000 * share), number])
    train, test = stratified_split(y, share, rng)
    return X[train], y[train], X[test], y[test]


def inner_folds(y):
    """Two folds of the training images; with two images per person each side has one."""
    return StratifiedKFold(2, shuffle=True, random_state=0)


# ── The stack and the search ────────────────────────────────────────────────────────────────────


def test_each_person_of_the_bank_is_the_person_fitted_alone(faces):
    X, y, *_ = split_of(faces, 0.5, 0)
    for projector in (
        MCSDA(ranks=(7, 7), ridge=PAPER_LAMBDA, max_iter=5),
        MCSDA(ranks=(9, 5), ridge=PAPER_LAMBDA, shrinkage="auto", max_iter=5),
        CSDA(ranks=25, ridge=PAPER_LAMBDA, shrinkage=0.5),
    ):
        bank = ClassSpecificClassifier(projector).fit(X, y)
        for c in (0, 17, 39):
            alone = clone(projector).set_params(positive=bank.classes_[c]).fit(X, y)
            assert distance(bank.projectors_[c].projections_, alone.projections_) <= 1e-8


@pytest.mark.parametrize(
    "estimator",
    [
        MCSDA(ridge=PAPER_LAMBDA, positive="s7", max_iter=5),
        ClassSpecificClassifier(MCSDA(ridge=PAPER_LAMBDA, max_iter=3)),
        ClassSpecificVerifier(MCSDA(ridge=PAPER_LAMBDA, max_iter=3), positive="s7", cv=2),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
@pytest.mark.filterwarnings("ignore::tenfold.RateWarning")  # ten classes promise no 1 %
def test_the_search_gives_the_scores_of_a_grid_search(faces, estimator):
    X, y, *_ = split_of(faces, 0.5, 0)
    some = np.isin(y, np.unique(y)[:: 1 if isinstance(estimator, MCSDA) else 4]) | (y == "s7")
    X, y = X[some], y[some]
    prefix = "" if isinstance(estimator, MCSDA) else "projector__"
    grid = {"ranks": [(4, 4), (9, 7)], "shrinkage": [0.0, 0.5]}
    folds = inner_folds(y)
    ours = RankSearchCV(estimator, **grid, cv=folds).fit(X, y)
    long = {prefix + name: values for name, values in grid.items()}
    theirs = GridSearchCV(estimator, long, cv=folds, error_score="raise").fit(X, y)
    order = [theirs.cv_results_["params"].index(p) for p in ours.cv_results_["params"]]
    for f in range(2):
        key = f"split{f}_test_score"
        gap = np.abs(ours.cv_results_[key] - theirs.cv_results_[key][order]).max()
        assert gap <= 1e-8


# ── Shrinkage, chosen on the training images alone ──────────────────────────────────────────────


@pytest.mark.slow
@pytest.mark.parametrize("share", PAPER_CSDA)
def test_csda_with_shrinkage_reaches_the_paper(faces, share, record_property):
    found = []
    for number in range(5):
        X, y, X_test, y_test = split_of(faces, share, number)
        search = RankSearchCV(
            ClassSpecificClassifier(CSDA(**PAPER)),
            ranks=[20, 10, 30, 40],
            shrinkage=[0.5, 0.25, 0.75],
            cv=inner_folds(y),
            scoring=mean_average_precision,
        ).fit(X, y)
        found.append(100 * search.score(X_test, y_test))
    record_property("mAP", np.round([np.mean(found), *found], 2).tolist())
    assert np.mean(found) >= PAPER_CSDA[share]


@pytest.mark.slow
@pytest.mark.parametrize("share", PAPER_MCSDA)
def test_mcsda_with_shrinkage_reaches_the_paper(faces, share, record_property):
    """The shrinkage is chosen on inner folds; no rank is, as distances are averaged over three.

    With two images per person the inner folds have one each and no in-class scatter, so that
    all shrinkages tie; the first of them is taken then.
    """
    ranks, shrinkages, found = [(6, 6), (10, 10), (16, 16)], [0.3, 0.6], []
    for number in range(5):
        X, y, X_test, y_test = split_of(faces, share, number)
        search = RankSearchCV(
            ClassSpecificClassifier(MCSDA(max_iter=5, **PAPER)),
            ranks=ranks,
            shrinkage=shrinkages,
            cv=inner_folds(y),
            scoring=mean_average_precision,
            refit=False,
        ).fit(X, y)
        by_rank = search.cv_results_["mean_test_score"].reshape(len(ranks), len(shrinkages))
        best = shrinkages[int(np.argmax(np.round(by_rank.mean(axis=0), 6)))]
        projectors = [MCSDA(r, shrinkage=best, **PAPER) for r in ranks]
        banks = [ClassSpecificClassifier(projector).fit(X, y) for projector in projectors]
        distances = np.mean([bank.distances(X_test) for bank in banks], axis=0)
        precisions = [
            average_precision_score(y_test == person, -distances[:, c])
            for c, person in enumerate(banks[0].classes_)
        ]
        found.append(100 * np.mean(precisions))
    record_property("mAP", np.round([np.mean(found), *found], 2).tolist())
    assert np.mean(found) >= PAPER_MCSDA[share]


# ── The order book ──────────────────────────────────────────────────────────────────────────────


def held_out(train):
    """The last training day, or the last fifth of every stock's day when there is one day only."""
    if len(np.unique(train.groups)) > 1:
        return train.groups == train.groups.max()
    late = np.zeros(len(train.y), dtype=bool)
    stocks = train.sample_info["stock"]
    for stock in np.unique(stocks):
        windows = np.flatnonzero(stocks == stock)
        late[windows[int(0.8 * len(windows)) :]] = True
    return late


def macro_f1(y, predicted):
    return 100 * f1_score(y, predicted, average="macro")


@pytest.mark.slow
def test_the_normalised_bank_finds_movements_that_others_miss(data_root, record_property):
    """Mean macro F1 over folds 1 to 3, against the paper's distance and linear classifiers.

    The bank's ranks are chosen on the training days. Those of the paper's plain distance, with
    orthonormal columns and lambda 0.01, are the best on the test day: even so it falls behind.
    Columns that keep the scale of the ratio trace have the spread in them already, and with it
    the size of the class, so plain distances do as well there; this is recorded beside the rest.
    """
    if not list((data_root / "fi2010").glob("*")):
        pytest.skip(f"no FI-2010 in {data_root}")
    linear = {
        "ridge": RidgeClassifier(),
        "balanced ridge": RidgeClassifier(class_weight="balanced"),
        "LDA": LinearDiscriminantAnalysis(),
        "LDA, equal priors": LinearDiscriminantAnalysis(priors=np.full(3, 1 / 3)),
    }
    found, in_scale = {name: [] for name in ("bank", "plain distance", *linear)}, []
    for k in (1, 2, 3):
        train, test = fi2010_fold(k, data_root)
        search = RankSearchCV(
            ClassSpecificClassifier(
                MCSDA(
                    decision="distance", orthonormal=False, ridge=1e-3, shrinkage=0.0, max_iter=10
                ),
                normalise="own",
            ),
            ranks=[(40, 1), (50, 1), (60, 1), (50, 2)],
            cv=PredefinedSplit(np.where(held_out(train), 0, -1)),
            scoring="f1_macro",
        ).fit(train.X, train.y)
        found["bank"].append(macro_f1(test.y, search.predict(test.X)))
        scaled = clone(search.best_estimator_).set_params(normalise=False)
        moments = search.best_estimator_.moments_
        in_scale.append(macro_f1(test.y, scaled.fit_moments(moments).predict(test.X)))
        plain = [
            ClassSpecificClassifier(MCSDA(r, shrinkage=0.0, max_iter=10, **PAPER), normalise=False)
            for r in [(10, 2), (30, 2), (60, 1)]
        ]
        tried = [macro_f1(test.y, bank.fit_moments(moments).predict(test.X)) for bank in plain]
        found["plain distance"].append(max(tried))
        for name, model in linear.items():
            model.fit(train.X.last_blocks, train.y)
            found[name].append(macro_f1(test.y, model.predict(test.X.last_blocks)))
    mean = {name: float(np.mean(scores)) for name, scores in found.items()}
    for name, scores in found.items():
        record_property(name, np.round([mean[name], *scores], 2).tolist())
    record_property("plain, scaled", np.round([np.mean(in_scale), *in_scale], 2).tolist())
    others = [score for name, score in mean.items() if name != "bank"]
    assert mean["bank"] > max(others) + 5
    assert mean["bank"] >= 50
