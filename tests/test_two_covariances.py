"""The scores of known and enrolled classes are densities written out, Gaussian and Student's t."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal, multivariate_t

from tenfold.mathematics.two_covariances import ClassLikelihood, KnownClasses


@pytest.mark.parametrize("gain", [0.0, 0.3])
@pytest.mark.parametrize("tails", [0.0, 0.2])
def test_scores_are_ratios_of_densities(gain, tails):
    """Of a sample (1 + g) a + noise with g ~ N(0, gain), and of someone else; Gaussian or t."""
    rng = np.random.default_rng(3)
    between, spread, within = rng.uniform(0.5, 2, (3, 4))
    model = ClassLikelihood(between, spread, within, np.ones(4), gain, tails, temperature=1.7)
    known = KnownClasses(rng.normal(size=(3, 4)), np.array([2.0, 5.0, 0.0]), np.array([0, 1, 0]))
    Z = rng.normal(size=(6, 4))

    def density(mean, covariance):
        if tails == 0:
            return multivariate_normal(mean, covariance).logpdf(Z)
        return multivariate_t(mean, covariance, df=1 / tails).logpdf(Z)

    scores = model.scores(Z, known)
    someone = density(np.zeros(4), np.diag(between + within))
    for c in range(2):
        n, miss = known.counts[c], within if known.enrolled[c] else spread
        a = known.means[c] * n * between / (n * between + miss)
        v = within + between * miss / (n * between + miss)
        ratio = density(a, np.diag(v) + gain * np.outer(a, a)) - someone
        np.testing.assert_allclose(scores[:, c], ratio / 1.7, rtol=1e-10)
    assert (scores[:, 2] == -np.inf).all()
