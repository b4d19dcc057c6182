"""ORL faces of 20 x 15 with gaps: completing them is never behind means, and ahead from 30 % on."""

import numpy as np
import pytest

from paper.orl import load_orl
from tenfold import (
    CSDA,
    ClassSpecificClassifier,
    GaussianImputer,
    ProbabilisticLDA,
)
from tenfold.metrics import mean_average_precision

pytestmark = pytest.mark.realdata

MODELS = (ClassSpecificClassifier(CSDA()), ProbabilisticLDA())


@pytest.fixture(scope="module")
def faces(data_root):
    if not (data_root / "orl").is_dir():
        pytest.skip(f"no ORL faces in {data_root}")
    return load_orl(data_root, shape=(20, 15))


def with_gaps(X, kind, rng):
    X = X.copy()
    if kind == "rectangle":
        for x in X:
            top, left = rng.integers(13), rng.integers(10)
            x[top : top + 8, left : left + 6] = np.nan
    else:
        X[rng.random(X.shape) < kind] = np.nan
    return X


@pytest.mark.parametrize("kind", [0.1, 0.3, 0.5, "rectangle"])
def test_completing_is_not_behind_means_and_ahead_from_30_percent_on(faces, kind):
    """Mean average precision of one split, two training images per person."""
    rng = np.random.default_rng(0)
    train = np.zeros(400, dtype=bool)
    for person in np.unique(faces.y):
        train[rng.permutation(np.flatnonzero(faces.y == person))[:2]] = True
    X = with_gaps(faces.X, kind, rng)
    ours = GaussianImputer().fit(X[train]).transform(X)
    means = np.where(np.isnan(X), np.nanmean(X[train], axis=0), X)
    found = [
        mean_average_precision(model.fit(Y[train], faces.y[train]), Y[~train], faces.y[~train])
        for model in MODELS
        for Y in (ours, means)
    ]
    gain = np.subtract(found[::2], found[1::2])
    assert (gain > (0.005 if kind != 0.1 else -0.002)).all(), gain
