"""Laws at the edges of what is taken for samples: shapes, weights, names, arrays of others."""

from datetime import date

import numpy as np
import pandas as pd
import pytest

from reference import problem
from tenfold import (
    CSDA,
    MPCA,
    labelled_projections,
    load,
)

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


# ── Names ───────────────────────────────────────────────────────────────────────────────────────

COLUMNS = pd.MultiIndex.from_product([list("pqrs"), [10, 20, 30]])
TABLE = pd.DataFrame(FLAT, columns=COLUMNS)


@pytest.fixture
def xarray():
    return pytest.importorskip("xarray")


def labelled(xarray, array=X, **coords):
    dims = ("trial", "channel", "time")[: array.ndim]
    return xarray.DataArray(array, dims=dims, coords=coords)


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


def test_without_dispatch_numpy_reads_what_is_on_the_host():
    strict = pytest.importorskip("array_api_strict")
    here = strict.asarray(X, device=strict.Device("CPU_DEVICE"))
    expected = MPCA(ranks=2).fit(X).transform(X)
    found = MPCA(ranks=2).fit(here).transform(here)
    assert type(found) is np.ndarray
    np.testing.assert_array_equal(found, expected)
    with refused("device1.*, which NumPy cannot read"):
        MPCA(ranks=2).fit(strict.asarray(X, device=strict.Device("device1")))
