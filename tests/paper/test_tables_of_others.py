"""The experiments on data of others: their pieces, on made-up data of the same form."""

import json

import numpy as np
import pytest

from paper.__main__ import main
from paper.gait import PROBES, fitted, percent_within, places
from paper.recordings import letters_right
from paper.tables import published


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Twelve walkers with five half steps; another surface adds the same to all of them."""
    root, rng = tmp_path_factory.mktemp("data"), np.random.default_rng(0)
    (root / "gait").mkdir()
    (root / "small").mkdir()
    persons, surface = 3 * rng.normal(size=(13, 8, 6, 4)), 30 * rng.normal(size=(8, 6, 4))
    y = np.repeat(np.arange(1, 13), 5)
    for name in ("Gal", *(f"Prb{probe}" for probe in PROBES)):
        labels = np.concatenate([y, [0, 0]]) if name in ("PrbD", "PrbG") else y
        X = persons[labels] + rng.normal(size=(len(labels), 8, 6, 4))
        X += surface if name[-1] in "DEFG" else 0
        np.savez(root / "gait" / f"{name}.npz", X=X, y=labels)
    y = np.repeat([1, 2, 3], 8)
    X = rng.normal(size=(3, 4, 3))[y - 1] * 2 + rng.normal(size=(24, 4, 3))
    np.savez(root / "small" / "ifnb.npz", X=X, y=y)
    np.savez(root / "small" / "csa.npz", PEL=X, IDLH=X + 1, y=y)
    make_recordings(root / "eeg", rng)
    make_series(root / "uea", rng)
    return root


def make_recordings(folder, rng):
    """Two targets among twelve flashes, five times a letter, with a bump in channel 0."""
    folder.mkdir()
    flash = np.tile(np.arange(1, 13), 50)
    letter, run = np.repeat(np.tile(np.arange(5), 2), 60), np.repeat([0, 1], 300)
    y = (flash == 1 + letter) | (flash == 7 + letter)
    X = rng.normal(size=(600, 3, 8))
    X[y, 0] += 2 * np.hanning(8)
    known = {"X": np.rint(100 * X).astype("i2"), "y": y.astype("i1"), "scale": np.float32(0.01)}
    np.savez(
        folder / "bnci2015_003_s6_8.npz",
        **known,
        run=run,
        letter=letter,
        flash=flash,
        subject=np.full(600, 6),
    )
    np.savez(folder / "muse_p300.npz", **known, subject=np.ones(600), session=np.ones(600))
    np.savez(folder / "muse_n170.npz", **known)


def make_series(folder, rng):
    """Three kinds of movement in two sets, and one published method."""
    folder.mkdir()
    y, names = np.arange(60) % 3, ("fingermovements", "natops")
    for name in names:
        X = 2 * rng.normal(size=(3, 4, 10))[y] + rng.normal(size=(60, 4, 10))
        np.savez(folder / f"{name}.npz", X=X, y=y, test=np.arange(60) >= 30)
    trains = {f"{name}_train": np.array([rng.permutation(60)[:30]]) for name in names}
    np.savez(folder / "resamples.npz", **trains)
    lines = ["set,what,DrCIF", "FingerMovements,default split,60.0", "NATOPS,default split,84.44"]
    (folder / "published.csv").write_text("\n".join(lines) + "\n")


def test_a_sequence_of_nobody_is_missed_or_left_out():
    found = [0, 3, None, 7]
    assert percent_within(found, 1, everyone=True) == 25
    assert percent_within(found, 5, everyone=True) == 50
    assert percent_within(found, 5, everyone=False) == pytest.approx(100 * 2 / 3, abs=1e-4)


def test_places_count_those_who_score_higher(data):
    with np.load(data / "gait" / "Gal.npz") as file:
        X, y = file["X"], file["y"]
    model = fitted(X, y, "copies shifted by a pixel or an instant")
    assert places(model, X, y) == [0] * 12
    assert places(model, X[:5], np.zeros(5)) == [None]
    _, scores = model.set_scores(X[:5], np.full(5, 2))  # all of person 1
    assert places(model, X[:5], np.full(5, 2)) == [(scores[0] > scores[0, 1]).sum()]


def test_a_letter_is_found_where_both_its_flashes_have_the_largest_sums():
    about = {"letter": np.repeat([0, 1], 24), "flash": np.tile(np.arange(1, 13), 4)}
    y = np.isin(about["flash"], (2, 9)) & (about["letter"] == 0)
    y |= np.isin(about["flash"], (6, 12)) & (about["letter"] == 1)
    assert letters_right(y.astype(float), y, about) == 1
    misled = y + 3.0 * ((about["letter"] == 1) & (about["flash"] == 5))  # another column wins
    assert letters_right(misled, y, about) == 0.5


PUBLISHED = {"gait": "54.77", "small": "16.90", "recordings": "78.90", "series": "84.44"}


@pytest.mark.filterwarnings("ignore::tenfold.FalseAcceptRateWarning")
@pytest.mark.parametrize("name", PUBLISHED)
def test_quick_runs_leave_a_table_with_published_figures(data, name, tmp_path, capsys):
    words = [name, "--quick", "--data", str(data), "--out", str(tmp_path), "--jobs", "1"]
    assert main(words) == 0
    text = capsys.readouterr().out
    assert PUBLISHED[name] in text
    records = json.loads((tmp_path / "results.json").read_text())["records"]
    if name == "recordings":
        ours = [r["mean"] for r in records if r["row"] == "ProbabilisticLDA()"]
        assert min(ours) > 90
    if name == "series":
        ours = [r["mean"] for r in records if r["row"] == "ProbabilisticLDA()"]
        assert min(ours) > 80
    if name == "gait":
        by = {(r["centre"], r["rank"], r["everyone"]): r for r in records if r["chosen"]}
        known = by["adapted", 1, False]["mean"]
        assert known == 100
        assert by["plain", 1, False]["mean"] < known  # the surface
        assert by["adapted", 1, True]["mean"] < known  # nobody's sequences in D and G
        assert published("gait")["rank-1 mean"] == pytest.approx(
            np.mean(published("gait")["rank-1"]), abs=0.01
        )


@pytest.mark.parametrize(
    ("name", "folder"),
    [("gait", "gait"), ("small", "small"), ("recordings", "eeg"), ("series", "uea")],
)
def test_missing_sets_are_named(name, folder, tmp_path, capsys):
    (tmp_path / "data").mkdir()
    words = [name, "--data", str(tmp_path / "data"), "--out", str(tmp_path / "out"), "--jobs", "1"]
    assert main(words) == 2
    assert f"/{folder}/" in capsys.readouterr().err
