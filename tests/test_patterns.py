"""Patterns beside filters: what is found, not how."""

import numpy as np
import pytest
import xarray

import tenfold
from reference import problem
from tenfold import (
    CMDA,
    CSDA,
    DATER,
    HODA,
    MCSDA,
    MPCA,
    ClassSpecificClassifier,
    ProbabilisticLDA,
)
from tenfold.methods import LINEAR_METHODS
from tenfold.plots import DirectionsDisplay, ProjectionsDisplay


def cosines(found, truth):
    """Of the angles between columns, whatever their signs and lengths."""
    products = np.abs(np.sum(found * truth, axis=0))
    return products / np.linalg.norm(found, axis=0) / np.linalg.norm(truth, axis=0)


def by_definition(X, projections, mode):
    """Haufe's: covariance of what the other modes let through, times filter, over that of scores.

    Columns of mode k are the observations; a score is a filter on such a column.
    """
    Z = X - X.mean(axis=0)
    for q, W in enumerate(projections):
        if q != mode:
            Z = np.moveaxis(np.tensordot(Z, W, axes=(q + 1, 0)), -1, q + 1)
    columns = np.moveaxis(Z, mode + 1, 0).reshape(Z.shape[mode + 1], -1)
    covariance, W = columns @ columns.T, projections[mode]
    scores = W.T @ columns
    return covariance @ W @ np.linalg.inv(scores @ scores.T)


@pytest.mark.parametrize("Method", LINEAR_METHODS, ids=lambda M: M.__name__)
@pytest.mark.parametrize("shape", [(5,), (4, 3), (3, 4, 3)])
def test_a_pattern_is_covariance_times_filter_over_the_covariance_of_scores(Method, shape):
    X, y = problem(shape, classes=3, seed=1)
    named = {"positive": 1} if hasattr(Method, "positive") else {}
    model = Method(ranks=2, **named).fit(X, y)
    samples = X.reshape(len(X), -1) if Method._flattens else X
    assert len(model.patterns_) == len(model.projections_)
    for mode, pattern in enumerate(model.patterns_):
        expected = by_definition(samples, model.projections_, mode)
        np.testing.assert_allclose(pattern, expected, atol=1e-8 * np.abs(expected).max())


@pytest.mark.parametrize("Method", [CMDA, DATER, HODA, MCSDA, CSDA], ids=lambda M: M.__name__)
def test_patterns_find_the_sources_where_filters_show_the_noise(Method):
    """X = a s b^T + noise whose channels are alike: the filter of a must cancel its neighbours."""
    rng = np.random.default_rng(3)
    n, a, b = 4000, rng.uniform(0.5, 2, 8), rng.normal(size=6)
    y = np.arange(n) % 2
    mixing = np.linalg.cholesky(0.95 * np.ones((8, 8)) + 0.05 * np.eye(8))
    noise = np.einsum("ij,njk->nik", mixing, rng.normal(size=(n, 8, 6)))
    X = np.where(y == 1, 1.0, -1.0)[:, None, None] * np.outer(a, b) / 2 + noise
    named = {"positive": 1, "negatives": "means"} if Method in (MCSDA, CSDA) else {}
    few = {"ridge": 1e-3, "shrinkage": 0.0} if Method in (MCSDA, CSDA) else {"ridge": 1e-3}
    model = Method(ranks=1, **named, **few).fit(X, y)
    truth = [np.outer(a, b).reshape(-1, 1)] if Method is CSDA else [a[:, None], b[:, None]]
    patterns = [cosines(P, A)[0] for P, A in zip(model.patterns_, truth, strict=True)]
    filters = [cosines(W, A)[0] for W, A in zip(model.projections_, truth, strict=True)]
    assert min(patterns) > 0.98
    assert filters[0] < 0.9 < patterns[0]


def test_few_samples_of_many_numbers_have_patterns_in_their_span():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 50)), np.arange(12) % 3
    model = CSDA(ranks=2, positive=1).fit(X, y)
    (pattern,) = model.patterns_
    np.testing.assert_allclose(pattern, by_definition(X, model.projections_, 0), atol=1e-7)
    np.testing.assert_allclose(model.projections_[0].T @ pattern, np.eye(2), atol=1e-7)


def test_batches_weights_files_and_equal_samples(tmp_path):
    X, y = problem((4, 3), classes=3, seed=2)
    whole = CMDA(2).fit(X, y)
    parts = CMDA(2).partial_fit(X[::2], y[::2]).partial_fit(X[1::2], y[1::2])
    twice = CMDA(2).fit(X, y, sample_weight=np.full(len(X), 2.0))
    for model in (parts, twice):
        for P, Q in zip(whole.patterns_, model.patterns_, strict=True):
            np.testing.assert_allclose(P, Q, atol=1e-8)
    whole.save(tmp_path / "m.safetensors")
    for P, Q in zip(
        whole.patterns_, tenfold.load_model(tmp_path / "m.safetensors").patterns_, strict=True
    ):
        np.testing.assert_array_equal(P, Q)
    same = MPCA(2).fit(np.ones((5, 4, 3)))
    assert not np.any(same.patterns_[0])


def test_plots_show_patterns_and_the_names_of_axes():
    X, y = problem((4, 3), classes=3, seed=2)
    trials = xarray.DataArray(X, dims=("trial", "channel", "time"))
    model = CMDA(2).fit(trials, y)
    display = DirectionsDisplay.from_estimator(model, patterns=True, n_directions=2)
    P, Q = model.patterns_
    shown = display.directions[0]
    assert cosines(shown.reshape(-1, 1), np.outer(P[:, 0], Q[:, 0]).reshape(-1, 1)) > 1 - 1e-12
    assert (display.axes_[0].get_ylabel(), display.axes_[0].get_xlabel()) == ("channel", "time")
    per_mode = ProjectionsDisplay.from_estimator(model, patterns=True)
    assert cosines(per_mode.projections[1], Q) == pytest.approx(1)
    channel, time = tenfold.labelled_projections(model, patterns=True)
    assert (channel.name, time.dims) == ("pattern of channel", ("time", "component"))
    np.testing.assert_array_equal(time, Q)
    gaussian = ProbabilisticLDA(views="linear").fit(trials, y)
    of_classes = DirectionsDisplay.from_estimator(gaussian, patterns=True)
    np.testing.assert_array_equal(of_classes.directions, gaussian.patterns_)
    assert of_classes.axes_[0].get_ylabel() == "channel"
    bank = ClassSpecificClassifier(MCSDA(2)).fit(X, y)
    for Display in (DirectionsDisplay, ProjectionsDisplay):
        with pytest.raises(ValueError, match="no patterns: it is part of a bank"):
            Display.from_estimator(bank, patterns=True)
