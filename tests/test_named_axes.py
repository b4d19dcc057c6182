"""Samples whose axes have names: what comes in with names goes out with them."""

import numpy as np
import pandas
import pytest

import tenfold
from tenfold.plots import ProjectionsDisplay

CHANNELS = ["Fz", "C3", "Cz", "C4", "Pz"]
TIMES = np.linspace(0, 0.7, 8)
SUBJECTS = np.arange(500, 560)


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = rng.normal(size=(60, 5, 8))
    X[np.arange(60), y] += 1.0
    return X, y


@pytest.fixture(scope="module")
def trials(samples):
    """The samples as xarray has them, with coordinates of every axis and the labels along."""
    xarray = pytest.importorskip("xarray", reason="xarray comes with the extra of its name")
    X, y = samples
    coords = {"trial": SUBJECTS, "channel": CHANNELS, "time": TIMES, "who": ("trial", y)}
    return xarray.DataArray(X, dims=("trial", "channel", "time"), coords=coords)


@pytest.fixture(scope="module")
def shuffled(trials):
    """The same numbers with axes and channels in another order."""
    return trials.transpose("time", "trial", "channel").isel(channel=[3, 0, 4, 1, 2])


MODELS = {
    "projector": tenfold.CMDA((2, 3)),
    "flat projector": tenfold.CSDA(3, positive=1),
    "gaussian": tenfold.ProbabilisticLDA("linear"),
    "gaussian in a subspace": tenfold.ProbabilisticLDA(views=[tenfold.MPCA((3, 3))]),
    "bank": tenfold.ClassSpecificClassifier(tenfold.MCSDA((2, 2))),
    "verifier": tenfold.ClassSpecificVerifier(
        tenfold.MCSDA((2, 2)), positive=1, false_accept_rate="equal"
    ),
    "search": tenfold.RankSearchCV(
        tenfold.MCSDA(positive=1), ranks=[(2, 2), (1, 2)], cv=2, verbose=False
    ),
}


@pytest.mark.parametrize("kind", MODELS)
def test_names_decide_and_not_positions(kind, samples, trials, shuffled, tmp_path):
    X, y = samples
    model, plain = MODELS[kind].fit(trials, y), None
    answer = "transform" if "projector" in kind else "decision_function"
    first = np.asarray(getattr(model, answer)(trials))
    np.testing.assert_allclose(np.asarray(getattr(model, answer)(shuffled)), first)
    if kind != "search":
        model.save(tmp_path / "m.safetensors")
        loaded = tenfold.load_model(tmp_path / "m.safetensors")
        np.testing.assert_array_equal(np.asarray(getattr(loaded, answer)(shuffled)), first)
    plain = MODELS[kind].fit(X, y)
    np.testing.assert_array_equal(np.asarray(getattr(plain, answer)(X)), first)
    assert not hasattr(plain, "mode_names_")


def test_projected_samples_keep_the_coordinates_of_samples(trials, samples):
    model = tenfold.CMDA((2, 3)).fit(trials, samples[1])
    projected = model.transform(trials)
    assert projected.dims == ("trial", "feature")
    assert projected.trial.values.tolist() == SUBJECTS.tolist()
    assert projected.who.values.tolist() == samples[1].tolist()
    assert projected.feature.values.tolist() == model.get_feature_names_out().tolist()
    np.testing.assert_array_equal(projected.values, model.transform(trials.values))
    whole = tenfold.CMDA((2, 3), output="tensor").fit(trials, samples[1]).transform(trials)
    assert whole.dims == ("trial", "channel_component", "time_component")


def test_set_output_gives_a_table_with_the_samples_as_its_index(trials, samples):
    model = tenfold.CMDA((2, 3)).set_output(transform="pandas").fit(trials, samples[1])
    table = model.transform(trials)
    assert table.index.tolist() == SUBJECTS.tolist()
    assert table.columns.tolist() == [f"cmda_channel{i}_time{j}" for i, j in np.ndindex(2, 3)]


def test_labelled_projections_have_the_names_of_the_samples(trials, samples):
    model = tenfold.CMDA((2, 3)).fit(trials, samples[1])
    channel, time = tenfold.labelled_projections(model)
    assert (channel.dims, time.dims) == (("channel", "component"), ("time", "component"))
    assert channel.channel.values.tolist() == CHANNELS
    np.testing.assert_array_equal(time.time.values, TIMES)
    np.testing.assert_array_equal(channel.values, model.projections_[0])
    unnamed = tenfold.CMDA((2, 3)).fit(*samples)
    assert tenfold.labelled_projections(unnamed)[0].dims == ("mode 1", "component")
    flat = tenfold.CSDA(2, positive=1).fit(trials, samples[1])
    assert tenfold.labelled_projections(flat)[0].shape == (40, 2)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda A: A.rename(time="lag"), r"axes of the samples are .*'lag'.*\('channel', 'time'\)"),
        (lambda A: A.isel(time=0), r"axes of the samples are \('trial', 'channel'\)"),
        (
            lambda A: A.assign_coords(channel=["Fz", "C3", "Cz", "C4", "Oz"]),
            "entries of axis 'channel' are Fz, C3, Cz, C4, Oz, but this model was fitted on",
        ),
    ],
)
def test_other_axes_and_entries_are_refused(trials, samples, change, complaint):
    model = tenfold.CMDA((2, 3)).fit(trials, samples[1])
    with pytest.raises(ValueError, match=complaint):
        model.transform(change(trials))


def test_axes_without_a_coordinate_have_no_entries(trials, samples, tmp_path):
    given = trials.drop_vars("time")
    model = tenfold.MPCA(2).fit(given)
    model.save(tmp_path / "m.safetensors")
    expected = tenfold.MPCA(2).fit_transform(samples[0])
    for one in (model, tenfold.load_model(tmp_path / "m.safetensors")):
        assert one.mode_labels_[0].tolist() == CHANNELS
        assert one.mode_labels_[1] is None
        for other in (given, trials, given.drop_vars("channel")):
            np.testing.assert_allclose(one.transform(other).values, expected)
    channel, time = tenfold.labelled_projections(model)
    assert channel.channel.values.tolist() == CHANNELS
    assert "time" not in time.coords


def test_entries_that_a_file_cannot_hold_become_text(trials):
    days = np.arange("2026-01-01", "2026-01-09", dtype="M8[D]").astype("M8[ns]")
    model = tenfold.MPCA(2).fit(trials.assign_coords(time=days))
    assert [str(text)[:10] for text in model.mode_labels_[1]] == [str(d)[:10] for d in days]
    for kind in (bool, np.uint8, int, np.float32):
        entries = np.arange(8).astype(kind)
        found = tenfold.MPCA(2).fit(trials.assign_coords(time=entries)).mode_labels_[1]
        assert found.dtype == entries.dtype


def test_names_of_samples_that_are_folded_are_not_those_of_their_modes(trials):
    flat = trials.stack(pixel=("channel", "time")).drop_vars(("channel", "time", "pixel"))
    assert tenfold.MPCA(2).fit(flat).mode_names_ == ("pixel",)
    assert not hasattr(tenfold.MPCA(2, sample_shape=(5, 8)).fit(flat), "mode_names_")


# ── Tables ──────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def table(samples):
    columns = pandas.MultiIndex.from_product([CHANNELS, TIMES], names=["channel", "time"])
    return pandas.DataFrame(samples[0].reshape(60, -1), index=SUBJECTS, columns=columns)


def test_levels_of_columns_are_the_modes(table, samples):
    X, y = samples
    model = tenfold.CMDA((2, 3)).fit(table, y)
    assert model.sample_shape_ == (5, 8)
    assert model.mode_names_ == ("channel", "time")
    expected = tenfold.CMDA((2, 3)).fit(X, y).transform(X)
    np.testing.assert_array_equal(model.transform(table), expected)
    np.testing.assert_array_equal(model.transform(table[table.columns[::-1]]), expected)
    with pytest.raises(ValueError, match="39 columns in 2 levels"):
        model.transform(table.iloc[:, 1:])


def test_levels_without_names_are_numbered_and_a_later_fit_forgets_them(table, samples):
    model = tenfold.MPCA(2).fit(table.rename_axis(columns=["channel", None]))
    assert model.mode_names_ == ("channel", "mode 2")
    assert [entries.tolist() for entries in model.mode_labels_] == [CHANNELS, TIMES.tolist()]
    model.fit(samples[0])
    assert not hasattr(model, "mode_names_")
    assert not hasattr(model, "mode_labels_")


def test_columns_are_all_pairs_of_entries_once(table):
    model = tenfold.MPCA(2).fit(table)
    twice = pandas.concat([table, table.iloc[:, :1]], axis=1)
    instead = pandas.concat([table.iloc[:, 1:], table.iloc[:, 1:2]], axis=1)
    renamed = table.rename(columns={"Fz": "Oz"})
    refused = pytest.raises(ValueError, match="expected a column for each of the 40 combinations")
    for call, other in [
        *((model.transform, table) for table in (twice, instead, renamed)),
        *((tenfold.MPCA(2).fit, table) for table in (twice, instead)),
    ]:
        with refused:
            call(other)
    assert tenfold.MPCA(2).fit(renamed).sample_shape_ == (5, 8)


def test_tables_of_arrow_have_the_names_of_their_columns(samples):
    arrow = pytest.importorskip("pyarrow")
    X, names = samples[0], [f"p{i}" for i in range(40)]
    table = arrow.table(dict(zip(names, X.reshape(60, -1).T, strict=True)))
    model = tenfold.MPCA(2, sample_shape=(5, 8)).fit(table)
    assert model.feature_names_in_.tolist() == names
    np.testing.assert_array_equal(model.transform(table), tenfold.MPCA(2).fit_transform(X))
    with pytest.raises(ValueError, match="names should match"):
        model.transform(table.rename_columns([*names[:-1], "q"]))


def test_the_error_of_flat_columns_names_sample_shape(table, samples):
    flat = table.set_axis([f"p{i}" for i in range(40)], axis=1)
    with pytest.raises(ValueError, match=r"sample_shape=\(I, J, \.\.\.\) folds flat rows"):
        tenfold.CMDA((2, 3)).fit(flat, samples[1])
    model = tenfold.CMDA((2, 3), sample_shape=(5, 8)).set_output(transform="pandas")
    found = model.fit(flat, samples[1]).transform(flat)
    assert found.index.tolist() == SUBJECTS.tolist()


def test_plots_use_the_names_of_the_samples(table, samples):
    display = ProjectionsDisplay.from_estimator(tenfold.CMDA((2, 3)).fit(table, samples[1]))
    assert [ax.get_title() for ax in display.axes_] == ["channel (5 to 2)", "time (8 to 3)"]
    assert [tick.get_text() for tick in display.axes_[0].get_yticklabels()] == CHANNELS


# ── Gaps ────────────────────────────────────────────────────────────────────────────────────────


def test_masked_labels_and_weights_are_not_told_to_be_completed(samples):
    """Gaps of samples may be completed, and those of labels and weights may not."""
    X, y = samples
    hidden = np.ma.masked_array(y, mask=np.arange(len(y)) == 2)
    for name, fit in (("y", (X, hidden)), ("sample_weight", (X, y, hidden))):
        with pytest.raises(ValueError, match=rf"{name} is a masked array with 1 .*fill them"):
            tenfold.ProbabilisticLDA().fit(*fit)


class Epochs:
    """What tells the epochs of MNE."""

    events, event_id = np.zeros((4, 3), dtype=int), {"left": 0}

    def get_data(self):
        return np.zeros((4, 2, 5))


def test_containers_of_several_arrays_are_answered_with_what_to_type(trials, samples):
    whole = trials.to_dataset(name="volts").assign(weight=1.0)
    for model in (tenfold.ProbabilisticLDA(), tenfold.CSDA()):
        with pytest.raises(ValueError, match=r"Dataset of xarray.*pass one of them.*X\['volts'\]"):
            model.fit(whole, samples[1])
        with pytest.raises(ValueError, match=r"epochs of MNE.*epochs\.get_data\(\)"):
            model.fit(Epochs(), [0, 0, 1, 1])
