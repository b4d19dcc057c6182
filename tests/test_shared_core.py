"""Banks of vectors that share what they can: the same models as those of each class alone."""

from functools import partial

import numpy as np
import pytest
from scipy.linalg import eigh, null_space
from sklearn.base import clone

from tenfold import CSDA, CSRDA, ClassSpecificClassifier
from tenfold.optimization import alternation
from tenfold.optimization.shared_core import OwnColumns, PairInFrame

# The laws here are of the paper's rule.
CSDA = partial(CSDA, decision="distance")


def samples(n_classes=30, per_class=8, size=500, seed=0):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(n_classes), per_class)
    scale = 1 / np.sqrt(np.arange(1, size + 1))
    X = (rng.standard_normal((n_classes, size))[y] + rng.standard_normal((len(y), size))) * scale
    return X, y


def sharing(bank, *batch):
    """A bank fitted on the batch; it fails if a model is solved by itself."""

    def alone(*_):
        raise AssertionError("a model was not solved with the others")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(alternation, "_solve_stack", alone)
        return bank.fit(*batch)


def assert_members_alone(bank, X, y, weight=None, tolerance=1e-7):
    """Every model of a bank is that of one fit for its class."""
    for label, member in zip(bank.classes_, bank.projectors_, strict=True):
        alone = clone(bank.projector).set_params(positive=label).fit(X, y, weight)
        assert member.ranks_ == alone.ranks_
        (W,), (V,) = member.projections_, alone.projections_
        np.testing.assert_allclose(W, V, atol=tolerance * np.abs(V).max())
        np.testing.assert_allclose(member.mean_, alone.mean_, atol=1e-8)
        np.testing.assert_allclose(member.objective_, alone.objective_, rtol=1e-8)
        assert (member.n_iter_, member.converged_) == (alone.n_iter_, alone.converged_)


def assert_distances_alone(bank, X, y, tolerance=1e-6):
    """For models whose directions are not determined one by one."""
    bank = ClassSpecificClassifier(bank.projector, normalize=False).fit(X, y)
    for label, found in zip(bank.classes_, bank.distances(X).T, strict=True):
        alone = clone(bank.projector).set_params(positive=label).fit(X, y)
        expected = -alone.decision_function(X)
        np.testing.assert_allclose(found, expected, atol=tolerance * expected.max())


def pair(X, y, p, shrinkage, ridge, weight):
    """A, and B with its ridge, from the definitions, in all I dimensions."""
    n = weight.sum()
    mean, M_p = weight @ X / n, weight[y == p] @ X[y == p] / weight[y == p].sum()
    share = weight[y == p].sum() / n

    def scatter(rows, centre):
        Z = (X[rows] - centre) * np.sqrt(weight[rows])[:, None]
        return Z.T @ Z

    means = np.stack([weight[y == c] @ X[y == c] / weight[y == c].sum() for c in np.unique(y)])
    inside, every = scatter(y == p, M_p), np.ones(len(y), bool)
    A, eye = scatter(y != p, M_p), np.eye(X.shape[1])
    if not shrinkage:
        about = np.trace(scatter(every, M_p))
        return A, inside + ridge * share * about / X.shape[1] * eye
    between = weight @ ((means[y] - mean) ** 2).sum(axis=1)
    unit = share * (np.trace(scatter(every, mean)) + between) / X.shape[1]
    B = (1 - shrinkage) * inside + shrinkage * share * scatter(every, means[y])
    return A, B + ridge * unit * eye


@pytest.mark.parametrize(
    "projector",
    [
        CSDA(ranks=6, shrinkage=0.0),
        CSDA(ranks=6, shrinkage=0.0, orthonormal=True, ridge=("absolute", 0.01)),
        CSDA(ranks=6, shrinkage=0.3),
        CSDA(ranks=6, shrinkage=0.3, orthonormal=True),
        CSDA(ranks=6, shrinkage=1.0),
        CSDA(ranks=6, shrinkage="auto"),
        CSDA(ranks={c: 3 + c % 4 for c in range(20)}),
        CSDA(ranks=6, negatives="both"),
        CSDA(ranks=6, solver="null_space"),
        CSDA(ranks=6, solver="null_space", negatives="means"),
        CSRDA(ranks=6),
        CSRDA(ranks=6, orthonormal=True, shrinkage=0.0),
        CSRDA(ranks=6, negatives="means", shrinkage="auto"),
    ],
    ids=str,
)
def test_a_bank_is_its_members_alone(projector):
    X, y = samples(20, 9, 300, seed=4)
    keep = np.random.default_rng(7).permutation(len(X))[:150]  # classes of different sizes
    X, y = X[keep] + 3.0, y[keep]
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(X))
    bank = ClassSpecificClassifier(projector)
    if isinstance(projector, CSRDA):  # whose members look for their references one by one
        bank.fit(X, y, weight)
    else:
        sharing(bank, X, y, weight)
    assert_members_alone(bank, X, y, weight)


@pytest.mark.parametrize("shrinkage", [0.0, 0.5])
def test_the_directions_are_those_of_the_definitions(shrinkage):
    X, y = samples(30, 6, 200)
    weight = np.random.default_rng(2).uniform(0.5, 2.0, len(X))
    bank = sharing(ClassSpecificClassifier(CSDA(ranks=6, shrinkage=shrinkage)), X, y, weight)
    for p in (0, 7):
        A, B = pair(X, y, p, shrinkage, 1e-2, weight)
        expected = eigh(A, B)[1][:, ::-1][:, :6]
        found = bank.projectors_[p].projections_[0]
        signs = np.sign((found * expected).sum(axis=0))
        np.testing.assert_allclose(found * signs, expected, atol=1e-7 * np.abs(expected).max())


@pytest.mark.parametrize("what", ["twins", "flat tail", "no noise", "one class of another size"])
@pytest.mark.parametrize("shrinkage", [0.0, 0.5])
def test_where_sharing_fails_models_are_solved_alone(what, shrinkage):
    X, y = samples(20, 9, 300, seed=4)
    if what == "twins":
        X[1::9] = X[::9]
    if what == "flat tail":
        X = np.random.default_rng(5).standard_normal(X.shape)
    if what == "no noise":
        X = X[::9][y]
    if what == "one class of another size":
        y[:80] = 0
    assert_distances_alone(ClassSpecificClassifier(CSDA(ranks=10, shrinkage=shrinkage)), X, y)


@pytest.mark.parametrize("shrinkage", [0.0, 0.3])
@pytest.mark.parametrize("varying", [10, 20, 30])
def test_numbers_that_never_vary_do_not_matter(varying, shrinkage):
    X, y = np.zeros((80, 100)), np.repeat(np.arange(20), 4)
    X[:, :varying] = np.random.default_rng(9).integers(0, 4, (80, varying))
    assert_distances_alone(ClassSpecificClassifier(CSDA(ranks=3, shrinkage=shrinkage)), X, y)


@pytest.mark.parametrize("shrinkage", [0.0, 0.3])
@pytest.mark.parametrize("unlike", [0.0, 1e-12, 1e-8])
def test_values_that_are_all_alike_have_no_tail(unlike, shrinkage):
    """Orthogonal samples, such as one word each: which directions are found is chance."""
    y = np.repeat(np.arange(20), 4)
    X = np.diag(1 + unlike * np.random.default_rng(0).standard_normal(80))
    bank = ClassSpecificClassifier(CSDA(ranks=3, shrinkage=shrinkage)).fit(X, y)
    for label, member in zip(bank.classes_, bank.projectors_, strict=True):
        alone = CSDA(ranks=3, shrinkage=shrinkage, positive=label).fit(X, y)
        assert member.objective_ == pytest.approx(alone.objective_, rel=1e-7)


def test_many_classes_of_few_numbers_have_a_bank():
    """More samples than numbers, and more classes than a fourth of the numbers."""
    X, y = samples(150, 3, 60, seed=3)
    bank = ClassSpecificClassifier(CSDA(ranks=4, negatives="means")).fit(X, y)
    assert_members_alone(bank, X, y)


def test_what_is_small_beside_rounding_is_no_direction():
    X, y = np.random.default_rng(1).standard_normal((80, 100)), np.repeat(np.arange(20), 4)
    X[:, :2] *= 1e10  # 20 digits of squares: of the other numbers nothing is left
    bank = ClassSpecificClassifier(CSDA(ranks=3, shrinkage=1.0)).fit(X, y)
    assert {member.ranks_ for member in bank.projectors_} == {(2,)}


def test_directions_that_a_class_sees_by_rounding_alone_are_in_its_null_space():
    """Samples of a class that all but lie on a line: what is off it counts as zero."""
    X, y = samples(12, 6, 120, seed=5)
    off = np.random.default_rng(0).standard_normal((6, 120))
    X[y == 3] = X[y == 3][0] + np.arange(6)[:, None] * X[0] + 1e-9 * off
    assert_members_alone(
        ClassSpecificClassifier(CSDA(ranks=5, solver="null_space")).fit(X, y), X, y
    )


def test_one_model_may_want_far_more_directions_than_the_others():
    X, y = samples(20, 6, 200, seed=12)
    ranks = {p: 70 if p == 3 else 2 for p in range(20)}
    assert_distances_alone(ClassSpecificClassifier(CSDA(ranks=ranks)), X, y)


@pytest.mark.parametrize("repeats", [1, 3, 40])
@pytest.mark.parametrize("kind", ["finite", "infinite", "rank one"])
def test_repeated_values_are_all_found(repeats, kind):
    """Against SciPy's dense solver; 40 directions of one value are more than are wanted."""
    rng = np.random.default_rng(repeats)
    tau = np.repeat(0.9 ** np.arange(300.0), repeats)[:300]
    tau[repeats * 12 :] *= 0.1  # what follows is far below
    G, a, b = rng.standard_normal((300, 4)), np.array([3.0, -0.2, -0.2, 0.0]), np.ones(4)
    G *= np.sqrt(tau)[:, None] / 10
    if kind == "infinite":
        G, b = G / np.linalg.norm(G, axis=0), np.array([0.0, np.inf, np.inf, np.inf])
        a = np.array([3.0, 0.0, 0.0, 0.0])
    if kind == "rank one":
        G, a, b = G[:, :1], a[:1], b[:1]
    pair = PairInFrame(tau, np.eye(300), OwnColumns(G, a, b))
    u = pair.leading(rank=10)
    values, *_ = pair.squares(u)
    A, heavy = np.diag(tau) + (G * a) @ G.T, np.isinf(b)
    Q = np.linalg.qr(G[:, heavy])[0] if heavy.any() else np.zeros((300, 0))
    free = np.eye(300) - Q @ Q.T
    B = np.eye(300) + (G * np.where(heavy, 0.0, b)) @ G.T
    expected = eigh(free @ A @ free, B, eigvals_only=True)[::-1][:10]
    np.testing.assert_allclose(values, expected, rtol=1e-10)
    np.testing.assert_allclose(u.T @ B @ u, np.eye(10), atol=1e-10)
    np.testing.assert_allclose(u.T @ A @ u, np.diag(values), atol=1e-7 * values[0])
    np.testing.assert_allclose(Q.T @ u, 0.0, atol=1e-10)


@pytest.mark.parametrize("infinite", [False, True])
@pytest.mark.parametrize("values", ["decay", "close", "equal"])
def test_many_own_columns_are_solved_as_densely(infinite, values):
    """By ARPACK where values decay, by LAPACK where they are close to each other or equal."""
    rng = np.random.default_rng(5)
    n, k, rank = 400, 100, 6
    tau = np.sort(1 + rng.random(n))[::-1]
    if values == "decay":
        tau[: 2 * rank] = 0.8 ** np.arange(2.0 * rank) * 100
    if values == "equal":
        tau[: k + 12] = 3.0
    G = rng.standard_normal((n, k)) / 10
    in_A = -0.01 * rng.random(k)
    in_B = np.full(k, np.inf) if infinite else 0.2 * rng.random(k)
    pair = PairInFrame(tau, np.eye(n), OwnColumns(G, in_A, in_B))
    assert pair._head_and_tail(rank, 1e-10) is None
    assert (pair._leading_by_arpack(rank) is None) == (values != "decay")
    A = np.diag(tau) + (G * in_A) @ G.T
    free = null_space(G.T) if infinite else np.eye(n)
    B = np.eye(n) if infinite else np.eye(n) + (G * in_B) @ G.T
    expected = eigh(free.T @ A @ free, free.T @ B @ free, eigvals_only=True)[::-1]
    U = pair.leading(rank)
    kept, *_ = pair.squares(U)
    np.testing.assert_allclose(kept, expected[:rank], rtol=1e-9)
    np.testing.assert_allclose(U.T @ B @ U, np.eye(rank), atol=1e-9)


def test_values_above_a_level_are_counted():
    rng = np.random.default_rng(6)
    tau = np.sort(rng.random(30))[::-1]
    G = rng.standard_normal((30, 4))
    in_A = np.array([0.0, 1.0, -0.3, 2.0])
    in_B = np.array([0.5, 0.0, 0.1, 0.0])
    pair = PairInFrame(tau, np.eye(30), OwnColumns(G, in_A, in_B))
    A = np.diag(tau) + (G * in_A) @ G.T
    values = eigh(A, np.eye(30) + (G * in_B) @ G.T, eigvals_only=True)
    for level in (0.123, 0.456, 0.789, 5.0):
        assert pair._count_above(level) == np.count_nonzero(values > level)
