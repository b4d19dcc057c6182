"""Banks of vectors that share what they can: the same models as solving each class by itself."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import eigh
from sklearn.base import clone

from tenfold import CSDA, CSRDA, PCSDA, ClassSpecificClassifier, NullCSDA
from tenfold.mathematics import alternation
from tenfold.mathematics.alternation import Recipe, in_order, solve, subspace_distance
from tenfold.mathematics.criteria import Problem, class_specific
from tenfold.mathematics.few_columns import LIKELY, leading, zolotarev_poles
from tenfold.mathematics.sample_statistics import SpanStatistics
from tenfold.mathematics.shared_core import shared_cores, solve_shared
from tenfold.mathematics.span import Span


def samples(n_classes=30, per_class=8, size=500, seed=0):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(n_classes), per_class)
    scale = 1 / np.sqrt(np.arange(1, size + 1))
    X = (rng.standard_normal((n_classes, size))[y] + rng.standard_normal((len(y), size))) * scale
    return X, y


def statistics_of(X, y, weight=None):
    return SpanStatistics.from_vectors(X, y, weight, np.unique(y))


def without_sharing(bank, X, y, weight=None):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(alternation, "solve_shared", lambda *_: None)
        return bank.fit(X, y, weight)


def pair(X, y, p, shrinkage, ridge, weight):
    """A, B and the ridge of B from the definitions, in all I dimensions."""
    n = weight.sum()
    mean, M_p = weight @ X / n, weight[y == p] @ X[y == p] / weight[y == p].sum()
    share = weight[y == p].sum() / n

    def scatter(rows, centre):
        Z = (X[rows] - centre) * np.sqrt(weight[rows])[:, None]
        return Z.T @ Z

    inside = scatter(y == p, M_p)
    within = sum(
        scatter(y == c, weight[y == c] @ X[y == c] / weight[y == c].sum()) for c in np.unique(y)
    )
    means = np.stack([weight[y == c] @ X[y == c] / weight[y == c].sum() for c in np.unique(y)])
    between = weight @ ((means[y] - mean) ** 2).sum(axis=1)
    total = np.trace(scatter(np.ones(len(y), bool), mean if shrinkage else M_p))
    unit = share * (total + (between if shrinkage else 0.0)) / X.shape[1]
    B = (1 - shrinkage) * inside + shrinkage * share * within
    return scatter(y != p, M_p), B, ridge * unit


def oracle(X, y, p, rank, shrinkage, ridge, weight):
    """W from the definitions, with W^T B W = I."""
    A, B, ridge = pair(X, y, p, shrinkage, ridge, weight)
    return eigh(A, B + ridge * np.eye(len(B)))[1][:, ::-1][:, :rank]


@pytest.mark.parametrize("shrinkage", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("orthonormal", [False, True])
def test_a_bank_is_that_of_models_solved_alone(shrinkage, orthonormal):
    X, y = samples(20, 7, 200)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(X))
    projector = CSDA(ranks=6, shrinkage=shrinkage, orthonormal=orthonormal)
    bank = ClassSpecificClassifier(projector)
    assert shared_cores(bank.problem(statistics_of(X, y, weight)))
    shared = ClassSpecificClassifier(projector).fit(X, y, weight)
    alone = without_sharing(bank, X, y, weight)
    for one, other in zip(shared.projectors_, alone.projectors_, strict=True):
        np.testing.assert_allclose(one.projections_[0], other.projections_[0], atol=2e-8)
        assert one.objective_ == pytest.approx(other.objective_, rel=1e-10)
    np.testing.assert_allclose(shared.spreads_, alone.spreads_, rtol=1e-7)
    np.testing.assert_allclose(shared.other_spreads_, alone.other_spreads_, rtol=1e-10)


@pytest.mark.parametrize("shrinkage", [0.0, 0.5])
def test_the_directions_are_those_of_the_definitions(shrinkage):
    X, y = samples(12, 12, 160)
    weight = np.random.default_rng(2).uniform(0.5, 2.0, len(X))
    bank = ClassSpecificClassifier(CSDA(ranks=6, shrinkage=shrinkage)).fit(X, y, weight)
    for p in (0, 7):
        expected = oracle(X, y, p, 6, shrinkage, 1e-2, weight)
        found = bank.projectors_[p].projections_[0]
        signs = np.sign((found * expected).sum(axis=0))
        np.testing.assert_allclose(found * signs, expected, atol=1e-7 * np.abs(expected).max())


@pytest.mark.parametrize("orthonormal", [False, True])
def test_a_core_finds_every_model_that_it_should(orthonormal):
    X, y = samples(25, 6, 180, seed=6)
    keep = np.random.default_rng(7).permutation(len(X))[:140]
    X, y = X[keep] + 3.0, y[keep]
    weight = np.random.default_rng(8).uniform(0.5, 2.0, len(X))
    ranks, shrinkages = (
        1 + np.arange(25) % 6,
        np.repeat([0.3, 0.0, 0.7, 1.0, 0.99], [6, 7, 3, 4, 5]),
    )
    statistics = statistics_of(X, y, weight)
    problem = Problem.stacked(
        [
            class_specific(statistics, p, shrinkages[p], ranks=[ranks[p]], ridge=(1e-2, False))
            for p in range(25)
        ]
    )
    models, W, kept, suppressed, objective = solve_shared(problem, orthonormal, in_order)
    assert models.tolist() == [p for p in range(25) if shrinkages[p] != 0.7]  # three are too few
    for at in (0, 5, 6, 9, 12, 13, 14, 18, 21):
        p, found, *numbers = (part[at] for part in (models, W, kept, suppressed, objective))
        A, B, ridge = pair(X, y, p, shrinkages[p], 1e-2, weight)
        expected = oracle(X, y, p, ranks[p], shrinkages[p], 1e-2, weight)
        expected = np.linalg.qr(expected)[0] if orthonormal else expected
        expected = expected * np.sign((found[:, : ranks[p]] * expected).sum(axis=0))
        size = np.abs(expected).max()
        np.testing.assert_allclose(found[:, : ranks[p]], expected, atol=1e-7 * size)
        assert not found[:, ranks[p] :].any()
        assert (found[np.abs(found).argmax(axis=0), np.arange(found.shape[1])] >= 0).all()
        of_A, of_B = np.diag(expected.T @ A @ expected), np.trace(expected.T @ B @ expected)
        ratio = of_A.sum() / (of_B + ridge * (expected**2).sum())
        np.testing.assert_allclose(numbers[0][: ranks[p]], of_A, rtol=1e-6)
        np.testing.assert_allclose(numbers[1:], [of_B, ratio], rtol=1e-7)


@pytest.mark.parametrize(
    "projector",
    [
        NullCSDA(ranks=6),
        NullCSDA(ranks=6, out_class="means"),
        PCSDA(ranks=6),
        PCSDA(ranks=6, shrinkage=0.4, out_class="samples"),
        CSRDA(ranks=6),
        CSRDA(ranks=6, orthonormal=True, shrinkage=0.0),
        CSRDA(ranks=6, out_class="means", shrinkage=1.0),
    ],
    ids=str,
)
def test_banks_of_its_relatives_are_those_of_models_solved_alone(projector):
    X, y = samples(20, 7, 200, seed=4)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(X))
    bank = ClassSpecificClassifier(projector)
    null = isinstance(projector, NullCSDA)
    problem = bank.problem(statistics_of(X, y, weight))
    assert len(solve_shared(problem, False, in_order, null)[0]) == 20  # all of them are exact
    shared = clone(bank).fit(X, y, weight)
    alone = without_sharing(clone(bank), X, y, weight)
    np.testing.assert_allclose(shared.spreads_, alone.spreads_, rtol=1e-8)
    np.testing.assert_allclose(shared.other_spreads_, alone.other_spreads_, rtol=1e-8)
    for p, (one, other) in enumerate(zip(shared.projectors_, alone.projectors_, strict=True)):
        single = clone(projector).set_params(positive=p).fit(X, y, weight)
        for expected in (other, single):
            (W,), (V,) = one.projections_, expected.projections_
            np.testing.assert_allclose(W, V, atol=1e-7 * np.abs(V).max())
            np.testing.assert_allclose(one.mean_, expected.mean_, atol=1e-8)
            assert one.objective_ == pytest.approx(expected.objective_, rel=1e-8)
            assert (one.n_iter_, one.converged_) == (expected.n_iter_, expected.converged_)


def test_directions_that_a_class_sees_by_rounding_alone_are_in_its_null_space():
    """Samples of a class that all but lie on a line: what is off it counts as zero."""
    X, y = samples(12, 6, 120, seed=5)
    off = np.random.default_rng(0).standard_normal((6, 120))
    X[y == 3] = X[y == 3][0] + np.arange(6)[:, None] * X[0] + 1e-9 * off
    bank = ClassSpecificClassifier(NullCSDA(ranks=5))
    shared, alone = clone(bank).fit(X, y), without_sharing(clone(bank), X, y)
    for one, other in zip(shared.projectors_, alone.projectors_, strict=True):
        np.testing.assert_allclose(one.projections_[0], other.projections_[0], atol=1e-7)


def test_wanted_values_may_lie_far_below_the_likely_ones():
    """Vectors kept away from the largest entries of the diagonal."""
    tau, rng = 0.6 ** np.arange(60.0), np.random.default_rng(0)
    G = np.concatenate([np.eye(60)[:, :4], rng.normal(size=(60, 1))], axis=1)
    a, b = np.append(np.zeros(4), 1e-3), np.append(np.full(4, np.inf), 0.0)
    found = leading(tau, G, a, b, 3)
    values, vectors = eigh(np.diag(tau[4:]) + 1e-3 * np.outer(G[4:, 4], G[4:, 4]))
    assert found.values[-1] < LIKELY * tau[2]
    np.testing.assert_allclose(found.values, values[::-1][:3], rtol=1e-10)
    W, expected = np.concatenate([found.head, found.tail]), vectors[:, ::-1][:, :3]
    np.testing.assert_allclose(W[:4], 0.0, atol=1e-12)
    np.testing.assert_allclose(np.abs(W[4:].T @ expected), np.eye(3), atol=1e-8)


def class_problems(X, y, ranks, ridge=1e-2, shrinkage=0.3):
    statistics = statistics_of(X, y)
    settings = {"ranks": [ranks], "ridge": (ridge, False)}
    classes = range(len(statistics.classes))
    return [class_specific(statistics, p, shrinkage, **settings) for p in classes]


def assert_same_solution(problem, rtol):
    """Of `solve`, which shares what it can, and of each model by itself."""
    recipe = Recipe(orthonormal=False)
    found = solve(problem, recipe)
    for p in range(len(problem)):
        alone = solve(problem.cut(np.array([p])), recipe)
        (W,), (expected,) = found.columns(p), alone.columns(0)
        np.testing.assert_allclose(W, expected, atol=rtol * np.abs(expected).max())
        assert found.objective[p, -1] == pytest.approx(alone.objective[0, -1], rel=rtol)
        assert found.kept[p] == pytest.approx(alone.kept[0], rel=rtol)


@pytest.mark.parametrize("form", ["some doubled", "in two parts", "nothing of its own", "a mean"])
def test_problems_of_another_form_are_solved_as_well(form):
    """What is shared is the total as it is, and the within scatter once."""
    X, y = samples(12, 5, 80, seed=10)
    models = class_problems(X, y, 3)
    statistics = statistics_of(X, y)
    for p, model in enumerate(models):
        A, B = model.maximise, model.minimise
        if form == "some doubled" and p % 2:
            models[p] = replace(model, maximise=A * 2.0)
        if form == "in two parts":
            models[p] = replace(model, minimise=B + statistics.total() * 0.1 * (p % 3))
        if form == "nothing of its own":
            models[p] = replace(model, maximise=statistics.total(), minimise=statistics.within())
        if form == "a mean":
            models[p] = replace(model, maximise=statistics.between() + statistics.displacement(p))
    unit = {"unit": statistics.total()}
    assert_same_solution(Problem.stacked([replace(model, **unit) for model in models]), 1e-6)


@pytest.mark.parametrize("most", [20, 78])
def test_one_model_may_want_far_more_directions_than_the_others(most):
    X, y = samples(20, 4, 100, seed=12)
    statistics = statistics_of(X, y)
    ranks = [most if p == 3 else 2 for p in range(20)]
    models = [
        class_specific(statistics, p, 0.3, ranks=[rank], ridge=(1e-2, False))
        for p, rank in enumerate(ranks)
    ]
    found = solve(Problem.stacked(models), Recipe(orthonormal=False))
    for p in (2, 3):
        W, expected = found.columns(p)[0], oracle(X, y, p, ranks[p], 0.3, 1e-2, np.ones(80))
        assert W.shape[1] == min(ranks[p], 76)  # as many as there are other samples
        W, expected = W[:, :20], expected[:, :20]  # the last ones of 78 are hardly determined
        signs = np.sign((W * expected).sum(axis=0))
        np.testing.assert_allclose(W * signs, expected, atol=1e-6 * np.abs(expected).max())


def test_small_classes_may_want_many_directions():
    X, y = samples(50, 2, 130, seed=13)
    problem = Problem.stacked(class_problems(X, y, 14))
    models, W, *_ = solve_shared(problem, False, in_order)
    assert len(models) == 50
    for p in (0, 27):
        expected = oracle(X, y, p, 14, 0.3, 1e-2, np.ones(100))
        signs = np.sign((W[p] * expected).sum(axis=0))
        np.testing.assert_allclose(W[p] * signs, expected, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("ridge", [1e-5, 1e-8])
def test_models_that_do_not_become_exact_are_solved_alone(ridge):
    X = np.random.default_rng(11).standard_normal((100, 130))
    y = np.repeat(np.arange(20), 5)
    problem = Problem.stacked(class_problems(X, y, 3, ridge, shrinkage=0.0))
    found = solve(problem, Recipe())
    for p in range(20):
        alone = solve(problem.cut(np.array([p])), Recipe())
        assert found.objective[p, -1] == pytest.approx(alone.objective[0, -1], rel=1e-7)
        assert subspace_distance(found.projections[0][p], alone.projections[0][0]) < 1e-5


def test_classes_of_different_sizes_and_ranks_share_as_well():
    X, y = samples(24, 10, 400, seed=3)
    keep = np.random.default_rng(0).permutation(len(X))[:170]
    X, y = X[keep], y[keep]
    ranks = {c: 5 + c % 3 for c in range(24)}
    bank = ClassSpecificClassifier(CSDA(ranks=ranks))
    shared, alone = bank.fit(X, y).projectors_, without_sharing(bank, X, y).projectors_
    assert [model.ranks_ for model in shared] == [(5 + c % 3,) for c in range(24)]
    for one, other in zip(shared, alone, strict=True):
        np.testing.assert_allclose(one.projections_[0], other.projections_[0], atol=2e-8)


@pytest.mark.parametrize("what", ["twins", "flat tail", "no noise", "automatic"])
def test_where_sharing_fails_models_are_solved_alone(what):
    X, y = samples(20, 9, 300, seed=4)
    shrinkage = 0.5
    if what == "twins":
        X[1::9] = X[::9]
    if what == "flat tail":
        X = np.random.default_rng(5).standard_normal(X.shape)
    if what == "no noise":
        X = X[::9][y]
    if what == "automatic":
        shrinkage = "auto"
    bank = ClassSpecificClassifier(CSDA(ranks=10, shrinkage=shrinkage))
    shared, alone = bank.fit(X, y), without_sharing(bank, X, y)
    predicted = shared.distances(X), alone.distances(X)
    np.testing.assert_allclose(*predicted, atol=1e-6 * predicted[1].max())


@pytest.mark.parametrize("shrinkage", [0.0, 0.3])
@pytest.mark.parametrize("varying", [10, 20, 30])
def test_numbers_that_never_vary_do_not_matter(varying, shrinkage):
    X, y = np.zeros((80, 100)), np.repeat(np.arange(20), 4)
    X[:, :varying] = np.random.default_rng(9).integers(0, 4, (80, varying))
    bank = ClassSpecificClassifier(CSDA(ranks=3, shrinkage=shrinkage))
    shared, alone = bank.fit(X, y), without_sharing(bank, X, y)
    predicted = shared.distances(X), alone.distances(X)
    np.testing.assert_allclose(*predicted, atol=1e-6 * predicted[1].max())


@pytest.mark.parametrize("shrinkage", [0.0, 0.3])
@pytest.mark.parametrize("unlike", [0.0, 1e-12, 1e-8])
def test_values_that_are_all_alike_have_no_tail(unlike, shrinkage):
    """Orthogonal samples, such as one word each: which directions are found is chance."""
    y = np.repeat(np.arange(20), 4)
    X = np.diag(1 + unlike * np.random.default_rng(0).standard_normal(80))
    bank = ClassSpecificClassifier(CSDA(ranks=3, shrinkage=shrinkage))
    shared, alone = bank.fit(X, y), without_sharing(bank, X, y)
    for one, other in zip(shared.projectors_, alone.projectors_, strict=True):
        assert one.objective_ == pytest.approx(other.objective_, rel=1e-7)


def test_what_is_small_beside_rounding_is_no_direction():
    X, y = np.random.default_rng(1).standard_normal((80, 100)), np.repeat(np.arange(20), 4)
    X[:, :2] *= 1e10  # 20 digits of squares: of the other numbers nothing is left
    problem = Problem.stacked(class_problems(X, y, 3, shrinkage=1.0))
    assert len(solve_shared(problem, False, in_order)[0])
    found = solve(problem, Recipe(orthonormal=False))
    assert {found.columns(p)[0].shape[1] for p in range(20)} == {2}


@pytest.mark.parametrize("sizes", [(3, 30, 200), (4, 60, 300), (20, 2, 60)])
def test_few_models_many_columns_or_few_samples_are_not_worth_a_core(sizes):
    X, y = samples(*sizes)
    bank = ClassSpecificClassifier(CSDA(ranks=6))
    assert shared_cores(bank.problem(statistics_of(X, y))) == []


@pytest.mark.parametrize("below", [0.9, 0.5, 0.1, 1e-3, 0.0])
def test_poles_span_what_they_should(below):
    t = np.linspace(0, below, 400)
    poles = zolotarev_poles(below, 1.0, 1e-7)
    assert (poles >= 1).all()
    basis = np.linalg.qr(1 / (poles - t[:, None]))[0]
    for mu in (1.0, 1.01, 1.5, 10.0, 1e4):
        wanted = 1 / (mu - t)
        miss = wanted - basis @ (basis.T @ wanted)
        assert np.abs(miss).max() <= 1e-6 * np.abs(wanted).max()


@pytest.mark.parametrize("below", [0.99, 0.5, 0.01])
@pytest.mark.parametrize("above", [1.0, 7.0])
def test_no_other_poles_are_better(below, above):
    """Zolotarev: the product over poles and their mirror images has equal heights, J + 1 of them.

    That height is the error, and one pole less would not do.
    """
    largest, t = {}, below * above * np.sin(np.linspace(0, np.pi / 2, 20_001)) ** 2
    for error in np.geomspace(1e-1, 1e-10, 19):
        poles = zolotarev_poles(below * above, above, error)
        zeros = below * above**2 / poles
        height = np.abs(np.prod((t[:, None] - zeros) / (t[:, None] - poles), axis=1))
        inner = (height[1:-1] >= height[:-2]) & (height[1:-1] > height[2:])
        tops = [height[0], *height[1:-1][inner], height[-1]]
        assert len(tops) == len(poles) + 1
        np.testing.assert_allclose(tops, tops[0], rtol=1e-4)
        largest[len(poles)] = tops[0]
        assert tops[0] <= error or len(poles) == 12  # as many as there may be
        assert largest.get(len(poles) - 1, np.inf) > 0.5 * error


@pytest.mark.parametrize("twice", [False, True])
def test_a_span_is_orthonormal_and_exact(twice):
    """To the rounding of a triangle of condition 1e4, or of a QR decomposition if rows repeat."""
    rows = np.random.default_rng(0).standard_normal((7, 20)) * np.geomspace(1, 1e-4, 7)[:, None]
    rows = np.concatenate([rows, rows[:2]]) if twice else rows
    centred = rows - rows.mean(axis=0)
    span, coordinates = Span.of(centred)
    basis = span.lifted(np.eye(coordinates.shape[1]))
    condition = 1.0 if twice else np.linalg.cond(centred[:-1])
    rounding = 20 * np.finfo(float).eps * condition * np.linalg.norm(centred)
    np.testing.assert_allclose(basis.T @ basis, np.eye(basis.shape[1]), atol=rounding)
    np.testing.assert_allclose(coordinates @ basis.T, centred, atol=rounding)
    np.testing.assert_allclose(span.lowered(centred.T).T, coordinates, atol=rounding)
