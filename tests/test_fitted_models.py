"""A fitted model holds what it learned, and nothing of the data; what fails changes nothing."""

import gc
import tracemalloc
import weakref

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from reference import problem
from tenfold import (
    CMDA,
    CSDA,
    MCSDA,
    MPCA,
    ClassSpecificClassifier,
    ClassSpecificVerifier,
    KernelCSDA,
)
from tenfold.methods import CLASS_SPECIFIC_METHODS, LINEAR_METHODS
from tenfold.metrics import evaluate

SHAPE = (5, 4)
ESTIMATORS = {
    **{M.__name__: M() for M in LINEAR_METHODS},
    "bank": ClassSpecificClassifier(MCSDA(ranks=2)),
    "bank of vectors": ClassSpecificClassifier(CSDA(ranks=2)),
    "bank with a second classifier": ClassSpecificClassifier(
        MCSDA(ranks=2), classifier=LogisticRegression(max_iter=1000)
    ),
    "verifier": ClassSpecificVerifier(MCSDA(ranks=2), positive=1, false_accept_rate="equal"),
}
each_estimator = pytest.mark.parametrize("estimator", ESTIMATORS.values(), ids=ESTIMATORS)


def data(shape=SHAPE, seed=0):
    return problem(shape, classes=3, per_class=20, seed=seed)


# ── Nothing of the training data ────────────────────────────────────────────────────────────────


def test_the_training_array_is_free_when_its_owner_drops_it():
    alive, models = {}, []
    for name, estimator in ESTIMATORS.items():
        X, y = data()
        models.append(clone(estimator).fit(X, y))
        model = models[-1]
        (model.transform if hasattr(model, "transform") else model.predict)(X)
        alive[name] = [weakref.ref(array) for array in (X, y)]
        del X, y
    gc.collect()
    assert [
        name for name, arrays in alive.items() if any(array() is not None for array in arrays)
    ] == []


# ── Nothing by half ─────────────────────────────────────────────────────────────────────────────


def failing(*_, **__):
    raise RuntimeError("in the last step")


@each_estimator
@pytest.mark.parametrize(
    "step",
    [
        "tenfold.methods.base.TensorProjector._check_parameters",
        "tenfold.methods.base.solve",
        "tenfold.methods.base.Model.of",
    ],
)
def test_a_fit_that_fails_at_any_step_changes_nothing(estimator, step, monkeypatch):
    X, y = data()
    model = clone(estimator).fit(X, y)
    before, state = joblib.hash(vars(model)), dict(vars(model))
    monkeypatch.setattr(step, failing)
    if step.endswith("solve"):  # of the folds of a verifier, and of the model with them
        monkeypatch.setattr("tenfold.classifiers.held_out.solve", failing)
    with pytest.raises(RuntimeError, match="in the last step"):
        model.fit(X[::-1] * 2, y)
    assert vars(model).keys() == state.keys()
    assert all(vars(model)[name] is value for name, value in state.items())
    assert joblib.hash(vars(model)) == before


def test_a_second_classifier_that_fails_changes_nothing():
    X, y = data()
    model = clone(ESTIMATORS["bank with a second classifier"]).fit(X, y)
    before = dict(vars(model))
    model.classifier = LogisticRegression(C=-1.0)
    with pytest.raises(ValueError, match="C"):
        model.fit(X[::-1], y)
    assert {k: v for k, v in vars(model).items() if k != "classifier"} == {
        k: v for k, v in before.items() if k != "classifier"
    }


# ── Nothing global ──────────────────────────────────────────────────────────────────────────────


# ── Stacks ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("Method", [*CLASS_SPECIFIC_METHODS, KernelCSDA], ids=lambda M: M.__name__)
def test_a_parameter_set_after_a_fit_waits_for_the_next_one(Method):
    X, y = data((6, 5), seed=3)
    model = Method(positive=1).fit(X, y)
    before = model.score(X, y), model.decision_function(X)
    model.set_params(positive=0)
    assert model.positive_label_ == 1
    assert evaluate(model, X, y).classes[0].label == 1
    assert model.score(X, y) == before[0]
    np.testing.assert_array_equal(model.decision_function(X), before[1])
    assert model.fit(X, y).positive_label_ == 0
    with pytest.raises(ValueError, match="not among the labels"):
        model.set_params(positive="dog").fit(X, y)
    assert model.positive_label_ == 0


def tables_taken(work, size):
    """The most memory that some work takes, in tables of size x size numbers."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1] / (8 * size**2)
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("Method", [MCSDA, CMDA, MPCA, CSDA], ids=lambda M: M.__name__)
def test_learning_takes_the_memory_that_the_guide_names(Method):
    """docs/user_guide/statistics.md: C + 4 tables, of vectors nine more, in a stream C more."""
    X, y = data((18, 20), seed=4)
    size, n_tables = 360, 1 if Method is MPCA else len(np.unique(y))
    most = n_tables + 4 + 9 * Method._flattens
    model = Method(ranks=2)
    assert tables_taken(lambda: model.partial_fit(X, y), size) <= most
    assert tables_taken(lambda: model.partial_fit(X, y), size) <= most  # beside those it has
