"""The pieces of Table 3 against scikit-learn and against sums written out."""

import numpy as np
import pytest
from scipy.linalg import eigh
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import RidgeClassifier
from sklearn.metrics import f1_score
from sklearn.metrics.pairwise import rbf_kernel

from paper.linear_rows import linear_discriminants, ridge_classifiers
from paper.order_book_settings import metrics_of
from paper.order_book_subspaces import subspace_bank, vector_bank
from paper.prototype_rows import RadialLayer, codes, window_histograms
from tenfold import MCSDA, ClassMoments, ClassSpecificClassifier
from tenfold.datasets import SegmentedWindows


@pytest.fixture(scope="module")
def vectors():
    rng = np.random.default_rng(0)
    y = rng.choice([1, 2, 3], size=300, p=[0.2, 0.6, 0.2])
    return rng.normal(size=(300, 6)) @ rng.normal(size=(6, 6)) + y[:, None] * 0.3, y


@pytest.fixture(scope="module")
def windows():
    rng = np.random.default_rng(1)
    y = rng.choice([1, 2, 3], size=200, p=[0.3, 0.4, 0.3])
    means = rng.normal(size=(4, 6, 5))
    return rng.normal(size=(200, 6, 5)) + means[y], y


@pytest.mark.parametrize("balanced", [False, True])
def test_ridge_from_moments_is_the_ridge_classifier(vectors, balanced):
    X, y = vectors
    (ours,) = ridge_classifiers(ClassMoments.from_batch(X, y), [0.01], balanced)
    theirs = RidgeClassifier(
        alpha=0.01 * len(y), class_weight="balanced" if balanced else None, solver="cholesky"
    ).fit(X, y)
    np.testing.assert_allclose(ours.scores(X), theirs.decision_function(X), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("uniform", [False, True])
def test_discriminants_from_moments_are_those_of_scikit_learn(vectors, uniform):
    X, y = vectors
    moments = ClassMoments.from_batch(X, y)
    (ours,) = linear_discriminants(moments, [0.1], uniform)
    if not uniform:  # with priors scikit-learn weighs the covariances of the classes by them too
        (plain,) = linear_discriminants(moments, [0.0], uniform)
        theirs = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.0).fit(X, y)
        guess = np.array([1, 2, 3])[plain.scores(X).argmax(axis=1)]
        assert np.array_equal(guess, theirs.predict(X))
    # scikit-learn shrinks standardised features; towards our identity the oracle is the formula.
    S = sum(np.cov(X[y == c].T, bias=True) * (y == c).mean() for c in (1, 2, 3))
    S = 0.9 * S + 0.1 * np.trace(S) / 6 * np.eye(6)
    M = np.stack([X[y == c].mean(axis=0) for c in (1, 2, 3)])
    share = np.full(3, 1 / 3) if uniform else np.bincount(y)[1:] / len(y)
    W = np.linalg.solve(S, M.T)
    np.testing.assert_allclose(
        ours.scores(X), X @ W - np.einsum("ci,ic->c", M, W) / 2 + np.log(share), rtol=1e-8
    )


def test_a_bank_of_subspaces_is_the_class_specific_classifier(windows):
    X, y = windows
    ranks = np.array([[2, 1], [4, 3]])
    bank = subspace_bank("MCSDA", ClassMoments.from_batch(X, y), ranks, ridge=1e-3, max_iter=30)
    found = bank.distances(X)
    for position, rank in enumerate(ranks):
        projector = MCSDA(
            tuple(rank), orthonormal=False, ridge=1e-3, shrinkage=0.0, init="ones", max_iter=30,
            tol=0.0, decision="distance",
        )  # fmt: skip
        for normalize in (False, "own"):
            theirs = ClassSpecificClassifier(projector, normalize=normalize)
            expected = theirs.fit(X, y).distances(X)
            ours = found[position] / (bank.spreads[:, position] if normalize else 1)
            np.testing.assert_allclose(ours, expected, rtol=2e-4)  # float32 against float64


def test_vector_banks_are_nested_and_measure_in_the_metric_of_the_class(vectors):
    X, y = vectors
    moments = ClassMoments.from_batch(X, y)
    bank = vector_bank(moments, np.array([1, 3]), ridge=0.0)
    Z = X - moments.means[1]
    S_in, S_out = Z[y == 2].T @ Z[y == 2], Z[y != 2].T @ Z[y != 2]
    W = eigh(S_out, S_in)[1][:, ::-1]
    for position, d in enumerate((1, 3)):
        expected = np.linalg.norm(Z @ W[:, :d], axis=1)
        np.testing.assert_allclose(bank.distances(X)[position, :, 1], expected, rtol=1e-3)
        assert bank.spreads[1, position] == pytest.approx(
            np.sqrt((expected[y == 2] ** 2).mean()), rel=1e-6
        )


def test_the_radial_layer_is_an_rbf_kernel(vectors):
    X, _ = vectors
    layer = RadialLayer.fitted(X, 5, seed=0)
    expected = rbf_kernel(X, layer.centres, gamma=1 / (2 * layer.width**2))
    np.testing.assert_allclose(layer(X), expected, rtol=1e-8)


@pytest.mark.parametrize("soft", [False, True])
def test_codes_share_every_block_among_the_codewords(vectors, soft):
    X, _ = vectors
    centres = X[:7]
    shares = codes(X, centres, soft)
    np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-12)
    distances = np.linalg.norm(X[:, None] - centres, axis=2)
    assert np.array_equal(shares.argmax(axis=1), distances.argmin(axis=1))


def test_a_histogram_averages_the_blocks_of_its_window():
    rng = np.random.default_rng(0)
    rows, shares = rng.normal(size=(20, 3)), rng.random((20, 4))
    windows = SegmentedWindows(rows, [(0, 8), (8, 20)], window=5)
    expected = [shares[last - 4 : last + 1].mean(axis=0) for last in windows.last_rows]
    np.testing.assert_allclose(window_histograms(windows, shares), expected, rtol=1e-6)


def test_metrics_are_macro_averages(vectors):
    _, y = vectors
    guess = np.roll(y, 1)
    accuracy, _, _, f1 = metrics_of(y, guess)
    assert accuracy == pytest.approx(100 * (y == guess).mean())
    assert f1 == pytest.approx(100 * f1_score(y, guess, average="macro"), abs=1e-6)
