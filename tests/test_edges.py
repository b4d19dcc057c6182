"""Laws at the edges: what a changed sign, bound or constant would break, found by mutants."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import logsumexp
from sklearn.model_selection import StratifiedKFold

from reference import distance, problem
from tenfold import (
    CSDA,
    MCSDA,
    MPCA,
    ClassMoments,
    ClassSpecificClassifier,
    ClassSpecificVerifier,
    ProbabilisticLDA,
)
from tenfold.decisions.scores import scores_and_decisions, scores_of
from tenfold.decisions.thresholds import EVERYTHING, Impostors, effective_number, kish, threshold_at
from tenfold.decisions.verification import fold_plan
from tenfold.mathematics import structures
from tenfold.mathematics.fold_moments import FoldMoments
from tenfold.mathematics.held_out import HOTTEST, USUAL, Choice, best_temperature, left_out
from tenfold.mathematics.mapped_store import MappedStore
from tenfold.mathematics.stores import StoredSamples
from tenfold.mathematics.structures import IDENTITY, MARGIN, Target, best_target, targets
from tenfold.mathematics.two_covariances import ClassLikelihood, KnownClasses

X, y = problem((4, 3), classes=3, seed=50)
FLAT = X.reshape(len(X), -1)

# ── Validation ──────────────────────────────────────────────────────────────────────────────────


def test_weights_whose_sum_is_no_number_are_refused():
    with pytest.raises(ValueError, match="more than a float64"):
        MCSDA(ranks=2, positive=1).fit(X, y, np.full(len(X), 1e308))


def test_moments_of_flat_rows_are_folded_as_the_rows_are():
    folded = CSDA(ranks=2, positive=1, sample_shape=(4, 3)).fit_moments(
        ClassMoments.from_batch(FLAT, y)
    )
    assert folded.sample_shape_ == (4, 3)
    assert folded.mean_.shape == (4, 3)
    for shape, moments in [((5, 3), FLAT), ((3, 4), X)]:
        with pytest.raises(ValueError, match="shape"):
            CSDA(positive=1, sample_shape=shape).fit_moments(ClassMoments.from_batch(moments, y))


def test_a_sample_shape_of_one_mode_is_one():
    assert MPCA(ranks=2, sample_shape=(12,)).fit(FLAT).sample_shape_ == (12,)
    assert MPCA(ranks=(2, 1), sample_shape=(12, 1)).fit(FLAT).sample_shape_ == (12, 1)
    for shape in [(), (12, 0), (-12,), "12"]:
        with pytest.raises(ValueError, match="expected positive integers"):
            MPCA(ranks=2, sample_shape=shape).fit(FLAT)


# ── Decisions ───────────────────────────────────────────────────────────────────────────────────


def test_a_projection_for_all_classes_gives_no_scores():
    with pytest.raises(TypeError, match="gives no scores"):
        scores_and_decisions(MPCA(ranks=2).fit(X), X)


def test_a_bank_of_two_classes_has_a_score_for_each():
    two = y < 2
    bank = ClassSpecificClassifier(MCSDA(ranks=2)).fit(X[two], y[two])
    scores = scores_of(bank, X)
    assert scores.shape == (len(X), 2)
    np.testing.assert_array_equal(scores[:, 0], -scores[:, 1])
    np.testing.assert_array_equal(bank.classes_[scores.argmax(axis=1)], bank.predict(X))


def test_two_of_three_announced_classes_are_enough_to_learn():
    two = y < 2
    model = ProbabilisticLDA().partial_fit(X[two], y[two], classes=[0, 1, 2])
    assert set(model.predict(X[two])) == {0, 1}
    alone = ProbabilisticLDA().partial_fit(X[y == 0], y[y == 0], classes=[0, 1])
    assert not hasattr(alone, "means_")


def test_folds_given_by_hand_see_the_labels():
    plan = fold_plan(StratifiedKFold(3), X, y, 1, np.full(len(y), True), np.arange(len(y)))
    (impostors,) = plan.impostors
    assert len(plan.own) == len(impostors) == 3
    for (_, own), (train, others) in zip(plan.own, impostors, strict=True):
        assert set(y[own]) == {1}
        assert set(y[others]) == {0, 2}
        assert abs((y[others] == 0).mean() - (y[y != 1] == 0).mean()) < 0.1
        assert set(np.flatnonzero(y == 1)) <= set(train)


def test_a_rate_of_one_accepts_every_impostor():
    some = Impostors(np.array([3.0, 1.0, 2.0]), np.ones(3), None)
    assert threshold_at(some, 1.0) == 3.0 * EVERYTHING
    assert EVERYTHING > 1
    assert threshold_at(some, 0.0) == 0.0
    nothing = Impostors(np.zeros(3), np.ones(3), None)
    assert threshold_at(nothing, 0.5) == 0.0


def test_impostors_of_two_groups_count_as_their_scores_are_alike():
    rng = np.random.default_rng(0)
    groups, weight = np.repeat([0, 1], 50), np.ones(100)
    alike = np.repeat([0.0, 5.0], 50) + 0.01 * rng.normal(size=100)
    assert effective_number(Impostors(alike, weight, groups)) == pytest.approx(2, rel=0.02)
    mixed = np.tile(rng.normal(size=50), 2)  # group means are equal
    assert effective_number(Impostors(mixed, weight, groups)) == 100
    single = Impostors(mixed, weight, np.zeros(100))
    assert effective_number(single) == 100


def test_kish_counts_equal_weights_and_sees_one_that_is_alone():
    assert kish(np.full(7, 0.3)) == pytest.approx(7)
    assert kish(np.array([1.0, 1e-9, 1e-9])) == pytest.approx(1)


def test_a_verifier_accepts_what_reaches_its_threshold():
    model = ClassSpecificVerifier(MCSDA(ranks=2), positive=1, false_accept_rate="equal").fit(X, y)
    columns = scores_and_decisions(model, X)
    np.testing.assert_array_equal(columns["score"], model.projector_.decision_function(X))
    np.testing.assert_array_equal(columns["accepted"], model.predict(X) == model.classes_[1])
    assert 0 < columns["accepted"].sum() < len(X)


# ── Mathematics ─────────────────────────────────────────────────────────────────────────────────


def test_a_class_without_samples_has_moments_of_zero():
    moments = ClassMoments.from_batch(X, y, classes=np.arange(4))
    assert moments.counts[3] == 0
    assert not moments.means[3].any()
    assert not moments.scatters[3].any()


def test_a_kronecker_product_needs_two_modes_of_several_entries():
    assert targets("auto", (), (1, 5, 1)) == [IDENTITY]
    assert targets("auto", (), (2, 5)) == [IDENTITY, Target("kronecker", ())]
    assert targets("auto", (1,), (2, 5))[1:] == [Target("kronecker", (1,)), Target("kronecker")]
    assert targets("kronecker", (1,), (5,)) == [Target("kronecker", (1,))]


def test_moments_without_folds_leave_classes_out_to_choose_the_shrinkage():
    rng = np.random.default_rng(3)
    for n in (8, 400):  # few samples need more shrinkage
        labels = np.arange(n) % 4
        Z = rng.normal(size=(n, 6)) * np.linspace(0.2, 3, 6) + 5 * rng.normal(size=(4, 6))[labels]
        moments = ClassMoments.from_batch(Z, labels)
        model = ProbabilisticLDA(shrinkage="auto").fit_moments(moments)
        assert model.shrinkage_ == left_out(moments) != USUAL
    single = ClassMoments.from_batch(Z[:4], labels[:4])  # one sample of each says nothing
    assert left_out(single) == USUAL


def log_loss_at(temperature, scores, codes, weights):
    logits = scores / temperature
    right = logits[np.arange(len(codes)), codes] - logsumexp(logits, axis=1)
    return -(weights @ right) / weights.sum()


@pytest.mark.parametrize("sharpness", [0.1, 3.0, 1000.0])
def test_the_best_temperature_has_the_least_log_loss_between_its_bounds(sharpness):
    rng = np.random.default_rng(5)
    codes, weights = rng.integers(0, 3, 200), rng.uniform(0.5, 2, 200)
    scores = sharpness * (np.eye(3)[codes] + rng.normal(size=(200, 3)))
    temperature, loss = best_temperature(scores, codes, weights, 1e-6)
    grid = np.geomspace(1, HOTTEST, 400)
    losses = [log_loss_at(t, scores, codes, weights) for t in grid]
    assert loss == pytest.approx(log_loss_at(temperature, scores, codes, weights))
    assert loss <= min(losses) + 1e-9
    assert temperature == pytest.approx(grid[np.argmin(losses)], rel=0.02)
    assert temperature == pytest.approx({0.1: 1.0, 1000.0: HOTTEST}.get(sharpness, temperature))


def weighted_moments(Y, weights):
    mean = np.average(Y, axis=0, weights=weights)
    return weights.sum(), mean, (weights[:, None] * (Y - mean)).T @ (Y - mean)


@pytest.mark.parametrize("from_tables", [False, True])
def test_points_have_the_means_and_scatters_of_the_classes_of_a_fold(from_tables):
    rng = np.random.default_rng(9)
    sizes = {0: 1, 1: 2, 2: 2, 3: 9, 4: 3}  # in 4 coordinates; class 5 has none in this fold
    codes = np.repeat([*sizes, 5], [*sizes.values(), 3])
    folds = np.where(codes == 5, 0, 1)
    Z, D, w = rng.normal(size=(20, 6)), rng.normal(size=(6, 4)), rng.uniform(0.5, 2, 20)
    if from_tables:
        tables = ClassMoments.from_batch(Z, 2 * codes + folds, w, classes=np.arange(12))
        moments = FoldMoments.of_tables(tables, (2, 6))
    else:
        moments = FoldMoments.of_samples(Z, codes, folds, w, (2, 6), 6)
    points = moments.points(1, D)
    assert set(points.codes) == set(sizes)
    for c, size in sizes.items():
        own, here = points.codes == c, codes == c
        assert own.sum() == max(1, 2 * min(size - 1, 4))
        found = weighted_moments(points.X[own], points.weights[own])
        for one, other in zip(found, weighted_moments(Z[here] @ D, w[here]), strict=True):
            np.testing.assert_allclose(one, other, atol=1e-12)


def test_single_samples_too_far_apart_are_refused():
    far = np.array([[1.0, 2.0], [1e145, 2.0]])
    with pytest.raises(ValueError, match="too large for float64"):
        CSDA(ranks=1, positive=1).fit(far, [0, 1])
    CSDA(ranks=1, positive=1).fit(far / 1e20, [0, 1])
    with pytest.raises(ValueError, match="too small for float64"):
        CSDA(ranks=1, positive=1).fit(far / 1e290, [0, 1])


def test_a_mapped_store_has_the_axes_of_its_samples():
    mapped = MappedStore(StoredSamples.of(X), lambda block: block + 1)
    assert (mapped.ndim, mapped.shape, len(mapped)) == (3, X.shape, len(X))
    np.testing.assert_array_equal(mapped[3:5], X[3:5] + 1)


def test_means_of_enrolled_classes_miss_the_true_ones_by_noise_alone():
    between, spread, within = np.array([2.0, 1.0]), np.array([0.7, 0.2]), np.array([0.5, 0.4])
    model = ClassLikelihood(between, spread, within, np.ones(2))
    known = KnownClasses(np.ones((2, 2)), np.array([3.0, 3.0]), np.array([0.0, 1.0]))
    means, variances, stranger = model.expected(known)
    for c, miss in enumerate((spread, within)):  # the second class was enrolled later
        np.testing.assert_allclose(means[c], 3 * between / (3 * between + miss))
        unsure = between * miss / (3 * between + miss)  # the variance of the true mean
        np.testing.assert_allclose(variances[c], within + unsure)
    np.testing.assert_allclose(stranger, between + within)


@pytest.mark.parametrize(("gain", "taken"), [(0.9, 0), (1.1, 1)])
def test_a_later_target_must_be_better_by_more_than_the_margin(monkeypatch, gain, taken):
    likelihood = ClassLikelihood.plain(np.ones(2))
    losses = iter([1.0, 1.0 - gain * MARGIN / 50])
    monkeypatch.setattr(structures, "_held_out", lambda *_: [])
    monkeypatch.setattr(structures, "chosen", lambda _: Choice(0.3, likelihood, next(losses)))
    candidates = [IDENTITY, Target("kronecker")]
    moments = SimpleNamespace(counts=np.full((5, 2), 5.0))  # 50 samples in all
    assert best_target(moments, None, candidates)[0] == candidates[taken]


@pytest.mark.parametrize("statistics", ["moments", "samples"])
@pytest.mark.parametrize("weight", [1e-100, 1e-9, 1e9, 1e100])
def test_automatic_shrinkage_stands_any_weight(weight, statistics):
    model = CSDA(ranks=2, positive=1, shrinkage="auto", ridge=0.1, statistics=statistics)
    model.fit(X, y, np.full(len(X), weight))
    assert np.isfinite(model.projections_[0]).all()
    share = 1.0 if weight < 1 else 0.0  # weights are counts: less than a sample, or very many
    by_hand = CSDA(ranks=2, positive=1, shrinkage=max(share, 1e-300), ridge=0.1).fit(X, y)
    assert distance([model.projections_[0]], by_hand.projections_) < 1e-6
