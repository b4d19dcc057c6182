"""Kernel CSDA against formulas on explicit kernels and explicit features."""

import pickle

import numpy as np
import pytest
from scipy.linalg import eigh, solve
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV

import tenfold
from reference import problem
from tenfold import (
    CSDA,
    ClassSpecificClassifier,
    ClassSpecificVerifier,
    KernelCSDA,
    ProbabilisticLDA,
    RankSearchCV,
)
from tenfold.app.report import write_report
from tenfold.datasets import TensorDataset
from tenfold.linalg.bases import KernelBasis
from tenfold.methods import kernelcsda
from tenfold.methods.kernelcsda import KERNEL_TABLES
from tenfold.plots import DirectionsDisplay

RIDGE = ("absolute", 0.05)
X, y = problem((4, 3), classes=4, per_class=10, seed=0)
new = problem((4, 3), classes=4, per_class=10, seed=1)[0]
FLAT, NEW = X.reshape(len(X), -1), new.reshape(len(new), -1)


def dual_scores(K, rows, positive, rank, shrinkage):
    """Kernel CSDA by its dual: w = sum_j a_j phi(x_j), from the kernel matrix K (n, n) alone."""
    centre = K[:, y == positive].mean(axis=1)
    out = K[:, y != positive] - centre[:, None]
    share = np.mean(y == positive)
    inside, within = np.zeros_like(K), np.zeros_like(K)
    for c in np.unique(y):
        Z = K[:, y == c] - K[:, y == c].mean(axis=1, keepdims=True)
        within += Z @ Z.T
        inside += Z @ Z.T * (c == positive)
    B = (1 - shrinkage) * inside + shrinkage * share * within + RIDGE[1] * K
    a = eigh(out @ out.T, B)[1][:, ::-1][:, :rank]
    return -np.linalg.norm((rows - centre) @ a, axis=1)


@pytest.mark.parametrize("shrinkage", [0.0, 0.5])
def test_an_rbf_kernel_gives_the_scores_of_the_dual_problem(shrinkage):
    gamma = 0.3
    model = KernelCSDA(3, gamma=gamma, ridge=RIDGE, shrinkage=shrinkage, positive=1).fit(X, y)
    K, rows = rbf_kernel(FLAT, gamma=gamma), rbf_kernel(NEW, FLAT, gamma=gamma)
    expected = dual_scores(K, rows, 1, 3, shrinkage)
    np.testing.assert_allclose(model.decision_function(new), expected, rtol=1e-8)


def monomials(Z, gamma, coef0):
    """The features whose inner product is (gamma <x, y> + coef0)^2."""
    i, j = np.triu_indices(Z.shape[1])
    pairs = gamma * Z[:, i] * Z[:, j] * np.where(i == j, 1, np.sqrt(2))
    linear = np.sqrt(2 * gamma * coef0) * Z
    return np.concatenate([pairs, linear, np.full((len(Z), 1), coef0)], axis=1)


def test_a_polynomial_kernel_is_csda_on_the_monomials():
    options = {"ranks": 3, "ridge": RIDGE, "positive": 2}
    model = KernelCSDA(kernel="poly", gamma=0.2, degree=2, coef0=0.7, **options).fit(X, y)
    explicit = CSDA(decision="distance", **options).fit(monomials(FLAT, 0.2, 0.7), y)
    expected = explicit.decision_function(monomials(NEW, 0.2, 0.7))
    np.testing.assert_allclose(model.decision_function(new), expected, rtol=1e-8)


def test_a_linear_kernel_is_csda():
    options = {"ranks": 3, "ridge": RIDGE, "positive": 2}
    model = KernelCSDA(kernel="linear", **options).fit(X, y)
    expected = CSDA(decision="distance", **options).fit(X, y).decision_function(new)
    np.testing.assert_allclose(model.decision_function(new), expected, rtol=1e-8)
    assert model.basis_.shape == (12, 12)  # of 46 samples, those that span all others


def test_a_callable_kernel_is_the_same_model():
    options = {"ranks": 3, "ridge": RIDGE, "positive": 1}
    expected = KernelCSDA(gamma=0.3, **options).fit(X, y).decision_function(new)
    own = KernelCSDA(kernel=lambda a, b: np.exp(-0.3 * np.sum((a - b) ** 2)), **options).fit(X, y)
    np.testing.assert_allclose(own.decision_function(new), expected, rtol=1e-8)


def test_landmarks_give_the_inner_products_of_nystroem():
    model = KernelCSDA(gamma=0.3, n_landmarks=15, positive=1).fit(X, y)
    own = [rbf_kernel(Z, model.landmarks_, gamma=0.3) for Z in (FLAT, NEW, model.landmarks_)]
    expected = own[1] @ solve(own[2], own[0].T, assume_a="pos")
    products = (own[1] @ model.basis_) @ (own[0] @ model.basis_).T
    np.testing.assert_allclose(products, expected, atol=1e-9)
    assert len(model.landmarks_) == 15
    every = KernelCSDA(gamma=0.3, n_landmarks=10**6, positive=1).fit(X, y)
    exact = KernelCSDA(gamma=0.3, positive=1).fit(X, y)
    np.testing.assert_array_equal(every.decision_function(new), exact.decision_function(new))


def test_scale_is_one_over_the_mean_squared_distance_from_the_mean():
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    repeated = np.repeat(FLAT, weight, axis=0)
    about = repeated - repeated.mean(axis=0)
    model = KernelCSDA(positive=1).fit(X, y, sample_weight=weight)
    assert model.gamma_ == pytest.approx(len(about) / np.sum(about**2), rel=1e-12)
    scaled = KernelCSDA(positive=1).fit(1e3 * X + 1e6, y, sample_weight=weight)
    np.testing.assert_allclose(
        scaled.decision_function(1e3 * new + 1e6), model.decision_function(new), rtol=1e-5
    )


# ── Inside others ───────────────────────────────────────────────────────────────────────────────


def test_a_bank_computes_the_kernel_once(monkeypatch):
    shapes = []

    def counted(X, Y, **options):
        shapes.append((len(X), len(Y)))
        return pairwise(X, Y, **options)

    pairwise = kernelcsda.pairwise_kernels
    monkeypatch.setattr(kernelcsda, "pairwise_kernels", counted)
    bank = ClassSpecificClassifier(KernelCSDA(3, gamma=0.3, ridge=RIDGE)).fit(X, y)
    assert shapes == [(len(X), len(X))]
    scores = bank.distances(new)
    assert shapes[1:] == [(len(new), len(X))]
    alone = [KernelCSDA(3, gamma=0.3, ridge=RIDGE, positive=c).fit(X, y) for c in range(4)]
    expected = -np.stack([one.decision_function(new) for one in alone], axis=1)
    np.testing.assert_allclose(scores, expected / bank.other_spreads_, rtol=1e-8)
    others = [
        np.sqrt(np.mean(one.decision_function(X[y != c]) ** 2)) for c, one in enumerate(alone)
    ]
    np.testing.assert_allclose(bank.other_spreads_, others, rtol=1e-8)
    # landmarks are in a bank once, not once per class
    assert len({id(member.landmarks_) for member in bank.projectors_}) == 1


def test_searches_give_what_fits_on_the_folds_give():
    """All samples span the space of every fold: an exact model does not see those held out."""
    model = KernelCSDA(gamma=0.3, ridge=RIDGE, positive=2)
    ours = RankSearchCV(model, ranks=[1, 3, 5], cv=3).fit(X, y)
    theirs = GridSearchCV(model, {"ranks": [1, 3, 5]}, cv=3).fit(X, y)
    for name in ("split0_test_score", "split2_test_score", "mean_test_score"):
        np.testing.assert_allclose(ours.cv_results_[name], theirs.cv_results_[name], rtol=1e-8)


def test_a_verifier_of_a_kernel_keeps_its_rate_on_digits():
    images, target = load_digits(return_X_y=True)
    model = KernelCSDA(16, n_landmarks=200)
    verifier = ClassSpecificVerifier(model, positive=6, false_accept_rate=0.1)
    accepted = verifier.fit(images[:900], target[:900]).predict(images[900:])
    assert accepted[target[900:] == 6].mean() > 0.95
    assert accepted[target[900:] != 6].mean() < 0.1


@pytest.mark.parametrize("kind", ["model", "bank", "verifier"])
def test_a_loaded_model_gives_the_same_numbers(kind, tmp_path):
    model = KernelCSDA(3, n_landmarks=20, positive=None if kind == "bank" else 1)
    wrapped = {
        "model": model,
        "bank": ClassSpecificClassifier(model),
        "verifier": ClassSpecificVerifier(model, false_accept_rate=0.5),
    }[kind].fit(X, y)
    with pytest.warns(UserWarning, match="will hold 20 training samples, unchanged"):
        wrapped.save(tmp_path / "kernel.safetensors")
    loaded = tenfold.load_model(tmp_path / "kernel.safetensors")
    np.testing.assert_array_equal(loaded.decision_function(new), wrapped.decision_function(new))
    again = pickle.loads(pickle.dumps(wrapped))
    np.testing.assert_array_equal(again.decision_function(new), wrapped.decision_function(new))


def test_a_file_whose_landmarks_and_basis_differ_in_length_is_refused(tmp_path):
    model = KernelCSDA(3, n_landmarks=20, positive=1).fit(X, y)
    model.landmarks_ = model.landmarks_[:-1]
    with pytest.warns(UserWarning, match="will hold 19 training samples"):
        model.save(tmp_path / "kernel.safetensors")
    with pytest.raises(ValueError, match="its basis_ has"):
        tenfold.load_model(tmp_path / "kernel.safetensors")


# ── Bad input ───────────────────────────────────────────────────────────────────────────────────


def test_kernels_that_are_no_inner_products_are_refused():
    with pytest.raises(ValueError, match="not positive semi-definite"):
        KernelCSDA(kernel="sigmoid", gamma=1.0, coef0=-2.0, positive=1).fit(X, y)
    with pytest.raises(ValueError, match="not positive semi-definite"):
        KernelBasis.of(np.array([[0.0, 1.0], [1.0, 0.0]]))
    with pytest.raises(ValueError, match="not positive semi-definite"):
        KernelBasis.of(-np.eye(3))
    with pytest.raises(ValueError, match=r"not symmetric.*pass one that is"):
        KernelBasis.of(np.array([[1.0, 0.5], [0.0, 1.0]]))
    with pytest.raises(ValueError, match="NaN or infinite"):
        KernelBasis.of(np.array([[1.0, np.nan], [np.nan, 1.0]]))
    with pytest.raises(ValueError, match="nothing to learn from"):
        KernelBasis.of(np.zeros((3, 3)))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kernel": "rfb"}, "kernel is 'rfb'; expected one of"),
        ({"gamma": -1.0}, "gamma is -1.0"),
        ({"gamma": "auto"}, "gamma is 'auto'"),
        ({"n_landmarks": 0}, "n_landmarks is 0"),
        ({"ranks": 47}, "rank 47 does not fit mode 0"),
    ],
)
def test_parameters_that_cannot_be_right_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        KernelCSDA(**parameters, positive=1).fit(FLAT, y)


def test_what_a_kernel_cannot_do_is_said():
    model = KernelCSDA(3, positive=1).fit(X, y)
    for name, words in (
        ("partial_fit", "all samples at once"),
        ("fit_moments", "all samples at once"),
        ("inverse_transform", "image of any sample"),
    ):
        assert not hasattr(model, name)
        with pytest.raises(AttributeError) as caught:
            getattr(model, name)
        assert words in str(caught.value.__cause__)
    assert not hasattr(ClassSpecificClassifier(KernelCSDA()), "partial_fit")
    with pytest.raises(ValueError, match="put it before the model"):
        ProbabilisticLDA(KernelCSDA(positive=1)).fit(X, y)


def test_a_kernel_matrix_beyond_the_budget_asks_for_landmarks(allow):
    allow(KERNEL_TABLES * 8 * len(X) ** 2)
    KernelCSDA(3, positive=1).fit(X, y)
    many = np.repeat(X, 2001 // len(X) + 1, axis=0)
    labels = np.repeat(y, 2001 // len(X) + 1)
    allow(KERNEL_TABLES * 8 * 2000**2)
    drawn = KernelCSDA(3, positive=1).fit(many, labels)  # beyond 2000 samples it draws some
    some = KernelCSDA(3, n_landmarks=1000, positive=1).fit(many, labels)
    np.testing.assert_array_equal(drawn.landmarks_, some.landmarks_)
    allow(KERNEL_TABLES * 8 * len(X) ** 2 - 1)
    with pytest.raises(ValueError, match="pass n_landmarks"):
        KernelCSDA(3, positive=1).fit(X, y)
    KernelCSDA(3, n_landmarks=10, positive=1).fit(X, y)


def test_one_positive_sample_and_equal_samples_have_an_answer():
    few = np.r_[np.flatnonzero(y != 3), np.flatnonzero(y == 3)[:1]]
    model = KernelCSDA(3, positive=3).fit(X[few], y[few])
    scores = model.decision_function(X[few])
    assert scores.argmax() == len(few) - 1
    same = np.concatenate([X, X])
    twice = KernelCSDA(3, gamma=0.3, positive=1).fit(same, np.concatenate([y, y]))
    once = KernelCSDA(3, gamma=0.3, positive=1).fit(X, y)
    scores = np.sqrt(2) * twice.decision_function(new)  # in units of an S_I of twice as many
    np.testing.assert_allclose(scores, once.decision_function(new), rtol=1e-7)
    constant = KernelCSDA(positive=1).fit(np.ones_like(X), y)
    np.testing.assert_allclose(constant.decision_function(np.ones_like(X)), 0.0, atol=1e-12)


def test_pages_and_plots_do_without_directions(tmp_path):
    data = TensorDataset(X, y, name="toy")
    for model in (KernelCSDA(3, positive=1), ClassSpecificClassifier(KernelCSDA(3))):
        write_report(model.fit(X, y), data, tmp_path / "page.html")
        assert "What it looks at" not in (tmp_path / "page.html").read_text(encoding="utf-8")
        with pytest.raises(ValueError, match=r"KernelCSDA has no directions to show"):
            DirectionsDisplay.from_estimator(model)
