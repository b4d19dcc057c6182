"""Laws at the edges of moments: kinds of labels, small weights, float32 and folds."""

import numpy as np
import pytest

from tenfold import ClassMoments, gather_moments


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


# ── float32 ─────────────────────────────────────────────────────────────────────────────────────


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
    there = gather_moments(samples, labels, labels != "elm", folds=True)
    assert there.by_class().classes.tolist() == ["ash", "oak"]
    np.testing.assert_allclose(there.by_class().counts, [20, 20])
