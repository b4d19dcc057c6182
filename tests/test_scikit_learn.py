"""Every method is an estimator that scikit-learn's tools can use, with samples of any order."""

import io
import pickle
import warnings
from collections import Counter

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import tenfold
from reference import distance, problem
from tenfold import (
    CSDA,
    MCSDA,
    ClassSpecificClassifier,
    ClassSpecificVerifier,
    CovariateRemover,
    FalseAcceptRateWarning,
    GaussianImputer,
    KernelCSDA,
    ModeScaler,
    OpenSetClassifier,
    ProbabilisticLDA,
    RankSearchCV,
)
from tenfold.methods import ALL_METHODS, CLASS_SPECIFIC_METHODS, LINEAR_METHODS
from ways import learned

each_method = pytest.mark.parametrize("Method", LINEAR_METHODS, ids=lambda M: M.__name__)

X, y = problem((4, 3), classes=4, seed=0)
FLAT = X.reshape(len(X), -1)


def make(Method, **parameters):
    """A method that comes to rest quickly."""
    rest = {} if "tol" not in Method().get_params() else {"tol": 10.0}
    return Method(ranks=5 if Method._flattens else 2, **rest, **parameters)


# ── The common checks ───────────────────────────────────────────────────────────────────────────


# Its stopping rule is a thousand times looser than the checks by default: distances that agree to
# 1e-9, of samples that were repeated or weighted, would give scores that agree to 1e-7 by luck.
SECOND = LogisticRegression(tol=1e-10, max_iter=10_000)
GAUSSIAN = ProbabilisticLDA(views=["numbers"])
PUBLIC = [
    *(Method() for Method in LINEAR_METHODS),
    KernelCSDA(),
    KernelCSDA(n_landmarks=20),
    ClassSpecificClassifier(MCSDA()),
    ClassSpecificClassifier(MCSDA(), classifier=SECOND),
    ClassSpecificVerifier(MCSDA()),
    ProbabilisticLDA(),
    GAUSSIAN,
    pytest.param(OpenSetClassifier(), marks=pytest.mark.long),
    OpenSetClassifier(GAUSSIAN),
    OpenSetClassifier(ClassSpecificClassifier(CSDA())),
    RankSearchCV(MCSDA(), ranks=[1], cv=StratifiedKFold(2)),
    RankSearchCV(ClassSpecificClassifier(MCSDA()), ranks=[1], cv=StratifiedKFold(2)),
    ModeScaler(),
    ModeScaler(keep="both", output="flat"),
    ModeScaler((), per_sample=False),
    GaussianImputer(),
    CovariateRemover(),
]
ARRAY_API_CHECKS = {  # which skip themselves unless SCIPY_ARRAY_API is set; test_array_api.py
    "check_array_api_input",
    "check_array_api_mixed_inputs",
    "check_array_api_same_namespace",
}
WEIGHTS = "check_sample_weight_equivalence_on_dense_data"


REJECTING = {"check_classifiers_classes", "check_classifiers_train"}
PROBABILITY_OF_UNKNOWN = {"check_decision_proba_consistency"}


def allowed_to_fail(estimator):
    """Drawn landmarks see no weights; scikit-learn 1.6.0 errs where only two classes are taken.

    The decision of an open set is between known and unknown, not between the classes, and its
    probabilities have one more column.
    """
    if isinstance(estimator, OpenSetClassifier):
        return REJECTING | PROBABILITY_OF_UNKNOWN
    wrong = isinstance(estimator, ClassSpecificVerifier) and sklearn.__version__ == "1.6.0"
    return {WEIGHTS} if wrong or getattr(estimator, "n_landmarks", None) else set()


@pytest.mark.parametrize("estimator", PUBLIC, ids=lambda e: " ".join(repr(e).split()))
def test_the_common_checks_pass_and_there_are_many_of_them(estimator):
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", FalseAcceptRateWarning
        )  # a few samples promise no rate of 1 %
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        results = check_estimator(estimator, on_skip=None, on_fail=None)
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    assert failed.keys() <= allowed_to_fail(estimator), failed
    assert Counter(result["status"] for result in results)["passed"] >= 40
    assert {r["check_name"] for r in results if r["status"] == "skipped"} <= ARRAY_API_CHECKS


def test_every_public_estimator_is_checked():
    public = {getattr(tenfold, name) for name in tenfold.__all__}
    learners = {kind for kind in public if isinstance(kind, type) and hasattr(kind, "fit")}
    checked = [one if hasattr(one, "fit") else one.values[0] for one in PUBLIC]
    assert {type(estimator) for estimator in checked} == learners


# ── Copies ──────────────────────────────────────────────────────────────────────────────────────


def through_pickle(estimator):
    return pickle.loads(pickle.dumps(estimator))


def through_joblib(estimator):
    file = io.BytesIO()
    joblib.dump(estimator, file)
    file.seek(0)
    return joblib.load(file)


@each_method
@pytest.mark.parametrize("way", [through_pickle, through_joblib], ids=lambda f: f.__name__)
def test_a_saved_method_is_the_same_method(Method, way):
    for statistics in ("auto", "moments", "samples"):
        estimator = learned(make(Method), statistics, X, y)
        copy = way(estimator)
        np.testing.assert_array_equal(copy.transform(X), estimator.transform(X))
        assert copy.ranks_ == estimator.ranks_


@each_method
def test_partial_fit_goes_on_after_saving_when_moments_were_kept(Method):
    whole = make(Method).fit(X, y)
    first = make(Method).partial_fit(X[:20], y[:20])
    grown = through_pickle(first).partial_fit(X[20:], y[20:])
    assert distance(grown.projections_, whole.projections_) <= 1e-8


@each_method
@pytest.mark.parametrize("saved", [False, True])
def test_partial_fit_after_a_fit_without_moments_says_so_and_changes_nothing(Method, saved):
    X, y = problem((12, 10), classes=4, seed=0)  # moments of 100 kB and more are not kept
    model = make(Method).fit(X[:20], y[:20])
    model = through_pickle(model) if saved else model
    before = joblib.hash(vars(model))
    with pytest.raises(
        ValueError,
        match=r"without keeping the moments.*cannot add.*start with partial_fit",
    ):
        model.partial_fit(X[20:], y[20:])
    assert joblib.hash(vars(model)) == before
    model.fit(X, y)  # starting anew is no problem


def test_what_is_written_into_the_arrays_of_fit_changes_nothing():
    samples, labels, weight = X.copy(), y.copy(), np.ones(len(X))
    for statistics in ("auto", "moments", "samples"):
        model = learned(make(MCSDA, positive=0), statistics, samples, labels, weight)
        before = joblib.hash(vars(model))
        samples *= 2
        labels[:] = y[::-1]
        weight[:] = 0
        assert joblib.hash(vars(model)) == before
        samples[:], labels[:], weight[:] = X, y, 1


def test_later_classes_are_those_of_the_first_call():
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(60, 4, 3)), np.repeat([0, 1, 2], 20)
    model = MCSDA(2, tol=1.0).partial_fit(X, labels).partial_fit(X, labels, classes=[2, 1, 0])
    with pytest.raises(ValueError, match=r"classes are \[0, 1\].*began with \[0, 1, 2\]"):
        model.partial_fit(X, labels, classes=[0, 1])


# ── Pipelines and searches ──────────────────────────────────────────────────────────────────────


@each_method
def test_flat_steps_may_come_before_a_folding_one(Method):
    pipeline = make_pipeline(StandardScaler(), make(Method, sample_shape=(4, 3)))
    Y = pipeline.fit(FLAT, y).transform(FLAT)
    scaled = StandardScaler().fit_transform(FLAT).reshape(X.shape)
    np.testing.assert_allclose(Y, make(Method).fit(scaled, y).transform(scaled), atol=1e-10)


@each_method
def test_tensors_go_through_a_pipeline_into_a_classifier(Method):
    pipeline = make_pipeline(make(Method), KNeighborsClassifier(3))
    assert pipeline.fit(X, y).score(X, y) > 0.5
    assert cross_val_score(pipeline, X, y, cv=3).shape == (3,)


def test_a_grid_search_runs_over_samples_of_any_order():
    pipeline = make_pipeline(MCSDA(tol=10.0, positive=0), KNeighborsClassifier(3))
    grid = {"mcsda__ranks": [(1, 1), (2, 2), (4, 3)], "mcsda__ridge": [1e-3, ("absolute", 0.1)]}
    with joblib.parallel_config(backend="threading", n_jobs=2):
        search = GridSearchCV(pipeline, grid, cv=3).fit(X, y)
    assert len(search.cv_results_["params"]) == 6
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_estimator_.predict(X).shape == y.shape


# ── Output ──────────────────────────────────────────────────────────────────────────────────────


@each_method
def test_feature_names_count_the_projected_numbers(Method):
    estimator = make(Method).fit(X, y)
    name, n = Method.__name__.lower(), estimator.transform(X).shape[1]
    names = [f"{name}{i}" for i in range(n)]
    if not Method._flattens:
        names = [f"{name}_mode0_{i}_mode1_{j}" for i, j in np.ndindex(*estimator.ranks_)]
    assert estimator.get_feature_names_out().tolist() == names


@each_method
def test_data_frames_come_out_when_asked_for(Method):
    frame = pd.DataFrame(
        FLAT, columns=[f"pixel {i}" for i in range(12)], index=np.arange(100, 100 + len(X))
    )
    estimator = make(Method, sample_shape=(4, 3)).set_output(transform="pandas")
    Y = estimator.fit(frame, y).transform(frame)
    assert isinstance(Y, pd.DataFrame)
    assert Y.columns.tolist() == estimator.get_feature_names_out().tolist()
    assert Y.index.tolist() == frame.index.tolist()
    assert estimator.feature_names_in_.tolist() == frame.columns.tolist()
    np.testing.assert_allclose(Y.to_numpy(), make(Method).fit(X, y).transform(X), atol=1e-10)
    with pytest.raises(ValueError, match="feature names"):
        estimator.transform(frame.rename(columns={"pixel 0": "other"}))


def test_every_method_is_public_and_stands_in_the_list():
    assert len(ALL_METHODS) == len(set(ALL_METHODS))
    assert all(getattr(tenfold, Method.__name__) is Method for Method in ALL_METHODS)
    assert set(CLASS_SPECIFIC_METHODS) == {
        M for M in ALL_METHODS if hasattr(M, "decision_function")
    }


def test_an_estimator_shows_what_users_type_and_little_else():
    """scikit-learn's LDA has 14 names; hooks of methods are private."""
    for estimator in (MCSDA(), tenfold.CSDA(), tenfold.MPCA(), tenfold.CMDA()):
        # what is learned is not counted: with scikit-learn 1.6 `dir` lists it before a fit
        shown = [name for name in dir(estimator) if name[0] != "_" and name[-1] != "_"]
        assert len(shown) <= 32, shown
