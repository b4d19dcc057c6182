"""Laws at the edges of moments: kinds of labels, small weights, float32, covariates and folds."""

import numpy as np
import pytest

from tenfold import CSDA, MPCA, ClassMoments, gather_folds
from tenfold.mathematics.accumulate import check_squares, float32_suffices, merged
from tenfold.mathematics.covariates import (
    Slopes,
    aliased,
    moments_without_covariates,
    scatters_of_moments,
    scatters_of_samples,
    slopes_of,
    without_covariates,
)
from tenfold.mathematics.fold_moments import FoldMoments, content_folds, merged_folds, name_folds


def exact(X, weight):
    """Count, mean and scatter of flat samples, in extended precision."""
    Z, w = X.reshape(len(X), -1).astype(np.longdouble), weight.astype(np.longdouble)
    mean = w @ Z / w.sum()
    return w.sum(), mean, (w[:, None] * (Z - mean)).T @ (Z - mean)


# ── Labels ──────────────────────────────────────────────────────────────────────────────────────


NUMBERS = np.array([0, 1, 1])
TEXTS = [np.array(["0", "1", "1"]), np.array(["0", "1", "1"], dtype=object)]


@pytest.mark.parametrize("text", TEXTS, ids=["str", "object"])
@pytest.mark.parametrize("numbers", [NUMBERS, NUMBERS.astype(object)], ids=["int", "object"])
def test_text_beside_numbers_is_refused_whichever_comes_first(text, numbers):
    X = np.arange(6.0).reshape(3, 2)
    for first, second in ((text, numbers), (numbers, text)):
        with pytest.raises(ValueError, match="convert one of them"):
            ClassMoments.from_blocks([(X, first, None), (X, second, None)])
        with pytest.raises(ValueError, match="convert one of them"):
            ClassMoments.from_batch(X, first) + ClassMoments.from_batch(X, second)
        with pytest.raises(ValueError, match="convert one of them"):
            ClassMoments.from_batch(X, first, classes=np.unique(second))


def test_text_may_be_of_two_kinds():
    X = np.arange(6.0).reshape(3, 2)
    for first, second in (TEXTS, TEXTS[::-1]):
        found = ClassMoments.from_blocks([(X, first, None), (X, second, None)])
        assert found.classes.tolist() == ["0", "1"]
        assert found.counts.tolist() == [2, 4]
    single = ClassMoments.from_batch(X[:1], TEXTS[1][:1])
    assert single.classes.tolist() == ["0"]


# ── Sums ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("factor", [1e-3, 1.0, 1e3])
def test_a_sum_of_moments_has_the_units_of_the_weights(factor):
    rng = np.random.default_rng(0)
    X, y, w = rng.normal(size=(30, 2, 2)), np.arange(30) % 3, factor * rng.uniform(0.1, 1, 30)
    both = ClassMoments.from_batch(X[:9], y[:9], w[:9]) + ClassMoments.from_batch(
        X[9:], y[9:], w[9:]
    )
    for c in range(3):
        count, mean, scatter = exact(X[y == c], w[y == c])
        assert both.counts[c] == pytest.approx(count)
        np.testing.assert_allclose(both.means[c].ravel(), mean.astype(float), atol=1e-12)
        np.testing.assert_allclose(both.scatters[c], scatter.astype(float), rtol=1e-10)


def test_the_mean_of_a_class_that_was_forgotten_leaves_no_rounding():
    """A stream may have forgotten all of a class; its old mean says nothing of new samples."""
    forgotten, new = np.array([[1e12, -1e12]]), np.array([[0.1, 0.3]])
    counts, more = np.zeros(1), np.ones(1)
    total, common, both, _ = merged(counts, forgotten, more, new)
    np.testing.assert_array_equal(common, new)
    assert total.tolist() == [1.0]
    assert not both.any()
    total, common, both, _ = merged(more, new, counts, forgotten)
    np.testing.assert_array_equal(common, new)
    assert not both.any()


def test_shifts_of_several_classes_are_left_when_heavier_blocks_come():
    rng = np.random.default_rng(3)
    level = np.repeat(np.arange(8), 60)
    X = rng.normal(size=(480, 4)) + 10.0 ** (7 - level)[:, None]
    y, weight = np.arange(480) % 3, 30.0**level
    X[y == 2] *= -1
    blocks = [(X[level == k], y[level == k], weight[level == k]) for k in range(8)]
    found = ClassMoments.from_blocks(blocks)
    for c in range(3):
        _, mean, scatter = exact(X[y == c], weight[y == c])
        spread = np.sqrt(np.diag(scatter))
        off = np.abs(found.scatters[c] - scatter) / np.outer(spread, spread)
        assert off.max() < 1e-12
        np.testing.assert_allclose(found.means[c], mean.astype(float), rtol=1e-12)


def test_a_stray_sample_at_the_start_of_a_stream_costs_the_others_nothing():
    """2000 samples outweigh the first one, so sums are about these."""
    rng = np.random.default_rng(0)
    stray, X = np.array([[1e12, 0.0]]), rng.normal(size=(2000, 2))
    X[:, 1] -= X[:, 1].mean()  # the stray sample has nothing to do with the second number
    y = np.zeros(2001, dtype=int)
    found = ClassMoments.from_blocks([(stray, y[:1], None), (X, y[1:], None)]).scatters[0]
    assert found[0, 1] == pytest.approx(X[:, 0] @ X[:, 1], abs=1e-2)


def test_samples_of_zeros_are_not_too_small():
    check_squares(np.ones(2), np.zeros((2, 3)), np.zeros(2))
    with pytest.raises(ValueError, match="too small for float64"):
        check_squares(np.ones(2), np.full((2, 3), 1e-150), np.zeros(2))


# ── float32 ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_float32_holds_no_direction_that_is_weak_beside_the_others(mode):
    """In whichever mode it is; features that never move do not count."""
    rng = np.random.default_rng(mode)
    Z = rng.normal(size=(400, 4, 3, 5))
    assert float32_suffices(Z)
    for weak, suffices in ((0.1, True), (0.01, False)):  # 1e-2 and 1e-4 of the scatter
        weaker = np.moveaxis(Z.copy(), mode + 1, 0)
        weaker[1] = weaker[0] + weak * weaker[1]
        assert float32_suffices(np.moveaxis(weaker, 0, mode + 1)) == suffices
    still = np.moveaxis(Z.copy(), mode + 1, 0)
    still[-1] = 0.0
    assert float32_suffices(np.moveaxis(still, 0, mode + 1))
    for scale in (1e-3, 1e3, 1e10):
        assert float32_suffices(scale * Z)
        assert not float32_suffices(scale * np.moveaxis(weaker, 0, mode + 1))
    assert not float32_suffices(Z.reshape(400, -1))


@pytest.mark.parametrize(("scale", "factor"), [(1e17, 1e-43), (1e-15, 1e40)])
def test_weights_that_float32_cannot_hold_are_float64(scale, factor):
    """However the units of samples and weights are chosen."""
    rng = np.random.default_rng(0)
    X = (scale * rng.normal(size=(1000, 6, 5))).astype(np.float32)
    w = factor * rng.uniform(0.5, 2, 1000)
    found = ClassMoments.from_batch(X, None, w)
    count, mean, scatter = exact(X, w)
    spread = np.sqrt(np.diag(scatter))
    assert float(np.abs(found.counts[0] / count - 1)) < 1e-12
    assert (np.abs(found.scatters[0] - scatter) / np.outer(spread, spread)).max() < 1e-6
    steps = (found.means[0].ravel() - mean) / spread * np.sqrt(count)
    assert np.abs(steps).max() < 1e-6


# ── Covariates ──────────────────────────────────────────────────────────────────────────────────


def rows_with_covariates(seed=0, factor=1.0):
    rng = np.random.default_rng(seed)
    y = np.sort(rng.integers(0, 4, 60))
    Z = rng.normal(size=(60, 2)) * [3.0, 0.2] + y[:, None] + [20.0, 50.0]
    X = rng.normal(size=(60, 5)) + Z @ rng.normal(size=(2, 5)) + y[:, None]
    return X, y, Z, factor * rng.uniform(0.1, 1.0, 60)


@pytest.mark.parametrize("factor", [1e-3, 1.0, 1e3])
def test_scatters_within_classes_are_the_same_from_samples_and_from_moments(factor):
    X, y, Z, w = rows_with_covariates(factor=factor)
    of_z, of_x, totals = 0.0, 0.0, (w[:, None] * (Z - np.average(Z, 0, w)) ** 2).sum(axis=0)
    for c in range(4):
        own = y == c
        about = w[own][:, None] * (Z[own] - np.average(Z[own], 0, w[own]))
        of_z, of_x = of_z + about.T @ Z[own], of_x + about.T @ X[own]
    moments = ClassMoments.from_batch(np.hstack([X, Z]), y, w, classes=np.arange(5))
    for mean, found in (scatters_of_samples(X, Z, y, w), scatters_of_moments(moments, 2)):
        np.testing.assert_allclose(mean, np.average(Z, 0, w), rtol=1e-12)
        for one, other in zip(found, (of_z, of_x, totals), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9 * factor)


def test_moments_without_covariates_are_those_of_samples_without():
    X, y, Z, w = rows_with_covariates()
    mean, scatters = scatters_of_samples(X, Z, y, w)
    found = Slopes(mean, slopes_of(scatters))
    left = without_covariates(X, Z, found)
    np.testing.assert_allclose(left, X - (Z - mean) @ found.slopes, atol=1e-10)
    assert without_covariates(X.astype(np.float32), Z, found).dtype == np.float32
    rows = ClassMoments.from_batch(np.hstack([X, Z]), y, w, classes=np.arange(5))
    parts = moments_without_covariates(rows, found)
    whole = ClassMoments.from_batch(left, y, w, classes=np.arange(5))
    np.testing.assert_allclose(parts.means, whole.means, atol=1e-9)
    np.testing.assert_allclose(parts.scatters, whole.scatters, atol=1e-8)
    assert not parts.means[4].any()  # a class without samples


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_covariates_repeat_something_whatever_their_units(unit):
    X, y, Z, w = rows_with_covariates()
    columns = {
        None: Z,
        (0, "nothing"): np.column_stack([np.full(60, 7.0), Z]),
        (1, "the classes"): np.column_stack([Z[:, 0], 3.0 * y + 2, Z[:, 1]]),
        (2, "the others"): np.column_stack([Z, Z @ [1.0, -2.0] - y, np.arange(60) % 7]),
    }
    for expected, covariates in columns.items():
        scaled = unit * covariates
        moments = ClassMoments.from_batch(np.hstack([X, scaled]), y, w)
        assert aliased(scatters_of_moments(moments, scaled.shape[1])[1]) == expected
        assert aliased(scatters_of_samples(X, scaled, y, w)[1]) == expected


def test_the_covariates_of_a_single_sample_are_refused():
    with pytest.raises(ValueError, match="same for all samples"):
        MPCA().fit(np.ones((1, 3)), covariates=[1.0])


def test_light_samples_have_the_slopes_of_heavy_ones():
    X, y, Z, w = rows_with_covariates()
    heavy, light = (
        CSDA(positive=1).fit(X, y, f * w, covariates=Z).covariate_slopes_ for f in (1e3, 1e-3)
    )
    np.testing.assert_allclose(light, heavy, rtol=1e-8)


# ── Folds ───────────────────────────────────────────────────────────────────────────────────────


def test_moments_in_folds_are_the_same_from_samples_and_from_tables():
    rng = np.random.default_rng(0)
    n, shape = 60, (3, 4)
    Z, codes, folds = rng.normal(size=(n, 5)), rng.integers(0, 4, n), rng.integers(0, 3, n)
    weight = np.where(rng.random(n) < 0.2, 0.0, rng.uniform(0.2, 2, n))
    weight[(codes == 1) & (folds == 2)] = 0.0  # nothing is left of class 1 there
    here = weight > 0
    tables = ClassMoments.from_batch(Z, 3 * codes + folds, weight, classes=np.arange(12))
    of_tables = FoldMoments.of_tables(tables, shape)
    of_samples = FoldMoments.of_samples(Z, codes, folds, weight, shape, 5)
    D = rng.normal(size=(5, 2))
    for found in (of_samples, of_tables, of_tables.changed(np.eye(5))):
        for f, c in np.ndindex(shape):
            own = (folds == f) & (codes == c) & here
            assert found.counts[f, c] == pytest.approx(weight[own].sum())
            mean = np.average(Z[own], 0, weight[own]) if own.any() else np.zeros(5)
            np.testing.assert_allclose(found.means[f, c], mean, atol=1e-12)
        for f in (None, 0, 1, 2):
            rest = here & (folds != (-1 if f is None else f))
            pooled = found.without(f)
            parts = [exact(Z[rest & (codes == c)], weight[rest & (codes == c)]) for c in range(4)]
            np.testing.assert_allclose(pooled.counts, [float(p[0]) for p in parts])
            np.testing.assert_allclose(pooled.means, [p[1].astype(float) for p in parts])
            within = sum(p[2] for p in parts).astype(float)
            np.testing.assert_allclose(pooled.within, within, atol=1e-10)
        assert set(found.points(2, D).codes) == set(codes[here & (folds == 2)]) != {0, 1, 2, 3}


def test_other_coordinates_are_those_of_turned_samples():
    rng = np.random.default_rng(1)
    Z, codes, folds = rng.normal(size=(40, 3)), np.arange(40) % 2, np.arange(40) % 3
    R, D = rng.normal(size=(3, 3)), rng.normal(size=(3, 2))
    found = FoldMoments.of_samples(Z, codes, folds, None, (3, 2), 3).changed(R)
    expected = FoldMoments.of_samples(Z @ R.T, codes, folds, None, (3, 2), 3)
    for name in ("counts", "means", "within", "size", "n_folds"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), atol=1e-12)
    for one, other in zip(found.points(1, D), expected.points(1, D), strict=True):
        np.testing.assert_allclose(np.sort(np.abs(one), 0), np.sort(np.abs(other), 0), atol=1e-9)


def test_folds_are_even_and_see_nothing_but_content():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 2, 3)).astype(np.float32)
    folds = content_folds(X)
    assert set(folds) == set(range(5))
    assert np.abs(np.bincount(folds) / 3000 - 0.2).max() < 0.04
    np.testing.assert_array_equal(content_folds(X.astype(np.float64)), folds)
    np.testing.assert_array_equal(content_folds(np.asfortranarray(X)), folds)
    np.testing.assert_array_equal(content_folds(X[::-1])[::-1], folds)
    np.testing.assert_array_equal(content_folds(-0.0 * X), content_folds(0.0 * X))
    turned = content_folds(X.transpose(0, 2, 1))  # the same numbers at other places
    assert 0.1 < (turned == folds).mean() < 0.3
    for offset in (1e6, 1e12):
        assert (
            np.abs(np.bincount(content_folds(X.astype(float) + offset)) / 3000 - 0.2).max() < 0.04
        )
    for scale in (1e-30, 1e30):
        assert np.abs(np.bincount(content_folds(X * np.float64(scale))) / 3000 - 0.2).max() < 0.04
    whole = content_folds(np.arange(1000.0)[:, None])
    assert np.abs(np.bincount(whole) / 1000 - 0.2).max() < 0.06


def test_groups_are_dealt_by_their_names():
    names = np.array([f"person {i}" for i in range(400)])
    folds = name_folds(names, 4)
    assert np.abs(np.bincount(folds) / 400 - 0.25).max() < 0.08
    np.testing.assert_array_equal(name_folds(names.astype(object), 4), folds)
    np.testing.assert_array_equal(name_folds(names[::-1], 4)[::-1], folds)
    numbers = np.arange(400)
    for kind in (np.int8, np.uint16, np.float64):
        small = numbers[:100]
        np.testing.assert_array_equal(
            name_folds(small.astype(kind), 4), name_folds(numbers, 4)[:100]
        )


def test_folds_of_a_class_are_merged():
    rng = np.random.default_rng(0)
    X, cells, w = rng.normal(size=(60, 2, 2)), np.arange(60) % 6, rng.uniform(0.5, 2, 60)
    found = merged_folds(ClassMoments.from_batch(X, cells, w), 3)
    assert found.classes.tolist() == [0, 1]
    for c in range(2):
        count, mean, scatter = exact(X[cells // 3 == c], w[cells // 3 == c])
        assert found.counts[c] == pytest.approx(float(count))
        np.testing.assert_allclose(found.means[c].ravel(), mean.astype(float), atol=1e-12)
        np.testing.assert_allclose(found.scatters[c], scatter.astype(float), atol=1e-10)


# ── Recentred moments, and classes that are not there ───────────────────────────────────────────


@pytest.mark.parametrize("counts", [(1, 4), (5,), (1, 1, 3)])
def test_recentred_moments_are_those_of_recentred_samples(counts):
    rng = np.random.default_rng(2)
    samples, labels = rng.normal(size=(5, 3, 2)) + 7, np.repeat(np.arange(len(counts)), counts)
    classes = np.arange(len(counts) + 1)  # the last one has no samples
    whole = ClassMoments.from_batch(samples, labels, classes=classes)
    found = whole.recentred()
    expected = ClassMoments.from_batch(samples - samples.mean(axis=0), labels, classes=classes)
    np.testing.assert_allclose(found.means, expected.means, atol=1e-13)
    np.testing.assert_allclose(found.scatters, expected.scatters, atol=1e-12)
    assert not found.means[-1].any()
    middle = np.mean([samples[labels == c].mean(axis=0) for c in classes[:-1]], axis=0)
    balanced = whole.recentred(balanced=True)
    np.testing.assert_allclose(balanced.means[:-1], whole.means[:-1] - middle, atol=1e-13)


def test_classes_in_folds_that_are_there_keep_their_names():
    rng = np.random.default_rng(3)
    samples, labels = rng.normal(size=(60, 4)), np.array(["ash", "elm", "oak"])[np.arange(60) % 3]
    there = gather_folds(samples, labels, sample_weight=labels != "elm").present()
    assert there.classes.tolist() == ["ash", "oak"]
    np.testing.assert_allclose(there.together().counts, [20, 20])
