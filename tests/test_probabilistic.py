"""Laws of ProbabilisticLDA: the joint Gaussian written out, streams, enrolment, bad input."""

import pickle
import tracemalloc

import dask.array as da
import numpy as np
import pytest
import scipy.linalg
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import log_softmax, softmax
from scipy.stats import multivariate_normal, multivariate_t, ortho_group
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import NotFittedError

from reference import problem
from tenfold import MPCA, ClassMoments, ProbabilisticLDA, gather_moments, load

DIGITS = load_digits().images, load_digits().target
LEARNED = ("mean_", "class_count_", "between_", "spread_", "within_", "noise_")
CHOSEN = ("shrinkage_", "gain_", "tails_", "temperature_")


def drawn(counts, shape=(3, 2), seed=0, apart=2.0):
    """Samples of Gaussian classes with so many samples each, shuffled."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat(np.arange(len(counts)), counts))
    size = int(np.prod(shape))
    X = apart * rng.normal(size=(len(counts), size))[y]
    X += rng.normal(size=(len(y), size)) @ rng.normal(size=(size, size))
    return X.reshape(len(y), *shape), y


def covariances(X, y, shrinkage):
    """The covariances of noise and of class means that the docstrings state, written out."""
    flat, (classes, n) = X.reshape(len(X), -1), np.unique(y, return_counts=True)
    N, C, size = len(y), len(n), flat.shape[1]
    means = np.stack([flat[y == c].mean(axis=0) for c in classes])
    about = flat - means[np.searchsorted(classes, y)]
    S_w = about.T @ about / (N - C)
    S_w = (1 - shrinkage) * S_w + shrinkage * np.trace(S_w) / size * np.eye(size)
    mean = flat.mean(axis=0)
    between = ((means - mean).T * n) @ (means - mean) / (C - 1)
    typical = (N - (n**2).sum() / N) / (C - 1)
    phi, U = scipy.linalg.eigh((between - S_w) / typical, S_w)
    lifted = S_w @ U  # S_b: between less noise, nothing where that is negative
    return mean, S_w, (lifted * phi.clip(0)) @ lifted.T


def joint_ratio(enrolment, probe, mean, S_w, S_b):
    """Log density of all samples drawn together over that of the probe drawn on its own."""
    k = len(enrolment)
    joint = np.kron(np.ones((k + 1, k + 1)), S_b) + np.kron(np.eye(k + 1), S_w)
    size = k * len(mean)
    together = multivariate_normal(np.tile(mean, k + 1), joint)
    alone = multivariate_normal(np.tile(mean, k), joint[:size, :size])
    stranger = multivariate_normal(mean, S_b + S_w)
    flat = enrolment.reshape(-1)
    all_of_them = together.logpdf(np.concatenate([flat, probe.ravel()]))
    return all_of_them - alone.logpdf(flat) - stranger.logpdf(probe.ravel())


def scores(model, X):
    """One column per class, also for two classes."""
    found = model.log_likelihood_ratio(X)
    assert found.shape == (len(X), len(model.classes_))
    return found


def assert_same_model(came, expected, X, tolerance=1e-9):
    for name in (*LEARNED, *CHOSEN):
        one, other = getattr(came, name), getattr(expected, name)
        scale = max(1.0, float(np.abs(other).max()))
        assert_allclose(one, other, rtol=tolerance, atol=tolerance * scale, err_msg=name)
    assert_array_equal(came.classes_, expected.classes_)
    assert_allclose(scores(came, X), scores(expected, X), rtol=tolerance, atol=100 * tolerance)


# ── The formula ─────────────────────────────────────────────────────────────────────────────────

CASES = [
    pytest.param([3, 5, 4, 9], (3, 2), 0.2, id="more samples than numbers"),
    pytest.param([8, 9, 7], (3, 2), 0.0, id="no shrinkage"),
    pytest.param([3, 2, 4, 1], (5, 6), 0.3, id="fewer samples than numbers, one with one sample"),
    pytest.param([3, 2, 4, 1], (5, 6), 0.01, id="hardly any shrinkage"),
    pytest.param([4, 6], (2, 3), 0.1, id="two classes"),
    pytest.param([6, 5, 7], (2, 2), 1.0, id="all shrinkage"),
]


@pytest.mark.parametrize(("counts", "shape", "shrinkage"), CASES)
def test_scores_are_the_ratio_of_the_joint_gaussian(counts, shape, shrinkage):
    X, y = drawn(counts, shape)
    probes, _ = drawn([2, 2, 1], shape, seed=5)
    model = ProbabilisticLDA(shrinkage=shrinkage).fit(X, y)
    found, stated = scores(model, probes), covariances(X, y, shrinkage)
    for c in range(len(counts)):
        expected = [joint_ratio(X[y == c], probe, *stated) for probe in probes]
        assert_allclose(found[:, c], expected, rtol=1e-8, atol=1e-8)
    found += np.log(np.array(counts) / sum(counts))
    expected = found if len(counts) > 2 else found[:, 1] - found[:, 0]
    assert_allclose(model.decision_function(probes), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("known", [True, False], ids=["a known label", "a new label"])
def test_enrolled_samples_count_as_the_formula_says(known):
    X, y = drawn([5, 4, 6], (4, 4))
    later, _ = drawn([3], (4, 4), seed=7)
    model = ProbabilisticLDA(shrinkage=0.4).fit(X, y)
    stated = covariances(X, y, 0.4)
    label = 1 if known else 9
    before = scores(model, X)
    assert model.enrol(later[:1], [label]).enrol(later[1:], [label, label]) is model
    found, c = scores(model, X), 1 if known else 3
    enrolment = np.concatenate([X[y == 1], later]) if known else later
    expected = [joint_ratio(enrolment, x, *stated) for x in X]
    assert_allclose(found[:, c], expected, rtol=1e-8, atol=1e-8)
    others = [k for k in range(3) if k != c]
    assert_array_equal(found[:, others], before[:, others])
    assert model.class_count_[c] == len(enrolment)
    assert model.classes_.tolist() == ([0, 1, 2] if known else [0, 1, 2, 9])


def log_density(x, mean, covariance, tails):
    """Of a normal distribution, or of Student's t."""
    if tails == 0:
        return multivariate_normal(mean, covariance).logpdf(x)
    return multivariate_t(mean, covariance, df=1 / tails).logpdf(x)


@pytest.mark.parametrize("late", [7, 2], ids=["a new class", "one of the first"])
def test_enrolled_classes_miss_their_true_means_by_noise_alone(late):
    """What held-out samples showed of training means does not hold for classes that came later."""
    X, y = DIGITS
    first = np.flatnonzero(y[:400] < 7)
    model = ProbabilisticLDA().fit(X[first], y[first])
    came = np.flatnonzero(y == late)[-3:]
    own = np.concatenate([first[y[first] == late], came])
    known = late < 7
    model.enrol(X[came], y[came])
    Z = (X.reshape(len(X), -1) - model.mean_) @ model.directions_
    n, between, within = len(own), model.between_, model.within_
    miss = model.spread_ if known else within  # n times the variance of the mean of n samples
    assert not np.allclose(model.spread_, within, rtol=0.3)
    mean = Z[own].mean(axis=0) * n * between / (n * between + miss)
    variance = within + between * miss / (n * between + miss)
    level = np.exp(np.mean(np.log(variance / model.noise_)))  # noise as large in all coordinates
    covariance = level * np.eye(len(mean)) + model.gain_ * np.outer(mean, mean)
    stranger = np.diag((between + within) / model.noise_)
    found = model.log_likelihood_ratio(X[900:920])[:, model.classes_ == late]
    for x, ratio in zip(Z[900:920], found[:, 0], strict=True):
        of_class = log_density(x, mean, covariance, model.tails_)
        of_stranger = log_density(x, np.zeros_like(x), stranger, model.tails_)
        assert_allclose(ratio, (of_class - of_stranger) / model.temperature_, atol=1e-8)


@pytest.mark.parametrize("shrinkage", [0.0, 0.3])
def test_with_means_from_anywhere_it_is_linear_discriminant_analysis(shrinkage):
    """As S_b grows the scores become those of LDA over 1 + 1/n, plus the same for all classes."""
    X, y = drawn([30, 30, 30], (5,))
    flat = X.reshape(len(X), -1)
    model = ProbabilisticLDA(shrinkage=shrinkage).fit(X, y)
    model.between_ = np.full_like(model.between_, 1e12)
    # scikit-learn's covariance is over N, ours over N - C; its shrinkage target is the same
    lda = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=shrinkage or None).fit(flat, y)
    same = lda.decision_function(flat) * (len(y) - 3) / len(y) / (1 + 1 / 30)
    assert_array_equal(model.predict(X), lda.predict(flat))
    assert_allclose(model.predict_log_proba(X), log_softmax(same, axis=1), atol=1e-6)


# ── Probabilities ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("shrinkage", ["auto", 0.2])
def test_probabilities_are_scores_and_priors(shrinkage):
    X, y = drawn([12, 15, 11])
    priors = {1: 0.5, 0: 0.2, 2: 0.3}
    model = ProbabilisticLDA(shrinkage=shrinkage, priors=priors).fit(X, y)
    expected = softmax(scores(model, X) + np.log([0.2, 0.5, 0.3]), axis=1)
    found = model.predict_proba(X)
    assert_allclose(found, expected, atol=1e-12)
    assert_allclose(np.exp(model.predict_log_proba(X)), found)
    alike = ProbabilisticLDA(shrinkage=shrinkage, priors=[0.2, 0.5, 0.3]).fit(X, y)
    assert_array_equal(alike.predict_proba(X), found)


@pytest.mark.parametrize("shrinkage", ["auto", 0.1])
@pytest.mark.parametrize("two", [True, False], ids=["eight or not", "ten digits"])
def test_a_rare_class_is_as_rare_as_it_came(two, shrinkage):
    """Two in a hundred are eights: as many are right as by scikit-learn's LDA, and as many told."""
    X, y = DIGITS
    of_lda, right, told, share = np.zeros((4, 3))
    for seed in range(3):
        rng = np.random.default_rng(seed)
        eights = rng.permutation(np.flatnonzero(y == 8))[:33]
        rows = rng.permutation(np.concatenate([np.flatnonzero(y != 8), eights]))
        train, test = rows[:828], rows[828:]
        labels = y == 8 if two else y
        model = ProbabilisticLDA(shrinkage=shrinkage).fit(X[train], labels[train])
        flat = X.reshape(len(X), -1)
        lda = LinearDiscriminantAnalysis().fit(flat[train], labels[train])
        right[seed], of_lda[seed] = (
            model.score(X[test], labels[test]),
            lda.score(flat[test], labels[test]),
        )
        told[seed] = model.predict_proba(X[test])[:, 1 if two else 8].mean()
        share[seed] = np.mean(y[test] == 8)
        assert_allclose(model.priors_, np.unique(labels[train], return_counts=True)[1] / 828)
    assert right.mean() > of_lda.mean() - 0.005
    assert abs(told.mean() - share.mean()) < 0.01


@pytest.mark.parametrize("counts", [[30, 6], [30, 6, 12]])
@pytest.mark.parametrize("priors", [None, "equal", "given"])
def test_the_decision_function_decides_as_predict(priors, counts):
    X, y = drawn(counts, apart=0.4)
    given = np.arange(1, len(counts) + 1) / sum(range(len(counts) + 1))
    model = ProbabilisticLDA(priors=given if priors == "given" else priors).fit(X, y)
    stated = {None: np.array(counts) / sum(counts), "equal": np.full(len(counts), 1 / len(counts))}
    assert_allclose(model.priors_, stated.get(priors, given))
    found = model.decision_function(X)
    decided = (found > 0).astype(int) if len(counts) == 2 else found.argmax(axis=1)
    assert_array_equal(model.predict(X), decided)
    expected = model.log_likelihood_ratio(X) + np.log(model.priors_)
    assert_allclose(model.predict_log_proba(X), log_softmax(expected, axis=1), atol=1e-12)


def test_an_enrolled_class_gets_the_mean_prior():
    X, y = drawn([30, 6, 12, 3, 4])
    first = y < 3
    for priors, before in [
        (None, np.array([30, 6, 12]) / 48),
        ("equal", np.full(3, 1 / 3)),
        ({0: 0.1, 1: 0.2, 2: 0.7}, np.array([0.1, 0.2, 0.7])),
    ]:
        model = ProbabilisticLDA(priors=priors, shrinkage=0.2).fit(X[first], y[first])
        model.enrol(X[y == 0][:5], y[y == 0][:5])  # more samples of a known class
        assert_allclose(model.priors_, before)
        model.enrol(X[~first], y[~first])
        assert_allclose(model.priors_, np.append(before, [1 / 3, 1 / 3]) * 3 / 5)
        scores = model.log_likelihood_ratio(X) + np.log(model.priors_)
        assert_allclose(model.decision_function(X), scores, rtol=1e-12)


def test_priors_follow_weights_and_streams():
    X, y = drawn([30, 6, 12])
    weight = np.where(y == 1, 3.0, 1.0)
    model = ProbabilisticLDA().fit(X, y, sample_weight=weight)
    assert_allclose(model.priors_, np.array([30, 18, 12]) / 60)
    stream = ProbabilisticLDA().partial_fit(X[:20], y[:20], classes=[0, 1, 2, 7])
    stream.partial_fit(X[20:], y[20:])
    assert_allclose(stream.priors_, np.array([30, 6, 12, 0]) / 48)


@pytest.mark.parametrize("means_prior", ["kronecker", "full"])
def test_the_last_bit_of_the_samples_changes_no_answer(means_prior):
    X, y = DIGITS
    rows = np.random.default_rng(0).permutation(len(X))
    train, test = rows[:60], rows[60:]
    model = ProbabilisticLDA(means_prior=means_prior)
    answers = clone(model).fit(X[train], y[train]).predict(X[test])
    thirds = (X[train] / 3).astype(np.float32)
    for moved in (X[train] * (1 + 1e-12), 3 * thirds):
        again = clone(model).fit(moved, y[train]).predict(X[test])
        assert np.mean(again != answers) <= 0.01


def test_a_class_of_prior_zero_is_never_predicted():
    X, y = drawn([12, 15, 11])
    model = ProbabilisticLDA(priors=[0.5, 0.5, 0.0]).fit(X, y)
    assert (model.predict_proba(X)[:, 2] == 0).all()
    assert set(model.predict(X)) == {0, 1}


def test_log_probabilities_keep_samples_in_order_where_a_class_is_certain():
    X, y = drawn([9, 9, 9], apart=15.0)
    model = ProbabilisticLDA(shrinkage=0.2).fit(X, y)
    S, log_p = scores(model, X), model.predict_log_proba(X)
    assert (model.predict_proba(X).max(axis=1) == 1).any()  # in floating point
    best = S.argmax(axis=1)
    others = [np.delete(s, b) - s[b] for s, b in zip(S, best, strict=True)]
    expected = [-np.log1p(np.exp(o).sum()) for o in others]
    found = log_p[np.arange(len(X)), best]
    assert_allclose(found, expected, rtol=1e-9, atol=0)
    certain = model.predict_proba(X).max(axis=1) == 1
    assert len(np.unique(found[certain])) > 0.8 * certain.sum()


# ── One model, however the samples come ─────────────────────────────────────────────────────────

FORMS = ["sorted", "stream", "backwards", "one by one", "dask", "memory map", "float32", "weights"]


def learned_from(form, model, X, y, folder):
    rng = np.random.default_rng(3)
    if form == "sorted":
        order = np.argsort(y, kind="stable")
        return model.fit(X[order], y[order])
    if form in ("stream", "backwards"):
        parts = np.split(np.arange(len(X)), sorted(rng.integers(1, len(X), 4)))
        for part in parts[:: -1 if form == "backwards" else 1]:
            model.partial_fit(X[part], y[part], classes=np.unique(y))
        return model
    if form == "one by one":
        order = rng.permutation(len(X))
        model.partial_fit(X[order[8:]], y[order[8:]], classes=np.unique(y))
        for i in order[:8]:
            model.partial_fit(X[i : i + 1], y[i : i + 1], classes=np.unique(y))
        return model
    if form == "dask":
        return model.fit(da.from_array(X, chunks=(7, *X.shape[1:])), y)
    if form == "memory map":
        np.save(folder / "samples.npy", X)
        return model.fit(np.load(folder / "samples.npy", mmap_mode="r"), y)
    if form == "float32":
        return model.fit(X.astype(np.float32), y)
    kept, times = np.unique(rng.integers(0, len(X), len(X)), return_counts=True)
    again = clone(model).fit(X[np.repeat(kept, times)], y[np.repeat(kept, times)])
    model.fit(X[kept], y[kept], sample_weight=times.astype(float))
    assert_same_model(model, again, X)
    zero = np.ones(len(X) + 5)
    zero[len(X) :] = 0
    extra = np.concatenate([X, 99 + X[:5]])
    return model.fit(extra, np.concatenate([y, y[:5]]), sample_weight=zero)


@pytest.mark.parametrize(
    ("form", "projector", "shrinkage"),
    [
        *((form, None, "auto") for form in FORMS),
        *((form, MPCA(ranks=(2, 2)), "auto") for form in ("stream", "dask", "float32")),
        *((form, None, 0.2) for form in ("stream", "weights")),
    ],
    ids=str,
)
def test_any_form_of_the_samples_gives_the_same_model(form, projector, shrinkage, tmp_path):
    X, y = drawn([14, 9, 12, 7])
    X = np.round(X, 2).astype(np.float32).astype(float)
    model = ProbabilisticLDA(projector, shrinkage=shrinkage)
    expected = clone(model).fit(X, y)
    rounding = form == "float32" and projector is not None  # projected samples are float32
    came = learned_from(form, clone(model), X, y, tmp_path)
    assert_same_model(came, expected, X, 1e-4 if rounding else 1e-8)


def test_turning_a_mode_changes_nothing():
    X, y = drawn([9, 8, 7], (4, 5))
    Q = ortho_group.rvs(5, random_state=0)
    straight, turned = (ProbabilisticLDA(shrinkage=0.3).fit(Z, y) for Z in (X, X @ Q))
    assert_allclose(scores(turned, X @ Q), scores(straight, X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("factor", "offset"), [(1e-100, 0), (1e80, 0), (1, 1e6), (2.0**-40, 2.0**30)]
)
def test_scale_and_place_of_the_samples_do_not_matter(factor, offset):
    X, y = drawn([9, 8, 7], (4, 5))
    plain = ProbabilisticLDA(shrinkage=0.3).fit(X, y)
    moved = factor * X + factor * offset
    model = ProbabilisticLDA(shrinkage=0.3).fit(moved, y)
    tolerance = 1e-9 if not offset else 1e-15 * offset * 100
    assert_allclose(scores(model, moved), scores(plain, X), rtol=tolerance, atol=tolerance)
    chosen = ProbabilisticLDA().fit(moved, y)
    assert np.isfinite(chosen.predict_log_proba(moved)).all()
    assert chosen.score(moved, y) > 0.8


def test_samples_that_share_one_large_pattern_are_told_of():
    """They fall into few folds, so that hardly any is held out."""
    X, y = drawn([12, 9, 14])
    pattern = np.random.default_rng(1).normal(size=X.shape[1:])
    with pytest.warns(UserWarning, match="one pattern that is far larger than what they differ by"):
        ProbabilisticLDA().fit(X + 1e5 * pattern, y)


@pytest.mark.parametrize("shrinkage", ["auto", 0.3])
def test_in_a_subspace_it_sees_the_projected_samples(shrinkage):
    X, y = drawn([12, 9, 14], (4, 5))
    mpca = MPCA(ranks=(3, 2)).fit(X)
    inside = ProbabilisticLDA(MPCA(ranks=(3, 2)), shrinkage=0.3).fit(X, y)
    outside = ProbabilisticLDA(shrinkage=0.3).fit(mpca.transform(X), y)
    assert_allclose(scores(inside, X), scores(outside, mpca.transform(X)), rtol=1e-9, atol=1e-9)
    assert inside.members_[0].ranks_ == (3, 2)
    whole = ProbabilisticLDA(MPCA(ranks=(4, 5)), shrinkage=shrinkage).fit(X, y)
    straight = ProbabilisticLDA(shrinkage=shrinkage).fit(X, y)
    assert_allclose(scores(whole, X), scores(straight, X), rtol=1e-8, atol=1e-8)


def test_moments_in_folds_are_as_good_where_one_direction_dominates():
    """Light changes a thousand times as much as the digits do."""
    X, y = DIGITS[0][:200], DIGITS[1][:200]
    rng = np.random.default_rng(0)
    X = X + 1e3 * rng.normal(size=(200, 1, 1)) * rng.normal(size=(8, 8))
    expected = ProbabilisticLDA().fit(X, y).predict_proba(X)
    found = ProbabilisticLDA().fit_moments(gather_moments(X, y, folds=True)).predict_proba(X)
    assert_allclose(found, expected, atol=1e-7)


# ── Streams and enrolment go on ─────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("shrinkage", ["auto", 0.2])
def test_partial_fit_after_enrolment_knows_all_samples(shrinkage):
    X, y = drawn([14, 9, 12, 11])
    labels = np.array(["b", "a", "d", "c"])[y]
    first = (y != 3) & (np.arange(len(y)) < 36)  # "c", between the others, comes later
    model = ProbabilisticLDA(shrinkage=shrinkage).partial_fit(X[first], labels[first])
    second = y == 3
    model.enrol(X[second], labels[second])
    rest = ~first & ~second
    model.partial_fit(X[rest], labels[rest])
    assert_same_model(model, ProbabilisticLDA(shrinkage=shrinkage).fit(X, labels), X, 1e-8)
    assert (model.enrolled_ == 0).all()


def test_folds_may_be_left_but_not_made_up():
    X, y = drawn([14, 9, 12])
    model = ProbabilisticLDA().partial_fit(X[:20], y[:20])
    model.set_params(shrinkage=0.2).partial_fit(X[20:], y[20:])
    assert_same_model(model, ProbabilisticLDA(shrinkage=0.2).fit(X, y), X, 1e-8)
    with pytest.raises(ValueError, match=r"needs moments of 16 folds.*fresh"):
        model.set_params(shrinkage="auto").partial_fit(X[:5], y[:5])


def test_a_class_that_is_announced_and_has_not_come_is_never_taken():
    X, y = drawn([14, 9, 12])
    model = ProbabilisticLDA().partial_fit(X, y, classes=[0, 1, 2, 3])
    assert (model.predict_proba(X)[:, 3] == 0).all()
    assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    expected = ProbabilisticLDA().fit(X, y).predict_proba(X)
    assert_allclose(model.predict_proba(X)[:, :3], expected, atol=1e-10)


def test_before_there_are_two_of_a_class_it_gathers():
    X, y = drawn([14, 9, 12])
    firsts = [np.flatnonzero(y == c)[0] for c in range(3)]
    model = ProbabilisticLDA().partial_fit(X[firsts], y[firsts])
    with pytest.raises(NotFittedError):
        model.predict(X)
    rest = np.setdiff1d(np.arange(len(y)), firsts)
    assert_same_model(
        model.partial_fit(X[rest], y[rest]), ProbabilisticLDA().fit(X, y), X, tolerance=1e-8
    )


# ── Memory ──────────────────────────────────────────────────────────────────────────────────────


def test_few_large_samples_never_make_a_table_of_their_numbers():
    X, y = drawn([6, 6, 6], (1,))
    X = np.random.default_rng(0).normal(size=(18, 60, 50)) + y[:, None, None]
    tracemalloc.start()
    try:
        model = ProbabilisticLDA().fit(X, y)
        model.predict(X)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 * 3000**2 / 4  # one 3000 x 3000 table takes 72 MB


# ── Manners ─────────────────────────────────────────────────────────────────────────────────────


def test_a_fit_that_fails_changes_nothing():
    X, y = drawn([12, 9, 14])
    model = ProbabilisticLDA().fit(X, y)
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="1 class"):
        model.fit(X, np.zeros(len(X)))
    with pytest.raises(ValueError, match="shape"):
        model.enrol(X[:, :2], y)
    with pytest.raises(ValueError, match="NaN"):
        model.enrol(np.full_like(X, np.nan), y)
    with pytest.raises(ValueError, match="first call"):
        model.partial_fit(X, y + 7)
    assert pickle.dumps(model) == before


# ── Bad input ───────────────────────────────────────────────────────────────────────────────────


def refused(X, y, words, **parameters):
    with pytest.raises(ValueError, match=words):
        ProbabilisticLDA(**parameters).fit(X, y)


@pytest.mark.parametrize("shrinkage", ["auto", 0.3])
def test_what_cannot_be_learned_from_is_refused_in_words(shrinkage):
    X, y = drawn([4, 4, 4])
    refused(X, np.zeros(12), "1 class", shrinkage=shrinkage)
    refused(X, np.arange(12), "two or more of some class", shrinkage=shrinkage)
    refused(np.ones_like(X), y, "all samples are equal", shrinkage=shrinkage)
    refused(0 * X, y, "all samples are equal", shrinkage=shrinkage)
    moments = gather_moments(X, np.zeros(12, dtype=int))
    with pytest.raises(ValueError, match="1 class"):
        ProbabilisticLDA(shrinkage=shrinkage).fit_moments(moments)


def test_parameters_that_are_wrong_are_refused_in_words():
    X, y = drawn([4, 4, 4])
    refused(X, y, "sum 0.9.*sum to 1", priors=[0.3, 0.3, 0.3])
    refused(X, y, "0 or more", priors=[-0.5, 0.5, 1.0])
    refused(X, y, "shape \\(2,\\).*3 classes", priors=[0.5, 0.5])
    refused(X, y, "differ in 2, 7", priors={0: 0.4, 1: 0.4, 7: 0.2})
    refused(X, y, "priors is 'uniform'.*'equal'", priors="uniform")
    refused(X, y, "shrinkage is 2", shrinkage=2)
    refused(X, y, "shrinkage is 'ledoit'", shrinkage="ledoit")
    refused(X, y, "MPCA\\(\\)", projector=LinearDiscriminantAnalysis())
    with pytest.raises(ValueError, match="sum to 1"):
        ProbabilisticLDA(priors=[0.3, 0.3, 0.3]).partial_fit(X, y)


def test_no_shrinkage_needs_noise_in_every_direction():
    X, y = drawn([4, 4, 4], (5, 4))
    refused(X, y, "shrinkage above 0, or 'auto'", shrinkage=0)
    X, y = drawn([9, 9, 9])
    X[:, 0, 0] = 3.0
    refused(X, y, "shrinkage above 0, or 'auto'", shrinkage=0)


@pytest.mark.parametrize("shrinkage", ["auto", 0.1])
def test_constant_numbers_and_single_samples_are_served(shrinkage):
    X, y = drawn([9, 9, 1, 9], (3, 3), apart=20.0)
    X[:, 1] = 7.0
    model = ProbabilisticLDA(shrinkage=shrinkage).fit(X, y)
    assert np.isfinite(model.predict_log_proba(X)).all()
    assert model.predict(X[y == 2]).tolist() == [2]
    assert model.score(X, y) > 0.8


@pytest.mark.parametrize("shrinkage", ["auto", 0.3])
def test_classes_without_any_noise_are_told_apart(shrinkage):
    y = np.repeat([0, 1, 2], 4)
    X = np.eye(3)[y].reshape(12, 3, 1) + np.zeros((12, 3, 2))
    model = ProbabilisticLDA(shrinkage=shrinkage).fit(X, y)
    assert np.isfinite(model.predict_log_proba(X)).all()
    assert_array_equal(model.predict(X), y)


def test_enrolment_that_is_wrong_is_refused_in_words():
    X, y = drawn([4, 4, 4])
    model = ProbabilisticLDA(priors=[0.2, 0.3, 0.5]).fit(X, y).enrol(X[:1], [3])
    with pytest.raises(ValueError, match="NaN"):
        model.enrol(np.full((1, 3, 2), np.nan), [4])
    with pytest.raises(ValueError, match="shape"):
        model.enrol(X[:, :2], y)
    with pytest.raises(ValueError, match=r"labels are text.*numbers"):
        model.enrol(X[:1], ["new"])
    with pytest.raises(ValueError, match="y"):
        model.enrol(X[:1], None)
    with pytest.raises(NotFittedError):
        ProbabilisticLDA().enrol(X, y)
    assert model.classes_.tolist() == [0, 1, 2, 3]


def test_partial_fit_goes_on_after_a_fit_of_few_numbers_whichever_statistics_it_made():
    rng = np.random.default_rng(0)
    y = np.arange(400) % 3
    X = rng.normal(size=(400, 3)) + y[:, None]  # more samples than moments have numbers
    for n in (20, 300):
        grown = ProbabilisticLDA().fit(X[:n], y[:n]).partial_fit(X[n:], y[n:])
        whole = ProbabilisticLDA().fit(X, y)
        np.testing.assert_allclose(grown.predict_proba(X), whole.predict_proba(X), atol=1e-10)


# ── Folds, groups, weights ──────────────────────────────────────────────────────────────────────

FOUR, OF = problem((4, 3), classes=4, per_class=12, seed=61, spread=0.6)
LATER = problem((4, 3), classes=4, per_class=9, seed=61, spread=0.9)[0]


def test_moments_in_folds_are_kept_where_the_folds_were_used():
    moments = gather_moments(FOUR, OF, folds=True)
    assert hasattr(ProbabilisticLDA().fit_moments(moments), "moments_")
    to_the_letter = ProbabilisticLDA(shrinkage=0.3).fit_moments(moments)
    assert to_the_letter.moments_.folds is None
    found = ProbabilisticLDA(shrinkage=0.3).fit(FOUR, OF).predict_log_proba(LATER)
    assert_allclose(to_the_letter.predict_log_proba(LATER), found, rtol=1e-6, atol=1e-9)
    with pytest.raises(ValueError, match="1 class"):
        ProbabilisticLDA().fit_moments(gather_moments(FOUR[OF == 1], OF[OF == 1], folds=True))
    with pytest.raises(ValueError, match="1 class"):
        ProbabilisticLDA().fit_moments(ClassMoments.from_batch(FOUR[OF == 1], OF[OF == 1]))


def test_held_out_samples_ask_for_more_shrinkage_where_there_are_few():
    rng = np.random.default_rng(3)
    chosen = {}
    for n in (16, 800):
        labels = np.arange(n) % 4
        samples = rng.normal(size=(n, 8)) * np.linspace(0.1, 3, 8)
        samples += 0.5 * np.random.default_rng(0).normal(size=(4, 8))[labels]
        chosen[n] = ProbabilisticLDA().fit(samples, labels).shrinkage_
    assert chosen[16] > chosen[800]


@pytest.mark.parametrize("n", [10, 40])
def test_samples_without_weight_span_nothing(n):
    rows = np.argsort(np.arange(len(FOUR)) % 12, kind="stable")[:n]  # of all four classes
    weight = np.tile([1.0, 1.5], n // 2)
    strange = np.append(FOUR[rows], 1e3 * FOUR[rows][:4] + 1e4, axis=0)
    labels = np.append(OF[rows], OF[rows][:4])
    some = ProbabilisticLDA(shrinkage=0.3).fit(FOUR[rows], OF[rows], weight)
    all_ = ProbabilisticLDA(shrinkage=0.3).fit(strange, labels, np.append(weight, np.zeros(4)))
    found, expected = (model.predict_log_proba(LATER) for model in (all_, some))
    assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


def test_flat_rows_are_folded_as_the_projector_says():
    flat = MPCA(ranks=(2, 2), sample_shape=(4, 3), tol=10.0)
    folded = ProbabilisticLDA(flat).fit(FOUR.reshape(len(FOUR), -1), OF)
    plain = ProbabilisticLDA(MPCA(ranks=(2, 2), tol=10.0)).fit(FOUR, OF)
    assert folded.sample_shape_ == (4, 3)
    found = folded.predict_log_proba(LATER.reshape(len(LATER), -1))
    assert_allclose(found, plain.predict_log_proba(LATER), rtol=1e-9)


# ── Streams whose moments do not fit into memory ────────────────────────────────────────────────


@pytest.fixture
def little_memory():
    """A budget of 4 MiB: sixteen folds of three classes of 216 numbers would take 17 MiB."""
    with config_context(working_memory=1):
        yield


def test_a_stream_of_large_samples_is_one_fit_whatever_moments_would_take(little_memory):
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    X = rng.normal(size=(90, 18, 12)) + rng.normal(size=(3, 18, 12))[y]
    whole, stream = ProbabilisticLDA(), ProbabilisticLDA()
    for rows in np.array_split(np.arange(90), 4):
        stream.partial_fit(X[rows], y[rows], classes=[0, 1, 2])
    expected = whole.fit(X, y).predict_proba(X)
    np.testing.assert_allclose(stream.predict_proba(X), expected, atol=1e-9)
    again = pickle.loads(pickle.dumps(stream)).partial_fit(X[:9], y[:9], decay=0.5)
    weight = np.r_[np.full(90, 0.5), np.ones(9)]
    whole.fit(np.r_[X, X[:9]], np.r_[y, y[:9]], weight)
    np.testing.assert_allclose(again.predict_proba(X), whole.predict_proba(X), atol=1e-9)


def test_a_stream_of_large_samples_waits_for_classes_and_enrols(little_memory, tmp_path):
    rng = np.random.default_rng(1)
    y = np.arange(60) % 4
    X = rng.normal(size=(60, 216)) + 3 * rng.normal(size=(4, 216))[y]
    first = y < 3
    stream = ProbabilisticLDA().partial_fit(X[first][:1], y[first][:1], classes=[0, 1, 2])
    with pytest.raises(NotFittedError):
        stream.predict(X)
    with pytest.raises(ValueError, match="samples are never written"):
        stream.save(tmp_path / "model.safetensors")
    stream.partial_fit(X[first][1:], y[first][1:])
    stream.enrol(X[~first], y[~first]).partial_fit(X[:4], y[:4])
    expected = ProbabilisticLDA().fit(np.r_[X, X[:4]], np.r_[y, y[:4]]).predict_proba(X)
    np.testing.assert_allclose(stream.predict_proba(X), expected, atol=1e-9)
    with pytest.raises(ValueError, match="samples are never written"):
        stream.save(tmp_path / "model.safetensors", moments=True)
    stream.save(tmp_path / "model.safetensors")
    read = load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(read.predict(X), stream.predict(X))
    with pytest.raises(ValueError, match="more than the budget"):
        stream.partial_fit(np.zeros((2500, 216)), np.zeros(2500, int))
    with pytest.raises(ValueError, match="without keeping the moments"):
        stream.fit(X, y).partial_fit(X, y)


def test_a_stream_of_large_samples_forgets_and_deals_its_folds_anew(little_memory):
    rng = np.random.default_rng(2)
    y = np.arange(60) % 3
    X = rng.normal(size=(60, 216)) + rng.normal(size=(3, 216))[y]
    stream = ProbabilisticLDA().partial_fit(X[:20], y[:20], classes=[0, 1, 2])
    stream.set_params(shrinkage=0.5).partial_fit(X[20:30], y[20:30])
    stream.set_params(shrinkage="auto").partial_fit(X[30:], y[30:])
    whole = ProbabilisticLDA().fit(X, y)
    assert stream.shrinkage_ == pytest.approx(whole.shrinkage_, rel=1e-9)
    for _ in range(6):  # of what came first not even a trace is left
        stream.partial_fit(X[:30], y[:30], decay=1e-60)
    expected = ProbabilisticLDA().fit(X[:30], y[:30]).predict_proba(X)
    np.testing.assert_allclose(stream.predict_proba(X), expected, atol=1e-6)
    with pytest.raises(ValueError, match="decay forgets too much"):
        stream.partial_fit(X[:1], y[:1], decay=1e-40)


def test_classes_that_differ_where_little_varies_are_told_apart_from_many_samples():
    """As in spectra: most variance lies along few directions, and classes differ along others."""
    rng = np.random.default_rng(0)
    spread = np.geomspace(1, 1e-3, 30)
    means = 1.5 * spread * rng.normal(size=(4, 30)) * (spread < 0.01)
    y = np.arange(2400) % 4
    X = means[y] + spread * rng.normal(size=(2400, 30))
    X = X @ np.linalg.qr(rng.normal(size=(30, 30)))[0]
    model = ProbabilisticLDA().fit(X[:1200], y[:1200])
    oracle = LinearDiscriminantAnalysis().fit(X[:1200], y[:1200])
    assert model.score(X[1200:], y[1200:]) > oracle.score(X[1200:], y[1200:]) - 0.01
