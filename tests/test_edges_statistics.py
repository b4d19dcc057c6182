"""Laws at the edges of statistics: no labels, no weight, far samples, densities written out."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal, multivariate_t

from tenfold import DGTDA, HODA, ClassMoments
from tenfold.mathematics.alternation import Recipe, solve
from tenfold.mathematics.criteria import Problem, class_specific
from tenfold.mathematics.pass_statistics import PassStatistics
from tenfold.mathematics.sample_statistics import SampleStatistics
from tenfold.mathematics.scatter import along_mode
from tenfold.mathematics.stores import StoredSamples
from tenfold.mathematics.two_covariances import ClassLikelihood, KnownClasses, PooledMoments

strict = pytest.importorskip("array_api_strict")

SHAPE = (3, 2)
X = np.random.default_rng(0).normal(size=(30, *SHAPE))
y = np.random.default_rng(1).integers(0, 3, 30)


def on_a_device(X, y=None, weight=None, classes=None):
    there = strict.asarray(X, device=strict.Device("device1"))
    return ClassMoments.from_batch(there, y, weight, classes=classes)


def by_passes(X, y=None, weight=None, classes=None):
    classes = np.unique(np.zeros(1, int) if y is None else y) if classes is None else classes
    return PassStatistics.from_source(StoredSamples.of(X), y, weight, classes)


WAYS = [ClassMoments.from_batch, SampleStatistics.from_batch, by_passes, on_a_device]
every_way = pytest.mark.parametrize("way", WAYS, ids=["table", "samples", "passes", "device"])


def scatter_of(rows, weight, centre=None):
    """Sum of w (x - centre)(x - centre)^T, written out; about the mean if no centre is given."""
    flat = rows.reshape(len(rows), -1)
    centre = np.average(flat, axis=0, weights=weight) if centre is None else centre.ravel()
    return sum((w * np.outer(z, z) for w, z in zip(weight, flat - centre, strict=True)), 0.0)


def whole(asked):
    """Mode scatters of unprojected samples, one for each mode."""
    factors = [np.eye(size)[None] for size in SHAPE]
    return [along_mode([asked], mode, factors)[0][0] for mode in range(2)]


def mode_scatters(table):
    """The same from an I x I table."""
    T = table.reshape(SHAPE + SHAPE)
    return [np.einsum("ijkj->ik", T), np.einsum("ijil->jl", T)]


# ── Counts, means, scatters ─────────────────────────────────────────────────────────────────────


@every_way
def test_without_labels_there_is_one_class_of_the_name_zero(way):
    found = way(X)
    np.testing.assert_array_equal(found.classes, [0])
    np.testing.assert_array_equal(found.counts, [30])
    np.testing.assert_allclose(found.means[0], X.mean(axis=0), atol=1e-14)
    for came, expected in zip(
        whole(found.total()), mode_scatters(scatter_of(X, np.ones(30))), strict=True
    ):
        np.testing.assert_allclose(came, expected, rtol=1e-12)


@every_way
def test_every_question_is_answered_by_the_sums_written_out(way):
    weight = np.random.default_rng(2).uniform(0.5, 2, 30)
    found = way(X, y, weight, classes=np.arange(4))  # of the last there are no samples
    means = [np.average(X[y == c], axis=0, weights=weight[y == c]) for c in range(3)]
    n = np.array([weight[y == c].sum() for c in range(3)])
    mean = np.average(X, axis=0, weights=weight)
    inside = [scatter_of(X[y == c], weight[y == c]) for c in range(3)]
    np.testing.assert_allclose(found.counts, [*n, 0])
    np.testing.assert_allclose(found.means, [*means, np.zeros(SHAPE)], atol=1e-14)
    np.testing.assert_allclose(found.traces, [*map(np.trace, inside), 0], rtol=1e-12)
    np.testing.assert_allclose(found.mean, mean, atol=1e-14)
    assert found.count == pytest.approx(weight.sum())
    between = scatter_of(np.stack(means), n, mean)
    apart = scatter_of(means[1][None], [weight.sum()], mean)
    for asked, expected in [
        (found.within(), sum(inside)),
        (found.total(), sum(inside) + between),
        (found.between(), between),
        (found.displacement(1), apart),
        (found.in_class(2), inside[2]),
        (found.total() - found.in_class(2) * 0.5, sum(inside) + between - inside[2] / 2),
    ]:
        for came, sum_ in zip(whole(asked), mode_scatters(expected), strict=True):
            np.testing.assert_allclose(came, sum_, rtol=1e-11, atol=1e-12)


@every_way
@pytest.mark.parametrize("first", [True, False])
def test_samples_without_weight_may_be_anywhere(way, first):
    """Most of each class; not even their digits are in the others' way."""
    far, weight = X.copy(), np.ones(30)
    for c in range(3):
        rows = np.flatnonzero(y == c)
        rows = rows[: len(rows) - 3] if first else rows[3:]
        far[rows], weight[rows] = 1e15, 0.0
    kept = weight > 0
    found, expected = way(far, y, weight), ClassMoments.from_batch(X[kept], y[kept])
    np.testing.assert_array_equal(found.counts, expected.counts)
    np.testing.assert_allclose(found.means, expected.means, atol=1e-13)
    np.testing.assert_allclose(found.traces, expected.traces, rtol=1e-12)
    for came, sum_ in zip(whole(found.within()), whole(expected.within()), strict=True):
        np.testing.assert_allclose(came, sum_, rtol=1e-11, atol=1e-12)


@every_way
@pytest.mark.parametrize("shrinkage", [0.0, 0.4])
def test_a_stack_of_models_is_the_models_one_by_one(way, shrinkage):
    """Each class has a term of its own, with its own place among the groups."""
    statistics = way(X, y)
    models = [class_specific(statistics, p, shrinkage, ranks=(2, 1)) for p in (2, 0, 1, 0)]
    found = solve(Problem.stacked(models), Recipe(max_iter=3, tol=0.0))
    for number, model in enumerate(models):
        alone = solve(model, Recipe(max_iter=3, tol=0.0))
        np.testing.assert_allclose(found.objective[number], alone.objective[0], rtol=1e-9)
        for W, expected in zip(found.columns(number), alone.columns(0), strict=True):
            np.testing.assert_allclose(W, expected, atol=1e-9)


@pytest.mark.parametrize("way", [ClassMoments.from_batch, SampleStatistics.from_batch])
@pytest.mark.parametrize("n", [30, 8])
def test_products_of_scatters_are_those_of_the_tables(way, n):
    """Whether a table or the pairs of deviations are the smaller."""
    labels = np.arange(n) % 3
    inside = [scatter_of(X[:n][labels == c], np.ones((labels == c).sum())) for c in range(3)]
    within, unit = sum(inside), np.trace(sum(inside))
    own, cross, all_ = way(X[:n], labels, classes=np.arange(4)).covariance_products
    np.testing.assert_allclose(own, [*(np.vdot(S, S) / unit**2 for S in inside), 0])
    np.testing.assert_allclose(cross, [*(np.vdot(S, within) / unit**2 for S in inside), 0])
    assert all_ == pytest.approx(np.vdot(within, within) / unit**2)
    same = way(np.ones((4, 2)), np.array([0, 0, 1, 1])).covariance_products
    assert [np.max(part) for part in same] == [0, 0, 0]


@pytest.mark.parametrize("labels", [np.full(30, 7), y, np.array(list("ab" * 15))])
def test_pooled_moments_are_those_of_one_class(labels):
    pooled_, one = ClassMoments.from_batch(X, labels).pooled(), ClassMoments.from_batch(X)
    np.testing.assert_array_equal(pooled_.classes, [0])
    np.testing.assert_allclose(pooled_.counts, one.counts)
    np.testing.assert_allclose(pooled_.means, one.means, atol=1e-14)
    np.testing.assert_allclose(pooled_.scatters, one.scatters, atol=1e-12)


# ── Moments that change ─────────────────────────────────────────────────────────────────────────


def test_a_forgotten_class_leaves_nothing():
    moments = ClassMoments.from_batch(X, y)
    heavy = ClassMoments(
        moments.classes, moments.counts * [1, 1e-101, 1], moments.means, moments.scatters
    )
    left = heavy.decay(0.5)
    np.testing.assert_array_equal(left.counts, moments.counts * [0.5, 0, 0.5])
    assert not left.means[1].any()
    assert not left.scatters[1].any()
    np.testing.assert_array_equal(left.means[[0, 2]], moments.means[[0, 2]])
    np.testing.assert_allclose(left.scatters[[0, 2]], 0.5 * moments.scatters[[0, 2]])


@pytest.mark.parametrize("offset", [0.0, 100.0])
@pytest.mark.parametrize("apart", [1e-3, 1.0, 1e3])
def test_what_is_left_of_two_samples_is_one(offset, apart):
    for seed in range(20):
        Z = offset + np.random.default_rng(seed).normal(size=(2, 3)) * [[1], [apart]]
        left = ClassMoments.from_batch(Z).revert(Z[1:])
        assert left.counts.tolist() == [1]
        np.testing.assert_allclose(left.means[0], Z[0], atol=1e-12 * (offset + apart + 1))
        assert not left.scatters.any()


@pytest.mark.parametrize("offset", [0.0, 3.0])
@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("far", [1.0, 1e3])
def test_a_far_sample_of_few_is_taken_back(far, unit, offset):
    """What is left has no scatter in most directions, and rounding must not make it negative."""
    for seed in range(20):
        Z = np.random.default_rng(seed).normal(size=(4, 6)) * [[far], [1], [1], [1]]
        Z = unit * (Z - Z.mean(axis=0) + offset)
        left, expected = ClassMoments.from_batch(Z).revert(Z[:1]), ClassMoments.from_batch(Z[1:])
        np.testing.assert_allclose(left.means, expected.means, atol=1e-9 * unit)
        np.testing.assert_allclose(left.scatters, expected.scatters, atol=1e-8 * unit**2)


@pytest.mark.parametrize("drowned", [0, 1, 2])
def test_one_class_without_digits_is_enough_to_refuse(drowned):
    """Whichever of the classes it is, samples of the others are taken back as well."""
    rng = np.random.default_rng(3)
    Z, labels = rng.normal(size=(30, 4)), np.arange(30) % 3
    far = Z.copy()
    far[(labels == drowned) & (np.arange(30) < 15)] *= 1e9
    both = ClassMoments.from_batch(far, labels)
    with pytest.raises(ValueError, match=rf"samples of class {drowned} cannot be taken back exac"):
        both.revert(far[:15], labels[:15])
    others = labels != drowned
    kept = both.revert(far[:15][others[:15]], labels[:15][others[:15]])
    expected = ClassMoments.from_batch(far[15:], labels[15:])
    for c in {0, 1, 2} - {drowned}:
        np.testing.assert_allclose(kept.scatters[c], expected.scatters[c], rtol=1e-9, atol=1e-9)


# ── Two covariances ─────────────────────────────────────────────────────────────────────────────


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


def pooled(rows, labels, size=None):
    classes = np.unique(labels)
    counts = np.array([(labels == c).sum() for c in classes], dtype=float)
    means = np.stack([rows[labels == c].mean(axis=0) for c in classes])
    within = sum(scatter_of(rows[labels == c], np.ones((labels == c).sum())) for c in classes)
    return PooledMoments(counts, means, np.atleast_2d(within), size or rows.shape[1])


def test_methods_that_see_each_mode_once_do_not_pay_for_rounds():
    """The cost model counts one round for them, so that many samples are not made tables of."""
    shape, classes = (40, 30), np.arange(10)
    assert DGTDA()._workload(shape, classes).rounds == 1
    assert HODA()._workload(shape, classes).rounds > 1
    assert not DGTDA()._workload(shape, classes).moments_pay(5000, shape, 10)
    assert HODA()._workload(shape, classes).moments_pay(5000, shape, 10)
