"""The stacks of the face tables equal the public estimators, one model at a time."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from paper.face_models import Candidate, FaceMethod, map_of_candidates
from paper.subspaces import squared_lengths
from tenfold import CMDA, CSDA, MCSDA

RIDGE = ("absolute", 0.01)
ROUNDS = 6


@pytest.fixture(scope="module", params=["grey", "with channels"])
def faces(request):
    rng = np.random.default_rng(0)
    shape = (9, 7) if request.param == "grey" else (9, 7, 2)
    means = rng.normal(size=(5, *shape))
    y = np.repeat(np.arange(5), 8)
    X = means[y] + 1.2 * rng.normal(size=(40, *shape))
    return (X[::2], y[::2]), (X[1::2], y[1::2])


def mean_score(estimators, test):
    return 100 * np.mean([estimator.score(*test) for estimator in estimators])


@pytest.mark.parametrize("shrinkage", [0.0, 0.4, "auto"])
def test_mcsda_of_all_persons_and_ranks_is_mcsda_one_by_one(faces, shrinkage):
    train, test = faces
    options = [Candidate(rank, shrinkage) for rank in (1, 2, 5)]
    stack = map_of_candidates(
        FaceMethod("MCSDA", max_iter=ROUNDS, per_sample=False), options, train, test
    )
    channels = train[0].shape[3:]
    start = "identity" if channels else "ones"
    for found, option in zip(stack, options, strict=True):
        alone = [
            MCSDA((option.rank, option.rank, *channels), ridge=RIDGE, max_iter=ROUNDS,
                  tol=0.0, shrinkage=shrinkage, init=start, positive=person,
                  decision="distance").fit(*train)
            for person in range(5)
        ]  # fmt: skip
        assert found == pytest.approx(mean_score(alone, test), abs=1e-9)


def test_binary_mda_of_all_persons_is_cmda_on_this_person_or_not(faces):
    (X, y), (X_test, y_test) = faces
    stack = map_of_candidates(
        FaceMethod("MDA", max_iter=ROUNDS, per_sample=False), [Candidate(3)], *faces
    )
    expected = []
    for person in range(5):
        ranks = (3, 3, *X.shape[3:])
        cmda = CMDA(ranks, ridge=RIDGE, max_iter=ROUNDS, tol=0.0, init="identity").fit(
            X, y == person
        )
        mean = cmda.transform(X[y == person].mean(axis=0)[None])
        distance = np.linalg.norm(cmda.transform(X_test) - mean, axis=1)
        order = np.argsort(distance)
        hits = (y_test == person)[order]
        precision = np.cumsum(hits) / np.arange(1, len(hits) + 1)
        expected.append(100 * precision[hits].mean())
    assert stack[0] == pytest.approx(np.mean(expected), abs=1e-9)


def test_csda_at_every_dimension_is_csda_one_by_one(faces):
    train, test = faces
    options = [Candidate(d, s) for s in (0.0, 0.5) for d in (2, 7, 19)]
    stack = map_of_candidates(FaceMethod("CSDA", per_sample=False), options, train, test)
    for found, option in zip(stack, options, strict=True):
        alone = [
            CSDA(option.rank, ridge=RIDGE, orthonormal=True, shrinkage=option.shrinkage,
                 decision="distance", positive=p).fit(*train)
            for p in range(5)
        ]  # fmt: skip
        assert found == pytest.approx(mean_score(alone, test), abs=1e-9)


@pytest.mark.parametrize("name", ["CSDA", "MDA", "MCSDA"])
def test_lambda_per_sample_is_lambda_times_the_samples_of_the_minimised_scatter(faces, name):
    n_minimised = 20 if name == "MDA" else 4  # all images, or those of the person
    per_sample = FaceMethod(name, ridge=0.5, max_iter=3)
    on_sums = FaceMethod(name, ridge=0.5 * n_minimised, max_iter=3, per_sample=False)
    a, b = (map_of_candidates(method, [Candidate(3)], *faces) for method in (per_sample, on_sums))
    assert a == pytest.approx(b, abs=1e-12)


def test_the_pixel_distance_needs_no_subspace(faces):
    (X, y), (X_test, y_test) = faces
    found = map_of_candidates(FaceMethod("pixels"), [Candidate(0)], *faces)
    expected = [
        average_precision_score(
            y_test == p, [-np.linalg.norm(x - X[y == p].mean(axis=0)) for x in X_test]
        )
        for p in range(5)
    ]
    assert found[0] == pytest.approx(100 * np.mean(expected))


def test_a_mode_of_channels_that_is_kept_whole_is_no_projection():
    """An image with its HOG image is a tensor of order 3; lengths add up over its channels."""
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(30, 5, 4, 2)), np.repeat([0, 1, 2], 10)
    mcsda = MCSDA((2, 3, 2), decision="distance", positive=1).fit(X, y)
    rows, columns, channels = mcsda.projections_
    np.testing.assert_allclose(channels @ channels.T, np.eye(2), atol=1e-12)
    lengths = squared_lengths(X - mcsda.mean_, rows[None], columns[None])[0]
    np.testing.assert_allclose(-mcsda.decision_function(X), np.sqrt(lengths), rtol=1e-10)
