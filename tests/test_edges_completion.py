"""Laws at the edges of completing gaps: how much is shrunk, when rounds end, what never varies."""

import numpy as np
import pytest
from sklearn.covariance import LedoitWolf

from reference import with_gaps
from tenfold.mathematics import completion
from tenfold.mathematics.completion import (
    SHARES,
    USUAL,
    Gaussian,
    completed,
    kronecker_product,
    learned_completion,
    target_of,
)
from tenfold.mathematics.fold_moments import content_folds


def conditional(x, mean, covariance):
    """The textbook: what is expected of the gaps of one sample, and its covariance."""
    k, g = np.flatnonzero(~np.isnan(x)), np.flatnonzero(np.isnan(x))
    slopes = np.linalg.solve(covariance[np.ix_(k, k)], covariance[np.ix_(k, g)]).T
    whole, unsure = x.copy(), np.zeros_like(covariance)
    whole[g] = mean[g] + slopes @ (x[k] - mean[k])
    unsure[np.ix_(g, g)] = covariance[np.ix_(g, g)] - slopes @ covariance[np.ix_(k, g)]
    return whole, unsure


def one_round(holes, weight, mean, covariance):
    """Expectation and maximisation, sample by sample."""
    found = [conditional(x, mean, covariance) for x in holes]
    whole, unsure = (np.array(column) for column in zip(*found, strict=True))
    mean = weight @ whole / weight.sum()
    second = np.einsum("n,ni,nj->ij", weight, whole - mean, whole - mean)
    return mean, (second + np.tensordot(weight, unsure, 1)) / weight.sum()


def in_units(holes, weight):
    """Numbers about their means, in units of their spreads, from what is known of each."""
    shares = np.where(np.isnan(holes), 0.0, weight[:, None])
    shares = shares / shares.sum(axis=0)
    mean = np.nansum(shares * holes, axis=0)
    spread = np.sqrt(np.nansum(shares * (holes - mean) ** 2, axis=0))
    return (holes - mean) / spread, mean, spread


# ── What is found ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("shape", [(6,), (3, 2)])
def test_what_is_found_is_at_rest(shape):
    """One more round of the textbook, shrunk by half, changes it by a thousandth at most."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(9, 6)) @ rng.normal(size=(6, 6)) * np.geomspace(1e-2, 1e3, 6) + 5.0
    holes, weight = with_gaps(X, 0.2), rng.uniform(0.5, 2.0, 9)
    mean, precision = learned_completion(holes.reshape(9, *shape), weight)
    Z, centre, spread = in_units(holes, weight)
    assert (content_folds(np.round(np.nan_to_num(Z), 5)) == 0).sum() < 4, "too few to choose by"
    covariance = np.linalg.inv(precision) / np.outer(spread, spread)
    at, once = one_round(Z, weight, (mean - centre) / spread, covariance)
    target = target_of(once, shape, weight.sum())
    again = 0.5 * once + 0.5 * target + 1e-6 * np.eye(6)
    np.testing.assert_allclose(at, (mean - centre) / spread, atol=5e-3)
    assert np.linalg.norm(again - covariance) < 2e-3 * np.linalg.norm(covariance)


def test_weights_are_counts():
    rng = np.random.default_rng(3)
    holes, weight = with_gaps(rng.normal(size=(7, 4)) + rng.normal(size=(7, 1)), 0.3), [1, 2, 1, 3]
    weight = np.array([*weight, 1, 1, 2])
    found = learned_completion(holes.reshape(7, 2, 2), weight.astype(float))
    repeated = learned_completion(np.repeat(holes, weight, axis=0).reshape(-1, 2, 2))
    for one, other in zip(found, repeated, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-8)


def test_modes_of_size_one_are_as_if_not_there():
    holes = with_gaps(np.random.default_rng(0).normal(size=(30, 5)), 0.2)
    for one, other in zip(
        learned_completion(holes), learned_completion(holes.reshape(30, 1, 5)), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-9)


def test_numbers_that_never_vary_are_completed_by_themselves():
    holes = with_gaps(np.full((12, 2, 3), 7.0), 0.3)
    for samples in (holes, np.full((8, 2, 3), 7.0), np.full((13, 2, 3), 0.1)):
        value = np.nanmax(samples)
        for weight in (None, np.random.default_rng(0).random(len(samples))):
            mean, precision = learned_completion(samples, weight)
            np.testing.assert_array_equal(mean, value)
            found = completed(with_gaps(np.full((5, 2, 3), value), 0.3), mean, precision)
            np.testing.assert_allclose(found, value, rtol=1e-9)


@pytest.mark.parametrize("unit", [1e-130, 1e130])
def test_no_unit_is_too_small_or_too_large_for_completing(unit):
    rng = np.random.default_rng(0)
    holes = with_gaps(rng.normal(size=(40, 4)) + rng.normal(size=(40, 1)), 0.2)
    plain = completed(holes, *learned_completion(holes))
    scaled = completed(unit * holes, *learned_completion(unit * holes))
    np.testing.assert_allclose(scaled / unit, plain, atol=1e-8)


def test_numbers_whose_squares_are_none_are_refused_or_never_vary():
    rng = np.random.default_rng(0)
    holes = with_gaps(rng.normal(size=(40, 4)) + rng.normal(size=(40, 1)), 0.2)
    large, small = holes.copy(), holes.copy()
    large[:, 2] *= 1e150
    with pytest.raises(ValueError, match="too large for float64"):
        learned_completion(large)
    small[:, 2] *= 1e-150  # beside the others it is a constant
    constant = np.where(np.arange(4) == 2, 0.0 * holes, holes)
    found, expected = (completed(X, *learned_completion(X)) for X in (small, constant))
    np.testing.assert_allclose(found[:, [0, 1, 3]], expected[:, [0, 1, 3]], atol=1e-6)
    assert np.abs(found[:, 2]).max() < 1e-149


def test_numbers_without_a_finite_precision_are_refused():
    X = np.array([[np.nan, 1.0], [2.0, 3.0]])
    with pytest.raises(ValueError, match="not positive definite; fit the model again"):
        completed(X, np.zeros(2), -np.eye(2))
    with pytest.raises(ValueError, match="covariance of the samples with gaps is not positive"):
        completion.inverse(np.diag([1.0, -1.0]))


# ── How much is shrunk ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("common", [0.0, 1.0, 30.0])
@pytest.mark.parametrize("holes", [0.0, 0.2])
def test_gaps_are_filled_as_well_as_by_the_shrinkage_of_ledoit_and_wolf(common, holes):
    """From few samples, whole or with gaps: what numbers have in common is none, some or all."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 15)) + common * rng.normal(size=(240, 2)) @ rng.normal(size=(2, 15))
    training, asked = X[:40], with_gaps(X[40:], 0.4)
    rival = LedoitWolf().fit(training)
    expected = completed(asked, rival.location_, rival.precision_)
    found = completed(asked, *learned_completion(with_gaps(training, holes)))
    error, least = (np.mean((filled - X[40:]) ** 2) for filled in (found, expected))
    assert error < 1.15 * least


def share_by_hand(Z, weight, shape, start):
    """Under which hidden numbers of the samples of one fold are predicted best from the others."""
    filled = np.where(np.isnan(Z), 0.0, Z)
    held = content_folds(np.round(filled, 5), 5) == 0
    mean, covariance = one_round(Z[~held], weight[~held], *start)
    target = target_of(covariance, shape, weight[~held].sum())
    order = np.argsort(content_folds(np.round(filled[held], 5), 2**31), kind="stable")
    Z, weight = Z[held][order], weight[held][order]
    gaps = np.isnan(np.roll(Z, 1, axis=0))  # those of the next one
    if not gaps.any():
        gaps = np.random.default_rng(0).random(Z.shape) < 0.2
    hidden = np.where(gaps, np.nan, Z)
    losses = []
    for share in SHARES:
        mixed = (1 - share) * covariance + share * target + 1e-6 * np.eye(len(mean))
        errors = [conditional(x, mean, mixed)[0] - z for x, z in zip(hidden, Z, strict=True)]
        losses.append(weight @ np.nansum(np.square(errors), axis=1))
    return SHARES[np.argmin(losses)]


def test_the_share_predicts_hidden_numbers_best():
    found = set()
    for seed in range(16):
        rng = np.random.default_rng(seed)
        shape = [(6,), (3, 2)][seed % 3 > 0]
        common = rng.normal(size=(40, 1)) @ rng.normal(size=(1, 6))
        Z = rng.normal(size=(40, 6)) + 1.2 * rng.random() * common
        Z = with_gaps(Z, 0.3, seed) if seed % 4 else Z
        weight = rng.uniform(0.1, 3.0, 40)
        Z = in_units(Z, weight)[0]
        known = ~np.isnan(Z)
        start = Gaussian(np.zeros(6), np.eye(6))
        parts = np.where(known, Z, 0.0), known, weight
        share = completion._chosen_share(*parts, shape, start)
        assert share == share_by_hand(Z, weight, shape, start)
        found.add(share)
    assert len(found) > 3, "some of these need more than others"


def test_without_samples_to_choose_by_the_share_is_the_usual_one():
    rng = np.random.default_rng(0)
    start = Gaussian(np.zeros(3), np.eye(3))
    for n, first in ((6, True), (40, False)):  # too few are held out; all have the same gap
        known = np.ones((n, 3), dtype=bool)
        known[:, 0] = first
        Z = np.where(known, rng.normal(size=(n, 3)), 0.0)
        assert completion._chosen_share(Z, known, np.ones(n), (3,), start) == USUAL


# ── Kronecker products ──────────────────────────────────────────────────────────────────────────


def random_covariance(size, seed):
    A = np.random.default_rng(seed).normal(size=(size, 2 * size))
    return A @ A.T / (2 * size)


def test_a_kronecker_product_has_no_unit_and_is_positive_definite():
    covariance = random_covariance(6, 0)
    found = kronecker_product(covariance, (2, 3), [0.1, 0.2])
    for scale in (1e-6, 1e6):
        scaled = kronecker_product(scale * covariance, (2, 3), [0.1, 0.2])
        np.testing.assert_allclose(scaled, found, rtol=1e-9)
    indefinite = covariance - 0.5 * np.eye(6)
    assert np.linalg.eigvalsh(indefinite)[0] < 0
    product = kronecker_product(indefinite, (2, 3), [0.1, 0.2])
    assert np.linalg.eigvalsh(product)[0] > 0.019
    assert np.trace(product) == pytest.approx(6)
    nothing = kronecker_product(np.zeros((6, 6)), (2, 3), [0.1, 0.2])
    np.testing.assert_allclose(nothing, nothing[0, 0] * np.eye(6), atol=1e-12)
    assert nothing[0, 0] > 0


def test_a_target_is_trusted_as_far_as_there_are_fibres():
    """A factor of I_k numbers is seen in count I / I_k fibres; the identity has a share of it."""
    covariance = random_covariance(6, 1)
    variance = np.trace(covariance) / 6
    for count in (0.5, 10.0, 40.0):
        shares = [2 / (2 + count * 3), 3 / (3 + count * 2)]
        expected = variance * kronecker_product(covariance, (2, 3), shares)
        np.testing.assert_allclose(target_of(covariance, (2, 3), count), expected, rtol=1e-12)
    expected = variance * kronecker_product(covariance, (2, 3), [0.01, 0.01])
    np.testing.assert_allclose(target_of(covariance, (2, 3), 1e9), expected, rtol=1e-12)
    for shape in ((6,), (1, 6), (6, 1, 1)):
        np.testing.assert_allclose(target_of(covariance, shape, 9.0), variance * np.eye(6))


@pytest.mark.parametrize("factor", [0.02, 1.0])
def test_the_first_guess_is_what_pairs_of_known_numbers_say(factor):
    rng = np.random.default_rng(2)
    Z = with_gaps(rng.normal(size=(30, 4)) + rng.normal(size=(30, 1)), 0.5)
    Z[Z[:, 0] > 0, 1] = np.nan
    Z[~np.isnan(Z[:, 1]), 0] = np.nan  # no sample has both
    known, weight = ~np.isnan(Z), factor * rng.uniform(0.1, 3.0, 30)
    covariance = np.zeros((4, 4))
    for i, j in np.ndindex(4, 4):
        both = known[:, i] & known[:, j]
        if both.any():
            covariance[i, j] = np.average(Z[both, i] * Z[both, j], weights=weight[both])
    found = completion._start(np.where(known, Z, 0.0), known, weight, (2, 2))
    expected = kronecker_product(covariance, (2, 2), [0.2, 0.2], rounds=1)
    np.testing.assert_allclose(found.covariance, expected, rtol=1e-9)
    assert not found.mean.any()


# ── Rounds ──────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def rounds(monkeypatch):
    """The number of samples of every round."""
    made, plain = [], completion.round_of
    monkeypatch.setattr(
        completion, "round_of", lambda Z, *rest: (made.append(len(Z)), plain(Z, *rest))[1]
    )
    return made


def test_rounds_end_when_nothing_changes(rounds):
    X = np.random.default_rng(0).normal(size=(60, 4))
    learned_completion(X)
    assert rounds[1:] == [60, 60]  # the first one chose the share; whole samples need no third
    rounds.clear()
    learned_completion(with_gaps(X, 0.6))
    assert 6 < len(rounds) < 101


@pytest.mark.parametrize(("part", "at_least", "at_most"), [(1.4, 170, 230), (3.5, 80, 120)])
def test_a_round_learns_from_so_many_samples_as_there_is_time_for(
    rounds, monkeypatch, part, at_least, at_most
):
    """One sample in two, or in four, by content."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4)) + 3 * rng.normal(size=(400, 1))
    holes = with_gaps(X, 0.2)
    whole = completed(holes, *learned_completion(holes))
    assert set(rounds[1:]) == {400}
    monkeypatch.setattr(completion, "WORK_OF_ROUND", 400 * completion.CALL / part)
    rounds.clear()
    mean, precision = learned_completion(holes)
    (n,) = set(rounds[1:])
    assert at_least < n < at_most
    assert np.sqrt(np.mean((completed(holes, mean, precision) - whole) ** 2)) < 0.2
    turned = learned_completion(holes[::-1])
    np.testing.assert_allclose(turned[0], mean, atol=1e-9)


@pytest.mark.parametrize("n", [3, 200])
def test_a_part_in_which_a_number_is_never_known_is_too_little(rounds, monkeypatch, n):
    X = np.random.default_rng(0).normal(size=(n, 4))
    X[1:, 2] = np.nan  # known in one sample alone
    monkeypatch.setattr(completion, "WORK_OF_ROUND", n * completion.CALL / 50)
    learned_completion(X)
    assert set(rounds[n > 20 :]) == {n}  # among enough samples the first round chose the share
