"""Laws at the edges of what is taken for samples: shapes, weights, names, arrays of others."""

import sys
from datetime import date
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context

from reference import problem
from tenfold import (
    CSDA,
    MCSDA,
    MPCA,
    ClassMoments,
    ProbabilisticLDA,
    labelled_projections,
    load,
)
from tenfold.mathematics.on_device import Place
from tenfold.system.device_samples import DeviceSamples
from tenfold.validation import named_axes, other_arrays, samples

X, y = problem((4, 3), classes=3, seed=61)
FLAT = X.reshape(len(X), -1)


def refused(words):
    return pytest.raises(ValueError, match=words)


# ── Shapes ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("shape", [(4, 3), [4, 3], np.array([4, 3]), (np.int64(4), 3)])
def test_flat_rows_are_folded_and_folded_samples_are_taken_as_they_are(shape):
    model = MPCA(ranks=2, sample_shape=shape).fit(FLAT)
    assert model.sample_shape_ == (4, 3)
    assert {type(size) for size in model.sample_shape_} == {int}
    assert model.n_features_in_ == 12
    expected = MPCA(ranks=2).fit(X).transform(X)
    for given in (FLAT, X, FLAT.tolist(), X.tolist(), tuple(X)):
        np.testing.assert_array_equal(model.transform(given), expected)
        np.testing.assert_array_equal(
            MPCA(ranks=2, sample_shape=shape).fit(given).transform(X), expected
        )


def test_a_single_mode_may_be_a_number():
    for shape in (12, np.int64(12), (12,), np.array(12), np.array([12])):
        assert MPCA(ranks=2, sample_shape=shape).fit(FLAT).sample_shape_ == (12,)
    for shape in (0, -12, 12.0, (12.0,), (12, 0), (12, 1.0), np.array([]), [[4, 3]], {4, 3}):
        with refused("expected positive integers"):
            MPCA(ranks=2, sample_shape=shape).fit(FLAT)


def test_a_single_sample_is_told_how_to_become_a_batch():
    model = MPCA(ranks=2).fit(X)
    with refused(r"3 features, but MPCA is expecting 12 .*for a single sample pass X\[None\]"):
        model.transform(X[0])
    flat = CSDA(ranks=2, positive=1).fit(FLAT, y)
    with refused(r"[Rr]eshape"):
        flat.transform(FLAT[0])
    cubes = MPCA(ranks=1).fit(X[..., None])
    with refused(r"fitted on \(4, 3, 1\).*pass X\[None\]"):
        cubes.transform(X[0][..., None])
    for other in (X[:, :2], X[0][:2], X[0].T):
        with pytest.raises(ValueError, match=r"fitted on|expecting 12") as caught:
            model.transform(other)
        assert "X[None]" not in str(caught.value)


def test_samples_have_a_number_in_every_mode():
    assert MPCA(ranks=1).fit(X[:, :1, :1]).sample_shape_ == (1, 1)
    for shape in [(0, 3), (4, 0), (4, 0, 3)]:
        with refused(r"hold no numbers; every mode needs at least 1 entry"):
            MPCA(ranks=1).fit(np.zeros((5, *shape)))
    with refused(r"0 sample\(s\)"):
        MPCA(ranks=1).fit(np.zeros((0, 4, 3)))


def test_tables_of_arrow_have_the_names_of_their_columns():
    arrow = pytest.importorskip("pyarrow")
    names = [f"p{i}" for i in range(12)]
    table = arrow.table(dict(zip(names, FLAT.T, strict=True)))
    model = MPCA(ranks=2, sample_shape=(4, 3)).fit(table)
    assert model.feature_names_in_.tolist() == names
    np.testing.assert_array_equal(model.transform(table), MPCA(ranks=2).fit(X).transform(X))
    with refused("names should match"):
        model.transform(table.rename_columns([*names[:-1], "q"]))


def test_projected_samples_come_flat_or_in_their_modes():
    for given in (np.zeros((5, 2, 3)), np.zeros((5, 6)), [[0, 0, 0, 0, 0, 0]]):
        assert samples.check_projected(given, (2, 3)).dtype == np.float64
    assert samples.check_projected(np.zeros((5, 6), np.float32), (2, 3)).dtype == np.float32
    for shape in [(5, 3, 2), (5, 5), (5, 2), (5, 1, 6), (5, 2, 3, 1)]:
        with refused(r"this model projects onto \(2, 3\), or 6 numbers"):
            samples.check_projected(np.zeros(shape), (2, 3))


# ── Labels and weights of batches ───────────────────────────────────────────────────────────────


def test_weights_are_zero_or_more_and_not_all_zero():
    assert samples.check_weights(X, None) is None
    one = np.zeros(len(X))
    one[0] = np.nextafter(0, 1)
    np.testing.assert_array_equal(samples.check_weights(X, one), one)
    whole = samples.check_weights(X, np.arange(len(X)))
    assert whole.dtype == float
    one[1] = -one[0]
    with refused("negative numbers"):
        samples.check_weights(X, one)
    with refused("sums to zero"):
        samples.check_weights(X, np.zeros(len(X)))
    for given in (np.ones(len(X) - 1), np.ones((len(X), 1)), []):
        with refused("one weight per sample"):
            samples.check_weights(X, given)
    with refused("more than a float64 holds"):
        samples.check_weights(X, np.full(len(X), 1e308))


def test_classes_that_have_no_weight_are_not_there():
    weight = np.where(y == 2, 0.0, 0.5)
    assert samples.present_labels(y, None).tolist() == [0, 1, 2]
    assert samples.present_labels(y, weight).tolist() == [0, 1]
    assert samples.announced_labels(y, weight, None).tolist() == [0, 1]
    assert samples.announced_labels(y, weight, [5, 0, 1, 5]).tolist() == [0, 1, 5]
    with refused("1 class"):
        ProbabilisticLDA().fit(X, y, np.where(y == 0, 1.0, 0.0))
    assert ProbabilisticLDA().fit(X, y, weight).classes_.tolist() == [0, 1]


def test_samples_without_labels_are_one_class():
    moments = MPCA(ranks=2).partial_fit(X).moments_
    pooled = ClassMoments.from_batch(X, y).pooled()
    assert moments.classes.tolist() == pooled.classes.tolist()
    for classes in (None, [4, 5]):
        found = samples.announced_labels(None, None, classes)
        assert found.tolist() == pooled.classes.tolist()
    assert np.issubdtype(samples.present_labels(None, None).dtype, np.integer)


def test_one_class_is_not_told_apart_from_nothing():
    samples.check_classes(np.array([0, 1]), MCSDA())
    with refused(r"1 class \('a'\) only"):
        samples.check_classes(np.array(["a"]), MCSDA())
    announced = MCSDA(ranks=2, positive=0).partial_fit(X[y == 0], y[y == 0], classes=[0, 1])
    assert announced.classes_.tolist() == [0, 1]
    with refused("1 class"):
        MCSDA(ranks=2).partial_fit(X[y == 0], y[y == 0])
    with refused("1 class"):
        MCSDA(ranks=2).partial_fit(X, y, classes=[0, 0])


def test_later_batches_have_the_labels_that_were_announced():
    known = np.array(["a", "b"])
    samples.check_known_labels(np.array(["b", "b"]), known)
    samples.check_known_labels(None, known)
    with refused(r"labels are numbers \(1, .*known so far are text \('a', "):
        samples.check_known_labels(np.array([1, 2]), known)
    with refused(r"labels \['c', 'd'\] were not there"):
        samples.check_known_labels(np.array(["d", "a", "c", "d"]), known)
    for classes in (None, ["b", "a", "b"], np.array(["a", "b"])):
        samples.check_same_classes(classes, known)
    for classes in (["a"], ["a", "b", "c"], ["a", "c"]):
        with refused(r"but partial_fit began with \['a', 'b'\]"):
            samples.check_same_classes(classes, known)


def test_moments_are_of_samples_and_classes():
    moments = ClassMoments.from_batch(X, y)
    described, found = samples.check_moments(MCSDA(), moments)
    assert described == {"sample_shape_": (4, 3), "n_features_in_": 12}
    assert found.classes.tolist() == [0, 1, 2]
    assert samples.check_moments(MPCA(), moments)[1].classes.tolist() == [0]
    announced = ClassMoments.from_batch(X, y, classes=np.arange(5))
    assert samples.check_moments(MCSDA(), announced)[1].classes.tolist() == [0, 1, 2]
    flat = ClassMoments.from_batch(FLAT, y)
    described, found = samples.check_moments(MCSDA(sample_shape=(4, 3)), flat)
    assert described["sample_shape_"] == found.means.shape[1:] == (4, 3)
    with refused("is a ndarray; expected ClassMoments"):
        samples.check_moments(MCSDA(), X)
    with refused("of no samples"):
        samples.check_moments(MPCA(), ClassMoments.from_batch(X, y, np.zeros(len(X))))
    with refused("1 class"):
        samples.check_moments(MCSDA(), ClassMoments.from_batch(X[y == 0], y[y == 0]))
    for shape, wrong in [((3, 4), moments), ((12,), moments), ((4, 4), flat), ((2, 6, 2), flat)]:
        with refused("sample_shape is"):
            samples.check_moments(MCSDA(sample_shape=shape), wrong)
    assert samples.check_moments(MCSDA(sample_shape=(4, 3)), moments)[1].means.shape == (3, 4, 3)


def test_a_method_that_needs_labels_says_so():
    for call in (MCSDA().fit, MCSDA().partial_fit):
        with refused("MCSDA requires y to be passed"):
            call(X, None)
    with refused("MCSDA requires y to be passed"):  # which is said before samples are read
        samples.check_batch(MCSDA(), "no samples", None, None)
    batch = samples.check_batch(MPCA().fit(X), X, None, y)
    assert batch[1] is None
    np.testing.assert_array_equal(batch[2], y)


# ── Names ───────────────────────────────────────────────────────────────────────────────────────

COLUMNS = pd.MultiIndex.from_product([list("pqrs"), [10, 20, 30]])
TABLE = pd.DataFrame(FLAT, columns=COLUMNS)


@pytest.fixture
def xarray():
    return pytest.importorskip("xarray")


def labelled(xarray, array=X, **coords):
    dims = ("trial", "channel", "time")[: array.ndim]
    return xarray.DataArray(array, dims=dims, coords=coords)


def test_names_are_kept_until_the_next_fit():
    model = SimpleNamespace()
    found = named_axes.named_samples(model, TABLE, True)
    np.testing.assert_array_equal(found.values, X)
    found.remember(model, (12,))  # folded otherwise
    assert vars(model) == {}
    found.remember(model, (4, 3))
    assert model.mode_names_ == ("mode 1", "mode 2")
    turned = TABLE.iloc[:, ::-1]
    np.testing.assert_array_equal(named_axes.named_samples(model, turned, False).values, X)
    assert named_axes.named_samples(model, X, False) is None
    assert set(vars(model)) == {"mode_names_", "mode_labels_"}
    assert named_axes.named_samples(model, X, True) is None
    assert vars(model) == {}
    turned_first = named_axes.named_samples(model, turned, True)
    np.testing.assert_array_equal(turned_first.values, X[:, ::-1, ::-1])


def test_axes_are_put_in_the_order_that_is_known(xarray):
    model = SimpleNamespace()
    given = labelled(xarray, channel=list("pqrs"), time=[0.5, 1.5, 2.5])
    found = named_axes.named_samples(model, given, True)
    np.testing.assert_array_equal(found.values, X)
    assert found.mode_names == ("channel", "time")
    assert [entries.tolist() for entries in found.mode_labels] == [list("pqrs"), [0.5, 1.5, 2.5]]
    found.remember(model, (4, 3))
    turned = given.transpose("time", "channel", "trial")[::-1, ::-1]
    np.testing.assert_array_equal(named_axes.named_samples(model, turned, False).values, X)
    first = named_axes.named_samples(model, turned, True)
    np.testing.assert_array_equal(first.values, turned.values)
    assert first.mode_names == ("channel", "trial")


def test_levels_without_names_are_numbered():
    model = MPCA(ranks=2).fit(TABLE)
    assert model.sample_shape_ == (4, 3)
    assert model.mode_names_ == ("mode 1", "mode 2")
    assert [entries.tolist() for entries in model.mode_labels_] == [list("pqrs"), [10, 20, 30]]
    half = MPCA(ranks=2).fit(TABLE.rename_axis(columns=["channel", None]))
    assert half.mode_names_ == ("channel", "mode 2")


def test_columns_are_all_pairs_of_entries_once():
    model = MPCA(ranks=2).fit(TABLE)
    turned = TABLE.iloc[:, np.random.default_rng(0).permutation(12)]
    expected = MPCA(ranks=2).fit(X).transform(X)
    np.testing.assert_array_equal(model.transform(turned), expected)
    twice = pd.concat([TABLE, TABLE.iloc[:, :1]], axis=1)
    more = pd.concat([TABLE, TABLE.iloc[:, :3].rename(columns={"p": "t"})], axis=1)
    instead = TABLE.rename(columns={"p": "t"})
    for other in (twice, TABLE.iloc[:, 1:]):
        for call in (model.transform, MPCA(ranks=2).fit):
            with refused("expected a column for each of the 12 combinations"):
                call(other)
    both = pd.concat([TABLE.iloc[:, 1:], TABLE.iloc[:, 1:2]], axis=1)  # one twice, one not at all
    for call in (model.transform, MPCA(ranks=2).fit):
        with refused("expected a column for each of the 12 combinations"):
            call(both)
    for other in (more, instead):
        assert MPCA(ranks=2).fit(other).sample_shape_ == (len(other.columns) // 3, 3)
        with refused("expected a column for each of the 12 combinations"):
            model.transform(other)


def test_one_level_of_columns_is_flat():
    names = list("abcdefghijkl")
    flat = TABLE.set_axis(names, axis=1)
    assert MPCA(ranks=2).fit(flat).sample_shape_ == (12,)
    for one in (flat, TABLE.set_axis(pd.MultiIndex.from_arrays([names]), axis=1)):
        assert named_axes.named_samples(MPCA(), one, True) is None


def test_a_later_fit_forgets_names():
    model = MPCA(ranks=2).fit(TABLE)
    model.fit(X)
    assert not hasattr(model, "mode_names_")
    assert not hasattr(model, "mode_labels_")


def test_names_of_samples_that_are_folded_are_not_those_of_their_modes(xarray):
    flat = labelled(xarray, FLAT)
    assert MPCA(ranks=2).fit(flat).mode_names_ == ("channel",)
    assert not hasattr(MPCA(ranks=2, sample_shape=(4, 3)).fit(flat), "mode_names_")


def test_entries_are_put_in_the_order_of_the_model(xarray):
    given = labelled(xarray, channel=list("pqrs"), time=[0, 1, 2])
    model = MPCA(ranks=2).fit(given)
    expected = MPCA(ranks=2).fit(X).transform(X)
    for other in (
        given,
        given.isel(channel=[2, 0, 3, 1]),
        given.isel(time=[2, 0, 1]).transpose("time", "trial", "channel"),
        given.rename(trial="day"),
    ):
        np.testing.assert_array_equal(model.transform(other).values, expected)
    for other in (
        given.assign_coords(channel=list("pqrt")),
        given.assign_coords(channel=list("pqrr")),
        given.isel(channel=[0, 1, 2]),
        given.isel(channel=[0, 1, 2, 3, 0]),
    ):
        with refused("entries of axis 'channel' are"):
            model.transform(other)
    for other in (given.isel(time=0), given.rename(time="lag"), given.expand_dims("more")):
        with refused("axes of the samples are"):
            model.transform(other)
    twins = given.assign_coords(channel=list("pprs"))
    same = MPCA(ranks=2).fit(twins)
    np.testing.assert_array_equal(same.transform(twins).values, expected)
    with refused("entries of axis 'channel' are"):  # which of the twins is which?
        same.transform(twins.isel(channel=[3, 0, 1, 2]))


def test_axes_without_a_coordinate_have_no_entries(xarray, tmp_path):
    given = labelled(xarray, channel=list("pqrs"))
    model = MPCA(ranks=2).fit(given)
    assert model.mode_labels_[1] is None
    model.save(tmp_path / "m.safetensors")
    loaded = load(tmp_path / "m.safetensors")
    assert loaded.mode_labels_[0].tolist() == list("pqrs")
    assert loaded.mode_labels_[1] is None
    expected = MPCA(ranks=2).fit(X).transform(X)
    for one in (model, loaded):
        for other in (given, given.assign_coords(time=[7, 8, 9]), given.drop_vars("channel")):
            np.testing.assert_allclose(one.transform(other).values, expected)
    channel, time = labelled_projections(model)
    assert channel.channel.values.tolist() == list("pqrs")
    assert "time" not in time.coords


def test_entries_that_a_file_cannot_hold_become_text(xarray):
    days = np.array(["2026-01-01", "2026-01-02", "2026-01-03"], dtype="M8[ns]")
    model = MPCA(ranks=2).fit(labelled(xarray, channel=[1.5, 2.5, 3.5, 4.5], time=days))
    numbers, texts = model.mode_labels_
    assert numbers.tolist() == [1.5, 2.5, 3.5, 4.5]
    assert texts.dtype.kind == "U"
    assert [text[:10] for text in texts] == [str(date(2026, 1, day)) for day in (1, 2, 3)]
    for kind in (bool, np.uint8, int, np.float32):
        entries = np.arange(3).astype(kind)
        found = MPCA(ranks=2).fit(labelled(xarray, time=entries)).mode_labels_
        assert found[0] is None
        assert found[1].dtype == entries.dtype


def test_projections_have_the_axis_of_samples_and_its_coordinates(xarray):
    who = np.arange(len(X)) + 100
    given = labelled(xarray, trial=who, time=[0, 1, 2]).assign_coords(
        label=("trial", y), loud=("time", [1, 0, 1]), lab="north", both=(("trial", "time"), X[:, 0])
    )
    plain = MPCA(ranks=2).fit(X)
    for model in (MPCA(ranks=2).fit(given), plain):  # also of a model that knows no names
        found = model.transform(given)
        assert found.dims == ("trial", "feature")
        assert set(found.coords) == {"trial", "label", "feature"}
        assert found.feature.values.tolist() == plain.get_feature_names_out().tolist()
        np.testing.assert_array_equal(found.values, plain.transform(X))
        np.testing.assert_array_equal(found.trial, who)
        tensor = model.set_params(output="tensor").transform(given)
        assert tensor.dims == ("trial", "channel_component", "time_component")
        assert set(tensor.coords) == {"trial", "label"}
        assert tensor.shape == (len(X), 2, 2)
        table = model.set_params(output="flat").set_output(transform="pandas").transform(given)
        assert isinstance(table, pd.DataFrame)
        assert table.index.tolist() == who.tolist()
        model.set_output(transform="default")


# ── Arrays of other libraries ───────────────────────────────────────────────────────────────────


class Tensor:
    """What the checks look at, of a tensor of another library."""

    def __init__(self, dtype="torch.float64", device="cpu", **attributes):
        self.dtype, self.device = dtype, device
        vars(self).update(attributes)

    def __array_namespace__(self):
        return np


def test_arrays_of_others_are_told_from_what_wraps_them(monkeypatch):
    assert other_arrays.is_other(Tensor())
    for own in (X, X[0, 0, 0], X.tolist(), TABLE, None, np.ma.masked_array(X)):
        assert not other_arrays.is_other(own)
        assert other_arrays.place_of(own) is None

    class WithoutNamespace:
        device = "cpu"

    class WithoutDevice:
        __array_namespace__ = None

    monkeypatch.setitem(sys.modules, "torch", None)
    assert not other_arrays.is_other(WithoutNamespace())
    assert not other_arrays.is_other(WithoutDevice())
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(Tensor=WithoutNamespace))
    assert other_arrays.is_other(WithoutNamespace())  # tensors have none of the standard's
    assert not other_arrays.is_other(WithoutDevice())


def test_real_numbers_that_numpy_has_are_read():
    real = [f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)]
    for name in (*real, "float16", "float32", "float64", "bool"):
        assert np.dtype(name).kind in "iufb"
        for prefix in ("", "torch."):
            tensor = Tensor(prefix + name)
            assert other_arrays.check_readable(tensor) is tensor
    for name in ("bfloat16", "complex64", "complex128", "float8_e5m2", "int4"):
        with refused(rf"weights holds {name} numbers.*weights\.float\(\)"):
            other_arrays.check_readable(Tensor(f"torch.{name}"), "weights")


def test_numbers_that_cannot_be_read_are_refused():
    for device in ("cpu", "cuda:0", "mps"):
        there = Tensor(device=device, requires_grad=False, layout="torch.strided")
        assert other_arrays.check_readable(there) is there
    for words, tensor in {
        "'meta', where tensors have a shape and no numbers": Tensor(device="meta"),
        r"requires gradients.*X\.detach\(\)": Tensor(requires_grad=True),
        r"sparse tensor .*X\.to_dense\(\)": Tensor(layout="torch.sparse_coo"),
    }.items():
        with refused(words):
            other_arrays.check_readable(tensor)


def test_what_is_numpy_stays_as_it_is():
    for own in (X, TABLE, X.tolist(), None):
        assert other_arrays.in_numpy(own) is own
    with refused("y requires gradients"):
        other_arrays.in_numpy(Tensor(requires_grad=True), "y")
    lazy = SimpleNamespace(dask={}, __array__=lambda *_, **__: FLAT)
    assert isinstance(other_arrays.in_numpy(lazy), np.ndarray)


def test_samples_stay_where_they_are_if_they_are_a_batch_of_finite_numbers():
    strict = pytest.importorskip("array_api_strict")
    device = strict.Device("device1")
    place = Place(strict, device)
    for array in (X, FLAT, FLAT[:1, :1], np.rint(X).astype(np.int32), X > 0):
        found = other_arrays.samples_at(strict.asarray(array, device=device), place)
        assert isinstance(found, DeviceSamples)
        assert (found.shape, found.place) == (array.shape, place)
    gaps = np.where(X > 1, np.nan, X)
    for array in (gaps, np.where(X > 1, np.inf, X), FLAT[0], X[:0], X[:, :0]):
        found = other_arrays.samples_at(strict.asarray(array, device=device), place)
        np.testing.assert_array_equal(found, array)
        assert type(found) is np.ndarray


def test_without_dispatch_numpy_reads_what_is_on_the_host():
    strict = pytest.importorskip("array_api_strict")
    here = strict.asarray(X, device=strict.Device("CPU_DEVICE"))
    expected = MPCA(ranks=2).fit(X).transform(X)
    found = MPCA(ranks=2).fit(here).transform(here)
    assert type(found) is np.ndarray
    np.testing.assert_array_equal(found, expected)
    with refused("device1.*, which NumPy cannot read"):
        MPCA(ranks=2).fit(strict.asarray(X, device=strict.Device("device1")))


def test_samples_must_be_where_the_model_is():
    here, there = Place(np, "here"), Place(np, "there")
    other_arrays.check_same_place("M", "predict", here, Place(np, "here"))
    for place, own in [(there, here), (None, here), (here, None), (None, None)]:
        came = "of NumPy or in another form" if place is None else f"of numpy on {place.device}"
        with refused(rf"M\.predict\(\) must use the same namespace.*these samples are {came}"):
            other_arrays.check_same_place("M", "predict", place, own)
    with config_context():
        assert other_arrays.dispatches() is False
