"""Thresholds: quantiles, tails, the number that impostors count for, equal errors; as formulas."""

import numpy as np
import pytest
from scipy.stats import t as student

from tenfold.classifiers.thresholds import (
    Impostors,
    effective_number,
    equal_threshold,
)
from tenfold.classifiers.thresholds import threshold_at as far_at

RNG = np.random.default_rng(7)
NINE = RNG.lognormal(size=9)


def threshold_at(impostors, rate):
    """Of distances: their logarithms say how far samples are."""
    with np.errstate(divide="ignore"):
        far = np.log(impostors.signed_distance)
    return np.exp(far_at(impostors._replace(signed_distance=far), rate))


def alone(distances, weight=None, groups=None):
    distances = np.asarray(distances, dtype=float)
    return Impostors(distances, np.ones(len(distances)) if weight is None else weight, groups)


# ── The quantile ────────────────────────────────────────────────────────────────────────────────


def test_the_threshold_is_just_below_the_impostor_at_the_asked_place():
    u = np.sort(NINE)
    for i in range(1, 10):  # the i-th of n stands at i / (n + 1)
        limit = threshold_at(alone(np.random.default_rng(i).permutation(u)), i / 10)
        assert limit == pytest.approx(u[i - 1], rel=1e-6)
        assert (u <= limit).sum() == i - 1


@pytest.mark.parametrize("groups", [None, np.arange(9) % 3])
def test_with_weights_an_impostor_stands_at_the_share_up_to_it(groups):
    weight = np.random.default_rng(1).uniform(0.5, 2.0, 9)
    shares = weight / weight.sum()
    if groups is not None:  # a third for every class
        shares = weight / 3 / np.array([weight[groups == g].sum() for g in groups])
    n = effective_number(alone(np.log(NINE), weight, groups))
    for u in np.sort(NINE)[1:-1]:
        rate = shares[u >= NINE].sum() * n / (n + 1)
        assert threshold_at(alone(NINE, weight, groups), rate) == pytest.approx(u, rel=1e-6)


def test_between_two_impostors_the_logarithm_of_the_distance_follows_that_of_the_rate():
    u = np.sort(NINE)
    for i in range(1, 9):
        low, high, rate = i / 10, (i + 1) / 10, (i + 0.4) / 10
        share = np.log(rate / low) / np.log(high / low)
        expected = u[i - 1] ** (1 - share) * u[i] ** share
        assert threshold_at(alone(NINE), rate) == pytest.approx(expected, rel=1e-6)


# ── The tail ────────────────────────────────────────────────────────────────────────────────────


def extrapolated(u, weight, rate):
    """The formula of the tail in plain sums, with a weighted median at the middles of shares."""
    pairs = sorted(zip(np.log(u).tolist(), (weight / weight.sum()).tolist(), strict=True))
    places, total = [], 0.0
    for _, share in pairs:
        places.append(total + share / 2)
        total += share
    middle = np.interp(0.5, places, [v for v, _ in pairs])
    low = [(v, share) for v, share in pairs if v <= middle]
    mean_square = sum(share * (v - middle) ** 2 for v, share in low) / sum(s for _, s in low)
    n = weight.sum() ** 2 / (weight**2).sum()
    steps = student.ppf(1 - rate, max(n / 2, 1))
    return np.exp(middle - steps * np.sqrt(mean_square * (1 + np.pi / (2 * n))))


@pytest.mark.parametrize(
    "weight",
    [np.ones(9), np.ones(8), RNG.uniform(0.2, 3.0, 9), np.array([1.0, 0.05]), np.ones(3)],
    ids=["nine", "eight", "weighted", "hardly two", "three"],
)
def test_rates_that_no_impostor_stands_at_are_extrapolated_from_the_lower_half(weight):
    u = NINE[: len(weight)]
    n = weight.sum() ** 2 / (weight**2).sum()
    for share in (0.001, 0.5, 0.97):  # of the first place that has an impostor
        rate = share / (n + 1)
        found = threshold_at(alone(u, weight), rate)
        assert found == pytest.approx(extrapolated(u, weight, rate), rel=1e-6)
    if (weight == 1).all():
        rate, v = 0.3 / (n + 1), np.log(u)
        m = np.median(v)
        s = np.sqrt(np.mean((v[v <= m] - m) ** 2))
        expected = m - student.ppf(1 - rate, max(n / 2, 1)) * s * np.sqrt(1 + np.pi / (2 * n))
        assert np.log(threshold_at(alone(u), rate)) == pytest.approx(expected, rel=1e-6)


# ── How many they are ───────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("sizes", [(5,) * 12, (2, 3, 9, 4, 7, 2), (2, 1, 1), (3, 1)])
def test_the_effective_number_is_that_of_a_one_way_layout(sizes):
    groups = np.repeat(np.arange(len(sizes)), sizes)
    n_groups, n = len(sizes), len(groups)
    for between in (0.3, 1.0, 3.0):
        v = between * np.arange(n_groups)[groups] + np.random.default_rng(0).normal(size=n)
        means = np.array([v[groups == k].mean() for k in range(n_groups)])
        within = sum(((v[groups == k] - means[k]) ** 2).sum() for k in range(n_groups))
        of_means = np.var(means, ddof=1)
        of_new = of_means + within / (n - n_groups) * (1 - np.mean(1 / np.array(sizes)))
        expected = min(n_groups * of_new / of_means, n)
        assert n_groups <= expected
        found = effective_number(alone(v, np.ones(n), groups))
        assert found == pytest.approx(expected)
        whole = np.linspace(1, 2, n_groups)[groups]  # the weight of a group says nothing
        assert effective_number(alone(v, whole, groups)) == pytest.approx(expected)


# ── Equal errors ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("seed", range(20))
def test_no_threshold_has_a_smaller_larger_error(seed):
    rng = np.random.default_rng(seed)
    others, own = rng.integers(2, 12, 15) / 2, rng.integers(0, 8, 6) / 2  # with ties
    weights, own_weights = rng.uniform(0.5, 2.0, 15), rng.uniform(0.5, 2.0, 6)

    def worse(limit):
        accepted = weights[others <= limit].sum() / weights.sum()
        return max(accepted, own_weights[own > limit].sum() / own_weights.sum())

    limit = equal_threshold(alone(others, weights), own, own_weights)
    assert worse(limit) == pytest.approx(min(worse(d) for d in [0.0, *others, *own]))


def test_equal_impostors_are_accepted_all_or_not_at_all():
    same = np.full(9, 2.0)
    assert threshold_at(alone(same), 0.0) == 0.0
    for rate in (0.001, 0.099, 0.1, 0.5, 0.9):
        assert threshold_at(alone(same), rate) == pytest.approx(2.0)
        assert threshold_at(alone(same), rate) < 2.0
    assert threshold_at(alone(same), 0.91) > 2000.0


def test_classes_that_are_held_out_count_alike_however_much_they_weigh():
    rng = np.random.default_rng(2)
    groups = np.repeat(np.arange(6), 5)
    u = np.exp(0.05 * rng.normal(size=30) + np.linspace(0, 3, 6)[groups])
    for rate in (0.01, 0.2, 0.5):
        limits = [
            threshold_at(alone(u, weight, groups), rate)
            for weight in (np.ones(30), np.linspace(1, 50, 6)[groups])
        ]
        assert limits[0] == pytest.approx(limits[1])
    single = alone(u[::5], np.linspace(1, 50, 6), groups[::5])  # one of each: as many as they are
    assert effective_number(single) == pytest.approx(6)
