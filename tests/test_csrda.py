"""References against a search over all of them, and the out-class scatter of class means."""

from functools import partial

import numpy as np
import pytest
from scipy.linalg import eigh
from scipy.optimize import minimize, minimize_scalar
from sklearn.metrics import roc_auc_score

import reference
from reference import distance, problem
from tenfold import CSDA, CSRDA, MCSDA, ClassSpecificClassifier, ClassSpecificVerifier
from ways import learned

PaperCSDA = partial(CSDA, decision="distance")
PaperMCSDA = partial(MCSDA, decision="distance")

X, y = problem((5,), classes=4, per_class=12, seed=0)
each_statistics = pytest.mark.parametrize("statistics", ["moments", "samples", "auto"])


def ratio(W, centre, positive=1):
    """J: everything else about the centre over the class about it, for an orthonormal basis."""
    Q = np.linalg.qr(W)[0]
    square = np.sum(((X - centre) @ Q) ** 2, axis=1)
    return square[y != positive].sum() / square[y == positive].sum()


def test_at_defaults_the_reference_is_moved_away_from_the_others():
    """Without a single setting: the objective does not fall, and scores tell the class apart."""
    model = CSRDA(positive=1).fit(X, y)
    assert model.shift_ > 0
    assert (np.diff(model.objective_) >= -1e-6 * model.objective_[1:]).all()
    scores = model.decision_function(X)
    assert roc_auc_score(y == 1, scores) > 0.9


# ── The paper's rule ────────────────────────────────────────────────────────────────────────────


@each_statistics
def test_no_climb_over_projections_and_references_gets_higher(statistics):
    options = {"ridge": 0.0, "shrinkage": 0.0, "solver": "trace_ratio", "tol": 1e-13}
    model = learned(CSRDA(2, positive=1, max_iter=500, **options), statistics, X, y)
    found = ratio(model.projections_[0], model.mean_)
    assert model.objective_[-1] == pytest.approx(found, rel=1e-9)
    rng = np.random.default_rng(0)

    def climbed(start):
        return -minimize(
            lambda v: -ratio(v[:10].reshape(5, 2), v[10:]), start, options={"maxiter": 2000}
        ).fun

    m_p = X[y == 1].mean(axis=0)
    climbs = [climbed(np.r_[rng.normal(size=10), m_p + rng.normal(size=5)]) for _ in range(6)]
    assert found >= max(climbs) - 1e-6 * found
    assert found == pytest.approx(max(climbs), rel=1e-5)  # some climb gets there
    plain = PaperCSDA(2, positive=1, ridge=0.0, shrinkage=0.0, solver="trace_ratio").fit(X, y)
    assert found > ratio(plain.projections_[0], m_p)


def test_without_a_ridge_the_objective_never_falls():
    for solver in ("ratio_trace", "trace_ratio"):
        model = CSRDA(2, positive=1, ridge=0.0, shrinkage=0.3, solver=solver, tol=1e-12).fit(X, y)
        assert (np.diff(model.objective_) >= -1e-10 * model.objective_[1:]).all()
        assert model.converged_
        assert model.shift_ > 0


def test_of_all_shifts_the_ratio_trace_likes_this_one_best():
    model = CSRDA(2, positive=1, ridge=0.0, shrinkage=0.0, tol=1e-13).fit(X, y)
    m_p, m_o = X[y == 1].mean(axis=0), X[y != 1].mean(axis=0)
    np.testing.assert_allclose(model.mean_, m_p + model.shift_ * (m_p - m_o), atol=1e-12)
    W = model.projections_[0]

    def value(t):
        Z = (X - m_p - t * (m_p - m_o)) @ W
        return np.trace(np.linalg.solve(Z[y == 1].T @ Z[y == 1], Z[y != 1].T @ Z[y != 1]))

    best = minimize_scalar(lambda t: -value(t), bounds=(0, 5), options={"xatol": 1e-10})
    assert model.shift_ == pytest.approx(best.x, abs=1e-5)
    assert model.objective_[-1] == pytest.approx(value(model.shift_) / 2, rel=1e-9)
    # and the projection is the best for that reference
    Z = X - model.mean_
    expected = eigh(Z[y != 1].T @ Z[y != 1], Z[y == 1].T @ Z[y == 1])[1][:, ::-1][:, :2]
    assert distance([np.linalg.qr(W)[0]], [np.linalg.qr(expected)[0]]) <= 1e-5


def test_one_round_has_the_projection_of_csda():
    first = CSRDA(2, positive=1, max_iter=1, tol=0).fit(X, y)
    assert distance(first.projections_, PaperCSDA(2, positive=1).fit(X, y).projections_) <= 1e-10


def test_a_bank_measures_from_the_references():
    bank = ClassSpecificClassifier(CSRDA(2, shrinkage=0.0)).fit(X, y)
    for c, member in enumerate(bank.projectors_):
        alone = CSRDA(2, shrinkage=0.0, positive=c).fit(X, y)
        np.testing.assert_allclose(member.mean_, alone.mean_, atol=1e-10)
        square = alone.decision_function(X) ** 2
        assert bank.spreads_[c] == pytest.approx(np.sqrt(square[y == c].mean()), rel=1e-8)
        assert bank.other_spreads_[c] == pytest.approx(np.sqrt(square[y != c].mean()), rel=1e-8)
    verifier = ClassSpecificVerifier(CSRDA(2), positive=1, false_accept_rate=0.5).fit(X, y)
    assert verifier.projector_.shift_ > 0


def test_means_that_coincide_leave_the_reference_where_it_is():
    Z = np.concatenate([X, -X, X + 3.0])
    Z -= Z.mean(axis=0)
    one = np.concatenate([Z, -Z])
    labels = np.repeat([0, 1], len(Z))
    two = np.concatenate([one, one])
    model = CSRDA(2, positive=1).fit(two, np.concatenate([labels, 1 - labels]))
    assert model.shift_ == pytest.approx(0.0, abs=1e-6)


# ── Class means in the place of the other samples ───────────────────────────────────────────────


@each_statistics
def test_the_out_class_scatter_of_means_is_that_of_samples_moved_to_their_means(statistics):
    ridge = 0.1
    own = np.array([X[y == c].mean(axis=0) for c in range(4)])
    moved = np.where((y == 2)[:, None], X, own[y])
    expected = reference.csda(moved, y, 2, 2, ridge=ridge)
    options = {"ridge": ("absolute", ridge), "shrinkage": 0.0}
    model = learned(PaperCSDA(2, positive=2, negatives="means", **options), statistics, X, y)
    assert distance(model.projections_, [expected]) <= 1e-8
    tensors, labels = problem((4, 3), classes=4, seed=3)
    means = np.array([tensors[labels == c].mean(axis=0) for c in range(4)])
    moved = np.where((labels == 2)[:, None, None], tensors, means[labels])
    expected = reference.mcsda(moved, labels, 2, (2, 2), ridge=ridge, rounds=3)
    found = PaperMCSDA((2, 2), positive=2, negatives="means", max_iter=3, tol=0.0, **options)
    assert distance(found.fit(tensors, labels).projections_, expected) <= 1e-8
