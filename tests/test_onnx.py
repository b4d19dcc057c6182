"""Laws of ONNX export: the graph gives what NumPy gives, to 1e-5."""

import json
import pickle
import sys

import numpy as np
import onnx
import onnxruntime
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.svm import SVC

from tenfold import (
    CSDA,
    MCSDA,
    MPCA,
    ClassSpecificClassifier,
    ClassSpecificVerifier,
    KernelCSDA,
    ProbabilisticLDA,
    RankSearchCV,
)
from tenfold.files.onnx_export import to_onnx
from tenfold.methods import CLASS_SPECIFIC_METHODS, LINEAR_METHODS

DIGITS = load_digits()
X, Y = DIGITS.images.astype(np.float32), DIGITS.target
FEW_ROUNDS = {"tol": 0.1}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.onnx"


def run(estimator, path, batch):
    """All outputs of the exported graph, by name."""
    to_onnx(estimator, path)
    session = onnxruntime.InferenceSession(path)
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, {"X": batch}), strict=True))


def assert_close(came, expected):
    """Equal to 1e-5 of the largest number: a float32 sum cannot promise more for small ones."""
    assert came.shape == expected.shape
    assert came.dtype == np.float32
    assert np.abs(came - expected).max() <= 1e-5 * np.abs(expected).max()


def assert_same_distances(came, expected):
    """Equal up to the rounding of the float32 output."""
    np.testing.assert_allclose(came, expected, rtol=8 * np.finfo(np.float32).eps)


def projector(Method, **parameters):
    accepted = Method().get_params()
    return Method(**{name: value for name, value in parameters.items() if name in accepted})


@pytest.mark.parametrize("Method", LINEAR_METHODS)
@pytest.mark.parametrize("output", ["flat", "tensor"])
def test_every_projector_projects_digits_as_numpy_does(Method, output, path):
    model = projector(Method, ranks=4, output=output, **FEW_ROUNDS).fit(X, Y)
    came = run(model, path, X)
    assert_close(came["projected"], model.transform(X.astype(np.float64)))
    assert ("scores" in came) == (Method in CLASS_SPECIFIC_METHODS)
    if "scores" in came:
        expected = model.decision_function(X.astype(np.float64))
        assert_same_distances(came["scores"], expected)


@pytest.mark.parametrize("shape", [(7,), (4, 3), (3, 4, 5), (2, 3, 4, 3), (2, 2, 3, 2, 3)])
@pytest.mark.parametrize("Method", [MCSDA, CSDA, MPCA])
def test_any_order_of_tensor_is_exported(shape, Method, path):
    """Different sizes and ranks in every mode, so that no wrong order of modes goes unseen."""
    rng = np.random.default_rng(0)
    batch = rng.normal(size=(60, *shape)).astype(np.float32)
    ranks = 3 if Method._flattens else tuple(1 + k % (size - 1) for k, size in enumerate(shape))
    model = projector(Method, ranks=ranks, output="tensor", **FEW_ROUNDS)
    model.fit(batch, np.arange(60) % 3)
    came = run(model, path, batch)
    assert_close(came["projected"], model.transform(batch.astype(np.float64)))


@pytest.mark.parametrize(
    "model",
    [
        KernelCSDA(5, n_landmarks=30, positive=3),
        KernelCSDA(5, n_landmarks=30, kernel="poly", degree=2, positive=3),
        KernelCSDA(5, kernel="linear", positive=3),
    ],
    ids=str,
)
def test_kernels_are_exported(model, path):
    model = clone(model).fit(X[:200], Y[:200])
    came, exact = run(model, path, X), X.astype(np.float64)
    assert_close(came["projected"], model.transform(exact))
    if hasattr(model, "decision_function"):
        assert_same_distances(came["scores"], model.decision_function(exact))


def test_a_bank_of_kernels_has_one_kernel_and_others_are_refused(path):
    bank = ClassSpecificClassifier(KernelCSDA(5, n_landmarks=30)).fit(X[:200], Y[:200])
    came = run(bank, path, X)
    np.testing.assert_array_equal(came["label"], bank.predict(X.astype(np.float64)))
    kinds = [node.op_type for node in onnx.load(path).graph.node]
    assert kinds.count("Exp") == 1
    with pytest.raises(ValueError, match="kernel='laplacian' has no ONNX form here"):
        to_onnx(KernelCSDA(kernel="laplacian", positive=3).fit(X[:200], Y[:200]), path)


@pytest.mark.parametrize("model", [MCSDA(ranks=(5, 4), **FEW_ROUNDS), CSDA(ranks=9)], ids=str)
def test_a_verifier_scores_and_accepts_as_numpy_does(model, path):
    verifier = ClassSpecificVerifier(model, positive=3, false_accept_rate=0.1).fit(X[::2], Y[::2])
    came, exact = run(verifier, path, X), X.astype(np.float64)
    scores = verifier.projector_.decision_function(exact)
    assert_same_distances(came["scores"], scores)
    assert came["accepted"].dtype == bool
    assert 0 < came["accepted"].sum() < len(X)
    np.testing.assert_array_equal(came["accepted"], verifier.predict(exact))


@pytest.mark.parametrize(("n_classes", "positive"), [(2, 1), (10, 0), (10, 1)])
def test_a_verifier_without_a_method_scores_and_accepts_as_numpy_does(n_classes, positive, path):
    some = n_classes > Y
    batch, labels = X[some], Y[some]
    verifier = ClassSpecificVerifier(positive=positive, false_accept_rate=0.1)
    verifier.fit(batch[::4], labels[::4])
    came, exact = run(verifier, path, batch), batch.astype(np.float64)
    scores = verifier.decision_function(exact) + verifier.threshold_
    np.testing.assert_allclose(came["scores"], scores, rtol=1e-5, atol=1e-4)
    assert 0 < came["accepted"].sum() < len(batch)
    np.testing.assert_array_equal(came["accepted"], verifier.predict(exact))
    told = {entry.key: json.loads(entry.value) for entry in onnx.load(path).metadata_props}
    assert told["positive"] == positive


def test_a_view_may_have_a_part_in_the_scores_alone(path):
    """A verifier weighs its views for the ratio once more, and may leave one out there."""
    views = ["numbers", "gradients"]
    whole = ProbabilisticLDA(views=views).fit(X[:200], Y[:200])
    for view in whole.pool_["views"]:
        if view["name"] == "gradients":
            assert view["weight"] > 0
            view["ratio_weight"] = 0.0
    model = pickle.loads(pickle.dumps(whole))  # what scores is made anew
    came, exact = run(model, path, X[200:]), X[200:].astype(np.float64)
    np.testing.assert_allclose(came["probabilities"], model.predict_proba(exact), atol=1e-5)
    ratios = model.log_likelihood_ratio(exact)
    np.testing.assert_allclose(came["log_likelihood_ratio"], ratios, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("normalize", ["others", "own", False])
@pytest.mark.parametrize("model", [MCSDA(ranks=(5, 4), **FEW_ROUNDS), CSDA(ranks=9)], ids=str)
def test_a_bank_measures_and_names_as_numpy_does(model, normalize, path):
    model = clone(model).set_params(decision="distance")
    bank = ClassSpecificClassifier(model, normalize=normalize).fit(X[::2], Y[::2])
    came, exact = run(bank, path, X), X.astype(np.float64)
    unit = {"others": bank.other_spreads_, "own": bank.spreads_, False: 1.0}[normalize]
    came_distances, expected = came["distances"] * unit, bank.distances(exact) * unit
    assert_same_distances(came_distances, expected)
    np.testing.assert_array_equal(came["label"], bank.predict(exact))


@pytest.mark.parametrize("normalize", ["others", False])
@pytest.mark.parametrize("model", [MCSDA(ranks=(5, 4), **FEW_ROUNDS), CSDA(ranks=9)], ids=str)
def test_a_bank_of_likelihood_ratios_is_that_of_numpy(model, normalize, path):
    bank = ClassSpecificClassifier(model, normalize=normalize).fit(X[::2], Y[::2])
    came, exact = run(bank, path, X), X.astype(np.float64)
    np.testing.assert_allclose(came["distances"], bank.distances(exact), rtol=1e-5, atol=1e-4)
    np.testing.assert_array_equal(came["label"], bank.predict(exact))


@pytest.mark.parametrize(
    "names",
    [
        np.array(["ann", "bob", "zoë"]),
        np.array(["ann", "bob", "zoë"], dtype=object),
        np.array([-5, 0, 7], dtype=np.int32),
        np.array([0, 1, 2], dtype=np.uint8),
        np.array([1.0, 2.0, 3.0]),
        np.array([1.0, 2.0, 3.0], dtype=np.float32),
        np.array([False, True, True]),
    ],
    ids=lambda names: str(names.dtype),
)
def test_labels_of_every_kind_leave_the_graph(names, path):
    batch = np.random.default_rng(0).normal(size=(30, 4, 3)).astype(np.float32)
    bank = ClassSpecificClassifier(MCSDA(ranks=2, **FEW_ROUNDS))
    bank.fit(batch, names[np.arange(30) % 3])
    came = run(bank, path, batch)
    assert came["label"].tolist() == bank.predict(batch).tolist()
    assert came["distances"].shape == (30, len(bank.classes_))


def test_data_far_from_zero_lose_no_digits(path):
    """float32 has 7 digits; about an offset of 1e4 only 3 would be left after a plain mean."""
    rng = np.random.default_rng(0)
    batch = (1e4 + rng.normal(size=(50, 6, 5))).astype(np.float32)
    model = MCSDA(ranks=2, **FEW_ROUNDS).fit(batch, np.arange(50) % 2)
    came = run(model, path, batch)
    # Scores are sums of terms of up to 5, which float32 rounds by 5e-7.
    close = {"rtol": 1e-5, "atol": 1e-6}
    np.testing.assert_allclose(came["scores"], model.decision_function(batch), **close)
    exact = model.decision_function(batch.astype(np.float64))
    np.testing.assert_allclose(came["scores"], exact, **close)


def test_the_metadata_say_what_the_numbers_mean(path):
    model = MCSDA(ranks=3, **FEW_ROUNDS)
    verifier = ClassSpecificVerifier(model, positive=4, false_accept_rate=0.1).fit(X, Y)
    to_onnx(verifier, path)
    model = onnx.load(path)
    told = {entry.key: json.loads(entry.value) for entry in model.metadata_props}
    assert told.pop("tenfold") == model.producer_version
    assert told == {
        "method": "ClassSpecificVerifier",
        "sample_shape": [8, 8],
        "classes": list(range(10)),
        "positive": 4,
        "threshold": verifier.threshold_,
    }


def test_what_has_no_onnx_form_is_refused_with_advice(path):
    small = MCSDA(ranks=2, **FEW_ROUNDS)
    second = ClassSpecificClassifier(small, classifier=SVC()).fit(X[:300], Y[:300])
    with pytest.raises(ValueError, match=r"classifier=SVC\(\) is not part of tenfold.*skl2onnx"):
        to_onnx(second, path)
    with pytest.raises(NotFittedError):
        to_onnx(clone(small), path)
    search = RankSearchCV(small, ranks=[2], cv=2).fit(X[:300], Y[:300])
    with pytest.raises(ValueError, match="of a search its best_estimator_"):
        to_onnx(search, path)
    assert not path.exists()


def test_without_onnx_the_extra_is_named(path, monkeypatch):
    model = MCSDA(ranks=2, **FEW_ROUNDS).fit(X[:300], Y[:300])
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r'pip install "tenfold\[onnx\]"'):
        to_onnx(model, path)


class RowsPCA(PCA):
    """Principal components of samples as rows."""

    def fit(self, X, y=None):
        return super().fit(X.reshape(len(X), -1))

    def transform(self, X):
        return super().transform(X.reshape(len(X), -1))


# ── Gaussian classes ────────────────────────────────────────────────────────────────────────────

GAUSSIAN = [
    ProbabilisticLDA(),
    ProbabilisticLDA("linear"),
    ProbabilisticLDA(["numbers"]),
    ProbabilisticLDA(["units"]),
    ProbabilisticLDA(["length"]),
    ProbabilisticLDA(["gradients"]),
    ProbabilisticLDA(["kronecker"]),
    ProbabilisticLDA(["rbf_wide"]),
    ProbabilisticLDA(["rbf_narrow", "length", "numbers"], priors="equal"),
    ProbabilisticLDA([MPCA(ranks=(5, 4))]),
]


def assert_same_probabilities(model, path, batch, loose=1.0):
    came = run(model, path, batch)
    expected = model.log_likelihood_ratio(batch)
    scale = np.abs(expected[np.isfinite(expected)]).max()
    tolerance = loose * 1e-6 * scale
    np.testing.assert_allclose(came["log_likelihood_ratio"], expected, atol=tolerance)
    np.testing.assert_allclose(came["scores"], model.decision_function(batch), atol=tolerance)
    probabilities = model.predict_proba(batch)
    np.testing.assert_allclose(came["probabilities"], probabilities, atol=2 * tolerance + 1e-6)
    two = np.sort(probabilities, axis=1)[:, -2:]
    clear = two[:, 1] - two[:, 0] > 4 * tolerance
    assert clear.mean() > 0.9
    assert (came["label"][clear] == model.predict(batch)[clear]).all()


@pytest.mark.parametrize("model", GAUSSIAN, ids=str)
def test_scores_probabilities_and_labels_of_gaussian_classes(model, path):
    model = clone(model).fit(X[:300].astype(float), Y[:300])
    assert model.weights_.any()
    assert_same_probabilities(model, path, X[900:])


@pytest.mark.parametrize("views", ["auto", ["rbf"], ["length"], ["kronecker"]], ids=str)
def test_gaussian_classes_far_from_zero_lose_no_digits(views, path):
    """float32 has 7 digits: samples are centred in double precision, before any distance."""
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    batch = (1e4 + rng.normal(size=(90, 6, 5)) + rng.normal(size=(3, 6, 5))[y]).astype(np.float32)
    assert_same_probabilities(ProbabilisticLDA(views).fit(batch, y), path, batch)


def test_gaussian_classes_that_came_later_or_never_with_priors(path):
    labels = np.array([f"digit {d}" for d in range(10)])
    known, samples = Y[:300] < 9, X[:300].astype(float)
    priors = {label: i / 36 for i, label in enumerate(labels[:9])}
    model = ProbabilisticLDA(priors=priors).fit(samples[known], labels[Y[:300][known]])
    assert_same_probabilities(model, path, X[900:])
    came = run(model, path, X[900:])
    assert (came["probabilities"][:, 0] == 0).all()
    assert set(came["label"]) <= set(labels) - {"digit 0", "digit 9"}
    model.enroll(samples[~known], labels[Y[:300][~known]])
    assert_same_probabilities(model, path, X[900:])
    assert "digit 9" in run(model, path, X[900:])["label"]


def test_two_gaussian_classes_have_a_column_each(path):
    few = Y[:300] < 2
    model = ProbabilisticLDA().fit(X[:300][few].astype(float), Y[:300][few])
    came = run(model, path, X[900:])
    assert came["scores"].shape == (len(X) - 900, 2)
    assert_close(came["scores"][:, 1] - came["scores"][:, 0], model.decision_function(X[900:]))


def test_a_view_of_another_library_has_no_graph(path):
    model = ProbabilisticLDA(["numbers", RowsPCA(9)])
    model = model.fit(X[:300].astype(float), Y[:300])
    assert model.weights_[1] > 0
    with pytest.raises(
        ValueError, match=r"view 'RowsPCA' is a RowsPCA.*no ONNX form.*views='auto'"
    ):
        to_onnx(model, path)
    assert not path.exists()
