"""The rank search gives what GridSearchCV gives, from one reading of the data."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer, make_scorer, roc_auc_score
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    PredefinedSplit,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
)
from sklearn.pipeline import Pipeline, make_pipeline

from reference import problem
from tenfold import (
    CMDA,
    CSDA,
    DATER,
    MCSDA,
    MPCA,
    ClassSpecificClassifier,
    ClassSpecificVerifier,
    KernelCSDA,
    ProbabilisticLDA,
    RankSearchCV,
)
from tenfold.selection.rank_search import NearestMean, rank_ladder, search_ranks
from tenfold.statistics import cost as folds_module
from ways import without_tables

DIGITS, TARGET = load_digits().images[:700] / 16, load_digits().target[:700]
X, y = problem((5, 4), classes=3, per_class=20, seed=6, spread=0.5)
RANKS = [(1, 1), (2, 3), (5, 4)]


def nearest_mean(estimator, X, y):
    """How often the nearest class mean of the projected test samples is the right one."""
    Y = estimator.transform(X).reshape(len(X), -1)
    means = np.stack([Y[y == c].mean(axis=0) for c in np.unique(y)])
    nearest = ((Y[:, None] - means) ** 2).sum(axis=2).argmin(axis=1)
    return float(np.mean(np.unique(y)[nearest] == y))


def captured(estimator, X, y=None):
    """Minus the mean square that the subspace loses."""
    back = estimator.inverse_transform(estimator.transform(X)).reshape(len(X), -1)
    return -float(((X.reshape(len(X), -1) - back) ** 2).mean())


ESTIMATORS = {
    "MCSDA": (MCSDA(positive=1, max_iter=3), None),
    "CSDA": (CSDA(positive=1, decision="distance"), None),
    "CMDA": (CMDA(max_iter=3), nearest_mean),
    "DATER": (DATER(max_iter=3), nearest_mean),
    "MPCA": (MPCA(max_iter=3), captured),
    "bank": (ClassSpecificClassifier(MCSDA(max_iter=3)), None),
    "plain bank": (ClassSpecificClassifier(MCSDA(max_iter=3), normalize=False), "f1_macro"),
    "bank of vectors": (ClassSpecificClassifier(CSDA(decision="distance")), "balanced_accuracy"),
    "bank with a second classifier": (
        ClassSpecificClassifier(MCSDA(max_iter=3), classifier=LogisticRegression()),
        "neg_log_loss",
    ),
    "verifier": (
        ClassSpecificVerifier(MCSDA(max_iter=3), positive=1, false_accept_rate=0.5, cv=3),
        None,
    ),
}
each_estimator = pytest.mark.parametrize("name", ESTIMATORS)
LONG_VERIFIER = pytest.param("verifier", marks=pytest.mark.long)  # a search in a search


def both_searches(name, X, y, cv, *, groups=None, **grid):
    """Our search and scikit-learn's over the same candidates and folds."""
    estimator, scoring = ESTIMATORS[name]
    prefix = "" if hasattr(estimator, "ranks") else "projector__"
    long = {prefix + key: values for key, values in grid.items()}
    ours = RankSearchCV(estimator, cv=cv, scoring=scoring, **grid)
    theirs = GridSearchCV(estimator, long, cv=cv, scoring=scoring, error_score="raise")
    return (
        ours.fit(X, y, groups=groups),
        theirs.fit(X, y, groups=groups),
    )


def assert_same(ours, theirs, tolerance=1e-8):
    """Every fold's score of every candidate, and everything that follows."""
    assert ours.n_splits_ == theirs.n_splits_
    for f in range(ours.n_splits_):
        key = f"split{f}_test_score"
        gap = np.abs(ours.cv_results_[key] - theirs.cv_results_[key][order(ours, theirs)]).max()
        assert gap <= tolerance
    assert len(ours.cv_results_["params"]) == len(theirs.cv_results_["params"])
    assert ours.best_score_ == pytest.approx(theirs.best_score_, abs=tolerance)
    assert set(ours.cv_results_) == set(theirs.cv_results_)


def order(ours, theirs):
    """Where each of our candidates stands among theirs, whose names are sorted."""
    return [theirs.cv_results_["params"].index(p) for p in ours.cv_results_["params"]]


# ── The same answer ─────────────────────────────────────────────────────────────────────────────


@each_estimator
def test_the_answer_is_that_of_a_grid_search(name):
    ranks = [2, 6] if name in ("CSDA", "bank of vectors") else RANKS
    ranks = RANKS[:2] if name == "verifier" else ranks  # it takes longer
    ours, theirs = both_searches(name, X, y, StratifiedKFold(3), ranks=ranks)
    assert_same(ours, theirs)
    assert ours.best_params_ == theirs.best_params_
    assert ours.best_index_ == theirs.best_index_
    np.testing.assert_array_equal(
        ours.cv_results_["rank_test_score"], theirs.cv_results_["rank_test_score"]
    )
    for method in ("predict", "decision_function", "transform", "predict_proba"):
        assert hasattr(ours, method) == hasattr(theirs, method)
        if hasattr(ours, method):
            expected = getattr(theirs, method)(X)
            np.testing.assert_allclose(getattr(ours, method)(X), expected, atol=1e-8)


@pytest.mark.parametrize("name", ["CSDA", "bank"])
def test_the_answer_is_that_of_a_grid_search_on_digits(name):
    ranks = [4, 20] if name == "CSDA" else [(2, 2), (5, 3), (7, 7)]
    ours, theirs = both_searches(name, DIGITS, TARGET, 3, ranks=ranks)
    assert_same(ours, theirs)
    assert ours.best_params_ == theirs.best_params_
    expected = theirs.best_estimator_
    found = ours.best_estimator_
    for method in ("decision_function", "transform"):
        if hasattr(expected, method):
            np.testing.assert_allclose(
                getattr(found, method)(DIGITS), getattr(expected, method)(DIGITS), atol=1e-8
            )


@pytest.mark.parametrize("name", ["MCSDA", "bank", LONG_VERIFIER])
def test_ridges_and_shrinkages_are_searched_too(name):
    grid = {
        "ranks": [(2, 2), (4, 3)],
        "ridge": [1e-3, ("absolute", 0.1)],
        "shrinkage": [0.0, 0.5, "auto"],
    }
    ours, theirs = both_searches(name, X, y, StratifiedKFold(3), **grid)
    assert len(ours.cv_results_["params"]) == 12
    assert_same(ours, theirs)


def test_every_class_may_have_ranks_of_its_own():
    maps = [{0: 1, 1: (2, 3), 2: (5, 4)}, {0: 3, 1: 3, 2: 3}]
    ours, theirs = both_searches("bank", X, y, 3, ranks=maps)
    assert_same(ours, theirs)


@pytest.mark.parametrize("name", ["MCSDA", "bank", LONG_VERIFIER])
@pytest.mark.parametrize(
    "cv",
    [
        TimeSeriesSplit(3),
        ShuffleSplit(6, random_state=1),
        RepeatedStratifiedKFold(n_splits=2, n_repeats=2, random_state=1),
        PredefinedSplit(np.where(np.arange(len(X)) < 40, -1, 0)),
        [(np.arange(0, 40), np.arange(40, 63)), (np.arange(20, 63), np.arange(20))],
    ],
    ids=["time", "shuffled", "repeated", "predefined", "listed"],
)
@pytest.mark.filterwarnings(
    "ignore::tenfold.FalseAcceptRateWarning"
)  # few samples promise no small rate
def test_any_folds_will_do(name, cv):
    ours, theirs = both_searches(name, X, y, cv, ranks=RANKS[:2])
    assert_same(ours, theirs)


@pytest.mark.parametrize("name", ["MCSDA", "bank"])
@pytest.mark.parametrize("cv", [GroupKFold(3), LeaveOneGroupOut()], ids=["k", "one"])
def test_groups_stay_together(name, cv):
    groups = np.arange(len(X)) % 4
    ours, theirs = both_searches(name, X, y, cv, groups=groups, ranks=RANKS[:2])
    assert_same(ours, theirs)


@pytest.mark.parametrize("name", ["MCSDA", "bank", "plain bank"])
def test_weights_count_in_fitting_and_for_scorers_that_take_them(name):
    weight = np.random.default_rng(2).uniform(0.1, 2, len(X))
    estimator, scoring = ESTIMATORS[name]
    prefix = "" if hasattr(estimator, "ranks") else "projector__"
    folds = StratifiedKFold(3)
    ours = RankSearchCV(estimator, RANKS[:2], cv=folds, scoring=scoring).fit(X, y, weight)
    for f, (train, test) in enumerate(folds.split(X, y)):
        for c, ranks in enumerate(RANKS[:2]):
            alone = clone(estimator).set_params(**{prefix + "ranks": ranks})
            alone.fit(X[train], y[train], weight[train])
            if scoring is None:
                expected = alone.score(X[test], y[test], weight[test])
            elif isinstance(scoring, str):
                weighs = {"sample_weight": weight[test]}
                expected = get_scorer(scoring)(alone, X[test], y[test], **weighs)
            else:
                expected = scoring(alone, X[test], y[test])
            assert ours.cv_results_[f"split{f}_test_score"][c] == pytest.approx(expected, abs=1e-8)


def test_vectors_with_fewer_samples_than_numbers_are_searched_in_their_span():
    few = np.random.default_rng(0).normal(size=(24, 60)) + 0.3 * np.repeat([0, 1, 2], 8)[:, None]
    labels = np.repeat([0, 1, 2], 8)
    ours, theirs = both_searches("CSDA", few, labels, StratifiedKFold(4), ranks=[1, 5, 40])
    assert_same(ours, theirs)


def test_a_callable_may_choose():
    def fewest(results):
        return int(np.argmin([np.prod(p["ranks"]) for p in results["params"]]))

    search = RankSearchCV(MCSDA(positive=1, tol=10.0), RANKS[::-1], cv=3, refit=fewest).fit(X, y)
    assert search.best_params_ == {"ranks": (1, 1)}
    assert search.best_estimator_.ranks_ == (1, 1)
    with pytest.raises(ValueError, match=r"refit chose candidate 7, but there are 3"):
        RankSearchCV(MCSDA(positive=1), RANKS, cv=3, refit=lambda results: 7).fit(X, y)


def test_without_refit_there_are_results_only():
    search = RankSearchCV(MCSDA(positive=1, tol=10.0), RANKS, cv=3, refit=False).fit(X, y)
    assert search.best_params_["ranks"] in RANKS
    assert not hasattr(search, "best_estimator_")
    with pytest.raises(NotFittedError):
        search.transform(X)


def test_processes_that_share_the_folds_give_the_same_answer():
    bank = ClassSpecificClassifier(MCSDA(max_iter=3), classifier=LogisticRegression())
    alone = RankSearchCV(bank, RANKS, cv=3).fit(X, y)
    shared = RankSearchCV(bank, RANKS, cv=3, n_jobs=2).fit(X, y)
    scores = [search.cv_results_["mean_test_score"] for search in (alone, shared)]
    np.testing.assert_array_equal(*scores)


# ── One reading, stacks ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", ["MCSDA", "bank"])
def test_a_search_through_samples_is_a_grid_search(name):
    with without_tables(X.shape[1:]):
        assert_same(*both_searches(name, X, y, StratifiedKFold(3), ranks=RANKS))


# ── Bad input ───────────────────────────────────────────────────────────────────────────────────


def test_a_class_missing_from_a_fold_is_unknown_there_as_in_a_grid_search():
    rare = np.where(np.arange(len(y)) < 2, 3, y)  # both samples of class 3 in the first fold
    ours, theirs = both_searches("bank", X, rare, KFold(3), ranks=RANKS[:2])
    assert_same(ours, theirs)
    assert ours.classes_.tolist() == [0, 1, 2, 3]


def test_a_positive_class_missing_from_a_fold_is_an_error_that_says_so():
    order = np.argsort(y, kind="stable")
    with pytest.raises(
        ValueError, match=r"fold 0 cannot be scored: .*positive.*not among the labels.*Stratified"
    ):
        RankSearchCV(MCSDA(positive=0), RANKS, cv=KFold(3)).fit(X[order], y[order])
    test = np.flatnonzero(y != 0)[:10]
    split = [(np.setdiff1d(np.arange(len(y)), test), test)]
    with pytest.raises(
        ValueError, match=r"fold 0 .* no sample of the positive class .*0.* to score"
    ):
        RankSearchCV(MCSDA(positive=0), RANKS, cv=split).fit(X, y)


def test_a_class_with_fewer_samples_than_folds_is_warned_of():
    rare = np.where(np.arange(len(y)) < 2, 3, y)
    model = ClassSpecificClassifier(MCSDA(tol=10.0))
    with pytest.warns(UserWarning, match=r"least populated class in y has only 2 members"):
        search = RankSearchCV(model, RANKS, cv=3).fit(X, rare)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    with pytest.raises(ValueError, match=r"n_splits=30 cannot be greater"):
        RankSearchCV(model, RANKS, cv=30).fit(X, y)


def test_a_score_that_is_not_a_number_is_an_error():
    with pytest.raises(ValueError, match=r"fold 0 cannot be scored: candidate 0 has the score nan"):
        RankSearchCV(MPCA(), RANKS, cv=3, scoring=lambda e, X, y=None: np.nan).fit(X)


def test_unknown_scorings_are_refused():
    bank = ClassSpecificClassifier(MCSDA())
    with pytest.raises(ValueError, match=r"'speed' is not a valid scoring value|scoring.*'speed'"):
        RankSearchCV(bank, RANKS, scoring="speed").fit(X, y)
    with pytest.raises(ValueError, match=r"scoring is \['accuracy', 'f1'\]; expected one scorer"):
        RankSearchCV(bank, RANKS, scoring=["accuracy", "f1"]).fit(X, y)
    with pytest.raises(TypeError, match=r"'score' method"):
        RankSearchCV(CMDA(), RANKS).fit(X, y)


def test_ranks_that_fit_no_mode_are_refused_before_anything_is_read(monkeypatch):
    monkeypatch.setattr(folds_module, "statistics_of", None)
    monkeypatch.setattr(folds_module, "moments_of", None)
    with pytest.raises(ValueError, match=r"rank 6 does not fit mode 0, which has 5 entries"):
        RankSearchCV(MCSDA(), [(2, 2), (6, 2)], cv=3).fit(X, y)
    with pytest.raises(ValueError, match=r"maps .* but not the class"):
        RankSearchCV(ClassSpecificClassifier(MCSDA()), [{0: 2, 1: 2}], cv=3).fit(X, y)


def test_candidates_must_be_there_and_be_known():
    with pytest.raises(ValueError, match=r"no candidates for 'ranks'; pass at least one"):
        RankSearchCV(MCSDA(), [], cv=3).fit(X, y)
    with pytest.raises(ValueError, match=r"Invalid parameter 'ridge' for estimator MPCA"):
        RankSearchCV(MPCA(), RANKS, ridge=[0.1], scoring=captured, cv=3).fit(X)
    with pytest.raises(ValueError, match=r"estimator is LogisticRegression\(\); expected a proj"):
        RankSearchCV(LogisticRegression(), [1]).fit(X, y)
    for other in (ProbabilisticLDA(), make_pipeline(MCSDA(positive=1)), make_pipeline(CMDA())):
        with pytest.raises(ValueError, match=r"expected a projector.* GridSearchCV"):
            RankSearchCV(other, RANKS).fit(X, y)
    with pytest.raises(ValueError, match="refit is 'accuracy'; expected True, False or a callable"):
        RankSearchCV(MCSDA(), RANKS, refit="accuracy").fit(X, y)
    with pytest.raises(ValueError, match=r"cv gives no folds"):
        RankSearchCV(MCSDA(), RANKS, cv=[]).fit(X, y)


@pytest.mark.parametrize("estimator", [MCSDA(positive=1), CSDA(positive=1)])
def test_a_search_without_candidates_has_its_own(estimator):
    order = np.random.default_rng(0).permutation(len(y))
    found = RankSearchCV(estimator).fit(X[order], y[order])
    shape = (20,) if isinstance(estimator, CSDA) else (5, 4)
    tried = [candidate["ranks"] for candidate in found.cv_results_["params"]]
    assert tried == rank_ladder(shape, 4 * len(X) // 5)  # of the smallest training part
    assert found.n_splits_ == 5
    bank = RankSearchCV(ClassSpecificClassifier(estimator.set_params(positive=None))).fit(X, y)
    assert [candidate["projector__ranks"] for candidate in bank.cv_results_["params"]] == tried


def test_ranks_of_a_projector_of_all_classes_are_searched_by_the_nearest_mean():
    search = RankSearchCV(CMDA(max_iter=3), RANKS, cv=StratifiedKFold(3), scoring="nearest_mean")
    ours = search.fit(X, y).cv_results_["mean_test_score"]
    pipeline = Pipeline([("cmda", CMDA(max_iter=3)), ("mean", NearestMean())])
    theirs = GridSearchCV(pipeline, {"cmda__ranks": RANKS}, cv=StratifiedKFold(3)).fit(X, y)
    np.testing.assert_allclose(ours, theirs.cv_results_["mean_test_score"], atol=1e-12)
    with pytest.raises(ValueError, match=r"'nearest_mean', which needs training samples"):
        search.score(X, y)


def test_candidates_may_be_ranges_and_arrays_but_no_single_one():
    model = MCSDA(positive=1, tol=10.0)
    with pytest.raises(ValueError, match=r"ranks is \(2, 3\); expected a list.* pass \[\(2, 3\)\]"):
        RankSearchCV(model, (2, 3), cv=3).fit(X, y)
    listed = RankSearchCV(model, [2, 3], ridge=[0.01, 0.1], cv=3).fit(X, y)
    for ranks in (range(2, 4), np.arange(2, 4), [(2, 2), (3, 3)]):
        other = RankSearchCV(model, ranks, ridge=np.array([0.01, 0.1]), cv=3).fit(X, y)
        np.testing.assert_array_equal(
            other.cv_results_["mean_test_score"], listed.cv_results_["mean_test_score"]
        )


# ── As a scikit-learn estimator ─────────────────────────────────────────────────────────────────


def test_data_frames_are_searched_and_their_names_checked():
    frame = pd.DataFrame(X.reshape(len(X), -1), columns=[f"pixel {i}" for i in range(20)])
    model = ClassSpecificClassifier(MCSDA(sample_shape=(5, 4), tol=10.0))
    ours = RankSearchCV(model, RANKS, cv=3).fit(frame, pd.Series(y))
    theirs = GridSearchCV(model, {"projector__ranks": RANKS}, cv=3).fit(frame, pd.Series(y))
    assert_same(ours, theirs)
    assert ours.feature_names_in_.tolist() == frame.columns.tolist()
    assert ours.best_estimator_.feature_names_in_.tolist() == frame.columns.tolist()
    np.testing.assert_array_equal(ours.predict(frame), theirs.predict(frame))
    with pytest.raises(ValueError, match="feature names"):
        ours.predict(frame.rename(columns={"pixel 0": "other"}))


def test_scorers_see_what_the_user_passed_as_labels():
    labels = np.array(["no", "no", "yes"])[y]
    scorer = make_scorer(roc_auc_score, response_method="decision_function")
    bank = ClassSpecificClassifier(MCSDA(tol=10.0))
    ours = RankSearchCV(bank, RANKS, cv=3, scoring=scorer).fit(X, labels)
    theirs = GridSearchCV(bank, {"projector__ranks": RANKS}, cv=3, scoring=scorer).fit(X, labels)
    assert_same(ours, theirs)
    assert ours.score(X, labels) == pytest.approx(theirs.score(X, labels), abs=1e-12)


def test_of_equal_scores_the_candidate_with_the_most_dimensions_is_the_best():
    """Few positives are often found perfectly by 1 x 1, which says little of new samples."""
    X, y = problem((5, 4), classes=3, seed=50)
    ranks = [(1, 1), (3, 2), (2, 2), (2, 3)]

    def search(score):
        found = RankSearchCV(MCSDA(positive=1), ranks=ranks, cv=3, scoring=score)
        return found.fit(X, y)

    assert search(lambda model, X, y: 1.0).best_params_ == {"ranks": (3, 2)}  # and the first
    # Without ties it is the best one, as in GridSearchCV.
    assert search(lambda model, X, y: -sum(model.ranks_)).best_params_ == {"ranks": (1, 1)}
    shares = RankSearchCV(MCSDA(positive=1), ranks=[0.5, 0.9, None], scoring=lambda m, X, y: 0.0)
    assert shares.fit(X, y).best_params_ == {"ranks": 0.9}


def test_a_further_candidate_takes_no_more_memory_than_a_table_per_class():
    data, labels = problem((64, 8), classes=3, per_class=30, seed=1)
    bank = ClassSpecificClassifier(MCSDA(max_iter=2, tol=1.0))

    def peak(n_candidates):
        ranks = [(2, 2 + c % 2) for c in range(n_candidates)]
        search = RankSearchCV(bank, ranks, cv=KFold(2, shuffle=True, random_state=0), refit=False)
        tracemalloc.start()
        try:
            search.fit(data, labels)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    table = 3 * 64**2 * 8  # bytes: of every class the scatter of the larger mode
    assert peak(40) - peak(20) < 20 * table


@pytest.mark.parametrize("more", [{"n_landmarks": 6}, {"gamma": "scale"}])
@pytest.mark.parametrize("bank", [False, True])
def test_kernels_learn_from_the_training_part_alone(more, bank):
    kernel = KernelCSDA(positive=None if bank else 1, **more)
    estimator = ClassSpecificClassifier(kernel) if bank else kernel
    name = "projector__ranks" if bank else "ranks"
    cv = StratifiedKFold(3)
    ours = RankSearchCV(estimator, [1, 2, 4], cv=cv).fit(X, y)
    theirs = GridSearchCV(estimator, {name: [1, 2, 4]}, cv=cv, error_score="raise").fit(X, y)
    assert_same(ours, theirs)
    best = clone(estimator).set_params(**ours.best_params_).fit(X, y)
    assert_allclose(ours.decision_function(X), best.decision_function(X), atol=1e-8)


@pytest.mark.filterwarnings("ignore::tenfold.FalseAcceptRateWarning")
def test_the_groups_of_a_verifier_reach_its_threshold():
    groups = np.arange(len(X)) % 4
    verifier = ClassSpecificVerifier(MCSDA(max_iter=3), positive=1, false_accept_rate=0.2, cv=3)
    for scoring in (None, "balanced_accuracy"):
        search = RankSearchCV(verifier, [(2, 2)], cv=GroupKFold(2), scoring=scoring)
        found = search.fit(X, y == 1 if scoring else y, groups=groups).best_estimator_
        alone = clone(verifier).set_params(projector__ranks=(2, 2))
        alone.fit(X, y == 1 if scoring else y, groups=groups)
        assert found.threshold_ == pytest.approx(alone.threshold_, rel=1e-8)
        without = clone(alone).fit(X, y == 1 if scoring else y)
        assert found.threshold_ != pytest.approx(without.threshold_, rel=1e-3)
    best, _ = search_ranks(verifier, X, y, GroupKFold(2), groups)
    alone = clone(verifier).set_params(projector__ranks=best.projector.ranks)
    expected = alone.fit(X, y, groups=groups).threshold_
    assert best.threshold_ == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("estimator", [MCSDA(positive="a"), MPCA()])
def test_labels_are_refused_as_fit_refuses_them(estimator):
    words = np.array(["a", "b", "c"])[y].tolist()
    missing = [float("nan"), *words[1:]]
    masked = np.ma.array(y, mask=y == 2)
    with pytest.raises(ValueError, match="contains NaN or None"):
        RankSearchCV(estimator, [(1, 1)], cv=2, scoring=captured).fit(X, missing)
    with pytest.raises(ValueError, match="masked"):
        RankSearchCV(estimator, [(1, 1)], cv=2, scoring=captured).fit(X, masked)


def test_a_method_without_labels_is_searched_for_numbers_to_predict():
    target = X[:, 0, 0] + 2 * X[:, 3, 2]

    def explained(estimator, X, y):
        Z = np.c_[np.ones(len(X)), estimator.transform(X)]
        left = y - Z @ np.linalg.lstsq(Z, y)[0]
        return 1 - left.var() / y.var()

    ranks = [(1, 1), (5, 4)]
    ours = RankSearchCV(MPCA(), ranks, cv=2, scoring=explained).fit(X, target)
    theirs = GridSearchCV(MPCA(), {"ranks": ranks}, cv=2, scoring=explained).fit(X, target)
    assert_same(ours, theirs)
    assert ours.best_params_ == {"ranks": (5, 4)}


@pytest.mark.parametrize("estimator", [MCSDA(positive=1), ClassSpecificVerifier(MCSDA(max_iter=2))])
def test_groups_are_one_per_sample_whoever_takes_them(estimator):
    rows = np.arange(len(X))
    splits = [(rows[::2], rows[1::2])]  # these take no groups
    search = RankSearchCV(estimator, [(1, 1)], cv=splits, scoring="balanced_accuracy")
    with pytest.raises(ValueError, match=r"groups has shape \(7,\)"):
        search.fit(X, y == 1, groups=np.arange(7))
    with pytest.raises(ValueError, match="groups contains NaN or None"):
        search.fit(X, y == 1, groups=["a", *[None] * (len(X) - 1)])
