"""Probabilistic CSDA against densities that SciPy computes."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from reference import problem
from tenfold import PCSDA, ClassSpecificClassifier, ClassSpecificVerifier
from ways import learned

X, y = problem((4,), classes=12, per_class=10, seed=0)
X = X + 5 * np.random.default_rng(1).normal(size=(12, 4))[y]  # other classes differ in all numbers
each_statistics = pytest.mark.parametrize("statistics", ["moments", "samples", "auto"])


def by_densities(positive, out_class, ridge):
    m_p = X[y == positive].mean(axis=0)
    n_own, n_others = np.sum(y == positive), np.sum(y != positive)
    means = np.array([X[y == c].mean(axis=0) for c in range(12)])
    within = (X - means[y]).T @ (X - means[y]) / len(X) + ridge / n_own * np.eye(4)
    about = (means[y] if out_class == "means" else X)[y != positive] - m_p
    noise = 11 if out_class == "means" else n_others
    other = about.T @ about / n_others - noise / n_others * within
    inside, outside = (multivariate_normal(m_p, S).logpdf(X) for S in (within, within + other))
    return inside - outside


@each_statistics
@pytest.mark.parametrize("out_class", ["means", "samples"])
def test_the_ratio_is_that_of_two_densities(statistics, out_class):
    ridge = 0.3
    options = {"ridge": ("absolute", ridge), "out_class": out_class}
    model = learned(PCSDA(4, positive=3, **options), statistics, X, y)
    expected = by_densities(3, out_class, ridge)
    np.testing.assert_allclose(model.log_likelihood_ratio(X), expected, rtol=1e-8, atol=1e-8)


def test_samples_of_the_model_are_told_apart_as_well_as_by_the_true_densities():
    rng = np.random.default_rng(2)
    within, between = np.diag([1.0, 2.0, 0.5]), np.diag([30.0, 4.0, 0.0])
    centres = rng.multivariate_normal(np.zeros(3), between, 200)
    centres[0] = 0.0
    labels = np.repeat(np.arange(200), 20)
    Z = centres[labels] + rng.multivariate_normal(np.zeros(3), within, len(labels))
    model = PCSDA(3, positive=0, ridge=1e-6).fit(Z, labels)
    new = np.concatenate(
        [
            rng.multivariate_normal(np.zeros(3), within, 2000),
            rng.multivariate_normal(np.zeros(3), within + between, 2000),
        ]
    )
    truth = multivariate_normal(np.zeros(3), within).logpdf(new) - multivariate_normal(
        np.zeros(3), within + between
    ).logpdf(new)
    found = model.log_likelihood_ratio(new)
    assert np.corrcoef(found, truth)[0, 1] > 0.98
    is_own = np.arange(4000) < 2000
    assert np.mean((found > 0) == is_own) == pytest.approx(np.mean((truth > 0) == is_own), abs=0.02)


def test_weights_streams_and_banks():
    weight = np.random.default_rng(1).integers(1, 4, len(y))
    weighted = PCSDA(3, positive=0).fit(X, y, sample_weight=weight)
    repeated = PCSDA(3, positive=0).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(
        weighted.log_likelihood_ratio(X), repeated.log_likelihood_ratio(X), rtol=1e-8
    )
    whole, stream = PCSDA(3, positive=0).fit(X, y), PCSDA(3, positive=0)
    for rows in np.array_split(np.arange(len(X)), 4):
        stream.partial_fit(X[rows], y[rows], classes=np.unique(y))
    np.testing.assert_allclose(
        stream.log_likelihood_ratio(X), whole.log_likelihood_ratio(X), rtol=1e-8
    )
    bank = ClassSpecificClassifier(PCSDA(3)).fit(X, y)
    spread = np.sqrt(np.mean(whole.decision_function(X[y != 0]) ** 2))
    assert bank.other_spreads_[0] == pytest.approx(spread, rel=1e-8)
    assert ClassSpecificVerifier(PCSDA(3), positive=1, false_accept_rate=0.2).fit(X, y)


def test_a_direction_in_which_other_classes_do_not_differ_has_no_say():
    rng = np.random.default_rng(3)
    Z = rng.normal(size=(400, 2))
    labels = np.arange(400) % 20
    Z[:, 0] += 10 * rng.normal(size=20)[labels]
    Z[:, 1] -= np.array([Z[labels == c, 1].mean() for c in range(20)])[labels]
    model = PCSDA(2, positive=1).fit(Z, labels)
    assert model.ranks_ == (1,)
    assert abs(model.projections_[0][1, 0]) < 0.1 * abs(model.projections_[0][0, 0])
