"""A model knows the range of its training samples, and says so where others are far outside."""

import warnings

import dask.array as da
import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import tenfold
from tenfold import (
    CMDA,
    CSDA,
    MCSDA,
    ClassSpecificClassifier,
    ClassSpecificVerifier,
    KernelCSDA,
    ModeScaler,
    OpenSetClassifier,
    ProbabilisticLDA,
    gather_moments,
)

DIGITS = load_digits()
X, Y = DIGITS.images[:400] / 16, DIGITS.target[:400]
NEW = DIGITS.images[400:500] / 16
FAR = "no number of the training samples was larger than"

MODELS = {
    "projector": CMDA((4, 4)),
    "scorer": MCSDA((4, 4), positive=3),
    "vectors": CSDA(5, positive=3),
    "kernel": KernelCSDA(5, positive=3),
    "bank": ClassSpecificClassifier(CSDA(5)),
    "second classifier": ClassSpecificClassifier(
        CSDA(3), classifier=LogisticRegression(max_iter=1000), cv=2
    ),
    "verifier": ClassSpecificVerifier(CSDA(5), positive=3, false_accept_rate=0.5),
    "gaussian": ProbabilisticLDA("linear"),
    "open set": OpenSetClassifier(ProbabilisticLDA("linear"), false_accept_rate=0.5),
    "pipeline": make_pipeline(ModeScaler((), per_sample=False), CSDA(5, positive=3)),
}
ASKED = ("transform", "decision_function", "predict", "predict_proba", "score_samples")


def asked_of(model):
    return [name for name in ASKED if hasattr(model, name)]


def heard(work, *given):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        work(*given)
    return [str(one.message) for one in said]


@pytest.mark.parametrize("kind", MODELS)
def test_pixels_up_to_255_are_not_answered_without_a_word(kind, tmp_path):
    model = MODELS[kind].fit(X, Y)
    models = [model]
    if kind not in ("kernel", "second classifier"):  # landmarks are samples; no foreign classifiers
        tenfold.save(model, tmp_path / "own.safetensors")
        models.append(tenfold.load_model(tmp_path / "own.safetensors"))
    for own in models:
        for name in asked_of(own):
            ask = getattr(own, name)
            for far in (255 * NEW, (255 * NEW[:1]).astype(np.float32)):
                assert any(FAR in text for text in heard(ask, far)), name
            assert not heard(ask, NEW), name
            assert not heard(ask, NEW[:1]), name


def test_outliers_are_no_reason_to_warn():
    model = ProbabilisticLDA("linear").fit(X, Y)
    some = NEW.copy()
    some[:40] *= 255
    assert not heard(model.predict, some)
    some = NEW.copy()
    some[:, 3, 3] = 9
    assert not heard(model.predict, some)
    assert not heard(model.predict, -NEW)
    assert not heard(model.predict, 0 * NEW)


def ways_to_learn(tmp_path):
    stored = np.lib.format.open_memmap(tmp_path / "x.npy", mode="w+", dtype=float, shape=X.shape)
    stored[:] = X
    return {
        "array": X,
        "list": X.tolist(),
        "store": stored,
        "dask": da.from_array(X, chunks=(70, 8, 8)),
    }


KINDS = ["projector", "scorer", "vectors", "bank", "gaussian", "verifier", "kernel"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_range_is_that_of_all_samples_however_they_come(kind, tmp_path):
    for way, samples in ways_to_learn(tmp_path).items():
        model = MODELS[kind].fit(samples, Y)
        np.testing.assert_array_equal(model.range_, [X.min(), X.max()], err_msg=way)


@pytest.mark.parametrize("way", ["array", "store", "dask"])
def test_the_range_grows_with_classes_that_come_later(way, tmp_path):
    model = ProbabilisticLDA("linear").fit(X[Y < 9], Y[Y < 9])
    later = ways_to_learn(tmp_path)[way][:50] * 5.0
    model.enroll(later, np.full(50, 9))
    np.testing.assert_array_equal(model.range_, [0, 5 * X[:50].max()])


def test_the_range_grows_with_a_stream():
    model = CSDA(5, positive=3).partial_fit(X[:100], Y[:100], classes=np.arange(10))
    np.testing.assert_array_equal(model.range_, [0, X[:100].max()])
    model.partial_fit(-3 * X[100:200], Y[100:200])
    model.partial_fit(2 * X[200:], Y[200:])
    np.testing.assert_array_equal(model.range_, [-3, 2])


def test_moments_tell_no_range():
    model = CSDA(5, positive=3).fit_moments(gather_moments(X, Y))
    assert not hasattr(model, "range_")
    assert not heard(model.decision_function, 255 * NEW)
    model.partial_fit(X, Y)
    assert not hasattr(model, "range_")


def test_a_store_of_other_pixels_is_noticed(tmp_path):
    model = ClassSpecificClassifier(CSDA(5)).fit(X, Y)
    stored = np.lib.format.open_memmap(tmp_path / "n.npy", mode="w+", dtype=float, shape=NEW.shape)
    stored[:] = 255 * NEW
    assert any(FAR in text for text in heard(model.predict, stored))


def test_a_scaler_of_each_sample_takes_any_unit():
    model = make_pipeline(ModeScaler(), CSDA(5, positive=3)).fit(X, Y)
    assert not heard(model.decision_function, 255 * NEW)


@pytest.mark.parametrize("kind", ["scorer", "vectors", "bank", "verifier", "second classifier"])
def test_samples_whose_squares_overflow_are_refused(kind):
    model = MODELS[kind].fit(X, Y)
    for name in asked_of(model):
        with (
            pytest.warns(UserWarning, match="no number of the training"),
            pytest.raises(
                ValueError, match="up to 1e\\+160, whose squares are too large for float64"
            ),
        ):
            getattr(model, name)(1e160 * NEW)


@pytest.mark.parametrize("kind", ["scorer", "vectors", "bank", "verifier", "second classifier"])
@pytest.mark.filterwarnings("ignore:samples hold numbers up to:UserWarning")
def test_float32_samples_whose_squares_overflow_float32_are_answered(kind):
    model = MODELS[kind].fit(X, Y)
    large = (1e25 * NEW).astype(np.float32)
    for name in asked_of(model):
        found = getattr(model, name)(large)
        assert np.isfinite(found).all()
        np.testing.assert_allclose(found, getattr(model, name)(large.astype(float)))


@pytest.mark.parametrize("kind", ["projector", "scorer", "vectors", "bank", "verifier"])
@pytest.mark.parametrize("factor", [1e-300, 1e-200, 1e200])
def test_training_samples_of_extreme_size_are_refused_in_words(kind, factor):
    with pytest.raises(ValueError, match="float64"):
        MODELS[kind].fit(factor * X, Y)


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("scalar", [np.float64(3), 3.0, np.array(3.0), np.int8(3)], ids=repr)
def test_one_number_is_no_batch(kind, scalar):
    model = MODELS[kind]
    with pytest.raises(ValueError, match="2D array, got scalar"):
        model.fit(scalar, [1])
    model.fit(X, Y)
    with pytest.raises(ValueError, match="2D array, got scalar"):
        getattr(model, asked_of(model)[0])(scalar)
