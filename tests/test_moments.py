"""Class moments: exact sums that can be added, however the stream is cut."""

import tracemalloc
from functools import reduce
from itertools import pairwise
from operator import add

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference import relative_error
from tenfold import CMDA, CSDA, MCSDA, MPCA, ClassMoments, gather_moments
from ways import learned

EPS = np.finfo(float).eps


def by_hand(X, y, weight=None):
    """Counts, means and scatters of the classes that have weight, in extended precision."""
    weight = np.ones(len(X)) if weight is None else weight
    flat = X.reshape(len(X), -1).astype(np.longdouble)
    results = []
    for c in np.unique(y[weight > 0]):
        rows = (y == c) & (weight > 0)
        w, Z = weight[rows].astype(np.longdouble)[:, None], flat[rows]
        mean = (w * Z).sum(axis=0) / w.sum()
        Z = Z - mean
        results.append((w.sum(), mean.reshape(X.shape[1:]), (w * Z).T @ Z))
    return [np.array(column, dtype=float) for column in zip(*results, strict=True)]


def assert_same(found, expected, tolerance):
    """Equal moments; scatters relative to their own size, means relative to theirs."""
    np.testing.assert_array_equal(found.classes, expected.classes)
    np.testing.assert_allclose(found.counts, expected.counts, rtol=1e-13)
    scale = np.abs(expected.means).max() + 1e-300
    assert np.abs(found.means - expected.means).max() <= 8 * EPS * scale * len(expected.counts)
    assert np.abs(found.scatters - expected.scatters).max() <= tolerance * (
        np.abs(expected.scatters).max() + 1e-300
    )


def data(n=40, shape=(3, 4), classes=3, seed=0, offset=0.0):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % classes)
    return rng.normal(size=(n, *shape)) + y.reshape(-1, *[1] * len(shape)) + offset, y


# ── One batch ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("shape", [(5,), (3, 4), (2, 3, 2)], ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_moments_are_the_sums_written_sample_by_sample(shape, weighted):
    X, y = data(shape=shape)
    weight = np.random.default_rng(1).uniform(0.1, 3, len(X)) if weighted else None
    found = ClassMoments.from_batch(X, y, weight)
    counts, means, scatters = by_hand(X, y, weight)
    np.testing.assert_allclose(found.counts, counts, rtol=1e-14)
    np.testing.assert_allclose(found.means, means, rtol=1e-13, atol=1e-14)
    assert relative_error(found.scatters, scatters) <= 1e-13


@pytest.mark.parametrize("offset", [1e6, -1e8])
def test_a_large_offset_costs_no_digits_of_the_scatters(offset):
    # Adding the offset rounds the samples by offset * eps; take them as they are after it.
    X, y = data(offset=offset)
    expected = by_hand(X, y)[2]
    found = ClassMoments.from_batch(X, y)
    # The shift is within one standard deviation of the mean, so nothing is left to cancel.
    assert relative_error(found.scatters, expected) <= 1e-13
    np.testing.assert_allclose(found.means, by_hand(X, y)[1], rtol=4 * EPS)


@pytest.mark.parametrize("kind", [np.uint8, np.int64, np.float16, bool])
def test_other_number_types_give_the_moments_of_their_values(kind):
    X = np.random.default_rng(0).integers(0, 2 if kind is bool else 200, (30, 3, 4)).astype(kind)
    y = np.arange(30) % 3
    found, expected = ClassMoments.from_batch(X, y), ClassMoments.from_batch(X.astype(float), y)
    # float16 goes through float32 products.
    tolerance = 1e-6 if kind is np.float16 else 1e-14
    assert relative_error(found.scatters, expected.scatters) <= tolerance
    assert found.scatters.dtype == found.means.dtype == np.float64


@pytest.mark.parametrize("layout", ["fortran", "strided", "transposed", "reversed"])
def test_the_layout_of_the_samples_does_not_matter(layout):
    X, y = data(n=30, shape=(4, 6))
    views = {
        "fortran": np.asfortranarray(X),
        "strided": np.repeat(X, 2, axis=2)[:, :, ::2],
        "transposed": X.transpose(0, 2, 1).copy().transpose(0, 2, 1),
        "reversed": X[:, ::-1].copy()[:, ::-1],
    }
    found, expected = ClassMoments.from_batch(views[layout], y), ClassMoments.from_batch(X, y)
    np.testing.assert_allclose(found.scatters, expected.scatters, rtol=1e-13, atol=1e-12)


@pytest.mark.parametrize("kind", [np.uint8, np.float32, np.float64])
@pytest.mark.parametrize("ordered", [True, False], ids=["sorted", "shuffled"])
def test_samples_are_never_copied_or_cast_whole(kind, ordered, monkeypatch):
    monkeypatch.setattr("tenfold.linalg.arrays.BLOCK_BYTES", 2**20)
    rng = np.random.default_rng(0)
    X = rng.integers(0, 255, (200_000, 8, 8), dtype=np.uint8).astype(kind, copy=False)
    y = np.arange(len(X)) % 4
    y = np.sort(y) if ordered else y
    tracemalloc.start()
    found = ClassMoments.from_batch(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # Room for a few blocks, the masks of the labels and the tables, but not for one copy of X,
    # even as bytes; in float64 that would be 98 MiB.
    labels = 3 * 8 * len(y)
    assert peak < 6 * 2**20 + labels < X.nbytes
    assert found.count == len(X)


# ── Addition ────────────────────────────────────────────────────────────────────────────────────


@settings(max_examples=60)
@given(
    n=st.integers(1, 30),
    cuts=st.lists(st.integers(0, 30), max_size=6),
    seed=st.integers(0, 2**32 - 1),
    offset=st.sampled_from([0.0, 1e6, -1e6]),
    weighted=st.booleans(),
)
def test_moments_do_not_depend_on_how_the_stream_is_cut(n, cuts, seed, offset, weighted):
    """Parts may be empty, of one sample, or without some classes; and come in any order."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2, 3)) + offset
    y = rng.integers(0, 3, n)
    weight = rng.integers(0, 4, n) / 2 + 0.5 * (rng.random(n) < 0.5) if weighted else None
    edges = [0, *sorted(min(cut, n) for cut in cuts), n]
    parts = [slice(a, b) for a, b in pairwise(edges)]
    rng.shuffle(parts)
    classes = np.arange(3)
    moments = [
        ClassMoments.from_batch(X[p], y[p], None if weight is None else weight[p], classes=classes)
        for p in parts
    ]
    whole = ClassMoments.from_batch(X, y, weight, classes=classes)
    # Means are rounded to offset * eps, and so are the steps between them that scatters need.
    size = 1 + np.abs(whole.scatters).max()
    error = np.abs(reduce(add, moments).scatters - whole.scatters).max()
    assert error <= 1e-13 * size + 64 * EPS * abs(offset) * np.sqrt(n) * np.sqrt(size)
    summed = reduce(add, moments)
    np.testing.assert_allclose(summed.counts, whole.counts, rtol=1e-14)
    seen = whole.counts > 0
    np.testing.assert_allclose(summed.means[seen], whole.means[seen], rtol=1e-14, atol=1e-13)


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32 - 1))
def test_addition_is_commutative_and_associative(seed):
    rng = np.random.default_rng(seed)
    a, b, c = (
        ClassMoments.from_batch(rng.normal(size=(n, 2, 2)), rng.choice(list("xyz"), n))
        for n in rng.integers(1, 9, 3)
    )
    assert_same(a + b, b + a, 1e-13)
    assert_same((a + b) + c, a + (b + c), 1e-13)


def test_classes_of_a_sum_are_the_union():
    X, _ = data(n=12)
    left = ClassMoments.from_batch(X[:5], np.array(list("aacca")))
    right = ClassMoments.from_batch(X[5:], np.array(list("bbdbbdb")))
    both = left + right
    assert both.classes.tolist() == ["a", "b", "c", "d"]
    whole = ClassMoments.from_batch(X, np.array(list("aaccabbdbbdb")))
    assert_same(both, whole, 1e-13)


@pytest.mark.parametrize(
    ("change", "kind"),
    [(0.0, np.float32), (3000.0, np.float32), (1e5, np.float64), (1e9, np.int64)],
    ids=["offset", "shift of level", "wider numbers", "integers"],
)
def test_a_stream_may_change_on_the_way(change, kind):
    """Blocks decide for themselves whether float32 holds them, and about which shift."""
    rng = np.random.default_rng(0)
    first = rng.normal(size=(100, 6, 5)).astype(np.float32) + np.float32(1e4)
    second = rng.normal(size=(2000, 6, 5)).astype(np.float32) + np.float32(1e4)
    third = (1000 * rng.normal(size=(2000, 6, 5)) + change).astype(kind)
    blocks = [first, second, third]
    found = ClassMoments.from_blocks([(X, None, None) for X in blocks])
    whole = np.concatenate([X.astype(np.float64) for X in blocks]).reshape(-1, 30)
    expected = np.cov(whole.T, bias=True) * len(whole)
    # Sums of float32 rows about the shift are good to a few parts in 1e7 of the level.
    np.testing.assert_allclose(found.means[0].ravel(), whole.mean(axis=0), rtol=2e-6)
    assert relative_error(found.scatters[0], expected) <= 1e-6
    weakest = np.linalg.eigvalsh(expected)[0]
    assert np.linalg.eigvalsh(found.scatters[0])[0] == pytest.approx(weakest, rel=1e-2)


@pytest.mark.parametrize("scale", [1e-25, 1e17], ids=["tiny", "huge"])
def test_squares_that_float32_cannot_hold_are_float64(scale):
    rng = np.random.default_rng(0)
    X = (scale * rng.normal(size=(1000, 6, 5))).astype(np.float32)
    found = ClassMoments.from_batch(X).scatters[0]
    assert (
        relative_error(found, np.cov(X.reshape(-1, 30).T.astype(float), bias=True) * 1000) <= 1e-6
    )


def test_no_sample_is_left_out_in_silence():
    X, y = np.ones((6, 2, 2)), np.array([0, 0, 1, 1, 2, 2])
    with pytest.raises(ValueError, match=r"2 sample\(s\) are of class 2, .* \[0, 1\]; name all"):
        ClassMoments.from_batch(X, y, classes=np.array([0, 1]))
    kept = ClassMoments.from_batch(X, y, (y < 2).astype(float), classes=np.array([0, 1]))
    assert kept.counts.tolist() == [2, 2]
    with pytest.raises(ValueError, match=r"a weight is -1.0; weights must not be negative"):
        ClassMoments.from_batch(X, y, np.array([1, 1, 1, 1, 1, -1.0]))
    many = np.arange(20)
    with pytest.raises(ValueError, match=r"labels are numbers \(0, ...\) .* are text \('0', ...\)"):
        ClassMoments.from_batch(np.ones((20, 2)), many, classes=np.unique(many.astype(str)))
    blocks = [(np.ones((20, 2)), many.astype(str), None), (np.ones((20, 2)), many, None)]
    with pytest.raises(ValueError, match="convert one of them"):
        ClassMoments.from_blocks(blocks)
    a, b = (ClassMoments.from_batch(*block) for block in blocks)
    with pytest.raises(ValueError, match="convert one of them"):
        a + b


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e200])
def test_moments_are_finite_or_refused(bad):
    X = np.ones((4, 2, 2))
    X[2, 1, 0] = bad
    with np.errstate(all="ignore"), pytest.raises(ValueError, match="moments are not finite"):
        ClassMoments.from_batch(X)


# ── Outliers, weights and scales ────────────────────────────────────────────────────────────────


def worst(found, X, y, weight=None):
    """The largest error of a scatter, relative to what its two numbers scatter by."""
    counts, means, scatters = by_hand(X, y, weight)
    spread = np.sqrt(np.diagonal(scatters, axis1=1, axis2=2))
    off = np.abs(found.scatters - scatters) / (spread[:, :, None] * spread[:, None])
    steps = (found.means - means).reshape(spread.shape) / spread * np.sqrt(counts)[:, None]
    return float(off.max()), float(np.abs(steps).max())


@pytest.mark.parametrize("position", [0, 7, 1501])
@pytest.mark.parametrize("factor", [1e3, 1e6, 1e19])
def test_one_outlier_costs_the_other_samples_nothing(factor, position):
    """Without the outlier's own part, moments are those of the others to float32's rounding."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 6, 5)).astype(np.float32)
    y = np.zeros(len(X), dtype=int)
    X[position] *= np.float32(factor)
    assert max(worst(ClassMoments.from_batch(X, y), X, y)) < 1e-6
    # Along directions in which the outlier has nothing, what is left is that of the others.
    outlier = X[position].ravel().astype(float)
    away = np.linalg.svd(outlier[None])[2][1:]
    found = away @ ClassMoments.from_batch(X, y).scatters[0] @ away.T
    rest = np.delete(X, position, axis=0)
    (expected,) = by_hand(rest, y[1:])[2]
    expected = away @ expected @ away.T
    rounding = 1e-5 + 1e-14 * np.square(outlier).sum() / len(X)
    assert np.abs(found - expected).max() < rounding * np.abs(expected).max()


@pytest.mark.parametrize("weight", [1e-50, 1e-12, 1e12, 1e50])
def test_a_common_factor_of_the_weights_is_one_of_the_scatters(weight):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(2000, 6, 5)).astype(np.float32)
    y, w = np.arange(2000) % 2, rng.random(2000) + 0.5
    assert max(worst(ClassMoments.from_batch(X, y, weight * w), X, y, weight * w)) < 1e-6


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("first", [100, 900])
@pytest.mark.parametrize("in_blocks", [False, True])
def test_rows_of_no_weight_to_speak_of_do_not_matter_wherever_they_are(kind, first, in_blocks):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(2000, 6, 5))
    X[:first] += 1e6
    X, y = X.astype(kind), np.zeros(2000, dtype=int)
    weight = np.where(np.arange(2000) < first, 1e-20, 1.0)
    whole = [(X, y, weight)]
    blocks = [(X[i : i + 50], y[i : i + 50], weight[i : i + 50]) for i in range(0, 2000, 50)]
    found = ClassMoments.from_blocks(blocks if in_blocks else whole)
    assert max(worst(found, X, y, weight)) < (1e-6 if kind == np.float32 else 1e-10)


def test_a_shift_is_left_when_heavier_blocks_come():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 4)) + 10.0 ** np.repeat(np.arange(8)[::-1], 50)[:, None]
    weight = 30.0 ** np.repeat(np.arange(8), 50)
    y = np.zeros(400, dtype=int)
    cuts = [slice(i, i + 50) for i in range(0, 400, 50)]
    found = ClassMoments.from_blocks((X[cut], y[cut], weight[cut]) for cut in cuts)
    assert max(worst(found, X, y, weight)) < 1e-12
    upper = np.triu_indices(4)
    np.testing.assert_array_equal(found.scatters[0][upper], found.scatters[0].T[upper])


@pytest.mark.parametrize("statistics", ["moments", "samples", "auto"])
@pytest.mark.parametrize("Method", [MCSDA, CMDA, MPCA, CSDA], ids=lambda M: M.__name__)
@pytest.mark.parametrize("scale", [1e155, 1e-160, 1e-175])
def test_numbers_whose_squares_are_none_are_refused(scale, Method, statistics):
    X, y = data(n=60)
    method = Method(ranks=2)
    refused = r"too (large|small) for float64|larger than a float64"
    with pytest.raises(ValueError, match=refused):
        learned(method, statistics, scale * X, y)

    def learn_row_by_row():
        for row in range(len(X)):
            method.partial_fit(scale * X[[row]], y[[row]], classes=np.unique(y))

    with pytest.raises(ValueError, match=refused):
        learn_row_by_row()


def test_tiny_numbers_beside_others_are_welcome():
    X, y = data(n=60)
    X[:, 0] = 1e-170
    MCSDA(ranks=2).fit(X, y)
    MCSDA(ranks=2).fit(np.zeros_like(X), y)


@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_sums_of_cells_are_the_moments_of_their_samples(offset):
    """Classes at sites on days, in any grouping; cells that are left out are not there."""
    rng = np.random.default_rng(4)
    X, cells = rng.normal(size=(60, 3, 2)) + offset, rng.integers(0, 9, 60)
    weight = rng.uniform(0.5, 2, 60)
    table = ClassMoments.from_batch(X, cells, weight, classes=np.arange(10))
    codes = np.array([2, 0, 0, -1, 3, 2, 0, 3, -1, 1])  # the last cell is empty
    found = table.summed_by(codes, 5)
    kept = codes[cells] >= 0
    own = ClassMoments.from_batch(X[kept], codes[cells[kept]], weight[kept], classes=np.arange(5))
    assert found.counts[[1, 4]].tolist() == [0, 0]
    np.testing.assert_allclose(found.counts, own.counts, rtol=1e-12)
    np.testing.assert_allclose(found.means, own.means, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.scatters, own.scatters, rtol=0, atol=1e-13 * (1e5 + offset))


@pytest.mark.parametrize(("scale", "factor"), [(1e17, 1e-43), (1e-15, 1e40)])
def test_weights_that_float32_cannot_hold_are_float64(scale, factor):
    """However the units of samples and weights are chosen."""
    rng = np.random.default_rng(0)
    X = (scale * rng.normal(size=(1000, 6, 5))).astype(np.float32)
    w = factor * rng.uniform(0.5, 2, 1000)
    y = np.zeros(1000, dtype=int)
    assert max(worst(ClassMoments.from_batch(X, y, w), X, y, w)) < 1e-6


def test_classes_that_are_there_keep_their_names():
    rng = np.random.default_rng(3)
    samples, labels = rng.normal(size=(60, 4)), np.array(["ash", "elm", "oak"])[np.arange(60) % 3]
    there = gather_moments(samples, labels, labels != "elm")
    assert there.classes.tolist() == ["ash", "oak"]
    np.testing.assert_allclose(there.counts, [20, 20])
