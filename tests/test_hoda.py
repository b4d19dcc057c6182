"""HODA against its oracle: the trace ratio of every mode, found another way."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.pipeline import make_pipeline

import reference
from reference import distance, problem
from tenfold import CMDA, HODA, ProbabilisticLDA
from ways import learned

RIDGE = 0.1
CASES = {1: ((6,), (3,)), 2: ((5, 4), (2, 3)), 3: ((4, 3, 3), (2, 2, 1))}


def fisher_ratio(W, S_b, S_w):
    """tr(Q^T S_b Q) / tr(Q^T S_w Q) for an orthonormal basis Q of the span of W."""
    Q = np.linalg.qr(W)[0]
    return np.trace(Q.T @ S_b @ Q) / np.trace(Q.T @ S_w @ Q)


@pytest.mark.parametrize("order", CASES)
@pytest.mark.parametrize("statistics", ["moments", "samples", "auto"])
def test_hoda_is_the_sum_of_samples_solved_by_root_finding(order, statistics):
    shape, ranks = CASES[order]
    X, y = problem(shape, classes=5, seed=order)
    n = 1 if order == 1 else 4
    expected = reference.multi_class(X, y, ranks, reference.trace_ratio, ridge=RIDGE, rounds=n)
    hoda = HODA(ranks=ranks, ridge=("absolute", RIDGE), max_iter=n, tol=0.0)
    assert distance(learned(hoda, statistics, X, y).projections_, expected) <= 1e-8


def test_on_vectors_no_climb_from_a_random_start_gets_higher():
    X, y = problem((6,), classes=4, per_class=20, seed=3)
    eyes = [np.eye(6)]
    S_b = reference.between_scatter(X, y, eyes, 0)
    S_w = reference.within_scatter(X, y, eyes, 0)
    hoda = HODA(ranks=2, ridge=0.0).fit(X, y)
    best = fisher_ratio(hoda.projections_[0], S_b, S_w)
    rng = np.random.default_rng(0)
    climbs = [
        -minimize(
            lambda w: -fisher_ratio(w.reshape(6, 2), S_b, S_w), rng.normal(size=12), tol=1e-12
        ).fun
        for _ in range(10)
    ]
    assert best >= max(climbs) - 1e-9
    assert best == pytest.approx(max(climbs), rel=1e-6)  # some climb gets there
    assert hoda.objective_[-1] == pytest.approx(best, rel=1e-12)


def test_without_a_ridge_the_ratio_never_falls_where_that_of_cmda_does():
    X, y = problem((5, 4), classes=4, seed=0)
    options = {"ranks": (1, 3), "ridge": 0.0, "max_iter": 15, "tol": 0.0}
    hoda, cmda = HODA(**options).fit(X, y), CMDA(**options).fit(X, y)
    falls = [(np.diff(J) / J[1:]).min() for J in (hoda.objective_, cmda.objective_)]
    assert falls[0] >= -1e-10
    assert falls[1] < -1e-3
    assert hoda.objective_[-1] > cmda.objective_[-1]


def test_between_over_total_has_the_same_maximum():
    """a / b and a / (a + b) rise together, so the total scatter may take the place of S_w."""
    X, y = problem((6,), classes=4, per_class=20, seed=4)
    eyes = [np.eye(6)]
    S_b, S_t = reference.between_scatter(X, y, eyes, 0), reference.total_scatter(X, eyes, 0)
    expected = reference.trace_ratio(S_b, S_t, 2)
    assert distance(HODA(ranks=2, ridge=0.0).fit(X, y).projections_, [expected]) <= 1e-6


def weak():
    """Two classes a little apart where noise is small, and much noise elsewhere."""
    rng = np.random.default_rng(0)
    y, wave = np.arange(2000) % 2, np.linspace(0, 1, 12) ** 3
    noise = rng.normal(size=(2000, 6, 12)) * np.geomspace(10, 0.5, 12)
    return noise + 0.4 * np.outer(rng.normal(size=6), wave) * y[:, None, None], y


def strong():
    """Ten classes far apart, and rows in which hardly anything varies."""
    rng = np.random.default_rng(0)
    y, seen = np.arange(400) % 10, np.r_[1e-3, np.ones(6), 1e-3][:, None]
    return (rng.normal(size=(10, 8, 8))[y] + 0.8 * rng.normal(size=(400, 8, 8))) * seen, y


@pytest.mark.parametrize("samples", [weak, strong])
def test_the_default_ridge_is_right_where_classes_overlap_and_where_they_do_not(samples):
    """Nearly what the ratio trace has, whose ridge matters little."""
    X, y = samples()
    half = len(y) // 2

    def right(projector):
        model = make_pipeline(projector, ProbabilisticLDA("linear")).fit(X[:half], y[:half])
        return model.score(X[half:], y[half:])

    assert right(HODA()) > right(CMDA()) - 0.03
