"""Mode scatters: tables and samples give the paper's sums, for one model or a stack of them."""

from dataclasses import replace

import numpy as np
import pytest

import reference
from reference import problem, relative_error
from tenfold.linalg.algebra import pack_table
from tenfold.optimization.criteria import Problem, between_within, class_specific
from tenfold.statistics.class_statistics import MomentStatistics
from tenfold.statistics.moments import ClassMoments
from tenfold.statistics.sample_statistics import PassStatistics, SampleStatistics, SpanStatistics
from tenfold.statistics.scatters import Products, TableTerm, along_mode
from tenfold.statistics.stores import StoredSamples

SHAPES = [(6,), (5, 4), (3, 4, 2), (2, 3, 2, 3)]
each_shape = pytest.mark.parametrize("shape", SHAPES, ids=str)

SOURCES = {
    "moments": lambda X, y, w=None: MomentStatistics.of(ClassMoments.from_batch(X, y, w)),
    "samples": SampleStatistics.from_batch,
    "tables of samples": lambda X, y, w=None: replace(
        SampleStatistics.from_batch(X, y, w), total_is_table=True, classes_are_tables=True
    ),
    "passes": lambda X, y, w=None: PassStatistics.from_source(
        StoredSamples.of(X), y, w, np.unique(y)
    ),
}
each_source = pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)


def random_factors(shape, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(size, max(1, size - 1))) for size in shape]


def problem_of(statistics, positives, shrinkage=0.0):
    """One class-specific model per positive class, without a ridge."""
    ranks = np.ones(len(statistics.shape), int)
    each = [class_specific(statistics, p, shrinkage, ranks=ranks) for p in positives]
    return Problem.stacked(each)


def scatters_of(asked, mode, factors):
    """The pair along a mode, with the ridge of the second scatter."""
    pair = asked.pair(mode, factors)
    return pair.keep, pair.suppress + pair.ridge[:, None, :] * np.eye(asked.shape[mode])


def along(scatter, mode, factors):
    return along_mode([scatter], mode, factors)[0]


def stacked(factors, n=1):
    return [np.repeat(W[None], n, axis=0) for W in factors]


# ── The paper's equations ───────────────────────────────────────────────────────────────────────


@each_shape
@each_source
def test_scatters_of_mcsda_are_eqs_17_and_18_summed_sample_by_sample(shape, source):
    X, y = problem(shape, seed=1)
    factors = random_factors(shape)
    statistics = source(X, y)
    for p in range(3):
        asked = problem_of(statistics, [p])
        for k in range(len(shape)):
            A, B = scatters_of(asked, k, stacked(factors))
            assert relative_error(A[0], reference.out_scatter(X, y, p, factors, k)) <= 1e-10
            assert relative_error(B[0], reference.in_scatter(X, y, p, factors, k)) <= 1e-10


@each_shape
@each_source
def test_scatters_of_the_multi_class_methods_are_eqs_10_and_11(shape, source):
    X, y = problem(shape, seed=2)
    factors = random_factors(shape)
    asked = between_within(source(X, y), ranks=np.ones(len(shape), int))
    for k in range(len(shape)):
        A, B = scatters_of(asked, k, stacked(factors))
        assert relative_error(A[0], reference.between_scatter(X, y, factors, k)) <= 1e-10
        assert relative_error(B[0], reference.within_scatter(X, y, factors, k)) <= 1e-10


@each_shape
@each_source
def test_total_scatter_is_that_of_all_samples_about_their_mean(shape, source):
    X, y = problem(shape, seed=3)
    factors = random_factors(shape)
    total = source(X, y).total()
    for k in range(len(shape)):
        found = along(total, k, stacked(factors))[0]
        assert relative_error(found, reference.total_scatter(X, factors, k)) <= 1e-10


@each_source
def test_shrinkage_mixes_the_covariances_of_the_class_and_of_all_classes(source):
    X, y = problem((4, 3), seed=6)
    factors = random_factors((4, 3))
    n_p, N = (y == 1).sum(), len(y)
    asked = problem_of(source(X, y), [1], shrinkage=0.3)
    for k in range(2):
        _, B = scatters_of(asked, k, stacked(factors))
        own = reference.in_scatter(X, y, 1, factors, k) / n_p
        pooled = reference.within_scatter(X, y, factors, k) / N
        assert relative_error(B[0], n_p * (0.7 * own + 0.3 * pooled)) <= 1e-10


@each_source
@pytest.mark.parametrize("first", [True, False])
def test_samples_without_weight_may_be_anywhere(source, first):
    """Most of each class; not even their digits are in the others' way."""
    X, y = problem((4, 3), seed=5)
    far, weight = X.copy(), np.ones(len(X))
    for c in range(3):
        rows = np.flatnonzero(y == c)
        rows = rows[: len(rows) - 3] if first else rows[3:]
        far[rows], weight[rows] = 1e15, 0.0
    kept, factors = weight > 0, random_factors((4, 3))
    asked = problem_of(source(far, y, weight), [2])
    for k in range(2):
        A, B = scatters_of(asked, k, stacked(factors))
        assert relative_error(A[0], reference.out_scatter(X[kept], y[kept], 2, factors, k)) <= 1e-10
        assert relative_error(B[0], reference.in_scatter(X[kept], y[kept], 2, factors, k)) <= 1e-10


# ── Stacks ──────────────────────────────────────────────────────────────────────────────────────


@each_shape
@each_source
def test_a_stack_gives_each_model_what_it_gets_alone(shape, source):
    """Models of other classes, other projections and lower ranks, padded with zero columns."""
    X, y = problem(shape, seed=7)
    rng = np.random.default_rng(0)
    positives = [0, 2, 1, 0, 2]
    widths = [max(1, size - 1) for size in shape]
    factors, alone = [], [[] for _ in positives]
    for size, width in zip(shape, widths, strict=True):
        stack = rng.normal(size=(len(positives), size, width))
        for m in range(len(positives)):
            rank = 1 + (m % width)
            stack[m, :, rank:] = 0
            alone[m].append(stack[m, :, :rank])
        factors.append(stack)
    asked = problem_of(source(X, y), positives)
    some = np.array([4, 0, 2])
    for k in range(len(shape)):
        A, B = scatters_of(asked.select_models(some), k, [W[some] for W in factors])
        for row, m in enumerate(some):
            p = positives[m]
            assert relative_error(A[row], reference.out_scatter(X, y, p, alone[m], k)) <= 1e-10
            assert relative_error(B[row], reference.in_scatter(X, y, p, alone[m], k)) <= 1e-10


# ── Tables ──────────────────────────────────────────────────────────────────────────────────────


@each_shape
def test_a_packed_table_holds_all_that_mode_scatters_depend_on(shape):
    rng = np.random.default_rng(0)
    size = int(np.prod(shape))
    root = rng.normal(size=(size, size))
    term = TableTerm(shape, (pack_table(root @ root.T, shape),))
    packed = np.prod([s * (s + 1) // 2 for s in shape])
    assert term.tables[0].size == (packed if len(shape) > 1 else size**2)  # of vectors the scatter
    factors = random_factors(shape)
    # The columns of the root are samples whose scatter is the matrix.
    samples = root.T.reshape(size, *shape)
    for k in range(len(shape)):
        expected = sum(reference.square(x, factors, k) for x in samples)
        found = term.along(k, stacked(factors), np.zeros(1, int), Products())[0]
        assert relative_error(found, expected) <= 1e-12


# ── Samples or moments ──────────────────────────────────────────────────────────────────────────


def test_products_of_covariances_and_traces_agree_between_samples_and_moments():
    X, y = problem((4, 3), seed=11)
    weight = np.random.default_rng(0).uniform(0, 2, len(X))
    every = np.arange(3)
    answers = [s(X, y, weight) for name, s in SOURCES.items() if name != "passes"]
    answers.append(SpanStatistics.from_vectors(X.reshape(len(X), -1), y, weight, every))
    flat = X.reshape(len(X), -1)
    own_scatters = []
    for c in every:
        w, Z = weight[y == c], flat[y == c]
        Z = Z - np.average(Z, axis=0, weights=w)
        own_scatters.append((w[:, None] * Z).T @ Z)
    within = sum(own_scatters)
    unit = np.trace(within) ** 2
    for statistics in answers:
        own, cross, pooled = (unit * np.asarray(p) for p in statistics.covariance_products)
        np.testing.assert_allclose(own, [np.sum(S * S) for S in own_scatters], rtol=1e-10)
        np.testing.assert_allclose(cross, [np.sum(S * within) for S in own_scatters], rtol=1e-10)
        np.testing.assert_allclose(pooled, np.sum(within * within), rtol=1e-10)
        np.testing.assert_allclose(
            statistics.traces, [np.trace(S) for S in own_scatters], rtol=1e-10
        )
