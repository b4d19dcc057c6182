"""Laws at the edges of the checks: the last value that is taken, and the first that is refused."""

import numpy as np
import pandas as pd
import pytest

from reference import problem
from tenfold import MCSDA, ProbabilisticLDA
from tenfold.validation import labels, parameters
from tenfold.validation.groups import check_groups

X, y = problem((4, 3), classes=3, seed=60)
FLAT = X.reshape(len(X), -1)
LETTERS = np.array(["a", "b", "c"])


def refused(words):
    return pytest.raises(ValueError, match=words)


# ── Parameters ──────────────────────────────────────────────────────────────────────────────────


def test_two_instants_are_a_time():
    model = ProbabilisticLDA(shrinkage=0.3, shrink_to="kronecker", time_modes=1).fit(X[:, :, :2], y)
    # A stationary covariance of two instants has equal variances: turning time round is no change.
    turned = ProbabilisticLDA(shrinkage=0.3, shrink_to="kronecker", time_modes=1)
    turned.fit(X[:, :, 1::-1], y)
    np.testing.assert_allclose(
        model.decision_function(X[:, :, :2]), turned.decision_function(X[:, :, 1::-1])
    )


def test_priors_are_probabilities_of_the_classes_in_their_order():
    check = parameters.check_priors
    np.testing.assert_array_equal(check(None, np.arange(4)), [0.25] * 4)
    np.testing.assert_array_equal(check([0, 0.75, 0.25], LETTERS), [0, 0.75, 0.25])
    given = {"c": 0.5, np.str_("a"): 0.2, "b": 0.3}
    np.testing.assert_array_equal(check(given, LETTERS), [0.2, 0.3, 0.5])
    np.testing.assert_array_equal(check({1: 0.9, 0: 0.1}, np.arange(2)), [0.1, 0.9])
    check([0.5, 0.3, 0.2 + 1e-7], LETTERS)  # sums that were rounded
    for total in (0.9999, 1.0001, 0.0):
        with refused("sum to 1"):
            check([total, 0, 0], LETTERS)
    for priors in ([1.5, -0.5, 0], [np.nan, 0.5, 0.5]):
        with refused("numbers of 0 or more that sum to 1"):
            check(priors, LETTERS)
    for priors in ([0.5, 0.5], [[0.2, 0.3, 0.5]], 1.0):
        with refused("but there are 3 classes"):
            check(priors, LETTERS)
    for priors in ({"a": 0.5, "b": 0.5}, {"a": 0.2, "b": 0.3, "c": 0.5, "d": 0}):
        with refused("differ in [cd]; give every class"):
            check(priors, LETTERS)


# ── Labels and groups ───────────────────────────────────────────────────────────────────────────


def checked_labels(given, n=3):
    return labels.check_labels(MCSDA(), np.zeros((n, 2)), given)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([1.0, np.nan, 2.0], "contains NaN"),
        ([1.0, np.inf, 2.0], "contains NaN or infinity"),
        (np.array(["2026-01-01", "NaT", "2026-01-02"], dtype="M8[D]"), "contains NaN"),
        (["a", None, "b"], "contains NaN or None"),
        (("a", np.nan, "b"), "contains NaN or None"),
        (np.array(["a", pd.NA, "b"], dtype=object), "contains NaN or None"),
        (np.array(["a", pd.NaT, "b"], dtype=object), "contains NaN or None"),
        (["a", 1, "b"], "mixes numbers and text"),
        (np.array(["a", (1, 2), "b"], dtype=object), "objects of type tuple and text"),
        (np.array([1, 2, 1], dtype=object), "numbers as objects"),
        (np.array([True, False, True], dtype=object), "numbers as objects"),
        ([0.5, 1.5, 0.5], "Unknown label type"),
    ],
)
def test_labels_that_name_no_class(given, words):
    with refused(words):
        checked_labels(given)


def test_masked_labels_and_weights_are_not_told_to_be_completed():
    """Gaps of samples may be completed, and those of labels and weights may not."""
    hidden = np.ma.masked_array(y, mask=np.arange(len(y)) == 2)
    with refused("y is a masked array with 1 masked values, and each must be known; fill them"):
        ProbabilisticLDA().fit(X, hidden)
    with refused("sample_weight is a masked array with 1 .* must be known; fill them"):
        ProbabilisticLDA().fit(X, y, hidden)
    holes = np.ma.masked_array(X, mask=np.arange(X.size).reshape(X.shape) == 5)
    with refused("X is a masked array with 1 .*GaussianImputer"):
        ProbabilisticLDA().fit(holes, y)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([1, 2], r"sets has shape \(2,\), but there are 3 samples"),
        ([[1], [2], [3]], r"sets has shape \(3, 1\)"),
        ([1.0, np.nan, 2.0], "sets contains NaN or infinity"),
        ([1.0, np.inf, 2.0], "sets contains NaN or infinity"),
        (np.array(["a", None, "b"], dtype=object), "sets contains NaN or None"),
        (np.array(["a", 1, "b"], dtype=object), "sets mixes numbers and text"),
    ],
)
def test_groups_that_name_nothing(given, words):
    with refused(words):
        check_groups("sets", given, 3)
