"""The verifier on ORL faces: impostors that no model has ever met."""

import warnings

import numpy as np
import pytest

from tenfold import CSDA, ClassSpecificVerifier, FalseAcceptRateWarning

pytestmark = pytest.mark.realdata


@pytest.mark.parametrize("n", [2, 3, 5])
@pytest.mark.parametrize("shrinkage", [0.0, "auto"])
def test_one_false_accept_in_a_hundred_of_persons_never_seen(faces, n, shrinkage):
    """Half of the 40 persons are enrolled with n images each, the others are impostors.

    19 other persons promise 5 %, so every fit says that 1 % is an extrapolation; halves of 40
    persons differ by much, so the mean is over 24 of them.
    """
    X, y = faces
    given = []
    for seed in range(24):
        rng = np.random.default_rng(seed)
        known, unknown = np.array_split(rng.permutation(np.unique(y)), 2)
        train = np.concatenate([rng.permutation(np.flatnonzero(y == one))[:n] for one in known])
        for person in known[:3]:
            model = ClassSpecificVerifier(CSDA(shrinkage=shrinkage), positive=person)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                model.fit(X[train], y[train])
            assert any("19 other classes can guarantee 0.05" in str(one.message) for one in caught)
            assert {one.category for one in caught} == {FalseAcceptRateWarning}
            given.append(np.mean(model.predict(X[np.isin(y, unknown)])))
    assert 0.003 <= np.mean(given) <= 0.02
