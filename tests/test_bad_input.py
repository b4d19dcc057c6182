"""Bad input: an error that says what came, what was expected and what to do; nothing changes."""

import re
import warnings
from functools import cache

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError

from reference import problem
from tenfold import (
    CMDA,
    CSDA,
    DATER,
    MCSDA,
    MPCA,
    ClassSpecificClassifier,
    ProbabilisticLDA,
    RankSearchCV,
    gather_moments,
)
from tenfold.methods import CLASS_SPECIFIC_METHODS, LINEAR_METHODS

each_method = pytest.mark.parametrize("Method", LINEAR_METHODS, ids=lambda M: M.__name__)
LABELLED = [Method for Method in LINEAR_METHODS if Method._needs_labels]
each_labelled = pytest.mark.parametrize("Method", LABELLED, ids=lambda M: M.__name__)
MULTILINEAR = [Method for Method in LINEAR_METHODS if not Method._flattens]
each_class_specific = pytest.mark.parametrize(
    "Method", [M for M in LINEAR_METHODS if M in CLASS_SPECIFIC_METHODS], ids=lambda M: M.__name__
)

X, y = problem((4, 3), classes=3, seed=0)


def fitted(Method, **parameters):
    """A fitted estimator of one's own; the fit itself is done once."""
    own = Method()
    own.__dict__ = dict(vars(_fitted(Method, tuple(parameters.items()))))
    return own


@cache
def _fitted(Method, parameters):
    return Method(**dict(parameters)).fit(X, y)


def refuses(estimator, call, *parts, error=ValueError):
    """The call fails, its message has all parts, and the estimator is what it was."""
    before, members = joblib.hash(vars(estimator)), dict(vars(estimator))
    with pytest.raises(error) as caught:
        call(estimator)
    message = str(caught.value)
    for part in parts:
        assert re.search(part, message, flags=re.DOTALL), f"{part!r} is not in {message!r}"
    assert joblib.hash(vars(estimator)) == before
    assert {name: id(value) for name, value in members.items()} == {
        name: id(value) for name, value in vars(estimator).items()
    }


def changed(value, dtype=float):
    bad = X.astype(dtype)
    bad[3, 1, 2] = value
    return bad


# What comes as X, and what the message must say: what came, what was expected, what to do.
SAMPLES = {
    "NaN": (changed(np.nan), "contains NaN", "complete gaps first", "GaussianImputer"),
    "NaN in float32": (changed(np.nan, np.float32), "contains NaN", "gaps", "GaussianImputer"),
    "infinity": (changed(np.inf), "contains infinity", "must be finite", "repair or drop"),
    "minus infinity": (changed(-np.inf), "contains infinity", "must be finite", "repair or drop"),
    "strings": (X.astype(str), "strings", "numeric", "[Cc]onvert"),
    "objects": (changed("a", object), "'a'", "must be a number", "encode or drop"),
    "complex": (X + 1j, "[Cc]omplex", "not supported", ""),
    "ragged": (
        [[[1.0, 2.0]], [[1.0], [2.0]]],
        "not all have the same shape",
        "no array",
        "pad, crop or resample",
    ),
    "one axis": (X[0, 0], "1D array", "[Ee]xpected 2D", "[Rr]eshape"),
    "a number": (3.0, "scalar", "[Ee]xpected 2D", "[Rr]eshape"),
    "no samples": (X[:0], r"0 sample\(s\)", "minimum of 1", "pass at least one sample"),
    "no numbers": (X[:, :0], r"\(0, 3\)", "at least 1 entry", "drop the mode"),
}
each_samples = pytest.mark.parametrize(
    ("bad", "parts"), [(b, p) for b, *p in SAMPLES.values()], ids=SAMPLES
)


@each_method
@each_samples
def test_samples_that_are_no_samples(Method, bad, parts):
    labels = y[: len(bad)] if hasattr(bad, "__len__") else y[:1]
    refuses(fitted(Method), lambda e: e.fit(bad, labels), *parts)
    refuses(fitted(Method), lambda e: e.partial_fit(bad, labels), *parts)
    refuses(Method(), lambda e: e.fit(bad, labels), *parts)
    refuses(Method(), lambda e: e.partial_fit(bad, labels), *parts)
    refuses(fitted(Method), lambda e: e.transform(bad), *parts)


@each_samples
def test_samples_that_are_no_samples_to_a_gaussian_model(bad, parts):
    labels = y[: len(bad)] if hasattr(bad, "__len__") else y[:1]
    model = fitted(ProbabilisticLDA, views=("numbers",))
    refuses(model, lambda e: e.fit(bad, labels), *parts)
    refuses(model, lambda e: e.predict_proba(bad), *parts)
    refuses(model, lambda e: e.enroll(bad, labels), *parts)
    refuses(ProbabilisticLDA(), lambda e: e.partial_fit(bad, labels), *parts)


def test_large_numbers_are_not_mistaken_for_infinity():
    huge = np.full((4, 4, 3), 1e38, dtype=np.float32)  # the sum overflows, no sample does
    with pytest.warns(UserWarning, match="no number of the training samples was larger"):
        assert np.isfinite(fitted(MCSDA, ranks=(1, 1)).decision_function(huge / 1e20)).all()
    with pytest.warns(UserWarning, match="no number of the training samples was larger"):
        assert fitted(MCSDA, ranks=(1, 1)).transform(huge).shape == (4, 1)


# ── Labels ──────────────────────────────────────────────────────────────────────────────────────


@each_labelled
def test_labels_that_are_missing_or_do_not_fit(Method):
    refuses(fitted(Method), lambda e: e.fit(X), "y is None", "requires y", "pass one class label")
    refuses(fitted(Method), lambda e: e.fit(X, y[:-1]), r"inconsistent numbers of samples")
    refuses(fitted(Method), lambda e: e.fit(X, y + 0.5), "[Uu]nknown label type")
    gaps = np.where(np.arange(len(y)) == 2, np.nan, y)
    refuses(fitted(Method), lambda e: e.fit(X, gaps), "NaN", "every sample needs a class label")


NAMES = np.array(["ant", "bee", "cat"])[y]
GAP = np.arange(len(y)) != 2
MISSING = {
    "None": np.where(GAP, NAMES, None),
    "NaN in a list": np.where(GAP, NAMES.astype(object), np.nan).tolist(),
    "of pandas": pd.Series(NAMES, dtype="string").where(GAP, pd.NA),
    "a category": pd.Series(NAMES, dtype="category").where(GAP),
    "a date": pd.Series(pd.to_datetime(y, unit="D")).where(GAP),
}


@pytest.mark.parametrize("labels", MISSING.values(), ids=MISSING)
def test_a_missing_label_among_others(labels):
    refuses(
        fitted(CMDA), lambda e: e.fit(X, labels), "y contains NaN or", "every sample needs a class"
    )


def test_labels_that_are_objects():
    mixed = np.where(GAP, NAMES.astype(object), 0)
    parts = "y mixes numbers and text", "one kind", "convert them"
    refuses(fitted(CMDA), lambda e: e.fit(X, mixed), *parts)
    refuses(fitted(CMDA), lambda e: e.fit(X, mixed.tolist()), *parts)
    # As objects scikit-learn's classifiers do not take numbers either.
    parts = "numbers as objects", "array of numbers", r"astype\(int\)"
    refuses(fitted(CMDA), lambda e: e.fit(X, y.astype(object)), *parts)
    as_objects = CMDA(tol=10.0).fit(X, NAMES.astype(object))
    assert as_objects.classes_.tolist() == ["ant", "bee", "cat"]


@pytest.mark.parametrize("n_classes", [3, 20])  # with more than about 16 NumPy compares as text
def test_labels_of_another_kind_than_the_classes(n_classes):
    labels = np.arange(len(X)) % n_classes
    for first, then, kinds in (
        (labels, labels.astype(str), ("text", "numbers")),
        (labels.astype(str), labels, ("numbers", "text")),
        (labels.astype(str).astype(object), labels, ("numbers", "text")),
    ):
        parts = f"labels are {kinds[0]}", f"known so far are {kinds[1]}", "convert"
        stream = CMDA(tol=10.0).partial_fit(X, first)
        refuses(stream, lambda e, y=then: e.partial_fit(X, y), *parts)
        announced = np.unique(first)
        refuses(CMDA(), lambda e, y=then, c=announced: e.partial_fit(X, y, classes=c), *parts)
    assert CMDA(tol=10.0).partial_fit(X, labels, classes=np.unique(labels * 1.0)).moments_.count


@each_labelled
def test_one_class_only(Method):
    parts = "1 class", r"at least two classes", "pass samples"
    refuses(fitted(Method), lambda e: e.fit(X, np.ones(len(X))), *parts)
    refuses(Method(), lambda e: e.partial_fit(X, np.ones(len(X))), *parts)
    # A class whose samples all have weight 0 is not there.
    weight = (y == 0).astype(float)
    refuses(fitted(Method), lambda e: e.fit(X, y, sample_weight=weight), *parts)
    refuses(fitted(Method), lambda e: e.fit(X, np.ones(len(X), dtype=int)), r"1 class \(1\) only")


@each_class_specific
def test_a_positive_class_that_is_not_there(Method):
    parts = "positive is 'dog'", "not among the labels: 0, 1, 2", "pass one of them"
    refuses(Method(positive="dog"), lambda e: e.fit(X, y), *parts)
    refuses(Method(positive="dog"), lambda e: e.partial_fit(X, y), *parts)
    trained = fitted(Method)
    refuses(trained.set_params(positive="dog"), lambda e: e.fit(X, y), *parts)
    refuses(Method(positive=7), lambda e: e.fit(X, y), "positive is 7", "0, 1, 2", "pass one")
    refuses(Method(positive=np.int64(7)), lambda e: e.fit(X, y), "positive is 7,")


@each_class_specific
def test_scores_without_a_positive_sample(Method):
    refuses(
        fitted(Method),
        lambda e: e.score(X[y != 2], y[y != 2]),
        "no sample of the positive class",
        "needs at least one",
    )


# ── Parameters ──────────────────────────────────────────────────────────────────────────────────

RANKS = {
    "more ranks than modes": ((2, 2, 2), r"\(2, 2, 2\)", r"2 mode\(s\)", "pass one rank per mode"),
    "rank 0": ((0, 2), "rank 0", "mode 0, which has 4", "from 1 to 4"),
    "rank above the size": ((2, 4), "rank 4", "mode 1, which has 3", "from 1 to 3"),
    "a fraction": ((1.5, 2), "rank 1.5", "mode 0, which has 4", "integer from 1 to 4"),
    "a word": ("auto", "ranks is 'auto'", r"2 mode\(s\) of sizes \(4, 3\)", "None chooses"),
    "a truth": (True, "ranks is True", "expected an int", "None chooses"),
}


@pytest.mark.parametrize(("ranks", "parts"), [(r, p) for r, *p in RANKS.values()], ids=RANKS)
@pytest.mark.parametrize("Method", MULTILINEAR, ids=lambda M: M.__name__)
def test_ranks_that_do_not_fit(Method, ranks, parts):
    trained = fitted(Method)
    refuses(trained.set_params(ranks=ranks), lambda e: e.fit(X, y), *parts)
    streamed = fitted(Method).set_params(ranks=ranks)
    refuses(streamed, lambda e: e.partial_fit(X, y), *parts)
    refuses(Method(ranks=ranks), lambda e: e.fit(X, y), *parts)
    refuses(Method(ranks=ranks), lambda e: e.partial_fit(X, y), *parts)


def test_ranks_and_shapes_may_be_arrays():
    assert CMDA(np.array([2, 3]), tol=10.0).fit(X, y).ranks_ == (2, 3)
    shares = MPCA(np.array([0.6, 0.6]), tol=10.0).fit(X)
    assert shares.ranks_ == MPCA((0.6, 0.6), tol=10.0).fit(X).ranks_
    folding = CMDA(2, tol=10.0, sample_shape=np.array([4, 3])).fit(X.reshape(-1, 12), y)
    assert folding.sample_shape_ == (4, 3)


PARAMETERS = [
    ({"solver": "magic"}, "solver is 'magic'", "expected one of 'ratio_trace', 'trace_ratio'"),
    ({"ridge": -1.0}, "ridge is -1.0", "number of 0 or more"),
    ({"ridge": True}, "ridge is True", "number of 0 or more"),
    ({"ridge": ("relative", 1.0)}, "ridge is", r"\('absolute', number\)"),
    ({"shrinkage": 1.5}, "shrinkage is 1.5", "from 0 to 1"),
    ({"max_iter": 0}, "max_iter is 0", "integer of 1 or more"),
    ({"tol": -1e-3}, "tol is -0.001", "number of 0 or more"),
    ({"orthonormal": "no"}, "orthonormal is 'no'", "one of True, False"),
    ({"sample_shape": 12.0}, "sample_shape is 12.0", "positive integers, one per mode"),
    ({"sample_shape": (5, 3)}, r"sample_shape is\s+\(5, 3\)", "which is 15", "change sample_shape"),
    ({"sample_shape": 12}, r"sample_shape is \(12,\)", "folds flat rows only"),
]


@pytest.mark.parametrize(
    ("parameters", "parts"), [(p, parts) for p, *parts in PARAMETERS], ids=lambda v: str(v)[:40]
)
def test_parameters_out_of_range(parameters, parts):
    refuses(fitted(MCSDA).set_params(**parameters), lambda e: e.fit(X, y), *parts)
    refuses(MCSDA(**parameters), lambda e: e.partial_fit(X, y), *parts)


# ── Weights ─────────────────────────────────────────────────────────────────────────────────────

ONES = np.ones(len(X))
WEIGHTS = {
    "negative": (np.where(np.arange(len(X)) == 3, -2.0, 1.0), "least number -2", "0 or more"),
    "all zero": (0 * ONES, "the sum 0", "not all of them zero"),
    "NaN": (np.where(ONES.cumsum() == 3, np.nan, 1.0), "sample_weight", "NaN"),
    "infinite": (np.where(ONES.cumsum() == 3, np.inf, 1.0), "sample_weight", "infinity"),
    "a sum that is no number": (1e308 * ONES, "the sum inf", "a sum that a float64 holds"),
    "too few": (ONES[:-1], r"shape \(38,\)", "39 samples", "pass one weight per sample"),
    "two columns": (np.ones((39, 2)), r"shape \(39, 2\)", "39 samples", "one weight per sample"),
}


@pytest.mark.parametrize(("weight", "parts"), [(w, p) for w, *p in WEIGHTS.values()], ids=WEIGHTS)
@each_method
def test_weights_that_are_no_weights(Method, weight, parts):
    refuses(fitted(Method), lambda e: e.fit(X, y, sample_weight=weight), *parts)
    refuses(fitted(Method), lambda e: e.partial_fit(X, y, sample_weight=weight), *parts)
    refuses(Method(), lambda e: e.partial_fit(X, y, sample_weight=weight), *parts)


# ── After fitting ───────────────────────────────────────────────────────────────────────────────


@each_method
def test_a_sample_of_another_shape(Method):
    turned = X.transpose(0, 2, 1)
    parts = r"shape \(3, 4\)", r"fitted on \(4, 3\)", "transpose them, or fit again"
    other = r"shape \(4, 4\)", r"fitted on \(4, 3\)", "reshape or fit again"
    larger = np.ones((2, 4, 4))
    for call in ("transform", "partial_fit", "decision_function"):
        if not hasattr(Method, call):
            continue
        extra = (y,) if call == "partial_fit" else ()
        refuses(fitted(Method), lambda e, c=call, a=extra: getattr(e, c)(turned, *a), *parts)
        extra = (y[:2],) if call == "partial_fit" else ()
        refuses(fitted(Method), lambda e, c=call, a=extra: getattr(e, c)(larger, *a), *other)


@each_method
def test_a_single_sample_without_the_axis_of_samples(Method):
    refuses(fitted(Method), lambda e: e.transform(X[0]), r"for a single sample pass X\[None\]")
    cubes = X.reshape(-1, 2, 2, 3)
    of_cubes = MPCA(tol=10.0).fit(cubes)
    refuses(of_cubes, lambda e: e.transform(cubes[0]), r"\(2, 3\)", r"sample pass X\[None\]")
    assert of_cubes.transform(cubes[0][None]).shape[0] == 1


@each_method
def test_projected_samples_of_another_shape(Method):
    estimator = fitted(Method, ranks=2)
    shape = re.escape(str(estimator.ranks_))
    refuses(
        estimator,
        lambda e: e.inverse_transform(np.ones((2, 5))),
        r"\(5,\)",
        shape,
        "pass what transform returned",
    )


@each_labelled
def test_a_label_that_partial_fit_has_not_heard_of(Method):
    parts = r"\[9\]", "not there in the first call", "announce.*classes=..."
    trained = fitted(Method)
    refuses(trained, lambda e: e.partial_fit(X, np.where(y == 0, 9, y)), *parts)
    stream = Method()
    stream.partial_fit(X, y)
    refuses(stream, lambda e: e.partial_fit(X, np.where(y == 0, 9, y)), *parts)
    # Announced, it may come late.
    late = Method().partial_fit(X, y, classes=[0, 1, 2, 9])
    late.partial_fit(X, np.where(y == 0, 9, y))
    assert late.classes_.tolist() == [0, 1, 2, 9]


@each_method
def test_methods_that_have_learned_nothing(Method):
    calls = ["transform", "inverse_transform"]
    calls += ["decision_function"] if Method in CLASS_SPECIFIC_METHODS else []
    for call in calls:
        refuses(
            Method(),
            lambda e, c=call: getattr(e, c)(X),
            Method.__name__,
            "not fitted yet",
            "Call 'fit'",
            error=NotFittedError,
        )


@each_class_specific
def test_a_stream_without_positives_so_far_is_not_fitted(Method):
    stream = Method(positive=2).partial_fit(X[y != 2], y[y != 2], classes=[0, 1, 2])
    refuses(stream, lambda e: e.transform(X), "not fitted yet", error=NotFittedError)
    stream.partial_fit(X[y == 2], y[y == 2])
    assert stream.transform(X).shape[0] == len(X)


def test_moments_that_do_not_fit_into_memory_are_refused_before_they_are_made():
    large = np.zeros((2, 200, 200), dtype=np.float32)
    refuses(
        DATER(),
        lambda e: e.partial_fit(large, [0, 1]),
        r"23\.8 GiB",
        "budget of 4 GiB",
        "MPCA.*use fit, which needs no moments",
    )


@pytest.mark.parametrize(
    ("gather", "size"),
    [
        (gather_moments, 65),
        (lambda X, y: CSDA(ranks=2, positive=1).partial_fit(X, y), 65),
    ],
    ids=["moments", "stream"],
)
def test_large_moments_of_few_samples_are_announced_before_they_are_made(gather, size):
    faces = np.zeros((14, size, size), dtype=np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # so that nothing is made
        with pytest.raises(UserWarning, match=r"272 MiB.*14 samples take.*PCA\(\).*MPCA"):
            gather(faces, np.arange(14) % 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gather(X, y)


def test_moments_in_a_basis_of_the_span_give_the_model_of_the_samples():
    vectors = np.random.default_rng(0).normal(size=(20, 50)) + (np.arange(20) % 4)[:, None]
    labels = np.arange(20) % 4
    pca = PCA().fit(vectors)
    new = np.random.default_rng(1).normal(size=(9, 50))
    own = CSDA(ranks=3, ridge=("absolute", 0.1), positive=2)  # a relative one counts the numbers
    for model in (ClassSpecificClassifier(own), own):
        moments = gather_moments(pca.transform(vectors), labels)
        found = model.fit_moments(moments).decision_function(pca.transform(new))
        expected = model.fit(vectors, labels).decision_function(new)
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8)


def test_samples_of_extended_precision_are_taken_as_float64():
    vectors, wide = X.reshape(len(X), -1), X.reshape(len(X), -1).astype(np.longdouble)
    for model in (ClassSpecificClassifier(CSDA(ranks=2)), ProbabilisticLDA(), CSDA(positive=1)):
        expected = model.fit(vectors[:9], y[:9]).decision_function(vectors)
        found = model.fit(wide[:9], y[:9]).decision_function(wide)
        np.testing.assert_array_equal(found, expected)
    if np.finfo(np.longdouble).max > np.finfo(float).max:
        with pytest.raises(ValueError, match="infinity"):
            CSDA().fit(wide * np.longdouble(10) ** 400, y)


def test_ranks_of_a_search_that_are_a_word_are_refused_with_what_works():
    search = RankSearchCV(ClassSpecificClassifier(MCSDA()), ranks="auto", cv=2)
    with pytest.raises(ValueError, match=r"'auto'.*such as \[2, 4.*None among them stands for"):
        search.fit(X, y)
    with pytest.raises(ValueError, match=r"sample_weight has shape"):
        search.set_params(ranks=(1, None), refit=False).fit(X, y, sample_weight=np.ones(len(y) + 9))
    found = search.set_params(ranks=[1, None]).fit(X, y).best_params_
    assert found["projector__ranks"] in (1, None)
