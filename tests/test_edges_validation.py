"""Laws at the edges of the checks: the last value that is taken, and the first that is refused."""

import tracemalloc
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn import get_config
from sklearn.exceptions import DataConversionWarning, NotFittedError

from reference import problem
from tenfold import CSDA, MCSDA, MPCA, ClassMoments, KernelCSDA, ModeScaler, ProbabilisticLDA
from tenfold.mathematics.completion import learned_completion
from tenfold.mathematics.stores import StoredSamples
from tenfold.validation import adjustments, fitted, labels, large_input, parameters
from tenfold.validation.groups import check_groups

X, y = problem((4, 3), classes=3, seed=60)
FLAT = X.reshape(len(X), -1)
LETTERS = np.array(["a", "b", "c"])


def refused(words):
    return pytest.raises(ValueError, match=words)


# ── Parameters ──────────────────────────────────────────────────────────────────────────────────


def test_one_label_is_no_list_of_labels():
    for label in (None, 3, "north", np.int64(3), np.str_("north")):
        parameters.check_one_label(label)
    for several in ([0], ("a",), {1: 2}, np.arange(2)):
        with refused("expected one label"):
            parameters.check_one_label(several)


def test_the_positive_class_has_a_place_and_is_the_last_by_default():
    assert parameters.check_positive(None, LETTERS) == 2
    assert [parameters.check_positive(label, LETTERS) for label in "abc"] == [0, 1, 2]
    assert parameters.check_positive(4, np.array([4])) == 0
    with refused("'d', which is not among the labels: 'a', 'b', 'c'; pass"):
        parameters.check_positive("d", LETTERS)


def test_ranks_are_whole_numbers_from_one_to_the_size_of_their_mode():
    shape = (4, 3)
    assert parameters.check_ranks(None, shape, [2, 1]) == (2, 1)
    for ranks in (3, np.int64(3), (3, 3), [3, 3], np.array([3, 3]), (np.int64(3), 3)):
        found = parameters.check_ranks(ranks, shape, [])
        assert found == (3, 3)
        assert {type(rank) for rank in found} == {int}
    assert parameters.check_ranks((4, 1), shape, []) == (4, 1)
    for ranks in (True, 2.0, "23", {2, 3}):
        with refused("expected an int, or one int for each of the 2"):
            parameters.check_ranks(ranks, shape, [])
    for ranks, mode in [((0, 3), 0), ((5, 3), 0), ((4, 4), 1), ((1, 1.0), 1), ((True, 1), 0)]:
        with refused(rf"does not fit mode {mode}"):
            parameters.check_ranks(ranks, shape, [])
    for ranks in ((2,), (2, 2, 2)):
        with refused(r"but the samples have 2 mode\(s\) of sizes \(4, 3\).*one int for all$"):
            parameters.check_ranks(ranks, shape, [])
    with refused("to fold flat rows"):
        parameters.check_ranks((2, 2), (12,), [])


def test_shares_are_floats_above_zero_and_up_to_one():
    shares = parameters.ranks_and_shares
    assert shares(None, 2) == (None, {})
    assert shares(2, 2) == (2, {})
    assert shares((2, 1), 2) == ((2, 1), {})
    assert shares(0.5, 2) == ((1, 1), {0: 0.5, 1: 0.5})
    assert shares((3, 1.0), 2) == ((3, 1), {1: 1.0})
    assert shares([0.25, 3], 2) == ((1, 3), {0: 0.25})
    assert shares(np.float32(0.5), 1) == ((1,), {0: 0.5})
    for outside in (0.0, -0.5, 1.5):  # no rank either, which the check of ranks says
        assert shares((outside, 2), 2) == ((outside, 2), {})


def test_a_ridge_is_a_finite_number_that_may_be_absolute():
    assert parameters.check_ridge(0) == (0.0, False)
    assert parameters.check_ridge(2.5) == (2.5, False)
    assert parameters.check_ridge(("absolute", 0)) == (0.0, True)
    assert parameters.check_ridge(["absolute", 1e-3]) == (1e-3, True)
    bad = [-1e-9, np.inf, np.nan, "much", None, ("absolute", -1), ("absolute", np.inf)]
    for ridge in (*bad, ("absolute",), ("absolute", 1, 2), ("relative", 1)):
        with refused("ridge is .*expected a number of 0 or more"):
            parameters.check_ridge(ridge)


def test_shrinkage_is_auto_or_from_zero_to_one():
    for shrinkage in ("auto", 0, 1, 0.5, np.float32(1)):
        parameters.check_shrinkage(shrinkage)
    for shrinkage in ("none", None, -1e-9, 1 + 1e-9, np.nan, [0.5]):
        with refused("expected 'auto' or a number from 0 to 1"):
            parameters.check_shrinkage(shrinkage)


def modes_of_time(asked, shape, shrink_to="kronecker", projector=None):
    model = SimpleNamespace(time_modes=asked, shrink_to=shrink_to, projector=projector)
    return parameters.check_time_modes(model, shape)


def test_modes_of_time_are_modes_of_two_instants_or_more():
    assert modes_of_time(None, (2, 2)) == modes_of_time((), (2, 2)) == ()
    assert modes_of_time(0, (2, 2)) == modes_of_time([0, 0], (2, 2)) == (0,)
    assert modes_of_time((1, 0), (2, 2)) == (0, 1)
    assert modes_of_time(np.array([1]), (2, 2), "auto") == (1,)
    for mode in (2, -1, 0.0, "0"):
        with refused("have the modes 0 to 1"):
            modes_of_time(mode, (2, 2))
    with refused("mode 1 .* has one entry"):
        modes_of_time((0, 1), (3, 1, 3))
    with refused("no factors"):
        modes_of_time(0, (2, 2), "identity")
    with refused("after a projector"):
        modes_of_time(0, (2, 2), projector=MPCA())
    assert modes_of_time(None, (2, 2), projector=MPCA()) == ()
    assert modes_of_time(None, (5,), "identity") == modes_of_time(None, (5,), "auto") == ()


def test_a_product_needs_two_modes_that_have_several_entries():
    assert modes_of_time(None, (1, 2, 2)) == ()
    for shape in [(5,), (5, 1), (1, 5, 1), (1, 1)]:
        with refused("no two modes for a product"):
            modes_of_time(None, shape)


def test_two_instants_are_a_time():
    model = ProbabilisticLDA(shrinkage=0.3, shrink_to="kronecker", time_modes=1).fit(X[:, :, :2], y)
    # A stationary covariance of two instants has equal variances: turning time round is no change.
    turned = ProbabilisticLDA(shrinkage=0.3, shrink_to="kronecker", time_modes=1)
    turned.fit(X[:, :, 1::-1], y)
    np.testing.assert_allclose(
        model.decision_function(X[:, :, :2]), turned.decision_function(X[:, :, 1::-1])
    )


def test_ranks_of_a_class_are_found_by_its_label():
    ranks = {"a": 1, "b": (2, 2)}
    assert parameters.ranks_of_class(ranks, np.str_("b")) == (2, 2)
    assert parameters.ranks_of_class({1: 3, 0: 2}, np.int64(0)) == 2
    with refused("not the class 'c'"):
        parameters.ranks_of_class(ranks, np.str_("c"))


def test_options_are_words_and_flags_are_flags():
    assert parameters.check_option("how", "own", ["own", False]) == "own"
    assert parameters.check_option("how", False, ["own", False]) is False
    for value in ("other", True, 0, None, ["own"], np.array(["own"])):
        with refused("how is .*expected one of 'own', False"):
            parameters.check_option("how", value, ["own", False])
    for flag in (True, False, np.True_):
        parameters.check_flag("whether", flag)
    for value in (1, 0, "yes", None):
        with refused("whether is .*expected True or False"):
            parameters.check_flag("whether", value)


def test_a_projector_is_one_block_of_what_it_should_be():
    parameters.check_class_specific(MCSDA(), MCSDA)
    parameters.check_projector(MPCA(), MPCA)
    parameters.check_projector(None, type(None))
    with refused("expected a class-specific method"):
        parameters.check_class_specific(MPCA(), MCSDA)
    with refused("expected a method such as MPCA"):
        parameters.check_projector("MPCA", MPCA)
    for many in (MPCA(blocks=2), KernelCSDA()):
        with refused("expected one block of projections"):
            parameters.check_projector(many, type(many))


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


def test_numbers_reach_their_least_and_are_finite():
    check = parameters.check_number
    assert check("n", 0, 0) == 0
    assert check("n", 0.5, 0.5) == 0.5
    assert check("n", np.int64(2), 2, integer=True) == 2
    for value in (-1e-9, np.inf, np.nan, True, "1", None):
        with refused("n is .*expected a number of 0 or more"):
            check("n", value, 0)
    for value in (1, 2.0, True, np.inf):
        with refused("expected an integer of 2 or more"):
            check("n", value, 2, integer=True)


def test_only_one_block_has_features_that_form_a_tensor():
    for blocks, output in [(1, "tensor"), (1, "flat"), (2, "flat"), (np.int64(3), "flat")]:
        parameters.check_blocks(blocks, output)
    with refused("form no tensor"):
        parameters.check_blocks(2, "tensor")
    for blocks in (0, 1.0):
        with refused("blocks is .*an integer of 1 or more"):
            parameters.check_blocks(blocks, "flat")


def test_the_budget_is_four_gibibytes_by_default():
    assert get_config()["working_memory"] == 1024  # MiB, what scikit-learn says
    assert parameters.memory_budget() == 4 * 1024**3


def test_tables_may_take_the_whole_budget(allow):
    table = np.empty((10, 10))
    allow(3 * table.nbytes)
    parameters.check_tables_fit(10, 3)
    allow(3 * table.nbytes - 4)
    with refused("moments of 3 classes of samples with 10 numbers"):
        parameters.check_tables_fit(10, 3)


# ── Labels and groups ───────────────────────────────────────────────────────────────────────────


def checked_labels(given, n=3):
    return labels.check_labels(MCSDA(), np.zeros((n, 2)), given)


def test_labels_are_one_column_of_one_kind():
    for given in ([1, 2, 1], ["a", "b", "a"], (1, 2, 1), [True, False, True]):
        assert checked_labels(given).tolist() == list(given)
    assert checked_labels(np.array(["a", "b", "a"], dtype=object)).tolist() == ["a", "b", "a"]
    with pytest.warns(DataConversionWarning, match="column-vector"):
        assert checked_labels(np.array([[1], [2], [1]])).shape == (3,)
    whole = np.ma.masked_array([1, 2, 1], mask=False)
    assert type(checked_labels(whole)) is np.ndarray
    with refused("requires y to be passed"):
        checked_labels(None)
    for given in ([1, 2], [1, 2, 1, 2]):
        with refused("inconsistent numbers of samples"):
            checked_labels(given)


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


def test_a_single_label_is_judged_as_several_are():
    assert checked_labels(np.array(["a"], dtype=object), 1).tolist() == ["a"]
    with refused("numbers as objects"):
        checked_labels(np.array([3], dtype=object), 1)


def test_masked_labels_and_weights_are_not_told_to_be_completed():
    """Gaps of samples may be completed, and those of labels and weights may not."""
    hidden = np.ma.masked_array(y, mask=np.arange(len(y)) == 2)
    with refused("y is a masked array with 1 masked values, and each must be known; fill them"):
        ProbabilisticLDA(missing="complete").fit(X, hidden)
    with refused("sample_weight is a masked array with 1 .* must be known; fill them"):
        ProbabilisticLDA().fit(X, y, hidden)
    holes = np.ma.masked_array(X, mask=np.arange(X.size).reshape(X.shape) == 5)
    with refused("X is a masked array with 1 .*; pass missing='complete' to have them completed"):
        ProbabilisticLDA().fit(holes, y)
    with refused("X is a masked array with 1 .* must be known; fill them"):
        ModeScaler(0).fit(holes)  # it cannot complete


def test_groups_are_sorted_and_numbered():
    for given in (["b", "a", "b"], [7, 3, 7], [2.5, 1.0, 2.5], [True, False, True]):
        names, numbers = check_groups("groups", given, 3)
        assert names.tolist() == sorted(set(given))
        assert numbers.tolist() == [1, 0, 1]
    objects = np.array(["b", "a", "b"], dtype=object)
    assert check_groups("groups", objects, 3)[1].tolist() == [1, 0, 1]


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


# ── What is fitted ──────────────────────────────────────────────────────────────────────────────


def test_only_what_was_learned_counts_as_fitted():
    model = MPCA(ranks=2)
    with pytest.raises(NotFittedError):
        fitted.check_fitted(model, "mean_")
    fitted.check_fitted(model.fit(X), "mean_")
    assert fitted.description_of(MPCA()) == {}
    described = fitted.description_of(model)
    assert described == {"sample_shape_": (4, 3), "n_features_in_": 12}
    assert fitted.of_samples({**described, "mean_": 0}) == described


def test_tables_hold_flat_rows_alone():
    model = MPCA(ranks=2, output="tensor").fit(X)
    assert model.transform(X).shape == (len(X), 2, 2)
    model.set_output(transform="pandas")
    with refused("asks for pandas, whose rows are flat"):
        model.transform(X)
    assert model.set_params(output="flat").transform(FLAT).shape == (len(X), 4)
    assert fitted.check_output(model) == "pandas"


def test_a_model_without_moments_says_how_to_keep_them():
    with refused("fit with statistics='moments', or start with partial_fit"):
        fitted.check_kept_moments(MPCA())
    with refused("nor revert take back; start with partial_fit"):
        fitted.check_kept_moments(ModeScaler(0))
    model = MPCA(ranks=2).partial_fit(X)
    assert fitted.check_kept_moments(model) is model.moments_


# ── Stores ──────────────────────────────────────────────────────────────────────────────────────


class Store:
    """Looks like an array in a file."""

    def __init__(self, array):
        self.array = array
        self.shape, self.dtype, self.ndim = array.shape, array.dtype, array.ndim

    def __getitem__(self, rows):
        return self.array[rows]


def test_what_is_no_array_in_memory_is_a_source():
    assert large_input.as_source(X) is None
    assert large_input.as_source(X.tolist()) is None
    kinds = [np.abs(FLAT).astype(kind) for kind in ("f4", "f2", "i8", "u1", "?")]
    for array in (X, FLAT, X[:1], FLAT[:, :1], *kinds):
        source = large_input.as_source(Store(array))
        assert isinstance(source, StoredSamples)
        assert source.shape == array.shape
        assert large_input.as_source(source) is source


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (FLAT[:, 0], r"shape \(\d+,\); expected at least 2 axes"),
        (FLAT.astype(complex), "complex128; expected real numbers"),
        (FLAT.astype("U"), "expected real numbers"),
        (FLAT[:0], r"0 sample\(s\)"),
    ],
)
def test_stores_that_hold_no_samples(array, words):
    with refused(words):
        large_input.as_source(Store(array))


def test_tables_of_dask_are_refused_with_the_remedy():
    class DataFrame:
        def to_dask_array(self, lengths):
            raise AssertionError("it would be read")

    assert not large_input.is_dask(X)
    with refused(r"a Dask DataFrame came; pass its \.to_dask_array\(lengths=True\)"):
        MPCA(ranks=2).fit(DataFrame())


# ── Gaps ────────────────────────────────────────────────────────────────────────────────────────


def with_gaps(array=X):
    gaps = np.random.default_rng(0).random(array.shape) < 0.1
    return np.where(gaps, np.nan, array), gaps


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16, np.uint8, bool])
def test_a_masked_array_is_one_with_gaps(dtype):
    numbers = (X > 0 if dtype is bool else np.abs(5 * X)).astype(dtype)
    kind = dtype if np.dtype(dtype).kind == "f" else float
    holes, gaps = with_gaps(numbers)
    model = MPCA(ranks=2, missing="complete").fit(np.ma.masked_array(numbers, mask=gaps))
    expected = MPCA(ranks=2, missing="complete").fit(holes.astype(kind))
    np.testing.assert_array_equal(model.mean_, expected.mean_)
    found = model.transform(np.ma.masked_array(numbers, mask=gaps))
    np.testing.assert_array_equal(found, expected.transform(holes.astype(kind)))
    assert found.dtype == kind


def test_whole_numbers_have_no_gaps():
    whole = np.rint(5 * X).astype(int)
    model = MPCA(ranks=2, missing="complete").fit(whole)
    np.testing.assert_allclose(model.transform(whole), MPCA(ranks=2).fit(whole).transform(whole))


def test_stores_without_gaps_are_scored_by_a_model_that_completes():
    holes, _ = with_gaps()
    model = MPCA(ranks=2, missing="complete").fit(holes)
    np.testing.assert_allclose(model.transform(StoredSamples.of(X)), model.transform(X))
    with refused("NaN or infin"):
        model.transform(StoredSamples.of(holes))


def test_large_numbers_are_no_gaps():
    large = np.where(X > 0, 1.0, -1.0) * 1e308
    large[0] = 1e308  # the sum is infinite, or infinity minus infinity
    assert adjustments._holes(large) is None
    model = SimpleNamespace(missing="complete")
    np.testing.assert_array_equal(adjustments.adjusted(model, large, None), large)


def test_what_only_samples_without_weight_know_is_not_known():
    holes = X.copy()
    holes[1:, 2, 1] = np.nan
    weight = np.full(len(X), 0.5)
    learned = MPCA(ranks=2, missing="complete").fit(holes, sample_weight=weight)
    assert np.isfinite(learned.transform(holes)).all()  # one sample with half a weight knows it
    weight[0] = 0
    with refused(r"1 of 12 numbers are missing in every sample, the first at \(2, 1\)"):
        MPCA(ranks=2, missing="complete").fit(holes, sample_weight=weight)


def test_samples_of_gaps_alone_are_told_from_classes_of_gaps_alone():
    holes = X.copy()
    first = np.flatnonzero(y == 1)
    holes[first[1:]] = np.nan
    with refused(f"{len(first) - 1} samples have no number at all"):
        ProbabilisticLDA(missing="complete").fit(holes, y)
    holes[first] = np.nan
    with refused("class 1 is only gaps"):
        ProbabilisticLDA(missing="complete").fit(holes, y)
    with refused(f"{len(first)} samples have no number at all"):
        MPCA(missing="complete").fit(holes, y)  # it has no classes
    named = LETTERS[y]
    with refused("class 'b' is only gaps"):
        ProbabilisticLDA(missing="complete").fit(holes, named)
    holes[first] = 0.0
    holes[first, 0, 0] = np.nan
    assert np.isfinite(ProbabilisticLDA(missing="complete").fit(holes, y).predict(holes)).all()


def test_completing_gaps_takes_the_memory_that_is_asked_for(allow):
    holes, _ = with_gaps(np.random.default_rng(2).normal(size=(20, 20, 10)))
    tables = 10 * np.empty((200, 200)).nbytes
    model = MPCA(ranks=2, missing="complete")
    tracemalloc.start()
    try:
        learned_completion(holes)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert tables / 2 < peak < tables
    allow(tables)
    model.fit(holes)
    allow(tables - 4)
    with refused("completing gaps in samples of 200 numbers needs"):
        model.fit(holes)


# ── Covariates ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "given",
    [
        [1, 2, 3],
        [[1], [2], [3]],
        np.array([1, 2, 3], dtype=np.uint8),
        np.ma.masked_array([1, 2, 3], mask=False),
        np.array([[1], [2.0], [3]], dtype=object),
        pd.Series([1, 2, 3]),
    ],
)
def test_covariates_are_columns_of_numbers(given):
    found = adjustments.check_covariates(given, 3)
    assert found.dtype == float
    assert found.tolist() == [[1.0], [2.0], [3.0]]


def test_covariates_of_several_kinds_are_numbers():
    table = pd.DataFrame({"age": [30, 40, 50], "site": [True, False, True], "dose": [0.5, 1, 2]})
    found = adjustments.check_covariates(table, 3)
    assert found.tolist() == [[30, 1, 0.5], [40, 0, 1], [50, 1, 2]]
    assert adjustments.check_covariates([True, False, True], 3).tolist() == [[1], [0], [1]]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["a", "b", "c"], "covariates hold .*expected numbers"),
        (np.array([1, "b", None], dtype=object), "covariates hold object"),
        (np.array([1, [2], (3, 4)], dtype=object), "covariates hold object"),
        (np.ones(3) * 1j, "covariates hold complex128"),
        (np.ones(2), "but there are 3 samples"),
        (np.ones((4, 1)), "but there are 3 samples"),
        (np.ones((3, 0)), r"shape \(3, 0\)"),
        (np.ones((3, 1, 1)), r"shape \(3, 1, 1\)"),
        (5.0, r"shape \(\)"),
        ([[1, 2], [np.nan, np.inf], [3, np.inf]], "of 2 samples are NaN .* first in row 1"),
        (np.ma.masked_array([1, 2, 3], mask=[0, 0, 1]), "of 1 samples .* first in row 2"),
    ],
)
def test_covariates_that_are_none(given, words):
    with refused(words):
        adjustments.check_covariates(given, 3)


def test_covariates_come_where_they_are_known_in_the_number_that_is_known():
    slopes, means = np.arange(24.0).reshape(2, 4, 3), np.array([1.0, -1.0])
    model = SimpleNamespace(covariate_slopes_=slopes, covariate_means_=means)
    ages = np.random.default_rng(1).normal(size=(len(X), 2))
    found = adjustments.adjusted(model, X, ages)
    np.testing.assert_allclose(found, X - np.tensordot(ages - means, slopes, axes=1))
    assert adjustments.adjusted(SimpleNamespace(), X, None) is X
    for unlike, given, words in [
        (model, None, "fitted with 2 covariates, and needs those of every sample"),
        (model, ages[:, :1], "there are 1 covariates per sample"),
        (model, ages[1:], "one row per sample"),
        (SimpleNamespace(), ages, "fitted without; leave them out"),
    ]:
        with refused(words):
            adjustments.adjusted(unlike, X, given)
    with refused("in memory only; load the samples"):
        adjustments.adjusted(model, StoredSamples.of(X), ages)
    with refused("in memory only; load the samples"):
        CSDA(positive=1).fit(StoredSamples.of(X), y, covariates=ages)
    with refused("fitted with covariates, whose effect is learned from all samples at once"):
        adjustments.refuse_parts(model)
    adjustments.refuse_parts(SimpleNamespace())


def test_one_covariate_in_moments_is_that_of_samples():
    ages = np.random.default_rng(1).normal(size=len(X))
    folded = {"ranks": 2, "positive": 1, "sample_shape": (4, 3)}
    model = MCSDA(**folded).fit(X, y, covariates=ages)
    moments = ClassMoments.from_batch(np.column_stack([FLAT, ages]), y)
    for count in (1, np.int64(1)):
        found = MCSDA(**folded).fit_moments(moments, covariates=count)
        assert found.covariate_slopes_.shape == (1, 4, 3)
        np.testing.assert_allclose(found.covariate_slopes_, model.covariate_slopes_)
        np.testing.assert_allclose(
            found.decision_function(X, ages), model.decision_function(X, ages), rtol=1e-6
        )
    flat = CSDA(ranks=2, positive=1).fit_moments(moments, covariates=1)
    assert flat.covariate_slopes_.shape == (1, 12)
    one = ClassMoments.from_batch(np.column_stack([FLAT[:, :1], ages]), y)
    assert CSDA(positive=1).fit_moments(one, covariates=1).n_features_in_ == 1
    folds = ClassMoments.from_batch(X, y)
    for wrong, count in [(one, True), (one, 2), (one, 0), (one, -1), (one, 1.0), (folds, 1)]:
        with refused(r"expected moments of flat rows \(x, z\)"):
            CSDA(positive=1).fit_moments(wrong, covariates=count)
    with refused(r"sample_shape is \(5, 3\)"):
        MCSDA(positive=1, sample_shape=(5, 3)).fit_moments(moments, covariates=1)


def test_gaps_and_covariates_of_an_earlier_fit_are_forgotten():
    holes, _ = with_gaps()
    ages = np.random.default_rng(1).normal(size=len(X))
    model = ProbabilisticLDA(missing="complete").fit(holes, y, covariates=ages)
    assert adjustments.is_adjusted(model, {})
    model.set_params(missing="error").fit(X, y)
    assert not [name for name in vars(model) if name.startswith(("covariate_", "completion_"))]
    assert not adjustments.is_adjusted(model, {"covariates": None})
    assert adjustments.is_adjusted(model, {"covariates": ages})
    assert adjustments.is_adjusted(model.set_params(missing="complete"), {})
    assert adjustments.is_adjusted(CSDA(positive=1).fit(X, y, covariates=ages), {})
