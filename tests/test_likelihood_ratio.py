"""Laws of `decision="likelihood_ratio"`: what SciPy's densities say, and who may use it."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.datasets import load_digits

from tenfold import CSDA, MCSDA, ClassSpecificClassifier, ClassSpecificVerifier, load
from ways import learned

DIGITS = load_digits()
X, Y = DIGITS.images[:600], DIGITS.target[:600]
NEW = DIGITS.images[600:900]


def by_densities(model, X, y, new):
    """The log ratio of the two Gaussians, from SciPy, in the subspace of a model."""
    Z = model.transform(X).reshape(len(X), -1)
    means = np.stack([Z[y == c].mean(axis=0) for c in model.classes_])
    codes = np.searchsorted(model.classes_, y)
    s = ((Z - means[codes]) ** 2).sum() / (len(Z) - len(means)) / Z.shape[1]
    p = model.positive_index_
    rest = codes != p
    m_o = Z[rest].mean(axis=0)
    B = (means[codes[rest]] - m_o).T @ (means[codes[rest]] - m_o) / rest.sum()
    own = multivariate_normal(means[p], s * np.eye(Z.shape[1]))
    other = multivariate_normal(m_o, s * np.eye(Z.shape[1]) + B)
    W = model.transform(new).reshape(len(new), -1)
    return own.logpdf(W) - other.logpdf(W)


@pytest.mark.parametrize("statistics", ["moments", "samples"])
@pytest.mark.parametrize("classes", [2, 10])
@pytest.mark.parametrize(
    "make", [lambda **k: MCSDA((3, 4), **k), lambda **k: CSDA(9, **k)], ids=["MCSDA", "CSDA"]
)
def test_scores_are_the_log_ratio_of_two_gaussians(make, classes, statistics):
    used = classes > Y
    model = learned(make(positive=1), statistics, X[used], Y[used])
    expected = by_densities(model, X[used], Y[used], NEW)
    np.testing.assert_allclose(model.decision_function(NEW), expected, rtol=1e-8, atol=1e-8)


def test_a_bank_compares_what_its_members_say(tmp_path):
    ranks = {c: (2 + c % 3, 3) for c in range(10)}
    bank = ClassSpecificClassifier(MCSDA(ranks), normalise=False).fit(X, Y)
    each = np.stack([member.decision_function(NEW) for member in bank.projectors_], axis=1)
    np.testing.assert_allclose(-bank.distances(NEW), each, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(bank.predict(NEW), bank.classes_[each.argmax(axis=1)])
    bank.save(tmp_path / "bank.safetensors")
    again = load(tmp_path / "bank.safetensors").distances(NEW)
    np.testing.assert_array_equal(again, bank.distances(NEW))
    normalised = ClassSpecificClassifier(MCSDA(ranks)).fit(X, Y).distances(NEW)
    typical, even = np.stack([member.anchors_ for member in bank.projectors_]).T
    np.testing.assert_allclose(
        normalised * np.abs(normalised), (even - each) / (even - typical), rtol=1e-7, atol=1e-9
    )


def test_noise_larger_than_the_difference_of_means_hides_no_class():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 300)
    Z = rng.normal(size=(600, 6, 20)) * np.linspace(0.3, 3, 20)
    Z[y == 1, :2, :8] += 0.25
    train = np.arange(600) % 2 == 0
    scores = {
        decision: MCSDA(positive=1, decision=decision)
        .fit(Z[train], y[train])
        .score(Z[~train], y[~train])
        for decision in ("likelihood_ratio", "distance")
    }
    assert scores["likelihood_ratio"] > 0.8 > 0.65 > scores["distance"]


def test_a_rate_that_few_classes_cannot_promise_is_for_new_samples_of_them():
    verifier = ClassSpecificVerifier(CSDA(), positive=8)
    with pytest.warns(UserWarning, match=r"9 other classes can promise 0\.1.*new samples of these"):
        verifier.fit(DIGITS.images, DIGITS.target)
    assert verifier.error_rates_["false_accepts"] <= 0.011
    assert verifier.error_rates_["false_rejects"] <= 0.15


@pytest.mark.parametrize("same", ["samples", "means"])
def test_degenerate_samples_give_finite_scores(same):
    y = np.array([0, 0, 1, 1, 2])
    Z = np.ones((5, 3, 2))
    if same == "means":
        Z[::2] += 1.0
    for model in (MCSDA(positive=1), CSDA(positive=1)):
        assert np.isfinite(model.fit(Z, y).decision_function(Z)).all()


def test_what_is_not_a_decision_is_refused():
    with pytest.raises(ValueError, match="decision is 'ratio'; expected one of"):
        MCSDA(decision="ratio", positive=1).fit(X, Y)
    with pytest.raises(ValueError, match="normalise='own' divides distances"):
        ClassSpecificClassifier(MCSDA(), normalise="own").fit(X, Y)
