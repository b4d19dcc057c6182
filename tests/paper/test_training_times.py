import numpy as np
import pytest

from paper.literal import literal_csda, literal_mcsda
from paper.training_times import fitted_exponent
from tenfold import CSDA, MCSDA


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 12)
    return rng.normal(size=(36, 6, 5)) + rng.normal(size=(3, 6, 5))[y], y


def projector(W):
    return W @ np.linalg.pinv(W)


def test_literal_csda_spans_the_subspace_of_csda(samples):
    X, y = samples
    printed = {"ridge": ("absolute", 0.01), "shrinkage": 0.0, "decision": "distance"}
    ours = CSDA(6, positive=2, orthonormal=True, **printed).fit(X, y).projections_[0]
    literal = literal_csda(X.reshape(36, -1), y == 2, 0.01, 6)
    np.testing.assert_allclose(projector(ours), projector(literal), atol=1e-9)


def test_literal_mcsda_spans_the_subspaces_of_mcsda(samples):
    X, y = samples
    options = {"init": "ones", "max_iter": 9, "tol": 0.0, "decision": "distance"}
    ours = MCSDA((3, 2), ridge=("absolute", 0.01), shrinkage=0.0, **options).fit(X, y).projections_
    literal = literal_mcsda(X, y == 2, 0.01, (3, 2), rounds=9)
    for W, V in zip(ours, literal, strict=True):
        np.testing.assert_allclose(projector(W), projector(V), atol=1e-9)


def test_an_exponent_is_a_slope_on_logarithmic_paper():
    sizes = np.array([10.0, 30.0, 90.0])
    assert fitted_exponent(sizes, 5 * sizes**1.5) == pytest.approx(1.5)
