"""Scores of Gaussian classes, and left-out scores in closed form: brute force is the oracle.

Left-out scores are those of refitting without the sample, with units, width, frame, rho and b held
fixed; the centre is that of the other samples. The pool and its temperatures are checked here too.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import approx_fprime, minimize
from scipy.special import softmax
from scipy.stats import multivariate_normal

from tenfold import ProbabilisticLDA
from tenfold.gaussian import signals
from tenfold.gaussian.formula import Frame
from tenfold.gaussian.gathered import SKETCH, Gathered
from tenfold.gaussian.pool import Answers, best_temperature, pool_weights
from tenfold.gaussian.strangers import without_classes
from tenfold.gaussian.views import (
    Data,
    make_candidate,
    structured_candidate,
    structured_map,
    thirds_of,
)

PLAIN = ("numbers", "units", "length", "rbf_wide", "rbf_narrow")
SHAPES = {"filters": (2, 16), "gradients": (8, 9)}  # of samples, for views of curves and images


@pytest.fixture(autouse=True)
def few_filters(monkeypatch):
    """One level for each filter, so that inverses of their features are small."""
    monkeypatch.setattr(signals, "FILTER_FEATURES", 1)


# ── Brute force ─────────────────────────────────────────────────────────────────────────────────


def brute_fit(features, codes, weights, n_classes):
    """Counts, class means, scatter of the noise and its degrees of freedom, written out."""
    counts = np.zeros(n_classes)
    means = np.zeros((n_classes, features.shape[1]))
    scatter = np.zeros((features.shape[1], features.shape[1]))
    for c in range(n_classes):
        own = codes == c
        counts[c] = weights[own].sum()
        if counts[c] > 0:
            means[c] = np.average(features[own], axis=0, weights=weights[own])
        deviations = features[own] - means[c]
        scatter += deviations.T @ np.diag(weights[own]) @ deviations
    freedom = sum(max(n - 1, 0) for n in counts)
    return counts, means, scatter, freedom


def brute_scores(x, fitted, rho, b, spread=None):
    """The score of every class, with explicit inverses."""
    counts, means, scatter, freedom = fitted
    size = len(scatter)
    B = np.eye(size) if spread is None else np.diag(spread)

    resolvents = {}
    for k in {0.0, *counts, *(counts + 1)}:
        resolvents[k] = freedom * np.linalg.inv(scatter + rho * np.eye(size) + k * b * B)
    scores = np.zeros(len(counts))
    for c, (n, m) in enumerate(zip(counts, means, strict=True)):
        a = n / (n + 1)
        R_0, R_n, R_more = resolvents[0], resolvents[n], resolvents[n + 1]
        square = m @ (a * R_0 - n * R_n + n * a * R_more) @ m
        scores[c] = a * x @ (R_0 - R_more) @ m - 0.5 * square
    return scores


def brute_left_out(features, sizes, rho, b, rows, spread=None, together=None):
    """Scores of samples by refitting without each, or without all of its bunch."""
    found = []
    for i in rows:
        kept = np.arange(len(features)) != i if together is None else together != together[i]
        codes, weights = sizes.codes[kept], sizes.weights[kept]
        centre = np.average(features[kept], axis=0, weights=weights)
        fitted = brute_fit(features[kept] - centre, codes, weights, len(sizes.counts))
        found.append(brute_scores(features[i] - centre, fitted, rho, b, spread))
    return np.array(found)


def assert_close(found, expected, tolerance=1e-9):
    """Relative to the largest score."""
    assert np.abs(found - expected).max() <= tolerance * np.abs(expected).max()


# ── The formula ─────────────────────────────────────────────────────────────────────────────────


def drawn(counts, shape, seed=0, weighted=False):
    """Samples of Gaussian classes with so many samples each, and weights."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat(np.arange(len(counts)), counts))
    size = int(np.prod(shape))
    X = 2 * rng.normal(size=(len(counts), size))[y]
    X = X + rng.normal(size=(len(y), size)) * np.linspace(0.3, 2, size)
    weights = rng.integers(2, 9, len(y)) / 4 if weighted else np.ones(len(y))
    return X.reshape(len(y), *shape), y, weights


def prepared(counts, shape, seed=0, weighted=False, bunches=None):
    """The same as the model holds them."""
    X, y, weights = drawn(counts, shape, seed, weighted)
    gathered = Gathered.of_batch(X, y, weights, np.arange(len(counts)))
    shares = np.log(gathered.counts / gathered.counts.sum())
    if bunches is not None:
        bunches = np.random.default_rng(1).integers(0, bunches, len(gathered.sketch.codes))
        bunches = np.unique(bunches, return_inverse=True)[1]
    return Data(gathered.summary(), bunches, shares)


SIZES = {
    "more samples than numbers": ([6, 9, 4, 5], (3, 2)),
    "more numbers than samples": ([3, 5, 4], (5, 4)),
    "classes of one": ([1, 5, 1, 4], (3, 2)),
    "classes of one, many numbers": ([1, 5, 1, 4], (5, 4)),
    "very unequal": ([2, 14], (4,)),
}
each_size = pytest.mark.parametrize(("counts", "shape"), SIZES.values(), ids=SIZES)
each_view = pytest.mark.parametrize("name", PLAIN)
each_weight = pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])


@each_size
@each_view
@each_weight
def test_scores_are_the_formula_with_explicit_inverses(name, counts, shape, weighted):
    data = prepared(counts, shape, weighted=weighted)
    frame = make_candidate(data, name).frame
    rho, b = 0.3 * frame.noise_unit, 0.7 * frame.spread_unit
    sizes, new = frame.sizes, frame.samples[::2] + 0.1
    fitted = brute_fit(frame.samples, sizes.codes, sizes.weights, len(counts))
    expected = [brute_scores(x, fitted, rho, b) for x in new]
    assert_close(frame.scores(new, rho, b), np.array(expected))


@pytest.mark.parametrize("shape", [(7,), (40,)], ids=str)
@pytest.mark.parametrize("with_spread", [False, True])
def test_classes_of_one_size_have_the_posterior_predictive_density(shape, with_spread):
    """Of the two-covariance model: the score less the stranger term, up to one number for all."""
    data = prepared([5, 5, 5, 5], shape)
    frame = make_candidate(data, "numbers").frame
    size = shape[0]
    rho, b = 0.3 * frame.noise_unit, 0.7 * frame.spread_unit
    B = np.eye(size)
    if with_spread:
        spread = np.linspace(0.2, 3, size)
        frame.spread = spread
        B = np.diag(spread)
    _, means, scatter, freedom = brute_fit(frame.samples, frame.sizes.codes, np.ones(20), 4)
    W, between = (scatter + rho * np.eye(size)) / freedom, b * B / freedom
    V = np.linalg.inv(np.linalg.inv(between) + 5 * np.linalg.inv(W))
    new = np.random.default_rng(2).normal(size=(6, size))
    densities = []
    for m in means:
        centre = 5 * between @ np.linalg.solve(5 * between + W, m)
        densities.append(multivariate_normal(centre, W + V).logpdf(new))
    densities = np.array(densities).T
    scores = frame.scores(new, rho, b)
    assert_close(
        scores - scores.mean(axis=1, keepdims=True),
        densities - densities.mean(axis=1, keepdims=True),
    )
    stranger = multivariate_normal(np.zeros(size), W + between).logpdf(new)
    ratios = scores - frame.stranger_term(5.0, rho, b).of(new, 0.0)[:, None]
    expected = densities - stranger[:, None]
    assert_close(ratios - ratios.mean(), expected - expected.mean())


# ── Without each sample ─────────────────────────────────────────────────────────────────────────


@each_size
@each_view
@each_weight
def test_left_out_scores_are_those_of_refitting(name, counts, shape, weighted):
    data = prepared(counts, shape, weighted=weighted)
    candidate = make_candidate(data, name)
    frame = candidate.frame
    frame.is_level = False
    rows = data.rows
    for rho, b in ((1e-2, 1.0), (1.0, 0.01)):
        rho, b = rho * frame.noise_unit, b * frame.spread_unit
        found = frame.left_out_scores(rho, b, rows)
        expected = brute_left_out(frame.samples, frame.sizes, rho, b, rows)
        assert_close(found, expected)
        everyone = frame.left_out_scores(rho, b)
        assert_close(everyone[rows], found, 1e-12)


def brute_changes(features, sizes, rho, b, rows):
    """How much the constant of the class of each sample changes on average when one leaves."""
    nowhere, everyone = np.zeros(features.shape[1]), np.ones(len(features), dtype=bool)
    constants = []
    for i in [None, *rows]:
        kept = everyone if i is None else np.arange(len(features)) != i
        fitted = brute_fit(
            features[kept], sizes.codes[kept], sizes.weights[kept], len(sizes.counts)
        )
        constants.append(brute_scores(nowhere, fitted, rho, b))
    codes, weights = sizes.codes[rows], sizes.weights[rows]
    own = np.array(constants[1:])[np.arange(len(rows)), codes]
    changes = [
        constants[0][code] - np.average(own[codes == code], weights=weights[codes == code])
        for code in codes
    ]
    return np.array(changes)


@each_size
@each_view
@each_weight
def test_samples_are_judged_by_classes_of_the_same_size(name, counts, shape, weighted):
    """In kernel views the own class gets back what it lacks on average without a sample."""
    data = prepared(counts, shape, weighted=weighted)
    frame = make_candidate(data, name).frame
    assert frame.is_level == name.startswith("rbf")
    rows = data.rows
    rho, b = 0.1 * frame.noise_unit, frame.spread_unit
    expected = brute_left_out(frame.samples, frame.sizes, rho, b, rows)
    codes = frame.sizes.codes[rows]
    if frame.is_level:
        changes = brute_changes(frame.samples, frame.sizes, rho, b, rows)
        expected[np.arange(len(rows)), codes] += changes
    assert_close(frame.left_out_scores(rho, b, rows), expected)


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("counts", [[6, 9, 4, 5], [1, 5, 1, 4]], ids=str)
@pytest.mark.parametrize("bunches", [None, 4], ids=["single samples", "groups"])
@each_weight
def test_left_out_scores_of_curves_and_images_are_those_of_refitting(
    name, counts, bunches, weighted
):
    data = prepared(counts, SHAPES[name], weighted=weighted, bunches=bunches)
    candidate = make_candidate(data, name)
    frame = candidate.frame
    rho, b = 0.1 * frame.noise_unit, frame.spread_unit
    found = candidate.judge.left_out_scores(rho, b, data.rows)
    sizes = data.summary.sketch_sizes
    expected = brute_left_out(frame.samples, sizes, rho, b, data.rows, together=data.bunches)
    assert_close(found, expected)


@each_size
@each_view
def test_left_out_ratios_against_a_stranger_are_those_of_refitting(name, counts, shape):
    data = prepared(counts, shape, weighted=True)
    candidate = make_candidate(data, name)
    frame, n = candidate.frame, 3.0
    rho, b = 0.3 * frame.noise_unit, 0.7 * frame.spread_unit
    found = candidate.judge.left_out_stranger(n, rho, b)[data.rows]
    expected = []
    for i in data.rows:
        kept = np.arange(len(frame.samples)) != i
        codes, weights = frame.sizes.codes[kept], frame.sizes.weights[kept]
        _, _, scatter, freedom = brute_fit(frame.samples[kept], codes, weights, len(counts))
        centre = np.average(frame.samples[kept], axis=0, weights=weights)
        R_0, R_1, R_more = (
            freedom * np.linalg.inv(scatter + (rho + k * b) * np.eye(len(scatter)))
            for k in (0, 1, n + 1)
        )
        x = frame.samples[i] - centre
        expected.append(0.5 * x @ (n / (n + 1) * R_0 + R_more / (n + 1) - R_1) @ x)
    assert_close(found, np.array(expected))


@each_weight
@each_view
@pytest.mark.parametrize("with_spread", [False, True], ids=["no structure", "structure"])
@pytest.mark.parametrize(
    ("counts", "shape"),
    [([3, 5, 4, 6], (3, 2)), ([3, 5, 4, 2], (5, 4)), ([1, 5, 1, 4], (5, 4))],
    ids=["more samples", "more numbers", "classes of one"],
)
def test_strangers_have_the_scores_of_refitting_without_their_class(
    counts, shape, with_spread, name, weighted
):
    """The centre is that of the others, rho in units of their noise, b per degree of freedom."""
    frame = make_candidate(prepared(counts, shape, weighted=weighted), name).frame
    sizes, q, n = frame.sizes, frame.means.shape[1], 3.0
    spread = None
    if with_spread:  # counts up to 8 in quarters are exact
        spread = np.linspace(0.3, 2, q)
        frame = Frame.of_samples(frame.samples, sizes, spread)
    B = np.eye(q) if spread is None else np.diag(spread)
    rho, b = 0.3 * frame.noise_unit, 0.7 * (frame.noise_unit if with_spread else frame.spread_unit)
    columns = np.array([3, 0, 2])
    found = without_classes(frame, n, rho, b, columns)
    for c in range(len(counts)):
        others, own = sizes.codes != c, np.flatnonzero(sizes.codes == c)
        codes, weights = sizes.codes[others], sizes.weights[others]
        features = frame.samples - np.average(frame.samples[others], axis=0, weights=weights)
        features = features + np.average(frame.samples, axis=0, weights=sizes.weights)
        fitted = brute_fit(features[others], codes, weights, len(counts))
        scatter, freedom = fitted[2:]
        unit = np.trace(scatter) / min(q, max(freedom, 1))
        rho_left = rho * unit / frame.noise_unit
        b_left = b * rho_left / rho if with_spread else b * freedom / sizes.freedom
        R_0, R_1, R_more = (
            freedom * np.linalg.inv(scatter + rho_left * np.eye(q) + k * b_left * B)
            for k in (0, 1, n + 1)
        )
        quadratic = 0.5 * (n / (n + 1) * R_0 + R_more / (n + 1) - R_1)
        expected = [brute_scores(features[i], fitted, rho_left, b_left, spread) for i in own]
        asked = columns != c
        assert_close(found.scores[own][:, asked], np.array(expected)[:, columns[asked]])
        assert np.isnan(found.scores[own][:, ~asked]).all()
        terms = [features[i] @ quadratic @ features[i] for i in own]
        assert_close(found.term[own], np.array(terms))


@each_size
@each_view
@each_weight
def test_with_groups_they_are_those_of_refitting_without_the_bunch(name, counts, shape, weighted):
    data = prepared(counts, shape, weighted=weighted, bunches=4)
    candidate = make_candidate(data, name)
    frame = candidate.frame
    rho, b = 0.1 * frame.noise_unit, frame.spread_unit
    found = candidate.judge.left_out_scores(rho, b, data.rows)
    sizes = data.summary.sketch_sizes
    expected = brute_left_out(frame.samples, sizes, rho, b, data.rows, together=data.bunches)
    assert_close(found, expected)
    for i in data.rows:  # some of its class are left when its bunch is gone
        other = data.bunches != data.bunches[i]
        assert (sizes.codes[other] == sizes.codes[i]).any()


@each_weight
@pytest.mark.parametrize("bunches", [None, 5], ids=["single samples", "groups"])
@pytest.mark.parametrize(
    ("counts", "shape"),
    [([4, 3, 2, 4, 3, 4, 1], (3, 2)), ([3, 4, 3, 2, 4, 3, 3], (6, 5)), ([4, 4, 3], (4, 3))],
    ids=["more samples", "more numbers", "few classes"],
)
def test_left_out_scores_with_structure_are_those_of_refitting(counts, shape, bunches, weighted):
    """Counts up to 8 in quarters are exact; the frame is that without a third of the samples."""
    data = prepared(counts, shape, weighted=weighted, bunches=bunches)
    sizes = data.summary.sketch_sizes
    assert sizes.counts.max() <= 8
    candidate, setting = structured_candidate(data, None)
    thirds = thirds_of(data)
    scored = np.zeros(len(thirds), dtype=bool)
    scored[data.rows] = True
    for third in range(3):
        judge, own = candidate.judge.parts[third]
        assert_array_equal(own, np.flatnonzero(thirds == third))
        own = own[scored[own]]
        unit = judge.noise_unit / candidate.judge.noise_unit
        frame = judge if bunches is None else judge.held[0].frame
        feature_map, spread = mapped_without(data, thirds, third, frame.spread)
        features = feature_map.features(data.summary.sketch.X)
        rho, b = setting.rho * unit, setting.b * unit
        expected = brute_left_out(features, sizes, rho, b, own, spread, data.bunches)
        found = judge.left_out_scores(rho, b)
        assert_close(found[scored[thirds == third]], expected)


def mapped_without(data, thirds, third, spread):
    """The map of a frame, at the share of identity that was chosen."""
    kept = np.flatnonzero(thirds != third)
    for share in (1.0, 0.1):
        feature_map, found = structured_map(data.summary, kept, share)
        if np.array_equal(found, spread):
            return feature_map, found
    raise AssertionError("the frame is none of those without this third")


def test_no_structure_is_sought_where_a_frame_would_know_one_class():
    data = prepared([4, 4], (4, 3), bunches=5)
    codes, thirds = data.summary.sketch.codes, thirds_of(data)
    assert len(np.unique(codes[thirds != 0])) == 1
    assert structured_candidate(data, None) is None


def test_frames_with_structure_know_nothing_of_whom_they_judge():
    data = prepared([4, 3, 2, 4, 3, 4, 3], (4, 3))
    thirds = thirds_of(data)
    kept = np.flatnonzero(thirds != 1)
    before, spread = structured_map(data.summary, kept, 0.1)
    data.summary.sketch.codes[thirds == 1] = 0  # labels that are not looked at
    after, spread_after = structured_map(data.summary, kept, 0.1)
    assert_array_equal(spread, spread_after)
    for one, other in zip(before.factors, after.factors, strict=True):
        assert_array_equal(one, other)


def test_of_many_samples_some_are_left_out_and_all_count():
    """Beyond the sketch: means and scatter are of all samples, less the one that is left out."""
    X, y, _ = drawn([1200, 900, 400], (4,))
    data = Data(
        Gathered.of_batch(X, y, None, np.arange(3)).summary(), None, np.log([0.48, 0.36, 0.16])
    )
    sketch = data.summary.sketch
    assert len(sketch.codes) <= SKETCH < len(X)
    for name in ("numbers", "units"):
        candidate = make_candidate(data, name)
        frame = candidate.frame
        rho, b = 0.1 * frame.noise_unit, frame.spread_unit
        rows = np.arange(0, len(sketch.codes), 97)
        found = frame.left_out_scores(rho, b, rows)
        features = candidate.map.features(X)
        expected = []
        for row in rows:
            kept = (sketch.X[row] != X).any(axis=1)
            assert kept.sum() == len(X) - 1
            centre = features[kept].mean(axis=0)
            fitted = brute_fit(features[kept] - centre, y[kept], np.ones(kept.sum()), 3)
            expected.append(brute_scores(frame.samples[row] - centre, fitted, rho, b))
        assert_close(found, np.array(expected))


# ── What users get ──────────────────────────────────────────────────────────────────────────────


def brute_features(name, X, weights, new, packed):
    """Features of training and new samples of a view, written out."""
    shares = weights / weights.sum()
    if name in SHAPES:
        written_out = {"filters": brute_filters, "gradients": brute_gradients}[name]
        X, new = written_out(X, packed["map"]), written_out(new, packed["map"])
        return X - shares @ X, new - shares @ X
    mean = shares @ X
    X, new = X - mean, new - mean
    if name == "kronecker":
        matrix = np.ones((1, 1))
        for factor in packed["map"]["factors"]:
            matrix = np.kron(matrix, factor)
        return X @ matrix, new @ matrix
    if name == "units":
        spread = np.sqrt(shares @ X**2)
        return X / spread, new / spread
    if name == "length":
        X = X / np.linalg.norm(X, axis=1, keepdims=True)
        new = new / np.linalg.norm(new, axis=1, keepdims=True)
        return X - shares @ X, new - shares @ X
    if name.startswith("rbf"):
        between = ((X[:, None] - X) ** 2).sum(axis=2)
        pairs = between[np.triu_indices(len(X), 1)]
        width = np.median(pairs) * {"rbf_wide": 1.0, "rbf_narrow": 0.3}[name]
        values, axes = np.linalg.eigh(np.exp(-between / width) + 1e-8 * np.eye(len(X)))
        inside = axes * np.sqrt(values)
        K = np.exp(-((new[:, None] - X) ** 2).sum(axis=2) / width)
        return inside - shares @ inside, K @ (axes / np.sqrt(values)) - shares @ inside
    return X, new


def brute_filters(X, packed):
    """The share of the time that every filter is above its level, written out."""
    samples = X.reshape(len(X), *SHAPES["filters"])
    kernels = [[2 if place in raised else -1 for place in range(9)] for raised in TRIPLES]
    found = []
    for sample in samples:
        row = []
        for kernel, factors, offset in zip(
            kernels, packed["channels"], packed["offsets"][:, 0], strict=True
        ):
            series = np.pad(factors @ sample, 4, mode="edge")
            answers = np.correlate(series, kernel, mode="valid") + offset
            row.append(np.mean([min(max(answer, 0), 1) for answer in answers]))
        found.append(row)
    return np.array(found)


TRIPLES = [(i, j, k) for i in range(9) for j in range(i + 1, 9) for k in range(j + 1, 9)]


def brute_gradients(X, packed):
    """Rises in eight directions over cells of two sizes, beside cells around, written out."""
    found = []
    for image in X.reshape(len(X), *SHAPES["gradients"]):
        padded = np.pad(image, 1, mode="edge")
        down, right = padded[2:, 1:-1] - padded[:-2, 1:-1], padded[1:-1, 2:] - padded[1:-1, :-2]
        angles = np.arange(8) * np.pi / 4
        rises = [np.maximum(np.sin(a) * down + np.cos(a) * right, 0) for a in angles]
        fine = np.array([pooled(rise, 4, 4) for rise in rises])
        coarse = np.array([pooled(cells, 2, 2) for cells in fine])
        row = []
        for cells in (fine, coarse):
            squares = np.pad((cells**2).sum(axis=0), 1, mode="edge")
            _, height, width = cells.shape
            around = np.zeros((height, width))
            for i in range(height):
                for j in range(width):
                    around[i, j] = squares[i : i + 3, j : j + 3].mean()
            beside = cells / np.sqrt(around + packed["level"] ** 2)
            row.append(np.sqrt(beside + 0.01).ravel())
        found.append(np.concatenate(row))
    return np.array(found)


def pooled(values, height, width):
    """Means over cells, with weights that fall to 0 one cell away from the middle."""
    found = np.zeros((height, width))
    for i in range(height):
        for j in range(width):
            total = 0.0
            for (row, column), value in np.ndenumerate(values):
                down = abs((row + 0.5) / len(values) * height - i - 0.5)
                right = abs((column + 0.5) / values.shape[1] * width - j - 0.5)
                weight = max(1 - down, 0) * max(1 - right, 0)
                found[i, j] += weight * value
                total += weight
            found[i, j] /= total
    return found


@pytest.mark.parametrize("name", [*PLAIN, "kronecker", *SHAPES])
@pytest.mark.parametrize("counts", [[3, 5, 4, 4, 2, 3], [1, 5, 2, 3, 4, 4]], ids=str)
def test_what_a_fitted_model_answers_is_the_formula(name, counts):
    shape = SHAPES.get(name, (3, 4))
    X, y, weights = drawn(counts, shape, seed=3, weighted=True)
    new = drawn(counts, shape, seed=4)[0]
    model = ProbabilisticLDA(views=[name]).fit(X, y, sample_weight=weights)
    (packed,) = model.pool_["views"]
    assert packed["temperature"] >= 1
    features, asked = brute_features(
        name, X.reshape(len(X), -1), weights, new.reshape(len(new), -1), packed
    )
    fitted = brute_fit(features, y, weights, len(counts))
    spread = packed["spread"]
    scores = [brute_scores(x, fitted, packed["rho"], packed["b"], spread) for x in asked]
    scores = np.array(scores) * packed["weight"] / packed["temperature"]
    log_priors = np.log(np.bincount(y, weights) / weights.sum())
    tolerance = 1e-5 if name.startswith("rbf") else 1e-9
    assert_close(model.decision_function(new), scores + log_priors, tolerance)
    floor = 1 / (weights.sum() + 2)
    probabilities = (1 - floor) * softmax(scores + log_priors, axis=1) + floor / len(counts)
    assert_allclose(model.predict_proba(new), probabilities, atol=tolerance)


def test_the_stated_loss_is_that_of_refitting_without_each_sample():
    """With one linear view, at the settings that were chosen."""
    X, y, _ = drawn([6, 9, 7], (5,), seed=8)
    model = ProbabilisticLDA(views=["numbers"]).fit(X, y)
    (packed,) = model.pool_["views"]
    data = Data(Gathered.of_batch(X, y, None, np.arange(3)).summary(), None, np.log(model.priors_))
    sizes = data.summary.sizes
    features = data.summary.sketch.X - X.mean(axis=0)
    scores = brute_left_out(features, sizes, packed["rho"], packed["b"], data.rows)
    scores = scores * packed["weight"] / packed["temperature"] + np.log(model.priors_)
    P = (1 - 1 / 24) * softmax(scores, axis=1) + 1 / 24 / 3
    loss = -np.log(P[np.arange(22), sizes.codes]).mean()
    assert model.loo_log_loss_ == pytest.approx(loss, rel=1e-9)


# ── The pool ────────────────────────────────────────────────────────────────────────────────────


def answered(n=40, n_views=3, n_classes=4, seed=0):
    """Left-out scores of views that are right more often than not."""
    rng = np.random.default_rng(seed)
    codes = np.arange(n) % n_classes
    right = np.eye(n_classes)[codes]
    strength = (3.0, 2.0, 0.5)
    tables = [s * right + rng.normal(size=right.shape) for s in strength[:n_views]]
    shares = rng.dirichlet(np.full(n_classes, 5.0))
    return tables, Answers(codes, rng.uniform(0.5, 2, n), np.log(shares))


def brute_loss(scores, answers):
    """The mean log loss of the mixed probabilities, and one answer of the runner-up."""
    N, C = answers.weights.sum(), scores.shape[1]
    P = (1 - 1 / (N + 2)) * softmax(scores + answers.log_priors, axis=1) + 1 / (N + 2) / C
    total = 0.0
    for p, code, weight in zip(P, answers.codes, answers.weights, strict=True):
        runner_up = np.delete(p, code).max()
        total -= weight * (np.log(p[code]) + np.log(runner_up) / N)
    return total / N


def test_the_loss_of_the_pool_and_its_slope():
    tables, answers = answered()
    scores = tables[0]
    slope = np.zeros(scores.shape)
    value = answers.loss(scores, slope)
    assert value == pytest.approx(brute_loss(scores, answers), rel=1e-12)
    assert answers.loss(scores) == value

    def loss(flat):
        return brute_loss(flat.reshape(scores.shape), answers)

    numeric = approx_fprime(scores.ravel(), loss, 1e-7).reshape(scores.shape)
    assert_allclose(slope, numeric, atol=1e-7)


def test_a_temperature_is_at_least_one_and_the_best():
    tables, answers = answered()
    for factor in (0.1, 1.0, 10.0, 100.0):
        temperature, loss = best_temperature(factor * tables[0], answers)
        assert temperature >= 1
        tried = [brute_loss(factor * tables[0] / T, answers) for T in np.geomspace(1, 148, 150)]
        assert loss <= min(tried) + 1e-4
        assert loss == pytest.approx(brute_loss(factor * tables[0] / temperature, answers))


@pytest.mark.parametrize("prices", [(0, 0, 0), (0, 1, 2)])
def test_the_pool_is_no_worse_than_any_single_view(prices):
    tables, answers = answered()
    prices, count = np.array(prices, dtype=float), answers.total

    def objective(w):
        held = 3 * np.log(w.sum() + 1e-12) ** 2 + 0.1 * (w**2).sum()
        loss = brute_loss(np.tensordot(w, np.stack(tables), 1), answers)
        return loss + (prices @ w + held) / count

    weights = pool_weights(tables, prices, answers)
    assert (weights >= 0).all()
    for alone in np.eye(3):
        assert objective(weights) <= objective(alone) + 1e-9
    free = minimize(objective, np.full(3, 0.3), bounds=[(1e-6, None)] * 3)
    assert objective(weights) <= free.fun + 1e-5
